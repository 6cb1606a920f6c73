//! LERC in TIFF (method 34887): every strip or tile is a blob of Esri's Limited Error Raster Compression, optionally
//! compressed once more.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::ZlibDecoder;
use lerc::{Sample, decode_info, decode_into_with_nodata};
use ruzstd::decoding::StreamingDecoder;

use crate::{SampleType, Samples};

/// The additional compression of the blobs, as in tag 50674: none, deflate, Zstandard.
const PLAIN: u64 = 0;
const DEFLATE: u64 = 1;
pub const ZSTD: u64 = 2;

/// Decodes the samples of `rows` × `cols` pixels with `bands` bands to type `kind`. Cells that a blob of floats marks
/// as invalid become NaN, as in libtiff. `bits` distinguishes signed samples of 8 bits, which become 16 bits.
pub fn decode_lerc(
    data: &[u8],
    packing: u64,
    kind: SampleType,
    bits: u64,
    [rows, cols, bands]: [usize; 3],
) -> Result<Samples, String> {
    let cells = rows * cols * bands;
    // A blob is rarely longer than its samples; twice their size and a header is more than any blob has.
    let max_blob_bytes = (cells as u64).saturating_mul(16).saturating_add(1 << 16);
    let blob = decompress_blob(data, packing, max_blob_bytes).ok_or_else(broken_message)?;
    let info = decode_info(&blob).map_err(|_| broken_message())?;
    let actual = [info.height as usize, info.width as usize, info.depth as usize * info.bands as usize];
    if actual != [rows, cols, bands] {
        return Err(format!(
            "is broken: a tile or strip of {rows} × {cols} cells contains {} × {}",
            actual[0], actual[1]
        ));
    }
    // Integers have no NaN, so their invalid cells become 0.
    let mut samples = Samples::zeros(kind, cells)?;
    match (&mut samples, bits) {
        (Samples::U8(v), _) => decode_blob_into(v, &blob, 0)?,
        (Samples::U16(v), _) => decode_blob_into(v, &blob, 0)?,
        (Samples::I16(v), 8) => {
            let mut bytes = vec![0i8; v.len()];
            decode_blob_into(&mut bytes, &blob, 0)?;
            v.iter_mut().zip(bytes).for_each(|(to, from)| *to = i16::from(from));
        }
        (Samples::I16(v), _) => decode_blob_into(v, &blob, 0)?,
        (Samples::I32(v), _) => decode_blob_into(v, &blob, 0)?,
        (Samples::U32(v), _) => decode_blob_into(v, &blob, 0)?,
        (Samples::F32(v), _) => decode_blob_into(v, &blob, f32::NAN)?,
        (Samples::F64(v), _) => decode_blob_into(v, &blob, f64::NAN)?,
    }
    // If the bands have different invalid cells, libtiff stores them one after the other instead of interleaved by
    // pixel.
    Ok(if info.bands > 1 && info.depth == 1 { samples.into_row_major([rows * cols, bands]) } else { samples })
}

fn decode_blob_into<T: Sample>(out: &mut [T], blob: &[u8], void: T) -> Result<(), String> {
    decode_into_with_nodata(blob, out, void).map(drop).map_err(|_| broken_message())
}

/// Returns the uncompressed blob; `None` if it cannot be decompressed, or only to more than `most` bytes.
fn decompress_blob(data: &[u8], packing: u64, most: u64) -> Option<Cow<'_, [u8]>> {
    let mut blob = Vec::new();
    match packing {
        PLAIN => return Some(Cow::Borrowed(data)),
        DEFLATE => ZlibDecoder::new(data).take(most).read_to_end(&mut blob).ok()?,
        _ => StreamingDecoder::new(data).ok()?.take(most).read_to_end(&mut blob).ok()?,
    };
    Some(Cow::Owned(blob))
}

fn broken_message() -> String {
    "is truncated or broken: a tile or strip is not LERC".to_string()
}
