//! [`Backs`]: small dunes on the backs of large ones, added on refinement levels.

use std::f64::consts::TAU;

use crate::models::dunes::Dunes;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Height, Point};
use thalweg_noise::gradient::evaluate_noise;
use thalweg_refine::{OperatorPatch, RefinementOperator};

/// Spacing from crest to crest, in hops: the hop of a slab is the smallest size of dunes.
const SPACING: f64 = 1.5;

/// Range of the spacing, in cells, of the one level on which the dunes are added: wider cells cannot show them, and on
/// narrower cells they are already there.
const CELLS: [f64; 2] = [8.0, 16.0];

/// Factor of the height as a function of the spacing D, both in metres: 0.0677·D^0.8098 (Lancaster 1988, "Controls of
/// eolian dune size and spacing", Geology 16).
const HEIGHT: f64 = 0.0677;
/// Exponent of that function.
const GROWTH: f64 = 0.8098;

/// Displacement of crests from straight rows, in spacings, per unit of a noise with standard deviation 1/3.
const CREST_DISPLACEMENT: f32 = 0.6;
/// Lattice side of that noise, in spacings.
const BENDS: f64 = 3.0;
/// Lattice side, in spacings, of the noise that determines where crests end.
const CREST_END_LATTICE: f64 = 2.0;

/// Steepness of the dunes, as a share of the back's own slope along the wind.
const DUNE_STEEPNESS: f64 = 0.6;

/// Range of downwind slopes over which the dunes fade out: lee faces have none.
const LEE: [f64; 2] = [0.1, 0.3];

/// Dunes of one spacing, transverse to the wind, on sand that is thick enough. They are too small for the cells of a
/// global level.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Backs {
    /// Spacing from crest to crest in metres.
    spacing: f64,
    /// Direction towards which the wind blows: southward and eastward parts.
    wind: [f64; 2],
    seed: u32,
}

impl Backs {
    /// Creates the dunes for a global level with cells of `cell` metres. Returns `None` if such cells show the dunes
    /// themselves.
    pub fn new(model: &Dunes, cell: f64, seed: u32) -> Option<Self> {
        let from = model.wind.to_radians();
        let backs = Self { spacing: SPACING * model.hop, wind: [libm::cos(from), -libm::sin(from)], seed };
        (backs.spacing / cell < CELLS[0]).then_some(backs)
    }

    /// Returns noise with standard deviation 1/3 on a lattice whose side is `side` spacings, at a place given
    /// southward and eastward in metres.
    fn lattice_noise(&self, place: [f64; 2], side: f64, seed: u32) -> f32 {
        let at = place.map(|metres| metres / (side * self.spacing));
        let [y, x] = at.map(|at| at - at.floor());
        let [i, j] = at.map(|at| (at.floor() as i64) as i32);
        evaluate_noise(j, i, x as f32, y as f32, self.seed ^ seed)
    }
}

impl RefinementOperator for Backs {
    fn is_active(&self, _level: u32, width: f64) -> bool {
        (CELLS[0]..CELLS[1]).contains(&(self.spacing / width))
    }

    fn reach(&self, _level: u32, _width: f64) -> u32 {
        2
    }

    fn sweeps(&self, _level: u32, _width: f64) -> u32 {
        4
    }

    fn target_elevation(&self, patch: &OperatorPatch<'_>, cell: Cell<i64>) -> Height {
        let here = patch.surface_elevation(cell);
        let high = HEIGHT * libm::pow(self.spacing, GROWTH);
        let sand = patch.sand_thickness(cell).metres() / high;
        if sand < 0.05 {
            return here;
        }
        // The slope along the wind is measured from two cells upwind to two cells downwind.
        // The offset is rounded to whole cells, so `run` below is the distance of the rounded cells.
        let step = self.wind.map(|way| libm::round(2.0 * way) as i64);
        let adjacent_elevation =
            |side: i64| patch.surface_elevation(Cell::from_axes(|axis| cell[axis] + side * step[axis]));
        let [before, after] = [-1, 1].map(adjacent_elevation);
        let run = 2.0 * ((step[0] * step[0] + step[1] * step[1]) as f64).sqrt() * patch.cell_width();
        let falls = f64::from(before.0.saturating_sub(after.0)) / UNITS / run;
        let lee = ((falls - LEE[0]) / (LEE[1] - LEE[0])).clamp(0.0, 1.0);
        let Point { x, y } = patch.cell_centre(cell);
        // The noise has a standard deviation of 1/3: crests end where it is below −½ and have full height above ⅓.
        let ends = (0.6 + 1.2 * f64::from(self.lattice_noise([y, x], CREST_END_LATTICE, 0x656e_6473))).clamp(0.0, 1.0);
        let bend = f64::from(CREST_DISPLACEMENT * self.lattice_noise([y, x], BENDS, 0x6265_6e64));
        let phase = TAU * ((y * self.wind[0] + x * self.wind[1]) / self.spacing + bend);
        // The windward side is gentle and the lee side steeper.
        let form = 0.5 * libm::sin(phase) - 0.15 * libm::sin(2.0 * phase);
        // Dunes steeper than the back would reverse its slope, and the drainage tree of the refinement would cut them
        // into steps.
        let most = DUNE_STEEPNESS * falls.abs() * self.spacing / TAU;
        // A sine of amplitude a and wavelength D has the slope 2π·a/D, and `form` has the amplitude ½: hence 2·most.
        let by = high.min(2.0 * most) * form * ends * (1.0 - lee) * sand.min(1.0);
        Height::from_metres_clamped(here.metres() + by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_stand_on_the_one_level_that_can_show_them() {
        let model = Dunes { hop: 20.0, ..Dunes::default() };
        let backs = Backs::new(&model, 6.0, 1).unwrap();
        let acting = (0..8).filter(|level| backs.is_active(*level, 6.0 / f64::from(1 << level))).count();
        assert_eq!(acting, 1);
        assert!(Backs::new(&model, 3.0, 1).is_none(), "a global level of such cells has them");
    }
}
