//! The results of a survey in numbers: the content of its report, whose schema is docs/report.schema.json.

use std::fmt;

use serde::Serialize;
use thalweg_core::declare::operation::{Json, OptionType as _};

use super::area_units::AreaUnits;
use super::{FlowMethod, Survey};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Grid, Height};
use thalweg_flow::VOID;
use thalweg_flow::breach::Breached;

/// The results of a survey in numbers.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, NoProgress, Terrain};
/// use thalweg_export::survey::{Survey, DrainOptions};
///
/// // A pit of 1 m in a slope that falls to the east.
/// let heights = [9.0, 8.0, 7.0, 9.0, 5.0, 6.0, 9.0, 8.0, 7.0];
/// let terrain = Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?;
/// let survey = Survey::from_terrain(&terrain, &DrainOptions::default(), &mut NoProgress)?;
/// let lakes = survey.summarize(&terrain.grid).lakes;
/// assert_eq!((lakes.cells, lakes.deepest_m, lakes.volume_m3), (1, 1.0, 100.0));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The version of the library.
    pub thalweg: &'static str,
    /// The number of rows of the grid.
    pub rows: usize,
    /// The number of columns of the grid.
    pub columns: usize,
    /// The side of a cell in metres; if cells are not squares, that of a square with the area of a cell in the middle
    /// of the map.
    pub cell_size: f64,
    /// The coordinate reference system as `EPSG:code`; `None` if the grid has none.
    pub crs: Option<String>,
    /// The number of cells without data.
    pub nodata_cells: usize,
    /// The sea level in metres; `None` if there is no sea.
    pub sea_level: Option<f64>,
    /// The drainage area in m² from which there is a stream.
    pub threshold_m2: f64,
    /// The routing method of the drainage area: `d8`, `dinf` or `mfd`.
    pub method: Json,
    /// The exponent of slopes, for the method `mfd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// The area of the land in m²: of all cells that belong to a basin.
    pub land_m2: f64,
    /// The filled depressions.
    pub lakes: LakeSummary,
    /// The basins.
    pub basins: BasinSummary,
    /// The streams.
    pub streams: StreamSummary,
    /// The carved channels, if carving was requested.
    pub breached: Option<ChannelSummary>,
    /// The given outlets (row, column).
    pub outlets: Vec<Cell>,
}

/// The filled depressions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LakeSummary {
    /// The number of cells under water.
    pub cells: usize,
    /// The volume of the water in m³.
    pub volume_m3: f64,
    /// The greatest depth in metres.
    pub deepest_m: f64,
}

/// The basins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BasinSummary {
    /// The number of basins.
    pub count: usize,
    /// The area of the largest basin in m².
    pub largest_m2: f64,
}

/// The streams.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StreamSummary {
    /// The number of cells with a stream.
    pub cells: usize,
    /// The number of channel reaches.
    pub reaches: usize,
    /// The total length of all reaches in metres.
    pub length_m: f64,
    /// The drainage density: that length divided by the area of the land, in km/km²; 0 without land.
    pub density_km_per_km2: f64,
    /// The reaches of each Strahler order, from 1 to the highest.
    pub orders: Vec<OrderSummary>,
}

/// The reaches of one Strahler order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OrderSummary {
    /// The order, from 1.
    pub order: u32,
    /// The number of reaches of this order.
    pub reaches: usize,
    /// Their total length in metres.
    pub length_m: f64,
}

/// The channels that were carved out of depressions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChannelSummary {
    /// The number of pits that were breached.
    pub pits: usize,
    /// The number of pits that could not be breached within the limits.
    pub kept: usize,
    /// The volume of the carved channels in m³.
    pub volume_m3: f64,
}

impl ChannelSummary {
    pub(super) fn from_breached(breached: &Breached, cell_area: f64) -> Self {
        let volume_m3 = breached.removed as f64 / UNITS * cell_area;
        Self { pits: breached.breached, kept: breached.kept, volume_m3 }
    }
}

