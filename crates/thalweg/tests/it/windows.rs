//! Tests that windows of TIFF files equal sections of the whole, for any file, and that COGs have the documented
//! layout.

use std::fs;
use std::path::{Path, PathBuf};

use thalweg_core::{Cell, CellRect};
use thalweg_io::{
    Format, Overviews, Raster, RasterHead, SampleType, Samples, TiffWindows, WindowedMap as _, decode_raster,
    read_raster, write_cog, write_raster,
};

/// Pseudo-random numbers (SplitMix64), seeded by the clock or by `THALWEG_SEED`; the seed is printed, so it is visible
/// when a test fails.
struct Draw(u64);

impl Draw {
    fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let told = std::env::var("THALWEG_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = told.unwrap_or(now.as_nanos() as u64);
        println!("THALWEG_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn window(&mut self, size: [usize; 2]) -> CellRect {
        let start = size.map(|n| self.below(n));
        CellRect::new(start, [0, 1].map(|k| 1 + self.below(size[k] - start[k])))
    }
}

/// Checks that a window has the samples of the whole at its cells, to the bit.
#[track_caller]
fn is_cut(part: &Samples, whole: &Samples, size: [usize; 2], window: CellRect) {
    assert_eq!((part.kind(), part.len()), (whole.kind(), window.size()[0] * window.size()[1]));
    for k in 0..part.len() {
        let at = [window.start[0] + k / window.size()[1], window.start[1] + k % window.size()[1]];
        let (own, other) = (part.get(k), whole.get(at[0] * size[1] + at[1]));
        assert!(own.to_bits() == other.to_bits(), "cell {at:?} of {window:?}: {own}, not {other}");
    }
}

/// Returns files written by GDAL: strips, tiles, LZW, PackBits, predictors, BigTIFF, bands, internal and external
/// masks.
fn samples_of_gdal() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let files = ["gdal", "masks"].into_iter().flat_map(|name| fs::read_dir(data.join(name)).unwrap());
    let mut paths: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "tif"));
    paths.sort();
    paths
}

#[test]
fn every_window_is_a_cut_of_the_whole() {
    let mut draw = Draw::new();
    let paths = samples_of_gdal();
    assert!(paths.len() >= 16);
    for path in paths {
        let whole = read_raster(&path).unwrap();
        let windows = TiffWindows::open(&path).unwrap();
        let head = windows.head();
        assert_eq!((head.size, head.kind, head.nodata), (whole.size, whole.samples.kind(), whole.nodata));
        assert_eq!((head.scale, &head.unit), (whole.scale, &whole.unit));
        assert_eq!((&head.georeference, &head.warnings), (&whole.georeference, &whole.warnings));
        let [rows, cols] = whole.size;
        let single = (0..rows * cols).map(|k| CellRect::new([k / cols, k % cols], [1, 1]));
        let drawn: Vec<_> = (0..60).map(|_| draw.window(whole.size)).collect();
        let all = [CellRect::new([0, 0], whole.size), CellRect::new([rows, 0], [0, cols])];
        for window in single.chain(drawn).chain(all) {
            is_cut(&windows.read_window(window).unwrap(), &whole.samples, whole.size, window);
            let mask = windows.read_mask(window).unwrap();
            assert_eq!(mask.is_some(), whole.mask.is_some(), "{}", path.display());
            for (k, own) in mask.iter().flatten().enumerate() {
                let at = (window.start[0] + k / window.size()[1]) * cols + window.start[1] + k % window.size()[1];
                assert_eq!(Some(*own), whole.mask.as_ref().map(|mask| mask[at]), "{}", path.display());
            }
        }
        for outside in [[rows, 1], [1, cols]] {
            assert!(windows.read_window(CellRect::new(outside.map(|n| n - 1), [2, 2])).is_err());
        }
    }
}

/// Files of the library's own, large enough for many tiles, and an uncompressed file with a single strip, read by
/// several threads with a cache of any size.
#[test]
fn tiles_and_strips_are_read_by_many_at_once() {
    let mut draw = Draw::new();
    let folder = tempfile::tempdir().unwrap();
    let size = [1300, 701];
    let cells = size[0] * size[1];
    let raster = Raster::new(size, Samples::F32((0..cells).map(|_| draw.below(1 << 30) as f32).collect()));
    let ours = folder.path().join("ours.tif");
    write_raster(&ours, &raster).unwrap();
    let plain = folder.path().join("plain.tif");
    fs::write(&plain, one_strip(size, &raster.samples)).unwrap();
    for path in [ours, plain] {
        for kept in [0, 100_000, 1 << 30] {
            let windows = TiffWindows::open(&path).unwrap().with_cache_bytes(kept);
            assert!(windows.block_size()[0] <= 512, "a strip of {} rows is read whole", windows.block_size()[0]);
            let drawn: Vec<_> = (0..4).map(|_| (0..6).map(|_| draw.window(size)).collect::<Vec<_>>()).collect();
            std::thread::scope(|scope| {
                for list in &drawn {
                    scope.spawn(|| {
                        list.iter().for_each(|w| is_cut(&windows.read_window(*w).unwrap(), &raster.samples, size, *w))
                    });
                }
            });
        }
    }
}

