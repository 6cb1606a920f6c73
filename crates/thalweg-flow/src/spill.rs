//! Fill–spill–merge: computes where a given amount of water comes to rest.

use rayon::prelude::*;

use crate::Land;
use crate::depressions::{Depression, Hierarchy, OUTSIDE};
use thalweg_core::{Error, Field, Height, Result, Size};

/// Water at rest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StandingWater {
    /// The depth of the water at each cell; a field of the land's size.
    pub depth: Field<Height>,
    /// The pools, in order of their depressions.
    pub pools: Vec<FilledPool>,
    /// The amount of water that left the land, in units of height × cells.
    pub left: i64,
}

/// Water with one level surface: a partly or completely filled depression.
///
/// The level is a whole number of units, so the volume below a surface of n cells changes in multiples of n units
/// only. The rest is kept as the remainder, so that the depths of the pool's cells and the remainder sum to the
/// volume exactly. For example, 7 units of water on a level floor of 3 cells are 2 units deep, and 1 unit is the
/// remainder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilledPool {
    /// The number of the depression in [`Hierarchy::depressions`]. All its descendants are full, and it is not part
    /// of a larger pool.
    pub depression: u32,
    /// The height of the water surface.
    pub level: Height,
    /// The volume of water, in units of height × cells.
    pub volume: i64,
    /// The part of the volume above the level, in units of height × cells; less than the number of cells at or below
    /// the level.
    pub remainder: i64,
    /// The number of cells under water, not counting those that only the remainder would wet.
    pub cells: u32,
    /// True if the pool is at its spill level: more water would overflow, or merge it with its neighbour if that one
    /// is full too.
    pub full: bool,
}

/// Computes where `water`, in units of height × cells at each cell, comes to rest. For example, 0.1 m of rain on every
/// cell is a field of 6554 units.
///
/// Water flows down to the pits, fills depressions, and spills from full ones into their neighbours. Two depressions
/// that spill into each other merge and rise together. Water that spills out of the land, and water that is placed on
/// cells that drain off the land or have no data, is `left`. The mass balance is exact: the volumes of the pools and
/// `left` sum to the given water. A closed land has no spill: its level rises, in the end above all land.
///
/// This is the Fill–Spill–Merge algorithm (Barnes, Callaghan & Wickert 2021, doi:10.5194/esurf-9-105-2021). Here a
/// full depression permanently forwards its inflow, so chains of full depressions can be shortened as in a
/// union–find. The result does not depend on the order of pouring, and the time is almost linear in the number of
/// cells. `hierarchy` must be that of the same land.
///
/// # Errors
/// Returns an error if sizes differ, if water is negative or more than 2⁶³ − 1 units in total, or if it would rise
/// above the valid heights.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::height::UNITS;
/// use thalweg_core::{Edge, Field, Grid, Terrain};
/// use thalweg_flow::Land;
/// use thalweg_flow::depressions::Hierarchy;
/// use thalweg_flow::spill::fill_spill_merge;
///
/// // Pits at 1 m and 2 m with a sill of 3 m between them. 2.5 m of water is poured into the first.
/// let edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
/// let heights = [5.0, 1.0, 3.0, 2.0, 4.0, 0.0];
/// let terrain = Terrain::from_metres(Grid { edges, ..Grid::new([1, 6], 10.0)? }, &heights)?;
/// let land = Land::from_terrain(&terrain);
/// let mut water = Field::new([1, 6], 0);
/// water[(0, 1)] = (2.5 * UNITS) as i64;
/// let standing = fill_spill_merge(&land, &Hierarchy::from_land(&land), &water)?;
/// // It fills the first to the sill, and the rest spills into the second.
/// assert_eq!(standing.depth[(0, 1)].metres(), 2.0);
/// assert_eq!(standing.depth[(0, 3)].metres(), 0.5);
/// assert_eq!(standing.left, 0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn fill_spill_merge(land: &Land<'_>, hierarchy: &Hierarchy, water: &Field<i64>) -> Result<StandingWater> {
    check_water(land.ground.size(), hierarchy, water)?;
    let mut pour = Pour::new(&hierarchy.depressions, 0, &[]);
    let mut arriving = vec![0i64; hierarchy.leaf_count()];
    for (leaf, amount) in hierarchy.leaf.as_slice().iter().zip(water.as_slice()) {
        match arriving.get_mut(*leaf as usize) {
            Some(sum) => *sum += amount,
            // A cell without a leaf drains off the land or has no data.
            None => pour.left += amount,
        }
    }
    for (leaf, amount) in arriving.iter().enumerate() {
        pour.add(leaf as u32, *amount);
    }
    let left = pour.left;
    let (mut pools, pool_of) = pour.collect_pools();
    raise_pools(land.ground.as_slice(), hierarchy, &pool_of, &mut pools, 0, &[])?;
    let depth = Field::from_fn(land.ground.size(), |i, j| {
        let pool = pool_of.get(hierarchy.leaf[(i, j)] as usize).and_then(|pool| pools.get(*pool as usize));
        let ground = land.ground[(i, j)].0;
        Height(pool.map_or(0, |pool| pool.level.0.saturating_sub(ground).max(0)))
    });
    Ok(StandingWater { depth, pools, left })
}

