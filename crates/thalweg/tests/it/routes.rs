//! Tests of breaching, D∞ and basins, against slow versions and surfaces whose answer is known.

use std::collections::BTreeMap;
use std::f64::consts::{FRAC_PI_2, TAU};

use crate::support::with_threads;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Edge, Field, Grid, Height, Terrain};
use thalweg_flow::basins::{delineate_catchment, label_basins};
use thalweg_flow::breach::{BreachLimits, breach_depressions};
use thalweg_flow::infinity::{self, accumulate_d_infinity, route_d_infinity, split_angle};
use thalweg_flow::{CellRole, Land, PIT, VOID, d8, fill, find_receiver};

/// Random ground, some of it with closed edges, cells without data, sea, or an outlet.
struct Ground {
    grid: Grid,
    ground: Field<Height>,
    nodata: Option<Field<bool>>,
    outlets: Vec<Cell>,
}

impl Ground {
    fn random(key: RandomKey, most: u64, levels: u64) -> Self {
        let draw = |what: u64, below: u64| key.derive_key(what).random_bits() % below;
        let size = [1 + draw(1, most) as usize, 1 + draw(2, most) as usize];
        let mut grid = Grid::new(size, [0.1, 30.0][draw(3, 2) as usize]).unwrap();
        let closed = draw(4, 16);
        grid.edges = std::array::from_fn(|k| if closed >> k & 1 == 1 { Edge::Closed } else { Edge::Open });
        let at =
            |purpose: u64, i: usize, j: usize| key.derive_key(purpose).for_cell([i as i64, j as i64]).random_bits();
        let ground = Field::from_fn(size, |i, j| Height((at(5, i, j) % levels) as i32));
        grid.sea_level = (draw(6, 4) == 0).then_some(Height((levels / 9) as i32));
        let nodata = (draw(7, 3) == 0).then(|| Field::from_fn(size, |i, j| at(8, i, j) % 12 == 0));
        let outlet = [draw(9, size[0] as u64) as usize, draw(10, size[1] as u64) as usize];
        let is_void = nodata.as_ref().is_some_and(|mask| mask[(outlet[0], outlet[1])]);
        let outlets = if draw(11, 4) == 0 && !is_void { vec![Cell::from(outlet)] } else { Vec::new() };
        Self { grid, ground, nodata, outlets }
    }

    fn land(&self) -> Land<'_> {
        Land { grid: &self.grid, ground: &self.ground, nodata: self.nodata.as_ref(), outlets: &self.outlets }
    }
}

fn sum(ground: &Field<Height>) -> i64 {
    ground.as_slice().iter().map(|h| i64::from(h.0)).sum()
}

/// Breaches depressions by trying all paths: costs are lowered along every step until none can be lowered
/// (Bellman–Ford). The ground must have no two cells of equal height.
fn slow_breach(land: &Land<'_>, depth: i64, cells: f64) -> (Field<Height>, usize) {
    let parts = land.cell_roles();
    let cols = land.grid.cols();
    let directions = d8::route_d8(land);
    let mut pits: Vec<usize> = (0..directions.len()).filter(|k| directions.as_slice()[*k] == PIT).collect();
    pits.sort_by_key(|k| land.ground.as_slice()[*k]);
    let (mut ground, mut kept) = (land.ground.as_slice().to_vec(), 0);
    for pit in pits {
        let height = land.ground.as_slice()[pit].0;
        if ground[pit].0 < height {
            continue;
        }
        let allowed = |k: usize| {
            let away = ((k / cols).abs_diff(pit / cols) as f64).hypot((k % cols).abs_diff(pit % cols) as f64);
            let cut = i64::from((ground[k].0 - height).max(0));
            (parts.as_slice()[k] != CellRole::Void && away <= cells && cut <= depth).then_some(cut)
        };
        let mut costs = vec![(i64::MAX, pit); ground.len()];
        costs[pit].0 = 0;
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for k in (0..ground.len()).filter(|k| allowed(*k).is_some()) {
                for (_, Cell { row: r, col: c }) in land.neighbours(k / cols, k % cols) {
                    let (before, _) = costs[r * cols + c];
                    if before < i64::MAX && before + allowed(k).unwrap() < costs[k].0 {
                        costs[k] = (before + allowed(k).unwrap(), r * cols + c);
                        changed = true;
                    }
                }
            }
        }
        let runs_on = |k: &usize| {
            let mut around = land.neighbours(*k / cols, *k % cols);
            matches!(parts.as_slice()[*k], CellRole::Rim | CellRole::Sink)
                || around.any(|(_, Cell { row: r, col: c })| {
                    ground[r * cols + c].0 < height && parts[(r, c)] != CellRole::Void
                })
        };
        let ends = (0..ground.len()).filter(|k| costs[*k].0 < i64::MAX).filter(runs_on);
        let Some(mut k) = ends.min_by_key(|k| costs[*k].0) else {
            kept += 1;
            continue;
        };
        while k != pit {
            ground[k].0 = ground[k].0.min(height);
            k = costs[k].1;
        }
    }
    (Field::from_vec(land.ground.size(), ground).unwrap(), kept)
}

