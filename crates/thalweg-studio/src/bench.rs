//! The worker's bench: a run, what is kept of its past, and how orders change it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use thalweg::Result;
use thalweg::declare::params::Written;
use thalweg::given::springs::SPRINGS;
use thalweg::model::Role;
use thalweg::models;
use thalweg::models::droplets::{Droplets, trace};
use thalweg::plan::Turn;
use thalweg::process::upsample;
use thalweg::products::resample::reduce;
use thalweg::recipe::strokes::{Stroke, Tool};
use thalweg::recipe::{Recipe, Stage, When};
use thalweg::run::Run;
use thalweg::run::mark::Mark;
use thalweg::terrain::Terrain;

use crate::tools;
use crate::worker::{Board, Export, MarkAt, Order, PACE, SHOWN, Snapshot, Trace, TurnAt};

/// Shortest time between two snapshots while the run goes on.
const SNAPSHOTS: Duration = Duration::from_millis(40);
/// A snapshot may take one part in so many of the worker's time.
const SHARE: u32 = 6;
/// Shortest time between two marks within a stage.
const MARKS: Duration = Duration::from_secs(2);
/// Strokes that come closer together than this are one act.
const DRAG: Duration = Duration::from_millis(400);
/// Memory that marks may take in all.
const MARKS_BYTES: u64 = 192 << 20;

/// By this name the cost of making ground finer is kept.
const FINER: &str = "finer";

/// The run on the worker's bench.
pub(crate) struct Bench {
    run: Run,
    /// Where to say that files are being written.
    pub(crate) board: Option<Arc<Board>>,
    /// Marks, each with the version of the ground that it holds.
    kept: Vec<(u64, Mark)>,
    before: Option<Arc<Terrain>>,
    /// The terrain that was shown last, and its version.
    last: Option<(u64, Arc<Terrain>)>,
    version: u64,
    revision: u64,
    playing: bool,
    /// Play until this place is reached, then stop: where a paused run stood when its recipe was edited.
    until: Option<MarkAt>,
    left: Option<u32>,
    pace: Option<f64>,
    marked: Instant,
    /// Time to be let pass between two marks: it doubles when they take too much memory.
    spacing: Duration,
    /// Seconds a cell that a step of each model took lately.
    costs: HashMap<&'static str, f64>,
    trace: Arc<Trace>,
    /// Whether the last stroke was a shower.
    showered: bool,
    problem: Option<String>,
    problems: u64,
    /// Strokes made by hand, counted, and those that the window may not know of: number, label of the stage, stroke.
    strokes: u64,
    heard: u64,
    made: Vec<(u64, String, Stroke)>,
    /// The mark that was gone back to, while nothing has been done since.
    at: Option<usize>,
    news: (u64, String),
    export: Option<Arc<Export>>,
}

impl Bench {
    pub(crate) fn new(recipe: Recipe, playing: bool, export: Option<Arc<Export>>) -> Result<Self> {
        let mut bench = Self {
            run: Run::new(recipe)?,
            board: None,
            kept: Vec::new(),
            before: None,
            last: None,
            version: 0,
            revision: 0,
            playing,
            until: None,
            left: None,
            pace: Some(PACE),
            marked: Instant::now(),
            spacing: MARKS,
            costs: HashMap::new(),
            trace: Arc::default(),
            showered: false,
            problem: None,
            problems: 0,
            strokes: 0,
            heard: 0,
            made: Vec::new(),
            at: None,
            news: (0, String::new()),
            export,
        };
        bench.keep();
        Ok(bench)
    }

