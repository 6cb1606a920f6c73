//! What commands read: terrains and trees, with what is to be said of them said.

use std::path::{Path, PathBuf};

use thalweg::Result;
use thalweg::io::Sidecar;
use thalweg::io::apart::apart;
use thalweg::process::forest::Tree;
use thalweg::terrain::Terrain;
use thalweg::terrain::height::Height;
use thalweg::world_folder::{read, reads_of, trees_of};

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
