//! Fill, spill and merge: where a given amount of water comes to stand.

use rayon::prelude::*;

use crate::Land;
use crate::depressions::{Depression, Hierarchy, OUTSIDE};
use thalweg_core::{Error, Field, Height, Result, Size};

/// Water at rest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StandingWater {
    /// Depth of the water at each cell, of the land's size.
    pub depth: Field<Height>,
    /// The pools, in order of their depressions.
    pub pools: Vec<FilledPool>,
    /// What left the land, in units of height × cells.
    pub left: i64,
}

/// Water with one level surface: a depression filled in part or as a whole.
///
/// The level is a whole unit, so a surface of n cells can rise by multiples of n units only. What is over is kept as
/// the remainder, and the depths of the pool's cells and its remainder sum to its volume exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilledPool {
    /// Number of the depression in [`Hierarchy::depressions`]: all below it are full, it is not part of a greater pool.
    pub depression: u32,
    /// Height of the surface.
    pub level: Height,
    /// Water in it, in units of height × cells.
    pub volume: i64,
    /// The part of the volume that lies above the level, in units of height × cells: fewer than cells that are at or under it.
    pub remainder: i64,
    /// Number of cells under water, those that the remainder alone wets not counted.
    pub cells: u32,
    /// Whether it stands at its spill: more water would run over, and merge it with its neighbour if that is full too.
    pub full: bool,
}

/// Where `water`, in units of height × cells at each cell, comes to stand.
///
/// It runs down to the pits, fills depressions, spills from full ones into their neighbours, and two that spill into
/// each other merge and rise together; what spills out of the land, and what is put where it runs out or where there is
/// no data, is `left`. All of it is accounted for: the volumes of the pools and `left` sum to the water given. A closed
/// land has no spill: its level rises, in the end over all land.
///
/// Fill–Spill–Merge (Barnes, Callaghan & Wickert 2021, doi:10.5194/esurf-9-105-2021). Here a full depression hands on
/// what comes for good, so that chains of full ones are shortened as in a union–find: no order of pouring shows, and
/// the pouring is all but linear in cells. `hierarchy` is that of the same land.
///
/// # Errors
/// When sizes differ, water is negative or more than 2⁶³ − 1 units in all, or would rise above the accepted heights.
pub fn fill_spill_merge(land: &Land<'_>, hierarchy: &Hierarchy, water: &Field<i64>) -> Result<StandingWater> {
    check(land.ground.size(), hierarchy, water)?;
    let mut pour = Pour::new(&hierarchy.depressions, 0, &[]);
    let mut arriving = vec![0i64; hierarchy.leaves()];
    for (leaf, amount) in hierarchy.leaf.as_slice().iter().zip(water.as_slice()) {
        match arriving.get_mut(*leaf as usize) {
            Some(sum) => *sum += amount,
            None => pour.left += amount,
        }
    }
    for (leaf, amount) in arriving.iter().enumerate() {
        pour.add(leaf as u32, *amount);
    }
    let left = pour.left;
    let (mut pools, pool_of) = pour.pools();
    rise(land.ground.as_slice(), hierarchy, &pool_of, &mut pools, 0, &[])?;
    let depth = Field::generate(land.ground.size(), |i, j| {
        let pool = pool_of.get(hierarchy.leaf[(i, j)] as usize).and_then(|pool| pools.get(*pool as usize));
        let ground = land.ground[(i, j)].0;
        Height(pool.map_or(0, |pool| pool.level.0.saturating_sub(ground).max(0)))
    });
    Ok(StandingWater { depth, pools, left })
}

fn check(size: Size, hierarchy: &Hierarchy, water: &Field<i64>) -> Result<()> {
    let [rows, cols] = size;
    for (name, [r, c]) in [("hierarchy", hierarchy.leaf.size()), ("water", water.size())] {
        if [r, c] != size {
            return Err(Error::value(name, format!("{r} × {c} cells"), format!("{rows} × {cols} (the ground)")));
        }
    }
    let mut total = 0i128;
    for (k, amount) in water.as_slice().iter().enumerate() {
        if *amount < 0 {
            let value = format!("{amount} in row {}, column {}", k / cols, k % cols);
            return Err(Error::value("water", value, "0 or more units"));
        }
        total += i128::from(*amount);
    }
    if total > i128::from(i64::MAX) {
        return Err(Error::value("water", format!("{total} units in all"), format!("up to {}", i64::MAX)));
    }
    Ok(())
}

