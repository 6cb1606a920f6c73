//! Builds a preset with another seed, and writes it as a GeoTIFF: `cargo run --release --example build_preset [FILE.tif]`.

use thalweg::io::{SaveOptions, save_terrain};
use thalweg::prelude::*;

fn main() -> Result<()> {
    let file = std::env::args().nth(1).unwrap_or("hills.tif".into());
    let mut recipe = find_preset("hills")?;
    recipe.seed = 7;
    // More cells make the same world finer.
    recipe.cells = 256;
    let mut run = Run::new(recipe)?;
    while run.take_step()?.is_some() {}
    save_terrain(&file, run.terrain(), &SaveOptions::default())?;
    println!("wrote {file}");
    Ok(())
}
