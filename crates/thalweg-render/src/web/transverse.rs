//! Transverse Mercator projection on the WGS 84 ellipsoid, by Krüger's series to the fourth power of the third
//! flattening (Karney, Transverse Mercator with an accuracy of a few nanometers, 2011). The error is less than a
//! micrometre within 3 000 km of the central meridian.

use std::f64::consts::PI;

use super::place::LonLat;
use thalweg_core::MapPoint;

/// The equatorial radius in metres, and the flattening, of WGS 84.
pub const RADIUS: f64 = 6_378_137.0;
pub const FLATTENING: f64 = 1.0 / 298.257_223_563;

/// The greatest longitude difference from the central meridian at which anything is projected, in radians: 40°.
const MAX_MERIDIAN_OFFSET_RAD: f64 = 40.0 * PI / 180.0;

/// A transverse Mercator projection.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Transverse {
    /// The longitude of the central meridian in radians.
    meridian: f64,
    /// The easting and northing of the point of origin in metres.
    shift: [f64; 2],
    /// The number of metres per radian along the meridian.
    scale: f64,
    alpha: [f64; 4],
    beta: [f64; 4],
}

fn eccentricity() -> f64 {
    (FLATTENING * (2.0 - FLATTENING)).sqrt()
}

/// Returns the tangent of the conformal latitude from the tangent of a geographic latitude.
pub(super) fn to_conformal(tau: f64) -> f64 {
    let e = eccentricity();
    let root = (1.0 + tau * tau).sqrt();
    // This is Karney's form, which needs no trigonometric functions of the latitude itself.
    let sigma = libm::sinh(e * libm::atanh(e * tau / root));
    tau * (1.0 + sigma * sigma).sqrt() - sigma * root
}

/// Returns the inverse of [`to_conformal`], by Newton's method.
fn to_geographic(conformed: f64) -> f64 {
    let e2 = eccentricity() * eccentricity();
    let mut tau = conformed / (1.0 - e2);
    // Newton's method usually ends after a few steps; eight are a limit for any input.
    for _ in 0..8 {
        let found = to_conformal(tau);
        let (root, found_root) = ((1.0 + tau * tau).sqrt(), (1.0 + found * found).sqrt());
        let step = (conformed - found) / found_root * (1.0 + (1.0 - e2) * tau * tau) / ((1.0 - e2) * root);
        tau += step;
        if step.abs() < 1e-14 * tau.abs().max(1.0) {
            break;
        }
    }
    tau
}

impl Transverse {
    /// Creates a projection about a meridian with the given scale on it; the point of the meridian at `latitude`
    /// (radians) has the coordinates `origin`.
    pub fn new(meridian: f64, latitude: f64, scale: f64, origin: MapPoint) -> Self {
        let n = FLATTENING / (2.0 - FLATTENING);
        let [n2, n3, n4] = [n * n, n * n * n, n * n * n * n];
        let alpha = [
            n / 2.0 - 2.0 / 3.0 * n2 + 5.0 / 16.0 * n3 + 41.0 / 180.0 * n4,
            13.0 / 48.0 * n2 - 3.0 / 5.0 * n3 + 557.0 / 1440.0 * n4,
            61.0 / 240.0 * n3 - 103.0 / 140.0 * n4,
            49_561.0 / 161_280.0 * n4,
        ];
        let beta = [
            n / 2.0 - 2.0 / 3.0 * n2 + 37.0 / 96.0 * n3 - n4 / 360.0,
            n2 / 48.0 + n3 / 15.0 - 437.0 / 1440.0 * n4,
            17.0 / 480.0 * n3 - 37.0 / 840.0 * n4,
            4397.0 / 161_280.0 * n4,
        ];
        // The scale is the rectifying radius, to the fourth power of the third flattening.
        let scale = scale * RADIUS / (1.0 + n) * (1.0 + n2 / 4.0 + n4 / 64.0);
        let mut made = Self { meridian, shift: origin.into(), scale, alpha, beta };
        // The projection is first computed without an origin, and then shifted so that the point at `latitude` has it.
        made.shift[1] += origin.y - made.forward(to_conformal(libm::tan(latitude)), [0.0, 1.0]).y;
        made
    }

    /// Creates zone 1 to 60 of the Universal Transverse Mercator system, northern or southern.
    pub fn from_utm_zone(zone: u16, south: bool) -> Self {
        // Zone 1 has its central meridian at 177° W, and each zone is 6° wide.
        let meridian = f64::from(zone) * 6.0 - 183.0;
        Self::new(meridian.to_radians(), 0.0, 0.9996, MapPoint::new(500_000.0, if south { 1e7 } else { 0.0 }))
    }

    /// Returns sine and cosine of the longitude difference from the central meridian; `None` if it exceeds 40°.
    pub fn meridian_offset(&self, longitude: f64) -> Option<[f64; 2]> {
        // The difference is reduced to −180° to 180°, so that zones across the 180th meridian work.
        let offset = (longitude - self.meridian + PI).rem_euclid(2.0 * PI) - PI;
        (offset.abs() <= MAX_MERIDIAN_OFFSET_RAD).then(|| [libm::sin(offset), libm::cos(offset)])
    }

