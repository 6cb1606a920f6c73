//! Times draining by tiles beside draining in memory, and counts what goes between tiles.
//!
//! `cargo run --release --example drain_tiles -- CELLS SIDE` takes a square map of value noise of so many cells a side.

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use thalweg::drainage::{DrainOptions, Survey, drain_in_memory};
use thalweg::noise::RandomKey;
use thalweg::terrain::{Field, Grid, Height, Terrain};
use thalweg::{NoProgress, ProgressReport};

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let cells = numbers.next().transpose()?.unwrap_or(4096);
    let side = numbers.next().transpose()?.unwrap_or(1024);
    let metres_only = numbers.next().transpose()?.is_some();
    let size = [cells, cells];
    let key = RandomKey::new(1, "drain_tiles");
    let ground = Field::from_fn(size, |i, j| {
        let octave = |wide: usize, high: f64| {
            let corner = |r: usize, c: usize| key.derive_key(wide as u64).for_cell([r as i64, c as i64]).uniform_unit();
            let (r, c) = (i / wide, j / wide);
            let (y, x) = ((i % wide) as f64 / wide as f64, (j % wide) as f64 / wide as f64);
            let row = |r: usize| corner(r, c) * (1.0 - x) + corner(r, c + 1) * x;
            high * (row(r) * (1.0 - y) + row(r + 1) * y)
        };
        let metres = octave(1021, 900.0) + octave(257, 200.0) + octave(61, 60.0) + octave(13, 12.0) + octave(5, 3.0);
        Height::from_metres_clamped(if metres_only { metres.round() } else { metres })
    });
    let terrain = Terrain::from_ground(Grid::new(size, 10.0)?, ground)?;
    let options = DrainOptions::default();
    let each = 1e9 / (cells * cells) as f64;

    let begun = Instant::now();
    let survey = Survey::from_terrain(&terrain, &options, &mut NoProgress)?;
    let whole = begun.elapsed().as_secs_f64() * each;
    println!("in memory {whole:.1} ns a cell, {} streams", survey.channels.reaches.len());
    drop(survey);

    let mut last: Option<(String, Instant)> = None;
    let mut sum = 0.0;
    let mut tell = |last: Option<(String, Instant)>| {
        if let Some((name, begun)) = last {
            let taken = begun.elapsed().as_secs_f64() * each;
            sum += taken;
            println!("  {name:12} {taken:6.1}");
        }
    };
    let drained = drain_in_memory(&terrain, &options, side, |_| {}, &mut |report: &ProgressReport<'_>| {
        if last.as_ref().is_none_or(|(name, _)| name != report.task) {
            tell(last.take());
            last = Some((report.task.to_string(), Instant::now()));
        }
        ControlFlow::Continue(())
    })?;
    tell(last);
    println!(
        "in tiles of {side}: {sum:.1} ns a cell, {:.2} of that in memory, {} streams",
        sum / whole,
        drained.channels.reaches.len()
    );
    Ok(())
}
