//! [`Foot`]: the feet of cliffs on local levels.

use crate::models::coast::cut::LEAST;
use crate::models::coast::{Coast, smooth};
use thalweg_core::{Cell, Height};
use thalweg_refine::{Join, JoinPatch};

/// Widths, in cells, of the ground that the level cuts: on wider cells nothing of it shows, on narrower ones it is there already.
const CELLS: [f64; 2] = [3.0, 6.0];

/// How far the sea is looked for, in widths of what is cut: so far cliffs reach back into ground three fifths as steep as they are.
const LOOKS: f64 = 2.5;

/// Shares of sea around, between which waves come to full height: a straight shore has a half.
const OPEN: [f64; 2] = [0.25, 0.45];

/// Sixteen directions, east and south.
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

/// What cells of the global level are too wide to show of a shore that waves cut: its cliffs come down to the sea as a ramp there. Where the sea
/// lies open the ground within `back` metres of it becomes a platform, and behind that stands no steeper than the cliff.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Foot {
    back: f64,
    /// Slopes, rise over run.
    platform: f64,
    cliff: f64,
}

impl Foot {
    /// Over a global level of cells so many metres wide; `None` where waves move no shore.
    pub fn new(model: &Coast, cell: f64) -> Option<Self> {
        let [platform, cliff] = [model.platform, model.cliff].map(|angle| libm::tan(angle.to_radians()));
        // A straight shore has half the waves of a cape; how hard rock is no local level knows. A ramp from cell to cell begins half a cell
        // before the cliff, and what it is too low behind the cliff stays so: a quarter is taken.
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
        // Of the ways that would lead to the sea from here if the shore were straight.
        let straight = libm::acos((far / (looks * patch.width())).min(1.0)) / std::f64::consts::PI;
        let open =
            0.5 * AROUND.iter().filter(|way| is_sea(way)).count() as f64 / AROUND.len() as f64 / straight.max(0.0625);
        let back = self.back * smooth((open - OPEN[0]) / (OPEN[1] - OPEN[0]));
        let most = self.platform * far.min(back) + self.cliff * (far - back).max(0.0);
        if most < over { Height::saturating(sea.metres() + most) } else { here }
    }
}
