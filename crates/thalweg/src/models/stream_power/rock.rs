//! What the rock is like: where it rises how fast, how readily it erodes, and its beds.

use rayon::prelude::*;

use crate::base::power::exp2;
use crate::base::rng::Key;
use crate::models::stream_power::StreamPower;
use crate::noise::fractal::{Fractal, FractalSettings};
use crate::process::slopes::Pile;
use crate::terrain::field::Field;
use crate::terrain::grid::Grid;
use crate::terrain::height::UNITS;

/// Octaves of a regional field: from its wavelength down to what the grid carries.
const OCTAVES: u32 = 16;

/// What a finer octave of a regional field keeps of the one before: a red spectrum.
const RED: f64 = 0.6;

/// Grains in the pile of beds, after which they repeat: 131 km of rock.
const PILE: usize = 1 << 16;

/// Rock as functions of the place, worked out once for a grid.
pub struct Rock {
    /// Uplift, in units a year; one value where it does not vary.
    uplift: Vary,
    /// Erodibility over the one declared; one value where it does not vary.
    erodibility: Vary,
    beds: Option<Beds>,
}

/// A field, or its one value.
enum Vary {
    Everywhere(f32),
    Field(Field<f32>),
}

impl Vary {
    fn at(&self, k: usize) -> f32 {
        match self {
            Self::Everywhere(value) => *value,
            Self::Field(field) => field.as_slice()[k],
        }
    }
}

impl Rock {
    /// The rock of a stage of this key.
    pub fn new(model: &StreamPower, grid: &Grid, key: Key) -> Self {
        let regional = |variation: f64, wavelength: f64, key: Key| {
            (variation > 0.0).then(|| Octaves::new(variation, wavelength, RED, key, grid.cell))
        };
        let uplift = regional(model.uplift_variation, model.uplift_wavelength, key.and(1));
        let regional = regional(model.erodibility_variation, model.erodibility_wavelength, key.and(2));
        let grain = (model.grain > 0.0)
            .then(|| Octaves::of_one_size(model.grain, model.grain_wavelength, key.and(3), grid.cell));
        Self {
            uplift: log_normal(grid, model.uplift * UNITS, &[uplift]),
            erodibility: log_normal(grid, 1.0, &[regional, grain]),
            beds: (model.strata > 0.0).then(|| Beds::new(model, key.and(4))),
        }
    }

    /// Units that cell `k` rises between two times in years. Parts of a unit are not lost from step to step: what has
    /// risen since the start is rounded, not the step.
    #[inline]
    pub fn rise(&self, k: usize, times: [f64; 2], factor: f32) -> i64 {
        let rate = f64::from(self.uplift.at(k) * factor);
        let [before, after] = times.map(|t| (rate * t).floor() as i64);
        after - before
    }

    /// Erodibility of cell `k` over the one declared, without the beds.
    #[inline]
    pub fn erodibility(&self, k: usize) -> f32 {
        self.erodibility.at(k)
    }

    /// The beds, with metres of uplift by a time in years at any cell.
    pub fn beds(&self, time: f64) -> Option<Depth<'_>> {
        Some(Depth { beds: self.beds.as_ref()?, uplift: &self.uplift, time })
    }
}

/// The steepest slope that each cell bears, as rise over run: log-normal, of a red spectrum. Not from cell to cell, for a
/// single weak cell wears grooves into all the slope above it, along the grid's axes.
pub fn bearing(model: &StreamPower, grid: &Grid, key: Key) -> Field<f32> {
    let tan = libm::tan(model.slope_limit.to_radians());
    let noise = (model.slope_variation > 0.0)
        .then(|| Octaves::new(model.slope_variation, model.slope_wavelength, RED, key, grid.cell));
    match log_normal(grid, tan, &[noise]) {
        Vary::Everywhere(tan) => Field::new(grid.size, tan),
        Vary::Field(field) => field,
    }
}

/// Octaves of noise with a standard deviation, in powers of two.
struct Octaves {
    noise: Fractal,
    scale: f32,
}

impl Octaves {
    /// Octaves of `gain` from `wavelength` down, e to the power of whose sum has logarithms of deviation `variation`.
    fn new(variation: f64, wavelength: f64, gain: f64, key: Key, cell: f64) -> Self {
        let noise = Fractal::new(&FractalSettings::fbm(OCTAVES, wavelength, gain), None, key, cell);
        // Fractal noise has a deviation of ⅓.
        Self { noise, scale: (3.0 * variation * std::f64::consts::LOG2_E) as f32 }
    }

    /// Octaves that each have the deviation `variation`.
    fn of_one_size(variation: f64, wavelength: f64, key: Key, cell: f64) -> Self {
        Self::new(variation * f64::from(OCTAVES).sqrt(), wavelength, 1.0, key, cell)
    }
}

/// `middle` times e to the power of the sum of the noises.
fn log_normal(grid: &Grid, middle: f64, noises: &[Option<Octaves>]) -> Vary {
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

/// Hard and soft beds: a pile, in which soft beds weigh more.
struct Beds {
    pile: Pile,
    /// Rise of the beds, in metres to a metre east and south.
    dip: [f64; 2],
}

impl Beds {
    fn new(model: &StreamPower, key: Key) -> Self {
        // Thickness from 0.7 to 1.3 of the mean, softness from a half to the whole of the contrast, in turn hard and soft.
        let mut left = PILE;
        let beds = (0u64..).map_while(|bed| {
            let key = key.and(bed);
            let thickness = model.strata_thickness * (1.0 + 0.3 * key.and(1).signed());
            let count = ((thickness / Pile::GRAIN).round().max(1.0) as usize).min(left);
            left -= count;
            let softness = model.strata * (0.75 + 0.25 * key.and(2).signed()) * if bed % 2 == 0 { 1.0 } else { -1.0 };
            (count > 0).then(|| (count, libm::exp(softness)))
        });
        let pile = Pile::new(beds);
        let (sin, cos) = libm::sincos(model.strata_direction.to_radians());
        Self { pile, dip: [-model.strata_dip * sin, model.strata_dip * cos] }
    }
}

/// The beds as they stand at a time: they rise with the rock.
pub struct Depth<'a> {
    beds: &'a Beds,
    uplift: &'a Vary,
    time: f64,
}

