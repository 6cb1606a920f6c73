//! [`MapPlace`]: the position of a terrain's metres on Earth.

use std::ops::RangeFull;

use super::transverse::{RADIUS, Transverse, to_conformal};
use thalweg_core::declare::operation::{Json, OptionKind, OptionType};
use thalweg_core::{MapPoint, Point, Size};

/// A position on Earth by longitude, east positive, and latitude, north positive.
///
/// [`MapPlace::from_lon_lat`] and options of users take degrees; [`MapPlace::lon_lat`] returns radians.
///
/// # Examples
/// A terrain whose north-western corner is at 46° N, and a point 1000 m south of it.
///
/// ```
/// use thalweg_core::Point;
/// use thalweg_render::web::{LonLat, MapPlace};
///
/// let place = MapPlace::from_lon_lat(LonLat::new(7.66, 46.0), Point::new(0.0, 0.0));
/// let [corner, south] = [0.0, 1000.0].map(|y| place.lon_lat(Point::new(0.0, y)).latitude.to_degrees());
/// assert!((corner - 46.0).abs() < 1e-6 && (corner - south - 0.009).abs() < 1e-4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LonLat {
    /// The longitude.
    pub longitude: f64,
    /// The latitude.
    pub latitude: f64,
}

impl LonLat {
    /// Creates a position from longitude and latitude.
    pub const fn new(longitude: f64, latitude: f64) -> Self {
        Self { longitude, latitude }
    }
}

impl From<[f64; 2]> for LonLat {
    /// Creates a position from longitude and latitude, in this order.
    fn from([longitude, latitude]: [f64; 2]) -> Self {
        Self { longitude, latitude }
    }
}

/// As an option of operations, it consists of the longitude and the latitude in degrees.
impl OptionType for LonLat {
    type Within = RangeFull;
    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Numbers(&["lon", "lat"])
    }
    fn from_json(value: &Json) -> Option<Self> {
        let [longitude, latitude] = <[f64; 2]>::from_json(value)?;
        Some(Self { longitude, latitude })
    }
    fn to_json(&self) -> Json {
        [self.longitude, self.latitude].to_json()
    }
}

/// The position of a terrain on Earth. The terrain's own metres run eastward and southward.
///
/// # Examples
/// The central meridian of UTM zone 32 is 9° E; its easting is 500 000 m.
///
/// ```
/// use thalweg_core::{MapPoint, Point};
/// use thalweg_render::web::MapPlace;
///
/// let place = MapPlace::from_epsg(32_632, MapPoint::new(500_000.0, 0.0)).unwrap();
/// let corner = place.lon_lat(Point::new(0.0, 0.0));
/// assert!((corner.longitude.to_degrees() - 9.0).abs() < 1e-9 && corner.latitude.abs() < 1e-9);
/// assert!(MapPlace::from_epsg(4326, MapPoint::new(0.0, 0.0)).is_none());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MapPlace(MapProjection);

#[derive(Debug, Clone, PartialEq)]
enum MapProjection {
    /// The terrain's metres are those of Web Mercator's plane, with the origin at 0° N 0° E; it has no real position.
    Plane,
    /// A transverse Mercator projection, with the easting and northing of the terrain's origin in metres. They are an
    /// array because the `Debug` text of a place is part of the hash by which an export of a web map resumes.
    Earth(Transverse, [f64; 2]),
}

/// The EPSG codes of UTM zones: the first code, the last code, the zone of the first, and true if they are southern.
/// Plate-fixed systems (ETRS89, NAD83) differ from WGS 84 by less than two metres and are treated as WGS 84.
const ZONES: [(u16, u16, u16, bool); 4] =
    [(32_601, 32_660, 1, false), (32_701, 32_760, 1, true), (25_828, 25_838, 28, false), (26_901, 26_923, 1, false)];

/// The codes that [`MapPlace::from_epsg`] supports, in words.
pub const KNOWN_CODES: &str =
    "UTM zones of WGS 84 (EPSG:32601 to 32660, 32701 to 32760), ETRS89 (25828 to 25838) and NAD83 (26901 to 26923)";

