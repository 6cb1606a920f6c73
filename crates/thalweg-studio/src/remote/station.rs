//! [`WorkerStation`]: a session and a painter in a thread that shares no memory with the window, such as a web worker.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use thalweg_core::base::memory;
use thalweg_io::MemoryFiles;
use thalweg_io::zip::zip_files;
use thalweg_sim::recipe::Recipe;
use web_time::Instant;

use crate::painter::{DisplaySettings, PaintJob, paint_terrain};
use crate::remote::wire::{FromStation, PaintedLand, ToStation};
use crate::run_export::{ExportRequest, RunExport};
use crate::session::{Board, SessionLoop, SessionSnapshot, WorkerOrder};

/// While the run is playing, painting may take at most one part in about this many of the time.
const PAINT_TIME_DIVISOR: u32 = 3;

/// A picture that the window requests.
struct DisplayRequest {
    settings: DisplaySettings,
    /// True if the terrain before erosion is included.
    compare: bool,
    /// True if falling droplets are included.
    droplets: bool,
}

/// A session and a painter. The owner passes in the window's messages, calls [`run_turn`](Self::run_turn), and sends
/// the station's messages on.
pub struct WorkerStation {
    work: Option<SessionLoop>,
    /// The files that recipes may refer to.
    files: MemoryFiles,
    board: Arc<Board>,
    /// The snapshot that was sent last.
    sent: Option<Arc<SessionSnapshot>>,
    /// The picture that the window has requested and that has not been painted yet.
    requested: Option<DisplayRequest>,
    painted: Instant,
    cost: Duration,
    post: Box<dyn Fn(Vec<u8>)>,
}

impl WorkerStation {
    /// Creates a station without a world; `post` sends bytes to the window.
    pub fn new(post: impl Fn(Vec<u8>) + 'static) -> Self {
        Self {
            work: None,
            files: MemoryFiles::default(),
            board: Arc::default(),
            sent: None,
            requested: None,
            painted: Instant::now(),
            cost: Duration::ZERO,
            post: Box::new(post),
        }
    }

    /// Handles a message from the window; bytes that are not a valid message are ignored.
    ///
    /// # Panics
    /// Panics if the message says so, for tests of what happens then.
    pub fn receive(&mut self, bytes: &[u8]) {
        let Ok(said) = postcard::from_bytes::<ToStation>(bytes) else { return };
        match said {
            ToStation::Hold(path, bytes) => self.files.insert(path, bytes),
            ToStation::Paint(settings, compare, droplets) => {
                self.requested = Some(DisplayRequest { settings, compare, droplets });
            }
            ToStation::Order(message) => match (message.into_order(&self.files), &mut self.work) {
                (Ok(WorkerOrder::Export(request, path)), Some(_)) => self.send_export(&request, &path),
                (Ok(order), Some(work)) => work.queue_order(order),
                (Ok(WorkerOrder::Open(recipe, revision)), None) => self.start_session(*recipe, revision),
                // Before there is a world, other orders are ignored.
                _ => {}
            },
            ToStation::Allow(bytes) => memory::limit_memory(bytes),
            ToStation::Break => panic!("the station fails because a message requested it"),
        }
    }

    /// Runs one turn: a step if it is due, then a picture if one is requested. Returns how long there is nothing to
    /// do; `None` means until the next message.
    pub fn run_turn(&mut self) -> Option<Duration> {
        let work = self.work.as_mut()?;
        work.run_turn(&|| {});
        let rest = work.idle_time();
        self.send_snapshot();
        // The pause after a picture grows with its cost, so slow pictures of large terrains do not stop the simulation.
        let waits = self.cost * PAINT_TIME_DIVISOR;
        // Nothing competes with painting while the run is paused.
        let is_time = rest.is_none() || self.painted.elapsed() >= waits;
        match (self.requested.take_if(|_| is_time), &self.requested) {
            (Some(request), _) => self.paint_latest(request),
            // A picture is due later: the owner calls again when either the next step or the picture is due.
            (None, Some(_)) => return Some(rest.map_or(waits, |rest| rest.min(waits))),
            (None, None) => {}
        }
        self.work.as_ref().and_then(SessionLoop::idle_time)
    }

    fn start_session(&mut self, recipe: Recipe, revision: u64) {
        match SessionLoop::new(recipe.clone(), false, Arc::clone(&self.board)) {
            Ok(mut work) => {
                work.queue_order(WorkerOrder::Open(Box::new(recipe), revision));
                self.work = Some(work);
            }
            // The window has already started the same recipe, so this happens only if it fails again after a
            // breakdown.
            Err(error) => self.send(&FromStation::Unpainted(error.to_string())),
        }
    }

    /// Sends the latest snapshot, if it has changed.
    fn send_snapshot(&mut self) {
        let Some(latest) = self.board.latest() else { return };
        if self.sent.as_ref().is_none_or(|sent| !Arc::ptr_eq(sent, &latest)) {
            self.send(&FromStation::Shown(Arc::clone(&latest)));
            self.sent = Some(latest);
        }
    }

    /// Paints the latest snapshot, and sends the picture.
    fn paint_latest(&mut self, request: DisplayRequest) {
        let DisplayRequest { settings, compare, droplets } = request;
        let Some(latest) = self.board.latest() else { return };
        let start = Instant::now();
        let painted = paint_terrain(PaintJob {
            version: latest.version,
            revision: latest.revision,
            terrain: Arc::clone(&latest.terrain),
            before: Arc::clone(&latest.before),
            eroding: latest.eroding,
            falling: latest.falling.clone().filter(|_| droplets),
            droplets,
            compare,
            wants: settings.clone(),
        });
        self.send(&match painted {
            Ok(painted) => FromStation::Painted(Box::new(PaintedLand::from_painted(painted, &settings))),
            Err(problem) => FromStation::Unpainted(problem),
        });
        (self.painted, self.cost) = (Instant::now(), start.elapsed());
    }

    /// Writes an export in memory as the command does on the disk, and sends it to the user: a single file as it is, a
    /// folder as a ZIP archive.
    fn send_export(&self, request: &ExportRequest, path: &Path) {
        let Some(work) = &self.work else { return };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let written = MemoryFiles::default();
        // Heights are one file with the user's name; everything else fills the root folder of the archive.
        let place = written.path(if request.export == RunExport::Heights { &*name } else { "" });
        let result = request.write(work.session().run(), place);
        let files = written.remove_folder("");
        let bytes = result.and_then(|_| match (&files[..], request.export) {
            ([(_, bytes)], RunExport::Heights) => Ok(bytes.to_vec()),
            _ => zip_files(&files),
        });
        self.send(&match bytes {
            Ok(bytes) => FromStation::File(name, bytes),
            Err(error) => FromStation::Unwritten(error.to_string()),
        });
    }

    fn send(&self, said: &FromStation) {
        // No message fails to serialize, so nothing is lost here.
        if let Ok(bytes) = postcard::to_stdvec(said) {
            (self.post)(bytes);
        }
    }
}
