//! Tests of every recipe in the repository, run at a small size: it parses, its mass balance closes, and its ground is
//! unchanged.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::support::repository_root;
use thalweg_core::{Height, Result};
use thalweg_models::models;
use thalweg_sim::recipe::{Coarsest, Recipe, When};
use thalweg_sim::run::Run;

/// The number of cells on the longer side, few enough for all recipes to run in seconds. `COARSEST` is that of the
/// first of three levels.
const CELLS: usize = 48;
const COARSEST: usize = 12;

const GOLDENS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens.toml");

/// The header of the goldens' file.
const HEAD: &str = "\
# Fingerprints (XXH3-64) of the ground of every recipe, run at 48 cells on one level, and of every recipe that has levels on
# those of 12, 24 and 48 cells (of 24 and 48, or of 48 and 96, where cells would else be wider than 100 km). `cargo xtask bless` writes this file.
# A change here is a change of somebody's world: say so in CHANGELOG.md under `terrain`.
# They are the same on every machine.
";

/// Returns the presets by name, and the recipes by path under recipes/, without the extension.
fn recipes() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for (folder, path) in
        [("", "crates/thalweg-sim/presets"), ("models/", "recipes/models"), ("sources/", "recipes/sources")]
    {
        let entries = fs::read_dir(repository_root().join(path)).unwrap();
        let toml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "toml");
        for path in entries.map(|entry| entry.unwrap().path()).filter(toml) {
            found.insert(format!("{folder}{}", path.file_stem().unwrap().to_str().unwrap()), path);
        }
    }
    found
}

fn small(path: &Path) -> Recipe {
    let mut recipe = Recipe::read(path).unwrap();
    // With one level every stage runs, whatever the width of its cells.
    recipe.cells = CELLS;
    recipe.set_coarsest(Coarsest::None).unwrap();
    recipe
}

/// Returns a recipe that has levels, on three small levels: its stages run on the levels on which they run at the
/// recipe's own size, counted from the last. Returns `None` for a recipe without levels.
fn in_levels(path: &Path) -> Option<Recipe> {
    let mut recipe = Recipe::read(path).unwrap();
    if recipe.levels().coarsest == Coarsest::None {
        return None;
    }
    // No cell may be wider than 100 km.
    let side = recipe.extent().map_or(0.0, |extent| extent.longer_side());
    let coarsest = (0..).map(|k| COARSEST << k).find(|cells| side <= 1e5 * *cells as f64).unwrap();
    let cells = CELLS.max(2 * coarsest);
    let wider = recipe.cells as f64 / cells as f64;
    recipe.cells = cells;
    recipe.set_coarsest(Coarsest::Cells(coarsest)).unwrap();
    for stage in &mut recipe.stages {
        if let When::Widths(widths) = &mut stage.when {
            *widths = widths.map(|width| (width * wider).min(1e8));
        }
    }
    Some(recipe)
}

/// Returns every recipe as it is run here, with its golden's name.
fn worlds() -> Vec<(String, Recipe)> {
    let of = |(key, path): (String, PathBuf)| {
        let levels = in_levels(&path).map(|recipe| (format!("{key}, levels"), recipe));
        std::iter::once((key, small(&path))).chain(levels)
    };
    recipes().into_iter().flat_map(of).collect()
}

/// The results of a finished run that the tests check.
struct FinishedWorld {
    /// The labels of stages that run on no level.
    idle: Vec<String>,
    /// Solid matter at the end minus that at the beginning, counted in cells of the last level.
    solid_change: i128,
    /// The same change as the run reports it.
    reported_change: i128,
    /// The lowest and the highest elevation.
    range: Option<[Height; 2]>,
    /// The fingerprint of the ground.
    fingerprint: String,
}

impl FinishedWorld {
    fn run(recipe: Recipe) -> Result<Self> {
        let mut run = Run::new(recipe)?;
        let idle = run.idle_stages().into_iter().map(String::from).collect();
        let last = run.grids().len() - 1;
        let before = run.terrain().sum_solid() << (2 * last);
        while run.take_step()?.is_some() {}
        // A report counts cells of its own level.
        let changes =
            run.reports().iter().map(|report| report.mass_balance.solid_change() << (2 * (last - report.level)));
        Ok(Self {
            idle,
            solid_change: run.terrain().sum_solid() - before,
            reported_change: changes.sum(),
            range: run.terrain().elevation_range(),
            fingerprint: run.terrain().fingerprints()["ground"].clone(),
        })
    }
}

/// Every recipe as it is run here, by its golden's name, run once for all tests.
static WORLDS: LazyLock<BTreeMap<String, FinishedWorld>> = LazyLock::new(|| {
    let run = |recipe, key: &str| FinishedWorld::run(recipe).unwrap_or_else(|error| panic!("{key}: {error}"));
    worlds().into_iter().map(|(key, recipe)| (key.clone(), run(recipe, &key))).collect()
});

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
    let wanted: Vec<String> = models::all_models().map(|model| format!("models/{}", model.about().name)).collect();
    let recipes = recipes();
    for name in &wanted {
        let path = recipes.get(name).unwrap_or_else(|| panic!("{name}.toml is missing"));
        let recipe = Recipe::read(path).unwrap();
        let used = |stage: &thalweg_sim::recipe::Stage| name.ends_with(&format!("/{}", stage.model.about().name));
        assert!(recipe.stages.iter().any(used), "{name}.toml does not use its model");
    }
    for name in recipes.keys().filter(|name| name.starts_with("models/")) {
        assert!(wanted.contains(name), "{name}.toml is of no model");
    }
}

#[test]
fn every_recipe_runs_and_its_mass_closes() {
    for (key, world) in &*WORLDS {
        assert_eq!(world.idle, Vec::<String>::new(), "{key}");
        assert_eq!(world.solid_change, world.reported_change, "{key}");
        let [low, high] = world.range.unwrap();
        assert!(low < high, "{key} is flat");
    }
}

#[test]
fn golden_ground_of_every_recipe() {
    let seen: BTreeMap<String, String> =
        WORLDS.iter().map(|(key, world)| (key.clone(), world.fingerprint.clone())).collect();
    assert!(seen.keys().filter(|key| key.ends_with(", levels")).count() >= 8);
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
