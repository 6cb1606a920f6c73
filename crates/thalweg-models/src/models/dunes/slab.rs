//! Slabs of sand in the air: the particles of the model and their motion.

use multiversion::multiversion;

use crate::model::MassBalance;
use crate::models::dunes::bed::{MAX_SLIDE_CELLS, SandBed};
use crate::models::dunes::wind::{HOP_FACTOR_RANGE, LIFT, MAX_TURN_TANGENT, SHADE, TURN};
use crate::models::dunes::{BLOCK, DuneRules};
use crate::process::particles::{Particle, ParticleKernel, ParticlePatch, require_layer};
use thalweg_core::base::cast::{clamp_share, round_half_even};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::codec::{Row, columns};
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_core::terrain::{GROUND, PROTECT, SEDIMENT};
use thalweg_core::{Cell, CellRect, Edge, Grid, Height, Result};

/// A slab of sand in flight or, without a load, a block of cells to be polled.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slab {
    number: u64,
    cell: Cell<i64>,
    /// Position within the cell, from its north-western corner, in cells.
    part: Cell<f32>,
    load: i32,
    /// Hops taken, including the current one.
    hops: u32,
}

/// Number of hops after which the whole load is deposited.
const MAX_HOPS: u32 = 64;

/// A load below this fraction (1/8) of a whole slab takes no further hop.
pub(super) const MIN_HOP_LOAD_DIVISOR: i32 = 8;

/// Distance in cells beyond its tile up to which a slab is followed.
const MARGIN: usize = 4;

/// Maximum factor of a hop's length: the wind's maximum times the random maximum.
const MAX_HOP_FACTOR: f32 = HOP_FACTOR_RANGE[1] * 1.5;

impl Particle for Slab {
    fn number(&self) -> u64 {
        self.number
    }
    fn cell(&self) -> Cell<i64> {
        self.cell
    }
}

impl Slab {
    /// Creates a block of cells to be polled, from the number and the position of its first cell.
    pub(super) fn from_block(number: u64, cell: Cell<i64>) -> Self {
        Self { number, cell, ..Self::default() }
    }

    /// Creates a slab that has come over the edge and lands in this cell, at the given position within it.
    pub(super) fn from_edge(number: u64, cell: Cell<i64>, part: Cell<f64>, load: i32) -> Self {
        Self { number, cell, part: part.map(to_fraction_below_one), load, hops: 1 }
    }

    /// Returns its load in units.
    pub(super) fn load(&self) -> i32 {
        self.load
    }

    /// Makes it deposit its whole load where it is.
    pub(super) fn drop_all(&mut self) {
        self.hops = MAX_HOPS;
    }

    /// Moves it by the given rows and columns.
    pub(super) fn shift(&mut self, by: [i64; 2]) {
        self.cell = Cell::new(self.cell.row + by[0], self.cell.col + by[1]);
    }
}

impl Row for Slab {
    const ITEM_NAME: &'static str = "slab of sand";

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
    /// Returns the slab if its values are valid in the window of `grid`, and `None` otherwise. Tables may come from
    /// files.
    pub(super) fn validate_in_window(self, grid: &Grid) -> Option<Self> {
        let possible = grid.local_cell(self.cell).is_some()
            && self.load > 0
            && self.hops <= MAX_HOPS
            && [self.part.row, self.part.col].iter().all(|part| (0.0..1.0).contains(part));
        possible.then_some(self)
    }
}

/// Converts a value below 1 to `f32` so that it stays below 1.
fn to_fraction_below_one(part: f64) -> f32 {
    (part as f32).min(1.0 - f32::EPSILON)
}

/// The particle kernel: the flight of slabs in the wind of one step.
pub(super) struct Flight<'a> {
    rules: &'a DuneRules,
    key: RandomKey,
    /// Southward and eastward parts of the wind.
    wind: [f32; 2],
    /// Difference of the numbers of slabs from row to row.
    columns: i64,
}

impl<'a> Flight<'a> {
    pub(super) fn new(rules: &'a DuneRules, key: RandomKey, wind: [f64; 2], columns: i64) -> Self {
        Self { rules, key, wind: wind.map(|part| part as f32), columns }
    }
}

