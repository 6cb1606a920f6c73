//! [`Manual`]: a stage for what is done by hand.

use crate::model::{About, Family, MassBalance, Model, PlayedRole, Role, StepReach, Stepper, Tick};
use thalweg_core::{Grid, Result, Terrain, params};

params! {
    /// Changes nothing of its own: the ground is changed by the strokes of its stage.
    ///
    /// `strokes` may be given to any stage; this one is for those that are made when no other model is at work: before,
    /// between or after the others. Its one step does nothing.
    ///
    /// Source: none needed.
    ///
    /// Needs nothing, and leaves what the strokes leave: ground, and the painted layers `hardness`, `rain` and `protect`, which
    /// stay for the stages after. Breaks: never.
    pub struct Manual {}
}

impl Model for Manual {
    fn about(&self) -> About {
        About {
            name: "manual",
            summary: "Nothing of its own: a stage for the strokes of a hand, which raise, lower, smooth and paint.",
            source: "none",
            family: Family::Erosion,
            placed: false,
            ..About::default()
        }
    }

    fn parts(&self) -> &'static [PlayedRole] {
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
    fn step(&mut self, _: &mut Terrain, _: Tick) -> Result<MassBalance> {
        Ok(MassBalance::default())
    }
}
