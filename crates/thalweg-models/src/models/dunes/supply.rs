//! Sources of sand: the initial cover, and the inflow over the edges.

use rayon::prelude::*;

use crate::model::Tick;
use crate::models::dunes::slab::{MIN_HOP_LOAD_DIVISOR, Slab};
use crate::models::dunes::{BLOCK, Dunes};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Edge, Field, Grid, Height, Terrain};
use thalweg_noise::fractal::{Fractal, FractalSettings};

/// Slope from which on no sand is placed at the start. Up to a third of it, the full amount is.
const BARE: f64 = 0.27;

/// Distance from one thick patch of sand to the next, in hops.
const PATCH: f64 = 20.0;

/// Maximum distance upwind of the edge, in hops, from which a slab may come: from farther away too little is left.
const FETCH: f64 = 4.5;

/// Maximum number of slabs that start per cell of the edge and step. If there should be more, they are thicker
/// instead.
const MAX_SLABS_PER_CELL: f64 = 64.0;

/// Returns the difference of the numbers of slabs from row to row. It includes a margin, since blocks may extend over
/// the eastern edge.
pub(super) fn slab_numbers_per_row(grid: &Grid) -> i64 {
    grid.world[1] as i64 + BLOCK + (grid.first[1] - first_block_corner(grid).col)
}

/// Returns the first cell of the block that contains the world's first cell.
pub(super) fn first_block_corner(grid: &Grid) -> Cell<i64> {
    grid.first.map(|first| first.div_euclid(BLOCK) * BLOCK)
}

/// Returns the first number of a step's slabs: one for each cell of the world, followed by those of the inflow.
pub(super) fn first_slab_number(grid: &Grid, tick: Tick) -> u64 {
    u64::from(tick.step) * (reserved_cell_numbers(grid) + 4 * max_slabs_per_side(grid))
}

/// Returns the count of numbers reserved for the cells of the world.
fn reserved_cell_numbers(grid: &Grid) -> u64 {
    (grid.world[0] as u64 + BLOCK as u64 + (grid.first[0] - first_block_corner(grid).row) as u64)
        * slab_numbers_per_row(grid) as u64
}

/// Returns the maximum number of slabs that are blown in over a side.
fn max_slabs_per_side(grid: &Grid) -> u64 {
    grid.world[0].max(grid.world[1]) as u64 * MAX_SLABS_PER_CELL as u64
}

/// Noise that modulates the amount of sand by a factor of 0 to 2, in the world's metres.
struct Patches {
    noise: Fractal,
    strength: f32,
}

impl Patches {
    fn new(model: &Dunes, grid: &Grid, key: RandomKey) -> Self {
        let settings = FractalSettings::fbm(4, PATCH * model.hop, 0.6);
        Self { noise: Fractal::new(&settings, None, key, grid.cell), strength: 3.0 * model.patchiness as f32 }
    }

    fn sand_factors_in_row(&self, grid: &Grid, i: usize) -> Vec<f32> {
        let mut row = vec![0.0; grid.cols()];
        self.noise.fill_row(grid, i, &mut row);
        row.iter_mut().for_each(|x| *x = (1.0 + self.strength * *x).clamp(0.0, 2.0));
        row
    }
}

/// Places the initial sand: all of it on plains, none on slopes. Returns the units placed.
pub(super) fn place_initial_sand(model: &Dunes, terrain: &mut Terrain, key: RandomKey) -> i128 {
    let patches = Patches::new(model, &terrain.grid, key.derive_key(1));
    let mut depth = Field::new(terrain.grid.size, Height::ZERO);
    depth.par_rows_mut().for_each(|(i, row)| {
        let more = patches.sand_factors_in_row(&terrain.grid, i);
        for (j, depth) in row.iter_mut().enumerate().filter(|(j, _)| !terrain.is_nodata(i, *j)) {
            // The factor 1.5 makes the share reach 1 at a third of the slope `BARE`.
            let share = (1.5 * (1.0 - slope_around(terrain, i, j) / BARE)).clamp(0.0, 1.0);
            // Sand is never piled above the highest elevation that can be stored.
            let room = Height::MAX.0 - terrain.ground[(i, j)].0;
            *depth = Height(((model.sand * UNITS * share * f64::from(more[j])).round() as i32).min(room));
        }
    });
    for (ground, depth) in terrain.ground.as_mut_slice().iter_mut().zip(depth.as_slice()) {
        ground.0 += depth.0;
    }
    let deposited = depth.as_slice().iter().map(|h| i128::from(h.0)).sum();
    terrain.loose = Some(depth);
    deposited
}

