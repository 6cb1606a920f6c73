//! Fonts and thumbnails of the window.

use std::sync::Arc;

use eframe::egui::{self, Context};
use thalweg_render::pictures::picture::Picture;

use crate::options::PresetCard;

/// Returns the window's fonts, with a fallback font that has mathematical symbols.
pub(super) fn load_fonts() -> egui::FontDefinitions {
    let mut fonts = egui::FontDefinitions::default();
    let signs = egui::FontData::from_static(dejavu::sans::regular());
    fonts.font_data.insert("signs".to_string(), Arc::new(signs));
    for family in fonts.families.values_mut() {
        // The font is the last of each family, so it supplies only glyphs that the others lack.
        family.push("signs".to_string());
    }
    fonts
}

/// Loads the thumbnail of a preset; `None` if it has none.
pub(super) fn load_thumbnail(ctx: &Context, preset: &PresetCard) -> Option<egui::TextureHandle> {
    let picture = Picture::decode_png(std::io::Cursor::new(preset.thumbnail)).ok()?;
    let [rows, columns] = picture.size();
    let pixels: Vec<u8> = picture.rgb.as_slice().iter().flatten().copied().collect();
    let image = egui::ColorImage::from_rgb([columns, rows], &pixels);
    Some(ctx.load_texture(preset.name, image, egui::TextureOptions::LINEAR))
}
