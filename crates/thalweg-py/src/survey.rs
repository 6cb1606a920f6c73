//! `drain`: computes the whole drainage of a terrain.

use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_core::declare::operation::WorkForm;
use thalweg_core::terrain::ChannelNetwork;
use thalweg_export::survey::{DrainOptions, Survey};
use thalweg_flow::streams;

use crate::array::{cells_to_array, field_to_array, heights_to_array};
use crate::land::Terrain;
use crate::pool::{run_on_pool, work_watched};
use crate::recipe::parse_operation;

/// A channel reach: number, order, magnitude, cells (row, column), length and drop in metres, slope, drainage area in
/// m², and the number of the reach downstream.
pub type ReachTuple<'py> = (u32, u32, u32, Bound<'py, PyArray2<i64>>, f64, f64, f64, f64, Option<u32>);

/// Converts channel reaches to tuples.
pub fn reaches_to_tuples<'py>(py: Python<'py>, network: &ChannelNetwork) -> PyResult<Vec<ReachTuple<'py>>> {
    let reaches = network.reaches.iter().map(|reach| {
        let cells = cells_to_array(py, &reach.cells)?;
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
    reaches.collect()
}

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

/// Computes the drainage of a terrain; `options` are those of the operation `drain`. `receiver` receives the progress.
#[pyfunction]
#[pyo3(signature = (terrain, options, narrow, receiver=None))]
pub fn drain<'py>(
    py: Python<'py>,
    terrain: &Terrain,
    options: &Bound<'py, PyDict>,
    narrow: bool,
    receiver: Option<Py<PyAny>>,
) -> PyResult<Drained<'py>> {
    let (ground, options) = (&terrain.0, parse_operation::<DrainOptions>(options, WorkForm::Arrays)?);
    let (survey, summary) = work_watched(py, receiver.as_ref(), |progress| {
        let survey = Survey::from_terrain(ground, &options, progress)?;
        let summary = serde_json::to_string(&survey.summarize(&ground.grid)).unwrap_or_default();
        Ok((survey, summary))
    })?;
    // Conversions of whole fields run on the pool too; only the objects of Python are made with the interpreter lock.
    let area = run_on_pool(py, || Ok(survey.drainage_area(&ground.grid)))?;
    let codes = run_on_pool(py, || Ok(streams::to_esri_codes(&survey.directions)))?;
    let mask = ground.nodata.as_ref();
    let reaches = reaches_to_tuples(py, &survey.channels)?;
    Ok((
        heights_to_array(py, &survey.filled, mask, narrow)?,
        heights_to_array(py, &survey.lake_depth, mask, narrow)?,
        survey.cut.as_ref().map(|cut| heights_to_array(py, cut, mask, narrow)).transpose()?,
        field_to_array(py, codes)?,
        field_to_array(py, survey.angles)?,
        field_to_array(py, area)?,
        field_to_array(py, survey.basins)?,
        field_to_array(py, survey.orders)?,
        reaches,
        summary,
    ))
}
