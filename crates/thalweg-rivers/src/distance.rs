//! Exact Euclidean distance of each cell from a set of cells.

use rayon::prelude::*;

use thalweg_core::Field;

/// The index that means that there is no cell.
const NOWHERE: u32 = u32::MAX;

/// Returns the exact distance in metres from each cell's centre to the nearest cell of the set; infinite if the set
/// is empty. `cell` is the side of a cell in metres.
pub fn distances_to_set(set: &Field<bool>, cell: f64) -> Field<f32> {
    let nearest = find_nearest_cells(set);
    let cols = set.cols();
    Field::from_fn(set.size(), |i, j| match nearest[(i, j)] {
        NOWHERE => f32::INFINITY,
        k => {
            let [down, across] = [i.abs_diff(k as usize / cols) as f64, j.abs_diff(k as usize % cols) as f64];
            ((across * across + down * down).sqrt() * cell) as f32
        }
    })
}

/// Returns for each cell the row-major index of the nearest cell of the set, by distance of centres; `u32::MAX` if
/// the set is empty.
///
/// The algorithm has two passes (Felzenszwalb & Huttenlocher 2012, doi:10.4086/toc.2012.v008a019): integer distances
/// along columns, then the lower envelope of parabolas along rows.
pub fn find_nearest_cells(set: &Field<bool>) -> Field<u32> {
    let [rows, cols] = set.size();
    // For each cell, the row of the nearest cell of the set in its column.
    let mut rows_of = Field::new([rows, cols], NOWHERE);
    for backward in [false, true] {
        let mut before = vec![NOWHERE; cols];
        for step in 0..rows {
            let i = if backward { rows - 1 - step } else { step };
            for ((found, before), set) in rows_of.row_mut(i).iter_mut().zip(&mut before).zip(set.row(i)) {
                if *set {
                    *before = i as u32;
                }
                let far = |row: u32| if row == NOWHERE { usize::MAX } else { i.abs_diff(row as usize) };
                // The comparison is strict, so of two cells that are equally far the northern one counts.
                if far(*before) < far(*found) {
                    *found = *before;
                }
            }
        }
    }
    let mut out = Field::new([rows, cols], NOWHERE);
    out.par_rows_mut().for_each(|(i, row)| compute_lower_envelope(i, rows_of.row(i), row));
    out
}

/// Computes the lower envelope of the parabolas of all columns along row `i`.
fn compute_lower_envelope(i: usize, rows_of: &[u32], row: &mut [u32]) {
    let cols = row.len();
    // Squares are whole numbers, which `f64` represents exactly for up to 2²⁶ rows and columns.
    let square = |c: usize| {
        let down = i as f64 - f64::from(rows_of[c]);
        down * down + (c * c) as f64
    };
    // The columns whose parabolas form the envelope, and the position where each begins.
    let mut parabolas: Vec<(usize, f64)> = Vec::with_capacity(cols);
    for q in (0..cols).filter(|c| rows_of[*c] != NOWHERE) {
        let meets = |p: usize| (square(q) - square(p)) / (2.0 * (q - p) as f64);
        // A parabola that is nowhere the lowest is removed. Every column is added and removed at most once, so the time
        // is linear.
        while parabolas.last().is_some_and(|(p, begins)| meets(*p) <= *begins) {
            parabolas.pop();
        }
        let begins = parabolas.last().map_or(f64::NEG_INFINITY, |(p, _)| meets(*p));
        parabolas.push((q, begins));
    }
    let mut at = 0;
    for (j, out) in row.iter_mut().enumerate() {
        while parabolas.get(at + 1).is_some_and(|(_, begins)| *begins <= j as f64) {
            at += 1;
        }
        if let Some((p, _)) = parabolas.get(at) {
            *out = (rows_of[*p] as usize * cols + p) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn distances_are_those_of_a_search_over_all_cells() {
        for seed in 0..30u64 {
            let size = [1 + seed as usize % 13, 1 + seed as usize % 17];
            let key = RandomKey::new(seed, "set");
            let set = Field::from_fn(size, |i, j| key.for_cell([i as i64, j as i64]).uniform_unit() < 0.1);
            let (found, nearest) = (distances_to_set(&set, 2.0), find_nearest_cells(&set));
            for i in 0..size[0] {
                for j in 0..size[1] {
                    let all = (0..size[0]).flat_map(|r| (0..size[1]).map(move |c| (r, c))).filter(|at| set[*at]);
                    let nearest_square = all.map(|(r, c)| i.abs_diff(r).pow(2) + j.abs_diff(c).pow(2)).min();
                    let expected = nearest_square.map_or(f32::INFINITY, |square| (2.0 * (square as f64).sqrt()) as f32);
                    assert_eq!(found[(i, j)], expected);
                    let k = nearest[(i, j)];
                    assert_eq!(k == NOWHERE, nearest_square.is_none());
                    assert!(set.as_slice().get(k as usize).is_none_or(|set| *set));
                }
            }
        }
    }
}
