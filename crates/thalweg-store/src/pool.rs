//! [`WorkerPool`]: carries out a plan's work on one machine, with several tiles at once.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};
use thalweg_core::base::memory;
use thalweg_core::{Error, Result};

use crate::work::{Outcome, PlannedWork, Task};

/// The number of tiles per thread in one call of [`WorkerPool::run_next_tasks`]: few, so that the caller can stop soon.
const TASKS_PER_THREAD: usize = 2;

/// How long to wait for tasks that another process has begun.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Threads that each work on a tile of their own; together they take the memory that
/// [`Plan::memory_bytes`](crate::Plan::memory_bytes) states.
pub struct WorkerPool<'a> {
    work: &'a PlannedWork,
    threads: Vec<ThreadPool>,
    /// A pool of the same number of threads, which solve a stage together.
    solver: ThreadPool,
    queue: VecDeque<Task>,
}

impl<'a> WorkerPool<'a> {
    /// Starts a pool of `threads` threads, at least one.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory for that many tiles at once, or if a thread cannot be started.
    pub fn new(work: &'a PlannedWork, threads: usize) -> Result<Self> {
        let threads = threads.max(1);
        let description = format!("{threads} tiles of {0} × {0} cells at once", work.plan().side);
        memory::check_memory(&description, work.plan().memory_bytes(threads))?;
        let start = |count| ThreadPoolBuilder::new().num_threads(count).build();
        let refused = |error| {
            let allowed = format!("a number of threads that the system can start ({error}); use fewer");
            Error::invalid_value("threads", threads, allowed)
        };
        let solver = start(threads).map_err(refused)?;
        // Each tile runs in a pool of one thread, so a parallel loop within a tile does not wait for other tiles and
        // its memory stays that of one tile.
        let threads: std::result::Result<_, _> = (0..threads).map(|_| start(1)).collect();
        Ok(Self { work, threads: threads.map_err(refused)?, solver, queue: VecDeque::new() })
    }

    /// Carries out the next tasks, a few for each thread. Returns the number of finished parts and the number of all
    /// parts, or `None` if there was nothing left to do. The caller runs the loop: between two calls everything is on
    /// the disk.
    ///
    /// # Errors
    /// Returns the error of the first task that failed; other tasks of this call may have been done.
    pub fn run_next_tasks(&mut self) -> Result<Option<[usize; 2]>> {
        if self.queue.is_empty() {
            self.queue.extend(self.work.ready_tasks());
        }
        // The queue never extends over two stages. A solution is the only task in it, because tiles of the next stage
        // need its answers.
        let count = self.queue.len().min(TASKS_PER_THREAD * self.threads.len());
        let tasks: Vec<Task> = self.queue.drain(..count).collect();
        match tasks[..] {
            [] => return Ok(None),
            // A solution uses all threads.
            [task @ Task::Solve { .. }] => {
                if self.solver.install(|| self.work.execute_task(task))? != Outcome::Done {
                    std::thread::sleep(RETRY_INTERVAL);
                }
            }
            _ => self.run_tiles(&tasks)?,
        }
        Ok(Some(self.work.progress()))
    }

    fn run_tiles(&self, tasks: &[Task]) -> Result<()> {
        // The threads take tasks from one shared counter, so that a slow tile does not delay the others. Each tile has
        // its own output, so the order does not affect the result.
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        let work = || {
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = self.work.execute_task(*task) {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    // No thread begins another task after the first error.
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
