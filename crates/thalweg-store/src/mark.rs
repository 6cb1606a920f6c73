//! [`TileMark`]: the record that a tile of a layer is done.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thalweg_core::{Error, Result};
use thalweg_io::{Samples, plain};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::disk;

/// The record that a tile of a layer is done. It is written after the tile's shard, so a shard with a mark is
/// complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TileMark {
    /// The hash of the recipe or plan that the tile belongs to.
    pub recipe: String,
    /// The length of the shard in bytes.
    pub bytes: u64,
    /// The XXH3 hash (128 bits) of the shard's bytes, in hexadecimal.
    pub hash: String,
    /// The smallest sample that is not the fill value; `None` if all are.
    pub minimum: Option<f64>,
    /// The largest sample that is not the fill value.
    pub maximum: Option<f64>,
}

/// The maximum size of a mark's file in bytes.
const MAX_BYTES: u64 = 1 << 14;

impl TileMark {
    /// Makes the mark of a shard with these samples and bytes.
    pub fn from_shard(recipe: &str, samples: &Samples, fill: f64, shard: &[u8]) -> Self {
        let [minimum, maximum] = sample_range(samples, fill).map_or([None; 2], |range| range.map(Some));
        Self { recipe: recipe.to_string(), bytes: shard.len() as u64, hash: hash(shard), minimum, maximum }
    }

    /// Returns the path of a tile's mark.
    pub fn path(marks: &Path, layer: &str, tile: usize) -> PathBuf {
        marks.join(layer).join(format!("{tile}.json"))
    }

    /// Reads a mark; returns `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the mark is damaged.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let Some(bytes) = plain::read_if_exists(path, MAX_BYTES)? else { return Ok(None) };
        let damaged = |error| {
            let problem = format!(
                "is not the completion mark of a tile, or is damaged ({error}); remove it, and the tile is computed \
                 again"
            );
            Error::invalid_file(path, problem)
        };
        serde_json::from_slice(&bytes).map(Some).map_err(damaged)
    }

    /// Writes the mark to a file atomically.
    ///
    /// # Errors
    /// Returns an error if the system refuses to write.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string(self).map_err(|error| Error::invalid_file(path, error.to_string()))?;
        disk::write_file(path, text.as_bytes())
    }
}

/// Hashes the bytes of a shard.
pub fn hash(shard: &[u8]) -> String {
    format!("{:032x}", xxh3_128(shard))
}

/// Returns the length of a file and the hash of its bytes.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn hash_file(path: &Path) -> Result<(u64, String)> {
    let (mut file, length) = plain::open_plain_file(path)?;
    // The file may be larger than memory, so it is hashed in pieces of 64 KiB; the result equals that of one piece.
    let mut hash = Xxh3::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece).map_err(Error::io(path, "read"))? {
            0 => return Ok((length, format!("{:032x}", hash.digest128()))),
            n => hash.update(&piece[..n]),
        }
    }
}

/// The number of samples that are converted to numbers at once.
const SAMPLES_PER_PART: usize = 1 << 12;

/// Returns the smallest and largest of the samples that are finite and not the fill value.
pub fn sample_range(samples: &Samples, fill: f64) -> Option<[f64; 2]> {
    // Samples are converted in parts, which need little memory in addition.
    let ranges =
        (0..samples.len()).step_by(SAMPLES_PER_PART).map(|from| from..samples.len().min(from + SAMPLES_PER_PART));
    let numbers = ranges.flat_map(|part| samples.numbers_in_range(part));
    numbers.filter(|x| *x != fill && x.is_finite()).fold(None, widen_range)
}

fn widen_range(range: Option<[f64; 2]>, x: f64) -> Option<[f64; 2]> {
    Some(range.map_or([x; 2], |[low, high]| [low.min(x), high.max(x)]))
}
