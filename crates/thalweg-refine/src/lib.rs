//! Refinement of finite reach: a level's cells out of the coarser level's cells around them, and of nothing else.
//!
//! A world is solved whole on its coarsest cells, level 0 ([`LocalWindow::bent`]). Every finer level is a local operator: [`refine`]
//! makes any rectangle of cells of half the width out of a coarse window that reaches a fixed number of cells beyond it
//! ([`needed_window`]). So any tile of any level is made alone, in any order, on any number of threads, and has the bits that it has in the
//! whole ([`refine_tile`]).
//!
//! # The tree is carried
//!
//! A level holds the ground, each cell's receiver and each cell's catchment, and two things hold whatever the sweeps: **I1**, no
//! receiver is higher than its donor, and receivers make a tree; **I2**, catchments never fall downstream, so rivers (catchments of N cells and
//! more) drain to rivers. Every operator keeps them by its form:
//!
//! | operator | why the order of the tree holds |
//! |---|---|
//! | nodes | a bed lies in an interval of its cell; the intervals of a cell and of its receiver do not overlap |
//! | ways | two sequences that fall from bed to bed, and their mean; a shared cell takes the lowest |
//! | raised ground | above its block's node, which is beside it |
//! | receivers | a lower cell where there is one, else the tree as it was: a level circle would be one of kept receivers |
//! | dug beds | deeper the larger the catchment |
//! | uplift, hollows filled, sand, fans, floods | no higher than the lowest donor stood before the sweep, and donors do not sink |
//! | cuts, crests worn, sand, rivers that slide | no lower than the receiver stood before the sweep, and receivers do not rise |
//! | slopes that slide | above the cell that held them |
//!
//! So drainage is complete however few sweeps there are; sweeps govern looks alone, and are part of the definition. Heights are whole
//! units, and on level ground there may be none left between a cell and its receiver: then they are equal, and the tree alone says where
//! water goes.
//!
//! # The journey of the data
//!
//! 1. `smooth`: coarse heights, each bent over its four cells, the mean kept; the next octaves of noise, as high as the ground is steep; the
//!    slopes that uplift and cuts tend to, by how steep rivers and hills are for their catchments.
//! 2. `nodes`: of each coarse cell the child that carries its water on, and its bed: lower in soft rock, higher in hard. Meanders. Shores.
//! 3. `paths`: ways from node to node; lakes, sea and rim; what is beside is raised, what cannot drain is carved.
//! 4. `receive`, `water`: receivers, and catchments of hills by multiple flow.
//! 5. `rise`, `cut`, `hold`, `sand`: one step of uplift against rivers' cuts, of which what moves whole coarse cells is mostly taken back. `creep`,
//!    `deposit`, `floods`, `floors`, `limit`: creep; fans; what floods lay; floors along rivers with beds in them; the steepest slope. Beds of
//!    rock (`rock`) scale cuts and the steepest slope.
//! 6. `join`: operators that are not the kernel's own ([`Join`]).
//! 7. `tree`: receivers of the finished ground; catchments of hills, counted, no larger than the smallest river's that came from above.
//!
//! `level` is their order. A sweep reads one cell around, so each sweep is done on one cell less on each side: `reach` adds the reaches up,
//! from what is wanted back to what is read, and no cell is ever worked on whose neighbours are not right. At the edges of the world
//! nothing is taken off: cells beyond are walls. Over an open edge water leaves; what is not above the sea is an outlet, and where all
//! around is sea it stays sea, where all is land it stays land.
//!
//! Every operator is a pass over rows of planes with a ring of pads round them, compiled to vectors; random numbers are hashes of world
//! cells.
//!
//! # Lakes
//!
//! A hollow of level 0 that is deep enough ([`LEAST_LAKE_DEPTH`]) and drains enough ([`LAKE_CATCHMENT`]) is a lake with a number and a level,
//! which are the same on all levels. Its cells are a local sea: they keep the level, their ground is the bed, and the tree runs over them
//! from node to node to the one outlet, whose bed is no higher. Levels dig rivers' beds, and none may come to lie under a lake that it
//! drains to, however far away that is. So land beside a lake stands over it by as much as all finer levels dig (`beds`): further
//! up the tree nothing is lower. Shores, and the sea's, are those of a smooth surface through coarse cells.
//!
//! # What it does not do yet
//!
//! Levees stand only where nothing drains over them, and behind them lies no swamp. Meanders do not cut off. Ways lie in the blocks of a cell
//! and of its receiver: what eight directions level 0's rivers have, finer ones would keep, so its ground is bent first
//! ([`LocalWindow::bent`]). Concavity may be far off a global build's.
//!
//! # Examples
//! ```
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//! use thalweg_refine::{LocalWindow, Rules, key, refine};
//!
//! // A valley that falls to the south; cells are 100 m wide.
//! let height = |k: usize| 900.0 - 10.0 * (k / 64) as f32 + 4.0 * ((k % 64) as f32 - 32.0).abs();
//! let heights: Vec<f32> = (0..64 * 64).map(height).collect();
//! let terrain = Terrain::from_metres(Grid::new([64, 64], 100.0)?, &heights)?;
//! let (frame, level_0) = LocalWindow::bent(&terrain, &Rules::default())?;
//! // Level 1 has cells of half the width.
//! let level_1 = refine(&frame, &Rules::default(), key(1), &level_0, frame.world(1))?;
//! assert_eq!(level_1.size(), [128, 128]);
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

use thalweg_core::base::rng::Key;

mod active;
mod beds;
mod bend;
mod creep;
mod cut;
mod deposit;
mod floods;
mod floors;
mod hold;
mod join;
mod lakes;
mod ledger;
mod level;
mod limit;
mod nodes;
mod paths;
mod pieces;
mod plane;
mod reach;
mod receive;
mod rise;
mod rock;
mod rules;
mod sand;
mod shore;
mod smooth;
mod tree;
mod water;
mod whole;
mod window;

pub use join::{FARTHEST, Join, JoinPatch, Joins, MOST_SWEEPS};
pub use lakes::{LAKE_CATCHMENT, LEAST_LAKE_DEPTH};
pub use ledger::{Ledger, OPERATORS, Operator};
pub use level::{needed_window, refine, refine_tile, refine_with_ledger};
pub use pieces::refine_in_pieces;
pub use rules::{Rules, Sand};
pub use window::{Frame, LocalWindow, MOST_CELLS, NARROWEST, check_window};

/// The key of the local levels of the world of this seed, apart from all stages' keys.
pub fn refinement_key(seed: u64) -> Key {
    Key::new(seed, "local levels")
}
