//! The colours of lit terrain and water, which the shaded map and the perspective view share.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::pictures::colour::{Linear, lit, mix};
use crate::pictures::light::{Sun, gradient, lambert, normal, shadow, sky};
use crate::pictures::ramps::{ColourTable, Ramp};
use crate::pictures::relief::{Relief, Sampled};
use crate::pictures::sample::{bilinear, finer_row};
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
pub const ASIDE: f64 = 75.0;
/// The share of the sun's light that remains in full shadow.
pub const SHADE: f32 = 0.35;
/// The share of the bed's light and shade that is visible through the sea.
pub const THROUGH: f32 = 0.45;
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
pub struct Brush {
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
    brush: Brush,
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
    pub fn new(relief: &'a Relief, brush: Brush) -> Self {
        let sky = sky(&relief.heights, relief.cell, brush.exaggeration);
        let shadow = shadow(&relief.heights, relief.cell, brush.sun, brush.exaggeration);
        Self::under(relief, brush, Sampled::of(relief).deepest(), sky, shadow)
    }

    /// Creates a painter from a sky and a shadow that are already known: the first with cells twice as wide, the
    /// second per cell.
    pub fn under(relief: &'a Relief, brush: Brush, deepest: f32, sky: Field<f32>, shadow: Field<f32>) -> Self {
        let aside = |degrees: f64| Sun { azimuth: brush.sun.azimuth + degrees, ..brush.sun }.direction();
        Self {
            relief,
            brush,
            land: brush.ramp.table(),
            sea: Ramp::sea().table(),
            deepest,
            lights: [brush.sun.direction(), aside(-ASIDE), aside(ASIDE)],
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
            || Lights::new(size[1]),
            |lights, (i, row)| {
                self.row(i, lights, row);
                for (j, colour) in row.iter_mut().enumerate() {
                    let cover = self.streams.as_ref().map_or(0.0, |cover| cover[(i, j)]);
                    *colour = if self.relief.is_hole(i, j) { [0.0; 3] } else { mix(*colour, STREAM, cover) };
                }
            },
        );
        colours
    }

    /// Computes the colours of row `i`, one per column, equal to those of [`Painter::cell`]; `lights` must be for
    /// rows of the relief's length.
    pub fn row(&self, i: usize, lights: &mut Lights, out: &mut [Linear]) {
        self.light_row(i, lights);
        let [low, high] = self.brush.range;
        // If there is no water other than the sea, everything above sea level is dry.
        let is_bare = self.relief.ice.is_none() && self.relief.pools.is_none() && self.relief.water.is_none();
        let sea = if is_bare { self.relief.sea.unwrap_or(f32::NEG_INFINITY) } else { f32::INFINITY };
        for (j, (colour, ground)) in out.iter_mut().zip(self.relief.heights.row(i)).enumerate() {
            let light = [lights.red[j], lights.green[j], lights.blue[j]];
            *colour = if *ground >= sea {
                soften(lit(self.land.at((ground - low) / (high - low)), light))
            } else {
                self.cell_in(i, j, light)
            };
        }
    }

    /// Returns the colour of cell (i, j) in linear light.
    pub fn cell(&self, i: usize, j: usize) -> Linear {
        self.cell_in(i, j, self.light(i, j))
    }

    /// Returns the colour of cell (i, j) in the given light.
    fn cell_in(&self, i: usize, j: usize, light: Linear) -> Linear {
        let ground = self.relief.heights[(i, j)];
        let [low, high] = self.brush.range;
        let dry = self.frozen(i, j, lit(self.land.at((ground - low) / (high - low)), light), light);
        let depth = self.relief.depth(i, j);
        let share = self.relief.flooded_share(i, j);
        if share > 0.0 && self.relief.sea.is_none_or(|level| ground >= level) {
            return soften(mix(dry, self.pool(i, j, dry, depth), share));
        }
        if depth <= 0.0 {
            return soften(dry);
        }
        if self.relief.sea.is_some_and(|level| ground < level) {
            // The square root puts most of the change of colour in the shallows.
            let blue = self.sea.at(1.0 - (depth / self.deepest).sqrt());
            let foam = if self.on_shore(i, j) { 0.4 } else { 0.0 };
            return soften(mix(lit(blue, mix([1.0; 3], light, THROUGH)), SHORE, foam));
        }
        // Rivers are a clear blue and lakes darker, the same on every map.
        let blue = self.sea.at(0.72 - 0.5 * depth / (depth + DEEP));
        soften(mix(dry, blue, depth / (depth + MURKY)))
    }

