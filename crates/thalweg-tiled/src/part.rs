//! [`DrainageMap`]: the land of a whole map without its elevation; [`MapPart`]: a window of it with elevation, which
//! [`flow`](thalweg_flow) can process as a land.

use std::sync::Arc;

use crate::Summaries;
use crate::codec::{Reader, Writer};
use crate::layer::{NO_HEIGHT, TileLayer};
use thalweg_core::terrain::TileGrid;
use thalweg_core::{Cell, CellRect, Edge, Error, Field, Grid, Height, Result};
use thalweg_flow::Land;
use thalweg_io::Samples;

/// The input that all passes share.
#[derive(Debug)]
pub(super) struct DrainageMap {
    pub(super) grid: Grid,
    pub(super) tiling: TileGrid,
    pub(super) outlets: Vec<Cell>,
    /// The threshold of flow accumulation for a stream, in cells.
    pub(super) min_stream_cells: u64,
}

/// A map shared by all passes.
pub(super) type SharedMap = Arc<DrainageMap>;

/// A window of the map with its elevation.
pub(super) struct MapPart {
    pub(super) window: CellRect,
    grid: Grid,
    ground: Field<Height>,
    nodata: Option<Field<bool>>,
    outlets: Vec<Cell>,
}

impl DrainageMap {
    /// Creates the part of the map in `window` with these heights. `stand_in` is the index of an additional outlet.
    pub(super) fn create_part(&self, window: CellRect, heights: Vec<i32>, stand_in: Option<u64>) -> Result<MapPart> {
        let mut grid = self.grid.window(window);
        let Cell { row: first_row, col: first_col } = window.start;
        // `ends` states for north, east, south and west whether this edge of the window is an edge of the map. All
        // other edges are closed, so that water does not leave the land at the borders of tiles.
        let ends = [
            first_row == 0,
            first_col + window.size()[1] == self.grid.cols(),
            first_row + window.size()[0] == self.grid.rows(),
            first_col == 0,
        ];
        for (edge, ends) in grid.edges.iter_mut().zip(ends) {
            *edge = if ends { *edge } else { Edge::Closed };
        }
        // Only a window with missing data gets a mask, which takes one byte per cell.
        let void = heights.contains(&NO_HEIGHT);
        let nodata = void.then(|| heights.iter().map(|height| *height == NO_HEIGHT).collect());
        let nodata = nodata.map(|mask| Field::from_vec(window.size(), mask)).transpose()?;
        let ground = Field::from_vec(window.size(), heights.into_iter().map(Height).collect())?;
        // Outlets outside the window are dropped; the others are moved to its coordinates.
        let all = self.outlets.iter().copied().chain(stand_in.map(|index| self.tiling.cell_from_index(index)));
        let outlets = all.filter_map(|cell| locate_cell(window, cell)).collect();
        Ok(MapPart { window, grid, ground, nodata, outlets })
    }

    /// Returns true if a cell of this height has data and is above the sea.
    pub(super) fn is_dry(&self, height: i32) -> bool {
        height != NO_HEIGHT && self.grid.sea_level.is_none_or(|sea| height > sea.0)
    }
}

impl MapPart {
    pub(super) fn as_land(&self) -> Land<'_> {
        Land { grid: &self.grid, ground: &self.ground, nodata: self.nodata.as_ref(), outlets: &self.outlets }
    }

    /// Returns an error if a given outlet has no data.
    pub(super) fn check_outlets(&self) -> Result<()> {
        let is_void = |cell: &&Cell| self.nodata.as_ref().is_some_and(|mask| mask[**cell]);
        match self.outlets.iter().find(is_void) {
            Some(cell) => {
                let Cell { row, col } = Cell::from_axes(|axis| cell[axis] + self.window.start[axis]);
                Err(Error::invalid_value("outlet", format!("row {row}, column {col}"), "a cell with data"))
            }
            None => Ok(()),
        }
    }

    /// Returns the position of another window within this one, which must contain it.
    pub(super) fn locate_window(&self, window: CellRect) -> CellRect {
        let start = [0, 1].map(|axis| window.start[axis] - self.window.start[axis]);
        CellRect::new(start, window.size())
    }
}

/// Returns the position of a map cell in a window; `None` if it is outside.
fn locate_cell(window: CellRect, cell: Cell) -> Option<Cell> {
    window.contains_cell(cell).then(|| Cell::from_axes(|axis| cell[axis] - window.start[axis]))
}

/// The layers that a pass receives, taken one by one.
pub(super) struct Inputs(std::vec::IntoIter<Samples>);

/// Defines a method that takes the next layer and checks its sample type and size.
macro_rules! take {
    ($name:ident, $kind:ident, $type:ty) => {
        pub(super) fn $name(&mut self, layer: TileLayer, window: CellRect) -> Result<Vec<$type>> {
            let count = window.size()[0] * window.size()[1];
            match self.0.next() {
                Some(Samples::$kind(samples)) if samples.len() == count => Ok(samples),
                Some(other) => {
                    let problem = format!(
                        "has {} samples of type {}; the pass needs {count} of type {}",
                        other.len(),
                        other.kind(),
                        layer.kind()
                    );
                    Err(Error::invalid_layer(layer.name(), problem))
                }
                None => Err(Error::invalid_layer(layer.name(), "is required by this pass and is missing")),
            }
        }
    };
}

impl Inputs {
    pub(super) fn new(inputs: Vec<Samples>) -> Self {
        Self(inputs.into_iter())
    }

    take!(heights, I32, i32);
    take!(codes, U8, u8);
    take!(areas, F64, f64);
    take!(numbers, U32, u32);
}

/// Reads the index of a cell of the map.
pub(super) fn read_cell_index(map: &DrainageMap, reader: &mut Reader<'_>) -> Result<u64> {
    // A negative value becomes the greatest index, which the comparison below rejects.
    let index = u64::try_from(reader.read_difference()?).unwrap_or(u64::MAX);
    if index < map.tiling.index([map.grid.rows(), 0]) { Ok(index) } else { Err(reader.damage_error()) }
}

/// Reads the additional outlet of a map that has no other ([`Land::cell_roles`]), which is passed on from pass to pass.
pub(super) fn read_fallback_outlet(what: &'static str, summaries: &dyn Summaries) -> Result<Option<u64>> {
    // Every tile passes the same value on, so the summary of the first tile suffices.
    Reader::new(what, 0, &summaries.read(0)?)?.read_option()
}

/// Returns the memory of a list of messages, in addition to their contents, in bytes.
pub(super) fn estimate_list_bytes(tiling: &TileGrid) -> u64 {
    /// A vector, the allocator's overhead, and spare capacity because messages grow in steps.
    const LIST_OVERHEAD_BYTES: u64 = 64;
    LIST_OVERHEAD_BYTES * tiling.tile_count() as u64
}

/// Returns a message that contains only the additional outlet.
pub(super) fn encode_fallback_outlet(stand_in: Option<u64>) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.write_option(stand_in);
    writer.finish()
}
