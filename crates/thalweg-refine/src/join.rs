//! [`Join`]: operators that are not the kernel's own, constrained by the order of the tree.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use crate::paths::{RIVER, SEA};
use crate::plane::{Part, Plane};
use crate::{creep, rise, shore};
use thalweg_core::base::rng::Key;
use thalweg_core::{Cell, CellRect, Error, Field, Height, Point, Result};
use thalweg_flow::OUT;

/// The greatest distance from which an operator may read, in cells.
pub const FARTHEST: u32 = 256;

/// The greatest number of sweeps that an operator may request.
pub const MOST_SWEEPS: u32 = 64;

/// An operator of finite reach that runs on a level after the kernel's own operators.
///
/// It returns the target elevation of each cell, and the kernel moves the cell towards it as far as the order of the
/// tree allows: a cell rises to just below the lowest cell that drains into it, and sinks to just above the cell to
/// which it drains. Rivers, lakes, the sea and outlets keep their elevation. Whatever the targets, drainage therefore
/// stays complete, and a tile is equal to that part of the whole level.
///
/// # Examples
///
/// Adds ripples across the wind, on a terrain of its own:
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
    /// Returns how many cells away the operator reads, on level `level` (0 is the coarsest) with cells `width` metres
    /// wide: at most [`FARTHEST`].
    fn reach(&self, level: u32, width: f64) -> u32;

    /// Returns true if the operator does anything on such a level; where it does not, it costs nothing.
    fn acts(&self, _level: u32, _width: f64) -> bool {
        true
    }

    /// Returns the number of sweeps in which the kernel moves cells towards their targets, 1 to [`MOST_SWEEPS`]. In
    /// each sweep a cell sinks at most to its receiver, and rises at most to its lowest donor, as they were before.
    /// Incision therefore advances that many cells into a slope.
    fn sweeps(&self, _level: u32, _width: f64) -> u32 {
        1
    }

    /// Returns the target elevation of a cell. It may depend on the terrain within the reach, and on nothing else
    /// that may differ from tile to tile. By default the cell keeps its elevation.
    fn want(&self, patch: &JoinPatch<'_>, cell: Cell<i64>) -> Height {
        patch.height(cell)
    }

    /// Computes the target elevations of the cells of a rectangle into `wanted`, row by row. By default it calls
    /// [`Join::want`] for each cell; an operator that moves material from cell to cell may compute all of them at
    /// once. The same condition holds: a cell's target is a function of the terrain within its reach, whatever the
    /// rectangle.
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

/// Joined operators, in their order. Two lists are equal if their operators are the same objects in memory.
#[derive(Debug, Clone, Default)]
pub struct Joins(Vec<Arc<dyn Join>>);

impl Joins {
    /// Returns the list with one more operator.
    #[must_use]
    pub fn with(mut self, join: Arc<dyn Join>) -> Self {
        self.0.push(join);
        self
    }

    /// Checks that no operator reads too far on a level, or has too many sweeps there, or none.
    pub(super) fn check(&self, level: u32, width: f64) -> Result<()> {
        for join in self.at_work(level, width) {
            let (reach, sweeps) = (join.reach(level, width), join.sweeps(level, width));
            if reach > FARTHEST {
                return Err(Error::value(
                    "reach of a custom refinement operator",
                    reach,
                    format!("at most {FARTHEST} cells"),
                ));
            }
            if !(1..=MOST_SWEEPS).contains(&sweeps) {
                return Err(Error::value(
                    "sweeps of a custom refinement operator",
                    sweeps,
                    format!("1 to {MOST_SWEEPS}"),
                ));
            }
        }
        Ok(())
    }

    /// Returns true if there are no operators.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if an operator does something on such a level.
    pub(super) fn act(&self, level: u32, width: f64) -> bool {
        self.at_work(level, width).next().is_some()
    }

    fn at_work(&self, level: u32, width: f64) -> impl Iterator<Item = &dyn Join> {
        self.0.iter().map(AsRef::as_ref).filter(move |join| join.acts(level, width))
    }

    /// Returns how many cells of terrain all operators together need beyond the wanted cells, including one for the
    /// receivers.
    pub(super) fn margin(&self, level: u32, width: f64) -> i64 {
        let each = self.at_work(level, width).map(|join| needs(join, level, width));
        if self.act(level, width) { each.sum::<i64>() + 1 } else { 0 }
    }

