//! Shallow-water erosion with the virtual-pipe method: see [`Pipes`].

mod active_blocks;
mod band;
mod bed;
mod bed_stage;
mod plan;
mod rain;
mod row_state;
mod rows;
mod sediment_stage;
mod span;
mod step;
mod step_totals;
mod transport;
mod water;

use crate::model::{About, Family, Model, StepReach, Stepper, YEAR};
use thalweg_core::terrain::{HARDNESS, LayerSpec, PROTECT, RAIN, SEDIMENT, SUSPENDED, VectorPart, WATER};
use thalweg_core::{Error, Grid, Result, choice, params};
use thalweg_noise::input_tables::springs::SPRINGS;

choice! {
    /// How the cross-section of a pipe between two cells is determined.
    pub enum FlowArea {
        /// As deep as the water in it: shallow water, with advection of momentum.
        Depth = "depth",
        /// The same for any depth, without advection of momentum: the pipes of Mei et al.
        Constant = "constant",
    }
}

choice! {
    /// How rain is distributed over the cells.
    pub enum Shower {
        /// The same amount everywhere.
        Even = "even",
        /// Drawn at random for each cell and step, between zero and twice the mean.
        Random = "random",
    }
}

choice! {
    /// How suspended sediment moves.
    pub enum Transport {
        /// Leaves each cell with its water, through its pipes; conserves mass to the unit.
        Donor = "donor",
        /// Takes the value from where the water was one step ago; sediment is lost and created, and the mass balance
        /// reports how much.
        Backward = "backward",
    }
}

