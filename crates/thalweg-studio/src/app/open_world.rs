//! [`OpenWorld`]: the recipe that is open, its file and history, and the world before it.

use std::path::PathBuf;

use thalweg_io::FilePath;
use thalweg_sim::recipe::Recipe;

use crate::app::state::Studio;
use crate::session::WorkerOrder;
use crate::ui::history::History;

/// The world that is open.
pub(crate) struct OpenWorld {
    /// The recipe as the panels show and change it.
    pub(crate) recipe: Recipe,
    pub(crate) path: Option<PathBuf>,
    /// The number of edits; each snapshot states the last one that the worker knows.
    pub(crate) revision: u64,
    /// The edit with which this world was opened, and what was open before it.
    pub(crate) opened: u64,
    pub(crate) left: Option<PreviousWorld>,
    pub(crate) history: History,
    /// The recipe as text, while it is being edited in that form.
    pub(crate) draft: Option<RecipeDraft>,
}

/// A recipe that is being edited as text.
pub(crate) struct RecipeDraft {
    pub(super) text: String,
    /// The text of the last valid recipe.
    pub(super) of: String,
    /// The error in the current text.
    pub(super) problem: Option<String>,
}

/// The state that was open before another world, to return to if that world cannot be opened.
pub(crate) struct PreviousWorld {
    pub(crate) revision: u64,
    pub(crate) path: Option<PathBuf>,
    pub(crate) folder: FilePath,
    pub(crate) history: History,
}

impl OpenWorld {
    /// Opens the world of a recipe as the first one of the window.
    pub(super) fn new(recipe: Recipe, path: Option<PathBuf>) -> Self {
        Self { history: History::new(recipe.to_toml()), path, recipe, revision: 0, opened: 0, left: None, draft: None }
    }
}

impl Studio {
    /// Sends the recipe to the worker.
    pub(crate) fn send_recipe(&mut self) {
        if !self.may_take(&self.world.recipe.clone()) {
            // The panels return to the recipe that is running.
            if let Ok(mut recipe) = Recipe::parse(&self.snapshot.recipe) {
                recipe.folder.clone_from(&self.world.recipe.folder);
                self.world.recipe = recipe;
            }
            return;
        }
        self.world.revision += 1;
        self.worker.send_order(WorkerOrder::Edit(
            Box::new(self.world.recipe.clone()),
            self.world.revision,
            self.snapshot.strokes,
        ));
    }

    /// Goes back or forward in the recipe's history; returns true if there was a state to go to.
    pub(crate) fn step_history(&mut self, back: bool) -> bool {
        if self.exchange.sent > self.snapshot.heard {
            // The tool's latest strokes are not in the recipe yet, so the step is postponed.
            self.exchange.postponed = Some(back);
            return false;
        }
        // The mouse's latest changes become a separate state of the history.
        self.world.history.push(&self.world.recipe.to_toml());
        let text = if back { self.world.history.undo() } else { self.world.history.redo() };
        let Some(Ok(mut recipe)) = text.map(Recipe::parse) else { return false };
        recipe.folder.clone_from(&self.world.recipe.folder);
        self.world.recipe = recipe;
        true
    }
}
