//! Nodes: of each coarse cell the one of its four children through which its water goes, and how high that lies.

use crate::flow::{OUT, STEPS};
use crate::local::plane::Plane;
use crate::local::{Frame, LocalWindow, Rect, Rules};
use crate::noise::gradient::mix;
use crate::terrain::height::Height;

/// What a coarse cell is to the finer level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Hill,
    River,
    Sea,
}

/// A coarse cell's node and way on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub kind: Kind,
    /// Where the cell drains to: 0 to 7, or [`OUT`].
    pub code: u8,
    /// Child that is the node: 2 · row + column.
    pub child: u8,
    /// Children that lie on the world's open rim, a bit each, if the cell drains over it.
    pub rim: u8,
    /// Height of the node; of sea the sea's level.
    pub bed: i32,
    /// Heights of the children before anything is carved.
    pub raw: [i32; 4],
    /// Catchment in m².
    pub area: f32,
    /// Whether no cell beside a hill's node is lower: then its way to the next node is carved.
    pub carved: bool,
}

impl Default for Node {
    fn default() -> Self {
        Self { kind: Kind::Hill, code: OUT, child: 0, rim: 0, bed: 0, raw: [0; 4], area: 0.0, carved: false }
    }
}

/// Nodes of coarse cells of a rectangle.
pub(super) struct Nodes {
    pub rect: Rect,
    cols: usize,
    nodes: Vec<Node>,
}

impl Nodes {
    #[inline]
    pub fn get(&self, [i, j]: [i64; 2]) -> Option<&Node> {
        let inside =
            (self.rect.start[0]..self.rect.end[0]).contains(&i) && (self.rect.start[1]..self.rect.end[1]).contains(&j);
        inside.then(|| &self.nodes[self.index([i, j])])
    }

    #[inline]
    fn index(&self, [i, j]: [i64; 2]) -> usize {
        (i - self.rect.start[0]) as usize * self.cols + (j - self.rect.start[1]) as usize
    }

    #[inline]
    pub fn carve(&mut self, cell: [i64; 2]) {
        let k = self.index(cell);
        self.nodes[k].carved = true;
    }

    /// The cells that drain into a cell: the number of the neighbour, and its node.
    #[inline]
    pub fn donors(&self, [i, j]: [i64; 2]) -> impl Iterator<Item = (usize, &Node)> {
        STEPS.iter().enumerate().filter_map(move |(k, [di, dj])| {
            let node = self.get([i + *di as i64, j + *dj as i64])?;
            (usize::from(node.code) == k ^ 4).then_some((k, node))
        })
    }
}

/// The world's cell that a cell drains to.
#[inline]
pub(super) fn next([i, j]: [i64; 2], code: u8) -> Option<[i64; 2]> {
    let [di, dj] = *STEPS.get(usize::from(code))?;
    Some([i + di as i64, j + dj as i64])
}

/// The part of the way down to its receiver at which a hill's, and a river's, bed lies at least, in 256ths. Near the receiver: a bed
/// in the middle would leave a step at the foot of a steep slope.
const SHARE: [i64; 2] = [13, 26];

/// On gentle ground it lies in the middle, so that both have room: as far as this slope, in 256ths.
const GENTLE: i64 = 2;

/// What two beds are apart at least, where the ground falls that far, in units: a way has up to three steps, each of which is a mean.
const ROOM: i32 = 64;

/// The lowest bed of a cell at `z` that drains to one at `receiver`. `width` is that of a cell in units.
#[inline]
fn lowest(z: i32, receiver: i32, is_river: bool, width: i64) -> i32 {
    let fall = (i64::from(z) - i64::from(receiver)).max(0);
    let share = (fall * SHARE[usize::from(is_river)]) >> 8;
    receiver.saturating_add(share.max((fall >> 1).min((width * GENTLE) >> 8)) as i32)
}

