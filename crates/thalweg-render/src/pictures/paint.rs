//! The colours of lit ground and water: what both the shaded map and the perspective view are painted with.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::pictures::colour::{Linear, lit, mix};
use crate::pictures::light::{Sun, gradient, lambert, normal, shadow, sky};
use crate::pictures::ramps::{ColourTable, Ramp};
use crate::pictures::relief::{Relief, Sampled};
use crate::pictures::sample::{bilinear, finer_row};
use crate::pictures::streams::STREAM;
use thalweg_core::{Field, Size};

/// The sun's share of the light on flat open ground. The three shares sum to 1, so flat ground shows the ramp's own colour.
pub const SUN: f32 = 0.70;
/// The side lights' share.
pub const SIDE: f32 = 0.08;
/// The sky's share of the light.
pub const SKY: f32 = 0.22;
/// Factors on the sun's light: it is a little warm, the sky as much cooler as makes the sum white on flat ground.
pub const WARM: Linear = [1.05, 1.0, 0.90];
/// How far the side lights stand to either side of the sun, in degrees of azimuth.
pub const ASIDE: f64 = 75.0;
/// Share of the sun that is left in full shadow.
pub const SHADE: f32 = 0.35;
/// Share of the light and shade on the bed that is seen through the sea.
pub const THROUGH: f32 = 0.45;
/// Depth in metres at which a layer's water hides half of the ground.
pub const MURKY: f32 = 0.25;
/// Depth in metres at which it is halfway to its darkest.
const DEEP: f32 = 25.0;
/// Depth in metres at which a pool is halfway to its darkest.
pub const DARK: f32 = 10.0;
/// Share of the bed's light that a pool's shallows let through.
pub const SHALLOW: f32 = 0.16;
/// The sky in standing water.
pub const SKYLIGHT: Linear = [0.50, 0.64, 0.78];
/// Snow on ice, and the blue of ice that is bare or broken.
pub const FIRN: Linear = [0.86, 0.91, 0.96];
/// See [`FIRN`].
pub const BARE_ICE: Linear = [0.50, 0.70, 0.84];
/// Thickness in metres at which ice hides half of the ground.
pub const VEIL: f32 = 2.0;
/// Share of its light that ice gets from inside, whatever the sun does: it glows blue where it is shaded.
pub const GLOW: f32 = 0.35;
/// What that light is.
pub const INSIDE: Linear = [0.78, 0.90, 1.02];
/// Slope, exaggerated, rise over run, at which half of the ice is broken.
pub const BROKEN: f32 = 0.8;
/// Foam along the sea's shore.
pub const SHORE: Linear = [0.80, 0.87, 0.86];

/// How to paint.
#[derive(Debug, Clone, Copy)]
pub struct Brush {
    /// The tint of dry ground.
    pub ramp: &'static Ramp,
    /// Heights in metres of the ramp's ends, the low one first.
    pub range: [f32; 2],
    /// The sun.
    pub sun: Sun,
    /// Factor on heights for the light.
    pub exaggeration: f32,
}

/// A relief ready to be painted cell by cell.
pub struct Painter<'a> {
    relief: &'a Relief,
    brush: Brush,
    land: ColourTable,
    sea: ColourTable,
    /// Depth of the sea's darkest blue in metres.
    deepest: f32,
    lights: [[f32; 3]; 3],
    sky: Field<f32>,
    shadow: Field<f32>,
    streams: Option<Field<f32>>,
}

impl<'a> Painter<'a> {
    /// Works out sky and shadow.
    pub fn new(relief: &'a Relief, brush: Brush) -> Self {
        let sky = sky(&relief.heights, relief.cell, brush.exaggeration);
        let shadow = shadow(&relief.heights, relief.cell, brush.sun, brush.exaggeration);
        Self::under(relief, brush, Sampled::of(relief).deepest(), sky, shadow)
    }

    /// The same under a sky and in a shadow that are known: the first of cells twice as wide, the other by cell.
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

