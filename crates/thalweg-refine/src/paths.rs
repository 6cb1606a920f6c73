//! Carves flow paths from node to node into the fine terrain, and raises the adjacent cells above them.
//!
//! A path runs from a cell's node to the child that faces the receiver (the exit), to the receiver's child that faces
//! the cell (the entry), to the receiver's node. It stays within the two blocks, so no river crosses another tree.
//! Every other child is adjacent to its block's node, as all four children of a block are adjacent to each other.

use multiversion::multiversion;

use crate::Frame;
use crate::nodes::{Kind, Node, Nodes, next};
use crate::plane::{LANES, Part, Plane, put, take};
use thalweg_core::{Cell, CellRect};
use thalweg_flow::{D8, OUT};

/// River cell.
pub(super) const RIVER: u8 = 1;
/// Sea cell.
pub(super) const SEA: u8 = 2;
/// Lake cell; it is also [`SEA`]. Its elevation in the plane is the lake's level.
pub(super) const LAKE: u8 = 8;
/// Cell of coarser land that the adjacent lake covers.
const FLOODED: u8 = 16;
/// Cell where a river enters a lake.
pub(super) const MOUTH: u8 = 64;
/// Cell of a large river: neighbouring cells are kept at least one unit above it.
const GUARDED: u8 = 32;
/// A hill's node, or a cell of the rim over which water may leave: it is not raised above its block's node.
pub(super) const FREE: u8 = 4;

/// Returns the children through which a path runs: the exit of the first cell, and the entry of the second.
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

/// Returns the direction code of the step from one child to another of the same block.
#[inline]
fn inner(from: u8, to: u8) -> u8 {
    let step = [0, 1].map(|axis| isize::from(to >> (1 - axis) & 1) - isize::from(from >> (1 - axis) & 1));
    D8::from_offset(step).map_or(OUT, D8::code)
}

/// Returns the direction code of the step from the exit of a cell to the entry of its receiver.
#[inline]
fn outer(code: u8, exit: u8, entry: u8) -> u8 {
    let step = [0usize, 1].map(|axis| {
        let shift = 1 - axis;
        2 * D8::OFFSETS[usize::from(code)][axis] + isize::from(entry >> shift & 1) - isize::from(exit >> shift & 1)
    });
    D8::from_offset(step).map_or(OUT, D8::code)
}

/// The flow path between two nodes.
struct Way {
    exit: u8,
    entry: u8,
    /// Elevations at the exit and at the entry.
    heights: [i32; 2],
}

impl Way {
    /// Returns the path from a node to its receiver's node; a path into the sea ends at the entry.
    #[inline]
    fn of(from: &Node, to: &Node) -> Self {
        let (exit, entry) = gates(from.code, from.child, to.child);
        let before = i64::from(exit != from.child);
        let after = i64::from(entry != to.child && !to.is_water());
        // The elevation is the mean of a straight line from bed to bed and of the terrain, clamped so that it falls
        // along the path.
        let [high, low] = [from.bed, to.bed].map(i64::from);
        let straight = |cells: i64| low + (high - low) * cells / (before + 1 + after);
        let at = |height: i32, most: i64| i64::from(height).clamp(low, most);
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

/// The fine terrain and its flags, receivers and drainage areas while it is carved.
pub(super) struct Carved {
    pub origin: Cell<i64>,
    /// Elevations in units; for sea and lakes their level.
    pub ground: Plane<i32>,
    /// Bit flags such as [`RIVER`], [`SEA`] and [`FREE`].
    pub flags: Plane<u8>,
    /// Receivers: the tree as it is carried.
    pub receivers: Plane<u8>,
    /// Drainage areas of rivers in m²; 0 elsewhere.
    pub area: Plane<f32>,
    /// The least height of land adjacent to a lake above its level, in units.
    pub clear: i32,
    /// Numbers of the lakes; `None` if there cannot be any.
    pub lakes: Option<Plane<u32>>,
}

impl Carved {
    /// Returns the row and column, in the planes with their padding, of the first child of a coarse cell.
    fn first(&self, cell: Cell<i64>) -> Cell {
        Cell::from_axes(|axis| (2 * cell[axis] - self.origin[axis] + 1) as usize)
    }

    /// Sets rivers, lakes and sea in the blocks of the coarse cells of `rect`. It needs nodes one cell beyond.
    pub fn rivers(&mut self, nodes: &Nodes, frame: &Frame, rect: CellRect<i64>) {
        let sea = frame.sea_units();
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                self.block(nodes, Cell::new(i, j), sea);
            }
        }
    }

