//! Assembles shorelines over tiles and reports them piece by piece. Memory is bounded by the number of places where
//! shores cross rims.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::codec::{Reader, Writer, damaged_bytes_error};
use crate::part::{DrainageMap, read_cell_index};
use crate::records::{self, Records};
use crate::shore_walk::TileShores;
use crate::{Product, Summaries};
use thalweg_core::terrain::{Rim, TileGrid};
use thalweg_core::{Cell, Error, Result};
use thalweg_flow::D8;
use thalweg_render::products::lakes::CellSide;

const SHORES_NAME: &str = "shores of lakes";

/// Index that stands for no chain.
const NONE: u32 = u32::MAX;

/// Number of points that are reported at once. More points take more memory, fewer make more pieces.
const MAX_REPORTED_POINTS: usize = 4096;

/// The part of a shoreline in one tile.
#[derive(Clone, Copy)]
struct ShoreChain {
    /// Its first side in row-major order, as [`encode_side`].
    first_side: u64,
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
struct ShoreRing {
    lake: u32,
    /// Its first side, as [`encode_side`].
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
pub(super) fn encode_side(cell: u64, side: u8) -> u64 {
    // The shift cannot overflow, because a map has no more than 2⁶² cells.
    cell << 2 | u64::from(side & 3)
}

/// Writes what others need to know of a tile's shores. `lakes` returns the number of the lake in a cell of the tile,
/// `islands` are records of closed lines grouped by lake, and `list` are the records of the lakes that the tile
/// reports.
pub(super) fn encode_shores(
    map: &DrainageMap,
    tile: usize,
    shores: &TileShores,
    lakes: impl Fn(u32) -> u32,
    islands: &[(u32, Vec<u8>)],
    list: &[u8],
) -> Vec<u8> {
    let window = map.tiling.tile_window(tile);
    // Summaries identify cells by their map index, which is the same in every tile.
    let cell = |cell: u32| {
        let [i, j] = [cell as usize / window.size()[1], cell as usize % window.size()[1]];
        map.tiling.index([window.start[0] + i, window.start[1] + j])
    };
    let mut writer = Writer::new();
    // The lengths of everything come first; the solution keeps them in memory.
    writer.write_number(shores.pieces.len() as u64);
    for piece in &shores.pieces {
        writer.write_number(piece.door.into());
        let CellSide { cell: onward, side } = piece.onward;
        let onward = Cell::from_axes(|axis| window.start[axis].wrapping_add_signed(onward[axis]));
        writer.write_difference(map.tiling.index(onward) as i64);
        writer.write_byte(side as u8);
        writer.write_difference(cell(piece.first_side.0) as i64);
        writer.write_byte(piece.first_side.1);
        writer.write_number(lakes(piece.cell).into());
        piece.runs.iter().for_each(|runs| writer.write_number(runs.len() as u64));
    }
    writer.write_number(islands.len() as u64);
    for (lake, records) in islands {
        writer.write_number((*lake).into());
        writer.write_number(records.len() as u64);
    }
    writer.write_number(list.len() as u64);
    // The runs, the records and the list follow in the same order. They are read when they are reported.
    for piece in &shores.pieces {
        piece.runs.iter().for_each(|runs| writer.write_bytes(&shores.runs[runs.clone()]));
    }
    islands.iter().for_each(|(_, records)| writer.write_bytes(records));
    writer.write_bytes(list);
    writer.finish()
}

/// The shores of all tiles.
pub(super) struct ShoreLines<'a> {
    map: &'a DrainageMap,
    summaries: &'a dyn Summaries,
    /// The first chain of each tile, and the total number of chains at the end.
    firsts: Vec<u32>,
    chains: Vec<ShoreChain>,
    /// Sorted by lake, then by first side.
    rings: Vec<ShoreRing>,
    /// Sorted by lake, then by tile.
    islands: Vec<Islands>,
    /// The range of each tile's list in its summary.
    lists: Vec<Range<usize>>,
}

impl<'a> ShoreLines<'a> {
    /// Reads what [`encode_shores`] wrote, and connects the chains to lines.
    pub(super) fn from_summaries(
        map: &'a DrainageMap,
        what: &'static str,
        summaries: &'a dyn Summaries,
    ) -> Result<Self> {
        let mut lines = Self {
            map,
            summaries,
            firsts: vec![0],
            chains: Vec::new(),
            rings: Vec::new(),
            islands: Vec::new(),
            lists: Vec::new(),
        };
        // Read all summaries. The chain that continues a line may be in a tile that is read later, so only its door is
        // known at first.
        let mut onward = Vec::new();
        for tile in 0..map.tiling.tile_count() {
            let bytes = summaries.read(tile)?;
            lines.read_tile(tile, Reader::new(what, tile, &bytes)?, bytes.len(), &mut onward)?;
        }
        // The doors of a tile are in ascending order, so the continuation is found by bisection.
        for (id, [tile, door]) in onward.into_iter().enumerate() {
            let first = lines.firsts[tile as usize];
            let there = &lines.chains[first as usize..lines.firsts[tile as usize + 1] as usize];
            let found = there.binary_search_by_key(&door, |chain| chain.door).map_err(|_| broken_lines_error())?;
            lines.chains[id].next = first + found as u32;
        }
        lines.connect_chains()?;
        lines.islands.sort_unstable();
        Ok(lines)
    }

