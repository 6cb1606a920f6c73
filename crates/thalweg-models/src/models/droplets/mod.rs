//! Droplet erosion: see [`Droplets`].

mod lanes;
mod local;
mod map;
mod pour;
mod trace;

pub use pour::{Circle, pour};
pub use trace::{TracePoint, trace, traces};

use rayon::prelude::*;

use crate::model::{About, Family, Local, MassBalance, Model, PlayedRole, Role, StepReach, Stepper, Tick};
use crate::models::droplets::local::{SHOWERS, Shower};
use crate::process::brush::Brush;
use crate::process::coarse::{self, Coarsened};
use crate::process::particles::{self, Particle, Planes};
use thalweg_core::base::rng::Key;
use thalweg_core::declare::codec::{Row, columns};
use thalweg_core::terrain::grid::Edges;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, HARDNESS, Hue, LayerSpec, PROTECT, RAIN};
use thalweg_core::{Cell, Error, Grid, Height, Result, Terrain, params};

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
        stride: f64 = 0.0, within 0.0..=1e5, unit "m", scales Size, source "ours";
        /// Droplets per square kilometre; 0 means one per square stride.
        density: f64 = 0.0, within 0.0..=1e9, unit "1/km²", scales Age Rain Size^-2, source "ours";
        /// Droplets in all, instead of a density; 0 leaves it to the density.
        count: u32 = 0, within 0..=4_000_000_000, unit "1", scales Age Rain, source "ours";
        /// Share of the old direction kept in a stride: 0 follows the steepest slope, near 1 runs straight on.
        inertia: f64 = 0.1, within 0.0..=0.999, unit "1", source "Beyer 2015; Érosion d'une montagne";
        /// Velocity at the start; more digs deeper at once.
        velocity: f64 = 1.0, within 0.0..=100.0, unit "1", source "Érosion d'une montagne";
        /// Water at the start; more carries more.
        water: f64 = 1.0, within 0.0..=100.0, unit "1", source "Érosion d'une montagne";
        /// Gain of squared velocity per metre of fall: how much faster, and deeper, long falls dig.
        gravity: f64 = 0.001, within 0.0..=100.0, unit "1/m", source "Érosion d'une montagne, where it is 0.098 a map height";
        /// Least slope counted in the capacity: keeps droplets digging on near-flat ground.
        min_slope: f64 = 0.01, within 0.0..=1000.0, unit "1", scales Size^-1, source "Érosion d'une montagne";
        /// Sediment that a droplet of velocity 1 and water 1 carries, in falls of one stride: more digs deeper before anything is laid.
        capacity_factor: f64 = 3.0, within 0.0..=1000.0, unit "1", source "Érosion d'une montagne";
        /// Share of the missing sediment that is dug in a stride.
        erosion: f64 = 0.03, within 0.0..=1.0, unit "1", scales Erodibility^0.5, source "Érosion d'une montagne";
        /// Share of the excess sediment that is laid down in a stride.
        deposition: f64 = 0.03, within 0.0..=1.0, unit "1", source "Érosion d'une montagne";
        /// Share of the water lost in a stride: how soon a droplet tires.
        evaporation: f64 = 0.1, within 0.0..=1.0, unit "1", source "Érosion d'une montagne";
        /// Radius of the brush that digs, in strides: wide brushes make broad valleys, 0 one-cell trenches.
        radius: f64 = 2.0, within 0.0..=30.0, unit "stride", source "Érosion d'une montagne, as started";
        /// Longest path of a droplet, in strides.
        max_steps: u32 = 600, within 1..=100_000, unit "stride", source "Érosion d'une montagne";
        /// A droplet with less water than this ends.
        min_water: f64 = 0.001, within 0.0..=1.0, unit "1", source "ours";
        /// No cell is dug below this elevation.
        floor: f64 = -16_000.0, within -16_000.0..=16_000.0, none -16_000.0, unit "m", scales Relief,
            source "Érosion d'une montagne, where it is 0";
        /// Test of storage: heights kept in so many bits over 1 000 m, as an image would; 32 keeps full precision.
        store_bits: u32 = 32, within 8..=32, unit "bit", source "Érosion d'une montagne";
        /// Also write how often droplets stepped on each cell.
        visits: bool = false, within .., unit "1", source "ours";
        /// Also write how much was dug from each cell in all.
        wear: bool = false, within .., unit "1", source "ours";
        /// Also write how much was laid on each cell in all.
        deposit: bool = false, within .., unit "1", source "ours";
    }
}

/// Droplet steps counted on each cell.
pub const VISITS: LayerSpec = LayerSpec::counts("visits", "1", "Droplet steps taken on the cell.").hue(Hue::Passing);
/// Ground dug in all, as a thickness in units of [`Height`].
pub const WEAR: LayerSpec = LayerSpec::heights("wear", "m", "Ground dug from the cell in all.");
/// Sediment laid in all, as a thickness in units of [`Height`].
pub const DEPOSIT: LayerSpec = LayerSpec::heights("deposit", "m", "Sediment laid on the cell in all.");

