//! `measure`: prints the measures of a terrain that geomorphologists use.

mod table;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use thalweg_core::base::names::{format_path, to_text};
use thalweg_core::{Error, Result, Terrain};
use thalweg_export::world_folder::list_input_files;
use thalweg_io::atomic::write_atomically;
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::output;
use thalweg_render::products::agreement::{Agreement, compare_terrains};
use thalweg_render::products::measure::{MeasureOptions, Measures, draw_measures, measure_terrain as measured};
use thalweg_store::MapRows;

use self::table::{describe_agreement, format_comparison, format_measures};
use crate::args::declared::OperationArgs;
use crate::args::{LoadArgs, SeaArgs};
use crate::console::{Reporter, print_to_stdout};
use crate::memory;
use crate::terrains::{open_squares_by_windows, parse_sea_level, read_terrain, report_row_work};
use crate::verb::{Group, Verb};

/// The arguments of `measure`.
#[derive(Args)]
pub struct MeasureArgs {
    /// The terrain to measure: a file, or a folder that `build` wrote, whose recipe specifies edges and sea level.
    /// The sea is not measured.
    input: PathBuf,
    /// A second terrain to measure; the measures of both are printed side by side.
    #[arg(long, value_name = "FILE|DIR")]
    against: Option<PathBuf>,
    /// Draws the main curves, such as the hypsometric curve, into this SVG file.
    #[arg(long, value_name = "SVG")]
    plot: Option<PathBuf>,
    /// Prints for each measure which values are usual in nature, and the source.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    options: OperationArgs<MeasureOptions>,
    #[command(flatten)]
    sea: SeaArgs,
    #[command(flatten)]
    load: LoadArgs,
}

impl Verb for MeasureArgs {
    const NAME: &'static str = "measure";
    const GROUP: Group = Group::Analyse;
    const ABOUT: &'static str =
        "Measures the slopes, drainage and channels of a terrain, and prints the usual range of each measure in nature";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let mut files = vec![self.input.as_path()];
        files.extend(self.against.as_deref());
        if let Some(plot) = &self.plot {
            output::check_ending(plot, &["svg"])?;
            let reads: Vec<PathBuf> = files.iter().flat_map(|file| list_input_files(file)).collect();
            check_distinct_files(&reads, std::slice::from_ref(plot))?;
        }
        // Ranges are checked before any file is read, when the arguments are parsed.
        let both =
            files.iter().map(|file| measure_file(file, self, &self.options, voice)).collect::<Result<Vec<_>>>()?;
        let same = match both.as_slice() {
            // This compares two builds of one world; for other pairs it fails, and nothing is reported.
            [(_, Some(first)), (_, Some(second))] => compare_terrains(first, second).ok(),
            _ => None,
        };
        let found: Vec<Measures> = both.into_iter().map(|(found, _)| found).collect();
        let titles: Vec<String> = files.iter().map(|file| file_title(file)).collect();
        if let Some(plot) = &self.plot {
            let named: Vec<(&str, &Measures)> = titles.iter().map(String::as_str).zip(&found).collect();
            let drawing = draw_measures(&named);
            write_atomically(plot, |file| file.write_all(drawing.as_bytes()).map_err(Error::io(plot, "write")))?;
        }
        print_measures(&files, &titles, &found, same.as_ref(), self.explain, voice).map(|()| ExitCode::SUCCESS)
    }
}

/// Prints the measures of one terrain, or of two side by side, as JSON or as a table.
fn print_measures(
    files: &[&Path],
    titles: &[String],
    found: &[Measures],
    same: Option<&Agreement>,
    explain: bool,
    voice: Reporter,
) -> Result<()> {
    match found {
        [first, second] if voice.json => {
            let differences = first.differences(second);
            print_to_stdout(&format!(
                "{}\n",
                json!({"first": measures_to_json(files[0], first), "second": measures_to_json(files[1], second), "differences": differences,
                       "agreement": same})
            ))
        }
        [first, ..] if voice.json => print_to_stdout(&format!("{}\n", measures_to_json(files[0], first))),
        [first, second] => {
            let same = same.map(describe_agreement).unwrap_or_default();
            print_to_stdout(&(format_comparison([&titles[0], &titles[1]], first, second) + &same))
        }
        [first, ..] => print_to_stdout(&format_measures(&titles[0], first, explain)),
        [] => Ok(()),
    }
}

/// Measures a terrain; returns the terrain as well if it fits into memory.
fn measure_file(
    file: &Path,
    args: &MeasureArgs,
    settings: &MeasureOptions,
    voice: Reporter,
) -> Result<(Measures, Option<Terrain>)> {
    if let Some(map) = open_squares_by_windows(file, &args.load, false, |size| memory::MEASURE.required_bytes(size))? {
        let bytes = MapRows::measure_bytes(&map, settings);
        report_row_work(bytes, voice);
        memory::check_row_memory("measure", map.grid(), bytes)?;
        let rows = MapRows::from_file(&map, parse_sea_level(args.sea.sea_level)?)?;
        voice.warn_all(rows.warnings());
        let found = rows.measure(settings)?;
        let problem = "the map does not fit in memory, so measures that need the whole map are left out; \
                       `resample` it to get them";
        voice.warn(&format!("{}: {problem}", format_path(file)));
        return Ok((found, None));
    }
    let terrain = read_terrain(file, &args.load, args.sea.sea_level, voice)?;
    memory::MEASURE.check_terrain("measure", &terrain)?;
    Ok((measured(&terrain, settings)?, Some(terrain)))
}

fn file_title(file: &Path) -> String {
    format_path(Path::new(file.file_name().unwrap_or(file.as_os_str())))
}

/// Returns the measures as JSON, with the name of the file.
fn measures_to_json(file: &Path, found: &Measures) -> serde_json::Value {
    let mut all = json!(found);
    all["file"] = to_text(file).into();
    all
}
