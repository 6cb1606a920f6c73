//! [`HeightReading`]: converts a file's samples to heights. The value that stands for no data is determined from the
//! whole file; the samples are then converted piece by piece, so that a file may be larger than memory.

use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::facts::{FactSource, Facts};
use super::layer::format_cell;
use super::sidecar::ByteOrder;
use super::{Format, Raster, SampleType, Sidecar, Unit};
use thalweg_core::terrain::height::NO_HEIGHT;
use thalweg_core::{Cell, Error, Height, Result, Size, operation};

/// The heights of the lowest and highest code of a file without a scale, in metres, if nothing else is known.
pub const DEFAULT_HEIGHT: [f64; 2] = [0.0, 1000.0];

operation! {
    /// Reads an elevation model from a file. The options give what the file itself does not specify, or override it.
    ///
    /// # Examples
    /// A PNG without a sidecar specifies neither heights nor the cell size.
    ///
    /// ```
    /// use thalweg_io::{LoadOptions, MemoryFiles, Raster, Samples, load_terrain, write_raster};
    ///
    /// let files = MemoryFiles::default();
    /// write_raster(files.path("dem.png"), &Raster::new([1, 2], Samples::U16(vec![0, 65_535])))?;
    /// let options = LoadOptions { height: Some([100.0, 300.0]), cell_size: Some(5.0), ..LoadOptions::default() };
    /// let terrain = load_terrain(files.path("dem.png"), &options)?.terrain;
    /// assert_eq!(terrain.ground_metres().as_slice(), [100.0, 300.0]);
    /// assert_eq!(terrain.grid.cell, 5.0);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct LoadOptions, "open", derive(Serialize, Deserialize), serde(default) {
        /// Heights that the lowest and the highest value of unsigned 8-bit or 16-bit samples represent. By default,
        /// those that the file or its sidecar specifies, otherwise 0 and 1000. Floating-point samples are metres; if
        /// this option is given, they must be from 0 to 1, and it gives the heights of 0 and 1.
        height: Option<[f64; 2]> = None, within &["min", "max"], unit "m";
        /// Side of a cell. By default, that of the file; if the file does not specify one, 10 m, with a warning.
        cell_size: Option<f64> = None, within 0.001..=100_000.0, unit "m";
        /// Samples that stand for no data, in addition to the value that the file declares: as they are stored, before
        /// any scale.
        nodata: Vec<f64> = Vec::new(), within -1e39..=1e39, unit "1";
        /// Reads only declared values as no data: those of the file and those of the option `nodata`. By default,
        /// values that usually stand for no data, such as -32768 and -9999, are also read as no data if they are far
        /// from all other heights.
        only_declared_nodata: bool = false, within .., unit "1";
        /// Reads infinite samples as no data instead of refusing them.
        infinite_is_nodata: bool = false, within .., unit "1";
        /// Removes the terraces of heights that are stored in coarse steps, such as 8-bit heights.
        deterrace: bool = false, within .., unit "1";
        /// Reads coordinates and heights in this unit, even if the file specifies another. A file in degrees is refused
        /// in any case; project it first.
        unit: Option<Unit> = None, within .., unit "1";
        /// Numbers of columns and rows of a headerless file (`.r16`, `.raw`, `.r32`, `.f32`) that has no sidecar and is
        /// not a square. Code gives the rows first, a command line the columns.
        raw_cells: Option<Size> = None, within .., unit "1";
        /// Byte order of a headerless file. By default, that of its sidecar; without one, `little`.
        byte_order: Option<ByteOrder> = None, within .., unit "1";
    }
}

impl LoadOptions {
    /// Rejects options that only apply to headerless files, unless `path` is one.
    ///
    /// # Errors
    /// Returns an error that names the file and the options.
    pub fn check_raw_options(&self, path: &Path) -> Result<()> {
        let is_given = self.raw_cells.is_some() || self.byte_order.is_some();
        if is_given && !Format::from_path(path).is_ok_and(|format| matches!(format, Format::R16 | Format::R32)) {
            let problem = "states its size and byte order itself; leave out --raw-cells and --byte-order (raw_cells \
                           and byte_order in Python), which apply to .r16, .raw, .r32 and .f32";
            return Err(Error::invalid_file(path, problem));
        }
        Ok(())
    }
}