    /// Returns the colour of terrain, whose own colour is `dry`, under its ice: white where it is gentle, blue where
    /// it is steep and broken, with a light of its own in addition to that of the sky.
    fn frozen(&self, i: usize, j: usize, dry: Linear, light: Linear) -> Linear {
        let thickness = self.relief.ice(i, j);
        if thickness <= 0.0 {
            return dry;
        }
        let [east, north] = gradient(&self.relief.heights, self.relief.cell, i, j).map(|g| g * self.brush.exaggeration);
        let steep = east * east + north * north;
        let ice = mix(FIRN, BARE_ICE, steep / (steep + BROKEN * BROKEN));
        mix(dry, lit(ice, mix(light, INSIDE, GLOW)), thickness / (thickness + VEIL))
    }

    /// Returns the colour of standing water over terrain whose own colour is `dry`: dark blue depending on depth,
    /// without relief shading because its surface is level, with a slight reflection of the sky that increases
    /// towards the sun.
    fn pool(&self, i: usize, j: usize, dry: Linear, depth: f32) -> Linear {
        let blue = self.sea.at(0.60 - 0.50 * depth / (depth + DARK));
        let under = (self.shadow[(i, j)] - depth).max(0.0) * self.brush.exaggeration / (1.5 * self.relief.cell[0]);
        let light = 1.0 - SUN * (1.0 - SHADE) * under.min(1.0);
        let [rows, cols] = self.relief.size();
        let toward = |at: usize, n: usize, sun: f32| 0.5 + (at as f32 / n as f32 - 0.5) * sun;
        let near = 0.5 * (toward(i, rows, -self.lights[0][1]) + toward(j, cols, self.lights[0][0]));
        let water = mix(blue.map(|c| c * light), SKYLIGHT, (0.02 + 0.12 * near * near) * light);
        mix(water, dry, SHALLOW / (1.0 + depth))
    }

    /// Returns the light on cell (i, j): the sun with its shadow, two side lights, and the visible sky. It is 1 on
    /// flat open terrain.
    pub fn light(&self, i: usize, j: usize) -> Linear {
        let open = bilinear(&self.sky, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0);
        let lamps = self.lamps();
        lamps.light(gradient(&self.relief.heights, self.relief.cell, i, j), self.shadow[(i, j)], open)
    }

    fn lamps(&self) -> Lamps {
        let [down, across] = self.relief.cell;
        Lamps { lights: self.lights, exaggeration: self.brush.exaggeration, penumbra: 1.5 * down.max(across) }
    }

    /// Computes the light on all cells of row `i`, equal to that of [`Painter::light`].
    fn light_row(&self, i: usize, lights: &mut Lights) {
        let (heights, [down, across]) = (&self.relief.heights, self.relief.cell);
        let (north, south) = (i.saturating_sub(1), (i + 1).min(heights.rows() - 1));
        finer_row(&self.sky, i, &mut lights.open);
        let rows = [heights.row(north), heights.row(i), heights.row(south)];
        let spans = [8.0 * across, ((south - north).max(1) as f32) * 4.0 * down];
        light_between(rows, spans, self.shadow.row(i), &self.lamps(), lights);
        for j in [0, heights.cols() - 1] {
            [lights.red[j], lights.green[j], lights.blue[j]] = self.light(i, j);
        }
    }

    /// Returns true if a neighbour of this sea cell is land.
    fn on_shore(&self, i: usize, j: usize) -> bool {
        let [rows, cols] = self.relief.size();
        let level = self.relief.sea.unwrap_or(f32::MIN);
        let land = |r: usize, c: usize| r < rows && c < cols && self.relief.heights[(r, c)] >= level;
        land(i.wrapping_sub(1), j) || land(i + 1, j) || land(i, j.wrapping_sub(1)) || land(i, j + 1)
    }
}

/// The light on a row of cells, by colour, and the share of the sky that is visible from them.
pub struct Lights {
    open: Vec<f32>,
    red: Vec<f32>,
    green: Vec<f32>,
    blue: Vec<f32>,
}

impl Lights {
    /// Creates buffers for rows of `cols` cells.
    pub fn new(cols: usize) -> Self {
        let dark = || vec![0.0; cols];
        Self { open: dark(), red: dark(), green: dark(), blue: dark() }
    }
}

/// The light sources.
struct Lamps {
    /// The directions towards the sun and the two side lights.
    lights: [[f32; 3]; 3],
    exaggeration: f32,
    /// The depth in metres below the shadow's edge at which the shadow is full.
    penumbra: f32,
}

