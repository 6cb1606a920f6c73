//! `cargo xtask release`: packs programs as archives, with licences, checksums and notes, and checks that the crates
//! could be published.
//!
//! On Linux there are two archives. The first contains a static program, which runs wherever the kernel does. A static
//! program cannot load the drivers that a window needs, so the second contains a program with the studio, for systems
//! with a C library at least as new as the build machine's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::wheel;
use xtask::files::{add_path, copy_recursively, create_folder, list_files, read_text, write_file};
use xtask::shell::{Outcome, cargo_command, prepare_program, programs_folder, repository_root, run_cargo, run_command};

/// The package of the command, and its program.
const PACKAGE: &str = "thalweg-cli";
const PROGRAM: &str = "thalweg";

/// The files of the repository that are included with every program.
const PAPERS: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// The names with which licence files begin, in capitals.
const LICENCES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// The shells for which completions are generated, with the names of their files.
const SHELLS: [(&str, &str); 3] = [("bash", "thalweg.bash"), ("fish", "thalweg.fish"), ("zsh", "_thalweg")];

/// A program to build.
struct Artifact {
    /// The start of the archive's name, before the version.
    name: &'static str,
    /// True to include the window.
    studio: bool,
    /// The target triple.
    target: String,
    /// True to link every library statically.
    is_static: bool,
}

/// Makes `target/release-VERSION`: archives, the wheel, notes and `SHA256SUMS`.
pub fn make_release() -> Outcome {
    let version = read_version()?;
    let folder = programs_folder()?.parent().ok_or("there is no target folder")?.join(format!("release-{version}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(add_path(&folder))?;
    }
    create_folder(&folder)?;
    let changes = read_text(&repository_root().join("CHANGELOG.md"))?;
    write_file(&folder.join("notes.md"), extract_notes(&changes, &version)?)?;
    for artifact in list_artifacts()? {
        build_archive(&artifact, &version, &folder)?;
    }
    let wheel = wheel::build_wheel("dist")?;
    let name = wheel.file_name().ok_or("the wheel has no name")?;
    copy_recursively(&wheel, &folder.join(name))?;
    write_file(&folder.join("SHA256SUMS"), format_checksums(&folder)?)?;
    // Pack every crate with its dependencies in this workspace. `--no-verify`, because they have been built above.
    run_cargo(&["publish", "--dry-run", "--workspace", "--no-verify", "--allow-dirty"])?;
    println!("xtask: {} contains\n{}", folder.display(), read_text(&folder.join("SHA256SUMS"))?);
    Ok(())
}

/// Returns the programs to build on this machine.
fn list_artifacts() -> Outcome<Vec<Artifact>> {
    let host = host_triple()?;
    if !cfg!(target_os = "linux") {
        return Ok(vec![Artifact { name: PROGRAM, studio: true, target: host, is_static: false }]);
    }
    let musl = host.replace("-gnu", "-musl");
    // The C library musl is made for static linking. Where its target is missing, the system's C library is linked
    // statically instead.
    let portable = if has_target(&musl)? { musl } else { host.clone() };
    Ok(vec![
        Artifact { name: PROGRAM, studio: false, target: portable, is_static: true },
        Artifact { name: "thalweg-studio", studio: true, target: host, is_static: false },
    ])
}

/// Builds a program, tries it, and packs it.
fn build_archive(artifact: &Artifact, version: &str, folder: &Path) -> Outcome {
    let target = &artifact.target;
    let mut build = cargo_command();
    build.args(["build", "--profile", "dist", "--locked", "--package", PACKAGE, "--target", target]);
    if artifact.studio {
        build.args(["--features", "studio"]);
    }
    if artifact.is_static {
        let key = format!("CARGO_TARGET_{}_RUSTFLAGS", target.to_uppercase().replace('-', "_"));
        build.env(key, "-C target-feature=+crt-static");
    }
    run_command(&mut build)?;
    let file = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let built = programs_folder()?.parent().ok_or("there is no target folder")?.join(target).join("dist").join(&file);
    let bytes = fs::read(&built).map_err(add_path(&built))?;
    if artifact.is_static && needs_loader(&bytes) {
        return Err(format!("{}: must be linked statically, but requires the system's loader", built.display()));
    }
    // Start the program once: this finds a program that cannot run, or one of an earlier version.
    let said = read_output(Command::new(&built).arg("--version"))?;
    if !said.contains(version) {
        return Err(format!("{}: reports the version {said} instead of {version}", built.display()));
    }
    let mut files: BTreeMap<String, (Vec<u8>, u32)> = BTreeMap::new();
    files.insert(file, (bytes, 0o755));
    for paper in PAPERS {
        files.insert(paper.into(), (read_text(&repository_root().join(paper))?.into_bytes(), 0o644));
    }
    files.insert("LICENSES-OF-OTHERS.txt".into(), (collect_licences(artifact)?.into_bytes(), 0o644));
    files.insert("man/thalweg.1".into(), (read_output(Command::new(&built).arg("man"))?.into_bytes(), 0o644));
    for (shell, name) in SHELLS {
        let text = read_output(Command::new(&built).args(["completions", shell]))?;
        files.insert(format!("completions/{name}"), (text.into_bytes(), 0o644));
    }
    let name = format!("{}-{version}-{target}", artifact.name);
    write_file(&folder.join(format!("{name}.tar.gz")), pack_files(&name, &files)?)
}

/// Makes a gzipped tar archive of files in one folder; the same files give the same bytes.
fn pack_files(folder: &str, files: &BTreeMap<String, (Vec<u8>, u32)>) -> Outcome<Vec<u8>> {
    let failed = |error: std::io::Error| format!("{folder}.tar.gz: {error}");
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let mut tar = tar::Builder::new(gzip);
    for (name, (bytes, mode)) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        // Times and owners are left at 0, so the archive depends on nothing but the files.
        header.set_mode(*mode);
        tar.append_data(&mut header, format!("{folder}/{name}"), bytes.as_slice()).map_err(failed)?;
    }
    tar.into_inner().and_then(flate2::write::GzEncoder::finish).map_err(failed)
}

