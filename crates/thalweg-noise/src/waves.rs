//! [`Waves`]: noise whose wavelength differs from place to place.

use crate::gradient;
use crate::octave::Octave;
use thalweg_core::Point;
use thalweg_core::base::rng::Key;

/// The longest wave, m.
const LONGEST: f64 = 1_048_576.0;

/// Octaves from there on: to less than a metre.
const OCTAVES: u32 = 22;

/// Cells, in metres, say only how an octave fades, which is not heeded here.
const ANY_CELL: f64 = 1.0;

/// Gradient noise of any wavelength from 1 048 576 m down to one metre.
pub struct Waves(Vec<Octave>);

impl Waves {
    /// Waves keyed by `key`, the same for cells of any size: whoever reads them asks for waves that its own cells carry.
    pub fn new(key: Key) -> Self {
        Self(Octave::series(OCTAVES, LONGEST, 2.0, 1.0, key, ANY_CELL))
    }

    /// The noise at a position, of mean 0 and standard deviation [`gradient::DEVIATION`], in waves of
    /// `wavelength` metres (above 0): a mean of the two octaves next to that. Beyond either end it has the waves of the
    /// end.
    pub fn at(&self, Point { x, y }: Point, wavelength: f64) -> f64 {
        let number = libm::log2(LONGEST / wavelength).clamp(0.0, f64::from(OCTAVES - 2));
        let (first, part) = (number.floor(), number - number.floor());
        let noise = |octave: &Octave| {
            let [(i, u), (j, v)] = octave.place(x, y);
            f64::from(gradient::noise(i, j, u as f32, v as f32, octave.seed))
        };
        let [a, b] = [0, 1].map(|next| noise(&self.0[first as usize + next]));
        ((1.0 - part) * a + part * b) / ((1.0 - part) * (1.0 - part) + part * part).sqrt()
    }
}
