//! Computes the samples of an export from those of a terrain, window by window.

use thalweg_core::terrain::filter::{Axis, Kernel, filter, touched};
use thalweg_core::{CellRect, Field, Result, Size};

/// A raster that is read in windows.
pub(super) trait Sheet: Send + Sync {
    /// Returns the rows and columns.
    fn size(&self) -> Size;

    /// Returns the values of a window.
    fn piece(&self, window: CellRect) -> Result<Piece>;
}

/// The values of a window in row-major order; `missing` is true where there is no data, and the value is arbitrary
/// there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub values: Field<f64>,
    pub missing: Option<Field<bool>>,
}

/// How values are interpolated between samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Between {
    /// Bicubic interpolation, or a low-pass filter if there are fewer samples: for ground.
    Smooth,
    /// Linear interpolation, or a low-pass filter; never leaves the range of the old values.
    Convex,
    /// Nearest neighbour: for classes.
    Nearest,
}

/// The positions of an export's samples relative to those of a terrain.
pub(super) struct Sampling {
    rows: Axis,
    cols: Axis,
    between: Between,
}

/// The approximate number of source cells that are in memory at a time.
const HELD: usize = 1 << 22;

impl Sampling {
    /// Makes the sampling from `from` samples to `to` with coinciding corner samples. With `texels`, the new samples
    /// are the centres of as many equal parts instead.
    pub fn new(from: Size, to: Size, between: Between, texels: bool) -> Self {
        let kernel = match between {
            _ if texels => Kernel::Middles,
            Between::Smooth => Kernel::Smooth,
            Between::Convex | Between::Nearest => Kernel::Convex,
        };
        let [rows, cols] = [0, 1].map(|k| Axis::new(from[k], to[k], kernel));
        Self { rows, cols, between }
    }

    /// Computes the samples of a window of the export. They depend only on their position, so overlapping windows have
    /// the same bits.
    ///
    /// # Errors
    /// Returns an error if the raster cannot be read.
    pub fn window(&self, sheet: &dyn Sheet, window: CellRect) -> Result<Piece> {
        let (cols, first_col, width) = self.part(&self.cols, window.start[1], window.size()[1]);
        let mut values = Vec::with_capacity(window.size()[0] * window.size()[1]);
        let mut missing: Option<Vec<bool>> = None;
        let end = window.start[0] + window.size()[0];
        let mut row = window.start[0];
        while row < end {
            let mut count = end - row;
            // The number of rows is halved until the source cells that they need fit into [`HELD`].
            while count > 1 && self.part(&self.rows, row, count).2.saturating_mul(width) > HELD {
                count = count.div_ceil(2);
            }
            let (rows, first_row, height) = self.part(&self.rows, row, count);
            let piece = sheet.piece(CellRect::new([first_row, first_col], [height, width]))?;
            let made = self.sample(&piece, &rows, &cols);
            if made.missing.is_some() || missing.is_some() {
                let all = missing.get_or_insert_with(|| vec![false; values.len()]);
                match made.missing {
                    Some(some) => all.extend_from_slice(some.as_slice()),
                    None => all.resize(values.len() + count * window.size()[1], false),
                }
            }
            values.extend_from_slice(made.values.as_slice());
            row += count;
        }
        let missing = missing.map(|missing| Field::from_vec(window.size(), missing)).transpose()?;
        Ok(Piece { values: Field::from_vec(window.size(), values)?, missing })
    }

    /// Returns some samples of an axis with indices relative to the first old sample that they need; the index of that
    /// sample; and the number of old samples.
    fn part(&self, axis: &Axis, start: usize, count: usize) -> (Axis, usize, usize) {
        let range = start..start + count;
        let by_weights = axis.weights[range.clone()].iter().flatten().map(|(k, _)| *k);
        let all = || by_weights.clone().chain(axis.nearest[range.clone()].iter().copied());
        let (first, last) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        let shift = |weights: &Vec<(usize, f64)>| weights.iter().map(|(k, weight)| (k - first, *weight)).collect();
        let weights = axis.weights[range.clone()].iter().map(shift).collect();
        let nearest = axis.nearest[range].iter().map(|k| k - first).collect();
        (Axis { weights, nearest }, first, last - first + 1)
    }

    fn sample(&self, piece: &Piece, rows: &Axis, cols: &Axis) -> Piece {
        let size = [rows.weights.len(), cols.weights.len()];
        let near = |i: usize, j: usize| (rows.nearest[i], cols.nearest[j]);
        let missing = piece.missing.as_ref().map(|missing| Field::generate(size, |i, j| missing[near(i, j)]));
        if self.between == Between::Nearest {
            return Piece { values: Field::generate(size, |i, j| piece.values[near(i, j)]), missing };
        }
        let mut values = filter(piece.values.size(), |i, j| piece.values[(i, j)], rows, cols);
        if let Some(mask) = &piece.missing {
            // A new sample that would depend on a cell without data gets the value of the nearest cell.
            let lame = touched(mask, rows, cols);
            values = Field::generate(size, |i, j| if lame[(i, j)] { piece.values[near(i, j)] } else { values[(i, j)] });
        }
        Piece { values, missing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Held(Field<f64>, Option<Field<bool>>);

    impl Sheet for Held {
        fn size(&self) -> Size {
            self.0.size()
        }

        fn piece(&self, window: CellRect) -> Result<Piece> {
            Ok(Piece { values: self.0.window(window), missing: self.1.as_ref().map(|mask| mask.window(window)) })
        }
    }

    fn held() -> Held {
        let value = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1000) as f64 / 7.0;
        Held(Field::generate([61, 47], value), Some(Field::generate([61, 47], |i, j| (20..24).contains(&i) && j > 30)))
    }

    #[test]
    fn a_window_is_the_same_bits_as_the_whole() {
        let held = held();
        for (to, between, texels) in [
            ([129, 65], Between::Smooth, false),
            ([33, 17], Between::Convex, false),
            ([129, 33], Between::Nearest, false),
            ([64, 64], Between::Convex, true),
        ] {
            let sampling = Sampling::new(held.size(), to, between, texels);
            let whole = sampling.window(&held, CellRect::new([0, 0], to)).unwrap();
            for window in [CellRect::new([3, 5], [11, 9]), CellRect::new([to[0] - 8, to[1] - 4], [8, 4])] {
                let part = sampling.window(&held, window).unwrap();
                assert_eq!(part.values, whole.values.window(window), "{between:?}");
                assert_eq!(part.missing, whole.missing.as_ref().map(|mask| mask.window(window)));
            }
        }
    }

    #[test]
    fn the_same_size_is_the_same_values_and_classes_stay_classes() {
        let held = Held(held().0, None);
        let whole = CellRect::new([0, 0], held.size());
        for between in [Between::Smooth, Between::Convex, Between::Nearest] {
            assert_eq!(
                Sampling::new(held.size(), held.size(), between, false).window(&held, whole).unwrap().values,
                held.0
            );
        }
        let sampling = Sampling::new(held.size(), [200, 9], Between::Nearest, false);
        let out = sampling.window(&held, CellRect::new([0, 0], [200, 9])).unwrap();
        assert!(out.values.as_slice().iter().all(|v| held.0.as_slice().contains(v)));
    }
}
