//! The worker's thread: a [`Session`] that obeys orders, its pace, and what of it is shown when.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use thalweg::recipe::Recipe;
use thalweg::recipe::strokes::{Stroke, Tool};
use thalweg::{Result, Session, world_folder};

use crate::session::board::Board;
use crate::session::estimate::Costs;
use crate::session::order::{Order, PACE};
use crate::session::snapshot::{Snapshot, Trace, TurnAt};

/// Shortest time between two snapshots while the run goes on.
const SNAPSHOTS: Duration = Duration::from_millis(40);
/// A snapshot may take one part in so many of the worker's time.
const SHARE: u32 = 6;
/// Shortest time between two marks within a stage.
const MARKS: Duration = Duration::from_secs(2);
/// Strokes that come closer together than this are one act.
const DRAG: Duration = Duration::from_millis(400);

/// A session at work.
pub(super) struct Work {
    session: Session,
    board: Arc<Board>,
    revision: u64,
    pace: Option<f64>,
    /// When the last mark was kept.
    marked: Instant,
    costs: Costs,
    /// The last droplet that was followed, and on which of the session's pasts.
    trace: Arc<Trace>,
    traced: u64,
    problem: Option<String>,
    problems: u64,
    heard: u64,
    news: (u64, String),
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
        })
    }

    /// The thread's loop: orders first, then a step, then a snapshot if it is time for one.
    pub fn run(&mut self, inbox: &Receiver<Order>, wake: &dyn Fn()) {
        self.publish(wake);
        let mut shown = Instant::now();
        let mut cost = Duration::ZERO;
        let mut due = Instant::now();
        let mut waiting = VecDeque::new();
        loop {
            let heard = match self.next(inbox, &mut waiting, due) {
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
            let stepped = self.session.is_going() && Instant::now() >= due;
            if stepped {
                let start = Instant::now();
                self.step();
                due = self.pace.map_or(start, |pace| start + Duration::from_secs_f64(1.0 / pace.max(0.01)));
            }
            let rest = !self.session.is_going();
            if heard || (stepped && (rest || shown.elapsed() >= SNAPSHOTS.max(SHARE * cost))) {
                let start = Instant::now();
                self.publish(wake);
                (shown, cost) = (Instant::now(), start.elapsed());
            }
        }
    }

    /// The next order: at once while there are steps to take, none once the next of them is due.
    fn next(
        &self,
        inbox: &Receiver<Order>,
        waiting: &mut VecDeque<Order>,
        due: Instant,
    ) -> std::result::Result<Order, TryRecvError> {
        if let Some(order) = waiting.pop_front() {
            return Ok(order);
        }
        if !self.session.is_going() {
            return inbox.recv().map_err(|_| TryRecvError::Disconnected);
        }
        let wait = due.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return inbox.try_recv();
        }
        inbox.recv_timeout(wait).map_err(|error| match error {
            RecvTimeoutError::Timeout => TryRecvError::Empty,
            RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
        })
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
            Order::Export(folder) => self.export(&folder)?,
            Order::Quit => {}
        }
        Ok(())
    }

    fn export(&mut self, folder: &Path) -> Result<()> {
        self.board.set_writing(true);
        let written = world_folder::export(self.session.run(), folder);
        self.board.set_writing(false);
        written?;
        self.news = (self.news.0 + 1, format!("All layers are in {}.", folder.display()));
        Ok(())
    }

    fn stroke(&mut self, stroke: Stroke) -> Result<()> {
        // A spring after the end is to be seen running.
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

    /// Takes a step, and keeps a mark before it when it is time.
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

    /// Hangs out what there is to see now.
    fn publish(&mut self, wake: &dyn Fn()) {
        let snapshot = self.snapshot();
        self.board.show(snapshot);
        wake();
    }

    fn snapshot(&mut self) -> Snapshot {
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
            grid: run.terrain().grid.clone(),
            terrain,
        }
    }
}
