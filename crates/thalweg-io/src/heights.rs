//! [`HeightReading`]: what a file's samples are as heights. What stands for no data is found over the whole file; samples become heights
//! piece by piece, so that a file may be larger than memory.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::layer::cell_words;
use super::{Raster, SampleType, Sidecar, Unit};
use thalweg_core::terrain::height::NO_HEIGHT;
use thalweg_core::{Cell, Height};

/// Heights of the lowest and highest code of an unscaled file of which nothing else is known, in metres.
pub const DEFAULT_HEIGHT: [f64; 2] = [0.0, 1000.0];

/// What a file does not say itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadOptions {
    /// Metres of the lowest and highest code of u8 and u16 samples (PNG, R16), of 0 and 1 in a floating-point file; in rising order,
    /// −16 000 to 16 000. `None` leaves it to the file and its sidecar, and for codes then to [`DEFAULT_HEIGHT`].
    pub height: Option<[f64; 2]>,
    /// Side of a cell in metres, 0.001 to 100 000, in place of what the file says.
    pub cell_size: Option<f64>,
    /// Takes ±infinity for no data; it is an error otherwise.
    pub infinite_is_nodata: bool,
    /// Smooths away the terraces of heights stored in few steps ([`deterrace`](super::deterrace)).
    pub deterrace: bool,
    /// The unit of coordinates and heights, in place of what the file says. Degrees stay degrees.
    pub unit: Option<Unit>,
}

/// What stands for no data in many files without being declared.
const USUAL: [f64; 3] = [-9999.0, -32768.0, -32767.0];

/// A sample of so great a magnitude is no height.
const HUGE: f64 = 1e38;

/// How far below all other heights a usual stand-in must lie to be taken for one: no land falls a kilometre at once to just this number.
const FAR: f64 = 1000.0;

/// The first cell of a kind in a file's row-major order, and its sample; `None` where there is none of that kind.
pub type FirstSample = Option<(Cell, f64)>;

/// A sample as its bits: JSON knows no infinite numbers.
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

/// What is seen of samples, as they stand in the file, while it is not known yet what they mean. Parts of a file are looked at one by one
/// and [merged](Self::merge).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SampleLook {
    /// Samples in all.
    pub cells: u64,
    /// How many a mask leaves out.
    pub masked: u64,
    /// How many are no number, infinite, or declared as no data, and not masked.
    pub missing: u64,
    /// The first of those that are infinite and not declared.
    #[serde(with = "first_sample")]
    pub infinite: FirstSample,
    /// The least of all others that are no usual stand-in; `None` where there are none.
    pub plain: Option<f64>,
    /// The first of the same that lies outside 0 to 1.
    #[serde(with = "first_sample")]
    pub outside: FirstSample,
    /// The usual stand-ins: those of −9999, of −32768, of −32767, then those beyond ±10³⁸. None is looked for among u8 and u16.
    pub usual: [StandIns; 4],
}

/// Samples that may stand for no data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StandIns {
    /// How many there are.
    pub cells: u64,
    /// The first of them.
    #[serde(with = "first_sample")]
    pub first: FirstSample,
    /// The least of them; `None` where there are none.
    pub least: Option<f64>,
}

impl SampleLook {
    /// What is seen of two parts of a file, in either order.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let usual = |k: usize| {
            let (a, b) = (self.usual[k], other.usual[k]);
            StandIns { cells: a.cells + b.cells, first: earlier(a.first, b.first), least: lesser(a.least, b.least) }
        };
        Self {
            cells: self.cells + other.cells,
            masked: self.masked + other.masked,
            missing: self.missing + other.missing,
            infinite: earlier(self.infinite, other.infinite),
            plain: lesser(self.plain, other.plain),
            outside: earlier(self.outside, other.outside),
            usual: [usual(0), usual(1), usual(2), usual(3)],
        }
    }

    /// The value that stands for no data, though nothing declares it.
    fn stand_in(&self) -> Option<f64> {
        let huge = self.usual[USUAL.len()].least;
        let found = self.usual.iter().filter_map(|usual| usual.least).min_by(f64::total_cmp)?;
        let is_far = self.plain.is_none_or(|plain| plain >= found + FAR);
        if found.abs() > HUGE || is_far { Some(found) } else { huge }
    }
}

