//! `cargo xtask book`: the models' pages, from their declarations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use thalweg_models::model::page;
use thalweg_models::models;
use thalweg_sim::presets;

use xtask::shell::{Outcome, root};

/// Writes every page and removes those of models that are gone.
pub fn write() -> Outcome {
    let folder = folder();
    let problem = |path: PathBuf| move |error| format!("{}: {error}", path.display());
    fs::create_dir_all(&folder).map_err(problem(folder.clone()))?;
    let pages = pages();
    for name in present()?.into_keys().filter(|name| !pages.contains_key(name)) {
        fs::remove_file(folder.join(&name)).map_err(problem(folder.join(&name)))?;
    }
    for (name, text) in pages {
        fs::write(folder.join(&name), text).map_err(problem(folder.join(&name)))?;
    }
    Ok(())
}

/// Whether the pages that are there are those that [`write()`] would leave.
pub fn check() -> Outcome {
    let (wanted, present) = (pages(), present()?);
    let names = wanted.keys().chain(present.keys());
    let stale: Vec<&String> = names.filter(|name| wanted.get(*name) != present.get(*name)).collect();
    if stale.is_empty() { Ok(()) } else { Err(format!("docs/models is stale ({stale:?}): run `cargo xtask book`")) }
}

fn folder() -> PathBuf {
    root().join("docs/models")
}

/// File names and texts of all pages.
fn pages() -> BTreeMap<String, String> {
    let mut index = "# Models\n\nGenerated from their declarations by `cargo xtask book`.\n\n".to_string();
    let mut pages = BTreeMap::new();
    for model in models::all_models() {
        let about = model.about();
        let _ = writeln!(index, "- [{0}]({0}.md): {1}", about.name, about.summary);
        pages.insert(format!("{}.md", about.name), page::model_page(&*model));
    }
    index.push_str("\nWhat of each goes on on local levels, preset by preset: [local_forms](local_forms.md).\n");
    pages.insert("README.md".to_string(), index);
    pages.insert("local_forms.md".to_string(), local_forms());
    pages
}

/// For each preset, which of its stages have a local form.
fn local_forms() -> String {
    let mut page = "# Local forms\n\nGenerated from the models' declarations by `cargo xtask book`.\n\n\
        Levels beyond the global one (`beyond = \"local\"` in a recipe, and all of a world's tiles) are made cell by cell of what lies\n\
        around. A stage goes on there in as far as its model has a local form; all others end at the global level, and what they made of\n\
        the land is refined with it.\n\n| preset | stage | model | on local levels |\n|---|---|---|---|\n"
        .to_string();
    for preset in presets::PRESETS {
        let (name, Ok(recipe)) = (preset.name, preset.recipe()) else { continue };
        for (stage, (label, form)) in recipe.stages.iter().zip(recipe.local_forms()) {
            let _ = writeln!(page, "| {name} | {label} | {} | {} |", stage.model.about().name, form.unwrap_or("–"));
        }
    }
    page
}

/// File names and texts of the pages that are there.
fn present() -> Outcome<BTreeMap<String, String>> {
    let Ok(entries) = fs::read_dir(folder()) else { return Ok(BTreeMap::new()) };
    let mut pages = BTreeMap::new();
    for entry in entries.filter_map(Result::ok).filter(|entry| entry.path().extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(entry.path()).map_err(|e| format!("{}: {e}", entry.path().display()))?;
        // Git on Windows may have turned the line ends.
        pages.insert(entry.file_name().to_string_lossy().into_owned(), text.replace("\r\n", "\n"));
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_models_pages_are_current() {
        super::check().unwrap();
    }
}
