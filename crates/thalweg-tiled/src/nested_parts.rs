//! The part of a tile in computing the depressions under its lakes: events, in the order in which rising water
//! reaches them.
//!
//! A depression that has not reached the rim is known to the tile alone: the cell that completes it is in the tile,
//! and so its row of the result is final. Depressions that have reached the rim may continue in other tiles, so each
//! of their steps is reported as an event.

use std::collections::{BTreeMap, VecDeque};

use crate::codec::{Reader, Writer};
use crate::part::DrainageMap;
use crate::records;
use thalweg_core::terrain::Rim;
use thalweg_core::{CellRect, Height, Result};
use thalweg_render::products::nested::{Meeting, NestedDepression, RisingDepression, find_root, join_depressions};

/// An event of a lake in a tile.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// A depression that is known to the tile alone is complete.
    Row(NestedDepression),
    /// Water reaches a cell at which depressions meet, some of them shared, or a cell on the rim.
    Meet {
        height: i32,
        cell: u64,
        /// The cell's place on the rim, if it is on the rim.
        rim: Option<u32>,
        /// The depressions that were known to the tile alone, with water risen to this height.
        closed: Vec<RisingDepression>,
        /// The numbers of the shared depressions, within this lake of the tile.
        open: Vec<u32>,
        /// The number of the depression that they become: that of one of these, or the next free number.
        whole: u32,
    },
    /// A number of cells of this height that belong to a shared depression.
    Cells { height: i32, number: u32, cells: u64 },
    /// The one depression that contains everything the tile has of the lake, if none of it is shared.
    Rest(RisingDepression),
}

/// The sort key of events: height and cell. Events that belong to no cell come after all others of their height.
pub(super) type Order = (i32, u64);

impl Event {
    /// Returns the sort key of the event.
    pub(super) fn sort_key(&self, map: &DrainageMap) -> Order {
        match self {
            Self::Row(row) => (row.level.0, row.spill.map_or(u64::MAX, |cell| map.tiling.index(cell))),
            Self::Meet { height, cell, .. } => (*height, *cell),
            Self::Cells { height, .. } => (*height, u64::MAX),
            Self::Rest(_) => (i32::MAX, u64::MAX),
        }
    }

    /// Writes the event: its kind, its height and its fields.
    fn write(&self, map: &DrainageMap, writer: &mut Writer) {
        let (height, cell) = self.sort_key(map);
        match self {
            Self::Row(row) => {
                writer.write_byte(0);
                writer.write_difference(height.into());
                writer.write_number(cell);
                writer.write_number(row.id);
                writer.write_number(row.parent.unwrap_or_default());
                writer.write_number(map.tiling.index(row.pit));
                // The floor is written as its depth below the level, which is never negative and mostly short.
                writer.write_number(u64::from(height.abs_diff(row.floor.0)));
                writer.write_number(row.into.unwrap_or_default());
                writer.write_number(row.cells);
                writer.write_number(row.volume as u64);
            }
            Self::Meet { rim, closed, open, whole, .. } => {
                writer.write_byte(1);
                writer.write_difference(height.into());
                writer.write_number(cell);
                writer.write_option(rim.map(u64::from));
                writer.write_number(closed.len() as u64);
                closed.iter().for_each(|one| write_depression(*one, height, writer));
                writer.write_number(open.len() as u64);
                open.iter().for_each(|one| writer.write_number((*one).into()));
                writer.write_number((*whole).into());
            }
            Self::Cells { number, cells, .. } => {
                writer.write_byte(2);
                writer.write_difference(height.into());
                writer.write_number((*number).into());
                writer.write_number(*cells);
            }
            Self::Rest(one) => {
                writer.write_byte(3);
                writer.write_difference(one.at.into());
                write_depression(*one, one.at, writer);
            }
        }
    }

