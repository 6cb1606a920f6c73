//! Nodes: for each coarse cell the one of its four children through which its water flows, and that child's
//! elevation.

use crate::plane::Plane;
use crate::rock::Rock;
use crate::{Frame, LocalWindow, Rules, beds};
use thalweg_core::base::cast;
use thalweg_core::base::power::log2;
use thalweg_core::{Cell, CellRect, Height};
use thalweg_flow::{D8, OUT};
use thalweg_noise::gradient::{mix, noise};

/// The type of a coarse cell for the finer level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Hill,
    River,
    Lake,
    Sea,
}

thalweg_core::with_defaults! {
    /// The node of a coarse cell and the flow path that leaves it.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct Node {
        pub kind: Kind = Kind::Hill,
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
        matches!(self.kind, Kind::Lake | Kind::Sea)
    }

    /// Returns true if flow paths from it are always carved, whatever is adjacent: those of rivers, and those over
    /// lakes.
    #[inline]
    pub fn is_course(&self) -> bool {
        matches!(self.kind, Kind::River | Kind::Lake)
    }
}

/// The nodes of a rectangle of coarse cells.
pub(super) struct Nodes {
    pub rect: CellRect<i64>,
    cols: usize,
    nodes: Vec<Node>,
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
    pub fn carve(&mut self, cell: Cell<i64>) {
        let k = self.index(cell);
        self.nodes[k].carved = true;
    }

    /// Returns the cells that drain into a cell: the direction of each neighbour, and its node.
    #[inline]
    pub fn donors(&self, cell: Cell<i64>) -> impl Iterator<Item = (D8, &Node)> {
        D8::ALL.iter().filter_map(move |direction| {
            let node = self.get(direction.neighbour_of(cell))?;
            (node.code == direction.opposite().code()).then_some((*direction, node))
        })
    }
}

/// Returns the world cell to which a cell drains.
#[inline]
pub(super) fn next(cell: Cell<i64>, code: u8) -> Option<Cell<i64>> {
    Some(D8::from_code(code)?.neighbour_of(cell))
}

/// The lowest position of a bed on the way up from the receiver, for a hill and for a river, in 256ths of the fall.
/// It is near the receiver, for a bed in the middle would leave a step at the foot of a steep slope.
const SHARE: [i64; 2] = [13, 26];

/// The same where the receiver falls as steeply as the cell, in 256ths: beds are then on the slope instead of in
/// trenches in it.
const EVEN: i64 = 115;

/// On gentle terrain the bed is in the middle, so that both cells have room: up to this slope, in 256ths.
const GENTLE: i64 = 2;

/// Drainage area, in fine cells, from which on a river is guarded (neighbouring cells are kept at least one unit
/// above it), and the slope up to which it is, in 256ths. On an open steep slope a bank on the lower side would be a
/// dam.
const GUARD: f32 = 1024.0;
const STEEP: i64 = 64;

/// Amplitude by which a shore deviates from the smooth line, in multiples of a bluff's height over the water.
const WANDER: f32 = 1.0;

/// The least difference between two beds, where the terrain falls that far, in units: a flow path has up to three
/// steps, and the elevation of each is a mean.
const ROOM: i32 = 64;

/// Returns the lowest bed of a cell at `z` that drains to one at `receiver`, which in turn falls by `on` to its own
/// receiver. `width` is the width of a cell in units.
#[inline]
fn lowest(z: i32, [receiver, on]: [i32; 2], is_river: bool, width: i64) -> i32 {
    let fall = (i64::from(z) - i64::from(receiver)).max(0);
    let share = (fall * SHARE[usize::from(is_river)]).max((fall * EVEN).min(i64::from(on) * 128)) >> 8;
    receiver.saturating_add(share.max((fall >> 1).min((width * GENTLE) >> 8)) as i32)
}

