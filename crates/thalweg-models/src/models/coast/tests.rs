//! Tests of the coast on shores where the effect of waves is known.

use super::*;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Edge, Field, Grid, Height, Terrain};

const CELL: f64 = 10.0;

/// Returns land of 120 × 160 cells with sea level 0, open only in the west.
fn world(z: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
    let edges = [Edge::Closed, Edge::Closed, Edge::Closed, Edge::Open];
    let grid = Grid { edges, sea_level: Some(Height::ZERO), ..Grid::new([120, 160], CELL).unwrap() };
    let ground = Field::from_fn(grid.size, |i, j| Height::from_metres_clamped(z(i as f64 * CELL, j as f64 * CELL)));
    Terrain::from_ground(grid, ground).unwrap()
}

fn run(model: &Coast, terrain: &mut Terrain) -> MassBalance {
    let mut stepper = model.start(&terrain.grid).unwrap();
    let mut budget = MassBalance::default();
    for step in 0..model.steps(&terrain.grid) {
        budget += stepper.run_step(terrain, Tick { key: RandomKey::new(1, "coast"), step }).unwrap();
    }
    budget
}

/// Returns the first column of land in row `i`, from the west.
fn shoreline(terrain: &Terrain, i: usize) -> usize {
    (0..160).find(|j| terrain.ground[(i, *j)].0 >= 0).unwrap_or(160)
}

#[test]
fn the_open_sea_is_exposed_a_straight_shore_half_and_a_lake_hardly() {
    let mut open = world(|_, _| -50.0);
    open.grid.edges = [Edge::Open; 4];
    let model = Coast::default();
    let exposure = fetch::compute_wave_exposure(&model, &open, 0);
    assert!(exposure.as_slice().iter().all(|e| (e - 1.0).abs() < 1e-5));

    // Of 16 directions, 8 face the open sea. The others have only the cell's own water in front of them, a thousandth
    // of a fetch, or a few cells of it: 8/16, and 8 times √0.001/16, up to twice that.
    let mut shore = world(|_, x| if x < 800.0 { -50.0 } else { 50.0 });
    shore.grid.edges[0] = Edge::Open;
    shore.grid.edges[2] = Edge::Open;
    let at = fetch::compute_wave_exposure(&model, &shore, 0)[(60, 79)];
    assert!((0.5..0.532).contains(&at), "{at}");

    let lake = world(|y, x| if (y - 600.0).hypot(x - 800.0) < 200.0 { -50.0 } else { 50.0 });
    let at = fetch::compute_wave_exposure(&model, &lake, 0)[(60, 80)];
    // About 200 m of water in each direction: the square root of a fiftieth.
    assert!(at < 0.17, "{at}");
}

#[test]
fn a_plane_coast_moves_back_by_the_rate_and_leaves_a_platform() {
    let plane = |_: f64, x: f64| 0.3 * (x - 600.0);
    let mut terrain = world(plane);
    terrain.grid.edges[0] = Edge::Open;
    terrain.grid.edges[2] = Edge::Open;
    let model = Coast { years: 4000.0, retreat: 0.1, sandy: 0.0, ..Coast::default() };
    let exposure = fetch::compute_wave_exposure(&model, &terrain, 0);
    // The mean over the water in front of the shore: half of the sea, and a little for the water in between.
    let waves =
        (20..100).flat_map(|i| (54..60).map(move |j| (i, j))).map(|at| f64::from(exposure[at])).sum::<f64>() / 480.0;
    assert!((0.5..0.56).contains(&waves), "{waves}");
    let before = terrain.sum_solid();
    let budget = run(&model, &mut terrain);
    assert_eq!(terrain.sum_solid() - before, budget.solid_change());
    // About 200 m of retreat in deep water; a platform of 8 m at 1.5° attenuates waves as it widens.
    let wide = 8.0 / model.platform.to_radians().tan();
    let due = wide * (waves * 400.0 / wide).ln_1p();
    for i in 20..100 {
        let moved = (shoreline(&terrain, i) as f64 - 60.0) * CELL;
        // Land begins with the first cell whose centre is behind the line, up to one cell further; waves vary along
        // the shore.
        assert!((moved - due).abs() < CELL, "row {i} moved by {moved} m, {due} are due");
    }
    // A platform: from the shore 100 m out, no deeper than its slope allows and no higher than the sea.
    let shore = shoreline(&terrain, 60);
    for back in 1..=(due / CELL / 2.0) as usize {
        let depth = -terrain.ground[(60, shore - back)].metres();
        let most = (back as f64 + 1.0) * CELL * model.platform.to_radians().tan();
        assert!((0.0..=most + 0.01).contains(&depth), "{back} cells out it is {depth} m deep, allowed is {most}");
    }
    let rise = |j: usize| (terrain.ground[(60, j + 1)].metres() - terrain.ground[(60, j)].metres()) / CELL;
    let cliff = (shore - 1..shore + 8).map(rise).fold(0.0, f64::max);
    assert!(cliff > 0.6, "behind it a cliff rises, by {cliff}");
    assert!(terrain.ground[(60, 158)].metres() > 0.29 * 980.0, "inland nothing has changed");
}

