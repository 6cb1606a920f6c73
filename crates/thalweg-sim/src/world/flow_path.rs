//! [`FlowPathCells`]: a flow path, cell by cell, through any number of tiles.

use std::sync::Arc;

use super::World;
use thalweg_core::{Cell, Error, Point, Result};
use thalweg_flow::D8;
use thalweg_refine::LocalWindow;

/// A cell on a flow path.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FlowPathCell {
    /// The cell of its level.
    pub cell: Cell<i64>,
    /// The position of its centre.
    pub place: Point,
    /// Elevation of the ground in metres, or of the surface of the lake over it.
    pub height: f64,
    /// The number of the lake that covers it; `None` on dry land.
    pub lake: Option<u32>,
    /// Drainage area in m².
    pub area: f64,
    /// How the flow path ends here; `None` if it goes on.
    pub end: Option<PathEnd>,
}

/// The kinds of ends of a flow path. For example, every path on an island in the sea ends in [`PathEnd::Sea`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathEnd {
    /// The sea.
    Sea,
    /// The open edge of the world.
    Rim,
    /// An inland outlet: where a world with closed edges has no other end for the water.
    Inland,
}

/// An iterator over the flow path from a cell down to its end, tile by tile. The end is the last item; after an error
/// there are no more.
#[derive(Clone)]
pub struct FlowPathCells<'a> {
    world: &'a World,
    level: u32,
    next: Option<Cell<i64>>,
    tile: Option<Arc<LocalWindow>>,
    tiles: usize,
}

impl<'a> FlowPathCells<'a> {
    pub(super) fn new(world: &'a World, level: u32, cell: Cell<i64>) -> Self {
        Self { world, level, next: Some(cell), tile: None, tiles: 0 }
    }

    /// Returns the number of tiles through which the path has run so far; a tile to which it returns is counted
    /// again.
    pub fn tile_count(&self) -> usize {
        self.tiles
    }

    fn visit_cell(&mut self, cell: Cell<i64>) -> Result<FlowPathCell> {
        // The last tile is kept, because the next cell of a path is usually in it.
        if !self.tile.as_ref().is_some_and(|tile| tile.rect.contains_cell(cell)) {
            self.tile = Some(self.world.tile_at(self.level, self.world.containing_tile(cell))?);
            self.tiles += 1;
        }
        let outside =
            || Error::invalid_value("cell", format!("row {}, column {}", cell.row, cell.col), "a cell of the world");
        let tile = self.tile.as_ref().filter(|tile| tile.rect.contains_cell(cell)).ok_or_else(outside)?;
        let [i, j] = [0, 1].map(|axis| (cell[axis] - tile.rect.start[axis]) as usize);
        let (height, lake) = (tile.surface((i, j)), tile.lake((i, j)).map(|(number, _)| number));
        self.next = D8::from_code(tile.receivers[(i, j)]).map(|direction| direction.adjacent_cell(cell));
        let frame = self.world.frame();
        // A cell without a receiver is in the sea, on an open edge, or an inland outlet; the sea is tested first,
        // because a cell may be both.
        let end = match self.next {
            Some(_) => None,
            None if frame.sea.is_some_and(|sea| height <= sea) => Some(PathEnd::Sea),
            None if frame.is_rim(self.level, cell) => Some(PathEnd::Rim),
            None => Some(PathEnd::Inland),
        };
        let width = frame.cell_width(self.level);
        let Cell { row: y, col: x } = cell.map(|at| (at as f64 + 0.5) * width);
        Ok(FlowPathCell {
            cell,
            place: Point { x, y },
            height: height.metres(),
            lake,
            area: f64::from(tile.area[(i, j)]),
            end,
        })
    }
}

impl Iterator for FlowPathCells<'_> {
    type Item = Result<FlowPathCell>;

    fn next(&mut self) -> Option<Self::Item> {
        let cell = self.next.take()?;
        Some(self.visit_cell(cell))
    }
}
