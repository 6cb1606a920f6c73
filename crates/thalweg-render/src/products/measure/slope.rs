//! Slopes and aspects.

use std::f64::consts::TAU;

use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::quantiles::Quantiles;
use crate::products::measure::spec::{AxisScale, Curve, Measures, Spec, measures, need_land};
use crate::products::slope::central_gradient;

pub(super) const SPECS: [Spec; 8] = measures! {
    /// Valley floors and flats have slopes of 0° to 3° where rivers deposit sediment, and of 5° or more in young
    /// mountains.
    slope_p05: "slope, 5th percentile", Relief, unit "°", source "real models, docs/measure.md";
    /// The median slope is up to 2° in plains, 5° to 15° in hills and 20° to 35° in mountains. It is smaller on larger
    /// cells.
    slope_median: "slope, median", Relief, unit "°", usual 2.0 to 35.0, source "Montgomery & Brandon 2002";
    /// The range is 9° to 19° in mountains with valley floors, slopes and walls, and a few degrees in land with uniform
    /// slopes.
    slope_range: "slope, interquartile range", Relief, unit "°", usual 3.0 to 22.0,
        source "real models, docs/measure.md";
    /// Slopes of soil and scree are stable at up to 30° to 40°. Steeper land is rock and covers a small area.
    slope_p95: "slope, 95th percentile", Relief, unit "°", usual 5.0 to 50.0, source "Burbank et al. 1996";
    /// Hills have no rock walls, mountains that rivers incise have a few per cent, and glaciated land has more. Finer
    /// cells resolve more of them.
    slope_over_40: "land steeper than 40°", Relief, unit "%", usual 0.0 to 25.0,
        source "Burbank et al. 1996; real models, docs/measure.md";
    /// It is above 0 in lowlands, which have many gentle and few steep slopes. It is near 0 where slopes are at their
    /// limiting angle.
    slope_skewness: "skewness of slopes", Relief, unit "1", usual -0.8 to 2.5, source "Wolinsky & Pratson 2005";
    /// It is 0 if no aspect is favoured by its angle to the grid. Models with only eight directions give tens of per
    /// cent.
    aspect_alignment: "aspects at multiples of 45°, excess", Grid, unit "%", usual -10.0 to 15.0,
        source "Fairfield & Leymarie 1991";
    /// It is 0 if all aspects are equally frequent, and 1 if all slopes face one way. Tilted blocks and scarps have
    /// high values.
    aspect_strength: "strength of the mean aspect", Relief, unit "1", usual 0.0 to 0.5,
        source "real models, docs/measure.md";
};

/// The number of classes of aspect, each of 5°.
const ASPECTS: usize = 72;

/// The least rise per metre (2°) for an aspect: on gentler terrain the rounding of elevations would determine it.
const FACING: f64 = 0.034_920_769;

/// The half-width in degrees of the range that counts as being at a multiple of 45°.
const ASPECT_HALF_WIDTH_DEG: f64 = 2.5;

/// Slope statistics, accumulated over all passes of [`Quantiles`].
pub(super) struct SlopeStatistics {
    /// Quantiles of the rise per metre; angles are only computed for quantiles and class borders.
    quantiles: Quantiles<5>,
    borders: Vec<f64>,
    histogram: [u64; 90],
    sum: f64,
    /// The sums of the second and third powers about the mean, not divided by the number of cells.
    moments: [f64; 2],
    aspects: Aspects,
}

impl SlopeStatistics {
    pub fn new() -> Self {
        Self {
            quantiles: Quantiles::new([0.05, 0.25, 0.5, 0.75, 0.95]),
            borders: (1..90).map(|degree| libm::tan(f64::from(degree).to_radians())).collect(),
            histogram: [0; 90],
            sum: 0.0,
            moments: [0.0; 2],
            aspects: Aspects { classes: [0; ASPECTS], near: 0, count: 0, sum: [0.0; 2] },
        }
    }

    pub fn add_cells(&mut self, ground: &MeasuredLand<'_>, pass: usize) {
        // The mean is known from the second pass on; in the first it is not used.
        let mean = self.sum / self.quantiles.count as f64;
        for cell in ground.land_cells() {
            let [east, north] = central_gradient(ground.terrain, cell.row, cell.col);
            let rise = (east * east + north * north).sqrt();
            self.quantiles.add_value(rise);
            if pass == 0 {
                self.sum += rise;
                // The borders of the classes are tangents, so that no angle is computed per cell.
                self.histogram[self.borders.partition_point(|border| *border <= rise)] += 1;
                self.aspects.add_cell(ground, cell.row, cell.col);
            } else if pass == 1 {
                let off = rise - mean;
                self.moments = [self.moments[0] + off * off, self.moments[1] + off * off * off];
            }
        }
    }

