//! A strip or tile of a TIFF: decompresses it, undoes the predictor, and converts it to samples.

use std::io::Read;

use flate2::read::ZlibDecoder;
use ruzstd::decoding::StreamingDecoder;
use weezl::BitOrder;
use weezl::decode::Configuration;

use super::floats::widen_floats;
use super::lerc;
use crate::{SampleType, Samples};

/// The values of tag 259 for compression by LERC and by Zstandard.
pub const LERC: u64 = 34887;
pub const ZSTD: u64 = 50000;

/// Returns GDAL's name of a compression method that is not supported.
pub fn compression_name(compression: u64) -> Option<&'static str> {
    Some(match compression {
        2..=4 => "CCITT fax",
        6 | 7 => "JPEG",
        34712 => "JPEG 2000",
        34925 => "LZMA",
        50001 => "WebP",
        50002 | 52546 => "JPEG XL",
        _ => return None,
    })
}

impl ChunkCoding {
    /// Names the compression and the predictor.
    pub fn describe_compression(&self) -> String {
        let name = match self.compression {
            1 => "none",
            5 => "LZW",
            8 | 32946 => "Deflate",
            32773 => "PackBits",
            LERC => match self.lerc {
                1 => "LERC with Deflate",
                2 => "LERC with Zstandard",
                _ => "LERC",
            },
            ZSTD => "Zstandard",
            _ => "unknown",
        };
        match self.predictor {
            2 => format!("{name}, horizontal differences"),
            3 => format!("{name}, floating-point predictor"),
            _ => name.to_string(),
        }
    }
}

/// How all strips or tiles of a file are encoded.
pub struct ChunkCoding {
    /// Tag 259: none (1), LZW (5), deflate (8, 32946), PackBits (32773), LERC (34887), Zstandard (50000).
    pub compression: u64,
    /// Tag 317: none (1), horizontal difference (2), floating-point (3).
    pub predictor: u64,
    /// Byte order of the file.
    pub big_endian: bool,
    /// Tag 339: unsigned (1), signed (2), floating-point (3).
    pub sample_format: u64,
    /// Tag 258.
    pub bits_per_sample: u64,
    /// The type to which samples are converted.
    pub kind: SampleType,
    /// The number of samples per pixel that are stored together.
    pub bands: usize,
    /// Additional compression of LERC blobs: none (0), deflate (1), Zstandard (2).
    pub lerc: u64,
}

impl ChunkCoding {
    /// Decodes the samples of `rows` × `cols` pixels.
    pub fn decode(&self, data: &[u8], [rows, cols]: [usize; 2]) -> Result<Samples, String> {
        if self.compression == LERC {
            let samples =
                lerc::decode_lerc(data, self.lerc, self.kind, self.bits_per_sample, [rows, cols, self.bands])?;
            // libtiff swaps the bytes of samples before it passes them to LERC, so the decoded samples must be swapped
            // back.
            let is_swapped = self.big_endian && self.bits_per_sample > 8;
            return Ok(if is_swapped { Samples::from_bytes(self.kind, &samples.to_bytes(), true) } else { samples });
        }
        let width = (self.bits_per_sample / 8) as usize;
        // Every row begins at a byte boundary, whatever the number of bits per sample.
        let row_bytes = (cols * self.bands * self.bits_per_sample as usize).div_ceil(8);
        let Samples::U8(mut bytes) = Samples::zeros(SampleType::U8, rows * row_bytes)? else {
            return Err("cannot be decoded".to_string());
        };
        if !decompress_into(&mut bytes, data, self.compression) {
            return Err("is truncated or broken: a tile or strip does not decompress to its size".to_string());
        }
        let mut big_endian = self.big_endian;
        match self.predictor {
            2 => bytes.chunks_mut(row_bytes).for_each(|row| undo_differences(row, width, self.bands, big_endian)),
            3 => {
                bytes.chunks_mut(row_bytes).for_each(|row| undo_float_predictor(row, width, self.bands));
                // The numbers are big-endian after this predictor, whatever the byte order of the file is.
                big_endian = true;
            }
            _ => {}
        }
        Ok(match (self.sample_format, self.bits_per_sample) {
            (1, 1) => {
                // The first pixel of a byte is its most significant bit.
                let bit = |row: &[u8], j: usize| row[j / 8] >> (7 - j % 8) & 1;
                Samples::U8(bytes.chunks(row_bytes).flat_map(|row| (0..cols).map(move |j| bit(row, j))).collect())
            }
            // There are no sample types for signed bytes, for floats of less than 32 bits and for integers of 64 bits, so
            // they are widened.
            (2, 8) => Samples::I16(bytes.iter().map(|b| i16::from(*b as i8)).collect()),
            (3, bits @ (16 | 24)) => Samples::F32(widen_floats(&bytes, bits, big_endian)),
            (1, 64) => Samples::F64(read_u64s(&bytes, big_endian).map(|number| number as f64).collect()),
            (2, 64) => Samples::F64(read_u64s(&bytes, big_endian).map(|number| number as i64 as f64).collect()),
            _ => Samples::from_bytes(self.kind, &bytes, big_endian),
        })
    }
}

