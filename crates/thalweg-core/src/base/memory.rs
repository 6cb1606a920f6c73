//! Whether work fits into memory, asked before it starts.
//!
//! The least of five counts: what the system has free, what the control groups of this process leave, what its own limits on
//! address space and data leave, and what its face [allows](limit_memory). A failed allocation ends a program without a word; a refusal
//! says what is needed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Work that needs less is not weighed: to ask costs more than it tells.
const SMALL: u64 = 8 << 20;

/// Bytes that work may take, beside what the system says; a page has 1 GiB until it asks for more, for nobody tells it what there is.
static ALLOWED: AtomicU64 = AtomicU64::new(if cfg!(target_family = "wasm") { 1 << 30 } else { u64::MAX });

/// Lets each piece of work take so many bytes and no more from now on, however much there is: for the whole process, and
/// without a sum over pieces. `u64::MAX` lifts the limit.
pub fn limit_memory(bytes: u64) {
    ALLOWED.store(bytes, Ordering::Relaxed);
}

/// Refuses work on `what` that needs more bytes than there are. What needs less than 8 MiB is not weighed.
///
/// # Errors
/// [`Error::TooLarge`] when fewer than `need` bytes are [`available`]; with both numbers.
pub fn check_memory(what: &str, need: u64) -> Result<()> {
    if need < SMALL {
        return Ok(());
    }
    available().map_or(Ok(()), |have| fits(what, need, have))
}

/// Refuses to start so many threads where there is no address space for them: a thread that cannot start ends the program.
///
/// # Errors
/// [`Error::TooLarge`] when a limit on address space (known on Linux only) leaves less than they take: 66 MiB a thread for
/// its stack and what the allocator reserves, and 130 MiB beside them.
pub fn threads(count: usize) -> Result<()> {
    /// A stack, and an arena of the allocator; the arena is found in a piece of twice its size.
    const EACH: u64 = (2 + 64) << 20;
    // One more waits for signals.
    let need = EACH.saturating_mul(count as u64 + 1).saturating_add(64 << 20);
    system::address_space().map_or(Ok(()), |have| fits(&format!("to work with {count} threads"), need, have))
}

fn fits(what: &str, need: u64, have: u64) -> Result<()> {
    let shown = |bytes: u64| format!("{bytes} bytes of memory ({:.2} GiB)", bytes as f64 / f64::from(1 << 30));
    if need <= have {
        return Ok(());
    }
    Err(Error::TooLarge { what: what.to_string(), need: shown(need), have: shown(have) })
}

/// Bytes that a piece of work can have without swapping, [`limit_memory`]'s limit among others; `None` where nothing says.
pub fn available() -> Option<u64> {
    let allowed = Some(ALLOWED.load(Ordering::Relaxed)).filter(|bytes| *bytes < u64::MAX);
    [free(), system::left(), allowed].into_iter().flatten().min()
}

/// What the whole system has free.
fn free() -> Option<u64> {
    #[cfg(any(target_os = "linux", target_os = "macos", target_os = "windows", target_os = "freebsd"))]
    {
        let mut system = sysinfo::System::new().ok()?;
        system.refresh_memory();
        Some(system.available_memory()).filter(|bytes| *bytes > 0)
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "windows", target_os = "freebsd")))]
    None
}

/// What limits leave to this process. `sysinfo` knows no limits on address space and data, and counts pages of files that are given back
/// when memory runs short as used by a control group: whoever has read a large file in a container would be refused work that fits.
#[cfg(target_os = "linux")]
mod system {
    use std::path::{Path, PathBuf};

    /// Kept back of a limit on address space: what the allocator reserves and does not use, for this thread and for one that is
    /// started later, as the one that waits for signals.
    const RESERVE: u64 = (32 + 64) << 20;

    pub fn left() -> Option<u64> {
        let text = |path: &Path| std::fs::read_to_string(path).ok();
        let own = |name: &str| text(&Path::new("/proc/self").join(name));
        let groups = own("cgroup").zip(own("mountinfo")).and_then(|(groups, mounts)| in_groups(&groups, &mounts, text));
        let limits = own("limits").unwrap_or_default();
        let under = |limit: &str, used: &str| {
            soft_limit(&limits, limit)?;
            // Each thread of the pool reserves address space with its first piece of memory: let it do so before we count.
            rayon::broadcast(|_| drop(std::hint::black_box(vec![0u8; 16])));
            Some(left_of(&limits, limit, used)?.saturating_sub(RESERVE))
        };
        let address = under("Max address space", "VmSize:");
        let data = under("Max data size", "VmData:");
        [groups, address, data].into_iter().flatten().min()
    }

    /// What the limit on address space leaves, if there is one.
    pub fn address_space() -> Option<u64> {
        let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
        left_of(&limits, "Max address space", "VmSize:")
    }

