//! Tests of dynamic pools, against volumes that are counted cell by cell, against water that is poured at once, and
//! against rebuilding.

use crate::support::with_threads;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, Edge, Field, Grid, Height};
use thalweg_flow::depressions::OUTSIDE;
use thalweg_flow::pools::{Arrival, Overflow, PoolKind, PoolRules, Pools, Settled, Stock};
use thalweg_flow::spill::fill_spill_merge;
use thalweg_flow::{CellRole, Land, d8};

/// The data of a test terrain.
#[derive(Clone)]
struct Ground {
    grid: Grid,
    ground: Field<Height>,
    nodata: Option<Field<bool>>,
    outlets: Vec<Cell>,
}

impl Ground {
    fn new(size: [usize; 2], height: impl Fn(usize, usize) -> i32 + Sync) -> Self {
        let ground = Field::from_fn(size, |i, j| Height(height(i, j)));
        Self { grid: Grid::new(size, 10.0).unwrap(), ground, nodata: None, outlets: Vec::new() }
    }

    /// A row of cells that is open only at its ends.
    fn row(heights: &[i32], west: Edge, east: Edge) -> Self {
        let mut row = Self::new([1, heights.len()], |_, j| heights[j]);
        row.grid.edges = [Edge::Closed, east, Edge::Closed, west];
        row
    }

    /// A random terrain with `levels` different heights, so that few of them give flats and equal sills; some have
    /// closed edges, cells without data, a sea or an outlet.
    fn random(key: RandomKey, most: [usize; 2], levels: u64) -> Self {
        let draw = |what: u64, below: u64| key.derive_key(what).random_bits() % below;
        let size = [1 + draw(1, most[0] as u64) as usize, 1 + draw(2, most[1] as u64) as usize];
        let at =
            |purpose: u64, i: usize, j: usize| key.derive_key(purpose).for_cell([i as i64, j as i64]).random_bits();
        let mut it = Self::new(size, |i, j| (at(6, i, j) % levels) as i32);
        let closed = if draw(4, 4) == 0 { 15 } else { draw(3, 16) };
        it.grid.edges = std::array::from_fn(|k| if closed >> k & 1 == 1 { Edge::Closed } else { Edge::Open });
        it.grid.sea_level = (draw(5, 4) == 0).then_some(Height(1));
        it.nodata = (draw(7, 3) == 0).then(|| Field::from_fn(size, |i, j| at(8, i, j) % 8 == 0));
        let outlet = [draw(9, size[0] as u64) as usize, draw(10, size[1] as u64) as usize];
        if draw(11, 4) == 0 && it.nodata.as_ref().is_none_or(|mask| !mask[(outlet[0], outlet[1])]) {
            it.outlets.push(outlet.into());
        }
        it
    }

    fn land(&self) -> Land<'_> {
        Land { grid: &self.grid, ground: &self.ground, nodata: self.nodata.as_ref(), outlets: &self.outlets }
    }

    fn dry(&self) -> Stock {
        Stock { depth: Field::new(self.grid.size, Height::ZERO), held: Vec::new() }
    }
}

/// All water above a spill leaves at once, and nothing evaporates.
const AT_ONCE: PoolRules = PoolRules { evaporation: 0, release: 1.0, least: 1 };

fn at(cell: usize, water: i64) -> Arrival {
    Arrival { cell: cell as u32, water }
}

fn depths(stock: &Stock) -> Vec<i32> {
    stock.depth.as_slice().iter().map(|depth| depth.0).collect()
}

fn total(stock: &Stock) -> i64 {
    let depth: i64 = stock.depth.as_slice().iter().map(|depth| i64::from(depth.0)).sum();
    depth + stock.held.iter().map(|held| held.water).sum::<i64>()
}