/// Returns the slope of the ground around a cell, as rise over run. Beyond the edge and without data it counts as
/// level.
fn slope_around(terrain: &Terrain, i: usize, j: usize) -> f64 {
    let [rows, cols] = terrain.grid.size;
    let at = |i: usize, j: usize, else_at: [usize; 2]| {
        let [i, j] = if i < rows && j < cols && !terrain.is_nodata(i, j) { [i, j] } else { else_at };
        f64::from(terrain.ground[(i, j)].0)
    };
    let south = at(i + 1, j, [i, j]) - at(i.wrapping_sub(1), j, [i, j]);
    let east = at(i, j + 1, [i, j]) - at(i, j.wrapping_sub(1), [i, j]);
    (south * south + east * east).sqrt() / (2.0 * terrain.grid.cell * UNITS)
}

/// Returns the slabs that the wind brings over open edges, from a plain of sand outside, times `inflow`. They start
/// there as they do inside; those that land inside are returned.
pub(super) fn collect_incoming_slabs(
    model: &Dunes,
    slab: i32,
    terrain: &Terrain,
    wind: [f64; 2],
    tick: Tick,
) -> Vec<Slab> {
    let grid = &terrain.grid;
    let hop = model.hop / grid.cell;
    let first = first_slab_number(grid, tick) + reserved_cell_numbers(grid);
    // `inward` is the inward component of the wind at the northern, eastern, southern and western edge.
    let inward = [wind[0], -wind[1], -wind[0], wind[1]];
    let mut slabs = Vec::new();
    for side in (0..4).filter(|side| grid.edges[*side] == Edge::Open) {
        let length = grid.size[(side + 1) % 2];
        // `sources` is the number of cells upwind of one cell of the edge from which slabs may come. It is negative at
        // edges that the wind leaves over, for which `count` is then 0.
        let sources = FETCH * hop * inward[side];
        let count = sources.ceil().clamp(0.0, MAX_SLABS_PER_CELL);
        if count == 0.0 {
            continue;
        }
        // Patches move past over time: each step uses the next row of the noise.
        let passing = Grid { size: [1, length], origin: Cell::new(tick.step.into(), 0), ..grid.clone() };
        let patches = Patches::new(model, grid, tick.key.derive_key(2 + side as u64)).sand_factors_in_row(&passing, 0);
        let come = |n: usize| {
            let along = n / count as usize;
            let number = first + side as u64 * max_slabs_per_side(grid) + n as u64;
            // A slab starts anywhere on its cell of the edge, up to `FETCH` hops upwind of it.
            let [u, distance] = tick.key.derive_key(number).uniform_pair();
            let (remaining, beyond) = trace_edge_crossing(model, tick.key.derive_key(number), FETCH * distance)?;
            // The quotient sources/count corrects for the rounding of the count and for its limit.
            let load = f64::from(slab) * model.inflow * f64::from(patches[along]) * remaining * sources / count;
            let [rows, cols] = grid.size.map(|n| n as f64);
            let along = along as f64 + u;
            let edge = [[0.0, along], [along, cols], [rows, along], [along, 0.0]][side];
            let place = Cell::from_axes(|a| edge[a] + beyond * hop * wind[a]);
            let inside = place.row >= 0.0 && place.row < rows && place.col >= 0.0 && place.col < cols;
            // The limit of 1 000 m is the same as that of a slab that starts inside.
            let load = load.round().min(UNITS * 1000.0) as i32;
            let (i, j) = (place.row as usize, place.col as usize);
            if load <= 0 || !inside || terrain.is_nodata(i, j) {
                return None;
            }
            let part = place.map(|x| x - x.floor());
            Some(Slab::from_edge(number, grid.world_cell(i, j), part, load))
        };
        slabs.par_extend((0..length * count as usize).into_par_iter().filter_map(come));
    }
    slabs
}

/// Returns the share of a slab that is left when it crosses the edge, and where it lands behind it in hops, for a slab
/// that starts `distance` hops before the edge. Returns `None` if nothing arrives.
fn trace_edge_crossing(model: &Dunes, key: RandomKey, distance: f64) -> Option<(f64, f64)> {
    let (mut remaining, mut place) = (1.0, -distance);
    for hop in 1.. {
        // A hop over the plain outside has the factor 0.5 to 1.5, as inside; the wind there is not accelerated.
        place += 0.5 + key.derive_key(hop).uniform_unit();
        if place >= 0.0 {
            return Some((remaining, place));
        }
        remaining *= 1.0 - model.on_sand;
        if remaining < 1.0 / f64::from(MIN_HOP_LOAD_DIVISOR) {
            break;
        }
    }
    None
}
