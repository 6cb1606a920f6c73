//! Drainage areas, basins and streams of every cell; assembles streams from the tiles' pieces as lines, with their
//! orders.

use rayon::prelude::*;

use crate::catchments::{Told, Ways, within};
use crate::codec::{Reader, Writer};
use crate::layer::TileLayer;
use crate::part::{Inputs, Map, SharedMap, messages};
use crate::pass::{Finding, LayerRead, Product, Summaries, TileInput, TileOutput, TilePass};
use thalweg_core::terrain::{ChannelReach, ReachId, Rim, path_length};
use thalweg_core::{Cell, CellRect, Error, Field, Height, Result};
use thalweg_flow::{D8, Directions, accumulate};
use thalweg_io::Samples;

const SUMMARY: &str = "summary of streams";
const ANSWER: &str = "answer of streams";

/// The pass that computes drainage areas and basins, and finds the tile's pieces of streams.
pub(super) struct Gather(pub(super) SharedMap);

/// The pass that computes the Strahler orders of cells.
pub(super) struct Orders(pub(super) SharedMap);

/// The streams of a tile.
struct TileStreams<'a> {
    directions: &'a Directions,
    is_stream: &'a dyn Fn(usize) -> bool,
    /// For each cell, the number of streams that flow into it, from this tile and others.
    tributaries: Vec<u8>,
}

impl<'a> TileStreams<'a> {
    /// Finds the tributaries. `others` has for each cell of the rim a bit for each neighbour on another tile from
    /// which a stream flows in.
    fn of(directions: &'a Directions, is_stream: &'a dyn Fn(usize) -> bool, others: &[u8]) -> Self {
        let mut tributaries = vec![0u8; directions.len()];
        for k in (0..directions.len()).filter(|k| is_stream(*k)) {
            if let Some(n) = directions.next(k).and_then(|n| tributaries.get_mut(n)) {
                *n += 1;
            }
        }
        let [_, cols] = directions.size();
        for (Cell { row: i, col: j }, others) in Rim(directions.size()).cells().zip(others) {
            // Saturate: in invalid messages there may seem to be more tributaries than neighbours.
            let count = &mut tributaries[i * cols + j];
            *count = count.saturating_add(others.count_ones() as u8);
        }
        Self { directions, is_stream, tributaries }
    }

    /// Returns the stream cell of this tile that stream cell `k` drains to; `None` if there is none.
    fn onward(&self, k: usize) -> Option<usize> {
        self.directions.next(k).filter(|n| *n < self.directions.len() && (self.is_stream)(*n))
    }
}

/// How a piece of a stream ends within its tile, or what kind of cell a stream from another tile enters.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// The piece continues in another tile; for a cell that a stream enters, the stream continues in this tile.
    Onward,
    /// A junction, where the count includes the water of other tributaries.
    Junction,
    /// An outlet.
    Outlet,
}

impl End {
    fn of(code: u8) -> Option<Self> {
        [Self::Onward, Self::Junction, Self::Outlet].get(usize::from(code)).copied()
    }
}

impl TilePass for Gather {
    fn name(&self) -> &str {
        "streams"
    }

    fn reads(&self) -> Vec<LayerRead> {
        vec![TileLayer::Direction.with_halo(0), TileLayer::Filled.with_halo(0)]
    }

    fn writes(&self) -> Vec<String> {
        vec![TileLayer::Area.name().into(), TileLayer::Basin.name().into()]
    }

