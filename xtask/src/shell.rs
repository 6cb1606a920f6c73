//! Helpers to run commands in the repository's root; each command is printed before it runs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of a task: a value, or an error message.
pub type Outcome<T = ()> = Result<T, String>;

/// The feature of the studio, which the command does not have by default.
pub const STUDIO_FEATURE: &str = "thalweg-cli/studio";

/// The repository's root.
pub fn repository_root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Prepares a program to run in the repository's root.
pub fn prepare_program(name: impl AsRef<Path>) -> Command {
    let mut command = Command::new(name.as_ref());
    command.current_dir(repository_root());
    command
}

/// Prints and runs a command; an exit code other than 0 is an error.
pub fn run_command(command: &mut Command) -> Outcome {
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    let line = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    println!("xtask: {line}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{line}: {status}")),
        Err(error) => Err(format!("{line}: {error}")),
    }
}

/// Runs the same cargo that runs this program.
pub fn run_cargo(args: &[&str]) -> Outcome {
    run_command(cargo_command().args(args))
}

/// Prepares the same cargo that runs this program.
pub fn cargo_command() -> Command {
    prepare_program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The folder of built programs, which contains this program.
pub fn programs_folder() -> Outcome<PathBuf> {
    let own = std::env::current_exe().map_err(|error| format!("the built programs: {error}"))?;
    own.parent().map(Path::to_path_buf).ok_or_else(|| "the built programs have no folder".to_string())
}

/// Returns true if a program is in the search path.
pub fn is_installed(name: &str) -> bool {
    prepare_program("sh")
        // Every POSIX shell has this command, while `which` is a package of its own on some systems.
        .args(["-c", &format!("command -v {name} > /dev/null")])
        .status()
        .is_ok_and(|found| found.success())
}

/// Runs apt-get, as root or with passwordless sudo.
pub fn run_apt(args: &[&str]) -> Outcome {
    // The user with the number 0 is root and needs no sudo.
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    let mut command = if is_root { prepare_program("apt-get") } else { prepare_program("sudo") };
    if !is_root {
        // With `-n`, sudo fails instead of asking for a password.
        command.args(["-n", "apt-get"]);
    }
    run_command(command.args(args).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Formats a duration in minutes and seconds.
pub fn format_duration(seconds: u64) -> String {
    format!("{} min {} s", seconds / 60, seconds % 60)
}
