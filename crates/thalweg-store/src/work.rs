//! [`PlannedWork`]: carries out a plan tile by tile, in any number of processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use thalweg_core::terrain::{TileGrid, current_layer_name};
use thalweg_core::{Error, Result};
use thalweg_io::{Samples, write_text};
use thalweg_tiled::{LayerRead, TileInput, TileOutput, TilePass};

use crate::jobs::JobSetup;
use crate::mailbox::StageMailbox;
use crate::products::{Solution, sidecar_path};
use crate::{
    Access, FileFault, Plan, Store, StoreSpec, TileFault, VerifyLevel, WindowedMap as _, check_outside, check_room,
    is_store,
};

/// The outcome of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The task is done, now or from an earlier run.
    Done,
    /// The task cannot start yet; the text says what is missing.
    Waits(String),
}

/// A part of the work that can be done on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    /// One tile of a stage.
    Tile {
        /// The number of the stage.
        stage: usize,
        /// The number of the tile.
        tile: usize,
    },
    /// The solution of a stage from the summaries of its tiles.
    Solve {
        /// The number of the stage.
        stage: usize,
    },
}

/// A plan with its store. Only the marks and summaries on the disk say what is done, so any process can continue where
/// another stopped.
pub struct PlannedWork {
    plan: Plan,
    setup: JobSetup,
    tiles: TileGrid,
    store: Store,
    shelves: Vec<StageMailbox>,
    /// The stores of the layers that stages pass on, by number of the stage; opened when first needed.
    passed: Mutex<BTreeMap<usize, Arc<Store>>>,
}

impl PlannedWork {
    /// Opens a plan's store, or creates it.
    ///
    /// # Errors
    /// Returns an error if a source has changed since the plan was made, if the folder holds a store of other work, if
    /// the disk has too little space, or if another process has exclusive access to the store.
    pub fn open(plan: Plan, access: Access) -> Result<Self> {
        plan.job.check_distinct_output(&plan.store)?;
        check_outside(&plan.store)?;
        let setup = plan.job.set_up(plan.side, &plan.store)?;
        let spec = StoreSpec { recipe: plan.hash.clone(), ..setup.spec.clone() };
        let is_new = !is_store(&plan.store);
        // Only a new store needs all of its space; one that is resumed has part of it already.
        if is_new {
            check_room(&plan.store, plan.disk_bytes.saturating_add(plan.beside_bytes) / MIN_FREE_SPACE_DIVISOR)?;
        }
        plan.check_store()?;
        let store = Store::create(&plan.store, spec, access)?;
        if access == Access::Alone && !store.lost_coordinates().is_empty() {
            store.rewrite_coordinates()?;
        }
        // The plan is written after the store exists, so that it never describes a store that could not be created.
        plan.write_sidecar()?;
        // The messages of each plan are in a folder of their own, so that those of another plan are never read.
        let folder = work_folder(&plan.store).join(&plan.hash[..16]);
        if is_new || access == Access::Alone {
            delete_other_plans(&folder);
        }
        let names = setup.passes.iter().map(|pass| pass.name()).enumerate();
        let shelves: Vec<_> = names.map(|(k, name)| StageMailbox::new(folder.join(format!("{k}-{name}")))).collect();
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
    pub fn messages_folder(&self) -> PathBuf {
        work_folder(&self.plan.store)
    }

    /// Carries out a task, if its inputs exist and it is not done already.
    ///
    /// # Errors
    /// Returns the errors of the task's own work, for example a full disk. What has been written stays, and the task
    /// can be repeated.
    pub fn execute_task(&self, task: Task) -> Result<Outcome> {
        match task {
            Task::Tile { stage, tile } => self.execute_tile(stage, tile),
            Task::Solve { stage } => self.solve_stage(stage),
        }
    }

    /// Returns true if a stage is solved and the files that it wrote next to the store exist.
    fn is_solved(&self, stage: usize) -> bool {
        let is_there =
            |name: &&str| self.store.check_file(name, VerifyLevel::Lengths).is_ok_and(|fault| fault.is_none());
        self.shelves[stage].is_solved() && self.sidecar_files(stage).iter().all(is_there)
    }

    /// The names of the files that a stage writes next to the store.
    fn sidecar_files(&self, stage: usize) -> &'static [&'static str] {
        self.setup.products.file_names(&*self.setup.passes[stage])
    }

