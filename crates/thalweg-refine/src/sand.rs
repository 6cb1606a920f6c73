//! Sand: sediment that wind has piled up, and that no river incises.
//!
//! The sediment's thickness is carried from level to level. Where sand covers the terrain the kernel's rivers have
//! little effect: no noise, no uplift, no incision, and slopes up to the angle of repose. What carving took from the
//! smooth terrain returns as far as the order of the tree allows, on rivers too: they seep into sand.

use crate::cell_flags::{MOUTH, SEA};
use crate::plane::{PaddedPlane, PlanePart, WALL};
use crate::uplift_targets::UpliftTargets;
use crate::{LocalWindow, Sand};
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_core::{Cell, CellRect, Field, Height};
use thalweg_flow::OUT;

/// Number of sweeps in which sand rises, and of those in which it sinks.
pub(super) const SWEEPS: i64 = 8;

/// Number of smoothing passes over sand: no more than the cells of fine terrain beyond those that are processed.
const SMOOTHING_PASSES: usize = 8;

/// Sand on a level's cells.
pub(super) struct Cover {
    /// Its thickness in units.
    pub thick: PaddedPlane<i32>,
    /// The smooth terrain, before noise and carving, with the sand smoothed.
    pub smooth: PaddedPlane<i32>,
    /// Thickness from which on a cell counts as sand entirely, in units.
    full: f32,
    /// The steepest stable fall from cell to cell, in units.
    max_fall: f32,
}

/// The inputs of [`Cover::from_window`].
pub(super) struct CoverInputs<'a> {
    pub window: &'a LocalWindow,
    /// Thickness of the sediment on the window's cells.
    pub sediment: &'a Field<Height>,
    /// All cells of the window's level.
    pub world: CellRect<i64>,
    /// Coarse cells whose sand is computed.
    pub all: CellRect<i64>,
    /// World cell of the planes' first fine cell.
    pub origin: Cell<i64>,
    pub sand: Sand,
    /// Width of a fine cell in metres.
    pub width: f32,
    /// The smooth terrain, before noise and carving.
    pub smooth: &'a PaddedPlane<i32>,
}

impl Cover {
    /// Computes the sand on the fine cells of the coarse cells `all`, in planes of the size of `smooth`, which begin
    /// at fine cell `origin`. Thicknesses are interpolated linearly between coarse cells.
    pub fn from_window(inputs: &CoverInputs<'_>) -> Self {
        let CoverInputs { window, sediment, world, all, origin, sand, width, smooth } = *inputs;
        let mut thick = PaddedPlane::new(smooth.size(), 0);
        let fine = all.to_finer_level();
        let place = |x: i64, axis: usize| {
            let at = |x: i64| (x.clamp(world.start[axis], world.end[axis] - 1) - window.rect.start[axis]) as usize;
            let own = x.div_euclid(2);
            (at(own), at(if x.rem_euclid(2) == 0 { own - 1 } else { own + 1 }))
        };
        // A fine cell's centre is a quarter of a coarse cell from that of its own coarse cell: the weights along each
        // axis are 3/4 and 1/4.
        let columns: Vec<_> = (fine.start[1]..fine.end[1]).map(|col| place(col, 1)).collect();
        for row in fine.start[0]..fine.end[0] {
            let (own, adjacent) = place(row, 0);
            let (own, adjacent) = (sediment.row(own), sediment.row(adjacent));
            for (col, (j, b)) in (fine.start[1]..).zip(&columns) {
                let sum = |row: &[Height]| 3 * i64::from(row[*j].0) + i64::from(row[*b].0);
                // Both axes together have weights in 16ths. Whole numbers give the same thickness in every window.
                let height = (3 * sum(own) + sum(adjacent)) / 16;
                thick.set((row - origin[0] + 1) as usize, (col - origin[1] + 1) as usize, height as i32);
            }
        }
        let mut cover = Self {
            thick,
            smooth: smooth.clone(),
            full: sand.full * UNITS_F32,
            max_fall: sand.repose * width * UNITS_F32,
        };
        cover.smooth_relief(&PlanePart::from_rect(fine, origin));
        cover
    }

