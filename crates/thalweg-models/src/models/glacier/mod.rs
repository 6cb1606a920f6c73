//! Glaciers: see [`Glacier`].

mod ages;
mod bed;
mod cascade;
mod cell;
mod flow;
mod land;
mod lines;
#[cfg(test)]
mod tests;
mod till;

use crate::model::{About, Family, Model, StepReach, Stepper};
use crate::models::glacier::ages::Ages;
use crate::process::slopes::SLOPE_LIMIT;
use thalweg_core::terrain::{HARDNESS, LayerSpec, PROTECT, ReadBack, SEDIMENT};
use thalweg_core::{Error, Grid, Result, params};

params! {
    /// Snow above the snowline forms glaciers that flow down the valleys and erode their beds: troughs with steep sides
    /// and flat floors, cirques with sharp crests between them, basins for lakes, and hanging side valleys.
    ///
    /// Ice of thickness H and surface s flows by ∂H/∂t = b − ∇·q, with the flux of shallow ice that deforms and slides,
    /// q = −(Γd·H⁵ + Γs·H³)·|∇s|²·∇s, Γd = ⅖·softness·(ρg)³, Γs = sliding·(ρg)³, ρ = 917 kg/m³; its sliding speed is
    /// u = Γs·H²·|∇s|³. Snow accumulates and ice melts by b = min(gradient·(s − snowline), accumulation), the positive
    /// part times the layer `snow`. In the shade the snowline is lower by `shade` times the sine of the slope times the
    /// cosine of the angle between its aspect and `shade_azimuth`. The snowline oscillates:
    /// snowline − swing·cos(2π·t/cycle), cold ages first.
    ///
    /// While ice flows for `ice_years`, it erodes its bed for `step` years: ice is soon in balance with its bed, so
    /// little accuracy is lost. The bed is eroded at right angles to itself, and faster where it is steep, since blocks
    /// are plucked there: ∂z/∂t = −erosion·uᵉˣᵖᵒⁿᵉⁿᵗ·H²/(H² + grip²)·√(1 + (widening·|∇z|)²), where |∇z| is the slope
    /// towards lower ground, so that flanks retreat, floors widen and sharp floors become round. Ice is stiff along and
    /// across the flow: the speed that erodes is the mean over a width of `coupling`. The factor with `grip` reduces
    /// erosion under thin ice, which is frozen to its bed. Slopes steeper than the limit fail and are carried off,
    /// under ice and next to it: headwalls retreat, and crests become sharp.
    ///
    /// Stiff ice does not press into depressions narrower than itself: with `knob` above 0, erosion is multiplied by
    /// 1 + (z − z̄)/knob, clamped to 0..4 and computed implicitly in time, where z̄ is the mean of the bed over
    /// `coupling`. Clefts are not deepened and bumps disappear, so that floors become broad and even. A bare wall whose
    /// foot is under at least 20 m of ice is lowered by `headwall` times its slope, as frost loosens it in the gap
    /// between rock and ice: it retreats by `headwall` a year.
    ///
    /// Basins stop deepening: where the bed would rise along the ice by more than `adverse` times the fall of the ice
    /// surface, water under the ice would freeze on its way up and leave its load, which shields the bed. Nothing is
    /// eroded there.
    ///
    /// The share `till` of the eroded material travels with the ice, divided like its flow from cell to cell, and is
    /// deposited where ice melts, in proportion to the share of the arriving ice that melts: sediment around the
    /// glacier tongues. Meltwater carries off the rest.
    ///
    /// Ice that reaches the sea and is thin enough to float calves; thicker ice rests on the bed and erodes it below
    /// the sea: fjords. Over open edges ice is lost, and the ground there is not eroded; closed edges and missing data
    /// are walls. After the last step the ice melts, unless `melt` is off: then it stays as the layer `ice`. The mass
    /// balance counts snow as rain, and ice that melts or leaves as drained, in m³ of ice.
    ///
    /// In a step of the ice flow, cells are visited after their higher neighbours. Each computes implicitly how much of
    /// its own ice and the arriving ice it keeps, against the surfaces of lower cells before the step (after Saul'yev
    /// 1957). A cell therefore never gives more than it has, the ice mass balance closes to the unit, and in balance
    /// the result does not depend on the length of the step. A step is the longest one with D·dt/dx² ≤ 30, where D is
    /// the highest diffusivity: fractions of a year on cells of 80 m, shorter with the square of the width on finer
    /// ones; where `ice_steps` do not reach `ice_years`, ice has less time. With such long steps neighbours oscillate
    /// around their balance by a few hundredths of their thickness; averaging the speed removes this.
    ///
    /// Source: flow Mahaffy (1976, doi:10.1029/JC081i006p01059), exponent 3; sliding, balance and constants Budd et al.
    /// (1979), Oerlemans (1984), as Braun, Zwartz & Tomkin (1999, doi:10.3189/172756499781821797) use them for
    /// landscapes; erosion by sliding Harbor (1992, doi:10.1130/0016-7606(1992)104<1364:NMOTDO>2.3.CO;2), MacGregor et
    /// al. (2000, doi:10.1130/0091-7613(2000)28<1031:NSOGVL>2.0.CO;2), Herman et al. (2015,
    /// doi:10.1126/science.aab2386); bumps and depressions of the bed Hallet (1979, doi:10.3189/S0022143000029725), as
    /// a rule; headwalls Sanders et al. (2012, *Periglacial weathering and headwall erosion in cirque glacier
    /// bergschrunds*, Geology 40); the end of basins' deepening Alley et al. (2003, doi:10.1038/nature01839); shade
    /// Evans (1977). Deviations: the stresses along and across a glacier that shallow ice lacks (Egholm et al. 2011,
    /// doi:10.1029/2010JF001900) are replaced by a mean of the speed and of the bed; the thickness between two cells is
    /// their mean or the upper cell's, whichever is less, so that bare ground gives no ice (Jarosch et al. 2013,
    /// doi:10.5194/tc-7-229-2013); of the water under the ice only the bound `adverse` is modelled.
    ///
    /// Layers: it needs none, uses `snow`, `slope_limit`, `hardness`, `protect`, `sediment` and existing `ice`, and
    /// writes the ground, `sediment` and, without `melt`, `ice`.
    ///
    /// Limits: it fails on plains, where the ground does not confine shallow ice, and with coarse cells in narrow
    /// valleys: a trough should be several cells wide.
    pub struct Glacier {
        /// Time for which the bed is eroded: more gives deeper troughs.
        years: f64 = 20_000.0, within 0.0..=1e7, unit "a", scales Age, source "ours; an ice age is 100 000";
        /// Time for which the bed is eroded between two updates of the ice.
        step: f64 = 250.0, within 1.0..=1e5, unit "a", source "ours";
        /// Time for which ice flows in each step of the model.
        ice_years: f64 = 5.0, within 0.1..=1e4, unit "a", source "ours";
        /// Highest number of ice flow steps in `ice_years`: more let ice on fine cells keep up with its bed.
        ice_steps: u32 = 12, within 1..=1000, unit "1", source "ours";
        /// Time for which ice grows before it erodes the bed.
        growth: f64 = 300.0, within 0.0..=1e5, unit "a", source "ours";
        /// Elevation at which as much ice melts as snow falls: lower values make longer and thicker glaciers.
        snowline: f64 = 1200.0, within -16_000.0..=16_000.0, unit "m", scales Relief, source "ours";
        /// Amplitude of the snowline's oscillation around `snowline`: cirques in mild ages, long troughs in cold ones.
        swing: f64 = 0.0, within 0.0..=5000.0, unit "m", scales Relief, source "ours";
        /// Time from one cold age to the next.
        cycle: f64 = 10_000.0, within 1.0..=1e7, unit "a", source "ours";
        /// Increase of the balance of snowfall and melt with each metre of elevation.
        gradient: f64 = 0.007, within 0.0..=0.1, unit "1/a", source "Oerlemans 1984; Alps";
        /// Highest snow accumulation, at high elevations.
        accumulation: f64 = 1.5, within 0.0..=50.0, unit "m/a", scales Rain, source "Oerlemans 1984; 0.5 to 3";
        /// Lowering of the snowline on vertical walls in the shade, and its rise on sunny ones: cirques form on one
        /// side of crests.
        shade: f64 = 0.0, within 0.0..=2000.0, unit "m", source "Evans 1977, as a rule";
        /// Direction that shaded slopes face and that wind drifts snow to, clockwise from north.
        shade_azimuth: f64 = 30.0, within 0.0..=360.0, unit "°", source "Evans 1977, northern middle latitudes";
        /// Rate factor of the deformation of ice: softer ice is thinner.
        softness: f64 = 0.0757, within 0.0..=10.0, unit "1/(bar³·a)", source "Cuffey & Paterson 2010, temperate ice";
        /// Sliding coefficient of ice: higher values give thinner ice that erodes more.
        sliding: f64 = 1800.0, within 0.0..=1e6, unit "m²/(bar³·a)", source "Budd et al. 1979";
        /// Rock eroded for each metre that ice slides.
        erosion: f64 = 1e-4, within 0.0..=0.1, unit "m^(1−l)·a^(l−1)", scales Erodibility^0.5,
            source "Harbor 1992, for exponent 1";
        /// Exponent l of the sliding speed: higher values erode fast trunk glaciers deeper relative to slow
        /// tributaries.
        exponent: f64 = 1.0, within 0.5..=3.0, unit "1", source "Harbor 1992, 1; Herman 2015, 2";
        /// Factor on the slope in the erosion of steep ground, as √(1 + (widening·slope)²): higher values give broad
        /// floors and steep sides.
        widening: f64 = 2.0, within 0.0..=20.0, unit "1", source "ours; 1 is wear at right angles to the bed";
        /// Width over which the sliding speed and the bed are averaged, because ice is stiff: more gives broad troughs
        /// instead of narrow clefts.
        coupling: f64 = 250.0, within 0.0..=1e5, unit "m", source "Kamb & Echelmeyer 1986: one to four thicknesses";
        /// Height above the mean bed over `coupling` at which the bed is eroded twice as fast; at the same depth below
        /// the mean, nothing is eroded. Floors become even and broad. 0 erodes depressions and bumps of the bed
        /// equally.
        knob: f64 = 0.0, within 0.0..=1000.0, unit "m", source "ours, for Hallet 1979: ice presses on what stands in its way";
        /// Retreat rate of walls that rise from ice: cirques with headwalls, arêtes.
        headwall: f64 = 0.0, within 0.0..=1.0, unit "m/a", scales Erodibility^0.5,
            source "Sanders et al. 2012, 1 to 5 mm a year";
        /// Thickness of ice at which erosion is halved, because thin ice is frozen to its bed: crests are preserved.
        grip: f64 = 40.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Highest rise of the bed along the ice for each metre that the ice surface falls: more gives deeper basins.
        adverse: f64 = 1.5, within 0.0..=1000.0, unit "1", source "Alley et al. 2003, 1.2 to 1.7";
        /// Share of the eroded material that is deposited where the ice melts; meltwater carries off the rest.
        till: f64 = 0.15, within 0.0..=1.0, unit "1", source "ours";
        /// Steepest angle of walls; 90 sets no limit.
        slope_limit: f64 = 50.0, within 1.0..=90.0, unit "°", scales Slope, source "ours; trough walls 40 to 60";
        /// Variation of the slope limit: the standard deviation of its logarithm.
        slope_variation: f64 = 0.2, within 0.0..=1.0, unit "1", source "ours";
        /// Distance over which the slope limit varies most.
        slope_wavelength: f64 = 500.0, within 0.01..=1e8, unit "m", scales Size, source "ours";
        /// Melts the ice at the end; otherwise, it remains as the layer `ice`.
        melt: bool = true, within .., unit "1", source "ours";
    }
}

