//! Slabs of sand in the air: the particles of the model, and what becomes of them.

use crate::base::cast::share_of;
use crate::base::error::Result;
use crate::base::rng::Key;
use crate::declare::codec::{Row, columns};
use crate::model::Budget;
use crate::models::dunes::bed::{Bed, SLIDES};
use crate::models::dunes::wind::{LIFT, LIFTS, MOST_TURN, SHADE, TURN};
use crate::models::dunes::{BLOCK, Rules};
use crate::process::particles::{Kernel, Particle, Patch, needed};
use crate::terrain::grid::{Edge, Grid};
use crate::terrain::height::{Height, UNITS_F32};
use crate::terrain::{GROUND, LOOSE, PROTECT};

/// A slab of sand on its way; or, without a load, a block of cells that are to be polled.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slab {
    number: u64,
    cell: [i64; 2],
    /// Part of the cell, southward and eastward from its north-western corner.
    part: [f32; 2],
    load: i32,
    /// Hops taken, with the one that it is on.
    hops: u32,
}

/// Hops after which all is laid.
const MOST_HOPS: u32 = 64;

/// A slab of less than this part of a whole one is not worth another hop.
pub(super) const CRUMB: i32 = 8;

/// How far beyond its tile a slab is followed, in cells.
const MARGIN: usize = 4;

/// The greatest factor on a hop: the wind's, and chance's.
const FARTHEST: f32 = LIFTS[1] * 1.5;

impl Particle for Slab {
    fn number(&self) -> u64 {
        self.number
    }
    fn cell(&self) -> [i64; 2] {
        self.cell
    }
}

impl Slab {
    /// A block of cells to be polled, whose first has this number and place.
    pub(super) fn block(number: u64, cell: [i64; 2]) -> Self {
        Self { number, cell, part: [0.0; 2], load: 0, hops: 0 }
    }

    /// A slab that has come over the edge and comes down in this cell, at the given part of it.
    pub(super) fn blown_in(number: u64, cell: [i64; 2], part: [f64; 2], load: i32) -> Self {
        Self { number, cell, part: part.map(within), load, hops: 1 }
    }

    /// What it carries, in units.
    pub(super) fn load(&self) -> i32 {
        self.load
    }

    /// Makes it lay all that it carries where it is.
    pub(super) fn drop_all(&mut self) {
        self.hops = MOST_HOPS;
    }

    /// Counts its place from elsewhere.
    pub(super) fn shift(&mut self, by: [i64; 2]) {
        self.cell = [self.cell[0] + by[0], self.cell[1] + by[1]];
    }
}

impl Row for Slab {
    const THING: &'static str = "slab of sand";

    columns! {
        Slab {
            number: i64, "1" = number;
            row: i64, "cell" = cell[0];
            column: i64, "cell" = cell[1];
            carried: i64, "m/65536" = load;
            hops: i64, "1" = hops;
            part_south: f32, "cell" = part[0];
            part_east: f32, "cell" = part[1];
        }
    }
}

impl Slab {
    /// The same, if there can be one in the window of a grid.
    pub(super) fn possible(self, grid: &Grid) -> Option<Self> {
        let possible = grid.local(self.cell).is_some()
            && self.load > 0
            && self.hops <= MOST_HOPS
            && self.part.iter().all(|part| (0.0..1.0).contains(part));
        possible.then_some(self)
    }
}

/// As `f32`, under 1 as it was.
fn within(part: f64) -> f32 {
    (part as f32).min(1.0 - f32::EPSILON)
}

/// A step's wind at work.
pub(super) struct Flight<'a> {
    rules: &'a Rules,
    key: Key,
    /// Southward and eastward parts of the wind.
    wind: [f32; 2],
    /// By how much the numbers of slabs grow from row to row.
    columns: i64,
}

impl<'a> Flight<'a> {
    pub(super) fn new(rules: &'a Rules, key: Key, wind: [f64; 2], columns: i64) -> Self {
        Self { rules, key, wind: wind.map(|part| part as f32), columns }
    }
}