    /// Returns the tasks that can be done now, in order: the missing tiles of the first unsolved stage, or its
    /// solution if all its tiles are done. The list is empty once all stages are solved.
    pub fn ready_tasks(&self) -> Vec<Task> {
        let Some(stage) = (0..self.setup.passes.len()).find(|stage| !self.is_solved(*stage)) else {
            return Vec::new();
        };
        let shelf = &self.shelves[stage];
        // The disk is asked every time, because other processes may have done tiles meanwhile.
        let remaining: Vec<_> = (0..self.plan.tiles)
            .filter(|tile| !shelf.is_tile_done(*tile))
            .map(|tile| Task::Tile { stage, tile })
            .collect();
        if remaining.is_empty() { vec![Task::Solve { stage }] } else { remaining }
    }

    /// The number of finished parts, and the number of all parts: each stage has its tiles and its solution.
    pub fn progress(&self) -> [usize; 2] {
        let all = self.setup.passes.len() * (self.plan.tiles + 1);
        let finished = self.shelves.iter().enumerate().map(|(stage, shelf)| match self.is_solved(stage) {
            true => self.plan.tiles + 1,
            false => shelf.count_summaries(),
        });
        [finished.sum(), all]
    }

    /// The name of the first stage that is not solved yet; empty if all are.
    pub fn current_stage(&self) -> &str {
        let first = (0..self.setup.passes.len()).find(|stage| !self.is_solved(*stage));
        first.map_or("", |stage| self.setup.passes[stage].name())
    }

    /// Returns true if all stages are solved.
    pub fn is_done(&self) -> bool {
        (0..self.setup.passes.len()).all(|stage| self.is_solved(stage))
    }

    fn find_stage(&self, stage: usize) -> Result<(&dyn TilePass, &StageMailbox)> {
        let found = self.setup.passes.get(stage).zip(self.shelves.get(stage));
        let (stage, shelf) = found
            .ok_or_else(|| Error::invalid_value("stage", stage, format!("0 to {}", self.setup.passes.len() - 1)))?;
        Ok((&**stage, shelf))
    }

    /// Returns what a stage has to wait for, in words; `None` if the stage before it is solved.
    fn waiting_reason(&self, stage: usize) -> Option<String> {
        let before = stage.checked_sub(1)?;
        let name = self.setup.passes[before].name();
        (!self.shelves[before].is_solved()).then(|| format!("stage {name} has not finished yet; solve it first"))
    }

    fn execute_tile(&self, number: usize, tile: usize) -> Result<Outcome> {
        let (_, shelf) = self.find_stage(number)?;
        self.store.spec().tile_window(tile)?;
        // Tiles that are done are not computed again, and this does not wait for the stage before.
        if shelf.is_tile_done(tile) {
            return Ok(Outcome::Done);
        }
        if let Some(missing) = self.waiting_reason(number) {
            return Ok(Outcome::Waits(missing));
        }
        match self.make_tile(number, tile, &[]) {
            // Another process has finished this tile meanwhile and its inputs have been deleted.
            Err(_) if shelf.is_tile_done(tile) => Ok(Outcome::Done),
            made => made.map(|()| Outcome::Done),
        }
    }

