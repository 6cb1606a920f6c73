//! Slopes and measures of a terrain.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_core::Field;
use thalweg_render::products::measure::{MeasureOptions, measure as measured};
use thalweg_render::products::slope;

use crate::array::array;
use crate::land::Terrain;
use crate::pool::work;
use crate::recipe::operation_of;

/// Computes the rise per metre eastward and northward; NaN in no-data cells.
#[pyfunction]
pub fn gradient<'py>(py: Python<'py>, terrain: &Terrain) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let ground = &terrain.0;
    let [east, north] = work(py, || Ok([0, 1].map(|axis| rises(ground, |rise| rise[axis]))))?;
    Ok((array(py, east)?, array(py, north)?))
}

/// Computes the rise per metre along the steepest descent; NaN in no-data cells.
#[pyfunction]
pub fn slope_of<'py>(py: Python<'py>, terrain: &Terrain) -> PyResult<Bound<'py, PyAny>> {
    let ground = &terrain.0;
    let steep = work(py, || Ok(rises(ground, |[east, north]| (east * east + north * north).sqrt())))?;
    array(py, steep)
}

fn rises(terrain: &thalweg_core::terrain::Terrain, of: impl Fn([f64; 2]) -> f64 + Sync) -> Field<f64> {
    Field::generate(terrain.grid.size, |i, j| {
        if terrain.is_nodata(i, j) { f64::NAN } else { of(slope::gradient(terrain, i, j)) }
    })
}

/// Computes the geomorphological measures of a terrain and returns them as JSON.
#[pyfunction]
pub fn measure(py: Python<'_>, terrain: &Terrain, options: &Bound<'_, PyDict>) -> PyResult<String> {
    let options: MeasureOptions = operation_of(options)?;
    work(py, || Ok(serde_json::to_string(&measured(&terrain.0, &options)?).unwrap_or_default()))
}
