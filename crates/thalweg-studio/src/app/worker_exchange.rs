//! [`WorkerExchange`]: the exchange with the worker, which is restarted if it breaks down.

use std::sync::Arc;

use thalweg_sim::recipe::Recipe;

use crate::app::state::Studio;
use crate::session::WorkerOrder;

/// A worker that breaks down is restarted, but at most this many times within this many seconds.
const RESTART_WINDOW_S: f64 = 60.0;
const MAX_RESTARTS: usize = 3;

/// The orders that the window has sent to the worker, and how often the worker broke down.
#[derive(Default)]
pub(crate) struct WorkerExchange {
    /// The number of tool orders sent (strokes and droplets).
    pub(crate) sent: u64,
    /// `Some(true)` to undo or `Some(false)` to redo once the worker has carried them out.
    pub(crate) postponed: Option<bool>,
    /// True if a message about the worker's failure has been shown.
    pub(crate) failure_shown: bool,
    /// The times at which the worker broke down and was restarted.
    pub(crate) breakdowns: Vec<f64>,
}

impl Studio {
    /// Takes the results of the worker and the painter.
    pub(super) fn take_results(&mut self) {
        if let Some(latest) = self.worker.latest_snapshot()
            // The same snapshot is recognized by its address, which avoids a comparison of its contents.
            && !Arc::ptr_eq(&latest, &self.snapshot)
        {
            // A problem is counted, so that it is reported once, and again if it occurs again.
            if let Some(problem) = latest.problem.clone().filter(|_| latest.problems != self.snapshot.problems) {
                self.show_error(problem);
            }
            if latest.news.0 != self.messages.news {
                self.messages.news = latest.news.0;
                self.show_message(latest.news.1.clone());
            }
            if latest.revision != self.snapshot.revision {
                // Another world may start its version numbers from the beginning.
                self.painting.requested = None;
            }
            self.snapshot = latest;
            // The world could be opened, so there is no need to return to the one before.
            self.world.left.take_if(|left| self.snapshot.revision >= left.revision && self.snapshot.problem.is_none());
            self.adopt_recipe();
        }
        if self.worker.is_broken() && self.restart_worker() {
            let problem = "The simulation stopped because of an internal error. It starts again with the same recipe.";
            self.show_error(problem.into());
        }
        if self.worker.is_broken() && !self.exchange.failure_shown {
            self.exchange.failure_shown = true;
            let problem = "The simulation stopped because of an internal error. The recipe can still be saved.";
            self.show_error(problem.into());
        }
        self.take_picture();
    }

    /// Restarts a worker that broke down with the current recipe, if possible. A worker that breaks down repeatedly is
    /// paused, and finally not restarted.
    fn restart_worker(&mut self) -> bool {
        let now = self.now;
        self.exchange.breakdowns.retain(|death| now - death < RESTART_WINDOW_S);
        if self.exchange.breakdowns.len() >= MAX_RESTARTS || !self.worker.restart_session() {
            return false;
        }
        // After a second breakdown within a minute, the run is paused.
        let plays = (self.snapshot.playing || self.snapshot.done) && self.exchange.breakdowns.is_empty();
        self.exchange.breakdowns.push(now);
        self.world.revision += 1;
        (self.world.opened, self.exchange.sent, self.painting.requested) = (self.world.revision, 0, None);
        self.worker.send_order(WorkerOrder::Open(Box::new(self.world.recipe.clone()), self.world.revision));
        self.worker.send_order(WorkerOrder::Play(plays));
        true
    }

    /// Adopts the worker's recipe if it differs: with strokes of tools, or after an edit that was refused.
    pub(super) fn adopt_recipe(&mut self) {
        if self.snapshot.revision != self.world.revision || *self.snapshot.recipe == *self.world.recipe.to_toml() {
            return;
        }
        let Ok(mut recipe) = Recipe::parse(&self.snapshot.recipe) else { return };
        if self.snapshot.problem.is_some() {
            self.world.history.remove_refused(&self.world.recipe.to_toml());
        }
        // If a world could not be opened, everything returns to what it was before.
        match self
            .world
            .left
            .take()
            .filter(|left| left.revision == self.world.revision && self.snapshot.problem.is_some())
        {
            Some(left) => (recipe.folder, self.world.path, self.world.history) = (left.folder, left.path, left.history),
            None => recipe.folder.clone_from(&self.world.recipe.folder),
        }
        self.world.recipe = recipe;
    }
}
