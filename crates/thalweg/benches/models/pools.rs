//! Figures of living pools.

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Field, Height, Result, Terrain};
use thalweg_flow::pools::{Arrival, PoolRules, Pools, Stock};
use thalweg_flow::{Directions, FlowGraph, Land, fill, find_receiver};

use crate::work::{lakeland, now, rough, with_threads};

/// Cells on a side.
const SIDE: usize = 1024;

/// What the hollows and the water in them take after a batch: with few cells changed, and built whole.
pub fn pools() -> Result<()> {
    let lakes = lakeland(SIDE)?;
    let mut silted = lakes.clone();
    silted.ground = fill::fill_depressions(&Land::from_terrain(&lakes));
    for (name, terrain) in [("smooth, a quarter lake", lakes), ("rough", rough(SIDE)?), ("lakes silted flat", silted)] {
        with_threads(1, || figures(name, &terrain))?;
    }
    Ok(())
}

fn figures(name: &str, terrain: &Terrain) -> Result<()> {
    let (filled, directions) = FlowGraph::new(&Land::from_terrain(terrain)).into_parts();
    let side = (0.05f64.sqrt() * SIDE as f64) as usize;
    let block = |i: usize, j: usize| i.abs_diff(SIDE / 3) <= side / 2 && j.abs_diff(SIDE / 3) <= side / 2;
    let block = Field::from_fn(terrain.grid.size, block);
    let (paths, all) = (paths(&directions), Field::new(terrain.grid.size, true));
    let depth = |i: usize, j: usize| Height(filled[(i, j)].0 - terrain.ground[(i, j)].0);
    let stock = Stock { depth: Field::from_fn(terrain.grid.size, depth), held: Vec::new() };
    for (what, changed, told, goal) in [
        ("5 % along paths", &paths, true, "≤ 20 ms"),
        ("5 % in a block", &block, true, "≤ 20 ms"),
        ("5 % along paths, not told where,", &paths, false, "≤ 100 ms"),
        ("all of it", &all, false, "≤ 100 ms"),
    ] {
        let [update, settle, both] = least(terrain, &stock, changed, told)?;
        println!(
            "| pools, 1024², {name}: {what} changed | {goal} | {both:.1} ms ({update:.1} update, {settle:.1} settle) |"
        );
    }
    Ok(())
}

/// Cells along the ways that water takes from here and there, 5 % of all.
fn paths(directions: &Directions) -> Field<bool> {
    let mut changed = Field::new(directions.size(), false);
    let (mut count, mut drop) = (0, 0);
    while count < directions.len() / 20 {
        let mut at = Some((RandomKey::new(1, "paths").derive_key(drop).random_bits() >> 8) as usize % directions.len());
        while let Some(k) = at.filter(|k| !changed.as_slice()[*k]) {
            changed.as_mut_slice()[k] = true;
            count += 1;
            at = find_receiver(k, directions.as_slice()[k], directions.cols());
        }
        drop += 1;
    }
    changed
}

/// The least milliseconds that updating, settling, and both take after a batch.
fn least(terrain: &Terrain, stock: &Stock, changed: &Field<bool>, told: bool) -> Result<[f64; 3]> {
    let mut terrain = terrain.clone();
    let mut pools = Pools::from_land(&Land::from_terrain(&terrain));
    let mut stock = stock.clone();
    let rules = PoolRules { evaporation: 20, release: 0.2, least: 65_536 };
    let cells: Vec<usize> = (0..changed.len()).filter(|k| changed.as_slice()[*k]).collect();
    let mut least = [f64::MAX; 3];
    for round in 0..24 {
        let key = RandomKey::new(2, "batch").derive_key(round);
        for k in &cells {
            terrain.ground.as_mut_slice()[*k].0 += (key.derive_key(*k as u64).random_bits() % 4001) as i32 - 2000;
        }
        let arrivals: Vec<Arrival> =
            cells.iter().step_by(10).map(|k| Arrival { cell: *k as u32, water: 10_000 }).collect();
        let land = Land::from_terrain(&terrain);
        let start = now();
        pools.update(&land, told.then_some(changed));
        let updated = now();
        pools.settle_water(&land, &mut stock, &arrivals, &rules)?;
        let settled = now();
        for (least, time) in least.iter_mut().zip([updated - start, settled - updated, settled - start]) {
            *least = least.min(time * 1e3);
        }
    }
    Ok(least)
}
