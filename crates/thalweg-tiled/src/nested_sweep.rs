//! Combines the depressions of all tiles: the events of a lake's parts are processed in one order, and results are
//! reported one after another.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use crate::Summaries;
use crate::codec::{Reader, Writer, damaged_bytes_error};
use crate::nested_parts::{Event, Order, read_chunk};
use crate::part::DrainageMap;
use crate::records::{READER, Records};
use thalweg_core::terrain::{Rim, TileGrid};
use thalweg_core::{Cell, Error, Result};
use thalweg_flow::D8;
use thalweg_render::products::nested::{Meeting, NestedDepression, RisingDepression, find_root, join_depressions};

pub(super) const SUMMARY: &str = "summary of depressions";

/// A flow path from a cell, as a number: `2 × lake` if it ends in a lake, 0 if the water leaves the land; odd if it
/// leads into another tile (see [`encode_onward_path`]).
pub(super) type PathCode = u64;

/// Encodes a flow path into the adjacent tile, from a place on the rim in a direction.
pub(super) fn encode_onward_path(place: usize, direction: D8) -> PathCode {
    // The lowest bit marks a path into another tile; three bits for the direction and the place on the rim follow.
    (place as u64 * 8 + u64::from(direction.code())) * 2 + 1
}

/// The flow paths from each cell of a rim: to its sill, and to the lake where it ends.
pub(super) type RimPaths = Vec<(ToSill, PathCode)>;

/// The path of water at one level to its sill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ToSill {
    /// The sill is this cell of the map, from which water flows on along this path.
    Sill { cell: u64, code: PathCode },
    /// The sill is in another tile, to which this path leads.
    Onward(PathCode),
    /// There is no sill.
    Nowhere,
}

impl ToSill {
    /// Writes the path: an even number for a sill, an odd one for a path into another tile, and all bits set for
    /// none.
    pub(super) fn write(&self, writer: &mut Writer) {
        match self {
            Self::Sill { cell, code } => {
                writer.write_number(*cell << 1);
                writer.write_number(*code);
            }
            Self::Onward(code) => writer.write_number(*code),
            // No path into another tile has this code, because its place on the rim would be out of range.
            Self::Nowhere => writer.write_number(u64::MAX),
        }
    }

    /// Reads what [`write`](Self::write) wrote.
    fn read(map: &DrainageMap, reader: &mut Reader<'_>) -> Result<Self> {
        let first = reader.read_number()?;
        match first {
            u64::MAX => Ok(Self::Nowhere),
            _ if first & 1 == 1 => Ok(Self::Onward(first)),
            _ if first >> 1 < map.tiling.index([map.grid.rows(), 0]) => {
                Ok(Self::Sill { cell: first >> 1, code: reader.read_number()? })
            }
            _ => Err(reader.damage_error()),
        }
    }
}

/// Number of bytes at the start of a summary, which hold the length of the encoded paths.
pub(super) const HEAD: usize = 8;

/// Upper limit of the memory for the decoded events of one summary, in bytes.
const EVENTS: u64 = 64 << 10;

/// Returns the memory of a sweep, which does not depend on the terrain.
pub(super) fn estimate_memory_bytes(tiling: &TileGrid) -> u64 {
    // Each rim cell has its paths and its depression. No two depressions begin at adjacent cells, and a list may have
    // twice the necessary capacity.
    let rim =
        (size_of::<(ToSill, PathCode)>() + size_of::<u32>() + size_of::<RisingDepression>() + 2 * size_of::<u32>())
            as u64;
    rim * tiling.rim_cell_count() + (READER + EVENTS + 128) * tiling.tile_count() as u64
}

/// What tiles report of a lake before its events.
struct LakeHeader {
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
pub(super) struct NestedSweep<'a> {
    map: &'a DrainageMap,
    lists: Vec<Records<'a>>,
    rim_paths: Vec<RimPaths>,
    /// For each cell of each rim, its depression.
    rims: Vec<Vec<u32>>,
    /// The depressions of the current lake.
    hollows: Vec<RisingDepression>,
    up: Vec<u32>,
}

