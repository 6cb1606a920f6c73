//! Paths that do not exist yet.

use std::path::{Path, PathBuf};

use crate::platform;

/// Returns a path that does not exist yet; if necessary, a number is inserted before the extension.
pub(super) fn free(folder: &Path, name: &str) -> PathBuf {
    let (stem, ending) = name.rsplit_once('.').map_or((name, String::new()), |(stem, end)| (stem, format!(".{end}")));
    let named = |n: u64| match n {
        1 => folder.join(name),
        n => folder.join(format!("{stem}-{n}{ending}")),
    };
    (1..10_000).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(platform::dice() + 10_000))
}
