//! Files that are opened, dropped on the window or chosen in a dialog, and the worlds that start from them.

use std::path::{Path, PathBuf};
use std::sync::mpsc::TryRecvError;

use eframe::egui::Ui;
use thalweg_sim::recipe::Recipe;

use crate::app::frames::FrameSeries;
use crate::app::open_world::PreviousWorld;
use crate::app::state::Studio;
use crate::platform::DialogQuestion;
use crate::remote::with_files_in;
use crate::run_export::ExportRequest;
use crate::session::WorkerOrder;
use crate::ui::history::History;

impl Studio {
    /// Opens files that were dropped on the window.
    pub(crate) fn open_dropped_files(&mut self, ui: &Ui) {
        if self.options.page.is_some() {
            // A page handles dropped files itself, because it has no paths.
            return;
        }
        let files = ui.input(|input| input.raw.dropped_files.clone());
        if let Some(file) = files.first() {
            self.open_file(file.path());
        }
    }

    pub(crate) fn ask_question(&mut self, question: DialogQuestion) {
        // At most one dialog is open at a time.
        if self.output.asking.is_none() {
            self.output.asking = Some((question, (self.options.asker)(question)));
        }
    }

    /// Handles the answer of a dialog.
    pub(crate) fn apply_answer(&mut self) {
        let Some((question, receiver)) = &self.output.asking else { return };
        let (question, answer) = match receiver.try_recv() {
            Err(TryRecvError::Empty) => return,
            // The dialog has ended without an answer, for example because no thread could be started for it.
            Err(TryRecvError::Disconnected) => (*question, None),
            Ok(answer) => (*question, answer),
        };
        self.output.asking = None;
        let Some(path) = answer else { return };
        match question {
            DialogQuestion::Open | DialogQuestion::Ground => self.open_file(&path),
            DialogQuestion::Save => self.save_recipe(&path),
            DialogQuestion::Export(export) => {
                let options = std::mem::take(&mut self.output.export_options);
                self.worker.send_order(WorkerOrder::Export(ExportRequest { export, options }, path));
            }
            DialogQuestion::Turntable => self.begin_frames(FrameSeries::start_turntable(&path)),
            DialogQuestion::TimeLapse => self.begin_frames(FrameSeries::start_time_lapse(&path)),
        }
    }

    pub(crate) fn begin_frames(&mut self, frames: Result<FrameSeries, String>) {
        match frames {
            Ok(frames) => self.output.frames = Some(frames),
            Err(problem) => self.show_error(problem),
        }
    }

    /// Opens files that a page received, given the names under which they are held in memory: the first recipe among
    /// them, or else the first file.
    pub fn open_memory_files(&mut self, paths: &[PathBuf]) {
        let Some(page) = self.options.page.clone() else { return };
        paths.iter().for_each(|path| page.link.send_file(path));
        // A recipe may refer to the other files, so it takes precedence over them.
        let Some(path) = paths.iter().find(|path| Recipe::is_named(path)).or(paths.first()) else { return };
        match Recipe::open(page.link.memory_files().path(path)) {
            Ok(recipe) => self.start_world(recipe, None),
            Err(problem) => self.show_error(problem.to_string()),
        }
    }

    /// Starts the world of a recipe given as text, for example from a page's link or list.
    pub fn open_text(&mut self, text: &str) {
        match Recipe::parse(text) {
            Ok(recipe) => self.start_world(recipe, None),
            Err(problem) => self.show_error(problem.to_string()),
        }
    }

    /// Starts the world of a link.
    pub fn open_link(&mut self, link: &str) {
        match Recipe::from_link(link) {
            Ok(recipe) => self.start_world(recipe, None),
            Err(problem) => self.show_error(problem.to_string()),
        }
    }

    pub(crate) fn save_or_ask(&mut self) {
        if self.options.page.is_some() {
            return self.save_recipe(Path::new(""));
        }
        match self.world.path.clone() {
            Some(path) => self.save_recipe(&path),
            None => self.ask_question(DialogQuestion::Save),
        }
    }

    /// Opens a recipe, or a terrain as the ground of a new recipe.
    pub fn open_file(&mut self, path: &Path) {
        match Recipe::open(path) {
            Ok(recipe) => {
                self.start_world(recipe, Recipe::is_named(path).then(|| path.to_path_buf()));
            }
            Err(problem) => self.show_error(problem.to_string()),
        }
    }

    /// Starts the preset of that number in the list.
    pub fn open_preset(&mut self, number: usize) {
        let Some(preset) = self.options.presets.get(number) else { return };
        match Recipe::parse(&preset.text) {
            Ok(mut recipe) => match recipe.limit_cells(self.options.cells) {
                Ok(()) => self.start_world(recipe, None),
                Err(problem) => self.show_error(problem.to_string()),
            },
            Err(problem) => self.show_error(problem.to_string()),
        }
    }

    /// Starts another world.
    pub(crate) fn start_world(&mut self, mut recipe: Recipe, path: Option<PathBuf>) {
        if let Some(page) = &self.options.page {
            recipe = with_files_in(page.link.memory_files(), recipe);
        }
        // Nothing has been changed so far, so the open world continues if the user declines.
        if !self.may_take(&recipe) {
            return;
        }
        self.world.revision += 1;
        self.worker.send_order(WorkerOrder::Open(Box::new(recipe.clone()), self.world.revision));
        self.worker.send_order(WorkerOrder::Play(true));
        // The state before is kept until the worker reports that the world could be opened.
        let history = std::mem::replace(&mut self.world.history, History::new(recipe.to_toml()));
        let left = std::mem::replace(&mut self.world.path, path);
        let folder = std::mem::take(&mut self.world.recipe.folder);
        self.world.left = Some(PreviousWorld { revision: self.world.revision, path: left, folder, history });
        (self.world.recipe, self.world.draft) = (recipe, None);
        self.tools.pen.line.clear();
        (self.cameras.moved, self.cameras.framed, self.world.opened) = (false, false, self.world.revision);
    }
}
