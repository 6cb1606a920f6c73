//! The colours of lit terrain and water, which the shaded map and the perspective view share.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::pictures::colour::{Linear, apply_light, mix_colours};
use crate::pictures::light::{Sun, cast_shadows, compute_sky_view, horn_gradient, lambert_reflectance, surface_normal};
use crate::pictures::ramps::{ColourTable, Ramp};
use crate::pictures::relief::{Relief, ReliefStatistics};
use crate::pictures::sample::{finer_row, interpolate_bilinear};
use crate::pictures::streams::STREAM;
use thalweg_core::{Field, Size};

/// The sun's share of the light on flat open terrain. The three shares sum to 1, so flat terrain shows the ramp's own
/// colour.
pub const SUN: f32 = 0.70;
/// The side lights' share of the light.
pub const SIDE: f32 = 0.08;
/// The sky's share of the light.
pub const SKY: f32 = 0.22;
/// The factors on the sun's light, which is slightly warm. The sky is made cooler by as much as keeps the sum white
/// on flat terrain.
pub const WARM: Linear = [1.05, 1.0, 0.90];
/// The angle in degrees of azimuth between the sun and each of the two side lights.
pub const SIDE_LIGHT_ANGLE_DEG: f64 = 75.0;
/// The share of the sun's light that remains in full shadow.
pub const SHADE: f32 = 0.35;
/// The share of the bed's light and shade that is visible through the sea.
pub const SEABED_VISIBILITY: f32 = 0.45;
/// The depth in metres at which a layer's water hides half of the ground.
pub const MURKY: f32 = 0.25;
/// The depth in metres at which it is halfway to its darkest colour.
const DEEP: f32 = 25.0;
/// The depth in metres at which a pool is halfway to its darkest colour.
pub const DARK: f32 = 10.0;
/// The share of the bed's light that shallow pools let through.
pub const SHALLOW: f32 = 0.16;
/// The reflection of the sky in standing water.
pub const SKYLIGHT: Linear = [0.50, 0.64, 0.78];
/// The colours of snow on ice, and of ice that is bare or broken.
pub const FIRN: Linear = [0.86, 0.91, 0.96];
/// See [`FIRN`].
pub const BARE_ICE: Linear = [0.50, 0.70, 0.84];
/// The thickness in metres at which ice hides half of the ground.
pub const VEIL: f32 = 2.0;
/// The share of light that ice receives from inside, independent of the sun, so that it glows blue in the shade.
pub const GLOW: f32 = 0.35;
/// The colour of that light.
pub const INSIDE: Linear = [0.78, 0.90, 1.02];
/// The slope (exaggerated, rise over run) at which half of the ice is broken.
pub const BROKEN: f32 = 0.8;
/// The foam along the sea's shore.
pub const SHORE: Linear = [0.80, 0.87, 0.86];

/// The parameters of painting.
#[derive(Debug, Clone, Copy)]
pub struct PaintBrush {
    /// The colour ramp of dry land.
    pub ramp: &'static Ramp,
    /// The heights in metres of the ramp's ends, the low one first.
    pub range: [f32; 2],
    /// The sun.
    pub sun: Sun,
    /// The factor on heights for the lighting.
    pub exaggeration: f32,
}

/// A relief prepared for painting cell by cell.
pub struct Painter<'a> {
    relief: &'a Relief,
    brush: PaintBrush,
    land: ColourTable,
    sea: ColourTable,
    /// The depth in metres of the sea's darkest blue.
    deepest: f32,
    lights: [[f32; 3]; 3],
    sky: Field<f32>,
    shadow: Field<f32>,
    streams: Option<Field<f32>>,
}

impl<'a> Painter<'a> {
    /// Computes the sky and the shadow of a relief.
    pub fn new(relief: &'a Relief, brush: PaintBrush) -> Self {
        let sky = compute_sky_view(&relief.heights, relief.cell, brush.exaggeration);
        let shadow = cast_shadows(&relief.heights, relief.cell, brush.sun, brush.exaggeration);
        Self::from_sky_and_shadow(relief, brush, ReliefStatistics::from_relief(relief).darkest_sea_depth(), sky, shadow)
    }

    /// Creates a painter from a sky and a shadow that are already known: the first with cells twice as wide, the
    /// second per cell.
    pub fn from_sky_and_shadow(
        relief: &'a Relief,
        brush: PaintBrush,
        deepest: f32,
        sky: Field<f32>,
        shadow: Field<f32>,
    ) -> Self {
        // Side lights have the sun's altitude and differ in azimuth only.
        let aside = |degrees: f64| Sun { azimuth: brush.sun.azimuth + degrees, ..brush.sun }.direction();
        Self {
            relief,
            brush,
            land: brush.ramp.to_table(),
            sea: Ramp::sea().to_table(),
            deepest,
            lights: [brush.sun.direction(), aside(-SIDE_LIGHT_ANGLE_DEG), aside(SIDE_LIGHT_ANGLE_DEG)],
            sky,
            shadow,
            streams: None,
        }
    }

