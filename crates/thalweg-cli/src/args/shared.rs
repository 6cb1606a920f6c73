//! What several commands take.

use clap::Args;
use thalweg::io::LoadOptions;

use super::values::{UnitWord, two_numbers};
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
