//! Generates what comes from the library's declarations or is drawn with it: pages of the book, and the types of the
//! Python and the npm package. `cargo xtask book`, `gallery` and `levels` run this program. It is separate so that
//! `cargo xtask test` can start without compiling the library for it.

mod gallery;
mod levels;
mod models;
mod operations;
mod plan_schema;
mod stubs;
mod tables;
mod typescript;

use std::process::ExitCode;

use xtask::files;
use xtask::shell::{Outcome, repository_root};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match run_task(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run_task(words: &[&str]) -> Outcome {
    match words {
        ["book"] => {
            write_ignored_files()?;
            tables::write_tables()?;
            plan_schema::write_plan_schema()
        }
        ["book", "--check"] => {
            tables::check_tables()?;
            plan_schema::check_plan_schema()
        }
        ["ignored"] => write_ignored_files(),
        ["gallery", names @ ..] => gallery::draw_gallery(names),
        ["levels", names @ .., most] if most.parse::<usize>().is_ok() => {
            levels::measure_levels(names, most.parse().unwrap_or(4096))
        }
        ["levels", names @ ..] => levels::measure_levels(names, 4096),
        _ => Err("tasks: book [--check], ignored, gallery [NAME…], levels [NAME… [CELLS]]".into()),
    }
}

/// Writes the generated files that git ignores: the pages of the models, and the types.
fn write_ignored_files() -> Outcome {
    models::write_pages()?;
    let types = [
        (stubs::FILE, stubs::build_stubs()),
        (operations::FILE, operations::build_python_types()),
        (typescript::FILE, typescript::build_types()),
    ];
    types.iter().try_for_each(|(file, text)| files::write_file(&repository_root().join(file), text))
}
