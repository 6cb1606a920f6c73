//! [`FourierSynthesis`]: periodic ground from a spectrum that follows a power law of frequency.

use rayon::prelude::*;

use crate::model::{About, Blend, Family, MassBalance, Model, Stepper, Tick};
use crate::process::base::{AMOUNT, add_to_ground};
use thalweg_core::base::fourier::{Fourier, Wave};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, Field, Grid, Result, Terrain, choice, params};

choice! {
    /// How the amplitudes of waves follow the power law.
    pub enum Spectrum {
        /// Complex normal numbers, as in white noise: the law holds on average.
        Normal = "normal",
        /// Exactly the law; only the phases are random.
        Exact = "exact",
    }
}

params! {
    /// Adds a sum of waves to the ground, one for each frequency that fits into the world, with smaller amplitudes for
    /// shorter waves.
    ///
    /// z(x, y) = offset + Σₖ Aₖ·exp(2πi(kₓ·x/W + k_y·y/H)) over all integers kₓ, k_y except (0, 0) with fewer than half
    /// a wave per cell, where W and H are the extent; |Aₖ| ∝ |f|^−β with f = (kₓ/W, k_y/H) in waves per metre. Phases
    /// are random, and A₋ₖ is the conjugate of Aₖ, so that z is real. Power falls as |f|^−2β; β = 2 looks like hills,
    /// lower values are rougher. `amplitude` is the standard deviation of all waves that fit up to 128 times into the
    /// longer side.
    ///
    /// Source: Voss (1985, "Random fractal forgeries", doi:10.1007/978-3-642-84574-1_34); Saupe (in Peitgen & Saupe,
    /// The Science of Fractal Images, 1988, ch. 2). Deviations: waves are keyed by their wave numbers rather than by a
    /// field of white noise, frequencies count from both ends, and sides need not be equal.
    ///
    /// Layers: it needs none, uses `amount`, and changes only the ground. The result is a function of world metres for
    /// one extent: windows agree bit for bit, and a finer grid only adds waves. It is periodic: the world tiles with
    /// itself. It is computed as a whole, in one step, with 12 bytes per cell. The blend `multiply` maps three standard
    /// deviations around the offset to factors from 0 to 1.
    ///
    /// Limits: opposite edges match, which does not suit an island; the roughness is the same everywhere; another
    /// extent gives another world; its one step takes half a second for 4096² cells on one core, and grows with the
    /// world.
    pub struct FourierSynthesis {
        /// Rate at which amplitudes fall with frequency: 1.25 gives rough ground, 2 hills, 3 gentle swells.
        beta: f64 = 2.0, within 0.0..=6.0, unit "1", source "Pineau 2018: 1.25 to 3";
        /// Standard deviation of the elevation.
        amplitude: f64 = 350.0, within 0.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the amplitudes of waves follow the power law.
        spectrum: Spectrum = Spectrum::Normal, within .., unit "1", source "Pineau 2018: white noise";
        /// Elevation added everywhere: the mean elevation.
        offset: f64 = 0.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the values are combined with the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

/// Number of waves along the longer side up to which waves count for the standard deviation `amplitude`. Fixed, so that
/// a finer grid changes no wave.
const MAX_COUNTED_WAVES: f64 = 128.0;

impl Model for FourierSynthesis {
    fn about(&self) -> About {
        About {
            name: "fourier_synthesis",
            title: "Fourier synthesis",
            summary: "Periodic hills from waves that shrink by a power of their frequency.",
            source: "Saupe 1988, Algorithms for random fractals",
            family: Family::Base,
            uses: &[AMOUNT],
            loops: true,
            ..About::default()
        }
    }

    fn blend(&self) -> Blend {
        self.blend
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        let world = grid.world[0] as u64 * grid.world[1] as u64;
        8 * world + 4 * grid.len() as u64
    }

    fn start(&self, _: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(Synthesis(self.clone())))
    }
}

struct Synthesis(FourierSynthesis);

impl Stepper for Synthesis {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let Self(model) = self;
        let values = model.synthesize_elevation(&terrain.grid, tick.key);
        let span = [-3.0, 3.0].map(|deviations| model.offset + deviations * model.amplitude);
        let rows = 0..terrain.grid.rows();
        Ok(add_to_ground(terrain, rows, model.blend, span, |i, out| out.copy_from_slice(values.row(i))))
    }
}

