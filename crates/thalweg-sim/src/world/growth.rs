//! Plants on a world's terrain, rectangle by rectangle.

use crate::world::World;
use thalweg_core::terrain::{Cells, DISCHARGE, POOL, Table};
use thalweg_core::{CellRect, Field, Grid, Height, Result, Terrain};

impl World {
    /// Returns the table of the plants on a rectangle of a level, and its name; `None` if no stage of the recipe
    /// grows plants, or the cells are too wide or too narrow for it. A place has the same plants in every rectangle.
    /// Rows and columns are the level's.
    ///
    /// # Errors
    /// Returns the errors of [`World::window`].
    pub fn grow_plants(&self, level: u32, rect: CellRect<i64>) -> Result<Option<(&'static str, Table)>> {
        self.check(level, rect)?;
        let Some(growth) = &self.growth else { return Ok(None) };
        let width = self.frame().cell_width(level);
        let reach = (growth.influence_radius(width) / width).ceil().min(1e6) as i64;
        // Plants depend on their surroundings, so the window is wider than the rectangle by the radius of that
        // influence.
        let around = rect.grow_within(reach, self.frame().world_rect(level));
        let window = self.window(level, around)?;
        let size = window.size();
        let mut grid = Grid::new(size, width)?;
        (grid.origin, grid.edges, grid.sea_level) = (around.start, self.frame().edges, self.frame().sea);
        let mut land = Terrain::from_ground(grid, window.ground.clone())?;
        land.insert_layer(&DISCHARGE, Cells::Float(window.discharge(self.frame(), self.runoff)))?;
        if window.lakes.is_some() {
            let depth = |i: usize, j: usize| Height(window.surface((i, j)).0.saturating_sub(window.ground[(i, j)].0));
            land.insert_layer(&POOL, Cells::Height(Field::from_fn(size, depth)))?;
        }
        let start = [0, 1].map(|axis| (rect.start[axis] - around.start[axis]) as usize);
        growth.grow_plants(&land, CellRect::new(start, rect.size()))
    }
}