/// Checks that sizes agree, and that amounts are not negative and sum to at most `i64::MAX`.
fn check_water(size: Size, hierarchy: &Hierarchy, water: &Field<i64>) -> Result<()> {
    let [rows, cols] = size;
    for (name, [r, c]) in [("hierarchy", hierarchy.leaf.size()), ("water", water.size())] {
        if [r, c] != size {
            return Err(Error::invalid_value(
                name,
                format!("{r} × {c} cells"),
                format!("{rows} × {cols} (the ground)"),
            ));
        }
    }
    let mut total = 0i128;
    for (k, amount) in water.as_slice().iter().enumerate() {
        if *amount < 0 {
            let value = format!("{amount} in row {}, column {}", k / cols, k % cols);
            return Err(Error::invalid_value("water (in cells × 1/65536 m)", value, "0 or more"));
        }
        total += i128::from(*amount);
    }
    if total > i128::from(i64::MAX) {
        let name = "water in all cells (in cells × 1/65536 m)";
        return Err(Error::invalid_value(name, total, format!("at most {}", i64::MAX)));
    }
    Ok(())
}

/// Reverses pools that were found from the top downward, and adapts the pool number of each depression.
pub(super) fn reverse_pools(mut pools: Vec<FilledPool>, mut pool_of: Vec<u32>) -> (Vec<FilledPool>, Vec<u32>) {
    pools.reverse();
    let last = pools.len() as u32;
    for pool in pool_of.iter_mut().filter(|pool| **pool != OUTSIDE) {
        *pool = last - 1 - *pool;
    }
    (pools, pool_of)
}

/// The state of pouring water into depressions.
pub(super) struct Pour<'a> {
    depressions: &'a [Depression],
    /// The total capacity of each depression.
    room_for: Vec<i64>,
    /// The remaining capacity of each depression, beyond what its children hold.
    room: Vec<i64>,
    /// The depression that receives the water added to each depression: itself, or, once it is full, another one.
    /// Following these leads to a depression that is not full or to [`OUTSIDE`].
    next: Vec<u32>,
    /// The amount of water that left the land.
    pub left: i64,
}

impl<'a> Pour<'a> {
    /// Starts with dry depressions. Each cell that is submerged consumes `evaporation` units in addition to its
    /// depth. Depressions marked in `passed` (empty for none) hold nothing; all their descendants must be marked too.
    pub fn new(depressions: &'a [Depression], evaporation: i32, passed: &[bool]) -> Self {
        let takes = |(n, d): (usize, &Depression)| match passed.get(n) {
            Some(true) => 0,
            _ => d.volume.saturating_add(i64::from(evaporation) * i64::from(d.cells)),
        };
        let room_for: Vec<i64> = depressions.iter().enumerate().map(takes).collect();
        // The capacity of a child is part of the parent's capacity, so no remaining capacity is negative.
        let room = |(d, all): (&Depression, &i64)| {
            d.children.into_iter().flatten().fold(*all, |room, child| room - room_for[child as usize])
        };
        let room = depressions.iter().zip(&room_for).map(room).collect();
        Self { depressions, room_for, room, next: (0..depressions.len() as u32).collect(), left: 0 }
    }

    /// Returns true if a depression is full to its spill level.
    fn is_full(&self, d: u32) -> bool {
        self.next[d as usize] != d
    }

    /// Returns the depression that water added to `d` ends in.
    fn find_destination(&mut self, d: u32) -> u32 {
        let mut at = d;
        while at != OUTSIDE && self.next[at as usize] != at {
            let next = self.next[at as usize];
            // Let the entry skip one receiver, so that long chains of full depressions become short.
            if next != OUTSIDE {
                self.next[at as usize] = self.next[next as usize];
            }
            at = next;
        }
        at
    }

    /// Adds an amount of water to a depression.
    pub fn add(&mut self, d: u32, mut amount: i64) {
        while amount > 0 {
            let goal = self.find_destination(d);
            let Some(room) = self.room.get_mut(goal as usize) else {
                self.left += amount;
                return;
            };
            // Every turn of the loop uses up the amount or fills a depression for good, so the loop ends.
            let taken = amount.min(*room);
            *room -= taken;
            amount -= taken;
            if *room == 0 {
                self.next[goal as usize] = self.find_overflow_receiver(goal);
            }
        }
    }

