//! [`Layer`]: named values by cell, and the declaration of such layers.

use serde::{Deserialize, Serialize};

use crate::{Cell, CellRect, Field, Height, Size};

/// The cells of a layer, by type.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Elevations or thicknesses, in units of 1/65 536 m.
    Height(Field<Height>),
    /// Real numbers, in the layer's unit.
    Float(Field<f32>),
    /// Whole numbers from 0: counts, or numbers of categories.
    Count(Field<u32>),
}

/// The type of a layer's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CellType {
    /// [`Height`]: metres in fixed point.
    Height,
    /// `f32`: real numbers in the layer's unit.
    Float,
    /// `u32`: counts, or numbers of categories.
    Count,
}

/// How a layer is refined to cells of half the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finer {
    /// Each of the four finer cells has the value of the coarse cell.
    Same,
    /// Interpolated smoothly between cells. The four finer cells sum to four times the coarse cell's value, and none is
    /// negative.
    Smooth,
    /// Smooth as above, with the water surface as level over the finer ground as possible: for depths of water, in
    /// heights.
    Level,
    /// Half the value, for quantities that pass through a cell: two finer cells are next to each other where one coarse
    /// cell was. For example, a discharge of 8 m³/s becomes 4 m³/s in each finer cell.
    Halved,
}

/// How a layer is reduced to a coarser copy of the terrain, where a block of cells becomes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coarser {
    /// The mean, of real numbers.
    Mean,
    /// The greatest of the real numbers in the block and within a block's width around it. For example, a block with
    /// one protected cell ([`PROTECT`](crate::terrain::PROTECT)) is protected as a whole.
    Most,
    /// Empty on the coarser cells. What is deposited there is carried back to the finer cells: heights with their sum
    /// conserved, counts to each cell of the block.
    Empty,
}

/// The colours in which a layer is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hue {
    /// The colours for any value, on a linear scale.
    Plain,
    /// The colours for quantities that pass through a cell, by powers of ten: water, droplets.
    Passing,
    /// The colours for water and wetness.
    Wet,
    /// The colours of [`Hue::Wet`] for a share from 0 to 1, with a scale that ends at 1.
    WetShare,
    /// The colours for sediment.
    Sediment,
}

/// The component of a vector that a layer is. The first eastward and the first southward component among a model's
/// layers form one vector, the second ones another, and so on. For example, the layers `momentum_x` and `momentum_y`
/// are the components of one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorPart {
    /// No component: the layer has no direction.
    None,
    /// The eastward component.
    East,
    /// The southward component.
    South,
}

/// The overlays that show a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerOverlay {
    /// An overlay under the layer's own name, in the colours of its [`Hue`].
    ByName,
    /// An overlay that the library defines. The layer has no second one under its own name.
    Dedicated,
}

/// The functions that read a layer back from a world's folder. Every layer of a world is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBack {
    /// None: other programs use the file.
    Never,
    /// `world_folder::read_displayed_terrain`, which live views and Python use.
    InViews,
    /// `world_folder::read_world` as well.
    Always,
}

/// The mass balance that counts the values of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mass {
    /// None.
    None,
    /// The balance of solid ([`Terrain::sum_solid`](crate::terrain::Terrain::sum_solid)): the values are thicknesses of
    /// sediment that the ground does not contain. Their cells are [`CellType::Height`], of which sums are exact.
    Solid,
    /// The balance of water ([`Terrain::sum_standing_water`](crate::terrain::Terrain::sum_standing_water)): the values
    /// are depths in metres.
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

/// The declaration of a layer. Code that treats some layers differently from others reads this declaration, and keeps
/// no list of layers.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::{Coarser, Finer, Hue, LayerSpec};
///
/// const SNOW: LayerSpec =
///     LayerSpec::floats("snow", "m", "Depth of snow on the ground.").finer(Finer::Smooth).hue(Hue::Wet);
/// assert_eq!(SNOW.traits.finer, Finer::Smooth);
/// // Traits that are not set have the defaults of a layer of real numbers.
/// assert_eq!(SNOW.traits.coarser, Coarser::Mean);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerSpec {
    /// Identifies the layer: the key in [`Terrain::layers`](crate::terrain::Terrain::layers), and the stem of its
    /// file's name.
    pub name: &'static str,
    /// Its unit; `1` for pure numbers.
    pub unit: &'static str,
    /// The meaning of a cell's value.
    pub meaning: &'static str,
    /// The type of its cells.
    pub cells: CellType,
    /// How the library treats it.
    pub traits: LayerTraits,
}

