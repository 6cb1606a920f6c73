//! [`NodeBuilder`]: computes the nodes of coarse cells.

use crate::bed_intervals::{compute_knickpoint_bed, compute_lowest_bed};
use crate::nodes::{Node, NodeKind, Nodes, next};
use crate::plane::PaddedPlane;
use crate::rock::RockBeds;
use crate::{Frame, LocalWindow, Rules, beds};
use thalweg_core::{Cell, CellRect, Height};
use thalweg_flow::{D8, OUT};
use thalweg_noise::gradient::mix_bits;

/// Drainage area, in fine cells, from which on a river is guarded (neighbouring cells are kept at least one unit
/// above it), and the slope up to which it is, in 256ths. On an open steep slope a bank on the lower side would be a
/// dam.
const GUARDED_AREA_CELLS: f32 = 1024.0;
const STEEP: i64 = 64;

/// The least difference between two beds, where the terrain falls that far, in units: a flow path has up to three
/// steps, and the elevation of each is a mean.
const MIN_BED_DIFFERENCE: i32 = 64;

/// The constraints that the neighbours of a cell of land impose on its node.
struct Surroundings {
    /// The highest bed that leaves room to the beds of the donors.
    highest: i32,
    /// Direction of the river with the largest drainage area that flows into the cell.
    main: Option<D8>,
    /// True if the sea is adjacent.
    coast: bool,
    /// The highest level of an adjacent lake below the cell; the lowest height if there is none.
    over: i32,
}

/// The inputs and constants from which nodes are computed.
pub(super) struct NodeBuilder<'a> {
    pub window: &'a LocalWindow,
    pub frame: &'a Frame,
    ground: &'a PaddedPlane<i32>,
    /// The plane's first fine cell.
    origin: Cell<i64>,
    rock: Option<&'a RockBeds<'a>>,
    pub seed: u32,
    /// Seed of the world's meanders, their wavelength in river widths, and half the width of floors per square root
    /// of the drainage area.
    pub meanders: u32,
    pub winding: f32,
    pub floor: f32,
    sea: i32,
    /// Width of a coarse cell in units.
    pub unit: i64,
    /// Drainage area from which on a stream is a river, which is also the largest that a hill's fine cell may have,
    /// in m².
    threshold: f32,
    /// Drainage area from which on rivers are guarded, in m².
    guard: f32,
    /// The height of land adjacent to a lake above its level, for the drainage area of a hill.
    clear: i32,
}

impl<'a> NodeBuilder<'a> {
    /// Prepares the computation for a window, on the smooth `ground` whose first fine cell is `origin`.
    pub fn new(
        window: &'a LocalWindow,
        frame: &'a Frame,
        rules: &'a Rules,
        ground: &'a PaddedPlane<i32>,
        origin: Cell<i64>,
        rock: Option<&'a RockBeds<'a>>,
        [seed, meanders]: [u32; 2],
    ) -> Self {
        let width = frame.cell_width(window.level);
        let threshold = rules.river as f32 * (width * width) as f32;
        let clear = beds::incision_clearance(frame, window.level, threshold);
        let unit = (width * thalweg_core::terrain::height::UNITS) as i64;
        // The constant counts fine cells, of which a coarse cell has four.
        let guard = GUARDED_AREA_CELLS / 4.0 * (width * width) as f32;
        let (winding, floor, sea) = (rules.meanders, rules.floor, frame.sea_units());
        Self { window, frame, ground, origin, rock, seed, meanders, winding, floor, sea, unit, threshold, guard, clear }
    }

