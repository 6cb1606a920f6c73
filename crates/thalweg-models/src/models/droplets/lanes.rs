//! Droplets at work in a tile: several abreast, in lanes.
//!
//! All first look where to go and how much to move, without a branch, so that their arithmetic fills vectors and hides
//! its own latency ([`Lanes::plan`]). Then the ground is changed ([`act`]): first by all that dig, then by all that lay
//! down, and so on, because a processor guesses the next of a kind better than which kind comes next.

use multiversion::multiversion;

use crate::model::MassBalance;
use crate::models::droplets::map::{Corners, LANES, Lane, Map};
use crate::models::droplets::{Droplet, GRAIN, MARGIN, MAX_CARRIED, Rules};
use crate::process::brush::{Tally, grained};
use crate::process::particles::{Kernel, Patch};
use thalweg_core::base::cast;
use thalweg_core::{Cell, CellRect, Edge, Result};

/// A bit for each lane.
pub(super) type Mask = u32;

impl Kernel for Rules {
    type Particle = Droplet;

    fn step_reach(&self) -> usize {
        self.step_reach
    }

    fn margin(&self) -> usize {
        MARGIN
    }

    fn run(&self, patch: &mut Patch, queue: &mut Vec<Droplet>) -> Result<MassBalance> {
        let origin = patch.origin;
        let map = Map::new(self, patch)?;
        Ok(match (map.soil.is_special(), map.has_layers()) {
            (false, false) => run_plain(self, origin, map, queue),
            (false, true) => run_layers(self, origin, map, queue),
            (true, _) => run_lanes::<true, true>(self, origin, map, queue),
        })
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn run_plain(rules: &Rules, origin: Cell<i64>, map: Map<'_>, queue: &mut Vec<Droplet>) -> MassBalance {
    run_lanes::<false, false>(rules, origin, map, queue)
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn run_layers(rules: &Rules, origin: Cell<i64>, map: Map<'_>, queue: &mut Vec<Droplet>) -> MassBalance {
    run_lanes::<false, true>(rules, origin, map, queue)
}

/// Steps all of `queue`; those that leave the tile alive are written back to it.
#[inline(always)]
fn run_lanes<const GENERAL: bool, const LAYERS: bool>(
    rules: &Rules,
    origin: Cell<i64>,
    mut map: Map<'_>,
    queue: &mut Vec<Droplet>,
) -> MassBalance {
    let mut tally = Tally::default();
    let mut lanes = Lanes::idle(map.tile.start);
    let (mut next, mut kept) = (0, 0);
    let mut busy: Mask = 0;
    loop {
        for l in lanes_of(!busy & ALL) {
            let Some(droplet) = queue.get(next) else { break };
            lanes.load(l, droplet, origin);
            busy |= 1 << l;
            next += 1;
        }
        if busy == 0 {
            break;
        }
        let mut plan = lanes.plan(rules, &map);
        let alive = act::<GENERAL, LAYERS>(busy, &mut plan, &lanes, rules, &mut map, &mut tally);
        lanes.advance(&plan, alive, rules);
        for l in lanes_of(alive & plan.leaves) {
            // The slot is free: what stood there was taken by a lane before.
            queue[kept] = lanes.store(l, origin);
            kept += 1;
        }
        busy = alive & !plan.leaves;
    }
    queue.truncate(kept);
    tally.budget()
}

/// Every lane.
pub(super) const ALL: Mask = (1 << LANES) - 1;

/// The numbers of the lanes in a mask, rising.
#[inline(always)]
pub(super) fn lanes_of(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let l = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        l
    })
}

/// The mask of the lanes whose flag is set.
#[inline(always)]
fn mask(flags: Lane<bool>) -> Mask {
    let mut mask = 0;
    for l in 0..LANES {
        mask |= Mask::from(flags[l]) << l;
    }
    mask
}

/// The droplets under way, in the patch's coordinates. An idle lane holds harmless leftovers.
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

/// What the droplets mean to do next: where and how they will be, what they will move, and which lanes do what.
pub(super) struct Plan {
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
    /// Units to dig or to lay.
    pub(super) amount: Lane<i32>,
    /// The same before it was rounded down.
    exact: Lane<f32>,
    /// Lanes whose droplet is at the end of its life: it takes no step.
    spent: Mask,
    /// Lanes whose droplet ends, spent or not.
    pub(super) ends: Mask,
    /// Lanes whose droplet would step over the side of the world.
    pub(super) outward: Mask,
    pub(super) digs: Mask,
    climbs: Mask,
    /// Lanes whose droplet leaves the tile.
    pub(super) leaves: Mask,
    /// Units that it can carry.
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

