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
use crate::session::order::Order;
use crate::session::snapshot::Snapshot;
use crate::session::work::Work;

/// A session that runs outside the window's thread.
pub trait Elsewhere {
    /// Sends an order to the session.
    fn tell(&self, order: Order);
    /// The latest snapshot.
    fn latest(&self) -> Option<Arc<Snapshot>>;
    /// Returns true if the session has broken down.
    fn is_broken(&self) -> bool;
    /// Restarts the session from nothing after a breakdown; returns true if that was possible.
    fn revive(&self) -> bool;
}

/// The window's end of the worker. Dropping it orders the session to quit.
pub struct Worker(Rc<dyn Elsewhere>);

impl Worker {
    /// Starts the thread with a recipe. `wake` is called whenever there is something new to show.
    ///
    /// # Errors
    /// Returns an error if the recipe cannot be started or the system provides no thread.
    pub fn start(recipe: Recipe, playing: bool, wake: impl Fn() + Send + 'static) -> Result<Self, String> {
        let (orders, inbox) = channel();
        let board = Arc::new(Board::default());
        let shown = Arc::clone(&board);
        let mut work = Work::new(recipe, playing, Arc::clone(&board)).map_err(|error| error.to_string())?;
        let work = move || {
            if catch_unwind(AssertUnwindSafe(|| work.run(&inbox, &wake))).is_err() {
                shown.set_broken();
                wake();
            }
        };
        platform::spawn("worker", work).map_err(|error| format!("the system cannot start a thread ({error})"))?;
        Ok(Self(Rc::new(Thread { orders, board })))
    }

    /// Returns a worker that runs elsewhere.
    pub fn elsewhere(far: Rc<dyn Elsewhere>) -> Self {
        Self(far)
    }
}

impl Deref for Worker {
    type Target = dyn Elsewhere;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.tell(Order::Quit);
    }
}

/// A session in a thread of this process, which cannot be restarted after a breakdown.
struct Thread {
    orders: Sender<Order>,
    board: Arc<Board>,
}

impl Elsewhere for Thread {
    fn tell(&self, order: Order) {
        // Sending fails only if the thread has ended, which does no harm.
        drop(self.orders.send(order));
    }

    fn latest(&self) -> Option<Arc<Snapshot>> {
        self.board.latest()
    }

    fn is_broken(&self) -> bool {
        self.board.is_broken()
    }

    fn revive(&self) -> bool {
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
