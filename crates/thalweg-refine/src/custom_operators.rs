//! [`RefinementOperator`]: operators that are not the kernel's own, constrained by the order of the tree.

use std::fmt::{self, Debug};
use std::sync::{Arc, OnceLock};

use crate::cell_flags::{RIVER, SEA};
use crate::plane::{PaddedPlane, PlanePart};
use crate::{diffusion, shore, uplift};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, CellRect, Error, Field, Height, Point, Result};
use thalweg_flow::OUT;

/// The greatest distance from which an operator may read, in cells.
pub const MAX_REACH_CELLS: u32 = 256;

/// The greatest number of sweeps that an operator may request.
pub const MAX_SWEEPS: u32 = 64;

/// A custom refinement operator: it has a finite reach and runs on a level after the kernel's own operators.
///
/// It returns the target elevation of each cell, and the kernel moves the cell towards it as far as the order of the
/// tree allows: a cell rises to one unit below the lowest cell that drains into it, and sinks to one unit above the
/// cell to which it drains, and not below the sea, an adjacent lake or a large river. Rivers, lakes, the sea and
/// outlets keep their elevation. Whatever the targets, drainage therefore stays complete. Mass is not conserved.
///
/// - **It may read** the terrain after the kernel and the operators before it, within its reach: the elevation, the
///   sand, and which cells are fixed; for the cell itself also the distance to the sea; and the level, the width of
///   its cells, and a random key. Receivers, drainage areas and lakes are not available.
/// - **It may not** depend on anything that differs from tile to tile, such as the rectangle, a state or the thread.
///   Reading beyond the declared reach is not detected, and the bits of a tile would then differ from those of the
///   whole level.
/// - **Its `Debug` output** must describe everything that it does, because worlds are distinguished by it.
/// - **In return** a tile is equal to that part of the whole level, in any order and on any number of threads.
///
/// # Examples
///
/// Adds ripples across the wind, on a terrain of its own:
///
/// ```
/// use std::sync::Arc;
/// use thalweg_core::base::rng::RandomKey;
/// use thalweg_refine::{RefinementOperator, RefinementOperators, LocalWindow, OperatorPatch, Rules, refine_window};
/// use thalweg_core::Cell;
/// use thalweg_core::terrain::field::Field;
/// use thalweg_core::terrain::grid::Grid;
/// use thalweg_core::terrain::height::Height;
/// use thalweg_core::terrain::Terrain;
///
/// #[derive(Debug)]
/// struct Ripples;
///
/// impl RefinementOperator for Ripples {
///     fn reach(&self, _level: u32, _width: f64) -> u32 {
///         0
///     }
///
///     fn target_elevation(&self, patch: &OperatorPatch<'_>, cell: Cell<i64>) -> Height {
///         let x = patch.cell_centre(cell).x;
///         Height::from_metres_clamped(patch.surface_elevation(cell).metres() + 0.5 * libm::sin(x / 9.0))
///     }
/// }
///
/// # fn main() -> thalweg_core::base::error::Result<()> {
/// let mut terrain = Terrain::new(Grid::new([32, 32], 30.0)?);
/// terrain.ground = Field::from_fn([32, 32], |i, j| Height::from_metres_clamped(3.0 * i as f64 + 0.1 * (j as f64 - 16.0).powi(2)));
/// let (frame, first) = LocalWindow::from_terrain(&terrain)?;
/// let rules = Rules { joins: RefinementOperators::default().with_operator(Arc::new(Ripples)), ..Rules::default() };
/// let finer = refine_window(&frame, &rules, RandomKey::new(1, "ripples"), &first, frame.world_rect(1))?;
/// finer.check(&frame)?;
/// # let plain = refine_window(&frame, &Rules::default(), RandomKey::new(1, "ripples"), &first, frame.world_rect(1))?;
/// # assert!(plain != finer);
/// # Ok(())
/// # }
/// ```
pub trait RefinementOperator: Debug + Send + Sync {
    /// Returns how many cells away the operator reads, on level `level` (0 is the coarsest) with cells `width` metres
    /// wide: at most [`MAX_REACH_CELLS`]. For example, an operator that reads the eight neighbours returns 1.
    fn reach(&self, level: u32, width: f64) -> u32;