fn earlier(a: FirstSample, b: FirstSample) -> FirstSample {
    [a, b].into_iter().flatten().min_by_key(|(cell, _)| *cell)
}

fn lesser(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().min_by(f64::total_cmp)
}

/// How a file's samples become heights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeightReading {
    kind: SampleType,
    /// The value that stands for no data: what the file declares, and what was found.
    declared: Option<f64>,
    stand_in: Option<f64>,
    infinite_is_nodata: bool,
    /// The metres of the lowest and highest code, or of 0 and 1, that were asked for; those of the sidecar.
    asked: Option<[f64; 2]>,
    beside: Option<[f64; 2]>,
    /// Whether the file says itself what its samples mean.
    scaled: bool,
    /// Factor and offset from sample to metres.
    scale: [f64; 2],
}

impl HeightReading {
    /// Of a file with this head; its samples are not looked at yet. Nothing but [`HeightReading::look`] is right before
    /// [`HeightReading::settle`].
    pub fn of(head: &Raster, sidecar: Option<&Sidecar>, options: &LoadOptions) -> Self {
        Self {
            kind: head.samples.kind(),
            declared: head.nodata,
            stand_in: None,
            infinite_is_nodata: options.infinite_is_nodata,
            asked: options.height,
            beside: sidecar.map(|sidecar| [sidecar.minimum, sidecar.maximum]),
            scaled: head.scaled,
            scale: head.scale,
        }
    }

    /// The sample that stands for no data: what the file declares, or what was found; `None` where there is neither.
    pub fn nodata(&self) -> Option<f64> {
        self.declared.or(self.stand_in)
    }

