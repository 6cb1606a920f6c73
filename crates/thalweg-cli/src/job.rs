//! [`Job`]: what a run is for. It travels in the checkpoint, so that `resume` ends as the first command would have.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thalweg::io::apart::apart;
use thalweg::io::staging::{JOURNAL, LAYERS, Staging, list as list_of};
use thalweg::io::terrain::{SaveOptions, save, save_layer_as};
use thalweg::io::trees::save_trees;
use thalweg::io::{SampleType, save_map, write_text};
use thalweg::pictures::shade::{SCREEN, ShadeOptions};
use thalweg::process::forest::{Forest, TREES};
use thalweg::recipe::Recipe;
use thalweg::run::Run;
use thalweg::run::checkpoint::{Glance, glance, is_checkpoint};
use thalweg::terrain::{Cells, LOOSE, Terrain};
use thalweg::{Error, Result, base::names};

use crate::args::{RunArgs, Sample};
use crate::console::{Voice, list, texts};
use crate::frames::Frames;
use crate::presets;
use crate::rescue::{ending, naming};
use thalweg::io::output::{self, absolute};
use thalweg::io::water::save_water;

/// What becomes of a finished run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Ending {
    /// A whole folder.
    World {
        /// The folder.
        #[serde(with = "names::path")]
        dir: PathBuf,
        /// Type of the samples of heights and layers; 32-bit floats if not said.
        #[serde(default)]
        sample: Option<SampleType>,
        /// Whether a preset's elevation model, with which it began, is laid beside it.
        #[serde(default)]
        model: bool,
    },
    /// One file of heights, and maybe a folder of other layers.
    File {
        /// The file of heights.
        #[serde(with = "names::path")]
        output: PathBuf,
        /// Type of the samples, where the format leaves a choice.
        sample: Option<SampleType>,
        /// The value that stands for no data, if the input had one.
        nodata: Option<f64>,
        /// The folder of other layers.
        #[serde(with = "names::path_option", default)]
        layers: Option<PathBuf>,
    },
}

/// A run's ending, report and checkpoint. All paths are absolute, so that it may be resumed from any folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// What becomes of the terrain.
    pub ending: Ending,
    /// Where the report goes (a world has one of its own besides).
    #[serde(with = "names::path_option", default)]
    pub report: Option<PathBuf>,
    /// Where the run is saved.
    #[serde(with = "names::path")]
    pub checkpoint: PathBuf,
    /// Whether the user named the checkpoint; if not, it goes when the run is done.
    pub keep: bool,
    /// Seconds between two checkpoints, if there are any but the one after Ctrl-C.
    pub every: Option<f64>,
    /// Pictures drawn under way.
    #[serde(default)]
    pub frames: Option<Frames>,
    /// What the elevation model says of its units that was overridden.
    #[serde(default)]
    pub units_overridden: Vec<String>,
    /// What the command has read besides what the recipe names, as text: it stays, wherever it lies.
    #[serde(default)]
    pub reads: Vec<String>,
}

impl Job {
    /// The job of a command, which reads `reads` besides what its recipe names; refused here, before the work, if something
    /// cannot be written, is read or written otherwise, or if a run was interrupted whose checkpoint this one would replace.
    ///
    /// # Errors
    /// When a folder is missing or may not be written, an ending names no format, or frames are wanted of no stage.
    pub fn new(ending: Ending, args: &RunArgs, recipe: &Recipe, reads: &[PathBuf]) -> Result<Self> {
        let by_itself = match &ending {
            Ending::World { dir, .. } => dir.join("checkpoint.thalweg"),
            Ending::File { output, .. } => with_suffix(output, ".checkpoint"),
        };
        let named = args.checkpoint.is_some();
        let job = Self {
            ending: ending.absolute()?,
            report: args.report.as_deref().map(absolute).transpose()?,
            checkpoint: absolute(args.checkpoint.as_deref().unwrap_or(&by_itself))?,
            keep: named,
            every: args.every.or(named.then_some(300.0)),
            frames: Frames::new(&args.frames, recipe)?,
            units_overridden: Vec::new(),
            reads: reads.iter().map(|path| Ok(names::to_text(&absolute(path)?))).collect::<Result<_>>()?,
        };
        job.check_apart(recipe, reads)?;
        job.check(recipe)?;
        pending(&job.checkpoint, args.fresh, matches!(job.ending, Ending::World { .. }))?;
        Ok(job)
    }

