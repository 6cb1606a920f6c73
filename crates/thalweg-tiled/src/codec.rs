//! Bytes that go between passes: whole numbers, each in as few bytes as it needs.

use thalweg_core::{Error, Result};

/// Stands before all else: bytes of another version are refused.
const VERSION: u8 = 1;

/// Puts numbers one after another.
pub(super) struct Writer {
    bytes: Vec<u8>,
    before: i64,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { bytes: vec![VERSION], before: 0 }
    }

    /// For bytes within others, which bear no version.
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

    /// The next [near](Self::near) number is near this one.
    pub(super) fn near_to(&mut self, value: i64) {
        self.before = value;
    }

    /// A number that is often near the last one written so; small differences of either sign are short.
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

/// Seven bits a byte, the lowest first; the eighth says that more follow.
pub(super) fn put_number(bytes: &mut Vec<u8>, value: u64) {
    let mut rest = value;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// Takes the numbers back. Whatever the bytes are, it returns an error and never panics.
pub(super) struct Reader<'a> {
    what: &'static str,
    tile: usize,
    bytes: &'a [u8],
    before: i64,
}

impl<'a> Reader<'a> {
    /// `what` the bytes are, and of which tile, for messages.
    pub(super) fn new(what: &'static str, tile: usize, bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Self::bare(what, tile, bytes);
        match reader.byte()? {
            VERSION => Ok(reader),
            other => Err(Error::value(format!("version of {what} of tile {tile}"), other, VERSION.to_string())),
        }
    }

    /// Of bytes within others, which bear no version.
    pub(super) fn bare(what: &'static str, tile: usize, bytes: &'a [u8]) -> Self {
        Self { what, tile, bytes, before: 0 }
    }

    /// As [`Writer::near_to`].
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

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> Result<usize> {
        let value = self.number()?;
        usize::try_from(value).ok().filter(|value| *value < end).ok_or_else(|| self.damaged())
    }

    /// How many things follow, each of a byte at least.
    pub(super) fn count(&mut self) -> Result<usize> {
        let end = self.bytes.len() + 1;
        self.below(end)
    }

    /// Bytes that were not taken yet.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Result<()> {
        if self.bytes.is_empty() { Ok(()) } else { Err(self.damaged()) }
    }
}

/// What is said of bytes that no tile made.
pub(super) fn damaged(what: &str, tile: usize) -> Error {
    let name = format!("{what} of tile {tile}");
    Error::value(name, "damaged bytes", "the bytes that this step's tiles or the one before made")
}
