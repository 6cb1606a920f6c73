//! Stream power: see [`StreamPower`].

mod deposit;
mod level;
mod rock;
mod solve;
mod step;

use std::sync::Arc;

use crate::model::{About, Family, Local, MassBalance, Model, Stepper, Tick};
use crate::models::stream_power::level::Level;
use crate::models::stream_power::step::Rivers;
use crate::process::coarse;
use crate::process::slopes::diffuse;
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::{LOOSE, LayerSpec, RAIN};
use thalweg_core::{Error, Grid, Result, Terrain, choice, params};
use thalweg_noise::strata::StandingBeds;

pub use thalweg_core::terrain::{ERODIBILITY, UPLIFT};

choice! {
    /// How drainage area is counted.
    pub enum Area {
        /// Water spreads over all lower neighbours: valleys in any direction.
        Multiple = "multiple",
        /// All water takes the steepest way: sharper valleys, along the grid's eight directions.
        D8 = "d8",
    }
}

params! {
    /// Land rises and rivers cut down into it, the more water and the steeper the faster: branching valleys between
    /// branching ridges, down to a base level.
    ///
    /// ∂z/∂t = U − K·Aᵐ·Sⁿ + G/A·∫(U − ∂z/∂t) dA + κ·∇²z, and |∇z| held to a limit: U uplift, A the area that drains through
    /// a cell (m²), S the slope towards the neighbour that it drains to, G deposition, κ creep. Each step raises the land,
    /// finds where water goes (depressions filled, so lakes pass it on), solves cuts implicitly from base level upwards, in
    /// one pass whatever the step, then lets slopes creep and slide. In the steady state S = ((1 + G)·U/K)^(1/n)·A^(−m/n).
    /// Open edges, cells beside missing data, and the sea are base level: they keep their height, and what reaches them has
    /// left. Looped edges are none: water goes on at the other side. Where nothing leads out of the world,
    /// sediment fills its lowest ground. Under the water of a lake nothing is cut;
    /// with deposition, lakes fill.
    ///
    /// After each step's cuts, rivers widen their valleys along smooth lines, as the model `planation` does. They have a memory: a river's
    /// line swings to both sides of the course that it has, the floor is cut about the line, wider where rock is soft, and the next step goes on from
    /// there. So bends grow, walls are undercut here and there, and what a river has left stands as terraces. A floor rises to its
    /// rim as a concave foot, and the bed lies in it, a little lower than the river was.
    ///
    /// What breaks the sameness of such land is that rock differs: uplift and erodibility are log-normal fields, erodibility with
    /// octaves down to the cell (`grain`), functions of world metres, so that a finer grid only adds octaves. With a `fabric` both are
    /// drawn out along a strike, which the seed draws between the grid's axes and diagonals; along it, too, run `faults`, lines of crushed rock,
    /// the zeroes of a noise. Where land rises so slowly that rivers keep its slopes under the limit, slopes are of all angles. Beds of hard
    /// and soft rock (`strata`) change erodibility and the limit by e^(±strata), and rise with the rock.
    ///
    /// With a `stride` the land is grown from coarse to fine: for all the years on cells of that width, then on cells of half the
    /// width for `finer_years` of that time with steps of `finer_step` the length, and so on down to the grid's own. So
    /// great valleys are the same at all resolutions, and a finer grid costs little more than its last few steps.
    ///
    /// Source: Braun & Willett (2013, doi:10.1016/j.geomorph.2012.10.008) for the implicit step; Yuan et al. (2019,
    /// doi:10.1029/2018JF004867) for deposition; Freeman (1991, doi:10.1016/0098-3004(91)90048-I) for the area; Cordonnier et al.
    /// (2016, doi:10.1111/cgf.12820) for worlds of it; Hancock & Anderson (2002, GSA Bulletin 114, 1131) for
    /// terraces that wandering rivers leave; Molnar et al. (2007, doi:10.1029/2005JF000433) for crushed rock. We differ: area is
    /// that of multiple flow while cuts follow the steepest neighbour, which takes the grid's directions out; heights are in whole units, rise is carried over steps exactly and
    /// cuts under a unit are right in the mean; sediment follows the steepest way, and is trapped by lakes.
    ///
    /// It needs nothing, heeds the factors `uplift` and `erodibility`, with `rain` where that falls, and loose ground, and leaves the ground and, with deposition or
    /// in a world without a way out, `loose`. It breaks where it is asked for rivers: bends do not cut themselves off, none has levees; a
    /// step longer than a wave of incision takes to pass the map blurs valleys' heads; without a limit slopes far from water
    /// grow to needles; on one level with long steps everything is softer than coarse to fine.
    pub struct StreamPower {
        /// Time in all, on the coarsest level: land that began as a plain is in balance after some millions.
        years: f64 = 1e6, within 0.0..=1e9, unit "a", scales Age, source "ours";
        /// Length of a step on the coarsest level: longer is quicker and softer.
        step: f64 = 2e4, within 1.0..=1e7, unit "a", source "ours";
        /// Width of the coarsest level's cells: great valleys are found there; 0 works on the grid's own cells only.
        stride: f64 = 0.0, within 0.0..=1e5, unit "m", scales Size, source "ours";
        /// Time that each finer level takes, as a part of the level before.
        finer_years: f64 = 0.2, within 0.0..=1.0, unit "1", source "ours";
        /// Length of each finer level's steps, as a part of the level before.
        finer_step: f64 = 0.6, within 0.01..=1.0, unit "1", source "ours";
        /// Rate at which land rises: higher mountains.
        uplift: f64 = 5e-4, within 0.0..=1.0, unit "m/a", scales Relief, source "active ranges";
        /// How much uplift varies from region to region: the deviation of its logarithm.
        uplift_variation: f64 = 0.3, within 0.0..=3.0, unit "1", source "ours";
        /// Distance over which uplift varies.
        uplift_wavelength: f64 = 6000.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// How readily rivers cut rock, K: lower mountains.
        erodibility: f64 = 7e-6, within 0.0..=1.0, unit "m^(1−2m)/a", scales Rain^area_exponent Erodibility,
            source "Stock & Montgomery 1999, for m = 0.45";
        /// How much erodibility varies from region to region: the deviation of its logarithm.
        erodibility_variation: f64 = 0.6, within 0.0..=3.0, unit "1", source "ours";
        /// Distance over which erodibility varies most.
        erodibility_wavelength: f64 = 2500.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// How many times as long as wide regions of one uplift or one erodibility are, along a strike that the seed draws: ranges and valleys
        /// run that way; 1 for all ways alike.
        fabric: f64 = 1.0, within 1.0..=20.0, unit "1", source "ours; jointed and folded rock";
        /// How much more readily rock is eroded that faults have crushed: the logarithm, in the middle of a fault; 0 for none.
        faults: f64 = 0.0, within 0.0..=3.0, unit "1", source "ours; Molnar et al. 2007";
        /// Distance from fault to fault.
        faults_spacing: f64 = 3000.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// Width of crushed rock along a fault.
        faults_width: f64 = 200.0, within 1.0..=1e5, unit "m", source "ours";
        /// How much each octave of fine grain varies erodibility, the deviation of its logarithm: ridges and gullies lose their sameness.
        grain: f64 = 0.5, within 0.0..=2.0, unit "1", source "ours";
        /// Distance at which fine grain begins; its octaves go down to the cell.
        grain_wavelength: f64 = 100.0, within 0.01..=1e6, unit "m", scales Size, source "ours";
        /// Water that runs off where the layer `rain` says 1: A is then the water that drains through a cell, of which a metre a year on a
        /// square metre counts as one, and `erodibility` is that under a metre a year; 0 counts land, wherever it rains.
        rain: f64 = 0.0, within 0.0..=100.0, unit "m/a", source "Stock & Montgomery 1999, with discharge for area";
        /// Exponent m of area: higher gives rivers that flatten sooner downstream.
        area_exponent: f64 = 0.45, within 0.0..=2.0, unit "1", source "Braun & Willett 2013, 0.4 to 0.5";
        /// Exponent n of slope: above 1 steep reaches cut back as waves, below 1 they stand.
        slope_exponent: f64 = 1.0, within 0.25..=5.0, unit "1", source "Braun & Willett 2013";
        /// How drainage area is counted.
        area: Area = Area::Multiple, within .., unit "1", source "ours";
        /// Exponent of slope in the spreading of water: higher keeps it together.
        spread: f64 = 1.1, within 0.5..=10.0, unit "1", source "Freeman 1991";
        /// Deposition G: how much of what is cut upstream settles on the way; valley floors, fans and plains.
        deposition: f64 = 0.0, within 0.0..=5.0, unit "1", source "Yuan et al. 2019, about 1";
        /// How many times as fast as rock loose ground is cut.
        loose_ease: f64 = 2.0, within 1.0..=100.0, unit "1", scales Debris, source "ours";
        /// Steepest angle of slopes, the same in all directions; 0 for none.
        slope_limit: f64 = 36.0, within 0.0..=89.0, unit "°", scales Slope, source "ours; rock slopes 30 to 37";
        /// How much the limit varies: the deviation of its logarithm.
        slope_variation: f64 = 0.22, within 0.0..=1.0, unit "1", source "ours";
        /// Distance over which the limit varies most.
        slope_wavelength: f64 = 400.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// Creep of slopes, κ: rounder crests and heads of valleys.
        diffusion: f64 = 0.005, within 0.0..=10.0, unit "m²/a", scales Creep, source "ours; soils 0.001 to 0.05";
        /// Half the width of valley floors in metres over the square root of the catchment in m²: rivers cut floors to both sides;
        /// 0 for none.
        planation: f64 = 0.03, within 0.0..=1.0, unit "1", scales Erodibility^0.25,
            source "ours; as the model planation";
        /// Catchment from which a river cuts a floor.
        planation_area: f64 = 2.0, within 0.0..=1e9, unit "km²", scales Size^2, source "ours";
        /// How fast the floor rises away from the river, as rise over run.
        planation_rise: f64 = 0.015, within 0.0..=1.0, unit "1", source "ours";
        /// How uneven floors are in width, from side to side and along the river: standard deviation of its logarithm. Where rock is more readily eroded
        /// they are wider, as its root.
        planation_unevenness: f64 = 0.6, within 0.0..=2.0, unit "1", source "ours; Langston & Tucker 2018";
        /// How fast the places move at which a river cuts its sides: what it leaves stands as terraces.
        planation_drift: f64 = 0.01, within 0.0..=10.0, unit "m/a", scales Size, source "ours; Hancock & Anderson 2002";
        /// How fast a river's bends grow, in half widths of its floor in a thousand years: a standard deviation. What it undercuts on its way
        /// becomes floor.
        planation_wander: f64 = 0.0, within 0.0..=10.0, unit "1/ka", source "ours; Leopold & Wolman 1960";
        /// How steep ground becomes at a floor's rim, where slopes' feet bury it, as rise over run.
        planation_foot: f64 = 0.4, within 0.0..=2.0, unit "1", source "ours";
        /// Depth of the bed in a floor, of a river that drains 1 km²; it grows as the catchment to the power of 0.3.
        planation_bed: f64 = 0.5, within 0.0..=100.0, unit "m", source "Leopold & Maddock 1953";
        /// Contrast of hard and soft beds, the most that they add to or take from erodibility's logarithm: cliffs and benches; 0 for none.
        strata: f64 = 0.0, within 0.0..=3.0, unit "1", source "ours";
        /// Mean thickness of beds.
        strata_thickness: f64 = 180.0, within 2.0..=1e4, unit "m", source "ours";
        /// How steeply beds lean, as fall over run.
        strata_dip: f64 = 0.004, within 0.0..=1.0, unit "m/m", scales Size^-1, source "ours";
        /// Towards where beds fall, clockwise from north.
        strata_direction: f64 = 120.0, within 0.0..=360.0, unit "°", source "ours";
    }
}

