//! [`Lake`]: a water body with its level, outlet and outline. [`LakeRaster`]: lakes by cell.

use crate::terrain::field::{Field, Size};
use crate::terrain::height::Height;
use crate::terrain::{Cell, CellRect};

/// A lake: standing water that is connected and level.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lake {
    /// Its number, from 1; 0 marks dry cells in a raster of lake numbers.
    pub id: u32,
    /// Elevation of its surface in metres.
    pub level: f64,
    /// Number of its cells.
    pub cells: u64,
    /// Area of its surface in m².
    pub area: f64,
    /// Volume of its water in m³.
    pub volume: f64,
    /// Mean depth in metres.
    pub mean_depth: f64,
    /// Greatest depth in metres.
    pub max_depth: f64,
    /// The cell through which its water leaves: the lowest dry cell adjacent to it, if that is no higher than the
    /// level, or a cell of its own on an edge; `None` if it is not full.
    pub outlet: Option<Cell>,
    /// Runoff from its own shores in m³/s; `None` where it is not known.
    pub runoff: Option<f64>,
    /// Its outline, islands after it: closed lines whose first point is their last, in cells from the north-west
    /// corner. With north up the outline runs counter-clockwise, islands clockwise. Corners of cells are cut, so
    /// that no two lines meet.
    pub outline: Vec<Vec<Cell<f64>>>,
}

/// Standing water by cell: the number and the level of the lake over each cell of a raster, whose ground there is the
/// lake's bed.
#[derive(Debug, Clone, PartialEq)]
pub struct LakeRaster {
    /// Number of the lake over each cell, from 1; 0 where there is none.
    pub id: Field<u32>,
    /// Level of that lake, the same in all its cells; [`Height::ZERO`] where there is none.
    pub level: Field<Height>,
}

impl LakeRaster {
    /// A raster without any lake.
    pub fn new(size: Size) -> Self {
        Self { id: Field::new(size, 0), level: Field::new(size, Height::ZERO) }
    }

    /// Copies the cells `from` of another raster here, the first of them to the cell `to`.
    pub fn paste(&mut self, part: &Self, from: CellRect, to: impl Into<Cell>) {
        let to = to.into();
        self.id.paste(&part.id, from, to);
        self.level.paste(&part.level, from, to);
    }

    /// The lakes in a rectangle; `None` where it has no lake.
    pub fn window(&self, window: CellRect) -> Option<Self> {
        let id = self.id.window(window);
        id.as_slice().iter().any(|id| *id != 0).then(|| Self { id, level: self.level.window(window) })
    }
}
