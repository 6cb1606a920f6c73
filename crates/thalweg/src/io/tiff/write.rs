//! Writing GeoTIFF: strips, predicted and compressed side by side, the geo tags, BigTIFF where offsets need it.

use std::io::{self, Seek, Write};

use rayon::prelude::*;
use tiff::TiffError;
use tiff::encoder::{DirectoryEncoder, TiffEncoder, TiffKind};
use tiff::tags::Tag;

use crate::base::deflate::zlib;
use crate::io::geokeys;
use crate::io::{Raster, SampleType, Samples};

/// Beyond so many bytes of samples the file is a BigTIFF: deflate may lengthen noise by a little, and tags need room.
const BIG: u64 = 0xf000_0000;

/// Writes one band with its geo tags.
pub fn write(file: &mut (impl Write + Seek), raster: &Raster) -> io::Result<()> {
    let bytes = (raster.samples.len() as u64).saturating_mul(raster.samples.kind().bytes() as u64);
    let result = if bytes < BIG {
        TiffEncoder::new(file).and_then(|tiff| image(tiff, raster))
    } else {
        TiffEncoder::new_big(file).and_then(|tiff| image(tiff, raster))
    };
    result.map_err(|error| match error {
        TiffError::IoError(error) => error,
        other => io::Error::other(other),
    })
}

/// Bytes of a strip's samples, about: enough strips for many threads, and each large enough to compress well.
const STRIP: usize = 1 << 19;

/// Strips that are compressed at once.
const AT_ONCE: usize = 64;

fn image<W: Write + Seek, K: TiffKind>(mut tiff: TiffEncoder<W, K>, raster: &Raster) -> Result<(), TiffError> {
    let mut directory = tiff.image_directory()?;
    let [rows, cols] = raster.size;
    let kind = raster.samples.kind();
    let group = (STRIP / (cols * kind.bytes()).max(1)).clamp(1, rows.max(1));
    let strip =
        |number: usize| packed(&raster.samples, number * group * cols..((number + 1) * group).min(rows) * cols, cols);
    let (mut offsets, mut lengths) = (Vec::new(), Vec::new());
    let count = rows.div_ceil(group);
    for first in (0..count).step_by(AT_ONCE) {
        let some = (first..count.min(first + AT_ONCE)).into_par_iter().map(|number| zlib(&strip(number)));
        for bytes in some.collect::<Vec<io::Result<_>>>() {
            let bytes = bytes?;
            lengths.push(u32::try_from(bytes.len())?);
            offsets.push(directory.write_data(&bytes[..])?);
        }
    }
    let format = format_of(kind);
    directory.write_tag(Tag::ImageWidth, u32::try_from(cols)?)?;
    directory.write_tag(Tag::ImageLength, u32::try_from(rows)?)?;
    directory.write_tag(Tag::BitsPerSample, 8 * kind.bytes() as u16)?;
    directory.write_tag(Tag::Compression, DEFLATE)?;
    directory.write_tag(Tag::PhotometricInterpretation, BLACK_IS_ZERO)?;
    directory.write_tag(Tag::SamplesPerPixel, 1u16)?;
    directory.write_tag(Tag::RowsPerStrip, u32::try_from(group)?)?;
    directory.write_tag(Tag::StripByteCounts, &lengths[..])?;
    match offsets.iter().map(|at| u32::try_from(*at)).collect::<Result<Vec<u32>, _>>() {
        Ok(offsets) => directory.write_tag(Tag::StripOffsets, &offsets[..])?,
        Err(_) => directory.write_tag(Tag::StripOffsets, &offsets[..])?,
    }
    directory.write_tag(Tag::Predictor, predictor(kind))?;
    directory.write_tag(Tag::SampleFormat, format)?;
    geo_tags(&mut directory, raster)?;
    directory.finish()
}

/// Values of tags 259 and 262 (TIFF 6.0, and Adobe Photoshop TIFF technical note 2).
pub const DEFLATE: u16 = 8;
const BLACK_IS_ZERO: u16 = 1;

/// Value of tag 339: 1 whole, 2 signed, 3 floating-point.
pub fn format_of(kind: SampleType) -> u16 {
    match kind {
        SampleType::U8 | SampleType::U16 | SampleType::U32 => 1,
        SampleType::I16 | SampleType::I32 => 2,
        SampleType::F32 | SampleType::F64 => 3,
    }
}

