//! Separable resampling filters from `n` samples to `m`: the weights of the old samples in each new sample.

use rayon::prelude::*;

use crate::{Field, Size};

/// How new samples are placed relative to the old ones, and how they are interpolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// End samples coincide (N − 1 intervals). Catmull–Rom (1974) interpolation when there are more new samples than
    /// old, low-pass when there are fewer. Values beyond an end are the point reflection of the samples about the end,
    /// so planes and end values are kept exactly. May overshoot at spikes.
    Smooth,
    /// End samples coincide. Linear interpolation when there are more new samples than old, low-pass when there are
    /// fewer. Values beyond an end are the end value. Never leaves the range of the old samples.
    Convex,
    /// Cells on cells: the area-weighted mean of the old cells inside the new cell. Keeps the mean.
    Area,
    /// The interval between the end samples is divided into as many equal parts as there are new samples; each new
    /// sample is at the middle of a part, as a texel is between vertices. Linear interpolation when there are more new
    /// samples than old, low-pass when there are fewer.
    Middles,
}

/// The filter along one axis.
#[derive(Debug, Clone)]
pub struct AxisFilter {
    /// For each new sample, the indices of the old samples in ascending order and their weights, which sum to 1.
    pub weights: Vec<Vec<(usize, f64)>>,
    /// For each new sample, the index of the nearest old one.
    pub nearest: Vec<usize>,
}

impl AxisFilter {
    /// Computes the filter from `n` samples to `m`; both must be at least 1.
    pub fn new(n: usize, m: usize, kernel: Kernel) -> Self {
        let last = n.saturating_sub(1) as f64;
        // The number of old samples per new one, and the position of the first new sample in old samples.
        let (step, first) = match kernel {
            Kernel::Area => (n as f64 / m as f64, 0.5 * n as f64 / m as f64 - 0.5),
            Kernel::Middles => (last / m as f64, 0.5 * last / m as f64),
            // A single new sample is in the middle, because there is no interval between ends.
            _ if m < 2 => (n as f64, last / 2.0),
            _ => (last / (m - 1) as f64, 0.0),
        };
        let place = |k: usize| first + k as f64 * step;
        let weights = (0..m).map(|k| {
            // Weights are computed once per row and column of the result, not once per sample.
            let at = place(k);
            let raw = match kernel {
                Kernel::Area => overlap_weights(at, step),
                // With fewer new samples than old ones, interpolation would skip old samples and alias.
                _ if step > 1.0 => low_pass(at, step),
                Kernel::Smooth => catmull_rom(at),
                Kernel::Convex | Kernel::Middles => linear_weights(at),
            };
            fold_into_range(raw, n, kernel == Kernel::Smooth)
        });
        // Adding ½ and truncating rounds to the nearest sample, halves up.
        let nearest = |k: usize| (place(k).clamp(0.0, last) + 0.5) as usize;
        Self { weights: weights.collect(), nearest: (0..m).map(nearest).collect() }
    }
}

/// Filters the samples `value(i, j)` along both axes. Each sum is computed in a fixed order, so the result does not
/// depend on the number of threads.
pub fn resample_values(
    size: Size,
    value: impl Fn(usize, usize) -> f64 + Sync,
    rows: &AxisFilter,
    cols: &AxisFilter,
) -> Field<f64> {
    let mut out = Field::new([rows.weights.len(), cols.weights.len()], 0.0);
    out.par_rows_mut().for_each(|(i, row)| {
        // First the weighted sum of rows, then that of columns.
        let mut line = vec![0.0; size[1]];
        for &(r, weight) in &rows.weights[i] {
            for (j, sum) in line.iter_mut().enumerate() {
                *sum += weight * value(r, j);
            }
        }
        for (cell, weights) in row.iter_mut().zip(&cols.weights) {
            *cell = weights.iter().map(|&(c, weight)| weight * line[c]).sum();
        }
    });
    out
}

/// Returns, for each new sample, whether any of the old samples with a weight in it is marked.
pub fn resample_mask(mask: &Field<bool>, rows: &AxisFilter, cols: &AxisFilter) -> Field<bool> {
    let mut out = Field::new([rows.weights.len(), cols.weights.len()], false);
    out.par_rows_mut().for_each(|(i, row)| {
        let marked = |c: usize| rows.weights[i].iter().any(|&(r, _)| mask[(r, c)]);
        // A column is combined once per new row, not once per new sample.
        let line: Vec<bool> = (0..mask.cols()).map(marked).collect();
        for (cell, weights) in row.iter_mut().zip(&cols.weights) {
            *cell = weights.iter().any(|&(c, _)| line[c]);
        }
    });
    out
}

