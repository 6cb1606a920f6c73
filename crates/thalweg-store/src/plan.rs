//! [`Plan`]: a job cut into stages and tiles, as a file that the queue of a cluster works through.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thalweg_core::base::names::shown as named;
use thalweg_core::{Error, Result};
use thalweg_io::apart::same;
use thalweg_io::plain::read_text;
use thalweg_io::write_text;
use xxhash_rust::xxh3::xxh3_128;

use crate::disk::shown;
use crate::jobs::Job;
use crate::products::{ProductWriter, beside};
use crate::spec::MAX_SIDE;
use crate::{Store, check_outside};

/// Sides of tiles that are tried where memory is short.
const SIDES: [usize; 8] = [128, 256, 384, 512, 768, 1024, 1536, 2048];

/// The least side of a tile: one of a cell is nothing but rim.
const LEAST_SIDE: usize = 2;

/// Bytes of memory that a process takes before it does anything: program, libraries, buffers.
const PROCESS: u64 = 40 << 20;

/// Bytes that a thread takes beside its tile: its stack, and what the allocator keeps for it.
const THREAD: u64 = 8 << 20;

/// The version of plans that this program writes, and reads.
const VERSION: u32 = 2;

/// The longest plan that is read, in bytes.
const MOST: u64 = 16 << 20;

/// A [pass over the tiles](thalweg_tiled::TilePass), as a plan describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStage {
    /// Its name.
    pub name: String,
    /// Layers of the store that it reads.
    pub reads: Vec<String>,
    /// Layers that it writes.
    pub writes: Vec<String>,
    /// Layers that it hands on to the next stage, and that are gone once that is solved.
    #[serde(default, rename = "hands", skip_serializing_if = "Vec::is_empty")]
    pub hands_on: Vec<String>,
    /// Bytes of memory that a tile takes.
    pub tile_bytes: u64,
    /// Bytes of memory that to solve the stage takes at the most, beside a tile's for each thread.
    pub solve_bytes: u64,
}

/// What takes nothing is not written.
fn is_none(bytes: &u64) -> bool {
    *bytes == 0
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
    /// Bytes that tables and outlines beside the store take on rough hills; what they take goes by how many lakes there
    /// are.
    #[serde(default, skip_serializing_if = "is_none")]
    pub beside_bytes: u64,
    /// The job.
    pub job: Job,
}

impl Plan {
    /// The plan of a job into a store, in tiles of about `side` cells. Nothing is made.
    ///
    /// # Errors
    /// A source that cannot be read, or that is the store itself; a side of other than 2 to 16 384 cells; options that
    /// cannot be heeded; a store's path that is no name.
    pub fn of(job: Job, store: &Path, side: usize) -> Result<Self> {
        let store = std::path::absolute(store).map_err(Error::io(store, "find the place of"))?;
        if !(LEAST_SIDE..=MAX_SIDE).contains(&side) {
            return Err(Error::value("tile", side, format!("{LEAST_SIDE} to {MAX_SIDE} cells")));
        }
        job.check_apart(&store)?;
        let setup = job.set_up(side, &store)?;
        let (spec, tiles) = (&setup.spec, setup.spec.tile_grid()?);
        let passed =
            setup.passes.iter().map(|pass| setup.passed_spec(&**pass, "").map_or(0, |spec| spec.bytes_needed()));
        // The layers that a pass reads are kept until it is solved.
        let passed: Vec<u64> = passed.collect();
        let passing = passed.windows(2).map(|two| two[0].saturating_add(two[1])).max().unwrap_or(0);
        let stages = setup.passes.iter().zip(&setup.held_bytes).map(|(pass, held_bytes)| PlanStage {
            name: pass.name().to_string(),
            reads: pass.reads().into_iter().map(|read| read.layer).collect(),
            writes: pass.writes(),
            hands_on: pass.passes_on().into_iter().map(|layer| layer.name).collect(),
            tile_bytes: pass.tile_bytes(&tiles),
            solve_bytes: held_bytes + ProductWriter::solve_bytes(&**pass),
        });
        let beside_bytes = job.beside_bytes(spec.size);
        let mut plan = Self {
            plan: VERSION,
            thalweg: env!("CARGO_PKG_VERSION").to_string(),
            hash: String::new(),
            store,
            size: spec.size,
            side: spec.side,
            tiles: tiles.count(),
            stages: stages.collect(),
            disk_bytes: spec.bytes_needed().saturating_add(passing),
            beside_bytes,
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
        let no_plan = |error| Error::file(path, format!("is no plan: {error}"));
        let document: Value = serde_json::from_str(&text).map_err(no_plan)?;
        // One of another version has other fields.
        if let Some(other) = document["plan"].as_u64().filter(|version| *version != u64::from(VERSION)) {
            let problem = format!("is a plan of version {other}; this program knows version {VERSION}");
            return Err(Error::file(path, problem));
        }
        let plan: Self = serde_json::from_value(document).map_err(no_plan)?;
        plan.check().map_err(|problem| Error::file(path, problem))?;
        Ok(plan)
    }

    /// The plan that a store was made by, which lies beside it. Where the store was moved, so was what is to be done
    /// there.
    ///
    /// # Errors
    /// As [`Plan::read`].
    pub fn beside(store: &Path) -> Result<Self> {
        let path = beside(store, PLAN);
        if !path.exists() {
            return Err(Error::missing(
                named(&path),
                "it is the plan of the store, which cannot be repaired without it",
            ));
        }
        let store = std::path::absolute(store).map_err(Error::io(store, "find the place of"))?;
        Ok(Self { store, ..Self::read(&path)? })
    }

    /// Writes it beside its store, if it is not there.
    pub(crate) fn keep(&self) -> Result<()> {
        let path = beside(&self.store, PLAN);
        if Self::read(&path).is_ok_and(|there| there.hash == self.hash) { Ok(()) } else { self.write(&path) }
    }

    /// Refuses a store of other work, with what is other as far as that can be told; one in which nothing was done yet
    /// gives way.
    pub(crate) fn check_store(&self) -> Result<()> {
        let Ok(there) = Store::open_read(&self.store) else { return Ok(()) };
        if there.spec().recipe == self.hash || there.is_blank() {
            return Ok(());
        }
        let what = self.differs().map_or(String::new(), |what| format!(" ({what})"));
        Err(Error::file(&self.store, format!("is a store of other work{what}: name another output")))
    }

    /// In what it is another than the plan beside its store.
    fn differs(&self) -> Option<String> {
        let there = Self::read(&beside(&self.store, PLAN)).ok()?;
        let known = there.job.sources();
        let is_changed = |(path, print): &(PathBuf, u64)| known.iter().any(|(own, had)| own == path && had != print);
        if let Some((path, _)) = self.job.sources().into_iter().find(is_changed) {
            return Some(format!("{} was changed since", named(&path)));
        }
        let [there, own] = [&there, self].map(|plan| {
            let mut fields = Vec::new();
            flat("", &serde_json::to_value(plan).unwrap_or_default(), &mut fields);
            fields
        });
        let told = |name: &str| !["hash", "store", "stages"].contains(&name);
        let (path, now) = own.iter().find(|field| told(&field.0) && !there.contains(field))?;
        let name = path.rsplit('.').next().unwrap_or(path);
        let had = there.iter().find(|field| field.0 == *path).map_or("nothing", |field| &field.1);
        let short = |text: &str| text.chars().take(80).collect::<String>();
        Some(format!("{name} was {}, and is {} now", short(had), short(now)))
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// A file that is read too, or lies in a store; the plan of a store of other work; a file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.job.check_apart(&std::path::absolute(path).map_err(Error::io(path, "find the place of"))?)?;
        check_outside(path)?;
        if same(path, &beside(&self.store, PLAN)) {
            self.check_store()?;
        }
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::file(path, error.to_string()))?;
        write_text(path, &(text + "\n"))
    }

