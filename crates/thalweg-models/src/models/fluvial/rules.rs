//! Computes the action of a cell in one step from the state that the last step left.

use crate::models::fluvial::{CapacityFrom, Fluvial, Moves, Receivers};
use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Edge, Field, Grid, Height};
use thalweg_flow::D8;

/// Maximum depth of water used for flow, in units: the product of two depths then fits 64 bits.
const DEEPEST: i64 = 1 << 31;

/// Maximum sediment on a cell, in units: the sum of two such amounts does not overflow an `i32`.
pub const MAX_SUSPENDED: i32 = (1 << 30) - 1;

/// Maximum depth of water that is stored, in units (about 16 000 km).
pub const MAX_WATER: i64 = 1 << 40;

/// Converts a depth of water to whole units. Returns 0 for negative values and for values that are not finite.
#[inline]
pub fn depth_to_units(depth: f32) -> i64 {
    let units = depth * UNITS as f32;
    if units > 0.0 && units.is_finite() { (units as i64).min(MAX_WATER) } else { 0 }
}

/// The terrain at the beginning of a step.
pub struct FluvialView<'a> {
    /// Cells, edges and sea level.
    pub grid: &'a Grid,
    /// Elevation.
    pub ground: &'a Field<Height>,
    /// Depth of water in metres, in whole units.
    pub water: &'a Field<f32>,
    /// Suspended sediment.
    pub suspended: &'a Field<Height>,
    /// Thickness of the sediment layer, the loose upper part of the ground.
    pub loose: Option<&'a Field<Height>>,
    /// Cells without data.
    pub nodata: Option<&'a Field<bool>>,
    /// Share by which bedrock reduces erosion, 0 to 1.
    pub hardness: Option<&'a Field<f32>>,
    /// Share by which erosion is suppressed in any material, 0 to 1.
    pub protect: Option<&'a Field<f32>>,
}

/// The planned action of a cell in a step, in units.
#[derive(Clone, Copy, Default)]
pub struct CellPlan {
    /// Row-major index of the cell.
    pub at: u32,
    /// Water to each neighbour.
    pub water: [u32; 8],
    /// Sediment to each neighbour.
    pub solid: [u32; 8],
    /// Bitmap of the neighbours beyond an open edge or without data: what flows there leaves the world.
    pub beyond: u8,
    /// Bitmap of the neighbours in the sea: water that flows there is removed.
    pub sea: u8,
    /// Amount eroded from the ground here.
    pub dug: i32,
    /// Amount deposited on the ground here.
    pub deposited: i32,
    /// True if the highest elevation that can be stored limited the deposition.
    pub limited: bool,
}

/// The parameters, converted to the units of a step on this grid.
pub struct FluvialRules {
    capacity: f64,
    deposition: f64,
    softness: f64,
    capacity_from: CapacityFrom,
    /// Distance to each neighbour in units, orthogonal and diagonal: a fall in units divided by it is a slope.
    run: [f64; 2],
    receivers: Receivers,
    full: bool,
    pits: bool,
    floor: i32,
    sea: Option<i32>,
    /// Rounding offset of this step in 0..1: it rounds amounts of sediment up in some steps and down in others, so
    /// that amounts below a unit are eroded or deposited in some steps.
    phase: f64,
}

impl FluvialRules {
    /// Converts the parameters of `model` for step number `step`.
    pub fn new(model: &Fluvial, grid: &Grid, step: u32) -> Self {
        Self {
            capacity: model.capacity,
            deposition: model.deposition,
            softness: model.softness,
            capacity_from: model.capacity_from,
            run: D8::DISTANCES.map(|steps| steps * grid.cell * UNITS),
            receivers: model.receivers,
            full: model.moves == Moves::Full,
            pits: model.pits,
            floor: Height::from_metres_clamped(model.floor).0,
            sea: grid.sea_level.map(|sea| sea.0),
            // Multiples of the golden section (in units of 2⁻³²) are distributed as evenly as possible; step 0 rounds
            // down.
            phase: f64::from(step.wrapping_mul(2_654_435_769)) / 4_294_967_296.0,
        }
    }

    /// Returns true if ground of this height is in the sea.
    #[inline]
    pub fn is_sea(&self, ground: Height) -> bool {
        self.sea.is_some_and(|sea| ground.0 <= sea)
    }

    /// Rounds an amount ≥ 0 to whole units, up in some steps and down in others, so that the sum over many steps is
    /// right.
    #[inline]
    fn round_to_units(&self, amount: f64) -> i32 {
        (amount + self.phase).min(f64::from(MAX_SUSPENDED)) as i32
    }

