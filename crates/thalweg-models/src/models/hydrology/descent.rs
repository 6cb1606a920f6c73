//! Moves drops down the terrain of a tile: motion, sediment exchange with the bed, bank failure, coming to rest.

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

/// Particle kernel that lets drops descend.
pub struct Descent<'a>(pub &'a Rules);

impl Kernel for Descent<'_> {
    type Particle = Drop;

    fn step_reach(&self) -> usize {
        // A step moves a drop by less than two cells, and banks slide into the neighbouring cells.
        4
    }

    fn margin(&self) -> usize {
        6
    }

    fn run(&self, patch: &mut Patch, queue: &mut Vec<Drop>) -> Result<MassBalance> {
        // Drops run in `LANES` lanes side by side: forces and motion are computed for all lanes at once, the steps are
        // then taken one after the other. A lane whose drop stops takes the next drop of the queue.
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
                // Drops stepped before this one may have changed the terrain around it: its forces are then computed
                // again.
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

/// Returns the neighbour of a cell in a direction.
#[inline(always)]
fn neighbour(cell: Cell<i32>, direction: D8) -> Cell<i32> {
    let [down, right] = direction.offset();
    Cell::new(cell.row + down as i32, cell.col + right as i32)
}

/// State of a drop after a step.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// The drop takes another step.
    On,
    /// The drop has ended: it left the world.
    Gone,
    /// The drop waits for another tile, or has come to rest.
    Waits,
}

