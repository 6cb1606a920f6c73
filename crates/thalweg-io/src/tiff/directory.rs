//! The directories of a TIFF file; every value is known to be inside the file before it is read.
//!
//! TIFF 6.0 (Adobe 1992), BigTIFF (2007): a directory is a list of entries (tag, type, count, value or position of the
//! value).

use std::collections::BTreeMap;

use super::source::TiffSource;

/// The entries of a directory; positions of values have been checked against the length of the file.
pub struct Directory<'a> {
    source: &'a TiffSource<'a>,
    big_endian: bool,
    /// True if the file is a BigTIFF.
    big: bool,
    entries: BTreeMap<u16, DirectoryEntry>,
    /// The position of the next directory.
    next: Option<u64>,
}

struct DirectoryEntry {
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
fn value_width(kind: u16) -> Option<u64> {
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
    pub fn parse(source: &'a TiffSource<'a>) -> Result<Self, String> {
        let broken = || "is not a TIFF file, or it is truncated".to_string();
        let big_endian = match source.get(0, 2).as_deref() {
            Some(b"II") => false,
            Some(b"MM") => true,
            _ => return Err(broken()),
        };
        let mut head = Self { source, big_endian, big: false, entries: BTreeMap::new(), next: None };
        // The version 42 marks a TIFF, 43 a BigTIFF.
        head.big = match head.read_uint(2, 2) {
            Some(42) => false,
            Some(43) => true,
            _ => return Err(broken()),
        };
        let start = if head.big { head.read_uint(8, 8) } else { head.read_uint(4, 4) }.ok_or_else(broken)?;
        head.read_directory(start)
    }

    /// Reads the directory after this one, if there is one.
    pub fn next(&self) -> Option<Result<Self, String>> {
        self.next.map(|start| self.read_directory(start))
    }

    /// Reads the directory at this position.
    fn read_directory(&self, start: u64) -> Result<Self, String> {
        let Self { source, big_endian, big, .. } = *self;
        let mut directory = Self { source, big_endian, big, entries: BTreeMap::new(), next: None };
        // the widths of the number of entries, of an entry, and of its count and its value
        let [head, step, wide] = if big { [8, 20, 8] } else { [2, 12, 4] };
        let outside = || "is truncated: its directory is outside the file".to_string();
        let count = directory.read_uint(start, head).ok_or_else(outside)?;
        if count > MAX_ENTRIES {
            return Err(outside());
        }
        let entries = source.get(start + head, count * step).ok_or_else(outside)?;
        for (k, entry) in entries.chunks_exact(step as usize).enumerate() {
            let number = |at: u64, width: u64| directory.decode_integer(&entry[at as usize..(at + width) as usize]);
            let (tag, kind, n) = (number(0, 2), number(2, 2), number(4, wide));
            let Some(each) = value_width(kind as u16) else {
                continue; // unknown types must be skipped according to the standard
            };
            let length = n.checked_mul(each);
            // A value that fits into its entry is stored there; otherwise the entry contains its position.
            let place = match length {
                Some(length) if length <= wide => start + head + k as u64 * step + 4 + wide,
                _ => number(4 + wide, wide),
            };
            let inside = |at: &u64| length.and_then(|l| l.checked_add(*at)).is_some_and(|end| end <= source.length());
            let at = Some(place).filter(inside);
            directory.entries.insert(tag as u16, DirectoryEntry { kind: kind as u16, count: n, at });
        }
        // The position 0 marks the last directory. Positions of a broken file may form a cycle, so callers limit the
        // number of directories that they visit.
        let after = start + head + count * step;
        directory.next = directory.read_uint(after, if big { 8 } else { 4 }).filter(|next| *next != 0);
        Ok(directory)
    }

    /// Returns true if the file's numbers are big-endian.
    pub fn big_endian(&self) -> bool {
        self.big_endian
    }

    /// Returns true if the tag is present.
    pub fn has_tag(&self, tag: u16) -> bool {
        self.entries.contains_key(&tag)
    }

    /// Returns the integers of a tag; none if the tag is absent.
    pub fn read_integers(&self, tag: u16) -> Result<Vec<u64>, String> {
        self.read_values(tag, |kind, bytes| match kind {
            1 | 3 | 4 | 13 | 16 | 18 => Some(self.decode_integer(bytes)),
            _ => None,
        })
    }

    /// Returns the first integer of a tag, or `default` if the tag is absent.
    pub fn read_integer(&self, tag: u16, default: u64) -> Result<u64, String> {
        Ok(self.read_integers(tag)?.first().copied().unwrap_or(default))
    }

    /// Returns the real numbers of a tag; none if the tag is absent.
    pub fn read_doubles(&self, tag: u16) -> Result<Vec<f64>, String> {
        self.read_values(tag, |kind, bytes| match kind {
            12 => Some(f64::from_bits(self.decode_integer(bytes))),
            11 => Some(f64::from(f32::from_bits(self.decode_integer(bytes) as u32))),
            1 | 3 | 4 | 16 => Some(self.decode_integer(bytes) as f64),
            _ => None,
        })
    }

    /// Returns the text of a tag up to its terminating zero; empty if the tag is absent.
    pub fn read_text(&self, tag: u16) -> Result<String, String> {
        let bytes = self.read_values(tag, |kind, bytes| matches!(kind, 1 | 2 | 7).then(|| bytes[0]))?;
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn read_values<T>(&self, tag: u16, value: impl Fn(u16, &[u8]) -> Option<T>) -> Result<Vec<T>, String> {
        let Some(entry) = self.entries.get(&tag) else {
            return Ok(Vec::new());
        };
        let outside = || format!("is truncated: the values of tag {tag} are outside the file");
        let start = entry.at.ok_or_else(outside)?;
        let each = value_width(entry.kind).unwrap_or(1);
        let length = entry.count * each; // the values are inside the file, so the product does not overflow
        if length > MAX_VALUES {
            return Err(format!("is broken: tag {tag} has {} values, which is too many", entry.count));
        }
        let bytes = self.source.get(start, length).ok_or_else(outside)?;
        let values =
            bytes.chunks_exact(each as usize).map(|bytes| value(entry.kind, bytes)).collect::<Option<Vec<T>>>();
        values.ok_or_else(|| format!("is broken: tag {tag} has the wrong field type {}", entry.kind))
    }

    /// Reads an integer of `width` bytes at position `at`.
    fn read_uint(&self, at: u64, width: u64) -> Option<u64> {
        self.source.get(at, width).map(|bytes| self.decode_integer(&bytes))
    }

    /// Converts up to eight bytes to an integer.
    fn decode_integer(&self, bytes: &[u8]) -> u64 {
        // The bytes are combined from the most significant one on, which is the last one in a little-endian file.
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        if self.big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }
}