/// Values that many files use for no data without declaring it, in rising order: the limits of integer types, and rows
/// of nines.
const COMMON_NODATA_VALUES: [f64; 13] = [
    -2_147_483_648.0,
    -999_999.0,
    -99_999.0,
    -32_768.0,
    -32_767.0,
    -9999.0,
    -999.0,
    32_767.0,
    65_535.0,
    99_999.0,
    999_999.0,
    2_147_483_647.0,
    4_294_967_295.0,
];

/// The number of kinds of usual values: huge values below zero, each of [`COMMON_NODATA_VALUES`], and huge values above
/// zero.
const USUAL_KINDS: usize = COMMON_NODATA_VALUES.len() + 2;

/// A sample of at least this magnitude is not a height, whatever the scale.
// The undeclared values for no data near 1e20, ±1.7e38, ±3.4e38 and the limits of 64-bit integers are beyond it.
const MIN_HUGE: f64 = 1e15;

/// The least distance in metres between such an undeclared value and all heights for it to be read as no data: no
/// terrain drops or rises by a kilometre to exactly this number.
const MIN_NODATA_GAP_M: f64 = 1000.0;

/// The first cell of some kind in a file's row-major order, and its sample; `None` if there is none of that kind.
pub type FirstSample = Option<(Cell, f64)>;

/// Serializes a sample as its bits, because JSON has no infinite numbers.
mod first_sample {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::FirstSample;
    use thalweg_core::Cell;

    pub fn serialize<S: Serializer>(first: &FirstSample, to: S) -> Result<S::Ok, S::Error> {
        first.map(|(cell, sample)| (cell, sample.to_bits())).serialize(to)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<FirstSample, D::Error> {
        let first = Option::<(Cell, u64)>::deserialize(from)?;
        Ok(first.map(|(cell, bits)| (cell, f64::from_bits(bits))))
    }
}

/// Statistics of samples as they are stored in the file, before their meaning is known. Parts of a file are examined
/// one by one and [merged](Self::merge).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SampleStatistics {
    /// The number of samples.
    pub cells: u64,
    /// The number of samples that a mask excludes.
    pub masked: u64,
    /// The number of samples that are NaN, infinite, or declared as no data, and not masked.
    pub missing: u64,
    /// The first sample that is infinite and not declared as no data.
    #[serde(with = "first_sample")]
    pub infinite: FirstSample,
    /// The least and the greatest of all other samples that are not one of the usual no-data values; `None` if there
    /// are none.
    pub plain: Option<[f64; 2]>,
    /// The first of these samples that is outside 0 to 1.
    #[serde(with = "first_sample")]
    pub outside: FirstSample,
    /// The usual no-data values in rising order: values below −10¹⁵, limits of integer types such as −32768 and rows of
    /// nines such as −9999, and values above 10¹⁵. They are not looked for in u8 and u16 samples.
    pub usual: [NodataCandidates; USUAL_KINDS],
}

/// Samples that may stand for no data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodataCandidates {
    /// The number of such samples.
    pub cells: u64,
    /// The first of them.
    #[serde(with = "first_sample")]
    pub first: FirstSample,
    /// The least and the greatest of them; `None` if there are none.
    pub range: Option<[f64; 2]>,
}

