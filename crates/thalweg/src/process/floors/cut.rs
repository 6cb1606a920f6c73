//! Cutting floors along the lines of rivers.

use rayon::prelude::*;

use crate::process::floors::Valley;
use crate::process::floors::course::Stretch;
use crate::terrain::field::Field;
use crate::terrain::height::{Height, UNITS};

/// Rows that one task cuts.
const BAND: usize = 32;

/// Lowers the ground beside the stretches to their floors; nothing is raised, cells without data stay.
///
/// Of one stream, the stretch counts that a cell lies nearest to, in floor's widths: a lower one further on must not dig beneath
/// the river. Of several streams the deepest cut counts. So neither the order of streams nor that of threads shows.
pub fn carve(
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
        let before = ground.to_vec();
        let mut floors = vec![Floor::NONE; ground.len()];
        for stretch in stretches {
            let [[west, east], [north, south]] = extent(stretch);
            let inside = |low: f64, high: f64, from: usize, count: usize| {
                let bound = |x: f64| (x - from as f64).clamp(0.0, count as f64) as usize;
                bound(low.ceil())..bound(high.floor() + 1.0)
            };
            let columns = inside(west, east, 0, cols);
            for r in inside(north, south, first, rows) {
                for j in columns.clone() {
                    let k = r * cols + j;
                    let floor = Floor::of(stretch, [j as f64, (first + r) as f64], valley, cell);
                    if floors[k].stream != floor.stream {
                        ground[k] = ground[k].min(floors[k].cut(before[k], valley));
                        floors[k] = Floor { stream: floor.stream, ..Floor::NONE };
                    }
                    if floor.comes_before(&floors[k]) {
                        floors[k] = floor;
                    }
                }
            }
        }
        for (k, height) in ground.iter_mut().enumerate() {
            if nodata.is_some_and(|mask| mask[(first + k / cols, k % cols)]) {
                *height = before[k];
            } else {
                *height = (*height).min(floors[k].cut(before[k], valley));
            }
        }
    });
}

/// What a stretch makes of a cell.
#[derive(Clone, Copy)]
struct Floor {
    /// Distance from the river in widths of the floor on that side.
    apart: f64,
    /// Elevation of the floor, in units.
    level: f64,
    stream: u32,
}

impl Floor {
    const NONE: Self = Self { apart: 1.0, level: f64::INFINITY, stream: u32::MAX };

    fn of(Stretch { ends: [upper, lower], stream }: &Stretch, place: [f64; 2], valley: &Valley, cell: f64) -> Self {
        let [ax, ay] = [0, 1].map(|axis| lower.place[axis] - upper.place[axis]);
        let [px, py] = [0, 1].map(|axis| place[axis] - upper.place[axis]);
        let square = ax * ax + ay * ay;
        let t = if square > 0.0 { ((px * ax + py * ay) / square).clamp(0.0, 1.0) } else { 0.0 };
        let [dx, dy] = [px - t * ax, py - t * ay];
        let distance = (dx * dx + dy * dy).sqrt();
        // Rows grow southward: what lies to the left of a river as it flows has a negative cross product.
        let side = usize::from(ax * py - ay * px > 0.0);
        let width = upper.width[side] + t * (lower.width[side] - upper.width[side]);
        let level = upper.level + t * (lower.level - upper.level) + valley.rise * distance * cell * UNITS;
        Self { apart: distance / width, level, stream: *stream }
    }

    fn comes_before(&self, other: &Self) -> bool {
        self.apart < other.apart || (self.apart == other.apart && self.level < other.level)
    }

    /// What is left of a cell's height.
    fn cut(&self, height: Height, valley: &Valley) -> Height {
        let over = f64::from(height.0) - self.level;
        let cut = if over > 0.0 { over * valley.share * eased(self.apart, valley.edge) } else { 0.0 };
        Height(height.0 - cut as i32)
    }
}

/// The columns and rows that a stretch can reach.
fn extent(Stretch { ends: [upper, lower], .. }: &Stretch) -> [[f64; 2]; 2] {
    let widest = upper.width.iter().chain(&lower.width).fold(0.0, |a: f64, b| a.max(*b));
    [0, 1].map(|axis| {
        let [a, b] = [upper.place[axis], lower.place[axis]];
        [a.min(b) - widest, a.max(b) + widest]
    })
}

/// Share of the cut at a distance of `apart` widths: all of it, easing out over the outer part `edge` without a rim.
fn eased(apart: f64, edge: f64) -> f64 {
    let inward = (1.0 - apart).max(0.0);
    if inward >= edge {
        return 1.0;
    }
    let t = inward / edge;
    t * t * (3.0 - 2.0 * t)
}
