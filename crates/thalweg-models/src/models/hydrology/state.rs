//! [`HydrologyState`]: standing and flowing water, taken out of the terrain for a batch and put back after it.

use crate::models::hydrology::amounts::{amounts_to_table, read_amounts};
use crate::models::hydrology::drop::{Drop, TABLE};
use crate::models::hydrology::rules::HydrologyRules;
use crate::models::hydrology::water_record::WaterRecord;
use thalweg_core::declare::codec::Row;
use thalweg_core::terrain::{Cells, DISCHARGE, MOMENTUM_X, MOMENTUM_Y, POOL};
use thalweg_core::{Field, Height, Result, Terrain};
use thalweg_flow::pools::Stock;
use thalweg_flow::{FlowGraph, Land};

/// Name of the table of water that the depth layer does not show, because it is less than a whole unit or waits at a
/// sill. Columns: `row`, `column`, `water` (units × cells).
pub const PENDING_WATER_TABLE: &str = "held";

/// The layers and tables that a batch takes out of the terrain and puts back.
pub struct HydrologyState {
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
    pub past: WaterRecord,
}

impl HydrologyState {
    /// Takes the state out of the terrain's layers and tables. Missing layers count as zero, except for the discharge,
    /// which starts as that of all rain.
    ///
    /// # Errors
    /// Returns an error if a table is not valid.
    pub fn take_from(terrain: &mut Terrain, rules: &HydrologyRules) -> Result<Self> {
        let grid = terrain.grid.clone();
        let drops = Drop::take_table(terrain, TABLE, Drop::validate_in_window)?;
        let stored = terrain
            .tables
            .remove(PENDING_WATER_TABLE)
            .map(|table| read_amounts(&table, PENDING_WATER_TABLE, "water", &grid))
            .transpose()?;
        let past = WaterRecord::take_from(terrain)?;
        let primed = (!terrain.layers.contains_key(DISCHARGE.name)).then(|| compute_initial_discharge(terrain, rules));
        let float = |cells| match cells {
            Cells::Float(field) => field,
            other => other.to_float(),
        };
        let depth = match terrain.take_layer(&POOL) {
            Cells::Height(depth) => depth.map(|depth| Height(depth.0.max(0))),
            other => Field::new(other.size(), Height::ZERO),
        };
        let discharge = float(terrain.take_layer(&DISCHARGE));
        Ok(Self {
            drops,
            stock: Stock { depth, held: stored.unwrap_or_default() },
            discharge: primed.unwrap_or(discharge),
            south: float(terrain.take_layer(&MOMENTUM_Y)),
            east: float(terrain.take_layer(&MOMENTUM_X)),
            past,
        })
    }

    /// Puts the state back into the terrain's layers and tables.
    ///
    /// # Errors
    /// Returns the errors of [`Terrain::insert_layer`].
    pub fn store_in(self, terrain: &mut Terrain) -> Result<()> {
        terrain.insert_layer(&POOL, Cells::Height(self.stock.depth))?;
        terrain.insert_layer(&DISCHARGE, Cells::Float(self.discharge))?;
        terrain.insert_layer(&MOMENTUM_X, Cells::Float(self.east))?;
        terrain.insert_layer(&MOMENTUM_Y, Cells::Float(self.south))?;
        if !self.drops.is_empty() {
            terrain.tables.insert(TABLE.to_string(), Drop::pack(self.drops.iter().copied()));
        }
        self.past.store_in(terrain);
        if !self.stock.held.is_empty() {
            terrain
                .tables
                .insert(PENDING_WATER_TABLE.to_string(), amounts_to_table(&self.stock.held, "water", &terrain.grid));
        }
        Ok(())
    }
}

/// Returns the discharge that would result if all rain ran off. It is the starting value where the terrain has none,
/// so that streams need not form from nothing.
fn compute_initial_discharge(terrain: &Terrain, rules: &HydrologyRules) -> Field<f32> {
    // `drop_rate` is per drop: times the drops per cell of a batch it is the rain on one cell in m³/s.
    let rate = (rules.drop_rate * rules.batch) as f32;
    FlowGraph::new(&Land::from_terrain(terrain)).upstream_cells().map(|cells| *cells as f32 * rate)
}
