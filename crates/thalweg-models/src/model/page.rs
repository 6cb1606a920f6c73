//! A model's page as Markdown, generated from its declaration: shown by `thalweg models NAME` and in the book.

use std::fmt::Write as _;

use crate::model::{Family, Local, Model};
use thalweg_core::declare::params::ParamKind;
use thalweg_core::terrain::LayerSpec;

/// The width of a global level's cells in metres, for which a page describes local forms; with a model's defaults
/// none depends on it.
const CELL: f64 = 30.0;

/// Returns the whole page: the model's own documentation, its parameters, and the layers that it reads and writes.
///
/// # Examples
/// ```
/// use thalweg_models::model::page::model_page;
/// use thalweg_models::models::find_model;
///
/// let page = model_page(&*find_model("thermal")?);
/// assert!(page.starts_with("# thermal\n"));
/// assert!(page.contains("## Parameters") && page.contains("- `talus`: "));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn model_page(model: &dyn Model) -> String {
    let about = model.about();
    let family = match about.family {
        Family::Base => "generates terrain",
        Family::Erosion => "changes terrain",
        Family::Analysis => "analyses terrain",
    };
    let mut page = format!("# {}\n\n{}\n\n", about.name, about.summary);
    // Doc comments begin each line with the space that follows `///`.
    for line in model.page().lines() {
        let _ = writeln!(page, "{}", line.strip_prefix(' ').unwrap_or(line).trim_end());
    }
    let _ = write!(page, "\nFamily: {family}. Source: {}.\n", about.source.trim_end_matches('.'));
    let form = model.define_refinement(&mut Local::new(CELL)).unwrap_or("none; the model ends at the global level");
    let _ = writeln!(page, "\nOn refinement levels: {form}.");
    let loops = if about.loops { "supported, without a seam" } else { "not supported" };
    let _ = writeln!(page, "\nLooped edges: {loops}.");
    let _ = write!(page, "\n## Parameters\n\n{}", format_parameters(model));
    page.push_str("\n## Layers\n\n");
    let groups = [("needs", about.needs), ("uses", about.uses), ("writes", about.writes)];
    if groups.iter().all(|(_, specs)| specs.is_empty()) {
        page.push_str("None besides the elevation.\n");
    }
    for (verb, specs) in groups {
        for LayerSpec { name, unit, meaning, .. } in specs {
            let _ = writeln!(page, "- {verb} `{name}` [{unit}]: {meaning}");
        }
    }
    if !about.tables.is_empty() {
        let _ = writeln!(page, "- keeps the tables `{}`", about.tables.join("`, `"));
    }
    page
}

/// Returns the parameters as Markdown: a table of default, unit, range and source, then a description of each.
pub fn format_parameters(model: &dyn Model) -> String {
    let declared = model.declared();
    if declared.is_empty() {
        return "None.\n".to_string();
    }
    let mut rows = vec![["parameter", "default", "unit", "allowed", "source"].map(String::from)];
    for p in &declared {
        let allowed = p.kind.to_string();
        rows.push([p.name.into(), p.default.to_string(), p.unit.into(), allowed, p.source.into()]);
    }
    let mut text = format_markdown_table(&rows);
    text.push('\n');
    for p in &declared {
        let _ = writeln!(text, "- `{}`: {}", p.name, p.meaning);
        if let ParamKind::Choice(words) = p.kind {
            for (word, meaning) in words {
                let _ = writeln!(text, "  - `{word}`: {meaning}");
            }
        }
    }
    text
}

/// Formats a Markdown table whose columns also align in a terminal; the first row is the header.
fn format_markdown_table(rows: &[[String; 5]]) -> String {
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, w)| format!("{cell:<w$}")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
        if number == 0 {
            let rules = widths.map(|w| "-".repeat(w + 2));
            let _ = writeln!(text, "|{}|", rules.join("|"));
        }
    }
    text
}
