//! The margin: terrain that is computed around the map so that rivers enter and leave it, and that is finally cut
//! away.

use crate::recipe::Recipe;
use crate::run::Run;
use thalweg_core::Terrain;
use thalweg_models::model::MassBalance;

impl Run {
    /// Cuts the terrain down to its map, whose edges are open: everything beyond leaves the world.
    pub(super) fn trim(&mut self) -> MassBalance {
        let holds = |terrain: &Terrain| (terrain.sum_solid(), terrain.sum_standing_water());
        let before = holds(&self.terrain);
        self.terrain = trim_to_map(&self.recipe, &self.terrain);
        let after = holds(&self.terrain);
        MassBalance { added: after.0 - before.0, drained: (before.1 - after.1).max(0.0), ..MassBalance::default() }
    }
}

/// Returns the map of a terrain: the terrain itself if it has no margin.
pub(super) fn trim_to_map(recipe: &Recipe, terrain: &Terrain) -> Terrain {
    match recipe.map_window(&terrain.grid) {
        Some(map) => Terrain { grid: recipe.map_grid(&terrain.grid), ..terrain.copy_window(map) },
        None => terrain.clone(),
    }
}