impl ParticleKernel for Flight<'_> {
    type Particle = Slab;

    fn step_reach(&self) -> usize {
        // The landing cell of a hop is read before the slab leaves the tile, and its landing may start a slide there.
        let aside = MAX_TURN_TANGENT + self.rules.stray;
        let stray = (1.0 + aside * aside).sqrt();
        // A slide also reads the neighbours of its last cell, which the additional cells cover.
        ((self.rules.hop * MAX_HOP_FACTOR * stray).ceil() as usize).max(MAX_SLIDE_CELLS) + 2
    }

    fn tile_margin(&self) -> usize {
        MARGIN
    }

    fn run(&self, patch: &mut ParticlePatch, queue: &mut Vec<Slab>) -> Result<MassBalance> {
        let arrived = std::mem::take(queue);
        let ParticlePatch { origin, stride, tile, valid, .. } = *patch;
        let mut planes = patch.split_planes();
        let mut height = |name| require_layer(name, planes.take_heights(name));
        let (ground, loose, repose) = (height(GROUND.name)?, height(SEDIMENT.name)?, self.rules.repose);
        let factor = |name| require_layer(name, planes.factor_plane(name));
        let place = DuneTile {
            rules: *self.rules,
            key: self.key,
            wind: self.wind,
            columns: self.columns,
            bed: SandBed { ground, loose, outside: planes.outside, stride, valid, repose, slid: 0 },
            origin,
            tile,
            shade: factor(SHADE)?,
            lift: factor(LIFT)?,
            turn: factor(TURN)?,
            protect: planes.factor_plane(PROTECT.name),
            tally: SlabTally::default(),
        };
        Ok(blow_sand(place, &arrived, queue))
    }
}

/// Continues the flight of slabs that have arrived in a tile, then polls its cells. Everything done for a slab is
/// inlined here, so that it is compiled for the widest vectors that the machine has.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn blow_sand(mut place: DuneTile<'_>, arrived: &[Slab], queue: &mut Vec<Slab>) -> MassBalance {
    // Slabs that were in the air before the poll land first.
    for slab in arrived.iter().filter(|slab| slab.load > 0) {
        place.fly_slab(*slab, true, queue);
    }
    // The cells of a block are visited in a scattered order with a different start in each block, so that neighbours
    // are rarely polled in succession. The multiplier is 2⁶⁴ over the golden ratio; the top six bits select one of the
    // 64 cells.
    let blocks = || arrived.iter().filter(|slab| slab.load == 0);
    let cells = (BLOCK * BLOCK) as u64;
    // One cell of every block is polled before the next of any block. 37 is odd, hence coprime with 64, so the 64 polls
    // reach each cell of the block once.
    for poll in 0..cells {
        for block in blocks() {
            let first = block.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
            let nth = ((37 * poll + first) % cells) as i64;
            if let Some(slab) = place.poll_cell(block, [nth / BLOCK, nth % BLOCK]) {
                place.fly_slab(slab, false, queue);
            }
        }
    }
    place.to_mass_balance()
}

/// A tile during a step. Constant data is stored by value and not by reference: the compiler then knows that writes to
/// the ground cannot change it, and does not read it again.
struct DuneTile<'a> {
    rules: DuneRules,
    key: RandomKey,
    wind: [f32; 2],
    columns: i64,
    bed: SandBed<'a>,
    origin: Cell<i64>,
    tile: CellRect<i32>,
    shade: &'a [f32],
    lift: &'a [f32],
    turn: &'a [f32],
    protect: Option<&'a [f32]>,
    tally: SlabTally,
}

/// The part of the mass balance that is counted here, in narrower integers: each slab counts several times.
#[derive(Default)]
struct SlabTally {
    eroded: i64,
    deposited: i64,
    exported: i64,
    limited: u64,
    particles: u64,
    hops: u64,
}

