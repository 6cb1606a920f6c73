//! `cargo xtask test`: the one command that passes all tests, on a fresh machine too; with `--long` the long ones as well.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::long::List;
use crate::python::python;
use crate::{deny, fuzz, peers, release, wasm, web, wheel};
use xtask::shell::{Outcome, apt, built, cargo_command, is_there, program, root, run};

/// The Khronos validator of glTF files: what is installed, and where, from the repository's root.
const VALIDATOR: [&str; 2] = ["gltf-validator@2.0.0-dev.3.10", "target/npm"];

/// With the studio, which the command has only where it is asked for.
const STUDIO: &str = "thalweg-cli/studio";

/// All tests. What they need comes first: to find it missing after half an hour would be a pity. Everything runs whatever fails
/// before; what failed stands at the end.
pub fn test() -> Outcome {
    let python = python_with_peers()?;
    validator()?;
    screen()?;
    let web = wasm::ready();
    let mut parts = vec![
        timed("the tests in Rust", || rust(&mut cargo_command())),
        timed("the tests with other programs", || interop(&mut program(&python))),
        timed("the Python package", || wheel::test(&python)),
    ];
    match web {
        Ok(()) => parts.push(timed("the npm package", || web::test_package(&python, &mut program(wasm::node()?)))),
        Err(problem) => println!("xtask: WebAssembly is not tried here: {problem}"),
    }
    all_of(problems(parts))
}

/// All tests, those that have a long form in it, and what is too long for every change: other machines, dependencies. Everything
/// runs whatever fails before; at the end stand the tests that ran long, with their counts, and what failed.
pub fn long() -> Outcome {
    let python = python_with_peers()?;
    validator()?;
    screen()?;
    browsers()?;
    fuzz::ready()?;
    let list = List::begin()?;
    let parts = [
        timed("the tests in Rust", || rust(list.tell(&mut cargo_command()))),
        timed("the tests with other programs", || interop(list.tell(&mut program(&python)))),
        timed("files in the programs that they are for", || opened(&python)),
        timed("the Python package", || wheel::test(&python)),
        timed("the npm package", || web::test_package(&python, list.tell(&mut program(wasm::node()?)))),
        timed("pages in browsers", || web::test_pages(&python, &mut program(wasm::node()?))),
        timed("dependencies", deny::check),
        timed("readers, by the fuzzer", || fuzz::fuzz(&["--minutes", "14"])),
        timed("a release", release::release),
    ];
    let mut problems = problems(parts);
    problems.extend(list.end()?);
    all_of(problems)
}

/// Runs a part of the tests and prints how long it took.
fn timed(part: &'static str, run: impl FnOnce() -> Outcome) -> (&'static str, Outcome) {
    let start = Instant::now();
    let outcome = run();
    let seconds = start.elapsed().as_secs();
    println!("xtask: {part} took {} min {} s", seconds / 60, seconds % 60);
    (part, outcome)
}

/// The parts that failed, each with its reason.
fn problems<'a>(parts: impl IntoIterator<Item = (&'a str, Outcome)>) -> Vec<String> {
    parts.into_iter().filter_map(|(part, done)| Some(format!("{part}: {}", done.err()?))).collect()
}

fn all_of(problems: Vec<String>) -> Outcome {
    if problems.is_empty() { Ok(()) } else { Err(format!("failed:\n{}", problems.join("\n"))) }
}

fn rust(cargo: &mut Command) -> Outcome {
    run(cargo.args(["test", "--workspace", "--features", STUDIO, "--no-fail-fast"]))
}

fn interop(python: &mut Command) -> Outcome {
    // The tests of the command have built the command itself, and its examples, beside us.
    let programs = built()?;
    let command = programs.join(format!("thalweg{}", std::env::consts::EXE_SUFFIX));
    run(python
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/interop"])
        .env("THALWEG", command)
        .env("INTEROP", programs.join(format!("examples/interop{}", std::env::consts::EXE_SUFFIX)))
        .env("STORES", programs.join(format!("examples/stores{}", std::env::consts::EXE_SUFFIX))))
}

/// The tests of the npm package, which need the command as the tests in Rust have built it.
pub fn npm_package() -> Outcome {
    web::test_package(&python()?, &mut program(wasm::node()?))
}

