//! Counts, basins and streams of every cell; streams put together as lines out of the pieces that tiles have of them; their orders.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::base::error::{Error, Result};
use crate::flow::{Directions, accumulate};
use crate::io::Samples;
use crate::terrain::field::{Field, Window};
use crate::terrain::height::Height;
use crate::tiled::catchments::{Told, Ways, within};
use crate::tiled::codec::{Reader, Writer};
use crate::tiled::layer::TileLayer;
use crate::tiled::part::{Inputs, Map, SharedMap};
use crate::tiled::stream_paths::StreamPath;
use crate::tiled::tiling::Rim;
use crate::tiled::{Product, Solved, Step};

const SUMMARY: &str = "summary of streams";
const ANSWER: &str = "answer of streams";

/// Catchments, basins, and the tile's pieces of streams.
pub(super) struct Gather(pub(super) SharedMap);

/// Strahler's orders.
pub(super) struct Orders(pub(super) SharedMap);

/// The streams of a tile.
struct TileStreams<'a> {
    directions: &'a Directions,
    is_stream: &'a dyn Fn(usize) -> bool,
    /// For each cell the streams that run into it, from this tile and others.
    tributaries: Vec<u8>,
}

impl<'a> TileStreams<'a> {
    /// `others` are for each cell of the rim the neighbours on other tiles from which a stream comes.
    fn of(directions: &'a Directions, is_stream: &'a dyn Fn(usize) -> bool, others: &[u8]) -> Self {
        let mut tributaries = vec![0u8; directions.len()];
        for k in (0..directions.len()).filter(|k| is_stream(*k)) {
            if let Some(n) = directions.next(k).and_then(|n| tributaries.get_mut(n)) {
                *n += 1;
            }
        }
        let [_, cols] = directions.size();
        for ([i, j], others) in Rim(directions.size()).cells().zip(others) {
            // Of directions from elsewhere more may seem to come than there are neighbours.
            let count = &mut tributaries[i * cols + j];
            *count = count.saturating_add(others.count_ones() as u8);
        }
        Self { directions, is_stream, tributaries }
    }

    /// The stream cell of this tile that stream cell `k` drains to.
    fn onward(&self, k: usize) -> Option<usize> {
        self.directions.next(k).filter(|n| *n < self.directions.len() && (self.is_stream)(*n))
    }
}

/// What a piece of a stream comes to within its tile, or where a stream comes from another tile.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// It goes on in another tile; on a cell where a stream comes in, it goes on in this one.
    Onward,
    /// A junction: the water of others is in the count there.
    Junction,
    /// An outlet.
    Outlet,
}

impl End {
    fn of(code: u8) -> Option<Self> {
        [Self::Onward, Self::Junction, Self::Outlet].get(usize::from(code)).copied()
    }
}

impl Step for Gather {
    fn name(&self) -> &'static str {
        "streams"
    }

    fn reads(&self) -> &[(TileLayer, usize)] {
        &[(TileLayer::Direction, 0), (TileLayer::Filled, 0)]
    }

    fn writes(&self) -> &[TileLayer] {
        &[TileLayer::Area, TileLayer::Basin]
    }

    fn tile(&self, tile: usize, inputs: Vec<Samples>, answer: &[u8]) -> Result<(Vec<Samples>, Vec<u8>)> {
        let map = &self.0;
        let ways = Ways::find(map, tile, &mut Inputs::new(inputs))?;
        let told = Told::read(tile, &ways, answer)?;
        let (size, cells) = (ways.window.size, ways.filled.len());
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
        let counts = accumulate::weighted(&ways.directions, &weights)?;
        drop(weights);
        let summary = pieces(map, &ways, &told, &counts);
        let area = map.grid.cell_area();
        let areas = counts.as_slice().iter().map(|count| *count as f64 * area).collect();
        Ok((vec![Samples::F64(areas), Samples::U32(basins)], summary))
    }

    fn solve(&self, summaries: Vec<Vec<u8>>) -> Result<Solved> {
        let map = &self.0;
        map.tiling.check_count(summaries.len())?;
        let tiles = summaries.par_iter().enumerate().map(|(tile, summary)| TilePieces::read(map, tile, summary));
        let tiles = tiles.collect::<Result<Vec<_>>>()?;
        drop(summaries);
        let (streams, arrivals) = join(map, &tiles)?;
        let answers = tiles.iter().zip(arrivals).map(|(tile, arrivals)| {
            let mut writer = Writer::new();
            writer.number(tile.doors.len() as u64);
            for (place, door) in tile.doors.iter().enumerate() {
                writer.number(door.place as u64);
                writer.byte(door.streams);
                for d in (0..8).filter(|d| door.streams >> d & 1 == 1) {
                    let stream = arrivals.get(&(place, d)).and_then(|id| streams.get(*id as usize));
                    writer.byte(stream.map_or(0, |stream: &StreamPath| stream.order.min(255) as u8));
                }
            }
            writer.finish()
        });
        let answers = answers.collect();
        Ok(Solved { answers, product: Some(Product::Streams(streams)) })
    }
}

