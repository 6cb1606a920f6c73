//! Wind-blown sand: see [`Dunes`].

mod bed;
mod hills;
mod slab;
mod superimposed_dunes;
mod supply;
mod wind;

use crate::model::{About, Family, Local, MassBalance, Model, StepReach, Stepper, Tick};
use crate::models::dunes::bed::{Repose, SandBed};
use crate::models::dunes::slab::{Flight, Slab};
use crate::models::dunes::superimposed_dunes::Backs;
use crate::models::dunes::supply::{first_slab_number, slab_numbers_per_row};
use crate::models::dunes::wind::{LIFT, SHADE, TURN, WindField};
use crate::process::particles::{self, Planes};
use thalweg_core::declare::codec::Row;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{PROTECT, SEDIMENT};
use thalweg_core::{Cell, CellRect, Edge, Error, Field, Grid, Height, Result, Terrain, params};
use thalweg_refine::Sand;

params! {
    /// Wind carries loose sand over the ground and builds dunes: barchans where sand is scarce, ridges across the wind
    /// where there is much, and ridges along the mean of two winds.
    ///
    /// In each step every cell outside the wind's shadow releases a slab of sand of thickness d, or all its sand if
    /// that is less. The slab hops downwind by `hop`·f·(0.5 to 1.5). Where it lands it deposits the share `on_sand` on
    /// sand, `on_rock` on bare ground, and all of it in the shadow, at sea, and in front of ground that it cannot
    /// climb, and hops on with the rest. A cell is in shadow if ground upwind rises more than `shadow` degrees above
    /// it. The wind speeds up over ground that rises above the ground upwind: f = 1 + speed_up·((z − m)/l + 0.42·u),
    /// clamped to ¼..3, where m is the mean of the ground upwind with weights that decay over l = 2·hop, and u is the
    /// speed-up of potential flow over the ground and the separation zone behind it, which also turns the wind around
    /// hills and horns: it is slow in front of them and behind them, and fast over crests and along flanks. Sand
    /// steeper than `repose` slides at once to the steepest of the eight neighbours. The flux over a bare plain of sand
    /// is `transport` = d·hop/(on_sand·t), which gives t, the years that a step stands for.
    ///
    /// Source: Werner (1995), *Eolian dunes: computer simulations and attractor interpretation*, Geology 23,
    /// doi:10.1130/0091-7613(1995)023<1107:EDCSAA>2.3.CO;2; the wind speed over dunes after Momiji, Carretero-González,
    /// Bishop & Warren (2000, doi:10.1002/1096-9837(200008)25:8<905::AID-ESP107>3.0.CO;2-Z), relative to an upwind mean
    /// and not to a height, as the ground need not be a plain; the flow over hills after Jackson & Hunt (1975,
    /// doi:10.1002/qj.49710143015). Deviations: every cell is polled once in a step, and a slab deposits shares of
    /// itself where Werner's is deposited whole or not at all at random: the means are the same without the noise,
    /// which appears as roughness on the slopes of the original. Slabs have positions, not cells, so the wind may blow
    /// from any direction; shadows are found once a step, by a sweep along the wind.
    ///
    /// Layers: it needs none, uses `protect`, the sea and `sediment`, and writes the ground and `sediment`; bedrock
    /// does not change. Where there is no sediment at all, `sand` is deposited first. Sand is exported over open edges
    /// and into missing data; over open edges upwind, `inflow` comes in.
    ///
    /// Limits: it fails where dunes are as small as a few cells or a hop. The wind turns by at most 37°, has no eddies
    /// in front of cliffs, and does not erode rock.
    pub struct Dunes {
        /// Duration of the wind: dunes grow, merge and become fewer.
        years: f64 = 800.0, within 0.0..=1e6, unit "a", scales Age, source "ours";
        /// Sand flux of the wind over a plain of sand: higher values make dunes change faster.
        transport: f64 = 20.0, within 0.0..=10_000.0, unit "m²/a", source "Fryberger & Dean 1979: 5 to 100";
        /// Direction that the wind blows from, clockwise from north: 270 is a west wind.
        wind: f64 = 270.0, within -360.0..=360.0, unit "°", source "ours";
        /// Angle over which the winds of the seasons spread: 0 gives crests across the wind, more than 90 gives ridges
        /// along the mean wind.
        wind_variation: f64 = 0.0, within 0.0..=360.0, unit "°", source "Rubin & Hunter 1987";
        /// Number of winds, which take turns from step to step: two make long ridges, three spread over 240° make star
        /// dunes.
        winds: u32 = 2, within 1..=12, unit "1", source "ours";
        /// Standard deviation of the wind's direction: more makes crests less straight.
        gusts: f64 = 5.0, within 0.0..=45.0, unit "°", source "ours";
        /// Length of a slab's hop, which sets the smallest size of dunes.
        hop: f64 = 20.0, within 0.1..=10_000.0, unit "m", scales Size, source "Werner 1995, five cells";
        /// Thickness of a slab; 0 uses a tenth of a cell. Thinner slabs give smoother sand and need more steps.
        slab: f64 = 0.0, within 0.0..=100.0, unit "m", source "Werner 1995, a tenth of a cell";
        /// Share of a slab that stays where it lands on sand.
        on_sand: f64 = 0.6, within 0.05..=1.0, unit "1", source "Werner 1995";
        /// Share of a slab that stays where it lands on bare ground: lower values leave more ground bare.
        on_rock: f64 = 0.4, within 0.0..=1.0, unit "1", source "Werner 1995";
        /// Angle at which the wind's shadow falls behind a crest.
        shadow: f64 = 15.0, within 1.0..=60.0, unit "°", source "Werner 1995";
        /// Angle of repose of sand, which is the slope of lee faces.
        repose: f64 = 33.0, within 5.0..=60.0, unit "°", source "dry sand, 32 to 34";
        /// Steepest ground that sand is blown up; steeper cliffs stop it.
        climb: f64 = 25.0, within 1.0..=89.0, unit "°", source "ours";
        /// Strength of the speed-up of the wind over ground that rises above its surroundings: higher values give lower
        /// dunes with rounder backs.
        speed_up: f64 = 8.0, within 0.0..=100.0, unit "1", source "Momiji et al. 2000; value ours";
        /// Downhill creep of sand in the wind, relative to transport times slope: more gives smoother, wider dunes. At
        /// most a fifth of the height difference to a neighbour moves in a step, so on cells much finer than a hop the
        /// creep is less.
        creep: f64 = 0.4, within 0.0..=10.0, unit "1", source "Bagnold 1941, up to 1.5; value ours";
        /// Thickness of sand placed on the plains at the start, where there is no sediment in the world.
        sand: f64 = 10.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Unevenness of the initial sand and the inflow: 0 is even; at 1 some ground is bare and some has twice as
        /// much.
        patchiness: f64 = 0.5, within 0.0..=1.0, unit "1", source "ours";
        /// Sand that enters over open edges upwind, as a share of what a plain of sand beyond them would supply.
        inflow: f64 = 1.0, within 0.0..=2.0, unit "1", source "ours";
    }
}

