//! The painter: a thread that prepares terrains for the GPU, so that neither the window nor the worker waits for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thalweg_core::{Field, Point, Terrain};
use thalweg_models::models::droplets::{Droplets, trace_droplets};
use thalweg_render::pictures::light::Sun;
use web_time::Instant;

use crate::platform;
use crate::view::surface::{Natural, Surface, SurfaceOptions};
use thalweg_models::models::Models;
use thalweg_render::products::overlay::Overlay;
use thalweg_sim::recipe::Recipe;

/// The maximum number of droplets whose paths are traced for display.
const MAX_TRACED_DROPLETS: usize = 1500;
/// The maximum number of points of one path.
const MAX_PATH_POINTS: usize = 2000;
/// The time limit for tracing the paths.
const TRACING_TIME_LIMIT: Duration = Duration::from_millis(30);

/// A terrain to prepare for the view.
#[derive(Clone)]
pub struct PaintJob {
    /// The terrain's version number.
    pub version: u64,
    /// The last edit that the run knew of.
    pub revision: u64,
    /// The terrain.
    pub terrain: Arc<Terrain>,
    /// The terrain before erosion.
    pub before: Arc<Terrain>,
    /// True if erosion has begun.
    pub eroding: bool,
    /// The settings of the droplets that run now.
    pub falling: Option<Droplets>,
    /// True if droplets are shown. This is a filter for a painter elsewhere, which knows the droplets itself;
    /// for a painter in this process they are filtered already.
    pub droplets: bool,
    /// True if the terrain before erosion must be prepared too.
    pub compare: bool,
    /// The display settings.
    pub wants: DisplaySettings,
}

/// The display settings of a terrain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DisplaySettings {
    /// The maximum number of cells on a side.
    pub most: usize,
    /// The sun, for shadows.
    pub sun: Sun,
    /// The factor on heights, for shadows; 0 chooses a suitable one.
    pub exaggeration: f32,
    /// The strength of the light on slopes; `None` derives it from the terrain.
    pub light: Option<f32>,
    /// The data layer shown over the terrain.
    pub overlay: Option<Overlay>,
    /// A recipe whose climate and rock determine natural colours; `None` for colours by height.
    pub natural: Option<String>,
    /// True to compute each cell's drainage basin for the probe; used while the run is paused.
    pub basins: bool,
}

/// A terrain that is ready for the view.
pub struct Painted {
    /// The terrain's version number.
    pub version: u64,
    /// The last edit that the run knew of.
    pub revision: u64,
    /// A message about what could not be shown.
    pub problem: Option<String>,
    /// The terrain.
    pub terrain: Arc<Terrain>,
    /// True if erosion had begun.
    pub eroding: bool,
    /// The terrain's surface.
    pub now: Surface,
    /// The surface of the terrain before erosion, if it was requested.
    pub before: Option<Surface>,
    /// Paths of some droplets to draw, in world metres.
    pub paths: Vec<Vec<Point>>,
    /// The quantities that the probe reads in addition to elevation, slope and layers, with their values.
    pub read: Vec<(Overlay, Field<f32>)>,
}

/// The mailbox between the window and the painter's thread.
#[derive(Default)]
struct Mailbox {
    job: Option<PaintJob>,
    done: Option<Result<Painted, String>>,
    busy: bool,
    closed: bool,
}

/// A painter that works outside the window's thread.
pub trait ViewPainter {
    /// Requests a picture; an earlier request that has not been started is discarded.
    fn request_picture(&self, job: PaintJob);
    /// Returns the result since the last call, if there is one.
    fn take_result(&self) -> Option<Result<Painted, String>>;
    /// Returns true if a request is being processed or waiting.
    fn is_busy(&self) -> bool;
}

/// A painter in a thread of this process; the thread ends when this value is dropped.
pub struct PainterThread(Arc<(Mutex<Mailbox>, Condvar)>);

