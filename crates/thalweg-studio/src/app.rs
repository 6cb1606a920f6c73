//! [`Studio`]: the window's state, and one frame of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use eframe::egui::{self, CentralPanel, Context, Panel as Side, RichText, TextEdit, Ui};
use eframe::egui_wgpu::RenderState;
use thalweg::pictures::light::Sun;
use thalweg::pictures::picture::Picture;
use thalweg::recipe::Recipe;

use crate::Options;
use crate::bar::{self, Knobs, Wish};
use crate::history::History;
use crate::look::{self, Compare, Settings};
use crate::out::Frames;
use crate::painter::{Job, Painted, Painter, Wants};
use crate::scene::Scene;
use crate::seam::Ask;
use crate::stages::Panel;
use crate::timeline::Timeline;
use crate::tools::Hands;
use crate::view::camera::Camera;
use crate::view::overlay::Overlay;
use crate::viewport::{Cursor, Drag};
use crate::worker::{Order, Snapshot, Worker};

/// Seconds that a word stays.
const WORDS: f64 = 6.0;

/// The window's state.
pub struct Studio {
    pub(crate) options: Options,
    pub(crate) worker: Worker,
    pub(crate) painter: Painter,
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
    pub(crate) hands: Hands,
    pub(crate) hands_open: bool,
    pub(crate) orbit_camera: Camera,
    pub(crate) map_camera: Camera,
    pub(crate) map: bool,
    pub(crate) held_before: bool,
    pub(crate) cursor: Option<Cursor>,
    pub(crate) drag: Drag,
    /// Where the view is in the window, and its pixels.
    pub(crate) view_rect: egui::Rect,
    pub(crate) drawn_size: [u32; 2],
    pub(crate) frames: Option<Frames>,
    pub(crate) asking: Option<(Ask, Receiver<Option<PathBuf>>)>,
    pub(crate) keys: bool,
    pub(crate) sides: [bool; 2],
    /// Until when a shower by hand is seen.
    pub(crate) shower: f64,
    pub(crate) words: Vec<(f64, String, bool)>,
    pub(crate) news: u64,
    pub(crate) now: f64,
}

/// A recipe being typed.
pub(crate) struct Text {
    text: String,
    /// The recipe that it was when it last was one.
    of: String,
    /// What is wrong with it.
    problem: Option<String>,
}

/// What was open before another world, for the case that this cannot be opened.
pub(crate) struct Left {
    pub(crate) revision: u64,
    pub(crate) path: Option<PathBuf>,
    pub(crate) folder: PathBuf,
    pub(crate) history: History,
}

