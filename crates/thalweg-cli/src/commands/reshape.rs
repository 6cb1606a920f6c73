//! `resample` and `crop`: the same terrain in other cells.

use std::path::Path;

use thalweg_core::base::names::format_path;
use thalweg_core::{CellRect, Error, Result, Terrain};
use thalweg_io::classes::{crop_raster, load_classes, load_layer_map, resample_classes};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::terrain::{Loaded, SaveOptions, load_terrain, save_terrain};
use thalweg_io::{Format, LoadOptions, SampleType, Sidecar, output, write_raster, writes_sidecar};
use thalweg_render::products::resample::{crop_terrain as cropped, resample_terrain as resampled};
use thalweg_store::{ElevationFile, Reshape, Reshaped, is_zarr};

use crate::args::values::{CellCounts, SampleWord};
use crate::args::{CropArgs, ResampleArgs, TILE};
use crate::console::Reporter;
use crate::job::{as_typed, sample_type};
use crate::memory;
use crate::stores::is_store_name;
use crate::terrains::{list_source_files, open_by_windows};

/// Changes the number of cells over the same extent.
///
/// # Errors
/// Returns an error if the input is unusable, if the size is invalid, or if the output cannot be written.
pub fn resample_file(args: &ResampleArgs, voice: Reporter) -> Result<()> {
    write_resampled(args, voice)?;
    voice.report_files(std::slice::from_ref(&args.output));
    Ok(())
}

fn write_resampled(args: &ResampleArgs, voice: Reporter) -> Result<()> {
    let size = |source: [usize; 2]| {
        let CellCounts { cols, rows } = args.cells;
        // Samples are at the ends of intervals, so the numbers of intervals keep the proportion.
        let [down, across] = source.map(|n| (n - 1) as f64);
        let fitting = || ((cols - 1) as f64 * down / across.max(1.0)).round() as usize + 1;
        [rows.unwrap_or_else(fitting), cols]
    };
    let classes = match is_zarr(&args.input) {
        true => None,
        false => load_classes(&args.input, &args.load, args.classes)?,
    };
    if let Some(classes) = classes {
        output::check_writable(&args.output)?;
        check_distinct_files(&Sidecar::input_files(&args.input), std::slice::from_ref(&args.output))?;
        voice.warn_all(&classes.warnings);
        return write_raster(&args.output, &resample_classes(&classes, size(classes.size))?);
    }
    if let Some(file) = open_source(&args.input, &args.output, &args.load, |own| size(own).into_iter().product())? {
        let how = Reshape::Resample(size(file.grid().size));
        return reshape_by_windows(&file, how, &args.input, &args.output, args.sample, voice);
    }
    reshape_in_memory(&args.input, &args.output, &args.load, args.sample, voice, |terrain| {
        let size = size(terrain.grid.size);
        memory::RESAMPLE.check(&format!("resampling to {} × {} cells", size[1], size[0]), size, [0, 0])?;
        resampled(terrain, size)
    })
}

/// Cuts out a window.
///
/// # Errors
/// Returns the errors of [`resample_file`]; also if the window reaches beyond the terrain.
pub fn crop_file(args: &CropArgs, voice: Reporter) -> Result<()> {
    write_cropped(args, voice)?;
    voice.report_files(std::slice::from_ref(&args.output));
    Ok(())
}

