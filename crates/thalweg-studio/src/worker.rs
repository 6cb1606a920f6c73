//! The worker: a thread of its own that steps a [`Run`]. The window sends it [`Order`]s and reads [`Snapshot`]s; neither
//! ever waits for the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thalweg::Result;
use thalweg::models::droplets::{Droplets, TracePoint};
use thalweg::recipe::Recipe;
use thalweg::recipe::strokes::Stroke;
use thalweg::run::Run;
use thalweg::terrain::Terrain;
use thalweg::terrain::grid::Grid;

use crate::bench::Bench;
use crate::seam;

/// Most cells on a side of a terrain that is shown.
pub const SHOWN: usize = 4096;
/// Steps a second at first: a world that is done in a blink is not watched.
pub const PACE: f64 = 25.0;

/// What the worker is told.
pub enum Order {
    /// Begin this recipe from its start.
    /// The number comes back in snapshots.
    Open(Box<Recipe>, u64),
    /// Go on under an edited recipe: at once where that can be, else from as far back as need be. The number comes
    /// back in snapshots.
    /// The second is the number of strokes that the window knew of: later ones are kept.
    Edit(Box<Recipe>, u64, u64),
    /// Go on by itself, or stop.
    Play(bool),
    /// Take so many steps, then stop.
    Step(u32),
    /// At most so many steps a second; as many as can be without.
    Pace(Option<f64>),
    /// Begin again.
    Restart,
    /// Go back to the mark there, or the last before, and stop.
    Back(MarkAt),
    /// Change the ground by hand.
    Stroke(Stroke),
    /// Follow one droplet from this place (metres from the north-western corner), then let it fall.
    Drop([f64; 2]),
    /// Write all layers into a folder.
    Export(PathBuf),
    /// End the thread.
    Quit,
}

/// Writes a run's files into a folder: the command's own code.
pub type Export = dyn Fn(&Run, &std::path::Path) -> Result<()> + Send + Sync;

/// Where a mark lies in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MarkAt {
    /// Number of the turn: where there is one level, that of the stage.
    pub turn: usize,
    /// Steps taken in it.
    pub step: u32,
}

/// What is done in one of a run's turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnAt {
    /// The label of its stage.
    pub label: String,
    /// The level, from 0, the coarsest.
    pub level: usize,
    /// Its steps.
    pub steps: u32,
    /// Whether its stage is muted.
    pub muted: bool,
}

/// The path of a droplet.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// Counts the droplets that were followed.
    pub number: u64,
    /// Its points.
    pub points: Vec<TracePoint>,
}

/// What the window is shown of the run.
pub struct Snapshot {
    /// Counts states of the ground: the same number, the same ground.
    pub version: u64,
    /// The run's grid.
    pub grid: Grid,
    /// The terrain; of more than [`SHOWN`] cells on a side, averaged down to that.
    pub terrain: Arc<Terrain>,
    /// The terrain as the first model that is no base found it; that of the start without such a model.
    pub before: Arc<Terrain>,
    /// Whether such a model has begun.
    pub eroding: bool,
    /// The recipe of the run as text, with the strokes made by hand.
    pub recipe: Arc<str>,
    /// Number of the last edit that the run knows of.
    pub revision: u64,
    /// Number of the running stage in the recipe, that of all stages when done or while the ground is made finer.
    pub stage: usize,
    /// Number of the running turn, that of all turns when done.
    pub turn: usize,
    /// What is done, in order.
    pub turns: Vec<TurnAt>,
    /// Steps taken in it.
    pub step: u32,
    /// Steps it takes.
    pub steps: u32,
    /// Steps taken and to be taken in all.
    pub all: [u64; 2],
    /// Whether the run is done.
    pub done: bool,
    /// Whether it goes on by itself.
    pub playing: bool,
    /// Steps a second of late.
    pub pace: f64,
    /// Simulated years, where the models know.
    pub years: Option<f64>,
    /// Settings of the droplets that run now, in a stage of them, or fell last by hand.
    pub falling: Option<Droplets>,
    /// Particles started so far.
    pub particles: u64,
    /// Estimate of the seconds to the end.
    pub seconds_left: Option<f64>,
    /// Marks that can be gone back to.
    pub marks: Vec<MarkAt>,
    /// The last droplet that was followed.
    pub trace: Arc<Trace>,
    /// What went wrong last, in words; it goes with the next order that goes well.
    pub problem: Option<String>,
    /// Counts what went wrong, so that the same trouble twice is said twice.
    pub problems: u64,
    /// Strokes made by hand so far.
    pub strokes: u64,
    /// Orders of the hand obeyed or refused so far.
    pub heard: u64,
    /// What was done last, in words, counted.
    pub news: (u64, String),
}

/// The window's end of the worker.
pub struct Worker {
    orders: Sender<Order>,
    board: Arc<Board>,
}

/// Where the latest snapshot hangs.
#[derive(Default)]
pub(crate) struct Board {
    latest: Mutex<Option<Arc<Snapshot>>>,
    /// Files are being written.
    pub(crate) writing: AtomicBool,
    /// The thread has broken down.
    broken: AtomicBool,
}

impl Worker {
    /// Starts the thread on a recipe. `wake` is called whenever there is something new to see.
    ///
    /// # Errors
    /// When the recipe cannot begin, or the system gives no thread.
    pub fn start(
        recipe: Recipe,
        playing: bool,
        export: Option<Arc<Export>>,
        wake: impl Fn() + Send + 'static,
    ) -> std::result::Result<Self, String> {
        let (orders, inbox) = channel();
        let board = Arc::new(Board::default());
        let mut bench = Bench::new(recipe, playing, export).map_err(|error| error.to_string())?;
        let shown = Arc::clone(&board);
        let work = move || {
            bench.board = Some(Arc::clone(&shown));
            let publish = |snapshot: Snapshot| {
                *shown.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(snapshot));
                wake();
            };
            let worked = catch_unwind(AssertUnwindSafe(|| bench.work(&inbox, &publish)));
            if worked.is_err() {
                shown.broken.store(true, Ordering::Release);
                wake();
            }
        };
        seam::spawn("worker", work).map_err(|error| format!("the system gives no thread ({error})"))?;
        Ok(Self { orders, board })
    }

    /// Tells it something. A worker that has ended hears nothing, and that is no harm.
    pub fn tell(&self, order: Order) {
        let _ = self.orders.send(order);
    }

    /// Whether the thread has broken down: a fault of the program's.
    pub fn is_broken(&self) -> bool {
        self.board.broken.load(Ordering::Acquire)
    }

    /// The latest snapshot.
    pub fn latest(&self) -> Option<Arc<Snapshot>> {
        self.board.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.tell(Order::Quit);
        // A step under way ends by itself, and nobody waits for it; but files are not left half-written.
        while self.board.writing.load(Ordering::Acquire) && !self.is_broken() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
