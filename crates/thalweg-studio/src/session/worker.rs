//! [`Worker`]: the window's end of the thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use thalweg::recipe::Recipe;

use crate::platform;
use crate::session::board::Board;
use crate::session::order::Order;
use crate::session::snapshot::Snapshot;
use crate::session::work::Work;

/// A session that works elsewhere than in a thread of this program.
pub trait Elsewhere {
    /// Tells it something.
    fn tell(&self, order: Order);
    /// The latest snapshot.
    fn latest(&self) -> Option<Arc<Snapshot>>;
    /// Whether it has broken down.
    fn is_broken(&self) -> bool;
    /// Begins anew, from nothing, after it has broken down; whether it could.
    fn revive(&self) -> bool;
}

/// The window's end of the worker.
pub struct Worker(End);

enum End {
    Thread { orders: Sender<Order>, board: Arc<Board> },
    Elsewhere(Rc<dyn Elsewhere>),
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
        Ok(Self(End::Thread { orders, board }))
    }

    /// A worker that is elsewhere.
    pub fn elsewhere(far: Rc<dyn Elsewhere>) -> Self {
        Self(End::Elsewhere(far))
    }

    /// Tells it something. A worker that has ended hears nothing, and that is no harm.
    pub fn tell(&self, order: Order) {
        match &self.0 {
            // A worker that has ended hears nothing.
            End::Thread { orders, .. } => drop(orders.send(order)),
            End::Elsewhere(far) => far.tell(order),
        }
    }

    /// Whether the thread has broken down: a fault of the program's.
    pub fn is_broken(&self) -> bool {
        match &self.0 {
            End::Thread { board, .. } => board.is_broken(),
            End::Elsewhere(far) => far.is_broken(),
        }
    }

    /// Begins anew, from nothing, after the worker has broken down; whether it could. A thread does not.
    pub fn revive(&self) -> bool {
        match &self.0 {
            End::Thread { .. } => false,
            End::Elsewhere(far) => far.revive(),
        }
    }

    /// The latest snapshot.
    pub fn latest(&self) -> Option<Arc<Snapshot>> {
        match &self.0 {
            End::Thread { board, .. } => board.latest(),
            End::Elsewhere(far) => far.latest(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.tell(Order::Quit);
        // A step under way ends by itself, and nobody waits for it; but files are not left half-written.
        if let End::Thread { board, .. } = &self.0 {
            while board.is_writing() && !board.is_broken() {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}