    /// Computes a tile, writes the layers that are missing or listed in `anew`, and then its summary.
    fn make_tile(&self, number: usize, tile: usize, anew: &[&str]) -> Result<()> {
        let (stage, shelf) = self.find_stage(number)?;
        let answer = match number.checked_sub(1) {
            Some(before) => self.shelves[before].read_answer(tile)?,
            None => Vec::new(),
        };
        let layers =
            stage.input_layers().iter().map(|need| self.read_layer(number, need, tile)).collect::<Result<_>>()?;
        let summaries = match (number.checked_sub(1), stage.summary_halo()) {
            (Some(before), Some(halo)) => {
                let near = self.tiles.tiles_within_halo(tile, halo);
                near.into_iter().map(|tile| self.shelves[before].read_summary(tile)).collect::<Result<_>>()?
            }
            _ => Vec::new(),
        };
        // The summary is written after the layers, because it is the sign that the tile is done.
        let TileOutput { layers, summary } = stage.run_tile(TileInput { tile, layers, answer: &answer, summaries })?;
        let mut layers = layers.iter();
        for (name, samples) in stage.output_layers().iter().zip(&mut layers) {
            if anew.contains(&name.as_str()) || !self.store.is_done(name, tile)? {
                self.store.remake_tile(name, tile, samples)?;
            }
        }
        let onward = stage.temporary_layers();
        if !onward.is_empty() {
            let passed = self.open_passed_store(number)?;
            for (layer, samples) in onward.iter().zip(layers) {
                // A tile that was interrupted may have some of its layers already; they have the same bytes.
                if !passed.is_done(&layer.name, tile)? {
                    passed.remake_tile(&layer.name, tile, samples)?;
                }
            }
        }
        shelf.write_summary(tile, &summary)
    }

    /// Reads a layer over a tile and its halo, from what the stage before passed on or from the store.
    fn read_layer(&self, number: usize, need: &LayerRead, tile: usize) -> Result<Samples> {
        let window = self.tiles.window_with_halo(tile, need.halo);
        match self.find_passing_stage(number, &need.layer) {
            Some(before) => self.open_passed_store(before)?.layer(&need.layer)?.read_window(window),
            None => self.store.layer(&need.layer)?.read_window(window),
        }
    }

    /// Returns the number of the preceding stage if it passes on a layer of that name.
    fn find_passing_stage(&self, number: usize, layer: &str) -> Option<usize> {
        let before = number.checked_sub(1)?;
        self.setup.passes[before].temporary_layers().iter().any(|passed| passed.name == layer).then_some(before)
    }

    /// The store of the layers that a stage passes on.
    fn open_passed_store(&self, number: usize) -> Result<Arc<Store>> {
        // The lock is kept while the store is created, so that threads of this process create it once.
        let mut open = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = open.get(&number) {
            return Ok(Arc::clone(store));
        }
        let pass = &*self.setup.passes[number];
        let spec = self.setup.passed_spec(pass, &self.plan.hash);
        let spec = spec
            .ok_or_else(|| Error::invalid_value("stage", pass.name(), "a stage that writes layers for the next one"))?;
        let store = Arc::new(Store::create(&self.shelves[number].passed_store_path(), spec, Access::Shared)?);
        open.insert(number, Arc::clone(&store));
        Ok(store)
    }

    /// Deletes the layers that a stage passed on, if the next stage is solved.
    fn retire_stage(&self, number: usize) {
        let Some(next) = self.setup.passes.get(number + 1).filter(|_| self.shelves[number + 1].is_solved()) else {
            return;
        };
        if self.setup.passes[number].temporary_layers().is_empty() {
            return;
        }
        self.passed.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        self.shelves[number].delete_passed_layers(next.summary_halo().is_some());
    }

    fn retire_all(&self) {
        (0..self.setup.passes.len()).for_each(|number| self.retire_stage(number));
    }