    /// Adds streams that cover the given share, 0 to 1, of each cell, for [`Painter::paint`].
    #[must_use]
    pub fn with_streams(self, streams: Option<Field<f32>>) -> Self {
        Self { streams, ..self }
    }

    /// Returns the colours of the whole relief, one per cell, with streams on top; holes are black.
    pub fn paint(&self) -> Field<Linear> {
        let size: Size = self.relief.size();
        let mut colours = Field::new(size, [0.0; 3]);
        colours.par_rows_mut().for_each_init(
            || LightRow::new(size[1]),
            |lights, (i, row)| {
                self.paint_row(i, lights, row);
                for (j, colour) in row.iter_mut().enumerate() {
                    let cover = self.streams.as_ref().map_or(0.0, |cover| cover[(i, j)]);
                    *colour = if self.relief.is_hole(i, j) { [0.0; 3] } else { mix_colours(*colour, STREAM, cover) };
                }
            },
        );
        colours
    }

    /// Computes the colours of row `i`, one per column, equal to those of [`Painter::paint_cell`]; `lights` must be for
    /// rows of the relief's length.
    pub fn paint_row(&self, i: usize, lights: &mut LightRow, out: &mut [Linear]) {
        self.light_row(i, lights);
        let [low, high] = self.brush.range;
        // If there is no water other than the sea, everything above sea level is dry.
        let is_bare = self.relief.ice.is_none() && self.relief.pools.is_none() && self.relief.water.is_none();
        let sea = if is_bare { self.relief.sea.unwrap_or(f32::NEG_INFINITY) } else { f32::INFINITY };
        for (j, (colour, ground)) in out.iter_mut().zip(self.relief.heights.row(i)).enumerate() {
            let light = [lights.red[j], lights.green[j], lights.blue[j]];
            *colour = if *ground >= sea {
                soften_highlights(apply_light(self.land.nearest_colour((ground - low) / (high - low)), light))
            } else {
                self.cell_colour(i, j, light)
            };
        }
    }

    /// Returns the colour of cell (i, j) in linear light.
    pub fn paint_cell(&self, i: usize, j: usize) -> Linear {
        self.cell_colour(i, j, self.light_cell(i, j))
    }

    /// Returns the colour of cell (i, j) in the given light.
    fn cell_colour(&self, i: usize, j: usize, light: Linear) -> Linear {
        let ground = self.relief.heights[(i, j)];
        let [low, high] = self.brush.range;
        // Ice covers dry land only; its water is drawn above it.
        let dry = self.cover_with_ice(
            i,
            j,
            apply_light(self.land.nearest_colour((ground - low) / (high - low)), light),
            light,
        );
        let depth = self.relief.water_depth(i, j);
        let share = self.relief.flooded_share(i, j);
        // Standing water at or above sea level covers the share of the cell that its level reaches.
        if share > 0.0 && self.relief.sea.is_none_or(|level| ground >= level) {
            return soften_highlights(mix_colours(dry, self.colour_pool(i, j, dry, depth), share));
        }
        if depth <= 0.0 {
            return soften_highlights(dry);
        }
        if self.relief.sea.is_some_and(|level| ground < level) {
            // The square root puts most of the change of colour in the shallows.
            let blue = self.sea.nearest_colour(1.0 - (depth / self.deepest).sqrt());
            let foam = if self.is_on_shore(i, j) { 0.4 } else { 0.0 };
            // The sea shows the light and shade of its bed only in part, and a line of foam along the shore.
            return soften_highlights(mix_colours(
                apply_light(blue, mix_colours([1.0; 3], light, SEABED_VISIBILITY)),
                SHORE,
                foam,
            ));
        }
        // Rivers are a clear blue and lakes darker, the same on every map.
        let blue = self.sea.nearest_colour(0.72 - 0.5 * depth / (depth + DEEP));
        soften_highlights(mix_colours(dry, blue, depth / (depth + MURKY)))
    }

    /// Returns the colour of terrain, whose own colour is `dry`, under its ice: white where it is gentle, blue where
    /// it is steep and broken, with a light of its own in addition to that of the sky.
    fn cover_with_ice(&self, i: usize, j: usize, dry: Linear, light: Linear) -> Linear {
        let thickness = self.relief.visible_ice_thickness(i, j);
        if thickness <= 0.0 {
            return dry;
        }
        let [east, north] =
            horn_gradient(&self.relief.heights, self.relief.cell, i, j).map(|g| g * self.brush.exaggeration);
        // At a slope of BROKEN, the colour is halfway between snow and bare ice.
        let steep = east * east + north * north;
        let ice = mix_colours(FIRN, BARE_ICE, steep / (steep + BROKEN * BROKEN));
        mix_colours(dry, apply_light(ice, mix_colours(light, INSIDE, GLOW)), thickness / (thickness + VEIL))
    }

