//! Blosc, the usual compressor of Zarr version 2: reading of its version 1 with the codecs LZ4, BloscLZ, zlib and zstd.
//!
//! A buffer consists of a header of 16 bytes, the positions of its blocks, and the blocks. The bytes of a block may be
//! shuffled: first the first bytes of all elements, then the second ones, and so on; or the same with bits. (Blosc
//! chunk format, c-blosc README_CHUNK_FORMAT.rst.)

use std::io::Read as _;

/// The size of the header in bytes.
const HEADER: usize = 16;

/// The bits of the flags in the header.
const BYTE_SHUFFLE: u8 = 1;
const STORED: u8 = 2;
const BIT_SHUFFLE: u8 = 4;
const NOT_SPLIT: u8 = 16;

/// Decompresses a buffer that must have `room` bytes or fewer. The error completes the sentence "a chunk …".
pub fn decompress(bytes: &[u8], room: usize) -> Result<Vec<u8>, String> {
    let broken = || "is not a Blosc buffer, or it is damaged".to_string();
    let (header, _) = bytes.split_first_chunk::<HEADER>().ok_or_else(broken)?;
    let [_, _, flags, element, sizes @ ..] = *header;
    let number = |k: usize| u32::from_le_bytes([sizes[k], sizes[k + 1], sizes[k + 2], sizes[k + 3]]) as usize;
    let (length, block_length) = (number(0), number(4));
    if length > room {
        return Err(format!("has {length} bytes after decompression; it must have {room} at most"));
    }
    if flags & STORED != 0 {
        return bytes.get(HEADER..HEADER + length).map(<[u8]>::to_vec).ok_or_else(broken);
    }
    let mut out = Vec::with_capacity(length);
    if length == 0 {
        return Ok(out);
    }
    if block_length == 0 || block_length > room.max(1 << 16) {
        return Err(broken());
    }
    for block in 0..length.div_ceil(block_length) {
        let size = block_length.min(length - block * block_length);
        let at = bytes.get(HEADER + 4 * block..HEADER + 4 * block + 4).ok_or_else(broken)?;
        let at = u32::from_le_bytes([at[0], at[1], at[2], at[3]]) as usize;
        let is_whole = size == block_length;
        let is_split = flags & NOT_SPLIT == 0 && is_whole && element > 0 && size.is_multiple_of(usize::from(element));
        let parts = if is_split { usize::from(element) } else { 1 };
        let plain = read_block(bytes.get(at..).ok_or_else(broken)?, flags >> 5, parts, size)?;
        match usize::from(element) {
            element if element > 1 && flags & BYTE_SHUFFLE != 0 => out.extend(unshuffle(&plain, element)),
            element if element > 0 && flags & BIT_SHUFFLE != 0 => out.extend(unshuffle_bits(&plain, element)),
            _ => out.extend(plain),
        }
    }
    Ok(out)
}