/// Widest stride in cells.
const MAX_STRIDE_CELLS: f64 = 500.0;

/// Most passes of creep in a step: beyond it steps last for minutes.
const MAX_PASSES: f64 = 2000.0;

/// Most steps of a level.
const MAX_STEPS: f64 = 1e6;

impl StreamPower {
    /// The beds of rock as the stage of this key leaves them in a world of this grid, for cells of any width; `None` where
    /// the parameter `strata` is 0.
    pub fn strata(&self, grid: &Grid, key: Key) -> Option<StandingBeds> {
        let years = self.levels(grid).iter().map(|level| f64::from(level.steps) * level.step).sum();
        rock::strata(self, years, grid.cell, key)
    }

    /// The levels from coarse to fine, the last one on the grid's own cells.
    fn levels(&self, grid: &Grid) -> Vec<Level> {
        let mut levels = Vec::new();
        let (mut stride, mut years, mut step, mut start) = (self.stride, self.years, self.step, 0.0);
        loop {
            let factor = (stride / grid.cell).round().clamp(1.0, MAX_STRIDE_CELLS) as usize;
            let steps = (years / step).ceil().clamp(1.0, MAX_STEPS) as u32;
            levels.push(Level { factor, start, steps, step: years / f64::from(steps) });
            if factor == 1 {
                return levels;
            }
            start += years;
            stride /= 2.0;
            years *= self.finer_years;
            step *= self.finer_step;
        }
    }
}

