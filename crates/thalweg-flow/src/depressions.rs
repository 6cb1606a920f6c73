//! [`Hierarchy`]: the depression hierarchy, with the nesting, spill point and volume of each depression.

use crate::basins::propagate_outlet_labels;
pub use crate::spill_cells::OUTSIDE;
use crate::{CellRole, Directions, Land, PIT, d8, spill_cells, tie_break_hash};
use thalweg_core::{Cell, Edge, Field, Height};

/// All depressions of a land, as a forest of binary trees. For example, two pits with a common sill below the rim
/// around both are two leaves and one merged depression.
///
/// A leaf contains one pit. It spills over its lowest sill into the leaf on the other side, or out of the land. Two
/// depressions that spill into each other merge: their parent extends from their common sill up to its own spill
/// level. A root spills out of the land or into a leaf of another tree, and chains of such spills never form a cycle.
/// If the whole land is closed, the last root never spills and holds any amount of water.
///
/// Sills are ordered by level, then by a hash of the sill's world cell. At one sill cell, the neighbouring cells are
/// connected in order of height, then of their hash, and the way out of the land comes last.
///
/// # Examples
/// ```
/// use thalweg_core::{Edge, Grid, Terrain};
/// use thalweg_flow::Land;
/// use thalweg_flow::depressions::Hierarchy;
///
/// // Pits at 1 m and 2 m with a sill of 3 m between them; together they spill to the east at 4 m.
/// let edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
/// let heights = [5.0, 1.0, 3.0, 2.0, 4.0, 0.0];
/// let terrain = Terrain::from_metres(Grid { edges, ..Grid::new([1, 6], 10.0)? }, &heights)?;
/// let hierarchy = Hierarchy::from_land(&Land::from_terrain(&terrain));
/// assert_eq!((hierarchy.leaf_count(), hierarchy.depressions.len()), (2, 3));
/// let merged = hierarchy.depressions[2];
/// assert_eq!(merged.children, Some([0, 1]));
/// assert_eq!(merged.spill.map(|spill| spill.level.metres()), Some(4.0));
/// // Its cells are 3 m, 1 m and 2 m deep.
/// assert_eq!(merged.volume, 6 * 65_536);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hierarchy {
    /// For each cell the number, in [`Hierarchy::depressions`], of the leaf to whose pit its water flows by D8;
    /// [`OUTSIDE`] if the water leaves the land or there is no data. A field of the land's size.
    pub leaf: Field<u32>,
    /// The leaves in row-major order of their first cells, followed by the merged depressions in order of their
    /// sills, so that a parent comes after its children.
    pub depressions: Vec<Depression>,
}

/// A depression: ground from which water cannot flow off until it has risen to the spill level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Depression {
    /// The row-major index of its lowest cell, ties broken by hash.
    pub pit: u32,
    /// The height of that cell.
    pub floor: Height,
    /// The number, in [`Hierarchy::depressions`], of the depression that it becomes part of by merging; `None` if it
    /// merges with no other.
    pub parent: Option<u32>,
    /// The numbers of the two depressions that merged into it, the one with the deeper floor first; `None` for a
    /// leaf.
    pub children: Option<[u32; 2]>,
    /// Where it overflows; `None` if the land is closed and this depression is all of it.
    pub spill: Option<Spill>,
    /// The number of its cells below the spill level; the number of all its cells if it never spills.
    pub cells: u32,
    /// Its capacity up to the spill level, in units of height × cells; `i64::MAX` if it never spills.
    pub volume: i64,
}

/// Where a depression overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spill {
    /// The row-major index of the sill: the lowest cell that water has to cross.
    pub cell: u32,
    /// The height of the sill.
    pub level: Height,
    /// The number of the leaf that the water flows into; `None` if it leaves the land.
    pub to: Option<u32>,
}

impl Hierarchy {
    /// Computes the depressions of a land that [`Land::check`] accepts.
    ///
    /// The method follows Barnes, Callaghan & Wickert (2020, doi:10.5194/esurf-8-431-2020). Here cells are assigned
    /// to pits by their D8 directions, so that a cell's water flows as it does elsewhere in this crate. Basins are
    /// then connected over their lowest borders (Kruskal's algorithm), for which only border cells have to be sorted.
    pub fn from_land(land: &Land<'_>) -> Self {
        Self::from_directions(land, land.cell_roles(), d8::route_d8(land))
    }

