//! `export` and `mesh`: write a terrain as files for another program.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_core::declare::operation::WorkForm;
use thalweg_export::export::{Export, ExportOptions, ExportTarget, TARGETS};
use thalweg_export::mesh_file::{MeshFileOptions, write_mesh};
use thalweg_io::LoadOptions;
use thalweg_models::process::forest::Forest;
use thalweg_models::rocks::Rock;
use thalweg_render::products::textures::{GroundCover, TextureRules};

use crate::error::to_python_error;
use crate::land::Terrain;
use crate::pool::run_on_pool;
use crate::recipe::parse_operation;

/// Returns the names of the target programs.
#[pyfunction]
pub fn export_targets() -> Vec<&'static str> {
    TARGETS.iter().map(|target| target.name).collect()
}

/// The source of an export: a terrain, or the path of a file or of a folder.
#[derive(FromPyObject)]
pub enum TerrainSource<'py> {
    /// A terrain in memory.
    Held(PyRef<'py, Terrain>),
    /// A path.
    Path(PathBuf),
}

/// Writes a terrain for a program; returns the manifest as JSON, and warnings. `receiver` is called with the phase, the
/// number of finished steps and their total number.
#[pyfunction]
#[pyo3(signature = (source, target, folder, options, receiver=None))]
pub fn export(
    py: Python<'_>,
    source: TerrainSource<'_>,
    target: &str,
    folder: PathBuf,
    options: &Bound<'_, PyDict>,
    receiver: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let target = ExportTarget::find(target).map_err(to_python_error)?;
    let options: ExportOptions = parse_operation(options, WorkForm::Arrays)?;
    // The terrain is shared, not copied: its Python object may be released while the work runs.
    let (held, path) = match source {
        TerrainSource::Held(terrain) => (Some(Arc::clone(&terrain.0)), None),
        TerrainSource::Path(path) => (None, Some(path)),
    };
    let mut export = run_on_pool(py, || match (held, path) {
        (Some(terrain), _) => Export::from_terrain(terrain, &folder, target, options),
        (None, path) => Export::open(&path.unwrap_or_default(), &LoadOptions::default(), &folder, target, options),
    })?;
    let mut said = export.warnings().to_vec();
    // The interpreter handles signals between two steps.
    loop {
        // The export moves into each step and back, because the work runs on another thread.
        let (back, progress) = run_on_pool(py, move || {
            let progress = export.advance()?;
            Ok((export, progress))
        })?;
        export = back;
        py.check_signals()?;
        let Some(progress) = progress else { break };
        if let Some(receiver) = receiver {
            let [done, total] = progress.tiles;
            receiver.call1((progress.doing, done, total))?;
        }
    }
    let done = run_on_pool(py, || export.finish())?;
    said.extend(done.warnings);
    Ok((done.manifest.to_string(), said))
}

/// Writes a terrain as a mesh; returns the files and warnings. `options` are those of the operation `mesh`.
#[pyfunction]
pub fn mesh(
    py: Python<'_>,
    terrain: &Terrain,
    path: PathBuf,
    options: &Bound<'_, PyDict>,
) -> PyResult<(Vec<PathBuf>, Vec<String>)> {
    let (ground, options) = (&terrain.0, parse_operation::<MeshFileOptions>(options, WorkForm::Arrays)?);
    let report = run_on_pool(py, || {
        let forest = Forest::read(ground)?;
        let cover = || GroundCover::from_terrain(ground, &TextureRules::default(), Rock::usual());
        write_mesh(&path, ground, forest.trees(), cover, &options, &[])
    })?;
    Ok((report.files, report.warnings))
}
