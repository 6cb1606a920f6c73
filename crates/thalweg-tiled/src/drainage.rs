//! The passes that compute everything in a [`Survey`](thalweg_export::survey::Survey) from an elevation model.

use std::sync::Arc;

use crate::part::DrainageMap;
use crate::{TilePass, catchments, fill, flats, lake_numbers, lakes, nested, stream_cells};
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_core::terrain::TileGrid;
use thalweg_core::terrain::grid::SIDES;
use thalweg_core::{Cell, Edge, Error, Grid, Result};
use thalweg_export::survey::DrainOptions;
use thalweg_flow::streams;

/// Returns the passes that drain a map of `grid` in tiles of `side` cells, with the threshold and outlets of
/// `options`. `grid` is the whole map; it may have more cells than one that [`Grid::new`] creates.
///
/// The passes read [`TileLayer::Height`](crate::TileLayer::Height) and write all other
/// [layers](crate::TileLayer::ALL), with the same bits as
/// [`Survey::from_terrain`](thalweg_export::survey::Survey::from_terrain). The memory in addition to a tile's layers is
/// given by [`TilePass::solve_bytes`]: some bytes for each cell on the rims of tiles, and for each stream.
///
/// # Errors
/// Returns an error if the map has no cells, if the cell size is not 0.001 to 100 000 m, if edges are looped (a tile
/// has no neighbour across a seam), if the side is not 1 to [`TileGrid::MAX_TILE_SIZE`], if an outlet is outside the
/// map, if options are out of range, or if breaching is requested, which needs the whole map.
pub fn tile_passes(grid: &Grid, side: usize, options: &DrainOptions) -> Result<Vec<Box<dyn TilePass>>> {
    let tiling = TileGrid::new(grid.size, side)?;
    if !(1e-3..=1e5).contains(&grid.cell) {
        return Err(Error::invalid_value("cell size", format!("{} m", grid.cell), "0.001 to 100000 m"));
    }
    if let Some(side) = (0..4).find(|side| grid.edges[*side] == Edge::Looped) {
        let subject = format!("edges.{} = \"looped\"", SIDES[side]);
        return Err(Error::unsupported(subject, "is not supported by tiles; use open or closed edges"));
    }
    options.check_form(WorkForm::Store, |option| option.name.to_string())?;
    options.check_ranges()?;
    let ([rows, cols], outlets) = (grid.size, options.outlet_cells(grid)?);
    if let Some(Cell { row: i, col: j }) = outlets.iter().find(|cell| cell.row >= rows || cell.col >= cols) {
        let allowed = format!("a cell with data, rows 0 to {}, columns 0 to {}", rows - 1, cols - 1);
        return Err(Error::invalid_value("outlet", format!("row {i}, column {j}"), allowed));
    }
    let min_stream_cells = streams::min_stream_cells_u64(options.stream_threshold(grid), grid.cell_area());
    let map = Arc::new(DrainageMap { grid: grid.clone(), tiling, outlets, min_stream_cells });
    // Each pass receives the answers of the one before it, so this order is part of their contract.
    let mut passes: Vec<Box<dyn TilePass>> = vec![
        Box::new(fill::Spills(map.clone())),
        Box::new(fill::Fill(map.clone())),
        Box::new(flats::FlatsPass(map.clone())),
        Box::new(flats::DirectionPass(map.clone())),
        Box::new(catchments::CatchmentsPass(map.clone())),
        Box::new(stream_cells::DrainageAreaPass(map.clone())),
        Box::new(stream_cells::StreamOrderPass(map.clone())),
        Box::new(lakes::Shores(map.clone())),
        Box::new(lake_numbers::LakeNumbersPass(map.clone())),
    ];
    if options.depressions {
        passes.push(Box::new(nested::Nested(map)));
    }
    Ok(passes)
}
