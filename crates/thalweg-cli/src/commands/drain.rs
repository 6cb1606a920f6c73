//! `drain`: computes the drainage of an elevation model, as files for GIS.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use thalweg_core::base::memory;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_core::{ProgressReport, Result};
use thalweg_export::survey::{Survey, check_files};
use thalweg_io::{Format, output};
use thalweg_store::{ElevationFile, Job, is_zarr};

use crate::args::declared::typed_flag;
use crate::args::{Drain, TILE, drain_job};
use crate::console::{Voice, list, texts};
use crate::progress::Phases;
use crate::stores::{carry_out, is_store_name, say_tiled};
use crate::terrains::{Opened, files_of, note, opened};

/// Computes the drainage of a file and writes it into a folder.
///
/// # Errors
/// Returns an error if the input is unusable, if an outlet is outside, if the folder cannot be written, or if there is
/// too little memory.
pub fn drain(args: &Drain, voice: Voice) -> Result<ExitCode> {
    if let Some(store) = store_of(args, voice)? {
        return by_tiles(args, &store, voice);
    }
    let (start, options) = (Instant::now(), &*args.options);
    options.check_form(WorkForm::Folder, typed_flag)?;
    let reads = files_of(&args.input);
    check_files(&args.output, options, &reads)?;
    let Opened { terrain, nodata, overridden } =
        opened(&args.input, &args.load, args.map.edges, args.map.sea_level, voice)?;
    options.check(&terrain)?;
    output::make_folder(&args.output)?;
    // The last phase writes the files.
    let mut phases = Phases::new(voice, Survey::TASKS.len() as u64 + 1);
    let survey = Survey::of(&terrain, options, &mut |report: &ProgressReport<'_>| {
        phases.begin(report.task);
        ControlFlow::Continue(())
    })?;
    phases.begin("files");
    let mut draft = survey.draft(&args.output, &terrain, nodata)?;
    voice.warn_all(draft.warnings());
    note(&mut draft.report, &args.input, &overridden, start);
    let files = draft.files();
    let report = draft.commit(&reads)?;
    phases.end();
    voice.say(&survey.summary(&terrain.grid).to_string());
    voice.say(&format!("wrote in {:.1} s:\n  {}", start.elapsed().as_secs_f64(), list(&files)));
    voice.event(&json!({"event": "result", "files": texts(&files), "drain": report}));
    Ok(ExitCode::SUCCESS)
}

/// Returns the store if the work is done tile by tile: the store that is named, or one in the output folder if a TIFF
/// or Zarr array does not fit into memory.
fn store_of(args: &Drain, voice: Voice) -> Result<Option<PathBuf>> {
    if is_store_name(&args.output) {
        return Ok(Some(args.output.clone()));
    }
    let by_windows = is_zarr(&args.input) || Format::of(&args.input).is_ok_and(Format::reads_windows);
    if !by_windows || args.options.check_form(WorkForm::Store, typed_flag).is_err() {
        return Ok(None);
    }
    let Ok(file) = ElevationFile::open(&args.input, &args.load.options()) else { return Ok(None) };
    let cells = file.grid().size.into_iter().map(|n| n as u64).product::<u64>();
    let need = cells.saturating_mul(NEED);
    if args.memory.map_or_else(|| memory::check_memory("drain", need).is_ok(), |memory| need <= memory) {
        return Ok(None);
    }
    output::make_folder(&args.output)?;
    let store = args.output.join("drain.zarr");
    say_tiled(&store, voice);
    Ok(Some(store))
}

/// The memory per cell in bytes that a survey takes with the terrain and its file.
const NEED: u64 = 80;

/// Computes the drainage of a file of any size, into a store.
fn by_tiles(args: &Drain, store: &Path, voice: Voice) -> Result<ExitCode> {
    args.options.check_form(WorkForm::Store, typed_flag)?;
    let job = drain_job(&args.input, &args.load, &args.map, &args.options)?;
    carry_out(Job::Drain(job), store, TILE, args.memory, voice)
}
