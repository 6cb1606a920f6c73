//! The arguments of the command line. Models and their parameters are not listed here: they come from their
//! declarations.

pub mod declared;
#[cfg(feature = "studio")]
pub mod explore;
mod export;
pub mod knobs;
#[cfg(feature = "studio")]
pub mod picture;
pub mod pictures;
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

pub use export::ExportArgs;
pub use pictures::{CompareArgs, MeshArgs, NormalsArgs, ShadeArgs, TexturesArgs, ViewArgs, WaterArgs};
pub use runs::{ApplyArgs, BuildArgs, GenerateArgs, ModelArgs, ResumeArgs, RunArgs, StudioArgs, VaryArgs};
pub use shared::{CommonArgs, drain_job};
pub use stores::{LayerArgs, PlanArgs, StageArgs, TILE, VerifyArgs};
pub use terrains::{CropArgs, DrainArgs, InfoArgs, MeasureArgs, ResampleArgs, RiversArgs};
use values::operation_parser;
pub use worlds::{ServeArgs, TileArgs, WorldArgs};

/// Makes terrain, erodes it, and writes it for game engines and GIS.
#[derive(Parser)]
#[command(name = "thalweg", version, max_term_width = 120, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Builds a world from a preset or a recipe into a folder.
    Build(Box<BuildArgs>),
    /// Computes one tile of a world of any size: heights, flow directions, rivers and a shaded map.
    Tile(TileArgs),
    /// Serves a world's tiles over HTTP to web maps and game engines, and computes them on request.
    Serve(ServeArgs),
    /// Builds variations of a recipe (seeds, knobs, parameters) and draws them on one sheet.
    Vary(VaryArgs),
    /// Opens the studio, a window that shows the erosion of a terrain and in which you can edit it.
    Studio(StudioArgs),
    /// Opens the explorer, a window that shows a world at any distance, from the whole world to a gully; or draws one
    /// view as a PNG.
    #[cfg(feature = "studio")]
    Explore(explore::ExploreArgs),
    /// Generates terrain with one base model, such as noise or a volcano.
    Generate(GenerateArgs),
    /// Runs one erosion or analysis model over an elevation model.
    Apply(ApplyArgs),
    /// Continues an interrupted run from its checkpoint file.
    Resume(ResumeArgs),
    /// Lists the models, or describes one with all its parameters.
    Models {
        /// The name of the model to describe [default: list all].
        name: Option<String>,
    },
    /// Lists the presets that `build` accepts, or the stages of one and what they do on refinement levels.
    Presets {
        /// The name of the preset whose stages are listed [default: list all presets].
        name: Option<String>,
    },
    /// Lists the rocks that `build --rock` accepts, with their properties.
    Rocks,
    /// Prints the JSON Schema of recipes, for checks and completion in editors, or that of an operation's options.
    Schema {
        /// The operation whose options the schema describes [default: recipes].
        #[arg(value_parser = operation_parser())]
        operation: Option<String>,
    },
    /// Prints the size, heights and coordinate system of a terrain file, and whether commands can use it.
    Info(InfoArgs),
    /// Computes the drainage of an elevation model for GIS: flow directions, drainage areas, basins, lakes, streams.
    Drain(DrainArgs),
    /// Divides large work into tiles that the processes of a cluster can do with `stage`, and writes the plan to a
    /// file.
    Plan(PlanArgs),
    /// Does one part of a plan: one tile of a stage, or the step that combines its tiles. Exits with 0 if the part is
    /// done, and with 3 if it has to wait for other parts.
    Stage(StageArgs),
    /// Finds missing or altered tiles of a Zarr store, and with --mend recreates them.
    Verify(VerifyArgs),
    /// Writes a layer of a Zarr store as a cloud-optimised GeoTIFF, at full resolution or coarser.
    Layer(LayerArgs),
    /// Adds rivers and lakes to a terrain, and writes lines, rasters, meshes and the corrected elevation.
    Rivers(RiversArgs),
    /// Checks the rivers and lakes that `rivers` wrote, and prints the share of cases that pass each check.
    CheckRivers {
        /// The folder that `rivers` wrote.
        folder: PathBuf,
    },
    /// Measures the slopes, drainage and channels of a terrain, and prints the usual range of each measure in nature.
    Measure(MeasureArgs),
    /// Draws a terrain as a shaded map.
    Shade(ShadeArgs),
    /// Draws a terrain in perspective.
    View(ViewArgs),
    /// Draws terrains side by side: two in perspective, or a sheet of several.
    Compare(CompareArgs),
    /// Draws a terrain in perspective or as a map, as the studio shows it.
    #[cfg(feature = "studio")]
    Picture(picture::PictureArgs),
    /// Writes a terrain as files that a given program can import, and prints the steps of the import.
    Export(ExportArgs),
    /// Writes a mesh with normals and tangents.
    Mesh(MeshArgs),
    /// Writes a normal map or a bump map.
    Normals(NormalsArgs),
    /// Writes textures: weights of ground cover, unlit albedo, roughness, occlusion, curvature and flow.
    Textures(TexturesArgs),
    /// Resamples a terrain to another number of cells over the same extent.
    Resample(ResampleArgs),
    /// Cuts a rectangle of cells out of a terrain.
    Crop(CropArgs),
    /// Prints the script that completes commands and options in a shell.
    Completions {
        /// The shell that is to run the script.
        shell: clap_complete::Shell,
    },
    /// Prints the man page of the program, or of one command.
    Man {
        /// The name of the command [default: the whole program].
        command: Option<String>,
    },
}

