//! [`Survey`]: all that is worked out of where water goes on an elevation model, in one call; and [its folder](Survey::draft) for GIS.
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

/// Catchment in m² from which on there is a stream, if nobody says it: what makes a brook in most humid country.
const THRESHOLD: f64 = 500_000.0;

/// Fewest cells of a catchment that the usual threshold takes for more than noise.
const FEWEST: f64 = 100.0;

/// Bytes a cell that a survey takes at its height, beside the terrain; measured on the command.
const BYTES: u64 = 60;

/// The same of the depressions within it, where half of the ground lies under lakes.
const NESTED: u64 = 40;

/// What a survey is to heed. Edges and sea level are those of the terrain's grid.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SurveyOptions {
    /// Catchment in m² from which on there is a stream, 0 to 1e15; if not said 0.5 km², but at least 100 cells.
    pub threshold: Option<f64>,
    /// Cells (row, column), counted from 0 in the north-west, where water leaves.
    pub outlets: Vec<Cell>,
    /// Channels are cut out of depressions within these limits before the rest is filled; `None` cuts none.
    pub breach: Option<breach::BreachLimits>,
    /// Water that runs off in a year, 0 to 1e15 mm; then the [folder](Survey::draft) holds the running water too, else not.
    pub runoff: Option<f64>,
    /// Whether the tree of depressions is to be told ([`Survey::depressions`]).
    pub depressions: bool,
}

/// Where water goes on a terrain. All fields are of the terrain's size, row-major from the north-western corner.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Survey {
    /// The ground, channels cut, with each depression filled to its spill level.
    pub filled: Field<Height>,
    /// Depth of the depressions, full to their brims, over the ground with its channels.
    pub lake_depth: Field<Height>,
    /// How deep channels were cut, 0 where none was; `None` if none were to be.
    pub cut: Option<Field<Height>>,
    /// For each cell the one of eight neighbours that it drains to.
    pub directions: Directions,
    /// Direction of the steepest descent in radians, 0 to 2π counter-clockwise from the east, or [`infinity::NONE`] (Tarboton 1997; see
    /// [`infinity::route_d_infinity`]).
    pub angles: Field<f32>,
    /// Number of cells that drain through each cell, itself among them; 0 where there is no data.
    pub cells: Field<u32>,
    /// Number of the basin of each cell, from 1; 0 in the sea and where there is no data.
    pub basins: Field<u32>,
    /// Strahler's order of the stream in each cell; 0 where there is none.
    pub orders: Field<u32>,
    /// The streams, reach by reach.
    pub channels: ChannelNetwork,
    /// The depressions under its lakes, each before the one that it becomes part of; `None` if they were not asked for.
    pub depressions: Option<Vec<NestedDepression>>,
    /// What it heeded; its threshold is set.
    pub options: SurveyOptions,
    breaching: Option<ChannelSummary>,
}

impl SurveyOptions {
    /// Whether they can be heeded on this terrain: outlets lie inside, limits and numbers are in range, and there is memory for it.
    ///
    /// # Errors
    /// By name and value: an outlet outside of the terrain or without data, a limit below 0, a threshold or a runoff out of its range; too
    /// little memory.
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

    /// Checks that threshold and runoff are in range.
    ///
    /// # Errors
    /// The first number that is out of range, with the range.
    pub fn check_numbers(&self) -> Result<()> {
        for (name, value, unit) in [("threshold", self.threshold, "m²"), ("runoff", self.runoff, "mm")] {
            if let Some(value) = value.filter(|value| !(0.0..=1e15).contains(value)) {
                return Err(Error::value(name, format!("{value} {unit}"), format!("0 to 1e15 {unit}")));
            }
        }
        Ok(())
    }

    /// Catchment in m² from which on there is a stream.
    pub fn threshold_on(&self, grid: &Grid) -> f64 {
        self.threshold.unwrap_or(THRESHOLD.max(FEWEST * grid.cell_area()))
    }
}

impl Survey {
    /// The tasks of [`Survey::of`] in order: carve channels out of depressions; fill the rest and route the flow; count
    /// the cells upstream of each cell; find streams, their orders and lines, and basins.
    pub const TASKS: [&'static str; 4] = ["breach", "directions", ACCUMULATION.name, "streams"];

    /// Computes the drainage of a terrain. `progress` receives a report at the beginning of each of the
    /// [tasks](Self::TASKS).
    ///
    /// # Errors
    /// As [`SurveyOptions::check`]; [`Error::Stopped`].
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

/// By how much a surface lies above another.
fn difference(high: &Field<Height>, low: &Field<Height>) -> Field<Height> {
    Field::generate(high.size(), |i, j| Height(high[(i, j)].0 - low[(i, j)].0))
}