impl Depth<'_> {
    pub fn pile(&self) -> &Pile {
        &self.beds.pile
    }

    /// Height of one of the pile's copies in cell `k`, which lies at (x, y) metres, in units.
    #[inline]
    pub fn bottom(&self, k: usize, [x, y]: [f64; 2]) -> i64 {
        let risen = f64::from(self.uplift.at(k)) * self.time;
        let bottom = (risen + UNITS * (self.beds.dip[0] * x + self.beds.dip[1] * y)).ceil() as i64;
        self.beds.pile.within(bottom)
    }

    /// Softness, as a factor, of the rock at `height` units in cell `k`, which lies at (x, y) metres.
    #[inline]
    pub fn softness(&self, k: usize, height: i32, place: [f64; 2]) -> f64 {
        self.beds.pile.weight(i64::from(height) - self.bottom(k, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(cell: f64, cells: usize) -> Grid {
        Grid::new([cells, cells], cell).unwrap()
    }

    #[test]
    fn rise_adds_up_whatever_the_steps() {
        let model = StreamPower { uplift: 3e-7, uplift_variation: 0.0, ..StreamPower::default() };
        let rock = Rock::new(&model, &grid(10.0, 4), Key::new(1, "rock"));
        // 0.0197 units a year: most years rise by nothing, a million of them by what they should.
        let sum: i64 = (0..1_000_000).map(|t| rock.rise(0, [f64::from(t), f64::from(t + 1)], 1.0)).sum();
        assert_eq!(sum, (f64::from((3e-7 * UNITS) as f32) * 1e6).floor() as i64);
        assert!(sum > 19_000);
    }

    #[test]
    fn a_finer_grid_has_the_same_lower_octaves() {
        let model = StreamPower { erodibility_wavelength: 4000.0, grain: 0.3, ..StreamPower::default() };
        let key = Key::new(2, "rock");
        let log = |cell: f64, cells: usize| {
            let rock = Rock::new(&model, &grid(cell, cells), key);
            Field::generate([cells, cells], |i, j| f64::from(rock.erodibility(i * cells + j)).ln())
        };
        let (coarse, fine) = (log(40.0, 128), log(20.0, 256));
        // Means of four fine cells against the coarse cell: what differs are the octaves that only one of them carries.
        let mean = |i: usize, j: usize| 0.25 * (0..4).map(|q| fine[(2 * i + q / 2, 2 * j + q % 2)]).sum::<f64>();
        let cells = || (0..128).flat_map(|i| (0..128).map(move |j| (i, j)));
        let (mut both, mut one, mut other) = (0.0, 0.0, 0.0);
        for (i, j) in cells() {
            both += coarse[(i, j)] * mean(i, j);
            one += coarse[(i, j)].powi(2);
            other += mean(i, j).powi(2);
        }
        assert!(both / (one * other).sqrt() > 0.9, "{}", both / (one * other).sqrt());
        let variance = |field: &Field<f64>| {
            let n = field.len() as f64;
            let mean = field.as_slice().iter().sum::<f64>() / n;
            field.as_slice().iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n
        };
        // One more octave of deviation 0.3, and the regional field's 0.6⁶ of 0.56.
        let more = variance(&fine) - variance(&coarse);
        assert!((0.04..0.15).contains(&more), "{more}");
    }

    #[test]
    fn beds_lie_where_they_dip_and_rise_with_the_rock() {
        let model = StreamPower {
            strata: 1.0,
            strata_dip: 0.01,
            strata_direction: 90.0,
            uplift_variation: 0.0,
            ..StreamPower::default()
        };
        let rock = Rock::new(&model, &grid(10.0, 4), Key::new(3, "rock"));
        let at =
            |metres: f64, x: f64, time: f64| rock.beds(time).unwrap().softness(0, (metres * UNITS) as i32, [x, 0.0]);
        let column: Vec<f64> = (0..200).map(|z| at(f64::from(z) * 10.0 + 0.5, 0.0, 0.0)).collect();
        // 2 km of beds of 126 to 234 m: 8 to 16 boundaries; in turn soft (over 1) and hard.
        let changes = column.windows(2).filter(|pair| (pair[0] > 1.0) != (pair[1] > 1.0)).count();
        assert!((8..=16).contains(&changes), "{changes}");
        assert!(column.iter().all(|s| (s.ln().abs() >= 0.49) && s.ln().abs() <= 1.01));
        for z in 0..100 {
            let z = f64::from(z) * 20.0 + 0.5;
            // Towards 90° (east) beds go down: 100 m further they lie 1 m lower; in a million years they rise by 500 m.
            assert_eq!(at(z, 0.0, 0.0), at(z - 2.0, 200.0, 0.0));
            assert_eq!(at(z, 0.0, 0.0), at(z + 500.0, 0.0, 1e6));
        }
    }
}
