//! Interpolation between samples, and quantiles of samples.

use multiversion::multiversion;

use thalweg_core::Field;

/// Returns the bilinearly interpolated value at row `y` and column `x`, which are clamped to the field.
pub fn interpolate_bilinear(field: &Field<f32>, y: f32, x: f32) -> f32 {
    let place = |p: f32, n: usize| {
        // At the last row or column the neighbour is the cell itself, so that its weight does not matter.
        let p = p.clamp(0.0, (n - 1) as f32);
        let k = p as usize;
        (k, (k + 1).min(n - 1), p - k as f32)
    };
    let ((i0, i1, v), (j0, j1, u)) = (place(y, field.rows()), place(x, field.cols()));
    let (north, south) = (field.row(i0), field.row(i1));
    let top = north[j0] + (north[j1] - north[j0]) * u;
    let bottom = south[j0] + (south[j1] - south[j0]) * u;
    top + (bottom - top) * v
}

/// Computes row `i` of a map with cells half as wide as those of `field`, one value in `out` per column: the values
/// at row (i − ½)/2 and columns (j − ½)/2, as computed by [`interpolate_bilinear`].
#[multiversion(targets("x86_64+avx2"))]
pub fn finer_row(field: &Field<f32>, i: usize, out: &mut [f32]) {
    let y = (i as f32 - 0.5) / 2.0;
    let whole = y.clamp(0.0, (field.rows() - 1) as f32) as usize;
    let v = y.clamp(0.0, (field.rows() - 1) as f32) - whole as f32;
    let (north, south) = (field.row(whole), field.row((whole + 1).min(field.rows() - 1)));
    // There are two finer columns between each column and the next.
    let pairs = (field.cols() - 1).min(out.len().saturating_sub(1) / 2);
    for k in 0..pairs {
        let (above, below) = (north[k + 1] - north[k], south[k + 1] - south[k]);
        // The two finer columns are a quarter and three quarters of the way between the coarse ones.
        let west = [north[k] + above * 0.25, south[k] + below * 0.25];
        let east = [north[k] + above * 0.75, south[k] + below * 0.75];
        out[2 * k + 1] = west[0] + (west[1] - west[0]) * v;
        out[2 * k + 2] = east[0] + (east[1] - east[0]) * v;
    }
    // Column 0 and those beyond the last pair are clamped at the edges, which the general function does.
    let beyond = (2 * pairs + 1).min(out.len())..out.len();
    for j in std::iter::once(0).chain(beyond) {
        out[j] = interpolate_bilinear(field, y, (j as f32 - 0.5) / 2.0);
    }
}

/// Returns the quantile `q`, 0 to 1, of `values`, which are sorted in ascending order; 0 if there are none.
pub fn quantile_of_sorted(values: &[f32], q: f64) -> f32 {
    let last = values.len().saturating_sub(1);
    values.get((q * last as f64).round() as usize).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn a_finer_row_is_that_of_its_cells() {
        for [rows, cols] in [[1, 1], [1, 2], [2, 1], [5, 7], [40, 33]] {
            let key = RandomKey::new(3, "finer row");
            let field =
                Field::from_fn([rows, cols], |i, j| 900.0 * key.for_cell([i as i64, j as i64]).uniform_unit() as f32);
            for wide in [2 * cols, 2 * cols - 1] {
                for i in 0..2 * rows {
                    let mut row = vec![0.0; wide];
                    finer_row(&field, i, &mut row);
                    for (j, is) in row.iter().enumerate() {
                        assert_eq!(
                            *is,
                            interpolate_bilinear(&field, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0),
                            "{i}, {j}"
                        );
                    }
                }
            }
        }
    }
}
