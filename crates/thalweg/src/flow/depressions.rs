//! [`Hierarchy`]: which hollows lie in which, where each spills, and how much it holds.

use rayon::prelude::*;

use crate::field::Field;
use crate::flow::basins::spread;
use crate::flow::{Directions, Land, PIT, Part, d8, lot};
use crate::grid::Edge;
use crate::height::Height;

/// The label of a cell from which water leaves the land without passing a pit, or which has no data.
pub const OUTSIDE: u32 = u32::MAX;

/// All depressions of a land: a forest of binary trees.
///
/// A leaf holds one pit. It spills over its lowest sill into the leaf on the other side, or leaves the land. Two that
/// spill into each other merge: their parent begins at their common sill and reaches up to the next one. A root spills
/// out of the land or into a leaf of another tree, and no chain of such spills returns; or, where the whole land is
/// closed, the last root never spills and holds any amount of water.
///
/// Sills are in order of their level, then of a hash of the sill's world cell. At one sill cell, the cells beside it
/// are connected in order of their height, then of their hash, and the way out of the land last.
#[derive(Debug, Clone, PartialEq)]
pub struct Hierarchy {
    /// For each cell the leaf whose pit its water runs down to, by D8; [`OUTSIDE`] if it leaves.
    pub leaf: Field<u32>,
    /// The leaves in row-major order of their first cells, then the merged ones in order of their sills: a parent comes
    /// after its children.
    pub depressions: Vec<Depression>,
}

/// Ground from which water cannot run off until it stands as high as the spill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depression {
    /// Index in row-major order of its lowest cell; of several the first in the order of hashes.
    pub pit: u32,
    /// Height of that cell.
    pub floor: Height,
    /// The depression that it becomes part of by merging.
    pub parent: Option<u32>,
    /// The two that merged into it; none for a leaf. The one with the deeper floor is first.
    pub children: Option<[u32; 2]>,
    /// Where it overflows; nowhere if the land is closed and this is all of it.
    pub spill: Option<Spill>,
    /// Cells under the spill level; all cells if nothing spills.
    pub cells: u32,
    /// What it holds up to the spill level, in units of height × cells; `i64::MAX` if nothing spills.
    pub volume: i64,
}

/// Where a depression overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spill {
    /// Index in row-major order of the sill: the lowest cell that water has to cross.
    pub cell: u32,
    /// Height of the sill.
    pub level: Height,
    /// The leaf that the water runs into; none if it leaves the land.
    pub to: Option<u32>,
}

impl Hierarchy {
    /// The depressions of a land that [`Land::check`] accepts.
    ///
    /// After Barnes, Callaghan & Wickert (2020, doi:10.5194/esurf-8-431-2020); here cells are assigned to pits by their
    /// D8 directions, so that the water of a cell runs down as it does elsewhere, and basins are then connected over
    /// their lowest borders (Kruskal's algorithm), for which only cells on borders are sorted.
    pub fn of(land: &Land<'_>) -> Self {
        let mut parts = land.parts();
        let mut directions = d8::directions(land);
        if let Some(k) = stand_in(land, &parts) {
            parts.as_mut_slice()[k] = Part::Inside;
            directions.as_mut_slice()[k] = PIT;
        }
        let mut leaf = Field::new(directions.size(), OUTSIDE);
        let pits = number_pits(land, &directions, leaf.as_mut_slice());
        spread(&directions, &mut leaf, OUTSIDE);
        drop(directions);
        let mut forest = Forest::new(land, &pits);
        for k in borders(land, &parts, leaf.as_slice()) {
            forest.join(land, &parts, leaf.as_slice(), k as usize);
        }
        let mut depressions = forest.depressions;
        measure(land.ground.as_slice(), leaf.as_slice(), &mut depressions);
        Self { leaf, depressions }
    }

    /// Number of leaves; they come first.
    pub fn leaves(&self) -> usize {
        self.depressions.partition_point(|depression| depression.children.is_none())
    }
}

/// The cell that [`Land::parts`] lets water leave from only because there is no other way.
fn stand_in(land: &Land<'_>, parts: &Field<Part>) -> Option<usize> {
    let closed = land.grid.edges.iter().all(|edge| *edge == Edge::Closed) && land.outlets.is_empty();
    let mut ways = parts.as_slice().iter().enumerate().filter(|(_, part)| matches!(part, Part::Rim | Part::Sink));
    let (k, _) = ways.next().filter(|_| closed)?;
    let dry = land.grid.sea_level.is_none_or(|sea| land.ground.as_slice()[k] > sea);
    (dry && parts.as_slice()[k] == Part::Sink && ways.next().is_none()).then_some(k)
}

