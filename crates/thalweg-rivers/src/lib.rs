//! River networks: planned on a terrain's drainage, drawn as smooth lines, and carved into the ground.
//!
//! [`plan_rivers`] determines where rivers run and their properties. It returns [`River`]s, which are lines from a
//! source or a lake down to another river, a lake, the sea or the edge, with discharge, width and depth at every
//! [`Vertex`], and [`PlannedLake`]s with their levels. [`carve_rivers`] cuts them into the ground and sets the levels
//! of each vertex. It raises nothing except levees, if these are requested.
//!
//! Lines touch only where one joins another, and each has a path of cells of its own. Properties of the lines (no
//! crossings, no water that flows uphill) therefore hold for the cells as well.
//!
//! # Examples
//! ```
//! use thalweg_core::base::rng::RandomKey;
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//! use thalweg_flow::Land;
//! use thalweg_rivers::{Design, Site, plan_rivers};
//!
//! // A valley that falls to the south; cells are 100 m wide.
//! let height = |k: usize| 900.0 - 10.0 * (k / 64) as f32 + 4.0 * ((k % 64) as f32 - 32.0).abs();
//! let heights: Vec<f32> = (0..64 * 64).map(height).collect();
//! let terrain = Terrain::from_metres(Grid::new([64, 64], 100.0)?, &heights)?;
//! let network = plan_rivers(&Site::from_land(Land::from_terrain(&terrain)), &Design::default(), RandomKey::new(1, "example"))?;
//! assert!(!network.rivers.is_empty());
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod carve;
mod cell_vertices;
mod channel_geometry;
pub mod check;
mod check_ground;
mod claims;
mod confluence;
mod course;
mod course_line;
mod delta;
pub mod distance;
pub mod drained;
mod lakes;
mod levee;
pub mod line_cells;
mod meander;
pub mod network;
mod plan;
pub mod rendered_ground;
mod residual_depressions;
pub mod ribbon;
mod route;
pub mod sampled;
mod shore;
mod shoulder;
mod tree;
mod untangle;
mod valley;
mod water_levels;
pub mod waypoints;

pub use carve::{Carved, carve_rivers};
pub use line_cells::project_onto_segment;
pub use network::{Mouth, Network, PlannedLake, ReachEnd, River, RiverKind, RiverReach, RunSource, Vertex};
pub use plan::plan_rivers;

use thalweg_core::terrain::{HARDNESS, PROTECT, RAIN};
use thalweg_core::{Cell, Error, Field, Result};
use thalweg_flow::Land;
use thalweg_flow::breach::BreachLimits;
use thalweg_noise::input_tables::{rows, springs};

thalweg_core::with_defaults! {
    /// The design parameters of a network; [`Design::default`] returns the defaults of the model `river_network`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Design {
        /// Drainage area in m² from which on there is a river; at least that of [`MIN_CATCHMENT_CELLS`] cells.
        pub catchment: f64 = 1e6,
        /// Runoff in metres a year.
        pub runoff: f64 = 0.5,
        /// Greatest depth of a channel that drains a depression, and how far from the pit it may reach; depressions
        /// that remain become lakes.
        pub breach: BreachLimits = BreachLimits { depth: 12.0, length: 1000.0 },
        /// Roughness of the ground, in metres, that has no influence on where rivers run.
        pub noise: f64 = 2.0,
        /// Depth in metres from which on a remaining depression is a lake.
        pub lake: f64 = 2.0,
        /// Width in metres of a river with a discharge of 1 m³/s.
        pub width: f64 = 7.2,
        /// Depth in metres of a river with a discharge of 1 m³/s.
        pub depth: f64 = 0.27,
        /// How far rivers meander, as a factor: 0 not at all, 1 as usual in nature.
        pub meander: f64 = 1.0,
        /// Width of floodplains on either side, as a factor on the usual width; 0 makes none.
        pub floodplain: f64 = 1.0,
        /// Height of levees beside meandering rivers, as a share of their depth; 0 makes none.
        pub levees: f64 = 0.0,
        /// Slope of banks beyond floodplains, as rise over run.
        pub bank: f64 = 0.5,
        /// Slope of a river, as fall over run, above which waterfalls over soft rock are cut back.
        pub fall: f64 = 0.5,
        /// Greatest depth of such a cut in metres.
        pub grading: f64 = 15.0,
        /// Discharge in m³/s from which on a gentle river divides into arms at the sea; with 0 none does.
        pub delta: f64 = 5.0,
        /// How many times its own width a gentle river gains at the sea; with 0 none widens.
        pub estuary: f64 = 2.0,
    }
}

/// The fewest cells that a river's catchment may have; the drainage of fewer cells is noise.
pub const MIN_CATCHMENT_CELLS: u32 = 16;

impl Design {
    /// Checks the numbers of the design.
    ///
    /// # Errors
    /// Returns the errors of [`BreachLimits::check`], and an error with the name of any number that is below 0, above
    /// 1e15 or NaN.
    ///
    /// # Examples
    /// ```
    /// use thalweg_rivers::Design;
    ///
    /// let design = Design { runoff: -0.5, ..Design::default() };
    /// assert!(design.check().unwrap_err().to_string().contains("runoff"));
    /// assert!(Design::default().check().is_ok());
    /// ```
    pub fn check(&self) -> Result<()> {
        self.breach.check()?;
        let values = [
            ("catchment", self.catchment),
            ("runoff", self.runoff),
            ("noise", self.noise),
            ("lake", self.lake),
            ("width", self.width),
            ("depth", self.depth),
            ("meander", self.meander),
            ("floodplain", self.floodplain),
            ("levees", self.levees),
            ("bank", self.bank),
            ("fall", self.fall),
            ("grading", self.grading),
            ("delta", self.delta),
            ("estuary", self.estuary),
        ];
        // NaN is in no range, so it is found as well.
        match values.iter().find(|(_, value)| !(0.0..=1e15).contains(value)) {
            Some((name, value)) => Err(Error::invalid_value(format!("rivers.{name}"), value, "0 to 1e15")),
            None => Ok(()),
        }
    }
}

