//! Draws a layer of a world, or a layer derived from others.

use thalweg_core::terrain::{Hue, MOMENTUM_X, MOMENTUM_Y, SEDIMENT, WETNESS};
use thalweg_core::{Error, Result, Terrain};
use thalweg_render::pictures::layer::{LayerOptions, draw_values};
use thalweg_render::pictures::momentum::{MOMENTUM, draw_momentum};
use thalweg_render::pictures::picture::Picture;
use thalweg_render::products::wetness::{WetnessRules, compute_wetness};

/// Draws a layer over grey relief: a layer of the terrain, `sediment`, `momentum` (both of its components), or
/// `wetness`, which is computed if the terrain does not have it. `max_size` limits the map's longer side in pixels;
/// with `None` a pixel is a cell.
///
/// # Errors
/// Returns an error if there is no such layer, or if its values cannot be drawn.
pub fn draw_layer(terrain: &Terrain, name: &str, scale_bar: bool, max_size: Option<usize>) -> Result<Picture> {
    let name = terrain.resolve_layer_name(name);
    let shown = |hue, unit| LayerOptions { title: name, scale_bar, max_size, ..LayerOptions::from_hue(hue, unit) };
    if name == MOMENTUM {
        let parts = [MOMENTUM_X, MOMENTUM_Y].map(|spec| terrain.float_layer(&spec).ok_or(spec));
        let [Ok(east), Ok(south)] = parts else { return Err(unknown_layer(terrain, name)) };
        return draw_momentum(terrain, east, south, &shown(Hue::Plain, MOMENTUM_X.unit));
    }
    if name == WETNESS.name && !terrain.layers.contains_key(name) {
        return draw_values(
            terrain,
            &compute_wetness(terrain, &WetnessRules::default())?,
            &shown(WETNESS.traits.hue, WETNESS.unit),
        );
    }
    let loose = terrain.loose.as_ref().filter(|_| name == SEDIMENT.name);
    match (loose, terrain.layers.get(name)) {
        (Some(loose), _) => {
            draw_values(terrain, &loose.map(|h| h.metres_f32()), &shown(SEDIMENT.traits.hue, SEDIMENT.unit))
        }
        (None, Some(drawn)) => draw_values(terrain, &drawn.cells.to_float(), &shown(drawn.traits.hue, &drawn.unit)),
        (None, None) => Err(unknown_layer(terrain, name)),
    }
}

fn unknown_layer(terrain: &Terrain, name: &str) -> Error {
    let loose = terrain.loose.as_ref().map(|_| SEDIMENT.name);
    let known = terrain.layers.keys().map(String::as_str).chain(loose).chain([WETNESS.name]);
    Error::unknown_name("layer", name, known)
}
