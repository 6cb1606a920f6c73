//! Tests of depressions and the water in them, against cases computed by hand and a simulation that moves one unit at
//! a time.

use crate::support::with_threads;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, Edge, Field, Grid, Height};
use thalweg_flow::depressions::{Hierarchy, OUTSIDE};
use thalweg_flow::spill::{FilledPool, StandingWater, fill_spill_merge};
use thalweg_flow::{CellRole, Directions, Land, OUT, PIT, d8, fill, find_receiver};

/// The parts of a land.
struct Ground {
    grid: Grid,
    ground: Field<Height>,
    nodata: Option<Field<bool>>,
    outlets: Vec<Cell>,
}

impl Ground {
    /// Builds a row of cells that is open at its ends only.
    fn row(heights: &[i32], west: Edge, east: Edge) -> Self {
        let mut grid = Grid::new([1, heights.len()], 10.0).unwrap();
        grid.edges = [Edge::Closed, east, Edge::Closed, west];
        let ground = Field::from_vec(grid.size, heights.iter().map(|h| Height(*h)).collect()).unwrap();
        Self { grid, ground, nodata: None, outlets: Vec::new() }
    }

    /// Builds small random ground with `levels` heights, hence with flats and equal sills if these are few. Some cases
    /// have closed edges, cells without data, sea, or outlets.
    fn random(key: RandomKey, levels: u64) -> Self {
        let draw = |what: u64, below: u64| key.derive_key(what).random_bits() % below;
        let mut grid = Grid::new([1 + draw(1, 7) as usize, 1 + draw(2, 8) as usize], 10.0).unwrap();
        let closed = draw(3, 16);
        grid.edges = std::array::from_fn(|k| if closed >> k & 1 == 1 { Edge::Closed } else { Edge::Open });
        if draw(4, 4) == 0 {
            grid.edges = [Edge::Closed; 4];
        }
        grid.sea_level = (draw(5, 4) == 0).then_some(Height(1));
        let at =
            |purpose: u64, i: usize, j: usize| key.derive_key(purpose).for_cell([i as i64, j as i64]).random_bits();
        let ground = Field::from_fn(grid.size, |i, j| Height((at(6, i, j) % levels) as i32));
        let nodata = (draw(7, 3) == 0).then(|| Field::from_fn(grid.size, |i, j| at(8, i, j) % 8 == 0));
        let outlet = [draw(9, grid.rows() as u64) as usize, draw(10, grid.cols() as u64) as usize];
        let is_void = nodata.as_ref().is_some_and(|mask| mask[(outlet[0], outlet[1])]);
        let outlets = if draw(11, 4) == 0 && !is_void { vec![Cell::from(outlet)] } else { Vec::new() };
        Self { grid, ground, nodata, outlets }
    }

    fn land(&self) -> Land<'_> {
        Land { grid: &self.grid, ground: &self.ground, nodata: self.nodata.as_ref(), outlets: &self.outlets }
    }

    /// Returns true if no water can leave.
    fn is_closed(&self) -> bool {
        let heights = self.ground.as_slice();
        self.grid.edges == [Edge::Closed; 4]
            && self.outlets.is_empty()
            && self.nodata.as_ref().is_none_or(|mask| !mask.as_slice().contains(&true))
            && self.grid.sea_level.is_none_or(|sea| heights.iter().all(|h| *h > sea))
    }
}

/// Pours water on one cell of a row.
fn pour(ground: &Ground, cell: usize, amount: i64) -> (Hierarchy, StandingWater) {
    let hierarchy = Hierarchy::from_land(&ground.land());
    let mut water = Field::new(ground.grid.size, 0);
    water.as_mut_slice()[cell] = amount;
    let standing = fill_spill_merge(&ground.land(), &hierarchy, &water).unwrap();
    (hierarchy, standing)
}

fn depths(standing: &StandingWater) -> Vec<i32> {
    standing.depth.as_slice().iter().map(|depth| depth.0).collect()
}

