//! Computes windows of a level: those of the next coarser level that are needed, one window, and a tile of any level.

use crate::ledger::Ledger;
use crate::margins::{COARSE_MARGIN_CELLS, Margins};
use crate::refinement::Refinement;
use crate::{Frame, LocalWindow, Rules, check_window};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{CellRect, Error, Result};

/// Returns the cells of level `level` − 1 from which the cells `target_rect` of `level` (1 or more) are computed:
/// [`refine_window`] needs these and no others. Each rectangle is in world cells of its own level.
///
/// # Examples
/// ```
/// use thalweg_core::{CellRect, Grid};
/// use thalweg_refine::{Frame, Rules, needed_window};
///
/// let frame = Frame::from_grid(&Grid::new([1000, 1000], 10.0)?)?;
/// let wanted = CellRect::new([960_i64, 960], [64, 64]);
/// let needed = needed_window(&frame, &Rules::default(), 1, wanted);
/// // The coarse cells under the wanted ones, and some around them, but not the whole world.
/// assert!(needed.contains(&wanted.to_coarser_level()));
/// assert!(needed.rows() < 1000 && needed.cols() < 1000);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn needed_window(frame: &Frame, rules: &Rules, level: u32, target_rect: CellRect<i64>) -> CellRect<i64> {
    let margins = Margins::from_rules(rules, level, frame.cell_width(level));
    let blocks = target_rect.grow_within(margins.carved, frame.world_rect(level)).to_coarser_level();
    blocks.grow_within(COARSE_MARGIN_CELLS, frame.world_rect(level.saturating_sub(1)))
}

/// Computes cells of half the width: the next level's `target_rect` cells, in world cells of that level.
///
/// The result is a function of the world's cells alone: a cell has the same bits in whatever window it is computed.
/// `coarse` must contain the cells that [`needed_window`] returns; further cells have no effect. `key` is the
/// world's; the level is mixed in.
///
/// # Errors
/// Returns an error if `target_rect` is empty, outside the world or of more than
/// [`MAX_WINDOW_CELLS`](crate::MAX_WINDOW_CELLS), its margins included; if the level is too fine ([`Frame::check`]), or
/// the rules are out of range ([`Rules::check`]); if a joined operator reads farther than
/// [`MAX_REACH_CELLS`](crate::MAX_REACH_CELLS), or does not have 1 to [`MAX_SWEEPS`](crate::MAX_SWEEPS) sweeps; if a
/// layer of `coarse` does not have its rectangle's size, or `coarse` does not contain the needed cells.
///
/// # Examples
/// ```
/// use thalweg_core::{CellRect, Field, Grid, Height, Terrain};
/// use thalweg_refine::{LocalWindow, Rules, refine_window, refinement_key};
///
/// let ground = Field::from_fn([16, 16], |i, _| Height::from_metres_clamped(32.0 - 2.0 * i as f64));
/// let terrain = Terrain::from_ground(Grid::new([16, 16], 10.0)?, ground)?;
/// let (frame, level_0) = LocalWindow::from_terrain(&terrain)?;
/// let (rules, key) = (Rules::default(), refinement_key(1));
/// let level_1 = refine_window(&frame, &rules, key, &level_0, frame.world_rect(1))?;
/// // No receiver is higher than its donor, and drainage areas never decrease downstream.
/// level_1.check(&frame)?;
/// assert_eq!((level_1.level, level_1.size()), (1, [32, 32]));
/// // Cells outside the world are refused.
/// let beyond = CellRect::new([0_i64, 0], [33, 33]);
/// assert!(refine_window(&frame, &rules, key, &level_0, beyond).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn refine_window(
    frame: &Frame,
    rules: &Rules,
    key: RandomKey,
    coarse: &LocalWindow,
    target_rect: CellRect<i64>,
) -> Result<LocalWindow> {
    Ok(Refinement::new(frame, rules, key, coarse, target_rect)?.run())
}

/// Like [`refine_window`], and also returns what each operator added to and removed from the wanted cells, in units of
/// height × cells.
///
/// # Errors
/// Returns the errors of [`refine_window`].
pub fn refine_with_ledger(
    frame: &Frame,
    rules: &Rules,
    key: RandomKey,
    coarse: &LocalWindow,
    target_rect: CellRect<i64>,
) -> Result<(LocalWindow, Ledger)> {
    let mut work = Refinement::new(frame, rules, key, coarse, target_rect)?;
    work.ledger = Some(Ledger::default());
    let window = work.run();
    Ok((window, work.ledger.unwrap_or_default()))
}

/// Computes a rectangle of any level from level 0: each level's window from the one before, as large as the next one
/// needs. `target_rect` is in world cells of `level`.
///
/// # Errors
/// Returns the errors of [`refine_window`]; also returns an error if a window that is needed in between has more than
/// [`MAX_WINDOW_CELLS`](crate::MAX_WINDOW_CELLS), or `whole` is not a whole level 0.
///
/// # Examples
/// ```
/// use thalweg_core::{CellRect, Field, Grid, Height, Terrain};
/// use thalweg_refine::{LocalWindow, Rules, refine_window, refine_tile, refinement_key};
///
/// let ground = Field::from_fn([16, 16], |i, _| Height::from_metres_clamped(32.0 - 2.0 * i as f64));
/// let terrain = Terrain::from_ground(Grid::new([16, 16], 10.0)?, ground)?;
/// let (frame, level_0) = LocalWindow::from_terrain(&terrain)?;
/// let (rules, key) = (Rules::default(), refinement_key(1));
/// let tile = CellRect::new([8_i64, 16], [8, 8]);
/// let alone = refine_tile(&frame, &rules, key, &level_0, 1, tile)?;
/// // The tile has the same bits as in the whole level.
/// let whole = refine_window(&frame, &rules, key, &level_0, frame.world_rect(1))?;
/// assert_eq!(alone.ground, whole.crop(tile)?.ground);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn refine_tile(
    frame: &Frame,
    rules: &Rules,
    key: RandomKey,
    whole: &LocalWindow,
    level: u32,
    target_rect: CellRect<i64>,
) -> Result<LocalWindow> {
    rules.check()?;
    frame.check(level)?;
    check_window(target_rect, frame.world_rect(level))?;
    if whole.level != 0 || whole.rect != frame.world_rect(0) {
        let present = format!("level {} of {} × {} cells", whole.level, whole.size()[0], whole.size()[1]);
        return Err(Error::invalid_value("level 0", present, "level 0 with all of its cells"));
    }
    // Determine the windows from the finest level back to the coarsest, because each level's window follows from the
    // next finer one.
    let mut windows = vec![target_rect];
    for finer in (1..=level).rev() {
        let coarse = needed_window(frame, rules, finer, windows[windows.len() - 1]);
        check_window(coarse, frame.world_rect(finer - 1))?;
        windows.push(coarse);
    }
    let mut now: Option<LocalWindow> = None;
    // Compute them in the opposite order. The first is that of level 0, which exists already.
    for window in windows.into_iter().rev().skip(1) {
        now = Some(refine_window(frame, rules, key, now.as_ref().unwrap_or(whole), window)?);
    }
    now.map_or_else(|| whole.crop(target_rect), Ok)
}
