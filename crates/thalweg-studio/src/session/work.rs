//! The worker's thread: runs a [`Session`] that carries out orders, controls its pace, and decides when to publish
//! snapshots.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use thalweg_core::Result;
use thalweg_core::terrain::GROUND;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::recipe::strokes::{Stroke, Tool};
use thalweg_sim::session::Session;
use web_time::Instant;

use crate::run_export::ExportRequest;
use crate::session::board::Board;
use crate::session::estimate::Costs;
use crate::session::order::{INITIAL_STEPS_PER_SECOND, WorkerOrder};
use crate::session::snapshot::{SessionSnapshot, Trace, TurnWork};

/// The shortest time between two snapshots while the run is playing.
const MIN_SNAPSHOT_INTERVAL: Duration = Duration::from_millis(40);
/// Snapshots may take at most one part in this many of the worker's time.
const SNAPSHOT_TIME_DIVISOR: u32 = 6;
/// The shortest time between two saved positions within a stage.
const MIN_MARK_INTERVAL: Duration = Duration::from_secs(2);

/// A session with the state of the worker.
pub(crate) struct SessionLoop {
    session: Session,
    board: Arc<Board>,
    revision: u64,
    pace: Option<f64>,
    /// The time at which the last position was saved.
    marked: Instant,
    costs: Costs,
    /// The path of the last droplet that was traced, and the number of the session's past to which it belongs.
    trace: Arc<Trace>,
    traced: u64,
    problem: Option<String>,
    problems: u64,
    heard: u64,
    news: (u64, String),
    /// The version of the terrain for which the fingerprint was determined, and the fingerprint.
    fingerprint: (u64, Option<String>),
    /// Orders that were received and have not been carried out yet.
    waiting: VecDeque<WorkerOrder>,
    /// The time of the last snapshot, and how long it took.
    shown: Instant,
    cost: Duration,
    /// The time at which the next step may be taken.
    due: Instant,
}

impl SessionLoop {
    pub fn new(recipe: Recipe, playing: bool, board: Arc<Board>) -> Result<Self> {
        let mut session = Session::new(recipe)?;
        if playing {
            session.play();
        }
        Ok(Self {
            session,
            board,
            revision: 0,
            pace: Some(INITIAL_STEPS_PER_SECOND),
            marked: Instant::now(),
            costs: Costs::default(),
            trace: Arc::default(),
            traced: 0,
            problem: None,
            problems: 0,
            heard: 0,
            news: (0, String::new()),
            fingerprint: (u64::MAX, None),
            waiting: VecDeque::new(),
            shown: Instant::now(),
            cost: Duration::ZERO,
            due: Instant::now(),
        })
    }

    /// Runs the thread's loop, which waits for orders and for the next step to be due.
    pub fn run(&mut self, inbox: &Receiver<WorkerOrder>, wake: &dyn Fn()) {
        self.publish_snapshot(wake);
        loop {
            match self.next(inbox) {
                Ok(order) => {
                    self.queue_order(order);
                    // All orders that have arrived are queued together, so that superseded edits are recognized.
                    inbox.try_iter().for_each(|order| self.queue_order(order));
                }
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => {}
            }
            if !self.run_turn(wake) {
                return;
            }
        }
    }

    /// Queues an order, which is carried out in the next turn.
    pub fn queue_order(&mut self, order: WorkerOrder) {
        self.waiting.push_back(order);
    }

    /// Runs one turn: first the orders, then a step if it is due, then a snapshot if it is time for one. Returns false
    /// when the work ends.
    pub fn run_turn(&mut self, wake: &dyn Fn()) -> bool {
        let has_orders = !self.waiting.is_empty();
        if !self.execute_orders() {
            return false;
        }
        // Orders precede the step, so that each change acts from the next step on.
        let stepped = self.session.is_going() && Instant::now() >= self.due;
        if stepped {
            let start = Instant::now();
            self.take_step();
            // The interval counts from the beginning of the step, so its duration is part of it; it is at most 100 s.
            self.due = self.pace.map_or(start, |pace| start + Duration::from_secs_f64(1.0 / pace.max(0.01)));
        }
        let rest = !self.session.is_going();
        // After orders a snapshot is always published, because the window waits for their effect; steps are published
        // at intervals.
        if has_orders
            || (stepped
                && (rest || self.shown.elapsed() >= MIN_SNAPSHOT_INTERVAL.max(SNAPSHOT_TIME_DIVISOR * self.cost)))
        {
            let start = Instant::now();
            self.publish_snapshot(wake);
            (self.shown, self.cost) = (Instant::now(), start.elapsed());
        }
        true
    }

