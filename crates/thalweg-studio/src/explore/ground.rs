//! The ground of a ring as a terrain: its margin blends into the coarser ring around it, so that no seam is visible.

use thalweg_core::terrain::{Cells, DISCHARGE, POOL};
use thalweg_core::{Cell, CellRect, Field, Grid, Height, Result, Terrain};
use thalweg_refine::{Frame, LocalWindow};
use thalweg_sim::world::World;

/// The width of the margin in which a ring's ground blends into the coarser one, in cells.
// A narrower margin would show the change of resolution as an edge; a wider one leaves less of the ring in full detail.
const BLEND_WIDTH_CELLS: i64 = 32;
/// The width of the outermost part of the margin that is purely the coarser ground, in cells: wider than the overlap
/// of the two rings.
const COARSE_RIM_CELLS: i64 = 4;

/// How much narrower than the finer ring the hole in a coarser ring is on each side, in cells of the finer one: the
/// two rings overlap where their ground is the same.
pub const OVERLAP_CELLS: f64 = 2.0;

/// Returns the coarser cells that a ring's margin needs.
pub fn find_coarse_margin(frame: &Frame, level: u32, rect: CellRect<i64>) -> CellRect<i64> {
    rect.to_coarser_level().grow_within(1, frame.world_rect(level.saturating_sub(1)))
}

/// Converts a window of a world to a terrain. `around` has the cells of the next coarser level that
/// [`find_coarse_margin`] returns; without them nothing is blended.
///
/// # Errors
/// Returns an error if the window's cells do not form a valid grid.
pub fn window_to_terrain(world: &World, window: &LocalWindow, around: Option<&LocalWindow>) -> Result<Terrain> {
    let (frame, size) = (world.frame(), window.size());
    let mut grid = Grid::new(size, frame.cell_width(window.level))?;
    grid.sea_level = frame.sea;
    let mut terrain = Terrain::new(grid);
    let whole = frame.world_rect(window.level);
    terrain.ground = match around {
        None => window.ground.clone(),
        Some(around) => Field::from_fn(size, |i, j| {
            let here = window.ground[(i, j)];
            let cell = Cell::new(window.rect.start.row + i as i64, window.rect.start.col + j as i64);
            // There is no margin along the world's own edges.
            let inward = (0..2).flat_map(|axis| {
                let (start, end) = (window.rect.start[axis], window.rect.end[axis]);
                let low = (start > whole.start[axis]).then_some(cell[axis] - start);
                let high = (end < whole.end[axis]).then_some(end - 1 - cell[axis]);
                low.into_iter().chain(high)
            });
            // The nearest edge decides, so that the blend is continuous in the corners too.
            let inward = inward.min().unwrap_or(BLEND_WIDTH_CELLS);
            if inward >= BLEND_WIDTH_CELLS {
                return here;
            }
            // Smoothstep from the coarser ground (t = 0) to the ring's own (t = 1).
            let t =
                ((inward - COARSE_RIM_CELLS) as f64 / (BLEND_WIDTH_CELLS - COARSE_RIM_CELLS) as f64).clamp(0.0, 1.0);
            let own = t * t * (3.0 - 2.0 * t);
            Height::from_metres_clamped(own * here.metres() + (1.0 - own) * interpolate_coarse_height(around, cell))
        }),
    };
    terrain.insert_layer(&DISCHARGE, Cells::Float(window.discharge(frame, world.runoff())))?;
    if let Some(lakes) = &window.lakes {
        // The depth is measured from the blended ground, so that the lake's level stays the same across the margin.
        let depth = Field::from_fn(size, |i, j| match lakes.id[(i, j)] {
            0 => Height::ZERO,
            _ => Height((lakes.level[(i, j)].0 - terrain.ground[(i, j)].0).max(0)),
        });
        terrain.insert_layer(&POOL, Cells::Height(depth))?;
    }
    Ok(terrain)
}

/// Returns the height in metres of the coarser ground at the centre of a cell of half its cell width, interpolated
/// bilinearly.
fn interpolate_coarse_height(coarse: &LocalWindow, cell: Cell<i64>) -> f64 {
    let place = Cell::from_axes(|axis| {
        // The centre of fine cell k has the coordinate (k + ½) / 2 − ½ among the centres of coarse cells.
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
