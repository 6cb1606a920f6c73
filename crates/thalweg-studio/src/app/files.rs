//! Files: opened, dropped on the window, asked for; and the worlds that begin with them.

use std::path::{Path, PathBuf};
use std::sync::mpsc::TryRecvError;

use eframe::egui::Ui;
use thalweg::model::Role;
use thalweg::recipe::Recipe;

use crate::app::frames::Frames;
use crate::app::state::{Left, Studio};
use crate::platform::Ask;
use crate::session::Order;
use crate::ui::history::History;

impl Studio {
    /// Opens files that were dropped on the window.
    pub(crate) fn dropped(&mut self, ui: &Ui) {
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

    /// Takes the answer of a dialog.
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
            Ask::Export => self.worker.tell(Order::Export(path)),
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

    pub(crate) fn save(&mut self) {
        match self.path.clone() {
            Some(path) => self.save_recipe(&path),
            None => self.ask(Ask::Save),
        }
    }

    /// Opens a recipe, or a terrain as the ground of one.
    pub fn open_file(&mut self, path: &Path) {
        match opened(path) {
            Ok(recipe) => {
                let own = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
                self.begin(recipe, own.then(|| path.to_path_buf()));
            }
            Err(problem) => self.complain(problem.to_string()),
        }
    }

    pub(crate) fn open_preset(&mut self, number: usize) {
        let Some(preset) = self.options.presets.get(number) else { return };
        match Recipe::parse(&preset.text) {
            Ok(mut recipe) => match fitted(&mut recipe, self.options.cells) {
                Ok(()) => self.begin(recipe, None),
                Err(problem) => self.complain(problem.to_string()),
            },
            Err(problem) => self.complain(problem.to_string()),
        }
    }

    /// Begins another world.
    pub(crate) fn begin(&mut self, recipe: Recipe, path: Option<PathBuf>) {
        self.revision += 1;
        self.worker.tell(Order::Open(Box::new(recipe.clone()), self.revision));
        self.worker.tell(Order::Play(true));
        let history = std::mem::replace(&mut self.history, History::new(recipe.to_toml()));
        let left = std::mem::replace(&mut self.path, path);
        let folder = std::mem::take(&mut self.recipe.folder);
        self.left = Some(Left { revision: self.revision, path: left, folder, history });
        (self.recipe, self.text) = (recipe, None);
        (self.moved, self.framed, self.world) = (false, false, self.revision);
    }
}

/// Gives a recipe that has more cells on the long side so many, or as many as its level that is nearest has.
///
/// # Errors
/// When its levels do not come to its cells.
pub fn fitted(recipe: &mut Recipe, cells: usize) -> thalweg::Result<()> {
    if recipe.extent.is_some() && recipe.cells > cells {
        recipe.cells = recipe.level_near(cells)?;
    }
    Ok(())
}

/// A recipe from a file: a recipe's own text, or an elevation model upon which water is let loose.
///
/// # Errors
/// In words, when the file is neither.
pub fn opened(path: &Path) -> thalweg::Result<Recipe> {
    let is_recipe = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    if is_recipe {
        return Recipe::read(path);
    }
    thalweg::io::Format::of(path)?;
    let absolute = std::path::absolute(path).map_err(thalweg::Error::io(path, "find"))?;
    let model = thalweg::models::playing(Role::Water)?;
    let mut recipe = Recipe::single(model, 1);
    recipe.name = path.file_stem().map_or("terrain".into(), |stem| stem.to_string_lossy().into_owned());
    recipe.from = Some(absolute);
    Ok(recipe)
}
