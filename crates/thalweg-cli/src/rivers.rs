//! `rivers` and `check-rivers`: rivers put into an elevation model, and what was written checked.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use thalweg::base::names::to_text;
use thalweg::base::rng::Key;
use thalweg::declare::params::{Parameters as _, typed};
use thalweg::given::springs::SPRINGS;
use thalweg::io::apart::apart;
use thalweg::io::atomic::atomic;
use thalweg::io::place::cell_at;
use thalweg::io::rivers::{read_network, save_network};
use thalweg::io::staging::Staging;
use thalweg::io::terrain::{Loaded, load, load_layer};
use thalweg::io::{Sidecar, output};
use thalweg::model::Model as _;
use thalweg::models::river_network::RiverNetwork;
use thalweg::products::mesh_files::Glb;
use thalweg::products::ribbon::ribbons;
use thalweg::rivers::waypoints::{MOUTHS, PASSES};
use thalweg::rivers::{Carved, Network};
use thalweg::rivers::{check as checks, drained, network::Mouth};
use thalweg::terrain::height::{Height, UNITS};
use thalweg::terrain::{Column, Table, Terrain};
use thalweg::{Error, Result};

use crate::args::Rivers;
use crate::console::{Voice, list, print, texts};
use crate::{memory, pictures};
use thalweg::io::write_text;

/// Fewest cells of a catchment that the default takes for a river's.
const FEWEST: f64 = 200.0;

/// Rivers' catchments that the default lets a small file have room for.
const MANY: f64 = 250.0;

/// What speaks for the other files.
const REPORT: &str = "rivers.json";

/// The files that are written.
const FILES: [&str; 18] = [
    "height.tif",
    "rivers.tif",
    "paths.tif",
    "lakes.tif",
    "bed.tif",
    "water_surface.tif",
    "distance.tif",
    "catchments.tif",
    "rivers.geojson",
    "rivers.fgb",
    "lakes.geojson",
    "lakes.fgb",
    "catchments.geojson",
    "catchments.fgb",
    "network.json",
    "water.glb",
    "rivers.png",
    REPORT,
];

/// Puts rivers into a file's terrain and writes them into a folder.
///
/// # Errors
/// An unusable input, a wish that cannot be met, a folder that cannot be written, too little memory.
pub fn rivers(args: &Rivers, voice: Voice) -> Result<()> {
    let start = Instant::now();
    let folder = &args.output;
    let mut reads = Sidecar::files(&args.input);
    reads.extend(args.layer.iter().flat_map(|(_, file)| Sidecar::files(file)));
    let writes: Vec<PathBuf> = FILES.iter().map(|name| folder.join(name)).collect();
    apart(&reads, &writes)?;
    output::check_names(folder, REPORT, &FILES.map(String::from))?;
    let mut model = RiverNetwork::default();
    let loaded = load(&args.input, &args.load.options())?;
    voice.warn_all(&loaded.warnings);
    let Loaded { mut terrain, nodata, overridden, .. } = loaded;
    memory::RIVERS.over("rivers", &terrain)?;
    terrain.grid.edges = args.edges.edges();
    terrain.grid.sea_level = args.sea_level.map(Height::from_metres).transpose()?;
    let area = terrain.grid.cell_area();
    let usual = (model.catchment * 1e6).min(terrain.grid.len() as f64 * area / MANY).max(FEWEST * area);
    model.catchment = args.catchment.unwrap_or(usual) / 1e6;
    let about = model.about();
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
    wishes(args, &mut terrain)?;
    let (network, carved) = model.made(&terrain, Key::new(args.seed, about.name))?;
    output::make_folder(folder)?;
    let before = std::mem::replace(&mut terrain.ground, carved.ground.clone());
    let cut: i64 = before.as_slice().iter().zip(terrain.ground.as_slice()).map(|(a, b)| i64::from(a.0 - b.0)).sum();
    let mut staging = Staging::new();
    let at = staging.folder(folder)?;
    let (files, said) = write(&at, &terrain, &network, &carved, nodata).map_err(|error| staging.error(error))?;
    voice.warn_all(&staging.said(said));
    let report = folder.join(REPORT);
    let files: Vec<PathBuf> = files.iter().map(|file| staging.target(file)).chain([report.clone()]).collect();
    let mut summary = summary(&terrain, &network, &carved);
    let drains = [
        drained::of_terrain(&before, &terrain, None),
        drained::of_terrain(&carved.ground, &terrain, Some(&network.lake)),
    ];
    summary["drains_before"] = drains[0].into();
    summary["drains"] = drains[1].into();
    summary["input"] = to_text(&args.input).into();
    summary["cut_m3"] = json!(cut as f64 / UNITS * terrain.grid.cell_area());
    if !overridden.is_empty() {
        summary["units_overridden"] = json!(overridden);
    }
    summary["seconds"] = start.elapsed().as_secs_f64().into();
    summary["files"] = json!(texts(&files));
    write_text(&at.join(REPORT), &format!("{summary:#}\n")).map_err(|error| staging.error(error))?;
    let reports = [report];
    staging.commit(&reports, &reports, &reads)?;
    if network.barred > 0 {
        voice.warn(&format!(
            "{} cells of rivers lie where they were to keep off: there is no way round",
            network.barred
        ));
    }
    if network.met > 0 {
        voice.warn(&format!(
            "at {} places rivers share cells with one another or with lakes: check-rivers tells whether any cross",
            network.met
        ));
    }
    let kilometres = summary["length_m"].as_f64().unwrap_or(0.0) / 1000.0;
    voice.say(&format!("{} rivers, {kilometres:.1} km, {} lakes", summary["rivers"], summary["lakes"]));
    let [from, to] = drains.map(|share| floored(100.0 * share));
    voice.say(&format!("{to:.2} % of the land drains, where {from:.2} % did"));
    voice.say(&format!("wrote in {:.1} s:\n  {}", start.elapsed().as_secs_f64(), list(&files)));
    voice.event(&json!({"event": "result", "files": texts(&files), "rivers": summary}));
    Ok(())
}