/// Numbers the pits in `labels`, one number for all cells of a flat one, and gives each one's first cell by hash.
pub(crate) fn number_pits(land: &Land<'_>, directions: &Directions, labels: &mut [u32]) -> Vec<u32> {
    let cols = directions.cols();
    let codes = directions.as_slice();
    let mut pits = Vec::new();
    let mut stack = Vec::new();
    for first in 0..codes.len() {
        if codes[first] != PIT || labels[first] != OUTSIDE {
            continue;
        }
        let number = pits.len() as u32;
        let mut least = (lot(land.grid, first), first);
        labels[first] = number;
        stack.push(first);
        while let Some(k) = stack.pop() {
            // Neighbouring pits are of one height, else the higher would drain to the lower.
            for (_, [r, c]) in land.around(k / cols, k % cols) {
                let n = r * cols + c;
                if codes[n] == PIT && labels[n] == OUTSIDE {
                    labels[n] = number;
                    least = least.min((lot(land.grid, n), n));
                    stack.push(n);
                }
            }
        }
        pits.push(least.1 as u32);
    }
    pits
}

/// The cells over which one basin may spill into another or out of the land, in the order in which rising water reaches
/// them.
fn borders(land: &Land<'_>, parts: &Field<Part>, leaf: &[u32]) -> impl Iterator<Item = u32> {
    let [rows, cols] = parts.size();
    let heights = land.ground.as_slice();
    let is_border = |i: usize, j: usize| {
        let k = i * cols + j;
        match parts[(i, j)] {
            Part::Void => false,
            Part::Rim if leaf[k] != OUTSIDE => true,
            _ => land.around(i, j).any(|(_, [r, c])| {
                let n = r * cols + c;
                leaf[n] != leaf[k] && heights[n] <= heights[k] && parts[(r, c)] != Part::Void
            }),
        }
    };
    // Heights above, indices below: an index is under 2³².
    let entry = |k: usize| (u64::from(heights[k].0 as u32 ^ (1 << 31)) << 32) | k as u64;
    let mut borders: Vec<u64> = (0..rows)
        .into_par_iter()
        .flat_map_iter(|i| (0..cols).filter(move |j| is_border(i, *j)).map(move |j| entry(i * cols + j)))
        .collect();
    let hash = |entry: u64| lot(land.grid, entry as u32 as usize);
    borders.par_sort_unstable_by(|a, b| {
        (a >> 32).cmp(&(b >> 32)).then_with(|| hash(*a).cmp(&hash(*b))).then_with(|| a.cmp(b))
    });
    borders.into_iter().map(|entry| entry as u32)
}

/// The depressions so far, and which are connected.
struct Forest {
    depressions: Vec<Depression>,
    /// Leads from each depression to the one that it is part of by now, itself at the top; the last place is outside.
    up: Vec<u32>,
}

impl Forest {
    fn new(land: &Land<'_>, pits: &[u32]) -> Self {
        let leaf = |pit: &u32| Depression {
            pit: *pit,
            floor: land.ground.as_slice()[*pit as usize],
            parent: None,
            children: None,
            spill: None,
            cells: 0,
            volume: 0,
        };
        Self { depressions: pits.iter().map(leaf).collect(), up: (0..=2 * pits.len() as u32).collect() }
    }

    /// The place outside in `up`.
    fn outside(&self) -> u32 {
        self.up.len() as u32 - 1
    }

    /// The depression at the top over a leaf, or the place outside.
    fn top(&mut self, leaf: u32) -> u32 {
        let mut at = leaf.min(self.outside());
        while self.up[at as usize] != at {
            let next = self.up[self.up[at as usize] as usize];
            self.up[at as usize] = next;
            at = next;
        }
        at
    }

