//! [`AreaUnits`]: the areas of cells as whole numbers of one unit.

use thalweg_core::terrain::CellAreas;
use thalweg_core::{Field, Grid, Result, Size};
use thalweg_flow::{Directions, accumulate};

/// The areas of a grid's cells as whole numbers of one unit: of one cell if all have the same area, or else of the unit
/// of [`CellAreas`].
pub(super) struct AreaUnits {
    areas: Option<CellAreas>,
    unit_m2: f64,
}

impl AreaUnits {
    /// Computes the areas of the rows of a grid's window.
    pub fn from_grid(grid: &Grid) -> Self {
        let metrics = grid.cell_metrics();
        if metrics.is_uniform() {
            return Self { areas: None, unit_m2: metrics.area(0) };
        }
        let areas = CellAreas::from_grid(grid);
        Self { unit_m2: areas.unit_m2(), areas: Some(areas) }
    }

    /// Returns the size of a unit in m².
    pub fn unit_m2(&self) -> f64 {
        self.unit_m2
    }

    /// Returns the area of a cell of row `i` in units.
    pub fn units(&self, i: usize) -> i64 {
        self.areas.as_ref().map_or(1, |areas| areas.units(i))
    }

    /// Returns the least number of units that are not less than an area in m², at least 1.
    pub fn units_from_m2(&self, area_m2: f64) -> i64 {
        ((area_m2 / self.unit_m2).ceil() as i64).max(1)
    }

    /// Returns the areas in units that drain through each cell; `None` if all cells have the same area, so that a
    /// number of cells is enough.
    ///
    /// # Errors
    /// Returns the errors of [`accumulate::accumulate_weights`].
    pub fn accumulate(&self, directions: &Directions) -> Result<Option<Field<i64>>> {
        let weights = self.weights(directions.size());
        weights.map(|weights| accumulate::accumulate_weights(directions, &weights)).transpose()
    }

    /// Returns the area of each cell in units; `None` if all cells have the same area.
    pub fn weights(&self, size: Size) -> Option<Field<i64>> {
        let areas = self.areas.as_ref()?;
        Some(Field::from_fn(size, |i, _| areas.units(i)))
    }
}

#[cfg(test)]
mod tests {
    use crate::survey::{DrainOptions, FlowMethod, Survey};
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::{CellShape, Ellipsoid, GeographicCells};
    use thalweg_core::{Field, Grid, Height, NoProgress, Terrain};
    use thalweg_flow::OUT;
    use thalweg_flow::breach::BreachLimits;

    /// Rough ground that falls to the south-east, with pits.
    fn rough_terrain(grid: Grid) -> Terrain {
        let key = RandomKey::new(5, "survey of uneven cells");
        let noise = |i: usize, j: usize| (key.for_cell([i as i64, j as i64]).random_bits() >> 44) as i32;
        let ground = Field::from_fn(grid.size, |i, j| Height(noise(i, j) - 300_000 * (i + j) as i32 / 2));
        Terrain::from_ground(grid, ground).unwrap()
    }

    fn globe_part() -> Grid {
        let ellipsoid = Ellipsoid::GRS_80;
        let cells = GeographicCells { north_deg: 70.0, d_lat_deg: 0.2, d_lon_deg: 0.3, ellipsoid };
        Grid::new([80, 50], 1.0).unwrap().with_shape(CellShape::Geographic(cells)).unwrap()
    }

    fn survey(terrain: &Terrain, options: &DrainOptions) -> Survey {
        Survey::from_terrain(terrain, options, &mut NoProgress).unwrap()
    }

