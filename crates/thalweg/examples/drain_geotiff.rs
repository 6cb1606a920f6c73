//! Where water goes on an elevation model: `cargo run --release --example drain_geotiff [INPUT.tif [FOLDER]]`.

use thalweg::drainage::{DrainOptions, Survey};
use thalweg::io::{LoadOptions, load_terrain, make_folder};
use thalweg::{Error, NoProgress, Result};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let input =
        words.next().unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/../thalweg-sim/presets/jacksboro.tif").into());
    let folder = std::path::absolute(words.next().unwrap_or("drained".into())).map_err(Error::io(".", "find"))?;

    let loaded = load_terrain(&input, &LoadOptions::default())?;
    // Streams begin where a square kilometre comes together.
    let options = DrainOptions { threshold: Some(1e6), ..DrainOptions::default() };
    let survey = Survey::from_terrain(&loaded.terrain, &options, &mut NoProgress)?;
    make_folder(&folder)?;
    survey.write_draft(&folder, &loaded.terrain, loaded.nodata)?.commit(&[])?;

    println!("{}, in {}", survey.summarize(&loaded.terrain.grid), folder.display());
    Ok(())
}
