//! `drain`: where water goes on an elevation model, as files for GIS.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use thalweg::base::names::to_text;
use thalweg::flow::{Directions, Drainage, Land, Link, VOID, basins, breach, infinity, links, streams};
use thalweg::io::apart::apart;
use thalweg::io::staging::Staging;
use thalweg::io::terrain::{Loaded, SaveOptions, load, save, save_layer};
use thalweg::io::vector::{cell_at, save_links};
use thalweg::io::{Samples, Sidecar, save_samples};
use thalweg::model::YEAR;
use thalweg::models::drainage::{ACCUMULATION, LAKE_DEPTH};
use thalweg::terrain::field::Field;
use thalweg::terrain::height::{Height, UNITS};
use thalweg::terrain::{Cells, DISCHARGE, POOL, Terrain};
use thalweg::{Error, Result};

use crate::args::Drain;
use crate::job::write_text;
use crate::voice::{Voice, list, texts};
use crate::{memory, output, pictures, water};

/// Catchment in m² from which on there is a stream, if it is not said: what makes a brook in most humid country.
const THRESHOLD: f64 = 500_000.0;

/// Fewest cells of a catchment that the default takes for more than noise.
const FEWEST: f64 = 100.0;

/// What speaks for the other files.
const REPORT: &str = "drain.json";

/// The files that are written.
const FILES: [&str; 11] = [
    "filled.tif",
    "lake_depth.tif",
    "directions.tif",
    "angles.tif",
    "accumulation.tif",
    "basins.tif",
    "streams.tif",
    "streams.geojson",
    "streams.fgb",
    "map.png",
    REPORT,
];

/// Those of the running water.
const RUNNING: [&str; 9] = [
    "height.tif",
    "pool.tif",
    "discharge.tif",
    "lakes.geojson",
    "lakes.fgb",
    "lakes.csv",
    "rivers.geojson",
    "rivers.fgb",
    "wetness.tif",
];

/// Files, and what could not be kept in them, in words.
type Written = (Vec<PathBuf>, Vec<String>);

/// Works out the drainage of a file and writes it into a folder.
///
/// # Errors
/// An unusable input, an outlet outside, a folder that cannot be written, too little memory.
pub fn drain(args: &Drain, voice: Voice) -> Result<()> {
    let start = Instant::now();
    let folder = &args.output;
    let more: &[&str] = if args.runoff.is_some() { &RUNNING } else { &[] };
    let cut = args.breach.map(|_| "cut.tif");
    let names: Vec<String> = FILES.iter().chain(more).copied().chain(cut).map(String::from).collect();
    let writes: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    apart(&Sidecar::files(&args.input), &writes)?;
    output::check_names(folder, REPORT, &names)?;
    let loaded = load(&args.input, &args.load.options())?;
    voice.warn_all(loaded.warnings.clone());
    let Loaded { mut terrain, nodata, overridden, .. } = loaded;
    memory::DRAIN.over("drain", &terrain)?;
    terrain.grid.edges = args.edges.edges();
    terrain.grid.sea_level = args.sea_level.map(Height::from_metres).transpose()?;
    let outlets = outlets(args, &terrain)?;
    let area = terrain.grid.cell_area();
    let threshold = args.threshold.unwrap_or(THRESHOLD.max(FEWEST * area));

    let mut phases = Phases::new(voice);
    let land = Land { outlets: &outlets, ..Land::of(&terrain) };
    land.check()?;
    let limits = args.breach.map(|[depth, length]| breach::Limits { depth, length });
    limits.map_or(Ok(()), |limits| limits.check())?;
    output::make_folder(folder)?;
    phases.begin("breach");
    let breached = limits.map(|limits| breach::breach(&land, &limits)).transpose()?;
    let open = breached.as_ref().map_or(&terrain.ground, |breached| &breached.ground);
    let land = land.under(open);
    phases.begin("directions");
    let mut drainage = Drainage::of(&land);
    let (land, directions) = (drainage.surface(&land), drainage.directions());
    let angles = infinity::angles(&land, directions);
    phases.begin(ACCUMULATION.name);
    let counts = drainage.cells();
    phases.begin("streams");
    let mask = streams::streams(&land, counts, streams::least_cells(threshold, area))?;
    let orders = streams::strahler(directions, &mask)?;
    let basins = basins::basins(&land, directions)?;
    let links = links::links(&land, directions, counts, &mask)?;
    let lakes = drainage.depths(open);
    let cut = breached.as_ref().map(|breached| {
        Field::generate(terrain.grid.size, |i, j| Height(terrain.ground[(i, j)].0 - breached.ground[(i, j)].0))
    });
    let counts = drainage.take_cells();
    let (filled, directions) = drainage.into_parts();
    let found = Found { lakes, cut, directions, angles, counts, basins, orders, links };
    phases.begin("files");
    let mut staging = Staging::new();
    let at = staging.folder(folder)?;
    let ground = std::mem::replace(&mut terrain.ground, filled);
    let write = || {
        let (mut files, mut said) = found.rasters(&at, &terrain, nodata)?;
        terrain.ground = ground;
        let mut add = |(more, also): Written| {
            files.extend(more);
            said.extend(also);
        };
        add(found.lines(&at, &terrain)?);
        if let Some(millimetres) = args.runoff {
            add(found.running(&at, &mut terrain, millimetres)?);
        }
        Ok((files, said))
    };
    let (files, said) = write().map_err(|error| staging.error(error))?;
    voice.warn_all(staging.said(said));
    let report = folder.join(REPORT);
    let files: Vec<PathBuf> = files.iter().map(|file| staging.target(file)).chain([report.clone()]).collect();
    let mut summary = found.summary(&terrain, threshold);
    summary["breached"] = breached.map_or(Value::Null, |breached| {
        let volume = breached.removed as f64 / UNITS * area;
        json!({"pits": breached.breached, "kept": breached.kept, "volume_m3": volume})
    });
    summary["input"] = to_text(&args.input).into();
    summary["outlets"] = json!(outlets);
    if !overridden.is_empty() {
        summary["units_overridden"] = json!(overridden);
    }
    summary["seconds"] = start.elapsed().as_secs_f64().into();
    summary["files"] = json!(texts(&files));
    write_text(&at.join(REPORT), &format!("{summary:#}\n")).map_err(|error| staging.error(error))?;
    let reports = [report];
    staging.commit(&reports, &reports, &Sidecar::files(&args.input))?;
    phases.end();
    drop(phases);
    voice.say(&found.in_words(threshold));
    voice.say(&format!("wrote in {:.1} s:\n  {}", start.elapsed().as_secs_f64(), list(&files)));
    voice.event(&json!({"event": "result", "files": texts(&files), "drain": summary}));
    Ok(())
}

