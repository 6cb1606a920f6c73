//! The colours of lit ground and water: what both the shaded map and the perspective view are painted with.

use crate::pictures::colour::{Linear, lit, mix};
use crate::pictures::light::{Sun, gradient, lambert, normal, shadow, sky};
use crate::pictures::ramps::{ColourTable, Ramp};
use crate::pictures::relief::{Relief, Sampled};
use crate::pictures::sample::bilinear;
use crate::pictures::streams::STREAM;
use crate::terrain::field::{Field, Size};

/// The sun's share of the light on flat open ground. The three shares sum to 1, so flat ground shows the ramp's own colour.
pub const SUN: f32 = 0.70;
/// The side lights' share.
pub const SIDE: f32 = 0.08;
/// The sky's share of the light.
pub const SKY: f32 = 0.22;
/// The sun is a little warm, the sky as much cooler as makes the sum white on flat ground.
pub const WARM: Linear = [1.05, 1.0, 0.90];
/// How far the side lights stand from the sun, in degrees.
pub const ASIDE: f64 = 75.0;
/// Share of the sun that is left in full shadow.
pub const SHADE: f32 = 0.35;
/// Share of the bed's light that is seen through the sea.
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
    /// Heights in metres of the ramp's ends.
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
    pub(crate) fn under(relief: &'a Relief, brush: Brush, deepest: f32, sky: Field<f32>, shadow: Field<f32>) -> Self {
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

    /// The same with streams that cover so much of each cell, for [`Painter::paint`].
    #[must_use]
    pub fn with_streams(self, streams: Option<Field<f32>>) -> Self {
        Self { streams, ..self }
    }

    /// The whole relief's colours, one a cell, streams over them; holes are black.
    pub fn paint(&self) -> Field<Linear> {
        let size: Size = self.relief.size();
        let cover = |i: usize, j: usize| self.streams.as_ref().map_or(0.0, |cover| cover[(i, j)]);
        Field::generate(size, |i, j| match self.relief.is_hole(i, j) {
            true => [0.0; 3],
            false => mix(self.cell(i, j), STREAM, cover(i, j)),
        })
    }

    /// The colour of cell (i, j), in linear light.
    pub fn cell(&self, i: usize, j: usize) -> Linear {
        let ground = self.relief.heights[(i, j)];
        let light = self.light(i, j);
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

    /// Light on cell (i, j): sun with its shadow, two side lights, and the sky it sees.
    pub fn light(&self, i: usize, j: usize) -> Linear {
        let exaggeration = self.brush.exaggeration;
        let cell = self.relief.cell;
        let n = normal(gradient(&self.relief.heights, cell, i, j).map(|g| g * exaggeration));
        let flat = self.lights[0][2];
        let under = self.shadow[(i, j)] * exaggeration / (1.5 * cell[0].max(cell[1]));
        let sun = SUN * lambert(n, self.lights[0]) / flat * (1.0 - (1.0 - SHADE) * under.min(1.0));
        let side = SIDE * (lambert(n, self.lights[1]) + lambert(n, self.lights[2])) / (2.0 * flat);
        let open = bilinear(&self.sky, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0);
        let sky = SKY * (0.5 + 0.5 * n[2]) * open * open;
        std::array::from_fn(|c| sun * WARM[c] + side + sky * (1.0 + (1.0 - WARM[c]) * SUN / SKY))
    }

    /// Whether a neighbour of this cell of the sea is land.
    fn on_shore(&self, i: usize, j: usize) -> bool {
        let [rows, cols] = self.relief.size();
        let level = self.relief.sea.unwrap_or(f32::MIN);
        let land = |r: usize, c: usize| r < rows && c < cols && self.relief.heights[(r, c)] >= level;
        land(i.wrapping_sub(1), j) || land(i + 1, j) || land(i, j.wrapping_sub(1)) || land(i, j + 1)
    }
}

/// Bends light over 0.8 towards 1, so that sunlit snow keeps its shape.
fn soften(colour: Linear) -> Linear {
    colour.map(|x| {
        let over = (x - 0.8) / 0.2;
        if over > 0.0 { 0.8 + 0.2 * over / (1.0 + over) } else { x }
    })
}
