//! PNG files, written on all threads: groups of rows are filtered and compressed in parallel.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

use rayon::prelude::*;

use thalweg_core::Size;
use thalweg_core::base::deflate::zlib_pieces;

/// The approximate number of bytes in a group of rows.
const GROUP: usize = 1 << 18;

/// Writes a PNG of big-endian samples of 8 or 16 bits.
///
/// # Errors
/// Returns an error if the writer fails, a side is zero or over 2³¹ − 1, or the number of bytes does not match the
/// number of pixels.
pub fn write_png(
    writer: impl Write,
    size: Size,
    colour: png::ColorType,
    depth: png::BitDepth,
    bytes: &[u8],
) -> io::Result<()> {
    let length = size[1] * bytes_per_pixel(colour, depth);
    if bytes.len() != size[0] * length {
        let expected = size[0] * length;
        let problem = format!("the pixels of a PNG are {} bytes; {expected} are required", bytes.len());
        return Err(io::Error::other(problem));
    }
    write_png_rows(writer, size, colour, depth, |rows| {
        Ok(Cow::Borrowed(&bytes[rows.start * length..rows.end * length]))
    })
}

/// Writes the same bytes for a picture that need not be in memory: `pixels` returns the samples of some rows, each
/// requested once, in order.
///
/// # Errors
/// Returns the errors of [`write_png`] and of `pixels`.
pub(crate) fn write_png_rows<'a>(
    writer: impl Write,
    [rows, cols]: Size,
    colour: png::ColorType,
    depth: png::BitDepth,
    mut pixels: impl FnMut(Range<usize>) -> io::Result<Cow<'a, [u8]>>,
) -> io::Result<()> {
    let side = |n: usize| {
        u32::try_from(n)
            .map_err(|_| io::Error::other(format!("a side of a PNG is {n} pixels; it must be at most 2^31 - 1")))
    };
    let mut encoder = png::Encoder::new(writer, side(cols)?, side(rows)?);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    if colour == png::ColorType::Rgb && depth == png::BitDepth::Eight {
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    }
    let mut body = encoder.write_header()?;
    let pixel = bytes_per_pixel(colour, depth);
    let length = cols * pixel;
    // Each row has one more byte in the file, which names its filter. A group has at least one row, however long.
    let group = (GROUP / (length + 1)).max(1);
    // The row above the current ones; zeros above the first row.
    let mut before = vec![0; length];
    let filtered = |numbers: Range<usize>| {
        let rows_to_write = numbers.start * group..rows.min(numbers.end * group);
        let bytes = pixels(rows_to_write.clone())?;
        if bytes.len() != rows_to_write.len() * length {
            let problem =
                format!("{} bytes were given for {} rows of {length} bytes", bytes.len(), rows_to_write.len());
            return Err(io::Error::other(problem));
        }
        let filter_group = |some: &[u8], above: &[u8]| {
            let mut out = Vec::with_capacity(some.len() / length * (length + 1));
            let mut best = vec![0; length];
            // The first row of a group is predicted from the last row of the group before, whose pixels are known.
            let mut above = above;
            for row in some.chunks_exact(length) {
                filter_row(row, above, pixel, &mut best, &mut out);
                above = row;
            }
            out
        };
        let groups = bytes.par_chunks(group * length).enumerate().map(|(n, some)| match n * group * length {
            0 => filter_group(some, &before),
            start => filter_group(some, &bytes[start - length..start]),
        });
        let groups: Vec<Vec<u8>> = groups.collect();
        // The last row is kept, because the caller's buffer is released before the next rows arrive.
        before.copy_from_slice(&bytes[bytes.len() - length..]);
        Ok(groups)
    };
    zlib_pieces(rows.div_ceil(group), filtered, |part| Ok(body.write_chunk(png::chunk::IDAT, part)?))?;
    Ok(body.finish()?)
}

/// Returns the number of bytes per pixel.
fn bytes_per_pixel(colour: png::ColorType, depth: png::BitDepth) -> usize {
    colour.samples() * if depth == png::BitDepth::Sixteen { 2 } else { 1 }
}

