//! Checks a written river network using only the contents of its files.

use std::collections::{BTreeMap, HashMap};

use crate::line_cells::visit_line_cells;
use crate::network::{ReachEnd, RiverReach};
use crate::tree::neighbour_cells;
use thalweg_core::terrain::Lake;
use thalweg_core::{Cell, Field};

/// The contents of all files. Fields have the grid's size.
#[derive(Debug, Clone, PartialEq)]
pub struct RiverFiles {
    /// Side of a cell in metres.
    pub cell: f64,
    /// Sea level in metres; `None` without a sea.
    pub sea: Option<f64>,
    /// The cells (row, column) that were given as mouths.
    pub mouths: Vec<Cell>,
    /// The corrected elevation in metres.
    pub ground: Field<f64>,
    /// True where there is data.
    pub known: Field<bool>,
    /// Water of runs: one more than the run's index; 0 elsewhere.
    pub river: Field<u32>,
    /// Paths of runs: one more than the run's index; 0 elsewhere.
    pub path: Field<u32>,
    /// Numbers of lakes; 0 elsewhere.
    pub lake: Field<u32>,
    /// Level of the water in metres; meaningless where there is no water.
    pub surface: Field<f64>,
    /// The reaches.
    pub reaches: Vec<RiverReach>,
    /// The lakes.
    pub lakes: Vec<Lake>,
}

/// One check and its result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Check {
    /// The property that was checked.
    pub name: &'static str,
    /// The number of items that were checked.
    pub count: usize,
    /// The number of items that passed.
    pub good: usize,
    /// A description of the first item that failed; `None` if all passed.
    pub first: Option<String>,
    /// The least percentage of items that must pass, 0 to 100. For example, with 99 a check of 200 items passes if at
    /// most 2 of them fail.
    pub least: f64,
}

impl Check {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, count: 0, good: 0, first: None, least: 100.0 }
    }

    /// Counts one item; `what` describes it if it is the first that fails.
    pub(super) fn record_item(&mut self, holds: bool, what: impl FnOnce() -> String) {
        self.count += 1;
        self.good += usize::from(holds);
        if !holds && self.first.is_none() {
            self.first = Some(what());
        }
    }

    /// Returns true if the required share of items passed.
    pub fn has_passed(&self) -> bool {
        // A required share of 100 % is compared by count, because the percentage is rounded.
        self.good == self.count || (self.least < 100.0 && self.passed_percent() >= self.least)
    }

    /// Returns the percentage of items that passed; 100 if there was nothing to check.
    pub fn passed_percent(&self) -> f64 {
        if self.count == 0 { 100.0 } else { 100.0 * self.good as f64 / self.count as f64 }
    }
}

/// Runs every check and returns one result for each.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_rivers::check::{Check, RiverFiles, check_river_files};
///
/// // A slope to the east without rivers and lakes.
/// let size = [8, 8];
/// let mut files = RiverFiles {
///     cell: 10.0,
///     sea: None,
///     mouths: Vec::new(),
///     ground: Field::from_fn(size, |_, j| 8.0 - j as f64),
///     known: Field::new(size, true),
///     river: Field::new(size, 0),
///     path: Field::new(size, 0),
///     lake: Field::new(size, 0),
///     surface: Field::new(size, 0.0),
///     reaches: Vec::new(),
///     lakes: Vec::new(),
/// };
/// assert!(check_river_files(&files).iter().all(Check::has_passed));
/// // Water in a pit does not drain.
/// files.ground[(4, 4)] = -1.0;
/// let failed: Vec<_> = check_river_files(&files).into_iter().filter(|check| !check.has_passed()).collect();
/// assert_eq!(failed.iter().map(|check| check.name).collect::<Vec<_>>(), ["the land drains"]);
/// ```
pub fn check_river_files(files: &RiverFiles) -> Vec<Check> {
    let [rivers, land] = files.check_drainage();
    vec![
        files.check_outlets(),
        files.check_falls(),
        files.check_ground_descent(),
        files.check_single_surface(),
        files.check_visibility(),
        rivers,
        land,
        files.check_crossings(),
        files.check_discharge_sums(),
        files.lakes_level(),
        files.check_banks(),
        files.check_widths(),
    ]
}

/// Tolerance of levels that differ only by rounding in the last digit, in metres.
const LEVEL_TOLERANCE_M: f64 = 1e-9;

/// Tolerance of the distance between two points, in cells: coordinates are rounded to 1e-7 of a cell along either
/// axis.
const POINT_TOLERANCE_CELLS: f64 = 3e-7;

