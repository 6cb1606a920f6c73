//! Wind-blown sand: see [`Dunes`].

mod backs;
mod bed;
mod hills;
mod slab;
mod supply;
mod wind;

use crate::model::{About, Family, Local, MassBalance, Model, StepReach, Stepper, Tick};
use crate::models::dunes::backs::Backs;
use crate::models::dunes::bed::{Bed, Repose};
use crate::models::dunes::slab::{Flight, Slab};
use crate::models::dunes::supply::{columns, numbers};
use crate::models::dunes::wind::{Air, LIFT, SHADE, TURN};
use crate::process::particles::{self, Planes};
use thalweg_core::declare::codec::Row;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{LOOSE, PROTECT};
use thalweg_core::{Cell, CellRect, Edge, Error, Field, Grid, Height, Result, Terrain, params};
use thalweg_refine::Sand;

params! {
    /// Wind carries loose sand over the ground and heaps it into dunes: barchans where sand is scarce, ridges across the
    /// wind where there is much, ridges along the mean of two winds.
    ///
    /// In each step every cell out of the wind's shadow gives a slab of sand, as thick as d, or what there is. The slab hops
    /// downwind by `hop`·f·(0.5 to 1.5); where it comes down it lays `on_sand` of itself on sand, `on_rock` on bare ground, all
    /// of it in the shadow, at sea, and before ground that it cannot climb, and hops on with the rest. A place is in shadow
    /// when ground upwind stands higher than `shadow` degrees over it. The wind speeds up over what rises out of the ground
    /// upwind: f = 1 + speed_up·((z − m)/l + 0.42·u) from ¼ to 3, m the mean of the ground upwind with weights that fall off
    /// over l = 2·hop, u the quickening of potential flow over the ground and the dead air behind it, which also turns the
    /// wind round hills and horns: slow before and behind them, quick over crests and past flanks. Sand steeper than `repose`
    /// slides, to the steepest of eight neighbours, at once. The flux of a bare plain of sand is `transport` =
    /// d·hop/(on_sand·t), which gives t, the years that a step takes.
    ///
    /// Source: Werner (1995), *Eolian dunes: computer simulations and attractor interpretation*, Geology 23,
    /// doi:10.1130/0091-7613(1995)023<1107:EDCSAA>2.3.CO;2; the wind's speed over dunes after Momiji, Carretero-González,
    /// Bishop & Warren (2000, doi:10.1002/1096-9837(200008)25:8<905::AID-ESP107>3.0.CO;2-Z), by an upwind mean and not by
    /// height, as the ground need not be a plain; the flow over hills after Jackson & Hunt (1975, doi:10.1002/qj.49710143015).
    /// We differ: every cell is polled once a step, and a slab lays shares of itself
    /// where his is laid whole by chance: the same means without their noise, which stands as roughness on his slopes. Slabs
    /// have places, not cells, so the wind may blow from anywhere; shadows are found once a step, by a sweep along the wind.
    ///
    /// It needs nothing, heeds `protect`, the sea and the loose layer, and leaves the ground and `loose`; bedrock stays as it is.
    /// Where there is no loose ground at all, `sand` is laid first. Over open edges and into missing data sand is carried out;
    /// over open edges upwind comes `inflow`. It breaks where dunes are as small as a few cells or a hop; wind turns by
    /// 37° at most, has no eddies before cliffs, and cuts no rock.
    pub struct Dunes {
        /// Years of wind: dunes grow, join and become fewer.
        years: f64 = 800.0, within 0.0..=1e6, unit "a", scales Age, source "ours";
        /// Sand that the wind carries over a plain of it: more is quicker.
        transport: f64 = 20.0, within 0.0..=10_000.0, unit "m²/a", source "Fryberger & Dean 1979: 5 to 100";
        /// Where the wind blows from, clockwise from north: 270 is a west wind.
        wind: f64 = 270.0, within -360.0..=360.0, unit "°", source "ours";
        /// Angle over which the seasons' winds spread: 0 for crests across the wind, over 90 for ridges along the mean.
        wind_variation: f64 = 0.0, within 0.0..=360.0, unit "°", source "Rubin & Hunter 1987";
        /// Number of winds, step by step in turn: two for long ridges, three spread over 240° for stars.
        winds: u32 = 2, within 1..=12, unit "1", source "ours";
        /// How much the wind's direction wavers, as a standard deviation: more makes crests less straight.
        gusts: f64 = 5.0, within 0.0..=45.0, unit "°", source "ours";
        /// How far a slab hops: the least size of dunes.
        hop: f64 = 20.0, within 0.1..=10_000.0, unit "m", scales Size, source "Werner 1995, five cells";
        /// Thickness of a slab; 0 takes a tenth of a cell. Thinner slabs make smoother sand and more steps.
        slab: f64 = 0.0, within 0.0..=100.0, unit "m", source "Werner 1995, a tenth of a cell";
        /// Share of a slab that stays where it comes down on sand.
        on_sand: f64 = 0.6, within 0.05..=1.0, unit "1", source "Werner 1995";
        /// Share of a slab that stays where it comes down on bare ground: less leaves more ground bare.
        on_rock: f64 = 0.4, within 0.0..=1.0, unit "1", source "Werner 1995";
        /// Angle at which the wind's shadow falls behind a crest.
        shadow: f64 = 15.0, within 1.0..=60.0, unit "°", source "Werner 1995";
        /// Angle of repose of sand: how steep lee faces are.
        repose: f64 = 33.0, within 5.0..=60.0, unit "°", source "dry sand, 32 to 34";
        /// Steepest ground that sand is blown up on: cliffs steeper than that stop it.
        climb: f64 = 25.0, within 1.0..=89.0, unit "°", source "ours";
        /// How much farther slabs hop over ground that rises out of its surroundings: lower dunes with rounder backs.
        speed_up: f64 = 8.0, within 0.0..=100.0, unit "1", source "Momiji et al. 2000; value ours";
        /// How much sand in the wind rolls downhill: creep over transport and slope; more makes smoother, wider dunes. (Not
        /// more than a fifth of the fall to a neighbour moves in a step: on cells much finer than a hop it is less.)
        creep: f64 = 0.4, within 0.0..=10.0, unit "1", source "Bagnold 1941, up to 1.5; value ours";
        /// Sand laid over the plains at the start, where there is no loose ground in the world.
        sand: f64 = 10.0, within 0.0..=1000.0, unit "m", source "ours";
        /// How patchy the first sand and the inflow are: 0 is even, at 1 some ground is bare and some has twice as much.
        patchiness: f64 = 0.5, within 0.0..=1.0, unit "1", source "ours";
        /// Sand that comes over open edges upwind, as a share of what a plain of sand beyond them would send.
        inflow: f64 = 1.0, within 0.0..=2.0, unit "1", source "ours";
    }
}

