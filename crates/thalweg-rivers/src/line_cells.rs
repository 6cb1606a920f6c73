//! Traversal of the cells along a straight line.

use thalweg_core::Cell;

/// How close to a corner a segment counts as passing through it, as a share of the segment: more than the rounding of
/// coordinates in files, 1e-7 of a cell.
const CORNER: f64 = 1e-6;

/// Calls `visit` for each cell that the straight line from `from` to `to` passes, except the first. Positions are in
/// cells.
///
/// Where the line passes exactly through a corner, or closer to it than the precision of files, the traversal
/// continues diagonally and visits neither of the two adjacent cells.
pub fn visit_line_cells(from: impl Into<Cell<f64>>, to: impl Into<Cell<f64>>, mut visit: impl FnMut(Cell<i64>)) {
    let (from, to) = (from.into(), to.into());
    let cell = |place: Cell<f64>| place.map(|x| x.floor() as i64);
    let (mut at, end) = (cell(from), cell(to));
    let along = [to[0] - from[0], to[1] - from[1]];
    // Line parameters at which the line crosses the next border along each axis, and the increments between two
    // borders.
    let mut next = [f64::INFINITY; 2];
    let mut between = [f64::INFINITY; 2];
    for k in 0..2 {
        if along[k] != 0.0 {
            let border = at[k] as f64 + if along[k] > 0.0 { 1.0 } else { 0.0 };
            next[k] = (border - from[k]) / along[k];
            between[k] = (1.0 / along[k]).abs();
        }
    }
    while at != end {
        // Step only along axes that have not reached the end cell, so that rounding cannot lead beyond it.
        let open = [0, 1].map(|k| at[k] != end[k]);
        // Both borders are reached at the same parameter, so the line passes through a corner.
        let both = open == [true; 2] && (next[0] - next[1]).abs() <= CORNER;
        for k in 0..2 {
            if open[k] && (both || !open[1 - k] || next[k] < next[1 - k] || (k == 1 && next[0] == next[1])) {
                at[k] += if along[k] > 0.0 { 1 } else { -1 };
                next[k] += between[k];
                if !both {
                    break;
                }
            }
        }
        visit(at);
    }
}

/// Returns the row-major index of a cell; `None` if it is outside a field of this size.
pub(super) fn index([rows, cols]: [usize; 2], Cell { row: i, col: j }: Cell<i64>) -> Option<usize> {
    let inside = i >= 0 && j >= 0 && (i as usize) < rows && (j as usize) < cols;
    inside.then(|| i as usize * cols + j as usize)
}

/// Removes the cells of a path whose predecessor and successor touch (at an edge or a corner).
pub(super) fn remove_corner_cells<T: Copy>(path: &[(u32, T)], cols: usize) -> Vec<(u32, T)> {
    let mut kept: Vec<(u32, T)> = Vec::with_capacity(path.len());
    for step in path {
        if let [.., before, _] = kept[..] {
            let apart = |a: usize, b: usize| a.abs_diff(b) <= 1;
            let (a, b) = (before.0 as usize, step.0 as usize);
            // The cell between two that touch is only the corner of a detour.
            if apart(a / cols, b / cols) && apart(a % cols, b % cols) {
                kept.pop();
            }
        }
        kept.push(*step);
    }
    kept
}

/// Returns the parameter t (0 to 1) of the point on the segment from `a` to `b` that is nearest to `p`, and the
/// square of its distance.
pub fn project_onto_segment(p: impl Into<Cell<f64>>, a: impl Into<Cell<f64>>, b: impl Into<Cell<f64>>) -> (f64, f64) {
    let (p, a, b) = (p.into(), a.into(), b.into());
    let along = [b[0] - a[0], b[1] - a[1]];
    let from = [p[0] - a[0], p[1] - a[1]];
    let square = along[0] * along[0] + along[1] * along[1];
    let t = if square > 0.0 { ((from[0] * along[0] + from[1] * along[1]) / square).clamp(0.0, 1.0) } else { 0.0 };
    let off = [from[0] - t * along[0], from[1] - t * along[1]];
    (t, off[0] * off[0] + off[1] * off[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn every_cell_on_the_way_is_passed_once() {
        for n in 0..2000u64 {
            let key = RandomKey::new(n, "walk");
            let [a, b] = [0, 1].map(|end| [0, 1].map(|k| 12.0 * key.derive_key(end).derive_key(k).uniform_unit()));
            let mut visited = vec![a.map(|x| x as i64)];
            visit_line_cells(a, b, |cell| visited.push(<[i64; 2]>::from(cell)));
            assert_eq!(visited[visited.len() - 1], b.map(|x| x as i64));
            assert!(
                visited.windows(2).all(|pair| pair[0][0].abs_diff(pair[1][0]) + pair[0][1].abs_diff(pair[1][1]) == 1)
            );
            // A thousand points along the line are in the visited cells, in the same order.
            let mut at = 0;
            for step in 0..=1000 {
                let t = f64::from(step) / 1000.0;
                let cell = [0, 1].map(|k| (a[k] + t * (b[k] - a[k])) as i64);
                while visited.get(at).is_some_and(|visited| *visited != cell) {
                    at += 1;
                }
                assert!(at < visited.len(), "{a:?} {b:?} misses {cell:?}");
            }
        }
    }

    #[test]
    fn nearest_points() {
        assert_eq!(project_onto_segment([1.0, 5.0], [0.0, 0.0], [0.0, 10.0]), (0.5, 1.0));
        assert_eq!(project_onto_segment([0.0, -3.0], [0.0, 0.0], [0.0, 10.0]), (0.0, 9.0));
        assert_eq!(project_onto_segment([3.0, 4.0], [0.0, 0.0], [0.0, 0.0]), (0.0, 25.0));
    }
}
