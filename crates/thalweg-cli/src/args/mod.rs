//! What can be typed. Models and their parameters are not listed here: they come from their declarations.

#[cfg(feature = "studio")]
pub mod explore;
mod export;
pub mod knobs;
#[cfg(feature = "studio")]
pub mod picture;
mod pictures;
mod runs;
mod shared;
mod stores;
mod terrains;
pub mod values;
mod worlds;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use thalweg_core::base::names;
use thalweg_models::models;

pub use export::Export;
pub use pictures::{Compare, Mesh, Normals, Shade, Textures, View, WaterArgs};
pub use runs::{Apply, Build, Generate, ModelArgs, Resume, RunArgs, Studio, Vary};
pub use shared::LoadArgs;
pub use stores::{Layer, Plan, Stage, TILE, Verify};
pub use terrains::{Crop, Drain, Info, Measure, Resample, Rivers};
pub use worlds::{Serve, Tile, WorldArgs};

/// Makes terrain, erodes it, and writes it for game engines and GIS.
#[derive(Parser)]
#[command(name = "thalweg", version, max_term_width = 120, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Build a world from a preset or a recipe into a folder.
    Build(Box<Build>),
    /// Make one tile of a world of any size: heights, where water goes, rivers, a map.
    Tile(Tile),
    /// Serve a world's tiles to web maps and engines as they ask for them.
    Serve(Serve),
    /// Build variations of a recipe, and draw them on one sheet: seeds, knobs, parameters.
    Vary(Vary),
    /// Open the studio: a window in which the land erodes.
    Studio(Studio),
    /// Open the explorer: a world looked at from any distance, from the whole into a gully; or draw what it shows.
    #[cfg(feature = "studio")]
    Explore(explore::Explore),
    /// Make ground with one base model.
    Generate(Generate),
    /// Run one model over an elevation model.
    Apply(Apply),
    /// Go on with a run from its checkpoint.
    Resume(Resume),
    /// List the models, or show one model's whole page.
    Models {
        /// A model's name.
        name: Option<String>,
    },
    /// List the presets that `build` knows, or say of one what its stages do, on local levels too.
    Presets {
        /// A preset's name.
        name: Option<String>,
    },
    /// List the rocks that --rock knows, with their figures.
    Rocks,
    /// Print the JSON Schema of recipes, for editors.
    Schema,
    /// Say what is in a terrain file.
    Info(Info),
    /// Work out where water goes: directions, catchments, basins, lakes, streams, for GIS.
    Drain(Drain),
    /// Plan work that goes by tiles into a store, as a file for the queue of a cluster.
    Plan(Plan),
    /// Do one part of a plan: a tile of a stage, or its solution. Exits with 0 when it is done, with 3 when it waits for others.
    Stage(Stage),
    /// Find tiles of a store that were lost or altered, and make them anew.
    Verify(Verify),
    /// Write a layer of a store as a cloud-optimised GeoTIFF, whole or coarser.
    Layer(Layer),
    /// Put rivers and lakes into a terrain: lines, rasters, meshes and the corrected ground.
    Rivers(Rivers),
    /// Check what `rivers` wrote.
    CheckRivers {
        /// The folder that it wrote into.
        folder: PathBuf,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Measure a terrain's slopes, drainage and channels, and say what is usual in nature.
    Measure(Measure),
    /// Draw a shaded map.
    Shade(Shade),
    /// Draw a terrain in perspective.
    View(View),
    /// Draw terrains side by side: two in perspective, or a sheet of several.
    Compare(Compare),
    /// Draw a terrain as the studio shows it.
    #[cfg(feature = "studio")]
    Picture(picture::Picture),
    /// Write a terrain as another program takes it, in tiles if wanted, and say what to click and type there.
    Export(Export),
    /// Write a mesh with normals and tangents.
    Mesh(Mesh),
    /// Write a normal map, or a bump map.
    Normals(Normals),
    /// Write textures: weights of ground cover, albedo without light, roughness, occlusion, curvature, flow.
    Textures(Textures),
    /// Change the number of cells over the same extent.
    Resample(Resample),
    /// Cut out a window of cells.
    Crop(Crop),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the man page, or that of one command.
    Man {
        /// A command's name.
        command: Option<String>,
    },
}

/// What was typed. A wrong use, and a call for help, end the process here.
pub fn parse() -> Cli {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let matches = command(&typed).try_get_matches_from(&typed);
    matches.and_then(|matches| Cli::from_arg_matches(&matches)).unwrap_or_else(|error| refused(&error, &typed))
}

/// Ends the process with a wrong use's message, or the help that was called for. Words that a terminal would obey are repeated
/// as they are written, not as they act.
fn refused(error: &clap::Error, typed: &[OsString]) -> ! {
    let is_harmless = |word: &OsString| word.to_str().is_some_and(|word| names::line(word) == word);
    if typed.iter().all(is_harmless) {
        error.exit();
    }
    let text = error.render().to_string();
    crate::console::eprint(&names::lines(&text));
    std::process::exit(error.exit_code())
}

/// The whole command. The help of `apply` and `generate` names the models, or, where a model was `typed` already,
/// shows that model's page.
pub fn command(typed: &[OsString]) -> clap::Command {
    let named = typed.iter().skip(2).find_map(|word| models::find_model(word.to_str()?).ok());
    let after = match named {
        Some(model) => thalweg_models::model::page::parameters(&*model),
        None => {
            let list: Vec<String> = models::all_models()
                .map(|model| format!("  {:<20} {}", model.about().name, model.about().summary))
                .collect();
            format!("Models:\n{}\n\n`thalweg models NAME` shows a model's page and parameters.", list.join("\n"))
        }
    };
    let model_help = |command: clap::Command| command.after_help(after.clone());
    Cli::command().mut_subcommand("apply", model_help).mut_subcommand("generate", model_help)
}
