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

/// Cells on the long side at which presets open: a world that lives on one thread.
const CELLS: usize = 256;

#[wasm_bindgen]
extern "C" {
    /// The page's script.
    #[derive(Clone)]
    pub type Host;
    /// Makes a worker; what is then sent with [`Host::post`] goes to it.
    #[wasm_bindgen(method, structural)]
    fn station(this: &Host);
    /// Sends bytes to the worker made last.
    #[wasm_bindgen(method, structural)]
    fn post(this: &Host, bytes: Vec<u8>);
    /// Gives the user a file.
    #[wasm_bindgen(method, structural)]
    fn give(this: &Host, name: &str, bytes: &[u8]);
    /// Puts a question.
    #[wasm_bindgen(method, structural)]
    fn allows(this: &Host, question: &str) -> bool;
    /// The page's address with this behind its `#`.
    #[wasm_bindgen(method, structural)]
    fn address(this: &Host, link: &str) -> String;
    /// Has the user choose files, which come back by [`Page::open`].
    #[wasm_bindgen(method, structural)]
    fn pick(this: &Host);
    /// The recipe has changed; this is its link, empty where it has none.
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

/// What the page's script asks of the studio, obeyed in its next frame.
enum Wish {
    Files(Vec<PathBuf>),
    Link(String),
    Text(String),
    Preset(usize),
    Export(Goods),
    Complain(String),
}

/// What script and window share.
#[derive(Default)]
struct Shared {
    wishes: RefCell<Vec<Wish>>,
    state: RefCell<String>,
    /// Whether somebody reads the state: it is written for him alone.
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

/// The studio in a canvas, as the page's script has it.
#[wasm_bindgen]
pub struct Page {
    runner: eframe::WebRunner,
    link: Rc<Link>,
    shared: Rc<Shared>,
}

#[wasm_bindgen]
impl Page {
    /// The studio without its canvas yet: `link` is a link's word, or the name of a preset, or empty. What is wrong with it is
    /// thrown as a sentence.
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

    /// Draws into a canvas from now on. What keeps it from that is thrown as a sentence.
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
                    // The page's own dialog answers by `open`, if it answers.
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

    /// Takes what the worker says.
    pub fn receive(&self, bytes: &[u8]) {
        self.link.receive(bytes);
        self.shared.wake();
    }

    /// Says that the worker is no more.
    pub fn lost(&self) {
        self.link.set_broken();
        self.shared.wake();
    }

    /// Opens files that the user has dropped or chosen, held before by [`Page::hold`].
    pub fn open(&self, names: Vec<String>) {
        self.shared.wish(Wish::Files(names.iter().map(|name| name_of(name)).collect()));
    }

    /// Takes a file's bytes.
    pub fn hold(&self, name: &str, bytes: Vec<u8>) {
        self.link.memory().insert(name_of(name), bytes);
    }

    /// Opens the world of a link's word, or of a preset of that name.
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

    /// Gives the user `heights` as GeoTIFF, the whole `world` as ZIP, or as that what a program takes, by its name. Another name is thrown
    /// as a sentence.
    pub fn export(&self, name: &str) -> Result<(), String> {
        self.shared.wish(Wish::Export(Goods::named(name).map_err(|error| error.to_string())?));
        Ok(())
    }

    /// Says something, as trouble is said.
    pub fn complain(&self, words: &str) {
        self.shared.wish(Wish::Complain(words.to_string()));
    }

    /// The studio's state in the frame drawn last, as JSON.
    pub fn state(&self) -> String {
        if !self.shared.watched.replace(true) {
            self.shared.wake();
        }
        self.shared.state.borrow().clone()
    }

    /// Has the worker break down, for tests of what comes then.
    pub fn break_down(&self) {
        self.link.break_down();
    }

    /// What the program broke down by; empty while it works.
    pub fn broken(&self) -> String {
        self.runner.panic_summary().map_or(String::new(), |summary| summary.message())
    }

    /// The names of the presets.
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
    /// What a page was made with, until its canvas is there.
    static OPTIONS: Cell<Option<(Host, Recipe, bool)>> = const { Cell::new(None) };
}

/// The studio as eframe runs it.
struct App {
    studio: Studio,
    host: Host,
    shared: Rc<Shared>,
    /// The recipe's text that the page knows.
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
        // While a slider is dragged there is no new address for every pixel of it.
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

/// The recipe that a page begins with.
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

/// The name under which a page's file is kept: of a path the last part.
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
