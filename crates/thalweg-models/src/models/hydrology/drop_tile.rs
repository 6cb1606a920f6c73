//! The planes of a tile on which drops run, the cells around a cell, and the questions that a drop asks of them.

use crate::model::MassBalance;
use crate::models::hydrology::drop::Drop;
use crate::models::hydrology::rules::HydrologyRules;
use crate::process::particles::{ParticlePatch, require_layer};
use thalweg_core::terrain::{GROUND, SEDIMENT};
use thalweg_core::{Cell, CellRect, Result};
use thalweg_flow::D8;

/// Name of the height plane that holds the water level of the lake or sea over each cell, [`DRY`] where there is none.
/// It is only read.
pub const LEVEL: &str = "level";
/// Name of the height plane that sums the southward part of the passing water, in parts of a
/// [`WHOLE_DROP`](super::motion::WHOLE_DROP).
pub const SOUTH: &str = "south";
/// Name of the height plane that sums the eastward part, in the same unit.
pub const EAST: &str = "east";
/// Name of the count plane that sums all water that passes a cell, in the same unit.
pub const PASSED: &str = "passed";
/// Name of the factor plane that holds each cell's stream share σ, 0 to 1.
pub const STREAM: &str = "stream";
/// Name of the factor plane that holds the southward momentum of the stream, in m³/s.
pub const PULL_SOUTH: &str = "pull_south";
/// Name of the factor plane that holds the eastward momentum of the stream, in m³/s.
pub const PULL_EAST: &str = "pull_east";
/// Name of an optional factor plane: erodibility of the ground, as a multiplier of what drops erode.
pub const YIELDS: &str = "yields";
/// Name of an optional factor plane: the same multiplier for the bedrock below sediment.
pub const ROCK: &str = "rock";
/// Name of an optional factor plane: the height difference in units above which a cell slides onto its neighbour.
pub const TALUS: &str = "talus";

/// Water level of a cell without a lake or sea.
pub const DRY: i32 = i32::MIN;

/// The planes of a tile, borrowed from its patch, and the mass balance of the run.
pub(super) struct DropTile<'a> {
    pub(super) rules: &'a HydrologyRules,
    pub(super) origin: Cell<i64>,
    pub(super) stride: usize,
    pub(super) tile: CellRect<i32>,
    pub(super) valid: CellRect<i32>,
    pub(super) ground: &'a mut [i32],
    pub(super) loose: &'a mut [i32],
    pub(super) level: &'a [i32],
    pub(super) south: &'a mut [i32],
    pub(super) east: &'a mut [i32],
    pub(super) passed: &'a mut [u32],
    pub(super) stream: &'a [f32],
    pub(super) pull_south: &'a [f32],
    pub(super) pull_east: &'a [f32],
    /// Factor that converts a pull in m³/s to one in units of a drop's speed.
    pub(super) pull: f32,
    pub(super) yields: Option<&'a [f32]>,
    pub(super) rock: Option<&'a [f32]>,
    pub(super) talus: Option<&'a [f32]>,
    pub(super) outside: Option<&'a [bool]>,
    pub(super) budget: MassBalance,
}

impl<'a> DropTile<'a> {
    pub(super) fn new(rules: &'a HydrologyRules, patch: &'a mut ParticlePatch) -> Result<Self> {
        let ParticlePatch { origin, stride, tile, valid, .. } = *patch;
        let mut planes = patch.split_planes();
        let mut height = |name| require_layer(name, planes.take_heights(name));
        let (ground, loose, level) = (height(GROUND.name)?, height(SEDIMENT.name)?, height(LEVEL)?);
        let (south, east) = (height(SOUTH)?, height(EAST)?);
        let passed = require_layer(PASSED, planes.take_counts(PASSED))?;
        let factor = |name| require_layer(name, planes.factor_plane(name));
        Ok(Self {
            rules,
            origin,
            stride,
            tile,
            valid,
            ground,
            loose,
            level,
            south,
            east,
            passed,
            stream: factor(STREAM)?,
            pull_south: factor(PULL_SOUTH)?,
            pull_east: factor(PULL_EAST)?,
            pull: (1.0 / rules.unit) as f32,
            yields: planes.factor_plane(YIELDS),
            rock: planes.factor_plane(ROCK),
            talus: planes.factor_plane(TALUS),
            outside: planes.outside,
            budget: MassBalance::default(),
        })
    }

