//! The painter: a thread that makes terrains ready for the GPU, so that neither window nor worker waits for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thalweg_core::{Field, Point, Terrain};
use thalweg_models::models::droplets::{Droplets, traces};
use thalweg_render::pictures::light::Sun;
use web_time::Instant;

use crate::platform;
use crate::view::surface::{Natural, Surface, Wanted};
use thalweg_models::models::Models;
use thalweg_render::products::overlay::Overlay;
use thalweg_sim::recipe::Recipe;

/// Most droplets that are followed for the eye.
const MOST: usize = 1500;
/// Most points of the path of one.
const POINTS: usize = 2000;
/// Time that may go into following them.
const MOMENT: Duration = Duration::from_millis(30);

/// What is to be painted.
#[derive(Clone)]
pub struct Job {
    /// The terrain's number.
    pub version: u64,
    /// The last edit that the run knew of.
    pub revision: u64,
    /// The terrain.
    pub terrain: Arc<Terrain>,
    /// The terrain before erosion.
    pub before: Arc<Terrain>,
    /// Whether erosion has begun.
    pub eroding: bool,
    /// Droplets that run now.
    pub falling: Option<Droplets>,
    /// Whether droplets are to be seen: elsewhere they are known, here they are filtered.
    pub droplets: bool,
    /// Whether the terrain before is to be painted too.
    pub compare: bool,
    /// How.
    pub wants: Wants,
}

/// How a terrain is to be painted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wants {
    /// Most cells on a side.
    pub most: usize,
    /// The sun, for shadows.
    pub sun: Sun,
    /// Factor on heights, for shadows; 0 chooses one that fits.
    pub exaggeration: f32,
    /// Strength of the light on slopes; none takes it from the ground.
    pub light: Option<f32>,
    /// The layer over the ground.
    pub overlay: Option<Overlay>,
    /// A recipe that says of what the land's natural colours depend, where it is to have these.
    pub natural: Option<String>,
    /// Whether to work out, for the probe, to which basin each cell belongs: while the run stands still.
    pub basins: bool,
}

/// What was painted.
pub struct Painted {
    /// The terrain's number.
    pub version: u64,
    /// The last edit that the run knew of.
    pub revision: u64,
    /// What could not be shown, in words.
    pub problem: Option<String>,
    /// The terrain.
    pub terrain: Arc<Terrain>,
    /// Whether erosion had begun.
    pub eroding: bool,
    /// Its surface.
    pub now: Surface,
    /// The surface of the terrain before, if it was asked for.
    pub before: Option<Surface>,
    /// Paths of some droplets to draw, in world metres.
    pub paths: Vec<Vec<Point>>,
    /// What the probe reads besides layers: titles, units and values.
    pub read: Vec<(String, String, Field<f32>)>,
}

/// What the window and the thread leave for each other.
#[derive(Default)]
struct Mailbox {
    job: Option<Job>,
    done: Option<Result<Painted, String>>,
    busy: bool,
    closed: bool,
}

/// A painter, which works elsewhere than in the thread of the window.
pub trait Painter {
    /// Asks for a picture; one that was not begun yet is forgotten.
    fn ask(&self, job: Job);
    /// What was painted since the last call.
    fn take(&self) -> Option<Result<Painted, String>>;
    /// Whether something is being painted, or waits to be.
    fn is_busy(&self) -> bool;
}

/// A painter in a thread of this program, which ends when this is dropped.
pub struct PainterThread(Arc<(Mutex<Mailbox>, Condvar)>);

impl PainterThread {
    /// Starts the thread; `wake` is called when something was painted.
    ///
    /// # Errors
    /// When the system gives no thread.
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
                open.busy = true;
                drop(open);
                let painted = catch_unwind(AssertUnwindSafe(|| paint(job)));
                let painted =
                    painted.unwrap_or_else(|_| Err("the view cannot be made, by a fault of this program".into()));
                let mut open = mailbox.lock().unwrap_or_else(PoisonError::into_inner);
                (open.busy, open.done) = (false, Some(painted));
                drop(open);
                wake();
            }
        };
        platform::spawn("painter", work).map_err(|error| format!("the system gives no thread ({error})"))?;
        Ok(Self(mailbox))
    }

    fn open(&self) -> MutexGuard<'_, Mailbox> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Painter for PainterThread {
    fn ask(&self, job: Job) {
        self.open().job = Some(job);
        self.0.1.notify_one();
    }

    fn take(&self) -> Option<Result<Painted, String>> {
        self.open().done.take()
    }

    fn is_busy(&self) -> bool {
        let mailbox = self.open();
        mailbox.busy || mailbox.job.is_some()
    }
}

impl Drop for PainterThread {
    fn drop(&mut self) {
        self.open().closed = true;
        self.0.1.notify_one();
    }
}

/// Makes a terrain ready for the view.
pub(crate) fn paint(job: Job) -> Result<Painted, String> {
    let Job { version, revision, terrain, before, eroding, falling, compare, wants, .. } = job;
    let rules = |text: &String| Recipe::parse_stages(text, &Models::default()).map_err(|error| error.to_string());
    let natural = wants.natural.as_ref().map(rules).transpose()?.map(|recipe| Natural::of(&recipe));
    let surface = |terrain: &Terrain, overlay: Option<Overlay>| {
        let wanted = Wanted {
            most: wants.most,
            sun: wants.sun,
            exaggeration: wants.exaggeration,
            light: wants.light,
            overlay,
            natural: natural.clone(),
            start: Some(&before),
            ..Wanted::default()
        };
        Surface::of(terrain, &wanted).map_err(|error| error.to_string())
    };
    // An overlay that this terrain does not have leaves the land bare.
    let (now, problem) = match (surface(&terrain, wants.overlay.clone()), &wants.overlay) {
        (Err(problem), Some(_)) => (surface(&terrain, None)?, Some(problem)),
        (now, _) => (now?, None),
    };
    let then = compare.then(|| surface(&before, None)).transpose()?;
    let basins = wants.basins.then_some(Overlay::Basins);
    let read = wants.overlay.iter().chain(&basins).filter(|overlay| !is_plain(overlay)).filter_map(|overlay| {
        let values = overlay.values(&terrain, Some(&before)).ok()?;
        Some((overlay.title(), overlay.unit(&terrain), values))
    });
    let read = read.collect();
    let paths = falling.map_or_else(Vec::new, |droplets| paths(&droplets, &terrain));
    Ok(Painted { version, revision, problem, now, before: then, read, eroding, paths, terrain })
}

/// Whether the probe reads an overlay without being asked to.
fn is_plain(overlay: &Overlay) -> bool {
    matches!(overlay, Overlay::Height | Overlay::Slope | Overlay::Loose | Overlay::Layer(_))
}

/// Paths of droplets that start anywhere, as many as can be followed in a moment.
fn paths(droplets: &Droplets, terrain: &Terrain) -> Vec<Vec<Point>> {
    let start = Instant::now();
    let paths = traces(droplets, terrain, POINTS).take(MOST).take_while(|_| start.elapsed() < MOMENT);
    paths.map(|points| points.into_iter().map(|point| point.place).collect()).collect()
}
