//! [`Ledger`]: what each operator of a level gave to the ground and took from it.

use thalweg_core::Height;

/// What changes the ground of a level, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Operator {
    /// The coarse cell's height, bent over its four cells, the mean kept.
    Smooth,
    /// The next octaves of noise.
    Noise,
    /// Beds of rivers' and hills' ways; what is raised beside them.
    Ways,
    /// Beds dug by their rivers.
    Beds,
    /// Uplift, one step of it.
    Uplift,
    /// Rivers' cuts on hills.
    Cuts,
    /// What uplift and cuts did to whole coarse cells, mostly taken back.
    Held,
    /// Creep of soil down slopes.
    Creep,
    /// Sand that comes back where wind has heaped it.
    Sand,
    /// Fans laid down by streams.
    Fans,
    /// Floods on floors.
    Floods,
    /// Slides to the steepest slope, and floors.
    Slides,
    /// Operators that are not the kernel's own ([`Join`](crate::Join)).
    Joined,
    /// Ground under water, taken up again as it was before the ways.
    Seabed,
}

/// All operators, in the order in which a level has them work; it is that of the arrays of a [`Ledger`].
pub const OPERATORS: [Operator; 14] = [
    Operator::Smooth,
    Operator::Noise,
    Operator::Ways,
    Operator::Beds,
    Operator::Uplift,
    Operator::Cuts,
    Operator::Held,
    Operator::Creep,
    Operator::Sand,
    Operator::Fans,
    Operator::Floods,
    Operator::Slides,
    Operator::Joined,
    Operator::Seabed,
];

impl Operator {
    /// Whether it moves ground: rivers, creep and slides take it, creep, sand, streams and floods lay it. The others show what finer cells have.
    fn moves(self) -> bool {
        !matches!(self, Self::Smooth | Self::Noise | Self::Ways | Self::Uplift | Self::Held | Self::Seabed)
    }

    /// Its name in a report: one word.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// What each operator gave to the wanted cells and took from them, in units of height × cells of the finer level, 1/65 536 m each. The
/// ground after is before plus what was given less what was taken, to the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Ledger {
    /// Ground before: each wanted cell as high as the coarse cell that it is a part of.
    pub before: i128,
    /// Given, 0 or more, by operator in the order of [`OPERATORS`].
    pub given: [i128; OPERATORS.len()],
    /// Taken, 0 or more, by operator in the order of [`OPERATORS`].
    pub taken: [i128; OPERATORS.len()],
}

impl Ledger {
    /// Books the change from the ground that was seen last to the one now, and takes that for seen.
    pub(super) fn book(&mut self, operator: Operator, seen: &mut [Height], now: impl Iterator<Item = i32>) {
        for (seen, now) in seen.iter_mut().zip(now) {
            let change = i128::from(now) - i128::from(seen.0);
            let side = if change > 0 { &mut self.given } else { &mut self.taken };
            side[operator as usize] += change.abs();
            seen.0 = now;
        }
    }

    /// Ground after, in the same units.
    pub fn after(&self) -> i128 {
        self.before + self.given.iter().sum::<i128>() - self.taken.iter().sum::<i128>()
    }

    /// What rivers, wind, creep and slides took of the wanted cells.
    pub fn eroded(&self) -> i128 {
        moved(&self.taken)
    }

    /// What they laid on them.
    pub fn deposited(&self) -> i128 {
        moved(&self.given)
    }

    /// What was carried over the cells' border, out of them; below 0 where more came in. It is what was eroded and not laid down again.
    pub fn carried_out(&self) -> i128 {
        self.eroded() - self.deposited()
    }

    /// What the ground has more on finer cells, without anything having moved: all that is neither eroded nor deposited.
    pub fn added(&self) -> i128 {
        self.after() - self.before + self.carried_out()
    }
}

/// What operators that move ground have of a side of a ledger.
fn moved(side: &[i128; OPERATORS.len()]) -> i128 {
    OPERATORS.iter().filter(|operator| operator.moves()).map(|operator| side[*operator as usize]).sum()
}