/// A place that a river passes through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// Row and column of the place.
    pub cell: Cell,
    /// The distance in metres from which water is drawn to it, 0 to [`MAX_REACH`](waypoints::MAX_REACH).
    pub reach: f64,
}

/// The land for which a network is made, and the constraints on its rivers. Its layers have the grid's size.
///
/// # Examples
/// ```
/// use thalweg_core::{Cell, Grid, Terrain};
/// use thalweg_flow::Land;
/// use thalweg_rivers::{Pass, Site};
///
/// let terrain = Terrain::new(Grid::new([8, 8], 100.0)?);
/// // A river that drains the surroundings within 500 m passes through row 3, column 4.
/// let passes = [Pass { cell: Cell::new(3, 4), reach: 500.0 }];
/// let site = Site { passes: &passes, ..Site::from_land(Land::from_terrain(&terrain)) };
/// site.check()?;
/// let outside = [Pass { cell: Cell::new(9, 4), reach: 500.0 }];
/// assert!(Site { passes: &outside, ..site }.check().unwrap_err().to_string().contains("row 9, column 4"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// Ground, sea and edges. Its outlets are the requested mouths.
    pub land: Land<'a>,
    /// The share of the runoff that each cell contributes, 0 to 1; `None` if each cell contributes all of it. For
    /// example, it may be 0.2 in the lee of a mountain range.
    pub rain: Option<&'a Field<f32>>,
    /// The hardness of bedrock, 0 to 1. Where it is hard, waterfalls stay and floodplains are narrow. `None` means
    /// soft (0) everywhere.
    pub hardness: Option<&'a Field<f32>>,
    /// The degree of protection of the ground, 0 to 1. Rivers avoid cells of 0.5 or more if there is a way round.
    pub protect: Option<&'a Field<f32>>,
    /// Springs. Rivers begin at them, whatever their drainage area.
    pub springs: &'a [springs::SpringSource],
    /// Places that rivers pass through.
    pub passes: &'a [Pass],
}

impl<'a> Site<'a> {
    /// Creates a site of this land without further constraints.
    pub fn from_land(land: Land<'a>) -> Self {
        Self { land, rain: None, hardness: None, protect: None, springs: &[], passes: &[] }
    }

    /// Checks the layers, springs and passes.
    ///
    /// # Errors
    /// Returns the errors of [`Land::check`], and an error if a layer has another size, if a spring or a pass is
    /// outside the land, in the sea or where there is no data, or if the reach of a pass is negative or above
    /// [`MAX_REACH`](waypoints::MAX_REACH).
    pub fn check(&self) -> Result<()> {
        self.land.check()?;
        let [rows, cols] = self.land.grid.size;
        for (spec, layer) in [(RAIN, self.rain), (HARDNESS, self.hardness), (PROTECT, self.protect)] {
            if let Some([r, c]) = layer.map(Field::size).filter(|size| *size != [rows, cols]) {
                return Err(Error::invalid_value(
                    spec.name,
                    format!("{r} × {c} cells"),
                    format!("{rows} × {cols} (the grid)"),
                ));
            }
        }
        let springs = self.springs.iter().map(|spring| spring.cell).enumerate().map(|at| (springs::SPRINGS, at));
        let passes = self.passes.iter().map(|pass| pass.cell).enumerate().map(|at| (waypoints::PASSES, at));
        for (table, (number, Cell { row: i, col: j })) in springs.chain(passes) {
            if i >= rows || j >= cols || !self.land.is_dry(i, j) {
                let allowed =
                    format!("a cell of land outside the sea, rows 0 to {}, columns 0 to {}", rows - 1, cols - 1);
                return Err(Error::invalid_value(
                    rows::row_name(table, number),
                    format!("row {i}, column {j}"),
                    allowed,
                ));
            }
        }
        let reaches = self.passes.iter().map(|pass| pass.reach);
        match reaches.enumerate().find(|(_, reach)| !(0.0..=waypoints::MAX_REACH).contains(reach)) {
            Some((number, reach)) => {
                let name = format!("{}.reach", rows::row_name(waypoints::PASSES, number));
                Err(Error::invalid_value(name, format!("{reach} m"), format!("0 to {} m", waypoints::MAX_REACH)))
            }
            None => Ok(()),
        }
    }

    /// Returns true if rivers must avoid cell `k`.
    fn is_barred(&self, k: usize) -> bool {
        self.protect.is_some_and(|protect| protect[k] >= 0.5)
    }

    fn is_void(&self, k: usize) -> bool {
        self.land.nodata.is_some_and(|mask| mask[k])
    }

    /// Returns true if cell `k` is in the sea.
    fn is_sea(&self, k: usize) -> bool {
        self.land.grid.sea_level.is_some_and(|sea| self.land.ground[k] <= sea)
    }
}
