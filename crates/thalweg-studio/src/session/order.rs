//! [`WorkerOrder`]: a message to the worker.

use std::path::PathBuf;

use thalweg_core::Point;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::recipe::strokes::Stroke;
use thalweg_sim::session::Position;

use crate::run_export::ExportRequest;

/// The initial limit of steps per second, so that a fast run can still be watched.
pub const INITIAL_STEPS_PER_SECOND: f64 = 25.0;

/// A message to the worker.
pub enum WorkerOrder {
    /// Start this recipe from the beginning. The number is the edit's; snapshots return it.
    Open(Box<Recipe>, u64),
    /// Continue with an edited recipe: immediately where possible, otherwise from as far back as necessary. The first
    /// number is the edit's; snapshots return it. The second is the number of strokes that the window knew of; later
    /// ones are kept.
    Edit(Box<Recipe>, u64, u64),
    /// Play or pause.
    Play(bool),
    /// Take this many steps, then pause.
    Step(u32),
    /// Limit the number of steps per second; `None` removes the limit.
    Pace(Option<f64>),
    /// Start again from the beginning.
    Restart,
    /// Go back to the saved position there, or the last one before, and pause.
    Back(Position),
    /// Apply a stroke of a tool to the terrain.
    Stroke(Stroke),
    /// Apply a stroke that belongs to the same drag as the last one.
    DragStroke(Stroke),
    /// Trace the path of one droplet from this place in world metres, then apply the droplet.
    Drop(Point),
    /// Write these files into a folder; heights go into a single file.
    Export(ExportRequest, PathBuf),
    /// End the thread.
    Quit,
}
