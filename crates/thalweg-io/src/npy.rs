//! NumPy's NPY, versions 1 to 3: a header that is a Python dictionary, then the samples.
//!
//! It is parsed here instead of by a crate: only three keys of the dictionary are needed, and a parser of all Python
//! literals can be led into unbounded nesting.

use std::io::{self, Write};

use super::stored_type::StoredType;
use super::{Raster, SampleType, check_size};
use thalweg_core::base::names;

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
        "u1" => SampleType::U8.into(),
        "u2" => SampleType::U16.into(),
        "i2" => SampleType::I16.into(),
        "i4" => SampleType::I32.into(),
        "u4" => SampleType::U32.into(),
        "f4" => SampleType::F32.into(),
        "f8" => SampleType::F64.into(),
        "i1" => StoredType::I8,
        "i8" => StoredType::I64,
        "u8" => StoredType::U64,
        "f2" => StoredType::F16,
        "b1" => {
            return Err(
                "has samples of type bool, which are a mask and not heights; save heights as float32".to_string()
            );
        }
        _ => {
            return Err(format!(
                "has samples of type `{}`; the type must be i1 to i8, u1 to u8, f2, f4 or f8",
                names::format_short(descr)
            ));
        }
    };
    // Bytes after the last sample are ignored.
    let cells = check_size([rows, cols], kind.bytes() as u64, data.len(), 1)?;
    let samples = kind.decode(&data[..cells * kind.bytes()], big_endian);
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
    use crate::Samples;

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
    fn wide_and_narrow_types_are_read() {
        let read = |descr: &str, data: &[u8]| {
            read_array(&file(&format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1, 2), }}"), data))
        };
        let i8 = [-7i64, 1 << 40].map(i64::to_be_bytes).concat();
        assert_eq!(read(">i8", &i8).unwrap().samples, Samples::F64(vec![-7.0, (1u64 << 40) as f64]));
        let u8 = [7u64, u64::MAX].map(u64::to_le_bytes).concat();
        assert_eq!(read("<u8", &u8).unwrap().samples, Samples::F64(vec![7.0, u64::MAX as f64]));
        assert_eq!(read("|i1", &[0xff, 3]).unwrap().samples, Samples::I16(vec![-1, 3]));
        assert_eq!(read("<f2", &[0, 0x3c, 0, 0xc0]).unwrap().samples, Samples::F32(vec![1.0, -2.0]));
        assert!(read("|b1", &[1, 0]).unwrap_err().contains("bool"));
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
