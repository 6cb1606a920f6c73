//! [`Ledger`]: the mass balance of a level's operators.

use thalweg_core::Height;

/// An operator that changes the terrain of a level; the variants are in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Operator {
    /// Interpolation of the coarse cell's elevation over its four fine cells, with the mean preserved.
    Smooth,
    /// The next octaves of noise.
    Noise,
    /// Beds along the flow paths of rivers and hills, and the raising of adjacent cells.
    Paths,
    /// Incision of rivers' beds.
    Beds,
    /// One step of uplift.
    Uplift,
    /// Stream-power incision on hills.
    Incision,
    /// Reversal of most of the change that uplift and incision made to whole coarse cells.
    Means,
    /// Hillslope diffusion of soil.
    Diffusion,
    /// Sand that returns where wind has piled it up.
    Sand,
    /// Alluvial fans of streams.
    Fans,
    /// Overbank deposits on valley floors.
    Floods,
    /// Slides to the steepest slope, and valley floors.
    Slides,
    /// Custom operators ([`RefinementOperator`](crate::RefinementOperator)).
    Custom,
    /// Ground under water, reset to its elevation before the flow paths were carved.
    Seabed,
}

/// All operators, in the order in which a level applies them and in which the arrays of a [`Ledger`] are indexed.
pub const OPERATORS: [Operator; 14] = [
    Operator::Smooth,
    Operator::Noise,
    Operator::Paths,
    Operator::Beds,
    Operator::Uplift,
    Operator::Incision,
    Operator::Means,
    Operator::Diffusion,
    Operator::Sand,
    Operator::Fans,
    Operator::Floods,
    Operator::Slides,
    Operator::Custom,
    Operator::Seabed,
];

impl Operator {
    /// Returns true if the operator moves material: rivers, diffusion and slides erode it; diffusion, sand, streams
    /// and floods deposit it. The others add the relief that finer cells resolve.
    fn is_transport(self) -> bool {
        !matches!(self, Self::Smooth | Self::Noise | Self::Paths | Self::Uplift | Self::Means | Self::Seabed)
    }

    /// Returns its name in a report: one word.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// The amounts that each operator added to the wanted cells and removed from them, in units of height × cells of the
/// finer level; a unit is 1/65 536 m. The terrain after is exactly that before, plus the amounts added, less the
/// amounts removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Ledger {
    /// Sum of the elevations before: each wanted cell is as high as the coarse cell of which it is a part.
    pub before: i128,
    /// Amounts added, 0 or more, by operator in the order of [`OPERATORS`].
    pub given: [i128; OPERATORS.len()],
    /// Amounts removed, 0 or more, by operator in the order of [`OPERATORS`].
    pub taken: [i128; OPERATORS.len()],
}

impl Ledger {
    /// Records the change from the elevations `recorded_elevations` to the elevations `now`, and sets
    /// `recorded_elevations` to `now`.
    pub(super) fn record_change(
        &mut self,
        operator: Operator,
        recorded_elevations: &mut [Height],
        now: impl Iterator<Item = i32>,
    ) {
        for (recorded, now) in recorded_elevations.iter_mut().zip(now) {
            // Sums have 128 bits, so 2²⁸ cells of any change cannot overflow them.
            let change = i128::from(now) - i128::from(recorded.0);
            let side = if change > 0 { &mut self.given } else { &mut self.taken };
            side[operator as usize] += change.abs();
            recorded.0 = now;
        }
    }

    /// Returns the sum of the elevations after all operators, in the same units.
    pub fn after(&self) -> i128 {
        self.before + self.given.iter().sum::<i128>() - self.taken.iter().sum::<i128>()
    }

    /// Returns the amount that rivers, wind, diffusion and slides removed from the wanted cells.
    pub fn eroded(&self) -> i128 {
        sum_transport(&self.taken)
    }

    /// Returns the amount that they deposited on the wanted cells.
    pub fn deposited(&self) -> i128 {
        sum_transport(&self.given)
    }

    /// Returns the amount that left over the cells' border, below 0 if more came in: the eroded amount less the
    /// deposited one.
    pub fn exported(&self) -> i128 {
        self.eroded() - self.deposited()
    }

    /// Returns the amount that the terrain has gained on finer cells without any material being moved: all change
    /// that is neither erosion nor deposition.
    pub fn added(&self) -> i128 {
        self.after() - self.before + self.exported()
    }
}

/// Returns the sum over the operators that move material of one side of a mass balance.
fn sum_transport(side: &[i128; OPERATORS.len()]) -> i128 {
    // The operators' numbers are their positions in the list, because both are in the same order.
    OPERATORS.iter().filter(|operator| operator.is_transport()).map(|operator| side[*operator as usize]).sum()
}
