//! What an earlier version called otherwise is still read: recipes, with a warning, and checkpoints. `tests/data/before` holds a recipe, and
//! the checkpoint that the version before wrote amid its third stage.

use std::path::PathBuf;

use thalweg::models::Models;
use thalweg::{Recipe, Run, models};

/// The ground that the version before came to, by its report.
const GROUND: &str = "8118fe0b5709a0d1";

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/before").join(name)
}

fn ground(mut run: Run) -> String {
    while run.step().unwrap().is_some() {}
    run.terrain().fingerprints()["ground"].clone()
}

#[test]
fn a_recipe_of_the_version_before_gives_its_world_and_says_what_has_another_name() {
    let recipe = Recipe::read(&data("renamed.toml")).unwrap();
    assert_eq!(
        recipe.warnings,
        [
            "stage 2: model \"hands\" is now called \"manual\"",
            "stage 4: river_network.method = \"letter\" is now called \"sampled\"",
        ]
    );
    let now = recipe.to_toml();
    assert!(!now.contains("hands") && !now.contains("letter"), "{now}");
    assert_eq!(Recipe::parse(&now).unwrap().warnings, Vec::<String>::new());
    let run = Run::new(recipe.clone()).unwrap();
    assert_eq!(run.input().warnings, recipe.warnings, "a face is told");
    assert_eq!(ground(run), GROUND);
    assert_eq!(ground(Run::new(Recipe::parse(&now).unwrap()).unwrap()), GROUND);
}

#[test]
fn a_checkpoint_of_the_version_before_goes_on_to_its_world() {
    assert_eq!(ground(Run::resume(&data("renamed.tck")).unwrap().0), GROUND);
}

#[test]
fn a_renamed_model_draws_the_numbers_that_it_drew() {
    for model in models::all() {
        let Some(former) = model.formerly() else { continue };
        let name = model.about().name;
        let stage = |label: &str| thalweg::recipe::Stage::new(label, Models::default().find(former).unwrap());
        assert_eq!(stage(name).model.about().name, name);
        assert_eq!(stage(name).key(7), stage(former).key(7), "without a label of its own");
        assert_ne!(stage(name).key(7), stage("another").key(7));
        assert!(Models::default().find(name).is_ok());
    }
}

#[test]
fn recipes_of_ours_have_no_old_names() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for folder in ["recipes/models", "recipes/sources", "crates/thalweg/presets"] {
        let files = std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "toml")) {
            assert_eq!(Recipe::read(&file).unwrap().warnings, Vec::<String>::new(), "{}", file.display());
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} recipes found");
}