impl Studio {
    /// The studio in a window, or in a test without one; without a GPU nothing is drawn of the land.
    ///
    /// # Errors
    /// When the recipe cannot begin, or the system gives no thread.
    pub fn new(options: Options, ctx: &Context, state: Option<RenderState>) -> Result<Self, String> {
        ctx.set_theme(egui::Theme::Dark);
        ctx.set_fonts(fonts());
        let recipe = options.recipe.clone();
        let waker = ctx.clone();
        let worker = Worker::start(options.recipe.clone(), options.playing, options.export.clone(), move || {
            waker.request_repaint()
        })?;
        let waker = ctx.clone();
        let painter = Painter::start(move || waker.request_repaint())?;
        let snapshot = loop {
            // The worker hangs the first snapshot out before anything else.
            match worker.latest() {
                Some(snapshot) => break snapshot,
                None if worker.is_broken() => return Err("the simulation breaks down at once".into()),
                None => std::thread::yield_now(),
            }
        };
        let [height, width] = snapshot.terrain.grid.extent();
        let hands = Hands::new(height.max(width));
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
            hands,
            hands_open: false,
            orbit_camera: Camera::default(),
            map_camera: Camera::default(),
            map: false,
            held_before: false,
            cursor: None,
            drag: Drag::default(),
            view_rect: egui::Rect::ZERO,
            drawn_size: [1, 1],
            frames: None,
            asking: None,
            keys: false,
            sides: [true, true],
            shower: 0.0,
            words: Vec::new(),
            news: 0,
            now: 0.0,
        })
    }

    /// One frame: what came from worker and painter, keys, panels, the view; then the recipe, if it was changed, goes out.
    pub fn frame_ui(&mut self, ui: &mut Ui) {
        self.now = ui.input(|input| input.time);
        self.take();
        self.answer();
        self.keyboard(ui);
        self.dropped(ui);
        let mut changed = false;
        Side::top("bar").show(ui, |ui| changed |= self.top(ui));
        Side::bottom("time").show(ui, |ui| {
            if let Some(order) = self.timeline.show(ui, &self.snapshot) {
                self.worker.tell(order);
            }
        });
        let [mut left, mut right] = self.sides;
        Side::left("recipe").default_size(340.0).show_collapsible(ui, &mut left, |ui| changed |= self.left(ui));
        Side::right("look").default_size(240.0).show_collapsible(ui, &mut right, |ui| self.right(ui));
        self.sides = [left, right];
        CentralPanel::default().frame(egui::Frame::NONE).show(ui, |ui| {
            let rect = ui.available_rect_before_wrap();
            let scale = ui.ctx().pixels_per_point();
            self.drawn_size = [rect.width(), rect.height()].map(|x| ((x * scale).round() as u32).max(1));
            self.view_rect = rect;
            self.viewport(ui);
        });
        self.palette(ui);
        self.said(ui);
        self.help(ui);
        if changed {
            self.send();
        }
        // A change is one step of history, however long the mouse was held for it.
        if !ui.input(|input| input.pointer.any_down()) && self.sent <= self.snapshot.heard {
            self.history.push(&self.recipe.to_toml());
        }
        self.order_paint();
        self.write_frames();
        if self.frames.as_ref().is_some_and(Frames::is_turntable) {
            ui.ctx().request_repaint();
        }
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
        self.hands.radius()
    }

    /// What was said last, while it stays.
    pub fn said_last(&self) -> Option<&str> {
        self.words.last().map(|(_, text, _)| text.as_str())
    }

    /// Tells the worker something.
    pub fn order(&self, order: Order) {
        self.worker.tell(order);
    }

    /// Whether the view shows all that the worker has shown, in the manner that is asked for.
    pub fn is_settled(&self) -> bool {
        !self.painter.is_busy() && self.asked.as_ref() == Some(&self.wanted())
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
    pub(crate) fn complain(&mut self, text: String) {
        self.words.retain(|(_, said, _)| *said != text);
        self.words.push((self.now + 2.0 * WORDS, text, true));
    }

    /// Takes what worker and painter have ready.
    fn take(&mut self) {
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
            self.snapshot = latest;
            // It could be opened.
            self.left.take_if(|left| self.snapshot.revision >= left.revision && self.snapshot.problem.is_none());
            self.adopt();
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
                    let [height, width] = self.snapshot.terrain.grid.extent();
                    let tool = self.hands.tool;
                    self.hands = Hands::new(height.max(width));
                    self.hands.tool = tool;
                }
                self.hands.fit(f64::from(self.exaggeration()));
                if first || (!rising && !self.moved) {
                    self.frame_land();
                }
            }
        }
    }

    /// Takes over the worker's recipe where it has one of its own: with strokes of the hand, or after an edit that was
    /// refused.
    fn adopt(&mut self) {
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

    /// Sends the recipe to the worker.
    pub(crate) fn send(&mut self) {
        self.revision += 1;
        self.worker.tell(Order::Edit(Box::new(self.recipe.clone()), self.revision, self.snapshot.strokes));
    }

    /// Asks the painter for what is to be shown next.
    fn order_paint(&mut self) {
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
            compare: order.2,
            wants: order.1.clone(),
        });
        self.asked = Some(order);
    }

    /// What is to be shown: the terrain's version, how, and whether with the terrain before.
    fn wanted(&self) -> (u64, Wants, bool) {
        let wants = Wants {
            most: self.scene.as_ref().map_or(1024, Scene::most_cells),
            sun: self.settings.look.sun,
            exaggeration: if self.fits > 0.0 { self.exaggeration() } else { 0.0 },
            light: None,
            overlay: self.settings.overlay.clone(),
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

    fn top(&mut self, ui: &mut Ui) -> bool {
        let shown = bar::Shown {
            presets: &self.options.presets,
            thumbnails: &self.thumbnails,
            playing: self.snapshot.playing,
            undo: [self.history.can_undo(), self.history.can_redo()],
        };
        let mut wish = None;
        ui.horizontal(|ui| {
            for (side, title, about) in
                [(0, "Recipe", "Stages and their parameters"), (1, "View", "Overlays, sun, heights")]
            {
                ui.toggle_value(&mut self.sides[side], title).on_hover_text(about);
            }
            ui.separator();
            wish = bar::show(ui, &mut self.recipe, &mut self.knobs, &shown);
        });
        match wish {
            None => return false,
            Some(Wish::Changed) => return true,
            Some(Wish::Preset(number)) => self.open_preset(number),
            Some(Wish::Play(playing)) => self.worker.tell(Order::Play(playing)),
            Some(Wish::Ask(question)) => self.ask(question),
            Some(Wish::Save) => self.save(),
            Some(Wish::Undo) => return self.walk(true),
            Some(Wish::Redo) => return self.walk(false),
            Some(Wish::Picture(times)) => self.save_picture(times),
            Some(Wish::StopFrames) => self.frames = None,
            Some(Wish::CopyCommand) => {
                if let Some(line) = self.command_line() {
                    ui.ctx().copy_text(line.clone());
                    self.say(format!("Copied: {line}"));
                }
            }
            Some(Wish::Keys) => self.keys = !self.keys,
        }
        false
    }

    fn left(&mut self, ui: &mut Ui) -> bool {
        let mut changed = false;
        ui.horizontal(|ui| {
            if ui.selectable_label(self.text.is_none(), "Stages").clicked() {
                self.text = None;
            }
            if ui.selectable_label(self.text.is_some(), "Text").on_hover_text("The recipe as TOML").clicked() {
                let text = self.recipe.to_toml();
                self.text = Some(Text { of: text.clone(), text, problem: None });
            }
        });
        ui.separator();
        let Some(Text { text, of, problem }) = &mut self.text else {
            return self.stages.show(ui, &mut self.recipe, self.snapshot.stage);
        };
        // What was changed elsewhere comes in, unless something half-typed would be lost.
        let now = self.recipe.to_toml();
        if problem.is_none() && *of != now {
            (*text, *of) = (now.clone(), now);
        }
        if let Some(problem) = problem {
            ui.label(bar::trouble(problem));
        }
        egui::ScrollArea::both().auto_shrink([false, false]).show(ui, |ui| {
            let edit = TextEdit::multiline(text).code_editor().desired_width(f32::INFINITY);
            if ui.add(edit).accessible_name("the recipe as text").changed() {
                match Recipe::parse(text) {
                    Ok(mut recipe) => {
                        recipe.folder.clone_from(&self.recipe.folder);
                        *of = recipe.to_toml();
                        (self.recipe, *problem, changed) = (recipe, None, true);
                    }
                    // The last good one keeps running.
                    Err(error) => *problem = Some(error.to_string()),
                }
            }
        });
        changed
    }

    fn right(&mut self, ui: &mut Ui) {
        if let Some(painted) = &self.painted
            && self.overlays.0 != painted.version
        {
            self.overlays = (painted.version, Overlay::available(&painted.terrain));
        }
        let fits = self.exaggeration();
        match look::show(ui, &mut self.settings, &self.overlays.1, fits) {
            None => {}
            Some(look::Wish::Update) => self.asked = None,
            Some(look::Wish::Ground) => self.ask(Ask::Ground),
            Some(look::Wish::Frame) => self.frame_land(),
        }
    }

    /// The tools, in the view's corner.
    fn palette(&mut self, ui: &Ui) {
        let at = self.view_rect.left_top() + egui::vec2(10.0, 10.0);
        egui::Area::new(egui::Id::unique("hands")).fixed_pos(at).show(ui.ctx(), |ui| {
            egui::Frame::popup(ui.style()).show(ui, |ui| {
                ui.set_max_width(270.0);
                ui.toggle_value(&mut self.hands_open, "Hands").on_hover_text("Brushes, springs and droplets");
                if self.hands_open {
                    self.hands.show(ui);
                }
            });
        });
    }

    /// What was said lately.
    fn said(&mut self, ui: &Ui) {
        let now = self.now;
        self.words.retain(|(until, ..)| *until > now);
        if self.words.is_empty() {
            return;
        }
        egui::Area::new(egui::Id::unique("words")).anchor(egui::Align2::CENTER_BOTTOM, [0.0, -80.0]).show(
            ui.ctx(),
            |ui| {
                for (_, text, bad) in &self.words {
                    egui::Frame::popup(ui.style()).show(ui, |ui| {
                        ui.set_max_width(620.0);
                        ui.label(if *bad { bar::trouble(text) } else { RichText::new(text) });
                    });
                }
            },
        );
        ui.ctx().request_repaint_after(std::time::Duration::from_millis(500));
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

impl eframe::App for Studio {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.frame_ui(ui);
    }

    fn persist_egui_memory(&self) -> bool {
        false
    }
}

/// The window's fonts, and one behind them that has the signs of formulas.
fn fonts() -> egui::FontDefinitions {
    let mut fonts = egui::FontDefinitions::default();
    let signs = egui::FontData::from_static(dejavu::sans::regular());
    fonts.font_data.insert("signs".to_string(), Arc::new(signs));
    for family in fonts.families.values_mut() {
        family.push("signs".to_string());
    }
    fonts
}

/// The small picture of a preset.
fn thumbnail(ctx: &Context, preset: &crate::Preset) -> Option<egui::TextureHandle> {
    let picture = Picture::decode(std::io::Cursor::new(preset.thumbnail)).ok()?;
    let [rows, columns] = picture.size();
    let pixels: Vec<u8> = picture.rgb.as_slice().iter().flatten().copied().collect();
    let image = egui::ColorImage::from_rgb([columns, rows], &pixels);
    Some(ctx.load_texture(preset.name, image, egui::TextureOptions::LINEAR))
}
