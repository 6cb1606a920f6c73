//! [`Board`]: where the latest snapshot hangs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::session::snapshot::Snapshot;

/// Where the latest snapshot hangs.
#[derive(Default)]
pub(crate) struct Board {
    latest: Mutex<Option<Arc<Snapshot>>>,
    /// Files are being written.
    writing: AtomicBool,
    /// The thread has broken down.
    broken: AtomicBool,
}

impl Board {
    /// Hangs a snapshot out.
    pub fn show(&self, snapshot: impl Into<Arc<Snapshot>>) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot.into());
    }

    pub fn latest(&self) -> Option<Arc<Snapshot>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says that files are being written, or no more.
    pub fn set_writing(&self, on: bool) {
        self.writing.store(on, Ordering::Release);
    }

    pub fn is_writing(&self) -> bool {
        self.writing.load(Ordering::Acquire)
    }

    /// Says that the thread has broken down.
    pub fn set_broken(&self) {
        self.broken.store(true, Ordering::Release);
    }

    /// Says that it works again.
    pub fn mend(&self) {
        self.broken.store(false, Ordering::Release);
    }

    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }
}
