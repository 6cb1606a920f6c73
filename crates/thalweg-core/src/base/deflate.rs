//! Deflate compression on all threads: long data is compressed in pieces in parallel, and the concatenated pieces are
//! one stream.

use std::io;
use std::ops::Range;

use flate2::{Compress, Compression, FlushCompress, Status};
use rayon::prelude::*;
use simd_adler32::adler32;

/// The compression level, 0 to 9. Measured on maps and heights after a filter or a predictor: level 4 takes 1.3 to 1.7
/// times as long as level 3 and saves 1 to 3 %; level 6 takes three times as long and saves 2 to 5 %.
const LEVEL: u32 = 3;

/// Compresses these bytes into a zlib stream (RFC 1950).
///
/// # Errors
/// Returns an error of the compressor.
pub fn compress_zlib(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = HEAD.to_vec();
    append_deflate(bytes, FlushCompress::Finish, &mut out)?;
    out.extend(adler32(&bytes).to_be_bytes());
    Ok(out)
}

/// Compresses `count` pieces, one after the other, into a zlib stream. `pieces` makes a range of pieces at a time, in
/// order; `write` receives the stream's parts in order. The result does not depend on the number of threads.
///
/// # Errors
/// Returns the first error of `pieces`, of `write` or of the compressor.
pub fn zlib_pieces(
    count: usize,
    mut pieces: impl FnMut(Range<usize>) -> io::Result<Vec<Vec<u8>>>,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    // The Adler-32 checksum of no bytes is 1.
    let mut sum = 1;
    for first in (0..count).step_by(PIECES_IN_MEMORY) {
        let numbers = first..count.min(first + PIECES_IN_MEMORY);
        let some = pieces(numbers.clone())?.into_par_iter().zip(numbers).map(|(bytes, number)| {
            let mut out = if number == 0 { HEAD.to_vec() } else { Vec::new() };
            let is_last = number + 1 == count;
            // A sync flush ends the piece at a byte boundary, so that the next piece can be appended.
            append_deflate(&bytes, if is_last { FlushCompress::Finish } else { FlushCompress::Sync }, &mut out)?;
            Ok((out, adler32(&bytes.as_slice()), bytes.len()))
        });
        // The parallel iterator keeps the order of the pieces, so the parts are written in that order.
        for part in some.collect::<Vec<io::Result<_>>>() {
            let (mut part, part_sum, length) = part?;
            sum = combine_adler32(sum, part_sum, length);
            write(&part)?;
            part.clear();
        }
    }
    write(&sum.to_be_bytes())
}

/// The number of pieces in memory at the same time: a few for each of many threads.
const PIECES_IN_MEMORY: usize = 64;

/// The zlib header: deflate with a window of 32 KiB, no dictionary, the fastest of four compression classes; 0x7801 is
/// a multiple of 31, as RFC 1950, 2.2 requires.
const HEAD: [u8; 2] = [0x78, 0x01];

/// Appends the raw deflate stream of `bytes` to `out`.
fn append_deflate(bytes: &[u8], flush: FlushCompress, out: &mut Vec<u8>) -> io::Result<()> {
    let mut stream = Compress::new(Compression::new(LEVEL), false);
    loop {
        let taken = stream.total_in() as usize;
        // Half of the remaining input is an estimate; if the output is longer, the loop reserves more and goes on.
        out.reserve((bytes.len() - taken) / 2 + 1024);
        let before = out.len();
        let status = stream.compress_vec(&bytes[taken..], out, flush).map_err(io::Error::other)?;
        // A flush is complete only if the compressor left room in the output; otherwise bytes are still to come.
        let is_flushed = stream.total_in() as usize == bytes.len() && out.len() < out.capacity();
        match status {
            Status::StreamEnd => return Ok(()),
            _ if flush == FlushCompress::Sync && is_flushed => return Ok(()),
            Status::BufError if out.len() == before && out.capacity() - before > 1024 => {
                return Err(io::Error::other("deflate makes no progress"));
            }
            _ => {}
        }
    }
}

/// Combines the Adler-32 checksums of two consecutive texts; `length` is the number of bytes of the second (RFC 1950,
/// 9).
fn combine_adler32(first: u32, second: u32, length: usize) -> u32 {
    const MOD: u64 = 65_521;
    let [[a1, b1], [a2, b2]] = [first, second].map(|sum| [u64::from(sum & 0xffff), u64::from(sum >> 16)]);
    // Both checksums start from 1, which must count once. MOD is added so that no difference is negative.
    let a = (a1 + a2 + MOD - 1) % MOD;
    let b = (b1 + b2 + (length as u64 % MOD) * (a1 + MOD - 1)) % MOD;
    (b << 16 | a) as u32
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;
    use crate::base::rng::RandomKey;

    fn read(stream: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut decoder = ZlibDecoder::new(stream);
        decoder.read_to_end(&mut bytes).unwrap();
        // The decoder has verified the checksum, and no bytes follow it.
        assert_eq!(decoder.total_in(), stream.len() as u64);
        bytes
    }

    #[test]
    fn pieces_are_one_stream_and_its_checksum_is_right() {
        for (number, lengths) in
            [vec![], vec![0], vec![1], vec![0, 0], vec![3, 0, 70_000, 1], vec![40_000; 150]].iter().enumerate()
        {
            // Half of the bytes are noise, which is incompressible.
            let piece = |k: usize| -> Vec<u8> {
                let noise = |i: usize| {
                    RandomKey::new(number as u64, "deflate").derive_key(k as u64).derive_key(i as u64).random_bits()
                        as u8
                };
                (0..lengths[k]).map(|i| if i % 2 == 0 { (i / 9) as u8 } else { noise(i) }).collect()
            };
            let all: Vec<u8> = (0..lengths.len()).flat_map(piece).collect();
            let mut stream = Vec::new();
            zlib_pieces(
                lengths.len(),
                |some| Ok(some.map(piece).collect()),
                |part| {
                    stream.extend(part);
                    Ok(())
                },
            )
            .unwrap();
            if !lengths.is_empty() {
                assert_eq!(read(&stream), all);
            }
            assert_eq!(read(&compress_zlib(&all).unwrap()), all);
        }
    }

    #[test]
    fn a_writers_error_ends_it() {
        let refuse = |_: &[u8]| Err(io::Error::other("full"));
        assert_eq!(zlib_pieces(2, |_| Ok(vec![vec![7; 10]; 2]), refuse).unwrap_err().to_string(), "full");
    }
}
