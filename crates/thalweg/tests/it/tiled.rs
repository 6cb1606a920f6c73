//! Tests of drainage by tiles against drainage in memory, to the bit.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::long;
use crate::support::elevation_model_path;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::{ChannelReach, Lake, TileGrid};
use thalweg_core::{
    Cell, Edge, Error, Field, Georeference, Grid, Height, NoProgress, Progress, ProgressReport, Terrain,
};
use thalweg_export::survey::{DrainOptions, Survey};
use thalweg_flow::streams::to_esri_codes;
use thalweg_io::features::save_lakes;
use thalweg_io::lake_file::LakeFile;
use thalweg_io::{LoadOptions, Samples, load_terrain, write_atomically};
use thalweg_render::products::lakes::outline_lakes;
use thalweg_tiled::memory::drain_in_memory;
use thalweg_tiled::{LayerRead, TileInput, TileLayer, drainage};

/// The number of units in a metre.
const METRE: i32 = 65_536;

/// Returns the data of an in-memory survey in the form of the tiles' layers.
fn expected(terrain: &Terrain, survey: &Survey) -> BTreeMap<TileLayer, Samples> {
    let area = terrain.grid.cell_area();
    let void = |k: usize| terrain.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]);
    let heights = |field: &Field<Height>| -> Samples {
        let heights = field.as_slice().iter().enumerate();
        Samples::I32(heights.map(|(k, height)| if void(k) { i32::MIN } else { height.0 }).collect())
    };
    let (_, numbers) = outline_lakes(terrain, &survey.lake_depth).unwrap();
    let depths = survey.lake_depth.as_slice().iter().map(|depth| depth.0).collect();
    BTreeMap::from([
        (TileLayer::Height, heights(&terrain.ground)),
        (TileLayer::Filled, heights(&survey.filled)),
        (TileLayer::Direction, Samples::U8(to_esri_codes(&survey.directions).into_vec())),
        (TileLayer::Angle, Samples::F32(survey.angles.as_slice().to_vec())),
        (TileLayer::Area, Samples::F64(survey.cells.as_slice().iter().map(|n| f64::from(*n) * area).collect())),
        (TileLayer::Basin, Samples::U32(survey.basins.as_slice().to_vec())),
        (TileLayer::Order, Samples::U8(survey.orders.as_slice().iter().map(|order| *order as u8).collect())),
        (TileLayer::Lake, Samples::U32(numbers.into_vec())),
        (TileLayer::Depth, Samples::I32(depths)),
    ])
}

/// Drains a terrain by tiles of each side, in a pseudo-random order, and compares all results with those in memory.
fn compare(name: &str, terrain: &Terrain, options: &DrainOptions, sides: &[usize]) {
    let options = &DrainOptions { depressions: true, ..options.clone() };
    let survey = Survey::from_terrain(terrain, options, &mut NoProgress).unwrap();
    let expected = expected(terrain, &survey);
    let (known, _) = outline_lakes(terrain, &survey.lake_depth).unwrap();
    let cols = terrain.grid.cols();
    for side in sides {
        let key = RandomKey::new(*side as u64, name);
        let shuffle = |tiles: &mut [usize]| tiles.sort_by_key(|tile| key.derive_key(*tile as u64).random_bits());
        let drained = drain_in_memory(terrain, options, *side, shuffle, &mut NoProgress).unwrap();
        for (layer, samples) in &expected {
            let found = &drained.layers[layer];
            assert_eq!((found.kind(), found.len()), (layer.kind(), samples.len()), "{name}, side {side}: {layer:?}");
            let wrong: Vec<usize> = (0..samples.len()).filter(|k| found.get(*k) != samples.get(*k)).collect();
            if let Some(k) = wrong.first() {
                let (i, j) = (k / cols, k % cols);
                let count = wrong.len();
                let (found, samples) = (found.get(*k), samples.get(*k));
                panic!(
                    "{name}, side {side}: {layer:?} differs in {count} cells, first ({i}, {j}): {found}, not {samples}"
                );
            }
        }
        assert_eq!(drained.channels.reaches.len(), survey.channels.reaches.len(), "{name}, side {side}");
        for (reach, other) in drained.channels.reaches.iter().zip(&survey.channels.reaches) {
            assert_eq!(reach, other, "{name}, side {side}");
            let bits = |x: &ChannelReach| [x.length, x.drop, x.slope, x.drainage_area].map(f64::to_bits);
            assert_eq!(bits(reach), bits(other));
        }
        assert_eq!(drained.basins, u64::from(survey.basins.as_slice().iter().copied().max().unwrap_or(0)));
        assert_eq!(drained.lakes.len(), known.len(), "{name}, side {side}");
        for (lake, other) in drained.lakes.iter().zip(&known) {
            assert!(lake == other, "{name}, side {side}: {lake:?}, not {other:?}");
        }
        let known = survey.depressions.as_deref().unwrap();
        for (one, other) in drained.depressions.iter().zip(known) {
            assert!(one == other, "{name}, side {side}: {one:?}, not {other:?}");
        }
        assert_eq!(drained.depressions.len(), known.len(), "{name}, side {side}");
    }
}

