//! Tests of measures on terrains whose answers are known, and on terrains that have none.

use std::f64::consts::PI;

use crate::support::{elevation_model_path, terrain_on, with_threads};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Edge, Field, Grid, Height, Terrain};
use thalweg_flow::{Land, accumulate, d8, fill, find_receiver};
use thalweg_render::products::measure::{MeasureOptions, Measures, draw_measures, list_specs, measure_terrain};

/// Builds ground from a function of the metres eastward and northward of the south-western cell; heights are in
/// metres.
fn terrain(size: [usize; 2], cell: f64, z: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
    let rows = size[0];
    terrain_on(Grid::new(size, cell).unwrap(), |i, j| z(j as f64 * cell, (rows - 1 - i) as f64 * cell))
}

fn measured(terrain: &Terrain) -> Measures {
    measure_terrain(terrain, &MeasureOptions::default()).unwrap()
}

#[track_caller]
fn near(found: &Measures, name: &str, want: f64, within: f64) {
    let value = found.value(name).unwrap_or_else(|| panic!("{name} is missing"));
    assert!((value - want).abs() <= within, "{name}: {value}, not {want}");
}

#[test]
fn a_plane() {
    // The plane rises by 3/8 eastward and 1/2 northward, binary fractions: 32.005° everywhere, with the aspect 180° +
    // atan(3/4).
    let found = measured(&terrain([60, 80], 8.0, |x, y| 0.375 * x + 0.5 * y));
    let slope = 0.625f64.atan().to_degrees();
    ["slope_p05", "slope_median", "slope_p95"].iter().for_each(|name| near(&found, name, slope, 1e-9));
    near(&found, "aspect_strength", 1.0, 1e-12);
    near(&found, "aspect_alignment", -100.0, 1e-9);
    near(&found, "hypsometric_integral", 0.5, 1e-9);
    near(&found, "curvature_size", 0.0, 1e-9);
    near(&found, "form_slope", 100.0, 3.0); // cells at corners see fewer neighbours
    near(&found, "drained", 100.0, 0.0);
    let aspects = &found.curve("aspect_histogram").unwrap().points;
    let way = 180.0 + 0.75f64.atan().to_degrees();
    assert!(aspects.iter().all(|[at, share]| ((at - way).abs() < 2.5) == (*share > 99.9)));
    for name in ["slope_skewness", "curvature_skewness", "spectral_exponent", "concavity"] {
        let m = found.measures.iter().find(|m| m.spec.name == name).unwrap();
        assert!(m.value.is_none() && m.missing.is_some(), "{m:?}");
    }
}

#[test]
fn a_cone() {
    // There is no data outside the cone's foot. The share of land above relative height h is (1 − h)²; the integral is
    // a third.
    let (n, r) = (201, 1000.0);
    let away = |i: usize, j: usize| (i as f64 - 100.0).hypot(j as f64 - 100.0) * 10.0;
    let mut cone = terrain([n, n], 10.0, |_, _| 0.0);
    cone.ground = Field::from_fn([n, n], |i, j| Height::from_metres_clamped(500.0 - 0.5 * away(i, j)));
    cone.nodata = Some(Field::from_fn([n, n], |i, j| away(i, j) > r));
    let found = measured(&cone);
    // A disc of cells has the area of the circle except for its rim: a difference of 1 % or less.
    near(&found, "hypsometric_integral", 1.0 / 3.0, 0.003);
    for [share, height] in &found.curve("hypsometric_curve").unwrap().points {
        assert!((share - (1.0 - height).powi(2)).abs() < 0.012, "{share} above {height}");
    }
    near(&found, "slope_median", 0.5f64.atan().to_degrees(), 0.05);
    near(&found, "aspect_strength", 0.0, 1e-9);
    // 314 cells lie on a radius of at most 100 cells: directions are quantised but evenly distributed.
    near(&found, "aspect_alignment", 0.0, 3.0);
    let land = found.measures.iter().find(|m| m.spec.name == "pits").unwrap();
    assert_eq!(land.value, Some(0.0));
}

