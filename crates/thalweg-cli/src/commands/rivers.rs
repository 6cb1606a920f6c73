//! `rivers` and `check-rivers`: rivers put into an elevation model, and what was written checked.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use thalweg::base::names::to_text;
use thalweg::base::rng::Key;
use thalweg::declare::params::{Parameters as _, typed};
use thalweg::given::springs::SPRINGS;
use thalweg::io::place::cell_at;
use thalweg::io::river_folder::{check_files, draft_network};
use thalweg::io::rivers::read_network;
use thalweg::io::{Loaded, Sidecar, load, load_layer, output};
use thalweg::model::Model as _;
use thalweg::models::river_network::RiverNetwork;
use thalweg::rivers::check as checks;
use thalweg::rivers::waypoints::{MOUTHS, PASSES};
use thalweg::terrain::height::Height;
use thalweg::terrain::{Column, Table, Terrain};
use thalweg::{Error, Result};

use crate::args::Rivers;
use crate::console::{Voice, list, print, texts};
use crate::memory;

/// Fewest cells of a catchment that the default takes for a river's.
const FEWEST: f64 = 200.0;

/// Rivers' catchments that the default lets a small file have room for.
const MANY: f64 = 250.0;

/// Puts rivers into a file's terrain and writes them into a folder.
///
/// # Errors
/// An unusable input, a wish that cannot be met, a folder that cannot be written, too little memory.
pub fn rivers(args: &Rivers, voice: Voice) -> Result<()> {
    let start = Instant::now();
    let mut reads = Sidecar::files(&args.input);
    reads.extend(args.layer.iter().flat_map(|(_, file)| Sidecar::files(file)));
    check_files(&args.output, &reads)?;
    let Loaded { mut terrain, warnings, nodata, overridden, .. } = load(&args.input, &args.load.options())?;
    voice.warn_all(&warnings);
    memory::RIVERS.over("rivers", &terrain)?;
    terrain.grid.edges = args.edges.edges();
    terrain.grid.sea_level = args.sea_level.map(Height::from_metres).transpose()?;
    let model = model(args, &mut terrain)?;
    wishes(args, &mut terrain)?;
    let (network, carved) = model.made(&terrain, Key::new(args.seed, model.about().name))?;
    output::make_folder(&args.output)?;
    let mut draft = draft_network(&args.output, &mut terrain, &network, &carved, nodata)?;
    voice.warn_all(draft.warnings());
    draft.report["input"] = to_text(&args.input).into();
    if !overridden.is_empty() {
        draft.report["units_overridden"] = json!(overridden);
    }
    draft.report["seconds"] = start.elapsed().as_secs_f64().into();
    let files = draft.files();
    let report = draft.commit(&reads)?;
    let (barred, met) = (network.barred, network.met);
    if barred > 0 {
        voice.warn(&format!("{barred} cells of rivers lie where they were to keep off: there is no way round"));
    }
    if met > 0 {
        let where_to = "rivers share cells with one another or with lakes: check-rivers tells whether any cross";
        voice.warn(&format!("at {met} places {where_to}"));
    }
    say(&report, start, &files, voice);
    Ok(())
}

/// Says what was made, and where it is.
fn say(report: &Value, start: Instant, files: &[PathBuf], voice: Voice) {
    let number = |key: &str| report[key].as_f64().unwrap_or(0.0);
    let kilometres = number("length_m") / 1000.0;
    voice.say(&format!("{} rivers, {kilometres:.1} km, {} lakes", report["rivers"], report["lakes"]));
    let [from, to] = ["drains_before", "drains"].map(|key| floored(100.0 * number(key)));
    voice.say(&format!("{to:.2} % of the land drains, where {from:.2} % did"));
    voice.say(&format!("wrote in {:.1} s:\n  {}", start.elapsed().as_secs_f64(), list(files)));
    voice.event(&json!({"event": "result", "files": texts(files), "rivers": report}));
}

/// The model as it was set, with its layers laid into the terrain.
fn model(args: &Rivers, terrain: &mut Terrain) -> Result<RiverNetwork> {
    let mut model = RiverNetwork::default();
    let about = model.about();
    let area = terrain.grid.cell_area();
    let usual = (model.catchment * 1e6).min(terrain.grid.len() as f64 * area / MANY).max(FEWEST * area);
    model.catchment = args.catchment.unwrap_or(usual) / 1e6;
    for (name, value) in &args.set {
        model.set(about.name, name, &typed(value))?;
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

/// Puts what is wished of the rivers into the terrain's tables.
fn wishes(args: &Rivers, terrain: &mut Terrain) -> Result<()> {
    let mouths = args.mouth_at.iter().map(|point| {
        let allowed = "a point inside the file, in its coordinates";
        cell_at(&terrain.grid, *point)
            .ok_or_else(|| Error::value("--mouth-at", format!("{},{}", point[0], point[1]), allowed))
    });
    let mouths = args.mouth.iter().map(|cell| Ok(*cell)).chain(mouths).collect::<Result<Vec<_>>>()?;
    let column = |name: &str, unit: &str, values| (name.to_string(), unit.to_string(), values);
    let mut table = |name: &str, cells: Vec<[usize; 2]>, more: Option<(&str, &str, Vec<f64>)>| {
        let ints = |axis: usize| Column::Int(cells.iter().map(|cell| cell[axis] as i64).collect());
        let mut columns = vec![column("row", "cell", ints(0)), column("column", "cell", ints(1))];
        if let Some((name, unit, values)) = more {
            columns.push(column(name, unit, Column::Float(values.iter().map(|x| *x as f32).collect())));
        }
        terrain.tables.insert(name.to_string(), Table { columns });
    };
    let parts = |placed: &[([usize; 2], f64)]| -> (Vec<[usize; 2]>, Vec<f64>) { placed.iter().copied().unzip() };
    table(MOUTHS, mouths, None);
    let (cells, rates) = parts(&args.spring);
    table(SPRINGS, cells, Some(("rate", "m³/s", rates)));
    let (cells, reaches) = parts(&args.pass);
    table(PASSES, cells, Some(("reach", "m", reaches)));
    Ok(())
}

/// Checks a folder; fails if anything does not hold.
///
/// # Errors
/// A folder that `rivers` has not written.
pub fn check(folder: &Path, voice: Voice) -> Result<ExitCode> {
    let files = read_network(folder)?;
    let found = checks::check(&files);
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

/// Cut to two digits, so that nothing short of all is called 100.
fn floored(percent: f64) -> f64 {
    (percent * 100.0).floor() / 100.0
}
