//! `rivers` and `check-rivers`: add rivers to an elevation model, and check the written files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::{Parameters as _, parse_value};
use thalweg_core::terrain::{Column, Table};
use thalweg_core::{Cell, Error, Result, Terrain};
use thalweg_io::river_folder::{check_files, draft_network};
use thalweg_io::rivers::read_network;
use thalweg_io::{Sidecar, load_layer, output};
use thalweg_models::model::Model as _;
use thalweg_models::models::river_network::RiverNetwork;
use thalweg_noise::input_tables::springs::SPRINGS;
use thalweg_rivers::check as checks;
use thalweg_rivers::waypoints::{MOUTHS, PASSES};

use crate::args::RiversArgs;
use crate::console::{Reporter, list_paths, paths_to_text, print_to_stdout};
use crate::memory;
use crate::terrains::{OpenedTerrain, add_input_to_report, collect_cells, list_source_files, open_terrain};

/// The least number of cells of the default drainage area of a river.
const MIN_RIVER_CELLS: f64 = 200.0;

/// The default drainage area of a river in a small file is the area of the file divided by this number.
const MAP_AREA_DIVISOR: f64 = 250.0;

/// Adds rivers to the terrain of a file and writes them into a folder.
///
/// # Errors
/// Returns an error if the input is unusable, if a place is outside, if the folder cannot be written, or if there is
/// too little memory.
pub fn add_rivers(args: &RiversArgs, voice: Reporter) -> Result<()> {
    let start = Instant::now();
    let mut reads = list_source_files(&args.input);
    reads.extend(args.layer.iter().flat_map(|(_, file)| Sidecar::input_files(file)));
    check_files(&args.output, &reads)?;
    let OpenedTerrain { mut terrain, nodata, overridden } =
        open_terrain(&args.input, &args.load, args.edges, args.sea_level, voice)?;
    memory::RIVERS.check_terrain("rivers", &terrain)?;
    let model = configure_model(args, &mut terrain)?;
    put_places(args, &mut terrain)?;
    let (network, carved) = model.plan_and_carve(&terrain, RandomKey::new(args.seed, model.about().name))?;
    output::make_folder(&args.output)?;
    let mut draft = draft_network(&args.output, &mut terrain, &network, &carved, nodata)?;
    voice.warn_all(draft.warnings());
    add_input_to_report(&mut draft.report, &args.input, &overridden, start);
    let files = draft.final_paths();
    let report = draft.commit(&reads)?;
    // The files are written in any case; these warnings say where the network could not avoid a conflict.
    let (barred, met) = (network.barred, network.met);
    if barred > 0 {
        voice.warn(&format!("{barred} cells of rivers are in protected areas, because no flow path avoids them"));
    }
    if met > 0 {
        let where_to =
            "rivers share cells with other rivers or with lakes; run `check-rivers` to see whether any of them cross";
        voice.warn(&format!("at {met} places {where_to}"));
    }
    report_rivers(&report, start, &files, voice);
    Ok(())
}

/// Reports the results and their files.
fn report_rivers(report: &Value, start: Instant, files: &[PathBuf], voice: Reporter) {
    let number = |key: &str| report[key].as_f64().unwrap_or(0.0);
    let kilometres = number("length_m") / 1000.0;
    voice.print_line(&format!("{} rivers, {kilometres:.1} km, {} lakes", report["rivers"], report["lakes"]));
    let [from, to] = ["drains_before", "drains"].map(|key| floor_percent(100.0 * number(key)));
    voice.print_line(&format!(
        "{to:.2} % of the land now drains to the edge, the sea or a lake; before, {from:.2} % did"
    ));
    voice.print_line(&format!("wrote in {:.1} s:\n  {}", start.elapsed().as_secs_f64(), list_paths(files)));
    voice.print_event(&json!({"event": "result", "files": paths_to_text(files), "rivers": report}));
}

/// Returns the model with its settings, and inserts its layers into the terrain.
fn configure_model(args: &RiversArgs, terrain: &mut Terrain) -> Result<RiverNetwork> {
    let mut model = RiverNetwork::default();
    let about = model.about();
    let area = terrain.grid.cell_area();
    // The model's default applies if the map is at least 250 times as large. A smaller map gets a 250th of its area,
    // but never less than `MIN_RIVER_CELLS` cells.
    let usual =
        (model.catchment * 1e6).min(terrain.grid.len() as f64 * area / MAP_AREA_DIVISOR).max(MIN_RIVER_CELLS * area);
    model.catchment = args.catchment.unwrap_or(usual) / 1e6;
    for (name, value) in &args.set {
        model.set(about.name, name, &parse_value(value))?;
    }
    for (name, file) in &args.layer {
        let known = || about.uses.iter().map(|spec| spec.name);
        let spec = about.uses.iter().find(|spec| spec.name == name);
        let spec = spec.ok_or_else(|| Error::unknown_name("input layer", name, known()))?;
        let cells = load_layer(file, &terrain.grid, spec)?;
        terrain.insert_layer(spec, cells)?;
    }
    Ok(model)
}

/// Writes mouths, springs and waypoints into the terrain's tables.
fn put_places(args: &RiversArgs, terrain: &mut Terrain) -> Result<()> {
    let table = |cells: Vec<Cell>| Table::from_cells(cells.into_iter().map(|cell| cell.map(|at| at as i64)));
    let parts = |placed: &[(Cell, f64)]| -> (Vec<Cell>, Vec<f32>) {
        placed.iter().map(|(cell, number)| (*cell, *number as f32)).unzip()
    };
    let mouths = collect_cells(terrain, &args.mouth, &args.mouth_at, "--mouth-at")?;
    let ((springs, rates), (passes, reaches)) = (parts(&args.spring), parts(&args.pass));
    for (name, table) in [
        (MOUTHS, table(mouths)),
        (SPRINGS, table(springs).with_column("rate", "m³/s", Column::Float(rates))),
        (PASSES, table(passes).with_column("reach", "m", Column::Float(reaches))),
    ] {
        terrain.tables.insert(name.to_string(), table);
    }
    Ok(())
}

/// Checks a folder; returns failure if a check does not pass.
///
/// # Errors
/// Returns an error if the folder was not written by `rivers`.
pub fn check_rivers(folder: &Path, voice: Reporter) -> Result<ExitCode> {
    let files = read_network(folder)?;
    let found = checks::check_river_files(&files);
    let well = found.iter().all(|check| check.has_passed());
    for check in &found {
        let first = check.first.as_ref().map_or(String::new(), |first| format!(": {first}"));
        let line = format!(
            "{:>6.2} %  {} ({} of {}){first}\n",
            floor_percent(check.passed_percent()),
            check.name,
            check.good,
            check.count
        );
        if !voice.json {
            print_to_stdout(&line)?;
        }
    }
    let list = found.iter().map(|check| {
        json!({"name": check.name, "count": check.count, "good": check.good, "percent": check.passed_percent(), "least": check.least, "first": check.first})
    });
    voice.print_event(&json!({"event": "result", "files": [], "checks": list.collect::<Vec<_>>()}));
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Truncates to two decimal places, so that nothing short of all is shown as 100.
fn floor_percent(percent: f64) -> f64 {
    (percent * 100.0).floor() / 100.0
}
