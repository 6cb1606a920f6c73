//! Stream beds of steady fall: pits that water flows through are filled with material from the sills below them.
//!
//! Drops of a batch run side by side and leave beds rough by about the fall of a step. Real streams level such pits
//! within days. Here the bed from the pit over its sill to lower ground is replaced by the nearest heights that fall
//! all along it and hold as much solid.

use crate::model::MassBalance;
use crate::models::hydrology::ground::MaterialPlanes;
use crate::models::hydrology::rules::HydrologyRules;
use thalweg_core::{Cell, Field, Height, Terrain};
use thalweg_flow::Land;
use thalweg_flow::depressions::OUTSIDE;
use thalweg_flow::pools::Pools;

/// Maximum number of cells in one graded bed.
const MAX_CELLS: usize = 64;
/// Maximum number of sills in one graded bed.
const MAX_SILLS: usize = 6;

/// Minimum fall of a graded bed per cell, in units (about a millimetre): more than files of 32-bit floats round off.
const FALL: i32 = 64;

/// Erodibility factor below which ground is left unchanged.
const FIRM: f32 = 0.1;

/// The way a bed is evened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GradingMode {
    /// Cut and filled: the bed holds as much solid as before.
    Level,
    /// Only cut, so that no other bed is blocked. The eroded material is washed out of the land.
    Cut,
}

/// The inputs to the grading of stream beds.
pub struct Grading<'a> {
    /// Depressions of the current terrain.
    pub pools: &'a Pools,
    /// Water depth in the depressions.
    pub depth: &'a Field<Height>,
    pub ground: &'a MaterialPlanes,
    pub rules: &'a HydrologyRules,
    pub mode: GradingMode,
}

impl Grading<'_> {
    /// Grades the beds below pits that are no deeper than `HydrologyRules::grading`, hold no water, and whose cell
    /// `passes` accepts. Returns the number of beds graded. No shore is cut below its water level.
    pub fn grade_beds(&self, terrain: &mut Terrain, passes: impl Fn(usize) -> bool, budget: &mut MassBalance) -> usize {
        let hierarchy = self.pools.hierarchy();
        let mut graded = 0;
        let mut bed = Vec::new();
        // Beds are graded one after the other in a fixed order, since two beds may share cells. Only leaves have a pit
        // of their own; the depressions after them are merged ones.
        for (d, depression) in hierarchy.depressions[..hierarchy.leaf_count()].iter().enumerate() {
            let pit = depression.pit as usize;
            let Some(spill) = depression.spill else { continue };
            // Another bed graded in this call may have changed the pit.
            if terrain.ground[pit] != depression.floor
                || spill.level.0.saturating_sub(depression.floor.0) > self.rules.grading
                || self.depth[pit].0 > 0
                || !passes(pit)
            {
                continue;
            }
            bed.clear();
            let land = Land::from_terrain(terrain);
            if !collect_bed(&land, self.pools, self.depth, d as u32, &mut bed) {
                continue;
            }
            remove_loops(&mut bed);
            let heights: Vec<i32> = bed.iter().map(|k| terrain.ground[*k].0).collect();
            let even = match self.mode {
                GradingMode::Level => fit_falling_profile(&heights),
                GradingMode::Cut => lower_to_falling_profile(&heights),
            };
            // Heights outside the allowed range would be clamped, and the bed would no longer hold as much solid.
            let lowest = |height: &i32| self.rules.floor.max(Height::MIN.0).min(*height);
            let fits = |(now, then): (&i32, &i32)| (lowest(now)..=Height::MAX.0).contains(then);
            if heights.iter().zip(&even).all(fits)
                && bed.iter().zip(&even).all(|(k, height)| self.is_free(terrain, *k, *height))
            {
                for (k, height) in bed.iter().zip(even) {
                    set_height(terrain, *k, height, self.mode, budget);
                }
                graded += 1;
            }
        }
        graded
    }

    /// Returns true if a cell may be cut or filled to `height`: it is neither firm nor wet, and no neighbouring water
    /// surface is higher than that.
    fn is_free(&self, terrain: &Terrain, k: usize, height: i32) -> bool {
        let [rows, cols] = terrain.grid.size;
        let (i, j) = (k / cols, k % cols);
        let cover = terrain.loose.as_ref().map_or(0, |loose| loose[(i, j)].0);
        let cuts_rock = terrain.ground[(i, j)].0.saturating_sub(height) > cover;
        let plane = self.ground.rock.as_ref().filter(|_| cuts_rock).or(self.ground.yields.as_ref());
        let is_sea = terrain.grid.sea_level.is_some_and(|sea| terrain.ground[(i, j)] <= sea);
        // The square is 3 × 3 cells, cut off at the edges of the grid. Water next to the bed would run into it if the
        // bed were cut below the water's surface.
        let near = |x: usize, n: usize| x.saturating_sub(1)..(x + 2).min(n);
        let is_below = |r: usize, c: usize| {
            let depth = self.depth[(r, c)].0;
            depth == 0 || i64::from(terrain.ground[(r, c)].0) + i64::from(depth) <= i64::from(height)
        };
        plane.is_none_or(|plane| plane[(i, j)] >= FIRM)
            && !is_sea
            && self.depth[(i, j)].0 == 0
            && near(i, rows).all(|r| near(j, cols).all(|c| is_below(r, c)))
    }
}

