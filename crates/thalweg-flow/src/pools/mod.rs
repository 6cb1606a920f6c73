//! [`Pools`]: standing water on changing ground.
//!
//! Between two batches of particles the ground changes and water arrives. [`Pools::update`] finds the depressions of
//! the current ground. [`Pools::settle_water`] lets all water come to rest in them: lakes rise and sink with inflow and
//! evaporation, merge and separate, and water above a lake's spill level is returned to the caller, whose particles
//! carry it on.
//!
//! Water flows through at most one lake per settling. If the overflow is settled again until none is left, the result
//! is that of [`fill_spill_merge`](crate::spill::fill_spill_merge). Amounts are in units of height × cells, and the
//! mass balance is exact: depth and held water before, plus arrivals, equal depth and held water after, plus
//! overflow, the amount that left and the amount that evaporated.

mod balance;

pub use balance::{Balance, Outlet};

use rayon::prelude::*;

use crate::depressions::{Hierarchy, OUTSIDE};
use crate::live_d8::LiveD8;
use crate::{CellRole, Directions, Land, spill, tie_break_hash};
use thalweg_core::{Cell, Error, Field, Grid, Height, Result};

/// The depressions of changing ground, kept up to date.
pub struct Pools {
    live: LiveD8,
    hierarchy: Hierarchy,
}

/// Water that arrives at a cell, or is held at one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The row-major index of the cell.
    pub cell: u32,
    /// The amount in units of height × cells, 0 or more.
    pub water: i64,
}

/// All standing water.
#[derive(Debug, Clone, PartialEq)]
pub struct Stock {
    /// The depth of the water at each cell ([`POOL`](thalweg_core::terrain::POOL)), 0 or more; a field of the land's
    /// size.
    pub depth: Field<Height>,
    /// Water that is not part of the depth: amounts too small for a whole unit over a pool's surface, and water above
    /// the spill level that has not been released. It is stored at the pool's lowest cell; sorted by cell, with one
    /// entry each.
    pub held: Vec<Arrival>,
}

/// Rules for settling water.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolRules {
    /// Evaporation from each wet cell in one settling or balance, in units of height, limited by the cell's depth; 0
    /// or more.
    pub evaporation: i32,
    /// The share of the water above a spill level that leaves in one settling, above 0 and up to 1. Smaller values
    /// make floods smoother.
    pub release: f64,
    /// Overflow leaves in whole multiples of this many units of height × cells (1 or more), at least one multiple if
    /// there is that much; smaller amounts stay held.
    pub least: i64,
}

/// The result of a settling.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// The overflow: first of full pools, in order of their depressions; then of water whose depression no longer
    /// exists.
    pub overflow: Vec<Overflow>,
    /// Water that arrived in the sea, at cells without data, or at cells that drain off the land and where no water
    /// stood, in units of height × cells.
    pub left: i64,
    /// The amount that evaporated, in units of height × cells.
    pub evaporated: i64,
    /// The pools that hold water, in order of their depressions.
    pub pools: Vec<Pool>,
}

/// Water that leaves a pool, for the caller to route on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// The row-major index of the sill.
    pub cell: u32,
    /// The index of a neighbour on the far side; the sill itself if water leaves the land there.
    pub toward: u32,
    /// The amount in units of height × cells.
    pub water: i64,
}

/// A lake or pond: water with one level surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pool {
    /// The number of the depression in [`Hierarchy::depressions`]. All its descendants are full, and it is not part
    /// of a larger pool.
    pub depression: u32,
    /// The height of the surface, never above the spill level.
    pub level: Height,
    /// The volume of water, in units of height × cells, including held water.
    pub volume: i64,
    /// The part of the volume that is not part of the depth, in units of height × cells.
    pub held: i64,
    /// The number of cells under water.
    pub cells: u32,
    /// True if the pool is at its spill level.
    pub full: bool,
    /// The row-major index of the sill; `None` on closed land where all land would be submerged first.
    pub outlet: Option<u32>,
    /// The amount that arrived in the pool in this settling, in units of height × cells.
    pub inflow: i64,
    /// The amount that the pool released in this settling, in units of height × cells.
    pub overflow: i64,
}

