//! The tables' rows.

use std::time::Instant;

use thalweg::Result;
use thalweg::model::Model as _;
use thalweg::models::gradient_noise::GradientNoise;
use thalweg::models::pipes::Pipes;
use thalweg::models::thermal::Thermal;
use thalweg::{models as list, terrain::Terrain};

use crate::memory::beyond_the_ground;
use crate::same;
use crate::work::{by_cell, by_droplet_step, finish, furnished, goal, least, mountains, with_threads};

/// How long the least time of one figure is looked for.
const SECONDS: f64 = 3.0;

/// Every listed model with default parameters, on one thread.
pub fn models() -> Result<()> {
    println!("| model | ns a cell and step, 1024², one thread |\n|---|---|");
    for model in list::all() {
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
        let bytes = beyond_the_ground(side)?.map_or("not measured".to_string(), |bytes| format!("{bytes:.2} B"));
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

/// How alike each preset is to itself at twice the resolution, both reduced to 256².
pub fn presets() -> Result<()> {
    for (name, text) in same::presets() {
        let start = Instant::now();
        let alike = same::likeness(&text, [512, 1024], 256)?;
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
