//! [`MapPlace`]: where on Earth the metres of a land lie.

use super::transverse::{RADIUS, Transverse, conformal};
use thalweg_core::{MapPoint, Point, Size};

/// A position on Earth by longitude, east positive, and latitude, north positive; in degrees or radians, as its user
/// says.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LonLat {
    /// The longitude.
    pub longitude: f64,
    /// The latitude.
    pub latitude: f64,
}

impl LonLat {
    /// The position with this longitude and this latitude.
    pub const fn new(longitude: f64, latitude: f64) -> Self {
        Self { longitude, latitude }
    }
}

impl From<[f64; 2]> for LonLat {
    /// From longitude and latitude, in this order.
    fn from([longitude, latitude]: [f64; 2]) -> Self {
        Self { longitude, latitude }
    }
}

/// Where land lies. Its own metres run eastward and southward.
#[derive(Debug, Clone, PartialEq)]
pub struct MapPlace(Laid);

#[derive(Debug, Clone, PartialEq)]
enum Laid {
    /// Its metres are those of Web Mercator's plane about 0° N 0° E: nowhere.
    Plane,
    /// In a transverse Mercator projection, with the metres east and north of its own origin.
    Earth(Transverse, [f64; 2]),
}

/// Codes of UTM's zones: the first, the last, the zone of the first, and whether they are southern. Systems of one plate lie within two
/// metres of WGS 84, as which they are taken.
const ZONES: [(u16, u16, u16, bool); 4] =
    [(32_601, 32_660, 1, false), (32_701, 32_760, 1, true), (25_828, 25_838, 28, false), (26_901, 26_923, 1, false)];

/// Codes that [`MapPlace::of_code`] knows, in words.
pub const KNOWN_CODES: &str =
    "UTM zones of WGS 84 (EPSG:32601 to 32660, 32701 to 32760), ETRS89 (25828 to 25838) and NAD83 (26901 to 26923)";

impl MapPlace {
    /// Land whose metres are those of Web Mercator's plane, its origin at 0° N 0° E.
    pub fn plane() -> Self {
        Self(Laid::Plane)
    }

    /// Land in the system of that EPSG code, with its origin at this point of the system; `None` if the code is not one
    /// of the [`KNOWN_CODES`].
    pub fn of_code(code: u16, origin: MapPoint) -> Option<Self> {
        let (first, _, zone, south) = ZONES.into_iter().find(|(first, last, ..)| (*first..=*last).contains(&code))?;
        Some(Self(Laid::Earth(Transverse::utm(code - first + zone, south), origin.into())))
    }

    /// Land at true scale about a point of it, which lies at this longitude and latitude in degrees.
    pub fn at(degrees: LonLat, point: Point) -> Self {
        let (longitude, latitude) = (degrees.longitude.to_radians(), degrees.latitude.to_radians());
        let origin = MapPoint::new(point.x, -point.y);
        Self(Laid::Earth(Transverse::new(longitude, latitude, 1.0, origin), [0.0; 2]))
    }

    /// Longitude and latitude of a point of the land, in radians.
    pub fn lon_lat(&self, point: Point) -> LonLat {
        match &self.0 {
            Laid::Plane => LonLat::new(point.x / RADIUS, libm::atan(libm::sinh(-point.y / RADIUS))),
            Laid::Earth(projection, [x, y]) => projection.inverse(MapPoint::new(x + point.x, y - point.y)),
        }
    }

    /// Metres of ground to a metre of Web Mercator's plane at a latitude, given by its tangent.
    pub fn ground(&self, tangent: f64) -> f64 {
        match &self.0 {
            Laid::Plane => 1.0,
            Laid::Earth(..) => 1.0 / (1.0 + tangent * tangent).sqrt(),
        }
    }

    /// The crossings of meridians (longitudes in radians) and parallels (tangents of latitudes).
    pub(super) fn net(&self, tangents: &[f64], longitudes: &[f64]) -> Net<'_> {
        let (down, right) = match &self.0 {
            Laid::Plane => (
                tangents.iter().map(|tangent| -RADIUS * libm::asinh(*tangent)).collect(),
                longitudes.iter().map(|longitude| Some([RADIUS * longitude, 0.0])).collect(),
            ),
            Laid::Earth(projection, _) => (
                tangents.iter().map(|tangent| conformal(*tangent)).collect(),
                longitudes.iter().map(|longitude| projection.aside(*longitude)).collect(),
            ),
        };
        Net { place: self, down, right }
    }
}

/// Crossings of meridians and parallels.
pub(super) struct Net<'a> {
    place: &'a MapPlace,
    down: Vec<f64>,
    right: Vec<Option<[f64; 2]>>,
}

impl Net<'_> {
    /// Parallels and meridians.
    pub fn size(&self) -> Size {
        [self.down.len(), self.right.len()]
    }

    /// The point of the land at a crossing; `None` where the land cannot be.
    pub fn at(&self, i: usize, j: usize) -> Option<Point> {
        let (down, right) = (self.down[i], self.right[j]?);
        Some(match &self.place.0 {
            Laid::Plane => Point::new(right[0], down),
            Laid::Earth(projection, [x, y]) => {
                let MapPoint { x: east, y: north } = projection.forward(down, right);
                Point::new(east - x, y - north)
            }
        })
    }
}