    /// Looks at a piece of the file whose first sample is the cell `start`.
    pub fn look(&self, piece: &Raster, start: Cell) -> SampleLook {
        let cols = piece.size[1].max(1);
        let whole = self.kind.full().is_some();
        let see = |look: &mut SampleLook, k: usize, sample: f64| {
            look.cells += 1;
            if piece.is_masked(k) {
                look.masked += 1;
                return;
            }
            let here = || Some((Cell::new(start.row + k / cols, start.col + k % cols), sample));
            if self.is_declared(sample) || !sample.is_finite() {
                look.missing += 1;
                if sample.is_infinite() && !self.is_declared(sample) {
                    look.infinite = earlier(look.infinite, here());
                }
                return;
            }
            match usual(sample).filter(|_| !whole) {
                Some(which) => {
                    let usual = &mut look.usual[which];
                    usual.cells += 1;
                    usual.first = usual.first.or_else(here);
                    usual.least = lesser(usual.least, Some(sample));
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
        let parts = stretches(piece.samples.len()).map(|some| {
            let mut look = SampleLook::default();
            for (k, sample) in some.clone().zip(piece.samples.numbers(some)) {
                see(&mut look, k, sample);
            }
            look
        });
        parts.reduce(SampleLook::default, SampleLook::merge)
    }

    /// Settles, by what was seen of the whole file, what stands for no data and how samples become metres; with it comes what is to be
    /// said of it.
    /// The error is the problem in words.
    ///
    /// # Errors
    /// Infinities that were not allowed, a file without any data, a height range for samples that are metres already.
    pub fn settle(mut self, look: &SampleLook) -> Result<(Self, Vec<String>), String> {
        let mut warnings = Vec::new();
        if let Some((cell, value)) = look.infinite.filter(|_| !self.infinite_is_nodata) {
            let place = cell_words(cell);
            return Err(format!("holds {value} at {place}; say that infinity is no data if so it is meant"));
        }
        self.stand_in = look.stand_in();
        let stand_ins = look.usual.iter().filter(|usual| usual.least.is_some_and(|least| self.is_stand_in(least)));
        let stand_ins: u64 = stand_ins.map(|usual| usual.cells).sum();
        if let Some(value) = self.stand_in {
            warnings.push(format!("holds {value} in {stand_ins} cells, far from all other heights: taken as no data"));
        }
        if look.masked > 0 {
            warnings.push(format!("has a mask that leaves out {} cells: taken as no data", look.masked));
        }
        if look.masked + look.missing + stand_ins == look.cells {
            return Err("holds no data at all: every cell is nodata".to_string());
        }
        self.scale = self.scale_of(look, &mut warnings)?;
        Ok((self, warnings))
    }

    /// Factor and offset from sample to metres.
    fn scale_of(&self, look: &SampleLook, warnings: &mut Vec<String>) -> Result<[f64; 2], String> {
        let kind = self.kind;
        if let Some(full) = kind.full().filter(|_| !self.scaled || self.asked.is_some()) {
            if self.scaled {
                warnings.push(
                    "has its codes taken over the heights that were asked for, though it says their metres itself"
                        .to_string(),
                );
            }
            let known = self.asked.or(self.beside);
            let [low, high] = known.unwrap_or(DEFAULT_HEIGHT);
            if known.is_none() {
                warnings.push(format!(
                    "says no heights; its codes 0 to {full} are taken as {low} to {high} m (give the height range to change \
                     it: 0,{full} if they are metres)"
                ));
            }
            return Ok([(high - low) / full, low]);
        }
        let Some([low, high]) = self.asked else {
            return Ok(self.scale);
        };
        if !matches!(kind, SampleType::F32 | SampleType::F64) {
            return Err(format!(
                "holds {kind} samples, which are metres already; a height range is for codes, or for values of 0 to 1"
            ));
        }
        let usual = look.usual.iter().filter(|usual| usual.least.is_some_and(|least| !self.is_stand_in(least)));
        match usual.map(|usual| usual.first).fold(look.outside, earlier) {
            None => Ok([high - low, low]),
            Some((cell, value)) => Err(format!(
                "holds {value} at {}: a height range is for codes, or for values of 0 to 1; these are metres already",
                cell_words(cell)
            )),
        }
    }

    /// Whether there is no data in sample number `k` of a piece, counted row by row from 0.
    pub fn is_missing(&self, piece: &Raster, k: usize) -> bool {
        piece.is_masked(k) || self.says_nothing(piece.samples.get(k))
    }

    /// Whether a sample stands for no data.
    #[inline(always)]
    fn says_nothing(&self, sample: f64) -> bool {
        !sample.is_finite() || self.is_declared(sample) || self.is_stand_in(sample)
    }

    /// The heights of a piece whose first sample is the cell `start`, one a sample, row by row; [`NO_HEIGHT`] units
    /// where there is no data. The error is the problem in words.
    ///
    /// # Errors
    /// As [`HeightReading::check`].
    pub fn heights(&self, piece: &Raster, start: Cell) -> Result<Vec<Height>, String> {
        let mut heights = vec![Height(NO_HEIGHT); piece.samples.len()];
        let parts = heights.par_chunks_mut(STRETCH).zip(stretches(piece.samples.len()));
        let is_right = parts.map(|(heights, some)| {
            let mut is_right = true;
            for ((k, sample), height) in some.clone().zip(piece.samples.numbers(some)).zip(heights) {
                if !piece.is_masked(k) && !self.says_nothing(sample) {
                    match Height::from_metres(self.metres(sample)) {
                        Ok(is) => *height = is,
                        Err(_) => is_right = false,
                    }
                }
            }
            is_right
        });
        // Which cell it is that is wrong is looked for when one is.
        if !is_right.reduce(|| true, |a, b| a && b) {
            self.check(piece, start)?;
        }
        Ok(heights)
    }

    /// The height of sample number `k` of a piece, kept within −16 000 to 16 000 m; `None` where there is no data.
    pub fn height(&self, piece: &Raster, k: usize) -> Option<Height> {
        (!self.is_missing(piece, k)).then(|| Height::saturating(self.metres(piece.samples.get(k))))
    }

    /// Checks the heights of a piece whose first sample is the cell `start`. The error is the problem in words.
    ///
    /// # Errors
    /// A height outside −16 000 to 16 000 m, with its cell.
    pub fn check(&self, piece: &Raster, start: Cell) -> Result<(), String> {
        let cols = piece.size[1].max(1);
        let metres = |k: usize| self.metres(piece.samples.get(k));
        let is_wrong = |k: &usize| !self.is_missing(piece, *k) && Height::from_metres(metres(*k)).is_err();
        match (0..piece.samples.len()).into_par_iter().find_first(is_wrong) {
            None => Ok(()),
            Some(k) => {
                let place = cell_words(Cell::new(start.row + k / cols, start.col + k % cols));
                Err(format!("holds {} m at {place}: allowed is -16000 to 16000 m", metres(k)))
            }
        }
    }

    /// What a sample is in metres.
    pub fn metres(&self, sample: f64) -> f64 {
        sample * self.scale[0] + self.scale[1]
    }

    /// Metres from one code to the next; in a floating-point file metres to 1.
    pub fn step(&self) -> f64 {
        self.scale[0].abs()
    }

    fn is_declared(&self, sample: f64) -> bool {
        // A tag in decimal may be a little beside the f32 that it means.
        let single = self.kind == SampleType::F32;
        let same = |nodata: f64| sample == nodata || (single && sample as f32 == nodata as f32);
        self.declared.is_some_and(same)
    }

    fn is_stand_in(&self, sample: f64) -> bool {
        self.stand_in.is_some_and(|value| sample == value || (value.abs() > HUGE && sample.abs() > HUGE))
    }
}

/// Samples that one task looks at.
const STRETCH: usize = 1 << 14;

/// The numbers of so many samples, stretch by stretch.
fn stretches(samples: usize) -> impl IndexedParallelIterator<Item = Range<usize>> {
    (0..samples.div_ceil(STRETCH)).into_par_iter().map(move |n| n * STRETCH..samples.min((n + 1) * STRETCH))
}

/// Which of the usual stand-ins a sample is, if it is one.
fn usual(sample: f64) -> Option<usize> {
    let named = USUAL.iter().position(|usual| *usual == sample);
    named.or_else(|| (sample.abs() > HUGE).then_some(USUAL.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Samples;
    use thalweg_core::base::rng::Key;

    #[test]
    fn heights_of_a_piece_are_those_of_its_samples() {
        let key = Key::new(5, "heights");
        // More than a stretch, and not a whole number of them.
        let size = [211, 157];
        let count = size[0] * size[1];
        let draw = |part: u64, k: usize| key.and(part).and(k as u64).unit();
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
            let reading = HeightReading::of(&raster, None, &LoadOptions::default());
            let look = reading.look(&raster, Cell::new(0, 0));
            reading.settle(&look).unwrap()
        };
        let heights = reading.heights(&raster, Cell::new(0, 0)).unwrap();
        for (k, height) in heights.into_iter().enumerate() {
            assert_eq!(height, reading.height(&raster, k).unwrap_or(Height(NO_HEIGHT)), "sample {k}");
        }
        // One that no height can be is named with its cell, if it is not masked.
        for masked in [true, false] {
            let Samples::F32(samples) = &mut raster.samples else { unreachable!() };
            samples[157 * 3 + 4] = 99_999.0;
            raster.mask = masked.then(|| vec![true; count]);
            let told = reading.heights(&raster, Cell::new(100, 200));
            assert_eq!(told.is_ok(), masked);
            assert!(masked || told.unwrap_err().contains("99999 m at row 103, column 204"));
        }
    }
}
