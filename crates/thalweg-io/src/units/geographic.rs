//! Recognises coordinates in degrees, and determines the ellipsoid that they refer to.

use thalweg_core::Georeference;
use thalweg_core::terrain::Ellipsoid;

use super::{TABLE, USER_DEFINED, describe_unit};
use crate::geokeys::{self, key};

/// The EPSG codes of the degree, and of the degree in a representation that the supplier defines.
const DEGREES: [u16; 2] = [9102, 9122];

/// How coordinates are known to be in degrees.
#[derive(Debug, Clone, PartialEq)]
pub enum Degrees {
    /// The keys of the file have a geographic reference system.
    Stated,
    /// The file has no reference system, but its numbers can only be degrees; described in words.
    Guessed(String),
}

impl Degrees {
    /// Returns the start of a message: `is in degrees (a geographic CRS)`.
    pub fn describe(&self) -> String {
        match self {
            Self::Stated => "is in degrees (a geographic CRS)".to_string(),
            Self::Guessed(numbers) => format!("seems to be in degrees ({numbers})"),
        }
    }
}

/// Returns how coordinates are known to be in degrees; `None` if they are not.
pub fn detect_degrees(georeference: &Georeference) -> Option<Degrees> {
    let short = |key| geokeys::find_short(georeference, key);
    let model = short(key::MODEL_TYPE);
    if model == Some(2) || (model.is_none() && short(key::GEOGRAPHIC).is_some() && short(key::PROJECTED).is_none()) {
        return Some(Degrees::Stated);
    }
    let [x, a, _, y, _, _] = georeference.transform?;
    let guessed = georeference.doubles.is_empty()
        && model.is_none()
        // As metres, cells of less than 2 cm are implausible. A corner at 0, 0 is excluded, because files without a
        // position have it.
        && a < 0.02
        && [x, y] != [0.0, 0.0]
        && x.abs() <= 360.0
        && y.abs() <= 90.0;
    guessed.then(|| Degrees::Guessed(format!("cells of {a} at {x}, {y}")))
}

/// Determines the ellipsoid of coordinates in degrees from the keys of the file, or from the code of its system. The
/// text is a warning, which is given if neither is known and WGS 84 is assumed.
///
/// # Errors
/// Returns an error for angles in another unit than degrees, and for an ellipsoid whose numbers are out of range.
pub fn find_ellipsoid(georeference: &Georeference) -> Result<(Ellipsoid, Option<String>), String> {
    let code = |key| geokeys::find_short(georeference, key).filter(|code| *code != USER_DEFINED && *code != 0);
    let system = code(key::GEOGRAPHIC).and_then(find_geographic_system);
    // The keys take precedence over the definition of the system.
    let unit = code(key::ANGULAR_UNITS).or(system.and_then(|(_, unit)| unit));
    if let Some(unit) = unit.filter(|unit| !DEGREES.contains(unit)) {
        let advice = "reproject it to a system in degrees or metres, for example with `gdalwarp -t_srs EPSG:4326`";
        return Err(format!("has angles that are not degrees, in {}; {advice}", describe_unit(unit)));
    }
    let invalid = |error: thalweg_core::Error| format!("has an invalid ellipsoid: {error}");
    let double = |key| geokeys::find_double(georeference, key);
    if let Some(major) = double(key::SEMI_MAJOR_AXIS) {
        let inverse = match (double(key::INVERSE_FLATTENING), double(key::SEMI_MINOR_AXIS)) {
            (Some(inverse), _) => Some(inverse),
            (None, Some(minor)) if minor == major => Some(0.0),
            (None, Some(minor)) => Some(major / (major - minor)),
            (None, None) => None,
        };
        if let Some(inverse) = inverse {
            // GDAL writes an infinite value for some spheres.
            let inverse = if inverse.is_infinite() { 0.0 } else { inverse };
            return Ok((Ellipsoid::new(major, inverse).map_err(invalid)?, None));
        }
    }
    if let Some(ellipsoid) = code(key::ELLIPSOID).or(system.map(|(ellipsoid, _)| ellipsoid)).and_then(find_axes) {
        return Ok((ellipsoid, None));
    }
    let warning = "does not state the ellipsoid of its degrees; that of WGS 84 is used".to_string();
    Ok((Ellipsoid::WGS_84, Some(warning)))
}

