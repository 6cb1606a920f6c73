//! [`remove_terraces()`]: removes the terraces of heights that were rounded to steps, by restoring the slopes between
//! the steps.
//!
//! A height that was rounded to a step was within half a step of the stored value. Of all surfaces within half a step
//! of the stored one, cell by cell, this module finds the smoothest: that with the least bending energy of a thin plate
//! (Σ h_xx² + 2 h_xy² + h_yy², natural boundary conditions). Planes have no bending energy, so slopes are kept, and
//! every cell still rounds to its stored height. This is the obstacle problem for the biharmonic operator. It is solved
//! from coarse to fine (cascadic multigrid, Bornemann and Deuflhard 1996), where the bounds of a coarse cell are the
//! means of the bounds of its 2 × 2 cells; on each level by projected gradient steps with momentum (Beck and Teboulle
//! 2009, FISTA).

use rayon::prelude::*;

use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Height, Size};

/// The number of gradient steps on each level.
// Each level starts from the solution of the coarser one, so a fixed number suffices. More steps come closer to the
// smoothest surface, and the time is proportional to their number.
const SWEEPS: usize = 80;

/// The greatest eigenvalue of the operator: (Σ of second differences ≤ 4 + 4)². Its inverse is the step length.
// Longer steps may diverge, and shorter ones converge more slowly.
const STIFFEST: f32 = 64.0;

/// Levels whose shorter side is below twice this number of cells are not coarsened further.
const COARSEST: usize = 4;

/// Moves every height by at most half of `step` metres so that terraces `step` apart become slopes. Cells where
/// `nodata`, of the ground's size, is true keep their height and do not affect their neighbours. A step that is not
/// positive and finite changes nothing. The result does not depend on the number of threads. For example, elevations
/// that were stored in whole metres have a step of 1 m.
///
/// # Examples
/// An oblique plane that was rounded to steps of 4 m is restored.
///
/// ```
/// use thalweg_core::{Field, Height};
/// use thalweg_io::deterrace::remove_terraces;
///
/// let plane = |i: usize, j: usize| 0.31 * i as f64 + 0.17 * j as f64 + 1.0;
/// let mut ground = Field::from_fn([64, 96], |i, j| Height::from_metres_clamped((plane(i, j) / 4.0).round() * 4.0));
/// let error = |ground: &Field<Height>| (ground[(32, 48)].metres() - plane(32, 48)).abs();
/// assert!(error(&ground) > 0.5);
/// remove_terraces(&mut ground, None, 4.0);
/// assert!(error(&ground) < 0.5);
/// ```
pub fn remove_terraces(ground: &mut Field<Height>, nodata: Option<&Field<bool>>, step: f64) {
    if ground.is_empty() || !(step.is_finite() && step > 0.0) {
        return;
    }
    // Heights are expressed in steps relative to a cell in the middle, so that f32 resolves 1/60 000 of a step over a
    // range of 256 steps.
    let base = ground[ground.len() / 2];
    let unit = step * UNITS;
    let masked = |k: usize| nodata.is_some_and(|mask| mask[k]);
    let cells = ground.as_slice();
    let stored: Vec<f32> = cells.par_iter().map(|h| ((f64::from(h.0) - f64::from(base.0)) / unit) as f32).collect();
    // Cells without data may take any height, so they do not constrain their neighbours.
    let slack: Vec<f32> = (0..cells.len()).map(|k| if masked(k) { f32::INFINITY } else { 0.5 }).collect();
    let tube = Tube { size: ground.size(), middle: stored, slack };
    let smooth = tube.relax_surface();
    // The limit is rounded towards zero, so rounding never moves a height by more than half a step.
    let half = (0.5 * unit) as i32;
    ground.as_mut_slice().par_iter_mut().enumerate().for_each(|(k, height)| {
        if !masked(k) {
            let moved = (f64::from(smooth[k] - tube.middle[k]) * unit).round() as i32;
            *height = Height(height.0.saturating_add(moved.clamp(-half, half))).clamped();
        }
    });
}