/// Decompresses a block of `size` bytes that consists of `parts` of equal length, each after its compressed length.
fn read_block(mut bytes: &[u8], codec: u8, parts: usize, size: usize) -> Result<Vec<u8>, String> {
    let broken = || "has a damaged Blosc block".to_string();
    let part = size / parts;
    let mut block = Vec::with_capacity(size);
    for _ in 0..parts {
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(broken)?;
        let (packed, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(broken)?;
        bytes = rest;
        if packed.len() == part {
            block.extend_from_slice(packed);
            continue;
        }
        let plain = match codec {
            0 => unpack_blosclz(packed, part).ok_or_else(broken)?,
            1 => unpack_lz4(packed, part).ok_or_else(broken)?,
            3 => {
                let mut plain = Vec::new();
                let decoder = flate2::read::ZlibDecoder::new(packed);
                decoder.take(part as u64 + 1).read_to_end(&mut plain).map_err(|_| broken())?;
                plain
            }
            4 => zstd::bulk::decompress(packed, part).map_err(|_| broken())?,
            2 => return Err("is compressed with Blosc by Snappy, which is not supported".to_string()),
            _ => return Err(format!("is compressed with Blosc by the unknown codec {codec}")),
        };
        if plain.len() != part {
            return Err(broken());
        }
        block.extend(plain);
    }
    Ok(block)
}

/// Undoes the shuffle of bytes in elements of `element` bytes; bytes after the last whole element are not shuffled.
pub fn unshuffle(bytes: &[u8], element: usize) -> Vec<u8> {
    let count = bytes.len() / element.max(1);
    let mut out = bytes.to_vec();
    for k in 0..count {
        for byte in 0..element {
            out[k * element + byte] = bytes[byte * count + k];
        }
    }
    out
}

/// Undoes the shuffle of bits. Blosc shuffles only a number of elements that is a multiple of 8.
fn unshuffle_bits(bytes: &[u8], element: usize) -> Vec<u8> {
    let count = bytes.len() / element;
    let mut out = bytes.to_vec();
    if !count.is_multiple_of(8) {
        return out;
    }
    for k in 0..count {
        for byte in 0..element {
            let bit = |bit: usize| ((bytes[(8 * byte + bit) * (count / 8) + k / 8] >> (k % 8)) & 1) << bit;
            out[k * element + byte] = (0..8).map(bit).sum();
        }
    }
    out
}

/// Appends bytes that are `distance` before the end, `length` in all; `None` if there are not so many. The new bytes
/// may be copied, too.
fn repeat(out: &mut Vec<u8>, distance: usize, length: usize, room: usize) -> Option<()> {
    let start = out.len().checked_sub(distance).filter(|_| distance > 0)?;
    if length > room - out.len().min(room) {
        return None;
    }
    for k in 0..length {
        out.push(out[start + k]);
    }
    Some(())
}

/// Decompresses a block of LZ4 (LZ4 block format description, 2015); `None` if it is damaged or has more than `room`
/// bytes.
pub fn unpack_lz4(packed: &[u8], room: usize) -> Option<Vec<u8>> {
    let mut bytes = packed.iter();
    let mut out = Vec::with_capacity(room.min(packed.len().saturating_mul(255)));
    // A length of 15 goes on in the next bytes, until one is not 255.
    fn read_length(first: u8, bytes: &mut std::slice::Iter<'_, u8>) -> Option<usize> {
        let mut length = usize::from(first);
        if first == 15 {
            loop {
                let more = *bytes.next()?;
                length += usize::from(more);
                if more != 255 {
                    break;
                }
            }
        }
        Some(length)
    }
    loop {
        let token = *bytes.next()?;
        let literals = read_length(token >> 4, &mut bytes)?;
        let (copied, rest) = bytes.as_slice().split_at_checked(literals)?;
        if copied.len() > room - out.len() {
            return None;
        }
        out.extend_from_slice(copied);
        bytes = rest.iter();
        // The last sequence has literals only.
        let Some(low) = bytes.next() else { return Some(out) };
        let distance = usize::from(u16::from_le_bytes([*low, *bytes.next()?]));
        let length = read_length(token & 15, &mut bytes)? + 4;
        repeat(&mut out, distance, length, room)?;
    }
}

/// Decompresses a block of BloscLZ, a variant of FastLZ; `None` if it is damaged or has more than `room` bytes.
fn unpack_blosclz(packed: &[u8], room: usize) -> Option<Vec<u8>> {
    /// Distances beyond this one are in two further bytes.
    const FAR: usize = 8191;
    let mut bytes = packed.iter();
    let mut out = Vec::with_capacity(room.min(packed.len().saturating_mul(255)));
    // The upper bits of the first byte are a version.
    let mut control = usize::from(*bytes.next()? & 31);
    loop {
        if control < 32 {
            let (copied, rest) = bytes.as_slice().split_at_checked(control + 1)?;
            if copied.len() > room - out.len() {
                return None;
            }
            out.extend_from_slice(copied);
            bytes = rest.iter();
        } else {
            let mut length = (control >> 5) - 1;
            if length == 6 {
                loop {
                    let more = *bytes.next()?;
                    length += usize::from(more);
                    if more != 255 {
                        break;
                    }
                }
            }
            let high = (control & 31) << 8;
            let low = *bytes.next()?;
            let distance = if low == 255 && high == 31 << 8 {
                FAR + usize::from(u16::from_be_bytes([*bytes.next()?, *bytes.next()?]))
            } else {
                high + usize::from(low)
            };
            repeat(&mut out, distance + 1, length + 3, room)?;
        }
        match bytes.next() {
            Some(next) => control = usize::from(*next),
            None => return Some(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lz4_by_hand() {
        // Five literals, then 8 bytes from 4 before; then one literal.
        let packed = [0x54, b'a', b'b', b'c', b'd', b'e', 4, 0, 0x10, b'!'];
        assert_eq!(unpack_lz4(&packed, 14), Some(b"abcdebcdebcde!".to_vec()));
        assert_eq!(unpack_lz4(&packed, 13), None);
        for length in 0..packed.len() {
            assert!(unpack_lz4(&packed[..length], 14).is_none_or(|out| out.len() < 14));
        }
        assert_eq!(unpack_lz4(&[0x14, b'a', 2, 0, 0], 20), None);
    }

    #[test]
    fn shuffles_by_hand() {
        assert_eq!(unshuffle(&[1, 2, 3, 4, 5, 6, 9], 3), [1, 3, 5, 2, 4, 6, 9]);
        // Eight elements of one byte, each with bit number 0 set in the first and the last.
        assert_eq!(unshuffle_bits(&[0x81, 0, 0, 0, 0, 0, 0, 2], 1), [1, 0x80, 0, 0, 0, 0, 0, 1]);
        assert_eq!(unshuffle_bits(&[1, 2, 3], 1), [1, 2, 3]);
    }

    /// Buffers that numcodecs 0.16 wrote: `Blosc(cname, 5, shuffle).encode(np.arange(600, dtype="<i4") // 7 * 3)`.
    #[test]
    fn buffers_of_the_reference_library() {
        let expected: Vec<u8> = (0..600i32).flat_map(|k| (k / 7 * 3).to_le_bytes()).collect();
        let mut seen = 0;
        for line in include_str!("../tests/data/blosc.txt").lines() {
            let (name, text) = line.split_once(' ').unwrap();
            let bytes: Vec<u8> =
                (0..text.len() / 2).map(|k| u8::from_str_radix(&text[2 * k..2 * k + 2], 16).unwrap()).collect();
            assert!(decompress(&bytes, expected.len()).as_ref() == Ok(&expected), "{name}");
            assert!(decompress(&bytes, expected.len() - 1).is_err(), "{name}");
            for k in 0..bytes.len() {
                let mut broken = bytes.clone();
                broken[k] ^= 0x55;
                let _ = decompress(&broken, expected.len());
                assert!(decompress(&bytes[..k], expected.len()).as_ref() != Ok(&expected), "{name} cut at {k}");
            }
            seen += 1;
        }
        assert!(seen >= 9);
    }
}
