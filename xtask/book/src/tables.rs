//! Generates the tables of docs/knobs.md and docs/export.md from the declarations of rocks, parameters and targets.

use std::fs;
use std::path::PathBuf;

use xtask::shell::{Outcome, root};

/// A page, and the functions that make its tables.
type Page = (&'static str, &'static [fn() -> String]);

const PAGES: [Page; 2] = [
    ("docs/knobs.md", &[thalweg_models::rocks::table, thalweg_sim::knobs::table]),
    ("docs/export.md", &[thalweg_export::export::table]),
];

/// Replaces the existing tables.
pub fn write() -> Outcome {
    PAGES.iter().try_for_each(|page| {
        let path = path(page);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        fs::write(&path, current(page, &text)?).map_err(|error| format!("{}: {error}", path.display()))
    })
}

fn path((name, _): &Page) -> PathBuf {
    root().join(name)
}

/// Returns the page with current tables: each replaces the table with the same header.
fn current((name, tables): &Page, page: &str) -> Outcome<String> {
    tables.iter().map(|make| make()).try_fold(page.to_string(), |page, table| {
        let heads = table.lines().next().unwrap_or_default();
        let begins = page.find(heads).ok_or_else(|| format!("{name} has no table with the heads {heads}"))?;
        let (before, rest) = page.split_at(begins);
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
            let text = fs::read_to_string(path(page)).unwrap().replace("\r\n", "\n");
            assert_eq!(current(page, &text).unwrap(), text, "{} is stale: run `cargo xtask book`", page.0);
            assert!(current(page, "No table.").is_err());
        }
        let knobs = fs::read_to_string(path(&PAGES[0])).unwrap().replace("\r\n", "\n");
        let stale = knobs.replace("| loess |", "| dust |").replace("| glacier |", "| snow |");
        assert_ne!(stale, knobs);
        assert_eq!(current(&PAGES[0], &stale).unwrap(), knobs);
    }
}