/// Name of the table of sand in the air between two steps.
const TABLE: &str = "sand";

/// Maximum number of steps of a run.
const MAX_STEPS: f64 = 1e6;

/// Maximum hop in cells. With the factors of the wind and of chance a tile reads a multiple of that beyond its border:
/// see `Flight::step_reach`.
const MAX_HOP_CELLS: f64 = 200.0;

/// Side in cells of the square blocks that one particle represents until their cells are polled.
const BLOCK: i64 = 8;

/// Distance over which the weights of the upwind mean decay, in hops.
const MEMORY: f64 = 2.0;

/// Number of creep passes at the end of a run.
const FINAL_CREEP_PASSES: usize = 6;

impl Dunes {
    /// Returns the years in which each cell is polled once, from the parameters alone.
    fn poll_years(&self, grid: &Grid) -> f64 {
        let slab = if self.slab > 0.0 { self.slab } else { grid.cell / 10.0 };
        slab * self.hop / (self.on_sand * self.transport)
    }

    /// Returns the number of steps as a float, which may be larger than allowed.
    fn unclamped_step_count(&self, grid: &Grid) -> f64 {
        (self.years / self.poll_years(grid)).ceil().max(1.0)
    }

    /// Returns the thickness of a slab in metres, adjusted so that the whole number of steps takes exactly the given
    /// years.
    fn slab_thickness(&self, grid: &Grid) -> f64 {
        self.years / self.unclamped_step_count(grid) * self.transport * self.on_sand / self.hop
    }

