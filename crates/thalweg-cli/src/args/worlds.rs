//! Commands that look into worlds of any size.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use thalweg_core::Point;

use super::shared::VoiceArgs;
use super::values::{point, recipes, seed, threads};

/// Which world.
#[derive(Args)]
pub struct WorldArgs {
    /// A preset's name (see `thalweg presets`), a recipe file, or a folder of tiles or of a world.
    #[arg(value_name = "PRESET|RECIPE|DIR", value_parser = recipes(), hide_possible_values = true)]
    pub world: OsString,
    /// The world's seed.
    #[arg(long, value_name = "N", value_parser = seed())]
    pub seed: Option<u64>,
    /// Threads to work with [default: all cores]; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub voice: VoiceArgs,
}

/// `tile`.
#[derive(Args)]
pub struct Tile {
    #[command(flatten)]
    pub world: WorldArgs,
    /// The level: 0 has the recipe's widest cells, each further one cells of half the width.
    #[arg(long, value_name = "L", default_value = "0")]
    pub level: u32,
    /// A place on the tile, in the world's metres eastward and southward.
    #[arg(long, value_name = "X,Y", value_parser = point, allow_hyphen_values = true)]
    pub at: Point,
    /// Cells of the tile's side; the first tile begins at the world's origin.
    #[arg(long, value_name = "N", default_value = "512")]
    pub size: usize,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// `serve`.
#[derive(Args)]
pub struct Serve {
    #[command(flatten)]
    pub world: WorldArgs,
    /// The address to listen at; others than this machine's own let others in.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: String,
    /// The port; 0 takes one that is free.
    #[arg(long, value_name = "N", default_value = "8080")]
    pub port: u16,
}