/// Returns a river's bed in rock of this softness: lower in soft rock and higher in hard rock, within its interval.
/// The river has a step (a knickpoint) where the rock changes.
fn knick(bed: i32, [least, highest]: [i32; 2], softness: f32) -> i32 {
    let (end, share) = if softness > 1.0 { (least, 1.0 - 1.0 / softness) } else { (highest.max(bed), 1.0 - softness) };
    bed.wrapping_add(cast::floor(end.wrapping_sub(bed) as f32 * (0.5 * share))).clamp(least, highest.max(bed))
}

/// Base-2 logarithms of the meander wavelengths, in fine cells, that one level creates.
const WAVES: std::ops::RangeInclusive<i32> = 2..=5;

/// Ratio of wavelength to amplitude of the meanders for which a floor must have room.
const AMPLITUDE: f32 = 8.0;

/// Slope up to which a river meanders fully; at twice this slope it is straight.
const WANDERS: f32 = 0.006;

/// Displacement of a river's path by meanders, in coarse cells per unit of a noise with a standard deviation of 1/3.
const SWAY: f32 = 1.5;

/// The inputs and constants from which nodes are computed.
pub(super) struct Maker<'a> {
    window: &'a LocalWindow,
    frame: &'a Frame,
    ground: &'a Plane<i32>,
    /// The plane's first fine cell.
    origin: Cell<i64>,
    rock: Option<&'a Rock<'a>>,
    seed: u32,
    /// Seed of the world's meanders, their wavelength in river widths, and half the width of floors per square root
    /// of the drainage area.
    meanders: u32,
    winding: f32,
    floor: f32,
    sea: i32,
    /// Width of a coarse cell in units.
    unit: i64,
    /// Drainage area from which on a stream is a river, which is also the largest that a hill's fine cell may have,
    /// in m².
    threshold: f32,
    /// Drainage area from which on rivers are guarded, in m².
    guard: f32,
    /// The height of land adjacent to a lake above its level, for the drainage area of a hill.
    clear: i32,
}

