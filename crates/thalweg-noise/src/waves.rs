//! [`WavelengthNoise`]: noise whose wavelength varies from place to place.

use crate::gradient;
use crate::octave::Octave;
use thalweg_core::Point;
use thalweg_core::base::rng::RandomKey;

/// The longest wave in metres.
const LONGEST: f64 = 1_048_576.0;

/// The number of octaves from the longest wave down to less than a metre.
const OCTAVES: u32 = 22;

/// The cell size in metres only affects how an octave fades, which is not used here.
const ANY_CELL: f64 = 1.0;

/// Gradient noise of any wavelength from 1 048 576 m down to one metre.
pub struct WavelengthNoise(Vec<Octave>);

impl WavelengthNoise {
    /// Creates waves keyed by `key`, which are the same for cells of any size. The caller must request waves that its
    /// own cells can resolve.
    pub fn new(key: RandomKey) -> Self {
        // Weights and fades are not read: `evaluate_at` blends two octaves with weights of its own.
        Self(Octave::series(OCTAVES, LONGEST, 2.0, 1.0, key, ANY_CELL))
    }

    /// Returns the noise at a position, with mean 0 and standard deviation [`gradient::DEVIATION`], with waves of
    /// `wavelength` metres (above 0). It blends the two octaves whose wavelengths are next to `wavelength`.
    /// Wavelengths beyond either end are clamped to that end.
    pub fn evaluate_at(&self, Point { x, y }: Point, wavelength: f64) -> f64 {
        // The upper limit leaves a next octave for the blend.
        let number = libm::log2(LONGEST / wavelength).clamp(0.0, f64::from(OCTAVES - 2));
        let (first, part) = (number.floor(), number - number.floor());
        let noise = |octave: &Octave| {
            let [(i, u), (j, v)] = octave.to_lattice(x, y);
            f64::from(gradient::evaluate_noise(i, j, u as f32, v as f32, octave.seed))
        };
        let [a, b] = [0, 1].map(|next| noise(&self.0[first as usize + next]));
        // Dividing by the norm of the two weights keeps the standard deviation the same between octaves.
        ((1.0 - part) * a + part * b) / ((1.0 - part) * (1.0 - part) + part * part).sqrt()
    }
}
