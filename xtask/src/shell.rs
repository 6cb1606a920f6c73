//! Helpers to run commands in the repository's root; each command is printed before it runs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of a task: a value, or an error message.
pub type Outcome<T = ()> = Result<T, String>;

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Prepares a program to run in the repository's root.
pub fn program(name: impl AsRef<Path>) -> Command {
    let mut command = Command::new(name.as_ref());
    command.current_dir(root());
    command
}

/// Prints and runs a command; an exit code other than 0 is an error.
pub fn run(command: &mut Command) -> Outcome {
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
pub fn cargo(args: &[&str]) -> Outcome {
    run(cargo_command().args(args))
}

/// Prepares the same cargo that runs this program.
pub fn cargo_command() -> Command {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The folder of built programs, which contains this program.
pub fn built() -> Outcome<PathBuf> {
    let own = std::env::current_exe().map_err(|error| format!("the built programs: {error}"))?;
    own.parent().map(Path::to_path_buf).ok_or_else(|| "the built programs have no folder".to_string())
}

/// Returns true if a program is in the search path.
pub fn is_there(name: &str) -> bool {
    program("sh").args(["-c", &format!("command -v {name} > /dev/null")]).status().is_ok_and(|found| found.success())
}

/// Runs apt-get, as root or with passwordless sudo.
pub fn apt(args: &[&str]) -> Outcome {
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    let mut command = if is_root { program("apt-get") } else { program("sudo") };
    if !is_root {
        command.args(["-n", "apt-get"]);
    }
    run(command.args(args).env("DEBIAN_FRONTEND", "noninteractive"))
}
