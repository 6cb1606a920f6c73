//! What a survey found, in numbers: the content of its report, of which docs/report.schema.json is the schema.

use std::fmt;

use serde::Serialize;

use super::Survey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Grid, Height};
use thalweg_flow::VOID;
use thalweg_flow::breach::Breached;

/// A survey in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The library's version.
    pub thalweg: &'static str,
    /// Rows of the grid.
    pub rows: usize,
    /// Columns of the grid.
    pub columns: usize,
    /// Side of a cell in metres.
    pub cell_size: f64,
    /// The coordinate reference system as `EPSG:code`; `None` where the grid names none.
    pub crs: Option<String>,
    /// Number of cells without data.
    pub nodata_cells: usize,
    /// Sea level in metres; `None` where there is no sea.
    pub sea_level: Option<f64>,
    /// Catchment in m² from which on there is a stream.
    pub threshold_m2: f64,
    /// Area of the land, in m²: of all cells that have a basin.
    pub land_m2: f64,
    /// Depressions, full to their brims.
    pub lakes: LakeSummary,
    /// Basins.
    pub basins: BasinSummary,
    /// Streams.
    pub streams: StreamSummary,
    /// Channels that were cut, if they were to be.
    pub breached: Option<ChannelSummary>,
    /// Cells (row, column) where water was to leave.
    pub outlets: Vec<Cell>,
}

/// Depressions, full to their brims.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LakeSummary {
    /// Number of cells under water.
    pub cells: usize,
    /// What they hold in m³.
    pub volume_m3: f64,
    /// The greatest depth in metres.
    pub deepest_m: f64,
}

/// Basins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BasinSummary {
    /// How many there are.
    pub count: usize,
    /// Area of the largest in m².
    pub largest_m2: f64,
}

/// Streams.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StreamSummary {
    /// Number of cells in which there is one.
    pub cells: usize,
    /// Number of channel reaches.
    pub links: usize,
    /// Length of all reaches together, in metres.
    pub length_m: f64,
    /// That length over the area of the land, in km/km²; 0 without land.
    pub density_km_per_km2: f64,
    /// The reaches of each Strahler order, from 1 to the highest.
    pub orders: Vec<OrderSummary>,
}

/// The reaches of one order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OrderSummary {
    /// The order, from 1.
    pub order: u32,
    /// Number of reaches of this order.
    pub links: usize,
    /// Their length together, in metres.
    pub length_m: f64,
}

/// Channels cut out of depressions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChannelSummary {
    /// Number of pits that were given a way out.
    pub pits: usize,
    /// Number of pits to which the limits left none.
    pub kept: usize,
    /// What was cut away in m³.
    pub volume_m3: f64,
}

impl ChannelSummary {
    pub(super) fn of(breached: &Breached, cell_area: f64) -> Self {
        let volume_m3 = breached.removed as f64 / UNITS * cell_area;
        Self { pits: breached.breached, kept: breached.kept, volume_m3 }
    }
}

impl Survey {
    /// What was found in numbers; `grid` is that of the terrain.
    pub fn summary(&self, grid: &Grid) -> Summary {
        let area = grid.cell_area();
        let land_m2 = self.basins.as_slice().iter().filter(|basin| **basin > 0).count() as f64 * area;
        Summary {
            thalweg: env!("CARGO_PKG_VERSION"),
            rows: grid.rows(),
            columns: grid.cols(),
            cell_size: grid.cell,
            crs: grid.georeference.as_ref().and_then(|g| g.epsg()).map(|code| format!("EPSG:{code}")),
            nodata_cells: self.directions.as_slice().iter().filter(|code| **code == VOID).count(),
            sea_level: grid.sea_level.map(Height::metres),
            threshold_m2: self.options.threshold_on(grid),
            land_m2,
            lakes: lakes(&self.lake_depth, area),
            basins: basins(&self.basins, area),
            streams: self.streams(land_m2),
            breached: self.breaching,
            outlets: self.options.outlets.clone(),
        }
    }

    fn streams(&self, land_m2: f64) -> StreamSummary {
        let highest = self.channels.reaches.iter().map(|reach| reach.order).max().unwrap_or(0);
        let of_order = |order: u32| {
            let reaches = || self.channels.reaches.iter().filter(|reach| reach.order == order);
            OrderSummary { order, links: reaches().count(), length_m: reaches().map(|reach| reach.length).sum() }
        };
        let length_m: f64 = self.channels.reaches.iter().map(|reach| reach.length).sum();
        StreamSummary {
            cells: self.orders.as_slice().iter().filter(|order| **order > 0).count(),
            links: self.channels.reaches.len(),
            length_m,
            density_km_per_km2: if land_m2 > 0.0 { length_m / land_m2 * 1000.0 } else { 0.0 },
            orders: (1..=highest).map(of_order).collect(),
        }
    }
}

fn lakes(depths: &Field<Height>, cell_area: f64) -> LakeSummary {
    let full = || depths.as_slice().iter().filter(|depth| depth.0 > 0);
    let volume: i128 = full().map(|depth| i128::from(depth.0)).sum();
    LakeSummary {
        cells: full().count(),
        volume_m3: volume as f64 / UNITS * cell_area,
        deepest_m: full().max().copied().unwrap_or_default().metres(),
    }
}

fn basins(numbers: &Field<u32>, cell_area: f64) -> BasinSummary {
    let mut cells = vec![0u64; numbers.as_slice().iter().max().map_or(0, |n| *n as usize) + 1];
    numbers.as_slice().iter().for_each(|basin| cells[*basin as usize] += 1);
    let largest = cells[1..].iter().max().copied().unwrap_or(0);
    BasinSummary { count: cells.len() - 1, largest_m2: largest as f64 * cell_area }
}

/// The streams in a line of words.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StreamSummary { links, length_m, orders, .. } = &self.streams;
        let (kilometres, highest, from) = (length_m / 1000.0, orders.len(), self.threshold_m2 / 1e6);
        write!(f, "{links} stream links, {kilometres:.1} km, up to order {highest}, from {from:.3} km² on")
    }
}
