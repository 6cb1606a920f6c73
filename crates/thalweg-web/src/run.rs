//! [`build`] and [`apply`]: runs whose progress a function of the page receives.

use js_sys::Function;
use serde_json::json;
use thalweg_core::Error;
use thalweg_core::declare::option_types::Setting;
use thalweg_export::build::BuildOptions;
use thalweg_sim::presets;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;
use thalweg_sim::single_model::ApplyOptions;
use wasm_bindgen::prelude::*;

use crate::error::Result;
use crate::land::Terrain;
use crate::options::{JsOptions, json_to_js, name_options, read_operation, to_written_value};

/// Returns the recipe for the name of a preset or for the text of a recipe.
pub fn find_or_parse_recipe(text: &str) -> thalweg_core::base::error::Result<Recipe> {
    // A name contains none of these characters.
    if text.contains(['\n', '=', '[']) { Recipe::parse(text) } else { presets::find_preset(text.trim()) }
}

/// Builds the world of a recipe.
#[wasm_bindgen(skip_typescript)]
pub fn build(recipe: &str, options: JsValue) -> Result<Terrain> {
    let (options, given) = read_operation::<BuildOptions>("build option", options, &["progress"])?;
    let progress = given.read_function("progress")?;
    let mut recipe = find_or_parse_recipe(recipe)?;
    options.apply_to(&mut recipe).map_err(name_options::<BuildOptions>)?;
    let run = match recipe.dem() {
        Some(_) => presets::create_run_on_model(recipe)?,
        // A module that runs out of memory stops for good, so this estimates the need first.
        None => options.start(recipe, None)?,
    };
    run_to_end(run, progress.as_ref())
}

/// Runs one model on a terrain.
#[wasm_bindgen(skip_typescript)]
pub fn apply(model: &str, terrain: &Terrain, parameters: JsValue, options: JsValue) -> Result<Terrain> {
    let (mut options, given) = read_operation::<ApplyOptions>("apply option", options, &["progress"])?;
    let progress = given.read_function("progress")?;
    let set = JsOptions::with_any_keys("parameters", parameters).entries()?;
    if !set.is_empty() && !options.set.is_empty() {
        let problem = "is given as an argument and in the options; leave out one of them";
        return Err(Error::conflict("parameters", problem).into());
    }
    options.set.extend(set.iter().map(|(name, value)| Setting::new(name, to_written_value(value))));
    let mut recipe = options.to_recipe(model)?;
    (recipe.edges, recipe.sea_level) = (terrain.land.grid.edges, terrain.sea_level());
    recipe.check_memory(&terrain.land.grid)?;
    run_to_end(Run::with_terrain(recipe, terrain.land.clone())?, progress.as_ref())
}

/// Runs all steps and reports each to `progress`; if that returns false, the run ends with an error.
fn run_to_end(mut run: Run, progress: Option<&Function>) -> Result<Terrain> {
    while let Some(step) = run.take_step()? {
        // The report after each step is the only opportunity to stop, because JavaScript waits for the call.
        let Some(tell) = progress else { continue };
        let [done, total] = run.steps();
        let [level, levels] = step.level;
        let state = json!({
            "label": step.label, "level": level, "levels": levels, "step": step.step, "steps": step.steps,
            "done": done, "total": total,
            // These are the names of earlier versions.
            "stage": step.label, "of": total,
        });
        if tell.call1(&JsValue::NULL, &json_to_js(&state)?)?.as_bool() == Some(false) {
            return Err(Error::Stopped { what: run.recipe().name.clone() }.into());
        }
    }
    let (report, recipe) = (run.report(), run.recipe().clone());
    Ok(Terrain { land: run.terrain_without_margin().into_owned(), recipe: Some(recipe), report: Some(report) })
}
