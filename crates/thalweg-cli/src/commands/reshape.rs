//! `resample` and `crop`: the same terrain in other cells.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use thalweg_core::base::names::format_path;
use thalweg_core::declare::operation::Operation;
use thalweg_core::{CellRect, Error, Result, Terrain};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::reshape::{
    CropOptions, ResampleOptions, crop, crop_layer_file, resample, resample_classes_file, reshape_file,
};
use thalweg_io::{Format, SampleType};
use thalweg_store::{ElevationFile, Reshape, Reshaped, is_zarr};

use crate::args::LoadArgs;
use crate::args::declared::{OperationArgs, typed_flag};
use crate::console::Reporter;
use crate::job::as_typed;
use crate::memory;
use crate::stores::{TILE, choose_form, is_store_name};
use crate::terrains::{list_source_files, open_by_windows};
use crate::verb::{Group, Verb};

/// The terrain to read and the file to write.
#[derive(Args)]
struct FileArgs {
    /// The terrain file to read.
    input: PathBuf,
    /// The file to write; its extension determines the format: .tif, .png, .npy, .asc, .exr, .r16 or .r32. DIR.zarr
    /// makes a Zarr store.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    load: LoadArgs,
}

/// The arguments of `resample`.
#[derive(Args)]
pub struct ResampleArgs {
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten)]
    options: OperationArgs<ResampleOptions>,
}

/// The arguments of `crop`.
#[derive(Args)]
pub struct CropArgs {
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten)]
    options: OperationArgs<CropOptions>,
}

impl Verb for ResampleArgs {
    const NAME: &'static str = "resample";
    const GROUP: Group = Group::Export;
    const ABOUT: &'static str = "Resamples a terrain to another number of cells over the same extent";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        check_output(&self.file, &*self.options)?;
        resample_file(self, voice).map_err(|error| self.options.as_typed(error))?;
        voice.report_files(std::slice::from_ref(&self.file.output));
        Ok(ExitCode::SUCCESS)
    }
}

impl Verb for CropArgs {
    const NAME: &'static str = "crop";
    const GROUP: Group = Group::Export;
    const ABOUT: &'static str = "Cuts a rectangle of cells out of a terrain";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        check_output(&self.file, &*self.options)?;
        crop_file(self, voice).map_err(|error| self.options.as_typed(error))?;
        voice.report_files(std::slice::from_ref(&self.file.output));
        Ok(ExitCode::SUCCESS)
    }
}

/// Checks that the options have an effect in the form of the output.
fn check_output(file: &FileArgs, options: &impl Operation) -> Result<()> {
    options.check_form(choose_form(&file.output), typed_flag)
}

/// Changes the number of cells over the same extent.
fn resample_file(args: &ResampleArgs, voice: Reporter) -> Result<()> {
    let (FileArgs { input, output, load }, options) = (&args.file, &*args.options);
    if options.classes && is_zarr(input) {
        let problem = "does not apply to a Zarr array, which is read as heights; `layer` writes a layer of a store as \
                       a file";
        return Err(Error::conflict("classes", problem));
    }
    let classes = if is_zarr(input) { None } else { resample_classes_file(input, output, load, options)? };
    if let Some(warnings) = classes {
        voice.warn_all(&warnings);
        return Ok(());
    }
    let cells = |own: [usize; 2]| options.target_size(own).map_or(0, |[rows, cols]| rows.saturating_mul(cols));
    if let Some(file) = open_source(&args.file, cells)? {
        let size = options.target_size(file.grid().size)?;
        return reshape_by_windows(&file, Reshape::Resample(size), &args.file, options.sample, voice);
    }
    reshape_in_memory(&args.file, options.sample, voice, |terrain| {
        let size = options.target_size(terrain.grid.size)?;
        memory::RESAMPLE.check(&format!("resampling to {} × {} cells", size[1], size[0]), size, [0, 0])?;
        resample(terrain, options)
    })
}

/// Cuts out a window.
fn crop_file(args: &CropArgs, voice: Reporter) -> Result<()> {
    let (FileArgs { input, output, load }, options) = (&args.file, &*args.options);
    let rect: CellRect = options.require("window", options.window)?;
    let [rows, cols] = rect.size();
    let by_itself = !is_zarr(input) && !is_store_name(output);
    if by_itself && crop_layer_file(input, output, load, options)? {
        return Ok(());
    }
    if let Some(file) = open_source(&args.file, |_| cols.saturating_mul(rows))? {
        return reshape_by_windows(&file, Reshape::Crop(rect), &args.file, options.sample, voice);
    }
    reshape_in_memory(&args.file, options.sample, voice, |terrain| {
        // The memory check uses the part inside the terrain; a window beyond it is refused by `crop`.
        let [within_rows, within_cols] = terrain.grid.size;
        let size = [rows.min(within_rows), cols.min(within_cols)];
        memory::CROP.check(&format!("a window of {cols} × {rows} cells"), size, [0, 0])?;
        crop(terrain, options)
    })
}

/// The memory per cell in bytes: of the file while it is read, and of the resulting cells.
const BYTES_PER_CELL: [u64; 2] = [32, 20];

/// Opens the source if the work is done by windows: into a store, from a Zarr array, or if a TIFF and the result do
/// not fit into memory.
fn open_source(args: &FileArgs, cells: impl Fn([usize; 2]) -> usize) -> Result<Option<ElevationFile>> {
    let FileArgs { input, output, load } = args;
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
fn reshape_by_windows(
    file: &ElevationFile,
    how: Reshape,
    args: &FileArgs,
    sample: Option<SampleType>,
    voice: Reporter,
) -> Result<()> {
    let FileArgs { input, output, .. } = args;
    check_distinct_files(&list_source_files(input), std::slice::from_ref(output))?;
    let into_store = is_store_name(output);
    if !into_store && !matches!(Format::from_path(output), Ok(Format::Tiff)) {
        let problem = "cannot be written in parts, which is required if the input is a Zarr store or does not fit in \
                       memory; write .tif or .zarr";
        return Err(Error::unsupported(format_path(output), problem));
    }
    let reshaped = Reshaped::from_file(file, how)?;
    voice.warn_all(reshaped.warnings());
    match into_store {
        true => reshaped.save_store(output, input, TILE),
        false => reshaped.save_cog(output, sample.unwrap_or(SampleType::F32)),
    }
}

/// Does the work on the whole terrain.
fn reshape_in_memory(
    FileArgs { input, output, load }: &FileArgs,
    sample: Option<SampleType>,
    voice: Reporter,
    change: impl FnOnce(&Terrain) -> Result<Terrain>,
) -> Result<()> {
    let warnings = reshape_file(input, output, load, sample, change).map_err(as_typed)?;
    voice.warn_all(&warnings);
    Ok(())
}
