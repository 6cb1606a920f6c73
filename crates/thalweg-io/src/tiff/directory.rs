//! The directories of a TIFF file; every value is known to be inside the file before it is read.
//!
//! TIFF 6.0 (Adobe 1992), BigTIFF (2007): a directory is a list of entries (tag, type, count, value or position of the
//! value).

use std::collections::BTreeMap;

use super::source::Source;

/// The entries of a directory; positions of values have been checked against the length of the file.
pub struct Directory<'a> {
    source: &'a Source<'a>,
    big_endian: bool,
    /// True if the file is a BigTIFF.
    big: bool,
    entries: BTreeMap<u16, Entry>,
    /// The position of the next directory.
    next: Option<u64>,
}

struct Entry {
    kind: u16,
    count: u64,
    /// The position of the first value in the file; `None` if the values are not inside it.
    at: Option<u64>,
}

/// The greatest size in bytes of the values of one tag. They are read at once, and no supported file has more strips or
/// tiles than that.
const MAX_VALUES: u64 = 1 << 30;

/// The greatest number of entries of a directory: tags have 16 bits.
const MAX_ENTRIES: u64 = 1 << 16;

/// Returns the bytes of a value of a field type; `None` for an unknown type.
fn width(kind: u16) -> Option<u64> {
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
    pub fn parse(source: &'a Source<'a>) -> Result<Self, String> {
        let broken = || "is not a TIFF file, or it is truncated".to_string();
        let big_endian = match source.get(0, 2).as_deref() {
            Some(b"II") => false,
            Some(b"MM") => true,
            _ => return Err(broken()),
        };
        let mut head = Self { source, big_endian, big: false, entries: BTreeMap::new(), next: None };
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

    /// Reads the directory at this position.
    fn at(&self, start: u64) -> Result<Self, String> {
        let Self { source, big_endian, big, .. } = *self;
        let mut directory = Self { source, big_endian, big, entries: BTreeMap::new(), next: None };
        // the widths of the number of entries, of an entry, and of its count and its value
        let [head, step, wide] = if big { [8, 20, 8] } else { [2, 12, 4] };
        let outside = || "is truncated: its directory is outside the file".to_string();
        let count = directory.uint(start, head).ok_or_else(outside)?;
        if count > MAX_ENTRIES {
            return Err(outside());
        }
        let entries = source.get(start + head, count * step).ok_or_else(outside)?;
        for (k, entry) in entries.chunks_exact(step as usize).enumerate() {
            let number = |at: u64, width: u64| directory.number_of(&entry[at as usize..(at + width) as usize]);
            let (tag, kind, n) = (number(0, 2), number(2, 2), number(4, wide));
            let Some(each) = width(kind as u16) else {
                continue; // unknown types must be skipped according to the standard
            };
            let length = n.checked_mul(each);
            let place = match length {
                Some(length) if length <= wide => start + head + k as u64 * step + 4 + wide,
                _ => number(4 + wide, wide),
            };
            let inside = |at: &u64| length.and_then(|l| l.checked_add(*at)).is_some_and(|end| end <= source.length());
            let at = Some(place).filter(inside);
            directory.entries.insert(tag as u16, Entry { kind: kind as u16, count: n, at });
        }
        let after = start + head + count * step;
        directory.next = directory.uint(after, if big { 8 } else { 4 }).filter(|next| *next != 0);
        Ok(directory)
    }

    /// Returns true if the file's numbers are big-endian.
    pub fn big_endian(&self) -> bool {
        self.big_endian
    }

    /// Returns true if the tag is present.
    pub fn has(&self, tag: u16) -> bool {
        self.entries.contains_key(&tag)
    }

    /// Returns the integers of a tag; none if the tag is absent.
    pub fn numbers(&self, tag: u16) -> Result<Vec<u64>, String> {
        self.values(tag, |kind, bytes| match kind {
            1 | 3 | 4 | 13 | 16 | 18 => Some(self.number_of(bytes)),
            _ => None,
        })
    }

    /// Returns the first integer of a tag, or `default` if the tag is absent.
    pub fn number(&self, tag: u16, default: u64) -> Result<u64, String> {
        Ok(self.numbers(tag)?.first().copied().unwrap_or(default))
    }

    /// Returns the real numbers of a tag; none if the tag is absent.
    pub fn doubles(&self, tag: u16) -> Result<Vec<f64>, String> {
        self.values(tag, |kind, bytes| match kind {
            12 => Some(f64::from_bits(self.number_of(bytes))),
            11 => Some(f64::from(f32::from_bits(self.number_of(bytes) as u32))),
            1 | 3 | 4 | 16 => Some(self.number_of(bytes) as f64),
            _ => None,
        })
    }

    /// Returns the text of a tag up to its terminating zero; empty if the tag is absent.
    pub fn text(&self, tag: u16) -> Result<String, String> {
        let bytes = self.values(tag, |kind, bytes| matches!(kind, 1 | 2 | 7).then(|| bytes[0]))?;
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn values<T>(&self, tag: u16, value: impl Fn(u16, &[u8]) -> Option<T>) -> Result<Vec<T>, String> {
        let Some(entry) = self.entries.get(&tag) else {
            return Ok(Vec::new());
        };
        let outside = || format!("is truncated: the values of tag {tag} are outside the file");
        let start = entry.at.ok_or_else(outside)?;
        let each = width(entry.kind).unwrap_or(1);
        let length = entry.count * each; // the values are inside the file, so the product does not overflow
        if length > MAX_VALUES {
            return Err(format!("is broken: tag {tag} has {} values", entry.count));
        }
        let bytes = self.source.get(start, length).ok_or_else(outside)?;
        let values =
            bytes.chunks_exact(each as usize).map(|bytes| value(entry.kind, bytes)).collect::<Option<Vec<T>>>();
        values.ok_or_else(|| format!("is broken: tag {tag} is of field type {}", entry.kind))
    }

    /// Reads an integer of `width` bytes at position `at`.
    fn uint(&self, at: u64, width: u64) -> Option<u64> {
        self.source.get(at, width).map(|bytes| self.number_of(&bytes))
    }

    /// Converts up to eight bytes to an integer.
    fn number_of(&self, bytes: &[u8]) -> u64 {
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        if self.big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }
}
