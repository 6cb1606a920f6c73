//! Arguments that several commands share.

use std::path::Path;

use clap::Args;
use thalweg_core::Result;
use thalweg_core::terrain::{BoundaryOptions, SeaLevelOptions};
use thalweg_export::survey::DrainOptions;
use thalweg_io::LoadOptions;
use thalweg_store::DrainJob;

use super::declared::OperationArgs;
use super::values::thread_count_parser;
use crate::console::Reporter;

/// The interpretation of a terrain file.
pub type LoadArgs = OperationArgs<LoadOptions>;

/// The boundary conditions of an elevation model.
pub type MapArgs = OperationArgs<BoundaryOptions>;

/// The sea level of a terrain whose folder may specify one.
pub type SeaArgs = OperationArgs<SeaLevelOptions>;

/// The options that every command takes.
#[derive(Args, Clone, Copy)]
pub struct CommonArgs {
    /// Number of threads, on which no result depends [allowed: 1 to 1024] [default: one per core; for `job run`, 1].
    #[arg(long, global = true, display_order = 900, value_name = "N", value_parser = thread_count_parser())]
    pub threads: Option<usize>,
    /// Prints no progress and no summary; warnings and errors are still printed.
    #[arg(short, long, global = true, display_order = 900)]
    pub quiet: bool,
    /// Prints progress, warnings, errors and the result as JSON on standard output, one object per line.
    #[arg(long, global = true, display_order = 900)]
    pub json: bool,
}

impl From<CommonArgs> for Reporter {
    fn from(args: CommonArgs) -> Self {
        Self { quiet: args.quiet, json: args.json }
    }
}

/// Makes the job that computes the drainage of a file of any size.
///
/// # Errors
/// Returns the errors of [`DrainJob::new`].
pub fn drain_job(
    input: &Path,
    load: &LoadOptions,
    boundary: &BoundaryOptions,
    options: &DrainOptions,
) -> Result<DrainJob> {
    let job = DrainJob::new(input, load.clone(), options.clone())?;
    Ok(DrainJob { edges: boundary.edges, sea_level: boundary.sea_level, ..job })
}
