//! [`Link`]: the window's end of the connection to a session and a painter that run elsewhere.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use thalweg_core::base::memory;
use thalweg_io::MemoryFiles;
use thalweg_sim::recipe::Recipe;

use crate::painter::{PaintJob, Painted, ViewPainter};
use crate::remote::wire::{FromStation, OrderMessage, ToStation};
use crate::session::{Board, RemoteSession, SessionLoop, SessionSnapshot, WorkerOrder};

/// A function that sends bytes to a station.
pub type Post = Box<dyn Fn(Vec<u8>)>;

/// A file for the user: its name and bytes, or an error message.
pub type DeliveredFile = Result<(String, Vec<u8>), String>;

/// The window's end of the connection. The station's messages are passed to [`Link::receive`].
pub struct Link {
    /// Starts another station, and returns the function that sends to it.
    make: Box<dyn Fn() -> Post>,
    post: RefCell<Post>,
    board: Board,
    painted: RefCell<Option<Result<Painted, String>>>,
    painting: Cell<bool>,
    files: RefCell<Vec<DeliveredFile>>,
    /// The files that recipes may refer to.
    memory: MemoryFiles,
    /// Those of the files that every station must have.
    sent_files: RefCell<BTreeSet<PathBuf>>,
    /// The memory limit of every station in bytes, if it is not the default.
    allowed: Cell<Option<u64>>,
}

impl Link {
    /// Creates a link to a station that `make` starts with a recipe; `memory` has the files that recipes refer to.
    ///
    /// # Errors
    /// Returns an error if the recipe cannot be started.
    pub fn new(
        make: impl Fn() -> Post + 'static,
        memory: MemoryFiles,
        recipe: &Recipe,
        playing: bool,
    ) -> Result<Rc<Self>, String> {
        // The board of this session is discarded; the link's own board receives the snapshots of the station.
        let board = Arc::new(Board::default());
        // The first snapshot is made here, to show something before the station's first message.
        let first = SessionLoop::new(recipe.clone(), playing, Arc::clone(&board))
            .map_err(|error| error.to_string())?
            .build_snapshot();
        let link = Self {
            post: RefCell::new(make()),
            make: Box::new(make),
            board: Board::default(),
            painted: RefCell::default(),
            painting: Cell::new(false),
            files: RefCell::default(),
            memory,
            sent_files: RefCell::default(),
            allowed: Cell::new(None),
        };
        link.board.publish(first);
        Ok(Rc::new(link))
    }

    /// The files in memory that recipes may refer to.
    pub fn memory_files(&self) -> &MemoryFiles {
        &self.memory
    }

    /// Sends the station a file that is in memory here.
    pub fn send_file(&self, path: &Path) {
        if let Some(bytes) = self.memory.get(path) {
            self.sent_files.borrow_mut().insert(path.to_path_buf());
            self.send(&ToStation::Hold(path.to_path_buf(), bytes.to_vec()));
        }
    }

    /// Sets the memory limit of the station in bytes, and the same limit for the work that is done here.
    pub fn set_memory_limit(&self, bytes: u64) {
        memory::limit_memory(bytes);
        self.allowed.set(Some(bytes));
        self.send(&ToStation::Allow(bytes));
    }

    /// Handles a message from the station; bytes that are not a valid message are ignored.
    pub fn receive(&self, bytes: &[u8]) {
        let Ok(said) = postcard::from_bytes::<FromStation>(bytes) else { return };
        match said {
            FromStation::Shown(shown) => self.board.publish(shown),
            FromStation::Painted(painted) => {
                self.painting.set(false);
                *self.painted.borrow_mut() = Some(painted.into_painted());
            }
            FromStation::Unpainted(problem) => {
                self.painting.set(false);
                *self.painted.borrow_mut() = Some(Err(problem));
            }
            FromStation::File(name, bytes) => self.files.borrow_mut().push(Ok((name, bytes))),
            FromStation::Unwritten(problem) => self.files.borrow_mut().push(Err(problem)),
        }
    }

    /// Takes the files that the station has made for the user.
    pub fn take_files(&self) -> Vec<DeliveredFile> {
        self.files.take()
    }

    /// Records that the station has broken down.
    pub fn set_broken(&self) {
        self.board.set_broken();
    }

    /// Makes the station break down, for tests.
    pub fn break_down(&self) {
        self.send(&ToStation::Break);
    }

    fn send(&self, said: &ToStation) {
        // No message fails to serialize, so nothing is lost here.
        if let Ok(bytes) = postcard::to_stdvec(said) {
            (self.post.borrow())(bytes);
        }
    }
}

/// Returns the same recipe with its elevation model in memory. A recipe gives the path of the model on some disk, of
/// which only the file name is kept.
pub fn with_files_in(memory: &MemoryFiles, mut recipe: Recipe) -> Recipe {
    recipe.folder = memory.path("");
    if let Some(dem) = recipe.dem_mut()
        && let Some(name) = dem.file_name()
    {
        *dem = name.into();
    }
    recipe
}

impl RemoteSession for Link {
    fn send_order(&self, order: WorkerOrder) {
        self.send(&ToStation::Order(OrderMessage::from_order(order)));
    }

    fn latest_snapshot(&self) -> Option<Arc<SessionSnapshot>> {
        self.board.latest()
    }

    fn is_broken(&self) -> bool {
        self.board.is_broken()
    }

    fn restart_session(&self) -> bool {
        self.board.clear_broken();
        // The picture of a station that broke down never arrives, so the painter would stay busy for ever.
        self.painting.set(false);
        *self.post.borrow_mut() = (self.make)();
        // A new station has no files and the default limit. The paths are copied because send_file borrows the set.
        let paths: Vec<PathBuf> = self.sent_files.borrow().iter().cloned().collect();
        paths.iter().for_each(|path| self.send_file(path));
        if let Some(bytes) = self.allowed.get() {
            self.set_memory_limit(bytes);
        }
        true
    }
}

impl ViewPainter for Link {
    fn request_picture(&self, job: PaintJob) {
        self.painting.set(true);
        // The station has the terrain itself; only the settings are sent.
        self.send(&ToStation::Paint(job.wants, job.compare, job.droplets));
    }

    fn take_result(&self) -> Option<Result<Painted, String>> {
        self.painted.take()
    }

    fn is_busy(&self) -> bool {
        self.painting.get()
    }
}
