//! What worker and painter have ready, and what is asked of them next.

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

/// Seconds in which a worker may break down so often and begin again.
const MINUTE: f64 = 60.0;
const MOST_DEATHS: usize = 3;

impl Studio {
    /// Takes what worker and painter have ready.
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
                // Another world may count its states from the start.
                self.asked = None;
            }
            self.snapshot = latest;
            // It could be opened.
            self.left.take_if(|left| self.snapshot.revision >= left.revision && self.snapshot.problem.is_none());
            self.adopt();
        }
        if self.worker.is_broken() && self.begin_again() {
            self.complain("The simulation has broken down. It begins again with the recipe as it was.".into());
        }
        if self.worker.is_broken() && !self.told {
            self.told = true;
            self.complain(
                "The simulation has broken down, by a fault of this program. The recipe can still be saved.".into(),
            );
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
                // Flat ground has no scale; and what was asked for before this world was opened is not of it.
                let first = !self.framed && low < high && painted.revision >= self.world;
                // The land must be seen to rise: once it erodes, the scale follows it slowly.
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

    /// Gives a worker that broke down its recipe again, if it can begin anew. One that breaks down again and again stands still.
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

    /// Takes over the worker's recipe where it has one of its own: with strokes of the hand, or after an edit that was
    /// refused.
    pub(super) fn adopt(&mut self) {
        if self.snapshot.revision != self.revision || *self.snapshot.recipe == *self.recipe.to_toml() {
            return;
        }
        let Ok(mut recipe) = Recipe::parse(&self.snapshot.recipe) else { return };
        if self.snapshot.problem.is_some() {
            self.history.refuse(&self.recipe.to_toml());
        }
        // A world that could not be opened leaves all as it was.
        match self.left.take().filter(|left| left.revision == self.revision && self.snapshot.problem.is_some()) {
            Some(left) => (recipe.folder, self.path, self.history) = (left.folder, left.path, left.history),
            None => recipe.folder.clone_from(&self.recipe.folder),
        }
        self.recipe = recipe;
    }

    /// Asks the painter for what is to be shown next.
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

    /// Whether the view shows all that the worker has shown, in the manner that is asked for.
    pub fn is_settled(&self) -> bool {
        !self.painter.is_busy() && self.asked.as_ref() == Some(&self.wanted())
    }

    /// What is to be shown: the terrain's version, how, and whether with the terrain before.
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