    /// Plans the action of a cell that has water or sediment.
    pub fn plan_cell(&self, scene: &FluvialView<'_>, at: u32) -> CellPlan {
        let cols = scene.grid.cols();
        let cell = Cell::new(at as usize / cols, at as usize % cols);
        let mut plan = CellPlan { at, ..CellPlan::default() };
        let ground = scene.ground[cell].0;
        let sediment = scene.suspended[cell].0;
        let depth = depth_to_units(scene.water[cell]).min(DEEPEST);
        // In the sea all sediment is deposited at once.
        if self.is_sea(Height(ground)) {
            self.plan_deposition(&mut plan, ground, sediment);
            return plan;
        }
        let CellOutflow { moved, fall, bed } =
            if depth > 0 { self.distribute_outflow(scene, cell, depth, &mut plan) } else { CellOutflow::default() };
        if moved == 0 {
            self.plan_deposition(
                &mut plan,
                ground,
                sediment.min(self.round_to_units(self.deposition * f64::from(sediment))),
            );
            return plan;
        }
        let capacity = self.capacity
            * match self.capacity_from {
                CapacityFrom::Moved => moved as f64,
                CapacityFrom::Whole => depth as f64,
                CapacityFrom::Fall => fall,
            };
        // Over capacity the excess is deposited in part; below it the bed is eroded.
        let missing = capacity - f64::from(sediment);
        let out = if missing <= 0.0 {
            let out = self.round_to_units(capacity).min(sediment);
            let over = sediment - out;
            self.plan_deposition(&mut plan, ground, over.min(self.round_to_units(self.deposition * f64::from(over))));
            out
        } else {
            plan.dug = self.actual_erosion(scene, cell, self.softness * missing, bed).min(MAX_SUSPENDED - sediment);
            sediment + plan.dug
        };
        if out > 0 {
            for (solid, water) in plan.solid.iter_mut().zip(plan.water) {
                *solid = scale_by_ratio(i64::from(out), i64::from(water), moved) as u32;
            }
        }
        plan
    }

    /// Returns the amount in units that the parameter `drop` lifts from the cell where it falls, at most `amount`.
    pub fn compute_drop_pickup(&self, scene: &FluvialView<'_>, cell: Cell, amount: f64) -> i32 {
        let room = MAX_SUSPENDED - scene.suspended[cell].0;
        let outside = scene.nodata.is_some_and(|mask| mask[cell]) || self.is_sea(scene.ground[cell]);
        if outside { 0 } else { self.actual_erosion(scene, cell, amount, i32::MIN).min(room) }
    }

    /// Plans the deposition of up to `amount` on the cell.
    fn plan_deposition(&self, plan: &mut CellPlan, ground: i32, amount: i32) {
        plan.deposited = amount.min(Height::MAX.0 - ground).max(0);
        plan.limited = plan.deposited < amount;
    }

    /// Returns the amount eroded for a potential erosion of `amount`: sediment erodes first, then bedrock in
    /// accordance with its hardness. No cell is eroded below `bed` unless pits are allowed.
    fn actual_erosion(&self, scene: &FluvialView<'_>, cell: Cell, amount: f64, bed: i32) -> i32 {
        let factor = |field: Option<&Field<f32>>| field.map_or(0.0, |field| f64::from(clamp_share(field[cell])));
        let amount = amount * (1.0 - factor(scene.protect));
        let loose = scene.loose.map_or(0.0, |loose| f64::from(loose[cell].0));
        let rock = (amount - loose).max(0.0) * (1.0 - factor(scene.hardness));
        let lowest = if self.pits { self.floor } else { bed.max(self.floor) };
        self.round_to_units(amount.min(loose) + rock).min(scene.ground[cell].0.saturating_sub(lowest)).max(0)
    }