/// Builds a terrain with cells of 10 m from heights in units.
fn land(size: [usize; 2], height: impl Fn(usize, usize) -> i32 + Sync) -> Terrain {
    let ground = Field::from_fn(size, |i, j| Height(height(i, j)));
    Terrain::from_ground(Grid::new(size, 10.0).unwrap(), ground).unwrap()
}

/// Returns options with which streams begin at a drainage area of `cells` cells.
fn streams(cells: usize) -> DrainOptions {
    DrainOptions { threshold: Some(100.0 * cells as f64), ..DrainOptions::default() }
}

/// Returns value noise in metres: hills and depressions about 12 cells wide, with finer ones on them.
fn hills(seed: u64, i: usize, j: usize) -> f64 {
    let key = RandomKey::new(seed, "hills");
    let octave = |wide: usize, high: f64| {
        let corner = |r: usize, c: usize| key.derive_key(wide as u64).for_cell([r as i64, c as i64]).uniform_unit();
        let (r, c) = (i / wide, j / wide);
        let (y, x) = ((i % wide) as f64 / wide as f64, (j % wide) as f64 / wide as f64);
        let row = |r: usize| corner(r, c) * (1.0 - x) + corner(r, c + 1) * x;
        high * (row(r) * (1.0 - y) + row(r + 1) * y)
    };
    octave(61, 60.0) + octave(13, 12.0) + octave(5, 3.0)
}

fn units(metres: f64) -> i32 {
    (metres * f64::from(METRE)) as i32
}

#[test]
fn small_lands_of_all_kinds_in_tiles_of_few_cells() {
    for n in 0..long::or(150, 4000u64) {
        let key = RandomKey::new(n, "small tiled");
        let draw = |what: u64, below: u64| (key.derive_key(what).random_bits() >> 20) % below;
        let size = [1 + draw(0, 23) as usize, 1 + draw(1, 27) as usize];
        let heights = [1, 2, 3, 6, 40][draw(2, 5) as usize];
        let mut terrain = land(size, |i, j| {
            let value = (key.for_cell([i as i64, j as i64]).random_bits() >> 20) % heights;
            value as i32 * METRE + if heights == 40 { (i * i + j) as i32 } else { 0 }
        });
        terrain.grid.edges = [0, 1, 2, 3].map(|side| if n >> side & 1 == 0 { Edge::Open } else { Edge::Closed });
        let share = [0, 0, 8, 50, 97][draw(4, 5) as usize];
        let void =
            Field::from_fn(size, |i, j| key.derive_key(5).for_cell([i as i64, j as i64]).random_bits() % 100 < share);
        terrain.nodata = (share > 0).then_some(void);
        terrain.grid.sea_level = (draw(6, 4) == 0).then(|| Height(draw(7, heights) as i32 * METRE));
        let mut options = streams(1 + draw(8, 9) as usize);
        if draw(9, 3) == 0 {
            let cells = (0..size[0]).flat_map(|i| (0..size[1]).map(move |j| [i, j]));
            let chosen =
                |cell: &[usize; 2]| key.derive_key(10).for_cell(cell.map(|at| at as i64)).random_bits() % 100 < 4;
            let cells = cells.filter(|[i, j]| chosen(&[*i, *j]) && !terrain.is_nodata(*i, *j));
            options.outlets = cells.map(Cell::from).collect();
        }
        compare(&format!("land {n}"), &terrain, &options, &[1 + draw(11, 3) as usize, 2 + draw(12, 8) as usize, 64]);
    }
}

