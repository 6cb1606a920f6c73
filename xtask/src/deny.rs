//! `cargo xtask deny`: checks the licences and sources of the dependencies according to the lists of `deny.toml`.
//!
//! If `cargo deny` is installed, it does this, and checks advisories as well. Because it takes long to build, the
//! lists are also implemented here, based on what cargo itself knows about each crate; advisories are then not
//! checked, which is printed.

use serde_json::Value;

use xtask::shell::{Outcome, cargo_command, repository_root, run_cargo};

/// Checks every dependency on every platform.
pub fn check_dependencies() -> Outcome {
    if cargo_command().args(["deny", "--version"]).output().is_ok_and(|output| output.status.success()) {
        run_cargo(&["deny", "--all-features", "check", "licenses", "bans", "sources"])?;
        // Separately, because the advisories are in a repository that not every machine can reach.
        return run_cargo(&["deny", "--all-features", "check", "advisories"]);
    }
    let rules = LicenceRules::read()?;
    let packages = read_packages(&[])?;
    let problems: Vec<String> = packages.iter().filter_map(|package| rules.find_problem(package)).collect();
    println!("{} crates: licences and sources by deny.toml; advisories need `cargo deny`", packages.len());
    if problems.is_empty() { Ok(()) } else { Err(format!("deny.toml is violated:\n  {}", problems.join("\n  "))) }
}

/// Returns cargo's metadata of every crate that the workspace consists of.
fn read_packages(more: &[&str]) -> Outcome<Vec<Value>> {
    let args = ["metadata", "--format-version", "1", "--all-features", "--locked"];
    let output = cargo_command().args(args).args(more).output().map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let known: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    Ok(known["packages"].as_array().ok_or("cargo metadata names no packages")?.clone())
}

/// The lists of `deny.toml` that are checked here.
struct LicenceRules {
    licences: Vec<String>,
    /// Crates that may have further licences.
    exceptions: Vec<(String, Vec<String>)>,
}

impl LicenceRules {
    fn read() -> Outcome<Self> {
        let path = repository_root().join("deny.toml");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let table: toml::Table = text.parse().map_err(|error| format!("deny.toml: {error}"))?;
        let words = |value: Option<&toml::Value>| -> Outcome<Vec<String>> {
            let words = value.and_then(toml::Value::as_array).ok_or("deny.toml: a list is missing")?;
            let problem = "deny.toml: a list contains a value that is not a string";
            words.iter().map(|word| Ok(word.as_str().ok_or(problem)?.to_string())).collect()
        };
        let licences = table.get("licenses").ok_or("deny.toml has no [licenses]")?;
        let exceptions = licences.get("exceptions").and_then(toml::Value::as_array);
        let exceptions = exceptions.into_iter().flatten().map(|exception| {
            let name =
                exception.get("crate").and_then(toml::Value::as_str).ok_or("deny.toml: an exception has no crate")?;
            Ok((name.to_string(), words(exception.get("allow"))?))
        });
        Ok(Self { licences: words(licences.get("allow"))?, exceptions: exceptions.collect::<Outcome<_>>()? })
    }

    /// Returns what is wrong with a package of `cargo metadata`, or `None`.
    fn find_problem(&self, package: &Value) -> Option<String> {
        let name = package["name"].as_str().unwrap_or("?");
        // Crates of this workspace have no source. Those that are never published need no licence field.
        let is_ours = package["source"].is_null();
        if is_ours && package["publish"].as_array().is_some_and(Vec::is_empty) {
            return None;
        }
        if let Some(source) = package["source"].as_str() {
            // cargo-deny checks that the registry is the usual one.
            if !["registry+", "sparse+"].iter().any(|kind| source.starts_with(kind)) {
                return Some(format!("{name} comes from {source}"));
            }
        }
        // An exception allows further licences for a single crate.
        let own = self.exceptions.iter().filter(|(known, _)| known == name).flat_map(|(_, allow)| allow);
        let allowed: Vec<&str> = self.licences.iter().chain(own).map(String::as_str).collect();
        match package["license"].as_str() {
            Some(licence) if is_permitted(licence, &allowed) => None,
            Some(licence) => Some(format!("{name} has the licence {licence}")),
            None => Some(format!("{name} names no licence")),
        }
    }
}

/// Returns true if an SPDX expression can be satisfied with these licences. A slash, as in old manifests, means `OR`.
fn is_permitted(expression: &str, allowed: &[&str]) -> bool {
    // The grammar is small: OR binds weaker than AND, and parentheses group. Each level of it is a function.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    match_alternatives(&mut words, allowed) && words.peek().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn match_alternatives(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut met = match_conjunction(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        // Both sides are parsed, whatever the first one gives.
        met |= match_conjunction(words, allowed);
    }
    met
}

fn match_conjunction(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut met = match_licence(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= match_licence(words, allowed);
    }
    met
}

fn match_licence(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let met = match_alternatives(words, allowed);
        return words.next_if_eq(&")").is_some() && met;
    }
    let mut name = words.next().unwrap_or_default().to_string();
    // A licence with an exception counts as a licence of its own name.
    if words.next_if_eq(&"WITH").is_some() {
        name = format!("{name} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met_or_not() {
        let allowed = ["MIT", "Apache-2.0", "Zlib"];
        for (expression, want) in [
            ("MIT", true),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("GPL-3.0 OR LGPL-2.1", false),
            ("MIT AND Unicode-3.0", false),
            ("(MIT OR GPL-3.0) AND Zlib", true),
            ("(MIT OR Apache-2.0) AND OFL-1.1", false),
            ("Apache-2.0 WITH LLVM-exception", false),
            ("Apache-2.0 WITH LLVM-exception OR Apache-2.0", true),
            ("GPL-3.0 AND MIT OR Zlib", true),
            ("(MIT", false),
            ("MIT)", false),
            ("", false),
        ] {
            assert_eq!(is_permitted(expression, &allowed), want, "{expression}");
        }
    }

    #[test]
    fn a_crate_from_elsewhere_or_without_a_licence_is_named() {
        let rules = LicenceRules::read().unwrap();
        let index = "registry+https://example.org/index";
        let package =
            |source: &str, licence: Value| serde_json::json!({"name": "x", "source": source, "license": licence});
        assert_eq!(rules.find_problem(&package(index, "MIT OR Apache-2.0".into())), None);
        for wrong in [
            package("git+https://example.org/x", "MIT".into()),
            package(index, "GPL-3.0-only".into()),
            package(index, Value::Null),
        ] {
            assert!(rules.find_problem(&wrong).unwrap().starts_with("x "));
        }
        let fonts = serde_json::json!({"name": "epaint_default_fonts", "source": index, "license": "MIT AND OFL-1.1"});
        assert_eq!(rules.find_problem(&fonts), None);
    }

    #[test]
    fn our_dependencies_are_what_they_may_be() {
        // Only the dependencies of this platform, which are present because this test was built with them; `cargo
        // xtask deny` checks all.
        let output = std::process::Command::new("rustc").arg("-vV").output().unwrap();
        let about = String::from_utf8(output.stdout).unwrap();
        let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        let packages = read_packages(&["--offline", "--filter-platform", host]).unwrap();
        assert!(packages.len() > 50);
        let rules = LicenceRules::read().unwrap();
        let problems: Vec<String> = packages.iter().filter_map(|package| rules.find_problem(package)).collect();
        assert_eq!(problems, Vec::<String>::new());
    }
}
