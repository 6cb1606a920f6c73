//! [`Job`]: what a run is for. It travels in the checkpoint, so that `resume` ends as the first command would have.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thalweg::forest::Forest;
use thalweg::io::SampleType;
use thalweg::io::atomic::atomic;
use thalweg::io::terrain::{SaveOptions, save, save_layer};
use thalweg::io::trees::save_trees;
use thalweg::pictures::shade::ShadeOptions;
use thalweg::recipe::Recipe;
use thalweg::run::Run;
use thalweg::terrain::{Cells, Terrain};
use thalweg::{Error, Result};

use crate::args::{RunArgs, Sample};
use crate::frames::Frames;
use crate::output::{self, absolute};
use crate::pictures::{MAP, shaded};
use crate::voice::Voice;
use crate::{presets, water};

/// What becomes of a finished run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Ending {
    /// A whole folder.
    World {
        /// The folder.
        dir: PathBuf,
    },
    /// One file of heights, and maybe a folder of other layers.
    File {
        /// The file of heights.
        output: PathBuf,
        /// Type of the samples, where the format leaves a choice.
        sample: Option<SampleType>,
        /// The value that stands for no data, if the input had one.
        nodata: Option<f64>,
        /// The folder of other layers.
        layers: Option<PathBuf>,
    },
}

/// A run's ending, report and checkpoint. All paths are absolute, so that it may be resumed from any folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// What becomes of the terrain.
    pub ending: Ending,
    /// Where the report goes (a world has one of its own besides).
    pub report: Option<PathBuf>,
    /// Where the run is saved.
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
}

impl Job {
    /// The job of a command; refused here, before the work, if something cannot be written.
    ///
    /// # Errors
    /// When a folder is missing or may not be written, an ending names no format, or frames are wanted of no stage.
    pub fn new(ending: Ending, args: &RunArgs, recipe: &Recipe) -> Result<Self> {
        let by_itself = match &ending {
            Ending::World { dir } => dir.join("checkpoint.thalweg"),
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
        };
        job.check()?;
        Ok(job)
    }

    /// Whether all that will be written can be.
    ///
    /// # Errors
    /// As [`Job::new`].
    pub fn check(&self) -> Result<()> {
        match &self.ending {
            Ending::World { dir } => output::make_folder(dir)?,
            Ending::File { output, sample, layers, .. } => {
                output::check_terrain(output, *sample)?;
                layers.as_deref().map_or(Ok(()), output::make_folder)?;
            }
        }
        self.frames.as_ref().map_or(Ok(()), Frames::check)?;
        self.report.as_deref().map_or(Ok(()), output::check)?;
        output::check(&self.checkpoint)
    }

    /// As it stands in a checkpoint.
    pub fn note(&self) -> Value {
        json!(self)
    }

    /// Writes what the run was for, and the report.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(&self, run: &Run, seconds: f64, voice: Voice) -> Result<()> {
        let mut lakes = None;
        let mut files = match &self.ending {
            Ending::World { dir } => {
                let mut files = world(run, dir, voice)?;
                let water = water::write(dir, run.terrain(), voice)?;
                files.extend(water.files);
                lakes = water.lakes;
                files
            }
            Ending::File { output, sample, nodata, layers } => {
                let terrain = run.terrain();
                let options = SaveOptions { sample: *sample, nodata: *nodata, ..save_options(run) };
                voice.warn_all(save(output, terrain, &options)?);
                let mut files = vec![output.clone()];
                if let Some(folder) = layers {
                    files.extend(save_layers(folder, terrain)?);
                }
                files.extend(trees(&output.with_extension(""), "_trees", terrain, voice)?);
                files
            }
        };
        if let Some(frames) = &self.frames {
            files.extend(frames.finish()?);
        }
        let mut report = run.report();
        let reports: Vec<PathBuf> = match &self.ending {
            Ending::World { dir } => Some(dir.join("report.json")).into_iter().chain(self.report.clone()).collect(),
            Ending::File { .. } => self.report.iter().cloned().collect(),
        };
        files.extend(reports.iter().cloned());
        if let Some(lakes) = lakes {
            report["lakes"] = lakes;
        }
        if !self.units_overridden.is_empty() {
            report["units_overridden"] = json!(self.units_overridden);
        }
        report["seconds"] = seconds.into();
        report["threads"] = rayon::current_num_threads().into();
        report["files"] = json!(files);
        for path in &reports {
            write_text(path, &format!("{report:#}\n"))?;
        }
        if !self.keep && self.checkpoint.is_file() {
            std::fs::remove_file(&self.checkpoint).map_err(Error::io(&self.checkpoint, "remove"))?;
        }
        let here = std::env::current_dir().unwrap_or_default();
        let shown = |file: &PathBuf| file.strip_prefix(&here).unwrap_or(file).display().to_string();
        let names: Vec<String> = files.iter().map(shown).collect();
        voice.say(&format!("wrote in {seconds:.1} s:\n  {}", names.join("\n  ")));
        voice.event(&json!({"event": "result", "files": files, "report": report}));
        Ok(())
    }
}

