//! [`Margins`]: how far beyond what is wanted each operator works, by the reach of those after it.

use crate::{Rules, deposit, floods, floors, hold, sand};

/// How far, in fine cells, the ground of each operator must lie beyond what is wanted: sums of reaches, from the last operator
/// back to the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Margins {
    /// Receivers of the finished ground: one for each sweep that counts catchments.
    pub tree: i64,
    /// Ground before what joins, after the slides.
    pub join: i64,
    /// Ground before slopes slide.
    pub slide: i64,
    /// Ground before floods lay what they carry, after fans.
    pub floods: i64,
    /// Ground before fans are laid, after creep.
    pub fans: i64,
    /// Ground before sand comes back, after creep.
    pub sand: i64,
    /// Ground before creep.
    pub creep: i64,
    /// Ground before blocks are held, after the cuts.
    pub hold: i64,
    /// Ground before the cuts, after the uplift.
    pub cut: i64,
    /// Ground before the uplift.
    pub rise: i64,
    /// Water over hills, before its sweeps.
    pub water: i64,
    /// Receivers over the carved ground.
    pub receivers: i64,
    /// The carved ground.
    pub carved: i64,
}

/// Coarse cells that the carved ground reaches beyond its blocks: hill paths 1, raised ground 2, shores 3, rivers' paths 4, nodes 5, beds 6,
/// the smooth ground and its slope 7.
pub(super) const COARSE: i64 = 7;

/// Coarse cells beyond the carved ground's blocks on which there is fine ground at all.
pub(super) const FINE: i64 = 5;

impl Margins {
    /// Of a level whose cells are so many metres wide, whatever rivers there are.
    pub fn of(rules: &Rules, level: u32, width: f64) -> Self {
        Self::with(rules, level, width, true)
    }

    /// The same; where no river `floods` its floor nothing is worked on for floods.
    pub fn with(rules: &Rules, level: u32, width: f64, floods: bool) -> Self {
        let [sweeps, reach] = if floods { [floods::SWEEPS, floods::REACH] } else { [0; 2] };
        let [water, rise, cut, limit] =
            [rules.water_sweeps, rules.rise_sweeps, rules.cut_sweeps, rules.limit_sweeps].map(i64::from);
        let tree = 4 * i64::from(rules.river);
        let join = tree + 1 + rules.joins.margin(level, width);
        let slide = join + limit;
        let floods = slide + sweeps;
        let fans = floods + deposit::SWEEPS;
        let sand = fans + rules.sand.map_or(0, |_| 2 * sand::SWEEPS);
        let creep = sand + 2;
        let hold = creep + 2 * hold::SWEEPS + hold::REACH;
        let cut = hold + cut;
        let rise = cut + rise;
        let water = cut + water;
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
            carved: (receivers + 1).max(slide + floors::REACH).max(fans + deposit::REACH),
        }
    }
}
