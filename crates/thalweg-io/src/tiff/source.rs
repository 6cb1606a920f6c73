//! What a TIFF file is read from: its bytes, or the file itself, of which only what is asked for is read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

/// Bytes, or a file.
pub enum Source<'a> {
    /// All bytes.
    Bytes(&'a [u8]),
    /// A file and its length.
    File(Mutex<File>, u64),
}

impl Source<'_> {
    /// Number of bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(_, length) => *length,
        }
    }

    /// `n` bytes from position `at` on; `None` if they do not all lie inside, or cannot be read.
    pub fn get(&self, at: u64, n: u64) -> Option<Cow<'_, [u8]>> {
        let end = at.checked_add(n).filter(|end| *end <= self.length())?;
        match self {
            Self::Bytes(bytes) => bytes.get(usize::try_from(at).ok()?..usize::try_from(end).ok()?).map(Cow::Borrowed),
            Self::File(file, _) => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(usize::try_from(n).ok()?).ok()?;
                // Where a reader failed before us matters not: each seeks first.
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(at)).ok()?;
                (&mut *file).take(n).read_to_end(&mut bytes).ok()?;
                (bytes.len() as u64 == n).then_some(Cow::Owned(bytes))
            }
        }
    }
}
