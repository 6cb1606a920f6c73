//! Steps the droplets of a tile, several side by side in lanes.
//!
//! First all lanes compute where to go and how much to move, without branches, so that the arithmetic uses vector
//! instructions and hides its own latency ([`Lanes::plan_steps`]). Then the ground is changed
//! ([`apply_ground_changes`]): first by all lanes that erode, then by all that deposit, and so on, because runs of the
//! same case are easier for a processor to predict than alternating cases.

use multiversion::multiversion;

use crate::model::MassBalance;
use crate::models::droplets::map::{Corners, DropletMap, LANES, Lane};
use crate::models::droplets::{Droplet, DropletRules, GRAIN, MARGIN, MAX_CARRIED};
use crate::process::brush::{Tally, round_to_grain};
use crate::process::particles::{ParticleKernel, ParticlePatch};
use thalweg_core::base::cast;
use thalweg_core::{Cell, CellRect, Edge, Result};

/// A set of lanes, one bit per lane.
pub(super) type Mask = u32;

impl ParticleKernel for DropletRules {
    type Particle = Droplet;

    fn step_reach(&self) -> usize {
        self.step_reach
    }

    fn tile_margin(&self) -> usize {
        MARGIN
    }

    fn run(&self, patch: &mut ParticlePatch, queue: &mut Vec<Droplet>) -> Result<MassBalance> {
        let origin = patch.origin;
        let map = DropletMap::new(self, patch)?;
        // The cases are compiled separately, so that the common one has no tests for layers that are absent.
        Ok(match (map.soil.is_special(), map.has_layers()) {
            (false, false) => run_plain(self, origin, map, queue),
            (false, true) => run_layers(self, origin, map, queue),
            (true, _) => run_lanes::<true, true>(self, origin, map, queue),
        })
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn run_plain(rules: &DropletRules, origin: Cell<i64>, map: DropletMap<'_>, queue: &mut Vec<Droplet>) -> MassBalance {
    run_lanes::<false, false>(rules, origin, map, queue)
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn run_layers(rules: &DropletRules, origin: Cell<i64>, map: DropletMap<'_>, queue: &mut Vec<Droplet>) -> MassBalance {
    run_lanes::<false, true>(rules, origin, map, queue)
}

/// Steps all droplets of `queue` until they end or leave the tile. Those that leave are written back to `queue`.
#[inline(always)]
fn run_lanes<const GENERAL: bool, const LAYERS: bool>(
    rules: &DropletRules,
    origin: Cell<i64>,
    mut map: DropletMap<'_>,
    queue: &mut Vec<Droplet>,
) -> MassBalance {
    let mut tally = Tally::default();
    let mut lanes = Lanes::idle(map.tile.start);
    let (mut next, mut kept) = (0, 0);
    let mut busy: Mask = 0;
    loop {
        // Idle lanes take the next droplets of the queue, in its order.
        for l in lane_indices(!busy & ALL) {
            let Some(droplet) = queue.get(next) else { break };
            lanes.load_droplet(l, droplet, origin);
            busy |= 1 << l;
            next += 1;
        }
        if busy == 0 {
            break;
        }
        let mut plan = lanes.plan_steps(rules, &map);
        let alive = apply_ground_changes::<GENERAL, LAYERS>(busy, &mut plan, &lanes, rules, &mut map, &mut tally);
        lanes.apply_plan(&plan, alive, rules);
        for l in lane_indices(alive & plan.leaves) {
            // This slot of the queue is free: a lane has already taken the droplet that was there.
            queue[kept] = lanes.droplet_in_lane(l, origin);
            kept += 1;
        }
        busy = alive & !plan.leaves;
    }
    queue.truncate(kept);
    tally.to_mass_balance()
}

/// The mask of all lanes.
pub(super) const ALL: Mask = (1 << LANES) - 1;

/// Returns the indices of the lanes in a mask, in ascending order.
#[inline(always)]
pub(super) fn lane_indices(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let l = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        l
    })
}

/// Returns the mask of the lanes whose flag is set.
#[inline(always)]
fn pack_lane_mask(flags: Lane<bool>) -> Mask {
    let mut mask = 0;
    for l in 0..LANES {
        mask |= Mask::from(flags[l]) << l;
    }
    mask
}

/// The droplets under way, in the patch's coordinates. An idle lane keeps old values, which are never used.
pub(super) struct Lanes {
    number: Lane<u64>,
    pub(super) i: Lane<i32>,
    pub(super) j: Lane<i32>,
    pub(super) v: Lane<f32>,
    pub(super) u: Lane<f32>,
    dy: Lane<f32>,
    dx: Lane<f32>,
    pub(super) velocity: Lane<f32>,
    pub(super) water: Lane<f32>,
    pub(super) carried: Lane<i32>,
    remainder: Lane<f32>,
    age: Lane<u32>,
}

/// The next step of each droplet: its new state, the amount to move, and a mask of the lanes for each case.
pub(super) struct LanePlan {
    pub(super) at: Lane<usize>,
    new_at: Lane<usize>,
    i: Lane<i32>,
    j: Lane<i32>,
    v: Lane<f32>,
    u: Lane<f32>,
    dy: Lane<f32>,
    dx: Lane<f32>,
    velocity: Lane<f32>,
    pub(super) carried: Lane<i32>,
    remainder: Lane<f32>,
    /// Units to erode or to deposit.
    pub(super) amount: Lane<i32>,
    /// The same before it was rounded down.
    exact: Lane<f32>,
    /// Lanes whose droplet has reached the end of its life: it takes no step.
    spent: Mask,
    /// Lanes whose droplet ends for any reason.
    pub(super) ends: Mask,
    /// Lanes whose droplet would step beyond the edge of the world.
    pub(super) outward: Mask,
    /// Lanes whose droplet erodes.
    pub(super) digs: Mask,
    /// Lanes whose droplet steps uphill.
    climbs: Mask,
    /// Lanes whose droplet leaves the tile.
    pub(super) leaves: Mask,
    /// Transport capacity in units.
    pub(super) capacity: Lane<f32>,
}

impl Lanes {
    pub(super) fn idle(Cell { row: i, col: j }: Cell<i32>) -> Self {
        let none = [0.0; LANES];
        Self {
            number: [0; LANES],
            i: [i; LANES],
            j: [j; LANES],
            v: none,
            u: none,
            dy: none,
            dx: none,
            velocity: none,
            water: none,
            carried: [0; LANES],
            remainder: none,
            age: [0; LANES],
        }
    }

