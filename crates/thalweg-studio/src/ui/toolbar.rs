//! The toolbar, a single row at the top: preset, seed, play, age, rain, rock, export. Everything else is in menus.

use eframe::egui::{self, Button, ComboBox, DragValue, Image, RichText, ScrollArea, Slider, Ui, vec2};
use thalweg_export::export::TARGETS;
use thalweg_models::rocks::ROCKS;
use thalweg_sim::knobs::{self, FACTOR};
use thalweg_sim::recipe::Recipe;

use crate::options::PresetCard;
use crate::platform::{self, DialogQuestion};
use crate::run_export::RunExport;
use crate::ui::NARROW_ROW_POINTS;

/// A user action in the toolbar.
pub enum ToolbarAct {
    /// Start another recipe.
    Preset(usize),
    /// The recipe was changed.
    Changed,
    /// Play or pause.
    Play(bool),
    /// Ask for a file or folder.
    Ask(DialogQuestion),
    /// Save the recipe to its file.
    Save,
    /// Go back in the recipe's history.
    Undo,
    /// Go forward in the recipe's history.
    Redo,
    /// Save a picture of the view, enlarged by this factor.
    Picture(u32),
    /// Stop writing frames.
    StopFrames,
    /// Copy the command line that builds this world to the clipboard.
    CopyCommand,
    /// Copy the address that opens this world in a page to the clipboard.
    CopyLink,
    /// Give these files to the page's user.
    Give(RunExport),
    /// Choose the options of this export.
    Configure(RunExport),
    /// Show or hide the list of keys.
    Keys,
}

/// The knobs that scale many parameters at once, and the recipe before they were applied.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolbarKnobs {
    /// The positions of the knobs.
    at: knobs::Knobs,
    /// The recipe before the knobs were applied.
    base: String,
    /// The recipe after the knobs were applied. If the current recipe differs, it was changed elsewhere and becomes
    /// the new base.
    turned: String,
}

impl ToolbarKnobs {
    /// Resets the knobs if the recipe was changed elsewhere.
    fn sync_with_recipe(&mut self, recipe: &Recipe) {
        let now = recipe.to_toml();
        // The comparison of texts detects every change, whether by a panel, a tool or undo.
        if now != self.turned {
            *self = Self { base: now.clone(), turned: now, ..Self::default() };
        }
    }

    /// Sets the recipe to the base with the knobs applied.
    fn apply_to_recipe(&mut self, recipe: &mut Recipe) {
        // The knobs start from the base every time, so turning one back restores the recipe exactly.
        let Ok(mut base) = Recipe::parse(&self.base) else { return };
        // A knob outside its range changes nothing; the sliders cannot reach such a position.
        if self.at.apply_to(&mut base).is_ok() {
            base.folder.clone_from(&recipe.folder);
            *recipe = base;
            self.turned = recipe.to_toml();
        }
    }
}

/// The data that the toolbar shows in addition to the recipe.
pub struct ToolbarState<'a> {
    /// The presets.
    pub presets: &'a [PresetCard],
    /// Their thumbnails.
    pub thumbnails: &'a [Option<egui::TextureHandle>],
    /// True if the run is playing.
    pub playing: bool,
    /// True if there is something to undo, and to redo.
    pub undo: [bool; 2],
    /// True if this is a page, where files are given to the user one by one.
    pub page: bool,
}

