//! The sums of one time step over cells: of rain, of water that enters and leaves, and of sediment.

use thalweg_core::MassBalance;

/// The sums of one time step over cells: water as a depth in metres summed over cells, solids in height units
/// (1/65 536 m).
#[derive(Debug, Clone, Copy, Default)]
pub struct StepTotals {
    /// Water that fell as rain.
    pub rained: f64,
    /// Water added by springs, the initial lake and the sea.
    pub poured: f64,
    /// Water that evaporated.
    pub evaporated: f64,
    /// Water that left over edges, into cells without data and into the sea.
    pub drained: f64,
    /// Eroded units.
    pub dug: i64,
    /// Deposited units.
    pub deposited: i64,
    /// Suspended units that left over an open edge or into cells without data.
    pub exported: i64,
    /// Units created (or lost, if negative) by interpolation and by clamping.
    pub rounded: i64,
    /// The number of values that were clamped.
    pub limited: u64,
}

impl StepTotals {
    /// Adds the sums of other cells.
    pub fn add(&mut self, other: &Self) {
        self.rained += other.rained;
        self.poured += other.poured;
        self.evaporated += other.evaporated;
        self.drained += other.drained;
        self.dug += other.dug;
        self.deposited += other.deposited;
        self.exported += other.exported;
        self.rounded += other.rounded;
        self.limited += other.limited;
    }

    /// Converts the sums to a mass balance for cells of `area` m².
    pub fn to_mass_balance(self, area: f64) -> MassBalance {
        MassBalance {
            eroded: self.dug.into(),
            deposited: self.deposited.into(),
            exported: self.exported.into(),
            rounded: self.rounded.into(),
            limited: self.limited,
            rained: self.rained * area,
            poured: self.poured * area,
            evaporated: self.evaporated * area,
            drained: self.drained * area,
            ..MassBalance::default()
        }
    }
}
