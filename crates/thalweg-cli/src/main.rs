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

use crate::args::values::MOST_THREADS;
use crate::args::{Cli, Command};
use crate::commands::{
    apply, build, drain, export, info, measure, mesh, models, pictures, plan, reshape, resume, rivers, serve, studio,
    textures, tile, vary,
};
use crate::console::Voice;

fn main() -> ExitCode {
    faults::prepare();
    let Cli { command, common } = args::parse();
    let voice = Voice::from(common);
    // The parts of a plan share a machine with others.
    let usual = matches!(command, Command::Stage(_)).then_some(1);
    let threads = common.threads.or(usual);
    let code = faults::caught(|| pool(threads).and_then(|()| act(command, voice)));
    let code = code.unwrap_or_else(|problem| {
        voice.problem(&problem);
        ExitCode::FAILURE
    });
    recipes::tidy();
    code
}

fn act(command: Command, voice: Voice) -> Result<ExitCode> {
    match command {
        Command::Build(args) => return build::build(&args, voice),
        Command::Tile(args) => return tile::tile(&args, voice),
        Command::Serve(args) => serve::serve(&args, voice)?,
        Command::Vary(args) => return vary::vary(&args, voice),
        Command::Studio(args) => return studio::studio(&args, voice),
        #[cfg(feature = "studio")]
        Command::Explore(args) => return commands::explore::explore(&args, voice),
        Command::Generate(args) => return apply::generate(&args, voice),
        Command::Apply(args) => return apply::apply(&args, voice),
        Command::Resume(args) => return resume::resume(&args, voice),
        Command::Models { name } => models::models(name.as_deref(), voice)?,
        Command::Presets { name } => models::presets(name.as_deref(), voice)?,
        Command::Rocks => models::rocks(voice)?,
        Command::Schema => models::schema()?,
        Command::Info(args) => info::info(&args, voice)?,
        Command::Drain(args) => return drain::drain(&args, voice),
        Command::Plan(args) => plan::plan(&args, voice)?,
        Command::Stage(args) => return plan::stage(&args, voice),
        Command::Layer(args) => plan::layer(&args, voice)?,
        Command::Verify(args) => return plan::verify(&args, voice),
        Command::Rivers(args) => rivers::rivers(&args, voice)?,
        Command::CheckRivers { folder } => return rivers::check(&folder, voice),
        Command::Measure(args) => measure::measure(&args, voice)?,
        Command::Shade(args) => pictures::shade(&args, voice)?,
        Command::View(args) => pictures::view(&args, voice)?,
        Command::Compare(args) => pictures::compare(&args, voice)?,
        #[cfg(feature = "studio")]
        Command::Picture(args) => commands::picture::picture(&args, voice)?,
        Command::Export(args) => return export::export(&args, voice),
        Command::Mesh(args) => mesh::mesh(&args, voice)?,
        Command::Normals(args) => mesh::normals(&args, voice)?,
        Command::Textures(args) => textures::textures(&args, voice)?,
        Command::Resample(args) => reshape::resample(&args, voice)?,
        Command::Crop(args) => reshape::crop(&args, voice)?,
        Command::Completions { shell } => models::completions(shell)?,
        Command::Man { command } => models::man(command.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts the global thread pool. The default number of threads is that of `RAYON_NUM_THREADS`, or else the number of
/// cores.
fn pool(threads: Option<usize>) -> Result<()> {
    let threads = match (threads, std::env::var_os(THREADS)) {
        (Some(threads), _) => threads,
        (None, Some(text)) if !text.is_empty() && text != "0" => {
            let number = text.to_str().and_then(|text| text.trim().parse().ok());
            let number = number.filter(|n| (1..=MOST_THREADS).contains(n));
            number.ok_or_else(|| {
                let value = names::shown(std::path::Path::new(&text));
                Error::value(THREADS, value, format!("1 to {MOST_THREADS}, a whole number"))
            })?
        }
        _ => std::thread::available_parallelism().map_or(1, |n| n.get().min(MOST_THREADS)),
    };
    thalweg_core::base::memory::threads(threads)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    pool.map_err(|error| Error::value("threads", threads, format!("a number that the system can provide ({error})")))
}

/// The environment variable that programs with rayon use for the number of threads.
const THREADS: &str = "RAYON_NUM_THREADS";