    /// The thread's loop: orders first, then a step, then a snapshot if it is time for one.
    pub(crate) fn work(&mut self, inbox: &Receiver<Order>, publish: &dyn Fn(Snapshot)) {
        publish(self.snapshot());
        let mut shown = Instant::now();
        let mut cost = Duration::ZERO;
        let mut due = Instant::now();
        let mut waiting = VecDeque::new();
        loop {
            let going = self.is_going();
            let wait = due.saturating_duration_since(Instant::now());
            let first = if let Some(order) = waiting.pop_front() {
                Ok(order)
            } else if !going {
                inbox.recv().map_err(|_| TryRecvError::Disconnected)
            } else if wait.is_zero() {
                inbox.try_recv()
            } else {
                inbox.recv_timeout(wait).map_err(|error| match error {
                    RecvTimeoutError::Timeout => TryRecvError::Empty,
                    RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
                })
            };
            let heard = match first {
                Ok(order) => {
                    waiting.push_front(order);
                    waiting.extend(inbox.try_iter());
                    if !self.obey(&mut waiting) {
                        return;
                    }
                    true
                }
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => false,
            };
            let stepped = self.is_going() && Instant::now() >= due;
            if stepped {
                let start = Instant::now();
                self.step();
                due = self.pace.map_or(start, |pace| start + Duration::from_secs_f64(1.0 / pace.max(0.01)));
            }
            let rest = !self.is_going();
            if heard || (stepped && (rest || shown.elapsed() >= SNAPSHOTS.max(SHARE * cost))) {
                let start = Instant::now();
                publish(self.snapshot());
                (shown, cost) = (Instant::now(), start.elapsed());
            }
        }
    }

    fn is_going(&self) -> bool {
        (self.playing || self.until.is_some() || self.left.is_some()) && !self.run.is_done()
    }

    /// Obeys the orders that wait, up to one that takes long: what it did is to be seen before the next. Of edits only the
    /// last counts. False ends the thread.
    fn obey(&mut self, waiting: &mut VecDeque<Order>) -> bool {
        while let Some(order) = waiting.pop_front() {
            if matches!(order, Order::Quit) || waiting.iter().any(|order| matches!(order, Order::Quit)) {
                return false;
            }
            if matches!(order, Order::Edit(..)) && waiting.iter().any(|later| matches!(later, Order::Edit(..))) {
                continue;
            }
            // To go on or to stop mends nothing.
            let mends = !matches!(order, Order::Play(_) | Order::Step(_) | Order::Pace(_));
            self.heard += u64::from(matches!(order, Order::Stroke(_) | Order::Drop(_)));
            let takes_long = matches!(order, Order::Stroke(_) | Order::Drop(_) | Order::Export(_));
            match self.obey_one(order) {
                Ok(()) if mends => self.problem = None,
                Ok(()) => {}
                Err(error) => self.trouble(error.to_string()),
            }
            if takes_long {
                break;
            }
        }
        true
    }

    fn trouble(&mut self, words: String) {
        self.problem = Some(words);
        self.problems += 1;
    }

    fn obey_one(&mut self, order: Order) -> Result<()> {
        match order {
            Order::Open(recipe, revision) => {
                self.revision = revision;
                self.begin(*recipe)?;
            }
            Order::Edit(mut recipe, revision, known) => {
                self.revision = revision;
                self.made.retain(|(number, ..)| *number > known);
                self.made.iter().try_for_each(|(_, label, stroke)| take_over(&mut recipe, label, stroke))?;
                self.edit(*recipe)?;
            }
            Order::Play(playing) => (self.playing, self.until, self.left) = (playing, None, None),
            Order::Step(steps) => (self.playing, self.until, self.left) = (false, None, Some(steps.max(1))),
            Order::Pace(pace) => self.pace = pace,
            Order::Restart => {
                let recipe = self.run.recipe().clone();
                self.begin(recipe)?;
            }
            Order::Back(to) => {
                let reached = |(_, mark): &(u64, Mark)| (mark.turn(), mark.step()) <= (to.turn, to.step);
                if let Some(number) = self.kept.iter().rposition(reached) {
                    self.run = Run::from_mark(self.run.recipe().clone(), &self.kept[number].1)?;
                    // Later marks can still be gone to, until something is done here.
                    self.at = Some(number);
                    (self.playing, self.until, self.left) = (false, None, None);
                    self.changed_past();
                }
            }
            Order::Stroke(stroke) => self.stroke(stroke)?,
            Order::Drop(place) => {
                let droplets = self.run.droplets()?;
                let points = trace(&droplets, self.run.terrain(), place, 100_000)?;
                self.trace = Arc::new(Trace { number: self.trace.number + 1, points });
                self.stroke(tools::drop(place))?;
            }
            Order::Export(folder) => match &self.export {
                Some(export) => {
                    let writing =
                        |on: bool| self.board.iter().for_each(|board| board.writing.store(on, Ordering::Release));
                    writing(true);
                    let written = export(&self.run, &folder);
                    writing(false);
                    written?;
                    self.news = (self.news.0 + 1, format!("All layers are in {}.", folder.display()));
                }
                None => self.news = (self.news.0 + 1, "This window has nothing to export with.".into()),
            },
            Order::Quit => {}
        }
        Ok(())
    }