    /// Whether all that will be written can be.
    ///
    /// # Errors
    /// As [`Job::new`].
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        match &self.ending {
            Ending::World { dir, .. } => {
                output::make_folder(dir)?;
                let writes = self.writes(recipe)?;
                output::check_names(dir, REPORT, &names_in(dir, &writes))?;
            }
            Ending::File { output, sample, layers, .. } => {
                output::check_terrain(output, *sample)?;
                if let Some(folder) = layers {
                    output::make_folder(folder)?;
                    output::check_names(folder, LAYERS, &names_in(folder, &layers_in(folder, recipe)))?;
                }
                // The longest of the names that are made of it.
                if recipe.stages.iter().any(|stage| stage.model.about().tables.contains(&TREES)) {
                    output::check(&trees_beside(output)[1])?;
                }
            }
        }
        self.frames.as_ref().map_or(Ok(()), |frames| frames.check(recipe))?;
        self.report.as_deref().map_or(Ok(()), output::check)?;
        output::check(&self.checkpoint)
    }

    /// Whether nothing is written that is read, by the recipe or besides, or written otherwise.
    ///
    /// # Errors
    /// When something is.
    pub fn check_apart(&self, recipe: &Recipe, reads: &[PathBuf]) -> Result<()> {
        let mut reads = [reads, &recipe.reads()].concat();
        if let Ending::World { dir, model: true, .. } = &self.ending {
            // It is not read from there, but laid there.
            reads.retain(|path| *path != dir.join(presets::MODEL_NAME));
        }
        if let Some(frames) = &self.frames
            && let Some(frame) = reads.iter().find(|path| frames.may_be(path))
        {
            return Err(Error::file(
                frame,
                "is read, and a frame of that name would replace it; name another --frames",
            ));
        }
        apart(&reads, &self.writes(recipe)?)
    }

    /// Every file that may be written.
    fn writes(&self, recipe: &Recipe) -> Result<Vec<PathBuf>> {
        let mut files = match &self.ending {
            Ending::World { dir, model, .. } => {
                let own = model.then_some(presets::MODEL_NAME);
                let mut files: Vec<PathBuf> = FILES.into_iter().chain(own).map(|name| dir.join(name)).collect();
                files.extend(layers_in(dir, recipe).into_iter().filter(|path| !path.ends_with("wetness.tif")));
                files
            }
            Ending::File { output, sample, layers: folder, .. } => {
                let mut files = output::terrain(output, *sample)?;
                if let Some(folder) = folder {
                    files.extend(layers_in(folder, recipe));
                    files.extend([LAYERS, JOURNAL].map(|name| folder.join(name)));
                }
                if recipe.stages.iter().any(|stage| stage.model.about().tables.contains(&TREES)) {
                    files.extend(trees_beside(output));
                }
                files
            }
        };
        files.extend(self.frames.as_ref().and_then(|frames| frames.animation().map(Path::to_path_buf)));
        files.extend(self.report.clone());
        files.push(self.checkpoint.clone());
        Ok(files)
    }

    /// As it stands in a checkpoint.
    pub fn note(&self) -> Value {
        json!(self)
    }

    /// Writes what the run was for, and the report: all together, or nothing.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(&self, run: &Run, seconds: f64, voice: Voice) -> Result<()> {
        let mut staging = Staging::new();
        let mut said = Vec::new();
        let written = self.write(run, seconds, &mut staging, &mut said);
        let Done { files, reports, whole, report } = written.map_err(|error| staging.error(error))?;
        voice.warn_all(&staging.said(said));
        // From here on the run is done, whoever calls, and however often.
        let _ending = ending();
        let mut naming = naming();
        let reads = self.reads.iter().map(|text| names::from_text(text));
        let keep: Vec<PathBuf> = run.recipe().reads().into_iter().chain(reads).chain(files.clone()).collect();
        staging.commit(&reports, &whole, &keep)?;
        *naming = true;
        if self.keep {
            // It holds the finished run: nobody takes it for one that waits.
            if let Err(error) = run.save(&self.checkpoint, &self.note()) {
                voice.warn(&format!("the checkpoint is of an earlier step: {error}"));
            }
        } else if is_checkpoint(&self.checkpoint)
            && let Err(error) = std::fs::remove_file(&self.checkpoint)
        {
            voice.warn(&Error::io(&self.checkpoint, "remove")(error).to_string());
        }
        voice.say(&format!("wrote in {seconds:.1} s:\n  {}", list(&files)));
        voice.event(&json!({"event": "result", "files": texts(&files), "report": report}));
        Ok(())
    }

    /// Writes all files to where they lie until they are whole.
    fn write(&self, run: &Run, seconds: f64, staging: &mut Staging, said: &mut Vec<String>) -> Result<Done> {
        let terrain = run.terrain();
        let mut lakes = None;
        let mut lists = Vec::new();
        let mut files = match &self.ending {
            Ending::World { dir, sample, model } => {
                let at = staging.folder(dir)?;
                let mut files = world(run, dir, &at, *sample, *model, said)?;
                let (water, sums) = save_water(&at, terrain)?;
                said.extend(water.said);
                files.extend(water.files);
                lakes = sums;
                files
            }
            Ending::File { output, sample, nodata, layers } => {
                let path = staging.place(output)?;
                let options = SaveOptions { sample: *sample, nodata: *nodata, ..save_options(run) };
                said.extend(save(&path, terrain, &options)?);
                let mut files = vec![path.clone()];
                if let Some(folder) = layers {
                    let at = staging.folder(folder)?;
                    let layers = save_layers(&at, terrain, *sample)?;
                    write_text(&at.join(LAYERS), &list_of(LAYERS, &run.recipe().hash(), names_in(&at, &layers)))?;
                    lists.push(folder.join(LAYERS));
                    files.extend(layers);
                }
                files.extend(trees(&path.with_extension(""), "_trees", terrain, said)?);
                files
            }
        };
        if let Some(frames) = &self.frames
            && let Some(animation) = frames.animation()
        {
            let path = staging.place(animation)?;
            frames.finish(&path)?;
            files.push(path);
        }
        let mut files: Vec<PathBuf> = files.iter().map(|file| staging.target(file)).collect();
        let own = match &self.ending {
            Ending::World { dir, .. } => Some(dir.join(REPORT)),
            Ending::File { .. } => None,
        };
        // That of the world comes last: it says that all is there.
        let reports: Vec<PathBuf> = self.report.iter().cloned().chain(own).collect();
        files.extend(reports.iter().cloned());
        let mut report = run.report();
        if let Some(lakes) = lakes {
            report["lakes"] = json!(lakes);
        }
        if !self.units_overridden.is_empty() {
            report["units_overridden"] = json!(self.units_overridden);
        }
        report["seconds"] = seconds.into();
        report["threads"] = rayon::current_num_threads().into();
        report["files"] = json!(texts(&files));
        for path in &reports {
            write_text(&staging.place(path)?, &format!("{report:#}\n"))?;
        }
        let whole = match &self.ending {
            Ending::World { dir, .. } => reports.iter().filter(|path| path.parent() == Some(dir)).cloned().collect(),
            Ending::File { .. } => lists.clone(),
        };
        Ok(Done { files, reports: [lists, reports].concat(), whole, report })
    }
}

