//! `build`: builds a world from a recipe.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use thalweg_core::base::names::format_path;
use thalweg_core::{Error, MapPoint, Result};
use thalweg_export::export::{ExportTarget, fit_recipe};
use thalweg_export::world_folder::{Ending, begin_run, is_of_another, is_unchanged_recipe};
use thalweg_io::{LoadOptions, output};
use thalweg_sim::recipe::{Recipe, WorldPlace};
use thalweg_sim::run::Run;
use thalweg_store::BuildJob;

use crate::args::knobs::KnobArgs;
use crate::args::values::{
    SampleWord, UnitWord, four_numbers, map_point, parse_byte_count, recipe_parser, target_parser,
};
use crate::args::{RecipeArgs, RunArgs};
use crate::console::Reporter;
use crate::drive::complete_run;
use crate::job::{RunJob, as_typed, lock_folder, sample_type};
use crate::recipes::{find_recipe, recipe_file};
use crate::stores::{TILE, execute_job, is_store_name};
use crate::verb::{Group, Verb};

/// The arguments of `build`.
#[derive(Args)]
pub struct BuildArgs {
    /// The name of a preset (see `thalweg presets`) or a recipe file.
    #[arg(default_value = "alpine", value_parser = recipe_parser(), hide_possible_values = true)]
    recipe: OsString,
    #[command(flatten)]
    changes: RecipeArgs,
    /// The elevation model to start from, for a recipe that starts from one, such as the preset `aged`.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Reads the elevation model in this unit, even if the file specifies another. A file in degrees is refused in any
    /// case; project it first.
    #[arg(long, value_name = "UNIT")]
    unit: Option<UnitWord>,
    /// Builds the world at the size accepted by this program that is nearest to its number of cells, so that `export
    /// --for` need not resample it.
    #[arg(long = "for", value_name = "TARGET", value_parser = target_parser(), conflicts_with_all = ["preview", "from", "level", "rect"])]
    target: Option<String>,
    /// Builds only the coarse levels, up to the first with more than 256 cells on the long side: the same world in less
    /// detail.
    #[arg(long)]
    preview: bool,
    /// Projected coordinate system in metres, such as EPSG:32632, that georeferences the world for GIS; it does not
    /// affect the terrain. Requires --origin.
    #[arg(long, value_name = "EPSG:CODE", requires = "origin", conflicts_with = "from")]
    crs: Option<String>,
    /// Easting and northing in metres of the world's north-western corner in the coordinate system of --crs.
    #[arg(long, value_name = "X,Y", value_parser = map_point, requires = "crs", allow_hyphen_values = true)]
    origin: Option<MapPoint>,
    /// The folder to write into; a name that ends in .zarr makes a Zarr store, which may be larger than memory
    /// [default: worlds/NAME-SEED; for a preview, worlds/NAME-SEED-preview; with knobs, --set, --from, --for or
    /// --until, worlds/NAME-SEED- and six digits of the recipe's hash].
    #[arg(short, long, alias = "out", value_name = "DIR")]
    output: Option<PathBuf>,
    /// Maximum memory of the process, such as 500M or 2G, if the output is a Zarr store (-o DIR.zarr) [default: the
    /// free memory].
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    memory: Option<u64>,
    /// Number format of height.tif and the layers [default: f32].
    #[arg(long = "type", value_name = "TYPE")]
    sample: Option<SampleWord>,
    /// Zarr store (-o DIR.zarr): the level to build. Level 0 has the widest cells, and the cells of each further level
    /// are half as wide [default: the recipe's last].
    #[arg(long, value_name = "L", conflicts_with_all = ["preview", "sample", "from"])]
    level: Option<u32>,
    /// Zarr store (-o DIR.zarr): builds only this rectangle of the level: its western, northern, eastern and southern
    /// sides in metres east and south of the world's origin. An endless world requires it.
    #[arg(long, value_name = "W,N,E,S", value_parser = four_numbers, conflicts_with_all = ["preview", "sample", "from"], allow_hyphen_values = true)]
    rect: Option<[f64; 4]>,
    #[command(flatten)]
    run: RunArgs,
    // The heading of the knobs applies to all arguments after them, so they are last.
    #[command(flatten)]
    knobs: KnobArgs,
}

impl Verb for BuildArgs {
    const NAME: &'static str = "build";
    const GROUP: Group = Group::Make;
    const ABOUT: &'static str = "Builds a world from a preset or a recipe into a folder";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let asked = resolve_request(self)?;
        let is_store = is_store_name(&asked.dir);
        if let Some(name) = self.run.in_memory_only_option().filter(|_| is_store) {
            let problem = "does not apply when the output is a Zarr store: the report is always written, and running \
                           the same command again continues an interrupted run";
            return Err(Error::conflict(name, problem));
        }
        if is_store {
            let job = BuildJob::from_recipe_part(&asked.recipe, self.level, self.rect).map_err(as_typed)?;
            return execute_job(thalweg_store::Job::Build(job), &asked.dir, TILE, self.memory, voice);
        }
        let of_stores = [("--level", self.level.is_some()), ("--rect", self.rect.is_some())];
        if let Some((name, _)) = of_stores.into_iter().find(|(_, asked)| *asked) {
            return Err(Error::conflict(name, "only applies when the output is a Zarr store (-o DIR.zarr)"));
        }
        build_whole_world(self, asked, voice)
    }
}