/// Settles, and checks everything that must hold for any settling.
fn settle(pools: &Pools, ground: &Ground, stock: &mut Stock, arrivals: &[Arrival], rules: &PoolRules) -> Settled {
    let before = total(stock) + arrivals.iter().map(|arrival| arrival.water).sum::<i64>();
    let settled = pools.settle_water(&ground.land(), stock, arrivals, rules).unwrap();
    let released: i64 = settled.overflow.iter().map(|overflow| overflow.water).sum();
    assert_eq!(before, total(stock) + released + settled.left + settled.evaporated, "no water is lost");
    let (hierarchy, parts) = (pools.hierarchy(), ground.land().cell_roles());
    assert_eq!(settled.pools.iter().map(|pool| pool.volume).sum::<i64>(), total(stock));
    assert_eq!(
        settled.pools.iter().map(|pool| pool.held).sum::<i64>(),
        stock.held.iter().map(|h| h.water).sum::<i64>()
    );
    assert!(stock.held.windows(2).all(|pair| pair[0].cell < pair[1].cell), "one entry a cell, in order");
    // The top of each leaf's pool, found through the parents.
    let mut pool_of = vec![None; hierarchy.depressions.len()];
    let mut wet = vec![0; settled.pools.len()];
    for (d, depression) in hierarchy.depressions.iter().enumerate().rev() {
        let own = settled.pools.iter().position(|pool| pool.depression as usize == d);
        pool_of[d] = own.or(depression.parent.and_then(|parent| pool_of[parent as usize]));
    }
    for k in 0..stock.depth.len() {
        let (depth, height) = (stock.depth.as_slice()[k].0, ground.ground.as_slice()[k].0);
        let pool = pool_of.get(hierarchy.leaf.as_slice()[k] as usize).copied().flatten();
        let level = pool.map(|pool| settled.pools[pool].level.0);
        assert_eq!(depth, level.map_or(0, |level| (level - height).max(0)), "level to the unit");
        if depth > 0 {
            wet[pool.unwrap()] += 1;
        }
    }
    for (pool, wet) in settled.pools.iter().zip(wet) {
        let depression = &hierarchy.depressions[pool.depression as usize];
        assert_eq!(pool.cells, wet);
        assert!(depression.spill.is_none_or(|spill| pool.level <= spill.level), "never over its spill");
        assert_eq!(pool.full, pool.level.0 as i64 == depression.spill.map_or(i64::MAX, |spill| spill.level.0.into()));
        assert_eq!(pool.outlet, depression.spill.map(|spill| spill.cell));
    }
    for overflow in &settled.overflow {
        assert!(overflow.water > 0 && overflow.water % rules.least == 0);
        let (cell, toward) = (overflow.cell as usize, overflow.toward as usize);
        let cols = ground.grid.cols();
        let far = (cell / cols).abs_diff(toward / cols).max((cell % cols).abs_diff(toward % cols));
        assert!(far <= 1 && ground.ground.as_slice()[toward] <= ground.ground.as_slice()[cell]);
        assert!(cell != toward || parts.as_slice()[cell] != CellRole::Inside, "only where it leaves the land");
    }
    settled
}

/// Passes overflow on until there is none; returns what left the map.
fn hand_on(pools: &Pools, ground: &Ground, stock: &mut Stock, arrivals: &[Arrival], rules: &PoolRules) -> i64 {
    let (mut arrivals, mut left) = (arrivals.to_vec(), 0);
    for _ in 0..100_000 {
        let settled = settle(pools, ground, stock, &arrivals, rules);
        left += settled.left;
        if settled.overflow.is_empty() {
            return left;
        }
        let (gone, on): (Vec<Overflow>, Vec<_>) = settled.overflow.iter().partition(|o| o.cell == o.toward);
        left += gone.iter().map(|overflow| overflow.water).sum::<i64>();
        arrivals = on.iter().map(|overflow| Arrival { cell: overflow.toward, water: overflow.water }).collect();
    }
    panic!("overflow goes round for ever");
}

