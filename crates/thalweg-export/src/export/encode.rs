//! Encodes values as the samples of a file.

use std::collections::BTreeSet;

use super::sampling::WindowValues;
use super::target::HeightFile;
use thalweg_core::{Error, Field, Georeference, Result, Size};
use thalweg_io::sidecar::RowOrder;
use thalweg_io::{FilePath, Format, Overviews, Raster, RasterHead, SampleType, Samples, write_cog, write_raster};

/// Statistics of the values of an export.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ValueStatistics {
    /// The lowest and the highest value, if there is any.
    pub range: Option<[f64; 2]>,
    /// The number of samples; the next field is the number of those without data.
    pub cells: u64,
    pub missing: u64,
    /// The number of samples without data, where samples shared by tiles count once.
    pub once: u64,
    /// The classes of integers that occur, up to [`MAX_CLASSES`]; `None` for real numbers or for more classes.
    pub classes: Option<BTreeSet<i64>>,
    /// A hash of all values.
    pub digest: u64,
}

/// The greatest number of classes that are recorded.
// If a map has more classes, its style is continuous, and an export of its masks is refused.
const MAX_CLASSES: usize = 4096;

impl ValueStatistics {
    /// Computes the statistics of a window. Its first rows and columns, `own`, belong to no other tile.
    pub fn from_window(piece: &WindowValues, whole: bool, own: Size) -> Self {
        let cols = piece.values.cols();
        let is_own = |k: usize| k / cols < own[0] && k % cols < own[1];
        let mut seen =
            Self { range: None, cells: 0, missing: 0, once: 0, classes: whole.then(BTreeSet::new), digest: 0 };
        let mut digest = xxhash_rust::xxh3::Xxh3::new();
        for (k, value) in piece.values.as_slice().iter().enumerate() {
            seen.cells += 1;
            if is_missing(piece, k) {
                seen.missing += 1;
                seen.once += u64::from(is_own(k));
                // The value of a cell without data is arbitrary, so NaN is hashed in its place.
                digest.update(&f64::NAN.to_le_bytes());
                continue;
            }
            digest.update(&value.to_le_bytes());
            let [low, high] = seen.range.unwrap_or([*value; 2]);
            seen.range = Some([low.min(*value), high.max(*value)]);
            if let Some(classes) = &mut seen.classes {
                classes.insert(*value as i64);
                if classes.len() > MAX_CLASSES {
                    seen.classes = None;
                }
            }
        }
        seen.digest = digest.digest();
        seen
    }

    /// Merges the statistics of two parts; `other` is the later one, because the hash depends on the order.
    pub fn merge(mut self, other: Self) -> Self {
        self.range = match (self.range, other.range) {
            (Some([a, b]), Some([c, d])) => Some([a.min(c), b.max(d)]),
            (one, other) => one.or(other),
        };
        // The other numbers do not depend on the order of the parts.
        self.cells += other.cells;
        self.missing += other.missing;
        self.once += other.once;
        self.classes = match (self.classes, other.classes) {
            (Some(mut all), Some(more)) => {
                all.extend(more);
                (all.len() <= MAX_CLASSES).then_some(all)
            }
            _ => None,
        };
        let both = [self.digest.to_le_bytes(), other.digest.to_le_bytes()].concat();
        self.digest = xxhash_rust::xxh3::xxh3_64(&both);
        self
    }
}

fn is_missing(piece: &WindowValues, k: usize) -> bool {
    piece.missing.as_ref().is_some_and(|missing| missing[k])
}

/// How values become samples.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SampleEncoding {
    /// Codes from 0 to the type's highest code over a range; cells without data have code 0.
    Range([f64; 2], SampleType),
    /// 255 where the value is the class, otherwise 0.
    Mask(i64),
    /// Integers of a type, unchanged, with the value for no data.
    Codes(SampleType, f64),
    /// Real numbers in 32 bits, with the value for no data.
    Real(f64),
}

