//! Whether what a store says is done is there, whole and unaltered.

use std::fmt;
use std::path::PathBuf;

use rayon::prelude::*;
use thalweg_core::base::names::shown;
use thalweg_core::{Error, Result};
use thalweg_io::plain;

use crate::mark::{self, Mark};
use crate::products::beside;
use crate::store::Store;
use thalweg_io::WindowedMap as _;

/// How closely a store is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Marks, and lengths of shards: nothing of these is read.
    Lengths,
    /// The hash of every shard's bytes as well.
    Bytes,
    /// Every shard decoded as well, and its least and greatest sample.
    Samples,
}

/// What is wrong with a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Harm {
    /// It is not made yet: neither shard nor mark.
    NotMade,
    /// A shard without a mark: its writer was ended between them.
    Unmarked,
    /// A mark without a shard.
    Missing,
    /// A shard that is shorter than its mark says.
    HalfWritten,
    /// A shard of other bytes, or other samples, than its mark says.
    Altered,
    /// A mark of another recipe than the store's.
    OtherRecipe,
    /// A mark that cannot be read.
    BadMark,
}

/// A tile of a layer that is to be made anew.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The layer.
    pub layer: String,
    /// Number of the tile.
    pub tile: usize,
    /// What is wrong with it.
    pub harm: Harm,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let harm = match self.harm {
            Harm::NotMade => "is not made yet",
            Harm::Unmarked => "has a shard without a mark: whoever wrote it was ended before it was done",
            Harm::Missing => "is missing: it was made, and its shard is gone",
            Harm::HalfWritten => "is half-written: its shard is shorter than when it was made",
            Harm::Altered => "was altered since it was made",
            Harm::OtherRecipe => "is of another recipe",
            Harm::BadMark => "has a mark that cannot be read",
        };
        write!(f, "layer `{}`, tile {}: {harm}", self.layer, self.tile)
    }
}

/// A file of a store, or beside it, that is to be made anew.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileFault {
    /// The file, or the folder of a coordinate.
    pub path: PathBuf,
    /// What is wrong with it.
    pub harm: Harm,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let harm = match self.harm {
            Harm::Missing => "is missing: it was made, and is gone",
            Harm::HalfWritten => "is shorter than when it was made",
            Harm::OtherRecipe => "is of another recipe",
            Harm::BadMark => "has a mark that cannot be read",
            _ => "was altered since it was made",
        };
        write!(f, "{} {harm}", shown(&self.path))
    }
}

impl Store {
    /// What is wrong with the files that lie beside the store, streams and lakes, and with its coordinates.
    ///
    /// # Errors
    /// A file that the system does not let us read.
    pub fn verify_files(&self, level: Level) -> Result<Vec<FileFault>> {
        let lost = self.lost_coordinates().into_iter().map(|path| FileFault { path, harm: Harm::Altered });
        let mut faults: Vec<FileFault> = lost.collect();
        for name in self.marked_files() {
            faults.extend(self.check_file(&name, level)?);
        }
        Ok(faults)
    }

    /// What is wrong with a file that lies beside the store; one that was never made is missing.
    pub(crate) fn check_file(&self, name: &str, level: Level) -> Result<Option<FileFault>> {
        let path = beside(self.path(), name);
        let harm = match Mark::read(&self.file_mark(name)) {
            Err(_) => Some(Harm::BadMark),
            Ok(None) => Some(Harm::Missing),
            Ok(Some(_)) if !path.exists() => Some(Harm::Missing),
            Ok(Some(mark)) if mark.recipe != self.spec().recipe => Some(Harm::OtherRecipe),
            Ok(Some(mark)) => {
                let length = std::fs::metadata(&path).map_err(Error::io(&path, "read"))?.len();
                match () {
                    () if length < mark.bytes => Some(Harm::HalfWritten),
                    () if length > mark.bytes => Some(Harm::Altered),
                    () if level >= Level::Bytes && mark::hash_file(&path)?.1 != mark.hash => Some(Harm::Altered),
                    () => None,
                }
            }
        };
        Ok(harm.map(|harm| FileFault { path, harm }))
    }

    /// What is wrong with a tile; `None` where it is done and well.
    ///
    /// # Errors
    /// A layer or tile that is not there; a shard that the system does not let us read.
    pub fn check_tile(&self, layer: &str, tile: usize, level: Level) -> Result<Option<Fault>> {
        let shard = self.shard_path(layer, tile)?;
        let harm = self.harm(layer, tile, level, &shard)?;
        Ok(harm.map(|harm| Fault { layer: layer.to_string(), tile, harm }))
    }

    fn harm(&self, layer: &str, tile: usize, level: Level, shard: &std::path::Path) -> Result<Option<Harm>> {
        let mark = match Mark::read(&self.mark_path(layer, tile)) {
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
        let (_, length) = plain::open(shard)?;
        if length != mark.bytes {
            return Ok(Some(if length < mark.bytes { Harm::HalfWritten } else { Harm::Altered }));
        }
        if level >= Level::Bytes && mark::hash(&plain::read(shard, mark.bytes)?) != mark.hash {
            return Ok(Some(Harm::Altered));
        }
        if level >= Level::Samples {
            let samples = self.layer(layer)?.read(self.spec().window(tile)?);
            let range = samples.map(|samples| {
                let fill = self.spec().layer(layer).map_or(f64::NAN, |layer| layer.fill);
                mark::range(&samples, fill)
            });
            let stated = mark.minimum.zip(mark.maximum).map(|(low, high)| [low, high]);
            if range.ok() != Some(stated) {
                return Ok(Some(Harm::Altered));
            }
        }
        Ok(None)
    }

    /// All tiles of all layers that are not well, in their order: to make these anew is enough, and gives the same bytes.
    ///
    /// # Errors
    /// Shards that the system does not let us read.
    pub fn verify(&self, level: Level) -> Result<Vec<Fault>> {
        let mut faults = Vec::new();
        for layer in &self.spec().layers {
            let tiles = (0..self.spec().tile_count()).into_par_iter();
            let found = tiles.map(|tile| self.check_tile(&layer.name, tile, level)).collect::<Result<Vec<_>>>()?;
            faults.extend(found.into_iter().flatten());
        }
        Ok(faults)
    }
}
