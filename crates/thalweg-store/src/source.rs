//! Rasters that are given by a path in any format, and [`ElevationFile`]: one that is read by windows as elevations.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use thalweg_core::base::memory;
use thalweg_core::{CellRect, Error, Field, Grid, Height, Result, Size, Terrain};
use thalweg_io::facts::Facts;
use thalweg_io::{
    Format, HeightReading, LoadOptions, PlacedGrid, Raster, SampleStatistics, Sidecar, VrtWindows, WindowedMap,
    determine_grid, list_side_files, needs_sidecar, open_windows_with, orient_north_up, plain,
};
use thalweg_tiled::TileLayer;
use thalweg_tiled::layer::NO_HEIGHT;
use xxhash_rust::xxh3::Xxh3;

use crate::array::{ZarrArray, list_maps, missing_metadata_error};
use crate::meta::{MAX_BYTES, ZARR};
use crate::store::{Store, is_ours, is_store};

/// Opens a raster. A TIFF, a virtual raster, a Zarr array, or a Zarr group in which one array is a map (for a thalweg
/// store its elevations) is read by windows. Other formats do not allow that and are read whole. For example, `dem.tif`
/// is read by windows, and `dem.asc` is read whole.
///
/// # Errors
/// Returns an error if the file cannot be read, if a group contains several maps (it lists their names), or if a store
/// does not have the requested layer.
pub fn open_raster(path: &Path) -> Result<Box<dyn WindowedMap>> {
    open_raster_with(path, &LoadOptions::default())
}

/// Opens a raster as [`open_raster`] does; the options give the size and the byte order of a headerless file.
///
/// # Errors
/// Returns the errors of [`open_raster`]; an error if these options are given for another file.
pub fn open_raster_with(path: &Path, options: &LoadOptions) -> Result<Box<dyn WindowedMap>> {
    if !is_zarr(path) {
        return open_windows_with(path, options);
    }
    options.check_raw_options(path)?;
    if is_ours(path) {
        let store = Store::open_read(path)?;
        return Ok(Box::new(store.layer(TileLayer::Height.name())?));
    }
    // A layer of a thalweg store is opened through the store, which refuses missing tiles instead of reading fill
    // values.
    if let (Some(folder), Some(name)) = (path.parent().filter(|folder| is_store(folder)), path.file_name()) {
        return Ok(Box::new(Store::open_read(folder)?.layer(&name.to_string_lossy())?));
    }
    match list_maps(path)?.as_slice() {
        [] => Ok(orient_north_up(Box::new(ZarrArray::open(path)?))),
        [one] => Ok(orient_north_up(Box::new(ZarrArray::open(&path.join(one))?))),
        many => {
            let problem = format!(
                "contains several maps ({}); give the path of one of them, such as {}/{}",
                many.join(", "),
                path.display(),
                many[0]
            );
            Err(Error::invalid_file(path, problem))
        }
    }
}

