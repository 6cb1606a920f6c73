//! The flow of ice: one sweep over the cells, each after its higher neighbours.

use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

use rayon::prelude::*;

use crate::models::glacier::cascade::{Cascade, TOGETHER, Visited};
use crate::models::glacier::cell::{Cells, LANES, Rates, STEEPEST};
use crate::models::glacier::land::{Around, Land};
use crate::terrain::field::Field;
use crate::terrain::grid::Grid;
use crate::terrain::height::{Height, UNITS};

/// Bytes a cell that a flow and a bed at work hold.
pub const SCRATCH: u64 = 68;

/// Snow and melt.
#[derive(Clone, Copy)]
pub struct Climate<'a> {
    /// Elevation in metres at which nothing is gained.
    pub snowline: f64,
    /// Gain with each metre, in 1/a, and the most of it, in m/a.
    pub gradient: f64,
    pub most: f64,
    /// Factor of what is gained.
    pub snow: Option<&'a Field<f32>>,
    /// Metres by which the snowline lies lower.
    pub shade: Option<&'a Field<f32>>,
}

impl Climate<'_> {
    /// Metres gained, or below zero lost, in a year by cell `k` with its surface at a level in units.
    #[inline(always)]
    fn gain(&self, level: i32, k: usize) -> f64 {
        let lower = self.shade.map_or(0.0, |shade| f64::from(shade[k]));
        let rate = (self.gradient * (Height(level).metres() - self.snowline + lower)).min(self.most);
        match self.snow {
            // The product with what is no number is none either, and the greater of it and zero is zero.
            Some(snow) if rate > 0.0 => (rate * f64::from(snow[k])).max(0.0),
            _ => rate,
        }
    }
}

/// What became of the ice, in units × cells.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// Fell as snow.
    pub gained: i64,
    /// Melted, broke off, or left over an edge.
    pub lost: i64,
    /// Cells with more ice than the accepted heights have room for.
    pub limited: u64,
}

impl Spent {
    fn add(&mut self, other: &Self) {
        self.gained += other.gained;
        self.lost += other.lost;
        self.limited += other.limited;
    }
}

/// Densities of ice and of sea water in kg/m³.
const ICE_DENSITY: i64 = 917;
const SEA_DENSITY: i64 = 1028;

/// How far a step may go: the most of D·dt/dx² over all cells, D = |q|/|∇s| the diffusivity. On rough mountains steps are steady
/// up to some 80.
const REACH: f64 = 30.0;

/// The flow over a grid.
pub struct Flow {
    /// Level of the surface, of ice, bare ground or the sea, in units.
    pub surface: Field<i32>,
    /// Units that each cell gave over its west, east, north and south side in the last step.
    pub gave: Vec<[AtomicI32; 4]>,
    /// Units that melted there, or broke off.
    pub gone: Vec<AtomicI64>,
    /// Units of ice after the step.
    stays: Vec<AtomicI32>,
    /// Cells with ice, or with snow that stays; and those and the ones beside them.
    live: Vec<bool>,
    matters: Vec<bool>,
    /// From the highest surface to the lowest.
    pub cascade: Cascade,
}

impl Flow {
    pub fn new(grid: &Grid) -> Self {
        let cells = || 0..grid.len();
        Self {
            surface: Field::new(grid.size, 0),
            gave: cells().map(|_| Default::default()).collect(),
            gone: cells().map(|_| AtomicI64::new(0)).collect(),
            stays: cells().map(|_| AtomicI32::new(0)).collect(),
            live: vec![false; grid.len()],
            matters: vec![false; grid.len()],
            cascade: Cascade::new(grid.len()),
        }
    }

    /// Finds the surface.
    pub fn look(&mut self, land: Land<'_>, ice: &Field<Height>) {
        let sea = land.grid.sea_level.map_or(i32::MIN, |sea| sea.0);
        self.surface.par_rows_mut().for_each(|(i, row)| {
            for ((level, ground), ice) in row.iter_mut().zip(land.ground.row(i)).zip(ice.row(i)) {
                *level = (ground.0 + ice.0).max(sea);
            }
        });
    }

    /// Slopes down from cell `k`, which these lie around, to its west, east, north and south; none up, nor where there is no data or no cell.
    #[inline(always)]
    pub fn falls(&self, land: Land<'_>, k: usize, around: Around) -> [f64; 4] {
        let level = self.surface.as_slice();
        let per = 1.0 / (land.grid.cell * UNITS);
        around.map(|to| match to {
            Some(to) if !land.is_void(to) => {
                ((i64::from(level[k]) - i64::from(level[to])).max(0) as f64 * per).min(STEEPEST)
            }
            _ => 0.0,
        })
    }

