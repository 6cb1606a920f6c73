//! Tests of lakes in balance: against water poured at once, against the definition cell by cell, and for conservation
//! of water.

use crate::long;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Edge, Field, Grid, Height};
use thalweg_flow::Land;
use thalweg_flow::pools::{Arrival, PoolRules, Pools, Stock};
use thalweg_flow::spill::fill_spill_merge;

/// Random ground with few heights, hence with flats and equal sills; some of it has closed edges, sea, or cells
/// without data.
struct Ground {
    grid: Grid,
    ground: Field<Height>,
    nodata: Option<Field<bool>>,
}

impl Ground {
    fn random(key: RandomKey, levels: u64) -> Self {
        let draw = |what: u64, below: u64| key.derive_key(what).random_bits() % below;
        let size = [1 + draw(1, 14) as usize, 1 + draw(2, 14) as usize];
        let at =
            |purpose: u64, i: usize, j: usize| key.derive_key(purpose).for_cell([i as i64, j as i64]).random_bits();
        let mut grid = Grid::new(size, 10.0).unwrap();
        let closed = if draw(4, 4) == 0 { 15 } else { draw(3, 16) };
        grid.edges = std::array::from_fn(|k| if closed >> k & 1 == 1 { Edge::Closed } else { Edge::Open });
        grid.sea_level = (draw(5, 5) == 0).then_some(Height(1));
        let ground = Field::from_fn(size, |i, j| Height((at(6, i, j) % levels) as i32));
        let nodata = (draw(7, 4) == 0).then(|| Field::from_fn(size, |i, j| at(8, i, j) % 9 == 0));
        Self { grid, ground, nodata }
    }

    fn land(&self) -> Land<'_> {
        Land { grid: &self.grid, ground: &self.ground, nodata: self.nodata.as_ref(), outlets: &[] }
    }
}

fn total(stock: &Stock) -> i64 {
    let depth: i64 = stock.depth.as_slice().iter().map(|depth| i64::from(depth.0)).sum();
    depth + stock.held.iter().map(|held| held.water).sum::<i64>()
}

fn arrivals(key: RandomKey, cells: usize, most: u64) -> Vec<Arrival> {
    let one = |k: usize| Arrival { cell: k as u32, water: (key.derive_key(k as u64).random_bits() % most) as i64 };
    (0..cells).map(one).collect()
}

#[test]
fn no_water_is_lost_and_each_pool_is_in_balance() {
    for case in 0..long::or(3000, 200_000) {
        let key = RandomKey::new(case, "balance");
        let ground = Ground::random(key, [3, 20, 4000][case as usize % 3]);
        let pools = Pools::from_land(&ground.land());
        let (hierarchy, cells) = (pools.hierarchy(), ground.ground.len());
        let mut stock = Stock { depth: Field::new(ground.grid.size, Height::ZERO), held: Vec::new() };
        for round in 0..4 {
            let key = key.derive_key(100 + round);
            let evaporation =
                (key.derive_key(1).random_bits() % [1, 4, 900][key.derive_key(2).random_bits() as usize % 3]) as i32;
            let release = [1.0, 0.3][key.derive_key(3).random_bits() as usize % 2];
            let least = [0.0, 0.0, 3.0][key.derive_key(4).random_bits() as usize % 3];
            let come = arrivals(key, cells, [2, 60, 3000][key.derive_key(5).random_bits() as usize % 3]);
            let before = total(&stock) + come.iter().map(|arrival| arrival.water).sum::<i64>();
            let rules = PoolRules { evaporation, release, least: 1 };
            let balance = pools.balance_water(&ground.land(), &mut stock, &come, &rules, least).unwrap();
            assert_eq!(before, total(&stock) + balance.evaporated + balance.left, "case {case}, round {round}");
            assert!(balance.evaporated >= 0 && balance.left >= 0);
            assert!(
                stock.held.windows(2).all(|pair| pair[0].cell < pair[1].cell) && stock.held.iter().all(|h| h.water > 0)
            );
            let wet = stock.depth.as_slice().iter().filter(|depth| depth.0 > 0).count() as i64;
            if least == 0.0 {
                // All cells under water evaporate at the full rate; the sum exceeds that only where shores dry up.
                assert!(balance.evaporated >= wet * i64::from(evaporation), "case {case}, round {round}");
            }
            // The water is level to the unit, and never above a sill.
            for (k, depth) in stock.depth.as_slice().iter().enumerate().filter(|(_, depth)| depth.0 > 0) {
                let mut at = hierarchy.leaf.as_slice()[k];
                let level = ground.ground.as_slice()[k].0 + depth.0;
                while let Some(parent) = hierarchy.depressions[at as usize].parent {
                    if hierarchy.depressions[at as usize].spill.is_none_or(|spill| spill.level.0 >= level) {
                        break;
                    }
                    at = parent;
                }
                assert!(hierarchy.depressions[at as usize].spill.is_none_or(|spill| spill.level.0 >= level));
            }
            for outlet in &balance.outlets {
                assert!(outlet.outflow > 0 && outlet.inflow >= 0);
            }
        }
    }
}