    fn run_tile(&self, TileInput { tile, layers, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let map = &self.0;
        let ways = Ways::find(map, tile, &mut Inputs::new(layers))?;
        let told = Told::read(tile, &ways, answer)?;
        let (size, cells) = (ways.window.size(), ways.filled.len());
        let mut numbers = vec![0u32; cells];
        for (end, number) in ways.nodes.iter().zip(&told.numbers) {
            numbers[*end as usize] = *number;
        }
        let basin = |(end, height): (&u32, &i32)| {
            if map.is_dry(*height) { numbers.get(*end as usize).copied().unwrap_or(0) } else { 0 }
        };
        let basins: Vec<u32> = ways.ends.as_slice().iter().zip(&ways.filled).map(basin).collect();
        drop(numbers);
        let mut weights = Field::new(size, 1i64);
        for (cell, inflow) in Rim(size).cells().zip(&told.inflows) {
            let inflow = i64::try_from(*inflow).unwrap_or(i64::MAX);
            weights[(cell[0], cell[1])] = inflow.saturating_add(1);
        }
        let counts = accumulate::accumulate_weights(&ways.directions, &weights)?;
        drop(weights);
        let summary = pieces(map, &ways, &told, &counts);
        let area = map.grid.cell_area();
        let areas = counts.as_slice().iter().map(|count| *count as f64 * area).collect();
        Ok(TileOutput { layers: vec![Samples::F64(areas), Samples::U32(basins)], summary })
    }

    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let map = &self.0;
        map.tiling.check_count(summaries.count())?;
        let tiles = (0..map.tiling.count()).into_par_iter();
        let tiles = tiles.map(|tile| TilePieces::read(map, tile, &summaries.read(tile)?));
        let network = Network { map, tiles: tiles.collect::<Result<Vec<_>>>()? };
        let (streams, arrivals) = network.join()?;
        let answers = network.tiles.iter().zip(arrivals).map(|(tile, arrivals)| {
            let mut writer = Writer::new();
            writer.number(tile.doors.len() as u64);
            for (place, door) in tile.doors.iter().enumerate() {
                writer.number(door.place.into());
                writer.byte(door.streams);
                for d in (0..8).filter(|d| door.streams >> d & 1 == 1) {
                    let here =
                        arrivals.binary_search_by_key(&(place as u32, d), |arrival| (arrival.door, arrival.from));
                    writer.byte(here.map_or(0, |at| streams.orders[arrivals[at].stream as usize]));
                }
            }
            writer.finish()
        });
        let answers = answers.collect();
        for id in 0..streams.heads.len() {
            found(Product::Reach(network.reach(&streams, id, summaries)?))?;
        }
        Ok(answers)
    }

    fn solve_bytes(&self) -> u64 {
        let (reaches, rims) = (max_reaches(&self.0), self.0.tiling.rims());
        // A piece begins where a reach does, or where a stream enters over the rim. Bytes per reach: its head, its
        // receiver, order, magnitude, and the state of the ordering.
        const REACH_BYTES: u64 = 16 + 4 + 1 + 4 + 4 + 2 + 4;
        let [pieces, doors, arrivals] = [size_of::<Piece>(), size_of::<Door>(), size_of::<Arrival>()].map(|n| n as u64);
        3 * messages(&self.0.tiling) + pieces * (reaches + rims) + (doors + arrivals + 6) * rims + REACH_BYTES * reaches
    }

    fn finds(&self) -> Finding {
        Finding::Streams { at_most: max_reaches(&self.0) }
    }
}

/// Returns the largest number of reaches that a map can have: the drainage areas of sources do not overlap, and there
/// are fewer junctions than sources.
fn max_reaches(map: &Map) -> u64 {
    let cells = map.tiling.index([map.grid.rows(), 0]);
    cells.min(2 * (cells / map.least.max(1)))
}

