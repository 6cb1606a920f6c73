//! Encoding of messages between passes: integers with a variable number of bytes.

use thalweg_core::{Error, Result};

/// Version of the encoding, stored first. Other versions are rejected.
const VERSION: u8 = 1;

/// Encodes numbers one after another.
pub(super) struct Writer {
    bytes: Vec<u8>,
    before: i64,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { bytes: vec![VERSION], before: 0 }
    }

    /// Creates a writer for bytes inside other messages, which contain no version.
    pub(super) fn bare() -> Self {
        Self { bytes: Vec::new(), before: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn number(&mut self, value: u64) {
        put_number(&mut self.bytes, value);
    }

    /// Sets the reference for the next [near](Self::near) number.
    pub(super) fn near_to(&mut self, value: i64) {
        self.before = value;
    }

    /// Writes a number as the difference from the previous one written by this method. Small differences of either
    /// sign are short.
    pub(super) fn near(&mut self, value: i64) {
        let step = value.wrapping_sub(self.before);
        self.number((step << 1 ^ step >> 63) as u64);
        self.before = value;
    }

    pub(super) fn option(&mut self, value: Option<u64>) {
        self.byte(u8::from(value.is_some()));
        value.into_iter().for_each(|value| self.number(value));
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Writes seven bits per byte, lowest first; the eighth bit of a byte is set if more bytes follow (LEB128).
pub(super) fn put_number(bytes: &mut Vec<u8>, value: u64) {
    let mut rest = value;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// Decodes numbers. For any bytes, it returns an error rather than panic.
pub(super) struct Reader<'a> {
    what: &'static str,
    tile: usize,
    bytes: &'a [u8],
    before: i64,
}

impl<'a> Reader<'a> {
    /// Creates a reader and checks the version. `what` describes the bytes, and `tile` is their tile, for error
    /// messages.
    pub(super) fn new(what: &'static str, tile: usize, bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Self::bare(what, tile, bytes);
        match reader.byte()? {
            VERSION => Ok(reader),
            other => Err(Error::value(format!("version of {what} of tile {tile}"), other, VERSION.to_string())),
        }
    }

    /// Creates a reader for bytes inside other messages, which contain no version.
    pub(super) fn bare(what: &'static str, tile: usize, bytes: &'a [u8]) -> Self {
        Self { what, tile, bytes, before: 0 }
    }

    /// Sets the reference for the next near number, as [`Writer::near_to`] does.
    pub(super) fn near_to(&mut self, value: i64) {
        self.before = value;
    }

    pub(super) fn damaged(&self) -> Error {
        damaged(self.what, self.tile)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(self.bytes(1)?[0])
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (here, rest) = self.bytes.split_at_checked(count).ok_or_else(|| self.damaged())?;
        self.bytes = rest;
        Ok(here)
    }

    /// Reads a number written by [`put_number`].
    pub(super) fn number(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.damaged())
    }

    pub(super) fn near(&mut self) -> Result<i64> {
        let step = self.number()?;
        self.before = self.before.wrapping_add((step >> 1) as i64 ^ -((step & 1) as i64));
        Ok(self.before)
    }

    pub(super) fn near_i32(&mut self) -> Result<i32> {
        let value = self.near()?;
        i32::try_from(value).map_err(|_| self.damaged())
    }

    pub(super) fn option(&mut self) -> Result<Option<u64>> {
        (self.byte()? != 0).then(|| self.number()).transpose()
    }

    /// Reads a number below `end`.
    pub(super) fn below(&mut self, end: usize) -> Result<usize> {
        let value = self.number()?;
        usize::try_from(value).ok().filter(|value| *value < end).ok_or_else(|| self.damaged())
    }

    /// Reads the number of items that follow, each of at least one byte. This bounds the memory that damaged bytes
    /// can request.
    pub(super) fn count(&mut self) -> Result<usize> {
        let end = self.bytes.len() + 1;
        self.below(end)
    }

    /// Returns the number of bytes that are not read yet.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    /// Checks that no bytes follow.
    pub(super) fn end(&self) -> Result<()> {
        if self.bytes.is_empty() { Ok(()) } else { Err(self.damaged()) }
    }
}

/// Returns the error for bytes that no tile can have produced.
pub(super) fn damaged(what: &str, tile: usize) -> Error {
    let name = format!("{what} of tile {tile}");
    Error::value(name, "damaged bytes", "the bytes that the tiles of this step or of the previous one wrote")
}
