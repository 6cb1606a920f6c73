//! [`Beds`]: hard and soft beds that dip; [`StandingBeds`]: the same as they stand at the end, anywhere in the world.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

use crate::strata::pile::Pile;
use crate::strata::vary::{Octaves, Strike, Vary, log_normal};
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Grid, Point, Size};

/// Grains in the pile of beds, after which they repeat: 131 km of rock.
const PILE: usize = 1 << 16;

/// Beds' thicknesses differ from their middle by up to this much in their natural logarithm.
const SPREAD: f64 = 0.7;

/// What beds are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BedSettings {
    /// Contrast of hard and soft beds: erodibility is up to e^(± this) times what it is without them.
    pub contrast: f64,
    /// Mean thickness of a bed, m.
    pub thickness: f64,
    /// How steeply beds dip, as rise over run.
    pub dip: f64,
    /// Dip direction, towards which they fall, in degrees clockwise from north.
    pub direction: f64,
}

/// Hard and soft beds: a pile, in which soft beds weigh more.
#[derive(Debug, Clone)]
pub struct Beds {
    pile: Pile,
    /// Rise of the beds, in metres to a metre east and south.
    dip: [f64; 2],
}

impl Beds {
    /// Beds whose thickness and softness this key draws.
    pub fn new(settings: &BedSettings, key: Key) -> Self {
        // Thickness from 0.46 to 1.85 of the mean, softness from 0.3 to the whole of the contrast, in turn hard and soft: few beds make
        // cliffs, others a mere step.
        let mut left = PILE;
        let mean = settings.thickness * SPREAD / libm::sinh(SPREAD);
        let beds = (0u64..).map_while(|bed| {
            let key = key.and(bed);
            let thickness = mean * libm::exp(SPREAD * key.and(1).signed());
            let count = ((thickness / Pile::GRAIN).round().max(1.0) as usize).min(left);
            left -= count;
            let softness =
                settings.contrast * (0.65 + 0.35 * key.and(2).signed()) * if bed % 2 == 0 { 1.0 } else { -1.0 };
            (count > 0).then(|| (count, libm::exp(softness)))
        });
        let pile = Pile::new(beds);
        let (sin, cos) = libm::sincos(settings.direction.to_radians());
        Self { pile, dip: [-settings.dip * sin, settings.dip * cos] }
    }

    /// The pile; a bed's weight is its factor of erodibility.
    pub fn pile(&self) -> &Pile {
        &self.pile
    }

    /// Height of the bottom of one of the pile's copies, in units from 0 to less than the pile's height, at a place (world metres eastward
    /// and southward) where the rock has risen by `risen` units since it lay level at 0.
    #[inline]
    pub fn bottom(&self, risen: f64, place: Point) -> i64 {
        self.pile.within(self.height(risen, place).ceil() as i64)
    }

    #[inline]
    fn height(&self, risen: f64, Point { x, y }: Point) -> f64 {
        risen + UNITS * (self.dip[0] * x + self.dip[1] * y)
    }
}

/// By how much rock has risen: log-normal about a median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Risen {
    /// The median, m.
    pub metres: f64,
    /// Standard deviation of its natural logarithm.
    pub variation: f64,
    /// Wavelength of its largest forms, m.
    pub wavelength: f64,
    /// The direction along which it varies less.
    pub strike: Strike,
    /// Key of the noise.
    pub key: Key,
}

/// Beds as they stand in a world, for cells of any width.
///
/// How far the rock has risen is known on a lattice of cells of one width and drawn straight between their centres, so that it is the same
/// whatever asks for it.
#[derive(Clone)]
pub struct StandingBeds {
    beds: Beds,
    risen: Risen,
    /// Width of the lattice's cells, m.
    cell: f64,
    /// Softness of each grain of the pile.
    softness: Vec<f32>,
}

impl fmt::Debug for StandingBeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { beds, risen, cell, softness } = self;
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
    /// Beds on rock that has risen so, on a lattice of `cell` metres.
    pub fn new(beds: Beds, risen: Risen, cell: f64) -> Self {
        let grain = (Pile::GRAIN * UNITS) as i64;
        let softness = (0..PILE as i64).map(|at| beds.pile.weight(at * grain) as f32).collect();
        Self { beds, risen, cell, softness }
    }

    /// Softness, as a factor of erodibility, of the rock at an elevation of `height` units in a cell of this phase
    /// ([`StandingBeds::phases`]).
    #[inline(always)]
    pub fn softness(&self, height: i32, phase: u32) -> f32 {
        // A grain is 2¹⁷ units and the pile 2¹⁶ grains: half units that wrap are heights within the pile.
        self.softness[(((height >> 1) as u32).wrapping_sub(phase) >> 16) as usize]
    }

    /// Returns where in the pile cells of `width` metres are: for `size` rows and columns from world cell `first` on,
    /// row by row, the height of the pile's bottom in steps of two units, which wraps round as the pile does.
    pub fn phases(&self, first: impl Into<Cell<i64>>, size: Size, width: f64) -> Vec<u32> {
        let first = first.into();
        let centre = |k: i64| (k as f64 + 0.5) * width;
        // The lattice's cells about the window's, their centres on both sides.
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
        };
        let Risen { variation, wavelength, strike, key, .. } = self.risen;
        let noise = Octaves::red(variation, wavelength, key, self.cell).map(|noise| noise.along(strike));
        let risen = log_normal(&grid, self.risen.metres * UNITS, &[noise]);
        let mut phases = Vec::with_capacity(size[0] * size[1]);
        for i in 0..size[0] {
            let y = centre(first.row + i as i64);
            let row = lattice(y) - from[0] as f64;
            let (r, v) = (row.floor() as usize, row - row.floor());
            for j in 0..size[1] {
                let x = centre(first.col + j as i64);
                let height = match &risen {
                    Vary::Everywhere(risen) => f64::from(*risen),
                    Vary::Field(field) => {
                        let col = lattice(x) - from[1] as f64;
                        let (c, u) = (col.floor() as usize, col - col.floor());
                        let along = |r: usize| {
                            let [a, b] = [field[(r, c)], field[(r, c + 1)]].map(f64::from);
                            a + u * (b - a)
                        };
                        along(r) + v * (along(r + 1) - along(r))
                    }
                };
                phases.push((self.beds.height(height, Point { x, y }).ceil() as i64 >> 1) as u32);
            }
        }
        phases
    }
}
