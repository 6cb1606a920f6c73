//! Generates the tables of docs/knobs.md and docs/export.md from the declarations of rocks, parameters and targets.

use std::fs;
use std::path::PathBuf;

use xtask::shell::{Outcome, repository_root};

/// A page of the documentation with generated tables.
struct Page {
    /// The page's path in the repository.
    path: &'static str,
    /// The functions that make its tables.
    tables: &'static [fn() -> String],
}

const PAGES: [Page; 2] = [
    Page {
        path: "docs/knobs.md",
        tables: &[thalweg_models::rocks::format_rock_table, thalweg_sim::knobs::format_markdown_table],
    },
    Page { path: "docs/export.md", tables: &[thalweg_export::export::targets_table] },
];

/// Replaces the existing tables.
pub fn write_tables() -> Outcome {
    PAGES.iter().try_for_each(|page| {
        let path = page_path(page);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        fs::write(&path, update_tables(page, &text)?).map_err(|error| format!("{}: {error}", path.display()))
    })
}

fn page_path(page: &Page) -> PathBuf {
    repository_root().join(page.path)
}

/// Returns the page's `text` with current tables: each replaces the table with the same header.
fn update_tables(page: &Page, text: &str) -> Outcome<String> {
    page.tables.iter().map(|make| make()).try_fold(text.to_string(), |text, table| {
        let heads = table.lines().next().unwrap_or_default();
        let begins = text.find(heads).ok_or_else(|| format!("{} has no table with the heads {heads}", page.path))?;
        let (before, rest) = text.split_at(begins);
        // A table ends at the first line that does not begin with a bar.
        let after: usize = rest.split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
        Ok(format!("{before}{table}{}", &rest[after..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_written_where_they_stand_and_pages_are_current() {
        for page in &PAGES {
            let text = fs::read_to_string(page_path(page)).unwrap().replace("\r\n", "\n");
            assert_eq!(update_tables(page, &text).unwrap(), text, "{} is stale: run `cargo xtask book`", page.path);
            assert!(update_tables(page, "No table.").is_err());
        }
        let knobs = fs::read_to_string(page_path(&PAGES[0])).unwrap().replace("\r\n", "\n");
        let stale = knobs.replace("| loess |", "| dust |").replace("| glacier |", "| snow |");
        assert_ne!(stale, knobs);
        assert_eq!(update_tables(&PAGES[0], &stale).unwrap(), knobs);
    }
}
