//! Streams drawn on a terrain: those of its discharge, or, if no model has routed any water yet, those that runoff
//! would form on it.

use crate::pictures::relief::Relief;
use crate::pictures::sample::{interpolate_bilinear, quantile_of_sorted};
use crate::pictures::water::{Streams, Water};
use thalweg_core::{Field, Grid, Height, Result, Terrain};
use thalweg_flow::{FlowGraph, Land};

/// The runoff per square metre of land in m/s: 200 l/s per km², as after days of rain. In dry weather it is a tenth
/// of that, and no river on a small map would be as wide as a cell.
const RUNOFF_M_PER_S: f64 = 2e-7;
/// The shares of land with a higher discharge than those at which computed streams begin to appear and at which they
/// are opaque.
const STREAM_LAND_SHARES: [f64; 2] = [0.016, 0.003];

/// Returns the share of each of the relief's samples that streams cover, 0 to 1: those of the terrain's discharge if
/// there is any flow, otherwise those of computed runoff. No stream is narrower than about half a cell.
///
/// # Errors
/// Returns an error if the relief has more samples than a grid may have cells.
pub fn compute_stream_cover(terrain: &Terrain, relief: &Relief) -> Result<Field<f32>> {
    // On samples much finer than cells the thinnest stream would be hardly visible, so the cover is computed on coarser
    // samples: at most one at each cell's centre and one between each two.
    let most = terrain.grid.size.map(|n| 2 * n.max(2) - 1);
    let size = [0, 1].map(|k| relief.size()[k].min(most[k]));
    if size == relief.size() {
        return cover_samples(terrain, relief);
    }
    let cover = cover_samples(terrain, &relief.resized(size))?;
    // The outermost samples of both resolutions coincide, so that positions scale by the ratio of intervals.
    let step = [0, 1].map(|k| (size[k] - 1) as f32 / (relief.size()[k] - 1) as f32);
    Ok(Field::from_fn(relief.size(), |i, j| interpolate_bilinear(&cover, i as f32 * step[0], j as f32 * step[1])))
}

fn cover_samples(terrain: &Terrain, relief: &Relief) -> Result<Field<f32>> {
    let water = Water::from_terrain(terrain);
    let runs = |streams: &Streams<'_>| streams.discharge.as_slice().iter().any(|q| *q > 0.0 && q.is_finite());
    if let Some(streams) = water.streams.filter(runs) {
        return Ok(streams.cover_samples(relief, terrain.grid.size));
    }
    let discharge = accumulate_runoff(terrain, relief)?;
    Ok(Streams { range: choose_shown_discharges(relief, &discharge), ..Streams::from_discharge(&discharge) }
        .cover_samples(relief, relief.size()))
}

/// Returns the discharges at which computed streams begin to appear and at which they are opaque. Fewer streams are
/// shown than for modelled discharge, because computed runoff gives every slope its own.
fn choose_shown_discharges(relief: &Relief, discharge: &Field<f32>) -> Option<[f32; 2]> {
    // The sample contains land with flow only, so that seas and lakes do not shift the quantiles.
    let values = relief.sorted_values(|i, j| Some(discharge[(i, j)]).filter(|q| *q > 0.0));
    let [low, high] = STREAM_LAND_SHARES.map(|share| quantile_of_sorted(&values, 1.0 - share));
    // If nearly all cells have the same discharge, the two quantiles do not form a range; the caller's default applies.
    (low > 0.0 && low < 0.8 * high).then_some([low, high])
}

/// Returns the discharge in m³/s of each sample for uniform rain on the relief that runs off completely.
fn accumulate_runoff(terrain: &Terrain, relief: &Relief) -> Result<Field<f32>> {
    // The limits are those within which a grid accepts a cell width.
    let cell = f64::from(relief.cell[0].max(relief.cell[1])).clamp(1e-3, 1e5);
    // The map's edges are open, so that runoff also leaves a world that is looped.
    let grid = Grid {
        edges: terrain.grid.with_open_edges().edges,
        sea_level: terrain.grid.sea_level,
        ..Grid::new(relief.size(), cell)?
    };
    let ground = relief.heights.map(|h| Height::from_metres_clamped(f64::from(*h)));
    let land = Land { grid: &grid, ground: &ground, nodata: relief.nodata.as_ref(), outlets: &[] };
    let drainage = FlowGraph::new(&land);
    let [rows, cols] = relief.size();
    let on_rim =
        |k: usize| k < cols || k >= (rows - 1) * cols || k.is_multiple_of(cols) || (k + 1).is_multiple_of(cols);
    // Flow along the rim is only an artefact of the search for a lower outlet, so rim cells count only what arrives
    // from inside.
    let mut discharge = drainage.accumulate_uniform_yield(RUNOFF_M_PER_S * cell * cell);
    let mut arrived = vec![0f32; discharge.len()];
    for k in (0..arrived.len()).filter(|k| !on_rim(*k)) {
        if let Some(rim) = drainage.next(k).filter(|to| on_rim(*to)) {
            arrived[rim] = arrived[rim].max(discharge[k]);
        }
    }
    let rim = discharge.as_mut_slice().iter_mut().zip(arrived).enumerate().filter(|(k, _)| on_rim(*k));
    rim.for_each(|(_, (here, arrived))| *here = arrived);
    Ok(discharge)
}
