//! The water balance of a whole run, computed on the terrain at its end.
//!
//! Drops do the erosion of a far longer time than `years`. While they run, sediment raises lakes, and basins grow and
//! shrink under water that has already arrived. The water that stands at the end of the run would therefore belong to
//! a terrain that no longer exists.

use crate::model::{MassBalance, Tick};
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::lakes::SettledLakes;
use crate::models::hydrology::rules::HydrologyRules;
use crate::models::hydrology::state::HydrologyState;
use crate::models::hydrology::weather;
use thalweg_core::{Field, Height, Result, Terrain};
use thalweg_flow::Land;
use thalweg_flow::pools::{self, Arrival, Stock};

/// Number of time steps into which the years are divided. The volume of a lake whose age equals its response time is
/// then wrong by 1 in 100.
const PARTS: i64 = 32;

/// The settings of [`recompute_lakes`].
pub struct BalanceSettings<'a> {
    pub model: &'a Hydrology,
    pub rules: &'a HydrologyRules,
    /// The last batch.
    pub tick: Tick,
    /// Depressions that fill within this many years hold no water.
    pub passes: f64,
}

/// Computes the lakes that the climate of all years leaves on the current terrain, starting with the water that stood
/// when the run began, and stores them in `state`. Depressions that fill within `passes` years hold no water. Returns
/// the water balance in units × cells.
///
/// # Errors
/// Returns the errors of [`weather::compute_arrivals`] and [`Pools::balance_water`](pools::Pools::balance_water).
pub fn recompute_lakes(
    lakes: &mut Option<SettledLakes>,
    terrain: &Terrain,
    state: &mut HydrologyState,
    stream: &Field<f32>,
    settings: BalanceSettings<'_>,
) -> Result<MassBalance> {
    let BalanceSettings { model, rules, tick, passes } = settings;
    let land = Land::from_terrain(terrain);
    let pools = SettledLakes::update_or_create(lakes, &land).pools();
    let mut books = MassBalance::default();
    let batches =
        weather::ArrivingBatches { depth: &state.stock.depth, stream, steps: 0..tick.step + 1, key: tick.key };
    let come = weather::compute_arrivals(terrain, model, rules, pools, batches, &mut books)?;
    let mut stock = Stock { depth: Field::new(terrain.grid.size, Height::ZERO), held: state.past.stood.clone() };
    let part = model.years / PARTS as f64;
    for n in 0..PARTS {
        // Whole units, whose sum over the parts is exact.
        let until = |water: i64, n: i64| (i128::from(water) * i128::from(n) / i128::from(PARTS)) as i64;
        let comes = |all: &Arrival| Arrival { water: until(all.water, n + 1) - until(all.water, n), ..*all };
        let arrivals: Vec<Arrival> = come.iter().map(comes).collect();
        let evaporation = model.evaporated_units(part * n as f64, part * (n + 1) as f64);
        // No drops run here, so that water above a sill need not leave gradually: all of it flows on within the part.
        let how = pools::PoolRules { evaporation, release: 1.0, least: 1 };
        let balance = pools.balance_water(&land, &mut stock, &arrivals, &how, passes / part)?;
        books.evaporated += balance.evaporated as f64;
        books.drained += balance.left as f64;
    }
    state.stock = stock;
    Ok(books)
}
