use super::*;
use thalweg_core::terrain::TREE_DENSITY;
use thalweg_core::{Cell, Field, Grid, Height, Size, Terrain};

/// Level ground with a pond, a stream, a sea and a hole without data.
struct World {
    grid: Grid,
    ground: Field<Height>,
    nodata: Field<bool>,
    pool: Field<Height>,
    discharge: Field<f32>,
}

impl World {
    fn new(size: Size, cell: f64) -> Self {
        let mut grid = Grid::new(size, cell).unwrap();
        grid.sea_level = Some(Height::ZERO);
        let share = |i: usize, j: usize| [i as f64 / size[0] as f64, j as f64 / size[1] as f64];
        let inside = |i: usize, j: usize, low: [f64; 2], high: [f64; 2]| {
            let at = share(i, j);
            (0..2).all(|a| (low[a]..high[a]).contains(&at[a]))
        };
        Self {
            grid,
            ground: Field::from_fn(size, |i, j| {
                Height::from_metres_clamped(if share(i, j)[1] < 0.1 { -1.0 } else { 300.0 })
            }),
            nodata: Field::from_fn(size, |i, j| inside(i, j, [0.0, 0.9], [0.2, 1.0])),
            pool: Field::from_fn(size, |i, j| Height(i32::from(inside(i, j, [0.3, 0.3], [0.5, 0.6])))),
            discharge: Field::from_fn(size, |i, j| if inside(i, j, [0.7, 0.2], [0.75, 1.0]) { 0.2 } else { 0.0 }),
        }
    }

    fn site(&self) -> PlantSite<'_> {
        PlantSite {
            grid: &self.grid,
            ground: &self.ground,
            nodata: Some(&self.nodata),
            pool: Some(&self.pool),
            water: None,
            discharge: Some(&self.discharge),
            fertility: None,
        }
    }

    fn grown(&self, rules: &ForestRules, steps: u64) -> Forest {
        let mut forest = Forest::new(&self.grid);
        for step in 0..steps {
            forest.advance_step(&self.site(), rules, RandomKey::new(9, "forest").derive_key(step));
        }
        forest
    }
}

fn plain(size: Size, cell: f64) -> World {
    let mut world = World::new(size, cell);
    world.grid.sea_level = None;
    world.ground = Field::new(size, Height::from_metres_clamped(300.0));
    world.nodata = Field::new(size, false);
    world.pool = Field::new(size, Height::ZERO);
    world.discharge = Field::new(size, 0.0);
    world
}

fn quick() -> ForestRules {
    ForestRules { spawn: 100.0, ..ForestRules::default() }
}

fn assert_dry(forest: &Forest, world: &World, rules: &ForestRules) {
    for tree in forest.trees() {
        let Cell { row: i, col: j } = tree.cell.map(|n| n as usize);
        assert!(world.site().is_land(i, j, rules), "{tree:?}");
    }
}

#[test]
fn none_stands_in_water_even_when_it_rises() {
    let mut world = World::new([60, 60], 10.0);
    let rules = quick();
    let mut forest = world.grown(&rules, 150);
    assert!(forest.trees().len() > 500, "{}", forest.trees().len());
    assert_dry(&forest, &world, &rules);
    // The pond grows, the stream moves and the sea rises: the plants that stood there die in the next step.
    world.pool = Field::from_fn([60, 60], |i, _| Height(i32::from((10..40).contains(&i))));
    world.discharge = Field::from_fn([60, 60], |_, j| if j == 30 { 0.06 } else { 0.04 });
    world.ground = Field::from_fn([60, 60], |_, j| Height::from_metres_clamped(if j < 20 { -2.0 } else { 300.0 }));
    let before = forest.trees().len() as u64;
    let (born, died) = forest.advance_step(&world.site(), &rules, RandomKey::new(1, "flood"));
    assert_dry(&forest, &world, &rules);
    assert!(died > 300 && forest.trees().len() as u64 == before + born - died);
}

#[test]
fn when_all_are_gone_no_density_is_left() {
    let mut world = World::new([50, 70], 7.0);
    let mut forest = world.grown(&quick(), 120);
    assert!(forest.root_density().as_slice().iter().any(|d| *d > 0.5));
    world.grid.sea_level = Some(Height::MAX);
    forest.advance_step(&world.site(), &quick(), RandomKey::new(2, "flood"));
    assert_eq!(forest, Forest::new(&world.grid));
}

