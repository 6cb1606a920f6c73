//! Colour ramps, which map a number in 0..1 to a colour.

use crate::pictures::colour::{Linear, Rgb, from_oklab, to_linear, to_oklab, to_srgb};
use thalweg_core::{Error, Result};

/// The points of one channel: position in 0..1 and value in 0..1 (sRGB).
type Points = &'static [(f32, f32)];

/// The definition of a ramp.
#[derive(Debug, PartialEq)]
enum Course {
    /// Colours at ascending positions from 0 to 1, interpolated in OKLab.
    Stops(&'static [(f32, Rgb)]),
    /// Each channel piecewise linear in sRGB, as in Matplotlib's segmented colormaps.
    Channels([Points; 3]),
}

/// Colours at ascending positions: `0.5 212 194 142` is position, red, green, blue.
macro_rules! stops {
    ($($at:literal $red:literal $green:literal $blue:literal),+) => {
        Course::Stops(&[$(($at, [$red, $green, $blue])),+])
    };
}

/// The points of a channel: `0.5 0.25` is position, value.
macro_rules! points {
    ($($at:literal $value:literal),+) => { &[$(($at, $value)),+] };
}

/// A named colour ramp.
///
/// # Examples
/// ```
/// use thalweg_render::pictures::ramps::Ramp;
///
/// let ramp = Ramp::find("grey")?;
/// assert_eq!([0.0, 0.5, 1.0].map(|t| ramp.rgb_at(t)), [[0; 3], [128; 3], [255; 3]]);
/// // The message names the closest ramp.
/// assert!(Ramp::find("gray").unwrap_err().to_string().contains("grey"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, PartialEq)]
pub struct Ramp {
    /// The name.
    pub name: &'static str,
    /// The purpose.
    pub about: &'static str,
    course: Course,
}

/// All ramps; the first is the default for land.
pub static RAMPS: [&Ramp; 14] = [
    &LAND,
    &LOWLAND,
    &TROPICAL,
    &REDROCK,
    &SAND,
    &GIST_EARTH,
    &GREY,
    &PLAIN,
    &VIRIDIS,
    &SEA,
    &ICE,
    &SOIL,
    &WATER,
    &SEDIMENT,
];

static LAND: Ramp = Ramp {
    name: "land",
    about: "hypsometric tint: deep green valleys, meadow, tan, brown rock, grey scree, snow",
    course: stops![
        0.00 46 92 78, 0.10 69 116 82, 0.24 120 150 92, 0.38 176 179 115, 0.50 212 194 142, 0.62 197 166 122,
        0.74 170 138 107, 0.83 176 159 142, 0.91 219 214 208, 1.00 250 250 252
    ],
};

static LOWLAND: Ramp = Ramp {
    name: "lowland",
    about: "hills and plains below the tree line: dark green meadows, pasture, straw, heath",
    course: stops![
        0.00 58 104 78, 0.15 84 128 82, 0.35 124 152 92, 0.58 166 174 110, 0.80 194 186 134, 1.00 206 192 156
    ],
};

static TROPICAL: Ramp = Ramp {
    name: "tropical",
    about: "an island in a warm sea: pale beach, palms, rain forest, grass, brown lava, grey ash",
    course: stops![
        0.000 214 200 150, 0.006 150 162 98, 0.025 86 128 74, 0.250 58 106 68, 0.500 88 120 76, 0.700 134 128 88,
        0.850 124 106 90, 1.000 146 138 134
    ],
};

static REDROCK: Ramp = Ramp {
    name: "redrock",
    about: "bedded dry plateaus: olive floors, alternating red and buff beds, pale rims",
    course: stops![
        0.00 112 112 84, 0.10 150 124 90, 0.22 176 112 78, 0.34 202 146 104, 0.44 170 96 68, 0.56 208 150 106,
        0.66 184 112 80, 0.78 214 176 134, 0.88 190 150 112, 1.00 216 200 166
    ],
};

static SAND: Ramp = Ramp {
    name: "sand",
    about: "a sand sea with rocks: grey-brown flats, apricot dunes, pale crests, dark varnished rock",
    course: stops![
        0.00 176 146 108, 0.12 206 168 118, 0.30 230 194 142, 0.45 234 202 154, 0.60 196 152 112, 0.78 150 112 88,
        1.00 126 100 86
    ],
};

static GIST_EARTH: Ramp = Ramp {
    name: "gist_earth",
    about: "Matplotlib's colour map of that name (from Yorick): dark blue, green, ochre, pale rock",
    course: Course::Channels([
        points![
            0.0 0.0, 0.2824 0.1882, 0.4588 0.2714, 0.549 0.4719, 0.698 0.7176, 0.7882 0.7553, 1.0 0.9922
        ],
        points![
            0.0 0.0, 0.0275 0.0, 0.1098 0.1893, 0.1647 0.3035, 0.2078 0.3841, 0.2824 0.502, 0.5216 0.6397,
            0.698 0.7171, 0.7882 0.6392, 0.7922 0.6413, 0.8 0.6447, 0.8078 0.6481, 0.8157 0.6549, 0.8667 0.6991,
            0.8745 0.7103, 0.8824 0.7216, 0.8902 0.7323, 0.898 0.743, 0.9412 0.8275, 0.9569 0.8635, 0.9647 0.8816,
            0.9961 0.9733, 1.0 0.9843
        ],
        points![
            0.0 0.0, 0.0039 0.1684, 0.0078 0.2212, 0.0275 0.4329, 0.0314 0.4549, 0.2824 0.5004, 0.4667 0.2748,
            0.5451 0.3205, 0.7843 0.3961, 0.8941 0.6651, 1.0 0.9843
        ],
    ]),
};

static GREY: Ramp = Ramp {
    name: "grey",
    about: "black to white, linear in sRGB",
    course: Course::Channels([&[(0.0, 0.0), (1.0, 1.0)]; 3]),
};

static PLAIN: Ramp = Ramp {
    name: "plain",
    about: "one light grey at all heights, so that only shading shows relief",
    course: Course::Channels([&[(0.0, 0.7), (1.0, 0.7)]; 3]),
};

static VIRIDIS: Ramp = Ramp {
    name: "viridis",
    about: "even steps from violet through green to yellow, for data (Smith and van der Walt 2015)",
    course: stops![
        0.000 68 1 84, 0.125 71 44 122, 0.250 59 81 139, 0.375 44 113 142, 0.500 33 144 141, 0.625 39 173 129,
        0.750 92 200 99, 0.875 170 220 50, 1.000 253 231 37
    ],
};

static SEA: Ramp = Ramp {
    name: "sea",
    about: "bathymetry: from the abyss (0) to the shore (1)",
    course: stops![
        0.00 16 36 74, 0.35 24 66 116, 0.65 40 105 155, 0.85 76 148 183, 1.00 134 194 205
    ],
};

static ICE: Ramp = Ramp {
    name: "ice",
    about: "snow and ice: from blue depth to white",
    course: stops![
        0.0 38 84 124, 0.4 104 156 190, 0.75 190 217 230, 1.0 252 254 255
    ],
};

static SOIL: Ramp = Ramp {
    name: "soil",
    about: "kinds of soil by number, 0 to 5: rock, gravel, sand, loam, clay, peat",
    course: stops![
        0.0 128 126 128, 0.2 176 158 138, 0.4 232 208 134, 0.6 150 106 58, 0.8 178 84 62, 1.0 58 46 36
    ],
};

static WATER: Ramp = Ramp {
    name: "water",
    about: "amounts of water: from pale to dark blue",
    course: stops![
        0.0 214 232 240, 0.3 140 193 224, 0.65 48 120 184, 1.0 12 36 92
    ],
};

static SEDIMENT: Ramp = Ramp {
    name: "sediment",
    about: "sediment thickness: from pale sand to dark earth",
    course: stops![
        0.0 244 228 188, 0.4 222 176 104, 0.75 168 104 52, 1.0 92 48 28
    ],
};

impl Ramp {
    /// Returns the ramp with the given name from [`RAMPS`].
    ///
    /// # Errors
    /// Returns an error if there is none; the message lists the ramps or names the closest one.
    pub fn find(name: &str) -> Result<&'static Self> {
        let found = RAMPS.iter().find(|ramp| ramp.name == name);
        found.copied().ok_or_else(|| Error::unknown_name("ramp", name, RAMPS.iter().map(|ramp| ramp.name)))
    }

