//! [`Plan`]: a job divided into stages and tiles, stored as a file from which the jobs of a cluster's queue work.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thalweg_core::base::names::format_path as named;
use thalweg_core::terrain::{current_layer_name, earlier_layer_names};
use thalweg_core::{Error, Result};
use thalweg_io::file_identity::is_same_file;
use thalweg_io::plain::read_text;
use thalweg_io::write_text;
use xxhash_rust::xxh3::xxh3_128;

use crate::disk::format_bytes;
use crate::jobs::Job;
use crate::products::{ProductWriter, sidecar_path};
use crate::spec::MAX_SIDE;
use crate::{Store, check_outside};

/// The tile sides in cells that are tried if memory is short. The memory of a tile grows with the square of its side;
/// that of solving a stage shrinks with it, because larger tiles have fewer cells on their rims.
const SIDES: [usize; 8] = [128, 256, 384, 512, 768, 1024, 1536, 2048];

/// The smallest side of a tile: a tile of one cell would consist of nothing but its border.
const MIN_SIDE: usize = 2;

/// The memory of a process that has not started any work, in bytes: program, libraries, buffers.
const PROCESS: u64 = 40 << 20;

/// The memory of a thread in addition to its tile, in bytes: its stack, and what the allocator keeps for it.
const THREAD: u64 = 8 << 20;

/// The version of the plan format that this program writes and reads.
pub(crate) const VERSION: u32 = 2;

/// The maximum size of a plan's file in bytes.
const MAX_PLAN_BYTES: u64 = 16 << 20;

/// A [pass over the tiles](thalweg_tiled::TilePass), as a plan describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStage {
    /// The stage's name.
    pub name: String,
    /// The layers of the store that it reads.
    pub reads: Vec<String>,
    /// The layers that it writes.
    pub writes: Vec<String>,
    /// The layers that it passes on to the next stage; they are deleted once that stage is solved.
    #[serde(default, rename = "hands", skip_serializing_if = "Vec::is_empty")]
    pub hands_on: Vec<String>,
    /// The memory that one tile takes, in bytes.
    pub tile_bytes: u64,
    /// The maximum memory that solving the stage takes, in bytes, in addition to one tile's memory per thread.
    pub solve_bytes: u64,
}

/// Returns true for 0 bytes, which are not written to the file.
fn is_none(bytes: &u64) -> bool {
    *bytes == 0
}

/// The job, its output and its division into parts. [`PlannedWork`](crate::PlannedWork) carries it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of the plan format.
    pub plan: u32,
    /// The version of the program that wrote it.
    pub thalweg: String,
    /// The hash of everything else; a plan that was edited is refused.
    pub hash: String,
    /// The store to which the layers are written.
    pub store: PathBuf,
    /// The map's rows and columns.
    pub size: [usize; 2],
    /// The side of a tile in cells.
    pub side: usize,
    /// The number of tiles. They are numbered from 0, row by row from the north-western corner. For example, a map of
    /// 10 000 × 10 000 cells in tiles of 1024 cells has 100 tiles.
    pub tiles: usize,
    /// The stages in order. In each, all tiles are done first, then the stage is solved.
    pub stages: Vec<PlanStage>,
    /// The maximum disk space of the store in bytes.
    pub disk_bytes: u64,
    /// The estimated disk space of tables and outlines next to the store in bytes, for rough hills; the actual size
    /// depends on the number of lakes.
    #[serde(default, skip_serializing_if = "is_none")]
    pub beside_bytes: u64,
    /// The job itself.
    pub job: Job,
}