/// How a pool handles inflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolKind {
    /// The pool is at its spill level and passes water on.
    Open,
    /// The pool is below its spill level; it keeps inflow or loses it to evaporation.
    Closed,
    /// The pool has no spill at any level.
    Landlocked,
}

impl Pool {
    /// Returns how the pool handles inflow.
    pub fn kind(&self) -> PoolKind {
        match (self.full, self.outlet) {
            (true, _) => PoolKind::Open,
            (false, Some(_)) => PoolKind::Closed,
            (false, None) => PoolKind::Landlocked,
        }
    }

    /// Returns the area of the pool's surface in m².
    pub fn area(&self, grid: &Grid) -> f64 {
        f64::from(self.cells) * grid.cell_area()
    }
}

impl Pools {
    /// Computes the depressions of a land that [`Land::check`] accepts.
    pub fn from_land(land: &Land<'_>) -> Self {
        Self::from_live_directions(land, LiveD8::from_land(land))
    }

    fn from_live_directions(land: &Land<'_>, live: LiveD8) -> Self {
        let hierarchy = Hierarchy::from_directions(land, live.roles.clone(), live.directions.clone());
        Self { live, hierarchy }
    }

    /// Updates the depressions to new ground. The result equals that of [`Pools::from_land`] on this ground, to the
    /// bit.
    ///
    /// `changed` marks the cells whose ground may differ from that of the last call; `None` means that all may.
    /// Directions are kept everywhere else, especially on flats, which are the most expensive part. The hierarchy is
    /// always rebuilt: determining which of its labels, sills and volumes are still valid would take about as long.
    pub fn update(&mut self, land: &Land<'_>, changed: Option<&Field<bool>>) {
        match changed {
            Some(changed) => self.live.update_changed(land, changed),
            None => self.live = LiveD8::from_land(land),
        }
        // Free the old hierarchy first, so that two are not in memory at once.
        self.free_hierarchy();
        self.hierarchy = Hierarchy::from_directions(land, self.live.roles.clone(), self.live.directions.clone());
    }

    /// Frees the hierarchy, a third of the memory in use, until the next update. Use this before work that does not
    /// need it.
    pub fn free_hierarchy(&mut self) {
        self.hierarchy = Hierarchy::empty();
    }

    /// Returns the depressions of the ground of the last update.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// Returns the flow directions on the ground, which is not filled: each path ends at a [`PIT`](crate::PIT) or
    /// leaves the land.
    pub fn directions(&self) -> &Directions {
        &self.live.directions
    }

    /// Returns the level at which a depression holds `volume`, in units of height × cells, as one pool over all of
    /// its cells; at least its floor and at most its spill level. Returns [`Height::MIN`] if there is no depression
    /// of that number.
    pub fn level_at_volume(&self, land: &Land<'_>, depression: u32, volume: i64) -> Height {
        let Some(it) = self.hierarchy.depressions.get(depression as usize) else { return Height::MIN };
        let top = it.spill.map_or(Height(i32::MAX), |spill| spill.level);
        if volume >= it.volume {
            return top;
        }
        let mut cells: Vec<Height> = self.catchment_heights(land, depression).filter(|height| *height < top).collect();
        let whole = spill::Slice { bottom: it.floor, top, cells: 0, volume: 0 };
        let volume = volume.max(0);
        let mut pool = spill::FilledPool { depression, level: it.floor, volume, remainder: 0, cells: 0, full: false };
        whole.raise_pool(&mut pool, &mut cells, 0).map_or(Height::MAX, |()| pool.level)
    }