impl PainterThread {
    /// Starts the thread; `wake` is called after each result.
    ///
    /// # Errors
    /// Returns an error if the system provides no thread.
    pub fn start(wake: impl Fn() + Send + 'static) -> Result<Self, String> {
        let mailbox: Arc<(Mutex<Mailbox>, Condvar)> = Arc::default();
        let shared = Arc::clone(&mailbox);
        let work = move || {
            let (mailbox, bell) = &*shared;
            loop {
                let mut open = mailbox.lock().unwrap_or_else(PoisonError::into_inner);
                let job = loop {
                    if open.closed {
                        return;
                    }
                    match open.job.take() {
                        Some(job) => break job,
                        None => open = bell.wait(open).unwrap_or_else(PoisonError::into_inner),
                    }
                };
                // `busy` is set before the lock is released, so that no moment exists at which the job seems neither
                // waiting nor running.
                open.busy = true;
                drop(open);
                // A panic is reported as an error, and the thread remains ready for the next terrain.
                let painted = catch_unwind(AssertUnwindSafe(|| paint_terrain(job)));
                let painted = painted.unwrap_or_else(|_| Err("the view cannot be drawn (internal error)".into()));
                let mut open = mailbox.lock().unwrap_or_else(PoisonError::into_inner);
                (open.busy, open.done) = (false, Some(painted));
                drop(open);
                wake();
            }
        };
        platform::spawn_thread("painter", work)
            .map_err(|error| format!("the system cannot start a thread ({error})"))?;
        Ok(Self(mailbox))
    }

    fn lock_mailbox(&self) -> MutexGuard<'_, Mailbox> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ViewPainter for PainterThread {
    fn request_picture(&self, job: PaintJob) {
        // Only the latest request counts: the mailbox replaces one that has not been started.
        self.lock_mailbox().job = Some(job);
        self.0.1.notify_one();
    }

    fn take_result(&self) -> Option<Result<Painted, String>> {
        self.lock_mailbox().done.take()
    }

    fn is_busy(&self) -> bool {
        let mailbox = self.lock_mailbox();
        mailbox.busy || mailbox.job.is_some()
    }
}

impl Drop for PainterThread {
    fn drop(&mut self) {
        self.lock_mailbox().closed = true;
        self.0.1.notify_one();
    }
}

/// Prepares a terrain for the view.
pub(crate) fn paint_terrain(job: PaintJob) -> Result<Painted, String> {
    let PaintJob { version, revision, terrain, before, eroding, falling, compare, wants, .. } = job;
    let rules = |text: &String| Recipe::parse_stages(text, &Models::default()).map_err(|error| error.to_string());
    // The settings contain the recipe as text, so that they can also be sent to a painter elsewhere.
    let natural = wants.natural.as_ref().map(rules).transpose()?.map(|recipe| Natural::from_recipe(&recipe));
    let surface = |terrain: &Terrain, overlay: Option<Overlay>| {
        let options = SurfaceOptions {
            most: wants.most,
            sun: wants.sun,
            exaggeration: wants.exaggeration,
            light: wants.light,
            overlay,
            natural: natural.clone(),
            start: Some(&before),
            ..SurfaceOptions::default()
        };
        Surface::from_terrain(terrain, &options).map_err(|error| error.to_string())
    };
    // If this terrain does not have the overlay, the terrain is shown without it.
    let (now, problem) = match (surface(&terrain, wants.overlay.clone()), &wants.overlay) {
        (Err(problem), Some(_)) => (surface(&terrain, None)?, Some(problem)),
        (now, _) => (now?, None),
    };
    let then = compare.then(|| surface(&before, None)).transpose()?;
    let basins = (wants.basins && wants.overlay != Some(Overlay::Basins)).then_some(Overlay::Basins);
    // The probe reads heights and layers from the terrain; other values are computed here, once per picture.
    let read = wants.overlay.iter().chain(&basins).filter(|overlay| !is_plain(overlay)).filter_map(|overlay| {
        let values = overlay.compute_values(&terrain, Some(&before)).ok()?;
        Some((overlay.clone(), values))
    });
    let read = read.collect();
    let paths = falling.map_or_else(Vec::new, |droplets| trace_droplet_paths(&droplets, &terrain));
    Ok(Painted { version, revision, problem, now, before: then, read, eroding, paths, terrain })
}

/// Returns true for overlays that the probe reads anyway.
fn is_plain(overlay: &Overlay) -> bool {
    matches!(overlay, Overlay::Height | Overlay::Slope | Overlay::Sediment | Overlay::Layer(_))
}

/// Traces paths of droplets with random starts, as many as can be followed within the time limit.
fn trace_droplet_paths(droplets: &Droplets, terrain: &Terrain) -> Vec<Vec<Point>> {
    let start = Instant::now();
    let paths = trace_droplets(droplets, terrain, MAX_PATH_POINTS)
        .take(MAX_TRACED_DROPLETS)
        // The time limit affects only the display: these droplets erode nothing, so the result of the run does not
        // depend on it.
        .take_while(|_| start.elapsed() < TRACING_TIME_LIMIT);
    paths.map(|points| points.into_iter().map(|point| point.place).collect()).collect()
}
