//! The stages panel: the recipe as a list of stages. Everything shown for a parameter comes from its declaration.

use eframe::egui::{
    self, Align, CollapsingHeader, Color32, ComboBox, DragValue, Layout, RichText, ScrollArea, Sense, Slider, TextEdit,
    Ui, vec2,
};
use thalweg_core::Extent;
use thalweg_core::declare::params::{Param, ParamKind, Value};
use thalweg_models::model::{Family, Model};
use thalweg_models::models;
use thalweg_sim::recipe::{Recipe, Stage};

use crate::ui::words::format_error;

/// The width of a parameter's name in points.
const NAME_WIDTH_POINTS: f32 = 120.0;
/// The width of its slider in points.
const SLIDER_WIDTH_POINTS: f32 = 80.0;

/// The state of the panel between frames.
#[derive(Default)]
pub struct Panel {
    /// The model whose documentation page is open.
    page: Option<&'static str>,
    /// The number of the stage whose label is being typed, and the text.
    renaming: Option<(usize, String)>,
}

/// A change to the list, which is applied after the list has been drawn.
enum StageEdit {
    Remove(usize),
    Duplicate(usize),
    Swap(usize, usize),
    Add(&'static str),
}

impl Panel {
    /// Draws the list; `running` is the number of the running stage. Returns true if the recipe was changed.
    pub fn show(&mut self, ui: &mut Ui, recipe: &mut Recipe, running: usize) -> bool {
        let mut changed = false;
        let mut act = None;
        ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            changed |= edit_world(ui, recipe);
            ui.separator();
            for number in 0..recipe.stages.len() {
                changed |= self.draw_stage(ui, recipe, number, running, &mut act);
            }
            ui.add_space(6.0);
            ui.menu_button("+ Add a stage", |ui| {
                for (family, title) in
                    [(Family::Base, "Ground"), (Family::Erosion, "Erosion"), (Family::Analysis, "Analysis")]
                {
                    ui.label(RichText::new(title).strong());
                    for about in models::all_models().map(|model| model.about()).filter(|about| about.family == family)
                    {
                        let hover = format!("{}: {}", about.name, about.summary);
                        if ui.button(about.display_title()).on_hover_text(hover).clicked() {
                            act = Some(StageEdit::Add(about.name));
                            ui.close();
                        }
                    }
                }
            });
        });
        self.draw_model_page(ui);
        match act {
            Some(act) => apply_edit(recipe, act) || changed,
            None => changed,
        }
    }

    fn draw_stage(
        &mut self,
        ui: &mut Ui,
        recipe: &mut Recipe,
        number: usize,
        running: usize,
        act: &mut Option<StageEdit>,
    ) -> bool {
        let count = recipe.stages.len();
        let labels: Vec<String> = recipe.stages.iter().map(|stage| stage.label.clone()).collect();
        let stage = &mut recipe.stages[number];
        let about = stage.model.about();
        let mut title = RichText::new(stage.title());
        if stage.muted {
            title = title.weak().strikethrough();
        } else if number == running {
            title = title.color(Color32::from_rgb(120, 190, 250));
        } else if number > running {
            title = title.weak();
        }
        let mut changed = false;
        let header = CollapsingHeader::new(title).id_salt(("stage", number)).show(ui, |ui| {
            ui.horizontal_wrapped(|ui| {
                if ui.button(about.name).on_hover_text("The model's page").clicked() {
                    self.page = Some(about.name);
                }
                if ui.button("Up").on_hover_text("Moves the stage earlier").clicked() && number > 0 {
                    *act = Some(StageEdit::Swap(number, number - 1));
                }
                if ui.button("Down").on_hover_text("Moves the stage later").clicked() && number + 1 < count {
                    *act = Some(StageEdit::Swap(number, number + 1));
                }
                if ui.button("Copy").on_hover_text("Duplicates the stage").clicked() {
                    *act = Some(StageEdit::Duplicate(number));
                }
                if ui.button("Remove").clicked() {
                    *act = Some(StageEdit::Remove(number));
                }
                changed |= ui.checkbox(&mut stage.muted, "mute").on_hover_text("Does not run the stage").changed();
            });
            changed |= self.edit_label(ui, stage, number, &labels);
            ui.label(RichText::new(about.summary).weak());
            for param in stage.model.declared() {
                changed |= edit_parameter(ui, stage.model.as_mut(), &param);
            }
            changed |= list_inputs(ui, stage);
        });
        header.header_response.on_hover_text(about.summary);
        changed
    }

    /// Edits the stage's label. The label determines the stage's random numbers, so it is changed only when the typing
    /// is finished.
    fn edit_label(&mut self, ui: &mut Ui, stage: &mut Stage, number: usize, labels: &[String]) -> bool {
        let mut text = match &self.renaming {
            Some((n, text)) if *n == number => text.clone(),
            _ => stage.label.clone(),
        };
        let response = ui
            .horizontal(|ui| {
                ui.label("label");
                ui.add(TextEdit::singleline(&mut text).desired_width(140.0)).accessible_name("label of the stage")
            })
            .inner
            .on_hover_text("The key of the stage's random numbers: another label gives other numbers.");
        // Two stages with one label would have the same random numbers, so the panel refuses it.
        let wish = text.trim();
        if wish != stage.label && labels.iter().any(|label| label == wish) {
            ui.label(format_error("another stage has this label"));
        }
        if response.has_focus() {
            self.renaming = Some((number, text));
        } else if response.lost_focus() {
            self.renaming = None;
            // The typing has ended; an empty or duplicate label is discarded.
            let text = text.trim();
            if !text.is_empty() && !labels.iter().any(|label| label == text) {
                stage.label = text.to_string();
                return true;
            }
        }
        false
    }

    /// Shows the documentation page of a model in a window of its own.
    fn draw_model_page(&mut self, ui: &Ui) {
        let Some(name) = self.page else { return };
        let Ok(model) = models::find_model(name) else { return };
        let mut open = true;
        let position = ui.max_rect().right_top() + vec2(30.0, 0.0);
        let window = egui::Window::new(model.about().display_title()).open(&mut open).default_pos(position);
        window.default_size([520.0, 420.0]).vscroll(true).show(ui.ctx(), |ui| {
            ui.label(RichText::new(format!("thalweg models {name}")).weak());
            ui.add_space(6.0);
            ui.label(model.page());
        });
        if !open {
            self.page = None;
        }
    }
}