    /// Reads the next event of a lake.
    pub(super) fn read(map: &DrainageMap, lake: u32, reader: &mut Reader<'_>) -> Result<Self> {
        let kind = reader.read_byte()?;
        let height = reader.read_difference_i32()?;
        let index = |reader: &mut Reader<'_>| {
            let cell = reader.read_number()?;
            if cell < map.tiling.index([map.grid.rows(), 0]) { Ok(cell) } else { Err(reader.damage_error()) }
        };
        match kind {
            0 => {
                let cell = index(reader)?;
                let (id, parent) = (reader.read_number()?, reader.read_number()?);
                let pit = index(reader)?;
                let depth = u32::try_from(reader.read_number()?).map_err(|_| reader.damage_error())?;
                let (into, cells, volume) = (reader.read_number()?, reader.read_number()?, reader.read_number()?);
                let some = |number| Some(number).filter(|number| *number > 0);
                Ok(Self::Row(NestedDepression {
                    id,
                    parent: some(parent),
                    lake,
                    pit: map.tiling.cell_from_index(pit),
                    floor: Height(height.wrapping_sub_unsigned(depth)),
                    spill: Some(map.tiling.cell_from_index(cell)),
                    level: Height(height),
                    into: some(into),
                    into_lake: lake,
                    cells,
                    volume: volume.into(),
                }))
            }
            1 => {
                let cell = index(reader)?;
                let number =
                    |reader: &mut Reader<'_>| u32::try_from(reader.read_number()?).map_err(|_| reader.damage_error());
                let rim = if reader.read_byte()? != 0 { Some(number(reader)?) } else { None };
                let count = reader.read_count()?;
                let closed = (0..count).map(|_| read_depression(height, reader)).collect::<Result<_>>()?;
                let count = reader.read_count()?;
                let open = (0..count).map(|_| number(reader)).collect::<Result<_>>()?;
                Ok(Self::Meet { height, cell, rim, closed, open, whole: number(reader)? })
            }
            2 => {
                let number = u32::try_from(reader.read_number()?).map_err(|_| reader.damage_error())?;
                Ok(Self::Cells { height, number, cells: reader.read_number()? })
            }
            3 => Ok(Self::Rest(read_depression(height, reader)?)),
            _ => Err(reader.damage_error()),
        }
    }
}

/// Writes a depression of one tile, with water risen to `height`. Its number of cells and its volume have at most 62
/// bits.
fn write_depression(mut one: RisingDepression, height: i32, writer: &mut Writer) {
    one.raise_to(height);
    writer.write_number(one.id);
    writer.write_number(one.pit);
    writer.write_number(height.abs_diff(one.floor).into());
    writer.write_number(one.cells);
    writer.write_number(one.volume() as u64);
    writer.write_number(one.level_cells);
}

/// Reads what [`write_depression`] wrote.
fn read_depression(height: i32, reader: &mut Reader<'_>) -> Result<RisingDepression> {
    let (id, pit) = (reader.read_number()?, reader.read_number()?);
    let depth = u32::try_from(reader.read_number()?).map_err(|_| reader.damage_error())?;
    let (cells, volume, level_cells) = (reader.read_number()?, reader.read_number()?, reader.read_number()?);
    // The volume is height × cells − sum, so the sum follows from it. Volumes are shorter than sums, whose size depends
    // on the height above sea level.
    let sum = i128::from(height) * i128::from(cells) - i128::from(volume);
    Ok(RisingDepression { id, pit, floor: height.wrapping_sub_unsigned(depth), cells, sum, at: height, level_cells })
}

/// Approximate size of a record of events, in bytes. A solution decodes one record per tile at a time, so larger
/// records need more memory.
const CHUNK: usize = 2048;

/// Decodes the events of a lake from one record; further events may be in the next records.
pub(super) fn read_chunk(
    map: &DrainageMap,
    what: &'static str,
    tile: usize,
    lake: u32,
    bytes: &[u8],
) -> Result<VecDeque<Event>> {
    let mut reader = Reader::without_version(what, tile, bytes);
    let mut events = VecDeque::new();
    while reader.remaining_bytes() > 0 {
        events.push_back(Event::read(map, lake, &mut reader)?);
    }
    Ok(events)
}

/// Writes the events of a lake as records.
struct Chunks<'a> {
    map: &'a DrainageMap,
    lake: u32,
    list: &'a mut Vec<u8>,
    writer: Writer,
}

impl<'a> Chunks<'a> {
    fn new(map: &'a DrainageMap, lake: u32, list: &'a mut Vec<u8>) -> Self {
        Self { map, lake, list, writer: Writer::without_version() }
    }

    /// Appends an event, and completes the record if it is long enough.
    fn append_event(&mut self, event: &Event) {
        event.write(self.map, &mut self.writer);
        if self.writer.len() >= CHUNK {
            self.finish_record();
        }
    }

    /// Completes the current record.
    fn finish_record(&mut self) {
        let bytes = std::mem::replace(&mut self.writer, Writer::without_version()).finish();
        if !bytes.is_empty() {
            records::append_record(self.list, self.lake.into(), &bytes);
        }
    }
}

/// A depression of a tile.
#[derive(Clone, Copy)]
enum TileDepression {
    Closed(RisingDepression),
    /// A depression that is shared with other tiles; its number within this lake of the tile.
    Open(u32),
}

/// Index that stands for no depression yet.
const NONE: u32 = u32::MAX;

