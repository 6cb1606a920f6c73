//! [`Raster`]: the content of a raster file, before it is interpreted as a terrain.

use std::fmt;
use std::ops::{Range, RangeFull};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::facts::Facts;
use super::geokeys;
use thalweg_core::base::names;
use thalweg_core::declare::operation::{Json, OptionKind, OptionType};
use thalweg_core::{Error, Georeference, Size};

/// The type of a file's samples.
///
/// # Examples
/// ```
/// use thalweg_io::SampleType;
///
/// assert_eq!("u16".parse::<SampleType>()?, SampleType::U16);
/// assert_eq!((SampleType::F64.to_string(), SampleType::F64.bytes()), ("f64".to_string(), 8));
/// assert!("int16".parse::<SampleType>().is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleType {
    /// Unsigned integer, 8 bits, 0 to 255.
    U8,
    /// Unsigned integer, 16 bits, 0 to 65535.
    U16,
    /// Signed integer, 16 bits, −32768 to 32767.
    I16,
    /// Signed integer, 32 bits, −2147483648 to 2147483647.
    I32,
    /// Unsigned integer, 32 bits, 0 to 4294967295.
    U32,
    /// Floating point, 32 bits.
    F32,
    /// Floating point, 64 bits: represents every fixed-point height exactly.
    F64,
}

impl SampleType {
    const NAMES: [(&str, Self); 7] = [
        ("u8", Self::U8),
        ("u16", Self::U16),
        ("i16", Self::I16),
        ("i32", Self::I32),
        ("u32", Self::U32),
        ("f32", Self::F32),
        ("f64", Self::F64),
    ];

    /// Returns the number of bytes of one sample.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Returns the greatest value of a type whose numbers are codes and not metres: `u8` and `u16`; `None` for the
    /// others.
    pub fn max_code(self) -> Option<f64> {
        match self {
            Self::U8 => Some(255.0),
            Self::U16 => Some(65_535.0),
            _ => None,
        }
    }

    /// Returns the least and the greatest value of an integer type; `None` for floats.
    pub(super) fn integer_limits(self) -> Option<[f64; 2]> {
        match self {
            Self::U8 => Some([0.0, 255.0]),
            Self::U16 => Some([0.0, 65_535.0]),
            Self::I16 => Some([-32_768.0, 32_767.0]),
            Self::I32 => Some([f64::from(i32::MIN), f64::from(i32::MAX)]),
            Self::U32 => Some([0.0, f64::from(u32::MAX)]),
            Self::F32 | Self::F64 => None,
        }
    }
}

/// As an option, only the types in which heights are metres with a fraction: `f32` and `f64`.
impl OptionType for SampleType {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Choice(&[
            ("f32", "32-bit floats, accurate to a millimetre or better."),
            ("f64", "64-bit floats, which are exact."),
        ])
    }

    fn from_json(value: &Json) -> Option<Self> {
        value.as_str()?.parse::<Self>().ok().filter(|sample| matches!(sample, Self::F32 | Self::F64))
    }

    fn to_json(&self) -> Json {
        self.to_string().into()
    }
}

impl fmt::Display for SampleType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, kind)| kind == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for SampleType {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let names = Self::NAMES.iter().map(|(name, _)| *name);
        let found = Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, kind)| *kind);
        found.ok_or_else(|| Error::unknown_name("sample type", text, names))
    }
}

/// Samples in row-major order, row 0 in the north.
///
/// # Examples
/// ```
/// use thalweg_io::{SampleType, Samples};
///
/// let samples = Samples::U8(vec![10, 20, 30, 40]);
/// assert_eq!((samples.kind(), samples.len(), samples.get(3)), (SampleType::U8, 4, 40.0));
/// assert_eq!(samples.numbers_in_range(1..3), [20.0, 30.0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Samples {
    /// See [`SampleType::U8`].
    U8(Vec<u8>),
    /// See [`SampleType::U16`].
    U16(Vec<u16>),
    /// See [`SampleType::I16`].
    I16(Vec<i16>),
    /// See [`SampleType::I32`].
    I32(Vec<i32>),
    /// See [`SampleType::U32`].
    U32(Vec<u32>),
    /// See [`SampleType::F32`].
    F32(Vec<f32>),
    /// See [`SampleType::F64`].
    F64(Vec<f64>),
}

