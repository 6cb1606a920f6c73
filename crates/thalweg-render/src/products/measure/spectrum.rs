//! The power spectrum: how roughness decreases with wavelength.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::products::measure::fit::{bin_samples, fit_power_law};
use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::spec::{AxisScale, Curve, Found, Measures, PowerLaw, Spec, measures};
use thalweg_core::base::fourier::{Fourier, Wave};
use thalweg_core::terrain::height::UNITS;

pub(super) const SPECS: [Spec; 5] = measures! {
    /// Power density decreases as frequency^−β, with β = 2 for rough and 4 for smooth land. The exponent of profiles is
    /// smaller by 1.
    spectral_exponent: "power spectrum, exponent β", Texture, unit "1", usual 2.0 to 4.0,
        source "Huang & Turcotte 1989; Perron et al. 2008";
    /// It is near 1 if no wavelength dominates. Valleys at one spacing bend the spectrum or add a peak to it.
    spectral_fit: "power spectrum, R² of the law", Texture, unit "1", usual 0.9 to 1.0, source "Perron et al. 2008";
    /// It is the exponent β for wavelengths of 2 km to 8 km (ranges, main valleys), in terrain at least 32 km across.
    spectral_large: "power spectrum, β of 2 to 8 km", Texture, unit "1", usual 1.9 to 5.0,
        source "Perron et al. 2008; real models, docs/measure.md";
    /// It is the amplitude of waves of 15 m to 30 m (gullies, blocks), divided by that of 480 m to 960 m, for cells up
    /// to 7.5 m.
    spectral_fine: "fine waves relative to hillslopes", Texture, unit "1", usual 0.008 to 0.05,
        source "real models, docs/measure.md";
    /// It is 0 if the land is as rough along the axes as between them. It is above 0 in lattice noise and in models
    /// with eight directions.
    axis_excess: "power within 10° of the axes, excess", Grid, unit "1", usual -0.3 to 0.15,
        source "real models, docs/measure.md";
};

/// The least number of cells of a side; shorter sides give too few rings.
const MIN_SIDE_CELLS: usize = 32;

/// The number of rings per decade of frequency.
const RINGS: f64 = 10.0;

/// The wavelengths in metres of large landforms.
const LARGE: [f64; 2] = [2000.0, 8000.0];

/// The wavelengths in metres of fine landforms, and those of the hillslopes to which they are compared.
const FINE_WAVELENGTHS_M: [[f64; 2]; 2] = [[15.0, 30.0], [480.0, 960.0]];

/// tan 10°: a wave closer to an axis than this counts as running along it.
const AXIS: f64 = 0.176_326_981;

/// The power of one wave of the terrain.
struct SpectrumSample {
    /// The frequency in waves per metre eastward and northward.
    frequency: [f64; 2],
    /// The power density in m⁴.
    density: f64,
}

impl SpectrumSample {
    /// Returns the frequency in waves per metre.
    fn radial_frequency(&self) -> f64 {
        let [x, y] = self.frequency;
        (x * x + y * y).sqrt()
    }

    fn is_along_an_axis(&self) -> bool {
        let [x, y] = self.frequency.map(f64::abs);
        x.min(y) <= AXIS * x.max(y)
    }
}

