//! Breaching: depressions drained by cutting through what dams them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::depressions::{OUTSIDE, number_pits};
use crate::{Directions, Land, Part, d8, lot};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Error, Field, Height, Result};

/// How far breaching may go; [`BreachLimits::default`] sets none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreachLimits {
    /// The deepest cut in metres, 0 or more, or infinite.
    pub depth: f64,
    /// How far from its pit a channel may reach, in metres as the crow flies, 0 or more, or infinite.
    pub length: f64,
}

impl Default for BreachLimits {
    fn default() -> Self {
        Self { depth: f64::INFINITY, length: f64::INFINITY }
    }
}

impl BreachLimits {
    /// Checks them.
    ///
    /// # Errors
    /// When a limit is negative or not a number.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [("depth", self.depth), ("length", self.length)] {
            if value.is_nan() || value < 0.0 {
                let allowed = "0 m or more, or infinite";
                return Err(Error::value(format!("breaching's limit of {name}"), format!("{value} m"), allowed));
            }
        }
        Ok(())
    }
}

/// Breached ground, and what was done to it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Breached {
    /// The ground with its channels, of the land's size; nowhere higher than it was.
    pub ground: Field<Height>,
    /// Ground removed, in units of height × cells.
    pub removed: i64,
    /// How many pits were given a way out, by a channel of their own or another's.
    pub breached: usize,
    /// How many pits the limits left without a way, for [`fill_depressions`](crate::fill::fill_depressions).
    pub kept: usize,
}

/// Ground with a channel cut from every pit, where the limits allow, to lower ground or out of the land.
///
/// Least-cost breaching (Lindsay & Dhun 2015, doi:10.1080/13658816.2014.975715; Lindsay 2016, doi:10.1002/hyp.10648):
/// of all ways from the pit, the one for which the least ground is removed; of equals the shorter one, then the first
/// by a hash of its cells. A channel is cut to the pit's own height and not below, flat: it never rises, and nothing is
/// removed that need not be. The lowest pit comes first, of equals the first by hash, so each one can lead into the
/// channels of those below it. Without limits no depression is left; with them, what is left is to be filled.
///
/// No cell is cut deeper than the limit in all, since a later channel is cut no deeper than an earlier one. A pit of
/// several cells may be left from each of them, and length is measured from the one where the channel starts; there the
/// channel found may, under a limit of length, not be the least of all. The land is one that [`Land::check`] accepts.
///
/// # Errors
/// When a limit is negative or not a number.
pub fn breach_depressions(land: &Land<'_>, limits: &BreachLimits) -> Result<Breached> {
    limits.check()?;
    let reach = limits.length / land.grid.cell;
    let mut search = Search { depth: (limits.depth * UNITS).floor(), reach: square(reach), ..Search::of(land) };
    let pits = search.pits(&d8::route_d8(land));
    let (mut removed, mut kept) = (0, 0);
    for pit in &pits {
        let height = land.ground[*pit as usize];
        match search.way_out(*pit, height) {
            Some(end) => removed += search.cut(end, height),
            None => kept += 1,
        }
    }
    Ok(Breached { ground: search.ground, removed, breached: pits.len() - kept, kept })
}

/// What a hollow may have cut: see [`breach_hollows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    /// The deepest cut, in units.
    pub depth: i32,
    /// What may still be removed, in units of height × cells.
    pub volume: i64,
}

/// Ground with a channel cut from each pit that its hollow's allowance reaches for: as [`breach_depressions`] cuts, but no cell to under
/// its `floors`. `hollows` numbers the hollows from 1 on and says 0 elsewhere; what a channel removes its hollow has less to spend.
pub(super) fn breach_hollows(
    land: &Land<'_>,
    directions: &Directions,
    hollows: &Field<u32>,
    allowances: &mut [Allowance],
    floors: &Field<Height>,
) -> Field<Height> {
    let floor = |k: usize| floors[k];
    let mut search = Search { floors: Some(&floor), ..Search::of(land) };
    for pit in search.pits(directions) {
        let height = land.ground[pit as usize];
        let number = hollows[pit as usize] as usize;
        let Some(allowance) = number.checked_sub(1).and_then(|hollow| allowances.get_mut(hollow)) else { continue };
        (search.depth, search.volume) = (f64::from(allowance.depth), allowance.volume);
        if let Some(end) = search.way_out(pit, height) {
            allowance.volume -= search.cut(end, height);
        }
    }
    search.ground
}

/// The square of a reach in cells: a whole number of them is within a limit of so many, whatever its division rounds.
pub fn square(reach: f64) -> f64 {
    reach * reach * (1.0 + 1e-12)
}

/// A search from one pit at a time; its scratch serves all.
pub struct Search<'a> {
    land: &'a Land<'a>,
    parts: Field<Part>,
    /// The ground with the channels that are cut by now.
    pub ground: Field<Height>,
    /// Deepest cut in units.
    pub depth: f64,
    /// Square of the farthest reach in cells.
    pub reach: f64,
    /// The most that may be removed, in units of height × cells.
    volume: i64,
    /// Heights under which no cell is cut.
    pub floors: Option<&'a dyn Fn(usize) -> Height>,
    /// For each cell its place in `reached`, if it is that of this cell; what earlier searches left means nothing.
    places: Vec<u32>,
    /// The cells reached from this pit.
    reached: Vec<Reached>,
    /// By cost, length and lot of a cell, its place.
    queue: BinaryHeap<Reverse<(i64, u32, u32, u32)>>,
}