/// The work on one tile.
impl DuneTile<'_> {
    fn to_mass_balance(&self) -> MassBalance {
        let SlabTally { eroded, deposited, exported, limited, particles, hops } = self.tally;
        MassBalance {
            eroded: (eroded + self.bed.slid).into(),
            deposited: (deposited + self.bed.slid).into(),
            exported: exported.into(),
            limited,
            particles,
            particle_steps: hops,
            ..MassBalance::default()
        }
    }

    #[inline(always)]
    fn local_cell(&self, cell: Cell<i64>) -> Cell<i32> {
        Cell::new((cell.row - self.origin.row) as i32, (cell.col - self.origin.col) as i32)
    }

    /// Returns true if the ground of the cell is out of the wind, in shadow or under the sea.
    #[inline(always)]
    fn is_sheltered(&self, at: usize) -> bool {
        let z = self.bed.ground[at];
        (z as f32) * (1.0 / UNITS_F32) < self.shade[at] || z < self.rules.sea
    }

    /// Applies creep between a cell of the block and two of its neighbours, but not across the edge of the wind's
    /// shadow if it is steep: brinks stay sharp, while grooves along the wind fill up. Then removes a slab that is to
    /// fly, if the cell is exposed to the wind and has sand, and returns it.
    #[inline(always)]
    fn poll_cell(&mut self, block: &Slab, offset: [i64; 2]) -> Option<Slab> {
        let world = Cell::new(block.cell.row + offset[0], block.cell.col + offset[1]);
        let cell = self.local_cell(world);
        if !self.bed.has_data(cell) {
            return None;
        }
        let at = self.bed.cell_index(cell);
        let sheltered = self.is_sheltered(at);
        // Each pair creeps once a step, when its western or northern cell is polled.
        for neighbour in [Cell::new(cell.row, cell.col + 1), Cell::new(cell.row + 1, cell.col)] {
            if !self.bed.has_data(neighbour) {
                continue;
            }
            let next = self.bed.cell_index(neighbour);
            if self.is_sheltered(next) == sheltered || self.bed.is_gentle(at, next) {
                self.bed.diffuse_between(at, next, self.rules.creep);
            }
        }
        if self.bed.loose[at] <= 0 || sheltered {
            return None;
        }
        let mut load = self.rules.slab.min(self.bed.loose[at]);
        if let Some(protect) = self.protect {
            load = (f64::from(load) * (1.0 - f64::from(clamp_share(protect[at])))) as i32;
        }
        // No cell is lowered below the lowest elevation that can be stored.
        load = load.min(self.bed.ground[at].saturating_sub(Height::MIN.0));
        if load <= 0 {
            return None;
        }
        self.bed.ground[at] -= load;
        self.bed.loose[at] -= load;
        self.tally.eroded += i64::from(load);
        self.tally.particles += 1;
        // The cell is lower now, so its neighbours may be too steep above it.
        self.bed.slide_in(cell);
        // Numbers follow the cells of the world row by row.
        let number = block.number + (offset[0] * self.columns + offset[1]) as u64;
        let [south, east] = self.key.derive_key(number).derive_key(1).uniform_pair();
        Some(Slab {
            number,
            cell: world,
            part: Cell::new(to_fraction_below_one(south), to_fraction_below_one(east)),
            load,
            hops: 0,
        })
    }

    /// Moves a slab from hop to hop until it has deposited its load, has left the world, or has left the tile; then it
    /// is queued.
    #[inline(always)]
    fn fly_slab(&mut self, mut slab: Slab, mut comes_down: bool, queue: &mut Vec<Slab>) {
        let mut cell = self.local_cell(slab.cell);
        if !self.bed.has_data(cell) {
            self.tally.exported += i64::from(slab.load);
            return;
        }
        let mut stopped = false;
        loop {
            if comes_down {
                slab.load = self.deposit_load(cell, slab.load, stopped || slab.hops >= MAX_HOPS);
            }
            if slab.load == 0 {
                return;
            }
            match self.find_landing(&slab, cell) {
                Hop::Out => {
                    self.tally.exported += i64::from(slab.load);
                    return;
                }
                Hop::Stopped => stopped = true,
                Hop::To(next, part) => {
                    cell = next;
                    slab.part = part;
                    slab.hops += 1;
                    let CellRect { start, end } = self.tile;
                    if cell.row < start.row || cell.row >= end.row || cell.col < start.col || cell.col >= end.col {
                        slab.cell =
                            Cell::new(self.origin.row + i64::from(cell.row), self.origin.col + i64::from(cell.col));
                        queue.push(slab);
                        return;
                    }
                }
            }
            comes_down = true;
        }
    }

    /// Computes where a slab hops to.
    #[inline(always)]
    fn find_landing(&mut self, slab: &Slab, cell: Cell<i32>) -> Hop {
        let (rules, wind) = (self.rules, self.wind);
        // A slab takes at most `MAX_HOPS` = 64 hops, so number·64 + hops is a different key for every hop of every
        // slab.
        let [u, v] = self.key.derive_key(slab.number.wrapping_mul(64).wrapping_add(slab.hops.into())).uniform_pair();
        let (u, v) = (u as f32, v as f32);
        let at = self.bed.cell_index(cell);
        // The length varies by ±50 % around the wind's hop, and the direction by at most `gusts` around the turned
        // wind.
        let length = rules.hop * self.lift[at] * (0.5 + u);
        let stray = self.turn[at] + rules.stray * (2.0 * v - 1.0);
        let direction = [wind[0] - stray * wind[1], wind[1] + stray * wind[0]];
        self.tally.hops += 1;
        // If the ground ahead is too steep, half the distance is tried; if that is too steep as well, the slab stays.
        for length in [length, 0.5 * length] {
            let (south, east) = (slab.part.row + length * direction[0], slab.part.col + length * direction[1]);
            // A hop is a few hundred cells at most, as `Dunes::check` ensures, so the conversions do not overflow.
            let (down, right) = (south.floor(), east.floor());
            let next = Cell::new(cell.row + round_half_even(down), cell.col + round_half_even(right));
            // A closed edge stops the slab, which is then deposited; over an open one it leaves the world.
            if let Some(side) = self.crossed_edge(next) {
                return if rules.edges[side] == Edge::Open { Hop::Out } else { Hop::Stopped };
            }
            let to = self.bed.cell_index(next);
            if self.bed.outside.is_some_and(|outside| outside[to]) {
                return Hop::Out;
            }
            let rise = self.bed.ground[to] as f32 - self.bed.ground[at] as f32;
            // Heights are known per cell, so the rise of a hop shorter than a cell is compared with the climb over one
            // cell.
            if rise <= rules.climb * length.max(1.0) {
                const MAX_FRACTION: f32 = 1.0 - f32::EPSILON;
                return Hop::To(next, Cell::new((south - down).min(MAX_FRACTION), (east - right).min(MAX_FRACTION)));
            }
        }
        Hop::Stopped
    }

    /// Returns the edge beyond which a cell is; of two edges the first, clockwise from the north.
    #[inline(always)]
    fn crossed_edge(&self, cell: Cell<i32>) -> Option<usize> {
        if self.bed.is_within(cell) {
            return None;
        }
        let CellRect { start, end } = self.bed.valid;
        [cell.row < start.row, cell.col >= end.col, cell.row >= end.row, cell.col < start.col]
            .into_iter()
            .position(|beyond| beyond)
    }

    /// Deposits the share of a load that stays in the cell, or `all` of it. Returns the rest.
    #[inline(always)]
    fn deposit_load(&mut self, cell: Cell<i32>, load: i32, all: bool) -> i32 {
        let rules = self.rules;
        let at = self.bed.cell_index(cell);
        let share = rules.on_rock + (rules.on_sand - rules.on_rock) * rules.sand_cover_share(self.bed.loose[at]);
        // The deposited part is rounded up, so that the smallest loads come to rest.
        let stays = (load as f32 * share).ceil().min(load as f32) as i32;
        // A remainder that is too small for another hop is deposited as well.
        let whole = all || self.is_sheltered(at) || load - stays < rules.slab / MIN_HOP_LOAD_DIVISOR;
        let deposited = if whole { load } else { stays.min(load) }.min(Height::MAX.0 - self.bed.ground[at]);
        self.bed.ground[at] += deposited;
        self.bed.loose[at] = self.bed.loose[at].saturating_add(deposited);
        self.tally.deposited += i64::from(deposited);
        self.bed.slide_down(cell);
        // The whole load should be deposited but the cell is at the highest elevation: the rest leaves the world.
        if all && deposited < load {
            self.tally.limited += 1;
            self.tally.exported += i64::from(load - deposited);
            return 0;
        }
        load - deposited
    }
}

/// The outcome of a hop.
enum Hop {
    /// Over an open edge, or into missing data.
    Out,
    /// A closed edge or a cliff is in the way.
    Stopped,
    /// To a cell of the patch, and the position within it.
    To(Cell<i32>, Cell<f32>),
}
