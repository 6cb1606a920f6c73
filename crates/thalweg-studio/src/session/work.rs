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

use crate::goods::Goods;
use crate::session::board::Board;
use crate::session::estimate::Costs;
use crate::session::order::{Order, PACE};
use crate::session::snapshot::{Snapshot, Trace, TurnAt};

/// The shortest time between two snapshots while the run is playing.
const SNAPSHOTS: Duration = Duration::from_millis(40);
/// Snapshots may take at most one part in this many of the worker's time.
const SHARE: u32 = 6;
/// The shortest time between two saved positions within a stage.
const MARKS: Duration = Duration::from_secs(2);
/// Strokes that follow each other faster than this belong to one drag.
const DRAG: Duration = Duration::from_millis(400);

/// A session with the state of the worker.
pub(crate) struct Work {
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
    waiting: VecDeque<Order>,
    /// The time of the last snapshot, and how long it took.
    shown: Instant,
    cost: Duration,
    /// The time at which the next step may be taken.
    due: Instant,
}

impl Work {
    pub fn new(recipe: Recipe, playing: bool, board: Arc<Board>) -> Result<Self> {
        let mut session = Session::new(recipe)?;
        if playing {
            session.play();
        }
        Ok(Self {
            session,
            board,
            revision: 0,
            pace: Some(PACE),
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
    pub fn run(&mut self, inbox: &Receiver<Order>, wake: &dyn Fn()) {
        self.publish(wake);
        loop {
            match self.next(inbox) {
                Ok(order) => {
                    self.hear(order);
                    inbox.try_iter().for_each(|order| self.hear(order));
                }
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => {}
            }
            if !self.turn(wake) {
                return;
            }
        }
    }

    /// Queues an order, which is carried out in the next turn.
    pub fn hear(&mut self, order: Order) {
        self.waiting.push_back(order);
    }

    /// Runs one turn: first the orders, then a step if it is due, then a snapshot if it is time for one. Returns false
    /// when the work ends.
    pub fn turn(&mut self, wake: &dyn Fn()) -> bool {
        let heard = !self.waiting.is_empty();
        if !self.obey() {
            return false;
        }
        let stepped = self.session.is_going() && Instant::now() >= self.due;
        if stepped {
            let start = Instant::now();
            self.step();
            self.due = self.pace.map_or(start, |pace| start + Duration::from_secs_f64(1.0 / pace.max(0.01)));
        }
        let rest = !self.session.is_going();
        if heard || (stepped && (rest || self.shown.elapsed() >= SNAPSHOTS.max(SHARE * self.cost))) {
            let start = Instant::now();
            self.publish(wake);
            (self.shown, self.cost) = (Instant::now(), start.elapsed());
        }
        true
    }

    /// Returns how long there is nothing to do; `None` means until the next order.
    pub fn idle(&self) -> Option<Duration> {
        if !self.waiting.is_empty() {
            return Some(Duration::ZERO);
        }
        self.session.is_going().then(|| self.due.saturating_duration_since(Instant::now()))
    }

    /// Waits for the next order, until the next step is due.
    fn next(&self, inbox: &Receiver<Order>) -> std::result::Result<Order, TryRecvError> {
        let Some(wait) = self.idle() else {
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
    fn obey(&mut self) -> bool {
        while let Some(order) = self.waiting.pop_front() {
            let waits = |one: fn(&Order) -> bool| self.waiting.iter().any(one);
            if matches!(order, Order::Quit) || waits(|order| matches!(order, Order::Quit)) {
                return false;
            }
            if matches!(order, Order::Edit(..)) && waits(|later| matches!(later, Order::Edit(..))) {
                continue;
            }
            // Playing or pausing does not clear an earlier error.
            let mends = !matches!(order, Order::Play(_) | Order::Step(_) | Order::Pace(_));
            self.heard += u64::from(matches!(order, Order::Stroke(_) | Order::Drop(_)));
            let takes_long = matches!(order, Order::Stroke(_) | Order::Drop(_) | Order::Export(..));
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
                self.session.open(*recipe)?;
            }
            Order::Edit(recipe, revision, known) => {
                self.revision = revision;
                let recipe = self.session.with_strokes_since(known, *recipe)?;
                self.session.edit_live(recipe)?;
            }
            Order::Play(true) => self.session.play(),
            Order::Play(false) => self.session.pause(),
            Order::Step(steps) => self.session.play_for(steps.max(1)),
            Order::Pace(pace) => self.pace = pace,
            Order::Restart => self.session.restart()?,
            Order::Back(place) => drop(self.session.go_to(place)?),
            Order::Stroke(stroke) => self.stroke(stroke)?,
            Order::Drop(place) => {
                let points = self.session.follow(place)?;
                self.trace = Arc::new(Trace { number: self.trace.number + 1, points });
                self.traced = self.session.pasts();
                self.stroke(Stroke::droplet(place))?;
            }
            Order::Export(goods, place) => self.export(goods, &place)?,
            Order::Quit => {}
        }
        Ok(())
    }

    fn export(&mut self, goods: Goods, place: &Path) -> Result<()> {
        self.board.set_writing(true);
        let written = goods.write(self.session.run(), place);
        self.board.set_writing(false);
        self.news = (self.news.0 + 1, written?);
        Ok(())
    }

    fn stroke(&mut self, stroke: Stroke) -> Result<()> {
        // A spring that is placed after the end of the run starts it again, so that its water is seen running.
        let springs = stroke.tool == Tool::Spring && self.session.run().is_done();
        if self.marked.elapsed() > DRAG {
            self.session.stroke(stroke)?;
            self.marked = Instant::now();
        } else {
            self.session.drag(stroke)?;
        }
        if springs {
            self.session.play();
        }
        Ok(())
    }

    /// Takes a step; saves the position before it if it is time to.
    fn step(&mut self) {
        let place = self.session.position();
        if place.step == 0 || self.marked.elapsed() >= MARKS {
            self.session.keep();
            self.marked = Instant::now();
        }
        let start = Instant::now();
        match self.session.step() {
            Ok(_) => self.costs.add(self.session.run(), place.turn, start.elapsed().as_secs_f64()),
            Err(error) => self.trouble(error.to_string()),
        }
    }

    /// Publishes a snapshot of the current state.
    pub fn publish(&mut self, wake: &dyn Fn()) {
        let snapshot = self.snapshot();
        self.board.show(snapshot);
        wake();
    }

    /// Returns the fingerprint of the terrain, as in the command's report; only for a finished run that a new run
    /// would reproduce.
    fn fingerprint(&mut self) -> Option<String> {
        let (run, version) = (self.session.run(), self.session.version());
        if self.fingerprint.0 != version {
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

    pub fn snapshot(&mut self) -> Snapshot {
        let fingerprint = self.fingerprint();
        if self.traced != self.session.pasts() {
            self.traced = self.session.pasts();
            self.trace = Arc::new(Trace { number: self.trace.number, points: Vec::new() });
        }
        let terrain = self.session.snapshot();
        let run = self.session.run();
        let place = self.session.position();
        let here = run.turns().get(place.turn).copied();
        let stages = &run.recipe().stages;
        let turns = run.turns().iter().map(|turn| TurnAt {
            label: run.label(*turn).to_string(),
            level: turn.level,
            steps: run.steps_of(*turn),
            muted: turn.stage.and_then(|stage| stages.get(stage)).is_some_and(|stage| stage.muted),
        });
        Snapshot {
            version: self.session.version(),
            before: self.session.before().map_or_else(|| Arc::clone(&terrain), Arc::clone),
            eroding: self.session.before().is_some(),
            recipe: run.recipe().to_toml().into(),
            revision: self.revision,
            stage: here.and_then(|here| here.stage).unwrap_or(stages.len()),
            turn: place.turn,
            turns: turns.collect(),
            step: place.step,
            steps: here.map_or(0, |here| run.steps_of(here)),
            all: run.steps(),
            done: run.is_done(),
            playing: self.session.is_going(),
            pace: self.costs.pace(run, self.pace),
            years: run.years(),
            falling: self.session.falling(),
            particles: run.reports().iter().map(|report| report.budget.particles).sum(),
            seconds_left: self.costs.seconds_left(run, self.pace),
            marks: self.session.marks().collect(),
            trace: Arc::clone(&self.trace),
            problem: self.problem.clone(),
            problems: self.problems,
            strokes: self.session.strokes(),
            heard: self.heard,
            news: self.news.clone(),
            fingerprint,
            grid: run.terrain().grid.clone(),
            terrain,
        }
    }
}
