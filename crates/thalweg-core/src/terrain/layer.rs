//! [`Layer`]: values by cell under a name, and how such a name is declared.

use serde::{Deserialize, Serialize};

use crate::terrain::field::{Field, Size, Window};
use crate::terrain::height::Height;

/// The cells of a layer, by type.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Elevations or thicknesses, in units of 1/65 536 m.
    Height(Field<Height>),
    /// Real numbers, in the layer's unit.
    Float(Field<f32>),
    /// Whole numbers from 0: counts, or numbers of kinds.
    Count(Field<u32>),
}

/// What a layer's cells are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CellType {
    /// [`Height`]: metres in fixed point.
    Height,
    /// `f32`: real numbers in the layer's unit.
    Float,
    /// `u32`: counts, or numbers of kinds.
    Count,
}

/// What becomes of a layer on cells of half the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finer {
    /// Each part of a cell has what the cell has.
    Same,
    /// Smooth between cells; a cell's four parts sum to four times its own value, and none is under zero.
    Smooth,
    /// Smooth as above, and as level over the finer ground as it can lie: a depth of water, in heights.
    Level,
    /// Half of it: what passes through a cell, for two cells lie side by side where one lay.
    Halved,
}

/// What becomes of a layer on a coarser copy of the terrain, a block of cells to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coarser {
    /// The mean of real numbers.
    Mean,
    /// The greatest of the real numbers in the block and a block's width round it.
    Most,
    /// It starts empty there. What is laid on it comes back: heights with their sum kept, counts to each cell of the block.
    Empty,
}

/// In which colours a layer is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hue {
    /// Those of any value, on an even scale.
    Plain,
    /// Of what passes, by powers of ten: water, droplets.
    Passing,
    /// Of what is wet.
    Wet,
    /// Of what is loose.
    Loose,
}

/// The declaration of a layer: what its name means wherever it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerSpec {
    /// Its name: that of its file and in [`Terrain::layers`](crate::terrain::Terrain::layers).
    pub name: &'static str,
    /// Its unit; `1` for pure numbers.
    pub unit: &'static str,
    /// What a cell's value says.
    pub meaning: &'static str,
    /// Its cells' type.
    pub cells: CellType,
    /// What it becomes on finer cells.
    pub finer: Finer,
    /// What it becomes on coarser cells.
    pub coarser: Coarser,
    /// In which colours it is drawn.
    pub hue: Hue,
    /// Which part of a vector it is.
    pub part: VectorPart,
}

/// Which part of a vector a layer is. Of a model's layers the first eastward part and the first southward one are a vector's, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorPart {
    /// None: it has no direction.
    None,
    /// The eastward part.
    East,
    /// The southward part.
    South,
}

impl LayerSpec {
    /// A layer of elevations or thicknesses: smooth on finer cells, empty on coarser ones.
    pub const fn heights(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        let (cells, finer, coarser) = (CellType::Height, Finer::Smooth, Coarser::Empty);
        Self { name, unit, meaning, cells, finer, coarser, hue: Hue::Plain, part: VectorPart::None }
    }

    /// A layer of real numbers: the same on finer cells, their mean on coarser ones.
    pub const fn floats(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        let (cells, finer, coarser) = (CellType::Float, Finer::Same, Coarser::Mean);
        Self { name, unit, meaning, cells, finer, coarser, hue: Hue::Plain, part: VectorPart::None }
    }

    /// A layer of counts: the same on finer cells, empty on coarser ones.
    pub const fn counts(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        let (cells, finer, coarser) = (CellType::Count, Finer::Same, Coarser::Empty);
        Self { name, unit, meaning, cells, finer, coarser, hue: Hue::Plain, part: VectorPart::None }
    }

    /// The same layer, which becomes this on finer cells.
    #[must_use]
    pub const fn finer(self, finer: Finer) -> Self {
        Self { finer, ..self }
    }

