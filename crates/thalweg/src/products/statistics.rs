//! Figures that describe a terrain, and how alike two fields are.

use serde::Serialize;

use crate::base::error::{Error, Result};
use crate::products::slope::gradient;
use crate::terrain::Terrain;
use crate::terrain::field::Field;
use crate::terrain::height::UNITS;

/// A terrain in a few figures; cells without data are left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Statistics {
    /// Lowest elevation in metres.
    pub minimum: f64,
    /// Highest elevation in metres.
    pub maximum: f64,
    /// Mean elevation in metres.
    pub mean: f64,
    /// Highest less lowest in metres.
    pub relief: f64,
    /// Median of the cells' slopes (central differences) in degrees; of an even number the lower of the middle two.
    pub median_slope: f64,
    /// Cells lower than all of their eight neighbours; cells at the rim or beside cells without data do not count.
    pub pits: usize,
    /// Cells with data.
    pub cells: usize,
}

impl Statistics {
    /// The terrain's figures; `None` if no cell has data.
    pub fn of(terrain: &Terrain) -> Option<Self> {
        let [low, high] = terrain.range()?;
        let [rows, cols] = terrain.ground.size();
        let (mut sum, mut slopes, mut pits) = (0i128, Vec::new(), 0);
        for i in 0..rows {
            for j in (0..cols).filter(|j| !terrain.is_nodata(i, *j)) {
                sum += i128::from(terrain.ground[(i, j)].0);
                let [east, north] = gradient(terrain, i, j);
                slopes.push((east * east + north * north).sqrt());
                pits += usize::from(is_pit(terrain, i, j));
            }
        }
        let cells = slopes.len();
        let middle = cells.checked_sub(1)? / 2;
        let (_, median, _) = slopes.select_nth_unstable_by(middle, f64::total_cmp);
        Some(Self {
            minimum: low.metres(),
            maximum: high.metres(),
            mean: sum as f64 / cells as f64 / UNITS,
            relief: high.metres() - low.metres(),
            median_slope: libm::atan(*median).to_degrees(),
            pits,
            cells,
        })
    }
}

fn is_pit(terrain: &Terrain, i: usize, j: usize) -> bool {
    let [rows, cols] = terrain.ground.size();
    if i == 0 || j == 0 || i + 1 >= rows || j + 1 >= cols {
        return false;
    }
    let here = terrain.ground[(i, j)];
    (i - 1..=i + 1).all(|r| {
        (j - 1..=j + 1).all(|c| (r, c) == (i, j) || (!terrain.is_nodata(r, c) && terrain.ground[(r, c)] > here))
    })
}

/// Pearson's correlation of two fields, cell by cell, −1 to 1; pairs with a NaN or infinity are left out. Summed in
/// row-major order, means first.
///
/// # Errors
/// When the sizes differ, or either field is constant (or empty) where both are finite.
pub fn correlation(a: &Field<f32>, b: &Field<f32>) -> Result<f64> {
    if a.size() != b.size() {
        let [rows, cols] = b.size();
        let allowed = format!("{} × {}, as the first", a.rows(), a.cols());
        return Err(Error::value("size of the second field", format!("{rows} × {cols}"), allowed));
    }
    let pairs = || {
        let both = a.as_slice().iter().zip(b.as_slice()).filter(|(x, y)| x.is_finite() && y.is_finite());
        both.map(|(x, y)| (f64::from(*x), f64::from(*y)))
    };
    let (n, x_sum, y_sum) = pairs().fold((0.0, 0.0, 0.0), |(n, sx, sy), (x, y)| (n + 1.0, sx + x, sy + y));
    let (x_mean, y_mean) = (x_sum / n, y_sum / n);
    let (xx, yy, xy) = pairs().fold((0.0, 0.0, 0.0), |(xx, yy, xy), (x, y)| {
        let (x, y) = (x - x_mean, y - y_mean);
        (xx + x * x, yy + y * y, xy + x * y)
    });
    if !(xx > 0.0 && yy > 0.0) {
        return Err(Error::value("fields", "constant", "values that vary, for a correlation"));
    }
    Ok((xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terrain::grid::Grid;
    use crate::terrain::height::Height;

    #[test]
    fn a_plane_with_a_pit() {
        let mut terrain = Terrain::new(Grid::new([20, 20], 10.0).unwrap());
        for i in 0..20 {
            for j in 0..20 {
                terrain.ground[(i, j)] = Height::saturating(10.0 * j as f64);
            }
        }
        terrain.ground[(10, 10)] = Height::saturating(70.0);
        let s = Statistics::of(&terrain).unwrap();
        // Slope 1 all over but for the pit's neighbours: median 45°. Mean of 0, 10 … 190 is 95, less 30 m in one of 400.
        assert!((s.median_slope - 45.0).abs() < 1e-12 && (s.mean - (95.0 - 30.0 / 400.0)).abs() < 1e-12);
        assert_eq!((s.minimum, s.maximum, s.relief, s.pits, s.cells), (0.0, 190.0, 190.0, 1, 400));
        // A hole beside it, and it is no pit; with nothing but holes there are no figures.
        terrain.nodata = Some(Field::generate([20, 20], |i, j| i == 9 && j == 9));
        let s = Statistics::of(&terrain).unwrap();
        assert_eq!((s.pits, s.cells), (0, 399));
        terrain.nodata = Some(Field::new([20, 20], true));
        assert!(Statistics::of(&terrain).is_none());
    }

    #[test]
    fn correlation_of_known_pairs() {
        let field = |v: &[f32]| Field::from_vec([1, v.len()], v.to_vec()).unwrap();
        let a = field(&[1.0, 2.0, 3.0, 4.0]);
        assert!((correlation(&a, &field(&[3.0, 5.0, 7.0, 9.0])).unwrap() - 1.0).abs() < 1e-15);
        assert!((correlation(&a, &field(&[4.0, 3.0, 2.0, 1.0])).unwrap() + 1.0).abs() < 1e-15);
        // By hand: Σxy = 4 about the means, Σx² = 5, Σy² = 5.
        assert!((correlation(&a, &field(&[1.0, 3.0, 2.0, 4.0])).unwrap() - 0.8).abs() < 1e-15);
        assert!((correlation(&field(&[1.0, f32::NAN, 2.0]), &field(&[1.0, 5.0, 2.0])).unwrap() - 1.0).abs() < 1e-15);
        assert!(correlation(&a, &field(&[1.0; 4])).is_err());
        assert!(correlation(&a, &field(&[1.0; 3])).is_err());
    }
}