impl StreamPower {
    /// Checks what a looped world cannot have.
    fn check_loops(&self, grid: &Grid) -> Result<()> {
        let none = |name: &str, value: f64, why: &str| {
            let conflict = || {
                let problem = format!("does not work with looped edges, because {why}; set it to 0");
                Error::conflict(format!("{name} = {value}"), problem)
            };
            if value > 0.0 { Err(conflict()) } else { Ok(()) }
        };
        none("stream_power.planation", self.planation, "a river's smooth line ends at a seam")?;
        if self.fabric > 1.0 {
            let problem =
                "does not work with looped edges, because rock that is drawn out does not meet itself; set it to 1";
            return Err(Error::conflict(format!("stream_power.fabric = {}", self.fabric), problem));
        }
        if self.strata > 0.0 {
            none("stream_power.strata_dip", self.strata_dip, "beds that lean do not meet themselves")?;
        }
        if grid.topology().looped == [true; 2] && grid.sea_level.is_none() {
            let problem = "needs a `sea_level`, because rivers need an outlet; set it, or make one pair of opposite edges open or closed";
            return Err(Error::conflict("edges = \"looped\"", problem));
        }
        let stride = |level: &Level| coarse::check(grid, level.factor, "stream_power.stride", self.stride);
        self.levels(grid).iter().try_for_each(stride)
    }
}