/// Appends a row with the filter (PNG 1.2, 6) whose output bytes, taken as signed, have the smallest sum of absolute
/// values, which usually compresses best (PNG 1.2, 9.6).
fn filter_row(row: &[u8], above: &[u8], pixel: usize, scratch: &mut [u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.push(0);
    out.extend_from_slice(row);
    let mut least = u64::MAX;
    // Filters 1 to 4 are all tried, on the first row too, where the row above counts as zeros; the first of them
    // always replaces filter 0.
    for kind in 1..=4u8 {
        apply_filter(kind, row, above, pixel, scratch);
        // The sum of 4096 bytes is at most 2^19 and fits into 32 bits; only the total needs 64.
        let sum = scratch
            .chunks(1 << 12)
            .map(|some| u64::from(some.iter().map(|b| u32::from(b.cast_signed().unsigned_abs())).sum::<u32>()))
            .sum();
        if sum < least {
            least = sum;
            out[start] = kind;
            out[start + 1..].copy_from_slice(scratch);
        }
    }
}

/// Computes a row minus the prediction of filter `kind`: 1 is the pixel before, 2 the one above, 3 the mean of both,
/// 4 the one of these and the upper-left pixel that is nearest to their plane (Paeth 1991).
fn apply_filter(kind: u8, row: &[u8], above: &[u8], pixel: usize, out: &mut [u8]) {
    // The first pixel has no left neighbour, which counts as zero. Paeth's prediction is then the pixel above.
    let head = pixel.min(row.len());
    for k in 0..head {
        out[k] = row[k].wrapping_sub(match kind {
            1 => 0,
            3 => above[k] / 2,
            _ => above[k],
        });
    }
    let n = row.len() - head;
    let (left, corner) = (&row[..n], &above[..n]);
    let (row, up, out) = (&row[head..], &above[head..], &mut out[head..]);
    match kind {
        1 => (0..n).for_each(|k| out[k] = row[k].wrapping_sub(left[k])),
        2 => (0..n).for_each(|k| out[k] = row[k].wrapping_sub(up[k])),
        3 => (0..n).for_each(|k| out[k] = row[k].wrapping_sub(((u16::from(left[k]) + u16::from(up[k])) / 2) as u8)),
        _ => (0..n).for_each(|k| out[k] = row[k].wrapping_sub(predict_paeth(left[k], up[k], corner[k]))),
    }
}

/// Returns the one of left, above and upper-left (`corner`) that is nearest to left + above − corner; in this order
/// if several are equally near.
fn predict_paeth(left: u8, up: u8, corner: u8) -> u8 {
    // Differences of bytes range from -510 to 510, so they need 16 bits.
    let [a, b, c] = [left, up, corner].map(i16::from);
    let (by_left, by_up) = ((b - c).abs(), (a - c).abs());
    let by_corner = (a + b - 2 * c).abs();
    let adjacent = if by_left <= by_up { left } else { up };
    if by_left.min(by_up) <= by_corner { adjacent } else { corner }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

    /// The png crate's own decoder returns the same pixels, for all sizes and colour types.
    #[test]
    fn what_is_written_is_read() {
        let kinds = [png::ColorType::Grayscale, png::ColorType::Rgb, png::ColorType::Rgba];
        let depths = [(png::BitDepth::Eight, 1), (png::BitDepth::Sixteen, 2)];
        for (number, size) in [[1, 1], [1, 700], [700, 1], [3, 2], [257, 401], [1500, 130]].into_iter().enumerate() {
            for kind in kinds {
                for (depth, wide) in depths {
                    let length = size[0] * size[1] * kind.samples() * wide;
                    let noise =
                        |k: usize| RandomKey::new(number as u64, "png").derive_key(k as u64).random_bits() as u8;
                    let bytes: Vec<u8> =
                        (0..length).map(|k| if k % 3 == 0 { noise(k) } else { (k / 7) as u8 }).collect();
                    let mut file = Vec::new();
                    write_png(&mut file, size, kind, depth, &bytes).unwrap();
                    let mut reader = png::Decoder::new(io::Cursor::new(&file)).read_info().unwrap();
                    let mut read = vec![0; reader.output_buffer_size().unwrap()];
                    let info = reader.next_frame(&mut read).unwrap();
                    assert_eq!([info.height as usize, info.width as usize], size);
                    assert!(read == bytes, "{size:?} {kind:?} {depth:?}");
                }
            }
        }
    }

    #[test]
    fn paeth_as_in_the_standard() {
        for (left, up, corner) in (0..4096u64).map(|k| {
            let bits = RandomKey::new(3, "paeth").derive_key(k).random_bits();
            (bits as u8, (bits >> 8) as u8, (bits >> 16) as u8)
        }) {
            // PNG 1.2, 6.6: p = a + b − c; the nearest of a, b, c, in this order.
            let [a, b, c] = [left, up, corner].map(i32::from);
            let p = a + b - c;
            let [pa, pb, pc] = [a, b, c].map(|x| (p - x).abs());
            let expected = if pa <= pb && pa <= pc {
                left
            } else if pb <= pc {
                up
            } else {
                corner
            };
            assert_eq!(predict_paeth(left, up, corner), expected, "{left} {up} {corner}");
        }
    }
}
