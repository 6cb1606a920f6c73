//! [`Studio`]: the state of the window.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use thalweg_core::Extent;

use eframe::egui::{self, Context};
use eframe::egui_wgpu::RenderState;
use thalweg_io::FilePath;
use thalweg_render::pictures::light::Sun;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::sketch::{Sketch, SketchFrom};

use crate::app::frames::Frames;
use crate::app::pointer::{Cursor, Drag};
use crate::app::start::{fonts, thumbnail};
use crate::options::Options;
use crate::painter::{Painted, Painter, PainterThread, Wants};
use crate::platform::Ask;
use crate::session::{Order, Snapshot, Worker};
use crate::ui::appearance::Settings;
use crate::ui::history::History;
use crate::ui::scene::Scene;
use crate::ui::stages::Panel;
use crate::ui::timeline::Timeline;
use crate::ui::toolbar::Knobs;
use crate::ui::tools::Tools;
use crate::view::camera::Camera;
use crate::view::target::Reading;
use thalweg_render::products::overlay::Overlay;

/// The width in points up to which a page has no room for panels next to the terrain.
pub(crate) const NARROW: f32 = 900.0;
/// The memory in bytes that a recipe may need on a page without a question (its copies together take about 1 GiB), and
/// the most that a page can use: what 32-bit addresses leave besides the program itself.
const ALLOWED: u64 = 3 << 28;
const MOST_MEMORY: u64 = 7 << 29;
/// How long a message stays, in seconds.
const WORDS: f64 = 6.0;

/// The state of the window.
pub struct Studio {
    pub(crate) options: Options,
    pub(crate) worker: Worker,
    pub(crate) painter: Rc<dyn Painter>,
    pub(crate) scene: Option<Scene>,
    /// The recipe as the panels show and change it.
    pub(crate) recipe: Recipe,
    pub(crate) path: Option<PathBuf>,
    /// The number of edits; each snapshot states the last one that the worker knows.
    pub(crate) revision: u64,
    /// The edit with which this world was opened, and what was open before it.
    pub(crate) world: u64,
    pub(crate) left: Option<Left>,
    /// The number of tool orders sent (strokes and droplets), and `Some(true)` to undo or `Some(false)` to redo once
    /// the worker has carried them out.
    pub(crate) sent: u64,
    pub(crate) later: Option<bool>,
    /// True if a message about the worker's failure has been shown.
    pub(crate) told: bool,
    /// True if the terrain has been framed since this world was opened.
    pub(crate) framed: bool,
    pub(crate) history: History,
    /// The recipe as text, while it is being edited in that form.
    pub(crate) text: Option<Text>,
    pub(crate) knobs: Knobs,
    pub(crate) thumbnails: Vec<Option<egui::TextureHandle>>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) painted: Option<Painted>,
    /// The terrain's version and the settings of the last request to the painter.
    pub(crate) asked: Option<(u64, Wants, bool)>,
    pub(crate) overlays: (u64, Vec<Overlay>),
    /// The exaggeration that suits the terrain; it follows changes slowly.
    pub(crate) fits: f32,
    /// True if the user has moved the camera since the terrain was framed.
    pub(crate) moved: bool,
    pub(crate) settings: Settings,
    pub(crate) stages: Panel,
    pub(crate) timeline: Timeline,
    pub(crate) tools: Tools,
    pub(crate) tools_open: bool,
    pub(crate) orbit_camera: Camera,
    pub(crate) map_camera: Camera,
    pub(crate) map: bool,
    pub(crate) held_before: bool,
    pub(crate) cursor: Option<Cursor>,
    pub(crate) drag: Drag,
    /// The sketch that is drawn, and the edit and the source of the recipe's sketch that it comes from.
    pub(crate) lines: (Option<(u64, Option<SketchFrom>)>, Sketch),
    /// The position of the view in the window, and its size in pixels.
    pub(crate) view_rect: egui::Rect,
    pub(crate) drawn_size: [u32; 2],
    pub(crate) frames: Option<Frames>,
    pub(crate) asking: Option<(Ask, Receiver<Option<PathBuf>>)>,
    pub(crate) keys: bool,
    pub(crate) sides: [bool; 2],
    /// True once the first frame has been drawn; before that the width of the window is unknown.
    pub(crate) begun: bool,
    /// A picture that is being read back from the GPU, and the name of its file.
    pub(crate) reading: Option<(String, Reading)>,
    /// The times at which the worker broke down and was restarted.
    pub(crate) deaths: Vec<f64>,
    /// The memory in bytes that a page may use without a question.
    pub(crate) allowed: u64,
    /// The time until which a shower made with the tool is shown.
    pub(crate) shower: f64,
    pub(crate) words: Vec<(f64, String, bool)>,
    pub(crate) news: u64,
    pub(crate) now: f64,
}

