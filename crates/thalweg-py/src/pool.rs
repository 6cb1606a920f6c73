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

use crate::error::raised;

/// The pool, and the process that its threads belong to: a forked process has none of them and creates its own pool.
struct Pool {
    process: u32,
    threads: Option<usize>,
    pool: Option<Arc<ThreadPool>>,
}

/// The pool of the process. It is locked only by a thread that has the interpreter lock, and never while that is
/// released, so that no fork can happen while the mutex is locked.
static POOL: Mutex<Pool> = Mutex::new(Pool { process: 0, threads: None, pool: None });

/// The location and the message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// The greatest number of threads.
const MOST: usize = 1024;

/// The interval at which work that can be stopped is checked for signals.
const LOOK: Duration = Duration::from_millis(50);

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut own = held(&POOL);
    if own.process != process::id() {
        // The threads of an inherited pool do not run in this process; it must not wait for them or stop them.
        std::mem::forget(own.pool.take());
        own.process = process::id();
    }
    if let Some(pool) = &own.pool {
        return Ok(Arc::clone(pool));
    }
    let count = own.threads.unwrap_or(0);
    memory::threads(count).map_err(raised)?;
    let named = |n: usize| format!("thalweg {n}");
    let made = ThreadPoolBuilder::new().num_threads(count).thread_name(named).build();
    let made = Arc::new(made.map_err(|error| PyRuntimeError::new_err(format!("cannot start threads: {error}")))?);
    own.pool = Some(Arc::clone(&made));
    Ok(made)
}

/// Sets the number of worker threads; `None` means one per core. Work in progress keeps its threads.
#[pyfunction]
#[pyo3(signature = (count=None))]
pub fn set_threads(count: Option<usize>) -> PyResult<()> {
    if let Some(count) = count.filter(|count| !(1..=MOST).contains(count)) {
        return Err(raised(Error::value("threads", count, format!("1 to {MOST}, whole, or None for all cores"))));
    }
    let mut own = held(&POOL);
    own.threads = count;
    match own.process == process::id() {
        true => drop(own.pool.take()),
        false => std::mem::forget(own.pool.take()),
    }
    Ok(())
}

/// Returns the number of worker threads.
#[pyfunction]
pub fn threads() -> PyResult<usize> {
    Ok(pool()?.current_num_threads())
}

/// Executes work on the pool, without the interpreter lock.
pub fn work<T: Send>(
    py: Python<'_>,
    what: impl FnOnce() -> thalweg_core::base::error::Result<T> + Send,
) -> PyResult<T> {
    let pool = pool()?;
    let done = py.detach(|| pool.install(|| catch_unwind(AssertUnwindSafe(what))));
    done.map_err(|panic| failed(&*panic))?.map_err(raised)
}

/// Executes work that may take long on the pool, without the interpreter lock. After a signal, the progress that `what`
/// receives stops the work at its next report.
pub fn work_watched<T: Send>(
    py: Python<'_>,
    what: impl FnOnce(&mut dyn Progress) -> thalweg_core::base::error::Result<T> + Send,
) -> PyResult<T> {
    let pool = pool()?;
    let stop = AtomicBool::new(false);
    let (done, signal) = py.detach(|| {
        let (told, hears) = channel();
        pool.in_place_scope(|scope| {
            let mut progress = |_: &ProgressReport<'_>| match stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            scope.spawn(move |_| drop(told.send(catch_unwind(AssertUnwindSafe(|| what(&mut progress))))));
            let mut signal = None;
            loop {
                match hears.recv_timeout(LOOK) {
                    Ok(done) => break (Some(done), signal),
                    Err(RecvTimeoutError::Disconnected) => break (None, signal),
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(raised) = Python::attach(|py| py.check_signals()) {
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
        (Some(done), None) => done.map_err(|panic| failed(&*panic))?.map_err(raised),
        (None, None) => Err(failed(&"the work ended without a result")),
    }
}

/// Records panics instead of printing them.
pub fn note_panics() {
    std::panic::set_hook(Box::new(|panic| *held(&PANIC) = panic.to_string()));
}

fn failed(panic: &(dyn Any + Send)) -> PyErr {
    let said = panic.downcast_ref::<&str>().map(|said| (*said).to_string());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    let noted = std::mem::take(&mut *held(&PANIC));
    let words = if noted.is_empty() { said } else { noted };
    PyRuntimeError::new_err(format!("thalweg failed because of a bug; please report it: {words}"))
}

/// Panics on the pool, for the tests.
#[pyfunction]
pub fn _panic(py: Python<'_>, words: String) -> PyResult<()> {
    work(py, move || -> thalweg_core::base::error::Result<()> { std::panic::panic_any(words) })
}