impl Ending {
    fn absolute(self) -> Result<Self> {
        Ok(match self {
            Self::World { dir } => Self::World { dir: absolute(&dir)? },
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
    let job = Job {
        ending: Ending::World { dir },
        report: None,
        checkpoint,
        keep: true,
        every: None,
        frames: None,
        units_overridden: Vec::new(),
    };
    job.check()?;
    let seconds = run.reports().iter().map(|report| report.seconds).sum();
    job.finish(run, seconds, Voice { quiet: true, json: false })
}

/// Writes a text file whole.
///
/// # Errors
/// When the system does not let us.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    atomic(path, |file| file.write_all(text.as_bytes()).map_err(Error::io(path, "write")))
}

/// The library's name of a type.
pub fn sample_type(sample: Sample) -> SampleType {
    match sample {
        Sample::F32 => SampleType::F32,
        Sample::F64 => SampleType::F64,
    }
}

/// All files of a world.
fn world(run: &Run, dir: &Path, voice: Voice) -> Result<Vec<PathBuf>> {
    let terrain = run.terrain();
    let mut files = Vec::new();
    for name in ["height.tif", "height.png"] {
        let path = dir.join(name);
        voice.warn_all(save(&path, terrain, &save_options(run))?);
        files.push(path);
    }
    files.extend(save_layers(dir, terrain)?);
    files.extend(trees(&dir.join("trees"), "", terrain, voice)?);
    let path = dir.join("shaded.png");
    let options = ShadeOptions { ramp: run.recipe().ramp, max_size: Some(MAP), ..ShadeOptions::default() };
    shaded(terrain, options, &path)?;
    files.push(path);
    // The folder it is written to is not the one it was read from.
    let recipe = presets::kept(run.recipe().within(dir)?, dir)?;
    files.extend(presets::model_of(&recipe).map(|model| dir.join(model)));
    let path = dir.join("recipe.toml");
    write_text(&path, &recipe.to_toml())?;
    files.push(path);
    Ok(files)
}

/// Every layer but the ground, each as a TIFF of its name.
fn save_layers(folder: &Path, terrain: &Terrain) -> Result<Vec<PathBuf>> {
    let loose = terrain.loose.clone().map(|field| ("loose", Cells::Height(field)));
    let mut files = Vec::new();
    let mut write = |name: &str, cells: &Cells| {
        let path = folder.join(format!("{name}.tif"));
        save_layer(&path, terrain, name, cells)?;
        files.push(path);
        Ok::<_, Error>(())
    };
    loose.iter().try_for_each(|(name, cells)| write(name, cells))?;
    terrain.layers.iter().try_for_each(|(name, layer)| write(name, &layer.cells))?;
    Ok(files)
}

/// The trees, if there are any, as a table and as points beside it.
fn trees(stem: &Path, suffix: &str, terrain: &Terrain, voice: Voice) -> Result<Vec<PathBuf>> {
    let forest = Forest::read(terrain)?;
    if forest.trees().is_empty() {
        return Ok(Vec::new());
    }
    let files = ["csv", "geojson"].map(|ending| with_suffix(stem, &format!("{suffix}.{ending}")));
    for path in &files {
        voice.warn_all(save_trees(path, forest.trees(), terrain)?);
    }
    Ok(files.into())
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
