//! Assembles shorelines over tiles and reports them piece by piece. Memory is bounded by the number of places where
//! shores cross rims.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::codec::{Reader, Writer, damaged};
use crate::part::{Map, index};
use crate::records::{self, Records};
use crate::shore_walk::TileShores;
use crate::{Product, Summaries};
use thalweg_core::terrain::{Rim, TileGrid};
use thalweg_core::{Cell, Error, Result};
use thalweg_flow::D8;
use thalweg_render::products::lakes::CellSide;

const WHAT: &str = "shores of lakes";

/// Index that stands for no chain.
const NONE: u32 = u32::MAX;

/// Number of points that are reported at once.
const POINTS: usize = 4096;

/// The part of a shoreline in one tile.
#[derive(Clone, Copy)]
struct Chain {
    /// Its first side in row-major order, as [`key`].
    least: u64,
    /// The position of its runs in its tile's summary.
    at: u64,
    /// The lengths in bytes of the runs before that side, and after it.
    lengths: [u32; 2],
    /// Where it enters the tile: the place on the rim times four, plus the side.
    door: u32,
    /// The chain that continues the line.
    next: u32,
    /// The number of the lake.
    lake: u32,
}

/// A closed line that extends over several tiles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ring {
    lake: u32,
    /// Its first side, as [`key`].
    start: u64,
    /// The chain that contains that side.
    chain: u32,
}

/// The closed lines in one tile of a lake that extends over several tiles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Islands {
    lake: u32,
    tile: u32,
    /// The range of their records in the tile's summary.
    bytes: [u64; 2],
}

/// Returns a sort key for a side of a cell of the map; lines are searched for in this order.
pub(super) fn key(cell: u64, side: u8) -> u64 {
    // The shift cannot overflow, because a map has no more than 2⁶² cells.
    cell << 2 | u64::from(side & 3)
}

/// Writes what others need to know of a tile's shores. `lakes` returns the number of the lake in a cell of the tile,
/// `islands` are records of closed lines grouped by lake, and `list` are the records of the lakes that the tile
/// reports.
pub(super) fn write(
    map: &Map,
    tile: usize,
    shores: &TileShores,
    lakes: impl Fn(u32) -> u32,
    islands: &[(u32, Vec<u8>)],
    list: &[u8],
) -> Vec<u8> {
    let window = map.tiling.window(tile);
    let cell = |cell: u32| {
        let [i, j] = [cell as usize / window.size()[1], cell as usize % window.size()[1]];
        map.tiling.index([window.start[0] + i, window.start[1] + j])
    };
    let mut writer = Writer::new();
    writer.number(shores.pieces.len() as u64);
    for piece in &shores.pieces {
        writer.number(piece.door.into());
        let CellSide { cell: onward, side } = piece.onward;
        let onward = Cell::from_axes(|axis| window.start[axis].wrapping_add_signed(onward[axis]));
        writer.near(map.tiling.index(onward) as i64);
        writer.byte(side as u8);
        writer.near(cell(piece.least.0) as i64);
        writer.byte(piece.least.1);
        writer.number(lakes(piece.cell).into());
        piece.runs.iter().for_each(|runs| writer.number(runs.len() as u64));
    }
    writer.number(islands.len() as u64);
    for (lake, records) in islands {
        writer.number((*lake).into());
        writer.number(records.len() as u64);
    }
    writer.number(list.len() as u64);
    for piece in &shores.pieces {
        piece.runs.iter().for_each(|runs| writer.bytes(&shores.runs[runs.clone()]));
    }
    islands.iter().for_each(|(_, records)| writer.bytes(records));
    writer.bytes(list);
    writer.finish()
}

/// The shores of all tiles.
pub(super) struct ShoreLines<'a> {
    map: &'a Map,
    summaries: &'a dyn Summaries,
    /// The first chain of each tile, and the total number of chains at the end.
    firsts: Vec<u32>,
    chains: Vec<Chain>,
    /// Sorted by lake, then by first side.
    rings: Vec<Ring>,
    /// Sorted by lake, then by tile.
    islands: Vec<Islands>,
    /// The range of each tile's list in its summary.
    lists: Vec<Range<usize>>,
}

