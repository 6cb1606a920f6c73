//! Tests that the memory use reported before work by tiles begins is not exceeded, whatever the ground is: noise,
//! land, flats.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::long;
use crate::support::{Place, text};
use thalweg_core::{Field, Grid, Height, Terrain};
use thalweg_io::{SaveOptions, save_terrain};

/// Returns the peak memory of a process in kilobytes while it lives.
fn most(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Runs a command; returns its output and its peak memory in bytes.
fn watched(mut command: Command) -> (String, u64) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(most(child.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut said = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut said).unwrap();
    let said = text(&said);
    assert!(child.wait().unwrap().success(), "{said}");
    (said, peak * 1024)
}

/// Returns the memory limit that the command's output reports, in bytes.
fn told(said: &str) -> u64 {
    let (head, _) = said.split_once(" MiB of memory").unwrap_or_else(|| panic!("{said}"));
    head.rsplit(' ').next().unwrap().parse::<u64>().unwrap() << 20
}

/// Writes an elevation model with cells of 30 m.
fn model(place: &Place, name: &str, metres: impl Fn(usize, usize) -> f64 + Sync) {
    let size = [1300, 1400];
    let ground = Field::from_fn(size, |i, j| Height::from_metres(metres(i, j)).unwrap());
    let terrain = Terrain::from_ground(Grid::new(size, 30.0).unwrap(), ground).unwrap();
    save_terrain(place.path(name), &terrain, &SaveOptions::default()).unwrap();
}

/// Returns a number from 0 to 1 that depends on the cell alone.
fn noise(i: usize, j: usize) -> f64 {
    let mut x = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (j as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 32) as f64 / u64::MAX as f64
}

#[test]
fn memory_is_what_was_said_on_noise_land_and_flats() {
    let place = Place::quick();
    let waves =
        |i: f64, j: f64| 300.0 + 90.0 * (i / 211.0).sin() * (j / 173.0).cos() + 9.0 * (i / 13.0 + j / 17.0).sin();
    // White noise has the most basins, lakes and crossings of rims; with streams from 4 cells on, it has the most
    // streams.
    model(&place, "noise.tif", |i, j| 900.0 * noise(i, j));
    model(&place, "land.tif", |i, j| waves(i as f64, j as f64) + 2.0 * noise(i, j));
    model(&place, "flats.tif", |i, j| if noise(i / 90, j / 70) < 0.2 && noise(i, j) < 0.5 { 12.0 } else { 10.0 });
    // One lake with more islands than any other land, and shores across every border.
    let shut = |i: usize, j: usize| [0, 1299].contains(&i) || [0, 1399].contains(&j);
    let isles = |i: usize, j: usize| if shut(i, j) || noise(i, j) < 0.45 { 30.0 } else { 10.0 };
    model(&place, "isles.tif", isles);
    let runs = [
        ("noise", 320, "--threshold 3600"),
        ("noise", 160, ""),
        ("land", 160, ""),
        ("flats", 160, "--edges closed"),
        ("isles", 160, ""),
        ("noise", 160, "--depressions"),
        ("isles", 160, "--depressions --no-outlines"),
        ("flats", 160, "--edges closed --depressions"),
    ];
    for (name, most, options) in runs {
        let _ = fs::remove_dir_all(place.path("a.zarr"));
        let _ = fs::remove_dir_all(place.path("a.work"));
        let line = format!("drain {name}.tif -o a.zarr --memory {most}M --threads 2 {options}");
        let (said, peak) = watched(place.command(&line));
        let bound = told(&said);
        println!("{name} {options}: {} MiB of {} MiB", peak >> 20, bound >> 20);
        assert!(bound <= most << 20 && peak <= bound, "{line}: {peak} of {bound}\n{said}");
    }
}

/// Whole maps in one strip or one chunk, which is decompressed as a whole for each window that is read.
#[test]
fn memory_is_what_was_said_on_strips_and_chunks_of_a_whole_map() {
    let place = Place::quick();
    let [rows, cols] = [1800usize, 2000];
    let metres = |k: usize| 300.0 + 90.0 * ((k / cols) as f64 / 211.0).sin() + 2.0 * noise(k / cols, k % cols);
    let samples: Vec<u8> = (0..rows * cols).flat_map(|k| metres(k).to_le_bytes()).collect();
    // Deflate with stored blocks (RFC 1951, 3.2.4): the compressed data are as long as the uncompressed.
    let mut packed = vec![0x78, 0x01];
    let count = samples.chunks(65_535).count();
    for (k, block) in samples.chunks(65_535).enumerate() {
        let length = block.len() as u16;
        packed.push(u8::from(k + 1 == count));
        packed.extend([length, !length].map(u16::to_le_bytes).concat());
        packed.extend(block);
    }
    let (a, b) = samples.iter().fold((1u32, 0u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    packed.extend((b << 16 | a).to_be_bytes());
    let tags: [(u16, u16, u32); 10] = [
        (256, 4, cols as u32),
        (257, 4, rows as u32),
        (258, 3, 64),
        (259, 3, 8),
        (262, 3, 1),
        (273, 4, 8),
        (277, 3, 1),
        (278, 4, rows as u32),
        (279, 4, packed.len() as u32),
        (339, 3, 3),
    ];
    let mut file = b"II*\0".to_vec();
    file.extend((8 + packed.len() as u32).to_le_bytes());
    file.extend(&packed);
    file.extend((tags.len() as u16).to_le_bytes());
    for (tag, kind, value) in tags {
        file.extend([tag, kind].map(u16::to_le_bytes).concat());
        file.extend([1, value].map(u32::to_le_bytes).concat());
    }
    file.extend([0; 4]);
    fs::write(place.path("strip.tif"), file).unwrap();
    let about = format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [{rows}, {cols}], "data_type": "float64", "fill_value": 0,
        "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [{rows}, {cols}]}}}},
        "chunk_key_encoding": {{"name": "default"}}, "codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}]}}"#
    );
    fs::create_dir_all(place.path("chunk.zarr/c/0")).unwrap();
    fs::write(place.path("chunk.zarr/zarr.json"), about).unwrap();
    fs::write(place.path("chunk.zarr/c/0/0"), samples).unwrap();
    for source in ["strip.tif", "chunk.zarr"] {
        for work in ["drain", "apply thermal", "render map"] {
            let _ = fs::remove_dir_all(place.path("a.zarr"));
            let line = match work {
                "render map" => format!("{work} {source} -o a.png --cell-size 30"),
                "drain" => format!("{work} {source} -o a.zarr --cell-size 30 --threads 2 --memory 320M"),
                _ => format!("{work} {source} -o a.zarr --cell-size 30 --set steps=4 --threads 2 --memory 320M"),
            };
            // A map that fits into memory is drawn as a whole.
            if work == "render map" && source.ends_with(".tif") {
                continue;
            }
            let (said, peak) = watched(place.command(&line));
            let bound = told(&said);
            println!("{line}: {} MiB of {} MiB", peak >> 20, bound >> 20);
            assert!(peak <= bound, "{line}: {peak} of {bound}\n{said}");
        }
        // A strip that does not fit into memory is refused before it is read.
        let refused = place.run(&format!("drain {source} -o b.zarr --cell-size 30 --memory 60M"));
        let said = text(&refused.stderr);
        assert!(!refused.status.success() && said.contains("one tile at a time"), "{said}");
    }
}

/// The same holds for maps that are drawn by rows, whatever the picture's pixels and the sun's position.
#[test]
fn memory_by_rows_is_what_was_said() {
    let place = Place::quick();
    model(&place, "noise.tif", |i, j| 900.0 * noise(i, j));
    model(&place, "land.tif", |i, j| 300.0 + 90.0 * (i as f64 / 211.0).sin() * (j as f64 / 173.0).cos());
    for (name, options) in [("noise", "--exaggeration 1"), ("noise", "--sun 100,10 --legend"), ("land", "--sun 200,40")]
    {
        let _ = fs::remove_dir_all(place.path("a.zarr"));
        place.works(&format!("crop {name}.tif -o a.zarr --window 0,0,1400,1300"));
        let (said, peak) = watched(place.command(&format!("render map a.zarr -o a.png {options}")));
        let bound = told(&said);
        println!("{name} {options}: {} MiB of {} MiB", peak >> 20, bound >> 20);
        assert!(peak <= bound, "{name} {options}: {peak} of {bound}\n{said}");
    }
}

/// The memory for a folder of tiles does not grow with the number of tiles: a world caches a bounded amount and has a
/// few tiles in work.
#[test]
fn memory_of_a_folder_of_tiles_is_bounded_by_what_a_world_keeps() {
    let place = Place::new();
    // The cells of all levels take 9 bytes each, and those of the blocks from which they are made take as much again:
    // 1.6 GiB in the long run.
    let level = long::or(2, 6);
    let line = format!("tile hills --cells 128 -o t --level {level} --threads 2 --json");
    let (_, peak) = watched(place.command(&line));
    println!("{line}: {} MiB", peak >> 20);
    assert!(place.path(&format!("t/{level}/0/0.tif")).exists());
    assert!(peak <= thalweg_sim::world::DEFAULT_CACHE_BYTES + (256 << 20), "{line}: {peak}");
    if level < 6 {
        return;
    }
    assert!(peak > thalweg_sim::world::DEFAULT_CACHE_BYTES / 2, "so little that nothing was bounded: {peak}");
}

/// Too small a memory limit is refused with the smallest that is sufficient, and that one is sufficient.
#[test]
fn too_little_memory_is_refused_with_the_least_that_would_do() {
    let place = Place::with_dem();
    let refused = |line: &str| {
        let output = place.run(line);
        assert!(!output.status.success(), "{line}");
        text(&output.stderr)
    };
    let said = refused("drain dem.tif -o a.zarr --memory 2M");
    let least: u64 =
        said.split("one tile at a time: ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
    assert!(said.contains("one tile at a time") && !place.path("a.zarr").exists(), "{said}");
    place.works(&format!("drain dem.tif -o a.zarr --memory {least} --quiet"));
    assert!(refused(&format!("drain dem.tif -o b.zarr --memory {}", least - 1)).contains(&least.to_string()));
    place.works("job plan dem.tif -o p.json --memory 200M --quiet");
    assert!(refused("job run p.json look 0 --memory 2M").contains("required"));
    place.works("job run p.json look 0 --memory 200M");
    for wrong in ["0", "-1", "nan", "12", "1.5X", "1e30", ""] {
        assert!(refused(&format!("drain dem.tif -o a.zarr --memory={wrong}")).contains("number of bytes"), "{wrong}");
    }
}
