//! Generates the parts of the documentation that come from the library's declarations or are drawn with it: `cargo
//! xtask book`, `gallery` and `levels` run this program. It is separate so that `cargo xtask test` can start without
//! compiling the library for it.

mod gallery;
mod generated;
mod levels;
mod models;
mod operations;
mod plan_schema;
mod stubs;
mod tables;
mod typescript;

use std::process::ExitCode;

use xtask::shell::Outcome;

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
            models::write_pages()?;
            tables::write_tables()?;
            stubs::write_stubs()?;
            operations::write_python_types()?;
            plan_schema::write_plan_schema()?;
            typescript::write_types()
        }
        ["book", "--check"] => {
            models::check_pages()?;
            stubs::check_stubs()?;
            operations::check_python_types()?;
            plan_schema::check_plan_schema()?;
            typescript::check_types()
        }
        ["gallery", names @ ..] => gallery::draw_gallery(names),
        ["levels", names @ .., most] if most.parse::<usize>().is_ok() => {
            levels::measure_levels(names, most.parse().unwrap_or(4096))
        }
        ["levels", names @ ..] => levels::measure_levels(names, 4096),
        _ => Err("tasks: book [--check], gallery [NAME…], levels [NAME… [CELLS]]".into()),
    }
}
