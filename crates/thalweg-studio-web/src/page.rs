//! [`Page`]: the studio in a canvas.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::channel;

use eframe::egui;
use thalweg_io::MemoryFiles;
use thalweg_sim::presets::{ELEVATION_MODEL, PRESETS};
use thalweg_sim::recipe::Recipe;
use thalweg_studio::far::{Link, Post, with_files_in};
use thalweg_studio::goods::Goods;
use thalweg_studio::platform;
use thalweg_studio::{Options, PresetCard, Studio, on_any_gpu};
use wasm_bindgen::prelude::*;

use crate::state::state;

/// The number of cells on the longer side at which presets open: a world that one thread can run.
const CELLS: usize = 256;

#[wasm_bindgen]
extern "C" {
    /// The page's script.
    #[derive(Clone)]
    pub type Host;
    /// Starts a worker, to which [`Host::post`] sends from then on.
    #[wasm_bindgen(method, structural)]
    fn station(this: &Host);
    /// Sends bytes to the worker that was started last.
    #[wasm_bindgen(method, structural)]
    fn post(this: &Host, bytes: Vec<u8>);
    /// Downloads a file for the user.
    #[wasm_bindgen(method, structural)]
    fn give(this: &Host, name: &str, bytes: &[u8]);
    /// Asks a question that is answered with yes or no.
    #[wasm_bindgen(method, structural)]
    fn allows(this: &Host, question: &str) -> bool;
    /// Returns the page's address with this link after its `#`.
    #[wasm_bindgen(method, structural)]
    fn address(this: &Host, link: &str) -> String;
    /// Lets the user choose files, which are then passed to [`Page::open`].
    #[wasm_bindgen(method, structural)]
    fn pick(this: &Host);
    /// Reports that the recipe has changed: `link` is its link, or empty if it has none.
    #[wasm_bindgen(method, structural)]
    fn changed(this: &Host, link: &str);
}

struct Hosted(Host);

impl platform::Host for Hosted {
    fn give(&self, name: &str, bytes: &[u8]) {
        self.0.give(name, bytes);
    }

    fn allows(&self, question: &str) -> bool {
        self.0.allows(question)
    }

    fn address(&self, link: &str) -> String {
        self.0.address(link)
    }
}

/// A request of the page's script, which the studio handles in its next frame.
enum Wish {
    Files(Vec<PathBuf>),
    Link(String),
    Text(String),
    Preset(usize),
    Export(Goods),
    Complain(String),
}

/// The state that the script and the window share.
#[derive(Default)]
struct Shared {
    wishes: RefCell<Vec<Wish>>,
    state: RefCell<String>,
    /// True once the state has been read; before that it is not written.
    watched: Cell<bool>,
    ctx: RefCell<Option<egui::Context>>,
}

impl Shared {
    fn wish(&self, wish: Wish) {
        self.wishes.borrow_mut().push(wish);
        self.wake();
    }

    fn wake(&self) {
        if let Some(ctx) = &*self.ctx.borrow() {
            ctx.request_repaint();
        }
    }
}

/// The studio in a canvas, as a class for the page's script.
#[wasm_bindgen]
pub struct Page {
    runner: eframe::WebRunner,
    link: Rc<Link>,
    shared: Rc<Shared>,
}

#[wasm_bindgen]
impl Page {
    /// Creates the studio, still without its canvas; `link` is a recipe's link, the name of a preset, or empty.
    ///
    /// # Errors
    /// Returns a message for the user if the link is invalid.
    #[wasm_bindgen(constructor)]
    pub fn new(host: Host, link: &str) -> Result<Page, String> {
        let files = MemoryFiles::default();
        files.insert(ELEVATION_MODEL.0, ELEVATION_MODEL.1);
        let recipe = with_files_in(&files, first(link)?);
        let make = {
            let host = host.clone();
            move || -> Post {
                host.station();
                let host = host.clone();
                Box::new(move |bytes| host.post(bytes))
            }
        };
        let playing = true;
        let far = Link::new(make, files, &recipe, playing)?;
        far.hold(Path::new(ELEVATION_MODEL.0));
        let page = Page { runner: eframe::WebRunner::new(), link: far, shared: Rc::default() };
        page.begin(&recipe, playing);
        OPTIONS.set(Some((host, recipe, playing)));
        Ok(page)
    }

