//! Every recipe in the repository, run small: it parses, its mass closes, and its ground is the one it was.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use thalweg::levels::Coarsest;
use thalweg::models;
use thalweg::recipe::Recipe;
use thalweg::run::Run;

/// Cells on the long side, few enough for all recipes to run in seconds.
const CELLS: usize = 48;

const GOLDENS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens.toml");

/// What stands above the goldens in their file.
const HEAD: &str = "\
# Fingerprints (XXH3-64) of the ground of every recipe, run at 48 cells. `cargo xtask bless` writes this file.
# A change here is a change of somebody's world: say so in CHANGELOG.md under `terrain`.
#
# All are the same on every machine, with one reservation: fourier_synthesis goes through rustfft, which computes its
# twiddle factors with the standard library's sin and cos, and those come from the platform.
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The recipes by path under recipes/, without the ending.
fn recipes() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for folder in ["", "models/"] {
        let entries = fs::read_dir(root().join("recipes").join(folder)).unwrap();
        let toml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "toml");
        for path in entries.map(|entry| entry.unwrap().path()).filter(toml) {
            found.insert(format!("{folder}{}", path.file_stem().unwrap().to_str().unwrap()), path);
        }
    }
    found
}

fn small(path: &Path) -> Recipe {
    let mut recipe = Recipe::read(path).unwrap();
    // On one level every stage runs, whatever the width of its cells.
    (recipe.cells, recipe.coarsest) = (CELLS, Coarsest::None);
    recipe
}

fn finished(recipe: Recipe) -> Run {
    let mut run = Run::new(recipe).unwrap();
    while run.step().unwrap().is_some() {}
    run
}

#[test]
fn recipes_are_named_as_their_files_and_say_what_they_are() {
    for (key, path) in recipes() {
        let recipe = Recipe::read(&path).unwrap();
        assert_eq!(recipe.name, key.rsplit('/').next().unwrap(), "{}", path.display());
        assert!(!recipe.about.is_empty() && !recipe.stages.is_empty(), "{key}");
        let spelt_out = Recipe::parse(&recipe.to_toml()).unwrap();
        assert_eq!(spelt_out.hash(), recipe.hash(), "{key}");
    }
}

#[test]
fn every_model_has_a_recipe_and_every_such_recipe_its_model() {
    let wanted: Vec<String> = models::all().map(|model| format!("models/{}", model.about().name)).collect();
    let recipes = recipes();
    for name in &wanted {
        let path = recipes.get(name).unwrap_or_else(|| panic!("recipes/{name}.toml is missing"));
        let recipe = Recipe::read(path).unwrap();
        let used = |stage: &thalweg::recipe::Stage| name.ends_with(&format!("/{}", stage.model.about().name));
        assert!(recipe.stages.iter().any(used), "recipes/{name}.toml does not use its model");
    }
    for name in recipes.keys().filter(|name| name.starts_with("models/")) {
        assert!(wanted.contains(name), "recipes/{name}.toml is of no model");
    }
}

#[test]
fn every_recipe_runs_and_its_mass_closes() {
    for (key, path) in recipes() {
        let run = Run::new(small(&path)).unwrap();
        let before = run.terrain().solid();
        let run = finished(small(&path));
        let change: i128 = run.reports().iter().map(|report| report.budget.solid_change()).sum();
        assert_eq!(run.terrain().solid() - before, change, "{key}");
        let [low, high] = run.terrain().range().unwrap();
        assert!(low < high, "{key} is flat");
    }
}

#[test]
fn golden_ground_of_every_recipe() {
    let print = |path: &PathBuf| finished(small(path)).terrain().fingerprints()["ground"].clone();
    let seen: BTreeMap<String, String> = recipes().iter().map(|(key, path)| (key.clone(), print(path))).collect();
    if std::env::var_os("THALWEG_BLESS").is_some() {
        let mut text = HEAD.to_string();
        for (key, value) in &seen {
            writeln!(text, "\"{key}\" = \"{value}\"").unwrap();
        }
        fs::write(GOLDENS, text).unwrap();
    }
    let goldens = fs::read_to_string(GOLDENS).unwrap();
    let goldens: BTreeMap<String, String> = toml::from_str(&goldens).unwrap();
    assert_eq!(seen, goldens, "a world has changed: if that was meant, `cargo xtask bless`");
}
