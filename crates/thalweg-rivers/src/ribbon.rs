//! Rivers as ribbons: the lateral extent of their water along their lines, and the share of each cell that it covers.

use crate::network::{Mouth, Network, River};
use crate::rendered_ground;
use thalweg_core::{Cell, Field, Height};

/// How far inside its last water cell a ribbon or a lake's sheet ends, in cells.
pub const MARGIN: f64 = 1.0 / 1024.0;

/// Step at which the ground under a ribbon is sampled, in cells.
const SAMPLING_STEP_CELLS: f64 = 1.0 / 16.0;

/// Returns, for each run, the left and right edge of the water at each vertex, facing downstream (rows and columns,
/// in cells).
///
/// The water ends at half a width, or where the water cells whose ground is below the vertex's level end, or where
/// the ground as drawn between cell centres emerges from the water, whichever comes first. For a vertex that is
/// itself below the drawn ground only the cells count.
///
/// The result has one list for each of [`Network::rivers`]. `numbers` gives for each cell one more than the index of
/// the run whose water it is, else 0, and `ground` is the ground with its beds; a [`Carved`](crate::Carved) has both.
pub fn compute_water_edges(
    network: &Network,
    numbers: &Field<u32>,
    ground: &Field<Height>,
) -> Vec<Vec<[Cell<f64>; 2]>> {
    let wet = |k: usize| numbers[k] > 0 || network.lake[k] > 0;
    let sides = |river: &River| {
        let drowned = |k: usize| river.mouth == Mouth::Sea && river.base.is_some_and(|sea| ground[k] <= sea);
        let last = river.vertices.len() - 1;
        let of = |at: usize| {
            let vertex = &river.vertices[at];
            let (a, b) = (river.vertices[at.saturating_sub(1)].place, river.vertices[(at + 1).min(last)].place);
            let [y, x] = [b[0] - a[0], b[1] - a[1]];
            let length = (y * y + x * x).sqrt().max(1e-9);
            let half = vertex.width / 2.0 / network.cell;
            // First the left side as the river flows, then the right: rows increase southward.
            [-1.0, 1.0].map(|side| {
                let to =
                    Cell::new(vertex.place.row + side * half * x / length, vertex.place.col - side * half * y / length);
                // At the sea the ribbon may continue over ground that the sea covers.
                let holds = |k: usize| (wet(k) || drowned(k)) && ground[k] <= vertex.surface;
                let end = find_wet_end(network.size, vertex.place, to, holds);
                let level = f64::from(vertex.surface.0);
                let middle = rendered_ground::drawn_ground_height(ground, vertex.place);
                let safe = (level - f64::from(rendered_ground::MIN_CLEARANCE_UNITS)).max(middle);
                if middle > level {
                    return end;
                }
                find_visible_end(vertex.place, end, |place| rendered_ground::drawn_ground_height(ground, place) <= safe)
            })
        };
        (0..=last).map(of).collect()
    };
    network.rivers.iter().map(sides).collect()
}

/// Returns the farthest point on the segment up to which all of it is visible, if the first point is.
pub fn find_visible_end(from: Cell<f64>, to: Cell<f64>, shows: impl Fn(Cell<f64>) -> bool) -> Cell<f64> {
    let at = |t: f64| Cell::from_axes(|k| from[k] + t * (to[k] - from[k]));
    let span = (to[0] - from[0]).abs().max((to[1] - from[1]).abs());
    let steps = (span / SAMPLING_STEP_CELLS).ceil().max(4.0);
    let Some(first) = (1..=steps as usize).find(|step| !shows(at(*step as f64 / steps))) else { return to };
    let (mut low, mut high) = ((first - 1) as f64 / steps, first as f64 / steps);
    // Thirty halvings determine the border to a billionth of a sampling step.
    for _ in 0..30 {
        let middle = (low + high) / 2.0;
        if shows(at(middle)) { low = middle } else { high = middle }
    }
    at(low)
}

/// Returns the farthest point on the segment up to which the cells hold water, if the first cell does.
fn find_wet_end(size: [usize; 2], from: Cell<f64>, to: Cell<f64>, holds: impl Fn(usize) -> bool) -> Cell<f64> {
    let at = |t: f64| Cell::from_axes(|k| from[k] + t * (to[k] - from[k]));
    let cell = |place: Cell<f64>| place.map(|x| x.floor() as i64);
    let along = [to[0] - from[0], to[1] - from[1]];
    let span = along[0].abs().max(along[1].abs());
    let mut here = cell(from);
    let mut t = 0.0;
    loop {
        let inside = (0..2).all(|k| here[k] >= 0 && here[k] < size[k] as i64);
        if !inside || !holds(here[0] as usize * size[1] + here[1] as usize) {
            return at((t - MARGIN / span.max(MARGIN)).max(0.0));
        }
        // Line parameters at which the segment leaves this cell along each axis.
        let leaves = [0, 1].map(|k| match along[k] {
            x if x > 0.0 => ((here[k] + 1) as f64 - from[k]) / x,
            x if x < 0.0 => (here[k] as f64 - from[k]) / x,
            _ => f64::INFINITY,
        });
        // Continue to the cell whose border comes first. At a corner the row changes first.
        let axis = usize::from(leaves[1] < leaves[0]);
        if leaves[axis] >= 1.0 {
            return to;
        }
        t = leaves[axis].max(0.0);
        here[axis] += if along[axis] > 0.0 { 1 } else { -1 };
    }
}