    /// Draws on a canvas from now on.
    ///
    /// # Errors
    /// Returns an error if the browser cannot draw on it.
    pub async fn draw(&self, canvas: web_sys::HtmlCanvasElement) -> Result<(), JsValue> {
        let Some((host, recipe, playing)) = OPTIONS.take() else { return Ok(()) };
        let (link, shared) = (Rc::clone(&self.link), Rc::clone(&self.shared));
        let options = eframe::WebOptions { wgpu_options: on_any_gpu(), ..Default::default() };
        let make = move |creation: &eframe::CreationContext<'_>| {
            *shared.ctx.borrow_mut() = Some(creation.egui_ctx.clone());
            let asked = host.clone();
            let options = Options {
                recipe,
                path: None,
                playing,
                presets: presets(),
                cells: CELLS,
                pictures: PathBuf::new(),
                asker: Box::new(move |_| {
                    // The page's own dialog passes the files to `open`, if the user chooses any.
                    asked.pick();
                    channel().1
                }),
                page: Some(thalweg_studio::Page { host: Rc::new(Hosted(host.clone())), link }),
            };
            let studio = Studio::new(options, &creation.egui_ctx, creation.wgpu_render_state.clone())?;
            let app = App { studio, host, shared, recipe: String::new(), frames: 0 };
            Ok(Box::new(app) as Box<dyn eframe::App>)
        };
        self.runner.start(canvas, options, Box::new(make)).await
    }

    /// Handles a message from the worker.
    pub fn receive(&self, bytes: &[u8]) {
        self.link.receive(bytes);
        self.shared.wake();
    }

    /// Records that the worker has ended.
    pub fn lost(&self) {
        self.link.set_broken();
        self.shared.wake();
    }

    /// Opens files that the user has dropped or chosen, and that were passed to [`Page::hold`] before.
    pub fn open(&self, names: Vec<String>) {
        self.shared.wish(Wish::Files(names.iter().map(|name| name_of(name)).collect()));
    }

    /// Keeps a file's bytes in memory.
    pub fn hold(&self, name: &str, bytes: Vec<u8>) {
        self.link.memory().insert(name_of(name), bytes);
    }

    /// Opens the world of a link, or the preset of that name.
    pub fn go(&self, link: &str) {
        self.shared.wish(match PRESETS.iter().position(|preset| preset.name == link) {
            Some(number) => Wish::Preset(number),
            None => Wish::Link(link.to_string()),
        });
    }

    /// Opens the world of a recipe's text.
    pub fn recipe(&self, text: &str) {
        self.shared.wish(Wish::Text(text.to_string()));
    }

    /// Downloads an export: `heights` as GeoTIFF, the whole `world` as ZIP, or the export for the program of this name
    /// as ZIP.
    ///
    /// # Errors
    /// Returns a message for the user if there is no such export.
    pub fn export(&self, name: &str) -> Result<(), String> {
        self.shared.wish(Wish::Export(Goods::named(name).map_err(|error| error.to_string())?));
        Ok(())
    }

    /// Shows an error message.
    pub fn complain(&self, words: &str) {
        self.shared.wish(Wish::Complain(words.to_string()));
    }

    /// Returns the studio's state in the last frame, as JSON.
    pub fn state(&self) -> String {
        if !self.shared.watched.replace(true) {
            self.shared.wake();
        }
        self.shared.state.borrow().clone()
    }

    /// Makes the worker crash, for tests of the recovery.
    pub fn break_down(&self) {
        self.link.break_down();
    }

    /// Returns the message of the panic that stopped the program; empty while it runs.
    pub fn broken(&self) -> String {
        self.runner.panic_summary().map_or(String::new(), |summary| summary.message())
    }

    /// Returns the names of the presets.
    pub fn presets() -> Vec<String> {
        PRESETS.iter().map(|preset| preset.name.to_string()).collect()
    }
}

impl Page {
    fn begin(&self, recipe: &Recipe, playing: bool) {
        use thalweg_studio::session::{Elsewhere, Order};
        self.link.tell(Order::Open(Box::new(recipe.clone()), 0));
        self.link.tell(Order::Play(playing));
    }
}

thread_local! {
    /// The arguments of a page, until it has its canvas.
    static OPTIONS: Cell<Option<(Host, Recipe, bool)>> = const { Cell::new(None) };
}

/// The studio as an application of eframe.
struct App {
    studio: Studio,
    host: Host,
    shared: Rc<Shared>,
    /// The text of the recipe that was last reported to the page.
    recipe: String,
    frames: u64,
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        for wish in self.shared.wishes.take() {
            match wish {
                Wish::Files(paths) => self.studio.open_held(&paths),
                Wish::Link(link) => self.studio.open_link(&link),
                Wish::Text(text) => self.studio.open_text(&text),
                Wish::Preset(number) => self.studio.open_preset(number),
                Wish::Export(goods) => self.studio.export(goods),
                Wish::Complain(words) => self.studio.complain(words),
            }
        }
        self.studio.frame_ui(ui);
        self.frames += 1;
        // The address does not change while a slider is being dragged.
        if !ui.input(|input| input.pointer.any_down()) {
            let recipe = self.studio.recipe_text();
            if recipe != self.recipe {
                let link = Recipe::parse(&recipe).and_then(|recipe| recipe.to_link());
                self.host.changed(&link.unwrap_or_default());
                self.recipe = recipe;
            }
        }
        if self.shared.watched.get() {
            *self.shared.state.borrow_mut() = state(&self.studio, ui.ctx(), self.frames);
        }
    }

    fn persist_egui_memory(&self) -> bool {
        false
    }
}

/// Returns the recipe that a page begins with.
fn first(link: &str) -> Result<Recipe, String> {
    let link = link.trim_start_matches('#');
    let preset = PRESETS.iter().find(|preset| preset.name == link).or(PRESETS.first().filter(|_| link.is_empty()));
    let recipe = match preset {
        Some(preset) => {
            let mut recipe = preset.recipe().map_err(|error| error.to_string())?;
            recipe.limit_cells(CELLS).map(|()| recipe)
        }
        None => Recipe::from_link(link),
    };
    recipe.map_err(|error| error.to_string())
}

/// Returns the name under which a file is kept in memory: the last part of its path.
fn name_of(path: &str) -> PathBuf {
    Path::new(path).file_name().unwrap_or("file".as_ref()).into()
}

fn presets() -> Vec<PresetCard> {
    let card = |preset: &thalweg_sim::presets::Preset| PresetCard {
        name: preset.name,
        text: preset.text.to_string(),
        thumbnail: &[],
    };
    PRESETS.iter().map(card).collect()
}