/// Pools that were found from the top downward, told from the first on; so too the pool that each depression is part of.
pub(super) fn from_first(mut pools: Vec<FilledPool>, mut pool_of: Vec<u32>) -> (Vec<FilledPool>, Vec<u32>) {
    pools.reverse();
    let last = pools.len() as u32;
    for pool in pool_of.iter_mut().filter(|pool| **pool != OUTSIDE) {
        *pool = last - 1 - *pool;
    }
    (pools, pool_of)
}

/// Water being poured.
pub(super) struct Pour<'a> {
    depressions: &'a [Depression],
    /// What each depression takes in all.
    room_for: Vec<i64>,
    /// What each depression still takes, above what its children hold.
    room: Vec<i64>,
    /// Where what comes to a depression goes: to itself, or, once it is full, on to another; leads to one that is not
    /// full or to [`OUTSIDE`].
    next: Vec<u32>,
    /// What has run out of the land.
    pub left: i64,
}

impl<'a> Pour<'a> {
    /// Over dry depressions; each cell that goes under takes `evaporation` units more than its depth. Those that `passed` tells
    /// (empty for none), of which all below them must be told too, take nothing.
    pub fn new(depressions: &'a [Depression], evaporation: i32, passed: &[bool]) -> Self {
        let takes = |(n, d): (usize, &Depression)| match passed.get(n) {
            Some(true) => 0,
            _ => d.volume.saturating_add(i64::from(evaporation) * i64::from(d.cells)),
        };
        let room_for: Vec<i64> = depressions.iter().enumerate().map(takes).collect();
        // What a cell under a child's spill takes is part of what the parent does: no room is negative.
        let room = |(d, all): (&Depression, &i64)| {
            d.children.into_iter().flatten().fold(*all, |room, child| room - room_for[child as usize])
        };
        let room = depressions.iter().zip(&room_for).map(room).collect();
        Self { depressions, room_for, room, next: (0..depressions.len() as u32).collect(), left: 0 }
    }

    /// Whether a depression is full to its spill.
    fn is_full(&self, d: u32) -> bool {
        self.next[d as usize] != d
    }

    /// Where water that comes to `d` goes.
    fn goal(&mut self, d: u32) -> u32 {
        let mut at = d;
        while at != OUTSIDE && self.next[at as usize] != at {
            let next = self.next[at as usize];
            if next != OUTSIDE {
                self.next[at as usize] = self.next[next as usize];
            }
            at = next;
        }
        at
    }

    /// Lets an amount of water come to a depression.
    pub fn add(&mut self, d: u32, mut amount: i64) {
        while amount > 0 {
            let goal = self.goal(d);
            let Some(room) = self.room.get_mut(goal as usize) else {
                self.left += amount;
                return;
            };
            let taken = amount.min(*room);
            *room -= taken;
            amount -= taken;
            if *room == 0 {
                self.next[goal as usize] = self.beyond(goal);
            }
        }
    }

    /// Where a depression that is full hands on to: over its sill; but if its sibling is full too, they are one, and it
    /// is their parent that fills. No circle can close: a way over a sill stays within the sibling until that is full,
    /// and the spills of roots never return.
    fn beyond(&self, d: u32) -> u32 {
        let depression = &self.depressions[d as usize];
        let merged = depression.parent.filter(|parent| {
            let children = self.depressions[*parent as usize].children;
            children.into_iter().flatten().all(|child| child == d || self.is_full(child))
        });
        merged.or_else(|| depression.spill?.to).unwrap_or(OUTSIDE)
    }

    /// The pools, without their levels, and for each depression the pool that it is part of, if any.
    pub fn pools(&self) -> (Vec<FilledPool>, Vec<u32>) {
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
        from_first(pools, pool_of)
    }
}

