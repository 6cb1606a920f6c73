//! [`DropletShower`]: droplets on refinement levels.
//!
//! The droplets of a run erode ground that earlier droplets have changed, and run far, so their result depends on an
//! unbounded neighbourhood. On a refinement level all droplets of a shower run over the ground as it was before the
//! shower, for at most [`STEPS`] cells, and their erosion and deposition is summed. Integer sums do not depend on the
//! order, so a tile is identical to the same part of the whole.

use std::fmt;

use multiversion::multiversion;

use crate::models::droplets::lanes::{ALL, Lanes, Mask, lane_indices};
use crate::models::droplets::map::{DropletMap, LANES};
use crate::models::droplets::{Droplet, DropletRules, Droplets};
use crate::process::brush::{GroundPlanes, Tally};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, CellRect, Field, Grid, Height};
use thalweg_refine::{OperatorPatch, RefinementOperator};

/// Number of showers on a level. Each runs over the result of the showers before, so that gullies attract water.
pub(super) const SHOWERS: u32 = 3;

/// Maximum number of cells that a droplet runs on a refinement level. Longer gullies belong to coarser levels.
const STEPS: u32 = 24;

/// Maximum number of droplets that start on a cell, in all showers together.
const MAX_DROPLETS_PER_CELL: f64 = 8.0;

/// Number of sweeps by which the ground follows erosion and deposition.
const SWEEPS: u32 = 2;

/// Radius in cells of the square over which erosion and deposition average to zero.
const AVERAGING_RADIUS_CELLS: usize = 2;

/// Width in cells of the rim around the cells that droplets run on: they look one step ahead.
const RIM: usize = 2;

/// Number of cells that a brush may read beyond the last one.
const BRUSH_MARGIN_CELLS: usize = 64;

/// Elevation so low that it never limits a change.
const NO_FLOOR: i32 = -(1 << 30);

/// One shower of droplets, which runs on each level whose cells are not narrower than the droplets' stride.
#[derive(Clone, PartialEq)]
pub(super) struct DropletShower {
    model: Droplets,
    /// Cell width of the global level in metres.
    cell: f64,
    key: RandomKey,
}

impl fmt::Debug for DropletShower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, cell, key } = self;
        // The identity of a world is a hash of this text, so it keeps the name that the type once had.
        f.debug_struct("Shower").field("model", model).field("cell", cell).field("key", key).finish()
    }
}

impl DropletShower {
    /// Creates shower `number` of a level, above a global level with cells of `cell` metres. Returns `None` if the
    /// droplets' stride is at least as wide as those: the run itself has then done their work.
    pub fn new(model: &Droplets, number: u32, cell: f64, key: RandomKey) -> Option<Self> {
        let shower = Self { model: model.clone(), cell, key: key.derive_key(number.into()) };
        shower.is_active(1, 0.5 * cell).then_some(shower)
    }

    fn brush_radius_cells(&self, width: f64) -> u32 {
        let stride = if self.model.stride > 0.0 { self.model.stride } else { width };
        (self.model.radius * stride / width) as u32
    }

    /// Returns the mean number of droplets that start on a cell of a level in this shower.
    fn droplets_per_cell(&self, patch: &OperatorPatch<'_>) -> f64 {
        let (width, cells) = (patch.cell_width(), patch.world_rect().size());
        // The number follows the parameter that is set: a total count, a density per km², or one droplet per square
        // stride.
        let all = if self.model.count > 0 {
            // The total stays that of the global level.
            let scale = width / self.cell;
            f64::from(self.model.count) / (cells[0] as f64 * cells[1] as f64 * scale * scale)
        } else if self.model.density > 0.0 {
            self.model.density * width * width * 1e-6
        } else {
            let stride = if self.model.stride > 0.0 { self.model.stride } else { width };
            (width / stride) * (width / stride)
        };
        all.min(MAX_DROPLETS_PER_CELL) / f64::from(SHOWERS)
    }
}

