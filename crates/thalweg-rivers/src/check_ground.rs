//! Checks of the ground under a written network, for every cell and not only for the lines' vertices.

use crate::check::{Check, RiverFiles};
use crate::drained::drained;
use crate::drawn::Stencil;
use crate::line_cells::walk;
use crate::network::{ReachEnd, RiverReach};
use crate::tree::around;
use thalweg_core::{Cell, Field};

/// The least percentage of the land that must drain.
const LAND: f64 = 99.0;

/// The least percentage of the lines' vertices that must be visible above the drawn ground. Protected ground, which
/// no file records, and ground that cannot be cut next to other water may hide some.
const SHOWS: f64 = 95.0;

/// Tolerance of the depth in the rasters, as a share of the line's depth at a vertex.
const DEPTH: f64 = 0.1;

/// Tolerance of elevations for rounding in files, in metres.
const CLOSE: f64 = 1e-6;

impl RiverFiles {
    /// Visits the cells that a reach's line passes, beginning with the cell of its first vertex.
    fn passed(&self, reach: &RiverReach, mut visit: impl FnMut(Cell)) {
        for (n, place) in reach.places.iter().enumerate() {
            match n.checked_sub(1) {
                Some(before) => walk(reach.places[before], *place, |at| visit(self.cell(at.map(|x| x as f64)))),
                None => visit(self.cell(*place)),
            }
        }
    }

    /// Returns true if a cell is covered by a lake or the sea.
    fn rests(&self, at: (usize, usize)) -> bool {
        self.lake[at] > 0 || self.is_sea(at)
    }

    /// Checks that the ground never rises along a line, over all cells that it passes, including the one where it
    /// joins another line.
    pub(super) fn never_rises(&self) -> Check {
        let mut check = Check::new("ground never rises along a river");
        for reach in &self.reaches {
            let (mut before, mut rise) = (None, None);
            self.passed(reach, |Cell { row: i, col: j }| {
                let here = (i, j);
                if self.rests(here) || !self.known[here] {
                    before = None;
                    return;
                }
                if before.is_some_and(|before| self.ground[here] > before) && rise.is_none() {
                    rise = Some([i, j]);
                }
                before = Some(self.ground[here]);
            });
            check.note(rise.is_none(), || format!("reach {} at row, column {rise:?}", reach.id));
        }
        check
    }

    /// Checks that at each vertex the ground is below the line's water, and that the water is as deep in the rasters
    /// as along the line.
    pub(super) fn one_surface(&self) -> Check {
        let mut check = Check::new("lines, rasters and ground agree");
        for reach in &self.reaches {
            for (at, place) in reach.places.iter().enumerate() {
                let Cell { row: i, col: j } = self.cell(*place);
                if !self.known[(i, j)] {
                    continue;
                }
                let under = self.ground[(i, j)] <= reach.surface[at] + CLOSE;
                let depth = reach.surface[at] - reach.bed[at];
                let water = self.surface[(i, j)] - self.ground[(i, j)];
                let agrees = match self.river[(i, j)] {
                    0 => self.rests((i, j)),
                    _ => (water - depth).abs() <= DEPTH * depth + CLOSE,
                };
                check.note(under && agrees, || format!("reach {} at row, column {:?}", reach.id, [i, j]));
            }
        }
        check
    }

    /// Checks that at each vertex the ground, as drawn between cell centres, is below the line's water surface.
    pub(super) fn shows(&self) -> Check {
        let mut check = Check { least: SHOWS, ..Check::new("lines show in the drawn ground") };
        for reach in &self.reaches {
            for (place, surface) in reach.places.iter().zip(&reach.surface) {
                let Cell { row: i, col: j } = self.cell(*place);
                if self.rests((i, j)) || !self.known[(i, j)] {
                    continue;
                }
                let stencil = Stencil::of(self.ground.size(), *place);
                // A dry cell on a lake's shore keeps its height to hold back the lake, even if a river runs past it.
                let dry = |k: &usize| self.river[*k] == 0 && self.lake[*k] == 0;
                let shore = |k: usize| around(self.ground.size(), k).any(|n| self.lake[n] > 0);
                if stencil.heavier(0.0).filter(dry).any(shore) {
                    continue;
                }
                let drawn = stencil.height(|k| self.known[k].then(|| self.ground[k]));
                check.note(drawn.is_none_or(|drawn| drawn <= surface + CLOSE), || {
                    format!("reach {} at row, column {:?}", reach.id, [i, j])
                });
            }
        }
        check
    }

    /// Returns which cells drain, by the elevations rounded to 32-bit floats as in files.
    fn drains(&self) -> Field<bool> {
        let mouth = |i: usize, j: usize| self.mouths.contains(&Cell::new(i, j));
        let at_outlet = self.reaches.iter().any(|reach| reach.end == ReachEnd::Outlet);
        let lowest = at_outlet.then(|| self.sink()).flatten();
        let rests = Field::generate(self.ground.size(), |i, j| {
            self.rests((i, j)) || mouth(i, j) || lowest.is_some_and(|lowest| self.ground[(i, j)] <= lowest)
        });
        drained(&self.ground.map(|height| *height as f32), &self.known, &rests)
    }

    /// Checks that steps to the steepest lower neighbour lead from each river cell to a lake or out of the land, and
    /// the same for the land's cells.
    pub(super) fn arrivals(&self) -> [Check; 2] {
        let drains = self.drains();
        let mut rivers = Check::new("water of each river's cell arrives");
        let mut land = Check { least: LAND, ..Check::new("the land drains") };
        let cols = self.ground.cols();
        for (k, well) in drains.as_slice().iter().enumerate().filter(|(k, _)| self.known[*k]) {
            let place = || format!("row, column {:?}", [k / cols, k % cols]);
            if self.river[k] > 0 {
                rivers.note(*well, place);
            }
            land.note(*well, place);
        }
        [rivers, land]
    }
}
