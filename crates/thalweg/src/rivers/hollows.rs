//! Hollows that carving leaves, on the rivers' banks and on the land: let go by channels, or else lakes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::field::Field;
use crate::flow::{Land, Part, fill, lot};
use crate::height::{Height, UNITS};
use crate::rivers::network::{Lake, Mouth, Network};
use crate::rivers::tree::{NONE, around};
use crate::rivers::{Design, Site};

/// Cells that hold water and how high, in rising order of cells.
pub(super) type Rims = [(u32, Height)];

/// The cells that channels cut, and how low, so that the land's hollows run out: to lower ground, to rivers, lakes, the sea or the edge.
///
/// A hollow as deep as a lake is let go within the design's limits of breaching, and else left; a shallower one at any length. Of all
/// ways that one is taken for which the least ground is removed (as in `flow::breach`), but none through what holds a lake or a river's
/// water back, and none through protected ground. A channel is flat, as low as what it drains.
pub(super) fn drain(
    site: &Site<'_>,
    design: &Design,
    network: &Network,
    rims: &Rims,
    ground: &Field<Height>,
) -> Vec<(u32, Height)> {
    let outlets = outlets(site, network);
    let land = Land { ground, outlets: &outlets, ..site.land };
    let parts = land.parts();
    let pits = pits(&land, &parts);
    if pits.is_empty() {
        return Vec::new();
    }
    let filled = fill::fill(&land);
    let holds = |k: usize| {
        let rim = rims.binary_search_by_key(&(k as u32), |(cell, _)| *cell).map_or(Height::MIN, |at| rims[at].1);
        if network.lake.as_slice()[k] > 0 || site.is_barred(k) { Height(i32::MAX) } else { rim }
    };
    let mut search = Search {
        land,
        parts,
        holds: &holds,
        ground: ground.clone(),
        places: vec![NONE; ground.len()],
        reached: Vec::new(),
        queue: BinaryHeap::new(),
    };
    let reach = design.breach.length / site.land.grid.cell;
    let reach = reach * reach * (1.0 + 1e-12);
    for pit in pits {
        let height = ground.as_slice()[pit as usize];
        let hollow = f64::from(filled.as_slice()[pit as usize].0) - f64::from(height.0);
        let (most, reach) = match hollow >= depth(design) {
            true => (design.breach.depth * UNITS, reach),
            false => ((design.breach.depth * UNITS).max(depth(design)), f64::INFINITY),
        };
        if let Some(end) = search.way_out(pit, height, most, reach) {
            search.cut(end, height);
        }
    }
    let pairs = search.ground.as_slice().iter().zip(ground.as_slice()).enumerate();
    pairs.filter(|(_, (cut, ground))| cut < ground).map(|(k, (cut, _))| (k as u32, *cut)).collect()
}

/// Depth from which on a hollow is a lake, in units.
fn depth(design: &Design) -> f64 {
    (design.lake * UNITS).max(1.0)
}

/// Makes lakes of the hollows that are left off the rivers: deep ones, and shallow ones that can only be let go through what holds other
/// water back. Shallow ones in protected ground stay as they are.
pub(super) fn ponds(
    site: &Site<'_>,
    design: &Design,
    network: &mut Network,
    river: &Field<u32>,
    ground: &Field<Height>,
) {
    let outlets = outlets(site, network);
    let filled = fill::fill(&Land { ground, outlets: &outlets, ..site.land });
    let (filled, ground) = (filled.as_slice(), ground.as_slice());
    let mut seen = vec![false; ground.len()];
    for k in 0..ground.len() {
        let wet = |k: usize| filled[k] > ground[k] && !site.is_void(k);
        if seen[k] || !wet(k) {
            continue;
        }
        let mut cells = vec![k];
        seen[k] = true;
        let mut next = 0;
        while let Some(at) = cells.get(next).copied() {
            next += 1;
            for n in around(network.size, at) {
                if !seen[n] && wet(n) && filled[n] == filled[k] {
                    seen[n] = true;
                    cells.push(n);
                }
            }
        }
        let seed = cells.iter().copied().min_by_key(|k| (ground[*k], lot(site.land.grid, *k), *k)).unwrap_or(k);
        let deep = f64::from(filled[seed].0) - f64::from(ground[seed].0) >= depth(design);
        if (deep || !site.is_barred(seed))
            && cells.iter().all(|k| river.as_slice()[*k] == 0 && network.lake.as_slice()[*k] == 0)
        {
            network.lakes.push(Lake { level: filled[seed], seed: seed as u32 });
            let number = network.lakes.len() as u32;
            cells.into_iter().for_each(|k| network.lake.as_mut_slice()[k] = number);
        }
    }
}

/// Where water is gone: lakes, the land's own outlets, and where rivers end at one.
fn outlets(site: &Site<'_>, network: &Network) -> Vec<[usize; 2]> {
    let cols = network.size[1];
    let lakes = network.lake.as_slice().iter().enumerate().filter(|(_, lake)| **lake > 0).map(|(k, _)| k);
    let ends = network.runs.iter().filter(|run| run.mouth == Mouth::Outlet);
    let ends = ends.filter_map(|run| run.path.last()).map(|(k, _)| *k as usize);
    let cells = lakes.chain(ends).map(|k| [k / cols, k % cols]);
    site.land.outlets.iter().copied().chain(cells).collect()
}

