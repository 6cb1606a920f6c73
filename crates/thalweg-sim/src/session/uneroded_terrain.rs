//! The terrain before erosion, for comparison with the present one.

use std::sync::Arc;

use crate::session::{Session, snapshot_size};
use thalweg_core::Terrain;
use thalweg_models::process::upsample;

/// The terrain before the first stage that is not a base stage.
pub(super) struct Before {
    /// The turn that began then.
    turn: usize,
    first: Arc<Terrain>,
    /// The same terrain on cells as fine as those of the run.
    fitting: Arc<Terrain>,
}

impl Before {
    pub(super) fn new(turn: usize, terrain: Terrain) -> Self {
        let first = Arc::new(terrain);
        Self { turn, fitting: Arc::clone(&first), first }
    }

    /// Upsamples it to cells as fine as those of a terrain of `size`, if these result from halving.
    fn upsample_to(&mut self, size: [usize; 2]) {
        let is_larger = |own: [usize; 2]| own[0] > size[0] || own[1] > size[1];
        if is_larger(self.fitting.grid.size) {
            self.fitting = Arc::clone(&self.first);
        }
        // Each round halves the cells; the loop ends before the copy would exceed the size.
        while self.fitting.grid.size != size && !is_larger(self.fitting.grid.size.map(|n| 2 * n)) {
            self.fitting = Arc::new(upsample::upsample_terrain(&self.fitting));
        }
    }
}

impl Session {
    /// Returns the terrain before the first stage that is not a base stage, upsampled as the run goes on to finer
    /// levels, but no larger than a [snapshot](Session::snapshot_terrain); `None` before that stage begins.
    pub fn terrain_before_erosion(&self) -> Option<&Arc<Terrain>> {
        self.before.as_ref().map(|before| &before.fitting)
    }

    pub(super) fn fit_before(&mut self) {
        let size = snapshot_size(self.run.terrain().grid.size);
        if let Some(before) = &mut self.before {
            before.upsample_to(size);
        }
    }

    /// Discards it if the run has returned to that point or to one before it.
    pub(super) fn review_before(&mut self) {
        let place = self.position();
        self.before.take_if(|before| (place.turn, place.step) <= (before.turn, 0));
        self.fit_before();
    }

    /// Returns true if a turn does not erode.
    pub(super) fn is_base(&self, turn: usize) -> bool {
        self.stage_for_turn(turn).is_some_and(|stage| stage.muted || stage.is_base())
    }
}
