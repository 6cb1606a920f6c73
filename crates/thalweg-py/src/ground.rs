//! Slopes and measures of a terrain.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_core::Field;
use thalweg_core::declare::operation::WorkForm;
use thalweg_render::products::measure::{MeasureOptions, measure_terrain as measured};
use thalweg_render::products::slope;

use crate::array::field_to_array;
use crate::land::Terrain;
use crate::pool::run_on_pool;
use crate::recipe::parse_operation;

/// Computes the rise per metre eastward and northward; NaN in no-data cells.
#[pyfunction]
pub fn gradient<'py>(py: Python<'py>, terrain: &Terrain) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let ground = &terrain.0;
    let [east, north] = run_on_pool(py, || Ok([0, 1].map(|axis| map_gradient(ground, |rise| rise[axis]))))?;
    Ok((field_to_array(py, east)?, field_to_array(py, north)?))
}

/// Computes the rise per metre along the steepest descent; NaN in no-data cells.
#[pyfunction]
pub fn slope_of<'py>(py: Python<'py>, terrain: &Terrain) -> PyResult<Bound<'py, PyAny>> {
    let ground = &terrain.0;
    let steep = run_on_pool(py, || Ok(map_gradient(ground, |[east, north]| (east * east + north * north).sqrt())))?;
    field_to_array(py, steep)
}

fn map_gradient(terrain: &thalweg_core::terrain::Terrain, of: impl Fn([f64; 2]) -> f64 + Sync) -> Field<f64> {
    Field::from_fn(terrain.grid.size, |i, j| {
        if terrain.is_nodata(i, j) { f64::NAN } else { of(slope::central_gradient(terrain, i, j)) }
    })
}

/// Computes the geomorphological measures of a terrain and returns them as JSON.
#[pyfunction]
pub fn measure(py: Python<'_>, terrain: &Terrain, options: &Bound<'_, PyDict>) -> PyResult<String> {
    let options: MeasureOptions = parse_operation(options, WorkForm::Arrays)?;
    run_on_pool(py, || Ok(serde_json::to_string(&measured(&terrain.0, &options)?).unwrap_or_default()))
}