impl Kernel for Flight<'_> {
    type Particle = Slab;

    fn step_reach(&self) -> usize {
        // Where a hop would come down is looked at before it leaves the tile; its fall may set sand sliding.
        let aside = MOST_TURN + self.rules.stray;
        let stray = (1.0 + aside * aside).sqrt();
        ((self.rules.hop * FARTHEST * stray).ceil() as usize).max(SLIDES) + 2
    }

    fn margin(&self) -> usize {
        MARGIN
    }

    fn run(&self, patch: &mut Patch, queue: &mut Vec<Slab>) -> Result<Budget> {
        let arrived = std::mem::take(queue);
        let Patch { origin, stride, tile, valid, .. } = *patch;
        let mut planes = patch.planes();
        let mut height = |name| needed(name, planes.height(name));
        let (ground, loose, repose) = (height(GROUND.name)?, height(LOOSE.name)?, self.rules.repose);
        let factor = |name| needed(name, planes.factor(name));
        let mut place = Place {
            flight: self,
            bed: Bed { ground, loose, outside: planes.outside, stride, valid, repose, slid: 0 },
            origin,
            tile,
            shade: factor(SHADE)?,
            lift: factor(LIFT)?,
            turn: factor(TURN)?,
            protect: planes.factor(PROTECT.name),
            budget: Budget::default(),
        };
        for slab in arrived.iter().filter(|slab| slab.load > 0) {
            place.fly(*slab, true, queue);
        }
        // Cells of a block in a scattered order, each block from another one on: neighbours are seldom polled in turn.
        let blocks = || arrived.iter().filter(|slab| slab.load == 0);
        let cells = (BLOCK * BLOCK) as u64;
        for poll in 0..cells {
            for block in blocks() {
                let first = block.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
                let nth = ((37 * poll + first) % cells) as i64;
                place.poll(block, [nth / BLOCK, nth % BLOCK], queue);
            }
        }
        place.budget.eroded += i128::from(place.bed.slid);
        place.budget.deposited += i128::from(place.bed.slid);
        Ok(place.budget)
    }
}

/// A tile at work.
struct Place<'a> {
    flight: &'a Flight<'a>,
    bed: Bed<'a>,
    origin: [i64; 2],
    tile: [[i32; 2]; 2],
    shade: &'a [f32],
    lift: &'a [f32],
    turn: &'a [f32],
    protect: Option<&'a [f32]>,
    budget: Budget,
}

