//! The arguments that draw water over a terrain.

use std::path::PathBuf;

use clap::Args;
use thalweg_core::terrain::{DISCHARGE, POOL, WATER};
use thalweg_core::{Result, Terrain};
use thalweg_io::load_terrain_layer;
use thalweg_render::pictures::water::{Streams, Water};

use super::values::two_numbers;

/// Water over a terrain; over the last one if there are several.
#[derive(Args)]
pub struct WaterArgs {
    /// File with the depth of flowing water in metres, of the same size as the terrain; of several terrains, as the
    /// last one, over which it is drawn.
    #[arg(long, value_name = "FILE")]
    pub water: Option<PathBuf>,
    /// File with the depth of standing water in metres, of the same size as the terrain; of several terrains, as the
    /// last one.
    #[arg(long, value_name = "FILE")]
    pub pools: Option<PathBuf>,
    /// File with the discharge in m³/s, from which streams are drawn, of the same size as the terrain; of several
    /// terrains, as the last one.
    #[arg(long, value_name = "FILE")]
    pub streams: Option<PathBuf>,
    /// Discharges at which streams become visible and at which they are opaque, above 0 and in rising order
    /// [unit: m³/s] [default: chosen from the discharges].
    #[arg(long, value_name = "LOW,HIGH", value_parser = two_numbers("LOW,HIGH"))]
    pub stream_range: Option<[f64; 2]>,
    /// Draws all streams of at least this discharge, with the same opacity [allowed: above 0 m³/s]
    /// [not with: --stream-range].
    #[arg(long, value_name = "Q", conflicts_with = "stream_range")]
    pub stream_threshold: Option<f64>,
}

impl WaterArgs {
    /// Inserts the water of the files into the terrain, in place of that of its folder.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or does not belong to this terrain.
    pub fn insert_water(&self, terrain: &mut Terrain) -> Result<()> {
        let files = [(&self.water, WATER), (&self.pools, POOL), (&self.streams, DISCHARGE)];
        for (path, spec) in files.iter().filter_map(|(path, spec)| Some((path.as_ref()?, spec))) {
            let cells = load_terrain_layer(path, terrain, spec)?;
            terrain.insert_layer(spec, cells)?;
        }
        Ok(())
    }

    /// Returns the terrain's water, with streams as requested.
    pub fn select_water<'a>(&self, terrain: &'a Terrain) -> Water<'a> {
        let water = Water::from_terrain(terrain);
        let range = self.stream_range.map(|range| range.map(|q| q as f32));
        let threshold = self.stream_threshold.map(|q| q as f32);
        Water { streams: water.streams.map(|streams| Streams { range, threshold, ..streams }), ..water }
    }
}