#[test]
fn breaching_finds_the_least_cut() {
    let (mut cut, mut left) = (0, 0);
    for case in 0..1200 {
        let key = RandomKey::new(case, "breach");
        let ground = Ground::random(key, 8, 1 << 29);
        let land = ground.land();
        let depth = [f64::INFINITY, 2000.0, 500.0][case as usize % 3];
        let cells = [f64::INFINITY, 3.0, 1.5][case as usize / 3 % 3];
        let result = breach_depressions(&land, &BreachLimits { depth, length: cells * ground.grid.cell }).unwrap();
        let units = if depth.is_finite() { (depth * UNITS) as i64 } else { i64::MAX };
        let (slow, kept) = slow_breach(&land, units, cells);
        assert_eq!((&result.ground, result.kept), (&slow, kept), "case {case}");
        assert_eq!(result.removed, sum(land.ground) - sum(&result.ground), "case {case}");
        cut += usize::from(result.removed > 0);
        left += result.kept;
    }
    assert!(cut > 300 && left > 100, "{cut} cut, {left} left");
}

#[test]
fn breached_ground_drains() {
    for case in 0..1200 {
        let ground = Ground::random(RandomKey::new(case, "drains"), 12, [3, 8, 60][case as usize % 3]);
        let land = ground.land();
        let free = breach_depressions(&land, &BreachLimits::default()).unwrap();
        // The substitute for an outlet may move when the ground is incised, but everything still drains.
        assert_eq!(fill::fill_depressions(&land.with_ground(&free.ground)), free.ground, "case {case}");
        assert_eq!(free.kept, 0, "case {case}");
        let units = 2;
        let limits = BreachLimits { depth: f64::from(units) / UNITS, length: 2.0 * ground.grid.cell };
        let some = breach_depressions(&land, &limits).unwrap();
        for (after, before) in some.ground.as_slice().iter().zip(land.ground.as_slice()) {
            assert!(after <= before && before.0 - after.0 <= units, "case {case}");
        }
        let under = land.with_ground(&some.ground);
        let filled = fill::fill_depressions(&under);
        assert_eq!(some.kept == 0, filled == some.ground, "case {case}");
        assert!(!d8::route_d8(&under.with_ground(&filled)).as_slice().contains(&PIT), "case {case}");
    }
}

#[test]
fn breaching_with_nothing_allowed_changes_nothing() {
    let ground = Ground::random(RandomKey::new(3, "nothing"), 20, 50);
    let none = breach_depressions(&ground.land(), &BreachLimits { depth: 0.0, length: 0.0 }).unwrap();
    assert_eq!((none.removed, &none.ground), (0, &ground.ground));
    for bad in [-1.0, f64::NAN] {
        assert!(breach_depressions(&ground.land(), &BreachLimits { depth: bad, ..BreachLimits::default() }).is_err());
        assert!(breach_depressions(&ground.land(), &BreachLimits { length: bad, ..BreachLimits::default() }).is_err());
    }
}

#[test]
fn a_level_dam_is_cut_straight() {
    // A pit, a dam of one height that is three cells thick, and the open edge: the straight path is the shortest of
    // the equal ones.
    let mut grid = Grid::new([9, 5], 10.0).unwrap();
    grid.edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
    let mut ground = Field::new(grid.size, Height(50));
    ground[(4, 0)] = Height(10);
    let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
    let result = breach_depressions(&land, &BreachLimits::default()).unwrap();
    let cut = |i: usize, j: usize| result.ground[(i, j)] == Height(10);
    assert!((0..5).all(|j| cut(4, j)));
    assert_eq!((result.removed, result.breached), (4 * 40, 1));
    let short = breach_depressions(&land, &BreachLimits { depth: f64::INFINITY, length: 39.0 }).unwrap();
    assert_eq!((short.removed, short.kept), (0, 1));
}

