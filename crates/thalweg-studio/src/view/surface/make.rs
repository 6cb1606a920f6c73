//! Preparation of a terrain: water levels, light, cover, plants and patches.

use thalweg_core::{Error, Field, Result, Size, Terrain};
use thalweg_models::process::forest::Forest;
use thalweg_render::pictures::colour::srgb;
use thalweg_render::pictures::light::{shadow, sky};
use thalweg_render::pictures::paint::{MURKY, VEIL};
use thalweg_render::pictures::perspective::exaggeration;
use thalweg_render::pictures::relief::Relief;
use thalweg_render::pictures::runoff;
use thalweg_render::pictures::sample::{bilinear, quantile};
use thalweg_render::pictures::water::Water;
use thalweg_render::products::overlay::{Overlay, OverlayLegend};
use thalweg_render::products::textures::GroundCover;

use crate::view::patches::Pyramid;
use crate::view::surface::{DRY, HOLE, Natural, Surface, Wanted};
use crate::view::woods;

/// The depth in metres from which flowing water is drawn as a water surface.
const DEEP_FLOW: f32 = 0.5;
/// The thickness in metres at which sediment shows half of its colour.
const LOOSE: f32 = 3.0;

impl Surface {
    /// Prepares a terrain.
    ///
    /// # Errors
    /// Returns an error if the sun's position is invalid, if a water layer does not have the terrain's size, or if the
    /// overlay cannot be shown.
    pub fn of(terrain: &Terrain, wanted: &Wanted<'_>) -> Result<Self> {
        wanted.sun.check()?;
        if wanted.most < 2 {
            return Err(Error::value("most samples on a side", wanted.most, "2 or more"));
        }
        let cells = terrain.grid.size;
        let relief = widened(Relief::flooded(terrain, &Water::of(terrain))?);
        let relief = relief.resized(sampled(relief.size(), wanted));
        let size = relief.size();

        let extremes = relief.extremes();
        let extent = |k: usize| relief.cell[k] * (size[k] - 1) as f32;
        let suggested = exaggeration(extent(0).max(extent(1)), extremes[1] - extremes[0]);
        let scale =
            if wanted.exaggeration > 0.0 && wanted.exaggeration.is_finite() { wanted.exaggeration } else { suggested };
        // At the suggested exaggeration the light is the same as in the library's pictures.
        let relief_light = wanted.light.unwrap_or_else(|| relief.exaggeration() as f32 / suggested);
        let steep = (relief_light * scale).clamp(1e-3, 1e3);

        let open = sky(&relief.heights, relief.cell, steep);
        let dark = shadow(&relief.heights, relief.cell, wanted.sun, steep);
        let soft = steep / (1.5 * relief.cell[0].max(relief.cell[1]));
        let loose = terrain.loose.as_ref().map(|loose| widened_field(loose.map(|h| h.metres_f32())));
        let step = [0, 1].map(|k| (cells[k].max(2) - 1) as f32 / (size[k] - 1) as f32);
        let light = Field::generate(size, |i, j| {
            let seen = bilinear(&open, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0);
            let loose = loose.as_ref().map_or(0.0, |f| bilinear(f, i as f32 * step[0], j as f32 * step[1]));
            let film = relief.water.as_ref().map_or(0.0, |water| water[(i, j)].max(0.0));
            [seen, dark[(i, j)] * soft, loose / (loose + LOOSE), film / (film + MURKY)].map(byte)
        });
        let level = Field::generate(size, |i, j| level(&relief, i, j));
        let forest = Forest::read(terrain)?;
        let plants = woods::plants(forest.trees(), cells, &relief);
        let under = woods::shadow(&plants, &relief, wanted.sun.direction());
        let streams = runoff::cover(terrain, &relief)?;
        let lines = Field::generate(size, |i, j| {
            let ice = relief.ice(i, j);
            let crowns = under.as_ref().map_or(255, |under| byte(under[(i, j)]));
            [byte(streams[(i, j)]), crowns, byte(ice / (ice + VEIL)), 0]
        });
        let (data, legend) = match (&wanted.overlay, &wanted.natural) {
            (Some(overlay), _) => {
                let (data, legend) = data(terrain, overlay, wanted.start, size)?;
                (Some(data), Some(legend))
            }
            (None, Some(natural)) => (Some(albedo(terrain, natural, size)?), None),
            (None, None) => (None, None),
        };
        let depths = relief.sorted(|i, j| relief.sea.map(|sea| sea - relief.heights[(i, j)]).filter(|d| *d > 0.0));
        let sea = relief.sea;
        let pyramid = Pyramid::of(size, |i, j| {
            (level[(i, j)] > HOLE).then(|| relief.heights[(i, j)].max(level[(i, j)]).max(sea.unwrap_or(DRY)))
        });
        Ok(Self {
            range: wanted.range.filter(|[low, high]| low < high).unwrap_or_else(|| relief.range()),
            deepest: wanted.deepest.unwrap_or_else(|| quantile(&depths, 0.995)).max(1.0),
            holes: relief.nodata.as_ref().is_some_and(|mask| mask.as_slice().iter().any(|hole| *hole)),
            sides: relief.cell,
            heights: relief.heights,
            level,
            light,
            lines,
            natural: wanted.overlay.is_none() && data.is_some(),
            data,
            legend,
            sea,
            exaggeration: scale,
            relief_light,
            plants,
            pyramid,
            suggested,
            extremes,
            cells,
            cell: terrain.grid.cell as f32,
        })
    }
}

