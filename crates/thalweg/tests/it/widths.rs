//! Measurement of channel widths: the area of channels divided by the length of their centre line, place by place.

use thalweg_core::{Cell, Field};
use thalweg_flow::Neighbourhood;

/// The number of cells along a centre line over which a width is measured, on either side.
const WINDOW: usize = 4;
/// The length of a straight and of a diagonal step of a line of cells, in cells, unbiased over all directions
/// (Vossepoel & Smeulders 1982, doi:10.1016/0146-664X(82)90148-9, without their corner term: within 3 % for any
/// direction).
const LENGTH: [f64; 2] = [0.980, 1.386];

/// The widths of the channels of a map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Widths {
    /// The median width in metres: half of the length of all centre lines has less.
    pub median: f64,
    /// The total area divided by the total length, in metres.
    pub mean: f64,
    /// The length of the centre lines in metres.
    pub length: f64,
    /// The area of the channels in m².
    pub area: f64,
}

/// Measures the channels in which the discharge is at least `threshold`, both in m³/s, with cells of `cell` metres;
/// returns `None` if there is no channel longer than a cell. To compare the effect of rules on streams, use the same
/// threshold and the same number of cells.
///
/// The centre line of a channel is what thinning leaves of it (Guo & Hall 1989, doi:10.1145/62065.62074). Each cell of
/// the channel is assigned to the nearest cell of the line; a width is the assigned area divided by the line's length,
/// in a window along the line. A line that is one cell wide has the width of its cells across the flow. On strips of
/// even width, in any direction, the median is within a twelfth, or three quarters of a cell, of the truth.
pub fn widths(discharge: &Field<f32>, threshold: f32, cell: f64) -> Option<Widths> {
    let channel = discharge.map(|q| *q >= threshold);
    let line = thinned(&channel);
    let cells = owned(&channel, &line);
    let lengths = lengths(&line);
    let cols = line.cols();
    let mut local: Vec<(f64, f64)> = (0..line.len())
        .filter(|k| line[*k] && lengths[*k] > 0.0)
        .map(|k| {
            let window = along(&line, k);
            let area: f64 = window.iter().map(|n| f64::from(cells[*n])).sum();
            let length: f64 = window.iter().map(|n| lengths[(n / cols, n % cols)]).sum();
            (area / length * cell, lengths[k])
        })
        .collect();
    let length: f64 = local.iter().map(|(_, length)| length).sum();
    if local.is_empty() {
        return None;
    }
    local.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut below = 0.0;
    let median = local.iter().find(|(_, part)| {
        below += part;
        below >= 0.5 * length
    });
    let area: f64 = (0..line.len()).filter(|k| line[*k] && lengths[*k] > 0.0).map(|k| f64::from(cells[k])).sum();
    Some(Widths {
        median: median.map_or(0.0, |(width, _)| *width),
        mean: area / length * cell,
        length: length * cell,
        area: area * cell * cell,
    })
}

/// Returns the neighbours of cell `k` in which the mask is set, one bit each, clockwise from the east; cells outside
/// count as unset.
fn around(mask: &Field<bool>, k: usize) -> u8 {
    let cols = mask.cols();
    let near = Neighbourhood::new(mask.size(), [k / cols, k % cols]);
    near.fold(0, |bits, (direction, Cell { row: r, col: c })| bits | (u8::from(mask[(r, c)]) << direction.code()))
}

/// Thins a mask: peels off its border until only lines remain, and preserves connectivity.
fn thinned(mask: &Field<bool>) -> Field<bool> {
    let mut line = mask.clone();
    let mut cells: Vec<usize> = (0..line.len()).filter(|k| line[*k]).collect();
    let mut peeled = Vec::new();
    loop {
        let before = cells.len();
        for half in 0..2 {
            peeled.clear();
            peeled.extend(cells.iter().copied().filter(|k| is_peel(around(&line, *k), half)));
            peeled.iter().for_each(|k| line[*k] = false);
            cells.retain(|k| line[*k]);
        }
        if cells.len() == before {
            break;
        }
    }
    // Steps around a corner become diagonal (Holt et al. 1987, doi:10.1145/12527.12531).
    for k in cells {
        if is_corner(around(&line, k)) {
            line[k] = false;
        }
    }
    line
}

