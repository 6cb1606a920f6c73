//! Values between samples, and among them.

use crate::terrain::field::Field;

/// The field at row `y` and column `x`, held within its ends, linear between samples.
pub fn bilinear(field: &Field<f32>, y: f32, x: f32) -> f32 {
    let place = |p: f32, n: usize| {
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

/// The value below which a share `q` of the sorted `values` lies; 0 if there are none.
pub fn quantile(values: &[f32], q: f64) -> f32 {
    let last = values.len().saturating_sub(1);
    values.get((q * last as f64).round() as usize).copied().unwrap_or(0.0)
}
