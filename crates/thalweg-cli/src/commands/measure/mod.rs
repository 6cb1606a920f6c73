//! `measure`: prints the measures of a terrain that geomorphologists use.

mod table;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use thalweg_core::base::names::{shown, to_text};
use thalweg_core::{Error, Result, Terrain};
use thalweg_io::apart::apart;
use thalweg_io::atomic::atomic;
use thalweg_io::output;
use thalweg_render::products::agreement::{Agreement, agreement};
use thalweg_render::products::measure::{MeasureOptions, Measures, draw_measures, measure as measured};

use self::table::{agreed, beside, table};
use crate::args;
use crate::console::{Voice, print};
use crate::memory;
use crate::terrains::{by_windows, input, sea_of, told_by_rows};
use thalweg_export::world_folder::reads_of;
use thalweg_store::MapRows;

/// Measures one terrain, or two side by side.
///
/// # Errors
/// Returns an error if the input is unusable, if a setting is out of range, or if the plot cannot be written.
pub fn measure(args: &args::Measure, voice: Voice) -> Result<()> {
    let mut files = vec![args.input.as_path()];
    files.extend(args.against.as_deref());
    if let Some(plot) = &args.plot {
        output::check_ending(plot, &["svg"])?;
        let reads: Vec<PathBuf> = files.iter().flat_map(|file| reads_of(file)).collect();
        apart(&reads, std::slice::from_ref(plot))?;
    }
    // Ranges are checked before any file is read, when the arguments are parsed.
    let both = files.iter().map(|file| one(file, args, &args.options, voice)).collect::<Result<Vec<_>>>()?;
    let same = match both.as_slice() {
        // This compares two builds of one world; for other pairs it fails, and nothing is reported.
        [(_, Some(first)), (_, Some(second))] => agreement(first, second).ok(),
        _ => None,
    };
    let found: Vec<Measures> = both.into_iter().map(|(found, _)| found).collect();
    let titles: Vec<String> = files.iter().map(|file| title(file)).collect();
    if let Some(plot) = &args.plot {
        let named: Vec<(&str, &Measures)> = titles.iter().map(String::as_str).zip(&found).collect();
        let drawing = draw_measures(&named);
        atomic(plot, |file| file.write_all(drawing.as_bytes()).map_err(Error::io(plot, "write")))?;
    }
    told(&files, &titles, &found, same.as_ref(), args.explain, voice)
}

/// Prints the measures of one terrain, or of two side by side, as JSON or as a table.
fn told(
    files: &[&Path],
    titles: &[String],
    found: &[Measures],
    same: Option<&Agreement>,
    explain: bool,
    voice: Voice,
) -> Result<()> {
    match found {
        [first, second] if voice.json => {
            let differences = first.differences(second);
            print(&format!(
                "{}\n",
                json!({"first": named(files[0], first), "second": named(files[1], second), "differences": differences,
                       "agreement": same})
            ))
        }
        [first, ..] if voice.json => print(&format!("{}\n", named(files[0], first))),
        [first, second] => {
            let same = same.map(agreed).unwrap_or_default();
            print(&(beside([&titles[0], &titles[1]], first, second) + &same))
        }
        [first, ..] => print(&table(&titles[0], first, explain)),
        [] => Ok(()),
    }
}

/// Measures a terrain; returns the terrain as well if it fits into memory.
fn one(
    file: &Path,
    args: &args::Measure,
    settings: &MeasureOptions,
    voice: Voice,
) -> Result<(Measures, Option<Terrain>)> {
    if let Some(map) = by_windows(file, &args.load, false, |size| memory::MEASURE.beside(size))? {
        let bytes = MapRows::measure_bytes(&map, settings);
        told_by_rows(bytes, voice);
        memory::by_rows("measure", map.grid(), bytes)?;
        let rows = MapRows::of(&map, sea_of(args.sea_level)?)?;
        voice.warn_all(rows.warnings());
        let found = rows.measure(settings)?;
        voice.warn(&format!("{}: measures that need the whole map in memory are left out", shown(file)));
        return Ok((found, None));
    }
    let terrain = input(file, &args.load, args.sea_level, voice)?;
    memory::MEASURE.over("measure", &terrain)?;
    Ok((measured(&terrain, settings)?, Some(terrain)))
}

fn title(file: &Path) -> String {
    shown(Path::new(file.file_name().unwrap_or(file.as_os_str())))
}

/// Returns the measures as JSON, with the name of the file.
fn named(file: &Path, found: &Measures) -> serde_json::Value {
    let mut all = json!(found);
    all["file"] = to_text(file).into();
    all
}
