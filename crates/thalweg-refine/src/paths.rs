//! Carves flow paths from node to node into the fine terrain, and raises the adjacent cells above them.
//!
//! A path runs from a cell's node to the child that faces the receiver (the exit), to the receiver's child that faces
//! the cell (the entry), to the receiver's node. It stays within the two blocks, so no river crosses another tree.
//! Every other child is adjacent to its block's node, as all four children of a block are adjacent to each other.

use crate::Frame;
use crate::carved_block::CarvedBlock;
use crate::cell_flags::{FLOODED, GUARDED, LAKE, MOUTH, RIVER, SEA};
use crate::nodes::Nodes;
use crate::plane::PaddedPlane;
use thalweg_core::{Cell, CellRect};
use thalweg_flow::D8;

/// The fine terrain and its flags, receivers and drainage areas while it is carved.
pub(super) struct CarvedPlanes {
    pub origin: Cell<i64>,
    /// Elevations in units; for sea and lakes their level.
    pub ground: PaddedPlane<i32>,
    /// Bit flags such as [`RIVER`], [`SEA`] and [`FREE`](crate::cell_flags::FREE).
    pub flags: PaddedPlane<u8>,
    /// Receivers: the tree as it is carried.
    pub receivers: PaddedPlane<u8>,
    /// Drainage areas of rivers in m²; 0 elsewhere.
    pub area: PaddedPlane<f32>,
    /// The least height of land adjacent to a lake above its level, in units.
    pub clear: i32,
    /// Numbers of the lakes; `None` if there cannot be any.
    pub lakes: Option<PaddedPlane<u32>>,
}

impl CarvedPlanes {
    /// Returns the row and column, in the planes with their padding, of the first child of a coarse cell.
    pub fn first_child(&self, cell: Cell<i64>) -> Cell {
        Cell::from_axes(|axis| (2 * cell[axis] - self.origin[axis] + 1) as usize)
    }

    /// Sets rivers, lakes and sea in the blocks of the coarse cells of `rect`. It needs nodes one cell beyond.
    pub fn carve_rivers(&mut self, nodes: &Nodes, frame: &Frame, rect: CellRect<i64>) {
        let sea = frame.sea_units();
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                self.carve_block(nodes, Cell::new(i, j), sea);
            }
        }
    }

    /// Sets elevations, flags, receivers and drainage areas of the four children of a coarse cell. `sea` is the sea
    /// level in units.
    fn carve_block(&mut self, nodes: &Nodes, cell: Cell<i64>, sea: i32) {
        let Some(node) = nodes.get(cell) else { return };
        let Cell { row: r, col: c } = self.first_child(cell);
        let at = |child: u8| (r + usize::from(child >> 1), c + usize::from(child & 1));
        let heights = [0u8, 1, 2, 3].map(|child| self.ground.value_at(at(child).0, at(child).1));
        let mut block = CarvedBlock::new(node, heights);
        block.cover_with_water(node, sea, self.clear);
        block.enter_donor_paths(nodes, cell, node, sea);
        let mouth = block.place_node(nodes, cell, node);
        let CarvedBlock { heights, mut flags, codes, areas } = block;
        if let Some(lakes) = &mut self.lakes {
            for child in 0..4u8 {
                let (i, j) = at(child);
                lakes.set(i, j, if flags[usize::from(child)] & LAKE != 0 { node.lake } else { 0 });
            }
        }
        for child in 0..4u8 {
            let (i, j) = at(child);
            let child = usize::from(child);
            // The last cell before a lake keeps its elevation in later sweeps.
            if flags[child] & RIVER != 0 && node.mouth > i32::MIN && child == mouth {
                flags[child] |= MOUTH;
            }
            if flags[child] & RIVER != 0 && node.guarded {
                flags[child] |= GUARDED;
            }
            self.ground.set(i, j, heights[child]);
            self.flags.set(i, j, flags[child]);
            self.receivers.set(i, j, codes[child]);
            self.area.set(i, j, areas[child]);
        }
    }

    /// Extends lakes over those children of adjacent land that are below the shoreline, in the blocks of the coarse
    /// cells of `rect`. It needs rivers and lakes one fine cell beyond.
    pub fn extend_lakes(&mut self, nodes: &Nodes, rect: CellRect<i64>) {
        if self.lakes.is_none() {
            return;
        }
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                let cell = Cell::new(i, j);
                let Some(node) = nodes.get(cell).filter(|node| !node.is_water() && node.lake != 0) else { continue };
                let Cell { row: r, col: c } = self.first_child(cell);
                for child in 0..4 {
                    let (i, j) = (r + (child >> 1), c + (child & 1));
                    let lies_low = self.flags.value_at(i, j) == 0 && node.wet >> child & 1 == 1;
                    let water = |direction: &D8| {
                        let [di, dj] = direction.offset();
                        let flags = self.flags.value_at(i.wrapping_add_signed(di), j.wrapping_add_signed(dj));
                        flags & (LAKE | FLOODED) == LAKE
                    };
                    // Only from cells that were lake before, so that the result does not depend on the order.
                    if let Some(direction) = D8::ALL.into_iter().find(water).filter(|_| lies_low) {
                        self.ground.set(i, j, node.level);
                        self.flags.set(i, j, SEA | LAKE | FLOODED);
                        self.receivers.set(i, j, direction.code());
                        self.lakes.iter_mut().for_each(|lakes| lakes.set(i, j, node.lake));
                    }
                }
            }
        }
    }
}