/// Returns the share of each cell that is water, 0 to 1: the area covered by ribbons for river cells, 1 for lakes.
/// For the arguments see [`compute_water_edges`].
pub fn compute_water_shares(network: &Network, numbers: &Field<u32>, ground: &Field<Height>) -> Field<f32> {
    let [rows, cols] = network.size;
    let mut covered = Field::new(network.size, 0.0f64);
    for sides in compute_water_edges(network, numbers, ground) {
        for pair in sides.windows(2) {
            let quad = [pair[0][0], pair[0][1], pair[1][1], pair[1][0]];
            let span = |k: usize, n: usize| {
                let low = quad.iter().map(|p| p[k]).fold(f64::INFINITY, f64::min).floor().max(0.0);
                let high = quad.iter().map(|p| p[k]).fold(f64::NEG_INFINITY, f64::max).floor();
                low as usize..((high + 1.0).max(0.0) as usize).min(n)
            };
            for i in span(0, rows) {
                for j in span(1, cols) {
                    if numbers[(i, j)] > 0 {
                        covered[(i, j)] += compute_clipped_area(&quad, Cell::new(i as f64, j as f64));
                    }
                }
            }
        }
    }
    Field::from_fn(network.size, |i, j| if network.lake[(i, j)] > 0 { 1.0 } else { covered[(i, j)].min(1.0) as f32 })
}

/// Returns the area of a polygon within a cell (Sutherland & Hodgman 1974, doi:10.1145/360767.360802).
fn compute_clipped_area(polygon: &[Cell<f64>], low: Cell<f64>) -> f64 {
    let mut points = polygon.to_vec();
    // Clip the polygon at each of the four sides of the cell in turn.
    for (axis, border, sign) in [(0, low[0], 1.0), (0, low[0] + 1.0, -1.0), (1, low[1], 1.0), (1, low[1] + 1.0, -1.0)] {
        let depth = |p: Cell<f64>| sign * (p[axis] - border);
        let mut kept = Vec::with_capacity(points.len() + 1);
        for (n, p) in points.iter().enumerate() {
            let before = points[(n + points.len() - 1) % points.len()];
            let (a, b) = (depth(before), depth(*p));
            // The edge crosses the side, so its intersection becomes a corner.
            if (a < 0.0) != (b < 0.0) {
                let t = a / (a - b);
                kept.push(Cell::from_axes(|k| before[k] + t * (p[k] - before[k])));
            }
            if b >= 0.0 {
                kept.push(*p);
            }
        }
        points = kept;
    }
    let twice = points.iter().enumerate().map(|(n, p)| {
        let q = points[(n + 1) % points.len()];
        (p[0] - low[0]) * (q[1] - low[1]) - (p[1] - low[1]) * (q[0] - low[0])
    });
    twice.sum::<f64>().abs() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_within_a_cell() {
        let square = [[0.5, 0.5], [0.5, 2.5], [2.5, 2.5], [2.5, 0.5]].map(Cell::from);
        for (low, expected) in [([0.0, 0.0], 0.25), ([1.0, 1.0], 1.0), ([0.0, 1.0], 0.5), ([3.0, 0.0], 0.0)] {
            assert!((compute_clipped_area(&square, low.into()) - expected).abs() < 1e-12);
        }
        let triangle = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]];
        assert!((compute_clipped_area(&triangle.map(Cell::from), Cell::new(0.0, 0.0)) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn ways_end_where_cells_hold_no_water() {
        let size = [3, 6];
        assert_eq!(find_wet_end(size, [1.5, 0.5].into(), [1.5, 2.5].into(), |_| true), [1.5, 2.5].into());
        let Cell { row: y, col: x } = find_wet_end(size, [1.5, 0.5].into(), [1.5, 4.5].into(), |k| k % 6 < 3);
        assert!(y == 1.5 && (2.99..3.0).contains(&x), "{x}");
        assert_eq!(find_wet_end(size, [1.5, 0.5].into(), [1.5, 4.5].into(), |_| false), [1.5, 0.5].into());
        let Cell { col: x, .. } = find_wet_end(size, [1.5, 4.5].into(), [1.5, 9.5].into(), |_| true);
        assert!((5.99..6.0).contains(&x), "{x}");
    }
}