/// How the library treats a layer: the part of its declaration that a [`Layer`] in a terrain contains.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::{LAYERS, Mass};
///
/// let water = LAYERS.iter().filter(|spec| spec.traits.mass == Mass::Water);
/// assert_eq!(water.map(|spec| spec.name).collect::<Vec<_>>(), ["water", "pool"]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayerTraits {
    /// How it is refined to finer cells.
    pub finer: Finer,
    /// How it is reduced to coarser cells.
    pub coarser: Coarser,
    /// The colours in which it is drawn.
    pub hue: Hue,
    /// The component of a vector that it is.
    pub part: VectorPart,
    /// The overlays that show it.
    pub overlay: LayerOverlay,
    /// The functions that read it back from a world's folder.
    pub in_world_folder: ReadBack,
    /// The mass balance that counts its values.
    pub mass: Mass,
    /// True if its values follow from where water stands or flows. A change of the ground invalidates them, so a sketch
    /// does not change the ground after the last stage that writes such a layer. For example,
    /// [`DISCHARGE`](crate::terrain::DISCHARGE) is such a layer.
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

    /// Declares a layer of elevations or thicknesses: smooth on finer cells, empty on coarser ones.
    pub const fn heights(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self::new([name, unit, meaning], CellType::Height, Finer::Smooth, Coarser::Empty)
    }

    /// Declares a layer of real numbers: the same on finer cells, their mean on coarser ones.
    pub const fn floats(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self::new([name, unit, meaning], CellType::Float, Finer::Same, Coarser::Mean)
    }

    /// Declares a layer of counts: the same on finer cells, empty on coarser ones.
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

    /// Returns the same declaration, with values that follow from where water stands or flows.
    #[must_use]
    pub const fn following_water(mut self) -> Self {
        self.traits.follows_water = true;
        self
    }

    /// Returns a declaration for a layer that was not declared: without name, unit and meaning.
    pub const fn undeclared(cells: CellType) -> Self {
        match cells {
            CellType::Height => Self::heights("", "", ""),
            CellType::Float => Self::floats("", "", ""),
            CellType::Count => Self::counts("", "", ""),
        }
    }
}

/// The earlier names of layers, each with the current name. Folders of worlds, stores, checkpoints, recipes and options
/// may contain the names of the first development versions; these are read for one version, and never written.
///
/// The hash of a plan of work by tiles contains the first earlier name of a layer, so it must stay the first.
pub const EARLIER_LAYER_NAMES: &[(&str, &str)] = &[
    ("loose", "sediment"),
    // The names of an array of a store and of a layer of a refinement level, in this order.
    ("direction", "flow_direction"),
    ("rec", "flow_direction"),
    ("area", "drainage_area"),
    // The name of an overlay.
    ("catchment", "drainage_area"),
];

/// Returns the current name of a layer that may be called by an [earlier one](EARLIER_LAYER_NAMES).
///
/// # Examples
/// ```
/// use thalweg_core::terrain::current_layer_name;
///
/// assert_eq!(current_layer_name("loose"), "sediment");
/// assert_eq!(current_layer_name("sediment"), "sediment");
/// assert_eq!(current_layer_name("hardness"), "hardness");
/// ```
pub fn current_layer_name(name: &str) -> &str {
    let known = EARLIER_LAYER_NAMES.iter().find(|(earlier, _)| *earlier == name);
    known.map_or(name, |(_, current)| *current)
}