impl Model for StreamPower {
    fn about(&self) -> About {
        About {
            name: "stream_power",
            summary: "Land rises and rivers cut it down: branching valleys and ridges over a base level.",
            source: "Braun & Willett (2013), A very efficient O(n), implicit and parallel method to solve the stream power equation",
            family: Family::Erosion,
            uses: &[UPLIFT, ERODIBILITY, RAIN],
            writes: &[LOOSE],
            loops: true,
            ..About::default()
        }
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        let cells = self.stride / grid.cell;
        if cells > MAX_STRIDE_CELLS {
            let allowed = format!("up to {} m ({MAX_STRIDE_CELLS} cells here)", MAX_STRIDE_CELLS * grid.cell);
            return Err(Error::value("stream_power.stride", format!("{} m", self.stride), allowed));
        }
        if grid.topology().is_looped() {
            self.check_loops(grid)?;
        }
        for level in self.levels(grid) {
            let cell = grid.cell * level.factor as f64;
            let most = MAX_PASSES * diffuse::PASS * cell * cell / level.step;
            if self.diffusion > most {
                let allowed = format!("up to {most} m²/a with steps of {} a on cells of {cell} m", level.step);
                return Err(Error::value("stream_power.diffusion", format!("{} m²/a", self.diffusion), allowed));
            }
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        self.levels(grid).iter().map(Level::outer_steps).sum()
    }

    fn years(&self, grid: &Grid, step: u32) -> Option<f64> {
        let mut left = step;
        let years = |level: &Level| {
            let taken = left.min(level.outer_steps());
            left -= taken;
            level.years(taken)
        };
        Some(self.levels(grid).iter().map(years).sum())
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // Rock and limit: 12. Filled heights, order, directions, masks: 10. What is gathered, and what comes of it: 12; with
        // deposition then, in place of these and of the order, of cells in layers: who they are and where each drains, heights, levels, strengths, changes, loads, counts: 32.
        let at_work = if self.deposition > 0.0 { 28 } else { 12 };
        (22 + at_work) * grid.len() as u64
    }

    fn local(&self, local: &mut Local) -> Option<&'static str> {
        let rules = &mut local.rules;
        // On a slope in balance S ~ A^(−m/n).
        rules.exponent = (self.area_exponent / self.slope_exponent).min(2.0) as f32;
        // A level lays its own grain over what the coarser one's has left: with more, slopes of hills come out too steep.
        rules.grain = (0.32 * self.grain).min(2.0) as f32;
        // With less, medians of slopes of hills are more than 15 % under those of a global solution.
        rules.balance = 12.0;
        // Beds stand in cliffs with tables between them: the slope of a coarse cell is that of its cliffs, and tables stay gentle.
        rules.uplift = (1.0 / (1.0 + 1.2 * self.strata)) as f32;
        // The rules' own numbers are those of this model's defaults. Where creep and cuts are alike (Perron et al. 2008), from the middle of a cell to its rim.
        let length = libm::pow(self.diffusion / self.erodibility.max(1e-30), 1.0 / (1.0 + 2.0 * self.area_exponent));
        rules.hillslope = (0.5 * length).clamp(0.0, 1e6) as f32;
        // Floors are wider than planation cuts them at a time: rivers swing from side to side.
        rules.floor = (2.0 * self.planation).min(1.0) as f32;
        rules.rise = self.planation_rise as f32;
        // The limit varies; ground is held to where rock of its upper half stands.
        let tan = libm::tan(self.slope_limit.to_radians()) * libm::exp(0.5 * self.slope_variation);
        rules.limit = if self.slope_limit > 0.0 { tan.clamp(0.01, 100.0) as f32 } else { 100.0 };
        // Without beds what an earlier stage left stays.
        if let Some(strata) = Grid::new([1, 1], local.cell).ok().and_then(|grid| self.strata(&grid, local.key)) {
            rules.strata = Some(Arc::new(strata));
        }
        Some(
            "rivers' cuts and their balance with uplift, grain and beds of rock, steepest slope, creep, valley floors, fans, meanders",
        )
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(CoarseToFine { model: self.clone(), levels: self.levels(grid), at_work: None }))
    }
}

