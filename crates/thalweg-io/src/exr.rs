//! OpenEXR (Academy Software Foundation, *The OpenEXR File Layout*): reads one channel of a single-part scan-line
//! image, of 32-bit or 16-bit floats or whole numbers. Writes one channel of floats, `Y`, which other programs read as
//! grey.

use std::io::{self, Read, Write};

use flate2::read::ZlibDecoder;
use rayon::prelude::*;

use super::{Raster, SampleType, Samples, check_size};
use thalweg_core::base::deflate::compress_zlib;

const MAGIC: [u8; 4] = [0x76, 0x2f, 0x31, 0x01];

/// Version 2, and the flag for long names. The other flags (tiles, deep data, several parts) are not supported.
const VERSION: u32 = 2;
const LONG_NAMES: u32 = 0x400;

/// The compressions by number: name, and rows per block for those that are read.
// The numbers of rows per block are fixed by the format.
const COMPRESSIONS: [(&str, Option<usize>); 10] = [
    ("none", Some(1)),
    ("RLE", None),
    ("ZIPS", Some(1)),
    ("ZIP", Some(16)),
    ("PIZ", None),
    ("PXR24", None),
    ("B44", None),
    ("B44A", None),
    ("DWAA", None),
    ("DWAB", None),
];
const ZIP: u8 = 3;
const BLOCK: usize = 16;

/// The names of channels that may contain heights, the most likely first; without any of them the first channel is
/// read.
const CHANNELS: [&str; 4] = ["Y", "Z", "R", "height"];

