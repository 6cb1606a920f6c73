//! Checks whether work fits into memory before it starts.
//!
//! The available memory is the least of five numbers: the free memory of the system, what the control groups of this
//! process leave, what its own limits on address space and on data leave, and the limit that the application
//! [sets](limit_memory). A failed allocation aborts a program without an explanation, whereas a refusal states what is
//! needed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Work that needs less is not checked: the query would cost more than it is worth.
const SMALL: u64 = 8 << 20;

/// The limit in bytes for one piece of work, in addition to the limits of the system. A web page has 1 GiB until it
/// sets another limit, because a page cannot find out how much memory there is.
static ALLOWED: AtomicU64 = AtomicU64::new(if cfg!(target_family = "wasm") { 1 << 30 } else { u64::MAX });

/// Limits each piece of work from now on to this number of bytes, however much memory is free. The limit applies to the
/// whole process; the needs of several pieces are not added up. `u64::MAX` removes the limit.
///
/// # Examples
/// ```
/// use thalweg_core::Error;
/// use thalweg_core::base::memory::{check_memory, limit_memory};
///
/// limit_memory(1 << 30);
/// let refused = check_memory("a raster of 1 000 000 000 cells", 4_000_000_000);
/// assert!(matches!(refused, Err(Error::TooLarge { .. })));
/// limit_memory(u64::MAX);
/// ```
pub fn limit_memory(bytes: u64) {
    ALLOWED.store(bytes, Ordering::Relaxed);
}

/// Rejects work that needs more bytes than are available; `what` names the work. Work that needs less than 8 MiB is not
/// checked.
///
/// # Errors
/// Returns [`Error::TooLarge`] with both numbers if fewer than `need` bytes are [`available_bytes`].
///
/// # Examples
/// ```
/// use thalweg_core::base::memory::check_memory;
///
/// fn zeros(cells: usize) -> thalweg_core::Result<Vec<f32>> {
///     check_memory("a raster of zeros", 4 * cells as u64)?;
///     Ok(vec![0.0; cells])
/// }
/// assert_eq!(zeros(1000)?.len(), 1000);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn check_memory(what: &str, need: u64) -> Result<()> {
    if need < SMALL {
        return Ok(());
    }
    available_bytes().map_or(Ok(()), |have| check_fits(what, need, have))
}

/// Rejects a number of threads for which there is no address space: a thread that cannot start aborts the program.
///
/// # Errors
/// Returns [`Error::TooLarge`] if a limit on address space (known on Linux only) leaves less than the threads need: 66
/// MiB per thread for its stack and what the allocator reserves, and 130 MiB in addition.
pub fn check_thread_memory(count: usize) -> Result<()> {
    /// A stack, and an arena of the allocator, which is aligned by reserving twice its size.
    const BYTES_PER_THREAD: u64 = (2 + 64) << 20;
    // One more thread waits for signals.
    let need = BYTES_PER_THREAD.saturating_mul(count as u64 + 1).saturating_add(64 << 20);
    system::address_space().map_or(Ok(()), |have| check_fits(&format!("a run with {count} threads"), need, have))
}

fn check_fits(what: &str, need: u64, have: u64) -> Result<()> {
    let shown = |bytes: u64| format!("{bytes} bytes of memory ({:.2} GiB)", bytes as f64 / f64::from(1 << 30));
    if need <= have {
        return Ok(());
    }
    Err(Error::TooLarge { what: what.to_string(), need: shown(need), have: shown(have) })
}

/// Returns the bytes that a piece of work can use without swapping, including the limit of [`limit_memory`]; `None` if
/// nothing is known.
pub fn available_bytes() -> Option<u64> {
    let allowed = Some(ALLOWED.load(Ordering::Relaxed)).filter(|bytes| *bytes < u64::MAX);
    [free_system_bytes(), system::bytes_left_by_limits(), allowed].into_iter().flatten().min()
}

/// Returns the free memory of the whole system.
fn free_system_bytes() -> Option<u64> {
    #[cfg(any(target_os = "linux", target_os = "macos", target_os = "windows", target_os = "freebsd"))]
    {
        let mut system = sysinfo::System::new().ok()?;
        system.refresh_memory();
        Some(system.available_memory()).filter(|bytes| *bytes > 0)
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "windows", target_os = "freebsd")))]
    None
}