    /// Returns true if the operator does anything on such a level; where it does not, it costs nothing.
    fn is_active(&self, _level: u32, _width: f64) -> bool {
        true
    }

    /// Returns the number of sweeps in which the kernel moves cells towards their targets, 1 to [`MAX_SWEEPS`]. The
    /// targets are computed once. In each sweep a cell first rises to at most one unit below its lowest donor, then
    /// sinks to at least one unit above its receiver. Incision therefore advances that many cells into a slope.
    fn sweeps(&self, _level: u32, _width: f64) -> u32 {
        1
    }

    /// Returns the target elevation of a cell. It may depend on the terrain within the reach, and on nothing else
    /// that may differ from tile to tile. By default the cell keeps its elevation.
    fn target_elevation(&self, patch: &OperatorPatch<'_>, cell: Cell<i64>) -> Height {
        patch.surface_elevation(cell)
    }

    /// Computes the target elevations of the cells of a rectangle into `targets`, row by row. By default it calls
    /// [`RefinementOperator::target_elevation`] for each cell; an operator that moves material from cell to cell may
    /// compute all of them at once. The same condition holds: a cell's target is a function of the terrain within its
    /// reach, whatever the rectangle.
    fn fill_target_elevations(&self, patch: &OperatorPatch<'_>, cells: CellRect<i64>, targets: &mut Field<Height>) {
        for i in cells.start[0]..cells.end[0] {
            let row = targets.row_mut((i - cells.start[0]) as usize);
            for (j, target) in (cells.start[1]..cells.end[1]).zip(row) {
                let cell = Cell::new(i, j);
                // Targets of cells that keep their elevation would be ignored, so they are not computed.
                if !patch.is_fixed_cell(cell) {
                    *target = self.target_elevation(patch, cell);
                }
            }
        }
    }
}

/// Custom refinement operators, in their order. Two lists are equal if their operators are the same objects in memory.
#[derive(Clone, Default)]
pub struct RefinementOperators(Vec<Arc<dyn RefinementOperator>>);

impl fmt::Debug for RefinementOperators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The identity of a world is a hash of this text, so it keeps the name that the type once had.
        f.debug_tuple("Joins").field(&self.0).finish()
    }
}

impl RefinementOperators {
    /// Returns the list with one more operator.
    #[must_use]
    pub fn with_operator(mut self, join: Arc<dyn RefinementOperator>) -> Self {
        self.0.push(join);
        self
    }