impl SampleStatistics {
    /// Merges the statistics of two parts of a file, in either order.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let usual = std::array::from_fn(|k| {
            let (a, b) = (self.usual[k], other.usual[k]);
            NodataCandidates {
                cells: a.cells + b.cells,
                first: pick_earlier(a.first, b.first),
                range: unite_ranges(a.range, b.range),
            }
        });
        // The fields are merged by sums, minima, maxima and the earliest cell. The order of the parts, and the number
        // of threads, therefore do not matter.
        Self {
            cells: self.cells + other.cells,
            masked: self.masked + other.masked,
            missing: self.missing + other.missing,
            infinite: pick_earlier(self.infinite, other.infinite),
            plain: unite_ranges(self.plain, other.plain),
            outside: pick_earlier(self.outside, other.outside),
            usual,
        }
    }

    /// Returns the usual values that stand for no data, as indices of [`Self::usual`]. A sample is worth `metres`, and
    /// `limits` are the lowest and the highest value of integer samples.
    fn find_stand_ins(&self, metres: f64, limits: Option<[f64; 2]>) -> Vec<usize> {
        // The limits of a type are not heights even if a sample is only a centimetre.
        let is_far = |value: f64, gap: f64| {
            let is_limit = limits.is_some_and(|limits| limits.contains(&value));
            gap * if is_limit { metres.max(1.0) } else { metres } >= MIN_NODATA_GAP_M
        };
        let [mut low, mut high] = [0, 1].map(|end| self.plain.map(|plain| plain[end]));
        let mut found = Vec::new();
        let named = 1..USUAL_KINDS - 1;
        let is_present = |k: &usize| self.usual[*k].cells > 0;
        let is_below = |k: &usize| COMMON_NODATA_VALUES[*k - 1] < 0.0;
        let (below, above): (Vec<_>, Vec<_>) = named.filter(is_present).partition(is_below);
        // Values are examined from the heights outwards. One that is near the heights is a height itself, and the next
        // one must be far from it, too.
        for k in below.into_iter().rev() {
            let value = COMMON_NODATA_VALUES[k - 1];
            match low {
                Some(height) if !is_far(value, height - value) => low = Some(value.min(height)),
                _ => found.push(k),
            }
        }
        for k in above {
            let value = COMMON_NODATA_VALUES[k - 1];
            match high {
                Some(height) if !is_far(value, value - height) => high = Some(value.max(height)),
                _ => found.push(k),
            }
        }
        // No terrain has huge values, so they stand for no data whatever the heights are.
        found.extend([0, USUAL_KINDS - 1].iter().filter(|k| is_present(k)));
        found.sort_unstable();
        found
    }
}

fn pick_earlier(a: FirstSample, b: FirstSample) -> FirstSample {
    [a, b].into_iter().flatten().min_by_key(|(cell, _)| *cell)
}

/// Returns the range that covers both ranges.
fn unite_ranges(a: Option<[f64; 2]>, b: Option<[f64; 2]>) -> Option<[f64; 2]> {
    let (Some([low, high]), Some([other_low, other_high])) = (a, b) else { return a.or(b) };
    let lesser = if other_low.total_cmp(&low).is_lt() { other_low } else { low };
    let greater = if other_high.total_cmp(&high).is_gt() { other_high } else { high };
    Some([lesser, greater])
}

/// The conversion of a file's samples to heights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeightReading {
    kind: SampleType,
    /// The value that the file declares as no data.
    declared: Option<f64>,
    /// The further values that the options declare as no data.
    given: Vec<f64>,
    /// True if undeclared values are never read as no data.
    only_declared: bool,
    /// The undeclared values that were found, in rising order; a huge one stands for all huge samples.
    stand_ins: Vec<f64>,
    infinite_is_nodata: bool,
    /// The requested metres of the lowest and highest code, or of 0 and 1; the field after it is the range of the
    /// sidecar.
    asked: Option<[f64; 2]>,
    sidecar_range: Option<[f64; 2]>,
    /// True if the file itself specifies what its samples mean.
    scaled: bool,
    /// The factor and offset from sample to metres.
    scale: [f64; 2],
    /// The decisions and their sources. A sidecar has no path yet.
    #[serde(skip)]
    facts: Facts,
}

impl HeightReading {
    /// Makes the conversion for a file with this head, before its samples are examined. Only
    /// [`HeightReading::examine_piece`] may be used before [`HeightReading::resolve_nodata_and_scale`].
    pub fn from_head(head: &Raster, sidecar: Option<&Sidecar>, options: &LoadOptions) -> Self {
        Self {
            kind: head.samples.kind(),
            declared: head.nodata,
            given: options.nodata.clone(),
            only_declared: options.only_declared_nodata,
            stand_ins: Vec::new(),
            infinite_is_nodata: options.infinite_is_nodata,
            asked: options.height,
            sidecar_range: sidecar.map(|sidecar| [sidecar.minimum, sidecar.maximum]),
            scaled: head.scaled,
            scale: head.scale,
            facts: Facts::default(),
        }
    }

    /// Returns the sample that stands for no data: that declared by the file, by the options, or the least of those
    /// found; `None` if there is none.
    pub fn nodata(&self) -> Option<f64> {
        self.declared.or(self.given.first().copied()).or(self.stand_ins.first().copied())
    }

