//! [`Streamer`]: a thread that makes rings ready, so that the view never waits for one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use thalweg_render::pictures::light::Sun;
use thalweg_sim::world::World;

use crate::explore::rings::Ring;
use crate::explore::stand::{Palette, surface};
use crate::platform;
use crate::view::surface::Surface;

/// How rings are to be made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Manner {
    /// Where the shadows fall from.
    pub sun: Sun,
    /// Factor on heights, for shadows.
    pub exaggeration: f32,
    /// Most samples on a side.
    pub most: usize,
}

/// A ring that is ready.
pub struct Made {
    /// Which.
    pub ring: Ring,
    /// Its surface.
    pub surface: Surface,
}

/// Rings on their way from the window to the thread and back.
#[derive(Default)]
struct Queue {
    /// Rings to be made, from the coarsest; what is before what else counts, for a finer ring is made of coarser ones.
    wanted: Vec<Ring>,
    manner: Option<Manner>,
    making: Option<Ring>,
    made: Vec<Result<Made, String>>,
    closed: bool,
}

/// The window's end of the thread.
pub struct Streamer {
    queue: Arc<(Mutex<Queue>, Condvar)>,
}

fn open(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Streamer {
    /// Starts the thread; `wake` is called when a ring is ready.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(world: World, wake: impl Fn() + Send + 'static) -> Result<Self, String> {
        let queue: Arc<(Mutex<Queue>, Condvar)> = Arc::default();
        let shared = Arc::clone(&queue);
        let work = move || {
            let (queue, bell) = &*shared;
            let mut palette: Option<Palette> = None;
            loop {
                let mut now = open(queue);
                let (ring, manner) = loop {
                    if now.closed {
                        return;
                    }
                    match (now.wanted.first().copied(), now.manner) {
                        (Some(ring), Some(manner)) => break (ring, manner),
                        _ => now = bell.wait(now).unwrap_or_else(PoisonError::into_inner),
                    }
                };
                now.wanted.remove(0);
                now.making = Some(ring);
                drop(now);
                let Manner { sun, exaggeration, most } = manner;
                let make = || surface(&world, ring, sun, (exaggeration, most), palette);
                let made = match catch_unwind(AssertUnwindSafe(make)) {
                    Ok(Ok((surface, shared))) => {
                        palette = Some(shared);
                        Ok(Made { ring, surface })
                    }
                    Ok(Err(error)) => Err(error.to_string()),
                    Err(_) => Err("the land cannot be made here, by a fault of this program".into()),
                };
                let mut now = open(queue);
                now.making = None;
                now.made.push(made);
                drop(now);
                wake();
            }
        };
        platform::spawn("streamer", work).map_err(|error| format!("the system gives no thread ({error})"))?;
        Ok(Self { queue })
    }

    /// Asks for rings, in place of those that were asked for before and not begun.
    pub fn ask(&self, rings: impl IntoIterator<Item = Ring>, manner: Manner) {
        let mut now = open(&self.queue.0);
        let making = now.making;
        now.wanted = rings.into_iter().filter(|ring| Some(*ring) != making).collect();
        now.manner = Some(manner);
        self.queue.1.notify_one();
    }

    /// What is ready since the last call.
    pub fn take(&self) -> Vec<Result<Made, String>> {
        std::mem::take(&mut open(&self.queue.0).made)
    }

    /// The ring that is being made.
    pub fn making(&self) -> Option<Ring> {
        open(&self.queue.0).making
    }

    /// Whether nothing is being made, nor waits for it or to be taken.
    pub fn is_idle(&self) -> bool {
        let now = open(&self.queue.0);
        now.making.is_none() && now.wanted.is_empty() && now.made.is_empty()
    }
}

impl Drop for Streamer {
    fn drop(&mut self) {
        open(&self.queue.0).closed = true;
        self.queue.1.notify_one();
    }
}
