//! Functions that several modules of these tests share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use thalweg_core::{Field, Grid, Height, Terrain};
use thalweg_sim::presets;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

/// Returns the root folder of the repository.
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the path of the elevation model that comes with the presets, a GeoTIFF.
pub fn elevation_model_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../thalweg-sim/presets/jacksboro.tif")
}

/// Runs `work` on a pool of `threads` threads.
pub fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// Makes a terrain on `grid` from a function that gives the elevation in metres at a row and a column.
pub fn terrain_on(grid: Grid, elevation: impl Fn(usize, usize) -> f64 + Sync) -> Terrain {
    let ground = Field::from_fn(grid.size, |i, j| Height::from_metres_clamped(elevation(i, j)));
    Terrain::from_ground(grid, ground).unwrap()
}

/// Takes all steps that are left of a run.
pub fn finish_run(run: &mut Run) {
    while run.take_step().unwrap().is_some() {}
}

/// Takes all steps that are left of a run, and returns it.
pub fn finished(mut run: Run) -> Run {
    finish_run(&mut run);
    run
}

/// Runs a recipe from its first step to its last.
pub fn run_recipe(recipe: Recipe) -> Run {
    finished(Run::new(recipe).unwrap())
}

/// Returns the recipe of a preset for `cells` cells on the longer side. `seed` replaces the preset's own seed.
pub fn preset_recipe(name: &str, cells: usize, seed: Option<u64>) -> Recipe {
    let recipe = presets::find_preset(name).unwrap();
    Recipe { cells, seed: seed.unwrap_or(recipe.seed), ..recipe }
}

/// Builds a preset; see [`preset_recipe`].
pub fn build_preset(name: &str, cells: usize, seed: Option<u64>) -> Terrain {
    run_recipe(preset_recipe(name, cells, seed)).into_terrain()
}

/// The name, the number of cells and the seed of a preset that was built.
type PresetKey = (String, usize, u64);

/// A terrain, once a test has asked for it.
type Slot = Arc<OnceLock<Arc<Terrain>>>;

/// Returns what [`build_preset`] returns, but builds each terrain only once for all tests of this program.
///
/// The terrain stays in memory until the program ends, so this is for terrains that several tests read. It must not be
/// called on a thread of a rayon pool: that thread would wait for the test that builds the same terrain, and that test
/// could wait for the thread.
pub fn shared_preset(name: &str, cells: usize, seed: Option<u64>) -> Arc<Terrain> {
    static BUILT: LazyLock<Mutex<HashMap<PresetKey, Slot>>> = LazyLock::new(Mutex::default);
    assert!(rayon::current_thread_index().is_none(), "{name}: asked for on a thread of a pool");
    let key = (name.to_string(), cells, preset_recipe(name, cells, seed).seed);
    let slot = {
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(built.entry(key).or_default())
    };
    Arc::clone(slot.get_or_init(|| Arc::new(build_preset(name, cells, seed))))
}
