//! `measure`: what a geomorphologist would print.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use thalweg::base::names::{shown, to_text};
use thalweg::io::apart::apart;
use thalweg::io::atomic::atomic;
use thalweg::io::output;
use thalweg::products::agreement::{Agreement, agreement};
use thalweg::products::measure::{Group, Measure, MeasureSettings, Measures, measure as measured, sheet};
use thalweg::terrain::Terrain;
use thalweg::{Error, Result};

use crate::args;
use crate::console::{Voice, print};
use crate::memory;
use crate::terrains::{by_windows, input, sea_of, told_by_rows};
use thalweg::world_folder::reads_of;
use thalweg_store::MapRows;

/// Measures one terrain, or two side by side.
///
/// # Errors
/// An unusable input, a setting out of range, a plot that cannot be written.
pub fn measure(args: &args::Measure, voice: Voice) -> Result<()> {
    let mut files = vec![args.input.as_path()];
    files.extend(args.against.as_deref());
    if let Some(plot) = &args.plot {
        output::check_ending(plot, &["svg"])?;
        let reads: Vec<PathBuf> = files.iter().flat_map(|file| reads_of(file)).collect();
        apart(&reads, std::slice::from_ref(plot))?;
    }
    let settings = MeasureSettings { channel_area: args.channel_area, search: args.search, flatness: args.flatness };
    // What can be refused at once is, before files are read.
    settings.check()?;
    let both = files.iter().map(|file| one(file, args, &settings, voice)).collect::<Result<Vec<_>>>()?;
    let same = match both.as_slice() {
        // Two builds of one world; of others there is nothing to say.
        [(_, Some(first)), (_, Some(second))] => agreement(first, second).ok(),
        _ => None,
    };
    let found: Vec<Measures> = both.into_iter().map(|(found, _)| found).collect();
    let titles: Vec<String> = files.iter().map(|file| title(file)).collect();
    if let Some(plot) = &args.plot {
        let named: Vec<(&str, &Measures)> = titles.iter().map(String::as_str).zip(&found).collect();
        let drawing = sheet(&named);
        atomic(plot, |file| file.write_all(drawing.as_bytes()).map_err(Error::io(plot, "write")))?;
    }
    told(&files, &titles, &found, same.as_ref(), args.explain, voice)
}

/// Prints one terrain's measures, or two side by side, as JSON or as a table.
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

/// The measures, and the terrain where memory holds it.
fn one(
    file: &Path,
    args: &args::Measure,
    settings: &MeasureSettings,
    voice: Voice,
) -> Result<(Measures, Option<Terrain>)> {
    if let Some(map) = by_windows(file, &args.load, false, |size| memory::MEASURE.beside(size))? {
        let bytes = MapRows::measure_bytes(&map, settings);
        told_by_rows(bytes, voice);
        memory::by_rows("measure", map.grid(), bytes)?;
        let rows = MapRows::of(&map, sea_of(args.sea_level)?)?;
        voice.warn_all(rows.warnings());
        let found = rows.measure(settings)?;
        voice.warn(&format!("{}: what needs the whole map in memory is left out", shown(file)));
        return Ok((found, None));
    }
    let terrain = input(file, &args.load, args.sea_level, voice)?;
    memory::MEASURE.over("measure", &terrain)?;
    Ok((measured(&terrain, settings)?, Some(terrain)))
}

/// How far two builds of one world agree, in lines.
fn agreed(same: &Agreement) -> String {
    let mut text =
        format!("\nAs two builds of one world: heights correlate by {:.4}, slopes by {:.3}", same.heights, same.slopes);
    if let (Some(rivers), Some(shift)) = (same.rivers, same.shift) {
        text += &format!(
            "; of the ten largest rivers {:.0} % lie within 2 coarse cells, {shift:.0} m off in the mean",
            100.0 * rivers
        );
    }
    text + ".\n"
}

