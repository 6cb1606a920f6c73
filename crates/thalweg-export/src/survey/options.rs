//! [`DrainOptions`]: the declared options of the operation `drain`.

use super::{BYTES, MIN_STREAM_CELLS, NESTED, SPREAD, THRESHOLD};
use thalweg_core::base::memory;
use thalweg_core::declare::operation::Operation as _;
use thalweg_core::{Cell, Error, Grid, MapPoint, Result, Terrain, choice, operation};
use thalweg_flow::Land;
use thalweg_flow::breach::BreachLimits;
use thalweg_io::map_coordinates::locate_cells;

choice! {
    /// The routing method by which the drainage area accumulates.
    pub enum FlowMethod {
        /// Each cell drains to the neighbour of steepest descent (O'Callaghan & Mark 1984).
        D8 = "d8",
        /// Each cell drains to the two neighbours on either side of the direction of steepest descent (Tarboton 1997).
        DInfinity = "dinf",
        /// Each cell drains to all lower neighbours, in proportion to a power of the slope (Freeman 1991).
        Multiple = "mfd",
    }
}

operation! {
    /// Computes the drainage of an elevation model: flow directions, drainage areas, basins, lakes and streams.
    ///
    /// Depressions are filled (Barnes et al. 2014). Each cell drains to the neighbour of steepest descent (O'Callaghan
    /// & Mark 1984); flats drain away from higher and towards lower ground (Barnes et al. 2014). Streams begin where
    /// the drainage area reaches the threshold.
    ///
    /// # Examples
    /// By default a stream needs a drainage area of 0.5 km², and of 100 cells at least.
    ///
    /// ```
    /// use thalweg_core::Grid;
    /// use thalweg_core::declare::operation::Operation as _;
    /// use thalweg_export::survey::DrainOptions;
    ///
    /// let options = DrainOptions::default();
    /// assert_eq!(options.stream_threshold(&Grid::new([10, 10], 10.0)?), 500_000.0);
    /// assert_eq!(options.stream_threshold(&Grid::new([10, 10], 100.0)?), 1_000_000.0);
    /// let wrong = DrainOptions { runoff: Some(-1.0), ..options };
    /// assert!(wrong.check_ranges().unwrap_err().to_string().starts_with("runoff = -1 mm"));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct DrainOptions, "drain" {
        /// The smallest drainage area of a stream. The default is 0.5 km², but at least 100 cells.
        threshold: Option<f64> = None, within 0.0..=1e15, unit "m²";
        /// Cells at which water leaves the map, in addition to open edges, the sea and no-data cells. Rows and columns
        /// are counted from 0 in the north-west.
        outlets: Vec<Cell> = Vec::new(), within .., unit "1", flag "outlet";
        /// Points at which water leaves the map, in the coordinates of the file.
        outlets_at: Vec<MapPoint> = Vec::new(), within .., unit "1", flag "outlet-at", only Folder Store;
        /// Maximum depth and length, in metres, of channels that are carved to breach depressions (Lindsay 2016);
        /// depressions that remain are filled. By default, all depressions are filled.
        breach: Option<BreachLimits> = None, within .., unit "1", only Arrays Browser Folder;
        /// The routing method of the drainage area. Flow directions, basins, streams and discharge always follow D8.
        method: FlowMethod = FlowMethod::D8, within .., unit "1", only Arrays Browser Folder;
        /// The exponent of the slope in the method `mfd`: the larger it is, the more of the flow follows the steepest
        /// slope.
        exponent: f64 = 1.1, within 0.5..=10.0, unit "1", only Arrays Browser Folder;
        /// Annual runoff. If it is given, the discharge, the wetness, the lakes, and the rivers with their widths are
        /// also written.
        runoff: Option<f64> = None, within 0.0..=1e15, unit "mm", only Folder;
        /// Writes the tree of depressions as a table: pit, spill cell, parent, area, volume and depth of each depression.
        depressions: bool = false, within .., unit "1", only Folder Store;
        /// Does not write the outlines of lakes, which may take more disk space than the layers.
        skip_lake_outlines: bool = false, within .., unit "1", alias "no_outlines", only Store;
    }
}

impl DrainOptions {
    /// Checks the options for this terrain: outlets are inside, limits and numbers are in range, and there is enough
    /// memory.
    ///
    /// # Errors
    /// Returns an error that names the option and its value if an outlet is outside the terrain or has no data, if a
    /// limit is below 0, if a number is out of range, or if an exponent is given without the method that uses it; an
    /// error if there is not enough memory.
    pub fn check(&self, terrain: &Terrain) -> Result<()> {
        let grid = &terrain.grid;
        // The memory is an upper bound, because depressions and accumulation do not reach their peaks at the same time.
        let more = u64::from(self.depressions) * NESTED + u64::from(self.method != FlowMethod::D8) * SPREAD;
        memory::check_memory(
            &format!("the drainage of {} × {} cells", grid.cols(), grid.rows()),
            (BYTES + more).saturating_mul(grid.len() as u64),
        )?;
        Land { outlets: &self.outlet_cells(grid)?, ..Land::from_terrain(terrain) }.check()?;
        self.check_ranges()?;
        if self.method != FlowMethod::Multiple && self.exponent != Self::default().exponent {
            return Err(Error::conflict("exponent", "only applies when method is mfd"));
        }
        Ok(())
    }

    /// Returns the drainage area in m² from which there is a stream.
    pub fn stream_threshold(&self, grid: &Grid) -> f64 {
        self.threshold.unwrap_or(THRESHOLD.max(MIN_STREAM_CELLS * grid.cell_area()))
    }

    /// Returns the cells of all outlets: those given as cells, then those given as points.
    ///
    /// # Errors
    /// Returns an error if a point is outside the grid.
    pub fn outlet_cells(&self, grid: &Grid) -> Result<Vec<Cell>> {
        locate_cells(grid, &self.outlets, &self.outlets_at, "outlets_at")
    }
}
