//! Droplet erosion: see [`Droplets`].

mod lanes;
mod map;
mod pour;
mod shower;
mod trace;

pub use pour::{Circle, pour_droplets};
pub use trace::{TracePoint, trace_droplet, trace_droplets};

use rayon::prelude::*;

use crate::model::{About, Family, Local, MassBalance, Model, PlayedRole, Role, StepReach, Stepper, Tick};
use crate::models::droplets::shower::{DropletShower, SHOWERS};
use crate::process::brush::ErosionBrush;
use crate::process::coarse::{self, Coarsened};
use crate::process::particles::{self, Particle, Planes};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::codec::{Row, columns};
use thalweg_core::terrain::grid::Edges;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, HARDNESS, Hue, LayerSpec, PROTECT, RAIN};
use thalweg_core::{Cell, Error, Grid, Height, Result, Terrain, params};

params! {
    /// Raindrops run downhill, erode where they can carry more sediment and deposit where they cannot: gullies on the
    /// slopes, fans and filled depressions below.
    ///
    /// A droplet has a position, a direction d, a velocity v, water w and sediment s. One step is one cell long:
    /// d ← normalise(d·inertia − normalise(∇z)·(1 − inertia)). With Δ the rise of the ground over the step (bilinear at
    /// both ends), the capacity is c = max(−Δ, min_slope·dx)·v·w·capacity_factor. Uphill the droplet fills the pit that
    /// it left, by min(Δ, s); over capacity it deposits (s − c)·deposition; both go to the four corners of the old
    /// position. Otherwise it erodes min((c − s)·erosion, −Δ) around the old position, with a brush of weights
    /// 1 − |offset|/(radius + 1). Then v ← √(max(0, v² − Δ·gravity)) and w ← w·(1 − evaporation). The droplet ends
    /// after `max_steps`, when its water is used up, at the edge, or where nothing moves it, and deposits its whole
    /// load; over an open edge the load is exported.
    ///
    /// Source: Beyer (2015), *Implementation of a method for hydraulic erosion*, bachelor's thesis, TU München, and the
    /// droplet programs that followed it. Deviations: heights are fixed-point, and the droplet carries amounts below a
    /// unit along, so that the solid mass balance closes to the unit; the brush is centred on the nearest cell and not
    /// on the cell to the north-west; under the sea droplets only deposit, and while moving no more than the water
    /// depth at their position.
    ///
    /// Units and resolution. A droplet runs on cells of `stride` metres: on a grid of such cells the formulas hold
    /// exactly. On a finer grid, droplets run on a coarser copy of the ground, with K = stride/dx (rounded) cells to
    /// one, and the change is interpolated smoothly back to the fine ground every few rounds. Wide strides therefore
    /// carve wide valleys, and cost the same at any resolution. Where K·dx is not the stride (mostly on coarser grids),
    /// with q = K·dx/stride, shares per step become 1 − (1 − share)^q and inertia^q; moved sediment is a volume, so
    /// capacity, in metres of cell height, is multiplied by q⁻³ and the limit −Δ by q⁻². `radius` and `max_steps` are
    /// counted in strides; `min_slope` is a slope, and `gravity` is per metre of fall. To run a map with heights from 0
    /// to 1 on cells of 1, multiply all lengths by 1 000: heights and min_slope × 1 000, gravity ÷ 1 000 (the recipe
    /// `droplets` does this for the settings of the document *Érosion d'une montagne*).
    ///
    /// Layers: it needs none, uses `hardness`, `protect`, `rain` and sediment, and writes the ground and, if requested,
    /// `visits`, `wear` and `deposit`.
    ///
    /// Limits: too many droplets over plain noise leave parallel rills without a network and star-shaped cones, and
    /// basins fill with smooth floors. Several stages with strides from wide to narrow give branching valleys. Without
    /// a `floor`, droplets that leave over an open edge dig a deep pit there.
    pub struct Droplets {
        /// Size of the cells that droplets run on, which sets the scale of the carved valleys; 0 uses the grid's cell.
        stride: f64 = 0.0, within 0.0..=1e5, unit "m", scales Size, source "ours";
        /// Droplets per square kilometre: more erode deeper; 0 means one per square stride.
        density: f64 = 0.0, within 0.0..=1e9, unit "1/km²", scales Age Rain Size^-2, source "ours";
        /// Total number of droplets, instead of a density; 0 uses the density.
        count: u32 = 0, within 0..=4_000_000_000, unit "1", scales Age Rain, source "ours";
        /// Share of the old direction that is kept in a stride: 0 follows the steepest slope, values near 1 run
        /// straight on.
        inertia: f64 = 0.1, within 0.0..=0.999, unit "1", source "Beyer 2015; Érosion d'une montagne";
        /// Velocity at the start; higher values erode deeper from the first step.
        velocity: f64 = 1.0, within 0.0..=100.0, unit "1", source "Érosion d'une montagne";
        /// Water at the start; more water carries more sediment.
        water: f64 = 1.0, within 0.0..=100.0, unit "1", source "Érosion d'une montagne";
        /// Increase of the squared velocity per metre of fall: with higher values, droplets are faster and erode deeper
        /// on long slopes.
        gravity: f64 = 0.001, within 0.0..=100.0, unit "1/m", source "Érosion d'une montagne, where it is 0.098 a map height";
        /// Smallest slope used for the capacity: keeps droplets eroding on nearly flat ground.
        min_slope: f64 = 0.01, within 0.0..=1000.0, unit "1", scales Size^-1, source "Érosion d'une montagne";
        /// Sediment that a droplet of velocity 1 and water 1 can carry, in falls of one stride: higher values erode
        /// deeper before anything is deposited.
        capacity_factor: f64 = 3.0, within 0.0..=1000.0, unit "1", source "Érosion d'une montagne";
        /// Share of the missing sediment that is eroded in a stride.
        erosion: f64 = 0.03, within 0.0..=1.0, unit "1", scales Erodibility^0.5, source "Érosion d'une montagne";
        /// Share of the excess sediment that is deposited in a stride.
        deposition: f64 = 0.03, within 0.0..=1.0, unit "1", source "Érosion d'une montagne";
        /// Share of the water lost in a stride: higher values make shorter paths.
        evaporation: f64 = 0.1, within 0.0..=1.0, unit "1", source "Érosion d'une montagne";
        /// Radius of the eroding brush, in strides: wide brushes make broad valleys, 0 makes trenches one cell wide.
        radius: f64 = 2.0, within 0.0..=30.0, unit "stride", source "Érosion d'une montagne, as started";
        /// Longest path of a droplet, in strides.
        max_steps: u32 = 600, within 1..=100_000, unit "stride", source "Érosion d'une montagne";
        /// A droplet ends when its water falls below this.
        min_water: f64 = 0.001, within 0.0..=1.0, unit "1", source "ours";
        /// Elevation below which no cell is eroded.
        floor: f64 = -16_000.0, within -16_000.0..=16_000.0, none -16_000.0, unit "m", scales Relief,
            source "Érosion d'une montagne, where it is 0";
        /// Storage test: heights are kept in this many bits over 1 000 m, as in an image; 32 keeps full precision.
        store_bits: u32 = 32, within 8..=32, unit "bit", source "Érosion d'une montagne";
        /// Writes the number of droplet steps on each cell as the layer `visits`.
        visits: bool = false, within .., unit "1", source "ours";
        /// Writes the total erosion of each cell as the layer `wear`.
        wear: bool = false, within .., unit "1", source "ours";
        /// Writes the total deposition on each cell as the layer `deposit`.
        deposit: bool = false, within .., unit "1", source "ours";
    }
}