/// Sand in the air between two steps.
const TABLE: &str = "sand";

/// The most steps that a run may take.
const MOST_STEPS: f64 = 1e6;

/// The longest hop in cells: with the wind's speed-up and its chance, three times that is read beyond a tile.
const MOST_CELLS: f64 = 200.0;

/// Sides of the squares that one particle stands for until its cells are polled.
const BLOCK: i64 = 8;

/// Distance over which the mean upwind is taken, in hops.
const MEMORY: f64 = 2.0;

/// Times that sand creeps when the wind drops.
const CALM: usize = 6;

impl Dunes {
    /// Years in which each cell is polled once, as asked for.
    fn poll_years(&self, grid: &Grid) -> f64 {
        let slab = if self.slab > 0.0 { self.slab } else { grid.cell / 10.0 };
        slab * self.hop / (self.on_sand * self.transport)
    }

    /// Steps as a number that may be too large.
    fn polls(&self, grid: &Grid) -> f64 {
        (self.years / self.poll_years(grid)).ceil().max(1.0)
    }

    /// Thickness of a slab in metres, such that the steps take the years.
    fn slab(&self, grid: &Grid) -> f64 {
        self.years / self.polls(grid) * self.transport * self.on_sand / self.hop
    }

    /// Towards where the wind blows in a step: southward and eastward parts of 1.
    fn wind(&self, tick: Tick) -> [f64; 2] {
        let season =
            if self.winds > 1 { f64::from(tick.step % self.winds) / f64::from(self.winds - 1) - 0.5 } else { 0.0 };
        let waver = self.gusts * tick.key.and(u64::from(tick.step)).and(1).normal();
        let from = (self.wind + self.wind_variation * season + waver).to_radians();
        [libm::cos(from), -libm::sin(from)]
    }
}