    /// Returns the point at a conformal latitude, given by its tangent, and at a longitude, given by
    /// [`Transverse::meridian_offset`].
    pub fn forward(&self, conformed: f64, [sine, cosine]: [f64; 2]) -> MapPoint {
        let length = vector_length(conformed, cosine);
        let (up, out) = (libm::atan2(conformed, cosine), libm::asinh(sine / length));
        // Sines and cosines of the double angles follow from those of the single ones without further calls.
        let (s, c) = (conformed / length, cosine / length);
        let (sh, ch) = (sine / length, (1.0 + sine / length * (sine / length)).sqrt());
        let [up, out] =
            add_series([up, out], [2.0 * s * c, c * c - s * s], [2.0 * sh * ch, ch * ch + sh * sh], &self.alpha, 1.0);
        MapPoint::new(self.shift[0] + self.scale * out, self.shift[1] + self.scale * up)
    }

    /// Returns longitude and latitude of a point, in radians.
    pub fn inverse(&self, point: MapPoint) -> LonLat {
        let (up, out) = ((point.y - self.shift[1]) / self.scale, (point.x - self.shift[0]) / self.scale);
        let [up, out] = add_series(
            [up, out],
            [libm::sin(2.0 * up), libm::cos(2.0 * up)],
            [libm::sinh(2.0 * out), libm::cosh(2.0 * out)],
            &self.beta,
            -1.0,
        );
        let (sh, c) = (libm::sinh(out), libm::cos(up));
        let conformed = libm::sin(up) / vector_length(sh, c);
        LonLat::new(self.meridian + libm::atan2(sh, c), libm::atan(to_geographic(conformed)))
    }
}

/// Returns the square root of the sum of squares; `libm::hypot` also guards against overflow, which cannot occur
/// here.
fn vector_length(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

/// Adds the series over multiples of the double angle, whose sines and cosines are derived from those of the first.
fn add_series(
    [mut up, mut out]: [f64; 2],
    [s, c]: [f64; 2],
    [sh, ch]: [f64; 2],
    factors: &[f64; 4],
    sign: f64,
) -> [f64; 2] {
    let ([mut sk, mut ck], [mut shk, mut chk]) = ([s, c], [sh, ch]);
    for factor in factors {
        up += sign * factor * sk * chk;
        out += sign * factor * ck * shk;
        // The next multiple follows from the addition theorems, so that no further sines are computed.
        ([sk, ck], [shk, chk]) = ([sk * c + ck * s, ck * c - sk * s], [shk * ch + chk * sh, chk * ch + shk * sh]);
    }
    [up, out]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROJ: [(u16, bool, [f64; 2], [f64; 2]); 5] = [
        (16, false, [-84.2, 36.4], [751106.6077, 4031958.4991]),
        (11, false, [-118.2, 34.3], [389570.7218, 3796071.9219]),
        (60, true, [179.5, -43.25], [702946.8277, 5208387.7966]),
        (1, false, [-174.0, 71.0], [608970.1908, 7880094.9206]),
        (33, false, [21.0, 0.5], [1168856.2015, 55571.5055]),
    ];

    /// Coordinates computed by PROJ 9.5.1 (`cs2cs EPSG:4326 EPSG:326xx`), to a tenth of a millimetre.
    #[test]
    fn zones_are_projs() {
        for (zone, south, degrees, metres) in PROJ {
            let utm = Transverse::from_utm_zone(zone, south);
            let [longitude, latitude] = degrees.map(f64::to_radians);
            let found = utm.forward(to_conformal(libm::tan(latitude)), utm.meridian_offset(longitude).unwrap());
            let off = [found.x - metres[0], found.y - metres[1]];
            assert!(off.iter().all(|off| off.abs() < 2e-4), "{degrees:?}: {found:?} {metres:?}");
            let back = utm.inverse(found);
            let off = [back.longitude - longitude, back.latitude - latitude];
            assert!(off.iter().all(|off| off.abs() < 1e-13), "{back:?}");
        }
    }

    #[test]
    fn the_middle_is_where_it_was_put_and_to_scale() {
        let [longitude, latitude] = [11.5f64, 47.25].map(f64::to_radians);
        let here = Transverse::new(longitude, latitude, 1.0, MapPoint::new(100.0, -50.0));
        let at = |longitude: f64, latitude: f64| {
            here.forward(to_conformal(libm::tan(latitude)), here.meridian_offset(longitude).unwrap())
        };
        let MapPoint { x: east, y: north } = at(longitude, latitude);
        assert!((east - 100.0).abs() < 1e-8 && (north + 50.0).abs() < 1e-8);
        // A second of latitude at that position is 30.8821 m long (PROJ).
        let second = (1.0f64 / 3600.0).to_radians();
        assert!((at(longitude, latitude + second).y - north - 30.8821).abs() < 1e-3);
        assert!(here.meridian_offset(longitude + 1.0).is_none());
    }
}
