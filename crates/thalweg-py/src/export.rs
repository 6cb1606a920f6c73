//! `export`: writes a terrain as files for another program.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_export::export::{Export, ExportOptions, ExportTarget, TARGETS};
use thalweg_io::LoadOptions;

use crate::error::raised;
use crate::land::Terrain;
use crate::pool::work;
use crate::recipe::operation_of;

/// Returns the names of the target programs.
#[pyfunction]
pub fn export_targets() -> Vec<&'static str> {
    TARGETS.iter().map(|target| target.name).collect()
}

/// The source of an export: a terrain, or the path of a file or of a folder.
#[derive(FromPyObject)]
pub enum Source<'py> {
    /// A terrain in memory.
    Held(PyRef<'py, Terrain>),
    /// A path.
    Path(PathBuf),
}

/// Writes a terrain for a program; returns the manifest as JSON, and warnings.
#[pyfunction]
pub fn export(
    py: Python<'_>,
    source: Source<'_>,
    target: &str,
    folder: PathBuf,
    options: &Bound<'_, PyDict>,
) -> PyResult<(String, Vec<String>)> {
    let target = ExportTarget::find(target).map_err(raised)?;
    let options: ExportOptions = operation_of(options)?;
    let (held, path) = match source {
        Source::Held(terrain) => (Some(Arc::clone(&terrain.0)), None),
        Source::Path(path) => (None, Some(path)),
    };
    let mut export = work(py, || match (held, path) {
        (Some(terrain), _) => Export::of(terrain, &folder, target, options),
        (None, path) => Export::open(&path.unwrap_or_default(), &LoadOptions::default(), &folder, target, options),
    })?;
    let mut said = export.warnings().to_vec();
    // The interpreter handles signals between two steps.
    loop {
        let (back, progress) = work(py, move || {
            let progress = export.step()?;
            Ok((export, progress))
        })?;
        export = back;
        py.check_signals()?;
        if progress.is_none() {
            break;
        }
    }
    let done = work(py, || export.finish())?;
    said.extend(done.warnings);
    Ok((done.manifest.to_string(), said))
}
