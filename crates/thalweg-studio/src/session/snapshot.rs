//! [`SessionSnapshot`]: the state of the run that the window shows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use thalweg_core::{Grid, Terrain};
use thalweg_models::models::droplets::{Droplets, TracePoint};
use thalweg_sim::session::Position;

/// The work of one turn of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnWork {
    /// Its title: that of its stage, or of the work between two levels.
    pub title: String,
    /// The level, from 0, the coarsest.
    pub level: usize,
    /// Its number of steps.
    pub steps: u32,
    /// True if its stage is muted.
    pub muted: bool,
}

/// The path of a droplet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Trace {
    /// The number of the droplet, counting all that were traced.
    pub number: u64,
    /// The points of the path.
    pub points: Vec<TracePoint>,
}

/// The state of the run that the window shows. If the window shares no memory with the session, it receives only the
/// grids of the terrains; the painter next to the session has the terrains themselves.
#[derive(Serialize, Deserialize)]
pub struct SessionSnapshot {
    /// The version of the terrain: the same number means the same terrain.
    pub version: u64,
    /// The run's grid.
    pub grid: Grid,
    /// The terrain; averaged down if it has more than
    /// [`MAX_SNAPSHOT_CELLS`](thalweg_sim::session::MAX_SNAPSHOT_CELLS) cells on a side.
    #[serde(with = "grid_alone")]
    pub terrain: Arc<Terrain>,
    /// The terrain as the first model that is not a base model found it; the initial terrain if there is no such
    /// model.
    #[serde(with = "grid_alone")]
    pub before: Arc<Terrain>,
    /// True if such a model has begun.
    pub eroding: bool,
    /// The recipe of the run as text, including the strokes made with tools.
    pub recipe: Arc<str>,
    /// The number of the last edit that the run knows of.
    pub revision: u64,
    /// The number of the running stage in the recipe; the number of all stages when the run is done or while the
    /// terrain is being refined.
    pub stage: usize,
    /// The number of the running turn; the number of all turns when the run is done.
    pub turn: usize,
    /// The turns of the run, in order.
    pub turns: Vec<TurnWork>,
    /// The number of steps taken in the running turn.
    pub step: u32,
    /// The number of steps of the running turn.
    pub steps: u32,
    /// The number of steps taken in all, and the total number of steps.
    pub all: [u64; 2],
    /// True if the run is done.
    pub done: bool,
    /// True if the run is playing.
    pub playing: bool,
    /// The recent number of steps per second.
    pub pace: f64,
    /// The simulated time in years, if the models define it.
    pub years: Option<f64>,
    /// The settings of the droplets that run now in a droplet stage, or that the tool dropped last.
    #[serde(skip)]
    pub falling: Option<Droplets>,
    /// The number of particles started so far.
    pub particles: u64,
    /// The estimated time to the end in seconds.
    pub seconds_left: Option<f64>,
    /// The positions to which the run can return.
    pub marks: Vec<Position>,
    /// The path of the last droplet that was traced.
    pub trace: Arc<Trace>,
    /// The last error in words; the next order that succeeds clears it.
    pub problem: Option<String>,
    /// The number of errors, so that the same error twice is reported twice.
    pub problems: u64,
    /// The number of strokes made with tools so far.
    pub strokes: u64,
    /// The number of tool orders carried out or refused so far.
    pub heard: u64,
    /// The fingerprint of the terrain, as in the command's report; only for a finished run that a new run would
    /// reproduce.
    pub fingerprint: Option<String>,
    /// The last news in words, and their number.
    pub news: (u64, String),
}

/// Serializes only a terrain's grid, and deserializes a terrain of that grid without heights.
mod grid_alone {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use thalweg_core::terrain::Terrain;
    use thalweg_core::terrain::field::Field;
    use thalweg_core::terrain::grid::Grid;
    use thalweg_core::terrain::height::Height;

    pub fn serialize<S: Serializer>(terrain: &Terrain, to: S) -> Result<S::Ok, S::Error> {
        terrain.grid.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Terrain>, D::Error> {
        // The window reads only the grid of this terrain; the heights to show come from the painter.
        let (grid, ground) = (Grid::deserialize(from)?, Field::new([0, 0], Height::ZERO));
        let (layers, tables) = Default::default();
        Ok(Arc::new(Terrain { grid, ground, loose: None, nodata: None, layers, tables }))
    }
}