/// Returns the sizes in cells of the connected parts of land, or of sea.
fn parts(terrain: &Terrain, land: bool) -> Vec<usize> {
    let [rows, cols] = terrain.grid.size;
    let mut unvisited = Field::from_fn(terrain.grid.size, |i, j| (terrain.ground[(i, j)].0 >= 0) == land);
    let mut sizes = Vec::new();
    for first in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
        let mut size = 0;
        let mut todo = vec![first];
        while let Some((i, j)) = todo.pop() {
            if i < rows && j < cols && std::mem::take(&mut unvisited[(i, j)]) {
                size += 1;
                todo.extend([(i.wrapping_sub(1), j), (i + 1, j), (i, j.wrapping_sub(1)), (i, j + 1)]);
            }
        }
        sizes.extend((size > 0).then_some(size));
    }
    sizes
}

#[test]
fn no_specks_of_land_or_sea_are_left_of_a_rough_low_coast() {
    // A coast that rises by a fiftieth, with bumps up to 3 m high of one cell and of a few cells: the sea is full of
    // islets at first.
    let key = RandomKey::new(7, "bumps");
    let bump = |y: f64, x: f64, wide: f64| key.for_cell([(y / wide) as i64, (x / wide) as i64]).uniform_unit() - 0.5;
    let mut terrain = world(|y, x| 0.02 * (x - 600.0) + 4.0 * bump(y, x, 10.0) + 2.0 * bump(y, x, 40.0));
    terrain.grid.edges[0] = Edge::Open;
    terrain.grid.edges[2] = Edge::Open;
    // Parts of less than 1500 m².
    let specks = |terrain: &Terrain| [true, false].map(|land| parts(terrain, land).iter().filter(|n| **n < 15).count());
    let before = specks(&terrain);
    assert!(before[0] > 50 && before[1] > 50, "{before:?}");
    run(&Coast { retreat: 0.1, years: 3000.0, ..Coast::default() }, &mut terrain);
    assert_eq!(specks(&terrain), [0, 0]);
    // The shore is a line: it moves little from row to row.
    let shore: Vec<_> = (5..115).map(|i| shoreline(&terrain, i)).collect();
    assert!(shore.windows(2).all(|pair| pair[0].abs_diff(pair[1]) <= 3), "{shore:?}");
}

#[test]
fn waves_come_from_where_the_swell_does() {
    let mut island = world(|y, x| 0.3 * (150.0 - (y - 600.0).hypot(x - 800.0)));
    island.grid.edges = [Edge::Open; 4];
    let model = Coast { swell: 0.8, swell_from: 90.0, shelter: 1.0, ..Coast::default() };
    let exposure = fetch::compute_wave_exposure(&model, &island, 0);
    let [west, east] = [exposure[(60, 64)], exposure[(60, 96)]];
    // 10 m off a round island of 150 m, directions up to 180° − asin(150/160) = 110° from the seaward one are open.
    // With the weight 1 ± 0.8·cos α they add up to 0.613 ± 0.8·sin 110°/π.
    assert!((east - 0.852).abs() < 0.07 && (west - 0.375).abs() < 0.07, "west {west}, east {east}");
}

#[test]
fn exposure_is_that_of_rays_from_every_cell() {
    // Two islands and a shore in an open sea; only the land itself gives shelter.
    let z = |y: f64, x: f64| {
        let islands = (150.0 - (y - 300.0).hypot(x - 500.0)).max(100.0 - (y - 800.0).hypot(x - 700.0));
        0.3 * islands.max(x - 1300.0)
    };
    let mut terrain = world(z);
    terrain.grid.edges = [Edge::Open; 4];
    let model = Coast { fetch: 1000.0, shelter: 1.0, ..Coast::default() };
    let found = fetch::compute_wave_exposure(&model, &terrain, 0);
    let ray = |i: usize, j: usize, direction: [f64; 2]| {
        let mut metres = 0.0;
        loop {
            let [y, x] = [i as f64 + 0.5 - direction[0] * metres / CELL, j as f64 + 0.5 - direction[1] * metres / CELL];
            if !(0.0..120.0).contains(&y) || !(0.0..160.0).contains(&x) || metres >= 1000.0 {
                return 1.0;
            }
            if terrain.ground[(y as usize, x as usize)].metres() >= -0.5 {
                return metres / 1000.0;
            }
            metres += 1.0;
        }
    };
    let (mut sum, mut count) = (0.0, 0.0);
    for (i, j) in (2..118).step_by(5).flat_map(|i| (2..158).step_by(5).map(move |j| (i, j))) {
        if terrain.ground[(i, j)].metres() >= -1.0 {
            continue;
        }
        let rays = (0..16).map(|n| {
            let turn = (f64::from(n) + 0.5) / 16.0 * std::f64::consts::TAU;
            ray(i, j, [turn.sin(), turn.cos()]).sqrt()
        });
        let expected = rays.sum::<f64>() / 16.0;
        // A sweep interpolates between two cells, so the edges of shadows are soft, by one or two of the 16
        // directions.
        let off = (f64::from(found[(i, j)]) - expected).abs();
        assert!(off < 0.13, "({i}, {j}): {} for {expected}", found[(i, j)]);
        sum += off;
        count += 1.0;
    }
    assert!(sum / count < 0.02, "{} in the mean", sum / count);
}

