//! Slopes and measures of the ground.

use pyo3::prelude::*;
use thalweg_core::Field;
use thalweg_render::products::measure::{MeasureSettings, measure as measured};
use thalweg_render::products::slope;

use crate::array::array;
use crate::land::Terrain;
use crate::pool::work;

/// Rise per metre eastward and northward; NaN where there is no data.
#[pyfunction]
pub fn gradient<'py>(py: Python<'py>, terrain: &Terrain) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let ground = &terrain.0;
    let [east, north] = work(py, || Ok([0, 1].map(|axis| rises(ground, |rise| rise[axis]))))?;
    Ok((array(py, east)?, array(py, north)?))
}

/// Rise per metre down the steepest way; NaN where there is no data.
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

/// What a geomorphologist would print, as JSON.
#[pyfunction]
#[pyo3(signature = (terrain, *, channel_area=None, search=None, flatness=None))]
pub fn measure(
    py: Python<'_>,
    terrain: &Terrain,
    channel_area: Option<f64>,
    search: Option<usize>,
    flatness: Option<f64>,
) -> PyResult<String> {
    let usual = MeasureSettings::default();
    let settings = MeasureSettings {
        channel_area,
        search: search.unwrap_or(usual.search),
        flatness: flatness.unwrap_or(usual.flatness),
    };
    work(py, || Ok(serde_json::to_string(&measured(&terrain.0, &settings)?).unwrap_or_default()))
}