    /// Returns how long there is nothing to do; `None` means until the next order.
    pub fn idle_time(&self) -> Option<Duration> {
        if !self.waiting.is_empty() {
            return Some(Duration::ZERO);
        }
        self.session.is_going().then(|| self.due.saturating_duration_since(Instant::now()))
    }

    /// Waits for the next order, until the next step is due.
    fn next(&self, inbox: &Receiver<WorkerOrder>) -> std::result::Result<WorkerOrder, TryRecvError> {
        let Some(wait) = self.idle_time() else {
            return inbox.recv().map_err(|_| TryRecvError::Disconnected);
        };
        if wait.is_zero() {
            return inbox.try_recv();
        }
        inbox.recv_timeout(wait).map_err(|error| match error {
            RecvTimeoutError::Timeout => TryRecvError::Empty,
            RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
        })
    }

    /// Carries out the waiting orders, up to the first that takes long, so that its effect is visible before the next.
    /// If several edits are waiting, only the last is applied. Returns false when the work ends.
    fn execute_orders(&mut self) -> bool {
        while let Some(order) = self.waiting.pop_front() {
            // `Quit` takes precedence over everything that waits, so that closing the window does not wait for old
            // orders.
            let waits = |one: fn(&WorkerOrder) -> bool| self.waiting.iter().any(one);
            if matches!(order, WorkerOrder::Quit) || waits(|order| matches!(order, WorkerOrder::Quit)) {
                return false;
            }
            // A slider sends an edit per frame; each contains the whole recipe, so only the last one matters.
            if matches!(order, WorkerOrder::Edit(..)) && waits(|later| matches!(later, WorkerOrder::Edit(..))) {
                continue;
            }
            // Playing or pausing does not clear an earlier error.
            let mends = !matches!(order, WorkerOrder::Play(_) | WorkerOrder::Step(_) | WorkerOrder::Pace(_));
            // The window compares this number with its own to know which tool orders are in the recipe.
            let is_edit = matches!(order, WorkerOrder::Stroke(_) | WorkerOrder::DragStroke(_) | WorkerOrder::Drop(_));
            self.heard += u64::from(is_edit);
            let takes_long = is_edit || matches!(order, WorkerOrder::Export(..));
            match self.execute_order(order) {
                Ok(()) if mends => self.problem = None,
                Ok(()) => {}
                Err(error) => self.record_problem(error.to_string()),
            }
            if takes_long {
                break;
            }
        }
        true
    }

    fn record_problem(&mut self, words: String) {
        self.problem = Some(words);
        self.problems += 1;
    }

    fn execute_order(&mut self, order: WorkerOrder) -> Result<()> {
        match order {
            WorkerOrder::Open(recipe, revision) => {
                // The number is adopted even if the recipe is refused, so that the window recognizes the answer to its
                // edit.
                self.revision = revision;
                self.session.open(*recipe)?;
            }
            WorkerOrder::Edit(recipe, revision, known) => {
                self.revision = revision;
                // Strokes that the window did not know of when it sent the edit are added, so that none is lost.
                let recipe = self.session.with_strokes_since(known, *recipe)?;
                self.session.edit_live(recipe)?;
            }
            WorkerOrder::Play(true) => self.session.play(),
            WorkerOrder::Play(false) => self.session.pause(),
            WorkerOrder::Step(steps) => self.session.play_for(steps.max(1)),
            WorkerOrder::Pace(pace) => self.pace = pace,
            WorkerOrder::Restart => self.session.restart()?,
            WorkerOrder::Back(place) => drop(self.session.return_to_mark(place)?),
            WorkerOrder::Stroke(stroke) => self.apply_stroke(stroke)?,
            // The parts of a drag share the position that was saved before the first of them.
            WorkerOrder::DragStroke(stroke) => self.session.add_drag_stroke(stroke)?,
            WorkerOrder::Drop(place) => {
                // The path is traced before the droplet erodes, on the same ground that the droplet meets.
                let points = self.session.trace_droplet(place)?;
                self.trace = Arc::new(Trace { number: self.trace.number + 1, points });
                self.traced = self.session.rewrite_count();
                self.apply_stroke(Stroke::droplet(place))?;
            }
            WorkerOrder::Export(request, place) => self.export_run(&request, &place)?,
            WorkerOrder::Quit => {}
        }
        Ok(())
    }

