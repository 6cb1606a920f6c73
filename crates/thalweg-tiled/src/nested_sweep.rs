//! Combines the depressions of all tiles: the events of a lake's parts are processed in one order, and results are
//! reported one after another.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use crate::Summaries;
use crate::codec::{Reader, Writer, damaged};
use crate::nested_parts::{Event, Order, read_chunk};
use crate::part::Map;
use crate::records::{READER, Records};
use thalweg_core::terrain::{Rim, TileGrid};
use thalweg_core::{Cell, Error, Result};
use thalweg_flow::D8;
use thalweg_render::products::nested::{Meeting, NestedDepression, Rising, meet, top};

pub(super) const SUMMARY: &str = "summary of depressions";

/// A flow path from a cell, as a number: `2 × lake` if it ends in a lake, 0 if the water leaves the land; odd if it
/// leads into another tile (see [`onward`]).
pub(super) type Way = u64;

/// Encodes a flow path into the adjacent tile, from a place on the rim in a direction.
pub(super) fn onward(place: usize, direction: D8) -> Way {
    (place as u64 * 8 + u64::from(direction.code())) * 2 + 1
}

/// The flow paths from each cell of a rim: to its sill, and to the lake where it ends.
pub(super) type RimWays = Vec<(ToSill, Way)>;

/// The path of water at one level to its sill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ToSill {
    /// The sill is this cell of the map, from which water flows on along this path.
    Sill { cell: u64, way: Way },
    /// The sill is in another tile, to which this path leads.
    Onward(Way),
    /// There is no sill.
    Nowhere,
}

impl ToSill {
    /// Writes the path: an even number for a sill, an odd one for a path into another tile, and all bits set for
    /// none.
    pub(super) fn write(&self, writer: &mut Writer) {
        match self {
            Self::Sill { cell, way } => {
                writer.number(*cell << 1);
                writer.number(*way);
            }
            Self::Onward(way) => writer.number(*way),
            // No path into another tile has this code, because its place on the rim would be out of range.
            Self::Nowhere => writer.number(u64::MAX),
        }
    }

    /// Reads what [`write`](Self::write) wrote.
    fn read(map: &Map, reader: &mut Reader<'_>) -> Result<Self> {
        let first = reader.number()?;
        match first {
            u64::MAX => Ok(Self::Nowhere),
            _ if first & 1 == 1 => Ok(Self::Onward(first)),
            _ if first >> 1 < map.tiling.index([map.grid.rows(), 0]) => {
                Ok(Self::Sill { cell: first >> 1, way: reader.number()? })
            }
            _ => Err(reader.damaged()),
        }
    }
}

/// Number of bytes at the start of a summary, which hold the length of the encoded paths.
pub(super) const HEAD: usize = 8;

/// Upper limit of the memory for the decoded events of one summary, in bytes.
const EVENTS: u64 = 64 << 10;

/// Returns the memory of a sweep, which does not depend on the terrain.
pub(super) fn bytes(tiling: &TileGrid) -> u64 {
    // Each rim cell has its paths and its depression. No two depressions begin at adjacent cells, and a list may have
    // twice the necessary capacity.
    let rim = (size_of::<(ToSill, Way)>() + size_of::<u32>() + size_of::<Rising>() + 2 * size_of::<u32>()) as u64;
    rim * tiling.rims() + (READER + EVENTS + 128) * tiling.count() as u64
}

/// What tiles report of a lake before its events.
struct Known {
    level: i32,
    /// The tiles, and their paths to sills.
    outs: Vec<(usize, ToSill)>,
}

/// A lake's part in a tile.
struct PartOfLake {
    tile: usize,
    events: VecDeque<Event>,
    /// For each number used in the part's events, its depression.
    hollows: Vec<u32>,
}

/// Index that stands for no depression yet.
const NONE: u32 = u32::MAX;

/// The state of combining the depressions of all tiles.
pub(super) struct Sweep<'a> {
    map: &'a Map,
    lists: Vec<Records<'a>>,
    ways: Vec<RimWays>,
    /// For each cell of each rim, its depression.
    rims: Vec<Vec<u32>>,
    /// The depressions of the current lake.
    hollows: Vec<Rising>,
    up: Vec<u32>,
}