/// The tile's pieces of streams, and where streams come from other tiles.
fn pieces(map: &Map, ways: &Ways, told: &Told, counts: &Field<i64>) -> Vec<u8> {
    let cols = ways.window.size[1];
    let rim = Rim(ways.window.size);
    let is_stream = |k: usize| counts[k] as u64 >= map.least && map.is_dry(ways.filled[k]);
    let streams = TileStreams::of(&ways.directions, &is_stream, &told.streams);
    let tributaries = |k: usize| streams.tributaries[k];
    // Where a stream leaves the tile for a cell above the sea, it goes on: there its catchment is no less.
    let leaves = |k: usize| {
        let place = rim.place([k / cols, k % cols])?;
        let exit = ways.exits[place]?;
        ways.node(k).filter(|node| told.onward[*node]).map(|_| exit)
    };
    let goes_on = |k: usize| streams.onward(k).is_some() || leaves(k).is_some();
    let end = |k: usize| if tributaries(k) > 1 { End::Junction } else { End::Outlet };
    let mut writer = Writer::new();
    let doors: Vec<(usize, usize)> = rim.cells().map(|[i, j]| i * cols + j).enumerate().collect();
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
                steps.extend(leaves(at));
                break (End::Onward, at, at);
            };
            steps.push(ways.directions[at]);
            if tributaries(next) > 1 || !goes_on(next) {
                break (end(next), at, next);
            }
            at = next;
        };
        // Steps within a tile without circles are fewer than its cells.
        writer.number(steps.len() as u64);
        writer.bytes(&steps);
        writer.byte(kind as u8);
        writer.near(ways.filled[last].into());
        let lowest = if kind == End::Outlet { last } else { before };
        writer.number(counts[lowest] as u64);
    }
    writer.finish()
}

/// Where streams come into a tile over its rim.
struct Door {
    place: usize,
    /// The neighbours that they come from.
    streams: u8,
    kind: End,
    height: i32,
    count: u64,
}

/// A stream's cells in one tile, and the one that it steps on to.
struct Piece {
    start: usize,
    /// It begins here, and does not come from another tile.
    heights: [i32; 2],
    steps: Vec<u8>,
    kind: End,
    count: u64,
}

/// A tile's summary, read.
struct TilePieces {
    doors: Vec<Door>,
    pieces: Vec<Piece>,
}

impl TilePieces {
    fn read(map: &Map, tile: usize, summary: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(SUMMARY, tile, summary)?;
        let size = map.tiling.window(tile).size;
        let rim = Rim(size).len();
        let mut doors: Vec<Door> = Vec::new();
        for _ in 0..reader.count()? {
            let (place, streams) = (reader.below(rim)?, reader.byte()?);
            let kind = End::of(reader.byte()?).ok_or_else(|| reader.damaged())?;
            let (height, count) = (reader.near_i32()?, reader.number()?);
            if doors.last().is_some_and(|last| last.place >= place) {
                return Err(reader.damaged());
            }
            doors.push(Door { place, streams, kind, height, count });
        }
        let mut pieces: Vec<Piece> = Vec::new();
        for _ in 0..reader.count()? {
            let (start, height) = (reader.below(size[0] * size[1])?, reader.near_i32()?);
            let count = reader.count()?;
            let steps = reader.bytes(count)?.to_vec();
            let kind = End::of(reader.byte()?).ok_or_else(|| reader.damaged())?;
            let (end, count) = (reader.near_i32()?, reader.number()?);
            let wrong = steps.is_empty() || steps.iter().any(|step| *step > 7);
            if wrong || pieces.last().is_some_and(|last| last.start >= start) {
                return Err(reader.damaged());
            }
            pieces.push(Piece { start, heights: [height, end], steps, kind, count });
        }
        reader.end()?;
        Ok(Self { doors, pieces })
    }
}

