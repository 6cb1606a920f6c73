//! What several commands take.

use std::path::Path;

use clap::Args;
use thalweg_core::{Cell, MapPoint, Result};
use thalweg_io::LoadOptions;
use thalweg_store::DrainJob;

use super::values::{EdgeWord, UnitWord, area, cell, map_point, two_numbers};
use crate::console::Voice;

/// How a terrain file is to be understood.
#[derive(Args)]
pub struct LoadArgs {
    /// Metres of the lowest and the highest sample of a file without a unit.
    #[arg(long, value_name = "MIN,MAX", value_parser = two_numbers("MIN,MAX"), allow_hyphen_values = true)]
    pub height: Option<[f64; 2]>,
    /// Side of a cell in metres, where the file does not say.
    #[arg(long, value_name = "M")]
    pub cell_size: Option<f64>,
    /// Smooth the terraces of 8-bit heights away.
    #[arg(long)]
    pub deterrace: bool,
    /// Take coordinates and heights in this unit, whatever the file says; degrees stay refused.
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<UnitWord>,
    /// Take infinite samples as nodata instead of refusing them.
    #[arg(long)]
    pub infinite_is_nodata: bool,
}

impl LoadArgs {
    /// As the library takes it.
    pub fn options(&self) -> LoadOptions {
        LoadOptions {
            height: self.height,
            cell_size: self.cell_size,
            infinite_is_nodata: self.infinite_is_nodata,
            deterrace: self.deterrace,
            unit: self.unit.map(UnitWord::unit),
        }
    }
}

/// How much is said, and how.
#[derive(Args, Clone, Copy)]
pub struct VoiceArgs {
    /// No progress and no summary; warnings and errors stay.
    #[arg(short, long)]
    pub quiet: bool,
    /// Progress, warnings, errors and the result as lines of JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

impl From<VoiceArgs> for Voice {
    fn from(args: VoiceArgs) -> Self {
        Self { quiet: args.quiet, json: args.json }
    }
}

/// The options of drainage that `drain` and `plan` share.
#[derive(Args)]
pub struct DrainageArgs {
    /// Catchment from which on there is a stream, such as 250000, 250000m2 or 0.25km2 [default: 0.5km2, but at least 100
    /// cells].
    #[arg(long, value_name = "AREA", value_parser = area)]
    pub threshold: Option<f64>,
    /// A cell where water leaves, counted from 0 in the north-west; may be given again.
    #[arg(long, value_name = "ROW,COL", value_parser = cell)]
    pub outlet: Vec<Cell>,
    /// The same by coordinates of the file.
    #[arg(long, value_name = "X,Y", value_parser = map_point, allow_hyphen_values = true)]
    pub outlet_at: Vec<MapPoint>,
    /// What happens at the four sides of an elevation model: closed ones let water out at outlets, into sea and nodata only.
    #[arg(long, default_value = "open")]
    pub edges: EdgeWord,
    /// Up to this height in metres an elevation model is sea.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    /// Write the tree of depressions as a table: pit, sill, what it spills into, area, volume and depth of each.
    #[arg(long)]
    pub depressions: bool,
    /// Leave out the outlines of lakes, where work goes by tiles: they may take more of the disk than the layers.
    #[arg(long)]
    pub no_outlines: bool,
}

impl DrainageArgs {
    /// The work on a file of any size.
    ///
    /// # Errors
    /// An unusable input, an outlet outside it.
    pub fn job(&self, input: &Path, load: &LoadArgs) -> Result<DrainJob> {
        let mut job = DrainJob {
            edges: self.edges.edges(),
            sea_level: self.sea_level,
            threshold: self.threshold,
            outlets: self.outlet.clone(),
            depressions: self.depressions,
            no_outlines: self.no_outlines,
            ..DrainJob::of(input, load.options())?
        };
        job.let_out_at(&self.outlet_at)?;
        Ok(job)
    }
}
