//! [`NodePath`]: the flow path between two nodes, and the directions of its steps.

use crate::nodes::Node;
use thalweg_flow::{D8, OUT};

/// Returns the children through which a path runs: the exit of the first cell, and the entry of the second.
#[inline]
fn find_exit_and_entry(code: u8, from: u8, to: u8) -> (u8, u8) {
    // A child is 2 · row + column: bit 1 is its row and bit 0 its column. A straight step keeps the node's row or
    // column; a diagonal one leaves and enters through the corner.
    match code {
        0 => (from & 2 | 1, to & 2),
        1 => (3, 0),
        2 => (from & 1 | 2, to & 1),
        3 => (2, 1),
        4 => (from & 2, to & 2 | 1),
        5 => (0, 3),
        6 => (from & 1, to & 1 | 2),
        _ => (1, 2),
    }
}

/// Returns the direction code of the step from one child to another of the same block.
#[inline]
pub(super) fn direction_within_block(from: u8, to: u8) -> u8 {
    let step = [0, 1].map(|axis| isize::from(to >> (1 - axis) & 1) - isize::from(from >> (1 - axis) & 1));
    D8::from_offset(step).map_or(OUT, D8::code)
}

/// Returns the direction code of the step from the exit of a cell to the entry of its receiver.
#[inline]
pub(super) fn direction_to_receiver(code: u8, exit: u8, entry: u8) -> u8 {
    let step = [0usize, 1].map(|axis| {
        let shift = 1 - axis;
        2 * D8::OFFSETS[usize::from(code)][axis] + isize::from(entry >> shift & 1) - isize::from(exit >> shift & 1)
    });
    D8::from_offset(step).map_or(OUT, D8::code)
}

/// The flow path between two nodes.
pub(super) struct NodePath {
    pub exit: u8,
    pub entry: u8,
    /// Elevations at the exit and at the entry.
    pub heights: [i32; 2],
}

impl NodePath {
    /// Returns the path from a node to its receiver's node; a path into the sea ends at the entry.
    #[inline]
    pub fn from_nodes(from: &Node, to: &Node) -> Self {
        let (exit, entry) = find_exit_and_entry(from.code, from.child, to.child);
        // There is at most one step within each of the two blocks, and one step between them.
        let before = i64::from(exit != from.child);
        let after = i64::from(entry != to.child && !to.is_water());
        // The elevation is the mean of a straight line from bed to bed and of the terrain, clamped so that it falls
        // along the path.
        let [high, low] = [from.bed, to.bed].map(i64::from);
        let straight = |cells: i64| low + (high - low) * cells / (before + 1 + after);
        let at = |height: i32, highest: i64| i64::from(height).clamp(low, highest);
        let mut ground = at(from.raw[usize::from(exit)], high);
        if from.is_water() {
            ground = high;
        }
        // Over a lake the path is level; a path into a lake is no lower than it must be (`mouth`).
        let first = match before {
            0 => high,
            _ if from.is_water() => high,
            _ => ((straight(1 + after) + ground) >> 1).max(i64::from(from.mouth).min(high)),
        };
        let last = {
            let ground = at(to.raw[usize::from(entry)], if before == 0 { high } else { ground });
            if after == 0 { low } else { (straight(after) + ground) >> 1 }
        };
        Self { exit, entry, heights: [first, last].map(|height| height as i32) }
    }
}