    #[inline(always)]
    pub(super) fn load(&mut self, l: usize, d: &Droplet, origin: Cell<i64>) {
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

    #[inline(always)]
    pub(super) fn store(&self, l: usize, origin: Cell<i64>) -> Droplet {
        Droplet {
            number: self.number[l],
            cell: Cell::new(origin.row + i64::from(self.i[l]), origin.col + i64::from(self.j[l])),
            part: self.part(l),
            direction: [self.dy[l], self.dx[l]],
            velocity: self.velocity[l],
            water: self.water[l],
            carried: self.carried[l],
            remainder: self.remainder[l],
            age: self.age[l],
        }
    }

    /// Looks ahead, all lanes at once.
    #[inline(always)]
    pub(super) fn plan(&self, rules: &Rules, map: &Map<'_>) -> Plan {
        let none = [0.0f32; LANES];
        let (mut at, mut new_at) = ([0; LANES], [0; LANES]);
        for l in 0..LANES {
            at[l] = map.soil.at(self.i[l], self.j[l]);
        }
        let here = Corners::read(map, &at);

        // Where to: the bilinear gradient, and what is left of the old direction.
        let (mut i, mut j, mut v, mut u, mut dy, mut dx) = ([0; LANES], [0; LANES], none, none, none, none);
        let mut rests = [false; LANES];
        for l in 0..LANES {
            let [gy, gx] = here.gradient(l, self.v[l], self.u[l]);
            let steepness = (gy * gy + gx * gx).sqrt();
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
            i[l] = self.i[l] + cast::nearest(down);
            j[l] = self.j[l] + cast::nearest(across);
            // A sum just under a whole number may round up to it.
            v[l] = (y - down).min(0.999_999_94);
            u[l] = (x - across).min(0.999_999_94);
        }
        for l in 0..LANES {
            new_at[l] = map.soil.at(i[l], j[l]);
        }
        let there = Corners::read(map, &new_at);

        // What it can carry, and so what it moves.
        let (mut velocity, mut exact, mut remainder, mut amount) = (none, none, none, [0; LANES]);
        let mut capacities = none;
        let (mut digs, mut climbs, mut carries) = ([false; LANES], [false; LANES], [0; LANES]);
        for l in 0..LANES {
            let old = here.above(l, self.v[l], self.u[l]);
            let new = there.above(l, v[l], u[l]);
            let rise = there.base[l].wrapping_sub(here.base[l]) as f32 + (new - old);
            let drop = -rise;
            let depth = (rules.sea.wrapping_sub(here.base[l])) as f32 - old;
            let at_sea = rules.has_sea && depth > 0.0;
            let capacity = drop.max(rules.min_drop) * self.velocity[l] * self.water[l] * rules.capacity;
            let capacity = if at_sea { 0.0 } else { capacity };
            capacities[l] = capacity;
            let carried = self.carried[l] as f32;
            climbs[l] = rise > 0.0;
            digs[l] = !(climbs[l] || carried > capacity);
            let filled = if climbs[l] { rise.min(carried) } else { (carried - capacity) * rules.deposition };
            let filled = if at_sea { filled.min(depth) } else { filled };
            let room = (MAX_CARRIED - self.carried[l]) as f32;
            let dug = ((capacity - carried) * rules.erosion).min(drop * rules.dig_limit).min(room);
            // What is under a unit rides along; so does the grain of large cuts.
            exact[l] = if digs[l] { dug - self.remainder[l] } else { filled + self.remainder[l] };
            let whole = cast::floor(exact[l].max(0.0));
            amount[l] = if digs[l] { grained(whole) } else { whole.min(self.carried[l]) };
            let left = exact[l] - amount[l] as f32;
            remainder[l] = (if digs[l] { -left } else { left }).clamp(-GRAIN, GRAIN);
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
        let (spent, outward) = (mask(spent), mask(outward));
        Plan {
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
            ends: spent | outward | mask(rests),
            outward: outward & !mask(rests),
            digs: mask(digs),
            climbs: mask(climbs),
            leaves: mask(leaves),
            capacity: capacities,
        }
    }

    /// Lets the lanes of `alive` be as planned.
    #[inline(always)]
    pub(super) fn advance(&mut self, plan: &Plan, alive: Mask, rules: &Rules) {
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

    /// The cell nearest to lane `l`'s droplet.
    #[inline(always)]
    pub(super) fn nearest_cell(&self, l: usize) -> Cell<i32> {
        Cell::new(self.i[l] + i32::from(self.v[l] >= 0.5), self.j[l] + i32::from(self.u[l] >= 0.5))
    }

    /// The part of a row and of a column that lane `l`'s droplet is from the corner north-west of it.
    #[inline(always)]
    pub(super) fn part(&self, l: usize) -> Cell<f32> {
        Cell::new(self.v[l], self.u[l])
    }
}

/// Changes the ground as planned for the lanes of `busy`, and the plan where the ground did not allow it; those whose
/// droplets live on are returned.
#[inline(always)]
pub(super) fn act<const GENERAL: bool, const LAYERS: bool>(
    busy: Mask,
    plan: &mut Plan,
    lanes: &Lanes,
    rules: &Rules,
    map: &mut Map<'_>,
    tally: &mut Tally,
) -> Mask {
    tally.steps += u64::from((busy & !plan.spent).count_ones());
    if LAYERS && let Some(visits) = &mut map.visits {
        for l in lanes_of(busy & !plan.spent) {
            let visits = &mut visits[plan.at[l]];
            *visits = visits.saturating_add(1);
        }
    }
    let mut ends = busy & plan.ends;
    if GENERAL {
        for l in lanes_of(busy & !ends) {
            ends |= Mask::from(map.soil.has_no_data(plan.i[l], plan.j[l])) << l;
        }
    }
    let alive = busy & !ends;

    for l in lanes_of(alive & plan.digs) {
        let taken = map.soil.dig::<GENERAL, LAYERS>(&rules.brush, lanes.nearest_cell(l), plan.amount[l], tally);
        plan.carried[l] += taken - plan.amount[l];
    }
    for l in lanes_of(alive & !plan.digs) {
        if plan.climbs & (1 << l) != 0 {
            // Other lanes may have filled the same hollow since.
            let rise = map.rise(plan.at[l], lanes.part(l), plan.new_at[l], Cell::new(plan.v[l], plan.u[l]));
            let exact = plan.exact[l].min(rise.max(0.0) + lanes.remainder[l]);
            plan.amount[l] = cast::floor(exact.max(0.0)).min(lanes.carried[l]);
            plan.remainder[l] = (exact - plan.amount[l] as f32).clamp(-GRAIN, GRAIN);
        }
        let laid = map.soil.lay::<GENERAL, LAYERS>(plan.at[l], lanes.part(l), plan.amount[l], tally);
        plan.carried[l] = lanes.carried[l] - laid;
    }
    for l in lanes_of(ends) {
        let carried = lanes.carried[l];
        let steps_out = plan.outward & !plan.spent & (1 << l) != 0;
        let side = map.side_beyond(plan.i[l], plan.j[l]).filter(|_| steps_out);
        let laid = if side.is_some_and(|side| rules.edges[side] == Edge::Open) {
            0
        } else {
            // Only under the ceiling of accepted elevations can anything be left over.
            map.soil.lay::<GENERAL, LAYERS>(plan.at[l], lanes.part(l), carried, tally)
        };
        tally.exported += i64::from(carried - laid);
    }
    alive
}
