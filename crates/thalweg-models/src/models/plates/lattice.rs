//! The lattice on which basins are derived: neighbours, least-cost paths and blurring.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use thalweg_core::Cell;
use thalweg_flow::Neighbourhood;

/// The knight's moves, which extend the eight neighbours so that paths can run in sixteen directions.
const FURTHER: [(isize, isize); 8] = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

/// Returns the cells a knight's move away from a cell, and their distance in cells (√5).
fn list_knight_moves([rows, cols]: [usize; 2], k: usize) -> impl Iterator<Item = (usize, f32)> {
    let (i, j) = (k / cols, k % cols);
    FURTHER.into_iter().filter_map(move |(down, right)| {
        let (i, j) = (i.checked_add_signed(down)?, j.checked_add_signed(right)?);
        (i < rows && j < cols).then_some((i * cols + j, 2.236_068))
    })
}

/// Returns the up to eight neighbours of a cell, and their distance in cells.
pub(super) fn list_adjacent_cells([rows, cols]: [usize; 2], k: usize) -> impl Iterator<Item = (usize, f32)> {
    Neighbourhood::new([rows, cols], [k / cols, k % cols])
        .map(move |(direction, Cell { row: i, col: j })| (i * cols + j, direction.distance_f32()))
}

/// Computes the least sum of `cost` over paths from the starts to each cell, by Dijkstra's algorithm. `cost` receives
/// the two cells of a move and its length in cells, and returns `None` for a move that is not allowed. Cells that no
/// path reaches get infinity. The queue is ordered by the bits of the sums, since the bits of non-negative
/// floating-point numbers have the order of their values.
pub(super) fn compute_path_costs(
    size: [usize; 2],
    starts: &[(usize, f32)],
    mut cost: impl FnMut(usize, usize, f32) -> Option<f32>,
) -> Vec<f32> {
    let mut sums = vec![f32::INFINITY; size[0] * size[1]];
    let mut queue = BinaryHeap::new();
    for &(k, sum) in starts {
        sums[k] = sums[k].min(sum);
        queue.push(Reverse((sum.to_bits(), k)));
    }
    while let Some(Reverse((bits, k))) = queue.pop() {
        let sum = f32::from_bits(bits);
        if sum > sums[k] {
            continue;
        }
        for (n, length) in list_adjacent_cells(size, k).chain(list_knight_moves(size, k)) {
            if let Some(more) = cost(k, n, length).map(|cost| sum + cost)
                && more < sums[n]
            {
                sums[n] = more;
                queue.push(Reverse((more.to_bits(), n)));
            }
        }
    }
    sums
}

/// Averages over `radius` cells to each side along both axes, three times, which approximates a Gaussian blur.
pub(super) fn blur_values(values: &[f32], [rows, cols]: [usize; 2], radius: usize) -> Vec<f32> {
    let along = |values: &[f32], [rows, cols]: [usize; 2]| {
        // The output is transposed, so that the second call works along the other axis.
        let mut out = vec![0.0; values.len()];
        for i in 0..rows {
            for j in 0..cols {
                let span = j.saturating_sub(radius)..(j + radius + 1).min(cols);
                let count = span.len() as f32;
                out[j * rows + i] = values[i * cols..][span].iter().sum::<f32>() / count;
            }
        }
        out
    };
    (0..3).fold(values.to_vec(), |values, _| along(&along(&values, [rows, cols]), [cols, rows]))
}
