//! [`build`] and [`apply`]: runs whose progress a function of the page receives.

use js_sys::Function;
use serde_json::json;
use thalweg_core::Error;
use thalweg_models::model::set_parameters;
use thalweg_models::models;
use thalweg_sim::presets;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;
use wasm_bindgen::prelude::*;

use crate::error::Result;
use crate::land::Terrain;
use crate::options::{JsOptions, json_to_js, to_written_value};

/// Returns the recipe for the name of a preset or for the text of a recipe.
pub fn find_or_parse_recipe(text: &str) -> thalweg_core::base::error::Result<Recipe> {
    // A name contains none of these characters.
    if text.contains(['\n', '=', '[']) { Recipe::parse(text) } else { presets::find_preset(text.trim()) }
}

/// Builds the world of a recipe.
#[wasm_bindgen(skip_typescript)]
pub fn build(recipe: &str, options: JsValue) -> Result<Terrain> {
    let options = JsOptions::with_known_keys("build option", options, &["cells", "seed", "until", "set", "progress"])?;
    let mut recipe = find_or_parse_recipe(recipe)?;
    recipe.cells = options.read_cell_count("cells")?.unwrap_or(recipe.cells);
    recipe.seed = options.read_count("seed")?.unwrap_or(recipe.seed);
    // Parameters are set before the recipe is shortened, so that a label after its new end is still accepted.
    for (label, parameters) in options.inner_object("set").entries()? {
        for (name, value) in JsOptions::with_any_keys("parameters of a stage", parameters).entries()? {
            recipe.set_parameter(&label, &name, &to_written_value(&value))?;
        }
    }
    if let Some(label) = options.read_string("until")? {
        recipe.truncate_after(&label)?;
    }
    let progress = options.read_function("progress")?;
    let run = match recipe.dem() {
        Some(_) => presets::create_run_on_model(recipe)?,
        None => {
            // A module that runs out of memory stops for good, so the need is estimated first.
            recipe.check_memory(&recipe.last_grid()?)?;
            Run::new(recipe)?
        }
    };
    run_to_end(run, progress.as_ref())
}

/// Runs one model on a terrain.
#[wasm_bindgen(skip_typescript)]
pub fn apply(model: &str, terrain: &Terrain, parameters: JsValue, options: JsValue) -> Result<Terrain> {
    let options = JsOptions::with_known_keys("apply option", options, &["seed", "progress"])?;
    let mut model = models::find_model(model)?;
    let given = JsOptions::with_any_keys("parameters", parameters).entries()?;
    let given: Vec<_> = given.iter().map(|(name, value)| (name.as_str(), to_written_value(value))).collect();
    set_parameters(&mut *model, given.iter().map(|(name, value)| (*name, value)))?;
    let mut recipe = Recipe::with_single_stage(model, options.read_count("seed")?.unwrap_or(1));
    (recipe.edges, recipe.sea_level) = (terrain.land.grid.edges, terrain.sea_level());
    recipe.check_memory(&terrain.land.grid)?;
    run_to_end(Run::with_terrain(recipe, terrain.land.clone())?, options.read_function("progress")?.as_ref())
}

/// Runs all steps and reports each to `progress`; if that returns false, the run ends with an error.
fn run_to_end(mut run: Run, progress: Option<&Function>) -> Result<Terrain> {
    while let Some(step) = run.take_step()? {
        // The report after each step is the only opportunity to stop, because JavaScript waits for the call.
        let Some(tell) = progress else { continue };
        let [done, of] = run.steps();
        let [level, levels] = step.level;
        let state = json!({
            "stage": step.label, "level": level, "levels": levels, "step": step.step, "steps": step.steps, "done": done, "of": of,
        });
        if tell.call1(&JsValue::NULL, &json_to_js(&state)?)?.as_bool() == Some(false) {
            return Err(Error::Stopped { what: run.recipe().name.clone() }.into());
        }
    }
    let (report, recipe) = (run.report(), run.recipe().clone());
    Ok(Terrain { land: run.terrain_without_margin().into_owned(), recipe: Some(recipe), report: Some(report) })
}