/// A bowl in the centre of a map that slopes down outside its rim, with a notch through the rim at cell (20, 35).
fn bowl() -> Ground {
    Ground::new([41, 41], |i, j| {
        if i == 20 && j >= 35 {
            return (55 - j as i32) * 65_536;
        }
        let (y, x) = (i as i64 - 20, j as i64 - 20);
        // A paraboloid up to a distance of 15 cells, and a cone down from there.
        let square = (x * x + y * y) * 6_553;
        let down = 225 * 6_553 - (x.abs().max(y.abs()) - 15) * 60_000;
        (if x * x + y * y <= 225 { square } else { down.min(square) }) as i32
    })
}

#[test]
fn a_bowl_fills_to_what_its_volume_says_and_spills_at_its_lowest_rim() {
    let ground = bowl();
    let pools = Pools::from_land(&ground.land());
    let lake = pools.hierarchy().leaf[(20, 20)];
    let spill = pools.hierarchy().depressions[lake as usize].spill.unwrap();
    // By counting: what is below a level and connected to the centre.
    let holds = |level: i32| -> i64 {
        let inside = |i: usize, j: usize| i.abs_diff(20).pow(2) + j.abs_diff(20).pow(2) <= 225;
        let depth = |i: usize, j: usize| i64::from((level - ground.ground[(i, j)].0).max(0));
        (0..41 * 41).map(|k| if inside(k / 41, k % 41) { depth(k / 41, k % 41) } else { 0 }).sum()
    };
    let capacity = holds(spill.level.0);
    let mut stock = ground.dry();
    let mut water = 0;
    for arriving in [0, 1, 5_000, 123_456, 10_000_001, 99_999_999, 7, 150_000_000] {
        let settled = settle(&pools, &ground, &mut stock, &[at(20 * 41 + 25, arriving)], &AT_ONCE);
        water += arriving;
        assert!(water < capacity && settled.overflow.is_empty() && settled.left == 0);
        let Some(pool) = settled.pools.first() else { continue };
        assert!(holds(pool.level.0) <= water && water < holds(pool.level.0 + 1), "the highest level that it fills");
        assert_eq!((pool.volume, pool.held, pool.inflow), (water, water - holds(pool.level.0), arriving));
        assert_eq!(pool.kind(), PoolKind::Closed);
        assert_eq!(pools.level_at_volume(&ground.land(), lake, water), pool.level);
        assert_eq!(pools.volume_at_level(&ground.land(), lake, pool.level), holds(pool.level.0));
    }
    // Up to the rim, and a little more.
    let settled = settle(&pools, &ground, &mut stock, &[at(20 * 41 + 20, capacity - water)], &AT_ONCE);
    assert_eq!((settled.pools[0].level, settled.pools[0].held), (spill.level, 0));
    assert!(settled.pools[0].full && settled.overflow.is_empty());
    let settled = settle(&pools, &ground, &mut stock, &[at(20 * 41 + 20, 77)], &AT_ONCE);
    let [overflow] = settled.overflow[..] else { panic!("one lake, one spill") };
    assert_eq!((overflow.cell, overflow.water), (spill.cell, 77));
    assert_eq!([overflow.cell, overflow.toward], [20 * 41 + 35, 20 * 41 + 36]);
    assert_eq!(pools.hierarchy().leaf.as_slice()[overflow.toward as usize], OUTSIDE);
    assert_eq!(settled.pools[0].kind(), PoolKind::Open);
    assert_eq!(pools.level_at_volume(&ground.land(), lake, i64::MAX), spill.level);
}