impl<'a> Sweep<'a> {
    /// Reads the paths of all tiles, and opens their lists of events.
    pub(super) fn read(map: &'a Map, summaries: &'a dyn Summaries) -> Result<Self> {
        map.tiling.check_count(summaries.count())?;
        let (mut lists, mut ways, mut rims) = (Vec::new(), Vec::new(), Vec::new());
        for tile in 0..summaries.count() {
            let rim = Rim(map.tiling.window(tile).size()).len();
            let (own, list) = read_ways(map, tile, rim, &summaries.read(tile)?)?;
            lists.push(Records::new(summaries, SUMMARY, tile, list)?);
            ways.push(own);
            rims.push(vec![NONE; rim]);
        }
        Ok(Self { map, lists, ways, rims, hollows: Vec::new(), up: Vec::new() })
    }

    /// Reports all depressions, lake by lake.
    pub(super) fn tell(mut self, found: &mut dyn FnMut(NestedDepression) -> Result<()>) -> Result<()> {
        let lists = self.lists.iter().enumerate();
        let mut next: BinaryHeap<Reverse<(u64, usize)>> =
            lists.filter_map(|(tile, list)| Some(Reverse((list.key()?, tile)))).collect();
        while let Some(Reverse((lake, first))) = next.pop() {
            let mut tiles = vec![first];
            while let Some(Reverse((_, tile))) = next.peek().filter(|next| next.0.0 == lake).copied() {
                next.pop();
                tiles.push(tile);
            }
            self.lake(lake, &tiles, found)?;
            for tile in tiles {
                next.extend(self.lists[tile].key().map(|key| Reverse((key, tile))));
            }
        }
        Ok(())
    }

    /// Combines the parts of one lake, which lie in `tiles`, and reports its depressions and finally the lake itself.
    fn lake(
        &mut self,
        lake: u64,
        tiles: &[usize],
        found: &mut dyn FnMut(NestedDepression) -> Result<()>,
    ) -> Result<()> {
        let number = u32::try_from(lake).map_err(|_| damaged(SUMMARY, tiles[0]))?;
        self.hollows.clear();
        self.up.clear();
        let mut known: Option<Known> = None;
        let mut parts = Vec::with_capacity(tiles.len());
        for tile in tiles {
            let here = read_known(self.map, *tile, &self.lists[*tile].take()?)?;
            known = Some(match known {
                None => here,
                Some(before) if before.level == here.level => {
                    Known { outs: before.outs.into_iter().chain(here.outs).collect(), ..before }
                }
                Some(_) => return Err(damaged(SUMMARY, *tile)),
            });
            parts.push(PartOfLake { tile: *tile, events: VecDeque::new(), hollows: Vec::new() });
        }
        // Merge the events of all parts in the order in which rising water reaches them.
        let mut order: BinaryHeap<Reverse<(Order, usize)>> = BinaryHeap::new();
        for (k, part) in parts.iter_mut().enumerate() {
            self.fill(lake, part)?;
            order.extend(part.events.front().map(|event| Reverse((event.order(self.map), k))));
        }
        while let Some(Reverse((at, k))) = order.pop() {
            let part = &mut parts[k];
            if let Some(event) = part.events.pop_front() {
                self.take(number, part, event, found)?;
            }
            if part.events.is_empty() {
                self.fill(lake, part)?;
            }
            if let Some(event) = part.events.front() {
                let after = event.order(self.map);
                if after < at {
                    return Err(damaged(SUMMARY, part.tile));
                }
                order.push(Reverse((after, k)));
            }
        }
        // In the end everything is one depression, the lake. Its sill is the first one, in row-major order, that any
        // of its paths leads to.
        let mut roots = (0..self.up.len()).filter(|one| self.up[*one] as usize == *one);
        let (Some(root), None, Some(known)) = (roots.next(), roots.next(), known) else {
            return Err(damaged(SUMMARY, tiles[0]));
        };
        let mut first: Option<(u64, usize, Way)> = None;
        for (tile, to_sill) in known.outs {
            first = first.into_iter().chain(self.sill(tile, to_sill)?).min();
        }
        let out = match first {
            None => None,
            Some((cell, tile, way)) => Some((cell, self.follow(tile, way)?)),
        };
        let cols = self.map.tiling.size()[1] as u64;
        found(self.hollows[root].whole(number, known.level, out, cols))
    }

