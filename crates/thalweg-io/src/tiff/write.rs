//! Encodes samples and metadata for GeoTIFF: bytes after a predictor, values of tags, texts.

use std::io;

use crate::{RasterHead, SampleType, Samples};
use thalweg_core::base::deflate::compress_zlib;

/// The values of tags 259 and 262 (TIFF 6.0, and Adobe Photoshop TIFF technical note 2).
pub const DEFLATE: u16 = 8;
pub const BLACK_IS_ZERO: u16 = 1;

/// Returns the value of tag 339: 1 unsigned, 2 signed, 3 floating-point.
pub fn sample_format_tag(kind: SampleType) -> u16 {
    match kind {
        SampleType::U8 | SampleType::U16 | SampleType::U32 => 1,
        SampleType::I16 | SampleType::I32 => 2,
        SampleType::F32 | SampleType::F64 => 3,
    }
}

/// The value of tag 317 for samples that are compressed without a predictor.
pub const PLAIN: u16 = 1;

/// Returns the value of tag 317: the predictor that is applied before compression. Bytes are mostly classes, whose
/// differences are not easier to compress.
fn predictor_for_type(kind: SampleType) -> u16 {
    match kind {
        SampleType::U8 => PLAIN,
        SampleType::U16 | SampleType::I16 | SampleType::I32 | SampleType::U32 => 2,
        SampleType::F32 | SampleType::F64 => 3,
    }
}

/// Returns the predictor with which rows of samples like these compress to fewer bytes. Heights compress better with
/// the predictor of their type. Numbers that occur again and again, for example drainage areas as multiples of a cell's
/// area, compress better without.
///
/// # Errors
/// Returns the errors of [`compress_zlib`].
pub fn choose_predictor(samples: &Samples, cols: usize) -> io::Result<u16> {
    let usual = predictor_for_type(samples.kind());
    let plain = encode_rows(samples, cols, PLAIN);
    let size = samples.kind().bytes();
    // Samples that are all equal do not show which is better.
    if usual == PLAIN || plain.chunks_exact(size).all(|sample| sample == &plain[..size]) {
        return Ok(usual);
    }
    let is_shorter = compress_zlib(&plain)?.len() < compress_zlib(&encode_rows(samples, cols, usual))?.len();
    Ok(if is_shorter { PLAIN } else { usual })
}

/// Returns the bytes of rows of samples, unchanged or after the predictor of their type.
pub fn encode_rows(samples: &Samples, cols: usize, predictor: u16) -> Vec<u8> {
    if predictor == PLAIN {
        return samples.to_bytes();
    }
    let mut bytes = vec![0; samples.len() * samples.kind().bytes()];
    macro_rules! rows {
        ($v:expr, $pack:expr) => {
            for (row, out) in $v.chunks(cols).zip(bytes.chunks_mut(cols * samples.kind().bytes())) {
                $pack(row, out);
            }
        };
    }
    macro_rules! differences {
        ($v:expr, $t:ty) => {
            rows!($v, |row: &[$t], out: &mut [u8]| {
                // The first sample of a row is stored as it is. Differences that exceed the type wrap around, and the
                // reader's sums wrap back.
                let mut before = 0;
                for (x, out) in row.iter().zip(out.chunks_exact_mut(size_of::<$t>())) {
                    out.copy_from_slice(&x.wrapping_sub(before).to_le_bytes());
                    before = *x;
                }
            })
        };
    }
    match samples {
        Samples::U8(v) => bytes.copy_from_slice(v),
        Samples::U16(v) => differences!(v, u16),
        Samples::I16(v) => differences!(v, i16),
        Samples::I32(v) => differences!(v, i32),
        Samples::U32(v) => differences!(v, u32),
        // Predictor 3 splits big-endian bytes, also in a little-endian file.
        Samples::F32(v) => {
            rows!(v, |row: &[f32], out: &mut [u8]| split_byte_planes(row.iter().map(|x| x.to_be_bytes()), out))
        }
        Samples::F64(v) => {
            rows!(v, |row: &[f64], out: &mut [u8]| split_byte_planes(row.iter().map(|x| x.to_be_bytes()), out))
        }
    }
    bytes
}

/// Applies predictor 3 (Adobe Photoshop TIFF technical note 3, 2005): stores the first bytes of all samples of a row,
/// then the second bytes, and so on, each byte as the difference to the previous one.
fn split_byte_planes<const N: usize>(row: impl Iterator<Item = [u8; N]> + Clone, out: &mut [u8]) {
    let mut before = 0;
    for (n, plane) in out.chunks_mut(out.len() / N).enumerate() {
        for (sample, to) in row.clone().zip(plane) {
            *to = sample[n].wrapping_sub(before);
            before = sample[n];
        }
    }
}

/// Converts the text of the geo keys to ASCII, as the format requires; other characters are replaced by `?`.
pub fn geo_text(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii() && c != '\0' { c } else { '?' }).collect()
}

/// Formats the value for no data as GDAL does.
pub fn nodata_text(nodata: f64) -> String {
    if nodata.is_nan() { "nan".to_string() } else { nodata.to_string() }
}

/// Formats GDAL's metadata for scale, offset, unit and description of the band; `None` if there are none.
pub fn format_metadata(head: &RasterHead) -> Option<String> {
    let mut text = String::new();
    let mut item = |name: &str, value: &str| {
        let role = name.to_ascii_lowercase();
        text += &format!("  <Item name=\"{name}\" sample=\"0\" role=\"{role}\">{value}</Item>\n");
    };
    if head.scale != [1.0, 0.0] {
        item("SCALE", &head.scale[0].to_string());
        item("OFFSET", &head.scale[1].to_string());
    }
    // The tag is XML in ASCII.
    let ascii = |c: char| match c {
        // Units such as m² and m³/s have an established form in ASCII.
        '²' => '2',
        '³' => '3',
        '·' => ' ',
        other => other,
    };
    let plain = |words: &str| {
        words.chars().map(ascii).filter(|c| c.is_ascii_alphanumeric() || " _/.-%".contains(*c)).collect::<String>()
    };
    if let Some(unit) = &head.unit {
        item("UNITTYPE", &plain(unit));
    }
    if let Some(words) = &head.description {
        item("DESCRIPTION", &plain(words));
    }
    (!text.is_empty()).then(|| format!("<GDALMetadata>\n{text}</GDALMetadata>"))
}
