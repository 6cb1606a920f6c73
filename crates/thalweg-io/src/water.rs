//! Writes files derived from a terrain's layers of water: lakes, rivers, wetness.

use serde::Serialize;

use super::atomic::write_text;
use super::draft::Saved;
use super::features::{WRITES_FLATGEOBUF, save_lakes, save_streams};
use super::{FilePath, save_layer};
use thalweg_core::terrain::{Cells, DISCHARGE, Lake, POOL, WETNESS};
use thalweg_core::{Result, Terrain};
use thalweg_render::products::lakes::{format_csv, outline_lakes};
use thalweg_render::products::streams::{choose_stream_threshold, trace_streams};
use thalweg_render::products::wetness::{WetnessRules, compute_wetness};

/// The files of [`save_water`].
pub const FILES: [&str; 6] = ["lakes.geojson", "lakes.fgb", "lakes.csv", "rivers.geojson", "rivers.fgb", "wetness.tif"];

/// Totals of all lakes of a world.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LakeSums {
    /// The number of lakes.
    pub count: usize,
    /// Their total area in m².
    pub area_m2: f64,
    /// Their total volume in m³.
    pub volume_m3: f64,
}

impl LakeSums {
    fn from_lakes(lakes: &[Lake]) -> Self {
        let sum = |of: fn(&Lake) -> f64| lakes.iter().map(of).sum();
        Self { count: lakes.len(), area_m2: sum(|lake| lake.area), volume_m3: sum(|lake| lake.volume) }
    }
}

/// Writes files derived from the terrain's layers of water: from [`POOL`] `lakes.geojson`, `.fgb` and `.csv`; from
/// [`DISCHARGE`] `rivers.geojson`, `.fgb` and `wetness.tif`; the `.fgb` files if [`WRITES_FLATGEOBUF`] is true. Writes
/// nothing for absent layers. Returns the totals of the lakes if there is a layer of pools.
///
/// # Errors
/// Returns an error if a file cannot be written, and the errors of [`outline_lakes`], [`trace_streams`] and
/// [`compute_wetness`].
///
/// # Examples
/// ```
/// use thalweg_core::terrain::{Cells, POOL};
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_io::MemoryFiles;
/// use thalweg_io::water::save_water;
///
/// let mut terrain = Terrain::new(Grid::new([4, 4], 10.0)?);
/// let pools = Field::from_fn([4, 4], |i, j| Height::from_metres_clamped(if (i, j) == (1, 1) { 2.0 } else { 0.0 }));
/// terrain.insert_layer(&POOL, Cells::Height(pools))?;
/// let files = MemoryFiles::default();
/// let (_, lakes) = save_water(files.path("world"), &terrain)?;
/// assert_eq!(lakes.map(|sums| (sums.count, sums.volume_m3)), Some((1, 200.0)));
/// assert!(files.get("world/lakes.csv").is_some());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn save_water(folder: impl Into<FilePath>, terrain: &Terrain) -> Result<(Saved, Option<LakeSums>)> {
    let folder = folder.into();
    let [lakes_json, lakes_flat, table, rivers_json, rivers_flat, wet] = FILES.map(|name| folder.join(name));
    let (mut saved, mut sums) = (Saved::default(), None);
    let pools = terrain.height_layer(&POOL);
    if let Some(pools) = pools {
        let (found, _) = outline_lakes(terrain, pools)?;
        saved.said.extend(save_lakes(&lakes_json, &found, &terrain.grid)?);
        write_text(&table, &format_csv(&found))?;
        sums = Some(LakeSums::from_lakes(&found));
        saved.add_file(lakes_json);
        if WRITES_FLATGEOBUF {
            save_lakes(&lakes_flat, &found, &terrain.grid)?;
            saved.add_file(lakes_flat);
        }
        saved.add_file(table);
    }
    if let Some(discharge) = terrain.float_layer(&DISCHARGE) {
        // The threshold depends on the discharge of this terrain, so that dry and wet terrains both have streams.
        let least = choose_stream_threshold(discharge);
        let found = least.map(|least| trace_streams(terrain, discharge, pools, least)).transpose()?.unwrap_or_default();
        saved.said.extend(save_streams(&rivers_json, &found.reaches, &terrain.grid)?);
        saved.add_file(rivers_json);
        if WRITES_FLATGEOBUF {
            save_streams(&rivers_flat, &found.reaches, &terrain.grid)?;
            saved.add_file(rivers_flat);
        }
        save_layer(&wet, terrain, WETNESS.name, &Cells::Float(compute_wetness(terrain, &WetnessRules::default())?))?;
        saved.add_file(wet);
    }
    Ok((saved, sums))
}
