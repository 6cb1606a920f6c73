//! The exchange of sediment between a drop and the bed, and the sliding of the banks around it.

use crate::models::hydrology::RuleSet;
use crate::models::hydrology::drop::{Drop, MAX_CARRIED};
use crate::models::hydrology::drop_tile::{DropTile, neighbour_cell};
use crate::models::hydrology::ground::COVER;
use thalweg_core::{Cell, Height};
use thalweg_flow::D8;

impl DropTile<'_> {
    /// Erodes or deposits at the old cell, in proportion to the difference between transport capacity and load.
    #[expect(clippy::too_many_arguments, reason = "one step's numbers, used here alone")]
    #[inline(always)]
    pub(super) fn exchange_sediment(
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
        // The transport capacity follows the rule set; it is zero where the drop climbs.
        let strength = match rules.set {
            RuleSet::Stream => (speed[0] * speed[0] + speed[1] * speed[1]).sqrt(),
            RuleSet::Momentum => 1.0 + rules.entrainment * stream,
        };
        let capacity = (strength * fall / rules.q).max(0.0) * volume;
        let yields = self.yields.map_or(1.0, |yields| yields[at]);
        let requested = (capacity - drop.carried as f32) * (rules.deposition * time).min(1.0);
        if requested > 0.0 {
            // No deeper than the fall to the next cell: a drop digs no pit for itself.
            let mut dug = requested * yields;
            if let Some(rock) = self.rock {
                // Once the sediment cover is used up, bedrock erodes by its own factor.
                let cover = self.loose[at] as f32;
                if dug > cover {
                    dug = cover + (dug - cover) / yields.max(1e-6) * rock[at];
                }
            }
            // Parts of a unit are kept for later steps: slow erosion would otherwise be rounded to nothing.
            let dug = dug.min(fall) + drop.remainder;
            let dug_whole = dug as i32;
            drop.remainder = dug - dug_whole as f32;
            self.erode_cell(drop, at, dug_whole);
        } else {
            // The remainder counts as erosion; deposition therefore reduces it.
            let deposited = -requested - drop.remainder;
            let whole = deposited.max(0.0) as i32;
            drop.remainder = whole as f32 - deposited;
            drop.remainder = drop.remainder.clamp(-1.0, 1.0);
            self.deposit_load(drop, at, whole);
        }
    }

    /// Incises a cell that the step crosses if it is higher than the cell before it, and fills it if it is a pit.
    pub(super) fn incise_crossed_cell(&mut self, drop: &mut Drop, at: usize, crossed: Cell<i32>) {
        if self.is_void(crossed) {
            return;
        }
        let middle = self.cell_index(crossed);
        let over = self.ground[middle] - self.ground[at];
        if over > 0 && self.ground[middle] >= self.level[middle] {
            let yields = match (self.rock, self.yields) {
                (Some(rock), _) if over > self.loose[middle] => rock[middle],
                (_, Some(yields)) => yields[middle],
                _ => 1.0,
            };
            // The same share of the fall as anywhere else.
            let share = self.rules.deposition * (1.0 + self.rules.entrainment * self.stream[middle]);
            self.erode_cell(drop, middle, (over as f32 * (share * yields).min(1.0)) as i32);
        }
        self.fill_pit(drop, crossed, middle);
    }

    /// Deposits a share of the load of a drop under water near its old cell, at most up to the water level.
    #[inline(always)]
    pub(super) fn settle_load(&mut self, drop: &mut Drop, here: Cell<i32>, at: usize) {
        drop.sunk += 1;
        let settles = (drop.carried as f32 * self.rules.settling).ceil() as i32;
        // Sediment settles in the lowest cell of the neighbourhood, so that lake beds stay even.
        let bed = self.find_lowest_cell(here, at);
        let room = self.level[bed].saturating_sub(self.ground[bed]).max(0);
        self.deposit_load(drop, bed, settles.min(room));
    }

    /// Fills a pit that the drop passes through, as far as its load suffices, until water can flow on: stream beds
    /// then fall steadily.
    #[inline(always)]
    pub(super) fn fill_pit(&mut self, drop: &mut Drop, cell: Cell<i32>, at: usize) {
        if !self.is_inner(cell) || self.ground[at] < self.level[at] {
            return;
        }
        let [[a, b, c, d], [e, f, g, h]] = self.neighbour_heights(at);
        let lowest = a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)));
        // One unit above the lowest neighbour is enough for water to run on. Next to a void the cell drains into it.
        if lowest >= self.ground[at] && !self.is_next_to_void(cell) {
            self.deposit_load(drop, at, lowest - self.ground[at] + 1);
        }
    }

    /// Lets the banks around a cell slide where they are too steep, in both directions, for each of its neighbours in
    /// turn.
    #[inline(always)]
    pub(super) fn slide_banks(&mut self, here: Cell<i32>, at: usize) {
        let inner = self.is_inner(here);
        let wet = self.ground[at] < self.level[at];
        // The state of the visited cell decides for all pairs, whether or not its neighbours are under water.
        let talus = if wet { self.rules.wet_talus } else { self.rules.talus };
        if inner && self.talus.is_none() {
            let height = self.ground[at];
            let highest = |[a, b, c, d]: [i32; 4]| {
                let apart = |z: i32| (height - z).abs();
                apart(a).max(apart(b)).max(apart(c).max(apart(d))) as f32
            };
            let [straight, across] = self.neighbour_heights(at).map(highest);
            // Fast path: in most cases nothing is too steep.
            if straight <= talus && across <= talus * D8::DISTANCES_F32[1] {
                return;
            }
        }
        for direction in D8::ALL {
            let cell = neighbour_cell(here, direction);
            if !inner && !self.is_inside(cell) {
                continue;
            }
            let other = self.cell_index(cell);
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

    /// Deposits the whole load in the lowest cells around a cell, in eight parts, so that no mound is left.
    pub(super) fn deposit_evenly(&mut self, drop: &mut Drop, here: Cell<i32>, at: usize) {
        const PARTS: i32 = 8;
        // At least one unit is deposited each time, so that the loop ends for loads below eight units.
        let share = drop.carried / PARTS + 1;
        while drop.carried > 0 {
            let lowest = self.find_lowest_cell(here, at);
            let before = drop.carried;
            self.deposit_load(drop, lowest, share);
            if drop.carried == before {
                // All cells are at the highest elevation that can be stored: the rest counts as exported.
                self.budget.exported += i128::from(drop.carried);
                self.budget.limited += 1;
                drop.carried = 0;
            }
        }
        self.slide_banks(here, at);
    }

    /// Erodes up to `amount` units of a cell into the drop's load, sediment first.
    fn erode_cell(&mut self, drop: &mut Drop, at: usize, amount: i32) {
        let amount = amount.min(self.ground[at] - self.rules.floor).min(MAX_CARRIED - drop.carried).max(0);
        // Sediment erodes first, and its thickness cannot become negative: the rest comes out of the bedrock.
        self.ground[at] -= amount;
        self.loose[at] = (self.loose[at] - amount).max(0);
        drop.carried += amount;
        self.budget.eroded += i128::from(amount);
    }

    /// Deposits up to `amount` units of the drop's load on a cell.
    fn deposit_load(&mut self, drop: &mut Drop, at: usize, amount: i32) {
        let amount = amount.min(drop.carried).min(Height::MAX.0 - self.ground[at]).max(0);
        self.ground[at] += amount;
        self.loose[at] = self.loose[at].saturating_add(amount);
        drop.carried -= amount;
        self.budget.deposited += i128::from(amount);
    }
}
