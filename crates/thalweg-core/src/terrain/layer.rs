//! [`Layer`]: values by cell under a name, and how such a name is declared.

use serde::{Deserialize, Serialize};

use crate::{Cell, CellRect, Field, Height, Size};

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
    /// As [`Hue::Wet`], for a share from 0 to 1, whose scale ends there.
    WetShare,
    /// Of what is loose.
    Loose,
}

/// Which part of a vector a layer is. The first eastward and the first southward part among a model's layers are one
/// vector, the second ones another, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorPart {
    /// None: it has no direction.
    None,
    /// The eastward part.
    East,
    /// The southward part.
    South,
}

/// Which overlays show a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerOverlay {
    /// An overlay under the layer's own name, in the colours of its [`Hue`].
    ByName,
    /// An overlay that the library defines. The layer has no second one under its own name.
    Dedicated,
}

/// Which functions read a layer back from a world's folder. Every layer of a world is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBack {
    /// None: other programs use the file.
    Never,
    /// `world_folder::read_shown`, which live views and Python use.
    InViews,
    /// `world_folder::read_world` as well.
    Always,
}

/// Which mass balance counts the values of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mass {
    /// None.
    None,
    /// The balance of solid ([`Terrain::solid`](crate::terrain::Terrain::solid)): the values are thicknesses of
    /// sediment that the ground does not contain. Their cells are [`CellType::Height`], of which sums are exact.
    Solid,
    /// The balance of water ([`Terrain::standing`](crate::terrain::Terrain::standing)): the values are depths in
    /// metres.
    Water,
}

/// How long a layer stays in a terrain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until something removes it.
    World,
    /// Until the running stage ends.
    Stage,
}

/// The declaration of a layer. Code that treats some layers differently from others asks for what is declared here, and
/// keeps no list of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerSpec {
    /// Identifies the layer: the key in [`Terrain::layers`](crate::terrain::Terrain::layers), and the stem of its
    /// file's name.
    pub name: &'static str,
    /// Its unit; `1` for pure numbers.
    pub unit: &'static str,
    /// What a cell's value says.
    pub meaning: &'static str,
    /// Its cells' type.
    pub cells: CellType,
    /// How the library treats it.
    pub traits: LayerTraits,
}

/// How the library treats a layer: the part of its declaration that a [`Layer`] in a terrain keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayerTraits {
    /// What it becomes on finer cells.
    pub finer: Finer,
    /// What it becomes on coarser cells.
    pub coarser: Coarser,
    /// In which colours it is drawn.
    pub hue: Hue,
    /// Which part of a vector it is.
    pub part: VectorPart,
    /// Which overlays show it.
    pub overlay: LayerOverlay,
    /// Which functions read it back from a world's folder.
    pub in_world_folder: ReadBack,
    /// Which mass balance counts its values.
    pub mass: Mass,
    /// Whether its values follow from where water stands or flows. A change of the ground makes them wrong, so a sketch
    /// does not change the ground after the last stage that writes such a layer.
    pub follows_water: bool,
    /// How long it stays in a terrain.
    pub lifetime: Lifetime,
}

/// Declares methods that return a [`LayerSpec`] with another value of one of its [`LayerTraits`].
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub const fn $field(mut self, $field: $type) -> Self {
            self.traits.$field = $field;
            self
        })*
    };
}

impl LayerSpec {
    const fn new([name, unit, meaning]: [&'static str; 3], cells: CellType, finer: Finer, coarser: Coarser) -> Self {
        let traits = LayerTraits {
            finer,
            coarser,
            hue: Hue::Plain,
            part: VectorPart::None,
            overlay: LayerOverlay::ByName,
            in_world_folder: ReadBack::Never,
            mass: Mass::None,
            follows_water: false,
            lifetime: Lifetime::World,
        };
        Self { name, unit, meaning, cells, traits }
    }

    /// A layer of elevations or thicknesses: smooth on finer cells, empty on coarser ones.
    pub const fn heights(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self::new([name, unit, meaning], CellType::Height, Finer::Smooth, Coarser::Empty)
    }

    /// A layer of real numbers: the same on finer cells, their mean on coarser ones.
    pub const fn floats(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self::new([name, unit, meaning], CellType::Float, Finer::Same, Coarser::Mean)
    }

    /// A layer of counts: the same on finer cells, empty on coarser ones.
    pub const fn counts(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self::new([name, unit, meaning], CellType::Count, Finer::Same, Coarser::Empty)
    }

    setters! {
        /// The same layer, which becomes this on finer cells.
        finer: Finer;
        /// The same layer, which becomes this on coarser cells.
        coarser: Coarser;
        /// The same layer, which is drawn in these colours.
        hue: Hue;
        /// The same layer, which is this part of a vector.
        part: VectorPart;
        /// The same layer, which these overlays show.
        overlay: LayerOverlay;
        /// The same layer, which these functions read back from a world's folder.
        in_world_folder: ReadBack;
        /// The same layer, which this mass balance counts.
        mass: Mass;
        /// The same layer, which stays in a terrain so long.
        lifetime: Lifetime;
    }

    /// The same layer, whose values follow from where water stands or flows.
    #[must_use]
    pub const fn following_water(mut self) -> Self {
        self.traits.follows_water = true;
        self
    }

    /// The declaration of a layer that nobody declared: without name, unit and meaning.
    pub const fn undeclared(cells: CellType) -> Self {
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
    /// How the library treats it, as its declaration says.
    pub traits: LayerTraits,
    /// The values, one a cell of the terrain.
    pub cells: Cells,
}

impl Layer {
    /// A layer as it is declared, with these values.
    pub fn new(spec: &LayerSpec, cells: Cells) -> Self {
        Self { unit: spec.unit.to_string(), meaning: spec.meaning.to_string(), traits: spec.traits, cells }
    }

    /// The same layer with other values, for a terrain of another size.
    #[must_use]
    pub fn with_cells(&self, cells: Cells) -> Self {
        Self { unit: self.unit.clone(), meaning: self.meaning.clone(), traits: self.traits, cells }
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
    pub fn window(&self, window: CellRect) -> Self {
        match self {
            Self::Height(f) => Self::Height(f.window(window)),
            Self::Float(f) => Self::Float(f.window(window)),
            Self::Count(f) => Self::Count(f.window(window)),
        }
    }

    /// Writes window `from` of `part` here from cell `to` on, where it must fit in; does nothing if the types differ.
    pub fn paste(&mut self, part: &Self, from: CellRect, to: Cell) {
        match (self, part) {
            (Self::Height(a), Self::Height(b)) => a.paste(b, from, to),
            (Self::Float(a), Self::Float(b)) => a.paste(b, from, to),
            (Self::Count(a), Self::Count(b)) => a.paste(b, from, to),
            _ => {}
        }
    }
}
