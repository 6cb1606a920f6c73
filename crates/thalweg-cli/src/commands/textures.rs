//! `textures`: writes the ground cover of a terrain for engines and renderers.

use thalweg_core::Result;
use thalweg_export::world_folder::{reads_of, rules_of};
use thalweg_io::apart::apart;
use thalweg_io::{check_textures, draft_textures, output, texture_files};
use thalweg_render::products::textures::Textures;

use crate::args;
use crate::console::{Voice, list};
use crate::memory;
use crate::terrains::input;

/// Writes weights of ground cover, albedo and maps into a folder.
///
/// # Errors
/// Returns an error if an input is unusable, if the folder cannot be written or contains files that belong to another
/// report, or if there is too little memory.
pub fn textures(args: &args::Textures, voice: Voice) -> Result<()> {
    check_textures(&args.output)?;
    let reads = [reads_of(&args.input), args.start.as_deref().map(reads_of).unwrap_or_default()].concat();
    apart(&reads, &texture_files(&args.output))?;
    let terrain = input(&args.input, &args.load, args.sea_level, voice)?;
    let start = args.start.as_deref().map(|path| input(path, &args.load, None, voice)).transpose()?;
    let cells = [terrain.grid.size.map(|n| n.max(args.options.size.unwrap_or(0))), terrain.grid.size];
    memory::TEXTURES.check("textures", cells[usize::from(args.options.size.is_none())], [0, 0])?;
    let (rules, rock) = rules_of(&args.input)?;
    let textures = Textures::of(&terrain, &rules, rock, &args.options, start.as_ref())?;
    output::make_folder(&args.output)?;
    let draft = draft_textures(&args.output, &textures)?;
    let files = draft.files();
    draft.commit(&reads)?;
    voice.say(&format!("wrote\n  {}", list(&files)));
    voice.wrote(&files);
    Ok(())
}