    /// Returns the colour of standing water over terrain whose own colour is `dry`: dark blue depending on depth,
    /// without relief shading because its surface is level, with a slight reflection of the sky that increases
    /// towards the sun.
    fn colour_pool(&self, i: usize, j: usize, dry: Linear, depth: f32) -> Linear {
        // Pools use the sea's ramp from 0.60 at the shore to 0.10 in the deepest.
        let blue = self.sea.nearest_colour(0.60 - 0.50 * depth / (depth + DARK));
        // The surface is above the bed by the depth, so that it is in shadow by that much less. The edge of the shadow
        // is soft over 1.5 cells.
        let under = (self.shadow[(i, j)] - depth).max(0.0) * self.brush.exaggeration / (1.5 * self.relief.cell[0]);
        let light = 1.0 - SUN * (1.0 - SHADE) * under.min(1.0);
        let [rows, cols] = self.relief.size();
        // The reflection increases across the map towards the corner at which the sun is.
        let toward = |at: usize, n: usize, sun: f32| 0.5 + (at as f32 / n as f32 - 0.5) * sun;
        let near = 0.5 * (toward(i, rows, -self.lights[0][1]) + toward(j, cols, self.lights[0][0]));
        let water = mix_colours(blue.map(|c| c * light), SKYLIGHT, (0.02 + 0.12 * near * near) * light);
        mix_colours(water, dry, SHALLOW / (1.0 + depth))
    }

    /// Returns the light on cell (i, j): the sun with its shadow, two side lights, and the visible sky. It is 1 on
    /// flat open terrain.
    pub fn light_cell(&self, i: usize, j: usize) -> Linear {
        let open = interpolate_bilinear(&self.sky, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0);
        let lamps = self.build_lamps();
        lamps.light_surface(horn_gradient(&self.relief.heights, self.relief.cell, i, j), self.shadow[(i, j)], open)
    }

    fn build_lamps(&self) -> LightSources {
        let [down, across] = self.relief.cell;
        // The edge of a shadow is soft over 1.5 cells.
        LightSources { lights: self.lights, exaggeration: self.brush.exaggeration, penumbra: 1.5 * down.max(across) }
    }

    /// Computes the light on all cells of row `i`, equal to that of [`Painter::light_cell`].
    fn light_row(&self, i: usize, lights: &mut LightRow) {
        let (heights, [down, across]) = (&self.relief.heights, self.relief.cell);
        let (north, south) = (i.saturating_sub(1), (i + 1).min(heights.rows() - 1));
        finer_row(&self.sky, i, &mut lights.open);
        let rows = [heights.row(north), heights.row(i), heights.row(south)];
        // These are the divisors of `horn_gradient` inside the map, and at its first and last row.
        let spans = [8.0 * across, ((south - north).max(1) as f32) * 4.0 * down];
        light_inner_cells(rows, spans, self.shadow.row(i), &self.build_lamps(), lights);
        // The first and the last column lack a neighbour and are computed cell by cell.
        for j in [0, heights.cols() - 1] {
            [lights.red[j], lights.green[j], lights.blue[j]] = self.light_cell(i, j);
        }
    }

    /// Returns true if a neighbour of this sea cell is land.
    fn is_on_shore(&self, i: usize, j: usize) -> bool {
        let [rows, cols] = self.relief.size();
        let level = self.relief.sea.unwrap_or(f32::MIN);
        let land = |r: usize, c: usize| r < rows && c < cols && self.relief.heights[(r, c)] >= level;
        land(i.wrapping_sub(1), j) || land(i + 1, j) || land(i, j.wrapping_sub(1)) || land(i, j + 1)
    }
}

/// The light on a row of cells, by colour, and the share of the sky that is visible from them.
pub struct LightRow {
    open: Vec<f32>,
    red: Vec<f32>,
    green: Vec<f32>,
    blue: Vec<f32>,
}

impl LightRow {
    /// Creates buffers for rows of `cols` cells.
    pub fn new(cols: usize) -> Self {
        let dark = || vec![0.0; cols];
        Self { open: dark(), red: dark(), green: dark(), blue: dark() }
    }
}

/// The light sources.
struct LightSources {
    /// The directions towards the sun and the two side lights.
    lights: [[f32; 3]; 3],
    exaggeration: f32,
    /// The depth in metres below the shadow's edge at which the shadow is full.
    penumbra: f32,
}