impl Plan {
    /// Plans a job that writes to a store, in tiles of about `side` cells. Nothing is created on the disk.
    ///
    /// # Errors
    /// Returns an error if a source cannot be read or is the store itself, if the side is not within 2 to 16 384
    /// cells, if an option cannot be applied, or if the store's path is not a valid name.
    pub fn from_job(job: Job, store: &Path, side: usize) -> Result<Self> {
        let store = std::path::absolute(store).map_err(Error::io(store, "resolve the path"))?;
        if !(MIN_SIDE..=MAX_SIDE).contains(&side) {
            return Err(Error::invalid_value("tile", side, format!("{MIN_SIDE} to {MAX_SIDE} cells")));
        }
        job.check_distinct_output(&store)?;
        let setup = job.set_up(side, &store)?;
        let (spec, tiles) = (&setup.spec, setup.spec.tile_grid()?);
        let passed =
            setup.passes.iter().map(|pass| setup.passed_spec(&**pass, "").map_or(0, |spec| spec.bytes_needed()));
        // The layers that a pass reads are kept until it is solved, so at most two consecutive sets exist at once.
        let passed: Vec<u64> = passed.collect();
        let passing = passed.windows(2).map(|two| two[0].saturating_add(two[1])).max().unwrap_or(0);
        let stages = setup.passes.iter().zip(&setup.held_bytes).map(|(pass, held_bytes)| PlanStage {
            name: pass.name().to_string(),
            reads: pass.input_layers().into_iter().map(|read| read.layer).collect(),
            writes: pass.output_layers(),
            hands_on: pass.temporary_layers().into_iter().map(|layer| layer.name).collect(),
            tile_bytes: pass.tile_bytes(&tiles),
            solve_bytes: held_bytes + ProductWriter::solve_bytes(&**pass),
        });
        let beside_bytes = job.sidecar_bytes(spec.size);
        let mut plan = Self {
            plan: VERSION,
            thalweg: env!("CARGO_PKG_VERSION").to_string(),
            hash: String::new(),
            store,
            size: spec.size,
            side: spec.side,
            tiles: tiles.tile_count(),
            stages: stages.collect(),
            disk_bytes: spec.bytes_needed().saturating_add(passing),
            beside_bytes,
            job,
        };
        plan.hash = plan.compute_hash();
        Ok(plan)
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a plan, has another version, or was edited.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path, MAX_PLAN_BYTES)?;
        let no_plan = |error| Error::invalid_file(path, format!("is not a plan: {error}"));
        let document: Value = serde_json::from_str(&text).map_err(no_plan)?;
        // The version is checked first, because a plan of another version has other fields.
        if let Some(other) = document["plan"].as_u64().filter(|version| *version != u64::from(VERSION)) {
            let problem = format!(
                "is a plan of version {other}; this program supports version {VERSION}, so create it again with \
                 `thalweg job plan`"
            );
            return Err(Error::invalid_file(path, problem));
        }
        let plan: Self = serde_json::from_value(document).map_err(no_plan)?;
        plan.check_hash().map_err(|problem| Error::invalid_file(path, problem))?;
        Ok(plan)
    }

    /// Reads the plan next to a store that was made by it. If the store was moved, the returned plan refers to its new
    /// place.
    ///
    /// # Errors
    /// Returns the errors of [`Plan::read`].
    pub fn read_sidecar(store: &Path) -> Result<Self> {
        let path = sidecar_path(store, PLAN);
        if !path.exists() {
            return Err(Error::missing_input(
                named(&path),
                "it is the plan of the store, which cannot be repaired without it",
            ));
        }
        let store = std::path::absolute(store).map_err(Error::io(store, "resolve the path"))?;
        Ok(Self { store, ..Self::read(&path)? })
    }

    /// Writes the plan next to its store, unless it is there already.
    pub(crate) fn write_sidecar(&self) -> Result<()> {
        let path = sidecar_path(&self.store, PLAN);
        if Self::read(&path).is_ok_and(|there| there.hash == self.hash) { Ok(()) } else { self.write(&path) }
    }

    /// Refuses a store of other work, and says what differs if that can be determined. A store in which nothing was
    /// done yet is accepted, because it gets replaced.
    pub(crate) fn check_store(&self) -> Result<()> {
        let Ok(there) = Store::open_read(&self.store) else { return Ok(()) };
        if there.spec().recipe == self.hash || there.is_blank() {
            return Ok(());
        }
        let what = self.describe_difference().map_or(String::new(), |what| format!(" ({what})"));
        Err(Error::invalid_file(&self.store, format!("is a store of different work{what}; choose another output")))
    }

    /// Describes the first difference from the plan next to the store; `None` if there is none to report.
    fn describe_difference(&self) -> Option<String> {
        let there = Self::read(&sidecar_path(&self.store, PLAN)).ok()?;
        // A changed source is the most likely reason and is named first; then the first option that differs.
        let known = there.job.sources();
        let is_changed = |(path, print): &(PathBuf, u64)| known.iter().any(|(own, had)| own == path && had != print);
        if let Some((path, _)) = self.job.sources().into_iter().find(is_changed) {
            return Some(format!("{} has changed since then", named(&path)));
        }
        let [there, own] = [&there, self].map(|plan| {
            let mut fields = Vec::new();
            flatten_json("", &serde_json::to_value(plan).unwrap_or_default(), &mut fields);
            fields
        });
        let is_reported = |name: &str| !["hash", "store", "stages"].contains(&name);
        let (path, now) = own.iter().find(|field| is_reported(&field.0) && !there.contains(field))?;
        let name = path.rsplit('.').next().unwrap_or(path);
        let had = there.iter().find(|field| field.0 == *path).map_or("nothing", |field| &field.1);
        let short = |text: &str| text.chars().take(80).collect::<String>();
        Some(format!("{name} was {} and is now {}", short(had), short(now)))
    }

    /// Writes the plan to a file atomically.
    ///
    /// # Errors
    /// Returns an error if the file is also a source or is inside a store, if it would replace the plan of a store of
    /// other work, or if it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.job.check_distinct_output(&std::path::absolute(path).map_err(Error::io(path, "resolve the path"))?)?;
        check_outside(path)?;
        if is_same_file(path, &sidecar_path(&self.store, PLAN)) {
            self.check_store()?;
        }
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::invalid_file(path, error.to_string()))?;
        write_text(path, &(text + "\n"))
    }

    fn check_hash(&self) -> Result<(), String> {
        let reckoned = self.compute_hash();
        if self.hash != reckoned {
            return Err(format!(
                "was changed after it was written (its hash is {reckoned}, but it states {}); create it again with \
                 `thalweg job plan`",
                self.hash
            ));
        }
        Ok(())
    }

    /// Returns the number of the stage of that name.
    ///
    /// # Errors
    /// Returns an error if there is no such stage.
    pub fn find_stage(&self, name: &str) -> Result<usize> {
        let found = self.stages.iter().position(|stage| stage.name == name);
        found.ok_or_else(|| Error::unknown_name("stage", name, self.stages.iter().map(|stage| stage.name.as_str())))
    }

    /// The maximum memory in bytes of a process that works on `at_once` tiles at the same time and solves stages.
    pub fn memory_bytes(&self, at_once: usize) -> u64 {
        let max_over_stages = |bytes: fn(&PlanStage) -> u64| self.stages.iter().map(bytes).max().unwrap_or(0);
        // Stages run one after another, so the largest tile and the largest solution bound them all.
        let each = max_over_stages(|stage| stage.tile_bytes).saturating_add(THREAD);
        each.saturating_mul(at_once as u64)
            .saturating_add(max_over_stages(|stage| stage.solve_bytes))
            .saturating_add(PROCESS)
    }

    /// Checks that the memory suffices for `at_once` tiles at the same time.
    ///
    /// # Errors
    /// Returns [`Error::TooLarge`] with the memory that is needed.
    pub fn check_memory(&self, memory: u64, at_once: usize) -> Result<()> {
        let need = self.memory_bytes(at_once);
        let what = format!("{at_once} tiles of {0} × {0} cells at once, of {1}", self.side, self.tiles);
        if need <= memory {
            Ok(())
        } else {
            Err(Error::TooLarge { what, need: format_bytes(need), have: format_bytes(memory) })
        }
    }

    /// Plans a job within a memory limit in bytes, with up to `threads` tiles at once; returns the plan and the number
    /// of tiles at once. If the requested side does not allow all threads, the tile side that allows the most tiles at
    /// once is chosen, and among equals the one nearest to `side`.
    ///
    /// # Errors
    /// Returns the errors of [`Plan::from_job`]; also returns an error if the memory does not suffice for a single
    /// tile, with the least that would.
    pub fn fit_to_memory(job: &Job, store: &Path, side: usize, memory: u64, threads: usize) -> Result<(Self, usize)> {
        let fits = |plan: &Self| (1..=threads.max(1)).rev().find(|at_once| plan.memory_bytes(*at_once) <= memory);
        let first = Self::from_job(job.clone(), store, side)?;
        if fits(&first) == Some(threads.max(1)) {
            return Ok((first, threads.max(1)));
        }
        let (mut smallest, size) = (first.memory_bytes(1), first.size);
        let mut best = fits(&first).map(|at_once| (first, at_once));
        // The nearest sides come first, and only a side with more tiles at once replaces an earlier one.
        let mut sides = SIDES.to_vec();
        sides.sort_by_key(|other| other.abs_diff(side));
        for other in sides {
            let plan = Self::from_job(job.clone(), store, other)?;
            smallest = smallest.min(plan.memory_bytes(1));
            let at_once = fits(&plan).unwrap_or(0);
            if at_once > best.as_ref().map_or(0, |(_, at_once)| *at_once) {
                best = Some((plan, at_once));
            }
        }
        let what = format!("work on {} × {} cells, one tile at a time", size[0], size[1]);
        best.ok_or_else(|| Error::TooLarge { what, need: format_bytes(smallest), have: format_bytes(memory) })
    }

    /// Computes the hash of everything except the hash itself and the store's path, since the store may be moved.
    fn compute_hash(&self) -> String {
        let mut bare = Self { hash: String::new(), store: PathBuf::new(), ..self.clone() };
        // Layers are hashed by their first names, so that a renamed layer does not change the hash of its plans.
        let use_first_name = |name: &mut String| {
            let first = earlier_layer_names(current_layer_name(name)).next().map(String::from);
            if let Some(first) = first {
                *name = first;
            }
        };
        for stage in &mut bare.stages {
            [&mut stage.reads, &mut stage.writes, &mut stage.hands_on].into_iter().flatten().for_each(use_first_name);
        }
        if let Job::Apply(job) = &mut bare.job {
            job.leaves.iter_mut().for_each(use_first_name);
        }
        let text = serde_json::to_string(&bare).unwrap_or_default();
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }
}

/// The name of the sidecar file with the plan of a store.
const PLAN: &str = "plan.json";

/// Flattens a JSON document into pairs of dotted path and value.
fn flatten_json(name: &str, value: &Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Object(all) => all.iter().for_each(|(own, value)| flatten_json(&format!("{name}.{own}"), value, fields)),
        value => fields.push((name.trim_start_matches('.').to_string(), value.to_string())),
    }
}
