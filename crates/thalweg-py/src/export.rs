//! `export`: a terrain as files for another program.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use thalweg_export::export::{Export, ExportOptions, ExportTarget, TARGETS};
use thalweg_io::LoadOptions;
use thalweg_render::web::LonLat;

use crate::error::raised;
use crate::land::Terrain;
use crate::pool::work;

/// Names of the programs that are written for.
#[pyfunction]
pub fn export_targets() -> Vec<&'static str> {
    TARGETS.iter().map(|target| target.name).collect()
}

/// What is exported: a terrain, or the path of a file or of a folder.
#[derive(FromPyObject)]
pub enum Source<'py> {
    /// A terrain in memory.
    Held(PyRef<'py, Terrain>),
    /// A path.
    Path(PathBuf),
}

/// Writes a terrain for a program; gives the manifest as JSON, and what is to be said.
#[pyfunction]
#[pyo3(signature = (source, target, folder, *, tiles=None, size=None, shared=None, range=None, layers=Vec::new(), name=None, format=None, fresh=false, origin=None, zooms=None))]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub fn export(
    py: Python<'_>,
    source: Source<'_>,
    target: &str,
    folder: PathBuf,
    tiles: Option<&str>,
    size: Option<[usize; 2]>,
    shared: Option<bool>,
    range: Option<[f64; 2]>,
    layers: Vec<String>,
    name: Option<String>,
    format: Option<String>,
    fresh: bool,
    origin: Option<[f64; 2]>,
    zooms: Option<[u32; 2]>,
) -> PyResult<(String, Vec<String>)> {
    let target = ExportTarget::find(target).map_err(raised)?;
    let tiles = tiles.map(str::parse).transpose().map_err(raised)?.unwrap_or_default();
    let options = ExportOptions {
        name,
        size,
        tiles,
        shared,
        range,
        layers,
        format,
        fresh,
        origin: origin.map(LonLat::from),
        zooms,
        ..ExportOptions::new(target)
    };
    let (held, path) = match source {
        Source::Held(terrain) => (Some(Arc::clone(&terrain.0)), None),
        Source::Path(path) => (None, Some(path)),
    };
    let mut export = work(py, || match (held, path) {
        (Some(terrain), _) => Export::of(terrain, &folder, options),
        (None, path) => Export::open(&path.unwrap_or_default(), &LoadOptions::default(), &folder, options),
    })?;
    let mut said = export.warnings().to_vec();
    // Between two steps the interpreter sees signals.
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