    /// Does the same for a land whose cell roles and directions are already computed.
    pub(super) fn from_directions(land: &Land<'_>, mut roles: Field<CellRole>, mut directions: Directions) -> Self {
        // On a closed land the stand-in for an outlet becomes a pit again, so that the last depression holds any amount
        // of water.
        if let Some(k) = find_fallback_outlet(land, &roles) {
            roles[k] = CellRole::Inside;
            directions[k] = PIT;
        }
        let mut leaf = Field::new(directions.size(), OUTSIDE);
        let pits = number_pits(land, &directions, leaf.as_mut_slice());
        propagate_outlet_labels(&directions, &mut leaf, OUTSIDE);
        // Free a byte per cell before the sills are collected. The labels already contain everything that is needed of
        // the directions.
        drop(directions);
        let mut forest = DepressionForest::new(land, &pits);
        for k in spill_cells::list_sill_candidates(land, &roles, &leaf) {
            forest.connect_basins_at(land, &roles, leaf.as_slice(), k as usize);
        }
        let mut depressions = forest.depressions;
        measure_depressions(land.ground.as_slice(), leaf.as_slice(), &mut depressions);
        Self { leaf, depressions }
    }

    /// Returns the empty hierarchy of no land.
    pub(super) fn empty() -> Self {
        Self { leaf: Field::new([0, 0], OUTSIDE), depressions: Vec::new() }
    }

    /// Returns the number of leaves, which come first in the list.
    pub fn leaf_count(&self) -> usize {
        self.depressions.partition_point(|depression| depression.children.is_none())
    }
}

/// Returns the cell that [`Land::cell_roles`] made a sink only because water could not leave the land anywhere else.
pub(super) fn find_fallback_outlet(land: &Land<'_>, roles: &Field<CellRole>) -> Option<usize> {
    // A cell that is a sink because of its height below the sea, or because it was given as an outlet, is no stand-in.
    let closed = !land.grid.edges.contains(&Edge::Open) && land.outlets.is_empty();
    let mut outlets =
        roles.as_slice().iter().enumerate().filter(|(_, part)| matches!(part, CellRole::Rim | CellRole::Sink));
    let (k, _) = outlets.next().filter(|_| closed)?;
    let dry = land.grid.sea_level.is_none_or(|sea| land.ground[k] > sea);
    (dry && roles[k] == CellRole::Sink && outlets.next().is_none()).then_some(k)
}

/// Number of cells that are scanned at once for a pit.
const CHUNK: usize = 256;

/// Numbers the pits in `labels`, with one number for all cells of a flat pit. Returns for each pit the cell with the
/// smallest hash.
pub(crate) fn number_pits(land: &Land<'_>, directions: &Directions, labels: &mut [u32]) -> Vec<u32> {
    let cols = directions.cols();
    let codes = directions.as_slice();
    let mut pits = Vec::new();
    let mut stack = Vec::new();
    let pit_at = |(k, code): (usize, &u8)| (*code == PIT).then_some(k);
    let chunks = codes.chunks(CHUNK).enumerate().filter(|(_, chunk)| chunk.contains(&PIT));
    for first in chunks.flat_map(|(c, chunk)| (c * CHUNK..).zip(chunk).filter_map(pit_at)) {
        if labels[first] != OUTSIDE {
            continue;
        }
        let number = pits.len() as u32;
        let mut first_by_hash = (tie_break_hash(land.grid, first), first);
        labels[first] = number;
        stack.push(first);
        while let Some(k) = stack.pop() {
            // Adjacent pit cells have the same height; otherwise the higher one would drain to the lower one.
            for (_, Cell { row: r, col: c }) in land.neighbours(k / cols, k % cols) {
                let n = r * cols + c;
                if codes[n] == PIT && labels[n] == OUTSIDE {
                    labels[n] = number;
                    first_by_hash = first_by_hash.min((tie_break_hash(land.grid, n), n));
                    stack.push(n);
                }
            }
        }
        pits.push(first_by_hash.1 as u32);
    }
    pits
}