    /// Recomputes the layers and summaries that earlier stages passed on and that have been deleted since, as far as
    /// the given tiles of a stage need them: for the preceding stage the tiles within the halo, for the one before it
    /// the tiles within the halo of those, and so on.
    fn recompute_inputs(&self, number: usize, tiles: BTreeSet<usize>) -> Result<()> {
        let (mut stage, mut tiles) = (number, tiles);
        let mut missing = Vec::new();
        // First walk back through the stages and collect the missing tiles, then compute them from the earliest stage
        // on.
        while let Some(before) = stage.checked_sub(1) {
            let reads = self.setup.passes[stage].input_layers().into_iter();
            // The widest halo of everything passed on decides which tiles are needed.
            let halos =
                reads.filter(|need| self.find_passing_stage(stage, &need.layer).is_some()).map(|need| need.halo);
            let summary_halo = self.setup.passes[stage].summary_halo();
            let Some(halo) = halos.chain(summary_halo).max() else { break };
            let near: BTreeSet<usize> =
                tiles.iter().flat_map(|tile| self.tiles.tiles_within_halo(*tile, halo)).collect();
            tiles = BTreeSet::new();
            for tile in near {
                if !self.has_passed_data(before, tile, summary_halo.is_some())? {
                    tiles.insert(tile);
                }
            }
            // Everything that these tiles need still exists, so earlier stages need not be considered.
            if tiles.is_empty() {
                break;
            }
            missing.push((before, tiles.clone()));
            stage = before;
        }
        for (stage, tiles) in missing.into_iter().rev() {
            tiles.into_iter().try_for_each(|tile| self.make_tile(stage, tile, &[]))?;
        }
        Ok(())
    }

    /// Returns true if everything that a stage passed on for this tile still exists: its layers and, with
    /// `reads_summaries`, its summary.
    fn has_passed_data(&self, number: usize, tile: usize, reads_summaries: bool) -> Result<bool> {
        let onward = self.setup.passes[number].temporary_layers();
        if (reads_summaries && !self.shelves[number].has_summary(tile))
            || (!onward.is_empty() && !self.shelves[number].passed_store_path().exists())
        {
            return Ok(false);
        }
        let handed = if onward.is_empty() { None } else { Some(self.open_passed_store(number)?) };
        let exist =
            onward.iter().map(|layer| handed.as_ref().map_or(Ok(true), |store| store.is_done(&layer.name, tile)));
        Ok(exist.collect::<Result<Vec<_>>>()?.into_iter().all(|exist| exist))
    }

    fn solve_stage(&self, number: usize) -> Result<Outcome> {
        let (stage, shelf) = self.find_stage(number)?;
        if self.is_solved(number) {
            return Ok(Outcome::Done);
        }
        if let Some(missing) = self.waiting_reason(number) {
            return Ok(Outcome::Waits(missing));
        }
        let missing = (0..self.plan.tiles).filter(|tile| !shelf.is_tile_done(*tile)).count();
        if missing > 0 {
            return Ok(Outcome::Waits(format!(
                "{missing} of {} tiles of stage {} are not done",
                self.plan.tiles,
                stage.name()
            )));
        }
        // All tiles are done, so no process is writing any more: temporary files are leftovers of workers that were
        // killed.
        shelf.delete_leftovers();
        stage.output_layers().iter().for_each(|layer| self.store.delete_leftovers(layer));
        let summaries = shelf.summaries(self.plan.tiles);
        let Solution { answers, report } = self.setup.products.solve_pass(stage, &summaries, &self.plan.store)?;
        // The answers are written last, because their file is the sign that the stage is solved.
        self.sidecar_files(number).iter().try_for_each(|name| self.store.mark_file(name))?;
        shelf.write_findings(&report)?;
        shelf.write_answers(&answers)?;
        if let Some(before) = number.checked_sub(1) {
            self.retire_stage(before);
        }
        if self.is_done() {
            self.retire_all();
        }
        Ok(Outcome::Done)
    }

    /// Returns the findings of all solved stages.
    ///
    /// # Errors
    /// Returns an error if a stage's notes cannot be read.
    pub fn collect_report(&self) -> Result<Map<String, Value>> {
        let mut report = Map::new();
        report.insert("thalweg".into(), env!("CARGO_PKG_VERSION").into());
        report.insert("plan".into(), self.plan.hash.clone().into());
        report.insert("rows".into(), self.plan.size[0].into());
        report.insert("columns".into(), self.plan.size[1].into());
        report.insert("cell_size".into(), json!(self.store.spec().cell));
        for shelf in &self.shelves {
            report.extend(shelf.read_findings()?);
        }
        Ok(report)
    }