/// The outlets as cells.
fn outlets(args: &Drain, terrain: &Terrain) -> Result<Vec<[usize; 2]>> {
    let placed = args.outlet_at.iter().map(|point| {
        cell_at(&terrain.grid, *point).ok_or_else(|| {
            Error::value(
                "--outlet-at",
                format!("{},{}", point[0], point[1]),
                "a point inside the file, in its coordinates",
            )
        })
    });
    args.outlet.iter().map(|cell| Ok(*cell)).chain(placed).collect()
}

/// What was worked out.
struct Found {
    lakes: Field<Height>,
    /// How deep channels were cut, if they were to be.
    cut: Option<Field<Height>>,
    directions: Directions,
    angles: Field<f32>,
    counts: Field<u32>,
    basins: Field<u32>,
    orders: Field<u32>,
    links: Vec<Link>,
}

impl Found {
    /// Writes what has a value in every cell; `surface` is the filled terrain.
    fn rasters(&self, folder: &Path, surface: &Terrain, nodata: Option<f64>) -> Result<Written> {
        let grid = &surface.grid;
        let path = |name: &str| folder.join(format!("{name}.tif"));
        let said = save(path("filled"), surface, &SaveOptions { nodata, ..SaveOptions::default() })?;
        save_layer(path(LAKE_DEPTH.name), surface, LAKE_DEPTH.name, &Cells::Height(self.lakes.clone()))?;
        let directions = Samples::U8(streams::esri(&self.directions).into_vec());
        save_samples(path("directions"), grid, directions, Some(255.0))?;
        let none = Some(f64::from(infinity::NONE));
        save_samples(path("angles"), grid, Samples::F32(self.angles.as_slice().to_vec()), none)?;
        let area = grid.cell_area();
        let areas = Samples::F64(self.counts.as_slice().iter().map(|n| f64::from(*n) * area).collect());
        save_samples(path(ACCUMULATION.name), grid, areas, Some(0.0))?;
        save_samples(path("basins"), grid, Samples::U32(self.basins.as_slice().to_vec()), Some(0.0))?;
        let orders = self.orders.as_slice().iter().map(|order| u8::try_from(*order).unwrap_or(u8::MAX)).collect();
        save_samples(path("streams"), grid, Samples::U8(orders), Some(0.0))?;
        let mut files: Vec<PathBuf> =
            ["filled", LAKE_DEPTH.name, "directions", "angles", ACCUMULATION.name, "basins", "streams"]
                .map(path)
                .into();
        if let Some(cut) = &self.cut {
            save_layer(path("cut"), surface, "cut", &Cells::Height(cut.clone()))?;
            files.push(path("cut"));
        }
        Ok((files, said))
    }

    /// Writes the links, and the map that shows them.
    fn lines(&self, folder: &Path, terrain: &Terrain) -> Result<Written> {
        let [json, flat, map] = ["streams.geojson", "streams.fgb", "map.png"].map(|name| folder.join(name));
        let said = save_links(&json, &self.links, &terrain.grid)?;
        save_links(&flat, &self.links, &terrain.grid)?;
        pictures::drained(terrain, &self.lakes, &self.links, &map)?;
        Ok((vec![json, flat, map], said))
    }

