//! Tests of the dunes: fluxes and shadows with known values, and the forms that a bed of sand must develop.

use super::*;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Field, Grid, Height, Terrain};

const CELL: f64 = 10.0;

fn tick(step: u32) -> Tick {
    Tick { key: RandomKey::new(7, "dunes"), step }
}

fn plain(side: usize, edge: Edge) -> Terrain {
    Terrain::new(Grid { edges: [edge; 4], ..Grid::new([side, side], CELL).unwrap() })
}

/// Runs steps `from` to `to`, or all from there.
fn run(model: &Dunes, terrain: &mut Terrain, from: u32, to: Option<u32>) -> MassBalance {
    let mut stepper = model.start(&terrain.grid).unwrap();
    let mut budget = MassBalance::default();
    for step in from..to.unwrap_or(model.steps(&terrain.grid)) {
        budget += stepper.run_step(terrain, tick(step)).unwrap();
    }
    budget
}

/// Cells on a side of a field that has room for several crests.
const WIDE: usize = 256;

/// Returns a field of dunes after 500 years of wind from `wind`.
fn field(side: usize, wind: f64) -> (Dunes, Terrain) {
    let model = Dunes { years: 500.0, wind, ..Dunes::default() };
    let mut terrain = plain(side, Edge::Open);
    run(&model, &mut terrain, 0, None);
    (model, terrain)
}

#[test]
fn a_plain_of_sand_carries_the_flux_asked_for() {
    // Slabs cross the eastern edge as they cross any line, and the wind brings as many over the western one.
    let model =
        Dunes { years: 1.0, slab: 0.5, patchiness: 0.0, gusts: 0.0, speed_up: 0.0, creep: 0.0, ..Dunes::default() };
    let mut terrain = plain(96, Edge::Open);
    terrain.grid.edges[0] = Edge::Closed;
    terrain.grid.edges[2] = Edge::Closed;
    let before = terrain.sum_solid();
    let budget = run(&model, &mut terrain, 0, None);
    let sand = (model.sand * UNITS) as i128 * 96 * 96;
    assert_eq!(terrain.sum_solid() - before, budget.solid_change());
    let flux = |units: i128| units as f64 / UNITS * CELL * CELL / (96.0 * CELL * model.years);
    // About 400 crossings by shares of slabs, each with a random size: an error of a twentieth.
    let (out, came) = (flux(budget.exported), flux(budget.added - sand));
    assert!((out / model.transport - 1.0).abs() < 0.1, "{out} m²/a leave");
    assert!((came / model.transport - 1.0).abs() < 0.1, "{came} m²/a come");
}

#[test]
fn a_wall_throws_a_shadow_of_its_height_over_the_tangent() {
    for degrees in [0.0, 90.0, 180.0, 270.0, 315.0, 250.0] {
        let model = Dunes { wind: degrees, gusts: 0.0, shadow: 15.0, ..Dunes::default() };
        let wind = model.wind_direction(tick(0));
        // A wall across the wind through the middle: 30 m high, a cell or two thick.
        let mut terrain = plain(81, Edge::Open);
        let along = |i: usize, j: usize| (i as f64 - 40.0) * wind[0] + (j as f64 - 40.0) * wind[1];
        terrain.ground = Field::from_fn([81, 81], |i, j| {
            Height::from_metres_clamped(if along(i, j).abs() <= 1.0 { 30.0 } else { 0.0 })
        });
        let air = WindField::new(&terrain, wind, &model);
        for (i, j) in (0..81).flat_map(|i| (0..81).map(move |j| (i, j))) {
            let behind = along(i, j);
            // Only the middle: the shadow beyond the sides is unknown. Between two cells of an oblique wall's face the
            // crest is an average, so the shadow's end is known to two cells.
            let aside = (i as f64 - 40.0) * wind[1] - (j as f64 - 40.0) * wind[0];
            if aside.abs() > 15.0 {
                continue;
            }
            let end = 30.0 / (15f64.to_radians().tan() * CELL);
            let shaded = air.shade[(i, j)] > 0.0;
            assert!(shaded || !(2.5..end - 2.0).contains(&behind), "{degrees}°: {behind} cells behind lies open");
            assert!(!shaded || (-1.5..end + 2.0).contains(&behind), "{degrees}°: {behind} cells behind lies in shadow");
        }
    }
}