    /// Writes the report next to the store, and returns its path.
    ///
    /// # Errors
    /// Returns the errors of [`PlannedWork::collect_report`]; also returns an error if the file cannot be written.
    pub fn write_report(&self) -> Result<PathBuf> {
        let path = sidecar_path(&self.plan.store, "report.json");
        write_text(&path, &format!("{:#}\n", Value::Object(self.collect_report()?)))?;
        Ok(path)
    }

    /// Checks the store's tiles, and returns what is wrong with them.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub fn verify_tiles(&self, level: VerifyLevel) -> Result<Vec<TileFault>> {
        self.store.verify_tiles(level)
    }

    /// Recomputes tiles that were lost or altered, and nothing else: the layer's stage runs again for this tile on
    /// intact input layers. Faults are repaired in the order of their stages. The intermediate layers that stages pass
    /// on have been deleted by then: as many of them as the tiles need are recomputed, from the source if necessary,
    /// and deleted again. Tiles whose stage was never done, or is not known to have been done because the folder of
    /// messages is gone, only lose their marks: they are made when the work is resumed.
    ///
    /// # Errors
    /// Returns the errors of the stages' own work.
    pub fn repair_tiles(&self, faults: &[TileFault]) -> Result<()> {
        for (number, stage) in self.setup.passes.iter().enumerate() {
            let writes = stage.output_layers();
            let mut tiles: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
            for fault in faults {
                // A store of an earlier version may have the earlier name of a layer.
                let is_current = writes.contains(&fault.layer);
                let layer = if is_current { fault.layer.as_str() } else { current_layer_name(&fault.layer) };
                if writes.iter().any(|name| name == layer) {
                    tiles.entry(fault.tile).or_default().push(layer);
                }
            }
            let (known, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
                tiles.into_iter().partition(|(tile, _)| self.shelves[number].is_tile_done(*tile));
            let forget = |(tile, layers): (usize, Vec<&str>)| {
                layers.into_iter().try_for_each(|layer| self.store.forget_tile(layer, tile))
            };
            // Without a summary, the tile is computed with the rest of its stage; a damaged shard only loses its mark.
            others.into_iter().try_for_each(forget)?;
            let tiles = known;
            self.recompute_inputs(number, tiles.keys().copied().collect())?;
            tiles.into_iter().try_for_each(|(tile, layers)| self.make_tile(number, tile, &layers))?;
        }
        self.retire_all();
        Ok(())
    }

    /// Rebuilds damaged sidecar files of the store and, if there is any fault, its coordinate arrays.
    ///
    /// # Errors
    /// Returns the errors of the stages' own work.
    pub fn repair_files(&self, faults: &[FileFault]) -> Result<()> {
        if !faults.is_empty() {
            self.store.rewrite_coordinates()?;
        }
        for number in 0..self.setup.passes.len() {
            let is_harmed =
                |name: &&str| faults.iter().any(|fault| fault.path == sidecar_path(self.store.path(), name));
            if self.sidecar_files(number).iter().any(is_harmed) {
                self.sidecar_files(number).iter().try_for_each(|name| self.store.forget_file(name))?;
                self.solve_stage(number)?;
            }
        }
        Ok(())
    }
}

/// The divisor of the disk space that must be free when a store is created. A plan states an upper bound, as if
/// nothing could be compressed; stores of land needed about a third of it. If less than a quarter of the bound is
/// free, the work is refused; if the disk fills up later, the work can be resumed once there is room.
const MIN_FREE_SPACE_DIVISOR: u64 = 4;

/// The folder of the messages (summaries and answers) of a store's stages; each plan has a subfolder of its own.
fn work_folder(store: &Path) -> PathBuf {
    sidecar_path(store, "work")
}

/// Deletes the messages of other plans.
fn delete_other_plans(own: &Path) {
    for entry in own.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten() {
        if entry.path() != own {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