impl Model for Dunes {
    fn about(&self) -> About {
        About {
            name: "dunes",
            summary: "Wind-blown sand: barchans, ridges across the wind and along it, with slip faces in the lee.",
            source: "Werner (1995), Eolian dunes: computer simulations and attractor interpretation",
            family: Family::Erosion,
            uses: &[PROTECT],
            writes: &[LOOSE],
            tables: &[TABLE],
            ..About::default()
        }
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        if self.hop > MOST_CELLS * grid.cell {
            let allowed = format!("up to {} m ({MOST_CELLS} cells here)", MOST_CELLS * grid.cell);
            return Err(Error::value("dunes.hop", format!("{} m", self.hop), allowed));
        }
        if self.polls(grid) > MOST_STEPS {
            let most = MOST_STEPS * self.poll_years(grid);
            let allowed = format!("0 to {most:.0} a with this transport, slab and hop ({MOST_STEPS} steps)");
            return Err(Error::value("dunes.years", format!("{} a", self.years), allowed));
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        self.polls(grid).min(MOST_STEPS) as u32
    }

    fn years(&self, grid: &Grid, step: u32) -> Option<f64> {
        let steps = self.steps(grid);
        Some(self.years * f64::from(step.min(steps)) / f64::from(steps))
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        // A crest's shadow has no end that could be known beforehand.
        StepReach::Whole
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // Shadow, lift and turn, the ground in metres and one of them turned; of those made wider a third more.
        28 * grid.len() as u64
    }

    fn local(&self, local: &mut Local) -> Option<&'static str> {
        // A slab lies a tenth of a cell thick: under a third of a metre sand is a veil over rock.
        local.rules.sand = Some(Sand { full: 0.3, repose: libm::tan(self.repose.to_radians()) as f32 });
        // Sand drinks what falls on it.
        local.runoff = 0.0;
        if let Some(backs) = Backs::new(self, local.cell, local.key.bits() as u32) {
            local.join(backs);
        }
        Some("sand keeps its shape and its angle of repose; small dunes on the backs of large ones; no rivers")
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        let rules = Rules::new(self, grid);
        Ok(Box::new(Blowing { model: self.clone(), rules, last: self.steps(grid) - 1 }))
    }
}

/// The parameters as a step on this grid uses them; lengths in cells, heights in units.
#[derive(Clone, Copy)]
struct Rules {
    hop: f32,
    slab: i32,
    on_sand: f32,
    on_rock: f32,
    /// Greatest rise that sand is blown over, per cell.
    climb: f32,
    /// Tangent of how far a slab may stray from the wind.
    stray: f32,
    /// Share of the fall to a neighbour that creeps.
    creep: f32,
    repose: Repose,
    sea: i32,
    edges: [Edge; 4],
}

impl Rules {
    fn new(model: &Dunes, grid: &Grid) -> Self {
        Self {
            hop: (model.hop / grid.cell) as f32,
            slab: (model.slab(grid) * UNITS).round().min(UNITS * 1000.0) as i32,
            on_sand: model.on_sand as f32,
            on_rock: model.on_rock as f32,
            climb: (libm::tan(model.climb.to_radians()) * grid.cell * UNITS) as f32,
            stray: libm::tan(model.gusts.to_radians()) as f32,
            creep: (model.creep * model.transport * model.years(grid, 1).unwrap_or(0.0) / grid.cell_area()).min(0.2)
                as f32,
            repose: Repose::new(libm::tan(model.repose.to_radians()) * grid.cell * UNITS),
            sea: grid.sea_level.map_or(i32::MIN, |sea| sea.0),
            edges: grid.edges,
        }
    }

    /// How far sand of a thickness covers the ground.
    #[inline(always)]
    fn sandy(&self, loose: i32) -> f32 {
        // Mostly it does, which is said without a division that what follows would wait for.
        let slab = self.slab.max(1);
        if loose >= slab { 1.0 } else { (loose as f32 / slab as f32).max(0.0) }
    }
}

struct Blowing {
    model: Dunes,
    rules: Rules,
    last: u32,
}

