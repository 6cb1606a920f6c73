//! `vary`: draws variations of a recipe on one sheet.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use serde_json::json;
use thalweg_core::base::names::format_path;
use thalweg_core::terrain::{DISCHARGE, POOL, WATER};
use thalweg_core::{Error, Result, Terrain};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{output, save_picture};
use thalweg_models::process::forest::Forest;
use thalweg_render::pictures::drawn_land::DrawnLand;
use thalweg_render::pictures::look::LookOptions;
use thalweg_render::pictures::perspective::{CameraOptions, ViewOptions};
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::sheet::{Labels, SheetPicture, draw_contact_sheet};
use thalweg_render::pictures::water::Water;
use thalweg_sim::knobs::Knobs;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

use crate::args::declared::OperationArgs;
use crate::args::knobs::{KnobArgs, KnobSetting};
use crate::args::values::{parse_name_and_value, recipe_parser, seed_parser};
use crate::console::{Reporter, paths_to_text};
use crate::drive::step_to_end;
use crate::progress::{NumberedWorld as Shown, ProgressDisplay};
use crate::recipes::{check_unique_parameters, load_recipe, recipe_file, set_parameter, start_run, with_recipe_ramp};
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
    /// Seeds: a number of seeds, or a list of seeds such as 3,5,8 [default: 9 seeds if nothing else varies].
    #[arg(long, value_name = "N|LIST")]
    seeds: Option<String>,
    /// Seed of the worlds; if --seeds is a number, the first seed [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = seed_parser())]
    seed: Option<u64>,
    /// Values of a parameter of the stage with this label: LABEL.PARAMETER=VALUE,VALUE,…; a single value applies to all
    /// worlds. May be repeated.
    #[arg(long, value_name = "SET", value_parser = parse_name_and_value)]
    set: Vec<(String, String)>,
    /// Number of cells on the long side [default: about 256; for a recipe with levels, its nearest level].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    cells: Option<usize>,
    /// Label of the last stage to run; the stages after it are omitted (`thalweg presets NAME` lists labels).
    #[arg(long, value_name = "LABEL")]
    until: Option<String>,
    /// Draws perspective views instead of shaded maps.
    #[arg(long)]
    view: bool,
    /// Width of each picture in pixels.
    #[arg(long, value_name = "PIXELS", default_value = "256", value_parser = RangedU64ValueParser::<usize>::new().range(32..=2048))]
    pixels: usize,
    /// A line of text above the sheet.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    look: OperationArgs<LookOptions>,
    // The heading of the knobs applies to all arguments after them, so they are last.
    #[command(flatten)]
    knobs: KnobArgs,
}

