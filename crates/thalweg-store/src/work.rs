//! [`Work`]: a plan that is carried out, tile by tile, by as many processes as there are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use thalweg_core::terrain::TileGrid;
use thalweg_core::{Error, Result};
use thalweg_io::{Samples, write_text};
use thalweg_tiled::{LayerRead, TileInput, TileOutput, TilePass};

use crate::jobs::JobSetup;
use crate::products::{Solution, beside};
use crate::shelf::Shelf;
use crate::{
    Access, Fault, FileFault, Level, Plan, Store, StoreSpec, WindowedMap as _, check_outside, check_room, is_store,
};

/// How a part of the work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is done, now or earlier.
    Done,
    /// It cannot begin: something before it is missing, in words.
    Waits(String),
}

/// A part of the work that can be done by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    /// A tile of a stage.
    Tile {
        /// Number of the stage.
        stage: usize,
        /// Number of the tile.
        tile: usize,
    },
    /// A stage's solution out of the summaries of its tiles.
    Solve {
        /// Number of the stage.
        stage: usize,
    },
}

/// A plan with its store. What is done is known by marks and summaries on the disk alone; so any process goes on where
/// another ended.
pub struct Work {
    plan: Plan,
    setup: JobSetup,
    tiles: TileGrid,
    store: Store,
    shelves: Vec<Shelf>,
    /// The stores of the layers that stages pass on, opened as they are needed.
    passed: Mutex<BTreeMap<usize, Arc<Store>>>,
}

impl Work {
    /// Opens a plan's store, or makes it.
    ///
    /// # Errors
    /// A source that is not what it was, a store of other work, no room on the disk, a store that another process has
    /// for itself.
    pub fn open(plan: Plan, access: Access) -> Result<Self> {
        plan.job.check_apart(&plan.store)?;
        check_outside(&plan.store)?;
        let setup = plan.job.set_up(plan.side, &plan.store)?;
        let spec = StoreSpec { recipe: plan.hash.clone(), ..setup.spec.clone() };
        let is_new = !is_store(&plan.store);
        if is_new {
            check_room(&plan.store, plan.disk_bytes.saturating_add(plan.beside_bytes) / LEAST)?;
        }
        plan.check_store()?;
        let store = Store::create(&plan.store, spec, access)?;
        if access == Access::Alone && !store.lost_coordinates().is_empty() {
            store.mend_coordinates()?;
        }
        plan.keep()?;
        // The messages of each plan are in a folder of their own, so that those of another plan are never read.
        let folder = work_folder(&plan.store).join(&plan.hash[..16]);
        if is_new || access == Access::Alone {
            sweep(&folder);
        }
        let names = setup.passes.iter().map(|pass| pass.name()).enumerate();
        let shelves: Vec<_> = names.map(|(k, name)| Shelf::new(folder.join(format!("{k}-{name}")))).collect();
        let tiles = TileGrid::new(plan.size, plan.side)?;
        let work = Self { plan, setup, tiles, store, shelves, passed: Mutex::default() };
        if access == Access::Alone {
            work.retire_all();
        }
        Ok(work)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The folder of the summaries and answers of all stages.
    pub fn messages(&self) -> PathBuf {
        work_folder(&self.plan.store)
    }

    /// Does a part, if what it needs is there and it was not done before.
    ///
    /// # Errors
    /// What the part's own work meets; a disk that is full. What is written stays, and the part can be done again.
    pub fn carry_out(&self, task: Task) -> Result<Outcome> {
        match task {
            Task::Tile { stage, tile } => self.tile(stage, tile),
            Task::Solve { stage } => self.solve(stage),
        }
    }

    /// Returns true if a stage is solved and the files that it wrote next to the store exist.
    fn is_solved(&self, stage: usize) -> bool {
        let is_there = |name: &&str| self.store.check_file(name, Level::Lengths).is_ok_and(|fault| fault.is_none());
        self.shelves[stage].is_solved() && self.files(stage).iter().all(is_there)
    }

    /// The names of the files that a stage writes next to the store.
    fn files(&self, stage: usize) -> &'static [&'static str] {
        self.setup.products.files(&*self.setup.passes[stage])
    }

