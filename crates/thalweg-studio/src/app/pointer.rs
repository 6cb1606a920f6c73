//! Where the mouse is on the ground, and what it has begun.

use glam::Vec3;
use thalweg_core::{Cell, Point};

/// What the mouse has begun.
#[derive(Default)]
pub struct Drag {
    /// Points of a brush that were not sent yet, in world metres.
    pub points: Vec<Point>,
    /// When the last were sent.
    pub sent: f64,
    /// The pen is being drawn along.
    pub penning: bool,
    /// When two fingers were last on the view.
    pub touched: Option<f64>,
    /// The swipe's line is being moved.
    pub swiping: bool,
}

/// Where the cursor is on the ground.
#[derive(Debug, Clone, Copy)]
pub struct Cursor {
    /// Metres east and north of the middle, and exaggerated height.
    pub at: Vec3,
    /// The same place in world metres.
    pub place: Point,
    /// The terrain's cell there.
    pub cell: Cell,
}
