//! [`Lake`]: a water body with its level, outlet and outline. [`LakeRaster`]: lakes by cell.

use crate::terrain::field::{Field, Size};
use crate::terrain::height::Height;
use crate::terrain::{Cell, CellRect};

/// A lake: standing water that is connected and level.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lake {
    /// The number of the lake, from 1; 0 marks dry cells in a raster of lake numbers.
    pub id: u32,
    /// The elevation of its surface in metres.
    pub level: f64,
    /// The number of its cells.
    pub cells: u64,
    /// The area of its surface in m².
    pub area: f64,
    /// The volume of its water in m³.
    pub volume: f64,
    /// The mean depth in metres.
    pub mean_depth: f64,
    /// The greatest depth in metres.
    pub max_depth: f64,
    /// The cell through which its water leaves: the lowest dry cell adjacent to it, if that is no higher than the
    /// level, or a cell of its own on an edge; `None` if the lake is not full. For example, a lake in a dry basin that
    /// evaporation keeps below its sill has no outlet.
    pub outlet: Option<Cell>,
    /// The runoff from its own shores in m³/s; `None` if it is not known.
    pub runoff: Option<f64>,
    /// The outline, followed by those of the islands: closed lines whose last point is the first, in cells from the
    /// north-western corner. With north up the outline runs counter-clockwise, islands clockwise. The corners of cells
    /// are cut off, so that no two lines meet.
    pub outline: Vec<Vec<Cell<f64>>>,
}

/// Standing water by cell: the number and the level of the lake over each cell of a raster. The ground there is the
/// lake bed.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::LakeRaster;
/// use thalweg_core::{CellRect, Height};
///
/// // Lake 1 covers one cell; its surface is at 410 m.
/// let mut lakes = LakeRaster::new([4, 4]);
/// lakes.id[(1, 1)] = 1;
/// lakes.level[(1, 1)] = Height::from_metres(410.0)?;
/// assert!(lakes.copy_window(CellRect::new([0, 0], [2, 2])).is_some());
/// assert!(lakes.copy_window(CellRect::new([2, 2], [2, 2])).is_none());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LakeRaster {
    /// The number of the lake over each cell, from 1; 0 where there is none.
    pub id: Field<u32>,
    /// The level of that lake, the same in all its cells; [`Height::ZERO`] where there is none.
    pub level: Field<Height>,
}

impl LakeRaster {
    /// Makes a raster without lakes.
    pub fn new(size: Size) -> Self {
        Self { id: Field::new(size, 0), level: Field::new(size, Height::ZERO) }
    }

    /// Copies the cells `from` of another raster here, the first of them to the cell `to`.
    pub fn paste(&mut self, part: &Self, from: CellRect, to: impl Into<Cell>) {
        let to = to.into();
        self.id.paste(&part.id, from, to);
        self.level.paste(&part.level, from, to);
    }

    /// Returns the lakes in a rectangle; `None` if it has no lake.
    pub fn copy_window(&self, window: CellRect) -> Option<Self> {
        let id = self.id.copy_window(window);
        id.as_slice().iter().any(|id| *id != 0).then(|| Self { id, level: self.level.copy_window(window) })
    }
}