    /// Reads a tile's summary. Appends the continuation of each of its chains to `onward`, as tile and door.
    fn read_tile(
        &mut self,
        tile: usize,
        mut reader: Reader<'_>,
        length: usize,
        onward: &mut Vec<[u32; 2]>,
    ) -> Result<()> {
        let map = self.map;
        let doors = 4 * Rim(map.tiling.tile_window(tile).size()).len();
        let count = reader.read_count()?;
        let start = self.chains.len();
        if start + count >= NONE as usize {
            return Err(Error::invalid_value(
                SHORES_NAME,
                start + count,
                format!(
                    "fewer than {NONE} at the edges of tiles, because they are numbered with 32 bits; use larger tiles"
                ),
            ));
        }
        reserve_items(&mut self.chains, count);
        reserve_items(onward, count);
        for _ in 0..count {
            let door = reader.read_number_below(doors)? as u32;
            let to = map.tiling.cell_from_index(read_cell_index(map, &mut reader)?);
            let side = reader.read_number_below(4)?;
            let (other, place) = map.tiling.locate_cell(to);
            // A piece must continue on the rim of another tile.
            let place = place.filter(|_| other != tile).ok_or_else(|| reader.damage_error())?;
            onward.push([other as u32, (4 * place + side) as u32]);
            let cell = read_cell_index(map, &mut reader)?;
            let first_side = encode_side(cell, reader.read_number_below(4)? as u8);
            let lake = u32::try_from(reader.read_number()?).map_err(|_| reader.damage_error())?;
            let mut lengths = [0; 2];
            for length in &mut lengths {
                *length = u32::try_from(reader.read_number()?).map_err(|_| reader.damage_error())?;
            }
            // Doors that do not ascend would break that bisection.
            if self.chains[start..].last().is_some_and(|before| before.door >= door) {
                return Err(reader.damage_error());
            }
            self.chains.push(ShoreChain { first_side, at: 0, lengths, door, next: NONE, lake });
        }
        let count = reader.read_count()?;
        let first = self.islands.len();
        reserve_items(&mut self.islands, count);
        for _ in 0..count {
            let lake = u32::try_from(reader.read_number()?).map_err(|_| reader.damage_error())?;
            let bytes = [0, reader.read_number()?];
            self.islands.push(Islands { lake, tile: tile as u32, bytes });
        }
        // The runs of chains, the records of closed lines and the list follow one after another. Compute the position
        // of each.
        let list = reader.read_number()?;
        let mut at = (length - reader.remaining_bytes()) as u64;
        let end = |at: u64, bytes: u64| at.checked_add(bytes).filter(|end| *end <= length as u64);
        for chain in &mut self.chains[start..] {
            chain.at = at;
            at = end(at, chain.lengths.map(u64::from).iter().sum()).ok_or_else(|| reader.damage_error())?;
        }
        for islands in &mut self.islands[first..] {
            let upto = end(at, islands.bytes[1]).ok_or_else(|| reader.damage_error())?;
            islands.bytes = [at, upto];
            at = upto;
        }
        let upto = end(at, list).filter(|end| *end == length as u64).ok_or_else(|| reader.damage_error())?;
        self.lists.push(at as usize..upto as usize);
        self.firsts.push(self.chains.len() as u32);
        Ok(())
    }

