//! Ctrl-C and SIGTERM: a run ends after its current step or, if that takes long, in the state before it.
//!
//! The first signal requests the end. A step that takes longer than [`STEP_GRACE_PERIOD`] is not waited for: before
//! every step that may take long, a copy of the run is kept ([`set_rescue`]), and another thread saves that copy and
//! ends the process. The same applies while the final files are written; once they take their names
//! ([`lock_renaming`]), the run is done.
//!
//! The second signal changes nothing, so that an impatient user does not lose a run. The third ends the process at
//! once without a checkpoint, but never while the final files are being renamed.

use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thalweg_io::atomic::remove_own_temporaries;

use crate::console::{Reporter, print_to_stderr};

/// True after the first signal.
static STOP: AtomicBool = AtomicBool::new(false);

/// The number of signals so far.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// The exit code of a process that was ended by Ctrl-C, by convention 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// How long the current step may still take after the first signal. A longer period loses fewer steps, a shorter one
/// ends sooner.
const STEP_GRACE_PERIOD: Duration = Duration::from_millis(800);

/// A function that saves a run whose step takes long, and reports it; it returns true if the process may end.
pub type Rescue = Box<dyn FnOnce() -> bool + Send>;

static RESCUE: Mutex<Option<Rescue>> = Mutex::new(None);

/// Locked by whoever ends the run.
static ENDING: Mutex<()> = Mutex::new(());

/// Locked while the final files are renamed; true once they have their names.
static NAMING: Mutex<bool> = Mutex::new(false);

/// Returns true if a signal has requested the end of the run.
pub fn is_stop_requested() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Sets what is done if a signal comes and the step does not end in time; `None` waits for the step.
pub fn set_rescue(rescue: Option<Rescue>) {
    *lock_mutex(&RESCUE) = rescue;
}

/// Claims the end of the run: while the guard is kept, no other thread ends it. The kept copy is dropped.
pub fn claim_ending() -> MutexGuard<'static, ()> {
    let guard = lock_mutex(&ENDING);
    set_rescue(None);
    guard
}

/// While the guard is kept, no signal ends the process, nor after its value was set to true.
pub fn lock_renaming() -> MutexGuard<'static, bool> {
    lock_mutex(&NAMING)
}

fn lock_mutex<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    // The value is intact even if a thread panicked while it held the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs the handler of Ctrl-C and SIGTERM.
pub fn install_signal_handler(voice: Reporter) {
    let heard = ctrlc::set_handler(move || {
        STOP.store(true, Ordering::Relaxed);
        match CALLS.fetch_add(1, Ordering::Relaxed) {
            // The handler returns at once, so a thread of its own waits and saves.
            0 => drop(std::thread::spawn(rescue_run)),
            1 => {
                let note = "the run ends and is saved if possible; a third Ctrl-C ends it at once without saving";
                print_to_stderr(&format!("{note}\n"));
            }
            _ => exit_unless_renamed(),
        }
    });
    if let Err(error) = heard {
        voice.warn(&format!("Ctrl-C will end the run without a checkpoint ({error})"));
    }
}

/// Saves the kept copy and ends the process, unless another thread has started to end the run by then.
fn rescue_run() {
    std::thread::sleep(STEP_GRACE_PERIOD);
    // This waits if the main thread is ending the run. `claim_ending` drops the copy, so none is left then.
    let _guard = lock_mutex(&ENDING);
    let held = lock_mutex(&RESCUE).take();
    if held.is_some_and(|rescue| rescue()) {
        end_process();
    }
}

/// Ends the process at once, unless all files to be written exist or are about to.
fn exit_unless_renamed() {
    // The lock is not available while files are renamed, so the process never ends between two of them.
    let is_named = lock_mutex(&NAMING);
    if !*is_named {
        end_process();
    }
}

/// Ends the process without leaving half-written files.
fn end_process() -> ! {
    remove_own_temporaries();
    exit(INTERRUPTED.into())
}
