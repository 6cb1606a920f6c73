//! Single functions for the flow of water. Flow directions are ESRI codes.

use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use thalweg_core::{Cell, Edge, Field, Result};
use thalweg_flow::accumulate::{self as gather, quantize_weights};
use thalweg_flow::breach::BreachLimits;
use thalweg_flow::channels::trace_channels;
use thalweg_flow::depressions::Hierarchy;
use thalweg_flow::{self as flow, Directions, FlowGraph, Land, infinity, streams};

use crate::array::{cells_of_pairs, cells_to_array, field_to_array, heights_to_array, read_bytes, read_reals};
use crate::land::Terrain;
use crate::pool::run_on_pool;
use crate::recipe::parse_edges;
use crate::survey::{ReachTuple, reaches_to_tuples};

type Any<'py> = Bound<'py, PyAny>;

/// An array or an error.
type ArrayResult<'py> = PyResult<Any<'py>>;

/// True for rows or columns that are looped.
type Looped = [bool; 2];

/// Cells (row, column) at which water leaves, in addition to open edges and the sea.
type Outlets = Vec<[usize; 2]>;

fn prepare_land<'a>(terrain: &'a Terrain, outlets: &'a [Cell]) -> Result<Land<'a>> {
    let land = Land { outlets, ..Land::from_terrain(&terrain.0) };
    land.check()?;
    Ok(land)
}

/// Converts ESRI codes to directions; the flow path of each cell must end.
fn parse_directions(codes: &Field<u8>, looped: Looped) -> Result<Directions> {
    let directions = streams::from_esri_codes(codes, looped)?;
    streams::check_paths_end(&directions)?;
    Ok(directions)
}

/// Fills each depression to its spill level; returns the heights.
#[pyfunction]
pub fn fill<'py>(py: Python<'py>, terrain: &Terrain, outlets: Outlets, narrow: bool) -> ArrayResult<'py> {
    let filled =
        run_on_pool(py, || Ok(flow::fill::fill_depressions(&prepare_land(terrain, &cells_of_pairs(outlets))?)))?;
    heights_to_array(py, &filled, terrain.0.nodata.as_ref(), narrow)
}

/// Carves a channel from every pit; returns the heights, the numbers of pits that were breached and kept, and the
/// incised volume in m³.
#[pyfunction]
pub fn breach<'py>(
    py: Python<'py>,
    terrain: &Terrain,
    outlets: Outlets,
    depth: f64,
    length: f64,
    narrow: bool,
) -> PyResult<(Any<'py>, usize, usize, f64)> {
    let breached = run_on_pool(py, || {
        flow::breach::breach_depressions(
            &prepare_land(terrain, &cells_of_pairs(outlets))?,
            &BreachLimits { depth, length },
        )
    })?;
    // The removed heights are summed as integers in units of the fixed point, so the order of summation has no effect.
    let volume = breached.removed as f64 / thalweg_core::terrain::height::UNITS * terrain.0.grid.cell_area();
    let heights = heights_to_array(py, &breached.ground, terrain.0.nodata.as_ref(), narrow)?;
    Ok((heights, breached.breached, breached.kept, volume))
}

/// Computes D8 flow directions as ESRI codes, on the filled surface or on the unfilled elevation.
#[pyfunction]
pub fn d8<'py>(py: Python<'py>, terrain: &Terrain, outlets: Outlets, filled: bool) -> ArrayResult<'py> {
    let codes = run_on_pool(py, || {
        let outlets = cells_of_pairs(outlets);
        let land = prepare_land(terrain, &outlets)?;
        // On the filled surface every cell drains to an outlet; on the unfilled one water ends in pits.
        let directions = if filled { FlowGraph::new(&land).into_parts().1 } else { flow::d8::route_d8(&land) };
        Ok(streams::to_esri_codes(&directions))
    })?;
    field_to_array(py, codes)
}

/// Computes the angles of D∞ on the filled surface.
#[pyfunction]
pub fn dinf<'py>(py: Python<'py>, terrain: &Terrain, outlets: Outlets) -> ArrayResult<'py> {
    let angles = run_on_pool(py, || {
        let outlets = cells_of_pairs(outlets);
        let land = prepare_land(terrain, &outlets)?;
        let drainage = FlowGraph::new(&land);
        Ok(infinity::route_d_infinity(&drainage.with_filled_surface(&land), drainage.directions()))
    })?;
    field_to_array(py, angles)
}

