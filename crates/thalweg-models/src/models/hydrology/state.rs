//! [`State`]: standing and flowing water, taken out of the terrain for a batch and put back after it.

use crate::models::hydrology::amounts::{amounts_of, table_of};
use crate::models::hydrology::drop::{Drop, TABLE};
use crate::models::hydrology::past::Past;
use crate::models::hydrology::rules::Rules;
use thalweg_core::declare::codec::Row;
use thalweg_core::terrain::{Cells, DISCHARGE, MOMENTUM_X, MOMENTUM_Y, POOL};
use thalweg_core::{Field, Height, Result, Terrain};
use thalweg_flow::pools::Stock;
use thalweg_flow::{FlowGraph, Land};

/// Name of the table of water that the depth layer does not show, because it is less than a whole unit or waits at a
/// sill. Columns: `row`, `column`, `water` (units × cells).
pub const HELD: &str = "held";

/// The layers and tables that a batch takes out of the terrain and puts back.
pub struct State {
    /// Drops under way.
    pub drops: Vec<Drop>,
    /// Water at rest.
    pub stock: Stock,
    /// Discharge through each cell in m³/s.
    pub discharge: Field<f32>,
    /// Southward part of the discharge in m³/s.
    pub south: Field<f32>,
    /// Eastward part of the discharge in m³/s.
    pub east: Field<f32>,
    /// Initial state and bookings for the final computation of the lakes.
    pub past: Past,
}

impl State {
    /// Takes the state out of the terrain's layers and tables. Missing layers count as zero, except for the discharge,
    /// which starts as that of all rain.
    ///
    /// # Errors
    /// A table is not valid.
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

    /// Puts the state back into the terrain's layers and tables.
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

/// Returns the discharge that would result if all rain ran off. It is the starting value where the terrain has none,
/// so that streams need not form from nothing.
fn primed(terrain: &Terrain, rules: &Rules) -> Field<f32> {
    // `drop_rate` is per drop: times the drops per cell of a batch it is the rain on one cell in m³/s.
    let rate = (rules.drop_rate * rules.batch) as f32;
    FlowGraph::new(&Land::of(terrain)).upstream_cells().map(|cells| *cells as f32 * rate)
}