/// Evaluates the same expression on the vector of any sample type.
macro_rules! each {
    ($samples:expr, $v:ident => $do:expr) => {
        match $samples {
            Samples::U8($v) => $do,
            Samples::U16($v) => $do,
            Samples::I16($v) => $do,
            Samples::I32($v) => $do,
            Samples::U32($v) => $do,
            Samples::F32($v) => $do,
            Samples::F64($v) => $do,
        }
    };
}

/// Makes samples of the same type by the same expression on the vector of any type.
macro_rules! each_alike {
    ($samples:expr, $v:ident => $do:expr) => {
        match $samples {
            Samples::U8($v) => Samples::U8($do),
            Samples::U16($v) => Samples::U16($do),
            Samples::I16($v) => Samples::I16($do),
            Samples::I32($v) => Samples::I32($do),
            Samples::U32($v) => Samples::U32($do),
            Samples::F32($v) => Samples::F32($do),
            Samples::F64($v) => Samples::F64($do),
        }
    };
}

/// Evaluates an expression on the vectors of two runs of samples of the same type, and another expression if the types
/// differ.
macro_rules! both {
    ($a:expr, $b:expr, $v:ident, $w:ident => $do:expr, $other:expr) => {
        match ($a, $b) {
            (Samples::U8($v), Samples::U8($w)) => $do,
            (Samples::U16($v), Samples::U16($w)) => $do,
            (Samples::I16($v), Samples::I16($w)) => $do,
            (Samples::I32($v), Samples::I32($w)) => $do,
            (Samples::U32($v), Samples::U32($w)) => $do,
            (Samples::F32($v), Samples::F32($w)) => $do,
            (Samples::F64($v), Samples::F64($w)) => $do,
            _ => $other,
        }
    };
}
pub(super) use {both, each, each_alike};

/// Conversion of a number to the nearest sample.
pub(super) trait Nearest {
    /// Returns the sample nearest to a number, clamped to the type's range; 0 for NaN if the type is an integer.
    fn nearest(number: f64) -> Self;
}

macro_rules! whole {
    ($($type:ty),+) => { $(
        impl Nearest for $type {
            fn nearest(number: f64) -> Self {
                // The cast clamps to the range of the type, and turns NaN into 0.
                number.round() as Self
            }
        }
    )+ };
}
whole!(u8, u16, i16, i32, u32);

impl Nearest for f32 {
    fn nearest(number: f64) -> Self {
        number as Self
    }
}

impl Nearest for f64 {
    fn nearest(number: f64) -> Self {
        number
    }
}

