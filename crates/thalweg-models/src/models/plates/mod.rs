//! A continent of plates: see [`Plates`].

mod basins;
mod motion;

use rayon::prelude::*;

use crate::model::{About, Blend, Family, MassBalance, Model, StepReach, Stepper, Tick};
use crate::models::plates::basins::{Basin, Basins, Site};
use crate::models::plates::motion::{Here, Motion};
use crate::process::base::{AMOUNT, STEP_CELLS, add_to_ground, band_count, band_rows};
use crate::process::between::between;
use crate::process::coarse;
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::{Cells, ERODIBILITY, UPLIFT};
use thalweg_core::{Error, Extent, Field, Grid, Point, Result, Terrain, params};
use thalweg_noise::fractal::{Fractal, FractalSettings};

params! {
    /// Lays a continent of plates on the map: lowlands, shelf, slope and deep sea, falling towards the mouths of a few great rivers; and
    /// says where the land rises and how hard it is, for rivers to cut.
    ///
    /// Plates are the cells of points scattered one to a square of `spacing`, read at places carried aside by noise (`warp`). Each
    /// has a crust, of land or of sea, a drift and a rock. Of each plate the weight is e^(−d²/(`belt`·`spacing`²)), d the distance to
    /// its point; crust c, drift v and rock are weighted means, so that −∇·v is how fast plates close up. Land is where
    /// C = 0.3 + c + `rough`·n + 0.12·(−∇·v, 0 to 3) − r is over 0: n is noise, r grows from the middle of the map to its rim by the distance in an oval that is drawn for
    /// each map, and holds the rim under the sea. What lies 1.5 to 4 cells of the lattice inland is held over it.
    ///
    /// The continent drifts one way. On the lattice, 128 cells along the map's longer side, `mouths` cells of its coast are drawn, apart from one another and
    /// rather on the side that it leaves behind. A cell's way w is the least cost of a path to one of them, over the greatest: a path is
    /// dearer in belts, on the side that leads, up to six times so beside a coast (within `rim`), and by noise; each mouth after the first counts as farther off. So a few basins
    /// drain the land inside, the first most. Elevation: 45 m a little inland, and height·w·(1 + w)/2, from the coast on over 0.9 rims, with `hills`;
    /// 0 to −shelf from C = 0 to −0.22, then down to −depth. Where plates part faster than 1.2 a rift sinks.
    ///
    /// The factors of the uplift: 0.05 to 0.13 on plains and shields, about 1 in the range along the coast that leads and in belts where plates close up inland,
    /// both in folds along them, up to 0.3 on rims a little inland of the other coasts, least where a great river goes out. Those of the erodibility: 2^(0.4·rock),
    /// half on rims, more in young ranges, and in folds of hard and soft rock.
    ///
    /// Source: ours; points and cells after Worley (1996, doi:10.1145/237170.237267); that relief follows from the convergence of plates, Dewey & Bird
    /// (1970, *Mountain belts and the new global tectonics*, doi:10.1029/JB075i014p02625); plates moved to make worlds: Cortial et al. (2019, *Procedural tectonic
    /// planets*, doi:10.1111/cgf.13614); that great rivers fall from the active side of a continent to the passive one, by few mouths: Potter (1978, *Significance and origin of
    /// big rivers*, Journal of Geology 86); rims of passive margins: Summerfield (1991, *Global geomorphology*). We differ: nothing moves; what is laid is where uplift is, at one time.
    ///
    /// It needs nothing, heeds `amount`, and leaves the ground, `uplift` and `erodibility`, which `stream_power` takes. A function of world metres for one
    /// extent. It breaks on maps narrower than two plates, which have one coast or none; alone it has neither mountains nor rivers. Where rivers cut for tens of
    /// millions of years, divides move and basins with them.
    pub struct Plates {
        /// Mean distance between the middles of plates.
        spacing: f64 = 470_000.0, within 1.0..=1e8, unit "m", scales Size, source "ours";
        /// Square of the distance over which plates blend where they meet, over the spacing's square: more is broader belts.
        belt: f64 = 0.15, within 0.02..=1.0, unit "1", source "ours";
        /// How far boundaries are carried aside (three standard deviations).
        warp: f64 = 330_000.0, within 0.0..=1e7, unit "m", scales Size, source "ours";
        /// Distance over which the warp turns most.
        warp_wavelength: f64 = 420_000.0, within 1.0..=1e8, unit "m", scales Size, source "ours";
        /// How ragged coasts are: standard deviation of the noise in C.
        rough: f64 = 0.27, within 0.0..=2.0, unit "1", source "ours";
        /// Distance over which coasts vary most.
        rough_wavelength: f64 = 520_000.0, within 1.0..=1e8, unit "m", scales Size, source "ours";
        /// Radius of the land, as a share of half the map's shorter side: more is more land.
        radius: f64 = 1.0, within 0.05..=2.0, unit "1", source "ours";
        /// Elevation of the lowlands far from the coast, before anything rises.
        height: f64 = 700.0, within 0.0..=8000.0, unit "m", scales Relief, source "ours";
        /// Depth of the shelf's edge.
        shelf: f64 = 170.0, within 0.0..=8000.0, unit "m", scales Relief, source "ours; on Earth about 130 m";
        /// Depth of the open sea.
        depth: f64 = 3800.0, within 0.0..=12_000.0, unit "m", scales Relief, source "Earth's mean: 3 700 m";
        /// Standard deviation of hills and swells on the lowlands, from which the first rivers take their turns.
        hills: f64 = 12.0, within 0.0..=8000.0, unit "m", scales Relief, source "ours";
        /// Width of the rims along coasts that part the land inside from the sea.
        rim: f64 = 110_000.0, within 1.0..=1e8, unit "m", scales Size, source "ours";
        /// Mouths of great rivers.
        mouths: u32 = 3, within 1..=64, unit "1", source "ours";
        /// Factor on all values of the layer `uplift`.
        uplift: f64 = 1.0, within 0.0..=100.0, unit "1", source "ours";
        /// How the values meet the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

/// Octaves of warp and coast, as far as the grid carries them.
const OCTAVES: u32 = 14;

/// Octaves of hills. Finer ones would come to ground that rivers have cut down nearly to the sea's level already, and open it to the sea
/// far inland.
const HILLS: u32 = 3;

/// Width of the cells on which the layers are worked out, in rims.
const STRIDE: f64 = 1.0 / 20.0;

/// How high the land stands a little inland, in metres: else swells would open it to the sea far from the coast.
const SHORE: f32 = 45.0;

/// Most squares of plates along a side of the map.
const MOST_SQUARES: usize = 512;

/// Least crust inside the land.
const FLOOR: f32 = 0.12;

/// Cells along the map's longer side of the lattice on which basins are laid out.
const LATTICE: usize = 128;

/// A step from 0 to 1, smooth at both ends.
fn step(from: f32, to: f32, x: f32) -> f32 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Plates and coasts on cells of one width.
struct Shape<'a> {
    model: &'a Plates,
    motion: Motion,
    east: Fractal,
    south: Fractal,
    coast: Fractal,
    swells: Fractal,
    hills: Fractal,
    /// The middle of the map, and half its extent.
    middle: Point,
    half: Extent,
    oval: Oval,
    /// Where the continent drifts to, and half the oval's width.
    heading: [f64; 2],
    reach: f64,
    spacing: f64,
}

/// A continent on cells of one width.
struct Continent<'a> {
    shape: Shape<'a>,
    basins: &'a Basins,
}

