//! A model of another crate's: in a recipe with levels, knobs, copies and a checkpoint, under the laws.

use std::path::Path;

use crate::support::finish_run;
use serde_json::Value;
use thalweg::laws::LAWS;
use thalweg::model::{About, Stepper};
use thalweg::models::{Models, manual};
use thalweg::recipe::schema;
use thalweg::{Grid, Model, Recipe, Result, Run};

#[path = "../../examples/own_model.rs"]
#[allow(dead_code, reason = "its `main` is run as an example")]
mod example;

use example::Terraces;

const RECIPE: &str = r#"
extent = [3200.0, 2400.0]
cells = 64
coarsest = 16
seed = 3

[[stage]]
model = "gradient_noise"
amplitude = 300.0

[[stage]]
model = "terraces"
spacing = 80.0
finer = { spacing = 0.5 }

[[stage]]
model = "droplets"
levels = "last"
count = 40000
"#;

fn models() -> Models {
    Models::default().with::<Terraces>().expect("its name is free")
}

#[test]
fn the_laws_hold_for_it_and_break_where_it_breaks_them() {
    for law in LAWS {
        law.check(&Terraces::default()).expect(law.says);
    }
}

#[test]
fn a_recipe_knows_it_by_the_list_alone() {
    let problem = Recipe::parse(RECIPE).err().expect("it is none of the library's").to_string();
    assert!(problem.contains("unknown model `terraces`"), "{problem}");
    assert!(Recipe::parse_with(RECIPE, &models()).is_ok());
    let text = schema(&models()).to_string();
    assert!(text.contains("\"terraces\"") && !schema(&Models::default()).to_string().contains("\"terraces\""));
}

#[test]
fn a_name_is_taken_once() {
    let problem = models().with::<Terraces>().expect_err("twice").to_string();
    assert!(problem.contains("terraces"), "{problem}");
    assert!(Models::default().with::<manual::Manual>().is_err());
}

thalweg::params! {
    /// A model whose parameter would be lost: every stage has a key of that name.
    pub struct Lost {
        /// Never read.
        muted: bool = false, within .., unit "1", source "ours";
    }
}

impl Model for Lost {
    fn about(&self) -> About {
        About { name: "lost", tables: &[], ..Terraces::default().about() }
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        Terraces::default().start(grid)
    }
}

#[test]
fn no_parameter_is_lost_behind_a_key_of_the_stage() {
    let models = Models::default().with::<Lost>().expect("its name is free");
    let text = "extent = [1, 1]\n[[stage]]\nmodel = \"lost\"\nmuted = true";
    let problem = Recipe::parse_with(text, &models).err().expect("it would be lost").to_string();
    assert!(problem.contains("lost.muted") && problem.contains("key of every stage"), "{problem}");
}

#[test]
fn it_runs_on_every_level_with_what_finer_levels_turn() {
    let mut run = Run::new(Recipe::parse_with(RECIPE, &models()).expect("a recipe")).expect("it begins");
    finish_run(&mut run);
    let spacings: Vec<f64> = run
        .reports()
        .iter()
        .filter(|report| report.model == Terraces::default().about().name)
        .map(|report| report.parameters["spacing"].as_f64().expect("a number"))
        .collect();
    assert_eq!(spacings, [80.0, 40.0, 20.0]);
}

#[test]
fn a_checkpoint_amid_it_goes_on_to_the_same_bits() {
    let recipe = Recipe::parse_with(RECIPE, &models()).expect("a recipe");
    let mut whole = Run::new(recipe.clone()).expect("it begins");
    finish_run(&mut whole);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.thalweg");
    let mut run = Run::new(recipe).expect("it begins");
    for _ in 0..5 {
        run.step().expect("it steps").expect("it is not done");
        run.save(&path, &Value::Null).expect("it is saved");
        run = Run::resume_with(&path, &models()).expect("it is taken up").0;
    }
    finish_run(&mut run);
    assert_eq!(run.terrain().fingerprints(), whole.terrain().fingerprints());
    let problem = Run::resume(Path::new(&path)).err().expect("without the list").to_string();
    assert!(problem.contains("unknown model `terraces`"), "{problem}");
}
