//! `info`: what is in a terrain file.

use serde_json::{Value, json};
use thalweg::Result;
use thalweg::base::names::{lines, to_text};
use thalweg::io::terrain::{Loaded, load};
use thalweg::io::{Format, read};
use thalweg::terrain::grid::Georeference;
use thalweg::terrain::height::Height;

use crate::args::Info;
use crate::console::{Voice, print};

/// Prints what the file holds, and whether it can be worked on.
///
/// # Errors
/// When it cannot be read at all.
pub fn info(args: &Info, voice: Voice) -> Result<()> {
    let raster = read(&args.file)?;
    let georeference = raster.georeference.as_ref();
    let mut facts = json!({
        "file": to_text(&args.file),
        "format": Format::of(&args.file)?.to_string(),
        "columns": raster.size[1],
        "rows": raster.size[0],
        "samples": raster.samples.kind(),
        "nodata": raster.nodata,
        "unit": raster.unit,
        "crs": georeference.and_then(Georeference::epsg).map(|code| format!("EPSG:{code}")),
        "transform": georeference.and_then(|g| g.transform),
        "pixel": georeference.map(|g| g.pixel),
    });
    drop(raster);
    match load(&args.file, &args.load.options()) {
        Ok(loaded) => {
            terrain_facts(&mut facts, &loaded);
            facts["warnings"] = json!(loaded.warnings);
        }
        // Why a file cannot be worked on is just what is asked here.
        Err(error) => facts["problem"] = error.to_string().into(),
    }
    if voice.json {
        return print(&format!("{facts}\n"));
    }
    let Value::Object(facts) = facts else { return Ok(()) };
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_null()) {
        let value = value.as_str().map_or_else(|| value.to_string(), String::from);
        print(&format!("{:<14}{}\n", name.replace('_', " "), lines(&value)))?;
    }
    Ok(())
}

fn terrain_facts(facts: &mut Value, loaded: &Loaded) {
    let terrain = &loaded.terrain;
    let grid = &terrain.grid;
    let valid = grid.len() - loaded.nodata_count;
    let masked: i128 = match &terrain.nodata {
        None => 0,
        Some(mask) => {
            let cells = mask.as_slice().iter().zip(terrain.ground.as_slice());
            cells.filter(|(masked, _)| **masked).map(|(_, h)| i128::from(h.0)).sum()
        }
    };
    let sum = terrain.solid() - masked;
    let range = terrain.range().map(|range| range.map(Height::metres));
    facts["cell_size_m"] = grid.cell.into();
    facts["extent_m"] = json!([grid.extent()[1], grid.extent()[0]]);
    facts["lowest_m"] = json!(range.map(|[low, _]| low));
    facts["highest_m"] = json!(range.map(|[_, high]| high));
    facts["mean_m"] = json!((valid > 0).then(|| sum as f64 / thalweg::terrain::height::UNITS / valid as f64));
    facts["nodata_cells"] = loaded.nodata_count.into();
}
