//! [`Join`]: operators that are not the kernel's own, held to the order of the tree.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use crate::paths::{RIVER, SEA};
use crate::plane::{Part, Plane};
use crate::{creep, rise, shore};
use thalweg_core::base::rng::Key;
use thalweg_core::{Cell, CellRect, Error, Field, Height, Point, Result};
use thalweg_flow::OUT;

/// The farthest that an operator may look, in cells.
pub const FARTHEST: u32 = 256;

/// The most times that an operator may follow the order of the tree.
pub const MOST_SWEEPS: u32 = 64;

/// An operator of finite reach that joins a level after the kernel's own.
///
/// It says how high a cell wants to be, and the kernel goes as far as the tree's order lets it: a cell rises to under the lowest that
/// drains into it, and sinks to over the one that it drains to. Rivers, lakes, the sea and outlets keep their height. So whatever it
/// wants, all water arrives, and a tile is the part of the whole.
///
/// # Examples
///
/// Ripples across the wind, on ground of its own making:
///
/// ```
/// use std::sync::Arc;
/// use thalweg_core::base::rng::Key;
/// use thalweg_refine::{Join, Joins, LocalWindow, JoinPatch, Rules, refine};
/// use thalweg_core::Cell;
/// use thalweg_core::terrain::field::Field;
/// use thalweg_core::terrain::grid::Grid;
/// use thalweg_core::terrain::height::Height;
/// use thalweg_core::terrain::Terrain;
///
/// #[derive(Debug)]
/// struct Ripples;
///
/// impl Join for Ripples {
///     fn reach(&self, _level: u32, _width: f64) -> u32 {
///         0
///     }
///
///     fn want(&self, patch: &JoinPatch<'_>, cell: Cell<i64>) -> Height {
///         let x = patch.place(cell).x;
///         Height::saturating(patch.height(cell).metres() + 0.5 * libm::sin(x / 9.0))
///     }
/// }
///
/// # fn main() -> thalweg_core::base::error::Result<()> {
/// let mut terrain = Terrain::new(Grid::new([32, 32], 30.0)?);
/// terrain.ground = Field::generate([32, 32], |i, j| Height::saturating(3.0 * i as f64 + 0.1 * (j as f64 - 16.0).powi(2)));
/// let (frame, first) = LocalWindow::of(&terrain)?;
/// let rules = Rules { joins: Joins::default().with(Arc::new(Ripples)), ..Rules::default() };
/// let finer = refine(&frame, &rules, Key::new(1, "ripples"), &first, frame.world(1))?;
/// finer.check(&frame)?;
/// # let plain = refine(&frame, &Rules::default(), Key::new(1, "ripples"), &first, frame.world(1))?;
/// # assert!(plain != finer);
/// # Ok(())
/// # }
/// ```
pub trait Join: Debug + Send + Sync {
    /// How many cells beyond a cell it looks, on level `level` (0 is the coarsest) of cells `width` metres wide: at most [`FARTHEST`].
    fn reach(&self, level: u32, width: f64) -> u32;

    /// Whether it does anything on such a level; where it does not, it costs nothing.
    fn acts(&self, _level: u32, _width: f64) -> bool {
        true
    }

    /// How many times the kernel lets ground follow what is wanted, 1 to [`MOST_SWEEPS`]: each time a cell sinks to its receiver, and rises to its
    /// lowest donor, as they stood before. So ground is cut that many cells deep into a slope.
    fn sweeps(&self, _level: u32, _width: f64) -> u32 {
        1
    }

    /// How high a cell of the level wants to be, by the ground as far around as its reach, and by nothing else that may
    /// differ from tile to tile. Where nothing is said it wants to stay.
    fn want(&self, patch: &JoinPatch<'_>, cell: Cell<i64>) -> Height {
        patch.height(cell)
    }

    /// How high the cells of a rectangle want to be, into `wanted`, row by row. Each is asked by itself ([`Join::want`]), where an operator has
    /// nothing better: what moves ground from cell to cell finds all of them at once. The same is held: a cell's wish is a function of the
    /// ground within its reach, whatever the rectangle.
    fn want_all(&self, patch: &JoinPatch<'_>, cells: CellRect<i64>, wanted: &mut Field<Height>) {
        for i in cells.start[0]..cells.end[0] {
            let row = wanted.row_mut((i - cells.start[0]) as usize);
            for (j, wanted) in (cells.start[1]..cells.end[1]).zip(row) {
                let cell = Cell::new(i, j);
                if !patch.is_held(cell) {
                    *wanted = self.want(patch, cell);
                }
            }
        }
    }
}