/// One cell of each place that water does not leave, the lowest first.
fn pits(land: &Land<'_>, parts: &Field<Part>) -> Vec<u32> {
    let (heights, parts) = (land.ground.as_slice(), parts.as_slice());
    let size = land.grid.size;
    let lower = |k: usize| around(size, k).any(|n| heights[n] < heights[k] && parts[n] != Part::Void);
    let mut seen = vec![false; heights.len()];
    let mut flat = Vec::new();
    let mut pits = Vec::new();
    for k in 0..heights.len() {
        if seen[k] || parts[k] != Part::Inside || lower(k) {
            continue;
        }
        flat.clear();
        flat.push(k);
        seen[k] = true;
        let (mut next, mut leaves) = (0, false);
        while let Some(at) = flat.get(next).copied() {
            next += 1;
            leaves = leaves || parts[at] != Part::Inside || lower(at);
            for n in around(size, at) {
                if !seen[n] && heights[n] == heights[k] && parts[n] != Part::Void {
                    seen[n] = true;
                    flat.push(n);
                }
            }
        }
        if !leaves {
            pits.push(k as u32);
        }
    }
    pits.sort_by_cached_key(|k| (heights[*k as usize], lot(land.grid, *k as usize), *k));
    pits
}

/// A search from one pit at a time; its scratch serves all.
struct Search<'a> {
    land: Land<'a>,
    parts: Field<Part>,
    /// The height under which a cell is not to be cut.
    holds: &'a dyn Fn(usize) -> Height,
    ground: Field<Height>,
    /// For each cell its place in `reached`, if it is that of this cell.
    places: Vec<u32>,
    reached: Vec<Reached>,
    /// By cost, length and lot of a cell, its place.
    queue: BinaryHeap<Reverse<(i64, u32, u32, u32)>>,
}

/// A cell that was reached.
#[derive(Clone, Copy)]
struct Reached {
    cell: u32,
    /// Place of the cell before it; [`NONE`] for the pit's own.
    from: u32,
    /// The pit's cell from which the way starts.
    start: u32,
    /// Ground to be removed on the way here.
    cost: i64,
    /// Of that way, in parts of [`LENGTHS`].
    length: u32,
}

/// Length of a straight and of a diagonal step.
const LENGTHS: [u32; 2] = [70, 99];

impl Search<'_> {
    /// Place of the last cell of the cheapest way from a pit to where water of its height runs on: no cell cut by more than `most`
    /// units, none farther than the root of `reach` cells.
    fn way_out(&mut self, pit: u32, height: Height, most: f64, reach: f64) -> Option<u32> {
        self.reached.clear();
        self.queue.clear();
        if self.ground.as_slice()[pit as usize] < height {
            return None; // a channel runs through it by now
        }
        self.visit(Reached { cell: pit, from: NONE, start: pit, cost: 0, length: 0 });
        let size = self.land.grid.size;
        let mut place = 0;
        while let Some(here) = self.reached.get(place).copied() {
            for n in around(size, here.cell as usize) {
                let flat = self.ground.as_slice()[n] == height && self.parts.as_slice()[n] != Part::Void;
                if flat && self.place(n as u32).is_none() {
                    self.visit(Reached { cell: n as u32, from: NONE, start: n as u32, cost: 0, length: 0 });
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
            self.step(here, place, height, most, reach);
        }
        None
    }

    /// Whether water at this height runs on from a cell: out of the land, or to lower ground.
    fn runs_on(&self, k: usize, height: Height) -> bool {
        let lower = |n: usize| self.ground.as_slice()[n] < height && self.parts.as_slice()[n] != Part::Void;
        matches!(self.parts.as_slice()[k], Part::Rim | Part::Sink) || around(self.land.grid.size, k).any(lower)
    }

    /// Reaches the neighbours of a cell.
    fn step(&mut self, here: Reached, place: u32, height: Height, most: f64, reach: f64) {
        let cols = self.land.grid.cols();
        let (k, start) = (here.cell as usize, here.start as usize);
        for (d, [r, c]) in self.land.around(k / cols, k % cols) {
            let n = r * cols + c;
            let cut = (i64::from(self.ground.as_slice()[n].0) - i64::from(height.0)).max(0);
            let (di, dj) = (r.abs_diff(start / cols) as f64, c.abs_diff(start % cols) as f64);
            let near = di * di + dj * dj <= reach;
            let may = cut == 0 || (cut as f64 <= most && (self.holds)(n) <= height);
            if near && may && self.parts.as_slice()[n] != Part::Void {
                self.visit(Reached {
                    cell: n as u32,
                    from: place,
                    start: here.start,
                    cost: here.cost + cut,
                    length: here.length.saturating_add(LENGTHS[d % 2]),
                });
            }
        }
    }

    /// The place of a cell that this search has reached.
    fn place(&self, cell: u32) -> Option<u32> {
        let place = self.places[cell as usize];
        self.reached.get(place as usize).is_some_and(|reached| reached.cell == cell).then_some(place)
    }

    /// Notes a way to a cell if it is the first or better than the one known.
    fn visit(&mut self, way: Reached) {
        let place = match self.place(way.cell) {
            Some(place) => {
                let known = self.reached[place as usize];
                if (known.cost, known.length) <= (way.cost, way.length) {
                    return;
                }
                self.reached[place as usize] = way;
                place
            }
            None => {
                let place = self.reached.len() as u32;
                self.places[way.cell as usize] = place;
                self.reached.push(way);
                place
            }
        };
        let lot = (lot(self.land.grid, way.cell as usize) >> 32) as u32;
        self.queue.push(Reverse((way.cost, way.length, lot, place)));
    }

    /// Cuts the way that ends at a place down to `height`.
    fn cut(&mut self, end: u32, height: Height) {
        let mut place = end;
        while let Some(here) = self.reached.get(place as usize) {
            let ground = &mut self.ground.as_mut_slice()[here.cell as usize];
            *ground = height.min(*ground);
            place = here.from;
        }
    }
}
