//! Random variation of the slope limit from cell to cell.

use rayon::prelude::*;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Field, Grid};
use thalweg_noise::fractal::{Fractal, FractalSettings};

/// Returns a limit of about `tan` (rise over run) for each cell, whose logarithm has a standard deviation of
/// `deviation`: half of the variance is independent from cell to cell, half varies over distances of `wavelength`
/// metres and fractions of it. The limit is a function of world cells and metres.
pub fn vary_slope_limit(grid: &Grid, tan: f64, deviation: f64, wavelength: f64, key: RandomKey) -> Field<f32> {
    if deviation <= 0.0 {
        return Field::new(grid.size, tan as f32);
    }
    let noise = Fractal::new(&FractalSettings::fbm(OCTAVES, wavelength, 0.7), None, key.derive_key(1), grid);
    let mut field = Field::new(grid.size, 0.0);
    let cells = key.derive_key(2);
    field.par_rows_mut().for_each(|(i, row)| {
        noise.fill_row(grid, i, row);
        for (j, value) in row.iter_mut().enumerate() {
            // The noise has a standard deviation of 1/3, a uniform number in ±1 one of 1/√3.
            let spread = 3.0 * f64::from(*value) + 3f64.sqrt() * cells.for_cell(grid.world_cell(i, j)).uniform_signed();
            *value = (tan * libm::exp(deviation * std::f64::consts::FRAC_1_SQRT_2 * spread)) as f32;
        }
    });
    field
}

/// The octaves of the limit's noise.
const OCTAVES: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_has_its_deviation_and_follows_the_world() {
        // The octaves over 512 cells contain some 16² waves of the longest; the white noise is sampled far better.
        // Ten per cent of 0.08 is three standard errors of the noise's half.
        let grid = Grid::new([512, 512], 10.0).unwrap();
        let key = RandomKey::new(1, "jitter");
        let field = vary_slope_limit(&grid, 0.7, 0.08, 300.0, key);
        let logs: Vec<f64> = field.as_slice().iter().map(|t| libm::log(f64::from(*t) / 0.7)).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let deviation = (logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / logs.len() as f64).sqrt();
        assert!(mean.abs() < 0.02 && (deviation - 0.08).abs() < 0.008, "{mean} {deviation}");
        let part = thalweg_core::terrain::CellRect::new([100, 37], [20, 30]);
        assert_eq!(vary_slope_limit(&grid.window(part), 0.7, 0.08, 300.0, key), field.copy_window(part));
    }
}