#[test]
fn two_bowls_spill_over_their_sill_and_then_the_lowest_rim() {
    let ground = Ground::row(&[4, 1, 3, 0, 6], Edge::Open, Edge::Open);
    let (hierarchy, standing) = pour(&ground, 3, 2);
    assert_eq!(hierarchy.leaf.as_slice(), [0, 0, 1, 1, 1]);
    let spills: Vec<_> = hierarchy.depressions.iter().map(|d| d.spill.unwrap()).collect();
    assert_eq!(
        spills.iter().map(|s| (s.cell, s.level.0, s.to)).collect::<Vec<_>>(),
        [(2, 3, Some(1)), (2, 3, Some(0)), (0, 4, None)]
    );
    // Below 3: one cell 1 deep, one 0 deep. Below 4: those and the sill.
    assert_eq!(hierarchy.depressions.iter().map(|d| (d.cells, d.volume)).collect::<Vec<_>>(), [(1, 2), (1, 3), (3, 8)]);
    assert_eq!(hierarchy.depressions[2].children, Some([1, 0]));
    assert_eq!((hierarchy.depressions[2].pit, hierarchy.leaf_count()), (3, 2));
    assert_eq!(depths(&standing), [0, 0, 0, 2, 0]);

    assert_eq!(depths(&pour(&ground, 3, 4).1), [0, 1, 0, 3, 0]);
    let (_, both) = pour(&ground, 3, 6);
    assert_eq!(depths(&both), [0, 2, 0, 3, 0]);
    let merged = FilledPool { depression: 2, level: Height(3), volume: 6, remainder: 1, cells: 2, full: false };
    assert_eq!(both.pools, [merged]);
    let (_, over) = pour(&ground, 1, 100);
    assert_eq!((depths(&over), over.left), (vec![0, 3, 1, 4, 0], 92));
    let full = FilledPool { depression: 2, level: Height(4), volume: 8, remainder: 0, cells: 3, full: true };
    assert_eq!(over.pools, [full]);
}

#[test]
fn three_lakes_hand_on_what_they_cannot_hold() {
    let ground = Ground::row(&[9, 5, 8, 3, 6, 1, 4], Edge::Closed, Edge::Open);
    let (hierarchy, standing) = pour(&ground, 1, 20);
    assert_eq!(hierarchy.depressions.iter().map(|d| d.spill.unwrap().to).collect::<Vec<_>>(), [Some(1), Some(2), None]);
    assert_eq!((depths(&standing), standing.left), (vec![0, 3, 0, 3, 0, 3, 0], 11));
    assert_eq!(depths(&pour(&ground, 1, 7).1), [0, 3, 0, 3, 0, 1, 0]);
    assert_eq!(depths(&pour(&ground, 5, 7).1), [0, 0, 0, 0, 0, 3, 0]);
}

#[test]
fn a_closed_land_fills_without_end() {
    let ground = Ground::row(&[7, 1, 3, 0, 6], Edge::Closed, Edge::Closed);
    let (hierarchy, standing) = pour(&ground, 0, 8 + 4 * 2 + 5 * 10 + 3);
    let root = hierarchy.depressions.last().unwrap();
    assert_eq!((root.spill, root.cells, root.volume), (None, 5, i64::MAX));
    // It takes 5 units to reach 3, another 9 to reach 6, and another 4 to reach 7; the other 51 of 69 raise five cells
    // by 10 and leave 1.
    assert_eq!(depths(&standing), [10, 16, 14, 17, 11]);
    assert_eq!(standing.pools[0].remainder, 1);
    let water = Field::new(ground.grid.size, i64::MAX / 8);
    let error = fill_spill_merge(&ground.land(), &hierarchy, &water).unwrap_err().to_string();
    assert!(error.contains("16000"), "{error}");
}

#[test]
fn bad_water_is_refused() {
    let ground = Ground::row(&[4, 1, 3], Edge::Open, Edge::Open);
    let hierarchy = Hierarchy::from_land(&ground.land());
    let refused = |size, amount| fill_spill_merge(&ground.land(), &hierarchy, &Field::new(size, amount)).is_err();
    assert!(refused([1, 3], -1) && refused([1, 3], i64::MAX / 2) && refused([3, 1], 1));
}

/// The path of rising water from one leaf's basin to another: the sill, the cell next to it, and the two leaves.
type Way = ((Height, u64), (bool, Height, u64), [Option<usize>; 2]);

