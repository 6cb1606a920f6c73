//! Shallow water on a grid of pipes: see [`Pipes`].

mod band;
mod bed;
mod plan;
mod rain;
mod rows;
mod span;
mod step;
mod transport;
mod water;
mod wet;

use crate::model::{About, Family, Model, StepReach, Stepper, YEAR};
use thalweg_core::terrain::{HARDNESS, LOOSE, LayerSpec, PROTECT, RAIN, SUSPENDED, VectorPart, WATER};
use thalweg_core::{Error, Grid, Result, choice, params};
use thalweg_noise::given::springs::SPRINGS;

choice! {
    /// How wide a pipe between two cells is.
    pub enum FlowArea {
        /// As deep as the water in it: shallow water, which takes its momentum along.
        Depth = "depth",
        /// The same for any depth, and without momentum taken along: Mei's pipes.
        Constant = "constant",
    }
}

choice! {
    /// How rain is spread.
    pub enum Shower {
        /// The same everywhere.
        Even = "even",
        /// Drawn anew for each cell and step, from nothing to twice the mean.
        Random = "random",
    }
}

choice! {
    /// How suspended sediment moves.
    pub enum Transport {
        /// Out of each cell with its water, through its pipes, to the unit.
        Donor = "donor",
        /// Looked up where the water was a step ago; sediment is lost and made, and the ledger says how much.
        Backward = "backward",
    }
}

