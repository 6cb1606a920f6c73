//! [`SpatialValue`]: rock properties that vary from region to region, as functions of position.

use rayon::prelude::*;

use crate::fractal::{Fractal, FractalSettings};
use crate::octave::NoisePlane;
use thalweg_core::base::power::exp2;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Field, Grid};

/// The number of octaves of a regional field, from its wavelength down to what the grid resolves.
const OCTAVES: u32 = 16;

/// The ratio of an octave's weight to that of the one before in a regional field: a red spectrum.
const RED: f64 = 0.6;

/// A field, or a single value for all cells.
#[derive(Debug, Clone, PartialEq)]
pub enum SpatialValue {
    /// The same value everywhere.
    Everywhere(f32),
    /// One value per cell.
    Field(Field<f32>),
}

impl SpatialValue {
    /// Returns the value at cell `k`, an index in row-major order.
    #[inline]
    pub fn value_at(&self, k: usize) -> f32 {
        match self {
            Self::Everywhere(value) => *value,
            Self::Field(field) => field.as_slice()[k],
        }
    }
}

/// The anisotropy of the rock: features are longer than wide, along one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strike {
    /// The direction as a unit vector, east and south.
    pub direction: [f64; 2],
    /// The ratio of length to width, 1 or more.
    pub times: f64,
}

impl Strike {
    /// Isotropic rock.
    pub const NONE: Self = Self { direction: [1.0, 0.0], times: 1.0 };

    /// Draws a direction with a key, with features `times` as long as wide. The direction is 25° to 40° off one of
    /// the axes, because land that is stretched along the axes or the diagonals looks like an artefact of the grid.
    pub fn from_key(times: f64, key: RandomKey) -> Self {
        let [turn, quarter] = key.uniform_pair();
        // The first half of `turn` selects 25° to 40°, the second half 50° to 65°, which is as far from the other axis.
        let degrees = 25.0 + 15.0 * (2.0 * turn).fract() + if turn < 0.5 { 0.0 } else { 25.0 };
        let degrees = if quarter < 0.5 { degrees } else { degrees + 90.0 };
        let (south, east) = libm::sincos(degrees.to_radians());
        Self { direction: [east, south], times }
    }

    /// Returns the same strike with features `times` as long.
    pub fn longer(self, times: f64) -> Self {
        Self { times: times * self.times, ..self }
    }
}

/// Octaves of noise with a given standard deviation, in powers of two.
#[derive(Debug, Clone)]
pub struct Octaves {
    noise: Fractal,
    scale: f32,
    /// If set, the noise is not added itself but as lines along its zeroes: half their width, in units of noise.
    lines: Option<f32>,
}

/// The slope of the noise across the lines of its zeroes, per wavelength.
const STEEPNESS: f64 = 1.4;

impl Octaves {
    /// Returns octaves from `wavelength` metres down with a red spectrum, whose sum, a natural logarithm, has the
    /// standard deviation `variation`; `None` if `variation` is not above 0.
    pub fn with_red_spectrum(
        variation: f64,
        wavelength: f64,
        key: RandomKey,
        plane: impl Into<NoisePlane>,
    ) -> Option<Self> {
        (variation > 0.0).then(|| Self::new(variation, wavelength, RED, key, plane.into()))
    }

    fn new(variation: f64, wavelength: f64, gain: f64, key: RandomKey, plane: NoisePlane) -> Self {
        let noise = Fractal::new(&FractalSettings::fbm(OCTAVES, wavelength, gain), None, key, plane);
        // Fractal noise has a standard deviation of ⅓.
        Self { noise, scale: (3.0 * variation * std::f64::consts::LOG2_E) as f32, lines: None }
    }

    /// Returns curved lines, about `wavelength` metres apart and `width` metres wide, in the middle of which the
    /// natural logarithm is `strength`; `None` if `strength` is not above 0.
    pub fn with_curved_lines(
        strength: f64,
        wavelength: f64,
        width: f64,
        key: RandomKey,
        plane: impl Into<NoisePlane>,
    ) -> Option<Self> {
        let noise = || Fractal::new(&FractalSettings::fbm(3, wavelength, 0.4), None, key, plane);
        // Half the width in metres becomes half the width in values of the noise. The bound excludes a division by 0.
        let half = (0.5 * STEEPNESS * width / wavelength).max(1e-6) as f32;
        let scale = (strength * std::f64::consts::LOG2_E) as f32;
        (strength > 0.0).then(|| Self { noise: noise(), scale, lines: Some(half) })
    }

