//! Eight octaves of gradient noise by thalweg and by other crates, in turns: `thalweg-peers SIDE ROUNDS`. See tests/peers/bench.py.
//!
//! A line to a crate: name, least seconds of wall, least seconds of the processor, standard deviation of the values. All work on one thread.

use std::hint::black_box;
use std::time::Instant;

use fastnoise_lite::{FastNoiseLite, FractalType, NoiseType};
use libnoise::{Generator, Source};
use noise::{Fbm, MultiFractal, NoiseFn, Perlin};
use rustix::time::{ClockId, clock_gettime};
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::grid::Grid;
use thalweg_noise::fractal::{Fractal, FractalSettings};

const OCTAVES: u32 = 8;

/// Cells to a wave of the first octave. Those of the last are eight cells long: shorter ones fade out in thalweg, which would be less work.
const WAVE: usize = 1024;

/// One value to a cell, row by row.
type Fill = Box<dyn Fn(usize, &mut [f32])>;

fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let (Some(Ok(side)), Some(Ok(rounds))) = (words.next(), words.next()) else {
        eprintln!("thalweg-peers SIDE ROUNDS");
        std::process::exit(2);
    };
    let peers: [(&str, Fill); 4] = [
        ("thalweg", Box::new(ours)),
        ("fastnoise-lite", Box::new(fastnoise)),
        ("libnoise", Box::new(lib)),
        ("noise", Box::new(noise_rs)),
    ];
    let mut values = vec![0.0; side * side];
    let mut least = [[f64::MAX; 2]; 4];
    let mut deviations = [0.0; 4];
    for _ in 0..rounds {
        for (k, (_, fill)) in peers.iter().enumerate() {
            let (wall, processor) = (Instant::now(), processor());
            fill(side, black_box(&mut values));
            let seconds = [wall.elapsed().as_secs_f64(), self::processor() - processor];
            least[k] = [0, 1].map(|n| least[k][n].min(seconds[n]));
            deviations[k] = deviation(&values);
        }
    }
    for (((name, _), [wall, processor]), deviation) in peers.iter().zip(least).zip(deviations) {
        println!("{name}\t{wall}\t{processor}\t{deviation}");
    }
}

fn ours(side: usize, values: &mut [f32]) {
    let grid = Grid::new([side, side], 1.0).expect("the side is that of a grid");
    let fractal = Fractal::new(&FractalSettings::fbm(OCTAVES, WAVE as f64, 0.5), None, Key::new(1, "noise"), grid.cell);
    values.chunks_exact_mut(side).enumerate().for_each(|(i, row)| fractal.row(&grid, i, row));
}

fn fastnoise(side: usize, values: &mut [f32]) {
    let mut noise = FastNoiseLite::with_seed(1);
    noise.set_noise_type(Some(NoiseType::Perlin));
    noise.set_fractal_type(Some(FractalType::FBm));
    noise.set_fractal_octaves(Some(OCTAVES as i32));
    noise.set_frequency(Some(1.0 / WAVE as f32));
    each(side, values, |x, y| noise.get_noise_2d(x as f32, y as f32));
}

fn lib(side: usize, values: &mut [f32]) {
    let noise = Source::perlin(1).fbm(OCTAVES, 1.0 / WAVE as f64, 2.0, 0.5);
    each(side, values, |x, y| noise.sample([x, y]) as f32);
}

fn noise_rs(side: usize, values: &mut [f32]) {
    let noise =
        Fbm::<Perlin>::new(1).set_octaves(OCTAVES as usize).set_frequency(1.0 / WAVE as f64).set_lacunarity(2.0);
    each(side, values, |x, y| noise.get([x, y]) as f32);
}

/// Asks for the cells one by one, which is all that these crates offer.
fn each(side: usize, values: &mut [f32], value: impl Fn(f64, f64) -> f32) {
    for (i, row) in values.chunks_exact_mut(side).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, cell)| *cell = value(j as f64, i as f64));
    }
}

/// Seconds that the process has had of the processor.
fn processor() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn deviation(values: &[f32]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / count;
    (values.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / count).sqrt()
}
