//! `resample` and `crop`: the same terrain in other cells.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use thalweg_core::base::names::format_path;
use thalweg_core::{CellRect, Error, Result, Terrain};
use thalweg_io::classes::{crop_raster, load_classes, load_layer_map, resample_classes};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::terrain::{Loaded, SaveOptions, load_terrain, save_terrain};
use thalweg_io::{Format, SampleType, Sidecar, output, write_raster, writes_sidecar};
use thalweg_render::products::resample::{crop_terrain as cropped, resample_terrain as resampled};
use thalweg_store::{ElevationFile, Reshape, Reshaped, is_zarr};

use crate::args::LoadArgs;
use crate::args::values::{CellCounts, SampleWord, parse_cell_counts, parse_window};
use crate::console::Reporter;
use crate::job::{as_typed, sample_type};
use crate::memory;
use crate::stores::{TILE, is_store_name};
use crate::terrains::{list_source_files, open_by_windows};
use crate::verb::{Group, Verb};

/// The terrain to read and the file to write.
#[derive(Args)]
struct FileArgs {
    /// The terrain file to read.
    input: PathBuf,
    /// The file to write; its extension determines the format: .tif, .png, .npy, .asc, .exr, .r16 or .r32.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Number format of the heights [default: that of the file format].
    #[arg(long = "type", value_name = "TYPE")]
    sample: Option<SampleWord>,
    #[command(flatten)]
    load: LoadArgs,
}

/// The arguments of `resample`.
#[derive(Args)]
pub struct ResampleArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Numbers of columns and rows of the result; by default, the number of rows is chosen so that cells stay square.
    #[arg(long, value_name = "COLS[xROWS]", value_parser = parse_cell_counts)]
    cells: CellCounts,
    /// Treats samples as classes, which are not interpolated: each new sample is the nearest old one. Unsigned 8-bit or
    /// 32-bit integers in a TIFF are always treated so, unless the file specifies that they are heights.
    #[arg(long)]
    classes: bool,
}

/// The arguments of `crop`.
#[derive(Args)]
pub struct CropArgs {
    #[command(flatten)]
    file: FileArgs,
    /// First column and row, counted from 0 in the north-west, then the numbers of columns and rows.
    #[arg(long, value_name = "COL,ROW,COLS,ROWS", value_parser = parse_window)]
    window: [usize; 4],
}

impl Verb for ResampleArgs {
    const NAME: &'static str = "resample";
    const GROUP: Group = Group::Export;
    const ABOUT: &'static str = "Resamples a terrain to another number of cells over the same extent";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        resample_file(self, voice)?;
        voice.report_files(std::slice::from_ref(&self.file.output));
        Ok(ExitCode::SUCCESS)
    }
}

impl Verb for CropArgs {
    const NAME: &'static str = "crop";
    const GROUP: Group = Group::Export;
    const ABOUT: &'static str = "Cuts a rectangle of cells out of a terrain";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        crop_file(self, voice)?;
        voice.report_files(std::slice::from_ref(&self.file.output));
        Ok(ExitCode::SUCCESS)
    }
}

/// Changes the number of cells over the same extent.
fn resample_file(args: &ResampleArgs, voice: Reporter) -> Result<()> {
    let FileArgs { input, output, load, .. } = &args.file;
    let size = |source: [usize; 2]| {
        let CellCounts { cols, rows } = args.cells;
        // Samples are at the ends of intervals, so the numbers of intervals keep the proportion.
        let [down, across] = source.map(|n| (n - 1) as f64);
        let fitting = || ((cols - 1) as f64 * down / across.max(1.0)).round() as usize + 1;
        [rows.unwrap_or_else(fitting), cols]
    };
    let classes = if is_zarr(input) { None } else { load_classes(input, load, args.classes)? };
    if let Some(classes) = classes {
        output::check_writable(output)?;
        check_distinct_files(&Sidecar::input_files(input), std::slice::from_ref(output))?;
        voice.warn_all(&classes.warnings);
        return write_raster(output, &resample_classes(&classes, size(classes.size))?);
    }
    if let Some(file) = open_source(&args.file, |own| size(own).into_iter().product())? {
        return reshape_by_windows(&file, Reshape::Resample(size(file.grid().size)), &args.file, voice);
    }
    reshape_in_memory(&args.file, voice, |terrain| {
        let size = size(terrain.grid.size);
        memory::RESAMPLE.check(&format!("resampling to {} × {} cells", size[1], size[0]), size, [0, 0])?;
        resampled(terrain, size)
    })
}