    /// Applies the operators to the terrain; it is then correct up to `beyond` cells outside the wanted ones.
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

/// Returns how many cells of terrain an operator needs beyond its result: its reach, or 1 for the donors if that is
/// more, then 1 for the receiver, and 2 more for each further sweep.
fn needs(join: &dyn Join, level: u32, width: f64) -> i64 {
    let sweeps = i64::from(join.sweeps(level, width).clamp(1, MOST_SWEEPS));
    i64::from(join.reach(level, width)).max(1) + 2 * sweeps - 1
}

/// The position of the planes in the world.
#[derive(Debug)]
pub(super) struct Place {
    pub level: u32,
    pub width: f64,
    /// The sea level; `None` if there is no sea.
    pub sea: Option<Height>,
    pub key: Key,
    /// All cells of the level, and the wanted ones.
    pub world: CellRect<i64>,
    pub wanted: CellRect<i64>,
    /// The world cell of the planes' first cell.
    pub origin: Cell<i64>,
}

impl Place {
    fn part(&self, beyond: i64) -> Part {
        Part::of(self.wanted.grown(beyond, self.world), self.origin)
    }

    /// Returns the world cells of a part.
    fn rect(&self, part: &Part) -> CellRect<i64> {
        let start =
            Cell::new(self.origin.row + part.rows.start as i64 - 1, self.origin.col + part.cols.start as i64 - 1);
        CellRect::new(start, [part.rows.len(), part.cols.len()])
    }
}

/// The constraints on the terrain.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub flags: &'a Plane<u8>,
    pub codes: &'a Plane<u8>,
    pub floor: &'a Plane<i32>,
    /// Thickness of the sand, if the rules have sand.
    pub sand: Option<&'a Plane<i32>>,
}

impl Known<'_> {
    /// Returns true if a cell keeps its elevation: rivers, lakes, the sea and outlets.
    fn holds(&self, i: usize, j: usize) -> bool {
        self.flags.at(i, j) & (RIVER | SEA) != 0 || self.codes.at(i, j) == OUT
    }
}

/// The terrain of a level around a cell.
#[derive(Debug)]
pub struct JoinPatch<'a> {
    place: &'a Place,
    ground: &'a Plane<i32>,
    known: &'a Known<'a>,
    reach: u32,
    /// [`shore::squares`], computed on first use.
    shore: OnceLock<Plane<u32>>,
}

impl JoinPatch<'_> {
    /// Returns the level: 0 is the coarsest.
    pub fn level(&self) -> u32 {
        self.place.level
    }

    /// Returns the width of its cells in metres.
    pub fn width(&self) -> f64 {
        self.place.width
    }

    /// Returns the level's random key: combined with a cell ([`Key::cell`]) it is the same for every tile.
    pub fn key(&self) -> Key {
        self.place.key
    }

    /// Returns the centre of a cell of the level.
    pub fn place(&self, cell: Cell<i64>) -> Point {
        let Cell { row: y, col: x } = cell.map(|at| (at as f64 + 0.5) * self.place.width);
        Point { x, y }
    }

    /// Returns the rectangle of all cells of the level.
    pub fn world(&self) -> CellRect<i64> {
        self.place.world
    }

    /// Returns true if a cell of the level keeps its elevation whatever its target: rivers, lakes, the sea and
    /// outlets. The cell must be within the reach of the one for which [`Join::want`] is called.
    pub fn is_held(&self, cell: Cell<i64>) -> bool {
        let Cell { row, col } = self.at(cell);
        self.known.holds(row, col)
    }

    /// Returns the sea level, if the world has a sea.
    pub fn sea(&self) -> Option<Height> {
        self.place.sea
    }

    /// Returns the distance in metres from the centre of a cell of the level to the rim of the nearest sea cell, as
    /// if that cell were round; `None` if there is no sea within the operator's reach. The cell must be the one for
    /// which [`Join::want`] is called.
    pub fn to_sea(&self, cell: Cell<i64>) -> Option<f64> {
        self.place.sea?;
        let Cell { row, col } = self.at(cell);
        let square = self.shore.get_or_init(|| shore::squares(self.known.flags, self.reach)).at(row, col);
        let far = f64::from(square).sqrt() - 0.5;
        (square < shore::FAR).then(|| far.max(0.0) * self.place.width)
    }

    /// Returns the elevation of a cell of the level, or that of the water over it; beyond the world, that of the
    /// nearest cell at the edge. The cell must be within the reach of the one for which [`Join::want`] is called.
    pub fn height(&self, cell: Cell<i64>) -> Height {
        let Cell { row, col } = self.at(cell);
        Height(self.ground.at(row, col))
    }

    /// Returns the thickness of the sand on a cell of the level, if the rules have sand
    /// ([`Rules::sand`](crate::Rules::sand)), otherwise 0. The cell must be within the reach of the one for which
    /// [`Join::want`] is called.
    pub fn sand(&self, cell: Cell<i64>) -> Height {
        let Cell { row, col } = self.at(cell);
        Height(self.known.sand.map_or(0, |sand| sand.at(row, col)))
    }

    /// Returns a cell's row and column in the planes with their padding.
    fn at(&self, cell: Cell<i64>) -> Cell {
        let (world, size) = (self.place.world, self.ground.size());
        Cell::from_axes(|axis| {
            let at = cell[axis].clamp(world.start[axis], world.end[axis] - 1);
            ((at - self.place.origin[axis] + 1).max(1) as usize).min(size[axis])
        })
    }
}
