//! [`Manual`]: a stage for the user's edits.

use crate::model::{About, Family, MassBalance, Model, PlayedRole, Role, StepReach, Stepper, Tick};
use thalweg_core::{Grid, Result, Terrain, params};

params! {
    /// Changes nothing by itself: a stage for `strokes`, the user's edits of the terrain.
    ///
    /// Any stage accepts `strokes`. This model is for strokes that are made while no other model runs: before, between
    /// or after the other stages. Its single step does nothing.
    ///
    /// Source: none needed.
    ///
    /// It needs no layers. The terrain after it is what its strokes make of it: they change the ground and the painted
    /// layers `hardness`, `rain` and `protect`, which remain for the following stages. Limits: none.
    pub struct Manual {}
}

impl Model for Manual {
    fn about(&self) -> About {
        About {
            name: "manual",
            title: "Manual edits",
            summary: "Applies the user's strokes, which raise, lower, smooth and paint; it does nothing else.",
            source: "none",
            family: Family::Erosion,
            placed: false,
            ..About::default()
        }
    }

    fn roles(&self) -> &'static [PlayedRole] {
        &[PlayedRole { role: Role::Strokes, with: &[] }]
    }

    fn reach(&self, _: &Grid) -> StepReach {
        StepReach::Cells(0)
    }

    fn start(&self, _: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(Idle))
    }
}

struct Idle;

impl Stepper for Idle {
    fn run_step(&mut self, _: &mut Terrain, _: Tick) -> Result<MassBalance> {
        Ok(MassBalance::default())
    }
}