/// Operators that join, in their order. Two are the same if they are the same values in memory.
#[derive(Debug, Clone, Default)]
pub struct Joins(Vec<Arc<dyn Join>>);

impl Joins {
    /// These and one more.
    #[must_use]
    pub fn with(mut self, join: Arc<dyn Join>) -> Self {
        self.0.push(join);
        self
    }

    /// Refuses operators that look too far on a level, or have too many sweeps there, or none.
    pub(super) fn check(&self, level: u32, width: f64) -> Result<()> {
        for join in self.at_work(level, width) {
            let (reach, sweeps) = (join.reach(level, width), join.sweeps(level, width));
            if reach > FARTHEST {
                return Err(Error::value("reach of a joined operator", reach, format!("{FARTHEST} cells at most")));
            }
            if !(1..=MOST_SWEEPS).contains(&sweeps) {
                return Err(Error::value("sweeps of a joined operator", sweeps, format!("1 to {MOST_SWEEPS}")));
            }
        }
        Ok(())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them does something on such a level.
    pub(super) fn act(&self, level: u32, width: f64) -> bool {
        self.at_work(level, width).next().is_some()
    }

    fn at_work(&self, level: u32, width: f64) -> impl Iterator<Item = &dyn Join> {
        self.0.iter().map(AsRef::as_ref).filter(move |join| join.acts(level, width))
    }

    /// How many cells of ground all of them need beyond what is wanted of them: one more for the receivers that they go by.
    pub(super) fn margin(&self, level: u32, width: f64) -> i64 {
        let each = self.at_work(level, width).map(|join| needs(join, level, width));
        if self.act(level, width) { each.sum::<i64>() + 1 } else { 0 }
    }

    /// Lets them change the ground, so that what is right of it ends `beyond` cells outside the wanted ones.
    pub(super) fn apply(
        &self,
        place: &Place,
        known: &Known<'_>,
        beyond: i64,
        now: &mut Plane<i32>,
        next: &mut Plane<i32>,
    ) {
        let mut margin = beyond + self.margin(place.level, place.width) - 1;
        for join in self.at_work(place.level, place.width) {
            let sweeps = i64::from(join.sweeps(place.level, place.width).clamp(1, MOST_SWEEPS));
            margin -= needs(join, place.level, place.width);
            let outer = place.part(margin + 2 * sweeps - 1);
            let reach = join.reach(place.level, place.width);
            let patch = JoinPatch { place, ground: now, known, reach, shore: OnceLock::new() };
            let mut wanted = now.clone();
            let cells = place.rect(&outer);
            let mut wish =
                Field::generate(cells.size(), |i, j| Height(now.at(outer.rows.start + i, outer.cols.start + j)));
            join.want_all(&patch, cells, &mut wish);
            for (k, i) in outer.rows.clone().enumerate() {
                for (wish, j) in wish.row(k).iter().zip(outer.cols.clone()) {
                    if !known.holds(i, j) {
                        wanted.set(i, j, wish.0.clamp(Height::MIN.0, Height::MAX.0));
                    }
                }
            }
            for left in (0..sweeps).rev() {
                let [outer, inner] = [1, 0].map(|by| place.part(margin + 2 * left + by));
                rise::sweep(now, &wanted, known.codes, &outer, next);
                std::mem::swap(now, next);
                creep::lower(now, (&wanted, known.floor), known.codes, &inner, next);
                std::mem::swap(now, next);
            }
        }
    }
}

impl PartialEq for Joins {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

/// Cells of ground that an operator needs beyond what is wanted: its reach, or those that drain here, and then the one below; of each sweep.
fn needs(join: &dyn Join, level: u32, width: f64) -> i64 {
    let sweeps = i64::from(join.sweeps(level, width).clamp(1, MOST_SWEEPS));
    i64::from(join.reach(level, width)).max(1) + 2 * sweeps - 1
}

/// Where the planes lie that are worked on.
#[derive(Debug)]
pub(super) struct Place {
    pub level: u32,
    pub width: f64,
    /// The sea's level, if there is one.
    pub sea: Option<Height>,
    pub key: Key,
    /// All cells of the level, and the wanted ones.
    pub world: CellRect<i64>,
    pub wanted: CellRect<i64>,
    /// The planes' first cell.
    pub origin: Cell<i64>,
}

impl Place {
    fn part(&self, beyond: i64) -> Part {
        Part::of(self.wanted.grown(beyond, self.world), self.origin)
    }

