//! How much memory a run takes beyond its ground: measured in a process of its own. Linux only.

use std::process::{Command, ExitCode};

use thalweg::Result;
use thalweg::error::Error;

use crate::work::{finish, goal, mountains};

/// The word that makes this program the measured process.
pub const CHILD: &str = "memory-child";

/// Bytes a cell that the goal's droplets, without layers, took at most beyond what was there before.
pub fn beyond_the_ground(side: usize) -> Result<Option<f64>> {
    let program = std::env::current_exe().map_err(Error::io("this program", "find"))?;
    let output = Command::new(&program)
        .args([CHILD, &side.to_string()])
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .map_err(Error::io(program, "run"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
}

/// The measured process: makes ground, forgets the peak that took, erodes, and prints bytes a cell.
pub fn child(side: usize) -> ExitCode {
    let measured = || -> Option<f64> {
        let mut terrain = mountains(side).ok()?;
        std::fs::write("/proc/self/clear_refs", "5").ok()?;
        let before = status("VmRSS:")?;
        finish(&goal(false), &mut terrain).ok()?;
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