/// For each tile which streams come in: door and neighbour, and the number of the stream.
type Arrivals = Vec<HashMap<(usize, u8), u32>>;

/// Puts the pieces of all tiles together.
fn join(map: &Map, tiles: &[TilePieces]) -> Result<(Vec<StreamPath>, Arrivals)> {
    let broken = || Error::value("pieces of streams", "some that do not meet", "those of the tiles of one map");
    let tiling = &map.tiling;
    let cell = |tile: usize, k: usize| {
        let Window { start, size } = tiling.window(tile);
        [start[0] + k / size[1], start[1] + k % size[1]]
    };
    let door = |tile: usize, place: usize| {
        let doors = &tiles[tile].doors;
        doors.binary_search_by_key(&place, |door| door.place).ok().map(|at| (at, &doors[at]))
    };
    // What begins where a stream only comes in is no head.
    let is_head = |tile: usize, piece: &Piece| {
        let [i, j] = [piece.start / tiling.window(tile).size[1], piece.start % tiling.window(tile).size[1]];
        let place = Rim(tiling.window(tile).size).place([i, j]);
        place.and_then(|place| door(tile, place)).is_none_or(|(_, door)| door.kind != End::Onward)
    };
    let mut heads: Vec<(u64, usize, usize)> = Vec::new();
    for (tile, pieces) in tiles.iter().enumerate() {
        for (number, piece) in pieces.pieces.iter().enumerate().filter(|(_, piece)| is_head(tile, piece)) {
            heads.push((tiling.index(cell(tile, piece.start)), tile, number));
        }
    }
    if heads.len() >= u32::MAX as usize {
        return Err(Error::value("streams", heads.len(), format!("fewer than {}: numbers have 32 bits", u32::MAX)));
    }
    heads.par_sort_unstable();
    let mut arrivals: Arrivals = tiles.iter().map(|_| HashMap::new()).collect();
    let mut streams = Vec::with_capacity(heads.len());
    // No stream has more pieces than there are.
    let mut left: usize = tiles.iter().map(|tile| tile.pieces.len()).sum();
    for (id, (_, tile, number)) in heads.iter().enumerate() {
        let (mut tile, mut piece) = (*tile, &tiles[*tile].pieces[*number]);
        let mut path = StreamPath { head: cell(tile, piece.start), ..StreamPath::default() };
        path.heights[0] = Height(piece.heights[0]);
        loop {
            left = left.checked_sub(1).ok_or_else(broken)?;
            let from = path.steps.len();
            path.steps.extend_from_slice(&piece.steps);
            (path.heights[1], path.cells) = (Height(piece.heights[1]), piece.count);
            if piece.kind != End::Onward {
                break;
            }
            let part =
                StreamPath { head: cell(tile, piece.start), steps: piece.steps.clone(), ..StreamPath::default() };
            let last = part.cells().last().filter(|_| part.fits(tiling.size())).ok_or_else(broken)?;
            let (to, place) = tiling.place(last);
            let (at, door) = place.and_then(|place| door(to, place)).ok_or_else(broken)?;
            arrivals[to].insert((at, path.steps[path.steps.len() - 1] ^ 4), id as u32);
            debug_assert!(from < path.steps.len());
            path.heights[1] = Height(door.height);
            match door.kind {
                End::Junction => break,
                End::Outlet => {
                    path.cells = door.count;
                    break;
                }
                End::Onward => {
                    let window = tiling.window(to);
                    let start = (last[0] - window.start[0]) * window.size[1] + last[1] - window.start[1];
                    let pieces = &tiles[to].pieces;
                    let next = pieces.binary_search_by_key(&start, |piece| piece.start).map_err(|_| broken())?;
                    (tile, piece) = (to, &pieces[next]);
                }
            }
        }
        if !path.fits(tiling.size()) {
            return Err(broken());
        }
        let end = path.cells().last().map(|cell| tiling.index(cell));
        let below = end.and_then(|end| heads.binary_search_by_key(&end, |head| head.0).ok());
        path.downstream = below.map(|id| id as u32);
        streams.push(path);
    }
    order(&mut streams);
    Ok((streams, arrivals))
}

