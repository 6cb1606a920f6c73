//! [`Picture`]: sRGB pixels, and the operations on any picture.

use std::io::{self, BufRead, Seek, Write};
use std::ops::Range;

use rayon::prelude::*;

use crate::pictures::colour::{Linear, Rgb, to_linear, to_srgb};
use crate::pictures::png_file::{write_png, write_png_rows};
use thalweg_core::terrain::filter::{AxisFilter, Kernel, resample_values};
use thalweg_core::{Cell, CellRect, Field, Size};

/// The largest number of bytes of pixels that are decoded: enough for a frame of 8192².
const MAX_BYTES: usize = 1 << 28;

/// A picture: rows from the top, 8-bit sRGB.
///
/// # Examples
/// ```
/// use std::io::Cursor;
/// use thalweg_core::CellRect;
/// use thalweg_render::pictures::picture::Picture;
///
/// let mut picture = Picture::new([2, 3], [255; 3]);
/// picture.fill(CellRect::new([0, 0], [1, 3]), [200, 40, 40]);
/// let png = picture.to_png()?;
/// assert_eq!(Picture::decode_png(Cursor::new(png))?, picture);
/// assert_eq!(Picture::join_side_by_side(&[picture.clone(), picture], 1, [0; 3]).size(), [2, 7]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The pixels.
    pub rgb: Field<Rgb>,
}

impl Picture {
    /// Creates a picture of one colour.
    pub fn new(size: Size, colour: Rgb) -> Self {
        Self { rgb: Field::new(size, colour) }
    }

    /// Returns the numbers of rows and columns.
    pub fn size(&self) -> Size {
        self.rgb.size()
    }

    /// Writes a PNG (8-bit RGB, sRGB chunk).
    ///
    /// # Errors
    /// Returns an error if the writer fails, or if a side is zero or over 2³¹ − 1.
    pub fn encode_png(&self, writer: impl Write) -> io::Result<()> {
        write_png(writer, self.size(), png::ColorType::Rgb, png::BitDepth::Eight, self.rgb.as_slice().as_flattened())
    }

    /// Writes the PNG of a picture that is not in memory, with the same bytes as [`Picture::encode_png`]. `pixels`
    /// returns the pixels of some rows, row by row from the left; each row is requested once, in order.
    ///
    /// # Errors
    /// Returns the errors of [`Picture::encode_png`] and of `pixels`, and an error if `pixels` returns too few or too
    /// many pixels.
    pub fn encode_rows(
        writer: impl Write,
        size: Size,
        mut pixels: impl FnMut(Range<usize>) -> io::Result<Vec<Rgb>>,
    ) -> io::Result<()> {
        let bytes = |rows| Ok(pixels(rows)?.into_flattened().into());
        write_png_rows(writer, size, png::ColorType::Rgb, png::BitDepth::Eight, bytes)
    }