/// Layer of the number of droplet steps on each cell.
pub const VISITS: LayerSpec = LayerSpec::counts("visits", "1", "Droplet steps on the cell.").hue(Hue::Passing);
/// Layer of the total erosion, as a thickness in units of [`Height`].
pub const WEAR: LayerSpec = LayerSpec::heights("wear", "m", "Total erosion of the cell.");
/// Layer of the total deposition, as a thickness in units of [`Height`].
pub const DEPOSIT: LayerSpec = LayerSpec::heights("deposit", "m", "Total deposition on the cell.");

/// Name of the table of droplets between steps.
const TABLE: &str = "droplets";

/// Maximum stride in cells: the widest stride of the presets on grids of more than 30 000 cells a side.
const MAX_STRIDE_CELLS: f64 = 500.0;

/// Distance in cells beyond its tile up to which a droplet is followed.
const MARGIN: usize = 8;

/// Grid cells per droplet of a batch: 64 droplets per tile, enough to be worth loading the tile into the cache.
const CELLS_PER_DROPLET: usize = 64;

/// Maximum load of a droplet, in units: the sum of two loads does not overflow.
const MAX_CARRIED: i32 = 1 << 30;

/// Maximum remainder of a cut, in units: the rounding grain of the largest cut.
const GRAIN: f32 = 65_536.0;