    /// Writes the water of so many millimetres of runoff a year, over the depressions full, as a built world has it.
    fn running(&self, folder: &Path, terrain: &mut Terrain, millimetres: f64) -> Result<Written> {
        let each = terrain.grid.cell_area() * millimetres / 1000.0 / YEAR;
        let discharge = self.counts.map(|n| (f64::from(*n) * each) as f32);
        terrain.insert(&POOL, Cells::Height(self.lakes.clone()))?;
        terrain.insert(&DISCHARGE, Cells::Float(discharge.clone()))?;
        let height = folder.join("height.tif");
        save(&height, terrain, &SaveOptions::default())?;
        let mut files = vec![height];
        for (spec, cells) in [(POOL, Cells::Height(self.lakes.clone())), (DISCHARGE, Cells::Float(discharge))] {
            let name = spec.name;
            let path = folder.join(format!("{name}.tif"));
            save_layer(&path, terrain, name, &cells)?;
            files.push(path);
        }
        let water = water::write(folder, terrain)?;
        files.extend(water.files);
        Ok((files, water.said))
    }

    /// What drain.json holds (its schema is docs/report.schema.json).
    fn summary(&self, terrain: &Terrain, threshold: f64) -> Value {
        let grid = &terrain.grid;
        let area = grid.cell_area();
        let land = self.basins.as_slice().iter().filter(|basin| **basin > 0).count();
        let full = self.lakes.as_slice().iter().filter(|depth| depth.0 > 0);
        let volume: i128 = full.clone().map(|depth| i128::from(depth.0)).sum();
        let deepest = full.clone().max().copied().unwrap_or_default();
        let mut cells = vec![0u64; self.basins.as_slice().iter().max().map_or(0, |n| *n as usize) + 1];
        self.basins.as_slice().iter().for_each(|basin| cells[*basin as usize] += 1);
        let largest = cells[1..].iter().max().copied().unwrap_or(0);
        let length: f64 = self.links.iter().map(|link| link.length).sum();
        let orders = (1..=self.highest()).map(|order| {
            let links: Vec<&Link> = self.links.iter().filter(|link| link.order == order).collect();
            let metres: f64 = links.iter().map(|link| link.length).sum();
            json!({"order": order, "links": links.len(), "length_m": metres})
        });
        let land_m2 = land as f64 * area;
        json!({
            "thalweg": env!("CARGO_PKG_VERSION"),
            "rows": grid.rows(),
            "columns": grid.cols(),
            "cell_size": grid.cell,
            "crs": grid.georeference.as_ref().and_then(|g| g.epsg()).map(|code| format!("EPSG:{code}")),
            "nodata_cells": self.directions.as_slice().iter().filter(|code| **code == VOID).count(),
            "sea_level": grid.sea_level.map(Height::metres),
            "threshold_m2": threshold,
            "land_m2": land_m2,
            "lakes": {
                "cells": full.count(),
                "volume_m3": volume as f64 / UNITS * area,
                "deepest_m": deepest.metres(),
            },
            "basins": {"count": cells.len() - 1, "largest_m2": largest as f64 * area},
            "streams": {
                "cells": self.orders.as_slice().iter().filter(|order| **order > 0).count(),
                "links": self.links.len(),
                "length_m": length,
                "density_km_per_km2": if land > 0 { length / land_m2 * 1000.0 } else { 0.0 },
                "orders": orders.collect::<Vec<_>>(),
            },
        })
    }

    fn highest(&self) -> u32 {
        self.links.iter().map(|link| link.order).max().unwrap_or(0)
    }

    fn in_words(&self, threshold: f64) -> String {
        let length: f64 = self.links.iter().map(|link| link.length).sum();
        let (links, highest) = (self.links.len(), self.highest());
        let kilometres = length / 1000.0;
        format!("{links} stream links, {kilometres:.1} km, up to order {highest}, from {:.3} km² on", threshold / 1e6)
    }
}

/// The parts of the work as they are shown: a bar on a terminal, lines of JSON, or nothing.
struct Phases {
    voice: Voice,
    start: Instant,
    done: u64,
    label: &'static str,
    bar: Option<ProgressBar>,
}

impl Phases {
    const ALL: u64 = 5;

    fn new(voice: Voice) -> Self {
        let shown = !voice.json && !voice.quiet && std::io::stderr().is_terminal();
        let bar = shown.then(|| {
            let style = ProgressStyle::with_template("{msg:20} {wide_bar} {pos}/{len}");
            ProgressBar::new(Self::ALL).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { voice, start: Instant::now(), done: 0, label: "", bar }
    }

    /// Ends the part before, if there is one, and begins another.
    fn begin(&mut self, label: &'static str) {
        self.end();
        self.label = label;
        if let Some(bar) = &self.bar {
            bar.set_message(label);
            bar.set_position(self.done);
        }
    }

    fn end(&mut self) {
        let label = std::mem::take(&mut self.label);
        if label.is_empty() {
            return;
        }
        self.done += 1;
        self.voice.event(&json!({
            "event": "progress",
            "stage": self.done,
            "stages": Self::ALL,
            "label": label,
            "step": 1,
            "steps": 1,
            "done": self.done,
            "all": Self::ALL,
            "seconds": self.start.elapsed().as_secs_f64(),
        }));
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        // Whatever is said next must not stand behind a bar.
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