#[test]
fn bedrock_and_walls_hold() {
    let mut terrain = plain(64, Edge::Closed);
    let key = RandomKey::new(1, "rock");
    terrain.ground = Field::from_fn([64, 64], |i, j| {
        let cliff = if (24..34).contains(&i) && (24..34).contains(&j) { 90.0 } else { 0.0 };
        Height::from_metres_clamped(cliff + key.for_cell([i as i64, j as i64]).uniform_unit())
    });
    let rock = terrain.ground.clone();
    let model = Dunes { years: 200.0, sand: 4.0, ..Dunes::default() };
    let budget = run(&model, &mut terrain, 0, None);
    assert_eq!(budget.exported, 0);
    let loose = terrain.loose.as_ref().unwrap();
    for k in 0..rock.len() {
        assert_eq!(terrain.ground[k].0 - loose[k].0, rock[k].0, "bedrock stands");
    }
    let top = (26..32).flat_map(|i| (26..32).map(move |j| (i, j))).map(|at| loose[at].metres()).sum::<f64>() / 36.0;
    assert!(top < 0.1, "{top} m of sand were blown up a cliff of 90 m");
}

/// Returns the power in 2 to 20 waves a side, within 30° of the east-west axis and within 30° of the north-south axis.
fn power(terrain: &Terrain) -> [f64; 2] {
    let side = terrain.grid.size[0];
    let z = terrain.ground_metres();
    let mut power = [0.0; 2];
    for (p, q) in (-20..=20i32).flat_map(|p| (0..=20i32).map(move |q| (p, q))) {
        let length = f64::from(p * p + q * q).sqrt();
        if !(2.0..=20.0).contains(&length) {
            continue;
        }
        let axis = [q, p.abs()].iter().position(|along| f64::from(*along) >= length * 0.866);
        let Some(axis) = axis else { continue };
        let mut sum = [0.0; 2];
        for i in 0..side {
            for j in 0..side {
                let turn = std::f64::consts::TAU * (f64::from(p) * i as f64 + f64::from(q) * j as f64) / side as f64;
                sum[0] += f64::from(z[(i, j)]) * turn.cos();
                sum[1] += f64::from(z[(i, j)]) * turn.sin();
            }
        }
        power[axis] += sum[0] * sum[0] + sum[1] * sum[1];
    }
    power
}

#[test]
fn one_wind_makes_ridges_across_it_with_steep_lees() {
    let (model, terrain) = field(WIDE, 270.0);
    let [along, across] = power(&terrain);
    // Crests wind. A field without a preferred direction has equal power both ways.
    assert!(along > 2.0 * across, "power along the wind {along:.3e}, across {across:.3e}");

    let z = &terrain.ground;
    let fall = |i: usize, j: usize| (f64::from(z[(i, j)].0 - z[(i, j + 1)].0) / UNITS / CELL).atan().to_degrees();
    let falls: Vec<f64> = (0..WIDE).flat_map(|i| (0..WIDE - 1).map(move |j| (i, j))).map(|(i, j)| fall(i, j)).collect();
    let share = |of: &dyn Fn(f64) -> bool| falls.iter().filter(|fall| of(**fall)).count() as f64 / falls.len() as f64;
    let (lee, stoss) = (share(&|fall| fall > 25.0), share(&|fall| fall < -25.0));
    assert!(lee > 0.01 && stoss < lee / 2.0, "{lee} of the ground falls by 25° and more, {stoss} rises so");
    assert!(falls.iter().all(|fall| *fall < model.repose + 0.01 && *fall > -model.repose - 0.01));
}

#[test]
fn windward_sides_are_gentle_and_lees_stand_at_repose() {
    let (model, terrain) = field(WIDE, 270.0);
    let z = terrain.ground_metres();
    let angle = |rise: f32, cells: usize| f64::from(rise / (cells as f32 * CELL as f32)).atan().to_degrees();
    let (mut windward, mut lee) = (Vec::new(), Vec::new());
    // Crests are the highest points of half a kilometre along the wind, at least 8 m above the lowest on both sides.
    for (i, j) in (4..WIDE - 4).flat_map(|i| (25..WIDE - 25).map(move |j| (i, j))) {
        let lowest = |range: std::ops::Range<usize>| range.map(|j| z[(i, j)]).fold(f32::MAX, f32::min);
        let (before, behind) = (lowest(j - 25..j), lowest(j + 1..j + 26));
        if (j - 25..j + 26).any(|other| z[(i, other)] > z[(i, j)]) || z[(i, j)] < before.max(behind) + 8.0 {
            continue;
        }
        let foot = (j - 25..j).rev().find(|foot| z[(i, *foot)] < before + 0.2 * (z[(i, j)] - before)).unwrap_or(j - 25);
        windward.push(angle(z[(i, j)] - z[(i, foot)], j - foot));
        lee.push((j..j + 25).map(|j| angle(z[(i, j)] - z[(i, j + 1)], 1)).fold(0.0, f64::max));
    }
    let median = |angles: &mut Vec<f64>| {
        angles.sort_by(f64::total_cmp);
        angles[angles.len() / 2]
    };
    assert!(lee.len() > 100, "{} crests", lee.len());
    let (windward, lee) = (median(&mut windward), median(&mut lee));
    assert!((3.0..14.0).contains(&windward), "windward sides of {windward:.1}°");
    assert!((28.0..model.repose + 0.1).contains(&lee), "lees of {lee:.1}°");
}