/// Encodes the tile's pieces of streams, and the places where streams enter from other tiles.
fn pieces(map: &Map, ways: &Ways, told: &Told, counts: &Field<i64>) -> Vec<u8> {
    let cols = ways.window.size()[1];
    let rim = Rim(ways.window.size());
    let is_stream = |k: usize| counts[k] as u64 >= map.least && map.is_dry(ways.filled[k]);
    let streams = TileStreams::of(&ways.directions, &is_stream, &told.streams);
    let tributaries = |k: usize| streams.tributaries[k];
    // A stream that leaves the tile to a cell above the sea continues there, because its drainage area does not
    // decrease.
    let leaves = |k: usize| {
        let place = rim.place([k / cols, k % cols])?;
        let exit = ways.exits[place]?;
        ways.node(k).filter(|node| told.onward[*node]).map(|_| exit)
    };
    let goes_on = |k: usize| streams.onward(k).is_some() || leaves(k).is_some();
    let end = |k: usize| if tributaries(k) > 1 { End::Junction } else { End::Outlet };
    let mut writer = Writer::new();
    let doors: Vec<(usize, usize)> = rim.cells().map(|Cell { row: i, col: j }| i * cols + j).enumerate().collect();
    let doors: Vec<_> = doors.into_iter().filter(|(place, k)| told.streams[*place] != 0 && is_stream(*k)).collect();
    writer.number(doors.len() as u64);
    for (place, k) in &doors {
        let kind = if tributaries(*k) == 1 && goes_on(*k) { End::Onward } else { end(*k) };
        writer.number(*place as u64);
        writer.byte(told.streams[*place]);
        writer.byte(kind as u8);
        writer.near(ways.filled[*k].into());
        writer.number(counts[*k] as u64);
    }
    let comes_in =
        |k: usize| rim.place([k / cols, k % cols]).is_some_and(|place| told.streams[place] != 0) && tributaries(k) == 1;
    let begins = |k: &usize| is_stream(*k) && goes_on(*k) && (tributaries(*k) != 1 || comes_in(*k));
    let starts: Vec<usize> = (0..ways.filled.len()).filter(begins).collect();
    writer.number(starts.len() as u64);
    for start in starts {
        writer.number(start as u64);
        writer.near(ways.filled[start].into());
        let (mut steps, mut at) = (Vec::new(), start);
        let (kind, before, last) = loop {
            let Some(next) = streams.onward(at) else {
                steps.extend(leaves(at).map(D8::code));
                break (End::Onward, at, at);
            };
            steps.push(ways.directions[at]);
            if tributaries(next) > 1 || !goes_on(next) {
                break (end(next), at, next);
            }
            at = next;
        };
        // In a tile without cycles there are fewer steps than cells.
        writer.number(steps.len() as u64);
        writer.bytes(&steps);
        writer.byte(kind as u8);
        writer.near(ways.filled[last].into());
        let lowest = if kind == End::Outlet { last } else { before };
        writer.number(counts[lowest] as u64);
    }
    writer.finish()
}

/// A cell where streams enter a tile over its rim.
struct Door {
    place: u32,
    /// A bit for each neighbour that they come from.
    streams: u8,
    kind: End,
    height: i32,
    count: u64,
}

/// The cells of a stream in one tile, and the cell of the next tile that it steps to.
struct Piece {
    /// The tile index of its first cell.
    start: u32,
    kind: End,
    /// The direction of its last step.
    step: D8,
    /// The position of its steps in the bytes of the summary, and their number.
    steps: [u32; 2],
    /// The heights of its first and its last cell.
    heights: [i32; 2],
    count: u64,
    /// The map index of its last cell.
    last: u64,
}

/// A decoded summary of a tile.
struct TilePieces {
    doors: Vec<Door>,
    pieces: Vec<Piece>,
}

impl TilePieces {
    /// Decodes the summary of a tile.
    fn read(map: &Map, tile: usize, summary: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(SUMMARY, tile, summary)?;
        let window = map.tiling.window(tile);
        let rim = Rim(window.size()).len();
        let mut doors: Vec<Door> = Vec::new();
        for _ in 0..reader.count()? {
            let (place, streams) = (reader.below(rim)? as u32, reader.byte()?);
            let kind = End::of(reader.byte()?).ok_or_else(|| reader.damaged())?;
            let (height, count) = (reader.near_i32()?, reader.number()?);
            if doors.last().is_some_and(|last| last.place >= place) {
                return Err(reader.damaged());
            }
            doors.push(Door { place, streams, kind, height, count });
        }
        doors.shrink_to_fit();
        let mut pieces: Vec<Piece> = Vec::new();
        for _ in 0..reader.count()? {
            let (start, height) = (reader.below(window.size()[0] * window.size()[1])? as u32, reader.near_i32()?);
            let count = reader.count()?;
            // A tile's message has a few bytes per cell, so positions fit 32 bits.
            let at = u32::try_from(summary.len() - reader.left()).map_err(|_| reader.damaged())?;
            let mut last = cell_of(window, start);
            let mut step = None;
            for next in reader.bytes(count)? {
                let direction = D8::from_code(*next).ok_or_else(|| reader.damaged())?;
                last = map.tiling.step(last, direction).ok_or_else(|| reader.damaged())?;
                step = Some(direction);
            }
            let step = step.ok_or_else(|| reader.damaged())?;
            let kind = End::of(reader.byte()?).ok_or_else(|| reader.damaged())?;
            let (end, cells) = (reader.near_i32()?, reader.number()?);
            if pieces.last().is_some_and(|last| last.start >= start) {
                return Err(reader.damaged());
            }
            let last = map.tiling.index(last);
            pieces.push(Piece {
                start,
                kind,
                step,
                steps: [at, count as u32],
                heights: [height, end],
                count: cells,
                last,
            });
        }
        pieces.shrink_to_fit();
        reader.end()?;
        Ok(Self { doors, pieces })
    }
}