    /// Returns the default ramp for land.
    pub fn land() -> &'static Self {
        &LAND
    }

    /// Returns the ramp with perceptually even steps for data.
    pub fn viridis() -> &'static Self {
        &VIRIDIS
    }

    /// Returns the colours of kinds of soil, each at the kind's number over 5; the last colour also stands for a
    /// recipe's own kinds.
    pub fn soil() -> &'static Self {
        &SOIL
    }

    /// Returns the ramp for amounts of water.
    pub fn water() -> &'static Self {
        &WATER
    }

    /// Returns the ramp for sediment thickness.
    pub fn sediment() -> &'static Self {
        &SEDIMENT
    }

    /// Returns the colours of the sea, from the deepest (0) to the shore (1).
    pub fn sea() -> &'static Self {
        &SEA
    }

    /// Returns the colour in linear light at `t`, a share of the ramp's length, which is clamped to 0 to 1 (NaN is
    /// 0).
    pub fn colour_at(&self, t: f32) -> Linear {
        // A comparison with NaN is false, so NaN becomes 0.
        let t = if t > 0.0 { t.min(1.0) } else { 0.0 };
        match &self.course {
            Course::Stops(stops) => {
                let (a, b, u) = find_interval(stops, t);
                // Colours between two stops are mixed in OKLab, in which equal steps look about equal.
                let (a, b) = (to_oklab(to_linear(a)), to_oklab(to_linear(b)));
                let mixed = std::array::from_fn(|c| a[c] + (b[c] - a[c]) * f64::from(u));
                from_oklab(mixed).map(|x| x.clamp(0.0, 1.0))
            }
            Course::Channels(channels) => to_linear(channels.map(|points| {
                // Matplotlib interpolates the sRGB codes themselves, so these ramps do too.
                let (a, b, u) = find_interval(points, t);
                ((a + (b - a) * u) * 255.0 + 0.5) as u8
            })),
        }
    }

    /// Tabulates [`Ramp::colour_at`] at [`ColourTable`]'s even steps, for inner loops.
    pub fn to_table(&self) -> ColourTable {
        ColourTable((0..ColourTable::SIZE).map(|k| self.colour_at(k as f32 / (ColourTable::SIZE - 1) as f32)).collect())
    }

    /// Returns [`Ramp::colour_at`] as sRGB, as stored in files.
    pub fn rgb_at(&self, t: f32) -> Rgb {
        to_srgb(self.colour_at(t))
    }
}