/// Tests that open files in Blender, Godot and QGIS themselves, on systems whose packages bring these.
fn opened(python: &Path) -> Outcome {
    let qgis = program("/usr/bin/python3").args(["-c", "import qgis.core"]).output();
    if !(is_there("blender") && is_there("godot3-server") && qgis.is_ok_and(|output| output.status.success())) {
        println!("xtask: files are opened in Blender, Godot and QGIS; trying to install them");
        let installed =
            apt(&["update"]).and_then(|()| apt(&[&["install", "-y", "--no-install-recommends"], PROGRAMS].concat()));
        installed
            .map_err(|problem| format!("needed are (on Debian: apt-get install {}); {problem}", PROGRAMS.join(" ")))?;
    }
    let command = built()?.join(format!("thalweg{}", std::env::consts::EXE_SUFFIX));
    run(program(python).args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/opened"]).env("THALWEG", command))
}

/// Debian's packages of them, about 400 MB.
const PROGRAMS: &[&str] = &["blender", "godot3-server", "python3-qgis"];

/// The golden tests, which write what they see where they find `THALWEG_BLESS`.
pub fn bless() -> Outcome {
    run(cargo_command().args(["test", "--workspace", "golden"]).env("THALWEG_BLESS", "1"))
}

/// The validator of glTF files, with Node to run it in.
fn validator() -> Outcome {
    let [package, folder] = VALIDATOR;
    let name = package.split('@').next().unwrap_or(package);
    let lacking: Vec<&str> = ["node", "npm"].into_iter().filter(|name| !is_there(name)).collect();
    if !lacking.is_empty() {
        println!("xtask: meshes are checked by Khronos' validator, which runs in Node; trying to install Node and npm");
        let installed =
            apt(&["update"]).and_then(|()| apt(&["install", "-y", "--no-install-recommends", "nodejs", "npm"]));
        installed.map_err(|problem| {
            format!("the tests of meshes need Node and npm (on Debian: apt-get install nodejs npm); {problem}")
        })?;
    }
    if root().join(folder).join("node_modules").join(name).is_dir() {
        return Ok(());
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    run(program(npm).args(["install", "--no-audit", "--no-fund", "--prefix", folder, package]))
}

/// The Python of `.venv`, with the packages whose results tests compare with ours.
fn python_with_peers() -> Outcome<PathBuf> {
    let python = python()?;
    let lacking = peers::install(&python)?;
    if lacking.is_empty() { Ok(python) } else { Err(format!("not to be installed: {}", lacking.join(", "))) }
}

/// What the studio is tested with on Linux: a driver that needs no GPU, and a display that needs no screen. Where a
/// system has its own Vulkan driver and lacks only a program of these, the same packages bring it.
fn screen() -> Outcome {
    if !cfg!(target_os = "linux") {
        println!(
            "xtask: the scripted session in a window is run on Linux alone; here the panels are tested without one"
        );
        return Ok(());
    }
    let drivers = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"]
        .iter()
        .any(|folder| fs::read_dir(folder).is_ok_and(|mut files| files.any(|file| file.is_ok())));
    let lacking: Vec<&str> = ["Xvfb", "xdotool"].into_iter().filter(|name| !is_there(name)).collect();
    if drivers && lacking.is_empty() {
        return Ok(());
    }
    println!("xtask: the studio's tests need a Vulkan driver, Xvfb and xdotool; trying to install them");
    let installed = apt(&["update"]).and_then(|()| apt(&[&["install", "-y"], SCREEN].concat()));
    installed.map_err(|problem| {
        format!("the studio's tests need (on Debian: apt-get install {}); {problem}", SCREEN.join(" "))
    })
}

/// The browsers that show what is written for the web: over 300 MB, so they belong to the long run.
fn browsers() -> Outcome {
    let lacking: Vec<&str> = BROWSERS.into_iter().filter(|name| !is_there(name)).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    println!("xtask: pages are tested in Chromium and Firefox; trying to install {}", lacking.join(", "));
    let installed =
        apt(&["update"]).and_then(|()| apt(&[&["install", "-y", "--no-install-recommends"], &BROWSERS[..]].concat()));
    installed.map_err(|problem| {
        let words = BROWSERS.join(" ");
        format!("pages are tested in Chromium and Firefox (on Debian: apt-get install {words}); {problem}")
    })
}

/// Debian's packages of them, which are called as the programs are.
const BROWSERS: [&str; 2] = ["chromium", "firefox-esr"];

/// Debian's packages for a window without a screen.
const SCREEN: &[&str] =
    &["mesa-vulkan-drivers", "libvulkan1", "xvfb", "xdotool", "libxkbcommon-x11-0", "libgl1", "libegl1"];
