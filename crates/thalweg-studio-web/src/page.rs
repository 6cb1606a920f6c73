//! [`Page`]: the studio in a canvas.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::channel;

use eframe::egui;
use thalweg_io::MemoryFiles;
use thalweg_sim::presets::{ELEVATION_MODEL, PRESETS};
use thalweg_sim::recipe::Recipe;
use thalweg_studio::platform;
use thalweg_studio::remote::{Link, Post, with_files_in};
use thalweg_studio::run_export::RunExport;
use thalweg_studio::{PresetCard, Studio, StudioOptions, configure_gpu_choice};
use wasm_bindgen::prelude::*;

use crate::state::describe_state;

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

// The studio knows only the trait, so that it does not depend on JavaScript.
impl platform::Host for Hosted {
    fn deliver_file(&self, name: &str, bytes: &[u8]) {
        self.0.give(name, bytes);
    }

    fn ask_permission(&self, question: &str) -> bool {
        self.0.allows(question)
    }

    fn link_address(&self, link: &str) -> String {
        self.0.address(link)
    }
}

/// A request of the page's script, which the studio handles in its next frame.
enum PageRequest {
    Files(Vec<PathBuf>),
    Link(String),
    Text(String),
    Preset(usize),
    Export(RunExport),
    Complain(String),
}

/// The state that the script and the window share.
#[derive(Default)]
struct Shared {
    wishes: RefCell<Vec<PageRequest>>,
    state: RefCell<String>,
    /// True once the state has been read; before that it is not written.
    // Writing the state costs time in every frame, which only tests and embedding pages need.
    watched: Cell<bool>,
    ctx: RefCell<Option<egui::Context>>,
}

impl Shared {
    fn queue_request(&self, wish: PageRequest) {
        self.wishes.borrow_mut().push(wish);
        self.request_repaint();
    }

    fn request_repaint(&self) {
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
        let recipe = with_files_in(&files, find_initial_recipe(link)?);
        // The link calls this again after a breakdown of the worker, so the closure owns its handle of the script.
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
        far.send_file(Path::new(ELEVATION_MODEL.0));
        let page = Page { runner: eframe::WebRunner::new(), link: far, shared: Rc::default() };
        page.start_world(&recipe, playing);
        // A constructor cannot wait for the canvas, so its arguments are kept for `draw`.
        OPTIONS.set(Some((host, recipe, playing)));
        Ok(page)
    }

    /// Draws on a canvas from now on.
    ///
    /// # Errors
    /// Returns an error if the browser cannot draw on it.
    pub async fn draw(&self, canvas: web_sys::HtmlCanvasElement) -> Result<(), JsValue> {
        // A second call finds nothing and does nothing.
        let Some((host, recipe, playing)) = OPTIONS.take() else { return Ok(()) };
        let (link, shared) = (Rc::clone(&self.link), Rc::clone(&self.shared));
        let options = eframe::WebOptions { wgpu_options: configure_gpu_choice(), ..Default::default() };
        let make = move |creation: &eframe::CreationContext<'_>| {
            *shared.ctx.borrow_mut() = Some(creation.egui_ctx.clone());
            let asked = host.clone();
            let options = StudioOptions {
                recipe,
                path: None,
                playing,
                presets: list_preset_cards(),
                cells: CELLS,
                pictures: PathBuf::new(),
                asker: Box::new(move |_| {
                    // The page's own dialog passes the files to `open`, if the user chooses any.
                    asked.pick();
                    channel().1
                }),
                page: Some(thalweg_studio::PageServices { host: Rc::new(Hosted(host.clone())), link }),
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
        self.shared.request_repaint();
    }

    /// Records that the worker has ended.
    pub fn lost(&self) {
        self.link.set_broken();
        self.shared.request_repaint();
    }

    /// Opens files that the user has dropped or chosen, and that were passed to [`Page::hold`] before.
    pub fn open(&self, names: Vec<String>) {
        self.shared.queue_request(PageRequest::Files(names.iter().map(|name| memory_file_name(name)).collect()));
    }

    /// Keeps a file's bytes in memory.
    pub fn hold(&self, name: &str, bytes: Vec<u8>) {
        self.link.memory_files().insert(memory_file_name(name), bytes);
    }

    /// Opens the world of a link, or the preset of that name.
    pub fn go(&self, link: &str) {
        self.shared.queue_request(match PRESETS.iter().position(|preset| preset.name == link) {
            Some(number) => PageRequest::Preset(number),
            None => PageRequest::Link(link.to_string()),
        });
    }

    /// Opens the world of a recipe's text.
    pub fn recipe(&self, text: &str) {
        self.shared.queue_request(PageRequest::Text(text.to_string()));
    }

    /// Downloads an export: `heights` as GeoTIFF, the whole `world` as ZIP, or the export for the program of this name
    /// as ZIP.
    ///
    /// # Errors
    /// Returns a message for the user if there is no such export.
    pub fn export(&self, name: &str) -> Result<(), String> {
        self.shared.queue_request(PageRequest::Export(RunExport::from_name(name).map_err(|error| error.to_string())?));
        Ok(())
    }

    /// Shows an error message.
    pub fn complain(&self, words: &str) {
        self.shared.queue_request(PageRequest::Complain(words.to_string()));
    }

    /// Returns the studio's state in the last frame, as JSON.
    pub fn state(&self) -> String {
        if !self.shared.watched.replace(true) {
            self.shared.request_repaint();
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
    fn start_world(&self, recipe: &Recipe, playing: bool) {
        use thalweg_studio::session::{RemoteSession, WorkerOrder};
        self.link.send_order(WorkerOrder::Open(Box::new(recipe.clone()), 0));
        self.link.send_order(WorkerOrder::Play(playing));
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
        // Requests arrive between frames, while the studio is not borrowed, and are handled here.
        for wish in self.shared.wishes.take() {
            match wish {
                PageRequest::Files(paths) => self.studio.open_memory_files(&paths),
                PageRequest::Link(link) => self.studio.open_link(&link),
                PageRequest::Text(text) => self.studio.open_text(&text),
                PageRequest::Preset(number) => self.studio.open_preset(number),
                PageRequest::Export(goods) => self.studio.export_for_page(goods),
                PageRequest::Complain(words) => self.studio.show_error(words),
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
            *self.shared.state.borrow_mut() = describe_state(&self.studio, ui.ctx(), self.frames);
        }
    }

    fn persist_egui_memory(&self) -> bool {
        false
    }
}

/// Returns the recipe that a page begins with.
fn find_initial_recipe(link: &str) -> Result<Recipe, String> {
    let link = link.trim_start_matches('#');
    let preset = PRESETS.iter().find(|preset| preset.name == link).or(PRESETS.first().filter(|_| link.is_empty()));
    let recipe = match preset {
        Some(preset) => {
            let mut recipe = preset.recipe().map_err(|error| error.to_string())?;
            // Presets are reduced to a size that suits a page; a link keeps the size that its author chose.
            recipe.limit_cells(CELLS).map(|()| recipe)
        }
        None => Recipe::from_link(link),
    };
    recipe.map_err(|error| error.to_string())
}

/// Returns the name under which a file is kept in memory: the last part of its path.
fn memory_file_name(path: &str) -> PathBuf {
    Path::new(path).file_name().unwrap_or("file".as_ref()).into()
}

fn list_preset_cards() -> Vec<PresetCard> {
    let card = |preset: &thalweg_sim::presets::Preset| PresetCard {
        name: preset.name,
        text: preset.text.to_string(),
        thumbnail: &[],
    };
    PRESETS.iter().map(card).collect()
}