/// A recipe that is being edited as text.
pub(crate) struct Text {
    pub(super) text: String,
    /// The text of the last valid recipe.
    pub(super) of: String,
    /// The error in the current text.
    pub(super) problem: Option<String>,
}

/// The state that was open before another world, to return to if that world cannot be opened.
pub(crate) struct Left {
    pub(crate) revision: u64,
    pub(crate) path: Option<PathBuf>,
    pub(crate) folder: FilePath,
    pub(crate) history: History,
}

impl Studio {
    /// Creates the studio in a window, or without one for tests. Without a GPU the terrain is not drawn.
    ///
    /// # Errors
    /// Returns an error if the recipe cannot be started or the system provides no thread.
    pub fn new(options: Options, ctx: &Context, state: Option<RenderState>) -> Result<Self, String> {
        ctx.set_fonts(fonts());
        let recipe = options.recipe.clone();
        let (worker, painter) = match &options.page {
            // A page follows the light or dark theme of the user's browser.
            Some(page) => {
                ctx.set_theme(egui::ThemePreference::System);
                (Worker::elsewhere(page.link.clone()), page.link.clone() as Rc<dyn Painter>)
            }
            None => {
                ctx.set_theme(egui::Theme::Dark);
                let [step, paint] = [ctx.clone(), ctx.clone()];
                let worker = Worker::start(options.recipe.clone(), options.playing, move || step.request_repaint())?;
                (worker, Rc::new(PainterThread::start(move || paint.request_repaint())?) as _)
            }
        };
        let snapshot = loop {
            // The worker publishes its first snapshot before it does anything else.
            match worker.latest() {
                Some(snapshot) => break snapshot,
                None if worker.is_broken() => return Err("the simulation fails immediately".into()),
                None => std::thread::yield_now(),
            }
        };
        let Extent { width, height } = snapshot.grid.extent();
        let tools = Tools::new(height.max(width));
        let thumbnails = options.presets.iter().map(|preset| thumbnail(ctx, preset)).collect();
        Ok(Self {
            history: History::new(recipe.to_toml()),
            path: options.path.clone(),
            options,
            worker,
            painter,
            scene: state.map(Scene::new),
            recipe,
            revision: 0,
            world: 0,
            left: None,
            sent: 0,
            later: None,
            told: false,
            framed: false,
            text: None,
            knobs: Knobs::default(),
            thumbnails,
            snapshot,
            painted: None,
            asked: None,
            overlays: (u64::MAX, Vec::new()),
            fits: 0.0,
            moved: false,
            settings: Settings::default(),
            stages: Panel::default(),
            timeline: Timeline::default(),
            tools,
            tools_open: false,
            orbit_camera: Camera::default(),
            map_camera: Camera::default(),
            map: false,
            held_before: false,
            cursor: None,
            drag: Drag::default(),
            lines: (None, Sketch::default()),
            view_rect: egui::Rect::ZERO,
            drawn_size: [1, 1],
            frames: None,
            asking: None,
            keys: false,
            sides: [true, true],
            begun: false,
            reading: None,
            deaths: Vec::new(),
            allowed: ALLOWED,
            shower: 0.0,
            words: Vec::new(),
            news: 0,
            now: 0.0,
        })
    }

