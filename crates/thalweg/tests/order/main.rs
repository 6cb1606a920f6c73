//! Modules stand in one order, between folders and inside them, as ARCHITECTURE.md's tables have it; and no two public types
//! of the workspace have one name.

mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sources::Sources;

/// The crates whose order is kept: all of the workspace but `xtask/bindgen`, which is one file.
const CRATES: [&str; 9] = [
    "crates/thalweg/src/",
    "crates/thalweg-store/src/",
    "crates/thalweg-studio/src/",
    "crates/thalweg-studio-web/src/",
    "crates/thalweg-cli/src/",
    "crates/thalweg-py/src/",
    "crates/thalweg-web/src/",
    "xtask/src/",
    "xtask/book/src/",
];

/// Names that types of two crates have, for different things.
const ALIKE: [&str; 12] = [
    "Ground", "Job", "Link", "Mark", "Outcome", "Painter", "Palette", "Pool", "Reading", "Snapshot", "Stand", "Wanted",
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

/// Public types of all crates by name, with the modules that define one of that name.
fn shown<'a>(crates: impl Iterator<Item = (&'a str, Sources)>) -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    for (home, sources) in crates {
        for (name, modules) in sources.shown() {
            found.entry(name).or_default().extend(modules.iter().map(|module| format!("{home}{module}")));
        }
    }
    found
}

#[test]
fn no_two_public_types_have_one_name() {
    let of_crates = shown(CRATES.into_iter().map(|home| (home, Sources::read(&root().join(home)))));
    assert!(of_crates.len() > 400, "only {} types found", of_crates.len());
    let twice = of_crates.iter().filter(|(_, modules)| modules.len() > 1);
    let (known, new): (Vec<_>, Vec<_>) = twice.partition(|(name, _)| ALIKE.contains(&name.as_str()));
    assert!(new.is_empty(), "{new:#?}");
    assert_eq!(known.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ALIKE, "listed, and alike no more");
    let within_one = |modules: &BTreeSet<String>| {
        CRATES.iter().any(|home| modules.iter().filter(|module| module.starts_with(home)).count() > 1)
    };
    assert!(!known.iter().any(|(_, modules)| within_one(modules)), "{known:#?}");
    let planted = [
        ("lib.rs", "pub mod a;\npub mod b;\npub use a::A;"),
        ("a/mod.rs", "mod c;\npub use c::Lake;\npub struct A;"),
        ("a/c.rs", "pub struct Lake {}\npub struct Hidden;"),
        ("b.rs", "params! {\n    pub struct Lake {}\n}\nstruct A;\npub(crate) enum Hidden {}"),
    ];
    let twice = |crates: Vec<(&str, Sources)>| -> Vec<String> {
        let twice = shown(crates.into_iter()).into_iter().filter(|(_, modules)| modules.len() > 1);
        twice.map(|(name, _)| name).collect()
    };
    assert_eq!(twice(vec![("one/", Sources::of(planted.into_iter()))]), ["Lake"]);
    let other = Sources::of([("lib.rs", "pub struct A;\npub(crate) struct Hidden;")].into_iter());
    assert_eq!(twice(vec![("one/", Sources::of(planted.into_iter())), ("other/", other)]), ["A", "Lake"]);
}
