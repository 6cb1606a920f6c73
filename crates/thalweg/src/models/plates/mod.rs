//! A continent of plates: see [`Plates`].

mod motion;

use crate::base::error::Result;
use crate::base::rng::Key;
use crate::model::{About, Blend, Budget, Family, Model, Reach, Stepper, Tick};
use crate::models::plates::motion::{Here, Motion};
use crate::noise::fractal::{Fractal, FractalSettings};
use crate::params;
use crate::process::base::{AMOUNT, STEP_CELLS, band, bands, lay};
use crate::process::between::between;
use crate::process::coarse;
use crate::terrain::field::Field;
use crate::terrain::grid::Grid;
use crate::terrain::{Cells, ERODIBILITY, Terrain, UPLIFT};

params! {
    /// Lays a continent of plates on the map: lowlands, shelf, slope and deep sea; and says where the land rises, for rivers to cut.
    ///
    /// Plates are the cells of points scattered one to a square of `spacing`, read at places carried aside by noise (`warp`). Each has a crust, of land or
    /// of sea, a drift and a rock. Of each plate the weight is e^(−d²/`belt`·spacing²), d the distance to its point; crust c, drift v and rock are
    /// weighted means, so that −∇·v is how fast plates close up: along some of their boundaries, in belts. Land is where
    /// C = c + `rough`·n + 0.12·(−∇·v, 0 to 3) − r is over 0: n is noise, r grows from the middle of the map to its rim by the distance in an oval that is drawn for
    /// each map, and holds the rim under the sea. Elevation: height·C^1.4 on land, and 45 m a little inland, 0 to −shelf from C = 0 to −0.22, then down to −depth. Where plates part
    /// faster than 1.2 a rift sinks.
    ///
    /// The factors of the uplift: 0.1 to 0.26 on plains, by broad noise; up to 2 in belts where plates close up; up to 0.3 where they slide
    /// past one another. Those of the erodibility: 2^(0.6·rock).
    ///
    /// Source: ours; points and cells after Worley (1996, doi:10.1145/237170.237267); that relief follows from the convergence of plates, Dewey & Bird
    /// (1970, *Mountain belts and the new global tectonics*, doi:10.1029/JB075i014p02625); plates moved to make worlds: Cortial et al. (2019, *Procedural tectonic
    /// planets*, doi:10.1111/cgf.13614). We differ: nothing moves; what is laid is where uplift is, at one time.
    ///
    /// It needs nothing, heeds `amount`, and leaves the ground, `uplift` and `erodibility`, which `stream_power` takes. A function of world metres for one
    /// extent. It breaks on maps narrower than two plates, which have one coast or none; alone it has neither mountains nor rivers.
    pub struct Plates {
        /// Mean distance between the middles of plates.
        spacing: f64 = 470_000.0, within 1.0..=1e8, unit "m", scales Size, source "ours";
        /// How widely plates blend where they meet, of the spacing's square: broader belts.
        belt: f64 = 0.15, within 0.02..=1.0, unit "1", source "ours";
        /// How far boundaries are carried aside (three standard deviations).
        warp: f64 = 330_000.0, within 0.0..=1e7, unit "m", scales Size, source "ours";
        /// Distance over which the warp turns most.
        warp_wavelength: f64 = 420_000.0, within 1.0..=1e8, unit "m", scales Size, source "ours";
        /// How ragged coasts are.
        rough: f64 = 0.27, within 0.0..=2.0, unit "1", source "ours";
        /// Distance over which coasts vary most.
        rough_wavelength: f64 = 520_000.0, within 1.0..=1e8, unit "m", scales Size, source "ours";
        /// Radius of the land, of half the shorter side: more is more land.
        radius: f64 = 1.0, within 0.05..=2.0, unit "1", source "ours";
        /// Elevation of the lowlands far from the coast, before anything rises.
        height: f64 = 420.0, within 0.0..=8000.0, unit "m", scales Relief, source "ours";
        /// Depth of the shelf's edge.
        shelf: f64 = 170.0, within 0.0..=8000.0, unit "m", scales Relief, source "ours; on Earth about 130 m";
        /// Depth of the open sea.
        depth: f64 = 3800.0, within 0.0..=12_000.0, unit "m", scales Relief, source "Earth's mean: 3 700 m";
        /// Factor of all uplift in the layer.
        uplift: f64 = 1.0, within 0.0..=100.0, unit "1", source "ours";
        /// How the values meet the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

/// Octaves of warp and coast, as far as the grid carries them.
const OCTAVES: u32 = 14;

/// Width of the cells on which the layers are worked out, in spacings.
const STRIDE: f64 = 1.0 / 64.0;

/// How high the land stands a little inland, in metres: else swells would open it to the sea far from the coast.
const SHORE: f32 = 45.0;

/// Most squares of plates along a side of the map.
const MOST_SQUARES: usize = 512;

/// A step from 0 to 1, smooth at both ends.
fn step(from: f32, to: f32, x: f32) -> f32 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// A continent on cells of one width.
struct Continent<'a> {
    model: &'a Plates,
    motion: Motion,
    east: Fractal,
    south: Fractal,
    coast: Fractal,
    swells: Fractal,
    /// Metres to the middle of the map, east and south, and to its rim.
    middle: [f64; 2],
    half: [f64; 2],
    oval: Oval,
    spacing: f64,
}

/// The oval in which a continent lies.
#[derive(Debug, Clone, Copy)]
struct Oval {
    middle: [f64; 2],
    axis: [f64; 2],
    radii: [f64; 2],
}

impl Oval {
    /// Distance from the middle, 1 on the rim: |a|^2.6 + |b|^2.6.
    fn distance(&self, [x, y]: [f64; 2]) -> f32 {
        let [x, y] = [x - self.middle[0], y - self.middle[1]];
        let along = (x * self.axis[0] + y * self.axis[1]) / self.radii[0];
        let across = (y * self.axis[0] - x * self.axis[1]) / self.radii[1];
        // Between the circle of exponent 2 and the rounded square of 4: the mean of their distances.
        let (a, b) = (along * along, across * across);
        (0.6 * (a + b).sqrt() + 0.4 * (a * a + b * b).sqrt().sqrt()) as f32
    }
}

/// What is known of a place.
struct Place {
    here: Here,
    /// Over 0 is land.
    crust: f32,
    /// Broad noise of deviation 1.
    swell: f32,
}

impl<'a> Continent<'a> {
    fn new(model: &'a Plates, grid: &Grid, key: Key) -> Self {
        let [height, width] = grid.extent();
        // A map that is much wider than a plate has as many plates as can be held.
        let spacing = model.spacing.max(width.max(height) / MOST_SQUARES as f64);
        let half = [0.5 * width, 0.5 * height];
        let reach = model.radius * half[0].min(half[1]);
        let (sin, cos) = libm::sincos(std::f64::consts::PI * key.and(10).unit());
        let shift = [11, 12].map(|k| 0.08 * key.and(k).signed());
        let oval = Oval {
            middle: [half[0] * (1.0 + shift[0]), half[1] * (1.0 + shift[1])],
            axis: [cos, sin],
            radii: [reach, reach * (0.65 + 0.35 * key.and(13).unit())],
        };
        let is_far = |middle: [f64; 2]| f64::from(step(0.35, 1.1, oval.distance(middle.map(|x| x * spacing))));
        let squares = (width.max(height) / spacing).ceil() as usize;
        let noise = |wavelength: f64, gain: f64, part: u64| {
            Fractal::new(&FractalSettings::fbm(OCTAVES, wavelength, gain), None, key.and(part), grid.cell)
        };
        Self {
            model,
            motion: Motion::new(squares, model.belt, key.and(0), is_far),
            east: noise(model.warp_wavelength, 0.55, 1),
            south: noise(model.warp_wavelength, 0.55, 2),
            coast: noise(model.rough_wavelength, 0.5, 3),
            swells: noise(1.5 * model.spacing, 0.4, 4),
            middle: half,
            half,
            oval,
            spacing,
        }
    }

    /// Calls `each` with column and place for all of a row.
    fn row(&self, grid: &Grid, i: usize, mut each: impl FnMut(usize, Place)) {
        let cols = grid.cols();
        let line = |noise: &Fractal| {
            let mut line = vec![0.0; cols];
            noise.row(grid, i, &mut line);
            line
        };
        let [east, south, coast, swells] = [&self.east, &self.south, &self.coast, &self.swells].map(line);
        let y = grid.y(i);
        for j in 0..cols {
            let x = grid.x(j);
            let carried = [x + self.model.warp * f64::from(east[j]), y + self.model.warp * f64::from(south[j])];
            let here = self.motion.at(carried.map(|x| (x / self.spacing) as f32));
            // Noise of deviation 1/3.
            let noise = 3.0 * coast[j];
            let far = step(0.35, 1.1, self.oval.distance(carried));
            let rough = self.model.rough as f32 * noise;
            let arcs = 0.12 * here.closing.clamp(0.0, 3.0);
            let inland = here.crust + rough + 0.25 - 0.9 * far + arcs;
            // The rim is held under the sea, along a line that noise bends.
            let rim = self.rim_distance(carried).min(self.rim_distance([x, y])) + 0.02 * noise;
            let rim = step(0.01, 0.12, rim.min(2.0 * self.rim_distance([x, y])));
            let crust = inland - 3.0 * (1.0 - rim);
            each(j, Place { here, crust, swell: 3.0 * swells[j] });
        }
    }

    /// Distance from the map's rim in widths of it.
    fn rim_distance(&self, place: [f64; 2]) -> f32 {
        let along = |axis: usize| 0.5 - 0.5 * (place[axis] - self.middle[axis]).abs() / self.half[axis];
        along(0).min(along(1)) as f32
    }

    /// Elevation in metres.
    fn elevation(&self, Place { here, crust, .. }: &Place) -> f32 {
        let model = self.model;
        let [height, shelf, depth] = [model.height, model.shelf, model.depth].map(|x| x as f32);
        if *crust > 0.0 {
            // x^1.4 by a parabola and a line: within 3 %.
            let land = height * crust * (0.28 + 0.72 * crust.min(1.0)) + SHORE * step(0.0, 0.06, *crust);
            let rift = step(1.2, 3.0, -here.closing);
            return land - 0.6 * rift * land.min(300.0);
        }
        let down = -*crust;
        let deep = 0.85 * step(0.22, 0.6, down) + 0.15 * step(0.5, 1.6, down);
        -shelf * (down / 0.22).min(1.0) - (depth - shelf).max(0.0) * deep
    }

    /// Factor of the uplift.
    fn uplift(&self, Place { here, swell, .. }: &Place) -> f32 {
        let closing = (here.closing - 0.25).max(0.0) / 2.2;
        let belt = 1.1 * closing / (1.0 + 0.45 * closing);
        let sliding = 0.3 * step(0.8, 4.0, here.sliding);
        let sinking = step(0.6, 2.0, -here.closing);
        let plain = 0.1 + 0.16 * step(-0.5, 2.0, *swell);
        self.model.uplift as f32 * (plain * (1.0 - 0.8 * sinking) + belt + sliding)
    }
}

impl Model for Plates {
    fn about(&self) -> About {
        About {
            name: "plates",
            summary: "A continent of plates: lowlands, shelf and deep sea, and where the land rises.",
            source: "ours; Dewey & Bird (1970), Mountain belts and the new global tectonics",
            family: Family::Base,
            needs: &[],
            uses: &[AMOUNT],
            writes: &[UPLIFT, ERODIBILITY],
            tables: &[],
            placed: true,
            loops: false,
        }
    }

    fn blend(&self) -> Blend {
        self.blend
    }

    fn steps(&self, grid: &Grid) -> u32 {
        bands(grid, BAND) + 1
    }

    fn reach(&self, _: &Grid) -> Reach {
        Reach::Whole
    }

    fn start(&self, _: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(Laying(self.clone())))
    }
}

