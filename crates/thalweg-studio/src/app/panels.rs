//! [`Panels`]: the surroundings of the view, which are the toolbar, the side panels, the tools and the help.

use eframe::egui::{self, RichText, TextEdit, Ui};
use thalweg_sim::recipe::Recipe;

use crate::app::open_world::RecipeDraft;
use crate::app::state::Studio;
use crate::platform::DialogQuestion;
use crate::session::WorkerOrder;
use crate::ui::appearance::{self, AppearanceAct};
use crate::ui::draw_row;
use crate::ui::export_dialog::ExportDialog;
use crate::ui::habits::HABITS;
use crate::ui::stages::Panel;
use crate::ui::timeline::Timeline;
use crate::ui::toolbar::{self, ToolbarAct, ToolbarKnobs};
use crate::ui::words::format_error;
use thalweg_render::products::overlay::Overlay;

/// The state of the panels around the view.
pub(crate) struct Panels {
    pub(crate) knobs: ToolbarKnobs,
    pub(crate) thumbnails: Vec<Option<egui::TextureHandle>>,
    pub(crate) stages: Panel,
    pub(crate) timeline: Timeline,
    /// The window with the options of an export, while it is open.
    pub(crate) export_dialog: Option<ExportDialog>,
    pub(crate) tools_open: bool,
    /// True while the list of keys is shown.
    pub(crate) keys: bool,
    /// True while the left and the right panel are shown.
    pub(crate) sides: [bool; 2],
    /// True once the first frame has been drawn; before that the width of the window is unknown.
    pub(crate) begun: bool,
}

impl Panels {
    /// Creates the panels with the thumbnails of the presets.
    pub(super) fn new(thumbnails: Vec<Option<egui::TextureHandle>>) -> Self {
        Self {
            knobs: ToolbarKnobs::default(),
            thumbnails,
            stages: Panel::default(),
            timeline: Timeline::default(),
            export_dialog: None,
            tools_open: false,
            keys: false,
            sides: [true, true],
            begun: false,
        }
    }
}

impl Studio {
    pub(super) fn draw_top_bar(&mut self, ui: &mut Ui) -> bool {
        let shown = toolbar::ToolbarState {
            presets: &self.options.presets,
            thumbnails: &self.panels.thumbnails,
            playing: self.snapshot.playing,
            undo: [self.world.history.can_undo(), self.world.history.can_redo()],
            page: self.options.page.is_some(),
        };
        let mut wish = None;
        draw_row(ui, |ui| {
            for (side, title, about) in
                [(0, "Recipe", "Stages and their parameters"), (1, "View", "Overlays, sun, heights")]
            {
                ui.toggle_value(&mut self.panels.sides[side], title).on_hover_text(about);
            }
            ui.separator();
            wish = toolbar::draw_toolbar(ui, &mut self.world.recipe, &mut self.panels.knobs, &shown);
        });
        match wish {
            None => return false,
            Some(ToolbarAct::Changed) => return true,
            Some(ToolbarAct::Preset(number)) => self.open_preset(number),
            Some(ToolbarAct::Play(playing)) => self.worker.send_order(WorkerOrder::Play(playing)),
            Some(ToolbarAct::Ask(question)) => self.ask_question(question),
            Some(ToolbarAct::Save) => self.save_or_ask(),
            Some(ToolbarAct::Undo) => return self.step_history(true),
            Some(ToolbarAct::Redo) => return self.step_history(false),
            Some(ToolbarAct::Picture(times)) => self.save_picture(times),
            Some(ToolbarAct::StopFrames) => self.output.frames = None,
            Some(ToolbarAct::CopyCommand) => {
                if let Some(line) = self.command_line() {
                    ui.ctx().copy_text(line.clone());
                    self.show_message(format!("Copied: {line}"));
                }
            }
            Some(ToolbarAct::CopyLink) => {
                if let Some(address) = self.build_page_address() {
                    ui.ctx().copy_text(address);
                    self.show_message("Copied the link.".into());
                }
            }
            Some(ToolbarAct::Give(export)) => self.export_for_page(export),
            Some(ToolbarAct::Configure(export)) => self.open_export_dialog(export),
            Some(ToolbarAct::Keys) => self.panels.keys = !self.panels.keys,
        }
        false
    }