impl Droplets {
    /// Returns the stride in metres: the parameter, or the cell width if that is 0.
    fn effective_stride(&self, grid: &Grid) -> f64 {
        if self.stride > 0.0 { self.stride } else { grid.cell }
    }

    /// Returns the radius of the brush in cells.
    fn radius_cells(&self, grid: &Grid) -> f64 {
        self.radius * self.effective_stride(grid) / grid.cell
    }

    /// Returns the number of grid cells per side of a cell of the coarser grid that droplets run on.
    fn coarsening_factor(&self, grid: &Grid) -> usize {
        (self.effective_stride(grid) / grid.cell).round().clamp(1.0, MAX_STRIDE_CELLS) as usize
    }

    /// Returns the number of rounds on the coarse grid between two transfers to the fine ground. A transfer costs as
    /// much as the fine cells, so larger blocks have more rounds.
    fn rounds_per_transfer(&self, grid: &Grid) -> u32 {
        (self.coarsening_factor(grid).pow(2) as u32).min(16)
    }

    /// Returns the distance in cells to the farthest cell that a droplet's step reads or writes.
    fn step_reach(&self, grid: &Grid) -> usize {
        self.radius_cells(grid) as usize + 2
    }

    /// Returns the maximum number of steps of a droplet on a grid.
    fn max_steps_per_droplet(&self, grid: &Grid) -> u32 {
        (f64::from(self.max_steps) * self.effective_stride(grid) / grid.cell).round().clamp(1.0, 1e6) as u32
    }

    /// Returns the total number of droplets.
    fn total_droplets(&self, grid: &Grid) -> u64 {
        if self.count > 0 {
            return u64::from(self.count);
        }
        let density = if self.density > 0.0 { self.density } else { 1e6 / self.effective_stride(grid).powi(2) };
        (density * grid.extent().height * grid.extent().width / 1e6).round().min(1e12) as u64
    }

    /// Returns the number of droplets started by one step.
    fn droplets_per_step(&self, grid: &Grid) -> u64 {
        let by_cells = (grid.world[0] * grid.world[1] / CELLS_PER_DROPLET).max(1) as u64;
        // The second bound keeps the number of steps below 2³⁰, whatever the density.
        by_cells.max(self.total_droplets(grid).div_ceil(1 << 30))
    }

    /// Returns the steps on a grid of the droplets' own cells: rounds that start droplets, then rounds in which the
    /// last ones finish.
    fn total_steps(&self, grid: &Grid) -> u32 {
        // A droplet that enters a tile is at least `MARGIN` = 8 cells away from where it leaves it, so each round
        // advances it by 8 steps or more. Eight further rounds are a reserve; the last round lets all droplets that
        // remain settle.
        self.raining_steps(grid) + 8 + self.max_steps_per_droplet(grid) / 8
    }

    /// Returns the number of steps that start droplets.
    fn raining_steps(&self, grid: &Grid) -> u32 {
        self.total_droplets(grid).div_ceil(self.droplets_per_step(grid)) as u32
    }

