//! [`Join`]: operators that are not the kernel's own, held to the order of the tree.

use std::fmt::Debug;
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::base::rng::Key;
use crate::flow::OUT;
use crate::local::paths::{RIVER, SEA};
use crate::local::plane::{Part, Plane};
use crate::local::{Rect, creep, rise};
use crate::terrain::height::Height;

/// The farthest that an operator may look, in cells.
pub const FARTHEST: u32 = 256;

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
/// use thalweg::base::rng::Key;
/// use thalweg::local::{Join, Joins, LocalWindow, JoinPatch, Rules, refine};
/// use thalweg::{Field, Grid, Height, Terrain};
///
/// #[derive(Debug)]
/// struct Ripples;
///
/// impl Join for Ripples {
///     fn reach(&self, _level: u32, _width: f64) -> u32 {
///         0
///     }
///
///     fn want(&self, patch: &JoinPatch<'_>, cell: [i64; 2]) -> Height {
///         let [x, _] = patch.place(cell);
///         Height::saturating(patch.height(cell).metres() + 0.5 * libm::sin(x / 9.0))
///     }
/// }
///
/// # fn main() -> thalweg::Result<()> {
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

    /// How high a cell (row, column of the level) wants to be, by the ground as far around as its reach, and by nothing else that may
    /// differ from tile to tile.
    fn want(&self, patch: &JoinPatch<'_>, cell: [i64; 2]) -> Height;
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

    /// Refuses operators that look too far on some level.
    pub(super) fn check(&self, level: u32, width: f64) -> Result<()> {
        match self.0.iter().map(|join| join.reach(level, width)).find(|reach| *reach > FARTHEST) {
            Some(reach) => Err(Error::value("reach of a joined operator", reach, format!("{FARTHEST} cells at most"))),
            None => Ok(()),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many cells of ground all of them need beyond what is wanted of them: one more for the receivers that they go by.
    pub(super) fn margin(&self, level: u32, width: f64) -> i64 {
        let each = self.0.iter().map(|join| needs(join.as_ref(), level, width));
        if self.is_empty() { 0 } else { each.sum::<i64>() + 1 }
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
        for join in &self.0 {
            margin -= needs(join.as_ref(), place.level, place.width);
            let [outer, inner] = [1, 0].map(|by| place.part(margin + by));
            let patch = JoinPatch { place, ground: now };
            let mut wanted = now.clone();
            for i in outer.rows.clone() {
                for j in outer.cols.clone() {
                    let held = known.flags.at(i, j) & (RIVER | SEA) != 0 || known.codes.at(i, j) == OUT;
                    if !held {
                        let cell = [place.origin[0] + i as i64 - 1, place.origin[1] + j as i64 - 1];
                        let height = join.want(&patch, cell).0.clamp(Height::MIN.0, Height::MAX.0);
                        wanted.set(i, j, height);
                    }
                }
            }
            rise::sweep(now, &wanted, known.codes, &outer, next);
            std::mem::swap(now, next);
            creep::lower(now, (&wanted, known.floor), known.codes, &inner, next);
            std::mem::swap(now, next);
        }
    }
}

impl PartialEq for Joins {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

/// Cells of ground that an operator needs beyond what is wanted: its reach, or those that drain here, and then the one below.
fn needs(join: &dyn Join, level: u32, width: f64) -> i64 {
    i64::from(join.reach(level, width)).max(1) + 1
}

/// Where the planes lie that are worked on.
#[derive(Debug)]
pub(super) struct Place {
    pub level: u32,
    pub width: f64,
    pub key: Key,
    /// All cells of the level, and the wanted ones.
    pub world: Rect,
    pub wanted: Rect,
    /// The planes' first cell.
    pub origin: [i64; 2],
}

impl Place {
    fn part(&self, beyond: i64) -> Part {
        Part::of(self.wanted.grown(beyond, self.world), self.origin)
    }
}

/// What is known of the ground.
pub(super) struct Known<'a> {
    pub flags: &'a Plane<u8>,
    pub codes: &'a Plane<u8>,
    pub floor: &'a Plane<i32>,
}

/// Ground of a level about a cell.
#[derive(Debug)]
pub struct JoinPatch<'a> {
    place: &'a Place,
    ground: &'a Plane<i32>,
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

    /// Centre of a cell (row, column of the level) in world metres: x eastward, y southward.
    pub fn place(&self, [i, j]: [i64; 2]) -> [f64; 2] {
        [j, i].map(|at| (at as f64 + 0.5) * self.place.width)
    }

    /// Height of a cell's ground, of water its level; beyond the world that of the cell at its edge. The cell (row, column of the level) is
    /// to be within the reach of the one that is asked for.
    pub fn height(&self, cell: [i64; 2]) -> Height {
        let world = self.place.world;
        let [i, j] = [0, 1].map(|axis| {
            let at = cell[axis].clamp(world.start[axis], world.end[axis] - 1);
            (at - self.place.origin[axis] + 1).max(1) as usize
        });
        let [rows, cols] = self.ground.size();
        Height(self.ground.at(i.min(rows), j.min(cols)))
    }
}
