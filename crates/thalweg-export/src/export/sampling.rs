//! Computes the samples of an export from those of a terrain, window by window.

use thalweg_core::terrain::filter::{AxisFilter, Kernel, resample_mask, resample_values};
use thalweg_core::{CellRect, Field, Result, Size};

/// A raster that is read in windows.
pub(super) trait WindowedRaster: Send + Sync {
    /// Returns the rows and columns.
    fn size(&self) -> Size;

    /// Returns the values of a window.
    fn read_window(&self, window: CellRect) -> Result<WindowValues>;
}

/// The values of a window in row-major order; `missing` is true where there is no data, and the value is arbitrary
/// there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WindowValues {
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
pub(super) struct WindowSampler {
    rows: AxisFilter,
    cols: AxisFilter,
    between: Between,
}

/// The approximate number of source cells that are in memory at a time.
// As 64-bit floats these cells take 32 MiB.
const SOURCE_CELLS_AT_ONCE: usize = 1 << 22;

impl WindowSampler {
    /// Makes the sampling from `from` samples to `to` with coinciding corner samples. With `texels`, the new samples
    /// are the centres of as many equal parts instead.
    pub fn new(from: Size, to: Size, between: Between, texels: bool) -> Self {
        let kernel = match between {
            _ if texels => Kernel::Middles,
            Between::Smooth => Kernel::Smooth,
            Between::Convex | Between::Nearest => Kernel::Convex,
        };
        let [rows, cols] = [0, 1].map(|k| AxisFilter::new(from[k], to[k], kernel));
        Self { rows, cols, between }
    }

    /// Computes the samples of a window of the export. They depend only on their position, so overlapping windows have
    /// the same bits.
    ///
    /// # Errors
    /// Returns an error if the raster cannot be read.
    pub fn sample_window(&self, sheet: &dyn WindowedRaster, window: CellRect) -> Result<WindowValues> {
        // All columns of the window are needed for each row, so only the rows are divided.
        let (cols, first_col, width) = self.slice_axis(&self.cols, window.start[1], window.size()[1]);
        let mut values = Vec::with_capacity(window.size()[0] * window.size()[1]);
        let mut missing: Option<Vec<bool>> = None;
        let end = window.start[0] + window.size()[0];
        let mut row = window.start[0];
        while row < end {
            let mut count = end - row;
            // The number of rows is halved until the source cells that they need fit into [`SOURCE_CELLS_AT_ONCE`].
            while count > 1 && self.slice_axis(&self.rows, row, count).2.saturating_mul(width) > SOURCE_CELLS_AT_ONCE {
                count = count.div_ceil(2);
            }
            let (rows, first_row, height) = self.slice_axis(&self.rows, row, count);
            let piece = sheet.read_window(CellRect::new([first_row, first_col], [height, width]))?;
            let made = self.interpolate(&piece, &rows, &cols);
            // The mask is allocated only when the first cell without data appears; rows before it have data.
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
        Ok(WindowValues { values: Field::from_vec(window.size(), values)?, missing })
    }

    /// Returns some samples of an axis with indices relative to the first old sample that they need; the index of that
    /// sample; and the number of old samples.
    fn slice_axis(&self, axis: &AxisFilter, start: usize, count: usize) -> (AxisFilter, usize, usize) {
        let range = start..start + count;
        // Only the old samples between the first and the last one with a weight have to be read.
        let by_weights = axis.weights[range.clone()].iter().flatten().map(|(k, _)| *k);
        let all = || by_weights.clone().chain(axis.nearest[range.clone()].iter().copied());
        let (first, last) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        let shift = |weights: &Vec<(usize, f64)>| weights.iter().map(|(k, weight)| (k - first, *weight)).collect();
        let weights = axis.weights[range.clone()].iter().map(shift).collect();
        let nearest = axis.nearest[range].iter().map(|k| k - first).collect();
        (AxisFilter { weights, nearest }, first, last - first + 1)
    }

    fn interpolate(&self, piece: &WindowValues, rows: &AxisFilter, cols: &AxisFilter) -> WindowValues {
        let size = [rows.weights.len(), cols.weights.len()];
        let near = |i: usize, j: usize| (rows.nearest[i], cols.nearest[j]);
        let missing = piece.missing.as_ref().map(|missing| Field::from_fn(size, |i, j| missing[near(i, j)]));
        // Classes are copied from the nearest cell.
        if self.between == Between::Nearest {
            return WindowValues { values: Field::from_fn(size, |i, j| piece.values[near(i, j)]), missing };
        }
        let mut values = resample_values(piece.values.size(), |i, j| piece.values[(i, j)], rows, cols);
        if let Some(mask) = &piece.missing {
            // A new sample that would depend on a cell without data gets the value of the nearest cell.
            let lame = resample_mask(mask, rows, cols);
            values = Field::from_fn(size, |i, j| if lame[(i, j)] { piece.values[near(i, j)] } else { values[(i, j)] });
        }
        WindowValues { values, missing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Held(Field<f64>, Option<Field<bool>>);

    impl WindowedRaster for Held {
        fn size(&self) -> Size {
            self.0.size()
        }

        fn read_window(&self, window: CellRect) -> Result<WindowValues> {
            Ok(WindowValues {
                values: self.0.copy_window(window),
                missing: self.1.as_ref().map(|mask| mask.copy_window(window)),
            })
        }
    }

    fn held() -> Held {
        let value = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1000) as f64 / 7.0;
        Held(Field::from_fn([61, 47], value), Some(Field::from_fn([61, 47], |i, j| (20..24).contains(&i) && j > 30)))
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
            let sampling = WindowSampler::new(held.size(), to, between, texels);
            let whole = sampling.sample_window(&held, CellRect::new([0, 0], to)).unwrap();
            for window in [CellRect::new([3, 5], [11, 9]), CellRect::new([to[0] - 8, to[1] - 4], [8, 4])] {
                let part = sampling.sample_window(&held, window).unwrap();
                assert_eq!(part.values, whole.values.copy_window(window), "{between:?}");
                assert_eq!(part.missing, whole.missing.as_ref().map(|mask| mask.copy_window(window)));
            }
        }
    }

    #[test]
    fn the_same_size_is_the_same_values_and_classes_stay_classes() {
        let held = Held(held().0, None);
        let whole = CellRect::new([0, 0], held.size());
        for between in [Between::Smooth, Between::Convex, Between::Nearest] {
            assert_eq!(
                WindowSampler::new(held.size(), held.size(), between, false)
                    .sample_window(&held, whole)
                    .unwrap()
                    .values,
                held.0
            );
        }
        let sampling = WindowSampler::new(held.size(), [200, 9], Between::Nearest, false);
        let out = sampling.sample_window(&held, CellRect::new([0, 0], [200, 9])).unwrap();
        assert!(out.values.as_slice().iter().all(|v| held.0.as_slice().contains(v)));
    }
}
