//! Pictures of water momentum: the hue shows the flow direction, the opacity the amount.

use crate::pictures::colour::{Linear, from_oklab, mix_colours, to_srgb};
use crate::pictures::furniture::{self, INK, Legend};
use crate::pictures::layer::{COVER, GREY, LayerOptions, choose_value_range};
use crate::pictures::light::Sun;
use crate::pictures::paint::Painter;
use crate::pictures::picture::Picture;
use crate::pictures::relief::Relief;
use crate::pictures::shade::{choose_brush, hatch_colour};
use crate::pictures::text::{Letters, draw_text};
use thalweg_core::terrain::{MOMENTUM_X, MOMENTUM_Y};
use thalweg_core::{Cell, CellRect, Error, Field, Result, Terrain};

/// The name under which both components together are requested as a layer.
pub const MOMENTUM: &str = "momentum";

/// The lightness and chroma of the colour wheel in OKLab: as strong as a screen allows for every hue.
const WHEEL: [f64; 2] = [0.68, 0.125];
/// The radius of the legend's wheel in pixels.
const RADIUS: usize = 17;

/// Returns the colour of a direction, given by `east` and `south` (in any common unit, not both 0): red for east,
/// yellow-green for south, cyan for west, violet for north.
pub fn direction_colour(east: f32, south: f32) -> Linear {
    // Red is at 29° on OKLab's wheel.
    let turn = libm::atan2f(south, east) + 0.51;
    let (a, b) = (f64::from(libm::cosf(turn)), f64::from(libm::sinf(turn)));
    from_oklab([WHEEL[0], WHEEL[1] * a, WHEEL[1] * b]).map(|x| x.clamp(0.0, 1.0))
}

/// Draws the direction of the flow with components `east` and `south`, per cell and in `options.unit`, as hues over
/// the grey relief. Opacity increases with the logarithm of the amount between the ends of `options.range` (by
/// default those of a layer with `log`). The legend is a wheel with north up. `ramp` and `log` are ignored.
///
/// # Errors
/// Returns an error if the size of a component differs from the terrain's, or if the range is empty or not above 0.
pub fn draw_momentum(
    terrain: &Terrain,
    east: &Field<f32>,
    south: &Field<f32>,
    options: &LayerOptions<'_>,
) -> Result<Picture> {
    let [rows, cols] = terrain.ground.size();
    for (part, [r, c]) in [(MOMENTUM_X, east.size()), (MOMENTUM_Y, south.size())] {
        if [r, c] != [rows, cols] {
            let problem = format!("is {c} × {r} cells (columns × rows); the terrain is {cols} × {rows}");
            return Err(Error::invalid_layer(part.name, problem));
        }
    }
    let amount = |i: usize, j: usize| {
        let (x, y) = (east[(i, j)], south[(i, j)]);
        (x * x + y * y).sqrt()
    };
    let relief = Relief::new(terrain, None)?;
    let [low, high] =
        options.range.unwrap_or_else(|| choose_value_range(&relief, &Field::from_fn([rows, cols], amount), true));
    if !(low > 0.0 && low < high && high.is_finite()) {
        return Err(Error::invalid_value("range", format!("{low} to {high}"), "two numbers above 0 in rising order"));
    }
    let (from, to) = (libm::logf(low), libm::logf(high));
    let painter = Painter::new(&relief, choose_brush(&relief, options.ramp, Sun::default(), None, None)?);
    let rgb = Field::from_fn([rows, cols], |i, j| {
        if relief.is_hole(i, j) {
            return hatch_colour(i, j, 4);
        }
        let (light, amount) = (painter.light_cell(i, j), amount(i, j));
        // NaN counts as not above the low end.
        let colour = match amount > low {
            // Equal factors of the amount increase the opacity by equal steps.
            true => {
                let cover = COVER * ((libm::logf(amount) - from) / (to - from)).min(1.0);
                mix_colours([GREY; 3], direction_colour(east[(i, j)], south[(i, j)]), cover)
            }
            false => [GREY; 3],
        };
        to_srgb(std::array::from_fn(|c| colour[c] * light[c]))
    });
    let map = Picture { rgb };
    let map = map.fit_within(options.max_size.unwrap_or(0));
    let scale = options.scale_bar.then_some(terrain.grid.cell * cols as f64 / map.rgb.cols() as f64);
    if !options.legend {
        return Ok(furniture::add_scale_and_legend(map, scale, None));
    }
    let ends = Legend { ramp: options.ramp, low: low.into(), high: high.into(), unit: options.unit, log: true };
    Ok(add_direction_wheel(map, scale, &furniture::format_legend_ends(&ends).join(" to ")))
}