    /// Returns the volume that a depression holds up to a level (at most its spill level), in units of height ×
    /// cells; 0 if there is no depression of that number.
    pub fn volume_at_level(&self, land: &Land<'_>, depression: u32, level: Height) -> i64 {
        let spill = self.hierarchy.depressions.get(depression as usize).and_then(|depression| depression.spill);
        let level = spill.map_or(level, |spill| spill.level.min(level));
        self.catchment_heights(land, depression).map(|height| (i64::from(level.0) - i64::from(height.0)).max(0)).sum()
    }

    /// Returns the heights of the cells whose water flows down into a depression.
    fn catchment_heights<'a>(&'a self, land: &Land<'a>, depression: u32) -> impl Iterator<Item = Height> + use<'a> {
        let mut inside = vec![false; self.hierarchy.leaf_count()];
        let mut stack = vec![depression];
        while let Some(d) = stack.pop() {
            if let Some(leaf) = inside.get_mut(d as usize) {
                *leaf = true;
            }
            let children = self.hierarchy.depressions.get(d as usize).and_then(|depression| depression.children);
            stack.extend(children.into_iter().flatten());
        }
        let cells = land.ground.as_slice().iter().zip(self.hierarchy.leaf.as_slice());
        cells.filter(move |(_, leaf)| inside.get(**leaf as usize) == Some(&true)).map(|(height, _)| *height)
    }

    /// Lets all water, `stock` and `arrivals`, come to rest once, on the ground of the last update.
    ///
    /// 1. Each wet cell loses water by evaporation, as the rules specify.
    /// 2. Water flows to the pit of the cell where it is. Where a cell drains off the land or into the sea, or has no
    ///    data, arriving water has `left`. But if water stood there, because the ground gave way under it or at its
    ///    rim, all of it is released as overflow at once, at the lowest cell of each patch; a part of it smaller than
    ///    `least` has left.
    /// 3. From the leaves upward, two neighbours that are full and spill into each other become one pool and rise
    ///    together. Any other full depression releases water above its spill level, according to the rules, and holds
    ///    the rest.
    ///
    /// # Errors
    /// Returns an error if sizes differ from those of the last update, if cells are outside, if amounts are negative
    /// or exceed 2⁶³ − 1 units in total, if a rule is out of its range, or if water would rise above the valid
    /// heights. The stock is then unchanged.
    pub fn settle_water(
        &self,
        land: &Land<'_>,
        stock: &mut Stock,
        arrivals: &[Arrival],
        rules: &PoolRules,
    ) -> Result<Settled> {
        self.check_input(land, stock, arrivals, rules)?;
        let Hierarchy { depressions, .. } = &self.hierarchy;
        let mut gathered = self.gather_water(stock, arrivals, rules)?;
        let (mut overflow, lost) = self.release_patches(land, &gathered.stranded, rules);
        let mut settled = Settled {
            overflow: Vec::new(),
            left: gathered.left + lost,
            evaporated: gathered.evaporated,
            pools: Vec::new(),
        };
        let full = self.merge_full_depressions(&mut gathered.water, &mut gathered.arrived);
        let (mut pools, pool_of) = self.build_pools(&gathered.water, &full);
        spill::raise_pools(land.ground.as_slice(), &self.hierarchy, &pool_of, &mut pools, 0, &[])?;

        // Release the overflow of each pool. What the rules keep back, and the remainder of a whole level, is held at
        // the pool's lowest cell.
        stock.held.clear();
        for pool in &pools {
            let d = pool.depression as usize;
            let over = gathered.water[d] - pool.volume;
            let released = rules.compute_release(over);
            let withheld = pool.remainder + over - released;
            if withheld > 0 {
                stock.held.push(Arrival { cell: depressions[d].pit, water: withheld });
            }
            if released > 0 {
                let [cell, toward] = self.find_sill_crossing(land, d);
                settled.overflow.push(Overflow { cell, toward, water: released });
            }
            settled.pools.push(Pool {
                depression: pool.depression,
                level: pool.level,
                volume: gathered.water[d] - released,
                held: withheld,
                cells: pool.cells,
                full: pool.full,
                outlet: depressions[d].spill.map(|spill| spill.cell),
                inflow: gathered.arrived[d],
                overflow: released,
            });
        }
        stock.held.sort_unstable_by_key(|withheld| withheld.cell);
        settled.overflow.append(&mut overflow);
        self.set_depths(land, stock, &pool_of, |pool| pools[pool].level);
        Ok(settled)
    }