/// Nodes of the coarse cells of `rect`, on the smooth `ground` whose first fine cell is `origin`. It needs the window a cell beyond.
pub(super) fn nodes(
    window: &LocalWindow,
    (frame, rules): (&Frame, &Rules),
    rect: Rect,
    (ground, origin): (&Plane<i32>, [i64; 2]),
    seed: u32,
) -> Nodes {
    let world = frame.world(window.level);
    let sea = frame.sea_units();
    let width = frame.width(window.level);
    let unit = (width * crate::terrain::height::UNITS) as i64;
    let threshold = rules.river as f32 * (width * width) as f32;
    let inside = |[i, j]: [i64; 2]| {
        let local = [i - window.rect.start[0], j - window.rect.start[1]];
        window.rect.contains(&Rect::new([i, j], [1, 1])).then(|| (local[0] as usize, local[1] as usize))
    };
    let surface = |at: (usize, usize)| window.ground[at].0.max(sea);
    let is_river = |at: (usize, usize)| window.area[at] >= threshold && window.ground[at].0 > sea;
    let jitter = |cell: [i64; 2]| {
        let hash = mix((cell[0] as u32).wrapping_mul(0x9e37_79b1) ^ mix((cell[1] as u32).wrapping_add(seed)));
        [(hash & 0xffff) as f32 / 32_768.0 - 1.0, (hash >> 16) as f32 / 32_768.0 - 1.0]
    };
    let mut nodes = Vec::with_capacity(rect.size()[0] * rect.size()[1]);
    for i in rect.start[0]..rect.end[0] {
        for j in rect.start[1]..rect.end[1] {
            let cell = [i, j];
            let Some(at) = inside(cell) else { continue };
            let first = [(2 * i - origin[0] + 1) as usize, (2 * j - origin[1] + 1) as usize];
            let raw = |child: u8| ground.at(first[0] + usize::from(child >> 1), first[1] + usize::from(child & 1));
            let (z, area, code) = (surface(at), window.area[at], window.receivers[at]);
            let mut node = Node { area, code, raw: [0, 1, 2, 3].map(raw), ..Node::default() };
            let lowest_child = |allowed: u8| {
                let lot = |child: u8| {
                    mix(seed
                        ^ (2 * i + i64::from(child >> 1)) as u32
                        ^ ((2 * j + i64::from(child & 1)) as u32).wrapping_mul(0x85eb_ca77))
                };
                (0..4u8)
                    .filter(|child| allowed >> child & 1 == 1)
                    .min_by_key(|child| (raw(*child), lot(*child)))
                    .unwrap_or(0)
            };
            if window.ground[at].0 <= sea {
                let child = lowest_child(15);
                nodes.push(Node { kind: Kind::Sea, code: OUT, child, bed: sea, ..node });
                continue;
            }
            let river = is_river(at);
            node.kind = if river { Kind::River } else { Kind::Hill };
            // What is upstream: the highest bed allowed, and the river that brings most.
            let mut highest = i32::MAX;
            let mut main: Option<(f32, usize, [i64; 2])> = None;
            for (k, [di, dj]) in STEPS.iter().enumerate() {
                let donor = [i + *di as i64, j + *dj as i64];
                let Some(from) = inside(donor).filter(|from| usize::from(window.receivers[*from]) == k ^ 4) else {
                    continue;
                };
                let river = is_river(from);
                let bed = lowest(surface(from), z, river, unit);
                // Between the two beds there is room for the cells of the way, where units allow.
                highest = highest.min(bed.saturating_sub(((bed - z) >> 1).clamp(1, ROOM)));
                let more = main.is_none_or(|(most, ..)| window.area[from] > most);
                if river && more {
                    main = Some((window.area[from], k, donor));
                }
            }
            let least = match next(cell, code).and_then(inside) {
                Some(to) => lowest(z, surface(to), river, unit),
                None => Height::MIN.0,
            };
            // Level ground leaves no unit between the two: then they are equal, and the tree alone says where water goes.
            let least = least.max(sea.saturating_add(1));
            let highest = highest.max(least);
            if code == OUT && frame.is_rim(window.level, cell) {
                let on_rim = |child: u8| {
                    frame.is_rim(window.level + 1, [2 * i + i64::from(child >> 1), 2 * j + i64::from(child & 1)])
                };
                node.rim = (0..4).filter(|child| on_rim(*child)).map(|child| 1 << child).sum();
            }
            node.child = if river && node.rim == 0 {
                // A quarter donor, half itself, a quarter receiver: corners are cut.
                let mut target = [0.0f32; 2];
                let mut shift = jitter(cell);
                let mut add = |cell: [i64; 2], k: usize| {
                    for axis in 0..2 {
                        target[axis] += 0.25 * STEPS[k][axis] as f32;
                        shift[axis] += 0.6 * jitter(cell)[axis];
                    }
                };
                if let Some((_, k, donor)) = main {
                    add(donor, k);
                }
                if let Some(to) = next(cell, code) {
                    add(to, usize::from(code));
                }
                let side = |axis: usize| u8::from(target[axis] + 0.16 * shift[axis] >= 0.0);
                2 * side(0) + side(1)
            } else {
                lowest_child(if node.rim == 0 { 15 } else { node.rim })
            };
            node.bed = raw(node.child).clamp(least, highest);
            nodes.push(node);
        }
    }
    debug_assert!(world.contains(&rect));
    Nodes { rect, cols: rect.size()[1], nodes }
}
