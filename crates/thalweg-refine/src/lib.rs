//! Refinement: computes each cell of a level from a bounded neighbourhood in the next coarser level.
//!
//! A world is solved as a whole on its coarsest cells, level 0 ([`LocalWindow::from_warped_terrain`]). Every finer
//! level is the result of a local operator: [`refine_window`] computes any rectangle of cells of half the width from a
//! coarse window that extends a fixed number of cells beyond it ([`needed_window`]). Any tile of any level can
//! therefore be computed alone, in any order, on any number of threads, and its bits are those that it has in the whole
//! level ([`refine_tile`]). For example, if level 0 has 512 × 512 cells of 100 m, level 4 has 8192 × 8192
//! cells of 6.25 m.
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
//! | uplift, filling, sand, fans, floods | at most the lowest donor before the sweep; donors do not sink |
//! | incision, crests, sand, slides of rivers | at least the receiver before the sweep; receivers do not rise |
//! | slides of slopes | they stay above the cell that limits them |
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
//! 4. `beds`: incises the beds of rivers. `receivers`, `water`: compute the receivers of the carved terrain, whose
//!    order all further sweeps preserve, and the hills' drainage areas by multiple flow. `floors`: computes the
//!    steepest stable slopes, with the valley floors along rivers; `rock` scales them and the incision by the beds of
//!    rock.
//! 5. `uplift`, `incision`, `block_means`: apply one step of uplift against stream-power incision, and take back most
//!    of the change of whole coarse cells' means.
//! 6. `diffusion`, `sand`, `alluvial_fans`, `overbank_deposition`, `limit`: hillslope diffusion; the return of sand;
//!    fans; overbank deposits; slides to the steepest stable slope.
//! 7. `custom_operators`: applies custom operators ([`RefinementOperator`]).
//! 8. `receivers`, `tree`: compute the receivers of the finished terrain, and the hills' drainage areas, counted in
//!    cells, up to the size of the smallest river that the coarser level has. Ground under water is reset to its
//!    elevation before carving.
//!
//! The modules `refinement` and `erosion` define their order. A sweep reads one cell in each direction, so each sweep
//! is run on one cell less on each side: `margins` adds these reaches up, from the requested cells back to the cells
//! that are read, and no cell is computed from neighbours that are not correct. At the edges of the world the parts do
//! not shrink: the cells beyond are walls. Water leaves over an open edge. A cell at or below sea level is an outlet;
//! where a cell and all its neighbours are sea the fine cells stay sea, and where all are land they stay land.
//!
//! Every operator is a pass over rows of planes that have a ring of padding cells, so that the compiler vectorizes
//! it; random numbers are hashes of world cells.
//!
//! # Lakes
//!
//! A depression of level 0 that is deep enough ([`MIN_LAKE_DEPTH_M`]) and has enough drainage area
//! ([`LAKE_CATCHMENT`]) is a lake with a number and a level, which are the same on all levels. Its cells behave like
//! a local sea: they keep the level, their ground is the lake's bed, and the tree runs over them from node to node to
//! the one outlet, whose bed is no higher. Levels incise rivers' beds, and no bed may be incised below the level of a
//! lake to which it drains, however far away that lake is. Land adjacent to a lake is therefore kept above it by as
//! much as all finer levels can incise (`beds`): nothing further up the tree is lower. Lake shores, like the sea's,
//! are those of a smooth surface through the coarse cells.
//!
//! # Limitations
//!
//! Levees form only where nothing drains over them, and no swamp forms behind them. Meanders do not cut off. Flow paths
//! stay in the blocks of a cell and of its receiver: finer levels would keep the eight directions of level 0's rivers,
//! so the terrain of level 0 is domain-warped first ([`LocalWindow::from_warped_terrain`]). Concavity may differ much
//! from that of a global build.
//!
//! # Examples
//! ```
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//! use thalweg_refine::{LocalWindow, Rules, refine_window, refinement_key};
//!
//! // A valley that falls to the south; cells are 100 m wide.
//! let height = |k: usize| 900.0 - 10.0 * (k / 64) as f32 + 4.0 * ((k % 64) as f32 - 32.0).abs();
//! let heights: Vec<f32> = (0..64 * 64).map(height).collect();
//! let terrain = Terrain::from_metres(Grid::new([64, 64], 100.0)?, &heights)?;
//! let (frame, level_0) = LocalWindow::from_warped_terrain(&terrain, &Rules::default())?;
//! // Level 1 has cells of half the width.
//! let level_1 = refine_window(&frame, &Rules::default(), refinement_key(42), &level_0, frame.world_rect(1))?;
//! assert_eq!(level_1.size(), [128, 128]);
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

use thalweg_core::base::rng::RandomKey;

mod active;
mod alluvial_fans;
mod assembly;
mod banks;
mod bed_intervals;
mod beds;
mod block_means;
mod carved_block;
mod carving;
mod cell_flags;
mod custom_operators;
mod diffusion;
mod domain_warp;
mod erosion;
mod floors;
mod hollows;
mod incision;
mod lakes;
mod ledger;
mod level;
mod level_zero;
mod limit;
mod margins;
mod meanders;
mod node_builder;
mod node_path;
mod nodes;
mod overbank_deposition;
mod paths;
mod pieces;
mod plane;
mod receivers;
mod refinement;
mod rock;
mod rules;
mod sand;
mod shore;
mod shorelines;
mod smooth;
mod tree;
mod uplift;
mod uplift_targets;
mod water;
mod window;

pub use custom_operators::{MAX_REACH_CELLS, MAX_SWEEPS, OperatorPatch, RefinementOperator, RefinementOperators};
pub use lakes::{LAKE_CATCHMENT, MIN_LAKE_DEPTH_M};
pub use ledger::{Ledger, OPERATORS, Operator};
pub use level::{needed_window, refine_tile, refine_window, refine_with_ledger};
pub use pieces::refine_in_pieces;
pub use rules::{Rules, Sand};
pub use window::{Frame, LocalWindow, MAX_WINDOW_CELLS, MIN_CELL_WIDTH_M, check_window};

/// Returns the random key of the refinement levels in the world of this seed. It differs from the keys of all stages.
pub fn refinement_key(seed: u64) -> RandomKey {
    RandomKey::new(seed, "local levels")
}
