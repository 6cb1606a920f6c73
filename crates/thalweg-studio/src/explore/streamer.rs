//! [`Streamer`]: a thread that prepares rings, so that the view never waits for one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use thalweg_render::pictures::light::Sun;
use thalweg_sim::world::World;

use crate::explore::rings::LevelRing;
use crate::explore::viewpoint::{SharedColourRanges, prepare_ring};
use crate::platform;
use crate::view::surface::Surface;

/// The settings with which rings are prepared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RingSettings {
    /// The sun, for shadows.
    pub sun: Sun,
    /// The factor on heights, for shadows.
    pub exaggeration: f32,
    /// The maximum number of samples on a side.
    pub most: usize,
}

/// A ring that is ready.
pub struct PreparedRing {
    /// The ring.
    pub ring: LevelRing,
    /// Its surface.
    pub surface: Surface,
}

/// A ring that could not be prepared.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedRing {
    /// The ring.
    pub ring: LevelRing,
    /// The reason.
    pub problem: String,
}

/// The requested rings and the results, shared between the window and the thread.
#[derive(Default)]
struct RingQueue {
    /// The rings to prepare, coarsest first. The order matters, because a finer ring is computed from coarser ones.
    requested: Vec<LevelRing>,
    manner: Option<RingSettings>,
    making: Option<LevelRing>,
    made: Vec<Result<PreparedRing, FailedRing>>,
    closed: bool,
}

/// The window's end of the thread.
pub struct Streamer {
    queue: Arc<(Mutex<RingQueue>, Condvar)>,
}

fn lock_queue(queue: &Mutex<RingQueue>) -> MutexGuard<'_, RingQueue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Streamer {
    /// Starts the thread; `wake` is called after each result.
    ///
    /// # Errors
    /// Returns an error if the system provides no thread.
    pub fn start(world: World, wake: impl Fn() + Send + 'static) -> Result<Self, String> {
        let queue: Arc<(Mutex<RingQueue>, Condvar)> = Arc::default();
        let shared = Arc::clone(&queue);
        let work = move || {
            let (queue, bell) = &*shared;
            // The first ring fixes the colour ranges for all later ones.
            let mut palette: Option<SharedColourRanges> = None;
            loop {
                // The lock is released before the ring is prepared, so the window can always change its requests.
                let mut now = lock_queue(queue);
                let (ring, manner) = loop {
                    if now.closed {
                        return;
                    }
                    match (now.requested.first().copied(), now.manner) {
                        (Some(ring), Some(manner)) => break (ring, manner),
                        _ => now = bell.wait(now).unwrap_or_else(PoisonError::into_inner),
                    }
                };
                now.requested.remove(0);
                now.making = Some(ring);
                drop(now);
                let RingSettings { sun, exaggeration, most } = manner;
                let make = || prepare_ring(&world, ring, sun, (exaggeration, most), palette);
                // A panic in one ring must not end the thread: the other rings can still be shown.
                let made = match catch_unwind(AssertUnwindSafe(make)) {
                    Ok(Ok((surface, shared))) => {
                        palette = Some(shared);
                        Ok(PreparedRing { ring, surface })
                    }
                    Ok(Err(error)) => Err(FailedRing { ring, problem: error.to_string() }),
                    Err(_) => {
                        Err(FailedRing { ring, problem: "the land cannot be computed here (internal error)".into() })
                    }
                };
                let mut now = lock_queue(queue);
                now.making = None;
                now.made.push(made);
                drop(now);
                wake();
            }
        };
        platform::spawn_thread("streamer", work)
            .map_err(|error| format!("the system cannot start a thread ({error})"))?;
        Ok(Self { queue })
    }

    /// Requests rings; this replaces earlier requests that have not been started.
    pub fn request_rings(&self, rings: impl IntoIterator<Item = LevelRing>, manner: RingSettings) {
        let mut now = lock_queue(&self.queue.0);
        // The ring in progress is not requested again; it would be prepared twice.
        let making = now.making;
        now.requested = rings.into_iter().filter(|ring| Some(*ring) != making).collect();
        now.manner = Some(manner);
        self.queue.1.notify_one();
    }

    /// Returns the results since the last call.
    pub fn take_results(&self) -> Vec<Result<PreparedRing, FailedRing>> {
        std::mem::take(&mut lock_queue(&self.queue.0).made)
    }

    /// The ring that is being prepared.
    pub fn ring_in_progress(&self) -> Option<LevelRing> {
        lock_queue(&self.queue.0).making
    }

    /// Returns true if nothing is being prepared, waiting to be prepared, or waiting to be taken.
    pub fn is_idle(&self) -> bool {
        let now = lock_queue(&self.queue.0);
        now.making.is_none() && now.requested.is_empty() && now.made.is_empty()
    }
}

impl Drop for Streamer {
    fn drop(&mut self) {
        lock_queue(&self.queue.0).closed = true;
        self.queue.1.notify_one();
    }
}