#[test]
fn curvature_of_bowls_and_ridges() {
    // A bowl z = r²/100 has the Laplacian 0.04/m = 40/km everywhere.
    let bowl = measured(&terrain([41, 41], 10.0, |x, y| ((x - 200.0).powi(2) + (y - 200.0).powi(2)) / 100.0));
    near(&bowl, "curvature_size", 40.0, 0.02);
    // V-shaped valleys with round ridges (|cos|) have few, strongly concave cells and many weakly convex ones.
    let sharp = |sign: f64| measured(&terrain([64, 256], 10.0, move |x, _| sign * 50.0 * (PI * x / 320.0).cos().abs()));
    assert!(sharp(1.0).value("curvature_skewness").unwrap() > 0.3);
    assert!(sharp(-1.0).value("curvature_skewness").unwrap() < -0.3);
}

/// Builds ground on which the slope of every channel is area^−θ: each cell is above its receiver by that slope, and
/// flow directions are computed again until they no longer change. Only the southern edge is open.
fn steady(n: usize, cell: f64, theta: f64) -> Terrain {
    let key = RandomKey::new(11, "steady");
    let mut terrain = terrain([n, n], cell, |x, y| 0.02 * y + key.for_cell([x as i64, y as i64]).uniform_unit());
    terrain.grid.edges = [Edge::Closed, Edge::Closed, Edge::Open, Edge::Closed];
    for _ in 0..40 {
        let land = Land::from_terrain(&terrain);
        let filled = fill::fill_depressions(&land);
        let directions = d8::route_d8(&land.with_ground(&filled));
        let cells = accumulate::count_upstream_cells(&directions);
        let mut heights = vec![0.0; n * n];
        for &k in accumulate::upstream_order(&directions).iter().rev() {
            let k = k as usize;
            if let Some(next) = find_receiver(k, directions.as_slice()[k], n) {
                let step = if directions.as_slice()[k] % 2 == 1 { 2f64.sqrt() } else { 1.0 } * cell;
                heights[k] = heights[next] + step * 0.8 * f64::from(cells.as_slice()[k]).powf(-theta);
            }
        }
        terrain.ground =
            Field::from_vec([n, n], heights.into_iter().map(Height::from_metres_clamped).collect()).unwrap();
    }
    terrain
}

#[test]
fn the_concavity_of_a_steady_land_is_found_again() {
    let settings = MeasureOptions { channel_area: Some(25.0 * 0.0025), ..MeasureOptions::default() };
    for theta in [0.35, 0.5, 0.65] {
        let land = steady(192, 50.0, theta);
        let found = measure_terrain(&land, &settings).unwrap();
        // Slopes over ten cells blur confluences, where area jumps, towards the gentler channel: by a few hundredths.
        near(&found, "concavity", theta, 0.05);
        near(&found, "concavity_chi", theta, 0.03);
        assert!(found.value("concavity_fit").unwrap() > 0.95);
        near(&found, "drained", 100.0, 0.0);
        // The initial ground has no order, so Hack's exponent is that of random trees on a lattice.
        near(&found, "hack_exponent", 0.55, 0.1);
    }
}

#[test]
fn a_turn_changes_no_measure_of_the_surface() {
    let key = RandomKey::new(3, "turn");
    let land = terrain([96, 80], 10.0, |x, y| {
        40.0 * (x / 90.0).sin() + 0.2 * y + 9.0 * key.for_cell([x as i64, y as i64]).uniform_unit()
    });
    let mut turned = terrain([80, 96], 10.0, |_, _| 0.0);
    turned.ground = Field::from_fn([80, 96], |i, j| land.ground[(j, 79 - i)]);
    let (a, b) = (measured(&land), measured(&turned));
    let surface = ["slope", "hyps", "curv", "prof", "plan", "form", "pit", "level", "relief", "mean", "spec", "aspect"];
    for (x, y) in a.measures.iter().zip(&b.measures).filter(|(m, _)| surface.iter().any(|s| m.spec.name.starts_with(s)))
    {
        assert_eq!(x.missing, y.missing, "{}", x.spec.name);
        let Some((p, q)) = x.value.zip(y.value) else { continue };
        assert!((p - q).abs() <= 1e-6 * p.abs().max(1.0), "{}: {p}, turned {q}", x.spec.name);
    }
}