#[test]
fn two_bowls_merge_and_part_when_the_outer_sill_is_cut() {
    let mut ground = Ground::row(&[9, 1, 5, 0, 7, 3, -9], Edge::Closed, Edge::Open);
    let mut pools = Pools::from_land(&ground.land());
    let mut stock = ground.dry();
    // The eastern bowl holds 5; one more unit flows over the sill of 5 to the west.
    let settled = settle(&pools, &ground, &mut stock, &[at(3, 6)], &AT_ONCE);
    assert_eq!(settled.overflow, [Overflow { cell: 2, toward: 1, water: 1 }]);
    assert_eq!(depths(&stock), [0, 0, 0, 5, 0, 0, 0]);
    // Both are full and form one lake. Nine units fill it to 5, and three cells take three of the other five.
    let settled = settle(&pools, &ground, &mut stock, &[at(1, 4), at(3, 5)], &AT_ONCE);
    assert_eq!((depths(&stock), settled.pools.len()), (vec![0, 5, 1, 6, 0, 0, 0], 1));
    assert_eq!((settled.pools[0].held, settled.pools[0].inflow), (2, 9));
    // It holds 15 units up to its rim.
    let settled = settle(&pools, &ground, &mut stock, &[at(1, 10)], &AT_ONCE);
    assert_eq!(settled.overflow, [Overflow { cell: 4, toward: 5, water: 9 }]);
    assert_eq!(depths(&stock), [0, 6, 2, 7, 0, 0, 0]);
    // Cut to 2, the rim lets the east run down to 3, over the cell behind; the west stays at its sill of 5.
    ground.ground[(0, 4)] = Height(2);
    let changed = Field::from_fn(ground.grid.size, |_, j| j == 4);
    pools.update(&ground.land(), Some(&changed));
    let left = hand_on(&pools, &ground, &mut stock, &[], &AT_ONCE);
    assert_eq!((depths(&stock), stock.held.len()), (vec![0, 4, 0, 3, 1, 0, 0], 0));
    assert_eq!(left, 15 - 8);
}

#[test]
fn three_lakes_hand_on_slowly_what_they_cannot_hold() {
    let ground = Ground::row(&[9, 5, 8, 3, 6, 1, 4, -1], Edge::Closed, Edge::Open);
    let pools = Pools::from_land(&ground.land());
    let mut stock = ground.dry();
    let slow = PoolRules { evaporation: 0, release: 0.25, least: 2 };
    let settled = settle(&pools, &ground, &mut stock, &[at(1, 103)], &slow);
    // A hundred units are above the spill: a quarter leaves, in multiples of 2.
    assert_eq!(settled.overflow, [Overflow { cell: 2, toward: 3, water: 24 }]);
    assert_eq!((depths(&stock)[1], stock.held.as_slice()), (3, [at(1, 76)].as_slice()));
    assert_eq!((settled.pools[0].volume, settled.pools[0].held, settled.pools[0].overflow), (79, 76, 24));
    // Nothing cascades within a single settling.
    let settled = settle(&pools, &ground, &mut stock, &[at(3, 24)], &slow);
    // A quarter of 76 and of 21.
    let [first, second] = [Overflow { cell: 2, toward: 3, water: 18 }, Overflow { cell: 4, toward: 5, water: 4 }];
    assert_eq!(settled.overflow, [first, second]);
    let left = hand_on(&pools, &ground, &mut stock, &[at(3, 18), at(5, 4)], &AT_ONCE);
    assert_eq!((depths(&stock), left), (vec![0, 3, 0, 3, 0, 3, 0, 0], 103 - 9));
}

#[test]
fn handed_on_it_ends_as_water_poured_at_once() {
    let (mut merged, mut many) = (0, 0);
    for case in 0..1500 {
        let key = RandomKey::new(case, "living pools");
        let ground = Ground::random(key, [8, 9], [3, 5, 9, 30, 1000][case as usize % 5]);
        let land = ground.land();
        let pools = Pools::from_land(&land);
        let most = [3, 30, 3000][case as usize % 3];
        let water = Field::from_fn(ground.grid.size, |i, j| {
            let bits = key.derive_key(21).for_cell([i as i64, j as i64]).random_bits();
            if bits.is_multiple_of(3) { ((bits >> 8) % most) as i64 } else { 0 }
        });
        let standing = fill_spill_merge(&land, pools.hierarchy(), &water).unwrap();
        let (mut stock, mut left) = (ground.dry(), 0);
        // In three batches, the last of which is the remainder.
        for batch in 0..3 {
            let part = |k: usize| match batch {
                0 => water.as_slice()[k] / 2,
                1 => (water.as_slice()[k] - water.as_slice()[k] / 2) / 3,
                _ => {
                    let rest = water.as_slice()[k] - water.as_slice()[k] / 2;
                    rest - rest / 3
                }
            };
            let arrivals: Vec<Arrival> = (0..water.len()).map(|k| at(k, part(k))).collect();
            left += hand_on(&pools, &ground, &mut stock, &arrivals, &AT_ONCE);
        }
        assert_eq!(stock.depth, standing.depth, "case {case}");
        assert_eq!(left, standing.left, "case {case}");
        let held: i64 = stock.held.iter().map(|held| held.water).sum();
        assert_eq!(held, standing.pools.iter().map(|pool| pool.remainder).sum::<i64>(), "case {case}");
        let top = |d: u32| pools.hierarchy().depressions[d as usize].children.is_some();
        merged += standing.pools.iter().filter(|pool| top(pool.depression)).count();
        many += usize::from(standing.pools.len() > 3);
    }
    assert!(merged > 200 && many > 50, "{merged} merged, {many} with many pools");
}

