//! Runs all droplets at a place at once, for the tool that pours water.

use crate::model::{MassBalance, Model, Tick};
use crate::models::droplets::Droplets;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, Grid, Point, Result, Terrain};

/// A circle in the world in which droplets start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circle {
    /// Its centre.
    pub middle: Point,
    /// Its radius in metres.
    pub radius: f64,
}

impl Circle {
    /// Draws a uniformly distributed place in the circle, as a position of droplets. Returns `None` outside the world.
    pub(super) fn sample_start_position(&self, key: RandomKey, grid: &Grid) -> Option<Cell<f64>> {
        let [share, turn] = key.uniform_pair();
        let (sine, cosine) = libm::sincos(std::f64::consts::TAU * turn);
        // The square root makes the places uniform over the area of the circle.
        let out = self.radius * share.sqrt();
        point_to_position(grid, Point { x: self.middle.x + out * cosine, y: self.middle.y + out * sine })
    }
}

/// Converts a point to a position of droplets: rows and columns from the centre of the world's first cell, clamped
/// between the centres of the outermost cells. Returns `None` outside the world, and in a world one cell wide.
pub(super) fn point_to_position(grid: &Grid, point: Point) -> Option<Cell<f64>> {
    let corner = grid.north_west_corner();
    // Kept just below the next cell, so that the fraction stays below one when converted to `f32`.
    let along = |a: usize| {
        let at = ((point.axis_coordinate(a) - corner.axis_coordinate(a)) / grid.cell - 0.5)
            .clamp(0.0, grid.world[a] as f64 - 1.0 - NEGLIGIBLE_DISTANCE_CELLS);
        at.min(at.floor() + 1.0 - NEGLIGIBLE_DISTANCE_CELLS)
    };
    let inside = grid.find_axis_outside(point).is_none() && grid.world.iter().all(|lines| *lines > 1);
    inside.then(|| Cell::from_axes(along))
}

/// A distance in cells that is negligible, but large enough that neither an `f32` just below 1 nor an `f64` at any
/// cell rounds it away.
const NEGLIGIBLE_DISTANCE_CELLS: f64 = 1.0 / 1_048_576.0;

/// Runs all droplets of a model to their end, as many as in a stage of its own: anywhere, distributed by the layer
/// `rain`, or `within` a circle regardless of rain. None starts at sea, outside the world, or next to cells without
/// data. Droplets that are already under way in the terrain are not moved.
///
/// # Errors
/// Returns the errors of [`Model::check`], which rejects strides of more than 500 cells. The terrain is then unchanged.
pub fn pour_droplets(
    model: &Droplets,
    terrain: &mut Terrain,
    key: RandomKey,
    within: Option<Circle>,
) -> Result<MassBalance> {
    let mut stepper = model.create_stepper_within(&terrain.grid, within)?;
    // The tables are removed for the duration: poured droplets must not move droplets under way, and a coarser copy of
    // the terrain must not move entries of any table.
    let others = std::mem::take(&mut terrain.tables);
    let steps = model.steps(&terrain.grid);
    let poured = (0..steps).try_fold(MassBalance::default(), |mut sum, step| {
        sum += stepper.run_step(terrain, Tick { key, step })?;
        Ok(sum)
    });
    terrain.tables = others;
    poured
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Extent;

    #[test]
    fn every_place_of_the_world_is_one_between_centres() {
        let grid = Grid::new([3, 70_000], 7.3).unwrap();
        let Extent { width, height } = grid.extent();
        for [y, x] in [[0.0, 0.0], [height, width], [height, 0.0], [10.949_999_999_999, width - 3.650_000_001]] {
            let place = Point { x, y };
            let at = point_to_position(&grid, place).unwrap();
            for a in 0..2 {
                let part = (at[a] - at[a].floor()) as f32;
                assert!(at[a] >= 0.0 && at[a].floor() as usize + 1 < grid.world[a] && part < 1.0, "{place:?}: {at:?}");
                assert!(
                    (at[a] - (place.axis_coordinate(a) / grid.cell - 0.5)).abs()
                        <= 0.5 + 2.0 * NEGLIGIBLE_DISTANCE_CELLS
                );
            }
        }
        assert_eq!(point_to_position(&grid, Point::new(5.0, -0.001)), None);
        assert_eq!(point_to_position(&grid, Point::new(5.0, f64::NAN)), None);
        assert_eq!(point_to_position(&Grid::new([1, 9], 1.0).unwrap(), Point::new(4.0, 0.5)), None);
    }
}
