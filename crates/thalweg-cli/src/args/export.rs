//! `export`: what the library's table of targets takes.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use thalweg_export::export::{ExportOptions, TARGETS};

use super::declared::OperationArgs;
use super::shared::LoadArgs;

/// `export`.
#[derive(Args)]
pub struct ExportArgs {
    /// The terrain: a file, or a folder that `build` wrote.
    pub input: PathBuf,
    /// The program that is to read the files.
    #[arg(long = "for", value_name = "TARGET", value_parser = target_parser())]
    pub target: String,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub options: OperationArgs<ExportOptions>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Returns the parser of the name of an export target.
pub fn target_parser() -> PossibleValuesParser {
    TARGETS.iter().map(|target| PossibleValue::new(target.name).help(target.about)).collect::<Vec<_>>().into()
}