#[test]
fn noise_with_ties_and_without() {
    let size = long::or([203, 311], [2051, 3077]);
    let sides = [64, 97, 256, 1024];
    compare(
        "white noise",
        &land(size, |i, j| RandomKey::new(3, "white").for_cell([i as i64, j as i64]).random_bits() as i32 >> 6),
        &streams(40),
        &sides,
    );
    let rounded = |i: usize, j: usize| hills(4, i, j) as i32 * METRE;
    compare("whole metres", &land(size, rounded), &streams(25), &sides);
    compare("hills", &land(size, |i, j| units(hills(5, i, j))), &streams(60), &sides);
    let mut closed = land(size, |i, j| units(hills(6, i, j)) / METRE / 4 * METRE * 4);
    closed.grid.edges = [Edge::Closed; 4];
    compare("closed", &closed, &streams(60), &sides);
    closed.grid.edges[1] = Edge::Open;
    compare(
        "one open side",
        &closed,
        &DrainOptions { outlets: vec![Cell::new(70, 64), Cell::new(0, 0), Cell::new(100, 127)], ..streams(9) },
        &sides,
    );
    let mut sea = land(size, |i, j| units(hills(7, i, j)));
    sea.grid.sea_level = Some(Height(30 * METRE));
    compare("sea", &sea, &streams(30), &sides);
}

#[test]
fn flats_over_many_tiles() {
    let size = long::or([163, 331], [1637, 2311]);
    let [rows, cols] = size;
    let sides = [16, 33, 64];
    compare("plain", &land(size, |_, _| METRE), &streams(30), &sides);
    let mut closed = land(size, |_, _| METRE);
    closed.grid.edges = [Edge::Closed; 4];
    compare("closed plain", &closed, &streams(30), &sides);
    // A lake with islands that covers most of the terrain and overflows at one place.
    let lake = |i: usize, j: usize| {
        let rim = i == 0 || j == 0 || i + 1 == rows || j + 1 == cols;
        let island = hills(8, i, j) > 52.0;
        if (i, j) == (rows / 3, cols - 1) {
            5
        } else if rim {
            30
        } else if island {
            40
        } else {
            1 + (i + j) as i32 % 2
        }
    };
    compare("lake with islands", &land(size, |i, j| lake(i, j) * METRE), &streams(30), &sides);
    // A corridor seven cells wide that winds inward between walls.
    let spiral = |i: usize, j: usize| {
        let (y, x) = (i as f64 - rows as f64 / 2.0, (j as f64 - cols as f64 / 2.0) / 2.0);
        let turn = (y.hypot(x) - 4.0 * y.atan2(x) / std::f64::consts::PI) % 8.0;
        if (0.0..1.3).contains(&turn) { 20 } else { 10 }
    };
    compare("spiral", &land(size, |i, j| spiral(i, j) * METRE), &streams(30), &sides);
    let cone = |i: usize, j: usize| 200 * METRE - units((i as f64 - 80.0).hypot(j as f64 - 128.0));
    compare("cone", &land(size, cone), &streams(30), &sides);
    compare("funnel", &land(size, |i, j| -cone(i, j)), &streams(30), &sides);
    let terraces = |i: usize, j: usize| units((i as f64 - 80.0).hypot(j as f64 - 128.0)) / METRE / 24 * METRE;
    compare("terraces", &land(size, terraces), &streams(30), &sides);
}

