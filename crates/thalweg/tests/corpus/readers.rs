//! Every reader of the library as a function of bytes. A test replays the corpora with them; `fuzz` extends the
//! corpora.
//!
//! For any bytes a reader must return either a result that satisfies its guarantees or a short message.

use std::io::Cursor;
use std::path::Path;

use thalweg_core::Grid;
use thalweg_io::{
    Format, LoadOptions, MemoryFiles, Raster, Sidecar, Unit, convert_to_terrain, decode_mask, decode_raster,
    load_terrain, river_files, trees,
};
use thalweg_models::models::Models;
use thalweg_render::pictures::picture::Picture;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

/// A reader: its name, which is also its corpus folder, and its function.
pub type Reader = (&'static str, fn(&[u8]));

/// All readers.
pub const READERS: [Reader; 18] = [
    ("tiff", |bytes| raster("a.tif", bytes, None)),
    ("png", |bytes| raster("a.png", bytes, None)),
    ("npy", |bytes| raster("a.npy", bytes, None)),
    ("ascii", |bytes| raster("a.asc", bytes, None)),
    ("xyz", |bytes| raster("a.xyz", bytes, None)),
    ("bil", behind_header),
    ("exr", |bytes| raster("a.exr", bytes, None)),
    ("hgt", |bytes| raster("N01E002.hgt", bytes, None)),
    ("dted", |bytes| raster("a.dt1", bytes, None)),
    ("r16", |bytes| beside("a.r16", bytes)),
    ("r32", |bytes| beside("a.r32", bytes)),
    ("sidecar", |bytes| answer(Sidecar::parse(bytes))),
    ("mask", mask),
    ("trees", table),
    ("rivers", |bytes| answer(river_files::parse_reaches(bytes, &grid()))),
    ("lakes", |bytes| {
        answer(river_files::parse_lakes(bytes));
        answer(river_files::parse_about(bytes));
    }),
    ("recipe", recipe),
    ("checkpoint", checkpoint),
];

/// Reads a picture that the library itself drew: an 8-bit RGB PNG.
pub fn picture(bytes: &[u8]) {
    let _ = Picture::decode_png(Cursor::new(bytes));
}

fn grid() -> Grid {
    Grid::new([40, 50], 10.0).expect("a grid")
}

/// Checks that an error's message is short enough for people to read.
fn answer<T, E: ToString>(result: Result<T, E>) {
    if let Err(problem) = result {
        let message = problem.to_string();
        assert!(!message.is_empty() && message.len() < 4000, "a message of {} bytes", message.len());
    }
}

fn raster(name: &str, bytes: &[u8], sidecar: Option<&Sidecar>) {
    let format = Format::from_path(name).expect("a known ending");
    if format == Format::Png {
        picture(bytes);
    }
    let read = match decode_raster(format, bytes, sidecar) {
        Ok(read) => read,
        Err(problem) => return answer::<(), _>(Err(problem)),
    };
    assert_eq!(Some(read.samples.len()), read.size[0].checked_mul(read.size[1]));
    assert!(!read.samples.is_empty() && read.mask.as_ref().is_none_or(|mask| mask.len() == read.samples.len()));
    let means = |read: Raster, options: &LoadOptions| match convert_to_terrain(name, read, sidecar, options) {
        Ok(loaded) => {
            assert_eq!(loaded.terrain.nodata_count(), loaded.nodata_count);
            assert!(loaded.nodata_count < loaded.terrain.grid.len());
        }
        Err(problem) => answer::<(), _>(Err(problem)),
    };
    means(read.clone(), &LoadOptions::default());
    let asked = LoadOptions {
        height: Some([-5.0, 900.0]),
        cell_size: Some(3.0),
        infinite_is_nodata: true,
        unit: Some(Unit::Metre),
        ..LoadOptions::default()
    };
    means(read, &asked);
}

/// Reads a headerless file behind its sidecar, separated from it by a zero byte.
fn beside(name: &str, bytes: &[u8]) {
    raster(name, bytes, None);
    let Some(end) = bytes.iter().position(|byte| *byte == 0) else { return };
    match Sidecar::parse(&bytes[..end]) {
        Ok(sidecar) => raster(name, &bytes[end + 1..], Some(&sidecar)),
        Err(problem) => answer::<(), _>(Err(problem)),
    }
}

/// Reads a binary grid behind its header, separated from it by a zero byte.
fn behind_header(bytes: &[u8]) {
    let Some(end) = bytes.iter().position(|byte| *byte == 0) else { return };
    let files = MemoryFiles::default();
    files.insert("a.hdr", &bytes[..end]);
    files.insert("a.bil", &bytes[end + 1..]);
    match load_terrain(files.path("a.bil"), &LoadOptions::default()) {
        Ok(loaded) => assert!(loaded.nodata_count < loaded.terrain.grid.len()),
        Err(problem) => answer::<(), _>(Err(problem)),
    }
}

fn mask(bytes: &[u8]) {
    for size in [[19, 37], [1, 1], [16, 16]] {
        match decode_mask(bytes, size) {
            Ok(mask) => assert_eq!(mask.len(), size[0] * size[1]),
            Err(problem) => answer::<(), _>(Err(problem)),
        }
    }
}

fn table(bytes: &[u8]) {
    let grid = grid();
    match trees::parse_trees(bytes, Path::new("trees.csv"), &grid) {
        Ok((found, _)) => assert!(found.iter().all(|tree| (0..2).all(|k| (tree.cell[k] as usize) < grid.size[k]))),
        Err(problem) => answer::<(), _>(Err(problem)),
    }
}

/// A recipe that can be read is written as a text that is read as the same recipe.
fn recipe(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Recipe::parse(text) {
        Ok(recipe) => {
            let written = recipe.to_toml();
            let again = Recipe::parse(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
            assert_eq!(again.to_toml(), written);
        }
        Err(problem) => answer::<(), _>(Err(problem)),
    }
}

fn checkpoint(bytes: &[u8]) {
    answer(Run::from_checkpoint(bytes, Path::new("a.thalweg"), &Models::default()));
}