    /// Returns the direction towards which the wind blows in a step: southward and eastward parts of a unit vector.
    fn wind_direction(&self, tick: Tick) -> [f64; 2] {
        // The winds are spaced evenly over `wind_variation` around the mean, in turn: for example, two winds blow at −½
        // and +½ of the angle.
        let season =
            if self.winds > 1 { f64::from(tick.step % self.winds) / f64::from(self.winds - 1) - 0.5 } else { 0.0 };
        let waver = self.gusts * tick.key.derive_key(u64::from(tick.step)).derive_key(1).standard_normal();
        let from = (self.wind + self.wind_variation * season + waver).to_radians();
        // The parameter gives the direction that the wind comes from, clockwise from north, so the signs turn it
        // around: a west wind (270°) blows eastward.
        [libm::cos(from), -libm::sin(from)]
    }
}

impl Model for Dunes {
    fn about(&self) -> About {
        About {
            name: "dunes",
            title: "Dunes",
            summary: "Wind-blown sand: barchans, ridges across the wind and along it, with slip faces in the lee.",
            source: "Werner (1995), Eolian dunes: computer simulations and attractor interpretation",
            family: Family::Erosion,
            uses: &[PROTECT],
            writes: &[SEDIMENT],
            tables: &[TABLE],
            ..About::default()
        }
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        if self.hop > MAX_HOP_CELLS * grid.cell {
            let allowed = format!("up to {} m ({MAX_HOP_CELLS} cells here)", MAX_HOP_CELLS * grid.cell);
            return Err(Error::invalid_value("dunes.hop", format!("{} m", self.hop), allowed));
        }
        if self.unclamped_step_count(grid) > MAX_STEPS {
            let most = MAX_STEPS * self.poll_years(grid);
            let allowed = format!("0 to {most:.0} a with this transport, slab and hop ({MAX_STEPS} steps)");
            return Err(Error::invalid_value("dunes.years", format!("{} a", self.years), allowed));
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        self.unclamped_step_count(grid).min(MAX_STEPS) as u32
    }

    fn simulated_years(&self, grid: &Grid, step: u32) -> Option<f64> {
        let steps = self.steps(grid);
        Some(self.years * f64::from(step.min(steps)) / f64::from(steps))
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        // The length of a crest's shadow cannot be bounded in advance.
        StepReach::Whole
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // The memory per cell is that of shadow, lift and turn, the ground in metres, and one transposed copy; the
        // coarser levels take a third more.
        28 * grid.len() as u64
    }

    fn define_refinement(&self, local: &mut Local) -> Option<&'static str> {
        // A slab is a tenth of a cell thick: less than a third of a metre of sand is only a veil over rock.
        local.rules.sand = Some(Sand { full: 0.3, repose: libm::tan(self.repose.to_radians()) as f32 });
        // Rain infiltrates into sand.
        local.runoff = 0.0;
        if let Some(backs) = Backs::new(self, local.cell, local.key.random_bits() as u32) {
            local.add_refinement_operator(backs);
        }
        Some("sand keeps its shape and its angle of repose; small dunes on the backs of large ones; no rivers")
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        let rules = DuneRules::new(self, grid);
        Ok(Box::new(Blowing { model: self.clone(), rules, last: self.steps(grid) - 1 }))
    }
}

