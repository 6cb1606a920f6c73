//! [`TileLayer`]: the layers exchanged between passes, with their properties.

pub use thalweg_core::terrain::height::NO_HEIGHT;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{DRAINAGE_AREA, FLOW_DIRECTION, LAKE, current_layer_name};
use thalweg_core::{Error, Result};
use thalweg_io::SampleType;
use thalweg_models::models::drainage::BASIN;

use crate::LayerRead;

/// A layer of a map's drainage.
///
/// # Examples
/// ```
/// use thalweg_tiled::TileLayer;
///
/// let depth = TileLayer::from_name("depth")?;
/// assert_eq!(depth, TileLayer::Depth);
/// // Samples are in fixed point: times the scale they are metres.
/// assert_eq!((depth.unit(), depth.scale()), ("m", Some(1.0 / 65_536.0)));
/// assert_eq!(TileLayer::from_name("direction")?.name(), "flow_direction");
/// assert!(TileLayer::from_name("soil").is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TileLayer {
    /// Elevation of the ground, in units of 1/65 536 m.
    Height,
    /// Elevation with depressions filled, in the same units.
    Filled,
    /// Flow direction of each cell as an ESRI code: 1 east, doubling clockwise to 128; 0 where water leaves. For
    /// example, 4 is south.
    Direction,
    /// Direction of steepest descent in radians, counter-clockwise from the east; −1 where water leaves.
    Angle,
    /// Drainage area of the cell in m², including itself.
    Area,
    /// Number of the drainage basin, from 1; 0 in the sea.
    Basin,
    /// Strahler order of the stream in the cell, from 1; 0 where there is no stream.
    Order,
    /// Number of the lake that covers the cell, from 1; 0 on dry land.
    Lake,
    /// Depth of the depression below its spill level, in units of 1/65 536 m; 0 on dry land. For example, 131 072 units
    /// are 2 m.
    Depth,
}

/// The properties of a layer: name, sample type, fill value, unit and description.
type Declared = (&'static str, SampleType, f64, &'static str, &'static str);

impl TileLayer {
    /// All layers, in an order in which inputs come before what is computed from them.
    pub const ALL: [Self; 9] = [
        Self::Height,
        Self::Filled,
        Self::Direction,
        Self::Angle,
        Self::Area,
        Self::Basin,
        Self::Order,
        Self::Lake,
        Self::Depth,
    ];

    /// Returns the properties of the layer.
    const fn declared_properties(self) -> Declared {
        use SampleType::{F32, F64, I32, U8, U32};
        const HEIGHT: &str = "m";
        // Every `i32` is exact as an `f64`.
        let none = NO_HEIGHT as f64;
        match self {
            Self::Height => ("height", I32, none, HEIGHT, "Elevation of the ground in fixed point."),
            Self::Filled => ("filled", I32, none, HEIGHT, "Elevation with each depression filled to its spill level."),
            Self::Direction => (
                FLOW_DIRECTION.name,
                U8,
                255.0,
                "1",
                "Neighbour that the cell drains to, as an ESRI code; 0 where water leaves.",
            ),
            Self::Angle => (
                "angle",
                F32,
                -1.0,
                "rad",
                "Direction of steepest descent counter-clockwise from the east; -1 where water leaves.",
            ),
            Self::Area => (DRAINAGE_AREA.name, F64, 0.0, "m²", DRAINAGE_AREA.meaning),
            Self::Basin => (BASIN.name, U32, 0.0, "1", "Number of the basin, from 1; 0 in the sea."),
            Self::Order => ("order", U8, 0.0, "1", "Strahler order of the stream in the cell; 0 without a stream."),
            Self::Lake => (LAKE.name, U32, 0.0, "1", "Number of the lake that covers the cell, from 1; 0 on dry land."),
            Self::Depth => ("depth", I32, 0.0, HEIGHT, "Depth below the depression's spill level, in fixed point."),
        }
    }

    /// Returns the layer of this name, which may be an [earlier one](thalweg_core::terrain::EARLIER_LAYER_NAMES).
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn from_name(name: &str) -> Result<Self> {
        let current = current_layer_name(name);
        let found = Self::ALL.into_iter().find(|layer| layer.name() == current);
        found.ok_or_else(|| Error::unknown_name("layer", name, Self::ALL.map(Self::name)))
    }

    /// Declares that a pass reads the layer with a halo of this many cells around the tile.
    pub(super) fn with_halo(self, halo: usize) -> LayerRead {
        LayerRead { layer: self.name().into(), halo }
    }

    /// Returns the name of the layer.
    pub fn name(self) -> &'static str {
        self.declared_properties().0
    }

    /// Returns the type of its samples.
    pub fn kind(self) -> SampleType {
        self.declared_properties().1
    }

    /// Returns the sample value for missing data, or for nothing to report.
    pub fn fill_value(self) -> f64 {
        self.declared_properties().2
    }

    /// Returns true if the fill value stands for missing data. For some layers it is an ordinary value instead: no
    /// lake, a depth of 0.
    pub fn fill_is_nodata(self) -> bool {
        !matches!(self, Self::Order | Self::Lake | Self::Depth)
    }

    /// Returns the unit of its values, which are samples times [`TileLayer::scale`]; `1` for dimensionless numbers.
    pub fn unit(self) -> &'static str {
        self.declared_properties().3
    }

    /// Returns the factor from samples to values; `None` if it is 1. Heights and depths are in fixed point.
    pub fn scale(self) -> Option<f64> {
        // One unit is 1/65 536 m.
        matches!(self, Self::Height | Self::Filled | Self::Depth).then_some(1.0 / UNITS)
    }

    /// Returns a description of the layer.
    pub fn about(self) -> &'static str {
        self.declared_properties().4
    }
}
