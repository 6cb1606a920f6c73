//! Further texture maps: occlusion, curvature, flow, and the erosion and deposition of a run.

use crate::pictures::light::compute_sky_view;
use crate::pictures::sample::interpolate_bilinear;
use crate::products::slope::central_gradient;
use crate::products::wetness::find_or_route_discharge;
use thalweg_core::terrain::{GROUND, MOMENTUM_X, MOMENTUM_Y};
use thalweg_core::{Cell, Error, Field, Result, Terrain};
use thalweg_flow::{D8, FlowGraph, Land, hydraulic};

/// The greatest curvature that a map shows, in 1/m on cells of 1 m; inversely proportional to the cell width.
const MAX_CURVATURE_PER_CELL: f64 = 0.25;
/// The speed in m/s of sheet flow, outside rivers, on a slope of 1.
const SHEET: f64 = 0.3;
/// The greatest speed in m/s that a flow map shows.
pub const MAX_SPEED_M_PER_S: f32 = 4.0;

/// Returns the share of the sky that is visible from each cell, 0 to 1: ambient occlusion by the surrounding terrain;
/// 1 without data.
///
/// # Examples
/// The bottom of a valley sees less of the sky than its rim.
///
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_render::products::textures::maps::compute_occlusion;
///
/// let ground = Field::from_fn([17, 17], |_, j| Height::from_metres_clamped(20.0 * j.abs_diff(8) as f64));
/// let open = compute_occlusion(&Terrain::from_ground(Grid::new([17, 17], 10.0)?, ground)?);
/// assert!(open[(8, 8)] < open[(8, 0)]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn compute_occlusion(terrain: &Terrain) -> Field<f32> {
    // Cells without data have the lowest elevation, so they hide nothing.
    let heights = terrain.ground_metres();
    let open = compute_sky_view(&heights, [terrain.grid.cell as f32; 2], 1.0);
    Field::from_fn(terrain.grid.size, |i, j| match terrain.is_nodata(i, j) {
        true => 1.0,
        false => interpolate_bilinear(&open, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0),
    })
}

/// Returns the greatest curvature in 1/m that a map shows, for cells of `cell` metres.
pub fn max_shown_curvature(cell: f64) -> f64 {
    MAX_CURVATURE_PER_CELL / cell
}

/// Returns the mean curvature of each cell, minus half the Laplacian, in 1/m: positive on crests, negative in
/// hollows; 0 without data. A direction that meets a hole or an edge counts as level.
///
/// # Examples
/// The Laplacian of a summit of 12.5 m on cells of 10 m is 4 · (−12.5 m) / (10 m)² = −0.5/m.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::textures::maps::compute_curvature;
///
/// let heights = [0.0, 0.0, 0.0, 0.0, 12.5, 0.0, 0.0, 0.0, 0.0];
/// let terrain = Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?;
/// assert_eq!(compute_curvature(&terrain)[(1, 1)], 0.25);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn compute_curvature(terrain: &Terrain) -> Field<f32> {
    let grid = &terrain.grid;
    let topology = grid.topology();
    Field::from_fn(grid.size, |i, j| {
        let here = terrain.ground[(i, j)].metres();
        if terrain.is_nodata(i, j) {
            return 0.0;
        }
        let pair = |a: [isize; 2], b: [isize; 2]| {
            let at = |step| topology.offset_cell([i, j], step).filter(|cell| !terrain.is_nodata(cell.row, cell.col));
            match (at(a), at(b)) {
                (Some(Cell { row: r, col: c }), Some(Cell { row: s, col: d })) => {
                    terrain.ground[(r, c)].metres() + terrain.ground[(s, d)].metres() - 2.0 * here
                }
                _ => 0.0,
            }
        };
        // A positive Laplacian is a hollow, so the sign is changed for crests to be positive.
        (-0.5 * (pair([-1, 0], [1, 0]) + pair([0, -1], [0, 1])) / grid.cell_area()) as f32
    })
}