/// The rising of water in a tile's lakes, processed one after another.
pub(super) struct LakeFilling<'a> {
    map: &'a DrainageMap,
    window: CellRect,
    ground: &'a [i32],
    /// For each cell, the index of its depression.
    number: Vec<u32>,
    hollows: Vec<TileDepression>,
    up: Vec<u32>,
}

impl<'a> LakeFilling<'a> {
    pub(super) fn new(map: &'a DrainageMap, window: CellRect, ground: &'a [i32]) -> Self {
        Self { map, window, ground, number: vec![NONE; ground.len()], hollows: Vec::new(), up: Vec::new() }
    }

    /// Appends the events of a lake to `list`. `cells` are the lake's cells in the tile, in the order in which water
    /// reaches them.
    pub(super) fn append_lake_events(&mut self, lake: u32, cells: &[u32], list: &mut Vec<u8>) {
        let (start, [rows, cols]) = (self.window.start, self.window.size());
        let mut chunks = Chunks::new(self.map, lake, list);
        self.hollows.clear();
        self.up.clear();
        let (mut adjacent, mut rising, mut open) = (Vec::new(), Vec::new(), Vec::new());
        // `numbers` is the next free number of a shared depression.
        let mut numbers = 0u32;
        // Numbers of cells of the current height, by shared depressions.
        let mut level: BTreeMap<u32, u64> = BTreeMap::new();
        let mut at = i32::MIN;
        // Cells that only extend a shared depression are counted per height, in one event for all of them.
        let tell = |chunks: &mut Chunks<'_>, level: &mut BTreeMap<u32, u64>, height: i32| {
            for (number, cells) in std::mem::take(level) {
                chunks.append_event(&Event::Cells { height, number, cells });
            }
        };
        // Water reaches the cells in ascending order of height, cells of one height in row-major order.
        for k in cells.iter().map(|k| *k as usize) {
            let height = self.ground[k];
            if height != at {
                tell(&mut chunks, &mut level, at);
                at = height;
            }
            let (i, j) = (k / cols, k % cols);
            adjacent.clear();
            rising.clear();
            open.clear();
            // Collect the depressions of neighbouring cells that are already under water, each once.
            for [di, dj] in thalweg_flow::D8::OFFSETS {
                let [r, c] = [i.wrapping_add_signed(di), j.wrapping_add_signed(dj)];
                if r < rows && c < cols && self.number[r * cols + c] != NONE {
                    let top = find_root(&mut self.up, self.number[r * cols + c]);
                    if !adjacent.contains(&top) {
                        adjacent.push(top);
                        match self.hollows[top as usize] {
                            TileDepression::Closed(one) => rising.push(one),
                            TileDepression::Open(one) => open.push(one),
                        }
                    }
                }
            }
            let rim = Rim([rows, cols]).position_of_cell([i, j]);
            let cell = self.map.tiling.index([start[0] + i, start[1] + j]);
            // Three cases: all depressions are local, so meeting them is resolved here; the cell merely extends one
            // shared depression; or other tiles must take part, so an event is reported.
            let whole = match (rim, &open[..]) {
                (None, []) => {
                    let at = Meeting { cell, height, lake, cols: self.map.tiling.size()[1] as u64 };
                    TileDepression::Closed(join_depressions(at, &mut rising, |row| {
                        chunks.append_event(&Event::Row(row))
                    }))
                }
                (None, [one]) if rising.is_empty() => {
                    *level.entry(*one).or_default() += 1;
                    TileDepression::Open(*one)
                }
                _ => {
                    let whole = open.first().copied().unwrap_or(numbers);
                    numbers += u32::from(open.is_empty());
                    let rim = rim.map(|place| place as u32);
                    let (closed, open) = (rising.clone(), open.clone());
                    chunks.append_event(&Event::Meet { height, cell, rim, closed, open, whole });
                    TileDepression::Open(whole)
                }
            };
            // Connect the cell and all adjacent depressions to one root, which holds the depression that they become.
            let here = adjacent.first().copied().unwrap_or(self.up.len() as u32);
            if adjacent.is_empty() {
                self.up.push(here);
                self.hollows.push(whole);
            }
            self.hollows[here as usize] = whole;
            adjacent.iter().for_each(|one| self.up[*one as usize] = here);
            self.number[k] = here;
        }
        tell(&mut chunks, &mut level, at);
        // A part that never reached the rim or a shared depression ends as one local depression: the lake is in this
        // tile alone.
        for (one, hollow) in self.hollows.iter().enumerate() {
            if let TileDepression::Closed(rest) = hollow
                && self.up[one] as usize == one
            {
                chunks.append_event(&Event::Rest(*rest));
            }
        }
        chunks.finish_record();
    }
}