    fn check(&self) -> Result<(), String> {
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

    /// Bytes of memory that a process takes at the most that works on so many tiles at once, and solves stages.
    pub fn bytes(&self, at_once: usize) -> u64 {
        let most = |bytes: fn(&PlanStage) -> u64| self.stages.iter().map(bytes).max().unwrap_or(0);
        let each = most(|stage| stage.tile_bytes).saturating_add(THREAD);
        each.saturating_mul(at_once as u64).saturating_add(most(|stage| stage.solve_bytes)).saturating_add(PROCESS)
    }

    /// Refuses to work on so many tiles at once with less memory than that takes.
    ///
    /// # Errors
    /// Says what is needed.
    pub fn check_memory(&self, memory: u64, at_once: usize) -> Result<()> {
        let need = self.bytes(at_once);
        let what = format!("{at_once} tiles of {0} × {0} cells at once, of {1}", self.side, self.tiles);
        if need <= memory { Ok(()) } else { Err(Error::TooLarge { what, need: shown(need), have: shown(memory) }) }
    }

    /// The plan of a job that takes at most so many bytes of memory with up to `threads` tiles at once, and how many
    /// that are. Of sides of tiles the one is taken with which the most are at once, and of these the one that is
    /// nearest to `side`.
    ///
    /// # Errors
    /// As [`Plan::of`]; memory that is not enough for a tile at once, with the least that would be.
    pub fn within(job: &Job, store: &Path, side: usize, memory: u64, threads: usize) -> Result<(Self, usize)> {
        let fits = |plan: &Self| (1..=threads.max(1)).rev().find(|at_once| plan.bytes(*at_once) <= memory);
        let first = Self::of(job.clone(), store, side)?;
        if fits(&first) == Some(threads.max(1)) {
            return Ok((first, threads.max(1)));
        }
        let (mut least, size) = (first.bytes(1), first.size);
        let mut best = fits(&first).map(|at_once| (first, at_once));
        let mut sides = SIDES.to_vec();
        sides.sort_by_key(|other| other.abs_diff(side));
        for other in sides {
            let plan = Self::of(job.clone(), store, other)?;
            least = least.min(plan.bytes(1));
            let at_once = fits(&plan).unwrap_or(0);
            if at_once > best.as_ref().map_or(0, |(_, at_once)| *at_once) {
                best = Some((plan, at_once));
            }
        }
        let what = format!("work on {} × {} cells, a tile at once", size[0], size[1]);
        best.ok_or_else(|| Error::TooLarge { what, need: shown(least), have: shown(memory) })
    }

    /// The hash of everything but itself, and of where the store lies: that may move.
    fn reckoned(&self) -> String {
        let bare = Self { hash: String::new(), store: PathBuf::new(), ..self.clone() };
        let text = serde_json::to_string(&bare).unwrap_or_default();
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }
}

/// Beside a store the plan that it was made by.
const PLAN: &str = "plan.json";

/// The fields of a document, those of fields of fields by both names.
fn flat(name: &str, value: &Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Object(all) => all.iter().for_each(|(own, value)| flat(&format!("{name}.{own}"), value, fields)),
        value => fields.push((name.trim_start_matches('.').to_string(), value.to_string())),
    }
}