    /// Computes the nodes of the coarse cells of `rect`. It needs the window one cell beyond.
    pub fn build_nodes(&self, rect: CellRect<i64>) -> Nodes {
        debug_assert!(self.frame.world_rect(self.window.level).contains(&rect));
        let mut nodes = Vec::with_capacity(rect.size()[0] * rect.size()[1]);
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                nodes.extend(self.build_node(Cell::new(i, j)));
            }
        }
        Nodes { rect, cols: rect.size()[1], nodes }
    }

    /// Returns a cell's row and column in the window; `None` if it is outside.
    #[inline]
    pub fn window_position(&self, cell: Cell<i64>) -> Option<(usize, usize)> {
        let local = [cell.row - self.window.rect.start.row, cell.col - self.window.rect.start.col];
        let [rows, cols] = self.window.size();
        let within = local[0] >= 0 && local[1] >= 0 && (local[0] as usize) < rows && (local[1] as usize) < cols;
        within.then_some((local[0] as usize, local[1] as usize))
    }

    /// Returns the elevation of the ground or of the water over it.
    #[inline]
    fn surface_elevation(&self, at: (usize, usize)) -> i32 {
        self.window.surface(at).0.max(self.sea)
    }

    #[inline]
    fn is_sea(&self, at: (usize, usize)) -> bool {
        self.window.surface(at).0 <= self.sea
    }

    #[inline]
    fn is_river(&self, at: (usize, usize)) -> bool {
        self.window.area[at] >= self.threshold && !self.is_sea(at)
    }

    /// Returns the fall from a cell to its receiver; 0 for water.
    #[inline]
    fn fall_to_receiver(&self, at: (usize, usize), to: Option<Cell<i64>>) -> i32 {
        let Some(to) = to.and_then(|to| self.window_position(to)) else { return 0 };
        let is_water = self.is_sea(at) || self.window.lake(at).is_some();
        if is_water { 0 } else { self.surface_elevation(at).saturating_sub(self.surface_elevation(to)).max(0) }
    }

    /// Returns two random numbers of a coarse cell, each from −1 to 1; they are the same in every window.
    pub fn jitter(&self, cell: Cell<i64>) -> [f32; 2] {
        let hash =
            mix_bits((cell[0] as u32).wrapping_mul(0x9e37_79b1) ^ mix_bits((cell[1] as u32).wrapping_add(self.seed)));
        // Each half of the hash gives a number from −1 to 1.
        [(hash & 0xffff) as f32 / 32_768.0 - 1.0, (hash >> 16) as f32 / 32_768.0 - 1.0]
    }

    /// Returns the lowest of the children in the bit mask `allowed`; a hash breaks ties.
    fn lowest_child(&self, Cell { row: i, col: j }: Cell<i64>, raw: &[i32; 4], allowed: u8) -> u8 {
        // The hash is that of the fine cell's world position, so it does not depend on the window.
        let lot = |child: u8| {
            mix_bits(
                self.seed
                    ^ (2 * i + i64::from(child >> 1)) as u32
                    ^ ((2 * j + i64::from(child & 1)) as u32).wrapping_mul(0x85eb_ca77),
            )
        };
        let children = (0..4u8).filter(|child| allowed >> child & 1 == 1);
        children.min_by_key(|child| (raw[usize::from(*child)], lot(*child))).unwrap_or(0)
    }

    /// Computes the node of a coarse cell; `None` if the cell is outside the window.
    fn build_node(&self, cell: Cell<i64>) -> Option<Node> {
        let (Cell { row: i, col: j }, window) = (cell, self.window);
        let at = self.window_position(cell)?;
        // The padding of the planes adds 1 to rows and columns.
        let first = [(2 * i - self.origin[0] + 1) as usize, (2 * j - self.origin[1] + 1) as usize];
        let raw = [0usize, 1, 2, 3].map(|child| self.ground.value_at(first[0] + (child >> 1), first[1] + (child & 1)));
        let (z, area, code) = (self.surface_elevation(at), window.area[at], window.receivers[at]);
        let mut node = Node { area, code, raw, ..Node::default() };
        if let Some(water) = self.build_water_node(cell, at, node) {
            return Some(water);
        }
        let river = self.is_river(at);
        node.kind = if river { NodeKind::River } else { NodeKind::Hill };
        let on = self.fall_to_receiver(at, next(cell, code));
        let around = self.survey_neighbours(cell, [z, on], &mut node);
        let mut lowest = self.lowest_bed_allowed(z, next(cell, code), river);
        let to = next(cell, code).and_then(|to| self.window_position(to));
        if node.level >= z {
            // The cell is a lake's outlet.
            node.lake = 0;
        }
        if around.over > self.sea {
            // The cell is adjacent to a lake and not its outlet: it stays above the lake's level by all that finer
            // levels will incise.
            let clear = if river {
                beds::incision_clearance(self.frame, window.level, area).max(self.clear)
            } else {
                self.clear
            };
            lowest = lowest.max(around.over.saturating_add(clear).min(z));
            if let Some((_, level)) = to.and_then(|to| window.lake(to)) {
                node.mouth = level.0.saturating_add(clear).min(z);
            }
        }
        // Level terrain leaves no unit between the two: then they are equal, and only the tree tells where water
        // flows.
        let lowest = lowest.max(self.sea.saturating_add(1));
        let highest = around.highest.max(lowest);
        if code == OUT && self.frame.is_rim(window.level, cell) {
            // The cell drains over the open rim.
            node.rim = self.children_on_rim(cell);
        }
        if around.coast {
            node.wet = self.submerged_children(cell, self.sea, |at| self.is_sea(at));
        } else if node.lake != 0 {
            node.wet =
                self.submerged_children(cell, node.level, |at| window.lake(at).is_some_and(|(id, _)| id == node.lake));
        }
        node.child = self.choose_child(cell, &node, around.main, on);
        // The interval decides, not the terrain: this is how the order of beds is preserved (invariant I1).
        node.bed = raw[usize::from(node.child)].clamp(lowest, highest);
        node.guarded = area >= self.guard && i64::from(on) < (self.unit * STEEP) >> 8;
        // The softness of the rock moves a river's bed within its interval.
        if let Some(rock) = self.rock.filter(|_| river && to.is_some()) {
            let [i, j] = [first[0] + usize::from(node.child >> 1), first[1] + usize::from(node.child & 1)];
            node.bed =
                compute_knickpoint_bed(node.bed, [lowest, highest.min(z.max(lowest))], rock.softness(i, j, node.bed));
        }
        Some(node)
    }

    /// Computes the node of a lake or sea cell, which is at the water level; at least its own child stays under water.
    /// `None` for land.
    fn build_water_node(&self, cell: Cell<i64>, at: (usize, usize), node: Node) -> Option<Node> {
        let window = self.window;
        if let Some((lake, level)) = window.lake(at) {
            let child = self.lowest_child(cell, &node.raw, 15);
            let wet = self.submerged_children(cell, level.0, |at| window.lake(at).is_some_and(|(id, _)| id == lake))
                | 1 << child;
            return Some(Node { kind: NodeKind::Lake, child, bed: level.0, lake, level: level.0, wet, ..node });
        }
        if self.is_sea(at) {
            let child = self.lowest_child(cell, &node.raw, 15);
            let wet = self.submerged_children(cell, self.sea, |at| self.is_sea(at)) | 1 << child;
            return Some(Node { kind: NodeKind::Sea, code: OUT, child, bed: self.sea, wet, ..node });
        }
        None
    }

    /// Collects the constraints that the neighbours of a cell of land impose on its node, and sets the node's adjacent
    /// lake and its level. The cell's surface is at `z` and falls by `on` to its receiver.
    fn survey_neighbours(&self, cell: Cell<i64>, [z, on]: [i32; 2], node: &mut Node) -> Surroundings {
        let window = self.window;
        // From the upstream neighbours: the highest bed allowed, and the river with the largest drainage area. From
        // all neighbours: water.
        let mut highest = i32::MAX;
        let mut main: Option<(f32, D8)> = None;
        let (mut coast, mut over) = (false, i32::MIN);
        for direction in D8::ALL {
            let Some(from) = self.window_position(direction.adjacent_cell(cell)) else { continue };
            if let Some((lake, level)) = window.lake(from) {
                node.lake = if node.level == i32::MIN || node.lake == lake { lake } else { 0 };
                node.level = node.level.max(level.0);
                over = if level.0 < z { over.max(level.0) } else { over };
            } else if self.is_sea(from) {
                // A cell that touches both a lake and the sea belongs to neither.
                (node.lake, node.level, coast) = (0, node.level.max(self.sea), true);
            }
            if window.receivers[from] != direction.opposite().code() || self.is_sea(from) {
                continue;
            }
            let river = self.is_river(from);
            let bed = compute_lowest_bed(self.surface_elevation(from), [z, on], river, self.unit);
            // Leave room between the two beds for the cells of the flow path, where units allow it.
            highest = highest.min(bed.saturating_sub(((bed - z) >> 1).clamp(1, MIN_BED_DIFFERENCE)));
            // Among equal tributaries the first in order of direction codes counts as the main one.
            let more = main.is_none_or(|(largest, _)| window.area[from] > largest);
            if river && more {
                main = Some((window.area[from], direction));
            }
        }
        Surroundings { highest, main: main.map(|(_, direction)| direction), coast, over }
    }

    /// Returns the lowest bed allowed for a cell of land at `z` that drains to `to`: the intervals of a cell and of its
    /// receiver must not overlap.
    fn lowest_bed_allowed(&self, z: i32, to: Option<Cell<i64>>, river: bool) -> i32 {
        match to.and_then(|to| Some((to, self.window_position(to)?))) {
            Some((to, at)) => {
                let on = self.fall_to_receiver(at, next(to, self.window.receivers[at]));
                compute_lowest_bed(z, [self.surface_elevation(at), on], river, self.unit)
            }
            None => Height::MIN.0,
        }
    }

    /// Returns the children of a cell that are on the world's rim, one bit each.
    fn children_on_rim(&self, Cell { row: i, col: j }: Cell<i64>) -> u8 {
        let on_rim = |child: u8| {
            let fine = Cell::new(2 * i + i64::from(child >> 1), 2 * j + i64::from(child & 1));
            self.frame.is_rim(self.window.level + 1, fine)
        };
        (0..4).filter(|child| on_rim(*child)).map(|child| 1 << child).sum()
    }

    /// Returns the child that is the node of a cell of land: for a river by its course and meanders, otherwise the
    /// lowest; on land if any child is. The river comes from `donor`, and the cell falls by `on` to its receiver.
    fn choose_child(&self, cell: Cell<i64>, node: &Node, donor: Option<D8>, on: i32) -> u8 {
        let (raw, rim) = (&node.raw, node.rim);
        // A child is one bit of four. If all are under water, any of them may be the node.
        let dry = if node.wet == 15 { 15 } else { 15 ^ node.wet };
        if node.kind == NodeKind::River && rim == 0 {
            let child = self.choose_flow_child(cell, donor, node.code, self.meander_offset(cell, node.area, on));
            if dry >> child & 1 == 1 { child } else { self.lowest_child(cell, raw, dry) }
        } else {
            self.lowest_child(cell, raw, if rim == 0 { dry } else { rim })
        }
    }
}
