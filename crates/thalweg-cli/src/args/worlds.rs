//! The arguments of commands on worlds of any size.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use thalweg_core::Point;

use super::values::{parse_point, recipe_parser, seed_parser};

/// The world, and how it is computed.
#[derive(Args)]
pub struct WorldArgs {
    /// The name of a preset (see `thalweg presets`), a recipe file, or a folder of a world or of tiles that `build`
    /// wrote.
    #[arg(value_name = "PRESET|RECIPE|DIR", value_parser = recipe_parser(), hide_possible_values = true)]
    pub world: OsString,
    /// Seed of the world [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = seed_parser())]
    pub seed: Option<u64>,
}

/// `tile`.
#[derive(Args)]
pub struct TileArgs {
    #[command(flatten)]
    pub world: WorldArgs,
    /// Level of the tile; level 0 has the recipe's widest cells, and each further level has cells of half the width.
    #[arg(long, value_name = "L", default_value = "0")]
    pub level: u32,
    /// A point in the tile, in metres east and south of the world's origin.
    #[arg(long, value_name = "X,Y", value_parser = parse_point, allow_hyphen_values = true)]
    pub at: Point,
    /// Side of a tile in cells, 16 to 4096. The tiles form a grid that begins at the world's origin.
    #[arg(long, value_name = "N", default_value = "512")]
    pub size: usize,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// `serve`.
#[derive(Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub world: WorldArgs,
    /// The IP address to listen on; with 127.0.0.1, only this machine can connect, with 0.0.0.0, other machines can
    /// too.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: String,
    /// The port to listen on; 0 selects a free one.
    #[arg(long, value_name = "N", default_value = "8080")]
    pub port: u16,
}
