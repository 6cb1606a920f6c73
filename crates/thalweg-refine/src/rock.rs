//! Beds of rock under the cells of a level.

use crate::plane::{PaddedPlane, PlanePart};
use thalweg_core::{Cell, Size};
use thalweg_noise::strata::StandingBeds;

/// The beds under a plane's cells.
pub(super) struct RockBeds<'a> {
    strata: &'a StandingBeds,
    /// The position of each cell within the sequence of beds.
    phases: PaddedPlane<u32>,
}

impl<'a> RockBeds<'a> {
    /// Computes the beds under cells of `width` metres, the first of which is world cell `origin`.
    pub fn new(strata: &'a StandingBeds, origin: Cell<i64>, size: Size, width: f64) -> Self {
        let mut phases = PaddedPlane::new(size, 0);
        let cols = 1..size[1] + 1;
        let all = strata.phases(origin, size, width);
        for (i, row) in all.chunks_exact(size[1]).enumerate() {
            // Row 0 of the plane is padding.
            phases.span_mut(i + 1, &cols).copy_from_slice(row);
        }
        Self { strata, phases }
    }

    /// Returns the softness of the rock at this elevation in a cell of the plane, as a factor.
    #[inline]
    pub fn softness(&self, i: usize, j: usize, height: i32) -> f32 {
        self.strata.softness(height, self.phases.value_at(i, j))
    }

    /// Computes the softness of the rock at the surface for row `i` of a part.
    pub fn compute_softness_row(&self, ground: &PaddedPlane<i32>, i: usize, part: &PlanePart, out: &mut [f32]) {
        let cells = ground.span(i, &part.cols).iter().zip(self.phases.span(i, &part.cols));
        for (out, (height, phase)) in out.iter_mut().zip(cells) {
            *out = self.strata.softness(*height, *phase);
        }
    }
}