    /// Creates the stepper of droplets that start in the circle `within`, or anywhere if it is `None`.
    fn create_stepper_within(&self, grid: &Grid, within: Option<Circle>) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        let factor = self.coarsening_factor(grid);
        let coarse = coarse::coarsen_grid(grid, factor);
        let steps = self.total_steps(&coarse);
        // Droplets of wide strides run on a coarse copy of the ground, which costs the same at any resolution.
        // On the coarse cells the stride is the same, so the factor is 1 there.
        let rain =
            DropletStepper { rules: DropletRules::new(self, &coarse), model: self.clone(), last: steps - 1, within };
        if factor == 1 {
            return Ok(Box::new(rain));
        }
        Ok(Box::new(Coarsened { factor, rounds: self.rounds_per_transfer(grid), steps, inner: Box::new(rain) }))
    }

    /// Creates droplet `number` at a place, given in rows and columns from the centre of the world's first cell.
    /// Returns `None` outside the terrain, at sea, and next to cells without data.
    fn create_droplet(&self, terrain: &Terrain, number: u64, place: Cell<f64>) -> Option<Droplet> {
        let grid = &terrain.grid;
        let cell = Cell::new(place.row as i64 + grid.first[0], place.col as i64 + grid.first[1]);
        let Cell { row: i, col: j } =
            grid.local_cell(cell).filter(|local| (0..2).all(|a| local[a] + 1 < grid.size[a]))?;
        let at_sea = grid.sea_level.is_some_and(|sea| terrain.ground[(i, j)] < sea);
        let void = [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)].iter().any(|(i, j)| terrain.is_nodata(*i, *j));
        // A droplet starts without a direction, so the gradient alone decides its first step.
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
            title: "Droplets",
            summary: "Raindrops run downhill, erode and deposit: gullies, fans, filled depressions.",
            source: "Beyer (2015), Implementation of a method for hydraulic erosion",
            family: Family::Erosion,
            uses: &[HARDNESS, PROTECT, RAIN],
            writes: &[VISITS, WEAR, DEPOSIT],
            tables: &[TABLE],
            ..About::default()
        }
    }

    fn roles(&self) -> &'static [PlayedRole] {
        &[PlayedRole { role: Role::Droplets, with: &[] }]
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        let cells = self.effective_stride(grid) / grid.cell;
        if cells > MAX_STRIDE_CELLS {
            let allowed = format!("up to {} m ({MAX_STRIDE_CELLS} cells here)", MAX_STRIDE_CELLS * grid.cell);
            return Err(Error::invalid_value("droplets.stride", format!("{} m", self.effective_stride(grid)), allowed));
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        let coarse = coarse::coarsen_grid(grid, self.coarsening_factor(grid));
        self.total_steps(&coarse).div_ceil(self.rounds_per_transfer(grid))
    }

    fn reach(&self, grid: &Grid) -> StepReach {
        let factor = self.coarsening_factor(grid);
        let round = particles::round_reach(self.step_reach(&coarse::coarsen_grid(grid, factor)) + MARGIN);
        StepReach::Cells(if factor == 1 {
            round
        } else {
            // A step of the grid runs several rounds on the blocks. Two more blocks cover the alignment of blocks and
            // the spread of a block's change over its neighbours.
            (round * self.rounds_per_transfer(grid) as usize + 2) * factor
        })
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        let factor = self.coarsening_factor(grid) as u64;
        if factor == 1 { 0 } else { grid.len() as u64 / (factor * factor) * 40 }
    }

    fn define_refinement(&self, local: &mut Local) -> Option<&'static str> {
        for number in 0..SHOWERS {
            local.add_refinement_operator(DropletShower::new(self, number, local.cell, local.key)?);
        }
        Some("showers of droplets that run a few cells, on levels whose cells are not narrower than their stride")
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.create_stepper_within(grid, None)
    }
}

/// The stepper on the droplets' own cells.
struct DropletStepper {
    model: Droplets,
    rules: DropletRules,
    last: u32,
    /// Circle in which droplets start; anywhere if `None`.
    within: Option<Circle>,
}

impl Stepper for DropletStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        // The droplets of a step are those that earlier steps have left under way, and a new batch.
        let underway = Droplet::take_table(terrain, TABLE, Droplet::validate_in_window)?;
        let mut droplets = self.spawn_droplets(terrain, tick);
        let mut budget = MassBalance { particles: droplets.len() as u64, ..MassBalance::default() };
        droplets.reserve_exact(underway.len());
        droplets.extend(underway);
        // The requested layers are taken out of the terrain, so that they can be written together with the ground.
        let asked = [(self.model.visits, &VISITS), (self.model.wear, &WEAR), (self.model.deposit, &DEPOSIT)];
        let mut written: Vec<(&LayerSpec, Cells)> =
            asked.into_iter().filter(|(on, _)| *on).map(|(_, spec)| (spec, terrain.take_layer(spec))).collect();
        if !droplets.is_empty() {
            let grid = terrain.grid.clone();
            let mut planes = Planes::from_terrain(terrain, &[HARDNESS, PROTECT]);
            for (spec, cells) in &mut written {
                match cells {
                    Cells::Height(field) => planes.heights.push((spec.name, field)),
                    Cells::Count(field) => planes.counts.push((spec.name, field)),
                    Cells::Float(_) => {}
                }
            }
            let (mut alive, mut done) = particles::run_round(&self.rules, &grid, &mut planes, droplets)?;
            if tick.step == self.last {
                // Droplets that have not come to rest in all rounds deposit their load where they are.
                alive.iter_mut().for_each(|droplet| droplet.age = self.rules.max_steps);
                let (remaining, settled) = particles::run_round(&self.rules, &grid, &mut planes, alive)?;
                alive = remaining;
                done += settled;
            }
            budget += done;
            if !alive.is_empty() {
                terrain.tables.insert(TABLE.to_string(), Droplet::pack(alive.iter().copied()));
            }
        }
        for (spec, cells) in written {
            terrain.insert_layer(spec, cells)?;
        }
        Ok(budget)
    }
}

