//! How drops descend over a tile: motion, exchange with the ground, slides of the banks, coming to rest.

use crate::model::MassBalance;
use crate::models::hydrology::RuleSet;
use crate::models::hydrology::drop::{Drop, MAX_CARRIED};
use crate::models::hydrology::ground::COVER;
use crate::models::hydrology::motion::{Forces, LANES, Motion};
use crate::models::hydrology::rules::{MAX_SUNK, Rules};
use crate::process::particles::{Kernel, Patch, require_layer};
use thalweg_core::terrain::{GROUND, LOOSE};
use thalweg_core::{Cell, CellRect, Edge, Height, Result};
use thalweg_flow::D8;

/// The planes of heights beside the ground and its loose part: the level of the lake or sea over a cell ([`DRY`] where there is
/// none; only read), and the southward and eastward sums of what passes, in parts of a [`WHOLE_DROP`](super::motion::WHOLE_DROP).
pub const LEVEL: &str = "level";
pub const SOUTH: &str = "south";
pub const EAST: &str = "east";
/// The plane of counts: the sum of what passes.
pub const PASSED: &str = "passed";
/// The planes of factors: the share of a stream that a cell is, and how its momentum pulls.
pub const STREAM: &str = "stream";
pub const PULL_SOUTH: &str = "pull_south";
pub const PULL_EAST: &str = "pull_east";
/// Those that may be left out: how much of the ground is dug, of the rock under loose ground, and how steep it stands.
pub const YIELDS: &str = "yields";
pub const ROCK: &str = "rock";
pub const TALUS: &str = "talus";

/// No water stands there.
pub const DRY: i32 = i32::MIN;

/// Drops descending.
pub struct Descent<'a>(pub &'a Rules);

impl Kernel for Descent<'_> {
    type Particle = Drop;

    fn step_reach(&self) -> usize {
        // A step leads less than two cells away; banks slide into the cells around.
        4
    }

    fn margin(&self) -> usize {
        6
    }

    fn run(&self, patch: &mut Patch, queue: &mut Vec<Drop>) -> Result<MassBalance> {
        let mut tile = Tile::new(self.0, patch)?;
        let mut coming = (0..queue.len()).filter(|k| !queue[*k].rests).collect::<Vec<_>>().into_iter();
        let mut running: Vec<usize> = coming.by_ref().take(LANES).collect();
        let mut gone = vec![false; queue.len()];
        while !running.is_empty() {
            let mut forces = Forces::default();
            for (x, k) in running.iter().enumerate() {
                tile.push(&mut forces, x, &queue[*k]);
            }
            let mut motion = forces.motion(self.0);
            let mut lanes = 0..LANES;
            running.retain_mut(|k| {
                let (drop, x) = (&mut queue[*k], lanes.next().unwrap_or_default());
                // The drops before it may have changed the ground about it.
                if tile.read(drop) != forces.read[x] {
                    tile.push(&mut forces, x, drop);
                    motion = forces.motion(self.0);
                }
                match tile.step(drop, forces.read[x].1, &motion, x) {
                    Fate::On => true,
                    fate => {
                        gone[*k] = fate == Fate::Gone;
                        coming.next().map(|next| *k = next).is_some()
                    }
                }
            });
        }
        let mut gone = gone.into_iter();
        queue.retain(|_| gone.next() == Some(false));
        Ok(tile.budget)
    }
}

/// The neighbour of a cell in a direction.
#[inline(always)]
fn neighbour(cell: Cell<i32>, direction: D8) -> Cell<i32> {
    let [down, right] = direction.offset();
    Cell::new(cell.row + down as i32, cell.col + right as i32)
}

/// What becomes of a drop.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// It goes on.
    On,
    /// It is over: it left the world, or nothing of it is left.
    Gone,
    /// It waits for another tile, or rests.
    Waits,
}

/// A tile's planes.
struct Tile<'a> {
    rules: &'a Rules,
    origin: Cell<i64>,
    stride: usize,
    tile: CellRect<i32>,
    valid: CellRect<i32>,
    ground: &'a mut [i32],
    loose: &'a mut [i32],
    level: &'a [i32],
    south: &'a mut [i32],
    east: &'a mut [i32],
    passed: &'a mut [u32],
    stream: &'a [f32],
    pull_south: &'a [f32],
    pull_east: &'a [f32],
    /// Of a pull in m³/s, what is of a drop's speed.
    pull: f32,
    yields: Option<&'a [f32]>,
    rock: Option<&'a [f32]>,
    talus: Option<&'a [f32]>,
    outside: Option<&'a [bool]>,
    budget: MassBalance,
}

