//! The tables' rows.

use std::time::Instant;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::WATER;
use thalweg_core::{Result, Terrain};
use thalweg_flow::{FlowGraph, Land, accumulate, fill};
use thalweg_models::model::Model as _;
use thalweg_models::models as list;
use thalweg_models::models::fluvial::Fluvial;
use thalweg_models::models::gradient_noise::GradientNoise;
use thalweg_models::models::pipes::Pipes;
use thalweg_models::models::river_network::{Method, RiverNetwork};
use thalweg_models::models::stream_power::StreamPower;
use thalweg_models::models::thermal::Thermal;
use thalweg_models::models::trees::Trees;
use thalweg_models::process::forest::{Forest, ForestRules, PlantSite};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

use crate::memory::{DRAINAGE, DROPLETS, NETWORK, RIVERS, beyond_the_ground};
use crate::same;
use crate::work::{
    by_cell, by_droplet_step, finish, furnished, goal, least, least_ns, mountains, now, rivers_alone, rough, step,
    with_threads,
};

/// How long the least time of one figure is looked for.
const SECONDS: f64 = 3.0;

/// Every listed model with default parameters, on one thread.
pub fn models() -> Result<()> {
    println!("| model | ns a cell and step, 1024², one thread |\n|---|---|");
    for model in list::all_models() {
        let terrain = furnished(&*model, 1024)?;
        let ns = with_threads(1, || least(&*model, &terrain, SECONDS, by_cell(&terrain)))?;
        println!("| {} | {ns:.1} |", model.about().name);
    }
    Ok(())
}

/// A droplet's step: two sizes, without and with layers, one thread and two.
pub fn droplets() -> Result<()> {
    let others = ["Lague's method in C++ 58, erodr (radius 2) 106", "Lague's method in C++ 128, erodr (radius 2) 175"];
    for (side, others) in [512, 4096].into_iter().zip(others) {
        let terrain = mountains(side)?;
        for layers in [false, true] {
            let model = goal(layers);
            let [one, two] =
                [1, 2].map(|n| with_threads(n, || least(&model, &terrain, 4.0 * SECONDS, by_droplet_step)));
            let (one, two) = (one?, two?);
            let (what, goal) = match layers {
                false => ("no optional layers", format!("≤ 45 ns [{others}]")),
                true => ("with all three layers", "≤ 60 ns".to_string()),
            };
            println!("| droplet step, {side}², {what} | {goal} | {one:.1} ns |");
            println!("| the same, 2 threads | ≥ 1.8 × | {:.2} × ({two:.1} ns) |", one / two);
        }
    }
    Ok(())
}

/// What droplets need beside the ground.
pub fn memory() -> Result<()> {
    for side in [2048, 4096] {
        let bytes =
            beyond_the_ground(DROPLETS, side)?.map_or("not measured".to_string(), |bytes| format!("{bytes:.2} B"));
        println!("| memory beyond the ground, {side}², no optional layers | ≤ 4 B a cell [Lague's 280] | {bytes} |");
    }
    Ok(())
}

/// Eight octaves of gradient noise.
pub fn noise() -> Result<()> {
    let model = GradientNoise { octaves: 8, wavelength: 20_000.0, warp: 0.0, damping: 0.0, ..GradientNoise::default() };
    let terrain = Terrain::new(mountains(4096)?.grid);
    let steps = f64::from(model.steps(&terrain.grid));
    let ns = with_threads(1, || least(&model, &terrain, 2.0 * SECONDS, by_cell(&terrain)))?;
    let seconds = ns * steps * terrain.grid.len() as f64 / 1e9;
    let others = "fastnoise-lite 3.0, libnoise 3.2, noise-rs 5.2";
    println!("| 8-octave gradient fBm, 4096² | ≤ 0.35 s [{others}] | {seconds:.2} s |");
    Ok(())
}

/// A step of thermal erosion.
pub fn thermal() -> Result<()> {
    for side in [1024, 4096] {
        let terrain = mountains(side)?;
        let ns = with_threads(1, || least(&Thermal::default(), &terrain, 2.0 * SECONDS, by_cell(&terrain)))?;
        let goal = if side == 1024 { "≤ 8 ns a cell [HighMap 31]" } else { "none" };
        println!("| thermal step, {side}² | {goal} | {ns:.1} ns a cell |");
    }
    Ok(())
}

