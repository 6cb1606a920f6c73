//! The working state of a step. Every change of water and ground is made and counted here.

use crate::model::MassBalance;
use crate::models::fluvial::marks::Marks;
use crate::models::fluvial::rules::{MAX_SUSPENDED, MAX_WATER, Plan, Scene, units_of};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{HARDNESS, PROTECT};
use thalweg_core::{Cell, Field, Grid, Height, Terrain};
use thalweg_flow::D8;

/// The amounts moved in a step, in units.
#[derive(Default)]
pub struct Tally {
    /// Eroded from the ground.
    pub eroded: i64,
    /// Deposited on the ground.
    pub deposited: i64,
    /// Carried out of the world.
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

impl Tally {
    /// Converts the amounts to a mass balance. Water is stated in m³.
    pub fn budget(&self, water: &Water, grid: &Grid) -> MassBalance {
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
pub struct Water {
    /// Depths in metres.
    pub depths: Field<f32>,
    /// Water in units lost so far because an `f32` cannot represent the depth, or because the layer held fractions of
    /// a unit; negative if gained. Below 256 m an `f32` represents whole units exactly.
    pub lost: f64,
}

impl Water {
    /// Returns the depth over a cell, in units.
    #[inline]
    pub fn units(&self, cell: Cell) -> i64 {
        units_of(self.depths[cell])
    }

    /// Changes the water of a cell by `more` units, which may be negative.
    #[inline]
    pub fn add(&mut self, cell: Cell, more: i64) {
        let depth = &mut self.depths[cell];
        let units = (units_of(*depth) + more).clamp(0, MAX_WATER);
        let before = if depth.is_finite() { f64::from(*depth) } else { 0.0 };
        *depth = (units as f64 / UNITS) as f32;
        self.lost += (before - f64::from(*depth)) * UNITS + more as f64;
    }
}

/// The terrain during a step, with its layers of water and sediment taken out.
pub struct State<'a> {
    /// The terrain without these layers.
    pub terrain: &'a mut Terrain,
    /// Depths of water.
    pub water: Water,
    /// Suspended sediment.
    pub suspended: Field<Height>,
    /// Amounts moved so far in this step.
    pub tally: Tally,
}

impl State<'_> {
    /// Returns the read-only view from which plans are computed.
    pub fn scene(&self) -> Scene<'_> {
        Scene {
            grid: &self.terrain.grid,
            ground: &self.terrain.ground,
            water: &self.water.depths,
            suspended: &self.suspended,
            loose: self.terrain.loose.as_ref(),
            nodata: self.terrain.nodata.as_ref(),
            hardness: self.terrain.float(&HARDNESS),
            protect: self.terrain.float(&PROTECT),
        }
    }

    /// Erodes ground into the water.
    pub fn dig(&mut self, cell: Cell, amount: i32) {
        self.terrain.ground[cell].0 -= amount;
        if let Some(loose) = &mut self.terrain.loose {
            loose[cell].0 = (loose[cell].0 - amount).max(0);
        }
        self.suspended[cell].0 += amount;
        self.tally.eroded += i64::from(amount);
    }

    /// Deposits sediment from the water on the ground.
    pub fn lay(&mut self, cell: Cell, amount: i32) {
        self.terrain.ground[cell].0 += amount;
        if let Some(loose) = &mut self.terrain.loose {
            loose[cell].0 += amount;
        }
        self.suspended[cell].0 -= amount;
        self.tally.deposited += i64::from(amount);
    }

    /// Applies a cell's plan, and marks the cells that it changes or that are not at rest.
    pub fn carry_out(&mut self, plan: &Plan, changed: &mut Marks, drying: bool) {
        let cols = self.terrain.grid.cols();
        let cell = Cell::new(plan.at as usize / cols, plan.at as usize % cols);
        self.dig(cell, plan.dug);
        self.lay(cell, plan.laid);
        self.tally.limited += u64::from(plan.limited);
        let moved: i64 = plan.water.iter().map(|amount| i64::from(*amount)).sum();
        let out: u32 = plan.solid.iter().sum();
        if moved > 0 {
            self.water.add(cell, -moved);
            self.suspended[cell].0 -= out as i32;
            for (k, [di, dj]) in D8::OFFSETS.iter().enumerate() {
                let (water, solid) = (i64::from(plan.water[k]), plan.solid[k] as i32);
                if water == 0 {
                    continue;
                }
                if plan.beyond >> k & 1 == 1 {
                    self.tally.drained += i128::from(water);
                    self.tally.exported += i64::from(solid);
                    continue;
                }
                let near = Cell::new(cell.row.wrapping_add_signed(*di), cell.col.wrapping_add_signed(*dj));
                if plan.sea >> k & 1 == 1 {
                    self.tally.drained += i128::from(water);
                } else {
                    self.water.add(near, water);
                }
                self.bring(near, solid);
                changed.set(near.row, near.col);
            }
        }
        let restless = self.suspended[cell].0 > 0 || (drying && self.water.units(cell) > 0);
        if moved > 0 || plan.dug != 0 || plan.laid != 0 || restless {
            changed.set(cell.row, cell.col);
        }
    }

    /// Adds inflowing sediment to a cell. Sediment above [`MAX_SUSPENDED`] leaves the world.
    fn bring(&mut self, cell: Cell, solid: i32) {
        let suspended = &mut self.suspended[cell];
        let kept = solid.min(MAX_SUSPENDED - suspended.0);
        suspended.0 += kept;
        self.tally.exported += i64::from(solid - kept);
        self.tally.limited += u64::from(kept < solid);
    }
}