/// Gives streams their orders and magnitudes, each after those that run into it.
fn order(streams: &mut [StreamPath]) {
    let mut waits = vec![0u32; streams.len()];
    for below in streams.iter().filter_map(|stream| stream.downstream) {
        waits[below as usize] += 1;
    }
    let mut tops = vec![Top::default(); streams.len()];
    let mut ready: Vec<usize> = (0..streams.len()).filter(|id| waits[*id] == 0).collect();
    while let Some(id) = ready.pop() {
        streams[id].order = tops[id].order().into();
        streams[id].magnitude = streams[id].magnitude.max(1);
        let (order, magnitude) = (streams[id].order, streams[id].magnitude);
        if let Some(below) = streams[id].downstream.map(|below| below as usize) {
            tops[below].take(order as u8);
            streams[below].magnitude = streams[below].magnitude.saturating_add(magnitude);
            waits[below] -= 1;
            if waits[below] == 0 {
                ready.push(below);
            }
        }
    }
}

/// The greatest order that has come to a cell, and whether more than one has it.
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

    /// Strahler's order there; a source's if nothing has come. No map has streams enough for more than 255.
    fn order(self) -> u8 {
        self.greatest.saturating_add(u8::from(self.twice)).max(1)
    }
}

impl Step for Orders {
    fn name(&self) -> &'static str {
        "orders"
    }

    fn reads(&self) -> &[(TileLayer, usize)] {
        &[(TileLayer::Direction, 0), (TileLayer::Filled, 0), (TileLayer::Area, 0)]
    }

    fn writes(&self) -> &[TileLayer] {
        &[TileLayer::Order]
    }

    fn tile(&self, tile: usize, inputs: Vec<Samples>, answer: &[u8]) -> Result<(Vec<Samples>, Vec<u8>)> {
        let map = &self.0;
        map.tiling.check(tile)?;
        let window = map.tiling.window(tile);
        let mut inputs = Inputs::new(inputs);
        let codes = inputs.codes(TileLayer::Direction, window)?;
        let filled = inputs.heights(TileLayer::Filled, window)?;
        let areas = inputs.areas(TileLayer::Area, window)?;
        let (directions, _) = within(map, window, codes)?;
        // Areas rise with counts: the least count's tells them apart.
        let least = map.least as f64 * map.grid.cell_area();
        let is_stream = |k: usize| areas[k] >= least && map.is_dry(filled[k]);
        let streams = TileStreams::of(&directions, &is_stream, &[]);
        let mut tops = vec![Top::default(); directions.len()];
        let mut reader = Reader::new(ANSWER, tile, answer)?;
        let rim = Rim(window.size);
        for _ in 0..reader.count()? {
            let [i, j] = rim.cell(reader.below(rim.len())?);
            for _ in 0..reader.byte()?.count_ones() {
                tops[i * window.size[1] + j].take(reader.byte()?);
            }
        }
        reader.end()?;
        let mut waits = streams.tributaries.clone();
        let mut orders = vec![0u8; directions.len()];
        for first in 0..directions.len() {
            let mut next = Some(first).filter(|k| is_stream(*k) && streams.tributaries[*k] == 0);
            // Each walk goes on as far as it is the last to come.
            while let Some(k) = next {
                orders[k] = tops[k].order();
                next = streams.onward(k).filter(|n| {
                    tops[*n].take(orders[k]);
                    waits[*n] -= 1;
                    waits[*n] == 0
                });
            }
        }
        Ok((vec![Samples::U8(orders)], Writer::new().finish()))
    }

    fn solve(&self, summaries: Vec<Vec<u8>>) -> Result<Solved> {
        map_answers(&self.0, summaries)
    }
}

/// Answers that say nothing.
fn map_answers(map: &Map, summaries: Vec<Vec<u8>>) -> Result<Solved> {
    map.tiling.check_count(summaries.len())?;
    Ok(Solved { answers: summaries, product: None })
}
