//! A world without end: what is waited for when a tile is asked for.

use thalweg_core::{Cell, NoProgress, Result};
use thalweg_sim::presets;
use thalweg_sim::world::World;

use crate::work::now;

/// Level of the tiles, of cells of 4 m, and the place of the first, in metres.
const LEVEL: u32 = 8;
const PLACE: [f64; 2] = [40_000.0, 25_000.0];

/// Prints the rows: seconds of the wall clock on all threads.
pub fn world() -> Result<()> {
    let world = World::open(&presets::find_preset("endless")?)?;
    println!("| `endless`, on {} threads | s |\n|---|---|", rayon::current_num_threads());
    let [x, y] = PLACE;
    let first = world.containing_tile(world.cell_at(LEVEL, x, y)?);
    let row = |what: &str, start: f64| println!("| {what} | {:.2} |", now() - start);
    let start = now();
    world.solve(LEVEL, world.tile_rect(LEVEL, first), &mut NoProgress)?;
    row("level 0 of a continent that was never seen", start);
    let start = now();
    world.tile_at(LEVEL, first)?;
    row("a tile of 512² of level 8, no tile cached", start);
    let neighbours =
        [[0, 1], [1, 0], [1, 1], [0, 2], [2, 0], [2, 1]].map(|[i, j]| Cell::new(first.row + i, first.col + j));
    let mut seconds = Vec::new();
    for tile in neighbours {
        let start = now();
        world.tile_at(LEVEL, tile)?;
        seconds.push(now() - start);
    }
    seconds.sort_by(f64::total_cmp);
    println!("| its neighbour, the median of {} | {:.2} |", seconds.len(), seconds[seconds.len() / 2]);
    println!("| its neighbour, the slowest: the first of a new block | {:.2} |", seconds[seconds.len() - 1]);
    Ok(())
}