impl Stepper for Blowing {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let mut budget = MassBalance::default();
        let size = terrain.grid.size;
        let fresh = terrain.loose.as_ref().is_none_or(|loose| loose.as_slice().iter().all(|h| h.0 <= 0));
        if tick.step == 0 && fresh && self.model.sand > 0.0 {
            budget.added += supply::lay(&self.model, terrain, tick.key);
        }
        let mut slabs = Slab::take(terrain, TABLE, Slab::possible)?;
        let wind = self.model.wind(tick);
        if self.rules.slab > 0 {
            slabs.extend(self.polls(&terrain.grid, tick));
            let blown_in = supply::blown_in(&self.model, self.rules.slab, terrain, wind, tick);
            budget.added += blown_in.iter().map(|slab| i128::from(slab.load())).sum::<i128>();
            slabs.extend(blown_in);
        }
        let air = Air::new(terrain, wind, &self.model);
        let flight = Flight::new(&self.rules, tick.key.and(u64::from(tick.step)), wind, columns(&terrain.grid));
        let grid = terrain.grid.clone();
        terrain.loose.get_or_insert_with(|| Field::new(size, Height::ZERO));
        let mut planes = Planes::of(terrain, &[PROTECT]);
        planes.factors.extend([(SHADE, &air.shade), (LIFT, &air.lift), (TURN, &air.turn)]);
        // Tiles lie elsewhere in each step, by whole blocks: what their borders do to the order of things evens out.
        let shift = tick.key.and(u64::from(tick.step)).and(2).pair().map(|part| (part * 64.0) as i64 * BLOCK);
        let shifted = Grid { origin: Cell::from_axes(|axis| grid.origin[axis] + shift[axis]), ..grid };
        slabs.iter_mut().for_each(|slab| slab.shift(shift));
        let (mut aloft, done) = particles::round(&flight, &shifted, &mut planes, slabs)?;
        budget += done;
        if tick.step == self.last {
            // The wind drops: what is aloft comes down where it is, and slopes come to rest.
            aloft.iter_mut().for_each(Slab::drop_all);
            let (_, done) = particles::round(&flight, &shifted, &mut planes, aloft)?;
            budget += done;
            budget += self.rest(terrain);
        } else if !aloft.is_empty() {
            aloft.iter_mut().for_each(|slab| slab.shift(shift.map(|by| -by)));
            terrain.tables.insert(TABLE.to_string(), Slab::pack(aloft.iter().copied()));
        }
        Ok(budget)
    }
}

impl Blowing {
    /// A particle for every block of cells, which are polled where it runs.
    fn polls(&self, grid: &Grid, tick: Tick) -> Vec<Slab> {
        let first = numbers(grid, tick);
        let blocks = |a: usize| {
            let end = grid.origin[a] + grid.size[a] as i64;
            (grid.origin[a].div_euclid(BLOCK)..(end + BLOCK - 1).div_euclid(BLOCK)).map(|b| b * BLOCK)
        };
        let columns = columns(grid);
        let corner = supply::corner(grid);
        let number = |i: i64, j: i64| first + ((i - corner.row) * columns + j - corner.col) as u64;
        let block = |i: i64, j: i64| Slab::block(number(i, j), Cell::new(i, j));
        blocks(0).flat_map(|i| blocks(1).map(move |j| block(i, j))).collect()
    }

    /// Smooths what the last slabs have left, and lets all sand that is too steep slide until none is.
    fn rest(&self, terrain: &mut Terrain) -> MassBalance {
        let Terrain { grid, ground, loose: Some(loose), nodata, .. } = terrain else { return MassBalance::default() };
        let plain = |field: &Field<Height>| field.as_slice().iter().map(|h| h.0).collect::<Vec<i32>>();
        let (mut heights, mut sand) = (plain(ground), plain(loose));
        let mut bed = Bed {
            ground: &mut heights,
            loose: &mut sand,
            outside: nodata.as_ref().map(Field::as_slice),
            stride: grid.cols(),
            valid: CellRect::new([0, 0], grid.size),
            repose: self.rules.repose,
            slid: 0,
        };
        (0..CALM).for_each(|_| bed.even_out(self.rules.creep));
        bed.rest();
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