/// Accumulates cells or weights along flow directions.
#[pyfunction]
#[pyo3(signature = (directions, looped, weights=None))]
pub fn accumulate<'py>(
    py: Python<'py>,
    directions: &Any<'py>,
    looped: Looped,
    weights: Option<&Any<'py>>,
) -> ArrayResult<'py> {
    let codes = read_bytes(directions)?;
    let Some(weights) = weights else {
        let cells = run_on_pool(py, || Ok(gather::count_upstream_cells(&parse_directions(&codes, looped)?)))?;
        return field_to_array(py, cells);
    };
    let weights = read_reals(weights)?;
    let sums = run_on_pool(py, || {
        let directions = parse_directions(&codes, looped)?;
        // Weights are summed as integer multiples of `part`, so that the result is the same for any number of threads.
        let (parts, part) = quantize_weights(&weights)?;
        Ok(gather::accumulate_weights(&directions, &parts)?.map(|sum| *sum as f64 * part))
    })?;
    field_to_array(py, sums)
}

/// Accumulates cells or weights along D∞ angles or, with an exponent, over all lower neighbours.
#[pyfunction]
#[pyo3(signature = (terrain, outlets, exponent=None, weights=None))]
pub fn multiple<'py>(
    py: Python<'py>,
    terrain: &Terrain,
    outlets: Outlets,
    exponent: Option<f64>,
    weights: Option<&Any<'py>>,
) -> ArrayResult<'py> {
    let weights = weights.map(read_reals).transpose()?;
    let sums = run_on_pool(py, || {
        let outlets = cells_of_pairs(outlets);
        let land = prepare_land(terrain, &outlets)?;
        let mut drainage = FlowGraph::new(&land);
        accumulate_multiple_flow(&land, &mut drainage, exponent, weights.as_ref())
    })?;
    field_to_array(py, sums)
}

/// Accumulates weights by the method of [`multiple`] on an existing flow graph.
fn accumulate_multiple_flow(
    land: &Land<'_>,
    drainage: &mut FlowGraph,
    exponent: Option<f64>,
    weights: Option<&Field<f64>>,
) -> Result<Field<f64>> {
    let ones = || Field::new(land.grid.size, 1.0);
    let (parts, part) = match weights {
        Some(weights) => quantize_weights(weights)?,
        None => quantize_weights(&ones())?,
    };
    let surface = drainage.with_filled_surface(land);
    let directions = drainage.directions();
    let sums = match exponent {
        // Without an exponent the flow is divided by D∞, otherwise over all lower neighbours.
        None => infinity::accumulate_d_infinity(directions, &infinity::route_d_infinity(&surface, directions), &parts)?,
        Some(exponent) => flow::multiple::accumulate_multiple(&surface, directions, exponent, parts)?.sums,
    };
    Ok(sums.map(|sum| *sum as f64 * part))
}

/// Returns true for rows or columns that are looped; `edges` is a word for all edges or a dict of sides.
#[pyfunction]
pub fn looped(edges: &Any<'_>) -> PyResult<Looped> {
    let edges = parse_edges(edges)?;
    Ok([0, 1].map(|axis| edges[axis] == Edge::Looped))
}

/// Labels cells with the numbers of their drainage basins, from 1.
#[pyfunction]
pub fn basins<'py>(py: Python<'py>, terrain: &Terrain, directions: &Any<'py>) -> ArrayResult<'py> {
    let (codes, looped) = (read_bytes(directions)?, terrain.0.grid.topology().looped);
    let basins = run_on_pool(py, || {
        flow::basins::label_basins(&Land::from_terrain(&terrain.0), &parse_directions(&codes, looped)?)
    })?;
    field_to_array(py, basins)
}

/// Computes the stream orders by Strahler or Shreve in the stream cells of the mask.
#[pyfunction]
pub fn orders<'py>(
    py: Python<'py>,
    directions: &Any<'py>,
    looped: Looped,
    streams: &Any<'py>,
    shreve: bool,
) -> ArrayResult<'py> {
    let (codes, mask) = (read_bytes(directions)?, read_bytes(streams)?);
    let orders = run_on_pool(py, || {
        let (directions, mask) = (parse_directions(&codes, looped)?, mask.map(|on| *on != 0));
        if shreve {
            streams::compute_shreve_magnitudes(&directions, &mask)
        } else {
            streams::compute_strahler_orders(&directions, &mask)
        }
    })?;
    field_to_array(py, orders)
}

/// Traces the channel reaches of the stream cells of the mask. The terrain is the filled surface, on which the flow
/// directions were computed.
#[pyfunction]
pub fn reaches<'py>(
    py: Python<'py>,
    terrain: &Terrain,
    directions: &Any<'py>,
    streams: &Any<'py>,
) -> PyResult<Vec<ReachTuple<'py>>> {
    let (codes, mask, looped) = (read_bytes(directions)?, read_bytes(streams)?, terrain.0.grid.topology().looped);
    let network = run_on_pool(py, || {
        let directions = parse_directions(&codes, looped)?;
        let counts = gather::count_upstream_cells(&directions);
        trace_channels(&Land::from_terrain(&terrain.0), &directions, &counts, &mask.map(|on| *on != 0))
    })?;
    reaches_to_tuples(py, &network)
}

