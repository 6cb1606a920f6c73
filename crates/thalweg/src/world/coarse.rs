//! [`Coarse`]: what level 0 of a world is, and where it comes from.

use std::ops::ControlFlow;

use crate::base::error::{Error, Result};
use crate::local::{Frame, LocalWindow, Rect};

/// Level 0 of a world: solved whole, or in parts as they are asked for.
///
/// Every level above is a function of the cells that [`Coarse::window`] gives, so these must be the same whenever they are asked for, in
/// whatever rectangle. Nothing asks for more than a window of it, and a world may have more cells than any memory holds: then
/// [`Frame::first`] is negative and the metres' origin lies in its middle.
pub trait Coarse: Send + Sync {
    /// The world at all its levels: level 0's cells, their width, edges, sea.
    fn frame(&self) -> &Frame;

    /// A rectangle of level 0. What it needs and is not there yet is solved first, which may take a while: `watch` hears of it, and may
    /// end it. Whoever asks for the same meanwhile waits; what was begun goes on with the next who asks, or begins anew.
    ///
    /// The window keeps what [`LocalWindow`] promises: no receiver is higher than its donor, and of land no catchment falls
    /// downstream, beyond the window's rim, too.
    ///
    /// # Errors
    /// A rectangle that is empty, not inside the world, or of too many cells ([`Rect::check`]); what cannot be solved, and
    /// [`Error::Stopped`].
    fn window(&self, rect: Rect, watch: Watch<'_>) -> Result<LocalWindow>;

    /// Bytes that it holds now.
    fn bytes(&self) -> u64;

    /// What tells its level 0 from others': two that have the same one give the same windows. A cache goes by it.
    fn identity(&self) -> u64;
}

/// How far the solving of something is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Solving {
    /// What is being solved, and the stage that runs.
    pub what: String,
    /// Steps done.
    pub done: u64,
    /// Steps in all.
    pub of: u64,
}

/// Hears how far the solving is, after each step, and says whether to go on.
pub type Watch<'a> = &'a mut (dyn FnMut(&Solving) -> ControlFlow<()> + Send);

impl Solving {
    /// Of `what`, after `done` steps of all.
    pub fn new(what: impl Into<String>, [done, of]: [u64; 2]) -> Self {
        Self { what: what.into(), done, of }
    }

    /// Tells it to who watches.
    ///
    /// # Errors
    /// [`Error::Stopped`] when that ends it.
    pub fn tell(&self, watch: Watch<'_>) -> Result<()> {
        match watch(self) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped { what: self.what.clone() }),
        }
    }
}

/// Goes on whatever it hears.
pub fn unwatched(_: &Solving) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