/// Filling, the whole of drainage, and accumulation: smooth mountains and rough ones, one thread and two.
pub fn flow() -> Result<()> {
    for (name, terrain) in [("8 octaves", mountains(4096)?), ("rough", rough(4096)?)] {
        let (land, cells) = (Land::from_terrain(&terrain), terrain.grid.len());
        let (_, directions) = FlowGraph::new(&land).into_parts();
        let row = |what: &str, goal: &str, work: &(dyn Fn() + Sync)| {
            let [one, two] = [1, 2].map(|n| with_threads(n, || least_ns(cells, SECONDS, work)));
            println!("| {what}, 4096², {name} | {goal} | {one:.1} ns a cell |");
            println!("| the same, 2 threads | none | {:.2} × ({two:.1} ns) |", one / two);
        };
        row("fill", "≤ 40 ns a cell [richdem 141, whitebox-tools 325]", &|| drop(fill::fill_depressions(&land)));
        let goal = "≤ 80 ns a cell [richdem 280–380, fastscapelib 504]";
        row("fill, flats, D8 and accumulation", goal, &|| drop(counted(&land)));
        let goal = "≤ 12 ns a cell [fastscapelib 15, whitebox-tools 111]";
        row("accumulation on ready directions", goal, &|| drop(accumulate::count_upstream_cells(&directions)));
        row("order of accumulation", "none", &|| drop(accumulate::upstream_order(&directions)));
    }
    let bytes = beyond_the_ground(DRAINAGE, 4096)?.map_or("not measured".to_string(), |bytes| format!("{bytes:.2} B"));
    println!("| memory beyond the ground, drainage, 4096², rough | ≤ 16 B a cell [65–230] | {bytes} |");
    let terrain = rough(16_384)?;
    let land = Land::from_terrain(&terrain);
    let ns = with_threads(1, || least_ns(terrain.grid.len(), 0.0, || counted(&land)));
    println!("| fill, flats, D8 and accumulation, 16384², rough | runs, as long a cell as 4096² | {ns:.1} ns a cell |");
    Ok(())
}

/// Drainage with its counts.
fn counted(land: &Land<'_>) -> FlowGraph {
    let drainage = FlowGraph::new(land);
    drainage.upstream_cells();
    drainage
}

/// A step of stream power: routing, accumulation and erosion alone, and with all that is usual.
pub fn stream_power() -> Result<()> {
    let (alone, usual) = (rivers_alone(), StreamPower { years: rivers_alone().years, ..StreamPower::default() });
    let goal = "≤ 120 ns a cell [fastscapelib 587]";
    for (name, terrain) in [("8 octaves", mountains(4096)?), ("rough", rough(4096)?)] {
        for (what, model, goal) in [("rivers alone", &alone, goal), ("as usual", &usual, "none")] {
            let ns = with_threads(1, || least(model, &terrain, SECONDS, by_cell(&terrain)))?;
            println!("| stream-power step, 4096², {name}, {what} | {goal} | {ns:.1} ns a cell |");
        }
    }
    let bytes = beyond_the_ground(RIVERS, 4096)?.map_or("not measured".to_string(), |bytes| format!("{bytes:.2} B"));
    println!("| memory beyond the ground, stream-power step, 4096², rough | ≤ 16 B a cell [65–230] | {bytes} |");
    Ok(())
}

/// A river network, from heights to carved ground, layers and points.
pub fn river_network() -> Result<()> {
    let seconds = |_, seconds| Some(seconds);
    for (side, goal) in [(1024, "≤ 1 s"), (4096, "≤ 20 s")] {
        for (name, terrain) in [("8 octaves", mountains(side)?), ("rough", rough(side)?)] {
            for (method, goal) in [(Method::Drainage, goal), (Method::Sampled, "none")] {
                let model = RiverNetwork { method, ..RiverNetwork::default() };
                let least = with_threads(1, || least(&model, &terrain, SECONDS, seconds))?;
                let word = if method == Method::Sampled { ", to the letter" } else { "" };
                println!("| river network, {side}², {name}{word} | {goal} | {least:.2} s |");
            }
        }
    }
    let bytes = beyond_the_ground(NETWORK, 4096)?.map_or("not measured".to_string(), |bytes| format!("{bytes:.1} B"));
    println!("| memory beyond the ground, river network, 4096², rough | ≤ 60 B a cell | {bytes} |");
    Ok(())
}