/// Reads integers of 64 bits.
fn read_u64s(bytes: &[u8], big_endian: bool) -> impl Iterator<Item = u64> {
    let read = move |b: &[u8; 8]| if big_endian { u64::from_be_bytes(*b) } else { u64::from_le_bytes(*b) };
    bytes.as_chunks::<8>().0.iter().map(read)
}

/// Decompresses until `out` is full; returns false if the data end before.
fn decompress_into(out: &mut [u8], data: &[u8], compression: u64) -> bool {
    match compression {
        // A strip may be longer than its pixels need; the rest is ignored.
        1 => data.get(..out.len()).is_some_and(|data| {
            out.copy_from_slice(data);
            true
        }),
        5 => {
            // In TIFF the width of LZW codes grows one code earlier than in GIF (TIFF 6.0, section 13).
            let mut decoder = Configuration::with_tiff_size_switch(BitOrder::Msb, 8).build();
            let (mut from, mut to) = (0, 0);
            while to < out.len() {
                let result = decoder.decode_bytes(&data[from..], &mut out[to..]);
                from += result.consumed_in;
                to += result.consumed_out;
                // Without progress the data have ended early, and the loop would never end.
                if result.status.is_err() || result.consumed_in + result.consumed_out == 0 {
                    break;
                }
            }
            to == out.len()
        }
        32773 => decode_packbits(out, data).is_some(),
        ZSTD => StreamingDecoder::new(data).is_ok_and(|mut decoder| decoder.read_exact(out).is_ok()),
        _ => ZlibDecoder::new(data).read_exact(out).is_ok(),
    }
}

/// Decodes PackBits (TIFF 6.0, section 9): for n < 128, the next n + 1 bytes are copied; for n > 128, the next byte is
/// repeated 257 − n times.
fn decode_packbits(out: &mut [u8], data: &[u8]) -> Option<()> {
    let (mut from, mut to) = (0, 0);
    while to < out.len() {
        let n = usize::from(*data.get(from)?);
        from += 1;
        // The code 128 does nothing.
        if n < 128 {
            let length = (n + 1).min(out.len() - to);
            out[to..to + length].copy_from_slice(data.get(from..from + length)?);
            (from, to) = (from + n + 1, to + length);
        } else if n > 128 {
            let length = (257 - n).min(out.len() - to);
            out[to..to + length].fill(*data.get(from)?);
            (from, to) = (from + 1, to + length);
        }
    }
    Some(())
}

/// Undoes predictor 2: every sample was stored as the difference to the previous sample of its band.
fn undo_differences(row: &mut [u8], width: usize, bands: usize, big_endian: bool) {
    // The encoder's differences wrap around, so the sums must wrap too. The predictor is defined on bit patterns:
    // floats are added as unsigned integers of the same width, as in libtiff.
    macro_rules! sum {
        ($t:ty) => {{
            let samples = row.as_chunks_mut::<{ size_of::<$t>() }>().0;
            // The loop runs forward, because each sample is added to the restored sample before it.
            for k in bands..samples.len() {
                let (a, b) = (samples[k - bands], samples[k]);
                samples[k] = if big_endian {
                    <$t>::from_be_bytes(a).wrapping_add(<$t>::from_be_bytes(b)).to_be_bytes()
                } else {
                    <$t>::from_le_bytes(a).wrapping_add(<$t>::from_le_bytes(b)).to_le_bytes()
                };
            }
        }};
    }
    match width {
        1 => sum!(u8),
        2 => sum!(u16),
        4 => sum!(u32),
        _ => sum!(u64),
    }
}

/// Undoes predictor 3 (Adobe Photoshop TIFF technical note 3, 2005): the row stores the first bytes of all samples,
/// then the second bytes, and so on, each byte as the difference to the previous one. Afterwards the row contains
/// big-endian numbers.
fn undo_float_predictor(row: &mut [u8], width: usize, bands: usize) {
    for k in bands..row.len() {
        row[k] = row[k].wrapping_add(row[k - bands]);
    }
    // The bytes are moved from planes to samples; a copy is needed, because the target positions overlap the source.
    let planes = row.to_vec();
    let count = row.len() / width;
    for k in 0..count {
        for byte in 0..width {
            row[k * width + byte] = planes[byte * count + k];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packbits_as_in_the_standard() {
        // Apple's example, which is quoted in the tests of many TIFF readers
        let packed = [0xfe, 0xaa, 0x02, 0x80, 0x00, 0x2a, 0xfd, 0xaa, 0x03, 0x80, 0x00, 0x2a, 0x22, 0xf7, 0xaa];
        let mut out = [0; 24];
        decode_packbits(&mut out, &packed).unwrap();
        let plain = [&[0xaa; 3][..], &[0x80, 0, 0x2a], &[0xaa; 4], &[0x80, 0, 0x2a, 0x22], &[0xaa; 10]].concat();
        assert_eq!(out[..], plain);
        assert!(decode_packbits(&mut [0; 25], &packed).is_none());
    }

    #[test]
    fn differences_wrap() {
        let mut row = [0xff, 0xff, 0x02, 0x00];
        undo_differences(&mut row, 2, 1, false);
        assert_eq!(row, [0xff, 0xff, 0x01, 0x00]);
        let mut row = [1, 10, 1, 255];
        undo_differences(&mut row, 1, 2, false);
        assert_eq!(row, [1, 10, 2, 9]);
    }
}