    /// Connects what meets at border cell `k`.
    fn join(&mut self, land: &Land<'_>, parts: &Field<Part>, leaf: &[u32], k: usize) {
        let cols = land.grid.cols();
        let heights = land.ground.as_slice();
        let here = self.top(leaf[k]);
        let mut beside = [(Height::ZERO, 0, 0); 8];
        let mut count = 0;
        for (_, [r, c]) in land.around(k / cols, k % cols) {
            let n = r * cols + c;
            let meets = leaf[n] != leaf[k] && heights[n] <= heights[k] && parts[(r, c)] != Part::Void;
            if meets && self.top(leaf[n]) != here {
                beside[count] = (heights[n], lot(land.grid, n), leaf[n]);
                count += 1;
            }
        }
        beside[..count].sort_unstable();
        for (_, _, other) in &beside[..count] {
            self.link(land, k, leaf[k], *other);
        }
        if parts.as_slice()[k] == Part::Rim {
            self.link(land, k, leaf[k], OUTSIDE);
        }
    }

    /// Connects two leaves, of which one may be outside, over the sill `cell`.
    fn link(&mut self, land: &Land<'_>, cell: usize, one: u32, other: u32) {
        let (x, y) = (self.top(one), self.top(other));
        if x == y {
            return;
        }
        let level = land.ground.as_slice()[cell];
        let outside = self.outside();
        for (from, leaf) in [(x, other), (y, one)] {
            if from != outside {
                let to = (leaf != OUTSIDE).then_some(leaf);
                self.depressions[from as usize].spill = Some(Spill { cell: cell as u32, level, to });
            }
        }
        let top = if x == outside || y == outside { outside } else { self.merge(land, x, y) };
        self.up[x as usize] = top;
        self.up[y as usize] = top;
    }

    /// A parent for two depressions.
    fn merge(&mut self, land: &Land<'_>, x: u32, y: u32) -> u32 {
        let parent = self.depressions.len() as u32;
        let depth = |d: u32| {
            let Depression { pit, floor, .. } = self.depressions[d as usize];
            (floor, lot(land.grid, pit as usize), pit)
        };
        let children = if depth(x) <= depth(y) { [x, y] } else { [y, x] };
        let deeper = self.depressions[children[0] as usize];
        self.depressions.push(Depression { parent: None, children: Some(children), spill: None, ..deeper });
        for child in children {
            self.depressions[child as usize].parent = Some(parent);
        }
        parent
    }
}

/// Counts cells and volumes.
fn measure(heights: &[Height], leaf: &[u32], depressions: &mut [Depression]) {
    let jumps = jumps(depressions);
    let mut sums = vec![0i64; depressions.len()];
    for (height, leaf) in heights.iter().zip(leaf) {
        if let Some(owner) = owner(depressions, &jumps, *leaf, *height) {
            depressions[owner as usize].cells += 1;
            sums[owner as usize] += i64::from(height.0);
        }
    }
    for d in 0..depressions.len() {
        let Depression { parent, spill, cells, .. } = depressions[d];
        // Under 2³² cells of under 2³¹ units each: within an i64.
        depressions[d].volume = spill.map_or(i64::MAX, |spill| i64::from(spill.level.0) * i64::from(cells) - sums[d]);
        if let Some(parent) = parent {
            depressions[parent as usize].cells += cells;
            sums[parent as usize] += sums[d];
        }
    }
}

/// Whether a cell of this height is under the depression's spill level.
fn holds(depression: &Depression, height: Height) -> bool {
    depression.spill.is_none_or(|spill| height < spill.level)
}

/// For each depression one above it, so chosen that any is reached from any below it in a logarithmic number of jumps
/// and steps to parents (Myers 1983, doi:10.1016/0020-0190(83)90106-0).
fn jumps(depressions: &[Depression]) -> Vec<u32> {
    let mut jumps: Vec<u32> = (0..depressions.len() as u32).collect();
    let mut depths = vec![0u32; depressions.len()];
    for d in (0..depressions.len()).rev() {
        if let Some(parent) = depressions[d].parent {
            let far = jumps[parent as usize];
            let farther = jumps[far as usize];
            let depth = |d: u32| depths[d as usize];
            let even = depth(parent) - depth(far) == depth(far) - depth(farther);
            jumps[d] = if even { farther } else { parent };
            depths[d] = depth(parent) + 1;
        }
    }
    jumps
}

/// The lowest depression over a leaf under whose spill level a cell of this height is. Spill levels rise with parents.
fn owner(depressions: &[Depression], jumps: &[u32], leaf: u32, height: Height) -> Option<u32> {
    let mut at = leaf;
    loop {
        let depression = depressions.get(at as usize)?;
        if holds(depression, height) {
            return Some(at);
        }
        let parent = depression.parent?;
        let far = jumps[at as usize];
        at = if holds(&depressions[far as usize], height) { parent } else { far };
    }
}
