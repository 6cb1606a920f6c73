//! Hollows: hills whose node has no lower neighbour, so that their flow paths have to be carved.

use crate::cell_flags::{LAKE, SEA};
use crate::node_path::{NodePath, direction_to_receiver};
use crate::nodes::{NodeKind, Nodes, next};
use crate::paths::CarvedPlanes;
use thalweg_core::{Cell, CellRect};
use thalweg_flow::{D8, OUT};

impl CarvedPlanes {
    /// Finds the hills whose node has no lower neighbour, and marks them to be carved. It needs raised terrain one
    /// fine cell beyond.
    pub fn find_hollows(&self, nodes: &mut Nodes, rect: CellRect<i64>) {
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                let cell = Cell::new(i, j);
                let Some(node) = nodes.get(cell).filter(|node| node.kind == NodeKind::Hill && node.code != OUT) else {
                    continue;
                };
                let Cell { row: r, col: c } = self.first_child(cell);
                let (r, c) = (r + usize::from(node.child >> 1), c + usize::from(node.child & 1));
                let here = self.ground.value_at(r, c);
                // Without a lower neighbour, water cannot leave the node, so its path has to be carved.
                let lower = D8::OFFSETS.iter().any(|[di, dj]| {
                    self.ground.value_at(r.wrapping_add_signed(*di), c.wrapping_add_signed(*dj)) < here
                });
                if !lower {
                    nodes.mark_carved(cell);
                }
            }
        }
    }

    /// Carves the paths of those hills, in the blocks of the coarse cells of `rect`. It needs the marks one cell
    /// beyond.
    pub fn carve_hollows(&mut self, nodes: &Nodes, rect: CellRect<i64>) {
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                let cell = Cell::new(i, j);
                let Some(node) = nodes.get(cell) else { continue };
                let Cell { row: r, col: c } = self.first_child(cell);
                let at = |child: u8| (r + usize::from(child >> 1), c + usize::from(child & 1));
                // Entries of the marked donors' paths, then the exit of this cell's own path.
                for (_, donor) in nodes.donors(cell).filter(|(_, donor)| donor.carved) {
                    let path = NodePath::from_nodes(donor, node);
                    let (i, j) = at(path.entry);
                    if node.is_water() {
                        let lake = node.kind == NodeKind::Lake;
                        self.ground.set(i, j, node.bed);
                        self.flags.set(i, j, if lake { SEA | LAKE } else { SEA });
                        match &mut self.lakes {
                            Some(lakes) if lake => lakes.set(i, j, node.lake),
                            _ => self.receivers.set(i, j, OUT),
                        }
                    } else if self.flags.value_at(i, j) & SEA == 0 {
                        // Carving only lowers, so paths that share a cell may be carved in any order.
                        self.ground.set(i, j, self.ground.value_at(i, j).min(path.heights[1]));
                    }
                }
                if let Some(to) = next(cell, node.code).and_then(|to| nodes.get(to)).filter(|_| node.carved) {
                    let path = NodePath::from_nodes(node, to);
                    if path.exit != node.child {
                        let (i, j) = at(path.exit);
                        if self.flags.value_at(i, j) & SEA == 0 {
                            self.ground.set(i, j, self.ground.value_at(i, j).min(path.heights[0]));
                            self.receivers.set(i, j, direction_to_receiver(node.code, path.exit, path.entry));
                        }
                    }
                }
            }
        }
    }
}