/// The oval in which a continent lies.
#[derive(Debug, Clone, Copy)]
struct Oval {
    middle: Point,
    axis: [f64; 2],
    radii: [f64; 2],
}

impl Oval {
    /// Distance from the middle, 1 on the rim: |a|^2.6 + |b|^2.6.
    fn distance(&self, point: Point) -> f32 {
        let [x, y] = [point.x - self.middle.x, point.y - self.middle.y];
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
    /// Broad noise of deviation 1, and hills of deviation 1.
    swell: f32,
    hills: f32,
    /// Towards where the continent drifts: 1 on the side that leads, −1 on the one behind.
    leading: f32,
}

impl<'a> Shape<'a> {
    fn new(model: &'a Plates, grid: &Grid, key: Key) -> Self {
        let Extent { width, height } = grid.extent();
        // A map that is much wider than a plate has as many plates as can be held.
        let spacing = model.spacing.max(width.max(height) / MOST_SQUARES as f64);
        let half = Extent { width: 0.5 * width, height: 0.5 * height };
        let reach = model.radius * half.shorter();
        let (sin, cos) = libm::sincos(std::f64::consts::PI * key.and(10).unit());
        let shift = [11, 12].map(|k| 0.06 * key.and(k).signed());
        let oval = Oval {
            middle: Point { x: half.width * (1.0 + shift[0]), y: half.height * (1.0 + shift[1]) },
            axis: [cos, sin],
            radii: [reach, reach * (0.8 + 0.2 * key.and(13).unit())],
        };
        let (south, east) = libm::sincos(std::f64::consts::TAU * key.and(14).unit());
        let is_far = |x: f64, y: f64| {
            let far = oval.distance(Point { x: x * spacing, y: y * spacing });
            f64::from(step(0.55, 1.15, far))
        };
        let squares = (width.max(height) / spacing).ceil() as usize;
        let octaves = |count: u32, wavelength: f64, gain: f64, part: u64| {
            Fractal::new(&FractalSettings::fbm(count, wavelength, gain), None, key.and(part), grid.cell)
        };
        let noise = |wavelength: f64, gain: f64, part: u64| octaves(OCTAVES, wavelength, gain, part);
        Self {
            model,
            motion: Motion::new(squares, model.belt, key.and(0), is_far),
            east: noise(model.warp_wavelength, 0.55, 1),
            south: noise(model.warp_wavelength, 0.55, 2),
            coast: noise(model.rough_wavelength, 0.5, 3),
            swells: noise(model.spacing, 0.45, 4),
            hills: octaves(HILLS, 2.0 * model.rim, 0.5, 5),
            middle: Point { x: half.width, y: half.height },
            half,
            oval,
            heading: [east, south],
            reach,
            spacing,
        }
    }

