//! `info`: describes a terrain file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use thalweg_core::base::names::{format_lines, to_text};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Georeference, Grid, Height, Result};
use thalweg_io::terrain::{Loaded, load_terrain};
use thalweg_io::{Format, RasterHead, read_raster};
use thalweg_store::{ElevationFile, MapRows, MapSummary, Store, is_store, is_zarr, open_raster};

use crate::args::LoadArgs;
use crate::console::{Reporter, print_to_stdout};
use crate::memory;
use crate::terrains::open_by_windows;
use crate::verb::{Group, Verb};

/// The arguments of `info`.
#[derive(Args)]
pub struct InfoArgs {
    /// The terrain file.
    file: PathBuf,
    #[command(flatten)]
    load: LoadArgs,
}

impl Verb for InfoArgs {
    const NAME: &'static str = "info";
    const GROUP: Group = Group::Analyse;
    const ABOUT: &'static str =
        "Prints the size, heights and coordinate system of a terrain file, and whether commands can use it";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        print_info(self, voice).map(|()| ExitCode::SUCCESS)
    }
}

/// Prints the content of the file, and whether commands can work on it.
fn print_info(args: &InfoArgs, voice: Reporter) -> Result<()> {
    let path = &args.file;
    let large = open_by_windows(path, &args.load, false, |size| memory::INFO.required_bytes(size))?;
    let mut facts = if is_zarr(path) || large.is_some() {
        head_facts(path, open_raster(path)?.head())?
    } else {
        head_facts(path, &read_raster(path)?.head())?
    };
    if is_store(path) {
        let store = Store::open_read(path)?;
        facts["layers"] =
            store.spec().layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>().join(", ").into();
    }
    let told = match is_zarr(path) || large.is_some() {
        true => ElevationFile::open(path, &args.load).and_then(|file| map_facts(&mut facts, &file)),
        false => load_terrain(path, &args.load).map(|loaded| {
            terrain_facts(&mut facts, &loaded);
            loaded.warnings
        }),
    };
    match told {
        Ok(warnings) => facts["warnings"] = json!(warnings),
        // Not an error here, because the command is to report why a file is unusable.
        Err(error) => facts["problem"] = error.to_string().into(),
    }
    if voice.json {
        return print_to_stdout(&format!("{facts}\n"));
    }
    let Value::Object(facts) = facts else { return Ok(()) };
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_null()) {
        // The names of lengths end in their unit.
        let (label, unit) = name.strip_suffix("_m").map_or((name.as_str(), ""), |label| (label, " m"));
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Array(sides) if !unit.is_empty() => {
                sides.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ")
            }
            other => other.to_string(),
        };
        print_to_stdout(&format!("{:<14}{}{unit}\n", label.replace('_', " "), format_lines(&value)))?;
    }
    Ok(())
}

/// Returns the properties that a file states.
fn head_facts(path: &Path, head: &RasterHead) -> Result<Value> {
    let georeference = head.georeference.as_ref();
    let format = if is_zarr(path) { "Zarr".to_string() } else { Format::from_path(path)?.to_string() };
    Ok(json!({
        "file": to_text(path),
        "format": format,
        "columns": head.size[1],
        "rows": head.size[0],
        "samples": head.kind,
        "nodata": head.nodata,
        "unit": head.unit,
        "crs": georeference.and_then(Georeference::epsg).map(|code| format!("EPSG:{code}")),
        "transform": georeference.and_then(|g| g.transform),
        "pixel": georeference.map(|g| g.pixel),
    }))
}

/// Adds the properties of a terrain, from a map that is read by rows; returns the warnings.
fn map_facts(facts: &mut Value, file: &ElevationFile) -> Result<Vec<String>> {
    memory::check_row_memory("info", file.grid(), MapRows::memory_bytes(file))?;
    let rows = MapRows::from_file(file, None)?;
    let MapSummary { range, sum, cells: [valid, without] } = rows.summarize()?;
    height_facts(facts, file.grid(), range, sum, [valid, without]);
    Ok(rows.warnings().to_vec())
}

fn terrain_facts(facts: &mut Value, loaded: &Loaded) {
    let terrain = &loaded.terrain;
    let valid = terrain.grid.len() - loaded.nodata_count;
    let masked: i128 = match &terrain.nodata {
        None => 0,
        Some(mask) => {
            let cells = mask.as_slice().iter().zip(terrain.ground.as_slice());
            cells.filter(|(masked, _)| **masked).map(|(_, h)| i128::from(h.0)).sum()
        }
    };
    // Cells without data have heights too, which must not be part of the mean.
    let sum = terrain.sum_solid() - masked;
    height_facts(facts, &terrain.grid, terrain.elevation_range(), sum, [valid as u64, loaded.nodata_count as u64]);
}

fn height_facts(facts: &mut Value, grid: &Grid, range: Option<[Height; 2]>, sum: i128, [valid, without]: [u64; 2]) {
    let range = range.map(|range| range.map(Height::metres));
    facts["cell_size_m"] = grid.cell.into();
    facts["extent_m"] = json!(<[f64; 2]>::from(grid.extent()));
    facts["lowest_m"] = json!(range.map(|[low, _]| low));
    facts["highest_m"] = json!(range.map(|[_, high]| high));
    facts["mean_m"] = json!((valid > 0).then(|| sum as f64 / UNITS / valid as f64));
    facts["nodata_cells"] = without.into();
}