#[test]
fn on_changing_ground_updates_equal_building_anew_and_no_water_is_lost() {
    let (mut stranded, mut wet) = (0, 0);
    for case in 0..24 {
        let key = RandomKey::new(case, "changing ground");
        let mut ground = Ground::random(key, [70, 90], [4, 40, 4000][case as usize % 3]);
        let mut pools = Pools::from_land(&ground.land());
        let mut stock = ground.dry();
        let rules = PoolRules {
            evaporation: (case % 4) as i32,
            release: [1.0, 0.3][case as usize % 2],
            least: [1, 7][case as usize / 2 % 2],
        };
        for round in 0..50 {
            let key = key.derive_key(100 + round);
            let draw = |what: u64, below: usize| (key.derive_key(what).random_bits() >> 8) as usize % below;
            let [rows, cols] = ground.grid.size;
            // A block, scattered cells, or a line across.
            let (i0, j0, side) = (draw(0, rows), draw(1, cols), 1 + draw(2, 12));
            let chosen = |i: usize, j: usize| match round % 3 {
                0 => i.abs_diff(i0) < side && j.abs_diff(j0) < side,
                1 => key.derive_key(3).for_cell([i as i64, j as i64]).random_bits().is_multiple_of(40),
                _ => i == i0 || (j == j0 && side > 6),
            };
            let changed = Field::from_fn(ground.grid.size, chosen);
            ground.ground = Field::from_fn(ground.grid.size, |i, j| {
                let step = (key.derive_key(4).for_cell([i as i64, j as i64]).random_bits() % 7) as i32 - 3;
                let flat = round % 7 == 0;
                let height = ground.ground[(i, j)].0;
                Height(if !changed[(i, j)] {
                    height
                } else if flat {
                    2
                } else {
                    height + step
                })
            });
            let land = ground.land();
            pools.update(&land, (round % 10 != 9).then_some(&changed));
            let anew = Pools::from_land(&land);
            assert_eq!(pools.hierarchy(), anew.hierarchy(), "case {case}, round {round}");
            let arrivals: Vec<Arrival> = (0..ground.grid.len() / 10)
                .map(|n| at(draw(1000 + n as u64, ground.grid.len()), draw(9000 + n as u64, 20) as i64))
                .collect();
            let mut copy = stock.clone();
            let settled = settle(&pools, &ground, &mut stock, &arrivals, &rules);
            assert_eq!(settled, settle(&anew, &ground, &mut copy, &arrivals, &rules));
            assert_eq!(stock, copy);
            let leaf = pools.hierarchy().leaf.as_slice();
            stranded += settled
                .overflow
                .iter()
                .filter(|o| leaf[o.cell as usize] == OUTSIDE && leaf[o.toward as usize] == OUTSIDE)
                .count();
            wet += settled.pools.len();
        }
    }
    assert!(stranded > 50 && wet > 10_000, "{stranded} patches, {wet} pools");
}

