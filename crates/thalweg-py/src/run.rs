//! [`Run`]: the execution of a recipe. The loop is in Python, which handles signals between two steps.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value as Json;
use thalweg_core::declare::operation::WorkForm;
use thalweg_core::terrain::GROUND;
use thalweg_export::build::BuildOptions;
use thalweg_export::rivers::RiversOptions;
use thalweg_sim::presets;

use crate::array::{heights_to_array, layer_to_array};
use crate::error::{make_broken_error, make_busy_error, to_python_error};
use crate::land::{Terrain, find_layer, insert_layer, list_layer_names};
use crate::pool::run_on_pool;
use crate::recipe::{Recipe, parse_operation, to_written_value, wrap_recipe};

/// The execution of a recipe.
#[pyclass(frozen, module = "thalweg._core")]
pub struct Run(Mutex<thalweg_sim::run::Run>);

/// The progress of a run after a step: label, stage, level and number of levels, step and number of steps of the turn,
/// the same of the run, years, and the mass balance of the step as JSON, because its sums may exceed 64 bits.
type Step = (String, Option<usize>, [usize; 2], [u32; 2], [u64; 2], Option<f64>, String);

impl Run {
    fn lock_run(&self) -> PyResult<MutexGuard<'_, thalweg_sim::run::Run>> {
        // Waiting for the lock could deadlock, because the thread that has it may need the interpreter lock.
        self.0.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => make_busy_error("run"),
            TryLockError::Poisoned(_) => make_broken_error("run"),
        })
    }

    fn from_run(run: thalweg_sim::run::Run) -> Self {
        Self(Mutex::new(run))
    }
}

#[pymethods]
impl Run {
    /// Creates a run from the recipe's own start, or over a terrain.
    #[new]
    #[pyo3(signature = (recipe, terrain=None))]
    fn new(py: Python<'_>, recipe: &Recipe, terrain: Option<&Terrain>) -> PyResult<Self> {
        let (recipe, own_model, unit) = (recipe.recipe.clone(), recipe.own_model, recipe.unit);
        let terrain = terrain.map(|terrain| Arc::clone(&terrain.0));
        let run = run_on_pool(py, move || match terrain {
            Some(terrain) => {
                // The check comes before the terrain is copied.
                recipe.check_memory(&terrain.grid)?;
                thalweg_sim::run::Run::with_terrain(recipe, Arc::unwrap_or_clone(terrain))
            }
            None if own_model => presets::create_run_on_model(recipe),
            None => BuildOptions { unit, ..BuildOptions::default() }.start(recipe, None),
        })?;
        Ok(Self::from_run(run))
    }

    /// Creates a run that adds rivers to a terrain; `options` are those of the operation `rivers`.
    #[staticmethod]
    fn add_rivers(py: Python<'_>, terrain: &Terrain, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (terrain, options) = (Arc::clone(&terrain.0), parse_operation::<RiversOptions>(options, WorkForm::Arrays)?);
        run_on_pool(py, move || options.start(Arc::unwrap_or_clone(terrain))).map(Self::from_run)
    }

    /// Resumes a run from its file.
    #[staticmethod]
    fn resume(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        run_on_pool(py, || thalweg_sim::run::Run::resume(&path)).map(|(run, _)| Self::from_run(run))
    }

