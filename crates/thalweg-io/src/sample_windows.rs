//! Samples: windows copied out and pasted in, and conversion from and to bytes.

use super::raster::{Nearest, both, each};
use super::{SampleType, Samples};
use thalweg_core::{Cell, CellRect, Error, Result, Size};

impl Samples {
    /// Returns `n` samples with the number nearest to `value` that the type can represent: whole numbers are rounded
    /// and clamped to the type's range, and NaN becomes 0.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub fn filled(kind: SampleType, n: usize, value: f64) -> Result<Self> {
        let mut samples = Self::zeros(kind, n).map_err(|_| samples_too_large(kind, n))?;
        each!(&mut samples, v => v.fill(Nearest::nearest(value)));
        Ok(samples)
    }

    /// Appends the number nearest to `value` that the type can represent; see [`Samples::filled`].
    pub fn push(&mut self, value: f64) {
        each!(self, v => v.push(Nearest::nearest(value)));
    }

    /// Reads samples from their bytes, little-endian unless `big_endian`.
    ///
    /// # Errors
    /// Returns an error if the number of bytes is not a multiple of a sample's size.
    pub fn decode_bytes(kind: SampleType, bytes: &[u8], big_endian: bool) -> Result<Self> {
        if !bytes.len().is_multiple_of(kind.bytes()) {
            return Err(Error::invalid_value(
                "bytes of samples",
                bytes.len(),
                format!("a multiple of {}", kind.bytes()),
            ));
        }
        Ok(Self::from_bytes(kind, bytes, big_endian))
    }

    /// Returns the bytes of the samples, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        each!(self, v => v.iter().map(|x| x.to_le_bytes()).collect::<Vec<_>>().into_flattened())
    }

    /// Copies the samples of `window` from these samples of a map of `size`.
    ///
    /// # Errors
    /// Returns an error if there are not as many samples as the map has cells, or if the window is not inside the map
    /// or does not fit into memory.
    pub fn copy_window(&self, size: Size, window: CellRect) -> Result<Self> {
        check_window_bounds(size, window)?;
        let count = window.size()[0] * window.size()[1];
        let mut cut = Self::zeros(self.kind(), count).map_err(|_| samples_too_large(self.kind(), count))?;
        cut.paste(window.size(), CellRect::new([0, 0], window.size()), self, size, window.start)?;
        Ok(cut)
    }

    /// Returns the samples of a map of `size` whose row i and column j is number i · `strides[0]` + j · `strides[1]`.
    ///
    /// # Errors
    /// Returns an error if there are fewer samples, or if there is not enough memory.
    pub fn gather(&self, size: Size, strides: Size) -> Result<Self> {
        let last = |k: usize| size[k].saturating_sub(1).saturating_mul(strides[k]);
        let count = size[0].saturating_mul(size[1]);
        if count > 0 && last(0).saturating_add(last(1)) >= self.len() {
            let allowed = format!("more than {} for {} × {}", last(0).saturating_add(last(1)), size[0], size[1]);
            return Err(Error::invalid_value("samples", self.len(), allowed));
        }
        let mut map = Self::zeros(self.kind(), count).map_err(|_| samples_too_large(self.kind(), count))?;
        both!(&mut map, self, v, w => {
            for (i, row) in v.chunks_mut(size[1].max(1)).enumerate() {
                for (j, sample) in row.iter_mut().enumerate() {
                    *sample = w[i * strides[0] + j * strides[1]];
                }
            }
        }, ());
        Ok(map)
    }

    /// Copies samples of `from`, a map of `from_size`, to the window `to` of these samples, a map of `size`. The first
    /// sample is taken from the cell `start` of `from`.
    ///
    /// # Errors
    /// Returns an error if the samples have another type, if their number is not that of their map's cells, or if a
    /// window is not inside its map.
    pub fn paste(
        &mut self,
        size: Size,
        to: CellRect,
        from: &Self,
        from_size: Size,
        start: impl Into<Cell>,
    ) -> Result<()> {
        let start = start.into();
        check_window_bounds(size, to)?;
        check_window_bounds(from_size, CellRect::new(start, to.size()))?;
        for (samples, size) in [(&*self, size), (from, from_size)] {
            if size[0].checked_mul(size[1]) != Some(samples.len()) {
                let allowed = format!("{} × {} (rows × columns)", size[0], size[1]);
                return Err(Error::invalid_value("samples", samples.len(), allowed));
            }
        }
        let (kind, other) = (self.kind(), from.kind());
        both!(self, from, v, w => {
            // The bounds have been checked above, so the slices are inside their vectors.
            for r in 0..to.size()[0] {
                let at = (to.start[0] + r) * size[1] + to.start[1];
                let other = (start[0] + r) * from_size[1] + start[1];
                v[at..at + to.size()[1]].copy_from_slice(&w[other..other + to.size()[1]]);
            }
            Ok(())
        }, Err(Error::invalid_value("type of samples", other, kind.to_string())))
    }
}

/// Rejects a window that is not inside a map of `size`.
///
/// # Errors
/// Returns an error with the window and the size of the map if the window extends beyond the map.
pub fn check_window_bounds(size: Size, window: CellRect) -> Result<()> {
    // A start near the greatest number must not wrap around.
    let end = |k: usize| window.start[k].checked_add(window.size()[k]);
    if (0..2).all(|k| end(k).is_some_and(|end| end <= size[k])) {
        return Ok(());
    }
    let Cell { row: i, col: j } = window.start;
    let value = format!("{} × {} cells from row {i}, column {j}", window.size()[0], window.size()[1]);
    Err(Error::invalid_value("window", value, format!("a window inside {} × {} (rows × columns)", size[0], size[1])))
}

/// Makes the error for `count` samples for which there is no memory.
fn samples_too_large(kind: SampleType, count: usize) -> Error {
    Error::TooLarge {
        what: format!("{count} samples"),
        need: format!("{} bytes of memory", count.saturating_mul(kind.bytes())),
        have: "fewer".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_is_put_back() {
        let all = Samples::I32((0..35).collect());
        let window = CellRect::new([1, 2], [3, 4]);
        let cut = all.copy_window([5, 7], window).unwrap();
        assert_eq!(cut, Samples::I32(vec![9, 10, 11, 12, 16, 17, 18, 19, 23, 24, 25, 26]));
        let mut other = Samples::filled(SampleType::I32, 35, -1.0).unwrap();
        other.paste([5, 7], window, &cut, [3, 4], [0, 0]).unwrap();
        assert_eq!(other.copy_window([5, 7], window).unwrap(), cut);
        assert_eq!(other.get(8), -1.0);
        assert_eq!(Samples::decode_bytes(SampleType::I32, &all.to_bytes(), false).unwrap(), all);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut all = Samples::U8(vec![0; 6]);
        let whole = CellRect::new([0, 0], [2, 3]);
        assert!(all.copy_window([2, 3], CellRect::new([1, 0], [2, 1])).is_err());
        assert!(all.copy_window([2, 3], CellRect::new([usize::MAX, 0], [2, 1])).is_err());
        assert!(all.copy_window([3, 3], whole).is_err());
        assert!(all.paste([2, 3], whole, &Samples::U16(vec![0; 6]), [2, 3], [0, 0]).is_err());
        assert!(Samples::decode_bytes(SampleType::U16, &[1, 2, 3], false).is_err());
    }
}