/// Returns true if two of a cell's straight neighbours touch at a corner without it, and there is none on its other
/// side.
fn is_corner(near: u8) -> bool {
    let set = |direction: usize| near >> (direction % 8) & 1 == 1;
    [0, 2, 4, 6].into_iter().any(|k| set(k) && set(k + 2) && !set(k + 4) && !set(k + 5) && !set(k + 6))
}

/// Returns true if a cell with these neighbours is removed in this half of an iteration.
fn is_peel(near: u8, half: u8) -> bool {
    let set = |direction: usize| near >> (direction % 8) & 1 == 1;
    // Straight neighbours that are unset and followed, clockwise, by one that is set: exactly one means a single piece
    // of line around the cell.
    let pieces = (0..8).step_by(2).filter(|k| !set(*k) && (set(k + 1) || set(k + 2))).count();
    let pairs = |first: usize| (first..first + 8).step_by(2).filter(|k| set(*k) || set(k + 1)).count();
    let (south, west, north, east) = (2, 4, 6, 0);
    let kept = match half {
        0 => (set(south) || set(south + 1) || !set(west + 1)) && set(west),
        _ => (set(north) || set(north + 1) || !set(east + 1)) && set(east),
    };
    pieces == 1 && (2..=3).contains(&pairs(0).min(pairs(1))) && !kept
}

/// Returns, for each cell of the line, the number of channel cells that are nearest to it along the channel, including
/// itself.
fn owned(channel: &Field<bool>, line: &Field<bool>) -> Field<u32> {
    let cols = line.cols();
    let mut counts = line.map(|l| u32::from(*l));
    // Rings around the line in steps of a third of a cell: straight steps cost 3, diagonal ones 4 (Borgefors 1986).
    // Ties go to the cell that reached it first, in row-major order.
    let mut owner: Vec<usize> = (0..line.len()).map(|k| if line[k] { k } else { usize::MAX }).collect();
    let mut rings: [Vec<(usize, usize)>; 5] = Default::default();
    rings[0].extend((0..line.len()).filter(|k| line[*k]).map(|k| (k, k)));
    let (mut ring, mut empty) = (0, 0);
    while empty < 5 {
        let now = std::mem::take(&mut rings[ring % 5]);
        empty = if now.is_empty() { empty + 1 } else { 0 };
        for (k, of) in now {
            if owner[k] == usize::MAX {
                owner[k] = of;
                counts[of] += 1;
            } else if ring > 0 {
                continue;
            }
            for (direction, Cell { row: r, col: c }) in Neighbourhood::new(line.size(), [k / cols, k % cols]) {
                if channel[(r, c)] && owner[r * cols + c] == usize::MAX {
                    rings[(ring + 3 + usize::from(direction.is_diagonal())) % 5].push((r * cols + c, of));
                }
            }
        }
        ring += 1;
    }
    counts
}

/// Returns the length of the line at each of its cells, in cells: half the distance to each neighbour; diagonal steps
/// around a corner that is itself on the line do not count.
fn lengths(line: &Field<bool>) -> Field<f64> {
    let [rows, cols] = line.size();
    let ways = |near: u8| -> f64 {
        let set = |direction: usize| near >> (direction % 8) & 1 == 1;
        (0..8)
            .filter(|k| set(*k))
            .map(|k| match k % 2 {
                0 => LENGTH[0],
                _ if set(k + 1) || set(k + 7) => 0.0,
                _ => LENGTH[1],
            })
            .sum()
    };
    Field::from_fn([rows, cols], |i, j| if line[(i, j)] { 0.5 * ways(around(line, i * cols + j)) } else { 0.0 })
}