impl FourierSynthesis {
    /// Returns the elevation in metres of the window's cells.
    fn synthesize_elevation(&self, grid: &Grid, key: RandomKey) -> Field<f32> {
        // A looped world whose window begins at another cell is the same world, cyclically shifted.
        if grid.topology().is_looped() && grid.origin != Cell::new(0, 0) && grid.size == grid.world {
            let whole = self.synthesize_elevation(&Grid { origin: Cell::new(0, 0), ..grid.clone() }, key);
            return Field::from_fn(grid.size, |i, j| {
                let Cell { row, col } = grid.world_cell(i, j).map(|line| line as usize);
                whole[(row, col)]
            });
        }
        let [rows, cols] = grid.world;
        let columns = self.transform_columns(grid, key);
        let fft = Fourier::plan_inverse(cols);
        let offset = self.offset;
        let mut values = Field::new(grid.size, 0.0f32);
        // Two real rows share one complex transform: the first is its real part, the second its imaginary part. Rows
        // are paired by their number in the world, so a window that begins at an odd row pairs them in the same way.
        let origin = [0, 1].map(|axis| grid.origin[axis] - grid.first[axis]);
        let odd = origin[0].rem_euclid(2) as usize;
        let width = grid.cols();
        let (head, tail) = values.as_mut_slice().split_at_mut(odd * width);
        let pairs = tail.par_chunks_mut(2 * width.max(1)).enumerate().map(|(n, pair)| (2 * n + odd, pair));
        let first = (!head.is_empty()).then_some((0, head));
        first.into_par_iter().chain(pairs).for_each_init(
            || (vec![Wave::default(); cols], vec![Wave::default(); fft.scratch_len()]),
            |(line, scratch), (i, out)| {
                let row = (origin[0] + i as i64).clamp(0, rows as i64 - 1) as usize;
                let upper = row - row % 2;
                pair_line(&columns, [rows, cols], upper, line);
                fft.transform_line(line, scratch);
                for (k, value) in out.iter_mut().enumerate() {
                    let column = (origin[1] + (k % width) as i64).clamp(0, cols as i64 - 1) as usize;
                    let metres = if (row + k / width).is_multiple_of(2) { line[column].re } else { line[column].im };
                    *value = (offset + metres) as f32;
                }
            },
        );
        values
    }

    /// Returns the amplitudes of the waves kₓ, from 0 to below half the columns, in each of the world's rows: one run
    /// of all rows for each kₓ.
    fn transform_columns(&self, grid: &Grid, key: RandomKey) -> Vec<Wave> {
        let [rows, cols] = grid.world;
        let fft = Fourier::plan_inverse(rows);
        let size = self.unit_frequency_amplitude(grid);
        let mut columns = vec![Wave::default(); rows * cols.div_ceil(2)];
        columns.par_chunks_mut(rows).enumerate().for_each_init(
            || vec![Wave::default(); fft.scratch_len()],
            |scratch, (kx, column)| {
                // Only frequencies below half a wave per cell, so that no wave has an alias.
                for ky in 0..rows.div_ceil(2) {
                    let weight = size * self.power_law_weight(grid, ky as f64, kx as f64);
                    column[ky] = self.draw_wave(grid, key, [ky as i64, kx as i64], weight);
                    if ky > 0 {
                        column[rows - ky] = self.draw_wave(grid, key, [-(ky as i64), kx as i64], weight);
                    }
                }
                fft.transform_line(column, scratch);
            },
        );
        columns
    }

