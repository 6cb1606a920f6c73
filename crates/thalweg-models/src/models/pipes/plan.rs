//! What a step of pipes works by.

use crate::models::pipes::bed::Rates;
use crate::models::pipes::rain::Rain;
use crate::models::pipes::water::Law;
use thalweg_core::{Field, Grid};

/// What is the same for every cell of a step.
pub struct Plan<'a> {
    pub grid: &'a Grid,
    pub law: Law,
    pub rates: Rates,
    /// Part of the water that does not evaporate, and the depth below which all does.
    pub stays: [f32; 2],
    pub rain: Rain,
    pub backward: bool,
    pub masks: Masks<'a>,
}

/// Layers that a step heeds.
#[derive(Clone, Copy, Default)]
pub struct Masks<'a> {
    pub rain: Option<&'a Field<f32>>,
    pub hardness: Option<&'a Field<f32>>,
    pub protect: Option<&'a Field<f32>>,
    pub void: Option<&'a Field<bool>>,
}