impl<'a> Maker<'a> {
    /// Prepares the computation for a window, on the smooth `ground` whose first fine cell is `origin`.
    pub fn new(
        window: &'a LocalWindow,
        (frame, rules): (&'a Frame, &'a Rules),
        (ground, origin): (&'a Plane<i32>, Cell<i64>),
        rock: Option<&'a Rock<'a>>,
        [seed, meanders]: [u32; 2],
    ) -> Self {
        let width = frame.width(window.level);
        let threshold = rules.river as f32 * (width * width) as f32;
        let clear = beds::clearance(frame, window.level, threshold);
        let unit = (width * thalweg_core::terrain::height::UNITS) as i64;
        let guard = GUARD / 4.0 * (width * width) as f32;
        let (winding, floor, sea) = (rules.meanders, rules.floor, frame.sea_units());
        Self { window, frame, ground, origin, rock, seed, meanders, winding, floor, sea, unit, threshold, guard, clear }
    }

    /// Computes the nodes of the coarse cells of `rect`. It needs the window one cell beyond.
    pub fn nodes(&self, rect: CellRect<i64>) -> Nodes {
        debug_assert!(self.frame.world(self.window.level).contains(&rect));
        let mut nodes = Vec::with_capacity(rect.size()[0] * rect.size()[1]);
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                nodes.extend(self.node(Cell::new(i, j)));
            }
        }
        Nodes { rect, cols: rect.size()[1], nodes }
    }

    /// Returns a cell's row and column in the window; `None` if it is outside.
    #[inline]
    fn inside(&self, cell: Cell<i64>) -> Option<(usize, usize)> {
        let local = [cell.row - self.window.rect.start.row, cell.col - self.window.rect.start.col];
        let [rows, cols] = self.window.size();
        let within = local[0] >= 0 && local[1] >= 0 && (local[0] as usize) < rows && (local[1] as usize) < cols;
        within.then_some((local[0] as usize, local[1] as usize))
    }

    /// Returns the elevation of the ground or of the water over it.
    #[inline]
    fn surface(&self, at: (usize, usize)) -> i32 {
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
    fn falls(&self, at: (usize, usize), to: Option<Cell<i64>>) -> i32 {
        let Some(to) = to.and_then(|to| self.inside(to)) else { return 0 };
        let is_water = self.is_sea(at) || self.window.lake(at).is_some();
        if is_water { 0 } else { self.surface(at).saturating_sub(self.surface(to)).max(0) }
    }

    fn jitter(&self, cell: Cell<i64>) -> [f32; 2] {
        let hash = mix((cell[0] as u32).wrapping_mul(0x9e37_79b1) ^ mix((cell[1] as u32).wrapping_add(self.seed)));
        [(hash & 0xffff) as f32 / 32_768.0 - 1.0, (hash >> 16) as f32 / 32_768.0 - 1.0]
    }

    /// Returns the lowest of the children in the bit mask `allowed`; a hash breaks ties.
    fn lowest_child(&self, Cell { row: i, col: j }: Cell<i64>, raw: &[i32; 4], allowed: u8) -> u8 {
        let lot = |child: u8| {
            mix(self.seed
                ^ (2 * i + i64::from(child >> 1)) as u32
                ^ ((2 * j + i64::from(child & 1)) as u32).wrapping_mul(0x85eb_ca77))
        };
        let children = (0..4u8).filter(|child| allowed >> child & 1 == 1);
        children.min_by_key(|child| (raw[usize::from(*child)], lot(*child))).unwrap_or(0)
    }

    fn node(&self, cell: Cell<i64>) -> Option<Node> {
        let (Cell { row: i, col: j }, window) = (cell, self.window);
        let at = self.inside(cell)?;
        let first = [(2 * i - self.origin[0] + 1) as usize, (2 * j - self.origin[1] + 1) as usize];
        let raw = [0usize, 1, 2, 3].map(|child| self.ground.at(first[0] + (child >> 1), first[1] + (child & 1)));
        let (z, area, code) = (self.surface(at), window.area[at], window.receivers[at]);
        let mut node = Node { area, code, raw, ..Node::default() };
        // The node of a lake or sea cell is at the water level, and at least its own child stays under water.
        if let Some((lake, level)) = window.lake(at) {
            let child = self.lowest_child(cell, &raw, 15);
            let wet = self.wet(cell, level.0, |at| window.lake(at).is_some_and(|(id, _)| id == lake)) | 1 << child;
            return Some(Node { kind: Kind::Lake, child, bed: level.0, lake, level: level.0, wet, ..node });
        }
        if self.is_sea(at) {
            let child = self.lowest_child(cell, &raw, 15);
            let wet = self.wet(cell, self.sea, |at| self.is_sea(at)) | 1 << child;
            return Some(Node { kind: Kind::Sea, code: OUT, child, bed: self.sea, wet, ..node });
        }
        let river = self.is_river(at);
        node.kind = if river { Kind::River } else { Kind::Hill };
        let on = self.falls(at, next(cell, code));
        // From the upstream neighbours: the highest bed allowed, and the river with the largest drainage area. From
        // all neighbours: water.
        let mut highest = i32::MAX;
        let mut main: Option<(f32, D8)> = None;
        let (mut coast, mut over) = (false, i32::MIN);
        for direction in D8::ALL {
            let beside = direction.neighbour_of(cell);
            let Some(from) = self.inside(beside) else { continue };
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
            let bed = lowest(self.surface(from), [z, on], river, self.unit);
            // Leave room between the two beds for the cells of the flow path, where units allow it.
            highest = highest.min(bed.saturating_sub(((bed - z) >> 1).clamp(1, ROOM)));
            let more = main.is_none_or(|(most, _)| window.area[from] > most);
            if river && more {
                main = Some((window.area[from], direction));
            }
        }
        // The lowest bed allowed: the intervals of a cell and of its receiver must not overlap.
        let to = next(cell, code).and_then(|to| self.inside(to));
        let mut least = match to {
            Some(to) => {
                let beyond = next(cell, code).and_then(|to| next(to, window.receivers[self.inside(to)?]));
                let on = self.falls(to, beyond);
                lowest(z, [self.surface(to), on], river, self.unit)
            }
            None => Height::MIN.0,
        };
        if node.level >= z {
            // The cell is a lake's outlet.
            node.lake = 0;
        }
        if over > self.sea {
            // The cell is adjacent to a lake and not its outlet: it stays above the lake's level by all that finer
            // levels will incise.
            let clear =
                if river { beds::clearance(self.frame, window.level, area).max(self.clear) } else { self.clear };
            least = least.max(over.saturating_add(clear).min(z));
            if let Some((_, level)) = to.and_then(|to| window.lake(to)) {
                node.mouth = level.0.saturating_add(clear).min(z);
            }
        }
        // Level terrain leaves no unit between the two: then they are equal, and only the tree tells where water
        // flows.
        let least = least.max(self.sea.saturating_add(1));
        let highest = highest.max(least);
        // The children on the open rim over which the cell drains.
        if code == OUT && self.frame.is_rim(window.level, cell) {
            let on_rim = |child: u8| {
                let fine = Cell::new(2 * i + i64::from(child >> 1), 2 * j + i64::from(child & 1));
                self.frame.is_rim(window.level + 1, fine)
            };
            node.rim = (0..4).filter(|child| on_rim(*child)).map(|child| 1 << child).sum();
        }
        if coast {
            node.wet = self.wet(cell, self.sea, |at| self.is_sea(at));
        } else if node.lake != 0 {
            node.wet = self.wet(cell, node.level, |at| window.lake(at).is_some_and(|(id, _)| id == node.lake));
        }
        // The child that is the node: for a river by its course and meanders, otherwise the lowest; on land if any
        // child is.
        let dry = if node.wet == 15 { 15 } else { 15 ^ node.wet };
        node.child = if river && node.rim == 0 {
            let donor = main.map(|(_, direction)| direction);
            let child = self.corner(cell, donor, code, self.wander(cell, area, on));
            if dry >> child & 1 == 1 { child } else { self.lowest_child(cell, &raw, dry) }
        } else {
            let rim = node.rim;
            self.lowest_child(cell, &raw, if rim == 0 { dry } else { rim })
        };
        node.bed = raw[usize::from(node.child)].clamp(least, highest);
        node.guarded = area >= self.guard && i64::from(on) < (self.unit * STEEP) >> 8;
        // The softness of the rock moves a river's bed within its interval.
        if let Some(rock) = self.rock.filter(|_| river && to.is_some()) {
            let [i, j] = [first[0] + usize::from(node.child >> 1), first[1] + usize::from(node.child & 1)];
            node.bed = knick(node.bed, [least, highest.min(z.max(least))], rock.softness(i, j, node.bed));
        }
        Some(node)
    }

    /// Returns the children of a cell that are under water of this level, one bit each; `is_water` tells which cells
    /// it covers. The shoreline is that of a smooth surface through the coarse cells' heights above the water, so
    /// that it has no corners. Heights count up to that of a bluff.
    fn wet(&self, cell: Cell<i64>, level: i32, is_water: impl Fn((usize, usize)) -> bool) -> u8 {
        let Cell { row: i, col: j } = cell;
        let bluff = self.unit as f32 * 0.05;
        let mut stands = [[0.0f32; 3]; 3];
        let mut covered = 0;
        for (di, row) in (-1..).zip(&mut stands) {
            for (dj, stands) in (-1..).zip(row) {
                // A cell beyond the world counts as this cell does.
                let there = Cell::new(i + di, j + dj);
                let at = self.inside(there).or_else(|| self.inside(cell)).unwrap_or_default();
                let water = is_water(at);
                let over = (self.window.ground[at].0.wrapping_sub(level) as f32 / bluff).abs().clamp(0.5, 1.0);
                *stands = if water { -over } else { over } + WANDER * self.jitter(there)[0];
                covered += u32::from(water);
            }
        }
        if covered % 9 == 0 {
            return if covered == 0 { 0 } else { 15 };
        }
        // Subdivision weights of a quartic B-spline for the two halves of a cell, in 16ths.
        const HALVES: [[f32; 3]; 2] = [[5.0, 10.0, 1.0], [1.0, 10.0, 5.0]];
        let over = |child: usize| {
            let along = |row: &[f32; 3]| -> f32 { row.iter().zip(HALVES[child & 1]).map(|(z, w)| z * w).sum() };
            stands.iter().zip(HALVES[child >> 1]).map(|(row, w)| along(row) * w).sum::<f32>()
        };
        // A child changes from land to water or back only next to a neighbour of the other type: this avoids pools
        // behind the shore and rocks before it.
        let here = is_water(self.inside(cell).unwrap_or_default());
        let wet = |child: usize| {
            let [a, b] = [2 * i64::from(child >> 1 == 1) - 1, 2 * i64::from(child & 1 == 1) - 1];
            let beside =
                [[i + a, j], [i, j + b], [i + a, j + b]].into_iter().filter_map(|cell| self.inside(cell.into()));
            let turns = (over(child) < 0.0) != here && beside.into_iter().any(|at| is_water(at) != here);
            turns != here
        };
        (0..4usize).filter(|child| wet(*child)).map(|child| 1 << child).sum()
    }

    /// Returns the child through which a river cell's water flows: the one nearest to the sum of a quarter of the
    /// donor's position, half of the cell's own and a quarter of the receiver's, so that corners are cut. `wander`
    /// moves it across the direction of flow.
    fn corner(&self, cell: Cell<i64>, donor: Option<D8>, code: u8, wander: f32) -> u8 {
        let mut target = [0.0f32; 2];
        let mut shift = self.jitter(cell);
        let add = |direction: D8| {
            let jitter = self.jitter(direction.neighbour_of(cell));
            for axis in 0..2 {
                target[axis] += 0.25 * direction.offset()[axis] as f32;
                shift[axis] += 0.6 * jitter[axis];
            }
        };
        let receiver = D8::from_code(code);
        donor.into_iter().chain(receiver).for_each(add);
        // The vector from the donor to the receiver, rotated by a right angle.
        let step = |direction: Option<D8>, axis: usize| direction.map_or(0.0, |to| to.offset()[axis] as f32);
        let way = [0, 1].map(|axis| step(receiver, axis) - step(donor, axis));
        let length = (way[0] * way[0] + way[1] * way[1]).sqrt().max(1.0);
        let across = [-way[1] * (wander / length), way[0] * (wander / length)];
        let side = |axis: usize| u8::from(target[axis] + across[axis] + 0.16 * shift[axis] >= 0.0);
        2 * side(0) + side(1)
    }

    /// Returns how far meanders move a river cell's path to one side, over a cell's width. Their wavelength is some
    /// twelve river widths (Leopold & Wolman 1960, "River meanders"), rounded to a power of two of cells, so that
    /// several successive levels move it in the same way. A river meanders where its floor is wide enough and its
    /// slope gentle (Leopold & Wolman 1957, USGS Professional Paper 282-B).
    fn wander(&self, cell: Cell<i64>, area: f32, on: i32) -> f32 {
        let fine = self.frame.width(self.window.level + 1) as f32;
        let length = self.winding * beds::width(area);
        let octave = cast::floor(log2((length / fine).max(1.0)) + 0.5);
        if !WAVES.contains(&octave) {
            return 0.0;
        }
        let slope = on as f32 / self.unit as f32;
        let room = AMPLITUDE * self.floor * area.sqrt() / length;
        let share = SWAY * (2.0 - slope / WANDERS).clamp(0.0, 1.0) * room.min(1.0);
        if share <= 0.0 {
            return 0.0;
        }
        // Noise has waves about twice as long as its lattice is wide; a coarse cell is two fine ones.
        let side = 1i64 << (octave - WAVES.start());
        let of = |x: i64| (x.div_euclid(side) as i32, (x.rem_euclid(side) as f32 + 0.5) / side as f32);
        let ((row, y), (col, x)) = (of(cell.row), of(cell.col));
        let world = (self.window.level as i32).wrapping_sub(octave) as u32;
        share * noise(col, row, x, y, mix(self.meanders ^ mix(world)))
    }
}
