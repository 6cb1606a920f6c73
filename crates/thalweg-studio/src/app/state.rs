//! [`Studio`]: the window's state.

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

/// Width in points up to which a page has no room for panels beside the land.
pub(crate) const NARROW: f32 = 900.0;
/// Bytes of a recipe that a page takes without asking (of copies of it there is as much as makes a GiB), and what there is of 32 bits of addresses beside the program's own.
const ALLOWED: u64 = 3 << 28;
const MOST_MEMORY: u64 = 7 << 29;
/// Seconds that a word stays.
const WORDS: f64 = 6.0;

/// The window's state.
pub struct Studio {
    pub(crate) options: Options,
    pub(crate) worker: Worker,
    pub(crate) painter: Rc<dyn Painter>,
    pub(crate) scene: Option<Scene>,
    /// The recipe as the panels show and change it.
    pub(crate) recipe: Recipe,
    pub(crate) path: Option<PathBuf>,
    /// Counts edits; the worker says which it knows of.
    pub(crate) revision: u64,
    /// The edit by which this world was opened, and what was left for it.
    pub(crate) world: u64,
    pub(crate) left: Option<Left>,
    /// Orders of the hand given, and whether to undo or to redo once they are obeyed.
    pub(crate) sent: u64,
    pub(crate) later: Option<bool>,
    /// Whether it was said that the worker has broken down.
    pub(crate) told: bool,
    /// Whether the land was framed since this world was opened.
    pub(crate) framed: bool,
    pub(crate) history: History,
    /// The recipe as text, while it is being edited as such.
    pub(crate) text: Option<Text>,
    pub(crate) knobs: Knobs,
    pub(crate) thumbnails: Vec<Option<egui::TextureHandle>>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) painted: Option<Painted>,
    /// The terrain and the manner of the last order to the painter.
    pub(crate) asked: Option<(u64, Wants, bool)>,
    pub(crate) overlays: (u64, Vec<Overlay>),
    /// The exaggeration that fits the land, following it slowly.
    pub(crate) fits: f32,
    /// Whether the camera was moved by hand since the land was framed.
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
    /// What is drawn, and of which edit and which recipe's sketch that is.
    pub(crate) lines: (Option<(u64, Option<SketchFrom>)>, Sketch),
    /// Where the view is in the window, and its pixels.
    pub(crate) view_rect: egui::Rect,
    pub(crate) drawn_size: [u32; 2],
    pub(crate) frames: Option<Frames>,
    pub(crate) asking: Option<(Ask, Receiver<Option<PathBuf>>)>,
    pub(crate) keys: bool,
    pub(crate) sides: [bool; 2],
    /// Whether the first frame was drawn, before which nobody knows how wide the window is.
    pub(crate) begun: bool,
    /// A picture on its way back from the GPU, and the name of its file.
    pub(crate) reading: Option<(String, Reading)>,
    /// When the worker broke down and began again.
    pub(crate) deaths: Vec<f64>,
    /// Bytes that a page may take without asking.
    pub(crate) allowed: u64,
    /// Until when a shower by hand is seen.
    pub(crate) shower: f64,
    pub(crate) words: Vec<(f64, String, bool)>,
    pub(crate) news: u64,
    pub(crate) now: f64,
}

/// A recipe being typed.
pub(crate) struct Text {
    pub(super) text: String,
    /// The recipe that it was when it last was one.
    pub(super) of: String,
    /// What is wrong with it.
    pub(super) problem: Option<String>,
}

/// What was open before another world, for the case that this cannot be opened.
pub(crate) struct Left {
    pub(crate) revision: u64,
    pub(crate) path: Option<PathBuf>,
    pub(crate) folder: FilePath,
    pub(crate) history: History,
}

impl Studio {
    /// The studio in a window, or in a test without one; without a GPU nothing is drawn of the land.
    ///
    /// # Errors
    /// When the recipe cannot begin, or the system gives no thread.
    pub fn new(options: Options, ctx: &Context, state: Option<RenderState>) -> Result<Self, String> {
        ctx.set_fonts(fonts());
        let recipe = options.recipe.clone();
        let (worker, painter) = match &options.page {
            // A page is as light or dark as the others of its user.
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
            // The worker hangs the first snapshot out before anything else.
            match worker.latest() {
                Some(snapshot) => break snapshot,
                None if worker.is_broken() => return Err("the simulation breaks down at once".into()),
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

    /// What the worker showed last.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The recipe as the panels have it.
    pub fn recipe_text(&self) -> String {
        self.recipe.to_toml()
    }

    /// The sun that lights the land.
    pub fn sun(&self) -> Sun {
        self.settings.look.sun
    }

    /// The radius in metres of the tool in hand; 0 without one.
    pub fn brush_radius(&self) -> f64 {
        self.tools.radius()
    }

    /// What was said last, while it stays.
    pub fn said_last(&self) -> Option<&str> {
        self.words.last().map(|(_, text, _)| text.as_str())
    }

    /// Tells the worker something.
    pub fn order(&self, order: Order) {
        self.worker.tell(order);
    }

    /// Whether the view shows the land.
    pub fn is_painted(&self) -> bool {
        self.painted.is_some()
    }

    /// Factor on heights.
    pub(crate) fn exaggeration(&self) -> f32 {
        self.settings.exaggeration.unwrap_or(if self.fits > 0.0 { self.fits } else { 1.0 })
    }

    /// Says something for a while.
    pub(crate) fn say(&mut self, text: String) {
        self.words.push((self.now + WORDS, text, false));
    }

    /// Tells the worker what the hand does.
    pub(crate) fn hand(&mut self, order: Order) {
        self.sent += 1;
        self.worker.tell(order);
    }

    /// Says what went wrong; what is still to be read is not said twice.
    pub fn complain(&mut self, text: String) {
        self.words.retain(|(_, said, _)| *said != text);
        self.words.push((self.now + 2.0 * WORDS, text, true));
    }

    /// Whether a page may take the memory that a recipe needs: much of it is asked for once, not taken.
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
                format!("{name} needs {need_gib:.1} GiB of memory; a page has {most_gib:.1} GiB: take fewer cells");
            self.complain(problem);
            return false;
        }
        let question = format!("{} needs about {need_gib:.1} GiB of memory. Go on?", recipe.name);
        if page.host.allows(&question) {
            self.allowed = need;
            // What is weighed as work begins has copies in it that the recipe's own count has not.
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

    /// Goes back in the recipe's history, or forth; whether there was anywhere to go.
    pub(crate) fn walk(&mut self, back: bool) -> bool {
        if self.sent > self.snapshot.heard {
            // What the hand has done is not in the recipe yet.
            self.later = Some(back);
            return false;
        }
        // What the mouse has just changed is a state of its own.
        self.history.push(&self.recipe.to_toml());
        let text = if back { self.history.undo() } else { self.history.redo() };
        let Some(Ok(mut recipe)) = text.map(Recipe::parse) else { return false };
        recipe.folder.clone_from(&self.recipe.folder);
        self.recipe = recipe;
        true
    }
}
