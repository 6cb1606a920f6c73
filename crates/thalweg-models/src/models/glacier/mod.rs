//! Ice: see [`Glacier`].

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
use thalweg_core::terrain::{HARDNESS, LOOSE, LayerSpec, PROTECT, ReadBack};
use thalweg_core::{Error, Grid, Result, params};

params! {
    /// Snow above the snowline gathers to glaciers that flow down the valleys, and wear their beds: troughs with steep sides
    /// and flat floors, cirques, sharp crests between them, basins for lakes, side valleys that hang.
    ///
    /// Ice of thickness H and surface s spreads by ∂H/∂t = b − ∇·q with the flux of shallow ice that creeps and slides, q =
    /// −(Γd·H⁵ + Γs·H³)·|∇s|²·∇s, Γd = ⅖·softness·(ρg)³, Γs = sliding·(ρg)³, ρ = 917 kg/m³; so it slides at u = Γs·H²·|∇s|³.
    /// Snow falls and ice melts by b = min(gradient·(s − snowline), accumulation), the positive part times the layer `snow`.
    /// In the shade the snowline lies lower by `shade` times the sine of the slope times the cosine of its aspect from
    /// `shade_azimuth`. The snowline swings: snowline − swing·cos(2π·t/cycle), cold ages first.
    ///
    /// While ice flows for `ice_years`, it wears its bed for `step` years: it is soon in balance with its bed, so that this
    /// loses little. The bed is worn at right angles to itself, and quicker where it is steep, for there blocks are plucked:
    /// ∂z/∂t = −erosion·uᵉˣᵖᵒⁿᵉⁿᵗ·H²/(H² + grip²)·√(1 + (widening·|∇z|)²), where |∇z| is the slope towards lower ground, so
    /// that flanks retreat, floors widen and sharp floors become round. Ice is stiff along and across: the speed that wears
    /// is the mean over a width of `coupling`. The last factor but one holds for thin ice, which is frozen to its bed. What
    /// stands steeper than the limit falls and is carried off, under ice and beside it: headwalls step back, crests become
    /// sharp.
    ///
    /// Ice that is stiff does not press into hollows narrower than itself: with a `knob` wear is multiplied by 1 + (z − z̄)/knob, no less
    /// than 0 and no more than 4, where z̄ is the mean of the bed over `coupling`. Clefts are not dug deeper and knobs go, so that
    /// floors become broad and even. A bare wall whose foot stands in 20 m of ice or more is lowered by `headwall` times its
    /// slope, as frost loosens it in the cleft between rock and ice: it steps back by `headwall` a year.
    ///
    /// Basins come to rest: where the bed would rise along the ice by more than `adverse` times as much as the surface falls, water
    /// under it would freeze on its way up and leave its load, which shields the bed. So nothing is worn there.
    ///
    /// A share `till` of what is worn travels with the ice, in shares of its flow from cell to cell, and is laid down where
    /// ice melts, in proportion to what melts of what comes: loose ground round the tongues. Melt water carries off the rest.
    ///
    /// Ice that reaches the sea and is thin enough to float breaks off; thicker ice stands on the bed and wears it below the
    /// sea: fjords. Over open edges ice falls off, and their ground is not worn; closed edges and missing data are
    /// walls. After the last step the ice melts, unless `melt` is off: then it stays as the layer `ice`. The ledger counts
    /// snow as rain, and ice that melts or leaves as drained, in m³ of ice.
    ///
    /// In a step of the ice cells are visited after their higher neighbours; each finds, implicitly, what it keeps
    /// of what it has and what has come to it, against the surfaces of lower cells before the step (after Saul'yev 1957). So
    /// a cell never gives more than it has, ice closes to the unit, and in balance the length of the step does not show. A
    /// step is the longest with D·dt/dx² ≤ 30, D the greatest diffusivity: fractions of a year on cells of 80 m, shorter with
    /// the square of finer ones; where `ice_steps` do not make up `ice_years`, ice has less time. With steps so long neighbours
    /// quiver about their balance by some hundredths of their thickness; the mean of the speed takes it out.
    ///
    /// Source: flow Mahaffy (1976, doi:10.1029/JC081i006p01059), exponent 3; sliding, balance and constants Budd et al.
    /// (1979), Oerlemans (1984), as Braun, Zwartz & Tomkin (1999, doi:10.3189/172756499781821797) use them for landscapes;
    /// wear by sliding Harbor (1992, doi:10.1130/0016-7606(1992)104<1364:NMOTDO>2.3.CO;2), MacGregor et al. (2000,
    /// doi:10.1130/0091-7613(2000)28<1031:NSOGVL>2.0.CO;2), Herman et al. (2015, doi:10.1126/science.aab2386); knobs
    /// and hollows Hallet (1979, doi:10.3189/S0022143000029725), as a rule; headwalls Sanders et al. (2012,
    /// *Periglacial weathering and headwall erosion in cirque glacier bergschrunds*, Geology 40); rest of basins
    /// Alley et al. (2003, doi:10.1038/nature01839); shade Evans (1977). We differ:
    /// what shallow ice lacks, the stresses along and across a glacier (Egholm et al. 2011, doi:10.1029/2010JF001900),
    /// is a mean of the speed and of the bed; the thickness between two cells is their mean or the upper one's, whichever is less, so that
    /// bare ground gives no ice (Jarosch et al. 2013, doi:10.5194/tc-7-229-2013); of the water under the ice only that bound is left.
    ///
    /// It needs nothing, heeds `snow`, `slope_limit`, `hardness`, `protect`, `loose` and ice that is there, and leaves the
    /// ground, `loose`, and without `melt` the layer `ice`. It breaks on plains, where shallow ice is not held by what lies
    /// under it, and for coarse cells beside narrow valleys: a trough is to be some cells wide.
    pub struct Glacier {
        /// Time for which the bed is worn: deeper troughs.
        years: f64 = 20_000.0, within 0.0..=1e7, unit "a", scales Age, source "ours; an ice age is 100 000";
        /// Time for which the bed is worn between two looks at the ice.
        step: f64 = 250.0, within 1.0..=1e5, unit "a", source "ours";
        /// Time for which ice flows in each step of the model.
        ice_years: f64 = 5.0, within 0.1..=1e4, unit "a", source "ours";
        /// Most steps of the flow of ice in `ice_years`: more let ice on fine cells keep pace with its bed.
        ice_steps: u32 = 12, within 1..=1000, unit "1", source "ours";
        /// Time for which ice grows before it wears the bed.
        growth: f64 = 300.0, within 0.0..=1e5, unit "a", source "ours";
        /// Elevation at which as much ice melts as snow falls: lower makes longer and thicker glaciers.
        snowline: f64 = 1200.0, within -16_000.0..=16_000.0, unit "m", scales Relief, source "ours";
        /// How far the snowline falls and rises about `snowline`: cirques in mild ages, long troughs in cold ones.
        swing: f64 = 0.0, within 0.0..=5000.0, unit "m", scales Relief, source "ours";
        /// Time from one cold age to the next.
        cycle: f64 = 10_000.0, within 1.0..=1e7, unit "a", source "ours";
        /// How much more ice melts with each metre down.
        gradient: f64 = 0.007, within 0.0..=0.1, unit "1/a", source "Oerlemans 1984; Alps";
        /// The most snow that falls, high up.
        accumulation: f64 = 1.5, within 0.0..=50.0, unit "m/a", scales Rain, source "Oerlemans 1984; 0.5 to 3";
        /// How much lower the snowline lies on upright walls in the shade, and higher in the sun: cirques on one side of crests.
        shade: f64 = 0.0, within 0.0..=2000.0, unit "m", source "Evans 1977, as a rule";
        /// Towards where shade lies and wind drifts snow, clockwise from north.
        shade_azimuth: f64 = 30.0, within 0.0..=360.0, unit "°", source "Evans 1977, northern middle latitudes";
        /// How readily ice creeps: softer ice is thinner.
        softness: f64 = 0.0757, within 0.0..=10.0, unit "1/(bar³·a)", source "Cuffey & Paterson 2010, temperate ice";
        /// How readily ice slides: thinner ice that wears more.
        sliding: f64 = 1800.0, within 0.0..=1e6, unit "m²/(bar³·a)", source "Budd et al. 1979";
        /// Rock worn for each metre that ice slides.
        erosion: f64 = 1e-4, within 0.0..=0.1, unit "m^(1−l)·a^(l−1)", scales Erodibility^0.5,
            source "Harbor 1992, for exponent 1";
        /// Exponent l of the speed: higher wears fast trunks deeper beside slow tributaries.
        exponent: f64 = 1.0, within 0.5..=3.0, unit "1", source "Harbor 1992, 1; Herman 2015, 2";
        /// How many times as fast as the floor upright walls are worn: broad floors and steep sides.
        widening: f64 = 2.0, within 0.0..=20.0, unit "1", source "ours; 1 is wear at right angles to the bed";
        /// Distance over which ice moves as one: broad troughs for narrow clefts.
        coupling: f64 = 250.0, within 0.0..=1e5, unit "m", source "Kamb & Echelmeyer 1986: one to four thicknesses";
        /// How far the bed must stand above its mean over `coupling` to be worn twice as fast; as far below it nothing is worn: even,
        /// broad floors. 0 wears hollows as it does knobs.
        knob: f64 = 0.0, within 0.0..=1000.0, unit "m", source "ours, for Hallet 1979: ice presses on what stands in its way";
        /// How fast walls step back where they stand in ice: cirques with headwalls, arêtes.
        headwall: f64 = 0.0, within 0.0..=1.0, unit "m/a", scales Erodibility^0.5,
            source "Sanders et al. 2012, 1 to 5 mm a year";
        /// Thickness of ice that is half frozen to its bed: thinner ice wears little, so crests stay.
        grip: f64 = 40.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Most that the bed rises along the ice for each metre that its surface falls: deeper basins.
        adverse: f64 = 1.5, within 0.0..=1000.0, unit "1", source "Alley et al. 2003, 1.2 to 1.7";
        /// Share of what is worn that is laid down where the ice melts; melt water carries off the rest.
        till: f64 = 0.15, within 0.0..=1.0, unit "1", source "ours";
        /// Steepest angle of walls; 90 for none.
        slope_limit: f64 = 50.0, within 1.0..=90.0, unit "°", scales Slope, source "ours; trough walls 40 to 60";
        /// How much the limit varies: the deviation of its logarithm.
        slope_variation: f64 = 0.2, within 0.0..=1.0, unit "1", source "ours";
        /// Distance over which the limit varies most.
        slope_wavelength: f64 = 500.0, within 0.01..=1e8, unit "m", scales Size, source "ours";
        /// Whether the ice melts at the end.
        melt: bool = true, within .., unit "1", source "ours";
    }
}

