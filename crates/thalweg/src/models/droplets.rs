//! Droplet erosion: see [`Droplets`].

use multiversion::multiversion;

use crate::brush::{Brush, Soil, Tally, grained};
use crate::cast;
use crate::coarse::{self, Coarsened};
use crate::error::{Error, Result};
use crate::grid::{Edge, Edges, Grid};
use crate::height::{Height, UNITS};
use crate::model::{About, Budget, Family, Model, Reach, Stepper, Tick};
use crate::params;
use crate::particles::{self, Kernel, Particle, Patch, Planes};
use crate::rng::Key;
use crate::terrain::{CellType, Cells, Column, HARDNESS, LayerSpec, PROTECT, RAIN, Table, Terrain};

params! {
    /// Raindrops run down the ground, dig where they can carry more and lay down where they cannot: gullies on the
    /// slopes, fans and filled hollows below.
    ///
    /// A droplet has a position, a direction d, a velocity v, water w and sediment s. One step, a cell long:
    /// d ← normalise(d·inertia − normalise(∇z)·(1 − inertia)), Δ the rise of the ground over the step (bilinear at both
    /// ends), capacity c = max(−Δ, min_slope·dx)·v·w·capacity_factor. Uphill it fills the pit it left, min(Δ, s); over
    /// capacity it lays (s − c)·deposition; both on the four corners of the old position. Else it digs
    /// min((c − s)·erosion, −Δ) round the old position with a brush of weights 1 − |offset|/(radius + 1). Then
    /// v ← √(max(0, v² − Δ·gravity)) and w ← w·(1 − evaporation). It ends after `max_steps`, when its water is spent, at
    /// the edge or where nothing moves it, and lays down all it carries; over an open edge that is carried out.
    ///
    /// Source: Beyer (2015), *Implementation of a method for hydraulic erosion*, bachelor's thesis, TU München, and the
    /// droplet programs after it. We differ: heights are fixed-point and amounts under a unit ride along with the
    /// droplet, so that solid mass closes to the unit; the brush is centred on the nearest cell and not on the cell to
    /// the north-west; under the sea droplets only lay down, under way no more than the depth at their place.
    ///
    /// World terms. A droplet lives on cells of `stride` metres: on a grid of such cells the formulas hold to the letter.
    /// On a finer grid, droplets run on a coarser copy of the ground, K = stride/dx (rounded) cells to one, and the
    /// change is laid back smoothly over the fine ground, every few rounds. So wide strides carve wide
    /// valleys, and cost the same whatever the resolution. Where K·dx is not the stride (on coarser grids above all), with
    /// q = K·dx/stride: shares per step become 1 − (1 − share)^q and inertia^q; what is moved is a volume, so capacity, in
    /// metres of cell height, is multiplied by q⁻³ and the limit −Δ by q⁻². `radius` and `max_steps` count strides;
    /// `min_slope` is a slope, `gravity` is per metre of fall. A map of heights 0 to 1 with cells of 1 is run with all
    /// lengths × 1 000: heights and min_slope × 1 000, gravity ÷ 1 000 (the recipe `droplets` does it for the document's
    /// own settings).
    ///
    /// It needs nothing, heeds `hardness`, `protect`, `rain` and loose ground, and leaves the ground and, if asked,
    /// `visits`, `wear` and `deposit`. It breaks where it is asked for too much: over plain noise, with many droplets,
    /// parallel rills without a network and star-shaped cones appear, and basins fill with smooth floors. Strides from
    /// wide to narrow, in stages of their own, give valleys that branch; without a `floor`, droplets that leave over an
    /// open edge dig an abyss there.
    pub struct Droplets {
        /// Size of the cells that droplets run on: the scale of the valleys that are carved; 0 takes the grid's cell.
        stride: f64 = 0.0, within 0.0..=1e5, unit "m", source "ours";
        /// Droplets per square kilometre; 0 means one per square stride.
        density: f64 = 0.0, within 0.0..=1e9, unit "1/km²", source "ours";
        /// Droplets in all, instead of a density; 0 leaves it to the density.
        count: u32 = 0, within 0..=4_000_000_000, unit "1", source "ours";
        /// Share of the old direction kept in a stride: 0 follows the steepest slope, near 1 runs straight on.
        inertia: f64 = 0.1, within 0.0..=0.999, unit "1", source "Beyer 2015; document A";
        /// Velocity at the start; more digs deeper at once.
        velocity: f64 = 1.0, within 0.0..=100.0, unit "1", source "document A";
        /// Water at the start; more carries more.
        water: f64 = 1.0, within 0.0..=100.0, unit "1", source "document A";
        /// Gain of squared velocity per metre of fall: how much faster, and deeper, long falls dig.
        gravity: f64 = 0.001, within 0.0..=100.0, unit "1/m", source "document A, where it is 0.098 a map height";
        /// Least slope counted in the capacity: keeps droplets digging on near-flat ground.
        min_slope: f64 = 0.01, within 0.0..=1000.0, unit "1", source "document A";
        /// Sediment that a droplet can carry, in falls of one stride: more digs deeper before anything is laid down.
        capacity_factor: f64 = 3.0, within 0.0..=1000.0, unit "1", source "document A";
        /// Share of the missing sediment that is dug in a stride.
        erosion: f64 = 0.03, within 0.0..=1.0, unit "1", source "document A";
        /// Share of the excess sediment that is laid down in a stride.
        deposition: f64 = 0.03, within 0.0..=1.0, unit "1", source "document A";
        /// Share of the water lost in a stride: how soon a droplet tires.
        evaporation: f64 = 0.1, within 0.0..=1.0, unit "1", source "document A";
        /// Radius of the brush that digs, in strides: wide brushes make broad valleys, 0 one-cell trenches.
        radius: f64 = 2.0, within 0.0..=30.0, unit "stride", source "document A, as started";
        /// Longest path of a droplet, in strides.
        max_steps: u32 = 600, within 1..=100_000, unit "stride", source "document A";
        /// A droplet with less water than this ends.
        min_water: f64 = 0.001, within 0.0..=1.0, unit "1", source "ours";
        /// No cell is dug below this elevation.
        floor: f64 = -16_000.0, within -16_000.0..=16_000.0, unit "m", source "document A, where it is 0";
        /// Test of storage: heights kept in so many bits over 1 000 m, as an image would; 32 keeps full precision.
        store_bits: u32 = 32, within 8..=32, unit "bit", source "document A";
        /// Also write how often droplets stepped on each cell.
        visits: bool = false, within .., unit "1", source "ours";
        /// Also write how much was dug from each cell in all.
        wear: bool = false, within .., unit "1", source "ours";
        /// Also write how much was laid on each cell in all.
        deposit: bool = false, within .., unit "1", source "ours";
    }
}