/// Draws the toolbar, and returns the user's action.
pub fn draw_toolbar(
    ui: &mut Ui,
    recipe: &mut Recipe,
    knobs: &mut ToolbarKnobs,
    shown: &ToolbarState<'_>,
) -> Option<ToolbarAct> {
    let mut wish = None;
    // A narrow window has one row that scrolls sideways by touch, so it is not wrapped.
    let is_narrow = ui.ctx().content_rect().width() <= NARROW_ROW_POINTS;
    let draw = |ui: &mut Ui| {
        ui.menu_button(RichText::new(&recipe.name).strong(), |ui| wish = draw_presets(ui, shown))
            .response
            .on_hover_text("Presets and files");
        ui.separator();
        ui.label("Seed");
        // The control edits signed numbers; the cast keeps all 64 bits in both directions.
        let mut seed = recipe.seed as i64;
        let mut reseeded = ui.add(DragValue::new(&mut seed).speed(0.1)).accessible_name("seed").changed();
        if ui.button("Dice").on_hover_text("Another world of this kind").clicked() {
            seed = platform::generate_number() as i64;
            reseeded = true;
        }
        if reseeded {
            recipe.seed = seed as u64;
            wish = Some(ToolbarAct::Changed);
        }
        ui.separator();
        let play = if shown.playing { RichText::new("Pause") } else { RichText::new("Play").strong() };
        if ui.add(Button::new(play).min_size(vec2(56.0, 0.0))).on_hover_text("P").clicked() {
            wish = Some(ToolbarAct::Play(!shown.playing));
        }
        ui.separator();
        knobs.sync_with_recipe(recipe);
        let before = knobs.at.clone();
        draw_knob(
            ui,
            "Age",
            &mut knobs.at.age,
            "The duration of all erosion: a factor on years, durations and numbers of droplets.",
        );
        draw_knob(ui, "Rain", &mut knobs.at.rain, "The amount of rain: a factor on the rain of all stages.");
        draw_rock_choice(ui, recipe.rock.name, &mut knobs.at);
        if knobs.at != before {
            knobs.apply_to_recipe(recipe);
            wish = Some(ToolbarAct::Changed);
        }
        ui.separator();
        ui.menu_button("Export", |ui| {
            if shown.page { draw_page_export_menu(ui, &mut wish) } else { draw_export_menu(ui, &mut wish) }
        });
        ui.separator();
        let [undo, redo] = shown.undo;
        if ui.add_enabled(undo, Button::new("Undo")).on_hover_text("Ctrl+Z").clicked() {
            wish = Some(ToolbarAct::Undo);
        }
        if ui.add_enabled(redo, Button::new("Redo")).on_hover_text("Ctrl+Shift+Z, Ctrl+Y").clicked() {
            wish = Some(ToolbarAct::Redo);
        }
        if ui.button("Keys").on_hover_text("F1").clicked() {
            wish = Some(ToolbarAct::Keys);
        }
    };
    if is_narrow {
        ui.horizontal(draw);
    } else {
        ui.horizontal_wrapped(draw);
    }
    wish
}

fn draw_knob(ui: &mut Ui, name: &str, value: &mut f64, about: &str) {
    ui.label(name);
    let slider = Slider::new(value, FACTOR).logarithmic(true).max_decimals(2).prefix("×");
    ui.spacing_mut().slider_width = 90.0;
    let rect = ui.add(slider).accessible_name(name).on_hover_text(about).rect;
    // The rectangle is stored for place_of.
    ui.data_mut(|data| data.insert_temp(egui::Id::unique(name), rect));
}

/// Returns where the slider of a knob was drawn last, for browser tests, which cannot see it.
pub fn slider_rect(ctx: &egui::Context, name: &'static str) -> Option<egui::Rect> {
    ctx.data(|data| data.get_temp(egui::Id::unique(name)))
}

/// Draws the choice of the terrain's rock.
fn draw_rock_choice(ui: &mut Ui, now: &str, at: &mut knobs::Knobs) {
    ui.label("Rock");
    let list = ComboBox::from_id_salt("rock").selected_text(now).show_ui(ui, |ui| {
        for rock in &ROCKS {
            if ui.selectable_label(rock.name == now, rock.name).on_hover_text(rock.about).clicked() {
                at.rock = Some(rock);
            }
        }
    });
    let about = "The rock of the land, which determines its erodibility and its steepest slopes.";
    list.response.accessible_name("Rock").on_hover_text(about);
}

fn draw_presets(ui: &mut Ui, shown: &ToolbarState<'_>) -> Option<ToolbarAct> {
    let mut wish = None;
    ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
        egui::Grid::new("presets").num_columns(2).show(ui, |ui| {
            for (number, preset) in shown.presets.iter().enumerate() {
                let chosen = match shown.thumbnails.get(number).and_then(Option::as_ref) {
                    Some(texture) => ui
                        .add(Button::image_and_text(
                            Image::new(texture).fit_to_exact_size(vec2(120.0, 68.0)),
                            preset.name,
                        ))
                        .on_hover_text(preset.name),
                    None => ui.button(preset.name),
                };
                if chosen.clicked() {
                    wish = Some(ToolbarAct::Preset(number));
                    ui.close();
                }
                if number % 2 == 1 {
                    ui.end_row();
                }
            }
        });
    });
    ui.separator();
    let open = ["Open a recipe or an elevation model …   Ctrl+O", ""];
    draw_menu_item(ui, &mut wish, open, ToolbarAct::Ask(DialogQuestion::Open));
    draw_menu_item(ui, &mut wish, ["Save the recipe   Ctrl+S", ""], ToolbarAct::Save);
    if !shown.page {
        draw_menu_item(ui, &mut wish, ["Save the recipe as …", ""], ToolbarAct::Ask(DialogQuestion::Save));
    }
    wish
}

/// Draws a menu item, which triggers the action `then`.
fn draw_menu_item(ui: &mut Ui, wish: &mut Option<ToolbarAct>, [text, about]: [&str; 2], then: ToolbarAct) {
    let mut line = ui.button(text);
    if !about.is_empty() {
        line = line.on_hover_text(about);
    }
    if line.clicked() {
        *wish = Some(then);
        ui.close();
    }
}

