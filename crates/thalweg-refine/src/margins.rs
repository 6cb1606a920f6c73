//! [`Margins`]: how far beyond the wanted cells each operator works, from the reaches of the operators after it.

use crate::{Rules, alluvial_fans, block_means, floors, overbank_deposition, sand};

/// How far, in fine cells, the terrain must extend beyond the wanted cells at each stage: sums of reaches, from the
/// last operator back to the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Margins {
    /// Receivers of the finished terrain: one cell for each sweep that counts drainage areas.
    pub tree: i64,
    /// Terrain before joined operators, after the slides.
    pub join: i64,
    /// Terrain before slopes slide.
    pub slide: i64,
    /// Terrain before overbank deposition, after the fans.
    pub floods: i64,
    /// Terrain before fans are deposited, after hillslope diffusion.
    pub fans: i64,
    /// Terrain before sand returns, after hillslope diffusion.
    pub sand: i64,
    /// Terrain before hillslope diffusion.
    pub creep: i64,
    /// Terrain before the means of blocks are restored, after incision.
    pub hold: i64,
    /// Terrain before incision, after uplift.
    pub cut: i64,
    /// Terrain before uplift.
    pub rise: i64,
    /// Water over hills, before its sweeps.
    pub water: i64,
    /// Receivers over the carved terrain.
    pub receivers: i64,
    /// The carved terrain.
    pub carved: i64,
}

/// Coarse cells that are read beyond the carved terrain's blocks: hill paths 1, raised terrain 2, shores 3, rivers'
/// paths 4, nodes 5, beds 6, the smooth terrain and its slope 7.
pub(super) const COARSE_MARGIN_CELLS: i64 = 7;

/// Coarse cells beyond the carved terrain's blocks for which there is fine terrain at all.
pub(super) const FINE_MARGIN_CELLS: i64 = 5;

impl Margins {
    /// Returns the margins of a level whose cells are `width` metres wide, whether or not it has rivers that flood.
    pub fn from_rules(rules: &Rules, level: u32, width: f64) -> Self {
        Self::with_floods(rules, level, width, true)
    }

    /// Returns the margins; if no river floods its floor (`floods` is false), no cells are computed for overbank
    /// deposition.
    pub fn with_floods(rules: &Rules, level: u32, width: f64, floods: bool) -> Self {
        let [sweeps, reach] = if floods { [overbank_deposition::SWEEPS, overbank_deposition::REACH] } else { [0; 2] };
        let [water, rise, cut, limit] =
            [rules.water_sweeps, rules.rise_sweeps, rules.cut_sweeps, rules.limit_sweeps].map(i64::from);
        // Each line adds the cells that one operator reads, beginning with the last operator.
        let tree = 4 * i64::from(rules.river);
        let join = tree + 1 + rules.joins.required_margin(level, width);
        let slide = join + limit;
        let floods = slide + sweeps;
        let fans = floods + alluvial_fans::SWEEPS;
        let sand = fans + rules.sand.map_or(0, |_| 2 * sand::SWEEPS);
        let creep = sand + 2;
        let hold = creep + 2 * block_means::SWEEPS + block_means::REACH;
        let cut = hold + cut;
        let rise = cut + rise;
        // The targets of the uplift read the water as far out as the uplift works.
        let water = rise + water;
        let receivers = rise.max(water).max(floods + reach) + 1;
        Self {
            tree,
            join,
            slide,
            floods,
            fans,
            sand,
            creep,
            hold,
            cut,
            rise,
            water,
            receivers,
            // Deposits and floors look for rivers farther away than the operators before them need terrain.
            carved: (receivers + 1).max(slide + floors::REACH).max(fans + alluvial_fans::REACH),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn water_is_complete_wherever_targets_are_read() {
        // Each sweep completes the water one cell less far out; the targets are read to the margin of the uplift.
        for [water, rise, cut] in [[1, 0, 0], [1, 2, 1], [3, 8, 0], [12, 6, 10], [64, 64, 64]] {
            let rules = Rules { water_sweeps: water, rise_sweeps: rise, cut_sweeps: cut, ..Rules::default() };
            let margins = Margins::from_rules(&rules, 1, 10.0);
            assert!(margins.water - i64::from(water) >= margins.rise, "{water} {rise} {cut}");
            assert!(margins.receivers > margins.water && margins.carved > margins.receivers);
        }
    }
}
