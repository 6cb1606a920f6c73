//! Hypsometry: the distribution of elevations.

use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::spec::{AxisScale, Curve, Measures, Spec, measures, need_land};
use thalweg_core::terrain::height::UNITS;

pub(super) const SPECS: [Spec; 4] = measures! {
    /// Relief is tens to hundreds of metres in hills, and 1000 m to 5000 m over tens of kilometres in mountains.
    relief: "relief, highest minus lowest land", Relief, unit "m", source "Ahnert 1970";
    /// The mean elevation of the Earth's land is about 800 m above the sea.
    mean_height: "mean elevation of land", Relief, unit "m", source "Eakins & Sharman 2012";
    /// It is above 0.6 in young, little incised land, 0.35 to 0.6 in land in equilibrium, and below 0.35 in low land
    /// with isolated mountains.
    hypsometric_integral: "hypsometric integral", Relief, unit "1", usual 0.35 to 0.6,
        source "Strahler 1952; Pike & Wilson 1971";
    /// It is above 0 where much land is low and little is high, as along rivers, and below 0 in incised plateaus.
    hypsometric_skewness: "skewness of elevations", Relief, unit "1", usual -0.5 to 1.5, source "Harlin 1978";
};

/// The number of steps of the hypsometric curve.
const STEPS: usize = 100;

/// Elevation statistics, accumulated in two passes.
#[derive(Default)]
pub(super) struct Hypsometry {
    range: Option<[i32; 2]>,
    sum: i128,
    count: usize,
    /// The sums of the second and third powers of relative height about the mean, not divided by the number of cells.
    moments: [f64; 2],
    /// The number of cells by the last step of relative height that they reach.
    reached: Vec<u64>,
}

impl Hypsometry {
    pub fn add_cells(&mut self, ground: &MeasuredLand<'_>, pass: usize) {
        let heights = ground.land_cells().map(|cell| ground.terrain.ground[cell].0);
        if pass == 0 {
            for h in heights {
                // The first pass determines range and mean, on which the second depends.
                self.range = Some(self.range.map_or([h; 2], |[low, high]| [low.min(h), high.max(h)]));
                self.sum += i128::from(h);
                self.count += 1;
            }
        } else if let (1, Some([low, high])) = (pass, self.range.filter(|[low, high]| high > low)) {
            let (mean, relief) = (self.sum as f64 / self.count as f64, f64::from(high) - f64::from(low));
            let [low, wide] = [i64::from(low), i64::from(high) - i64::from(low)];
            // Step STEPS is reached by the highest cells alone.
            self.reached.resize(STEPS + 1, 0);
            for h in heights {
                // Powers are taken of relative heights, so that their sums keep their digits for any relief.
                let off = (f64::from(h) - mean) / relief;
                self.moments = [self.moments[0] + off.powi(2), self.moments[1] + off.powi(3)];
                // The class is computed in integers, so that a height on a border always belongs to the upper class.
                self.reached[((i64::from(h) - low) * STEPS as i64 / wide) as usize] += 1;
            }
        }
    }

    pub fn report_measures(&self, all: &mut Measures) {
        let [low, high] = self.range.unwrap_or_default().map(f64::from);
        let (count, relief) = (self.count as f64, high - low);
        let mean = self.sum as f64 / count;
        let some = need_land(self.count);
        let varied = some.and(if high > low { Ok(()) } else { Err("all land has one elevation") });
        let skewness = varied.map(|()| {
            let deviation = (self.moments[0] / count).sqrt();
            self.moments[1] / count / (deviation * deviation * deviation)
        });
        let integral = varied.map(|()| (mean - low) / relief);
        all.add_values(&SPECS, [some.map(|()| relief / UNITS), some.map(|()| mean / UNITS), integral, skewness]);
        if varied.is_err() {
            return;
        }
        // The curve is accumulated from the highest step down.
        let mut above = 0;
        let mut points: Vec<[f64; 2]> = (0..=STEPS)
            .rev()
            .map(|k| {
                above += self.reached.get(k).copied().unwrap_or_default();
                [above as f64 / count, k as f64 / STEPS as f64]
            })
            .collect();
        points.insert(0, [0.0, 1.0]);
        all.curves.push(Curve {
            name: "hypsometric_curve",
            x: "share of land above",
            y: "relative height",
            scale: AxisScale::Linear,
            points,
            law: None,
        });
    }
}