    /// Finds the closed lines that chains form.
    fn connect_chains(&mut self) -> Result<()> {
        // Walk along each ring of chains once and find its first side in row-major order, where the line begins.
        let mut walked = vec![false; self.chains.len()];
        for first in 0..self.chains.len() {
            if walked[first] {
                continue;
            }
            let lake = self.chains[first].lake;
            let (mut at, mut lowest) = (first, (u64::MAX, first));
            loop {
                let chain = &self.chains[at];
                // Every chain has one successor, so a walk that meets a chain twice before it returns is not a ring.
                if std::mem::replace(&mut walked[at], true) || chain.lake != lake {
                    return Err(broken_lines_error());
                }
                lowest = lowest.min((chain.first_side, at));
                at = chain.next as usize;
                if at == first {
                    break;
                }
            }
            reserve_items(&mut self.rings, 1);
            self.rings.push(ShoreRing { lake, start: lowest.0, chain: lowest.1 as u32 });
        }
        self.rings.sort_unstable();
        Ok(())
    }

    /// Returns the list of a tile.
    pub(super) fn open_list(&self, what: &'static str, tile: usize) -> Result<Records<'a>> {
        let bytes = self.lists.get(tile).cloned().ok_or_else(broken_lines_error)?;
        Records::new(self.summaries, what, tile, bytes)
    }

    /// Reports the outline of a lake that extends over several tiles, line by line in the order of their first sides.
    pub(super) fn report_outline(&self, lake: u32, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<()> {
        // The lines of the lake are those over several tiles, which are sorted, and those within a tile, sorted in the
        // list of each tile. A heap with the next line of each list merges them.
        let rings = &self.rings[self.rings.partition_point(|ring| ring.lake < lake)..];
        let mut rings = rings.iter().take_while(|ring| ring.lake == lake).peekable();
        let islands = &self.islands[self.islands.partition_point(|islands| islands.lake < lake)..];
        let mut inner = Vec::new();
        let mut order = BinaryHeap::new();
        for islands in islands.iter().take_while(|islands| islands.lake == lake) {
            let bytes = islands.bytes[0] as usize..islands.bytes[1] as usize;
            let records = Records::new(self.summaries, SHORES_NAME, islands.tile as usize, bytes)?;
            order.extend(records.next_key().map(|key| Reverse((key, inner.len()))));
            inner.push((records, islands.tile as usize));
        }
        loop {
            let next = order.peek().map(|Reverse((key, _))| *key);
            // No two lines begin at the same side, so ties do not occur.
            match rings.next_if(|ring| next.is_none_or(|key| ring.start < key)) {
                Some(ring) => self.report_ring(ring, found)?,
                None => {
                    let Some(Reverse((start, which))) = order.pop() else { return Ok(()) };
                    let (records, tile) = &mut inner[which];
                    let runs = records.read_next()?;
                    report_closed_line(self.map, *tile, start, &runs, found)?;
                    order.extend(records.next_key().map(|key| Reverse((key, which))));
                }
            }
        }
    }

    /// Reports a line that extends over several tiles.
    fn report_ring(&self, ring: &ShoreRing, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<()> {
        let mut line = ShorelineReport::begin_at(self.map, ring.start, found)?;
        // Each chain has its steps before its least side, part 0, and those after it, part 1.
        let mut draw = |id: u32, segments: Range<usize>| {
            let tile = self.firsts.partition_point(|first| *first <= id) - 1;
            let chain = &self.chains[id as usize];
            let [head, tail] = chain.lengths.map(|length| length as usize);
            let ends = [0, head, head + tail].map(|end| chain.at as usize + end);
            let runs = self.summaries.read_range(tile, ends[segments.start]..ends[segments.end])?;
            line.draw_runs(tile, &runs)?;
            Ok(chain.next)
        };
        // The line begins in the middle of its first chain: draw the end of that chain, all others, and then its
        // beginning.
        let mut at = draw(ring.chain, 1..2)?;
        while at != ring.chain {
            at = draw(at, 0..2)?;
        }
        draw(at, 0..1)?;
        line.close_line()
    }
}

/// Reports a line inside one tile, beginning at its first side.
pub(super) fn report_closed_line(
    map: &DrainageMap,
    tile: usize,
    start: u64,
    runs: &[u8],
    found: &mut dyn FnMut(Product) -> Result<()>,
) -> Result<()> {
    let mut line = ShorelineReport::begin_at(map, start, found)?;
    line.draw_runs(tile, runs)?;
    line.close_line()
}

/// A line that is being reported, as the ends of its straight segments, like in
/// [`outlines`](thalweg_render::products::lakes::outlines).
///
/// A line always turns where it begins: if it continued straight there, one of its other sides would come first in
/// row-major order.
struct ShorelineReport<'a> {
    /// The largest valid coordinates, in halves of a cell.
    max_position: [i64; 2],
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

impl<'a> ShorelineReport<'a> {
    /// Begins a line at a side, given as [`encode_side`].
    fn begin_at(map: &DrainageMap, start: u64, found: &'a mut dyn FnMut(Product) -> Result<()>) -> Result<Self> {
        let size = map.tiling.size();
        let cell = map.tiling.cell_from_index(start >> 2);
        if cell[0] >= size[0] {
            return Err(broken_lines_error());
        }
        let side = CellSide::new(cell.map(|at| at as isize), (start & 3) as usize);
        let origin = side.midpoint_half_cells().map(|at| at as i64);
        Ok(Self {
            max_position: size.map(|cells| (cells as i64).saturating_mul(2)),
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
    fn draw_runs(&mut self, tile: usize, runs: &[u8]) -> Result<()> {
        let mut reader = Reader::without_version(SHORES_NAME, tile, runs);
        while reader.remaining_bytes() > 0 {
            let run = reader.read_number()?;
            // A run is the number of steps times eight, plus the direction.
            let (direction, count) = (run as u8 & 7, run >> 3);
            // Only the points where the line turns are reported.
            if self.direction != Some(direction) {
                self.add_point()?;
                self.direction = Some(direction);
            }
            // A step along an axis, from one side's middle to the next, is one cell; a step round a corner is half a
            // cell along both axes.
            let halves = if direction % 2 == 0 { 2 } else { 1 };
            for axis in 0..2 {
                let step = D8::OFFSETS[usize::from(direction)][axis] as i64 * halves;
                let to = step.checked_mul(count as i64).and_then(|distance| distance.checked_add(self.at[axis]));
                // Damaged runs could lead out of the map, or overflow.
                let to = to.filter(|to| (0..=self.max_position[axis]).contains(to));
                self.at[axis] = to.ok_or_else(|| damaged_bytes_error(SHORES_NAME, tile))?;
            }
        }
        Ok(())
    }

    /// Adds the current position as a point, and reports the points if there are enough.
    fn add_point(&mut self) -> Result<()> {
        let point = self.at.map(|halves| 0.5 * halves as f64);
        self.first.get_or_insert(point);
        self.points.push(point);
        if self.points.len() < MAX_REPORTED_POINTS { Ok(()) } else { self.report_points() }
    }

    /// Reports the points collected so far.
    fn report_points(&mut self) -> Result<()> {
        let (points, begins) = (std::mem::take(&mut self.points), std::mem::take(&mut self.begins));
        (self.found)(Product::Shore { begins, points })
    }

    /// Closes the line, and reports the remaining points.
    fn close_line(mut self) -> Result<()> {
        let first = self.first.ok_or_else(broken_lines_error)?;
        if self.at != self.origin {
            return Err(broken_lines_error());
        }
        self.points.push(first);
        self.report_points()
    }
}

/// Reserves room for `count` more items, with little excess capacity.
fn reserve_items<T>(list: &mut Vec<T>, count: usize) {
    if list.capacity() - list.len() < count {
        // Growth by an eighth keeps the excess small, which `estimate_memory_bytes` counts as 9/8, and the number of
        // reallocations logarithmic.
        list.reserve_exact(count.max(list.len() / 8));
    }
}

/// Returns an upper limit, in bytes, of the memory for the shores of all tiles and their readers, for any terrain.
pub(super) fn estimate_memory_bytes(tiling: &TileGrid) -> u64 {
    // At most one line enters a tile at each corner of cells, so there are no more chains than corners on its rim. A
    // line over several tiles has at least two chains, and there is at most one lake per two rim cells.
    let [down, across] = tiling.tiles_per_axis();
    let corners = 2 * (tiling.size()[0] as u64 * across as u64 + tiling.size()[1] as u64 * down as u64);
    let chains = (size_of::<ShoreChain>() + size_of::<[u32; 2]>() + 1) as u64 * corners;
    let rings = size_of::<ShoreRing>() as u64 * corners.div_ceil(2);
    let islands = (size_of::<Islands>() as u64) * tiling.rim_cell_count().div_ceil(2);
    let tiles = (4 + size_of::<Range<usize>>() as u64 + records::READER + 32) * tiling.tile_count() as u64;
    (chains + rings + islands) / 8 * 9 + 9 + tiles + (2 * MAX_REPORTED_POINTS * size_of::<Cell<f64>>()) as u64
}

/// Returns the error for lines that do not fit together.
fn broken_lines_error() -> Error {
    Error::invalid_value(SHORES_NAME, "pieces that do not meet", "pieces from the tiles of one map")
}
