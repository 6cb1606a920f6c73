//! Tests of the drainage basins of a continent, measured on the file that a build writes, as another program would,
//! without code of the library.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::long;
use crate::support::{build_preset, shared_preset};
use rayon::prelude::*;
use thalweg_core::Terrain;
use thalweg_io::{SaveOptions, save_terrain};

/// The heights of an ASCII grid.
struct Map {
    size: [usize; 2],
    cell: f64,
    z: Vec<f64>,
}

impl Map {
    fn read(text: &str) -> Self {
        let mut words = text.split_ascii_whitespace().peekable();
        let (mut size, mut cell) = ([0; 2], 0.0);
        while words.peek().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_alphabetic())) {
            let (key, value) = (words.next().unwrap().to_ascii_lowercase(), words.next().unwrap());
            match key.as_str() {
                "nrows" => size[0] = value.parse().unwrap(),
                "ncols" => size[1] = value.parse().unwrap(),
                "cellsize" => cell = value.parse().unwrap(),
                _ => {}
            }
        }
        let z: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        assert_eq!(z.len(), size[0] * size[1]);
        Self { size, cell, z }
    }

    fn near(&self, k: usize) -> impl Iterator<Item = (usize, f64)> {
        let [rows, cols] = self.size.map(|n| n as i64);
        let (i, j) = (k as i64 / cols, k as i64 % cols);
        let around = (-1..=1).flat_map(|a| (-1..=1).map(move |b| (a, b))).filter(|by| *by != (0, 0));
        around.filter_map(move |(a, b)| {
            let (i, j) = (i + a, j + b);
            let inside = (0..rows).contains(&i) && (0..cols).contains(&j);
            inside.then_some(((i * cols + j) as usize, ((a * a + b * b) as f64).sqrt()))
        })
    }

    /// Returns the cells of the open sea: those not above 0 that are connected to the map's rim.
    fn sea(&self) -> Vec<bool> {
        let mut sea = vec![false; self.z.len()];
        let mut stack = vec![0];
        while let Some(k) = stack.pop() {
            if !sea[k] && self.z[k] <= 0.0 {
                sea[k] = true;
                stack.extend(self.near(k).map(|(n, _)| n));
            }
        }
        sea
    }
}

/// The measures of a continent, in km and km².
#[derive(Debug)]
struct Catchments {
    land: f64,
    /// The drainage areas, largest first.
    areas: Vec<f64>,
    /// The longest flow path to the mouth of the largest river.
    length: f64,
    /// The exponent of Hack's law, over all cells with a drainage area of more than 3000 km².
    hack: f64,
    /// The share of the land that lies below sea level without being part of the sea.
    sunken: f64,
}

/// Computes the drainage basins: water crosses depressions at their sills (Barnes et al. 2014) and elsewhere follows
/// the steepest descent; all of it ends in the open sea.
fn catchments(map: &Map) -> Catchments {
    let (sea, count, km) = (map.sea(), map.z.len(), map.cell / 1000.0);
    let key = |z: f64| (z * 1e4).round() as i64;
    let mut down = vec![usize::MAX; count];
    let mut order = Vec::new();
    let mut queue: BinaryHeap<_> = (0..count).filter(|k| sea[*k]).map(|k| Reverse((i64::MIN, k))).collect();
    let mut seen = sea.clone();
    while let Some(Reverse((level, k))) = queue.pop() {
        order.push(k);
        for (n, _) in map.near(k).filter(|(n, _)| !std::mem::replace(&mut seen[*n], true)) {
            down[n] = k;
            queue.push(Reverse((level.max(key(map.z[n])), n)));
        }
    }
    let place = |order: &[usize]| {
        let mut place = vec![0; count];
        order.iter().enumerate().for_each(|(at, k)| place[*k] = at);
        place
    };
    let reached = place(&order);
    for k in (0..count).filter(|k| !sea[*k]) {
        let lower = map.near(k).filter(|(n, _)| map.z[*n] < map.z[k] && reached[*n] < reached[k]);
        let steepest = lower.map(|(n, far)| ((map.z[k] - map.z[n]) / far, n)).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, n)) = steepest {
            down[k] = n;
        }
    }
    let (mut area, mut length) = (vec![km * km; count], vec![0.0f64; count]);
    let mut mouths = Vec::new();
    let (mut sums, mut hacks) = ([0.0; 4], 0.0);
    for k in order.into_iter().rev().filter(|k| !sea[*k]) {
        if area[k] > 3000.0 {
            let [x, y] = [area[k].ln(), length[k].ln()];
            hacks += 1.0;
            [x, y, x * x, x * y].into_iter().zip(&mut sums).for_each(|(by, sum)| *sum += by);
        }
        let n = down[k];
        if sea[n] {
            mouths.push((area[k], length[k]));
            continue;
        }
        area[n] += area[k];
        let step = map.near(k).find(|(other, _)| *other == n).unwrap().1;
        length[n] = length[n].max(length[k] + step * km);
    }
    mouths.sort_by(|a, b| b.0.total_cmp(&a.0));
    let land = sea.iter().filter(|sea| !**sea).count() as f64;
    let sunken = (0..count).filter(|k| !sea[*k] && map.z[*k] < 0.0).count() as f64;
    let [x, y, xx, xy] = sums.map(|sum| sum / hacks);
    Catchments {
        land: land * km * km,
        areas: mouths.iter().map(|mouth| mouth.0).collect(),
        length: mouths[0].1,
        hack: (xy - x * y) / (xx - x * x),
        sunken: sunken / land,
    }
}