impl SampleEncoding {
    /// Returns the samples of a window, the northern row first.
    pub fn encode_samples(&self, piece: &WindowValues) -> Samples {
        let values = || piece.values.as_slice().iter().enumerate().map(|(k, v)| (*v, is_missing(piece, k)));
        match self {
            Self::Range([low, high], kind) => {
                let full = kind.max_code().unwrap_or(65_535.0);
                let code = |(value, missing): (f64, bool)| {
                    // Codes are rounded to the nearest, and rounding errors at the ends of the range do not leave the
                    // codes.
                    if missing { 0.0 } else { ((value - low) / (high - low) * full).round().clamp(0.0, full) }
                };
                match kind {
                    SampleType::U8 => Samples::U8(values().map(|v| code(v) as u8).collect()),
                    _ => Samples::U16(values().map(|v| code(v) as u16).collect()),
                }
            }
            Self::Mask(class) => {
                let is_class = |(value, missing): (f64, bool)| !missing && value as i64 == *class;
                Samples::U8(values().map(|v| if is_class(v) { 255 } else { 0 }).collect())
            }
            Self::Codes(kind, nodata) => {
                let mut samples = match kind {
                    SampleType::U8 => Samples::U8(Vec::new()),
                    SampleType::U16 => Samples::U16(Vec::new()),
                    SampleType::U32 => Samples::U32(Vec::new()),
                    _ => Samples::I32(Vec::new()),
                };
                values().for_each(|(value, missing)| samples.push(if missing { *nodata } else { value }));
                samples
            }
            Self::Real(nodata) => {
                Samples::F32(values().map(|(v, missing)| if missing { *nodata as f32 } else { v as f32 }).collect())
            }
        }
    }

    /// Returns the value that stands for no data.
    pub fn nodata(&self) -> Option<f64> {
        match self {
            Self::Codes(_, nodata) | Self::Real(nodata) => Some(*nodata),
            Self::Range(..) | Self::Mask(_) => None,
        }
    }

    /// Makes the encoding of real numbers in 32 bits, with a value for no data outside this range.
    pub fn for_real_numbers([low, high]: [f64; 2]) -> Self {
        // The lowest `f32` is below all heights, so one of the three values is always free.
        let taken = |v: &f64| (low..=high).contains(v);
        Self::Real([-9999.0, -32_768.0].into_iter().find(|v| !taken(v)).unwrap_or(f64::from(f32::MIN)))
    }

    /// Returns the encoding with the smallest integer type that can represent this range and, if `keeps` is true, an
    /// additional value for no data; `None` if no type can.
    pub fn for_integers([low, high]: [f64; 2], keeps: bool) -> Option<Self> {
        // The value for no data is the highest code of an unsigned type, or the lowest of a signed one. If it is
        // needed, no class may have it.
        let room = f64::from(u8::from(keeps));
        let unsigned = [(SampleType::U8, 255.0), (SampleType::U16, 65_535.0), (SampleType::U32, f64::from(u32::MAX))];
        let found = unsigned.into_iter().find(|(_, most)| low >= 0.0 && high <= most - room);
        if let Some((kind, most)) = found {
            return Some(Self::Codes(kind, most));
        }
        let least = f64::from(i32::MIN);
        (low >= least + room && high <= f64::from(i32::MAX)).then_some(Self::Codes(SampleType::I32, least))
    }
}

/// Writes samples of heights in the file's format, in the row order that the program expects.
pub(super) fn write_heights(
    path: &FilePath,
    file: HeightFile,
    rows: RowOrder,
    samples: Samples,
    cols: usize,
) -> Result<()> {
    let count = samples.len() / cols;
    let samples = match (rows, samples) {
        // Only files of 16-bit codes are written with the southern row first.
        (RowOrder::South, Samples::U16(codes)) => {
            let turned = Field::from_vec([count, cols], codes)?;
            Samples::U16((0..count).rev().flat_map(|i| turned.row(i).to_vec()).collect())
        }
        (_, samples) => samples,
    };
    if samples.kind() != file.sample {
        return Err(Error::invalid_value("sample type", samples.kind(), file.sample.to_string()));
    }
    write_raster(path, &Raster::new([count, cols], samples))
}

/// Writes an image of a layer, the northern row first.
pub(super) fn write_picture(path: &FilePath, samples: Samples, cols: usize) -> Result<()> {
    let size = [samples.len() / cols, cols];
    if !Format::Png.writable_types().contains(&samples.kind()) {
        return Err(Error::invalid_value("sample type", samples.kind(), "u8 or u16 for PNG"));
    }
    write_raster(path, &Raster::new(size, samples))
}

