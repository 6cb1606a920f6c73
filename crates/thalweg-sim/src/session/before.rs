//! The terrain before erosion, to be compared with what it has become.

use std::sync::Arc;

use crate::session::{Session, shown_size};
use thalweg_core::Terrain;
use thalweg_models::process::upsample;

/// The terrain as the first model that is no base found it.
pub(super) struct Before {
    /// The turn that began then.
    turn: usize,
    first: Arc<Terrain>,
    /// The same on cells as fine as those of the run.
    fitting: Arc<Terrain>,
}

impl Before {
    pub(super) fn new(turn: usize, terrain: Terrain) -> Self {
        let first = Arc::new(terrain);
        Self { turn, fitting: Arc::clone(&first), first }
    }

    /// Brings it to cells as fine as those of a terrain of `size`, where that is a matter of halving.
    fn fit(&mut self, size: [usize; 2]) {
        let is_larger = |own: [usize; 2]| own[0] > size[0] || own[1] > size[1];
        if is_larger(self.fitting.grid.size) {
            self.fitting = Arc::clone(&self.first);
        }
        while self.fitting.grid.size != size && !is_larger(self.fitting.grid.size.map(|n| 2 * n)) {
            self.fitting = Arc::new(upsample::upsample_terrain(&self.fitting));
        }
    }
}

impl Session {
    /// The terrain as the first model that is no base found it, made finer as the run has gone on to finer levels, and no larger
    /// than a [snapshot](Session::snapshot); `None` before that model begins.
    pub fn before(&self) -> Option<&Arc<Terrain>> {
        self.before.as_ref().map(|before| &before.fitting)
    }

    pub(super) fn fit_before(&mut self) {
        let size = shown_size(self.run.terrain().grid.size);
        if let Some(before) = &mut self.before {
            before.fit(size);
        }
    }

    /// Forgets it where the run has gone back to before it, or to there.
    pub(super) fn review_before(&mut self) {
        let place = self.position();
        self.before.take_if(|before| (place.turn, place.step) <= (before.turn, 0));
        self.fit_before();
    }

    /// Whether what a turn does is no erosion.
    pub(super) fn is_base(&self, turn: usize) -> bool {
        self.stage_of(turn).is_some_and(|stage| stage.muted || stage.is_base())
    }
}
