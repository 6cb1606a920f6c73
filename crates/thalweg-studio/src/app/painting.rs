//! [`Painting`]: the painter, its requests and its pictures.

use std::rc::Rc;
use std::sync::Arc;

use thalweg_core::Extent;
use thalweg_render::products::overlay::Overlay;

use crate::app::state::Studio;
use crate::painter::{DisplaySettings, PaintJob, Painted, ViewPainter};
use crate::ui::appearance::CompareMode;
use crate::ui::scene::WindowScene;
use crate::ui::tools::Tools;

/// The painter, and the pictures that were requested and received.
pub(crate) struct Painting {
    pub(crate) painter: Rc<dyn ViewPainter>,
    /// The latest picture.
    pub(crate) latest: Option<Painted>,
    /// The terrain's version and the settings of the last request to the painter.
    pub(crate) requested: Option<(u64, DisplaySettings, bool)>,
    /// The version of the terrain, and the overlays that it has.
    pub(crate) overlays: (u64, Vec<Overlay>),
    /// The exaggeration that suits the terrain; it follows changes slowly.
    pub(crate) fits: f32,
}

impl Painting {
    /// Creates the exchange with a painter, before the first picture.
    pub(super) fn new(painter: Rc<dyn ViewPainter>) -> Self {
        // No terrain has this version, so the list is built with the first picture.
        Self { painter, latest: None, requested: None, overlays: (u64::MAX, Vec::new()), fits: 0.0 }
    }
}

impl Studio {
    /// Takes the result of the painter, and fits the view to a new world.
    pub(super) fn take_picture(&mut self) {
        match self.painting.painter.take_result() {
            None => {}
            Some(Err(problem)) => self.show_error(problem),
            Some(Ok(painted)) => {
                if let Some(scene) = &mut self.scene {
                    scene.load_terrain(0, &painted.now);
                    if let Some(before) = &painted.before {
                        scene.load_terrain(1, before);
                    }
                }
                if let Some(problem) = painted.problem.clone() {
                    self.show_error(problem);
                }
                let suits = painted.now.suggested_exaggeration();
                let [low, high] = painted.now.extremes();
                let rising = painted.eroding;
                // Flat terrain has no scale; and a result that was requested before this world was opened does not
                // belong to it.
                let first = !self.cameras.framed && low < high && painted.revision >= self.world.opened;
                // The terrain must be seen to rise: once it erodes, the exaggeration follows it slowly.
                if first || (!rising && low < high) {
                    self.painting.fits = suits;
                } else if self.cameras.framed && low < high && (suits / self.painting.fits - 1.0).abs() > 0.02 {
                    // Each picture takes 15 % of the way, so the heights do not jump; a difference below 2 % is
                    // ignored.
                    self.painting.fits += 0.15 * (suits - self.painting.fits);
                }
                self.painting.latest = Some(painted);
                if first {
                    self.cameras.framed = true;
                    let Extent { width, height } = self.snapshot.grid.extent();
                    // Another world has another extent, so brushes get new sizes; the active tool stays.
                    let (tool, nib) = (self.tools.tool, self.tools.pen.nib);
                    self.tools = Tools::new(height.max(width));
                    (self.tools.tool, self.tools.pen.nib) = (tool, nib);
                }
                self.tools.fit_heights(f64::from(self.exaggeration()));
                // Before erosion the terrain may still change as a whole, so the camera follows it until the user moves
                // it.
                if first || (!rising && !self.cameras.moved) {
                    self.frame_land();
                }
            }
        }
    }

    /// Requests the next picture from the painter, unless it is busy or there is no change.
    pub(super) fn order_paint(&mut self) {
        let order = self.build_display_request();
        // While the painter is busy nothing is queued: the next request then has the latest terrain.
        if self.painting.requested.as_ref() == Some(&order) || self.painting.painter.is_busy() {
            return;
        }
        self.painting.painter.request_picture(PaintJob {
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
        self.painting.requested = Some(order);
    }

    /// Returns true if the view shows the worker's latest snapshot with the current settings.
    pub fn is_settled(&self) -> bool {
        !self.painting.painter.is_busy() && self.painting.requested.as_ref() == Some(&self.build_display_request())
    }

    /// Returns the display request: the terrain's version, the settings, and true if the terrain before erosion is
    /// included.
    pub(super) fn build_display_request(&self) -> (u64, DisplaySettings, bool) {
        let wants = DisplaySettings {
            most: self.scene.as_ref().map_or(1024, WindowScene::max_cells),
            sun: self.settings.look.sun,
            exaggeration: if self.painting.fits > 0.0 { self.exaggeration() } else { 0.0 },
            light: None,
            overlay: self.settings.overlay.clone(),
            natural: self.settings.natural.then(|| self.world.recipe.cover_text()),
            basins: !self.snapshot.playing,
        };
        let compare = self.settings.compare != CompareMode::Off || self.viewport.held_before;
        (self.snapshot.version, wants, compare)
    }
}