    /// The longest step in years that is steady, at most `longest`.
    fn steady(&self, land: Land<'_>, ice: &Field<Height>, rates: &Rates, longest: f64) -> f64 {
        let (cols, ice) = (land.grid.cols(), ice.as_slice());
        let row = |i: usize| {
            let spread = |j: usize| {
                let k = i * cols + j;
                let h = ice[k].metres();
                let [west, east, north, south] = self.falls(land, k, land.around_in(k, j));
                let (across, along) = (west.max(east), north.max(south));
                (rates.creep * h * h + rates.slide) * h * h * h * (across * across + along * along)
            };
            let icy = (0..cols).filter(|j| ice[i * cols + j].0 > 0 && !land.is_void(i * cols + j));
            icy.map(spread).fold(0.0, f64::max)
        };
        let most = (0..land.grid.rows()).into_par_iter().map(row).reduce(|| 0.0, f64::max);
        if most * longest > REACH * land.grid.cell_area() { REACH * land.grid.cell_area() / most } else { longest }
    }

    /// Finds the cells that matter.
    fn find(&mut self, land: Land<'_>, ice: &[Height], climate: &Climate<'_>) {
        let cols = land.grid.cols();
        let level = self.surface.as_slice();
        self.live.par_chunks_mut(cols).enumerate().for_each(|(i, row)| {
            for (k, live) in (i * cols..).zip(row) {
                *live = !land.is_void(k) && (ice[k].0 > 0 || climate.gain(level[k], k) > 0.0);
            }
        });
        let live = &self.live;
        self.matters.par_chunks_mut(cols).enumerate().for_each(|(i, row)| {
            for (j, matters) in row.iter_mut().enumerate() {
                let k = i * cols + j;
                let beside = || land.around_in(k, j).into_iter().flatten().any(|n| live[n]);
                *matters = live[k] || (beside() && !land.is_void(k));
            }
        });
    }

