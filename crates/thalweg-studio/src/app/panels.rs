//! The surroundings of the view: the toolbar, the side panels, the tools and the recent messages.

use eframe::egui::{self, RichText, TextEdit, Ui};
use thalweg_sim::recipe::Recipe;

use crate::app::state::{Studio, Text};
use crate::platform::Ask;
use crate::session::Order;
use crate::ui::appearance::{self, AppearanceAct};
use crate::ui::habits::HABITS;
use crate::ui::row;
use crate::ui::toolbar::{self, ToolbarAct};
use crate::ui::words::trouble;
use thalweg_render::products::overlay::Overlay;

impl Studio {
    pub(super) fn top(&mut self, ui: &mut Ui) -> bool {
        let shown = toolbar::Shown {
            presets: &self.options.presets,
            thumbnails: &self.thumbnails,
            playing: self.snapshot.playing,
            undo: [self.history.can_undo(), self.history.can_redo()],
            page: self.options.page.is_some(),
        };
        let mut wish = None;
        row(ui, |ui| {
            for (side, title, about) in
                [(0, "Recipe", "Stages and their parameters"), (1, "View", "Overlays, sun, heights")]
            {
                ui.toggle_value(&mut self.sides[side], title).on_hover_text(about);
            }
            ui.separator();
            wish = toolbar::show(ui, &mut self.recipe, &mut self.knobs, &shown);
        });
        match wish {
            None => return false,
            Some(ToolbarAct::Changed) => return true,
            Some(ToolbarAct::Preset(number)) => self.open_preset(number),
            Some(ToolbarAct::Play(playing)) => self.worker.tell(Order::Play(playing)),
            Some(ToolbarAct::Ask(question)) => self.ask(question),
            Some(ToolbarAct::Save) => self.save(),
            Some(ToolbarAct::Undo) => return self.walk(true),
            Some(ToolbarAct::Redo) => return self.walk(false),
            Some(ToolbarAct::Picture(times)) => self.save_picture(times),
            Some(ToolbarAct::StopFrames) => self.frames = None,
            Some(ToolbarAct::CopyCommand) => {
                if let Some(line) = self.command_line() {
                    ui.ctx().copy_text(line.clone());
                    self.say(format!("Copied: {line}"));
                }
            }
            Some(ToolbarAct::CopyLink) => {
                if let Some(address) = self.address() {
                    ui.ctx().copy_text(address);
                    self.say("Copied the link.".into());
                }
            }
            Some(ToolbarAct::Give(goods)) => self.export(goods),
            Some(ToolbarAct::Keys) => self.keys = !self.keys,
        }
        false
    }

    pub(super) fn left(&mut self, ui: &mut Ui) -> bool {
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
        // Show changes from elsewhere, unless text that is being typed would be lost.
        let now = self.recipe.to_toml();
        if problem.is_none() && *of != now {
            (*text, *of) = (now.clone(), now);
        }
        if let Some(problem) = problem {
            ui.label(trouble(problem));
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
                    // The last valid recipe keeps running.
                    Err(error) => *problem = Some(error.to_string()),
                }
            }
        });
        changed
    }

    pub(super) fn right(&mut self, ui: &mut Ui) {
        if let Some(painted) = &self.painted
            && self.overlays.0 != painted.version
        {
            self.overlays = (painted.version, Overlay::available(&painted.terrain));
        }
        let fits = self.exaggeration();
        match appearance::show(ui, &mut self.settings, &self.overlays.1, fits) {
            None => {}
            Some(AppearanceAct::Update) => self.asked = None,
            Some(AppearanceAct::Ground) => self.ask(Ask::Ground),
            Some(AppearanceAct::Frame) => self.frame_land(),
        }
    }

    /// Draws the tools in the corner of the view.
    pub(super) fn palette(&mut self, ui: &Ui) {
        let at = self.view_rect.left_top() + egui::vec2(10.0, 10.0);
        egui::Area::new(egui::Id::unique("tools")).fixed_pos(at).show(ui.ctx(), |ui| {
            egui::Frame::popup(ui.style()).show(ui, |ui| {
                ui.set_max_width(270.0);
                ui.toggle_value(&mut self.tools_open, "Tools").on_hover_text("Brushes, springs and droplets");
                if self.tools_open {
                    self.tools.show(ui);
                }
            });
        });
    }

    /// Draws the recent messages.
    pub(super) fn said(&mut self, ui: &Ui) {
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
                        ui.label(if *bad { trouble(text) } else { RichText::new(text) });
                    });
                }
            },
        );
        ui.ctx().request_repaint_after(std::time::Duration::from_millis(500));
    }

    pub(crate) fn help(&mut self, ui: &Ui) {
        egui::Window::new("Keys and mouse").open(&mut self.keys).resizable(false).show(ui.ctx(), |ui| {
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
