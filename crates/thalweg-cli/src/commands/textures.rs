//! `textures`: writes the ground cover of a terrain for engines and renderers.

use thalweg_core::Result;
use thalweg_export::world_folder::{list_input_files, read_texture_rules};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{check_textures, draft_textures, output, texture_files};
use thalweg_render::products::textures::Textures;

use crate::args;
use crate::console::{Reporter, list_paths};
use crate::memory;
use crate::terrains::read_terrain;

/// Writes weights of ground cover, albedo and maps into a folder.
///
/// # Errors
/// Returns an error if an input is unusable, if the folder cannot be written or contains files that belong to another
/// report, or if there is too little memory.
pub fn export_textures(args: &args::TexturesArgs, voice: Reporter) -> Result<()> {
    check_textures(&args.output)?;
    let reads =
        [list_input_files(&args.input), args.start.as_deref().map(list_input_files).unwrap_or_default()].concat();
    check_distinct_files(&reads, &texture_files(&args.output))?;
    let terrain = read_terrain(&args.input, &args.load, args.sea_level, voice)?;
    let start = args.start.as_deref().map(|path| read_terrain(path, &args.load, None, voice)).transpose()?;
    // Textures may be larger than the map; the memory follows the larger of both.
    let cells = [terrain.grid.size.map(|n| n.max(args.options.size.unwrap_or(0))), terrain.grid.size];
    memory::TEXTURES.check("textures", cells[usize::from(args.options.size.is_none())], [0, 0])?;
    let (rules, rock) = read_texture_rules(&args.input)?;
    let textures = Textures::from_terrain(&terrain, &rules, rock, &args.options, start.as_ref())?;
    output::make_folder(&args.output)?;
    let draft = draft_textures(&args.output, &textures)?;
    let files = draft.final_paths();
    draft.commit(&reads)?;
    voice.print_line(&format!("wrote\n  {}", list_paths(&files)));
    voice.report_files(&files);
    Ok(())
}