/// A ramp's colours at 1024 even steps.
#[derive(Debug, Clone)]
pub struct ColourTable(Vec<Linear>);

impl ColourTable {
    const SIZE: usize = 1024;

    /// Returns the nearest tabulated colour to `t`, which is clamped to 0 to 1 (NaN is 0).
    pub fn nearest_colour(&self, t: f32) -> Linear {
        let last = Self::SIZE - 1;
        self.0[((t * last as f32 + 0.5) as usize).min(last)]
    }
}

/// Returns the values of the neighbours of `t` among `points`, and the fraction of the way from the first to the
/// second.
fn find_interval<T: Copy + Default>(points: &[(f32, T)], t: f32) -> (T, T, f32) {
    let next = points.iter().position(|(at, _)| *at >= t);
    // The first point at or beyond `t` ends the interval; positions before the first and after the last are clamped.
    match (next, points.last()) {
        (Some(0), _) => (points[0].1, points[0].1, 0.0),
        (Some(k), _) => {
            let ((from, a), (to, b)) = (points[k - 1], points[k]);
            (a, b, (t - from) / (to - from))
        }
        (None, last) => last.map_or((T::default(), T::default(), 0.0), |(_, end)| (*end, *end, 0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ramps_pass_through_their_control_points() {
        for ramp in RAMPS {
            match &ramp.course {
                Course::Stops(stops) => {
                    for (t, rgb) in *stops {
                        let seen = ramp.rgb_at(*t);
                        for c in 0..3 {
                            // OKLab's matrices are inverses to 1e-7 of light, which may change the rounding of the
                            // last code.
                            assert!(seen[c].abs_diff(rgb[c]) <= 1, "{} at {t}: {seen:?} for {rgb:?}", ramp.name);
                        }
                    }
                }
                Course::Channels(channels) => {
                    for (c, points) in channels.iter().enumerate() {
                        for (t, value) in *points {
                            assert_eq!(ramp.rgb_at(*t)[c], (value * 255.0 + 0.5) as u8, "{} at {t}", ramp.name);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn positions_rise_from_zero_to_one() {
        let check = |positions: Vec<f32>| {
            assert_eq!((positions[0], positions[positions.len() - 1]), (0.0, 1.0));
            assert!(positions.windows(2).all(|p| p[0] < p[1]));
        };
        for ramp in RAMPS {
            match &ramp.course {
                Course::Stops(stops) => check(stops.iter().map(|s| s.0).collect()),
                Course::Channels(channels) => channels.iter().for_each(|c| check(c.iter().map(|p| p.0).collect())),
            }
        }
    }

    #[test]
    fn gist_earth_is_matplotlibs() {
        // Matplotlib 3.8, `cm.gist_earth(t, bytes=True)`, whose table of 256 entries is at most half a step (1/510)
        // from our exact position; the steepest channel used here changes by 2.2 per unit away from black, which is
        // 1.1 codes, plus rounding.
        let earth = Ramp::find("gist_earth").unwrap();
        for (t, rgb) in [(0.25, [43, 116, 126]), (0.5, [92, 160, 75]), (0.75, [189, 171, 98]), (1.0, [253, 251, 251])] {
            let seen = earth.rgb_at(t);
            for c in 0..3 {
                assert!(seen[c].abs_diff(rgb[c]) <= 3, "{t}: {seen:?} for {rgb:?}");
            }
        }
    }

    #[test]
    fn grey_is_monotonous_and_ends_are_held() {
        let grey = Ramp::find("grey").unwrap();
        let lights: Vec<u8> = (0..=100).map(|k| grey.rgb_at(k as f32 / 100.0)[0]).collect();
        assert!(lights.windows(2).all(|l| l[0] < l[1]));
        assert_eq!(grey.rgb_at(-3.0), [0; 3]);
        assert_eq!(grey.rgb_at(7.0), [255; 3]);
        assert_eq!(grey.rgb_at(f32::NAN), [0; 3]);
    }

    #[test]
    fn unknown_ramps_are_named() {
        let message = Ramp::find("gist_erth").unwrap_err().to_string();
        assert!(message.contains("gist_earth"), "{message}");
        let message = Ramp::find("xyz").unwrap_err().to_string();
        assert!(RAMPS.iter().all(|ramp| message.contains(ramp.name)), "{message}");
    }
}
