//! Depression breaching: depressions are drained by channels cut through the ground that dams them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::RangeFull;

use crate::depressions::{OUTSIDE, number_pits};
use crate::{CellRole, Directions, Land, d8, tie_break_hash};
use thalweg_core::declare::operation::{Json, OptionKind, OptionType, read_real_number};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Error, Field, Height, Result};

/// Limits of breaching; [`BreachLimits::default`] sets none. For example, limits of 5 m and 100 m cut through the road
/// embankments in a lidar model, and leave deeper basins to be filled.
///
/// # Examples
/// ```
/// use thalweg_flow::breach::BreachLimits;
///
/// // Channels of any length, none deeper than 5 m.
/// let limits = BreachLimits { depth: 5.0, ..BreachLimits::default() };
/// assert!(limits.check().is_ok() && limits.length.is_infinite());
/// assert!(BreachLimits { depth: -1.0, ..limits }.check().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreachLimits {
    /// The greatest depth of a cut in metres, 0 or more, or infinite.
    pub depth: f64,
    /// The greatest straight-line distance of a channel from its pit in metres, 0 or more, or infinite.
    pub length: f64,
}

impl Default for BreachLimits {
    fn default() -> Self {
        Self { depth: f64::INFINITY, length: f64::INFINITY }
    }
}

impl BreachLimits {
    /// Checks the limits.
    ///
    /// # Errors
    /// Returns an error if a limit is negative or NaN.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [("depth", self.depth), ("length", self.length)] {
            if value.is_nan() || value < 0.0 {
                let allowed = "0 m or more, or infinite";
                return Err(Error::invalid_value(format!("breach limit of {name}"), format!("{value} m"), allowed));
            }
        }
        Ok(())
    }
}

/// As an option of an operation: two numbers, an object with the keys `depth` and `length`, or `true` for no limits.
impl OptionType for BreachLimits {
    type Within = RangeFull;
    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Limits(["depth", "length"])
    }
    fn from_json(value: &Json) -> Option<Self> {
        if value == &Json::Bool(true) {
            return Some(Self::default());
        }
        let limit = |index: usize, name: &str| read_real_number(value.get(index).or_else(|| value.get(name))?);
        Some(Self { depth: limit(0, "depth")?, length: limit(1, "length")? })
    }
    fn to_json(&self) -> Json {
        [self.depth, self.length].iter().map(OptionType::to_json).collect()
    }
}

/// Breached ground, with statistics.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Breached {
    /// The ground with its channels; a field of the land's size, nowhere higher than the original.
    pub ground: Field<Height>,
    /// The volume of removed ground, in units of height × cells.
    pub removed: i64,
    /// The number of pits that were drained, by their own channel or another's.
    pub breached: usize,
    /// The number of pits that could not be drained within the limits; use
    /// [`fill_depressions`](crate::fill::fill_depressions) for these.
    pub kept: usize,
}

/// Cuts a channel from every pit to lower ground or out of the land, where the limits permit.
///
/// This is least-cost breaching (Lindsay & Dhun 2015, doi:10.1080/13658816.2014.975715; Lindsay 2016,
/// doi:10.1002/hyp.10648): of all paths from the pit, the one that removes the least ground is taken; ties are broken
/// by length, then by a hash of the cells. A channel is cut to the pit's own height and no lower. It is flat, so it
/// never rises, and no ground is removed unnecessarily. Pits are processed from the lowest up (ties by hash), so that
/// each can lead into the channels of lower ones. Without limits no depression remains; with limits, the remaining
/// ones must be filled.
///
/// No cell is cut deeper than the limit in total, because a later channel is never cut deeper than an earlier one. A
/// pit of several cells may be left from any of them, and length is measured from the cell where the channel starts;
/// in that case the channel found under a length limit may not be the optimal one. The land must be one that
/// [`Land::check`] accepts.
///
/// # Errors
/// Returns an error if a limit is negative or NaN.
///
/// # Examples
/// ```
/// use thalweg_core::{Edge, Grid, Height, Terrain};
/// use thalweg_flow::Land;
/// use thalweg_flow::breach::{BreachLimits, breach_depressions};
///
/// // A pit at 2 m behind a sill of 4 m, in a valley that is open to the east only.
/// let edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
/// let terrain = Terrain::from_metres(Grid { edges, ..Grid::new([1, 5], 10.0)? }, &[5.0, 2.0, 4.0, 3.0, 1.0])?;
/// let land = Land::from_terrain(&terrain);
/// let breached = breach_depressions(&land, &BreachLimits::default())?;
/// assert_eq!(breached.ground.as_slice(), [5.0, 2.0, 2.0, 2.0, 1.0].map(Height::from_metres_clamped));
/// // The channel is 2 m deep at the sill.
/// let shallow = BreachLimits { depth: 1.0, ..BreachLimits::default() };
/// assert_eq!(breach_depressions(&land, &shallow)?.kept, 1);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn breach_depressions(land: &Land<'_>, limits: &BreachLimits) -> Result<Breached> {
    limits.check()?;
    // The depth is rounded down to whole units, so that no cut exceeds the limit. The reach is counted in cells.
    let reach = limits.length / land.grid.cell;
    let mut search = Search { depth: (limits.depth * UNITS).floor(), reach: square_reach(reach), ..Search::new(land) };
    let pits = search.order_pits(&d8::route_d8(land));
    let (mut removed, mut kept) = (0, 0);
    // The lowest pit comes first, so that the channel of a higher pit can end in that of a lower one.
    for pit in &pits {
        let height = land.ground[*pit as usize];
        match search.find_breach_path_end(*pit, height) {
            Some(end) => removed += search.carve_channel(end, height),
            None => kept += 1,
        }
    }
    Ok(Breached { ground: search.ground, removed, breached: pits.len() - kept, kept })
}

