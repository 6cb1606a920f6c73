//! Ctrl-C and SIGTERM: a run ends after its running step, or, where that lasts, as it stood before it.
//!
//! The first signal asks. A step that lasts longer than [`PATIENCE`] is not waited for: before every step that may last, a copy of
//! the run is [held](hold), and another thread saves that and ends the process. So it is while the final files are written; once
//! they take their [names](naming) the run is done.
//!
//! The second signal changes nothing: whoever is impatient shall not lose a run by it. The third leaves at once, without a
//! checkpoint; but never between two names of the final files.

use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thalweg_io::atomic::abandon;

use crate::console::{Voice, eprint};

/// Set by the first signal.
static STOP: AtomicBool = AtomicBool::new(false);

/// How many signals there were.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// What a process ended by Ctrl-C returns, by custom (128 + SIGINT).
pub const INTERRUPTED: u8 = 130;

/// How long a step may still take.
const PATIENCE: Duration = Duration::from_millis(800);

/// What saves a run that lasts, and says so; whether the process may end.
pub type Rescue = Box<dyn FnOnce() -> bool + Send>;

static HELD: Mutex<Option<Rescue>> = Mutex::new(None);

/// Held by whoever ends the run.
static ENDING: Mutex<()> = Mutex::new(());

/// Held while the final files take their names; whether they have.
static NAMING: Mutex<bool> = Mutex::new(false);

/// Whether a signal has asked the run to stop.
pub fn is_asked() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// What is to be done when a signal comes and nothing happens; `None` waits.
pub fn hold(rescue: Option<Rescue>) {
    *lock(&HELD) = rescue;
}

/// Ends the run here, and nowhere else as long as this is kept; what was held is given up.
pub fn ending() -> MutexGuard<'static, ()> {
    let guard = lock(&ENDING);
    hold(None);
    guard
}

/// No signal ends the process as long as this is kept, nor after it was set to true.
pub fn naming() -> MutexGuard<'static, bool> {
    lock(&NAMING)
}

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    // Whoever failed while he held it had it whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Catches Ctrl-C and SIGTERM.
pub fn listen(voice: Voice) {
    let heard = ctrlc::set_handler(move || {
        STOP.store(true, Ordering::Relaxed);
        match CALLS.fetch_add(1, Ordering::Relaxed) {
            0 => drop(std::thread::spawn(rescue)),
            1 => eprint("ending, and keeping what can be kept; a third Ctrl-C ends at once, without\n"),
            _ => leave(),
        }
    });
    if let Err(error) = heard {
        voice.warn(&format!("Ctrl-C will end the run without a checkpoint ({error})"));
    }
}

/// Saves what is held and ends the process, if by then nobody else has begun to.
fn rescue() {
    std::thread::sleep(PATIENCE);
    let _guard = lock(&ENDING);
    let held = lock(&HELD).take();
    if held.is_some_and(|rescue| rescue()) {
        end();
    }
}

/// Ends the process at once, unless all that it is to write is there, or is about to be.
fn leave() {
    let is_named = lock(&NAMING);
    if !*is_named {
        end();
    }
}

/// Ends the process, and leaves nothing half-written.
fn end() -> ! {
    abandon();
    exit(INTERRUPTED.into())
}