    pub fn end_pass(&mut self) {
        self.quantiles.end_pass();
    }

    pub fn report_measures(&self, all: &mut Measures) {
        let count = self.quantiles.count as f64;
        let some = need_land(self.quantiles.count as usize);
        let skewness = some.and_then(|()| self.skewness());
        let degrees = self.quantiles.final_values().map(|all| all.map(|rise| libm::atan(rise).to_degrees()));
        let quantile = |n: usize| degrees.map(|all| all[n]).ok_or("there is no land");
        let steep = some.map(|()| 100.0 * self.histogram[40..].iter().sum::<u64>() as f64 / count);
        let (alignment, strength) = (self.aspects.grid_alignment(), self.aspects.mean_aspect_strength());
        let range = quantile(3).and_then(|high| Ok(high - quantile(1)?));
        all.add_values(&SPECS, [quantile(0), quantile(2), range, quantile(4), steep, skewness, alignment, strength]);
        if some.is_ok() {
            let points = self.histogram.iter().enumerate();
            all.curves.push(Curve {
                name: "slope_histogram",
                x: "slope (°)",
                y: "share of land (% per °)",
                scale: AxisScale::Linear,
                points: points.map(|(k, n)| [k as f64 + 0.5, 100.0 * *n as f64 / count]).collect(),
                law: None,
            });
        }
        if self.aspects.count > 0 {
            let share = |n: &u64| 100.0 * *n as f64 / self.aspects.count as f64;
            all.curves.push(Curve {
                name: "aspect_histogram",
                x: "aspect (° from north)",
                y: "share of slopes over 2° (% per 5°)",
                scale: AxisScale::Linear,
                points: self.aspects.classes.iter().enumerate().map(|(k, n)| [5.0 * k as f64, share(n)]).collect(),
                law: None,
            });
        }
    }

    /// Returns the third moment about the mean divided by the cube of the standard deviation.
    fn skewness(&self) -> Result<f64, &'static str> {
        let n = self.quantiles.count as f64;
        let [two, three] = self.moments;
        let deviation = (two / n).sqrt();
        // Rounding may leave a small deviation even if all values are equal.
        if deviation > 1e-9 * (self.sum / n) {
            Ok(three / n / (deviation * deviation * deviation))
        } else {
            Err("all slopes are equal")
        }
    }
}

/// Statistics of the aspects of slopes.
struct Aspects {
    /// Classes of 5° clockwise from north, the first centred on north.
    classes: [u64; ASPECTS],
    /// The number of slopes within [`ASPECT_HALF_WIDTH_DEG`] of a multiple of 45°.
    near: u64,
    /// The number of slopes with an aspect.
    count: u64,
    /// The sums of their aspects' unit vectors, east and north.
    sum: [f64; 2],
}

impl Aspects {
    fn add_cell(&mut self, ground: &MeasuredLand<'_>, i: usize, j: usize) {
        let Some(d) = ground.fit_derivatives(i, j) else { return };
        let rise = (d.x * d.x + d.y * d.y).sqrt();
        if rise < FACING {
            return;
        }
        // The downhill direction, clockwise from north.
        let turn = libm::atan2(-d.x, -d.y) / TAU;
        // The angle is reduced to 0 to 360°; class 0 is centred on north, so degrees are rounded and not cut off.
        let degrees = 360.0 * (turn - turn.floor());
        self.classes[(degrees / 5.0).round() as usize % ASPECTS] += 1;
        let off = degrees - 45.0 * (degrees / 45.0).round();
        self.near += u64::from(off.abs() <= ASPECT_HALF_WIDTH_DEG);
        self.count += 1;
        self.sum[0] -= d.x / rise;
        self.sum[1] -= d.y / rise;
    }

    fn require_count(&self) -> Result<f64, &'static str> {
        if self.count >= 100 { Ok(self.count as f64) } else { Err("fewer than 100 cells are steeper than 2°") }
    }

    /// Returns the excess in % of slopes near a multiple of 45° over a uniform distribution.
    fn grid_alignment(&self) -> Result<f64, &'static str> {
        // A uniform distribution has 2·NEAR of each 45° within the range.
        self.require_count()
            .map(|count| 100.0 * (self.near as f64 / count * 45.0 / (2.0 * ASPECT_HALF_WIDTH_DEG) - 1.0))
    }

    fn mean_aspect_strength(&self) -> Result<f64, &'static str> {
        let [east, north] = self.sum;
        self.require_count().map(|count| (east * east + north * north).sqrt() / count)
    }
}
