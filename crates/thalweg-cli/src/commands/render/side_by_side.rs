//! `render pair` and `render sheet`: draw terrains side by side.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use thalweg_core::base::names::format_path;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_core::{Error, Result, Terrain};
use thalweg_io::output;
use thalweg_render::pictures::drawn_land::DrawnLand;
use thalweg_render::pictures::perspective::{PairOptions, ViewOptions, draw_comparison};
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::sheet::{SheetOptions, SheetTerrain, draw_sheet};

use super::{check_view_memory, finish_picture, read_ramp};
use crate::args::declared::{OperationArgs, typed_flag};
use crate::args::{LoadArgs, SeaArgs, WaterArgs};
use crate::console::Reporter;
use crate::terrains::{check_distinct_output, read_terrain, read_trees};
use crate::verb::{Group, Verb};

/// The arguments of `render pair`.
#[derive(Args)]
pub struct PairArgs {
    /// The terrain on the left: a file, or a folder that `build` wrote.
    before: PathBuf,
    /// The terrain on the right, of the same size.
    after: PathBuf,
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    options: OperationArgs<PairOptions>,
}

/// The arguments of `render sheet`.
#[derive(Args)]
pub struct SheetArgs {
    /// The terrains from left to right, files or folders that `build` wrote.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    options: OperationArgs<SheetOptions>,
}

/// The picture, and how the terrains are read.
#[derive(Args)]
struct FileArgs {
    #[command(flatten)]
    water: WaterArgs,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    output: PathBuf,
    #[command(flatten)]
    sea: SeaArgs,
    #[command(flatten)]
    load: LoadArgs,
}

impl Verb for PairArgs {
    const NAME: &'static str = "pair";
    const GROUP: Group = Group::Draw;
    const ABOUT: &'static str = "Draws two terrains in perspective, side by side: before and after";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let inputs = [self.before.clone(), self.after.clone()];
        let check = |terrains: &[Terrain]| check_same_size(&inputs, terrains);
        let draw = |lands: &[DrawnLand<'_>], options: &ViewOptions| draw_comparison(lands[0], lands[1], options);
        draw_terrains(&inputs, &self.files, self.options.view_options(), check, draw, voice)
    }
}

impl Verb for SheetArgs {
    const NAME: &'static str = "sheet";
    const GROUP: Group = Group::Draw;
    const ABOUT: &'static str = "Draws a sheet of terrains: a map and a perspective view of each, under its caption";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        self.options.check_form(WorkForm::Folder, typed_flag)?;
        let names: Vec<String> = self.inputs.iter().map(|path| name_terrain(path)).collect();
        let captions = self.options.choose_captions(&names)?;
        let draw = |lands: &[DrawnLand<'_>], options: &ViewOptions| {
            let shown = lands.iter().zip(&captions).map(|(land, caption)| SheetTerrain { land: *land, caption });
            draw_sheet(&shown.collect::<Vec<_>>(), options)
        };
        draw_terrains(&self.inputs, &self.files, self.options.view_options(), |_| Ok(()), draw, voice)
    }
}

/// Reads the terrains, checks them, and draws them.
fn draw_terrains(
    inputs: &[PathBuf],
    args: &FileArgs,
    options: ViewOptions,
    check: impl FnOnce(&[Terrain]) -> Result<()>,
    draw: impl FnOnce(&[DrawnLand<'_>], &ViewOptions) -> Result<Picture>,
    voice: Reporter,
) -> Result<ExitCode> {
    output::check_ending(&args.output, &["png"])?;
    check_distinct_output(inputs, &args.water, None, &args.output)?;
    options.check()?;
    let terrains = inputs.iter().map(|path| read_terrain(path, &args.load, args.sea.sea_level, voice));
    let mut terrains = terrains.collect::<Result<Vec<_>>>()?;
    check(&terrains)?;
    check_view_memory("views", options.camera.size, &terrains)?;
    if let Some(last) = terrains.last_mut() {
        args.water.insert_water(last)?;
    }
    let look = options.look.with_default_ramp(read_ramp(&inputs[0])?);
    let options = ViewOptions { look, ..options };
    let woods = inputs.iter().zip(&terrains).map(|(path, terrain)| read_trees(path, None, terrain, voice));
    let woods = woods.collect::<Result<Vec<_>>>()?;
    let lands = terrains.iter().zip(&woods);
    let lands =
        lands.map(|(terrain, trees)| DrawnLand { water: args.water.select_water(terrain), trees, ..terrain.into() });
    finish_picture(&args.output, &draw(&lands.collect::<Vec<_>>(), &options)?, voice)
}

/// Refuses two terrains of different sizes.
fn check_same_size(inputs: &[PathBuf], terrains: &[Terrain]) -> Result<()> {
    match terrains {
        [before, after] if before.grid.size != after.grid.size => {
            let size = |terrain: &Terrain| format!("{} × {}", terrain.grid.cols(), terrain.grid.rows());
            let allowed = format!("{} (columns × rows of {})", size(before), format_path(&inputs[0]));
            Err(Error::invalid_value(format_path(&inputs[1]), size(after), allowed))
        }
        _ => Ok(()),
    }
}

/// Returns the name of a terrain, which is its caption if none is given.
fn name_terrain(path: &Path) -> String {
    let part = if path.is_dir() { path.file_name() } else { path.file_stem() };
    part.map_or_else(|| format_path(path), |part| format_path(Path::new(part)))
}