#[test]
fn dunes_walk_downwind() {
    let model = Dunes { years: 500.0, ..Dunes::default() };
    let mut terrain = plain(128, Edge::Open);
    let half = model.steps(&terrain.grid) * 8 / 10;
    run(&model, &mut terrain, 0, Some(half));
    let before = terrain.ground_metres();
    run(&model, &mut terrain, half, Some(half + 15));
    let after = terrain.ground_metres();
    let product = |lag: i64| -> f64 {
        let pairs = (0..128).flat_map(|i| (20..108).map(move |j| (i, j)));
        pairs.map(|(i, j)| f64::from(before[(i, j)]) * f64::from(after[(i, (j as i64 + lag) as usize)])).sum()
    };
    let best = (-15..=15).max_by(|a, b| product(*a).total_cmp(&product(*b))).unwrap();
    assert!((1..15).contains(&best), "dunes walked {best} cells");
}

#[test]
fn scarce_sand_leaves_the_ground_bare_between_dunes() {
    let model = Dunes { years: 300.0, sand: 4.0, inflow: 0.3, patchiness: 1.0, ..Dunes::default() };
    let mut terrain = plain(128, Edge::Open);
    run(&model, &mut terrain, 0, None);
    let loose = terrain.loose.as_ref().unwrap();
    let share = |over: f64| loose.as_slice().iter().filter(|h| h.metres() > over).count() as f64 / loose.len() as f64;
    // Four metres of sand that covered everything are now in dunes of at least four metres on a part of it.
    assert!(share(0.5) < 0.4 && share(4.0) > 0.05, "{} are under sand, {} under dunes", share(0.5), share(4.0));
}

#[test]
fn the_wind_may_blow_from_anywhere() {
    let mut found = Vec::new();
    for wind in [0.0, 270.0, 315.0, 292.5] {
        let (_, terrain) = field(128, wind);
        let part: Vec<f64> =
            (24..104).flat_map(|i| (24..104).map(move |j| (i, j))).map(|at| terrain.ground[at].metres()).collect();
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        let deviation = (part.iter().map(|z| (z - mean) * (z - mean)).sum::<f64>() / part.len() as f64).sqrt();
        found.push([mean, deviation]);
    }
    // A field has a few dunes each time, so results differ by a tenth to a fifth by chance.
    for [mean, deviation] in &found {
        let all = [0, 1].map(|k| found.iter().map(|one| one[k]).sum::<f64>() / found.len() as f64);
        assert!((mean / all[0] - 1.0).abs() < 0.3 && (deviation / all[1] - 1.0).abs() < 0.3, "{found:?}");
    }
}

#[test]
fn two_winds_at_an_angle_make_ridges_along_their_mean() {
    let model = Dunes { years: 500.0, wind_variation: 130.0, ..Dunes::default() };
    let mut terrain = plain(WIDE, Edge::Open);
    run(&model, &mut terrain, 0, None);
    let [along, across] = power(&terrain);
    assert!(across > 2.0 * along, "power along the mean of the winds {along:.3e}, across {across:.3e}");
}

#[test]
fn what_cannot_be_is_refused() {
    let grid = Grid::new([8, 8], 1.0).unwrap();
    let far = Dunes { hop: 500.0, ..Dunes::default() }.check(&grid).unwrap_err().to_string();
    assert!(far.contains("dunes.hop") && far.contains("200 m"), "{far}");
    let long = Dunes { slab: 1e-6, ..Dunes::default() }.check(&grid).unwrap_err().to_string();
    assert!(long.contains("dunes.years"), "{long}");
    let mut terrain = plain(8, Edge::Open);
    terrain.tables.insert(
        "sand".to_string(),
        Slab::pack([Slab::from_edge(1, Cell::new(9, 0), Cell::new(0.5, 0.5), 5)].into_iter()),
    );
    let mut stepper = Dunes::default().start(&terrain.grid).unwrap();
    assert!(stepper.run_step(&mut terrain, tick(1)).is_err());
}