    /// Smooths relief as narrow as the coarse cells, which wind would not leave.
    fn smooth_relief(&mut self, part: &PlanePart) {
        let mut next = self.smooth.clone();
        for _ in 0..SMOOTHING_PASSES {
            for i in part.rows.clone() {
                let (here, near) = (self.smooth.span(i, &part.cols), self.smooth.neighbour_rows(i, &part.cols));
                let thick = self.thick.span(i, &part.cols);
                for (x, out) in next.span_mut(i, &part.cols).iter_mut().enumerate() {
                    let over =
                        [0, 2, 4, 6].map(|k| if near[k][x] == WALL { 0 } else { near[k][x].wrapping_sub(here[x]) });
                    let curvature = over.iter().map(|over| *over as f32).sum::<f32>();
                    let share = (thick[x] as f32 / self.full).clamp(0.0, 1.0);
                    // With four neighbours, explicit diffusion does not overshoot up to a factor of 1/4.
                    *out = here[x].wrapping_add((0.2 * curvature * share) as i32);
                }
            }
            std::mem::swap(&mut self.smooth, &mut next);
        }
    }

    /// Returns the share, 0 to 1, to which a cell counts as sand.
    #[inline(always)]
    pub fn share(&self, i: usize, j: usize) -> f32 {
        (self.thick.value_at(i, j) as f32 / self.full).clamp(0.0, 1.0)
    }

    /// Scales values by the share that is not sand.
    pub fn scale_by_bare_share(&self, values: &mut PaddedPlane<f32>, part: &PlanePart) {
        for i in part.rows.clone() {
            for j in part.cols.clone() {
                values.set(i, j, values.value_at(i, j) * (1.0 - self.share(i, j)));
            }
        }
    }

    /// Reduces uplift and incision on sand: the elevation to which a cell would rise, and the share of its height
    /// above the receiver that rivers leave.
    pub fn damp_uplift_and_incision(&self, ground: &PaddedPlane<i32>, part: &PlanePart, targets: &mut UpliftTargets) {
        let UpliftTargets { elevations, remaining_shares } = targets;
        for i in part.rows.clone() {
            for j in part.cols.clone() {
                let (share, height) = (self.share(i, j), ground.value_at(i, j));
                // The share that counts as sand neither rises by uplift nor is incised by rivers.
                let rises = elevations.value_at(i, j).wrapping_sub(height) as f32 * (1.0 - share);
                elevations.set(i, j, height.wrapping_add(rises as i32));
                let remaining = remaining_shares.value_at(i, j);
                remaining_shares.set(i, j, remaining + (1.0 - remaining) * share);
            }
        }
    }

    /// Limits the steepest slope of sand to its angle of repose.
    pub fn limit_to_repose(&self, max_falls: &mut PaddedPlane<f32>, part: &PlanePart) {
        for i in part.rows.clone() {
            for j in part.cols.clone() {
                let (share, own) = (self.share(i, j), max_falls.value_at(i, j));
                max_falls.set(i, j, own + (own.min(self.max_fall.max(1.0)) - own) * share);
            }
        }
    }

    /// Computes the target elevations of sand: those before carving. Lakes, the sea and outlets keep their elevation.
    pub fn find_targets(
        &self,
        ground: &PaddedPlane<i32>,
        flags: &PaddedPlane<u8>,
        codes: &PaddedPlane<u8>,
        part: &PlanePart,
        targets: &mut PaddedPlane<i32>,
    ) {
        for i in part.rows.clone() {
            for j in part.cols.clone() {
                let height = ground.value_at(i, j);
                let keeps_elevation = flags.value_at(i, j) & (SEA | MOUTH) != 0 || codes.value_at(i, j) == OUT;
                // Partly covered cells return in part, so sand ends without a step.
                let by = self.smooth.value_at(i, j).wrapping_sub(height) as f32 * self.share(i, j);
                targets.set(i, j, if keeps_elevation { height } else { height.wrapping_add(by as i32) });
            }
        }
    }

    /// Returns the thicknesses in a part, row by row.
    pub fn thicknesses(&self, part: &PlanePart) -> Vec<Height> {
        let rows = part.rows.clone().flat_map(|i| self.thick.span(i, &part.cols).iter());
        rows.map(|thick| Height(*thick)).collect()
    }
}
