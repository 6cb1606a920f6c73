//! [`Pool`]: carries out a plan's work on one machine, with several tiles at once.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};
use thalweg_core::base::memory;
use thalweg_core::{Error, Result};

use crate::work::{Outcome, Task, Work};

/// The number of tiles per thread in one call of [`Pool::step`]: few, so that the caller can stop soon.
const EACH: usize = 2;

/// How long to wait for tasks that another process has begun.
const PAUSE: Duration = Duration::from_millis(200);

/// Threads that each work on a tile of their own; together they take the memory that
/// [`Plan::bytes`](crate::Plan::bytes) states.
pub struct Pool<'a> {
    work: &'a Work,
    threads: Vec<ThreadPool>,
    /// A pool of the same number of threads, which solve a stage together.
    solver: ThreadPool,
    queue: VecDeque<Task>,
}

impl<'a> Pool<'a> {
    /// Starts a pool of `threads` threads, at least one.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory for that many tiles at once, or if a thread cannot be started.
    pub fn new(work: &'a Work, threads: usize) -> Result<Self> {
        let threads = threads.max(1);
        let told = format!("{threads} tiles of {0} × {0} cells at once", work.plan().side);
        memory::check_memory(&told, work.plan().bytes(threads))?;
        let start = |count| ThreadPoolBuilder::new().num_threads(count).build();
        let refused = |error| Error::value("threads", error, "as many as the system can start");
        let solver = start(threads).map_err(refused)?;
        let threads: std::result::Result<_, _> = (0..threads).map(|_| start(1)).collect();
        Ok(Self { work, threads: threads.map_err(refused)?, solver, queue: VecDeque::new() })
    }

    /// Carries out the next tasks, a few for each thread. Returns the number of finished parts and the number of all
    /// parts, or `None` if there was nothing left to do. The caller runs the loop: between two calls everything is on
    /// the disk.
    ///
    /// # Errors
    /// Returns the error of the first task that failed; other tasks of this call may have been done.
    pub fn step(&mut self) -> Result<Option<[usize; 2]>> {
        if self.queue.is_empty() {
            self.queue.extend(self.work.ready());
        }
        let count = self.queue.len().min(EACH * self.threads.len());
        let tasks: Vec<Task> = self.queue.drain(..count).collect();
        match tasks[..] {
            [] => return Ok(None),
            // A solution uses all threads.
            [task @ Task::Solve { .. }] => {
                if self.solver.install(|| self.work.carry_out(task))? != Outcome::Done {
                    std::thread::sleep(PAUSE);
                }
            }
            _ => self.tiles(&tasks)?,
        }
        Ok(Some(self.work.progress()))
    }

    fn tiles(&self, tasks: &[Task]) -> Result<()> {
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        let work = || {
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = self.work.carry_out(*task) {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    next.store(tasks.len(), Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            for thread in &self.threads {
                scope.spawn(|| thread.install(work));
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}
