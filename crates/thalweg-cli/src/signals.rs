//! Ctrl-C and SIGTERM: a run ends after its current step or, if that takes long, in the state before it.
//!
//! The first signal requests the end. A step that takes longer than [`PATIENCE`] is not waited for: before every step
//! that may take long, a copy of the run is [held](hold), and another thread saves that copy and ends the process. The
//! same holds while the final files are written; once they take their [names](naming), the run is done.
//!
//! The second signal changes nothing, so that an impatient user does not lose a run. The third ends the process at
//! once without a checkpoint, but never while the final files are being renamed.

use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thalweg_io::atomic::abandon;

use crate::console::{Voice, eprint};

/// True after the first signal.
static STOP: AtomicBool = AtomicBool::new(false);

/// The number of signals so far.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// The exit code of a process that was ended by Ctrl-C, by convention 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// How long the current step may still take after the first signal.
const PATIENCE: Duration = Duration::from_millis(800);

/// A function that saves a run whose step takes long, and reports it; it returns true if the process may end.
pub type Rescue = Box<dyn FnOnce() -> bool + Send>;

static HELD: Mutex<Option<Rescue>> = Mutex::new(None);

/// Locked by whoever ends the run.
static ENDING: Mutex<()> = Mutex::new(());

/// Locked while the final files are renamed; true once they have their names.
static NAMING: Mutex<bool> = Mutex::new(false);

/// Returns true if a signal has requested the end of the run.
pub fn is_asked() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Sets what is done if a signal comes and the step does not end in time; `None` waits for the step.
pub fn hold(rescue: Option<Rescue>) {
    *lock(&HELD) = rescue;
}

/// Claims the end of the run: while the guard is kept, no other thread ends it. The held copy is dropped.
pub fn ending() -> MutexGuard<'static, ()> {
    let guard = lock(&ENDING);
    hold(None);
    guard
}

/// While the guard is kept, no signal ends the process, nor after its value was set to true.
pub fn naming() -> MutexGuard<'static, bool> {
    lock(&NAMING)
}

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    // The value is intact even if a thread panicked while it held the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs the handler of Ctrl-C and SIGTERM.
pub fn listen(voice: Voice) {
    let heard = ctrlc::set_handler(move || {
        STOP.store(true, Ordering::Relaxed);
        match CALLS.fetch_add(1, Ordering::Relaxed) {
            0 => drop(std::thread::spawn(rescue)),
            1 => eprint("ending, and saving the run if possible; a third Ctrl-C ends at once, without saving\n"),
            _ => leave(),
        }
    });
    if let Err(error) = heard {
        voice.warn(&format!("Ctrl-C will end the run without a checkpoint ({error})"));
    }
}

/// Saves the held copy and ends the process, unless another thread has started to end the run by then.
fn rescue() {
    std::thread::sleep(PATIENCE);
    let _guard = lock(&ENDING);
    let held = lock(&HELD).take();
    if held.is_some_and(|rescue| rescue()) {
        end();
    }
}

/// Ends the process at once, unless all files to be written exist or are about to.
fn leave() {
    let is_named = lock(&NAMING);
    if !*is_named {
        end();
    }
}

/// Ends the process without leaving half-written files.
fn end() -> ! {
    abandon();
    exit(INTERRUPTED.into())
}
