//! Reading of layers from files: masks and other inputs.

use std::path::Path;

use super::{FilePath, Raster, SampleType, read_raster};
use thalweg_core::terrain::{CellType, Cells, LayerSpec};
use thalweg_core::{Cell, Error, Field, Grid, Height, Result, Terrain};

/// Reads the layer `spec` for a terrain of this grid.
///
/// Codes of a float layer with unit 1 are shares: u8 is divided by 255 and u16 by 65535, unless the file specifies a
/// scale or a unit. All other values are used as stored, times the file's scale; heights are metres, counts must be
/// whole numbers.
///
/// # Errors
/// Returns the errors of [`read_raster`]; an error if the size differs from the grid's; an error that names the cell if
/// a value is NaN, infinite, no data, or out of the layer's range.
///
/// # Examples
/// A mask of 8 bits, painted in another program: 255 is the share 1.
///
/// ```
/// use thalweg_core::terrain::{Cells, PROTECT};
/// use thalweg_core::{Field, Grid};
/// use thalweg_io::{MemoryFiles, Raster, Samples, load_layer, write_raster};
///
/// let files = MemoryFiles::default();
/// write_raster(files.path("mask.png"), &Raster::new([1, 2], Samples::U8(vec![0, 255])))?;
/// let cells = load_layer(files.path("mask.png"), &Grid::new([1, 2], 10.0)?, &PROTECT)?;
/// assert_eq!(cells, Cells::Float(Field::from_vec([1, 2], vec![0.0, 1.0])?));
/// // The size must be that of the grid.
/// assert!(load_layer(files.path("mask.png"), &Grid::new([2, 2], 10.0)?, &PROTECT).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn load_layer(path: impl Into<FilePath>, grid: &Grid, spec: &LayerSpec) -> Result<Cells> {
    let path = &path.into();
    read_layer(path, read_raster(path)?, grid, spec, None)
}

/// Reads a layer as [`load_layer`] does, for a world that is built in levels, of which `coarsest` is the first. The
/// file may have the size of that level or a power of two times it, and is returned in its own size.
///
/// # Errors
/// Returns the errors of [`load_layer`].
pub fn load_layer_at_level(path: impl Into<FilePath>, coarsest: &Grid, spec: &LayerSpec) -> Result<Cells> {
    let path = &path.into();
    let raster = read_raster(path)?;
    let [rows, cols] = raster.size;
    let [want_rows, want_cols] = coarsest.size;
    // Each level doubles the number of rows and columns.
    let times = rows / want_rows;
    if !times.is_power_of_two() || [want_rows * times, want_cols * times] != raster.size {
        let problem = format!(
            "is read from {}, which is {cols} × {rows} cells (columns × rows); it must be {want_cols} × \
             {want_rows}, or that size times a power of 2",
            path.display()
        );
        return Err(Error::invalid_layer(spec.name, problem));
    }
    read_layer(path, raster, &Grid { size: [rows, cols], ..coarsest.clone() }, spec, None)
}

/// Reads a layer as [`load_layer`] does, for a layer that was written with this terrain: cells where the terrain has no
/// data become 0.
///
/// # Errors
/// Returns the errors of [`load_layer`] for cells with data.
pub fn load_terrain_layer(path: impl Into<FilePath>, terrain: &Terrain, spec: &LayerSpec) -> Result<Cells> {
    let path = &path.into();
    read_layer(path, read_raster(path)?, &terrain.grid, spec, terrain.nodata.as_ref())
}

fn read_layer(path: &Path, raster: Raster, grid: &Grid, spec: &LayerSpec, mask: Option<&Field<bool>>) -> Result<Cells> {
    let [rows, cols] = raster.size;
    if raster.size != grid.size {
        let [want_rows, want_cols] = grid.size;
        return Err(Error::invalid_layer(
            spec.name,
            format!(
                "is read from {}, which is {cols} × {rows} cells (columns × rows); the terrain is \
                 {want_cols} × {want_rows}",
                path.display()
            ),
        ));
    }
    convert_layer_cells(path, &raster, Cell::new(0, 0), spec, mask)
}

/// Converts a piece of a layer, as [`load_layer`] does for a whole one: the cells of a file from `start` on. Messages
/// name `path`.
///
/// # Errors
/// Returns the errors of [`load_layer`], except for the size.
pub fn layer_piece(path: &Path, piece: &Raster, start: Cell, spec: &LayerSpec) -> Result<Cells> {
    convert_layer_cells(path, piece, start, spec, None)
}

fn convert_layer_cells(
    path: &Path,
    raster: &Raster,
    start: Cell,
    spec: &LayerSpec,
    mask: Option<&Field<bool>>,
) -> Result<Cells> {
    let [rows, cols] = raster.size;
    // Codes are shares only in a float layer without a unit, and only if the file has no scale of its own.
    let full = match raster.samples.kind() {
        SampleType::U8 | SampleType::U16 if spec.unit != "1" || spec.cells != CellType::Float => 1.0,
        kind => kind.max_code().filter(|_| !raster.scaled).unwrap_or(1.0),
    };
    let [factor, offset] = raster.scale;
    let values = (0..rows * cols).map(|k| {
        let sample = raster.samples.get(k);
        let value = (sample * factor + offset) / full;
        let problem = match spec.cells {
            _ if mask.is_some_and(|mask| mask[k]) => return Ok(0.0),
            _ if raster.nodata == Some(sample) || raster.is_masked(k) => {
                "this is no data, and every cell needs a value"
            }
            _ if !value.is_finite() => "it must be a finite number",
            CellType::Count if value.fract() != 0.0 || !(0.0..=f64::from(u32::MAX)).contains(&value) => {
                "it must be a whole number from 0 to 4294967295"
            }
            CellType::Height if Height::from_metres(value).is_err() => "it must be -16000 to 16000 m",
            CellType::Float if !(value as f32).is_finite() => "it must be within the range of a 32-bit float",
            _ => return Ok(value),
        };
        let place = format_cell(Cell::new(start.row + k / cols, start.col + k % cols));
        let problem = format!("is read from {}, which has {sample} at {place}; {problem}", path.display());
        Err(Error::invalid_layer(spec.name, problem))
    });
    Ok(match spec.cells {
        CellType::Float => {
            Cells::Float(Field::from_vec(raster.size, values.map(|v| Ok(v? as f32)).collect::<Result<_>>()?)?)
        }
        CellType::Count => {
            Cells::Count(Field::from_vec(raster.size, values.map(|v| Ok(v? as u32)).collect::<Result<_>>()?)?)
        }
        CellType::Height => {
            let heights = values.map(|v| Height::from_metres(v?)).collect::<Result<_>>()?;
            Cells::Height(Field::from_vec(raster.size, heights)?)
        }
    })
}

/// Formats a cell for messages.
pub(super) fn format_cell(cell: Cell) -> String {
    let Cell { row, col } = cell;
    format!("row {row}, column {col} (counted from 0 in the north-west)")
}