/// The simulation: lakes are lists of leaves and are filled one unit at a time. A leaf is named by the first cell of
/// its pit.
struct Slow<'a> {
    land: Land<'a>,
    leaf: Vec<Option<usize>>,
    ways: Vec<Way>,
    /// The leaves and the water of each lake.
    lakes: Vec<(Vec<usize>, i64)>,
    left: i64,
}

impl<'a> Slow<'a> {
    fn new(ground: &'a Ground) -> Self {
        let land = ground.land();
        let (parts, mut directions) = (land.cell_roles(), d8::route_d8(&land));
        let mut sinks = vec![];
        if ground.is_closed() {
            sinks = (0..directions.len()).filter(|k| parts.as_slice()[*k] == CellRole::Sink).collect();
            sinks.iter().for_each(|k| directions.as_mut_slice()[*k] = PIT);
        }
        let leaf: Vec<_> = (0..directions.len()).map(|k| end(&land, &directions, k)).collect();
        let cols = land.grid.cols();
        let lot = |k: usize| RandomKey::ZERO.for_cell(land.grid.world_cell(k / cols, k % cols)).random_bits();
        let mut ways = Vec::new();
        for k in (0..leaf.len()).filter(|k| parts.as_slice()[*k] != CellRole::Void) {
            let sill = (land.ground.as_slice()[k], lot(k));
            if parts.as_slice()[k] == CellRole::Rim {
                ways.push((sill, (true, Height::ZERO, 0), [leaf[k], None]));
            }
            for (_, Cell { row: r, col: c }) in land.neighbours(k / cols, k % cols) {
                let n = r * cols + c;
                if parts[(r, c)] != CellRole::Void && land.ground[(r, c)] <= sill.0 {
                    ways.push((sill, (false, land.ground[(r, c)], lot(n)), [leaf[k], leaf[n]]));
                }
            }
        }
        ways.sort_unstable();
        let mut leaves: Vec<usize> = leaf.iter().flatten().copied().collect();
        leaves.sort_unstable();
        leaves.dedup();
        Self { land, leaf, ways, lakes: leaves.into_iter().map(|leaf| (vec![leaf], 0)).collect(), left: 0 }
    }

    fn lake(&self, leaf: usize) -> usize {
        self.lakes.iter().position(|(leaves, _)| leaves.contains(&leaf)).unwrap()
    }

    fn held(&self, leaves: &[usize], level: i32) -> i64 {
        let inside = |k: &usize| self.leaf[*k].is_some_and(|leaf| leaves.contains(&leaf));
        let depth = |k: usize| i64::from((level - self.land.ground.as_slice()[k].0).max(0));
        (0..self.leaf.len()).filter(inside).map(depth).sum()
    }

    /// Returns the first outlet of a lake that rising water reaches: its number, and the leaf on the other side.
    fn exit(&self, leaves: &[usize]) -> Option<(usize, Option<usize>)> {
        let inside = |leaf: Option<usize>| leaf.is_some_and(|leaf| leaves.contains(&leaf));
        let way = self.ways.iter().position(|(_, _, [a, b])| inside(*a) != inside(*b))?;
        let (_, _, [a, b]) = self.ways[way];
        Some((way, if inside(a) { b } else { a }))
    }

    fn is_full(&self, lake: usize) -> bool {
        let (leaves, water) = &self.lakes[lake];
        self.exit(leaves).is_some_and(|(way, _)| *water == self.held(leaves, self.ways[way].0.0.0))
    }

    fn pour(&mut self, cell: usize) {
        let mut to = self.leaf[cell];
        while let Some(leaf) = to {
            let lake = self.lake(leaf);
            if !self.is_full(lake) {
                self.lakes[lake].1 += 1;
                return;
            }
            let (way, beyond) = self.exit(&self.lakes[lake].0).unwrap();
            to = beyond;
            if let Some(other) = beyond.map(|leaf| self.lake(leaf))
                && self.is_full(other)
                && self.exit(&self.lakes[other].0).unwrap().0 == way
            {
                let (leaves, water) = self.lakes[other].clone();
                self.lakes[lake].0.extend(leaves);
                self.lakes[lake].1 += water;
                self.lakes.remove(other);
            }
        }
        self.left += 1;
    }

