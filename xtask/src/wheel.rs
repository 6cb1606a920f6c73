//! `cargo xtask wheel`: builds the Python package as a wheel, and runs its tests in an environment with NumPy alone
//! and in one with all packages that it can use.

use std::fs;
use std::path::{Path, PathBuf};

use crate::python::{python, python_of};
use xtask::shell::{Outcome, built, program, root, run};

/// Builds the wheel in a cargo profile, and returns its path.
pub fn build(profile: &str) -> Outcome<PathBuf> {
    let wheels = root().join("target/wheels");
    let python = python()?;
    // Remove old wheels, so that the only one left afterwards is the new one.
    if let Ok(old) = fs::read_dir(&wheels) {
        let old = old.filter_map(Result::ok).map(|entry| entry.path());
        for path in old.filter(|path| path.extension().is_some_and(|ending| ending == "whl")) {
            fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    run(program(&python)
        .args(["-m", "maturin", "build", "--profile", profile, "--interpreter"])
        .arg(&python)
        .args(["--out", "target/wheels"]))?;
    let made = fs::read_dir(&wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
    let mut made = made.filter_map(Result::ok).map(|entry| entry.path());
    let wheel = made.find(|path| path.extension().is_some_and(|ending| ending == "whl"));
    wheel.ok_or_else(|| format!("{}: no wheel was made", wheels.display()))
}

/// Installs the wheel in place of an installed one; forced, because the version is the same from build to build.
pub fn install(python: &Path, wheel: &Path) -> Outcome {
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"];
    run(program(python).args(words).arg(wheel))
}

/// Builds the wheel in the quickest profile and runs its tests.
pub fn test(python: &Path) -> Outcome {
    let wheel = build("dev")?;
    let bare = root().join("target/venv-numpy");
    if !python_of(&bare).exists() {
        run(program(python).args(["-m", "venv"]).arg(&bare))?;
    }
    let bare = python_of(&bare);
    run(program(&bare).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "numpy", "pytest"]))?;
    for python in [bare.as_path(), python] {
        install(python, &wheel)?;
        run(program(python)
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/python"])
            .env("THALWEG", built()?.join(format!("thalweg{}", std::env::consts::EXE_SUFFIX))))?;
    }
    Ok(())
}
