//! The wind over and around hills and dunes.

use multiversion::multiversion;
use rayon::prelude::*;

use thalweg_core::Field;

/// Minimum number of cells on a side at which a hill is still resolved.
const MIN_HILL_CELLS: usize = 4;

/// Gain at which the sum of octaves equals |k|·h to within a tenth, for waves of at least eight of the finest cells.
const GAIN: f32 = 0.95;

/// Computes the wind over low hills, relative to the wind over a plain: how much faster it is, and how far it turns to
/// its left.
///
/// This is potential flow over ground h: for waves of number k, k·w²/|k|·h along the wind w and k·w·k·n/|k|·h across
/// it (Jackson & Hunt 1975, doi:10.1002/qj.49710143015, without the thickness of the inner layer). A Fourier transform
/// would join opposite edges of the world, so octaves are used instead: what is lost when the cell width is doubled
/// has |k| of about one over that width, so second differences over that width approximate the quotient. `heights` are
/// in metres on cells of `cell` metres.
pub(super) fn compute_wind_over_hills(heights: &Field<f32>, cell: f32, wind: [f32; 2]) -> [Field<f32>; 2] {
    let [rows, cols] = heights.size();
    if rows.min(cols) < MIN_HILL_CELLS {
        return [Field::new([rows, cols], 0.0), Field::new([rows, cols], 0.0)];
    }
    // The recursion computes longer waves first, on cells twice as wide; the loop below adds this octave.
    let wide = average_squares(heights, 2);
    let [mut quicker, mut aside] =
        compute_wind_over_hills(&wide, 2.0 * cell, wind).map(|farther| interpolate_means(&farther, 2, [rows, cols]));
    let octave = subtract_with_padding(heights, &interpolate_means(&wide, 2, [rows, cols]));
    quicker.par_rows_mut().zip(aside.par_rows_mut()).for_each(|((i, quicker), (_, aside))| {
        // The first and last row are repeated, so that an edge is level and not a cliff.
        let near = [i.saturating_sub(1), i, (i + 1).min(rows - 1)].map(|i| octave.row(i));
        add_bends(near, wind, GAIN / cell, [quicker, aside]);
    });
    [quicker, aside]
}

/// Returns the difference of two fields, with the first and last value of each row repeated as padding.
fn subtract_with_padding(heights: &Field<f32>, others: &Field<f32>) -> Field<f32> {
    let [rows, cols] = heights.size();
    let mut over = Field::new([rows, cols + 2], 0.0);
    over.par_rows_mut().for_each(|(i, row)| {
        for ((over, height), other) in row[1..].iter_mut().zip(heights.row(i)).zip(others.row(i)) {
            *over = height - other;
        }
        (row[0], row[cols + 1]) = (row[1], row[cols]);
    });
    over
}

/// Adds the effect of three padded rows of an octave on the wind, along it and across it, to a row of the sums.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn add_bends(octave: [&[f32]; 3], wind: [f32; 2], gain: f32, sums: [&mut [f32]; 2]) {
    let [quicker, aside] = sums;
    let cols = quicker.len();
    // Slices of known lengths remove the bounds checks from the loop.
    let aside = &mut aside[..cols];
    let [above, here, below] = octave.map(|row| &row[..cols + 2]);
    let [south, east] = wind;
    for j in 0..cols {
        // The second differences along columns, along rows and mixed are weighted by the components of the wind.
        let down = below[j + 1] + above[j + 1] - 2.0 * here[j + 1];
        let right = here[j + 2] + here[j] - 2.0 * here[j + 1];
        let both = 0.25 * (below[j + 2] + above[j] - below[j] - above[j + 2]);
        let along = south * south * down + east * east * right + 2.0 * south * east * both;
        let across = south * east * (right - down) + (south * south - east * east) * both;
        quicker[j] -= gain * along;
        aside[j] -= gain * across;
    }
}