    /// Divides the cell's outflow among its receivers and stores it in `plan`.
    #[inline]
    fn distribute_outflow(&self, scene: &FluvialView<'_>, cell: Cell, depth: i64, plan: &mut CellPlan) -> CellOutflow {
        let [rows, cols] = scene.grid.size;
        let ground = scene.ground[cell].0;
        let surface = i64::from(ground) + depth;
        // `drops` are the differences between the water level here and at the eight neighbours, and `grounds` their
        // ground.
        let mut drops = [0i64; 8];
        let mut grounds = [i32::MAX; 8];
        for (k, [di, dj]) in D8::OFFSETS.iter().enumerate() {
            let (r, c) = (cell.row.wrapping_add_signed(*di), cell.col.wrapping_add_signed(*dj));
            let inside = r < rows && c < cols;
            if !inside && !leaves_world(scene.grid, cell, [*di, *dj]) {
                continue;
            }
            if !inside || scene.nodata.is_some_and(|mask| mask[(r, c)]) {
                // Beyond the world the ground continues level and dry.
                plan.beyond |= 1 << k;
                (grounds[k], drops[k]) = (ground, depth);
                continue;
            }
            let z = scene.ground[(r, c)].0;
            (grounds[k], drops[k]) = if let Some(sea) = self.sea.filter(|sea| z <= *sea) {
                plan.sea |= 1 << k;
                (sea, surface - i64::from(sea))
            } else {
                (z, surface - (i64::from(z) + depth_to_units(scene.water[(r, c)]).min(DEEPEST)))
            };
        }
        // `taking` is the bitmap of the receivers, as the option `receivers` selects them.
        let highest = drops.into_iter().max().unwrap_or(0);
        let lowest = grounds.into_iter().min().unwrap_or(i32::MAX);
        let takes = |k: usize| match self.receivers {
            Receivers::All => drops[k] > 0,
            Receivers::Lowest => highest > 0 && drops[k] == highest,
            Receivers::LowestGround => lowest <= ground && grounds[k] == lowest,
        };
        let taking: u8 = (0..8).filter(|k| takes(*k)).map(|k| 1 << k).sum();
        let count = i64::from(taking.count_ones());
        // The cell itself counts as one part, so that water comes to rest; with `full` the whole difference moves.
        let divisor = if self.full { 1 } else { count + 1 };
        let each = || (0..8).filter(|k| taking >> k & 1 == 1);
        let sum: i64 = each().map(|k| drops[k]).sum();
        // Equal shares follow the smallest difference among the receivers, and no more than the cell's own depth flows.
        let least = each().map(|k| drops[k]).fold(depth, i64::min).max(0);
        let mut flow = CellOutflow { bed: i32::MAX, ..CellOutflow::default() };
        for k in each() {
            // Each part is rounded down on its own: the remainder stays, and the result does not depend on the order
            // of neighbours.
            let amount = match self.receivers {
                Receivers::All => scale_by_ratio(depth.min(drops[k]), drops[k], sum * divisor),
                _ => scale_by_ratio(least, 1, count * divisor),
            };
            plan.water[k] = amount as u32;
            flow.moved += amount;
            flow.bed = flow.bed.min(grounds[k]);
        }
        if self.capacity_from == CapacityFrom::Fall && flow.moved > 0 {
            let fall = |k: usize| f64::from(plan.water[k]) * (drops[k] as f64 / self.run[k % 2]).clamp(0.0, 1.0);
            // Opposite neighbours are added first: a rotated or mirrored terrain then gives identical bits.
            let pairs = |k: usize| (fall(k) + fall(k + 4)) + (fall(k + 2) + fall(k + 6));
            flow.fall = pairs(0) + pairs(1);
        }
        flow
    }
}

/// The water that leaves a cell in a step.
#[derive(Default)]
struct CellOutflow {
    /// Total outflow, in units.
    moved: i64,
    /// Sum of each part times its slope, the fall over the distance, limited to 1.
    fall: f64,
    /// Lowest ground among the receivers.
    bed: i32,
}

/// Returns a·b/c rounded down, for 0 ≤ a·b < 2⁶³ and 0 < c < 2⁵³.
#[inline]
fn scale_by_ratio(a: i64, b: i64, c: i64) -> i64 {
    let product = a * b;
    if product < 1 << 53 {
        // Exact: a quotient that is not whole is at least 1/c below the next whole number, and its rounding error is
        // smaller.
        (product as f64 / c as f64) as i64
    } else {
        product / c
    }
}

/// Returns true if a step out of this window leaves the world, over open edges only.
fn leaves_world(grid: &Grid, cell: Cell, [di, dj]: [isize; 2]) -> bool {
    let Cell { row, col } = grid.world_cell(cell.row, cell.col);
    let (row, col) = (row + di as i64, col + dj as i64);
    let [rows, cols] = grid.world.map(|n| n as i64);
    // The border of a window is no edge: the next tile is beyond it, so no side of the world is crossed.
    let crossed = [row < 0, col >= cols, row >= rows, col < 0];
    let mut sides = crossed.iter().zip(grid.edges).filter(|(crossed, _)| **crossed).peekable();
    sides.peek().is_some() && sides.all(|(_, edge)| edge == Edge::Open)
}
