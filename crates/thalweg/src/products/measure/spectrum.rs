//! How roughness falls with wavelength.

use rayon::prelude::*;

use crate::base::fourier::{Fourier, Wave};
use crate::products::measure::fit::{bins, power};
use crate::products::measure::ground::Ground;
use crate::products::measure::spec::{Curve, Measures, PowerLaw, Scale, Spec, measures};
use crate::terrain::height::UNITS;

pub(super) const SPECS: [Spec; 2] = measures! {
    /// Power density falls as frequency^−β: 2 is rough, 4 smooth; profiles have one less.
    spectral_exponent: "power spectrum, exponent β", Texture, unit "1", usual 2.0 to 4.0,
        source "Huang & Turcotte 1989; Perron et al. 2008";
    /// Near 1 without a favoured size; a row of valleys of one spacing bends or peaks the spectrum.
    spectral_fit: "power spectrum, R² of the law", Texture, unit "1", usual 0.9 to 1.0, source "Perron et al. 2008";
};

/// Sides shorter than this many cells give too few rings.
const LEAST: usize = 32;

/// Rings a decade of frequency.
const RINGS: f64 = 10.0;

pub(super) fn measure(ground: &Ground<'_>, all: &mut Measures) {
    let points = match rings(ground) {
        Ok(points) => points,
        Err(missing) => return all.take(&SPECS, [Err(missing); 2]),
    };
    // Windows blur waves that fit less than four times into the ground; under eight cells, sampling and smoothing rule.
    let [rows, cols] = ground.terrain.grid.size;
    let cell = ground.cell();
    let (from, to) = (4.0 / (rows.min(cols) as f64 * cell), 1.0 / (8.0 * cell));
    let inner: Vec<[f64; 2]> = points.iter().filter(|p| (from..=to).contains(&p[0])).copied().collect();
    let law = power(&inner, 3);
    let short = "too few wavelengths between 8 cells and a quarter of the shorter side";
    let found = law.ok_or(short);
    all.take(&SPECS, [found.map(|law| -law.exponent), found.map(|law| law.r2)]);
    all.curves.push(Curve {
        name: "power_spectrum",
        x: "waves per km",
        y: "power density (m⁴)",
        scale: Scale::Logarithmic,
        // The law likewise in waves per km.
        law: law.map(|law| PowerLaw {
            factor: law.factor * libm::pow(1e-3, law.exponent),
            over: law.over.map(|f| 1e3 * f),
            ..law
        }),
        points: points.iter().map(|[f, p]| [1e3 * f, *p]).collect(),
    });
}

/// Frequency in waves per metre and mean power density (m⁴: m² per (1/m)²) of rings about frequency 0, of the ground less
/// its plane of least squares under a Hann window; missing cells lie in that plane.
fn rings(ground: &Ground<'_>) -> Result<Vec<[f64; 2]>, &'static str> {
    let [rows, cols] = ground.terrain.grid.size;
    if rows.min(cols) < LEAST {
        return Err("a side is shorter than 32 cells");
    }
    if 4 * ground.terrain.nodata_count() > rows * cols {
        return Err("over a quarter of the cells have no data");
    }
    let plane = plane(ground);
    let hann = |n: usize| -> Vec<f64> {
        (0..n).map(|k| 0.5 - 0.5 * libm::cos(std::f64::consts::TAU * (k as f64 + 0.5) / n as f64)).collect()
    };
    let windows = [hann(rows), hann(cols)];
    let [down, across] = windows.each_ref().map(|w| w.iter().map(|x| x * x).sum::<f64>());
    let spectrum = transform(ground, plane, &windows);
    // Parseval: the mean of squares is the sum of densities, each over an area of 1/(rows·cols·cell²) in frequency.
    let scale = ground.terrain.grid.cell_area() / (down * across);
    let [height, width] = [rows, cols].map(|n| n as f64 * ground.cell());
    let mut samples = Vec::with_capacity(spectrum.len());
    let mut any = false;
    for (kx, column) in spectrum.chunks_exact(rows).enumerate() {
        for (n, wave) in column.iter().enumerate() {
            // Of waves with kx of 0, or of half the columns, both that are each other's conjugate are here.
            if 2 * n > rows && (kx == 0 || 2 * kx == cols) {
                continue;
            }
            let ky = if 2 * n > rows { n as f64 - rows as f64 } else { n as f64 };
            let frequency = ((ky / height) * (ky / height) + (kx as f64 / width) * (kx as f64 / width)).sqrt();
            if frequency > 0.0 && frequency <= 0.5 / ground.cell() {
                any |= wave.square() > 0.0;
                samples.push([frequency, wave.square() * scale]);
            }
        }
    }
    // What a plane leaves is rounding: under a unit.
    let total: f64 = samples.iter().map(|s| s[1]).sum::<f64>() / (height * width);
    if !any || total < 1.0 / (UNITS * UNITS) {
        return Err("the ground is a plane");
    }
    let rings = bins(&samples, RINGS, 8);
    Ok(rings.iter().map(|ring| [ring.x, ring.values.iter().sum::<f64>() / ring.values.len() as f64]).collect())
}

/// Height = a + b·i + c·j of least squares, in metres; i and j counted from the middle.
fn plane(ground: &Ground<'_>) -> [f64; 3] {
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
        if whole != 0.0 { determinant(&part) / whole } else { 0.0 }
    })
}

