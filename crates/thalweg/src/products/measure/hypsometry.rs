//! How much of the land lies how high.

use crate::products::measure::ground::Ground;
use crate::products::measure::spec::{Curve, Measures, Scale, Spec, measures, need_land};
use crate::terrain::height::UNITS;

pub(super) const SPECS: [Spec; 4] = measures! {
    /// Hills tens to hundreds, mountains 1000 m to 5000 m over tens of kilometres.
    relief: "highest less lowest land", Relief, unit "m", source "Ahnert 1970";
    /// Land stands about 800 m above the sea on average.
    mean_height: "mean height of land", Relief, unit "m", source "Eakins & Sharman 2012";
    /// Above 0.6 young land, little cut; 0.35 to 0.6 in balance; below 0.35 low land with lone mountains.
    hypsometric_integral: "hypsometric integral", Relief, unit "1", usual 0.35 to 0.6,
        source "Strahler 1952; Pike & Wilson 1971";
    /// Above 0 where much land is low and little high, as about rivers; below 0 for cut plateaus.
    hypsometric_skewness: "skewness of heights", Relief, unit "1", usual -0.5 to 1.5, source "Harlin 1978";
};

/// Steps of the hypsometric curve.
const STEPS: usize = 100;

pub(super) fn measure(ground: &Ground<'_>, all: &mut Measures) {
    let heights = || ground.cells().map(|[i, j]| ground.terrain.ground[(i, j)].0);
    let low = heights().min().unwrap_or_default();
    let high = heights().max().unwrap_or_default();
    let count = ground.count as f64;
    let mean = heights().map(i128::from).sum::<i128>() as f64 / count;
    let relief = f64::from(high) - f64::from(low);
    let some = need_land(ground);
    let varied = some.and(if high > low { Ok(()) } else { Err("all land has one height") });
    let moment = |power: i32| heights().map(|h| ((f64::from(h) - mean) / relief).powi(power)).sum::<f64>() / count;
    let skewness = varied.map(|()| {
        let deviation = moment(2).sqrt();
        moment(3) / (deviation * deviation * deviation)
    });
    let integral = varied.map(|()| (mean - f64::from(low)) / relief);
    all.take(&SPECS, [some.map(|()| relief / UNITS), some.map(|()| mean / UNITS), integral, skewness]);
    if varied.is_err() {
        return;
    }
    // Cells by the last step of relative height that they reach.
    let mut reached = [0u64; STEPS + 1];
    for h in heights() {
        let above = i64::from(h) - i64::from(low);
        reached[(above * STEPS as i64 / (i64::from(high) - i64::from(low))) as usize] += 1;
    }
    let mut above = 0;
    let mut points: Vec<[f64; 2]> = (0..=STEPS)
        .rev()
        .map(|k| {
            above += reached[k];
            [above as f64 / count, k as f64 / STEPS as f64]
        })
        .collect();
    points.insert(0, [0.0, 1.0]);
    all.curves.push(Curve {
        name: "hypsometric_curve",
        x: "share of land above",
        y: "relative height",
        scale: Scale::Linear,
        points,
        law: None,
    });
}