    fn depths(&self) -> Vec<i32> {
        let mut depths = vec![0; self.leaf.len()];
        for (leaves, water) in &self.lakes {
            let mut level = 0;
            while self.held(leaves, level + 1) <= *water {
                level += 1;
            }
            for k in 0..depths.len() {
                if self.leaf[k].is_some_and(|leaf| leaves.contains(&leaf)) {
                    depths[k] = (level - self.land.ground.as_slice()[k].0).max(0);
                }
            }
        }
        depths
    }
}

/// Returns the first cell of the pit in which a cell's water ends, or `None` if the water leaves.
fn end(land: &Land<'_>, directions: &Directions, mut k: usize) -> Option<usize> {
    let cols = directions.cols();
    while let Some(n) = find_receiver(k, directions.as_slice()[k], cols) {
        k = n;
    }
    let mut pit = vec![k];
    let mut seen = 0;
    while seen < pit.len() {
        for (_, Cell { row: r, col: c }) in land.neighbours(pit[seen] / cols, pit[seen] % cols) {
            if directions[(r, c)] == PIT && !pit.contains(&(r * cols + c)) {
                pit.push(r * cols + c);
            }
        }
        seen += 1;
    }
    (directions.as_slice()[k] == PIT).then(|| pit.into_iter().min().unwrap())
}

#[test]
fn pouring_equals_the_simulation() {
    let (mut merged, mut closed, mut partly) = (0, 0, 0);
    for case in 0..3000 {
        let key = RandomKey::new(case, "spill");
        let ground = Ground::random(key, [3, 5, 9, 30][case as usize % 4]);
        let most = 1 + key.derive_key(20).random_bits() % 30;
        let water = Field::from_fn(ground.grid.size, |i, j| {
            let bits = key.derive_key(21).for_cell([i as i64, j as i64]).random_bits();
            if bits.is_multiple_of(3) { ((bits >> 8) % most) as i64 } else { 0 }
        });
        let hierarchy = Hierarchy::from_land(&ground.land());
        let standing = fill_spill_merge(&ground.land(), &hierarchy, &water).unwrap();

        let mut slow = Slow::new(&ground);
        let mut order: Vec<usize> = (0..water.len()).collect();
        order.sort_by_key(|k| key.derive_key(22).derive_key(*k as u64).random_bits());
        for k in order {
            (0..water.as_slice()[k]).for_each(|_| slow.pour(k));
        }
        assert_eq!(depths(&standing), slow.depths(), "case {case}");
        assert_eq!(standing.left, slow.left, "case {case}");
        let stored: i64 = standing.pools.iter().map(|pool| pool.volume).sum();
        assert_eq!(stored + standing.left, water.as_slice().iter().sum::<i64>(), "case {case}");
        let remainders: i64 = standing.pools.iter().map(|pool| pool.remainder).sum();
        let depth: i64 = depths(&standing).iter().map(|depth| i64::from(*depth)).sum();
        assert_eq!(depth + remainders, stored, "case {case}");
        let wet = depths(&standing).iter().filter(|depth| **depth > 0).count();
        assert_eq!(standing.pools.iter().map(|pool| pool.cells as usize).sum::<usize>(), wet, "case {case}");
        let top = |d: u32| hierarchy.depressions[d as usize].children.is_some();
        merged += standing.pools.iter().filter(|pool| top(pool.depression)).count();
        partly += standing.pools.iter().filter(|pool| !pool.full && pool.remainder > 0).count();
        closed += usize::from(ground.is_closed());
    }
    assert!(merged > 300 && closed > 200 && partly > 300, "{merged} merged, {closed} closed, {partly} part full");
}

