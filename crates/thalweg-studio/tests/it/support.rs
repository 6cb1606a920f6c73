//! Functions that several modules of these tests share.

use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

/// Runs a recipe from its first step to its last.
pub fn run_recipe(recipe: Recipe) -> Run {
    let mut run = Run::new(recipe).unwrap();
    while run.take_step().unwrap().is_some() {}
    run
}
