//! Serialization of fields as raw bytes, to pass their cells between threads of a browser, which share no memory.

use std::borrow::Cow;

use bytemuck::Pod;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thalweg_core::{Field, Size};

/// A field whose cells are written as they are in memory; both ends are the same program.
#[derive(Debug, Clone, PartialEq)]
pub struct Raw<T>(pub Field<T>);

#[derive(Serialize, Deserialize)]
struct FieldBytes<'a> {
    size: Size,
    #[serde(borrow, with = "serde_bytes")]
    bytes: Cow<'a, [u8]>,
}

impl<'a> FieldBytes<'a> {
    fn from_field<T: Pod>(field: &'a Field<T>) -> Self {
        // Borrowing avoids a copy of the cells before they are written.
        Self { size: field.size(), bytes: Cow::Borrowed(bytemuck::cast_slice(field.as_slice())) }
    }
}

impl<T: Pod> Serialize for Raw<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        field::serialize(&self.0, to)
    }
}

impl<'de, T: Pod> Deserialize<'de> for Raw<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        field::deserialize(from).map(Self)
    }
}

/// A field, for `#[serde(with)]`.
pub mod field {
    use super::*;

    /// Serializes a field.
    ///
    /// # Errors
    /// Returns the serializer's errors.
    pub fn serialize<T: Pod, S: Serializer>(field: &Field<T>, to: S) -> Result<S::Ok, S::Error> {
        FieldBytes::from_field(field).serialize(to)
    }

    /// Deserializes a field.
    ///
    /// # Errors
    /// Returns an error if the number of cells does not match the rows and columns.
    pub fn deserialize<'de, T: Pod, D: Deserializer<'de>>(from: D) -> Result<Field<T>, D::Error> {
        let FieldBytes { size, bytes } = FieldBytes::deserialize(from)?;
        // The received bytes need not be aligned, so they are copied, which is necessary anyway.
        Field::from_vec(size, bytemuck::pod_collect_to_vec(&bytes)).map_err(D::Error::custom)
    }
}

/// An optional field, for `#[serde(with)]`.
pub mod maybe {
    use super::*;

    /// Serializes an optional field.
    ///
    /// # Errors
    /// Returns the serializer's errors.
    pub fn serialize<T: Pod, S: Serializer>(field: &Option<Field<T>>, to: S) -> Result<S::Ok, S::Error> {
        field.as_ref().map(FieldBytes::from_field).serialize(to)
    }

    /// Deserializes an optional field.
    ///
    /// # Errors
    /// Returns the errors of [`field::deserialize`](super::field::deserialize).
    pub fn deserialize<'de, T: Pod, D: Deserializer<'de>>(from: D) -> Result<Option<Field<T>>, D::Error> {
        Ok(Option::<Raw<T>>::deserialize(from)?.map(|raw| raw.0))
    }
}

/// A list of fields, for `#[serde(with)]`.
pub mod fields {
    use super::*;

    /// Serializes a list of fields.
    ///
    /// # Errors
    /// Returns the serializer's errors.
    pub fn serialize<T: Pod, S: Serializer>(fields: &[Field<T>], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(fields.iter().map(FieldBytes::from_field))
    }

    /// Deserializes a list of fields.
    ///
    /// # Errors
    /// Returns the errors of [`field::deserialize`](super::field::deserialize).
    pub fn deserialize<'de, T: Pod, D: Deserializer<'de>>(from: D) -> Result<Vec<Field<T>>, D::Error> {
        Ok(Vec::<Raw<T>>::deserialize(from)?.into_iter().map(|raw| raw.0).collect())
    }
}

/// A list of plain values, for `#[serde(with)]`.
pub mod list {
    use super::*;

    /// Serializes a list.
    ///
    /// # Errors
    /// Returns the serializer's errors.
    pub fn serialize<T: Pod, S: Serializer>(list: &[T], to: S) -> Result<S::Ok, S::Error> {
        serde_bytes::serialize(bytemuck::cast_slice::<T, u8>(list), to)
    }

    /// Deserializes a list.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a whole number of values.
    pub fn deserialize<'de, T: Pod, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
        let bytes: Cow<'de, [u8]> = serde_bytes::deserialize(from)?;
        // The conversion would fill an incomplete last value with zeros.
        if !bytes.len().is_multiple_of(size_of::<T>()) {
            return Err(D::Error::custom("a list is truncated"));
        }
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        raw: Raw<i32>,
        #[serde(with = "field")]
        floats: Field<f32>,
        #[serde(with = "maybe")]
        none: Option<Field<[u8; 4]>>,
        #[serde(with = "maybe")]
        some: Option<Field<[u8; 4]>>,
        #[serde(with = "fields")]
        many: Vec<Field<[f32; 2]>>,
        #[serde(with = "list")]
        numbers: Vec<i64>,
    }

    #[test]
    fn fields_come_back_to_the_bit_and_broken_ones_are_refused() {
        let all = All {
            raw: Raw(Field::from_fn([3, 5], |i, j| i as i32 - 100 * j as i32)),
            floats: Field::from_fn([2, 2], |i, _| [f32::MIN_POSITIVE, -0.0][i]),
            none: None,
            some: Some(Field::new([1, 3], [1, 2, 3, 4])),
            many: vec![Field::new([2, 1], [0.5, f32::MAX]), Field::new([1, 1], [0.0, 1.0])],
            numbers: vec![i64::MIN, 0, i64::MAX],
        };
        let bytes = postcard::to_stdvec(&all).unwrap();
        assert_eq!(postcard::from_bytes::<All>(&bytes).unwrap(), all);
        for end in 0..bytes.len() {
            assert!(postcard::from_bytes::<All>(&bytes[..end]).is_err());
        }
        // Fewer cells than the rows and columns require.
        let short = postcard::to_stdvec(&([3usize, 5], serde_bytes::Bytes::new(&[0; 56]))).unwrap();
        assert!(postcard::from_bytes::<Raw<i32>>(&short).is_err());
    }
}
