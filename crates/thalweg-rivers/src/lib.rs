//! River networks: planned on a terrain's drainage, drawn as smooth lines, and carved.
//!
//! [`plan_rivers`] finds where rivers run and what they are: [`River`]s, lines from a source or a lake down to another
//! river, a lake, the sea or the edge, with discharge, width and depth at every [`Vertex`], and [`PlannedLake`]s with
//! their levels. [`carve_rivers`] cuts them into the ground and gives each vertex its levels; it raises nothing but the
//! levees that are asked for.
//!
//! Lines never touch but where one joins another, and each has a path of cells of its own: so what holds of lines (no crossing,
//! no water that runs uphill) holds of the cells as well.
//!
//! # Examples
//! ```
//! use thalweg_core::base::rng::Key;
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//! use thalweg_flow::Land;
//! use thalweg_rivers::{Design, Site, plan};
//!
//! // A valley that falls to the south; cells are 100 m wide.
//! let height = |k: usize| 900.0 - 10.0 * (k / 64) as f32 + 4.0 * ((k % 64) as f32 - 32.0).abs();
//! let heights: Vec<f32> = (0..64 * 64).map(height).collect();
//! let terrain = Terrain::from_metres(Grid::new([64, 64], 100.0)?, &heights)?;
//! let network = plan(&Site::of(Land::of(&terrain)), &Design::default(), Key::new(1, "example"))?;
//! assert!(!network.rivers.is_empty());
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod carve;
pub mod check;
mod check_ground;
mod course;
mod delta;
pub mod distance;
pub mod drained;
pub mod drawn;
mod form;
mod hollows;
mod joint;
mod lakes;
mod levee;
mod level;
pub mod line_cells;
mod meander;
pub mod network;
mod plan;
pub mod ribbon;
mod route;
pub mod sampled;
mod shore;
mod shoulder;
mod tree;
mod untangle;
mod valley;
mod way;
pub mod waypoints;

pub use carve::{Carved, carve_rivers};
pub use line_cells::nearest;
pub use network::{Mouth, Network, PlannedLake, ReachEnd, River, RiverKind, RiverReach, Source, Vertex};
pub use plan::plan_rivers;

use thalweg_core::terrain::{HARDNESS, PROTECT, RAIN};
use thalweg_core::{Cell, Error, Field, Result};
use thalweg_flow::Land;
use thalweg_flow::breach::BreachLimits;
use thalweg_noise::given::{rows, springs};

thalweg_core::with_defaults! {
    /// How a network is made; [`Design::default`] holds the defaults of the model `river_network`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Design {
        /// Catchment in m² from which on there is a river; under [`LEAST_CELLS`] cells it counts as that.
        pub catchment: f64 = 1e6,
        /// Water that runs off, in metres a year.
        pub runoff: f64 = 0.5,
        /// How deep and how far from a hollow a channel may be cut to drain it; what is left becomes a lake.
        pub breach: BreachLimits = BreachLimits { depth: 12.0, length: 1000.0 },
        /// Metres of roughness that have no say in where rivers run.
        pub noise: f64 = 2.0,
        /// Depth in metres from which on a hollow that is left is a lake.
        pub lake: f64 = 2.0,
        /// Width in metres of a river of 1 m³/s.
        pub width: f64 = 7.2,
        /// Depth in metres of a river of 1 m³/s.
        pub depth: f64 = 0.27,
        /// How far rivers wander, as a factor: 0 not at all, 1 as is usual.
        pub meander: f64 = 1.0,
        /// Breadth of floodplains on either side, as a factor on what is usual; 0 makes none.
        pub floodplain: f64 = 1.0,
        /// Height of levees beside meandering rivers, as a share of their depth; 0 raises none.
        pub levees: f64 = 0.0,
        /// Steepest rise of the banks beyond, in metres per metre.
        pub bank: f64 = 0.5,
        /// Steepest fall of a river over soft rock, in metres per metre: waterfalls on it are cut back.
        pub fall: f64 = 0.5,
        /// Deepest such cut in metres.
        pub grading: f64 = 15.0,
        /// Discharge in m³/s from which on a gentle river parts into arms at the sea; 0 parts none.
        pub delta: f64 = 5.0,
        /// How many widths a river of gentle slope has at the sea, beyond its own; 0 widens none.
        pub estuary: f64 = 2.0,
    }
}