    /// Returns the receiver of a full depression's overflow: the leaf across its sill, or the parent if the sibling
    /// is full too, because then the two have merged. This creates no cycle: the flow over a sill stays within the
    /// sibling until that is full, and spills of roots never return.
    fn find_overflow_receiver(&self, d: u32) -> u32 {
        let depression = &self.depressions[d as usize];
        let merged = depression.parent.filter(|parent| {
            let children = self.depressions[*parent as usize].children;
            children.into_iter().flatten().all(|child| child == d || self.is_full(child))
        });
        merged.or_else(|| depression.spill?.to).unwrap_or(OUTSIDE)
    }

    /// Returns the pools, without their levels, and for each depression the pool that it is part of; [`OUTSIDE`] if
    /// none.
    pub fn collect_pools(&self) -> (Vec<FilledPool>, Vec<u32>) {
        let mut pool_of = vec![OUTSIDE; self.depressions.len()];
        let mut pools = Vec::new();
        for (d, depression) in self.depressions.iter().enumerate().rev() {
            let above = depression.parent.map_or(OUTSIDE, |parent| pool_of[parent as usize]);
            let merged = depression.children.is_none_or(|children| children.iter().all(|child| self.is_full(*child)));
            let volume = self.room_for[d] - self.room[d];
            if above != OUTSIDE {
                pool_of[d] = above;
            } else if merged && (volume > 0 || self.is_full(d as u32)) {
                pool_of[d] = pools.len() as u32;
                let full = self.is_full(d as u32);
                let Depression { floor: level, .. } = *depression;
                pools.push(FilledPool { depression: d as u32, level, volume, remainder: 0, cells: 0, full });
            }
        }
        reverse_pools(pools, pool_of)
    }
}

/// Computes the level, the remainder and the cells of each pool. `pool_of` gives the pool of each depression.
///
/// The cells below the sill between a depression's children are under water and already counted. Only the cells
/// between that sill and the spill level of pools that are not full have to be collected. Each cell that is finally
/// under water evaporates `evaporation` units, which are deducted from the pools' volumes. Depressions marked in
/// `passed` (empty for none) hold nothing.
pub(super) fn raise_pools(
    heights: &[Height],
    hierarchy: &Hierarchy,
    pool_of: &[u32],
    pools: &mut [FilledPool],
    evaporation: i32,
    passed: &[bool],
) -> Result<()> {
    let depressions = &hierarchy.depressions;
    // Depressions with a descendant that holds nothing: their water does not start at the sill between their
    // children.
    let mut over_passed = passed.to_vec();
    for (d, depression) in depressions.iter().enumerate().take(passed.len()) {
        over_passed[d] |= depression.children.into_iter().flatten().any(|child| over_passed[child as usize]);
    }
    let is_over_passed = |pool: &FilledPool| over_passed.get(pool.depression as usize) == Some(&true);
    let slices: Vec<Slice> =
        pools.iter().map(|pool| Slice::from_pool(depressions, pool, is_over_passed(pool))).collect();
    let span = |pool: &u32| slices.get(*pool as usize).map_or([Height::ZERO; 2], |slice| [slice.bottom, slice.top]);
    let spans: Vec<[Height; 2]> = pool_of[..hierarchy.leaf_count()].iter().map(span).collect();
    // The pool and height of each cell within its pool's slice.
    let gathered: Vec<(u32, Height)> = if slices.iter().all(|slice| slice.bottom == slice.top) {
        Vec::new()
    } else {
        let chunks = heights.par_chunks(CHUNK).zip(hierarchy.leaf.as_slice().par_chunks(CHUNK));
        let chosen = |(height, leaf): (&Height, &u32)| {
            let [bottom, top] = spans.get(*leaf as usize)?;
            (bottom <= height && height < top).then(|| (pool_of[*leaf as usize], *height))
        };
        chunks.flat_map_iter(|(heights, leaf)| heights.iter().zip(leaf).filter_map(chosen)).collect()
    };
    // Sort the heights by pool: count the cells of each pool, and then copy each height to its pool's range.
    let mut starts = vec![0usize; pools.len() + 1];
    for (pool, _) in &gathered {
        starts[*pool as usize + 1] += 1;
    }
    for pool in 0..pools.len() {
        starts[pool + 1] += starts[pool];
    }
    let mut ends = starts.clone();
    let mut cells = vec![Height::ZERO; gathered.len()];
    for (pool, height) in gathered {
        let end = &mut ends[pool as usize];
        cells[*end] = height;
        *end += 1;
    }
    // Give each pool its own part of the slice, so that pools can be raised in parallel.
    let mut rest = cells.as_mut_slice();
    let mut work = Vec::with_capacity(pools.len());
    for (k, (pool, slice)) in pools.iter_mut().zip(&slices).enumerate() {
        let (own, others) = rest.split_at_mut(starts[k + 1] - starts[k]);
        rest = others;
        work.push((pool, slice, own));
    }
    // A pool that only passes water on has no level.
    let work = work.into_par_iter().filter(|(pool, ..)| pool.volume > 0);
    work.try_for_each(|(pool, slice, own)| slice.raise_pool(pool, own, evaporation))
}