    /// Lets snow fall, ice melt, flow, and break off in the sea, for at most `longest` years; the years that passed.
    ///
    /// Each cell in its turn shares out what it has and what has come to it ([`Rates::share`]). So nothing is made or lost, no
    /// cell gives more than it has, and where the ice is in balance the length of the step does not show. A cell's turn asks
    /// only for higher neighbours to be done, so many have theirs at once.
    pub fn advance(
        &mut self,
        land: Land<'_>,
        ice: &mut Field<Height>,
        (rates, climate): (&Rates, &Climate<'_>),
        longest: f64,
        spent: &mut Spent,
    ) -> f64 {
        self.look(land, ice);
        let years = self.steady(land, ice, rates, longest);
        self.find(land, ice.as_slice(), climate);
        let mut cascade = std::mem::replace(&mut self.cascade, Cascade::new(0));
        let flow = &*self;
        let step = Step { land, ice: ice.as_slice(), rates, climate, years };
        let sums = cascade.run(
            land,
            |k| flow.matters[k],
            |k, _, to| flow.precedes(k, to),
            |cells, spent| flow.visit(&step, cells, spent),
        );
        self.cascade = cascade;
        sums.iter().for_each(|sum| spent.add(sum));
        spent.lost += self.settle(land, ice);
        years
    }

    /// Whether a cell has its turn before the one beside it.
    #[inline(always)]
    fn precedes(&self, k: usize, to: usize) -> bool {
        let level = self.surface.as_slice();
        (level[k], to) > (level[to], k)
    }

    /// Units that have come to a cell in this step, from those around it that have had their turns.
    #[inline(always)]
    fn comes(&self, around: Around, has_had: impl Fn(usize) -> bool) -> i64 {
        let gives = |side: usize| match around[side] {
            Some(from) if self.matters[from] && has_had(from) => self.gave[from][side ^ 1].load(Ordering::Relaxed),
            _ => 0,
        };
        (0..4).map(|side| i64::from(gives(side))).sum()
    }

    /// Takes over what stays and what has come to cells that were not visited; what has no room is returned.
    fn settle(&self, land: Land<'_>, ice: &mut Field<Height>) -> i64 {
        let cols = ice.cols();
        let settled = ice.par_rows_mut().map(|(i, ice)| {
            let mut lost = 0;
            for (j, ice) in ice.iter_mut().enumerate() {
                let k = i * cols + j;
                if self.matters[k] {
                    ice.0 = self.stays[k].load(Ordering::Relaxed);
                    continue;
                }
                let came = self.comes(land.around_in(k, j), |_| true);
                self.gave[k].iter().for_each(|gave| gave.store(0, Ordering::Relaxed));
                self.gone[k].store(0, Ordering::Relaxed);
                let kept = came.min(i64::from(Height::MAX.0) - i64::from(land.ground[k].0) - i64::from(ice.0));
                lost += came - kept;
                ice.0 += kept as i32;
            }
            lost
        });
        settled.sum()
    }

    /// The turn of some cells.
    fn visit(&self, step: &Step<'_>, visited: &[Visited], spent: &mut Spent) {
        let mut cells = Cells::NONE;
        let mut turns = [Turn::default(); TOGETHER];
        for (l, (turn, cell)) in turns.iter_mut().zip(visited).enumerate() {
            *turn = self.fall(step, *cell, spent);
            if turn.there > 0 {
                (cells.there[l], cells.guess[l]) = (turn.there as f64 / UNITS, step.ice[cell.0].metres());
                self.look_beyond(step, *cell, l, &mut cells);
            }
        }
        let is_ice = turns.iter().any(|turn| turn.there > 0);
        let shares = is_ice.then(|| step.rates.share(&cells, step.land.grid.cell, step.years));
        for (l, (turn, cell)) in turns.iter().zip(visited).enumerate() {
            let share = shares.as_ref().map_or((0.0, [0.0; 4]), |s| (s.keeps[l], s.over.map(|over| over[l])));
            self.pass_on(step, *cell, turn, share, spent);
        }
    }

    /// Lets snow fall on a cell and ice melt.
    #[inline(always)]
    fn fall(&self, step: &Step<'_>, (k, around): Visited, spent: &mut Spent) -> Turn {
        let Step { land, ice, climate, .. } = *step;
        let moved = i64::from(ice[k].0) + self.comes(around, |from| self.precedes(from, k));
        let depth = land.grid.sea_level.map_or(0, |sea| (i64::from(sea.0) - i64::from(land.ground[k].0)).max(0));
        // Snow on the open sea is gone.
        let gain =
            if moved == 0 && depth > 0 { 0 } else { (climate.gain(self.surface[k], k) * step.years * UNITS) as i64 };
        let melts = (-gain).clamp(0, moved);
        spent.gained += gain.max(0);
        Turn { there: moved + gain.max(0) - melts, melts, depth }
    }

    /// Passes on what a cell does not keep, and breaks off what floats.
    #[inline(always)]
    fn pass_on(
        &self,
        step: &Step<'_>,
        (k, around): Visited,
        turn: &Turn,
        (kept, over): (f64, [f64; 4]),
        spent: &mut Spent,
    ) {
        let Turn { there, melts, depth } = *turn;
        let mut keeps = there;
        let mut gave = [0; 4];
        let sum: f64 = over.iter().sum();
        if there > 0 && sum > 0.0 {
            let gives = there - ((kept * UNITS) as i64).clamp(0, there);
            for side in 0..4 {
                if over[side] > 0.0 {
                    // Rounded down, the four are never more than what is given.
                    let units = ((gives as f64 * (over[side] / sum)) as i64).clamp(0, keeps).min(i32::MAX.into());
                    keeps -= units;
                    gave[side] = units as i32;
                    spent.lost += if around[side].is_none() { units } else { 0 };
                }
            }
        }
        let room = (i64::from(Height::MAX.0) - i64::from(step.land.ground[k].0)).max(0);
        let floats = keeps * ICE_DENSITY < depth * SEA_DENSITY;
        let stays = if floats { 0 } else { keeps.min(room) };
        spent.limited += u64::from(!floats && keeps > room);
        let gone = melts + keeps - stays;
        spent.lost += gone;
        for (to, units) in self.gave[k].iter().zip(gave) {
            to.store(units, Ordering::Relaxed);
        }
        self.gone[k].store(gone, Ordering::Relaxed);
        self.stays[k].store(stays as i32, Ordering::Relaxed);
    }

    /// What lies beyond the sides of a cell, into lane `l`.
    #[inline(always)]
    fn look_beyond(&self, step: &Step<'_>, (k, around): Visited, l: usize, cells: &mut Cells) {
        let Step { land, ice, .. } = *step;
        let (level, ground) = (self.surface.as_slice(), land.ground.as_slice());
        for (side, to) in around.into_iter().enumerate() {
            match to {
                Some(to) if land.is_void(to) || self.precedes(to, k) => {}
                Some(to) => {
                    cells.levels[side][l] = (i64::from(level[to]) - i64::from(ground[k].0)) as f64 / UNITS;
                    cells.ice[side][l] = ice[to].metres();
                }
                // Over an open edge it falls on bare, level ground: by a slope from behind it would dam itself up.
                None if land.opens(side) => cells.levels[side][l] = 0.0,
                None => {}
            }
        }
    }
}

/// What a step of the ice goes by.
struct Step<'a> {
    land: Land<'a>,
    ice: &'a [Height],
    rates: &'a Rates,
    climate: &'a Climate<'a>,
    years: f64,
}

/// A cell's turn before it shares out, in units.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// Ice that there is.
    there: i64,
    /// What of it has melted before.
    melts: i64,
    /// How deep the sea is.
    depth: i64,
}

/// A cell that is visited is a lane.
const _: () = assert!(TOGETHER == LANES);