/// The set of admissible surfaces: within `slack` of `middle`, cell by cell.
struct Tube {
    size: Size,
    middle: Vec<f32>,
    slack: Vec<f32>,
}

impl Tube {
    /// Returns an approximation of the smoothest surface in the tube.
    fn relax_surface(&self) -> Vec<f32> {
        let [rows, cols] = self.size;
        // The solution on the coarser level is the start on this one.
        let start = if rows.min(cols) >= 2 * COARSEST {
            let coarse = self.halve_resolution();
            double_resolution(&coarse.relax_surface(), coarse.size, self.size)
        } else {
            self.middle.clone()
        };
        let clamp = |k: usize, x: f32| x.max(self.middle[k] - self.slack[k]).min(self.middle[k] + self.slack[k]);
        let mut now: Vec<f32> = start.par_iter().enumerate().map(|(k, x)| clamp(k, *x)).collect();
        let mut ahead = now.clone();
        let mut before = now.clone();
        let mut weight = 1.0_f32;
        for _ in 0..SWEEPS {
            std::mem::swap(&mut now, &mut before); // `before` is the last surface; `now` is overwritten
            // A gradient step from the extrapolated surface, projected onto the tube.
            // Every cell is computed from the extrapolated surface alone, so the result is the same for any number of
            // threads.
            now.par_chunks_mut(cols).enumerate().for_each(|(i, row)| {
                for (j, x) in row.iter_mut().enumerate() {
                    let k = i * cols + j;
                    *x = clamp(k, ahead[k] - bending_gradient(&ahead, self.size, i, j) / STIFFEST);
                }
            });
            // The momentum of FISTA: the next step starts from a surface extrapolated beyond the new one.
            let next = 0.5 * (1.0 + (1.0 + 4.0 * weight * weight).sqrt());
            let push = (weight - 1.0) / next;
            weight = next;
            ahead.par_iter_mut().enumerate().for_each(|(k, x)| *x = now[k] + push * (now[k] - before[k]));
        }
        now
    }

    /// Returns the tube on cells twice as wide: means over 2 × 2 cells (fewer at odd edges). Cells without data are
    /// used only where there are no others.
    fn halve_resolution(&self) -> Self {
        let size = self.size.map(|n| n.div_ceil(2));
        let mean = |k: usize| {
            let (i, j) = (2 * (k / size[1]), 2 * (k % size[1]));
            let (mut sum, mut count, mut rest) = (0.0, 0.0, 0.0);
            for (i, j) in [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)] {
                // With an odd number of rows or columns, the last blocks have only one or two cells.
                if i < self.size[0] && j < self.size[1] {
                    let k = i * self.size[1] + j;
                    rest = self.middle[k];
                    if self.slack[k].is_finite() {
                        sum += self.middle[k];
                        count += 1.0;
                    }
                }
            }
            if count > 0.0 { (sum / count, 0.5) } else { (rest, f32::INFINITY) }
        };
        let (middle, slack) = (0..size[0] * size[1]).into_par_iter().map(mean).unzip();
        Self { size, middle, slack }
    }
}

