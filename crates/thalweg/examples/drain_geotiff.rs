//! Where water goes on an elevation model: `cargo run --release --example drain_geotiff [INPUT.tif [STREAMS.geojson]]`.

use thalweg::Result;
use thalweg::flow::{Drainage, Land, links, streams};
use thalweg::io::vector::save_links;
use thalweg::io::{LoadOptions, load};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let input = words.next().unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/presets/jacksboro.tif").into());
    let output = words.next().unwrap_or("streams.geojson".into());

    let terrain = load(&input, &LoadOptions::default())?.terrain;
    let land = Land::of(&terrain);
    // Depressions filled, directions over flats too, cells that drain through each.
    let drainage = Drainage::of(&land);
    // Streams begin where a square kilometre comes together.
    let least = streams::least_cells(1e6, terrain.grid.cell_area());
    let land = drainage.surface(&land);
    let mask = streams::streams(&land, drainage.cells(), least)?;
    let links = links::links(&land, drainage.directions(), drainage.cells(), &mask)?;
    save_links(&output, &links, &terrain.grid)?;

    let kilometres = links.iter().map(|link| link.length).sum::<f64>() / 1000.0;
    println!("{} stream links, {kilometres:.1} km, in {output}", links.len());
    Ok(())
}