/// Value of tag 317: how samples are foretold before they are compressed. Bytes are mostly classes, whose differences say no less.
pub fn predictor(kind: SampleType) -> u16 {
    match kind {
        SampleType::U8 => 1,
        SampleType::U16 | SampleType::I16 | SampleType::I32 | SampleType::U32 => 2,
        SampleType::F32 | SampleType::F64 => 3,
    }
}

/// The bytes of some rows' samples after the predictor.
pub fn packed(samples: &Samples, range: std::ops::Range<usize>, cols: usize) -> Vec<u8> {
    macro_rules! differences {
        ($v:expr) => {
            $v[range]
                .chunks(cols)
                .flat_map(|row| {
                    let before = std::iter::once(0).chain(row.iter().copied());
                    row.iter().zip(before).flat_map(|(x, before)| x.wrapping_sub(before).to_ne_bytes())
                })
                .collect()
        };
    }
    match samples {
        Samples::U8(v) => v[range].to_vec(),
        Samples::U16(v) => differences!(v),
        Samples::I16(v) => differences!(v),
        Samples::I32(v) => differences!(v),
        Samples::U32(v) => differences!(v),
        Samples::F32(v) => v[range].chunks(cols).flat_map(|row| planes(row, |x| x.to_be_bytes())).collect(),
        Samples::F64(v) => v[range].chunks(cols).flat_map(|row| planes(row, |x| x.to_be_bytes())).collect(),
    }
}

/// Predictor 3 (Adobe Photoshop TIFF technical note 3, 2005): the first bytes of all samples of a row, then the second …, each byte less the one before it.
fn planes<T: Copy, const N: usize>(row: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    let mut out = vec![0; row.len() * N];
    for (k, sample) in row.iter().enumerate() {
        for (n, byte) in bytes(*sample).into_iter().enumerate() {
            out[n * row.len() + k] = byte;
        }
    }
    let mut before = 0;
    for byte in &mut out {
        (*byte, before) = (byte.wrapping_sub(before), *byte);
    }
    out
}

/// Where on Earth, what stands for no data, unit and scale.
fn geo_tags<W: Write + Seek, K: TiffKind>(
    encoder: &mut DirectoryEncoder<'_, W, K>,
    raster: &Raster,
) -> Result<(), TiffError> {
    if let Some(georeference) = &raster.georeference {
        let tags = geokeys::to_tags(georeference);
        let reals = [
            (Tag::ModelPixelScaleTag, &tags.pixel_scale),
            (Tag::ModelTiepointTag, &tags.tiepoints),
            (Tag::ModelTransformationTag, &tags.matrix),
            (Tag::GeoDoubleParamsTag, &tags.doubles),
        ];
        for (tag, values) in reals {
            if !values.is_empty() {
                encoder.write_tag(tag, &values[..])?;
            }
        }
        if !tags.keys.is_empty() {
            encoder.write_tag(Tag::GeoKeyDirectoryTag, &tags.keys[..])?;
        }
        if !tags.ascii.is_empty() {
            encoder.write_tag(Tag::GeoAsciiParamsTag, geo_text(&tags.ascii).as_str())?;
        }
    }
    if let Some(nodata) = raster.nodata {
        encoder.write_tag(Tag::GdalNodata, nodata_text(nodata).as_str())?;
    }
    if raster.scale != [1.0, 0.0] || raster.unit.is_some() {
        encoder.write_tag(
            Tag::Unknown(super::tag::GDAL_METADATA),
            metadata(raster.scale, raster.unit.as_deref()).as_str(),
        )?;
    }
    Ok(())
}

/// Text of the geo keys. The format is ASCII; what others wrote beyond it is carried as far as it can be.
pub fn geo_text(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii() && c != '\0' { c } else { '?' }).collect()
}

/// What stands for no data, as GDAL words it.
pub fn nodata_text(nodata: f64) -> String {
    if nodata.is_nan() { "nan".to_string() } else { nodata.to_string() }
}

/// GDAL's metadata for scale, offset and unit.
pub fn metadata(scale: [f64; 2], unit: Option<&str>) -> String {
    let mut text = "<GDALMetadata>\n".to_string();
    let mut item = |name: &str, value: &str| {
        let role = name.to_ascii_lowercase();
        text += &format!("  <Item name=\"{name}\" sample=\"0\" role=\"{role}\">{value}</Item>\n");
    };
    if scale != [1.0, 0.0] {
        item("SCALE", &scale[0].to_string());
        item("OFFSET", &scale[1].to_string());
    }
    if let Some(unit) = unit {
        item("UNITTYPE", &unit.chars().filter(|c| c.is_ascii_alphanumeric() || *c == ' ').collect::<String>());
    }
    text + "</GDALMetadata>"
}
