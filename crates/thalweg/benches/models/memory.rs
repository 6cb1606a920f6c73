//! How much memory a run takes beyond its ground: measured in a process of its own. Linux only.

use std::hint::black_box;
use std::process::{Command, ExitCode};

use thalweg_core::{Error, Result};
use thalweg_flow::{FlowGraph, Land};
use thalweg_models::models::hydrology::Hydrology;
use thalweg_models::models::river_network::RiverNetwork;

use crate::work::{finish, goal, mountains, rivers_alone, rough};

/// The words that make this program the measured process: of droplets, of drainage, of stream power, of a river network, of
/// streams and lakes.
pub const DROPLETS: &str = "memory-child-droplets";
pub const DRAINAGE: &str = "memory-child-drainage";
pub const RIVERS: &str = "memory-child-rivers";
pub const NETWORK: &str = "memory-child-network";
pub const HYDROLOGY: &str = "memory-child-hydrology";

/// Bytes a cell that the goal's droplets without layers, drainage, stream power a river network or streams and lakes took at most beyond what was
/// there before.
pub fn beyond_the_ground(work: &str, side: usize) -> Result<Option<f64>> {
    let program = std::env::current_exe().map_err(Error::io("this program", "find"))?;
    let output = Command::new(&program)
        .args([work, &side.to_string()])
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .map_err(Error::io(program, "run"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
}

/// The measured process: makes ground, forgets the peak that took, works, and prints bytes a cell.
pub fn child(work: &str, side: usize) -> ExitCode {
    let measured = || -> Option<f64> {
        let mut terrain = if work != DROPLETS { rough(side) } else { mountains(side) }.ok()?;
        std::fs::write("/proc/self/clear_refs", "5").ok()?;
        let before = status("VmRSS:")?;
        if work == DRAINAGE {
            // All results are held to the end.
            let drainage = FlowGraph::new(&Land::from_terrain(&terrain));
            drainage.upstream_cells();
            black_box(drainage);
        } else if work == RIVERS {
            finish(&rivers_alone(), &mut terrain).ok()?;
        } else if work == NETWORK {
            finish(&RiverNetwork::default(), &mut terrain).ok()?;
        } else if work == HYDROLOGY {
            // Eight batches: each holds as much as one of hundreds, and the last one reckons lakes.
            finish(&Hydrology { drops: 0.0625, ..Hydrology::default() }, &mut terrain).ok()?;
        } else {
            finish(&goal(false), &mut terrain).ok()?;
        }
        Some((status("VmHWM:")? - before) / terrain.grid.len() as f64)
    };
    match measured() {
        Some(bytes) => {
            println!("{bytes}");
            ExitCode::SUCCESS
        }
        None => ExitCode::FAILURE,
    }
}

/// A line of /proc/self/status, in bytes.
fn status(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kib| kib * 1024.0)
}
