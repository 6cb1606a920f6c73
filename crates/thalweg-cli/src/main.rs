//! The command `thalweg`: a thin layer over the library of that name.

mod args;
mod commands;
mod console;
mod drive;
mod faults;
mod job;
mod memory;
mod progress;
mod recipes;
mod signals;
mod stores;
mod terrains;
mod worlds;

use std::process::ExitCode;

use thalweg_core::base::names;
use thalweg_core::{Error, Result};

use crate::args::values::MAX_THREADS;
use crate::args::{Cli, Command};
use crate::commands::{
    apply, build, drain, export, info, measure, mesh, models, pictures, plan, reshape, resume, rivers, serve, studio,
    textures, tile, vary,
};
use crate::console::Reporter;

fn main() -> ExitCode {
    faults::install_fault_hooks();
    let Cli { command, common } = args::parse_command_line();
    let voice = Reporter::from(common);
    // The parts of a plan share a machine with others.
    let usual = matches!(command, Command::Stage(_)).then_some(1);
    let threads = common.threads.or(usual);
    let code = faults::catch_faults(|| start_thread_pool(threads).and_then(|()| run_command(command, voice)));
    let code = code.unwrap_or_else(|problem| {
        voice.report_failure(&problem);
        ExitCode::FAILURE
    });
    // This is the last step, because the preset's elevation model must exist as long as the run reads it.
    recipes::remove_own_folder();
    code
}

fn run_command(command: Command, voice: Reporter) -> Result<ExitCode> {
    match command {
        Command::Build(args) => return build::build_world(&args, voice),
        Command::Tile(args) => return tile::write_tile(&args, voice),
        Command::Serve(args) => serve::serve_world(&args, voice)?,
        Command::Vary(args) => return vary::build_variations(&args, voice),
        Command::Studio(args) => return studio::open_studio(&args, voice),
        #[cfg(feature = "studio")]
        Command::Explore(args) => return commands::explore::explore_world(&args, voice),
        Command::Generate(args) => return apply::generate_terrain(&args, voice),
        Command::Apply(args) => return apply::apply_model(&args, voice),
        Command::Resume(args) => return resume::resume_run(&args, voice),
        Command::Models { name } => models::print_models(name.as_deref(), voice)?,
        Command::Presets { name } => models::print_presets(name.as_deref(), voice)?,
        Command::Rocks => models::print_rocks(voice)?,
        Command::Schema { operation } => models::print_schema(operation.as_deref())?,
        Command::Info(args) => info::print_info(&args, voice)?,
        Command::Drain(args) => return drain::write_drainage(&args, voice),
        Command::Plan(args) => plan::write_plan(&args, voice)?,
        Command::Stage(args) => return plan::execute_task(&args, voice),
        Command::Layer(args) => plan::export_layer(&args, voice)?,
        Command::Verify(args) => return plan::verify_store(&args, voice),
        Command::Rivers(args) => rivers::add_rivers(&args, voice)?,
        Command::CheckRivers { folder } => return rivers::check_rivers(&folder, voice),
        Command::Measure(args) => measure::measure_terrains(&args, voice)?,
        Command::Shade(args) => pictures::shade_terrain(&args, voice)?,
        Command::View(args) => pictures::draw_view(&args, voice)?,
        Command::Compare(args) => pictures::compare_terrains(&args, voice)?,
        #[cfg(feature = "studio")]
        Command::Picture(args) => commands::picture::draw_studio_picture(&args, voice)?,
        Command::Export(args) => return export::export_terrain(&args, voice),
        Command::Mesh(args) => mesh::export_mesh(&args, voice)?,
        Command::Normals(args) => mesh::export_normals(&args, voice)?,
        Command::Textures(args) => textures::export_textures(&args, voice)?,
        Command::Resample(args) => reshape::resample_file(&args, voice)?,
        Command::Crop(args) => reshape::crop_file(&args, voice)?,
        Command::Completions { shell } => models::print_completions(shell)?,
        Command::Man { command } => models::print_man_page(command.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
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
