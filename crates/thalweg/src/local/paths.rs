//! Ways from node to node, carved into the fine ground; what is beside them is raised over them.
//!
//! A way goes from a cell's node to the child that faces the receiver (the exit), to the receiver's child that faces the cell (the
//! entry), to the receiver's node: within the two blocks, so that no river crosses another tree. Every other child stands beside its
//! block's node, as all four do.

use multiversion::multiversion;

use crate::flow::{OUT, STEPS};
use crate::local::nodes::{Kind, Node, Nodes, next};
use crate::local::plane::{LANES, Part, Plane, put, take};
use crate::local::{Frame, Rect};

/// A river's cell.
pub(super) const RIVER: u8 = 1;
/// Sea.
pub(super) const SEA: u8 = 2;
/// A hill's node, or a cell of the rim over which water may leave: not raised over its block's node.
pub(super) const FREE: u8 = 4;

/// A way's children: exit of the first cell, entry of the second.
#[inline]
fn gates(code: u8, from: u8, to: u8) -> (u8, u8) {
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

/// Number of the step from one child to another of the same block.
#[inline]
fn inner(from: u8, to: u8) -> u8 {
    let step = [0, 1].map(|axis| isize::from(to >> (1 - axis) & 1) - isize::from(from >> (1 - axis) & 1));
    STEPS.iter().position(|s| *s == step).map_or(OUT, |k| k as u8)
}

/// Number of the step from the exit of a cell to the entry of its receiver.
#[inline]
fn outer(code: u8, exit: u8, entry: u8) -> u8 {
    let step = [0usize, 1].map(|axis| {
        let shift = 1 - axis;
        2 * STEPS[usize::from(code)][axis] + isize::from(entry >> shift & 1) - isize::from(exit >> shift & 1)
    });
    STEPS.iter().position(|s| *s == step).map_or(OUT, |k| k as u8)
}

/// The way between two nodes.
struct Way {
    exit: u8,
    entry: u8,
    /// Heights at the exit and at the entry.
    heights: [i32; 2],
}

impl Way {
    /// From a node to its receiver's; into the sea a way ends at the entry.
    #[inline]
    fn of(from: &Node, to: &Node) -> Self {
        let (exit, entry) = gates(from.code, from.child, to.child);
        let before = i64::from(exit != from.child);
        let after = i64::from(entry != to.child && to.kind != Kind::Sea);
        // Half straight from bed to bed, half along the ground as far as it falls.
        let [high, low] = [from.bed, to.bed].map(i64::from);
        let straight = |cells: i64| low + (high - low) * cells / (before + 1 + after);
        let at = |height: i32, most: i64| i64::from(height).clamp(low, most);
        let ground = at(from.raw[usize::from(exit)], high);
        let heights = [if before == 0 { high } else { (straight(1 + after) + ground) >> 1 }, {
            let ground = at(to.raw[usize::from(entry)], if before == 0 { high } else { ground });
            if after == 0 { low } else { (straight(after) + ground) >> 1 }
        }];
        Self { exit, entry, heights: heights.map(|height| height as i32) }
    }
}

/// The fine ground and what is known of it, while it is carved.
pub(super) struct Carved {
    pub origin: [i64; 2],
    /// Heights in units; of sea the sea's level.
    pub ground: Plane<i32>,
    /// [`RIVER`], [`SEA`], [`FREE`].
    pub flags: Plane<u8>,
    /// Receivers: the tree as it is carried.
    pub receivers: Plane<u8>,
    /// Catchments of rivers, in m²; 0 elsewhere.
    pub area: Plane<f32>,
}

impl Carved {
    fn first(&self, [i, j]: [i64; 2]) -> [usize; 2] {
        [(2 * i - self.origin[0] + 1) as usize, (2 * j - self.origin[1] + 1) as usize]
    }

    /// Rivers and sea, into the blocks of the coarse cells of `rect`. It needs nodes a cell beyond.
    pub fn rivers(&mut self, nodes: &Nodes, frame: &Frame, rect: Rect) {
        let sea = frame.sea_units();
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                self.block(nodes, [i, j], sea);
            }
        }
    }

    fn block(&mut self, nodes: &Nodes, cell: [i64; 2], sea: i32) {
        let Some(node) = nodes.get(cell) else { return };
        let [r, c] = self.first(cell);
        let at = |child: u8| (r + usize::from(child >> 1), c + usize::from(child & 1));
        let mut heights = [0u8, 1, 2, 3].map(|child| self.ground.at(at(child).0, at(child).1));
        let mut flags = [0u8; 4];
        let mut areas = [0.0f32; 4];
        let mut codes = [0u8, 1, 2, 3].map(|child| inner(child, node.child));
        // Where there is nothing but sea, or but land, all round, it stays so: else noise makes reefs and ponds.
        let alike = sea > i32::MIN + 1
            && STEPS.iter().all(|[di, dj]| {
                let near = nodes.get([cell[0] + *di as i64, cell[1] + *dj as i64]);
                near.is_none_or(|near| (near.kind == Kind::Sea) == (node.kind == Kind::Sea))
            });
        let is_sea = node.kind == Kind::Sea;
        for child in 0..4usize {
            let sinks = if alike { is_sea } else { heights[child] <= sea };
            if sinks || (is_sea && child == usize::from(node.child)) {
                (heights[child], flags[child], codes[child]) = (sea, SEA, OUT);
            } else {
                heights[child] = heights[child].max(sea.saturating_add(1));
            }
        }
        for (k, donor) in nodes.donors(cell).filter(|(_, donor)| donor.kind == Kind::River) {
            let way = Way::of(donor, node);
            debug_assert_eq!(usize::from(donor.code), k ^ 4);
            let child = usize::from(way.entry);
            areas[child] = areas[child].max(donor.area);
            if is_sea {
                (heights[child], flags[child], codes[child]) = (sea, SEA, OUT);
            } else {
                let height = way.heights[1];
                heights[child] = if flags[child] & RIVER == 0 { height } else { heights[child].min(height) };
                (flags[child], codes[child]) = (RIVER, inner(way.entry, node.child));
            }
        }
        let own = usize::from(node.child);
        if !is_sea {
            for child in 0..4u8 {
                if node.rim >> child & 1 == 1 && flags[usize::from(child)] == 0 {
                    (flags[usize::from(child)], codes[usize::from(child)]) = (FREE, OUT);
                }
            }
            let way = next(cell, node.code).and_then(|to| nodes.get(to)).map(|to| Way::of(node, to));
            let river = node.kind == Kind::River;
            (heights[own], flags[own]) = (node.bed, if river { RIVER } else { FREE });
            codes[own] = OUT;
            if let Some(way) = way {
                let on = outer(node.code, way.exit, way.entry);
                codes[own] = if way.exit == node.child { on } else { inner(node.child, way.exit) };
                let exit = usize::from(way.exit);
                if river && exit != own {
                    (heights[exit], flags[exit], codes[exit], areas[exit]) = (way.heights[0], RIVER, on, node.area);
                }
            }
            if river {
                areas[own] = node.area;
            }
        }
        for child in 0..4u8 {
            let (i, j) = at(child);
            let child = usize::from(child);
            self.ground.set(i, j, heights[child]);
            self.flags.set(i, j, flags[child]);
            self.receivers.set(i, j, codes[child]);
            self.area.set(i, j, areas[child]);
        }
    }

    /// Raises hills' cells over their block's node and over rivers beside them, in the blocks of the coarse cells of `rect`. It
    /// needs rivers a fine cell beyond; `banks` is scratch.
    pub fn raise(&mut self, nodes: &Nodes, rect: Rect, banks: &mut Plane<i32>) {
        self.banks(&Part::of(rect.finer(), self.origin), i32::MIN, banks);
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                let Some(node) = nodes.get([i, j]) else { continue };
                let [r, c] = self.first([i, j]);
                for child in (0..4u8).filter(|child| *child != node.child) {
                    let (i, j) = (r + usize::from(child >> 1), c + usize::from(child & 1));
                    let flags = self.flags.at(i, j);
                    if flags & (RIVER | SEA) == 0 {
                        let least = if flags & FREE == 0 { node.bed.saturating_add(1) } else { i32::MIN };
                        self.ground.set(i, j, self.ground.at(i, j).max(least).max(banks.at(i, j)));
                    }
                }
            }
        }
    }

    /// Finds the hills whose node has no lower cell beside it. It needs raised ground a fine cell beyond.
    pub fn find_hollows(&self, nodes: &mut Nodes, rect: Rect) {
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                let Some(node) = nodes.get([i, j]).filter(|node| node.kind == Kind::Hill && node.code != OUT) else {
                    continue;
                };
                let [r, c] = self.first([i, j]);
                let (r, c) = (r + usize::from(node.child >> 1), c + usize::from(node.child & 1));
                let here = self.ground.at(r, c);
                let lower = STEPS
                    .iter()
                    .any(|[di, dj]| self.ground.at(r.wrapping_add_signed(*di), c.wrapping_add_signed(*dj)) < here);
                if !lower {
                    nodes.carve([i, j]);
                }
            }
        }
    }

    /// Carves the ways of those hills, in the blocks of the coarse cells of `rect`. It needs to know of hills a cell beyond.
    pub fn hollows(&mut self, nodes: &Nodes, rect: Rect) {
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                let cell = [i, j];
                let Some(node) = nodes.get(cell) else { continue };
                let [r, c] = self.first(cell);
                let at = |child: u8| (r + usize::from(child >> 1), c + usize::from(child & 1));
                for (_, donor) in nodes.donors(cell).filter(|(_, donor)| donor.carved) {
                    let way = Way::of(donor, node);
                    let (i, j) = at(way.entry);
                    if node.kind == Kind::Sea {
                        self.ground.set(i, j, node.bed);
                        self.flags.set(i, j, SEA);
                        self.receivers.set(i, j, OUT);
                    } else if self.flags.at(i, j) & SEA == 0 {
                        self.ground.set(i, j, self.ground.at(i, j).min(way.heights[1]));
                    }
                }
                if let Some(to) = next(cell, node.code).and_then(|to| nodes.get(to)).filter(|_| node.carved) {
                    let way = Way::of(node, to);
                    if way.exit != node.child {
                        let (i, j) = at(way.exit);
                        if self.flags.at(i, j) & SEA == 0 {
                            self.ground.set(i, j, self.ground.at(i, j).min(way.heights[0]));
                            self.receivers.set(i, j, outer(node.code, way.exit, way.entry));
                        }
                    }
                }
            }
        }
    }

    /// How low each cell of a part may be cut: over rivers beside it, and over the sea.
    pub fn floors(&self, part: &Part, sea: i32, floor: &mut Plane<i32>) {
        self.banks(part, sea.saturating_add(1), floor);
        for i in part.rows.clone() {
            for (floor, here) in floor.span_mut(i, &part.cols).iter_mut().zip(self.ground.span(i, &part.cols)) {
                *floor = (*floor).min(*here);
            }
        }
    }

    /// A unit over the highest river beside each cell of a part; `least` where there is none.
    fn banks(&self, part: &Part, least: i32, out: &mut Plane<i32>) {
        for i in part.rows.clone() {
            let (near, flags) = (self.ground.around(i, &part.cols), self.flags.around(i, &part.cols));
            banks(near, flags, least, out.span_mut(i, &part.cols));
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn banks(near: [&[i32]; 8], flags: [&[u8]; 8], least: i32, out: &mut [i32]) {
    for x in (0..out.len()).step_by(LANES) {
        let mut banks = [least; LANES];
        for k in 0..8 {
            let (near, flags) = (take::<_, LANES>(near[k], x), take::<_, LANES>(flags[k], x));
            for l in 0..LANES {
                let river = if flags[l] & RIVER != 0 { near[l].wrapping_add(1) } else { least };
                banks[l] = banks[l].max(river);
            }
        }
        put(out, x, &banks);
    }
}