/// Limits on the memory of this process. `sysinfo` does not know limits on address space and data. It also counts
/// reclaimable pages of the file cache as used by a control group: a process that has read a large file in a container
/// would be refused work that fits.
#[cfg(target_os = "linux")]
mod system {
    use std::path::{Path, PathBuf};

    /// Subtracted from a limit on address space: what the allocator reserves and does not use, for this thread and for
    /// one that starts later, for example the thread that waits for signals.
    const RESERVE: u64 = (32 + 64) << 20;

    pub fn bytes_left_by_limits() -> Option<u64> {
        let text = |path: &Path| std::fs::read_to_string(path).ok();
        let own = |name: &str| text(&Path::new("/proc/self").join(name));
        let groups = own("cgroup")
            .zip(own("mountinfo"))
            .and_then(|(groups, mounts)| remaining_cgroup_bytes(&groups, &mounts, text));
        let limits = own("limits").unwrap_or_default();
        let under = |limit: &str, used: &str| {
            soft_limit(&limits, limit)?;
            // Each thread of the pool reserves address space with its first allocation. It is made to do so before the
            // free space is counted.
            rayon::broadcast(|_| drop(std::hint::black_box(vec![0u8; 16])));
            Some(remaining_bytes(&limits, limit, used)?.saturating_sub(RESERVE))
        };
        let address = under("Max address space", "VmSize:");
        let data = under("Max data size", "VmData:");
        [groups, address, data].into_iter().flatten().min()
    }

    /// Returns what the limit on address space leaves; `None` if there is no limit.
    pub fn address_space() -> Option<u64> {
        let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
        remaining_bytes(&limits, "Max address space", "VmSize:")
    }

    fn remaining_bytes(limits: &str, limit: &str, used: &str) -> Option<u64> {
        let most = soft_limit(limits, limit)?;
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        Some(most.saturating_sub(parse_kilobytes(&status, used)?))
    }

