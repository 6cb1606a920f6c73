//! What a world's water is made into: lakes, rivers, wetness.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thalweg::Result;
use thalweg::io::features::{save_lakes, save_reaches};
use thalweg::io::terrain::save_layer;
use thalweg::products::lakes::{csv, lakes};
use thalweg::products::streams::{reaches, threshold};
use thalweg::products::wetness::{WetnessRules, wetness};
use thalweg::terrain::{Cells, DISCHARGE, POOL, Terrain};

use crate::job::write_text;

/// What was written, and the lakes in numbers.
#[derive(Default)]
pub struct Written {
    /// The files.
    pub files: Vec<PathBuf>,
    /// What could not be kept, in words.
    pub said: Vec<String>,
    /// Number, area and volume, if the world has a layer of standing water.
    pub lakes: Option<Value>,
}

/// Writes what follows from the terrain's layers of water: of pools `lakes.geojson`, `.fgb` and `.csv`; of discharge
/// `rivers.geojson`, `.fgb` and `wetness.tif`. Nothing where there are none.
///
/// # Errors
/// When a file cannot be written.
pub fn write(dir: &Path, terrain: &Terrain) -> Result<Written> {
    let mut written = Written::default();
    let pools = terrain.heights(&POOL);
    if let Some(pools) = pools {
        let (found, _) = lakes(terrain, pools)?;
        let [json, flat, table] = ["lakes.geojson", "lakes.fgb", "lakes.csv"].map(|name| dir.join(name));
        written.said.extend(save_lakes(&json, &found, &terrain.grid)?);
        save_lakes(&flat, &found, &terrain.grid)?;
        write_text(&table, &csv(&found))?;
        let [area, volume] =
            [found.iter().map(|lake| lake.area).sum::<f64>(), found.iter().map(|lake| lake.volume).sum::<f64>()];
        written.lakes = Some(json!({"count": found.len(), "area_m2": area, "volume_m3": volume}));
        written.files.extend([json, flat, table]);
    }
    if let Some(discharge) = terrain.float(&DISCHARGE) {
        let least = threshold(discharge);
        let found = least.map_or(Ok(Vec::new()), |least| reaches(terrain, discharge, pools, least))?;
        let [json, flat, wet] = ["rivers.geojson", "rivers.fgb", "wetness.tif"].map(|name| dir.join(name));
        written.said.extend(save_reaches(&json, &found, &terrain.grid)?);
        save_reaches(&flat, &found, &terrain.grid)?;
        save_layer(&wet, terrain, "wetness", &Cells::Float(wetness(terrain, &WetnessRules::default())?))?;
        written.files.extend([json, flat, wet]);
    }
    Ok(written)
}