    #[inline]
    pub(super) fn cell_index(&self, cell: Cell<i32>) -> usize {
        cell.row as usize * self.stride + cell.col as usize
    }

    /// Returns the cell of a drop relative to the patch.
    #[inline(always)]
    pub(super) fn local_cell(&self, drop: &Drop) -> Cell<i32> {
        Cell::new((drop.cell.row - self.origin.row) as i32, (drop.cell.col - self.origin.col) as i32)
    }

    #[inline]
    pub(super) fn is_inside(&self, cell: Cell<i32>) -> bool {
        let CellRect { start, end } = self.valid;
        cell.row >= start.row && cell.col >= start.col && cell.row < end.row && cell.col < end.col
    }

    /// Returns true if all neighbours of a cell exist.
    #[inline(always)]
    pub(super) fn is_inner(&self, cell: Cell<i32>) -> bool {
        let CellRect { start, end } = self.valid;
        cell.row > start.row && cell.col > start.col && cell.row + 1 < end.row && cell.col + 1 < end.col
    }

    #[inline]
    pub(super) fn is_void(&self, cell: Cell<i32>) -> bool {
        self.outside.is_some_and(|outside| outside[self.cell_index(cell)])
    }

    #[inline]
    pub(super) fn is_next_to_void(&self, cell: Cell<i32>) -> bool {
        self.outside.is_some() && D8::ALL.into_iter().any(|direction| self.is_void(neighbour_cell(cell, direction)))
    }

    /// Returns the fall of the ground in units from the northern to the southern neighbour and from the western to the
    /// eastern one, and the slope (rise over run) that one unit of each fall stands for.
    #[inline(always)]
    pub(super) fn ground_falls(&self, here: Cell<i32>, at: usize) -> ([i32; 2], [f32; 2]) {
        let CellRect { start, end } = self.valid;
        let stride = self.stride;
        // Inner cells have all neighbours; at an edge of the terrain the cell itself replaces a missing neighbour.
        let (north, south, west, east) = if self.is_inner(here) {
            (at - stride, at + stride, at - 1, at + 1)
        } else {
            let pick = |inside: bool, other: usize| if inside { other } else { at };
            (
                pick(here.row > start.row, at.wrapping_sub(stride)),
                pick(here.row + 1 < end.row, at + stride),
                pick(here.col > start.col, at.wrapping_sub(1)),
                pick(here.col + 1 < end.col, at + 1),
            )
        };
        // Beyond the data the ground is taken to continue level.
        let height = |k: usize| self.ground[if self.outside.is_some_and(|outside| outside[k]) { at } else { k }];
        // Next to an edge the difference is one-sided: it spans one cell and not two.
        let slope = |a: usize, b: usize| self.rules.slope * if a == at || b == at { 2.0 } else { 1.0 };
        let falls = [height(north) - height(south), height(west) - height(east)];
        (falls, [slope(north, south), slope(west, east)])
    }

    /// Returns the elevations of the four orthogonal and of the four diagonal neighbours of a cell that has all eight.
    #[inline(always)]
    pub(super) fn neighbour_heights(&self, at: usize) -> [[i32; 4]; 2] {
        // Rows of three are read as arrays, with one check of bounds each instead of three.
        let row = |first: usize| -> [i32; 3] {
            let row = self.ground.get(first..first + 3).and_then(|row| row.try_into().ok());
            row.unwrap_or_default()
        };
        let [a, b, c] = row(at - self.stride - 1);
        let [d, _, e] = row(at - 1);
        let [f, g, h] = row(at + self.stride - 1);
        [[b, d, e, g], [a, c, f, h]]
    }

    /// Returns the index of the lowest cell among a cell and its neighbours, the cell itself if none is lower.
    pub(super) fn find_lowest_cell(&self, here: Cell<i32>, at: usize) -> usize {
        let mut lowest = at;
        for direction in D8::ALL {
            let cell = neighbour_cell(here, direction);
            if self.is_inside(cell) && !self.is_void(cell) && self.ground[self.cell_index(cell)] < self.ground[lowest] {
                lowest = self.cell_index(cell);
            }
        }
        lowest
    }
}

/// Returns the neighbour of a cell in a direction.
#[inline(always)]
pub(super) fn neighbour_cell(cell: Cell<i32>, direction: D8) -> Cell<i32> {
    let [down, right] = direction.offset();
    Cell::new(cell.row + down as i32, cell.col + right as i32)
}