/// Edits the settings of the whole world.
fn edit_world(ui: &mut Ui, recipe: &mut Recipe) -> bool {
    let mut changed = false;
    if !recipe.about.is_empty() {
        ui.label(RichText::new(recipe.about.trim().replace('\n', " ")).weak());
    }
    if let Some(Extent { width, height }) = recipe.extent() {
        ui.horizontal(|ui| {
            ui.label("cells");
            // Only sizes at which the window stays responsive; `thalweg build` takes any size.
            changed |= ui
                .add(DragValue::new(&mut recipe.cells).range(1..=4096).clamp_existing_to_range(false).speed(8))
                .accessible_name("cells")
                .on_hover_text("The number of cells on the long side: more cells make the same world finer.")
                .changed();
            ui.label(format!("{:.1} × {:.1} km", width / 1e3, height / 1e3));
        });
    } else if let Some(path) = recipe.dem() {
        ui.label(format!("ground from {}", path.display()));
    }
    ui.horizontal(|ui| {
        let mut sea = recipe.sea_level.is_some();
        changed |= ui.checkbox(&mut sea, "sea").changed();
        let level = recipe.sea_level.get_or_insert(0.0);
        let drag = DragValue::new(level).range(-12_000.0..=9_000.0).clamp_existing_to_range(false).suffix(" m");
        changed |= ui.add_enabled(sea, drag).accessible_name("sea level of the recipe").changed();
        if !sea {
            recipe.sea_level = None;
        }
    });
    changed
}

/// Draws one parameter: its name, a control for its kind, and its meaning as a tooltip.
fn edit_parameter(ui: &mut Ui, model: &mut dyn Model, param: &Param) -> bool {
    let Some(value) = model.get(param.name) else { return false };
    let mut next = value;
    let about = |ui: &mut Ui| {
        ui.set_max_width(340.0);
        ui.label(param.meaning);
        ui.label(RichText::new(format!("{} [{}] · default {}", param.kind, param.unit, param.default)).weak());
        ui.label(RichText::new("double-click the name to restore the default").weak());
        ui.label(RichText::new(param.source).weak().italics());
    };
    ui.horizontal(|ui| {
        let name = if value == param.default { RichText::new(param.name) } else { RichText::new(param.name).strong() };
        let size = vec2(NAME_WIDTH_POINTS, ui.spacing().interact_size.y);
        let left = Layout::left_to_right(Align::Center);
        let label = ui.allocate_ui_with_layout(size, left, |ui| {
            ui.set_min_width(NAME_WIDTH_POINTS);
            ui.add(egui::Label::new(name).truncate()).on_hover_ui(about)
        });
        let control = draw_control(ui, param, &mut next).accessible_name(param.name).on_hover_ui(about);
        // A double click, as is common, or the context menu resets the parameter to its default.
        if label.inner.interact(Sense::click()).double_clicked() {
            next = param.default;
        }
        control.context_menu(|ui| {
            if ui.button(format!("Restore {}", param.default)).clicked() {
                next = param.default;
                ui.close();
            }
        });
    });
    let owner = model.about().name;
    // Setting cannot fail, because the control is made from the declaration and allows only valid values.
    next != value && model.set(owner, param.name, &next.into()).is_ok()
}

