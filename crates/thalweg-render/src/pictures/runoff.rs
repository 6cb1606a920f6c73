//! Streams over the land: of the water that runs there, or of what the land itself would gather where no model has let any flow
//! yet.

use crate::pictures::relief::Relief;
use crate::pictures::sample::{bilinear, quantile};
use crate::pictures::water::{Streams, Water};
use thalweg_core::{Field, Grid, Height, Result, Terrain};
use thalweg_flow::{FlowGraph, Land};

/// Water that a square metre of land gives to its streams in m/s: 200 l/s from a km², as after days of rain. In dry weather
/// it is a tenth, and no river of a small land would be as wide as a cell.
const YIELD: f64 = 2e-7;
/// Shares of the land above the discharges at which the streams that it makes begin to show and are opaque.
const SHOWN: [f64; 2] = [0.016, 0.003];

/// The share of each of the relief's samples that streams cover, 0 to 1: of the terrain's discharge if any water runs
/// there, or else of what the land would gather. No stream is narrower than a good half of a cell.
///
/// # Errors
/// When the relief has more samples than a grid may have cells.
pub fn cover(terrain: &Terrain, relief: &Relief) -> Result<Field<f32>> {
    // On samples much finer than cells the thinnest stream would be a hair.
    let most = terrain.grid.size.map(|n| 2 * n.max(2) - 1);
    let size = [0, 1].map(|k| relief.size()[k].min(most[k]));
    if size == relief.size() {
        return cover_of(terrain, relief);
    }
    let cover = cover_of(terrain, &relief.resized(size))?;
    let step = [0, 1].map(|k| (size[k] - 1) as f32 / (relief.size()[k] - 1) as f32);
    Ok(Field::generate(relief.size(), |i, j| bilinear(&cover, i as f32 * step[0], j as f32 * step[1])))
}

fn cover_of(terrain: &Terrain, relief: &Relief) -> Result<Field<f32>> {
    let water = Water::of(terrain);
    let runs = |streams: &Streams<'_>| streams.discharge.as_slice().iter().any(|q| *q > 0.0 && q.is_finite());
    if let Some(streams) = water.streams.filter(runs) {
        return Ok(streams.on(relief, terrain.grid.size));
    }
    let discharge = gathered(terrain, relief)?;
    Ok(Streams { range: shown(relief, &discharge), ..Streams::of(&discharge) }.on(relief, relief.size()))
}

/// Discharges at which streams that the land makes begin to show and are opaque: fewer than of water that ran, because
/// every slope has its own.
fn shown(relief: &Relief, discharge: &Field<f32>) -> Option<[f32; 2]> {
    let values = relief.sorted(|i, j| Some(discharge[(i, j)]).filter(|q| *q > 0.0));
    let [low, high] = SHOWN.map(|share| quantile(&values, 1.0 - share));
    (low > 0.0 && low < 0.8 * high).then_some([low, high])
}

/// Discharge in m³/s by sample if rain fell evenly on the relief and all of it ran off.
fn gathered(terrain: &Terrain, relief: &Relief) -> Result<Field<f32>> {
    let cell = f64::from(relief.cell[0].max(relief.cell[1])).clamp(1e-3, 1e5);
    let grid = Grid {
        edges: terrain.grid.unrolled().edges,
        sea_level: terrain.grid.sea_level,
        ..Grid::new(relief.size(), cell)?
    };
    let ground = relief.heights.map(|h| Height::saturating(f64::from(*h)));
    let land = Land { grid: &grid, ground: &ground, nodata: relief.nodata.as_ref(), outlets: &[] };
    let drainage = FlowGraph::new(&land);
    let [rows, cols] = relief.size();
    let on_rim =
        |k: usize| k < cols || k >= (rows - 1) * cols || k.is_multiple_of(cols) || (k + 1).is_multiple_of(cols);
    // What runs along the rim only seeks a lower way out: there, what comes from inside counts alone.
    let mut discharge = drainage.yields(YIELD * cell * cell);
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
