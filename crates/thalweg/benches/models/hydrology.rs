//! Figures of streams and pools.

use thalweg_core::terrain::{Cells, POOL};
use thalweg_core::{Height, Result, Terrain};
use thalweg_flow::{Land, fill};
use thalweg_models::model::MassBalance;
use thalweg_models::models::hydrology::Hydrology;

use crate::memory::{HYDROLOGY, beyond_the_ground};
use crate::work::{by_droplet_step, lakeland, least, mountains, with_threads};

/// How long the least time of one figure is looked for.
const SECONDS: f64 = 8.0;

/// A drop's step, drops a second, and what lakes cost.
pub fn hydrology() -> Result<()> {
    let model = Hydrology::default();
    for side in [1024, 4096] {
        let terrain = dry(mountains(side)?)?;
        let [one, two] = [1, 2].map(|n| with_threads(n, || least(&model, &terrain, SECONDS, by_droplet_step)));
        let (one, two) = (one?, two?);
        println!("| descent step, {side}² | ≤ 100 ns [McDonald's 350–423] | {one:.1} ns |");
        println!("| the same, 2 threads | ≥ 1.7 × | {:.2} × ({two:.1} ns) |", one / two);
    }
    let small = dry(mountains(256)?)?;
    let each = with_threads(1, || least(&model, &small, SECONDS, by_drop))?;
    println!("| drops a second of one core, 256², dry | ≥ 130 000 [McDonald's 26 000] | {:.0} |", 1e9 / each);
    // The same land, with its lakes and filled with solid to their level.
    let land = lakeland(1024)?;
    let filled = fill::fill_depressions(&Land::from_terrain(&land));
    let mut wet = land.clone();
    let depth = filled.as_slice().iter().zip(land.ground.as_slice()).map(|(top, ground)| Height(top.0 - ground.0));
    wet.insert_layer(
        &POOL,
        Cells::Height(thalweg_core::terrain::field::Field::from_vec(filled.size(), depth.collect())?),
    )?;
    let share = wet
        .height_layer(&POOL)
        .map_or(0.0, |depth| depth.as_slice().iter().filter(|depth| depth.0 > 0).count() as f64 / depth.len() as f64);
    let dry = dry(land)?;
    let [lakes, none] = [&wet, &dry].map(|terrain| with_threads(1, || least(&model, terrain, SECONDS, by_drop)));
    let (lakes, none) = (lakes?, none?);
    println!(
        "| time a drop, 1024², {:.0} % lake, over that on the same land filled | ≤ 1.5 × | {:.2} × ({:.1} and {:.1} µs) |",
        100.0 * share,
        lakes / none,
        lakes / 1e3,
        none / 1e3
    );
    for side in [1024, 4096] {
        let bytes =
            beyond_the_ground(HYDROLOGY, side)?.map_or("not measured".to_string(), |bytes| format!("{bytes:.1} B"));
        println!("| memory beyond the ground, layers and all, {side}², rough | ≤ 48 B a cell | {bytes} |");
    }
    Ok(())
}

/// Land without a hollow.
fn dry(mut terrain: Terrain) -> Result<Terrain> {
    terrain.ground = fill::fill_depressions(&Land::from_terrain(&terrain));
    Ok(terrain)
}

/// Nanoseconds a drop.
fn by_drop(budget: MassBalance, seconds: f64) -> Option<f64> {
    (budget.particles > 100).then(|| seconds * 1e9 / budget.particles as f64)
}