    /// Sets the depths: each cell is under the level of its leaf's pool, if there is one.
    fn set_depths(&self, land: &Land<'_>, stock: &mut Stock, pool_of: &[u32], level: impl Fn(usize) -> Height) {
        // A leaf without a pool gets the lowest level, which gives a depth of 0.
        let level = |pool: &u32| if *pool == OUTSIDE { Height(i32::MIN) } else { level(*pool as usize) };
        let levels: Vec<Height> = pool_of[..self.hierarchy.leaf_count()].iter().map(level).collect();
        let leaf = self.hierarchy.leaf.as_slice();
        let cells = land.ground.as_slice().par_chunks(CHUNK).zip(leaf.par_chunks(CHUNK));
        stock.depth.as_mut_slice().par_chunks_mut(CHUNK).zip(cells).for_each(|(depth, (ground, leaf))| {
            for ((depth, ground), leaf) in depth.iter_mut().zip(ground).zip(leaf) {
                let level = levels.get(*leaf as usize).map_or(i32::MIN, |level| level.0);
                *depth = Height(level.saturating_sub(ground.0).max(0));
            }
        });
    }

    /// Checks sizes, rules, cells and amounts, as described for [`Pools::settle_water`].
    fn check_input(&self, land: &Land<'_>, stock: &Stock, arrivals: &[Arrival], rules: &PoolRules) -> Result<()> {
        let [rows, cols] = self.hierarchy.leaf.size();
        for (name, [r, c]) in [("ground", land.ground.size()), ("pool", stock.depth.size())] {
            if [r, c] != [rows, cols] {
                let allowed = format!("{rows} × {cols} (the ground of the last update)");
                return Err(Error::invalid_value(name, format!("{r} × {c} cells"), allowed));
            }
        }
        if rules.evaporation < 0 {
            return Err(Error::invalid_value("evaporation (in 1/65536 m)", rules.evaporation, "0 or more"));
        }
        if !(rules.release > 0.0 && rules.release <= 1.0) {
            return Err(Error::invalid_value("release", rules.release, "more than 0, at most 1"));
        }
        if rules.least < 1 {
            return Err(Error::invalid_value("smallest overflow (in cells × 1/65536 m)", rules.least, "1 or more"));
        }
        for (name, list) in [("stored water", stock.held.as_slice()), ("arriving water", arrivals)] {
            if let Some(wrong) = list.iter().find(|arrival| arrival.cell as usize >= rows * cols) {
                let allowed = format!("0 to {}", rows * cols - 1);
                return Err(Error::invalid_value(format!("cell of the {name}"), wrong.cell, allowed));
            }
            if let Some(wrong) = list.iter().find(|arrival| arrival.water < 0) {
                let value = format!("{} at cell {}", wrong.water, wrong.cell);
                return Err(Error::invalid_value(format!("{name} (in cells × 1/65536 m)"), value, "0 or more"));
            }
        }
        Ok(())
    }

