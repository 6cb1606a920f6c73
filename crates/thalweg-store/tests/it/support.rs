//! Pseudo-random samples for the tests, and comparisons that do not use the library.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use thalweg_core::CellRect;
use thalweg_io::{SampleType, Samples};
use thalweg_store::{PlannedWork, WorkerPool};

pub const KINDS: [SampleType; 7] = [
    SampleType::U8,
    SampleType::U16,
    SampleType::I16,
    SampleType::I32,
    SampleType::U32,
    SampleType::F32,
    SampleType::F64,
];

/// Pseudo-random numbers (SplitMix64), seeded by the clock or by `THALWEG_SEED`; the seed is printed, so it is visible
/// when a test fails.
pub struct Draw(u64);

impl Draw {
    pub fn new(what: &str) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed =
            std::env::var("THALWEG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(now.as_nanos() as u64);
        println!("{what}: THALWEG_SEED={seed}");
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.number() % n as u64) as usize
    }

    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        (1..list.len()).rev().for_each(|k| list.swap(k, self.below(k + 1)));
    }

    /// Returns a window of at least one cell.
    pub fn window(&mut self, size: [usize; 2]) -> CellRect {
        let start = size.map(|n| self.below(n));
        CellRect::new(start, [0, 1].map(|k| 1 + self.below(size[k] - start[k])))
    }
}

/// Returns samples over all bit patterns, with runs of the fill value and of slow change among them.
pub fn samples(draw: &mut Draw, kind: SampleType, n: usize, fill: f64) -> Samples {
    let mut bits = Vec::with_capacity(n);
    while bits.len() < n {
        let length = 1 + draw.below(2000);
        let (way, first) = (draw.below(3), draw.number());
        bits.extend((0..length).map(|k| match way {
            0 => None,
            1 => Some(first.wrapping_add(k as u64 / 7)),
            _ => Some(draw.number()),
        }));
    }
    bits.truncate(n);
    macro_rules! of {
        ($make:expr) => {
            bits.iter().map(|bits| bits.map_or(fill as _, $make)).collect()
        };
    }
    match kind {
        SampleType::U8 => Samples::U8(of!(|b| b as u8)),
        SampleType::U16 => Samples::U16(of!(|b| b as u16)),
        SampleType::I16 => Samples::I16(of!(|b| b as i16)),
        SampleType::I32 => Samples::I32(of!(|b| b as i32)),
        SampleType::U32 => Samples::U32(of!(|b| b as u32)),
        SampleType::F32 => Samples::F32(of!(|b| f32::from_bits(b as u32))),
        SampleType::F64 => Samples::F64(of!(f64::from_bits)),
    }
}

/// Returns the samples of a window, cell by cell.
pub fn crop(map: &Samples, size: [usize; 2], window: CellRect) -> Samples {
    let cells = (0..window.size()[0]).flat_map(|i| (0..window.size()[1]).map(move |j| [i, j]));
    let at = cells.map(|[i, j]| (window.start[0] + i) * size[1] + window.start[1] + j);
    match map {
        Samples::U8(v) => Samples::U8(at.map(|k| v[k]).collect()),
        Samples::U16(v) => Samples::U16(at.map(|k| v[k]).collect()),
        Samples::I16(v) => Samples::I16(at.map(|k| v[k]).collect()),
        Samples::I32(v) => Samples::I32(at.map(|k| v[k]).collect()),
        Samples::U32(v) => Samples::U32(at.map(|k| v[k]).collect()),
        Samples::F32(v) => Samples::F32(at.map(|k| v[k]).collect()),
        Samples::F64(v) => Samples::F64(at.map(|k| v[k]).collect()),
    }
}

/// Checks that two sample arrays are equal to the bit, including NaNs.
#[track_caller]
pub fn same(a: &Samples, b: &Samples) {
    let equal = match (a, b) {
        (Samples::F32(a), Samples::F32(b)) => a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits())),
        (Samples::F64(a), Samples::F64(b)) => a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits())),
        _ => a == b,
    };
    assert!(equal, "{} samples of type {} are not those written", a.len(), a.kind());
}

/// Returns all files below a folder with their bytes, by their relative paths, except those that describe processes:
/// lock files and their owners.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(&at).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                left.push(path);
            } else if !path.file_name().unwrap().to_string_lossy().starts_with('.') {
                found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Does all remaining work on two threads.
pub fn finish_work(work: &PlannedWork) {
    let mut pool = WorkerPool::new(work, 2).unwrap();
    while pool.run_next_tasks().unwrap().is_some() {}
    assert!(work.is_done());
}
