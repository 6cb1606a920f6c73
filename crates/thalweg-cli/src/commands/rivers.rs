//! `rivers` and `check-rivers`: add rivers to an elevation model, and check the written files.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};
use thalweg_core::Result;
use thalweg_core::base::names::format_count;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_export::rivers::{RiversOptions, list_river_conflicts, plan_river_network};
use thalweg_io::river_folder::{check_files, draft_network};
use thalweg_io::rivers::read_network;
use thalweg_io::{Sidecar, output};
use thalweg_rivers::check as checks;

use crate::args::LoadArgs;
use crate::args::declared::{OperationArgs, typed_flag};
use crate::console::{Reporter, list_paths, paths_to_text, print_to_stdout};
use crate::memory;
use crate::terrains::{OpenedTerrain, add_input_to_report, list_source_files, open_terrain};
use crate::verb::{Group, Verb};

/// The arguments of `rivers`.
#[derive(Args)]
pub struct RiversArgs {
    /// The terrain file to read.
    input: PathBuf,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    options: OperationArgs<RiversOptions>,
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
        let options = &*self.options;
        options.check_form(WorkForm::Folder, typed_flag)?;
        let mut reads = list_source_files(&self.input);
        reads.extend(options.layers.iter().flat_map(|layer| Sidecar::input_files(&layer.path)));
        check_files(&self.output, &reads)?;
        let opened = open_terrain(&self.input, &self.load, &options.boundary, voice)?;
        let OpenedTerrain { mut terrain, nodata, overridden } = opened;
        terrain.grid.check_square("`rivers`").map_err(|error| error.into_file_error(&self.input))?;
        memory::RIVERS.check_terrain("rivers", &terrain)?;
        let planned = plan_river_network(&mut terrain, options);
        let (network, carved) = planned.map_err(|error| self.options.as_typed(error))?;
        output::make_folder(&self.output)?;
        let mut draft = draft_network(&self.output, &mut terrain, &network, &carved, nodata)?;
        voice.warn_all(draft.warnings());
        add_input_to_report(&mut draft.report, &self.input, &overridden, start);
        let files = draft.final_paths();
        let report = draft.commit(&reads)?;
        // The files are written in any case; these warnings say where the network could not avoid a conflict.
        voice.warn_all(&list_river_conflicts(&network));
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

/// Reports the results and their files.
fn report_rivers(report: &Value, start: Instant, files: &[PathBuf], voice: Reporter) {
    let number = |key: &str| report[key].as_f64().unwrap_or(0.0);
    let kilometres = number("length_m") / 1000.0;
    let count = |key: &str, noun| format_count(report[key].as_u64().unwrap_or(0), noun);
    voice.print_line(&format!("{}, {kilometres:.1} km, {}", count("rivers", "river"), count("lakes", "lake")));
    let [from, to] = ["drains_before", "drains"].map(|key| floor_percent(100.0 * number(key)));
    voice.print_line(&format!(
        "{to:.2} % of the land now drains to the edge, the sea or a lake; before, {from:.2} % did"
    ));
    voice.print_line(&format!("wrote in {:.1} s:\n  {}", start.elapsed().as_secs_f64(), list_paths(files)));
    voice.print_event(&json!({"event": "result", "files": paths_to_text(files), "rivers": report}));
}

/// Truncates to two decimal places, so that nothing short of all is shown as 100.
fn floor_percent(percent: f64) -> f64 {
    (percent * 100.0).floor() / 100.0
}