/// Returns half the gradient of the bending energy at cell (i, j).
fn bending_gradient(h: &[f32], [rows, cols]: Size, i: usize, j: usize) -> f32 {
    let at = |i: usize, j: usize| h[i * cols + j];
    if (2..rows.saturating_sub(2)).contains(&i) && (2..cols.saturating_sub(2)).contains(&j) {
        // These are the 13 points of the discrete biharmonic operator. Opposite cells are added first, so a mirrored or
        // transposed surface has the same bits.
        let near = (at(i - 1, j) + at(i + 1, j)) + (at(i, j - 1) + at(i, j + 1));
        let diagonal = (at(i - 1, j - 1) + at(i + 1, j + 1)) + (at(i - 1, j + 1) + at(i + 1, j - 1));
        let far = (at(i - 2, j) + at(i + 2, j)) + (at(i, j - 2) + at(i, j + 2));
        return 20.0 * at(i, j) - 8.0 * near + 2.0 * diagonal + far;
    }
    // Near an edge only the second differences inside the field count.
    // `along` is the part of h_xx² or h_yy²: the second differences in which the cell takes part, with weights 1, −2,
    // 1.
    let along = |n: usize, c: usize, at: &dyn Fn(usize) -> f32| {
        let second = |m: usize| if m >= 1 && m + 1 < n { (at(m - 1) + at(m + 1)) - 2.0 * at(m) } else { 0.0 };
        let low = if c > 0 { second(c - 1) } else { 0.0 };
        (low + second(c + 1)) - 2.0 * second(c)
    };
    // `twist` is the mixed difference h_xy of a block of 2 × 2 cells. The cell is part of up to four such blocks.
    let twist = |i: usize, j: usize| {
        if i + 1 < rows && j + 1 < cols { (at(i, j) + at(i + 1, j + 1)) - (at(i, j + 1) + at(i + 1, j)) } else { 0.0 }
    };
    let mut mixed = twist(i, j);
    if i > 0 && j > 0 {
        mixed += twist(i - 1, j - 1);
    }
    if i > 0 {
        mixed -= twist(i - 1, j);
    }
    if j > 0 {
        mixed -= twist(i, j - 1);
    }
    along(cols, j, &|j| at(i, j)) + along(rows, i, &|i| at(i, j)) + 2.0 * mixed
}