#[test]
fn seeds_fly_as_far_as_they_are_said_to() {
    let world = plain([200, 200], 5.0);
    let tree =
        Tree { number: 0, cell: Cell::new(100, 100), part: Cell::default(), kind: 1, size: 1.0, age: 0, patch: 5.0 };
    let rules = ForestRules { spawn: 0.0, seed: 1.0, death: 0.0, spread: 60.0, cap: 1e9, ..ForestRules::default() };
    let mut flights = Vec::new();
    for n in 0..4000 {
        let mut forest = Forest::from_trees(vec![tree], &world.grid).unwrap();
        assert_eq!(forest.advance_step(&world.site(), &rules, RandomKey::new(n, "seed")), (1, 0));
        let Cell { row: y, col: x } = forest.trees()[1].position().map(|at| (at - 100.0) * 5.0);
        assert!(y.abs() <= 60.0 && x.abs() <= 60.0 && forest.trees()[1].kind == 1);
        flights.push([y, x]);
    }
    for a in 0..2 {
        // Uniform over ±d: the mean is 0 and the mean square d²/3; the standard errors are d/√(3n) and d²·√(4/45)/√n,
        // and the tolerance is four of each.
        let mean = flights.iter().map(|f| f[a]).sum::<f64>() / 4000.0;
        let square = flights.iter().map(|f| f[a] * f[a]).sum::<f64>() / 4000.0;
        assert!(mean.abs() < 4.0 * 60.0 / 12_000f64.sqrt(), "{mean}");
        assert!((square - 1200.0).abs() < 4.0 * 3600.0 * 0.298 / 4000f64.sqrt(), "{square}");
    }
}

#[test]
fn plants_grow_as_the_rule_says_and_die_at_their_rate() {
    let world = plain([400, 400], 10.0);
    let tree = |n: u64| Tree {
        number: n,
        cell: Cell::new(n as u32 / 400, n as u32 % 400),
        part: Cell::new(32_768, 32_768),
        kind: 0,
        size: 0.5,
        age: 0,
        patch: 5.0,
    };
    let mut forest = Forest::from_trees((0..160_000).map(tree).collect(), &world.grid).unwrap();
    let rules = ForestRules { spawn: 0.0, seed: 0.0, ..ForestRules::default() };
    let mut died = 0;
    for step in 0..20 {
        died += forest.advance_step(&world.site(), &rules, RandomKey::new(3, "age").derive_key(step)).1;
    }
    // 1 − 0.5·0.95²⁰.
    assert!(forest.trees().iter().all(|tree| (tree.size - 0.820_757).abs() < 1e-5 && tree.age == 20));
    // 160 000·(1 − 0.999²⁰) = 3 170 with a standard deviation of 56; the tolerance is four of those.
    assert!((died as f64 - 3170.0).abs() < 4.0 * 56.0, "{died}");
}

#[test]
fn kinds_keep_to_their_places() {
    let size = [120, 120];
    let mut world = plain(size, 10.0);
    // From the sea to 1.4 times the tree line; water seeps in every other band of ten columns.
    world.discharge = Field::from_fn(size, |_, j| if j % 20 < 10 { 1e-5 } else { 4e-2 });
    world.ground = Field::from_fn(size, |i, _| Height::from_metres_clamped(2.9 * i as f64));
    let rules = ForestRules { tree_line: 250.0, ..quick() };
    let forest = world.grown(&rules, 200);
    let mut counts = [0; KINDS.len()];
    for tree in forest.trees() {
        let Cell { row: i, col: j } = tree.cell.map(|n| n as usize);
        let (elevation, kind) = (2.9 * i as f32 / 250.0, tree.kind());
        assert!(elevation >= kind.elevation[0] && elevation <= kind.elevation[1], "{tree:?}");
        assert!(kind.name != "willow" || j % 20 >= 10, "a willow needs water");
        counts[usize::from(tree.kind)] += 1;
    }
    // There is no reed, because there is no open water. Every other kind has found a habitat.
    assert!(counts[5] == 0 && counts[..5].iter().all(|n| *n > 20), "{counts:?}");
    let off = ForestRules { shares: [0.0, 1.0, 0.0, 0.0, 0.0, 0.0], ..rules };
    assert!(world.grown(&off, 60).trees().iter().all(|tree| tree.kind == 1));
    let steep = World {
        ground: Field::from_fn(size, |i, _| Height::from_metres_clamped(13.0 * i as f64)),
        ..plain(size, 10.0)
    };
    // 52° is steeper than any kind tolerates.
    assert!(steep.grown(&quick(), 20).trees().is_empty());
}

