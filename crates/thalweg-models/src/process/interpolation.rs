//! Smooth interpolation of values given on coarser cells.

use thalweg_core::{Field, Grid};

/// Interpolates bilinearly between the centres of the coarse cells; values are constant beyond the outermost centres.
pub fn interpolate_bilinear(values: &Field<f32>, coarse: &Grid, fine: &Grid) -> Field<f32> {
    let spots =
        |axis: usize| (0..fine.size[axis]).map(|cell| locate_centre(fine, coarse, cell, axis)).collect::<Vec<_>>();
    let (rows, cols) = (spots(0), spots(1));
    Field::from_fn(fine.size, |i, j| {
        let ((north, south, down), (west, east, right)) = (rows[i], cols[j]);
        let row = |i: usize| values[(i, west)] + right * (values[(i, east)] - values[(i, west)]);
        row(north) + down * (row(south) - row(north))
    })
}

/// Returns the coarse cells before and after the centre of a fine one along an axis, and the fractional position
/// between them.
fn locate_centre(fine: &Grid, coarse: &Grid, cell: usize, axis: usize) -> (usize, usize, f32) {
    let last = coarse.size[axis] - 1;
    // Both grids count their cells from the same point of the world, so positions are compared in metres.
    let metres = ((fine.origin[axis] + cell as i64) as f64 + 0.5) * fine.cell;
    let at = (metres / coarse.cell - 0.5 - coarse.origin[axis] as f64).clamp(0.0, last as f64);
    let first = at.floor();
    (first as usize, (first as usize + 1).min(last), (at - first) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::coarse;
    use thalweg_core::Cell;

    #[test]
    fn a_plane_stays_one() {
        let mut fine = Grid::new([40, 24], 10.0).unwrap();
        fine.origin = Cell::new(3, -5);
        let coarse = coarse::coarsen_grid(&fine, 4);
        let plane =
            |grid: &Grid| Field::from_fn(grid.size, |i, j| (2.0 * grid.row_center_y(i) - grid.col_center_x(j)) as f32);
        let (got, expected) = (interpolate_bilinear(&plane(&coarse), &coarse, &fine), plane(&fine));
        // Beyond the centres of the outermost coarse cells the values are constant.
        for i in 4..36 {
            for j in 4..20 {
                assert!((got[(i, j)] - expected[(i, j)]).abs() < 1e-3, "{i}, {j}");
            }
        }
    }
}
