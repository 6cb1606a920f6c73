//! What stages say to one another, on a disk: summaries of tiles, and answers.
//!
//! A folder for each stage: `TILE.summary` of every tile that is done, `answers` when it is solved. Each is written whole, with a hash of its
//! bytes at its end; what does not bear its hash counts as missing.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use thalweg::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a hash, and of a number.
const WORD: usize = 8;

/// The messages of one stage.
pub(crate) struct Shelf {
    folder: PathBuf,
}

impl Shelf {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Makes its folder.
    pub fn make(&self) -> Result<()> {
        std::fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder, "make the folder"))
    }

    fn summary_path(&self, tile: usize) -> PathBuf {
        self.folder.join(format!("{tile}.summary"))
    }

    fn answers_path(&self) -> PathBuf {
        self.folder.join("answers")
    }

    /// Whether a tile's summary is there.
    pub fn has(&self, tile: usize) -> bool {
        self.summary_path(tile).exists()
    }

    pub fn put(&self, tile: usize, summary: &[u8]) -> Result<()> {
        let mut bytes = summary.to_vec();
        bytes.extend(xxh3_64(summary).to_le_bytes());
        write(&self.summary_path(tile), &bytes)
    }

    /// The summary of a tile.
    pub fn take(&self, tile: usize) -> Result<Vec<u8>> {
        let path = self.summary_path(tile);
        let mut bytes = std::fs::read(&path).map_err(Error::io(&path, "read"))?;
        let at = bytes.len().checked_sub(WORD).ok_or_else(|| damaged(&path))?;
        let hash = bytes.split_off(at);
        if hash != xxh3_64(&bytes).to_le_bytes() {
            return Err(damaged(&path));
        }
        Ok(bytes)
    }

    /// Whether the stage is solved.
    pub fn is_solved(&self) -> bool {
        self.answers_path().exists()
    }

    /// Keeps the answers: how many they are, where each ends, and then their bytes, with the hash of each.
    pub fn solve(&self, answers: &[Vec<u8>]) -> Result<()> {
        let mut bytes = (answers.len() as u64).to_le_bytes().to_vec();
        let mut end = 0u64;
        for answer in answers {
            end += answer.len() as u64;
            bytes.extend(end.to_le_bytes());
            bytes.extend(xxh3_64(answer).to_le_bytes());
        }
        answers.iter().for_each(|answer| bytes.extend(answer));
        write(&self.answers_path(), &bytes)
    }

    /// How many tiles' summaries are there.
    pub fn count(&self) -> usize {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        files.filter(|file| file.path().extension().is_some_and(|ending| ending == "summary")).count()
    }

    /// Keeps what was found.
    pub fn note(&self, found: &Map<String, Value>) -> Result<()> {
        write(&self.folder.join("found.json"), Value::Object(found.clone()).to_string().as_bytes())
    }

    /// What was found; nothing before that.
    pub fn noted(&self) -> Result<Map<String, Value>> {
        let path = self.folder.join("found.json");
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| damaged(&path)),
            Err(_) => Ok(Map::new()),
        }
    }

    /// The answer for a tile: nothing where the stage gives none.
    pub fn answer(&self, tile: usize) -> Result<Vec<u8>> {
        let path = self.answers_path();
        let mut file = std::fs::File::open(&path).map_err(Error::io(&path, "open"))?;
        let word = |file: &mut std::fs::File| {
            let mut word = [0; WORD];
            file.read_exact(&mut word).map(|()| u64::from_le_bytes(word)).map_err(|_| damaged(&path))
        };
        let count = word(&mut file)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let row = |tile: u64| (WORD as u64) * (1 + 2 * tile);
        let mut start = 0;
        let tile = tile as u64;
        if tile >= count {
            return Err(damaged(&path));
        }
        if tile > 0 {
            file.seek(SeekFrom::Start(row(tile - 1))).map_err(Error::io(&path, "read"))?;
            start = word(&mut file)?;
        }
        file.seek(SeekFrom::Start(row(tile))).map_err(Error::io(&path, "read"))?;
        let (end, hash) = (word(&mut file)?, word(&mut file)?);
        let length = file.metadata().map_err(Error::io(&path, "read"))?.len();
        let place =
            row(count).checked_add(start).filter(|_| start <= end && end <= length).ok_or_else(|| damaged(&path))?;
        file.seek(SeekFrom::Start(place)).map_err(Error::io(&path, "read"))?;
        let mut answer = vec![0; (end - start) as usize];
        file.read_exact(&mut answer).map_err(|_| damaged(&path))?;
        if xxh3_64(&answer) != hash {
            return Err(damaged(&path));
        }
        Ok(answer)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    crate::disk::put(path, bytes)
}

fn damaged(path: &Path) -> Error {
    Error::file(path, "is damaged; remove it, and what it says is worked out again")
}