    /// Calls `each` with column and place for all of a row.
    fn row(&self, grid: &Grid, i: usize, mut each: impl FnMut(usize, Point, Place)) {
        let cols = grid.cols();
        let line = |noise: &Fractal| {
            let mut line = vec![0.0; cols];
            noise.row(grid, i, &mut line);
            line
        };
        let [east, south, coast, swells, hills] =
            [&self.east, &self.south, &self.coast, &self.swells, &self.hills].map(line);
        let y = grid.y(i);
        for j in 0..cols {
            let x = grid.x(j);
            let point = Point { x, y };
            let carried =
                Point { x: x + self.model.warp * f64::from(east[j]), y: y + self.model.warp * f64::from(south[j]) };
            let here = self.motion.at((carried.x / self.spacing) as f32, (carried.y / self.spacing) as f32);
            // Noise of deviation 1/3.
            let noise = 3.0 * coast[j];
            let far = step(0.35, 1.1, self.oval.distance(carried));
            let rough = self.model.rough as f32 * noise;
            let arcs = 0.12 * here.closing.clamp(0.0, 3.0);
            let inland = here.crust + rough + 0.3 - 0.9 * far + arcs;
            // The rim is held under the sea, along a line that noise bends.
            let rim = self.rim_distance(carried).min(self.rim_distance(point)) + 0.02 * noise;
            let rim = step(0.01, 0.12, rim.min(2.0 * self.rim_distance(point)));
            let crust = inland - 3.0 * (1.0 - rim);
            let dx = (carried.x - self.oval.middle.x) / self.reach;
            let dy = (carried.y - self.oval.middle.y) / self.reach;
            let away = (dx * dx + dy * dy).sqrt();
            let leading = ((dx * self.heading[0] + dy * self.heading[1]) / (away + 0.15)) as f32;
            each(j, point, Place { here, crust, swell: 3.0 * swells[j], hills: 3.0 * hills[j], leading });
        }
    }

    /// Distance from the map's rim in widths of it.
    fn rim_distance(&self, point: Point) -> f32 {
        let along = |at: f64, middle: f64, half: f64| 0.5 - 0.5 * (at - middle).abs() / half;
        let east = along(point.x, self.middle.x, self.half.width);
        let south = along(point.y, self.middle.y, self.half.height);
        east.min(south) as f32
    }