    fn export_run(&mut self, request: &ExportRequest, place: &Path) -> Result<()> {
        // The flag keeps the process alive until the files are complete.
        self.board.set_writing(true);
        let written = request.write(self.session.run(), place);
        self.board.set_writing(false);
        self.news = (self.news.0 + 1, written?);
        Ok(())
    }

    fn apply_stroke(&mut self, stroke: Stroke) -> Result<()> {
        // A spring that is placed after the end of the run starts it again, so that its water is seen running.
        let springs = stroke.tool == Tool::Spring && self.session.run().is_done();
        self.session.add_stroke(stroke)?;
        self.marked = Instant::now();
        if springs {
            self.session.play();
        }
        Ok(())
    }

    /// Takes a step; saves the position before it if it is time to.
    fn take_step(&mut self) {
        let place = self.session.position();
        // The beginning of each stage is always saved, so that an edit of the stage can return to it.
        if place.step == 0 || self.marked.elapsed() >= MIN_MARK_INTERVAL {
            self.session.record_mark();
            self.marked = Instant::now();
        }
        let start = Instant::now();
        match self.session.take_step() {
            Ok(_) => self.costs.record_step(self.session.run(), place.turn, start.elapsed().as_secs_f64()),
            Err(error) => self.record_problem(error.to_string()),
        }
    }

    /// Publishes a snapshot of the current state.
    pub fn publish_snapshot(&mut self, wake: &dyn Fn()) {
        let snapshot = self.build_snapshot();
        self.board.publish(snapshot);
        wake();
    }

    /// Returns the fingerprint of the terrain, as in the command's report; only for a finished run that a new run
    /// would reproduce.
    fn compute_fingerprint(&mut self) -> Option<String> {
        let (run, version) = (self.session.run(), self.session.version());
        // The fingerprint is a hash of all heights, so it is computed once per version.
        if self.fingerprint.0 != version {
            // A run that was edited while it ran differs from a build of its recipe.
            let is_whole = run.is_done() && run.reports().iter().all(|report| report.changes.is_empty());
            let found = is_whole.then(|| run.terrain().fingerprints().remove(GROUND.name)).flatten();
            self.fingerprint = (version, found);
        }
        self.fingerprint.1.clone()
    }

    /// The session, for exports of its run.
    pub fn session(&self) -> &Session {
        &self.session
    }

    pub fn build_snapshot(&mut self) -> SessionSnapshot {
        let fingerprint = self.compute_fingerprint();
        // After a return to an earlier position, the droplet's path belongs to a past that no longer exists.
        if self.traced != self.session.rewrite_count() {
            self.traced = self.session.rewrite_count();
            self.trace = Arc::new(Trace { number: self.trace.number, points: Vec::new() });
        }
        let terrain = self.session.snapshot_terrain();
        let run = self.session.run();
        let place = self.session.position();
        let here = run.turns().get(place.turn).copied();
        let stages = &run.recipe().stages;
        let turns = run.turns().iter().map(|turn| TurnWork {
            title: run.title(*turn),
            level: turn.level,
            steps: run.steps_in_turn(*turn),
            muted: turn.stage.and_then(|stage| stages.get(stage)).is_some_and(|stage| stage.muted),
        });
        SessionSnapshot {
            version: self.session.version(),
            before: self.session.terrain_before_erosion().map_or_else(|| Arc::clone(&terrain), Arc::clone),
            eroding: self.session.terrain_before_erosion().is_some(),
            recipe: run.recipe().to_toml().into(),
            revision: self.revision,
            stage: here.and_then(|here| here.stage).unwrap_or(stages.len()),
            turn: place.turn,
            turns: turns.collect(),
            step: place.step,
            steps: here.map_or(0, |here| run.steps_in_turn(here)),
            all: run.steps(),
            done: run.is_done(),
            playing: self.session.is_going(),
            pace: self.costs.steps_per_second(run, self.pace),
            years: run.years(),
            falling: self.session.active_droplets(),
            particles: run.reports().iter().map(|report| report.mass_balance.particles).sum(),
            seconds_left: self.costs.seconds_left(run, self.pace),
            marks: self.session.marks().collect(),
            trace: Arc::clone(&self.trace),
            problem: self.problem.clone(),
            problems: self.problems,
            strokes: self.session.stroke_count(),
            heard: self.heard,
            news: self.news.clone(),
            fingerprint,
            grid: run.terrain().grid.clone(),
            terrain,
        }
    }
}