/// Iterates over the [earlier names](EARLIER_LAYER_NAMES) of the layer that is now called `name`.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::earlier_layer_names;
///
/// assert_eq!(earlier_layer_names("flow_direction").collect::<Vec<_>>(), ["direction", "rec"]);
/// assert_eq!(earlier_layer_names("hardness").count(), 0);
/// ```
pub fn earlier_layer_names(name: &str) -> impl Iterator<Item = &str> {
    EARLIER_LAYER_NAMES.iter().filter(move |(_, current)| *current == name).map(|(earlier, _)| *earlier)
}

/// A named layer of a terrain.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_core::terrain::{Cells, Layer, RAIN};
///
/// let layer = Layer::new(&RAIN, Cells::Float(Field::new([2, 2], 0.5)));
/// assert_eq!(layer.unit, "1");
/// let coarse = layer.with_cells(Cells::Float(Field::new([1, 1], 0.5)));
/// assert_eq!((coarse.traits, coarse.cells.size()), (layer.traits, [1, 1]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// The unit of the values, as in [`LayerSpec::unit`].
    pub unit: String,
    /// The meaning of a value.
    pub meaning: String,
    /// How the library treats it, as declared.
    pub traits: LayerTraits,
    /// The values, one per cell of the terrain.
    pub cells: Cells,
}

impl Layer {
    /// Makes a layer from its declaration and its values.
    pub fn new(spec: &LayerSpec, cells: Cells) -> Self {
        Self { unit: spec.unit.to_string(), meaning: spec.meaning.to_string(), traits: spec.traits, cells }
    }

    /// Returns the same layer with other values, for a terrain of another size.
    #[must_use]
    pub fn with_cells(&self, cells: Cells) -> Self {
        Self { unit: self.unit.clone(), meaning: self.meaning.clone(), traits: self.traits, cells }
    }
}

impl Cells {
    /// Makes zeros of the given type, `size` rows and columns.
    pub fn zeros(cells: CellType, size: Size) -> Self {
        match cells {
            CellType::Height => Self::Height(Field::new(size, Height::ZERO)),
            CellType::Float => Self::Float(Field::new(size, 0.0)),
            CellType::Count => Self::Count(Field::new(size, 0)),
        }
    }

    /// Returns the type of the cells.
    pub fn cell_type(&self) -> CellType {
        match self {
            Self::Height(_) => CellType::Height,
            Self::Float(_) => CellType::Float,
            Self::Count(_) => CellType::Count,
        }
    }

    /// Returns the real numbers; `None` if the cells have another type.
    pub fn as_float(&self) -> Option<&Field<f32>> {
        if let Self::Float(field) = self { Some(field) } else { None }
    }

    /// Returns the heights or thicknesses; `None` if the cells have another type.
    pub fn as_heights(&self) -> Option<&Field<Height>> {
        if let Self::Height(field) = self { Some(field) } else { None }
    }

    /// Returns the numbers of rows and columns.
    pub fn size(&self) -> Size {
        match self {
            Self::Height(f) => f.size(),
            Self::Float(f) => f.size(),
            Self::Count(f) => f.size(),
        }
    }

    /// Converts the values to real numbers (heights to metres).
    pub fn to_float(&self) -> Field<f32> {
        match self {
            Self::Height(f) => f.map(|h| h.metres_f32()),
            Self::Float(f) => f.clone(),
            Self::Count(f) => f.map(|n| *n as f32),
        }
    }

    /// Copies the cells of `window`, which must be inside.
    pub fn copy_window(&self, window: CellRect) -> Self {
        match self {
            Self::Height(f) => Self::Height(f.copy_window(window)),
            Self::Float(f) => Self::Float(f.copy_window(window)),
            Self::Count(f) => Self::Count(f.copy_window(window)),
        }
    }

    /// Copies the cells `from` of `part` here, the first of them to the cell `to`; they must fit. Does nothing if the
    /// types differ. For example, pasting counts into real numbers changes nothing.
    pub fn paste(&mut self, part: &Self, from: CellRect, to: Cell) {
        match (self, part) {
            (Self::Height(a), Self::Height(b)) => a.paste(b, from, to),
            (Self::Float(a), Self::Float(b)) => a.paste(b, from, to),
            (Self::Count(a), Self::Count(b)) => a.paste(b, from, to),
            _ => {}
        }
    }
}