/// Droplet steps counted on each cell.
pub const VISITS: LayerSpec =
    LayerSpec { name: "visits", unit: "1", meaning: "Droplet steps taken on the cell.", cells: CellType::Count };
/// Ground dug in all.
pub const WEAR: LayerSpec =
    LayerSpec { name: "wear", unit: "m", meaning: "Ground dug from the cell in all.", cells: CellType::Height };
/// Ground laid in all.
pub const DEPOSIT: LayerSpec =
    LayerSpec { name: "deposit", unit: "m", meaning: "Sediment laid on the cell in all.", cells: CellType::Height };

const TABLE: &str = "droplets";

/// Widest brush, and widest stride, in cells.
const MAX_REACH_CELLS: f64 = 250.0;

/// How far a droplet strays that dithers, in cells.
const MARGIN: usize = 8;

/// Grid cells per droplet of a batch: 64 droplets a tile, enough to pay for bringing the tile into cache.
const CELLS_PER_DROPLET: usize = 64;

/// Most that a droplet carries, in units: two of them never overflow.
const MAX_CARRIED: i32 = 1 << 30;

impl Droplets {
    fn stride(&self, grid: &Grid) -> f64 {
        if self.stride > 0.0 { self.stride } else { grid.cell }
    }

    fn radius_cells(&self, grid: &Grid) -> f64 {
        self.radius * self.stride(grid) / grid.cell
    }

    /// Cells of the grid to one of the cells that droplets run on.
    fn factor(&self, grid: &Grid) -> usize {
        (self.stride(grid) / grid.cell).round().clamp(1.0, MAX_REACH_CELLS) as usize
    }

    /// Rounds between two looks at the fine ground, which cost as much as its cells: more where blocks are larger.
    fn rounds(&self, grid: &Grid) -> u32 {
        (self.factor(grid).pow(2) as u32).min(16)
    }

    /// From a droplet to the farthest cell that its step reads or writes.
    fn step_reach(&self, grid: &Grid) -> usize {
        self.radius_cells(grid) as usize + 2
    }

    fn steps_each(&self, grid: &Grid) -> u32 {
        (f64::from(self.max_steps) * self.stride(grid) / grid.cell).round().clamp(1.0, 1e6) as u32
    }

    fn droplets(&self, grid: &Grid) -> u64 {
        if self.count > 0 {
            return u64::from(self.count);
        }
        let density = if self.density > 0.0 { self.density } else { 1e6 / self.stride(grid).powi(2) };
        (density * grid.extent()[0] * grid.extent()[1] / 1e6).round().min(1e12) as u64
    }

    /// Droplets started by one step.
    fn batch(&self, grid: &Grid) -> u64 {
        let by_cells = (grid.world[0] * grid.world[1] / CELLS_PER_DROPLET).max(1) as u64;
        by_cells.max(self.droplets(grid).div_ceil(1 << 30))
    }

    /// Steps on a grid of the droplets' own cells: rounds that start droplets, then rounds that let the last run out.
    fn own_steps(&self, grid: &Grid) -> u32 {
        self.raining_steps(grid) + 8 + self.steps_each(grid) / 8
    }

    fn raining_steps(&self, grid: &Grid) -> u32 {
        self.droplets(grid).div_ceil(self.batch(grid)) as u32
    }
}