#[test]
fn enough_water_fills_all_depressions() {
    for case in 0..800 {
        let ground = Ground::random(RandomKey::new(case, "flood"), [2, 4, 1000][case as usize % 3]);
        if ground.is_closed() {
            continue;
        }
        let land = ground.land();
        let water = Field::new(ground.grid.size, 1_000_000);
        let standing = fill_spill_merge(&land, &Hierarchy::from_land(&land), &water).unwrap();
        let surface = Field::from_fn(ground.grid.size, |i, j| Height(land.ground[(i, j)].0 + standing.depth[(i, j)].0));
        assert_eq!(surface, fill::fill_depressions(&land), "case {case}");
        assert!(standing.pools.iter().all(|pool| pool.full && pool.remainder == 0), "case {case}");
    }
}

#[test]
fn depressions_are_what_their_spills_enclose() {
    for case in 0..800 {
        let ground = Ground::random(RandomKey::new(case, "hierarchy"), [3, 6, 1000][case as usize % 3]);
        let hierarchy = Hierarchy::from_land(&ground.land());
        let slow = Slow::new(&ground);
        let mut below: Vec<Vec<usize>> = Vec::new();
        for (d, depression) in hierarchy.depressions.iter().enumerate() {
            let leaves = match depression.children {
                Some(children) => children.into_iter().flat_map(|child| below[child as usize].clone()).collect(),
                None => vec![slow.leaf[depression.pit as usize].unwrap()],
            };
            assert_eq!(ground.ground.as_slice()[depression.pit as usize], depression.floor);
            assert!(depression.parent.is_none_or(|parent| parent as usize > d));
            let exit = slow.exit(&leaves);
            assert_eq!(
                depression.spill.map(|spill| spill.level),
                exit.map(|(way, _)| slow.ways[way].0.0),
                "case {case}"
            );
            if let Some(spill) = depression.spill {
                assert_eq!(depression.volume, slow.held(&leaves, spill.level.0), "case {case}");
                let to = spill.to.map(|leaf| slow.leaf[hierarchy.depressions[leaf as usize].pit as usize].unwrap());
                assert_eq!(to, exit.unwrap().1, "case {case}");
            }
            below.push(leaves);
        }
        for (leaf, slow) in hierarchy.leaf.as_slice().iter().zip(&slow.leaf) {
            assert_eq!(*leaf == OUTSIDE, slow.is_none());
        }
    }
}

#[test]
fn a_sum_of_many_depressions_is_the_same_on_any_number_of_threads() {
    let grid = Grid::new([90, 110], 10.0).unwrap();
    let key = RandomKey::new(5, "threads");
    let ground =
        Field::from_fn(grid.size, |i, j| Height((key.for_cell([i as i64, j as i64]).random_bits() % 40) as i32));
    let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
    let water = Field::new(grid.size, 7);
    let run = |threads: usize| {
        with_threads(threads, || {
            let hierarchy = Hierarchy::from_land(&land);
            let standing = fill_spill_merge(&land, &hierarchy, &water).unwrap();
            (hierarchy, standing)
        })
    };
    let one = run(1);
    assert!(one.0.leaf_count() > 500 && one.1.pools.len() > 100);
    assert!(one == run(2) && one == run(7));
}

#[test]
fn the_least_and_the_strangest_lands_pass() {
    let empty = Ground { nodata: Some(Field::new([1, 3], true)), ..Ground::row(&[1, 0, 1], Edge::Open, Edge::Open) };
    for ground in [
        empty,
        Ground::row(&[5], Edge::Closed, Edge::Closed),
        Ground::row(&[5], Edge::Open, Edge::Open),
        Ground::row(&[0; 9], Edge::Closed, Edge::Closed),
        Ground::row(&[Height::MAX.0, Height::MIN.0, Height::MAX.0], Edge::Open, Edge::Open),
    ] {
        let hierarchy = Hierarchy::from_land(&ground.land());
        let water = Field::new(ground.grid.size, 10);
        let standing = fill_spill_merge(&ground.land(), &hierarchy, &water).unwrap();
        let stored: i64 = standing.pools.iter().map(|pool| pool.volume).sum();
        assert_eq!(stored + standing.left, 10 * water.len() as i64);
    }
    // A cell that drains out of the land is not a leaf.
    let flat = Ground::row(&[3, 3], Edge::Open, Edge::Open);
    assert!(d8::route_d8(&flat.land()).as_slice().contains(&OUT));
    assert!(Hierarchy::from_land(&flat.land()).depressions.is_empty());
}
