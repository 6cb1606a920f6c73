//! `fuzz`: runs every reader on inputs guided by coverage, with libFuzzer and the coverage pass of the stable
//! compiler.
//!
//! The package `fuzz` is built once with counters at every edge and comparison; each reader then runs over its corpus
//! in `crates/thalweg/tests/corpus` and over what former runs found. Inputs that break a reader are stored in
//! `target/fuzz/broken`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use xtask::shell::{Outcome, cargo_command, is_installed, prepare_program, repository_root, run_apt, run_command};

/// The coverage instrumentation that libFuzzer needs. Any compiler accepts the names of LLVM passes; only sanitizers
/// require a nightly one.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                     -Cllvm-args=-sanitizer-coverage-pc-table";

/// The default time per reader in seconds. A longer time reaches further; `--minutes` sets it for all readers together.
const SECONDS: f64 = 5.0;

/// The maximum length of generated inputs in bytes. Short ones suffice, because what a header claims matters, not how
/// much data follows.
const LENGTH: u32 = 4096;

/// The folder of the corpora.
const CORPUS: &str = "crates/thalweg/tests/corpus";

/// Runs the named readers, or all: for `--minutes N` in total, or else for five seconds each. With `--keep`, inputs
/// that reach further than the corpora are added to them.
pub fn run_fuzzer(words: &[&str]) -> Outcome {
    let (mut minutes, mut keep, mut named) = (None, false, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--minutes" => {
                let number = words.next().and_then(|text| text.parse::<f64>().ok()).filter(|n| *n > 0.0 && *n < 1e5);
                minutes = Some(number.ok_or("--minutes must be a number greater than 0")?);
            }
            "--keep" => keep = true,
            name => named.push(name.to_string()),
        }
    }
    let known = list_readers()?;
    if let Some(name) = named.iter().find(|name| !known.contains(name)) {
        return Err(format!("unknown reader `{name}`; the known names are {}", known.join(", ")));
    }
    let names = if named.is_empty() { known } else { named };
    let fuzzer = build_fuzzer()?;
    // Readers run at the same time, one per processor, so each gets its share of the total time on all processors.
    let hands = std::thread::available_parallelism().map_or(1, usize::from).min(names.len());
    let seconds = minutes.map_or(SECONDS, |minutes| minutes * 60.0 * hands as f64 / names.len() as f64).ceil();
    let (mut table, mut all, mut broken) = (String::new(), 0, Vec::new());
    for (name, done) in names.iter().zip(side_by_side(&fuzzer, &names, seconds, hands)) {
        let (count, is_whole) = done?;
        table += &format!("{name:<12}{count:>12}{}\n", if is_whole { "" } else { "  broken" });
        all += count;
        if !is_whole {
            broken.push(name.as_str());
        }
        if keep {
            merge_corpus(&fuzzer, name)?;
        }
    }
    println!("xtask: inputs by reader\n{table}{:<12}{all:>12}", "all");
    if broken.is_empty() { Ok(()) } else { Err(format!("broken: {}; see target/fuzz/broken", broken.join(", "))) }
}

