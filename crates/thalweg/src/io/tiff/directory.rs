//! The directories of a TIFF file, every value known to lie inside the file before it is read.
//!
//! TIFF 6.0 (Adobe 1992), BigTIFF (2007): a directory is a list of (tag, type, count, value or its position).

use std::collections::BTreeMap;

/// The entries of a directory, every value known to lie inside the file.
pub struct Directory<'a> {
    bytes: &'a [u8],
    big_endian: bool,
    /// Whether it is a BigTIFF.
    big: bool,
    entries: BTreeMap<u16, Entry>,
    /// Position of the next directory.
    next: Option<u64>,
}

struct Entry {
    kind: u16,
    count: usize,
    /// Position of the first value in the file; `None` when the values do not lie inside it.
    at: Option<usize>,
}

/// Bytes of a value of each field type; `None` for an unknown type.
fn width(kind: u16) -> Option<usize> {
    Some(match kind {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16 | 17 | 18 => 8,
        _ => return None,
    })
}

impl<'a> Directory<'a> {
    /// Reads the first directory.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let broken = || "is not a TIFF file, or it is truncated".to_string();
        let big_endian = match bytes.get(..2) {
            Some(b"II") => false,
            Some(b"MM") => true,
            _ => return Err(broken()),
        };
        let mut head = Self { bytes, big_endian, big: false, entries: BTreeMap::new(), next: None };
        head.big = match head.uint(2, 2) {
            Some(42) => false,
            Some(43) => true,
            _ => return Err(broken()),
        };
        let start = if head.big { head.uint(8, 8) } else { head.uint(4, 4) }.ok_or_else(broken)?;
        head.at(start)
    }

    /// Reads the directory after this one, if there is one.
    pub fn next(&self) -> Option<Result<Self, String>> {
        self.next.map(|start| self.at(start))
    }

    /// Reads the directory at that position.
    fn at(&self, start: u64) -> Result<Self, String> {
        let Self { bytes, big_endian, big, .. } = *self;
        let mut directory = Self { bytes, big_endian, big, entries: BTreeMap::new(), next: None };
        // widths of: the number of entries, an entry, its count, its value
        let [head, step, wide] = if big { [8, 20, 8] } else { [2, 12, 4] };
        let outside = || "is truncated: its directory lies outside the file".to_string();
        let start = usize::try_from(start).map_err(|_| outside())?;
        let count = directory.uint(start, head).ok_or_else(outside)?;
        if count > (bytes.len() / step) as u64 {
            return Err(outside());
        }
        for k in 0..count as usize {
            let at = start + head + k * step;
            let (Some(tag), Some(kind), Some(n)) =
                (directory.uint(at, 2), directory.uint(at + 2, 2), directory.uint(at + 4, wide))
            else {
                return Err(outside());
            };
            let Some(each) = width(kind as u16) else {
                continue; // to be skipped, says the standard
            };
            let value = at + 4 + wide;
            let length = usize::try_from(n).ok().and_then(|n| n.checked_mul(each));
            let place = match length {
                Some(length) if length <= wide => Some(value as u64),
                _ => directory.uint(value, wide),
            };
            let inside = |at: &usize| length.and_then(|l| l.checked_add(*at)).is_some_and(|end| end <= bytes.len());
            let at = place.and_then(|p| usize::try_from(p).ok()).filter(inside);
            directory.entries.insert(tag as u16, Entry { kind: kind as u16, count: n as usize, at });
        }
        let after = start + head + count as usize * step;
        directory.next = directory.uint(after, if big { 8 } else { 4 }).filter(|next| *next != 0);
        Ok(directory)
    }

    /// Whether the file's numbers have their greatest byte first.
    pub fn big_endian(&self) -> bool {
        self.big_endian
    }

    /// Whether the tag is there.
    pub fn has(&self, tag: u16) -> bool {
        self.entries.contains_key(&tag)
    }

    /// The whole numbers of a tag; empty if it is not there.
    pub fn numbers(&self, tag: u16) -> Result<Vec<u64>, String> {
        self.values(tag, |kind, at, each| match kind {
            1 | 3 | 4 | 13 | 16 | 18 => self.uint(at, each),
            _ => None,
        })
    }

    /// The first whole number of a tag, or `default` if the tag is not there.
    pub fn number(&self, tag: u16, default: u64) -> Result<u64, String> {
        Ok(self.numbers(tag)?.first().copied().unwrap_or(default))
    }

    /// The real numbers of a tag; empty if it is not there.
    pub fn doubles(&self, tag: u16) -> Result<Vec<f64>, String> {
        self.values(tag, |kind, at, each| match kind {
            12 => self.uint(at, each).map(f64::from_bits),
            11 => self.uint(at, each).map(|bits| f64::from(f32::from_bits(bits as u32))),
            1 | 3 | 4 | 16 => self.uint(at, each).map(|n| n as f64),
            _ => None,
        })
    }

    /// The text of a tag up to its end mark; empty if it is not there.
    pub fn text(&self, tag: u16) -> Result<String, String> {
        let bytes = self.values(tag, |kind, at, _| matches!(kind, 1 | 2 | 7).then(|| self.bytes[at]))?;
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn values<T>(&self, tag: u16, value: impl Fn(u16, usize, usize) -> Option<T>) -> Result<Vec<T>, String> {
        let Some(entry) = self.entries.get(&tag) else {
            return Ok(Vec::new());
        };
        let start = entry.at.ok_or_else(|| format!("is truncated: the values of tag {tag} lie outside the file"))?;
        let each = width(entry.kind).unwrap_or(1);
        let values = (0..entry.count).map(|k| value(entry.kind, start + k * each, each)).collect::<Option<Vec<T>>>();
        values.ok_or_else(|| format!("is broken: tag {tag} is of field type {}", entry.kind))
    }

    /// A whole number of `width` bytes at position `at`.
    fn uint(&self, at: usize, width: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(width)?)?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) })
    }
}
