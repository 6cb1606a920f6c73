//! Smoothing: weighted means over the neighbourhood of each cell.

use rayon::prelude::*;

use thalweg_core::Field;

/// Number of lines processed side by side: each sum depends on the one before it, but eight lines are independent.
const LANES: usize = 8;

/// Returns the half width in cells, at least `least`, of three running means that together approximate a Gaussian with
/// a standard deviation of `deviation` cells.
pub(super) fn gaussian_half_width(deviation: f64, least: usize) -> usize {
    // A mean over 2h + 1 cells has the variance h(h + 1)/3.
    let half = (0.25 + deviation * deviation).sqrt() - 0.5;
    (half.round() as usize).max(least)
}

/// Smooths a field over about `half` cells by three passes of running means along rows and columns. Beyond the rim the
/// field counts as zero.
pub(super) fn smooth_zero_padded(field: &Field<f32>, half: usize) -> Field<f32> {
    if half == 0 {
        return field.clone();
    }
    // The field is transposed, so that the second call works along columns and the last one transposes back.
    smooth_rows(smooth_rows(field.clone(), half).transposed(), half).transposed()
}

/// Smooths a field over about `half` cells as a mean of the values within the field only.
pub(super) fn smooth_normalized(field: &Field<f32>, half: usize) -> Field<f32> {
    let mut out = smooth_zero_padded(field, half);
    // The share of the weights within the field is the same for all rows, and for all columns.
    let weights = field.size().map(|n| smooth_lines(vec![[1.0; LANES]; n], half));
    out.par_rows_mut().for_each(|(i, row)| {
        for (mean, part) in row.iter_mut().zip(&weights[1]) {
            *mean = (f64::from(*mean) / (weights[0][i][0] * part[0])) as f32;
        }
    });
    out
}

/// Computes running means along rows. Negative results of rounding become 0.
fn smooth_rows(mut field: Field<f32>, half: usize) -> Field<f32> {
    let cols = field.cols();
    field.as_mut_slice().par_chunks_mut((LANES * cols).max(1)).for_each(|rows| {
        let mut lines = vec![[0.0; LANES]; cols];
        for (lane, row) in rows.chunks(cols).enumerate() {
            for (line, x) in lines.iter_mut().zip(row) {
                line[lane] = f64::from(*x);
            }
        }
        let lines = smooth_lines(lines, half);
        for (lane, row) in rows.chunks_mut(cols).enumerate() {
            for (x, line) in row.iter_mut().zip(&lines) {
                *x = line[lane].max(0.0) as f32;
            }
        }
    });
    field
}

/// Applies three passes of running means along lines. Beyond their ends values count as zero.
fn smooth_lines(mut lines: Vec<[f64; LANES]>, half: usize) -> Vec<[f64; LANES]> {
    let count = lines.len();
    let half = half.min(count);
    let width = (2 * half + 1) as f64;
    let mut next = vec![[0.0; LANES]; count];
    for _ in 0..3 {
        let mut total = [0.0; LANES];
        // The sum of the window begins with the cells ahead of the first one; those before it count as zero.
        for line in &lines[..half] {
            (0..LANES).for_each(|k| total[k] += line[k]);
        }
        for (j, mean) in next.iter_mut().enumerate() {
            if let Some(line) = lines.get(j + half) {
                (0..LANES).for_each(|k| total[k] += line[k]);
            }
            (0..LANES).for_each(|k| mean[k] = total[k] / width);
            if j >= half {
                let line = &lines[j - half];
                (0..LANES).for_each(|k| total[k] -= line[k]);
            }
        }
        std::mem::swap(&mut lines, &mut next);
    }
    lines
}
