//! [`Foot`]: cliff feet on refinement levels.

use crate::models::coast::cliff_erosion::MIN_RETREAT_M;
use crate::models::coast::{Coast, smoothstep};
use thalweg_core::{Cell, Height};
use thalweg_refine::{OperatorPatch, RefinementOperator};

/// Range of the eroded strip's width, in cells, of the one level that cuts it: wider cells cannot show it, and on
/// narrower ones it is already there.
const CELLS: [f64; 2] = [3.0, 6.0];

/// Search distance for the sea, in widths of the eroded strip. It includes cliffs cut into ground of up to three fifths
/// of their own slope.
const SEARCH_DISTANCE_WIDTHS: f64 = 2.5;

/// Range of the share of sea around a place over which waves grow to full height. A straight shore has a half.
const SEA_SHARE_RANGE: [f64; 2] = [0.25, 0.45];

/// Unit vectors (east, south) in sixteen directions.
const COMPASS_DIRECTIONS: [[f64; 2]; 16] = {
    const A: f64 = 0.923_879_532_511_286_7;
    const B: f64 = 0.382_683_432_365_089_8;
    const C: f64 = std::f64::consts::FRAC_1_SQRT_2;
    [
        [1.0, 0.0],
        [A, B],
        [C, C],
        [B, A],
        [0.0, 1.0],
        [-B, A],
        [-C, C],
        [-A, B],
        [-1.0, 0.0],
        [-A, -B],
        [-C, -C],
        [-B, -A],
        [0.0, -1.0],
        [B, -A],
        [C, -C],
        [A, -B],
    ]
};

/// The detail of a wave-cut shore that cells of the global level are too wide to show: there a cliff descends to the
/// sea as a ramp. On exposed shores the ground within `back` metres of the sea becomes a platform, and the ground
/// behind it is limited to the slope of the cliff.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Foot {
    /// Width in metres of the strip that becomes a platform.
    back: f64,
    /// Slope of the platform, as rise over run.
    platform: f64,
    /// Slope of the cliff, as rise over run.
    cliff: f64,
}

impl Foot {
    /// Creates the detail above a global level with cells of `cell` metres. Returns `None` if waves move no shore.
    pub fn new(model: &Coast, cell: f64) -> Option<Self> {
        let [platform, cliff] = [model.platform, model.cliff].map(|angle| libm::tan(angle.to_radians()));
        // A straight shore receives half the waves of a cape; the hardness of rock is not known on refinement levels.
        // The ramp between two cells begins half a cell before the cliff, and the ground behind the cliff that is too
        // low stays so: hence the limit of a quarter of a cell.
        let moved = model.limit_retreat_by_platform()(0.5 * model.retreat * model.years);
        (moved >= MIN_RETREAT_M).then(|| Self { back: moved.min(0.25 * cell), platform, cliff })
    }
}

impl RefinementOperator for Foot {
    fn is_active(&self, _level: u32, width: f64) -> bool {
        (CELLS[0]..CELLS[1]).contains(&(self.back / width))
    }

    fn reach(&self, _level: u32, width: f64) -> u32 {
        (SEARCH_DISTANCE_WIDTHS * self.back / width).ceil() as u32
    }

    fn sweeps(&self, _level: u32, width: f64) -> u32 {
        (self.back / width).ceil() as u32
    }

    fn target_elevation(&self, patch: &OperatorPatch<'_>, cell: Cell<i64>) -> Height {
        let here = patch.surface_elevation(cell);
        let (Some(sea), Some(far)) = (patch.sea_level(), patch.to_sea(cell)) else { return here };
        let over = here.metres() - sea.metres();
        // The place is already below the platform, so waves leave it as it is.
        if over <= self.platform * far {
            return here;
        }
        // The exposure is estimated from the share of sixteen directions in which the sea is within the search
        // distance.
        let looks = f64::from(self.reach(patch.level(), patch.cell_width()));
        let is_sea = |[east, south]: &[f64; 2]| {
            let [i, j] = [south, east].map(|way| libm::round(way * looks) as i64);
            patch.surface_elevation(Cell::new(cell.row + i, cell.col + j)) <= sea
        };
        // The share is relative to the directions that would lead to the sea from here if the shore were straight.
        let straight = libm::acos((far / (looks * patch.cell_width())).min(1.0)) / std::f64::consts::PI;
        let open = 0.5 * COMPASS_DIRECTIONS.iter().filter(|way| is_sea(way)).count() as f64
            / COMPASS_DIRECTIONS.len() as f64
            / straight.max(0.0625);
        let back = self.back * smoothstep((open - SEA_SHARE_RANGE[0]) / (SEA_SHARE_RANGE[1] - SEA_SHARE_RANGE[0]));
        let most = self.platform * far.min(back) + self.cliff * (far - back).max(0.0);
        if most < over { Height::from_metres_clamped(sea.metres() + most) } else { here }
    }
}
