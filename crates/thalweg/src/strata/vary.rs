//! [`Vary`]: what of rock varies from region to region, as functions of the place.

use rayon::prelude::*;

use crate::base::power::exp2;
use crate::base::rng::Key;
use crate::noise::fractal::{Fractal, FractalSettings};
use crate::noise::octave::Plane;
use crate::terrain::field::Field;
use crate::terrain::grid::Grid;

/// Octaves of a regional field: from its wavelength down to what the grid carries.
const OCTAVES: u32 = 16;

/// What a finer octave of a regional field keeps of the one before: a red spectrum.
const RED: f64 = 0.6;

/// A field, or its one value.
#[derive(Debug, Clone, PartialEq)]
pub enum Vary {
    /// The same everywhere.
    Everywhere(f32),
    /// A value a cell.
    Field(Field<f32>),
}

impl Vary {
    /// The value at cell `k`.
    #[inline]
    pub fn at(&self, k: usize) -> f32 {
        match self {
            Self::Everywhere(value) => *value,
            Self::Field(field) => field.as_slice()[k],
        }
    }
}

/// Octaves of noise with a standard deviation, in powers of two.
#[derive(Debug, Clone)]
pub struct Octaves {
    noise: Fractal,
    scale: f32,
}

impl Octaves {
    /// Octaves from `wavelength` metres down, a red spectrum, e to the power of whose sum has logarithms of deviation `variation`; none
    /// of no deviation.
    pub fn red(variation: f64, wavelength: f64, key: Key, plane: impl Into<Plane>) -> Option<Self> {
        (variation > 0.0).then(|| Self::new(variation, wavelength, RED, key, plane.into()))
    }

    fn new(variation: f64, wavelength: f64, gain: f64, key: Key, plane: Plane) -> Self {
        let noise = Fractal::new(&FractalSettings::fbm(OCTAVES, wavelength, gain), None, key, plane);
        // Fractal noise has a deviation of ⅓.
        Self { noise, scale: (3.0 * variation * std::f64::consts::LOG2_E) as f32 }
    }

    /// Octaves that each have the deviation `variation`.
    pub fn of_one_size(variation: f64, wavelength: f64, key: Key, plane: impl Into<Plane>) -> Self {
        Self::new(variation * f64::from(OCTAVES).sqrt(), wavelength, 1.0, key, plane.into())
    }
}

/// `middle` times e to the power of the sum of the noises.
pub fn log_normal(grid: &Grid, middle: f64, noises: &[Option<Octaves>]) -> Vary {
    if noises.iter().all(Option::is_none) {
        return Vary::Everywhere(middle as f32);
    }
    let mut field = Field::new(grid.size, 0.0f32);
    field.par_rows_mut().for_each_init(
        || vec![0.0; grid.cols()],
        |line, (i, row)| {
            for Octaves { noise, scale } in noises.iter().flatten() {
                noise.row(grid, i, line);
                for (sum, n) in row.iter_mut().zip(&*line) {
                    *sum += scale * n;
                }
            }
            for value in row {
                *value = middle as f32 * exp2(*value);
            }
        },
    );
    Vary::Field(field)
}