impl Model for Droplets {
    fn about(&self) -> About {
        About {
            name: "droplets",
            summary: "Raindrops run downhill, dig and lay down: gullies, fans, filled hollows.",
            source: "Beyer (2015), Implementation of a method for hydraulic erosion",
            family: Family::Erosion,
            needs: &[],
            uses: &[HARDNESS, PROTECT, RAIN],
            writes: &[VISITS, WEAR, DEPOSIT],
            tables: &[TABLE],
            placed: true,
        }
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        for (name, cells) in
            [("droplets.radius × stride", self.radius_cells(grid)), ("droplets.stride", self.stride(grid) / grid.cell)]
        {
            if cells > MAX_REACH_CELLS {
                let allowed = format!("up to {} m ({MAX_REACH_CELLS} cells here)", MAX_REACH_CELLS * grid.cell);
                return Err(Error::value(name, format!("{} m", cells * grid.cell), allowed));
            }
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        let coarse = coarse::grid(grid, self.factor(grid));
        self.own_steps(&coarse).div_ceil(self.rounds(grid))
    }

    fn reach(&self, grid: &Grid) -> Reach {
        let factor = self.factor(grid);
        let round = particles::round_reach(self.step_reach(&coarse::grid(grid, factor)) + MARGIN);
        Reach::Cells(if factor == 1 { round } else { (round * self.rounds(grid) as usize + 2) * factor })
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        let factor = self.factor(grid) as u64;
        if factor == 1 { 0 } else { grid.len() as u64 / (factor * factor) * 40 }
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        let factor = self.factor(grid);
        let coarse = coarse::grid(grid, factor);
        let steps = self.own_steps(&coarse);
        // On its own cells the model has the same stride, and no coarser cells to look for.
        let rain = Rain { rules: Rules::new(self, &coarse), model: self.clone(), last: steps - 1 };
        if factor == 1 {
            return Ok(Box::new(rain));
        }
        Ok(Box::new(Coarsened { factor, rounds: self.rounds(grid), steps, inner: Box::new(rain) }))
    }
}

/// The droplets at work.
struct Rain {
    model: Droplets,
    rules: Rules,
    last: u32,
}

impl Stepper for Rain {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<Budget> {
        let underway = terrain.tables.get(TABLE).map(|table| Droplet::from_table(table, &terrain.grid)).transpose()?;
        terrain.tables.remove(TABLE);
        let mut droplets = underway.unwrap_or_default();
        let started = self.started(terrain, tick);
        let mut budget = Budget { particles: started.len() as u64, ..Budget::default() };
        droplets.extend(started);
        let asked = [(self.model.visits, &VISITS), (self.model.wear, &WEAR), (self.model.deposit, &DEPOSIT)];
        let mut written: Vec<(&LayerSpec, Cells)> =
            asked.into_iter().filter(|(on, _)| *on).map(|(_, spec)| (spec, terrain.take(spec))).collect();
        if !droplets.is_empty() {
            let kernel = Kinetics::new(&self.rules, &self.model, terrain);
            let factor = |name: &str| match &terrain.layers.get(name)?.cells {
                Cells::Float(field) => Some(field),
                _ => None,
            };
            let mut planes = Planes {
                heights: std::iter::once(&mut terrain.ground).chain(terrain.loose.as_mut()).collect(),
                counts: Vec::new(),
                factors: [HARDNESS, PROTECT].iter().filter_map(|spec| factor(spec.name)).collect(),
                outside: terrain.nodata.as_ref(),
            };
            for (_, cells) in &mut written {
                match cells {
                    Cells::Height(field) => planes.heights.push(field),
                    Cells::Count(field) => planes.counts.push(field),
                    Cells::Float(_) => {}
                }
            }
            let (mut alive, mut done) = particles::round(&kernel, &terrain.grid, &mut planes, droplets);
            if tick.step == self.last {
                // Who has not come to rest in all the rounds lays down where it is.
                alive.iter_mut().for_each(|droplet| droplet.age = self.rules.max_steps);
                let (left, settled) = particles::round(&kernel, &terrain.grid, &mut planes, alive);
                alive = left;
                done += settled;
            }
            budget += done;
            if !alive.is_empty() {
                terrain.tables.insert(TABLE.to_string(), Droplet::to_table(&alive));
            }
        }
        for (spec, cells) in written {
            terrain.insert(spec, cells)?;
        }
        Ok(budget)
    }
}

impl Rain {
    /// The droplets that this step starts and that fall into this window, on land.
    fn started(&self, terrain: &Terrain, tick: Tick) -> Vec<Droplet> {
        let grid = &terrain.grid;
        let batch = self.model.batch(grid);
        let first = u64::from(tick.step) * batch;
        let numbers = first..(first + batch).min(self.model.droplets(grid)).max(first);
        let room = grid.world.map(|cells| cells as f64 - 1.0);
        if room.contains(&0.0) {
            return Vec::new();
        }
        let rain = terrain.float(&RAIN);
        let start = |number: u64| {
            let key: Key = tick.key.and(number);
            let at = key.pair();
            let [y, x] = [at[0] * room[0], at[1] * room[1]];
            let cell = [y as i64, x as i64];
            let local = [0, 1].map(|a| cell[a] - grid.origin[a]);
            if [0, 1].iter().any(|a| local[*a] < 0 || local[*a] + 1 >= grid.size[*a] as i64) {
                return None;
            }
            let [i, j] = local.map(|x| x as usize);
            let dry = rain.is_some_and(|rain| key.and(1).unit() >= f64::from(rain[(i, j)]));
            let at_sea = grid.sea_level.is_some_and(|sea| terrain.ground[(i, j)] < sea);
            let void = [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)].iter().any(|(i, j)| terrain.is_nodata(*i, *j));
            (!dry && !at_sea && !void).then_some(Droplet {
                number,
                cell,
                part: [(y - y.floor()) as f32, (x - x.floor()) as f32],
                direction: [0.0, 0.0],
                velocity: self.model.velocity as f32,
                water: self.model.water as f32,
                carried: 0,
                remainder: 0.0,
                age: 0,
            })
        };
        numbers.filter_map(start).collect()
    }
}