/// Computes the length of the longest flow path from a divide in metres.
#[pyfunction]
pub fn upstream_length<'py>(
    py: Python<'py>,
    directions: &Any<'py>,
    looped: Looped,
    cell_size: f64,
) -> ArrayResult<'py> {
    let codes = read_bytes(directions)?;
    let lengths = run_on_pool(py, || Ok(streams::upstream_length(&parse_directions(&codes, looped)?, cell_size)))?;
    field_to_array(py, lengths)
}

/// Computes the length of the flow path to the outlet in metres.
#[pyfunction]
pub fn outlet_distance<'py>(
    py: Python<'py>,
    directions: &Any<'py>,
    looped: Looped,
    cell_size: f64,
) -> ArrayResult<'py> {
    let codes = read_bytes(directions)?;
    let lengths = run_on_pool(py, || Ok(streams::outlet_distance(&parse_directions(&codes, looped)?, cell_size)))?;
    field_to_array(py, lengths)
}

/// Computes χ in metres.
#[pyfunction]
pub fn chi<'py>(
    py: Python<'py>,
    directions: &Any<'py>,
    looped: Looped,
    areas: &Any<'py>,
    cell_size: f64,
    theta: f64,
    reference: f64,
) -> ArrayResult<'py> {
    let (codes, areas) = (read_bytes(directions)?, read_reals(areas)?);
    let chi = run_on_pool(py, || {
        streams::compute_chi(&parse_directions(&codes, looped)?, &areas, cell_size, theta, reference)
    })?;
    field_to_array(py, chi)
}

/// Computes the channel steepness in m^(2θ) on the filled surface; NaN in no-data cells.
#[pyfunction]
pub fn ksn<'py>(py: Python<'py>, terrain: &Terrain, theta: f64) -> ArrayResult<'py> {
    let ksn = run_on_pool(py, || {
        let (drainage, grid) = (FlowGraph::new(&prepare_land(terrain, &[])?), &terrain.0.grid);
        let areas = drainage.upstream_cells().map(|n| f64::from(*n) * grid.cell_area());
        streams::compute_ksn(drainage.directions(), drainage.filled_surface(), &areas, grid.cell, theta)
    })?;
    field_to_array(py, ksn)
}

/// A column of a table.
type Column<'py, T> = Bound<'py, PyArray1<T>>;

/// The depressions: the leaf of each cell, −1 outside; then for each depression its pit (row, column), floor in metres,
/// parent, children, the cell, level and target of its spill, number of cells, and volume in m³. −1 and NaN mean none.
type Depressions<'py> = (
    Any<'py>,
    Bound<'py, PyArray2<i64>>,
    Column<'py, f64>,
    Column<'py, i64>,
    Vec<Option<[u32; 2]>>,
    Bound<'py, PyArray2<i64>>,
    Column<'py, f64>,
    Column<'py, i64>,
    Column<'py, i64>,
    Column<'py, f64>,
);

/// Computes the hierarchy of nested depressions.
#[pyfunction]
pub fn hierarchy<'py>(py: Python<'py>, terrain: &Terrain, outlets: Outlets) -> PyResult<Depressions<'py>> {
    let found = run_on_pool(py, || Ok(Hierarchy::from_land(&prepare_land(terrain, &cells_of_pairs(outlets))?)))?;
    let cols = terrain.0.grid.cols();
    let cell = |k: u32| Cell::new(k as usize / cols, k as usize % cols);
    let number = |n: Option<u32>| n.map_or(-1, i64::from);
    let all = &found.depressions;
    // Signed numbers let −1 mean "none", as NumPy has no optional integers.
    let leaf = found.leaf.map(|leaf| if *leaf == flow::depressions::OUTSIDE { -1 } else { i64::from(*leaf) });
    let per_unit = terrain.0.grid.cell_area() / thalweg_core::terrain::height::UNITS;
    // The largest integer marks a depression without a spill, which no amount of water fills.
    let volume = |volume: i64| if volume == i64::MAX { f64::INFINITY } else { volume as f64 * per_unit };
    let spills: Vec<Cell> = all.iter().map(|d| cell(d.spill.map_or(d.pit, |spill| spill.cell))).collect();
    Ok((
        field_to_array(py, leaf)?,
        cells_to_array(py, &all.iter().map(|d| cell(d.pit)).collect::<Vec<_>>())?,
        PyArray1::from_iter(py, all.iter().map(|d| d.floor.metres())),
        PyArray1::from_iter(py, all.iter().map(|d| number(d.parent))),
        all.iter().map(|d| d.children).collect(),
        cells_to_array(py, &spills)?,
        PyArray1::from_iter(py, all.iter().map(|d| d.spill.map_or(f64::NAN, |spill| spill.level.metres()))),
        PyArray1::from_iter(py, all.iter().map(|d| number(d.spill.and_then(|spill| spill.to)))),
        PyArray1::from_iter(py, all.iter().map(|d| i64::from(d.cells))),
        PyArray1::from_iter(py, all.iter().map(|d| volume(d.volume))),
    ))
}
