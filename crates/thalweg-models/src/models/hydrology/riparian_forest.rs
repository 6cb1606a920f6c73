//! The forest that grows along the water.

use crate::model::Tick;
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::state::HydrologyState;
use crate::process::forest::FERTILITY;
use crate::process::forest::{Forest, ForestRules, PlantSite};
use thalweg_core::{Result, Terrain};

/// Years that a forest is simulated at a time, so that reading and writing its table is cheap in comparison.
const YEARS: f64 = 10.0;

/// Subkey that separates the forest's random numbers from those of drops.
const FOREST: u64 = 1 << 63;

/// Returns the parameters of the forest.
pub fn forest_rules(model: &Hydrology) -> ForestRules {
    ForestRules {
        patch: model.tree_patch,
        stream: model.tree_stream as f32,
        tree_line: model.tree_line as f32,
        ..ForestRules::default()
    }
}

/// Grows the forest up to the year reached at the end of a batch, with the water as it is then. Years are run in whole
/// multiples of [`YEARS`].
///
/// # Errors
/// Returns an error if the table of trees is not valid.
pub fn grow_forest(
    terrain: &mut Terrain,
    model: &Hydrology,
    state: &HydrologyState,
    tick: Tick,
    last: u32,
) -> Result<()> {
    if model.forest == 0.0 {
        return Ok(());
    }
    let pace = model.forest / f64::from(last + 1);
    // The last batch runs all remaining years.
    let until =
        |steps: u32| if steps > last { model.forest.ceil() } else { (pace * f64::from(steps) / YEARS).floor() * YEARS };
    let years = until(tick.step) as u64..until(tick.step + 1) as u64;
    if years.is_empty() {
        return Ok(());
    }
    let mut forest = Forest::read(terrain)?;
    let site = PlantSite {
        grid: &terrain.grid,
        ground: &terrain.ground,
        nodata: terrain.nodata.as_ref(),
        pool: Some(&state.stock.depth),
        water: None,
        discharge: Some(&state.discharge),
        fertility: terrain.float_layer(&FERTILITY),
    };
    let rules = forest_rules(model);
    for year in years {
        // A year's random numbers depend on the year alone, not on the batch that runs it.
        forest.advance_step(&site, &rules, tick.key.derive_key(FOREST).derive_key(year));
    }
    forest.write(terrain)
}
