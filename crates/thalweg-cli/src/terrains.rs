//! What commands read: terrains and trees, with what is to be said of them said.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use thalweg_core::base::memory::{available, check_memory};
use thalweg_core::base::names::{shown as shown_path, to_text};
use thalweg_core::{Cell, Error, Height, MapPoint, Result, Terrain};
use thalweg_export::world_folder::{read_world, reads_of, trees_of};
use thalweg_io::apart::apart;
use thalweg_io::place::cell_at;
use thalweg_io::{Format, Loaded, Sidecar, load};
use thalweg_models::process::forest::Tree;
use thalweg_store::{ElevationFile, is_store, is_zarr};

use crate::args::values::EdgeWord;
use crate::args::{LoadArgs, WaterArgs};
use crate::console::Voice;
use crate::memory::Need;

/// A terrain from a file, or from a folder that `build` or `drain` wrote.
///
/// # Errors
/// When a file cannot be read, or is none of this terrain.
pub fn input(path: &Path, args: &LoadArgs, sea: Option<f64>, voice: Voice) -> Result<Terrain> {
    if is_zarr(path) {
        let (terrain, _, warnings) = ElevationFile::open(path, &args.options())?.whole()?;
        return told((terrain, warnings), sea, voice);
    }
    told(read_world(path, &args.options())?, sea, voice)
}

/// The same with all that the studio shows: further layers, and the trees.
///
/// # Errors
/// As [`input`].
#[cfg(feature = "studio")]
pub fn shown(path: &Path, args: &LoadArgs, sea: Option<f64>, voice: Voice) -> Result<Terrain> {
    told(thalweg_export::world_folder::read_shown(path, &args.options())?, sea, voice)
}

/// An elevation model that a command works on.
pub struct Opened {
    /// Its terrain.
    pub terrain: Terrain,
    /// The sample that stood for no data.
    pub nodata: Option<f64>,
    /// What it says of its units that was overridden.
    pub overridden: Vec<String>,
}

/// A file's terrain, or that of a map of Zarr, as commands on elevation models take it, with its edges and its sea.
///
/// # Errors
/// When the file cannot be read, or the sea lies outside the accepted heights.
pub fn opened(path: &Path, args: &LoadArgs, edges: EdgeWord, sea: Option<f64>, voice: Voice) -> Result<Opened> {
    let (mut opened, warnings) = if is_zarr(path) {
        let file = ElevationFile::open(path, &args.options())?;
        let (terrain, reading, warnings) = file.whole()?;
        // What stands for no data in fixed point is no height that a file of metres could have.
        let nodata = reading.nodata().filter(|value| value.abs() < 1e6);
        (Opened { terrain, nodata, overridden: file.overridden().to_vec() }, warnings)
    } else {
        let Loaded { terrain, nodata, overridden, warnings, .. } = load(path, &args.options())?;
        (Opened { terrain, nodata, overridden }, warnings)
    };
    voice.warn_all(&warnings);
    opened.terrain.grid.edges = edges.edges();
    opened.terrain.grid.sea_level = sea.map(Height::from_metres).transpose()?;
    Ok(opened)
}

/// The source, where work goes by windows: of a map of Zarr or a TIFF, if that was asked for, or where it needs more bytes than there are for so
/// many rows and columns.
///
/// # Errors
/// A source that cannot be opened, where windows were asked for.
pub fn by_windows(
    path: &Path,
    args: &LoadArgs,
    asked: bool,
    need: impl FnOnce([usize; 2]) -> u64,
) -> Result<Option<ElevationFile>> {
    if !(is_zarr(path) || (path.is_file() && Format::of(path).is_ok_and(Format::reads_windows))) {
        return Ok(None);
    }
    let file = match ElevationFile::open(path, &args.options()) {
        Ok(file) => file,
        Err(error) if asked => return Err(error),
        // It is refused where it is read whole, in the words of that.
        Err(_) => return Ok(None),
    };
    let need = need(file.grid().size);
    Ok((asked || check_memory("by windows", need).is_err()).then_some(file))
}

/// What a sea level that was given says in heights.
///
/// # Errors
/// Outside the accepted heights.
pub fn sea_of(sea: Option<f64>) -> Result<Option<Height>> {
    sea.map(Height::from_metres).transpose()
}

/// Says that work goes by rows though nobody asked for it, and what that takes.
pub fn told_by_rows(bytes: u64, voice: Voice) {
    voice.say(&format!("it goes by rows: at most {} MiB of memory", bytes.div_ceil(1 << 20)));
}

/// A terrain that a command takes whole, if it fits; the refusal says which size would.
///
/// # Errors
/// As [`input`]; one that does not fit.
pub fn fitting(path: &Path, args: &LoadArgs, sea: Option<f64>, need: Need, voice: Voice) -> Result<Terrain> {
    if let Some(file) = by_windows(path, args, is_zarr(path), |size| need.beside(size))? {
        let size = file.grid().size;
        let have = available().unwrap_or(u64::MAX);
        if let Err(error) = check_memory(&format!("{} whole", shown_path(path)), need.beside(size)) {
            let times = (1..=size[0].max(size[1])).find(|n| need.beside(size.map(|side| side.div_ceil(*n))) <= have);
            return Err(error_with(error, &smaller(path, size, times.unwrap_or(1))));
        }
    }
    input(path, args, sea, voice)
}

/// How a map is made so many times coarser.
fn smaller(path: &Path, size: [usize; 2], times: usize) -> String {
    let [rows, cols] = size.map(|side| side.div_ceil(times));
    let path = shown_path(path);
    let how = match is_store(Path::new(&path)) {
        true => format!("`thalweg layer {path} height --coarser {times} -o small.tif`"),
        false => format!("`thalweg resample {path} --cells {cols}x{rows} -o small.tif`"),
    };
    format!("{how} gives {rows} × {cols} cells, which fit; `thalweg crop` cuts a window")
}

/// An error about memory with what would help.
fn error_with(error: Error, help: &str) -> Error {
    match error {
        Error::TooLarge { what, need, have } => Error::TooLarge { what, need, have: format!("{have}: {help}") },
        other => other,
    }
}

/// The files that are read of an elevation model: it and its sidecar, those of a world's folder, or the folder of a map of Zarr.
pub fn files_of(path: &Path) -> Vec<PathBuf> {
    if is_zarr(path) { vec![path.to_path_buf()] } else { reads_of(path) }
}

/// Writes into a report what was read, and how long all took.
pub fn note(report: &mut Value, input: &Path, overridden: &[String], start: Instant) {
    report["input"] = to_text(input).into();
    if !overridden.is_empty() {
        report["units_overridden"] = json!(overridden);
    }
    report["seconds"] = start.elapsed().as_secs_f64().into();
}

/// Returns `cells`, and after them the cells that hold `points`, which `flag` gives in the file's map coordinates.
///
/// # Errors
/// A point outside.
pub fn cells(terrain: &Terrain, cells: &[Cell], points: &[MapPoint], flag: &str) -> Result<Vec<Cell>> {
    let placed = points.iter().map(|point| {
        let allowed = "a point inside the file, in its coordinates";
        cell_at(&terrain.grid, *point).ok_or_else(|| Error::value(flag, format!("{},{}", point.x, point.y), allowed))
    });
    cells.iter().copied().map(Ok).chain(placed).collect()
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