/// What was written: all files, those among them that speak for the others, and what these say.
struct Done {
    files: Vec<PathBuf>,
    reports: Vec<PathBuf>,
    /// Those of the reports that speak for all that a run has left in their folder.
    whole: Vec<PathBuf>,
    report: Value,
}

/// The layers that a recipe's run may leave, as files in a folder.
fn layers_in(folder: &Path, recipe: &Recipe) -> Vec<PathBuf> {
    let given = recipe.stages.iter().flat_map(|stage| stage.layers.keys().map(String::as_str));
    let made = recipe.stages.iter().flat_map(|stage| stage.model.about().writes).map(|spec| spec.name);
    let layers: BTreeSet<&str> = given.chain(made).chain([LOOSE.name]).collect();
    layers.iter().map(|name| folder.join(format!("{name}.tif"))).collect()
}

/// The names of those among the files that lie in a folder.
fn names_in(folder: &Path, files: &[PathBuf]) -> Vec<String> {
    let here = files.iter().filter(|path| path.parent() == Some(folder));
    here.filter_map(|path| Some(path.file_name()?.to_str()?.to_string())).collect()
}

/// A world's report.
const REPORT: &str = "report.json";

/// The files that a world may have beside its layers.
const FILES: [&str; 16] = [
    "height.tif",
    "height.png",
    "height.png.json",
    "shaded.png",
    "recipe.toml",
    REPORT,
    "trees.csv",
    "trees.geojson",
    "lakes.geojson",
    "lakes.fgb",
    "lakes.csv",
    "rivers.geojson",
    "rivers.fgb",
    "wetness.tif",
    ".lock",
    JOURNAL,
];

/// Refuses to begin where an interrupted run has left its checkpoint; a `fresh` run gives it up. One that a finished run was asked
/// to leave is no hindrance.
fn pending(path: &Path, fresh: bool, is_world: bool) -> Result<()> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    if !is_checkpoint(path) {
        return Err(Error::file(path, "is no checkpoint, and will not be made one; name another --checkpoint"));
    }
    let far = match glance(path) {
        Ok(Glance { steps: Some([done, all]), .. }) if done >= all => return Ok(()),
        _ if fresh => return std::fs::remove_file(path).map_err(Error::io(path, "remove")),
        Ok(Glance { name, seed, steps: Some([done, all]) }) => {
            format!("the checkpoint of a run of {name}, seed {seed}, that stopped after {done} of {all} steps")
        }
        Ok(Glance { name, steps: None, .. }) => format!("the checkpoint of a run of {name}"),
        Err(_) => "a checkpoint, but a damaged one".to_string(),
    };
    let other = if is_world { "--out" } else { "-o" };
    let resume = names::quoted(path);
    let ways =
        format!("go on with `thalweg resume {resume}`, give it up with --fresh, or write elsewhere with {other}");
    Err(Error::file(path, format!("is {far}; {ways}")))
}

