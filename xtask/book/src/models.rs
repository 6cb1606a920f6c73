//! `cargo xtask book`: generates the pages of the models from their declarations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use thalweg_models::model::page;
use thalweg_models::models;
use thalweg_sim::presets;

use xtask::files;
use xtask::shell::{Outcome, repository_root};

/// The folder of the pages.
const FOLDER: &str = "docs/models";

/// Writes every page, and removes those of models that no longer exist.
pub fn write_pages() -> Outcome {
    let folder = repository_root().join(FOLDER);
    files::create_folder(&folder)?;
    let pages = build_pages();
    for file in files::list_files(&folder)? {
        if file.to_str().is_none_or(|name| !pages.contains_key(name)) {
            let path = folder.join(file);
            fs::remove_file(&path).map_err(files::add_path(&path))?;
        }
    }
    pages.iter().try_for_each(|(name, text)| files::write_file(&folder.join(name), text))
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
