//! [`Beds`]: dipping beds of alternating hardness; [`StandingBeds`]: the same beds as they are at the end of a run,
//! for any part of the world.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

use crate::strata::pile::Pile;
use crate::strata::vary::{Octaves, SpatialValue, Strike, log_normal};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Grid, Point, Size};

/// The number of grains in the pile of beds, after which the beds repeat: 131 km of rock.
const PILE: usize = 1 << 16;

/// The range of the natural logarithm of a bed's thickness about its median, ±.
const SPREAD: f64 = 0.7;

/// The parameters of the beds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BedSettings {
    /// The contrast between hard and soft beds: erodibility is multiplied by up to e^(± this value). For example, with
    /// a contrast of 1 the softest beds are at most 2.7 times as erodible as rock without beds.
    pub contrast: f64,
    /// The mean thickness of a bed in metres.
    pub thickness: f64,
    /// The dip of the beds as rise over run. For example, 0.1 is a dip of 5.7°.
    pub dip: f64,
    /// The dip direction, in which the beds fall, in degrees clockwise from north.
    pub direction: f64,
}

/// Hard and soft beds: a pile in which soft beds have a larger weight.
///
/// # Examples
/// ```
/// use thalweg_core::Point;
/// use thalweg_core::base::rng::RandomKey;
/// use thalweg_noise::strata::{BedSettings, Beds};
///
/// // Beds of 50 m that dip eastward by 1 m in 10 m.
/// let settings = BedSettings { contrast: 1.0, thickness: 50.0, dip: 0.1, direction: 90.0 };
/// let beds = Beds::new(&settings, RandomKey::new(1, "beds"));
/// // The softest bed is between e^0.3 and e^1 times as erodible as rock without beds.
/// assert!((1.34..2.72).contains(&beds.pile().max_weight()));
/// // A bed is 100 m lower at a place 1000 m further east.
/// let [west, east] = [0.0, 1000.0].map(|x| beds.bottom_elevation(0.0, Point::new(x, 0.0)));
/// assert!((beds.pile().wrap_height(west - east) - 100 * 65_536).abs() <= 1);
/// ```
#[derive(Debug, Clone)]
pub struct Beds {
    pile: Pile,
    /// The rise of the beds in metres per metre east and south.
    dip: [f64; 2],
}

impl Beds {
    /// Creates beds whose thickness and softness are drawn with `key`.
    pub fn new(settings: &BedSettings, key: RandomKey) -> Self {
        // Thickness is 0.46 to 1.85 of the mean and softness 0.3 to 1 of the contrast, alternately hard and soft, so
        // that a few beds make cliffs and others only a step. The factor on the thickness makes its mean exact: the
        // mean of e^(±SPREAD), uniform in the exponent, is sinh(SPREAD)/SPREAD.
        let mut left = PILE;
        let mean = settings.thickness * SPREAD / libm::sinh(SPREAD);
        let beds = (0u64..).map_while(|bed| {
            let key = key.derive_key(bed);
            let thickness = mean * libm::exp(SPREAD * key.derive_key(1).uniform_signed());
            // The last bed is cut so that the pile has exactly PILE grains, as `StandingBeds::softness` requires.
            let count = ((thickness / Pile::GRAIN).round().max(1.0) as usize).min(left);
            left -= count;
            let softness = settings.contrast
                * (0.65 + 0.35 * key.derive_key(2).uniform_signed())
                * if bed % 2 == 0 { 1.0 } else { -1.0 };
            (count > 0).then(|| (count, libm::exp(softness)))
        });
        let pile = Pile::new(beds);
        // The direction is that of the fall, clockwise from north, and y is counted southward: the beds rise towards
        // the opposite side.
        let (sin, cos) = libm::sincos(settings.direction.to_radians());
        Self { pile, dip: [-settings.dip * sin, settings.dip * cos] }
    }

    /// Returns the pile; a bed's weight is its factor on erodibility.
    pub fn pile(&self) -> &Pile {
        &self.pile
    }

    /// Returns the elevation of the bottom of one of the pile's copies, in units from 0 to less than the pile's
    /// height, at a position (world metres eastward and southward) where the rock has been uplifted by `risen` units
    /// since it was level at 0.
    #[inline]
    pub fn bottom_elevation(&self, risen: f64, place: Point) -> i64 {
        // The bottom is rounded up to a whole unit, as in `StandingBeds::phases`.
        self.pile.wrap_height(self.tilted_height(risen, place).ceil() as i64)
    }

    #[inline]
    fn tilted_height(&self, risen: f64, Point { x, y }: Point) -> f64 {
        risen + UNITS * (self.dip[0] * x + self.dip[1] * y)
    }
}

