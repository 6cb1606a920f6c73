//! `textures`: writes the ground cover of a terrain for engines and renderers.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use thalweg_core::Result;
use thalweg_export::world_folder::{list_input_files, read_texture_rules};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{check_textures, draft_textures, output, texture_files};
use thalweg_render::products::textures::{TextureOptions, Textures};

use crate::args::declared::OperationArgs;
use crate::args::{LoadArgs, SeaArgs};
use crate::console::{Reporter, list_paths};
use crate::memory;
use crate::terrains::read_terrain;
use crate::verb::{Group, Verb};

/// The arguments of `textures`.
#[derive(Args)]
pub struct TexturesArgs {
    /// The terrain file to read, or a folder that `build` or `drain` wrote, whose water, ice, sediment and recipe are
    /// read as well.
    input: PathBuf,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    options: OperationArgs<TextureOptions>,
    /// The terrain before erosion, a file or a folder. If it is given, maps of erosion and deposition are also written.
    #[arg(long, value_name = "FILE|DIR")]
    start: Option<PathBuf>,
    #[command(flatten)]
    sea: SeaArgs,
    #[command(flatten)]
    load: LoadArgs,
}

impl Verb for TexturesArgs {
    const NAME: &'static str = "textures";
    const GROUP: Group = Group::Export;
    const ABOUT: &'static str =
        "Writes textures: weights of ground cover, unlit albedo, roughness, occlusion, curvature and flow";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        check_textures(&self.output)?;
        let reads =
            [list_input_files(&self.input), self.start.as_deref().map(list_input_files).unwrap_or_default()].concat();
        check_distinct_files(&reads, &texture_files(&self.output))?;
        let terrain = read_terrain(&self.input, &self.load, self.sea.sea_level, voice)?;
        let start = self.start.as_deref().map(|path| read_terrain(path, &self.load, None, voice)).transpose()?;
        // Textures may be larger than the map; the memory follows the larger of both.
        let cells = [terrain.grid.size.map(|n| n.max(self.options.size.unwrap_or(0))), terrain.grid.size];
        memory::TEXTURES.check("textures", cells[usize::from(self.options.size.is_none())], [0, 0])?;
        let (rules, rock) = read_texture_rules(&self.input)?;
        let textures = Textures::from_terrain(&terrain, &rules, rock, &self.options, start.as_ref())?;
        output::make_folder(&self.output)?;
        let draft = draft_textures(&self.output, &textures)?;
        let files = draft.final_paths();
        draft.commit(&reads)?;
        voice.print_line(&format!("wrote\n  {}", list_paths(&files)));
        voice.report_files(&files);
        Ok(ExitCode::SUCCESS)
    }
}