/// Cells of a step.
const BAND: u64 = STEP_CELLS / 8;

struct Laying(Plates);

impl Stepper for Laying {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<Budget> {
        let grid = terrain.grid.clone();
        if tick.step < bands(&grid, BAND) {
            let continent = Continent::new(&self.0, &grid, tick.key);
            let span = [-self.0.depth, self.0.height];
            return Ok(lay(terrain, band(&grid, BAND, tick.step), self.0.blend, span, |i, row| {
                continent.row(&grid, i, |j, place| row[j] = continent.elevation(&place));
            }));
        }
        let longest = grid.rows().max(grid.cols());
        let factor = (self.0.spacing * STRIDE / grid.cell).round().clamp(1.0, longest as f64) as usize;
        let small = coarse::grid(&grid, factor);
        let continent = Continent::new(&self.0, &small, tick.key);
        let mut uplift = Field::new(small.size, 0.0f32);
        let mut erodibility = Field::new(small.size, 0.0f32);
        for i in 0..small.rows() {
            continent.row(&small, i, |j, place| {
                uplift[(i, j)] = continent.uplift(&place);
                erodibility[(i, j)] = crate::base::power::exp2(0.6 * place.here.weakness);
            });
        }
        for (spec, values) in [(UPLIFT, uplift), (ERODIBILITY, erodibility)] {
            terrain.insert(&spec, Cells::Float(between(&values, &small, &grid)))?;
        }
        Ok(Budget::default())
    }
}