/// A step of a forest: what a plant costs, with its births and deaths.
pub fn trees() -> Result<()> {
    let terrain = mountains(1024)?;
    let model = Trees { spawn: 200.0, ..Trees::default() };
    let mut before = terrain.clone();
    finish(&model, &mut before)?;
    let forest = Forest::read(&before)?;
    let site = PlantSite {
        grid: &before.grid,
        ground: &before.ground,
        nodata: None,
        pool: None,
        water: None,
        discharge: None,
        fertility: None,
    };
    let count = forest.trees().len();
    let [one, two] = [1, 2].map(|threads| {
        with_threads(threads, || {
            let mut least = f64::MAX;
            let mut forest = forest.clone();
            for step in 0..40 {
                let (start, trees) = (now(), forest.trees().len());
                forest.advance_step(&site, &ForestRules::default(), RandomKey::new(1, "bench").derive_key(step));
                least = least.min((now() - start) * 1e9 / trees as f64);
            }
            least
        })
    });
    println!("| forest step, {count} plants on 1024² | ≤ 60 ns a plant | {one:.1} ns, 2 threads {two:.1} ns |");
    Ok(())
}

/// A step of fluvial erosion: one drop on a large map, and a small map wet all over.
pub fn fluvial() -> Result<()> {
    let mut before = mountains(4096)?;
    let model =
        Fluvial { rain: 0.0, drop: 1e5, x: 20_480.0, y: 20_480.0, pickup: 1.0, steps: 4000, ..Fluvial::default() };
    // The first step makes the layers.
    step(&mut *model.start(&before.grid)?, &mut before, 0)?;
    let mut best = (f64::MAX, 0, 0);
    for _ in 0..3 {
        let mut terrain = before.clone();
        let run = with_threads(1, || -> Result<_> {
            let mut stepper = model.start(&terrain.grid)?;
            step(&mut *stepper, &mut terrain, 1)?; // looks for what is wet
            let (mut slowest, mut wet, mut number) = (0f64, 0, 2);
            while wet < 10_000 && number < 4000 {
                let mut least = f64::MAX;
                for _ in 0..50 {
                    least = least.min(step(&mut *stepper, &mut terrain, number)?.1);
                    number += 1;
                }
                slowest = slowest.max(least);
                wet = terrain.float_layer(&WATER).map_or(0, |w| w.as_slice().iter().filter(|w| **w > 0.0).count());
            }
            Ok((slowest * 1e3, wet, number))
        });
        let run = run?;
        best = if run.0 < best.0 { run } else { best };
    }
    let (ms, wet, steps) = best;
    println!("| fluvial, one drop on 4096², up to {wet} wet cells ({steps} steps) | ≤ 1 ms a step | {ms:.3} ms |");
    let terrain = mountains(1024)?;
    let wet = Fluvial { rain: 1000.0, ..Fluvial::default() };
    let [one, two] = [1, 2].map(|n| with_threads(n, || least(&wet, &terrain, SECONDS, by_cell(&terrain))));
    let (one, two) = (one?, two?);
    println!("| fluvial, rain on all of 1024² | none | {one:.1} ns a cell, 2 threads {two:.1} ns |");
    Ok(())
}

/// How alike each preset is to itself at twice the resolution, both reduced to 256².
pub fn presets() -> Result<()> {
    for (name, text) in same::presets() {
        let start = Instant::now();
        let build = |cells: usize| -> Result<Terrain> {
            let mut run = Run::new(Recipe { cells, ..Recipe::parse(&text)? })?;
            while run.take_step()?.is_some() {}
            Ok(run.into_terrain())
        };
        let alike = same::likeness(&build(512)?, &build(1024)?, 256)?;
        let seconds = start.elapsed().as_secs_f64();
        println!("| `{name}` at 512 and 1024 cells, reduced to 256 | ≥ 0.95 | {alike:.4} ({seconds:.0} s for both) |");
    }
    Ok(())
}

/// A step of the pipes, all of it, on a map that is wet everywhere.
pub fn pipes() -> Result<()> {
    for (side, goal) in
        [(1024, "≤ 12 ns a cell [HighMap 55–69, plain C++ 40, NumPy 463–522]"), (4096, "≤ 15 ns a cell")]
    {
        let mut terrain = mountains(side)?;
        let model = Pipes { seconds: 60.0, ..Pipes::default() };
        // A minute of rain, and water runs everywhere.
        finish(&model, &mut terrain)?;
        let [one, two] = [1, 2].map(|n| with_threads(n, || least(&model, &terrain, 2.0 * SECONDS, by_cell(&terrain))));
        let (one, two) = (one?, two?);
        println!("| pipes step, {side}², all wet | {goal} | {one:.1} ns a cell |");
        println!("| the same, 2 threads | ≥ 1.7 × | {:.2} × ({two:.1} ns) |", one / two);
    }
    Ok(())
}