const TABLE: &str = "droplets";

/// Widest stride in cells: the presets' widest on grids of over 30 000 cells a side.
const MAX_STRIDE_CELLS: f64 = 500.0;

/// How far a droplet strays that dithers, in cells.
const MARGIN: usize = 8;

/// Grid cells per droplet of a batch: 64 droplets a tile, enough to pay for bringing the tile into cache.
const CELLS_PER_DROPLET: usize = 64;

/// Most that a droplet carries, in units: two of them never overflow.
const MAX_CARRIED: i32 = 1 << 30;

/// Most that is left over of a cut, in units: the grain of the largest.
const GRAIN: f32 = 65_536.0;

impl Droplets {
    fn stride(&self, grid: &Grid) -> f64 {
        if self.stride > 0.0 { self.stride } else { grid.cell }
    }

    fn radius_cells(&self, grid: &Grid) -> f64 {
        self.radius * self.stride(grid) / grid.cell
    }

    /// Cells of the grid to one of the cells that droplets run on.
    fn factor(&self, grid: &Grid) -> usize {
        (self.stride(grid) / grid.cell).round().clamp(1.0, MAX_STRIDE_CELLS) as usize
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
        (density * grid.extent().height * grid.extent().width / 1e6).round().min(1e12) as u64
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

    /// The stepper of droplets that start within `within`, or anywhere.
    fn stepper(&self, grid: &Grid, within: Option<Circle>) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        let factor = self.factor(grid);
        let coarse = coarse::grid(grid, factor);
        let steps = self.own_steps(&coarse);
        // On its own cells the model has the same stride, and no coarser cells to look for.
        let rain = Rain { rules: Rules::new(self, &coarse), model: self.clone(), last: steps - 1, within };
        if factor == 1 {
            return Ok(Box::new(rain));
        }
        Ok(Box::new(Coarsened { factor, rounds: self.rounds(grid), steps, inner: Box::new(rain) }))
    }

    /// Droplet `number` at a place, in rows and columns from the world's first cell's centre; `None` beyond the
    /// terrain, at sea, and among cells without data.
    fn set_out(&self, terrain: &Terrain, number: u64, place: Cell<f64>) -> Option<Droplet> {
        let grid = &terrain.grid;
        let cell = Cell::new(place.row as i64 + grid.first[0], place.col as i64 + grid.first[1]);
        let Cell { row: i, col: j } = grid.local(cell).filter(|local| (0..2).all(|a| local[a] + 1 < grid.size[a]))?;
        let at_sea = grid.sea_level.is_some_and(|sea| terrain.ground[(i, j)] < sea);
        let void = [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)].iter().any(|(i, j)| terrain.is_nodata(*i, *j));
        (!at_sea && !void).then_some(Droplet {
            number,
            cell,
            part: place.map(|at| (at - at.floor()) as f32),
            direction: [0.0, 0.0],
            velocity: self.velocity as f32,
            water: self.water as f32,
            carried: 0,
            remainder: 0.0,
            age: 0,
        })
    }
}

impl Model for Droplets {
    fn about(&self) -> About {
        About {
            name: "droplets",
            summary: "Raindrops run downhill, dig and lay down: gullies, fans, filled hollows.",
            source: "Beyer (2015), Implementation of a method for hydraulic erosion",
            family: Family::Erosion,
            uses: &[HARDNESS, PROTECT, RAIN],
            writes: &[VISITS, WEAR, DEPOSIT],
            tables: &[TABLE],
            ..About::default()
        }
    }

    fn parts(&self) -> &'static [PlayedRole] {
        &[PlayedRole { role: Role::Droplets, with: &[] }]
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        let cells = self.stride(grid) / grid.cell;
        if cells > MAX_STRIDE_CELLS {
            let allowed = format!("up to {} m ({MAX_STRIDE_CELLS} cells here)", MAX_STRIDE_CELLS * grid.cell);
            return Err(Error::value("droplets.stride", format!("{} m", self.stride(grid)), allowed));
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        let coarse = coarse::grid(grid, self.factor(grid));
        self.own_steps(&coarse).div_ceil(self.rounds(grid))
    }

    fn reach(&self, grid: &Grid) -> StepReach {
        let factor = self.factor(grid);
        let round = particles::round_reach(self.step_reach(&coarse::grid(grid, factor)) + MARGIN);
        StepReach::Cells(if factor == 1 { round } else { (round * self.rounds(grid) as usize + 2) * factor })
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        let factor = self.factor(grid) as u64;
        if factor == 1 { 0 } else { grid.len() as u64 / (factor * factor) * 40 }
    }