    /// Returns the amplitude of wave (k_y, kₓ), kₓ ≥ 0, with its phase relative to the centre of the world's first
    /// cell.
    fn draw_wave(&self, grid: &Grid, key: RandomKey, [ky, kx]: [i64; 2], weight: f64) -> Wave {
        // Among two waves that are complex conjugates only one is drawn.
        let mirrored = kx == 0 && ky < 0;
        let drawn = key.for_cell(if mirrored { [-ky, kx] } else { [ky, kx] });
        let size = match self.spectrum {
            // The size of a complex normal number with a mean square of 1 has this (Rayleigh) distribution.
            Spectrum::Normal => weight * (-libm::log(1.0 - drawn.uniform_unit())).sqrt(),
            Spectrum::Exact => weight,
        };
        let turn = if mirrored { -drawn.derive_key(1).uniform_unit() } else { drawn.derive_key(1).uniform_unit() };
        // The drawn phase refers to the world's corner and is shifted by half a cell to the centre of the first cell,
        // so that finer grids sample the same waves.
        let middle = 0.5 * (ky as f64 / grid.world[0] as f64 + kx as f64 / grid.world[1] as f64);
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * (turn + middle));
        Wave::new(size * cos, size * sin)
    }

    /// Returns |f|^−β, with f in waves along the longer side; 0 at f = 0.
    fn power_law_weight(&self, grid: &Grid, ky: f64, kx: f64) -> f64 {
        let longer = grid.world[0].max(grid.world[1]) as f64;
        let [fy, fx] = [ky * longer / grid.world[0] as f64, kx * longer / grid.world[1] as f64];
        let square = fy * fy + fx * fx;
        if square > 0.0 { libm::pow(square, -0.5 * self.beta) } else { 0.0 }
    }

    /// Returns the amplitude at |f| = 1 for which the counted waves (see [`MAX_COUNTED_WAVES`]) have the requested standard
    /// deviation.
    fn unit_frequency_amplitude(&self, grid: &Grid) -> f64 {
        let longer = grid.world[0].max(grid.world[1]) as f64;
        // A wave along the shorter side has fewer periods at the same frequency.
        let [most_y, most_x] = grid.world.map(|side| (MAX_COUNTED_WAVES * side as f64 / longer) as u32);
        let mut sum = 0.0;
        for ky in 0..=most_y {
            for kx in 0..=most_x {
                let [y, x] = [ky, kx].map(|k| f64::from(k) * longer);
                let square = (y / grid.world[0] as f64).powi(2) + (x / grid.world[1] as f64).powi(2);
                if square <= MAX_COUNTED_WAVES * MAX_COUNTED_WAVES {
                    // A wave number other than 0 occurs with both signs.
                    let twins = f64::from((1 + u32::from(ky > 0)) * (1 + u32::from(kx > 0)));
                    sum += twins * self.power_law_weight(grid, ky.into(), kx.into()).powi(2);
                }
            }
        }
        if sum > 0.0 { self.amplitude / sum.sqrt() } else { 0.0 }
    }
}

