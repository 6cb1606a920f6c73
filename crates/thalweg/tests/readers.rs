//! Tests that for any bytes a reader returns a raster with the declared number of samples, or an error. A panic fails
//! these tests, and so does an allocation out of proportion to the number of bytes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use proptest::prelude::*;
use thalweg_io::{Format, LoadOptions, Raster, SampleType, Samples, decode_raster, load_terrain, write_raster};

/// The system's allocator, which records the largest allocation that was requested.
struct Watched;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)] // an allocator cannot be watched without it
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Relaxed);
        unsafe { System.realloc(old, layout, size) }
    }
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static WATCHED: Watched = Watched;

const FORMATS: [Format; 10] = [
    Format::Tiff,
    Format::Png,
    Format::R16,
    Format::R32,
    Format::Npy,
    Format::Ascii,
    Format::Xyz,
    Format::Exr,
    Format::Hgt,
    Format::Dted,
];

#[path = "corpus/readers.rs"]
mod corpus;

/// Decodes bytes and checks the result.
fn check(format: Format, bytes: &[u8]) {
    static ONE: Mutex<()> = Mutex::new(()); // other tests that decode at the same time would be counted
    let _one = ONE.lock();
    LARGEST.store(0, Relaxed);
    let result = decode_raster(format, bytes, None);
    // The most that compressed bytes can expand to (a PNG with one bit a pixel, widened), and the decoders' own
    // windows.
    let allowed = 1400 * 8 * bytes.len() + (1 << 20);
    let largest = LARGEST.load(Relaxed);
    assert!(largest <= allowed, "{largest} bytes were taken at once for {} bytes of {format}", bytes.len());
    if let Ok(raster) = result {
        assert_eq!(raster.samples.len(), raster.size[0] * raster.size[1]);
        assert!(!raster.samples.is_empty());
    }
}

/// Returns valid files of every format, the library's own and foreign ones.
fn all() -> &'static [(Format, Vec<u8>)] {
    static FILES: OnceLock<Vec<(Format, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| good().into_iter().chain(foreign().into_iter().map(|bytes| (Format::Tiff, bytes))).collect())
}

/// Returns files written by the library in every format and sample type.
fn good() -> Vec<(Format, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (ending, kinds) in [("tif", 7), ("png", 2), ("npy", 7), ("asc", 2), ("r16", 1), ("r32", 1), ("exr", 1)] {
        let path = folder.path().join(format!("a.{ending}"));
        let format = Format::from_path(&path).unwrap();
        for kind in &format.writable_types()[..kinds] {
            let v = |k: usize| (k * 37 % 101) as f32;
            let samples = match kind {
                SampleType::U8 => Samples::U8((0..36).map(|k| v(k) as u8).collect()),
                SampleType::U16 => Samples::U16((0..36).map(|k| v(k) as u16).collect()),
                SampleType::I16 => Samples::I16((0..36).map(|k| v(k) as i16).collect()),
                SampleType::I32 => Samples::I32((0..36).map(|k| v(k) as i32).collect()),
                SampleType::U32 => Samples::U32((0..36).map(|k| v(k) as u32).collect()),
                SampleType::F32 => Samples::F32((0..36).map(v).collect()),
                SampleType::F64 => Samples::F64((0..36).map(|k| f64::from(v(k))).collect()),
            };
            let mut raster = Raster::new([6, 6], samples);
            raster.nodata = Some(7.0);
            write_raster(&path, &raster).unwrap();
            files.push((format, std::fs::read(&path).unwrap()));
        }
    }
    let points: String = (0..36).map(|k| format!("{} {} {}\n", k % 6 * 10, k / 6 * 10, k * 37 % 101)).collect();
    files.push((Format::Xyz, points.into_bytes()));
    files
}

/// Returns TIFF files written by other programs: tiles, LZW, PackBits, predictors, BigTIFF, bands; see the README in
/// their folder.
fn foreign() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gdal");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().filter(|p| p.extension().is_some_and(|e| e == "tif")).map(|p| std::fs::read(p).unwrap()).collect()
}

