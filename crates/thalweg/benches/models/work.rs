//! Ground to work on, and how work is timed.

use std::sync::LazyLock;
use std::time::Instant;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::{CellType, Cells};
use thalweg_core::{Field, Grid, Height, Result, Terrain};
use thalweg_models::model::{MassBalance, Model, Stepper, Tick};
use thalweg_models::models::droplets::Droplets;
use thalweg_models::models::gradient_noise::GradientNoise;
use thalweg_models::models::stream_power::StreamPower;

/// Metres from cell to cell.
pub const CELL: f64 = 10.0;

/// Runs work on a pool of so many threads.
pub fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of a few threads").install(work)
}

/// Square ground with the slopes of mountains: eight octaves with a relief of about a quarter of the extent.
pub fn mountains(side: usize) -> Result<Terrain> {
    noise(side, 8)
}

/// The same with as many octaves as the cells carry: rough, with many pits.
pub fn rough(side: usize) -> Result<Terrain> {
    noise(side, 16)
}

/// Mountains worn smooth round a great hollow: a quarter of it is lake when all hollows are full.
pub fn lakeland(side: usize) -> Result<Terrain> {
    let mut terrain = rough(side)?;
    for _ in 0..4 {
        let before = terrain.ground;
        terrain.ground = Field::from_fn(before.size(), |i, j| {
            let near = |x: usize| x.saturating_sub(1)..(x + 2).min(side);
            let cells = near(i).flat_map(|r| near(j).map(move |c| (r, c)));
            let (sum, count) = cells.fold((0, 0), |(sum, n), cell| (sum + i64::from(before[cell].0), n + 1));
            Height((sum / count) as i32)
        });
    }
    let half = side as f64 / 2.0;
    terrain.ground = Field::from_fn(terrain.ground.size(), |i, j| {
        let (y, x) = (i as f64 / half - 1.0, j as f64 / half - 1.0);
        let out = (x * x + y * y).sqrt();
        let bowl = 0.15 * CELL * side as f64 * ((out / 0.6).min(1.0) - 0.2 * (out - 0.6).max(0.0));
        Height::from_metres_clamped(0.3 * terrain.ground[(i, j)].metres() + bowl)
    });
    Ok(terrain)
}

fn noise(side: usize, octaves: u32) -> Result<Terrain> {
    let extent = side as f64 * CELL;
    let noise = GradientNoise {
        // Three standard deviations; from lowest to highest there are some five, which must fit the accepted heights.
        amplitude: (0.15 * extent).min(8_000.0),
        wavelength: extent / 2.0,
        octaves,
        warp: 0.0,
        ..GradientNoise::default()
    };
    let mut terrain = Terrain::new(Grid::new([side, side], CELL)?);
    finish(&noise, &mut terrain)?;
    Ok(terrain)
}

/// Mountains with every layer that the model needs.
pub fn furnished(model: &dyn Model, side: usize) -> Result<Terrain> {
    let mut terrain = mountains(side)?;
    for spec in model.about().needs {
        let size = terrain.grid.size;
        let cells = match spec.cells {
            CellType::Float => Cells::Float(Field::from_fn(size, |i, j| (i + j) as f32)),
            CellType::Height => Cells::Height(Field::new(size, Height::ZERO)),
            CellType::Count => Cells::Count(Field::new(size, 0)),
        };
        terrain.insert_layer(spec, cells)?;
    }
    Ok(terrain)
}

/// The droplets of the goal: brush of radius 3, 30 steps each; none tires before.
pub fn goal(layers: bool) -> Droplets {
    Droplets {
        radius: 3.0,
        max_steps: 30,
        evaporation: 0.01,
        visits: layers,
        wear: layers,
        deposit: layers,
        ..Droplets::default()
    }
}

/// Three steps of stream power that do nothing but route, accumulate and erode.
pub fn rivers_alone() -> StreamPower {
    StreamPower {
        years: 6e4,
        uplift_variation: 0.0,
        erodibility_variation: 0.0,
        grain: 0.0,
        slope_limit: 0.0,
        diffusion: 0.0,
        planation: 0.0,
        ..StreamPower::default()
    }
}

/// Seconds on a clock that stands still while another program has the core, where there is one and a single thread to
/// read it in; else on the wall clock.
pub fn now() -> f64 {
    #[cfg(target_os = "linux")]
    if rayon::current_num_threads() == 1 {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        return time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    }
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_secs_f64()
}

/// Takes one step; its ledger and the seconds it took.
pub fn step(stepper: &mut dyn Stepper, terrain: &mut Terrain, step: u32) -> Result<(MassBalance, f64)> {
    let tick = Tick { key: RandomKey::new(1, "bench"), step };
    let start = now();
    let budget = stepper.run_step(terrain, tick)?;
    Ok((budget, now() - start))
}

/// Takes all of a model's steps.
pub fn finish(model: &dyn Model, terrain: &mut Terrain) -> Result<()> {
    let mut stepper = model.start(&terrain.grid)?;
    for number in 0..model.steps(&terrain.grid) {
        step(&mut *stepper, terrain, number)?;
    }
    Ok(())
}

/// The least of what `figure` makes of the model's steps, over runs on `before` for `seconds` in all.
pub fn least(
    model: &dyn Model,
    before: &Terrain,
    seconds: f64,
    figure: impl Fn(MassBalance, f64) -> Option<f64>,
) -> Result<f64> {
    let start = Instant::now();
    let mut least = f64::MAX;
    while least == f64::MAX || start.elapsed().as_secs_f64() < seconds {
        let mut terrain = before.clone();
        let mut stepper = model.start(&terrain.grid)?;
        for number in 0..model.steps(&terrain.grid).min(16) {
            let (budget, time) = step(&mut *stepper, &mut terrain, number)?;
            least = figure(budget, time).map_or(least, |figure| least.min(figure));
        }
    }
    Ok(least)
}

/// Nanoseconds a cell.
pub fn by_cell(terrain: &Terrain) -> impl Fn(MassBalance, f64) -> Option<f64> {
    let cells = terrain.grid.len() as f64;
    move |_, seconds| Some(seconds * 1e9 / cells)
}

/// Nanoseconds a droplet step; of steps with few of them, none.
pub fn by_droplet_step(budget: MassBalance, seconds: f64) -> Option<f64> {
    (budget.particle_steps > 20_000).then(|| seconds * 1e9 / budget.particle_steps as f64)
}

/// The least nanoseconds a cell that some work takes, over `seconds` in all.
pub fn least_ns<T>(cells: usize, seconds: f64, work: impl Fn() -> T) -> f64 {
    let start = Instant::now();
    let mut least = f64::MAX;
    while least == f64::MAX || start.elapsed().as_secs_f64() < seconds {
        let before = now();
        let made = work();
        least = least.min(now() - before);
        drop(made);
    }
    least * 1e9 / cells as f64
}