/// Builds the spectrum of row `upper` plus i times that of row `upper + 1`, for both signs of kₓ.
fn pair_line(columns: &[Wave], [rows, cols]: [usize; 2], upper: usize, line: &mut [Wave]) {
    let lower = (upper + 1).min(rows - 1);
    line.fill(Wave::default());
    for (kx, column) in columns.chunks_exact(rows).enumerate() {
        let [a, b] = [column[upper], column[lower]];
        if kx == 0 {
            // The sum of waves without columns is real, except for rounding.
            line[0] = Wave::new(a.re, b.re);
        } else {
            line[kx] = a + b.times_i();
            line[cols - kx] = a.conjugate() + b.conjugate().times_i();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::base::testing::{
        assert_windows_agree, average_blocks, make_square_grid, measure_moments, relative_difference,
        run_on_flat_ground,
    };

    /// Returns the sizes of all waves in the surface, by transforming it back: [k_y, kₓ] with both signs, and the
    /// value.
    fn analysed(surface: &Field<f32>) -> Vec<([f64; 2], f64)> {
        let [rows, cols] = surface.size();
        let mut lines: Vec<Wave> = surface.as_slice().iter().map(|z| Wave::new(f64::from(*z), 0.0)).collect();
        let [along, down] = [cols, rows].map(Fourier::plan_forward);
        let mut scratch = vec![Wave::default(); along.scratch_len()];
        lines.chunks_exact_mut(cols).for_each(|row| along.transform_line(row, &mut scratch));
        let mut scratch = vec![Wave::default(); down.scratch_len()];
        let signed = |k: usize, n: usize| if 2 * k > n { k as f64 - n as f64 } else { k as f64 };
        let mut all = Vec::new();
        for kx in 0..cols {
            let mut column: Vec<Wave> = (0..rows).map(|i| lines[i * cols + kx]).collect();
            down.transform_line(&mut column, &mut scratch);
            for (ky, wave) in column.iter().enumerate() {
                all.push((
                    [signed(ky, rows), signed(kx, cols)],
                    wave.squared_magnitude().sqrt() / (rows * cols) as f64,
                ));
            }
        }
        all
    }

    #[test]
    fn every_wave_has_the_size_that_the_law_says() {
        // Values up to 2000 m in `f32` are rounded by up to 6·10⁻⁵: white noise below 6·10⁻⁵/√(cells) = 10⁻⁶ per wave.
        let model = FourierSynthesis { spectrum: Spectrum::Exact, beta: 1.75, offset: 0.0, ..Default::default() };
        for size in [[48, 64], [45, 75], [64, 33]] {
            let grid = Grid::new(size, 20.0).unwrap();
            let first = model.unit_frequency_amplitude(&grid);
            for ([ky, kx], found) in analysed(&model.synthesize_elevation(&grid, RandomKey::new(1, "f"))) {
                let [fy, fx] = [ky / (size[0] as f64 * 20.0), kx / (size[1] as f64 * 20.0)];
                let longer = size[0].max(size[1]) as f64 * 20.0;
                let nyquist = 2.0 * ky.abs() == size[0] as f64 || 2.0 * kx.abs() == size[1] as f64;
                let zero = (ky == 0.0 && kx == 0.0) || nyquist;
                let law = if zero { 0.0 } else { first * (fy.hypot(fx) * longer).powf(-1.75) };
                assert!((found - law).abs() < 2e-6, "{size:?}: wave {ky}, {kx}: {found}, law {law}");
            }
        }
    }

    #[test]
    fn normal_waves_follow_the_law_on_average() {
        // Log-log slope of the amplitude over about 8000 independent waves. Their logarithms scatter by 0.64 about the
        // law, over ln f with a standard deviation of 0.5: standard error 0.64/(0.5·√8000) = 0.014. The tolerance is
        // four of those.
        let model = FourierSynthesis { beta: 1.6, ..Default::default() };
        let waves = analysed(&model.synthesize_elevation(&make_square_grid(128, 3840.0), RandomKey::new(4, "f")));
        let points: Vec<[f64; 2]> = waves
            .iter()
            .filter(|([ky, kx], _)| ky.hypot(*kx) > 0.0 && ky.abs() < 64.0 && kx.abs() < 64.0)
            .map(|([ky, kx], size)| [ky.hypot(*kx).ln(), size.ln()])
            .collect();
        let n = points.len() as f64;
        let [mx, my] = [0, 1].map(|c| points.iter().map(|p| p[c]).sum::<f64>() / n);
        let slope = points.iter().map(|p| (p[0] - mx) * (p[1] - my)).sum::<f64>()
            / points.iter().map(|p| (p[0] - mx).powi(2)).sum::<f64>();
        assert!((slope + 1.6).abs() < 0.056, "{slope}");
    }

    #[test]
    fn amplitude_is_the_standard_deviation() {
        // At β = 2 the waves above 128 have less than 10⁻⁴ of the variance, so the waves on 256 cells are nearly the
        // counted ones.
        let model =
            FourierSynthesis { spectrum: Spectrum::Exact, amplitude: 100.0, offset: 40.0, ..Default::default() };
        let surface = model.synthesize_elevation(&make_square_grid(256, 7680.0), RandomKey::new(2, "f"));
        let [mean, deviation] = measure_moments(&surface.as_slice().iter().map(|z| f64::from(*z)).collect::<Vec<_>>());
        assert!((mean - 40.0).abs() < 1e-3);
        assert!((deviation - 100.0).abs() < 0.02, "{deviation}");
    }

    #[test]
    fn a_finer_grid_only_adds_waves() {
        let model = FourierSynthesis::default();
        let [coarse, fine] = [64, 128]
            .map(|n| analysed(&model.synthesize_elevation(&make_square_grid(n, 3840.0), RandomKey::new(6, "f"))));
        for (k, size) in coarse.iter().filter(|(k, _)| k.iter().all(|k| k.abs() < 32.0)) {
            let same = fine.iter().find(|(other, _)| other == k).unwrap().1;
            assert!((size - same).abs() < 2e-6); // as above
        }
        // The same in place, including phases: block means differ by the waves added (amplitude 1/32² of the first:
        // less than 1 %) and by the attenuation of short waves by the mean over a cell.
        let [coarse, fine] =
            [256, 512].map(|n| run_on_flat_ground(&model, &make_square_grid(n, 3840.0), 6).ground.map(|h| h.metres()));
        let difference = relative_difference(&average_blocks(&coarse, 2), &average_blocks(&fine, 4));
        assert!(difference < 0.01, "{difference}");
    }

    #[test]
    fn windows_are_cut_from_the_whole() {
        for size in [[37, 50], [1, 1], [1, 9], [9, 1], [2, 3]] {
            assert_windows_agree(&FourierSynthesis::default(), &Grid::new(size, 25.0).unwrap());
        }
    }
}