impl DropletStepper {
    /// Returns the droplets that this step starts in this window, on land.
    fn spawn_droplets(&self, terrain: &Terrain, tick: Tick) -> Vec<Droplet> {
        let grid = &terrain.grid;
        let batch = self.model.droplets_per_step(grid);
        let first = u64::from(tick.step) * batch;
        let numbers = first..(first + batch).min(self.model.total_droplets(grid)).max(first);
        let room = grid.world.map(|cells| cells as f64 - 1.0);
        if room.contains(&0.0) {
            return Vec::new();
        }
        let rain = terrain.float_layer(&RAIN);
        // The place depends on the droplet's number and the world's size alone, so a window starts the same droplets.
        let start = |number: u64| {
            let key: RandomKey = tick.key.derive_key(number);
            if let Some(circle) = &self.within {
                return self.model.create_droplet(terrain, number, circle.sample_start_position(key, grid)?);
            }
            let at = key.uniform_pair();
            let droplet = self.model.create_droplet(terrain, number, Cell::new(at[0] * room[0], at[1] * room[1]))?;
            let cell = Cell::from_axes(|a| (droplet.cell[a] - grid.origin[a]) as usize);
            // Rain below 1 thins the droplets out: the value of the layer is the probability that a droplet starts.
            let dry = rain.is_some_and(|rain| key.derive_key(1).uniform_unit() >= f64::from(rain[cell]));
            (!dry).then_some(droplet)
        };
        // In two passes, of which the second works in place: collecting directly would hold the droplets in memory
        // twice.
        let first = numbers.start;
        let count = (numbers.end - first) as usize;
        let droplets: Vec<Option<Droplet>> = (0..count).into_par_iter().map(|n| start(first + n as u64)).collect();
        #[expect(clippy::filter_map_identity, reason = "flatten does not collect in place")]
        let droplets = droplets.into_iter().filter_map(std::convert::identity).collect();
        droplets
    }
}

/// A droplet between rounds. Its position is a world cell, and the fractions of a row and a column from that cell's
/// centre.
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
    const ITEM_NAME: &'static str = "droplet";

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
    /// Returns the droplet if its values are valid in the window of `grid`, and `None` otherwise. Tables may come from
    /// files.
    fn validate_in_window(self, grid: &Grid) -> Option<Self> {
        // All four corners are in the world, and the north-western one is in the window.
        let possible = grid.local_cell(self.cell).is_some()
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

/// The parameters, converted for a grid; lengths in cells, heights in units.
pub(super) struct DropletRules {
    brush: ErosionBrush,
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
    /// Sea level, used only if there is a sea.
    sea: i32,
    has_sea: bool,
    edges: Edges,
    /// Smallest difference of two heights that storage can represent, in units; 1 is full precision.
    quantum: i32,
}

impl DropletRules {
    fn new(model: &Droplets, grid: &Grid) -> Self {
        let q = grid.cell / model.effective_stride(grid);
        // A share per stride becomes a share per cell that compounds to it over a stride.
        let per_cell = |share: f64| (1.0 - libm::pow(1.0 - share, q)) as f32;
        Self {
            brush: ErosionBrush::new(model.radius_cells(grid)),
            step_reach: model.step_reach(grid),
            inertia: libm::pow(model.inertia, q) as f32,
            // Moved sediment is a volume: as a height on cells q strides wide it is divided by q², and the fall over
            // one cell that the capacity is a multiple of is q times that over a stride.
            capacity: (model.capacity_factor / (q * q * q)) as f32,
            min_drop: (model.min_slope * grid.cell * UNITS) as f32,
            erosion: per_cell(model.erosion),
            deposition: per_cell(model.deposition),
            dig_limit: (1.0 / (q * q)) as f32,
            gravity: (model.gravity / UNITS) as f32,
            keep_water: 1.0 - per_cell(model.evaporation),
            min_water: model.min_water as f32,
            max_steps: model.max_steps_per_droplet(grid),
            floor: Height::from_metres_clamped(model.floor).0,
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
