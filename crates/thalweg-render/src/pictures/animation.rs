//! Animated PNG: a sequence of pictures of one size.

use std::io::{self, Write};

use crate::pictures::picture::Picture;

/// Writes an animated PNG of `count` pictures at `rate` pictures per second, repeated endlessly. A viewer without
/// support for animations shows the first picture. For example, 120 pictures at a rate of 12 last ten seconds.
///
/// # Errors
/// Returns an error if the writer or a picture fails, if there are no pictures or not exactly `count`, or if they
/// differ in size.
///
/// # Examples
/// Three pictures, twelve per second. A reader of plain PNGs finds the first of them.
///
/// ```
/// use std::io::Cursor;
/// use thalweg_render::pictures::animation::encode_animation;
/// use thalweg_render::pictures::picture::Picture;
///
/// let pictures = (0..3).map(|n| Ok(Picture::new([4, 6], [80 * n, 0, 0])));
/// let mut bytes = Vec::new();
/// encode_animation(&mut bytes, 3, 12, pictures)?;
/// assert_eq!(Picture::decode_png(Cursor::new(bytes))?, Picture::new([4, 6], [0; 3]));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn encode_animation(
    writer: impl Write,
    count: u32,
    rate: u16,
    mut pictures: impl Iterator<Item = io::Result<Picture>>,
) -> io::Result<()> {
    let first = pictures.next().ok_or_else(|| io::Error::other("there is no picture to animate"))??;
    let [rows, cols] = first.size();
    // A PNG stores its sides as 32-bit numbers; larger ones are an error, not a truncated picture.
    let side = |n: usize| u32::try_from(n).map_err(io::Error::other);
    let mut encoder = png::Encoder::new(writer, side(cols)?, side(rows)?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    encoder.set_animated(count, 0)?;
    encoder.set_frame_delay(1, rate.max(1))?;
    let mut body = encoder.write_header()?;
    // The first picture is also the default image, which readers without support for animations show.
    body.write_image_data(first.rgb.as_slice().as_flattened())?;
    let mut written = 1;
    // Each picture is requested only when it is due, so that the whole animation is never in memory.
    for picture in pictures {
        let picture = picture?;
        written += 1;
        let size = picture.size();
        if size != [rows, cols] {
            let size = format!("{} × {} pixels (columns × rows)", size[1], size[0]);
            return Err(io::Error::other(format!("picture {written} is {size}; the first is {cols} × {rows}")));
        }
        body.write_image_data(picture.rgb.as_slice().as_flattened())?;
    }
    if written != count {
        return Err(io::Error::other(format!("{written} pictures were written; {count} were declared")));
    }
    Ok(body.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(count: u8) -> Vec<Picture> {
        (0..count).map(|n| Picture::new([5, 7], [n, 2 * n, 200 - n])).collect()
    }

    #[test]
    fn every_picture_comes_back_in_its_order() {
        let mut bytes = Vec::new();
        encode_animation(&mut bytes, 3, 12, frames(3).into_iter().map(Ok)).unwrap();
        let mut reader = png::Decoder::new(io::Cursor::new(bytes)).read_info().unwrap();
        assert_eq!(reader.info().animation_control().unwrap().num_frames, 3);
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        for picture in frames(3) {
            reader.next_frame(&mut pixels).unwrap();
            assert_eq!(pixels, picture.rgb.as_slice().as_flattened());
            let control = reader.info().frame_control().unwrap();
            assert_eq!((control.delay_num, control.delay_den), (1, 12));
        }
    }

    #[test]
    fn pictures_that_do_not_go_together_are_refused() {
        let refused = |count: u32, pictures: Vec<Picture>| {
            encode_animation(Vec::new(), count, 12, pictures.into_iter().map(Ok)).unwrap_err().to_string()
        };
        assert!(refused(0, vec![]).contains("no picture"));
        assert!(refused(3, frames(2)).contains("2 pictures were written; 3 were declared"));
        refused(1, frames(2));
        let mut uneven = frames(2);
        uneven[1] = Picture::new([7, 5], [0; 3]);
        assert!(refused(2, uneven).contains("picture 2 is 5 × 7 pixels"));
        assert!(encode_animation(Vec::new(), 1, 12, std::iter::once(Err(io::Error::other("gone")))).is_err());
    }
}