/// The depressions found so far, and their connections (a union–find structure).
struct DepressionForest {
    depressions: Vec<Depression>,
    /// For each depression, the depression that it is currently part of; itself if it is at the top. The last entry
    /// is the outside.
    up: Vec<u32>,
}

impl DepressionForest {
    /// Creates one leaf for each pit; nothing is connected yet.
    fn new(land: &Land<'_>, pits: &[u32]) -> Self {
        let leaf = |pit: &u32| Depression {
            pit: *pit,
            floor: land.ground[*pit as usize],
            parent: None,
            children: None,
            spill: None,
            cells: 0,
            volume: 0,
        };
        // With n leaves there are at most n − 1 merges, so 2·n entries and one for the outside are enough.
        Self { depressions: pits.iter().map(leaf).collect(), up: (0..=2 * pits.len() as u32).collect() }
    }

    /// Returns the index of the entry of `up` for the outside.
    fn outside_entry(&self) -> u32 {
        self.up.len() as u32 - 1
    }

    /// Returns the topmost depression that contains a leaf, or the entry of the outside.
    fn find_root(&mut self, leaf: u32) -> u32 {
        let mut at = leaf.min(self.outside_entry());
        while self.up[at as usize] != at {
            // Let every entry on the path point one step farther, which keeps later paths short (path halving).
            let next = self.up[self.up[at as usize] as usize];
            self.up[at as usize] = next;
            at = next;
        }
        at
    }

    /// Connects the basins that meet at border cell `k`.
    fn connect_basins_at(&mut self, land: &Land<'_>, roles: &Field<CellRole>, leaf: &[u32], k: usize) {
        let cols = land.grid.cols();
        let heights = land.ground.as_slice();
        let here = self.find_root(leaf[k]);
        let mut adjacent = [(Height::ZERO, 0, 0); 8];
        let mut count = 0;
        for (_, Cell { row: r, col: c }) in land.neighbours(k / cols, k % cols) {
            let n = r * cols + c;
            let meets = leaf[n] != leaf[k] && heights[n] <= heights[k] && roles[(r, c)] != CellRole::Void;
            if meets && self.find_root(leaf[n]) != here {
                adjacent[count] = (heights[n], tie_break_hash(land.grid, n), leaf[n]);
                count += 1;
            }
        }
        adjacent[..count].sort_unstable();
        for (_, _, other) in &adjacent[..count] {
            self.connect_leaves(land, k, leaf[k], *other);
        }
        if roles[k] == CellRole::Rim {
            self.connect_leaves(land, k, leaf[k], OUTSIDE);
        }
    }

    /// Connects two leaves, one of which may be the outside, over the sill `cell`.
    fn connect_leaves(&mut self, land: &Land<'_>, cell: usize, one: u32, other: u32) {
        let (x, y) = (self.find_root(one), self.find_root(other));
        if x == y {
            return;
        }
        let level = land.ground[cell];
        let outside = self.outside_entry();
        // Sills are visited from the lowest up, so the first sill that connects a depression with another one is its
        // spill.
        for (from, leaf) in [(x, other), (y, one)] {
            if from != outside {
                let to = (leaf != OUTSIDE).then_some(leaf);
                self.depressions[from as usize].spill = Some(Spill { cell: cell as u32, level, to });
            }
        }
        let top = if x == outside || y == outside { outside } else { self.merge_depressions(land, x, y) };
        self.up[x as usize] = top;
        self.up[y as usize] = top;
    }

    /// Creates the parent of two depressions.
    fn merge_depressions(&mut self, land: &Land<'_>, x: u32, y: u32) -> u32 {
        let parent = self.depressions.len() as u32;
        let depth = |d: u32| {
            let Depression { pit, floor, .. } = self.depressions[d as usize];
            (floor, tie_break_hash(land.grid, pit as usize), pit)
        };
        // The parent inherits the pit and the floor of its deeper child.
        let children = if depth(x) <= depth(y) { [x, y] } else { [y, x] };
        let deeper = self.depressions[children[0] as usize];
        self.depressions.push(Depression { parent: None, children: Some(children), spill: None, ..deeper });
        for child in children {
            self.depressions[child as usize].parent = Some(parent);
        }
        parent
    }
}

