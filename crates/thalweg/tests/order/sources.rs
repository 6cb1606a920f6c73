//! What a tree of Rust sources says of itself: modules, what they import, which types they show.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The modules of a crate by their paths (`flow/d8`; the root is ``), each with its code: no comments, no tests.
pub struct Sources(pub BTreeMap<String, String>);

impl Sources {
    /// Those below a folder.
    pub fn read(folder: &Path) -> Self {
        let mut found = Vec::new();
        files(folder, "", &mut found);
        Self::of(found.iter().map(|(name, text)| (name.as_str(), text.as_str())))
    }

    /// Those of files by name (`flow/d8.rs`) and text.
    pub fn of<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut modules = BTreeMap::<String, String>::new();
        // A library and a program in one folder have one root.
        files.for_each(|(name, text)| modules.entry(module(name)).or_default().push_str(&code(text)));
        Self(modules)
    }

    /// The module that a path of names leads into: the longest beginning of it that is one.
    fn resolve(&self, names: &[String]) -> Option<String> {
        (0..=names.len()).rev().map(|n| names[..n].join("/")).find(|path| self.0.contains_key(path))
    }

    /// The modules that a module's code names.
    pub fn used(&self, module: &str) -> BTreeSet<String> {
        let Some(code) = self.0.get(module) else { return BTreeSet::new() };
        let mut paths = Vec::new();
        for import in code.split("use ").skip(1).filter_map(|rest| rest.split(';').next()) {
            expand(import, &[], &mut paths);
        }
        // Paths in full, amid the code.
        for path in code.split("crate::").skip(1) {
            let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(path.len());
            let names = path[..end].split("::").filter(|name| !name.is_empty()).map(String::from);
            paths.push(std::iter::once("crate".to_string()).chain(names).collect());
        }
        let here: Vec<String> = module.split('/').filter(|name| !name.is_empty()).map(String::from).collect();
        let absolute = paths.iter().filter_map(|path| {
            let first = path.iter().take_while(|name| *name == "super").count();
            match path[0].as_str() {
                "crate" => Some(path[1..].to_vec()),
                "self" => Some([&here[..], &path[1..]].concat()),
                "super" => Some([&here[..here.len().checked_sub(first)?], &path[first..]].concat()),
                _ => None,
            }
        });
        absolute.filter_map(|path| self.resolve(&path)).filter(|used| used != module).collect()
    }

    /// Every type that a user can name, with the modules that define one of that name.
    pub fn shown(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut found = BTreeMap::new();
        self.show("", &mut found);
        found
    }

    fn show(&self, module: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
        let Some(code) = self.0.get(module) else { return };
        let mut add = |name: &str, of: &str| {
            found.entry(name.to_string()).or_default().insert(of.to_string());
        };
        types(code).for_each(|(name, is_public)| {
            if is_public {
                add(name, module);
            }
        });
        let here: Vec<String> = module.split('/').filter(|name| !name.is_empty()).map(String::from).collect();
        for import in code.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
            let mut paths = Vec::new();
            expand(import, &[], &mut paths);
            for path in paths {
                let Some((name, from)) = path.split_last() else { continue };
                let from = if from.first().is_some_and(|name| name == "crate") {
                    from[1..].to_vec()
                } else {
                    [&here[..], from].concat()
                };
                let of = from.join("/");
                if self.0.get(&of).is_some_and(|code| types(code).any(|(known, _)| known == name)) {
                    add(name, &of);
                }
            }
        }
        for inner in code.split("\npub mod ").skip(1).filter_map(|rest| rest.split(';').next()) {
            let path = if module.is_empty() { inner.to_string() } else { format!("{module}/{inner}") };
            self.show(&path, found);
        }
    }
}

/// Types that stand on lines of their own: name, and whether it is public.
fn types(code: &str) -> impl Iterator<Item = (&str, bool)> {
    code.lines().filter_map(|line| {
        let rest = line.trim_start();
        // Those of a module's own; and within macros that declare a model.
        let depth = line.len() - rest.len();
        let public = rest.strip_prefix("pub ");
        let rest = public.or_else(|| Some(rest.strip_prefix("pub(")?.split_once(") ")?.1)).unwrap_or(rest);
        let name = ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| rest.strip_prefix(word))?;
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        (depth == 0 || depth == 4 && public.is_some()).then_some((&name[..end], public.is_some()))
    })
}

fn module(name: &str) -> String {
    let name = name.trim_end_matches(".rs");
    if name == "lib" || name == "main" { String::new() } else { name.trim_end_matches("/mod").to_string() }
}

fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    format!("\n{}", lines.join("\n"))
}

fn files(folder: &Path, name: &str, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let own = entry.file_name().into_string().unwrap();
        let name = if name.is_empty() { own } else { format!("{name}/{own}") };
        if entry.path().is_dir() {
            files(&entry.path(), &name, found);
        } else if name.ends_with(".rs") && !["tests.rs", "testing.rs"].iter().any(|tests| name.ends_with(tests)) {
            found.push((name, fs::read_to_string(entry.path()).unwrap().replace("\r\n", "\n")));
        }
    }
}

/// The paths of an import: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(import: &str, before: &[String], found: &mut Vec<Vec<String>>) {
    let import = import.trim();
    if let Some((head, rest)) = import.split_once('{') {
        let names = head.split("::").map(str::trim).filter(|name| !name.is_empty()).map(String::from);
        let before: Vec<String> = before.iter().cloned().chain(names).collect();
        let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
        let (mut depth, mut from) = (0, 0);
        for (at, c) in inner.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(&inner[from..at], &before, found);
                    from = at + 1;
                }
                _ => {}
            }
        }
        expand(&inner[from..], &before, found);
    } else if !import.is_empty() {
        let import = import.split(" as ").next().unwrap_or_default();
        let names = import.split("::").map(|name| name.trim().to_string());
        found.push(before.iter().cloned().chain(names).collect());
    }
}
