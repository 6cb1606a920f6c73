//! Arguments that several commands share.

use std::path::Path;

use clap::Args;
use thalweg_core::Result;
use thalweg_export::survey::DrainOptions;
use thalweg_io::LoadOptions;
use thalweg_store::DrainJob;

use super::declared::OperationArgs;
use super::values::{EdgeWord, thread_count_parser};
use crate::console::Reporter;

/// The interpretation of a terrain file.
pub type LoadArgs = OperationArgs<LoadOptions>;

/// The options that every command takes.
#[derive(Args, Clone, Copy)]
pub struct CommonArgs {
    /// Number of threads; the result does not depend on it [default: one per core; for `job run`, 1].
    #[arg(long, global = true, value_name = "N", value_parser = thread_count_parser())]
    pub threads: Option<usize>,
    /// Prints no progress and no summary; warnings and errors are still printed.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Prints progress, warnings, errors and the result as JSON on standard output, one object per line.
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
    /// Boundary condition of the four sides. If they are closed, water leaves only at given outlets or mouths, into the
    /// sea and into no-data cells.
    #[arg(long, default_value = "open")]
    pub edges: EdgeWord,
    /// Sea level in metres; ground at or below it is sea [default: no sea].
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
}

/// The sea level of a terrain whose folder may specify one.
#[derive(Args)]
pub struct SeaArgs {
    /// Sea level in metres; ground at or below it is sea [default: that of the folder or recipe, otherwise no sea].
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
}

/// Makes the job that computes the drainage of a file of any size.
///
/// # Errors
/// Returns the errors of [`DrainJob::new`].
pub fn drain_job(input: &Path, load: &LoadOptions, map: &MapArgs, options: &DrainOptions) -> Result<DrainJob> {
    let job = DrainJob::new(input, load.clone(), options.clone())?;
    Ok(DrainJob { edges: map.edges.to_edges(), sea_level: map.sea_level, ..job })
}