    /// Loads a droplet into lane `l`.
    #[inline(always)]
    pub(super) fn load_droplet(&mut self, l: usize, d: &Droplet, origin: Cell<i64>) {
        self.number[l] = d.number;
        (self.i[l], self.j[l]) = ((d.cell.row - origin.row) as i32, (d.cell.col - origin.col) as i32);
        (self.v[l], self.u[l]) = (d.part.row, d.part.col);
        [self.dy[l], self.dx[l]] = d.direction;
        self.velocity[l] = d.velocity;
        self.water[l] = d.water;
        self.carried[l] = d.carried;
        self.remainder[l] = d.remainder;
        self.age[l] = d.age;
    }

    /// Returns the droplet in lane `l`.
    #[inline(always)]
    pub(super) fn droplet_in_lane(&self, l: usize, origin: Cell<i64>) -> Droplet {
        Droplet {
            number: self.number[l],
            cell: Cell::new(origin.row + i64::from(self.i[l]), origin.col + i64::from(self.j[l])),
            part: self.offset_in_cell(l),
            direction: [self.dy[l], self.dx[l]],
            velocity: self.velocity[l],
            water: self.water[l],
            carried: self.carried[l],
            remainder: self.remainder[l],
            age: self.age[l],
        }
    }

    /// Computes the next step of all lanes at once, without changing the ground.
    #[inline(always)]
    pub(super) fn plan_steps(&self, rules: &DropletRules, map: &DropletMap<'_>) -> LanePlan {
        let none = [0.0f32; LANES];
        let (mut at, mut new_at) = ([0; LANES], [0; LANES]);
        for l in 0..LANES {
            at[l] = map.soil.cell_index(self.i[l], self.j[l]);
        }
        let here = Corners::read(map, &at);

        // The new direction combines the bilinear gradient with the share of the old direction that inertia keeps.
        let (mut i, mut j, mut v, mut u, mut dy, mut dx) = ([0; LANES], [0; LANES], none, none, none, none);
        let mut rests = [false; LANES];
        for l in 0..LANES {
            let [gy, gx] = here.gradient(l, self.v[l], self.u[l]);
            let steepness = (gy * gy + gx * gx).sqrt();
            // The quotient is infinite on level ground; it is replaced afterwards, since a selection vectorises and a
            // branch does not.
            let pull = (1.0 - rules.inertia) / steepness;
            let pull = if steepness > 0.0 { pull } else { 0.0 };
            let y = self.dy[l] * rules.inertia - gy * pull;
            let x = self.dx[l] * rules.inertia - gx * pull;
            let length = (y * y + x * x).sqrt();
            rests[l] = length <= 1e-12;
            let scale = 1.0 / length;
            let scale = if rests[l] { 0.0 } else { scale };
            (dy[l], dx[l]) = (y * scale, x * scale);
            let (y, x) = (self.v[l] + dy[l], self.u[l] + dx[l]);
            let (down, across) = (y.floor(), x.floor());
            // The number is whole already; this conversion compiles to vector instructions, unlike a saturating cast.
            i[l] = self.i[l] + cast::round_half_even(down);
            j[l] = self.j[l] + cast::round_half_even(across);
            // A sum just below a whole number may round up to it.
            v[l] = (y - down).min(0.999_999_94);
            u[l] = (x - across).min(0.999_999_94);
        }
        for l in 0..LANES {
            new_at[l] = map.soil.cell_index(i[l], j[l]);
        }
        let there = Corners::read(map, &new_at);

        // The transport capacity follows from the fall between the two positions, and from it the amount to move.
        let (mut velocity, mut exact, mut remainder, mut amount) = (none, none, none, [0; LANES]);
        let mut capacities = none;
        let (mut digs, mut climbs, mut carries) = ([false; LANES], [false; LANES], [0; LANES]);
        for l in 0..LANES {
            // Heights are differences from the corner's height in units: an `f32` has 24 bits, fewer than an elevation.
            let old = here.height_above_base(l, self.v[l], self.u[l]);
            let new = there.height_above_base(l, v[l], u[l]);
            let rise = there.base[l].wrapping_sub(here.base[l]) as f32 + (new - old);
            let drop = -rise;
            let depth = (rules.sea.wrapping_sub(here.base[l])) as f32 - old;
            let at_sea = rules.has_sea && depth > 0.0;
            // The capacity is c = max(−Δ, min_slope·dx)·v·w·capacity_factor; under the sea droplets only deposit.
            let capacity = drop.max(rules.min_drop) * self.velocity[l] * self.water[l] * rules.capacity;
            let capacity = if at_sea { 0.0 } else { capacity };
            capacities[l] = capacity;
            let carried = self.carried[l] as f32;
            climbs[l] = rise > 0.0;
            digs[l] = !(climbs[l] || carried > capacity);
            let filled = if climbs[l] { rise.min(carried) } else { (carried - capacity) * rules.deposition };
            let filled = if at_sea { filled.min(depth) } else { filled };
            let room = (MAX_CARRIED - self.carried[l]) as f32;
            // The erosion is at most the fall of the step, as a volume, and at most the room that the load has.
            let dug = ((capacity - carried) * rules.erosion).min(drop * rules.dig_limit).min(room);
            // Fractions of a unit are carried over to the next step, as is the remainder of large amounts that the
            // brush rounds.
            // A positive remainder is still to be deposited, and a negative one still to be eroded.
            exact[l] = if digs[l] { dug - self.remainder[l] } else { filled + self.remainder[l] };
            let whole = cast::floor_to_int(exact[l].max(0.0));
            amount[l] = if digs[l] { round_to_grain(whole) } else { whole.min(self.carried[l]) };
            let fraction = exact[l] - amount[l] as f32;
            remainder[l] = (if digs[l] { -fraction } else { fraction }).clamp(-GRAIN, GRAIN);
            carries[l] = self.carried[l] + if digs[l] { amount[l] } else { -amount[l] };
            velocity[l] = (self.velocity[l] * self.velocity[l] - rise * rules.gravity).max(0.0).sqrt();
        }

        let CellRect { start, end } = map.soil.valid;
        let tile = map.tile;
        let (mut spent, mut outward, mut leaves) = ([false; LANES], [false; LANES], [false; LANES]);
        for l in 0..LANES {
            spent[l] = (self.age[l] >= rules.max_steps) | (self.water[l] < rules.min_water);
            outward[l] = (i[l] < start.row) | (j[l] < start.col) | (i[l] + 1 >= end.row) | (j[l] + 1 >= end.col);
            leaves[l] =
                (i[l] < tile.start.row) | (j[l] < tile.start.col) | (i[l] >= tile.end.row) | (j[l] >= tile.end.col);
        }
        let (spent, outward) = (pack_lane_mask(spent), pack_lane_mask(outward));
        LanePlan {
            at,
            new_at,
            i,
            j,
            v,
            u,
            dy,
            dx,
            velocity,
            carried: carries,
            remainder,
            amount,
            exact,
            spent,
            ends: spent | outward | pack_lane_mask(rests),
            outward: outward & !pack_lane_mask(rests),
            digs: pack_lane_mask(digs),
            climbs: pack_lane_mask(climbs),
            leaves: pack_lane_mask(leaves),
            capacity: capacities,
        }
    }

