//! The messages between stages on the disk: the summaries of tiles, and the answers.
//!
//! Each stage has a folder with `TILE.summary` for every tile that is done, and `answers` once it is solved. Each file
//! is written atomically, with a hash of its bytes; a file whose hash does not match is reported as damaged.

use std::borrow::Cow;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use thalweg_core::{Error, Result};
use thalweg_io::{atomic, disk};
use thalweg_tiled::Summaries;
use xxhash_rust::xxh3::xxh3_64;

/// The size of a hash or a number in bytes.
const WORD: usize = 8;

/// The messages of one stage.
pub(crate) struct StageMailbox {
    folder: PathBuf,
}

impl StageMailbox {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder of the store of the layers that the stage passes on.
    pub fn passed_store_path(&self) -> PathBuf {
        self.folder.join("handed.zarr")
    }

    /// Deletes the layers that the stage passed on, because no other stage needs them any more; with `reads_summaries`
    /// its summaries as well. What the system does not allow to be deleted yet is deleted by a later call.
    pub fn delete_passed_layers(&self, reads_summaries: bool) {
        let handed = self.passed_store_path();
        // The process number keeps two processes that delete at the same time apart.
        let gone = self.folder.join(format!("gone.{}", std::process::id()));
        // The folder is renamed before it is deleted, so that under its own name it is always complete.
        if handed.exists() && std::fs::rename(&handed, &gone).is_ok() {
            let _ = std::fs::remove_dir_all(&gone);
        }
        for file in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = file.path();
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("summary") if reads_summaries => drop(disk::remove_file(&path)),
                Some(_) if path.is_dir() && file.file_name().to_string_lossy().starts_with("gone.") => {
                    let _ = std::fs::remove_dir_all(&path);
                }
                _ => {}
            }
        }
    }

    /// Deletes the temporary files that interrupted writers left behind.
    pub fn delete_leftovers(&self) {
        atomic::remove_stale_temporaries(&self.folder);
    }

    fn summary_path(&self, tile: usize) -> PathBuf {
        self.folder.join(format!("{tile}.summary"))
    }

    fn answers_path(&self) -> PathBuf {
        self.folder.join("answers")
    }

    /// Returns true if a tile is done: its summary exists, or the stage is solved, after which summaries may be
    /// deleted.
    pub fn is_tile_done(&self, tile: usize) -> bool {
        self.has_summary(tile) || self.is_solved()
    }

    /// Returns true if a tile's summary exists.
    pub fn has_summary(&self, tile: usize) -> bool {
        self.summary_path(tile).exists()
    }

    pub fn write_summary(&self, tile: usize, summary: &[u8]) -> Result<()> {
        let mut bytes = summary.to_vec();
        // The hash follows the content, so the summary begins at byte 0 and parts of it can be read directly.
        bytes.extend(xxh3_64(summary).to_le_bytes());
        write_message(&self.summary_path(tile), &bytes)
    }

    /// Reads the summary of a tile and checks its hash.
    pub fn read_summary(&self, tile: usize) -> Result<Vec<u8>> {
        let path = self.summary_path(tile);
        let mut bytes = std::fs::read(&path).map_err(Error::io(&path, "read"))?;
        let at = bytes.len().checked_sub(WORD).ok_or_else(|| damaged_file_error(&path))?;
        let hash = bytes.split_off(at);
        if hash != xxh3_64(&bytes).to_le_bytes() {
            return Err(damaged_file_error(&path));
        }
        Ok(bytes)
    }

    /// Returns true if the stage is solved.
    pub fn is_solved(&self) -> bool {
        self.answers_path().exists()
    }

    /// Returns the summaries of `count` tiles, which are read one by one.
    pub fn summaries(&self, count: usize) -> MailboxSummaries<'_> {
        MailboxSummaries { shelf: self, count }
    }

    /// Writes the answers: their number, the end and the hash of each, and then their bytes.
    pub fn write_answers(&self, answers: &[Vec<u8>]) -> Result<()> {
        let path = self.answers_path();
        crate::disk::write_file_with(&path, |file| {
            file.write_all(&(answers.len() as u64).to_le_bytes())?;
            let mut end = 0u64;
            for answer in answers {
                // Ends are stored instead of lengths, so the place of an answer follows from two entries, without a sum
                // over all tiles before it.
                end += answer.len() as u64;
                file.write_all(&end.to_le_bytes())?;
                file.write_all(&xxh3_64(answer).to_le_bytes())?;
            }
            answers.iter().try_for_each(|answer| file.write_all(answer))
        })
    }

    /// Returns the number of summaries that exist.
    pub fn count_summaries(&self) -> usize {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        files.filter(|file| file.path().extension().is_some_and(|ending| ending == "summary")).count()
    }

    /// Saves the stage's findings for the report.
    pub fn write_findings(&self, found: &Map<String, Value>) -> Result<()> {
        write_message(&self.folder.join("found.json"), Value::Object(found.clone()).to_string().as_bytes())
    }

    /// Returns the stage's findings; they are empty before it is solved.
    pub fn read_findings(&self) -> Result<Map<String, Value>> {
        let path = self.folder.join("found.json");
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| damaged_file_error(&path)),
            Err(_) => Ok(Map::new()),
        }
    }

    /// Reads the answer for a tile; it is empty if the stage gives no answers.
    pub fn read_answer(&self, tile: usize) -> Result<Vec<u8>> {
        let path = self.answers_path();
        let mut file = std::fs::File::open(&path).map_err(Error::io(&path, "open"))?;
        let word = |file: &mut std::fs::File| {
            let mut word = [0; WORD];
            file.read_exact(&mut word).map(|()| u64::from_le_bytes(word)).map_err(|_| damaged_file_error(&path))
        };
        let count = word(&mut file)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        // The table begins after the count; each tile has its end and its hash, a word each.
        let row = |tile: u64| (WORD as u64) * (1 + 2 * tile);
        let mut start = 0;
        let tile = tile as u64;
        if tile >= count {
            return Err(damaged_file_error(&path));
        }
        if tile > 0 {
            file.seek(SeekFrom::Start(row(tile - 1))).map_err(Error::io(&path, "read"))?;
            start = word(&mut file)?;
        }
        file.seek(SeekFrom::Start(row(tile))).map_err(Error::io(&path, "read"))?;
        let (end, hash) = (word(&mut file)?, word(&mut file)?);
        let length = file.metadata().map_err(Error::io(&path, "read"))?.len();
        // Damaged entries must not request more memory than the file has bytes.
        let place = row(count)
            .checked_add(start)
            .filter(|_| start <= end && end <= length)
            .ok_or_else(|| damaged_file_error(&path))?;
        file.seek(SeekFrom::Start(place)).map_err(Error::io(&path, "read"))?;
        let mut answer = vec![0; (end - start) as usize];
        file.read_exact(&mut answer).map_err(|_| damaged_file_error(&path))?;
        if xxh3_64(&answer) != hash {
            return Err(damaged_file_error(&path));
        }
        Ok(answer)
    }
}

/// The summaries of a stage on the disk.
pub(crate) struct MailboxSummaries<'a> {
    shelf: &'a StageMailbox,
    count: usize,
}

impl Summaries for MailboxSummaries<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, tile: usize) -> Result<Cow<'_, [u8]>> {
        self.shelf.read_summary(tile).map(Cow::Owned)
    }

    /// Reads a part without checking the hash, which was checked when the summary was read as a whole.
    fn read_range(&self, tile: usize, bytes: Range<usize>) -> Result<Cow<'_, [u8]>> {
        let path = self.shelf.summary_path(tile);
        let mut file = std::fs::File::open(&path).map_err(Error::io(&path, "open"))?;
        file.seek(SeekFrom::Start(bytes.start as u64)).map_err(Error::io(&path, "read"))?;
        let mut part = vec![0; bytes.len()];
        file.read_exact(&mut part).map_err(|_| damaged_file_error(&path))?;
        Ok(Cow::Owned(part))
    }
}

fn write_message(path: &Path, bytes: &[u8]) -> Result<()> {
    crate::disk::write_file(path, bytes)
}

fn damaged_file_error(path: &Path) -> Error {
    Error::invalid_file(path, "is damaged; remove it, and its content is computed again")
}