/// Number of cells that one task scans.
const CHUNK: usize = 1 << 15;

/// The part of a pool above the water that its depression's children hold.
pub(super) struct Slice {
    /// The heights of cells to consider: from `bottom` up to below `top`.
    pub bottom: Height,
    pub top: Height,
    /// The number of cells below the bottom, and the volume of water up to it.
    pub cells: u32,
    pub volume: i64,
}

impl Slice {
    /// Creates the slice of a pool; of all of it if `whole`.
    fn from_pool(depressions: &[Depression], pool: &FilledPool, whole: bool) -> Self {
        let depression = &depressions[pool.depression as usize];
        let top = depression.spill.map_or(Height(i32::MAX), |spill| spill.level);
        if pool.full {
            return Self { bottom: top, top, cells: depression.cells, volume: depression.volume };
        }
        let children = depression.children.into_iter().flatten().map(|child| &depressions[child as usize]);
        let mut slice = Self { bottom: depression.floor, top, cells: 0, volume: 0 };
        for child in children.filter(|_| !whole) {
            slice.bottom = child.spill.map_or(slice.bottom, |spill| spill.level);
            slice.cells += child.cells;
            slice.volume += child.volume;
        }
        slice
    }

    /// Raises the pool from the bottom over the slice's cells, given in any order. Each submerged cell consumes
    /// `evaporation` units besides its depth, which are then lost; where the water does not suffice for that, the
    /// pool stays level with the cell.
    ///
    /// The highest cell that the water reaches is found by repeated halving (quickselect), without sorting the cells.
    pub(super) fn raise_pool(&self, pool: &mut FilledPool, own: &mut [Height], evaporation: i32) -> Result<()> {
        // Volumes reach 2⁶³, and a product of cells and heights may exceed it, so sums have 128 bits.
        let above = |height: Height| i128::from(height.0) - i128::from(self.bottom.0);
        let sum = |cells: &[Height]| cells.iter().map(|height| above(*height)).sum::<i128>();
        let each = i128::from(evaporation);
        let over = i128::from(pool.volume) - i128::from(self.volume) - each * i128::from(self.cells);
        // The first `reached` cells are at or under the water; their heights above the bottom sum to `filled`.
        let (mut reached, mut filled, mut highest, mut end) = (0, 0, 0, own.len());
        while reached < end {
            let (lower, middle, _) = own[reached..end].select_nth_unstable((end - reached) / 2);
            let (count, height, more) = (lower.len(), above(*middle), sum(lower));
            let own_under = (reached + count) as i128;
            // The left side is the water that is needed to reach the middle cell: its height over all reached cells,
            // less their ground, plus their evaporation.
            if (i128::from(self.cells) + own_under) * height - filled - more + each * own_under <= over {
                reached += count + 1;
                filled += more + height;
                highest = height;
            } else {
                end = reached + count;
            }
        }
        let cells = i128::from(self.cells) + reached as i128;
        let water = over + filled - each * reached as i128;
        // The level cannot fall below the highest cell that was reached: evaporation there consumes everything that
        // arrives.
        let dries = cells > 0 && water.div_euclid(cells) < highest;
        let (risen, remainder) = match cells {
            0 => (0, over),
            _ if dries => (highest, 0),
            // The level is rounded down to whole units, so that the water is never deeper than its volume. The rest is
            // the remainder.
            _ => (water.div_euclid(cells), water.rem_euclid(cells)),
        };
        let level = i128::from(self.bottom.0) + risen;
        if level > i128::from(Height::MAX.max(self.bottom).0) {
            let allowed = format!("a volume with which the lake stays below {}", Height::MAX);
            return Err(Error::invalid_value("water in a closed basin (in cells × 1/65536 m)", pool.volume, allowed));
        }
        pool.volume = (i128::from(self.volume) + cells * risen - filled + remainder) as i64;
        pool.level = Height(level as i32);
        pool.remainder = remainder as i64;
        pool.cells = self.cells + own[..reached].iter().filter(|height| **height < pool.level).count() as u32;
        Ok(())
    }
}
