//! Fluvial incision by stream power: see [`StreamPower`].

mod deposit;
mod level;
mod rock;
mod solve;
mod step;

use std::sync::Arc;

use crate::model::{About, Family, Local, MassBalance, Model, Stepper, Tick};
use crate::models::stream_power::level::ResolutionLevel;
use crate::models::stream_power::step::StreamPowerStepper;
use crate::process::coarse;
use crate::process::slopes::diffuse;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::{LayerSpec, RAIN, SEDIMENT};
use thalweg_core::{Error, Grid, Result, Terrain, choice, params};
use thalweg_noise::strata::StandingBeds;

pub use thalweg_core::terrain::{ERODIBILITY, UPLIFT};

choice! {
    /// Routing methods of the drainage area.
    pub enum Area {
        /// Flow is divided between all lower neighbours: valleys in any direction.
        Multiple = "multiple",
        /// All flow follows the steepest descent: sharper valleys, along the grid's eight directions.
        D8 = "d8",
    }
}

params! {
    /// The land rises and rivers cut into it, faster with more water and on steeper slopes: branching valleys between
    /// branching ridges, down to a base level.
    ///
    /// ∂z/∂t = U − K·Aᵐ·Sⁿ + G/A·∫(U − ∂z/∂t) dA + κ·∇²z, with |∇z| kept below a limit: U uplift, A the drainage area
    /// of a cell (m²), S the slope towards the neighbour that it drains to, G deposition, κ hillslope diffusion. Each
    /// step raises the land, routes the flow (depressions are filled, so lakes pass the water on), solves the incision
    /// implicitly from base level upstream, in one pass however long the step is, then applies hillslope diffusion and
    /// limits slopes. In the steady state S = ((1 + G)·U/K)^(1/n)·A^(−m/n). Open edges, cells next to missing data, and
    /// the sea are base level: they keep their height, and sediment that reaches them leaves the map. Looped edges are
    /// not: water continues on the other side. If no edge is open and no data is missing, nothing leaves the map, and
    /// what would have left it is deposited on the lowest ground, which may be the floor of the sea. Under the water of
    /// a lake nothing is eroded; if `deposition` is above 0, arriving sediment fills the lake up to its level. What
    /// valley widening and the slope limit remove leaves the map as well. In the term of G the area counts cells along
    /// the flow directions, whatever `area` is.
    ///
    /// After the incision of each step, rivers widen their valleys along smooth lines, as the model `planation` does.
    /// Here the process has a memory: a river's line is displaced to either side of its present path, the floor is cut
    /// around the displaced line, wider where rock is soft, and the next step continues from that terrain. Bends
    /// therefore grow, valley sides are undercut in places, and what a river leaves behind remains as terraces. A floor
    /// rises to its rim as a concave foot, and the bed is cut into the floor, a little lower than the river was.
    ///
    /// Variation of the rock keeps such land from looking the same everywhere. Uplift and erodibility are log-normal
    /// fields, erodibility with octaves down to the cell (`grain`); they are functions of world metres, so a finer grid
    /// only adds octaves. With a `fabric` both are elongated along a strike, which the seed draws between the grid's
    /// axes and diagonals. Along the strike also run `faults`: lines of crushed rock, the zero contours of a noise.
    /// Where land rises so slowly that rivers keep its slopes below the limit, there are slopes of all angles. Beds of
    /// hard and soft rock (`strata`) change erodibility and the limit by e^(±strata), and rise with the rock.
    ///
    /// With a `stride` the terrain is computed from coarse to fine: for all the years on cells of that width, then on
    /// cells of half the width for `finer_years` of that time with steps of `finer_step` the length, and so on down to
    /// the grid's own cells. Great valleys are therefore the same at all resolutions, and a finer grid costs little
    /// more than its last few steps.
    ///
    /// Source: Braun & Willett (2013, doi:10.1016/j.geomorph.2012.10.008) for the implicit step; Yuan et al. (2019,
    /// doi:10.1029/2018JF004867) for deposition; Freeman (1991, doi:10.1016/0098-3004(91)90048-I) for the drainage
    /// area; Cordonnier et al. (2016, doi:10.1111/cgf.12820) for whole landscapes by this equation; Hancock & Anderson
    /// (2002, GSA Bulletin 114, 1131) for terraces that shifting rivers leave; Molnar et al. (2007,
    /// doi:10.1029/2005JF000433) for crushed rock. Deviations: the drainage area is that of multiple flow while
    /// incision follows the steepest neighbour, which removes the bias towards the grid's directions; heights are in
    /// whole units, uplift is accumulated exactly over the steps, and incision below one unit is correct on average;
    /// sediment follows the steepest descent and is trapped by lakes.
    ///
    /// It needs no layers. It uses the factors `uplift` and `erodibility`, the layer `rain` if the parameter `rain` is
    /// above 0, and `sediment`. It writes the ground and, with deposition or in a world without an outlet, `sediment`.
    /// Limits: it is not a model of river channels, since bends do not cut themselves off and there are no levees; a
    /// step longer than a wave of incision needs to cross the map blurs the heads of valleys; without a limit, slopes
    /// far from water grow into needles; on a single level with long steps, everything is softer than from coarse to
    /// fine.
    pub struct StreamPower {
        /// Simulated time on the coarsest level: land that began as a plain is in balance after a few million years.
        years: f64 = 1e6, within 0.0..=1e9, unit "a", scales Age, source "ours";
        /// Length of a time step on the coarsest level: longer steps are faster to compute and give softer terrain.
        step: f64 = 2e4, within 1.0..=1e7, unit "a", source "ours";
        /// Width of the coarsest level's cells, on which the great valleys form; 0 uses only the grid's own cells.
        stride: f64 = 0.0, within 0.0..=1e5, unit "m", scales Size, source "ours";
        /// Simulated time of each finer level, as a share of that of the level before.
        finer_years: f64 = 0.2, within 0.0..=1.0, unit "1", source "ours";
        /// Length of each finer level's time steps, as a share of that of the level before.
        finer_step: f64 = 0.6, within 0.01..=1.0, unit "1", source "ours";
        /// Rate at which the land rises, U: more gives higher mountains.
        uplift: f64 = 5e-4, within 0.0..=1.0, unit "m/a", scales Relief, source "active ranges";
        /// Variation of uplift from region to region: the standard deviation of its logarithm.
        uplift_variation: f64 = 0.3, within 0.0..=3.0, unit "1", source "ours";
        /// Distance over which uplift varies most.
        uplift_wavelength: f64 = 6000.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// Erodibility of rock by rivers, K: more gives lower mountains.
        erodibility: f64 = 7e-6, within 0.0..=1.0, unit "m^(1−2m)/a", scales Rain^area_exponent Erodibility,
            source "Stock & Montgomery 1999, for m = 0.45";
        /// Variation of erodibility from region to region: the standard deviation of its logarithm.
        erodibility_variation: f64 = 0.6, within 0.0..=3.0, unit "1", source "ours";
        /// Distance over which erodibility varies most.
        erodibility_wavelength: f64 = 2500.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// Ratio of length to width of regions of similar uplift or erodibility, which are elongated along a strike
        /// that the seed determines: ranges and valleys follow it. 1 treats all directions the same.
        fabric: f64 = 1.0, within 1.0..=20.0, unit "1", source "ours; jointed and folded rock";
        /// Erodibility of the crushed rock along faults: the natural logarithm of its factor in the middle of a fault;
        /// 0 for no faults.
        faults: f64 = 0.0, within 0.0..=3.0, unit "1", source "ours; Molnar et al. 2007";
        /// Distance between faults.
        faults_spacing: f64 = 3000.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// Width of the crushed rock along a fault.
        faults_width: f64 = 200.0, within 1.0..=1e5, unit "m", source "ours";
        /// Variation of erodibility by each octave of fine grain: the standard deviation of its logarithm. It makes
        /// ridges and gullies less uniform.
        grain: f64 = 0.5, within 0.0..=2.0, unit "1", source "ours";
        /// Wavelength at which fine grain begins; its octaves continue down to the cell.
        grain_wavelength: f64 = 100.0, within 0.01..=1e6, unit "m", scales Size, source "ours";
        /// Runoff where the layer `rain` is 1. A is then the water that drains through a cell, in units of one metre a
        /// year on a square metre, and `erodibility` applies to a runoff of one metre a year. With 0, A is the area of
        /// land, whatever the rain.
        rain: f64 = 0.0, within 0.0..=100.0, unit "m/a", source "Stock & Montgomery 1999, with discharge for area";
        /// Exponent m of drainage area: a higher value gives rivers that flatten sooner downstream.
        area_exponent: f64 = 0.45, within 0.0..=2.0, unit "1", source "Braun & Willett 2013, 0.4 to 0.5";
        /// Exponent n of slope: above 1 steep reaches retreat as waves, below 1 they stay in place.
        slope_exponent: f64 = 1.0, within 0.25..=5.0, unit "1", source "Braun & Willett 2013";
        /// Routing method of the drainage area.
        area: Area = Area::Multiple, within .., unit "1", source "ours";
        /// Exponent of slope in multiple flow: a higher value concentrates the flow.
        spread: f64 = 1.1, within 0.5..=10.0, unit "1", source "Freeman 1991";
        /// Deposition G: how much of what is eroded upstream settles on the way; it builds valley floors, fans and
        /// plains.
        deposition: f64 = 0.0, within 0.0..=5.0, unit "1", source "Yuan et al. 2019, about 1";
        /// Erodibility of sediment, relative to that of rock.
        loose_ease: f64 = 2.0, within 1.0..=100.0, unit "1", scales Debris, source "ours";
        /// Steepest angle of slopes, the same in all directions; 0 for no limit.
        slope_limit: f64 = 36.0, within 0.0..=89.0, unit "°", scales Slope, source "ours; rock slopes 30 to 37";
        /// Variation of the slope limit: the standard deviation of its logarithm.
        slope_variation: f64 = 0.22, within 0.0..=1.0, unit "1", source "ours";
        /// Distance over which the slope limit varies most.
        slope_wavelength: f64 = 400.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// Hillslope diffusion coefficient, κ: more gives rounder crests and valley heads.
        diffusion: f64 = 0.005, within 0.0..=10.0, unit "m²/a", scales Creep, source "ours; soils 0.001 to 0.05";
        /// Half the width of valley floors in metres, divided by the square root of the drainage area in m²: rivers cut
        /// floors to both sides. 0 for none.
        planation: f64 = 0.03, within 0.0..=1.0, unit "1", scales Erodibility^0.25,
            source "ours; as the model planation";
        /// Drainage area from which on a river cuts a floor.
        planation_area: f64 = 2.0, within 0.0..=1e9, unit "km²", scales Size^2, source "ours";
        /// Slope of the floor away from the river, as rise over run.
        planation_rise: f64 = 0.015, within 0.0..=1.0, unit "1", source "ours";
        /// Variation of the width of floors, from side to side and along the river: the standard deviation of its
        /// logarithm. Floors are also wider in more erodible rock, with the square root of erodibility.
        planation_unevenness: f64 = 0.6, within 0.0..=2.0, unit "1", source "ours; Langston & Tucker 2018";
        /// Speed at which the places move where a river cuts its sides: what it leaves behind remains as terraces.
        planation_drift: f64 = 0.01, within 0.0..=10.0, unit "m/a", scales Size, source "ours; Hancock & Anderson 2002";
        /// Growth rate of a river's bends, in half widths of its floor per thousand years: a standard deviation. The
        /// ground that bends undercut becomes floor.
        planation_wander: f64 = 0.0, within 0.0..=10.0, unit "1/ka", source "ours; Leopold & Wolman 1960";
        /// Slope of the ground at a floor's rim, where the feet of slopes bury it, as rise over run.
        planation_foot: f64 = 0.4, within 0.0..=2.0, unit "1", source "ours";
        /// Depth of the bed below the floor for a river that drains 1 km²; it grows with the drainage area to the power
        /// of 0.3.
        planation_bed: f64 = 0.5, within 0.0..=100.0, unit "m", source "Leopold & Maddock 1953";
        /// Contrast between hard and soft beds, as the most that they add to or subtract from the logarithm of
        /// erodibility: it makes cliffs and benches. 0 for none.
        strata: f64 = 0.0, within 0.0..=3.0, unit "1", source "ours";
        /// Mean thickness of beds.
        strata_thickness: f64 = 180.0, within 2.0..=1e4, unit "m", source "ours";
        /// Dip of the beds, as fall over run.
        strata_dip: f64 = 0.004, within 0.0..=1.0, unit "m/m", scales Size^-1, source "ours";
        /// Direction in which the beds dip, clockwise from north.
        strata_direction: f64 = 120.0, within 0.0..=360.0, unit "°", source "ours";
    }
}