/// A cell that was reached.
#[derive(Clone, Copy)]
struct Reached {
    cell: u32,
    /// Place of the cell before it; [`OUTSIDE`] for the pit's own cells.
    from: u32,
    /// The pit's cell from which the way starts.
    start: u32,
    /// Ground to be removed on the way here.
    cost: i64,
    /// Of that way, in parts of [`WHOLE_LENGTHS`].
    length: u32,
}

/// Length of a straight and of a diagonal step in whole numbers; their ratio is √2 to 0.005 %.
const WHOLE_LENGTHS: [u32; 2] = [70, 99];

impl<'a> Search<'a> {
    /// Without limits.
    pub fn of(land: &'a Land<'a>) -> Self {
        Self {
            land,
            parts: land.parts(),
            ground: land.ground.clone(),
            depth: f64::INFINITY,
            reach: f64::INFINITY,
            volume: i64::MAX,
            floors: None,
            places: vec![OUTSIDE; land.ground.len()],
            reached: Vec::new(),
            queue: BinaryHeap::new(),
        }
    }

    /// The land's pits in the order in which they are drained: the lowest first, of equals the first by hash.
    fn pits(&mut self, directions: &Directions) -> Vec<u32> {
        let mut pits = number_pits(self.land, directions, &mut self.places);
        let height = |k: u32| self.land.ground[k as usize];
        pits.sort_by_cached_key(|k| (height(*k), lot(self.land.grid, *k as usize), *k));
        pits
    }

    /// Place of the last cell of the cheapest way from a pit of the given height to where water runs on, if the limits
    /// leave one.
    pub fn way_out(&mut self, pit: u32, height: Height) -> Option<u32> {
        self.reached.clear();
        self.queue.clear();
        self.visit(pit, pit, OUTSIDE, (0, 0));
        if self.ground[pit as usize] < height {
            return Some(0); // an earlier channel runs through it
        }
        let cols = self.land.grid.cols();
        let mut place = 0;
        while let Some(here) = self.reached.get(place).copied() {
            let k = here.cell as usize;
            for (_, Cell { row: r, col: c }) in self.land.around(k / cols, k % cols) {
                let n = (r * cols + c) as u32;
                if self.ground[(r, c)] == height && self.place(n).is_none() && self.parts[(r, c)] != Part::Void {
                    self.visit(n, n, OUTSIDE, (0, 0));
                }
            }
            place += 1;
        }
        while let Some(Reverse((cost, length, _, place))) = self.queue.pop() {
            let here = self.reached[place as usize];
            if (here.cost, here.length) != (cost, length) {
                continue; // a shorter way was found since
            }
            if self.runs_on(here.cell as usize, height) {
                return Some(place);
            }
            self.step(here, place, height);
        }
        None
    }

    /// Whether water at this height runs on from a cell: out of the land, or to lower ground.
    fn runs_on(&self, k: usize, height: Height) -> bool {
        let cols = self.land.grid.cols();
        let lower = |Cell { row: r, col: c }: Cell| self.ground[(r, c)] < height && self.parts[(r, c)] != Part::Void;
        matches!(self.parts[k], Part::Rim | Part::Sink)
            || self.land.around(k / cols, k % cols).any(|(_, cell)| lower(cell))
    }

    /// Reaches the neighbours of a cell.
    fn step(&mut self, here: Reached, place: u32, height: Height) {
        let cols = self.land.grid.cols();
        let k = here.cell as usize;
        let start = here.start as usize;
        for (d, Cell { row: r, col: c }) in self.land.around(k / cols, k % cols) {
            let cut = (i64::from(self.ground[(r, c)].0) - i64::from(height.0)).max(0);
            let (di, dj) = (r.abs_diff(start / cols) as f64, c.abs_diff(start % cols) as f64);
            let (cost, near) = (here.cost + cut, di * di + dj * dj <= self.reach);
            let allowed = cut as f64 <= self.depth && cost <= self.volume && near;
            let spared = cut > 0 && self.floors.is_some_and(|floor| floor(r * cols + c) > height);
            if self.parts[(r, c)] != Part::Void && allowed && !spared {
                let way = (cost, here.length.saturating_add(WHOLE_LENGTHS[usize::from(d.is_diagonal())]));
                self.visit((r * cols + c) as u32, here.start, place, way);
            }
        }
    }

    /// The place of a cell that this search has reached.
    fn place(&self, cell: u32) -> Option<u32> {
        let place = self.places[cell as usize];
        self.reached.get(place as usize).is_some_and(|reached| reached.cell == cell).then_some(place)
    }

    /// Notes a way to a cell if it is the first or better than the one known.
    fn visit(&mut self, cell: u32, start: u32, from: u32, (cost, length): (i64, u32)) {
        let place = match self.place(cell) {
            Some(place) => {
                let known = &self.reached[place as usize];
                if (known.cost, known.length) <= (cost, length) {
                    return;
                }
                place
            }
            None => {
                let place = self.reached.len() as u32;
                self.places[cell as usize] = place;
                self.reached.push(Reached { cell, from, start, cost, length });
                place
            }
        };
        self.reached[place as usize] = Reached { cell, from, start, cost, length };
        let lot = (lot(self.land.grid, cell as usize) >> 32) as u32;
        self.queue.push(Reverse((cost, length, lot, place)));
    }

    /// Cuts the way that ends at a place down to `height`; returns what was removed.
    pub fn cut(&mut self, end: u32, height: Height) -> i64 {
        let mut removed = 0;
        let mut place = end;
        while let Some(here) = self.reached.get(place as usize) {
            let ground = &mut self.ground[here.cell as usize];
            if *ground > height {
                removed += i64::from(ground.0) - i64::from(height.0);
                *ground = height;
            }
            place = here.from;
        }
        removed
    }
}
