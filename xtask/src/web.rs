//! `cargo xtask web`: builds the pages into `dist/`, a folder of static files that any server can serve from any path.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::book;
use crate::site;
use crate::wasm::{Threads, build_module, compressed_bytes, write_bindings};
use xtask::files::{add_path, copy_recursively, create_folder, list_files, read_text, write_file};
use xtask::shell::{Outcome, prepare_program, programs_folder, repository_root, run_command};

/// A package whose module is loaded by pages.
struct WebPackage {
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
const STUDIO: WebPackage = WebPackage {
    package: "thalweg-studio-web",
    name: "thalweg_studio",
    folder: "",
    beside: Some("crates/thalweg-studio-web/page"),
    threads: Threads::One,
};
/// The module that the studio's worker runs if the page is cross-origin isolated.
const STUDIO_THREADS: WebPackage = WebPackage { folder: "threads", beside: None, threads: Threads::Many, ..STUDIO };
/// The library for pages.
const LIBRARY: WebPackage = WebPackage {
    package: "thalweg-web",
    name: "thalweg",
    folder: "npm",
    beside: Some("crates/thalweg-web/npm"),
    threads: Threads::One,
};
/// The library with threads.
const THREADS: WebPackage = WebPackage { folder: "npm/threads", beside: None, threads: Threads::Many, ..LIBRARY };

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

/// Rebuilds `dist/` from freshly generated types and pages, and prints the sizes of its modules.
///
/// `wasm-opt -O3` was tried on the library: it took 80 s of one core for 6 % fewer bytes, and 4 % more after
/// compression.
pub fn build_dist() -> Outcome {
    book::write_ignored_files()?;
    let dist = repository_root().join("dist");
    // Files of an earlier build would otherwise be listed for offline use.
    remove_folder(&dist)?;
    for face in [&STUDIO, &LIBRARY] {
        face.write_files(&dist, "web")?;
    }
    copy_examples(&dist)?;
    write_service_worker(&dist)?;
    // Added after the offline list: a browser should not have to store the modules that most pages cannot use, or the
    // book's pictures, after a single visit.
    for face in [&STUDIO_THREADS, &THREADS] {
        face.write_files(&dist, "web")?;
    }
    site::write_book(&dist.join("book"))?;
    for face in [&STUDIO, &STUDIO_THREADS, &LIBRARY, &THREADS] {
        for name in [format!("{}_bg.wasm", face.name), format!("{}.js", face.name)] {
            let file = dist.join(face.folder).join(name);
            let bytes = fs::metadata(&file).map_err(add_path(&file))?.len();
            println!("{}: {bytes} bytes, {} by brotli", file.display(), compressed_bytes(&file)?);
        }
    }
    Ok(())
}

impl WebPackage {
    /// Writes its files into `dist`, with the module built in a cargo profile.
    fn write_files(&self, dist: &Path, profile: &str) -> Outcome {
        let folder = dist.join(self.folder);
        self.beside.map_or(Ok(()), |beside| copy_recursively(&repository_root().join(beside), &folder))?;
        create_folder(&folder)?;
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            // Both licences require that their text accompanies every copy.
            copy_recursively(&repository_root().join(licence), &folder.join(licence))?;
        }
        write_bindings(&build_module(self.package, profile, self.threads)?, &folder, self.name)
    }
}

/// Copies the examples and the npm files that they need.
fn copy_examples(dist: &Path) -> Outcome {
    install_packages()?;
    copy_recursively(&repository_root().join(EXAMPLES), &dist.join("examples"))?;
    for (package, file, example) in SHOWN_WITH {
        let from = repository_root().join(PLACE).join("node_modules").join(package).join(file);
        let to = dist.join("examples").join(example).join(from.file_name().unwrap_or_default());
        copy_recursively(&from, &to)?;
    }
    Ok(())
}

/// Installs the npm packages.
fn install_packages() -> Outcome {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    run_command(
        prepare_program(npm).args(["install", "--no-audit", "--no-fund", "--silent", "--prefix", PLACE]).args(PACKAGES),
    )
}

/// Runs the tests of the npm package in Node, without a browser. Its module is built in a quick profile, whose results
/// are bit-identical; its types are generated.
pub fn test_package(python: &Path, node: &mut Command) -> Outcome {
    book::write_ignored_files()?;
    let dist = repository_root().join("target/web-test");
    remove_folder(&dist)?;
    LIBRARY.write_files(&dist, "web-quick")?;
    install_packages()?;
    run_node_tests(&["bits", "files", "input", "types"], &dist, python, node)
}

/// Runs the tests of all pages in Chromium, in the form in which they are published.
pub fn test_pages(python: &Path, node: &mut Command) -> Outcome {
    build_dist()?;
    let dist = repository_root().join("dist");
    run_node_tests(&["pages"], &dist, python, node)?;
    // Two processes, because a browser that draws a page uses one core, and the tests wait for it.
    run_command(
        prepare_program(python)
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal", "tests/web"])
            .env("THALWEG", command_path()?)
            .env("THALWEG_STEADY", STEADY)
            .env("DIST", dist),
    )
}

/// Runs tests of the npm package in `dist` with Node's own test runner.
fn run_node_tests(names: &[&str], dist: &Path, python: &Path, node: &mut Command) -> Outcome {
    let files = names.iter().map(|name| repository_root().join(format!("tests/web/npm/{name}.test.mjs")));
    run_command(
        node.arg("--test")
            .args(files)
            .env("THALWEG", command_path()?)
            .env("THALWEG_NPM", dist.join("npm"))
            .env("THALWEG_DIST", dist)
            .env("PYTHON", python),
    )
}

/// Returns the path of the command, which the tests in Rust have built.
fn command_path() -> Outcome<PathBuf> {
    Ok(programs_folder()?.join(format!("thalweg{}", std::env::consts::EXE_SUFFIX)))
}

fn remove_folder(folder: &Path) -> Outcome {
    if folder.exists() { fs::remove_dir_all(folder).map_err(add_path(folder)) } else { Ok(()) }
}

/// Writes the service worker with the names and content hashes of all files of `dist/`, so that the files of another
/// build are fetched again.
fn write_service_worker(dist: &Path) -> Outcome {
    let [from, to] = [repository_root().join(OFFLINE.0), dist.join(OFFLINE.1)];
    let text = read_text(&from)?;
    let mut files = Vec::new();
    for file in list_files(dist)? {
        let bytes = fs::read(dist.join(&file)).map_err(add_path(&file))?;
        let sum = <sha2::Sha256 as sha2::Digest>::digest(&bytes);
        // Eight bytes of the hash suffice to notice a change; the list is loaded with every visit.
        let sum: String = sum[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        // Addresses have slashes, also if the paths of this system have backslashes.
        files.push((file.to_string_lossy().replace('\\', "/"), sum));
    }
    let files = serde_json::to_string(&files).unwrap_or_default();
    write_file(&to, text.replace(OFFLINE.2, &files))
}
