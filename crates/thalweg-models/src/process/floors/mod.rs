//! Valley floors along rivers: flat ground that a river has cut to both sides.

mod course;
mod cut;

use thalweg_core::base::rng::Key;
use thalweg_core::{Field, Grid, Height};
use thalweg_flow::Directions;

/// A valley's form in SI units, for [`carve_floors`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Valley {
    /// Catchment from which a river cuts a floor, m².
    pub threshold: f64,
    /// Half the floor's width for each metre of the catchment's root.
    pub width: f64,
    /// The greatest half width, m.
    pub widest: f64,
    /// How fast the floor rises away from the river, in metres per metre.
    pub rise: f64,
    /// Outer part of the floor over which the cut eases out, 0 to 1.
    pub edge: f64,
    /// Standard deviation of the width's logarithm.
    pub uneven: f64,
    /// Distance from one wide place to the next, in half widths.
    pub wavelength: f64,
    /// Share of the cut that is made, 0 to 1.
    pub share: f64,
    /// How steep the ground becomes at the floor's rim: a concave foot instead of an edge; 0 for none.
    pub foot: f64,
    /// How far the river swings to both sides of its smoothed course, in half widths: a standard deviation. What it undercuts it leaves
    /// when it has gone on.
    pub wander: f64,
    /// How deep a bed lies in the floor of a river that drains 1 km²; 0 for none.
    pub bed: f64,
    /// Narrowest half width that is cut, m: narrower floors show as steps from cell to cell.
    pub narrowest: f64,
    /// By how much the places that are wide have moved, eastward on the left side and westward on the right, m.
    pub moved: f64,
}

impl Valley {
    /// The usual greatest half width, m.
    pub const WIDEST: f64 = 500.0;
    /// The usual outer part over which the cut eases out.
    pub const EDGE: f64 = 0.4;
    /// The usual unevenness.
    pub const UNEVEN: f64 = 0.35;
    /// The usual distance from one wide place to the next, in half widths.
    pub const WAVELENGTH: f64 = 8.0;

    /// Half the floor's width in metres, before its unevenness, where the root of the catchment is `root` metres.
    fn half_width(&self, root: f64) -> f64 {
        let grown = if self.threshold > 0.0 { (root * root / self.threshold - 1.0).clamp(0.0, 1.0) } else { 1.0 };
        (self.width * root).min(self.widest) * grown
    }

    /// How deep the bed of a river lies in its floor, m, where the root of the catchment is `root` metres: bankfull depth grows as
    /// about the cube root of the catchment (Leopold & Maddock 1953).
    fn bed(&self, root: f64) -> f64 {
        self.bed * libm::pow((1e-3 * root).max(0.0), 0.6)
    }
}

/// Cuts valley floors into the ground, along rivers that are already known.
///
/// `surface` is the level of the water (such as the filled ground), `directions` and `cells` (number of cells that drain through each)
/// are taken over it, all of the grid's size. `key` gives the noise of the width; `ease` is a factor on it cell by cell, by the
/// rock. Only lowers; the caller books the difference.
pub fn carve_floors(
    ground: &mut Field<Height>,
    nodata: Option<&Field<bool>>,
    grid: &Grid,
    (surface, directions, cells): (&Field<Height>, &Directions, &Field<u32>),
    valley: &Valley,
    key: Key,
    ease: &dyn Fn(usize) -> f64,
) {
    let stretches = course::lines(grid, (surface, directions, cells), valley, key, ease);
    cut::carve(ground, nodata, &stretches, valley, grid.cell);
}
