//! [`Plan`]: a job cut into stages and tiles, as a file that the queue of a cluster works through.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thalweg::io::plain::read_text;
use thalweg::io::write_text;
use thalweg::{Error, Result};
use xxhash_rust::xxh3::xxh3_128;

use crate::jobs::Job;

/// The version of plans that this program writes, and reads.
const VERSION: u32 = 1;

/// The longest plan that is read, in bytes.
const MOST: u64 = 16 << 20;

/// A stage, as a plan tells of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStage {
    /// Its name.
    pub name: String,
    /// Layers of the store that it reads.
    pub reads: Vec<String>,
    /// Layers that it writes.
    pub writes: Vec<String>,
    /// Bytes of memory that a tile takes.
    pub tile_bytes: u64,
}

/// What is to be done, where, and in which parts. The library does it by [`Work`](crate::Work).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the plan's form.
    pub plan: u32,
    /// Version of the program that wrote it.
    pub thalweg: String,
    /// Hash of everything else: a plan that was edited is refused.
    pub hash: String,
    /// The store that the layers go to.
    pub store: PathBuf,
    /// Rows and columns of the map.
    pub size: [usize; 2],
    /// Side of a tile in cells.
    pub side: usize,
    /// Number of tiles. They are numbered from 0, row by row from the north-west.
    pub tiles: usize,
    /// The stages in their order. Each takes all tiles, then is solved.
    pub stages: Vec<PlanStage>,
    /// Bytes that the store takes on a disk at the most.
    pub disk_bytes: u64,
    /// The job.
    pub job: Job,
}

impl Plan {
    /// The plan of a job into a store, in tiles of about `side` cells. Nothing is made.
    ///
    /// # Errors
    /// A source that cannot be read, options that cannot be heeded, a store's path that is no name.
    pub fn of(job: Job, store: &Path, side: usize) -> Result<Self> {
        let store = std::path::absolute(store).map_err(Error::io(store, "find the place of"))?;
        let made = job.layout(side)?;
        let stages = job.stages(&made, &store)?;
        let stages = stages.iter().map(|stage| PlanStage {
            name: stage.name().to_string(),
            reads: stage.reads().into_iter().map(|need| need.layer).collect(),
            writes: stage.writes(),
            tile_bytes: stage.bytes(),
        });
        let mut plan = Self {
            plan: VERSION,
            thalweg: env!("CARGO_PKG_VERSION").to_string(),
            hash: String::new(),
            store,
            size: made.spec.size,
            side: made.spec.side,
            tiles: made.spec.tile_count(),
            stages: stages.collect(),
            disk_bytes: made.spec.bytes_needed(),
            job,
        };
        plan.hash = plan.reckoned();
        Ok(plan)
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// A file that cannot be read, is no plan, is of another version, or was edited.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path, MOST)?;
        let plan: Self =
            serde_json::from_str(&text).map_err(|error| Error::file(path, format!("is no plan: {error}")))?;
        plan.check().map_err(|problem| Error::file(path, problem))?;
        Ok(plan)
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::file(path, error.to_string()))?;
        write_text(path, &(text + "\n"))
    }

    fn check(&self) -> Result<(), String> {
        if self.plan != VERSION {
            return Err(format!("is a plan of version {}; this program knows version {VERSION}", self.plan));
        }
        let reckoned = self.reckoned();
        if self.hash != reckoned {
            return Err(format!(
                "was changed after it was written (its hash is {reckoned}, it says {}); make it anew with `thalweg plan`",
                self.hash
            ));
        }
        Ok(())
    }

    /// The number of the stage of that name.
    ///
    /// # Errors
    /// A name that is none of them.
    pub fn stage(&self, name: &str) -> Result<usize> {
        let found = self.stages.iter().position(|stage| stage.name == name);
        found.ok_or_else(|| Error::unknown("stage", name, self.stages.iter().map(|stage| stage.name.as_str())))
    }

    /// Bytes of memory that so many tiles at once take at the most.
    pub fn bytes(&self, at_once: usize) -> u64 {
        let most = self.stages.iter().map(|stage| stage.tile_bytes).max().unwrap_or(0);
        most.saturating_mul(at_once as u64)
    }

    /// The hash of everything but itself, and of where the store lies: that may move.
    fn reckoned(&self) -> String {
        let bare = Self { hash: String::new(), store: PathBuf::new(), ..self.clone() };
        let text = serde_json::to_string(&bare).unwrap_or_default();
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }
}
