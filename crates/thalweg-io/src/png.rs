//! PNG in grey with 8 or 16 bits.

use std::io::{self, Cursor, Write};

use png::{BitDepth, ColorType, Decoder, Info, Limits, Transformations};

use super::facts::FactSource;
use super::{Raster, SampleType, Samples, check_size};
use thalweg_render::pictures::png_file::write_png;

/// Reads a grey image; a colour image is accepted only if all its pixels are grey.
pub(super) fn read_image(bytes: &[u8]) -> Result<Raster, String> {
    let broken = |error: png::DecodingError| format!("cannot be decoded: {error}");
    // The decoder keeps a few rows in addition to the pixels, whose buffer is allocated here.
    let limits = Limits { bytes: bytes.len().saturating_add(64 << 20) };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    // Texts and colour profiles do not affect grey values, and could unpack to a great size.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(broken)?;
    let info = reader.info();
    let [rows, cols] = [u64::from(info.height), u64::from(info.width)];
    check_palette(info)?;
    let levels = if info.color_type == ColorType::Indexed { 8 } else { info.bit_depth as u8 };
    // Deflate compresses by a factor of 1032 at most, and a pixel of one bit becomes a byte.
    let ratio = 1100 * 8;
    check_size([rows, cols], 1, bytes.len(), ratio)?;
    let (color, depth) = reader.output_color_type();
    let wide = depth == BitDepth::Sixteen;
    let channels = color.samples();
    let size = reader.output_buffer_size().ok_or("is too large for this machine")?;
    check_size([rows, cols], (channels * if wide { 2 } else { 1 }) as u64, bytes.len(), ratio)?;
    let Samples::U8(mut buffer) = Samples::zeros(SampleType::U8, size)? else {
        return Err("cannot be decoded".to_string());
    };
    reader.next_frame(&mut buffer).map_err(broken)?;

    let (rows, cols) = (rows as usize, cols as usize);
    let kind = if wide { SampleType::U16 } else { SampleType::U8 };
    let samples = Samples::from_bytes(kind, &buffer, true);
    // The decoder turns a transparent grey value (the chunk tRNS) into an alpha channel.
    let has_alpha = matches!(color, ColorType::Rgba | ColorType::GrayscaleAlpha);
    let mask = has_alpha.then(|| find_transparent(&samples, channels)).filter(|mask| mask.contains(&true));
    let samples = extract_grey(samples, channels, cols)?;
    if samples.len() != rows * cols {
        return Err("cannot be decoded: it has fewer pixels than it declares".to_string());
    }
    let mut raster = Raster { mask, ..Raster::new([rows, cols], samples) };
    raster.facts.record("compression", "Deflate", FactSource::Default("PNG".to_string()));
    if levels < 8 {
        raster.warnings.push(format!("stores only {levels} bits per sample, so its heights form coarse terraces"));
    }
    Ok(raster)
}

/// Rejects an invalid palette: `png` 0.18.1 does not check its length and panics (image-png #682).
fn check_palette(info: &Info<'_>) -> Result<(), String> {
    if info.color_type != ColorType::Indexed {
        return Ok(());
    }
    let bytes = info.palette.as_ref().map_or(0, |palette| palette.len());
    // The palette may have fewer entries than the bit depth allows; pixels beyond it are black.
    if bytes == 0 || !bytes.is_multiple_of(3) || bytes > 3 * 256 {
        return Err(format!(
            "cannot be decoded: its palette has {bytes} bytes; it must have 3 to 768, three per colour"
        ));
    }
    Ok(())
}

/// Returns true for each pixel whose last channel, the alpha channel, is 0.
fn find_transparent(samples: &Samples, channels: usize) -> Vec<bool> {
    fn find_zeros<T: Copy + Default + PartialEq>(v: &[T], channels: usize) -> Vec<bool> {
        v.chunks_exact(channels).map(|pixel| pixel[channels - 1] == T::default()).collect()
    }
    match samples {
        Samples::U8(v) => find_zeros(v, channels),
        Samples::U16(v) => find_zeros(v, channels),
        _ => Vec::new(),
    }
}

/// Returns the grey value of each pixel of 1 to 4 channels (grey, grey + alpha, RGB, RGBA).
fn extract_grey(samples: Samples, channels: usize, cols: usize) -> Result<Samples, String> {
    fn pick_channel<T: Copy + PartialEq>(v: Vec<T>, channels: usize, cols: usize) -> Result<Vec<T>, String> {
        if channels == 1 {
            return Ok(v);
        }
        let coloured = |p: &[T]| channels >= 3 && !(p[0] == p[1] && p[1] == p[2]);
        if let Some(k) = v.chunks_exact(channels).position(coloured) {
            let (row, column) = (k / cols, k % cols);
            return Err(format!(
                "is in colours (first at row {row}, column {column}), not heights; save it as a grey picture of 16 bits"
            ));
        }
        Ok(v.chunks_exact(channels).map(|p| p[0]).collect())
    }
    match samples {
        Samples::U8(v) => pick_channel(v, channels, cols).map(Samples::U8),
        Samples::U16(v) => pick_channel(v, channels, cols).map(Samples::U16),
        other => Ok(other),
    }
}

/// Writes grey with 8 or 16 bits.
pub(super) fn write_image(file: &mut impl Write, raster: &Raster) -> io::Result<()> {
    match &raster.samples {
        Samples::U16(v) => {
            let bytes: Vec<u8> = v.iter().flat_map(|x| x.to_be_bytes()).collect();
            write_png(file, raster.size, ColorType::Grayscale, BitDepth::Sixteen, &bytes)
        }
        Samples::U8(v) => write_png(file, raster.size, ColorType::Grayscale, BitDepth::Eight, v),
        _ => Err(io::Error::other("PNG only supports u8 and u16")),
    }
}
