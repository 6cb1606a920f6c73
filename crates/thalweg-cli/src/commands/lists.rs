//! `models`, `presets`, `rocks`, `schema`: print the content of the declarations.

use std::process::ExitCode;

use clap::Args;
use clap::builder::StringValueParser;
use serde_json::{Map, Value, json};
use thalweg_core::Result;
use thalweg_core::declare::operation::Operation;
use thalweg_core::declare::schema::operation_schema;
use thalweg_export::{export_operations, find_operation_in};
use thalweg_io::facts::facts_schema;
use thalweg_models::model::{Family, page};
use thalweg_models::models;
use thalweg_models::rocks::{ROCKS, Rock, TABLE_HEADINGS};
use thalweg_sim::presets::find_preset;
use thalweg_sim::recipe::{Recipe, recipe_schema};

use super::info::InfoArgs;
use crate::args::values::Completed;
use crate::console::{Reporter, print_to_stdout};
use crate::recipes::preset_names;
use crate::verb::{Group, Verb};

/// The arguments of `models`.
#[derive(Args)]
pub struct ModelsArgs {
    /// The name of the model to describe [default: list all models].
    name: Option<String>,
}

/// The arguments of `presets`.
#[derive(Args)]
pub struct PresetsArgs {
    /// The name of the preset to describe [default: list all presets].
    name: Option<String>,
}

/// `rocks` takes no arguments.
#[derive(Args)]
pub struct RocksArgs;

/// The arguments of `schema`.
#[derive(Args)]
pub struct SchemaArgs {
    /// The words of the command whose options the schema describes, such as `drain` or `render map`; `open` stands for
    /// the options by which all commands read an elevation model, and `info` for the output of `info` [default: the
    /// schema of recipes].
    #[arg(value_name = "COMMAND", value_parser = operation_parser())]
    command: Vec<String>,
}

impl Verb for ModelsArgs {
    const NAME: &'static str = "models";
    const GROUP: Group = Group::LookUp;
    const ABOUT: &'static str = "Lists the models, or describes one with all its parameters";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        print_models(self.name.as_deref(), voice).map(|()| ExitCode::SUCCESS)
    }
}

impl Verb for PresetsArgs {
    const NAME: &'static str = "presets";
    const GROUP: Group = Group::LookUp;
    const ABOUT: &'static str =
        "Lists the presets that `build` accepts, or describes one with its stages and their part on refinement levels";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        print_presets(self.name.as_deref(), voice).map(|()| ExitCode::SUCCESS)
    }
}

impl Verb for RocksArgs {
    const NAME: &'static str = "rocks";
    const GROUP: Group = Group::LookUp;
    const ABOUT: &'static str = "Lists the rocks that `build --rock` accepts, with their properties";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        print_rocks(voice).map(|()| ExitCode::SUCCESS)
    }
}

impl Verb for SchemaArgs {
    const NAME: &'static str = "schema";
    const GROUP: Group = Group::LookUp;
    const ABOUT: &'static str = "Prints the JSON Schema of recipes, for checks and completion in editors, that of an \
                                 operation's options, or that of the output of `info`";

    /// Prints the schema of recipes, of the options of an operation, or of the output of `info`.
    fn run(&self, _voice: Reporter) -> Result<ExitCode> {
        let schema = match self.command.join(" ") {
            words if words.is_empty() => recipe_schema(&models::Models::default()),
            words if words == InfoArgs::NAME => facts_schema(),
            words => operation_schema(&*find_operation_in(list_operations(), &words)?),
        };
        print_to_stdout(&format!("{schema:#}\n")).map(|()| ExitCode::SUCCESS)
    }
}

/// Returns the declared operations.
fn list_operations() -> Vec<Box<dyn Operation>> {
    let operations = export_operations().into_iter();
    #[cfg(feature = "studio")]
    let operations = operations.chain(thalweg_studio::studio_operations()).chain(super::explore::operation());
    operations.collect()
}

/// Returns the parser of the words of a command that has declared options, of the name of its operation, or of `info`.
fn operation_parser() -> Completed<StringValueParser> {
    let operations = list_operations();
    let words = operations.iter().flat_map(|operation| operation.command().split(' '));
    let mut names: Vec<&'static str> = words.chain([InfoArgs::NAME]).collect();
    names.sort_unstable();
    names.dedup();
    Completed::with_names(names)
}

