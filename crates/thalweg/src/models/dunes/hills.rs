//! What hills and dunes do to the wind over and round them.

use crate::terrain::field::Field;

/// The fewest cells on a side that still show a hill.
const FEWEST: usize = 4;

/// Makes the octaves' sum come out as |k|·h to a tenth, for waves of eight of the first cells and longer.
const GAIN: f32 = 0.95;

/// The wind over low hills, as parts of the wind over a plain: how much quicker it is, and how far it turns to its left.
///
/// Potential flow over ground h: in waves of number k, k·w²/|k|·h along the wind w and k·w·k·n/|k|·h across it (Jackson &
/// Hunt 1975, doi:10.1002/qj.49710143015, without the thickness of the inner layer). In place of a Fourier transform, which
/// would join one edge of the world to the other, octaves: what is lost where cells are made twice as wide has |k| of about
/// one over their width, so that second differences over that width do for the quotient. `heights` are metres on cells of
/// `cell` metres.
pub(super) fn flow(heights: &Field<f32>, cell: f32, wind: [f32; 2]) -> [Field<f32>; 2] {
    let [rows, cols] = heights.size();
    if rows.min(cols) < FEWEST {
        return [Field::new([rows, cols], 0.0), Field::new([rows, cols], 0.0)];
    }
    let wide = means(heights, 2);
    let farther = flow(&wide, 2.0 * cell, wind);
    let smooth = spread(&wide, 2, [rows, cols]);
    let octave = Field::generate([rows, cols], |i, j| heights[(i, j)] - smooth[(i, j)]);
    let [south, east] = wind;
    // Bends along rows, along columns and between both, times the parts of the wind that they count for.
    let bend = |i: usize, j: usize| {
        let at = |di: isize, dj: isize| {
            let near = |x: usize, by: isize, end: usize| x.saturating_add_signed(by).min(end - 1);
            octave[(near(i, di, rows), near(j, dj, cols))]
        };
        let down = at(1, 0) + at(-1, 0) - 2.0 * at(0, 0);
        let right = at(0, 1) + at(0, -1) - 2.0 * at(0, 0);
        [down, right, 0.25 * (at(1, 1) + at(-1, -1) - at(1, -1) - at(-1, 1))]
    };
    let along = |[down, right, both]: [f32; 3]| south * south * down + east * east * right + 2.0 * south * east * both;
    let across = |[down, right, both]: [f32; 3]| south * east * (right - down) + (south * south - east * east) * both;
    let sum = |farther: &Field<f32>, part: &(dyn Fn([f32; 3]) -> f32 + Sync)| {
        let farther = spread(farther, 2, [rows, cols]);
        Field::generate([rows, cols], |i, j| farther[(i, j)] - GAIN / cell * part(bend(i, j)))
    };
    [sum(&farther[0], &along), sum(&farther[1], &across)]
}

/// Means over squares of `times` cells a side; those at the last row and column may be less.
pub(super) fn means(field: &Field<f32>, times: usize) -> Field<f32> {
    let [rows, cols] = field.size();
    Field::generate([rows.div_ceil(times), cols.div_ceil(times)], |i, j| {
        let [high, wide] = [(i, rows), (j, cols)].map(|(x, end)| x * times..((x + 1) * times).min(end));
        let count = (high.len() * wide.len()) as f32;
        high.map(|i| field.row(i)[wide.clone()].iter().sum::<f32>()).sum::<f32>() / count
    })
}

/// The field that has such means, straight between their middles.
pub(super) fn spread(means: &Field<f32>, times: usize, size: [usize; 2]) -> Field<f32> {
    let [rows, cols] = means.size();
    let between = |x: usize, end: usize| {
        let place = ((x as f32 + 0.5) / times as f32 - 0.5).clamp(0.0, (end - 1) as f32);
        let first = place as usize;
        (first, (first + 1).min(end - 1), place - first as f32)
    };
    Field::generate(size, |i, j| {
        let ((north, south, down), (west, east, right)) = (between(i, rows), between(j, cols));
        let row = |i: usize| means[(i, west)] + right * (means[(i, east)] - means[(i, west)]);
        row(north) + down * (row(south) - row(north))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_of_any_length_quicken_the_wind_by_height_over_length() {
        for waves in [2.0, 3.0, 5.0, 8.0, 12.0, 16.0] {
            let k = std::f32::consts::TAU * waves / 128.0;
            let ground = Field::generate([128, 128], |_, j| (k * j as f32).cos());
            let [quicker, aside] = flow(&ground, 1.0, [0.0, 1.0]);
            // Of the middle, where no edge is near.
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
        let [quicker, aside] = flow(&Field::generate([128, 128], hill), 1.0, [0.0, 1.0]);
        let [before, top, behind] = [40, 63, 87].map(|j| quicker[(63, j)]);
        assert!(top > 0.2 && before < -0.02 && behind < -0.02, "{before}, {top}, {behind}");
        // Away from it before it, and back behind it: the wind goes east, its left is the north.
        for (i, j) in [(50, 50), (77, 77)] {
            assert!(aside[(i, j)] > 0.02 && aside[(127 - i, j)] < -0.02, "at {i}, {j}: {}", aside[(i, j)]);
        }
    }
}
