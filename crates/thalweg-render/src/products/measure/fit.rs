//! Line fits, quantiles and logarithmic bins.

use crate::products::measure::spec::PowerLaw;

/// A straight line y = intercept + slope · x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FittedLine {
    pub slope: f64,
    pub intercept: f64,
    /// The share of the variance that the line explains; 1 for points that do not vary in y.
    pub r2: f64,
}

/// Returns the least-squares line; `None` if there are fewer than two different x.
pub(super) fn fit_line(points: &[[f64; 2]]) -> Option<FittedLine> {
    let n = points.len() as f64;
    // Sums are taken about the means, because sums of squares of large numbers would lose digits.
    let [mx, my] = [0, 1].map(|c| points.iter().map(|p| p[c]).sum::<f64>() / n);
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| f(p[0] - mx, p[1] - my)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    let slope = xy / xx;
    let r2 = if yy > 0.0 { (xy * slope / yy).clamp(0.0, 1.0) } else { 1.0 };
    // Without two different x the slope is not a number, and no line is returned.
    (xx > 0.0).then_some(FittedLine { slope, intercept: my - slope * mx, r2 })
}

/// Returns the power law that is the least-squares fit in logarithms, over the positive points; `None` if there are
/// fewer than `least` of them.
pub(super) fn fit_power_law(points: &[[f64; 2]], least: usize) -> Option<PowerLaw> {
    let above = points.iter().filter(|p| p[0] > 0.0 && p[1] > 0.0);
    let logs: Vec<[f64; 2]> = above.clone().map(|p| p.map(libm::log)).collect();
    let line = fit_line(&logs).filter(|_| logs.len() >= least)?;
    let over = above.fold([f64::INFINITY, 0.0], |[low, high], p| [low.min(p[0]), p[0].max(high)]);
    Some(PowerLaw { factor: libm::exp(line.intercept), exponent: line.slope, r2: line.r2, over })
}

/// Returns the quantile `q` of the values, which is one of them; `None` if there are none. Reorders the values.
pub(super) fn select_quantile(values: &mut [f64], q: f64) -> Option<f64> {
    // Selecting the quantile takes linear time, and the value does not depend on the order of the others.
    let last = values.len().checked_sub(1)?;
    let (_, value, _) = values.select_nth_unstable_by((q * last as f64).round() as usize, f64::total_cmp);
    Some(*value)
}

/// Samples whose x is in the same part of a decade.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bin {
    /// The geometric mean of the samples' x.
    pub x: f64,
    /// The samples' y, in no particular order.
    pub values: Vec<f64>,
}

/// Sorts samples (x > 0) into `per_decade` bins per decade of x, in ascending order. Bins with fewer than `least`
/// samples are left out.
pub(super) fn bin_samples(samples: &[[f64; 2]], per_decade: f64, least: usize) -> Vec<Bin> {
    let mut sorted: Vec<(i64, f64, f64)> = samples
        .iter()
        .filter(|s| s[0] > 0.0)
        .map(|[x, y]| ((libm::log10(*x) * per_decade).floor() as i64, libm::log(*x), *y))
        .collect();
    // Integer keys first, then values, so that the result does not depend on the order of the samples.
    sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2)));
    let bins = sorted.chunk_by(|a, b| a.0 == b.0).filter(|bin| bin.len() >= least.max(1));
    bins.map(|bin| {
        let mean = bin.iter().map(|s| s.1).sum::<f64>() / bin.len() as f64;
        Bin { x: libm::exp(mean), values: bin.iter().map(|s| s.2).collect() }
    })
    .collect()
}

/// Returns at most `most` of the samples, taken at even intervals.
pub(super) fn thin_samples(samples: &[[f64; 2]], most: usize) -> Vec<[f64; 2]> {
    // The interval is rounded up, so that there are never more than `most` samples.
    samples.iter().step_by(samples.len().div_ceil(most.max(1)).max(1)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_laws_are_found_again() {
        let found = fit_line(&[[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]]).unwrap();
        assert_eq!((found.slope, found.intercept, found.r2), (2.0, 1.0, 1.0));
        // Computed by hand: means 1 and 1, Σxy = 1, Σx² = 2, Σy² = 2, so the slope is 0.5 and R² = 0.25.
        let rough = fit_line(&[[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]).unwrap();
        assert!((rough.slope - 0.5).abs() < 1e-15 && (rough.r2 - 0.25).abs() < 1e-15);
        assert!(fit_line(&[[1.0, 1.0], [1.0, 2.0]]).is_none() && fit_line(&[]).is_none());
        let points: Vec<[f64; 2]> = (1..9).map(|x| [f64::from(x), 3.0 * f64::from(x).powf(-0.45)]).collect();
        let law = fit_power_law(&points, 8).unwrap();
        assert!((law.exponent + 0.45).abs() < 1e-12 && (law.factor - 3.0).abs() < 1e-12);
        assert!(fit_power_law(&points, 9).is_none());
    }

    #[test]
    fn quantiles_and_bins() {
        let mut values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!([0.0, 0.5, 1.0].map(|q| select_quantile(&mut values, q).unwrap()), [1.0, 3.0, 5.0]);
        assert_eq!(select_quantile(&mut [], 0.5), None);
        let found = bin_samples(&[[200.0, 1.0], [1.0, 2.0], [4.0, 8.0], [0.0, 9.0]], 1.0, 2);
        assert_eq!(found.len(), 1);
        assert!((found[0].x - 2.0).abs() < 1e-12 && found[0].values == [2.0, 8.0]);
        assert_eq!(thin_samples(&[[1.0, 1.0]; 10], 3).len(), 3);
    }
}
