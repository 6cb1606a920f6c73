//! Valley floors along rivers: flat ground that a river has eroded laterally.

mod course;
mod floor_erosion;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Field, Grid, Height};
use thalweg_flow::Directions;

/// The shape of a valley in SI units, for [`carve_floors`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Valley {
    /// The drainage area from which on a river erodes a floor, m².
    pub threshold: f64,
    /// Half the floor's width, in metres per metre of the square root of the drainage area.
    pub width: f64,
    /// The greatest half width, m.
    pub widest: f64,
    /// The slope of the floor away from the river, in metres per metre.
    pub rise: f64,
    /// The outer part of the floor over which the cut eases out, 0 to 1.
    pub edge: f64,
    /// The standard deviation of the logarithm of the width.
    pub uneven: f64,
    /// The distance from one wide place to the next, in half widths.
    pub wavelength: f64,
    /// The share of the cut that is made, 0 to 1.
    pub share: f64,
    /// The slope of the ground at the floor's rim, which forms a concave foot instead of an edge; 0 for none.
    pub foot: f64,
    /// The standard deviation of the river's shift to either side of its smoothed path, in half widths. The banks
    /// that it has undercut remain after it has moved on.
    pub wander: f64,
    /// The depth in metres of the bed below the floor, for a river that drains 1 km²; 0 for none.
    pub bed: f64,
    /// The least half width that is eroded, m; narrower floors would appear as steps from cell to cell.
    pub narrowest: f64,
    /// The distance by which the wide places have moved, eastward on the left side and westward on the right, m.
    pub moved: f64,
}

impl Valley {
    /// The default of the greatest half width, m.
    pub const DEFAULT_MAX_HALF_WIDTH_M: f64 = 500.0;
    /// The default of the outer part over which the cut eases out.
    pub const EDGE: f64 = 0.4;
    /// The default of the unevenness.
    pub const UNEVEN: f64 = 0.35;
    /// The default distance from one wide place to the next, in half widths.
    pub const WAVELENGTH: f64 = 8.0;

    /// Returns half the floor's width in metres, before its unevenness; `root` is the square root of the drainage
    /// area in metres.
    fn half_width(&self, root: f64) -> f64 {
        // The floor begins with width 0 at the threshold and has its full width at twice that drainage area.
        let grown = if self.threshold > 0.0 { (root * root / self.threshold - 1.0).clamp(0.0, 1.0) } else { 1.0 };
        (self.width * root).min(self.widest) * grown
    }

    /// Returns the depth of the river's bed below its floor, m; `root` is the square root of the drainage area in
    /// metres. Bankfull depth grows roughly with the cube root of the drainage area (Leopold & Maddock 1953).
    fn bed_depth(&self, root: f64) -> f64 {
        // The root is in metres and the bed refers to 1 km². The exponent 0.6 of the root is 0.3 of the area.
        self.bed * libm::pow((1e-3 * root).max(0.0), 0.6)
    }
}

/// Where water drains on a terrain.
#[derive(Clone, Copy)]
pub struct DrainedSurface<'a> {
    /// The level of the water, for example the depression-filled surface.
    pub surface: &'a Field<Height>,
    /// Flow directions, derived from the surface.
    pub directions: &'a Directions,
    /// The number of cells that drain through each cell.
    pub cells: &'a Field<u32>,
}

/// Erodes valley floors into the ground, along rivers that are already known.
///
/// `drained` says where the water flows; its fields have the grid's size. `key` seeds the noise of the width; `ease` is
/// a factor on the width for each cell, from the rock. The function only lowers cells; the caller books the difference
/// in the mass balance.
pub fn carve_floors(
    ground: &mut Field<Height>,
    nodata: Option<&Field<bool>>,
    grid: &Grid,
    drained: DrainedSurface<'_>,
    valley: &Valley,
    key: RandomKey,
    ease: &dyn Fn(usize) -> f64,
) {
    // The lines are traced from the routed water before any cell is lowered.
    let stretches = course::trace_valley_lines(grid, drained, valley, key, ease);
    floor_erosion::carve_stretches(ground, nodata, &stretches, valley, grid.cell);
}