/// The limits for draining one depression; see [`breach_hollows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    /// The greatest depth of a cut, in units.
    pub depth: i32,
    /// The volume that may still be removed, in units of height × cells.
    pub volume: i64,
}

/// Cuts a channel from each pit whose depression's allowance suffices, like [`breach_depressions`], but cuts no cell
/// below its value in `floors`. `hollows` numbers the depressions from 1 on and is 0 elsewhere. The volume that a
/// channel removes is deducted from its depression's allowance.
pub(super) fn breach_hollows(
    land: &Land<'_>,
    directions: &Directions,
    hollows: &Field<u32>,
    allowances: &mut [Allowance],
    floors: &Field<Height>,
) -> Field<Height> {
    let floor = |k: usize| floors[k];
    let mut search = Search { floors: Some(&floor), ..Search::new(land) };
    for pit in search.order_pits(directions) {
        let height = land.ground[pit as usize];
        let number = hollows[pit as usize] as usize;
        let Some(allowance) = number.checked_sub(1).and_then(|hollow| allowances.get_mut(hollow)) else { continue };
        // The volume shrinks with every channel, so that all channels of a depression together remove at most its
        // allowance.
        (search.depth, search.volume) = (f64::from(allowance.depth), allowance.volume);
        if let Some(end) = search.find_breach_path_end(pit, height) {
            allowance.volume -= search.carve_channel(end, height);
        }
    }
    search.ground
}

/// Squares a reach in cells, with a tolerance, so that a whole number of cells equal to the limit is within it
/// despite rounding.
pub fn square_reach(reach: f64) -> f64 {
    reach * reach * (1.0 + 1e-12)
}

/// A search for channels, from one pit at a time. Its buffers are reused for all pits.
pub struct Search<'a> {
    land: &'a Land<'a>,
    roles: Field<CellRole>,
    /// The ground with the channels cut so far.
    pub ground: Field<Height>,
    /// The greatest depth of a cut, in units.
    pub depth: f64,
    /// The square of the greatest distance, in cells.
    pub reach: f64,
    /// The greatest volume that may be removed, in units of height × cells.
    volume: i64,
    /// Heights below which cells must not be cut.
    pub floors: Option<&'a dyn Fn(usize) -> Height>,
    /// For each cell its index in `reached`, valid only if that entry belongs to the cell. Entries from earlier
    /// searches are stale.
    places: Vec<u32>,
    /// The cells reached from the current pit.
    reached: Vec<Reached>,
    /// Queue entries: cost, length, the cell's tie-break hash, and its index in `reached`.
    queue: BinaryHeap<Reverse<(i64, u32, u32, u32)>>,
}

/// A cell that the search has reached.
#[derive(Clone, Copy)]
struct Reached {
    cell: u32,
    /// The index in `reached` of the previous cell; [`OUTSIDE`] for the pit's own cells.
    from: u32,
    /// The cell of the pit where the path starts.
    start: u32,
    /// The volume of ground to be removed on the path to this cell.
    cost: i64,
    /// The length of that path, in the units of [`WHOLE_LENGTHS`].
    length: u32,
}

/// Integer lengths of a straight and of a diagonal step; their ratio is √2 to 0.005 %.
// Whole numbers add up exactly, so paths of equal steps have equal lengths in any order of the steps.
const WHOLE_LENGTHS: [u32; 2] = [70, 99];

