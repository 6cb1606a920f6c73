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
use crate::options::{Options, object, written};

/// Returns the recipe for the name of a preset or for the text of a recipe.
pub fn recipe_of(text: &str) -> thalweg_core::base::error::Result<Recipe> {
    // A name contains none of these characters.
    if text.contains(['\n', '=', '[']) { Recipe::parse(text) } else { presets::find_preset(text.trim()) }
}

/// Builds the world of a recipe.
#[wasm_bindgen(skip_typescript)]
pub fn build(recipe: &str, options: JsValue) -> Result<Terrain> {
    let options = Options::of("option of build", options, &["cells", "seed", "until", "set", "progress"])?;
    let mut recipe = recipe_of(recipe)?;
    recipe.cells = options.cells("cells")?.unwrap_or(recipe.cells);
    recipe.seed = options.count("seed")?.unwrap_or(recipe.seed);
    for (label, parameters) in options.inner("set").entries()? {
        for (name, value) in Options::any("parameters of a stage", parameters).entries()? {
            recipe.set(&label, &name, &written(&value))?;
        }
    }
    if let Some(label) = options.word("until")? {
        recipe.end_at(&label)?;
    }
    let progress = options.function("progress")?;
    let run = match recipe.dem() {
        Some(_) => presets::run_over_model(recipe)?,
        None => {
            recipe.check_memory(&recipe.grid()?)?;
            Run::new(recipe)?
        }
    };
    done(run, progress.as_ref())
}

/// Runs one model on a terrain.
#[wasm_bindgen(skip_typescript)]
pub fn apply(model: &str, terrain: &Terrain, parameters: JsValue, options: JsValue) -> Result<Terrain> {
    let options = Options::of("option of apply", options, &["seed", "progress"])?;
    let mut model = models::find_model(model)?;
    let given = Options::any("parameters", parameters).entries()?;
    let given: Vec<_> = given.iter().map(|(name, value)| (name.as_str(), written(value))).collect();
    set_parameters(&mut *model, given.iter().map(|(name, value)| (*name, value)))?;
    let mut recipe = Recipe::single(model, options.count("seed")?.unwrap_or(1));
    (recipe.edges, recipe.sea_level) = (terrain.land.grid.edges, terrain.sea_level());
    recipe.check_memory(&terrain.land.grid)?;
    done(Run::over(recipe, terrain.land.clone())?, options.function("progress")?.as_ref())
}

/// Runs all steps and reports each to `progress`; if that returns false, the run ends with an error.
fn done(mut run: Run, progress: Option<&Function>) -> Result<Terrain> {
    while let Some(step) = run.step()? {
        let Some(tell) = progress else { continue };
        let [done, of] = run.steps();
        let [level, levels] = step.level;
        let state = json!({
            "stage": step.label, "level": level, "levels": levels, "step": step.step, "steps": step.steps, "done": done, "of": of,
        });
        if tell.call1(&JsValue::NULL, &object(&state)?)?.as_bool() == Some(false) {
            return Err(Error::Stopped { what: run.recipe().name.clone() }.into());
        }
    }
    let (report, recipe) = (run.report(), run.recipe().clone());
    Ok(Terrain { land: run.map().into_owned(), recipe: Some(recipe), report: Some(report) })
}
