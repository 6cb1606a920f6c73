//! Exchange with the worker and the painter: takes their results and sends the next requests.

use std::sync::Arc;
use thalweg_core::Extent;

use thalweg_sim::recipe::Recipe;

use crate::app::state::Studio;
use crate::painter::{Job, Wants};
use crate::session::Order;
use crate::ui::appearance::Compare;
use crate::ui::scene::Scene;
use crate::ui::tools::Tools;
use crate::view::camera::Camera;

/// A worker that breaks down is restarted, but at most this many times within this many seconds.
const MINUTE: f64 = 60.0;
const MOST_DEATHS: usize = 3;

impl Studio {
    /// Takes the results of the worker and the painter.
    pub(super) fn take(&mut self) {
        if let Some(latest) = self.worker.latest()
            && !Arc::ptr_eq(&latest, &self.snapshot)
        {
            if let Some(problem) = latest.problem.clone().filter(|_| latest.problems != self.snapshot.problems) {
                self.complain(problem);
            }
            if latest.news.0 != self.news {
                self.news = latest.news.0;
                self.say(latest.news.1.clone());
            }
            if latest.revision != self.snapshot.revision {
                // Another world may start its version numbers from the beginning.
                self.asked = None;
            }
            self.snapshot = latest;
            // The world could be opened, so there is no need to return to the one before.
            self.left.take_if(|left| self.snapshot.revision >= left.revision && self.snapshot.problem.is_none());
            self.adopt();
        }
        if self.worker.is_broken() && self.begin_again() {
            self.complain("The simulation has broken down. It starts again with the same recipe.".into());
        }
        if self.worker.is_broken() && !self.told {
            self.told = true;
            self.complain("The simulation has broken down (internal error). The recipe can still be saved.".into());
        }
        match self.painter.take() {
            None => {}
            Some(Err(problem)) => self.complain(problem),
            Some(Ok(painted)) => {
                if let Some(scene) = &mut self.scene {
                    scene.load(0, &painted.now);
                    if let Some(before) = &painted.before {
                        scene.load(1, before);
                    }
                }
                if let Some(problem) = painted.problem.clone() {
                    self.complain(problem);
                }
                let suits = painted.now.suggested_exaggeration();
                let [low, high] = painted.now.extremes();
                let rising = painted.eroding;
                // Flat terrain has no scale; and a result that was requested before this world was opened does not
                // belong to it.
                let first = !self.framed && low < high && painted.revision >= self.world;
                // The terrain must be seen to rise: once it erodes, the exaggeration follows it slowly.
                if first || (!rising && low < high) {
                    self.fits = suits;
                } else if self.framed && low < high && (suits / self.fits - 1.0).abs() > 0.02 {
                    self.fits += 0.15 * (suits - self.fits);
                }
                self.painted = Some(painted);
                if first {
                    self.framed = true;
                    let Extent { width, height } = self.snapshot.grid.extent();
                    let (tool, nib) = (self.tools.tool, self.tools.pen.nib);
                    self.tools = Tools::new(height.max(width));
                    (self.tools.tool, self.tools.pen.nib) = (tool, nib);
                }
                self.tools.fit(f64::from(self.exaggeration()));
                if first || (!rising && !self.moved) {
                    self.frame_land();
                }
            }
        }
    }

    /// Restarts a worker that broke down with the current recipe, if possible. A worker that breaks down repeatedly is
    /// paused, and finally not restarted.
    fn begin_again(&mut self) -> bool {
        let now = self.now;
        self.deaths.retain(|death| now - death < MINUTE);
        if self.deaths.len() >= MOST_DEATHS || !self.worker.revive() {
            return false;
        }
        let plays = (self.snapshot.playing || self.snapshot.done) && self.deaths.is_empty();
        self.deaths.push(now);
        self.revision += 1;
        (self.world, self.sent, self.asked) = (self.revision, 0, None);
        self.worker.tell(Order::Open(Box::new(self.recipe.clone()), self.revision));
        self.worker.tell(Order::Play(plays));
        true
    }

    /// Adopts the worker's recipe if it differs: with strokes of tools, or after an edit that was refused.
    pub(super) fn adopt(&mut self) {
        if self.snapshot.revision != self.revision || *self.snapshot.recipe == *self.recipe.to_toml() {
            return;
        }
        let Ok(mut recipe) = Recipe::parse(&self.snapshot.recipe) else { return };
        if self.snapshot.problem.is_some() {
            self.history.refuse(&self.recipe.to_toml());
        }
        // If a world could not be opened, everything returns to what it was before.
        match self.left.take().filter(|left| left.revision == self.revision && self.snapshot.problem.is_some()) {
            Some(left) => (recipe.folder, self.path, self.history) = (left.folder, left.path, left.history),
            None => recipe.folder.clone_from(&self.recipe.folder),
        }
        self.recipe = recipe;
    }

    /// Requests the next picture from the painter, unless it is busy or there is no change.
    pub(super) fn order_paint(&mut self) {
        let order = self.wanted();
        if self.asked.as_ref() == Some(&order) || self.painter.is_busy() {
            return;
        }
        self.painter.ask(Job {
            version: self.snapshot.version,
            revision: self.snapshot.revision,
            terrain: Arc::clone(&self.snapshot.terrain),
            before: Arc::clone(&self.snapshot.before),
            eroding: self.snapshot.eroding,
            falling: self.snapshot.falling.clone().filter(|_| self.settings.droplets),
            droplets: self.settings.droplets,
            compare: order.2,
            wants: order.1.clone(),
        });
        self.asked = Some(order);
    }

    /// Returns true if the view shows the worker's latest snapshot with the current settings.
    pub fn is_settled(&self) -> bool {
        !self.painter.is_busy() && self.asked.as_ref() == Some(&self.wanted())
    }

    /// Returns the display request: the terrain's version, the settings, and true if the terrain before erosion is
    /// included.
    pub(super) fn wanted(&self) -> (u64, Wants, bool) {
        let wants = Wants {
            most: self.scene.as_ref().map_or(1024, Scene::most_cells),
            sun: self.settings.look.sun,
            exaggeration: if self.fits > 0.0 { self.exaggeration() } else { 0.0 },
            light: None,
            overlay: self.settings.overlay.clone(),
            natural: self.settings.natural.then(|| self.recipe.cover_text()),
            basins: !self.snapshot.playing,
        };
        let compare = self.settings.compare != Compare::Off || self.held_before;
        (self.snapshot.version, wants, compare)
    }

    pub(crate) fn frame_land(&mut self) {
        if let Some(painted) = &self.painted {
            let aspect = self.drawn_size[0] as f32 / self.drawn_size[1].max(1) as f32;
            let bounds = painted.now.bounds_at(self.exaggeration());
            self.orbit_camera = Camera::framing(&bounds, aspect);
            self.map_camera = Camera::map(&bounds, aspect);
            self.moved = false;
        }
    }
}
