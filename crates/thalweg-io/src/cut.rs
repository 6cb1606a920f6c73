//! Windows of samples: cut out, put in; and samples as bytes.

use super::raster::{Nearest, both, each};
use super::{SampleType, Samples};
use thalweg_core::{Cell, CellRect, Error, Result, Size};

impl Samples {
    /// `n` times `value`, as near as the type comes to it: of whole numbers the nearest within the type's range, 0 for NaN.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn filled(kind: SampleType, n: usize, value: f64) -> Result<Self> {
        let mut samples = Self::zeros(kind, n).map_err(|problem| Error::value("samples", n, problem))?;
        each!(&mut samples, v => v.fill(Nearest::nearest(value)));
        Ok(samples)
    }

    /// Puts one value at the end, as near as the type comes to it; see [`Samples::filled`].
    pub fn push(&mut self, value: f64) {
        each!(self, v => v.push(Nearest::nearest(value)));
    }

    /// Samples from their bytes, least byte first unless `big_endian`.
    ///
    /// # Errors
    /// A number of bytes that is no multiple of a sample's.
    pub fn of_bytes(kind: SampleType, bytes: &[u8], big_endian: bool) -> Result<Self> {
        if !bytes.len().is_multiple_of(kind.bytes()) {
            return Err(Error::value("bytes of samples", bytes.len(), format!("a multiple of {}", kind.bytes())));
        }
        Ok(Self::from_bytes(kind, bytes, big_endian))
    }

    /// Their bytes, least byte first.
    pub fn to_bytes(&self) -> Vec<u8> {
        each!(self, v => v.iter().map(|x| x.to_le_bytes()).collect::<Vec<_>>().into_flattened())
    }

    /// The samples of `window` of a map of `size` whose samples these are.
    ///
    /// # Errors
    /// Samples that are not as many as the map has cells; a window that does not lie inside it, or for which there is no memory.
    pub fn window(&self, size: Size, window: CellRect) -> Result<Self> {
        inside(size, window)?;
        let mut cut = Self::zeros(self.kind(), window.size()[0] * window.size()[1])
            .map_err(|problem| Error::value("window", window.size()[0] * window.size()[1], problem))?;
        cut.paste(window.size(), CellRect::new([0, 0], window.size()), self, size, window.start)?;
        Ok(cut)
    }

    /// Puts samples of `from`, a map of `from_size`, into `to` of these, a map of `size`. They are taken from cell
    /// `start` of `from` on.
    ///
    /// # Errors
    /// Samples of another type, or not as many as their map has cells; a window that does not lie inside its map.
    pub fn paste(
        &mut self,
        size: Size,
        to: CellRect,
        from: &Self,
        from_size: Size,
        start: impl Into<Cell>,
    ) -> Result<()> {
        let start = start.into();
        inside(size, to)?;
        inside(from_size, CellRect::new(start, to.size()))?;
        for (samples, size) in [(&*self, size), (from, from_size)] {
            if size[0].checked_mul(size[1]) != Some(samples.len()) {
                let allowed = format!("{} × {} (rows × columns)", size[0], size[1]);
                return Err(Error::value("samples", samples.len(), allowed));
            }
        }
        let (kind, other) = (self.kind(), from.kind());
        both!(self, from, v, w => {
            for r in 0..to.size()[0] {
                let at = (to.start[0] + r) * size[1] + to.start[1];
                let other = (start[0] + r) * from_size[1] + start[1];
                v[at..at + to.size()[1]].copy_from_slice(&w[other..other + to.size()[1]]);
            }
            Ok(())
        }, Err(Error::value("type of samples", other, kind.to_string())))
    }
}

/// Refuses a window that does not lie inside a map of `size`.
///
/// # Errors
/// A window that reaches beyond the map; the error says where it would lie, and how large the map is.
pub fn inside(size: Size, window: CellRect) -> Result<()> {
    let end = |k: usize| window.start[k].checked_add(window.size()[k]);
    if (0..2).all(|k| end(k).is_some_and(|end| end <= size[k])) {
        return Ok(());
    }
    let Cell { row: i, col: j } = window.start;
    let value = format!("{} × {} cells from row {i}, column {j} on", window.size()[0], window.size()[1]);
    Err(Error::value("window", value, format!("what lies inside {} × {} (rows × columns)", size[0], size[1])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_is_put_back() {
        let all = Samples::I32((0..35).collect());
        let window = CellRect::new([1, 2], [3, 4]);
        let cut = all.window([5, 7], window).unwrap();
        assert_eq!(cut, Samples::I32(vec![9, 10, 11, 12, 16, 17, 18, 19, 23, 24, 25, 26]));
        let mut other = Samples::filled(SampleType::I32, 35, -1.0).unwrap();
        other.paste([5, 7], window, &cut, [3, 4], [0, 0]).unwrap();
        assert_eq!(other.window([5, 7], window).unwrap(), cut);
        assert_eq!(other.get(8), -1.0);
        assert_eq!(Samples::of_bytes(SampleType::I32, &all.to_bytes(), false).unwrap(), all);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut all = Samples::U8(vec![0; 6]);
        let whole = CellRect::new([0, 0], [2, 3]);
        assert!(all.window([2, 3], CellRect::new([1, 0], [2, 1])).is_err());
        assert!(all.window([2, 3], CellRect::new([usize::MAX, 0], [2, 1])).is_err());
        assert!(all.window([3, 3], whole).is_err());
        assert!(all.paste([2, 3], whole, &Samples::U16(vec![0; 6]), [2, 3], [0, 0]).is_err());
        assert!(Samples::of_bytes(SampleType::U16, &[1, 2, 3], false).is_err());
    }
}
