//! [`States`]: the heights of a run under way, as GeoTIFFs with a table of their times.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use thalweg_core::base::names;
use thalweg_core::{Error, Grid, Height, Result};
use thalweg_io::apart::same;
use thalweg_io::output::{self, absolute};
use thalweg_io::staging::{announce, listed};
use thalweg_io::{SampleType, SaveOptions, atomic, save};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::{Run, RunProgress};

/// The table: a row to each state.
const TABLE: &str = "states.csv";

/// Says in their folder which states are one run's.
const LIST: &str = ".thalweg-states.json";

/// States that the list names at first.
const FEW: u32 = 64;

/// How often a state is kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateEvery {
    /// After so many steps of a stage, 1 or more, and after its last one.
    Steps(u32),
    /// After the first step that reaches a multiple of so many simulated years, more than 0, and at the end.
    Years(f64),
}

impl FromStr for StateEvery {
    type Err = Error;

    /// `20` are steps, `5000y` are years.
    fn from_str(text: &str) -> Result<Self> {
        let found = match text.trim().strip_suffix('y') {
            Some(years) => years.trim().parse().ok().filter(|y: &f64| *y > 0.0 && *y <= 1e12).map(Self::Years),
            None => text.trim().parse().ok().filter(|steps| *steps > 0).map(Self::Steps),
        };
        found.ok_or_else(|| Error::value("states", text, "a number of steps such as 20, or years such as 5000y"))
    }
}

/// Which states are kept, and those that are. It travels in the checkpoint, so that the numbers go on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct States {
    #[serde(with = "names::path")]
    dir: PathBuf,
    every: StateEvery,
    sample: Option<SampleType>,
    kept: Vec<State>,
    /// Years from which on the next state is kept.
    due: f64,
    /// States that the list in the folder names, ahead of those that are kept; 0 while a former run's may be there.
    announced: u32,
}

/// A row of the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    file: String,
    years: Option<f64>,
    stage: String,
    step: u32,
    steps: u32,
    range: Option<[f64; 2]>,
}

impl States {
    /// None kept yet. `sample` is the type of the files' samples; `None` for 32-bit floats.
    ///
    /// # Errors
    /// Years where no stage of the recipe knows time; 0 steps; years that are not finite and more than 0; no current folder.
    pub fn new(folder: &Path, every: StateEvery, sample: Option<SampleType>, recipe: &Recipe) -> Result<Self> {
        match every {
            StateEvery::Steps(0) => return Err(Error::value("steps between states", 0, "1 or more")),
            StateEvery::Years(years) if !(years > 0.0 && years.is_finite()) => {
                return Err(Error::value("years between states", years, "more than 0"));
            }
            StateEvery::Years(years) => {
                let grid = Grid::new([3, 3], 1.0)?;
                let knows_time = |model: &dyn thalweg_models::model::Model| model.years(&grid, 1).is_some();
                if !recipe.stages.iter().any(|stage| !stage.muted && knows_time(&*stage.model)) {
                    let problem =
                        "needs a stage that knows time, and this recipe has none; give a number of steps instead";
                    return Err(Error::conflict(format!("states = {years}y"), problem));
                }
            }
            StateEvery::Steps(_) => {}
        }
        Ok(Self { dir: absolute(folder)?, every, sample, kept: Vec::new(), due: 0.0, announced: 0 })
    }

    /// Whether what will be written can be; the folder is made.
    ///
    /// # Errors
    /// When the folder cannot be made or written, the table's name is a folder's or a device's, or another run has kept states in the
    /// folder since this one kept some there.
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        output::make_folder(&self.dir)?;
        if self.announced > 0 && listed(&self.dir, LIST).is_some_and(|other| other != recipe.hash()) {
            let problem = "holds the states of another run, which was begun later; move that folder away to go on";
            return Err(Error::file(&self.dir, problem));
        }
        output::check_plain(self.dir.join(TABLE))
    }

    /// Whether a file bears the name of one that may be written.
    pub fn may_be(&self, file: &Path) -> bool {
        let Some(name) = file.file_name().and_then(|name| name.to_str()) else { return false };
        let number = name.strip_prefix("state_").and_then(|rest| rest.strip_suffix(".tif"));
        let is_state = number.is_some_and(|n| n.len() >= 5 && n.bytes().all(|digit| digit.is_ascii_digit()));
        (is_state || name == TABLE) && same(&self.dir.join(name), file)
    }

    /// The folder, and how many states there are in it.
    pub fn kept(&self) -> (&Path, usize) {
        (&self.dir, self.kept.len())
    }

    /// Keeps the heights after a step, if a state is due. Levels before the last have other cells: none of theirs is kept.
    ///
    /// # Errors
    /// When a file cannot be written; the table then names what was kept before.
    pub fn step(&mut self, run: &Run, progress: &RunProgress) -> Result<()> {
        let [level, levels] = progress.level;
        if level + 1 < levels {
            return Ok(());
        }
        let years = run.years();
        let is_due = match self.every {
            StateEvery::Steps(every) => progress.step >= progress.steps || progress.step.is_multiple_of(every),
            StateEvery::Years(every) => {
                let reached = years.filter(|years| *years >= self.due);
                if let Some(years) = reached {
                    self.due = ((years / every).floor() + 1.0) * every;
                }
                reached.is_some() || run.is_done()
            }
        };
        if !is_due {
            return Ok(());
        }
        let number = self.kept.len() as u32 + 1;
        self.announce(number, run.recipe())?;
        let (file, terrain) = (name(number), run.map());
        save(self.dir.join(&file), &terrain, &SaveOptions { sample: self.sample, ..SaveOptions::default() })?;
        let range = terrain.range().map(|range| range.map(Height::metres));
        let (stage, step, steps) = (progress.label.clone(), progress.step, progress.steps);
        self.kept.push(State { file, years, stage, step, steps, range });
        self.write_table()
    }

    /// Sees to it that the list in the folder names the next state and the table, and that a former run's are gone.
    fn announce(&mut self, number: u32, recipe: &Recipe) -> Result<()> {
        if number <= self.announced {
            return Ok(());
        }
        let ahead = number.next_power_of_two().max(FEW);
        let names = (1..=ahead).map(name).chain([TABLE.to_string()]);
        announce(&self.dir, LIST, &recipe.hash(), names, self.announced == 0)?;
        self.announced = ahead;
        Ok(())
    }

    fn write_table(&self) -> Result<()> {
        let path = self.dir.join(TABLE);
        atomic(&path, |file| {
            let mut table = csv::Writer::from_writer(file);
            let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            let mut rows = || {
                table.write_record(["file", "years", "stage", "step", "steps", "minimum_m", "maximum_m"])?;
                for State { file, years, stage, step, steps, range } in &self.kept {
                    let (step, steps) = (step.to_string(), steps.to_string());
                    let [low, high] = [0, 1].map(|k| number(range.map(|range| range[k])));
                    table.write_record([file, &number(*years), stage, &step, &steps, &low, &high])?;
                }
                table.flush()
            };
            rows().map_err(Error::io(&path, "write"))
        })
    }
}

fn name(number: u32) -> String {
    format!("state_{number:05}.tif")
}