/// A droplet between rounds. Positions are a world cell and the part of a cell beyond its centre, southward and eastward.
#[derive(Debug, Clone, Copy)]
struct Droplet {
    number: u64,
    cell: [i64; 2],
    part: [f32; 2],
    direction: [f32; 2],
    velocity: f32,
    water: f32,
    carried: i32,
    remainder: f32,
    age: u32,
}

impl Particle for Droplet {
    fn number(&self) -> u64 {
        self.number
    }
    fn cell(&self) -> [i64; 2] {
        self.cell
    }
}

impl Droplet {
    fn to_table(droplets: &[Self]) -> Table {
        let ints = |f: fn(&Self) -> i64| Column::Int(droplets.iter().map(f).collect());
        let floats = |f: fn(&Self) -> f32| Column::Float(droplets.iter().map(f).collect());
        let column = |name: &str, unit: &str, values| (name.to_string(), unit.to_string(), values);
        Table {
            columns: vec![
                column("number", "1", ints(|d| d.number as i64)),
                column("row", "cell", ints(|d| d.cell[0])),
                column("column", "cell", ints(|d| d.cell[1])),
                column("carried", "m/65536", ints(|d| d.carried.into())),
                column("age", "cell", ints(|d| d.age.into())),
                column("part_south", "cell", floats(|d| d.part[0])),
                column("part_east", "cell", floats(|d| d.part[1])),
                column("south", "1", floats(|d| d.direction[0])),
                column("east", "1", floats(|d| d.direction[1])),
                column("velocity", "1", floats(|d| d.velocity)),
                column("water", "1", floats(|d| d.water)),
                column("remainder", "m/65536", floats(|d| d.remainder)),
            ],
        }
    }

    /// The droplets of a table, which may come from anywhere.
    ///
    /// # Errors
    /// When it is not one of droplets, or holds what no droplet in this window can be.
    fn from_table(table: &Table, grid: &Grid) -> Result<Vec<Self>> {
        let read = || {
            let ints = ["number", "row", "column", "carried", "age"].map(|name| table.ints(name));
            let floats = ["part_south", "part_east", "south", "east", "velocity", "water", "remainder"];
            let floats = floats.map(|name| table.floats(name));
            let [number, row, column, carried, age] = ints;
            let [part_south, part_east, south, east, velocity, water, remainder] = floats;
            let (number, row, column, carried, age) = (number?, row?, column?, carried?, age?);
            let (part_south, part_east, south, east) = (part_south?, part_east?, south?, east?);
            let (velocity, water, remainder) = (velocity?, water?, remainder?);
            let droplet = |r: usize| {
                let droplet = Self {
                    number: number[r] as u64,
                    cell: [row[r], column[r]],
                    part: [part_south[r], part_east[r]],
                    direction: [south[r], east[r]],
                    velocity: velocity[r],
                    water: water[r],
                    carried: i32::try_from(carried[r]).ok()?,
                    remainder: remainder[r],
                    age: u32::try_from(age[r]).ok()?,
                };
                droplet.is_possible(grid).then_some(droplet)
            };
            (0..table.len()).map(droplet).collect()
        };
        let droplets = if table.is_even() { read() } else { None };
        droplets.ok_or_else(|| Error::layer(TABLE, "is no table of droplets inside this terrain"))
    }

    fn is_possible(&self, grid: &Grid) -> bool {
        let inside = |a: usize| {
            let local = self.cell[a].checked_sub(grid.origin[a]);
            // The four corners lie in the world; in its window, the north-western one does.
            local.is_some_and(|x| (0..grid.size[a] as i64).contains(&x)) && self.cell[a] + 1 < grid.world[a] as i64
        };
        inside(0)
            && inside(1)
            && self.part.iter().all(|part| (0.0..1.0).contains(part))
            && self.direction.iter().all(|d| d.abs() <= 1.001)
            && (0.0..f32::INFINITY).contains(&self.velocity)
            && (0.0..=100.0).contains(&self.water)
            && (0..=MAX_CARRIED).contains(&self.carried)
            && self.remainder.abs() <= GRAIN
    }
}