impl RefinementOperator for DropletShower {
    fn is_active(&self, _level: u32, width: f64) -> bool {
        let stride = self.model.stride;
        stride == 0.0 || stride < self.cell && stride <= 1.5 * width
    }

    fn reach(&self, _level: u32, width: f64) -> u32 {
        // The path to a cell, and the reach of erosion before a droplet has arrived there.
        STEPS + 2 * self.brush_radius_cells(width) + 4 + AVERAGING_RADIUS_CELLS as u32
    }

    fn sweeps(&self, _level: u32, _width: f64) -> u32 {
        SWEEPS
    }

    fn fill_target_elevations(&self, patch: &OperatorPatch<'_>, cells: CellRect<i64>, targets: &mut Field<Height>) {
        let width = patch.cell_width();
        let around = cells.grow_within(self.reach(patch.level(), width).into(), patch.world_rect());
        let first = around.start.map(|first| first - RIM as i64);
        let size = around.size().map(|cells| cells + 2 * RIM);
        // The rules depend on the cell width and the sea alone, so a grid of any size serves.
        let Ok(mut grid) = Grid::new([2, 2], width) else { return };
        grid.sea_level = patch.sea_level();
        let rules = DropletRules::new(&self.model, &grid);
        let at = |i: usize, j: usize| Cell::new(first.row + i as i64, first.col + j as i64);
        let mut ground = Field::from_fn(size, |i, j| patch.surface_elevation(at(i, j)).0);
        let is_fixed = Field::from_fn(size, |i, j| patch.is_fixed_cell(at(i, j)));
        let each = self.droplets_per_cell(patch);
        // The whole part of the mean starts on every cell, and the fraction is the probability of one more droplet.
        let (sure, chance) = (each.floor() as u32, each.fract());
        let mut droplets = Vec::new();
        // Droplets start where the north-western corner of their square is in the rectangle.
        for i in RIM..size[0] - RIM - 1 {
            for j in RIM..size[1] - RIM - 1 {
                if is_fixed[(i, j)] {
                    continue;
                }
                // Droplets are drawn by the cell in the world, so neighbouring tiles start the same ones.
                let key = self.key.derive_key(patch.level().into()).for_cell(at(i, j));
                let count = sure + u32::from(key.uniform_unit() < chance);
                for number in 0..count {
                    let part = key
                        .derive_key(u64::from(number) + 1)
                        .uniform_pair()
                        .map(|part| (part as f32).min(1.0 - f32::EPSILON));
                    droplets.push(Droplet {
                        cell: Cell::new(i as i64, j as i64),
                        part: part.into(),
                        velocity: self.model.velocity as f32,
                        water: self.model.water as f32,
                        ..Droplet::default()
                    });
                }
            }
        }
        let bounds = CellRect::from_corners([RIM as i32; 2], size.map(|cells| (cells - RIM) as i32));
        // Brushes are processed in whole vectors and may reach beyond the last row.
        let mut change = vec![0; ground.len() + BRUSH_MARGIN_CELLS];
        let map = DropletMap {
            soil: GroundPlanes::from_ground(ground.as_mut_slice(), size[1], bounds, NO_FLOOR),
            visits: None,
            tile: bounds,
        };
        run_droplets(
            &rules,
            &map,
            is_fixed.as_slice(),
            &droplets,
            &mut GroundPlanes::from_ground(&mut change, size[1], bounds, NO_FLOOR),
        );
        let cell = |i: usize, j: usize| {
            // Limits the change to the range of the neighbouring cells: many droplets that do not see each other's
            // work would otherwise build towers and dig shafts.
            let [least, most] = height_range_around(&ground, Cell::new(i, j));
            let (height, by) = (ground[(i, j)], change[i * size[1] + j]);
            let wish = height.saturating_add(by).max(least.max(rules.floor).min(height)).min(most.max(height));
            if is_fixed[(i, j)] { 0 } else { wish - height }
        };
        // The mean over a square around each cell is then subtracted from these limited changes.
        let changes = Field::from_fn(size, cell);
        for (i, row) in (cells.start.row..cells.end.row).enumerate() {
            for (j, col) in (cells.start.col..cells.end.col).enumerate() {
                let here = Cell::new((row - first.row) as usize, (col - first.col) as usize);
                let by = changes[here].saturating_sub(mean_change_around(&changes, here));
                targets[(i, j)] = Height(ground[here].saturating_add(by));
            }
        }
    }
}

