//! [`Rules`]: the parameters by which a level is computed from the one before.

use std::sync::Arc;

use crate::RefinementOperators;
use thalweg_core::Result;
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::base::range::check_range;
use thalweg_noise::strata::StandingBeds;

thalweg_core::with_defaults! {
    /// How a level is computed from the coarser one. Every number is part of the definition: another value gives
    /// another world.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Rules {
        /// Drainage area N, in cells of its level, from which on a stream is a river, which keeps its course on all
        /// finer levels; 2 to 48.
        pub river: u32 = 8,
        /// Height of the new octaves of noise where the slope is 1 (rise over run), in widths of a fine cell; 0 to 4.
        pub roughness: f32 = 0.2,
        /// Strength with which slopes approach the balance between uplift and fluvial incision: the ratio of what is
        /// cut in a cell with the drainage area `balance` to what remains there. It decreases on cells narrower than
        /// `hillslope`, to a quarter; 0 to 100.
        pub time: f32 = 7.0,
        /// Share of the uplift that would balance fluvial incision: with less, terrain becomes gentler from level to
        /// level; 0 to 1.
        pub uplift: f32 = 1.0,
        /// Drainage area, in fine cells, at which the slope stays as it is: with a smaller drainage area it becomes
        /// steeper, with a greater one gentler; 0.1 to 10⁴.
        pub balance: f32 = 7.0,
        /// Exponent m of the drainage area in fluvial incision; 0 to 2.
        pub exponent: f32 = 0.45,
        /// Standard deviation of the natural logarithm of the rock's erodibility, from cell to cell; 0 to 2.
        pub grain: f32 = 0.35,
        /// Steepest slope, rise over run; 0.01 to 100.
        pub limit: f32 = 0.8,
        /// Share by which hillslope diffusion moves a cell towards the mean of its neighbours, on cells of `hillslope`
        /// and less; 0 to 1.
        pub creep: f32 = 0.45,
        /// Length in metres of a hillslope that diffusion shapes: on wider cells diffusion is weaker; 0 to 10⁶.
        pub hillslope: f32 = 16.0,
        /// Half the width of a valley's floor, divided by the square root of its drainage area, both in metres; 0 to 1.
        pub floor: f32 = 0.02,
        /// Slope of floors towards their river, rise over run; 0 to 1.
        pub rise: f32 = 0.015,
        /// Wavelength of meanders, in widths of their river; 0 to 1000, 0 for none.
        pub meanders: f32 = 12.0,
        /// Sweeps that accumulate flow over hills, each of which extends it by one cell; 1 to 64.
        pub water_sweeps: u32 = 12,
        /// Sweeps of uplift, in which cells rise as far as those upstream leave room; 0 to 64.
        pub rise_sweeps: u32 = 6,
        /// Sweeps in which incision propagates upstream; 0 to 64.
        pub cut_sweeps: u32 = 10,
        /// Sweeps in which slopes that are too steep slide; 0 to 64.
        pub limit_sweeps: u32 = 20,
        /// Sand that wind has piled up, where sediment is sand; `None` where it is soil and scree, which rivers erode.
        pub sand: Option<Sand> = None,
        /// Beds of rock: the erodibility and the steepest slope of each; `None` where all rock is the same.
        pub strata: Option<Arc<StandingBeds>> = None,
        /// Operators that are applied after those of the kernel.
        pub joins: RefinementOperators = RefinementOperators::default(),
    }
}

/// Sediment that wind has piled up: no river incises it, and it keeps its shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sand {
    /// Thickness in metres from which on a cell counts as sand entirely; 0.01 to 1000.
    pub full: f32,
    /// The steepest slope at which it is stable, rise over run; 0.01 to 100.
    pub repose: f32,
}

impl Rules {
    /// Returns the ratio `time` for cells of this width in metres. On cells narrower than hillslopes, diffusion
    /// balances what rivers would incise; the lower limit of a quarter leaves gullies.
    pub(super) fn time_ratio(&self, width: f32) -> f32 {
        let share = (1.0 + 2.0 * self.exponent) * log2((width / self.hillslope.max(1e-6)).max(1e-30));
        // A logarithm of −2 is the lower limit of a quarter, and one of 0 leaves cells wider than a hillslope as they
        // are.
        self.time * exp2(share.clamp(-2.0, 0.0))
    }

    /// Returns the share of hillslope diffusion for cells of this width in metres: `creep` times (`hillslope` /
    /// `width`)^(1 + 2m), and at most `creep`. In the time in which a river incises through such a cell, diffusion
    /// acts in proportion to this power of the ratio of a hillslope's length to the cell's width (Perron et al. 2008,
    /// doi:10.1029/2007JF000977, their Péclet number).
    pub(super) fn diffusion_share(&self, width: f32) -> f32 {
        let reached = (1.0 + 2.0 * self.exponent) * log2((self.hillslope / width).max(1e-30));
        self.creep * exp2(reached.min(0.0))
    }

    /// Checks that a level can be computed with the rules.
    ///
    /// # Errors
    /// Returns an error that names the field if a number is outside the range given at its field. Beds and joined
    /// operators are not checked.
    ///
    /// # Examples
    /// ```
    /// use thalweg_refine::{Rules, Sand};
    ///
    /// let rules = Rules { creep: 2.0, ..Rules::default() };
    /// assert!(rules.check().unwrap_err().to_string().contains("local.creep"));
    /// let dunes = Rules { sand: Some(Sand { full: 0.5, repose: 0.6 }), ..Rules::default() };
    /// assert!(dunes.check().is_ok());
    /// ```
    pub fn check(&self) -> Result<()> {
        check_range("local.roughness", self.roughness, 0.0..=4.0)?;
        check_range("local.time", self.time, 0.0..=100.0)?;
        check_range("local.uplift", self.uplift, 0.0..=1.0)?;
        check_range("local.balance", self.balance, 0.1..=1e4)?;
        check_range("local.exponent", self.exponent, 0.0..=2.0)?;
        check_range("local.grain", self.grain, 0.0..=2.0)?;
        check_range("local.limit", self.limit, 0.01..=100.0)?;
        check_range("local.creep", self.creep, 0.0..=1.0)?;
        check_range("local.hillslope", self.hillslope, 0.0..=1e6)?;
        check_range("local.floor", self.floor, 0.0..=1.0)?;
        check_range("local.rise", self.rise, 0.0..=1.0)?;
        check_range("local.meanders", self.meanders, 0.0..=1e3)?;
        if let Some(sand) = self.sand {
            check_range("local.sand.full", sand.full, 0.01..=1000.0)?;
            check_range("local.sand.repose", sand.repose, 0.01..=100.0)?;
        }
        // A hill's drainage area is counted in bytes, in fine cells: four times the river's must fit.
        check_range("local.river", self.river, 2..=48)?;
        check_range("local.water_sweeps", self.water_sweeps, 1..=64)?;
        check_range("local.rise_sweeps", self.rise_sweeps, 0..=64)?;
        check_range("local.cut_sweeps", self.cut_sweeps, 0..=64)?;
        check_range("local.limit_sweeps", self.limit_sweeps, 0..=64)
    }
}