/// Parses the command line. If the arguments are invalid, or if help is requested, this ends the process.
pub fn parse_command_line() -> Cli {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let matches = build_command(&typed).try_get_matches_from(&typed);
    matches.and_then(|matches| Cli::from_arg_matches(&matches)).unwrap_or_else(|error| exit_with_error(&error, &typed))
}

/// Ends the process with the message about invalid arguments, or with the requested help. Arguments that contain
/// control characters are printed in an escaped form, so that they have no effect on the terminal.
fn exit_with_error(error: &clap::Error, typed: &[OsString]) -> ! {
    let is_harmless = |word: &OsString| word.to_str().is_some_and(|word| names::format_line(word) == word);
    if typed.iter().all(is_harmless) {
        error.exit();
    }
    let text = error.render().to_string();
    crate::console::print_to_stderr(&names::format_lines(&text));
    std::process::exit(error.exit_code())
}

/// Returns the whole command. The help of `apply` and `generate` lists the models or, if `typed` names a model, shows
/// that model's parameters.
pub fn build_command(typed: &[OsString]) -> clap::Command {
    // The first word is the program and the second the command, so a model's name can only follow them.
    let named = typed.iter().skip(2).find_map(|word| models::find_model(word.to_str()?).ok());
    let after = match named {
        Some(model) => thalweg_models::model::page::format_parameters(&*model),
        None => {
            let list: Vec<String> = models::all_models()
                .map(|model| format!("  {:<20} {}", model.about().name, model.about().summary))
                .collect();
            format!("Models:\n{}\n\n`thalweg models NAME` shows a model's page and parameters.", list.join("\n"))
        }
    };
    let model_help = |command: clap::Command| command.after_help(after.clone());
    let command = Cli::command().mut_subcommand("apply", model_help).mut_subcommand("generate", model_help);
    // clap lists commands without groups, so the list is part of the template.
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}",
        list_by_group(&command)
    );
    command.help_template(template)
}

/// The commands in the groups in which the help lists them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Make a world", &["build", "vary", "tile", "studio", "explore", "generate", "apply", "resume"]),
    ("Analyse a terrain", &["info", "measure", "drain", "rivers", "check-rivers"]),
    ("Draw it", &["shade", "view", "compare", "picture"]),
    ("Export it", &["export", "mesh", "normals", "textures", "resample", "crop"]),
    ("Work on large data", &["plan", "stage", "verify", "layer", "serve"]),
    ("Look up models, presets and commands", &["models", "presets", "rocks", "schema", "completions", "man"]),
];

/// Lists the commands by group, each with its summary.
fn list_by_group(command: &clap::Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        text += &format!("{title}:\n");
        for found in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            let about = wrap_text(&about, 80).join(&format!("\n{:16}", ""));
            text += &format!("  {:<13} {about}\n", found.get_name());
        }
        text.push('\n');
    }
    text
}

/// Breaks a text into lines of at most `width` characters, unless a word is longer.
fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => *line += &format!(" {word}"),
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_command_once() {
        let command = build_command(&[]);
        for name in command.get_subcommands().map(clap::Command::get_name) {
            let count = GROUPS.iter().flat_map(|(_, names)| *names).filter(|known| **known == name).count();
            assert_eq!(count, 1, "{name}");
        }
    }
}