/// Returns the means over squares of `times` cells a side. Squares at the last row and column may be smaller.
pub(super) fn average_squares(field: &Field<f32>, times: usize) -> Field<f32> {
    let [rows, cols] = field.size();
    let mut means = Field::new([rows.div_ceil(times), cols.div_ceil(times)], 0.0);
    means.par_rows_mut().for_each(|(i, row)| {
        let high = i * times..((i + 1) * times).min(rows);
        // The rows of a square are added from north to south, so the sum of floats has one order.
        for k in high.clone() {
            for (sum, wide) in row.iter_mut().zip(field.row(k).chunks(times)) {
                let more = wide.iter().sum::<f32>();
                *sum = if k == high.start { more } else { *sum + more };
            }
        }
        for (sum, wide) in row.iter_mut().zip(field.row(high.start).chunks(times)) {
            *sum /= (high.len() * wide.len()) as f32;
        }
    });
    means
}

/// Interpolates a field bilinearly from such means, taken at the centres of their squares.
pub(super) fn interpolate_means(means: &Field<f32>, times: usize, [rows, cols]: [usize; 2]) -> Field<f32> {
    // Along rows first: the result is used for all rows between two rows of means.
    let right: Vec<_> = (0..cols).map(|j| bracketing_means(j, times, means.cols())).collect();
    let mut wide = Field::new([means.rows(), cols], 0.0);
    wide.par_rows_mut().for_each(|(i, row)| {
        let means = means.row(i);
        for (x, (west, east, part)) in row.iter_mut().zip(&right) {
            *x = means[*west] + part * (means[*east] - means[*west]);
        }
    });
    let mut field = Field::new([rows, cols], 0.0);
    field.par_rows_mut().for_each(|(i, row)| {
        let (north, south, part) = bracketing_means(i, times, means.rows());
        for ((x, north), south) in row.iter_mut().zip(wide.row(north)).zip(wide.row(south)) {
            *x = north + part * (south - north);
        }
    });
    field
}

/// Returns the two means, of `count` over `times` cells each, on either side of a cell's centre, and the interpolation
/// weight of the second.
fn bracketing_means(cell: usize, times: usize, count: usize) -> (usize, usize, f32) {
    let place = ((cell as f32 + 0.5) / times as f32 - 0.5).clamp(0.0, (count - 1) as f32);
    let first = place as usize;
    (first, (first + 1).min(count - 1), place - first as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_of_any_length_quicken_the_wind_by_height_over_length() {
        for waves in [2.0, 3.0, 5.0, 8.0, 12.0, 16.0] {
            let k = std::f32::consts::TAU * waves / 128.0;
            let ground = Field::from_fn([128, 128], |_, j| (k * j as f32).cos());
            let [quicker, aside] = compute_wind_over_hills(&ground, 1.0, [0.0, 1.0]);
            // Only the middle, where no edge is near.
            let product: f32 = (32..96).map(|j| 2.0 / 64.0 * quicker[(64, j)] * ground[(64, j)]).sum();
            assert!((0.7..1.3).contains(&(product / k)), "{waves} waves: {} of |k|·h", product / k);
            assert!(aside.as_slice().iter().all(|aside| aside.abs() < 1e-5));
        }
    }

    #[test]
    fn the_wind_goes_round_a_hill_and_over_it() {
        let hill = |i: usize, j: usize| {
            let [y, x] = [i, j].map(|x| (x as f32 - 63.5) / 12.0);
            10.0 / (1.0 + x * x + y * y)
        };
        let [quicker, aside] = compute_wind_over_hills(&Field::from_fn([128, 128], hill), 1.0, [0.0, 1.0]);
        let [before, top, behind] = [40, 63, 87].map(|j| quicker[(63, j)]);
        assert!(top > 0.2 && before < -0.02 && behind < -0.02, "{before}, {top}, {behind}");
        // The wind turns away from the hill in front of it, and back behind it. The wind blows east, so its left is
        // north.
        for (i, j) in [(50, 50), (77, 77)] {
            assert!(aside[(i, j)] > 0.02 && aside[(127 - i, j)] < -0.02, "at {i}, {j}: {}", aside[(i, j)]);
        }
    }
}
