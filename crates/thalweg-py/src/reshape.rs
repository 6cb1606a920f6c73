//! `resample` and `crop`: give a terrain other cells.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_core::declare::operation::WorkForm;
use thalweg_io::reshape::{self, CropOptions, ResampleOptions};

use crate::land::Terrain;
use crate::pool::run_on_pool;
use crate::recipe::parse_operation;

/// Resamples a terrain; `options` are those of the operation `resample`.
#[pyfunction]
pub fn resample(py: Python<'_>, terrain: &Terrain, options: &Bound<'_, PyDict>) -> PyResult<Terrain> {
    let (ground, options) = (&terrain.0, parse_operation::<ResampleOptions>(options, WorkForm::Arrays)?);
    run_on_pool(py, || reshape::resample(ground, &options)).map(|made| Terrain(Arc::new(made)))
}

/// Cuts a rectangle of cells out of a terrain; `options` are those of the operation `crop`.
#[pyfunction]
pub fn crop(py: Python<'_>, terrain: &Terrain, options: &Bound<'_, PyDict>) -> PyResult<Terrain> {
    let (ground, options) = (&terrain.0, parse_operation::<CropOptions>(options, WorkForm::Arrays)?);
    run_on_pool(py, || reshape::crop(ground, &options)).map(|made| Terrain(Arc::new(made)))
}
