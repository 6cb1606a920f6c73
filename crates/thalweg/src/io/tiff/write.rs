//! Writing GeoTIFF: strips, deflate, the geo tags, BigTIFF where offsets need it.

use std::io::{self, Seek, Write};

use tiff::TiffError;
use tiff::encoder::colortype::{ColorType, Gray8, Gray16, Gray32, Gray32Float, Gray64Float, GrayI16, GrayI32};
use tiff::encoder::{Compression, DeflateLevel, TiffEncoder, TiffKind, TiffValue};
use tiff::tags::Tag;

use crate::io::geokeys;
use crate::io::{Raster, Samples};

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

fn image<W: Write + Seek, K: TiffKind>(tiff: TiffEncoder<W, K>, raster: &Raster) -> Result<(), TiffError> {
    // Measured on real models: the fast level is within a few per cent of the balanced one in size.
    let mut tiff = tiff.with_compression(Compression::Deflate(DeflateLevel::Fast));
    match &raster.samples {
        Samples::U8(v) => band::<Gray8, _, _>(&mut tiff, raster, v),
        Samples::U16(v) => band::<Gray16, _, _>(&mut tiff, raster, v),
        Samples::I16(v) => band::<GrayI16, _, _>(&mut tiff, raster, v),
        Samples::I32(v) => band::<GrayI32, _, _>(&mut tiff, raster, v),
        Samples::U32(v) => band::<Gray32, _, _>(&mut tiff, raster, v),
        Samples::F32(v) => band::<Gray32Float, _, _>(&mut tiff, raster, v),
        Samples::F64(v) => band::<Gray64Float, _, _>(&mut tiff, raster, v),
    }
}

fn band<C: ColorType, W: Write + Seek, K: TiffKind>(
    tiff: &mut TiffEncoder<W, K>,
    raster: &Raster,
    samples: &[C::Inner],
) -> Result<(), TiffError>
where
    [C::Inner]: TiffValue,
{
    let [rows, cols] = raster.size;
    let mut image = tiff.new_image::<C>(u32::try_from(cols)?, u32::try_from(rows)?)?;
    let encoder = image.encoder();
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
            // The format is ASCII; what others wrote beyond it is carried as far as it can be.
            let ascii: String = tags.ascii.chars().map(|c| if c.is_ascii() && c != '\0' { c } else { '?' }).collect();
            encoder.write_tag(Tag::GeoAsciiParamsTag, ascii.as_str())?;
        }
    }
    if let Some(nodata) = raster.nodata {
        let text = if nodata.is_nan() { "nan".to_string() } else { nodata.to_string() };
        encoder.write_tag(Tag::GdalNodata, text.as_str())?;
    }
    if raster.scale != [1.0, 0.0] || raster.unit.is_some() {
        encoder.write_tag(Tag::Unknown(super::tag::GDAL_METADATA), metadata(raster).as_str())?;
    }
    image.write_data(samples)
}

/// GDAL's metadata for scale, offset and unit.
fn metadata(raster: &Raster) -> String {
    let mut text = "<GDALMetadata>\n".to_string();
    let mut item = |name: &str, value: &str| {
        let role = name.to_ascii_lowercase();
        text += &format!("  <Item name=\"{name}\" sample=\"0\" role=\"{role}\">{value}</Item>\n");
    };
    if raster.scale != [1.0, 0.0] {
        item("SCALE", &raster.scale[0].to_string());
        item("OFFSET", &raster.scale[1].to_string());
    }
    if let Some(unit) = &raster.unit {
        item("UNITTYPE", &unit.chars().filter(|c| c.is_ascii_alphanumeric() || *c == ' ').collect::<String>());
    }
    text + "</GDALMetadata>"
}
