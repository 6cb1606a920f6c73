//! The command `thalweg`: a thin layer over the library of that name.

mod args;
mod command_line;
mod commands;
mod console;
mod drive;
mod faults;
mod job;
mod memory;
mod moved;
mod progress;
mod recipes;
mod signals;
mod stores;
mod terrains;
mod verb;
mod worlds;

use std::process::ExitCode;

use thalweg_core::base::names;
use thalweg_core::{Error, Result};

use crate::args::values::MAX_THREADS;
use crate::command_line::CommandLine;

fn main() -> ExitCode {
    faults::install_fault_hooks();
    let CommandLine { work, threads, voice } = command_line::parse_command_line();
    let code = faults::catch_faults(|| start_thread_pool(threads).and_then(|()| work(voice)));
    let code = code.unwrap_or_else(|problem| {
        voice.report_failure(&problem);
        ExitCode::FAILURE
    });
    // This is the last step, because the preset's elevation model must exist as long as the run reads it.
    recipes::remove_own_folder();
    code
}

/// Starts the global thread pool. The default number of threads is that of `RAYON_NUM_THREADS`, or else the number of
/// cores.
fn start_thread_pool(threads: Option<usize>) -> Result<()> {
    let threads = match (threads, std::env::var_os(THREADS)) {
        (Some(threads), _) => threads,
        (None, Some(text)) if !text.is_empty() && text != "0" => {
            let number = text.to_str().and_then(|text| text.trim().parse().ok());
            let number = number.filter(|n| (1..=MAX_THREADS).contains(n));
            number.ok_or_else(|| {
                let value = names::format_path(std::path::Path::new(&text));
                Error::invalid_value(THREADS, value, format!("a whole number from 1 to {MAX_THREADS}"))
            })?
        }
        _ => std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS)),
    };
    // Each thread reserves memory for its stack, so too many are refused with a message before the pool fails to start.
    thalweg_core::base::memory::check_thread_memory(threads)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    pool.map_err(|error| {
        Error::invalid_value("threads", threads, format!("fewer, because the system could not start so many ({error})"))
    })
}

/// The environment variable that programs with rayon use for the number of threads.
const THREADS: &str = "RAYON_NUM_THREADS";
