//! How far each cell is from a set of cells.

use rayon::prelude::*;

use crate::terrain::field::Field;

/// Metres from each cell's middle to the nearest one that is set, exactly; infinite where none is. `cell` is the side of a cell.
///
/// In two passes (Felzenszwalb & Huttenlocher 2012, doi:10.4086/toc.2012.v008a019): along columns whole distances, along rows the
/// lower envelope of parabolas.
pub fn to_set(set: &Field<bool>, cell: f64) -> Field<f32> {
    let [rows, cols] = set.size();
    // Rows to the nearest set cell of the same column.
    let mut down = Field::new([rows, cols], f64::INFINITY);
    for backward in [false, true] {
        let mut before = vec![f64::INFINITY; cols];
        for step in 0..rows {
            let i = if backward { rows - 1 - step } else { step };
            for ((down, before), set) in down.row_mut(i).iter_mut().zip(&mut before).zip(set.row(i)) {
                let here = if *set { 0.0 } else { *before + 1.0 };
                *down = down.min(here);
                *before = *down;
            }
        }
    }
    let mut distance = Field::new([rows, cols], f32::INFINITY);
    distance.par_rows_mut().for_each(|(i, row)| envelope(down.row(i), row, cell));
    distance
}

/// Distances along a row, from those along columns.
fn envelope(down: &[f64], row: &mut [f32], cell: f64) {
    // Columns whose parabolas make up the envelope, and where each begins.
    let mut parts: Vec<(usize, f64)> = Vec::with_capacity(down.len());
    for (q, d) in down.iter().enumerate().filter(|(_, d)| d.is_finite()) {
        let meets = |p: usize| {
            let (q, p, dp) = (q as f64, p as f64, down[p]);
            ((d * d + q * q) - (dp * dp + p * p)) / (2.0 * (q - p))
        };
        while parts.last().is_some_and(|(p, begins)| meets(*p) <= *begins) {
            parts.pop();
        }
        let begins = parts.last().map_or(f64::NEG_INFINITY, |(p, _)| meets(*p));
        parts.push((q, begins));
    }
    let mut at = 0;
    for (j, distance) in row.iter_mut().enumerate() {
        while parts.get(at + 1).is_some_and(|(_, begins)| *begins <= j as f64) {
            at += 1;
        }
        if let Some((p, _)) = parts.get(at) {
            let across = j.abs_diff(*p) as f64;
            *distance = ((across * across + down[*p] * down[*p]).sqrt() * cell) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Key;

    #[test]
    fn distances_are_those_of_a_search_over_all_cells() {
        for seed in 0..30u64 {
            let size = [1 + seed as usize % 13, 1 + seed as usize % 17];
            let key = Key::new(seed, "set");
            let set = Field::generate(size, |i, j| key.cell([i as i64, j as i64]).unit() < 0.1);
            let found = to_set(&set, 2.0);
            for i in 0..size[0] {
                for j in 0..size[1] {
                    let all = (0..size[0]).flat_map(|r| (0..size[1]).map(move |c| (r, c))).filter(|at| set[*at]);
                    let least = all.map(|(r, c)| i.abs_diff(r).pow(2) + j.abs_diff(c).pow(2)).min();
                    let expected = least.map_or(f32::INFINITY, |square| (2.0 * (square as f64).sqrt()) as f32);
                    assert_eq!(found[(i, j)], expected);
                }
            }
        }
    }
}