    /// Sums the water of each leaf.
    fn gather_water(&self, stock: &Stock, arrivals: &[Arrival], rules: &PoolRules) -> Result<GatheredWater> {
        let (leaf, count) = (self.hierarchy.leaf.as_slice(), self.hierarchy.depressions.len());
        let mut gathered = GatheredWater {
            water: vec![0; count],
            arrived: vec![0; count],
            stranded: Vec::new(),
            left: 0,
            evaporated: 0,
        };
        let mut total = 0i128;
        for (chunk, depths) in stock.depth.as_slice().chunks(64).enumerate() {
            // Most of the land is dry, so skip dry blocks quickly.
            if depths.iter().fold(0, |any, depth| any | depth.0) == 0 {
                continue;
            }
            // Fewer than 2³² cells of fewer than 2³¹ units each: the sum fits an i64.
            for (k, depth) in (64 * chunk..).zip(depths).filter(|(_, depth)| depth.0 != 0) {
                if depth.0 < 0 {
                    let cols = stock.depth.cols();
                    let value = format!("{} in row {}, column {}", depth.0, k / cols, k % cols);
                    return Err(Error::invalid_value("depth of a pool (in 1/65536 m)", value, "0 or more"));
                }
                let lost = depth.0.min(rules.evaporation);
                let rest = i64::from(depth.0 - lost);
                gathered.evaporated += i64::from(lost);
                total += i128::from(depth.0);
                match gathered.water.get_mut(leaf[k] as usize) {
                    Some(water) => *water += rest,
                    None if matches!(self.live.roles[k], CellRole::Sink | CellRole::Void) => gathered.left += rest,
                    None if rest > 0 => gathered.stranded.push(Arrival { cell: k as u32, water: rest }),
                    None => {}
                }
            }
        }
        total += stock.held.iter().chain(arrivals).map(|arrival| i128::from(arrival.water)).sum::<i128>();
        if total > i128::from(i64::MAX) {
            let name = "water in all pools (in cells × 1/65536 m)";
            return Err(Error::invalid_value(name, total, format!("at most {}", i64::MAX)));
        }
        // New water is counted a second time on its own, so that the report can separate inflow from stored water.
        for arrival in arrivals {
            if let Some(sum) = gathered.arrived.get_mut(leaf[arrival.cell as usize] as usize) {
                *sum += arrival.water;
            }
        }
        for arrival in stock.held.iter().chain(arrivals) {
            let stranded = &mut gathered.stranded;
            match gathered.water.get_mut(leaf[arrival.cell as usize] as usize) {
                Some(water) => *water += arrival.water,
                None => match stranded.binary_search_by_key(&arrival.cell, |stranded| stranded.cell) {
                    Ok(place) => stranded[place].water += arrival.water,
                    Err(_) => gathered.left += arrival.water,
                },
            }
        }
        Ok(gathered)
    }

    /// Sums the water of leaves up to merged depressions. Returns which depressions are full to their spill level,
    /// including all descendants.
    fn merge_full_depressions(&self, water: &mut [i64], arrived: &mut [i64]) -> Vec<bool> {
        let mut full = vec![false; water.len()];
        for (d, depression) in self.hierarchy.depressions.iter().enumerate() {
            let children = depression.children.into_iter().flatten().map(|child| child as usize);
            // Children come before their parents, so it is known here whether they are full. A leaf has no children and
            // always passes.
            if children.clone().all(|child| full[child]) {
                for child in children {
                    water[d] += water[child];
                    arrived[d] += arrived[child];
                }
                full[d] = water[d] >= depression.volume;
            }
        }
        full
    }

    /// Returns the pools, without their levels, and for each depression the pool that it is part of; [`OUTSIDE`] if
    /// none.
    fn build_pools(&self, water: &[i64], full: &[bool]) -> (Vec<spill::FilledPool>, Vec<u32>) {
        let mut pool_of = vec![OUTSIDE; water.len()];
        let mut pools = Vec::new();
        // Parents come after their children in the list, so in reverse order the largest pool is found first and its
        // descendants join it.
        for (d, depression) in self.hierarchy.depressions.iter().enumerate().rev() {
            let above = depression.parent.map_or(OUTSIDE, |parent| pool_of[parent as usize]);
            if above != OUTSIDE {
                pool_of[d] = above;
            } else if water[d] > 0 {
                pool_of[d] = pools.len() as u32;
                let (volume, level) = (water[d].min(depression.volume), depression.floor);
                let full = full[d];
                pools.push(spill::FilledPool { depression: d as u32, level, volume, remainder: 0, cells: 0, full });
            }
        }
        spill::reverse_pools(pools, pool_of)
    }

