//! Properties of the rock: its uplift rate, its erodibility and its strata.

use crate::models::stream_power::StreamPower;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Grid, Point};
use thalweg_noise::strata::{BedSettings, Beds, Octaves, Pile, Risen, SpatialValue, StandingBeds, Strike, log_normal};

/// The elongation of faults relative to that of the rock between them.
const FAULTS: f64 = 2.0;

/// Returns the direction along which the rock varies less, in the stage with this key.
fn draw_strike(model: &StreamPower, key: RandomKey) -> Strike {
    Strike::from_key(model.fabric, key.derive_key(8))
}

/// The rock's properties as functions of the place, computed once for a grid.
pub struct RockProperties {
    /// The uplift in height units per year; a single value if it does not vary.
    uplift: SpatialValue,
    /// The erodibility relative to the parameter's; a single value if it does not vary.
    erodibility: SpatialValue,
    beds: Option<Beds>,
}

impl RockProperties {
    /// Computes the rock of the stage with this key.
    pub fn new(model: &StreamPower, grid: &Grid, key: RandomKey) -> Self {
        let strike = draw_strike(model, key);
        let regional = |variation: f64, wavelength: f64, key: RandomKey| {
            Octaves::with_red_spectrum(variation, wavelength, key, grid).map(|noise| noise.stretch_along(strike))
        };
        // Each property has a subkey of its own, so that switching one on does not change the others.
        let uplift = regional(model.uplift_variation, model.uplift_wavelength, key.derive_key(1));
        let regional = regional(model.erodibility_variation, model.erodibility_wavelength, key.derive_key(2));
        let grain = (model.grain > 0.0)
            .then(|| Octaves::with_equal_deviation(model.grain, model.grain_wavelength, key.derive_key(3), grid));
        let faults =
            Octaves::with_curved_lines(model.faults, model.faults_spacing, model.faults_width, key.derive_key(9), grid)
                .map(|lines| lines.stretch_along(strike.longer(FAULTS)));
        Self {
            uplift: log_normal(grid, model.uplift * UNITS, &[uplift]),
            erodibility: log_normal(grid, 1.0, &[regional, grain, faults]),
            beds: (model.strata > 0.0).then(|| Beds::new(&bed_settings(model), key.derive_key(4))),
        }
    }

    /// Returns the height units by which cell `k` rises between two times in years. The total rise since the start is
    /// rounded, not that of each step, so fractions of a unit are not lost.
    #[inline]
    pub fn uplift_between(&self, k: usize, times: [f64; 2], factor: f32) -> i64 {
        let rate = f64::from(self.uplift.value_at(k) * factor);
        let [before, after] = times.map(|t| (rate * t).floor() as i64);
        after - before
    }

    /// Returns the erodibility of cell `k` relative to the parameter's, without the strata.
    #[inline]
    pub fn erodibility(&self, k: usize) -> f32 {
        self.erodibility.value_at(k)
    }

    /// Returns the strata, risen by the uplift up to a time in years.
    pub fn strata_at_time(&self, time: f64) -> Option<StrataAtTime<'_>> {
        Some(StrataAtTime { beds: self.beds.as_ref()?, uplift: &self.uplift, time })
    }
}

/// Computes the steepest stable slope of each cell, as rise over run: log-normal, with a red spectrum. It does not
/// vary independently from cell to cell, because a single weak cell would erode grooves into the whole slope above
/// it, along the grid's axes.
pub fn compute_slope_limits(model: &StreamPower, grid: &Grid, key: RandomKey) -> Field<f32> {
    let tan = libm::tan(model.slope_limit.to_radians());
    let noise = Octaves::with_red_spectrum(model.slope_variation, model.slope_wavelength, key, grid);
    match log_normal(grid, tan, &[noise]) {
        SpatialValue::Everywhere(tan) => Field::new(grid.size, tan),
        SpatialValue::Field(field) => field,
    }
}

fn bed_settings(model: &StreamPower) -> BedSettings {
    BedSettings {
        contrast: model.strata,
        thickness: model.strata_thickness,
        dip: model.strata_dip,
        direction: model.strata_direction,
    }
}

/// Returns the strata as they are after `years`, for cells of any width; the rock's rise is sampled on cells of
/// `cell` metres.
pub fn build_strata(model: &StreamPower, years: f64, cell: f64, key: RandomKey) -> Option<StandingBeds> {
    let risen = Risen {
        metres: model.uplift * years,
        variation: model.uplift_variation,
        wavelength: model.uplift_wavelength,
        // The keys are those of `RockProperties::new`, so that these strata are the ones that the rivers have cut.
        strike: draw_strike(model, key),
        key: key.derive_key(1),
    };
    (model.strata > 0.0).then(|| StandingBeds::new(Beds::new(&bed_settings(model), key.derive_key(4)), risen, cell))
}

/// The strata at a time; they rise with the rock.
pub struct StrataAtTime<'a> {
    beds: &'a Beds,
    uplift: &'a SpatialValue,
    time: f64,
}

