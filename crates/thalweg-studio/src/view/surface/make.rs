//! Preparation of a terrain: water levels, light, cover, plants and patches.

use thalweg_core::{Error, Field, Result, Size, Terrain};
use thalweg_models::process::forest::Forest;
use thalweg_render::pictures::colour::to_srgb;
use thalweg_render::pictures::light::{cast_shadows, compute_sky_view};
use thalweg_render::pictures::paint::{MURKY, VEIL};
use thalweg_render::pictures::perspective::choose_exaggeration;
use thalweg_render::pictures::relief::Relief;
use thalweg_render::pictures::runoff;
use thalweg_render::pictures::sample::{interpolate_bilinear, quantile_of_sorted};
use thalweg_render::pictures::water::Water;
use thalweg_render::products::overlay::{Overlay, OverlayLegend};
use thalweg_render::products::textures::GroundCover;

use crate::view::patches::Pyramid;
use crate::view::surface::{NO_WATER_LEVEL, NODATA_LEVEL, Natural, Surface, SurfaceOptions};
use crate::view::woods;

/// The depth in metres from which flowing water is drawn as a water surface.
const MIN_FLOW_DEPTH_M: f32 = 0.5;
/// The thickness in metres at which sediment shows half of its colour.
const HALF_TINT_THICKNESS_M: f32 = 3.0;

