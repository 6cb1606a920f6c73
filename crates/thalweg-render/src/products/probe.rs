//! [`probe_layers`]: the values of all layers at one cell, and their form as text.

use std::fmt;

use crate::products::overlay::layer_title;
use crate::products::slope::central_gradient;
use thalweg_core::terrain::{Cells, SEDIMENT};
use thalweg_core::{Cell, Terrain};

/// A value at a cell with its title and unit, displayed as in `Slope 12.3°`.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The title of the quantity, in words.
    pub title: String,
    /// The unit; empty if it has none.
    pub unit: String,
    /// The value in `unit`.
    pub value: f32,
    /// True if the value is a whole number, such as the number of a basin.
    pub is_whole: bool,
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.title, format_value(self.value, &self.unit, self.is_whole))
    }
}

/// Formats a value with its unit for display: whole numbers without decimals, others with few digits, large areas in
/// km². The unit may be empty, or `1` for a pure number.
///
/// # Examples
/// ```
/// use thalweg_render::products::probe::format_value;
///
/// assert_eq!(format_value(29.0, "1", true), "29");
/// assert_eq!(format_value(12.34, "°", false), "12.3°");
/// assert_eq!(format_value(1.234e6, "m²", false), "1.23 km²");
/// ```
pub fn format_value(value: f32, unit: &str, is_whole: bool) -> String {
    // An area of many cells has more digits in m² than can be read at a glance.
    let (value, unit) = if unit == "m²" && value.abs() >= 1e5 { (1e-6 * value, "km²") } else { (value, unit) };
    let number = if is_whole && value.is_finite() { format!("{value:.0}") } else { format_number(value) };
    match unit {
        "" | "1" => number,
        "°" => number + unit,
        unit => format!("{number} {unit}"),
    }
}

/// Formats a number with few digits.
///
/// # Examples
/// ```
/// use thalweg_render::products::probe::format_number;
///
/// assert_eq!([0.0, 1234.56, 0.5, 0.0012, 2.5e6].map(format_number), ["0", "1234.6", "0.50", "1.2e-3", "2.5e6"]);
/// ```
pub fn format_number(x: f32) -> String {
    match x.abs() {
        0.0 => "0".to_string(),
        a if !a.is_finite() => "–".to_string(),
        // The number of decimals falls with the size, so that a number has two to five digits.
        a if a >= 1e5 => format!("{x:.1e}"),
        a if a >= 1e4 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 0.01 => format!("{x:.2}"),
        _ => format!("{x:.1e}"),
    }
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

/// Returns the values of the terrain's layers at a cell (row, column): the sediment thickness first, then the layers in
/// the order of their names. Values that are not finite are omitted.
///
/// # Panics
/// Panics if the cell is outside the terrain.
pub fn probe_layers(terrain: &Terrain, cell: impl Into<Cell>) -> Vec<Reading> {
    let Cell { row: i, col: j } = cell.into();
    let [rows, cols] = terrain.ground.size();
    // A clear message replaces the panic of an index out of bounds.
    assert!(i < rows && j < cols, "row {i}, column {j} lies outside a terrain of {rows} × {cols} cells");
    let loose = terrain.loose.as_ref().map(|loose| (SEDIMENT.name, "m", loose[(i, j)].metres_f32(), false));
    let layers = terrain.layers.iter().filter(|(_, layer)| layer.cells.size() == terrain.ground.size());
    let layers = layers.map(|(name, layer)| {
        let (value, is_whole) = match &layer.cells {
            Cells::Height(field) => (field[(i, j)].metres_f32(), false),
            Cells::Float(field) => (field[(i, j)], false),
            Cells::Count(field) => (field[(i, j)] as f32, true),
        };
        (name.as_str(), if layer.unit == "1" { "" } else { layer.unit.as_str() }, value, is_whole)
    });
    let read = loose.into_iter().chain(layers).filter(|(_, _, value, _)| value.is_finite());
    let reading = |(name, unit, value, is_whole): (&str, &str, f32, bool)| Reading {
        title: layer_title(name),
        unit: unit.to_string(),
        value,
        is_whole,
    };
    read.map(reading).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::terrain::{HARDNESS, LayerSpec};
    use thalweg_core::{Field, Grid, Height};
    use thalweg_models::models::drainage::{ACCUMULATION, STREAM_ORDER};

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
        let own = LayerSpec::floats("own_layer", "kg", "Ours.");
        terrain.insert_layer(&own, Cells::Float(Field::new([4, 5], 7.0))).unwrap();
        terrain.insert_layer(&STREAM_ORDER, Cells::Count(Field::new([4, 5], 29))).unwrap();
        terrain.insert_layer(&ACCUMULATION, Cells::Float(Field::new([4, 5], 1_234_000.0))).unwrap();
        let read =
            |at: [usize; 2]| -> Vec<String> { probe_layers(&terrain, at).iter().map(Reading::to_string).collect() };
        let [area, loose] = ["Drainage area 1.23 km²", "Sediment thickness 1.50 m"];
        assert_eq!(read([0, 3]), [loose, area, "Own layer 7.00 kg", "Stream order 29"]);
        assert_eq!(read([1, 3]), [loose, area, "Hardness 0.25", "Own layer 7.00 kg", "Stream order 29"]);
    }

    #[test]
    fn numbers_have_the_digits_that_are_read() {
        let cases = [(-12.34, "-12.3"), (9.876, "9.88"), (12_345.6, "12346"), (0.009, "9.0e-3"), (f32::NAN, "–")];
        for (x, text) in cases {
            assert_eq!(format_number(x), text);
        }
        assert_eq!(format_value(20_000_000.0, "1", true), "20000000");
        assert_eq!(format_value(5e4, "m²", false), "50000 m²");
    }
}
