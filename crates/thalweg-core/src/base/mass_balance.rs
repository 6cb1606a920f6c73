//! [`MassBalance`]: the solid mass and the water that a step moves.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// The mass and water that one or several steps eroded, deposited, exported and added. Solids are in units of height ×
/// cells (1/65 536 m over one cell), water in m³.
///
/// # Examples
/// ```
/// use thalweg_core::MassBalance;
///
/// let mut total = MassBalance::default();
/// total += MassBalance { eroded: 30, deposited: 20, exported: 10, ..MassBalance::default() };
/// assert_eq!(total.solid_change(), -10);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MassBalance {
    /// Eroded from the ground, in units of height × cells.
    pub eroded: i128,
    /// Deposited on the ground, in units of height × cells.
    pub deposited: i128,
    /// Removed and not deposited again, in units of height × cells: over open edges, into the sea or missing data.
    pub exported: i128,
    /// Added by a base model (negative where it lowers the ground), in units of height × cells.
    pub added: i128,
    /// Gained (positive) or lost (negative) by storage in fewer bits, in units of height × cells; zero in every real
    /// setting.
    pub rounded: i128,
    /// The number of times that a clamp or limiter changed a cell.
    pub limited: u64,
    /// The number of particles started.
    pub particles: u64,
    /// The total number of steps that particles took.
    pub particle_steps: u64,
    /// Water that fell as rain, in m³.
    pub rained: f64,
    /// Water added by springs, drops and initial fillings, in m³.
    pub poured: f64,
    /// Water that evaporated, in m³.
    pub evaporated: f64,
    /// Water that infiltrated into the ground, in m³.
    pub infiltrated: f64,
    /// Water that left over open edges, into the sea or at the end of a stage, in m³. A step may take back water that
    /// earlier steps counted; sums over a stage are never negative.
    pub drained: f64,
}

impl AddAssign for MassBalance {
    fn add_assign(&mut self, other: Self) {
        // Sums saturate because a crafted checkpoint could make them overflow; real sums never come near the limits.
        self.eroded = self.eroded.saturating_add(other.eroded);
        self.deposited = self.deposited.saturating_add(other.deposited);
        self.exported = self.exported.saturating_add(other.exported);
        self.added = self.added.saturating_add(other.added);
        self.rounded = self.rounded.saturating_add(other.rounded);
        self.limited = self.limited.saturating_add(other.limited);
        self.particles = self.particles.saturating_add(other.particles);
        self.particle_steps = self.particle_steps.saturating_add(other.particle_steps);
        self.rained += other.rained;
        self.poured += other.poured;
        self.evaporated += other.evaporated;
        self.infiltrated += other.infiltrated;
        self.drained += other.drained;
    }
}

impl MassBalance {
    /// Returns the change of the terrain's solid mass, in units of height × cells.
    pub fn solid_change(&self) -> i128 {
        self.added + self.rounded - self.exported
    }

    /// Returns the change of the water that stands on the terrain, in m³.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::MassBalance;
    ///
    /// let balance = MassBalance { rained: 10.0, evaporated: 2.5, drained: 4.0, ..MassBalance::default() };
    /// assert_eq!(balance.water_change(), 3.5);
    /// ```
    pub fn water_change(&self) -> f64 {
        self.rained + self.poured - self.evaporated - self.infiltrated - self.drained
    }
}
