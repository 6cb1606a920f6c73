//! The argument that names a world.

use std::ffi::OsString;

use clap::Args;

use super::values::recipe_parser;

/// A world of any size.
#[derive(Args)]
pub struct WorldArgs {
    /// The name of a preset (see `thalweg presets`), a recipe file, or a folder of a world or of tiles that `build` or
    /// `tile` wrote.
    #[arg(value_name = "PRESET|RECIPE|DIR", value_parser = recipe_parser(), hide_possible_values = true)]
    pub world: OsString,
}
