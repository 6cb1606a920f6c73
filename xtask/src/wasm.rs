//! Packages as WebAssembly for pages: [`build_module`] builds one, [`write_bindings`] adds the JavaScript that calls
//! it.
//!
//! The standard library for wasm32-unknown-unknown comes with rustup's toolchain if it has that target. Otherwise, and
//! always for [`Threads::Many`], it is built from source: rustup's own, or Debian's `rustc-web` with `rust-web-src`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::shell::{
    Outcome, STUDIO_FEATURE, cargo_command, is_installed, prepare_program, programs_folder, repository_root, run_apt,
    run_cargo, run_command,
};

const TARGET: &str = "wasm32-unknown-unknown";

/// 128-bit vectors, which all browsers have had since 2023. Results are the same, because arithmetic is neither fused
/// nor reordered.
const FEATURES: &str = "-Ctarget-feature=+simd128";

/// The paths of Debian's compiler for the web and of its library's source.
const WEB: &str = "/usr/bin/rustc";
const WEB_SOURCE: &str = "/usr/lib/rustlib/src/rust/library";

/// The number of threads that a module uses.
#[derive(Clone, Copy, PartialEq)]
pub enum Threads {
    One,
    /// As many workers as the page starts, sharing one memory; only isolated pages (COOP, COEP) can share memory.
    Many,
}

/// The flags of a module with shared memory: atomic operations, up to 4 GiB of memory, and thread-local storage.
const SHARED: [&str; 8] = [
    "-Ctarget-feature=+simd128,+atomics,+bulk-memory,+mutable-globals",
    "-Clink-arg=--shared-memory",
    "-Clink-arg=--import-memory",
    "-Clink-arg=--max-memory=4294967296",
    "-Clink-arg=--export=__wasm_init_tls",
    "-Clink-arg=--export=__tls_size",
    "-Clink-arg=--export=__tls_align",
    "-Clink-arg=--export=__tls_base",
];

/// Builds a package of the workspace in a cargo profile, and returns the path of the module.
pub fn build_module(package: &str, profile: &str, threads: Threads) -> Outcome<PathBuf> {
    let name = if threads == Threads::Many { "wasm-threads" } else { "wasm" };
    let target = programs_folder()?.parent().ok_or("there is no target folder")?.join(name);
    let mut build = cargo_command();
    build.args(["build", "--target", TARGET, "--profile", profile, "--package", package, "--target-dir"]).arg(&target);
    // Panic messages contain paths: remap them to those of the sources instead of those of the build machine.
    let sources =
        fs::canonicalize(repository_root()).map_err(|error| format!("{}: {error}", repository_root().display()))?;
    let mut flags: Vec<String> = match threads {
        Threads::One => vec![FEATURES.to_string()],
        Threads::Many => SHARED.map(String::from).to_vec(),
    };
    flags.push(format!("--remap-path-prefix={}=thalweg", sources.display()));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    if let Some(home) = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))) {
        flags.push(format!("--remap-path-prefix={}=cargo", home.display()));
    }
    build.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags.join(" "));
    if threads == Threads::Many || !has_target() {
        if !has_source()? {
            debian_source()?;
            build.env("RUSTC", WEB).env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", find_linker()?);
        }
        // Building the standard library is an unstable option of cargo; this variable enables it in a stable toolchain.
        build.args(["-Z", "build-std=std,panic_abort"]).env("RUSTC_BOOTSTRAP", "1");
    }
    run_command(&mut build)?;
    // Cargo names the folder of the profile `dev` differently.
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target.join(TARGET).join(folder).join(format!("{}.wasm", package.replace('-', "_"))))
}

/// Makes sure that the tools to build and run a single-threaded module are there, so that a missing one is not noticed
/// only after half an hour of tests.
pub fn ensure_tools() -> Outcome {
    if !has_target() && !has_source()? {
        debian_source()?;
        find_linker()?;
    }
    ensure_node().map(drop)
}

