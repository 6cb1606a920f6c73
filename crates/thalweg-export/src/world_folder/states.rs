//! [`States`]: the heights of a run in progress, as GeoTIFFs with a table of their times.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use thalweg_core::base::names;
use thalweg_core::{Error, Grid, Height, Result};
use thalweg_io::file_identity::is_same_file;
use thalweg_io::output::{self, absolute_path};
use thalweg_io::staging::{read_list_hash, write_file_list};
use thalweg_io::{SampleType, SaveOptions, save_terrain, write_atomically};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::{Run, RunProgress};

/// The table, with one row per state.
const TABLE: &str = "states.csv";

/// The list, in the folder of the states, of those that belong to one run.
const LIST: &str = ".thalweg-states.json";

/// The number of states that the list names at first.
const INITIAL_LIST_LENGTH: u32 = 64;

/// How often a state is written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateInterval {
    /// After this number of steps of a stage, 1 or more, and after its last step.
    Steps(u32),
    /// After the first step that reaches a multiple of this number of simulated years, more than 0, and at the end.
    Years(f64),
}

impl FromStr for StateInterval {
    type Err = Error;

    /// Parses `20` as steps, `5000y` as years.
    fn from_str(text: &str) -> Result<Self> {
        let found = match text.trim().strip_suffix('y') {
            Some(years) => years.trim().parse().ok().filter(|y: &f64| *y > 0.0 && *y <= 1e12).map(Self::Years),
            None => text.trim().parse().ok().filter(|steps| *steps > 0).map(Self::Steps),
        };
        found
            .ok_or_else(|| Error::invalid_value("states", text, "a number of steps such as 20, or years such as 5000y"))
    }
}

/// The states of a run: how often they are written, and those that have been written. This is stored in the checkpoint,
/// so that a resumed run continues the numbers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct States {
    #[serde(with = "names::path")]
    dir: PathBuf,
    every: StateInterval,
    sample: Option<SampleType>,
    kept: Vec<SavedState>,
    /// The simulated year from which the next state is due.
    due: f64,
    /// The number of states that the list in the folder names, which is ahead of those that are written; 0 as long as
    /// states of a previous run may be there.
    announced: u32,
}

/// A row of the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedState {
    file: String,
    years: Option<f64>,
    stage: String,
    step: u32,
    steps: u32,
    range: Option<[f64; 2]>,
}

impl States {
    /// Makes the options of a run of which no states are written yet. `sample` is the type of the files' samples;
    /// `None` for 32-bit floats.
    ///
    /// # Errors
    /// Returns an error for years if no stage of the recipe has simulated time; for 0 steps; for years that are not
    /// finite and more than 0; or if there is no current folder.
    pub fn new(folder: &Path, every: StateInterval, sample: Option<SampleType>, recipe: &Recipe) -> Result<Self> {
        match every {
            StateInterval::Steps(0) => return Err(Error::invalid_value("steps between states", 0, "1 or more")),
            StateInterval::Years(years) if !(years > 0.0 && years.is_finite()) => {
                return Err(Error::invalid_value("years between states", years, "more than 0"));
            }
            StateInterval::Years(years) => {
                // Whether a model simulates time does not depend on the grid, so a small one is used.
                let grid = Grid::new([3, 3], 1.0)?;
                let knows_time = |model: &dyn thalweg_models::model::Model| model.simulated_years(&grid, 1).is_some();
                if !recipe.stages.iter().any(|stage| !stage.muted && knows_time(&*stage.model)) {
                    let problem = "only applies to a recipe with a stage that simulates years; give a number of steps \
                                   instead";
                    return Err(Error::conflict(format!("states = {years}y"), problem));
                }
            }
            StateInterval::Steps(_) => {}
        }
        Ok(Self { dir: absolute_path(folder)?, every, sample, kept: Vec::new(), due: 0.0, announced: 0 })
    }

    /// Checks that the files can be written; the folder is created.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created or written, if the table's name is that of a folder or a
    /// device, or if another run has written states to the folder since this one did.
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        output::make_folder(&self.dir)?;
        if self.announced > 0 && read_list_hash(&self.dir, LIST).is_some_and(|other| other != recipe.hash()) {
            let problem = "contains the states of another run that began later; move that folder away to continue";
            return Err(Error::invalid_file(&self.dir, problem));
        }
        output::check_plain(self.dir.join(TABLE))
    }

    /// Returns true if a file has the name of a file that may be written.
    pub fn may_be(&self, file: &Path) -> bool {
        let Some(name) = file.file_name().and_then(|name| name.to_str()) else { return false };
        let number = name.strip_prefix("state_").and_then(|rest| rest.strip_suffix(".tif"));
        let is_state = number.is_some_and(|n| n.len() >= 5 && n.bytes().all(|digit| digit.is_ascii_digit()));
        (is_state || name == TABLE) && is_same_file(&self.dir.join(name), file)
    }

    /// Returns the folder, and the number of states that have been written.
    pub fn folder_and_count(&self) -> (&Path, usize) {
        (&self.dir, self.kept.len())
    }

    /// Writes the heights after a step, if a state is due. Levels before the last have other cells and are not written.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written; the table then lists the states written before.
    pub fn save_due_state(&mut self, run: &Run, progress: &RunProgress) -> Result<()> {
        let [level, levels] = progress.level;
        if level + 1 < levels {
            return Ok(());
        }
        let years = run.years();
        let is_due = match self.every {
            StateInterval::Steps(every) => progress.step >= progress.steps || progress.step.is_multiple_of(every),
            StateInterval::Years(every) => {
                let reached = years.filter(|years| *years >= self.due);
                if let Some(years) = reached {
                    // The next state is due at the next multiple, not an interval after this one, so that the times do
                    // not drift with the length of the steps.
                    self.due = ((years / every).floor() + 1.0) * every;
                }
                reached.is_some() || run.is_done()
            }
        };
        if !is_due {
            return Ok(());
        }
        let number = self.kept.len() as u32 + 1;
        // The list names the file before it is written, so that a later run can remove it even if this one is killed.
        self.extend_list(number, run.recipe())?;
        let (file, terrain) = (state_name(number), run.terrain_without_margin());
        save_terrain(self.dir.join(&file), &terrain, &SaveOptions { sample: self.sample, ..SaveOptions::default() })?;
        let range = terrain.elevation_range().map(|range| range.map(Height::metres));
        let (stage, step, steps) = (progress.label.clone(), progress.step, progress.steps);
        self.kept.push(SavedState { file, years, stage, step, steps, range });
        // The table is rewritten after each state, so it is complete whenever the run ends.
        self.write_table()
    }

    /// Ensures that the list in the folder names the next state and the table, and that the states of a previous run
    /// are removed.
    fn extend_list(&mut self, number: u32, recipe: &Recipe) -> Result<()> {
        if number <= self.announced {
            return Ok(());
        }
        let ahead = number.next_power_of_two().max(INITIAL_LIST_LENGTH);
        let names = (1..=ahead).map(state_name).chain([TABLE.to_string()]);
        write_file_list(&self.dir, LIST, &recipe.hash(), names, self.announced == 0)?;
        self.announced = ahead;
        Ok(())
    }

    fn write_table(&self) -> Result<()> {
        let path = self.dir.join(TABLE);
        write_atomically(&path, |file| {
            let mut table = csv::Writer::from_writer(file);
            let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            let mut rows = || {
                table.write_record(["file", "years", "stage", "step", "steps", "minimum_m", "maximum_m"])?;
                for SavedState { file, years, stage, step, steps, range } in &self.kept {
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

fn state_name(number: u32) -> String {
    format!("state_{number:05}.tif")
}