#[test]
fn what_cannot_be_had_is_missing_with_a_reason() {
    let flat = |size| terrain(size, 10.0, |_, _| 5.0);
    let mut empty = flat([9, 9]);
    empty.nodata = Some(Field::new([9, 9], true));
    let mut drowned = terrain([40, 40], 10.0, |x, _| x / 10.0);
    drowned.grid.sea_level = Some(Height::from_metres_clamped(1000.0));
    let mut closed = terrain([40, 40], 10.0, |x, y| (x - 200.0).abs() + y);
    closed.grid.edges = [Edge::Closed; 4];
    let spike = terrain([33, 35], 0.001, |x, y| if x + y < 0.02 { 16_000.0 } else { -16_000.0 });
    let tiny = [[1, 1], [1, 2], [2, 1], [2, 2], [3, 3], [1, 300], [300, 1], [2, 50]].map(flat);
    let names: Vec<&str> = list_specs().iter().map(|spec| spec.name).collect();
    for terrain in tiny.iter().chain([&empty, &drowned, &closed, &spike, &flat([130, 40])]) {
        let found = measured(terrain);
        assert_eq!(found.measures.iter().map(|m| m.spec.name).collect::<Vec<_>>(), names);
        for m in &found.measures {
            assert!(m.value.is_some() != m.missing.is_some() && m.value.is_none_or(f64::is_finite), "{m:?}");
        }
        let points = found.curves.iter().flat_map(|curve| curve.points.iter().flatten());
        assert!(points.copied().all(f64::is_finite));
        let drawing = draw_measures(&[("<&>", &found)]);
        assert!(drawing.ends_with("</svg>\n") && drawing.contains("&lt;&amp;&gt;") && !drawing.contains("NaN"));
        assert!(!drawing.contains("inf"));
        assert!(serde_json::to_string(&found).unwrap().contains("\"measures\""));
    }
    for settings in [
        MeasureOptions { channel_area: Some(0.0), ..MeasureOptions::default() },
        MeasureOptions { channel_area: Some(f64::NAN), ..MeasureOptions::default() },
        MeasureOptions { search: 0, ..MeasureOptions::default() },
        MeasureOptions { flatness: -1.0, ..MeasureOptions::default() },
    ] {
        assert!(measure_terrain(&tiny[0], &settings).is_err());
    }
}

#[test]
fn sea_is_no_land() {
    // On a ramp from −100 m to 100 m only the dry half is measured.
    let mut ramp = terrain([40, 201], 10.0, |x, _| 0.1 * x - 100.0);
    ramp.grid.sea_level = Some(Height::ZERO);
    let found = measured(&ramp);
    near(&found, "relief", 99.0, 1e-9);
    near(&found, "mean_height", 50.5, 1e-9);
    near(&found, "drained", 100.0, 0.0);
}

#[test]
fn a_real_model_is_as_nature_is() {
    let path = elevation_model_path();
    let real = thalweg_io::load_terrain(path, &Default::default()).unwrap().terrain;
    let found = measured(&real);
    for (name, [from, to]) in [
        ("concavity", [0.3, 0.7]),
        ("concavity_chi", [0.3, 0.7]),
        ("hack_exponent", [0.45, 0.6]),
        ("horton_bifurcation", [3.0, 5.0]),
        ("horton_length", [1.5, 3.5]),
        ("horton_area", [3.0, 6.0]),
        ("spectral_exponent", [2.0, 4.0]),
    ] {
        let value = found.value(name).unwrap();
        assert!((from..=to).contains(&value), "{name}: {value}");
    }
    // Any number of threads gives the same figures.
    let one = with_threads(1, || measured(&real));
    let many = with_threads(7, || measured(&real));
    assert!(one == found && many == found);
    // The difference between a terrain and itself is 0.
    assert!(found.differences(&one).iter().all(|d| d.distance.is_none_or(|d| d == 0.0)));
    let words = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/measure.md")).unwrap();
    for s in list_specs() {
        let row = format!("| {} | {} |\n", s.nature, s.source);
        assert!(words.contains(&format!("| `{}` | {} | {} |", s.name, s.title, s.unit)), "docs/measure.md: {}", s.name);
        assert!(words.contains(&row), "docs/measure.md: {row}");
    }
}

