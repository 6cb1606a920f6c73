//! `vary`: draws variations of a recipe on one sheet.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use thalweg_core::base::names::{format_count, format_path};
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_core::{Result, Terrain};
use thalweg_export::vary::{VariationSheet, VaryOptions, keep_drawn_layers};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{output, save_picture};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

use crate::args::declared::{OperationArgs, typed_flag};
use crate::args::values::recipe_parser;
use crate::console::{Reporter, paths_to_text};
use crate::drive::step_to_end;
use crate::progress::{NumberedWorld as Shown, ProgressDisplay};
use crate::recipes::{load_recipe, recipe_file, start_run};
use crate::signals::{INTERRUPTED, Rescue, claim_ending, install_signal_handler};
use crate::verb::{Group, Verb};

/// The arguments of `vary`.
#[derive(Args)]
pub struct VaryArgs {
    /// The name of a preset (see `thalweg presets`) or a recipe file.
    #[arg(value_parser = recipe_parser(), hide_possible_values = true)]
    recipe: OsString,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    output: PathBuf,
    #[command(flatten)]
    options: OperationArgs<VaryOptions>,
}

impl Verb for VaryArgs {
    const NAME: &'static str = "vary";
    const GROUP: Group = Group::Make;
    const ABOUT: &'static str = "Builds variations of a recipe (seeds, knobs, parameters) and draws them on one sheet";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let begun = Instant::now();
        output::check_ending(&self.output, &["png"])?;
        self.options.check_form(WorkForm::Folder, typed_flag)?;
        let sheet = VariationSheet::new(&load_recipe(&self.recipe)?, &self.options, typed_flag);
        let sheet = sheet.map_err(|error| self.options.as_typed(error))?;
        let mut reads = sheet.worlds.first().map_or(Vec::new(), |world| world.recipe.list_input_files());
        reads.extend(recipe_file(&self.recipe));
        check_distinct_files(&reads, std::slice::from_ref(&self.output))?;
        sheet.check_memory(&self.options)?;
        let all = sheet.worlds.len();
        install_signal_handler(voice);
        let Some(terrains) = build_worlds(&sheet, voice)? else { return Ok(ExitCode::from(INTERRUPTED)) };
        save_picture(&self.output, &sheet.draw(&terrains, &self.options)?)?;
        let seconds = begun.elapsed().as_secs_f64();
        voice.print_line(&format!("{} in {seconds:.1} s: {}", format_count(all, "world"), format_path(&self.output)));
        let names: Vec<&str> = sheet.worlds.iter().map(|world| world.name.as_str()).collect();
        voice.print_event(
            &json!({"event": "result", "files": paths_to_text(std::slice::from_ref(&self.output)), "worlds": names}),
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// Builds all worlds one after the other; returns `None` after Ctrl-C.
fn build_worlds(sheet: &VariationSheet, voice: Reporter) -> Result<Option<Vec<Terrain>>> {
    let all = sheet.worlds.len();
    let mut terrains = Vec::new();
    for (number, world) in sheet.worlds.iter().enumerate() {
        let shown = Shown { name: world.name.clone(), number: [number + 1, all] };
        let built = build_world(world.recipe.clone(), shown, voice).map_err(|error| world.name_error(&error))?;
        let Some(terrain) = built else {
            let _ending = claim_ending();
            report_interruption([number, all], voice);
            return Ok(None);
        };
        terrains.push(terrain);
    }
    Ok(Some(terrains))
}

/// Reports that Ctrl-C came after `number` of `all` worlds.
fn report_interruption([number, all]: [usize; 2], voice: Reporter) {
    voice.print_line(&format!("stopped after {number} of {all} worlds; nothing was written"));
    voice.print_event(&json!({"event": "interrupted", "done": number, "all": all}));
}

/// Builds a world; returns `None` after Ctrl-C. The result keeps only the layers that the pictures show.
fn build_world(recipe: Recipe, shown: Shown, voice: Reporter) -> Result<Option<Terrain>> {
    let mut run = start_run(recipe, voice)?;
    let [number, all] = shown.number;
    let rescue = |_: &Run, _: &()| {
        let rescue: Rescue = Box::new(move || {
            report_interruption([number - 1, all], voice);
            true
        });
        Some(rescue)
    };
    let mut display = ProgressDisplay::new(voice, Some(shown));
    let is_done = step_to_end(&mut run, &mut (), &mut display, rescue, |_, _, _| {})?;
    Ok(is_done.then(|| keep_drawn_layers(run.terrain().clone())))
}
