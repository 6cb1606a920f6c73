//! Work that is done tile by tile into a store: the loop that steps it, and its messages.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use thalweg_core::Result;
use thalweg_core::base::memory;
use thalweg_core::base::names::{format_count, format_path};
use thalweg_core::declare::operation::WorkForm;
use thalweg_store::{Access, Job, Plan, PlannedWork, WorkerPool};

use crate::console::{Reporter, list_paths, paths_to_text};
use crate::progress::Counting;
use crate::signals::{INTERRUPTED, install_signal_handler, is_stop_requested};

/// The default side of a tile in cells.
pub const TILE: usize = 1024;

/// Returns true if the path of an output names a store.
pub fn is_store_name(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zarr"))
}

/// Returns the form of work that writes this output.
pub fn choose_form(output: &Path) -> WorkForm {
    if is_store_name(output) { WorkForm::Store } else { WorkForm::Folder }
}

/// Plans a job and carries it out on this machine, in tiles of [`TILE`] cells or, if `memory` (in bytes) is short, of
/// another size. Finished tiles of the same plan are kept.
///
/// # Errors
/// Returns an error if the job cannot be planned or there is too little space, and the errors of its parts.
pub fn execute_job(job: Job, store: &Path, memory: Option<u64>, voice: Reporter) -> Result<ExitCode> {
    let start = Instant::now();
    voice.warn_all(&job.warnings()?);
    // An existing store keeps the tile side with which it was started, however much memory was free then.
    let tile = Plan::read_sidecar(store).map_or(TILE, |begun| begun.side);
    let memory = memory.or_else(memory::available_bytes).unwrap_or(u64::MAX);
    let (plan, threads) = Plan::fit_to_memory(&job, store, tile, memory, rayon::current_num_threads())?;
    let mib = plan.memory_bytes(threads).div_ceil(1 << 20);
    let [gib, more] = [plan.disk_bytes, plan.beside_bytes].map(|bytes| bytes as f64 / f64::from(1 << 30));
    let more = match plan.beside_bytes {
        0 => String::new(),
        _ => format!(", and an estimated {more:.1} GiB for the files of lakes"),
    };
    voice.print_line(&format!(
        "{} of {} × {} cells, {threads} at once: at most {mib} MiB of memory and {gib:.1} GiB of disk{more}",
        format_count(plan.tiles, "tile"),
        plan.side,
        plan.side,
    ));
    // This process does all of the work, so the store is locked against every other one.
    let work = PlannedWork::open(plan, Access::Alone)?;
    voice.warn_all(&work.store().warnings());
    install_signal_handler(voice);
    let mut pool = WorkerPool::new(&work, threads)?;
    let mut show = Counting::new(voice);
    while let Some(progress) = pool.run_next_tasks()? {
        show.report_count(work.current_stage(), progress.map(|n| n as u64));
        // Everything is on the disk between two calls, so stopping here loses nothing.
        if is_stop_requested() && !work.is_done() {
            drop(show);
            let [done, all] = progress;
            voice.print_line(&format!("stopped after {done} of {all} parts; the same command continues the work"));
            voice.print_event(&json!({"event": "interrupted", "done": done, "all": all}));
            return Ok(ExitCode::from(INTERRUPTED));
        }
    }
    drop(show);
    let report = work.write_report()?;
    let files = [store.to_path_buf(), report];
    voice.print_line(&format!("wrote in {:.1} s:\n  {}", start.elapsed().as_secs_f64(), list_paths(&files)));
    voice.print_event(&json!({"event": "result", "files": paths_to_text(&files), "report": work.collect_report()?}));
    Ok(ExitCode::SUCCESS)
}

/// Reports that the work is done by tiles although that was not requested.
pub fn report_tiled_work(store: &Path, voice: Reporter) {
    voice.print_line(&format!(
        "the map does not fit in memory, so it is processed by tiles; the result is written to {}",
        format_path(store)
    ));
}
