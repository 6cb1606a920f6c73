//! Levels: the widths of cells that land is grown on.

use crate::model::{MassBalance, Stepper, Tick};
use crate::process::coarse::Coarsened;
use thalweg_core::{Edge, Field, Height, Result, Terrain};
use thalweg_flow::{Land, Part};

/// One of the widths of cells that the land is grown on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Cells of the grid to a side of one of the level's.
    pub factor: usize,
    /// Years before it begins.
    pub start: f64,
    /// Number of its steps.
    pub steps: u32,
    /// Length of a step in years.
    pub step: f64,
}

impl Level {
    /// Steps on the coarser copy between two looks at the fine ground, which cost as much as its cells.
    pub fn rounds(&self) -> u32 {
        (self.factor.pow(2) as u32).min(16)
    }

    /// Steps of the model that do the level's own.
    pub fn outer_steps(&self) -> u32 {
        if self.factor == 1 { self.steps } else { self.steps.div_ceil(self.rounds()) }
    }

    /// Years that so many of those take.
    pub fn years(&self, outer_steps: u32) -> f64 {
        let own = if self.factor == 1 { outer_steps } else { outer_steps.saturating_mul(self.rounds()) };
        f64::from(own.min(self.steps)) * self.step
    }

    /// The level's stepper, given that on its own cells.
    pub fn stepper(self, own: Box<dyn Stepper>) -> Box<dyn Stepper> {
        if self.factor == 1 {
            return own;
        }
        Box::new(Held(Coarsened { factor: self.factor, rounds: self.rounds(), steps: self.steps, inner: own }))
    }
}

/// Cells at base level: they keep their height.
pub fn held(terrain: &Terrain) -> Field<bool> {
    Land::of(terrain).parts().map(|part| *part != Part::Inside)
}

/// Whether what rivers carry can leave the world.
pub fn leads_out(terrain: &Terrain) -> bool {
    terrain.grid.edges.contains(&Edge::Open) || terrain.nodata_count() > 0
}

/// Work on a coarser copy with base level held on the fine ground, which what is laid back smoothly also reaches. What
/// these cells would have risen is booked as carried out, what they would have sunk as added.
struct Held(Coarsened);

impl Stepper for Held {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        if !leads_out(terrain) {
            return self.0.step(terrain, tick);
        }
        let held = held(terrain);
        let kept = |k: &usize| held[*k] && terrain.nodata.as_ref().is_none_or(|mask| !mask[*k]);
        let before: Vec<(usize, Height)> = (0..held.len()).filter(kept).map(|k| (k, terrain.ground[k])).collect();
        let mut budget = self.0.step(terrain, tick)?;
        for (k, height) in before {
            let now = std::mem::replace(&mut terrain.ground[k], height);
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
