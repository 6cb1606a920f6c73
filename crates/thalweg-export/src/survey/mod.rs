//! [`Survey`]: computes the whole drainage of an elevation model in one call, and writes [a
//! folder](Survey::write_draft) for GIS.
//!
//! ```
//! use thalweg_export::survey::{Survey, DrainOptions};
//! use thalweg_core::terrain::field::Field;
//! use thalweg_core::terrain::grid::Grid;
//! use thalweg_core::terrain::height::Height;
//! use thalweg_core::terrain::Terrain;
//! use thalweg_core::NoProgress;
//!
//! // A valley that falls to the south, with a hollow in it.
//! let metres = |i: usize, j: usize| 50.0 - i as f64 + 2.0 * j.abs_diff(10) as f64 - if (i, j) == (15, 10) { 3.0 } else { 0.0 };
//! let ground = Field::from_fn([40, 21], |i, j| Height::from_metres_clamped(metres(i, j)));
//! let terrain = Terrain::from_ground(Grid::new([40, 21], 10.0)?, ground)?;
//!
//! let options = DrainOptions { threshold: Some(20_000.0), ..DrainOptions::default() };
//! let survey = Survey::from_terrain(&terrain, &options, &mut NoProgress)?;
//! assert_eq!(survey.lake_depth[(15, 10)], Height::from_metres(2.0)?);
//! assert_eq!(survey.summarize(&terrain.grid).streams.reaches, survey.channels.reaches.len());
//!
//! let folder = tempfile::tempdir().unwrap();
//! survey.write_draft(folder.path(), &terrain, None)?.commit(&[])?;
//! assert!(folder.path().join("streams.geojson").is_file() && folder.path().join("drain.json").is_file());
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

mod area_units;
mod files;
mod options;
mod summary;

pub use files::{REPORT, check_files};
pub use options::{DrainOptions, FlowMethod};
pub use summary::{BasinSummary, ChannelSummary, LakeSummary, OrderSummary, StreamSummary, Summary};

use area_units::AreaUnits;
use thalweg_core::terrain::ChannelNetwork;
use thalweg_core::{Field, Grid, Height, Progress, ProgressReport, Result, Terrain};
use thalweg_flow::accumulate::quantize_weights;
use thalweg_flow::channels::trace_channels_with_areas;
use thalweg_flow::multiple::accumulate_multiple;
use thalweg_flow::{Directions, FlowGraph, Land, basins, breach, infinity, streams};
use thalweg_render::products::nested::{NestedDepression, nested_depressions};

/// The default drainage area in m² from which there is a stream; it forms a brook in most humid regions.
const THRESHOLD: f64 = 500_000.0;

/// The least number of cells of a drainage area at the default threshold; smaller areas are mostly noise.
const MIN_STREAM_CELLS: f64 = 100.0;

/// The peak memory of a survey in bytes per cell, in addition to the terrain; measured on the command `drain`.
const BYTES: u64 = 60;

/// The additional peak memory of accumulation by D∞ or to all lower neighbours in bytes per cell: an upper bound,
/// counted from the allocations.
const SPREAD: u64 = 56;

/// The additional peak memory in bytes per cell where the areas of cells differ: the areas and their sums.
const AREAS: u64 = 16;

/// The additional peak memory of nested depressions in bytes per cell, where half of the ground is under lakes.
const NESTED: u64 = 40;

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
    /// The flow accumulation of each cell by the method of the options, as a number of cells; `None` for D8, whose
    /// accumulation is `cells`. For example, a cell that receives half of the flow of its only donor has 1.5. If the
    /// areas of cells differ, it is in the units of `area_units`.
    pub spread: Option<Field<f64>>,
    /// The drainage area of each cell by D8 in units of [`CellAreas`](thalweg_core::terrain::CellAreas); `None` if all
    /// cells have the same area, which is that of every cell of `cells`.
    pub area_units: Option<Field<i64>>,
    /// The number of the basin of each cell, from 1; 0 in the sea and where there is no data.
    pub basins: Field<u32>,
    /// The Strahler order of the stream in each cell; 0 where there is none.
    pub orders: Field<u32>,
    /// The streams, reach by reach.
    pub channels: ChannelNetwork,
    /// The nested depressions under the lakes, each before the one that contains it; `None` if not requested.
    pub depressions: Option<Vec<NestedDepression>>,
    /// The options of the survey, with the threshold that was used.
    pub options: DrainOptions,
    breaching: Option<ChannelSummary>,
}