/// Returns a little-endian TIFF with one uncompressed strip.
fn one_strip([rows, cols]: [usize; 2], samples: &Samples) -> Vec<u8> {
    let Samples::F32(samples) = samples else { panic!("floats are needed") };
    let bytes: Vec<u8> = samples.iter().flat_map(|x| x.to_le_bytes()).collect();
    let entries: [(u16, u32); 10] = [
        (256, cols as u32),
        (257, rows as u32),
        (258, 32),
        (259, 1),
        (262, 1),
        (273, 8 + 2 + 12 * 10 + 4),
        (277, 1),
        (278, rows as u32),
        (279, bytes.len() as u32),
        (339, 3),
    ];
    let mut file = b"II*\0\x08\0\0\0\x0a\0".to_vec();
    for (tag, value) in entries {
        file.extend(tag.to_le_bytes());
        file.extend([4, 0, 1, 0, 0, 0]);
        file.extend(value.to_le_bytes());
    }
    file.extend([0; 4]);
    file.extend(bytes);
    file
}

/// A file that the whole reader refuses is refused by the window reader, on opening or on reading; a file that one
/// reads, the other reads as well.
#[test]
fn broken_files_are_answered_as_by_the_whole_reader() {
    let mut draw = Draw::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tif");
    for good in samples_of_gdal() {
        let bytes = fs::read(good).unwrap();
        for turn in 0..400 {
            let mut broken = bytes.clone();
            match turn % 4 {
                0 => broken.truncate(draw.below(bytes.len())),
                // Most errors can occur in the header and the directory.
                1 => broken[draw.below(bytes.len().min(400))] = draw.below(256) as u8,
                2 => broken[draw.below(bytes.len())] ^= 1 << draw.below(8),
                _ => (0..4).for_each(|_| broken[draw.below(bytes.len())] = [0, 1, 0x7f, 0xff][draw.below(4)]),
            }
            fs::write(&path, &broken).unwrap();
            let whole = decode_raster(Format::Tiff, &broken, None);
            let windows = TiffWindows::open(&path).and_then(|windows| {
                let window = CellRect::new([0, 0], windows.head().size);
                // A size that fits the file may be larger than a test should read.
                (window.size()[0] * window.size()[1] < 1 << 24)
                    .then(|| Ok((windows.read_window(window)?, windows.read_mask(window)?)))
                    .transpose()
            });
            match (whole, windows) {
                (Ok(whole), Ok(Some((samples, mask)))) => {
                    is_cut(&samples, &whole.samples, whole.size, CellRect::new([0, 0], whole.size));
                    assert_eq!(mask, whole.mask);
                }
                (Ok(_), Err(error)) => panic!("windows refuse what the whole reader reads: {error}"),
                (Err(problem), Ok(Some(_))) => panic!("windows read what the whole reader refuses: {problem}"),
                _ => {}
            }
        }
    }
}

#[test]
fn a_cog_holds_what_was_given_and_its_means() {
    let mut draw = Draw::new();
    let folder = tempfile::tempdir().unwrap();
    for size in [[1, 1], [512, 512], [513, 40], [1025, 1537]] {
        let path = folder.path().join("a.tif");
        let cells = size[0] * size[1];
        for kind in [
            SampleType::U8,
            SampleType::U16,
            SampleType::I16,
            SampleType::I32,
            SampleType::U32,
            SampleType::F32,
            SampleType::F64,
        ] {
            let numbers: Vec<usize> = (0..cells).map(|_| draw.below(250)).collect();
            let samples = match kind {
                SampleType::U8 => Samples::U8(numbers.iter().map(|x| *x as u8).collect()),
                SampleType::U16 => Samples::U16(numbers.iter().map(|x| *x as u16 * 200).collect()),
                SampleType::I16 => Samples::I16(numbers.iter().map(|x| *x as i16 - 100).collect()),
                SampleType::I32 => Samples::I32(numbers.iter().map(|x| *x as i32 * 70_000).collect()),
                SampleType::U32 => Samples::U32(numbers.iter().map(|x| *x as u32 * 70_000).collect()),
                SampleType::F32 => Samples::F32(numbers.iter().map(|x| *x as f32 / 7.0).collect()),
                SampleType::F64 => Samples::F64(numbers.iter().map(|x| *x as f64 / 7.0).collect()),
            };
            let head = RasterHead { nodata: Some(7.0), ..RasterHead::new(size, kind) };
            let mut asked = 0;
            write_cog(&path, &head, Overviews::Means, |window| {
                assert_eq!((window.start, window.cols()), (Cell::new(asked, 0), size[1]));
                asked += window.size()[0];
                samples.copy_window(size, window)
            })
            .unwrap();
            assert_eq!(asked, size[0]);
            let whole = read_raster(&path).unwrap();
            assert!(whole.samples == samples && whole.nodata == Some(7.0) && whole.size == size);
            let windows = TiffWindows::open(&path).unwrap();
            for _ in 0..5 {
                let window = draw.window(size);
                is_cut(&windows.read_window(window).unwrap(), &samples, size, window);
            }
            let side = size[0].max(size[1]).next_multiple_of(16).min(512);
            assert_eq!(windows.block_size(), [side, side]);
        }
    }
}
