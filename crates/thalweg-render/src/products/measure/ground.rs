//! [`MeasuredLand`]: the land of a terrain, and the best-fitting second-order surface through a cell and its
//! neighbours.

use std::ops::Range;

use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Size, Terrain};

/// A terrain with its land mask; or some rows of one, with neighbouring rows that are read but not counted.
pub(super) struct MeasuredLand<'a> {
    pub terrain: &'a Terrain,
    /// True for cells that have data and are above the sea.
    pub land: Field<bool>,
    /// The number of land cells in the rows that count.
    pub count: usize,
    /// The numbers of rows and columns of the whole map, and the map row of the first row here.
    pub map: Size,
    pub first: usize,
    /// The rows that count.
    pub own: Range<usize>,
}

/// The first and second derivatives of elevation by metres eastward (x) and northward (y).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Derivatives {
    pub x: f64,
    pub y: f64,
    pub xx: f64,
    pub yy: f64,
    pub xy: f64,
}

impl<'a> MeasuredLand<'a> {
    pub fn new(terrain: &'a Terrain) -> Self {
        Self::from_rows(terrain, terrain.grid.size, 0, 0..terrain.grid.rows())
    }

    /// Creates a part of a map of `map` rows and columns: `terrain` contains its rows from `first` on, and those in
    /// `own` count.
    pub fn from_rows(terrain: &'a Terrain, map: Size, first: usize, own: Range<usize>) -> Self {
        let sea = terrain.grid.sea_level;
        let dry = |i, j| !terrain.is_nodata(i, j) && sea.is_none_or(|sea| terrain.ground[(i, j)] > sea);
        let land = Field::from_fn(terrain.grid.size, dry);
        let count = own.clone().map(|i| land.row(i).iter().filter(|land| **land).count()).sum();
        Self { terrain, land, count, map, first, own }
    }

    /// Returns the side of a cell in metres.
    pub fn cell_size(&self) -> f64 {
        self.terrain.grid.cell
    }

    /// Returns the area of the land in km².
    pub fn area_km2(&self) -> f64 {
        self.count as f64 * self.terrain.grid.cell_area() * 1e-6
    }

    /// Returns the land cells that count, row by row.
    pub fn land_cells(&self) -> impl Iterator<Item = Cell> {
        let dry = |i: usize| self.land.row(i).iter().enumerate().filter(|(_, land)| **land);
        self.own.clone().flat_map(move |i| dry(i).map(move |(j, _)| Cell::new(i, j)))
    }

    /// Returns the derivatives at cell (i, j) of the second-order surface that best fits it and its eight neighbours
    /// (Evans 1972); `None` if one of them is outside the terrain or has no data.
    pub fn fit_derivatives(&self, i: usize, j: usize) -> Option<Derivatives> {
        let [rows, cols] = self.terrain.grid.size;
        if i == 0 || j == 0 || i + 1 >= rows || j + 1 >= cols {
            return None;
        }
        if let Some(mask) = &self.terrain.nodata
            && (i - 1..=i + 1).any(|r| mask.row(r)[j - 1..=j + 1].contains(&true))
        {
            return None;
        }
        // The sums are exact, because they are of integers; rotating a terrain therefore rotates its derivatives to
        // the last bit.
        let heights = &self.terrain.ground;
        let z = |r: usize, c: usize| i64::from(heights[(r, c)].0);
        let [nw, n, ne] = [z(i - 1, j - 1), z(i - 1, j), z(i - 1, j + 1)];
        let [w, o, e] = [z(i, j - 1), z(i, j), z(i, j + 1)];
        let [sw, s, se] = [z(i + 1, j - 1), z(i + 1, j), z(i + 1, j + 1)];
        let cell = self.cell_size();
        // These are the factors of Evans's least-squares fit, converted from height units to metres.
        let (first, second) = (1.0 / (6.0 * cell * UNITS), 1.0 / (3.0 * cell * cell * UNITS));
        Some(Derivatives {
            x: (ne + e + se - nw - w - sw) as f64 * first,
            y: (nw + n + ne - sw - s - se) as f64 * first,
            xx: (nw + w + sw + ne + e + se - 2 * (n + o + s)) as f64 * second,
            yy: (nw + n + ne + sw + s + se - 2 * (w + o + e)) as f64 * second,
            xy: (ne + sw - nw - se) as f64 * (0.75 * second),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::measure::testing::terrain_from_formula;

    #[test]
    fn a_paraboloid_has_its_derivatives() {
        // z = 2x − y + x²/2 + y²/4 − xy/8 in binary fractions, which are exact in units.
        let (n, cell) = (9, 4.0);
        let ground =
            terrain_from_formula([n, n], cell, |x, y| 2.0 * x - y + 0.5 * x * x + 0.25 * y * y - 0.125 * x * y);
        let found = MeasuredLand::new(&ground);
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                let (x, y) = (j as f64 * cell, (n - 1 - i) as f64 * cell);
                let want =
                    Derivatives { x: 2.0 + x - 0.125 * y, y: -1.0 + 0.5 * y - 0.125 * x, xx: 1.0, yy: 0.5, xy: -0.125 };
                let got = found.fit_derivatives(i, j).unwrap();
                for (a, b) in
                    [(got.x, want.x), (got.y, want.y), (got.xx, want.xx), (got.yy, want.yy), (got.xy, want.xy)]
                {
                    assert!((a - b).abs() < 1e-12, "{got:?} {want:?}");
                }
            }
        }
        assert!(found.fit_derivatives(0, 3).is_none() && found.fit_derivatives(3, n - 1).is_none());
    }
}