impl<'a> ShoreLines<'a> {
    /// Reads what [`write`] wrote, and connects the chains to lines.
    pub(super) fn read(map: &'a Map, what: &'static str, summaries: &'a dyn Summaries) -> Result<Self> {
        let mut lines = Self {
            map,
            summaries,
            firsts: vec![0],
            chains: Vec::new(),
            rings: Vec::new(),
            islands: Vec::new(),
            lists: Vec::new(),
        };
        let mut onward = Vec::new();
        for tile in 0..map.tiling.count() {
            let bytes = summaries.read(tile)?;
            lines.take(tile, Reader::new(what, tile, &bytes)?, bytes.len(), &mut onward)?;
        }
        for (id, [tile, door]) in onward.into_iter().enumerate() {
            let first = lines.firsts[tile as usize];
            let there = &lines.chains[first as usize..lines.firsts[tile as usize + 1] as usize];
            let found = there.binary_search_by_key(&door, |chain| chain.door).map_err(|_| broken())?;
            lines.chains[id].next = first + found as u32;
        }
        lines.join()?;
        lines.islands.sort_unstable();
        Ok(lines)
    }

    /// Reads a tile's summary. Appends the continuation of each of its chains to `onward`, as tile and door.
    fn take(&mut self, tile: usize, mut reader: Reader<'_>, length: usize, onward: &mut Vec<[u32; 2]>) -> Result<()> {
        let map = self.map;
        let doors = 4 * Rim(map.tiling.window(tile).size()).len();
        let count = reader.count()?;
        let start = self.chains.len();
        if start + count >= NONE as usize {
            return Err(Error::value(
                WHAT,
                start + count,
                format!("fewer than {NONE} at the edges of tiles: numbers have 32 bits"),
            ));
        }
        room(&mut self.chains, count);
        room(onward, count);
        for _ in 0..count {
            let door = reader.below(doors)? as u32;
            let to = map.tiling.cell(index(map, &mut reader)?);
            let side = reader.below(4)?;
            let (other, place) = map.tiling.place(to);
            let place = place.filter(|_| other != tile).ok_or_else(|| reader.damaged())?;
            onward.push([other as u32, (4 * place + side) as u32]);
            let cell = index(map, &mut reader)?;
            let least = key(cell, reader.below(4)? as u8);
            let lake = u32::try_from(reader.number()?).map_err(|_| reader.damaged())?;
            let mut lengths = [0; 2];
            for length in &mut lengths {
                *length = u32::try_from(reader.number()?).map_err(|_| reader.damaged())?;
            }
            if self.chains[start..].last().is_some_and(|before| before.door >= door) {
                return Err(reader.damaged());
            }
            self.chains.push(Chain { least, at: 0, lengths, door, next: NONE, lake });
        }
        let count = reader.count()?;
        let first = self.islands.len();
        room(&mut self.islands, count);
        for _ in 0..count {
            let lake = u32::try_from(reader.number()?).map_err(|_| reader.damaged())?;
            let bytes = [0, reader.number()?];
            self.islands.push(Islands { lake, tile: tile as u32, bytes });
        }
        // The runs of chains, the records of closed lines and the list follow one after another. Compute the position
        // of each.
        let list = reader.number()?;
        let mut at = (length - reader.left()) as u64;
        let end = |at: u64, bytes: u64| at.checked_add(bytes).filter(|end| *end <= length as u64);
        for chain in &mut self.chains[start..] {
            chain.at = at;
            at = end(at, chain.lengths.map(u64::from).iter().sum()).ok_or_else(|| reader.damaged())?;
        }
        for islands in &mut self.islands[first..] {
            let upto = end(at, islands.bytes[1]).ok_or_else(|| reader.damaged())?;
            islands.bytes = [at, upto];
            at = upto;
        }
        let upto = end(at, list).filter(|end| *end == length as u64).ok_or_else(|| reader.damaged())?;
        self.lists.push(at as usize..upto as usize);
        self.firsts.push(self.chains.len() as u32);
        Ok(())
    }