    /// Returns the decisions about no data and metres, and their sources. `path` is the file, whose sidecar is one of
    /// them.
    pub fn facts(&self, path: &Path) -> Facts {
        let mut facts = self.facts.clone();
        facts.name_sidecar(&Sidecar::path_for(path));
        facts
    }

    /// Examines a piece of the file whose first sample is the cell `start`.
    pub fn examine_piece(&self, piece: &Raster, start: Cell) -> SampleStatistics {
        let cols = piece.size[1].max(1);
        // Codes of 8 and 16 bits are never negative or huge, so they cannot be a usual value.
        let whole = self.kind.max_code().is_some();
        // Classifies a sample: masked, missing, a usual no-data value, or any other value.
        let see = |look: &mut SampleStatistics, k: usize, sample: f64| {
            look.cells += 1;
            if piece.is_masked(k) {
                look.masked += 1;
                return;
            }
            let here = || Some((Cell::new(start.row + k / cols, start.col + k % cols), sample));
            if self.is_declared(sample) || !sample.is_finite() {
                look.missing += 1;
                if sample.is_infinite() && !self.is_declared(sample) {
                    look.infinite = pick_earlier(look.infinite, here());
                }
                return;
            }
            match usual_nodata_index(sample).filter(|_| !whole) {
                Some(which) => {
                    let usual = &mut look.usual[which];
                    usual.cells += 1;
                    usual.first = usual.first.or_else(here);
                    usual.range = unite_ranges(usual.range, Some([sample; 2]));
                }
                None => {
                    look.plain = unite_ranges(look.plain, Some([sample; 2]));
                    if look.outside.is_none() && !(0.0..=1.0).contains(&sample) {
                        look.outside = here();
                    }
                }
            }
        };
        let parts = split_into_stretches(piece.samples.len()).map(|some| {
            let mut look = SampleStatistics::default();
            for (k, sample) in some.clone().zip(piece.samples.numbers_in_range(some)) {
                see(&mut look, k, sample);
            }
            look
        });
        parts.reduce(SampleStatistics::default, SampleStatistics::merge)
    }

    /// Determines, from the statistics of the whole file, which value stands for no data and how samples become metres.
    /// Returns the complete conversion and warnings. The error is the problem in words.
    ///
    /// # Errors
    /// Returns an error if there are infinities that are not allowed, if the file has no data, or if a height range is
    /// given for samples that are metres already.
    pub fn resolve_nodata_and_scale(mut self, look: &SampleStatistics) -> Result<(Self, Vec<String>), String> {
        let mut warnings = Vec::new();
        // Infinities are an error unless the options read them as no data.
        if let Some((cell, value)) = look.infinite.filter(|_| !self.infinite_is_nodata) {
            let place = format_cell(cell);
            return Err(format!(
                "has {value} at {place}; if infinity means no data, allow it (--infinite-is-nodata, or \
                 infinite_is_nodata in Python)"
            ));
        }
        // Then undeclared values for no data are looked for.
        let found = match self.only_declared {
            true => Vec::new(),
            false => look.find_stand_ins(self.assumed_metres_per_sample(), self.kind.integer_limits()),
        };
        let is_stand_in = |k: &usize| found.contains(k);
        let stand_ins: u64 = found.iter().map(|k| look.usual[*k].cells).sum();
        let mut stands = Vec::new();
        for NodataCandidates { cells, range, .. } in found.iter().map(|k| look.usual[*k]) {
            let Some([least, greatest]) = range else { continue };
            let value = match least == greatest {
                true => format!("the value {}", format_sample(least)),
                false => format!("values from {} to {}", format_sample(least), format_sample(greatest)),
            };
            warnings.push(format!(
                "has {value}, far from all other heights, in {cells} cells; they are read as no data (if they are \
                 heights, give --only-declared-nodata, or only_declared_nodata in Python)"
            ));
            self.stand_ins.push(least);
            stands.push(json!({"value": least, "cells": cells}));
        }
        if !stands.is_empty() {
            let evidence = "far from all other heights".to_string();
            self.facts.record("nodata_guess", stands, FactSource::Guess(evidence));
        }
        if !self.given.is_empty() {
            self.facts.record("nodata_given", json!(self.given), FactSource::Option("nodata"));
        }
        // A usual value that is not read as no data is an ordinary sample.
        let usual = (0..USUAL_KINDS).filter(|k| !is_stand_in(k)).map(|k| look.usual[k].first);
        let outside = usual.fold(look.outside, pick_earlier);
        if look.masked > 0 {
            self.facts.record_measured("masked_cells", look.masked);
            warnings.push(format!("has a mask that excludes {} cells; they are read as no data", look.masked));
        }
        if look.masked + look.missing + stand_ins == look.cells {
            return Err("has no data: every cell is nodata".to_string());
        }
        let (scale, source) = self.choose_scale(look, outside, &mut warnings)?;
        self.scale = scale;
        self.facts.record("height_scale", json!(scale), source);
        Ok((self, warnings))
    }

