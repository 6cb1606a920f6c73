//! Style files for maps: a file `NAME.qml` next to each map, which QGIS loads automatically.
//!
//! A minimal file in QGIS's own format (QGIS Project, Documentation: QGIS File Formats, QML) that specifies the
//! colours.

use std::fmt::Write;

use thalweg_render::pictures::ramps::Ramp;

/// The number of stops of a colour ramp.
const STOPS: usize = 12;

/// Returns the style of a map of real numbers, from the lowest to the highest.
pub(super) fn style_values(ramp: &Ramp, [low, high]: [f64; 2], unit: &str) -> String {
    let mut items = String::new();
    for k in 0..STOPS {
        let t = k as f64 / (STOPS - 1) as f64;
        let value = low + t * (high - low);
        let _ = writeln!(
            items,
            "        <item value=\"{value}\" label=\"{value:.4} {}\" color=\"{}\" alpha=\"255\"/>",
            escape_xml(unit),
            format_hex(ramp.rgb_at(t as f32))
        );
    }
    style_document(&format!(
        "    <rasterrenderer type=\"singlebandpseudocolor\" band=\"1\" opacity=\"1\" classificationMin=\"{low}\" classificationMax=\"{high}\">\n      \
         <rastershader><colorrampshader colorRampType=\"INTERPOLATED\" classificationMode=\"1\" clip=\"0\">\n{items}      \
         </colorrampshader></rastershader>\n    </rasterrenderer>\n"
    ))
}

/// Returns the style of a map of classes, with one colour per class.
pub(super) fn style_classes(codes: &[i64]) -> String {
    let mut items = String::new();
    for code in codes {
        let colour = format_hex(class_colour(*code));
        let _ = writeln!(
            items,
            "        <paletteEntry value=\"{code}\" label=\"{code}\" color=\"{colour}\" alpha=\"255\"/>"
        );
    }
    style_document(&format!(
        "    <rasterrenderer type=\"paletted\" band=\"1\" opacity=\"1\">\n      <colorPalette>\n{items}      </colorPalette>\n    \
         </rasterrenderer>\n"
    ))
}

fn style_document(renderer: &str) -> String {
    format!(
        "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n<qgis version=\"3.22\">\n  <pipe>\n{renderer}  </pipe>\n</qgis>\n"
    )
}

/// Escapes text for XML.
fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn format_hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Returns the colour of a class. Hues are a golden angle apart, so that classes with adjacent numbers differ.
fn class_colour(code: i64) -> [u8; 3] {
    const GOLDEN: f64 = 0.381_966;
    let hue = (code as f64 * GOLDEN).rem_euclid(1.0);
    [0.0, 1.0 / 3.0, 2.0 / 3.0].map(|of| {
        let wave = 0.5 + 0.5 * libm::cos(std::f64::consts::TAU * (hue + of));
        // Channels of 70 to 230 keep colours away from black and white.
        (70.0 + 160.0 * wave) as u8
    })
}
