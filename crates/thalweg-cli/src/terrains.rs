//! The inputs of commands: reads terrains and trees, and prints the warnings about them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use thalweg_core::base::memory::{available_bytes, check_memory};
use thalweg_core::base::names::{format_path as shown_path, to_text};
use thalweg_core::terrain::{BoundaryOptions, SeaLevelOptions};
use thalweg_core::{Error, Height, Result, Terrain};
use thalweg_export::world_folder::{list_input_files, read_world, read_world_trees};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{Format, LoadOptions, Loaded, Sidecar, load_terrain};
use thalweg_models::process::forest::Tree;
use thalweg_store::{ElevationFile, is_store, is_zarr};

use crate::args::WaterArgs;
use crate::console::Reporter;
use crate::memory::Need;

/// Reads a terrain from a file, or from a folder that `build` or `drain` wrote.
///
/// # Errors
/// Returns an error if a file cannot be read or does not belong to this terrain.
pub fn read_terrain(path: &Path, args: &LoadOptions, sea: Option<f64>, voice: Reporter) -> Result<Terrain> {
    if is_zarr(path) {
        let file = ElevationFile::open(path, args)?;
        file.check_square(SUBJECT)?;
        let (terrain, _, warnings) = file.read_terrain()?;
        return apply_sea_level((terrain, warnings), sea, voice);
    }
    apply_sea_level(read_world(path, args)?, sea, voice)
}

/// Reads a terrain like [`read_terrain`], with everything that the studio shows: further layers, and the trees.
///
/// # Errors
/// Returns the errors of [`read_terrain`].
#[cfg(feature = "studio")]
pub fn read_displayed_terrain(path: &Path, args: &LoadOptions, sea: Option<f64>, voice: Reporter) -> Result<Terrain> {
    apply_sea_level(thalweg_export::world_folder::read_displayed_terrain(path, args)?, sea, voice)
}

/// What needs square cells, in messages.
const SUBJECT: &str = "this operation";

/// An elevation model that a command works on.
pub struct OpenedTerrain {
    /// The terrain.
    pub terrain: Terrain,
    /// The sample that stands for no data in the source.
    pub nodata: Option<f64>,
    /// The units that the file states and that were overridden.
    pub overridden: Vec<String>,
}

/// Reads a file or a Zarr array for commands on elevation models, with the given edges and sea level. Its cells need
/// not be squares.
///
/// # Errors
/// Returns an error if the file cannot be read, or if the sea level is outside the accepted heights.
pub fn open_terrain(
    path: &Path,
    args: &LoadOptions,
    boundary: &BoundaryOptions,
    voice: Reporter,
) -> Result<OpenedTerrain> {
    let (mut opened, warnings) = if is_zarr(path) {
        let file = ElevationFile::open(path, args)?;
        let (terrain, reading, warnings) = file.read_terrain()?;
        // The value that stands for no data in fixed point is of no use in a file in metres.
        let nodata = reading.nodata().filter(|value| value.abs() < 1e6);
        (OpenedTerrain { terrain, nodata, overridden: file.overridden_units().to_vec() }, warnings)
    } else {
        let Loaded { terrain, nodata, overridden, warnings, .. } = load_terrain(path, args)?;
        (OpenedTerrain { terrain, nodata, overridden }, warnings)
    };
    voice.warn_all(&warnings);
    boundary.apply_to(&mut opened.terrain.grid)?;
    Ok(opened)
}

/// Opens the source like [`open_by_windows`], for commands that need square cells.
///
/// # Errors
/// Returns the errors of [`open_by_windows`]; an error if windows were requested and the cells are not squares.
pub fn open_squares_by_windows(
    path: &Path,
    args: &LoadOptions,
    asked: bool,
    need: impl FnOnce([usize; 2]) -> u64,
) -> Result<Option<ElevationFile>> {
    let file = open_by_windows(path, args, asked, need)?;
    // A file that is not used by windows is read as a whole by the caller, who checks it.
    file.as_ref().map_or(Ok(()), |file| file.check_square(SUBJECT))?;
    Ok(file)
}

/// Opens the source if the work is done by windows: for a Zarr array or a TIFF, if that was requested with `asked`, or
/// if the work as a whole needs more memory than is available. `need` returns the bytes for these numbers of rows and
/// columns.
///
/// # Errors
/// Returns an error if windows were requested and the source cannot be opened.
pub fn open_by_windows(
    path: &Path,
    args: &LoadOptions,
    asked: bool,
    need: impl FnOnce([usize; 2]) -> u64,
) -> Result<Option<ElevationFile>> {
    if !(is_zarr(path) || (path.is_file() && Format::from_path(path).is_ok_and(Format::reads_windows))) {
        return Ok(None);
    }
    let file = match ElevationFile::open(path, args) {
        Ok(file) => file,
        Err(error) if asked => return Err(error),
        // The caller then reads it as a whole and reports the error itself.
        Err(_) => return Ok(None),
    };
    // Reading by windows is only a way to save memory, so it is not used if the whole map fits.
    let need = need(file.grid().size);
    Ok((asked || check_memory("by windows", need).is_err()).then_some(file))
}

