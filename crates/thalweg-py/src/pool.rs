//! Execution of work on the package's own thread pool, without the interpreter lock. A panic becomes a RuntimeError.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use thalweg_core::base::memory;
use thalweg_core::{Error, Progress, ProgressReport};

use crate::error::to_python_error;

/// The pool, and the process that its threads belong to: a forked process has none of them and creates its own pool.
struct ProcessPool {
    process: u32,
    threads: Option<usize>,
    pool: Option<Arc<ThreadPool>>,
}

/// The pool of the process. It is locked only by a thread that has the interpreter lock, and never while that is
/// released, so that no fork can happen while the mutex is locked.
// The process is 0 at first, which no process has, so the first use sets it.
static POOL: Mutex<ProcessPool> = Mutex::new(ProcessPool { process: 0, threads: None, pool: None });

/// The location and the message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// The greatest number of threads.
const MAX_THREADS: usize = 1024;

/// The interval at which work that can be stopped is checked for signals.
// A shorter interval takes the interpreter lock more often; a longer one delays the reaction to Ctrl+C.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

fn lock_despite_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ensure_pool() -> PyResult<Arc<ThreadPool>> {
    let mut own = lock_despite_poison(&POOL);
    if own.process != process::id() {
        // The threads of an inherited pool do not run in this process; it must not wait for them or stop them.
        std::mem::forget(own.pool.take());
        own.process = process::id();
    }
    if let Some(pool) = &own.pool {
        return Ok(Arc::clone(pool));
    }
    let count = own.threads.unwrap_or(0);
    // A thread for which there is no address space would abort the process, so this is checked first.
    memory::check_thread_memory(count).map_err(to_python_error)?;
    let named = |n: usize| format!("thalweg {n}");
    let made = ThreadPoolBuilder::new().num_threads(count).thread_name(named).build();
    let made = made.map_err(|error| {
        PyRuntimeError::new_err(format!("the threads cannot be started: {error}; use fewer with set_threads"))
    });
    let made = Arc::new(made?);
    own.pool = Some(Arc::clone(&made));
    Ok(made)
}

/// Sets the number of worker threads. Results do not depend on it, and work in progress keeps its threads.
///
/// Parameters
/// ----------
/// count : int, 1 to 1024, optional
///     Number of threads. By default, one for each core.
///
/// Raises
/// ------
/// ValueError
///     If the number is out of range.
///
/// Examples
/// --------
/// >>> tw.set_threads(4)
#[pyfunction]
#[pyo3(signature = (count=None))]
pub fn set_threads(count: Option<usize>) -> PyResult<()> {
    if let Some(count) = count.filter(|count| !(1..=MAX_THREADS).contains(count)) {
        return Err(to_python_error(Error::invalid_value(
            "threads",
            count,
            format!("a whole number from 1 to {MAX_THREADS}, or None for all cores"),
        )));
    }
    let mut own = lock_despite_poison(&POOL);
    own.threads = count;
    match own.process == process::id() {
        // Dropping a pool stops its threads when their work is done; those of another process do not exist here.
        true => drop(own.pool.take()),
        false => std::mem::forget(own.pool.take()),
    }
    Ok(())
}

/// Returns the number of worker threads, as an int.
#[pyfunction]
pub fn threads() -> PyResult<usize> {
    Ok(ensure_pool()?.current_num_threads())
}

/// Executes work on the pool, without the interpreter lock.
pub fn run_on_pool<T: Send>(
    py: Python<'_>,
    what: impl FnOnce() -> thalweg_core::base::error::Result<T> + Send,
) -> PyResult<T> {
    let pool = ensure_pool()?;
    // The panic is caught on the pool's thread; it must not unwind through the interpreter.
    let done = py.detach(|| pool.install(|| catch_unwind(AssertUnwindSafe(what))));
    done.map_err(|panic| panic_to_error(&*panic))?.map_err(to_python_error)
}

/// Executes work that may take long on the pool, without the interpreter lock. After a signal, the progress that `what`
/// receives stops the work at its next report.
///
/// `receiver` is a function of Python. At each check for signals it is called with the latest report: the name of the
/// task, the number of finished steps and their total number. The work stops if the function raises an exception.
pub fn work_watched<T: Send>(
    py: Python<'_>,
    receiver: Option<&Py<PyAny>>,
    what: impl FnOnce(&mut dyn Progress) -> thalweg_core::base::error::Result<T> + Send,
) -> PyResult<T> {
    let pool = ensure_pool()?;
    let stop = AtomicBool::new(false);
    let latest: Mutex<Option<(String, u64, u64)>> = Mutex::new(None);
    let (done, signal) = py.detach(|| {
        let (told, hears) = channel();
        // The work runs on the pool while this thread waits and looks for signals, because Python handles them in its
        // main thread only.
        pool.in_place_scope(|scope| {
            let mut progress = |report: &ProgressReport<'_>| {
                if receiver.is_some() {
                    *lock_despite_poison(&latest) = Some((report.task.to_string(), report.done, report.total));
                }
                match stop.load(Ordering::Relaxed) {
                    // Relaxed order is enough: the flag carries no other data, and a report more or less does no harm.
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            };
            scope.spawn(move |_| drop(told.send(catch_unwind(AssertUnwindSafe(|| what(&mut progress))))));
            // After a signal the loop goes on until the work has stopped, because the scope borrows its data.
            let mut signal = None;
            loop {
                match hears.recv_timeout(SIGNAL_CHECK_INTERVAL) {
                    Ok(done) => break (Some(done), signal),
                    Err(RecvTimeoutError::Disconnected) => break (None, signal),
                    Err(RecvTimeoutError::Timeout) => {
                        // The mutex is released before the function is called, because the work waits for it.
                        let report = lock_despite_poison(&latest).take().filter(|_| signal.is_none());
                        let answer: PyResult<()> = Python::attach(|py| {
                            py.check_signals()?;
                            if let (Some(receiver), Some(report)) = (receiver, report) {
                                receiver.call1(py, report)?;
                            }
                            Ok(())
                        });
                        if let Err(raised) = answer {
                            signal = Some(raised);
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                }
            }
        })
    });
    match (done, signal) {
        (_, Some(signal)) => Err(signal),
        (Some(done), None) => done.map_err(|panic| panic_to_error(&*panic))?.map_err(to_python_error),
        (None, None) => Err(panic_to_error(&"the computation ended without a result")),
    }
}

/// Records panics instead of printing them.
pub fn note_panics() {
    std::panic::set_hook(Box::new(|panic| *lock_despite_poison(&PANIC) = panic.to_string()));
}

fn panic_to_error(panic: &(dyn Any + Send)) -> PyErr {
    let said = panic.downcast_ref::<&str>().map(|said| (*said).to_string());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    // The recorded message includes the location in the source; that of the payload does not.
    let noted = std::mem::take(&mut *lock_despite_poison(&PANIC));
    let words = if noted.is_empty() { said } else { noted };
    PyRuntimeError::new_err(format!("thalweg failed because of a bug; please report it: {words}"))
}

/// Panics on the pool, for the tests.
#[pyfunction]
pub fn _panic(py: Python<'_>, words: String) -> PyResult<()> {
    run_on_pool(py, move || -> thalweg_core::base::error::Result<()> { std::panic::panic_any(words) })
}