impl Verb for VaryArgs {
    const NAME: &'static str = "vary";
    const GROUP: Group = Group::Make;
    const ABOUT: &'static str = "Builds variations of a recipe (seeds, knobs, parameters) and draws them on one sheet";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let begun = Instant::now();
        output::check_ending(&self.output, &["png"])?;
        let plan = VariationSheet::from_args(self)?;
        let mut reads = plan.worlds.first().map_or(Vec::new(), |world| world.recipe.list_input_files());
        reads.extend(recipe_file(&self.recipe));
        check_distinct_files(&reads, std::slice::from_ref(&self.output))?;
        let look = with_recipe_ramp(&self.look, plan.worlds.first().map(|world| &world.recipe));
        let camera = CameraOptions {
            size: [self.pixels * 2 / 3, self.pixels],
            title: self.title.clone(),
            ..CameraOptions::default()
        };
        let options = ViewOptions { camera, look, ..ViewOptions::default() };
        check_sheet_memory(&plan, self.pixels)?;
        let all = plan.worlds.len();
        install_signal_handler(voice);
        let Some(lands) = build_worlds(&plan, voice)? else { return Ok(ExitCode::from(INTERRUPTED)) };
        let face = if self.view { SheetPicture::View } else { SheetPicture::Map };
        save_picture(&self.output, &draw_worlds(&plan, &lands, face, &options)?)?;
        let seconds = begun.elapsed().as_secs_f64();
        voice.print_line(&format!("{all} worlds in {seconds:.1} s: {}", format_path(&self.output)));
        let names: Vec<&str> = plan.worlds.iter().map(|world| world.name.as_str()).collect();
        voice.print_event(
            &json!({"event": "result", "files": paths_to_text(std::slice::from_ref(&self.output)), "worlds": names}),
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// The maximum number of worlds on a sheet. All of their terrains are in memory until the sheet is drawn.
const MAX_WORLDS: usize = 100;
/// The approximate default number of cells on the long side.
const CELLS: usize = 256;
/// The maximum number of pictures of a single list that are placed in one row; more make a sheet about as wide as it
/// is high.
const ROW: usize = 5;
/// The number of seeds if nothing is varied.
const SEEDS: &str = "9";

/// One value of a setting that is varied.
#[derive(Debug, Clone, PartialEq)]
enum VariedValue {
    Seed(u64),
    Knob(KnobSetting),
    Set(String, String),
}

/// A setting that is varied, and its values.
struct VariedSetting {
    name: String,
    choices: Vec<VariedValue>,
}

/// A world on the sheet.
struct VariedWorld {
    name: String,
    recipe: Recipe,
}

/// All worlds, row by row, with the labels next to them.
struct VariationSheet {
    worlds: Vec<VariedWorld>,
    columns: usize,
    heads: Vec<String>,
    sides: Vec<String>,
    captions: Vec<String>,
}

/// Builds all worlds one after the other; returns `None` after Ctrl-C.
fn build_worlds(plan: &VariationSheet, voice: Reporter) -> Result<Option<Vec<Terrain>>> {
    let all = plan.worlds.len();
    let mut lands = Vec::new();
    for (number, world) in plan.worlds.iter().enumerate() {
        let shown = Shown { name: world.name.clone(), number: [number + 1, all] };
        let grown =
            build_world(world.recipe.clone(), shown, voice).map_err(|error| error_for_world(&world.name, &error))?;
        let Some(terrain) = grown else {
            let _ending = claim_ending();
            report_interruption([number, all], voice);
            return Ok(None);
        };
        lands.push(terrain);
    }
    Ok(Some(lands))
}

/// Draws the sheet of all worlds.
fn draw_worlds(plan: &VariationSheet, lands: &[Terrain], face: SheetPicture, options: &ViewOptions) -> Result<Picture> {
    let forests = lands.iter().map(Forest::read).collect::<Result<Vec<_>>>()?;
    let drawn = lands.iter().zip(&forests);
    let drawn = drawn.map(|(terrain, forest)| DrawnLand {
        water: Water::from_terrain(terrain),
        trees: forest.trees(),
        ..terrain.into()
    });
    let title = options.camera.title.as_deref();
    let labels = Labels { title, heads: &plan.heads, sides: &plan.sides, captions: &plan.captions };
    draw_contact_sheet(&drawn.collect::<Vec<_>>(), face, plan.columns, &labels, options)
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
    if !step_to_end(&mut run, &mut (), &mut ProgressDisplay::new(voice, Some(shown)), rescue, |_, _, _| {})? {
        return Ok(None);
    }
    let mut terrain = run.terrain().clone();
    // Drop the layers that no picture shows, because all terrains are kept until the end.
    terrain.loose = None;
    terrain.layers.retain(|name, _| [WATER, POOL, DISCHARGE].iter().any(|spec| spec.name == name));
    Ok(Some(terrain))
}

/// Adds the name of the world to an error.
fn error_for_world(name: &str, error: &Error) -> Error {
    Error::invalid_content("world", format!("`{name}` cannot be built: {error}"))
}

/// Refuses work that does not fit into memory: the terrains of all worlds with their water, and the sheet.
fn check_sheet_memory(plan: &VariationSheet, pixels: usize) -> Result<()> {
    // The pictures and the sheet take six bytes per pixel, and each terrain that is kept 20 bytes per cell.
    let sheet = (plan.worlds.len() * pixels * pixels * 6) as u64;
    let kept = |world: &VariedWorld| world.recipe.last_grid().map_or(0, |grid| 20 * grid.len() as u64);
    let lands: u64 = plan.worlds.iter().map(kept).sum();
    thalweg_core::base::memory::check_memory(&format!("a sheet of {} worlds", plan.worlds.len()), lands + sheet)
}

impl VariationSheet {
    /// Makes the plan from the arguments; every recipe is made and checked.
    fn from_args(args: &VaryArgs) -> Result<Self> {
        let base = load_recipe(&args.recipe)?;
        // Settings with one value apply to all worlds; those with several are the axes of the sheet.
        let (axes, fixed) = split_axes(collect_axes(args, &base)?);
        if axes.len() > 2 {
            let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
            let allowed = "one or two; one makes a row of pictures, two make rows and columns";
            return Err(Error::invalid_value("parameters with several values", names.join(", "), allowed));
        }
        let all: usize = axes.iter().map(|axis| axis.choices.len()).product();
        if all > MAX_WORLDS {
            return Err(Error::invalid_value(
                "worlds on a sheet",
                all,
                format!("1 to {MAX_WORLDS}; give fewer values"),
            ));
        }
        let labels = |axis: Option<&VariedSetting>| {
            axis.map_or(Vec::new(), |axis| axis.choices.iter().map(VariedValue::label).collect())
        };
        let [across, down] = [axes.first(), axes.get(1)];
        let (heads, sides): (Vec<String>, Vec<String>) = (labels(across), labels(down));
        let each = |axis: Option<&VariedSetting>| {
            axis.map_or(vec![None], |axis| axis.choices.iter().cloned().map(Some).collect())
        };
        let mut worlds = Vec::new();
        // Every recipe is checked before the first world is built, so that a wrong value is not noticed only after the
        // others.
        for row in each(down) {
            for column in each(across) {
                let chosen: Vec<VariedValue> = column.into_iter().chain(row.clone()).collect();
                let name = match chosen.as_slice() {
                    [] => base.name.clone(),
                    chosen => chosen.iter().map(VariedValue::label).collect::<Vec<_>>().join(", "),
                };
                let recipe = vary_recipe(args, &base, fixed.iter().chain(&chosen))
                    .map_err(|error| error_for_world(&name, &error))?;
                worlds.push(VariedWorld { name, recipe });
            }
        }
        let count = worlds.len();
        Ok(match (down, count <= ROW) {
            (Some(_), _) => Self { worlds, columns: heads.len(), heads, sides, captions: Vec::new() },
            (None, true) => Self { worlds, columns: count, heads, sides, captions: Vec::new() },
            (None, false) => Self { worlds, columns: count_columns(count), heads: Vec::new(), sides, captions: heads },
        })
    }
}

/// Returns the number of columns of a sheet that is about as wide as it is high.
fn count_columns(count: usize) -> usize {
    (1..=count).find(|n| n * n >= count).unwrap_or(1)
}

/// Collects everything that was given, one axis each: knobs, then parameters, then seeds.
fn collect_axes(args: &VaryArgs, base: &Recipe) -> Result<Vec<VariedSetting>> {
    let mut axes = Vec::new();
    for turns in args.knobs.collect_settings()? {
        let name = turns.first().map_or(String::new(), |turn| format!("--{}", turn.name()));
        axes.push(VariedSetting { name, choices: turns.into_iter().map(VariedValue::Knob).collect() });
    }
    check_unique_parameters(&args.set)?;
    for (key, values) in &args.set {
        let choices = values.split(',').map(|value| VariedValue::Set(key.clone(), value.trim().to_string())).collect();
        axes.push(VariedSetting { name: format!("--set {key}"), choices });
    }
    let nothing_varies = axes.iter().all(|axis| axis.choices.len() < 2);
    if let Some(text) = args.seeds.as_deref().or(nothing_varies.then_some(SEEDS)) {
        let seeds = parse_seeds(text, args.seed.unwrap_or(base.seed))?;
        axes.push(VariedSetting {
            name: "--seeds".into(),
            choices: seeds.into_iter().map(VariedValue::Seed).collect(),
        });
    }
    for axis in &axes {
        let again = axis.choices.iter().enumerate().find(|(n, choice)| axis.choices[..*n].contains(choice));
        if let Some((_, choice)) = again {
            return Err(Error::invalid_value(&axis.name, choice.label(), "given only once"));
        }
    }
    Ok(axes)
}

/// Separates the lists from the settings that have one value in all worlds.
fn split_axes(axes: Vec<VariedSetting>) -> (Vec<VariedSetting>, Vec<VariedValue>) {
    let (lists, single): (Vec<VariedSetting>, Vec<VariedSetting>) =
        axes.into_iter().partition(|axis| axis.choices.len() > 1);
    (lists, single.into_iter().flat_map(|axis| axis.choices).collect())
}

/// Parses seeds: either a number of seeds, starting with `first`, or a list.
fn parse_seeds(text: &str, first: u64) -> Result<Vec<u64>> {
    let most = i64::MAX as u64;
    let wrong = || {
        Error::invalid_value(
            "--seeds",
            text,
            format!("a number of seeds from 1 to {MAX_WORLDS}, or a list of 2 to {MAX_WORLDS} seeds from 0 to {most}"),
        )
    };
    let numbers: Option<Vec<u64>> = text.split(',').map(|seed| seed.trim().parse().ok()).collect();
    match numbers.ok_or_else(wrong)?.as_slice() {
        [count] if (1..=MAX_WORLDS as u64).contains(count) => {
            // Recipes store seeds as integers up to 2⁶³ − 1. A single number within 1 to 100 is a count, any other
            // single number is refused.
            let last = first.checked_add(count - 1).filter(|last| *last <= most || first > most);
            last.map(|last| (first..=last).collect()).ok_or_else(wrong)
        }
        list if (2..=MAX_WORLDS).contains(&list.len()) && list.iter().all(|seed| *seed <= most) => Ok(list.to_vec()),
        _ => Err(wrong()),
    }
}

/// Makes the recipe of one world, and checks it on its grid.
fn vary_recipe<'a>(args: &VaryArgs, base: &Recipe, choices: impl Iterator<Item = &'a VariedValue>) -> Result<Recipe> {
    let mut recipe = base.clone();
    match args.cells {
        Some(cells) => recipe.cells = cells,
        None if recipe.extent().is_some() => recipe.cells = recipe.level_near(CELLS)?,
        None => {}
    }
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    let (mut knobs, mut sets) = (Knobs::default(), Vec::new());
    for choice in choices {
        match choice {
            VariedValue::Seed(seed) => recipe.seed = *seed,
            VariedValue::Knob(turn) => turn.apply_to(&mut knobs),
            VariedValue::Set(key, value) => sets.push((key, value)),
        }
    }
    // Parameters are set after the knobs, which scale them, so that a given value stays as it is.
    knobs.apply_to(&mut recipe)?;
    sets.into_iter().try_for_each(|(key, value)| set_parameter(&mut recipe, key, value))?;
    args.until.as_deref().map_or(Ok(()), |label| recipe.truncate_after(label))?;
    if recipe.extent().is_some() {
        recipe.check_memory(&recipe.last_grid()?)?;
        Run::check(&recipe)?;
    }
    Ok(recipe)
}

impl VariedValue {
    /// The label next to the pictures.
    fn label(&self) -> String {
        match self {
            Self::Seed(seed) => format!("seed {seed}"),
            Self::Knob(turn) => format!("{} {}{}", turn.name(), turn.format_value(), turn.unit_suffix()),
            Self::Set(key, value) => format!("{key} {value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_counted_or_listed() {
        assert_eq!(parse_seeds("3", 7).unwrap(), [7, 8, 9]);
        assert_eq!(parse_seeds("3, 5,8", 7).unwrap(), [3, 5, 8]);
        assert_eq!(parse_seeds("1", 7).unwrap(), [7]);
        for wrong in ["0", "101", "200", "", "3,", "-1,2", "a", "1,99999999999999999999"] {
            let message = parse_seeds(wrong, 7).unwrap_err().to_string();
            assert!(message.contains("--seeds") && message.contains("1 to 100"), "{message}");
        }
        assert!(parse_seeds("2", i64::MAX as u64).is_err());
    }

    #[test]
    fn a_knob_with_a_unit_says_it() {
        let label = |turn| VariedValue::Knob(turn).label();
        assert_eq!([label(KnobSetting::Sea(-2.5)), label(KnobSetting::Age(3.0))], ["sea -2.5 m", "age 3"]);
    }

    #[test]
    fn sheets_are_about_as_wide_as_high() {
        assert_eq!([1, 2, 4, 6, 9, 10, 12, 16, 17, 100].map(count_columns), [1, 2, 2, 3, 3, 4, 4, 4, 5, 10]);
    }
}