/// Layer of the ice thickness on the ground, in units of [`Height`](thalweg_core::terrain::height::Height).
pub const ICE: LayerSpec =
    LayerSpec::heights("ice", "m", "Thickness of ice on the ground.").in_world_folder(ReadBack::Always);
/// Layer of a factor, 0 or more, of the snowfall that the model's parameters give.
pub const SNOW: LayerSpec =
    LayerSpec::floats("snow", "1", "Factor of the snowfall, 0 or more: above 1 where wind deposits snow.");

/// Maximum number of steps.
const MAX_STEPS: f64 = 1e6;

impl Glacier {
    /// Returns the number of steps in which ice only grows, and of those in which it erodes the bed.
    fn step_counts(&self) -> [f64; 2] {
        // Both are rounded up, so that a duration shorter than a step still takes one.
        [(self.growth / self.ice_years).ceil(), (self.years / self.step).ceil()]
    }
}

impl Model for Glacier {
    fn about(&self) -> About {
        About {
            name: "glacier",
            title: "Glaciers",
            summary: "Glaciers accumulate, flow and erode their beds: troughs, cirques, sharp crests, lake basins, fjords.",
            source: "Braun, Zwartz & Tomkin (1999), A new surface-processes model combining glacial and fluvial erosion",
            family: Family::Erosion,
            uses: &[SNOW, SLOPE_LIMIT, HARDNESS, PROTECT, ICE],
            writes: &[SEDIMENT, ICE],
            ..About::default()
        }
    }

    fn check(&self, _grid: &Grid) -> Result<()> {
        let [growth, wear] = self.step_counts();
        if growth + wear > MAX_STEPS {
            // The error names the duration that takes more steps.
            let (name, time, step, length, left) = match wear >= growth {
                true => ("years", self.years, "step", self.step, MAX_STEPS - growth),
                false => ("growth", self.growth, "ice_years", self.ice_years, MAX_STEPS - wear),
            };
            let allowed = format!("0 to {} a with {step} = {length} a ({MAX_STEPS} steps in all)", left * length);
            return Err(Error::invalid_value(format!("glacier.{name}"), format!("{time} a"), allowed));
        }
        Ok(())
    }

    fn steps(&self, _grid: &Grid) -> u32 {
        self.step_counts().iter().sum::<f64>().min(MAX_STEPS) as u32
    }

    fn simulated_years(&self, _grid: &Grid, step: u32) -> Option<f64> {
        let [growth, wear] = self.step_counts();
        Some(self.years * ((f64::from(step) - growth) / wear.max(1.0)).clamp(0.0, 1.0))
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        // Ice can pass any number of cells in a step.
        StepReach::Whole
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        flow::SCRATCH * grid.len() as u64
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(Ages::new(self.clone(), grid)))
    }
}
