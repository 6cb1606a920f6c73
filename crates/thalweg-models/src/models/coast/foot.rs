//! [`Foot`]: cliff feet on refinement levels.

use crate::models::coast::cut::LEAST;
use crate::models::coast::{Coast, smooth};
use thalweg_core::{Cell, Height};
use thalweg_refine::{Join, JoinPatch};

/// Range of the eroded strip's width, in cells, of the one level that cuts it: wider cells cannot show it, and on
/// narrower ones it is already there.
const CELLS: [f64; 2] = [3.0, 6.0];

/// Search distance for the sea, in widths of the eroded strip. Within it lie cliffs cut into ground of up to three
/// fifths of their own slope.
const LOOKS: f64 = 2.5;

/// Range of the share of sea around a place over which waves grow to full height. A straight shore has a half.
const OPEN: [f64; 2] = [0.25, 0.45];

/// Unit vectors (east, south) in sixteen directions.
const AROUND: [[f64; 2]; 16] = {
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
        let moved = model.hold_back()(0.5 * model.retreat * model.years);
        (moved >= LEAST).then(|| Self { back: moved.min(0.25 * cell), platform, cliff })
    }
}

impl Join for Foot {
    fn acts(&self, _level: u32, width: f64) -> bool {
        (CELLS[0]..CELLS[1]).contains(&(self.back / width))
    }

    fn reach(&self, _level: u32, width: f64) -> u32 {
        (LOOKS * self.back / width).ceil() as u32
    }

    fn sweeps(&self, _level: u32, width: f64) -> u32 {
        (self.back / width).ceil() as u32
    }

    fn want(&self, patch: &JoinPatch<'_>, cell: Cell<i64>) -> Height {
        let here = patch.height(cell);
        let (Some(sea), Some(far)) = (patch.sea(), patch.to_sea(cell)) else { return here };
        let over = here.metres() - sea.metres();
        if over <= self.platform * far {
            return here;
        }
        let looks = f64::from(self.reach(patch.level(), patch.width()));
        let is_sea = |[east, south]: &[f64; 2]| {
            let [i, j] = [south, east].map(|way| libm::round(way * looks) as i64);
            patch.height(Cell::new(cell.row + i, cell.col + j)) <= sea
        };
        // The share is relative to the directions that would lead to the sea from here if the shore were straight.
        let straight = libm::acos((far / (looks * patch.width())).min(1.0)) / std::f64::consts::PI;
        let open =
            0.5 * AROUND.iter().filter(|way| is_sea(way)).count() as f64 / AROUND.len() as f64 / straight.max(0.0625);
        let back = self.back * smooth((open - OPEN[0]) / (OPEN[1] - OPEN[0]));
        let most = self.platform * far.min(back) + self.cliff * (far - back).max(0.0);
        if most < over { Height::saturating(sea.metres() + most) } else { here }
    }
}
