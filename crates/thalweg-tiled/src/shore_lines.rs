//! Lines along shores put together over tiles, and told of piece by piece: memory is that of places where shores cross rims.

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

/// Stands for no chain.
const NONE: u32 = u32::MAX;

/// Points that are told at once.
const POINTS: usize = 4096;

/// A line's piece in a tile.
#[derive(Clone, Copy)]
struct Chain {
    /// Its first side that others come before, as [`key`].
    least: u64,
    /// Where its runs lie in its tile's summary.
    at: u64,
    /// Bytes of the runs before that side, and after it.
    lengths: [u32; 2],
    /// Where it begins on the rim of its tile.
    door: u32,
    /// The chain that it goes on with.
    next: u32,
    /// Number of the lake.
    lake: u32,
}

/// A line over several tiles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ring {
    lake: u32,
    /// Its first side, as [`key`].
    start: u64,
    /// The chain that holds that side.
    chain: u32,
}

/// The lines of a lake of several tiles that lie in one of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Islands {
    lake: u32,
    tile: u32,
    /// Where their records lie in the tile's summary.
    bytes: [u64; 2],
}

/// A side of a cell of the map, in the order in which lines are looked for.
pub(super) fn key(cell: u64, side: u8) -> u64 {
    // A map has no more than 2⁶² cells.
    cell << 2 | u64::from(side & 3)
}

/// Writes what others need of a tile's shores: `lakes` gives the number of the lake in a cell of the tile, `islands` are records of lines,
/// each lake's together, and `list` are those of what the tile tells of.
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
    /// The first chain of each tile, and one after the last.
    firsts: Vec<u32>,
    chains: Vec<Chain>,
    /// In their order.
    rings: Vec<Ring>,
    /// In their order.
    islands: Vec<Islands>,
    /// Where the list of each tile lies in its summary.
    lists: Vec<Range<usize>>,
}

impl<'a> ShoreLines<'a> {
    /// Reads what [`write`] wrote, and puts lines together.
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

    /// A tile's summary; where its chains go on is put to `onward`, as tiles and doors.
    fn take(&mut self, tile: usize, mut reader: Reader<'_>, length: usize, onward: &mut Vec<[u32; 2]>) -> Result<()> {
        let map = self.map;
        let doors = 4 * Rim(map.tiling.window(tile).size()).len();
        let count = reader.count()?;
        let start = self.chains.len();
        if start + count >= NONE as usize {
            return Err(Error::value(WHAT, start + count, format!("fewer than {NONE} on rims: numbers have 32 bits")));
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

    /// Finds the lines that chains make up.
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

    /// What a tile lists.
    pub(super) fn list(&self, what: &'static str, tile: usize) -> Result<Records<'a>> {
        let bytes = self.lists.get(tile).cloned().ok_or_else(broken)?;
        Records::new(self.summaries, what, tile, bytes)
    }

    /// Tells of the outline of a lake of several tiles, a line after another in the order of their first sides.
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

    /// Tells of a line over several tiles.
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

/// Tells of a line that lies in one tile, from its first side on.
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

/// A line that is being told: the ends of its straight parts, as in [`outlines`](thalweg_render::products::lakes::outlines).
///
/// A line turns where it begins: were it straight there, one of its sides would come before that one in row-major order.
struct Line<'a> {
    /// The most that a place may be, in halves of a cell.
    most: [i64; 2],
    /// Where it begins, and how far it is, in halves of a cell.
    origin: Cell<i64>,
    at: Cell<i64>,
    /// The direction in which it goes.
    direction: Option<u8>,
    /// Its first point.
    first: Option<Cell<f64>>,
    points: Vec<Cell<f64>>,
    begins: bool,
    found: &'a mut dyn FnMut(Product) -> Result<()>,
}

impl<'a> Line<'a> {
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

    /// Goes on by runs of steps.
    fn draw(&mut self, tile: usize, runs: &[u8]) -> Result<()> {
        let mut reader = Reader::bare(WHAT, tile, runs);
        while reader.left() > 0 {
            let run = reader.number()?;
            let (direction, count) = (run as u8 & 7, run >> 3);
            if self.direction != Some(direction) {
                self.point()?;
                self.direction = Some(direction);
            }
            // Along an axis from middle to middle it is a cell, and to a side round the corner half of one.
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

    fn point(&mut self) -> Result<()> {
        let point = self.at.map(|halves| 0.5 * halves as f64);
        self.first.get_or_insert(point);
        self.points.push(point);
        if self.points.len() < POINTS { Ok(()) } else { self.tell() }
    }

    fn tell(&mut self) -> Result<()> {
        let (points, begins) = (std::mem::take(&mut self.points), std::mem::take(&mut self.begins));
        (self.found)(Product::Shore { begins, points })
    }

    fn end(mut self) -> Result<()> {
        let first = self.first.ok_or_else(broken)?;
        if self.at != self.origin {
            return Err(broken());
        }
        self.points.push(first);
        self.tell()
    }
}

/// Makes room for `count` more, and little more than is needed.
fn room<T>(list: &mut Vec<T>, count: usize) {
    if list.capacity() - list.len() < count {
        list.reserve_exact(count.max(list.len() / 8));
    }
}

/// Bytes that the shores of all tiles take at the most, with readers of them, whatever the ground is.
pub(super) fn bytes(tiling: &TileGrid) -> u64 {
    // Round a corner of cells goes no more than one line into a tile, so that there are no more chains than corners on its rim. A line over
    // tiles has two chains at least, and of lakes there is one to two cells of a rim at the most.
    let [down, across] = tiling.shape();
    let corners = 2 * (tiling.size()[0] as u64 * across as u64 + tiling.size()[1] as u64 * down as u64);
    let chains = (size_of::<Chain>() + size_of::<[u32; 2]>() + 1) as u64 * corners;
    let rings = size_of::<Ring>() as u64 * corners.div_ceil(2);
    let islands = (size_of::<Islands>() as u64) * tiling.rims().div_ceil(2);
    let tiles = (4 + size_of::<Range<usize>>() as u64 + records::READER + 32) * tiling.count() as u64;
    (chains + rings + islands) / 8 * 9 + 9 + tiles + (2 * POINTS * size_of::<Cell<f64>>()) as u64
}

fn broken() -> Error {
    Error::value(WHAT, "some that do not meet", "those of the tiles of one map")
}