/// The parameters as a step on this grid uses them; lengths in cells, heights in units.
struct Rules {
    brush: Brush,
    step_reach: usize,
    inertia: f32,
    capacity: f32,
    min_drop: f32,
    erosion: f32,
    deposition: f32,
    dig_limit: f32,
    gravity: f32,
    keep_water: f32,
    min_water: f32,
    max_steps: u32,
    floor: i32,
    /// Sea level, heeded if there is a sea.
    sea: i32,
    has_sea: bool,
    edges: Edges,
    /// Units between two heights that storage can tell apart; 1 is full precision.
    quantum: i32,
}

impl Rules {
    fn new(model: &Droplets, grid: &Grid) -> Self {
        let q = grid.cell / model.stride(grid);
        let per_cell = |share: f64| (1.0 - libm::pow(1.0 - share, q)) as f32;
        Self {
            brush: Brush::new(model.radius_cells(grid)),
            step_reach: model.step_reach(grid),
            inertia: libm::pow(model.inertia, q) as f32,
            capacity: (model.capacity_factor / (q * q * q)) as f32,
            min_drop: (model.min_slope * grid.cell * UNITS) as f32,
            erosion: per_cell(model.erosion),
            deposition: per_cell(model.deposition),
            dig_limit: (1.0 / (q * q)) as f32,
            gravity: (model.gravity / UNITS) as f32,
            keep_water: 1.0 - per_cell(model.evaporation),
            min_water: model.min_water as f32,
            max_steps: model.steps_each(grid),
            floor: Height::saturating(model.floor).0,
            sea: grid.sea_level.map_or(0, |h| h.0),
            has_sea: grid.sea_level.is_some(),
            edges: grid.edges,
            quantum: if model.store_bits >= 26 {
                1 // 1 000 m in 26 bits is already finer than our unit
            } else {
                (1000.0 * UNITS / (f64::from(1u32 << model.store_bits) - 1.0)).round() as i32
            },
        }
    }
}

/// Which optional planes a run has, and where they stand in the patch.
struct Kinetics<'a> {
    rules: &'a Rules,
    loose: Option<usize>,
    wear: Option<usize>,
    deposit: Option<usize>,
    visits: bool,
    hardness: Option<usize>,
    protect: Option<usize>,
    outside: bool,
}

impl<'a> Kinetics<'a> {
    /// The planes in the order in which [`Rain`] hands them over.
    fn new(rules: &'a Rules, model: &Droplets, terrain: &Terrain) -> Self {
        let mut heights = 1..;
        let mut factors = 0..;
        let has = |spec: &LayerSpec| terrain.float(spec).is_some();
        Self {
            rules,
            loose: terrain.loose.as_ref().and_then(|_| heights.next()),
            wear: model.wear.then(|| heights.next()).flatten(),
            deposit: model.deposit.then(|| heights.next()).flatten(),
            visits: model.visits,
            hardness: has(&HARDNESS).then(|| factors.next()).flatten(),
            protect: has(&PROTECT).then(|| factors.next()).flatten(),
            outside: terrain.nodata.is_some(),
        }
    }

    /// Whether a cell may give less than the brush asks, or keep something else.
    fn is_general(&self) -> bool {
        self.hardness.is_some() || self.protect.is_some() || self.outside || self.rules.quantum > 1
    }
}

