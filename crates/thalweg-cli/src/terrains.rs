//! What commands read: terrains and trees, with what is to be said of them said.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use thalweg::base::names::to_text;
use thalweg::io::apart::apart;
use thalweg::io::place::cell_at;
use thalweg::io::{Loaded, Sidecar, load};
use thalweg::process::forest::Tree;
use thalweg::terrain::Terrain;
use thalweg::terrain::height::Height;
use thalweg::world_folder::{read, reads_of, trees_of};
use thalweg::{Error, Result};

use crate::args::values::EdgeWord;
use crate::args::{LoadArgs, WaterArgs};
use crate::console::Voice;

/// A terrain from a file, or from a folder that `build` or `drain` wrote.
///
/// # Errors
/// When a file cannot be read, or is none of this terrain.
pub fn input(path: &Path, args: &LoadArgs, sea: Option<f64>, voice: Voice) -> Result<Terrain> {
    told(read(path, &args.options())?, sea, voice)
}

/// The same with all that the studio shows: further layers, and the trees.
///
/// # Errors
/// As [`input`].
#[cfg(feature = "studio")]
pub fn shown(path: &Path, args: &LoadArgs, sea: Option<f64>, voice: Voice) -> Result<Terrain> {
    told(thalweg::world_folder::read_shown(path, &args.options())?, sea, voice)
}

/// A file's terrain as commands on elevation models take it, with its edges and its sea.
///
/// # Errors
/// When the file cannot be read, or the sea lies outside the accepted heights.
pub fn opened(path: &Path, args: &LoadArgs, edges: EdgeWord, sea: Option<f64>, voice: Voice) -> Result<Loaded> {
    let mut loaded = load(path, &args.options())?;
    voice.warn_all(&loaded.warnings);
    loaded.terrain.grid.edges = edges.edges();
    loaded.terrain.grid.sea_level = sea.map(Height::from_metres).transpose()?;
    Ok(loaded)
}

/// Writes into a report what was read, and how long all took.
pub fn note(report: &mut Value, input: &Path, overridden: &[String], start: Instant) {
    report["input"] = to_text(input).into();
    if !overridden.is_empty() {
        report["units_overridden"] = json!(overridden);
    }
    report["seconds"] = start.elapsed().as_secs_f64().into();
}

/// Cells that were given as such, and those round points in the file's coordinates, given by `flag`.
///
/// # Errors
/// A point outside.
pub fn cells(terrain: &Terrain, cells: &[[usize; 2]], points: &[[f64; 2]], flag: &str) -> Result<Vec<[usize; 2]>> {
    let placed = points.iter().map(|point| {
        let allowed = "a point inside the file, in its coordinates";
        cell_at(&terrain.grid, *point).ok_or_else(|| Error::value(flag, format!("{},{}", point[0], point[1]), allowed))
    });
    cells.iter().map(|cell| Ok(*cell)).chain(placed).collect()
}

fn told((mut terrain, warnings): (Terrain, Vec<String>), sea: Option<f64>, voice: Voice) -> Result<Terrain> {
    voice.warn_all(&warnings);
    terrain.grid.sea_level = sea.map(Height::from_metres).transpose()?.or(terrain.grid.sea_level);
    Ok(terrain)
}

/// The trees of the table that was given, or else of the folder.
///
/// # Errors
/// When the table cannot be read, or is none.
pub fn trees(path: &Path, given: Option<&Path>, terrain: &Terrain, voice: Voice) -> Result<Vec<Tree>> {
    let (trees, warnings) = trees_of(path, given, terrain)?;
    voice.warn_all(&warnings);
    Ok(trees)
}

/// Refuses a picture that would be written over what it is drawn from.
///
/// # Errors
/// When it would.
pub fn check_apart<'a>(
    inputs: impl IntoIterator<Item = &'a PathBuf>,
    water: &WaterArgs,
    trees: Option<&Path>,
    picture: &Path,
) -> Result<()> {
    let layers = [&water.water, &water.pools, &water.streams].into_iter().flatten();
    let mut reads: Vec<PathBuf> = inputs.into_iter().flat_map(|input| reads_of(input)).collect();
    reads.extend(layers.flat_map(|layer| Sidecar::files(layer)));
    reads.extend(trees.map(Path::to_path_buf));
    apart(&reads, &[picture.to_path_buf()])
}
