//! Packages as WebAssembly for pages: [`module`] builds one, [`glue`] puts JavaScript about it.
//!
//! The standard library for wasm32-unknown-unknown is built from source by the toolchain that brings it: rustup's where it has
//! that target, else Debian's `rustc-web` with `rust-web-src`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::shell::{Outcome, apt, built, cargo, cargo_command, is_there, program, root, run};

const TARGET: &str = "wasm32-unknown-unknown";

/// Vectors of 128 bits, which all browsers have had since 2023. Arithmetic is the same: neither fuses nor reorders.
const FEATURES: &str = "-Ctarget-feature=+simd128";

/// Where Debian's toolchain for the web lies.
const WEB: &str = "/usr/bin/rustc";
const WEB_SOURCE: &str = "/usr/lib/rustlib/src/rust/library";

/// Builds a package of the workspace with a profile of cargo's, and gives the module's path.
pub fn module(package: &str, profile: &str) -> Outcome<PathBuf> {
    let target = built()?.parent().ok_or("there is no target folder")?.join("wasm");
    let mut build = cargo_command();
    build.args(["build", "--target", TARGET, "--profile", profile, "--package", package, "--target-dir"]).arg(&target);
    // Messages of what must not happen hold paths: those of the sources, not of the machine that built them.
    let sources = fs::canonicalize(root()).map_err(|error| format!("{}: {error}", root().display()))?;
    let mut flags = vec![FEATURES.to_string(), format!("--remap-path-prefix={}=thalweg", sources.display())];
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    if let Some(home) = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))) {
        flags.push(format!("--remap-path-prefix={}=cargo", home.display()));
    }
    build.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags.join(" "));
    let has_target = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let has_target = has_target.is_ok_and(|output| {
        output.status.success() && Path::new(&*String::from_utf8_lossy(output.stdout.trim_ascii())).is_dir()
    });
    if !has_target {
        if !Path::new(WEB_SOURCE).is_dir() {
            install(&["rustc-web", "rust-web-src"], "a standard library for WebAssembly")
                .map_err(|problem| format!("{problem}; or `rustup target add {TARGET}`"))?;
        }
        build.args(["-Z", "build-std=std,panic_abort"]).env("RUSTC", WEB).env("RUSTC_BOOTSTRAP", "1");
        build.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker()?);
    }
    run(&mut build)?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target.join(TARGET).join(folder).join(format!("{}.wasm", package.replace('-', "_"))))
}

/// Puts a module into a folder as `NAME_bg.wasm`, with the JavaScript that calls it, `NAME.js`, a module of ECMAScript.
pub fn glue(module: &Path, folder: &Path, name: &str) -> Outcome {
    // With all that the tests build, so that nothing is built twice.
    cargo(&["build", "--quiet", "--workspace", "--features", "thalweg-cli/studio", "--bin", "thalweg-bindgen"])?;
    let own = built()?.join(format!("thalweg-bindgen{}", std::env::consts::EXE_SUFFIX));
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    run(program(own).arg(module).arg(folder).arg(name))
}

/// What a file weighs on the wire, in bytes: compressed by brotli, as hosts of static pages do.
pub fn on_the_wire(file: &Path) -> Outcome<usize> {
    let script = "const z = require('zlib'); const bytes = require('fs').readFileSync(process.argv[1]);
        console.log(z.brotliCompressSync(bytes, { params: { [z.constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }).length)";
    let output = program(node()?).args(["-e", script]).arg(file).output().map_err(|error| format!("node: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim().parse().map_err(|_| format!("node: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Node, installed if need be.
pub fn node() -> Outcome<&'static str> {
    if !is_there("node") {
        install(&["nodejs"], "Node, which runs WebAssembly")?;
    }
    Ok("node")
}

/// Installs packages of Debian's.
fn install(packages: &[&str], what: &str) -> Outcome {
    println!("xtask: needed is {what}; trying to install {}", packages.join(", "));
    let installed =
        apt(&["update"]).and_then(|()| apt(&[&["install", "-y", "--no-install-recommends"], packages].concat()));
    installed
        .map_err(|problem| format!("needed is {what} (on Debian: apt-get install {}); {problem}", packages.join(" ")))
}

/// The linker that came with the toolchain that runs us, or Debian's.
fn linker() -> Outcome<PathBuf> {
    let output =
        Command::new("rustc").args(["--print", "sysroot"]).output().map_err(|error| format!("rustc: {error}"))?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(output.stdout.trim_ascii()).into_owned());
    let host = sysroot.join("lib/rustlib");
    let folders = fs::read_dir(&host).map_err(|error| format!("{}: {error}", host.display()))?;
    let mut own = folders.filter_map(Result::ok).map(|folder| folder.path().join("bin/rust-lld"));
    own.find(|path| path.is_file())
        .or_else(|| is_there("wasm-ld").then(|| "wasm-ld".into()))
        .ok_or_else(|| "WebAssembly needs rust-lld or wasm-ld (on Debian: apt-get install lld)".to_string())
}
