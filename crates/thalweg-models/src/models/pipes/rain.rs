//! Rain: the depth that falls on each cell of a row in one time step.

use crate::models::pipes::{Pipes, Shower};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Grid, Point};

/// The rain of one time step.
pub struct StepRain {
    /// The depth in metres that falls where it rains.
    amount: f64,
    /// The random key of this step, if the rain is drawn for each cell.
    drawn: Option<RandomKey>,
    cloud: Option<Cloud>,
}

/// A circular storm cloud, in world coordinates in metres.
struct Cloud {
    centre: Point,
    radius: f64,
}

impl StepRain {
    /// Computes the rain of step number `step`, each step being `dt` seconds long.
    pub fn new(model: &Pipes, grid: &Grid, dt: f64, key: RandomKey, step: u32) -> Self {
        // The middle of the step decides which storm it belongs to.
        let time = (f64::from(step) + 0.5) * dt;
        let (storm, since) = if model.storm_period > 0.0 {
            let number = (time / model.storm_period).floor();
            (number as u64, time - number * model.storm_period)
        } else {
            (0, time)
        };
        let falls = model.storm_period == 0.0 || since < model.storm_share * model.storm_period;
        let cloud = (model.storm_radius > 0.0).then(|| {
            // Halfway through its storm, a cloud is at a random position of the map; it moves in a random direction.
            let key = key.derive_key(1).derive_key(storm);
            let lasts = if model.storm_period > 0.0 { model.storm_share * model.storm_period } else { model.seconds };
            let (away, angle) =
                (model.storm_speed * (since - 0.5 * lasts), std::f64::consts::TAU * key.derive_key(2).uniform_unit());
            let [y, x] = key.uniform_pair();
            let start = grid.point_at_shares(Point { x, y });
            Cloud {
                centre: Point { x: start.x + away * libm::cos(angle), y: start.y + away * libm::sin(angle) },
                radius: model.storm_radius,
            }
        });
        Self {
            // A millimetre per hour is 1/3.6e6 m/s.
            amount: if falls { model.rain / 3.6e6 * dt } else { 0.0 },
            // The subkey 0 keeps these numbers apart from those of the clouds, which have the subkey 1.
            drawn: (model.shower == Shower::Random).then(|| key.derive_key(0).derive_key(step.into())),
            cloud,
        }
    }

    /// Returns true if it rains in this step.
    pub fn is_raining(&self) -> bool {
        self.amount > 0.0
    }

    /// Returns true if every row receives the same rain, apart from the rain mask and missing data.
    pub fn is_even(&self) -> bool {
        self.drawn.is_none() && self.cloud.is_none()
    }

    /// Writes the depth of rain in metres on the cells of row `i` from column `from` on. `mask` is the share of the
    /// rain that falls on each cell, and no rain falls where `void` is true.
    pub fn fill_row(
        &self,
        grid: &Grid,
        [i, from]: [usize; 2],
        mask: Option<&[f32]>,
        void: Option<&[bool]>,
        row: &mut [f32],
    ) {
        row.fill(self.amount as f32);
        if !self.is_raining() {
            return;
        }
        if let Some(key) = self.drawn {
            for (k, rain) in row.iter_mut().enumerate() {
                // A number from 0 to 2 has the mean 1, so that as much rain falls as if it were even.
                *rain = (self.amount * 2.0 * key.for_cell(grid.world_cell(i, from + k)).uniform_unit()) as f32;
            }
        }
        if let Some(cloud) = &self.cloud {
            let south = grid.row_center_y(i) - cloud.centre.y;
            for (k, rain) in row.iter_mut().enumerate() {
                let east = grid.col_center_x(from + k) - cloud.centre.x;
                // The rain decreases smoothly from the centre to the rim as (1 − r²/R²)², and is zero beyond it.
                let inside = (1.0 - (south * south + east * east) / (cloud.radius * cloud.radius)).max(0.0);
                *rain *= (inside * inside) as f32;
            }
        }
        if let Some(mask) = mask {
            for (rain, share) in row.iter_mut().zip(mask) {
                *rain *= if *share > 0.0 { share.min(1.0) } else { 0.0 };
            }
        }
        if let Some(void) = void {
            for (rain, void) in row.iter_mut().zip(void) {
                *rain = if *void { 0.0 } else { *rain };
            }
        }
    }
}
