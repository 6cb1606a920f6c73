//! Paths that do not exist yet.

use std::path::{Path, PathBuf};

use crate::platform;

/// Returns a path that does not exist yet; if necessary, a number is inserted before the extension.
pub(super) fn find_free_path(folder: &Path, name: &str) -> PathBuf {
    let (stem, ending) = name.rsplit_once('.').map_or((name, String::new()), |(stem, end)| (stem, format!(".{end}")));
    let named = |n: u64| match n {
        1 => folder.join(name),
        n => folder.join(format!("{stem}-{n}{ending}")),
    };
    // After 10 000 existing files, a number from the clock almost certainly is free.
    (1..10_000).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(platform::generate_number() + 10_000))
}
