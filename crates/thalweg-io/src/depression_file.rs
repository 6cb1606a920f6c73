//! [`DepressionFile`]: the tree of nested depressions as a CSV table, written row by row.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::map_coordinates::MapTransform;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Error, Grid, MapPoint, Result};
use thalweg_render::products::nested::NestedDepression;

/// The names of the columns.
const COLUMNS: [&str; 15] = [
    "id",
    "parent",
    "lake",
    "pit_x",
    "pit_y",
    "pit_m",
    "spill_x",
    "spill_y",
    "spill_m",
    "into",
    "into_lake",
    "cells",
    "area_m2",
    "volume_m3",
    "depth_m",
];

/// A CSV table of [`NestedDepression`]s with a header and one row each: heights and depth in metres, area in m², volume
/// in m³, positions in map coordinates. The number 0 stands for no depression or no lake. Fields are empty if there is
/// no value, for example the spill point of a depression without an outlet.
pub struct DepressionFile<'a> {
    table: csv::Writer<&'a mut dyn Write>,
    path: PathBuf,
    place: MapTransform,
    cell_area: f64,
}

impl<'a> DepressionFile<'a> {
    /// Begins the table of depressions of `grid`, written to `file`. `path` is the final path of the file, for error
    /// messages.
    ///
    /// # Errors
    /// Returns an error of writing to `file`.
    pub fn new(file: &'a mut dyn Write, path: &Path, grid: &Grid) -> Result<Self> {
        let mut table = csv::Writer::from_writer(file);
        table.write_record(COLUMNS).map_err(|error| Error::io(path, "write")(error.into()))?;
        Ok(Self { table, path: path.to_path_buf(), place: MapTransform::from_grid(grid), cell_area: grid.cell_area() })
    }

    /// Writes the row of the next depression.
    ///
    /// # Errors
    /// Returns an error of writing to `file`.
    pub fn write_row(&mut self, one: &NestedDepression) -> Result<()> {
        let at = |cell: Cell| {
            let MapPoint { x, y } = self.place.to_map_point(cell.map(|k| k as f64 + 0.5));
            [x, y].map(|metres| metres.to_string())
        };
        let NestedDepression { id, lake, into_lake, cells, .. } = one;
        let [parent, into] = [one.parent, one.into].map(Option::unwrap_or_default);
        let ([pit_x, pit_y], [spill_x, spill_y]) = (at(one.pit), one.spill.map_or_else(Default::default, at));
        // Five decimals resolve the unit of 1/65 536 m.
        let [floor, level] = [one.floor, one.level].map(|height| format!("{:.5}", height.metres()));
        let depth = one.level.metres() - one.floor.metres();
        let (area, volume) = (*cells as f64 * self.cell_area, one.volume as f64 / UNITS * self.cell_area);
        let row = [
            id.to_string(),
            parent.to_string(),
            lake.to_string(),
            pit_x,
            pit_y,
            floor,
            spill_x,
            spill_y,
            level,
            into.to_string(),
            into_lake.to_string(),
            cells.to_string(),
            format!("{area:.1}"),
            format!("{volume:.3}"),
            format!("{depth:.5}"),
        ];
        self.table.write_record(&row).map_err(|error| Error::io(&self.path, "write")(error.into()))
    }

    /// Writes the buffered rest of the table.
    ///
    /// # Errors
    /// Returns an error of writing to `file`.
    pub fn finish(mut self) -> Result<()> {
        self.table.flush().map_err(Error::io(&self.path, "write"))
    }
}
