//! [`Paint`]: the parameters of a terrain's colours.

use thalweg_render::pictures::light::Sun;
use thalweg_render::pictures::paint::SIDE_LIGHT_ANGLE_DEG;
use thalweg_render::pictures::ramps::{RAMPS, Ramp};

use crate::view::facts::SurfaceFacts;
use crate::view::look::Appearance;
use crate::view::surface::NO_WATER_LEVEL;

/// Half the width of the transition to snow, as a fraction of the range of heights.
const SNOW_BELT_FRACTION: f32 = 0.05;
/// A height that no terrain reaches.
const UNREACHED_HEIGHT_M: f32 = 1e9;

/// The parameters of the colours, as the shader reads them.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Paint {
    grid: [f32; 4],
    sun: [f32; 4],
    left: [f32; 4],
    right: [f32; 4],
    range: [f32; 4],
    snow: [f32; 4],
    shown: [f32; 4],
    rows: [f32; 4],
}

/// Returns the sea level for a look, or [`NO_WATER_LEVEL`] if no sea is shown.
pub(super) fn resolve_sea_level(look: &Appearance, facts: &SurfaceFacts) -> f32 {
    let level = look.sea_level.or(facts.sea).filter(|level| level.is_finite() && look.water);
    level.unwrap_or(NO_WATER_LEVEL)
}

/// Returns the row of a ramp in the texture of ramps.
fn find_ramp_row(ramp: &Ramp) -> f32 {
    RAMPS.iter().position(|known| *known == ramp).unwrap_or(0) as f32
}

impl Paint {
    pub fn new(look: &Appearance, facts: &SurfaceFacts, size: [usize; 2]) -> Self {
        let on = |yes: bool| f32::from(u8::from(yes));
        let share = |x: f32| if x > 0.0 { x.min(1.0) } else { 0.0 };
        // As in the library's maps, two weaker lights from both sides of the sun show slopes that are parallel to its
        // rays.
        let aside = |degrees: f64| Sun { azimuth: look.sun.azimuth + degrees, ..look.sun }.direction();
        let sound = |x: f32| if x.is_finite() { x } else { 1.0 };
        let sea = resolve_sea_level(look, facts);
        // The surface's depth applies to its own sea level; at another one, the darkest blue is reached at 90 % of the
        // greatest depth.
        let deepest = if Some(sea) == facts.sea { facts.deepest } else { (0.9 * (sea - facts.extremes[0])).max(1.0) };
        let with = |[a, b, c]: [f32; 3], d: f32| [a, b, c, d];
        let steep = (facts.relief_light * sound(look.exaggeration)).clamp(1e-3, 1e3);
        // The sun must not be below the horizon in the flat light.
        let sun = look.sun.direction().map(sound);
        let sun = [sun[0], sun[1], sun[2].max(0.02)];
        Self {
            grid: [size[1] as f32, size[0] as f32, facts.sides[1], facts.sides[0]],
            sun: with(sun, steep),
            left: with(aside(-SIDE_LIGHT_ANGLE_DEG).map(sound), on(look.shadows)),
            right: with(aside(SIDE_LIGHT_ANGLE_DEG).map(sound), on(look.rock)),
            range: [facts.range[0], facts.range[1], sea, deepest],
            snow: [
                look.snow_line.map_or(UNREACHED_HEIGHT_M, sound),
                // A belt of at least 0.5 m keeps the transition defined on flat terrain.
                (SNOW_BELT_FRACTION * (facts.range[1] - facts.range[0])).max(0.5),
                share(look.tint),
                share(look.overlay) * on(facts.has_data),
            ],
            shown: [on(look.streams), on(look.sediment), on(look.trees), on(look.water)],
            rows: [find_ramp_row(look.ramp), find_ramp_row(Ramp::sea()), on(facts.natural), 0.0],
        }
    }
}
