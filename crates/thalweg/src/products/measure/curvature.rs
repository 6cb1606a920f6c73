//! Whether valleys or ridges are sharper.

use crate::products::measure::fit::quantile;
use crate::products::measure::ground::{Derivatives, Ground};
use crate::products::measure::spec::{Found, Measures, Spec, measures};

pub(super) const SPECS: [Spec; 4] = measures! {
    /// 1 to 6 in hills and mountains seen at 10 to 90 m; it grows as cells get finer.
    curvature_size: "Laplacian, mean size", Texture, unit "1/km", source "real models, docs/measure.md";
    /// Above 0: valleys are sharper than ridges; near 0 in real models of 10 to 90 m, as in noise.
    curvature_skewness: "skewness of the Laplacian", Texture, unit "1", usual -0.1 to 0.3,
        source "Minár et al. 2020; real models, docs/measure.md";
    /// Above 0: feet of slopes are sharper than shoulders; below 0: cliffs' rims are.
    profile_skewness: "skewness of curvature down the slope", Texture, unit "1", usual -0.3 to 0.3,
        source "Minár et al. 2020; real models, docs/measure.md";
    /// Above 0: hollows are narrower than spurs, as running water makes them.
    plan_skewness: "skewness of curvature across the slope", Texture, unit "1", usual -0.2 to 0.4,
        source "Minár et al. 2020; real models, docs/measure.md";
};

/// The tails' share in the skewness.
const TAIL: f64 = 0.05;

/// All curvatures are second derivatives of height, above 0 where ground is hollow: the Laplacian, that along the
/// gradient, that across it. So none grows beyond bounds where ground is level, as the curvature of contours does.
pub(super) fn measure(ground: &Ground<'_>, all: &mut Measures) {
    let fitted: Vec<Derivatives> = ground.cells().filter_map(|[i, j]| ground.derivatives(i, j)).collect();
    let mut laplacian: Vec<f64> = fitted.iter().map(|d| d.xx + d.yy).collect();
    let inclined = || fitted.iter().filter(|d| d.x != 0.0 || d.y != 0.0);
    let mut profile: Vec<f64> = inclined()
        .map(|d| (d.x * d.x * d.xx + 2.0 * d.x * d.y * d.xy + d.y * d.y * d.yy) / (d.x * d.x + d.y * d.y))
        .collect();
    let mut plan: Vec<f64> = inclined()
        .map(|d| (d.y * d.y * d.xx - 2.0 * d.x * d.y * d.xy + d.x * d.x * d.yy) / (d.x * d.x + d.y * d.y))
        .collect();
    let size = match laplacian.len() {
        0 => Err(NEIGHBOURS),
        n => Ok(1e3 * laplacian.iter().map(|l| l.abs()).sum::<f64>() / n as f64),
    };
    all.take(&SPECS, [size, skewness(&mut laplacian), skewness(&mut profile), skewness(&mut plan)]);
}

const NEIGHBOURS: &str = "no land has eight neighbours with data";

/// (p95 + p5 − 2 · median) / (p95 − p5), −1 to 1 (Hinkley 1975): unlike the third moment it does not hang on a few cliffs.
fn skewness(values: &mut [f64]) -> Found {
    let mut at = |q| quantile(values, q).ok_or(NEIGHBOURS);
    let [low, middle, high] = [at(TAIL)?, at(0.5)?, at(1.0 - TAIL)?];
    if high > low { Ok((high + low - 2.0 * middle) / (high - low)) } else { Err("curvature does not vary") }
}
