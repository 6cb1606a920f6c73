//! [`rings`]: selects the windows of a world that are visible from a viewpoint, each as fine as its distance requires
//! (after Losasso & Hoppe 2004, "Geometry clipmaps: terrain rendering using nested regular grids").

use thalweg_core::{Cell, CellRect, Extent, Point};
use thalweg_refine::Frame;

/// The number of cells on a side of a ring.
const SIDE: i64 = 512;
/// The steps in which a ring follows the eye, in cells: an even number, so that the ring consists of whole cells of
/// the next coarser level.
const STEP: i64 = 64;
/// The width of a cell of the finest ring in pixels, in the centre of the picture.
const GRAIN: f64 = 1.5;
/// How far the terrain is shown, as a multiple of the eye's distance from its target.
const FAR: f64 = 8.0;
/// The maximum number of cells on a side of the coarsest ring.
const MOST: i64 = 2048;

/// A window of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ring {
    /// The level.
    pub level: u32,
    /// The cells of the level.
    pub rect: CellRect<i64>,
}

impl Ring {
    /// The position of the centre.
    pub fn middle(&self, frame: &Frame) -> Point {
        let width = frame.width(self.level);
        let CellRect { start, end } = self.rect;
        let Cell { row: y, col: x } = Cell::from_axes(|axis| 0.5 * (start[axis] + end[axis]) as f64 * width);
        Point { x, y }
    }

    /// Half of the width and of the height.
    pub fn half_extent(&self, frame: &Frame) -> Extent {
        let [height, width] = self.rect.size().map(|n| 0.5 * n as f64 * frame.width(self.level));
        Extent { width, height }
    }

    /// Returns true if the other ring, which is coarser or of the same level, contains all of this one.
    pub fn is_within(&self, other: &Self) -> bool {
        let mut rect = self.rect;
        for _ in other.level..self.level {
            rect = rect.coarser();
        }
        other.level <= self.level && other.rect.contains(&rect)
    }
}

/// Returns the rings around a place that an eye looks at from a distance in metres, from the coarsest to the finest;
/// each is inside the one before. `pixel` is the width of a pixel in metres at a distance of one metre; no level
/// beyond `finest` is used.
pub fn rings(frame: &Frame, place: Point, distance: f64, pixel: f64, finest: u32) -> Vec<Ring> {
    let wide = GRAIN * pixel * distance;
    let level = (0..finest).find(|level| frame.width(*level) <= wide).unwrap_or(finest);
    let mut rings = Vec::new();
    for level in (0..=level).rev() {
        let least = (2.0 * FAR * distance / frame.width(level)) as i64;
        let side = if level == 0 { least.clamp(SIDE, MOST).div_euclid(STEP) * STEP } else { SIDE };
        let ring = Ring { level, rect: around(frame, level, place, side) };
        rings.push(ring);
        if side >= least || ring.rect == frame.world(level) {
            break;
        }
    }
    rings.reverse();
    rings
}

/// Returns the cells around a place, clipped to the world.
fn around(frame: &Frame, level: u32, place: Point, side: i64) -> CellRect<i64> {
    let world = frame.world(level);
    let start = Cell::new(place.y, place.x).map(|metres| {
        let first = metres / frame.width(level) - 0.5 * side as f64;
        (first / STEP as f64).round() as i64 * STEP
    });
    // A place outside the world is viewed across its edge.
    let held = Cell::from_axes(|axis| {
        let [first, last] = [world.start[axis], world.end[axis] - 1].map(|cell| cell.div_euclid(STEP) * STEP);
        start[axis].clamp((first + STEP - side).min(last), last)
    });
    CellRect::from_corners(held, held.map(|first| first + side)).intersect(world)
}

#[cfg(test)]
mod tests {
    use thalweg_core::Edge;

    use super::*;

    fn frame(cells: usize, cell: f64) -> Frame {
        Frame { first: Cell::new(0, 0), cells: [cells, cells], cell, edges: [Edge::Open; 4], sea: None }
    }

    #[test]
    fn rings_nest_and_the_finest_is_as_fine_as_a_pixel() {
        for (cells, cell) in [(1 << 20, 500.0), (128, 120.0), (70, 30.0)] {
            let frame = frame(cells, cell);
            let extent = cells as f64 * cell;
            for share in [[0.5, 0.5], [0.0, 1.0], [0.3, 0.999], [-1.0, 2.0]] {
                for power in 0..20 {
                    let distance = 3.0 * 2f64.powi(power);
                    let rings = rings(&frame, share.map(|s| s * extent).into(), distance, 7e-4, 9);
                    for pair in rings.windows(2) {
                        assert!(pair[1].is_within(&pair[0]), "{pair:?}");
                        assert_eq!(pair[1].level, pair[0].level + 1);
                    }
                    for ring in &rings {
                        thalweg_refine::check_window(ring.rect, frame.world(ring.level)).unwrap();
                        assert!(
                            ring.level == 0
                                || [ring.rect.start, ring.rect.end]
                                    .iter()
                                    .all(|cell| cell.row % 2 == 0 && cell.col % 2 == 0)
                        );
                    }
                    let finest = rings.last().unwrap();
                    let wide = frame.width(finest.level);
                    assert!(finest.level == 9 || wide <= GRAIN * 7e-4 * distance || finest.level == 0);
                    assert!(finest.level == 0 || 2.0 * wide > GRAIN * 7e-4 * distance, "too fine");
                }
            }
        }
    }

    #[test]
    fn a_step_to_the_side_moves_no_ring_and_a_long_way_moves_all() {
        let frame = frame(1 << 20, 500.0);
        let at = |x: f64| rings(&frame, Point::new(1e8 + x, 1e8), 1e4, 7e-4, 9);
        assert_eq!(at(10.0), at(11.0));
        let (near, far) = (at(0.0), at(3e6));
        assert!(near.iter().zip(&far).all(|(a, b)| a != b));
    }
}