/// Converts a given sea level in metres to a height.
///
/// # Errors
/// Returns an error if it is outside the accepted heights.
pub fn parse_sea_level(sea: Option<f64>) -> Result<Option<Height>> {
    sea.map(Height::from_metres).transpose()
}

/// Reports that the work is done by rows although that was not requested, and how much memory it takes.
pub fn report_row_work(bytes: u64, voice: Reporter) {
    let mib = bytes.div_ceil(1 << 20);
    voice.print_line(&format!("the map is processed row by row and needs at most {mib} MiB of memory"));
}

/// Reads a terrain that a command needs as a whole, if it fits into memory; otherwise the error names a size that
/// would.
///
/// # Errors
/// Returns the errors of [`read_terrain`]; also if the terrain does not fit.
pub fn read_fitting_terrain(
    path: &Path,
    args: &LoadOptions,
    sea: Option<f64>,
    need: Need,
    voice: Reporter,
) -> Result<Terrain> {
    if let Some(file) = open_squares_by_windows(path, args, is_zarr(path), |size| need.required_bytes(size))? {
        let size = file.grid().size;
        let have = available_bytes().unwrap_or(u64::MAX);
        if let Err(error) = check_memory(&shown_path(path), need.required_bytes(size)) {
            // Find the smallest factor by which the map must be coarser to fit into memory.
            let times =
                (1..=size[0].max(size[1])).find(|n| need.required_bytes(size.map(|side| side.div_ceil(*n))) <= have);
            return Err(add_suggestion(error, &suggest_coarser_map(path, size, times.unwrap_or(1))));
        }
    }
    read_terrain(path, args, sea, voice)
}

/// Describes how to make a map coarser by a factor.
fn suggest_coarser_map(path: &Path, size: [usize; 2], times: usize) -> String {
    let [rows, cols] = size.map(|side| side.div_ceil(times));
    let path = shown_path(path);
    let how = match is_store(Path::new(&path)) {
        true => format!("`thalweg layer {path} height --coarser {times} -o small.tif`"),
        false => format!("`thalweg resample {path} --cells {cols}x{rows} -o small.tif`"),
    };
    format!("{how} gives {rows} × {cols} cells (rows × columns), which fit; `thalweg crop` cuts out a window")
}

/// Turns an error about memory into one with a suggestion.
fn add_suggestion(error: Error, help: &str) -> Error {
    match error {
        Error::TooLarge { what, need, have } => {
            Error::unsupported(what, format!("does not fit in memory: {need} required, {have} available; {help}"))
        }
        other => other,
    }
}

/// The files that are read for an elevation model: the file and its sidecar, those of a world's folder, or the folder
/// of a Zarr array.
pub fn list_source_files(path: &Path) -> Vec<PathBuf> {
    if is_zarr(path) { vec![path.to_path_buf()] } else { list_input_files(path) }
}

/// Adds the input and the duration to a report.
pub fn add_input_to_report(report: &mut Value, input: &Path, overridden: &[String], start: Instant) {
    report["input"] = to_text(input).into();
    if !overridden.is_empty() {
        report["units_overridden"] = json!(overridden);
    }
    report["seconds"] = start.elapsed().as_secs_f64().into();
}

fn apply_sea_level(
    (mut terrain, warnings): (Terrain, Vec<String>),
    sea: Option<f64>,
    voice: Reporter,
) -> Result<Terrain> {
    voice.warn_all(&warnings);
    SeaLevelOptions { sea_level: sea }.apply_to(&mut terrain.grid)?;
    Ok(terrain)
}

/// Reads the trees of the given table, or else those of the folder.
///
/// # Errors
/// Returns an error if the table cannot be read or is not a table of trees.
pub fn read_trees(path: &Path, given: Option<&Path>, terrain: &Terrain, voice: Reporter) -> Result<Vec<Tree>> {
    let (trees, warnings) = read_world_trees(path, given, terrain)?;
    voice.warn_all(&warnings);
    Ok(trees)
}

/// Refuses a picture that would overwrite one of its inputs.
///
/// # Errors
/// Returns an error that names the input.
pub fn check_distinct_output<'a>(
    inputs: impl IntoIterator<Item = &'a PathBuf>,
    water: &WaterArgs,
    trees: Option<&Path>,
    picture: &Path,
) -> Result<()> {
    let layers = [&water.water, &water.pools, &water.streams].into_iter().flatten();
    let mut reads: Vec<PathBuf> = inputs.into_iter().flat_map(|input| list_input_files(input)).collect();
    reads.extend(layers.flat_map(|layer| Sidecar::input_files(layer)));
    reads.extend(trees.map(Path::to_path_buf));
    check_distinct_files(&reads, &[picture.to_path_buf()])
}