/// Finds the level, the remainder and the cells of each pool, of which `pool_of` gives the number for each depression.
///
/// The cells under the sill between a depression's children are known to be under water and are counted already. So
/// only the cells between there and the spill, of pools that are not full, are gathered. From each cell that is under water
/// in the end evaporates so much: it is taken out of the pools' volumes. `passed` are those that hold nothing (empty for none).
pub(super) fn rise(
    heights: &[Height],
    hierarchy: &Hierarchy,
    pool_of: &[u32],
    pools: &mut [FilledPool],
    evaporation: i32,
    passed: &[bool],
) -> Result<()> {
    let depressions = &hierarchy.depressions;
    // Those over some that hold nothing: what is in them does not begin at the sill between their children.
    let mut over_passed = passed.to_vec();
    for (d, depression) in depressions.iter().enumerate().take(passed.len()) {
        over_passed[d] |= depression.children.into_iter().flatten().any(|child| over_passed[child as usize]);
    }
    let is_over_passed = |pool: &FilledPool| over_passed.get(pool.depression as usize) == Some(&true);
    let slices: Vec<Slice> = pools.iter().map(|pool| Slice::of(depressions, pool, is_over_passed(pool))).collect();
    let span = |pool: &u32| slices.get(*pool as usize).map_or([Height::ZERO; 2], |slice| [slice.bottom, slice.top]);
    let spans: Vec<[Height; 2]> = pool_of[..hierarchy.leaves()].iter().map(span).collect();
    // Of all cells within their pools' slices the pool and the height.
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
    let mut rest = cells.as_mut_slice();
    let mut work = Vec::with_capacity(pools.len());
    for (k, (pool, slice)) in pools.iter_mut().zip(&slices).enumerate() {
        let (own, others) = rest.split_at_mut(starts[k + 1] - starts[k]);
        rest = others;
        work.push((pool, slice, own));
    }
    // What only passes has no level.
    let work = work.into_par_iter().filter(|(pool, ..)| pool.volume > 0);
    work.try_for_each(|(pool, slice, own)| slice.fill(pool, own, evaporation))
}

/// Cells that one task looks through.
const CHUNK: usize = 1 << 15;

/// The part of a pool above what its depression's children hold.
pub(super) struct Slice {
    /// From here on cells are to be looked at, up to below `top`.
    pub bottom: Height,
    pub top: Height,
    /// Cells under the bottom, and the water up to it.
    pub cells: u32,
    pub volume: i64,
}

impl Slice {
    /// Of all of it, if it lies `whole`.
    fn of(depressions: &[Depression], pool: &FilledPool, whole: bool) -> Self {
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

    /// Lets the pool rise from the bottom over the slice's cells, in any order. Each cell that goes under takes `evaporation`
    /// units beside its depth, which are then gone; where the water does not come to that, the pool stays level with the cell.
    ///
    /// Which of them it reaches is found by halves, without sorting them.
    pub(super) fn fill(&self, pool: &mut FilledPool, own: &mut [Height], evaporation: i32) -> Result<()> {
        let above = |height: Height| i128::from(height.0) - i128::from(self.bottom.0);
        let sum = |cells: &[Height]| cells.iter().map(|height| above(*height)).sum::<i128>();
        let each = i128::from(evaporation);
        let over = i128::from(pool.volume) - i128::from(self.volume) - each * i128::from(self.cells);
        // The first `reached` of the cells are under the water or at it, and add up to `filled` above the bottom.
        let (mut reached, mut filled, mut highest, mut end) = (0, 0, 0, own.len());
        while reached < end {
            let (lower, middle, _) = own[reached..end].select_nth_unstable((end - reached) / 2);
            let (count, height, more) = (lower.len(), above(*middle), sum(lower));
            let own_under = (reached + count) as i128;
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
        // Down to the highest cell that it reached: what evaporates there takes all that comes.
        let dries = cells > 0 && water.div_euclid(cells) < highest;
        let (risen, remainder) = match cells {
            0 => (0, over),
            _ if dries => (highest, 0),
            _ => (water.div_euclid(cells), water.rem_euclid(cells)),
        };
        let level = i128::from(self.bottom.0) + risen;
        if level > i128::from(Height::MAX.max(self.bottom).0) {
            let value = format!("{} units in one closed land", pool.volume);
            let allowed = format!("what its lake holds under {}", Height::MAX);
            return Err(Error::value("water", value, allowed));
        }
        pool.volume = (i128::from(self.volume) + cells * risen - filled + remainder) as i64;
        pool.level = Height(level as i32);
        pool.remainder = remainder as i64;
        pool.cells = self.cells + own[..reached].iter().filter(|height| **height < pool.level).count() as u32;
        Ok(())
    }
}
