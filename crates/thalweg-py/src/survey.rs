//! `drain`: all of where water goes, in one call.

use numpy::PyArray2;
use pyo3::prelude::*;
use thalweg_export::survey::{Survey, SurveyOptions};
use thalweg_flow::breach::BreachLimits;
use thalweg_flow::{FlowGraph, Land, streams};

use crate::array::{array, cells_of_pairs, metres, places};
use crate::flow::spread;
use crate::land::Terrain;
use crate::pool::{work, work_watched};

/// A reach of a stream: number, order, magnitude, cells (row, column), length and drop in metres, slope, catchment in m², and the number of
/// the reach that it runs into.
type ReachTuple<'py> = (u32, u32, u32, Bound<'py, PyArray2<i64>>, f64, f64, f64, f64, Option<u32>);

/// Filled heights, depth of depressions, depth of cuts, directions, angles, cells, spread cells, basins, orders, reaches, summary as JSON.
type Drained<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Vec<ReachTuple<'py>>,
    String,
);

/// Works out the drainage of a terrain. `spreads` asks for what gathers along D∞, or, with an exponent, over all lower neighbours.
#[pyfunction]
#[pyo3(signature = (terrain, *, threshold=None, outlets=Vec::new(), breach=None, spreads=false, exponent=None, narrow=false))]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub fn drain<'py>(
    py: Python<'py>,
    terrain: &Terrain,
    threshold: Option<f64>,
    outlets: Vec<[usize; 2]>,
    breach: Option<[f64; 2]>,
    spreads: bool,
    exponent: Option<f64>,
    narrow: bool,
) -> PyResult<Drained<'py>> {
    let ground = &terrain.0;
    let breach = breach.map(|[depth, length]| BreachLimits { depth, length });
    let options = SurveyOptions { threshold, outlets: cells_of_pairs(outlets), breach, ..SurveyOptions::default() };
    let (survey, wide, summary) = work_watched(py, |progress| {
        let survey = Survey::of(ground, &options, progress)?;
        let wide = spreads
            .then(|| {
                let land = Land { outlets: &options.outlets, ..Land::of(ground) }.under(&survey.filled);
                spread(&land, &mut FlowGraph::new(&land), exponent, None)
            })
            .transpose()?;
        let summary = serde_json::to_string(&survey.summary(&ground.grid)).unwrap_or_default();
        Ok((survey, wide, summary))
    })?;
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
        array(py, survey.cells)?,
        wide.map(|wide| array(py, wide)).transpose()?,
        array(py, survey.basins)?,
        array(py, survey.orders)?,
        reaches,
        summary,
    ))
}
