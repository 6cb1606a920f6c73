//! SRTM tiles (`N34W118.hgt`): big-endian i16 metres, 1201² or 3601² samples over one degree; −32768 is no data.

use std::path::Path;

use super::{Raster, SampleType, Samples, geokeys};
use thalweg_core::MapPoint;

/// Reads a tile; [`set_transform_from_name`] then sets its position.
pub(super) fn read_tile(bytes: &[u8]) -> Result<Raster, String> {
    let count = bytes.len() / 2;
    let side = count.isqrt();
    if !bytes.len().is_multiple_of(2) || side * side != count || side < 2 {
        return Err(format!("has {} bytes; an SRTM tile is a square of 16-bit samples (1201² or 3601²)", bytes.len()));
    }
    let mut raster = Raster::new([side, side], Samples::from_bytes(SampleType::I16, bytes, true));
    raster.nodata = Some(-32768.0);
    raster.georeference = Some(geokeys::wgs84_points(None));
    Ok(raster)
}

/// Sets the tile's transform from its name, which gives the latitude and longitude of its south-western sample.
pub(super) fn set_transform_from_name(raster: &mut Raster, path: &Path) {
    let name = path.file_stem().map(|name| name.to_string_lossy().to_ascii_uppercase()).unwrap_or_default();
    // The first and the last sample are on the borders of the degree, which adjacent tiles share.
    let step = 1.0 / (raster.size[0] as f64 - 1.0);
    // Samples are points: the corner of the first pixel is half a step outside.
    let transform =
        parse_tile_name(&name).map(|MapPoint { x, y }| [x - 0.5 * step, step, 0.0, y + 1.0 + 0.5 * step, 0.0, -step]);
    raster.georeference = Some(geokeys::wgs84_points(transform));
    if transform.is_none() {
        raster.warnings.push(format!(
            "has the name `{name}`, which does not contain a latitude and longitude, such as `N34W118`; it is read \
                 without a position"
        ));
    }
}

/// Parses the longitude and latitude of the south-western sample from the name.
fn parse_tile_name(name: &str) -> Option<MapPoint> {
    let number = |range, positive, negative: char| -> Option<f64> {
        let part: &str = name.get(range)?;
        let degrees = part.get(1..)?.parse::<u16>().ok()?;
        match part.chars().next()? {
            c if c == positive => Some(f64::from(degrees)),
            c if c == negative => Some(-f64::from(degrees)),
            _ => None,
        }
    };
    let (latitude, longitude) = (number(0..3, 'N', 'S')?, number(3..7, 'E', 'W')?);
    Some(MapPoint::new(longitude, latitude))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_by_hand() {
        let mut raster = read_tile(&[0, 1, 0x80, 0, 1, 0, 0xff, 0xff]).unwrap();
        assert_eq!(raster.samples, Samples::I16(vec![1, -32768, 256, -1]));
        set_transform_from_name(&mut raster, Path::new("x/s05w118.hgt"));
        let transform = raster.georeference.unwrap().transform.unwrap();
        assert_eq!(transform, [-118.5, 1.0, 0.0, -3.5, 0.0, -1.0]);
        assert!(read_tile(&[0; 7]).is_err() && read_tile(&[0; 2]).is_err() && read_tile(&[0; 10]).is_err());
    }
}