impl Surface {
    /// Prepares a terrain.
    ///
    /// # Errors
    /// Returns an error if the sun's position is invalid, if a water layer does not have the terrain's size, or if the
    /// overlay cannot be shown.
    pub fn from_terrain(terrain: &Terrain, options: &SurfaceOptions<'_>) -> Result<Self> {
        options.sun.check()?;
        if options.most < 2 {
            return Err(Error::invalid_value("maximum number of samples on a side", options.most, "2 or more"));
        }
        let cells = terrain.grid.size;
        // Interpolation and the patches need at least two samples on each axis.
        let relief = widen_relief(Relief::with_water(terrain, &Water::from_terrain(terrain))?);
        let relief = relief.resized(choose_sample_size(relief.size(), options));
        let size = relief.size();

        // The exaggeration follows from the relief in proportion to the extent, unless the caller gives one.
        let extremes = relief.height_extremes();
        let extent = |k: usize| relief.cell[k] * (size[k] - 1) as f32;
        let suggested = choose_exaggeration(extent(0).max(extent(1)), extremes[1] - extremes[0]);
        let scale = if options.exaggeration > 0.0 && options.exaggeration.is_finite() {
            options.exaggeration
        } else {
            suggested
        };
        // At the suggested exaggeration the light is the same as in the library's pictures.
        let relief_light = options.light.unwrap_or_else(|| relief.choose_exaggeration() as f32 / suggested);
        // The bounds keep light and shadows finite for extreme exaggerations.
        let steep = (relief_light * scale).clamp(1e-3, 1e3);

        // Light that depends only on the ground and the sun is computed here once per surface, on the CPU.
        let open = compute_sky_view(&relief.heights, relief.cell, steep);
        let dark = cast_shadows(&relief.heights, relief.cell, options.sun, steep);
        // A shadow is full where the grazing rays pass 1.5 cells above the exaggerated ground; less gives partial
        // shade, which softens its edge.
        let soft = steep / (1.5 * relief.cell[0].max(relief.cell[1]));
        let loose = terrain.loose.as_ref().map(|loose| widen_field(loose.map(|h| h.metres_f32())));
        // Sediment has the resolution of the cells; `step` converts from samples to cells.
        let step = [0, 1].map(|k| (cells[k].max(2) - 1) as f32 / (size[k] - 1) as f32);
        let light = Field::from_fn(size, |i, j| {
            // The visible sky has half the resolution of the samples; its first value is centred between samples 0 and
            // 1.
            let seen = interpolate_bilinear(&open, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0);
            let loose = loose.as_ref().map_or(0.0, |f| interpolate_bilinear(f, i as f32 * step[0], j as f32 * step[1]));
            // Thicknesses are stored as t / (t + t½), which fits any thickness into 8 bits with most precision where
            // little covers the ground.
            let film = relief.water.as_ref().map_or(0.0, |water| water[(i, j)].max(0.0));
            [seen, dark[(i, j)] * soft, loose / (loose + HALF_TINT_THICKNESS_M), film / (film + MURKY)].map(to_byte)
        });
        let level = Field::from_fn(size, |i, j| compute_water_level(&relief, i, j));
        let forest = Forest::read(terrain)?;
        // Trees cast disc-shaped shadows; streams and ice are stored as cover fractions in the same texture.
        let plants = woods::place_plants(forest.trees(), cells, &relief);
        let under = woods::shade_under_crowns(&plants, &relief, options.sun.direction());
        let streams = runoff::compute_stream_cover(terrain, &relief)?;
        let lines = Field::from_fn(size, |i, j| {
            let ice = relief.visible_ice_thickness(i, j);
            let crowns = under.as_ref().map_or(255, |under| to_byte(under[(i, j)]));
            [to_byte(streams[(i, j)]), crowns, to_byte(ice / (ice + VEIL)), 0]
        });
        let (data, legend) = match (&options.overlay, &options.natural) {
            (Some(overlay), _) => {
                let (data, legend) = colour_overlay(terrain, overlay, options.start, size)?;
                (Some(data), Some(legend))
            }
            (None, Some(natural)) => (Some(colour_ground_cover(terrain, natural, size)?), None),
            (None, None) => (None, None),
        };
        // The darkest blue belongs to the depth that 99.5 % of the sea floor does not exceed, so that a single trench
        // does not pale the rest.
        let depths =
            relief.sorted_values(|i, j| relief.sea.map(|sea| sea - relief.heights[(i, j)]).filter(|d| *d > 0.0));
        let sea = relief.sea;
        // The pyramid bounds the drawn surface: the ground, or the water above it.
        let pyramid = Pyramid::from_tops(size, |i, j| {
            (level[(i, j)] > NODATA_LEVEL)
                .then(|| relief.heights[(i, j)].max(level[(i, j)]).max(sea.unwrap_or(NO_WATER_LEVEL)))
        });
        Ok(Self {
            range: options.range.filter(|[low, high]| low < high).unwrap_or_else(|| relief.colour_range()),
            deepest: options.deepest.unwrap_or_else(|| quantile_of_sorted(&depths, 0.995)).max(1.0),
            holes: relief.nodata.as_ref().is_some_and(|mask| mask.as_slice().iter().any(|hole| *hole)),
            sides: relief.cell,
            heights: relief.heights,
            level,
            light,
            lines,
            natural: options.overlay.is_none() && data.is_some(),
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
fn widen_relief(relief: Relief) -> Relief {
    if !relief.size().contains(&1) {
        return relief;
    }
    let mask = relief.nodata.map(|mask| {
        let [rows, cols] = mask.size();
        Field::from_fn([rows.max(2), cols.max(2)], |i, j| mask[(i.min(rows - 1), j.min(cols - 1))])
    });
    Relief {
        heights: widen_field(relief.heights),
        nodata: mask,
        water: relief.water.map(widen_field),
        pools: relief.pools.map(widen_field),
        ice: relief.ice.map(widen_field),
        ..relief
    }
}

fn widen_field(field: Field<f32>) -> Field<f32> {
    let [rows, cols] = field.size();
    if rows > 1 && cols > 1 {
        return field;
    }
    Field::from_fn([rows.max(2), cols.max(2)], |i, j| field[(i.min(rows - 1), j.min(cols - 1))])
}

/// Returns the number of rows and columns to draw for a terrain of `size`, which is at least 2 each.
fn choose_sample_size(size: Size, options: &SurfaceOptions<'_>) -> Size {
    let long = size[0].max(size[1]);
    let scale = match long {
        // The numbers of intervals are scaled, not those of samples, so that the outermost samples keep their places.
        n if n > options.most => (options.most - 1) as f64 / (n - 1) as f64,
        // Dividing each interval into a whole number of new ones keeps every original sample.
        n if n < options.least => {
            let max_factor = (options.most - 1) / (n - 1);
            (options.least.saturating_sub(1)).div_ceil(n - 1).min(max_factor).max(1) as f64
        }
        _ => 1.0,
    };
    size.map(|n| (((n - 1) as f64 * scale).round() as usize).max(1) + 1)
}

/// Returns the level of standing water at a sample, or [`NO_WATER_LEVEL`] or [`NODATA_LEVEL`].
fn compute_water_level(relief: &Relief, i: usize, j: usize) -> f32 {
    if relief.is_hole(i, j) {
        return NODATA_LEVEL;
    }
    let pool = relief.pools.as_ref().map_or(f32::NAN, |pools| pools[(i, j)]);
    let flow = relief.water.as_ref().map(|water| water[(i, j)]).filter(|depth| *depth >= MIN_FLOW_DEPTH_M);
    // `max` returns the greater of the two and ignores NaN, which stands for no pool.
    flow.map_or(NO_WATER_LEVEL, |depth| relief.heights[(i, j)] + depth).max(pool)
}

/// Returns the overlay's colour and opacity at each sample, and its legend.
fn colour_overlay(
    terrain: &Terrain,
    overlay: &Overlay,
    start: Option<&Terrain>,
    size: Size,
) -> Result<(Field<[u8; 4]>, OverlayLegend)> {
    let values = overlay.compute_values(terrain, start)?;
    let legend = overlay.build_legend(terrain, &values)?;
    let old = terrain.grid.size;
    let step = [0, 1].map(|k| (old[k] - 1) as f32 / (size[k] - 1) as f32);
    // Numbers of basins and soils are labels; interpolation between them would invent others.
    let whole = matches!(overlay, Overlay::Basins | Overlay::Soil);
    let colours = Field::from_fn(size, |i, j| {
        let (y, x) = (i as f32 * step[0], j as f32 * step[1]);
        let nearest = values[((y.round() as usize).min(old[0] - 1), (x.round() as usize).min(old[1] - 1))];
        let between = if whole { nearest } else { interpolate_bilinear(&values, y, x) };
        // Next to a cell without a value the interpolation is NaN; the nearest value then decides.
        let (colour, cover) = legend.colour_and_opacity(if between.is_nan() { nearest } else { between });
        let [r, g, b] = to_srgb(colour);
        [r, g, b, to_byte(cover)]
    });
    Ok((colours, legend))
}

/// Returns the natural colours at each sample, as seen from the air.
fn colour_ground_cover(terrain: &Terrain, natural: &Natural, size: Size) -> Result<Field<[u8; 4]>> {
    let cover = GroundCover::from_terrain(terrain, &natural.rules, natural.rock)?.resized(size)?;
    let ground = cover.from_air();
    Ok(ground.albedo.map(|colour| {
        let [r, g, b] = to_srgb(*colour);
        [r, g, b, 255]
    }))
}

/// Converts 0 to 1 to 0 to 255; the cast clamps values outside and turns NaN into 0.
fn to_byte(x: f32) -> u8 {
    (x * 255.0 + 0.5) as u8
}
