//! Means of heights over squares of cells: exact, and at a cost that does not depend on the squares' size.

use rayon::prelude::*;

use thalweg_core::{Field, Height, Size};

/// Sums over rectangles of cells from a summed-area table (Crow 1984, doi:10.1145/800031.808600).
struct SummedAreaTable(Field<i64>);

impl SummedAreaTable {
    fn new([rows, cols]: Size, value: impl Fn(usize, usize) -> i64 + Sync) -> Self {
        // Row and column 0 are zero. Sums of 2³² cells of 2³⁰ units fit into an `i64`.
        let mut sums = Field::new([rows + 1, cols + 1], 0);
        sums.as_mut_slice().par_chunks_mut(cols + 1).enumerate().skip(1).for_each(|(i, row)| {
            let mut sum = 0;
            for (j, out) in row.iter_mut().enumerate().skip(1) {
                sum += value(i - 1, j - 1);
                *out = sum;
            }
        });
        // Rows are summed in parallel, then down the columns one row after the other.
        let mut rest = sums.as_mut_slice();
        while let Some((above, below)) = rest.split_at_mut_checked(cols + 1) {
            for (sum, north) in below.iter_mut().zip(&*above) {
                *sum += north;
            }
            rest = below;
        }
        Self(sums)
    }

    fn sum_rectangle(&self, [i0, i1]: [usize; 2], [j0, j1]: [usize; 2]) -> i64 {
        let sums = &self.0;
        sums[(i1, j1)] - sums[(i0, j1)] - sums[(i1, j0)] + sums[(i0, j0)]
    }
}

/// Returns the mean elevation over the square of 2·`radius` + 1 cells around each cell, rounded to the height unit.
/// Only cells with data count; a cell without data keeps its height.
pub fn average_heights(ground: &Field<Height>, nodata: Option<&Field<bool>>, radius: usize) -> Field<Height> {
    if radius == 0 {
        return ground.clone();
    }
    let [rows, cols] = ground.size();
    let void = |i: usize, j: usize| nodata.is_some_and(|mask| mask[(i, j)]);
    let heights = SummedAreaTable::new([rows, cols], |i, j| if void(i, j) { 0 } else { ground[(i, j)].0.into() });
    let counts = nodata.map(|_| SummedAreaTable::new([rows, cols], |i, j| i64::from(!void(i, j))));
    let span = |at: usize, size: usize| [at.saturating_sub(radius), at.saturating_add(radius + 1).min(size)];
    Field::from_fn([rows, cols], |i, j| {
        if void(i, j) {
            return ground[(i, j)];
        }
        let (down, across) = (span(i, rows), span(j, cols));
        // Without a mask the count follows from the square's size, and no table of counts is needed.
        let all = ((down[1] - down[0]) * (across[1] - across[0])) as i64;
        let count = counts.as_ref().map_or(all, |counts| counts.sum_rectangle(down, across));
        // Half of the divisor is added before the floor division: the mean is rounded to the nearest unit, for negative
        // heights as well. A cell with data counts itself, so that the divisor is not 0.
        Height((heights.sum_rectangle(down, across) + count / 2).div_euclid(count) as i32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn means_are_those_of_adding_up_every_square() {
        let (key, [rows, cols]) = (RandomKey::new(4, "means"), [23, 31]);
        let ground = Field::from_fn([rows, cols], |i, j| {
            Height::from_metres_clamped(16_000.0 * key.for_cell([i as i64, j as i64]).uniform_signed())
        });
        let mask =
            Field::from_fn([rows, cols], |i, j| key.derive_key(1).for_cell([i as i64, j as i64]).uniform_unit() < 0.3);
        for nodata in [None, Some(&mask)] {
            for radius in [0, 1, 2, 9, 40] {
                let fast = average_heights(&ground, nodata, radius);
                for i in 0..rows {
                    for j in 0..cols {
                        let near = |a: usize, b: usize| a.abs_diff(b) <= radius;
                        let square = (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c)));
                        let square = square.filter(|(r, c)| near(*r, i) && near(*c, j));
                        let valid = square.filter(|at| nodata.is_none_or(|mask| !mask[*at]));
                        let heights: Vec<f64> = valid.map(|at| f64::from(ground[at].0)).collect();
                        let mean = match nodata.is_some_and(|mask| mask[(i, j)]) {
                            true => f64::from(ground[(i, j)].0),
                            false => heights.iter().sum::<f64>() / heights.len() as f64,
                        };
                        assert!((f64::from(fast[(i, j)].0) - mean).abs() <= 0.5 + 1e-6, "{i}, {j}, {radius}");
                    }
                }
            }
        }
    }
}
