//! Recognises coordinates in degrees in files that have no place for a coordinate system, such as ESRI ASCII grids.

use super::facts::FactSource;
use super::{Raster, geokeys};

/// Cells of this many units or more are not taken for degrees: the coarsest models of the whole Earth have cells of one
/// degree.
const MAX_CELL_DEGREES: f64 = 1.5;

/// The EPSG code of WGS 84 in degrees.
const WGS84: u16 = 4326;

/// Gives a raster without a coordinate system that of WGS 84, with a warning, if its position and its cells fit
/// degrees: its extent is within ±360° and ±90°, and its cells are narrower than 1.5°. A raster with a corner at 0, 0
/// may have coordinates of its own and is left as it is.
pub(super) fn recognise_degrees(raster: &mut Raster) {
    let [rows, cols] = raster.size.map(|n| n as f64);
    let Some(georeference) = &mut raster.georeference else { return };
    let Some([west, width, 0.0, north, 0.0, height]) = georeference.transform else { return };
    if !(georeference.keys.is_empty() && georeference.ascii.is_empty()) || width <= 0.0 || height >= 0.0 {
        return;
    }
    let (east, south) = (west + cols * width, north + rows * height);
    // Maps of points reach half a cell beyond the poles and the date line.
    let is_within =
        west >= -180.0 - width && east <= 360.0 + width && south >= -90.0 + height && north <= 90.0 - height;
    let is_at_origin = [west, east].contains(&0.0) && [north, south].contains(&0.0);
    if !is_within || is_at_origin || width >= MAX_CELL_DEGREES || -height >= MAX_CELL_DEGREES {
        return;
    }
    georeference.keys = geokeys::georeference_from_epsg(WGS84, true).keys;
    let evidence = "its extent and its cells fit degrees".to_string();
    raster.facts.record_source("crs", FactSource::Guess(evidence));
    raster.warnings.push(format!(
        "has no coordinate system, and its extent of {west} to {east} by {south} to {north} and its cells of {width} × \
         {} fit degrees, so it is read as WGS 84 (EPSG:{WGS84}); a .prj file beside it names another system, and \
         `--unit metre` (unit in Python) reads it as metres",
        -height
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Samples;
    use thalweg_core::Georeference;

    fn is_degrees(transform: [f64; 6], size: [usize; 2]) -> bool {
        let mut raster = Raster::new(size, Samples::U8(Vec::new()));
        raster.georeference = Some(Georeference { transform: Some(transform), ..Georeference::default() });
        recognise_degrees(&mut raster);
        let is_geographic = raster.georeference.is_some_and(|place| geokeys::has_crs(&place));
        assert_eq!(is_geographic, !raster.warnings.is_empty());
        is_geographic
    }

    #[test]
    fn extents_and_cells_decide() {
        let five_minutes = [10.0, 0.083_333_3, 0.0, 47.0, 0.0, -0.083_333_3];
        assert!(is_degrees(five_minutes, [24, 24]));
        assert!(is_degrees([-10.0, 0.5, 0.0, 47.0, 0.0, -0.5], [24, 24]));
        assert!(is_degrees([-180.0, 1.0, 0.0, 90.0, 0.0, -1.0], [180, 360]));
        assert!(is_degrees([-0.5, 1.0, 0.0, 90.5, 0.0, -1.0], [181, 360]));
        for (transform, size) in [
            ([500_000.0, 0.5, 0.0, 4_000_000.0, 0.0, -0.5], [24, 24]),
            ([10.0, 2.0, 0.0, 47.0, 0.0, -2.0], [10, 10]),
            ([10.0, 1.0, 0.0, 47.0, 0.0, -1.0], [200, 24]),
            ([10.0, 1.0, 0.0, 47.0, 0.0, -1.0], [24, 500]),
            ([0.0, 0.5, 0.0, 12.0, 0.0, -0.5], [24, 24]),
            ([0.0, 0.5, 0.0, 0.0, 0.0, -0.5], [24, 24]),
        ] {
            assert!(!is_degrees(transform, size), "{transform:?}");
        }
        let mut known = Raster::new([24, 24], Samples::U8(Vec::new()));
        known.georeference = Some(geokeys::projected_crs(32_632, five_minutes));
        recognise_degrees(&mut known);
        assert!(known.warnings.is_empty());
    }
}