/// The metadata of a map's band.
pub(super) struct MapBand<'a> {
    pub name: &'a str,
    pub unit: &'a str,
    /// True if the values are classes.
    pub whole: bool,
}

/// Writes a cloud-optimised GeoTIFF.
pub(super) fn write_map(
    path: &FilePath,
    samples: &Samples,
    cols: usize,
    place: Option<Georeference>,
    nodata: Option<f64>,
    about: MapBand<'_>,
) -> Result<()> {
    let size = [samples.len() / cols, cols];
    let MapBand { name, unit, whole } = about;
    let unit = Some(unit.to_string()).filter(|unit| unit != "1");
    let description = Some(name.to_string());
    let head = RasterHead { nodata, georeference: place, unit, description, ..RasterHead::new(size, samples.kind()) };
    let overviews = if whole { Overviews::Classes } else { Overviews::Means };
    write_cog(path, &head, overviews, |window| samples.copy_window(size, window))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(values: &[f64], missing: Option<usize>) -> WindowValues {
        let n = values.len();
        let missing = missing.map(|at| Field::from_fn([1, n], |_, j| j == at));
        WindowValues { values: Field::from_vec([1, n], values.to_vec()).unwrap(), missing }
    }

    #[test]
    fn codes_come_back_within_half_a_step() {
        let (low, high) = (-12.5, 987.3);
        let values: Vec<f64> = (0..1000).map(|k| low + (high - low) * f64::from(k) / 999.0).collect();
        let Samples::U16(codes) =
            SampleEncoding::Range([low, high], SampleType::U16).encode_samples(&piece(&values, None))
        else {
            panic!()
        };
        let step = (high - low) / 65_535.0;
        for (code, value) in codes.iter().zip(&values) {
            // The tolerance is a few roundings of numbers below 1000.
            assert!((low + f64::from(*code) * step - value).abs() <= 0.5 * step + 1e-10);
        }
        assert_eq!((codes[0], codes[999]), (0, 65_535));
    }

    #[test]
    fn classes_are_kept_and_nodata_is_none_of_them() {
        let classes = piece(&[0.0, 3.0, 255.0, 7.0], Some(3));
        assert_eq!(
            SampleEncoding::for_integers([0.0, 254.0], true),
            Some(SampleEncoding::Codes(SampleType::U8, 255.0))
        );
        let coding = SampleEncoding::for_integers([0.0, 255.0], true).unwrap();
        assert_eq!(coding.encode_samples(&classes), Samples::U16(vec![0, 3, 255, 65_535]));
        assert_eq!(
            SampleEncoding::for_integers([-1.0, 5.0], false),
            Some(SampleEncoding::Codes(SampleType::I32, f64::from(i32::MIN)))
        );
        assert_eq!(SampleEncoding::for_integers([-1.0, 5e9], false), None);
        assert_eq!(SampleEncoding::Mask(3).encode_samples(&classes), Samples::U8(vec![0, 255, 0, 0]));
        assert_eq!(SampleEncoding::Mask(7).encode_samples(&classes), Samples::U8(vec![0; 4]), "there is no data");
        assert_eq!(SampleEncoding::for_real_numbers([-9999.0, 0.0]).nodata(), Some(-32_768.0));
    }

    #[test]
    fn what_is_seen_in_parts_is_what_is_seen_in_all() {
        let [a, b] = [piece(&[1.0, 5.0], Some(0)), piece(&[-2.0, 3.0], None)];
        let both = ValueStatistics::from_window(&a, true, [1, 9]).merge(ValueStatistics::from_window(&b, true, [1, 9]));
        assert_eq!((both.range, both.cells, both.missing), (Some([-2.0, 5.0]), 4, 1));
        assert_eq!(both.classes, Some(BTreeSet::from([-2, 3, 5])));
        assert_ne!(
            both.digest,
            ValueStatistics::from_window(&b, true, [1, 9]).merge(ValueStatistics::from_window(&a, true, [1, 9])).digest
        );
    }
}