#[test]
fn reeds_stand_beside_the_water() {
    let world = World::new([80, 80], 6.0);
    let rules = quick();
    let forest = world.grown(&rules, 120);
    let reeds: Vec<&Tree> = forest.trees().iter().filter(|tree| tree.kind().name == "reed").collect();
    assert!(reeds.len() > 30, "{}", reeds.len());
    for reed in reeds {
        let Cell { row: i, col: j } = reed.cell.map(|n| n as usize);
        let near = (i.saturating_sub(2)..(i + 3).min(80))
            .any(|r| (j.saturating_sub(2)..(j + 3).min(80)).any(|c| world.site().is_wet(r, c, &rules)));
        assert!(near, "{reed:?}");
    }
}

#[test]
fn a_forest_fills_up_and_no_further() {
    let world = plain([60, 60], 10.0);
    let rules = ForestRules { spawn: 400.0, ..ForestRules::default() };
    let mut forest = world.grown(&rules, 250);
    let count = forest.trees().len();
    for step in 0..150 {
        forest.advance_step(&world.site(), &rules, RandomKey::new(5, "later").derive_key(step));
    }
    let later = forest.trees().len();
    assert!((later as f64 / count as f64 - 1.0).abs() < 0.15, "{count} {later}");
    assert!((later as f64) < rules.estimate_capacity(&world.grid), "{later}");
    // Seeds find gaps until the mean density below their roots is nowhere below the cap, so the overall mean is above
    // it.
    let density = forest.root_density().as_slice();
    let mean = density.iter().sum::<f32>() / density.len() as f32;
    assert!((0.8..1.25).contains(&mean) && density.iter().all(|d| *d < 2.5), "{mean}");
}

#[test]
fn cells_do_not_change_the_forest() {
    let rules = ForestRules { spawn: 60.0, ..ForestRules::default() };
    let figures = [[60usize, 20], [240, 5]].map(|[n, cell]| {
        let forest = plain([n, n], cell as f64).grown(&rules, 300);
        let density: f64 = forest.root_density().as_slice().iter().map(|d| f64::from(*d)).sum();
        [density / (n * n) as f64, forest.trees().len() as f64]
    });
    for k in 0..2 {
        assert!((figures[0][k] / figures[1][k] - 1.0).abs() < 0.1, "{figures:?}");
    }
}

#[test]
fn threads_and_the_table_change_nothing() {
    let world = World::new([90, 90], 10.0);
    let rules = quick();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| world.grown(&rules, 110))
    };
    let one = with(1);
    assert!(one.trees().len() > CHUNK, "{}", one.trees().len());
    assert_eq!(one, with(3));
    let mut terrain = Terrain::new(world.grid.clone());
    let mut broken = Forest::new(&world.grid);
    for step in 0..110 {
        broken.advance_step(&world.site(), &rules, RandomKey::new(9, "forest").derive_key(step));
        broken.write(&mut terrain).unwrap();
        broken = Forest::read(&terrain).unwrap();
    }
    assert_eq!(one, broken);
    assert_eq!(terrain.float_layer(&TREE_DENSITY), Some(one.root_density()));
}

#[test]
fn tables_that_are_no_forest_are_refused() {
    let world = plain([20, 20], 10.0);
    let mut terrain = Terrain::new(world.grid.clone());
    world.grown(&ForestRules { spawn: 2000.0, ..quick() }, 5).write(&mut terrain).unwrap();
    let columns = terrain.tables[TREES].columns.len();
    for column in 0..columns {
        let refused = |values: thalweg_core::terrain::Column| {
            let mut other = terrain.clone();
            other.tables.get_mut(TREES).unwrap().columns[column].2 = values;
            Forest::read(&other).is_err()
        };
        let len = terrain.tables[TREES].len();
        assert!(len > 3);
        for wild in [i64::MIN, -1, i64::MAX] {
            assert!(refused(thalweg_core::terrain::Column::Int(vec![wild; len])), "{column}");
        }
        for wild in [f32::NAN, -1.0, f32::INFINITY] {
            assert!(refused(thalweg_core::terrain::Column::Float(vec![wild; len])), "{column}");
        }
        assert!(refused(thalweg_core::terrain::Column::Int(Vec::new())), "{column}");
    }
    let wide = ForestRules { patch: 700.0, ..ForestRules::default() };
    assert!(wide.check(&world.grid).unwrap_err().to_string().contains("640 m"));
    assert!(
        ForestRules { patch: 0.005, ..ForestRules::default() }
            .check(&world.grid)
            .unwrap_err()
            .to_string()
            .contains("wider patch")
    );
}
