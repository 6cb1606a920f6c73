//! `cargo xtask web`: the pages, as a folder of static files that any server serves from any path, `dist/`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{Outcome, built, program, root, run};
use crate::wasm::{glue, module, on_the_wire, optimise};

/// A package whose module pages load.
struct Face {
    package: &'static str,
    /// What its files are called.
    name: &'static str,
    /// Its folder in `dist/`.
    folder: &'static str,
    /// What lies beside the module, from the root on.
    beside: &'static str,
}

const FACES: &[Face] = &[
    Face { package: "thalweg-web", name: "thalweg", folder: "npm", beside: "crates/thalweg-web/npm" },
    Face {
        package: "thalweg-studio-web",
        name: "thalweg_studio",
        folder: "",
        beside: "crates/thalweg-studio-web/page",
    },
];

/// The worker that keeps pages for when there is no net, with the place for their names.
const OFFLINE: (&str, &str, &str) = ("xtask/web/sw.js", "sw.js", "[\"FILES\"]");

/// Makes `dist/` anew, and says what its modules weigh.
pub fn dist() -> Outcome {
    let dist = root().join("dist");
    make(&dist, "web")?;
    for face in FACES {
        let files = [format!("{}_bg.wasm", face.name), format!("{}.js", face.name)]
            .map(|name| dist.join(face.folder).join(name));
        for file in files {
            let bytes = fs::metadata(&file).map_err(problem(&file))?.len();
            println!("{}: {bytes} bytes, {} by brotli", file.display(), on_the_wire(&file)?);
        }
    }
    Ok(())
}

/// Tests the studio's page in Chromium, from a folder of its own that is built quickly.
pub fn test(python: &Path) -> Outcome {
    let programs = built()?;
    let dist = programs.with_file_name("web-test");
    make(&dist, "web-test")?;
    let command = programs.join(format!("thalweg{}", std::env::consts::EXE_SUFFIX));
    run(program(python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/web"])
        .env("THALWEG", command)
        .env("DIST", dist))
}

/// Fills a folder anew with the pages; their modules are built by a profile of cargo's, and made smaller by that of a release.
fn make(dist: &Path, profile: &str) -> Outcome {
    if dist.exists() {
        fs::remove_dir_all(dist).map_err(problem(dist))?;
    }
    for face in FACES {
        let folder = dist.join(face.folder);
        copy(&root().join(face.beside), &folder)?;
        glue(&module(face.package, profile)?, &folder, face.name)?;
        if profile == "web" {
            optimise(&folder.join(format!("{}_bg.wasm", face.name)))?;
        }
    }
    offline(dist)
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to).map_err(problem(to))?;
    for entry in fs::read_dir(from).map_err(problem(from))?.filter_map(Result::ok) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(problem(&path))?;
        }
    }
    Ok(())
}

/// Writes the worker that keeps all files of `dist/`, known by their names and contents: another build is fetched anew.
fn offline(dist: &Path) -> Outcome {
    let [from, to] = [root().join(OFFLINE.0), dist.join(OFFLINE.1)];
    let text = fs::read_to_string(&from).map_err(problem(&from))?;
    let mut files = Vec::new();
    list(dist, dist, &mut files)?;
    files.sort();
    let files = serde_json::to_string(&files).unwrap_or_default();
    fs::write(&to, text.replace(OFFLINE.2, &files)).map_err(problem(&to))
}

/// Names of all files in a folder, from `top` on, and what tells their contents.
fn list(top: &Path, folder: &Path, files: &mut Vec<(String, String)>) -> Outcome {
    for path in fs::read_dir(folder).map_err(problem(folder))?.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() {
            list(top, &path, files)?;
            continue;
        }
        let name = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let bytes = fs::read(&path).map_err(problem(&path))?;
        let sum = <sha2::Sha256 as sha2::Digest>::digest(&bytes);
        files.push((name, sum[..8].iter().map(|byte| format!("{byte:02x}")).collect()));
    }
    Ok(())
}

fn problem(path: &Path) -> impl Fn(std::io::Error) -> String + use<> {
    let path: PathBuf = path.into();
    move |error| format!("{}: {error}", path.display())
}
