//! Erosion of valley floors along the lines of rivers.

use rayon::prelude::*;

use crate::process::floors::Valley;
use crate::process::floors::course::Stretch;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height};

/// The number of rows per parallel task.
const BAND: usize = 32;

/// Lowers the ground near the stretches to their valley floors. No cell is raised, and cells without data stay.
///
/// Within one stream, a cell takes the stretch that is nearest to it in widths of the floor, because a lower stretch
/// further downstream must not cut below the river. Among several streams the deepest cut counts. The result
/// therefore depends neither on the order of streams nor on that of threads.
pub fn carve_stretches(
    ground: &mut Field<Height>,
    nodata: Option<&Field<bool>>,
    stretches: &[Stretch],
    valley: &Valley,
    cell: f64,
) {
    let cols = ground.cols();
    if ground.is_empty() {
        return;
    }
    ground.as_mut_slice().par_chunks_mut(BAND * cols).enumerate().for_each(|(band, ground)| {
        let first = band * BAND;
        let rows = ground.len() / cols;
        // Every cut is measured from the ground before the step, so that the order of streams has no influence.
        let before = ground.to_vec();
        let mut floors = vec![StretchFloor::NONE; ground.len()];
        for stretch in stretches {
            let [[west, east], [north, south]] = find_affected_extent(stretch);
            let inside = |low: f64, high: f64, from: usize, count: usize| {
                let bound = |x: f64| (x - from as f64).clamp(0.0, count as f64) as usize;
                bound(low.ceil())..bound(high.floor() + 1.0)
            };
            let columns = inside(west, east, 0, cols);
            for r in inside(north, south, first, rows) {
                for j in columns.clone() {
                    let k = r * cols + j;
                    let floor =
                        StretchFloor::from_stretch(stretch, Cell::new((first + r) as f64, j as f64), valley, cell);
                    // Stretches are ordered by stream: when the next stream begins, apply the floor of the previous
                    // one.
                    if floors[k].stream != floor.stream {
                        ground[k] = ground[k].min(floors[k].lower_height(before[k], valley));
                        floors[k] = StretchFloor { stream: floor.stream, ..StretchFloor::NONE };
                    }
                    if floor.precedes(&floors[k]) {
                        floors[k] = floor;
                    }
                }
            }
        }
        for (k, height) in ground.iter_mut().enumerate() {
            if nodata.is_some_and(|mask| mask[(first + k / cols, k % cols)]) {
                *height = before[k];
            } else {
                *height = (*height).min(floors[k].lower_height(before[k], valley));
            }
        }
    });
}

/// Half the width of a bed, in cells. It is wide enough for the bed's cells to touch in any direction.
const BED_HALF_WIDTH_CELLS: f64 = 0.8;

/// The valley floor that a stretch gives to a cell.
#[derive(Clone, Copy)]
struct StretchFloor {
    /// The distance from the river, in half widths of the floor on that side.
    apart: f64,
    /// The elevation of the floor, in height units.
    level: f64,
    stream: u32,
}

impl StretchFloor {
    const NONE: Self = Self { apart: 1.0, level: f64::INFINITY, stream: u32::MAX };

    fn from_stretch(
        Stretch { ends: [upper, lower], stream }: &Stretch,
        place: Cell<f64>,
        valley: &Valley,
        cell: f64,
    ) -> Self {
        let (ax, ay) = (lower.place.col - upper.place.col, lower.place.row - upper.place.row);
        let (px, py) = (place.col - upper.place.col, place.row - upper.place.row);
        let square = ax * ax + ay * ay;
        let t = if square > 0.0 { ((px * ax + py * ay) / square).clamp(0.0, 1.0) } else { 0.0 };
        let [dx, dy] = [px - t * ax, py - t * ay];
        let distance = (dx * dx + dy * dy).sqrt();
        // Rows increase southward, so a cell to the left of the flow direction has a negative cross product.
        let side = usize::from(ax * py - ay * px > 0.0);
        let width = upper.width[side] + t * (lower.width[side] - upper.width[side]);
        let apart = distance / width;
        // The foot slope is a parabola over the outer part, which reaches the slope `foot` at the rim.
        let outer = (apart + valley.edge - 1.0).max(0.0);
        let foot = if outer > 0.0 { 0.5 * valley.foot * width * outer * outer / valley.edge } else { 0.0 };
        let rise = (valley.rise * distance + foot) * cell * UNITS;
        let bed = upper.bed + t * (lower.bed - upper.bed);
        // The bed is slightly lower than the river was, so that the river follows it.
        let over = if distance < BED_HALF_WIDTH_CELLS { -0.25 * bed } else { bed + rise };
        let level = upper.level + t * (lower.level - upper.level) + over;
        Self { apart, level, stream: *stream }
    }

    fn precedes(&self, other: &Self) -> bool {
        self.apart < other.apart || (self.apart == other.apart && self.level < other.level)
    }

    /// Returns the height of a cell after the cut.
    fn lower_height(&self, height: Height, valley: &Valley) -> Height {
        let over = f64::from(height.0) - self.level;
        let cut = if over > 0.0 { over * valley.share * compute_cut_share(self.apart, valley.edge) } else { 0.0 };
        Height(height.0.saturating_sub(cut as i32).max(Height::MIN.0))
    }
}

/// Returns the first and the last column, and the first and the last row, that a stretch can affect.
fn find_affected_extent(Stretch { ends: [upper, lower], .. }: &Stretch) -> [[f64; 2]; 2] {
    let widest = upper.width.iter().chain(&lower.width).fold(0.0, |a: f64, b| a.max(*b));
    let reached = |a: f64, b: f64| [a.min(b) - widest, a.max(b) + widest];
    [reached(upper.place.col, lower.place.col), reached(upper.place.row, lower.place.row)]
}

/// Returns the share of the cut at a distance of `apart` half widths: 1 inside, easing out smoothly over the outer
/// part `edge`.
fn compute_cut_share(apart: f64, edge: f64) -> f64 {
    let inward = (1.0 - apart).max(0.0);
    if inward >= edge {
        return 1.0;
    }
    let t = inward / edge;
    t * t * (3.0 - 2.0 * t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::floors::course::LineVertex;

    #[test]
    fn a_floor_has_a_bed_and_a_foot_that_steepens_to_its_rim() {
        let valley = Valley {
            threshold: 0.0,
            width: 1.0,
            widest: 1e3,
            rise: 0.01,
            edge: 0.5,
            uneven: 0.0,
            wavelength: 8.0,
            share: 1.0,
            foot: 0.4,
            wander: 0.0,
            bed: 1.0,
            narrowest: 0.0,
            moved: 0.0,
        };
        let point =
            |x: f64| LineVertex { place: Cell::new(0.0, x), level: 100.0 * UNITS, bed: 2.0 * UNITS, width: [20.0; 2] };
        let stretch = Stretch { ends: [point(0.0), point(10.0)], stream: 0 };
        let at = |y: f64| StretchFloor::from_stretch(&stretch, Cell::new(y, 5.0), &valley, 10.0).level / UNITS;
        assert_eq!(at(0.0), 99.5);
        assert!((at(5.0) - 102.5).abs() < 1e-9 && (at(10.0) - 103.0).abs() < 1e-9, "{} {}", at(5.0), at(10.0));
        let steepness = |y: f64| (at(y + 0.01) - at(y - 0.01)) / 0.2;
        assert!((steepness(15.0) - 0.21).abs() < 1e-3 && (steepness(19.9) - 0.406).abs() < 1e-3, "{}", steepness(15.0));
    }
}
