//! A terrain in the form in which it is sent between threads of a browser.

use serde::{Deserialize, Serialize};
use thalweg_core::terrain::{CellType, Cells, Column, ColumnType, Layer, LayerSpec, Table};
use thalweg_core::{Field, Grid, Height, Terrain};
use thalweg_models::models::Models;

use crate::raw::Raw;

/// A serializable terrain. The traits of its layers are not included, because the library declares them by name.
#[derive(Serialize, Deserialize)]
pub(super) struct TerrainMessage {
    grid: Grid,
    ground: Raw<i32>,
    loose: Option<Raw<i32>>,
    nodata: Option<Raw<u8>>,
    layers: Vec<(String, String, String, LayerBytes)>,
    tables: Vec<(String, Columns)>,
}

/// Names, units and values of a table's columns.
type Columns = Vec<(String, String, ColumnBytes)>;

/// The cells of a layer.
#[derive(Serialize, Deserialize)]
struct LayerBytes(CellType, #[serde(with = "serde_bytes")] Vec<u8>);

/// The values of a column.
#[derive(Serialize, Deserialize)]
struct ColumnBytes(ColumnType, #[serde(with = "serde_bytes")] Vec<u8>);

fn heights_to_units(field: &Field<Height>) -> Raw<i32> {
    Raw(field.map(|height| height.0))
}

fn units_to_heights(raw: &Raw<i32>) -> Field<Height> {
    raw.0.map(|units| Height(*units))
}

impl TerrainMessage {
    pub fn from_terrain(terrain: &Terrain) -> Self {
        let plane = |cells: &Cells| LayerBytes(cells.cell_type(), cells.to_bytes());
        let row = |column: &Column| ColumnBytes(column.column_type(), column.to_bytes());
        let columns = |table: &Table| {
            table.columns.iter().map(|(name, unit, column)| (name.clone(), unit.clone(), row(column))).collect()
        };
        let layer = |(name, layer): (&String, &Layer)| {
            (name.clone(), layer.unit.clone(), layer.meaning.clone(), plane(&layer.cells))
        };
        Self {
            grid: terrain.grid.clone(),
            ground: heights_to_units(&terrain.ground),
            loose: terrain.loose.as_ref().map(heights_to_units),
            nodata: terrain.nodata.as_ref().map(|mask| Raw(mask.map(|flag| u8::from(*flag)))),
            layers: terrain.layers.iter().map(layer).collect(),
            tables: terrain.tables.iter().map(|(name, table)| (name.clone(), columns(table))).collect(),
        }
    }

    pub fn into_terrain(self) -> Result<Terrain, String> {
        let ground = units_to_heights(&self.ground);
        let mut terrain = Terrain::from_ground(self.grid, ground).map_err(|error| error.to_string())?;
        terrain.loose = self.loose.as_ref().map(units_to_heights);
        terrain.nodata = self.nodata.map(|mask| mask.0.map(|flag| *flag != 0));
        let models = Models::default();
        for (name, unit, meaning, LayerBytes(kind, bytes)) in self.layers {
            let cells = Cells::from_bytes(kind, terrain.grid.size, &bytes).map_err(|error| error.to_string())?;
            // A layer that has the name of a declared one but another type of cells counts as undeclared.
            let declared = models.declared_layer(&name).filter(|spec| spec.cells == kind);
            let mut layer = Layer::new(&declared.unwrap_or_else(|| LayerSpec::undeclared(kind)), cells);
            (layer.unit, layer.meaning) = (unit, meaning);
            terrain.layers.insert(name, layer);
        }
        for (name, columns) in self.tables {
            let columns = columns.into_iter().map(|(name, unit, ColumnBytes(kind, bytes))| {
                Column::from_bytes(kind, &bytes).map(|column| (name, unit, column))
            });
            let columns =
                columns.collect::<thalweg_core::base::error::Result<Vec<_>>>().map_err(|error| error.to_string())?;
            terrain.tables.insert(name, Table { columns });
        }
        Ok(terrain)
    }
}