/// Returns true if a Linux program needs a loader to find its libraries, that is, if it has a segment `PT_INTERP`.
fn needs_loader(elf: &[u8]) -> bool {
    const INTERPRETER: u32 = 3;
    let number = |at: usize, bytes: usize| -> usize {
        let field = elf.get(at..at + bytes).unwrap_or_default();
        // Fields are little-endian. A field beyond the end of the file reads as 0.
        field.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    // The table of segments: its offset, the length of an entry, and the number of entries (ELF-64, section "ELF
    // Header").
    let [begin, length, rows] = [number(32, 8), number(54, 2), number(56, 2)];
    (0..rows).any(|row| number(begin + row * length, 4) == INTERPRETER as usize)
}

/// Collects the licences of everything that is linked into a program: each text once, below the crates that it applies
/// to.
fn collect_licences(artifact: &Artifact) -> Outcome<String> {
    let mut tree = cargo_command();
    tree.args(["tree", "--package", PACKAGE, "--edges", "normal", "--prefix", "none", "--format", "{p}", "--target"]);
    tree.arg(&artifact.target);
    if artifact.studio {
        tree.args(["--features", "studio"]);
    }
    let linked = read_output(&mut tree)?;
    // A line is `name v1.2.3`, with a path after it for crates of this workspace, and a mark for crates that were
    // listed before.
    let linked: Vec<[&str; 2]> = linked
        .lines()
        .filter(|line| !line.contains("(/") && !line.contains(":\\"))
        .filter_map(|line| line.split_once(" v"))
        .map(|(name, version)| [name, version.split(' ').next().unwrap_or(version)])
        .collect();
    let metadata = read_output(cargo_command().args(["metadata", "--format-version", "1", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata: no packages")?;
    // Many crates have the same text, so texts are the keys. Sorted, the file is the same for the same crates.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages {
        let [name, version] = [&package["name"], &package["version"]].map(|field| field.as_str().unwrap_or_default());
        // The metadata contain the crates of all platforms and features, of which only some are in this program.
        if !linked.contains(&[name, version]) {
            continue;
        }
        let licence = package["license"].as_str().unwrap_or("see its files");
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let folder = Path::new(manifest).parent().unwrap_or(Path::new(""));
        let found = licence_texts(folder)?;
        let whose = format!("{name} {version}: {licence}");
        // Crates without a licence file are listed together under an empty text.
        let found = if found.is_empty() { vec![String::new()] } else { found };
        found.into_iter().for_each(|text| texts.entry(text).or_default().push(whose.clone()));
    }
    let mut all = String::from("This program contains these libraries, under these licences.\n");
    for (text, crates) in texts {
        let text = if text.is_empty() { "No file of its licence comes with it." } else { &text };
        all += &format!("\n{}\n{}\n\n{text}\n", "=".repeat(80), crates.join("\n"));
    }
    Ok(all)
}

/// Returns the texts of a package's licences.
fn licence_texts(folder: &Path) -> Outcome<Vec<String>> {
    let entries = fs::read_dir(folder).map_err(add_path(folder))?;
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        path.is_file() && LICENCES.iter().any(|start| name.starts_with(start))
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_licence).collect();
    // The system lists files in any order.
    paths.sort();
    let text = |path: &PathBuf| read_text(path).map(|text| text.replace("\r\n", "\n").trim().to_string());
    paths.iter().map(text).collect()
}

/// Returns the section of a version in the changelog.
fn extract_notes(changes: &str, version: &str) -> Outcome<String> {
    // The part before the first section is the introduction.
    let mut sections = changes.split("\n## ").skip(1);
    let found = sections.find(|section| section.split([' ', '\n']).next() == Some(version));
    let found = found.ok_or_else(|| format!("CHANGELOG.md: no section of {version}"))?;
    Ok(format!("# thalweg {}\n", found.trim_end()))
}

/// Returns the checksums of a folder's files in the format of `sha256sum --check`.
fn format_checksums(folder: &Path) -> Outcome<String> {
    let mut lines = String::new();
    for file in list_files(folder)? {
        let path = folder.join(&file);
        let bytes = fs::read(&path).map_err(add_path(&path))?;
        let hex: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        lines += &format!("{hex}  {}\n", file.display());
    }
    Ok(lines)
}

/// Returns the version of the workspace.
fn read_version() -> Outcome<String> {
    let text = read_text(&repository_root().join("Cargo.toml"))?;
    let manifest: toml::Table = text.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
    let version = &manifest["workspace"]["package"]["version"];
    Ok(version.as_str().ok_or("Cargo.toml: no version")?.to_string())
}

/// Returns the triple of this machine.
fn host_triple() -> Outcome<String> {
    let said = read_output(prepare_program("rustc").arg("-vV"))?;
    let line = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.ok_or("rustc -vV names no host")?.to_string())
}

/// Returns true if the toolchain has the standard library of a target.
fn has_target(target: &str) -> Outcome<bool> {
    let folder = read_output(prepare_program("rustc").args(["--print", "target-libdir", "--target", target]))?;
    Ok(Path::new(folder.trim()).is_dir())
}

/// Runs a program and returns what it prints; an exit code other than 0 is an error.
fn read_output(command: &mut Command) -> Outcome<String> {
    let name = command.get_program().to_string_lossy().to_string();
    let output = command.current_dir(repository_root()).output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_the_section_of_their_version() {
        let changes = "# Changelog\n\nWords.\n\n## 0.2.0 (unreleased)\n\n- b\n\n## 0.1.0\n\n- a\n";
        assert_eq!(extract_notes(changes, "0.1.0").unwrap(), "# thalweg 0.1.0\n\n- a\n");
        assert_eq!(extract_notes(changes, "0.2.0").unwrap(), "# thalweg 0.2.0 (unreleased)\n\n- b\n");
        assert!(extract_notes(changes, "0.2").is_err());
        assert!(
            extract_notes(&read_text(&repository_root().join("CHANGELOG.md")).unwrap(), &read_version().unwrap())
                .is_ok()
        );
    }

    #[test]
    fn archives_are_the_same_bytes_twice_and_hold_their_files() {
        let files = BTreeMap::from([("a/b.txt".to_string(), (b"words".to_vec(), 0o644))]);
        let bytes = pack_files("folder", &files).unwrap();
        assert_eq!(bytes, pack_files("folder", &files).unwrap());
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let paths: Vec<_> =
            archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().into_owned()).collect();
        assert_eq!(paths, [Path::new("folder/a/b.txt")]);
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn a_program_with_libraries_of_the_system_asks_for_its_loader() {
        // Tests are not linked statically.
        assert!(needs_loader(&fs::read(std::env::current_exe().unwrap()).unwrap()));
        assert!(!needs_loader(b"\x7fELF"));
    }
}
