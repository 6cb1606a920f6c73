//! [`RecipeOptions`]: the options that change a recipe before its world is built.

use super::Recipe;
use crate::knobs::Knobs;
use thalweg_core::declare::option_types::{Setting, check_unique_settings};
use thalweg_core::{Result, operation};

operation! {
    /// Changes the number of cells, the seed, the parameters and the last stage of a recipe.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::declare::option_types::Setting;
    /// use thalweg_core::declare::params::Value;
    /// use thalweg_sim::presets::find_preset;
    /// use thalweg_sim::recipe::RecipeOptions;
    ///
    /// let mut recipe = find_preset("hills")?;
    /// let set = vec![Setting::new("uplift.years", 2e6)];
    /// RecipeOptions { cells: Some(64), set, ..RecipeOptions::default() }.apply_to(&mut recipe)?;
    /// assert_eq!((recipe.cells, recipe.stages[1].model.get("years")), (64, Some(Value::Number(2e6))));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct RecipeOptions, "recipe", with(knobs: Knobs) {
        /// Number of cells on the long side; more cells show the same world in finer detail. If the recipe begins with
        /// an elevation model, the model is resampled to this number. By default, it is the number of the recipe.
        cells: Option<usize> = None, within 1..=1 << 20, unit "1";
        /// Seed of the world. By default, it is that of the recipe.
        seed: Option<u64> = None, within 0..=u64::MAX, unit "1";
        /// Label of the last stage to run; the stages after it are omitted. The recipe lists the labels of its stages.
        until: Option<String> = None, within .., unit "1", placeholder "LABEL";
        /// Sets parameters of stages. The name of a parameter is the label of the stage, a dot, and the name of the
        /// model's parameter, such as `uplift.years`.
        set: Vec<Setting> = Vec::new(), within .., unit "1";
    }
}

impl RecipeOptions {
    /// Changes a recipe. The knobs are applied before the parameters that are set, so that these keep their values.
    ///
    /// # Errors
    /// Returns an error if the recipe does not have what an option changes, if a value is not allowed, or if a
    /// parameter is set twice; the recipe may be changed in part then.
    pub fn apply_to(&self, recipe: &mut Recipe) -> Result<()> {
        recipe.cells = self.cells.unwrap_or(recipe.cells);
        recipe.seed = self.seed.unwrap_or(recipe.seed);
        self.knobs.apply_to(recipe)?;
        check_unique_settings(&self.set, |setting| &setting.name)?;
        self.set.iter().try_for_each(|setting| recipe.apply_setting(setting))?;
        self.until.as_deref().map_or(Ok(()), |label| recipe.truncate_after(label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::find_preset;
    use serde_json::json;
    use thalweg_core::declare::operation::Operation as _;

    #[test]
    fn options_change_a_recipe_as_its_own_functions_do() {
        let mut options = RecipeOptions::default();
        let values = json!({
            "age": 2, "rock": "granite", "cells": 64, "seed": 9, "set": {"uplift.years": 1e6}, "until": "uplift",
        });
        options.set_all(values.as_object().unwrap()).unwrap();
        let mut recipe = find_preset("hills").unwrap();
        options.apply_to(&mut recipe).unwrap();
        let mut expected = find_preset("hills").unwrap();
        (expected.cells, expected.seed) = (64, 9);
        options.knobs.apply_to(&mut expected).unwrap();
        expected.set_parameter("uplift", "years", &1e6.into()).unwrap();
        expected.truncate_after("uplift").unwrap();
        assert_eq!(recipe.to_toml(), expected.to_toml());
        // The options come back from their JSON.
        let mut again = RecipeOptions::default();
        for (option, value) in options.changed_options() {
            again.set(option.name, &value).unwrap();
        }
        assert_eq!(again, options);
    }

    #[test]
    fn wrong_settings_are_refused() {
        let refused = |set: Vec<Setting>| {
            let options = RecipeOptions { set, ..RecipeOptions::default() };
            options.apply_to(&mut find_preset("hills").unwrap()).unwrap_err().to_string()
        };
        let twice = refused(vec![Setting::new("uplift.years", 1e6), Setting::new("uplift.years", 2e6)]);
        assert!(twice.ends_with("one value for each parameter"), "{twice}");
        assert_eq!(refused(vec![Setting::new("years", 1e6)]), "set = years: must be LABEL.PARAMETER=VALUE");
    }
}