/// The parameters, converted for a grid; lengths in cells, heights in units.
#[derive(Clone, Copy)]
struct DuneRules {
    hop: f32,
    slab: i32,
    on_sand: f32,
    on_rock: f32,
    /// Greatest rise per cell that sand is blown over.
    climb: f32,
    /// Tangent of the greatest angle between the path of a slab and the wind.
    stray: f32,
    /// Share of the height difference to a neighbour that creep moves in a step.
    creep: f32,
    repose: Repose,
    sea: i32,
    edges: [Edge; 4],
}

impl DuneRules {
    fn new(model: &Dunes, grid: &Grid) -> Self {
        Self {
            hop: (model.hop / grid.cell) as f32,
            // The limit of 1 000 m keeps the thickness far below the range of an `i32`.
            slab: (model.slab_thickness(grid) * UNITS).round().min(UNITS * 1000.0) as i32,
            on_sand: model.on_sand as f32,
            on_rock: model.on_rock as f32,
            climb: (libm::tan(model.climb.to_radians()) * grid.cell * UNITS) as f32,
            stray: libm::tan(model.gusts.to_radians()) as f32,
            // This is explicit diffusion, D·t/dx². The clamp keeps a pair of cells from overshooting its mean; on fine
            // cells the creep is therefore weaker than the parameter says.
            creep: (model.creep * model.transport * model.simulated_years(grid, 1).unwrap_or(0.0) / grid.cell_area())
                .min(0.2) as f32,
            repose: Repose::new(libm::tan(model.repose.to_radians()) * grid.cell * UNITS),
            sea: grid.sea_level.map_or(i32::MIN, |sea| sea.0),
            edges: grid.edges,
        }
    }

    /// Returns the share of the ground that sand of the given thickness covers, 0 to 1.
    #[inline(always)]
    fn sand_cover_share(&self, loose: i32) -> f32 {
        // Usually all of it: the branch avoids the latency of the division.
        let slab = self.slab.max(1);
        if loose >= slab { 1.0 } else { (loose as f32 / slab as f32).max(0.0) }
    }
}

struct Blowing {
    model: Dunes,
    rules: DuneRules,
    last: u32,
}