/// Returns the mean change around a cell, which is subtracted: the net change of whole coarse cells belongs to their
/// own level, so that each level is a preview of the next.
fn mean_change_around(changes: &Field<i32>, Cell { row: i, col: j }: Cell) -> i32 {
    let [rows, cols] = changes.size();
    let (mut sum, mut count) = (0i64, 0i64);
    for r in i.saturating_sub(AVERAGING_RADIUS_CELLS)..(i + AVERAGING_RADIUS_CELLS + 1).min(rows) {
        for c in j.saturating_sub(AVERAGING_RADIUS_CELLS)..(j + AVERAGING_RADIUS_CELLS + 1).min(cols) {
            (sum, count) = (sum + i64::from(changes[(r, c)]), count + 1);
        }
    }
    // The quotient is rounded toward zero, so erosion and deposition are treated alike.
    (sum / count.max(1)) as i32
}

/// Returns the lowest and the highest of the eight cells around a cell.
fn height_range_around(ground: &Field<i32>, cell: Cell) -> [i32; 2] {
    let [rows, cols] = ground.size();
    let mut found = [i32::MAX, i32::MIN];
    for r in cell.row.saturating_sub(1)..(cell.row + 2).min(rows) {
        for c in cell.col.saturating_sub(1)..(cell.col + 2).min(cols) {
            if Cell::new(r, c) != cell {
                found = [found[0].min(ground[(r, c)]), found[1].max(ground[(r, c)])];
            }
        }
    }
    found
}

/// Runs droplets over ground that does not change, and adds their erosion and deposition to `change`. A droplet ends
/// without depositing after [`STEPS`] steps, and where it reaches rivers, lakes or the sea, which take over its load.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn run_droplets(
    rules: &DropletRules,
    map: &DropletMap<'_>,
    held: &[bool],
    droplets: &[Droplet],
    change: &mut GroundPlanes<'_>,
) {
    let mut tally = Tally::default();
    let mut lanes = Lanes::idle(Cell::new(RIM as i32, RIM as i32));
    let mut steps = [0; LANES];
    let (mut next, mut busy) = (0, 0 as Mask);
    loop {
        for l in lane_indices(!busy & ALL) {
            let Some(droplet) = droplets.get(next) else { break };
            lanes.load_droplet(l, droplet, Cell::new(0, 0));
            steps[l] = 0;
            busy |= 1 << l;
            next += 1;
        }
        if busy == 0 {
            return;
        }
        let mut plan = lanes.plan_steps(rules, map);
        let mut alive = busy & !plan.ends;
        for l in lane_indices(busy) {
            let Cell { row: i, col: j } = lanes.nearest_cell(l);
            steps[l] += 1;
            // The droplet ends here; its load is neither deposited nor carried on.
            if steps[l] > STEPS || held[map.soil.cell_index(i, j)] {
                alive &= !(1 << l);
            }
        }
        for l in lane_indices(alive) {
            if plan.digs & (1 << l) != 0 {
                let taken = change.erode_around::<false, false>(
                    &rules.brush,
                    lanes.nearest_cell(l),
                    plan.amount[l],
                    &mut tally,
                );
                plan.carried[l] += taken - plan.amount[l];
            } else {
                change.deposit_at::<false, false>(plan.at[l], lanes.offset_in_cell(l), plan.amount[l], &mut tally);
            }
        }
        // A droplet that is spent, or comes to rest in a depression, deposits its whole load.
        for l in lane_indices(busy & plan.ends & !plan.outward) {
            change.deposit_at::<false, false>(plan.at[l], lanes.offset_in_cell(l), lanes.carried[l], &mut tally);
        }
        lanes.apply_plan(&plan, alive, rules);
        busy = alive;
    }
}