/// One lake whose islands, of one cell or many, lie within tiles, across borders and around corners; cells touch at
/// corners everywhere.
#[test]
fn outlines_of_lakes_with_many_islands() {
    let size = [137, 151];
    let [rows, cols] = size;
    for (name, share) in [("few", 0.02), ("some", 0.3), ("most", 0.6), ("nearly all", 0.9)] {
        let key = RandomKey::new(17, name);
        let shape = |i: usize, j: usize| {
            let rim = i == 0 || j == 0 || i + 1 == rows || j + 1 == cols;
            if rim || key.for_cell([i as i64, j as i64]).uniform_unit() < share { 30 } else { 10 }
        };
        compare(name, &land(size, |i, j| shape(i, j) * METRE), &streams(30), &[3, 16, 33, 64, 97, 256]);
        let mut holed = land(size, |i, j| (if shape(i, j) == 30 && i % 3 > 0 { 30 } else { 10 }) * METRE);
        holed.nodata = Some(Field::from_fn(size, |i, j| shape(i, j) == 30 && (i + j) % 2 == 0));
        holed.grid.edges = [Edge::Closed; 4];
        // The only outlet is high up, so that everything below it is a lake.
        let options = DrainOptions { outlets: vec![Cell::new(1, 0)], ..streams(30) };
        compare(name, &holed, &options, &[5, 64, 97]);
    }
    // The largest possible number of corners: every other cell is land.
    let board = |i: usize, j: usize| {
        let rim = i == 0 || j == 0 || i + 1 == rows || j + 1 == cols;
        if rim || (i + j).is_multiple_of(2) { 30 } else { 10 }
    };
    compare("board", &land(size, |i, j| board(i, j) * METRE), &streams(30), &[1, 2, 31, 64]);
    // Nested rings: lakes on islands in lakes.
    let rings = |i: usize, j: usize| [10, 30][i.abs_diff(60).max(j.abs_diff(70)) / 5 % 2];
    compare("rings", &land(size, |i, j| rings(i, j) * METRE), &streams(30), &[7, 20, 64, 97]);
}

#[test]
fn islands_without_data_over_borders_and_corners() {
    let size = [197, 263];
    for (name, wide, share) in [("holes", 9, 0.2), ("rags", 3, 0.5), ("crumbs", 1, 0.9)] {
        let mut terrain = land(size, |i, j| hills(11, i, j) as i32 * METRE);
        let key = RandomKey::new(12, name);
        let void = |i: usize, j: usize| {
            let corner = i.abs_diff(64) < 3 && j.abs_diff(64) < 3;
            corner || key.for_cell([(i / wide) as i64, (j / wide) as i64]).uniform_unit() < share
        };
        terrain.nodata = Some(Field::from_fn(size, void));
        compare(name, &terrain, &streams(12), &[32, 64, 97]);
    }
    let mut rim = land(size, |i, j| units(hills(13, i, j)));
    rim.nodata = Some(Field::from_fn(size, |i, j| i < 64 || j < 3 || i > 180 || j == 262));
    rim.grid.edges = [Edge::Closed; 4];
    compare("rim", &rim, &streams(12), &[64, 97]);
}

#[test]
fn lakes_by_pieces_are_the_bytes_of_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let transform = Some([500_000.125, 25.0, 0.0, 4_100_000.7, 0.0, -25.0]);
    // EPSG:32633 as GeoTIFF keys.
    let keys = vec![1, 1, 0, 1, 3072, 0, 1, 32633];
    let georeference = Georeference { transform, keys, ..Georeference::default() };
    let plain = Grid::new([90, 80], 25.0).unwrap();
    let placed = Grid { georeference: Some(georeference), ..plain.clone() };
    let line =
        |n: usize| -> Vec<Cell<f64>> { (0..n).map(|k| Cell::new(0.5 * k as f64, 7.0 / (k + 1) as f64)).collect() };
    let lake = |id: u32, outline: Vec<Vec<Cell<f64>>>| {
        let mut lake = Lake::default();
        (lake.id, lake.level, lake.outline) = (id, 3.7 * f64::from(id), outline);
        lake.outlet = id.is_multiple_of(2).then_some(Cell::new(4, 5));
        lake
    };
    let some = [lake(1, vec![line(5)]), lake(2, vec![line(9), line(4)]), lake(3, Vec::new()), lake(4, vec![line(4)])];
    for (grid, lakes) in [(&plain, &some[..]), (&placed, &some[..]), (&plain, &some[..1]), (&plain, &[])] {
        let [whole, pieces] = ["a", "b"].map(|name| folder.path().join(name).join("lakes.geojson"));
        for path in [&whole, &pieces] {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        save_lakes(&whole, lakes, grid).unwrap();
        write_atomically(&pieces, |file| {
            let mut file = LakeFile::new(file, &pieces, grid)?;
            for lake in lakes {
                file.begin_lake(lake)?;
                for line in &lake.outline {
                    file.add_shore_points(true, &line[..2])?;
                    line[2..].chunks(3).try_for_each(|points| file.add_shore_points(false, points))?;
                }
            }
            file.finish()
        })
        .unwrap();
        assert_eq!(std::fs::read_to_string(&whole).unwrap(), std::fs::read_to_string(&pieces).unwrap());
    }
}