impl<'a> Tile<'a> {
    fn new(rules: &'a Rules, patch: &'a mut Patch) -> Result<Self> {
        let Patch { origin, stride, tile, valid, .. } = *patch;
        let mut planes = patch.planes();
        let mut height = |name| require_layer(name, planes.height(name));
        let (ground, loose, level) = (height(GROUND.name)?, height(LOOSE.name)?, height(LEVEL)?);
        let (south, east) = (height(SOUTH)?, height(EAST)?);
        let passed = require_layer(PASSED, planes.count(PASSED))?;
        let factor = |name| require_layer(name, planes.factor(name));
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
            yields: planes.factor(YIELDS),
            rock: planes.factor(ROCK),
            talus: planes.factor(TALUS),
            outside: planes.outside,
            budget: MassBalance::default(),
        })
    }

    fn at(&self, cell: Cell<i32>) -> usize {
        cell.row as usize * self.stride + cell.col as usize
    }

    fn is_inside(&self, cell: Cell<i32>) -> bool {
        let CellRect { start, end } = self.valid;
        cell.row >= start.row && cell.col >= start.col && cell.row < end.row && cell.col < end.col
    }

    fn is_void(&self, cell: Cell<i32>) -> bool {
        self.outside.is_some_and(|outside| outside[self.at(cell)])
    }

    /// Where a drop is in the tile.
    #[inline(always)]
    fn here(&self, drop: &Drop) -> Cell<i32> {
        Cell::new((drop.cell.row - self.origin.row) as i32, (drop.cell.col - self.origin.col) as i32)
    }

    /// What of its motion depends on the ground; see [`Forces::read`].
    #[inline(always)]
    fn read(&self, drop: &Drop) -> ([i32; 2], bool) {
        let here = self.here(drop);
        let at = self.at(here);
        (self.falls(here, at).0, self.ground[at] < self.level[at])
    }

    /// Finds what moves a drop, in lane `x`.
    #[inline(always)]
    fn push(&self, forces: &mut Forces, x: usize, drop: &Drop) {
        let here = self.here(drop);
        let at = self.at(here);
        let (falls, slopes) = self.falls(here, at);
        let sunk = self.ground[at] < self.level[at];
        forces.read[x] = (falls, sunk);
        (forces.fall_south[x], forces.fall_east[x]) = (falls[0] as f32 * slopes[0], falls[1] as f32 * slopes[1]);
        [forces.vy[x], forces.vx[x]] = drop.speed;
        forces.volume[x] = drop.water as f32 / self.rules.drop as f32;
        forces.stream[x] = self.stream[at];
        let pulls = [self.pull_south[at], self.pull_east[at]].map(|pull| pull * self.pull);
        [forces.my[x], forces.mx[x]] = if sunk { [0.0; 2] } else { pulls };
        forces.spilled[x] = drop.spilled;
    }

    /// One step of the drop in lane `x`: see the model's page, whose order this is.
    fn step(&mut self, drop: &mut Drop, sunk: bool, motion: &Motion, x: usize) -> Fate {
        let rules = self.rules;
        let here = self.here(drop);
        let at = self.at(here);
        let before = self.ground[at];
        if sunk && (drop.carried == 0 || drop.sunk >= MAX_SUNK) {
            return self.rest(drop, at);
        }
        let stream = self.stream[at];
        let volume = motion.volume[x];
        let (speed, moved, time) = ([motion.vy[x], motion.vx[x]], [motion.down[x], motion.across[x]], motion.time[x]);
        drop.spilled = false;
        if moved[0].abs() + moved[1].abs() < 1e-4 {
            return self.pause(drop, at);
        }
        let to = Cell::new(drop.part.row + moved[0], drop.part.col + moved[1]);
        let whole = to.map(floor);
        let next = Cell::new(here.row + whole.row, here.col + whole.col);
        drop.speed = speed;
        // In a lake no stream shows where drops go.
        let crossed = if sunk {
            None
        } else {
            let half = Cell::new(drop.part.row + 0.5 * moved[0], drop.part.col + 0.5 * moved[1]);
            self.mark(here, at, to, half, motion.passing(x))
        };
        if !self.is_inside(next) || self.is_void(next) {
            return self.leave(drop, here, next, at);
        }
        drop.cell = Cell::new(drop.cell.row + i64::from(whole.row), drop.cell.col + i64::from(whole.col));
        // A part just below a whole may round up to it.
        let part = |to: f32, whole: i32| (to - whole as f32).clamp(0.0, 0.999_999_9);
        drop.part = Cell::new(part(to.row, whole.row), part(to.col, whole.col));

        let new_at = self.at(next);
        let after = self.ground[new_at];
        if sunk {
            drop.sunk += 1;
            let settles = (drop.carried as f32 * rules.settling).ceil() as i32;
            // It sinks to the lowest place around, so that beds of lakes are even.
            let bed = self.lowest(here, at);
            let room = self.level[bed].saturating_sub(self.ground[bed]).max(0);
            self.lay(drop, bed, settles.min(room));
            if after >= self.level[at] && after > before.max(self.level[at]) {
                // The other shore is higher: the water stays.
                return self.rest(drop, new_at);
            }
        } else {
            drop.sunk = 0;
            self.exchange(drop, at, before, after, volume, stream, time, speed);
            if let Some(crossed) = crossed {
                self.cross(drop, at, crossed);
            }
        }
        let lost = (drop.water as f32 * time * rules.evaporation * (1.0 - rules.stream_evaporation * stream)) as i32;
        drop.water -= lost.min(drop.water);
        self.fill_pit(drop, next, new_at);
        self.slide(next, new_at);

        self.budget.particle_steps += 1;
        if after < drop.lowest.saturating_sub(rules.least_fall) {
            (drop.lowest, drop.since) = (after, 0);
        } else {
            drop.since += 1;
            if drop.since > rules.patience && !sunk && matches!(self.pause(drop, new_at), Fate::Waits) {
                return Fate::Waits;
            }
        }
        if (drop.water as f32) < rules.least * rules.drop as f32 {
            return self.rest(drop, new_at);
        }
        let CellRect { start, end } = self.tile;
        if next.row < start.row || next.row >= end.row || next.col < start.col || next.col >= end.col {
            return Fate::Waits;
        }
        Fate::On
    }

    /// By how many units the ground falls from the northern to the southern neighbour, and from the western to the eastern one; and the
    /// slope, as rise over run, of each unit.
    #[inline(always)]
    fn falls(&self, here: Cell<i32>, at: usize) -> ([i32; 2], [f32; 2]) {
        let CellRect { start, end } = self.valid;
        let stride = self.stride;
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
        // Outside of the data the ground goes on level.
        let height = |k: usize| self.ground[if self.outside.is_some_and(|outside| outside[k]) { at } else { k }];
        // One-sided beside an edge, where the slope is taken over one cell and not two.
        let slope = |a: usize, b: usize| self.rules.slope * if a == at || b == at { 2.0 } else { 1.0 };
        let falls = [height(north) - height(south), height(west) - height(east)];
        (falls, [slope(north, south), slope(west, east)])
    }

    /// Counts the water that passes: at the old cell, and at one that the step crosses on its way to the new one, which
    /// is returned.
    #[inline(always)]
    fn mark(
        &mut self,
        here: Cell<i32>,
        at: usize,
        to: Cell<f32>,
        half: Cell<f32>,
        (amount, [south, east]): (u32, [i32; 2]),
    ) -> Option<Cell<i32>> {
        let count = |tile: &mut Self, at: usize| {
            tile.passed[at] = tile.passed[at].saturating_add(amount);
            tile.south[at] = tile.south[at].saturating_add(south);
            tile.east[at] = tile.east[at].saturating_add(east);
        };
        count(self, at);
        let (half, whole) = (half.map(floor), to.map(floor));
        let middle = Cell::new(here.row + half.row, here.col + half.col);
        let crosses = half != Cell::new(0, 0) && half != whole && self.is_inside(middle);
        crosses.then(|| {
            let crossed = self.at(middle);
            count(self, crossed);
            middle
        })
    }

    /// Digs or lays down at the old cell, by how far what is carried is from what can be.
    #[expect(clippy::too_many_arguments, reason = "one step's numbers, used here alone")]
    #[inline(always)]
    fn exchange(
        &mut self,
        drop: &mut Drop,
        at: usize,
        before: i32,
        after: i32,
        volume: f32,
        stream: f32,
        time: f32,
        speed: [f32; 2],
    ) {
        let rules = self.rules;
        let fall = (before - after) as f32;
        let strength = match rules.set {
            RuleSet::Stream => (speed[0] * speed[0] + speed[1] * speed[1]).sqrt(),
            RuleSet::Momentum => 1.0 + rules.entrainment * stream,
        };
        let capacity = (strength * fall / rules.q).max(0.0) * volume;
        let yields = self.yields.map_or(1.0, |yields| yields[at]);
        let want = (capacity - drop.carried as f32) * (rules.deposition * time).min(1.0);
        if want > 0.0 {
            // No deeper than what it falls to: a drop digs no pit for itself.
            let mut dug = want * yields;
            if let Some(rock) = self.rock {
                // What the loose ground does not give, the rock under it does, by its own measure.
                let cover = self.loose[at] as f32;
                if dug > cover {
                    dug = cover + (dug - cover) / yields.max(1e-6) * rock[at];
                }
            }
            let dug = dug.min(fall) + drop.remainder;
            let dug_whole = dug as i32;
            drop.remainder = dug - dug_whole as f32;
            self.dig(drop, at, dug_whole);
        } else {
            let laid = -want - drop.remainder;
            let whole = laid.max(0.0) as i32;
            drop.remainder = whole as f32 - laid;
            drop.remainder = drop.remainder.clamp(-1.0, 1.0);
            self.lay(drop, at, whole);
        }
    }

    /// Cuts down a cell that a step leads across, if it stands over the one before, or fills it if it is a pit.
    fn cross(&mut self, drop: &mut Drop, at: usize, crossed: Cell<i32>) {
        if self.is_void(crossed) {
            return;
        }
        let middle = self.at(crossed);
        let over = self.ground[middle] - self.ground[at];
        if over > 0 && self.ground[middle] >= self.level[middle] {
            let yields = match (self.rock, self.yields) {
                (Some(rock), _) if over > self.loose[middle] => rock[middle],
                (_, Some(yields)) => yields[middle],
                _ => 1.0,
            };
            // As much as of any other fall.
            let share = self.rules.deposition * (1.0 + self.rules.entrainment * self.stream[middle]);
            self.dig(drop, middle, (over as f32 * (share * yields).min(1.0)) as i32);
        }
        self.fill_pit(drop, crossed, middle);
    }

    fn dig(&mut self, drop: &mut Drop, at: usize, amount: i32) {
        let amount = amount.min(self.ground[at] - self.rules.floor).min(MAX_CARRIED - drop.carried).max(0);
        self.ground[at] -= amount;
        self.loose[at] = (self.loose[at] - amount).max(0);
        drop.carried += amount;
        self.budget.eroded += i128::from(amount);
    }

    fn lay(&mut self, drop: &mut Drop, at: usize, amount: i32) {
        let amount = amount.min(drop.carried).min(Height::MAX.0 - self.ground[at]).max(0);
        self.ground[at] += amount;
        self.loose[at] = self.loose[at].saturating_add(amount);
        drop.carried -= amount;
        self.budget.deposited += i128::from(amount);
    }

    /// Lets the banks of a cell slide where they are too steep: towards and from each of its neighbours in turn.
    #[inline(always)]
    fn slide(&mut self, here: Cell<i32>, at: usize) {
        let inner = self.is_inner(here);
        let wet = self.ground[at] < self.level[at];
        let talus = if wet { self.rules.wet_talus } else { self.rules.talus };
        if inner && self.talus.is_none() {
            let height = self.ground[at];
            let most = |[a, b, c, d]: [i32; 4]| {
                let apart = |z: i32| (height - z).abs();
                apart(a).max(apart(b)).max(apart(c).max(apart(d))) as f32
            };
            let [straight, across] = self.around(at).map(most);
            // Mostly nothing is too steep.
            if straight <= talus && across <= talus * D8::DISTANCES_F32[1] {
                return;
            }
        }
        for direction in D8::ALL {
            let cell = neighbour(here, direction);
            if !inner && !self.is_inside(cell) {
                continue;
            }
            let other = self.at(cell);
            let over = self.ground[at] - self.ground[other];
            // What slides is of the higher cell.
            let own = self.talus.map_or(talus, |plane| plane[if over > 0 { at } else { other }]);
            let talus = if wet { talus.min(own) } else { own };
            let talus = talus * direction.distance_f32();
            let excess = over.unsigned_abs() as f32 - talus;
            if excess > 0.0 && !self.is_void(cell) {
                let amount = (excess * self.rules.slide) as i32;
                let (from, to) = if over > 0 { (at, other) } else { (other, at) };
                // Rock under loose ground stays, however steep that lies.
                let covered = self.rock.is_some() && self.loose[from] >= COVER.0;
                let amount = if covered { amount.min(self.loose[from]) } else { amount };
                self.ground[from] -= amount;
                self.loose[from] = (self.loose[from] - amount).max(0);
                self.ground[to] += amount;
                self.loose[to] = self.loose[to].saturating_add(amount);
                self.budget.eroded += i128::from(amount);
                self.budget.deposited += i128::from(amount);
            }
        }
    }

    /// Ground of the four neighbours and of the four across of a cell whose neighbours are all there.
    #[inline(always)]
    fn around(&self, at: usize) -> [[i32; 4]; 2] {
        let row = |first: usize| -> [i32; 3] {
            let row = self.ground.get(first..first + 3).and_then(|row| row.try_into().ok());
            row.unwrap_or_default()
        };
        let [a, b, c] = row(at - self.stride - 1);
        let [d, _, e] = row(at - 1);
        let [f, g, h] = row(at + self.stride - 1);
        [[b, d, e, g], [a, c, f, h]]
    }

    /// A drop that comes through a pit leaves so much of its load there that water runs on, as far as it goes: beds
    /// have an even fall.
    #[inline(always)]
    fn fill_pit(&mut self, drop: &mut Drop, cell: Cell<i32>, at: usize) {
        if !self.is_inner(cell) || self.ground[at] < self.level[at] {
            return;
        }
        let [[a, b, c, d], [e, f, g, h]] = self.around(at);
        let lowest = a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)));
        if lowest >= self.ground[at] && !self.is_beside_void(cell) {
            self.lay(drop, at, lowest - self.ground[at] + 1);
        }
    }

    /// Returns true if all neighbours of a cell exist.
    #[inline(always)]
    fn is_inner(&self, cell: Cell<i32>) -> bool {
        let CellRect { start, end } = self.valid;
        cell.row > start.row && cell.col > start.col && cell.row + 1 < end.row && cell.col + 1 < end.col
    }

    fn is_beside_void(&self, cell: Cell<i32>) -> bool {
        self.outside.is_some() && D8::ALL.into_iter().any(|direction| self.is_void(neighbour(cell, direction)))
    }

    /// A drop that finds no way down sets out anew without its speed, or rests.
    fn pause(&mut self, drop: &mut Drop, at: usize) -> Fate {
        if drop.turns == 0 || drop.speed == [0.0; 2] {
            return self.rest(drop, at);
        }
        drop.turns -= 1;
        (drop.speed, drop.since) = ([0.0; 2], 0);
        drop.lowest = self.ground[at];
        Fate::On
    }

    /// Lays down all that is carried, and waits for the lakes to say whether it runs on.
    fn rest(&mut self, drop: &mut Drop, at: usize) -> Fate {
        let here = self.here(drop);
        self.spread(drop, here, at);
        drop.rests = true;
        Fate::Waits
    }

    /// The lowest of a cell and its neighbours, the cell itself if none is lower.
    fn lowest(&self, here: Cell<i32>, at: usize) -> usize {
        let mut lowest = at;
        for direction in D8::ALL {
            let cell = neighbour(here, direction);
            if self.is_inside(cell) && !self.is_void(cell) && self.ground[self.at(cell)] < self.ground[lowest] {
                lowest = self.at(cell);
            }
        }
        lowest
    }

    /// Lays all that is carried into the lowest places around a cell, in parts, so that no heap is left.
    fn spread(&mut self, drop: &mut Drop, here: Cell<i32>, at: usize) {
        const PARTS: i32 = 8;
        let share = drop.carried / PARTS + 1;
        while drop.carried > 0 {
            let lowest = self.lowest(here, at);
            let before = drop.carried;
            self.lay(drop, lowest, share);
            if drop.carried == before {
                // All is as high as ground may be: the rest goes with the wind.
                self.budget.exported += i128::from(drop.carried);
                self.budget.limited += 1;
                drop.carried = 0;
            }
        }
        self.slide(here, at);
    }

    /// The next cell is none of the world: over an open edge all is carried out, before a wall the drop rests.
    fn leave(&mut self, drop: &mut Drop, here: Cell<i32>, next: Cell<i32>, at: usize) -> Fate {
        let CellRect { start, end } = self.valid;
        let beyond = [next.row < start.row, next.col >= end.col, next.row >= end.row, next.col < start.col];
        let open = match beyond.iter().position(|beyond| *beyond) {
            Some(side) => self.rules.edges[side] == Edge::Open,
            None => true,
        };
        if !open {
            drop.cell = Cell::new(self.origin.row + i64::from(here.row), self.origin.col + i64::from(here.col));
            return self.rest(drop, at);
        }
        self.budget.exported += i128::from(drop.carried);
        Fate::Gone
    }
}

/// The greatest whole number that is not above `x`, which is small.
#[inline(always)]
fn floor(x: f32) -> i32 {
    let whole = x as i32;
    whole - i32::from((whole as f32) > x)
}