/// The bytes of a file, and the position of the next byte to read.
struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn read_bytes(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.all.len());
        let end = end.ok_or("ends within its header: it may be truncated")?;
        let taken = &self.all[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn read_u32(&mut self) -> Result<u32, String> {
        let bytes = self.read_bytes(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Reads a zero-terminated text.
    fn read_text(&mut self) -> Result<&'a str, String> {
        let rest = &self.all[self.at..];
        let length = rest
            .iter()
            .take(256)
            .position(|byte| *byte == 0)
            .ok_or("has a channel or attribute name without an end; it may be damaged")?;
        let text = std::str::from_utf8(&rest[..length])
            .map_err(|_| "has a channel or attribute name that is not UTF-8 text")?;
        self.at += length + 1;
        Ok(text)
    }
}

/// A channel: its name, its bytes per sample, and whether the samples are whole numbers.
struct Channel {
    name: String,
    bytes: usize,
    whole: bool,
}

/// The attributes of a header that are used.
#[derive(Default)]
struct ExrHeader {
    channels: Vec<Channel>,
    compression: Option<u8>,
    /// First column, first row, last column, last row.
    window: Option<[i32; 4]>,
}

fn parse_header(bytes: &mut Bytes<'_>) -> Result<ExrHeader, String> {
    bytes.read_bytes(MAGIC.len())?;
    let version = bytes.read_u32()?;
    if version & !LONG_NAMES != VERSION {
        let what = match version {
            v if v & 0x200 != 0 => "tiles",
            v if v & 0x800 != 0 => "deep data",
            v if v & 0x1000 != 0 => "several parts",
            _ => "an unknown version",
        };
        return Err(format!("is an EXR file with {what}; only scan lines of one part are supported"));
    }
    let mut header = ExrHeader::default();
    loop {
        let name = bytes.read_text()?;
        if name.is_empty() {
            return Ok(header);
        }
        let (name, _kind) = (name.to_string(), bytes.read_text()?);
        let length = bytes.read_u32()? as usize;
        let mut value = Bytes { all: bytes.read_bytes(length)?, at: 0 };
        match name.as_str() {
            "channels" => header.channels = parse_channels(&mut value)?,
            "compression" => header.compression = Some(value.read_bytes(1)?[0]),
            "dataWindow" => {
                let mut corner = || Ok::<_, String>(value.read_u32()? as i32);
                header.window = Some([corner()?, corner()?, corner()?, corner()?]);
            }
            _ => {}
        }
    }
}

fn parse_channels(value: &mut Bytes<'_>) -> Result<Vec<Channel>, String> {
    let mut channels = Vec::new();
    loop {
        let name = value.read_text()?;
        if name.is_empty() {
            return Ok(channels);
        }
        let kind = value.read_u32()?;
        value.read_bytes(4)?; // the flag `pLinear` and three reserved bytes
        if [value.read_u32()?, value.read_u32()?] != [1, 1] {
            return Err(format!("has fewer samples than pixels in the channel {name}, which is not supported"));
        }
        let (bytes, whole) = match kind {
            0 => (4, true),
            1 => (2, false),
            2 => (4, false),
            _ => return Err(format!("has samples of type {kind} in the channel {name}; the type must be 0, 1 or 2")),
        };
        channels.push(Channel { name: name.to_string(), bytes, whole });
    }
}

/// Reads the channel with the heights.
pub(super) fn read_heights(bytes: &[u8]) -> Result<Raster, String> {
    let mut all = Bytes { all: bytes, at: 0 };
    let ExrHeader { channels, compression, window } = parse_header(&mut all)?;
    let [first_col, first_row, last_col, last_row] = window.ok_or("does not state its size")?;
    let side = |first: i32, last: i32| u64::try_from(i64::from(last) - i64::from(first) + 1).unwrap_or(0);
    let [rows, cols] = [side(first_row, last_row), side(first_col, last_col)];
    // The compression determines how many rows a block has.
    let number = compression.ok_or("does not state its compression")?;
    let (name, block) = COMPRESSIONS.get(usize::from(number)).copied().unwrap_or(("", None));
    let Some(block) = block else {
        let known = "none, ZIPS or ZIP";
        return Err(format!("is compressed by {name} (number {number}), which is not supported; save it with {known}"));
    };
    let of = CHANNELS.iter().find_map(|name| channels.iter().position(|channel| channel.name == *name)).unwrap_or(0);
    let channel = channels.get(of).ok_or("has no channels")?;
    let pixel: usize = channels.iter().map(|channel| channel.bytes).sum();
    // Deflate compresses by a factor of 1032 at most.
    check_size([rows, cols], pixel as u64, bytes.len(), if number == 0 { 1 } else { 1100 })?;
    let (rows, cols) = (rows as usize, cols as usize);
    // In each row the samples of a channel follow those of all channels that come before it in the header.
    let before: usize = channels[..of].iter().map(|channel| channel.bytes).sum();
    let mut values = vec![0.0f32; rows * cols];
    // A table of the positions of all blocks follows the header.
    let mut starts = Vec::new();
    for _ in 0..rows.div_ceil(block) {
        let at = all.read_bytes(8)?;
        starts.push(u64::from_le_bytes([at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]]));
    }
    let mut seen = vec![false; starts.len()];
    for start in starts {
        let at = usize::try_from(start)
            .ok()
            .filter(|at| *at < bytes.len())
            .ok_or("is truncated: a block of rows is outside the file")?;
        let mut part = Bytes { all: bytes, at };
        let row = i64::from(part.read_u32()? as i32) - i64::from(first_row);
        let length = part.read_u32()? as usize;
        let row = usize::try_from(row).ok().filter(|row| *row < rows && row.is_multiple_of(block));
        let row = row.ok_or("has a block of rows outside its size")?;
        // There are as many positions as blocks. If no block occurs twice, every row is therefore read.
        if std::mem::replace(&mut seen[row / block], true) {
            return Err("contains the same block of rows twice; it may be damaged".to_string());
        }
        let count = block.min(rows - row);
        let plain = decompress_block(part.read_bytes(length)?, count * cols * pixel, number)?;
        for i in 0..count {
            let line = &plain[(i * pixel + before) * cols..][..channel.bytes * cols];
            let out = &mut values[(row + i) * cols..][..cols];
            match (channel.bytes, channel.whole) {
                (2, _) => out
                    .iter_mut()
                    .zip(line.as_chunks::<2>().0)
                    .for_each(|(v, b)| *v = half_to_f32(u16::from_le_bytes(*b))),
                // Whole numbers beyond 2²⁴ are rounded to the nearest 32-bit float.
                (_, true) => {
                    out.iter_mut().zip(line.as_chunks::<4>().0).for_each(|(v, b)| *v = u32::from_le_bytes(*b) as f32)
                }
                _ => out.iter_mut().zip(line.as_chunks::<4>().0).for_each(|(v, b)| *v = f32::from_le_bytes(*b)),
            }
        }
    }
    let mut raster = Raster::new([rows, cols], Samples::F32(values));
    if channels.len() > 1 {
        let others = channels.len() - 1;
        raster.warnings.push(format!("has {} channels: {} is read, {others} are not", channels.len(), channel.name));
    }
    Ok(raster)
}

