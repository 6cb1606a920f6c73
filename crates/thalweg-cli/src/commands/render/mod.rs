//! `render`: draws a terrain as a picture. Each view is a verb of its own.

mod map;
mod perspective;
mod side_by_side;
#[cfg(feature = "studio")]
mod studio;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use thalweg_core::{Result, Terrain};
use thalweg_export::world_folder::read_recipe;
use thalweg_io::save_picture;
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::ramps::Ramp;

use crate::args::{LoadArgs, SeaArgs, WaterArgs};
use crate::console::Reporter;
use crate::memory;
use crate::verb::{Entry, family, verb};

/// The word `render` with its views.
pub const RENDER: Entry = family("render", "Draws a terrain as a picture", VIEWS);

/// The views.
const VIEWS: &[Entry] = &[
    verb::<map::ShadeArgs>(),
    verb::<perspective::ViewArgs>(),
    verb::<side_by_side::PairArgs>(),
    verb::<side_by_side::SheetArgs>(),
    #[cfg(feature = "studio")]
    verb::<studio::StudioViewArgs>(),
    #[cfg(feature = "studio")]
    verb::<studio::NaturalViewArgs>(),
];

/// A terrain with what is drawn on it, and the picture.
#[derive(Args)]
struct LandArgs {
    /// The terrain file to read, or a folder that `build` or `drain` wrote, whose water is drawn too.
    input: PathBuf,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    output: PathBuf,
    #[command(flatten)]
    water: WaterArgs,
    /// The trees to draw: a table that `build` or `apply trees` wrote [default: the trees in the folder].
    #[arg(long, value_name = "CSV")]
    trees: Option<PathBuf>,
    #[command(flatten)]
    sea: SeaArgs,
    #[command(flatten)]
    load: LoadArgs,
}

/// Returns the colour ramp of the recipe in a world's folder; `None` for any other input.
fn read_ramp(input: &Path) -> Result<Option<&'static Ramp>> {
    Ok(read_recipe(input)?.map(|recipe| recipe.ramp))
}

/// Writes a picture and reports it.
fn finish_picture(path: &Path, picture: &Picture, voice: Reporter) -> Result<ExitCode> {
    save_picture(path, picture)?;
    voice.report_files(&[path.to_path_buf()]);
    Ok(ExitCode::SUCCESS)
}

/// Refuses views of this size, drawn one after the other, if they cannot fit into memory.
fn check_view_memory<'a>(what: &str, size: [usize; 2], terrains: impl IntoIterator<Item = &'a Terrain>) -> Result<()> {
    let [height, width] = size;
    let sizes: Vec<_> = terrains.into_iter().map(|terrain| terrain.grid.size).collect();
    let largest = sizes.iter().copied().max_by_key(|[rows, cols]| rows * cols).unwrap_or_default();
    let what = format!("{what} of {} × {} cells at {width} × {height} pixels", largest[1], largest[0]);
    // Each picture is kept until all are assembled.
    let need = memory::Need { pixel: memory::VIEW.pixel + 8 * sizes.len() as u64, ..memory::VIEW };
    need.check(&what, largest, size)
}