/// Collects in `bed` the cells from a leaf depression's pit over its sill, and over the sills of the next depressions,
/// down to a cell that is lower than the pit, wet or outside the land. Returns true if it reaches such a cell.
fn collect_bed(land: &Land<'_>, pools: &Pools, depth: &Field<Height>, first: u32, bed: &mut Vec<usize>) -> bool {
    let (leaf, cols) = (&pools.hierarchy().leaf, land.grid.cols());
    let floor = pools.hierarchy().depressions[first as usize].floor.0;
    let mut at = first;
    for _ in 0..MAX_SILLS {
        // Up to the sill: the flow path from the sill down to the pit, reversed.
        let [sill, toward] = pools.find_sill_crossing(land, at as usize).map(|k| k as usize);
        let start = if leaf[sill] == at {
            sill
        } else {
            let adjacent =
                land.neighbours(sill / cols, sill % cols).filter(|(_, Cell { row: r, col: c })| leaf[(*r, *c)] == at);
            let lowest = adjacent.map(|(_, Cell { row: r, col: c })| (land.ground[(r, c)], r * cols + c)).min();
            let Some((_, lowest)) = lowest else { return false };
            lowest
        };
        let climb = bed.len();
        let mut down = Some(start);
        while let Some(k) = down {
            bed.push(k);
            if bed.len() > MAX_CELLS {
                return false;
            }
            down = pools.directions().next(k);
        }
        bed[climb..].reverse();
        if start != sill {
            bed.push(sill);
        }
        if toward == sill {
            return true;
        }
        // Down on the far side.
        let mut down = Some(toward);
        let mut last = toward;
        while let Some(k) = down {
            // Low enough: the bed, which falls by at least `FALL` per cell, stays above this cell.
            if land.ground[k].0 < floor - MAX_CELLS as i32 * FALL || depth[k].0 > 0 {
                return true;
            }
            last = k;
            down = pools.directions().next(k);
            if down.is_some() {
                bed.push(k);
            }
            if bed.len() > MAX_CELLS {
                return false;
            }
        }
        at = leaf[last];
        if at == OUTSIDE {
            // The path leaves the land here.
            bed.push(last);
            return true;
        }
        // The path leads back into the first depression, for example where two pits spill into each other: no bed leads
        // on.
        if at == first {
            return false;
        }
    }
    false
}

/// Removes loops: a path into a depression and out of it again may visit some cells twice. Drops the cells between two
/// visits of the same cell.
fn remove_loops(bed: &mut Vec<usize>) {
    let mut kept = 0;
    for n in 0..bed.len() {
        // A linear search suffices: a bed has at most `MAX_CELLS` cells.
        let before = bed[..kept].iter().position(|k| *k == bed[n]);
        match before {
            Some(before) => kept = before + 1,
            None => {
                bed[kept] = bed[n];
                kept += 1;
            }
        }
    }
    bed.truncate(kept);
}