    /// Applies the plan to the lanes of `alive`.
    #[inline(always)]
    pub(super) fn apply_plan(&mut self, plan: &LanePlan, alive: Mask, rules: &DropletRules) {
        for l in 0..LANES {
            let on = alive & (1 << l) != 0;
            self.i[l] = if on { plan.i[l] } else { self.i[l] };
            self.j[l] = if on { plan.j[l] } else { self.j[l] };
            self.v[l] = if on { plan.v[l] } else { self.v[l] };
            self.u[l] = if on { plan.u[l] } else { self.u[l] };
            self.dy[l] = if on { plan.dy[l] } else { self.dy[l] };
            self.dx[l] = if on { plan.dx[l] } else { self.dx[l] };
            self.velocity[l] = if on { plan.velocity[l] } else { self.velocity[l] };
            self.water[l] = if on { self.water[l] * rules.keep_water } else { self.water[l] };
            self.carried[l] = if on { plan.carried[l] } else { self.carried[l] };
            self.remainder[l] = if on { plan.remainder[l] } else { self.remainder[l] };
            self.age[l] = if on { self.age[l] + 1 } else { self.age[l] };
        }
    }

    /// Returns the cell nearest to the droplet in lane `l`.
    #[inline(always)]
    pub(super) fn nearest_cell(&self, l: usize) -> Cell<i32> {
        Cell::new(self.i[l] + i32::from(self.v[l] >= 0.5), self.j[l] + i32::from(self.u[l] >= 0.5))
    }