impl<'a> NestedSweep<'a> {
    /// Reads the paths of all tiles, and opens their lists of events.
    pub(super) fn from_summaries(map: &'a DrainageMap, summaries: &'a dyn Summaries) -> Result<Self> {
        map.tiling.check_count(summaries.count())?;
        let (mut lists, mut rim_paths, mut rims) = (Vec::new(), Vec::new(), Vec::new());
        for tile in 0..summaries.count() {
            let rim = Rim(map.tiling.tile_window(tile).size()).len();
            let (own, list) = read_rim_paths(map, tile, rim, &summaries.read(tile)?)?;
            lists.push(Records::new(summaries, SUMMARY, tile, list)?);
            rim_paths.push(own);
            rims.push(vec![NONE; rim]);
        }
        Ok(Self { map, lists, rim_paths, rims, hollows: Vec::new(), up: Vec::new() })
    }

    /// Reports all depressions, lake by lake.
    pub(super) fn report_depressions(mut self, found: &mut dyn FnMut(NestedDepression) -> Result<()>) -> Result<()> {
        let lists = self.lists.iter().enumerate();
        // The records of each tile are sorted by lake, so a heap with the next lake of each tile visits the lakes in
        // ascending order with all their tiles.
        let mut next: BinaryHeap<Reverse<(u64, usize)>> =
            lists.filter_map(|(tile, list)| Some(Reverse((list.next_key()?, tile)))).collect();
        while let Some(Reverse((lake, first))) = next.pop() {
            let mut tiles = vec![first];
            while let Some(Reverse((_, tile))) = next.peek().filter(|next| next.0.0 == lake).copied() {
                next.pop();
                tiles.push(tile);
            }
            self.combine_lake(lake, &tiles, found)?;
            for tile in tiles {
                next.extend(self.lists[tile].next_key().map(|key| Reverse((key, tile))));
            }
        }
        Ok(())
    }

    /// Combines the parts of one lake, which lie in `tiles`, and reports its depressions and finally the lake itself.
    fn combine_lake(
        &mut self,
        lake: u64,
        tiles: &[usize],
        found: &mut dyn FnMut(NestedDepression) -> Result<()>,
    ) -> Result<()> {
        let number = u32::try_from(lake).map_err(|_| damaged_bytes_error(SUMMARY, tiles[0]))?;
        self.hollows.clear();
        self.up.clear();
        let mut known: Option<LakeHeader> = None;
        let mut lake_parts = Vec::with_capacity(tiles.len());
        for tile in tiles {
            let here = read_known(self.map, *tile, &self.lists[*tile].read_next()?)?;
            known = Some(match known {
                None => here,
                // All parts of a lake have one level.
                Some(before) if before.level == here.level => {
                    LakeHeader { outs: before.outs.into_iter().chain(here.outs).collect(), ..before }
                }
                Some(_) => return Err(damaged_bytes_error(SUMMARY, *tile)),
            });
            lake_parts.push(PartOfLake { tile: *tile, events: VecDeque::new(), hollows: Vec::new() });
        }
        // Merge the events of all parts in the order in which rising water reaches them.
        let mut order: BinaryHeap<Reverse<(Order, usize)>> = BinaryHeap::new();
        for (k, part) in lake_parts.iter_mut().enumerate() {
            self.read_next_events(lake, part)?;
            order.extend(part.events.front().map(|event| Reverse((event.sort_key(self.map), k))));
        }
        while let Some(Reverse((at, k))) = order.pop() {
            let part = &mut lake_parts[k];
            if let Some(event) = part.events.pop_front() {
                self.apply_event(number, part, event, found)?;
            }
            if part.events.is_empty() {
                // The next record of this lake, if there is one, continues the events.
                self.read_next_events(lake, part)?;
            }
            if let Some(event) = part.events.front() {
                let after = event.sort_key(self.map);
                // Events of a part must ascend, otherwise the merged order would be wrong.
                if after < at {
                    return Err(damaged_bytes_error(SUMMARY, part.tile));
                }
                order.push(Reverse((after, k)));
            }
        }
        // In the end everything is one depression, the lake. Its sill is the first one, in row-major order, that any
        // of its paths leads to.
        let mut roots = (0..self.up.len()).filter(|one| self.up[*one] as usize == *one);
        let (Some(root), None, Some(known)) = (roots.next(), roots.next(), known) else {
            return Err(damaged_bytes_error(SUMMARY, tiles[0]));
        };
        let mut first: Option<(u64, usize, PathCode)> = None;
        for (tile, to_sill) in known.outs {
            first = first.into_iter().chain(self.find_sill(tile, to_sill)?).min();
        }
        let out = match first {
            None => None,
            Some((cell, tile, code)) => Some((cell, self.find_receiving_lake(tile, code)?)),
        };
        let cols = self.map.tiling.size()[1] as u64;
        found(self.hollows[root].into_whole_lake(number, known.level, out, cols))
    }