#[test]
fn where_nothing_evaporates_water_stands_as_poured_at_once() {
    for case in 0..long::or(2000, 100_000) {
        let key = RandomKey::new(case, "poured");
        let ground = Ground::random(key, [3, 20, 4000][case as usize % 3]);
        let pools = Pools::from_land(&ground.land());
        let mut stock = Stock { depth: Field::new(ground.grid.size, Height::ZERO), held: Vec::new() };
        let come = arrivals(key, ground.ground.len(), [3, 300, 9000][key.derive_key(1).random_bits() as usize % 3]);
        let rules = PoolRules { evaporation: 0, release: 1.0, least: 1 };
        let balance = pools.balance_water(&ground.land(), &mut stock, &come, &rules, 0.0).unwrap();
        let water = Field::from_vec(ground.grid.size, come.iter().map(|arrival| arrival.water).collect()).unwrap();
        let poured = fill_spill_merge(&ground.land(), pools.hierarchy(), &water).unwrap();
        assert_eq!(stock.depth, poured.depth, "case {case}");
        assert_eq!((balance.left, balance.evaporated), (poured.left, 0));
    }
}

#[test]
fn where_hollows_only_pass_water_on_none_stands_or_evaporates() {
    for case in 0..long::or(1000, 50_000) {
        let key = RandomKey::new(case, "passed");
        let mut ground = Ground::random(key, [3, 20, 4000][case as usize % 3]);
        ground.grid.edges = [Edge::Open; 4];
        let pools = Pools::from_land(&ground.land());
        let mut stock = Stock { depth: Field::new(ground.grid.size, Height::ZERO), held: Vec::new() };
        let come = arrivals(key, ground.ground.len(), 3000);
        let rules = PoolRules { evaporation: 900, release: 1.0, least: 1 };
        let balance = pools.balance_water(&ground.land(), &mut stock, &come, &rules, 1e18).unwrap();
        let came = come.iter().map(|arrival| arrival.water).sum::<i64>();
        assert_eq!((balance.left, balance.evaporated, total(&stock)), (came, 0, 0), "case {case}");
    }
}

#[test]
fn a_closed_lake_has_the_area_that_takes_what_comes_however_long_a_step() {
    // A cone: with 40 units of evaporation a step, 8000 units of inflow evaporate over 200 cells.
    let mut ground = Ground::random(RandomKey::ZERO, 2);
    ground.nodata = None;
    ground.grid = Grid::new([41, 41], 10.0).unwrap();
    ground.grid.edges = [Edge::Closed; 4];
    ground.ground = Field::from_fn([41, 41], |i, j| {
        Height((1000.0 * ((i as f64 - 20.0).powi(2) + (j as f64 - 20.0).powi(2)).sqrt()) as i32)
    });
    let pools = Pools::from_land(&ground.land());
    for steps in [1, 10, 1000] {
        let mut stock = Stock { depth: Field::new([41, 41], Height::ZERO), held: Vec::new() };
        // The same total in more steps, long enough to reach equilibrium.
        let (come, evaporation) = (80_000_000 / steps, 400_000 / steps as i32);
        for _ in 0..steps * 40 {
            let arrivals = [Arrival { cell: 3, water: come }];
            let rules = PoolRules { evaporation, release: 1.0, least: 1 };
            pools.balance_water(&ground.land(), &mut stock, &arrivals, &rules, 0.0).unwrap();
        }
        let wet = stock.depth.as_slice().iter().filter(|depth| depth.0 > 0).count();
        // Cells at the same distance from the middle are flooded together: there are at most 8 of them at that
        // distance.
        assert!((192..=208).contains(&wet), "{wet} cells in {steps} steps");
    }
}