    /// Returns a depression's sill and a neighbour of it on the far side; the sill twice if water leaves the land
    /// there.
    pub fn find_sill_crossing(&self, land: &Land<'_>, d: usize) -> [u32; 2] {
        let Some(spill) = self.hierarchy.depressions[d].spill else { return [self.hierarchy.depressions[d].pit; 2] };
        let (leaf, cols) = (&self.hierarchy.leaf, land.grid.cols());
        let (cell, far) = (spill.cell as usize, spill.to.unwrap_or(OUTSIDE));
        // The neighbour must drain to the far side, so that the water does not run back.
        let toward = if leaf[cell] == far {
            // The sill itself is on the far side's slope.
            self.live.directions.next(cell)
        } else {
            let adjacent = land.neighbours(cell / cols, cell % cols).filter(|(_, Cell { row: r, col: c })| {
                leaf[(*r, *c)] == far
                    && land.ground[(*r, *c)] <= spill.level
                    && self.live.roles[(*r, *c)] != CellRole::Void
            });
            adjacent
                .map(|(_, Cell { row: r, col: c })| {
                    (land.ground[(r, c)], tie_break_hash(land.grid, r * cols + c), r * cols + c)
                })
                .min()
                .map(|(_, _, n)| n)
        };
        [cell as u32, toward.unwrap_or(cell) as u32]
    }

    /// Releases water that stands where nothing holds it, patch by patch. Returns the overflow, and the total of the
    /// amounts too small for it.
    fn release_patches(&self, land: &Land<'_>, stranded: &[Arrival], rules: &PoolRules) -> (Vec<Overflow>, i64) {
        let cols = land.grid.cols();
        let mut is_visited = vec![false; stranded.len()];
        let (mut overflow, mut left) = (Vec::new(), 0);
        for first in 0..stranded.len() {
            if std::mem::replace(&mut is_visited[first], true) {
                continue;
            }
            // Flood the patch of stranded cells, and find its lowest cell.
            let mut stack = vec![first];
            let mut lowest = (Height(i32::MAX), u64::MAX, usize::MAX);
            let mut water = 0;
            while let Some(place) = stack.pop() {
                let k = stranded[place].cell as usize;
                water += stranded[place].water;
                lowest = lowest.min((land.ground[k], tie_break_hash(land.grid, k), k));
                for (_, Cell { row: r, col: c }) in land.neighbours(k / cols, k % cols) {
                    let n = (r * cols + c) as u32;
                    // The list is sorted by cell, because the depths were scanned in that order. A mask of the whole
                    // land is not needed.
                    if let Ok(adjacent) = stranded.binary_search_by_key(&n, |stranded| stranded.cell)
                        && !std::mem::replace(&mut is_visited[adjacent], true)
                    {
                        stack.push(adjacent);
                    }
                }
            }
            let (_, _, cell) = lowest;
            // Only whole multiples of `least` can be routed on. The rest counts as water that left.
            let released = water / rules.least * rules.least;
            left += water - released;
            if released > 0 {
                let toward = self.live.directions.next(cell).unwrap_or(cell);
                overflow.push(Overflow { cell: cell as u32, toward: toward as u32, water: released });
            }
        }
        (overflow, left)
    }
}

impl PoolRules {
    /// Returns the part of the water above a spill level that leaves.
    fn compute_release(&self, over: i64) -> i64 {
        if over < self.least {
            return 0;
        }
        // The share is rounded down to whole multiples of `least`, but at least one multiple leaves.
        let share = (over as f64 * self.release) as i64;
        share.clamp(self.least, over) / self.least * self.least
    }
}

/// Number of cells that one task processes.
const CHUNK: usize = 1 << 15;

/// Water on its way to the pits.
struct GatheredWater {
    /// The water of each leaf; merged depressions have none yet.
    water: Vec<i64>,
    /// The part of the water that has just arrived.
    arrived: Vec<i64>,
    /// Water that stood on cells that drain off the land, sorted by cell.
    stranded: Vec<Arrival>,
    left: i64,
    evaporated: i64,
}
