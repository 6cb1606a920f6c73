//! Beds of rock under the cells of a level.

use crate::plane::{Part, Plane};
use thalweg_core::{Cell, Size};
use thalweg_noise::strata::StandingBeds;

/// Beds under a plane's cells.
pub(super) struct Rock<'a> {
    strata: &'a StandingBeds,
    /// Where in the pile each cell lies.
    phases: Plane<u32>,
}

impl<'a> Rock<'a> {
    /// Under cells of `width` metres, the first of which is world cell `origin`.
    pub fn new(strata: &'a StandingBeds, origin: Cell<i64>, size: Size, width: f64) -> Self {
        let mut phases = Plane::new(size, 0);
        let cols = 1..size[1] + 1;
        let all = strata.phases(origin, size, width);
        for (i, row) in all.chunks_exact(size[1]).enumerate() {
            phases.span_mut(i + 1, &cols).copy_from_slice(row);
        }
        Self { strata, phases }
    }

    /// Softness of the rock at this height in a cell of the plane, as a factor.
    #[inline]
    pub fn softness(&self, i: usize, j: usize, height: i32) -> f32 {
        self.strata.softness(height, self.phases.at(i, j))
    }

    /// Softness of the rock at the ground of row `i` of a part.
    pub fn row(&self, ground: &Plane<i32>, i: usize, part: &Part, out: &mut [f32]) {
        let cells = ground.span(i, &part.cols).iter().zip(self.phases.span(i, &part.cols));
        for (out, (height, phase)) in out.iter_mut().zip(cells) {
            *out = self.strata.softness(*height, *phase);
        }
    }
}
