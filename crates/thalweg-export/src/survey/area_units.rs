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
