//! Conversion of values to little-endian bytes and back. The bytes are passed on piece by piece, so that writing or
//! hashing a layer does not need a copy of it.

use std::convert::Infallible;

use crate::terrain::{CellType, Cells, Column, ColumnType};
use crate::{Error, Field, Height, Result, Size};

/// The values of a layer, a mask or a table's column, borrowed.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// Heights in fixed point.
    Heights(&'a [Height]),
    /// Real numbers of a layer or of a table's column.
    Floats(&'a [f32]),
    /// Counts of a layer.
    Counts(&'a [u32]),
    /// Integers of a table's column.
    Ints(&'a [i64]),
    /// The cells of a mask.
    Flags(&'a [bool]),
}

impl<'a> From<&'a Cells> for Values<'a> {
    fn from(cells: &'a Cells) -> Self {
        match cells {
            Cells::Height(field) => Self::Heights(field.as_slice()),
            Cells::Float(field) => Self::Floats(field.as_slice()),
            Cells::Count(field) => Self::Counts(field.as_slice()),
        }
    }
}

impl<'a> From<&'a Column> for Values<'a> {
    fn from(column: &'a Column) -> Self {
        match column {
            Column::Int(values) => Self::Ints(values),
            Column::Float(values) => Self::Floats(values),
        }
    }
}

impl Values<'_> {
    /// Returns the number of bytes.
    pub fn byte_count(self) -> u64 {
        let count = match self {
            Self::Heights(v) => 4 * v.len(),
            Self::Floats(v) => 4 * v.len(),
            Self::Counts(v) => 4 * v.len(),
            Self::Ints(v) => 8 * v.len(),
            Self::Flags(v) => v.len(),
        };
        count as u64
    }

    /// Passes the bytes to `put` piece by piece, in order, until it fails.
    ///
    /// # Errors
    /// Returns the first error of `put`.
    pub fn try_for_each_piece<E>(self, put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Heights(v) => encode_pieces(v, |h| h.0.to_le_bytes(), put),
            Self::Floats(v) => encode_pieces(v, |x| x.to_le_bytes(), put),
            Self::Counts(v) => encode_pieces(v, |n| n.to_le_bytes(), put),
            Self::Ints(v) => encode_pieces(v, |n| n.to_le_bytes(), put),
            Self::Flags(v) => encode_pieces(v, |flag| [u8::from(*flag)], put),
        }
    }

    fn to_vec(self) -> Vec<u8> {
        let mut all = Vec::with_capacity(usize::try_from(self.byte_count()).unwrap_or(0));
        // The error type has no values, so the pattern always matches.
        let Ok(()) = self.try_for_each_piece(|bytes| {
            all.extend_from_slice(bytes);
            Ok::<_, Infallible>(())
        });
        all
    }
}

impl Cells {
    /// Returns the cells as little-endian bytes, four per cell, row by row from the north-western corner.
    pub fn to_bytes(&self) -> Vec<u8> {
        Values::from(self).to_vec()
    }

    /// Reads cells of a type, `size` rows and columns, from the bytes that [`Cells::to_bytes`] returns.
    ///
    /// # Errors
    /// Returns an error if the number of bytes is not four per cell.
    pub fn from_bytes(cells: CellType, size: Size, bytes: &[u8]) -> Result<Self> {
        let words = split_words::<4>(bytes)?;
        Ok(match cells {
            CellType::Height => {
                Self::Height(Field::from_vec(size, decode_words(words, |b| Height(i32::from_le_bytes(b))))?)
            }
            CellType::Float => Self::Float(Field::from_vec(size, decode_words(words, f32::from_le_bytes))?),
            CellType::Count => Self::Count(Field::from_vec(size, decode_words(words, u32::from_le_bytes))?),
        })
    }
}

impl Column {
    /// Returns the values as little-endian bytes, [`ColumnType::byte_width`] bytes each, from the first row on.
    pub fn to_bytes(&self) -> Vec<u8> {
        Values::from(self).to_vec()
    }

    /// Reads a column of a type from the bytes that [`Column::to_bytes`] returns.
    ///
    /// # Errors
    /// Returns an error if the last value is cut off.
    pub fn from_bytes(column: ColumnType, bytes: &[u8]) -> Result<Self> {
        Ok(match column {
            ColumnType::Int => Self::Int(decode_words(split_words(bytes)?, i64::from_le_bytes)),
            ColumnType::Float => Self::Float(decode_words(split_words(bytes)?, f32::from_le_bytes)),
        })
    }
}

/// Splits bytes into words of N bytes.
fn split_words<const N: usize>(bytes: &[u8]) -> Result<&[[u8; N]]> {
    match bytes.as_chunks::<N>() {
        (words, []) => Ok(words),
        _ => Err(Error::invalid_value("bytes of values", bytes.len(), format!("a multiple of {N}"))),
    }
}

fn decode_words<T, const N: usize>(words: &[[u8; N]], value: impl Fn([u8; N]) -> T) -> Vec<T> {
    words.iter().map(|word| value(*word)).collect()
}

fn encode_pieces<T, const N: usize, E>(
    values: &[T],
    bytes: impl Fn(&T) -> [u8; N],
    mut put: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut piece = Vec::new();
    // Pieces of 16,384 values keep the buffer small.
    for values in values.chunks(1 << 14) {
        piece.clear();
        piece.extend(values.iter().flat_map(&bytes));
        put(&piece)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_columns_come_back_to_the_bit_and_broken_ones_are_refused() {
        let size = [3, 5];
        let layers = [
            Cells::Height(Field::from_fn(size, |i, j| Height(i as i32 - 70_000 * j as i32))),
            Cells::Float(Field::from_fn(size, |i, j| [f32::MIN_POSITIVE, -0.0, f32::MAX][i] / (1 + j) as f32)),
            Cells::Count(Field::from_fn(size, |i, j| u32::MAX - (5 * i + j) as u32)),
        ];
        for cells in layers {
            let (kind, bytes) = (cells.cell_type(), cells.to_bytes());
            let back = Cells::from_bytes(kind, size, &bytes).unwrap();
            assert_eq!((&back, back.to_bytes()), (&cells, bytes.clone()));
            assert!([1_usize, 4].iter().all(|first| Cells::from_bytes(kind, size, &bytes[*first..]).is_err()));
            assert!([[5, 5], [usize::MAX, 2]].iter().all(|size| Cells::from_bytes(kind, *size, &bytes).is_err()));
        }
        for column in [Column::Int(vec![i64::MIN, 0, i64::MAX]), Column::Float(vec![-0.5, 0.0, f32::MAX])] {
            let (kind, bytes) = (column.column_type(), column.to_bytes());
            assert_eq!(bytes.len(), 3 * kind.byte_width());
            assert_eq!(Column::from_bytes(kind, &bytes).unwrap(), column);
            assert!(Column::from_bytes(kind, &bytes[1..]).is_err());
        }
        // The byte order of files: little-endian.
        assert_eq!(Cells::Height(Field::new([1, 1], Height(0x0403_0201))).to_bytes(), [1, 2, 3, 4]);
        assert_eq!(Column::Int(vec![1]).to_bytes(), [1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
