//! [`Survey`]: computes the whole drainage of an elevation model in one call, and writes [a folder](Survey::draft) for
//! GIS.
//!
//! ```
//! use thalweg_export::survey::{Survey, SurveyOptions};
//! use thalweg_core::terrain::field::Field;
//! use thalweg_core::terrain::grid::Grid;
//! use thalweg_core::terrain::height::Height;
//! use thalweg_core::terrain::Terrain;
//! use thalweg_core::NoProgress;
//!
//! // A valley that falls to the south, with a hollow in it.
//! let metres = |i: usize, j: usize| 50.0 - i as f64 + 2.0 * j.abs_diff(10) as f64 - if (i, j) == (15, 10) { 3.0 } else { 0.0 };
//! let ground = Field::generate([40, 21], |i, j| Height::saturating(metres(i, j)));
//! let terrain = Terrain::from_ground(Grid::new([40, 21], 10.0)?, ground)?;
//!
//! let options = SurveyOptions { threshold: Some(20_000.0), ..SurveyOptions::default() };
//! let survey = Survey::of(&terrain, &options, &mut NoProgress)?;
//! assert_eq!(survey.lake_depth[(15, 10)], Height::from_metres(2.0)?);
//! assert_eq!(survey.summary(&terrain.grid).streams.links, survey.channels.reaches.len());
//!
//! let folder = tempfile::tempdir().unwrap();
//! survey.draft(folder.path(), &terrain, None)?.commit(&[])?;
//! assert!(folder.path().join("streams.geojson").is_file() && folder.path().join("drain.json").is_file());
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

mod files;
mod summary;

pub use files::{REPORT, check_files};
pub use summary::{BasinSummary, ChannelSummary, LakeSummary, OrderSummary, StreamSummary, Summary};

use thalweg_core::base::memory;
use thalweg_core::terrain::ChannelNetwork;
use thalweg_core::{Cell, Error, Field, Grid, Height, Progress, ProgressReport, Result, Terrain};
use thalweg_flow::channels::trace_channels;
use thalweg_flow::{Directions, FlowGraph, Land, basins, breach, infinity, streams};
use thalweg_models::models::drainage::ACCUMULATION;
use thalweg_render::products::nested::{NestedDepression, nested_depressions};

/// The default drainage area in m² from which there is a stream; it forms a brook in most humid regions.
const THRESHOLD: f64 = 500_000.0;

/// The least number of cells of a drainage area at the default threshold; smaller areas are mostly noise.
const FEWEST: f64 = 100.0;

/// The peak memory of a survey in bytes per cell, in addition to the terrain; measured on the command `drain`.
const BYTES: u64 = 60;

/// The additional peak memory of nested depressions in bytes per cell, where half of the ground is under lakes.
const NESTED: u64 = 40;

/// The options of a survey. Edges and sea level are those of the terrain's grid.
///
/// # Examples
/// By default a stream needs a drainage area of 0.5 km², and of 100 cells at least.
///
/// ```
/// use thalweg_core::Grid;
/// use thalweg_export::survey::SurveyOptions;
///
/// let options = SurveyOptions::default();
/// assert_eq!(options.threshold_on(&Grid::new([10, 10], 10.0)?), 500_000.0);
/// assert_eq!(options.threshold_on(&Grid::new([10, 10], 100.0)?), 1_000_000.0);
/// let wrong = SurveyOptions { runoff: Some(-1.0), ..options };
/// assert!(wrong.check_numbers().unwrap_err().to_string().starts_with("runoff = -1 mm"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SurveyOptions {
    /// The drainage area in m² from which there is a stream, 0 to 1e15; `None` uses 0.5 km², but at least 100 cells.
    pub threshold: Option<f64>,
    /// The outlets: cells (row, column), counted from 0 in the north-west, where water leaves.
    pub outlets: Vec<Cell>,
    /// The limits within which channels are carved out of depressions before the rest is filled; `None` carves none.
    pub breach: Option<breach::BreachLimits>,
    /// The runoff in mm per year, 0 to 1e15; if given, the [folder](Survey::draft) also contains the resulting water.
    pub runoff: Option<f64>,
    /// True to compute the tree of nested depressions ([`Survey::depressions`]).
    pub depressions: bool,
}

/// The drainage of a terrain. All fields have the terrain's size and are stored row-major from the north-western
/// corner.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Survey {
    /// The ground with carved channels, with each depression filled to its spill level.
    pub filled: Field<Height>,
    /// The depth of the filled depressions over the ground with carved channels.
    pub lake_depth: Field<Height>,
    /// The depth of carved channels, 0 where none was carved; `None` if carving was not requested.
    pub cut: Option<Field<Height>>,
    /// The flow direction of each cell: the one of its eight neighbours to which it drains.
    pub directions: Directions,
    /// The direction of the steepest descent in radians, 0 to 2π counter-clockwise from the east, or [`infinity::NONE`]
    /// (Tarboton 1997; see [`infinity::route_d_infinity`]).
    pub angles: Field<f32>,
    /// The flow accumulation of each cell as a number of cells, including the cell itself; 0 where there is no data.
    pub cells: Field<u32>,
    /// The number of the basin of each cell, from 1; 0 in the sea and where there is no data.
    pub basins: Field<u32>,
    /// The Strahler order of the stream in each cell; 0 where there is none.
    pub orders: Field<u32>,
    /// The streams, reach by reach.
    pub channels: ChannelNetwork,
    /// The nested depressions under the lakes, each before the one that contains it; `None` if not requested.
    pub depressions: Option<Vec<NestedDepression>>,
    /// The options of the survey, with the threshold that was used.
    pub options: SurveyOptions,
    breaching: Option<ChannelSummary>,
}