impl Survey {
    /// The tasks of [`Survey::from_terrain`] in order: carve channels out of depressions; fill the rest and route the
    /// flow; count the cells upstream of each cell; find the streams, their orders and reaches, and the basins.
    pub const TASKS: [&'static str; 4] = ["breach", "directions", "accumulation", "streams"];

    /// Returns the drainage area of each cell in m² by the method of the options; 0 where there is no data. `grid` is
    /// that of the terrain.
    pub fn drainage_area(&self, grid: &Grid) -> Field<f64> {
        let unit = AreaUnits::from_grid(grid).unit_m2();
        match (&self.spread, &self.area_units) {
            (Some(spread), _) => spread.map(|cells| cells * unit),
            (None, Some(units)) => units.map(|units| *units as f64 * unit),
            (None, None) => self.cells.map(|cells| f64::from(*cells) * unit),
        }
    }

    /// Computes the drainage of a terrain, whose grid gives the edges and the sea level. `progress` receives a report
    /// at the beginning of each of the [tasks](Self::TASKS).
    ///
    /// # Errors
    /// Returns the errors of [`DrainOptions::check`], and [`Error::Stopped`](thalweg_core::Error::Stopped).
    pub fn from_terrain(terrain: &Terrain, options: &DrainOptions, progress: &mut dyn Progress) -> Result<Self> {
        // Memory and options are checked before the work.
        options.check(terrain)?;
        let mut begin = |task: usize| {
            ProgressReport::new(Self::TASKS[task], task as u64, Self::TASKS.len() as u64).send_to(progress)
        };
        let (grid, areas) = (&terrain.grid, AreaUnits::from_grid(&terrain.grid));
        let threshold = options.stream_threshold(grid);
        let outlets = options.outlet_cells(grid)?;
        let land = Land { outlets: &outlets, ..Land::from_terrain(terrain) };
        begin(0)?;
        // Channels are carved before the rest is filled, so only depressions that no permitted channel drains become
        // lakes.
        let breached = options.breach.map(|limits| breach::breach_depressions(&land, &limits)).transpose()?;
        let open = breached.as_ref().map_or(&terrain.ground, |breached| &breached.ground);
        let land = land.with_ground(open);
        begin(1)?;
        let mut drainage = FlowGraph::new(&land);
        let (land, directions) = (drainage.with_filled_surface(&land), drainage.directions());
        // The angles refer to the filled surface, and use the D8 directions where it is flat.
        let angles = infinity::route_d_infinity(&land, directions);
        begin(2)?;
        let spread = accumulate_flow(&land, directions, &angles, options, &areas)?;
        let cells = drainage.upstream_cells();
        let area_units = areas.accumulate(directions)?;
        begin(3)?;
        // Streams and basins only read the directions, so they are computed at the same time.
        let lines = || -> Result<_> {
            let unit = areas.unit_m2();
            let (mask, channels) = match &area_units {
                None => {
                    let least = streams::min_stream_cells(threshold, unit);
                    let mask = streams::find_stream_cells(&land, cells, least)?;
                    let area = |k: usize| f64::from(cells[k]) * unit;
                    let channels = trace_channels_with_areas(&land, directions, area, &mask)?;
                    (mask, channels)
                }
                Some(units) => {
                    let mask = streams::find_stream_cells(&land, units, areas.units_from_m2(threshold))?;
                    let area = |k: usize| units[k] as f64 * unit;
                    let channels = trace_channels_with_areas(&land, directions, area, &mask)?;
                    (mask, channels)
                }
            };
            Ok((streams::compute_strahler_orders(directions, &mask)?, channels))
        };
        let (lines, basins) = rayon::join(lines, || basins::label_basins(&land, directions));
        let ((orders, channels), basins) = (lines?, basins?);
        // Depths and volumes refer to the ground with the carved channels.
        let lake_depth = drainage.fill_depths(open);
        let tree = || nested_depressions(&land.with_ground(open), drainage.filled_surface(), drainage.directions());
        let depressions = options.depressions.then(tree).transpose()?;
        let breaching = breached.as_ref().map(|breached| ChannelSummary::from_breached(breached, grid.cell_area()));
        let cut = breached.map(|breached| subtract_surfaces(&terrain.ground, &breached.ground));
        let cells = drainage.take_upstream_cells();
        let (filled, directions) = drainage.into_parts();
        let options = DrainOptions { threshold: Some(threshold), outlets, outlets_at: Vec::new(), ..options.clone() };
        Ok(Self {
            filled,
            lake_depth,
            cut,
            directions,
            angles,
            cells,
            spread,
            area_units,
            basins,
            orders,
            channels,
            depressions,
            options,
            breaching,
        })
    }
}

/// Accumulates the flow by the method of the options; returns `None` for D8.
fn accumulate_flow(
    land: &Land<'_>,
    directions: &Directions,
    angles: &Field<f32>,
    options: &DrainOptions,
    areas: &AreaUnits,
) -> Result<Option<Field<f64>>> {
    // The flow is divided in integers, whose sums do not depend on the order of addition, and therefore not on the
    // number of threads.
    let quantize = || match areas.weights(land.grid.size) {
        // Units are so small that they need no further division.
        Some(units) => Ok((units, 1.0)),
        None => quantize_weights(&Field::new(land.grid.size, 1.0)),
    };
    let (sums, part) = match options.method {
        FlowMethod::D8 => return Ok(None),
        FlowMethod::Multiple => {
            let (parts, part) = quantize()?;
            (accumulate_multiple(land, directions, options.exponent, parts)?.sums, part)
        }
        FlowMethod::DInfinity => {
            let (parts, part) = quantize()?;
            (infinity::accumulate_d_infinity_on(land.grid, directions, angles, &parts)?, part)
        }
    };
    Ok(Some(sums.map(|sum| *sum as f64 * part)))
}

/// Returns the difference between two surfaces.
fn subtract_surfaces(high: &Field<Height>, low: &Field<Height>) -> Field<Height> {
    Field::from_fn(high.size(), |i, j| Height(high[(i, j)].0 - low[(i, j)].0))
}