pub(super) fn measure_spectrum(ground: &MeasuredLand<'_>, all: &mut Measures) {
    let samples = match sample_spectrum(ground) {
        Ok(samples) => samples,
        Err(missing) => return all.add_values(&SPECS, [Err(missing); 5]),
    };
    let points = average_rings(&samples);
    // Window functions blur waves that fit less than four times into the terrain; below eight cells per wave,
    // sampling and smoothing dominate.
    let [rows, cols] = ground.terrain.grid.size;
    let cell = ground.cell_size();
    let (from, to) = (4.0 / (rows.min(cols) as f64 * cell), 1.0 / (8.0 * cell));
    let inner: Vec<[f64; 2]> = points.iter().filter(|p| (from..=to).contains(&p[0])).copied().collect();
    let law = fit_power_law(&inner, 3);
    let short = "too few wavelengths between 8 cells and a quarter of the shorter side";
    let found = law.ok_or(short);
    let (large, fine, axes) = (
        fit_large_exponent(ground, &points),
        fine_wave_ratio(ground, &samples),
        axis_excess(&samples, [from, to], law.map_or(3.0, |law| -law.exponent)),
    );
    all.add_values(&SPECS, [found.map(|law| -law.exponent), found.map(|law| law.r2), large, fine, axes]);
    all.curves.push(Curve {
        name: "power_spectrum",
        x: "waves per km",
        y: "power density (m⁴)",
        scale: AxisScale::Logarithmic,
        // The law in waves per km as well.
        law: law.map(|law| PowerLaw {
            factor: law.factor * libm::pow(1e-3, law.exponent),
            over: law.over.map(|f| 1e3 * f),
            ..law
        }),
        points: points.iter().map(|[f, p]| [1e3 * f, *p]).collect(),
    });
}

/// Returns true if waves of these lengths fit into the terrain four times and have at least two cells each.
fn can_fit_waves(ground: &MeasuredLand<'_>, [shortest, longest]: [f64; 2]) -> bool {
    let [rows, cols] = ground.terrain.grid.size;
    rows.min(cols) as f64 * ground.cell_size() >= 4.0 * longest && 2.0 * ground.cell_size() <= shortest
}

/// Returns the exponent of the large landforms.
fn fit_large_exponent(ground: &MeasuredLand<'_>, points: &[[f64; 2]]) -> Found {
    if !can_fit_waves(ground, LARGE) {
        return Err("narrower than 32 km, or cells wider than 1 km");
    }
    let [shortest, longest] = LARGE;
    let inner: Vec<[f64; 2]> =
        // Frequencies are the reciprocals of wavelengths, so the ends change places.
        points.iter().filter(|p| (1.0 / longest..=1.0 / shortest).contains(&p[0])).copied().collect();
    fit_power_law(&inner, 3).map(|law| -law.exponent).ok_or("too few wavelengths from 2 km to 8 km")
}

/// Returns the ratio of the amplitude of fine waves to that of hillslopes.
fn fine_wave_ratio(ground: &MeasuredLand<'_>, samples: &[SpectrumSample]) -> Found {
    if !FINE_WAVELENGTHS_M.iter().all(|band| can_fit_waves(ground, *band)) {
        return Err("narrower than 3.84 km, or cells wider than 7.5 m");
    }
    let [fine, hills] = FINE_WAVELENGTHS_M.map(|[shortest, longest]| {
        let band = samples.iter().filter(|s| (1.0 / longest..1.0 / shortest).contains(&s.radial_frequency()));
        // The sum of the densities in a band, not their mean, is its part of the terrain's variance, whose root is an
        // amplitude.
        band.map(|s| s.density).sum::<f64>()
    });
    if hills > 0.0 { Ok((fine / hills).sqrt()) } else { Err("no waves of 480 m to 960 m") }
}

/// The least number of waves near the axes in a ring for it to count.
const NEAR_AXES: f64 = 32.0;