#[test]
fn a_closed_lake_grows_until_evaporation_takes_what_comes() {
    let mut ground = Ground::new([61, 61], |i, j| {
        let (y, x) = (i as f64 - 30.0, j as f64 - 30.0);
        ((x * x + y * y).sqrt() * 3000.0) as i32
    });
    ground.grid.edges = [Edge::Closed; 4];
    let pools = Pools::from_land(&ground.land());
    let mut stock = ground.dry();
    let rules = PoolRules { evaporation: 50, release: 1.0, least: 1 };
    let inflow = 50 * 700 + 20;
    let (mut cells, mut evaporated) = (Vec::new(), Vec::new());
    for _ in 0..6000 {
        let settled = settle(&pools, &ground, &mut stock, &[at(7, inflow)], &rules);
        assert!(settled.overflow.is_empty() && settled.left == 0);
        cells.push(settled.pools[0].cells);
        evaporated.push(settled.evaporated);
        assert_eq!(settled.pools[0].kind(), PoolKind::Landlocked);
    }
    // A surface of 700.4 cells evaporates the inflow; at most 12 cells have the same distance, and become shallow
    // together.
    assert!(cells[5000..].iter().all(|cells| cells.abs_diff(700) <= 12), "{:?}", &cells[5990..]);
    let recent: i64 = evaporated[5000..].iter().sum();
    assert!((recent - 1000 * inflow).abs() <= 12 * 1000, "{recent}");
}

#[test]
fn water_stays_when_the_ground_rises_through_it() {
    let mut ground = bowl();
    let mut pools = Pools::from_land(&ground.land());
    let mut stock = ground.dry();
    let water = 60_000_000;
    let before = settle(&pools, &ground, &mut stock, &[at(20 * 41 + 20, water)], &AT_ONCE).pools[0].level;
    let mut after = before;
    for round in 0..30 {
        // A delta grows from the west, and rises above the water.
        let changed = Field::from_fn(ground.grid.size, |i, j| i.abs_diff(20) < 4 && (8..9 + round / 2).contains(&j));
        ground.ground = Field::from_fn(ground.grid.size, |i, j| {
            Height(ground.ground[(i, j)].0 + if changed[(i, j)] { 60_000 } else { 0 })
        });
        pools.update(&ground.land(), Some(&changed));
        let settled = settle(&pools, &ground, &mut stock, &[], &AT_ONCE);
        assert_eq!((settled.left, total(&stock)), (0, water));
        after = settled.pools[0].level;
    }
    assert!(after > before, "pushed up");
    assert!(ground.ground[(20, 8)] > before);
}

#[test]
fn a_lake_whose_rim_is_cut_through_runs_out_from_its_lowest_cell() {
    let mut ground = Ground::row(&[9, 4, 2, 6, 0], Edge::Closed, Edge::Open);
    let mut pools = Pools::from_land(&ground.land());
    let mut stock = ground.dry();
    settle(&pools, &ground, &mut stock, &[at(1, 6)], &AT_ONCE);
    assert_eq!(depths(&stock), [0, 2, 4, 0, 0]);
    ground.ground[(0, 3)] = Height(1);
    pools.update(&ground.land(), Some(&Field::from_fn(ground.grid.size, |_, j| j == 3)));
    let rules = PoolRules { evaporation: 1, release: 0.01, least: 3 };
    let settled = settle(&pools, &ground, &mut stock, &[at(2, 3), at(3, 100)], &rules);
    // Two units evaporate; four and three are seven, and six of them make two drops. Where there was no water, the
    // arriving water has left.
    assert_eq!(settled.overflow, [Overflow { cell: 2, toward: 3, water: 6 }]);
    assert_eq!((settled.evaporated, settled.left, total(&stock)), (2, 101, 0));
}