    /// The latest snapshot from the worker.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The recipe as the panels have it, as TOML.
    pub fn recipe_text(&self) -> String {
        self.recipe.to_toml()
    }

    /// The sun that lights the terrain.
    pub fn sun(&self) -> Sun {
        self.settings.look.sun
    }

    /// The radius of the active tool in metres; 0 without one.
    pub fn brush_radius(&self) -> f64 {
        self.tools.radius()
    }

    /// The last message, while it is shown.
    pub fn said_last(&self) -> Option<&str> {
        self.words.last().map(|(_, text, _)| text.as_str())
    }

    /// Sends an order to the worker.
    pub fn order(&self, order: Order) {
        self.worker.tell(order);
    }

    /// Returns true if the view shows the terrain.
    pub fn is_painted(&self) -> bool {
        self.painted.is_some()
    }

    /// The factor on heights.
    pub(crate) fn exaggeration(&self) -> f32 {
        self.settings.exaggeration.unwrap_or(if self.fits > 0.0 { self.fits } else { 1.0 })
    }

    /// Shows a message for a while.
    pub(crate) fn say(&mut self, text: String) {
        self.words.push((self.now + WORDS, text, false));
    }

    /// Sends an order of a tool to the worker, and counts it.
    pub(crate) fn hand(&mut self, order: Order) {
        self.sent += 1;
        self.worker.tell(order);
    }

    /// Shows an error message. If the same message is still shown, it is replaced.
    pub fn complain(&mut self, text: String) {
        self.words.retain(|(_, said, _)| *said != text);
        self.words.push((self.now + 2.0 * WORDS, text, true));
    }

    /// Returns true if a page may use the memory that a recipe needs; asks the user once if it is a lot.
    pub(crate) fn may_take(&mut self, recipe: &Recipe) -> bool {
        let Some(page) = &self.options.page else { return true };
        let Ok(need) = recipe.grid().map(|grid| recipe.memory(&grid)) else { return true };
        if need <= self.allowed {
            return true;
        }
        let [need_gib, most_gib] = [need, MOST_MEMORY].map(|bytes| bytes as f64 / f64::from(1 << 30));
        if need > MOST_MEMORY {
            let name = &recipe.name;
            let problem =
                format!("{name} needs {need_gib:.1} GiB of memory; a page has {most_gib:.1} GiB: choose fewer cells");
            self.complain(problem);
            return false;
        }
        let question = format!("{} needs about {need_gib:.1} GiB of memory. Continue?", recipe.name);
        if page.host.allows(&question) {
            self.allowed = need;
            // The check at the start of a run counts copies of the terrain that the recipe's own estimate does not
            // include.
            page.link.allow(2 * need);
        }
        need <= self.allowed
    }

    /// Sends the recipe to the worker.
    pub(crate) fn send(&mut self) {
        if !self.may_take(&self.recipe.clone()) {
            if let Ok(mut recipe) = Recipe::parse(&self.snapshot.recipe) {
                recipe.folder.clone_from(&self.recipe.folder);
                self.recipe = recipe;
            }
            return;
        }
        self.revision += 1;
        self.worker.tell(Order::Edit(Box::new(self.recipe.clone()), self.revision, self.snapshot.strokes));
    }

    /// Goes back or forward in the recipe's history; returns true if there was a state to go to.
    pub(crate) fn walk(&mut self, back: bool) -> bool {
        if self.sent > self.snapshot.heard {
            // The tool's latest strokes are not in the recipe yet, so the step is postponed.
            self.later = Some(back);
            return false;
        }
        // The mouse's latest changes become a separate state of the history.
        self.history.push(&self.recipe.to_toml());
        let text = if back { self.history.undo() } else { self.history.redo() };
        let Some(Ok(mut recipe)) = text.map(Recipe::parse) else { return false };
        recipe.folder.clone_from(&self.recipe.folder);
        self.recipe = recipe;
        true
    }
}