/// Returns the map cell of a tile index.
fn cell_of(window: CellRect, k: u32) -> Cell {
    Cell::new(window.start[0] + k as usize / window.size()[1], window.start[1] + k as usize % window.size()[1])
}

/// A stream that enters a tile.
struct Arrival {
    /// The index of the door.
    door: u32,
    /// The neighbour that it comes from.
    from: u8,
    stream: u32,
}

/// The streams of the whole map, without their cells.
struct Streams {
    /// For each stream, the map index of its first cell, and the tile and index of its first piece.
    heads: Vec<(u64, u32, u32)>,
    /// For each stream, the stream that it flows into, or [`NONE`].
    downstream: Vec<u32>,
    orders: Vec<u8>,
    magnitudes: Vec<u32>,
}

/// Index that stands for no stream.
const NONE: u32 = u32::MAX;

/// The pieces of all tiles.
struct Network<'a> {
    map: &'a Map,
    tiles: Vec<TilePieces>,
}

/// Where a stream leaves a piece and enters another tile.
struct Onward<'a> {
    tile: usize,
    /// The index of the door.
    at: usize,
    door: &'a Door,
    /// The piece in which it continues, if it does.
    piece: Option<usize>,
}

/// Returns the error for pieces that do not fit together.
fn broken() -> Error {
    Error::value("pieces of streams", "pieces that do not meet", "pieces from the tiles of one map")
}

