//! Verification: checks that everything a store marks as done exists, complete and unaltered.

use std::fmt;
use std::path::PathBuf;

use rayon::prelude::*;
use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Result};
use thalweg_io::plain;

use crate::mark::{self, TileMark};
use crate::products::sidecar_path;
use crate::store::Store;
use thalweg_io::WindowedMap as _;

/// How thoroughly a store is checked. Each level includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerifyLevel {
    /// Checks marks, and the lengths of shards; no shard is read.
    Lengths,
    /// Checks the hash of every shard's bytes as well.
    Bytes,
    /// Decodes every shard as well, and checks its smallest and largest sample.
    Samples,
}

/// A kind of damage to a tile or file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Harm {
    /// It is not made yet: there is neither a shard nor a mark.
    NotMade,
    /// There is a shard without a mark: its writer was interrupted between the two.
    Unmarked,
    /// There is a mark without a shard.
    Missing,
    /// The shard is shorter than its mark says.
    HalfWritten,
    /// The shard has other bytes, or other samples, than its mark says.
    Altered,
    /// The mark is of another recipe than the store's.
    OtherRecipe,
    /// The mark cannot be read.
    BadMark,
}

/// A damaged or missing tile of a layer, which has to be made again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TileFault {
    /// The layer's name.
    pub layer: String,
    /// The number of the tile.
    pub tile: usize,
    /// The kind of damage.
    pub harm: Harm,
}

impl fmt::Display for TileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let harm = match self.harm {
            Harm::NotMade => "has not been computed yet",
            Harm::Unmarked => "has a shard without a completion mark, because its writer was interrupted",
            Harm::Missing => "was computed, but its shard is missing",
            Harm::HalfWritten => "is incomplete: its shard is shorter than when it was written",
            Harm::Altered => "was changed after it was written",
            Harm::OtherRecipe => "was computed from another recipe",
            Harm::BadMark => "has a completion mark that cannot be read",
        };
        write!(f, "tile {} of layer `{}` {harm}", self.tile, self.layer)
    }
}

/// A damaged or missing file in or next to a store, which has to be made again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileFault {
    /// The file, or the folder of a coordinate array.
    pub path: PathBuf,
    /// The kind of damage.
    pub harm: Harm,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let harm = match self.harm {
            Harm::Missing => "was written, but is missing",
            Harm::HalfWritten => "is shorter than when it was written",
            Harm::OtherRecipe => "was computed from another recipe",
            Harm::BadMark => "has a completion mark that cannot be read",
            _ => "was changed after it was written",
        };
        write!(f, "{} {harm}", format_path(&self.path))
    }
}

impl Store {
    /// Checks the sidecar files of the store (streams and lakes) and its coordinate arrays.
    ///
    /// # Errors
    /// Returns an error if the system does not allow reading a file.
    pub fn verify_files(&self, level: VerifyLevel) -> Result<Vec<FileFault>> {
        let lost = self.lost_coordinates().into_iter().map(|path| FileFault { path, harm: Harm::Altered });
        let mut faults: Vec<FileFault> = lost.collect();
        for name in self.marked_files() {
            faults.extend(self.check_file(&name, level)?);
        }
        Ok(faults)
    }

    /// Checks a sidecar file of the store; a file that was never made counts as missing.
    pub(crate) fn check_file(&self, name: &str, level: VerifyLevel) -> Result<Option<FileFault>> {
        let path = sidecar_path(self.path(), name);
        let harm = match TileMark::read(&self.file_mark(name)) {
            Err(_) => Some(Harm::BadMark),
            Ok(None) => Some(Harm::Missing),
            Ok(Some(_)) if !path.exists() => Some(Harm::Missing),
            Ok(Some(mark)) if mark.recipe != self.spec().recipe => Some(Harm::OtherRecipe),
            Ok(Some(mark)) => {
                let length = std::fs::metadata(&path).map_err(Error::io(&path, "read"))?.len();
                match () {
                    () if length < mark.bytes => Some(Harm::HalfWritten),
                    () if length > mark.bytes => Some(Harm::Altered),
                    () if level >= VerifyLevel::Bytes && mark::hash_file(&path)?.1 != mark.hash => Some(Harm::Altered),
                    () => None,
                }
            }
        };
        Ok(harm.map(|harm| FileFault { path, harm }))
    }

    /// Checks a tile; returns `None` if it is done and intact.
    ///
    /// # Errors
    /// Returns an error if the layer or tile does not exist, or if the system does not allow reading the shard.
    pub fn check_tile(&self, layer: &str, tile: usize, level: VerifyLevel) -> Result<Option<TileFault>> {
        let layer = self.spec().layer(layer)?.name.as_str();
        let shard = self.shard_path(layer, tile)?;
        let harm = self.find_harm(layer, tile, level, &shard)?;
        Ok(harm.map(|harm| TileFault { layer: layer.to_string(), tile, harm }))
    }

    fn find_harm(&self, layer: &str, tile: usize, level: VerifyLevel, shard: &std::path::Path) -> Result<Option<Harm>> {
        // Cheap checks come first: the mark, the length, the bytes, and finally the samples.
        let mark = match TileMark::read(&self.mark_path(layer, tile)) {
            Err(_) => return Ok(Some(Harm::BadMark)),
            Ok(None) if shard.exists() => return Ok(Some(Harm::Unmarked)),
            Ok(None) => return Ok(Some(Harm::NotMade)),
            Ok(Some(mark)) => mark,
        };
        if mark.recipe != self.spec().recipe {
            return Ok(Some(Harm::OtherRecipe));
        }
        if !shard.exists() {
            return Ok(Some(Harm::Missing));
        }
        let (_, length) = plain::open_plain_file(shard)?;
        if length != mark.bytes {
            return Ok(Some(if length < mark.bytes { Harm::HalfWritten } else { Harm::Altered }));
        }
        if level >= VerifyLevel::Bytes && mark::hash(&plain::read_plain_file(shard, mark.bytes)?) != mark.hash {
            return Ok(Some(Harm::Altered));
        }
        if level >= VerifyLevel::Samples {
            let samples = self.layer(layer)?.read_window(self.spec().tile_window(tile)?);
            // The mark has the range of the samples as they were written. It detects a shard that is intact but decoded
            // otherwise.
            let range = samples.map(|samples| {
                let fill = self.spec().layer(layer).map_or(f64::NAN, |layer| layer.fill);
                mark::sample_range(&samples, fill)
            });
            let stated = mark.minimum.zip(mark.maximum).map(|(low, high)| [low, high]);
            if range.ok() != Some(stated) {
                return Ok(Some(Harm::Altered));
            }
        }
        Ok(None)
    }

    /// Checks all tiles of all layers and returns the damaged or missing ones in order. Remaking these suffices to
    /// restore the store, and gives the same bytes.
    ///
    /// # Errors
    /// Returns an error if the system does not allow reading a shard.
    pub fn verify_tiles(&self, level: VerifyLevel) -> Result<Vec<TileFault>> {
        let mut faults = Vec::new();
        for layer in &self.spec().layers {
            let tiles = (0..self.spec().tile_count()).into_par_iter();
            let found = tiles.map(|tile| self.check_tile(&layer.name, tile, level)).collect::<Result<Vec<_>>>()?;
            faults.extend(found.into_iter().flatten());
        }
        Ok(faults)
    }
}
