//! [`StoredType`]: the types of samples in files, of which some are converted while they are read.

use super::tiff::widen_floats;
use super::{SampleType, Samples};

/// The type of the samples in a file. Types that [`Samples`] does not have are converted to one that has more values.
///
/// # Examples
/// ```
/// use thalweg_io::{SampleType, Samples, StoredType};
///
/// assert_eq!(StoredType::F16.decode(&[0x00, 0x3c, 0x00, 0xc0], false), Samples::F32(vec![1.0, -2.0]));
/// assert_eq!((StoredType::I64.bytes(), StoredType::I64.sample()), (8, SampleType::F64));
/// assert_eq!(StoredType::from(SampleType::U8).sample(), SampleType::U8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredType {
    /// A type of [`Samples`].
    Plain(SampleType),
    /// Signed integer, 8 bits, read as [`SampleType::I16`].
    I8,
    /// Signed integer, 64 bits, read as [`SampleType::F64`], which is exact up to 2⁵³.
    I64,
    /// Unsigned integer, 64 bits, read as [`SampleType::F64`], which is exact up to 2⁵³.
    U64,
    /// Floating point, 16 bits, read as [`SampleType::F32`].
    F16,
}

impl From<SampleType> for StoredType {
    fn from(kind: SampleType) -> Self {
        Self::Plain(kind)
    }
}

impl StoredType {
    /// Returns the number of bytes of one sample in the file.
    pub fn bytes(self) -> usize {
        match self {
            Self::Plain(kind) => kind.bytes(),
            Self::I8 => 1,
            Self::F16 => 2,
            Self::I64 | Self::U64 => 8,
        }
    }

    /// Returns the type that samples have after they are read.
    pub fn sample(self) -> SampleType {
        match self {
            Self::Plain(kind) => kind,
            Self::I8 => SampleType::I16,
            Self::F16 => SampleType::F32,
            Self::I64 | Self::U64 => SampleType::F64,
        }
    }

    /// Reads `bytes.len() / self.bytes()` samples from their bytes.
    pub fn decode(self, bytes: &[u8], big_endian: bool) -> Samples {
        match self {
            Self::Plain(kind) => Samples::from_bytes(kind, bytes, big_endian),
            Self::I8 => Samples::I16(bytes.iter().map(|byte| i16::from(byte.cast_signed())).collect()),
            Self::F16 => Samples::F32(widen_floats(bytes, 16, big_endian)),
            Self::I64 => {
                Samples::F64(read_words(bytes, big_endian, i64::from_be_bytes, i64::from_le_bytes, |x| x as f64))
            }
            Self::U64 => {
                Samples::F64(read_words(bytes, big_endian, u64::from_be_bytes, u64::from_le_bytes, |x| x as f64))
            }
        }
    }
}

/// Converts words of `N` bytes.
fn read_words<T, U, const N: usize>(
    bytes: &[u8],
    big_endian: bool,
    big: impl Fn([u8; N]) -> T,
    little: impl Fn([u8; N]) -> T,
    convert: impl Fn(T) -> U,
) -> Vec<U> {
    bytes.as_chunks::<N>().0.iter().map(|word| convert(if big_endian { big(*word) } else { little(*word) })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_float_by_its_definition() {
        for bits in 0..=u16::MAX {
            let exponent = i32::from((bits >> 10) & 0x1f);
            let fraction = f64::from(bits & 0x3ff) / 1024.0;
            let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
            let number = match exponent {
                0 => sign * fraction * 2f64.powi(-14),
                0x1f if fraction == 0.0 => sign * f64::INFINITY,
                0x1f => f64::NAN,
                _ => sign * (1.0 + fraction) * 2f64.powi(exponent - 15),
            };
            let Samples::F32(read) = StoredType::F16.decode(&bits.to_be_bytes(), true) else { unreachable!() };
            let read = f64::from(read[0]);
            assert!(read == number || (read.is_nan() && number.is_nan()), "{bits:#x}: {read} {number}");
        }
    }

    #[test]
    fn both_byte_orders() {
        for (kind, little) in [(StoredType::I64, (-5i64).to_le_bytes()), (StoredType::U64, 5u64.to_le_bytes())] {
            let mut big = little;
            big.reverse();
            assert_eq!(kind.decode(&little, false), kind.decode(&big, true));
        }
        assert_eq!(StoredType::I8.decode(&[0x80, 0x7f], true), Samples::I16(vec![-128, 127]));
        assert_eq!(StoredType::F16.decode(&[0x3c, 0x00], true), Samples::F32(vec![1.0]));
    }
}