impl Stepper for Blowing {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let mut budget = MassBalance::default();
        let size = terrain.grid.size;
        let fresh = terrain.loose.as_ref().is_none_or(|loose| loose.as_slice().iter().all(|h| h.0 <= 0));
        // Sand is placed only if the terrain has no sediment at all.
        if tick.step == 0 && fresh && self.model.sand > 0.0 {
            budget.added += supply::place_initial_sand(&self.model, terrain, tick.key);
        }
        // The particles of the step are the slabs still in the air, the blocks of cells to be polled, and the inflow.
        let mut slabs = Slab::take_table(terrain, TABLE, Slab::validate_in_window)?;
        let wind = self.model.wind_direction(tick);
        if self.rules.slab > 0 {
            slabs.extend(self.create_block_particles(&terrain.grid, tick));
            let blown_in = supply::collect_incoming_slabs(&self.model, self.rules.slab, terrain, wind, tick);
            budget.added += blown_in.iter().map(|slab| i128::from(slab.load())).sum::<i128>();
            slabs.extend(blown_in);
        }
        // The wind is computed once a step, from the ground before any slab moves.
        let air = WindField::new(terrain, wind, &self.model);
        let flight = Flight::new(
            &self.rules,
            tick.key.derive_key(u64::from(tick.step)),
            wind,
            slab_numbers_per_row(&terrain.grid),
        );
        let grid = terrain.grid.clone();
        terrain.loose.get_or_insert_with(|| Field::new(size, Height::ZERO));
        let mut planes = Planes::from_terrain(terrain, &[PROTECT]);
        planes.factors.extend([(SHADE, &air.shade), (LIFT, &air.lift), (TURN, &air.turn)]);
        // Tiles are shifted by whole blocks in each step, so that the effect of their borders on the order of events
        // averages out.
        let shift = tick
            .key
            .derive_key(u64::from(tick.step))
            .derive_key(2)
            .uniform_pair()
            .map(|part| (part * 64.0) as i64 * BLOCK);
        let shifted = Grid { origin: Cell::from_axes(|axis| grid.origin[axis] + shift[axis]), ..grid };
        slabs.iter_mut().for_each(|slab| slab.shift(shift));
        let (mut aloft, done) = particles::run_round(&flight, &shifted, &mut planes, slabs)?;
        budget += done;
        if tick.step == self.last {
            // The wind stops: sand in the air is deposited where it is, and slopes come to rest.
            aloft.iter_mut().for_each(Slab::drop_all);
            let (_, done) = particles::run_round(&flight, &shifted, &mut planes, aloft)?;
            budget += done;
            budget += self.settle_sand(terrain);
        } else if !aloft.is_empty() {
            aloft.iter_mut().for_each(|slab| slab.shift(shift.map(|by| -by)));
            terrain.tables.insert(TABLE.to_string(), Slab::pack(aloft.iter().copied()));
        }
        Ok(budget)
    }
}

impl Blowing {
    /// Returns a particle for every block of cells. The cells are polled in the tile where the particle runs.
    fn create_block_particles(&self, grid: &Grid, tick: Tick) -> Vec<Slab> {
        let first = first_slab_number(grid, tick);
        let blocks = |a: usize| {
            let end = grid.origin[a] + grid.size[a] as i64;
            (grid.origin[a].div_euclid(BLOCK)..(end + BLOCK - 1).div_euclid(BLOCK)).map(|b| b * BLOCK)
        };
        // A number depends only on the step and on the place in the world, so a window uses the same numbers as the
        // whole.
        let columns = slab_numbers_per_row(grid);
        let corner = supply::first_block_corner(grid);
        let number = |i: i64, j: i64| first + ((i - corner.row) * columns + j - corner.col) as u64;
        let block = |i: i64, j: i64| Slab::from_block(number(i, j), Cell::new(i, j));
        blocks(0).flat_map(|i| blocks(1).map(move |j| block(i, j))).collect()
    }

    /// Smooths the traces of the last slabs, and lets all sand that is too steep slide until none is.
    fn settle_sand(&self, terrain: &mut Terrain) -> MassBalance {
        let Terrain { grid, ground, loose: Some(loose), nodata, .. } = terrain else { return MassBalance::default() };
        let plain = |field: &Field<Height>| field.as_slice().iter().map(|h| h.0).collect::<Vec<i32>>();
        let (mut heights, mut sand) = (plain(ground), plain(loose));
        let mut bed = SandBed {
            ground: &mut heights,
            loose: &mut sand,
            outside: nodata.as_ref().map(Field::as_slice),
            stride: grid.cols(),
            valid: CellRect::new([0, 0], grid.size),
            repose: self.rules.repose,
            slid: 0,
        };
        // The sand that creep moves may make other slopes too steep, so sliding comes last.
        (0..FINAL_CREEP_PASSES).for_each(|_| bed.diffuse_sand(self.rules.creep));
        bed.slide_until_stable();
        let slid = bed.slid.into();
        for (field, plain) in [(ground, heights), (loose, sand)] {
            for (to, from) in field.as_mut_slice().iter_mut().zip(plain) {
                to.0 = from;
            }
        }
        MassBalance { eroded: slid, deposited: slid, ..MassBalance::default() }
    }
}

#[cfg(test)]
mod tests;
