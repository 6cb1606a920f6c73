//! [`Board`]: holds the latest snapshot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::session::snapshot::SessionSnapshot;

/// The latest snapshot and the state of the worker's thread, shared between the threads.
#[derive(Default)]
pub(crate) struct Board {
    latest: Mutex<Option<Arc<SessionSnapshot>>>,
    /// True while files are being written.
    writing: AtomicBool,
    /// True if the thread has broken down.
    broken: AtomicBool,
}

impl Board {
    /// Publishes a snapshot.
    pub fn publish(&self, snapshot: impl Into<Arc<SessionSnapshot>>) {
        // A poisoned lock is harmless here: the value is replaced as a whole.
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot.into());
    }

    pub fn latest(&self) -> Option<Arc<SessionSnapshot>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records that files are being written, or not any more.
    pub fn set_writing(&self, on: bool) {
        self.writing.store(on, Ordering::Release);
    }

    pub fn is_writing(&self) -> bool {
        self.writing.load(Ordering::Acquire)
    }

    /// Records that the thread has broken down.
    pub fn set_broken(&self) {
        self.broken.store(true, Ordering::Release);
    }

    /// Records that the thread works again.
    pub fn clear_broken(&self) {
        self.broken.store(false, Ordering::Release);
    }

    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }
}