params! {
    /// Rain runs over the ground as shallow water, erodes where it is fast, and deposits where it slows down: channels,
    /// lakes, fans.
    ///
    /// Between a cell and each of its four neighbours is a pipe of length l, in which water flows at speed u. Its depth
    /// h is that of the water in the cell that it comes from, above the higher of the two ground elevations; a metre of
    /// the cells' common side therefore carries p = u·h. The speed is kept from step to step, and changes in a time
    /// step dt by u ← u + dt·g·ΔH/l. Here ΔH is the drop of the water level between the cells, computed from integer
    /// ground elevations, so water at rest stays at rest. Inflowing water brings its own speed along. With
    /// `area = "constant"` a pipe has the cross-section pipe_area for any depth, and no momentum is advected. Friction
    /// is Manning's, solved for the new speed: u + dt·g·n²·u|u|/h^(4/3) = the speed without friction. Speeds are
    /// limited to 0.7·dx/dt. If the pipes of a cell would take more water than it has, all of them get the same smaller
    /// share. Then h ← h + dt·(in − out)/dx.
    ///
    /// With v the speed through a cell and α the slope of the ground, the transport capacity of water is
    /// C = capacity·max(sin α, min_slope)·|v|·min(1, h/ramp), a thickness in metres. Where the water carries s < C it
    /// erodes erosion·(C − s) per second: sediment first, then `rock` times (1 − hardness) as much bedrock, and never
    /// more than half of the cell's height above its lowest neighbour. Where s > C it deposits deposition·(s − C) per
    /// second, as the layer `sediment`, and where it dries up it deposits all. Amounts below one height unit
    /// (1/65 536 m) are kept in the layer `fraction`. Suspended sediment leaves a cell through each pipe in proportion
    /// to the outflowing water, rounded down to the unit. Finally, h ← h·(1 − evaporation·dt).
    ///
    /// Source: Mei, Decaudin & Hu (2007), *Fast hydraulic erosion simulation and visualization on GPU*, Pacific
    /// Graphics, doi:10.1109/PG.2007.15, after O'Brien & Hodgins (1995); friction as in Bates, Horritt & Fewtrell
    /// (2010), doi:10.1016/j.jhydrol.2010.03.027; momentum after Stelling & Duinmeijer (2003), doi:10.1002/fld.537;
    /// sediment over bedrock as in Šťava et al. (2008). Deviations: a pipe has one signed flow instead of one flow for
    /// each direction, because two opposing flows carry waves up to √2 too fast; the speed, not the flow, is kept from
    /// step to step; rates are per second; transport loses nothing (that of Mei et al. is `transport = "backward"`).
    ///
    /// Time steps: dt is the longest for which √2·c·dt/dx ≤ ½, where c is √(g·deepest), or √(g·pipe_area/l) for
    /// constant pipes; or `dt`, if that is shorter. Finer cells and a greater `deepest` therefore need more steps. A
    /// spring is a row of the table `springs` (`row`, `column`, `rate` in m³/s). Over open edges, and into cells
    /// without data, water falls freely, at √(g·h) or at its own speed if that is higher; a closed edge is a wall.
    /// Ground below the sea keeps its water at sea level. Cells with less than a micrometre of water dry up when no
    /// rain falls.
    ///
    /// It uses `sediment`, `hardness`, `protect`, `rain` and water that is already there: from an earlier stage, or
    /// given as the layer `water` (depths in metres: a file, or a layer of another stage, such as `pool`). It writes
    /// the ground, `sediment` and `water`. The layers `suspended`, `pipe_x`, `pipe_y` and `fraction` exist while it
    /// runs; sediment that is suspended at the end is deposited where it is. Limits: it fails where water does not have
    /// the time to cross the map; and four pipes favour the grid's axes, so on smooth inclines the thin sheet of rain
    /// water cuts rills along them.
    pub struct Pipes {
        /// Simulated time of the flow, not of landscape evolution; for the erosion of ages, use higher rates.
        seconds: f64 = 900.0, within 0.0..=1e7, unit "s", scales Age Size, source "ours";
        /// Longest time step; with 0 only the stability limit counts, which always applies.
        dt: f64 = 0.0, within 0.0..=3600.0, unit "s", source "Mei 2007";
        /// Cross-section of the pipes: growing with depth, as in nature, or constant.
        area: FlowArea = FlowArea::Depth, within .., unit "1", source "ours";
        /// Cross-section of a constant pipe: waves travel at √(g·pipe_area/pipe_length), whatever the depth.
        pipe_area: f64 = 20.0, within 0.001..=1e6, unit "m²", source "Mei 2007";
        /// Length of a constant pipe; 0 takes the cell width.
        pipe_length: f64 = 0.0, within 0.0..=1e5, unit "m", source "Mei 2007";
        /// Depth beyond which a pipe does not grow further: a greater value is more accurate in deep lakes and needs
        /// shorter time steps.
        deepest: f64 = 10.0, within 0.01..=1000.0, unit "m", source "ours";
        /// Manning's n of the bed: over a rougher bed water is deeper and slower; with 0 it accelerates without limit.
        roughness: f64 = 0.035, within 0.0..=1.0, unit "s/m^(1/3)", source "Chow 1959; natural streams";
        /// Rain intensity while it rains.
        rain: f64 = 100.0, within 0.0..=100_000.0, unit "mm/h", scales Rain, source "ours";
        /// How rain is distributed over the cells.
        shower: Shower = Shower::Even, within .., unit "1", source "Mei 2007";
        /// Time from the beginning of one storm to that of the next; 0 gives steady rain.
        storm_period: f64 = 0.0, within 0.0..=1e7, unit "s", source "ours";
        /// Part of each period during which it rains.
        storm_share: f64 = 0.5, within 0.0..=1.0, unit "1", source "ours";
        /// Radius of the rain cloud; each storm has its own cloud at another place. With 0 rain falls over the whole
        /// map.
        storm_radius: f64 = 0.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// Speed at which the cloud moves.
        storm_speed: f64 = 8.0, within 0.0..=100.0, unit "m/s", source "ours";
        /// Share of the water that evaporates in a second.
        evaporation: f64 = 0.0001, within 0.0..=1.0, unit "1/s", source "Mei 2007";
        /// Puts the ground below `lake_level` under water at the start.
        lake: bool = false, within .., unit "1", source "ours";
        /// Level of the water at the start, if `lake` is true.
        lake_level: f64 = 0.0, within -16_000.0..=16_000.0, unit "m", scales Relief, source "ours";
        /// Sediment, as a thickness in metres, that water at 1 m/s carries down a vertical wall: more carves deeper and
        /// builds larger fans.
        capacity: f64 = 0.3, within 0.0..=100.0, unit "s", source "Mei 2007";
        /// Least sin α in the transport capacity: it lets rivers carry sediment over flat ground.
        min_slope: f64 = 0.03, within 0.0..=1.0, unit "1", source "Mei 2007";
        /// Depth from which on water has its full transport capacity; thin sheets of rain water erode less.
        ramp: f64 = 0.5, within 0.0..=100.0, unit "m", source "ours";
        /// Share of the unused transport capacity that is eroded from sediment in a second.
        erosion: f64 = 0.1, within 0.0..=100.0, unit "1/s", source "ours";
        /// Erosion of bedrock, as a share of that of sediment.
        rock: f64 = 0.3, within 0.0..=1.0, unit "1", scales Debris^-1, source "Šťava 2008";
        /// Share of the load above the transport capacity that is deposited in a second: less carries it farther.
        deposition: f64 = 0.1, within 0.0..=100.0, unit "1/s", source "ours";
        /// How suspended sediment moves.
        transport: Transport = Transport::Donor, within .., unit "1", source "ours; Mei 2007";
        /// Writes the water's velocity as the layers `velocity_x` and `velocity_y`.
        velocity: bool = false, within .., unit "1", source "ours";
    }
}

