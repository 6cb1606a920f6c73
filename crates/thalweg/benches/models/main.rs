//! The figures of docs/benchmarks.md, printed as the rows of its tables: `cargo xtask bench [PART]…`.
//!
//! Parts are `models` (every listed model), `droplets`, `memory`, `noise`, `thermal`, `flow`, `stream_power`,
//! `river_network`, `fluvial`, `pipes`, `hydrology`, `pools`, `local`, `world`, `trees` and `presets`; all of them without one. Times are the
//! least of many short pieces of work: on a shared machine the mean says more about the neighbours.

mod figures;
mod hydrology;
mod local;
mod memory;
mod pools;
#[path = "../../tests/it/same.rs"]
mod same;
mod work;
mod world;

use std::process::ExitCode;

/// Prints the rows of one part.
type Part = fn() -> thalweg_core::base::error::Result<()>;

const PARTS: [(&str, Part); 16] = [
    ("models", figures::models),
    ("droplets", figures::droplets),
    ("memory", figures::memory),
    ("noise", figures::noise),
    ("thermal", figures::thermal),
    ("flow", figures::flow),
    ("stream_power", figures::stream_power),
    ("river_network", figures::river_network),
    ("fluvial", figures::fluvial),
    ("pipes", figures::pipes),
    ("hydrology", hydrology::hydrology),
    ("pools", pools::pools),
    ("local", local::local),
    ("world", world::world),
    ("trees", figures::trees),
    ("presets", figures::presets),
];

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [role, cells] = words.as_slice()
        && [memory::DROPLETS, memory::DRAINAGE, memory::RIVERS, memory::NETWORK, memory::HYDROLOGY]
            .contains(&role.as_str())
    {
        return memory::child(role, cells.parse().unwrap_or(512));
    }
    if let Some(word) = words.iter().find(|word| PARTS.iter().all(|(name, _)| name != word)) {
        eprintln!("`{word}` is no part: {}", PARTS.map(|(name, _)| name).join(", "));
        return ExitCode::FAILURE;
    }
    for (name, part) in PARTS {
        if !words.is_empty() && !words.iter().any(|word| word == name) {
            continue;
        }
        if let Err(error) = part() {
            eprintln!("{name}: {error}");
            return ExitCode::FAILURE;
        }
        println!();
    }
    ExitCode::SUCCESS
}