#[test]
fn an_elevation_model() {
    let path = elevation_model_path();
    let terrain = load_terrain(path, &LoadOptions::default()).unwrap().terrain;
    compare("jacksboro", &terrain, &DrainOptions::default(), &[64, 97, 256, 1024]);
}

#[test]
fn what_cannot_be_done_is_said() {
    let terrain = land([20, 30], |i, j| (i * j) as i32);
    let refused = |grid: &Grid, side: usize, options: &DrainOptions| {
        drainage::tile_passes(grid, side, options).err().expect("a refusal").to_string()
    };
    let none = DrainOptions::default();
    let mut looped = terrain.grid.clone();
    looped.edges = [Edge::Looped; 4];
    assert!(refused(&looped, 8, &none).contains("looped"));
    assert!(refused(&terrain.grid, 0, &none).contains("tile side = 0 cells"));
    assert!(
        refused(&terrain.grid, 8, &DrainOptions { outlets: vec![Cell::new(20, 0)], ..none.clone() }).contains("row 20")
    );
    assert!(
        refused(&terrain.grid, 8, &DrainOptions { breach: Some(Default::default()), ..none.clone() })
            .contains("breach")
    );
    assert!(refused(&terrain.grid, 8, &DrainOptions { threshold: Some(-1.0), ..none.clone() }).contains("threshold"));
    let mut holed = terrain.clone();
    holed.nodata = Some(Field::from_fn([20, 30], |i, _| i == 7));
    let options = DrainOptions { outlets: vec![Cell::new(7, 9)], ..none.clone() };
    let error = drain_in_memory(&holed, &options, 8, |_| {}, &mut NoProgress).unwrap_err().to_string();
    assert!(error.contains("row 7, column 9"), "{error}");
    // Far more cells than a grid in memory may have.
    let huge = Grid { size: [400_000, 300_000], world: [400_000, 300_000], ..terrain.grid.clone() };
    assert!(drainage::tile_passes(&huge, 1024, &none).is_ok());
    assert_eq!(TileGrid::new(huge.size, 1024).unwrap().tile_count(), 391 * 293);
}

#[test]
fn draining_by_tiles_reports_each_tile_and_can_be_stopped() {
    let terrain = land([37, 41], |i, j| hills(21, i, j) as i32 / 4 * METRE);
    let drain = |progress: &mut dyn Progress| drain_in_memory(&terrain, &streams(5), 16, |_| {}, progress);
    let mut reports = Vec::new();
    drain(&mut |report: &ProgressReport<'_>| {
        reports.push((report.task.to_string(), report.done, report.total));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(reports.iter().zip(0..).all(|((_, done, total), n)| *done == n && *total == reports.len() as u64));
    // Each pass visits nine tiles and is then solved.
    assert!(reports.chunks(10).all(|pass| pass[9].0 == "solve" && pass[..9].iter().all(|tile| tile.0 == pass[0].0)));
    let mut count = 0;
    let stopped = drain(&mut |_: &ProgressReport<'_>| {
        count += 1;
        ControlFlow::Break(())
    });
    assert!(matches!(&stopped, Err(Error::Stopped { what }) if *what == reports[0].0), "{stopped:?}");
    assert_eq!(count, 1);
}

