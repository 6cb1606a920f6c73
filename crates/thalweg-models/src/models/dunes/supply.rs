//! Where sand comes from: what lies there at the start, and what the wind brings over the edges.

use rayon::prelude::*;

use crate::model::Tick;
use crate::models::dunes::slab::{CRUMB, Slab};
use crate::models::dunes::{BLOCK, Dunes};
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Edge, Field, Grid, Height, Terrain};
use thalweg_noise::fractal::{Fractal, FractalSettings};

/// Slopes on which no sand is laid at the start; on a third of it all is.
const BARE: f64 = 0.27;

/// From one thick patch of sand to the next, in hops.
const PATCH: f64 = 20.0;

/// Hops that a slab from beyond the edge may be away: of longer ways too little is left.
const FETCH: f64 = 4.5;

/// Slabs that start for a cell of the edge in a step: those of more are thicker.
const MOST_A_CELL: f64 = 64.0;

/// By how much the numbers of slabs grow from row to row: blocks may stand over the eastern edge.
pub(super) fn columns(grid: &Grid) -> i64 {
    grid.world[1] as i64 + BLOCK + (grid.first[1] - corner(grid).col)
}

/// The block of cells of the world in which its first cell lies.
pub(super) fn corner(grid: &Grid) -> Cell<i64> {
    grid.first.map(|first| first.div_euclid(BLOCK) * BLOCK)
}

/// The first of the numbers of a step's slabs: one for each cell of the world, then those that are blown in.
pub(super) fn numbers(grid: &Grid, tick: Tick) -> u64 {
    u64::from(tick.step) * (cells(grid) + 4 * over_a_side(grid))
}

fn cells(grid: &Grid) -> u64 {
    (grid.world[0] as u64 + BLOCK as u64 + (grid.first[0] - corner(grid).row) as u64) * columns(grid) as u64
}

/// The most that may be blown in over a side.
fn over_a_side(grid: &Grid) -> u64 {
    grid.world[0].max(grid.world[1]) as u64 * MOST_A_CELL as u64
}

/// How much more or less sand there is than in the mean, 0 to 2: rows of noise on the world's metres.
struct Patches {
    noise: Fractal,
    strength: f32,
}

impl Patches {
    fn new(model: &Dunes, grid: &Grid, key: Key) -> Self {
        let settings = FractalSettings::fbm(4, PATCH * model.hop, 0.6);
        Self { noise: Fractal::new(&settings, None, key, grid.cell), strength: 3.0 * model.patchiness as f32 }
    }

    fn row(&self, grid: &Grid, i: usize) -> Vec<f32> {
        let mut row = vec![0.0; grid.cols()];
        self.noise.row(grid, i, &mut row);
        row.iter_mut().for_each(|x| *x = (1.0 + self.strength * *x).clamp(0.0, 2.0));
        row
    }
}

/// Lays the first sand, all on the plains, none on slopes; the units laid.
pub(super) fn lay(model: &Dunes, terrain: &mut Terrain, key: Key) -> i128 {
    let patches = Patches::new(model, &terrain.grid, key.and(1));
    let mut depth = Field::new(terrain.grid.size, Height::ZERO);
    depth.par_rows_mut().for_each(|(i, row)| {
        let more = patches.row(&terrain.grid, i);
        for (j, depth) in row.iter_mut().enumerate().filter(|(j, _)| !terrain.is_nodata(i, *j)) {
            let share = (1.5 * (1.0 - slope(terrain, i, j) / BARE)).clamp(0.0, 1.0);
            let room = Height::MAX.0 - terrain.ground[(i, j)].0;
            *depth = Height(((model.sand * UNITS * share * f64::from(more[j])).round() as i32).min(room));
        }
    });
    for (ground, depth) in terrain.ground.as_mut_slice().iter_mut().zip(depth.as_slice()) {
        ground.0 += depth.0;
    }
    let laid = depth.as_slice().iter().map(|h| i128::from(h.0)).sum();
    terrain.loose = Some(depth);
    laid
}