impl Samples {
    /// Returns `n` zeros.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub(super) fn zeros(kind: SampleType, n: usize) -> Result<Self, String> {
        let mut samples = match kind {
            SampleType::U8 => Self::U8(Vec::new()),
            SampleType::U16 => Self::U16(Vec::new()),
            SampleType::I16 => Self::I16(Vec::new()),
            SampleType::I32 => Self::I32(Vec::new()),
            SampleType::U32 => Self::U32(Vec::new()),
            SampleType::F32 => Self::F32(Vec::new()),
            SampleType::F64 => Self::F64(Vec::new()),
        };
        // Memory is reserved with a check, so a lack of memory becomes an error.
        each!(&mut samples, v => {
            v.try_reserve_exact(n)
                .map_err(|_| format!("has {n} samples of {} bytes, which do not fit in memory", kind.bytes()))?;
            v.resize(n, Default::default());
        });
        Ok(samples)
    }

    /// Reads `bytes.len() / kind.bytes()` samples from their bytes.
    pub(super) fn from_bytes(kind: SampleType, bytes: &[u8], big_endian: bool) -> Self {
        macro_rules! convert {
            ($t:ty) => {
                bytes
                    .as_chunks::<{ size_of::<$t>() }>()
                    .0
                    .iter()
                    .map(|b| if big_endian { <$t>::from_be_bytes(*b) } else { <$t>::from_le_bytes(*b) })
                    .collect()
            };
        }
        match kind {
            SampleType::U8 => Self::U8(bytes.to_vec()),
            SampleType::U16 => Self::U16(convert!(u16)),
            SampleType::I16 => Self::I16(convert!(i16)),
            SampleType::I32 => Self::I32(convert!(i32)),
            SampleType::U32 => Self::U32(convert!(u32)),
            SampleType::F32 => Self::F32(convert!(f32)),
            SampleType::F64 => Self::F64(convert!(f64)),
        }
    }

    /// Writes the samples' bytes, little-endian, in rows of `cols` samples.
    pub(super) fn write_le(&self, file: &mut impl std::io::Write, cols: usize) -> std::io::Result<()> {
        each!(self, v => {
            // Rows are converted one at a time, so the bytes of the whole raster are never in memory.
            let mut bytes = Vec::new();
            for row in v.chunks(cols.max(1)) {
                bytes.clear();
                row.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
                file.write_all(&bytes)?;
            }
        });
        Ok(())
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    /// Returns true if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the type of the samples.
    pub fn kind(&self) -> SampleType {
        match self {
            Self::U8(_) => SampleType::U8,
            Self::U16(_) => SampleType::U16,
            Self::I16(_) => SampleType::I16,
            Self::I32(_) => SampleType::I32,
            Self::U32(_) => SampleType::U32,
            Self::F32(_) => SampleType::F32,
            Self::F64(_) => SampleType::F64,
        }
    }

    /// Returns sample number `k`, counted row by row from 0; `f64` represents the values of every type exactly.
    #[allow(clippy::useless_conversion, reason = "the macro repeats the conversion for every type, f64 among them")]
    pub fn get(&self, k: usize) -> f64 {
        each!(self, v => v[k].into())
    }

    /// Returns the samples with these indices ([`Samples::get`]), in order.
    pub fn numbers_in_range(&self, range: Range<usize>) -> Vec<f64> {
        fn to_f64_vec<T: Copy + Into<f64>>(v: &[T]) -> Vec<f64> {
            v.iter().map(|x| (*x).into()).collect()
        }
        each!(self, v => to_f64_vec(&v[range]))
    }

    /// Returns the samples with the order of the rows (of `cols` samples) reversed, south for north.
    pub(super) fn flip_rows(self, cols: usize) -> Self {
        fn reverse_rows<T: Copy>(v: Vec<T>, cols: usize) -> Vec<T> {
            v.chunks(cols.max(1)).rev().flatten().copied().collect()
        }
        each_alike!(self, v => reverse_rows(v, cols))
    }

    /// Converts samples in column-major (Fortran) order to row-major order.
    pub(super) fn into_row_major(self, [rows, cols]: Size) -> Self {
        fn transpose<T: Copy>(v: &[T], rows: usize, cols: usize) -> Vec<T> {
            (0..rows).flat_map(|i| (0..cols).map(move |j| v[j * rows + i])).collect()
        }
        each_alike!(self, v => transpose(&v, rows, cols))
    }
}

/// The metadata of a raster, without its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct RasterHead {
    /// The numbers of rows and columns.
    pub size: Size,
    /// The type of its samples.
    pub kind: SampleType,
    /// The sample that stands for no data; `None` if there is none.
    pub nodata: Option<f64>,
    /// The factor and offset from sample to value; `[1, 0]` if none are specified.
    pub scale: [f64; 2],
    /// True if the file itself specifies what its samples mean, by a scale or a unit.
    pub scaled: bool,
    /// The unit of the values, as spelled in the file; `None` if it is not specified.
    pub unit: Option<String>,
    /// A short description of the values, for writing; `None` to write none.
    pub description: Option<String>,
    /// The position of the cells, and the keys of the CRS; `None` if not specified.
    pub georeference: Option<Georeference>,
    /// What the reader ignored or had to assume.
    pub warnings: Vec<String>,
    /// The sources of the properties, as far as the reader recorded them.
    pub facts: Facts,
}

impl RasterHead {
    /// Makes metadata with a size and type and nothing else.
    pub fn new(size: Size, kind: SampleType) -> Self {
        Self {
            size,
            kind,
            nodata: None,
            scale: [1.0, 0.0],
            scaled: false,
            unit: None,
            description: None,
            georeference: None,
            warnings: Vec::new(),
            facts: Facts::default(),
        }
    }
}

