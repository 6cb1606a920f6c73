//! `cargo xtask test`: runs all tests with a single command, even on a fresh machine; with `--long` also in their long
//! form.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::long::LongRun;
use crate::python::ensure_python;
use crate::{deny, fuzz, peers, release, wasm, web, wheel};
use xtask::shell::{
    Outcome, STUDIO_FEATURE, cargo_command, format_duration, is_installed, prepare_program, programs_folder,
    repository_root, run_apt, run_command,
};

/// The Khronos validator of glTF files: the npm package, and the folder into which it is installed, from the
/// repository's root.
const VALIDATOR: [&str; 2] = ["gltf-validator@2.0.0-dev.3.10", "target/npm"];

/// Runs all tests. Required tools are checked first, so that a missing one is not noticed only after half an hour.
/// Every part runs even if others fail; the failures are listed at the end.
pub fn run_tests() -> Outcome {
    let python = python_with_peers()?;
    ensure_validator()?;
    ensure_display()?;
    // WebAssembly is optional here, so a missing toolchain is reported at the end instead of ending the tests.
    let web = wasm::ensure_tools();
    let mut parts = vec![
        // The tests in Rust come first, because they build the command that the other parts use.
        run_timed("the tests in Rust", || test_rust(&mut cargo_command())),
        run_timed("the tests with other programs", || test_interop(&mut prepare_program(&python))),
        run_timed("the Python package", || wheel::test_wheel(&python)),
    ];
    match web {
        Ok(()) => parts.push(run_timed("the npm package", || {
            web::test_package(&python, &mut prepare_program(wasm::ensure_node()?))
        })),
        Err(problem) => println!("xtask: WebAssembly is not tested here: {problem}"),
    }
    all_of(list_failures(parts))
}

/// Runs all tests, in their long form where they have one, and what takes too long for every change, such as the tests
/// with other programs, dependencies, the fuzzer and a release. Every part runs even if others fail; at the end the
/// tests that ran in their long form are listed with their counts, and the failures. A run that was interrupted
/// continues; see [`LongRun`].
pub fn run_long_tests() -> Outcome {
    let python = python_with_peers()?;
    ensure_validator()?;
    ensure_display()?;
    ensure_browsers()?;
    fuzz::ensure_compiler()?;
    let mut run = LongRun::begin_or_continue()?;
    run.run_part("the tests in Rust", |run| test_rust(run.enable_long_tests(&mut cargo_command())))?;
    run.run_part("the tests with other programs", |run| {
        test_interop(run.enable_long_tests(&mut prepare_program(&python)))
    })?;
    run.run_part("files in the programs that they are for", |_| test_opened_files(&python))?;
    run.run_part("the Python package", |_| wheel::test_wheel(&python))?;
    run.run_part("the npm package", |run| {
        web::test_package(&python, run.enable_long_tests(&mut prepare_program(wasm::ensure_node()?)))
    })?;
    run.run_part("pages in browsers", |_| web::test_pages(&python, &mut prepare_program(wasm::ensure_node()?)))?;
    run.run_part("dependencies", |_| deny::check_dependencies())?;
    run.run_part("readers, by the fuzzer", |_| fuzz::run_fuzzer(&["--minutes", "14"]))?;
    run.run_part("a release", |_| release::make_release())?;
    all_of(run.finish()?)
}

/// Runs a part of the tests and prints how long it took.
fn run_timed(part: &'static str, run: impl FnOnce() -> Outcome) -> (&'static str, Outcome) {
    let start = Instant::now();
    let outcome = run();
    println!("xtask: {part} took {}", format_duration(start.elapsed().as_secs()));
    (part, outcome)
}

/// Returns the parts that failed, each with its reason.
fn list_failures<'a>(parts: impl IntoIterator<Item = (&'a str, Outcome)>) -> Vec<String> {
    parts.into_iter().filter_map(|(part, done)| Some(format!("{part}: {}", done.err()?))).collect()
}

fn all_of(problems: Vec<String>) -> Outcome {
    if problems.is_empty() { Ok(()) } else { Err(format!("failed:\n{}", problems.join("\n"))) }
}

fn test_rust(cargo: &mut Command) -> Outcome {
    run_command(cargo.args(["test", "--workspace", "--features", STUDIO_FEATURE, "--no-fail-fast"]))
}

fn test_interop(python: &mut Command) -> Outcome {
    // The tests of the command have built the command and its examples in the same folder as this program.
    let programs = programs_folder()?;
    let command = programs.join(format!("thalweg{}", std::env::consts::EXE_SUFFIX));
    // Two processes: a command uses every core, but the checks of its results in NumPy run on one. More processes
    // would hold more worlds in memory at the same time.
    run_command(
        python
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal", "tests/interop"])
            .env("THALWEG", command)
            .env("INTEROP", programs.join(format!("examples/interop{}", std::env::consts::EXE_SUFFIX)))
            .env("STORES", programs.join(format!("examples/stores{}", std::env::consts::EXE_SUFFIX))),
    )
}

/// Runs the tests of the npm package, which need the command that the tests in Rust have built.
pub fn npm_package() -> Outcome {
    web::test_package(&ensure_python()?, &mut prepare_program(wasm::ensure_node()?))
}

