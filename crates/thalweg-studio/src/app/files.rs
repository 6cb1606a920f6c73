//! Files that are opened, dropped on the window or chosen in a dialog, and the worlds that start from them.

use std::path::{Path, PathBuf};
use std::sync::mpsc::TryRecvError;

use eframe::egui::Ui;
use thalweg_sim::recipe::Recipe;

use crate::app::frames::Frames;
use crate::app::state::{Left, Studio};
use crate::far::with_files_in;
use crate::platform::Ask;
use crate::session::Order;
use crate::ui::history::History;

impl Studio {
    /// Opens files that were dropped on the window.
    pub(crate) fn dropped(&mut self, ui: &Ui) {
        if self.options.page.is_some() {
            // A page handles dropped files itself, because it has no paths.
            return;
        }
        let files = ui.input(|input| input.raw.dropped_files.clone());
        if let Some(file) = files.first() {
            self.open_file(file.path());
        }
    }

    pub(crate) fn ask(&mut self, question: Ask) {
        if self.asking.is_none() {
            self.asking = Some((question, (self.options.asker)(question)));
        }
    }

    /// Handles the answer of a dialog.
    pub(crate) fn answer(&mut self) {
        let Some((question, receiver)) = &self.asking else { return };
        let (question, answer) = match receiver.try_recv() {
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => (*question, None),
            Ok(answer) => (*question, answer),
        };
        self.asking = None;
        let Some(path) = answer else { return };
        match question {
            Ask::Open | Ask::Ground => self.open_file(&path),
            Ask::Save => self.save_recipe(&path),
            Ask::Export(goods) => self.worker.tell(Order::Export(goods, path)),
            Ask::Turntable => self.begin_frames(Frames::turntable(&path)),
            Ask::TimeLapse => self.begin_frames(Frames::time_lapse(&path)),
        }
    }

    pub(crate) fn begin_frames(&mut self, frames: Result<Frames, String>) {
        match frames {
            Ok(frames) => self.frames = Some(frames),
            Err(problem) => self.complain(problem),
        }
    }

    /// Opens files that a page received, given the names under which they are held in memory: the first recipe among
    /// them, or else the first file.
    pub fn open_held(&mut self, paths: &[PathBuf]) {
        let Some(page) = self.options.page.clone() else { return };
        paths.iter().for_each(|path| page.link.hold(path));
        let Some(path) = paths.iter().find(|path| Recipe::is_named(path)).or(paths.first()) else { return };
        match Recipe::open(page.link.memory().path(path)) {
            Ok(recipe) => self.begin(recipe, None),
            Err(problem) => self.complain(problem.to_string()),
        }
    }

    /// Starts the world of a recipe given as text, for example from a page's link or list.
    pub fn open_text(&mut self, text: &str) {
        match Recipe::parse(text) {
            Ok(recipe) => self.begin(recipe, None),
            Err(problem) => self.complain(problem.to_string()),
        }
    }

    /// Starts the world of a link.
    pub fn open_link(&mut self, link: &str) {
        match Recipe::from_link(link) {
            Ok(recipe) => self.begin(recipe, None),
            Err(problem) => self.complain(problem.to_string()),
        }
    }

    pub(crate) fn save(&mut self) {
        if self.options.page.is_some() {
            return self.save_recipe(Path::new(""));
        }
        match self.path.clone() {
            Some(path) => self.save_recipe(&path),
            None => self.ask(Ask::Save),
        }
    }

    /// Opens a recipe, or a terrain as the ground of a new recipe.
    pub fn open_file(&mut self, path: &Path) {
        match Recipe::open(path) {
            Ok(recipe) => {
                self.begin(recipe, Recipe::is_named(path).then(|| path.to_path_buf()));
            }
            Err(problem) => self.complain(problem.to_string()),
        }
    }

    /// Starts the preset of that number in the list.
    pub fn open_preset(&mut self, number: usize) {
        let Some(preset) = self.options.presets.get(number) else { return };
        match Recipe::parse(&preset.text) {
            Ok(mut recipe) => match recipe.limit_cells(self.options.cells) {
                Ok(()) => self.begin(recipe, None),
                Err(problem) => self.complain(problem.to_string()),
            },
            Err(problem) => self.complain(problem.to_string()),
        }
    }

    /// Starts another world.
    pub(crate) fn begin(&mut self, mut recipe: Recipe, path: Option<PathBuf>) {
        if let Some(page) = &self.options.page {
            recipe = with_files_in(page.link.memory(), recipe);
        }
        if !self.may_take(&recipe) {
            return;
        }
        self.revision += 1;
        self.worker.tell(Order::Open(Box::new(recipe.clone()), self.revision));
        self.worker.tell(Order::Play(true));
        let history = std::mem::replace(&mut self.history, History::new(recipe.to_toml()));
        let left = std::mem::replace(&mut self.path, path);
        let folder = std::mem::take(&mut self.recipe.folder);
        self.left = Some(Left { revision: self.revision, path: left, folder, history });
        (self.recipe, self.text) = (recipe, None);
        self.tools.pen.line.clear();
        (self.moved, self.framed, self.world) = (false, false, self.revision);
    }
}