    /// The cells of a part.
    fn rect(&self, part: &Part) -> CellRect<i64> {
        let start =
            Cell::new(self.origin.row + part.rows.start as i64 - 1, self.origin.col + part.cols.start as i64 - 1);
        CellRect::new(start, [part.rows.len(), part.cols.len()])
    }
}

/// What is known of the ground.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub flags: &'a Plane<u8>,
    pub codes: &'a Plane<u8>,
    pub floor: &'a Plane<i32>,
    /// Thickness of sand, where the rules speak of it.
    pub sand: Option<&'a Plane<i32>>,
}

impl Known<'_> {
    /// Whether a cell keeps its height: a river's, of lakes and the sea, an outlet.
    fn holds(&self, i: usize, j: usize) -> bool {
        self.flags.at(i, j) & (RIVER | SEA) != 0 || self.codes.at(i, j) == OUT
    }
}

/// Ground of a level about a cell.
#[derive(Debug)]
pub struct JoinPatch<'a> {
    place: &'a Place,
    ground: &'a Plane<i32>,
    known: &'a Known<'a>,
    reach: u32,
    /// [`shore::squares`], once somebody asks.
    shore: OnceLock<Plane<u32>>,
}

impl JoinPatch<'_> {
    /// The level: 0 is the coarsest.
    pub fn level(&self) -> u32 {
        self.place.level
    }

    /// Width of its cells in metres.
    pub fn width(&self) -> f64 {
        self.place.width
    }

    /// The level's random key: with a cell ([`Key::cell`]) it is the same for every tile.
    pub fn key(&self) -> Key {
        self.place.key
    }

    /// The centre of a cell of the level.
    pub fn place(&self, cell: Cell<i64>) -> Point {
        let Cell { row: y, col: x } = cell.map(|at| (at as f64 + 0.5) * self.place.width);
        Point { x, y }
    }

    /// All cells of the level.
    pub fn world(&self) -> CellRect<i64> {
        self.place.world
    }

    /// Returns true if a cell of the level keeps its height whatever the operator wants: rivers, lakes, the sea,
    /// outlets. The cell must be within the reach of the one that [`Join::want`] is called for.
    pub fn is_held(&self, cell: Cell<i64>) -> bool {
        let Cell { row, col } = self.at(cell);
        self.known.holds(row, col)
    }

    /// The sea's level, if the world has a sea.
    pub fn sea(&self) -> Option<Height> {
        self.place.sea
    }

    /// Metres from the middle of a cell of the level to the rim of the nearest cell of sea, as if that were round;
    /// `None` where there is none within the operator's reach. The cell must be the one that [`Join::want`] is called
    /// for.
    pub fn to_sea(&self, cell: Cell<i64>) -> Option<f64> {
        self.place.sea?;
        let Cell { row, col } = self.at(cell);
        let square = self.shore.get_or_init(|| shore::squares(self.known.flags, self.reach)).at(row, col);
        let far = f64::from(square).sqrt() - 0.5;
        (square < shore::FAR).then(|| far.max(0.0) * self.place.width)
    }

    /// Elevation of the ground of a cell of the level, or of the water over it; beyond the world that of the cell at
    /// its edge. The cell must be within the reach of the one that [`Join::want`] is called for.
    pub fn height(&self, cell: Cell<i64>) -> Height {
        let Cell { row, col } = self.at(cell);
        Height(self.ground.at(row, col))
    }

    /// Thickness of the sand on a cell of the level, where the rules have sand ([`Rules::sand`](crate::Rules::sand)).
    /// The cell must be within the reach of the one that [`Join::want`] is called for.
    pub fn sand(&self, cell: Cell<i64>) -> Height {
        let Cell { row, col } = self.at(cell);
        Height(self.known.sand.map_or(0, |sand| sand.at(row, col)))
    }

    /// The row and column of the planes that hold a cell, counted from the pads.
    fn at(&self, cell: Cell<i64>) -> Cell {
        let (world, size) = (self.place.world, self.ground.size());
        Cell::from_axes(|axis| {
            let at = cell[axis].clamp(world.start[axis], world.end[axis] - 1);
            ((at - self.place.origin[axis] + 1).max(1) as usize).min(size[axis])
        })
    }
}