    /// Returns the factor and offset from sample to metres, and their source.
    /// `outside` is the first sample with data that is outside 0 to 1.
    fn choose_scale(
        &self,
        look: &SampleStatistics,
        outside: FirstSample,
        warnings: &mut Vec<String>,
    ) -> Result<([f64; 2], FactSource), String> {
        let kind = self.kind;
        if let Some(full) = kind.max_code().filter(|_| !self.scaled || self.asked.is_some()) {
            if self.scaled {
                warnings.push(
                    "is converted to metres by the given height range, although it states a conversion itself"
                        .to_string(),
                );
            }
            let known = self.asked.or(self.sidecar_range);
            let [low, high] = known.unwrap_or(DEFAULT_HEIGHT);
            if known.is_none() {
                warnings.push(format!(
                    "does not state its heights; its codes 0 to {full} are read as {low} to {high} m (give the height \
                     range to change it: 0,{full} if they are metres)"
                ));
            }
            let source = match (self.asked, self.sidecar_range) {
                (Some(_), _) => FactSource::Option("height"),
                (None, Some(_)) => FactSource::Sidecar(PathBuf::new()),
                (None, None) => FactSource::Default("no heights of the codes are stated".to_string()),
            };
            return Ok(([(high - low) / full, low], source));
        }
        // Floating-point and signed samples are metres, unless a range is requested for values from 0 to 1.
        let is_float = matches!(kind, SampleType::F32 | SampleType::F64);
        let Some([low, high]) = self.asked else {
            // A relief of less than a metre that begins at 0 or above is rarely in metres.
            let is_stated = self.scaled || self.sidecar_range.is_some();
            if let (true, false, None, Some([least, greatest])) = (is_float, is_stated, outside, look.plain)
                && least < greatest
            {
                warnings.push(format!(
                    "has samples from {least} to {greatest}, which are read as metres; if 0 and 1 stand for other \
                     heights, give them: --height MIN,MAX, or height in Python"
                ));
            }
            let rule = || FactSource::Default("samples of this type are metres".to_string());
            let source = if self.scaled { FactSource::File("scale or unit".to_string()) } else { rule() };
            return Ok((self.scale, source));
        };
        if !is_float {
            return Err(format!(
                "has {kind} samples, which are metres already; a height range only applies to codes or to values of 0 \
                 to 1"
            ));
        }
        match outside {
            None => Ok(([high - low, low], FactSource::Option("height"))),
            Some((cell, value)) => Err(format!(
                "has {value} at {}, so its values are metres already; a height range only applies to codes or to \
                 values of 0 to 1",
                format_cell(cell)
            )),
        }
    }

    /// Returns the metres that a sample is worth according to the file, as far as that is known before the samples are
    /// examined.
    fn assumed_metres_per_sample(&self) -> f64 {
        if self.asked.is_some() { 1.0 } else { self.scale[0].abs() }
    }

    /// Returns true if there is no data in sample number `k` of a piece, counted row by row from 0.
    pub fn is_missing(&self, piece: &Raster, k: usize) -> bool {
        piece.is_masked(k) || self.is_nodata_sample(piece.samples.get(k))
    }

    /// Returns true if a sample stands for no data.
    #[inline(always)]
    fn is_nodata_sample(&self, sample: f64) -> bool {
        !sample.is_finite() || self.is_declared(sample) || self.is_stand_in(sample)
    }

