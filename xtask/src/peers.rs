//! `cargo xtask bench --peers`: measures thalweg and other programs in turn, and prints tables for docs/benchmarks.md.
//!
//! `tests/peers/bench.py` does the measurement, in `.venv`; this module builds and installs what it needs. Our own
//! programs are built as for a release.

use std::fs;
use std::path::Path;

use crate::python::ensure_python;
use crate::wheel;
use xtask::shell::{Outcome, is_installed, prepare_program, repository_root, run_apt, run_cargo, run_command};

/// The requirements file with the other packages, one per line.
const PEERS: &str = "tests/peers/requirements.txt";

/// Runs the benchmark; `words` are arguments of the script, such as `--cells 512`.
pub fn run_benchmark(words: &[&str]) -> Outcome {
    let python = ensure_python()?;
    install_peers(&python)?;
    install_gdaldem();
    wheel::install_wheel(&python, &wheel::build_wheel("dist")?)?;
    run_cargo(&["build", "--profile", "dist", "--package", "thalweg-cli"])?;
    let noise = "tests/peers/noise/Cargo.toml";
    run_cargo(&["build", "--release", "--locked", "--manifest-path", noise, "--target-dir", "target/peers"])?;
    let built = |path: &str| repository_root().join(format!("target/{path}{}", std::env::consts::EXE_SUFFIX));
    run_command(
        prepare_program(&python)
            .arg("tests/peers/bench.py")
            .arg("--thalweg")
            .arg(built("dist/thalweg"))
            .arg("--noise")
            .arg(built("peers/release/thalweg-peers"))
            .args(words),
    )
}

/// Installs other packages into `.venv` one by one; returns those that cannot be installed on this machine. The tables
/// mention them as missing.
pub fn install_peers(python: &Path) -> Outcome<Vec<String>> {
    let wanted = fs::read_to_string(repository_root().join(PEERS)).map_err(|error| format!("{PEERS}: {error}"))?;
    let stamp = repository_root().join(".venv/peers.txt");
    if fs::read_to_string(&stamp).is_ok_and(|had| had == wanted) {
        return Ok(Vec::new());
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    // Each package is installed on its own, so that one without a build for this machine does not prevent the others.
    let mut lacking = Vec::new();
    for package in wanted.lines().filter_map(|line| line.split('#').next()).map(str::trim) {
        if !package.is_empty() && run_command(prepare_program(python).args(pip).arg(package)).is_err() {
            println!("xtask: {package} cannot be installed");
            lacking.push(package.to_string());
        }
    }
    // Without this file, the next run tries the missing packages again.
    if lacking.is_empty() {
        fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    }
    Ok(lacking)
}

/// Tries to install GDAL's hillshade, which is not part of a Python package. If it is not available, the tables say
/// so.
fn install_gdaldem() {
    if is_installed("gdaldem") {
        return;
    }
    println!("xtask: shaded maps are compared with gdaldem's; trying to install it");
    let installed =
        run_apt(&["update"]).and_then(|()| run_apt(&["install", "-y", "--no-install-recommends", "gdal-bin"]));
    if let Err(problem) = installed {
        println!("xtask: no gdaldem (on Debian: apt-get install gdal-bin); {problem}");
    }
}