params! {
    /// Rain runs over the ground as shallow water, digs where it is fast, and lays down where it slows: channels, lakes, fans.
    ///
    /// Between a cell and each of its four neighbours lies a pipe of length l, in which water runs at speed u, as deep as it
    /// stands, on the side that it comes from, over the higher of the two grounds; so a metre of the side lets p = u·h through.
    /// The speed persists, and changes in a step dt by u ← u + dt·g·ΔH/l, with ΔH the fall of the water's level, taken from
    /// integer ground: water at rest stays at rest. What flows in brings its own speed along. With `area = "constant"` a pipe
    /// has the section pipe_area for any depth, and nothing is brought along. Friction is Manning's, solved for the new speed:
    /// u + dt·g·n²·u|u|/h^(4/3) = what it would be without. Speeds end at 0.7·dx/dt. A cell whose pipes would take more than it
    /// holds gives each the same part less. Then h ← h + dt·(in − out)/dx.
    ///
    /// With v the speed through a cell and α the ground's slope, water can carry
    /// C = capacity·max(sin α, min_slope)·|v|·min(1, h/ramp), a thickness in metres. Where it carries s < C it takes
    /// erosion·(C − s) a second, first from loose ground, then `rock` times (1 − hardness) as much from bedrock; never more
    /// than half of what the cell stands above its lowest neighbour. Where s > C it lays down deposition·(s − C) a second, which
    /// is loose from then on, and everything where it dries up. What amounts to less than a unit (1/65 536 m) is kept in the
    /// layer `fraction`. Suspended sediment leaves a cell by each pipe in proportion to the water that does, rounded down to the
    /// unit. Last, h ← h·(1 − evaporation·dt).
    ///
    /// Source: Mei, Decaudin & Hu (2007), *Fast hydraulic erosion simulation and visualization on GPU*, Pacific Graphics,
    /// doi:10.1109/PG.2007.15, after O'Brien & Hodgins (1995); friction as Bates, Horritt & Fewtrell (2010),
    /// doi:10.1016/j.jhydrol.2010.03.027; momentum after Stelling & Duinmeijer (2003), doi:10.1002/fld.537; loose ground over
    /// bedrock as Šťava et al. (2008). We differ: a pipe has one flow with a sign, not one for each way, since two that oppose
    /// each other carry waves up to √2 too fast; its speed persists, and not its flow; rates are per second; transport loses
    /// nothing (Mei's is `transport = "backward"`).
    ///
    /// Time steps: dt is the longest for which √2·c·dt/dx ≤ ½, where c is √(g·deepest), or √(g·pipe_area/l) for constant pipes,
    /// or the shorter `dt`; so finer cells and a greater `deepest` take more steps. A spring is a row of the table `springs`
    /// (`row`, `column`, `rate` in m³/s). Over open edges, and into cells without data, water falls freely, at √(g·h) or as
    /// fast as it comes; a closed edge is a wall. Ground below the sea keeps its water at sea level. Cells under a micron of
    /// water dry up when no rain falls.
    ///
    /// It heeds `loose`, `hardness`, `protect`, `rain` and water that is there, from an earlier stage or given as the layer
    /// `water` (depths in metres: a file, or what another stage left, such as `pool`), and leaves ground, `loose` and `water`. The
    /// layers `suspended`, `pipe_x`, `pipe_y` and `fraction` are there while it runs; what is suspended at the end settles where it
    /// is. It breaks where water has not the time to cross the map, and four pipes favour the axes: on smooth inclines the
    /// thin water of rain cuts rills along them.
    pub struct Pipes {
        /// Time that passes, of water and not of the land: erosion of ages is had by higher rates.
        seconds: f64 = 900.0, within 0.0..=1e7, unit "s", scales Age Size, source "ours";
        /// Longest time step; 0 leaves it to the bound of stability, which always holds.
        dt: f64 = 0.0, within 0.0..=3600.0, unit "s", source "Mei 2007";
        /// Whether pipes widen with depth, as in nature, or not.
        area: FlowArea = FlowArea::Depth, within .., unit "1", source "ours";
        /// Section of a constant pipe: waves run at √(g·pipe_area/pipe_length), whatever the depth.
        pipe_area: f64 = 20.0, within 0.001..=1e6, unit "m²", source "Mei 2007";
        /// Length of a constant pipe; 0 is the cell size.
        pipe_length: f64 = 0.0, within 0.0..=1e5, unit "m", source "Mei 2007";
        /// Depth beyond which a pipe widens no more: greater is truer in deep lakes and takes shorter steps.
        deepest: f64 = 10.0, within 0.01..=1000.0, unit "m", source "ours";
        /// Manning's n of the bed: rougher beds hold water back, so that it is deeper and slower; 0 lets it speed up for ever.
        roughness: f64 = 0.035, within 0.0..=1.0, unit "s/m^(1/3)", source "Chow 1959; natural streams";
        /// Rain while it falls.
        rain: f64 = 100.0, within 0.0..=100_000.0, unit "mm/h", scales Rain, source "ours";
        /// How rain is spread over the cells.
        shower: Shower = Shower::Even, within .., unit "1", source "Mei 2007";
        /// From the beginning of one storm to that of the next; 0 is steady rain.
        storm_period: f64 = 0.0, within 0.0..=1e7, unit "s", source "ours";
        /// Part of each period in which it rains.
        storm_share: f64 = 0.5, within 0.0..=1.0, unit "1", source "ours";
        /// Radius of the cloud that rain falls from, another for each storm; 0 is rain over the whole map.
        storm_radius: f64 = 0.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// How fast the cloud moves.
        storm_speed: f64 = 8.0, within 0.0..=100.0, unit "m/s", source "ours";
        /// Share of the water that evaporates in a second.
        evaporation: f64 = 0.0001, within 0.0..=1.0, unit "1/s", source "Mei 2007";
        /// Whether water stands at the start wherever the ground is below `lake_level`.
        lake: bool = false, within .., unit "1", source "the document's second start";
        /// Level of the water that stands at the start.
        lake_level: f64 = 0.0, within -16_000.0..=16_000.0, unit "m", scales Relief,
            source "the document's second start";
        /// Sediment, as metres of thickness, that water at 1 m/s carries down a wall: more carves deeper and builds larger fans.
        capacity: f64 = 0.3, within 0.0..=100.0, unit "s", source "Mei 2007";
        /// Least sin α that counts: what rivers carry over flat ground.
        min_slope: f64 = 0.03, within 0.0..=1.0, unit "1", source "Mei 2007";
        /// Depth from which on water carries all it can; sheets of rain dig less.
        ramp: f64 = 0.5, within 0.0..=100.0, unit "m", source "ours";
        /// Share of the lacking load that loose ground yields in a second.
        erosion: f64 = 0.1, within 0.0..=100.0, unit "1/s", source "ours";
        /// What bedrock yields, as a share of what loose ground would.
        rock: f64 = 0.3, within 0.0..=1.0, unit "1", scales Debris^-1, source "Šťava 2008";
        /// Share of the surplus load that is laid down in a second: less carries it farther.
        deposition: f64 = 0.1, within 0.0..=100.0, unit "1/s", source "ours";
        /// How suspended sediment moves.
        transport: Transport = Transport::Donor, within .., unit "1", source "ours; Mei 2007";
        /// Whether to leave the water's velocity as layers.
        velocity: bool = false, within .., unit "1", source "ours";
    }
}

