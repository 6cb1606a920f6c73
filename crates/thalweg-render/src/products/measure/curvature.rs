//! The asymmetry of curvature: whether valleys or ridges are sharper.

use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::quantiles::Quantiles;
use crate::products::measure::spec::{Found, Measures, Spec, measures};

pub(super) const SPECS: [Spec; 4] = measures! {
    /// It is 1 to 6 in hills and mountains, at cell sizes of 10 to 90 m. It is larger on finer cells.
    curvature_size: "Laplacian, mean absolute value", Texture, unit "1/km", source "real models, docs/measure.md";
    /// It is above 0 if valleys are sharper than ridges. In real models with cells of 10 to 90 m it is near 0, as in
    /// noise.
    curvature_skewness: "skewness of the Laplacian", Texture, unit "1", usual -0.1 to 0.3,
        source "Minár et al. 2020; real models, docs/measure.md";
    /// It is above 0 if the feet of slopes are sharper than their shoulders, and below 0 if the rims of cliffs are
    /// sharper.
    profile_skewness: "skewness of profile curvature", Texture, unit "1", usual -0.3 to 0.3,
        source "Minár et al. 2020; real models, docs/measure.md";
    /// It is above 0 if hollows are narrower than spurs. Running water makes them so.
    plan_skewness: "skewness of plan curvature", Texture, unit "1", usual -0.2 to 0.4,
        source "Minár et al. 2020; real models, docs/measure.md";
};

/// The share of values in each tail for the skewness.
const TAIL: f64 = 0.05;

/// Accumulates curvatures over all passes of [`Quantiles`].
///
/// All are second derivatives of elevation, positive where the surface is concave: the Laplacian, the derivative
/// along the gradient, and the one across it. Unlike the curvature of contours, none of them grows without bounds
/// where the surface is level.
pub(super) struct Curvatures {
    size: f64,
    laplacian: Quantiles<3>,
    profile: Quantiles<3>,
    plan: Quantiles<3>,
}

impl Curvatures {
    pub fn new() -> Self {
        let [laplacian, profile, plan] = [(); 3].map(|()| Quantiles::new([TAIL, 0.5, 1.0 - TAIL]));
        Self { size: 0.0, laplacian, profile, plan }
    }

    pub fn add_cells(&mut self, ground: &MeasuredLand<'_>, pass: usize) {
        for d in ground.land_cells().filter_map(|cell| ground.fit_derivatives(cell.row, cell.col)) {
            // The Laplacian does not depend on the gradient, so level cells count as well.
            let laplacian = d.xx + d.yy;
            self.laplacian.add_value(laplacian);
            if pass == 0 {
                self.size += laplacian.abs();
            }
            // On level ground there is no direction along or across the gradient.
            if d.x != 0.0 || d.y != 0.0 {
                let square = d.x * d.x + d.y * d.y;
                self.profile.add_value((d.x * d.x * d.xx + 2.0 * d.x * d.y * d.xy + d.y * d.y * d.yy) / square);
                self.plan.add_value((d.y * d.y * d.xx - 2.0 * d.x * d.y * d.xy + d.x * d.x * d.yy) / square);
            }
        }
    }

    pub fn end_pass(&mut self) {
        [&mut self.laplacian, &mut self.profile, &mut self.plan].into_iter().for_each(Quantiles::end_pass);
    }

    pub fn report_measures(&self, all: &mut Measures) {
        let size = match self.laplacian.count {
            0 => Err(NEIGHBOURS),
            n => Ok(1e3 * self.size / n as f64),
        };
        let [laplacian, profile, plan] = [&self.laplacian, &self.profile, &self.plan].map(quantile_skewness);
        all.add_values(&SPECS, [size, laplacian, profile, plan]);
    }
}

const NEIGHBOURS: &str = "no land has eight neighbours with data";

/// Returns (p95 + p5 − 2 · median) / (p95 − p5), −1 to 1 (Hinkley 1975), which unlike the third moment does not
/// depend on a few cliffs.
fn quantile_skewness(values: &Quantiles<3>) -> Found {
    let [low, middle, high] = values.final_values().ok_or(NEIGHBOURS)?;
    if high > low { Ok((high + low - 2.0 * middle) / (high - low)) } else { Err("curvature does not vary") }
}
