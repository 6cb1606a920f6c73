//! [`Octave`]: one turned, shifted and scaled copy of a noise's lattice.

use crate::base::rng::Key;

/// The golden angle in radians: no few multiples of it come near each other, or near a quarter turn.
const GOLDEN_ANGLE: f64 = 2.399_963_229_728_653;

/// The first octave's angle.
const FIRST_ANGLE: f64 = 0.6;

/// The map from world metres to the lattice coordinates of one octave.
///
/// Each octave is turned by its own angle, so that lattice lines of two octaves never fall together nor along the
/// grid, and shifted by a keyed amount.
#[derive(Debug, Clone)]
pub struct Octave {
    /// Lattice units per metre: how (x, y) in metres turn into (u, v), by rows.
    pub turn: [[f64; 2]; 2],
    /// Lattice coordinates (u, v) of the world's origin.
    pub shift: [f64; 2],
    /// Seed of its lattice points.
    pub seed: u32,
    /// Weight in the sum.
    pub amplitude: f32,
    /// Share, 0 to 1, of the octave that the grid can carry: 1 from four cells a wave on, 0 under two.
    pub fade: f32,
    /// Slope of one unit of its noise per lattice unit, in those of the first octave.
    pub steepness: f32,
}

impl Octave {
    /// The octaves of a sum: wavelengths fall by `lacunarity` and weights by `gain`, from `wavelength` metres and 1.
    ///
    /// Weights do not depend on `cell`: a grid that is too coarse for an octave leaves it out, and nothing else changes.
    pub fn series(count: u32, wavelength: f64, lacunarity: f64, gain: f64, key: Key, cell: f64) -> Vec<Self> {
        let (mut length, mut amplitude) = (wavelength, 1.0);
        let octave = |n| {
            let here = Self::new(n, length, amplitude, key, cell);
            let steepness = (amplitude * wavelength / length).min(1e6) as f32;
            length /= lacunarity;
            amplitude *= gain;
            Self { steepness, ..here }
        };
        (0..count).map(octave).collect()
    }

    fn new(n: u32, wavelength: f64, amplitude: f64, key: Key, cell: f64) -> Self {
        let key = key.and(n.into());
        let (sin, cos) = libm::sincos(FIRST_ANGLE + f64::from(n) * GOLDEN_ANGLE);
        let [east, south] = key.pair();
        Self {
            turn: [[cos / wavelength, -sin / wavelength], [sin / wavelength, cos / wavelength]],
            shift: [1024.0 * east, 1024.0 * south],
            seed: key.and(1).bits() as u32,
            amplitude: amplitude as f32,
            fade: (wavelength / (2.0 * cell) - 1.0).clamp(0.0, 1.0) as f32,
            steepness: 1.0,
        }
    }

    /// Lattice coordinates of a point in world metres, each as the lattice line below it and the rest in 0..1.
    #[inline(always)]
    pub fn place(&self, x: f64, y: f64) -> [(i32, f64); 2] {
        [0, 1].map(|axis| {
            let u = self.turn[axis][0] * x + (self.turn[axis][1] * y + self.shift[axis]);
            let line = u.floor();
            // Lattice lines are told apart modulo 2³²: far enough for any grid.
            (line as i64 as i32, u - line)
        })
    }
}