/// Lists the models, or prints the page of one.
fn print_models(name: Option<&str>, voice: Reporter) -> Result<()> {
    if let Some(name) = name {
        let model = models::find_model(name)?;
        let page = page::model_page(&*model);
        return match voice.json {
            true => print_to_stdout(&format!("{}\n", json!({"name": model.about().name, "page": page}))),
            false => print_to_stdout(&page),
        };
    }
    if voice.json {
        let abouts = models::all_models().map(|model| model.about());
        let list: Vec<_> = abouts.map(|about| json!({"name": about.name, "summary": about.summary})).collect();
        return print_to_stdout(&format!("{}\n", json!(list)));
    }
    let width = models::all_models().map(|model| model.about().name.len()).max().unwrap_or(0);
    let families = [
        (Family::Base, "Base models, which generate terrain"),
        (Family::Erosion, "Erosion models, which change it"),
        (Family::Analysis, "Analyses, which read it"),
    ];
    for (family, title) in families {
        print_to_stdout(&format!("{title}:\n"))?;
        for about in models::all_models().map(|model| model.about()).filter(|about| about.family == family) {
            print_to_stdout(&format!("  {:<width$}  {}\n", about.name, about.summary))?;
        }
    }
    Ok(())
}

/// Prints the name, extent and description of each preset, or of one with its stages.
fn print_presets(one: Option<&str>, voice: Reporter) -> Result<()> {
    if voice.json {
        let known = preset_names().filter(|name| one.is_none_or(|one| one == *name));
        let list = known.map(|name| Ok(json!({"name": name, "about": find_preset(name)?.about.trim()})));
        let list = list.collect::<Result<Vec<_>>>()?;
        // An unknown name is refused below.
        if !list.is_empty() {
            return print_to_stdout(&format!("{}\n", json!(list)));
        }
    }
    for name in preset_names().filter(|name| one.is_none_or(|one| one == *name)) {
        print_to_stdout(&format_preset_line(name, &find_preset(name)?))?;
    }
    let Some(name) = one else { return Ok(()) };
    let recipe = find_preset(name)?;
    let (forms, models) = (recipe.local_forms(), recipe.stages.iter().map(|stage| stage.model.about()));
    let width = forms.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    print_to_stdout(
        "\nStages, and the part of each that continues on refinement levels (with beyond = \"local\", and in the tiles of \
         a world):\n",
    )?;
    for ((label, form), about) in forms.iter().zip(models) {
        let form = form.unwrap_or("none: it ends at the global level");
        print_to_stdout(&format!("  {label:<width$}  {}\n  {:<width$}  {form}\n", about.name, ""))?;
    }
    Ok(())
}

fn format_preset_line(name: &str, recipe: &Recipe) -> String {
    let extent = recipe
        .extent()
        .map_or(String::new(), |extent| format!(" [{} × {} km]", extent.width / 1e3, extent.height / 1e3));
    format!("{name:<16} {}{extent}\n", recipe.about.trim())
}

/// Lists the rocks with their properties.
fn print_rocks(voice: Reporter) -> Result<()> {
    if voice.json {
        let of_row = |rock: &Rock| -> Map<String, Value> {
            TABLE_HEADINGS.iter().zip(rock.table_row()).map(|(head, cell)| (head.to_string(), cell.into())).collect()
        };
        return print_to_stdout(&format!("{}\n", json!(ROCKS.iter().map(of_row).collect::<Vec<_>>())));
    }
    let heads = TABLE_HEADINGS.map(String::from);
    let rows: Vec<[String; 7]> = std::iter::once(heads).chain(ROCKS.iter().map(Rock::table_row)).collect();
    // Widths are counted in characters, because units such as m² have more bytes than characters.
    let widths: [usize; 7] = std::array::from_fn(|n| rows.iter().map(|row| row[n].chars().count()).max().unwrap_or(0));
    for row in &rows {
        let line: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        print_to_stdout(&format!("{}\n", line.join("  ").trim_end()))?;
    }
    Ok(())
}
