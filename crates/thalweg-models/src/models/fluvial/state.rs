//! The working state of a step. Every change of water and ground is made and counted here.

use crate::model::MassBalance;
use crate::models::fluvial::cell_set::CellSet;
use crate::models::fluvial::rules::{CellPlan, FluvialView, MAX_SUSPENDED, MAX_WATER, depth_to_units};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{HARDNESS, PROTECT};
use thalweg_core::{Cell, Field, Grid, Height, Terrain};
use thalweg_flow::D8;

/// The amounts moved in a step, in units.
#[derive(Default)]
pub struct FluvialTally {
    /// Sediment eroded from the ground.
    pub eroded: i64,
    /// Sediment deposited on the ground.
    pub deposited: i64,
    /// Sediment carried out of the world.
    pub exported: i64,
    /// Number of times that a limit on heights or amounts took effect.
    pub limited: u64,
    /// Water from rain.
    pub rained: i128,
    /// Water from springs and the parameter `drop`.
    pub poured: i128,
    /// Water that evaporated.
    pub evaporated: i128,
    /// Water that left over edges or into the sea.
    pub drained: i128,
}

impl FluvialTally {
    /// Converts the amounts to a mass balance. Water is stated in m³.
    pub fn to_mass_balance(&self, water: &WaterDepths, grid: &Grid) -> MassBalance {
        let cubic = |units: f64| units / UNITS * grid.cell_area();
        MassBalance {
            eroded: self.eroded.into(),
            deposited: self.deposited.into(),
            exported: self.exported.into(),
            limited: self.limited,
            rained: cubic(self.rained as f64),
            // Water gained by the rounding of depths is booked as poured, water lost as drained.
            poured: cubic(self.poured as f64 + (-water.lost).max(0.0)),
            evaporated: cubic(self.evaporated as f64),
            drained: cubic(self.drained as f64 + water.lost.max(0.0)),
            ..MassBalance::default()
        }
    }
}

/// Depths of water, in whole units of height.
pub struct WaterDepths {
    /// Depths in metres.
    pub depths: Field<f32>,
    /// Water in units lost so far because an `f32` cannot represent the depth, or because the layer held fractions of
    /// a unit; negative if gained. Below 256 m an `f32` represents whole units exactly.
    pub lost: f64,
}

impl WaterDepths {
    /// Returns the depth over a cell, in units.
    #[inline]
    pub fn depth_in_units(&self, cell: Cell) -> i64 {
        depth_to_units(self.depths[cell])
    }

    /// Changes the water of a cell by `more` units, which may be negative.
    #[inline]
    pub fn change_depth(&mut self, cell: Cell, more: i64) {
        let depth = &mut self.depths[cell];
        // The sum is formed in whole units; the difference from what the `f32` can store is booked as lost.
        let units = (depth_to_units(*depth) + more).clamp(0, MAX_WATER);
        let before = if depth.is_finite() { f64::from(*depth) } else { 0.0 };
        *depth = (units as f64 / UNITS) as f32;
        self.lost += (before - f64::from(*depth)) * UNITS + more as f64;
    }
}

/// The terrain during a step, with its layers of water and sediment taken out.
pub struct FluvialState<'a> {
    /// The terrain without these layers.
    pub terrain: &'a mut Terrain,
    /// Depths of water.
    pub water: WaterDepths,
    /// Suspended sediment.
    pub suspended: Field<Height>,
    /// Amounts moved so far in this step.
    pub tally: FluvialTally,
}

impl FluvialState<'_> {
    /// Returns the read-only view from which plans are computed.
    pub fn view(&self) -> FluvialView<'_> {
        FluvialView {
            grid: &self.terrain.grid,
            ground: &self.terrain.ground,
            water: &self.water.depths,
            suspended: &self.suspended,
            loose: self.terrain.loose.as_ref(),
            nodata: self.terrain.nodata.as_ref(),
            hardness: self.terrain.float_layer(&HARDNESS),
            protect: self.terrain.float_layer(&PROTECT),
        }
    }

    /// Erodes ground into the water.
    pub fn erode_cell(&mut self, cell: Cell, amount: i32) {
        self.terrain.ground[cell].0 -= amount;
        if let Some(loose) = &mut self.terrain.loose {
            // Sediment is eroded first, and bedrock below it when the sediment is used up.
            loose[cell].0 = (loose[cell].0 - amount).max(0);
        }
        // The amount and the sediment there are at most `MAX_SUSPENDED` each, so the sum does not overflow.
        self.suspended[cell].0 += amount;
        self.tally.eroded += i64::from(amount);
    }

    /// Deposits sediment from the water on the ground.
    pub fn deposit_on_cell(&mut self, cell: Cell, amount: i32) {
        self.terrain.ground[cell].0 += amount;
        if let Some(loose) = &mut self.terrain.loose {
            loose[cell].0 += amount;
        }
        self.suspended[cell].0 -= amount;
        self.tally.deposited += i64::from(amount);
    }

    /// Applies a cell's plan, and marks the cells that it changes or that are not at rest.
    pub fn apply_plan(&mut self, plan: &CellPlan, changed: &mut CellSet, drying: bool) {
        let cols = self.terrain.grid.cols();
        let cell = Cell::new(plan.at as usize / cols, plan.at as usize % cols);
        self.erode_cell(cell, plan.dug);
        self.deposit_on_cell(cell, plan.deposited);
        self.tally.limited += u64::from(plan.limited);
        let moved: i64 = plan.water.iter().map(|amount| i64::from(*amount)).sum();
        let out: u32 = plan.solid.iter().sum();
        if moved > 0 {
            // All outflow is subtracted first. The neighbours are different cells, so their order has no influence.
            self.water.change_depth(cell, -moved);
            self.suspended[cell].0 -= out as i32;
            for (k, [di, dj]) in D8::OFFSETS.iter().enumerate() {
                let (water, solid) = (i64::from(plan.water[k]), plan.solid[k] as i32);
                if water == 0 {
                    continue;
                }
                // Over open edges and into missing data both the water and its sediment leave the world.
                if plan.beyond >> k & 1 == 1 {
                    self.tally.drained += i128::from(water);
                    self.tally.exported += i64::from(solid);
                    continue;
                }
                let near = Cell::new(cell.row.wrapping_add_signed(*di), cell.col.wrapping_add_signed(*dj));
                if plan.sea >> k & 1 == 1 {
                    self.tally.drained += i128::from(water);
                } else {
                    self.water.change_depth(near, water);
                }
                self.receive_sediment(near, solid);
                changed.insert(near.row, near.col);
            }
        }
        // Cells with sediment act even without a flow, as do wet cells from which water evaporates.
        let restless = self.suspended[cell].0 > 0 || (drying && self.water.depth_in_units(cell) > 0);
        if moved > 0 || plan.dug != 0 || plan.deposited != 0 || restless {
            changed.insert(cell.row, cell.col);
        }
    }

    /// Adds inflowing sediment to a cell. Sediment above [`MAX_SUSPENDED`] leaves the world.
    fn receive_sediment(&mut self, cell: Cell, solid: i32) {
        let suspended = &mut self.suspended[cell];
        let kept = solid.min(MAX_SUSPENDED - suspended.0);
        suspended.0 += kept;
        self.tally.exported += i64::from(solid - kept);
        self.tally.limited += u64::from(kept < solid);
    }
}