/// Returns the map with a wheel of directions below it, strongest at its rim, and the ends of the range next to it.
fn add_direction_wheel(map: Picture, scale: Option<f64>, words: &str) -> Picture {
    let rows = map.rgb.rows();
    let gap = 8;
    // The strip contains the text, the wheel with a letter N, and three gaps.
    let wide = Letters::Small.width(words) + 2 * RADIUS + 1 + 3 * gap + Letters::Small.width("N");
    let (mut all, Cell { col: left, .. }) = furniture::add_strip(map, scale, wide);
    let (middle, centre) = (rows + furniture::HEIGHT / 2, left + wide - gap - RADIUS);
    for i in middle - RADIUS..=middle + RADIUS {
        for j in centre - RADIUS..=centre + RADIUS {
            let (south, east) = (i as f32 - middle as f32, j as f32 - centre as f32);
            // The middle of the wheel has no direction, so it remains paper.
            let out = (south * south + east * east).sqrt() / RADIUS as f32;
            if out > 0.0 && out <= 1.0 {
                all.rgb[(i, j)] = to_srgb(mix_colours([GREY; 3], direction_colour(east, south), COVER * out));
            }
        }
    }
    let line = |size: usize| middle - size / 2;
    draw_text(&mut all, [line(Letters::Small.height()), left], words, Letters::Small, INK);
    let north = Cell::new(rows + 2, centre - RADIUS - Letters::Small.width("N"));
    draw_text(&mut all, north, "N", Letters::Small, INK);
    // A short mark above the wheel points north.
    all.fill(CellRect::new([middle - RADIUS - 3, centre], [4, 1]), INK);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Grid;
    use thalweg_core::terrain::Hue;

    fn flat() -> Terrain {
        Terrain::new(Grid::new([8, 60], 10.0).unwrap())
    }

    #[test]
    fn directions_have_hues_of_their_own_and_amounts_their_strength() {
        let east = Field::from_fn([8, 60], |i, j| [10.0, -10.0, 0.0, 0.0][i % 4] * if j < 30 { 1.0 } else { 0.1 });
        let south = Field::from_fn([8, 60], |i, j| [0.0, 0.0, 10.0, -10.0][i % 4] * if j < 30 { 1.0 } else { 0.1 });
        let options = LayerOptions { range: Some([0.1, 10.0]), legend: false, ..LayerOptions::default() };
        let picture = draw_momentum(&flat(), &east, &south, &options).unwrap();
        let strength = |[r, g, b]: [u8; 3]| r.max(g).max(b) - r.min(g).min(b);
        for i in 0..4 {
            for k in 0..i {
                let (a, b) = (picture.rgb[(i, 5)], picture.rgb[(k, 5)]);
                assert!((0..3).any(|c| a[c].abs_diff(b[c]) > 40), "{a:?} {b:?}");
            }
            let (full, half) = (strength(picture.rgb[(i, 5)]), strength(picture.rgb[(i, 50)]));
            assert!(full > half + 15 && half > 15, "{full} {half}");
        }
        let [r, g, b] = picture.rgb[(0, 5)];
        assert!(r > g + 40 && r > b + 40, "east is red");
    }

    #[test]
    fn still_water_is_grey_and_the_wheel_stands_below() {
        let mut east = Field::new([8, 60], 0.0);
        east[(3, 3)] = f32::NAN;
        let south = Field::new([8, 60], 0.0);
        let bare =
            draw_momentum(&flat(), &east, &south, &LayerOptions { legend: false, ..LayerOptions::default() }).unwrap();
        assert!(bare.rgb.as_slice().iter().all(|p| *p == bare.rgb[(0, 0)]));
        for scale_bar in [false, true] {
            let options = LayerOptions { scale_bar, ..LayerOptions::from_hue(Hue::Plain, "m³/s") };
            let picture = draw_momentum(&flat(), &east, &south, &options).unwrap();
            assert_eq!(picture.rgb.rows(), 8 + furniture::HEIGHT);
            let strong = |p: &&[u8; 3]| p.iter().max().unwrap() - p.iter().min().unwrap() > 60;
            // Half of the wheel's area is beyond 0.7 of its radius.
            assert!(picture.rgb.as_slice().iter().filter(strong).count() > RADIUS * RADIUS);
        }
        let options = LayerOptions { range: Some([0.0, 1.0]), ..LayerOptions::default() };
        assert!(draw_momentum(&flat(), &east, &south, &options).is_err());
        let small = Field::new([8, 9], 0.0);
        for (east, south, part) in [(&small, &south, "momentum_x"), (&east, &small, "momentum_y")] {
            let message = draw_momentum(&flat(), east, south, &LayerOptions::default()).err().unwrap().to_string();
            let words = format!("layer `{part}` is 9 × 8 cells (columns × rows); the terrain is 60 × 8");
            assert_eq!(message, words);
        }
    }
}