    /// Resumes a run from the bytes of its file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        run_on_pool(py, || thalweg_sim::run::Run::resume_bytes(bytes)).map(|(run, _)| Self::from_run(run))
    }

    /// Saves the run to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let mut held = self.lock_run()?;
        // The guard cannot move to another thread, but the reference in it can.
        let run: &mut thalweg_sim::run::Run = &mut held;
        run_on_pool(py, move || run.save(&path, &Json::Null))
    }

    /// Returns the bytes of the file to which the run would be saved.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut held = self.lock_run()?;
        let run: &mut thalweg_sim::run::Run = &mut held;
        let bytes = run_on_pool(py, move || run.to_checkpoint(&Json::Null))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Takes the next step; returns None if all steps are done.
    fn step(&self, py: Python<'_>) -> PyResult<Option<Step>> {
        let mut held = self.lock_run()?;
        let run: &mut thalweg_sim::run::Run = &mut held;
        let done = run_on_pool(py, || run.take_step());
        let Some(progress) = done? else { return Ok(None) };
        let budget = serde_json::to_string(&progress.mass_balance).unwrap_or_default();
        let steps = held.steps();
        Ok(Some((
            progress.label,
            progress.stage,
            progress.level,
            [progress.step, progress.steps],
            steps,
            held.years(),
            budget,
        )))
    }

    /// Sets a parameter of a stage that is not done.
    fn set(&self, label: &str, parameter: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.lock_run()?.set_parameter(label, parameter, &to_written_value(value)?).map_err(to_python_error)
    }

    /// Returns the number of steps done, and the total number of steps.
    #[getter]
    fn steps(&self) -> PyResult<[u64; 2]> {
        Ok(self.lock_run()?.steps())
    }

    /// Returns true if all steps are done.
    #[getter]
    fn is_done(&self) -> PyResult<bool> {
        Ok(self.lock_run()?.is_done())
    }

    /// Returns the simulated years so far.
    #[getter]
    fn years(&self) -> PyResult<Option<f64>> {
        Ok(self.lock_run()?.years())
    }

    /// Returns the recipe, including parameters that were set.
    #[getter]
    fn recipe(&self) -> PyResult<Recipe> {
        Ok(wrap_recipe(self.lock_run()?.recipe().clone()))
    }

    /// Returns warnings about the input.
    #[getter]
    fn warnings(&self) -> PyResult<Vec<String>> {
        Ok(self.lock_run()?.input().warnings.clone())
    }

    /// Returns the labels of the stages that never run.
    #[getter]
    fn idle(&self) -> PyResult<Vec<String>> {
        Ok(self.lock_run()?.idle_stages().into_iter().map(String::from).collect())
    }

    /// Returns the numbers of rows and columns of the present level.
    #[getter]
    fn shape(&self) -> PyResult<(usize, usize)> {
        Ok(self.lock_run()?.terrain().grid.size.into())
    }

    /// Returns the names of the present layers.
    #[getter]
    fn layers(&self) -> PyResult<Vec<String>> {
        Ok(list_layer_names(self.lock_run()?.terrain()))
    }

    /// Returns the heights in metres.
    #[pyo3(signature = (narrow=false))]
    fn height<'py>(&self, py: Python<'py>, narrow: bool) -> PyResult<Bound<'py, PyAny>> {
        let run = self.lock_run()?;
        heights_to_array(py, &run.terrain().ground, run.terrain().nodata.as_ref(), narrow)
    }

    /// Returns the values of a layer.
    fn layer<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let run = self.lock_run()?;
        let cells = find_layer(run.terrain(), name)?;
        layer_to_array(py, &cells)
    }

    /// Replaces the heights or a layer of the terrain between two steps.
    #[pyo3(signature = (name, values))]
    fn put(&self, name: Option<&str>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut run = self.lock_run()?;
        insert_layer(run.terrain_mut(), name.unwrap_or(GROUND.name), values)
    }

    /// Returns a copy of the present terrain.
    fn terrain(&self) -> PyResult<Terrain> {
        Ok(Terrain(Arc::new(self.lock_run()?.terrain().clone())))
    }

    /// Returns a copy of the present terrain, without the margin around the map.
    fn map(&self) -> PyResult<Terrain> {
        Ok(Terrain(Arc::new(self.lock_run()?.terrain_without_margin().into_owned())))
    }

    /// Returns the report so far as JSON.
    fn report(&self) -> PyResult<String> {
        Ok(self.lock_run()?.report().to_string())
    }
}