/// Decompresses a block to `count` bytes.
fn decompress_block(bytes: &[u8], count: usize, compression: u8) -> Result<Vec<u8>, String> {
    // A block that compression does not shorten is stored uncompressed.
    if bytes.len() == count {
        return Ok(bytes.to_vec());
    }
    if compression == 0 || bytes.len() > count {
        return Err(format!("has a block of {} bytes; its rows need {count}", bytes.len()));
    }
    let mut coded = Vec::new();
    // The limit prevents a small block from being unpacked to an arbitrary size.
    let decoder = ZlibDecoder::new(bytes).take(count as u64);
    let broken = |error: io::Error| format!("has a block that cannot be unpacked: {error}");
    { decoder }.read_to_end(&mut coded).map_err(broken)?;
    if coded.len() != count {
        return Err(format!("has a block of {} bytes; its rows need {count}", coded.len()));
    }
    // Undoes the predictor: each byte was stored as the difference to the previous one, plus 128.
    for k in 1..count {
        coded[k] = coded[k - 1].wrapping_add(coded[k]).wrapping_sub(128);
    }
    // The second half of the block has every other byte.
    let (even, odd) = coded.split_at(count.div_ceil(2));
    Ok((0..count).map(|k| if k % 2 == 0 { even[k / 2] } else { odd[k / 2] }).collect())
}

/// Compresses a block; the inverse of [`decompress_block`].
fn compress_block(plain: &[u8]) -> io::Result<Vec<u8>> {
    // The bytes at even positions come first, then those at odd positions. Bytes of equal significance are then closer
    // to one another, and compress better.
    let halves = plain.iter().step_by(2).chain(plain.iter().skip(1).step_by(2));
    let mut coded: Vec<u8> = halves.copied().collect();
    // The loop runs backwards, because each difference needs the unchanged byte before it.
    for k in (1..coded.len()).rev() {
        coded[k] = coded[k].wrapping_sub(coded[k - 1]).wrapping_add(128);
    }
    let packed = compress_zlib(&coded)?;
    Ok(if packed.len() < plain.len() { packed } else { plain.to_vec() })
}