/// Builds a whole world into its folder.
fn build_whole_world(
    args: &BuildArgs,
    BuildRequest { recipe, own_model, dir }: BuildRequest,
    voice: Reporter,
) -> Result<ExitCode> {
    // If the run cannot be started, no folder is left behind.
    let run = begin_world_run(args, recipe, own_model.then_some(dir.as_path()))?;
    voice.warn_all(&run.input().warnings);
    output::make_folder(&dir)?;
    let _lock = lock_folder(&dir, voice)?;
    // A world may be rebuilt from the recipe in its own folder if that file stays unchanged.
    let stays = |path: &PathBuf| is_unchanged_recipe(&dir, run.recipe(), path);
    let reads: Vec<PathBuf> = recipe_file(&args.recipe).into_iter().filter(|path| !stays(path)).collect();
    let ending = Ending::World { dir: dir.clone(), sample: args.sample.map(sample_type), model: own_model };
    let job = RunJob {
        units_overridden: run.input().overridden.clone(),
        ..RunJob::new(ending, &args.run, run.recipe(), &reads)?
    };
    if args.output.is_none() && is_of_another(&dir, run.recipe()) {
        let replaced = "contains another world, which this run replaces; choose another folder with -o to keep it";
        voice.warn(&format!("{} {replaced}", format_path(&dir)));
    }
    let idle = run.idle_stages();
    if !idle.is_empty() {
        let why = "these stages do not run, because no level has cells of their widths";
        voice.print_line(&format!("{why}: {}", idle.join(", ")));
    }
    complete_run(run, job, voice)
}

/// Starts the run. If the folder `own` is given, a preset's elevation model will be written there, next to the world.
fn begin_world_run(args: &BuildArgs, recipe: Recipe, own: Option<&Path>) -> Result<Run> {
    let options = LoadOptions { unit: args.unit.map(UnitWord::to_unit), ..LoadOptions::default() };
    match (recipe.dem(), own) {
        (None, _) => {
            recipe.check_memory(&recipe.last_grid()?)?;
            Run::new(recipe)
        }
        (Some(_), Some(dir)) => begin_run(recipe, dir, &options),
        (Some(model), None) => {
            let model = recipe.folder.join(model);
            Run::from_elevation_file(recipe, &model, &options)
        }
    }
}

/// The recipe to build and the folder for its world.
struct BuildRequest {
    recipe: Recipe,
    /// True if the world starts with a preset's elevation model, which is written next to the world.
    own_model: bool,
    dir: PathBuf,
}

/// Determines the recipe and the folder from the command line.
fn resolve_request(args: &BuildArgs) -> Result<BuildRequest> {
    let (mut recipe, is_preset) = find_recipe(&args.recipe)?;
    let own_model = is_preset && recipe.dem().is_some() && args.from.is_none();
    apply_overrides(&mut recipe, args)?;
    let by_itself = || default_folder(args, &recipe);
    let dir = args.output.clone().map_or_else(by_itself, Ok)?;
    if args.preview {
        if !recipe.has_levels() {
            let problem = "only applies to a recipe that is built in levels (`coarsest`); use --cells N to build any \
                           recipe coarser";
            return Err(Error::conflict("--preview", problem));
        }
        recipe.cells = recipe.preview_cells()?;
    }
    Ok(BuildRequest { recipe, own_model, dir })
}

/// Applies the command line's settings to a recipe.
fn apply_overrides(recipe: &mut Recipe, args: &BuildArgs) -> Result<()> {
    if let Some(from) = &args.from {
        let Some(dem) = recipe.dem_mut() else {
            let problem = "only applies to a recipe that begins with an elevation model, such as `aged`";
            return Err(Error::conflict("--from", problem));
        };
        // Report a missing file before an unknown format of its extension.
        std::fs::metadata(from).map_err(Error::io(from, "read"))?;
        *dem = output::absolute_path(from)?;
    }
    if let (Some(crs), Some(corner)) = (&args.crs, args.origin) {
        recipe.set_place(WorldPlace::new(crs, corner)?)?;
    }
    args.changes.apply_to(recipe, &args.knobs)?;
    args.target.as_deref().map_or(Ok(()), |target| fit_recipe(recipe, ExportTarget::find(target)?).map_err(as_typed))
}

/// The default folder of a world: `worlds/` with the recipe's name and the seed. If the world differs from the
/// recipe's, six digits of its hash are appended, so that every world has a folder of its own. A preview has a
/// separate folder.
fn default_folder(args: &BuildArgs, recipe: &Recipe) -> Result<PathBuf> {
    let mut name = OsString::from("worlds/");
    name.push(Path::new(&args.recipe).file_stem().unwrap_or("world".as_ref()));
    name.push(format!("-{}", recipe.seed));
    // Two commands with different settings must not write into the same folder.
    let RecipeArgs { until, set, .. } = &args.changes;
    let is_changed = args.from.is_some() || until.is_some() || args.target.is_some() || !set.is_empty();
    if is_changed || !args.knobs.collect_settings()?.is_empty() {
        name.push(format!("-{:.6}", recipe.hash()));
    }
    if args.preview {
        name.push("-preview");
    }
    Ok(name.into())
}
