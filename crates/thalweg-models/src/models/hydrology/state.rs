//! [`State`]: the water that stands and runs, taken out of the terrain for a batch and given back after it.

use crate::models::hydrology::amounts::{amounts_of, table_of};
use crate::models::hydrology::drop::{Drop, TABLE};
use crate::models::hydrology::past::Past;
use crate::models::hydrology::rules::Rules;
use thalweg_core::declare::codec::Row;
use thalweg_core::terrain::{Cells, DISCHARGE, MOMENTUM_X, MOMENTUM_Y, POOL};
use thalweg_core::{Field, Height, Result, Terrain};
use thalweg_flow::pools::Stock;
use thalweg_flow::{FlowGraph, Land};

/// The table of water that stands where no depth shows it, since it makes no whole unit or waits at a spill: `row`,
/// `column`, `water` (units × cells).
pub const HELD: &str = "held";

/// What a batch takes out of the terrain and gives back.
pub struct State {
    /// Drops underway.
    pub drops: Vec<Drop>,
    /// Water at rest.
    pub stock: Stock,
    /// m³/s that pass, and the southward and eastward parts of it.
    pub discharge: Field<f32>,
    pub south: Field<f32>,
    pub east: Field<f32>,
    /// What the last reckoning begins with.
    pub past: Past,
}

impl State {
    pub fn take(terrain: &mut Terrain, rules: &Rules) -> Result<Self> {
        let grid = terrain.grid.clone();
        let drops = Drop::take(terrain, TABLE, Drop::possible)?;
        let held = terrain.tables.remove(HELD).map(|table| amounts_of(&table, HELD, "water", &grid)).transpose()?;
        let past = Past::take(terrain)?;
        let primed = (!terrain.layers.contains_key(DISCHARGE.name)).then(|| primed(terrain, rules));
        let float = |cells| match cells {
            Cells::Float(field) => field,
            other => other.to_float(),
        };
        let depth = match terrain.take(&POOL) {
            Cells::Height(depth) => depth.map(|depth| Height(depth.0.max(0))),
            other => Field::new(other.size(), Height::ZERO),
        };
        let discharge = float(terrain.take(&DISCHARGE));
        Ok(Self {
            drops,
            stock: Stock { depth, held: held.unwrap_or_default() },
            discharge: primed.unwrap_or(discharge),
            south: float(terrain.take(&MOMENTUM_Y)),
            east: float(terrain.take(&MOMENTUM_X)),
            past,
        })
    }

    pub fn give(self, terrain: &mut Terrain) -> Result<()> {
        terrain.insert(&POOL, Cells::Height(self.stock.depth))?;
        terrain.insert(&DISCHARGE, Cells::Float(self.discharge))?;
        terrain.insert(&MOMENTUM_X, Cells::Float(self.east))?;
        terrain.insert(&MOMENTUM_Y, Cells::Float(self.south))?;
        if !self.drops.is_empty() {
            terrain.tables.insert(TABLE.to_string(), Drop::pack(self.drops.iter().copied()));
        }
        self.past.give(terrain);
        if !self.stock.held.is_empty() {
            terrain.tables.insert(HELD.to_string(), table_of(&self.stock.held, "water", &terrain.grid));
        }
        Ok(())
    }
}

/// The discharge that the rain would come to if all of it ran off: streams need not find their ways from nothing.
fn primed(terrain: &Terrain, rules: &Rules) -> Field<f32> {
    // A drop a cell would be the rate of a whole batch's rain.
    let rate = (rules.drop_rate * rules.batch) as f32;
    FlowGraph::new(&Land::of(terrain)).upstream_cells().map(|cells| *cells as f32 * rate)
}