/// Converts a 16-bit float of IEEE 754.
fn half_to_f32(bits: u16) -> f32 {
    let (sign, fraction) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x3ff));
    match u32::from(bits >> 10 & 0x1f) {
        // Zero and subnormal numbers: multiples of 2⁻²⁴.
        0 => f32::from_bits(sign | 0x3f80_0000) * fraction as f32 / 16_777_216.0,
        // These are infinities and NaN.
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        // The bias of the exponent is 15 in 16 bits and 127 in 32 bits, a difference of 112.
        exponent => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// Writes one channel of 32-bit floats, the northern row first, 16 rows per block.
pub(super) fn write_heights(file: &mut impl Write, raster: &Raster) -> io::Result<()> {
    let [rows, cols] = raster.size;
    let Samples::F32(values) = &raster.samples else { return Ok(()) }; // cannot happen: `check_sample` has rejected other types
    let last = |n: usize| {
        i32::try_from(n - 1)
            .map_err(|_| io::Error::other("the raster has more rows or columns than an EXR file can store"))
    };
    let window: Vec<u8> = [0, 0, last(cols)?, last(rows)?].iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut head = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
    let mut put = |name: &str, kind: &str, value: &[u8]| {
        head.extend_from_slice(name.as_bytes());
        head.push(0);
        head.extend_from_slice(kind.as_bytes());
        head.push(0);
        head.extend_from_slice(&(value.len() as u32).to_le_bytes());
        head.extend_from_slice(value);
    };
    // Its name; the type float; the unused `pLinear` and reserved bytes; one sample per pixel in both directions; the
    // end of the list.
    let channel = [b"Y\0", &2u32.to_le_bytes()[..], &[0; 4], &1u32.to_le_bytes(), &1u32.to_le_bytes(), &[0]].concat();
    put("channels", "chlist", &channel);
    put("compression", "compression", &[ZIP]);
    put("dataWindow", "box2i", &window);
    put("displayWindow", "box2i", &window);
    put("lineOrder", "lineOrder", &[0]);
    put("pixelAspectRatio", "float", &1.0f32.to_le_bytes());
    put("screenWindowCenter", "v2f", &[0; 8]);
    put("screenWindowWidth", "float", &1.0f32.to_le_bytes());
    head.push(0);
    let block = |rows: &[f32]| {
        // With a single channel, the bytes of a row are the row's values in order.
        let plain: Vec<u8> = rows.iter().flat_map(|value| value.to_le_bytes()).collect();
        compress_block(&plain)
    };
    let blocks = values.par_chunks(BLOCK * cols).map(block).collect::<io::Result<Vec<_>>>()?;
    // The first block follows the table of positions. Each block begins with its first row and its length, 4 bytes
    // each.
    let mut at = (head.len() + 8 * blocks.len()) as u64;
    file.write_all(&head)?;
    for block in &blocks {
        file.write_all(&at.to_le_bytes())?;
        at += 8 + block.len() as u64;
    }
    for (k, block) in blocks.iter().enumerate() {
        file.write_all(&last(k * BLOCK + 1)?.to_le_bytes())?;
        file.write_all(&(block.len() as u32).to_le_bytes())?;
        file.write_all(block)?;
    }
    Ok(())
}

/// The sample types that can be written.
pub(super) const WRITES: &[SampleType] = &[SampleType::F32];

#[cfg(test)]
mod tests {
    use super::*;

    fn written(raster: &Raster) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_heights(&mut bytes, raster).unwrap();
        bytes
    }

    #[test]
    fn what_was_written_comes_back_to_the_bit() {
        for [rows, cols] in [[1, 1], [16, 5], [17, 3], [50, 33]] {
            let noise = (0..rows * cols).map(|k| f32::from_bits((k as u32).wrapping_mul(2_654_435_761) >> 2));
            let smooth = (0..rows * cols).map(|k| 100.0 + k as f32 / 8.0);
            for values in [noise.collect::<Vec<f32>>(), smooth.collect()] {
                let raster = Raster::new([rows, cols], Samples::F32(values.clone()));
                let Samples::F32(back) = read_heights(&written(&raster)).unwrap().samples else { panic!() };
                assert!(back.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
        }
    }

    #[test]
    fn halves_are_what_they_stand_for() {
        for (bits, value) in
            [(0x0000, 0.0), (0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65_504.0), (0x0001, 5.960_464_5e-8)]
        {
            assert_eq!(half_to_f32(bits), value);
        }
        assert!(half_to_f32(0x7c00).is_infinite() && half_to_f32(0x7e00).is_nan());
    }

    #[test]
    fn what_is_broken_or_not_read_is_refused() {
        let good = written(&Raster::new([20, 9], Samples::F32((0..180).map(|k| k as f32).collect())));
        for end in 0..good.len() {
            assert!(read_heights(&good[..end]).is_err(), "{end}");
        }
        let find = |text: &[u8]| good.windows(text.len()).position(|of| of == text).unwrap();
        let at = find(b"compression\0compression\0") + 28;
        let piz = [&good[..at], &[4], &good[at + 1..]].concat();
        assert!(read_heights(&piz).unwrap_err().contains("compressed by PIZ"));
        let tiles = [&good[..5], &[2], &good[6..]].concat();
        assert!(read_heights(&tiles).unwrap_err().contains("with tiles"));
        // Any corrupted byte must lead to an error or a raster, never to a panic.
        for k in 0..good.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[k] ^= flip;
                let _ = read_heights(&bytes);
            }
        }
    }
}