/// Runs the tests that open files in Blender, Godot and QGIS, on systems that have packages of these programs.
fn test_opened_files(python: &Path) -> Outcome {
    let qgis = prepare_program("/usr/bin/python3").args(["-c", "import numpy, qgis.core"]).output();
    if !(is_installed("blender") && is_installed("godot3-server") && qgis.is_ok_and(|output| output.status.success())) {
        println!("xtask: files are opened in Blender, Godot and QGIS; trying to install them");
        let installed = run_apt(&["update"])
            .and_then(|()| run_apt(&[&["install", "-y", "--no-install-recommends"], PROGRAMS].concat()));
        installed.map_err(|problem| {
            let words = PROGRAMS.join(" ");
            format!("the tests of opened files need these programs (on Debian: apt-get install {words}); {problem}")
        })?;
    }
    let command = programs_folder()?.join(format!("thalweg{}", std::env::consts::EXE_SUFFIX));
    run_command(
        prepare_program(python)
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/opened"])
            .env("THALWEG", command),
    )
}

/// The Debian packages of these programs, about 400 MB.
const PROGRAMS: &[&str] = &["blender", "godot3-server", "python3-qgis", "python3-numpy"];

/// Runs the golden tests with `THALWEG_BLESS`, which makes them record the current results.
pub fn bless_goldens() -> Outcome {
    run_command(cargo_command().args(["test", "--workspace", "golden"]).env("THALWEG_BLESS", "1"))
}

/// Makes sure that the validator of glTF files is installed, and Node to run it.
fn ensure_validator() -> Outcome {
    let [package, folder] = VALIDATOR;
    let name = package.split('@').next().unwrap_or(package);
    let lacking: Vec<&str> = ["node", "npm"].into_iter().filter(|name| !is_installed(name)).collect();
    if !lacking.is_empty() {
        println!("xtask: meshes are checked by Khronos' validator, which runs in Node; trying to install Node and npm");
        let installed =
            run_apt(&["update"]).and_then(|()| run_apt(&["install", "-y", "--no-install-recommends", "nodejs", "npm"]));
        installed.map_err(|problem| {
            format!("the tests of meshes need Node and npm (on Debian: apt-get install nodejs npm); {problem}")
        })?;
    }
    if repository_root().join(folder).join("node_modules").join(name).is_dir() {
        return Ok(());
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    run_command(prepare_program(npm).args(["install", "--no-audit", "--no-fund", "--prefix", folder, package]))
}

/// Returns the Python of `.venv`, with the packages whose results the tests compare with ours.
fn python_with_peers() -> Outcome<PathBuf> {
    let python = ensure_python()?;
    let lacking = peers::install_peers(&python)?;
    if lacking.is_empty() { Ok(python) } else { Err(format!("cannot install {}", lacking.join(", "))) }
}

/// Makes sure that the requirements of the studio's tests on Linux are installed: a driver that needs no GPU, and a
/// display that needs no screen. On systems with a Vulkan driver that lack only one of the programs, the same packages
/// are installed.
fn ensure_display() -> Outcome {
    if !cfg!(target_os = "linux") {
        println!(
            "xtask: the scripted session in a window is run on Linux alone; here the panels are tested without one"
        );
        return Ok(());
    }
    // The loader of Vulkan finds drivers by files in these folders.
    let drivers = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"]
        .iter()
        .any(|folder| fs::read_dir(folder).is_ok_and(|mut files| files.any(|file| file.is_ok())));
    let lacking: Vec<&str> = ["Xvfb", "xdotool"].into_iter().filter(|name| !is_installed(name)).collect();
    if drivers && lacking.is_empty() {
        return Ok(());
    }
    println!("xtask: the studio's tests need a Vulkan driver, Xvfb and xdotool; trying to install them");
    let installed = run_apt(&["update"]).and_then(|()| run_apt(&[&["install", "-y"], SCREEN].concat()));
    installed.map_err(|problem| {
        format!("the studio's tests need (on Debian: apt-get install {}); {problem}", SCREEN.join(" "))
    })
}

/// Makes sure that the browsers for the pages' tests are installed: over 300 MB, so they belong to the long run.
fn ensure_browsers() -> Outcome {
    let lacking: Vec<&str> = BROWSERS.into_iter().filter(|name| !is_installed(name)).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    println!("xtask: pages are tested in Chromium and Firefox; trying to install {}", lacking.join(", "));
    let installed = run_apt(&["update"])
        .and_then(|()| run_apt(&[&["install", "-y", "--no-install-recommends"], &BROWSERS[..]].concat()));
    installed.map_err(|problem| {
        let words = BROWSERS.join(" ");
        format!("pages are tested in Chromium and Firefox (on Debian: apt-get install {words}); {problem}")
    })
}

/// The Debian packages of the browsers, which have the names of the programs.
const BROWSERS: [&str; 2] = ["chromium", "firefox-esr"];

/// The Debian packages for a window without a screen.
const SCREEN: &[&str] =
    &["mesa-vulkan-drivers", "libvulkan1", "xvfb", "xdotool", "libxkbcommon-x11-0", "libgl1", "libegl1"];
