//! `rivers` and `check-rivers`: add rivers to an elevation model, and check the written files.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::{Parameters as _, parse_value};
use thalweg_core::terrain::{Column, Table};
use thalweg_core::{Cell, Error, MapPoint, Result, Terrain};
use thalweg_io::river_folder::{check_files, draft_network};
use thalweg_io::rivers::read_network;
use thalweg_io::{Sidecar, load_layer, output};
use thalweg_models::model::Model as _;
use thalweg_models::models::river_network::RiverNetwork;
use thalweg_noise::input_tables::springs::SPRINGS;
use thalweg_rivers::check as checks;
use thalweg_rivers::waypoints::{MOUTHS, PASSES};

use crate::args::values::{
    map_point, named_file, parse_area, parse_cell, parse_cell_with_number, parse_name_and_value, seed_parser,
};
use crate::args::{LoadArgs, MapArgs};
use crate::console::{Reporter, list_paths, paths_to_text, print_to_stdout};
use crate::memory;
use crate::terrains::{OpenedTerrain, add_input_to_report, collect_cells, list_source_files, open_terrain};
use crate::verb::{Group, Verb};

/// The arguments of `rivers`.
#[derive(Args)]
pub struct RiversArgs {
    /// The terrain file to read.
    input: PathBuf,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Smallest drainage area of a river in m², such as 250000, 250000m2 or 0.25km2 [default: 1km2; for small terrains,
    /// 1/250 of their area, but at least 200 cells].
    #[arg(long, value_name = "AREA", value_parser = parse_area)]
    catchment: Option<f64>,
    /// Sets a parameter of the model `river_network` (see `thalweg models river_network`): NAME=VALUE; may be repeated.
    #[arg(long, value_name = "SET", value_parser = parse_name_and_value)]
    set: Vec<(String, String)>,
    /// A cell where water leaves the map, counted from 0 in the north-west; may be repeated.
    #[arg(long, value_name = "ROW,COL", value_parser = parse_cell)]
    mouth: Vec<Cell>,
    /// A point where water leaves the map, in the coordinates of the file; may be repeated.
    #[arg(long, value_name = "X,Y", value_parser = map_point, allow_hyphen_values = true)]
    mouth_at: Vec<MapPoint>,
    /// A spring: its cell, and its discharge in m³/s; may be repeated.
    #[arg(long, value_name = "ROW,COL,RATE", value_parser = parse_cell_with_number)]
    spring: Vec<(Cell, f64)>,
    /// A cell that a river is made to pass through, and the distance in metres from which water is diverted to it; may
    /// be repeated.
    #[arg(long, value_name = "ROW,COL,REACH", value_parser = parse_cell_with_number)]
    pass: Vec<(Cell, f64)>,
    /// An input layer: NAME=FILE; may be repeated. NAME is `rain` (a factor on the runoff), `hardness` (of the rock) or
    /// `protect` (1 for ground that rivers avoid).
    #[arg(long, value_name = "LAYER", value_parser = named_file())]
    layer: Vec<(String, PathBuf)>,
    /// Seed of the random meanders of rivers.
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed_parser())]
    seed: u64,
    #[command(flatten)]
    map: MapArgs,
    #[command(flatten)]
    load: LoadArgs,
}

/// The arguments of `check-rivers`.
#[derive(Args)]
pub struct CheckRiversArgs {
    /// The folder that `rivers` wrote.
    folder: PathBuf,
}

impl Verb for RiversArgs {
    const NAME: &'static str = "rivers";
    const GROUP: Group = Group::Analyse;
    const ABOUT: &'static str =
        "Adds rivers and lakes to a terrain, and writes lines, rasters, meshes and the corrected elevation";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let start = Instant::now();
        let mut reads = list_source_files(&self.input);
        reads.extend(self.layer.iter().flat_map(|(_, file)| Sidecar::input_files(file)));
        check_files(&self.output, &reads)?;
        let opened = open_terrain(&self.input, &self.load, &self.map, voice)?;
        let OpenedTerrain { mut terrain, nodata, overridden } = opened;
        memory::RIVERS.check_terrain("rivers", &terrain)?;
        let model = configure_model(self, &mut terrain)?;
        put_places(self, &mut terrain)?;
        let (network, carved) = model.plan_and_carve(&terrain, RandomKey::new(self.seed, model.about().name))?;
        output::make_folder(&self.output)?;
        let mut draft = draft_network(&self.output, &mut terrain, &network, &carved, nodata)?;
        voice.warn_all(draft.warnings());
        add_input_to_report(&mut draft.report, &self.input, &overridden, start);
        let files = draft.final_paths();
        let report = draft.commit(&reads)?;
        // The files are written in any case; these warnings say where the network could not avoid a conflict.
        let (barred, met) = (network.barred, network.met);
        if barred > 0 {
            voice.warn(&format!("{barred} cells of rivers are in protected areas, because no flow path avoids them"));
        }
        if met > 0 {
            let shared = "rivers share cells with other rivers or with lakes";
            voice.warn(&format!("at {met} places {shared}; run `check-rivers` to see whether any of them cross"));
        }
        report_rivers(&report, start, &files, voice);
        Ok(ExitCode::SUCCESS)
    }
}

impl Verb for CheckRiversArgs {
    const NAME: &'static str = "check-rivers";
    const GROUP: Group = Group::Analyse;
    const ABOUT: &'static str =
        "Checks the rivers and lakes that `rivers` wrote, and prints the share of cases that pass each check";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let files = read_network(&self.folder)?;
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
}

/// The least number of cells of the default drainage area of a river.
const MIN_RIVER_CELLS: f64 = 200.0;

/// The default drainage area of a river in a small file is the area of the file divided by this number.
const MAP_AREA_DIVISOR: f64 = 250.0;

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

/// Truncates to two decimal places, so that nothing short of all is shown as 100.
fn floor_percent(percent: f64) -> f64 {
    (percent * 100.0).floor() / 100.0
}
