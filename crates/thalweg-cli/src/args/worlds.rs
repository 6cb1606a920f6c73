//! The arguments that name a world, and those that change its recipe.

use std::ffi::OsString;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use thalweg_core::Result;
use thalweg_sim::recipe::Recipe;

use super::knobs::KnobArgs;
use super::values::{parse_name_and_value, recipe_parser, seed_parser};
use crate::recipes::{check_unique_parameters, set_parameter};

/// A world of any size.
#[derive(Args)]
pub struct WorldArgs {
    /// The name of a preset (see `thalweg presets`), a recipe file, or a folder of a world or of tiles that `build` or
    /// `tile` wrote.
    #[arg(value_name = "PRESET|RECIPE|DIR", value_parser = recipe_parser(), hide_possible_values = true)]
    pub world: OsString,
}

/// Changes to a recipe, in addition to the knobs.
#[derive(Args)]
pub struct RecipeArgs {
    /// Number of cells on the long side; more cells show the same world in finer detail. If the recipe begins with an
    /// elevation model, that is resampled to this number [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    pub cells: Option<usize>,
    /// Seed of the world [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = seed_parser())]
    pub seed: Option<u64>,
    /// Label of the last stage to run; the stages after it are omitted (`thalweg presets NAME` lists labels).
    #[arg(long, value_name = "LABEL")]
    pub until: Option<String>,
    /// Sets a parameter of the stage with this label: LABEL.PARAMETER=VALUE; may be repeated.
    #[arg(long, value_name = "SET", value_parser = parse_name_and_value)]
    pub set: Vec<(String, String)>,
}

impl RecipeArgs {
    /// Applies the changes and the knobs to a recipe. Knobs come first, so that a parameter that is set explicitly
    /// keeps its value.
    ///
    /// # Errors
    /// Returns an error if a stage, a parameter or a rock is unknown, or if a value is not allowed.
    pub fn apply_to(&self, recipe: &mut Recipe, knobs: &KnobArgs) -> Result<()> {
        recipe.cells = self.cells.unwrap_or(recipe.cells);
        recipe.seed = self.seed.unwrap_or(recipe.seed);
        knobs.to_single_knobs()?.apply_to(recipe)?;
        check_unique_parameters(&self.set)?;
        for (key, value) in &self.set {
            set_parameter(recipe, key, value)?;
        }
        self.until.as_deref().map_or(Ok(()), |label| recipe.truncate_after(label))
    }
}