/// Returns the codes of a geographic system's ellipsoid, and of its unit if that is not the degree.
fn find_geographic_system(code: u16) -> Option<(u16, Option<u16>)> {
    let prefix = format!("g\t{code}\t");
    let (ellipsoid, unit) = TABLE.lines().find_map(|line| line.strip_prefix(prefix.as_str()))?.split_once('\t')?;
    Some((ellipsoid.parse().ok()?, unit.parse().ok()))
}

/// Returns the ellipsoid with an EPSG code.
fn find_axes(code: u16) -> Option<Ellipsoid> {
    let prefix = format!("e\t{code}\t");
    let (axis, inverse) = TABLE.lines().find_map(|line| line.strip_prefix(prefix.as_str()))?.split_once('\t')?;
    Ellipsoid::new(axis.parse().ok()?, inverse.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOUBLES: u16 = 34736;

    fn keyed(keys: &[[u16; 4]], doubles: &[f64]) -> Georeference {
        let mut all = vec![1, 1, 0, keys.len() as u16];
        keys.iter().for_each(|key| all.extend(key));
        Georeference { keys: all, doubles: doubles.to_vec(), ..Georeference::default() }
    }

    #[test]
    fn codes_and_keys_give_the_ellipsoid() {
        for (code, expected) in [
            (4326, Ellipsoid::WGS_84),
            (4979, Ellipsoid::WGS_84),
            (4269, Ellipsoid::GRS_80),
            (4258, Ellipsoid::GRS_80),
            (4314, Ellipsoid { semi_major_m: 6_377_397.155, inverse_flattening: 299.152_812_8 }),
            (4052, Ellipsoid { semi_major_m: 6_370_997.0, inverse_flattening: 0.0 }),
        ] {
            assert_eq!(
                find_ellipsoid(&keyed(&[[1024, 0, 1, 2], [2048, 0, 1, code]], &[])),
                Ok((expected, None)),
                "{code}"
            );
        }
        // The Moon, and an ellipsoid by its axes.
        let moon = [[1024, 0, 1, 2], [2048, 0, 1, 32_767], [2057, DOUBLES, 1, 0], [2059, DOUBLES, 1, 1]];
        let (ellipsoid, warning) = find_ellipsoid(&keyed(&moon, &[1_737_400.0, 0.0])).unwrap();
        assert_eq!((ellipsoid.semi_major_m, ellipsoid.eccentricity_squared(), warning), (1_737_400.0, 0.0, None));
        let axes = [[1024, 0, 1, 2], [2057, DOUBLES, 1, 0], [2058, DOUBLES, 1, 1]];
        let (ellipsoid, _) = find_ellipsoid(&keyed(&axes, &[1000.0, 900.0])).unwrap();
        assert_eq!(ellipsoid.inverse_flattening, 10.0);
        // A code of the ellipsoid alone, and nothing at all.
        let airy = find_ellipsoid(&keyed(&[[1024, 0, 1, 2], [2056, 0, 1, 7001]], &[])).unwrap();
        assert_eq!((airy.0.semi_major_m, airy.1), (6_377_563.396, None));
        let (ellipsoid, warning) = find_ellipsoid(&keyed(&[[1024, 0, 1, 2]], &[])).unwrap();
        assert!(ellipsoid == Ellipsoid::WGS_84 && warning.unwrap().contains("WGS 84"));
    }

    #[test]
    fn angles_in_other_units_and_impossible_ellipsoids_are_refused() {
        for keys in [&[[1024, 0, 1, 2], [2048, 0, 1, 4807]][..], &[[1024, 0, 1, 2], [2054, 0, 1, 9101]]] {
            assert!(find_ellipsoid(&keyed(keys, &[])).unwrap_err().contains("not degrees"));
        }
        let wrong = [[1024, 0, 1, 2], [2057, DOUBLES, 1, 0], [2059, DOUBLES, 1, 1]];
        for numbers in [[-1.0, 298.0], [6e6, 0.5], [f64::NAN, 298.0]] {
            assert!(find_ellipsoid(&keyed(&wrong, &numbers)).unwrap_err().contains("ellipsoid"));
        }
    }
}