/// Returns the metadata file of a Zarr array or group, of version 3 or 2; `None` if the folder is neither.
fn find_metadata(folder: &Path) -> Option<PathBuf> {
    METADATA_FILES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// The names of the metadata files of arrays and groups.
const METADATA_FILES: [&str; 3] = [ZARR, ".zarray", ".zgroup"];

/// Returns true if a path is a Zarr folder or is named like one. For example, `new.zarr` is one before it exists.
pub fn is_zarr(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zarr"));
    is_named || find_metadata(path).is_some()
}

/// Returns the fingerprint of a source: a hash of the length and modification time of its file, of the mask and
/// the sidecars next to it, and of all files of a virtual raster. For a Zarr array it covers the metadata of the array and
/// of the group around it, and the lengths and modification times of its chunks. A thalweg store needs no chunks in
/// the hash, because its metadata name the plan that it belongs to.
///
/// # Errors
/// Returns an error if a file does not exist.
pub fn fingerprint_source(path: &Path) -> Result<u64> {
    // Lengths and times are hashed instead of samples, because a source may be larger than memory and is checked at
    // every start.
    let mut print = Xxh3::new();
    if is_zarr(path) {
        let Some(own) = find_metadata(path) else { return Err(missing_metadata_error(path)) };
        print.update(&plain::read_plain_file(own, MAX_BYTES)?);
        let group = path.parent().filter(|folder| find_metadata(folder).is_some());
        if let Some(metadata) = group.and_then(find_metadata) {
            print.update(&plain::read_plain_file(metadata, MAX_BYTES)?);
        }
        if !(is_store(path) || group.is_some_and(is_store)) {
            add_folder(&mut print, path)?;
        }
        return Ok(print.digest());
    }
    let mut files = vec![path.to_path_buf()];
    if Format::from_path(path).is_ok_and(|format| format == Format::Vrt) {
        files.extend(VrtWindows::open(path)?.files().map(Path::to_path_buf));
    }
    for file in &files {
        add_file(&mut print, file)?;
        list_side_files(file).iter().try_for_each(|path| add_file(&mut print, path))?;
    }
    Ok(print.digest())
}

fn add_file(print: &mut Xxh3, path: &Path) -> Result<()> {
    let about = std::fs::metadata(path).map_err(Error::io(path, "read"))?;
    print.update(&about.len().to_le_bytes());
    // Some file systems do not keep times.
    let since = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    print.update(&since.as_nanos().to_le_bytes());
    Ok(())
}

/// Adds all files of a folder and its subfolders to the hash. A link to a folder counts as one entry and is not
/// followed, because it may form a cycle.
fn add_folder(print: &mut Xxh3, folder: &Path) -> Result<()> {
    let refused = Error::io(folder, "read");
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(refused)?;
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    // The system lists files in any order; sorted, the same folder always has the same fingerprint.
    paths.sort();
    for path in paths {
        print.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        if path.is_dir() && !path.is_symlink() { add_folder(print, &path)? } else { add_file(print, &path)? }
    }
    Ok(())
}

/// Refuses a source that has changed since it was recorded.
///
/// # Errors
/// Returns an error if the source has changed or is gone.
pub fn check_unchanged(path: &Path, known: u64) -> Result<()> {
    if fingerprint_source(path)? == known {
        return Ok(());
    }
    Err(Error::invalid_file(
        path,
        "has changed since the work was planned; choose another output to keep the existing one",
    ))
}

/// The number of rows that are examined at once. It bounds the memory; the result does not depend on it.
pub(crate) const ROWS_PER_SCAN: usize = 256;

/// An elevation file, possibly larger than memory.
pub struct ElevationFile {
    path: PathBuf,
    raster: Box<dyn WindowedMap>,
    grid: Grid,
    reading: HeightReading,
    warnings: Vec<String>,
    overridden: Vec<String>,
    facts: Facts,
}

impl ElevationFile {
    /// Opens a file or a Zarr map ([`open_raster`]). A TIFF or a virtual raster is read by windows; a file of another
    /// format is read whole.
    ///
    /// # Errors
    /// Returns the errors of [`thalweg_io::load_terrain`], except for errors in the samples' values, and those of
    /// [`open_raster`].
    pub fn open(path: &Path, options: &LoadOptions) -> Result<Self> {
        if options.deterrace {
            let problem = "does not work on a map that is read in parts: a Zarr array, a file larger than memory, or \
                           the input of a store; use a file that fits in memory, and an output other than a store";
            return Err(Error::unsupported("deterrace", problem));
        }
        let raster = open_raster_with(path, options)?;
        let mut head = raster.metadata_raster()?;
        let sidecar = if !is_zarr(path) && needs_sidecar(&head) { Sidecar::read_for(path)? } else { None };
        let PlacedGrid { grid, warnings, overridden, facts } =
            determine_grid(path, &mut head, sidecar.as_ref(), options)?;
        let reading = HeightReading::from_head(&head, sidecar.as_ref(), options);
        Ok(Self { path: path.to_path_buf(), raster, grid, reading, warnings, overridden, facts })
    }

    /// The memory in bytes that the file holds as long as it is open, and the memory in bytes in addition to the
    /// result while a window of this size (rows, columns) is read. A file that cannot be read by windows is held
    /// whole.
    pub fn memory(&self, window: Size) -> [u64; 2] {
        self.raster.window_memory(window)
    }

    /// The grid of the file's cells.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Checks that the cells are squares in metres; `subject` names what needs them.
    ///
    /// # Errors
    /// Returns the error of [`Grid::check_square`] as one about the file.
    pub fn check_square(&self, subject: &str) -> Result<()> {
        self.grid.check_square(subject).map_err(|error| error.into_file_error(&self.path))
    }

    /// The warnings about the file.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the properties of the file and their sources, including those of a complete reading of its samples
    /// ([`determine_reading`](Self::determine_reading)).
    pub fn facts(&self, reading: &HeightReading) -> Facts {
        let mut facts = self.facts.clone();
        facts.record_all(reading.facts(&self.path));
        facts
    }

    /// The units that the file states and that were overridden.
    pub fn overridden_units(&self) -> &[String] {
        &self.overridden
    }

    /// Returns the conversion from samples to elevations, as far as the file's header defines it.
    pub fn reading(&self) -> &HeightReading {
        &self.reading
    }

    /// Examines the samples in a window.
    ///
    /// # Errors
    /// Returns an error if the window cannot be read.
    pub fn examine_window(&self, window: CellRect) -> Result<SampleStatistics> {
        Ok(self.reading.examine_piece(&self.raster.read_piece(window)?, window.start))
    }

    /// Determines how samples become elevations, and returns it with the warnings. This examines the whole file,
    /// window by window, because the values that stand for no data are known only then.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or its samples cannot be elevations.
    pub fn determine_reading(&self) -> Result<(HeightReading, Vec<String>)> {
        let [rows, cols] = self.grid.size;
        let mut look = SampleStatistics::default();
        for first in (0..rows).step_by(ROWS_PER_SCAN) {
            look = look.merge(self.examine_window(CellRect::new([first, 0], [ROWS_PER_SCAN.min(rows - first), cols]))?);
        }
        let (reading, said) =
            self.reading.clone().resolve_nodata_and_scale(&look).map_err(|problem| self.file_error(problem))?;
        Ok((reading, self.warnings.iter().cloned().chain(said).collect()))
    }

    /// Returns the elevations of a window in fixed-point units, read in the way that
    /// [`determine_reading`](Self::determine_reading) determined; [`NO_HEIGHT`] where there is no data.
    ///
    /// # Errors
    /// Returns an error if the window cannot be read or an elevation is outside ±16 000 m.
    pub fn read_heights(&self, window: CellRect, reading: &HeightReading) -> Result<Vec<i32>> {
        let piece = self.raster.read_piece(window)?;
        let heights = reading.convert_piece(&piece, window.start).map_err(|problem| self.file_error(problem))?;
        Ok(heights.into_iter().map(|height| height.0).collect())
    }

    /// Reads the whole file into memory, as [`thalweg_io::load_terrain`] does. Returns the terrain, how its samples
    /// were read, and the warnings.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, if it has more cells than a terrain may have, or if there is not
    /// enough memory.
    pub fn read_terrain(&self) -> Result<(Terrain, HeightReading, Vec<String>)> {
        let size = self.grid.size;
        // A grid that is read by windows may have more cells than fit in memory; this one must not.
        self.grid.check()?;
        memory::check_memory(&self.path.display().to_string(), (self.grid.len() as u64).saturating_mul(32))?;
        let all = CellRect::new([0, 0], size);
        let (reading, said) = self
            .reading
            .clone()
            .resolve_nodata_and_scale(&self.examine_window(all)?)
            .map_err(|problem| self.file_error(problem))?;
        let heights = self.read_heights(all, &reading)?;
        let lowest = heights.iter().copied().filter(|height| *height != NO_HEIGHT).min().unwrap_or_default();
        let void = heights.contains(&NO_HEIGHT).then(|| heights.iter().map(|height| *height == NO_HEIGHT).collect());
        let nodata = void.map(|mask| Field::from_vec(size, mask)).transpose()?;
        let stands = |height: i32| Height(if height == NO_HEIGHT { lowest } else { height });
        let ground = Field::from_vec(size, heights.into_iter().map(stands).collect())?;
        let terrain = Terrain { nodata, ..Terrain::from_ground(self.grid.clone(), ground)? };
        Ok((terrain, reading, self.warnings.iter().cloned().chain(said).collect()))
    }

    /// Makes an error about this file.
    pub fn file_error(&self, problem: String) -> Error {
        Error::invalid_file(&self.path, problem)
    }
}

/// Reads a window of a raster, together with the metadata of its header.
///
/// # Errors
/// Returns an error if the window cannot be read.
pub fn read_piece(raster: &dyn WindowedMap, window: CellRect) -> Result<Raster> {
    let Raster { size, samples, mask, .. } = raster.read_piece(window)?;
    Ok(Raster { size, samples, mask, ..raster.metadata_raster()? })
}