    /// Converts a piece whose first sample is the cell `start` to heights, one per sample, row by row; cells without
    /// data are [`NO_HEIGHT`] units. The error is the problem in words.
    ///
    /// # Errors
    /// Returns the errors of [`HeightReading::check_piece`].
    pub fn convert_piece(&self, piece: &Raster, start: Cell) -> Result<Vec<Height>, String> {
        let mut heights = vec![Height(NO_HEIGHT); piece.samples.len()];
        let parts = heights.par_chunks_mut(STRETCH).zip(split_into_stretches(piece.samples.len()));
        let is_right = parts.map(|(heights, some)| {
            let mut is_right = true;
            for ((k, sample), height) in some.clone().zip(piece.samples.numbers_in_range(some)).zip(heights) {
                if !piece.is_masked(k) && !self.is_nodata_sample(sample) {
                    match Height::from_metres(self.to_metres(sample)) {
                        Ok(is) => *height = is,
                        Err(_) => is_right = false,
                    }
                }
            }
            is_right
        });
        // The invalid cell is searched for only if there is one.
        if !is_right.reduce(|| true, |a, b| a && b) {
            self.check_piece(piece, start)?;
        }
        Ok(heights)
    }

    /// Returns the height of sample number `k` of a piece, clamped to −16 000 to 16 000 m; `None` if there is no data.
    pub fn convert_sample(&self, piece: &Raster, k: usize) -> Option<Height> {
        (!self.is_missing(piece, k)).then(|| Height::from_metres_clamped(self.to_metres(piece.samples.get(k))))
    }

    /// Checks the heights of a piece whose first sample is the cell `start`. The error is the problem in words.
    ///
    /// # Errors
    /// Returns an error that names the cell if a height is outside −16 000 to 16 000 m.
    pub fn check_piece(&self, piece: &Raster, start: Cell) -> Result<(), String> {
        let cols = piece.size[1].max(1);
        let metres = |k: usize| self.to_metres(piece.samples.get(k));
        let is_wrong = |k: &usize| !self.is_missing(piece, *k) && Height::from_metres(metres(*k)).is_err();
        // The first invalid cell is reported, whichever thread finds one first.
        match (0..piece.samples.len()).into_par_iter().find_first(is_wrong) {
            None => Ok(()),
            Some(k) => {
                let place = format_cell(Cell::new(start.row + k / cols, start.col + k % cols));
                Err(format!("has {} m at {place}; heights must be -16000 to 16000 m", metres(k)))
            }
        }
    }

    /// Converts a sample to metres.
    pub fn to_metres(&self, sample: f64) -> f64 {
        sample * self.scale[0] + self.scale[1]
    }

    /// Returns the metres from one code to the next; in a floating-point file, the metres per unit.
    pub fn metres_per_code(&self) -> f64 {
        self.scale[0].abs()
    }

    fn is_declared(&self, sample: f64) -> bool {
        // The tag is a decimal number that may differ slightly from the f32 that it stands for.
        let single = self.kind == SampleType::F32;
        let same = |nodata: &f64| sample == *nodata || (single && sample as f32 == *nodata as f32);
        self.declared.iter().chain(&self.given).any(same)
    }

    fn is_stand_in(&self, sample: f64) -> bool {
        let is_huge = |sample: f64| sample.abs() >= MIN_HUGE;
        self.stand_ins.iter().any(|value| sample == *value || (is_huge(*value) && is_huge(sample)))
    }
}

/// The number of samples that one task examines.
// A stretch is copied to 64-bit floats, which take 128 KiB for each thread.
const STRETCH: usize = 1 << 14;

/// Divides the indices of the samples into ranges of [`STRETCH`].
fn split_into_stretches(samples: usize) -> impl IndexedParallelIterator<Item = Range<usize>> {
    (0..samples.div_ceil(STRETCH)).into_par_iter().map(move |n| n * STRETCH..samples.min((n + 1) * STRETCH))
}

/// Returns the index of the usual no-data value that a sample is; `None` if it is none.
fn usual_nodata_index(sample: f64) -> Option<usize> {
    if sample.abs() >= MIN_HUGE {
        return Some(if sample < 0.0 { 0 } else { USUAL_KINDS - 1 });
    }
    // A 32-bit float rounds the limits of 32-bit integers.
    let is_usual = |usual: &f64| *usual == sample || f64::from(*usual as f32) == sample;
    COMMON_NODATA_VALUES.iter().position(is_usual).map(|k| k + 1)
}