impl MapPlace {
    /// Creates the place of a terrain whose metres are those of Web Mercator's plane, with its origin at 0° N 0° E.
    pub fn web_mercator_plane() -> Self {
        Self(MapProjection::Plane)
    }

    /// Creates the place of a terrain in the coordinate system of an EPSG code, with its origin at this point of the
    /// system; `None` if the code is not one of the [`KNOWN_CODES`].
    pub fn from_epsg(code: u16, origin: MapPoint) -> Option<Self> {
        let (first, _, zone, south) = ZONES.into_iter().find(|(first, last, ..)| (*first..=*last).contains(&code))?;
        Some(Self(MapProjection::Earth(Transverse::from_utm_zone(code - first + zone, south), origin.into())))
    }

    /// Creates the place of a terrain at true scale around one of its points, which is at this longitude and latitude
    /// in degrees.
    pub fn from_lon_lat(degrees: LonLat, point: Point) -> Self {
        let (longitude, latitude) = (degrees.longitude.to_radians(), degrees.latitude.to_radians());
        // The terrain's y runs southward and the map's northing runs northward, hence the sign.
        let origin = MapPoint::new(point.x, -point.y);
        Self(MapProjection::Earth(Transverse::new(longitude, latitude, 1.0, origin), [0.0; 2]))
    }

    /// Returns longitude and latitude of a point of the terrain, in radians.
    pub fn lon_lat(&self, point: Point) -> LonLat {
        match &self.0 {
            // The inverse of Web Mercator on the sphere gives longitude and latitude without a further projection.
            MapProjection::Plane => LonLat::new(point.x / RADIUS, libm::atan(libm::sinh(-point.y / RADIUS))),
            MapProjection::Earth(projection, [x, y]) => projection.inverse(MapPoint::new(x + point.x, y - point.y)),
        }
    }

    /// Returns the ground distance per metre of Web Mercator's plane at a latitude, given by its tangent.
    pub fn ground_scale(&self, tangent: f64) -> f64 {
        match &self.0 {
            MapProjection::Plane => 1.0,
            // This is the cosine of the latitude.
            MapProjection::Earth(..) => 1.0 / (1.0 + tangent * tangent).sqrt(),
        }
    }

    /// Returns the grid of crossings of meridians (longitudes in radians) and parallels (tangents of latitudes).
    pub(super) fn project_crossings(&self, tangents: &[f64], longitudes: &[f64]) -> Net<'_> {
        // Each parallel and meridian is projected once, because a tile has many crossings of few lines.
        let (down, right) = match &self.0 {
            MapProjection::Plane => (
                tangents.iter().map(|tangent| -RADIUS * libm::asinh(*tangent)).collect(),
                longitudes.iter().map(|longitude| Some([RADIUS * longitude, 0.0])).collect(),
            ),
            MapProjection::Earth(projection, _) => (
                tangents.iter().map(|tangent| to_conformal(*tangent)).collect(),
                longitudes.iter().map(|longitude| projection.meridian_offset(*longitude)).collect(),
            ),
        };
        Net { place: self, down, right }
    }
}

/// A grid of crossings of meridians and parallels.
pub(super) struct Net<'a> {
    place: &'a MapPlace,
    down: Vec<f64>,
    right: Vec<Option<[f64; 2]>>,
}

impl Net<'_> {
    /// Returns the numbers of parallels and meridians.
    pub fn size(&self) -> Size {
        [self.down.len(), self.right.len()]
    }

    /// Returns the point of the terrain at a crossing; `None` if it is outside the projection's range.
    pub fn point_at(&self, i: usize, j: usize) -> Option<Point> {
        let (down, right) = (self.down[i], self.right[j]?);
        Some(match &self.place.0 {
            MapProjection::Plane => Point::new(right[0], down),
            MapProjection::Earth(projection, [x, y]) => {
                let MapPoint { x: east, y: north } = projection.forward(down, right);
                Point::new(east - x, y - north)
            }
        })
    }
}
