//! `models`, `rocks`, `schema`, `completions`, `man`, `presets`: print the content of the declarations.

use clap_complete::Shell;
use serde_json::{Map, Value, json};
use thalweg_core::declare::schema::operation_schema;
use thalweg_core::{Error, Result};
use thalweg_export::find_operation;
use thalweg_models::model::{Family, page};
use thalweg_models::rocks::{ROCKS, Rock, TABLE_HEADINGS};
use thalweg_sim::presets::PRESETS;
use thalweg_sim::recipe::Recipe;

use crate::args::build_command;
use crate::console::{Reporter, print_to_stdout};
use crate::recipes::{find_preset, preset_names};

/// Lists the models, or prints the page of one.
///
/// # Errors
/// Returns an error if there is no such model.
pub fn print_models(name: Option<&str>, voice: Reporter) -> Result<()> {
    if let Some(name) = name {
        let model = thalweg_models::models::find_model(name)?;
        let page = page::model_page(&*model);
        return match voice.json {
            true => print_to_stdout(&format!("{}\n", json!({"name": model.about().name, "page": page}))),
            false => print_to_stdout(&page),
        };
    }
    if voice.json {
        let abouts = thalweg_models::models::all_models().map(|model| model.about());
        let list: Vec<_> = abouts.map(|about| json!({"name": about.name, "summary": about.summary})).collect();
        return print_to_stdout(&format!("{}\n", json!(list)));
    }
    let width = thalweg_models::models::all_models().map(|model| model.about().name.len()).max().unwrap_or(0);
    let families = [
        (Family::Base, "Base models, which generate terrain"),
        (Family::Erosion, "Erosion models, which change it"),
        (Family::Analysis, "Analyses, which read it"),
    ];
    for (family, title) in families {
        print_to_stdout(&format!("{title}:\n"))?;
        for about in
            thalweg_models::models::all_models().map(|model| model.about()).filter(|about| about.family == family)
        {
            print_to_stdout(&format!("  {:<width$}  {}\n", about.name, about.summary))?;
        }
    }
    Ok(())
}

/// Lists the rocks with their properties.
///
/// # Errors
/// Returns an error if nothing can be printed.
pub fn print_rocks(voice: Reporter) -> Result<()> {
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

/// Prints the JSON Schema of recipes, or of the options of an operation.
///
/// # Errors
/// Returns an error if there is no such operation, or if nothing can be printed.
pub fn print_schema(operation: Option<&str>) -> Result<()> {
    let schema = match operation {
        None => thalweg_sim::recipe::recipe_schema(&thalweg_models::models::Models::default()),
        Some(name) => operation_schema(&*find_operation(name)?),
    };
    print_to_stdout(&format!("{schema:#}\n"))
}

/// Prints shell completions.
///
/// # Errors
/// Returns an error if nothing can be printed.
pub fn print_completions(shell: Shell) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut build_command(&[]), "thalweg", &mut text);
    let text = String::from_utf8_lossy(&text);
    // With a list of values Zsh offers nothing else, but a recipe may also be a file.
    let presets = PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(" ");
    print_to_stdout(&text.replace(&format!(":({presets})'"), &format!(":{{compadd - {presets}; _files}}'")))
}

/// Prints the man page of the whole program, or of one command.
///
/// # Errors
/// Returns an error if there is no such command.
pub fn print_man_page(name: Option<&str>) -> Result<()> {
    let mut whole = build_command(&[]);
    whole.build();
    let page = match name {
        None => whole,
        Some(name) => {
            let known = whole.get_subcommands().map(|c| c.get_name().to_string()).collect::<Vec<_>>();
            let found = whole.find_subcommand(name).cloned();
            // The text says "thalweg apply", but the page is called `thalweg-apply`, like git's pages.
            found
                .ok_or_else(|| Error::unknown_name("command", name, known.iter().map(String::as_str)))?
                .display_name(format!("thalweg-{name}"))
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text).map_err(Error::io("the man page", "write"))?;
    print_to_stdout(&String::from_utf8_lossy(&text))
}

/// Prints the name, extent and description of each preset, or of one with its stages.
///
/// # Errors
/// Returns an error if there is no such preset, or if nothing can be printed.
pub fn print_presets(one: Option<&str>, voice: Reporter) -> Result<()> {
    if voice.json {
        let known = preset_names().filter(|name| one.is_none_or(|one| one == *name));
        let list = known.map(|name| Ok(json!({"name": name, "about": load_preset(name)?.about.trim()})));
        let list = list.collect::<Result<Vec<_>>>()?;
        // An unknown name is refused below.
        if !list.is_empty() {
            return print_to_stdout(&format!("{}\n", json!(list)));
        }
    }
    for name in preset_names().filter(|name| one.is_none_or(|one| one == *name)) {
        print_to_stdout(&format_preset_line(name, &load_preset(name)?))?;
    }
    let Some(name) = one else { return Ok(()) };
    let recipe = load_preset(name)?;
    let (forms, models) = (recipe.local_forms(), recipe.stages.iter().map(|stage| stage.model.about()));
    let width = forms.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    print_to_stdout(
        "\nStages, and the part of each that continues on local levels (beyond = \"local\", and a world's tiles):\n",
    )?;
    for ((label, form), about) in forms.iter().zip(models) {
        let form = form.unwrap_or("none: it ends at the global level");
        print_to_stdout(&format!("  {label:<width$}  {}\n  {:<width$}  {form}\n", about.name, ""))?;
    }
    Ok(())
}

fn load_preset(name: &str) -> Result<Recipe> {
    find_preset(name).unwrap_or_else(|| Err(Error::unknown_name("preset", name, preset_names())))
}

fn format_preset_line(name: &str, recipe: &Recipe) -> String {
    let extent = recipe
        .extent()
        .map_or(String::new(), |extent| format!(" [{} × {} km]", extent.width / 1e3, extent.height / 1e3));
    format!("{name:<16} {}{extent}\n", recipe.about.trim())
}