/// Returns a relief with at least two rows and columns, by repeating a single row or column.
fn widened(relief: Relief) -> Relief {
    if !relief.size().contains(&1) {
        return relief;
    }
    let mask = relief.nodata.map(|mask| {
        let [rows, cols] = mask.size();
        Field::generate([rows.max(2), cols.max(2)], |i, j| mask[(i.min(rows - 1), j.min(cols - 1))])
    });
    Relief {
        heights: widened_field(relief.heights),
        nodata: mask,
        water: relief.water.map(widened_field),
        pools: relief.pools.map(widened_field),
        ice: relief.ice.map(widened_field),
        ..relief
    }
}

fn widened_field(field: Field<f32>) -> Field<f32> {
    let [rows, cols] = field.size();
    if rows > 1 && cols > 1 {
        return field;
    }
    Field::generate([rows.max(2), cols.max(2)], |i, j| field[(i.min(rows - 1), j.min(cols - 1))])
}

/// Returns the number of rows and columns to draw for a terrain of `size`, which is at least 2 each.
fn sampled(size: Size, wanted: &Wanted<'_>) -> Size {
    let long = size[0].max(size[1]);
    let scale = match long {
        n if n > wanted.most => (wanted.most - 1) as f64 / (n - 1) as f64,
        // Dividing each interval into a whole number of new ones keeps every original sample.
        n if n < wanted.least => {
            let most = (wanted.most - 1) / (n - 1);
            (wanted.least.saturating_sub(1)).div_ceil(n - 1).min(most).max(1) as f64
        }
        _ => 1.0,
    };
    size.map(|n| (((n - 1) as f64 * scale).round() as usize).max(1) + 1)
}

/// Returns the level of standing water at a sample, or [`DRY`] or [`HOLE`].
fn level(relief: &Relief, i: usize, j: usize) -> f32 {
    if relief.is_hole(i, j) {
        return HOLE;
    }
    let pool = relief.pools.as_ref().map_or(f32::NAN, |pools| pools[(i, j)]);
    let flow = relief.water.as_ref().map(|water| water[(i, j)]).filter(|depth| *depth >= DEEP_FLOW);
    // `max` returns the greater of the two and ignores NaN, which stands for no pool.
    flow.map_or(DRY, |depth| relief.heights[(i, j)] + depth).max(pool)
}

/// Returns the overlay's colour and opacity at each sample, and its legend.
fn data(
    terrain: &Terrain,
    overlay: &Overlay,
    start: Option<&Terrain>,
    size: Size,
) -> Result<(Field<[u8; 4]>, OverlayLegend)> {
    let values = overlay.values(terrain, start)?;
    let legend = overlay.legend(terrain, &values)?;
    let old = terrain.grid.size;
    let step = [0, 1].map(|k| (old[k] - 1) as f32 / (size[k] - 1) as f32);
    let whole = matches!(overlay, Overlay::Basins | Overlay::Soil);
    let colours = Field::generate(size, |i, j| {
        let (y, x) = (i as f32 * step[0], j as f32 * step[1]);
        let nearest = values[((y.round() as usize).min(old[0] - 1), (x.round() as usize).min(old[1] - 1))];
        let between = if whole { nearest } else { bilinear(&values, y, x) };
        let (colour, cover) = legend.colour(if between.is_nan() { nearest } else { between });
        let [r, g, b] = srgb(colour);
        [r, g, b, byte(cover)]
    });
    Ok((colours, legend))
}

/// Returns the natural colours at each sample, as seen from the air.
fn albedo(terrain: &Terrain, natural: &Natural, size: Size) -> Result<Field<[u8; 4]>> {
    let cover = GroundCover::of(terrain, &natural.rules, natural.rock)?.resized(size)?;
    let ground = cover.from_air();
    Ok(ground.albedo.map(|colour| {
        let [r, g, b] = srgb(*colour);
        [r, g, b, 255]
    }))
}

/// Converts 0 to 1 to 0 to 255; the cast clamps values outside and turns NaN into 0.
fn byte(x: f32) -> u8 {
    (x * 255.0 + 0.5) as u8
}