impl Network<'_> {
    fn door(&self, tile: usize, place: usize) -> Option<(usize, &Door)> {
        let doors = &self.tiles[tile].doors;
        doors.binary_search_by_key(&place, |door| door.place as usize).ok().map(|at| (at, &doors[at]))
    }

    /// Returns true if a piece is the first of a stream. A piece that begins where a stream merely enters the tile is
    /// not.
    fn is_head(&self, tile: usize, piece: &Piece) -> bool {
        let size = self.map.tiling.window(tile).size();
        let place = Rim(size).place([piece.start as usize / size[1], piece.start as usize % size[1]]);
        place.and_then(|place| self.door(tile, place)).is_none_or(|(_, door)| door.kind != End::Onward)
    }

    /// Returns where a piece enters another tile; `None` if it ends in its own.
    fn onward(&self, piece: &Piece) -> Result<Option<Onward<'_>>> {
        if piece.kind != End::Onward {
            return Ok(None);
        }
        let last = self.map.tiling.cell(piece.last);
        let (tile, place) = self.map.tiling.place(last);
        let (at, door) = place.and_then(|place| self.door(tile, place)).ok_or_else(broken)?;
        let piece = match door.kind {
            End::Onward => {
                let window = self.map.tiling.window(tile);
                let start = (last[0] - window.start[0]) * window.size()[1] + last[1] - window.start[1];
                let pieces = &self.tiles[tile].pieces;
                Some(pieces.binary_search_by_key(&start, |piece| piece.start as usize).map_err(|_| broken())?)
            }
            _ => None,
        };
        Ok(Some(Onward { tile, at, door, piece }))
    }

    /// Assembles the pieces of all tiles. Returns the streams, and for each tile the streams that enter it, in the
    /// order of its doors.
    fn join(&self) -> Result<(Streams, Vec<Vec<Arrival>>)> {
        let tiling = &self.map.tiling;
        let mut heads: Vec<(u64, u32, u32)> = Vec::new();
        for (tile, pieces) in self.tiles.iter().enumerate() {
            let window = tiling.window(tile);
            for (number, piece) in pieces.pieces.iter().enumerate().filter(|(_, piece)| self.is_head(tile, piece)) {
                // These fit 32 bits: there are fewer tiles than bytes of memory for their messages, and fewer pieces
                // than cells of a tile.
                heads.push((tiling.index(cell_of(window, piece.start)), tile as u32, number as u32));
            }
        }
        if heads.len() >= NONE as usize || self.tiles.len() >= NONE as usize {
            return Err(Error::value("streams", heads.len(), format!("fewer than {NONE}: numbers have 32 bits")));
        }
        heads.par_sort_unstable();
        let mut arrivals: Vec<Vec<Arrival>> = self.tiles.iter().map(|_| Vec::new()).collect();
        let mut downstream = Vec::with_capacity(heads.len());
        // In total, streams cannot have more pieces than there are. This detects cycles in damaged summaries.
        let mut left: usize = self.tiles.iter().map(|tile| tile.pieces.len()).sum();
        for (id, (_, tile, number)) in heads.iter().enumerate() {
            let mut piece = &self.tiles[*tile as usize].pieces[*number as usize];
            loop {
                left = left.checked_sub(1).ok_or_else(broken)?;
                let Some(Onward { tile, at, piece: next, .. }) = self.onward(piece)? else { break };
                arrivals[tile].push(Arrival { door: at as u32, from: piece.step.opposite().code(), stream: id as u32 });
                let Some(next) = next else { break };
                piece = &self.tiles[tile].pieces[next];
            }
            let below = heads.binary_search_by_key(&piece.last, |head| head.0);
            downstream.push(below.map_or(NONE, |id| id as u32));
        }
        arrivals.iter_mut().for_each(|arrivals| arrivals.sort_unstable_by_key(|arrival| (arrival.door, arrival.from)));
        let (orders, magnitudes) = order(&downstream);
        Ok((Streams { heads, downstream, orders, magnitudes }, arrivals))
    }

    /// Returns a reach with its cells, which are read from the summaries.
    fn reach(&self, streams: &Streams, id: usize, summaries: &dyn Summaries) -> Result<ChannelReach> {
        let (head, tile, number) = streams.heads[id];
        let (mut tile, mut piece) = (tile as usize, &self.tiles[tile as usize].pieces[number as usize]);
        let (tiling, cell_size) = (&self.map.tiling, self.map.grid.cell);
        let mut end = tiling.cell(head);
        let mut cells = vec![end];
        let first = Height(piece.heights[0]);
        // Append the cells of all pieces of the reach.
        let (last, count) = loop {
            let [at, steps] = piece.steps.map(|n| n as usize);
            for step in summaries.part(tile, at..at + steps)?.iter() {
                let direction = D8::from_code(*step).ok_or_else(broken)?;
                end = tiling.step(end, direction).ok_or_else(broken)?;
                cells.push(end);
            }
            let Some(onward) = self.onward(piece)? else { break (piece.heights[1], piece.count) };
            let count = if onward.door.kind == End::Outlet { onward.door.count } else { piece.count };
            let Some(next) = onward.piece else { break (onward.door.height, count) };
            (tile, piece) = (onward.tile, &self.tiles[onward.tile].pieces[next]);
        };
        let (length, drop) = (cell_size * path_length(&cells), first.metres() - Height(last).metres());
        Ok(ChannelReach {
            id: id as ReachId,
            order: streams.orders[id].into(),
            magnitude: streams.magnitudes[id],
            cells,
            length,
            drop,
            slope: drop / length,
            drainage_area: count as f64 * (cell_size * cell_size),
            downstream: Some(streams.downstream[id]).filter(|below| *below != NONE),
            hydraulics: None,
        })
    }
}