    /// Parses the bytes of a line `NAME  N kB`.
    pub(super) fn parse_kilobytes(text: &str, name: &str) -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    }

    /// Parses the soft limit of a line of /proc/self/limits; `None` if there is no limit.
    pub(super) fn soft_limit(limits: &str, name: &str) -> Option<u64> {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    }

    /// Returns what the memory control groups of this process and of all groups above it leave, of either version.
    pub(super) fn remaining_cgroup_bytes(
        groups: &str,
        mounts: &str,
        read: impl Fn(&Path) -> Option<String>,
    ) -> Option<u64> {
        const NEW: [&str; 3] = ["memory.max", "memory.current", "inactive_file"];
        const OLD: [&str; 3] = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
        let mut least: Option<u64> = None;
        for line in groups.lines() {
            // A line of /proc/self/cgroup is `number:controllers:path`. Version 2 has an empty list of controllers.
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
            let (kind, names) = match controllers {
                "" => ("cgroup2", NEW),
                list if list.split(',').any(|one| one == "memory") => ("cgroup", OLD),
                _ => continue,
            };
            let Some((top, mut folder)) = find_group_folder(mounts, kind, path) else { continue };
            // The limit of every group above applies as well, up to the mount point.
            loop {
                let number = |name: &str| read(&folder.join(name))?.trim().parse::<u64>().ok();
                if let (Some(most), Some(used)) = (number(names[0]), number(names[1])) {
                    // Inactive pages of the file cache are reclaimed when memory runs short.
                    let stat = read(&folder.join("memory.stat")).unwrap_or_default();
                    let spare = stat.lines().find_map(|line| line.strip_prefix(names[2])?.trim().parse::<u64>().ok());
                    let left = most.saturating_sub(used.saturating_sub(spare.unwrap_or(0)));
                    least = Some(least.map_or(left, |least| least.min(left)));
                }
                if folder == top || !folder.pop() {
                    break;
                }
            }
        }
        least
    }

    /// Returns the mount point of a hierarchy and the folder of a group in it.
    fn find_group_folder(mounts: &str, kind: &str, group: &str) -> Option<(PathBuf, PathBuf)> {
        mounts.lines().find_map(|line| {
            let (head, tail) = line.split_once(" - ")?;
            // A line of /proc/self/mountinfo has the root and the mount point as fields 4 and 5; the file system's
            // type, its source and its options follow the hyphen.
            let mut tail = tail.split(' ');
            let (found, options) = (tail.next()?, tail.nth(1)?);
            if found != kind || (kind == "cgroup" && !options.split(',').any(|option| option == "memory")) {
                return None;
            }
            let mut head = head.split(' ').skip(3);
            let (root, top) = (Path::new(head.next()?), PathBuf::from(head.next()?));
            // In a container, the group's path may be that of the host while only a part of the hierarchy is mounted.
            let inside = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
            Some((top.clone(), top.join(inside)))
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub fn address_space() -> Option<u64> {
        None
    }

    pub fn bytes_left_by_limits() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_the_numbers() {
        assert!(check_fits("a", 1 << 30, 1 << 30).is_ok());
        let message = check_fits("a", 3 << 30, 1 << 30).unwrap_err().to_string();
        let expected = "not enough room for a: 3221225472 bytes of memory (3.00 GiB) required, 1073741824 bytes of memory \
             (1.00 GiB) available";
        assert_eq!(message, expected);
        assert!(check_memory("a", 1).is_ok());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn reads_what_the_system_says() {
        let text = "MemTotal:       24689764 kB\nMemFree:  1 kB\nMemAvailable:   24000000 kB\n";
        assert_eq!(system::parse_kilobytes(text, "MemAvailable:"), Some(24_000_000 * 1024));
        assert_eq!(system::parse_kilobytes("MemTotal: 1 kB\n", "MemAvailable:"), None);
        let limits = "Limit   Soft Limit  Hard Limit  Units\nMax data size  unlimited  unlimited  bytes\n\
                      Max address space         1048576000           unlimited            bytes\n";
        assert_eq!(system::soft_limit(limits, "Max address space"), Some(1_048_576_000));
        assert_eq!(system::soft_limit(limits, "Max data size"), None);
        assert!(available_bytes().is_some_and(|bytes| bytes > 1 << 20));
        assert!(check_memory("a", u64::MAX).is_err());
    }

    /// Two versions, nested groups, and a container that sees a part of the host's hierarchy.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_tightest_group_counts() {
        use std::path::Path;
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        let root = place.path().display();
        // Version 2: the outer group leaves less than the inner one, which has no limit.
        write("two/a/memory.max", "1000\n");
        write("two/a/memory.current", "700\n");
        write("two/a/memory.stat", "anon 5\ninactive_file 100\n");
        write("two/a/b/memory.max", "max\n");
        write("two/a/b/memory.current", "10\n");
        let mounts = format!("30 20 0:26 / {root}/two rw,nosuid - cgroup2 cgroup2 rw\n");
        assert_eq!(system::remaining_cgroup_bytes("0::/a/b\n", &mounts, read), Some(400));
        assert_eq!(system::remaining_cgroup_bytes("0::/elsewhere\n", &mounts, read), None);
        // Version 1, mounted from a group of the host.
        write("one/memory.limit_in_bytes", "5000\n");
        write("one/memory.usage_in_bytes", "1000\n");
        write("one/in/memory.limit_in_bytes", "9223372036854771712\n");
        write("one/in/memory.usage_in_bytes", "900\n");
        let old = format!(
            "31 20 0:27 /docker/x {root}/one rw - cgroup cgroup rw,memory\n31 20 0:28 / /no rw - cgroup c rw,cpu\n"
        );
        let groups = "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x/in\n0::/\n";
        assert_eq!(system::remaining_cgroup_bytes(groups, &old, read), Some(4000));
        assert_eq!(system::remaining_cgroup_bytes("4:memory:/not/there\n", &old, read), Some(4000));
        // Both versions at the same time: the smaller value counts.
        assert_eq!(system::remaining_cgroup_bytes("4:memory:/docker/x\n0::/a\n", &(old + &mounts), read), Some(400));
        for broken in ["", "::", "0:", "x:memory", "0::\n"] {
            system::remaining_cgroup_bytes(broken, "", read);
            system::remaining_cgroup_bytes(broken, "1 2 3 - \n - \n1 2 3 4 5 - cgroup2\n", read);
        }
    }
}