    /// The same with streams that cover such a share of each cell, 0 to 1, for [`Painter::paint`].
    #[must_use]
    pub fn with_streams(self, streams: Option<Field<f32>>) -> Self {
        Self { streams, ..self }
    }

    /// The whole relief's colours, one a cell, streams over them; holes are black.
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

    /// The colours of row `i`, one a column, each as [`Painter::cell`] has it; `lights` are for rows of the relief's
    /// length.
    pub fn row(&self, i: usize, lights: &mut Lights, out: &mut [Linear]) {
        self.light_row(i, lights);
        let [low, high] = self.brush.range;
        // Without other water than the sea's what stands above it is dry.
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

    /// The colour of cell (i, j), in linear light.
    pub fn cell(&self, i: usize, j: usize) -> Linear {
        self.cell_in(i, j, self.light(i, j))
    }

    /// The colour of cell (i, j) in the light that falls on it.
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
            // Square root: most of the change of colour is in the shallows.
            let blue = self.sea.at(1.0 - (depth / self.deepest).sqrt());
            let foam = if self.on_shore(i, j) { 0.4 } else { 0.0 };
            return soften(mix(lit(blue, mix([1.0; 3], light, THROUGH)), SHORE, foam));
        }
        // Rivers a clear blue, lakes darker, the same on every map.
        let blue = self.sea.at(0.72 - 0.5 * depth / (depth + DEEP));
        soften(mix(dry, blue, depth / (depth + MURKY)))
    }

    /// Ground that looks `dry`, under the ice that lies on it: white where it is gentle, blue where it breaks, in a light of
    /// its own beside that of the sky.
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

    /// The colour of standing water over ground that looks `dry`: dark blue by its depth, level, a little sky in it, more
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

    /// Light on cell (i, j): sun with its shadow, two side lights, and the sky it sees. It is 1 on flat open ground.
    pub fn light(&self, i: usize, j: usize) -> Linear {
        let open = bilinear(&self.sky, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0);
        let lamps = self.lamps();
        lamps.light(gradient(&self.relief.heights, self.relief.cell, i, j), self.shadow[(i, j)], open)
    }

    fn lamps(&self) -> Lamps {
        let [down, across] = self.relief.cell;
        Lamps { lights: self.lights, exaggeration: self.brush.exaggeration, penumbra: 1.5 * down.max(across) }
    }

    /// Light on all cells of row `i`, as [`Painter::light`] has it.
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

    /// Whether a neighbour of this cell of the sea is land.
    fn on_shore(&self, i: usize, j: usize) -> bool {
        let [rows, cols] = self.relief.size();
        let level = self.relief.sea.unwrap_or(f32::MIN);
        let land = |r: usize, c: usize| r < rows && c < cols && self.relief.heights[(r, c)] >= level;
        land(i.wrapping_sub(1), j) || land(i + 1, j) || land(i, j.wrapping_sub(1)) || land(i, j + 1)
    }
}

/// The light on a row of cells, by colour, and the share of the sky that they see.
pub struct Lights {
    open: Vec<f32>,
    red: Vec<f32>,
    green: Vec<f32>,
    blue: Vec<f32>,
}

impl Lights {
    /// For rows of so many cells.
    pub fn new(cols: usize) -> Self {
        let dark = || vec![0.0; cols];
        Self { open: dark(), red: dark(), green: dark(), blue: dark() }
    }
}

/// What light falls with.
struct Lamps {
    /// Towards the sun and the side lights.
    lights: [[f32; 3]; 3],
    exaggeration: f32,
    /// Depth in metres under the shadow's edge at which shadow is full.
    penumbra: f32,
}

impl Lamps {
    /// Light on ground that rises so per metre eastward and northward, so deep in shadow, that sees so much of the sky.
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

/// Light on the cells of a row that have neighbours to both sides; `rows` are the one above, their own, and the one below, and `spans` what
/// [`gradient`] divides by.
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

/// Bends light over 0.8 towards 1, so that sunlit snow keeps its shape.
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
