//! The source of a TIFF file: its bytes in memory, or the file itself, of which only the requested parts are read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

/// The bytes of a file, or an open file.
pub enum TiffSource<'a> {
    /// All bytes of the file.
    Bytes(&'a [u8]),
    /// An open file and its length.
    File(Mutex<File>, u64),
}

impl TiffSource<'_> {
    /// Returns the number of bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(_, length) => *length,
        }
    }

    /// Returns `n` bytes from position `at`; `None` if they are not all inside the file or cannot be read.
    pub fn get(&self, at: u64, n: u64) -> Option<Cow<'_, [u8]>> {
        let end = at.checked_add(n).filter(|end| *end <= self.length())?;
        match self {
            Self::Bytes(bytes) => bytes.get(usize::try_from(at).ok()?..usize::try_from(end).ok()?).map(Cow::Borrowed),
            Self::File(file, _) => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(usize::try_from(n).ok()?).ok()?;
                // The position at which another reader failed does not matter, because each reader seeks first.
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(at)).ok()?;
                (&mut *file).take(n).read_to_end(&mut bytes).ok()?;
                (bytes.len() as u64 == n).then_some(Cow::Owned(bytes))
            }
        }
    }
}
