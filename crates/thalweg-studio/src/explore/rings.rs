//! [`choose_rings`]: selects the windows of a world that are visible from a viewpoint, each as fine as its distance
//! requires (after Losasso & Hoppe 2004, "Geometry clipmaps: terrain rendering using nested regular grids").

use thalweg_core::{Cell, CellRect, Extent, Point};
use thalweg_refine::Frame;

/// The number of cells on a side of a ring.
const RING_SIDE_CELLS: i64 = 512;
/// The steps in which a ring follows the eye, in cells: an even number, so that the ring consists of whole cells of
/// the next coarser level.
const RING_STEP_CELLS: i64 = 64;
/// The width of a cell of the finest ring in pixels, in the centre of the picture.
const FINEST_CELL_PIXELS: f64 = 1.5;
/// How far the terrain is shown, as a multiple of the eye's distance from its target.
// A larger factor adds coarser rings around the view and so shows terrain that is farther away.
const VIEW_DISTANCE_FACTOR: f64 = 8.0;
/// The maximum number of cells on a side of the coarsest ring.
const MAX_SIDE_CELLS: i64 = 2048;

/// A window of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LevelRing {
    /// The level.
    pub level: u32,
    /// The cells of the level.
    pub rect: CellRect<i64>,
}

impl LevelRing {
    /// The position of the centre.
    pub fn centre(&self, frame: &Frame) -> Point {
        let width = frame.cell_width(self.level);
        let CellRect { start, end } = self.rect;
        let Cell { row: y, col: x } = Cell::from_axes(|axis| 0.5 * (start[axis] + end[axis]) as f64 * width);
        Point { x, y }
    }

    /// Half of the width and of the height.
    pub fn half_extent(&self, frame: &Frame) -> Extent {
        let [height, width] = self.rect.size().map(|n| 0.5 * n as f64 * frame.cell_width(self.level));
        Extent { width, height }
    }

    /// Returns true if the other ring, which is coarser or of the same level, contains all of this one.
    pub fn is_within(&self, other: &Self) -> bool {
        let mut rect = self.rect;
        // The ring is converted to cells of the other's level, rounded outward, because only there can the two be
        // compared exactly.
        for _ in other.level..self.level {
            rect = rect.to_coarser_level();
        }
        other.level <= self.level && other.rect.contains(&rect)
    }
}

/// Returns the rings around a place that an eye looks at from a distance in metres, from the coarsest to the finest;
/// each is inside the one before. `pixel` is the width of a pixel in metres at a distance of one metre; no level
/// beyond `finest` is used.
pub fn choose_rings(frame: &Frame, place: Point, distance: f64, pixel: f64, finest: u32) -> Vec<LevelRing> {
    // The finest ring is the first whose cells are small enough at the place that is looked at.
    let wide = FINEST_CELL_PIXELS * pixel * distance;
    let level = (0..finest).find(|level| frame.cell_width(*level) <= wide).unwrap_or(finest);
    let mut rings = Vec::new();
    // Coarser rings are added until one reaches as far as the view, or contains the whole world.
    for level in (0..=level).rev() {
        let least = (2.0 * VIEW_DISTANCE_FACTOR * distance / frame.cell_width(level)) as i64;
        // No level is coarser than 0, so its ring grows up to the limit instead.
        let side = if level == 0 {
            least.clamp(RING_SIDE_CELLS, MAX_SIDE_CELLS).div_euclid(RING_STEP_CELLS) * RING_STEP_CELLS
        } else {
            RING_SIDE_CELLS
        };
        let ring = LevelRing { level, rect: select_cells_around(frame, level, place, side) };
        rings.push(ring);
        if side >= least || ring.rect == frame.world_rect(level) {
            break;
        }
    }
    rings.reverse();
    rings
}

/// Returns the cells around a place, clipped to the world.
fn select_cells_around(frame: &Frame, level: u32, place: Point, side: i64) -> CellRect<i64> {
    let world = frame.world_rect(level);
    let start = Cell::new(place.y, place.x).map(|metres| {
        // The start is rounded to whole steps, so that small movements of the eye request no new rings.
        let first = metres / frame.cell_width(level) - 0.5 * side as f64;
        (first / RING_STEP_CELLS as f64).round() as i64 * RING_STEP_CELLS
    });
    // A place outside the world is viewed across its edge.
    let clamped = Cell::from_axes(|axis| {
        let [first, last] =
            [world.start[axis], world.end[axis] - 1].map(|cell| cell.div_euclid(RING_STEP_CELLS) * RING_STEP_CELLS);
        start[axis].clamp((first + RING_STEP_CELLS - side).min(last), last)
    });
    CellRect::from_corners(clamped, clamped.map(|first| first + side)).intersect(world)
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
                    let rings = choose_rings(&frame, share.map(|s| s * extent).into(), distance, 7e-4, 9);
                    for pair in rings.windows(2) {
                        assert!(pair[1].is_within(&pair[0]), "{pair:?}");
                        assert_eq!(pair[1].level, pair[0].level + 1);
                    }
                    for ring in &rings {
                        thalweg_refine::check_window(ring.rect, frame.world_rect(ring.level)).unwrap();
                        assert!(
                            ring.level == 0
                                || [ring.rect.start, ring.rect.end]
                                    .iter()
                                    .all(|cell| cell.row % 2 == 0 && cell.col % 2 == 0)
                        );
                    }
                    let finest = rings.last().unwrap();
                    let wide = frame.cell_width(finest.level);
                    assert!(finest.level == 9 || wide <= FINEST_CELL_PIXELS * 7e-4 * distance || finest.level == 0);
                    assert!(finest.level == 0 || 2.0 * wide > FINEST_CELL_PIXELS * 7e-4 * distance, "too fine");
                }
            }
        }
    }

    #[test]
    fn a_step_to_the_side_moves_no_ring_and_a_long_way_moves_all() {
        let frame = frame(1 << 20, 500.0);
        let at = |x: f64| choose_rings(&frame, Point::new(1e8 + x, 1e8), 1e4, 7e-4, 9);
        assert_eq!(at(10.0), at(11.0));
        let (near, far) = (at(0.0), at(3e6));
        assert!(near.iter().zip(&far).all(|(a, b)| a != b));
    }
}