/// Thickness of ice on the ground, in units of [`Height`](thalweg_core::terrain::height::Height).
pub const ICE: LayerSpec =
    LayerSpec::heights("ice", "m", "Thickness of ice on the ground.").in_world_folder(ReadBack::Always);
/// Factor of the snow that falls by the model's parameters, 0 and more.
pub const SNOW: LayerSpec =
    LayerSpec::floats("snow", "1", "Factor of the snow that gathers, 0 or more: over 1 where wind drifts it.");

/// Most steps.
const MOST: f64 = 1e6;

impl Glacier {
    /// Steps in which ice grows, and those in which it wears the bed.
    fn counts(&self) -> [f64; 2] {
        [(self.growth / self.ice_years).ceil(), (self.years / self.step).ceil()]
    }
}

impl Model for Glacier {
    fn about(&self) -> About {
        About {
            name: "glacier",
            summary: "Glaciers gather, flow and wear their beds: troughs, cirques, sharp crests, basins for lakes, fjords.",
            source: "Braun, Zwartz & Tomkin (1999), A new surface-processes model combining glacial and fluvial erosion",
            family: Family::Erosion,
            uses: &[SNOW, SLOPE_LIMIT, HARDNESS, PROTECT, ICE],
            writes: &[LOOSE, ICE],
            ..About::default()
        }
    }

    fn check(&self, _grid: &Grid) -> Result<()> {
        let [growth, wear] = self.counts();
        if growth + wear > MOST {
            // The time that takes more steps is named.
            let (name, time, step, length, left) = match wear >= growth {
                true => ("years", self.years, "step", self.step, MOST - growth),
                false => ("growth", self.growth, "ice_years", self.ice_years, MOST - wear),
            };
            let allowed = format!("0 to {} a with {step} = {length} a ({MOST} steps in all)", left * length);
            return Err(Error::value(format!("glacier.{name}"), format!("{time} a"), allowed));
        }
        Ok(())
    }

    fn steps(&self, _grid: &Grid) -> u32 {
        self.counts().iter().sum::<f64>().min(MOST) as u32
    }

    fn years(&self, _grid: &Grid, step: u32) -> Option<f64> {
        let [growth, wear] = self.counts();
        Some(self.years * ((f64::from(step) - growth) / wear.max(1.0)).clamp(0.0, 1.0))
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        // Ice passes from cell to cell as far as it will in a step.
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