    fn begin(&mut self, recipe: Recipe) -> Result<()> {
        let run = Run::new(recipe)?;
        self.run = run;
        self.kept.clear();
        (self.before, self.until, self.left, self.at) = (None, None, None, None);
        self.spacing = MARKS;
        self.made.clear();
        self.changed_past();
        self.keep();
        Ok(())
    }

    /// The ground is another than a moment ago: what ran over it is seen no more.
    fn changed_past(&mut self) {
        self.version += 1;
        self.showered = false;
        self.trace = Arc::new(Trace { number: self.trace.number, points: Vec::new() });
    }

    /// Something is done: marks beyond the one that was gone back to are of another run.
    fn leave_mark(&mut self) {
        if let Some(number) = self.at.take() {
            self.kept.truncate(number + 1);
        }
    }

    /// Goes on under an edited recipe, losing as little as can be.
    fn edit(&mut self, recipe: Recipe) -> Result<()> {
        let here = self.run.mark();
        if here.agrees(&recipe) {
            self.run = Run::from_mark(recipe, &here)?;
            return Ok(());
        }
        if let Some(recipe) = self.set_at_once(recipe)? {
            let (turn, step) = self.run.position();
            // During a run back to where it stood, that place still counts.
            let until = if self.playing { None } else { self.until.max(Some(MarkAt { turn, step })) };
            match self.kept.iter().rposition(|(_, mark)| mark.agrees(&recipe)) {
                Some(number) => {
                    self.run = Run::from_mark(recipe, &self.kept[number].1)?;
                    self.kept.truncate(number + 1);
                    self.at = None;
                    if self.kept.iter().all(|(_, mark)| self.is_base(mark.turn())) {
                        self.before = None;
                    }
                    self.changed_past();
                }
                None => self.begin(recipe)?,
            }
            self.until = until;
        }
        Ok(())
    }

    /// The stage of a turn, if it has one.
    fn stage_of(&self, turn: usize) -> Option<&Stage> {
        self.run.recipe().stages.get(self.run.turns().get(turn)?.stage?)
    }

    fn is_base(&self, turn: usize) -> bool {
        self.stage_of(turn).is_some_and(|stage| stage.muted || stage.is_base())
    }

    /// Changes parameters of the running stage where only they differ; gives the recipe back where more does.
    fn set_at_once(&mut self, recipe: Recipe) -> Result<Option<Recipe>> {
        let (turn, step) = self.run.position();
        let mut trial = self.run.recipe().clone();
        let Some(number) = self.run.turns().get(turn).and_then(|turn| turn.stage) else { return Ok(Some(recipe)) };
        let (Some(old), Some(new)) = (trial.stages.get_mut(number), recipe.stages.get(number)) else {
            return Ok(Some(recipe));
        };
        let label = old.label.clone();
        let mut changed = Vec::new();
        for param in new.model.declared() {
            let Some(value) = new.model.get(param.name).filter(|value| old.model.get(param.name) != Some(*value))
            else {
                continue;
            };
            let owner = old.model.about().name;
            if old.model.set(owner, param.name, &value.into()).is_err() {
                return Ok(Some(recipe));
            }
            changed.push((param.name, Written::from(value)));
        }
        if step == 0 || !trial.same_until(&recipe, turn, step) {
            return Ok(Some(recipe));
        }
        for (name, value) in &changed {
            // A value that leaves the stage no more steps is one for a run from the stage's start.
            if self.run.set(&label, name, value).is_err() {
                return Ok(Some(recipe));
            }
        }
        let here = self.run.mark();
        if !here.agrees(&recipe) {
            return Ok(Some(recipe));
        }
        self.run = Run::from_mark(recipe, &here)?;
        Ok(None)
    }