impl Place<'_> {
    fn local(&self, cell: [i64; 2]) -> [i32; 2] {
        [0, 1].map(|a| (cell[a] - self.origin[a]) as i32)
    }

    /// Whether ground in the cell is out of the wind.
    #[inline(always)]
    fn is_sheltered(&self, at: usize) -> bool {
        let z = self.bed.ground[at];
        (z as f32) * (1.0 / UNITS_F32) < self.shade[at] || z < self.flight.rules.sea
    }

    /// Evens out a cell of the block with two neighbours, but not where it falls off from the wind into its shadow: brinks stay
    /// sharp, while grooves that run with the wind fill. Then
    /// takes a slab off it, if the wind gets at it and there is sand, and lets it fly.
    fn poll(&mut self, block: &Slab, offset: [i64; 2], queue: &mut Vec<Slab>) {
        let world = [block.cell[0] + offset[0], block.cell[1] + offset[1]];
        let cell = self.local(world);
        if !self.bed.is_there(cell) {
            return;
        }
        let at = self.bed.at(cell);
        let sheltered = self.is_sheltered(at);
        for beside in [[cell[0], cell[1] + 1], [cell[0] + 1, cell[1]]] {
            if !self.bed.is_there(beside) {
                continue;
            }
            let next = self.bed.at(beside);
            if self.is_sheltered(next) == sheltered || self.bed.is_gentle(at, next) {
                self.bed.creep(at, next, self.flight.rules.creep);
            }
        }
        if self.bed.loose[at] <= 0 || sheltered {
            return;
        }
        let mut load = self.flight.rules.slab.min(self.bed.loose[at]);
        if let Some(protect) = self.protect {
            load = (f64::from(load) * (1.0 - f64::from(share_of(protect[at])))) as i32;
        }
        load = load.min(self.bed.ground[at].saturating_sub(Height::MIN.0));
        if load <= 0 {
            return;
        }
        self.bed.ground[at] -= load;
        self.bed.loose[at] -= load;
        self.budget.eroded += i128::from(load);
        self.budget.particles += 1;
        self.bed.slide_in(cell);
        // As cells are numbered, row by row of the world.
        let number = block.number + (offset[0] * self.flight.columns + offset[1]) as u64;
        let part = self.flight.key.and(number).and(1).pair().map(within);
        self.fly(Slab { number, cell: world, part, load, hops: 0 }, false, queue);
    }

    /// Takes a slab from hop to hop until it has laid all, has left the world, or has left the tile: then it is queued.
    fn fly(&mut self, mut slab: Slab, mut comes_down: bool, queue: &mut Vec<Slab>) {
        loop {
            let cell = self.local(slab.cell);
            if !self.bed.is_there(cell) {
                self.budget.exported += i128::from(slab.load);
                return;
            }
            if comes_down {
                slab.load = self.come_down(cell, slab.load, slab.hops >= MOST_HOPS);
            }
            if slab.load == 0 {
                return;
            }
            match self.hop(&slab, cell) {
                Hop::Out => {
                    self.budget.exported += i128::from(slab.load);
                    return;
                }
                Hop::Stopped => {
                    self.come_down(cell, slab.load, true);
                    return;
                }
                Hop::To(cell, part) => {
                    slab.cell = [0, 1].map(|a| self.origin[a] + i64::from(cell[a]));
                    slab.part = part;
                    slab.hops += 1;
                    comes_down = true;
                    let [first, end] = self.tile;
                    if (0..2).any(|a| cell[a] < first[a] || cell[a] >= end[a]) {
                        queue.push(slab);
                        return;
                    }
                }
            }
        }
    }

    /// Where a slab hops to.
    fn hop(&mut self, slab: &Slab, cell: [i32; 2]) -> Hop {
        let Flight { rules, key, wind, .. } = self.flight;
        let [u, v] = key.and(slab.number.wrapping_mul(64).wrapping_add(slab.hops.into())).pair().map(|x| x as f32);
        let at = self.bed.at(cell);
        let length = rules.hop * self.lift[at] * (0.5 + u);
        let stray = self.turn[at] + rules.stray * (2.0 * v - 1.0);
        let way = [wind[0] - stray * wind[1], wind[1] + stray * wind[0]];
        self.budget.particle_steps += 1;
        // Before ground that is too steep, half as far; else not at all.
        for length in [length, 0.5 * length] {
            let to = [0, 1].map(|a| slab.part[a] + length * way[a]);
            let whole = to.map(f32::floor);
            let next = [0, 1].map(|a| cell[a] + whole[a] as i32);
            let [first, end] = self.bed.valid;
            let beyond = [next[0] < first[0], next[1] >= end[1], next[0] >= end[0], next[1] < first[1]];
            if let Some(side) = beyond.iter().position(|beyond| *beyond) {
                return if rules.edges[side] == Edge::Open { Hop::Out } else { Hop::Stopped };
            }
            if !self.bed.is_there(next) {
                return Hop::Out;
            }
            let rise = self.bed.ground[self.bed.at(next)] as f32 - self.bed.ground[at] as f32;
            if rise <= rules.climb * length.max(1.0) {
                return Hop::To(next, [0, 1].map(|a| (to[a] - whole[a]).min(1.0 - f32::EPSILON)));
            }
        }
        Hop::Stopped
    }

    /// Lays what stays of a load in the cell, or `all` of it; what is left.
    fn come_down(&mut self, cell: [i32; 2], load: i32, all: bool) -> i32 {
        let rules = self.flight.rules;
        let at = self.bed.at(cell);
        let sandy = (self.bed.loose[at] as f32 / rules.slab.max(1) as f32).clamp(0.0, 1.0);
        let share = rules.on_rock + (rules.on_sand - rules.on_rock) * sandy;
        let stays = (load as f32 * share).ceil().min(load as f32) as i32;
        // A last crumb goes with the rest.
        let whole = all || self.is_sheltered(at) || load - stays < rules.slab / CRUMB;
        let laid = if whole { load } else { stays.min(load) }.min(Height::MAX.0 - self.bed.ground[at]);
        self.bed.ground[at] += laid;
        self.bed.loose[at] = self.bed.loose[at].saturating_add(laid);
        self.budget.deposited += i128::from(laid);
        self.bed.slide_down(cell);
        if all && laid < load {
            self.budget.limited += 1;
            self.budget.exported += i128::from(load - laid);
            return 0;
        }
        load - laid
    }
}

/// What becomes of a hop.
enum Hop {
    /// Over the edge, or into missing data.
    Out,
    /// A wall or a cliff is in the way.
    Stopped,
    /// To a cell of the patch, and the part of it.
    To([i32; 2], [f32; 2]),
}
