//! Lines along the shores of a tile's lakes: those that end where they begin, and pieces that go on in other tiles.
//!
//! A line goes from the middle of a side of a cell to that of the next, as [`outlines`](thalweg_render::products::lakes::outlines) walks it. So it
//! is a side to begin at, and runs of equal steps. Which side comes next is told by the cells that touch: a tile needs one round it.

use std::ops::Range;

use crate::codec::put_number;
use thalweg_core::terrain::Rim;
use thalweg_core::{Cell, Size};
use thalweg_flow::D8;
use thalweg_render::products::lakes::CellSide;

/// Which cells of a tile, and of those that touch it, lakes cover.
pub(super) struct Wet {
    size: Size,
    /// With a cell more on each side; dry where the map has none.
    cells: Vec<bool>,
}

impl Wet {
    /// `is_wet` is asked for each cell of the tile and round it, by its place in the tile.
    pub(super) fn new([rows, cols]: Size, is_wet: impl Fn(Cell<isize>) -> bool) -> Self {
        let all = (-1..=rows as isize).flat_map(|i| (-1..=cols as isize).map(move |j| Cell::new(i, j)));
        Self { size: [rows, cols], cells: all.map(is_wet).collect() }
    }

    fn at(&self, cell: Cell<isize>) -> bool {
        self.cells[(cell.row + 1) as usize * (self.size[1] + 2) + (cell.col + 1) as usize]
    }

    fn holds(&self, cell: Cell<isize>) -> bool {
        (0..2).all(|axis| cell[axis] >= 0 && cell[axis] < self.size[axis] as isize)
    }

    /// Whether a side of a cell of the tile is a lake's shore.
    fn is_shore(&self, side: CellSide) -> bool {
        self.at(side.cell) && !self.at(side.neighbour())
    }
}

/// A line that ends where it begins, at the first of its sides.
pub(super) struct Loop {
    /// Index in the tile of the cell of that side.
    pub(super) cell: u32,
    /// That side.
    pub(super) side: u8,
    /// Where its steps lie in [`TileShores::runs`].
    pub(super) runs: Range<usize>,
}

/// A piece of a line that comes from another tile and goes on in another.
pub(super) struct Piece {
    /// Index in the tile of its first cell.
    pub(super) cell: u32,
    /// Where it begins: the cell's place on the rim times four, and the side.
    pub(super) door: u32,
    /// The side with which it goes on elsewhere, by place in this tile.
    pub(super) onward: CellSide,
    /// Index in the tile of the cell of the first of its sides in row-major order, and that side.
    pub(super) least: (u32, u8),
    /// Where the steps before that side lie in [`TileShores::runs`], and those after it.
    pub(super) runs: [Range<usize>; 2],
}

/// The lines of a tile.
pub(super) struct TileShores {
    /// Steps of one direction that follow one another: their number times eight, and the code of the direction
    /// ([`D8`]).
    pub(super) runs: Vec<u8>,
    /// In the order of the sides with which they begin.
    pub(super) loops: Vec<Loop>,
    /// In the order of their doors.
    pub(super) pieces: Vec<Piece>,
}

impl TileShores {
    pub(super) fn find(wet: &Wet) -> Self {
        let [rows, cols] = wet.size;
        let mut trace = ShoreTrace { wet, traced: vec![0; rows * cols], steps: Vec::new() };
        let mut shores = Self { runs: Vec::new(), loops: Vec::new(), pieces: Vec::new() };
        for (place, Cell { row: i, col: j }) in Rim(wet.size).cells().enumerate() {
            for side in 0..4 {
                let first = CellSide::new(Cell::new(i as isize, j as isize), side);
                if wet.is_shore(first) && !wet.holds(first.previous_side(|cell| wet.at(cell)).cell) {
                    let (least, at, onward) = trace.along(first);
                    let runs = [0..at, at..trace.steps.len()].map(|steps| shores.put(&trace.steps[steps]));
                    let (cell, door) = (trace.index(first), (4 * place + side) as u32);
                    shores.pieces.push(Piece { cell, door, onward, least, runs });
                }
            }
        }
        for k in 0..rows * cols {
            for side in 0..4 {
                let first = CellSide::new(Cell::new((k / cols) as isize, (k % cols) as isize), side);
                if trace.traced[k] & 1 << side == 0 && wet.is_shore(first) {
                    trace.along(first);
                    let runs = shores.put(&trace.steps);
                    shores.loops.push(Loop { cell: k as u32, side: side as u8, runs });
                }
            }
        }
        shores
    }

    /// Puts steps as runs, and tells where.
    fn put(&mut self, steps: &[u8]) -> Range<usize> {
        let start = self.runs.len();
        for run in steps.chunk_by(|a, b| a == b) {
            put_number(&mut self.runs, (run.len() as u64) << 3 | u64::from(run[0]));
        }
        start..self.runs.len()
    }
}

/// What is traced of a tile's shores.
struct ShoreTrace<'a> {
    wet: &'a Wet,
    /// For each cell, a bit to a side.
    traced: Vec<u8>,
    /// The directions of the last line's steps.
    steps: Vec<u8>,
}

impl ShoreTrace<'_> {
    fn index(&self, CellSide { cell, .. }: CellSide) -> u32 {
        (cell.row as usize * self.wet.size[1] + cell.col as usize) as u32
    }

    /// Goes along from a side until the line ends there or leaves the tile: the first side of it in row-major order, how many steps come
    /// before that, and the side after its last.
    fn along(&mut self, first: CellSide) -> ((u32, u8), usize, CellSide) {
        self.steps.clear();
        let (mut at, mut least) = (first, ((u32::MAX, 0), 0));
        loop {
            let here = (self.index(at), at.side as u8);
            self.traced[here.0 as usize] |= 1 << at.side;
            if here < least.0 {
                least = (here, self.steps.len());
            }
            let next = at.next_side(true, |cell| self.wet.at(cell));
            let (from, to) = (at.middle(), next.middle());
            let step = [0, 1].map(|axis| (to[axis] - from[axis]).signum());
            self.steps.push(D8::from_offset(step).map_or(0, D8::code));
            at = next;
            if at == first || !self.wet.holds(at.cell) {
                return (least.0, least.1, at);
            }
        }
    }
}