/// The total uplift of the rock: log-normal about a median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Risen {
    /// The median in metres.
    pub metres: f64,
    /// The standard deviation of its natural logarithm.
    pub variation: f64,
    /// The wavelength of its largest features in metres.
    pub wavelength: f64,
    /// The direction along which it varies more slowly.
    pub strike: Strike,
    /// The key of the noise.
    pub key: RandomKey,
}

/// Beds at their final position in a world, for cells of any width.
///
/// The uplift is computed on a lattice of cells of one width and interpolated bilinearly between their centres, so
/// that it is the same for every caller.
#[derive(Clone)]
pub struct StandingBeds {
    beds: Beds,
    risen: Risen,
    /// The width of the lattice's cells in metres.
    cell: f64,
    /// The softness of each grain of the pile.
    softness: Vec<f32>,
}

impl fmt::Debug for StandingBeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { beds, risen, cell, softness } = self;
        // The softness has 65 536 entries; a hash of them is printed instead.
        let mut hash = Xxh3::new();
        softness.iter().for_each(|soft| hash.update(&soft.to_le_bytes()));
        f.debug_struct("StandingBeds")
            .field("dip", &beds.dip)
            .field("risen", risen)
            .field("cell", cell)
            .field("softness", &format_args!("{:016x}", hash.digest()))
            .finish_non_exhaustive()
    }
}

impl PartialEq for StandingBeds {
    fn eq(&self, other: &Self) -> bool {
        self.risen == other.risen
            && self.cell == other.cell
            && self.beds.dip == other.beds.dip
            && self.softness == other.softness
    }
}

impl StandingBeds {
    /// Creates beds on rock with the given uplift, on a lattice of `cell` metres.
    pub fn new(beds: Beds, risen: Risen, cell: f64) -> Self {
        let grain = (Pile::GRAIN * UNITS) as i64;
        let softness = (0..PILE as i64).map(|at| beds.pile.weight(at * grain) as f32).collect();
        Self { beds, risen, cell, softness }
    }

    /// Returns the softness, as a factor on erodibility, of the rock at an elevation of `height` units in a cell with
    /// this phase ([`StandingBeds::phases`]).
    #[inline(always)]
    pub fn softness(&self, height: i32, phase: u32) -> f32 {
        // A grain is 2¹⁷ units and the pile 2¹⁶ grains, so half-units that wrap at 2³² are elevations within the
        // pile.
        self.softness[(((height >> 1) as u32).wrapping_sub(phase) >> 16) as usize]
    }

    /// Returns the phase of the pile in each cell, row by row, for `size` rows and columns of cells of `width` metres
    /// from world cell `first` on: the elevation of the pile's bottom in steps of two units, which wraps as the pile
    /// repeats.
    pub fn phases(&self, first: impl Into<Cell<i64>>, size: Size, width: f64) -> Vec<u32> {
        let first = first.into();
        let centre = |k: i64| (k as f64 + 0.5) * width;
        // The lattice cells that cover the window, with centres on both sides of each of its cells.
        let lattice = |metres: f64| metres / self.cell - 0.5;
        let from = Cell::from_axes(|axis| lattice(centre(first[axis])).floor() as i64);
        let to = [0, 1].map(|axis| lattice(centre(first[axis] + size[axis] as i64 - 1)).floor() as i64 + 2);
        let count = [0, 1].map(|axis| (to[axis] - from[axis]) as usize);
        let grid = Grid {
            size: count,
            cell: self.cell,
            origin: from,
            world: count,
            first: Cell::new(0, 0),
            edges: Default::default(),
            sea_level: None,
            georeference: None,
            shape: Default::default(),
        };
        let Risen { variation, wavelength, strike, key, .. } = self.risen;
        let noise =
            Octaves::with_red_spectrum(variation, wavelength, key, self.cell).map(|noise| noise.stretch_along(strike));
        let risen = log_normal(&grid, self.risen.metres * UNITS, &[noise]);
        let mut phases = Vec::with_capacity(size[0] * size[1]);
        for i in 0..size[0] {
            let y = centre(first.row + i as i64);
            let row = lattice(y) - from[0] as f64;
            let (r, v) = (row.floor() as usize, row - row.floor());
            for j in 0..size[1] {
                let x = centre(first.col + j as i64);
                let height = match &risen {
                    SpatialValue::Everywhere(risen) => f64::from(*risen),
                    SpatialValue::Field(field) => {
                        let col = lattice(x) - from[1] as f64;
                        let (c, u) = (col.floor() as usize, col - col.floor());
                        let along = |r: usize| {
                            let [a, b] = [field[(r, c)], field[(r, c + 1)]].map(f64::from);
                            a + u * (b - a)
                        };
                        along(r) + v * (along(r + 1) - along(r))
                    }
                };
                // The shift makes steps of two units and the cast keeps their lowest 32 bits: one repetition of the
                // pile.
                phases.push((self.beds.tilted_height(height, Point { x, y }).ceil() as i64 >> 1) as u32);
            }
        }
        phases
    }
}