    /// Returns the position of the droplet in lane `l` relative to the corner north-west of it, as fractions of a row
    /// and a column.
    #[inline(always)]
    pub(super) fn offset_in_cell(&self, l: usize) -> Cell<f32> {
        Cell::new(self.v[l], self.u[l])
    }
}

/// Changes the ground as planned for the lanes of `busy`, and corrects the plan where the ground did not allow it.
/// Returns the lanes whose droplets live on.
#[inline(always)]
pub(super) fn apply_ground_changes<const GENERAL: bool, const LAYERS: bool>(
    busy: Mask,
    plan: &mut LanePlan,
    lanes: &Lanes,
    rules: &DropletRules,
    map: &mut DropletMap<'_>,
    tally: &mut Tally,
) -> Mask {
    tally.steps += u64::from((busy & !plan.spent).count_ones());
    if LAYERS && let Some(visits) = &mut map.visits {
        for l in lane_indices(busy & !plan.spent) {
            let visits = &mut visits[plan.at[l]];
            *visits = visits.saturating_add(1);
        }
    }
    let mut ends = busy & plan.ends;
    if GENERAL {
        for l in lane_indices(busy & !ends) {
            ends |= Mask::from(map.soil.has_no_data(plan.i[l], plan.j[l])) << l;
        }
    }
    let alive = busy & !ends;

    // Lanes change the ground in ascending order, so the result does not depend on how lanes are executed.
    for l in lane_indices(alive & plan.digs) {
        let taken =
            map.soil.erode_around::<GENERAL, LAYERS>(&rules.brush, lanes.nearest_cell(l), plan.amount[l], tally);
        // The ground may give less than planned, at the floor or where it is protected.
        plan.carried[l] += taken - plan.amount[l];
    }
    for l in lane_indices(alive & !plan.digs) {
        if plan.climbs & (1 << l) != 0 {
            // Other lanes may have filled the same depression in the meantime.
            let rise =
                map.rise_between(plan.at[l], lanes.offset_in_cell(l), plan.new_at[l], Cell::new(plan.v[l], plan.u[l]));
            let exact = plan.exact[l].min(rise.max(0.0) + lanes.remainder[l]);
            plan.amount[l] = cast::floor_to_int(exact.max(0.0)).min(lanes.carried[l]);
            plan.remainder[l] = (exact - plan.amount[l] as f32).clamp(-GRAIN, GRAIN);
        }
        let deposited =
            map.soil.deposit_at::<GENERAL, LAYERS>(plan.at[l], lanes.offset_in_cell(l), plan.amount[l], tally);
        plan.carried[l] = lanes.carried[l] - deposited;
    }
    for l in lane_indices(ends) {
        let carried = lanes.carried[l];
        let steps_out = plan.outward & !plan.spent & (1 << l) != 0;
        // Over an open edge the load leaves the world; everywhere else a droplet that ends deposits it.
        let side = map.exited_side(plan.i[l], plan.j[l]).filter(|_| steps_out);
        let deposited = if side.is_some_and(|side| rules.edges[side] == Edge::Open) {
            0
        } else {
            // Less than the whole load is deposited only at the highest elevation that can be stored.
            map.soil.deposit_at::<GENERAL, LAYERS>(plan.at[l], lanes.offset_in_cell(l), carried, tally)
        };
        tally.exported += i64::from(carried - deposited);
    }
    alive
}
