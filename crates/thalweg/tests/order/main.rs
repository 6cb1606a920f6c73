//! Modules stand in one order, between folders and inside them, as ARCHITECTURE.md's tables have it; and no two public types have
//! one name.

mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use sources::Sources;

/// The crates whose order is kept.
const CRATES: [&str; 6] = [
    "crates/thalweg/src/",
    "crates/thalweg-store/src/",
    "crates/thalweg-studio/src/",
    "crates/thalweg-studio-web/src/",
    "crates/thalweg-cli/src/",
    "crates/thalweg-py/src/",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of a crate: modules of its root by their names, in their order.
fn rows<'a>(page: &'a str, home: &str) -> Vec<Vec<&'a str>> {
    let name = |path: &'a str| path.strip_prefix(home)?.split('/').next().map(|name| name.trim_end_matches(".rs"));
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|line| line.split('|').nth(1));
    cells.map(|cell| cell.split('`').filter_map(name).collect()).filter(|row: &Vec<_>| !row.is_empty()).collect()
}

/// The order of the files inside folders: the folder, and its files in ranks, `a, b · c`.
fn ranks<'a>(page: &'a str, home: &str) -> Vec<(&'a str, Vec<Vec<&'a str>>)> {
    let folders = page.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("/` | "));
    let folders = folders.filter_map(|(folder, order)| Some((folder.strip_prefix(home)?, order)));
    folders
        .map(|(folder, order)| (folder, order.split(" · ").map(|rank| rank.split(", ").collect()).collect()))
        .collect()
}

/// What is wrong with the order of a crate's modules.
fn faults(sources: &Sources, rows: &[Vec<&str>], ranks: &[(&str, Vec<Vec<&str>>)]) -> Vec<String> {
    let mut faults = Vec::new();
    let top = |module: &str| rows.iter().position(|row| row.contains(&module.split('/').next().unwrap_or_default()));
    for module in sources.0.keys().filter(|module| !module.is_empty()) {
        let Some(own) = top(module) else {
            faults.push(format!("{module} has no row"));
            continue;
        };
        let (folder, name) = module.rsplit_once('/').unwrap_or(("", module));
        let order = ranks.iter().find(|(of, _)| *of == folder).map(|(_, order)| order);
        // A star stands for all that is not named.
        let at = |name: &str| order.and_then(|order| order.iter().position(|rank| rank.contains(&name)));
        let rank = |name: &str| at(name).or_else(|| at("*"));
        let siblings =
            sources.0.keys().filter(|other| other.rsplit_once('/').is_some_and(|(of, _)| of == folder)).count();
        if !folder.is_empty() && siblings > 1 && rank(name).is_none() {
            faults.push(format!("{module} has no rank in {folder}/"));
        }
        for used in sources.used(module) {
            let root = |path: &str| path.split('/').next().unwrap_or_default().to_string();
            if root(&used) != root(module) {
                match top(&used) {
                    Some(row) if row >= own => faults.push(format!("{module} uses {used}, which is no earlier row")),
                    _ => {}
                }
            }
            // Files and folders of one folder; a folder's mod.rs is its page, which all its files may use, and which may use them.
            let in_folder = used.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
            let beside = in_folder.and_then(|rest| rest.split('/').next()).filter(|_| !folder.is_empty());
            if let Some(other) = beside.filter(|other| *other != name)
                && let (Some(own), Some(row)) = (rank(name), rank(other))
                && row >= own
            {
                faults.push(format!("{module} uses {folder}/{other}, which is no earlier rank"));
            }
        }
    }
    for (folder, order) in ranks {
        let named = order.iter().flatten().filter(|name| **name != "*");
        for name in named.filter(|name| !sources.0.contains_key(&format!("{folder}/{name}"))) {
            faults.push(format!("{folder}/{name} has a rank and is not there"));
        }
    }
    faults
}

#[test]
fn modules_use_only_earlier_ones() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap().replace("\r\n", "\n");
    let mut uses = 0;
    for home in CRATES {
        let sources = Sources::read(&root().join(home));
        uses += sources.0.keys().map(|module| sources.used(module).len()).sum::<usize>();
        let faults = faults(&sources, &rows(&page, home), &ranks(&page, home));
        assert!(faults.is_empty(), "{home}:\n{}", faults.join("\n"));
    }
    assert!(uses > 1000, "only {uses} uses found: are imports read wrongly?");
}

#[test]
fn a_wrong_order_is_found() {
    let page =
        "| `src/base/mod.rs` | x |\n| `src/flow/mod.rs`, `src/noise.rs` | x |\n\n| `src/flow/` | near · d8, fill |\n";
    let good = [
        ("lib.rs", "pub mod base;"),
        ("base/mod.rs", "pub struct A;"),
        ("noise.rs", "use crate::base::A;"),
        ("flow/mod.rs", "pub use d8::D8;\nuse crate::base::A;"),
        ("flow/near.rs", "use crate::base::{self, A};"),
        ("flow/d8.rs", "use super::near::Near;\n// use crate::flow::fill::F;"),
        ("flow/fill.rs", "use crate::flow::{Land, near::Near};\n#[cfg(test)]\nmod tests {\n use crate::flow::d8; }"),
    ];
    let found = |file: &str, text: &str| {
        let files = good.iter().map(|(name, known)| if *name == file { (*name, text) } else { (*name, *known) });
        faults(&Sources::of(files), &rows(page, "src/"), &ranks(page, "src/"))
    };
    assert_eq!(found("", ""), Vec::<String>::new());
    assert_eq!(found("base/mod.rs", "use crate::noise::N;").len(), 1, "a later row");
    assert_eq!(found("noise.rs", "fn f() { crate::flow::d8::f() }").len(), 1, "the same row");
    assert_eq!(found("flow/near.rs", "use super::{fill, base};").len(), 1, "a later rank");
    assert_eq!(found("flow/d8.rs", "use crate::flow::{\n    fill::F,\n};").len(), 1, "the same rank");
    let stranger = good.iter().copied().chain([("flow/new.rs", ""), ("other.rs", "")]);
    assert_eq!(faults(&Sources::of(stranger), &rows(page, "src/"), &ranks(page, "src/")).len(), 2, "no row, no rank");
    assert_eq!(
        faults(&Sources::of(good[..6].iter().copied()), &rows(page, "src/"), &ranks(page, "src/")).len(),
        1,
        "gone"
    );
}

#[test]
fn no_two_public_types_have_one_name() {
    let shown = Sources::read(&root().join("crates/thalweg/src")).shown();
    assert!(shown.len() > 250, "only {} types found", shown.len());
    let twice: Vec<_> = shown.iter().filter(|(_, modules)| modules.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
    let planted = [
        ("lib.rs", "pub mod a;\npub mod b;\npub use a::A;"),
        ("a/mod.rs", "mod c;\npub use c::Lake;\npub struct A;"),
        ("a/c.rs", "pub struct Lake {}\npub struct Hidden;"),
        ("b.rs", "params! {\n    pub struct Lake {}\n}\nstruct A;\npub(crate) enum Hidden {}"),
    ];
    let shown = Sources::of(planted.into_iter()).shown();
    let twice: Vec<_> = shown.iter().filter(|(_, modules)| modules.len() > 1).map(|(name, _)| name).collect();
    assert_eq!(twice, ["Lake"]);
}
