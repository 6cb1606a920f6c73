//! Refinement of finite reach: nanoseconds a cell of a level, and what each operator's sweeps take of it.

use std::hint::black_box;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{CellRect, Result};
use thalweg_refine::{Frame, LocalWindow, Rules, needed_window, refine_window};

use crate::work::{mountains, now, with_threads};

/// Prints the rows: a whole level, a tile with its margins, and the difference that leaving out an operator's sweeps makes.
pub fn local() -> Result<()> {
    let (frame, first) = LocalWindow::from_terrain(&mountains(512)?)?;
    let usual = Rules::default();
    with_threads(1, || {
        println!("| a level of finite reach, one thread | ns a cell |\n|---|---|");
        let whole = frame.world_rect(1);
        let all = measure(&frame, &usual, &first, whole)?;
        println!("| 1024², whole | {all:.0} |");
        let middle = CellRect::new([256, 256], [512, 512]);
        let part = first.crop(needed_window(&frame, &usual, 1, middle))?;
        println!("| 512², with its margins | {:.0} |", measure(&frame, &usual, &part, middle)?);
        let without = [
            ("water over hills", Rules { water_sweeps: 1, ..usual.clone() }),
            ("uplift", Rules { rise_sweeps: 0, ..usual.clone() }),
            ("cuts", Rules { cut_sweeps: 0, ..usual.clone() }),
            ("creep", Rules { creep: 0.0, ..usual.clone() }),
            ("slides", Rules { limit_sweeps: 0, ..usual.clone() }),
            ("catchments, 24 sweeps of 32", Rules { river: 2, ..usual.clone() }),
        ];
        for (name, rules) in without {
            println!("| of it {name} | {:.0} |", all - measure(&frame, &rules, &first, whole)?);
        }
        Ok(())
    })
}

/// The least of five, in nanoseconds a wanted cell.
fn measure(frame: &Frame, rules: &Rules, coarse: &LocalWindow, wanted: CellRect<i64>) -> Result<f64> {
    let [rows, cols] = wanted.size();
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        let start = now();
        black_box(refine_window(frame, rules, RandomKey::new(1, "bench"), coarse, wanted)?);
        least = least.min(now() - start);
    }
    Ok(least * 1e9 / (rows * cols) as f64)
}