    /// Reads the next record of a part's events, if there is one.
    fn fill(&mut self, lake: u64, part: &mut PartOfLake) -> Result<()> {
        let list = &mut self.lists[part.tile];
        if list.key() == Some(lake) {
            part.events = read_chunk(self.map, SUMMARY, part.tile, lake as u32, &list.take()?)?;
        }
        Ok(())
    }

    /// Processes one event of a part.
    fn take(
        &mut self,
        lake: u32,
        part: &mut PartOfLake,
        event: Event,
        found: &mut dyn FnMut(NestedDepression) -> Result<()>,
    ) -> Result<()> {
        let broken = || damaged(SUMMARY, part.tile);
        match event {
            Event::Row(row) => found(row),
            Event::Cells { height, number, cells } => {
                let one = part.hollows.get(number as usize).copied().ok_or_else(broken)?;
                let top = top(&mut self.up, one) as usize;
                self.hollows[top].take(height, cells);
                Ok(())
            }
            Event::Rest(rest) => {
                self.up.push(self.up.len() as u32);
                self.hollows.push(rest);
                Ok(())
            }
            Event::Meet { height, cell, rim, closed, open, whole } => {
                let mut beside = Vec::new();
                for number in open {
                    let one = part.hollows.get(number as usize).copied().ok_or_else(broken)?;
                    beside.push(top(&mut self.up, one));
                }
                // A cell on the rim also meets the depressions of neighbouring tiles, if these cells are under water
                // already.
                for direction in D8::ALL.into_iter().filter(|_| rim.is_some()) {
                    let neighbour = self.map.tiling.across_border(self.map.tiling.cell(cell), direction);
                    let Some((tile, place)) = neighbour else {
                        continue;
                    };
                    let one = self.rims[tile][place];
                    if (one as usize) < self.up.len() && self.lake_of(tile, place) == u64::from(lake) {
                        beside.push(top(&mut self.up, one));
                    }
                }
                beside.sort_unstable();
                beside.dedup();
                let mut rising = closed;
                rising.extend(beside.iter().map(|one| self.hollows[*one as usize]));
                let at = Meeting { cell, height, lake, cols: self.map.tiling.size()[1] as u64 };
                let mut told = Vec::new();
                let met = meet(at, &mut rising, |row| told.push(row));
                told.into_iter().try_for_each(found)?;
                let here = match beside.first() {
                    Some(first) => *first,
                    None => {
                        self.up.push(self.up.len() as u32);
                        self.hollows.push(met);
                        self.up.len() as u32 - 1
                    }
                };
                self.hollows[here as usize] = met;
                beside.iter().for_each(|one| self.up[*one as usize] = here);
                match part.hollows.len().cmp(&(whole as usize)) {
                    std::cmp::Ordering::Equal => part.hollows.push(here),
                    std::cmp::Ordering::Greater => part.hollows[whole as usize] = here,
                    std::cmp::Ordering::Less => return Err(damaged(SUMMARY, part.tile)),
                }
                if let Some(place) = rim {
                    *self.rims[part.tile].get_mut(place as usize).ok_or_else(|| damaged(SUMMARY, part.tile))? = here;
                }
                Ok(())
            }
        }
    }

    /// Returns the lake that covers a cell of a rim, or 0 if there is none.
    fn lake_of(&self, tile: usize, place: usize) -> u64 {
        let way = self.ways[tile][place].1;
        if way & 1 == 0 { way >> 1 } else { 0 }
    }