/// Rise over run of the ground about a cell; what lies beyond missing data and edges is level with it.
fn slope(terrain: &Terrain, i: usize, j: usize) -> f64 {
    let [rows, cols] = terrain.grid.size;
    let at = |i: usize, j: usize, else_at: [usize; 2]| {
        let [i, j] = if i < rows && j < cols && !terrain.is_nodata(i, j) { [i, j] } else { else_at };
        f64::from(terrain.ground[(i, j)].0)
    };
    let south = at(i + 1, j, [i, j]) - at(i.wrapping_sub(1), j, [i, j]);
    let east = at(i, j + 1, [i, j]) - at(i, j.wrapping_sub(1), [i, j]);
    (south * south + east * east).sqrt() / (2.0 * terrain.grid.cell * UNITS)
}

/// What the wind brings over open edges from a plain of sand beyond, `inflow` of it: slabs that set out there as they do
/// here, where they come down within.
pub(super) fn blown_in(model: &Dunes, slab: i32, terrain: &Terrain, wind: [f64; 2], tick: Tick) -> Vec<Slab> {
    let grid = &terrain.grid;
    let hop = model.hop / grid.cell;
    let first = numbers(grid, tick) + cells(grid);
    // Inward parts of the wind at the northern, eastern, southern and western edge.
    let inward = [wind[0], -wind[1], -wind[0], wind[1]];
    let mut slabs = Vec::new();
    for side in (0..4).filter(|side| grid.edges[*side] == Edge::Open) {
        let length = grid.size[(side + 1) % 2];
        let sources = FETCH * hop * inward[side];
        let count = sources.ceil().clamp(0.0, MOST_A_CELL);
        if count == 0.0 {
            continue;
        }
        // Patches go by as time does: rows of noise, a cell a step.
        let passing = Grid { size: [1, length], origin: Cell::new(tick.step.into(), 0), ..grid.clone() };
        let patches = Patches::new(model, grid, tick.key.and(2 + side as u64)).row(&passing, 0);
        let come = |n: usize| {
            let along = n / count as usize;
            let number = first + side as u64 * over_a_side(grid) + n as u64;
            let [u, way] = tick.key.and(number).pair();
            let (left, beyond) = crossing(model, tick.key.and(number), FETCH * way)?;
            let load = f64::from(slab) * model.inflow * f64::from(patches[along]) * left * sources / count;
            let [rows, cols] = grid.size.map(|n| n as f64);
            let along = along as f64 + u;
            let edge = [[0.0, along], [along, cols], [rows, along], [along, 0.0]][side];
            let place = Cell::from_axes(|a| edge[a] + beyond * hop * wind[a]);
            let inside = place.row >= 0.0 && place.row < rows && place.col >= 0.0 && place.col < cols;
            let load = load.round().min(UNITS * 1000.0) as i32;
            let (i, j) = (place.row as usize, place.col as usize);
            if load <= 0 || !inside || terrain.is_nodata(i, j) {
                return None;
            }
            let part = place.map(|x| x - x.floor());
            Some(Slab::blown_in(number, grid.world_cell(i, j), part, load))
        };
        slabs.par_extend((0..length * count as usize).into_par_iter().filter_map(come));
    }
    slabs
}

/// What is left of a slab from so many hops before the edge when it comes over, and where it comes down behind, in hops.
fn crossing(model: &Dunes, key: Key, way: f64) -> Option<(f64, f64)> {
    let (mut left, mut place) = (1.0, -way);
    for hop in 1.. {
        place += 0.5 + key.and(hop).unit();
        if place >= 0.0 {
            return Some((left, place));
        }
        left *= 1.0 - model.on_sand;
        if left < 1.0 / f64::from(CRUMB) {
            break;
        }
    }
    None
}
