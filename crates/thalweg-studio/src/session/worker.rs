//! [`Worker`]: the window's end of the worker's thread.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use thalweg_sim::recipe::Recipe;

use crate::platform;
use crate::session::board::Board;
use crate::session::order::WorkerOrder;
use crate::session::snapshot::SessionSnapshot;
use crate::session::work::SessionLoop;

/// A session that runs outside the window's thread.
pub trait RemoteSession {
    /// Sends an order to the session.
    fn send_order(&self, order: WorkerOrder);
    /// The latest snapshot.
    fn latest_snapshot(&self) -> Option<Arc<SessionSnapshot>>;
    /// Returns true if the session has broken down.
    fn is_broken(&self) -> bool;
    /// Restarts the session from nothing after a breakdown; returns true if that was possible.
    fn restart_session(&self) -> bool;
}

/// The window's end of the worker. Dropping it orders the session to quit.
pub struct Worker(Rc<dyn RemoteSession>);

impl Worker {
    /// Starts the thread with a recipe. `wake` is called whenever there is something new to show.
    ///
    /// # Errors
    /// Returns an error if the recipe cannot be started or the system provides no thread.
    pub fn start(recipe: Recipe, playing: bool, wake: impl Fn() + Send + 'static) -> Result<Self, String> {
        let (orders, inbox) = channel();
        let board = Arc::new(Board::default());
        let shown = Arc::clone(&board);
        let mut work = SessionLoop::new(recipe, playing, Arc::clone(&board)).map_err(|error| error.to_string())?;
        let work = move || {
            // A panic ends only this thread: the window reports it and can still save the recipe.
            if catch_unwind(AssertUnwindSafe(|| work.run(&inbox, &wake))).is_err() {
                shown.set_broken();
                wake();
            }
        };
        platform::spawn_thread("worker", work)
            .map_err(|error| format!("the system cannot start a thread ({error})"))?;
        Ok(Self(Rc::new(Thread { orders, board })))
    }

    /// Returns a worker that runs elsewhere.
    pub fn from_remote(far: Rc<dyn RemoteSession>) -> Self {
        Self(far)
    }
}

impl Deref for Worker {
    type Target = dyn RemoteSession;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.send_order(WorkerOrder::Quit);
    }
}

/// A session in a thread of this process, which cannot be restarted after a breakdown.
struct Thread {
    orders: Sender<WorkerOrder>,
    board: Arc<Board>,
}

impl RemoteSession for Thread {
    fn send_order(&self, order: WorkerOrder) {
        // Sending fails only if the thread has ended, which does no harm.
        drop(self.orders.send(order));
    }

    fn latest_snapshot(&self) -> Option<Arc<SessionSnapshot>> {
        self.board.latest()
    }

    fn is_broken(&self) -> bool {
        self.board.is_broken()
    }

    fn restart_session(&self) -> bool {
        false
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // A step in progress is not waited for, but files must not be left half-written.
        while self.board.is_writing() && !self.board.is_broken() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
