//! Where work is done: on a pool of threads of our own, the interpreter let go. A panic becomes RuntimeError.

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

/// The pool, and the process whose threads it has: a fork has none of them and makes its own.
struct Pool {
    process: u32,
    threads: Option<usize>,
    pool: Option<Arc<ThreadPool>>,
}

/// Taken only by whoever holds the interpreter, and never while it is let go: so a fork cannot come while it is held.
static POOL: Mutex<Pool> = Mutex::new(Pool { process: 0, threads: None, pool: None });

/// Where the last panic was, and what it said.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Most threads that may be asked for.
const MOST: usize = 1024;

/// How often work that may be stopped asks whether it is.
const LOOK: Duration = Duration::from_millis(50);

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut own = held(&POOL);
    if own.process != process::id() {
        // The threads of a pool that was inherited do not run here; nothing may wait for them, nor end them.
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
    let made = Arc::new(made.map_err(|error| PyRuntimeError::new_err(format!("no threads to work with: {error}")))?);
    own.pool = Some(Arc::clone(&made));
    Ok(made)
}

/// Sets how many threads work; `None` is one for each core. What runs goes on with those that it has.
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

/// How many threads work.
#[pyfunction]
pub fn threads() -> PyResult<usize> {
    Ok(pool()?.current_num_threads())
}

/// Does work on the pool, the interpreter let go.
pub fn work<T: Send>(
    py: Python<'_>,
    what: impl FnOnce() -> thalweg_core::base::error::Result<T> + Send,
) -> PyResult<T> {
    let pool = pool()?;
    let done = py.detach(|| pool.install(|| catch_unwind(AssertUnwindSafe(what))));
    done.map_err(|panic| failed(&*panic))?.map_err(raised)
}

/// Does work that may take long on the pool, without the interpreter lock. The progress that `what` is given stops the
/// work at its next report after a signal came.
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
        (None, None) => Err(failed(&"nothing came of it")),
    }
}

/// Takes note of panics in place of printing them.
pub fn note_panics() {
    std::panic::set_hook(Box::new(|panic| *held(&PANIC) = panic.to_string()));
}

fn failed(panic: &(dyn Any + Send)) -> PyErr {
    let said = panic.downcast_ref::<&str>().map(|said| (*said).to_string());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    let noted = std::mem::take(&mut *held(&PANIC));
    let words = if noted.is_empty() { said } else { noted };
    PyRuntimeError::new_err(format!("thalweg failed, which is a fault of its own; please report it: {words}"))
}

/// Panics on the pool: for the tests.
#[pyfunction]
pub fn _panic(py: Python<'_>, words: String) -> PyResult<()> {
    work(py, move || -> thalweg_core::base::error::Result<()> { std::panic::panic_any(words) })
}
