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

/// Values that many files use for no data without declaring it.
const COMMON_NODATA_VALUES: [f64; 3] = [-9999.0, -32768.0, -32767.0];

/// A sample of a greater magnitude than this is not a height.
// The undeclared values for no data near ±3.4e38, the limits of `f32`, are beyond it, and no height is.
const HUGE: f64 = 1e38;

/// The least distance in metres of such an undeclared value below all other heights for it to be read as no data: no
/// terrain drops by a kilometre to exactly this number.
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
    /// The least of all other samples that are not one of the usual no-data values; `None` if there are none.
    pub plain: Option<f64>,
    /// The first of these samples that is outside 0 to 1.
    #[serde(with = "first_sample")]
    pub outside: FirstSample,
    /// The usual no-data values: −9999, −32768, −32767, and values beyond ±10³⁸. They are not looked for in u8 and u16
    /// samples.
    pub usual: [NodataCandidates; 4],
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
    /// The least of them; `None` if there are none.
    pub least: Option<f64>,
}

impl SampleStatistics {
    /// Merges the statistics of two parts of a file, in either order.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let usual = |k: usize| {
            let (a, b) = (self.usual[k], other.usual[k]);
            NodataCandidates {
                cells: a.cells + b.cells,
                first: pick_earlier(a.first, b.first),
                least: pick_lesser(a.least, b.least),
            }
        };
        // The fields are merged by sums, minima and the earliest cell. The order of the parts, and the number of
        // threads, therefore do not matter.
        Self {
            cells: self.cells + other.cells,
            masked: self.masked + other.masked,
            missing: self.missing + other.missing,
            infinite: pick_earlier(self.infinite, other.infinite),
            plain: pick_lesser(self.plain, other.plain),
            outside: pick_earlier(self.outside, other.outside),
            usual: [usual(0), usual(1), usual(2), usual(3)],
        }
    }

    /// Returns the undeclared value that stands for no data; `None` if there is none.
    fn find_undeclared_nodata(&self) -> Option<f64> {
        // The lowest of the usual values is no data if it is huge or far below all other samples. Otherwise only the
        // huge values are, because no terrain has them.
        let huge = self.usual[COMMON_NODATA_VALUES.len()].least;
        let found = self.usual.iter().filter_map(|usual| usual.least).min_by(f64::total_cmp)?;
        let is_far = self.plain.is_none_or(|plain| plain >= found + MIN_NODATA_GAP_M);
        if found.abs() > HUGE || is_far { Some(found) } else { huge }
    }
}

fn pick_earlier(a: FirstSample, b: FirstSample) -> FirstSample {
    [a, b].into_iter().flatten().min_by_key(|(cell, _)| *cell)
}

fn pick_lesser(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().min_by(f64::total_cmp)
}

/// The conversion of a file's samples to heights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeightReading {
    kind: SampleType,
    /// The value that the file declares as no data; the field after it is the value that was found.
    declared: Option<f64>,
    stand_in: Option<f64>,
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
            stand_in: None,
            infinite_is_nodata: options.infinite_is_nodata,
            asked: options.height,
            sidecar_range: sidecar.map(|sidecar| [sidecar.minimum, sidecar.maximum]),
            scaled: head.scaled,
            scale: head.scale,
            facts: Facts::default(),
        }
    }

    /// Returns the sample that stands for no data: that declared by the file, or that found; `None` if there is
    /// neither.
    pub fn nodata(&self) -> Option<f64> {
        self.declared.or(self.stand_in)
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
                    usual.least = pick_lesser(usual.least, Some(sample));
                }
                None => {
                    if look.plain.is_none_or(|plain| sample.total_cmp(&plain).is_lt()) {
                        look.plain = Some(sample);
                    }
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
        // Then an undeclared value for no data is looked for.
        self.stand_in = look.find_undeclared_nodata();
        let stand_ins =
            look.usual.iter().filter(|usual| usual.least.is_some_and(|least| self.is_undeclared_nodata(least)));
        let stand_ins: u64 = stand_ins.map(|usual| usual.cells).sum();
        if let Some(value) = self.stand_in {
            let stands = json!([{"value": value, "cells": stand_ins}]);
            self.facts.record("nodata_guess", stands, FactSource::Guess("far from all other heights".to_string()));
            warnings.push(format!(
                "has the value {value}, far from all other heights, in {stand_ins} cells; they are read as no data"
            ));
        }
        if look.masked > 0 {
            self.facts.record_measured("masked_cells", look.masked);
            warnings.push(format!("has a mask that excludes {} cells; they are read as no data", look.masked));
        }
        if look.masked + look.missing + stand_ins == look.cells {
            return Err("has no data: every cell is nodata".to_string());
        }
        let (scale, source) = self.choose_scale(look, &mut warnings)?;
        self.scale = scale;
        self.facts.record("height_scale", json!(scale), source);
        Ok((self, warnings))
    }

    /// Returns the factor and offset from sample to metres, and their source.
    fn choose_scale(
        &self,
        look: &SampleStatistics,
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
        let Some([low, high]) = self.asked else {
            let rule = || FactSource::Default("samples of this type are metres".to_string());
            let source = if self.scaled { FactSource::File("scale or unit".to_string()) } else { rule() };
            return Ok((self.scale, source));
        };
        if !matches!(kind, SampleType::F32 | SampleType::F64) {
            return Err(format!(
                "has {kind} samples, which are metres already; a height range only applies to codes or to values of 0 \
                 to 1"
            ));
        }
        // A usual value that is not taken as no data is a sample outside 0 to 1, too.
        let usual =
            look.usual.iter().filter(|usual| usual.least.is_some_and(|least| !self.is_undeclared_nodata(least)));
        match usual.map(|usual| usual.first).fold(look.outside, pick_earlier) {
            None => Ok(([high - low, low], FactSource::Option("height"))),
            Some((cell, value)) => Err(format!(
                "has {value} at {}, so its values are metres already; a height range only applies to codes or to \
                 values of 0 to 1",
                format_cell(cell)
            )),
        }
    }

    /// Returns true if there is no data in sample number `k` of a piece, counted row by row from 0.
    pub fn is_missing(&self, piece: &Raster, k: usize) -> bool {
        piece.is_masked(k) || self.is_nodata_sample(piece.samples.get(k))
    }

    /// Returns true if a sample stands for no data.
    #[inline(always)]
    fn is_nodata_sample(&self, sample: f64) -> bool {
        !sample.is_finite() || self.is_declared(sample) || self.is_undeclared_nodata(sample)
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
        let same = |nodata: f64| sample == nodata || (single && sample as f32 == nodata as f32);
        self.declared.is_some_and(same)
    }

    fn is_undeclared_nodata(&self, sample: f64) -> bool {
        self.stand_in.is_some_and(|value| sample == value || (value.abs() > HUGE && sample.abs() > HUGE))
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
    let named = COMMON_NODATA_VALUES.iter().position(|usual| *usual == sample);
    named.or_else(|| (sample.abs() > HUGE).then_some(COMMON_NODATA_VALUES.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Samples;
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
}
