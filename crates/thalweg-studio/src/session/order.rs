//! [`Order`]: what the worker is told.

use std::path::PathBuf;

use thalweg_core::Point;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::recipe::strokes::Stroke;
use thalweg_sim::session::Position;

use crate::goods::Goods;

/// Steps a second at first: a world that is done in a blink is not watched.
pub const PACE: f64 = 25.0;

/// What the worker is told.
pub enum Order {
    /// Begin this recipe from its start.
    /// The number comes back in snapshots.
    Open(Box<Recipe>, u64),
    /// Go on under an edited recipe: at once where that can be, else from as far back as need be. The number comes
    /// back in snapshots.
    /// The second is the number of strokes that the window knew of: later ones are kept.
    Edit(Box<Recipe>, u64, u64),
    /// Go on by itself, or stop.
    Play(bool),
    /// Take so many steps, then stop.
    Step(u32),
    /// At most so many steps a second; as many as can be without.
    Pace(Option<f64>),
    /// Begin again.
    Restart,
    /// Go back to the mark there, or the last before, and stop.
    Back(Position),
    /// Change the ground by hand.
    Stroke(Stroke),
    /// Follow one droplet from this place in world metres, then let it fall.
    Drop(Point),
    /// Write these into a folder, heights into a file.
    Export(Goods, PathBuf),
    /// End the thread.
    Quit,
}
