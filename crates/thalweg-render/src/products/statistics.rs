//! Statistics of two fields.

use thalweg_core::{Error, Field, Result};

/// Returns Pearson's correlation of two fields, cell by cell, −1 to 1; pairs with a NaN or infinity are left out.
/// Sums are taken in row-major order, the means first.
///
/// # Errors
/// Returns an error if the sizes differ, or if either field is constant (or empty) where both are finite.
pub fn correlate_fields(a: &Field<f32>, b: &Field<f32>) -> Result<f64> {
    if a.size() != b.size() {
        let [rows, cols] = b.size();
        let allowed = format!("{} × {}, the size of the first field", a.rows(), a.cols());
        return Err(Error::invalid_value("size of the second field", format!("{rows} × {cols}"), allowed));
    }
    let pairs = || {
        let both = a.as_slice().iter().zip(b.as_slice()).filter(|(x, y)| x.is_finite() && y.is_finite());
        both.map(|(x, y)| (f64::from(*x), f64::from(*y)))
    };
    // Means are subtracted before products are summed, because sums of large squares would lose digits.
    let (n, x_sum, y_sum) = pairs().fold((0.0, 0.0, 0.0), |(n, sx, sy), (x, y)| (n + 1.0, sx + x, sy + y));
    let (x_mean, y_mean) = (x_sum / n, y_sum / n);
    let (xx, yy, xy) = pairs().fold((0.0, 0.0, 0.0), |(xx, yy, xy), (x, y)| {
        let (x, y) = (x - x_mean, y - y_mean);
        (xx + x * x, yy + y * y, xy + x * y)
    });
    if !(xx > 0.0 && yy > 0.0) {
        let allowed = "values that vary, because a correlation needs them";
        return Err(Error::invalid_value("field", "the same value in all cells", allowed));
    }
    // Rounding may exceed 1 by a few units in the last place.
    Ok((xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_of_known_pairs() {
        let field = |v: &[f32]| Field::from_vec([1, v.len()], v.to_vec()).unwrap();
        let a = field(&[1.0, 2.0, 3.0, 4.0]);
        assert!((correlate_fields(&a, &field(&[3.0, 5.0, 7.0, 9.0])).unwrap() - 1.0).abs() < 1e-15);
        assert!((correlate_fields(&a, &field(&[4.0, 3.0, 2.0, 1.0])).unwrap() + 1.0).abs() < 1e-15);
        // By hand: Σxy = 4 about the means, Σx² = 5, Σy² = 5.
        assert!((correlate_fields(&a, &field(&[1.0, 3.0, 2.0, 4.0])).unwrap() - 0.8).abs() < 1e-15);
        assert!(
            (correlate_fields(&field(&[1.0, f32::NAN, 2.0]), &field(&[1.0, 5.0, 2.0])).unwrap() - 1.0).abs() < 1e-15
        );
        assert!(correlate_fields(&a, &field(&[1.0; 4])).is_err());
        assert!(correlate_fields(&a, &field(&[1.0; 3])).is_err());
    }
}