/// Fewest cells of a catchment that has a river: what fewer cells drain is noise.
pub const LEAST_CELLS: u32 = 16;

impl Design {
    /// Checks its numbers.
    ///
    /// # Errors
    /// As [`BreachLimits::check`]; a number below 0, over 1e15 or NaN, by name.
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
        match values.iter().find(|(_, value)| !(0.0..=1e15).contains(value)) {
            Some((name, value)) => Err(Error::value(format!("design of rivers: {name}"), value, "0 to 1e15")),
            None => Ok(()),
        }
    }
}

/// A place that a river shall pass through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// Row and column.
    pub cell: Cell,
    /// Metres from which water is drawn to it, 0 to [`MAX_REACH`](waypoints::MAX_REACH).
    pub reach: f64,
}

/// The land that a network is made for, and what is given of its rivers. Its layers are of the grid's size.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// Ground, sea and edges; its outlets are the mouths that were asked for.
    pub land: Land<'a>,
    /// Share of the runoff that each cell gives, 0 to 1; without it each gives all.
    pub rain: Option<&'a Field<f32>>,
    /// How hard bedrock is, 0 to 1: where it is hard waterfalls stay and floodplains are narrow. Without it all is soft (0).
    pub hardness: Option<&'a Field<f32>>,
    /// Where the ground is protected, 0 to 1: from a half on rivers go round it if there is a way.
    pub protect: Option<&'a Field<f32>>,
    /// Springs: rivers begin at them, whatever the catchment.
    pub springs: &'a [springs::SpringSource],
    /// Places that rivers pass through.
    pub passes: &'a [Pass],
}

impl<'a> Site<'a> {
    /// A land of which nothing else is given.
    pub fn of(land: Land<'a>) -> Self {
        Self { land, rain: None, hardness: None, protect: None, springs: &[], passes: &[] }
    }

    /// Checks what a caller may have got wrong.
    ///
    /// # Errors
    /// As [`Land::check`]; a layer of another size; a spring or a pass outside the land, in the sea or where there is no data; a reach of a
    /// pass that is negative or over [`MAX_REACH`](waypoints::MAX_REACH).
    pub fn check(&self) -> Result<()> {
        self.land.check()?;
        let [rows, cols] = self.land.grid.size;
        for (spec, layer) in [(RAIN, self.rain), (HARDNESS, self.hardness), (PROTECT, self.protect)] {
            if let Some([r, c]) = layer.map(Field::size).filter(|size| *size != [rows, cols]) {
                return Err(Error::value(spec.name, format!("{r} × {c} cells"), format!("{rows} × {cols} (the grid)")));
            }
        }
        let springs = self.springs.iter().map(|spring| spring.cell).enumerate().map(|at| (springs::SPRINGS, at));
        let passes = self.passes.iter().map(|pass| pass.cell).enumerate().map(|at| (waypoints::PASSES, at));
        for (table, (number, Cell { row: i, col: j })) in springs.chain(passes) {
            if i >= rows || j >= cols || !self.land.is_dry(i, j) {
                let allowed =
                    format!("a cell of land, rows 0 to {}, columns 0 to {}, not in the sea", rows - 1, cols - 1);
                return Err(Error::value(rows::name(table, number), format!("row {i}, column {j}"), allowed));
            }
        }
        let reaches = self.passes.iter().map(|pass| pass.reach);
        match reaches.enumerate().find(|(_, reach)| !(0.0..=waypoints::MAX_REACH).contains(reach)) {
            Some((number, reach)) => {
                let name = format!("{}.reach", rows::name(waypoints::PASSES, number));
                Err(Error::value(name, format!("{reach} m"), format!("0 to {} m", waypoints::MAX_REACH)))
            }
            None => Ok(()),
        }
    }

    /// Whether rivers are to keep off cell `k`.
    fn is_barred(&self, k: usize) -> bool {
        self.protect.is_some_and(|protect| protect[k] >= 0.5)
    }

    fn is_void(&self, k: usize) -> bool {
        self.land.nodata.is_some_and(|mask| mask[k])
    }

    /// Whether cell `k` lies in the sea.
    fn is_sea(&self, k: usize) -> bool {
        self.land.grid.sea_level.is_some_and(|sea| self.land.ground[k] <= sea)
    }
}