    fn left_of(limits: &str, limit: &str, used: &str) -> Option<u64> {
        let most = soft_limit(limits, limit)?;
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        Some(most.saturating_sub(kilobytes(&status, used)?))
    }

    /// The bytes of a line `NAME  N kB`.
    pub(super) fn kilobytes(text: &str, name: &str) -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    }

    /// The soft limit of a line of /proc/self/limits; `None` if there is none.
    pub(super) fn soft_limit(limits: &str, name: &str) -> Option<u64> {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    }

    /// What the memory's control groups leave: that of this process and each above it, of either version.
    pub(super) fn in_groups(groups: &str, mounts: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
        const NEW: [&str; 3] = ["memory.max", "memory.current", "inactive_file"];
        const OLD: [&str; 3] = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
        let mut least: Option<u64> = None;
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
            let (kind, names) = match controllers {
                "" => ("cgroup2", NEW),
                list if list.split(',').any(|one| one == "memory") => ("cgroup", OLD),
                _ => continue,
            };
            let Some((top, mut folder)) = folder(mounts, kind, path) else { continue };
            loop {
                let number = |name: &str| read(&folder.join(name))?.trim().parse::<u64>().ok();
                if let (Some(most), Some(used)) = (number(names[0]), number(names[1])) {
                    // Pages of files that nobody uses are given back when memory runs short.
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

    /// Where a hierarchy is mounted, and the folder of a group in it.
    fn folder(mounts: &str, kind: &str, group: &str) -> Option<(PathBuf, PathBuf)> {
        mounts.lines().find_map(|line| {
            let (head, tail) = line.split_once(" - ")?;
            let mut tail = tail.split(' ');
            let (found, options) = (tail.next()?, tail.nth(1)?);
            if found != kind || (kind == "cgroup" && !options.split(',').any(|option| option == "memory")) {
                return None;
            }
            let mut head = head.split(' ').skip(3);
            let (root, top) = (Path::new(head.next()?), PathBuf::from(head.next()?));
            // In a container the group's path may be the host's, and what is mounted a part of it.
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

    pub fn left() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_the_numbers() {
        assert!(fits("a", 1 << 30, 1 << 30).is_ok());
        let message = fits("a", 3 << 30, 1 << 30).unwrap_err().to_string();
        let expected =
            "a needs 3221225472 bytes of memory (3.00 GiB); there is room for 1073741824 bytes of memory (1.00 GiB)";
        assert_eq!(message, expected);
        assert!(check_memory("a", 1).is_ok());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn reads_what_the_system_says() {
        let text = "MemTotal:       24689764 kB\nMemFree:  1 kB\nMemAvailable:   24000000 kB\n";
        assert_eq!(system::kilobytes(text, "MemAvailable:"), Some(24_000_000 * 1024));
        assert_eq!(system::kilobytes("MemTotal: 1 kB\n", "MemAvailable:"), None);
        let limits = "Limit   Soft Limit  Hard Limit  Units\nMax data size  unlimited  unlimited  bytes\n\
                      Max address space         1048576000           unlimited            bytes\n";
        assert_eq!(system::soft_limit(limits, "Max address space"), Some(1_048_576_000));
        assert_eq!(system::soft_limit(limits, "Max data size"), None);
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
        assert!(check_memory("a", u64::MAX).is_err());
    }

    /// Two versions, nested groups, a container that sees a part of the host's tree.
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
        assert_eq!(system::in_groups("0::/a/b\n", &mounts, read), Some(400));
        assert_eq!(system::in_groups("0::/elsewhere\n", &mounts, read), None);
        // Version 1, mounted from a group of the host's on.
        write("one/memory.limit_in_bytes", "5000\n");
        write("one/memory.usage_in_bytes", "1000\n");
        write("one/in/memory.limit_in_bytes", "9223372036854771712\n");
        write("one/in/memory.usage_in_bytes", "900\n");
        let old = format!(
            "31 20 0:27 /docker/x {root}/one rw - cgroup cgroup rw,memory\n31 20 0:28 / /no rw - cgroup c rw,cpu\n"
        );
        let groups = "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x/in\n0::/\n";
        assert_eq!(system::in_groups(groups, &old, read), Some(4000));
        assert_eq!(system::in_groups("4:memory:/not/there\n", &old, read), Some(4000));
        // Both at once: the lesser.
        assert_eq!(system::in_groups("4:memory:/docker/x\n0::/a\n", &(old + &mounts), read), Some(400));
        for broken in ["", "::", "0:", "x:memory", "0::\n"] {
            system::in_groups(broken, "", read);
            system::in_groups(broken, "1 2 3 - \n - \n1 2 3 4 5 - cgroup2\n", read);
        }
    }
}