    #[test]
    fn the_water_of_the_whole_zone_leaves_it() {
        let grid = globe_part();
        let terrain = rough_terrain(grid.clone());
        for method in [FlowMethod::D8, FlowMethod::DInfinity, FlowMethod::Multiple] {
            let found = survey(&terrain, &DrainOptions { method, ..DrainOptions::default() });
            let areas = found.drainage_area(&grid);
            let ends = areas.as_slice().iter().zip(found.directions.as_slice()).filter(|(_, code)| **code == OUT);
            let sum: f64 = ends.map(|(area, _)| *area).sum();
            let summary = found.summarize(&grid);
            for total in [sum, summary.land_m2] {
                assert!((total / grid.world_area() - 1.0).abs() < 1e-11, "{total} for {}", grid.world_area());
            }
            assert!(summary.basins.count > 1 && summary.basins.largest_m2 < summary.land_m2);
        }
    }

    #[test]
    fn areas_lakes_and_streams_are_measured_by_rows() {
        let grid = globe_part();
        let (terrain, metrics) = (rough_terrain(grid.clone()), grid.cell_metrics());
        let threshold = 30.0 * grid.cell_area();
        let found = survey(&terrain, &DrainOptions { threshold: Some(threshold), ..DrainOptions::default() });
        let areas = found.drainage_area(&grid);
        let (mut volume, mut own) = (0.0, Field::from_fn(grid.size, |i, _| metrics.area(i)));
        for i in 0..grid.rows() {
            let depth: f64 = found.lake_depth.row(i).iter().map(|depth| depth.metres()).sum();
            volume += depth * metrics.area(i);
        }
        // The areas of the cells are passed on along the directions, one cell at a time.
        for k in thalweg_flow::accumulate::upstream_order(&found.directions) {
            let k = k as usize;
            assert!((areas[k] / own[k] - 1.0).abs() < 1e-10);
            assert_eq!(found.orders[k] > 0, areas[k] >= threshold);
            if let Some(n) = found.directions.next(k) {
                own[n] += own[k];
            }
        }
        let summary = found.summarize(&grid);
        assert!(volume > 0.0 && (summary.lakes.volume_m3 / volume - 1.0).abs() < 1e-10);
        assert!(!found.channels.reaches.is_empty());
        for reach in &found.channels.reaches {
            let step = |cell: &thalweg_core::Cell| {
                let direction = thalweg_flow::D8::from_code(found.directions[*cell]).unwrap();
                metrics.row(cell.row).distance(direction)
            };
            let length: f64 = reach.cells[..reach.cells.len() - 1].iter().map(step).sum();
            assert!((reach.length / length - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn rectangles_with_equal_sides_are_surveyed_like_squares() {
        let squares = Grid::new([60, 70], 10.0).unwrap();
        let shape = CellShape::Rectangular { width: 10.0, height: 10.0 };
        let rectangles = squares.clone().with_shape(shape).unwrap();
        let options = DrainOptions { threshold: Some(2000.0), ..DrainOptions::default() };
        let [a, b] = [squares, rectangles].map(|grid| {
            let terrain = rough_terrain(grid);
            let found = survey(&terrain, &options);
            let summary = found.summarize(&terrain.grid);
            (found.drainage_area(&terrain.grid), found.directions, found.basins, found.orders, summary)
        });
        assert!(a.0 == b.0 && a.1 == b.1 && a.2 == b.2 && a.3 == b.3);
        assert_eq!((a.4.land_m2, a.4.lakes, a.4.basins), (b.4.land_m2, b.4.lakes, b.4.basins));
        assert!((a.4.streams.length_m / b.4.streams.length_m - 1.0).abs() < 1e-12);
    }

    #[test]
    fn options_that_need_squares_are_refused() {
        let terrain = rough_terrain(globe_part());
        let breach = Some(BreachLimits { depth: 5.0, length: 100.0 });
        for (options, subject) in [
            (DrainOptions { breach, ..DrainOptions::default() }, "the option breach needs square cells"),
            (DrainOptions { runoff: Some(300.0), ..DrainOptions::default() }, "the option runoff needs square cells"),
            (DrainOptions { depressions: true, ..DrainOptions::default() }, "the option depressions needs square"),
        ] {
            let error = Survey::from_terrain(&terrain, &options, &mut NoProgress).unwrap_err().to_string();
            assert!(error.contains(subject) && error.contains("gdalwarp"), "{error}");
        }
    }
}