/// The planes of a tile, borrowed from its patch, and the mass balance of the run.
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
    /// Factor that converts a pull in m³/s to one in units of a drop's speed.
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

    /// Returns the cell of a drop relative to the patch.
    #[inline(always)]
    fn here(&self, drop: &Drop) -> Cell<i32> {
        Cell::new((drop.cell.row - self.origin.row) as i32, (drop.cell.col - self.origin.col) as i32)
    }

    /// Returns the part of a drop's forces that depends on the terrain; see [`Forces::read`].
    #[inline(always)]
    fn read(&self, drop: &Drop) -> ([i32; 2], bool) {
        let here = self.here(drop);
        let at = self.at(here);
        (self.falls(here, at).0, self.ground[at] < self.level[at])
    }

    /// Computes the forces on a drop and stores them in lane `x`.
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

    /// Takes one step of the drop in lane `x`, in the order that the model's documentation gives.
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
        // Under a lake no discharge is recorded: the paths of drops along the bottom are no streams.
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
        // A fraction just below 1 may round up to 1, which would be the next cell.
        let part = |to: f32, whole: i32| (to - whole as f32).clamp(0.0, 0.999_999_9);
        drop.part = Cell::new(part(to.row, whole.row), part(to.col, whole.col));

        let new_at = self.at(next);
        let after = self.ground[new_at];
        if sunk {
            drop.sunk += 1;
            let settles = (drop.carried as f32 * rules.settling).ceil() as i32;
            // Sediment settles in the lowest cell of the neighbourhood, so that lake beds stay even.
            let bed = self.lowest(here, at);
            let room = self.level[bed].saturating_sub(self.ground[bed]).max(0);
            self.lay(drop, bed, settles.min(room));
            if after >= self.level[at] && after > before.max(self.level[at]) {
                // The opposite shore is higher than the lake: the drop stays.
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
        // A drop that has not reached a new lowest elevation for `patience` steps is stuck.
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

    /// Returns the fall of the ground in units from the northern to the southern neighbour and from the western to the
    /// eastern one, and the slope (rise over run) that one unit of each fall stands for.
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
        // Beyond the data the ground is taken to continue level.
        let height = |k: usize| self.ground[if self.outside.is_some_and(|outside| outside[k]) { at } else { k }];
        // Next to an edge the difference is one-sided: it spans one cell and not two.
        let slope = |a: usize, b: usize| self.rules.slope * if a == at || b == at { 2.0 } else { 1.0 };
        let falls = [height(north) - height(south), height(west) - height(east)];
        (falls, [slope(north, south), slope(west, east)])
    }

    /// Adds the drop's water to the discharge sums of the old cell and of a cell that the step crosses on its way to
    /// the new one. Returns the crossed cell, or `None` if the step crosses none.
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

    /// Erodes or deposits at the old cell, in proportion to the difference between transport capacity and load.
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
            // No deeper than the fall to the next cell: a drop digs no pit for itself.
            let mut dug = want * yields;
            if let Some(rock) = self.rock {
                // Once the sediment cover is used up, bedrock erodes by its own factor.
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

    /// Incises a cell that the step crosses if it is higher than the cell before it, and fills it if it is a pit.
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
            // The same share of the fall as anywhere else.
            let share = self.rules.deposition * (1.0 + self.rules.entrainment * self.stream[middle]);
            self.dig(drop, middle, (over as f32 * (share * yields).min(1.0)) as i32);
        }
        self.fill_pit(drop, crossed, middle);
    }

    /// Erodes up to `amount` units of a cell into the drop's load, sediment first.
    fn dig(&mut self, drop: &mut Drop, at: usize, amount: i32) {
        let amount = amount.min(self.ground[at] - self.rules.floor).min(MAX_CARRIED - drop.carried).max(0);
        self.ground[at] -= amount;
        self.loose[at] = (self.loose[at] - amount).max(0);
        drop.carried += amount;
        self.budget.eroded += i128::from(amount);
    }

    /// Deposits up to `amount` units of the drop's load on a cell.
    fn lay(&mut self, drop: &mut Drop, at: usize, amount: i32) {
        let amount = amount.min(drop.carried).min(Height::MAX.0 - self.ground[at]).max(0);
        self.ground[at] += amount;
        self.loose[at] = self.loose[at].saturating_add(amount);
        drop.carried -= amount;
        self.budget.deposited += i128::from(amount);
    }

    /// Lets the banks around a cell slide where they are too steep, in both directions, for each of its neighbours in
    /// turn.
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
            // Fast path: in most cases nothing is too steep.
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
            // Material slides from the higher cell, so that cell's stable slope counts.
            let own = self.talus.map_or(talus, |plane| plane[if over > 0 { at } else { other }]);
            let talus = if wet { talus.min(own) } else { own };
            let talus = talus * direction.distance_f32();
            let excess = over.unsigned_abs() as f32 - talus;
            if excess > 0.0 && !self.is_void(cell) {
                let amount = (excess * self.rules.slide) as i32;
                let (from, to) = if over > 0 { (at, other) } else { (other, at) };
                // Only the sediment slides; bedrock below it stays, however steep.
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

    /// Returns the elevations of the four orthogonal and of the four diagonal neighbours of a cell that has all eight.
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

    /// Fills a pit that the drop passes through, as far as its load suffices, until water can flow on: stream beds
    /// then fall steadily.
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

    /// Handles a drop that finds no way down: it starts again with no speed while it has turns left, and otherwise
    /// rests.
    fn pause(&mut self, drop: &mut Drop, at: usize) -> Fate {
        if drop.turns == 0 || drop.speed == [0.0; 2] {
            return self.rest(drop, at);
        }
        drop.turns -= 1;
        (drop.speed, drop.since) = ([0.0; 2], 0);
        drop.lowest = self.ground[at];
        Fate::On
    }

    /// Deposits the whole load and marks the drop as resting: the lakes then determine if it flows on.
    fn rest(&mut self, drop: &mut Drop, at: usize) -> Fate {
        let here = self.here(drop);
        self.spread(drop, here, at);
        drop.rests = true;
        Fate::Waits
    }

    /// Returns the index of the lowest cell among a cell and its neighbours, the cell itself if none is lower.
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

    /// Deposits the whole load in the lowest cells around a cell, in eight parts, so that no mound is left.
    fn spread(&mut self, drop: &mut Drop, here: Cell<i32>, at: usize) {
        const PARTS: i32 = 8;
        let share = drop.carried / PARTS + 1;
        while drop.carried > 0 {
            let lowest = self.lowest(here, at);
            let before = drop.carried;
            self.lay(drop, lowest, share);
            if drop.carried == before {
                // All cells are at the highest elevation that can be stored: the rest counts as exported.
                self.budget.exported += i128::from(drop.carried);
                self.budget.limited += 1;
                drop.carried = 0;
            }
        }
        self.slide(here, at);
    }

    /// Handles a step out of the world: over an open edge or onto a cell without data the load is exported and the
    /// drop ends; at a closed edge the drop rests.
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

/// Returns the greatest whole number that is not above `x`. `x` must fit an `i32`.
#[inline(always)]
fn floor(x: f32) -> i32 {
    let whole = x as i32;
    whole - i32::from((whole as f32) > x)
}