    /// How fast plates close up, from 0 to about 2.
    fn belt(&self, here: &Here) -> f32 {
        let closing = (here.closing - 1.2).max(0.0) / 2.2;
        1.1 * closing / (1.0 + 0.45 * closing)
    }

    /// How much a place is on the side that closes up with the sea's plate, 0 to 1.
    fn active(&self, place: &Place) -> f32 {
        step(0.1, 0.7, place.leading + 0.2 * place.swell)
    }
}

/// Where the basins of a continent lie.
fn basins(model: &Plates, grid: &Grid, key: Key) -> Result<Basins> {
    let Extent { width, height } = grid.extent();
    let cell = height.max(width) / LATTICE as f64;
    let size = [height, width].map(|side| ((side / cell).round() as usize).max(1));
    let lattice = Grid::new(size, cell.clamp(1e-3, 1e5))?;
    let shape = Shape::new(model, &lattice, key);
    let hard = Fractal::new(&FractalSettings::fbm(OCTAVES, 0.8 * model.spacing, 0.75), None, key.and(6), cell);
    let nothing = Site { crust: -1.0, leading: 0.0, hard: 1.0 };
    let mut sites = Field::new(lattice.size, nothing);
    for i in 0..lattice.rows() {
        let mut line = vec![0.0; lattice.cols()];
        hard.row(&lattice, i, &mut line);
        shape.row(&lattice, i, |j, _, place| {
            let belt = shape.belt(&place.here);
            let hard = thalweg_core::base::power::exp2(0.9 * 3.0 * line[j]) * (1.0 + shape.active(&place)) + 4.0 * belt;
            sites[(i, j)] = Site { crust: place.crust, leading: place.leading, hard };
        });
    }
    Ok(Basins::new(lattice, &sites, model.mouths, model.rim, key.and(7)))
}

impl Continent<'_> {
    /// Calls `each` with column, place and basin for all of a row.
    fn row(&self, grid: &Grid, i: usize, mut each: impl FnMut(usize, Place, Basin)) {
        self.shape.row(grid, i, |j, at, mut place| {
            let basin = self.basins.at(at);
            // No sea lies inside the land.
            let inside = step(1.5, 4.0, basin.coast / self.basins.cell());
            place.crust = place.crust.max(FLOOR - 4.0 * (1.0 - inside));
            each(j, place, basin);
        });
    }

    /// Elevation in metres.
    fn elevation(&self, place: &Place, basin: &Basin) -> f32 {
        let Place { here, crust, .. } = place;
        let model = self.shape.model;
        let [height, shelf, depth] = [model.height, model.shelf, model.depth].map(|x| x as f32);
        if *crust > 0.0 {
            let ramp = step(0.0, 0.9, basin.coast / model.rim as f32) * step(0.0, 0.2, *crust);
            let land = SHORE * step(0.0, 0.06, *crust) + height * ramp * basin.way * (0.5 + 0.5 * basin.way);
            let rift = step(1.2, 3.0, -here.closing);
            let land = land - 0.4 * rift * land.min(300.0);
            let hills = model.hills as f32 * place.hills * step(0.0, 0.25, *crust);
            return land + hills.max(-0.6 * land);
        }
        let down = -*crust;
        let deep = 0.85 * step(0.22, 0.6, down) + 0.15 * step(0.5, 1.6, down);
        -shelf * (down / 0.22).min(1.0) - (depth - shelf).max(0.0) * deep
    }

    /// Shares of the range along the coast that leads, of the rim of the others, and of belts inland; and folds in them, −1 to 1.
    fn ranges(&self, place: &Place, basin: &Basin) -> [f32; 4] {
        let (shape, wide) = (&self.shape, self.shape.model.rim as f32);
        let [inland, broad] = [basin.coast, basin.broad].map(|metres| metres / wide);
        let active = shape.active(place);
        let range = active * step(0.0, 0.6, inland) * (1.0 - step(1.1, 2.3, broad + 0.3 * place.swell));
        let rim = (1.0 - active) * step(0.15, 0.8, inland) * (1.0 - step(0.9, 1.9, broad)) * (1.0 - basin.open);
        let rim = rim * (0.5 + 0.50 * step(-0.5, 0.7, place.swell));
        let across = place.here.across * (shape.spacing / shape.model.rim) as f32;
        let along = if range > 0.3 { broad } else { across };
        let fold = libm::sinf(std::f32::consts::TAU * (along / 0.4 + 0.35 * place.hills));
        let fold = fold * (0.6 + 0.4 * place.swell.clamp(-1.0, 1.0));
        [range, rim, shape.belt(&place.here), fold]
    }

