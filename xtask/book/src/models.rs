//! `cargo xtask book`: generates the pages of the models from their declarations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use thalweg_models::model::page;
use thalweg_models::models;
use thalweg_sim::presets;

use xtask::shell::{Outcome, repository_root};

/// Writes every page, and removes those of models that no longer exist.
pub fn write_pages() -> Outcome {
    let folder = pages_folder();
    let problem = |path: PathBuf| move |error| format!("{}: {error}", path.display());
    fs::create_dir_all(&folder).map_err(problem(folder.clone()))?;
    let pages = build_pages();
    for name in read_existing_pages()?.into_keys().filter(|name| !pages.contains_key(name)) {
        fs::remove_file(folder.join(&name)).map_err(problem(folder.join(&name)))?;
    }
    for (name, text) in pages {
        fs::write(folder.join(&name), text).map_err(problem(folder.join(&name)))?;
    }
    Ok(())
}

/// Checks that the existing pages are those that [`write_pages()`] would write.
pub fn check_pages() -> Outcome {
    let (wanted, present) = (build_pages(), read_existing_pages()?);
    let names = wanted.keys().chain(present.keys());
    let stale: Vec<&String> = names.filter(|name| wanted.get(*name) != present.get(*name)).collect();
    if stale.is_empty() { Ok(()) } else { Err(format!("docs/models is stale ({stale:?}): run `cargo xtask book`")) }
}

fn pages_folder() -> PathBuf {
    repository_root().join("docs/models")
}

/// Returns the file names and texts of all pages.
fn build_pages() -> BTreeMap<String, String> {
    let mut index = "# Models\n\nGenerated from their declarations by `cargo xtask book`.\n\n".to_string();
    let mut pages = BTreeMap::new();
    for model in models::all_models() {
        let about = model.about();
        let _ = writeln!(index, "- [{0}]({0}.md): {1}", about.name, about.summary);
        pages.insert(format!("{}.md", about.name), page::model_page(&*model));
    }
    index.push_str(
        "\n[Refinement levels](local_forms.md) lists, preset by preset, which stages continue on refinement levels.\n",
    );
    pages.insert("README.md".to_string(), index);
    pages.insert("local_forms.md".to_string(), local_forms());
    pages
}

/// Makes the page that lists, for each preset, which of its stages have a local form.
fn local_forms() -> String {
    let mut page = "# Stages on refinement levels\n\nGenerated from the models' declarations by `cargo xtask book`.\n\n\
        Levels beyond the global one (`beyond = \"local\"` in a recipe, and all tiles of a world) are computed cell by cell from a\n\
        bounded neighbourhood of the coarser level. A stage continues there as far as its model has a form for it. All other\n\
        stages end at the global level, and the refinement continues from their result.\n\n| preset | stage | model | on refinement levels |\n|---|---|---|---|\n"
        .to_string();
    for preset in presets::PRESETS {
        let (name, Ok(recipe)) = (preset.name, preset.recipe()) else { continue };
        for (stage, (label, form)) in recipe.stages.iter().zip(recipe.local_forms()) {
            let _ = writeln!(page, "| {name} | {label} | {} | {} |", stage.model.about().name, form.unwrap_or("–"));
        }
    }
    page
}

/// Returns the file names and texts of the existing pages.
fn read_existing_pages() -> Outcome<BTreeMap<String, String>> {
    let Ok(entries) = fs::read_dir(pages_folder()) else { return Ok(BTreeMap::new()) };
    let mut pages = BTreeMap::new();
    for entry in entries.filter_map(Result::ok).filter(|entry| entry.path().extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(entry.path()).map_err(|e| format!("{}: {e}", entry.path().display()))?;
        // Git on Windows may have converted the line endings.
        pages.insert(entry.file_name().to_string_lossy().into_owned(), text.replace("\r\n", "\n"));
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_models_pages_are_current() {
        super::check_pages().unwrap();
    }
}
