//! Winds and rain by latitude.

/// Metres per degree of latitude.
const DEGREE: f64 = 111_200.0;

/// Normalizes a latitude in degrees: beyond a pole it continues on the other side.
pub fn normalize_latitude(latitude: f64) -> f64 {
    // `turned` is the angle from the south pole around the whole meridian; its second half is the other side of the
    // globe.
    let turned = (latitude + 90.0).rem_euclid(360.0);
    if turned <= 180.0 { turned - 90.0 } else { 270.0 - turned }
}

/// Converts a distance southward in metres to degrees of latitude (northward positive).
pub fn southing_to_degrees(south: f64) -> f64 {
    -south / DEGREE
}

/// Returns the mean rain over open sea at a latitude, in m/a: greatest at the equator, least at 25 to 30° and at the
/// poles, with another maximum at 45° (after the zonal means of Adler et al. 2003).
pub fn zonal_mean_rain(latitude: f64) -> f64 {
    let away = latitude.abs();
    let bell = |middle: f64, width: f64| libm::exp(-((away - middle) / width) * ((away - middle) / width));
    0.35 + 1.5 * bell(0.0, 10.0) + 0.75 * bell(45.0, 16.0)
}

/// Returns the mean wind at a latitude, eastward and southward, with a length of up to 1.08: trades to 30°, westerlies
/// to 60°, polar easterlies beyond.
pub fn zonal_mean_wind(latitude: f64) -> [f64; 2] {
    // The wave has a period of 60°: its sign changes at 30° and 60°, the borders of the three belts.
    let strength = libm::sin(latitude.abs() * std::f64::consts::PI / 30.0);
    // Trades and polar easterlies blow towards the equator, westerlies away from it.
    let to_equator = if latitude > 0.0 { 1.0 } else { -1.0 };
    [-strength, 0.4 * strength * to_equator]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_the_pole_and_down() {
        let pairs =
            [(0.0, 0.0), (90.0, 90.0), (100.0, 80.0), (180.0, 0.0), (-100.0, -80.0), (360.0, 0.0), (-270.0, 90.0)];
        for (latitude, expected) in pairs {
            assert_eq!(normalize_latitude(latitude), expected, "{latitude}");
        }
        assert!((southing_to_degrees(10_007_543.0) + 90.0).abs() < 0.1);
    }

    #[test]
    fn belts_are_those_of_the_earth() {
        // In m/a over the sea: about 1.8, 0.5, 1.1 and 0.35.
        let wet = [0.0, 27.0, 45.0, 85.0].map(zonal_mean_rain);
        assert!(wet[0] > 1.7 && wet[1] < 0.7 && wet[2] > 1.0 && wet[3] < 0.45, "{wet:?}");
        for (latitude, [east, south]) in
            [(15.0, [-1.0, 1.0]), (-15.0, [-1.0, -1.0]), (45.0, [1.0, -1.0]), (-45.0, [1.0, 1.0])]
        {
            let [u, v] = zonal_mean_wind(latitude);
            assert!(u * east > 0.9 && v * south > 0.3, "{latitude}: {u}, {v}");
        }
    }
}
