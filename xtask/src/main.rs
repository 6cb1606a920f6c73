//! Development tasks: `cargo xtask TASK`.

mod book;
mod deny;
mod fuzz;
mod long;
mod peers;
mod python;
mod release;
mod site;
mod test;
mod wasm;
mod web;
mod wheel;

use std::process::ExitCode;

use xtask::shell;

const HELP: &str = "\
Tasks:
  test           pass all tests: Rust, documentation, and Python against the built command; with --long those that have a long
                 form run in it, with pages in browsers, deny, fuzz and release; a long run that is interrupted continues
  bless          run the golden tests and take what they see for right
  book           write from the declarations: docs/models/*.md and the types of the Python and the npm package, which
                 git ignores, and the tables of docs/knobs.md and docs/export.md; --check only compares the tables
  gallery [NAME…]  draw docs/gallery/*.png with the built command: all of it, or of those presets and models
  levels [NAME… [CELLS]]  build presets at 512 cells and more, up to CELLS (4096), and write into docs/levels.md how far
                 they agree
  deny           check licences and sources of all dependencies by deny.toml
  web            the pages as a folder of static files, dist/: the studio, the npm package, examples, the book; installs
                 mdBook, which makes the book's pages, into target/mdbook if it is missing
  fuzz [--minutes N] [--keep] [READER…]  inputs guided by coverage against every reader, 5 s each or N minutes in all; --keep
                 adds what reaches further to crates/thalweg/tests/corpus
  wheel [--quick]  build the Python package into target/wheels; --quick takes the profile of the tests
  release        static programs, those with the window, and the wheel as archives with licences and checksums, into
                 target/release-VERSION; and whether the crates could be published
  bench [PART…]  print the figures of docs/benchmarks.md: models, droplets, memory, noise, thermal, flow, stream_power,
                 river_network, fluvial, pipes, hydrology, pools, local, world, trees, presets
  bench --peers [--cells N…]  ours and other programs in turns, as tables in Markdown; 1024² and 4096² cells if not said
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test::run_tests(),
        ["test", "--long"] => test::run_long_tests(),
        ["deny"] => deny::check_dependencies(),
        ["web", "--test"] => test::npm_package(),
        ["web"] => web::build_dist(),
        ["wheel"] => wheel::build_wheel("release").map(drop),
        ["wheel", "--quick"] => wheel::build_wheel("dev").map(drop),
        ["release"] => release::make_release(),
        ["bless"] => test::bless_goldens(),
        ["book" | "gallery" | "levels", ..] => book::run_task(&words),
        ["fuzz", rest @ ..] => fuzz::run_fuzzer(rest),
        ["bench", "--peers", rest @ ..] => peers::run_benchmark(rest),
        ["bench", rest @ ..] => {
            shell::run_cargo(&[&["bench", "--package", "thalweg", "--bench", "models", "--"], rest].concat())
        }
        _ => Err(HELP.to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}