    pub(super) fn draw_recipe_panel(&mut self, ui: &mut Ui) -> bool {
        let mut changed = false;
        ui.horizontal(|ui| {
            if ui.selectable_label(self.world.draft.is_none(), "Stages").clicked() {
                self.world.draft = None;
            }
            if ui.selectable_label(self.world.draft.is_some(), "Text").on_hover_text("The recipe as TOML").clicked() {
                let text = self.world.recipe.to_toml();
                self.world.draft = Some(RecipeDraft { of: text.clone(), text, problem: None });
            }
        });
        ui.separator();
        let Some(RecipeDraft { text, of, problem }) = &mut self.world.draft else {
            return self.panels.stages.show(ui, &mut self.world.recipe, self.snapshot.stage);
        };
        // Show changes from elsewhere, unless text that is being typed would be lost.
        let now = self.world.recipe.to_toml();
        if problem.is_none() && *of != now {
            (*text, *of) = (now.clone(), now);
        }
        if let Some(problem) = problem {
            ui.label(format_error(problem));
        }
        egui::ScrollArea::both().auto_shrink([false, false]).show(ui, |ui| {
            let edit = TextEdit::multiline(text).code_editor().desired_width(f32::INFINITY);
            if ui.add(edit).accessible_name("the recipe as text").changed() {
                match Recipe::parse(text) {
                    // The text has no folder; the one to which its relative paths refer is kept.
                    Ok(mut recipe) => {
                        recipe.folder.clone_from(&self.world.recipe.folder);
                        *of = recipe.to_toml();
                        (self.world.recipe, *problem, changed) = (recipe, None, true);
                    }
                    // The last valid recipe keeps running.
                    Err(error) => *problem = Some(error.to_string()),
                }
            }
        });
        changed
    }

    pub(super) fn draw_view_panel(&mut self, ui: &mut Ui) {
        // The list of overlays depends on the terrain's layers, so it is rebuilt only with a new version.
        if let Some(painted) = &self.painting.latest
            && self.painting.overlays.0 != painted.version
        {
            self.painting.overlays = (painted.version, Overlay::list_available(&painted.terrain));
        }
        let fits = self.exaggeration();
        match appearance::draw_panel(ui, &mut self.settings, &self.painting.overlays.1, fits) {
            None => {}
            Some(AppearanceAct::Update) => self.painting.requested = None,
            Some(AppearanceAct::Ground) => self.ask_question(DialogQuestion::Ground),
            Some(AppearanceAct::Frame) => self.frame_land(),
        }
    }

    /// Draws the tools in the corner of the view.
    pub(super) fn draw_tools(&mut self, ui: &Ui) {
        let at = self.viewport.rect.left_top() + egui::vec2(10.0, 10.0);
        egui::Area::new(egui::Id::unique("tools")).fixed_pos(at).show(ui.ctx(), |ui| {
            egui::Frame::popup(ui.style()).show(ui, |ui| {
                ui.set_max_width(270.0);
                ui.toggle_value(&mut self.panels.tools_open, "Tools").on_hover_text("Brushes, springs and droplets");
                if self.panels.tools_open {
                    self.tools.show(ui);
                }
            });
        });
    }

    pub(crate) fn draw_help(&mut self, ui: &Ui) {
        egui::Window::new("Keys and mouse").open(&mut self.panels.keys).resizable(false).show(ui.ctx(), |ui| {
            egui::Grid::new("keys").striped(true).show(ui, |ui| {
                for (keys, does) in HABITS {
                    ui.label(RichText::new(keys).strong());
                    ui.label(does);
                    ui.end_row();
                }
            });
        });
    }
}
