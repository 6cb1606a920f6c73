//! [`Rules`]: how a level is made out of the one before.

use std::sync::Arc;

use crate::Joins;
use thalweg_core::Result;
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::base::range::check_range;
use thalweg_noise::strata::StandingBeds;

thalweg_core::with_defaults! {
    /// How a level is made out of the one before. Every number is one of the definition: another one, another world.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Rules {
        /// Catchment from which on a stream is a river that keeps its course for ever, in cells of its level, N; 2 to 48.
        pub river: u32 = 8,
        /// Height of the new octaves of noise where the slope is 1 (rise over run), in widths of a fine cell; 0 to 4.
        pub roughness: f32 = 0.2,
        /// How far slopes go towards balance between uplift and rivers' cuts, as the ratio of what is cut in a cell of
        /// `balance` to what stands there; on cells narrower than `hillslope` less, to a quarter; 0 to 100.
        pub time: f32 = 7.0,
        /// Share of the uplift that would balance rivers' cuts: with less, ground gets gentler from level to level; 0 to 1.
        pub uplift: f32 = 1.0,
        /// Catchment, in fine cells, of which the slope stays as it is: with less it becomes steeper, with more gentler; 0.1 to 10⁴.
        pub balance: f32 = 7.0,
        /// Exponent m of the catchment in what is cut; 0 to 2.
        pub exponent: f32 = 0.45,
        /// Standard deviation of the natural logarithm of the rock's erodibility, from cell to cell; 0 to 2.
        pub grain: f32 = 0.35,
        /// The steepest slope, rise over run; 0.01 to 100.
        pub limit: f32 = 0.8,
        /// How far creep takes a cell towards the mean of those around it, on cells of `hillslope` and less; 0 to 1.
        pub creep: f32 = 0.45,
        /// Length of a hillslope that creep shapes, in metres: on wider cells creep does less; 0 to 10⁶.
        pub hillslope: f32 = 16.0,
        /// Half the width of a valley's floor over the square root of its catchment, both in metres; 0 to 1.
        pub floor: f32 = 0.02,
        /// Slope of floors towards their river, rise over run; 0 to 1.
        pub rise: f32 = 0.015,
        /// Wavelength of meanders, in widths of their river; 0 to 1000, 0 for none.
        pub meanders: f32 = 12.0,
        /// Sweeps by which water finds its way over hills; 1 to 64. A sweep reaches one cell farther.
        pub water_sweeps: u32 = 12,
        /// Sweeps by which uplift finds room under what is upstream; 0 to 64.
        pub rise_sweeps: u32 = 6,
        /// Sweeps by which cuts go upstream; 0 to 64.
        pub cut_sweeps: u32 = 10,
        /// Sweeps by which slopes slide; 0 to 64.
        pub limit_sweeps: u32 = 20,
        /// What wind has heaped, where loose ground is that; `None` where it is soil and scree, which rivers cut.
        pub sand: Option<Sand> = None,
        /// Beds of rock: how readily each is cut, and how steep it stands; `None` where all rock is alike.
        pub strata: Option<Arc<StandingBeds>> = None,
        /// Operators that join after the kernel's own.
        pub joins: Joins = Joins::default(),
    }
}

/// Loose ground that wind has heaped: no river cuts it, and it keeps its shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sand {
    /// Thickness in metres from which on ground is all sand; 0.01 to 1000.
    pub full: f32,
    /// The steepest slope that it lies at, rise over run; 0.01 to 100.
    pub repose: f32,
}

impl Rules {
    /// The ratio `time` on cells so many metres wide. On cells narrower than hillslopes creep holds what rivers would cut; the least
    /// share leaves gullies.
    pub(super) fn time_on(&self, width: f32) -> f32 {
        let share = (1.0 + 2.0 * self.exponent) * log2((width / self.hillslope.max(1e-6)).max(1e-30));
        self.time * exp2(share.clamp(-2.0, 0.0))
    }

    /// The share of creep on cells so many metres wide. In the time in which a river cuts through such a cell, creep reaches as far as it
    /// takes hillslopes to be, over the cell's width, to the power of 1 + 2m (Perron et al. 2008, doi:10.1029/2007JF000977, their Péclet number).
    pub(super) fn creep_on(&self, width: f32) -> f32 {
        let reached = (1.0 + 2.0 * self.exponent) * log2((self.hillslope / width).max(1e-30));
        self.creep * exp2(reached.min(0.0))
    }

    /// Refuses what no level can be made with.
    ///
    /// # Errors
    /// When a number is out of the range that its field says, naming it. Beds and joined operators are not looked at.
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
        // A hill's catchment is counted in bytes: four times the river's must fit.
        check_range("local.river", self.river, 2..=48)?;
        check_range("local.water_sweeps", self.water_sweeps, 1..=64)?;
        check_range("local.rise_sweeps", self.rise_sweeps, 0..=64)?;
        check_range("local.cut_sweeps", self.cut_sweeps, 0..=64)?;
        check_range("local.limit_sweeps", self.limit_sweeps, 0..=64)
    }
}