#[test]
fn hard_or_protected_rock_and_land_without_a_sea_stay() {
    let plane = |_: f64, x: f64| 0.3 * (x - 600.0);
    for spec in [&HARDNESS, &PROTECT] {
        let mut terrain = world(plane);
        let size = terrain.grid.size;
        terrain.insert_layer(spec, thalweg_core::terrain::Cells::Float(Field::new(size, 1.0))).unwrap();
        let before = terrain.ground.clone();
        run(&Coast::default(), &mut terrain);
        assert_eq!(terrain.ground, before, "{}", spec.name);
    }
    let mut dry = world(plane);
    dry.grid.sea_level = None;
    let before = dry.ground.clone();
    assert_eq!(run(&Coast { reef: 0.01, ..Coast::default() }, &mut dry), MassBalance::default());
    assert_eq!(dry.ground, before);
}

#[test]
fn capes_are_cut_and_bays_get_their_sand() {
    // A cape in the middle rows, with bays of shallow floors on both sides.
    let shore = |y: f64| 700.0 - 250.0 * (std::f64::consts::TAU * (y / 1200.0 - 0.25)).sin();
    let mut terrain = world(|y, x| (0.25 * (x - shore(y))).max(0.04 * (x - shore(y))));
    let before = terrain.clone();
    let budget = run(&Coast { retreat: 0.1, ..Coast::default() }, &mut terrain);
    assert!(budget.deposited > 0);
    let change = |rows: std::ops::Range<usize>| {
        rows.map(|i| shoreline(&terrain, i) as i64 - shoreline(&before, i) as i64).sum::<i64>()
    };
    let cape = (0..120).min_by_key(|i| shoreline(&before, *i)).unwrap();
    let bay = (10..110).max_by_key(|i| shoreline(&before, *i)).unwrap();
    let [cape_moved, bay_moved] = [cape, bay].map(|at| change(at.saturating_sub(3)..(at + 4).min(120)));
    assert!(cape_moved > bay_moved + 7, "the cape moved by {cape_moved}, the bay by {bay_moved} cells in seven rows");
    let loose = terrain.loose.as_ref().unwrap();
    let sand = |at: usize| {
        let rows = at.saturating_sub(5)..(at + 6).min(120);
        rows.flat_map(|i| (0..160).map(move |j| (i, j))).map(|c| loose[c].metres()).sum::<f64>()
    };
    assert!(sand(bay) > 2.0 * sand(cape), "{} in the bay, {} at the cape", sand(bay), sand(cape));
}

#[test]
fn a_lagoon_keeps_its_shores() {
    let lagoon = |y: f64, x: f64| (y - 600.0).hypot(x - 1000.0) < 150.0;
    let mut terrain = world(|y, x| if x < 500.0 || lagoon(y, x) { -5.0 } else { 8.0 });
    terrain.grid.edges[0] = Edge::Open;
    terrain.grid.edges[2] = Edge::Open;
    run(&Coast { retreat: 0.1, sandy: 0.0, ..Coast::default() }, &mut terrain);
    let sea = |from: usize| (0..120).flat_map(move |i| (from..160).map(move |j| (i, j)));
    let wet = sea(60 + 20).filter(|at| terrain.ground[*at].0 < 0).count() as f64;
    let was = std::f64::consts::PI * 15.0 * 15.0;
    // Waves of 300 m of water are a sixth of full waves: the lake's radius grows by a few tens of metres at most.
    assert!(wet < 1.5 * was, "{wet} cells of water, {was} before");
    let open = shoreline(&terrain, 60);
    assert!(open >= 58, "half exposed, 150 m were due in deep water; it moved from column 50 to {open}");
}

#[test]
fn corals_build_a_reef_with_a_lagoon_behind() {
    // A shelf that slopes gently down to 40 m.
    let mut terrain = world(|_, x| 0.03 * (x - 1300.0) - 0.5);
    let model = Coast { reef: 0.1, lagoon: 300.0, retreat: 0.0, ..Coast::default() };
    let before = terrain.sum_solid();
    let budget = run(&model, &mut terrain);
    assert!(budget.added > 0);
    assert_eq!(terrain.sum_solid() - before, budget.solid_change());
    let row: Vec<f64> = (0..160).map(|j| terrain.ground[(60, j)].metres()).collect();
    let reef = (0..110).filter(|j| row[*j] > -1.0).count();
    assert!(reef > 3, "{reef} cells of reef near the sea's level");
    let lagoon = (110..130).map(|j| row[j]).fold(0.0, f64::min);
    assert!(lagoon < -2.0, "the lagoon is {lagoon} m deep");
    assert!(row[..130].iter().all(|z| *z <= -0.49));
}