/// Interpolates a surface to twice as many cells: bilinear between the centres of the coarse cells, and extrapolated
/// beyond the outermost ones.
fn double_resolution(coarse: &[f32], from: Size, to: Size) -> Vec<f32> {
    // The centre of fine cell f is at f/2 − 1/4 in coarse cells. Returns the neighbours below and above, and the weight
    // of the upper one.
    let between = |f: usize, n: usize| {
        let low = f.div_ceil(2).saturating_sub(1).min(n.saturating_sub(2));
        (low, (low + 1).min(n - 1), f as f32 * 0.5 - 0.25 - low as f32)
    };
    let mut fine = vec![0.0; to[0] * to[1]];
    fine.par_chunks_mut(to[1]).enumerate().for_each(|(i, row)| {
        let (north, south, down) = between(i, from[0]);
        for (j, x) in row.iter_mut().enumerate() {
            let (west, east, right) = between(j, from[1]);
            let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
            let at = |i: usize, j: usize| coarse[i * from[1] + j];
            *x = mix(mix(at(north, west), at(north, east), right), mix(at(south, west), at(south, east), right), down);
        }
    });
    fine
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f64 = 4.0;

    /// Returns the heights of `truth` in metres, rounded to steps, and the same after `deterrace`.
    fn both(size: Size, nodata: Option<&Field<bool>>, truth: &Field<f64>) -> [Field<Height>; 2] {
        let stored = Field::from_fn(size, |i, j| match nodata {
            Some(mask) if mask[(i, j)] => Height::ZERO,
            _ => Height::from_metres_clamped((truth[(i, j)] / STEP).round() * STEP),
        });
        let mut smooth = stored.clone();
        remove_terraces(&mut smooth, nodata, STEP);
        [stored, smooth]
    }

    /// Returns the root mean square difference to the truth, in steps.
    fn error(field: &Field<Height>, truth: &Field<f64>) -> f64 {
        let square = |(h, t): (&Height, &f64)| ((h.metres() - t) / STEP).powi(2);
        (field.as_slice().iter().zip(truth.as_slice()).map(square).sum::<f64>() / field.len() as f64).sqrt()
    }

    #[test]
    fn an_oblique_plane_comes_back_with_its_slopes() {
        // A plane that crosses the steps at many places within their rows is determined by the crossings: each crossing
        // is known to one cell, and 64 × 96 cells leave an uncertainty far below a hundredth of a step.
        let size = [64, 96];
        let truth = Field::from_fn(size, |i, j| 0.31 * i as f64 + 0.17 * j as f64 + 1.0);
        let [stored, smooth] = both(size, None, &truth);
        assert!(error(&stored, &truth) > 0.28); // 1/√12: the error of the rounding itself
        assert!(error(&smooth, &truth) < 0.01);
        for i in 0..63 {
            for j in 0..95 {
                let east = smooth[(i, j + 1)].metres() - smooth[(i, j)].metres();
                let south = smooth[(i + 1, j)].metres() - smooth[(i, j)].metres();
                assert!((east - 0.17).abs() < 0.01 && (south - 0.31).abs() < 0.01, "{i} {j}: {east} {south}");
            }
        }
    }

    #[test]
    fn a_paraboloid_comes_back_in_its_summit_too() {
        // The surface is not recovered exactly, because a smoother surface fits the steps as well. The test requires a
        // third of the rounding error.
        let size = [201, 300];
        let truth =
            Field::from_fn(size, |i, j| 800.0 - 0.01 * (i as f64 - 100.0).powi(2) - 0.02 * (j as f64 - 140.0).powi(2));
        let [stored, smooth] = both(size, None, &truth);
        assert!(error(&smooth, &truth) < error(&stored, &truth) / 3.0);
        assert!((smooth[(100, 140)].metres() - 800.0).abs() < 0.25 * STEP);
        // Slopes over 8 cells: the error of the rounding alone is up to one step over 8 cells (0.5); the test allows a
        // fifth of that.
        let slope = |field: &dyn Fn(usize) -> f64, j: usize| (field(j + 8) - field(j)) / 8.0;
        for j in (0..290).step_by(8) {
            let is = slope(&|j| smooth[(60, j)].metres(), j);
            let should = slope(&|j| truth[(60, j)], j);
            assert!((is - should).abs() < 0.1, "{j}: {is} for {should}");
        }
    }

    #[test]
    fn no_cell_moves_more_than_half_a_step_and_threads_do_not_show() {
        let size = [47, 90];
        let key = thalweg_core::base::rng::RandomKey::new(1, "deterrace");
        let truth = Field::from_fn(size, |i, j| 60.0 * key.for_cell([i as i64 / 5, j as i64 / 7]).uniform_unit());
        let [stored, smooth] = both(size, None, &truth);
        for (a, b) in stored.as_slice().iter().zip(smooth.as_slice()) {
            assert!((a.metres() - b.metres()).abs() <= 0.5 * STEP);
        }
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| both(size, None, &truth))[1], smooth);
        }
    }

    #[test]
    fn cells_without_data_stay_and_do_not_pull() {
        let size = [64, 96];
        let truth = Field::from_fn(size, |i, j| 500.0 + 0.31 * i as f64 + 0.17 * j as f64);
        let mask = Field::from_fn(size, |i, j| (20..40).contains(&i) && (30..60).contains(&j));
        let [_, smooth] = both(size, Some(&mask), &truth);
        for i in 0..64 {
            for j in 0..96 {
                if mask[(i, j)] {
                    assert_eq!(smooth[(i, j)], Height::ZERO);
                } else {
                    let error = (smooth[(i, j)].metres() - truth[(i, j)]).abs() / STEP;
                    assert!(error < 0.1, "{i} {j}: {error}");
                }
            }
        }
    }

    #[test]
    fn small_and_flat_fields_pass() {
        for size in [[1, 1], [1, 7], [2, 3], [9, 1], [17, 8]] {
            let truth = Field::new(size, 12.0);
            let [stored, smooth] = both(size, None, &truth);
            assert_eq!(stored, smooth);
        }
    }
}