/// Computes the numbers of cells and the volumes.
fn measure_depressions(heights: &[Height], leaf: &[u32], depressions: &mut [Depression]) {
    let rungs = build_jump_pointers(depressions);
    // Most ground is above all water, and a comparison with the highest level in a leaf's tree skips it quickly.
    let mut highest: Vec<i32> = rungs.iter().map(|rung| rung.highest).collect();
    for d in (0..depressions.len()).rev() {
        highest[d] = depressions[d].parent.map_or(highest[d], |parent| highest[parent as usize]);
    }
    let leaves = depressions.partition_point(|depression| depression.children.is_none());
    let spans: Vec<[i32; 2]> = (0..leaves).map(|leaf| [rungs[leaf].highest, highest[leaf]]).collect();
    let mut sums = vec![(0u32, 0i64); depressions.len()];
    for (height, leaf) in heights.iter().zip(leaf) {
        let Some([own, highest]) = spans.get(*leaf as usize) else { continue };
        if height.0 <= *highest {
            // Most cells under water are below the spill level of their own leaf and need no search.
            let owner = if height.0 <= *own { *leaf } else { find_owner(&rungs, *leaf, height.0) };
            let (cells, sum) = &mut sums[owner as usize];
            *cells += 1;
            *sum += i64::from(height.0);
        }
    }
    for d in 0..depressions.len() {
        let (cells, sum) = sums[d];
        depressions[d].cells = cells;
        // Fewer than 2³² cells of fewer than 2³¹ units each: the sum fits an i64.
        let level = depressions[d].spill.map(|spill| i64::from(spill.level.0));
        depressions[d].volume = level.map_or(i64::MAX, |level| level * i64::from(cells) - sum);
        // A parent comes after its children in the list, so its sums are complete when its own turn comes.
        if let Some(parent) = depressions[d].parent {
            let above = &mut sums[parent as usize];
            above.0 += cells;
            above.1 += sum;
        }
    }
}

/// A depression as a step on the path to its ancestors.
struct Rung {
    /// The greatest height below the spill level.
    highest: i32,
    parent: u32,
    /// An ancestor, chosen such that any ancestor can be reached from any descendant by a logarithmic number of jumps
    /// and steps to parents (skew-binary jump pointers, Myers 1983, doi:10.1016/0020-0190(83)90106-0).
    far: u32,
    /// The greatest height below that ancestor's spill level.
    farthest: i32,
}

/// Computes the jump pointers of all depressions, from the roots down.
fn build_jump_pointers(depressions: &[Depression]) -> Vec<Rung> {
    // A spill level is above the floor, so one unit less is still a valid height.
    let highest = |d: u32| depressions[d as usize].spill.map_or(i32::MAX, |spill| spill.level.0.saturating_sub(1));
    let mut far: Vec<u32> = (0..depressions.len() as u32).collect();
    let mut depths = vec![0u32; depressions.len()];
    for d in (0..depressions.len()).rev() {
        if let Some(parent) = depressions[d].parent {
            let next = far[parent as usize];
            let beyond = far[next as usize];
            let depth = |d: u32| depths[d as usize];
            // Two jumps of equal length are combined to one that is twice as long plus one step.
            let even = depth(parent) - depth(next) == depth(next) - depth(beyond);
            far[d] = if even { beyond } else { parent };
            depths[d] = depth(parent) + 1;
        }
    }
    let rung = |(d, far): (usize, u32)| {
        let d = d as u32;
        let parent = depressions[d as usize].parent.unwrap_or(d);
        Rung { highest: highest(d), parent, far, farthest: highest(far) }
    };
    far.into_iter().enumerate().map(rung).collect()
}

/// Returns the lowest depression above or at a leaf whose spill level is above a cell of this height; there always is
/// one. Spill levels increase from children to parents.
fn find_owner(rungs: &[Rung], leaf: u32, height: i32) -> u32 {
    let mut at = leaf;
    loop {
        let rung = &rungs[at as usize];
        if height <= rung.highest || rung.parent == at {
            return at;
        }
        at = if height <= rung.farthest { rung.parent } else { rung.far };
    }
}