    /// Returns the bytes of a PNG, as written by [`Picture::encode_png`].
    ///
    /// # Errors
    /// Returns the errors of [`Picture::encode_png`].
    pub fn to_png(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.encode_png(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads a PNG in the format that [`Picture::encode_png`] writes.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, is not 8-bit RGB, or has more than 2²⁸ bytes of pixels.
    pub fn decode_png(reader: impl BufRead + Seek) -> io::Result<Self> {
        let mut reader = png::Decoder::new(reader).read_info()?;
        let (info, other) = (reader.info(), || io::Error::other("is not a PNG of 8-bit RGB"));
        if (info.color_type, info.bit_depth) != (png::ColorType::Rgb, png::BitDepth::Eight) {
            return Err(other());
        }
        let size = [info.height as usize, info.width as usize];
        // A header may claim any size; a size beyond any that we draw is rejected before memory is allocated.
        let length = reader.output_buffer_size().filter(|length| *length <= MAX_BYTES).ok_or_else(other)?;
        let mut bytes = vec![0; length];
        reader.next_frame(&mut bytes)?;
        let pixels = bytes.as_chunks::<3>().0.to_vec();
        Ok(Self { rgb: Field::from_vec(size, pixels).map_err(io::Error::other)? })
    }

    /// Returns the picture at `size`, if that is no larger in either direction, by averaging the light on each new
    /// pixel's area; otherwise the picture itself.
    #[must_use]
    pub fn shrink_to(self, size: Size) -> Self {
        let [rows, cols] = self.size();
        if size[0] > rows || size[1] > cols || size == [rows, cols] || size.contains(&0) {
            return self;
        }
        // Old rows and columns are divided evenly among the new ones, also where the ratio is not a whole number.
        let (down, across) = (PixelSpan::divide_axis(rows, size[0]), PixelSpan::divide_axis(cols, size[1]));
        let mut rgb = Field::new(size, [0; 3]);
        rgb.par_rows_mut().for_each(|(i, row)| {
            // First the rows of a span are averaged column by column, then the columns; weights are separable.
            let mut light = vec![[0f32; 3]; cols];
            for (r, weight) in down[i].weights() {
                for (sum, pixel) in light.iter_mut().zip(self.rgb.row(r)) {
                    add_weighted(sum, to_linear(*pixel), weight);
                }
            }
            sum_spans(&light, &across, row);
        });
        Self { rgb }
    }

    /// Returns the picture with its longer side at most `pixels` and its proportions kept; see [`Picture::shrink_to`].
    /// 0 leaves it unchanged. For example, with 1000 a picture of 4000 × 2000 pixels becomes one of 1000 × 500.
    #[must_use]
    pub fn fit_within(self, pixels: usize) -> Self {
        let size = size_within(self.size(), pixels);
        self.shrink_to(size)
    }

    /// Returns the picture at `size`, if that is no smaller in either direction, with smooth (bicubic) interpolation
    /// of light; otherwise the picture itself.
    #[must_use]
    pub fn enlarge_to(self, size: Size) -> Self {
        let old = self.size();
        if size[0] < old[0] || size[1] < old[1] || size == old || old.contains(&0) {
            return self;
        }
        // The filter works in linear light, because a mean of sRGB codes would be too dark.
        let [rows, cols] = [0, 1].map(|k| AxisFilter::new(old[k], size[k], Kernel::Smooth));
        let light =
            [0, 1, 2].map(|c| resample_values(old, |i, j| f64::from(to_linear(self.rgb[(i, j)])[c]), &rows, &cols));
        Self { rgb: Field::from_fn(size, |i, j| to_srgb([0, 1, 2].map(|c| light[c][(i, j)] as f32))) }
    }

    /// Places pictures in a row from the left, with their tops aligned and `gap` pixels of colour `ground` between
    /// them.
    pub fn join_side_by_side(pictures: &[Self], gap: usize, ground: Rgb) -> Self {
        let rows = pictures.iter().map(|p| p.rgb.rows()).max().unwrap_or(0);
        let widths: usize = pictures.iter().map(|p| p.rgb.cols()).sum();
        let mut all = Self::new([rows, widths + gap * pictures.len().saturating_sub(1)], ground);
        let mut at = 0;
        for picture in pictures {
            all.paste(picture, [0, at]);
            at += picture.rgb.cols() + gap;
        }
        all
    }

    /// Draws `part` over this picture with its upper left pixel at `to`; parts that do not fit are cut off.
    pub fn paste(&mut self, part: &Self, to: impl Into<Cell>) {
        let to = to.into();
        // The part that fits is computed per axis; it is empty if the position is outside the picture.
        let room = |k: usize| self.size()[k].saturating_sub(to[k]).min(part.size()[k]);
        let window = CellRect::new([0, 0], [room(0), room(1)]);
        if !window.size().contains(&0) {
            self.rgb.paste(&part.rgb, window, to);
        }
    }

    /// Fills a rectangle of pixels, as far as it is inside the picture.
    pub fn fill(&mut self, pixels: CellRect, colour: Rgb) {
        let CellRect { start, end } = pixels.intersect(CellRect::new([0, 0], self.size()));
        for i in start.row..end.row {
            if start.col < end.col {
                self.rgb.row_mut(i)[start.col..end.col].fill(colour);
            }
        }
    }
}

/// Returns the size whose longer side is at most `pixels`, with proportions kept; 0 pixels means no limit.
pub fn size_within([rows, cols]: Size, pixels: usize) -> Size {
    let long = rows.max(cols);
    if pixels == 0 || long <= pixels {
        return [rows, cols];
    }
    let scale = |n: usize| ((n as f64 * pixels as f64 / long as f64).round() as usize).max(1);
    [scale(rows), scale(cols)]
}

/// [`Picture::shrink_to`] for a picture that arrives row by row, with the same bits.
pub(crate) struct Reduction {
    size: [Size; 2],
    down: Vec<PixelSpan>,
    across: Vec<PixelSpan>,
    /// The numbers of rows received, and of rows completed.
    at: [usize; 2],
    light: Vec<Linear>,
}

impl Reduction {
    /// Creates a reduction from pictures of size `old` to a size that is no larger.
    pub fn new(old: Size, size: Size) -> Self {
        let (down, across) = (PixelSpan::divide_axis(old[0], size[0]), PixelSpan::divide_axis(old[1], size[1]));
        Self { size: [old, size], down, across, at: [0, 0], light: vec![[0.0; 3]; old[1]] }
    }

    /// Takes the next row; returns the rows that are complete with it.
    pub fn push_row(&mut self, row: &[Rgb]) -> Vec<Vec<Rgb>> {
        // Without a reduction, rows pass through unchanged, as in `shrink_to`.
        let [old, size] = self.size;
        if size == old {
            return vec![row.to_vec()];
        }
        let mut done = Vec::new();
        // A row may be the last of one span and the first of the next.
        while let Some(span) = self.down.get(self.at[1]) {
            if let Some((_, weight)) = span.weights().find(|(r, _)| *r == self.at[0]) {
                self.light
                    .par_iter_mut()
                    .zip(row)
                    // A task has at least 4096 pixels, so that short rows are not divided among threads.
                    .with_min_len(4096)
                    .for_each(|(sum, p)| add_weighted(sum, to_linear(*p), weight));
            }
            // The span is complete only if none of its rows is still to come.
            if span.weights().any(|(r, _)| r > self.at[0]) {
                break;
            }
            let mut pixels = vec![[0; 3]; size[1]];
            sum_spans(&self.light, &self.across, &mut pixels);
            done.push(pixels);
            self.light.fill([0.0; 3]);
            self.at[1] += 1;
        }
        self.at[0] += 1;
        done
    }
}

/// Sums light over the spans of a row.
fn sum_spans(light: &[Linear], across: &[PixelSpan], row: &mut [Rgb]) {
    for (pixel, span) in row.iter_mut().zip(across) {
        let mut sum = [0.0; 3];
        for (c, weight) in span.weights() {
            add_weighted(&mut sum, light[c], weight);
        }
        *pixel = to_srgb(sum);
    }
}

/// The range of `n` old pixels that make up one of `m` new ones.
struct PixelSpan {
    from: f64,
    to: f64,
}

impl PixelSpan {
    fn divide_axis(n: usize, m: usize) -> Vec<Self> {
        (0..m).map(|k| Self::new(n, m, k)).collect()
    }

    fn new(n: usize, m: usize, k: usize) -> Self {
        let step = n as f64 / m as f64;
        // The limit excludes a rounding error of the last span beyond the last old pixel.
        Self { from: k as f64 * step, to: ((k + 1) as f64 * step).min(n as f64) }
    }

    /// Returns the old pixels and their shares, which sum to 1.
    fn weights(&self) -> impl Iterator<Item = (usize, f32)> {
        let (from, to) = (self.from, self.to);
        (from as usize..to.ceil() as usize).map(move |p| {
            let covered = to.min((p + 1) as f64) - from.max(p as f64);
            (p, (covered / (to - from)) as f32)
        })
    }
}

fn add_weighted(sum: &mut Linear, light: Linear, weight: f32) {
    for c in 0..3 {
        sum[c] += light[c] * weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chequered(size: Size) -> Picture {
        Picture { rgb: Field::from_fn(size, |i, j| if (i + j) % 2 == 0 { [255, 0, 10] } else { [0, 0, 10] }) }
    }

    #[test]
    fn png_decodes_to_the_same_pixels() {
        let picture = chequered([5, 7]);
        let bytes = picture.to_png().unwrap();
        assert_eq!(Picture::decode_png(io::Cursor::new(&bytes)).unwrap(), picture);
        assert!(Picture::decode_png(io::Cursor::new(&bytes[..40])).is_err());
        let mut reader = png::Decoder::new(io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.height, info.width, info.color_type), (5, 7, png::ColorType::Rgb));
        assert_eq!(pixels, picture.rgb.as_slice().as_flattened());
    }

    #[test]
    fn reducing_averages_light_not_codes() {
        // Half of the pixels at full red give half of the light, which is code 188 (the average of codes would be
        // 128).
        let small = chequered([8, 8]).shrink_to([2, 2]);
        assert!(small.rgb.as_slice().iter().all(|p| *p == [188, 0, 10]), "{small:?}");
    }

    #[test]
    fn fractional_reduction_keeps_an_even_colour() {
        let picture = Picture::new([7, 10], [200, 100, 3]).fit_within(4);
        assert_eq!(picture.size(), [3, 4]);
        assert!(picture.rgb.as_slice().iter().all(|p| *p == [200, 100, 3]));
    }

    #[test]
    fn enlarging_keeps_corners_and_an_even_colour() {
        let mut picture = Picture::new([4, 6], [20, 100, 30]);
        assert_eq!(picture.clone().enlarge_to([9, 30]), Picture::new([9, 30], [20, 100, 30]));
        picture.rgb[(3, 5)] = [255; 3];
        let large = picture.clone().enlarge_to([13, 21]);
        assert_eq!((large.rgb[(12, 20)], large.rgb[(0, 0)]), ([255; 3], [20, 100, 30]));
        assert_eq!(picture.clone().enlarge_to([13, 5]), picture);
    }

    #[test]
    fn beside_keeps_both_and_the_gap() {
        let all = Picture::join_side_by_side(&[Picture::new([2, 3], [1; 3]), Picture::new([4, 1], [2; 3])], 2, [9; 3]);
        assert_eq!(all.size(), [4, 6]);
        assert_eq!(all.rgb.row(0), [[1; 3], [1; 3], [1; 3], [9; 3], [9; 3], [2; 3]]);
        assert_eq!(all.rgb.row(3), [[9; 3], [9; 3], [9; 3], [9; 3], [9; 3], [2; 3]]);
    }
}
