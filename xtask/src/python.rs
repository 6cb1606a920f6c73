//! The Python environment for tests, wheels and measurements.

use std::fs;
use std::path::{Path, PathBuf};

use xtask::shell::{Outcome, prepare_program, repository_root, run_apt, run_command};

/// The files with the packages that are installed into it.
const REQUIREMENTS: [&str; 3] =
    ["tests/interop/requirements.txt", "tests/python/requirements.txt", "tests/web/requirements.txt"];

/// Returns the Python of `.venv`, which is created and filled if necessary.
pub fn ensure_python() -> Outcome<PathBuf> {
    let venv = repository_root().join(".venv");
    let python = python_path(&venv);
    let read = |name: &str| fs::read_to_string(repository_root().join(name)).map_err(|e| format!("{name}: {e}"));
    let wanted = REQUIREMENTS.map(read).into_iter().collect::<Outcome<Vec<_>>>()?.concat();
    // The environment keeps a copy of the requirements that it was made from; if they are the same, pip need not run.
    let stamp = venv.join("requirements.txt");
    if fs::read_to_string(&stamp).is_ok_and(|had| had == wanted) && is_supported(&python) {
        return Ok(python);
    }
    if !is_supported(&python) {
        make_venv()?;
    }
    run_command(
        prepare_program(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(REQUIREMENTS.iter().flat_map(|name| ["-r", name])),
    )?;
    fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(python)
}

/// Returns the Python of an environment.
pub fn python_path(venv: &Path) -> PathBuf {
    venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Creates `.venv` with the system's Python; on Debian and related systems, installs missing packages.
fn make_venv() -> Outcome {
    let attempt = || -> Outcome {
        let system =
            ["python3", "python"].into_iter().find(|name| is_supported(name)).ok_or("no Python 3.11 or newer")?;
        run_command(prepare_program(system).args(["-m", "venv", "--clear", ".venv"]))
    };
    let Err(problem) = attempt() else { return Ok(()) };
    println!("xtask: {problem}; trying to install python3-venv");
    let installed = run_apt(&["update"]).and_then(|()| run_apt(&["install", "-y", "python3", "python3-venv"]));
    installed.and_then(|()| attempt()).map_err(|second| {
        format!(
            "the tests against other programs need Python 3.11 or newer with `venv` and pip \
             (on Debian: apt-get install python3-venv); {problem}; {second}"
        )
    })
}

/// Returns true if this is a Python 3.11 or newer.
fn is_supported(python: impl AsRef<Path>) -> bool {
    let script = "import sys; sys.exit(sys.version_info < (3, 11))";
    prepare_program(python.as_ref()).args(["-c", script]).output().is_ok_and(|output| output.status.success())
}
