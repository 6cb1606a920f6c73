//! [`probe_layers`]: the values of all layers at one cell.

use crate::products::slope::central_gradient;
use thalweg_core::terrain::{Cells, SEDIMENT};
use thalweg_core::{Cell, Terrain};

/// A value at a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The name of the value: `sediment`, or a layer's name.
    pub name: String,
    /// The unit; empty if it has none.
    pub unit: String,
    /// The value in `unit`.
    pub value: f32,
}

/// Returns the slope of the surface at a cell (row, column), 0° to 90°, computed with [`central_gradient`].
///
/// # Panics
/// Panics if the cell is outside the terrain.
pub fn slope_degrees(terrain: &Terrain, cell: impl Into<Cell>) -> f64 {
    let Cell { row: i, col: j } = cell.into();
    let [east, north] = central_gradient(terrain, i, j);
    libm::atan(libm::hypot(east, north)).to_degrees()
}

/// Returns the values of the terrain's layers at a cell (row, column): the sediment thickness first, then the layers
/// by name. Values that are not finite are omitted.
///
/// # Panics
/// Panics if the cell is outside the terrain.
pub fn probe_layers(terrain: &Terrain, cell: impl Into<Cell>) -> Vec<Reading> {
    let Cell { row: i, col: j } = cell.into();
    let [rows, cols] = terrain.ground.size();
    // A clear message replaces the panic of an index out of bounds.
    assert!(i < rows && j < cols, "row {i}, column {j} lies outside a terrain of {rows} × {cols} cells");
    let loose = terrain.loose.as_ref().map(|loose| (SEDIMENT.name, "m", loose[(i, j)].metres_f32()));
    let layers = terrain.layers.iter().filter(|(_, layer)| layer.cells.size() == terrain.ground.size());
    let layers = layers.map(|(name, layer)| {
        let value = match &layer.cells {
            Cells::Height(field) => field[(i, j)].metres_f32(),
            Cells::Float(field) => field[(i, j)],
            Cells::Count(field) => field[(i, j)] as f32,
        };
        (name.as_str(), if layer.unit == "1" { "" } else { layer.unit.as_str() }, value)
    });
    let read = loose.into_iter().chain(layers).filter(|(.., value)| value.is_finite());
    read.map(|(name, unit, value)| Reading { name: name.to_string(), unit: unit.to_string(), value }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::terrain::{HARDNESS, LayerSpec};
    use thalweg_core::{Field, Grid, Height};

    #[test]
    #[should_panic(expected = "row 1, column 5 lies outside a terrain of 4 × 5 cells")]
    fn a_cell_east_of_all_is_none_of_the_next_row() {
        probe_layers(&Terrain::new(Grid::new([4, 5], 10.0).unwrap()), [1, 5]);
    }

    #[test]
    #[should_panic(expected = "row 1, column 5 lies outside a terrain of 4 × 5 cells")]
    fn a_slope_east_of_all_is_none_of_the_next_row() {
        slope_degrees(&Terrain::new(Grid::new([4, 5], 10.0).unwrap()), [1, 5]);
    }

    #[test]
    fn all_numbers_of_a_cell_are_read() {
        let mut terrain = Terrain::new(Grid::new([4, 5], 10.0).unwrap());
        terrain.ground = Field::from_fn([4, 5], |_, j| Height::from_metres_clamped(10.0 * j as f64));
        assert!((slope_degrees(&terrain, [1, 2]) - 45.0).abs() < 1e-9);
        assert!(probe_layers(&terrain, [0, 0]).is_empty());
        terrain.insert_layer(&SEDIMENT, Cells::Height(Field::new([4, 5], Height::from_metres_clamped(1.5)))).unwrap();
        terrain
            .insert_layer(&HARDNESS, Cells::Float(Field::from_fn([4, 5], |i, _| if i == 0 { f32::NAN } else { 0.25 })))
            .unwrap();
        let own = LayerSpec::floats("own", "kg", "Ours.");
        terrain.insert_layer(&own, Cells::Float(Field::new([4, 5], 7.0))).unwrap();
        let read = |at: [usize; 2]| -> Vec<String> {
            probe_layers(&terrain, at).into_iter().map(|r| format!("{} {} {}", r.name, r.value, r.unit)).collect()
        };
        assert_eq!(read([0, 3]), ["loose 1.5 m", "own 7 kg"]);
        assert_eq!(read([1, 3]), ["loose 1.5 m", "hardness 0.25 ", "own 7 kg"]);
    }
}
