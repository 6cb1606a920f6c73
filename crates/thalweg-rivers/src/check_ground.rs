//! Checks of the ground under a written network, for every cell and not only for the lines' vertices.

use crate::check::{Check, RiverFiles};
use crate::drained::find_draining_cells;
use crate::line_cells::visit_line_cells;
use crate::network::{ReachEnd, RiverReach};
use crate::rendered_ground::Stencil;
use crate::tree::neighbour_cells;
use thalweg_core::{Cell, Field};

/// The least percentage of the land that must drain.
const MIN_DRAINING_PERCENT: f64 = 99.0;

/// The least percentage of the lines' vertices that must be visible above the drawn ground. Protected ground, which
/// no file records, and ground that cannot be cut next to other water may hide some.
const MIN_VISIBLE_PERCENT: f64 = 95.0;

/// Tolerance of the depth in the rasters, as a share of the line's depth at a vertex.
const DEPTH: f64 = 0.1;

/// Tolerance of elevations for rounding in files, in metres.
const ELEVATION_TOLERANCE_M: f64 = 1e-6;

impl RiverFiles {
    /// Visits the cells that a reach's line passes, beginning with the cell of its first vertex.
    fn visit_passed_cells(&self, reach: &RiverReach, mut visit: impl FnMut(Cell)) {
        for (n, place) in reach.places.iter().enumerate() {
            match n.checked_sub(1) {
                Some(before) => {
                    visit_line_cells(reach.places[before], *place, |at| visit(self.cell(at.map(|x| x as f64))))
                }
                None => visit(self.cell(*place)),
            }
        }
    }

    /// Returns true if a cell is covered by a lake or the sea.
    fn is_under_still_water(&self, at: (usize, usize)) -> bool {
        self.lake[at] > 0 || self.is_sea(at)
    }

    /// Checks that the ground never rises along a line, over all cells that it passes, including the one where it
    /// joins another line.
    pub(super) fn check_ground_descent(&self) -> Check {
        let mut check = Check::new("ground never rises along a river");
        for reach in &self.reaches {
            let (mut before, mut rise) = (None, None);
            self.visit_passed_cells(reach, |Cell { row: i, col: j }| {
                let here = (i, j);
                if self.is_under_still_water(here) || !self.known[here] {
                    // Lakes, the sea and missing data interrupt the comparison, because lines end and begin there.
                    before = None;
                    return;
                }
                if before.is_some_and(|before| self.ground[here] > before) && rise.is_none() {
                    rise = Some([i, j]);
                }
                before = Some(self.ground[here]);
            });
            check.record_item(rise.is_none(), || format!("reach {} at row, column {rise:?}", reach.id));
        }
        check
    }

    /// Checks that at each vertex the ground is below the line's water, and that the water is as deep in the rasters
    /// as along the line.
    pub(super) fn check_single_surface(&self) -> Check {
        let mut check = Check::new("lines, rasters and ground agree");
        for reach in &self.reaches {
            for (at, place) in reach.places.iter().enumerate() {
                let Cell { row: i, col: j } = self.cell(*place);
                if !self.known[(i, j)] {
                    continue;
                }
                let under = self.ground[(i, j)] <= reach.surface[at] + ELEVATION_TOLERANCE_M;
                let depth = reach.surface[at] - reach.bed[at];
                let water = self.surface[(i, j)] - self.ground[(i, j)];
                let agrees = match self.river[(i, j)] {
                    // Outside river cells a vertex must be in a lake or the sea.
                    0 => self.is_under_still_water((i, j)),
                    _ => (water - depth).abs() <= DEPTH * depth + ELEVATION_TOLERANCE_M,
                };
                check.record_item(under && agrees, || format!("reach {} at row, column {:?}", reach.id, [i, j]));
            }
        }
        check
    }

    /// Checks that at each vertex the ground, as drawn between cell centres, is below the line's water surface.
    pub(super) fn check_visibility(&self) -> Check {
        let mut check =
            Check { least: MIN_VISIBLE_PERCENT, ..Check::new("rivers are visible in the exported elevation") };
        for reach in &self.reaches {
            for (place, surface) in reach.places.iter().zip(&reach.surface) {
                let Cell { row: i, col: j } = self.cell(*place);
                if self.is_under_still_water((i, j)) || !self.known[(i, j)] {
                    continue;
                }
                let stencil = Stencil::from_point(self.ground.size(), *place);
                // A dry cell on a lake's shore keeps its height to hold back the lake, even if a river runs past it.
                let dry = |k: &usize| self.river[*k] == 0 && self.lake[*k] == 0;
                let shore = |k: usize| neighbour_cells(self.ground.size(), k).any(|n| self.lake[n] > 0);
                if stencil.cells_heavier_than(0.0).filter(dry).any(shore) {
                    continue;
                }
                let drawn = stencil.interpolate_height(|k| self.known[k].then(|| self.ground[k]));
                check.record_item(drawn.is_none_or(|drawn| drawn <= surface + ELEVATION_TOLERANCE_M), || {
                    format!("reach {} at row, column {:?}", reach.id, [i, j])
                });
            }
        }
        check
    }

    /// Returns which cells drain, by the elevations rounded to 32-bit floats as in files.
    fn find_draining_cells(&self) -> Field<bool> {
        let mouth = |i: usize, j: usize| self.mouths.contains(&Cell::new(i, j));
        let at_outlet = self.reaches.iter().any(|reach| reach.end == ReachEnd::Outlet);
        let lowest = at_outlet.then(|| self.find_sink_elevation()).flatten();
        // Water may rest in lakes and the sea, at mouths, and in the lowest cell of land without an outlet.
        let rests = Field::from_fn(self.ground.size(), |i, j| {
            self.is_under_still_water((i, j))
                || mouth(i, j)
                || lowest.is_some_and(|lowest| self.ground[(i, j)] <= lowest)
        });
        find_draining_cells(&self.ground.map(|height| *height as f32), &self.known, &rests)
    }

    /// Checks that steps to the steepest lower neighbour lead from each river cell to a lake or out of the land, and
    /// the same for the land's cells.
    pub(super) fn check_drainage(&self) -> [Check; 2] {
        let drains = self.find_draining_cells();
        let mut rivers = Check::new("water of each river's cell arrives");
        let mut land = Check { least: MIN_DRAINING_PERCENT, ..Check::new("the land drains") };
        let cols = self.ground.cols();
        for (k, well) in drains.as_slice().iter().enumerate().filter(|(k, _)| self.known[*k]) {
            let place = || format!("row, column {:?}", [k / cols, k % cols]);
            if self.river[k] > 0 {
                rivers.record_item(*well, place);
            }
            land.record_item(*well, place);
        }
        [rivers, land]
    }
}