/// Cuts out a window.
fn crop_file(args: &CropArgs, voice: Reporter) -> Result<()> {
    let FileArgs { input, output, load, .. } = &args.file;
    let [col, row, cols, rows] = args.window;
    let rect = CellRect::new([row, col], [rows, cols]);
    let by_itself = !is_zarr(input) && !is_store_name(output);
    if by_itself && let Some(map) = load_layer_map(input, load)? {
        output::check_writable(output)?;
        check_distinct_files(&Sidecar::input_files(input), std::slice::from_ref(output))?;
        return write_raster(output, &crop_raster(&map, rect)?);
    }
    if let Some(file) = open_source(&args.file, |_| cols.saturating_mul(rows))? {
        return reshape_by_windows(&file, Reshape::Crop(rect), &args.file, voice);
    }
    reshape_in_memory(&args.file, voice, |terrain| {
        // The memory check uses the part inside the terrain; a window beyond it is refused by `cropped`.
        let [within_rows, within_cols] = terrain.grid.size;
        let size = [rows.min(within_rows), cols.min(within_cols)];
        memory::CROP.check(&format!("a window of {cols} × {rows} cells"), size, [0, 0])?;
        cropped(terrain, rect)
    })
}

/// The memory per cell in bytes: of the file while it is read, and of the resulting cells.
const BYTES_PER_CELL: [u64; 2] = [32, 20];

/// Opens the source if the work is done by windows: into a store, from a Zarr array, or if a TIFF and the result do
/// not fit into memory.
fn open_source(args: &FileArgs, cells: impl Fn([usize; 2]) -> usize) -> Result<Option<ElevationFile>> {
    let FileArgs { input, output, load, .. } = args;
    // A store is always written tile by tile, so its source is read by windows.
    if is_store_name(output) && !is_zarr(input) {
        return ElevationFile::open(input, load).map(Some);
    }
    // TIFF is the only file format that can be written window by window.
    if !is_zarr(input) && !matches!(Format::from_path(output), Ok(Format::Tiff)) {
        return Ok(None);
    }
    open_by_windows(input, load, is_zarr(input), |size| {
        let own = (size[0] as u64).saturating_mul(size[1] as u64);
        own.saturating_mul(BYTES_PER_CELL[0]).saturating_add((cells(size) as u64).saturating_mul(BYTES_PER_CELL[1]))
    })
}

/// Does the work by windows, into a store or a COG.
fn reshape_by_windows(file: &ElevationFile, how: Reshape, args: &FileArgs, voice: Reporter) -> Result<()> {
    let FileArgs { input, output, sample, .. } = args;
    check_distinct_files(&list_source_files(input), std::slice::from_ref(output))?;
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

fn reshape_in_memory(args: &FileArgs, voice: Reporter, change: impl FnOnce(&Terrain) -> Result<Terrain>) -> Result<()> {
    let FileArgs { input, output, load, sample } = args;
    let sample = sample.map(sample_type);
    output::check_terrain(output, sample).map_err(as_typed)?;
    let sidecar = writes_sidecar(output, sample)?.then(|| Sidecar::path_for(output));
    let writes: Vec<_> = std::iter::once(output.clone()).chain(sidecar).collect();
    check_distinct_files(&Sidecar::input_files(input), &writes)?;
    let Loaded { terrain, warnings, nodata, .. } = load_terrain(input, load)?;
    voice.warn_all(&warnings);
    let terrain = change(&terrain)?;
    let options = SaveOptions { sample, nodata, ..SaveOptions::default() };
    voice.warn_all(&save_terrain(output, &terrain, &options)?);
    Ok(())
}
