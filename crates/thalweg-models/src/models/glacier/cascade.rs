//! A parallel traversal of cells in topological order: each cell after the neighbours that pass something on to it.

use std::sync::atomic::{AtomicU8, Ordering};

use rayon::prelude::*;

use crate::models::glacier::land::IceBed;

/// Number of rows whose starting cells form one task.
const BAND: usize = 8;

/// The state of a traversal: for each cell, the number of neighbours that must be visited before it.
pub struct TopologicalTraversal {
    waits: Vec<AtomicU8>,
    /// Cells that wait for none, by band of rows.
    first: Vec<Vec<u32>>,
}

impl TopologicalTraversal {
    pub fn new(cells: usize) -> Self {
        Self { waits: (0..cells).map(|_| AtomicU8::new(0)).collect(), first: Vec::new() }
    }

    /// Calls `visit` once for each cell for which `is_in` is true, after it has returned for all neighbours that
    /// precede the cell. Returns the counts of each band. `precedes(cell, side, neighbour)` returns true if a cell
    /// precedes the one beyond its side (west, east, north, south), for two cells that are both in; the relation must
    /// have no cycles.
    ///
    /// A cell whose last predecessor has been visited is visited by the same thread. Visits may add whole numbers to
    /// later cells: the sum does not depend on the order, so the result does not depend on the number of threads.
    pub fn visit_in_order<T: Send + Default>(
        &mut self,
        land: IceBed<'_>,
        is_in: impl Fn(usize) -> bool + Sync,
        precedes: impl Fn(usize, usize, usize) -> bool + Sync,
        visit: impl Fn(usize, &mut T) + Sync,
    ) -> Vec<T> {
        // First, each cell counts the neighbours that precede it; cells without any start the traversal.
        let cells = BAND * land.grid.cols();
        self.first.resize_with(self.waits.len().div_ceil(cells), Vec::new);
        self.waits.par_chunks_mut(cells).zip(&mut self.first).enumerate().for_each(|(band, (waits, first))| {
            first.clear();
            for (k, waits) in (band * cells..).zip(waits) {
                if !is_in(k) {
                    continue;
                }
                let around = land.side_neighbours(k);
                // Both conditions are always evaluated (`&`): neither branch could be predicted.
                let comes =
                    // Sides are ordered west, east, north, south, so `side ^ 1` is the opposite side, as the neighbour
                    // sees this cell.
                    |side: usize| u8::from(around[side].is_some_and(|from| is_in(from) & precedes(from, side ^ 1, k)));
                let count = comes(0) + comes(1) + comes(2) + comes(3);
                *waits.get_mut() = count;
                if count == 0 {
                    first.push(k as u32);
                }
            }
        });
        // Then each band follows its starting cells. The stack keeps a chain of cells on one thread and in its cache.
        let (waits, first) = (&self.waits, &self.first);
        let follow = |first: &Vec<u32>| {
            let (mut counts, mut ready) = (T::default(), Vec::new());
            for k in first {
                ready.push(*k);
                while let Some(k) = ready.pop() {
                    let k = k as usize;
                    visit(k, &mut counts);
                    for (side, to) in land.side_neighbours(k).into_iter().enumerate() {
                        let Some(to) = to.filter(|to| is_in(*to) && precedes(k, side, *to)) else { continue };
                        // The thread that decrements the counter to zero sees (acquire/release) all that the others
                        // wrote before they decremented it.
                        if waits[to].fetch_sub(1, Ordering::AcqRel) == 1 {
                            ready.push(to as u32);
                        }
                    }
                }
            }
            counts
        };
        // Counts are collected per band, in the order of bands. Which band counts a cell depends on the threads, so
        // only sums of whole numbers over all bands are the same in every run.
        first.par_iter().map(follow).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::{Field, Grid, Height};

    #[test]
    fn each_cell_is_visited_once_after_all_that_come_before_it() {
        let grid = Grid::new([37, 29], 1.0).unwrap();
        let ground = Field::new(grid.size, Height::ZERO);
        let land = IceBed { grid: &grid, ground: &ground, nodata: None };
        let key = RandomKey::new(3, "cascade");
        // Levels of which many are equal; every seventh cell is left out.
        let level: Vec<u64> =
            (0..grid.len()).map(|k| (9.0 * key.for_cell([k as i64, 0]).uniform_unit()) as u64).collect();
        let is_in = |k: usize| k % 7 != 3;
        let before = |a: usize, b: usize| level[a] > level[b] || (level[a] == level[b] && a < b);
        let mut cascade = TopologicalTraversal::new(grid.len());
        for threads in [1, 3] {
            let clock = AtomicU64::new(1);
            let at: Vec<AtomicU64> = (0..grid.len()).map(|_| AtomicU64::new(0)).collect();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let visit = |k: usize, count: &mut u32| {
                *count += 1;
                assert_eq!(at[k].swap(clock.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst), 0, "{k} twice");
            };
            let counts = pool.install(|| cascade.visit_in_order(land, is_in, |a, _, b| before(a, b), visit));
            let when = |k: usize| at[k].load(Ordering::SeqCst);
            assert_eq!(counts.iter().sum::<u32>() as usize, (0..grid.len()).filter(|k| is_in(*k)).count());
            for k in (0..grid.len()).filter(|k| is_in(*k)) {
                for n in land.side_neighbours(k).into_iter().flatten().filter(|n| is_in(*n)) {
                    assert_eq!(when(k) < when(n), before(k, n), "{k} and {n}");
                }
            }
        }
    }
}