    /// Returns the same noise stretched along a strike.
    pub fn stretch_along(self, strike: Strike) -> Self {
        if strike.times <= 1.0 {
            return self;
        }
        Self { noise: self.noise.with_stretch(strike.direction, strike.times), ..self }
    }

    /// Returns octaves from `wavelength` metres down, each of which has the standard deviation `variation` of the
    /// natural logarithm.
    pub fn with_equal_deviation(variation: f64, wavelength: f64, key: RandomKey, plane: impl Into<NoisePlane>) -> Self {
        // `new` sets the deviation of the sum, which is √OCTAVES times that of each of the equal octaves.
        Self::new(variation * f64::from(OCTAVES).sqrt(), wavelength, 1.0, key, plane.into())
    }
}

/// Returns `middle` times e to the power of the sum of the noises for each cell of `grid`, in the unit of `middle`; a
/// single value if there are no noises.
pub fn log_normal(grid: &Grid, middle: f64, noises: &[Option<Octaves>]) -> SpatialValue {
    if noises.iter().all(Option::is_none) {
        return SpatialValue::Everywhere(middle as f32);
    }
    let mut field = Field::new(grid.size, 0.0f32);
    field.par_rows_mut().for_each_init(
        // One buffer per thread serves many rows.
        || vec![0.0; grid.cols()],
        |line, (i, row)| {
            for Octaves { noise, scale, lines } in noises.iter().flatten() {
                noise.fill_row(grid, i, line);
                if let Some(half) = lines {
                    for n in line.iter_mut() {
                        let near = (1.0 - n.abs() / half).max(0.0);
                        // A smoothstep, 1 on the zero line and 0 at the line's edge, has no crease at either.
                        *n = near * near * (3.0 - 2.0 * near);
                    }
                }
                for (sum, n) in row.iter_mut().zip(&*line) {
                    *sum += scale * n;
                }
            }
            for value in row {
                // The noises are scaled by log₂ e, so a power of two is a power of e of the natural logarithm.
                *value = middle as f32 * exp2(*value);
            }
        },
    );
    SpatialValue::Field(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(noise: Octaves) -> Field<f32> {
        match log_normal(&Grid::new([256, 256], 10.0).unwrap(), 1.0, &[Some(noise)]) {
            SpatialValue::Field(field) => field.map(|x| x.ln()),
            SpatialValue::Everywhere(_) => unreachable!("a noise varies"),
        }
    }

    #[test]
    fn drawn_out_noise_varies_less_along_its_strike() {
        let (grid, key) = (Grid::new([256, 256], 10.0).unwrap(), RandomKey::new(4, "strike"));
        let strike = Strike { direction: [0.6, 0.8], times: 4.0 };
        let field = logs(Octaves::with_red_spectrum(0.5, 600.0, key, &grid).unwrap().stretch_along(strike));
        let change = |[di, dj]: [isize; 2]| -> f64 {
            let at = |i: usize, j: usize| f64::from(field[(i, j)]);
            let cells = (10..240usize).flat_map(|i| (10..240usize).map(move |j| (i, j)));
            cells.map(|(i, j)| (at(i.wrapping_add_signed(di), j.wrapping_add_signed(dj)) - at(i, j)).abs()).sum()
        };
        // Five cells along the strike (three east for every four south), and five across it.
        assert!(change([8, 6]) < 0.5 * change([-6, 8]), "{} {}", change([8, 6]), change([-6, 8]));
    }

    #[test]
    fn strikes_keep_off_axes_and_diagonals() {
        for t in 0..1000 {
            let [east, south] = Strike::from_key(2.0, RandomKey::new(t, "strike")).direction;
            let degrees = libm::atan2(south, east).to_degrees().rem_euclid(45.0);
            assert!((4.9..40.1).contains(&degrees), "{degrees}");
            assert!((24.9..65.1).contains(&libm::atan2(south, east).to_degrees().rem_euclid(90.0)));
        }
    }

    #[test]
    fn faults_are_thin_and_as_strong_as_declared() {
        let grid = Grid::new([256, 256], 10.0).unwrap();
        let field = logs(Octaves::with_curved_lines(1.0, 800.0, 60.0, RandomKey::new(5, "faults"), &grid).unwrap());
        let crushed = field.as_slice().iter().filter(|log| **log > 0.5).count() as f64 / field.len() as f64;
        assert!(field.as_slice().iter().all(|log| (-1e-6..1.0001).contains(log)));
        assert!((0.005..0.1).contains(&crushed), "{crushed}");
        assert!(Octaves::with_curved_lines(0.0, 800.0, 60.0, RandomKey::new(5, "faults"), &grid).is_none());
    }
}