    fn stroke(&mut self, stroke: Stroke) -> Result<()> {
        self.leave_mark();
        if stroke.tool == Tool::Spring && self.run.is_done() {
            stroke.check("spring", &self.run.terrain().grid, true)?;
            self.let_springs_run()?;
        }
        self.showered = stroke.tool == Tool::Droplets && stroke.count > 1;
        // So that undo finds the ground before it; the dabs of one drag share a mark.
        if self.marked.elapsed() > DRAG {
            self.keep();
        }
        self.run.stroke(stroke.clone())?;
        self.version += 1;
        let made = self
            .stage_of(self.run.position().0)
            .and_then(|stage| Some((stage.label.clone(), stage.strokes.last()?.clone())));
        if let Some((label, stroke)) = made {
            self.strokes += 1;
            self.made.push((self.strokes, label, stroke));
        }
        Ok(())
    }

    /// Adds a stage in which springs run and no rain falls, to a run that is done.
    fn let_springs_run(&mut self) -> Result<()> {
        let model = models::playing(Role::Springs)?;
        let mut recipe = self.run.recipe().clone();
        let is_free = |label: &String| !recipe.stages.iter().any(|stage| stage.label == *label);
        let labels = std::iter::once(SPRINGS.to_string()).chain((2..).map(|n| format!("{SPRINGS} {n}")));
        let label = labels.into_iter().find(is_free).unwrap_or_default();
        recipe.stages.push(Stage { when: When::Last, ..Stage::new(label, model) });
        let here = self.run.mark();
        self.run = Run::from_mark(recipe, &here)?;
        self.playing = true;
        Ok(())
    }

    /// Takes a step, and a mark before it when it is time.
    fn step(&mut self) {
        self.leave_mark();
        let (turn, step) = self.run.position();
        if self.before.is_none() && !self.is_base(turn) {
            self.before = Some(Arc::new(shown(self.run.terrain())));
        }
        if step == 0 || self.marked.elapsed() >= self.spacing {
            self.keep();
        }
        let start = Instant::now();
        let model = self.stage_of(turn).map_or(FINER, |stage| stage.model.about().name);
        match self.run.step() {
            Ok(Some(_)) => {
                self.version += 1;
                let seconds = start.elapsed().as_secs_f64() / self.run.terrain().grid.len() as f64;
                let known = self.costs.entry(model).or_insert(seconds);
                *known += 0.2 * (seconds - *known);
                self.keep_before_as_fine();
                if let Some(left) = &mut self.left {
                    *left -= 1;
                    if *left == 0 {
                        self.left = None;
                    }
                }
                let (turn, step) = self.run.position();
                if self.run.is_done() || self.until.is_some_and(|until| (turn, step) >= (until.turn, until.step)) {
                    self.until = None;
                }
                if self.run.is_done() {
                    self.left = None;
                }
            }
            Ok(None) => {}
            Err(error) => {
                self.trouble(error.to_string());
                (self.playing, self.until, self.left) = (false, None, None);
            }
        }
    }

    /// What was before is shown beside what is: on cells as fine, once the run has gone on to those.
    fn keep_before_as_fine(&mut self) {
        let Some(before) = &self.before else { return };
        let size = self.run.terrain().grid.size;
        if before.grid.size[0] < size[0].min(SHOWN) && before.grid.size.map(|n| 2 * n) == size {
            self.before = Some(Arc::new(shown(&upsample::terrain(before))));
        }
    }

    /// Keeps a mark of the present state, and lets older ones go when they take too much memory.
    fn keep(&mut self) {
        if self.kept.last().is_some_and(|(version, _)| *version == self.version) {
            return;
        }
        let mark = self.run.mark();
        let least = 2 * mark.bytes();
        self.kept.push((self.version, mark));
        self.marked = Instant::now();
        let bytes = |kept: &[(u64, Mark)]| kept.iter().map(|(_, mark)| mark.bytes()).sum::<u64>();
        while bytes(&self.kept) > MARKS_BYTES.max(least) && self.kept.len() > 2 {
            // Every second one within stages first, then the oldest after the first.
            let within: Vec<usize> = (1..self.kept.len() - 1).filter(|n| self.kept[*n].1.step() > 0).collect();
            if within.is_empty() {
                self.kept.remove(1);
            } else {
                within.iter().step_by(2).rev().for_each(|n| drop(self.kept.remove(*n)));
                self.spacing *= 2;
            }
        }
    }