/// A file's samples and metadata.
///
/// # Examples
/// Metres with one cell without data, which [`convert_to_terrain`](crate::convert_to_terrain) masks.
///
/// ```
/// use thalweg_io::{LoadOptions, Raster, Samples, convert_to_terrain};
///
/// let samples = Samples::F32(vec![10.0, 20.0, -1.0, 30.0]);
/// let raster = Raster { nodata: Some(-1.0), ..Raster::new([2, 2], samples) };
/// let options = LoadOptions { cell_size: Some(30.0), ..LoadOptions::default() };
/// let loaded = convert_to_terrain("dem.tif", raster, None, &options)?;
/// assert!(loaded.nodata_count == 1 && loaded.terrain.is_nodata(1, 0));
/// assert_eq!(loaded.terrain.ground[(1, 1)].metres(), 30.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Raster {
    /// The numbers of rows and columns.
    pub size: Size,
    /// The samples, one per cell; empty if only the metadata was read.
    pub samples: Samples,
    /// The sample that stands for no data, before scaling; `None` if there is none.
    pub nodata: Option<f64>,
    /// The factor and offset from sample to value (GDAL's band scale); `[1, 0]` if the file specifies none. For
    /// example, with `[0.1, 0]` the sample 1234 is 123.4 m.
    pub scale: [f64; 2],
    /// True if the file itself specifies what its samples mean, by a scale or a unit.
    pub scaled: bool,
    /// The unit of the values, as spelled in the file; `None` if it is not specified.
    pub unit: Option<String>,
    /// The position of the cells, and the keys of the CRS; `None` if not specified.
    pub georeference: Option<Georeference>,
    /// The mask, one value per cell, row by row: true where there is no data; `None` without a mask.
    pub mask: Option<Vec<bool>>,
    /// What the reader ignored or had to assume.
    pub warnings: Vec<String>,
    /// The sources of the properties, as far as the reader recorded them.
    pub facts: Facts,
}

impl Raster {
    /// Makes a raster of samples without metadata.
    pub fn new(size: Size, samples: Samples) -> Self {
        Self {
            size,
            samples,
            nodata: None,
            scale: [1.0, 0.0],
            scaled: false,
            unit: None,
            georeference: None,
            mask: None,
            warnings: Vec::new(),
            facts: Facts::default(),
        }
    }

    /// Returns the metadata without the samples.
    pub fn head(&self) -> RasterHead {
        RasterHead {
            nodata: self.nodata,
            scale: self.scale,
            scaled: self.scaled,
            unit: self.unit.clone(),
            georeference: self.georeference.clone(),
            warnings: self.warnings.clone(),
            facts: self.facts.clone(),
            ..RasterHead::new(self.size, self.samples.kind())
        }
    }

    /// Turns the rows if the first one is in the south, and removes a negligible skew of the transform.
    pub(super) fn into_north_up(mut self) -> Self {
        let Some(place) = &mut self.georeference else { return self };
        geokeys::remove_tiny_skew(place, self.size);
        if !geokeys::is_south_up(place) {
            return self;
        }
        *place = geokeys::reverse_row_order(place, self.size);
        let cols = self.size[1].max(1);
        self.samples = self.samples.flip_rows(cols);
        self.mask = self.mask.map(|mask| mask.rchunks(cols).flatten().copied().collect());
        self
    }

    /// Marks the cells where `mask` is true as no data, in addition to those marked already.
    pub(super) fn mask_out(&mut self, mask: Vec<bool>) {
        match &mut self.mask {
            Some(own) => own.iter_mut().zip(mask).for_each(|(own, other)| *own |= other),
            None => self.mask = Some(mask),
        }
    }

    /// Returns true if a mask excludes cell number `k`, counted row by row from 0.
    pub fn is_masked(&self, k: usize) -> bool {
        self.mask.as_ref().is_some_and(|mask| mask[k])
    }
}

/// Parses the scale or the offset of a file's samples. `item` names the place of the text in the file for messages.
///
/// # Errors
/// Returns an error if the text is not a finite number, or if a scale is 0.
pub(super) fn parse_scaling(text: &str, is_scale: bool, item: &str) -> Result<f64, String> {
    let text = text.trim();
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && (!is_scale || *number != 0.0));
    number.ok_or_else(|| {
        let (name, allowed) = match is_scale {
            true => ("scale", "a number other than 0"),
            false => ("offset", "a number"),
        };
        format!(
            "has the {name} `{}` ({item}); it must be {allowed}, with a decimal point: correct it with `gdal_edit.py \
             -scale SCALE -offset OFFSET`",
            names::format_short(text)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scales_that_keep_heights_apart_are_accepted() {
        assert_eq!(parse_scaling(" 0.1 ", true, "SCALE"), Ok(0.1));
        assert_eq!(parse_scaling("-2e-3", true, "SCALE"), Ok(-2e-3));
        assert_eq!(parse_scaling("0", false, "OFFSET"), Ok(0.0));
        for text in ["0", "-0.0", "nan", "inf", "-inf", "0,1", "", "1 m", "1e999", "0x10"] {
            let problem = parse_scaling(text, true, "item SCALE").unwrap_err();
            assert!(problem.contains(&format!("`{text}`")) && problem.contains("item SCALE"), "{problem}");
        }
        for text in ["nan", "inf", "0,1", ""] {
            assert!(parse_scaling(text, false, "item OFFSET").unwrap_err().contains("the offset"), "{text}");
        }
    }
}