/// Returns the overlap of each cell [k − ½, k + ½] with the interval [at − step/2, at + step/2], as a share of the
/// interval.
fn overlap_weights(at: f64, step: f64) -> Vec<(i64, f64)> {
    let (from, to) = (at - step / 2.0, at + step / 2.0);
    let overlap = |k: i64| (to.min(k as f64 + 0.5) - from.max(k as f64 - 0.5)).max(0.0) / step;
    // The range may include a cell without overlap at either end; its weight is 0 and it is dropped later.
    ((from + 0.5).floor() as i64..=(to + 0.5).ceil() as i64).map(|k| (k, overlap(k))).collect()
}

/// Returns the weights of the mean of the linear interpolant over [at − step/2, at + step/2]: a box filter convolved
/// with a triangle, which is exact on planes.
fn low_pass(at: f64, step: f64) -> Vec<(i64, f64)> {
    let (from, to) = (at - step / 2.0, at + step / 2.0);
    // The integral of the hat function from −∞ to t.
    let hat = |t: f64| match t {
        t if t <= -1.0 => 0.0,
        t if t <= 0.0 => (t + 1.0) * (t + 1.0) / 2.0,
        t if t < 1.0 => 1.0 - (1.0 - t) * (1.0 - t) / 2.0,
        _ => 1.0,
    };
    let weight = |k: i64| (hat(to - k as f64) - hat(from - k as f64)) / step;
    (from.floor() as i64..=to.ceil() as i64).map(|k| (k, weight(k))).collect()
}

fn linear_weights(at: f64) -> Vec<(i64, f64)> {
    let k = at.floor();
    let t = at - k;
    vec![(k as i64, 1.0 - t), (k as i64 + 1, t)]
}

fn catmull_rom(at: f64) -> Vec<(i64, f64)> {
    let k = at.floor();
    let t = at - k;
    // These are the weights of the cubic with the slopes (right − left)/2 at the two inner samples; they sum to 1.
    let weights = [
        ((2.0 - t) * t - 1.0) * t / 2.0,
        ((3.0 * t - 5.0) * t * t + 2.0) / 2.0,
        ((4.0 - 3.0 * t) * t + 1.0) * t / 2.0,
        (t - 1.0) * t * t / 2.0,
    ];
    (-1..=2).map(|d| k as i64 + d).zip(weights).collect()
}

/// Replaces samples beyond the ends by samples inside and sums equal indices: with `mirror` as 2·end − mirrored sample,
/// otherwise as the end sample.
fn fold_into_range(raw: Vec<(i64, f64)>, n: usize, mirror: bool) -> Vec<(usize, f64)> {
    let last = n as i64 - 1;
    let mut weights: Vec<(usize, f64)> = Vec::with_capacity(raw.len());
    // The index is clamped again, because with few samples a mirrored one may be beyond the other end.
    let mut put = |k: i64, weight: f64| {
        let k = k.clamp(0, last) as usize;
        match weights.iter_mut().find(|(at, _)| *at == k) {
            Some((_, sum)) => *sum += weight,
            None => weights.push((k, weight)),
        }
    };
    for (k, weight) in raw.into_iter().filter(|(_, weight)| *weight != 0.0) {
        let end = k.clamp(0, last);
        if mirror && k != end {
            put(end, 2.0 * weight);
            put(2 * end - k, -weight);
        } else {
            put(k, weight);
        }
    }
    weights.retain(|(_, weight)| *weight != 0.0);
    // Ascending indices fix the order of summation.
    weights.sort_by_key(|(k, _)| *k);
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_and_place_the_sample() {
        for kernel in [Kernel::Smooth, Kernel::Convex, Kernel::Area, Kernel::Middles] {
            for n in [1, 2, 3, 5, 16, 17, 100] {
                for m in [1, 2, 3, 7, 16, 33, 99, 257] {
                    let axis = AxisFilter::new(n, m, kernel);
                    assert_eq!((axis.weights.len(), axis.nearest.len()), (m, m));
                    for (k, weights) in axis.weights.iter().enumerate() {
                        let sum: f64 = weights.iter().map(|t| t.1).sum();
                        let place: f64 = weights.iter().map(|t| t.0 as f64 * t.1).sum();
                        assert!((sum - 1.0).abs() < 1e-12, "{kernel:?} {n} to {m}");
                        if kernel == Kernel::Smooth && m > 1 {
                            let want = k as f64 * (n - 1) as f64 / (m - 1) as f64;
                            assert!((place - want).abs() < 1e-9 * n as f64, "{n} to {m}: {place} for {want}");
                        }
                        if kernel != Kernel::Smooth {
                            assert!(weights.iter().all(|t| t.1 > 0.0));
                        }
                    }
                }
            }
        }
    }
}
