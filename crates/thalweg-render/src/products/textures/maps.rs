//! Maps beside weights and albedo: occlusion, curvature, flow, and what a run has worn away and laid down.

use crate::pictures::light::sky;
use crate::pictures::sample::bilinear;
use crate::products::slope::gradient;
use crate::products::wetness::discharge;
use thalweg_core::terrain::{GROUND, MOMENTUM_X, MOMENTUM_Y};
use thalweg_core::{Cell, Error, Field, Result, Terrain};
use thalweg_flow::{D8, FlowGraph, Land, hydraulic};

/// Greatest curvature that a map shows, in 1/m on cells of 1 m; it is less on wider cells, in proportion.
const SHARPEST: f64 = 0.25;
/// Speed in m/s of water that runs down a slope, where no river is, at a slope of 1.
const SHEET: f64 = 0.3;
/// Greatest speed in m/s that a flow map shows.
pub const FASTEST: f32 = 4.0;

/// Share of the sky that the ground sees by cell, 0 none to 1 all of it: ambient occlusion by the land about it; 1 without data.
pub fn occlusion(terrain: &Terrain) -> Field<f32> {
    // Holes stand at the lowest height, so they hide nothing.
    let heights = terrain.metres();
    let open = sky(&heights, [terrain.grid.cell as f32; 2], 1.0);
    Field::generate(terrain.grid.size, |i, j| match terrain.is_nodata(i, j) {
        true => 1.0,
        false => bilinear(&open, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0),
    })
}

/// Greatest curvature in 1/m that a map of cells so wide, in metres, shows.
pub fn sharpest(cell: f64) -> f64 {
    SHARPEST / cell
}

/// Mean curvature by cell, minus half the Laplacian, in 1/m: above 0 on crests, below 0 in hollows; 0 without data. A direction
/// that meets a hole or an edge counts as level.
pub fn curvature(terrain: &Terrain) -> Field<f32> {
    let grid = &terrain.grid;
    let topology = grid.topology();
    Field::generate(grid.size, |i, j| {
        let here = terrain.ground[(i, j)].metres();
        if terrain.is_nodata(i, j) {
            return 0.0;
        }
        let pair = |a: [isize; 2], b: [isize; 2]| {
            let at = |step| topology.cell([i, j], step).filter(|cell| !terrain.is_nodata(cell.row, cell.col));
            match (at(a), at(b)) {
                (Some(Cell { row: r, col: c }), Some(Cell { row: s, col: d })) => {
                    terrain.ground[(r, c)].metres() + terrain.ground[(s, d)].metres() - 2.0 * here
                }
                _ => 0.0,
            }
        };
        (-0.5 * (pair([-1, 0], [1, 0]) + pair([0, -1], [0, 1])) / grid.cell_area()) as f32
    })
}

/// Where water goes by cell: unit vector east and south, and speed in m/s; zeros without data and where it goes nowhere. `runoff` is
/// in metres of water a year, for a terrain without discharge.
///
/// The direction is that of the momentum that the terrain's water has, if it has any and the ground does not rise that way (it may have
/// been shaped since); else down the slope of the ground with its depressions filled. The speed is that of a river of the cell's
/// discharge, or of water that runs down the slope, whichever is greater.
pub fn flow_map(terrain: &Terrain, runoff: f64) -> Field<[f32; 3]> {
    let momentum = terrain.float(&MOMENTUM_X).zip(terrain.float(&MOMENTUM_Y));
    let discharge = discharge(terrain, runoff);
    let drainage = FlowGraph::new(&Land::of(terrain));
    let cols = terrain.grid.cols();
    let topology = terrain.grid.topology();
    let next: Vec<Option<usize>> = (0..terrain.grid.len()).map(|k| drainage.next(k)).collect();
    Field::generate(terrain.grid.size, |i, j| {
        if terrain.is_nodata(i, j) {
            return [0.0; 3];
        }
        let passing = momentum.map_or([0.0; 2], |(x, y)| [x[(i, j)], y[(i, j)]]);
        let [east, north] = gradient(terrain, i, j);
        let steep = (east * east + north * north).sqrt();
        // What falls on a slope runs down it; in rivers and on level ground water keeps to its bed.
        let bed = || {
            let k = next[i * cols + j]?;
            D8::OFFSETS.into_iter().find(|step| topology.cell([i, j], *step) == Some(Cell::new(k / cols, k % cols)))
        };
        let toward = match (passes(terrain, [i, j], passing), bed()) {
            (true, _) => passing,
            (false, Some([south, east])) => [east as f32, south as f32],
            (false, None) => [-east as f32, north as f32],
        };
        let length = (toward[0] * toward[0] + toward[1] * toward[1]).sqrt();
        if !(length > 0.0 && length.is_finite()) {
            return [0.0; 3];
        }
        let speed = hydraulic::flow_velocity(discharge[(i, j)]).max((SHEET * steep.sqrt().min(1.0)) as f32);
        [toward[0] / length, toward[1] / length, speed]
    })
}

/// Whether water that passes a cell with this momentum, eastward and southward, can go on: the next cell on its way is no higher.
fn passes(terrain: &Terrain, [i, j]: [usize; 2], momentum: [f32; 2]) -> bool {
    let [east, south] = momentum;
    let most = east.abs().max(south.abs());
    if !(most > 0.0 && most.is_finite()) {
        return false;
    }
    let step = [south, east].map(|part| (part / most).round() as isize);
    let ahead = terrain.grid.topology().cell([i, j], step);
    ahead.is_none_or(|Cell { row: r, col: c }| {
        terrain.is_nodata(r, c) || terrain.ground[(r, c)] <= terrain.ground[(i, j)]
    })
}

/// Metres that a run has worn away and laid down by cell, each 0 or more, from the ground at its start; zeros without data.
///
/// # Errors
/// When the start is of another size.
pub fn measure_wear(terrain: &Terrain, start: &Terrain) -> Result<[Field<f32>; 2]> {
    if start.grid.size != terrain.grid.size {
        let ([rows, cols], [want_rows, want_cols]) = (start.grid.size, terrain.grid.size);
        let problem =
            format!("of the start is {cols} × {rows} cells (columns × rows); the terrain is {want_cols} × {want_rows}");
        return Err(Error::layer(GROUND.name, problem));
    }
    let rise = |i: usize, j: usize| {
        let known = !terrain.is_nodata(i, j) && !start.is_nodata(i, j);
        if known { (terrain.ground[(i, j)].metres() - start.ground[(i, j)].metres()) as f32 } else { 0.0 }
    };
    let size = terrain.grid.size;
    Ok([Field::generate(size, |i, j| (-rise(i, j)).max(0.0)), Field::generate(size, |i, j| rise(i, j).max(0.0))])
}
