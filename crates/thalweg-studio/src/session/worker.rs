//! [`Worker`]: the window's end of the thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use thalweg::recipe::Recipe;

use crate::platform;
use crate::session::board::Board;
use crate::session::order::Order;
use crate::session::snapshot::Snapshot;
use crate::session::work::Work;

/// The window's end of the worker.
pub struct Worker {
    orders: Sender<Order>,
    board: Arc<Board>,
}

impl Worker {
    /// Starts the thread on a recipe. `wake` is called whenever there is something new to see.
    ///
    /// # Errors
    /// When the recipe cannot begin, or the system gives no thread.
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
        platform::spawn("worker", work).map_err(|error| format!("the system gives no thread ({error})"))?;
        Ok(Self { orders, board })
    }

    /// Tells it something. A worker that has ended hears nothing, and that is no harm.
    pub fn tell(&self, order: Order) {
        let _ = self.orders.send(order);
    }

    /// Whether the thread has broken down: a fault of the program's.
    pub fn is_broken(&self) -> bool {
        self.board.is_broken()
    }

    /// The latest snapshot.
    pub fn latest(&self) -> Option<Arc<Snapshot>> {
        self.board.latest()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.tell(Order::Quit);
        // A step under way ends by itself, and nobody waits for it; but files are not left half-written.
        while self.board.is_writing() && !self.is_broken() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
