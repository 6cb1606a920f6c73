//! [`CarvedBlock`]: the four children of a coarse cell while rivers, lakes and sea are set in them.

use crate::cell_flags::{FREE, LAKE, RIVER, SEA};
use crate::node_path::{NodePath, direction_to_receiver, direction_within_block};
use crate::nodes::{Node, NodeKind, Nodes, next};
use thalweg_core::Cell;
use thalweg_flow::OUT;

/// Elevations, flags, receivers and drainage areas of the four children of a coarse cell.
pub(super) struct CarvedBlock {
    pub heights: [i32; 4],
    pub flags: [u8; 4],
    pub codes: [u8; 4],
    pub areas: [f32; 4],
}

impl CarvedBlock {
    /// Starts a block from its children's elevations. At first every child drains to the block's node, which is
    /// adjacent to all of them.
    #[inline]
    pub fn new(node: &Node, heights: [i32; 4]) -> Self {
        let codes = [0u8, 1, 2, 3].map(|child| direction_within_block(child, node.child));
        Self { heights, flags: [0; 4], codes, areas: [0.0; 4] }
    }

    /// Sets children under water to its level, and the others above it.
    #[inline]
    pub fn cover_with_water(&mut self, node: &Node, sea: i32, clear: i32) {
        let Self { heights, flags, codes, .. } = self;
        let is_water = node.is_water();
        if is_water || sea > i32::MIN + 1 {
            let lake = node.kind == NodeKind::Lake;
            let (level, flag, over) = if lake { (node.level, SEA | LAKE, clear) } else { (sea, SEA, 1) };
            // On land only the sea covers children here; lakes do so in `CarvedPlanes::extend_lakes`.
            let wet = if is_water || node.lake == 0 { node.wet } else { 0 };
            for child in 0..4usize {
                if wet >> child & 1 == 1 {
                    (heights[child], flags[child]) = (level, flag);
                    codes[child] = if lake { codes[child] } else { OUT };
                } else {
                    heights[child] = heights[child].max(level.saturating_add(over));
                }
            }
        }
    }

    /// Sets the entries of the donors' paths. Where several share a child, it takes the lowest elevation and the
    /// largest area.
    #[inline]
    pub fn enter_donor_paths(&mut self, nodes: &Nodes, cell: Cell<i64>, node: &Node, sea: i32) {
        let Self { heights, flags, codes, areas } = self;
        for (direction, donor) in nodes.donors(cell).filter(|(_, donor)| donor.is_course()) {
            let path = NodePath::from_nodes(donor, node);
            debug_assert_eq!(donor.code, direction.opposite().code());
            let child = usize::from(path.entry);
            areas[child] = areas[child].max(donor.area);
            match node.kind {
                NodeKind::Sea => (heights[child], flags[child], codes[child]) = (sea, SEA, OUT),
                NodeKind::Lake => (heights[child], flags[child]) = (node.level, SEA | LAKE),
                NodeKind::River | NodeKind::Hill => {
                    let height = path.heights[1];
                    heights[child] = if flags[child] & RIVER == 0 { height } else { heights[child].min(height) };
                    (flags[child], codes[child]) = (RIVER, direction_within_block(path.entry, node.child));
                }
            }
        }
    }

    /// Sets the node, the exit of its path to the receiver, and outlets on the rim. Returns the last child of the path.
    #[inline]
    pub fn place_node(&mut self, nodes: &Nodes, cell: Cell<i64>, node: &Node) -> usize {
        let Self { heights, flags, codes, areas } = self;
        let own = usize::from(node.child);
        let mut mouth = own;
        if node.kind != NodeKind::Sea {
            for child in 0..4u8 {
                if node.rim >> child & 1 == 1 && flags[usize::from(child)] == 0 {
                    (flags[usize::from(child)], codes[usize::from(child)]) = (FREE, OUT);
                }
            }
            let path = next(cell, node.code).and_then(|to| nodes.get(to)).map(|to| NodePath::from_nodes(node, to));
            let flag = match node.kind {
                NodeKind::River => RIVER,
                NodeKind::Lake => SEA | LAKE,
                NodeKind::Hill | NodeKind::Sea => FREE,
            };
            // The node is set after the entries, because its bed counts where a path enters at the same child.
            (heights[own], flags[own]) = (node.bed, flag);
            codes[own] = OUT;
            if let Some(path) = path {
                let on = direction_to_receiver(node.code, path.exit, path.entry);
                codes[own] = if path.exit == node.child { on } else { direction_within_block(node.child, path.exit) };
                let exit = usize::from(path.exit);
                mouth = exit;
                if node.is_course() && exit != own {
                    // Another donor may already have entered at the exit. The larger drainage area keeps areas
                    // increasing downstream (I2).
                    let area = areas[exit].max(node.area);
                    (heights[exit], flags[exit], codes[exit], areas[exit]) = (path.heights[0], flag, on, area);
                }
            }
            if node.is_course() {
                areas[own] = node.area;
            }
        }
        mouth
    }
}