    /// Finds the closed lines that chains form.
    fn join(&mut self) -> Result<()> {
        let mut walked = vec![false; self.chains.len()];
        for first in 0..self.chains.len() {
            if walked[first] {
                continue;
            }
            let lake = self.chains[first].lake;
            let (mut at, mut least) = (first, (u64::MAX, first));
            loop {
                let chain = &self.chains[at];
                if std::mem::replace(&mut walked[at], true) || chain.lake != lake {
                    return Err(broken());
                }
                least = least.min((chain.least, at));
                at = chain.next as usize;
                if at == first {
                    break;
                }
            }
            room(&mut self.rings, 1);
            self.rings.push(Ring { lake, start: least.0, chain: least.1 as u32 });
        }
        self.rings.sort_unstable();
        Ok(())
    }

    /// Returns the list of a tile.
    pub(super) fn list(&self, what: &'static str, tile: usize) -> Result<Records<'a>> {
        let bytes = self.lists.get(tile).cloned().ok_or_else(broken)?;
        Records::new(self.summaries, what, tile, bytes)
    }

    /// Reports the outline of a lake that extends over several tiles, line by line in the order of their first sides.
    pub(super) fn tell(&self, lake: u32, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<()> {
        let rings = &self.rings[self.rings.partition_point(|ring| ring.lake < lake)..];
        let mut rings = rings.iter().take_while(|ring| ring.lake == lake).peekable();
        let islands = &self.islands[self.islands.partition_point(|islands| islands.lake < lake)..];
        let mut inner = Vec::new();
        let mut order = BinaryHeap::new();
        for islands in islands.iter().take_while(|islands| islands.lake == lake) {
            let bytes = islands.bytes[0] as usize..islands.bytes[1] as usize;
            let records = Records::new(self.summaries, WHAT, islands.tile as usize, bytes)?;
            order.extend(records.key().map(|key| Reverse((key, inner.len()))));
            inner.push((records, islands.tile as usize));
        }
        loop {
            let next = order.peek().map(|Reverse((key, _))| *key);
            match rings.next_if(|ring| next.is_none_or(|key| ring.start < key)) {
                Some(ring) => self.joined(ring, found)?,
                None => {
                    let Some(Reverse((start, which))) = order.pop() else { return Ok(()) };
                    let (records, tile) = &mut inner[which];
                    let runs = records.take()?;
                    closed(self.map, *tile, start, &runs, found)?;
                    order.extend(records.key().map(|key| Reverse((key, which))));
                }
            }
        }
    }

    /// Reports a line that extends over several tiles.
    fn joined(&self, ring: &Ring, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<()> {
        let mut line = Line::begin(self.map, ring.start, found)?;
        let mut draw = |id: u32, parts: Range<usize>| {
            let tile = self.firsts.partition_point(|first| *first <= id) - 1;
            let chain = &self.chains[id as usize];
            let [head, tail] = chain.lengths.map(|length| length as usize);
            let ends = [0, head, head + tail].map(|end| chain.at as usize + end);
            let runs = self.summaries.part(tile, ends[parts.start]..ends[parts.end])?;
            line.draw(tile, &runs)?;
            Ok(chain.next)
        };
        let mut at = draw(ring.chain, 1..2)?;
        while at != ring.chain {
            at = draw(at, 0..2)?;
        }
        draw(at, 0..1)?;
        line.end()
    }
}

/// Reports a line inside one tile, beginning at its first side.
pub(super) fn closed(
    map: &Map,
    tile: usize,
    start: u64,
    runs: &[u8],
    found: &mut dyn FnMut(Product) -> Result<()>,
) -> Result<()> {
    let mut line = Line::begin(map, start, found)?;
    line.draw(tile, runs)?;
    line.end()
}

/// A line that is being reported, as the ends of its straight segments, like in
/// [`outlines`](thalweg_render::products::lakes::outlines).
///
/// A line always turns where it begins: if it continued straight there, one of its other sides would come first in
/// row-major order.
struct Line<'a> {
    /// The largest valid coordinates, in halves of a cell.
    most: [i64; 2],
    /// The first position and the current one, in halves of a cell.
    origin: Cell<i64>,
    at: Cell<i64>,
    /// The current direction.
    direction: Option<u8>,
    /// The first point.
    first: Option<Cell<f64>>,
    points: Vec<Cell<f64>>,
    begins: bool,
    found: &'a mut dyn FnMut(Product) -> Result<()>,
}

impl<'a> Line<'a> {
    /// Begins a line at a side, given as [`key`].
    fn begin(map: &Map, start: u64, found: &'a mut dyn FnMut(Product) -> Result<()>) -> Result<Self> {
        let size = map.tiling.size();
        let cell = map.tiling.cell(start >> 2);
        if cell[0] >= size[0] {
            return Err(broken());
        }
        let side = CellSide::new(cell.map(|at| at as isize), (start & 3) as usize);
        let origin = side.middle().map(|at| at as i64);
        Ok(Self {
            most: size.map(|cells| (cells as i64).saturating_mul(2)),
            origin,
            at: origin,
            direction: None,
            first: None,
            points: Vec::new(),
            begins: true,
            found,
        })
    }

    /// Continues the line by runs of steps.
    fn draw(&mut self, tile: usize, runs: &[u8]) -> Result<()> {
        let mut reader = Reader::bare(WHAT, tile, runs);
        while reader.left() > 0 {
            let run = reader.number()?;
            let (direction, count) = (run as u8 & 7, run >> 3);
            if self.direction != Some(direction) {
                self.point()?;
                self.direction = Some(direction);
            }
            // A step along an axis, from one side's middle to the next, is one cell; a step round a corner is half a
            // cell along both axes.
            let halves = if direction % 2 == 0 { 2 } else { 1 };
            for axis in 0..2 {
                let step = D8::OFFSETS[usize::from(direction)][axis] as i64 * halves;
                let to = step.checked_mul(count as i64).and_then(|way| way.checked_add(self.at[axis]));
                let to = to.filter(|to| (0..=self.most[axis]).contains(to));
                self.at[axis] = to.ok_or_else(|| damaged(WHAT, tile))?;
            }
        }
        Ok(())
    }

    /// Adds the current position as a point, and reports the points if there are enough.
    fn point(&mut self) -> Result<()> {
        let point = self.at.map(|halves| 0.5 * halves as f64);
        self.first.get_or_insert(point);
        self.points.push(point);
        if self.points.len() < POINTS { Ok(()) } else { self.tell() }
    }

    /// Reports the points collected so far.
    fn tell(&mut self) -> Result<()> {
        let (points, begins) = (std::mem::take(&mut self.points), std::mem::take(&mut self.begins));
        (self.found)(Product::Shore { begins, points })
    }

    /// Closes the line, and reports the remaining points.
    fn end(mut self) -> Result<()> {
        let first = self.first.ok_or_else(broken)?;
        if self.at != self.origin {
            return Err(broken());
        }
        self.points.push(first);
        self.tell()
    }
}

/// Reserves room for `count` more items, with little excess capacity.
fn room<T>(list: &mut Vec<T>, count: usize) {
    if list.capacity() - list.len() < count {
        list.reserve_exact(count.max(list.len() / 8));
    }
}

/// Returns an upper limit, in bytes, of the memory for the shores of all tiles and their readers, for any terrain.
pub(super) fn bytes(tiling: &TileGrid) -> u64 {
    // At most one line enters a tile at each corner of cells, so there are no more chains than corners on its rim. A
    // line over several tiles has at least two chains, and there is at most one lake per two rim cells.
    let [down, across] = tiling.shape();
    let corners = 2 * (tiling.size()[0] as u64 * across as u64 + tiling.size()[1] as u64 * down as u64);
    let chains = (size_of::<Chain>() + size_of::<[u32; 2]>() + 1) as u64 * corners;
    let rings = size_of::<Ring>() as u64 * corners.div_ceil(2);
    let islands = (size_of::<Islands>() as u64) * tiling.rims().div_ceil(2);
    let tiles = (4 + size_of::<Range<usize>>() as u64 + records::READER + 32) * tiling.count() as u64;
    (chains + rings + islands) / 8 * 9 + 9 + tiles + (2 * POINTS * size_of::<Cell<f64>>()) as u64
}

/// Returns the error for lines that do not fit together.
fn broken() -> Error {
    Error::value(WHAT, "pieces that do not meet", "pieces from the tiles of one map")
}