/// Returns true if the current toolchain has the standard library for WebAssembly.
fn has_target() -> bool {
    rustc_path("target-libdir", &["--target", TARGET]).is_ok_and(|folder| folder.is_dir())
}

/// Returns true if the current toolchain has the source of the standard library.
fn has_source() -> Outcome<bool> {
    Ok(rustc_path("sysroot", &[])?.join("lib/rustlib/src/rust/library").is_dir())
}

/// Makes sure that Debian's toolchain for the web and the source of its library are installed.
fn debian_source() -> Outcome {
    if Path::new(WEB_SOURCE).is_dir() {
        return Ok(());
    }
    install_packages(&["rustc-web", "rust-web-src"], "a standard library for WebAssembly")
        .map_err(|problem| format!("{problem}; or `rustup target add {TARGET}` and `rustup component add rust-src`"))
}

/// Returns a path that the compiler prints.
fn rustc_path(what: &str, more: &[&str]) -> Outcome<PathBuf> {
    let output = Command::new("rustc").args(["--print", what]).args(more).output();
    let output = output.map_err(|error| format!("rustc: {error}"))?;
    if !output.status.success() {
        return Err(format!("rustc: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(PathBuf::from(String::from_utf8_lossy(output.stdout.trim_ascii()).into_owned()))
}

/// Writes a module into a folder as `NAME_bg.wasm`, with the JavaScript that calls it, `NAME.js`, an ECMAScript
/// module.
pub fn write_bindings(module: &Path, folder: &Path, name: &str) -> Outcome {
    // The same features as in the tests, so that nothing is built twice.
    run_cargo(&["build", "--quiet", "--workspace", "--features", STUDIO_FEATURE, "--bin", "thalweg-bindgen"])?;
    let own = programs_folder()?.join(format!("thalweg-bindgen{}", std::env::consts::EXE_SUFFIX));
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    run_command(prepare_program(own).arg(module).arg(folder).arg(name))
}

/// Returns the size of a file in bytes after brotli compression, as hosts of static pages transfer it.
pub fn compressed_bytes(file: &Path) -> Outcome<usize> {
    let script = "const z = require('zlib'); const bytes = require('fs').readFileSync(process.argv[1]);
        console.log(z.brotliCompressSync(bytes, { params: { [z.constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }).length)";
    let output = prepare_program(ensure_node()?)
        .args(["-e", script])
        .arg(file)
        .output()
        .map_err(|error| format!("node: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim().parse().map_err(|_| format!("node: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Returns the name of Node, which is installed if necessary.
pub fn ensure_node() -> Outcome<&'static str> {
    if !is_installed("node") {
        install_packages(&["nodejs"], "Node")?;
    }
    Ok("node")
}

/// Installs Debian packages.
fn install_packages(packages: &[&str], what: &str) -> Outcome {
    println!("xtask: {what} is required; trying to install {}", packages.join(", "));
    let installed = run_apt(&["update"])
        .and_then(|()| run_apt(&[&["install", "-y", "--no-install-recommends"], packages].concat()));
    installed
        .map_err(|problem| format!("{what} is required (on Debian: apt-get install {}); {problem}", packages.join(" ")))
}

/// Returns the linker of the current toolchain, or Debian's.
fn find_linker() -> Outcome<PathBuf> {
    let host = rustc_path("sysroot", &[])?.join("lib/rustlib");
    let folders = fs::read_dir(&host).map_err(|error| format!("{}: {error}", host.display()))?;
    // rustup's toolchains contain a linker in the folder of their host.
    let mut own = folders.filter_map(Result::ok).map(|folder| folder.path().join("bin/rust-lld"));
    own.find(|path| path.is_file())
        .or_else(|| is_installed("wasm-ld").then(|| "wasm-ld".into()))
        .ok_or_else(|| "WebAssembly needs rust-lld or wasm-ld (on Debian: apt-get install lld)".to_string())
}
