//! Processing by tiles into stores: plans and their tasks.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_core::Edge;
use thalweg_core::declare::operation::WorkForm;
use thalweg_export::build::BuildOptions;
use thalweg_export::survey::DrainOptions;
use thalweg_io::LoadOptions;
use thalweg_sim::single_model::ApplyOptions;
use thalweg_store::{Access, ApplyJob, BuildJob, DrainJob, Job, Outcome, Plan, Store, Task, VerifyLevel};

use crate::pool::run_on_pool;
use crate::recipe::{Recipe, parse_operation};

/// Writes the plan of an elevation model's drainage, and returns its hash; `options` are those of the operation
/// `drain`.
#[pyfunction]
#[pyo3(signature = (source, store, plan, tile, load, options, *, closed=false, sea_level=None))]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub fn plan_drain(
    py: Python<'_>,
    source: PathBuf,
    store: PathBuf,
    plan: PathBuf,
    tile: usize,
    load: &Bound<'_, PyDict>,
    options: &Bound<'_, PyDict>,
    closed: bool,
    sea_level: Option<f64>,
) -> PyResult<String> {
    let load: LoadOptions = parse_operation(load, WorkForm::Store)?;
    let options: DrainOptions = parse_operation(options, WorkForm::Store)?;
    run_on_pool(py, || {
        let edges = [if closed { Edge::Closed } else { Edge::Open }; 4];
        let job = DrainJob { edges, sea_level, ..DrainJob::new(&source, load, options)? };
        write_plan(Job::Drain(job), &store, &plan, tile)
    })
}

/// Writes the plan of a world, or of a rectangle of it, and returns its hash; `options` are those of the operation
/// `build`.
#[pyfunction]
pub fn plan_build(
    py: Python<'_>,
    recipe: &Recipe,
    store: PathBuf,
    plan: PathBuf,
    tile: usize,
    options: &Bound<'_, PyDict>,
) -> PyResult<String> {
    let options: BuildOptions = parse_operation(options, WorkForm::Store)?;
    let changed = recipe.change(&options)?;
    let recipe = changed.for_tiles()?;
    run_on_pool(py, || {
        let job = BuildJob::from_recipe_part(recipe, options.level, options.rect)?;
        write_plan(Job::Build(job), &store, &plan, tile)
    })
}

/// Writes the plan of a model over an elevation model, and returns its hash; `options` are those of the operation
/// `apply`.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub fn plan_apply(
    py: Python<'_>,
    model: &str,
    source: PathBuf,
    store: PathBuf,
    plan: PathBuf,
    tile: usize,
    load: &Bound<'_, PyDict>,
    options: &Bound<'_, PyDict>,
) -> PyResult<String> {
    let load: LoadOptions = parse_operation(load, WorkForm::Store)?;
    let options: ApplyOptions = parse_operation(options, WorkForm::Store)?;
    run_on_pool(py, || {
        let job = ApplyJob::from_recipe(&options.to_recipe(model)?, &source, load)?;
        write_plan(Job::Apply(job), &store, &plan, tile)
    })
}

fn write_plan(
    job: Job,
    store: &std::path::Path,
    plan: &std::path::Path,
    tile: usize,
) -> thalweg_core::base::error::Result<String> {
    let made = Plan::from_job(job, store, tile)?;
    made.write(plan)?;
    Ok(made.hash)
}

/// A plan with its store, shared with other processes that execute other tasks of it.
#[pyclass(frozen, module = "thalweg._core")]
pub struct Work(thalweg_store::PlannedWork);

#[pymethods]
impl Work {
    #[new]
    fn new(py: Python<'_>, plan: PathBuf) -> PyResult<Self> {
        // Shared access lets several processes execute tasks of one plan at the same time.
        run_on_pool(py, || thalweg_store::PlannedWork::open(Plan::read(&plan)?, Access::Shared)).map(Self)
    }

    /// Returns the names of the stages.
    #[getter]
    fn stages(&self) -> Vec<String> {
        self.0.plan().stages.iter().map(|stage| stage.name.clone()).collect()
    }

    /// Returns the number of tiles.
    #[getter]
    fn tiles(&self) -> usize {
        self.0.plan().tiles
    }

    /// Computes a tile of a stage; if that is not possible yet, returns the missing prerequisite.
    fn tile(&self, py: Python<'_>, stage: usize, tile: usize) -> PyResult<Option<String>> {
        self.execute_task(py, Task::Tile { stage, tile })
    }

    /// Solves a stage from its tiles; if that is not possible yet, returns the missing prerequisite.
    fn solve(&self, py: Python<'_>, stage: usize) -> PyResult<Option<String>> {
        self.execute_task(py, Task::Solve { stage })
    }

    /// Returns the report as JSON, and writes it next to the store.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        run_on_pool(py, || {
            self.0.write_report()?;
            Ok(serde_json::Value::Object(self.0.collect_report()?).to_string())
        })
    }

    /// Recomputes finished tiles that are missing or altered, and returns their number.
    fn mend(&self, py: Python<'_>) -> PyResult<usize> {
        run_on_pool(py, || {
            let faults = self.0.verify_tiles(VerifyLevel::Bytes)?;
            self.0.repair_tiles(&faults)?;
            Ok(faults.len())
        })
    }
}

impl Work {
    fn execute_task(&self, py: Python<'_>, task: Task) -> PyResult<Option<String>> {
        run_on_pool(py, || self.0.execute_task(task)).map(|outcome| match outcome {
            Outcome::Done => None,
            // A task that comes too early is not an error: the caller can try another one first.
            Outcome::Waits(missing) => Some(missing),
        })
    }
}

/// Returns the tiles of a store that are missing or altered: layer, tile and problem.
#[pyfunction]
pub fn verify(py: Python<'_>, store: PathBuf) -> PyResult<Vec<(String, usize, String)>> {
    let faults = run_on_pool(py, || Store::open_read(&store)?.verify_tiles(VerifyLevel::Bytes));
    Ok(faults?.into_iter().map(|fault| (fault.layer.clone(), fault.tile, fault.to_string())).collect())
}
