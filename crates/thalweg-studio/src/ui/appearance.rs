//! The appearance panel: overlay, comparison with the terrain before erosion, sun and heights.

use eframe::egui::{ComboBox, DragValue, RichText, ScrollArea, Slider, Ui};

use crate::view::look::Appearance;
use thalweg_render::products::overlay::Overlay;

/// How the terrain before erosion is compared with the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareMode {
    /// No comparison, except while the B key is held.
    Off,
    /// On the left and right of a line that can be dragged.
    Swipe,
    /// Side by side under one camera.
    Beside,
}

thalweg_core::with_defaults! {
    /// The settings of the view.
    pub struct Settings {
        /// What the renderer draws.
        pub look: Appearance = Appearance::default(),
        /// Factor on heights; `None` chooses one that suits the terrain.
        pub exaggeration: Option<f32> = None,
        /// The layer that is drawn over the ground.
        pub overlay: Option<Overlay> = None,
        /// True for natural colours of the ground where no layer is drawn over it; false for colours by height.
        pub natural: bool = false,
        /// How the terrain before erosion is shown for comparison.
        pub compare: CompareMode = CompareMode::Off,
        /// Position of the dividing line of [`CompareMode::Swipe`], 0 to 1.
        pub swipe: f32 = 0.5,
        /// True if moving droplets are drawn.
        pub droplets: bool = true,
    }
}

/// A user action in the panel.
pub enum AppearanceAct {
    /// Update the view to the current terrain now.
    Update,
    /// Take the ground from a file.
    Ground,
    /// Frame the terrain.
    Frame,
}

/// Draws the panel; `fits` is the exaggeration that suits the terrain, `overlays` the available overlays.
pub fn draw_panel(ui: &mut Ui, settings: &mut Settings, overlays: &[Overlay], fits: f32) -> Option<AppearanceAct> {
    let mut wish = None;
    ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        ui.label(RichText::new("Colours").strong());
        ui.horizontal(|ui| {
            for (natural, title, about) in [
                (false, "by height", "A tint by height, as on a map"),
                (true, "natural", "The ground cover: rock, scree, soil, grass, woods, sand, snow"),
            ] {
                ui.selectable_value(&mut settings.natural, natural, title).on_hover_text(about);
            }
        });
        ui.add_space(8.0);
        ui.label(RichText::new("Overlay").strong());
        let title = settings.overlay.as_ref().map_or("none".to_string(), Overlay::title);
        ComboBox::from_id_salt("overlay")
            .selected_text(title)
            .width(190.0)
            .height(420.0)
            .show_ui(ui, |ui| {
                ui.selectable_value(&mut settings.overlay, None, "none");
                for overlay in overlays {
                    ui.selectable_value(&mut settings.overlay, Some(overlay.clone()), overlay.title());
                }
            })
            .response
            .accessible_name("overlay");
        ui.add_space(8.0);
        ui.label(RichText::new("Compare with the start").strong());
        ui.horizontal(|ui| {
            for (compare, title, about) in [
                (CompareMode::Off, "off", "Hold B to show the land before erosion"),
                (CompareMode::Swipe, "swipe", "The land before erosion, to the left of a line that can be dragged"),
                (CompareMode::Beside, "side by side", "The land before erosion and now, under one camera"),
            ] {
                ui.selectable_value(&mut settings.compare, compare, title).on_hover_text(about);
            }
        });
        ui.add_space(8.0);
        ui.label(RichText::new("Visible").strong());
        let look = &mut settings.look;
        for (on, title) in [
            (&mut look.water, "lakes and sea"),
            (&mut look.streams, "streams"),
            (&mut look.trees, "trees"),
            (&mut look.sediment, "sediment"),
            (&mut look.shadows, "shadows"),
            (&mut settings.droplets, "moving droplets"),
        ] {
            ui.checkbox(on, title);
        }
        edit_optional(ui, "snow above", &mut look.snow_line, 2000.0, -500.0..=9000.0, " m");
        edit_optional(ui, "sea level", &mut look.sea_level, 0.0, -12_000.0..=9000.0, " m");
        ui.add_space(8.0);
        ui.label(RichText::new("Heights").strong());
        edit_optional(ui, "exaggeration", &mut settings.exaggeration, fits, 0.05..=50.0, "×");
        ui.add_space(8.0);
        ui.label(RichText::new("Sun").strong());
        ui.add(Slider::new(&mut look.sun.azimuth, 0.0..=360.0).max_decimals(0).suffix("°").text("azimuth"))
            .on_hover_text("Degrees clockwise from north; Shift + drag also moves the sun");
        ui.add(Slider::new(&mut look.sun.altitude, 5.0..=90.0).max_decimals(0).suffix("°").text("altitude"));
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            if ui.button("Frame").on_hover_text("Home").clicked() {
                wish = Some(AppearanceAct::Frame);
            }
            if ui.button("Update").on_hover_text("Updates the view to the current terrain").clicked() {
                wish = Some(AppearanceAct::Update);
            }
            if ui.button("From a file …").on_hover_text("Uses the ground of an elevation model").clicked() {
                wish = Some(AppearanceAct::Ground);
            }
        });
    });
    wish
}

/// Edits a value that may be left to the program.
fn edit_optional(
    ui: &mut Ui,
    title: &str,
    value: &mut Option<f32>,
    usual: f32,
    range: std::ops::RangeInclusive<f32>,
    suffix: &str,
) {
    ui.horizontal(|ui| {
        let mut on = value.is_some();
        ui.checkbox(&mut on, title);
        let mut number = value.unwrap_or(usual);
        // A drag changes the value by 1 % of its usual size per point.
        let speed = (usual.abs() * 0.01).max(0.01);
        let drag = DragValue::new(&mut number)
            .range(range)
            .clamp_existing_to_range(false)
            .speed(speed)
            .max_decimals(2)
            .suffix(suffix);
        ui.add_enabled(on, drag).accessible_name(format!("{title}: value"));
        *value = on.then_some(number);
    });
}