#[test]
fn the_angle_of_a_plane_is_its_own() {
    let grid = Grid::new([5, 7], 10.0).unwrap();
    for step in 0..720 {
        let theta = (f64::from(step) + 0.25) * TAU / 720.0;
        // The falls are a million units a cell, so that each difference, off by at most a unit, turns the angle by at
        // most √2 · 10⁻⁶; an f32 below 2π is off by at most 2.4 · 10⁻⁷, twice here.
        let height = |i: usize, j: usize| -1e6 * (libm::cos(theta) * j as f64 - libm::sin(theta) * i as f64);
        let ground = Field::from_fn(grid.size, |i, j| Height(height(i, j).round() as i32));
        let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
        let angles = route_d_infinity(&land, &d8::route_d8(&land));
        for (i, j) in [(1, 1), (2, 3), (3, 5)] {
            assert!((f64::from(angles[(i, j)]) - theta).abs() < 2e-6, "{theta}: {}", angles[(i, j)]);
        }
    }
}

#[test]
fn a_cone_is_the_same_from_all_sides() {
    let n = 41;
    let grid = Grid::new([n, n], 10.0).unwrap();
    let half = n as i64 / 2;
    let away = |i: usize, j: usize| ((i as i64 - half) as f64, (j as i64 - half) as f64);
    let ground = Field::from_fn(grid.size, |i, j| {
        let (y, x) = away(i, j);
        Height((-1e6 * (x * x + y * y).sqrt()).round() as i32)
    });
    let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
    let angles = route_d_infinity(&land, &d8::route_d8(&land));
    for i in 1..n - 1 {
        for j in 1..n - 1 {
            let (y, x) = away(i, j);
            // On axes and diagonals two facets may be equal, and the tie-break hash decides.
            if x == 0.0 || y == 0.0 || x.abs() == y.abs() {
                continue;
            }
            let turned = f64::from(angles[(n - 1 - j, i)]);
            let apart = |a: f64, b: f64| ((a - b).rem_euclid(TAU)).min((b - a).rem_euclid(TAU));
            assert!(apart(f64::from(angles[(i, j)]) + FRAC_PI_2, turned) < 1e-6, "({i}, {j})");
            // The facet extends up to a cell farther out, so its direction is between those of its corners.
            let out = libm::atan2(-y, x).rem_euclid(TAU);
            assert!(apart(f64::from(angles[(i, j)]), out) < 1.0 / x.hypot(y), "({i}, {j})");
        }
    }
}

#[test]
fn shares_are_of_the_neighbours_on_either_side() {
    assert_eq!(split_angle(0.0), Some([(0, infinity::WHOLE), (7, 0)]));
    // Halfway between north (90°) and north-west (135°); in f32 the half is off by at most a part in 2²³ · ½.
    let [(first, north), (second, north_west)] = split_angle(1.963_495_4).unwrap();
    assert_eq!((first, second), (6, 5));
    assert!(north.abs_diff(north_west) < 16 && north + north_west == infinity::WHOLE);
    for none in [infinity::NONE, -1e-9, f32::NAN, 6.283_185_5, f32::INFINITY] {
        assert_eq!(split_angle(none), None, "{none}");
    }
}

#[test]
fn water_by_angles_is_kept_to_the_unit() {
    for case in 0..600 {
        let key = RandomKey::new(case, "infinity");
        let ground = Ground::random(key, 16, [4, 40, 1 << 28][case as usize % 3]);
        let land = ground.land();
        let surface = if case % 2 == 0 { fill::fill_depressions(&land) } else { ground.ground.clone() };
        let land = land.with_ground(&surface);
        let directions = d8::route_d8(&land);
        let angles = route_d_infinity(&land, &directions);
        let weights = Field::from_fn(ground.grid.size, |i, j| {
            (key.derive_key(30).for_cell([i as i64, j as i64]).random_bits() % (1 << 40)) as i64 - (1 << 38)
        });
        let sums = accumulate_d_infinity(&directions, &angles, &weights).unwrap();
        let (mut given, mut arrived) = (0, 0);
        for k in 0..weights.len() {
            if directions.as_slice()[k] == VOID {
                assert_eq!(sums.as_slice()[k], 0);
                continue;
            }
            given += weights.as_slice()[k];
            assert_eq!(angles.as_slice()[k] == infinity::NONE, directions.as_slice()[k] >= 8, "case {case}");
            if angles.as_slice()[k] == infinity::NONE {
                arrived += sums.as_slice()[k];
            }
            let cols = directions.cols();
            for (to, part) in split_angle(angles.as_slice()[k]).into_iter().flatten().filter(|(_, part)| *part > 0) {
                let n = find_receiver(k, to, cols).unwrap();
                let (here, there) = (surface.as_slice()[k], surface.as_slice()[n]);
                let by_d8 = part == infinity::WHOLE && to == directions.as_slice()[k];
                assert!(there < here || (there == here && by_d8), "case {case}");
            }
        }
        assert_eq!(given, arrived, "case {case}");
    }
}