/// Returns the names of the readers: the folders of the corpora.
fn list_readers() -> Outcome<Vec<String>> {
    let folder = repository_root().join(CORPUS);
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let folders = entries.filter_map(Result::ok).filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Makes sure that there is a C++ compiler, because libFuzzer is written in C++.
pub fn ensure_compiler() -> Outcome {
    if cfg!(windows) || is_installed("c++") {
        return Ok(());
    }
    println!("xtask: the fuzzer needs a compiler of C++; trying to install it");
    let installed = run_apt(&["update"]).and_then(|()| run_apt(&["install", "-y", "--no-install-recommends", "g++"]));
    installed
        .map_err(|problem| format!("the fuzzer needs a compiler of C++ (on Debian: apt-get install g++); {problem}"))
}

/// Builds the package `fuzz`; returns the program.
fn build_fuzzer() -> Outcome<PathBuf> {
    ensure_compiler()?;
    let about = cargo_command().args(["-vV"]).output().map_err(|error| format!("cargo: {error}"))?;
    let about = String::from_utf8_lossy(&about.stdout).into_owned();
    // With an explicit target, the flags do not apply to build scripts and macros.
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("cargo names no host")?;
    let mut command = cargo_command();
    command.args([
        "build",
        "--release",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target-dir",
        "target/fuzz",
        "--target",
        host,
    ]);
    run_command(command.env("RUSTFLAGS", FLAGS))?;
    Ok(repository_root().join("target/fuzz").join(host).join("release/thalweg-fuzz"))
}

/// Runs the readers, each on one processor, up to `hands` at once; returns their results in order.
fn side_by_side(fuzzer: &Path, names: &[String], seconds: f64, hands: usize) -> Vec<Outcome<(u64, bool)>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((number, name)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, names.get(n)?)))
        {
            done.push((number, run_reader(fuzzer, name, seconds)));
        }
        done
    };
    let mut done: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..hands).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|why| std::panic::resume_unwind(why)))
            .collect()
    });
    // Workers take readers in turn and end in any order; the table lists them in the order of their names.
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Runs one reader; returns the number of inputs that it has processed, and true if none broke it.
fn run_reader(fuzzer: &Path, name: &str, seconds: f64) -> Outcome<(u64, bool)> {
    let (found, broken) = (ensure_folder(&format!("target/fuzz/found/{name}"))?, ensure_folder("target/fuzz/broken")?);
    let log = repository_root().join(format!("target/fuzz/{name}.log"));
    let file = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = fuzzer_command(fuzzer, name);
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={LENGTH}"))
        // An input that takes 20 s or 2 GiB counts as a failure: a reader must be bounded by the size of its input.
        .args(["-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1", "-reload=0"])
        .arg(format!("-artifact_prefix={}/{name}-", broken.display()))
        // libFuzzer writes new inputs into the first folder and only reads the others, so the corpus stays unchanged.
        .args([found, repository_root().join(CORPUS).join(name)])
        .stderr(file);
    println!("xtask: {name}: {seconds} s");
    let status = command.status().map_err(|error| format!("{}: {error}", fuzzer.display()))?;
    let text = fs::read_to_string(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let count = text.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:")?.trim().parse().ok());
    // After a failure libFuzzer prints no statistics; the last line with a number has the count.
    let last = || text.lines().rev().find_map(|line| line.strip_prefix('#')?.split_whitespace().next()?.parse().ok());
    if !status.success() {
        println!("xtask: {name} broke:\n{}", extract_failure(&text));
    }
    Ok((count.or_else(last).unwrap_or(0), status.success()))
}

/// Extracts from a log what libFuzzer reports about a failure: the panic, the error and short inputs, with each line
/// truncated.
fn extract_failure(log: &str) -> String {
    let mut lines = Vec::new();
    let mut log = log.lines().peekable();
    while let Some(line) = log.next() {
        let is_panic = line.contains("panicked at");
        if is_panic || line.contains("ERROR: libFuzzer") || line.starts_with("Base64: ") {
            lines.push(line);
            lines.extend(log.next_if(|_| is_panic));
        }
    }
    lines.iter().map(|line| line.chars().take(600).collect::<String>()).collect::<Vec<_>>().join("\n")
}

/// Adds the smallest set of inputs to a reader's corpus that reaches everything that was reached.
fn merge_corpus(fuzzer: &Path, name: &str) -> Outcome {
    let mut command = fuzzer_command(fuzzer, name);
    command
        .args(["-merge=1", "-timeout=20"])
        .args([repository_root().join(CORPUS).join(name), ensure_folder(&format!("target/fuzz/found/{name}"))?]);
    run_command(command.stderr(std::process::Stdio::null()))
}

fn fuzzer_command(fuzzer: &Path, name: &str) -> Command {
    let mut command = prepare_program(fuzzer);
    // All readers are in one program, which selects one by this variable.
    command.env("READER", name);
    command
}

fn ensure_folder(folder: &str) -> Outcome<PathBuf> {
    let path = repository_root().join(folder);
    fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