impl<'a> Search<'a> {
    /// Creates a search without limits.
    pub fn new(land: &'a Land<'a>) -> Self {
        Self {
            land,
            roles: land.cell_roles(),
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

    /// Returns the land's pits in the order in which they are drained: lowest first, ties broken by hash.
    fn order_pits(&mut self, directions: &Directions) -> Vec<u32> {
        let mut pits = number_pits(self.land, directions, &mut self.places);
        let height = |k: u32| self.land.ground[k as usize];
        pits.sort_by_cached_key(|k| (height(*k), tie_break_hash(self.land.grid, *k as usize), *k));
        pits
    }

    /// Finds the cheapest path from a pit of the given height to where water flows on. Returns the index of its last
    /// cell in `reached`; `None` if the limits permit no path.
    pub fn find_breach_path_end(&mut self, pit: u32, height: Height) -> Option<u32> {
        self.reached.clear();
        self.queue.clear();
        self.record_path(pit, pit, OUTSIDE, 0, 0);
        if self.ground[pit as usize] < height {
            return Some(0); // an earlier channel drains the pit
        }
        let cols = self.land.grid.cols();
        // First collect all cells of the pit, which are connected and have its height. A channel may start at each of
        // them.
        let mut place = 0;
        while let Some(here) = self.reached.get(place).copied() {
            let k = here.cell as usize;
            for (_, Cell { row: r, col: c }) in self.land.neighbours(k / cols, k % cols) {
                let n = (r * cols + c) as u32;
                if self.ground[(r, c)] == height
                    && self.find_reached_index(n).is_none()
                    && self.roles[(r, c)] != CellRole::Void
                {
                    self.record_path(n, n, OUTSIDE, 0, 0);
                }
            }
            place += 1;
        }
        // Dijkstra's search from all cells of the pit at once. It ends at the first cell from which water flows on.
        while let Some(Reverse((cost, length, _, place))) = self.queue.pop() {
            let here = self.reached[place as usize];
            if (here.cost, here.length) != (cost, length) {
                continue; // outdated: a cheaper path was found since
            }
            if self.can_flow_on(here.cell as usize, height) {
                return Some(place);
            }
            self.extend_to_neighbours(here, place, height);
        }
        None
    }

    /// Returns true if water at this height flows on from a cell: out of the land, or to lower ground.
    fn can_flow_on(&self, k: usize, height: Height) -> bool {
        let cols = self.land.grid.cols();
        let lower =
            |Cell { row: r, col: c }: Cell| self.ground[(r, c)] < height && self.roles[(r, c)] != CellRole::Void;
        matches!(self.roles[k], CellRole::Rim | CellRole::Sink)
            || self.land.neighbours(k / cols, k % cols).any(|(_, cell)| lower(cell))
    }

    /// Extends the search to the neighbours of a cell.
    fn extend_to_neighbours(&mut self, here: Reached, place: u32, height: Height) {
        let cols = self.land.grid.cols();
        let k = here.cell as usize;
        let start = here.start as usize;
        for (d, Cell { row: r, col: c }) in self.land.neighbours(k / cols, k % cols) {
            // Crossing a cell that an earlier channel has already cut to this height costs nothing.
            let cut = (i64::from(self.ground[(r, c)].0) - i64::from(height.0)).max(0);
            let (di, dj) = (r.abs_diff(start / cols) as f64, c.abs_diff(start % cols) as f64);
            let (cost, near) = (here.cost + cut, di * di + dj * dj <= self.reach);
            let allowed = cut as f64 <= self.depth && cost <= self.volume && near;
            // A cell whose floor is above the pit must not be cut, for example because a lake next to it would drain.
            let spared = cut > 0 && self.floors.is_some_and(|floor| floor(r * cols + c) > height);
            if self.roles[(r, c)] != CellRole::Void && allowed && !spared {
                let length = here.length.saturating_add(WHOLE_LENGTHS[usize::from(d.is_diagonal())]);
                self.record_path((r * cols + c) as u32, here.start, place, cost, length);
            }
        }
    }

    /// Returns the index in `reached` of a cell; `None` if this search has not reached it.
    fn find_reached_index(&self, cell: u32) -> Option<u32> {
        let place = self.places[cell as usize];
        // A stale entry points to the record of another cell or beyond the list, so it does not have to be cleared
        // before each search.
        self.reached.get(place as usize).is_some_and(|reached| reached.cell == cell).then_some(place)
    }

    /// Records a path to a cell if it is the first one or better than the known one.
    fn record_path(&mut self, cell: u32, start: u32, from: u32, cost: i64, length: u32) {
        let place = match self.find_reached_index(cell) {
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
        // Half of the hash decides between paths of equal cost and length. It keeps the entries of the queue small.
        let lot = (tie_break_hash(self.land.grid, cell as usize) >> 32) as u32;
        self.queue.push(Reverse((cost, length, lot, place)));
    }

    /// Cuts the path that ends at index `end` of `reached` down to `height`. Returns the removed volume.
    pub fn carve_channel(&mut self, end: u32, height: Height) -> i64 {
        let mut removed = 0;
        let mut place = end;
        while let Some(here) = self.reached.get(place as usize) {
            let ground = &mut self.ground[here.cell as usize];
            // Cells that are already low enough, for example in an earlier channel, stay as they are.
            if *ground > height {
                removed += i64::from(ground.0) - i64::from(height.0);
                *ground = height;
            }
            place = here.from;
        }
        removed
    }
}
