//! `cargo xtask web`: builds the pages into `dist/`, a folder of static files that any server can serve from any path.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::site;
use crate::wasm::{Threads, glue, module, on_the_wire};
use xtask::files::{copy, create_folder, list_files, problem, read, write};
use xtask::shell::{Outcome, built, program, root, run};

/// A package whose module is loaded by pages.
struct Face {
    package: &'static str,
    /// The base name of its files.
    name: &'static str,
    /// Its folder in `dist/`.
    folder: &'static str,
    /// The path, from the repository's root, of the files that belong next to the module, if there are any.
    beside: Option<&'static str>,
    threads: Threads,
}

/// The studio as a page.
const STUDIO: Face = Face {
    package: "thalweg-studio-web",
    name: "thalweg_studio",
    folder: "",
    beside: Some("crates/thalweg-studio-web/page"),
    threads: Threads::One,
};
/// The module that the studio's worker runs if the page is cross-origin isolated.
const STUDIO_THREADS: Face = Face { folder: "threads", beside: None, threads: Threads::Many, ..STUDIO };
/// The library for pages.
const LIBRARY: Face = Face {
    package: "thalweg-web",
    name: "thalweg",
    folder: "npm",
    beside: Some("crates/thalweg-web/npm"),
    threads: Threads::One,
};
/// The library with threads.
const THREADS: Face = Face { folder: "npm/threads", beside: None, threads: Threads::Many, ..LIBRARY };

/// The service worker that stores pages for offline use: its source, its file, and the placeholder for the list of
/// files.
const OFFLINE: (&str, &str, &str) = ("xtask/web/sw.js", "sw.js", "[\"FILES\"]");

/// The folder of the example pages, and the npm files that they need: package, file, example.
const EXAMPLES: &str = "xtask/web/examples";
const SHOWN_WITH: [(&str, &str, &str); 6] = [
    ("three", "build/three.module.min.js", "three"),
    ("three", "build/three.core.min.js", "three"),
    ("maplibre-gl", "dist/maplibre-gl-csp.js", "maplibre"),
    ("maplibre-gl", "dist/maplibre-gl-csp-worker.js", "maplibre"),
    ("maplibre-gl", "dist/maplibre-gl.css", "maplibre"),
    ("maplibre-gl", "dist/LICENSE.txt", "maplibre"),
];

/// The npm packages with their versions, and the folder into which they are installed. three (MIT) and MapLibre
/// (BSD-3-Clause, whose licence is placed next to it) are copied to their examples; the TypeScript compiler
/// (Apache-2.0) checks the types.
const PACKAGES: [&str; 3] = ["three@0.180.0", "maplibre-gl@5.24.1", "typescript@5.9.3"];
const PLACE: &str = "target/npm-web";

/// How long the memory of a page is watched, in seconds.
const STEADY: &str = "600";

/// Rebuilds `dist/`, and prints the sizes of its modules.
///
/// `wasm-opt -O3` was tried on the library: it took 80 s of one core for 6 % fewer bytes, and 4 % more after
/// compression.
pub fn dist() -> Outcome {
    let dist = root().join("dist");
    clear(&dist)?;
    for face in [&STUDIO, &LIBRARY] {
        face.lay(&dist, "web")?;
    }
    examples(&dist)?;
    offline(&dist)?;
    // Added after the offline list: a browser should not have to store the modules that most pages cannot use, or the
    // book's pictures, after a single visit.
    for face in [&STUDIO_THREADS, &THREADS] {
        face.lay(&dist, "web")?;
    }
    site::write(&dist.join("book"))?;
    for face in [&STUDIO, &STUDIO_THREADS, &LIBRARY, &THREADS] {
        for name in [format!("{}_bg.wasm", face.name), format!("{}.js", face.name)] {
            let file = dist.join(face.folder).join(name);
            let bytes = fs::metadata(&file).map_err(problem(&file))?.len();
            println!("{}: {bytes} bytes, {} by brotli", file.display(), on_the_wire(&file)?);
        }
    }
    Ok(())
}

impl Face {
    /// Writes its files into `dist`, with the module built in a cargo profile.
    fn lay(&self, dist: &Path, profile: &str) -> Outcome {
        let folder = dist.join(self.folder);
        self.beside.map_or(Ok(()), |beside| copy(&root().join(beside), &folder))?;
        create_folder(&folder)?;
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            copy(&root().join(licence), &folder.join(licence))?;
        }
        glue(&module(self.package, profile, self.threads)?, &folder, self.name)
    }
}

/// Copies the examples and the npm files that they need.
fn examples(dist: &Path) -> Outcome {
    packages()?;
    copy(&root().join(EXAMPLES), &dist.join("examples"))?;
    for (package, file, example) in SHOWN_WITH {
        let from = root().join(PLACE).join("node_modules").join(package).join(file);
        let to = dist.join("examples").join(example).join(from.file_name().unwrap_or_default());
        copy(&from, &to)?;
    }
    Ok(())
}

/// Installs the npm packages.
fn packages() -> Outcome {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    run(program(npm).args(["install", "--no-audit", "--no-fund", "--silent", "--prefix", PLACE]).args(PACKAGES))
}

/// Runs the tests of the npm package in Node, without a browser. Its module is built in a quick profile, whose results
/// are bit-identical.
pub fn test_package(python: &Path, node: &mut Command) -> Outcome {
    let dist = root().join("target/web-test");
    clear(&dist)?;
    LIBRARY.lay(&dist, "web-quick")?;
    packages()?;
    tests(&["bits", "files", "input", "types"], &dist, python, node)
}

/// Runs the tests of all pages in Chromium, in the form in which they are published.
pub fn test_pages(python: &Path, node: &mut Command) -> Outcome {
    dist()?;
    let dist = root().join("dist");
    tests(&["pages"], &dist, python, node)?;
    run(program(python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/web"])
        .env("THALWEG", command()?)
        .env("THALWEG_STEADY", STEADY)
        .env("DIST", dist))
}

/// Runs tests of the npm package in `dist` with Node's own test runner.
fn tests(names: &[&str], dist: &Path, python: &Path, node: &mut Command) -> Outcome {
    let files = names.iter().map(|name| root().join(format!("tests/web/npm/{name}.test.mjs")));
    run(node
        .arg("--test")
        .args(files)
        .env("THALWEG", command()?)
        .env("THALWEG_NPM", dist.join("npm"))
        .env("THALWEG_DIST", dist)
        .env("PYTHON", python))
}

/// Returns the path of the command, which the tests in Rust have built.
fn command() -> Outcome<PathBuf> {
    Ok(built()?.join(format!("thalweg{}", std::env::consts::EXE_SUFFIX)))
}

fn clear(folder: &Path) -> Outcome {
    if folder.exists() { fs::remove_dir_all(folder).map_err(problem(folder)) } else { Ok(()) }
}

/// Writes the service worker with the names and content hashes of all files of `dist/`, so that the files of another
/// build are fetched again.
fn offline(dist: &Path) -> Outcome {
    let [from, to] = [root().join(OFFLINE.0), dist.join(OFFLINE.1)];
    let text = read(&from)?;
    let mut files = Vec::new();
    for file in list_files(dist)? {
        let bytes = fs::read(dist.join(&file)).map_err(problem(&file))?;
        let sum = <sha2::Sha256 as sha2::Digest>::digest(&bytes);
        let sum: String = sum[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        files.push((file.to_string_lossy().replace('\\', "/"), sum));
    }
    let files = serde_json::to_string(&files).unwrap_or_default();
    write(&to, text.replace(OFFLINE.2, &files))
}
