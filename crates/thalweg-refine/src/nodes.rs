//! Nodes: for each coarse cell the one of its four children through which its water flows, and that child's
//! elevation.

use thalweg_core::{Cell, CellRect};
use thalweg_flow::{D8, OUT};

/// The type of a coarse cell for the finer level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    Hill,
    River,
    Lake,
    Sea,
}

thalweg_core::with_defaults! {
    /// The node of a coarse cell and the flow path that leaves it.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct Node {
        pub kind: NodeKind = NodeKind::Hill,
        /// Flow direction of the cell: 0 to 7, or [`OUT`].
        pub code: u8 = OUT,
        /// The child (fine cell) that contains the node: 2 · row + column.
        pub child: u8 = 0,
        /// Children on the world's open rim, one bit each, if the cell drains over the rim.
        pub rim: u8 = 0,
        /// Height of the node; for water, the water level.
        pub bed: i32 = 0,
        /// Least height of a flow path from here into a lake.
        pub mouth: i32 = i32::MIN,
        /// Heights of the children before anything is carved.
        pub raw: [i32; 4] = [0; 4],
        /// Drainage area in m².
        pub area: f32 = 0.0,
        /// True if no adjacent cell is lower than the node of a hill: its flow path to the next node is then carved.
        pub carved: bool = false,
        /// The lake that covers the cell; for land, the adjacent lake if all adjacent water belongs to it.
        pub lake: u32 = 0,
        /// Level of that lake; the lowest height if there is none.
        pub level: i32 = i32::MIN,
        /// Children that are under water, one bit each.
        pub wet: u8 = 0,
        /// True if cells adjacent to its river are kept above it.
        pub guarded: bool = false,
    }
}

impl Node {
    /// Returns true if a lake or the sea covers it.
    #[inline]
    pub fn is_water(&self) -> bool {
        matches!(self.kind, NodeKind::Lake | NodeKind::Sea)
    }

    /// Returns true if flow paths from it are always carved, whatever is adjacent: those of rivers, and those over
    /// lakes.
    #[inline]
    pub fn is_course(&self) -> bool {
        matches!(self.kind, NodeKind::River | NodeKind::Lake)
    }
}

/// The nodes of a rectangle of coarse cells.
pub(super) struct Nodes {
    pub rect: CellRect<i64>,
    pub cols: usize,
    pub nodes: Vec<Node>,
}

impl Nodes {
    #[inline]
    pub fn get(&self, cell: Cell<i64>) -> Option<&Node> {
        let CellRect { start, end } = self.rect;
        let inside = (start.row..end.row).contains(&cell.row) && (start.col..end.col).contains(&cell.col);
        inside.then(|| &self.nodes[self.index(cell)])
    }

    #[inline]
    fn index(&self, cell: Cell<i64>) -> usize {
        (cell.row - self.rect.start.row) as usize * self.cols + (cell.col - self.rect.start.col) as usize
    }

    #[inline]
    pub fn mark_carved(&mut self, cell: Cell<i64>) {
        let k = self.index(cell);
        self.nodes[k].carved = true;
    }

    /// Returns the cells that drain into a cell: the direction of each neighbour, and its node.
    #[inline]
    pub fn donors(&self, cell: Cell<i64>) -> impl Iterator<Item = (D8, &Node)> {
        D8::ALL.iter().filter_map(move |direction| {
            let node = self.get(direction.adjacent_cell(cell))?;
            (node.code == direction.opposite().code()).then_some((*direction, node))
        })
    }
}

/// Returns the world cell to which a cell drains.
#[inline]
pub(super) fn next(cell: Cell<i64>, code: u8) -> Option<Cell<i64>> {
    Some(D8::from_code(code)?.adjacent_cell(cell))
}