/// Measures computed by rows equal those computed in memory to the bit; those that need the whole map are left out and
/// reported as such.
#[test]
fn by_rows_as_in_memory() {
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::field::Field;
    use thalweg_core::terrain::grid::Grid;
    use thalweg_core::terrain::height::Height;
    use thalweg_core::terrain::{CellRect, Terrain};
    use thalweg_render::products::measure::{MeasureOptions, measure_rows, measure_terrain};

    for seed in 0..14u64 {
        let number = |of: &str, n: u64| RandomKey::new(seed, of).random_bits() % n;
        let size = match seed {
            0 => [1, 1],
            1 => [600, 1],
            2 => [2, 300],
            3 => [256, 60],
            4 => [257, 61],
            _ => [20 + number("rows", 700) as usize, 20 + number("cols", 120) as usize],
        };
        let key = RandomKey::new(seed, "rows of measures");
        let rough = [0.0, 3.0, 40.0][number("rough", 3) as usize];
        let ground = Field::from_fn(size, |i, j| {
            let hills = 200.0 * (i as f64 / 57.0).sin() * (j as f64 / 31.0).cos() + 0.2 * i as f64;
            Height::from_metres_clamped((hills + rough * key.for_cell([i as i64, j as i64]).uniform_signed()).round())
        });
        let mut land = Terrain::from_ground(Grid::new(size, 25.0).unwrap(), ground).unwrap();
        land.grid.sea_level = (seed % 3 == 0).then_some(Height::from_metres_clamped(-50.0));
        let hole = |i: usize, j: usize| seed == 13 || (i / 40 + j / 17).is_multiple_of(5) || (i > 300 && j == 7);
        land.nodata = (seed % 2 == 1).then(|| Field::from_fn(size, hole));
        let settings = MeasureOptions { search: [1, 3, 20][seed as usize % 3], ..MeasureOptions::default() };
        let whole = measure_terrain(&land, &settings).unwrap();
        let read = &mut |rows: std::ops::Range<usize>| {
            let window = CellRect::new([rows.start, 0], [rows.len(), size[1]]);
            let grid = Grid { sea_level: land.grid.sea_level, ..Grid::new(window.size(), 25.0)? };
            let nodata = land.nodata.as_ref().map(|mask| mask.copy_window(window));
            Ok(Terrain { nodata, ..Terrain::from_ground(grid, land.ground.copy_window(window))? })
        };
        let by_rows = measure_rows(&land.grid, &settings, read).unwrap();
        assert_eq!(whole.measures.len(), by_rows.measures.len());
        let mut told = 0;
        for (a, b) in whole.measures.iter().zip(&by_rows.measures) {
            assert_eq!(a.spec, b.spec);
            if !b.missing.is_some_and(|why| why.starts_with("left out")) {
                assert_eq!(
                    (a.value.map(f64::to_bits), a.missing),
                    (b.value.map(f64::to_bits), b.missing),
                    "{seed} {}",
                    a.spec.name
                );
                told += 1;
            }
        }
        // Slopes, heights, curvatures, landforms, level land, the rim.
        assert_eq!(told, 8 + 4 + 4 + 10 + 1 + 2, "{seed}");
        assert!(by_rows.curves.iter().all(|curve| Some(curve) == whole.curve(curve.name)), "{seed}");
    }
}
