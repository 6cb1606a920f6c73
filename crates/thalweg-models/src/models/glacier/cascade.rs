//! A visit to cells in their order, each after those that pass on to it, by many threads at once.

use std::sync::atomic::{AtomicU8, Ordering};

use rayon::prelude::*;

use crate::models::glacier::land::Land;

/// Rows whose first cells one task begins with.
const BAND: usize = 8;

/// How many of a cell's neighbours have still to be visited before it.
pub struct Cascade {
    waits: Vec<AtomicU8>,
    /// Cells that wait for none, band by band.
    first: Vec<Vec<u32>>,
}

impl Cascade {
    pub fn new(cells: usize) -> Self {
        Self { waits: (0..cells).map(|_| AtomicU8::new(0)).collect(), first: Vec::new() }
    }

    /// Calls `visit` once for each cell of which `is_in` says so, after it has returned for all neighbours that come before it;
    /// the sum of what it counted, band by band. `precedes` says whether a cell comes before the one beyond its side (west, east,
    /// north, south), both of them in; no cell may come before itself by any way.
    ///
    /// The cell that a visit leaves without any to wait for is visited by the same thread. What a visit adds to later cells
    /// in whole numbers is the same whichever comes first, so threads do not show.
    pub fn run<T: Send + Default>(
        &mut self,
        land: Land<'_>,
        is_in: impl Fn(usize) -> bool + Sync,
        precedes: impl Fn(usize, usize, usize) -> bool + Sync,
        visit: impl Fn(usize, &mut T) + Sync,
    ) -> Vec<T> {
        let cells = BAND * land.grid.cols();
        self.first.resize_with(self.waits.len().div_ceil(cells), Vec::new);
        self.waits.par_chunks_mut(cells).zip(&mut self.first).enumerate().for_each(|(band, (waits, first))| {
            first.clear();
            for (k, waits) in (band * cells..).zip(waits) {
                if !is_in(k) {
                    continue;
                }
                let around = land.around(k);
                // Both are asked at once: neither can be foreseen.
                let comes =
                    |side: usize| u8::from(around[side].is_some_and(|from| is_in(from) & precedes(from, side ^ 1, k)));
                let count = comes(0) + comes(1) + comes(2) + comes(3);
                *waits.get_mut() = count;
                if count == 0 {
                    first.push(k as u32);
                }
            }
        });
        let (waits, first) = (&self.waits, &self.first);
        let follow = |first: &Vec<u32>| {
            let (mut counts, mut ready) = (T::default(), Vec::new());
            for k in first {
                ready.push(*k);
                while let Some(k) = ready.pop() {
                    let k = k as usize;
                    visit(k, &mut counts);
                    for (side, to) in land.around(k).into_iter().enumerate() {
                        let Some(to) = to.filter(|to| is_in(*to) && precedes(k, side, *to)) else { continue };
                        // Who takes the last away has seen all that the others did before they took theirs.
                        if waits[to].fetch_sub(1, Ordering::AcqRel) == 1 {
                            ready.push(to as u32);
                        }
                    }
                }
            }
            counts
        };
        first.par_iter().map(follow).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use thalweg_core::base::rng::Key;
    use thalweg_core::{Field, Grid, Height};

    #[test]
    fn each_cell_is_visited_once_after_all_that_come_before_it() {
        let grid = Grid::new([37, 29], 1.0).unwrap();
        let ground = Field::new(grid.size, Height::ZERO);
        let land = Land { grid: &grid, ground: &ground, nodata: None };
        let key = Key::new(3, "cascade");
        // Levels of which many are equal; every seventh cell is out.
        let level: Vec<u64> = (0..grid.len()).map(|k| (9.0 * key.cell([k as i64, 0]).unit()) as u64).collect();
        let is_in = |k: usize| k % 7 != 3;
        let before = |a: usize, b: usize| level[a] > level[b] || (level[a] == level[b] && a < b);
        let mut cascade = Cascade::new(grid.len());
        for threads in [1, 3] {
            let clock = AtomicU64::new(1);
            let at: Vec<AtomicU64> = (0..grid.len()).map(|_| AtomicU64::new(0)).collect();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let visit = |k: usize, count: &mut u32| {
                *count += 1;
                assert_eq!(at[k].swap(clock.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst), 0, "{k} twice");
            };
            let counts = pool.install(|| cascade.run(land, is_in, |a, _, b| before(a, b), visit));
            let when = |k: usize| at[k].load(Ordering::SeqCst);
            assert_eq!(counts.iter().sum::<u32>() as usize, (0..grid.len()).filter(|k| is_in(*k)).count());
            for k in (0..grid.len()).filter(|k| is_in(*k)) {
                for n in land.around(k).into_iter().flatten().filter(|n| is_in(*n)) {
                    assert_eq!(when(k) < when(n), before(k, n), "{k} and {n}");
                }
            }
        }
    }
}