/// Computes the Strahler orders and Shreve magnitudes of streams, each after its tributaries.
fn order(downstream: &[u32]) -> (Vec<u8>, Vec<u32>) {
    let mut waits = vec![0u32; downstream.len()];
    for below in downstream.iter().filter(|below| **below != NONE) {
        waits[*below as usize] += 1;
    }
    let mut tops = vec![Top::default(); downstream.len()];
    let (mut orders, mut magnitudes) = (vec![0u8; downstream.len()], vec![0u32; downstream.len()]);
    let mut ready: Vec<u32> = (0..downstream.len() as u32).filter(|id| waits[*id as usize] == 0).collect();
    while let Some(id) = ready.pop().map(|id| id as usize) {
        orders[id] = tops[id].order();
        magnitudes[id] = magnitudes[id].max(1);
        if downstream[id] != NONE {
            let below = downstream[id] as usize;
            tops[below].take(orders[id]);
            magnitudes[below] = magnitudes[below].saturating_add(magnitudes[id]);
            waits[below] -= 1;
            if waits[below] == 0 {
                ready.push(below as u32);
            }
        }
    }
    (orders, magnitudes)
}

/// The greatest order of the tributaries of a cell so far, and whether more than one of them has it.
#[derive(Debug, Clone, Copy, Default)]
struct Top {
    greatest: u8,
    twice: bool,
}

impl Top {
    fn take(&mut self, order: u8) {
        self.twice = order == self.greatest || (self.twice && order < self.greatest);
        self.greatest = self.greatest.max(order);
    }

    /// Returns the Strahler order of the cell; 1 if it has no tributaries. No map has enough streams for an order
    /// above 255.
    fn order(self) -> u8 {
        self.greatest.saturating_add(u8::from(self.twice)).max(1)
    }
}

impl TilePass for Orders {
    fn name(&self) -> &str {
        "orders"
    }

    fn reads(&self) -> Vec<LayerRead> {
        vec![TileLayer::Direction.with_halo(0), TileLayer::Filled.with_halo(0), TileLayer::Area.with_halo(0)]
    }

    fn writes(&self) -> Vec<String> {
        vec![TileLayer::Order.name().into()]
    }

    fn run_tile(&self, TileInput { tile, layers, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let map = &self.0;
        map.tiling.check(tile)?;
        let window = map.tiling.window(tile);
        let mut inputs = Inputs::new(layers);
        let codes = inputs.codes(TileLayer::Direction, window)?;
        let filled = inputs.heights(TileLayer::Filled, window)?;
        let areas = inputs.areas(TileLayer::Area, window)?;
        let (directions, _) = within(map, window, codes)?;
        // Areas increase with counts, so the area of the least count is an exact threshold.
        let least = map.least as f64 * map.grid.cell_area();
        let is_stream = |k: usize| areas[k] >= least && map.is_dry(filled[k]);
        let streams = TileStreams::of(&directions, &is_stream, &[]);
        let mut tops = vec![Top::default(); directions.len()];
        let mut reader = Reader::new(ANSWER, tile, answer)?;
        let rim = Rim(window.size());
        for _ in 0..reader.count()? {
            let Cell { row: i, col: j } = rim.cell(reader.below(rim.len())?);
            for _ in 0..reader.byte()?.count_ones() {
                tops[i * window.size()[1] + j].take(reader.byte()?);
            }
        }
        reader.end()?;
        let mut waits = streams.tributaries.clone();
        let mut orders = vec![0u8; directions.len()];
        for first in 0..directions.len() {
            let mut next = Some(first).filter(|k| is_stream(*k) && streams.tributaries[*k] == 0);
            // Each walk continues as long as it is the last to arrive at a cell.
            while let Some(k) = next {
                orders[k] = tops[k].order();
                next = streams.onward(k).filter(|n| {
                    tops[*n].take(orders[k]);
                    waits[*n] -= 1;
                    waits[*n] == 0
                });
            }
        }
        Ok(TileOutput { layers: vec![Samples::U8(orders)], summary: Writer::new().finish() })
    }

    fn solve(&self, summaries: &dyn Summaries, _: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        self.0.tiling.check_count(summaries.count()).map(|()| Vec::new())
    }
}
