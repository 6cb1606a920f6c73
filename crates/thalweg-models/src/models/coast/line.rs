//! A smooth contour line around all ground above a level, without the steps of cells, and the distance of each cell
//! from it.

use rayon::prelude::*;

use crate::models::coast::blur;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Height, Terrain};
use thalweg_rivers::distance;

/// Returns the distance in metres from each cell's centre to the line that separates ground at or above `level` (in
/// units, for cell (i, j)) from lower ground, positive on the higher side and infinite where there is no line. Missing
/// data counts as high.
///
/// The line is where the high share of each cell, blurred over `smooth` metres, is a half. It therefore has no steps,
/// and islets and spurs much narrower than `smooth` have no effect.
pub(super) fn signed_contour_distance(
    terrain: &Terrain,
    level: impl Fn(usize, usize) -> f64 + Sync,
    smooth: f64,
) -> Field<f32> {
    let high = blur::smooth_normalized(
        &compute_high_shares(terrain, level),
        blur::gaussian_half_width(smooth / terrain.grid.cell, 1),
    );
    let points = find_line_crossings(&high);
    // The nearest crossing of each cell is found by whole cells; the points within them refine the distance.
    let nearest = distance::find_nearest_cells(&points.map(|point| !point[0].is_nan()));
    let [rows, cols] = high.size();
    let cell = terrain.grid.cell as f32;
    let mut out = Field::new([rows, cols], 0.0);
    out.par_rows_mut().for_each(|(i, row)| {
        for (j, out) in row.iter_mut().enumerate() {
            // The nearest point may belong to the nearest crossing of a neighbouring cell.
            let around = [(i, j), (i.wrapping_sub(1), j), (i + 1, j), (i, j.wrapping_sub(1)), (i, j + 1)];
            let squares = around.into_iter().filter(|(r, c)| *r < rows && *c < cols).filter_map(|at| {
                let k = nearest[at];
                let [y, x] = *points.as_slice().get(k as usize)?;
                let [dy, dx] = [i as f32 - (k as usize / cols) as f32 - y, j as f32 - (k as usize % cols) as f32 - x];
                Some(dy * dy + dx * dx)
            });
            let metres = squares.fold(f32::INFINITY, f32::min).sqrt() * cell;
            *out = if high[(i, j)] >= 0.5 { metres } else { -metres };
        }
    });
    out
}

/// Returns the share of each cell that is high, as if the cell were a plane with the slope of its neighbours.
fn compute_high_shares(terrain: &Terrain, level: impl Fn(usize, usize) -> f64 + Sync) -> Field<f32> {
    let (grid, ground) = (&terrain.grid, &terrain.ground);
    let [rows, cols] = grid.size;
    Field::from_fn(grid.size, |i, j| {
        if terrain.is_nodata(i, j) {
            return 1.0;
        }
        let z = |h: Height| f64::from(h.0);
        let [north, south] = [i.saturating_sub(1), (i + 1).min(rows - 1)].map(|r| z(ground[(r, j)]));
        let [west, east] = [j.saturating_sub(1), (j + 1).min(cols - 1)].map(|c| z(ground[(i, c)]));
        let rise = 0.5 * ((south - north) * (south - north) + (east - west) * (east - west)).sqrt();
        let over = z(ground[(i, j)]) - level(i, j);
        // A flat cell is entirely high or entirely low.
        // The lower bound of the rise is 1 mm; it avoids a division by zero on level ground.
        (0.5 + over / rise.max(1e-3 * UNITS)).clamp(0.0, 1.0) as f32
    })
}

/// Marks a cell without a crossing.
const NONE: [f32; 2] = [f32::NAN; 2];

/// Returns, for cells with the line between them and a neighbour, the offset from the cell's centre to the nearest
/// point of the line, in rows and columns; [`NONE`] for others.
fn find_line_crossings(high: &Field<f32>) -> Field<[f32; 2]> {
    let [rows, cols] = high.size();
    Field::from_fn([rows, cols], |i, j| {
        let here = high[(i, j)];
        let [n, s] = [i.saturating_sub(1), (i + 1).min(rows - 1)].map(|r| high[(r, j)]);
        let [w, e] = [j.saturating_sub(1), (j + 1).min(cols - 1)].map(|c| high[(i, c)]);
        if [n, s, w, e].iter().all(|near| (*near >= 0.5) == (here >= 0.5)) {
            return NONE;
        }
        let [y, x] = [0.5 * (s - n), 0.5 * (e - w)];
        let square = (y * y + x * x).max(1e-9);
        // The offset leads along the gradient to the line, at most to the centre of the next cell.
        let step = (0.5 - here) / square;
        let long = step.abs() * square.sqrt();
        let step = if long > 1.0 { step / long } else { step };
        [step * y, step * x]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Grid;

    fn world(size: [usize; 2], z: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
        let grid = Grid::new(size, 10.0).unwrap();
        let ground =
            Field::from_fn(size, |i, j| Height::from_metres_clamped(z(grid.row_center_y(i), grid.col_center_x(j))));
        Terrain::from_ground(grid, ground).unwrap()
    }

    #[test]
    fn distances_from_a_round_island_and_a_slanting_shore_are_those_of_geometry() {
        let island = world([100, 120], |y, x| 0.2 * (320.0 - (y - 500.0).hypot(x - 600.0)));
        let found = signed_contour_distance(&island, |_, _| 0.0, 15.0);
        for (i, j) in (0..100).flat_map(|i| (0..120).map(move |j| (i, j))) {
            let far = 320.0 - (island.grid.row_center_y(i) - 500.0).hypot(island.grid.col_center_x(j) - 600.0);
            // A blurred disc is smaller by σ²/2R, less than a metre. From a cell's centre the line is extrapolated
            // with the slope there, which is less than nearer the line: up to half a cell too far.
            assert!((f64::from(found[(i, j)]) - far).abs() < 5.0, "({i}, {j}): {} for {far}", found[(i, j)]);
        }
        // A cliff above a shoal: the cells locate the line only to within a cell, since the shoal next to the cliff
        // may be half land.
        let cliff = world([100, 120], |y, x| if x + 0.3 * y > 750.0 { 40.0 } else { -1.0 });
        let found = signed_contour_distance(&cliff, |_, _| 0.0, 15.0);
        for (i, j) in (10..90).flat_map(|i| (10..110).map(move |j| (i, j))) {
            let far = (cliff.grid.col_center_x(j) + 0.3 * cliff.grid.row_center_y(i) - 750.0) / 1.09f64.sqrt();
            assert!((f64::from(found[(i, j)]) - far).abs() < 10.0, "({i}, {j}): {} for {far}", found[(i, j)]);
        }
    }

    #[test]
    fn teeth_and_specks_leave_no_trace() {
        // Spurs one cell wide and two long, and an islet of one cell.
        let z = |y: f64, x: f64| {
            let tooth = if (y / 10.0) as i64 % 2 == 0 { 20.0 } else { 0.0 };
            if x > 600.0 - tooth || ((y - 505.0).abs() < 5.0 && (x - 305.0).abs() < 5.0) { 9.0 } else { -9.0 }
        };
        let found = signed_contour_distance(&world([100, 120], z), |_, _| 0.0, 25.0);
        for (i, j) in (10..90).flat_map(|i| (0..119).map(move |j| (i, j))) {
            let far = (j as f64 + 0.5) * 10.0 - 590.0;
            assert!((f64::from(found[(i, j)]) - far).abs() < 3.0, "({i}, {j}): {} for {far}", found[(i, j)]);
        }
    }
}
