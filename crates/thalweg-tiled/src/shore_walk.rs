//! Traces the shorelines of a tile's lakes: closed lines, and pieces that continue in other tiles.
//!
//! A line goes from the middle of one side of a cell to that of the next, in the same way as
//! [`outlines`](thalweg_render::products::lakes::outlines). It is stored as a first side and runs of equal steps. The
//! next side depends on adjacent cells, so a tile needs a halo of one cell.

use std::ops::Range;

use crate::codec::put_number;
use thalweg_core::terrain::Rim;
use thalweg_core::{Cell, Size};
use thalweg_flow::D8;
use thalweg_render::products::lakes::CellSide;

/// Which cells of a tile, and of the cells around it, are covered by lakes.
pub(super) struct Wet {
    size: Size,
    /// Row-major, with one additional cell on each side; dry outside the map.
    cells: Vec<bool>,
}

impl Wet {
    /// Creates the mask. `is_wet` is called for each cell of the tile and around it, with its position in the tile.
    pub(super) fn new([rows, cols]: Size, is_wet: impl Fn(Cell<isize>) -> bool) -> Self {
        let all = (-1..=rows as isize).flat_map(|i| (-1..=cols as isize).map(move |j| Cell::new(i, j)));
        Self { size: [rows, cols], cells: all.map(is_wet).collect() }
    }

    fn is_wet(&self, cell: Cell<isize>) -> bool {
        self.cells[(cell.row + 1) as usize * (self.size[1] + 2) + (cell.col + 1) as usize]
    }

    fn is_inside(&self, cell: Cell<isize>) -> bool {
        (0..2).all(|axis| cell[axis] >= 0 && cell[axis] < self.size[axis] as isize)
    }

    /// Returns true if a side of a cell of the tile is a lake's shore.
    fn is_shore(&self, side: CellSide) -> bool {
        self.is_wet(side.cell) && !self.is_wet(side.neighbour())
    }
}

/// A closed line, which begins at the first of its sides in row-major order.
pub(super) struct Loop {
    /// The tile index of that side's cell.
    pub(super) cell: u32,
    /// That side.
    pub(super) side: u8,
    /// The range of its steps in [`TileShores::runs`].
    pub(super) runs: Range<usize>,
}

/// A piece of a line that comes from another tile and continues in another one.
pub(super) struct ShorePiece {
    /// The tile index of its first cell.
    pub(super) cell: u32,
    /// Where it enters the tile: the cell's place on the rim times four, plus the side.
    pub(super) door: u32,
    /// The side with which it continues in another tile, with positions relative to this tile.
    pub(super) onward: CellSide,
    /// The first of its sides in row-major order: the tile index of its cell, and the side.
    pub(super) first_side: (u32, u8),
    /// The ranges in [`TileShores::runs`] of the steps before that side, and after it.
    pub(super) runs: [Range<usize>; 2],
}

/// The shorelines of a tile.
pub(super) struct TileShores {
    /// Runs of consecutive steps in one direction: their number times eight, plus the code of the direction ([`D8`]).
    pub(super) runs: Vec<u8>,
    /// Closed lines, in the order of the sides with which they begin.
    pub(super) loops: Vec<Loop>,
    /// Pieces, in the order of their doors.
    pub(super) pieces: Vec<ShorePiece>,
}

impl TileShores {
    /// Traces all shorelines of a tile: first the pieces that enter over the rim, then the closed lines among the
    /// remaining sides.
    pub(super) fn from_wet_cells(wet: &Wet) -> Self {
        let [rows, cols] = wet.size;
        let mut trace = ShoreTrace { wet, traced: vec![0; rows * cols], steps: Vec::new() };
        let mut shores = Self { runs: Vec::new(), loops: Vec::new(), pieces: Vec::new() };
        // A line enters the tile at each rim side whose previous side belongs to a cell of another tile. Places on the
        // rim, then sides, ascend, so pieces are in the order of their doors.
        for (place, Cell { row: i, col: j }) in Rim(wet.size).cells().enumerate() {
            for side in 0..4 {
                let first = CellSide::new(Cell::new(i as isize, j as isize), side);
                if wet.is_shore(first) && !wet.is_inside(first.previous_side(|cell| wet.is_wet(cell)).cell) {
                    let (first_side, at, onward) = trace.trace_line(first);
                    // The runs are split at the least side, so that a line over several tiles can be reported from
                    // there without being decoded twice.
                    let runs = [0..at, at..trace.steps.len()].map(|steps| shores.append_runs(&trace.steps[steps]));
                    let (cell, door) = (trace.index(first), (4 * place + side) as u32);
                    shores.pieces.push(ShorePiece { cell, door, onward, first_side, runs });
                }
            }
        }
        // All other sides belong to closed lines. The first side that is not traced yet, in row-major order, begins
        // one.
        for k in 0..rows * cols {
            for side in 0..4 {
                let first = CellSide::new(Cell::new((k / cols) as isize, (k % cols) as isize), side);
                if trace.traced[k] & 1 << side == 0 && wet.is_shore(first) {
                    trace.trace_line(first);
                    let runs = shores.append_runs(&trace.steps);
                    shores.loops.push(Loop { cell: k as u32, side: side as u8, runs });
                }
            }
        }
        shores
    }

    /// Appends steps as runs, and returns their range.
    fn append_runs(&mut self, steps: &[u8]) -> Range<usize> {
        let start = self.runs.len();
        for run in steps.chunk_by(|a, b| a == b) {
            put_number(&mut self.runs, (run.len() as u64) << 3 | u64::from(run[0]));
        }
        start..self.runs.len()
    }
}

/// The state of tracing a tile's shores.
struct ShoreTrace<'a> {
    wet: &'a Wet,
    /// For each cell, one bit per side that has been traced.
    traced: Vec<u8>,
    /// The directions of the last line's steps.
    steps: Vec<u8>,
}

impl ShoreTrace<'_> {
    fn index(&self, CellSide { cell, .. }: CellSide) -> u32 {
        (cell.row as usize * self.wet.size[1] + cell.col as usize) as u32
    }

    /// Follows the shore from a side until the line returns to it or leaves the tile. Returns the line's first side
    /// in row-major order, the number of steps before it, and the side after the last step.
    fn trace_line(&mut self, first: CellSide) -> ((u32, u8), usize, CellSide) {
        self.steps.clear();
        let (mut at, mut lowest) = (first, ((u32::MAX, 0), 0));
        loop {
            let here = (self.index(at), at.side as u8);
            self.traced[here.0 as usize] |= 1 << at.side;
            // The shore is walked once; the least side so far and the number of steps before it are kept on the way.
            if here < lowest.0 {
                lowest = (here, self.steps.len());
            }
            let next = at.next_side(true, |cell| self.wet.is_wet(cell));
            let (from, to) = (at.midpoint_half_cells(), next.midpoint_half_cells());
            // Midpoints differ by two half cells along a side and by one half cell on both axes around a corner, so the
            // signs give one of eight directions.
            let step = [0, 1].map(|axis| (to[axis] - from[axis]).signum());
            self.steps.push(D8::from_offset(step).map_or(0, D8::code));
            at = next;
            // The line is closed, or continues in another tile.
            if at == first || !self.wet.is_inside(at.cell) {
                return (lowest.0, lowest.1, at);
            }
        }
    }
}