/// Writes all but the report; gives the files, and what could not be kept in them, in words.
fn write(
    at: &Path,
    terrain: &Terrain,
    network: &Network,
    carved: &Carved,
    nodata: Option<f64>,
) -> Result<(Vec<PathBuf>, Vec<String>)> {
    let (mut files, said) = save_network(at, terrain, network, carved, nodata)?;
    if let Some(mesh) = ribbons(network, carved) {
        let path = at.join("water.glb");
        let glb = Glb::new(&mesh, None, None)?;
        atomic(&path, |file| glb.write(file).map_err(Error::io(&path, "write")))?;
        files.push(path);
    }
    let map = at.join("rivers.png");
    pictures::river_map(terrain, network, &map)?;
    files.push(map);
    Ok((files, said))
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

/// What rivers.json holds (its schema is docs/report.schema.json).
fn summary(terrain: &Terrain, network: &Network, carved: &Carved) -> Value {
    let grid = &terrain.grid;
    let lengths = network.rivers.iter().map(|run| network.lengths(run).last().copied().unwrap_or(0.0));
    let ends = |word: fn(&Mouth) -> bool| network.rivers.iter().filter(|run| word(&run.mouth)).count();
    let greatest = network.rivers.iter().filter_map(|run| run.vertices.last()).map(|end| end.flow).max().unwrap_or(0);
    let water = carved.water.as_slice().iter().zip(carved.share.as_slice());
    let volume: f64 = water.map(|(depth, share)| depth.metres() * f64::from(*share)).sum();
    let lakes: std::collections::BTreeSet<u32> = network.lake.as_slice().iter().copied().filter(|n| *n > 0).collect();
    let rivers: std::collections::BTreeSet<u32> = network.rivers.iter().map(|run| run.number).collect();
    json!({
        "thalweg": env!("CARGO_PKG_VERSION"),
        "rows": grid.rows(),
        "columns": grid.cols(),
        "cell_size": grid.cell,
        "sea_level": grid.sea_level.map(Height::metres),
        "rivers": rivers.len(),
        "lakes": lakes.len(),
        "length_m": lengths.sum::<f64>(),
        "to_sea": ends(|mouth| *mouth == Mouth::Sea),
        "to_edge": ends(|mouth| *mouth == Mouth::Edge),
        "to_outlet": ends(|mouth| *mouth == Mouth::Outlet),
        "greatest_discharge": greatest as f64 / thalweg::rivers::network::FLOW,
        "water_m3": volume * grid.cell_area(),
    })
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