/// Formats a sample for messages: huge numbers with an exponent.
fn format_sample(sample: f64) -> String {
    if sample.abs() >= MIN_HUGE { format!("{sample:e}") } else { sample.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Samples;
    use thalweg_core::CellRect;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn heights_of_a_piece_are_those_of_its_samples() {
        let key = RandomKey::new(5, "heights");
        // More than one stretch, and not a whole number of stretches.
        let size = [211, 157];
        let count = size[0] * size[1];
        let draw = |part: u64, k: usize| key.derive_key(part).derive_key(k as u64).uniform_unit();
        let sample = |k: usize| match (draw(1, k) * 20.0) as u32 {
            0 => f32::NAN,
            1 => -9999.0,
            2 => 77.0,
            _ => (900.0 * draw(2, k)) as f32,
        };
        let mut raster = Raster::new(size, Samples::F32((0..count).map(sample).collect()));
        raster.nodata = Some(77.0);
        raster.mask = Some((0..count).map(|k| draw(3, k) < 0.1).collect());
        let (reading, _) = {
            let reading = HeightReading::from_head(&raster, None, &LoadOptions::default());
            let look = reading.examine_piece(&raster, Cell::new(0, 0));
            reading.resolve_nodata_and_scale(&look).unwrap()
        };
        let heights = reading.convert_piece(&raster, Cell::new(0, 0)).unwrap();
        for (k, height) in heights.into_iter().enumerate() {
            assert_eq!(height, reading.convert_sample(&raster, k).unwrap_or(Height(NO_HEIGHT)), "sample {k}");
        }
        // A sample that is not a valid height is reported with its cell, unless it is masked.
        for masked in [true, false] {
            let Samples::F32(samples) = &mut raster.samples else { unreachable!() };
            samples[157 * 3 + 4] = 99_999.0;
            raster.mask = masked.then(|| vec![true; count]);
            let result = reading.convert_piece(&raster, Cell::new(100, 200));
            assert_eq!(result.is_ok(), masked);
            assert!(masked || result.unwrap_err().contains("99999 m at row 103, column 204"));
        }
    }

    /// Reads samples with these options; returns the conversion and the warnings.
    fn read(samples: Samples, options: &LoadOptions) -> Result<(HeightReading, Vec<String>), String> {
        let raster = Raster::new([1, samples.len()], samples);
        let reading = HeightReading::from_head(&raster, None, options);
        // Two parts that are merged in the wrong order.
        let half = raster.size[1] / 2;
        let part = |from: usize, to: usize| {
            let cut =
                raster.samples.copy_window([1, raster.size[1]], CellRect::new([0, from], [1, to - from])).unwrap();
            reading.examine_piece(&Raster::new([1, to - from], cut), Cell::new(0, from))
        };
        let look = part(half, raster.size[1]).merge(part(0, half));
        assert_eq!(look, reading.examine_piece(&raster, Cell::new(0, 0)));
        reading.clone().resolve_nodata_and_scale(&look)
    }

    #[test]
    fn every_far_stand_in_is_found_and_no_height_is_taken_away() {
        let options = LoadOptions::default();
        for (samples, values) in [
            (vec![5.0, -32768.0, 800.0, -9999.0, -9999.0], vec![-32768.0, -9999.0]),
            (vec![5.0, -99999.0, 32767.0, 1e20, 800.0], vec![-99999.0, 32767.0, f64::from(1e20_f32)]),
            (vec![f32::MIN, 12.0, -9999.0, f32::MAX], vec![f64::from(f32::MIN), -9999.0, f64::from(f32::MAX)]),
            (vec![2_147_483_647.0, 12.0, 15.0], vec![2_147_483_648.0]),
            // A sea floor near −9999 m is a height; the lower value is far from it.
            (vec![-9500.0, -9999.0, 3.0, -32768.0], vec![-32768.0]),
            (vec![-9500.0, -9999.0, 3.0], vec![]),
            (vec![-12000.0, -9999.0, -999.0, 0.0], vec![]),
            (vec![0.5, -999.0, 4000.0], vec![]),
            (vec![1.0, -999.0, 4000.0], vec![-999.0]),
            (vec![8000.0, 999.0, 9999.0], vec![]),
        ] {
            let (reading, warnings) = read(Samples::F32(samples.clone()), &options).unwrap();
            let mut found: Vec<f64> =
                samples.iter().map(|x| f64::from(*x)).filter(|x| reading.is_nodata_sample(*x)).collect();
            found.sort_by(f64::total_cmp);
            found.dedup();
            assert_eq!(found, values, "{samples:?}: {warnings:?}");
            assert_eq!(warnings.len(), values.len(), "{warnings:?}");
            for (value, warning) in values.iter().zip(&warnings) {
                let count = samples.iter().filter(|x| f64::from(**x) == *value).count();
                assert!(warning.contains(&format!("in {count} cells")), "{warning}");
                assert!(warning.contains("--only-declared-nodata"), "{warning}");
                assert!(value.abs() > 1e15 || warning.contains(&format!("the value {value},")), "{warning}");
            }
        }
    }

    #[test]
    fn options_declare_values_and_stop_guesses() {
        let samples = || Samples::I32(vec![5, -32768, 800, -9999, 777]);
        let mut options = LoadOptions { nodata: vec![777.0, 5.0], ..LoadOptions::default() };
        let (reading, _) = read(samples(), &options).unwrap();
        assert_eq!(
            [5.0, -32768.0, 800.0, -9999.0, 777.0].map(|x| reading.is_nodata_sample(x)),
            [true, true, false, true, true]
        );
        assert_eq!(reading.nodata(), Some(777.0));
        options.only_declared_nodata = true;
        let (reading, warnings) = read(samples(), &options).unwrap();
        assert_eq!([5.0, -32768.0, 800.0, -9999.0].map(|x| reading.is_nodata_sample(x)), [true, false, false, false]);
        assert_eq!(warnings, Vec::<String>::new());
        // The value is then a height that is refused with its cell.
        let raster = Raster::new([1, 5], samples());
        let problem = reading.convert_piece(&raster, Cell::new(0, 0)).unwrap_err();
        assert!(problem.contains("-32768 m at row 0, column 1"), "{problem}");
        options.nodata.extend([-32768.0, 800.0, -9999.0]);
        assert!(read(samples(), &options).unwrap_err().contains("no data"));
    }

    #[test]
    fn a_gap_is_measured_in_metres_except_from_the_limits_of_a_type() {
        // Centimetres: −99.99 m is ten metres below the other heights, and −32768 the least code.
        let raster = Raster {
            scale: [0.01, 0.0],
            scaled: true,
            ..Raster::new([1, 4], Samples::I16(vec![-8900, 50, -9999, -32768]))
        };
        let reading = HeightReading::from_head(&raster, None, &LoadOptions::default());
        let look = reading.examine_piece(&raster, Cell::new(0, 0));
        let (reading, _) = reading.resolve_nodata_and_scale(&look).unwrap();
        assert_eq!([-9999.0, -32768.0].map(|x| reading.is_nodata_sample(x)), [false, true]);
    }

    #[test]
    fn floats_from_0_to_1_are_doubted() {
        let options = LoadOptions::default();
        let warnings = |samples: Vec<f32>| read(Samples::F32(samples), &options).unwrap().1;
        let said = warnings(vec![0.0, 0.25, 1.0, f32::NAN]);
        assert!(said.len() == 1 && said[0].contains("from 0 to 1") && said[0].contains("--height MIN,MAX"), "{said:?}");
        assert_eq!(warnings(vec![-9999.0, 0.25, 0.5]).len(), 2);
        for metres in [vec![0.0, 0.5, 1.5], vec![-0.1, 0.5], vec![0.0; 4]] {
            assert_eq!(warnings(metres.clone()), Vec::<String>::new(), "{metres:?}");
        }
        let asked = LoadOptions { height: Some([0.0, 500.0]), ..LoadOptions::default() };
        let (reading, said) = read(Samples::F64(vec![0.0, 0.5]), &asked).unwrap();
        assert_eq!((reading.to_metres(0.5), said), (250.0, Vec::new()));
    }
}
