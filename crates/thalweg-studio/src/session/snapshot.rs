//! [`Snapshot`]: what the window is shown of the run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use thalweg_core::{Grid, Terrain};
use thalweg_models::models::droplets::{Droplets, TracePoint};
use thalweg_sim::session::Position;

/// What is done in one of a run's turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnAt {
    /// The label of its stage.
    pub label: String,
    /// The level, from 0, the coarsest.
    pub level: usize,
    /// Its steps.
    pub steps: u32,
    /// Whether its stage is muted.
    pub muted: bool,
}

/// The path of a droplet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Trace {
    /// Counts the droplets that were followed.
    pub number: u64,
    /// Its points.
    pub points: Vec<TracePoint>,
}

/// What the window is shown of the run. Where the window shares no memory with the session, it has the grids of the terrains alone: the painter
/// beside the session has their ground.
#[derive(Serialize, Deserialize)]
pub struct Snapshot {
    /// Counts states of the ground: the same number, the same ground.
    pub version: u64,
    /// The run's grid.
    pub grid: Grid,
    /// The terrain; of more than [`SHOWN`](thalweg_sim::session::SHOWN) cells on a side, averaged down to that.
    #[serde(with = "grid_alone")]
    pub terrain: Arc<Terrain>,
    /// The terrain as the first model that is no base found it; that of the start without such a model.
    #[serde(with = "grid_alone")]
    pub before: Arc<Terrain>,
    /// Whether such a model has begun.
    pub eroding: bool,
    /// The recipe of the run as text, with the strokes made by hand.
    pub recipe: Arc<str>,
    /// Number of the last edit that the run knows of.
    pub revision: u64,
    /// Number of the running stage in the recipe, that of all stages when done or while the ground is made finer.
    pub stage: usize,
    /// Number of the running turn, that of all turns when done.
    pub turn: usize,
    /// What is done, in order.
    pub turns: Vec<TurnAt>,
    /// Steps taken in it.
    pub step: u32,
    /// Steps it takes.
    pub steps: u32,
    /// Steps taken and to be taken in all.
    pub all: [u64; 2],
    /// Whether the run is done.
    pub done: bool,
    /// Whether it goes on by itself.
    pub playing: bool,
    /// Steps a second of late.
    pub pace: f64,
    /// Simulated years, where the models know.
    pub years: Option<f64>,
    /// Settings of the droplets that run now, in a stage of them, or fell last by hand.
    #[serde(skip)]
    pub falling: Option<Droplets>,
    /// Particles started so far.
    pub particles: u64,
    /// Estimate of the seconds to the end.
    pub seconds_left: Option<f64>,
    /// Marks that can be gone back to.
    pub marks: Vec<Position>,
    /// The last droplet that was followed.
    pub trace: Arc<Trace>,
    /// What went wrong last, in words; it goes with the next order that goes well.
    pub problem: Option<String>,
    /// Counts what went wrong, so that the same trouble twice is said twice.
    pub problems: u64,
    /// Strokes made by hand so far.
    pub strokes: u64,
    /// Orders of the hand obeyed or refused so far.
    pub heard: u64,
    /// The fingerprint of the ground, as the command's report has it: of a finished run that a fresh one would repeat.
    pub fingerprint: Option<String>,
    /// What was done last, in words, counted.
    pub news: (u64, String),
}

/// A terrain that is written as its grid, and read without ground.
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
        let (grid, ground) = (Grid::deserialize(from)?, Field::new([0, 0], Height::ZERO));
        let (layers, tables) = Default::default();
        Ok(Arc::new(Terrain { grid, ground, loose: None, nodata: None, layers, tables }))
    }
}