/// Speed in m/s in the pipe through the west side of each cell, above 0 eastward; there while the model runs.
pub const PIPE_X: LayerSpec =
    LayerSpec::floats("pipe_x", "m/s", "Speed at which water runs eastward through the cell's west side.")
        .part(VectorPart::East)
        .following_water();
/// Speed in m/s in the pipe through the north side of each cell, above 0 southward; there while the model runs.
pub const PIPE_Y: LayerSpec =
    LayerSpec::floats("pipe_y", "m/s", "Speed at which water runs southward through the cell's north side.")
        .part(VectorPart::South)
        .following_water();
/// What is yet to be dug of a unit of ground (1/65 536 m), 0 to 1; there while the model runs.
pub const FRACTION: LayerSpec =
    LayerSpec::floats("fraction", "1", "Part of a unit of height that is to be dug and not yet is.");
/// Eastward part of the water's velocity in m/s; left where [`Pipes::velocity`] is set.
pub const VELOCITY_X: LayerSpec =
    LayerSpec::floats("velocity_x", "m/s", "Velocity of the water, eastward.").part(VectorPart::East).following_water();
/// Southward part of the water's velocity in m/s; left where [`Pipes::velocity`] is set.
pub const VELOCITY_Y: LayerSpec = LayerSpec::floats("velocity_y", "m/s", "Velocity of the water, southward.")
    .part(VectorPart::South)
    .following_water();

/// Acceleration of gravity in m/s².
const GRAVITY: f64 = 9.81;

/// Part of the way to the bound of stability, √2·c·dt/dx = 1 for c the speed of waves, that a step goes: water in motion
/// needs room too.
const COURANT: f64 = 0.5;

/// The most steps that a stage may take.
const MOST_STEPS: f64 = 1e9;

impl Pipes {
    /// Seconds of one step on this grid: the longest that goes a whole number of times into `seconds` and passes neither `dt` (where
    /// that is above 0) nor the bound of stability; 0 where `seconds` is.
    pub fn time_step(&self, grid: &Grid) -> f64 {
        self.seconds / self.count(grid).max(1.0)
    }

    /// Number of steps, before it is known to be small enough.
    fn count(&self, grid: &Grid) -> f64 {
        let bound = COURANT * grid.cell / (2.0 * GRAVITY * self.depth(grid)).sqrt();
        let dt = if self.dt > 0.0 { self.dt.min(bound) } else { bound };
        (self.seconds / dt).ceil()
    }

    /// Length of a pipe in metres.
    fn length(&self, grid: &Grid) -> f64 {
        match self.area {
            FlowArea::Constant if self.pipe_length > 0.0 => self.pipe_length,
            _ => grid.cell,
        }
    }

    /// Greatest depth of water in which waves run as fast as in these pipes.
    fn depth(&self, grid: &Grid) -> f64 {
        match self.area {
            FlowArea::Depth => self.deepest,
            FlowArea::Constant => self.pipe_area / self.length(grid),
        }
    }
}

impl Model for Pipes {
    fn about(&self) -> About {
        About {
            name: "pipes",
            summary: "Rain runs as shallow water through pipes from cell to cell, and erodes: channels, lakes, fans.",
            source: "Mei, Decaudin & Hu (2007), Fast hydraulic erosion simulation and visualization on GPU",
            family: Family::Erosion,
            uses: &[HARDNESS, PROTECT, RAIN, WATER],
            writes: &[LOOSE, WATER, SUSPENDED, PIPE_X, PIPE_Y, FRACTION, VELOCITY_X, VELOCITY_Y],
            tables: &[SPRINGS],
            placed: self.shower == Shower::Random || self.storm_radius > 0.0,
            ..About::default()
        }
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        if self.count(grid) > MOST_STEPS {
            let most = self.time_step(grid) * MOST_STEPS;
            let allowed = format!("up to {most:.0} s on cells of {} m: each step is so short there", grid.cell);
            return Err(Error::value("pipes.seconds", format!("{} s", self.seconds), allowed));
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        self.count(grid).min(MOST_STEPS) as u32
    }

    fn years(&self, grid: &Grid, step: u32) -> Option<f64> {
        Some(f64::from(step) * self.time_step(grid) / YEAR)
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        StepReach::Cells(band::REACH)
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        step::scratch(grid)
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(step::Flow::new(self, grid, true)))
    }
}
