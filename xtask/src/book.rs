//! The program `thalweg-book`, which writes what comes from the library's declarations.

use xtask::shell::{Outcome, STUDIO_FEATURE, prepare_program, programs_folder, run_cargo, run_command};

/// Runs a task of the program. It needs the library, and is a program of its own so that all other tasks start without
/// compiling the library.
pub fn run_task(words: &[&str]) -> Outcome {
    // The same features as in the tests, so that nothing is built twice. Cargo adds the features that dev-dependencies
    // need only if a test is among the targets.
    let targets = ["--bin", "thalweg-book", "--test", "program"];
    run_cargo(&[&["build", "--quiet", "--workspace", "--features", STUDIO_FEATURE], &targets[..]].concat())?;
    let program = programs_folder()?.join(format!("thalweg-book{}", std::env::consts::EXE_SUFFIX));
    run_command(prepare_program(program).args(words))
}

/// Writes the generated files that git ignores: the pages of the models, and the types of the Python and the npm
/// package. Tasks that pack or test these files call this first.
pub fn write_ignored_files() -> Outcome {
    run_task(&["ignored"])
}