    fn local(&self, local: &mut Local) -> Option<&'static str> {
        for number in 0..SHOWERS {
            local.join(Shower::new(self, number, local.cell, local.key)?);
        }
        Some("showers of droplets that run a few cells, on levels whose cells are not narrower than their stride")
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.stepper(grid, None)
    }
}

/// The droplets at work.
struct Rain {
    model: Droplets,
    rules: Rules,
    last: u32,
    /// Where droplets start; anywhere without one.
    within: Option<Circle>,
}

impl Stepper for Rain {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let underway = Droplet::take(terrain, TABLE, Droplet::possible)?;
        let mut droplets = self.started(terrain, tick);
        let mut budget = MassBalance { particles: droplets.len() as u64, ..MassBalance::default() };
        droplets.reserve_exact(underway.len());
        droplets.extend(underway);
        let asked = [(self.model.visits, &VISITS), (self.model.wear, &WEAR), (self.model.deposit, &DEPOSIT)];
        let mut written: Vec<(&LayerSpec, Cells)> =
            asked.into_iter().filter(|(on, _)| *on).map(|(_, spec)| (spec, terrain.take(spec))).collect();
        if !droplets.is_empty() {
            let grid = terrain.grid.clone();
            let mut planes = Planes::of(terrain, &[HARDNESS, PROTECT]);
            for (spec, cells) in &mut written {
                match cells {
                    Cells::Height(field) => planes.heights.push((spec.name, field)),
                    Cells::Count(field) => planes.counts.push((spec.name, field)),
                    Cells::Float(_) => {}
                }
            }
            let (mut alive, mut done) = particles::round(&self.rules, &grid, &mut planes, droplets)?;
            if tick.step == self.last {
                // Who has not come to rest in all the rounds lays down where it is.
                alive.iter_mut().for_each(|droplet| droplet.age = self.rules.max_steps);
                let (left, settled) = particles::round(&self.rules, &grid, &mut planes, alive)?;
                alive = left;
                done += settled;
            }
            budget += done;
            if !alive.is_empty() {
                terrain.tables.insert(TABLE.to_string(), Droplet::pack(alive.iter().copied()));
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
            if let Some(circle) = &self.within {
                return self.model.set_out(terrain, number, circle.draw(key, grid)?);
            }
            let at = key.pair();
            let droplet = self.model.set_out(terrain, number, Cell::new(at[0] * room[0], at[1] * room[1]))?;
            let cell = Cell::from_axes(|a| (droplet.cell[a] - grid.origin[a]) as usize);
            let dry = rain.is_some_and(|rain| key.and(1).unit() >= f64::from(rain[cell]));
            (!dry).then_some(droplet)
        };
        // In two goes, the second in place: collected at once, they would stand in memory twice.
        let first = numbers.start;
        let count = (numbers.end - first) as usize;
        let droplets: Vec<Option<Droplet>> = (0..count).into_par_iter().map(|n| start(first + n as u64)).collect();
        #[expect(clippy::filter_map_identity, reason = "flatten does not collect in place")]
        let droplets = droplets.into_iter().filter_map(std::convert::identity).collect();
        droplets
    }
}

/// A droplet between rounds. Its position is a world cell, and the part of a row and of a column beyond its centre.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Droplet {
    number: u64,
    cell: Cell<i64>,
    part: Cell<f32>,
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
    fn cell(&self) -> Cell<i64> {
        self.cell
    }
}

impl Row for Droplet {
    const THING: &'static str = "droplet";

    columns! {
        Droplet {
            number: i64, "1" = number;
            row: i64, "cell" = cell[0];
            column: i64, "cell" = cell[1];
            carried: i64, "m/65536" = carried;
            age: i64, "cell" = age;
            part_south: f32, "cell" = part[0];
            part_east: f32, "cell" = part[1];
            south: f32, "1" = direction[0];
            east: f32, "1" = direction[1];
            velocity: f32, "1" = velocity;
            water: f32, "1" = water;
            remainder: f32, "m/65536" = remainder;
        }
    }
}

impl Droplet {
    /// The same, if there can be one in the window of a grid.
    fn possible(self, grid: &Grid) -> Option<Self> {
        // The four corners lie in the world; in its window, the north-western one does.
        let possible = grid.local(self.cell).is_some()
            && (0..2).all(|a| self.cell[a] + 1 < grid.world[a] as i64)
            && [self.part.row, self.part.col].iter().all(|part| (0.0..1.0).contains(part))
            && self.direction.iter().all(|d| d.abs() <= 1.001)
            && (0.0..f32::INFINITY).contains(&self.velocity)
            && (0.0..=100.0).contains(&self.water)
            && (0..=MAX_CARRIED).contains(&self.carried)
            && self.remainder.abs() <= GRAIN;
        possible.then_some(self)
    }
}

/// The parameters as a step on this grid uses them; lengths in cells, heights in units.
pub(super) struct Rules {
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