/// Returns the flow of each cell: unit vector east and south, and speed in m/s; zeros without data and where there is
/// no direction. `runoff` is in metres of water per year, for a terrain without discharge.
///
/// The direction is that of the terrain's water momentum, if there is any and the terrain does not rise that way (it
/// may have been changed since); otherwise it is the flow direction on the terrain with its depressions filled. The
/// speed is the larger of that of a river with the cell's discharge and that of sheet flow down the slope.
///
/// # Examples
/// Water on a slope that falls to the east, at a runoff of 0.3 m per year.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::textures::maps::flow_map;
///
/// let heights = [2.0, 1.0, 0.0, 2.0, 1.0, 0.0, 2.0, 1.0, 0.0];
/// let terrain = Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?;
/// let [east, south, speed] = flow_map(&terrain, 0.3)[(1, 1)];
/// assert_eq!([east, south], [1.0, 0.0]);
/// assert!(speed > 0.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn flow_map(terrain: &Terrain, runoff: f64) -> Field<[f32; 3]> {
    let momentum = terrain.float_layer(&MOMENTUM_X).zip(terrain.float_layer(&MOMENTUM_Y));
    let discharge = find_or_route_discharge(terrain, runoff);
    let drainage = FlowGraph::new(&Land::from_terrain(terrain));
    let cols = terrain.grid.cols();
    let topology = terrain.grid.topology();
    // Receivers are listed in advance, because a flow graph cannot be shared between threads.
    let next: Vec<Option<usize>> = (0..terrain.grid.len()).map(|k| drainage.next(k)).collect();
    Field::from_fn(terrain.grid.size, |i, j| {
        if terrain.is_nodata(i, j) {
            return [0.0; 3];
        }
        let passing = momentum.map_or([0.0; 2], |(x, y)| [x[(i, j)], y[(i, j)]]);
        let [east, north] = central_gradient(terrain, i, j);
        let steep = (east * east + north * north).sqrt();
        // The direction to the cell that this one drains to on the filled surface; the gradient is only used where
        // there is none.
        let bed = || {
            let k = next[i * cols + j]?;
            D8::OFFSETS
                .into_iter()
                .find(|step| topology.offset_cell([i, j], *step) == Some(Cell::new(k / cols, k % cols)))
        };
        // Momentum counts first, then the flow direction, then the slope.
        let toward = match (can_flow_on(terrain, [i, j], passing), bed()) {
            (true, _) => passing,
            (false, Some([south, east])) => [east as f32, south as f32],
            (false, None) => [-east as f32, north as f32],
        };
        let length = (toward[0] * toward[0] + toward[1] * toward[1]).sqrt();
        // Level ground without a receiver has no direction.
        if !(length > 0.0 && length.is_finite()) {
            return [0.0; 3];
        }
        // Sheet flow is proportional to the square root of the slope, as in Manning's law, and at most SHEET.
        let speed = hydraulic::flow_velocity(discharge[(i, j)]).max((SHEET * steep.sqrt().min(1.0)) as f32);
        [toward[0] / length, toward[1] / length, speed]
    })
}

/// Returns true if water with this momentum (eastward and southward) can flow on: the next cell in its direction is
/// not higher.
fn can_flow_on(terrain: &Terrain, [i, j]: [usize; 2], momentum: [f32; 2]) -> bool {
    let [east, south] = momentum;
    let most = east.abs().max(south.abs());
    if !(most > 0.0 && most.is_finite()) {
        return false;
    }
    // The larger component becomes a whole step, the smaller one is rounded: one of the eight neighbours.
    let step = [south, east].map(|part| (part / most).round() as isize);
    let ahead = terrain.grid.topology().offset_cell([i, j], step);
    // Water may leave the map and enter cells without data.
    ahead.is_none_or(|Cell { row: r, col: c }| {
        terrain.is_nodata(r, c) || terrain.ground[(r, c)] <= terrain.ground[(i, j)]
    })
}

/// Returns the erosion and the deposition of a run in metres, per cell, each 0 or more, relative to the terrain at
/// its start; zeros without data.
///
/// # Errors
/// Returns an error if the start has another size.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::textures::maps::measure_ground_change;
///
/// let grid = Grid::new([1, 2], 10.0)?;
/// let start = Terrain::from_metres(grid.clone(), &[10.0, 10.0])?;
/// let terrain = Terrain::from_metres(grid, &[8.0, 13.0])?;
/// let [eroded, deposited] = measure_ground_change(&terrain, &start)?;
/// assert_eq!(eroded.as_slice(), [2.0, 0.0]);
/// assert_eq!(deposited.as_slice(), [0.0, 3.0]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn measure_ground_change(terrain: &Terrain, start: &Terrain) -> Result<[Field<f32>; 2]> {
    if start.grid.size != terrain.grid.size {
        let ([rows, cols], [want_rows, want_cols]) = (start.grid.size, terrain.grid.size);
        let problem =
            format!("is {cols} × {rows} cells at the start (columns × rows); the terrain is {want_cols} × {want_rows}");
        return Err(Error::invalid_layer(GROUND.name, problem));
    }
    let rise = |i: usize, j: usize| {
        let known = !terrain.is_nodata(i, j) && !start.is_nodata(i, j);
        if known { (terrain.ground[(i, j)].metres() - start.ground[(i, j)].metres()) as f32 } else { 0.0 }
    };
    let size = terrain.grid.size;
    Ok([Field::from_fn(size, |i, j| (-rise(i, j)).max(0.0)), Field::from_fn(size, |i, j| rise(i, j).max(0.0))])
}