    /// Reads the next record of a part's events, if there is one.
    fn read_next_events(&mut self, lake: u64, part: &mut PartOfLake) -> Result<()> {
        let list = &mut self.lists[part.tile];
        if list.next_key() == Some(lake) {
            part.events = read_chunk(self.map, SUMMARY, part.tile, lake as u32, &list.read_next()?)?;
        }
        Ok(())
    }

    /// Processes one event of a part.
    fn apply_event(
        &mut self,
        lake: u32,
        part: &mut PartOfLake,
        event: Event,
        found: &mut dyn FnMut(NestedDepression) -> Result<()>,
    ) -> Result<()> {
        let broken = || damaged_bytes_error(SUMMARY, part.tile);
        match event {
            Event::Row(row) => found(row),
            Event::Cells { height, number, cells } => {
                let one = part.hollows.get(number as usize).copied().ok_or_else(broken)?;
                // Depressions may have been joined by events of other tiles since this number was given.
                let top = find_root(&mut self.up, one) as usize;
                self.hollows[top].add_cells(height, cells);
                Ok(())
            }
            Event::Rest(rest) => {
                self.up.push(self.up.len() as u32);
                self.hollows.push(rest);
                Ok(())
            }
            Event::Meet { height, cell, rim, closed, open, whole } => {
                let mut adjacent = Vec::new();
                for number in open {
                    let one = part.hollows.get(number as usize).copied().ok_or_else(broken)?;
                    adjacent.push(find_root(&mut self.up, one));
                }
                // A cell on the rim also meets the depressions of neighbouring tiles, if these cells are under water
                // already.
                for direction in D8::ALL.into_iter().filter(|_| rim.is_some()) {
                    let neighbour = self.map.tiling.across_border(self.map.tiling.cell_from_index(cell), direction);
                    let Some((tile, place)) = neighbour else {
                        continue;
                    };
                    let one = self.rims[tile][place];
                    // Entries of earlier lakes remain in `rims`, so the neighbour's lake is compared as well as its
                    // depression.
                    if (one as usize) < self.up.len() && self.rim_lake(tile, place) == u64::from(lake) {
                        adjacent.push(find_root(&mut self.up, one));
                    }
                }
                // A depression may be met at several cells but must be joined once. Sorted, the list does not depend on
                // the order of neighbours.
                adjacent.sort_unstable();
                adjacent.dedup();
                let mut rising = closed;
                rising.extend(adjacent.iter().map(|one| self.hollows[*one as usize]));
                let at = Meeting { cell, height, lake, cols: self.map.tiling.size()[1] as u64 };
                // Reporting may fail, which the callback cannot return, so the rows are collected first.
                let mut rows = Vec::new();
                let met = join_depressions(at, &mut rising, |row| rows.push(row));
                rows.into_iter().try_for_each(found)?;
                let here = match adjacent.first() {
                    Some(first) => *first,
                    None => {
                        self.up.push(self.up.len() as u32);
                        self.hollows.push(met);
                        self.up.len() as u32 - 1
                    }
                };
                self.hollows[here as usize] = met;
                adjacent.iter().for_each(|one| self.up[*one as usize] = here);
                // A tile numbers its shared depressions from 0 without gaps: a number is new or known.
                match part.hollows.len().cmp(&(whole as usize)) {
                    std::cmp::Ordering::Equal => part.hollows.push(here),
                    std::cmp::Ordering::Greater => part.hollows[whole as usize] = here,
                    std::cmp::Ordering::Less => return Err(damaged_bytes_error(SUMMARY, part.tile)),
                }
                if let Some(place) = rim {
                    *self.rims[part.tile]
                        .get_mut(place as usize)
                        .ok_or_else(|| damaged_bytes_error(SUMMARY, part.tile))? = here;
                }
                Ok(())
            }
        }
    }

    /// Returns the lake that covers a cell of a rim, or 0 if there is none.
    fn rim_lake(&self, tile: usize, place: usize) -> u64 {
        let code = self.rim_paths[tile][place].1;
        if code & 1 == 0 { code >> 1 } else { 0 }
    }