    /// The parts that can be done now, in their order; none when all is done, or all that is left waits for parts that
    /// another process has begun.
    pub fn ready(&self) -> Vec<Task> {
        let Some(stage) = (0..self.setup.passes.len()).find(|stage| !self.is_solved(*stage)) else {
            return Vec::new();
        };
        let shelf = &self.shelves[stage];
        let left: Vec<_> =
            (0..self.plan.tiles).filter(|tile| !shelf.has(*tile)).map(|tile| Task::Tile { stage, tile }).collect();
        if left.is_empty() { vec![Task::Solve { stage }] } else { left }
    }

    /// How many parts are done, and how many there are.
    pub fn progress(&self) -> [usize; 2] {
        let all = self.setup.passes.len() * (self.plan.tiles + 1);
        let done = self.shelves.iter().enumerate().map(|(stage, shelf)| match self.is_solved(stage) {
            true => self.plan.tiles + 1,
            false => shelf.count(),
        });
        [done.sum(), all]
    }

    /// The name of the stage that is not solved yet; nothing when all are.
    pub fn now(&self) -> &str {
        let first = (0..self.setup.passes.len()).find(|stage| !self.is_solved(*stage));
        first.map_or("", |stage| self.setup.passes[stage].name())
    }

    /// Whether all is done.
    pub fn is_done(&self) -> bool {
        (0..self.setup.passes.len()).all(|stage| self.is_solved(stage))
    }

    fn stage(&self, stage: usize) -> Result<(&dyn TilePass, &Shelf)> {
        let found = self.setup.passes.get(stage).zip(self.shelves.get(stage));
        let (stage, shelf) =
            found.ok_or_else(|| Error::value("stage", stage, format!("0 to {}", self.setup.passes.len() - 1)))?;
        Ok((&**stage, shelf))
    }

    /// The stage before is solved: nothing, or what is missing.
    fn waits(&self, stage: usize) -> Option<String> {
        let before = stage.checked_sub(1)?;
        let name = self.setup.passes[before].name();
        (!self.shelves[before].is_solved()).then(|| format!("stage {name} is not solved yet"))
    }

    fn tile(&self, number: usize, tile: usize) -> Result<Outcome> {
        let (_, shelf) = self.stage(number)?;
        self.store.spec().window(tile)?;
        if shelf.has(tile) {
            return Ok(Outcome::Done);
        }
        if let Some(missing) = self.waits(number) {
            return Ok(Outcome::Waits(missing));
        }
        match self.make(number, tile, &[]) {
            // Another process has done it meanwhile, and what it is made of is gone.
            Err(_) if shelf.has(tile) => Ok(Outcome::Done),
            made => made.map(|()| Outcome::Done),
        }
    }

    /// Works a tile out, writes its layers where they are not written yet or are to be made anew, and then its summary.
    fn make(&self, number: usize, tile: usize, anew: &[&str]) -> Result<()> {
        let (stage, shelf) = self.stage(number)?;
        let answer = match number.checked_sub(1) {
            Some(before) => self.shelves[before].answer(tile)?,
            None => Vec::new(),
        };
        let layers = stage.reads().iter().map(|need| self.read(number, need, tile)).collect::<Result<_>>()?;
        let summaries = match (number.checked_sub(1), stage.summary_halo()) {
            (Some(before), Some(halo)) => {
                let near = self.tiles.tiles_within_halo(tile, halo);
                near.into_iter().map(|tile| self.shelves[before].take(tile)).collect::<Result<_>>()?
            }
            _ => Vec::new(),
        };
        let TileOutput { layers, summary } = stage.run_tile(TileInput { tile, layers, answer: &answer, summaries })?;
        let mut layers = layers.iter();
        for (name, samples) in stage.writes().iter().zip(&mut layers) {
            if anew.contains(&name.as_str()) || !self.store.is_done(name, tile)? {
                self.store.remake_tile(name, tile, samples)?;
            }
        }
        let onward = stage.passes_on();
        if !onward.is_empty() {
            let passed = self.passed(number)?;
            for (layer, samples) in onward.iter().zip(layers) {
                if !passed.is_done(&layer.name, tile)? {
                    passed.remake_tile(&layer.name, tile, samples)?;
                }
            }
        }
        shelf.put(tile, &summary)
    }

    /// Reads a layer over a tile and its halo, from what the stage before passed on or from the store.
    fn read(&self, number: usize, need: &LayerRead, tile: usize) -> Result<Samples> {
        let window = self.tiles.window_with_halo(tile, need.halo);
        match self.passed_by(number, &need.layer) {
            Some(before) => self.passed(before)?.layer(&need.layer)?.read(window),
            None => self.store.layer(&need.layer)?.read(window),
        }
    }