impl Survey {
    /// Returns the results in numbers; `grid` is that of the terrain.
    pub fn summarize(&self, grid: &Grid) -> Summary {
        let areas = AreaUnits::from_grid(grid);
        let land_cells = |i: usize| self.basins.row(i).iter().filter(|basin| **basin > 0).count() as i64;
        let land_units: i64 = (0..self.basins.rows()).map(|i| land_cells(i) * areas.units(i)).sum();
        let land_m2 = land_units as f64 * areas.unit_m2();
        Summary {
            thalweg: env!("CARGO_PKG_VERSION"),
            rows: grid.rows(),
            columns: grid.cols(),
            cell_size: grid.cell,
            crs: grid.georeference.as_ref().and_then(|g| g.epsg()).map(|code| format!("EPSG:{code}")),
            nodata_cells: self.directions.as_slice().iter().filter(|code| **code == VOID).count(),
            sea_level: grid.sea_level.map(Height::metres),
            threshold_m2: self.options.stream_threshold(grid),
            method: self.options.method.to_json(),
            exponent: (self.options.method == FlowMethod::Multiple).then_some(self.options.exponent),
            land_m2,
            lakes: summarize_lakes(&self.lake_depth, &areas),
            basins: summarize_basins(&self.basins, &areas),
            streams: self.summarize_streams(land_m2),
            breached: self.breaching,
            outlets: self.options.outlets.clone(),
        }
    }

    fn summarize_streams(&self, land_m2: f64) -> StreamSummary {
        let highest = self.channels.reaches.iter().map(|reach| reach.order).max().unwrap_or(0);
        let of_order = |order: u32| {
            let reaches = || self.channels.reaches.iter().filter(|reach| reach.order == order);
            OrderSummary { order, reaches: reaches().count(), length_m: reaches().map(|reach| reach.length).sum() }
        };
        let length_m: f64 = self.channels.reaches.iter().map(|reach| reach.length).sum();
        StreamSummary {
            cells: self.orders.as_slice().iter().filter(|order| **order > 0).count(),
            reaches: self.channels.reaches.len(),
            length_m,
            density_km_per_km2: if land_m2 > 0.0 { length_m / land_m2 * 1000.0 } else { 0.0 },
            orders: (1..=highest).map(of_order).collect(),
        }
    }
}

fn summarize_lakes(depths: &Field<Height>, areas: &AreaUnits) -> LakeSummary {
    let full = || depths.as_slice().iter().filter(|depth| depth.0 > 0);
    // The sum is exact: 128 bits cannot overflow, because a depth has 32 bits and the area of all cells less than 64.
    let row_sum =
        |i: usize| -> i128 { depths.row(i).iter().filter(|depth| depth.0 > 0).map(|depth| i128::from(depth.0)).sum() };
    let volume: i128 = (0..depths.rows()).map(|i| i128::from(areas.units(i)) * row_sum(i)).sum();
    LakeSummary {
        cells: full().count(),
        volume_m3: volume as f64 / UNITS * areas.unit_m2(),
        deepest_m: full().max().copied().unwrap_or_default().metres(),
    }
}

fn summarize_basins(numbers: &Field<u32>, areas: &AreaUnits) -> BasinSummary {
    // Basins are numbered from 1, and cells without a basin count under 0.
    let mut sizes = vec![0i64; numbers.as_slice().iter().max().map_or(0, |n| *n as usize) + 1];
    for i in 0..numbers.rows() {
        let units = areas.units(i);
        numbers.row(i).iter().for_each(|basin| sizes[*basin as usize] += units);
    }
    let largest = sizes[1..].iter().max().copied().unwrap_or(0);
    BasinSummary { count: sizes.len() - 1, largest_m2: largest as f64 * areas.unit_m2() }
}

/// Describes the streams in one line.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StreamSummary { reaches, length_m, orders, .. } = &self.streams;
        let (kilometres, highest, from) = (length_m / 1000.0, orders.len(), self.threshold_m2 / 1e6);
        write!(f, "{reaches} channel reaches, {kilometres:.1} km, up to order {highest}, from {from:.3} km² on")
    }
}
