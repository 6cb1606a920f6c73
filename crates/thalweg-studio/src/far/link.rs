//! [`Link`]: the window's end of a session and a painter that are elsewhere.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use thalweg_core::base::memory;
use thalweg_io::MemoryFiles;
use thalweg_sim::recipe::Recipe;

use crate::far::wire::{FromStation, ToStation, Told};
use crate::painter::{Job, Painted, Painter};
use crate::session::{Board, Elsewhere, Order, Snapshot, Work};

/// Sends bytes to a station.
pub type Post = Box<dyn Fn(Vec<u8>)>;

/// A file for the user: its name and bytes, or in words why there is none.
pub type GivenFile = Result<(String, Vec<u8>), String>;

/// The window's end. What the station says comes in by [`Link::receive`].
pub struct Link {
    /// Makes another station, and says how it is reached.
    make: Box<dyn Fn() -> Post>,
    post: RefCell<Post>,
    board: Board,
    painted: RefCell<Option<Result<Painted, String>>>,
    painting: Cell<bool>,
    files: RefCell<Vec<GivenFile>>,
    /// Files that recipes may name.
    memory: MemoryFiles,
    /// Those of them that every station must have.
    held: RefCell<BTreeSet<PathBuf>>,
    /// Bytes that every station may take, if they are not the usual ones.
    allowed: Cell<Option<u64>>,
}

impl Link {
    /// A link to a station that `make` makes, which begins with a recipe; `memory` has the files that recipes name.
    ///
    /// # Errors
    /// When the recipe cannot begin.
    pub fn new(
        make: impl Fn() -> Post + 'static,
        memory: MemoryFiles,
        recipe: &Recipe,
        playing: bool,
    ) -> Result<Rc<Self>, String> {
        let board = Arc::new(Board::default());
        // What is seen before the station's first word is made here.
        let first =
            Work::new(recipe.clone(), playing, Arc::clone(&board)).map_err(|error| error.to_string())?.snapshot();
        let link = Self {
            post: RefCell::new(make()),
            make: Box::new(make),
            board: Board::default(),
            painted: RefCell::default(),
            painting: Cell::new(false),
            files: RefCell::default(),
            memory,
            held: RefCell::default(),
            allowed: Cell::new(None),
        };
        link.board.show(first);
        Ok(Rc::new(link))
    }

    /// The files in memory that recipes may name.
    pub fn memory(&self) -> &MemoryFiles {
        &self.memory
    }

    /// Lets the station have a file that is in memory here.
    pub fn hold(&self, path: &Path) {
        if let Some(bytes) = self.memory.get(path) {
            self.held.borrow_mut().insert(path.to_path_buf());
            self.send(&ToStation::Hold(path.to_path_buf(), bytes.to_vec()));
        }
    }

    /// Lets the station take so many bytes of memory, and what is done of its work here.
    pub fn allow(&self, bytes: u64) {
        memory::limit_memory(bytes);
        self.allowed.set(Some(bytes));
        self.send(&ToStation::Allow(bytes));
    }

    /// Takes what the station says. Bytes that are none of its words are passed over.
    pub fn receive(&self, bytes: &[u8]) {
        let Ok(said) = postcard::from_bytes::<FromStation>(bytes) else { return };
        match said {
            FromStation::Shown(shown) => self.board.show(shown),
            FromStation::Painted(painted) => {
                self.painting.set(false);
                *self.painted.borrow_mut() = Some(painted.painted());
            }
            FromStation::Unpainted(problem) => {
                self.painting.set(false);
                *self.painted.borrow_mut() = Some(Err(problem));
            }
            FromStation::File(name, bytes) => self.files.borrow_mut().push(Ok((name, bytes))),
            FromStation::Unwritten(problem) => self.files.borrow_mut().push(Err(problem)),
        }
    }

    /// Takes the files that the station has for the user.
    pub fn files(&self) -> Vec<GivenFile> {
        self.files.take()
    }

    /// Says that the station is no more.
    pub fn set_broken(&self) {
        self.board.set_broken();
    }

    /// Has the station break down, for tests.
    pub fn break_down(&self) {
        self.send(&ToStation::Break);
    }

    fn send(&self, said: &ToStation) {
        // What cannot be written is nothing that is ever sent.
        if let Ok(bytes) = postcard::to_stdvec(said) {
            (self.post.borrow())(bytes);
        }
    }
}

/// The same recipe with its elevation model in memory. A recipe names that by the path that it has on some disk, of which the name
/// remains.
pub fn with_files_in(memory: &MemoryFiles, mut recipe: Recipe) -> Recipe {
    recipe.folder = memory.path("");
    if let Some(dem) = recipe.dem_mut()
        && let Some(name) = dem.file_name()
    {
        *dem = name.into();
    }
    recipe
}

impl Elsewhere for Link {
    fn tell(&self, order: Order) {
        self.send(&ToStation::Order(Told::of(order)));
    }

    fn latest(&self) -> Option<Arc<Snapshot>> {
        self.board.latest()
    }

    fn is_broken(&self) -> bool {
        self.board.is_broken()
    }

    fn revive(&self) -> bool {
        self.board.mend();
        self.painting.set(false);
        *self.post.borrow_mut() = (self.make)();
        let paths: Vec<PathBuf> = self.held.borrow().iter().cloned().collect();
        paths.iter().for_each(|path| self.hold(path));
        if let Some(bytes) = self.allowed.get() {
            self.allow(bytes);
        }
        true
    }
}

impl Painter for Link {
    fn ask(&self, job: Job) {
        self.painting.set(true);
        self.send(&ToStation::Paint(job.wants, job.compare, job.droplets));
    }

    fn take(&self) -> Option<Result<Painted, String>> {
        self.painted.take()
    }

    fn is_busy(&self) -> bool {
        self.painting.get()
    }
}