    fn block(&mut self, nodes: &Nodes, cell: Cell<i64>, sea: i32) {
        let Some(node) = nodes.get(cell) else { return };
        let Cell { row: r, col: c } = self.first(cell);
        let at = |child: u8| (r + usize::from(child >> 1), c + usize::from(child & 1));
        let mut heights = [0u8, 1, 2, 3].map(|child| self.ground.at(at(child).0, at(child).1));
        let mut flags = [0u8; 4];
        let mut areas = [0.0f32; 4];
        let mut codes = [0u8, 1, 2, 3].map(|child| inner(child, node.child));
        // Children under water are at its level, and the others above it.
        let is_water = node.is_water();
        if is_water || sea > i32::MIN + 1 {
            let lake = node.kind == Kind::Lake;
            let (level, flag, over) = if lake { (node.level, SEA | LAKE, self.clear) } else { (sea, SEA, 1) };
            // On land only the sea covers children here; lakes do so in [`Carved::shores`].
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
        // Entries of the donors' paths. Where several share a child, it takes the lowest elevation and the largest
        // area.
        for (direction, donor) in nodes.donors(cell).filter(|(_, donor)| donor.is_course()) {
            let way = Way::of(donor, node);
            debug_assert_eq!(donor.code, direction.opposite().code());
            let child = usize::from(way.entry);
            areas[child] = areas[child].max(donor.area);
            match node.kind {
                Kind::Sea => (heights[child], flags[child], codes[child]) = (sea, SEA, OUT),
                Kind::Lake => (heights[child], flags[child]) = (node.level, SEA | LAKE),
                Kind::River | Kind::Hill => {
                    let height = way.heights[1];
                    heights[child] = if flags[child] & RIVER == 0 { height } else { heights[child].min(height) };
                    (flags[child], codes[child]) = (RIVER, inner(way.entry, node.child));
                }
            }
        }
        // The node, and the exit of its path to the receiver.
        let own = usize::from(node.child);
        let mut mouth = own;
        if node.kind != Kind::Sea {
            for child in 0..4u8 {
                if node.rim >> child & 1 == 1 && flags[usize::from(child)] == 0 {
                    (flags[usize::from(child)], codes[usize::from(child)]) = (FREE, OUT);
                }
            }
            let way = next(cell, node.code).and_then(|to| nodes.get(to)).map(|to| Way::of(node, to));
            let flag = match node.kind {
                Kind::River => RIVER,
                Kind::Lake => SEA | LAKE,
                Kind::Hill | Kind::Sea => FREE,
            };
            (heights[own], flags[own]) = (node.bed, flag);
            codes[own] = OUT;
            if let Some(way) = way {
                let on = outer(node.code, way.exit, way.entry);
                codes[own] = if way.exit == node.child { on } else { inner(node.child, way.exit) };
                let exit = usize::from(way.exit);
                mouth = exit;
                if node.is_course() && exit != own {
                    let area = areas[exit].max(node.area);
                    (heights[exit], flags[exit], codes[exit], areas[exit]) = (way.heights[0], flag, on, area);
                }
            }
            if node.is_course() {
                areas[own] = node.area;
            }
        }
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
    pub fn shores(&mut self, nodes: &Nodes, rect: CellRect<i64>) {
        if self.lakes.is_none() {
            return;
        }
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                let cell = Cell::new(i, j);
                let Some(node) = nodes.get(cell).filter(|node| !node.is_water() && node.lake != 0) else { continue };
                let Cell { row: r, col: c } = self.first(cell);
                for child in 0..4 {
                    let (i, j) = (r + (child >> 1), c + (child & 1));
                    let lies_low = self.flags.at(i, j) == 0 && node.wet >> child & 1 == 1;
                    let water = |direction: &D8| {
                        let [di, dj] = direction.offset();
                        let flags = self.flags.at(i.wrapping_add_signed(di), j.wrapping_add_signed(dj));
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

    /// Raises hills' cells above their block's node and above adjacent rivers and lakes, in the blocks of the coarse
    /// cells of `rect`. It needs rivers one fine cell beyond; `banks` is scratch memory.
    pub fn raise(&mut self, nodes: &Nodes, rect: CellRect<i64>, banks: &mut Plane<i32>) {
        self.banks(&Part::of(rect.finer(), self.origin), i32::MIN, banks);
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                let cell = Cell::new(i, j);
                let Some(node) = nodes.get(cell) else { continue };
                let Cell { row: r, col: c } = self.first(cell);
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

    /// Finds the hills whose node has no lower neighbour, and marks them to be carved. It needs raised terrain one
    /// fine cell beyond.
    pub fn find_hollows(&self, nodes: &mut Nodes, rect: CellRect<i64>) {
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                let cell = Cell::new(i, j);
                let Some(node) = nodes.get(cell).filter(|node| node.kind == Kind::Hill && node.code != OUT) else {
                    continue;
                };
                let Cell { row: r, col: c } = self.first(cell);
                let (r, c) = (r + usize::from(node.child >> 1), c + usize::from(node.child & 1));
                let here = self.ground.at(r, c);
                let lower = D8::OFFSETS
                    .iter()
                    .any(|[di, dj]| self.ground.at(r.wrapping_add_signed(*di), c.wrapping_add_signed(*dj)) < here);
                if !lower {
                    nodes.carve(cell);
                }
            }
        }
    }

    /// Carves the paths of those hills, in the blocks of the coarse cells of `rect`. It needs the marks one cell
    /// beyond.
    pub fn hollows(&mut self, nodes: &Nodes, rect: CellRect<i64>) {
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                let cell = Cell::new(i, j);
                let Some(node) = nodes.get(cell) else { continue };
                let Cell { row: r, col: c } = self.first(cell);
                let at = |child: u8| (r + usize::from(child >> 1), c + usize::from(child & 1));
                // Entries of the marked donors' paths, then the exit of this cell's own path.
                for (_, donor) in nodes.donors(cell).filter(|(_, donor)| donor.carved) {
                    let way = Way::of(donor, node);
                    let (i, j) = at(way.entry);
                    if node.is_water() {
                        let lake = node.kind == Kind::Lake;
                        self.ground.set(i, j, node.bed);
                        self.flags.set(i, j, if lake { SEA | LAKE } else { SEA });
                        match &mut self.lakes {
                            Some(lakes) if lake => lakes.set(i, j, node.lake),
                            _ => self.receivers.set(i, j, OUT),
                        }
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

    /// Computes the lowest elevation to which each cell of a part may be incised: above adjacent rivers and lakes,
    /// and above the sea.
    pub fn floors(&self, part: &Part, sea: i32, floor: &mut Plane<i32>) {
        self.banks(part, sea.saturating_add(1), floor);
        for i in part.rows.clone() {
            for (floor, here) in floor.span_mut(i, &part.cols).iter_mut().zip(self.ground.span(i, &part.cols)) {
                *floor = (*floor).min(*here);
            }
        }
    }

    /// Computes the least elevation of each cell of a part above adjacent guarded rivers and lakes; `least` where
    /// there are none.
    fn banks(&self, part: &Part, least: i32, out: &mut Plane<i32>) {
        for i in part.rows.clone() {
            let (near, flags) = (self.ground.around(i, &part.cols), self.flags.around(i, &part.cols));
            banks(near, flags, [least, self.clear], out.span_mut(i, &part.cols));
        }
    }
}

/// Returns the least elevation of a cell adjacent to one at `near`: one unit above a guarded river, `clear` (1 or
/// more) above a lake.
#[inline(always)]
pub(super) fn bank(near: i32, flags: u8, clear: i32, least: i32) -> i32 {
    let over = near.wrapping_add(if flags & LAKE != 0 { clear } else { 1 });
    if flags & (GUARDED | LAKE) != 0 { over } else { least }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn banks(near: [&[i32]; 8], flags: [&[u8]; 8], [least, clear]: [i32; 2], out: &mut [i32]) {
    for x in (0..out.len()).step_by(LANES) {
        let mut banks = [least; LANES];
        for k in 0..8 {
            let (near, flags) = (take::<_, LANES>(near[k], x), take::<_, LANES>(flags[k], x));
            for l in 0..LANES {
                banks[l] = banks[l].max(bank(near[l], flags[l], clear, least));
            }
        }
        put(out, x, &banks);
    }
}