    fn snapshot(&mut self) -> Snapshot {
        let terrain = match self.last.take() {
            Some((version, terrain)) if version == self.version => terrain,
            _ => Arc::new(shown(self.run.terrain())),
        };
        self.last = Some((self.version, Arc::clone(&terrain)));
        let grid = self.run.terrain().grid.clone();
        let (turn, step) = self.run.position();
        let running = self.stage_of(turn);
        let here = self.run.turns().get(turn).copied();
        let turns = self.run.turns().iter().map(|turn| TurnAt {
            label: self.run.label(*turn).to_string(),
            level: turn.level,
            steps: self.run.steps_of(*turn),
            muted: turn.stage.and_then(|stage| self.run.recipe().stages.get(stage)).is_some_and(|stage| stage.muted),
        });
        let before = self.before.clone().unwrap_or_else(|| Arc::clone(&terrain));
        let model = running.map(|stage| stage.model.about().name);
        Snapshot {
            version: self.version,
            before,
            eroding: self.before.is_some(),
            recipe: self.run.recipe().to_toml().into(),
            revision: self.revision,
            stage: here.and_then(|here| here.stage).unwrap_or(self.run.recipe().stages.len()),
            turn,
            turns: turns.collect(),
            step,
            steps: here.map_or(0, |here| self.run.steps_of(here)),
            all: self.run.steps(),
            done: self.run.is_done(),
            playing: self.is_going(),
            pace: model.and_then(|model| self.costs.get(model)).map_or(0.0, |seconds| {
                (1.0 / (seconds * grid.len() as f64).max(1e-6)).min(self.pace.unwrap_or(f64::INFINITY))
            }),
            years: self.run.years(),
            falling: self.falling(running),
            particles: self.run.reports().iter().map(|report| report.budget.particles).sum(),
            seconds_left: self.seconds_left(),
            marks: self.kept.iter().map(|(_, mark)| MarkAt { turn: mark.turn(), step: mark.step() }).collect(),
            trace: Arc::clone(&self.trace),
            problem: self.problem.clone(),
            problems: self.problems,
            strokes: self.strokes,
            heard: self.heard,
            news: self.news.clone(),
            terrain,
            grid,
        }
    }

    fn falling(&self, running: Option<&Stage>) -> Option<Droplets> {
        let rains = running.is_some_and(|stage| stage.model.plays(Role::Droplets)) && self.is_going();
        if rains || self.showered { self.run.droplets().ok() } else { None }
    }

    /// Steps to come by what a step of their model took lately; none while a model to come has not been seen.
    fn seconds_left(&self) -> Option<f64> {
        let (at, step) = self.run.position();
        let cost = |(number, turn): (usize, &Turn)| {
            let steps = self.run.steps_of(*turn).saturating_sub(if number == at { step } else { 0 });
            if steps == 0 {
                return Some(0.0);
            }
            let least = self.pace.map_or(0.0, |pace| 1.0 / pace);
            let cells = self.run.grids().get(turn.level)?.len() as f64;
            let model = self.stage_of(number).map_or(FINER, |stage| stage.model.about().name);
            self.costs.get(model).map(|seconds| (seconds * cells).max(least) * f64::from(steps))
        };
        self.run.turns().iter().enumerate().skip(at).map(cost).sum()
    }
}

/// Puts a stroke into a recipe that was edited without knowing of it.
fn take_over(recipe: &mut Recipe, label: &str, stroke: &Stroke) -> Result<()> {
    let number = match recipe.stages.iter().position(|stage| stage.label == label) {
        Some(number) => number,
        None => {
            recipe.stages.push(Stage { when: When::Last, ..Stage::new(label, models::playing(Role::Strokes)?) });
            recipe.stages.len() - 1
        }
    };
    if let Some(stage) = recipe.stages.get_mut(number).filter(|stage| !stage.strokes.contains(stroke)) {
        stage.strokes.push(stroke.clone());
    }
    Ok(())
}

/// A terrain as it is shown: copied, or averaged down if it is larger than can be.
fn shown(terrain: &Terrain) -> Terrain {
    let [rows, cols] = terrain.grid.size;
    let long = rows.max(cols);
    if long <= SHOWN {
        return terrain.clone();
    }
    let side = |n: usize| ((n * SHOWN) as f64 / long as f64).round().max(1.0) as usize;
    // Both sides shrink alike, so that it fits; else it is shown as it is, and the painter makes it smaller.
    reduce(terrain, [side(rows), side(cols)]).unwrap_or_else(|_| terrain.clone())
}
