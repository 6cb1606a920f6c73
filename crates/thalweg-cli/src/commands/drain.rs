//! `drain`: computes the drainage of an elevation model, as files for GIS.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use thalweg_core::base::memory;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_core::{ProgressReport, Result};
use thalweg_export::survey::{DrainOptions, Survey, check_files};
use thalweg_io::{Format, output};
use thalweg_store::{ElevationFile, Job, is_zarr};

use crate::args::declared::{OperationArgs, typed_flag};
use crate::args::values::parse_byte_count;
use crate::args::{LoadArgs, MapArgs, drain_job};
use crate::console::{Reporter, list_paths, paths_to_text};
use crate::progress::Phases;
use crate::stores::{execute_job, is_store_name, report_tiled_work};
use crate::terrains::{OpenedTerrain, add_input_to_report, list_source_files, open_terrain};
use crate::verb::{Group, Verb};

/// The arguments of `drain`.
#[derive(Args)]
pub struct DrainArgs {
    /// The terrain file to read.
    input: PathBuf,
    /// The folder to write into; a name that ends in .zarr makes a Zarr store, which may be larger than memory.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    options: OperationArgs<DrainOptions>,
    #[command(flatten)]
    map: MapArgs,
    /// Maximum memory of the process, such as 500M or 2G. A GeoTIFF or Zarr array that needs more is processed by tiles
    /// [default: the free memory].
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    memory: Option<u64>,
    #[command(flatten)]
    load: LoadArgs,
}

impl Verb for DrainArgs {
    const NAME: &'static str = "drain";
    const GROUP: Group = Group::Analyse;
    const ABOUT: &'static str = "Computes the drainage of an elevation model for GIS: flow directions, drainage areas, \
                                 basins, lakes, streams";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        if let Some(store) = choose_store(self, voice)? {
            return drain_by_tiles(self, &store, voice);
        }
        let (start, options) = (Instant::now(), &*self.options);
        options.check_form(WorkForm::Folder, typed_flag)?;
        let reads = list_source_files(&self.input);
        check_files(&self.output, options, &reads)?;
        let OpenedTerrain { terrain, nodata, overridden } = open_terrain(&self.input, &self.load, &self.map, voice)?;
        let checked = options.check(&terrain);
        checked.map_err(|error| self.options.as_typed(error).into_file_error(&self.input))?;
        output::make_folder(&self.output)?;
        // The last phase writes the files.
        let mut phases = Phases::new(voice, Survey::TASKS.len() as u64 + 1);
        let survey = Survey::from_terrain(&terrain, options, &mut |report: &ProgressReport<'_>| {
            phases.begin(report.task);
            ControlFlow::Continue(())
        })?;
        phases.begin("files");
        let mut draft = survey.write_draft(&self.output, &terrain, nodata)?;
        voice.warn_all(draft.warnings());
        add_input_to_report(&mut draft.report, &self.input, &overridden, start);
        let files = draft.final_paths();
        let report = draft.commit(&reads)?;
        phases.end();
        voice.print_line(&survey.summarize(&terrain.grid).to_string());
        voice.print_line(&format!("wrote in {:.1} s:\n  {}", start.elapsed().as_secs_f64(), list_paths(&files)));
        voice.print_event(&json!({"event": "result", "files": paths_to_text(&files), "drain": report}));
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the store if the work is done tile by tile: the store that is named, or one in the output folder if a TIFF
/// or Zarr array does not fit into memory.
fn choose_store(args: &DrainArgs, voice: Reporter) -> Result<Option<PathBuf>> {
    if is_store_name(&args.output) {
        return Ok(Some(args.output.clone()));
    }
    // Options that need the whole map, for example breaching, rule out the work by tiles.
    let by_windows = is_zarr(&args.input) || Format::from_path(&args.input).is_ok_and(Format::reads_windows);
    if !by_windows || args.options.check_form(WorkForm::Store, typed_flag).is_err() {
        return Ok(None);
    }
    // The error is reported when the file is read as a whole.
    let Ok(file) = ElevationFile::open(&args.input, &args.load) else { return Ok(None) };
    let cells = file.grid().size.into_iter().map(|n| n as u64).product::<u64>();
    let need = cells.saturating_mul(BYTES_PER_CELL);
    if args.memory.map_or_else(|| memory::check_memory("drain", need).is_ok(), |memory| need <= memory) {
        return Ok(None);
    }
    output::make_folder(&args.output)?;
    let store = args.output.join("drain.zarr");
    report_tiled_work(&store, voice);
    Ok(Some(store))
}

/// The memory per cell in bytes that a survey takes with the terrain and its file. A map that needs more than is
/// available is drained by tiles.
const BYTES_PER_CELL: u64 = 80;

/// Computes the drainage of a file of any size, into a store.
fn drain_by_tiles(args: &DrainArgs, store: &Path, voice: Reporter) -> Result<ExitCode> {
    args.options.check_form(WorkForm::Store, typed_flag)?;
    let job = drain_job(&args.input, &args.load, &args.map, &args.options);
    let job = job.map_err(|error| args.options.as_typed(error))?;
    execute_job(Job::Drain(job), store, args.memory, voice)
}
