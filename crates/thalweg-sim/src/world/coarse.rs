//! [`Coarse`]: what level 0 of a world is, and where it comes from.

use thalweg_core::base::cast::share_of;
use thalweg_core::terrain::RAIN;
use thalweg_core::{CellRect, Field, Progress, ProgressReport, Result, Terrain};
use thalweg_flow::Directions;
use thalweg_flow::accumulate::{SHARES, accumulate_weights, shares};
use thalweg_refine::{Frame, LocalWindow, Rules};

use crate::run::Run;

/// Level 0 of a world: solved whole, or in parts as they are asked for.
///
/// Every level above is a function of the cells that [`Coarse::window`] gives, so these must be the same whenever they are asked for, in
/// whatever rectangle. Nothing asks for more than a window of it, and a world may have more cells than any memory holds: then
/// [`Frame::first`] is negative and the metres' origin lies in its middle.
pub trait Coarse: Send + Sync {
    /// The world at all its levels: level 0's cells, their width, edges, sea.
    fn frame(&self) -> &Frame;

    /// A rectangle of level 0. The parts of level 0 that it needs and that are not solved yet are solved first, which
    /// may take long: `progress` receives a report after each step and may stop it. A thread that asks for the same
    /// parts meanwhile waits. A later call continues the work that was stopped, or repeats it.
    ///
    /// The window keeps what [`LocalWindow`] promises: no receiver is higher than its donor, and of land no catchment falls
    /// downstream, beyond the window's rim, too.
    ///
    /// # Errors
    /// A rectangle that is empty, not inside the world, or of too many cells (`check_window`); what cannot be solved, and
    /// [`Error::Stopped`](thalweg_core::Error::Stopped).
    fn window(&self, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<LocalWindow>;

    /// What falls on a rectangle of level 0 and gathers there; `None` where it rains alike on all land. Discharges of rivers go by it.
    ///
    /// # Errors
    /// As [`Coarse::window`].
    fn water(&self, _rect: CellRect<i64>, _progress: &mut dyn Progress) -> Result<Option<CoarseWater>> {
        Ok(None)
    }

    /// Bytes that it holds now.
    fn bytes(&self) -> u64;

    /// What tells its level 0 from others': two that have the same one give the same windows. A cache goes by it.
    fn identity(&self) -> u64;
}

/// Rain on a rectangle of level 0, and what of it gathers along the receivers.
#[derive(Debug, Clone, PartialEq)]
pub struct CoarseWater {
    /// Share of the rain that falls on each cell, 0 to 1.
    pub rain: Field<f32>,
    /// What drains through each cell, as m² of land under full rain: the rain over its catchment. It is no more than the catchment, and
    /// never falls downstream.
    pub gathered: Field<f32>,
}

impl CoarseWater {
    /// Of land, each cell `each` m², on which all rain falls, and where nothing has gathered yet.
    pub(super) fn blank(rect: CellRect<i64>, each: f64) -> Self {
        Self { rain: Field::new(rect.size(), 1.0), gathered: Field::new(rect.size(), each as f32) }
    }

    /// A part of it, which lies on `whole`.
    pub(super) fn part(&self, whole: CellRect<i64>, rect: CellRect<i64>) -> Result<Self> {
        thalweg_refine::check_window(rect, whole)?;
        let start = [0, 1].map(|axis| (rect.start[axis] - whole.start[axis]) as usize);
        let window = CellRect::new(start, rect.size());
        Ok(Self { rain: self.rain.window(window), gathered: self.gathered.window(window) })
    }

    /// Writes a part, which lies on `rect`, into it, which lies on `whole`.
    pub(super) fn paste(&mut self, whole: CellRect<i64>, part: &Self, rect: CellRect<i64>) {
        let to = [0, 1].map(|axis| (rect.start[axis] - whole.start[axis]) as usize);
        let window = CellRect::new([0, 0], rect.size());
        self.rain.paste(&part.rain, window, to);
        self.gathered.paste(&part.gathered, window, to);
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        4 * (self.rain.len() + self.gathered.len()) as u64
    }
}

/// A level 0 that was solved in one piece, with its water if it does not rain alike on all of it.
#[derive(Debug)]
pub(super) struct Solved {
    pub window: LocalWindow,
    pub water: Option<CoarseWater>,
}

impl Solved {
    /// Of a whole terrain that goes on by rules.
    ///
    /// # Errors
    /// As [`LocalWindow::of`].
    pub fn of(terrain: &Terrain, rules: &Rules) -> Result<(Frame, Self)> {
        let (frame, window) = LocalWindow::bent(terrain, rules)?;
        let mut water = None;
        if let Some(rain) = terrain.float(&RAIN) {
            let gathered =
                accumulate_weights(&Directions::from(window.receivers.clone()), &rain.map(|share| shares(*share)))?;
            let each = terrain.grid.cell_area() / SHARES;
            let gathered = gathered.map(|sum| (*sum as f64 * each) as f32);
            water = Some(CoarseWater { rain: rain.map(|share| share_of(*share)), gathered });
        }
        Ok((frame, Self { window, water }))
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        self.window.bytes() + self.water.as_ref().map_or(0, CoarseWater::bytes)
    }
}

/// Takes all remaining steps of a run and reports each of them; `name` says what the run makes.
///
/// # Errors
/// As [`Run::step`]; [`Error::Stopped`](thalweg_core::Error::Stopped).
pub(super) fn finish_run(run: &mut Run, name: &str, progress: &mut dyn Progress) -> Result<()> {
    while let Some(step) = run.step()? {
        let task = format!("{name}: {}", step.label);
        let [done, total] = run.steps();
        ProgressReport::new(&task, done, total).send_to(progress)?;
    }
    Ok(())
}
