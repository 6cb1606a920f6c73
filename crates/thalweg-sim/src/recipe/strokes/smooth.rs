//! Means of the elevation around cells, which leave uniform slopes unchanged.

use rayon::prelude::*;

use thalweg_core::{Field, Terrain};

/// Half the side of the square over which means are taken, in radii of the stroke: in metres, so it is the same at
/// any resolution.
const HALF_WIDTH_RADII: f64 = 0.25;

/// The greatest distance of cells in a mean: sums of this many fit 64 bits.
const MAX_REACH_CELLS: f64 = 1_048_576.0;

/// Fractions of a unit in which a mean along a row is stored.
const PARTS: i64 = 256;

/// Returns the mean elevation around each cell of these rows and columns, in units, by column and then row: first
/// along the row, then along the column of those means. Both lines extend equally far to either side, as far as cells
/// exist and have data: a plane's mean is therefore its own elevation, at the world's edge too, and nothing beyond
/// the edge has an effect.
pub fn average_elevations(terrain: &Terrain, [rows, cols]: [&std::ops::Range<usize>; 2], radius: f64) -> Field<f64> {
    let grid = &terrain.grid;
    let longest = grid.size[0].max(grid.size[1]) as f64;
    // A reach of 0 would make each mean the cell itself, so it is at least one cell.
    let half = (HALF_WIDTH_RADII * radius / grid.cell).round().clamp(1.0, longest.min(MAX_REACH_CELLS)) as usize;
    let wide = |span: &std::ops::Range<usize>, axis: usize| {
        span.start.saturating_sub(half)..(span.end + half).min(grid.size[axis])
    };
    let [near_rows, near_cols] = [wide(rows, 0), wide(cols, 1)];
    let is_void = |i: usize, j: usize| terrain.is_nodata(i, j);
    // First the means along rows are taken, also for the rows beyond the range that the second pass reads.
    let mut across = Field::new([near_rows.len(), cols.len()], 0i64);
    across.par_rows_mut().for_each(|(r, out)| {
        let i = near_rows.start + r;
        let line = near_cols.clone().map(|j| (!is_void(i, j)).then(|| i64::from(terrain.ground[(i, j)].0) * PARTS));
        let means = PrefixSums::new(line).moving_means(half);
        let first = cols.start - near_cols.start;
        out.iter_mut().zip(&means[first..]).for_each(|(out, mean)| *out = *mean);
    });
    // Then the means along columns. The result is stored column by column, so that each thread writes one line.
    let mut round = Field::new([cols.len(), rows.len()], 0.0);
    round.par_rows_mut().for_each(|(c, out)| {
        let j = cols.start + c;
        let line = near_rows.clone().map(|i| (!is_void(i, j)).then(|| across[(i - near_rows.start, c)]));
        let means = PrefixSums::new(line).moving_means(half);
        let first = rows.start - near_rows.start;
        out.iter_mut().zip(&means[first..]).for_each(|(out, mean)| *out = *mean as f64 / PARTS as f64);
    });
    round
}

/// Values along a row or a column.
struct PrefixSums {
    /// Prefix sums: the sum of all values before each, and of all. They may wrap around; the difference of two nearby
    /// ones does not.
    before: Vec<i64>,
    /// Number of values on the western or northern side of each, up to the first gap.
    left: Vec<usize>,
    /// The same on the other side.
    right: Vec<usize>,
}

impl PrefixSums {
    /// Creates a line from values; `None` is a gap, where there is no data.
    fn new(values: impl Iterator<Item = Option<i64>>) -> Self {
        let values: Vec<Option<i64>> = values.collect();
        let mut before = vec![0i64];
        before.extend(values.iter().scan(0i64, |sum, value| {
            *sum = sum.wrapping_add(value.unwrap_or(0));
            Some(*sum)
        }));
        let left = count_since_gap(values.iter());
        let mut right = count_since_gap(values.iter().rev());
        // The counts from the other end are in reverse order.
        right.reverse();
        Self { before, left, right }
    }

    /// Returns the mean over `half` values to either side of each, or as many as there are on both; 0 for a gap.
    fn moving_means(&self, half: usize) -> Vec<i64> {
        let mean = |at: usize| {
            // Both sides are equally long: the mean of a uniform slope is then the value in the middle.
            let reach = half.min(self.left[at]).min(self.right[at]);
            let count = 2 * reach as i64 + 1;
            let sum = self.before[at + reach + 1].wrapping_sub(self.before[at - reach]);
            // Rounds to the nearest integer.
            (2 * sum + count).div_euclid(2 * count)
        };
        (0..self.left.len()).map(mean).collect()
    }
}

/// Returns how many values are before each, back to the last gap; 0 for a gap.
fn count_since_gap<'a>(values: impl Iterator<Item = &'a Option<i64>>) -> Vec<usize> {
    let mut run = 0;
    let room = values.map(|value| {
        let room = if value.is_some() { run } else { 0 };
        run = if value.is_some() { run + 1 } else { 0 };
        room
    });
    room.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_reach_equally_far_to_either_side_and_over_no_gap() {
        let line = [10, 20, 60, 20, 30].map(Some);
        assert_eq!(PrefixSums::new(line.into_iter()).moving_means(1), [10, 30, 33, 37, 30]);
        // 10+20+60+20+30 over five in the middle; a shorter reach nearer to an end.
        assert_eq!(PrefixSums::new(line.into_iter()).moving_means(9), [10, 30, 28, 37, 30]);
        let gap = [Some(10), Some(20), None, Some(-20), Some(30), Some(81), None];
        assert_eq!(PrefixSums::new(gap.into_iter()).moving_means(3), [10, 20, 0, -20, 30, 81, 0]);
        let even: Vec<_> = (0..50).map(|k| Some(7 * k - 100)).collect();
        let means = PrefixSums::new(even.iter().copied()).moving_means(20);
        assert!(means.iter().zip(&even).all(|(mean, value)| Some(*mean) == *value));
    }
}
