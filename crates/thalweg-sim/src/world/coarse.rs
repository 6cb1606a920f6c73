//! [`CoarseLevel`]: the source of a world's level 0.

use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::RAIN;
use thalweg_core::{CellRect, Field, Progress, ProgressReport, Result, Terrain};
use thalweg_flow::Directions;
use thalweg_flow::accumulate::{SHARES, accumulate_weights, quantize_rain};
use thalweg_refine::{Frame, LocalWindow, Rules};

use crate::run::Run;

/// Level 0 of a world: solved as a whole, or in parts when they are needed.
///
/// Every finer level is a function of the cells that [`CoarseLevel::window`] returns, so these must not depend on when
/// or in which rectangle they are requested. Only windows of it are requested, so a world may have more cells than fit
/// into any memory: then [`Frame::first`] is negative and the origin of the coordinates is in its middle.
pub trait CoarseLevel: Send + Sync {
    /// Returns the geometry of the world at all its levels: level 0's cells, their width, the edges and the sea.
    fn frame(&self) -> &Frame;

    /// Returns a rectangle of level 0. The parts of level 0 that it needs and that are not solved yet are solved
    /// first, which may take long: `progress` receives a report after each step and may stop it. Meanwhile another
    /// thread that requests the same parts waits. A later call continues the work that was stopped, or repeats it.
    ///
    /// The window has the invariants of [`LocalWindow`]: no receiver is higher than its donor, and on land drainage
    /// areas do not decrease downstream. They hold across the window's rim too.
    ///
    /// # Errors
    /// Returns an error if the rectangle is empty, not inside the world, or of too many cells (`check_window`); if a
    /// part cannot be solved; or [`Error::Stopped`](thalweg_core::Error::Stopped).
    fn window(&self, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<LocalWindow>;

    /// Returns the rain on a rectangle of level 0 and its accumulation; `None` if the rain is uniform on all land.
    /// Rivers' discharge depends on it.
    ///
    /// # Errors
    /// Returns the errors of [`CoarseLevel::window`].
    fn water(&self, _rect: CellRect<i64>, _progress: &mut dyn Progress) -> Result<Option<CoarseWater>> {
        Ok(None)
    }

    /// Returns the number of bytes that it takes now.
    fn bytes(&self) -> u64;

    /// Returns the fingerprint of its level 0: two with the same one return the same windows. Caches use it as a key.
    fn identity(&self) -> u64;
}

/// Rain on a rectangle of level 0, and its accumulation along the receivers.
#[derive(Debug, Clone, PartialEq)]
pub struct CoarseWater {
    /// Share of the full rain that falls on each cell, 0 to 1.
    pub rain: Field<f32>,
    /// The rain on each cell's catchment, as m² of land under full rain. It is never more than the drainage area, and
    /// never decreases downstream.
    pub gathered: Field<f32>,
}

impl CoarseWater {
    /// Returns land under full rain without any accumulation, with cells of `each` m².
    pub(super) fn blank(rect: CellRect<i64>, each: f64) -> Self {
        Self { rain: Field::new(rect.size(), 1.0), gathered: Field::new(rect.size(), each as f32) }
    }

    /// Returns the part of it for `rect`, if it covers `whole`.
    pub(super) fn crop_to(&self, whole: CellRect<i64>, rect: CellRect<i64>) -> Result<Self> {
        thalweg_refine::check_window(rect, whole)?;
        let start = [0, 1].map(|axis| (rect.start[axis] - whole.start[axis]) as usize);
        let window = CellRect::new(start, rect.size());
        Ok(Self { rain: self.rain.copy_window(window), gathered: self.gathered.copy_window(window) })
    }

    /// Copies a part that covers `rect` into this one, which covers `whole`.
    pub(super) fn paste(&mut self, whole: CellRect<i64>, part: &Self, rect: CellRect<i64>) {
        let to = [0, 1].map(|axis| (rect.start[axis] - whole.start[axis]) as usize);
        let window = CellRect::new([0, 0], rect.size());
        self.rain.paste(&part.rain, window, to);
        self.gathered.paste(&part.gathered, window, to);
    }

    /// Returns the number of bytes that it takes.
    pub fn bytes(&self) -> u64 {
        4 * (self.rain.len() + self.gathered.len()) as u64
    }
}

/// A level 0 that was solved in one piece, with its water if the rain is not uniform.
#[derive(Debug)]
pub(super) struct Solved {
    pub window: LocalWindow,
    pub water: Option<CoarseWater>,
}

impl Solved {
    /// Computes it from a whole terrain that is refined by these rules.
    ///
    /// # Errors
    /// Returns the errors of [`LocalWindow::from_terrain`].
    pub fn from_terrain(terrain: &Terrain, rules: &Rules) -> Result<(Frame, Self)> {
        let (frame, window) = LocalWindow::from_warped_terrain(terrain, rules)?;
        let mut water = None;
        if let Some(rain) = terrain.float_layer(&RAIN) {
            // Shares of rain are summed as whole numbers, so the sums do not depend on the order of summation.
            let gathered = accumulate_weights(
                &Directions::from(window.receivers.clone()),
                &rain.map(|share| quantize_rain(*share)),
            )?;
            let each = terrain.grid.cell_area() / SHARES;
            let gathered = gathered.map(|sum| (*sum as f64 * each) as f32);
            water = Some(CoarseWater { rain: rain.map(|share| clamp_share(*share)), gathered });
        }
        Ok((frame, Self { window, water }))
    }

    /// Returns the number of bytes that it takes.
    pub fn bytes(&self) -> u64 {
        self.window.bytes() + self.water.as_ref().map_or(0, CoarseWater::bytes)
    }
}

/// Takes all remaining steps of a run and reports each of them; `name` describes what the run computes.
///
/// # Errors
/// Returns the errors of [`Run::take_step`]; also [`Error::Stopped`](thalweg_core::Error::Stopped).
pub(super) fn finish_run(run: &mut Run, name: &str, progress: &mut dyn Progress) -> Result<()> {
    while let Some(step) = run.take_step()? {
        let task = format!("{name}: {}", step.label);
        let [done, total] = run.steps();
        ProgressReport::new(&task, done, total).send_to(progress)?;
    }
    Ok(())
}