impl Lamps {
    /// Returns the light on a surface with the given rise per metre eastward and northward, depth in shadow, and
    /// visible share of the sky.
    #[inline(always)]
    fn light(&self, [east, north]: [f32; 2], shadow: f32, open: f32) -> Linear {
        let n = normal([east * self.exaggeration, north * self.exaggeration]);
        let flat = self.lights[0][2];
        let under = shadow * self.exaggeration / self.penumbra;
        let sun = SUN * lambert(n, self.lights[0]) / flat * (1.0 - (1.0 - SHADE) * under.min(1.0));
        let side = SIDE * (lambert(n, self.lights[1]) + lambert(n, self.lights[2])) / (2.0 * flat);
        let sky = SKY * (0.5 + 0.5 * n[2]) * open * open;
        let tinted = |warm: f32| sun * warm + side + sky * (1.0 + (1.0 - warm) * SUN / SKY);
        [tinted(WARM[0]), tinted(WARM[1]), tinted(WARM[2])]
    }
}

/// Computes the light on the cells of a row that have neighbours on both sides. The three rows are the one above, the
/// row itself, and the one below; `spans` are the divisors in [`gradient`].
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2"))]
fn light_between([top, here, bottom]: [&[f32]; 3], spans: [f32; 2], shadow: &[f32], lamps: &Lamps, out: &mut Lights) {
    let cols = here.len();
    let (top, bottom, shadow) = (&top[..cols], &bottom[..cols], &shadow[..cols]);
    let (open, red, green, blue) =
        (&out.open[..cols], &mut out.red[..cols], &mut out.green[..cols], &mut out.blue[..cols]);
    for j in 1..cols.saturating_sub(1) {
        let eastward = (top[j + 1] - top[j - 1]) + 2.0 * (here[j + 1] - here[j - 1]) + (bottom[j + 1] - bottom[j - 1]);
        let northward = (top[j - 1] - bottom[j - 1]) + 2.0 * (top[j] - bottom[j]) + (top[j + 1] - bottom[j + 1]);
        let light = lamps.light([eastward / spans[0], northward / spans[1]], shadow[j], open[j]);
        (red[j], green[j], blue[j]) = (light[0], light[1], light[2]);
    }
}

/// Compresses light above 0.8 towards 1, so that sunlit snow keeps its shading.
fn soften(colour: Linear) -> Linear {
    colour.map(|x| {
        let over = (x - 0.8) / 0.2;
        if over > 0.0 { 0.8 + 0.2 * over / (1.0 + over) } else { x }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::shade::{ShadeOptions, brush};
    use crate::pictures::water::Water;
    use thalweg_core::base::rng::Key;
    use thalweg_core::{Grid, Height, Terrain};

    #[test]
    fn a_row_has_the_colours_of_its_cells() {
        for (number, size) in [[1, 1], [1, 9], [9, 1], [2, 2], [33, 70], [64, 51]].into_iter().enumerate() {
            let key = Key::new(number as u64, "rows");
            let at = |part: u64| move |i: usize, j: usize| key.and(part).cell([i as i64, j as i64]).unit();
            let deep = |part: u64, most: f64| {
                Field::generate(size, |i, j| Height::saturating(most * at(part)(i, j) - 0.6 * most))
            };
            let mut terrain = Terrain::new(Grid::new(size, 20.0).unwrap());
            terrain.ground = Field::generate(size, |i, j| Height::saturating(90.0 * at(1)(i, j) + 10.0 * j as f64));
            let (pools, ice) = (deep(2, 40.0), deep(3, 30.0));
            for sea in [None, Some(Height::saturating(60.0))] {
                for water in [Water::default(), Water { pools: Some(&pools), ice: Some(&ice), ..Water::default() }] {
                    terrain.grid.sea_level = sea;
                    let relief = Relief::flooded(&terrain, &water).unwrap();
                    let ShadeOptions { ramp, sun, .. } = ShadeOptions::default();
                    let painter = Painter::new(&relief, brush(&relief, ramp, sun, None, None).unwrap());
                    let mut lights = Lights::new(size[1]);
                    for i in 0..size[0] {
                        let mut row = vec![[0.0; 3]; size[1]];
                        painter.row(i, &mut lights, &mut row);
                        for (j, colour) in row.iter().enumerate() {
                            assert_eq!(*colour, painter.cell(i, j), "{size:?}, {sea:?}: {i}, {j}");
                        }
                    }
                }
            }
        }
    }
}
