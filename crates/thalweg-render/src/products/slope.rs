//! The slope of the terrain surface between cell centres, without cells that have no data.

use thalweg_core::Terrain;

/// Returns the rise per metre eastward and northward at row `i`, column `j`, by central differences. They are
/// one-sided next to the terrain's edge or a cell without data, and 0 if there is no neighbour at all. Differences of
/// elevations are exact.
///
/// # Panics
/// Panics if the cell is outside the terrain.
pub fn central_gradient(terrain: &Terrain, i: usize, j: usize) -> [f64; 2] {
    let [rows, cols] = terrain.ground.size();
    assert!(i < rows && j < cols, "row {i}, column {j} lies outside a terrain of {rows} × {cols} cells");
    let cell = terrain.grid.cell;
    let height = |r: usize, c: usize| f64::from(terrain.ground[(r, c)].0);
    let valid = |r: usize, c: usize| r < rows && c < cols && !terrain.is_nodata(r, c);
    let rise = |before: (usize, usize), after: (usize, usize)| {
        // A neighbour that is missing is replaced by the cell itself, and the span is then one cell less.
        let pick = |at: (usize, usize)| if valid(at.0, at.1) { (at, 1.0) } else { ((i, j), 0.0) };
        let ((from, back), (to, ahead)) = (pick(before), pick(after));
        let span: f64 = back + ahead;
        // Heights of 32 bits are exact in 64-bit floats, and so is their difference.
        (height(to.0, to.1) - height(from.0, from.1)) / (thalweg_core::terrain::height::UNITS * cell * span.max(1.0))
    };
    [rise((i, j.wrapping_sub(1)), (i, j + 1)), rise((i + 1, j), (i.wrapping_sub(1), j))]
}

/// Returns the unit normal (east, north, up) of a surface with this gradient (rise per metre east, north) times
/// `scale`.
pub fn scaled_normal(gradient: [f64; 2], scale: f64) -> [f64; 3] {
    let [east, north] = gradient.map(|g| g * scale);
    let length = (east * east + north * north + 1.0).sqrt();
    [-east / length, -north / length, 1.0 / length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{Field, Grid, Height};

    #[test]
    fn planes_have_their_slope_everywhere_but_for_lone_cells() {
        let mut terrain = Terrain::new(Grid::new([6, 7], 4.0).unwrap());
        for i in 0..6 {
            for j in 0..7 {
                // 0.5 per metre eastward, −0.25 per metre northward: binary fractions, so exact in units.
                terrain.ground[(i, j)] = Height::from_metres_clamped(2.0 * j as f64 + 1.0 * i as f64);
            }
        }
        terrain.nodata = Some(Field::from_fn([6, 7], |i, j| i == 2 && j == 3));
        for i in 0..6 {
            for j in 0..7 {
                assert_eq!(central_gradient(&terrain, i, j), [0.5, -0.25], "{i}, {j}");
            }
        }
        let lone = Terrain::new(Grid::new([1, 1], 4.0).unwrap());
        assert_eq!(central_gradient(&lone, 0, 0), [0.0, 0.0]);
        assert_eq!(scaled_normal([0.75, 0.0], 1.0), [-0.6, 0.0, 0.8]);
    }
}
