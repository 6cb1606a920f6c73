//! [`LazyValue`]: a value that is computed once by the first thread that needs it, while others wait.

use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::ThreadPoolBuilder;

use thalweg_core::{Error, Result};

/// A value that is computed when it is first needed.
#[derive(Debug)]
pub(super) struct LazyValue<T> {
    value: OnceLock<T>,
    making: Mutex<()>,
}

impl<T> Default for LazyValue<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), making: Mutex::new(()) }
    }
}

impl<T: Send + Sync> LazyValue<T> {
    /// Returns the value, if it has been computed.
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// Returns the value, and computes it first if necessary. If that fails, the next caller tries again.
    ///
    /// It is computed on a separate thread pool: a pool thread that waits for a part of its own work takes up other
    /// work meanwhile, and if that work waited for this value, the two would wait for each other for ever.
    ///
    /// # Errors
    /// Returns the errors of `make`; also an error if there is not enough memory for the threads.
    pub fn get_or_make(&self, make: impl FnOnce() -> Result<T> + Send) -> Result<&T> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        // A thread that panicked while computing the value left nothing behind.
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have computed the value while this one waited for the lock.
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = run_on_new_pool(make)??;
        Ok(self.value.get_or_init(|| value))
    }
}

/// Runs work on a new pool of as many threads as the caller's pool has, while the caller blocks. WebAssembly without
/// threads has only one thread, which takes up no other work meanwhile: there the work runs on the calling thread.
fn run_on_new_pool<R: Send>(work: impl FnOnce() -> R + Send) -> Result<R> {
    if cfg!(all(target_family = "wasm", not(target_feature = "atomics"))) {
        return Ok(work());
    }
    let count = rayon::current_num_threads();
    thalweg_core::base::memory::check_thread_memory(count)?;
    let refused =
        |error: &dyn ToString| Error::invalid_value("threads", count, format!("fewer ({})", error.to_string()));
    let pool = ThreadPoolBuilder::new().num_threads(count).build().map_err(|error| refused(&error))?;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || pool.install(work));
        match thread.map_err(|error| refused(&error))?.join() {
            Ok(done) => Ok(done),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rayon::prelude::*;

    use super::*;

    /// Every thread of the pool requests the value at once, while the thread that computes it needs the pool's other
    /// threads.
    #[test]
    fn it_is_made_once_and_nobody_waits_for_ever() {
        for threads in [1, 2, 3] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (once, made) = (LazyValue::default(), AtomicUsize::new(0));
            let sums: Vec<u64> = pool.install(|| {
                let ask = |_| {
                    let make = || {
                        made.fetch_add(1, Ordering::SeqCst);
                        Ok((0..100_000u64).into_par_iter().map(|n| n ^ 5).sum())
                    };
                    *once.get_or_make(make).unwrap()
                };
                (0..16).into_par_iter().map(ask).collect()
            });
            assert!(sums.iter().all(|sum| *sum == sums[0]) && made.into_inner() == 1);
        }
    }

    #[test]
    fn what_failed_is_tried_again() {
        let once = LazyValue::default();
        assert!(once.get_or_make(|| Err::<u32, _>(Error::Recipe("no".into()))).is_err() && once.get().is_none());
        assert_eq!(*once.get_or_make(|| Ok(7)).unwrap(), 7);
        assert_eq!(*once.get_or_make(|| Err(Error::Recipe("no".into()))).unwrap(), 7);
    }
}