/// Formats a number with at most five significant digits.
fn format_number(x: f64) -> String {
    match x.abs() {
        a if a == 0.0 || (1e-3..1e6).contains(&a) => {
            // The number of decimal places follows from the power of ten, for example two for 123.45.
            let places = if a == 0.0 { 0 } else { (4 - a.log10().floor() as i32).clamp(0, 7) as usize };
            let text = format!("{x:.places$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
        }
        _ => {
            let text = format!("{x:.4e}");
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// Draws a control for a value with this declaration.
pub fn draw_control(ui: &mut Ui, param: &Param, value: &mut Value) -> egui::Response {
    ui.spacing_mut().slider_width = SLIDER_WIDTH_POINTS;
    let suffix = if param.unit == "1" { String::new() } else { format!(" {}", param.unit) };
    match (param.kind, value) {
        (ParamKind::Number { min, max }, Value::Number(x)) => {
            let usual = if let Value::Number(usual) = param.default { usual.abs() } else { 1.0 };
            // A default of 0 says nothing about the size of the values, so the range determines it.
            let usual = if usual > 0.0 { usual } else { (max.abs().max(min.abs()) * 1e-4).clamp(1e-6, 1.0) };
            // A range much wider than the default would leave only a few pixels of a linear slider for the common
            // values.
            let wide = (max - min) > 30.0 * usual;
            ui.add(
                Slider::new(x, min..=max)
                    .logarithmic(wide)
                    .smallest_positive(usual * 1e-3)
                    .largest_finite(max)
                    .custom_formatter(|x, _| format_number(x))
                    .suffix(suffix),
            )
        }
        (ParamKind::Count { min, max }, Value::Count(n)) => {
            ui.add(Slider::new(n, min..=max).logarithmic(max - min > 1000).suffix(suffix))
        }
        (ParamKind::Choice(words), Value::Choice(word)) => {
            let before = *word;
            let mut response = ComboBox::from_id_salt(param.name)
                .selected_text(*word)
                .show_ui(ui, |ui| {
                    for (choice, meaning) in words {
                        ui.selectable_value(word, choice, *choice).on_hover_text(*meaning);
                    }
                })
                .response;
            if *word != before {
                response.mark_changed();
            }
            response
        }
        (_, Value::Switch(on)) => ui.checkbox(on, ""),
        // A value of another kind than its declaration cannot occur: the macro that declares both rules it out.
        (_, other) => ui.label(other.to_string()),
    }
}

/// Lists the stage's inputs in addition to parameters (layers, springs, strokes); each can be removed.
fn list_inputs(ui: &mut Ui, stage: &mut Stage) -> bool {
    let mut changed = false;
    let mut gone = None;
    for name in stage.layers.keys() {
        ui.horizontal(|ui| {
            ui.label(format!("layer {name}"));
            if ui.small_button("Remove").clicked() {
                gone = Some(name.clone());
            }
        });
    }
    if let Some(name) = gone {
        stage.layers.remove(&name);
        changed = true;
    }
    let springs = stage.tables.springs.len();
    if springs > 0 {
        ui.horizontal(|ui| {
            ui.label(format!("{springs} springs"));
            if ui.small_button("Remove").clicked() {
                stage.tables.springs.clear();
                changed = true;
            }
        });
    }
    let strokes = stage.strokes.len();
    if strokes > 0 {
        ui.horizontal(|ui| {
            ui.label(format!("{strokes} strokes"));
            if ui.small_button("Remove").clicked() {
                stage.strokes.clear();
                changed = true;
            }
        });
    }
    changed
}

fn apply_edit(recipe: &mut Recipe, act: StageEdit) -> bool {
    match act {
        StageEdit::Remove(number) => drop(recipe.stages.remove(number)),
        StageEdit::Swap(a, b) => recipe.stages.swap(a, b),
        StageEdit::Duplicate(number) => {
            let stage = &recipe.stages[number];
            let copy = Stage { label: recipe.free_label(&stage.label), ..stage.clone() };
            recipe.stages.insert(number + 1, copy);
        }
        StageEdit::Add(name) => {
            let Ok(model) = models::find_model(name) else { return false };
            let label = recipe.free_label(name);
            recipe.stages.push(Stage::new(label, model));
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let cases = [
            (0.0, "0"),
            (15.0, "15"),
            (0.0078125, "0.0078125"),
            (7e-6, "7e-6"),
            (4.8e6, "4.8e6"),
            (30000.0, "30000"),
            (-0.25, "-0.25"),
        ];
        for (x, text) in cases {
            assert_eq!(format_number(x), text);
        }
    }
}
