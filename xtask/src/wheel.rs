//! `cargo xtask wheel`: builds the Python package as a wheel, and runs its tests in an environment with NumPy alone
//! and in one with all packages that it can use.

use std::fs;
use std::path::{Path, PathBuf};

use crate::book;
use crate::python::{ensure_python, python_path};
use xtask::shell::{Outcome, prepare_program, programs_folder, repository_root, run_command};

/// Generates the types, builds the wheel in a cargo profile, and returns its path.
pub fn build_wheel(profile: &str) -> Outcome<PathBuf> {
    book::write_ignored_files()?;
    let wheels = repository_root().join("target/wheels");
    let python = ensure_python()?;
    // Remove old wheels, so that the only one left afterwards is the new one.
    if let Ok(old) = fs::read_dir(&wheels) {
        let old = old.filter_map(Result::ok).map(|entry| entry.path());
        for path in old.filter(|path| path.extension().is_some_and(|ending| ending == "whl")) {
            fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    run_command(
        prepare_program(&python)
            .args(["-m", "maturin", "build", "--profile", profile, "--interpreter"])
            .arg(&python)
            .args(["--out", "target/wheels"]),
    )?;
    let made = fs::read_dir(&wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
    let mut made = made.filter_map(Result::ok).map(|entry| entry.path());
    let wheel = made.find(|path| path.extension().is_some_and(|ending| ending == "whl"));
    wheel.ok_or_else(|| format!("{}: no wheel was made", wheels.display()))
}

/// Installs the wheel in place of an installed one; forced, because the version is the same from build to build.
pub fn install_wheel(python: &Path, wheel: &Path) -> Outcome {
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"];
    run_command(prepare_program(python).args(words).arg(wheel))
}

/// Builds the wheel in the quickest profile and runs its tests.
pub fn test_wheel(python: &Path) -> Outcome {
    let wheel = build_wheel("dev")?;
    // The package must work with NumPy alone, so its tests also run in an environment that has nothing else.
    let bare = repository_root().join("target/venv-numpy");
    if !python_path(&bare).exists() {
        run_command(prepare_program(python).args(["-m", "venv"]).arg(&bare))?;
    }
    let bare = python_path(&bare);
    run_command(prepare_program(&bare).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "numpy",
        "pytest",
    ]))?;
    for python in [bare.as_path(), python] {
        install_wheel(python, &wheel)?;
        run_command(
            prepare_program(python)
                .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/python"])
                .env("THALWEG", programs_folder()?.join(format!("thalweg{}", std::env::consts::EXE_SUFFIX))),
        )?;
    }
    Ok(())
}
