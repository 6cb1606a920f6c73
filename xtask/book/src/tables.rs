//! Generates the tables of docs/knobs.md and docs/export.md from the declarations of rocks, parameters and targets.

use std::path::PathBuf;

use xtask::files;
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
        files::write_file(&path, update_tables(page, &files::read_text(&path)?)?)
    })
}

/// Checks that the existing tables are those that [`write_tables()`] would write.
pub fn check_tables() -> Outcome {
    PAGES.iter().try_for_each(|page| {
        let text = read_page(page)?;
        let is_current = update_tables(page, &text)? == text;
        if is_current { Ok(()) } else { Err(format!("{} is stale: run `cargo xtask book`", page.path)) }
    })
}

/// Returns the text of a page with the line endings of the generated tables.
fn read_page(page: &Page) -> Outcome<String> {
    // Git on Windows may have converted the line endings.
    Ok(files::read_text(&page_path(page))?.replace("\r\n", "\n"))
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
    fn tables_are_written_where_they_stand() {
        assert!(PAGES.iter().all(|page| update_tables(page, "No table.").is_err()));
        let knobs = read_page(&PAGES[0]).unwrap();
        let stale = knobs.replace("| loess |", "| dust |").replace("| glacier |", "| snow |");
        assert_ne!(stale, knobs);
        assert_eq!(update_tables(&PAGES[0], &stale).unwrap(), knobs);
    }
}
