//! `cargo xtask bench --peers`: measures thalweg and other programs in turn, and prints tables for docs/benchmarks.md.
//!
//! `tests/peers/bench.py` does the measurement, in `.venv`; this module builds and installs what it needs. Our own
//! programs are built as for a release.

use std::fs;
use std::path::Path;

use crate::python::python;
use crate::wheel;
use xtask::shell::{Outcome, apt, cargo, is_there, program, root, run};

/// The requirements file with the other packages, one per line.
const PEERS: &str = "tests/peers/requirements.txt";

/// Runs the benchmark; `words` are arguments of the script, such as `--cells 512`.
pub fn bench(words: &[&str]) -> Outcome {
    let python = python()?;
    install(&python)?;
    gdaldem();
    wheel::install(&python, &wheel::build("dist")?)?;
    cargo(&["build", "--profile", "dist", "--package", "thalweg-cli"])?;
    let noise = "tests/peers/noise/Cargo.toml";
    cargo(&["build", "--release", "--locked", "--manifest-path", noise, "--target-dir", "target/peers"])?;
    let built = |path: &str| root().join(format!("target/{path}{}", std::env::consts::EXE_SUFFIX));
    run(program(&python)
        .arg("tests/peers/bench.py")
        .arg("--thalweg")
        .arg(built("dist/thalweg"))
        .arg("--noise")
        .arg(built("peers/release/thalweg-peers"))
        .args(words))
}

/// Installs other packages into `.venv` one by one; returns those that cannot be installed on this machine. The tables
/// mention them as missing.
pub fn install(python: &Path) -> Outcome<Vec<String>> {
    let wanted = fs::read_to_string(root().join(PEERS)).map_err(|error| format!("{PEERS}: {error}"))?;
    let stamp = root().join(".venv/peers.txt");
    if fs::read_to_string(&stamp).is_ok_and(|had| had == wanted) {
        return Ok(Vec::new());
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let mut lacking = Vec::new();
    for package in wanted.lines().filter_map(|line| line.split('#').next()).map(str::trim) {
        if !package.is_empty() && run(program(python).args(pip).arg(package)).is_err() {
            println!("xtask: not to be installed: {package}");
            lacking.push(package.to_string());
        }
    }
    if lacking.is_empty() {
        fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    }
    Ok(lacking)
}

/// Tries to install GDAL's hillshade, which is not part of a Python package. If it is not available, the tables say
/// so.
fn gdaldem() {
    if is_there("gdaldem") {
        return;
    }
    println!("xtask: shaded maps are compared with gdaldem's; trying to install it");
    let installed = apt(&["update"]).and_then(|()| apt(&["install", "-y", "--no-install-recommends", "gdal-bin"]));
    if let Err(problem) = installed {
        println!("xtask: no gdaldem (on Debian: apt-get install gdal-bin); {problem}");
    }
}