#[test]
fn damaged_bytes_are_refused_and_never_end_the_program() {
    let size = [37, 41];
    let terrain = land(size, |i, j| hills(21, i, j) as i32 / 4 * METRE);
    let tiling = TileGrid::new(size, 16).unwrap();
    let options = DrainOptions { depressions: true, ..streams(5) };
    let passes = drainage::tile_passes(&terrain.grid, 16, &options).unwrap();
    let whole = drain_in_memory(&terrain, &options, 16, |_| {}, &mut NoProgress).unwrap();
    let inputs = |step: usize, tile: usize| -> Vec<Samples> {
        let cut = |LayerRead { layer, halo }: &LayerRead| {
            let window = tiling.window_with_halo(tile, *halo);
            let Cell { row: top, col: left } = window.start;
            let cells = (0..window.size()[0] * window.size()[1])
                .map(|k| (top + k / window.size()[1]) * size[1] + left + k % window.size()[1]);
            match &whole.layers[&TileLayer::from_name(layer).unwrap()] {
                Samples::I32(v) => Samples::I32(cells.map(|k| v[k]).collect()),
                Samples::U8(v) => Samples::U8(cells.map(|k| v[k]).collect()),
                Samples::F64(v) => Samples::F64(cells.map(|k| v[k]).collect()),
                Samples::U32(v) => Samples::U32(cells.map(|k| v[k]).collect()),
                other => panic!("{}", other.kind()),
            }
        };
        passes[step].input_layers().iter().map(cut).collect()
    };
    let mut answers = vec![Vec::new(); tiling.tile_count()];
    let run = |step: usize, tile: usize, layers: Vec<Samples>, answer: &[u8]| {
        passes[step].run_tile(TileInput { tile, layers, answer, summaries: Vec::new() })
    };
    let mut refused = 0;
    for step in 0..passes.len() {
        let mut summaries: Vec<Vec<u8>> = Vec::new();
        for tile in 0..tiling.tile_count() {
            summaries.push(run(step, tile, inputs(step, tile), &answers[tile]).unwrap().summary);
            for n in 0..6u64 {
                let mut broken = answers[tile].clone();
                damage(&mut broken, n * 1000 + tile as u64);
                refused += usize::from(run(step, tile, inputs(step, tile), &broken).is_err());
            }
        }
        for n in 0..long::or(60, 3000u64) {
            let mut broken = summaries.clone();
            damage(&mut broken[n as usize % tiling.tile_count()], n);
            refused += usize::from(passes[step].solve(&broken, &mut |_| Ok(())).is_err());
        }
        assert!(passes[step].solve(&summaries[1..].to_vec(), &mut |_| Ok(())).is_err());
        assert!(run(step, tiling.tile_count(), inputs(step, 0), &answers[0]).is_err());
        assert!(run(step, 0, Vec::new(), &answers[0]).is_err());
        assert!(run(step, 0, vec![Samples::U8(vec![0; 3])], &answers[0]).is_err());
        answers = passes[step].solve(&summaries, &mut |_| Ok(())).unwrap();
        answers.resize(tiling.tile_count(), Vec::new());
    }
    assert!(refused > 100, "only {refused}");
}

/// Truncates, extends or changes some bytes.
fn damage(bytes: &mut Vec<u8>, seed: u64) {
    let key = RandomKey::new(seed, "damage");
    let draw = |what: u64, below: usize| (key.derive_key(what).random_bits() >> 20) as usize % below.max(1);
    match draw(0, 4) {
        0 => bytes.truncate(draw(1, bytes.len())),
        1 => bytes.push(draw(1, 256) as u8),
        _ if bytes.is_empty() => bytes.push(1),
        _ => {
            for n in 0..1 + draw(1, 4) as u64 {
                let at = draw(2 + n, bytes.len());
                bytes[at] = draw(9 + n, 256) as u8;
            }
        }
    }
}