    /// The stage before, if it passes on a layer of that name.
    fn passed_by(&self, number: usize, layer: &str) -> Option<usize> {
        let before = number.checked_sub(1)?;
        self.setup.passes[before].passes_on().iter().any(|passed| passed.name == layer).then_some(before)
    }

    /// The store of the layers that a stage passes on.
    fn passed(&self, number: usize) -> Result<Arc<Store>> {
        let mut open = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = open.get(&number) {
            return Ok(Arc::clone(store));
        }
        let pass = &*self.setup.passes[number];
        let spec = self.setup.passed_spec(pass, &self.plan.hash);
        let spec = spec.ok_or_else(|| Error::value("stage", pass.name(), "a stage that passes layers on"))?;
        let store = Arc::new(Store::create(&self.shelves[number].handed(), spec, Access::Shared)?);
        open.insert(number, Arc::clone(&store));
        Ok(store)
    }

    /// Deletes the layers that a stage passed on, if the next stage is solved.
    fn retire(&self, number: usize) {
        let Some(next) = self.setup.passes.get(number + 1).filter(|_| self.shelves[number + 1].is_solved()) else {
            return;
        };
        if self.setup.passes[number].passes_on().is_empty() {
            return;
        }
        self.passed.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        self.shelves[number].retire(next.summary_halo().is_some());
    }

    fn retire_all(&self) {
        (0..self.setup.passes.len()).for_each(|number| self.retire(number));
    }

    /// Makes anew what the stages before handed on and what is gone since, as far as these tiles of a stage need it: of
    /// the stage before the tiles about them, of the one before that the tiles about those.
    fn provide(&self, number: usize, tiles: BTreeSet<usize>) -> Result<()> {
        let (mut stage, mut tiles) = (number, tiles);
        let mut missing = Vec::new();
        while let Some(before) = stage.checked_sub(1) {
            let reads = self.setup.passes[stage].reads().into_iter();
            let halos = reads.filter(|need| self.passed_by(stage, &need.layer).is_some()).map(|need| need.halo);
            let heard = self.setup.passes[stage].summary_halo();
            let Some(halo) = halos.chain(heard).max() else { break };
            let near: BTreeSet<usize> =
                tiles.iter().flat_map(|tile| self.tiles.tiles_within_halo(*tile, halo)).collect();
            tiles = BTreeSet::new();
            for tile in near {
                if !self.stands(before, tile, heard.is_some())? {
                    tiles.insert(tile);
                }
            }
            if tiles.is_empty() {
                break;
            }
            missing.push((before, tiles.clone()));
            stage = before;
        }
        for (stage, tiles) in missing.into_iter().rev() {
            tiles.into_iter().try_for_each(|tile| self.make(stage, tile, &[]))?;
        }
        Ok(())
    }

    /// Returns true if the layers that a stage passed on still have this tile.
    fn stands(&self, number: usize, tile: usize, heard: bool) -> Result<bool> {
        let onward = self.setup.passes[number].passes_on();
        if (heard && !self.shelves[number].says(tile))
            || (!onward.is_empty() && !self.shelves[number].handed().exists())
        {
            return Ok(false);
        }
        let handed = if onward.is_empty() { None } else { Some(self.passed(number)?) };
        let done =
            onward.iter().map(|layer| handed.as_ref().map_or(Ok(true), |store| store.is_done(&layer.name, tile)));
        Ok(done.collect::<Result<Vec<_>>>()?.into_iter().all(|done| done))
    }

    fn solve(&self, number: usize) -> Result<Outcome> {
        let (stage, shelf) = self.stage(number)?;
        if self.is_solved(number) {
            return Ok(Outcome::Done);
        }
        if let Some(missing) = self.waits(number) {
            return Ok(Outcome::Waits(missing));
        }
        let missing = (0..self.plan.tiles).filter(|tile| !shelf.has(*tile)).count();
        if missing > 0 {
            return Ok(Outcome::Waits(format!(
                "{missing} of {} tiles of stage {} are not done",
                self.plan.tiles,
                stage.name()
            )));
        }
        // All tiles are done: what a worker that was killed left is nobody's.
        shelf.sweep();
        stage.writes().iter().for_each(|layer| self.store.sweep(layer));
        let summaries = shelf.summaries(self.plan.tiles);
        let Solution { answers, report } = self.setup.products.solve(stage, &summaries, &self.plan.store)?;
        self.files(number).iter().try_for_each(|name| self.store.mark_file(name))?;
        shelf.note(&report)?;
        shelf.solve(&answers)?;
        if let Some(before) = number.checked_sub(1) {
            self.retire(before);
        }
        if self.is_done() {
            self.retire_all();
        }
        Ok(Outcome::Done)
    }