/// The greatest stride in cells.
const MAX_STRIDE_CELLS: f64 = 500.0;

/// The greatest number of hillslope diffusion passes in a step; with more, a step would take minutes.
const MAX_PASSES: f64 = 2000.0;

/// The greatest number of steps of a level.
const MAX_STEPS: f64 = 1e6;

impl StreamPower {
    /// Returns the rock strata as the stage with this key leaves them on a map with this grid, for cells of any
    /// width. Returns `None` if the parameter `strata` is 0.
    pub fn final_strata(&self, grid: &Grid, key: RandomKey) -> Option<StandingBeds> {
        // The beds have risen for as long as all levels together have run.
        let years = self.resolution_levels(grid).iter().map(|level| f64::from(level.steps) * level.step).sum();
        rock::build_strata(self, years, grid.cell, key)
    }

    /// Returns the levels from coarse to fine; the last one is on the grid's own cells.
    fn resolution_levels(&self, grid: &Grid) -> Vec<ResolutionLevel> {
        let mut levels = Vec::new();
        let (mut stride, mut years, mut step, mut start) = (self.stride, self.years, self.step, 0.0);
        loop {
            // The last level is the one whose cells are the grid's own. A `stride` of 0 gives this level alone.
            let factor = (stride / grid.cell).round().clamp(1.0, MAX_STRIDE_CELLS) as usize;
            let steps = (years / step).ceil().clamp(1.0, MAX_STEPS) as u32;
            // Steps of equal length fill the level's years exactly.
            levels.push(ResolutionLevel { factor, start, steps, step: years / f64::from(steps) });
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
    /// Rejects parameters that cannot work on a map with looped edges.
    fn check_loops(&self, grid: &Grid) -> Result<()> {
        let none = |name: &str, value: f64, why: &str| {
            let conflict = || {
                let problem = format!("does not work with looped edges, because {why}; set it to 0");
                Error::conflict(format!("{name} = {value}"), problem)
            };
            if value > 0.0 { Err(conflict()) } else { Ok(()) }
        };
        none("stream_power.planation", self.planation, "a river's smooth line would end at the edge")?;
        if self.fabric > 1.0 {
            let problem =
                "does not work with looped edges, because stretched rock would not match across the edge; set it to 1";
            return Err(Error::conflict(format!("stream_power.fabric = {}", self.fabric), problem));
        }
        if self.strata > 0.0 {
            none("stream_power.strata_dip", self.strata_dip, "dipping beds would not match across the edge")?;
        }
        if grid.topology().looped == [true; 2] && grid.sea_level.is_none() {
            let problem = "needs a `sea_level`, because rivers need an outlet; set it, or make one pair of opposite edges open or closed";
            return Err(Error::conflict("edges = \"looped\"", problem));
        }
        let stride =
            |level: &ResolutionLevel| coarse::check_blocks_fit(grid, level.factor, "stream_power.stride", self.stride);
        self.resolution_levels(grid).iter().try_for_each(stride)
    }
}

impl Model for StreamPower {
    fn about(&self) -> About {
        About {
            name: "stream_power",
            title: "Rivers",
            summary: "Land is uplifted and rivers incise it: branching valleys and ridges above a base level.",
            source: "Braun & Willett (2013), A very efficient O(n), implicit and parallel method to solve the stream power equation",
            family: Family::Erosion,
            uses: &[UPLIFT, ERODIBILITY, RAIN],
            writes: &[SEDIMENT],
            loops: true,
            ..About::default()
        }
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        let cells = self.stride / grid.cell;
        if cells > MAX_STRIDE_CELLS {
            let allowed = format!("up to {} m ({MAX_STRIDE_CELLS} cells here)", MAX_STRIDE_CELLS * grid.cell);
            return Err(Error::invalid_value("stream_power.stride", format!("{} m", self.stride), allowed));
        }
        if grid.topology().is_looped() {
            self.check_loops(grid)?;
        }
        for level in self.resolution_levels(grid) {
            let cell = grid.cell * level.factor as f64;
            // Diffusion takes more passes the longer a step and the finer the cells are; every level must stay below
            // the limit.
            let max_diffusivity = MAX_PASSES * diffuse::MAX_PASS_SPREAD * cell * cell / level.step;
            if self.diffusion > max_diffusivity {
                let allowed =
                    format!("up to {max_diffusivity} m²/a with steps of {} a on cells of {cell} m", level.step);
                return Err(Error::invalid_value(
                    "stream_power.diffusion",
                    format!("{} m²/a", self.diffusion),
                    allowed,
                ));
            }
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        self.resolution_levels(grid).iter().map(ResolutionLevel::outer_steps).sum()
    }

    fn simulated_years(&self, grid: &Grid, step: u32) -> Option<f64> {
        let mut remaining = step;
        let years = |level: &ResolutionLevel| {
            let taken = remaining.min(level.outer_steps());
            remaining -= taken;
            level.duration_years(taken)
        };
        Some(self.resolution_levels(grid).iter().map(years).sum())
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // Bytes per cell. Rock and slope limit: 12. Filled heights, order, directions and masks: 10. Accumulated flow
        // and incision strength: 12. With deposition, the following replaces these last and the order: for the cells
        // in layers their index, receiver, elevation, level, strength, change, load and count: 32.
        let at_work = if self.deposition > 0.0 { 28 } else { 12 };
        (22 + at_work) * grid.len() as u64
    }

    fn define_refinement(&self, local: &mut Local) -> Option<&'static str> {
        let rules = &mut local.rules;
        // On a slope in equilibrium, S ~ A^(−m/n).
        rules.exponent = (self.area_exponent / self.slope_exponent).min(2.0) as f32;
        // Each refinement level adds its own grain to that of the coarser level; with a greater factor, hillslopes
        // become too steep.
        rules.grain = (0.32 * self.grain).min(2.0) as f32;
        // With a smaller value, the median slope of hills is more than 15 % below that of a global solution.
        rules.balance = 12.0;
        // Strata form cliffs with terraces between them: the slope of a coarse cell is that of its cliffs, and
        // terraces stay gentle.
        rules.uplift = (1.0 / (1.0 + 1.2 * self.strata)) as f32;
        // The rules' own numbers are those of this model's defaults. This is half the length at which diffusion and
        // incision are equal (Perron et al. 2008), which extends from the middle of a cell to its rim.
        let length = libm::pow(self.diffusion / self.erodibility.max(1e-30), 1.0 / (1.0 + 2.0 * self.area_exponent));
        rules.hillslope = (0.5 * length).clamp(0.0, 1e6) as f32;
        // Valley floors are wider than planation cuts them at any one time, because rivers shift from side to side.
        rules.floor = (2.0 * self.planation).min(1.0) as f32;
        rules.rise = self.planation_rise as f32;
        // The limit varies from place to place; terrain is limited to the slope of the stronger half of the rock.
        let tan = libm::tan(self.slope_limit.to_radians()) * libm::exp(0.5 * self.slope_variation);
        rules.limit = if self.slope_limit > 0.0 { tan.clamp(0.01, 100.0) as f32 } else { 100.0 };
        // Without strata here, those of an earlier stage remain.
        if let Some(strata) = Grid::new([1, 1], local.cell).ok().and_then(|grid| self.final_strata(&grid, local.key)) {
            rules.strata = Some(Arc::new(strata));
        }
        Some(
            "rivers' cuts and their balance with uplift, grain and beds of rock, steepest slope, creep, valley floors, fans, meanders",
        )
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(CoarseToFine { model: self.clone(), levels: self.resolution_levels(grid), at_work: None }))
    }
}

/// The stepper that runs the levels one after the other.
struct CoarseToFine {
    model: StreamPower,
    levels: Vec<ResolutionLevel>,
    /// The index of the current level, and its stepper.
    at_work: Option<(usize, Box<dyn Stepper>)>,
}

impl Stepper for CoarseToFine {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        // The level of this step follows from its number alone, so that a run can resume at any step.
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
            // The stepper of a level stays, with the rock that it has computed, until the next level begins.
            Some((at, stepper)) if *at == number => stepper,
            other => {
                let rivers = Box::new(StreamPowerStepper::new(self.model.clone(), level));
                &mut other.insert((number, level.into_stepper(rivers))).1
            }
        };
        stepper.run_step(terrain, Tick { step: tick.step - first, ..tick })
    }
}

/// Checks that a factor layer, if present, contains finite numbers from 0 on.
fn check_factor(terrain: &Terrain, spec: &LayerSpec) -> Result<()> {
    let Some(field) = terrain.float_layer(spec) else { return Ok(()) };
    match field.as_slice().iter().find(|x| !(0.0..f32::INFINITY).contains(*x)) {
        Some(x) => {
            Err(Error::invalid_layer(spec.name, format!("contains {x}; a factor must be a finite number of 0 or more")))
        }
        None => Ok(()),
    }
}
