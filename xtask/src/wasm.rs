//! `cargo xtask wasm`: every model's sample recipe, small, in WebAssembly and on this machine: the bits must be the same.
//!
//! The standard library for wasm32-unknown-unknown is built from source by the toolchain that brings it: rustup's where it has
//! that target, else Debian's `rustc-web` with `rust-web-src`. Node runs the module.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Outcome, apt, built, cargo_command, is_there, root, run};

/// Cells on the long side.
const CELLS: usize = 64;

const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGE: &str = "thalweg-fingerprints";

/// Where Debian's toolchain for the web lies.
const WEB: &str = "/usr/bin/rustc";
const WEB_SOURCE: &str = "/usr/lib/rustlib/src/rust/library";

/// Builds the module, runs every recipe in it and here, and says which differ.
pub fn compare() -> Outcome {
    let target = built()?.parent().ok_or("there is no target folder")?.join("wasm");
    let module = module(&target)?;
    let recipes = recipes(&target)?;
    let paths: Vec<PathBuf> = recipes.iter().map(|(_, path)| path.clone()).collect();
    let script = root().join("xtask/wasm/run.mjs");
    let mut node = Command::new(node()?);
    let output = node.arg(script).arg(&module).arg(CELLS.to_string()).args(&paths).output();
    let output = output.map_err(|error| format!("node: {error}"))?;
    if !output.status.success() {
        return Err(format!("node: {}{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let answers: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("node: {error}"))?;
    let mut differing = Vec::new();
    for (name, path) in &recipes {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let here = thalweg_fingerprints::world(&text, CELLS);
        let there = answers[&*path.to_string_lossy()].as_str().unwrap_or("no answer\n");
        let is_same = here == there && !here.starts_with("error:");
        let ground = here.lines().find_map(|line| line.strip_prefix("ground ")).unwrap_or("–");
        println!("{name:<24} {ground:<18} {}", if is_same { "same" } else { "OTHER" });
        if !is_same {
            println!("here:\n{here}WebAssembly:\n{there}");
            differing.push(name.as_str());
        }
    }
    println!("{} recipes at {CELLS} cells in WebAssembly and here", recipes.len());
    if differing.is_empty() { Ok(()) } else { Err(format!("not the same bits: {}", differing.join(", "))) }
}

/// The module, built.
fn module(target: &Path) -> Outcome<PathBuf> {
    let mut build = cargo_command();
    build.args(["build", "--target", TARGET, "--package", PACKAGE, "--target-dir"]).arg(target);
    let has_target = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let has_target = has_target.is_ok_and(|output| {
        output.status.success() && Path::new(&*String::from_utf8_lossy(output.stdout.trim_ascii())).is_dir()
    });
    if !has_target {
        if !Path::new(WEB_SOURCE).is_dir() {
            println!("xtask: {TARGET} needs a standard library; trying to install Debian's");
            apt(&["update"])
                .and_then(|()| apt(&["install", "-y", "--no-install-recommends", "rustc-web", "rust-web-src"]))
                .map_err(|problem| {
                    format!(
                        "WebAssembly needs `rustup target add {TARGET}`, or Debian's rustc-web and rust-web-src; {problem}"
                    )
                })?;
        }
        build.args(["-Z", "build-std=std,panic_abort"]).env("RUSTC", WEB).env("RUSTC_BOOTSTRAP", "1");
        build.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker()?);
    }
    run(&mut build)?;
    Ok(target.join(TARGET).join("debug").join(format!("{}.wasm", PACKAGE.replace('-', "_"))))
}

/// The linker that came with the toolchain that runs us, or Debian's.
fn linker() -> Outcome<PathBuf> {
    let output =
        Command::new("rustc").args(["--print", "sysroot"]).output().map_err(|error| format!("rustc: {error}"))?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(output.stdout.trim_ascii()).into_owned());
    let host = sysroot.join("lib/rustlib");
    let folders = fs::read_dir(&host).map_err(|error| format!("{}: {error}", host.display()))?;
    let mut own = folders.filter_map(Result::ok).map(|folder| folder.path().join("bin/rust-lld"));
    own.find(|path| path.is_file())
        .or_else(|| is_there("wasm-ld").then(|| "wasm-ld".into()))
        .ok_or_else(|| "WebAssembly needs rust-lld or wasm-ld (on Debian: apt-get install lld)".to_string())
}

/// Node, installed if need be.
fn node() -> Outcome<&'static str> {
    if !is_there("node") {
        println!("xtask: WebAssembly is run in Node; trying to install it");
        let installed = apt(&["update"]).and_then(|()| apt(&["install", "-y", "--no-install-recommends", "nodejs"]));
        installed
            .map_err(|problem| format!("WebAssembly is run in Node (on Debian: apt-get install nodejs); {problem}"))?;
    }
    Ok("node")
}

/// Name and file of every model's sample recipe, such as a module without files can run it: an elevation model that a layer is
/// read from is the ground so far instead.
fn recipes(target: &Path) -> Outcome<Vec<(String, PathBuf)>> {
    let folder = target.join("recipes");
    let problem = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    fs::create_dir_all(&folder).map_err(problem(&folder))?;
    let mut recipes = Vec::new();
    for model in thalweg::models::all() {
        let name = model.about().name;
        let path = root().join(format!("recipes/models/{name}.toml"));
        let text = fs::read_to_string(&path).map_err(problem(&path))?;
        let path = folder.join(format!("{name}.toml"));
        fs::write(&path, without_files(&text)).map_err(problem(&path))?;
        recipes.push((name.to_string(), path));
    }
    Ok(recipes)
}

/// A recipe whose layers come from files, from the ground instead.
fn without_files(text: &str) -> String {
    let given = |line: &str| {
        let (layer, _) = line.strip_prefix("layers = { ")?.split_once(" = \"")?;
        (!layer.contains('{')).then(|| layer.to_string())
    };
    let line = |line: &str| match given(line) {
        Some(layer) => format!("layers = {{ {layer} = {{ layer = \"ground\" }} }}\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_without_files_are_recipes() {
        let target = std::env::temp_dir().join(format!("thalweg-wasm-{}", std::process::id()));
        for (name, path) in recipes(&target).unwrap() {
            let answer = thalweg_fingerprints::world(&fs::read_to_string(path).unwrap(), 32);
            assert!(answer.contains("ground "), "{name}: {answer}");
        }
        fs::remove_dir_all(target).unwrap();
    }
}