fn write_cropped(args: &CropArgs, voice: Reporter) -> Result<()> {
    let [col, row, cols, rows] = args.window;
    let by_itself = !is_zarr(&args.input) && !is_store_name(&args.output);
    if by_itself && let Some(map) = load_layer_map(&args.input, &args.load)? {
        output::check_writable(&args.output)?;
        check_distinct_files(&Sidecar::input_files(&args.input), std::slice::from_ref(&args.output))?;
        return write_raster(&args.output, &crop_raster(&map, CellRect::new([row, col], [rows, cols]))?);
    }
    if let Some(file) = open_source(&args.input, &args.output, &args.load, |_| cols.saturating_mul(rows))? {
        let how = Reshape::Crop(CellRect::new([row, col], [rows, cols]));
        return reshape_by_windows(&file, how, &args.input, &args.output, args.sample, voice);
    }
    reshape_in_memory(&args.input, &args.output, &args.load, args.sample, voice, |terrain| {
        let [col, row, cols, rows] = args.window;
        // The memory check uses the part inside the terrain; a window beyond it is refused by `cropped`.
        let [within_rows, within_cols] = terrain.grid.size;
        let size = [rows.min(within_rows), cols.min(within_cols)];
        memory::CROP.check(&format!("a window of {cols} × {rows} cells"), size, [0, 0])?;
        cropped(terrain, CellRect::new([row, col], [rows, cols]))
    })
}

/// The memory per cell in bytes: of the file while it is read, and of the resulting cells.
const BYTES_PER_CELL: [u64; 2] = [32, 20];

/// Opens the source if the work is done by windows: into a store, from a Zarr array, or if a TIFF and the result do
/// not fit into memory.
fn open_source(
    input: &Path,
    output: &Path,
    args: &LoadOptions,
    cells: impl Fn([usize; 2]) -> usize,
) -> Result<Option<ElevationFile>> {
    // A store is always written tile by tile, so its source is read by windows.
    if is_store_name(output) && !is_zarr(input) {
        return ElevationFile::open(input, args).map(Some);
    }
    // TIFF is the only file format that can be written window by window.
    if !is_zarr(input) && !matches!(Format::from_path(output), Ok(Format::Tiff)) {
        return Ok(None);
    }
    open_by_windows(input, args, is_zarr(input), |size| {
        let own = (size[0] as u64).saturating_mul(size[1] as u64);
        own.saturating_mul(BYTES_PER_CELL[0]).saturating_add((cells(size) as u64).saturating_mul(BYTES_PER_CELL[1]))
    })
}

/// Does the work by windows, into a store or a COG.
fn reshape_by_windows(
    file: &ElevationFile,
    how: Reshape,
    input: &Path,
    output: &Path,
    sample: Option<SampleWord>,
    voice: Reporter,
) -> Result<()> {
    check_distinct_files(&list_source_files(input), &[output.to_path_buf()])?;
    let into_store = is_store_name(output);
    if !into_store && !matches!(Format::from_path(output), Ok(Format::Tiff)) {
        let problem = "cannot be written in parts, which is required if the input is a Zarr store or does not fit in \
                       memory; write .tif or .zarr";
        return Err(Error::unsupported(format_path(output), problem));
    }
    if into_store && sample.is_some() {
        let problem = "does not apply when the output is a Zarr store, which stores heights in fixed point";
        return Err(Error::conflict("--type", problem));
    }
    let reshaped = Reshaped::from_file(file, how)?;
    voice.warn_all(reshaped.warnings());
    match into_store {
        true => reshaped.save_store(output, input, TILE),
        false => reshaped.save_cog(output, sample.map_or(SampleType::F32, sample_type)),
    }
}

fn reshape_in_memory(
    input: &Path,
    output: &Path,
    args: &LoadOptions,
    sample: Option<SampleWord>,
    voice: Reporter,
    change: impl FnOnce(&Terrain) -> Result<Terrain>,
) -> Result<()> {
    let sample = sample.map(sample_type);
    output::check_terrain(output, sample).map_err(as_typed)?;
    let sidecar = writes_sidecar(output, sample)?.then(|| Sidecar::path_for(output));
    let writes: Vec<_> = std::iter::once(output.to_path_buf()).chain(sidecar).collect();
    check_distinct_files(&Sidecar::input_files(input), &writes)?;
    let Loaded { terrain, warnings, nodata, .. } = load_terrain(input, args)?;
    voice.warn_all(&warnings);
    let terrain = change(&terrain)?;
    let options = SaveOptions { sample, nodata, ..SaveOptions::default() };
    voice.warn_all(&save_terrain(output, &terrain, &options)?);
    Ok(())
}