/// The speed in m/s in the pipe through the west side of each cell, positive eastward; present while the model runs.
pub const PIPE_X: LayerSpec =
    LayerSpec::floats("pipe_x", "m/s", "Eastward speed of the water through the cell's west side.")
        .part(VectorPart::East)
        .following_water();
/// The speed in m/s in the pipe through the north side of each cell, positive southward; present while the model
/// runs.
pub const PIPE_Y: LayerSpec =
    LayerSpec::floats("pipe_y", "m/s", "Southward speed of the water through the cell's north side.")
        .part(VectorPart::South)
        .following_water();
/// The part of a height unit (1/65 536 m) that is still to be eroded, 0 to 1; present while the model runs.
pub const FRACTION: LayerSpec = LayerSpec::floats("fraction", "1", "Part of a height unit still to be eroded.");
/// The eastward component of the water's velocity in m/s; written if [`Pipes::velocity`] is set.
pub const VELOCITY_X: LayerSpec =
    LayerSpec::floats("velocity_x", "m/s", "Eastward velocity of the water.").part(VectorPart::East).following_water();
/// The southward component of the water's velocity in m/s; written if [`Pipes::velocity`] is set.
pub const VELOCITY_Y: LayerSpec = LayerSpec::floats("velocity_y", "m/s", "Southward velocity of the water.")
    .part(VectorPart::South)
    .following_water();

/// The acceleration of gravity in m/s².
const GRAVITY: f64 = 9.81;

/// The Courant number of a step, as a share of the stability limit √2·c·dt/dx = 1, where c is the wave speed. It is
/// below 1 because the current moves water in addition to the waves.
const COURANT: f64 = 0.5;

/// The greatest number of steps that a stage may take.
const MAX_STEPS: f64 = 1e9;

impl Pipes {
    /// Returns the length of a time step in seconds on this grid: the longest that divides `seconds` into a whole
    /// number of steps and exceeds neither `dt` (if that is above 0) nor the stability limit. Returns 0 if `seconds`
    /// is 0.
    pub fn time_step(&self, grid: &Grid) -> f64 {
        self.seconds / self.step_count(grid).max(1.0)
    }

    /// Returns the number of steps, before it is checked against the allowed maximum.
    fn step_count(&self, grid: &Grid) -> f64 {
        // The stability limit √2·c·dt/dx ≤ COURANT is solved for dt, with c² = g·depth; the √2 is inside the root.
        let bound = COURANT * grid.cell / (2.0 * GRAVITY * self.wave_depth(grid)).sqrt();
        let dt = if self.dt > 0.0 { self.dt.min(bound) } else { bound };
        (self.seconds / dt).ceil()
    }

    /// Returns the length of a pipe in metres.
    fn effective_pipe_length(&self, grid: &Grid) -> f64 {
        match self.area {
            FlowArea::Constant if self.pipe_length > 0.0 => self.pipe_length,
            _ => grid.cell,
        }
    }

    /// Returns the depth in metres at which shallow-water waves are as fast as the fastest waves in these pipes.
    fn wave_depth(&self, grid: &Grid) -> f64 {
        match self.area {
            FlowArea::Depth => self.deepest,
            FlowArea::Constant => self.pipe_area / self.effective_pipe_length(grid),
        }
    }
}

impl Model for Pipes {
    fn about(&self) -> About {
        About {
            name: "pipes",
            title: "Shallow water",
            summary: "Rain flows as shallow water through pipes between cells and erodes: channels, lakes, fans.",
            source: "Mei, Decaudin & Hu (2007), Fast hydraulic erosion simulation and visualization on GPU",
            family: Family::Erosion,
            uses: &[HARDNESS, PROTECT, RAIN, WATER],
            writes: &[SEDIMENT, WATER, SUSPENDED, PIPE_X, PIPE_Y, FRACTION, VELOCITY_X, VELOCITY_Y],
            tables: &[SPRINGS],
            placed: self.shower == Shower::Random || self.storm_radius > 0.0,
            ..About::default()
        }
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        if self.step_count(grid) > MAX_STEPS {
            let max_duration = self.time_step(grid) * MAX_STEPS;
            let allowed = format!("up to {max_duration:.0} s, because cells of {} m need short steps", grid.cell);
            return Err(Error::invalid_value("pipes.seconds", format!("{} s", self.seconds), allowed));
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        self.step_count(grid).min(MAX_STEPS) as u32
    }

    fn simulated_years(&self, grid: &Grid, step: u32) -> Option<f64> {
        Some(f64::from(step) * self.time_step(grid) / YEAR)
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        StepReach::Cells(band::REACH)
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        step::estimate_scratch_bytes(grid)
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(step::PipeStepper::new(self, grid, true)))
    }
}
