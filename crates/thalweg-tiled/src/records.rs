//! Records in a part of a tile's summary, read in small blocks, so that reading the records of many tiles at once
//! needs little memory.

use std::ops::Range;

use crate::Summaries;
use crate::codec::damaged_bytes_error;
use thalweg_core::Result;

/// Number of bytes of a summary that a reader keeps in memory, unless a record is longer. A solution has one reader per
/// tile, so more bytes need more memory, and fewer need more reads.
const BUFFER_BYTES: usize = 4096;

/// Number of bytes before a record: its key and its length.
const HEAD: usize = 12;

/// Memory of a reader, in bytes.
pub(super) const READER: u64 = (BUFFER_BYTES + size_of::<Records<'static>>()) as u64;

/// Appends a record.
pub(super) fn append_record(bytes: &mut Vec<u8>, key: u64, record: &[u8]) {
    bytes.extend(key.to_le_bytes());
    // The length fits 32 bits: a tile has fewer than 2³⁰ cells, with few bytes for each.
    bytes.extend((record.len() as u32).to_le_bytes());
    bytes.extend(record);
}

/// A reader of records.
pub(super) struct Records<'a> {
    summaries: &'a dyn Summaries,
    what: &'static str,
    tile: usize,
    /// The range of the summary that is not read yet.
    remaining: Range<usize>,
    /// The first bytes of this range, already in memory.
    buffer: Vec<u8>,
    /// The key and length of the next record.
    next: Option<(u64, usize)>,
}

impl<'a> Records<'a> {
    /// Creates a reader of these bytes of a tile's summary; `what` describes them in errors.
    pub(super) fn new(
        summaries: &'a dyn Summaries,
        what: &'static str,
        tile: usize,
        bytes: Range<usize>,
    ) -> Result<Self> {
        let mut records = Self { summaries, what, tile, remaining: bytes, buffer: Vec::new(), next: None };
        records.advance()?;
        Ok(records)
    }

    /// Returns the key of the next record; `None` if there is none.
    pub(super) fn next_key(&self) -> Option<u64> {
        self.next.map(|(key, _)| key)
    }

    /// Returns the next record; an empty one if there is none.
    pub(super) fn read_next(&mut self) -> Result<Vec<u8>> {
        let length = self.next.map_or(0, |(_, length)| length);
        let record = self.read_bytes(length)?;
        self.advance()?;
        Ok(record)
    }

    /// Reads the head of the next record, if there is one.
    fn advance(&mut self) -> Result<()> {
        self.next = None;
        if !self.remaining.is_empty() {
            let head = self.read_bytes(HEAD)?;
            let (key, length) = head.split_at(8);
            // Keys and lengths are little-endian numbers of 8 and 4 bytes.
            let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            self.next = Some((number(key), number(length) as usize));
        }
        Ok(())
    }

    /// Returns the next `count` bytes.
    fn read_bytes(&mut self, count: usize) -> Result<Vec<u8>> {
        if count > self.remaining.len() {
            return Err(damaged_bytes_error(self.what, self.tile));
        }
        // Read a block from the start of the range again. It includes the few bytes that are already in memory, which
        // is simpler than appending to them.
        if count > self.buffer.len() {
            let upto = self.remaining.end.min(self.remaining.start + count.max(BUFFER_BYTES));
            self.buffer = self.summaries.read_range(self.tile, self.remaining.start..upto)?.into_owned();
        }
        self.remaining.start += count;
        // The result takes the existing allocation; the rest is copied to a new one.
        let rest = self.buffer.split_off(count);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }
}
