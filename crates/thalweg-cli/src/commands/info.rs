//! `info`: describes a terrain file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};
use thalweg_core::base::names::{format_lines, to_text};
use thalweg_core::terrain::CellShape;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Grid, Height, Result};
use thalweg_io::facts::{FactSource, Facts};
use thalweg_io::terrain::{Loaded, load_terrain};
use thalweg_io::{Format, read_raster_with};
use thalweg_store::{ElevationFile, MapRows, MapSummary, Store, is_store, is_zarr, open_raster_with};

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
        "Prints what is understood of a terrain file, and from where, and whether commands can use it";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        print_info(self, voice).map(|()| ExitCode::SUCCESS)
    }
}

/// Prints the properties of the file and their sources, and whether commands can work on it.
fn print_info(args: &InfoArgs, voice: Reporter) -> Result<()> {
    let path = &args.file;
    let large = open_by_windows(path, &args.load, false, |size| memory::INFO.required_bytes(size))?;
    let by_windows = is_zarr(path) || large.is_some();
    let mut facts = Facts::default();
    facts.record("file", to_text(path), FactSource::Name);
    let format = if is_zarr(path) { "Zarr".to_string() } else { Format::from_path(path)?.to_string() };
    facts.record("format", format, FactSource::Name);
    match by_windows {
        true => facts.record_head(open_raster_with(path, &args.load)?.head()),
        false => facts.record_head(&read_raster_with(path, &args.load)?.head()),
    }
    let told = match by_windows {
        true => ElevationFile::open(path, &args.load).and_then(|file| record_map(&mut facts, &file)),
        false => load_terrain(path, &args.load).map(|loaded| record_terrain(&mut facts, loaded)),
    };
    // What has no source of its own follows the facts.
    let mut others = Map::new();
    if is_store(path) {
        let store = Store::open_read(path)?;
        let names: Vec<_> = store.spec().layers.iter().map(|layer| layer.name.as_str()).collect();
        others.insert("layers".to_string(), names.join(", ").into());
    }
    match told {
        Ok([warnings, overridden]) => {
            others.insert("warnings".to_string(), json!(warnings));
            if !overridden.is_empty() {
                others.insert("units_overridden".to_string(), json!(overridden));
            }
        }
        // Not an error here, because the command is to report why a file is unusable.
        Err(error) => drop(others.insert("problem".to_string(), error.to_string().into())),
    }
    if voice.json {
        let mut object = facts.to_json();
        object.extend(others);
        return print_to_stdout(&format!("{}\n", Value::from(object)));
    }
    for fact in facts.iter() {
        let value = fact.format_value();
        let line = match &fact.source {
            FactSource::Samples => value,
            source => format!("{value:<36}  {source}"),
        };
        print_to_stdout(&format!("{:<17} {}\n", fact.name.replace('_', " "), format_lines(&line)))?;
    }
    for (name, value) in &others {
        let lines = match value {
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
            value => vec![value.as_str().unwrap_or_default()],
        };
        for line in lines {
            print_to_stdout(&format!("{:<17} {}\n", name.replace('_', " "), format_lines(line)))?;
        }
    }
    Ok(())
}

/// Records the properties of a terrain, from a map that is read by rows; returns the warnings and the overridden units.
fn record_map(facts: &mut Facts, file: &ElevationFile) -> Result<[Vec<String>; 2]> {
    memory::check_row_memory("info", file.grid(), MapRows::memory_bytes(file))?;
    let rows = MapRows::from_file(file, None)?;
    let MapSummary { range, sum, cells } = rows.summarize()?;
    facts.record_all(rows.facts());
    record_heights(facts, file.grid(), range, sum, cells);
    Ok([rows.warnings().to_vec(), file.overridden_units().to_vec()])
}

/// Records the properties of a terrain in memory; returns the warnings and the overridden units.
fn record_terrain(facts: &mut Facts, loaded: Loaded) -> [Vec<String>; 2] {
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
    facts.record_all(loaded.facts);
    record_heights(facts, &terrain.grid, terrain.elevation_range(), sum, [valid as u64, loaded.nodata_count as u64]);
    [loaded.warnings, loaded.overridden]
}

fn record_heights(facts: &mut Facts, grid: &Grid, range: Option<[Height; 2]>, sum: i128, [valid, without]: [u64; 2]) {
    if grid.shape == CellShape::Square {
        facts.record_measured("extent_m", json!(<[f64; 2]>::from(grid.extent())));
    }
    if let Some([low, high]) = range.map(|range| range.map(Height::metres)) {
        facts.record_measured("lowest_m", low);
        facts.record_measured("highest_m", high);
    }
    if valid > 0 {
        facts.record_measured("mean_m", sum as f64 / UNITS / valid as f64);
    }
    facts.record_measured("nodata_cells", without);
    facts.record_measured("nodata_share", without as f64 / (valid + without).max(1) as f64);
}
