//! Arguments that several commands share.

use std::path::Path;

use clap::Args;
use thalweg_core::Result;
use thalweg_export::survey::DrainOptions;
use thalweg_io::LoadOptions;
use thalweg_store::DrainJob;

use super::values::{EdgeWord, UnitWord, thread_count_parser, two_numbers};
use crate::console::Reporter;

/// The interpretation of a terrain file.
#[derive(Args)]
pub struct LoadArgs {
    /// Heights in metres of the lowest and the highest sample, for a file without a unit.
    #[arg(long, value_name = "MIN,MAX", value_parser = two_numbers("MIN,MAX"), allow_hyphen_values = true)]
    pub height: Option<[f64; 2]>,
    /// Side of a cell in metres [default: that of the file].
    #[arg(long, value_name = "M")]
    pub cell_size: Option<f64>,
    /// Removes the terraces of 8-bit heights.
    #[arg(long)]
    pub deterrace: bool,
    /// Reads coordinates and heights in this unit, whatever the file states; degrees are still refused.
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<UnitWord>,
    /// Reads infinite samples as no data instead of refusing them.
    #[arg(long)]
    pub infinite_is_nodata: bool,
}

impl LoadArgs {
    /// Converts the arguments to the library's type.
    pub fn to_load_options(&self) -> LoadOptions {
        LoadOptions {
            height: self.height,
            cell_size: self.cell_size,
            infinite_is_nodata: self.infinite_is_nodata,
            deterrace: self.deterrace,
            unit: self.unit.map(UnitWord::to_unit),
        }
    }
}

/// The options that every command takes.
#[derive(Args, Clone, Copy)]
pub struct CommonArgs {
    /// Number of threads [default: all cores, for `stage` 1]; the result does not depend on it.
    #[arg(long, global = true, value_name = "N", value_parser = thread_count_parser())]
    pub threads: Option<usize>,
    /// Prints no progress and no summary; warnings and errors are still printed.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Prints progress, warnings, errors and the result as lines of JSON on standard output.
    #[arg(long, global = true)]
    pub json: bool,
}

impl From<CommonArgs> for Reporter {
    fn from(args: CommonArgs) -> Self {
        Self { quiet: args.quiet, json: args.json }
    }
}

/// The boundary conditions of an elevation model.
#[derive(Args)]
pub struct MapArgs {
    /// Boundary condition of the four sides of an elevation model; with closed sides, water leaves only at outlets,
    /// into the sea and into no-data cells.
    #[arg(long, default_value = "open")]
    pub edges: EdgeWord,
    /// Sea level of an elevation model in metres; ground up to this level is sea.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
}

/// Makes the job that computes the drainage of a file of any size.
///
/// # Errors
/// Returns the errors of [`DrainJob::new`].
pub fn drain_job(input: &Path, load: &LoadArgs, map: &MapArgs, options: &DrainOptions) -> Result<DrainJob> {
    let job = DrainJob::new(input, load.to_load_options(), options.clone())?;
    Ok(DrainJob { edges: map.edges.to_edges(), sea_level: map.sea_level, ..job })
}