impl RiverFiles {
    fn index_reaches(&self) -> HashMap<u32, usize> {
        self.reaches.iter().enumerate().map(|(k, reach)| (reach.id, k)).collect()
    }

    pub(super) fn cell(&self, place: Cell<f64>) -> Cell {
        Cell::from_axes(|k| (place[k].max(0.0) as usize).min(self.ground.size()[k] - 1))
    }

    pub(super) fn is_sea(&self, at: (usize, usize)) -> bool {
        self.sea.is_some_and(|sea| self.ground[at] <= sea)
    }

    /// Checks that each reach leads, through downstream reaches and lakes, to an end that is where its type says.
    fn check_outlets(&self) -> Check {
        let mut check = Check::new("reaches an outlet");
        let by_id = self.index_reaches();
        let lowest = self.find_sink_elevation();
        let mut from: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (k, reach) in self.reaches.iter().enumerate() {
            reach.lake_from.into_iter().for_each(|lake| from.entry(lake).or_default().push(k));
        }
        // All reaches along a path have the same result, so each reach is visited once.
        let mut arrives: Vec<Option<bool>> = vec![None; self.reaches.len()];
        for first in 0..self.reaches.len() {
            let (mut k, mut path) = (first, Vec::new());
            let answer = loop {
                if let Some(known) = arrives[k] {
                    break known;
                }
                arrives[k] = Some(false); // a cycle never arrives
                path.push(k);
                let at = &self.reaches[k];
                let Some(Cell { row: i, col: j }) = at.places.last().map(|place| self.cell(*place)) else {
                    break false;
                };
                let next = match at.end {
                    ReachEnd::River => at.downstream.and_then(|id| by_id.get(&id).copied()),
                    ReachEnd::Lake if Some(self.lake[(i, j)]) == at.lake_to => {
                        at.lake_to.and_then(|lake| from.get(&lake)).map(|out| out[0])
                    }
                    ReachEnd::Sea => break self.is_sea((i, j)),
                    ReachEnd::Edge => break self.is_at_edge([i, j]),
                    ReachEnd::Outlet => break self.is_at_outlet([i, j], lowest),
                    ReachEnd::Lake => None,
                };
                match next {
                    Some(next) => k = next,
                    None => break false,
                }
            };
            path.into_iter().for_each(|k| arrives[k] = Some(answer));
            check.record_item(answer, || format!("reach {}", self.reaches[first].id));
        }
        check
    }

    fn is_at_edge(&self, [i, j]: [usize; 2]) -> bool {
        let [rows, cols] = self.ground.size();
        let void = neighbour_cells([rows, cols], i * cols + j).any(|n| !self.known[n]);
        i == 0 || j == 0 || i + 1 == rows || j + 1 == cols || void
    }

    /// Returns true if a cell is at a given mouth or, where there are no mouths and no sea, at the lowest ground.
    fn is_at_outlet(&self, [i, j]: [usize; 2], lowest: Option<f64>) -> bool {
        let [rows, cols] = self.ground.size();
        if !self.mouths.is_empty() {
            return self.mouths.iter().any(|mouth| mouth[0].abs_diff(i) <= 1 && mouth[1].abs_diff(j) <= 1);
        }
        let here = std::iter::once(i * cols + j).chain(neighbour_cells([rows, cols], i * cols + j));
        let low = |k: usize| self.known[k] && lowest.is_some_and(|low| self.ground[k] <= low);
        here.into_iter().any(low)
    }

    /// Returns the elevation of the lowest ground, where water collects if it has no outlet; `None` if there are
    /// mouths or a sea.
    pub(super) fn find_sink_elevation(&self) -> Option<f64> {
        let cells = self.ground.as_slice().iter().zip(self.known.as_slice()).filter(|(_, known)| **known);
        let lowest = cells.map(|(ground, _)| *ground).fold(f64::INFINITY, f64::min);
        (self.mouths.is_empty() && self.sea.is_none_or(|sea| lowest > sea)).then_some(lowest)
    }

