//! Erodes an array of heights and gets an array back: `cargo run --release --example erode_heights`.

use thalweg::models::Droplets;
use thalweg::prelude::*;

fn main() -> Result<()> {
    // Heights in metres, row by row from the north-west: here an egg box on a slope.
    let (rows, cols, cell) = (128, 192, 20.0);
    let height = |k: usize| {
        let [y, x] = [k / cols, k % cols].map(|n| n as f32 * cell as f32);
        x / 20.0 + 60.0 * (x / 400.0).sin() * (y / 300.0).cos()
    };
    let before: Vec<f32> = (0..rows * cols).map(height).collect();

    let terrain = Terrain::from_metres(Grid::new([rows, cols], cell)?, &before)?;
    let droplets = Droplets { density: 20_000.0, ..Droplets::default() };
    let mut run = Run::with_terrain(Recipe::with_single_stage(Box::new(droplets), 1), terrain)?;
    while run.take_step()?.is_some() {}
    let budget = run.reports()[0].mass_balance;
    let after: Vec<f32> = run.into_terrain().ground_metres().into_vec();

    let deepest = before.iter().zip(&after).map(|(before, after)| before - after).fold(0.0, f32::max);
    println!("{} droplets; the deepest cut is {deepest:.2} m", budget.particles);
    Ok(())
}