/// The levels, one after the other.
struct CoarseToFine {
    model: StreamPower,
    levels: Vec<Level>,
    /// The level at work, and its stepper.
    at_work: Option<(usize, Box<dyn Stepper>)>,
}

impl Stepper for CoarseToFine {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let (mut first, mut number) = (0, 0);
        while number + 1 < self.levels.len() && tick.step >= first + self.levels[number].outer_steps() {
            first += self.levels[number].outer_steps();
            number += 1;
        }
        for spec in [UPLIFT, ERODIBILITY] {
            check_factor(terrain, &spec)?;
        }
        let level = self.levels[number];
        let stepper = match &mut self.at_work {
            Some((at, stepper)) if *at == number => stepper,
            other => {
                let rivers = Box::new(Rivers::new(self.model.clone(), level));
                &mut other.insert((number, level.stepper(rivers))).1
            }
        };
        stepper.step(terrain, Tick { step: tick.step - first, ..tick })
    }
}

/// Checks that a factor's layer, if there is one, holds factors.
fn check_factor(terrain: &Terrain, spec: &LayerSpec) -> Result<()> {
    let Some(field) = terrain.float(spec) else { return Ok(()) };
    match field.as_slice().iter().find(|x| !(0.0..f32::INFINITY).contains(*x)) {
        Some(x) => Err(Error::layer(spec.name, format!("holds {x}; a factor is a number from 0 on"))),
        None => Ok(()),
    }
}
