//! What an earlier version called otherwise is still read: recipes, with a warning, checkpoints, and worlds' folders. `tests/data/before`
//! holds a recipe, and the checkpoint that the version before wrote amid its third stage.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{finish_run, finished, repository_root};
use thalweg::models::Models;
use thalweg::terrain::DISCHARGE;
use thalweg::world_folder::{self, REPORT};
use thalweg::{Recipe, Run, models};

/// The ground that the version before came to, by its report.
const GROUND: &str = "8118fe0b5709a0d1";

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/before").join(name)
}

fn ground(run: Run) -> String {
    finished(run).terrain().fingerprints()["ground"].clone()
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

/// The version before wrote the same files. Only recipe and report said otherwise what they say now.
#[test]
fn a_folder_of_the_version_before_is_read_and_gives_way() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let names = |folder: &Path| -> BTreeSet<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let mut run = Run::new(Recipe::read(&data("renamed.toml")).unwrap()).unwrap();
    finish_run(&mut run);
    world_folder::export(&run, folder).unwrap();
    let now = names(folder);
    fs::copy(data("renamed.toml"), folder.join("recipe.toml")).unwrap();
    let report = fs::read_to_string(folder.join(REPORT)).unwrap();
    let before = report
        .replace("\"manual\"", "\"hands\"")
        .replace("\"sampled\"", "\"letter\"")
        .replace(&run.recipe().hash(), "0123456789abcdef");
    assert!(["hands", "letter", "0123456789abcdef"].iter().all(|word| before.contains(word)), "{before}");
    fs::write(folder.join(REPORT), before).unwrap();

    let (terrain, warnings) = world_folder::read(folder, &Default::default()).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    let recipe = world_folder::recipe_of(folder).unwrap().unwrap();
    assert_eq!((recipe.warnings.len(), recipe.hash()), (2, run.recipe().hash()));
    let own = run.terrain();
    assert_eq!((terrain.grid.size, terrain.grid.sea_level), (own.grid.size, own.grid.sea_level));
    assert!(terrain.float(&DISCHARGE).is_some(), "layers are read");
    // A float of 32 bits holds heights below 2048 m to 2⁻¹³ m.
    let mut pairs = terrain.ground.as_slice().iter().zip(own.ground.as_slice());
    assert!(pairs.all(|(read, own)| (read.metres() - own.metres()).abs() <= 1.0 / 8192.0));

    world_folder::export(&run, folder).unwrap();
    assert_eq!(names(folder), now);
    assert!(!fs::read_to_string(folder.join("recipe.toml")).unwrap().contains("hands"));
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
    let root = repository_root();
    let mut seen = 0;
    for folder in ["recipes/models", "recipes/sources", "crates/thalweg-sim/presets"] {
        let files = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "toml")) {
            assert_eq!(Recipe::read(&file).unwrap().warnings, Vec::<String>::new(), "{}", file.display());
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} recipes found");
}
