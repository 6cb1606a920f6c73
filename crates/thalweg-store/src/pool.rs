//! [`Pool`]: a plan's work on one machine, so many tiles at once.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};
use thalweg_core::base::memory;
use thalweg_core::{Error, Result};

use crate::work::{Outcome, Task, Work};

/// Tiles that each thread takes between two looks of the caller: few, so that it can stop soon.
const EACH: usize = 2;

/// How long to wait for parts that another process has begun.
const PAUSE: Duration = Duration::from_millis(200);

/// Threads that work on tiles, each on one of its own: memory is that which [`Plan::bytes`](crate::Plan::bytes) tells.
pub struct Pool<'a> {
    work: &'a Work,
    threads: Vec<ThreadPool>,
    /// As many threads together, that solve.
    solver: ThreadPool,
    queue: VecDeque<Task>,
}

impl<'a> Pool<'a> {
    /// A pool of so many threads.
    ///
    /// # Errors
    /// When there is no memory for so many tiles at once, or a thread cannot be started.
    pub fn new(work: &'a Work, threads: usize) -> Result<Self> {
        let threads = threads.max(1);
        let told = format!("{threads} tiles of {0} × {0} cells at once", work.plan().side);
        memory::check_memory(&told, work.plan().bytes(threads))?;
        let start = |count| ThreadPoolBuilder::new().num_threads(count).build();
        let refused = |error| Error::value("threads", error, "as many as the system starts");
        let solver = start(threads).map_err(refused)?;
        let threads: std::result::Result<_, _> = (0..threads).map(|_| start(1)).collect();
        Ok(Self { work, threads: threads.map_err(refused)?, solver, queue: VecDeque::new() })
    }

    /// Does the next parts, a few for each thread; returns how many parts are done of how many, or nothing when all were done before. The caller owns the loop: between two calls everything
    /// is on the disk.
    ///
    /// # Errors
    /// The first part's that failed; others of this call may be done.
    pub fn step(&mut self) -> Result<Option<[usize; 2]>> {
        if self.queue.is_empty() {
            self.queue.extend(self.work.ready());
        }
        let count = self.queue.len().min(EACH * self.threads.len());
        let tasks: Vec<Task> = self.queue.drain(..count).collect();
        match tasks[..] {
            [] => return Ok(None),
            // A solution has all threads.
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
