//! A camera flies over a world, and tiles come about it by distance: `cargo run --release --example stream -- alpine 512 8 20`
//! (preset, cells of level 0, finest level, frames).

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use thalweg::prelude::*;
use thalweg::terrain::Point;
use thalweg::world::{LocalWindow, SelectedTile};

/// Tiles that are asked for together.
const AT_ONCE: usize = 8;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, otherwise: u32| words.get(n).and_then(|word| word.parse().ok()).unwrap_or(otherwise);
    let (finest, frames) = (number(2, 5), number(3, 10));
    let mut recipe = find_preset(words.first().map_or("hills", String::as_str))?;
    recipe.cells = number(1, 128) as usize;

    let world = World::open(&recipe)?.with_tiles(if recipe.cells < 256 { 64 } else { 512 })?;
    let all = world.frame().world_rect(0);
    world.solve(0, all, &mut |report: &ProgressReport<'_>| {
        eprintln!("{} {} of {}", report.task, report.done, report.total);
        ControlFlow::Continue(())
    })?;

    let extent = world.frame().cell_width(0) * recipe.cells as f64;
    let mut shown: BTreeMap<(u32, Cell<i64>), Arc<LocalWindow>> = BTreeMap::new();
    for frame in 0..frames {
        // Along a straight line, a tile of the finest level in three frames.
        let step = world.frame().cell_width(finest) * world.tile_side() as f64 / 3.0;
        let camera = Point::new(0.4 * extent + step * f64::from(frame), 0.6 * extent);
        let wanted = world.select_tiles_around(camera, extent, finest, 0.5)?;
        let clock = Instant::now();
        let new: Vec<SelectedTile> =
            wanted.iter().filter(|w| !shown.contains_key(&(w.level, w.tile))).copied().collect();
        // Near ones first, a few of a level at a time: a frame may be drawn after each handful.
        for group in new.chunk_by(|a, b| a.level == b.level).flat_map(|level| level.chunks(AT_ONCE)) {
            let tiles: Vec<Cell<i64>> = group.iter().map(|wanted| wanted.tile).collect();
            let made = world.tiles(group[0].level, &tiles)?;
            shown.extend(tiles.into_iter().zip(made).map(|(tile, window)| ((group[0].level, tile), window)));
        }
        shown.retain(|key, _| wanted.iter().any(|w| (w.level, w.tile) == *key));
        let height = world.height_at(camera.x, camera.y, finest)?;
        println!(
            "frame {frame}: {} tiles, {} new, ground {height:.1} m; {:.0} ms, {} MiB kept",
            wanted.len(),
            new.len(),
            clock.elapsed().as_secs_f64() * 1e3,
            world.bytes() >> 20
        );
    }

    let mut way = world.trace_flow_path(finest, 0.4 * extent, 0.6 * extent)?;
    let (mut cells, mut last) = (0, None);
    for step in &mut way {
        (cells, last) = (cells + 1, Some(step?));
    }
    let fallen = last.map_or(0.0, |last| last.height);
    println!("followed to the edge of the world, {fallen:.1} m high: {cells} cells in {} tiles", way.tile_count());
    Ok(())
}
