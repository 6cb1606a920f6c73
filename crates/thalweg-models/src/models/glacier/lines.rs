//! Smoothing over a distance by implicit diffusion along rows and columns: tridiagonal systems, many at once.

use multiversion::multiversion;
use rayon::prelude::*;

use thalweg_core::Field;

/// Number of lines that are solved side by side: sixteen `f32` fill one vector register of AVX-512.
const LANES: usize = 16;

type Lane = [f32; LANES];

/// Solves (1 − bind·δ²)·x = x₀ in place on all lanes, with no flux over the ends (Thomas algorithm).
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn solve_diffusion(bind: f32, x: &mut [Lane], above: &mut [f32]) {
    let count = x.len();
    let above = &mut above[..count];
    let (mut carry, mut sum) = (0.0, [0.0; LANES]);
    // Forward elimination runs over all lanes together: they have the same matrix, so its coefficients are computed
    // once.
    for k in 0..count {
        let (before, after) = (if k > 0 { bind } else { 0.0 }, if k + 1 < count { bind } else { 0.0 });
        let part = 1.0 / (1.0 + before + after - before * carry);
        carry = after * part;
        for l in 0..LANES {
            sum[l] = (x[k][l] + before * sum[l]) * part;
        }
        (above[k], x[k]) = (carry, sum);
    }
    // Back substitution then runs from the end of the lines to their beginning.
    for k in (0..count.saturating_sub(1)).rev() {
        let next = x[k + 1];
        for l in 0..LANES {
            x[k][l] += above[k] * next[l];
        }
    }
}

fn along_rows(bind: f32, field: &mut Field<f32>) {
    let cols = field.cols();
    field.as_mut_slice().par_chunks_mut(LANES * cols).for_each_init(
        || (vec![[0.0; LANES]; cols], vec![0.0; cols]),
        |(x, above), band| {
            for (lane, row) in band.chunks(cols).enumerate() {
                for (x, value) in x.iter_mut().zip(row) {
                    x[lane] = *value;
                }
            }
            solve_diffusion(bind, x, above);
            for (lane, row) in band.chunks_mut(cols).enumerate() {
                for (x, value) in x.iter().zip(row) {
                    *value = x[lane];
                }
            }
        },
    );
}

fn along_columns(bind: f32, field: &mut Field<f32>) {
    let [rows, cols] = field.size();
    // Strips are copied out, solved in parallel and written back by rows: columns of a row-major field cannot be
    // borrowed mutably by several threads.
    let strips: Vec<Vec<Lane>> = (0..cols.div_ceil(LANES))
        .into_par_iter()
        .map(|strip| {
            let columns = strip * LANES..cols.min((strip + 1) * LANES);
            let mut x = vec![[0.0; LANES]; rows];
            for (i, x) in x.iter_mut().enumerate() {
                x[..columns.len()].copy_from_slice(&field.row(i)[columns.clone()]);
            }
            solve_diffusion(bind, &mut x, &mut vec![0.0; rows]);
            x
        })
        .collect();
    field.par_rows_mut().for_each(|(i, row)| {
        for (row, strip) in row.chunks_mut(LANES).zip(&strips) {
            row.copy_from_slice(&strip[i][..row.len()]);
        }
    });
}

/// Number of diffusion steps of a blur: one step produces a cross, several approximate a round Gaussian.
const STEPS: u32 = 4;

/// Smooths a field over `spread` cells (standard deviation), by implicit diffusion steps along rows and columns. The
/// sum is conserved; nothing crosses the rim.
pub fn blur_by_diffusion(field: &mut Field<f32>, spread: f64) {
    if field.is_empty() || spread <= 0.0 {
        return;
    }
    // The variance of one implicit step is twice its `bind`.
    let bind = (spread * spread / (2.0 * f64::from(STEPS))) as f32;
    for _ in 0..STEPS {
        along_rows(bind, field);
        along_columns(bind, field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn lines_are_solved_and_columns_are_rows_turned() {
        let key = RandomKey::new(5, "lines");
        let right = Field::from_fn([19, 37], |i, j| key.for_cell([i as i64, j as i64]).uniform_unit() as f32);
        let mut rows = right.clone();
        along_rows(7.0, &mut rows);
        for i in 0..19 {
            for j in 0..37usize {
                let fall = |k: usize| if k < 37 { rows[(i, j)] - rows[(i, k)] } else { 0.0 };
                let is = rows[(i, j)] + 7.0 * (fall(j.wrapping_sub(1)) + fall(j + 1));
                // A few dozen rounding errors of numbers up to 7.
                assert!((is - right[(i, j)]).abs() < 2e-5, "{i}, {j}");
            }
        }
        let mut columns = Field::from_fn([37, 19], |i, j| right[(j, i)]);
        along_columns(7.0, &mut columns);
        assert_eq!(columns, Field::from_fn([37, 19], |i, j| rows[(j, i)]), "to the bit");
    }

    #[test]
    fn a_blur_keeps_the_sum_and_spreads_as_told() {
        let mut spot = Field::new([81, 81], 0.0);
        spot[(40, 40)] = 1.0;
        blur_by_diffusion(&mut spot, 5.0);
        let moment = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
            let cells = (0..81usize).flat_map(|i| (0..81usize).map(move |j| (i, j)));
            cells.map(|(i, j)| f64::from(spot[(i, j)]) * f(i as f64 - 40.0, j as f64 - 40.0)).sum()
        };
        assert!((moment(&|_, _| 1.0) - 1.0).abs() < 1e-4);
        // The reflection from the rim, eight standard deviations away, is less than a hundredth.
        assert!((moment(&|i, _| i * i) - 25.0).abs() < 0.3 && (moment(&|_, j| j * j) - 25.0).abs() < 0.3);
        let (straight, slant) = (spot[(40, 47)], spot[(45, 45)]);
        // Four steps fall short of a Gaussian, for which the ratio is 1.04: they give 1.17, two would give 1.44.
        assert!((straight / slant - 1.0).abs() < 0.2, "nearly round: {straight} {slant}");
    }
}