fn title(file: &Path) -> String {
    shown(Path::new(file.file_name().unwrap_or(file.as_os_str())))
}

/// The measures as JSON, with the file they are of.
fn named(file: &Path, found: &Measures) -> serde_json::Value {
    let mut all = json!(found);
    all["file"] = to_text(file).into();
    all
}

/// Columns of the table: title, value, unit, usual.
fn table(title: &str, found: &Measures, explain: bool) -> String {
    let [cols, rows] = found.cells;
    let mut text = format!("{title}: {cols} × {rows} cells of {} m\n", number(Some(found.cell_size_m)));
    for (heading, measures) in grouped(found) {
        text += &format!("\n{heading:<42}{:>10}  {:<8}{:<15}\n", "", "", "usual");
        for (_, m) in measures {
            let line = format!(
                "  {:<40}{:>10}  {:<8}{:<15}{}",
                m.spec.title,
                number(m.value),
                unit(m.spec.unit),
                usual(m),
                m.missing.unwrap_or(mark(m))
            );
            text += &format!("{}\n", line.trim_end());
            if explain {
                text += &format!("      {} {}\n", m.spec.nature, m.spec.source);
            }
        }
    }
    text + "\n< below what is usual in nature, > above it; --explain says what is usual and by whom it was found.\n"
}

/// Both terrains' columns, and how far they lie apart.
fn beside(titles: [&str; 2], first: &Measures, second: &Measures) -> String {
    let mut text = String::new();
    for (title, found) in titles.iter().zip([first, second]) {
        let [cols, rows] = found.cells;
        text += &format!("{title}: {cols} × {rows} cells of {} m\n", number(Some(found.cell_size_m)));
    }
    let differences = first.differences(second);
    for (heading, measures) in grouped(first) {
        text += &format!("\n{heading:<42}{:>10}   {:>10}    {:<8}{:<15}distance\n", "first", "second", "", "usual");
        for (n, m) in measures {
            let other = &second.measures[n];
            let line = format!(
                "  {:<40}{:>10} {:<1} {:>10} {:<1}  {:<8}{:<15}{:>8}",
                m.spec.title,
                number(m.value),
                mark(m),
                number(other.value),
                mark(other),
                unit(m.spec.unit),
                usual(m),
                differences[n].distance.map(|d| format!("{d:.2}")).unwrap_or_default()
            );
            text += &format!("{}\n", line.trim_end());
        }
    }
    text + "\n< below what is usual in nature, > above it. Distances are in widths of what is usual; where that is not known, \
            over the greater of both values.\n"
}

/// Headings, and the measures under each with their numbers.
fn grouped(found: &Measures) -> impl Iterator<Item = (&'static str, Vec<(usize, &Measure)>)> {
    Group::ALL.into_iter().map(|group| {
        (group.title(), found.measures.iter().enumerate().filter(|(_, m)| m.spec.group == group).collect())
    })
}

/// Three digits that count, or a dash.
fn number(value: Option<f64>) -> String {
    match value {
        None => "–".to_string(),
        Some(v) if v != 0.0 && v.abs() < 0.001 => format!("{v:.1e}"),
        Some(v) => {
            let places = [100.0, 10.0].iter().filter(|limit| v.abs() < **limit).count() + usize::from(v.abs() < 1.0);
            let text = format!("{v:.places$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
        }
    }
}

fn unit(unit: &str) -> &str {
    if unit == "1" { "" } else { unit }
}

fn usual(m: &Measure) -> String {
    m.spec.usual.map(|[from, to]| format!("{} to {}", number(Some(from)), number(Some(to)))).unwrap_or_default()
}

fn mark(m: &Measure) -> &'static str {
    match (m.within, m.value, m.spec.usual) {
        (Some(false), Some(value), Some([from, _])) => {
            if value < from {
                "<"
            } else {
                ">"
            }
        }
        _ => "",
    }
}