fn measured(terrain: &Terrain) -> Catchments {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("height.asc");
    save_terrain(&path, terrain, &SaveOptions::default()).unwrap();
    catchments(&Map::read(&std::fs::read_to_string(path).unwrap()))
}

/// The Danube drains 0.8 million km²; on most continents a few rivers drain more than a third (Potter 1978).
#[test]
fn great_rivers_drain_a_continent() {
    let (last, cells) = long::or((5, 256), (10, 512));
    let first = shared_preset("continent", cells, Some(1));
    let others = (2..=last).into_par_iter().map(|seed| measured(&build_preset("continent", cells, Some(seed))));
    let mut found: Vec<_> = others.collect();
    found.insert(0, measured(&first));
    for found in &found {
        let five: f64 = found.areas[..5].iter().sum();
        println!(
            "{:.0?} {:.2?}",
            &found.areas[..5],
            (found.land, five / found.land, found.hack, found.length, found.sunken)
        );
        assert!(found.areas[0] >= 3e5 && five >= 0.4 * found.land, "{found:.2?}");
        // Hack (1957) found 0.6; over rivers of all continents the exponent is 0.5 to 0.6.
        assert!((0.4..0.75).contains(&found.hack) && found.length > 800.0, "{found:.2?}");
        assert!(found.sunken < 0.02, "{found:.2?}");
    }
    assert!(found.iter().filter(|found| found.areas[0] >= 1e6).count() > found.len() / 2, "{found:.2?}");
}

/// The same on a smaller map, with a smaller share for the largest basin.
#[test]
fn so_they_do_in_endless_worlds() {
    let found = measured(&shared_preset("endless", 256, Some(1)));
    let five: f64 = found.areas[..5].iter().sum();
    println!(
        "{:.0?} {:.2?}",
        &found.areas[..5],
        (found.land, five / found.land, found.hack, found.length, found.sunken)
    );
    assert!(found.areas[0] >= 0.2 * found.land && five >= 0.4 * found.land, "{found:.2?}");
}

#[test]
fn a_tilted_island_drains_to_one_side() {
    // 12 × 9 cells of 2 km: sea around 10 × 7 cells of land that falls westward, with a depression below sea level and
    // a wall in the middle row's east.
    let z = |i: usize, j: usize| match (i, j) {
        (0 | 8, _) | (_, 0 | 11) => -10.0,
        (4, 5) => -1.0,
        (4, 9) => 500.0,
        _ => 10.0 * j as f64 + (i as f64 - 4.0).abs(),
    };
    let text = (0..9).map(|i| (0..12).map(|j| format!("{} ", z(i, j))).collect::<String>() + "\n").collect::<String>();
    let found = catchments(&Map::read(&format!("ncols 12\nnrows 9\ncellsize 2000\n{text}")));
    assert_eq!(found.land, 70.0 * 4.0);
    assert_eq!(found.areas.iter().sum::<f64>(), found.land);
    assert_eq!(found.sunken, 1.0 / 70.0);
    // Cells next to the sea drain into it by the steepest descent; the rest drains west.
    assert!(found.areas[0] >= 4.0 * 8.0 && found.length >= 14.0, "{found:?}");
}
