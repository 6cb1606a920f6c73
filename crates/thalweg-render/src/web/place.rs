//! [`MapPlace`]: where on Earth the metres of a land lie.

use super::transverse::{RADIUS, Transverse, conformal};

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

    /// Land in the system of that EPSG code, with its origin at these metres east and north; `None` of a code that is not known
    /// ([`KNOWN_CODES`]).
    pub fn of_code(code: u16, origin: [f64; 2]) -> Option<Self> {
        let (first, _, zone, south) = ZONES.into_iter().find(|(first, last, ..)| (*first..=*last).contains(&code))?;
        Some(Self(Laid::Earth(Transverse::utm(code - first + zone, south), origin)))
    }

    /// Land at true scale about a point of it, in metres eastward and southward, that lies at this longitude and latitude in degrees.
    pub fn at([longitude, latitude]: [f64; 2], [east, south]: [f64; 2]) -> Self {
        let (longitude, latitude) = (longitude.to_radians(), latitude.to_radians());
        Self(Laid::Earth(Transverse::new(longitude, latitude, 1.0, [east, -south]), [0.0; 2]))
    }

    /// Longitude and latitude of a place in metres eastward and southward: in radians, whatever the name says.
    pub fn degrees(&self, [east, south]: [f64; 2]) -> [f64; 2] {
        match &self.0 {
            Laid::Plane => [east / RADIUS, libm::atan(libm::sinh(-south / RADIUS))],
            Laid::Earth(projection, [x, y]) => projection.inverse([x + east, y - south]),
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
    pub fn size(&self) -> [usize; 2] {
        [self.down.len(), self.right.len()]
    }

    /// Metres southward and eastward; `None` where the land cannot be.
    pub fn at(&self, i: usize, j: usize) -> Option<[f64; 2]> {
        let (down, right) = (self.down[i], self.right[j]?);
        Some(match &self.place.0 {
            Laid::Plane => [down, right[0]],
            Laid::Earth(projection, [x, y]) => {
                let [east, north] = projection.forward(down, right);
                [y - north, east - x]
            }
        })
    }
}
