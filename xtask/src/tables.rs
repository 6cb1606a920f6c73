//! The tables of docs/knobs.md, from what rocks and parameters declare.

use std::fs;
use std::path::PathBuf;

use crate::shell::{Outcome, root};

/// Writes them in the place of those that are there.
pub fn write() -> Outcome {
    let path = path();
    let page = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    fs::write(&path, current(&page)?).map_err(|error| format!("{}: {error}", path.display()))
}

fn path() -> PathBuf {
    root().join("docs/knobs.md")
}

/// The page with the tables as they should be: each stands where a table of the same heads stood.
fn current(page: &str) -> Outcome<String> {
    [thalweg::rocks::table(), thalweg::knobs::table()].iter().try_fold(page.to_string(), |page, table| {
        let heads = table.lines().next().unwrap_or_default();
        let begins = page.find(heads).ok_or_else(|| format!("docs/knobs.md has no table with the heads {heads}"))?;
        let (before, rest) = page.split_at(begins);
        let after: usize = rest.split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
        Ok(format!("{before}{table}{}", &rest[after..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_written_where_they_stand_and_the_page_is_current() {
        let page = fs::read_to_string(path()).unwrap().replace("\r\n", "\n");
        assert_eq!(current(&page).unwrap(), page, "docs/knobs.md is stale: run `cargo xtask book`");
        let stale = page.replace("| loess |", "| dust |").replace("| glacier |", "| snow |");
        assert_ne!(stale, page);
        assert_eq!(current(&stale).unwrap(), page);
        assert!(current("No table.").is_err());
    }
}