    /// Checks that levels of water and bed never rise along reaches and into the next, and that the bed is below the
    /// water.
    fn check_falls(&self) -> Check {
        let mut check = Check::new("water and bed never rise");
        let by_id = self.index_reaches();
        for reach in &self.reaches {
            let falls = |levels: &[f64]| levels.windows(2).all(|pair| pair[1] <= pair[0]);
            let on = reach.downstream.and_then(|id| by_id.get(&id)).is_none_or(|below| {
                let below = &self.reaches[*below];
                below.surface.first() <= reach.surface.last() && below.bed.first() <= reach.bed.last()
            });
            let under = reach.surface.iter().zip(&reach.bed).all(|(surface, bed)| bed <= surface);
            let from = reach.parts_from.and_then(|id| by_id.get(&id)).is_none_or(|from| {
                let from = &self.reaches[*from];
                reach.surface.first() <= from.surface.last() && reach.bed.first() <= from.bed.last()
            });
            check.record_item(falls(&reach.surface) && falls(&reach.bed) && on && from && under, || {
                format!("reach {}", reach.id)
            });
        }
        check
    }

    /// Checks that no two segments of lines cross. Only segments that share a cell are compared.
    fn check_crossings(&self) -> Check {
        let mut check = Check::new("crosses no river");
        // Segments by the cells that they pass.
        let mut passed: HashMap<Cell<i64>, Vec<(usize, usize)>> = HashMap::new();
        for (k, reach) in self.reaches.iter().enumerate() {
            for (at, pair) in reach.places.windows(2).enumerate() {
                passed.entry(pair[0].map(|x| x.floor() as i64)).or_default().push((k, at));
                visit_line_cells(pair[0], pair[1], |cell| passed.entry(cell).or_default().push((k, at)));
            }
        }
        let mut crossed: Vec<Option<usize>> = vec![None; self.reaches.len()];
        for stretches in passed.values() {
            for (n, (a, s)) in stretches.iter().enumerate() {
                for (b, t) in &stretches[n + 1..] {
                    let [p, q] = [self.reaches[*a].places[*s], self.reaches[*a].places[*s + 1]];
                    let [u, v] = [self.reaches[*b].places[*t], self.reaches[*b].places[*t + 1]];
                    // Reaches that meet share an end point exactly, which is no crossing.
                    let meet = p == u || p == v || q == u || q == v;
                    if (a, s) != (b, t) && !meet && is_crossing([p, q], [u, v]) {
                        (crossed[*a], crossed[*b]) = (Some(*b), Some(*a));
                    }
                }
            }
        }
        for (reach, other) in self.reaches.iter().zip(crossed) {
            check.record_item(other.is_none(), || {
                let other = other.map_or(0, |other| self.reaches[other].id);
                format!("reach {} and reach {other}", reach.id)
            });
        }
        check
    }

    /// Checks that discharge never decreases along a reach, and is conserved at confluences, at distributaries and in
    /// lakes.
    fn check_discharge_sums(&self) -> Check {
        let mut check = Check::new("discharges sum where rivers meet");
        let by_id = self.index_reaches();
        // Sums of floats may differ in the last digits.
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        let mut above: HashMap<u32, f64> = HashMap::new();
        let (mut into, mut out): (HashMap<u32, f64>, HashMap<u32, f64>) = Default::default();
        for reach in &self.reaches {
            reach.downstream.into_iter().for_each(|id| *above.entry(id).or_default() += reach.discharge[1]);
            // The discharge that an arm takes does not continue in the run.
            let parted = reach.parts_from.and_then(|id| by_id.get(&id)).and_then(|k| self.reaches[*k].downstream);
            parted.into_iter().for_each(|id| *above.entry(id).or_default() -= reach.discharge[0]);
            reach.lake_to.into_iter().for_each(|id| *into.entry(id).or_default() += reach.discharge[1]);
            reach.lake_from.into_iter().for_each(|id| *out.entry(id).or_default() += reach.discharge[0]);
        }
        for reach in &self.reaches {
            let grows = reach.discharge[1] >= reach.discharge[0];
            let sums = match (above.get(&reach.id), reach.lake_from) {
                (Some(sum), None) => close(*sum, reach.discharge[0]),
                (Some(sum), Some(_)) => *sum <= reach.discharge[0],
                (None, _) => true,
            };
            check.record_item(grows && sums, || format!("reach {}", reach.id));
        }
        for lake in &self.lakes {
            let came = into.get(&lake.id).copied().unwrap_or(0.0) + lake.runoff.unwrap_or(0.0);
            let outflow = out.get(&lake.id).copied();
            check.record_item(outflow.is_none_or(|outflow| close(outflow, came)), || format!("lake {}", lake.id));
        }
        check
    }