impl StrataAtTime<'_> {
    /// Returns the pile of beds, which repeats upwards and downwards.
    pub fn pile(&self) -> &Pile {
        self.beds.pile()
    }

    /// Returns the bottom, in height units, of one of the repeated copies of the pile in cell `k`, whose centre is at
    /// `place` in metres.
    #[inline]
    pub fn pile_bottom(&self, k: usize, place: Point) -> i64 {
        let risen = f64::from(self.uplift.value_at(k)) * self.time;
        self.beds.bottom_elevation(risen, place)
    }

    /// Returns the softness of the rock, as a factor, at `height` units in cell `k`, whose centre is at `place` in
    /// metres.
    #[inline]
    pub fn softness(&self, k: usize, height: i32, place: Point) -> f64 {
        self.beds.pile().weight(i64::from(height) - self.pile_bottom(k, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(cell: f64, cells: usize) -> Grid {
        Grid::new([cells, cells], cell).unwrap()
    }

    #[test]
    fn rise_adds_up_whatever_the_steps() {
        let model = StreamPower { uplift: 3e-7, uplift_variation: 0.0, ..StreamPower::default() };
        let rock = RockProperties::new(&model, &grid(10.0, 4), RandomKey::new(1, "rock"));
        // The rate is 0.0197 units per year: in most years the rise is 0, and over a million years it has the right
        // sum.
        let sum: i64 = (0..1_000_000).map(|t| rock.uplift_between(0, [f64::from(t), f64::from(t + 1)], 1.0)).sum();
        assert_eq!(sum, (f64::from((3e-7 * UNITS) as f32) * 1e6).floor() as i64);
        assert!(sum > 19_000);
    }

    #[test]
    fn a_finer_grid_has_the_same_lower_octaves() {
        let model = StreamPower { erodibility_wavelength: 4000.0, grain: 0.3, ..StreamPower::default() };
        let key = RandomKey::new(2, "rock");
        let log = |cell: f64, cells: usize| {
            let rock = RockProperties::new(&model, &grid(cell, cells), key);
            Field::from_fn([cells, cells], |i, j| f64::from(rock.erodibility(i * cells + j)).ln())
        };
        let (coarse, fine) = (log(40.0, 128), log(20.0, 256));
        // Compares the means of four fine cells with the coarse cell; they differ by the octaves that only one of
        // them contains.
        let mean = |i: usize, j: usize| 0.25 * (0..4).map(|q| fine[(2 * i + q / 2, 2 * j + q % 2)]).sum::<f64>();
        let cells = || (0..128).flat_map(|i| (0..128).map(move |j| (i, j)));
        let (mut both, mut one, mut other) = (0.0, 0.0, 0.0);
        for (i, j) in cells() {
            both += coarse[(i, j)] * mean(i, j);
            one += coarse[(i, j)].powi(2);
            other += mean(i, j).powi(2);
        }
        assert!(both / (one * other).sqrt() > 0.9, "{}", both / (one * other).sqrt());
        let variance = |field: &Field<f64>| {
            let n = field.len() as f64;
            let mean = field.as_slice().iter().sum::<f64>() / n;
            field.as_slice().iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n
        };
        // One more octave of standard deviation 0.3, and the regional field's 0.6⁶ of 0.56.
        let more = variance(&fine) - variance(&coarse);
        assert!((0.04..0.15).contains(&more), "{more}");
    }

    #[test]
    fn beds_lie_where_they_dip_and_rise_with_the_rock() {
        let model = StreamPower {
            strata: 1.0,
            strata_dip: 0.01,
            strata_direction: 90.0,
            uplift_variation: 0.0,
            ..StreamPower::default()
        };
        let rock = RockProperties::new(&model, &grid(10.0, 4), RandomKey::new(3, "rock"));
        let at = |metres: f64, x: f64, time: f64| {
            rock.strata_at_time(time).unwrap().softness(0, (metres * UNITS) as i32, Point::new(x, 0.0))
        };
        let column: Vec<f64> = (0..200).map(|z| at(f64::from(z) * 10.0 + 0.5, 0.0, 0.0)).collect();
        // 2 km of beds of 83 to 333 m have 6 to 24 boundaries, and alternate between soft (over 1) and hard.
        let changes = column.windows(2).filter(|pair| (pair[0] > 1.0) != (pair[1] > 1.0)).count();
        assert!((6..=24).contains(&changes), "{changes}");
        assert!(column.iter().all(|s| (s.ln().abs() >= 0.29) && s.ln().abs() <= 1.01));
        for z in 0..100 {
            let z = f64::from(z) * 20.0 + 0.5;
            // Beds dip towards 90° (east): 100 m further east they are 1 m lower. In a million years they rise by
            // 500 m.
            assert_eq!(at(z, 0.0, 0.0), at(z - 2.0, 200.0, 0.0));
            assert_eq!(at(z, 0.0, 0.0), at(z + 500.0, 0.0, 1e6));
        }
    }
}