impl LightSources {
    /// Returns the light on a surface with the given rise per metre eastward and northward, depth in shadow, and
    /// visible share of the sky.
    #[inline(always)]
    fn light_surface(&self, [east, north]: [f32; 2], shadow: f32, open: f32) -> Linear {
        let n = surface_normal([east * self.exaggeration, north * self.exaggeration]);
        // The division by the sine of the sun's altitude gives flat terrain the same light for any altitude.
        let flat = self.lights[0][2];
        let under = shadow * self.exaggeration / self.penumbra;
        let sun = SUN * lambert_reflectance(n, self.lights[0]) / flat * (1.0 - (1.0 - SHADE) * under.min(1.0));
        let side =
            SIDE * (lambert_reflectance(n, self.lights[1]) + lambert_reflectance(n, self.lights[2])) / (2.0 * flat);
        let sky = SKY * (0.5 + 0.5 * n[2]) * open * open;
        // The sky is cooler by as much as the sun is warmer, so that the sum is white on flat terrain.
        let tinted = |warm: f32| sun * warm + side + sky * (1.0 + (1.0 - warm) * SUN / SKY);
        [tinted(WARM[0]), tinted(WARM[1]), tinted(WARM[2])]
    }
}

/// Computes the light on the cells of a row that have neighbours on both sides. The three rows are the one above, the
/// row itself, and the one below; `spans` are the divisors in [`horn_gradient`] (eastward, northward), in metres.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2"))]
fn light_inner_cells(
    [top, here, bottom]: [&[f32]; 3],
    spans: [f32; 2],
    shadow: &[f32],
    lamps: &LightSources,
    out: &mut LightRow,
) {
    let cols = here.len();
    let (top, bottom, shadow) = (&top[..cols], &bottom[..cols], &shadow[..cols]);
    let (open, red, green, blue) =
        (&out.open[..cols], &mut out.red[..cols], &mut out.green[..cols], &mut out.blue[..cols]);
    // Operations and their order are those of `horn_gradient`, so that rows and single cells have the same bits.
    for j in 1..cols.saturating_sub(1) {
        let eastward = (top[j + 1] - top[j - 1]) + 2.0 * (here[j + 1] - here[j - 1]) + (bottom[j + 1] - bottom[j - 1]);
        let northward = (top[j - 1] - bottom[j - 1]) + 2.0 * (top[j] - bottom[j]) + (top[j + 1] - bottom[j + 1]);
        let light = lamps.light_surface([eastward / spans[0], northward / spans[1]], shadow[j], open[j]);
        (red[j], green[j], blue[j]) = (light[0], light[1], light[2]);
    }
}

/// Compresses light above 0.8 towards 1, so that sunlit snow keeps its shading.
fn soften_highlights(colour: Linear) -> Linear {
    colour.map(|x| {
        let over = (x - 0.8) / 0.2;
        if over > 0.0 { 0.8 + 0.2 * over / (1.0 + over) } else { x }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::shade::choose_brush;
    use crate::pictures::water::Water;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::{Grid, Height, Terrain};

    #[test]
    fn a_row_has_the_colours_of_its_cells() {
        for (number, size) in [[1, 1], [1, 9], [9, 1], [2, 2], [33, 70], [64, 51]].into_iter().enumerate() {
            let key = RandomKey::new(number as u64, "rows");
            let at = |part: u64| {
                move |i: usize, j: usize| key.derive_key(part).for_cell([i as i64, j as i64]).uniform_unit()
            };
            let deep = |part: u64, most: f64| {
                Field::from_fn(size, |i, j| Height::from_metres_clamped(most * at(part)(i, j) - 0.6 * most))
            };
            let mut terrain = Terrain::new(Grid::new(size, 20.0).unwrap());
            terrain.ground =
                Field::from_fn(size, |i, j| Height::from_metres_clamped(90.0 * at(1)(i, j) + 10.0 * j as f64));
            let (pools, ice) = (deep(2, 40.0), deep(3, 30.0));
            for sea in [None, Some(Height::from_metres_clamped(60.0))] {
                for water in [Water::default(), Water { pools: Some(&pools), ice: Some(&ice), ..Water::default() }] {
                    terrain.grid.sea_level = sea;
                    let relief = Relief::with_water(&terrain, &water).unwrap();
                    let brush = choose_brush(&relief, Ramp::land(), Sun::default(), None, None).unwrap();
                    let painter = Painter::new(&relief, brush);
                    let mut lights = LightRow::new(size[1]);
                    for i in 0..size[0] {
                        let mut row = vec![[0.0; 3]; size[1]];
                        painter.paint_row(i, &mut lights, &mut row);
                        for (j, colour) in row.iter().enumerate() {
                            assert_eq!(*colour, painter.paint_cell(i, j), "{size:?}, {sea:?}: {i}, {j}");
                        }
                    }
                }
            }
        }
    }
}