    /// Checks that no operator reads too far on a level, or has too many sweeps there, or none.
    pub(super) fn check(&self, level: u32, width: f64) -> Result<()> {
        for join in self.active_operators(level, width) {
            let (reach, sweeps) = (join.reach(level, width), join.sweeps(level, width));
            if reach > MAX_REACH_CELLS {
                return Err(Error::invalid_value(
                    "reach of a custom refinement operator",
                    reach,
                    format!("at most {MAX_REACH_CELLS} cells"),
                ));
            }
            if !(1..=MAX_SWEEPS).contains(&sweeps) {
                return Err(Error::invalid_value(
                    "sweeps of a custom refinement operator",
                    sweeps,
                    format!("1 to {MAX_SWEEPS}"),
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
    pub(super) fn is_active(&self, level: u32, width: f64) -> bool {
        self.active_operators(level, width).next().is_some()
    }

    /// Returns the operators that do something on such a level, in their order.
    fn active_operators(&self, level: u32, width: f64) -> impl Iterator<Item = &dyn RefinementOperator> {
        self.0.iter().map(AsRef::as_ref).filter(move |join| join.is_active(level, width))
    }

    /// Returns how many cells of terrain all operators together need beyond the wanted cells, including one for the
    /// receivers.
    pub(super) fn required_margin(&self, level: u32, width: f64) -> i64 {
        // The operators run one after another, so their margins add up.
        let each = self.active_operators(level, width).map(|join| operator_margin(join, level, width));
        if self.is_active(level, width) { each.sum::<i64>() + 1 } else { 0 }
    }

    /// Applies the operators to the terrain; it is then correct up to `beyond` cells outside the wanted ones.
    pub(super) fn apply_operators(
        &self,
        place: &PlanePlacement,
        known: &PlaneConstraints<'_>,
        beyond: i64,
        now: &mut PaddedPlane<i32>,
        next: &mut PaddedPlane<i32>,
    ) {
        // One cell of the margin was needed for the receivers, which are known already.
        let mut margin = beyond + self.required_margin(place.level, place.width) - 1;
        for join in self.active_operators(place.level, place.width) {
            let sweeps = i64::from(join.sweeps(place.level, place.width).clamp(1, MAX_SWEEPS));
            margin -= operator_margin(join, place.level, place.width);
            let outer = place.part_with_margin(margin + 2 * sweeps - 1);
            let reach = join.reach(place.level, place.width);
            let patch = OperatorPatch { place, ground: now, known, reach, shore: OnceLock::new() };
            let mut targets = now.clone();
            let cells = place.world_rect(&outer);
            // An operator that leaves a cell out keeps its elevation.
            let mut proposed =
                Field::from_fn(cells.size(), |i, j| Height(now.value_at(outer.rows.start + i, outer.cols.start + j)));
            join.fill_target_elevations(&patch, cells, &mut proposed);
            for (k, i) in outer.rows.clone().enumerate() {
                for (proposed, j) in proposed.row(k).iter().zip(outer.cols.clone()) {
                    if !known.is_fixed(i, j) {
                        targets.set(i, j, proposed.0.clamp(Height::MIN.0, Height::MAX.0));
                    }
                }
            }
            // A sweep reads one cell for the donors and then one for the receivers, so it needs two cells around its
            // result.
            for remaining_sweeps in (0..sweeps).rev() {
                let [outer, inner] = [1, 0].map(|by| place.part_with_margin(margin + 2 * remaining_sweeps + by));
                uplift::raise_to_targets(now, &targets, known.codes, &outer, next);
                std::mem::swap(now, next);
                diffusion::lower_to_targets(now, &targets, known.floor, known.codes, &inner, next);
                std::mem::swap(now, next);
            }
        }
    }
}

impl PartialEq for RefinementOperators {
    fn eq(&self, other: &Self) -> bool {
        // Operators are compared by address, because a trait object has no other identity.
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

/// Returns how many cells of terrain an operator needs beyond its result: its reach, or 1 for the donors if that is
/// more, then 1 for the receiver, and 2 more for each further sweep.
fn operator_margin(join: &dyn RefinementOperator, level: u32, width: f64) -> i64 {
    let sweeps = i64::from(join.sweeps(level, width).clamp(1, MAX_SWEEPS));
    i64::from(join.reach(level, width)).max(1) + 2 * sweeps - 1
}

/// The position of the planes in the world.
#[derive(Debug)]
pub(super) struct PlanePlacement {
    pub level: u32,
    pub width: f64,
    /// The sea level; `None` if there is no sea.
    pub sea: Option<Height>,
    pub key: RandomKey,
    /// All cells of the level, and those that are computed.
    pub world: CellRect<i64>,
    pub target_rect: CellRect<i64>,
    /// The world cell of the planes' first cell.
    pub origin: Cell<i64>,
}

impl PlanePlacement {
    fn part_with_margin(&self, beyond: i64) -> PlanePart {
        PlanePart::from_rect(self.target_rect.grow_within(beyond, self.world), self.origin)
    }

    /// Returns the world cells of a part.
    fn world_rect(&self, part: &PlanePart) -> CellRect<i64> {
        let start =
            Cell::new(self.origin.row + part.rows.start as i64 - 1, self.origin.col + part.cols.start as i64 - 1);
        CellRect::new(start, [part.rows.len(), part.cols.len()])
    }
}

/// The constraints on the terrain.
#[derive(Debug)]
pub(super) struct PlaneConstraints<'a> {
    pub flags: &'a PaddedPlane<u8>,
    pub codes: &'a PaddedPlane<u8>,
    pub floor: &'a PaddedPlane<i32>,
    /// Thickness of the sand, if the rules have sand.
    pub sand: Option<&'a PaddedPlane<i32>>,
}

impl PlaneConstraints<'_> {
    /// Returns true if a cell keeps its elevation: rivers, lakes, the sea and outlets.
    fn is_fixed(&self, i: usize, j: usize) -> bool {
        self.flags.value_at(i, j) & (RIVER | SEA) != 0 || self.codes.value_at(i, j) == OUT
    }
}

/// The terrain of a level around a cell.
#[derive(Debug)]
pub struct OperatorPatch<'a> {
    place: &'a PlanePlacement,
    ground: &'a PaddedPlane<i32>,
    known: &'a PlaneConstraints<'a>,
    reach: u32,
    /// The result of [`shore::compute_squared_distances`], computed on first use.
    shore: OnceLock<PaddedPlane<u32>>,
}

impl OperatorPatch<'_> {
    /// Returns the level: 0 is the coarsest.
    pub fn level(&self) -> u32 {
        self.place.level
    }

    /// Returns the width of its cells in metres.
    pub fn cell_width(&self) -> f64 {
        self.place.width
    }

    /// Returns the level's random key: combined with a cell ([`RandomKey::for_cell`]) it is the same for every tile.
    pub fn key(&self) -> RandomKey {
        self.place.key
    }

    /// Returns the centre of a cell of the level.
    pub fn cell_centre(&self, cell: Cell<i64>) -> Point {
        let Cell { row: y, col: x } = cell.map(|at| (at as f64 + 0.5) * self.place.width);
        Point { x, y }
    }

    /// Returns the rectangle of all cells of the level.
    pub fn world_rect(&self) -> CellRect<i64> {
        self.place.world
    }

    /// Returns true if a cell of the level keeps its elevation whatever its target: rivers, lakes, the sea and outlets.
    /// The cell must be within the reach of the one for which [`RefinementOperator::target_elevation`] is called.
    pub fn is_fixed_cell(&self, cell: Cell<i64>) -> bool {
        let Cell { row, col } = self.plane_cell(cell);
        self.known.is_fixed(row, col)
    }

    /// Returns the sea level, if the world has a sea.
    pub fn sea_level(&self) -> Option<Height> {
        self.place.sea
    }

    /// Returns the distance in metres from the centre of a cell of the level to the rim of the nearest sea cell, as
    /// if that cell were round; `None` if there is no sea within the operator's reach. The cell must be the one for
    /// which [`RefinementOperator::target_elevation`] is called.
    pub fn to_sea(&self, cell: Cell<i64>) -> Option<f64> {
        self.place.sea?;
        let Cell { row, col } = self.plane_cell(cell);
        let square = self
            .shore
            .get_or_init(|| shore::compute_squared_distances(self.known.flags, self.reach))
            .value_at(row, col);
        // Half a cell less is the distance to the rim of a round sea cell.
        let far = f64::from(square).sqrt() - 0.5;
        (square < shore::NO_SEA).then(|| far.max(0.0) * self.place.width)
    }

    /// Returns the elevation of a cell of the level, or that of the water over it; beyond the world, that of the
    /// nearest cell at the edge. The cell must be within the reach of the one for which
    /// [`RefinementOperator::target_elevation`] is called.
    pub fn surface_elevation(&self, cell: Cell<i64>) -> Height {
        let Cell { row, col } = self.plane_cell(cell);
        Height(self.ground.value_at(row, col))
    }

    /// Returns the thickness of the sand on a cell of the level, if the rules have sand
    /// ([`Rules::sand`](crate::Rules::sand)), otherwise 0. The cell must be within the reach of the one for which
    /// [`RefinementOperator::target_elevation`] is called.
    pub fn sand_thickness(&self, cell: Cell<i64>) -> Height {
        let Cell { row, col } = self.plane_cell(cell);
        Height(self.known.sand.map_or(0, |sand| sand.value_at(row, col)))
    }

    /// Returns a cell's row and column in the planes with their padding.
    fn plane_cell(&self, cell: Cell<i64>) -> Cell {
        let (world, size) = (self.place.world, self.ground.size());
        Cell::from_axes(|axis| {
            // A cell beyond the world is replaced by the nearest cell at its edge. The second clamp excludes an index
            // outside the planes.
            let at = cell[axis].clamp(world.start[axis], world.end[axis] - 1);
            ((at - self.place.origin[axis] + 1).max(1) as usize).min(size[axis])
        })
    }
}
