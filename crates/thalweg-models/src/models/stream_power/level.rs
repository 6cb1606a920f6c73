//! Levels: the cell widths on which the land evolves, from coarse to fine.

use crate::model::{MassBalance, Stepper, Tick};
use crate::process::coarse::Coarsened;
use thalweg_core::{Edge, Field, Height, Result, Terrain};
use thalweg_flow::{CellRole, Land};

/// One of the cell widths on which the land evolves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResolutionLevel {
    /// The number of grid cells along a side of one of the level's cells.
    pub factor: usize,
    /// The model time in years at which the level begins.
    pub start: f64,
    /// The number of the level's steps.
    pub steps: u32,
    /// The length of a step in years.
    pub step: f64,
}

impl ResolutionLevel {
    /// Returns the number of steps on the coarser copy between two transfers to the fine ground. A transfer costs
    /// about as much as a pass over all fine cells, which is factor² times a coarse step, so there are factor² steps
    /// per transfer, but at most 16.
    pub fn steps_per_transfer(&self) -> u32 {
        (self.factor.pow(2) as u32).min(16)
    }

    /// Returns the number of the model's steps that perform all steps of the level.
    pub fn outer_steps(&self) -> u32 {
        if self.factor == 1 { self.steps } else { self.steps.div_ceil(self.steps_per_transfer()) }
    }

    /// Returns the years that `outer_steps` of the model's steps take.
    pub fn duration_years(&self, outer_steps: u32) -> f64 {
        let own = if self.factor == 1 { outer_steps } else { outer_steps.saturating_mul(self.steps_per_transfer()) };
        f64::from(own.min(self.steps)) * self.step
    }

    /// Returns the level's stepper, given the stepper that works on the level's own cells.
    pub fn into_stepper(self, own: Box<dyn Stepper>) -> Box<dyn Stepper> {
        if self.factor == 1 {
            return own;
        }
        Box::new(BaseLevelStepper(Coarsened {
            factor: self.factor,
            rounds: self.steps_per_transfer(),
            steps: self.steps,
            inner: own,
        }))
    }
}

/// Returns the cells at base level, which keep their height.
pub fn mark_base_level(terrain: &Terrain) -> Field<bool> {
    Land::from_terrain(terrain).cell_roles().map(|part| *part != CellRole::Inside)
}

/// Returns true if the sediment of rivers can leave the map: over an open edge, or into cells without data. The sea
/// does not count, because its floor is part of the map.
pub fn has_outlet(terrain: &Terrain) -> bool {
    terrain.grid.edges.contains(&Edge::Open) || terrain.nodata_count() > 0
}

/// A stepper on a coarser copy that restores base level on the fine ground, because the smooth interpolation of the
/// coarse changes also reaches those cells. The rise that these cells would have had is booked as exported, and the
/// fall as added.
struct BaseLevelStepper(Coarsened);

impl Stepper for BaseLevelStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        if !has_outlet(terrain) {
            return self.0.run_step(terrain, tick);
        }
        let base_level = mark_base_level(terrain);
        let kept = |k: &usize| base_level[*k] && terrain.nodata.as_ref().is_none_or(|mask| !mask[*k]);
        let before: Vec<(usize, Height)> = (0..base_level.len()).filter(kept).map(|k| (k, terrain.ground[k])).collect();
        let mut budget = self.0.run_step(terrain, tick)?;
        for (k, height) in before {
            let now = std::mem::replace(&mut terrain.ground[k], height);
            // `over` is above 0 where the interpolation has raised the cell, and below 0 where it has lowered it.
            let over = i64::from(now.0 - height.0);
            if let Some(loose) = &mut terrain.loose {
                let loose = &mut loose[k];
                loose.0 = (i64::from(loose.0) - over).clamp(0, i32::MAX.into()) as i32;
            }
            budget.eroded += i128::from(over.max(0));
            budget.exported += i128::from(over.max(0));
            budget.added += i128::from((-over).max(0));
        }
        Ok(budget)
    }
}