/// Draws the export menu of a window, which writes into folders.
fn draw_export_menu(ui: &mut Ui, wish: &mut Option<ToolbarAct>) {
    let about = "Heights, layers, map, recipe and report, as `thalweg build` writes them";
    let ask = ToolbarAct::Ask(DialogQuestion::Export(RunExport::World));
    draw_menu_item(ui, wish, ["All layers …", about], ask);
    ui.menu_button("For a program", |ui| draw_program_items(ui, wish));
    let about = "Flow directions, basins, lakes and streams of the land, as `thalweg drain` writes them";
    draw_menu_item(ui, wish, ["Drainage …", about], ToolbarAct::Configure(RunExport::Drainage));
    draw_picture_items(ui, wish, &[1, 2, 4]);
    draw_menu_item(
        ui,
        wish,
        ["Turntable …", "120 frames of one turn around the land, as PNG"],
        ToolbarAct::Ask(DialogQuestion::Turntable),
    );
    let about = "A frame after each change of the land, until the run is done";
    draw_menu_item(ui, wish, ["Time-lapse …", about], ToolbarAct::Ask(DialogQuestion::TimeLapse));
    draw_menu_item(ui, wish, ["Stop writing frames", ""], ToolbarAct::StopFrames);
    draw_menu_item(ui, wish, ["Copy command line", "The command that builds this world"], ToolbarAct::CopyCommand);
}

/// Draws the export menu of a page, which gives files to its user.
fn draw_page_export_menu(ui: &mut Ui, wish: &mut Option<ToolbarAct>) {
    let about = "Metres, as `thalweg build` writes them";
    draw_menu_item(ui, wish, ["Heights as GeoTIFF", about], ToolbarAct::Give(RunExport::Heights));
    let about = "Heights, layers, rivers, lakes, trees, map, recipe and report, as `thalweg build` writes them";
    draw_menu_item(ui, wish, ["All layers, as ZIP", about], ToolbarAct::Give(RunExport::World));
    ui.menu_button("For a program, as ZIP", |ui| draw_program_items(ui, wish));
    draw_menu_item(ui, wish, ["Recipe", "The text from which this world is built"], ToolbarAct::Save);
    draw_picture_items(ui, wish, &[1, 2]);
    draw_menu_item(ui, wish, ["Copy link", "An address that opens this world"], ToolbarAct::CopyLink);
}

/// Draws the items for programs for which files can be written.
fn draw_program_items(ui: &mut Ui, wish: &mut Option<ToolbarAct>) {
    for target in &TARGETS {
        let configure = ToolbarAct::Configure(RunExport::For(target));
        draw_menu_item(ui, wish, [target.about, "As `thalweg export` writes it"], configure);
    }
}

fn draw_picture_items(ui: &mut Ui, wish: &mut Option<ToolbarAct>, sizes: &[u32]) {
    for times in sizes {
        let text = if *times == 1 { "Picture   S".to_string() } else { format!("Picture, {times}× as large") };
        draw_menu_item(ui, wish, [&text, "The current view, as PNG"], ToolbarAct::Picture(*times));
    }
}

#[cfg(test)]
mod tests {
    use thalweg_core::declare::params::Value;
    use thalweg_models::rocks::Rock;

    use super::*;

    #[test]
    fn knobs_turn_what_they_say_and_back() {
        let text = "extent = [1000.0, 1000.0]\n\
                    [[stage]]\nmodel = \"stream_power\"\nyears = 2e6\n[[stage]]\nmodel = \"hydrology\"\n";
        let mut recipe = Recipe::parse(text).unwrap();
        recipe.folder = "somewhere".into();
        let plain = recipe.to_toml();
        let mut knobs = ToolbarKnobs::default();
        for (age, years) in [(2.0, 4e6), (0.1, 2e5), (1.0, 2e6)] {
            knobs.sync_with_recipe(&recipe);
            knobs.at.age = age;
            knobs.apply_to_recipe(&mut recipe);
            assert_eq!(recipe.stages[0].model.get("years"), Some(Value::Number(years)));
        }
        assert_eq!(recipe.to_toml(), plain);
        for rock in ["shale", "granite"] {
            knobs.sync_with_recipe(&recipe);
            knobs.at.rock = Some(Rock::find(rock).unwrap());
            knobs.apply_to_recipe(&mut recipe);
            assert_eq!(recipe.rock.name, rock);
        }
        // Turning back restores the recipe exactly, because the knobs are always applied to the base.
        assert_eq!((recipe.to_toml(), recipe.folder.to_str()), (plain.clone(), Some("somewhere")));
        knobs.at.rain = 3.0;
        knobs.apply_to_recipe(&mut recipe);
        assert_ne!(recipe.to_toml(), plain);
        // If the recipe was changed elsewhere, the knobs start from there.
        recipe.seed = 9;
        knobs.sync_with_recipe(&recipe);
        assert_eq!(knobs.at, knobs::Knobs::default());
    }
}