/// The transform's columns, kx from 0 to half the columns, each of all rows' ky.
fn transform(ground: &Ground<'_>, plane: [f64; 3], windows: &[Vec<f64>; 2]) -> Vec<Wave> {
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
    // Two rows, both real, in one complex transform; what is of each is told apart by the symmetry of real spectra.
    let along = Fourier::forward(cols);
    let mut lines = vec![Wave::default(); rows * half];
    lines.par_chunks_mut(2 * half).enumerate().for_each_init(
        || (vec![Wave::default(); cols], vec![Wave::default(); along.scratch()]),
        |(line, scratch), (pair, out)| {
            let i = 2 * pair;
            line.iter_mut().enumerate().for_each(|(j, wave)| *wave = Wave::new(value(i, j), value(i + 1, j)));
            along.run(line, scratch);
            for k in 0..half {
                let (a, b) = (line[k], line[(cols - k) % cols].conj());
                out[k] = (a + b) * 0.5;
                if let Some(lower) = out.get_mut(half + k) {
                    // (a − b) / 2i
                    *lower = Wave::new(0.5 * (a.im - b.im), -0.5 * (a.re - b.re));
                }
            }
        },
    );
    let down = Fourier::forward(rows);
    let mut columns = vec![Wave::default(); rows * half];
    columns.par_chunks_mut(rows).enumerate().for_each_init(
        || vec![Wave::default(); down.scratch()],
        |scratch, (kx, column)| {
            column.iter_mut().enumerate().for_each(|(i, wave)| *wave = lines[i * half + kx]);
            down.run(column, scratch);
        },
    );
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::measure::testing::{fourier, terrain, turned};
    use crate::products::measure::{MeasureSettings, measure};

    #[test]
    fn the_exponent_of_synthesised_ground_is_found_again() {
        // Amplitudes fall as f^−b, so power falls as f^−2b. The widest ring's few waves, blurred by the window, scatter by
        // about 0.4 in ln; over ln f of 2 that is 0.12 in β of one seed, 0.06 in the mean of four: two of those.
        for (size, b) in [([256, 256], 1.25), ([256, 256], 1.75), ([192, 320], 1.5)] {
            let exponent = |seed| {
                let found = measure(&fourier(size, b, seed), &MeasureSettings::default()).unwrap();
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
        let wave = terrain([128, 128], 10.0, |x, _| 8.0 * (std::f64::consts::TAU * x / 80.0).cos() + 0.3 * x + 50.0);
        let found = rings(&Ground::of(&wave)).unwrap();
        let top = found.iter().max_by(|a, b| a[1].total_cmp(&b[1])).unwrap();
        assert!((top[0] * 1e3 / 12.5 - 1.0).abs() < 0.13, "{top:?}");
        let waves = transform(&Ground::of(&wave), plane(&Ground::of(&wave)), &[vec![1.0; 128], vec![1.0; 128]]);
        // The wave is even, so its fit's slope is 0.3 a metre but for a trace: half of the square in each sign of kx.
        let power: f64 = waves[128..].iter().map(|w| 2.0 * w.square()).sum::<f64>() / (128.0f64).powi(4);
        assert!((power - 32.0).abs() < 0.1, "{power}");
    }

    #[test]
    fn a_turn_changes_it_by_rounding_alone() {
        let ground = fourier([96, 64], 1.6, 5);
        let [a, b] = [&ground, &turned(&ground)].map(|t| rings(&Ground::of(t)).unwrap());
        assert_eq!(a.len(), b.len());
        for (p, q) in a.iter().zip(&b) {
            assert!((p[1] / q[1] - 1.0).abs() < 1e-6, "{p:?} {q:?}");
        }
    }
}
