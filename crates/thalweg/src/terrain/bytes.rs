//! Values as little-endian bytes, handed out piece by piece: writing or hashing a layer makes no copy of it.

use crate::terrain::height::Height;
use crate::terrain::{Cells, Column};

/// The values of a layer, a mask or a table's column.
#[derive(Clone, Copy)]
pub(crate) enum Values<'a> {
    Heights(&'a [Height]),
    Floats(&'a [f32]),
    Counts(&'a [u32]),
    Ints(&'a [i64]),
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
    /// How many bytes they are.
    pub(crate) fn byte_count(self) -> u64 {
        let count = match self {
            Self::Heights(v) => 4 * v.len(),
            Self::Floats(v) => 4 * v.len(),
            Self::Counts(v) => 4 * v.len(),
            Self::Ints(v) => 8 * v.len(),
            Self::Flags(v) => v.len(),
        };
        count as u64
    }

    /// Hands their bytes to `put`, in order, until it fails.
    pub(crate) fn pour<E>(self, put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Heights(v) => pieces(v, |h| h.0.to_le_bytes(), put),
            Self::Floats(v) => pieces(v, |x| x.to_le_bytes(), put),
            Self::Counts(v) => pieces(v, |n| n.to_le_bytes(), put),
            Self::Ints(v) => pieces(v, |n| n.to_le_bytes(), put),
            Self::Flags(v) => pieces(v, |flag| [u8::from(*flag)], put),
        }
    }
}

fn pieces<T, const N: usize, E>(
    values: &[T],
    bytes: impl Fn(&T) -> [u8; N],
    mut put: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut piece = Vec::new();
    for values in values.chunks(1 << 14) {
        piece.clear();
        piece.extend(values.iter().flat_map(&bytes));
        put(&piece)?;
    }
    Ok(())
}