    /// Factor of the uplift.
    fn uplift(&self, place: &Place, basin: &Basin) -> f32 {
        let [range, rim, belt, fold] = self.ranges(place, basin);
        let sinking = step(0.6, 2.0, -place.here.closing);
        let shield = step(0.2, 1.6, place.swell);
        let plain = 0.05 + 0.05 * basin.way + 0.03 * shield;
        let rough = (1.0 + 0.35 * place.hills).clamp(0.3, 1.7);
        let high = (0.9 * range + 0.8 * belt) * (1.0 + 0.35 * fold) + 0.25 * rim;
        self.shape.model.uplift as f32 * (plain * (1.0 - 0.6 * sinking) + high * rough)
    }

    /// Factor of the erodibility.
    fn erodibility(&self, place: &Place, basin: &Basin) -> f32 {
        let [range, rim, belt, fold] = self.ranges(place, basin);
        let young = (range + belt).min(1.0);
        let log = 0.4 * place.here.weakness - 1.0 * rim + young * (0.6 - 0.5 * fold);
        thalweg_core::base::power::exp2(log)
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

    fn keeps_land(&self) -> bool {
        true
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        let cells = -grid.first[0].min(grid.first[1]);
        if cells == 0 {
            return Ok(());
        }
        // A recipe says it as a share of the map's shorter side.
        let shorter = grid.map_extent().shorter();
        let share = (1e4 * cells as f64 * grid.cell / shorter).round() / 1e4;
        let value = format!("{share} ({cells} cells to each side)");
        Err(Error::value("margin", value, "0 with plates: a continent lies in its sea as a whole"))
    }

    fn steps(&self, grid: &Grid) -> u32 {
        band_count(grid, BAND) + 1
    }

    fn reach(&self, _: &Grid) -> StepReach {
        StepReach::Whole
    }

    fn start(&self, _: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(Laying { model: self.clone(), basins: None }))
    }
}

/// Cells of a step.
const BAND: u64 = STEP_CELLS / 8;

struct Laying {
    model: Plates,
    /// The basins for a key and the extent of a grid.
    basins: Option<(Key, Extent, Basins)>,
}

impl Laying {
    fn basins(&mut self, grid: &Grid, key: Key) -> Result<&Basins> {
        let known = self.basins.take().filter(|(of, extent, _)| *of == key && *extent == grid.extent());
        let made = match known {
            Some(known) => known,
            None => (key, grid.extent(), basins(&self.model, grid, key)?),
        };
        Ok(&self.basins.insert(made).2)
    }
}

impl Stepper for Laying {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let grid = terrain.grid.clone();
        let model = self.model.clone();
        let basins = self.basins(&grid, tick.key)?;
        let continent = |grid: &Grid| Continent { shape: Shape::new(&model, grid, tick.key), basins };
        if tick.step < band_count(&grid, BAND) {
            let continent = continent(&grid);
            let span = [-model.depth, model.height];
            return Ok(add_to_ground(terrain, band_rows(&grid, BAND, tick.step), model.blend, span, |i, row| {
                continent.row(&grid, i, |j, place, basin| row[j] = continent.elevation(&place, &basin));
            }));
        }
        let longest = grid.rows().max(grid.cols());
        let factor = (model.rim * STRIDE / grid.cell).round().clamp(1.0, longest as f64) as usize;
        let small = coarse::grid(&grid, factor);
        let continent = continent(&small);
        let mut both = Field::new(small.size, [0.0f32; 2]);
        both.par_rows_mut().for_each(|(i, row)| {
            continent.row(&small, i, |j, place, basin| {
                row[j] = [continent.uplift(&place, &basin), continent.erodibility(&place, &basin)];
            });
        });
        for (spec, part) in [(UPLIFT, 0), (ERODIBILITY, 1)] {
            let values = both.map(|both| both[part]);
            terrain.insert(&spec, Cells::Float(between(&values, &small, &grid)))?;
        }
        Ok(MassBalance::default())
    }
}