#[test]
fn the_least_and_the_strangest_lands_pass() {
    let sea = |mut ground: Ground, level: i32| {
        ground.grid.sea_level = Some(Height(level));
        ground
    };
    let empty = Ground { nodata: Some(Field::new([1, 3], true)), ..Ground::row(&[1, 0, 1], Edge::Open, Edge::Open) };
    let mut basin = Ground::new([9, 9], |_, _| 5);
    basin.grid.edges = [Edge::Closed; 4];
    let tall = Ground::new([12, 1], |i, _| [5, 0, 7][i % 3]);
    for ground in [empty, sea(Ground::new([7, 5], |i, j| (i * j) as i32), 100), tall, basin.clone()] {
        let pools = Pools::from_land(&ground.land());
        let mut stock = ground.dry();
        let arrivals: Vec<Arrival> = (0..ground.grid.len()).map(|k| at(k, 10)).collect();
        let left = hand_on(&pools, &ground, &mut stock, &arrivals, &AT_ONCE);
        assert_eq!(total(&stock) + left, 10 * ground.grid.len() as i64);
        assert_eq!(left == 0, ground.grid == basin.grid);
    }
    let pools = Pools::from_land(&sea(Ground::new([7, 5], |_, _| 0), 0).land());
    assert!(pools.hierarchy().depressions.is_empty());
    assert_eq!(
        (pools.level_at_volume(&basin.land(), 3, 5), pools.volume_at_level(&basin.land(), 3, Height(9))),
        (Height::MIN, 0)
    );
}

#[test]
fn bad_water_is_refused_and_changes_nothing() {
    let ground = Ground::row(&[4, 1, 3], Edge::Closed, Edge::Closed);
    let pools = Pools::from_land(&ground.land());
    let refused = |stock: &Stock, arrivals: &[Arrival], rules: &PoolRules, names: &str| {
        let mut after = stock.clone();
        let error = pools.settle_water(&ground.land(), &mut after, arrivals, rules).unwrap_err().to_string();
        assert!(error.contains(names), "{error}");
        assert_eq!(after, *stock);
    };
    let dry = ground.dry();
    refused(&dry, &[at(3, 1)], &AT_ONCE, "0 to 2");
    refused(&dry, &[at(0, -1)], &AT_ONCE, "water (in cells × 1/65536 m) = -1 at cell 0");
    refused(&dry, &[at(0, i64::MAX), at(1, 1)], &AT_ONCE, "in all");
    refused(&dry, &[at(0, 1 << 50)], &AT_ONCE, "16000");
    refused(&Stock { held: vec![at(1, -5)], ..dry.clone() }, &[], &AT_ONCE, "stored water");
    refused(
        &Stock { depth: Field::new([1, 3], Height(-2)), ..dry.clone() },
        &[],
        &AT_ONCE,
        "depth of a pool (in 1/65536 m) = -2 in row",
    );
    refused(&Stock { depth: Field::new([3, 1], Height(2)), ..dry.clone() }, &[], &AT_ONCE, "3 × 1");
    refused(&dry, &[], &PoolRules { evaporation: -1, ..AT_ONCE }, "evaporation");
    for release in [0.0, 1.1, f64::NAN] {
        refused(&dry, &[], &PoolRules { release, ..AT_ONCE }, "release");
    }
    refused(&dry, &[], &PoolRules { least: 0, ..AT_ONCE }, "smallest overflow");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let key = RandomKey::new(5, "threads");
    let heights = |i: usize, j: usize| {
        (key.for_cell([i as i64 / 3, j as i64 / 3]).random_bits() % 40) as i32 * 100 + (i * j) as i32 % 9
    };
    let ground = Ground::new([390, 410], heights);
    let arrivals: Vec<Arrival> = (0..ground.grid.len()).map(|k| at(k, 400)).collect();
    let run = |threads: usize| {
        with_threads(threads, || {
            let pools = Pools::from_land(&ground.land());
            let mut stock = ground.dry();
            let settled = pools.settle_water(&ground.land(), &mut stock, &arrivals, &AT_ONCE).unwrap();
            (d8::route_d8(&ground.land()), pools.hierarchy().clone(), settled, stock)
        })
    };
    let one = run(1);
    assert!(one.2.pools.len() > 500);
    assert!(one == run(2) && one == run(5));
}