#[test]
fn foreign_tiffs_hold_what_gdal_put_in() {
    let files = foreign();
    assert!(files.len() >= 8);
    for bytes in files {
        let raster = decode_raster(Format::Tiff, &bytes, None).unwrap();
        assert_eq!(raster.size, [19, 37]);
        for k in 0..19 * 37 {
            assert_eq!(raster.samples.get(k), ((k / 37) * 3 + (k % 37) * 2) as f64);
        }
    }
}

/// Files that GDAL wrote with masks, scales and units; see the README in their folder.
#[test]
fn masks_and_scales_are_gdals() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/masks");
    let height = |k: usize| ((k / 37) * 3 + (k % 37) * 2) as f64;
    let mut seen = 0;
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|ending| ending != "tif") {
            continue;
        }
        seen += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let loaded = load_terrain(&path, &LoadOptions::default()).unwrap();
        let out = |k: usize| name.starts_with("mask") && (k / 37 * 7 + k % 37 * 3).is_multiple_of(5);
        let told = |k: usize| if name.starts_with("scale") { height(k) * 0.5 - 10.0 } else { height(k) };
        let count = (0..19 * 37).filter(|k| out(*k)).count();
        assert_eq!(loaded.nodata_count, count, "{name}");
        for k in 0..19 * 37 {
            assert_eq!(
                loaded.terrain.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]),
                out(k),
                "{name}, cell {k}"
            );
            assert!(out(k) || loaded.terrain.ground.as_slice()[k].metres() == told(k), "{name}, cell {k}");
        }
        let said = loaded.warnings.iter().any(|said| said.contains(&format!("mask that excludes {count} cells")));
        assert!(said == (count > 0) && loaded.warnings.len() <= 1, "{name}: {:?}", loaded.warnings);
    }
    assert_eq!(seen, 8);
}

/// Inputs that fuzzing found worth keeping; a reader that panics on one, or returns a wrong result, fails here.
#[test]
fn the_corpora_are_answered() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    for (name, read) in corpus::READERS {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(paths.len() >= 5, "{name} has a corpus of {}", paths.len());
        for path in paths {
            let bytes = std::fs::read(&path).unwrap();
            let answered = std::panic::catch_unwind(|| read(&bytes));
            assert!(answered.is_ok(), "{} makes the reader panic", path.display());
        }
    }
}

#[test]
fn every_beginning_of_a_good_file_is_answered() {
    for (format, bytes) in all() {
        for length in 0..bytes.len() {
            check(*format, &bytes[..length]);
        }
    }
}

#[test]
fn every_byte_changed_is_answered() {
    for (format, bytes) in all() {
        let mut broken = bytes.clone();
        for k in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff, bytes[k] ^ 0x10, bytes[k].wrapping_add(1)] {
                broken[k] = value;
                check(*format, &broken);
            }
            broken[k] = bytes[k];
        }
    }
}

#[test]
fn nesting_does_not_exhaust_the_stack() {
    for opener in ["(", "[", "{"] {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {}", opener.repeat(60_000));
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        check(Format::Npy, &bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..600), start in 0..8usize) {
        let starts: [&[u8]; 8] = [
            b"", b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08", b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\x93NUMPY\x01\0\x40\0{'descr': '<f4', 'shape': (",
            b"ncols 3 nrows 2 cellsize 1 ", b"\x93NUMPY\x02\0",
        ];
        let bytes = [starts[start], &bytes[..]].concat();
        for format in FORMATS {
            check(format, &bytes);
        }
    }

    #[test]
    fn bits_turned_in_good_files_are_answered(
        file in any::<prop::sample::Index>(),
        turns in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let (format, mut bytes) = all()[file.index(all().len())].clone();
        for (at, value) in turns {
            let k = at.index(bytes.len());
            bytes[k] = value;
        }
        check(format, &bytes);
    }
}
