//! The inputs of one time step of [`Pipes`](crate::models::pipes::Pipes).

use crate::models::pipes::bed::BedRates;
use crate::models::pipes::rain::StepRain;
use crate::models::pipes::water::PipeLaw;
use thalweg_core::{Field, Grid};

/// The values that are the same for every cell of a step.
pub struct StepInputs<'a> {
    pub grid: &'a Grid,
    pub law: PipeLaw,
    pub rates: BedRates,
    /// The share of the water that remains after evaporation, and the depth in metres below which all of it
    /// evaporates.
    pub stays: [f32; 2],
    pub rain: StepRain,
    /// True for `transport = "backward"`.
    pub backward: bool,
    pub masks: Masks<'a>,
}

/// The optional layers that modify a step.
#[derive(Clone, Copy, Default)]
pub struct Masks<'a> {
    /// The share of the rain that falls on each cell.
    pub rain: Option<&'a Field<f32>>,
    /// The share of the erosion that bedrock resists.
    pub hardness: Option<&'a Field<f32>>,
    /// The share of the erosion that is suppressed.
    pub protect: Option<&'a Field<f32>>,
    /// True for cells without data.
    pub void: Option<&'a Field<bool>>,
}
