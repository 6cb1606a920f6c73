//! [`Pointer`]: the position of the mouse on the terrain, and the drag in progress.

use glam::Vec3;
use thalweg_core::{Cell, Point};

/// The mouse on the view.
#[derive(Default)]
pub(crate) struct Pointer {
    pub(crate) cursor: Option<Cursor>,
    pub(crate) drag: Drag,
}

/// The drag in progress.
#[derive(Default)]
pub struct Drag {
    /// The points of a brush that have not been sent yet, in world metres.
    pub points: Vec<Point>,
    /// The time at which points were last sent.
    pub sent: f64,
    /// True if points of this drag have been sent, to which later ones belong.
    pub begun: bool,
    /// True while a line is being drawn with the pen.
    pub penning: bool,
    /// The time at which two fingers were last on the view.
    pub touched: Option<f64>,
    /// True while the swipe's line is being moved.
    pub swiping: bool,
}

/// The position of the cursor on the terrain.
#[derive(Debug, Clone, Copy)]
pub struct Cursor {
    /// Metres east and north of the centre, and exaggerated height.
    pub at: Vec3,
    /// The same place in world metres.
    pub place: Point,
    /// The terrain's cell there.
    pub cell: Cell,
}
