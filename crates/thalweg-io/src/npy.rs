//! NumPy's NPY, versions 1 to 3: a header that is a Python dictionary, then the samples.
//!
//! It is parsed here instead of by a crate: only three keys of the dictionary are needed, and a parser of all Python
//! literals can be led into unbounded nesting.

use std::io::{self, Write};

use super::{Raster, SampleType, Samples, check_size};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads a two-dimensional array.
pub(super) fn read_array(bytes: &[u8]) -> Result<Raster, String> {
    let (header, data) = split_header(bytes).ok_or("is not an NPY file, or it is truncated")?;
    let descr = find_entry(header, "descr").and_then(unquote_text).ok_or("is broken: its header has no sample type")?;
    let order = find_entry(header, "fortran_order").ok_or("is broken: its header has no order")?;
    let fortran = order.starts_with("True");
    let shape = find_entry(header, "shape").and_then(parse_tuple).ok_or("is broken: its header has no shape")?;
    let [rows, cols] = shape[..] else {
        return Err(format!("has an array of {} dimensions; 2 are required (rows, columns)", shape.len()));
    };
    // The first character is the byte order; bytes have none (`|`).
    let (big_endian, kind) = match descr.split_at_checked(1) {
        Some((">", kind)) => (true, kind),
        Some(("<" | "|" | "=", kind)) => (false, kind),
        _ => (false, descr),
    };
    let kind = match kind {
        "u1" => SampleType::U8,
        "u2" => SampleType::U16,
        "i2" => SampleType::I16,
        "i4" => SampleType::I32,
        "u4" => SampleType::U32,
        "f4" => SampleType::F32,
        "f8" => SampleType::F64,
        _ => return Err(format!("has samples of type `{descr}`; the type must be u1, u2, u4, i2, i4, f4 or f8")),
    };
    // Bytes after the last sample are ignored.
    let cells = check_size([rows, cols], kind.bytes() as u64, data.len(), 1)?;
    let samples = Samples::from_bytes(kind, &data[..cells * kind.bytes()], big_endian);
    let size = [rows as usize, cols as usize];
    Ok(Raster::new(size, if fortran { samples.into_row_major(size) } else { samples }))
}

/// Splits a file into the header text and the data.
fn split_header(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    // Version 1 stores the length of the header in 2 bytes, versions 2 and 3 store it in 4 bytes.
    let (start, length) = match rest.get(..2)? {
        [1, _] => (4, usize::from(u16::from_le_bytes(rest.get(2..4)?.try_into().ok()?))),
        [2 | 3, _] => (6, usize::try_from(u32::from_le_bytes(rest.get(2..6)?.try_into().ok()?)).ok()?),
        _ => return None,
    };
    let (header, data) = rest.get(start..)?.split_at_checked(length)?;
    Some((std::str::from_utf8(header).ok()?, data))
}

/// Returns the text after `'key':` in the header.
fn find_entry<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let quotes = [format!("'{key}'"), format!("\"{key}\"")];
    let rest = quotes.iter().find_map(|quoted| header.split_once(quoted.as_str()))?.1;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

fn unquote_text(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote).map(|(inner, _)| inner)
}

/// Parses the numbers of a tuple.
fn parse_tuple(text: &str) -> Option<Vec<u64>> {
    let (inner, _) = text.strip_prefix('(')?.split_once(')')?;
    inner.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect()
}

/// Writes version 1, in C order.
pub(super) fn write_array(file: &mut impl Write, raster: &Raster) -> io::Result<()> {
    let kind = match raster.samples.kind() {
        SampleType::U8 => "|u1",
        SampleType::U16 => "<u2",
        SampleType::I16 => "<i2",
        SampleType::I32 => "<i4",
        SampleType::U32 => "<u4",
        SampleType::F32 => "<f4",
        SampleType::F64 => "<f8",
    };
    let [rows, cols] = raster.size;
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {cols}), }}");
    // The header is padded so that magic, version, length and header together are a multiple of 64 bytes and end with a
    // newline.
    while !(header.len() + MAGIC.len() + 5).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    file.write_all(MAGIC)?;
    file.write_all(&[1, 0])?;
    file.write_all(&(header.len() as u16).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    raster.samples.write_le(file, cols)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn both_orders_of_bytes_and_of_axes_are_read() {
        let c = file(
            "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n",
            &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 255, 255],
        );
        assert_eq!(read_array(&c).unwrap(), Raster::new([2, 3], Samples::I16(vec![1, 2, 3, 4, 5, -1])));
        let f =
            file("{'shape': (2, 3), 'fortran_order': True, 'descr': '>i2'}", &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 255, 255]);
        assert_eq!(read_array(&f).unwrap(), Raster::new([2, 3], Samples::I16(vec![1, 2, 3, 4, 5, -1])));
    }

    #[test]
    fn lying_headers_are_refused() {
        for header in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999, 99999), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 2), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
            "{'descr': '<c8', 'fortran_order': False, 'shape': (1, 2), }",
            "{'descr': é, 'fortran_order': False, 'shape': (1, 2), }",
            "",
        ] {
            assert!(read_array(&file(header, &[0; 16])).is_err(), "{header}");
        }
    }
}
