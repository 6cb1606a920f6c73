//! `rivers` and `check-rivers`: add rivers to an elevation model, and check the written files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use thalweg_core::base::rng::Key;
use thalweg_core::declare::params::{Parameters as _, parse_value};
use thalweg_core::terrain::{Column, Table};
use thalweg_core::{Cell, Error, Result, Terrain};
use thalweg_io::river_folder::{check_files, draft_network};
use thalweg_io::rivers::read_network;
use thalweg_io::{Sidecar, load_layer, output};
use thalweg_models::model::Model as _;
use thalweg_models::models::river_network::RiverNetwork;
use thalweg_noise::given::springs::SPRINGS;
use thalweg_rivers::check as checks;
use thalweg_rivers::waypoints::{MOUTHS, PASSES};

use crate::args::Rivers;
use crate::console::{Voice, list, print, texts};
use crate::memory;
use crate::terrains::{Opened, cells, files_of, note, opened};

/// The least number of cells of the default drainage area of a river.
const FEWEST: f64 = 200.0;

/// The default drainage area of a river in a small file is the area of the file divided by this number.
const MANY: f64 = 250.0;

/// Adds rivers to the terrain of a file and writes them into a folder.
///
/// # Errors
/// Returns an error if the input is unusable, if a place is outside, if the folder cannot be written, or if there is
/// too little memory.
pub fn rivers(args: &Rivers, voice: Voice) -> Result<()> {
    let start = Instant::now();
    let mut reads = files_of(&args.input);
    reads.extend(args.layer.iter().flat_map(|(_, file)| Sidecar::files(file)));
    check_files(&args.output, &reads)?;
    let Opened { mut terrain, nodata, overridden } =
        opened(&args.input, &args.load, args.edges, args.sea_level, voice)?;
    memory::RIVERS.over("rivers", &terrain)?;
    let model = model(args, &mut terrain)?;
    put_places(args, &mut terrain)?;
    let (network, carved) = model.make(&terrain, Key::new(args.seed, model.about().name))?;
    output::make_folder(&args.output)?;
    let mut draft = draft_network(&args.output, &mut terrain, &network, &carved, nodata)?;
    voice.warn_all(draft.warnings());
    note(&mut draft.report, &args.input, &overridden, start);
    let files = draft.files();
    let report = draft.commit(&reads)?;
    let (barred, met) = (network.barred, network.met);
    if barred > 0 {
        voice.warn(&format!("{barred} cells of rivers are on protected ground, because there is no way around it"));
    }
    if met > 0 {
        let where_to = "rivers share cells with one another or with lakes; check-rivers reports whether any cross";
        voice.warn(&format!("at {met} places {where_to}"));
    }
    say(&report, start, &files, voice);
    Ok(())
}

/// Reports the results and their files.
fn say(report: &Value, start: Instant, files: &[PathBuf], voice: Voice) {
    let number = |key: &str| report[key].as_f64().unwrap_or(0.0);
    let kilometres = number("length_m") / 1000.0;
    voice.say(&format!("{} rivers, {kilometres:.1} km, {} lakes", report["rivers"], report["lakes"]));
    let [from, to] = ["drains_before", "drains"].map(|key| floored(100.0 * number(key)));
    voice.say(&format!("{to:.2} % of the land drains; before, it was {from:.2} %"));
    voice.say(&format!("wrote in {:.1} s:\n  {}", start.elapsed().as_secs_f64(), list(files)));
    voice.event(&json!({"event": "result", "files": texts(files), "rivers": report}));
}

/// Returns the model with its settings, and inserts its layers into the terrain.
fn model(args: &Rivers, terrain: &mut Terrain) -> Result<RiverNetwork> {
    let mut model = RiverNetwork::default();
    let about = model.about();
    let area = terrain.grid.cell_area();
    let usual = (model.catchment * 1e6).min(terrain.grid.len() as f64 * area / MANY).max(FEWEST * area);
    model.catchment = args.catchment.unwrap_or(usual) / 1e6;
    for (name, value) in &args.set {
        model.set(about.name, name, &parse_value(value))?;
    }
    for (name, file) in &args.layer {
        let known = || about.uses.iter().map(|spec| spec.name);
        let spec = about.uses.iter().find(|spec| spec.name == name);
        let spec = spec.ok_or_else(|| Error::unknown("input layer", name, known()))?;
        let cells = load_layer(file, &terrain.grid, spec)?;
        terrain.insert(spec, cells)?;
    }
    Ok(model)
}

/// Writes mouths, springs and waypoints into the terrain's tables.
fn put_places(args: &Rivers, terrain: &mut Terrain) -> Result<()> {
    let table = |cells: Vec<Cell>| Table::at(cells.into_iter().map(|cell| cell.map(|at| at as i64)));
    let parts = |placed: &[(Cell, f64)]| -> (Vec<Cell>, Vec<f32>) {
        placed.iter().map(|(cell, number)| (*cell, *number as f32)).unzip()
    };
    let mouths = cells(terrain, &args.mouth, &args.mouth_at, "--mouth-at")?;
    let ((springs, rates), (passes, reaches)) = (parts(&args.spring), parts(&args.pass));
    for (name, table) in [
        (MOUTHS, table(mouths)),
        (SPRINGS, table(springs).with("rate", "m³/s", Column::Float(rates))),
        (PASSES, table(passes).with("reach", "m", Column::Float(reaches))),
    ] {
        terrain.tables.insert(name.to_string(), table);
    }
    Ok(())
}

/// Checks a folder; returns failure if a check does not pass.
///
/// # Errors
/// Returns an error if the folder was not written by `rivers`.
pub fn check(folder: &Path, voice: Voice) -> Result<ExitCode> {
    let files = read_network(folder)?;
    let found = checks::check_river_files(&files);
    let well = found.iter().all(|check| check.holds());
    for check in &found {
        let first = check.first.as_ref().map_or(String::new(), |first| format!(": {first}"));
        let line =
            format!("{:>6.2} %  {} ({} of {}){first}\n", floored(check.percent()), check.name, check.good, check.count);
        if !voice.json {
            print(&line)?;
        }
    }
    let list = found.iter().map(|check| {
        json!({"name": check.name, "count": check.count, "good": check.good, "percent": check.percent(), "least": check.least, "first": check.first})
    });
    voice.event(&json!({"event": "result", "files": [], "checks": list.collect::<Vec<_>>()}));
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Truncates to two decimal places, so that nothing short of all is shown as 100.
fn floored(percent: f64) -> f64 {
    (percent * 100.0).floor() / 100.0
}