    /// Checks that each lake has one level, and that no dry cell next to it is lower.
    fn lakes_level(&self) -> Check {
        let mut check = Check::new("lakes are level, and no adjacent dry cell is lower");
        let levels: HashMap<u32, f64> = self.lakes.iter().map(|lake| (lake.id, lake.level)).collect();
        let mut bad: BTreeMap<u32, usize> = BTreeMap::new();
        for (k, id) in self.lake.as_slice().iter().enumerate().filter(|(_, id)| **id > 0) {
            let Some(level) = levels.get(id).copied() else {
                bad.entry(*id).or_insert(k);
                continue;
            };
            let level_here = self.surface[k] == level && self.ground[k] < level;
            let holds = neighbour_cells(self.lake.size(), k).all(|n| {
                let water = self.lake[n] == *id || self.river[n] > 0;
                water || !self.known[n] || self.ground[n] >= level
            });
            if !level_here || !holds {
                bad.entry(*id).or_insert(k);
            }
        }
        for lake in &self.lakes {
            let place = bad.get(&lake.id);
            let cols = self.lake.cols();
            check.record_item(place.is_none(), || {
                format!("lake {} at row, column {:?}", lake.id, place.map(|k| [k / cols, k % cols]))
            });
        }
        check
    }

    /// Checks that the dry ground on both sides of each inner vertex is at least as high as the water.
    fn check_banks(&self) -> Check {
        let mut check = Check::new("the water is not above the banks");
        for reach in &self.reaches {
            for at in 1..reach.places.len().saturating_sub(1) {
                let (a, b) = (reach.places[at - 1], reach.places[at + 1]);
                let [y, x] = [b[0] - a[0], b[1] - a[1]];
                let length = (y * y + x * x).sqrt();
                let high = [1.0, -1.0].iter().all(|side| {
                    let bank = self.find_bank_elevation(reach, at, Cell::new(side * x / length, -side * y / length));
                    bank.is_none_or(|ground| ground >= reach.surface[at] - LEVEL_TOLERANCE_M)
                });
                check.record_item(length <= 0.0 || high, || format!("reach {} at vertex {at}", reach.id));
            }
        }
        check
    }

    /// Returns the elevation of the dry ground next to a vertex, searched up to three cells from the water; `None` if
    /// other water or the edge comes first.
    fn find_bank_elevation(&self, reach: &RiverReach, at: usize, Cell { row: y, col: x }: Cell<f64>) -> Option<f64> {
        let half = reach.width[at] / 2.0 / self.cell;
        let [rows, cols] = self.ground.size();
        let mut far = half;
        while far <= half + 3.0 {
            let [i, j] = [reach.places[at][0] + far * y, reach.places[at][1] + far * x];
            if i < 0.0 || j < 0.0 || i >= rows as f64 || j >= cols as f64 {
                return None;
            }
            let at = (i as usize, j as usize);
            if self.river[at] != reach.run {
                let dry = self.river[at] == 0 && self.lake[at] == 0 && self.known[at] && !self.is_sea(at);
                return dry.then_some(self.ground[at]);
            }
            far += 0.5;
        }
        None
    }

    /// Checks that widths change no faster than [`MAX_WIDTH_CHANGE`](super::form::MAX_WIDTH_CHANGE) along a reach and
    /// are equal where two reaches of one run meet.
    fn check_widths(&self) -> Check {
        let mut check = Check::new("width is continuous");
        let by_id = self.index_reaches();
        for reach in &self.reaches {
            let steps = reach.places.windows(2).zip(reach.width.windows(2));
            let steady = steps.clone().all(|(places, widths)| {
                let [dy, dx] = [0, 1].map(|k| places[1][k] - places[0][k]);
                let metres = (dy * dy + dx * dx).sqrt() * self.cell;
                (widths[1] - widths[0]).abs()
                    <= super::channel_geometry::MAX_WIDTH_CHANGE * (metres + POINT_TOLERANCE_CELLS * self.cell) + 1e-6
            });
            let on = reach.downstream.and_then(|id| by_id.get(&id)).map(|k| &self.reaches[*k]);
            let on = on.filter(|below| below.run == reach.run);
            let on = on.is_none_or(|below| below.width.first() == reach.width.last());
            check.record_item(steady && on, || format!("reach {}", reach.id));
        }
        check
    }
}

/// Returns true if two segments cross; merely touching does not count.
pub(super) fn is_crossing([p, q]: [Cell<f64>; 2], [u, v]: [Cell<f64>; 2]) -> bool {
    let side = |a: Cell<f64>, b: Cell<f64>, c: Cell<f64>| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    // Two segments cross if the ends of each are on opposite sides of the other. A product of 0 means that they only
    // touch.
    side(p, q, u) * side(p, q, v) < 0.0 && side(u, v, p) * side(u, v, q) < 0.0
}