    /// What was found, of all stages that are solved.
    ///
    /// # Errors
    /// Notes that cannot be read.
    pub fn report(&self) -> Result<Map<String, Value>> {
        let mut report = Map::new();
        report.insert("thalweg".into(), env!("CARGO_PKG_VERSION").into());
        report.insert("plan".into(), self.plan.hash.clone().into());
        report.insert("rows".into(), self.plan.size[0].into());
        report.insert("columns".into(), self.plan.size[1].into());
        report.insert("cell_size".into(), json!(self.store.spec().cell));
        for shelf in &self.shelves {
            report.extend(shelf.noted()?);
        }
        Ok(report)
    }

    /// Writes the report beside the store, and returns its path.
    ///
    /// # Errors
    /// As [`Work::report`]; a file that cannot be written.
    pub fn write_report(&self) -> Result<PathBuf> {
        let path = beside(&self.plan.store, "report.json");
        write_text(&path, &format!("{:#}\n", Value::Object(self.report()?)))?;
        Ok(path)
    }

    /// What is wrong with the store's tiles.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn verify(&self, level: Level) -> Result<Vec<Fault>> {
        self.store.verify(level)
    }

    /// Makes tiles anew that were lost or altered, and nothing else: the layer's stage is done again for this tile,
    /// from layers that are whole. Faults are mended in the order of their stages. What stages handed on to one another
    /// is gone by then: as much of it as the tiles need is made anew, from the source on where it must be, and goes
    /// again. Tiles whose stage was never done, or is not known to have been since the folder of messages is gone, are
    /// left to whoever goes on with the work.
    ///
    /// # Errors
    /// As the stages' own work.
    pub fn mend(&self, faults: &[Fault]) -> Result<()> {
        for (number, stage) in self.setup.passes.iter().enumerate() {
            let writes = stage.writes();
            let mut tiles: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
            for fault in faults.iter().filter(|fault| writes.contains(&fault.layer)) {
                tiles.entry(fault.tile).or_default().push(&fault.layer);
            }
            let (known, left): (BTreeMap<_, _>, BTreeMap<_, _>) =
                tiles.into_iter().partition(|(tile, _)| self.shelves[number].has(*tile));
            let forget = |(tile, layers): (usize, Vec<&str>)| {
                layers.into_iter().try_for_each(|layer| self.store.forget(layer, tile))
            };
            left.into_iter().try_for_each(forget)?;
            let tiles = known;
            self.provide(number, tiles.keys().copied().collect())?;
            tiles.into_iter().try_for_each(|(tile, layers)| self.make(number, tile, &layers))?;
        }
        self.retire_all();
        Ok(())
    }

    /// Makes files beside the store anew, and its coordinates.
    ///
    /// # Errors
    /// As the stages' own work.
    pub fn mend_files(&self, faults: &[FileFault]) -> Result<()> {
        if !faults.is_empty() {
            self.store.mend_coordinates()?;
        }
        for number in 0..self.setup.passes.len() {
            let is_harmed = |name: &&str| faults.iter().any(|fault| fault.path == beside(self.store.path(), name));
            if self.files(number).iter().any(is_harmed) {
                self.files(number).iter().try_for_each(|name| self.store.forget_file(name))?;
                self.solve(number)?;
            }
        }
        Ok(())
    }
}

/// A plan tells the most that its store can take, as if nothing could be compressed. Of stores of land that were made a
/// third was left; where there is less room than this part the work is refused, and where the disk is full later it
/// goes on once there is room.
const LEAST: u64 = 4;

/// Where the messages of a store's stages lie, those of each plan in a folder of its own.
fn work_folder(store: &Path) -> PathBuf {
    beside(store, "work")
}

/// Takes away the messages of other plans.
fn sweep(own: &Path) {
    for entry in own.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten() {
        if entry.path() != own {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
