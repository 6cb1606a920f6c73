//! Moves drops down the terrain of a tile: motion, sediment exchange with the bed, bank failure, coming to rest.

use crate::model::MassBalance;
use crate::models::hydrology::drop::Drop;
use crate::models::hydrology::drop_tile::DropTile;
use crate::models::hydrology::motion::{DropMotion, Forces, LANES};
use crate::models::hydrology::rules::{HydrologyRules, MAX_SUNK};
use crate::process::particles::{ParticleKernel, ParticlePatch};
use thalweg_core::{Cell, CellRect, Edge, Result};

/// Particle kernel that lets drops descend.
pub struct DescentKernel<'a>(pub &'a HydrologyRules);

impl ParticleKernel for DescentKernel<'_> {
    type Particle = Drop;

    fn step_reach(&self) -> usize {
        // A step moves a drop by less than two cells, and banks slide into the neighbouring cells.
        4
    }

    fn tile_margin(&self) -> usize {
        6
    }

    fn run(&self, patch: &mut ParticlePatch, queue: &mut Vec<Drop>) -> Result<MassBalance> {
        // Drops run in `LANES` lanes side by side: forces and motion are computed for all lanes at once, the steps are
        // then taken one after the other. A lane whose drop stops takes the next drop of the queue.
        let mut tile = DropTile::new(self.0, patch)?;
        // Lanes take drops in the order of the queue, which is sorted by number: the result depends on the queue alone.
        let mut coming = (0..queue.len()).filter(|k| !queue[*k].rests).collect::<Vec<_>>().into_iter();
        let mut running: Vec<usize> = coming.by_ref().take(LANES).collect();
        let mut gone = vec![false; queue.len()];
        while !running.is_empty() {
            let mut forces = Forces::default();
            for (x, k) in running.iter().enumerate() {
                tile.push(&mut forces, x, &queue[*k]);
            }
            let mut motion = forces.compute_motion(self.0);
            let mut lanes = 0..LANES;
            running.retain_mut(|k| {
                let (drop, x) = (&mut queue[*k], lanes.next().unwrap_or_default());
                // Drops stepped before this one may have changed the terrain around it: its forces are then computed
                // again.
                if tile.read_terrain_forces(drop) != forces.read[x] {
                    tile.push(&mut forces, x, drop);
                    motion = forces.compute_motion(self.0);
                }
                match tile.step_drop(drop, forces.read[x].1, &motion, x) {
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

impl DropTile<'_> {
    /// Returns the part of a drop's forces that depends on the terrain; see [`Forces::read`].
    #[inline(always)]
    fn read_terrain_forces(&self, drop: &Drop) -> ([i32; 2], bool) {
        let here = self.local_cell(drop);
        let at = self.cell_index(here);
        (self.ground_falls(here, at).0, self.ground[at] < self.level[at])
    }

    /// Computes the forces on a drop and stores them in lane `x`.
    #[inline(always)]
    fn push(&self, forces: &mut Forces, x: usize, drop: &Drop) {
        let here = self.local_cell(drop);
        let at = self.cell_index(here);
        let (falls, slopes) = self.ground_falls(here, at);
        let sunk = self.ground[at] < self.level[at];
        forces.read[x] = (falls, sunk);
        (forces.fall_south[x], forces.fall_east[x]) = (falls[0] as f32 * slopes[0], falls[1] as f32 * slopes[1]);
        [forces.vy[x], forces.vx[x]] = drop.speed;
        forces.volume[x] = drop.water as f32 / self.rules.drop_water as f32;
        forces.stream[x] = self.stream[at];
        let pulls = [self.pull_south[at], self.pull_east[at]].map(|pull| pull * self.pull);
        [forces.my[x], forces.mx[x]] = if sunk { [0.0; 2] } else { pulls };
        forces.spilled[x] = drop.spilled;
    }

    /// Takes one step of the drop in lane `x`, in the order that the model's documentation gives.
    fn step_drop(&mut self, drop: &mut Drop, sunk: bool, motion: &DropMotion, x: usize) -> Fate {
        let rules = self.rules;
        let here = self.local_cell(drop);
        let at = self.cell_index(here);
        // A drop under water rests when it has no load to deposit, or after a limited number of steps.
        let before = self.ground[at];
        if sunk && (drop.carried == 0 || drop.sunk >= MAX_SUNK) {
            return self.rest_drop(drop, at);
        }
        let stream = self.stream[at];
        let volume = motion.volume[x];
        let (speed, moved, time) = ([motion.vy[x], motion.vx[x]], [motion.down[x], motion.across[x]], motion.time[x]);
        drop.spilled = false;
        // A drop that would move by less than 1/10 000 of a cell has come to a halt, for example on level ground.
        if moved[0].abs() + moved[1].abs() < 1e-4 {
            return self.restart_or_rest(drop, at);
        }
        // The drop moves. Its position is split into a cell and a fraction, so that precision does not depend on the
        // cell.
        let to = Cell::new(drop.part.row + moved[0], drop.part.col + moved[1]);
        let whole = to.map(floor_to_i32);
        let next = Cell::new(here.row + whole.row, here.col + whole.col);
        drop.speed = speed;
        // Under a lake no discharge is recorded: the paths of drops along the bottom are no streams.
        let crossed = if sunk {
            None
        } else {
            let half = Cell::new(drop.part.row + 0.5 * moved[0], drop.part.col + 0.5 * moved[1]);
            self.record_discharge(here, at, to, half, motion.passing_water(x))
        };
        if !self.is_inside(next) || self.is_void(next) {
            return self.leave_world(drop, here, next, at);
        }
        drop.cell = Cell::new(drop.cell.row + i64::from(whole.row), drop.cell.col + i64::from(whole.col));
        // A fraction just below 1 may round up to 1, which would be the next cell.
        let part = |to: f32, whole: i32| (to - whole as f32).clamp(0.0, 0.999_999_9);
        drop.part = Cell::new(part(to.row, whole.row), part(to.col, whole.col));

        // Under water the drop deposits, and elsewhere it exchanges sediment with the bed. Both come before its loss of
        // water.
        let new_at = self.cell_index(next);
        let after = self.ground[new_at];
        if sunk {
            self.settle_load(drop, here, at);
            if after >= self.level[at] && after > before.max(self.level[at]) {
                // The opposite shore is higher than the lake: the drop stays.
                return self.rest_drop(drop, new_at);
            }
        } else {
            // The exchange uses the ground before and after the step, and changes the old cell alone.
            drop.sunk = 0;
            self.exchange_sediment(drop, at, before, after, volume, stream, time, speed);
            if let Some(crossed) = crossed {
                self.incise_crossed_cell(drop, at, crossed);
            }
        }
        // Evaporation is rounded toward zero: a drop of few units may lose nothing in a step.
        let lost = (drop.water as f32 * time * rules.evaporation * (1.0 - rules.stream_evaporation * stream)) as i32;
        drop.water -= lost.min(drop.water);
        // A pit is filled before banks slide into the new cell, so that the load fills it and not the banks.
        self.fill_pit(drop, next, new_at);
        self.slide_banks(next, new_at);
        self.finish_step(drop, sunk, next, new_at, after)
    }

    /// Counts a step that is done and returns what becomes of the drop, which may come to rest or leave the tile.
    /// `after` is the ground of its new cell when it arrived there.
    #[inline(always)]
    fn finish_step(&mut self, drop: &mut Drop, sunk: bool, next: Cell<i32>, new_at: usize, after: i32) -> Fate {
        let rules = self.rules;
        self.budget.particle_steps += 1;
        // A drop that has not reached a new lowest elevation for `patience` steps is stuck.
        if after < drop.lowest.saturating_sub(rules.least_fall) {
            (drop.lowest, drop.since) = (after, 0);
        } else {
            drop.since += 1;
            if drop.since > rules.patience && !sunk && matches!(self.restart_or_rest(drop, new_at), Fate::Waits) {
                return Fate::Waits;
            }
        }
        if (drop.water as f32) < rules.min_volume * rules.drop_water as f32 {
            return self.rest_drop(drop, new_at);
        }
        // Outside the tile and its margin the drop waits until the tile that it entered runs.
        let CellRect { start, end } = self.tile;
        if next.row < start.row || next.row >= end.row || next.col < start.col || next.col >= end.col {
            return Fate::Waits;
        }
        Fate::On
    }

    /// Adds the drop's water to the discharge sums of the old cell and of a cell that the step crosses on its way to
    /// the new one. Returns the crossed cell, or `None` if the step crosses none.
    #[inline(always)]
    fn record_discharge(
        &mut self,
        here: Cell<i32>,
        at: usize,
        to: Cell<f32>,
        half: Cell<f32>,
        (amount, [south, east]): (u32, [i32; 2]),
    ) -> Option<Cell<i32>> {
        // Sums saturate instead of wrapping around: a count has room for 4 million whole drops, 2³²/`WHOLE_DROP`.
        let count = |tile: &mut Self, at: usize| {
            tile.passed[at] = tile.passed[at].saturating_add(amount);
            tile.south[at] = tile.south[at].saturating_add(south);
            tile.east[at] = tile.east[at].saturating_add(east);
        };
        count(self, at);
        // A diagonal step may cut across a third cell. Half way it is in that cell, which then counts as passed too.
        let (half, whole) = (half.map(floor_to_i32), to.map(floor_to_i32));
        let middle = Cell::new(here.row + half.row, here.col + half.col);
        let crosses = half != Cell::new(0, 0) && half != whole && self.is_inside(middle);
        crosses.then(|| {
            let crossed = self.cell_index(middle);
            count(self, crossed);
            middle
        })
    }

    /// Handles a drop that finds no way down: it starts again with no speed while it has turns left, and otherwise
    /// rests.
    fn restart_or_rest(&mut self, drop: &mut Drop, at: usize) -> Fate {
        if drop.turns == 0 || drop.speed == [0.0; 2] {
            return self.rest_drop(drop, at);
        }
        drop.turns -= 1;
        (drop.speed, drop.since) = ([0.0; 2], 0);
        drop.lowest = self.ground[at];
        Fate::On
    }

    /// Deposits the whole load and marks the drop as resting: the lakes then determine if it flows on.
    fn rest_drop(&mut self, drop: &mut Drop, at: usize) -> Fate {
        let here = self.local_cell(drop);
        self.deposit_evenly(drop, here, at);
        drop.rests = true;
        Fate::Waits
    }

    /// Handles a step out of the world: over an open edge or onto a cell without data the load is exported and the
    /// drop ends; at a closed edge the drop rests.
    fn leave_world(&mut self, drop: &mut Drop, here: Cell<i32>, next: Cell<i32>, at: usize) -> Fate {
        let CellRect { start, end } = self.valid;
        // The order is that of the grid's edges: north, east, south, west. A step within the terrain ends on a void.
        let beyond = [next.row < start.row, next.col >= end.col, next.row >= end.row, next.col < start.col];
        let open = match beyond.iter().position(|beyond| *beyond) {
            Some(side) => self.rules.edges[side] == Edge::Open,
            None => true,
        };
        if !open {
            drop.cell = Cell::new(self.origin.row + i64::from(here.row), self.origin.col + i64::from(here.col));
            return self.rest_drop(drop, at);
        }
        self.budget.exported += i128::from(drop.carried);
        Fate::Gone
    }
}

/// Returns the greatest whole number that is not above `x`. `x` must fit an `i32`.
#[inline(always)]
fn floor_to_i32(x: f32) -> i32 {
    // The conversion rounds toward zero; one is subtracted for negative fractions.
    let whole = x as i32;
    whole - i32::from((whole as f32) > x)
}