/// Returns the nearest heights, by least squares, that fall by at least [`FALL`] per cell and have the same sum.
/// Neighbours that rise are pooled (pool adjacent violators; Ayer et al. 1955, doi:10.1214/aoms/1177728423).
fn fit_falling_profile(heights: &[i32]) -> Vec<i32> {
    // Sum and count of each pool, over heights to which n·FALL is added: these need only not rise.
    let mut levels: Vec<(i64, i64)> = Vec::new();
    for (n, height) in (0..).zip(heights) {
        levels.push((i64::from(*height) + n * i64::from(FALL), 1));
        while let [.., (a, m), (b, k)] = *levels.as_slice()
            && b * m > a * k
        {
            levels.truncate(levels.len() - 2);
            levels.push((a + b, m + k));
        }
    }
    let mut out = Vec::with_capacity(heights.len());
    for (sum, count) in levels {
        // The mean of a pool is rarely whole. Its first cells get one unit more each, so that the sum is kept to the
        // unit and the bed still falls.
        let (each, more) = (sum.div_euclid(count), sum.rem_euclid(count));
        for n in 0..count {
            let fallen = out.len() as i64 * i64::from(FALL);
            out.push((each + i64::from(n < more) - fallen) as i32);
        }
    }
    out
}

/// Returns the heights cut down as far as needed to fall by at least [`FALL`] per cell.
fn lower_to_falling_profile(heights: &[i32]) -> Vec<i32> {
    let mut last = i32::MAX;
    let lower = |height: &i32| {
        last = (*height).min(last.saturating_sub(FALL));
        last
    };
    heights.iter().map(lower).collect()
}

/// Cuts or fills a cell to `height`, and records the change in the mass balance.
fn set_height(terrain: &mut Terrain, k: usize, height: i32, mode: GradingMode, budget: &mut MassBalance) {
    let ground = &mut terrain.ground[k];
    let more = height - ground.0;
    ground.0 = height;
    if let Some(loose) = &mut terrain.loose {
        let loose = &mut loose[k];
        loose.0 = loose.0.saturating_add(more).max(0);
    }
    budget.deposited += i128::from(more.max(0));
    budget.eroded += i128::from((-more).max(0));
    if mode == GradingMode::Cut {
        budget.exported += i128::from((-more).max(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn a_way_passes_each_cell_once() {
        let mut bed = vec![1, 2, 3, 4, 3, 5, 6, 1, 7];
        remove_loops(&mut bed);
        assert_eq!(bed, [1, 7]);
        let mut bed = vec![1, 2, 3, 4, 3, 5, 6];
        remove_loops(&mut bed);
        assert_eq!(bed, [1, 2, 3, 5, 6]);
    }

    #[test]
    fn beds_fall_and_hold_as_much() {
        assert_eq!(fit_falling_profile(&[1000, 3000, 500]), [2032, 1968, 500]);
        assert_eq!(fit_falling_profile(&[300, 200, 100]), [300, 200, 100]);
        assert_eq!(fit_falling_profile(&[0, 0, 0]), [64, 0, -64]);
        assert_eq!(lower_to_falling_profile(&[1000, 3000, 990, 100]), [1000, 936, 872, 100]);
        assert_eq!(fit_falling_profile(&[7]), [7]);
        for case in 0..200 {
            let key = RandomKey::new(case, "bed");
            let count = 1 + key.random_bits() % 40;
            let heights: Vec<i32> =
                (0..count).map(|n| (key.derive_key(n).random_bits() % 9000) as i32 - 4500).collect();
            let bed = fit_falling_profile(&heights);
            assert!(bed.windows(2).all(|pair| pair[0] - pair[1] >= FALL), "{heights:?}: {bed:?}");
            let sum = |list: &[i32]| list.iter().map(|z| i64::from(*z)).sum::<i64>();
            assert_eq!(sum(&bed), sum(&heights));
        }
    }
}
