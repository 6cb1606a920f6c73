//! [`OperationForm`]: a form for the options of an operation. Everything that it shows comes from their declarations.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use eframe::egui::emath::Numeric;
use eframe::egui::{ComboBox, DragValue, Grid, Label, Response, RichText, Sense, Slider, TextEdit, Ui};
use serde_json::{Map, json};
use thalweg_core::base::names::title_from_name;
use thalweg_core::declare::operation::{Arity, Json, Operation, OptionKind, OptionSpec, WorkForm, options_for};

use crate::ui::words::format_error;

/// The width of a text field in points.
const TEXT_WIDTH_POINTS: f32 = 190.0;
/// Limits that are no farther apart than this are the ends of a slider; between others it would have too many values
/// per point.
const MAX_SLIDER_RANGE: f64 = 1000.0;
/// The text for a value that is left to the operation.
const AUTOMATIC: &str = "automatic";
/// The text for limits without an upper bound, as it is typed.
const UNLIMITED: &str = "unlimited";
/// The rows and columns with which a size begins.
const STARTING_SIZE: [u64; 2] = [512, 512];

/// A form for the options of an operation.
pub struct OperationForm {
    operation: Box<dyn Operation>,
    form: WorkForm,
    /// The values with which the form was opened.
    initial: Map<String, Json>,
    /// Texts that are being typed, by the names of their options.
    typed: BTreeMap<&'static str, String>,
}

impl OperationForm {
    /// Returns a form with the operation's present values, for the options that have an effect in this form of the
    /// operation.
    pub fn new(operation: Box<dyn Operation>, form: WorkForm) -> Self {
        let mut new = Self { operation, form, initial: Map::new(), typed: BTreeMap::new() };
        new.initial = new.values();
        new
    }