    /// Returns the tile, and the place on its rim, to which a path leads.
    fn beyond(&self, tile: usize, way: Way) -> Result<(usize, usize)> {
        let (place, direction) = ((way >> 4) as usize, D8::ALL[(way >> 1 & 7) as usize]);
        let window = self.map.tiling.window(tile);
        let (start, size) = (window.start, window.size());
        if place >= Rim(size).len() {
            return Err(damaged(SUMMARY, tile));
        }
        let Cell { row: i, col: j } = Rim(size).cell(place);
        let across = self.map.tiling.across_border([start[0] + i, start[1] + j], direction);
        across.ok_or_else(|| damaged(SUMMARY, tile))
    }

    /// Returns an error if a path crosses more rim cells than there are, because it must contain a cycle.
    fn check(&self, path: &[(usize, usize)]) -> Result<()> {
        if path.len() as u64 <= self.map.tiling.rims() {
            return Ok(());
        }
        Err(Error::value("directions", "flow paths in cycles", "directions without cycles"))
    }

    /// Follows a path over all tiles to its sill. Returns the sill, its tile, and the path from there; `None` if
    /// there is no sill. The result is stored for later paths (path compression).
    fn sill(&mut self, tile: usize, to_sill: ToSill) -> Result<Option<(u64, usize, Way)>> {
        let (mut at, mut to) = (tile, to_sill);
        let mut path = Vec::new();
        while let ToSill::Onward(way) = to {
            path.push(self.beyond(at, way)?);
            self.check(&path)?;
            let (tile, place) = path[path.len() - 1];
            (at, to) = (tile, self.ways[tile][place].0);
        }
        let ToSill::Sill { cell, way } = to else { return Ok(None) };
        // Store the lake where the path ends, which is valid in every tile.
        let lake = self.follow(at, way)?;
        let known = ToSill::Sill { cell, way: 2 * Way::from(lake) };
        path.into_iter().for_each(|(tile, place)| self.ways[tile][place].0 = known);
        Ok(Some((cell, at, 2 * Way::from(lake))))
    }

    /// Follows a path over all tiles to a lake, and returns its number, or 0. The result is stored for later paths
    /// (path compression).
    fn follow(&mut self, tile: usize, way: Way) -> Result<u32> {
        let (mut at, mut way) = (tile, way);
        let mut path = Vec::new();
        while way & 1 == 1 {
            path.push(self.beyond(at, way)?);
            self.check(&path)?;
            let (tile, place) = path[path.len() - 1];
            (at, way) = (tile, self.ways[tile][place].1);
        }
        path.into_iter().for_each(|(tile, place)| self.ways[tile][place].1 = way);
        u32::try_from(way >> 1).map_err(|_| damaged(SUMMARY, at))
    }
}

/// Reads the paths from a tile's rim. Also returns the range of the summary that contains the events.
fn read_ways(map: &Map, tile: usize, rim: usize, summary: &[u8]) -> Result<(RimWays, Range<usize>)> {
    let (head, rest) = summary.split_first_chunk::<HEAD>().ok_or_else(|| damaged(SUMMARY, tile))?;
    let length = usize::try_from(u64::from_le_bytes(*head)).ok().filter(|length| *length <= rest.len());
    let length = length.ok_or_else(|| damaged(SUMMARY, tile))?;
    let mut reader = Reader::new(SUMMARY, tile, &rest[..length])?;
    let ways = (0..rim).map(|_| Ok((ToSill::read(map, &mut reader)?, reader.number()?))).collect::<Result<_>>()?;
    reader.end()?;
    Ok((ways, HEAD + length..summary.len()))
}

/// Decodes what a tile reports of a lake before its events.
fn read_known(map: &Map, tile: usize, bytes: &[u8]) -> Result<Known> {
    let mut reader = Reader::bare(SUMMARY, tile, bytes);
    let level = reader.near_i32()?;
    let count = reader.count()?;
    let outs = (0..count).map(|_| Ok((tile, ToSill::read(map, &mut reader)?))).collect::<Result<_>>()?;
    reader.end()?;
    Ok(Known { level, outs })
}
