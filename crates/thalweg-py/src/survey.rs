//! `drain`: computes the whole drainage of a terrain.

use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_export::survey::{DrainOptions, Survey};
use thalweg_flow::streams;

use crate::array::{array, metres, places};
use crate::land::Terrain;
use crate::pool::{work, work_watched};
use crate::recipe::operation_of;

/// A channel reach: number, order, magnitude, cells (row, column), length and drop in metres, slope, drainage area in
/// m², and the number of the reach downstream.
type ReachTuple<'py> = (u32, u32, u32, Bound<'py, PyArray2<i64>>, f64, f64, f64, f64, Option<u32>);

/// The filled heights, depths of lakes, depths of carved channels, flow directions, angles, drainage areas, basins,
/// orders, reaches, and the summary as JSON.
type Drained<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Vec<ReachTuple<'py>>,
    String,
);

/// Computes the drainage of a terrain; `options` are those of the operation `drain`.
#[pyfunction]
pub fn drain<'py>(
    py: Python<'py>,
    terrain: &Terrain,
    options: &Bound<'py, PyDict>,
    narrow: bool,
) -> PyResult<Drained<'py>> {
    let (ground, options) = (&terrain.0, operation_of::<DrainOptions>(options)?);
    let (survey, summary) = work_watched(py, |progress| {
        let survey = Survey::of(ground, &options, progress)?;
        let summary = serde_json::to_string(&survey.summary(&ground.grid)).unwrap_or_default();
        Ok((survey, summary))
    })?;
    let area = work(py, || Ok(survey.drainage_area(&ground.grid)))?;
    let codes = work(py, || Ok(streams::to_esri_codes(&survey.directions)))?;
    let mask = ground.nodata.as_ref();
    let reaches = survey.channels.reaches.iter().map(|reach| {
        let cells = places(py, &reach.cells)?;
        Ok((
            reach.id,
            reach.order,
            reach.magnitude,
            cells,
            reach.length,
            reach.drop,
            reach.slope,
            reach.drainage_area,
            reach.downstream,
        ))
    });
    let reaches = reaches.collect::<PyResult<_>>()?;
    Ok((
        metres(py, &survey.filled, mask, narrow)?,
        metres(py, &survey.lake_depth, mask, narrow)?,
        survey.cut.as_ref().map(|cut| metres(py, cut, mask, narrow)).transpose()?,
        array(py, codes)?,
        array(py, survey.angles)?,
        array(py, area)?,
        array(py, survey.basins)?,
        array(py, survey.orders)?,
        reaches,
        summary,
    ))
}