    /// Returns the tile, and the place on its rim, to which a path leads.
    fn find_entry(&self, tile: usize, code: PathCode) -> Result<(usize, usize)> {
        // This is the inverse of `encode_onward_path`.
        let (place, direction) = ((code >> 4) as usize, D8::ALL[(code >> 1 & 7) as usize]);
        let window = self.map.tiling.tile_window(tile);
        let (start, size) = (window.start, window.size());
        if place >= Rim(size).len() {
            return Err(damaged_bytes_error(SUMMARY, tile));
        }
        let Cell { row: i, col: j } = Rim(size).cell_from_position(place);
        let across = self.map.tiling.across_border([start[0] + i, start[1] + j], direction);
        across.ok_or_else(|| damaged_bytes_error(SUMMARY, tile))
    }

    /// Returns an error if a path crosses more rim cells than there are, because it must contain a cycle.
    fn check_for_cycle(&self, path: &[(usize, usize)]) -> Result<()> {
        if path.len() as u64 <= self.map.tiling.rim_cell_count() {
            return Ok(());
        }
        Err(Error::invalid_value("directions", "flow paths in cycles", "directions without cycles"))
    }

    /// Follows a path over all tiles to its sill. Returns the sill, its tile, and the path from there; `None` if
    /// there is no sill. The result is stored for later paths (path compression).
    fn find_sill(&mut self, tile: usize, to_sill: ToSill) -> Result<Option<(u64, usize, PathCode)>> {
        let (mut at, mut to) = (tile, to_sill);
        let mut path = Vec::new();
        while let ToSill::Onward(code) = to {
            path.push(self.find_entry(at, code)?);
            self.check_for_cycle(&path)?;
            let (tile, place) = path[path.len() - 1];
            (at, to) = (tile, self.rim_paths[tile][place].0);
        }
        let ToSill::Sill { cell, code } = to else { return Ok(None) };
        // Store the lake where the path ends, which is valid in every tile.
        let lake = self.find_receiving_lake(at, code)?;
        let known = ToSill::Sill { cell, code: 2 * PathCode::from(lake) };
        path.into_iter().for_each(|(tile, place)| self.rim_paths[tile][place].0 = known);
        Ok(Some((cell, at, 2 * PathCode::from(lake))))
    }

    /// Follows a path over all tiles to a lake, and returns its number, or 0. The result is stored for later paths
    /// (path compression).
    fn find_receiving_lake(&mut self, tile: usize, code: PathCode) -> Result<u32> {
        let (mut at, mut code) = (tile, code);
        let mut path = Vec::new();
        while code & 1 == 1 {
            path.push(self.find_entry(at, code)?);
            self.check_for_cycle(&path)?;
            let (tile, place) = path[path.len() - 1];
            (at, code) = (tile, self.rim_paths[tile][place].1);
        }
        path.into_iter().for_each(|(tile, place)| self.rim_paths[tile][place].1 = code);
        u32::try_from(code >> 1).map_err(|_| damaged_bytes_error(SUMMARY, at))
    }
}

/// Reads the paths from a tile's rim. Also returns the range of the summary that contains the events.
fn read_rim_paths(map: &DrainageMap, tile: usize, rim: usize, summary: &[u8]) -> Result<(RimPaths, Range<usize>)> {
    let (head, rest) = summary.split_first_chunk::<HEAD>().ok_or_else(|| damaged_bytes_error(SUMMARY, tile))?;
    let length = usize::try_from(u64::from_le_bytes(*head)).ok().filter(|length| *length <= rest.len());
    let length = length.ok_or_else(|| damaged_bytes_error(SUMMARY, tile))?;
    let mut reader = Reader::new(SUMMARY, tile, &rest[..length])?;
    let rim_paths =
        (0..rim).map(|_| Ok((ToSill::read(map, &mut reader)?, reader.read_number()?))).collect::<Result<_>>()?;
    reader.expect_end()?;
    Ok((rim_paths, HEAD + length..summary.len()))
}

/// Decodes what a tile reports of a lake before its events.
fn read_known(map: &DrainageMap, tile: usize, bytes: &[u8]) -> Result<LakeHeader> {
    let mut reader = Reader::without_version(SUMMARY, tile, bytes);
    let level = reader.read_difference_i32()?;
    let count = reader.read_count()?;
    let outs = (0..count).map(|_| Ok((tile, ToSill::read(map, &mut reader)?))).collect::<Result<_>>()?;
    reader.expect_end()?;
    Ok(LakeHeader { level, outs })
}