impl SurveyOptions {
    /// Checks the options for this terrain: outlets are inside, limits and numbers are in range, and there is enough
    /// memory.
    ///
    /// # Errors
    /// Returns an error that names the option and its value if an outlet is outside the terrain or has no data, if a
    /// limit is below 0, or if the threshold or the runoff is out of range; an error if there is not enough memory.
    pub fn check(&self, terrain: &Terrain) -> Result<()> {
        let grid = &terrain.grid;
        memory::check_memory(
            &format!("drain of {} × {} cells", grid.cols(), grid.rows()),
            (BYTES + u64::from(self.depressions) * NESTED).saturating_mul(grid.len() as u64),
        )?;
        Land { outlets: &self.outlets, ..Land::of(terrain) }.check()?;
        self.breach.map_or(Ok(()), |limits| limits.check())?;
        self.check_numbers()
    }

    /// Checks that the threshold and the runoff are in range.
    ///
    /// # Errors
    /// Returns an error with the range for the first number that is out of range.
    pub fn check_numbers(&self) -> Result<()> {
        for (name, value, unit) in [("threshold", self.threshold, "m²"), ("runoff", self.runoff, "mm")] {
            if let Some(value) = value.filter(|value| !(0.0..=1e15).contains(value)) {
                return Err(Error::value(name, format!("{value} {unit}"), format!("0 to 1e15 {unit}")));
            }
        }
        Ok(())
    }

    /// Returns the drainage area in m² from which there is a stream.
    pub fn threshold_on(&self, grid: &Grid) -> f64 {
        self.threshold.unwrap_or(THRESHOLD.max(FEWEST * grid.cell_area()))
    }
}

impl Survey {
    /// The tasks of [`Survey::of`] in order: carve channels out of depressions; fill the rest and route the flow; count
    /// the cells upstream of each cell; find the streams, their orders and reaches, and the basins.
    pub const TASKS: [&'static str; 4] = ["breach", "directions", ACCUMULATION.name, "streams"];

    /// Computes the drainage of a terrain. `progress` receives a report at the beginning of each of the
    /// [tasks](Self::TASKS).
    ///
    /// # Errors
    /// Returns the errors of [`SurveyOptions::check`], and [`Error::Stopped`].
    pub fn of(terrain: &Terrain, options: &SurveyOptions, progress: &mut dyn Progress) -> Result<Self> {
        options.check(terrain)?;
        let mut begin = |task: usize| {
            ProgressReport::new(Self::TASKS[task], task as u64, Self::TASKS.len() as u64).send_to(progress)
        };
        let (grid, area) = (&terrain.grid, terrain.grid.cell_area());
        let threshold = options.threshold_on(grid);
        let land = Land { outlets: &options.outlets, ..Land::of(terrain) };
        begin(0)?;
        let breached = options.breach.map(|limits| breach::breach_depressions(&land, &limits)).transpose()?;
        let open = breached.as_ref().map_or(&terrain.ground, |breached| &breached.ground);
        let land = land.under(open);
        begin(1)?;
        let mut drainage = FlowGraph::new(&land);
        let (land, directions) = (drainage.surface(&land), drainage.directions());
        let angles = infinity::route_d_infinity(&land, directions);
        begin(2)?;
        let cells = drainage.upstream_cells();
        begin(3)?;
        let lines = || -> Result<_> {
            let mask = streams::streams(&land, cells, streams::least_cells(threshold, area))?;
            Ok((streams::strahler(directions, &mask)?, trace_channels(&land, directions, cells, &mask)?))
        };
        let (lines, basins) = rayon::join(lines, || basins::basins(&land, directions));
        let ((orders, channels), basins) = (lines?, basins?);
        let lake_depth = drainage.depths(open);
        let tree = || nested_depressions(&land.under(open), drainage.filled(), drainage.directions());
        let depressions = options.depressions.then(tree).transpose()?;
        let breaching = breached.as_ref().map(|breached| ChannelSummary::of(breached, area));
        let cut = breached.map(|breached| difference(&terrain.ground, &breached.ground));
        let cells = drainage.take_upstream_cells();
        let (filled, directions) = drainage.into_parts();
        let options = SurveyOptions { threshold: Some(threshold), ..options.clone() };
        Ok(Self {
            filled,
            lake_depth,
            cut,
            directions,
            angles,
            cells,
            basins,
            orders,
            channels,
            depressions,
            options,
            breaching,
        })
    }
}

/// Returns the difference between two surfaces.
fn difference(high: &Field<Height>, low: &Field<Height>) -> Field<Height> {
    Field::generate(high.size(), |i, j| Height(high[(i, j)].0 - low[(i, j)].0))
}
