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
    pub(super) fn without_version() -> Self {
        Self { bytes: Vec::new(), before: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn write_byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(super) fn write_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn write_number(&mut self, value: u64) {
        put_number(&mut self.bytes, value);
    }

    /// Sets the reference for the next [difference](Self::write_difference).
    pub(super) fn set_previous(&mut self, value: i64) {
        self.before = value;
    }

    /// Writes a number as the difference from the previous one written by this method. Small differences of either
    /// sign are short.
    pub(super) fn write_difference(&mut self, value: i64) {
        // Differences wrap, so that any two values have one; the reader wraps back.
        let step = value.wrapping_sub(self.before);
        // The sign moves to the lowest bit (zigzag encoding): 0, −1, 1, −2 become 0, 1, 2, 3.
        self.write_number((step << 1 ^ step >> 63) as u64);
        self.before = value;
    }

    pub(super) fn write_option(&mut self, value: Option<u64>) {
        self.write_byte(u8::from(value.is_some()));
        value.into_iter().for_each(|value| self.write_number(value));
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
        let mut reader = Self::without_version(what, tile, bytes);
        match reader.read_byte()? {
            VERSION => Ok(reader),
            other => Err(Error::invalid_value(format!("version of {what} of tile {tile}"), other, VERSION.to_string())),
        }
    }

    /// Creates a reader for bytes inside other messages, which contain no version.
    pub(super) fn without_version(what: &'static str, tile: usize, bytes: &'a [u8]) -> Self {
        Self { what, tile, bytes, before: 0 }
    }

    /// Sets the reference for the next difference, as [`Writer::set_previous`] does.
    pub(super) fn set_previous(&mut self, value: i64) {
        self.before = value;
    }

    pub(super) fn damage_error(&self) -> Error {
        damaged_bytes_error(self.what, self.tile)
    }

    pub(super) fn read_byte(&mut self) -> Result<u8> {
        Ok(self.read_bytes(1)?[0])
    }

    pub(super) fn read_bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (here, rest) = self.bytes.split_at_checked(count).ok_or_else(|| self.damage_error())?;
        self.bytes = rest;
        Ok(here)
    }

    /// Reads a number written by [`put_number`].
    pub(super) fn read_number(&mut self) -> Result<u64> {
        let mut value = 0;
        // Ten bytes contain 64 bits; a number that continues after them is damaged.
        for shift in (0..64).step_by(7) {
            let byte = self.read_byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.damage_error())
    }

    pub(super) fn read_difference(&mut self) -> Result<i64> {
        let step = self.read_number()?;
        self.before = self.before.wrapping_add((step >> 1) as i64 ^ -((step & 1) as i64));
        Ok(self.before)
    }

    pub(super) fn read_difference_i32(&mut self) -> Result<i32> {
        let value = self.read_difference()?;
        i32::try_from(value).map_err(|_| self.damage_error())
    }

    pub(super) fn read_option(&mut self) -> Result<Option<u64>> {
        (self.read_byte()? != 0).then(|| self.read_number()).transpose()
    }

    /// Reads a number below `end`.
    pub(super) fn read_number_below(&mut self, end: usize) -> Result<usize> {
        let value = self.read_number()?;
        usize::try_from(value).ok().filter(|value| *value < end).ok_or_else(|| self.damage_error())
    }

    /// Reads the number of items that follow, each of at least one byte. This bounds the memory that damaged bytes
    /// can request.
    pub(super) fn read_count(&mut self) -> Result<usize> {
        // A count that is greater than the number of remaining bytes cannot be true.
        let end = self.bytes.len() + 1;
        self.read_number_below(end)
    }

    /// Returns the number of bytes that are not read yet.
    pub(super) fn remaining_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Checks that no bytes follow.
    pub(super) fn expect_end(&self) -> Result<()> {
        if self.bytes.is_empty() { Ok(()) } else { Err(self.damage_error()) }
    }
}

/// Returns the error for bytes that no tile can have produced.
pub(super) fn damaged_bytes_error(what: &str, tile: usize) -> Error {
    let name = format!("{what} of tile {tile}");
    Error::invalid_value(name, "damaged bytes", "content that a tile wrote; delete the damaged output and start again")
}