/// Returns the cells of the line that are at most a window's number of steps along it from cell `k`.
fn along(line: &Field<bool>, k: usize) -> Vec<usize> {
    let cols = line.cols();
    let mut found = vec![k];
    let mut from = 0;
    for _ in 0..WINDOW {
        let end = found.len();
        for at in from..end {
            for (_, Cell { row: r, col: c }) in Neighbourhood::new(line.size(), [found[at] / cols, found[at] % cols]) {
                if line[(r, c)] && !found.contains(&(r * cols + c)) {
                    found.push(r * cols + c);
                }
            }
        }
        from = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of this width in cells through the centre of the map, with its direction in degrees from the east.
    fn strip(width: f64, degrees: f64) -> Field<f32> {
        let (sin, cos) = (degrees.to_radians().sin(), degrees.to_radians().cos());
        Field::from_fn([160, 160], |i, j| {
            // Slightly off the centre, so that no cell is exactly on an edge.
            let off = (j as f64 - 80.13) * sin - (i as f64 - 80.21) * cos;
            if off.abs() <= 0.5 * width { 2.0 } else { 0.1 }
        })
    }

    #[test]
    fn strips_have_their_width_in_any_direction() {
        for width in [2.0, 3.0, 4.5, 7.0, 12.0, 20.0] {
            // Whole diagonals of cells, 0.71 apart, are either inside a diagonal strip or not.
            for degrees in [0.0, 11.0, 22.5, 37.0, 45.0, 61.0, 90.0, 135.0, 158.0] {
                let found = widths(&strip(width, degrees), 1.0, 10.0).unwrap();
                let allowed = (width / 12.0f64).max(0.75) * 10.0;
                let off = (found.median - 10.0 * width).abs();
                assert!(off <= allowed, "{width} cells at {degrees}°: {found:?}");
            }
        }
    }

    #[test]
    fn narrowing_shows() {
        let at = |width: f64| widths(&strip(width, 30.0), 1.0, 5.0).unwrap().median;
        assert!(at(8.0) < 0.88 * at(10.0) && at(3.0) < 0.55 * at(6.0));
        // Also by the threshold alone: the same strip, with water that decreases from the middle.
        let bell = Field::from_fn([80, 80], |i, _| 10.0 / (1.0 + (i as f32 - 40.0) * (i as f32 - 40.0) / 9.0));
        let (wide, narrow) = (widths(&bell, 1.0, 1.0).unwrap(), widths(&bell, 5.0, 1.0).unwrap());
        assert!((wide.median - 19.0).abs() < 0.7 && (narrow.median - 7.0).abs() < 0.7, "{wide:?} {narrow:?}");
    }

    #[test]
    fn a_line_of_single_cells_is_a_cell_wide() {
        let straight = Field::from_fn([9, 60], |i, _| if i == 4 { 1.0 } else { 0.0 });
        let found = widths(&straight, 0.5, 10.0).unwrap();
        assert!((found.median - 10.0).abs() < 0.5 && (found.length - 590.0).abs() < 15.0, "{found:?}");
    }

    #[test]
    fn two_channels_give_the_one_that_is_longer() {
        let both = Field::from_fn([60, 100], |i, j| match (i, j) {
            (10..13, _) => 1.0,
            (30..45, 0..40) => 1.0,
            _ => 0.0,
        });
        let found = widths(&both, 0.5, 1.0).unwrap();
        assert!((found.median - 3.0).abs() < 0.3 && found.mean > found.median + 1.0, "{found:?}");
    }

    #[test]
    fn where_nothing_runs_there_is_no_width() {
        assert_eq!(widths(&Field::new([9, 9], 0.0), 1.0, 1.0), None);
        assert_eq!(widths(&Field::new([9, 9], f32::NAN), 1.0, 1.0), None);
        let one = Field::from_fn([9, 9], |i, j| if (i, j) == (4, 4) { 2.0 } else { 0.0 });
        assert_eq!(widths(&one, 1.0, 1.0), None);
        widths(&Field::new([1, 9], 2.0), 1.0, 1.0).unwrap();
        widths(&Field::new([9, 9], 2.0), 1.0, 1.0);
    }
}