    /// The same layer, which becomes this on coarser cells.
    #[must_use]
    pub const fn coarser(self, coarser: Coarser) -> Self {
        Self { coarser, ..self }
    }

    /// The same layer, which is drawn in these colours.
    #[must_use]
    pub const fn hue(self, hue: Hue) -> Self {
        Self { hue, ..self }
    }

    /// The same layer, which is this part of a vector.
    #[must_use]
    pub const fn part(self, part: VectorPart) -> Self {
        Self { part, ..self }
    }

    /// A layer of unit, meaning and cells alone: one that nobody declared.
    pub fn undeclared(cells: CellType) -> Self {
        match cells {
            CellType::Height => Self::heights("", "", ""),
            CellType::Float => Self::floats("", "", ""),
            CellType::Count => Self::counts("", "", ""),
        }
    }
}

/// A named layer of a terrain.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Unit of the values, as of [`LayerSpec::unit`].
    pub unit: String,
    /// What a value says.
    pub meaning: String,
    /// What it becomes on finer cells.
    pub finer: Finer,
    /// What it becomes on coarser cells.
    pub coarser: Coarser,
    /// The values, one a cell of the terrain.
    pub cells: Cells,
}

impl Layer {
    /// A layer as it is declared, with these values.
    pub fn new(spec: &LayerSpec, cells: Cells) -> Self {
        let LayerSpec { finer, coarser, .. } = *spec;
        Self { unit: spec.unit.to_string(), meaning: spec.meaning.to_string(), finer, coarser, cells }
    }

    /// The same layer with other values, for a terrain of another size.
    pub fn with_cells(&self, cells: Cells) -> Self {
        Self { cells, ..self.clone() }
    }
}

impl Cells {
    /// Zeros of the given type, `size` rows and columns.
    pub fn zeros(cells: CellType, size: Size) -> Self {
        match cells {
            CellType::Height => Self::Height(Field::new(size, Height::ZERO)),
            CellType::Float => Self::Float(Field::new(size, 0.0)),
            CellType::Count => Self::Count(Field::new(size, 0)),
        }
    }

    /// Their type.
    pub fn cell_type(&self) -> CellType {
        match self {
            Self::Height(_) => CellType::Height,
            Self::Float(_) => CellType::Float,
            Self::Count(_) => CellType::Count,
        }
    }

    /// The real numbers; `None` of another type.
    pub fn float(&self) -> Option<&Field<f32>> {
        if let Self::Float(field) = self { Some(field) } else { None }
    }

    /// The heights or thicknesses; `None` of another type.
    pub fn heights(&self) -> Option<&Field<Height>> {
        if let Self::Height(field) = self { Some(field) } else { None }
    }

    /// Rows and columns.
    pub fn size(&self) -> Size {
        match self {
            Self::Height(f) => f.size(),
            Self::Float(f) => f.size(),
            Self::Count(f) => f.size(),
        }
    }

    /// As real numbers (heights in metres).
    pub fn to_float(&self) -> Field<f32> {
        match self {
            Self::Height(f) => f.map(|h| h.metres_f32()),
            Self::Float(f) => f.clone(),
            Self::Count(f) => f.map(|n| *n as f32),
        }
    }

    /// The cells of `window`, which lies inside, copied.
    pub fn window(&self, window: Window) -> Self {
        match self {
            Self::Height(f) => Self::Height(f.window(window)),
            Self::Float(f) => Self::Float(f.window(window)),
            Self::Count(f) => Self::Count(f.window(window)),
        }
    }

    /// Writes window `from` of `part` here from row and column `to` on, where it must fit in; nothing if the types differ.
    pub fn paste(&mut self, part: &Self, from: Window, to: [usize; 2]) {
        match (self, part) {
            (Self::Height(a), Self::Height(b)) => a.paste(b, from, to),
            (Self::Float(a), Self::Float(b)) => a.paste(b, from, to),
            (Self::Count(a), Self::Count(b)) => a.paste(b, from, to),
            _ => {}
        }
    }
}
