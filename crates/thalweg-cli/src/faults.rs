//! Faults: what happens if the system or this program fails; and, in builds for tests, the injection of faults.

use std::sync::Mutex;

use thalweg_core::Result;

/// The message and the location of the last panic.
static FAULT: Mutex<String> = Mutex::new(String::new());

/// Silences panics, whose messages [`catch_faults`] returns, and turns kills by the system into errors where possible.
pub fn install_fault_hooks() {
    std::panic::set_hook(Box::new(|fault| {
        let at = fault.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
        let what = fault.payload_as_str().unwrap_or("of an unknown kind");
        // The hook runs in the thread that panics, so the message is stored for `catch_faults`.
        if let Ok(mut last) = FAULT.lock() {
            *last = format!(
                "internal error in thalweg{at}; please report it: {}",
                thalweg_core::base::names::format_short(what)
            );
        }
    }));
    // Beyond the largest allowed file size, writing fails with an error instead of killing the process. If memory is
    // exhausted the process aborts after its one message, with an exit code and without a core dump.
    #[cfg(unix)]
    {
        use std::sync::Arc;
        use std::sync::atomic::AtomicBool;

        use signal_hook::consts;
        let _ = signal_hook::flag::register(consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
        let _ = signal_hook::flag::register_conditional_shutdown(consts::SIGABRT, 1, Arc::new(AtomicBool::new(true)));
    }
    #[cfg(debug_assertions)]
    inject_faults();
}

/// Does `work`; an error or a panic becomes a message of one line.
pub fn catch_faults<T>(work: impl FnOnce() -> Result<T>) -> std::result::Result<T, String> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err(FAULT
            .lock()
            .map_or_else(|_| "internal error in thalweg; please report it".to_string(), |fault| fault.clone())),
    }
}

/// Injects faults according to the environment variable `THALWEG_FAULT`, in builds for tests: `fail:N` makes the N-th
/// change to the disk fail, `full:N` all from that one on, `die:N` ends the process there as a kill would, `slow:N`
/// makes it take two seconds, and `tell:0` only reports each change.
#[cfg(debug_assertions)]
fn inject_faults() {
    use std::io::{Error, ErrorKind};
    use std::sync::atomic::{AtomicU64, Ordering};

    let Ok(fault) = std::env::var("THALWEG_FAULT") else { return };
    let Some((kind, number)) = fault.split_once(':') else { return };
    let (kind, number) = (kind.to_string(), number.parse::<u64>().unwrap_or(0));
    let count = AtomicU64::new(0);
    thalweg_io::disk::set_watcher(Box::new(move |act, path| {
        let now = count.fetch_add(1, Ordering::Relaxed) + 1;
        // A full disk stays full, so `full` makes all later changes fail too.
        let strikes = if ["full", "tell"].contains(&kind.as_str()) { now >= number } else { now == number };
        if !strikes {
            return Ok(());
        }
        crate::console::print_to_stderr(&format!(
            "fault {now}: {act:?} {}\n",
            thalweg_core::base::names::format_path(path)
        ));
        if kind == "die" {
            // Nothing is cleaned up, as with a real kill.
            #[cfg(unix)]
            let _ = signal_hook::low_level::raise(signal_hook::consts::SIGKILL);
            std::process::abort();
        }
        match kind.as_str() {
            "tell" => return Ok(()),
            "slow" => {
                std::thread::sleep(std::time::Duration::from_secs(2));
                return Ok(());
            }
            _ => {}
        }
        Err(Error::new(ErrorKind::StorageFull, "No space left on device (a fault made for a test)"))
    }));
}
