//! Whether a run fits into memory, asked before it starts.

use thalweg::grid::Grid;
use thalweg::recipe::Recipe;
use thalweg::{Error, Result};

/// Bytes a cell that reading, drawing and writing take for their copies, beyond what the run itself holds. Measured: a
/// build of 4096² cells that holds 4 bytes a cell came to 17.7.
const COPIES: u64 = 14;

/// Refuses a run that cannot fit.
///
/// # Errors
/// When the estimate is more than the system has free.
pub fn check(recipe: &Recipe, grid: &Grid) -> Result<()> {
    let need = recipe.memory(grid).saturating_add(COPIES * grid.len() as u64);
    room(&format!("{} at {} × {} cells", recipe.name, grid.cols(), grid.rows()), need)
}

/// Refuses work on `what` that needs more bytes than there are.
///
/// # Errors
/// As [`check`].
pub fn room(what: &str, need: u64) -> Result<()> {
    available().map_or(Ok(()), |have| fits(what.to_string(), need, have))
}

fn fits(what: String, need: u64, have: u64) -> Result<()> {
    let gib = |bytes: u64| format!("{:.2} GiB of memory", bytes as f64 / f64::from(1 << 30));
    if need <= have { Ok(()) } else { Err(Error::TooLarge { what, need: gib(need), have: gib(have) }) }
}

/// Bytes that can be had without swapping; `None` where the system does not say.
#[cfg(target_os = "linux")]
fn available() -> Option<u64> {
    let free = free_in(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    // A container may be held to less than the machine has.
    let number =
        |name| std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?.trim().parse::<u64>().ok();
    let left = number("max").zip(number("current")).map(|(max, current)| max.saturating_sub(current));
    Some(left.map_or(free, |left| left.min(free)))
}

#[cfg(target_os = "linux")]
fn free_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Bytes that can be had without swapping; `None` where the system does not say.
#[cfg(not(target_os = "linux"))]
fn available() -> Option<u64> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory();
    Some(system.available_memory()).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_the_numbers() {
        assert!(fits("a".into(), 1 << 30, 1 << 30).is_ok());
        let message = fits("a".into(), 3 << 30, 1 << 30).unwrap_err().to_string();
        assert_eq!(message, "a needs 3.00 GiB of memory; there is room for 1.00 GiB of memory");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn reads_meminfo() {
        let text = "MemTotal:       24689764 kB\nMemFree:  1 kB\nMemAvailable:   24000000 kB\n";
        assert_eq!(free_in(text), Some(24_000_000 * 1024));
        assert_eq!(free_in("MemTotal: 1 kB\n"), None);
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