impl Ending {
    fn absolute(self) -> Result<Self> {
        Ok(match self {
            Self::World { dir, sample, model } => Self::World { dir: absolute(&dir)?, sample, model },
            Self::File { output, sample, nodata, layers } => Self::File {
                output: absolute(&output)?,
                sample,
                nodata,
                layers: layers.as_deref().map(absolute).transpose()?,
            },
        })
    }
}

/// Writes a run's world into a folder, as `build` does.
///
/// # Errors
/// When a file cannot be written.
#[cfg(feature = "studio")]
pub fn export(run: &Run, dir: &Path) -> Result<()> {
    let dir = absolute(dir)?;
    let checkpoint = dir.join("checkpoint.thalweg");
    let ending = Ending::World { dir, sample: None, model: false };
    let units_overridden = Vec::new();
    let reads = Vec::new();
    let job = Job { ending, report: None, checkpoint, keep: false, every: None, frames: None, units_overridden, reads };
    job.check_apart(run.recipe(), &[])?;
    job.check(run.recipe())?;
    let seconds = run.reports().iter().map(|report| report.seconds).sum();
    job.finish(run, seconds, Voice { quiet: true, json: false })
}

/// The library's name of a type.
pub fn sample_type(sample: Sample) -> SampleType {
    match sample {
        Sample::F32 => SampleType::F32,
        Sample::F64 => SampleType::F64,
    }
}

/// All files of a world in `dir`, written `at` another place for the time being.
fn world(
    run: &Run,
    dir: &Path,
    at: &Path,
    sample: Option<SampleType>,
    model: bool,
    said: &mut Vec<String>,
) -> Result<Vec<PathBuf>> {
    let terrain = run.terrain();
    let mut files = Vec::new();
    // A picture's samples are what a picture holds.
    for (name, sample) in [("height.tif", sample), ("height.png", None)] {
        let path = at.join(name);
        said.extend(save(&path, terrain, &SaveOptions { sample, ..save_options(run) })?);
        files.push(path);
    }
    files.extend(save_layers(at, terrain, sample)?);
    files.extend(trees(&at.join("trees"), "", terrain, said)?);
    let path = at.join("shaded.png");
    let options = ShadeOptions { ramp: run.recipe().ramp, max_size: Some(SCREEN), ..ShadeOptions::default() };
    save_map(&path, terrain, options)?;
    files.push(path);
    // The folder it is written to is not the one it was read from.
    let recipe = presets::kept(run.recipe().within(dir)?, at)?;
    let recipe = if model { presets::laid(recipe, at)? } else { recipe };
    files.extend(presets::model_of(&recipe).map(|model| at.join(model)));
    let path = at.join("recipe.toml");
    write_text(&path, &recipe.to_toml())?;
    files.push(path);
    Ok(files)
}

/// Every layer but the ground, each as a TIFF of its name.
fn save_layers(folder: &Path, terrain: &Terrain, sample: Option<SampleType>) -> Result<Vec<PathBuf>> {
    let loose = terrain.loose.clone().map(|field| (LOOSE.name, Cells::Height(field)));
    let mut files = Vec::new();
    let mut write = |name: &str, cells: &Cells| {
        let path = folder.join(format!("{name}.tif"));
        save_layer_as(&path, terrain, name, cells, sample)?;
        files.push(path);
        Ok::<_, Error>(())
    };
    loose.iter().try_for_each(|(name, cells)| write(name, cells))?;
    terrain.layers.iter().try_for_each(|(name, layer)| write(name, &layer.cells))?;
    Ok(files)
}

/// The trees, if there are any, as a table and as points beside it.
fn trees(stem: &Path, suffix: &str, terrain: &Terrain, said: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    let forest = Forest::read(terrain)?;
    if forest.trees().is_empty() {
        return Ok(Vec::new());
    }
    let files = ["csv", "geojson"].map(|ending| with_suffix(stem, &format!("{suffix}.{ending}")));
    for path in &files {
        said.extend(save_trees(path, forest.trees(), terrain)?);
    }
    Ok(files.into())
}

/// Where the trees of a file's terrain go.
fn trees_beside(output: &Path) -> [PathBuf; 2] {
    ["csv", "geojson"].map(|ending| with_suffix(&output.with_extension(""), &format!("_trees.{ending}")))
}

fn save_options(run: &Run) -> SaveOptions {
    let recipe = run.recipe();
    SaveOptions { seed: Some(recipe.seed), recipe_hash: Some(recipe.hash()), ..SaveOptions::default() }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    name.into()
}
