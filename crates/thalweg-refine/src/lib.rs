//! Refinement: computes each cell of a level from a bounded neighbourhood in the next coarser level.
//!
//! A world is solved as a whole on its coarsest cells, level 0 ([`LocalWindow::bent`]). Every finer level is the
//! result of a local operator: [`refine`] computes any rectangle of cells of half the width from a coarse window that
//! extends a fixed number of cells beyond it ([`needed_window`]). Any tile of any level can therefore be computed
//! alone, in any order, on any number of threads, and its bits are those that it has in the whole level
//! ([`refine_tile`]).
//!
//! # The drainage tree is carried from level to level
//!
//! A level stores the elevation and each cell's receiver and drainage area. Two invariants hold, whatever the number
//! of sweeps: **I1**, no receiver is higher than its donor, and the receivers form a forest of trees without cycles;
//! **I2**, drainage areas never decrease downstream, so rivers (drainage areas of N cells and more) drain to rivers.
//! Every operator preserves them by construction:
//!
//! | operator | why the order of the tree is preserved |
//! |---|---|
//! | nodes | a bed is in an interval of its cell; the intervals of a cell and of its receiver do not overlap |
//! | flow paths | two sequences that fall from bed to bed, and their mean; a shared cell takes the lowest value |
//! | raised terrain | it is above its block's node, which is adjacent |
//! | receivers | a lower cell, or else the carried one: a cycle would be level, so made of carried receivers only |
//! | incised beds | they are deeper the larger the drainage area |
//! | uplift, filling, sand, fans, floods | no higher than the lowest donor before the sweep; donors do not sink |
//! | incision, worn crests, sand, sliding rivers | no lower than the receiver before the sweep; receivers do not rise |
//! | sliding slopes | they stay above the cell that limits them |
//!
//! Drainage is therefore complete, however few sweeps there are; the number of sweeps governs only the appearance,
//! and it is part of the definition of the world. Elevations are whole units. On level terrain there may be no unit
//! left between a cell and its receiver: then the two are equal, and only the tree tells where water flows.
//!
//! # The stages of a refinement
//!
//! 1. `smooth`: interpolates each coarse elevation over its four fine cells with the mean preserved; adds the next
//!    octaves of noise, with an amplitude proportional to the slope; computes the slopes towards which uplift and
//!    incision tend, from how steep rivers and hills are for their drainage areas.
//! 2. `nodes`: chooses for each coarse cell the child that carries its water on, and the elevation of that child's
//!    bed: lower in soft rock, higher in hard rock. Adds meanders and shorelines.
//! 3. `paths`: carves flow paths from node to node; sets lakes, sea and rim; raises adjacent cells, and carves what
//!    cannot drain.
//! 4. `receive`, `water`: compute receivers, and the hills' drainage areas by multiple flow.
//! 5. `rise`, `cut`, `hold`, `sand`: apply one step of uplift against stream-power incision. Changes of whole coarse
//!    cells' means are mostly taken back. `creep`, `deposit`, `floods`, `floors`, `limit`: hillslope diffusion;
//!    alluvial fans; overbank deposits; valley floors along rivers with beds in them; the steepest slope. Beds of
//!    rock (`rock`) scale the incision and the steepest slope.
//! 6. `join`: applies operators that are not the kernel's own ([`Join`]).
//! 7. `tree`: computes the receivers of the finished terrain and the hills' drainage areas, counted in cells, up to
//!    the size of the smallest river that the coarser level has.
//!
//! The module `level` defines their order. A sweep reads one cell in each direction, so each sweep is run on one cell
//! less on each side: `reach` adds these reaches up, from the requested cells back to the cells that are read, and no
//! cell is computed from neighbours that are not correct. At the edges of the world nothing is subtracted: the cells
//! beyond are walls. Water leaves over an open edge. A cell that is not above the sea is an outlet; where a cell and
//! all its neighbours are sea the fine cells stay sea, and where all are land they stay land.
//!
//! Every operator is a pass over rows of planes that have a ring of padding cells, so that the compiler vectorizes
//! it; random numbers are hashes of world cells.
//!
//! # Lakes
//!
//! A depression of level 0 that is deep enough ([`LEAST_LAKE_DEPTH`]) and has enough drainage area
//! ([`LAKE_CATCHMENT`]) is a lake with a number and a level, which are the same on all levels. Its cells behave like
//! a local sea: they keep the level, their ground is the lake's bed, and the tree runs over them from node to node to
//! the one outlet, whose bed is no higher. Levels incise rivers' beds, and no bed may be incised below the level of a
//! lake to which it drains, however far away that lake is. Land adjacent to a lake is therefore kept above it by as
//! much as all finer levels can incise (`beds`): nothing further up the tree is lower. Lake shores, like the sea's,
//! are those of a smooth surface through the coarse cells.
//!
//! # Limitations
//!
//! Levees form only where nothing drains over them, and no swamp forms behind them. Meanders do not cut off. Flow
//! paths stay in the blocks of a cell and of its receiver: finer levels would keep the eight directions of level 0's
//! rivers, so the terrain of level 0 is domain-warped first ([`LocalWindow::bent`]). Concavity may differ much from
//! that of a global build.
//!
//! # Examples
//! ```
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//! use thalweg_refine::{LocalWindow, Rules, refine, refinement_key};
//!
//! // A valley that falls to the south; cells are 100 m wide.
//! let height = |k: usize| 900.0 - 10.0 * (k / 64) as f32 + 4.0 * ((k % 64) as f32 - 32.0).abs();
//! let heights: Vec<f32> = (0..64 * 64).map(height).collect();
//! let terrain = Terrain::from_metres(Grid::new([64, 64], 100.0)?, &heights)?;
//! let (frame, level_0) = LocalWindow::bent(&terrain, &Rules::default())?;
//! // Level 1 has cells of half the width.
//! let level_1 = refine(&frame, &Rules::default(), refinement_key(1), &level_0, frame.world(1))?;
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

/// Returns the random key of the refinement levels in the world of this seed. It differs from the keys of all stages.
pub fn refinement_key(seed: u64) -> Key {
    Key::new(seed, "local levels")
}