impl Kernel for Kinetics<'_> {
    type Particle = Droplet;

    fn step_reach(&self) -> usize {
        self.rules.step_reach
    }

    fn margin(&self) -> usize {
        MARGIN
    }

    fn run(&self, patch: &mut Patch, queue: &mut Vec<Droplet>) -> Budget {
        let layers = self.visits || [self.loose, self.wear, self.deposit].iter().any(Option::is_some);
        match (self.is_general(), layers) {
            (false, false) => run_plain(self, patch, queue),
            (false, true) => run_layers(self, patch, queue),
            (true, _) => run_general(self, patch, queue),
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn run_plain(kernel: &Kinetics<'_>, patch: &mut Patch, queue: &mut Vec<Droplet>) -> Budget {
    run_lanes::<false, false>(kernel, patch, queue)
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn run_layers(kernel: &Kinetics<'_>, patch: &mut Patch, queue: &mut Vec<Droplet>) -> Budget {
    run_lanes::<false, true>(kernel, patch, queue)
}

fn run_general(kernel: &Kinetics<'_>, patch: &mut Patch, queue: &mut Vec<Droplet>) -> Budget {
    run_lanes::<true, true>(kernel, patch, queue)
}

/// Droplets stepped together. All first look where to go and how much to move, without a branch, so that their
/// arithmetic fills vectors and hides its own latency; then each changes the ground in turn, in the lanes' order.
const LANES: usize = 8;

/// Steps all of `queue`; those that leave the tile alive are written back to it.
#[inline(always)]
fn run_lanes<const GENERAL: bool, const LAYERS: bool>(
    kernel: &Kinetics<'_>,
    patch: &mut Patch,
    queue: &mut Vec<Droplet>,
) -> Budget {
    let origin = patch.origin;
    let rules = kernel.rules;
    let mut map = Map::new(kernel, patch);
    let mut tally = Tally::default();
    let mut lanes = Lanes::idle(map.tile[0]);
    let (mut next, mut kept) = (0, 0);
    loop {
        for l in 0..LANES {
            if lanes.busy[l].is_none() && next < queue.len() {
                lanes.load(l, &queue[next], origin);
                next += 1;
            }
        }
        if lanes.busy.iter().all(Option::is_none) {
            break;
        }
        let plan = lanes.plan(rules, &map);
        for l in 0..LANES {
            let Some(number) = lanes.busy[l] else { continue };
            match lanes.act::<GENERAL, LAYERS>(l, &plan, rules, &mut map, &mut tally) {
                After::Inside => continue,
                // The slot is free: what stood there was taken by a lane before.
                After::Left => {
                    queue[kept] = lanes.store(l, number, origin);
                    kept += 1;
                }
                After::Ended => {}
            }
            lanes.busy[l] = None;
        }
    }
    queue.truncate(kept);
    tally.budget()
}

/// What became of a droplet.
enum After {
    Inside,
    Left,
    Ended,
}

/// The droplets under way, one per lane, in the patch's coordinates.
struct Lanes {
    /// The droplet's number; `None` in an idle lane, whose other values are harmless leftovers.
    busy: [Option<u64>; LANES],
    i: [i32; LANES],
    j: [i32; LANES],
    v: [f32; LANES],
    u: [f32; LANES],
    dy: [f32; LANES],
    dx: [f32; LANES],
    velocity: [f32; LANES],
    water: [f32; LANES],
    carried: [i32; LANES],
    remainder: [f32; LANES],
    age: [u32; LANES],
}

/// What the droplets mean to do next.
struct Plan {
    at: [usize; LANES],
    ni: [i32; LANES],
    nj: [i32; LANES],
    nv: [f32; LANES],
    nu: [f32; LANES],
    dy: [f32; LANES],
    dx: [f32; LANES],
    /// Whether anything moves the droplet.
    moves: [bool; LANES],
    rise: [f32; LANES],
    digs: [bool; LANES],
    /// Units to dig or to lay.
    wanted: [f32; LANES],
}

impl Lanes {
    fn idle([i, j]: [i32; 2]) -> Self {
        let none = [0.0; LANES];
        Self {
            busy: [None; LANES],
            i: [i; LANES],
            j: [j; LANES],
            v: none,
            u: none,
            dy: none,
            dx: none,
            velocity: none,
            water: none,
            carried: [0; LANES],
            remainder: none,
            age: [0; LANES],
        }
    }

    #[inline(always)]
    fn load(&mut self, l: usize, d: &Droplet, origin: [i64; 2]) {
        self.busy[l] = Some(d.number);
        [self.i[l], self.j[l]] = [0, 1].map(|a| (d.cell[a] - origin[a]) as i32);
        [self.v[l], self.u[l]] = d.part;
        [self.dy[l], self.dx[l]] = d.direction;
        self.velocity[l] = d.velocity;
        self.water[l] = d.water;
        self.carried[l] = d.carried;
        self.remainder[l] = d.remainder;
        self.age[l] = d.age;
    }

    #[inline(always)]
    fn store(&self, l: usize, number: u64, origin: [i64; 2]) -> Droplet {
        Droplet {
            number,
            cell: [origin[0] + i64::from(self.i[l]), origin[1] + i64::from(self.j[l])],
            part: [self.v[l], self.u[l]],
            direction: [self.dy[l], self.dx[l]],
            velocity: self.velocity[l],
            water: self.water[l],
            carried: self.carried[l],
            remainder: self.remainder[l],
            age: self.age[l],
        }
    }

    /// Looks ahead, all lanes at once: no branch depends on a droplet.
    #[inline(always)]
    fn plan(&self, rules: &Rules, map: &Map<'_>) -> Plan {
        let none = [0.0f32; LANES];
        let mut plan = Plan {
            at: [0; LANES],
            ni: [0; LANES],
            nj: [0; LANES],
            nv: none,
            nu: none,
            dy: none,
            dx: none,
            moves: [false; LANES],
            rise: none,
            digs: [false; LANES],
            wanted: none,
        };
        for l in 0..LANES {
            plan.at[l] = map.soil.at(self.i[l], self.j[l]);
        }
        let here = Corners::read(map, &plan.at);

        // Where to: the bilinear gradient, and what is left of the old direction.
        for l in 0..LANES {
            let (v, u) = (self.v[l], self.u[l]);
            let [gy, gx] = here.gradient(l, v, u);
            let steepness = (gy * gy + gx * gx).sqrt();
            let pull = (1.0 - rules.inertia) / steepness;
            let pull = if steepness > 0.0 { pull } else { 0.0 };
            let dy = self.dy[l] * rules.inertia - gy * pull;
            let dx = self.dx[l] * rules.inertia - gx * pull;
            let length = (dy * dy + dx * dx).sqrt();
            let moves = length > 1e-12;
            let scale = 1.0 / length;
            let scale = if moves { scale } else { 0.0 };
            let (dy, dx) = (dy * scale, dx * scale);
            let (y, x) = (v + dy, u + dx);
            let (down, across) = (y.floor(), x.floor());
            plan.dy[l] = dy;
            plan.dx[l] = dx;
            plan.moves[l] = moves;
            plan.ni[l] = self.i[l] + cast::nearest(down);
            plan.nj[l] = self.j[l] + cast::nearest(across);
            // A sum just under a whole number may round up to it.
            plan.nv[l] = (y - down).min(0.999_999_94);
            plan.nu[l] = (x - across).min(0.999_999_94);
        }
        let mut new_at = [0; LANES];
        for l in 0..LANES {
            new_at[l] = map.soil.at(plan.ni[l], plan.nj[l]);
        }
        let there = Corners::read(map, &new_at);

        // What it can carry, and so what it moves.
        for l in 0..LANES {
            let old = here.above(l, self.v[l], self.u[l]);
            let new = there.above(l, plan.nv[l], plan.nu[l]);
            let rise = there.base[l].wrapping_sub(here.base[l]) as f32 + (new - old);
            let drop = -rise;
            let depth = (rules.sea.wrapping_sub(here.base[l])) as f32 - old;
            let at_sea = rules.has_sea && depth > 0.0;
            let capacity = drop.max(rules.min_drop) * self.velocity[l] * self.water[l] * rules.capacity;
            let capacity = if at_sea { 0.0 } else { capacity };
            let carried = self.carried[l] as f32;
            let filled = if rise > 0.0 { rise.min(carried) } else { (carried - capacity) * rules.deposition };
            let filled = if at_sea { filled.min(depth) } else { filled };
            let dug = ((capacity - carried) * rules.erosion).min(drop * rules.dig_limit);
            plan.rise[l] = rise;
            plan.digs[l] = !(rise > 0.0 || carried > capacity);
            plan.wanted[l] = if plan.digs[l] { dug } else { filled };
        }
        plan
    }

    /// Carries out lane `l`'s plan.
    #[inline(always)]
    fn act<const GENERAL: bool, const LAYERS: bool>(
        &mut self,
        l: usize,
        plan: &Plan,
        rules: &Rules,
        map: &mut Map<'_>,
        tally: &mut Tally,
    ) -> After {
        let at = plan.at[l];
        let [ni, nj] = [plan.ni[l], plan.nj[l]];
        let spent = self.age[l] >= rules.max_steps || self.water[l] < rules.min_water;
        let out = map.side_beyond(ni, nj);
        tally.steps += u64::from(!spent);
        if LAYERS
            && !spent
            && let Some(visits) = &mut map.visits
        {
            visits[at] = visits[at].saturating_add(1);
        }
        if !spent && plan.moves[l] && out.is_some_and(|side| rules.edges[side] == Edge::Open) {
            tally.exported += i64::from(self.carried[l]);
            return After::Ended;
        }
        let centre = [self.i[l] + i32::from(self.v[l] >= 0.5), self.j[l] + i32::from(self.u[l] >= 0.5)];
        let lay = |soil: &mut Soil<'_>, amount: i32, tally: &mut Tally| {
            soil.lay::<GENERAL, LAYERS>(at, [self.v[l], self.u[l]], amount, tally)
        };
        if spent || !plan.moves[l] || out.is_some() || (GENERAL && map.soil.has_no_data(ni, nj)) {
            let laid = lay(&mut map.soil, self.carried[l], tally);
            // Only under the ceiling of accepted elevations can anything be left over.
            tally.exported += i64::from(self.carried[l] - laid);
            return After::Ended;
        }

        // What is under a unit rides along; so does the grain of large cuts.
        if plan.digs[l] {
            let exact = plan.wanted[l].min((MAX_CARRIED - self.carried[l]) as f32) - self.remainder[l];
            let amount = grained((exact as i32).max(0));
            self.remainder[l] = (amount as f32 - exact).clamp(-GRAIN, GRAIN);
            self.carried[l] += map.soil.dig::<GENERAL, LAYERS>(&rules.brush, centre, amount, tally);
        } else {
            // Others of the eight may have filled the same hollow since.
            let wanted = plan.wanted[l];
            let wanted = if plan.rise[l] > 0.0 {
                let rise = map.rise(at, [self.v[l], self.u[l]], map.soil.at(ni, nj), [plan.nv[l], plan.nu[l]]);
                wanted.min(rise.max(0.0))
            } else {
                wanted
            };
            let exact = wanted + self.remainder[l];
            let amount = (exact as i32).clamp(0, self.carried[l]);
            self.remainder[l] = (exact - amount as f32).clamp(-GRAIN, GRAIN);
            self.carried[l] -= lay(&mut map.soil, amount, tally);
        }

        self.age[l] += 1;
        [self.i[l], self.j[l]] = [ni, nj];
        [self.v[l], self.u[l]] = [plan.nv[l], plan.nu[l]];
        [self.dy[l], self.dx[l]] = [plan.dy[l], plan.dx[l]];
        self.velocity[l] = (self.velocity[l] * self.velocity[l] - plan.rise[l] * rules.gravity).max(0.0).sqrt();
        self.water[l] *= rules.keep_water;
        if map.in_tile(ni, nj) { After::Inside } else { After::Left }
    }
}

/// A patch as droplets see it.
struct Map<'a> {
    soil: Soil<'a>,
    visits: Option<&'a mut [u32]>,
    tile: [[i32; 2]; 2],
}

impl<'a> Map<'a> {
    fn new(kernel: &Kinetics<'_>, patch: &'a mut Patch) -> Self {
        let mut ground: &mut [i32] = &mut [];
        let (mut loose, mut wear, mut deposit) = (None, None, None);
        for (number, plane) in patch.heights.iter_mut().enumerate() {
            let plane = plane.as_mut_slice();
            match Some(number) {
                Some(0) => ground = plane,
                n if n == kernel.loose => loose = Some(plane),
                n if n == kernel.wear => wear = Some(plane),
                n if n == kernel.deposit => deposit = Some(plane),
                _ => {}
            }
        }
        let factor = |at: Option<usize>| at.and_then(|k| patch.factors.get(k)).map(Vec::as_slice);
        let soil = Soil {
            ground,
            loose,
            wear,
            deposit,
            hardness: factor(kernel.hardness),
            protect: factor(kernel.protect),
            outside: kernel.outside.then_some(patch.outside.as_slice()),
            stride: patch.stride,
            valid: patch.valid,
            floor: kernel.rules.floor,
            quantum: kernel.rules.quantum,
        };
        let visits = patch.counts.first_mut().filter(|_| kernel.visits).map(Vec::as_mut_slice);
        Self { soil, visits, tile: patch.tile }
    }

    /// The side of the world beyond which position (i, j) lies: 0 north, 1 east, 2 south, 3 west.
    #[inline(always)]
    fn side_beyond(&self, i: i32, j: i32) -> Option<usize> {
        let [[top, left], [bottom, right]] = self.soil.valid;
        if i >= top && j >= left && i + 1 < bottom && j + 1 < right {
            return None;
        }
        Some(if i < top {
            0
        } else if j + 1 >= right {
            1
        } else if i + 1 >= bottom {
            2
        } else {
            3
        })
    }

    /// Rise of the ground, as it now is, from one position to another.
    #[inline(always)]
    fn rise(&self, at: usize, from: [f32; 2], new_at: usize, to: [f32; 2]) -> f32 {
        let above = |at: usize, [v, u]: [f32; 2]| {
            let stride = self.soil.stride;
            let (north, south) = (&self.soil.ground[at..at + 2], &self.soil.ground[at + stride..at + stride + 2]);
            let over = |corner: i32| (corner - north[0]) as f32;
            (over(north[1]) * u) * (1.0 - v) + (over(south[0]) * (1.0 - u) + over(south[1]) * u) * v
        };
        (self.soil.ground[new_at] - self.soil.ground[at]) as f32 + (above(new_at, to) - above(at, from))
    }

    #[inline(always)]
    fn in_tile(&self, i: i32, j: i32) -> bool {
        let [[top, left], [bottom, right]] = self.tile;
        i >= top && j >= left && i < bottom && j < right
    }
}

/// Most that is left over of a cut, in units: the grain of the largest.
const GRAIN: f32 = 65_536.0;

/// The four corners of each lane's position, as the north-western one and differences from it.
struct Corners {
    base: [i32; LANES],
    east: [f32; LANES],
    south: [f32; LANES],
    south_east: [f32; LANES],
}

impl Corners {
    #[inline(always)]
    fn read(map: &Map<'_>, at: &[usize; LANES]) -> Self {
        let zero = [0i32; LANES];
        let (mut base, mut east, mut south, mut south_east) = (zero, zero, zero, zero);
        for l in 0..LANES {
            let (ground, stride) = (&*map.soil.ground, map.soil.stride);
            // Idle lanes and those about to leave the world may stand beyond the patch.
            let at = at[l].min(ground.len() - stride - 2);
            let (north, below) = (&ground[at..at + 2], &ground[at + stride..at + stride + 2]);
            (base[l], east[l]) = (north[0], north[1]);
            (south[l], south_east[l]) = (below[0], below[1]);
        }
        Self::new(base, east, south, south_east)
    }

    #[inline(always)]
    fn new(base: [i32; LANES], east: [i32; LANES], south: [i32; LANES], south_east: [i32; LANES]) -> Self {
        let above_base = |corner: [i32; LANES]| {
            let mut difference = [0.0; LANES];
            for l in 0..LANES {
                // Cells beyond the terrain hold leftovers: whatever they give is not used.
                difference[l] = corner[l].wrapping_sub(base[l]) as f32;
            }
            difference
        };
        Self { east: above_base(east), south: above_base(south), south_east: above_base(south_east), base }
    }

    /// Southward and eastward gradient, in units over the square.
    #[inline(always)]
    fn gradient(&self, l: usize, v: f32, u: f32) -> [f32; 2] {
        [
            self.south[l] * (1.0 - u) + (self.south_east[l] - self.east[l]) * u,
            self.east[l] * (1.0 - v) + (self.south_east[l] - self.south[l]) * v,
        ]
    }

    /// Bilinear height above the base.
    #[inline(always)]
    fn above(&self, l: usize, v: f32, u: f32) -> f32 {
        (self.east[l] * u) * (1.0 - v) + (self.south[l] * (1.0 - u) + self.south_east[l] * u) * v
    }
}
