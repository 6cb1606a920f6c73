//! [`Studio`]: the state of the window.

use std::rc::Rc;
use std::sync::Arc;

use eframe::egui::{self, Context};
use eframe::egui_wgpu::RenderState;
use thalweg_core::Extent;
use thalweg_render::pictures::light::Sun;

use crate::app::cameras::Cameras;
use crate::app::messages::Messages;
use crate::app::open_world::OpenWorld;
use crate::app::output::Output;
use crate::app::page_memory::UNASKED_MEMORY_BYTES;
use crate::app::painting::Painting;
use crate::app::panels::Panels;
use crate::app::pen::DrawnSketch;
use crate::app::pointer::Pointer;
use crate::app::start::{load_fonts, load_thumbnail};
use crate::app::viewport::Viewport;
use crate::app::worker_exchange::WorkerExchange;
use crate::options::StudioOptions;
use crate::painter::{PainterThread, ViewPainter};
use crate::session::{SessionSnapshot, Worker, WorkerOrder};
use crate::ui::appearance::Settings;
use crate::ui::scene::WindowScene;
use crate::ui::tools::Tools;

/// The width in points up to which a page has no room for panels next to the terrain.
pub(crate) const NARROW_PAGE_POINTS: f32 = 900.0;

/// The state of the window.
pub struct Studio {
    pub(crate) options: StudioOptions,
    pub(crate) worker: Worker,
    pub(crate) painting: Painting,
    pub(crate) scene: Option<WindowScene>,
    pub(crate) snapshot: Arc<SessionSnapshot>,
    pub(crate) world: OpenWorld,
    pub(crate) exchange: WorkerExchange,
    pub(crate) cameras: Cameras,
    pub(crate) viewport: Viewport,
    pub(crate) drawn: DrawnSketch,
    pub(crate) settings: Settings,
    pub(crate) tools: Tools,
    pub(crate) panels: Panels,
    pub(crate) pointer: Pointer,
    pub(crate) output: Output,
    pub(crate) messages: Messages,
    /// The memory in bytes that a page may use without a question.
    pub(crate) allowed: u64,
    /// The time of this frame in seconds.
    pub(crate) now: f64,
}

impl Studio {
    /// Creates the studio in a window, or without one for tests. Without a GPU the terrain is not drawn.
    ///
    /// # Errors
    /// Returns an error if the recipe cannot be started or the system provides no thread.
    pub fn new(options: StudioOptions, ctx: &Context, state: Option<RenderState>) -> Result<Self, String> {
        ctx.set_fonts(load_fonts());
        let recipe = options.recipe.clone();
        let (worker, painter) = match &options.page {
            // A page follows the light or dark theme of the user's browser.
            Some(page) => {
                ctx.set_theme(egui::ThemePreference::System);
                (Worker::from_remote(page.link.clone()), page.link.clone() as Rc<dyn ViewPainter>)
            }
            None => {
                ctx.set_theme(egui::Theme::Dark);
                // Both threads wake the window when they have a result; otherwise it sleeps until the next input.
                let [step, paint] = [ctx.clone(), ctx.clone()];
                let worker = Worker::start(options.recipe.clone(), options.playing, move || step.request_repaint())?;
                (worker, Rc::new(PainterThread::start(move || paint.request_repaint())?) as _)
            }
        };
        let snapshot = loop {
            // The worker publishes its first snapshot before it does anything else.
            match worker.latest_snapshot() {
                Some(snapshot) => break snapshot,
                None if worker.is_broken() => {
                    return Err("the simulation stopped immediately because of an internal error".into());
                }
                None => std::thread::yield_now(),
            }
        };
        let Extent { width, height } = snapshot.grid.extent();
        let tools = Tools::new(height.max(width));
        let thumbnails = options.presets.iter().map(|preset| load_thumbnail(ctx, preset)).collect();
        let world = OpenWorld::new(recipe, options.path.clone());
        Ok(Self {
            options,
            worker,
            painting: Painting::new(painter),
            scene: state.map(WindowScene::new),
            snapshot,
            world,
            exchange: WorkerExchange::default(),
            cameras: Cameras::default(),
            viewport: Viewport::default(),
            drawn: DrawnSketch::default(),
            settings: Settings::default(),
            tools,
            panels: Panels::new(thumbnails),
            pointer: Pointer::default(),
            output: Output::default(),
            messages: Messages::default(),
            allowed: UNASKED_MEMORY_BYTES,
            now: 0.0,
        })
    }

    /// The latest snapshot from the worker.
    pub fn snapshot(&self) -> &SessionSnapshot {
        &self.snapshot
    }

    /// The recipe as the panels have it, as TOML.
    pub fn recipe_text(&self) -> String {
        self.world.recipe.to_toml()
    }

    /// The sun that lights the terrain.
    pub fn sun(&self) -> Sun {
        self.settings.look.sun
    }

    /// The radius of the active tool in metres; 0 without one.
    pub fn brush_radius(&self) -> f64 {
        self.tools.radius()
    }

    /// Sends an order to the worker.
    pub fn send_order(&self, order: WorkerOrder) {
        self.worker.send_order(order);
    }

    /// Returns true if the view shows the terrain.
    pub fn is_painted(&self) -> bool {
        self.painting.latest.is_some()
    }

    /// The factor on heights.
    pub(crate) fn exaggeration(&self) -> f32 {
        self.settings.exaggeration.unwrap_or(if self.painting.fits > 0.0 { self.painting.fits } else { 1.0 })
    }

    /// Sends an order of a tool to the worker, and counts it.
    pub(crate) fn send_tool_order(&mut self, order: WorkerOrder) {
        self.exchange.sent += 1;
        self.worker.send_order(order);
    }
}