#[test]
fn sums_by_angles_equal_those_from_high_to_low() {
    for case in 0..200 {
        let ground = Ground::random(RandomKey::new(case, "order"), 14, 1 << 29);
        let land = ground.land();
        let directions = d8::route_d8(&land);
        let angles = route_d_infinity(&land, &directions);
        let weights = Field::new(ground.grid.size, 1000);
        let mut order: Vec<usize> = (0..weights.len()).filter(|k| directions.as_slice()[*k] != VOID).collect();
        order.sort_by_key(|k| std::cmp::Reverse(land.ground.as_slice()[*k]));
        let mut sums: Vec<i64> = directions.as_slice().iter().map(|d| if *d == VOID { 0 } else { 1000 }).collect();
        for k in order {
            if let Some([(first, _), (second, part)]) = split_angle(angles.as_slice()[k]) {
                let over = i64::try_from(i128::from(sums[k]) * i128::from(part) / (1 << 24)).unwrap();
                for (to, amount) in [(first, sums[k] - over), (second, over)].into_iter().filter(|(_, a)| *a > 0) {
                    sums[find_receiver(k, to, directions.cols()).unwrap()] += amount;
                }
            }
        }
        assert_eq!(accumulate_d_infinity(&directions, &angles, &weights).unwrap().as_slice(), sums, "case {case}");
    }
}

#[test]
fn angles_in_circles_or_to_nowhere_are_refused() {
    let directions = Field::from_vec([1, 3], vec![0, 4, 8]).unwrap().into();
    let run = |angles: [f32; 3]| {
        let angles = Field::from_vec([1, 3], angles.to_vec()).unwrap();
        accumulate_d_infinity(&directions, &angles, &Field::new([1, 3], 1)).map_err(|e| e.to_string())
    };
    let west = std::f32::consts::PI;
    assert!(run([0.0, west, -1.0]).unwrap_err().contains("2 cells in cycles"));
    assert!(run([0.5, -1.0, -1.0]).unwrap_err().contains("row 0, column 0"));
    assert!(run([west, -1.0, -1.0]).is_err());
    assert_eq!(run([0.0, 0.0, -1.0]).unwrap().as_slice(), [1, 2, 3]);
    assert!(accumulate_d_infinity(&directions, &Field::new([1, 2], 0.0), &Field::new([1, 3], 1)).is_err());
}

#[test]
fn a_basin_is_all_that_ends_at_its_outlet() {
    for case in 0..400 {
        let ground = Ground::random(RandomKey::new(case, "basins"), 20, [5, 1000][case as usize % 2]);
        let directions = d8::route_d8(&ground.land());
        let land = ground.land();
        let labels = label_basins(&land, &directions).unwrap();
        let cols = directions.cols();
        let (mut numbers, mut seen) = (BTreeMap::new(), 0);
        let follow = |k: usize, until: usize| {
            let mut at = k;
            while let Some(n) = find_receiver(at, directions.as_slice()[at], cols).filter(|_| at != until) {
                at = n;
            }
            at
        };
        let probe = case as usize % directions.len();
        let inside = delineate_catchment(&directions, [probe / cols, probe % cols]);
        assert_eq!(inside.is_err(), directions.as_slice()[probe] == VOID);
        for k in 0..directions.len() {
            let number = labels.as_slice()[k];
            assert_eq!(number > 0, land.is_dry(k / cols, k % cols), "case {case}");
            if number > 0 {
                let end = follow(k, k + directions.len());
                assert_eq!(*numbers.entry(end).or_insert(number), number, "one outlet, one basin: case {case}");
                assert!(number <= seen + 1, "numbers rise by one");
                seen = seen.max(number);
            }
            if let Ok(inside) = &inside {
                let here = directions.as_slice()[k] != VOID && follow(k, probe) == probe;
                assert_eq!(inside.as_slice()[k], here, "case {case}");
            }
        }
        assert_eq!(numbers.len(), seen as usize, "another outlet, another basin");
        assert!(delineate_catchment(&directions, [directions.rows(), 0]).is_err());
    }
}

#[test]
fn directions_in_circles_have_no_basin() {
    let directions = Field::from_vec([1, 5], vec![0, 0, 4, 8, 4]).unwrap().into();
    let terrain = Terrain::new(Grid::new([1, 5], 1.0).unwrap());
    assert_eq!(label_basins(&Land::from_terrain(&terrain), &directions).unwrap().as_slice(), [0, 0, 0, 1, 1]);
}

#[test]
fn angles_are_the_same_on_any_number_of_threads() {
    let ground = Ground::random(RandomKey::new(8, "threads"), 60, 30);
    let land = ground.land();
    let directions = d8::route_d8(&land);
    let run = |threads: usize| {
        with_threads(threads, || {
            (route_d_infinity(&land, &directions), breach_depressions(&land, &BreachLimits::default()).unwrap())
        })
    };
    assert!(run(1) == run(2) && run(1) == run(7));
}