    /// Returns the first paragraph of the operation's documentation.
    pub fn summary(&self) -> String {
        let lines = self.operation.page().lines().map(str::trim);
        lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the values of all options of the form, by name.
    pub fn values(&self) -> Map<String, Json> {
        let value = |option: &OptionSpec| Some((option.name.to_string(), self.operation.get(option.name)?));
        options_for(&*self.operation, self.form).iter().filter_map(value).collect()
    }

    /// Returns to the values with which the form was opened.
    pub fn reset(&mut self) {
        self.typed.clear();
        // Setting cannot fail, because these were the operation's own values.
        let _ = self.operation.set_all(&self.initial);
    }

    /// Returns the first problem: a text that is no value of its option.
    pub fn problem(&self) -> Option<String> {
        options_for(&*self.operation, self.form).iter().find_map(|option| self.text_problem(option))
    }

    /// Draws the form: a row per option.
    pub fn show(&mut self, ui: &mut Ui) {
        let declared = options_for(&*self.operation, self.form);
        Grid::new(("options of", self.operation.name())).num_columns(2).show(ui, |ui| {
            for option in &declared {
                self.draw_option(ui, option);
                ui.end_row();
                if let Some(problem) = self.text_problem(option) {
                    ui.label("");
                    ui.label(format_error(&problem));
                    ui.end_row();
                }
            }
        });
    }

    /// Draws one option: its title, a control for its kind, and its meaning as a tooltip.
    fn draw_option(&mut self, ui: &mut Ui, option: &OptionSpec) {
        let Some(value) = self.operation.get(option.name) else { return };
        let mut next = value.clone();
        let about = |ui: &mut Ui| describe_option(ui, option);
        let title = RichText::new(title_from_name(option.name));
        let title = if value == option.default { title } else { title.strong() };
        let label = ui.add(Label::new(title).sense(Sense::click())).on_hover_ui(about);
        // An option that needs another one has no effect while that one has its default.
        let has_effect = option.needs.is_none_or(|needed| self.is_changed(needed));
        ui.add_enabled_ui(has_effect, |ui| {
            ui.horizontal(|ui| self.draw_control(ui, option, &mut next).on_hover_ui(about));
        });
        if label.double_clicked() {
            self.typed.remove(option.name);
            next = option.default.clone();
        }
        if next != value {
            // Setting cannot fail, because the controls are made from the declaration and give only valid values.
            let _ = self.operation.set(option.name, &next);
        }
    }

    /// Draws the control of an option, and changes the value to the user's.
    fn draw_control(&mut self, ui: &mut Ui, option: &OptionSpec, value: &mut Json) -> Response {
        match (option.kind, option.arity) {
            (OptionKind::Switch, Arity::One) => {
                let mut is_on = value.as_bool().unwrap_or(false);
                let response = ui.checkbox(&mut is_on, "").accessible_name(option.name);
                *value = json!(is_on);
                response
            }
            (OptionKind::Choice(words), Arity::One | Arity::Optional) => {
                let words = words.iter().map(|(word, meaning)| (json!(word), *meaning));
                draw_choice(ui, option, value, words.collect())
            }
            (OptionKind::OneOf(numbers), Arity::One | Arity::Optional) => {
                draw_choice(ui, option, value, numbers.iter().map(|number| (json!(number), "")).collect())
            }
            (OptionKind::Number { .. } | OptionKind::Count { .. }, Arity::One) => draw_number(ui, option, value),
            (OptionKind::Number { .. } | OptionKind::Count { .. }, Arity::Optional) => {
                draw_optional(ui, option, value, draw_number)
            }
            (OptionKind::Cell | OptionKind::Numbers(_) | OptionKind::Size | OptionKind::Span { .. }, Arity::One) => {
                draw_numbers(ui, option, value)
            }
            (
                OptionKind::Cell | OptionKind::Numbers(_) | OptionKind::Size | OptionKind::Span { .. },
                Arity::Optional,
            ) => draw_optional(ui, option, value, draw_numbers),
            // All others are typed, as on a command line.
            _ => self.draw_text(ui, option, value),
        }
    }

    /// Draws a text field, whose text is parsed as on a command line. An invalid text stays until it is corrected, and
    /// the value stays as it was.
    fn draw_text(&mut self, ui: &mut Ui, option: &OptionSpec, value: &mut Json) -> Response {
        let mut text = self.typed.get(option.name).cloned().unwrap_or_else(|| value_to_text(option, value));
        let hint = if option.arity == Arity::Optional { AUTOMATIC.to_string() } else { option.value_name() };
        let edit = TextEdit::singleline(&mut text).desired_width(TEXT_WIDTH_POINTS).hint_text(hint);
        let response = ui.add(edit).accessible_name(option.name);
        let parsed = text_to_value(option, &text);
        if response.changed() {
            if let Ok(parsed) = parsed {
                *value = parsed;
            }
            self.typed.insert(option.name, text);
        } else if !response.has_focus() && parsed.is_ok() {
            // The value is shown in its usual form once the typing has ended.
            self.typed.remove(option.name);
        }
        response
    }

    /// Returns the reason why the text that is being typed for an option is no value of it.
    fn text_problem(&self, option: &OptionSpec) -> Option<String> {
        let text = self.typed.get(option.name)?;
        text_to_value(option, text).err().map(|problem| format!("{} = {text}: {problem}", option.name))
    }

    fn is_changed(&self, name: &str) -> bool {
        self.operation.changed_options().iter().any(|(option, _)| option.name == name)
    }
}

/// Describes an option: its meaning, the accepted values and the default.
fn describe_option(ui: &mut Ui, option: &OptionSpec) {
    let default = match option.arity {
        Arity::One => option.format_typed(&option.default),
        Arity::Optional => AUTOMATIC.to_string(),
        Arity::List => "none".to_string(),
    };
    ui.set_max_width(340.0);
    ui.label(option.meaning);
    ui.label(RichText::new(format!("{} · default {default}", option.allowed_text())).weak());
    ui.label(RichText::new("double-click the name to restore the default").weak());
}

/// Draws a list to choose one of these values from; each is paired with its meaning.
fn draw_choice(ui: &mut Ui, option: &OptionSpec, value: &mut Json, values: Vec<(Json, &str)>) -> Response {
    let before = value.clone();
    let text = if value.is_null() { AUTOMATIC.to_string() } else { option.format_typed(value) };
    let list = ComboBox::from_id_salt(option.name).selected_text(text).show_ui(ui, |ui| {
        if option.arity == Arity::Optional {
            ui.selectable_value(value, Json::Null, AUTOMATIC);
        }
        for (each, meaning) in values {
            let text = option.format_typed(&each);
            let label = ui.selectable_value(value, each, text);
            if !meaning.is_empty() {
                label.on_hover_text(meaning);
            }
        }
    });
    let mut response = list.response;
    if *value != before {
        response.mark_changed();
    }
    response.accessible_name(option.name)
}

/// Draws a check box for a value that may be left to the operation and, if it is not, the value's own control.
fn draw_optional(
    ui: &mut Ui,
    option: &OptionSpec,
    value: &mut Json,
    draw: fn(&mut Ui, &OptionSpec, &mut Json) -> Response,
) -> Response {
    let mut is_set = !value.is_null();
    let response = ui.checkbox(&mut is_set, "").accessible_name(option.name);
    match (is_set, value.is_null()) {
        (false, _) => {
            *value = Json::Null;
            ui.label(RichText::new(AUTOMATIC).weak());
            return response;
        }
        (true, true) => *value = choose_starting_value(option),
        (true, false) => {}
    }
    response.union(draw(ui, option, value))
}

/// Returns the value with which an option begins that is no longer left to the operation.
fn choose_starting_value(option: &OptionSpec) -> Json {
    match option.kind {
        OptionKind::Number { min, max } => json!(1f64.clamp(min, max)),
        OptionKind::Count { min, max } => json!(1u64.clamp(min, max)),
        OptionKind::Cell => json!([0, 0]),
        OptionKind::Size => json!(STARTING_SIZE),
        OptionKind::Span { min, max } => json!([min, max]),
        OptionKind::Numbers(names) => (0..names.len()).map(|number| number as f64).collect(),
        _ => Json::Null,
    }
}

/// Draws a number with its unit and within its limits.
fn draw_number(ui: &mut Ui, option: &OptionSpec, value: &mut Json) -> Response {
    let response = match option.kind {
        OptionKind::Number { min, max } => {
            let mut number = value.as_f64().unwrap_or(min);
            let response = draw_in_range(ui, option, &mut number, min..=max);
            *value = json!(number);
            response
        }
        OptionKind::Count { min, max } => {
            let mut number = value.as_u64().unwrap_or(min);
            let response = draw_in_range(ui, option, &mut number, min..=max);
            *value = json!(number);
            response
        }
        // Only numbers are drawn here.
        _ => ui.label(option.format_typed(value)),
    };
    // The name of an optional value is that of its check box.
    let name = if option.arity == Arity::One { option.name.to_string() } else { format!("{}: value", option.name) };
    response.accessible_name(name)
}

/// Draws a number as a slider, or as a field to drag or to type into if its limits are far apart.
fn draw_in_range<N: Numeric>(ui: &mut Ui, option: &OptionSpec, number: &mut N, limits: RangeInclusive<N>) -> Response {
    // A typed number may have another unit, as on a command line; the control limits it to its range.
    let parse = |text: &str| {
        let parsed = option.parse_text(text).ok().and_then(|value| value.as_f64());
        parsed.or_else(|| text.trim().parse().ok())
    };
    let (suffix, speed) = (unit_suffix(option.unit), drag_speed(number.to_f64()));
    if limits.end().to_f64() - limits.start().to_f64() <= MAX_SLIDER_RANGE {
        return ui.add(Slider::new(number, limits).suffix(suffix).custom_parser(parse));
    }
    ui.add(DragValue::new(number).range(limits).speed(speed).suffix(suffix).custom_parser(parse))
}

/// Returns the change of a number per point of a drag: 1 % of it, and a hundredth at least.
fn drag_speed(number: f64) -> f64 {
    (0.01 * number.abs()).max(0.01)
}

/// Draws several numbers with their names side by side.
fn draw_numbers(ui: &mut Ui, option: &OptionSpec, value: &mut Json) -> Response {
    let most = u64::from(u32::MAX);
    let names: &[&str] = match option.kind {
        OptionKind::Cell => &["row", "column"],
        OptionKind::Size => &["rows", "columns"],
        OptionKind::Span { .. } => &["first", "last"],
        OptionKind::Numbers(names) => names,
        // Only these kinds are drawn here.
        _ => &[],
    };
    let limits = match option.kind {
        OptionKind::Cell => Some(0..=most),
        OptionKind::Size => Some(1..=most),
        OptionKind::Span { min, max } => Some(u64::from(min)..=u64::from(max)),
        _ => None,
    };
    let mut numbers = value.as_array().cloned().unwrap_or_default();
    let mut all: Option<Response> = None;
    for (name, number) in names.iter().zip(&mut numbers) {
        let prefix = format!("{name} ");
        let response = match &limits {
            Some(limits) => {
                let mut whole = number.as_u64().unwrap_or(*limits.start());
                let response = ui.add(DragValue::new(&mut whole).range(limits.clone()).prefix(prefix));
                *number = json!(whole);
                response
            }
            None => {
                let mut real = number.as_f64().unwrap_or(0.0);
                let speed = drag_speed(real);
                let drag = DragValue::new(&mut real).speed(speed).max_decimals(6);
                let response = ui.add(drag.prefix(prefix).suffix(unit_suffix(option.unit)));
                *number = json!(real);
                response
            }
        };
        let response = response.accessible_name(format!("{}: {name}", option.name));
        all = Some(match all {
            Some(all) => all.union(response),
            None => response,
        });
    }
    if matches!(option.kind, OptionKind::Span { .. }) {
        // A span is in rising order, whichever of its ends was dragged beyond the other.
        numbers.sort_by_key(Json::as_u64);
    }
    *value = Json::Array(numbers);
    all.unwrap_or_else(|| ui.label(""))
}

/// Returns the unit as it follows a number.
fn unit_suffix(unit: &str) -> String {
    match unit {
        "1" => String::new(),
        "°" => unit.to_string(),
        unit => format!(" {unit}"),
    }
}

/// Returns a value as the text that [`text_to_value`] reads; empty for none.
fn value_to_text(option: &OptionSpec, value: &Json) -> String {
    let typed = |value: &Json| match (option.kind, value.as_array()) {
        // Infinite numbers are texts in JSON.
        (OptionKind::Limits(_), Some(limits)) if limits.iter().all(|limit| limit == "inf") => UNLIMITED.to_string(),
        _ => option.format_typed(value),
    };
    let separator = if matches!(option.kind, OptionKind::Text | OptionKind::Path) { ", " } else { " " };
    match (option.arity, value) {
        (_, Json::Null) => String::new(),
        (Arity::List, Json::Array(items)) => items.iter().map(typed).collect::<Vec<_>>().join(separator),
        (_, value) => typed(value),
    }
}

/// Parses a text as a value of an option: an empty one as none, the items of a list with commas between texts and
/// spaces between other values.
fn text_to_value(option: &OptionSpec, text: &str) -> Result<Json, String> {
    let items: Vec<&str> = match (option.arity, option.kind) {
        (Arity::Optional, _) if text.trim().is_empty() => return Ok(Json::Null),
        (Arity::One | Arity::Optional, _) => return option.parse_text(text),
        (Arity::List, OptionKind::Text | OptionKind::Path) => text.split(',').map(str::trim).collect(),
        (Arity::List, _) => text.split_whitespace().collect(),
    };
    items.into_iter().filter(|item| !item.is_empty()).map(|item| option.parse_text(item)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::declare::operation::find_option;
    use thalweg_export::{export_operations, find_operation};

    #[test]
    fn every_option_is_shown_as_text_that_it_accepts() {
        for operation in export_operations() {
            for option in operation.declared() {
                let text = value_to_text(&option, &option.default);
                assert_eq!(text_to_value(&option, &text), Ok(option.default.clone()), "{}", option.name);
                let starting = choose_starting_value(&option);
                if option.arity == Arity::Optional && !starting.is_null() {
                    option.check_value(&starting).unwrap();
                }
            }
        }
    }

    #[test]
    fn lists_and_limits_are_typed_as_they_are_shown() {
        let declared = find_operation("drain").unwrap().declared();
        let option = |name: &str| find_option(&declared, name).unwrap();
        assert_eq!(text_to_value(option("outlets"), "3,4  5,6"), Ok(json!([[3, 4], [5, 6]])));
        assert_eq!(value_to_text(option("outlets"), &json!([[3, 4], [5, 6]])), "3,4 5,6");
        assert!(text_to_value(option("outlets"), "3").unwrap_err().contains("ROW,COL"));
        assert_eq!(text_to_value(option("breach"), UNLIMITED), Ok(json!(true)));
        assert_eq!(value_to_text(option("breach"), &json!(["inf", "inf"])), UNLIMITED);
        let declared = find_operation("export").unwrap().declared();
        let layers = find_option(&declared, "layers").unwrap();
        assert_eq!(text_to_value(layers, "loose, soil,"), Ok(json!(["loose", "soil"])));
        assert_eq!(value_to_text(layers, &json!(["loose", "soil"])), "loose, soil");
    }

    #[test]
    fn a_form_returns_to_its_initial_values() {
        let mut operation = find_operation("export").unwrap();
        operation.set("name", &json!("valley")).unwrap();
        let mut form = OperationForm::new(operation, WorkForm::Folder);
        let before = form.values();
        assert!(form.summary().starts_with("Writes a terrain") && before["name"] == json!("valley"));
        form.operation.set("tiles", &json!("2x2")).unwrap();
        form.typed.insert("tiles", "2y".to_string());
        assert!(form.problem().unwrap().starts_with("tiles = 2y: must be"));
        assert!(form.values() != before);
        form.reset();
        assert_eq!((form.values(), form.problem()), (before, None));
    }
}