/// Returns the relative excess of the mean density near the axes over that of all directions, averaged over the rings
/// between two frequencies, so that long waves do not dominate. Within a ring, densities are corrected for their
/// decrease as frequency^−β.
fn axis_excess(samples: &[SpectrumSample], [from, to]: [f64; 2], beta: f64) -> Found {
    let mut rings = BTreeMap::<i64, [[f64; 2]; 2]>::new();
    for sample in samples.iter().filter(|s| (from..=to).contains(&s.radial_frequency())) {
        let ring = libm::log10(sample.radial_frequency()) * RINGS;
        // Each density is scaled to the frequency at which the rings begin.
        let density = sample.density * libm::pow(sample.radial_frequency() / from, beta);
        let [all, near] = rings.entry(ring.floor() as i64).or_default();
        let add = |sum: &mut [f64; 2]| *sum = [sum[0] + density, sum[1] + 1.0];
        add(all);
        if sample.is_along_an_axis() {
            add(near);
        }
    }
    let mean = |[sum, count]: [f64; 2]| sum / count;
    let counts = |[all, near]: &&[[f64; 2]; 2]| near[1] >= NEAR_AXES && all[0] > 0.0;
    let shares: Vec<f64> = rings.values().filter(counts).map(|[all, near]| mean(*near) / mean(*all) - 1.0).collect();
    // Fewer than three rings would give an unreliable mean.
    if shares.len() < 3 {
        return Err("too few waves near the axes");
    }
    Ok(shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Returns the frequency in waves per metre and the mean power density (m⁴: m² per (1/m)²) of rings about frequency
/// 0.
fn average_rings(samples: &[SpectrumSample]) -> Vec<[f64; 2]> {
    let pairs: Vec<[f64; 2]> = samples.iter().map(|sample| [sample.radial_frequency(), sample.density]).collect();
    let rings = bin_samples(&pairs, RINGS, 8);
    rings.iter().map(|ring| [ring.x, ring.values.iter().sum::<f64>() / ring.values.len() as f64]).collect()
}

/// Returns the power of each wave of the terrain, after subtraction of its least-squares plane, under a Hann window.
/// Missing cells are treated as being in that plane.
fn sample_spectrum(ground: &MeasuredLand<'_>) -> Result<Vec<SpectrumSample>, &'static str> {
    let [rows, cols] = ground.terrain.grid.size;
    if rows.min(cols) < MIN_SIDE_CELLS {
        return Err("a side is shorter than 32 cells");
    }
    if 4 * ground.terrain.nodata_count() > rows * cols {
        return Err("over a quarter of the cells have no data");
    }
    let plane = fit_plane(ground);
    // The window is sampled at the middles of cells, so that it is symmetric.
    let hann = |n: usize| -> Vec<f64> {
        (0..n).map(|k| 0.5 - 0.5 * libm::cos(std::f64::consts::TAU * (k as f64 + 0.5) / n as f64)).collect()
    };
    let windows = [hann(rows), hann(cols)];
    let [down, across] = windows.each_ref().map(|w| w.iter().map(|x| x * x).sum::<f64>());
    let spectrum = fourier_transform(ground, plane, &windows);
    // Parseval's theorem: the mean square equals the sum of densities, each over an area of 1/(rows·cols·cell²) in
    // frequency space.
    let scale = ground.terrain.grid.cell_area() / (down * across);
    let [height, width] = [rows, cols].map(|n| n as f64 * ground.cell_size());
    let mut samples = Vec::with_capacity(spectrum.len());
    let mut any = false;
    for (kx, column) in spectrum.chunks_exact(rows).enumerate() {
        for (n, wave) in column.iter().enumerate() {
            // The spectrum contains both of each pair of conjugate waves if kx is 0 or half the columns; only one of
            // them is used.
            if 2 * n > rows && (kx == 0 || 2 * kx == cols) {
                continue;
            }
            // Rows of the transform beyond half contain the negative frequencies.
            let ky = if 2 * n > rows { n as f64 - rows as f64 } else { n as f64 };
            let sample = SpectrumSample {
                frequency: [kx as f64 / width, ky / height],
                density: wave.squared_magnitude() * scale,
            };
            // Waves shorter than two cells exist only in diagonal directions and are left out; so is the mean.
            if sample.radial_frequency() > 0.0 && sample.radial_frequency() <= 0.5 / ground.cell_size() {
                any |= wave.squared_magnitude() > 0.0;
                samples.push(sample);
            }
        }
    }
    // What remains after subtracting a plane from itself is rounding, less than a unit.
    let total: f64 = samples.iter().map(|s| s.density).sum::<f64>() / (height * width);
    if !any || total < 1.0 / (UNITS * UNITS) {
        return Err("the ground is a plane");
    }
    Ok(samples)
}

/// Returns the least-squares plane, elevation = a + b·i + c·j in metres, with i and j counted from the middle.
fn fit_plane(ground: &MeasuredLand<'_>) -> [f64; 3] {
    let [rows, cols] = ground.terrain.grid.size;
    let (ci, cj) = (0.5 * (rows as f64 - 1.0), 0.5 * (cols as f64 - 1.0));
    // Normal equations, solved by Cramer's rule.
    let mut m = [[0.0; 3]; 3];
    let mut v = [0.0; 3];
    for i in 0..rows {
        for j in (0..cols).filter(|j| !ground.terrain.is_nodata(i, *j)) {
            let x = [1.0, i as f64 - ci, j as f64 - cj];
            let z = ground.terrain.ground[(i, j)].metres();
            for a in 0..3 {
                (0..3).for_each(|b| m[a][b] += x[a] * x[b]);
                v[a] += x[a] * z;
            }
        }
    }
    let determinant = |m: &[[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let whole = determinant(&m);
    [0, 1, 2].map(|column| {
        let mut part = m;
        (0..3).for_each(|row| part[row][column] = v[row]);
        // Land of one row or column has no plane; the coefficients are then 0.
        if whole != 0.0 { determinant(&part) / whole } else { 0.0 }
    })
}

/// Returns the columns of the Fourier transform, kx from 0 to half the columns, each with the ky of all rows.
fn fourier_transform(ground: &MeasuredLand<'_>, plane: [f64; 3], windows: &[Vec<f64>; 2]) -> Vec<Wave> {
    let [rows, cols] = ground.terrain.grid.size;
    let (ci, cj) = (0.5 * (rows as f64 - 1.0), 0.5 * (cols as f64 - 1.0));
    let half = cols / 2 + 1;
    let value = |i: usize, j: usize| {
        if i >= rows || ground.terrain.is_nodata(i, j) {
            return 0.0;
        }
        let trend = plane[0] + plane[1] * (i as f64 - ci) + plane[2] * (j as f64 - cj);
        (ground.terrain.ground[(i, j)].metres() - trend) * windows[0][i] * windows[1][j]
    };
    // Two real rows are combined in one complex transform; their spectra are separated by the symmetry of real
    // The last of an odd number of rows is combined with zeros.
    // spectra.
    let along = Fourier::plan_forward(cols);
    let mut lines = vec![Wave::default(); rows * half];
    lines.par_chunks_mut(2 * half).enumerate().for_each_init(
        || (vec![Wave::default(); cols], vec![Wave::default(); along.scratch_len()]),
        |(line, scratch), (pair, out)| {
            let i = 2 * pair;
            line.iter_mut().enumerate().for_each(|(j, wave)| *wave = Wave::new(value(i, j), value(i + 1, j)));
            along.transform_line(line, scratch);
            for k in 0..half {
                let (a, b) = (line[k], line[(cols - k) % cols].conjugate());
                out[k] = (a + b) * 0.5;
                if let Some(lower) = out.get_mut(half + k) {
                    // (a − b) / 2i
                    *lower = Wave::new(0.5 * (a.im - b.im), -0.5 * (a.re - b.re));
                }
            }
        },
    );
    let down = Fourier::plan_forward(rows);
    let mut columns = vec![Wave::default(); rows * half];
    columns.par_chunks_mut(rows).enumerate().for_each_init(
        || vec![Wave::default(); down.scratch_len()],
        |scratch, (kx, column)| {
            column.iter_mut().enumerate().for_each(|(i, wave)| *wave = lines[i * half + kx]);
            down.transform_line(column, scratch);
        },
    );
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::measure::testing::{make_fourier_hills, rotate_quarter_turn, terrain_from_formula};
    use crate::products::measure::{MeasureOptions, measure_terrain};

    #[test]
    fn the_exponent_of_synthesised_ground_is_found_again() {
        // Amplitudes decrease as f^−b, so power decreases as f^−2b. The widest ring's few waves, blurred by the
        // window, scatter by about 0.4 in ln; over a range of 2 in ln f that is 0.12 in β for one seed and 0.06 in
        // the mean of four. The limit is two of those.
        for (size, b) in [([256, 256], 1.25), ([256, 256], 1.75), ([192, 320], 1.5)] {
            let exponent = |seed| {
                let found = measure_terrain(&make_fourier_hills(size, b, seed), &MeasureOptions::default()).unwrap();
                assert!(found.value("spectral_fit").unwrap() > 0.97);
                found.value("spectral_exponent").unwrap()
            };
            let beta = (1..5).map(exponent).sum::<f64>() / 4.0;
            assert!((beta - 2.0 * b).abs() < 0.12, "{size:?} {b}: {beta}");
        }
    }

    #[test]
    fn a_wave_stands_where_it_belongs_with_its_power() {
        // Amplitude 8 m, 16 waves in 128 cells of 10 m: 12.5 waves per km, mean square 32 m².
        let wave = terrain_from_formula([128, 128], 10.0, |x, _| {
            8.0 * (std::f64::consts::TAU * x / 80.0).cos() + 0.3 * x + 50.0
        });
        let found = average_rings(&sample_spectrum(&MeasuredLand::new(&wave)).unwrap());
        let top = found.iter().max_by(|a, b| a[1].total_cmp(&b[1])).unwrap();
        assert!((top[0] * 1e3 / 12.5 - 1.0).abs() < 0.13, "{top:?}");
        let waves = fourier_transform(
            &MeasuredLand::new(&wave),
            fit_plane(&MeasuredLand::new(&wave)),
            &[vec![1.0; 128], vec![1.0; 128]],
        );
        // The wave is even, so the slope of its fit is 0.3 per metre apart from a trace; each sign of kx has half of
        // the mean square.
        let power: f64 = waves[128..].iter().map(|w| 2.0 * w.squared_magnitude()).sum::<f64>() / (128.0f64).powi(4);
        assert!((power - 32.0).abs() < 0.1, "{power}");
    }

    #[test]
    fn waves_along_an_axis_are_power_in_excess_and_waves_between_are_not() {
        let of = |angle: f64| {
            let (east, north) = (angle.cos(), angle.sin());
            // Hills, and waves of 130 m across them in one direction.
            let hills = make_fourier_hills([256, 256], 1.5, 3);
            let z = |x: f64, y: f64| 20.0 * ((x * east + y * north) * std::f64::consts::TAU / 130.0).cos();
            let mut land = terrain_from_formula([256, 256], 10.0, z);
            for (to, from) in land.ground.as_mut_slice().iter_mut().zip(hills.ground.as_slice()) {
                to.0 += from.0;
            }
            measure_terrain(&land, &MeasureOptions::default()).unwrap().value("axis_excess").unwrap()
        };
        let plain = measure_terrain(&make_fourier_hills([256, 256], 1.5, 3), &MeasureOptions::default()).unwrap();
        let plain = plain.value("axis_excess").unwrap();
        let found = [0.0, std::f64::consts::FRAC_PI_2, 0.785].map(of);
        assert!(plain.abs() < 0.06, "{plain}");
        assert!(found[0] > plain + 0.2 && found[1] > plain + 0.2 && found[2] < plain + 0.1, "{plain} {found:?}");
    }

    #[test]
    fn fine_waves_are_set_against_hillslopes() {
        // 0.3 m of 20 m waves on top of 10 m of 640 m waves.
        let land = terrain_from_formula([800, 800], 5.0, |x, y| {
            let wave = |x: f64, length: f64| (x * std::f64::consts::TAU / length).cos();
            0.3 * wave(x, 20.0) + 10.0 * wave(y, 640.0)
        });
        let found = measure_terrain(&land, &MeasureOptions::default()).unwrap();
        assert!((found.value("spectral_fine").unwrap() - 0.03).abs() < 1e-3);
        assert!(found.value("spectral_large").is_none());
    }

    #[test]
    fn a_turn_changes_it_by_rounding_alone() {
        let ground = make_fourier_hills([96, 64], 1.6, 5);
        let [a, b] = [&ground, &rotate_quarter_turn(&ground)]
            .map(|t| average_rings(&sample_spectrum(&MeasuredLand::new(t)).unwrap()));
        assert_eq!(a.len(), b.len());
        for (p, q) in a.iter().zip(&b) {
            assert!((p[1] / q[1] - 1.0).abs() < 1e-6, "{p:?} {q:?}");
        }
    }
}
