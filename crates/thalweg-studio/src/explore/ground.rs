//! A ring's ground as a terrain and as a surface: its rim runs over into the coarser ring about it, so that no seam shows.

use thalweg_core::terrain::{Cells, DISCHARGE, POOL};
use thalweg_core::{Cell, CellRect, Field, Grid, Height, Result, Terrain};
use thalweg_refine::{Frame, LocalWindow};
use thalweg_sim::world::World;

/// Cells over which a ring's ground becomes that of the coarser one.
const RIM: i64 = 32;
/// Cells at the rim that are the coarser ground and no other: as wide as the hole in the coarser ring is narrower.
const SAME: i64 = 4;

/// How narrow the hole in a coarser ring is, in cells of the finer one: the two overlap where they are the same.
pub const OVERLAP: f64 = 2.0;

/// The coarser cells that a ring's rim needs.
pub fn needed(frame: &Frame, level: u32, rect: CellRect<i64>) -> CellRect<i64> {
    rect.coarser().grown(1, frame.world(level.saturating_sub(1)))
}

/// A window of a world as a terrain. `around` are the cells of the next coarser level that [`needed_window`] says; without them nothing is blended.
///
/// # Errors
/// When the window's cells are none of a grid.
pub fn terrain(world: &World, window: &LocalWindow, around: Option<&LocalWindow>) -> Result<Terrain> {
    let (frame, size) = (world.frame(), window.size());
    let mut grid = Grid::new(size, frame.width(window.level))?;
    grid.sea_level = frame.sea;
    let mut terrain = Terrain::new(grid);
    let whole = frame.world(window.level);
    terrain.ground = match around {
        None => window.ground.clone(),
        Some(around) => Field::generate(size, |i, j| {
            let here = window.ground[(i, j)];
            let cell = Cell::new(window.rect.start.row + i as i64, window.rect.start.col + j as i64);
            // The world's own edges are no rims.
            let inward = (0..2).flat_map(|axis| {
                let (start, end) = (window.rect.start[axis], window.rect.end[axis]);
                let low = (start > whole.start[axis]).then_some(cell[axis] - start);
                let high = (end < whole.end[axis]).then_some(end - 1 - cell[axis]);
                low.into_iter().chain(high)
            });
            let inward = inward.min().unwrap_or(RIM);
            if inward >= RIM {
                return here;
            }
            let t = ((inward - SAME) as f64 / (RIM - SAME) as f64).clamp(0.0, 1.0);
            let own = t * t * (3.0 - 2.0 * t);
            Height::saturating(own * here.metres() + (1.0 - own) * between(around, cell))
        }),
    };
    terrain.insert(&DISCHARGE, Cells::Float(window.discharge(frame, world.runoff())))?;
    if let Some(lakes) = &window.lakes {
        let depth = Field::generate(size, |i, j| match lakes.id[(i, j)] {
            0 => Height::ZERO,
            _ => Height((lakes.level[(i, j)].0 - terrain.ground[(i, j)].0).max(0)),
        });
        terrain.insert(&POOL, Cells::Height(depth))?;
    }
    Ok(terrain)
}

/// Height in metres of coarser ground at the middle of a cell of half the width.
fn between(coarse: &LocalWindow, cell: Cell<i64>) -> f64 {
    let place = Cell::from_axes(|axis| {
        // The middle of fine cell k lies at (k + ½) / 2 − ½ among the middles of coarse cells.
        let along = 0.5 * (cell[axis] as f64 + 0.5) - 0.5 - coarse.rect.start[axis] as f64;
        along.clamp(0.0, (coarse.size()[axis] - 1) as f64)
    });
    let Cell { row: i, col: j } = place.map(|x| x as usize);
    let [down, right] = [place.row - i as f64, place.col - j as f64];
    let [rows, cols] = coarse.size();
    let at = |i: usize, j: usize| coarse.ground[(i.min(rows - 1), j.min(cols - 1))].metres();
    let row = |i: usize| (1.0 - right) * at(i, j) + right * at(i, j + 1);
    (1.0 - down) * row(i) + down * row(i + 1)
}
