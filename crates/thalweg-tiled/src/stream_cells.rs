//! Drainage areas, basins and streams of every cell; assembles streams from the tiles' pieces as lines, with their
//! orders.

use rayon::prelude::*;

use crate::catchments::{CatchmentAnswer, TileFlowPaths, decode_tile_directions};
use crate::codec::{Reader, Writer};
use crate::layer::TileLayer;
use crate::part::{DrainageMap, Inputs, SharedMap, estimate_list_bytes};
use crate::pass::{Finding, LayerRead, Product, Summaries, TileInput, TileOutput, TilePass};
use thalweg_core::terrain::{ChannelReach, ReachId, Rim, path_length};
use thalweg_core::{Cell, CellRect, Error, Field, Height, Result};
use thalweg_flow::{D8, Directions, accumulate};
use thalweg_io::Samples;

const SUMMARY: &str = "summary of streams";
const ANSWER: &str = "answer of streams";

/// The pass that computes drainage areas and basins, and finds the tile's pieces of streams.
pub(super) struct DrainageAreaPass(pub(super) SharedMap);

/// The pass that computes the Strahler orders of cells.
pub(super) struct StreamOrderPass(pub(super) SharedMap);

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
    fn from_directions(directions: &'a Directions, is_stream: &'a dyn Fn(usize) -> bool, others: &[u8]) -> Self {
        let mut tributaries = vec![0u8; directions.len()];
        // Every stream cell is a tributary of the cell that it drains to.
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
    fn stream_receiver(&self, k: usize) -> Option<usize> {
        self.directions.next(k).filter(|n| *n < self.directions.len() && (self.is_stream)(*n))
    }
}

/// How a piece of a stream ends within its tile, or what kind of cell a stream from another tile enters.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PieceEnd {
    /// The piece continues in another tile; for a cell that a stream enters, the stream continues in this tile.
    Onward,
    /// A junction, where the count includes the water of other tributaries.
    Junction,
    /// An outlet.
    Outlet,
}

impl PieceEnd {
    fn from_code(code: u8) -> Option<Self> {
        [Self::Onward, Self::Junction, Self::Outlet].get(usize::from(code)).copied()
    }
}

impl TilePass for DrainageAreaPass {
    fn name(&self) -> &str {
        "streams"
    }

    fn input_layers(&self) -> Vec<LayerRead> {
        vec![TileLayer::Direction.with_halo(0), TileLayer::Filled.with_halo(0)]
    }

    fn output_layers(&self) -> Vec<String> {
        vec![TileLayer::Area.name().into(), TileLayer::Basin.name().into()]
    }

    fn run_tile(&self, TileInput { tile, layers, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let map = &self.0;
        let flow_paths = TileFlowPaths::from_layers(map, tile, &mut Inputs::new(layers))?;
        let catchment_answer = CatchmentAnswer::from_bytes(tile, &flow_paths, answer)?;
        let (size, cells) = (flow_paths.window.size(), flow_paths.filled.len());
        // Scatter the numbers of basins to the ends of flow paths, so that each cell finds its number without a search.
        let mut numbers = vec![0u32; cells];
        for (end, number) in flow_paths.nodes.iter().zip(&catchment_answer.numbers) {
            numbers[*end as usize] = *number;
        }
        let basin = |(end, height): (&u32, &i32)| {
            if map.is_dry(*height) { numbers.get(*end as usize).copied().unwrap_or(0) } else { 0 }
        };
        let basins: Vec<u32> = flow_paths.ends.as_slice().iter().zip(&flow_paths.filled).map(basin).collect();
        drop(numbers);
        // Each cell contributes itself; a rim cell also contributes the inflow from other tiles. Accumulation within
        // the tile then gives the counts of the whole map.
        let mut weights = Field::new(size, 1i64);
        for (cell, inflow) in Rim(size).cells().zip(&catchment_answer.inflows) {
            let inflow = i64::try_from(*inflow).unwrap_or(i64::MAX);
            weights[(cell[0], cell[1])] = inflow.saturating_add(1);
        }
        let counts = accumulate::accumulate_weights(&flow_paths.directions, &weights)?;
        drop(weights);
        let summary = encode_pieces(map, &flow_paths, &catchment_answer, &counts);
        let area = map.grid.cell_area();
        // Cells are counted as integers and multiplied once, so the area does not depend on the order of summation.
        let areas = counts.as_slice().iter().map(|count| *count as f64 * area).collect();
        Ok(TileOutput { layers: vec![Samples::F64(areas), Samples::U32(basins)], summary })
    }

    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let map = &self.0;
        map.tiling.check_count(summaries.count())?;
        let tiles = (0..map.tiling.tile_count()).into_par_iter();
        let tiles = tiles.map(|tile| TilePieces::from_summary(map, tile, &summaries.read(tile)?));
        let network = PieceNetwork { map, tiles: tiles.collect::<Result<Vec<_>>>()? };
        let (streams, arrivals) = network.assemble_streams()?;
        let answers = network.tiles.iter().zip(arrivals).map(|(tile, arrivals)| {
            let mut writer = Writer::new();
            writer.write_number(tile.doors.len() as u64);
            for (place, door) in tile.doors.iter().enumerate() {
                writer.write_number(door.place.into());
                writer.write_byte(door.streams);
                for d in (0..8).filter(|d| door.streams >> d & 1 == 1) {
                    let here =
                        arrivals.binary_search_by_key(&(place as u32, d), |arrival| (arrival.door, arrival.from));
                    writer.write_byte(here.map_or(0, |at| streams.orders[arrivals[at].stream as usize]));
                }
            }
            writer.finish()
        });
        let answers = answers.collect();
        // Reaches are reported in the order of their numbers, with the cells of one reach in memory at a time.
        for id in 0..streams.heads.len() {
            found(Product::Reach(network.build_reach(&streams, id, summaries)?))?;
        }
        Ok(answers)
    }

    fn solve_bytes(&self) -> u64 {
        let (reaches, rims) = (max_reaches(&self.0), self.0.tiling.rim_cell_count());
        // A piece begins where a reach does, or where a stream enters over the rim. Bytes per reach: its head, its
        // receiver, order, magnitude, and the state of the ordering.
        const REACH_BYTES: u64 = 16 + 4 + 1 + 4 + 4 + 2 + 4;
        let [pieces, doors, arrivals] =
            [size_of::<StreamPiece>(), size_of::<RimInflow>(), size_of::<StreamEntry>()].map(|n| n as u64);
        3 * estimate_list_bytes(&self.0.tiling)
            + pieces * (reaches + rims)
            + (doors + arrivals + 6) * rims
            + REACH_BYTES * reaches
    }

    fn reported_kind(&self) -> Finding {
        Finding::Streams { at_most: max_reaches(&self.0) }
    }
}

/// Returns the largest number of reaches that a map can have: the drainage areas of sources do not overlap, and there
/// are fewer junctions than sources.
fn max_reaches(map: &DrainageMap) -> u64 {
    let cells = map.tiling.index([map.grid.rows(), 0]);
    // For example, a threshold of 100 cells allows one source per 100 cells, and so one reach per 50 cells.
    cells.min(2 * (cells / map.min_stream_cells.max(1)))
}

/// Encodes the tile's pieces of streams, and the places where streams enter from other tiles.
fn encode_pieces(
    map: &DrainageMap,
    flow_paths: &TileFlowPaths,
    catchment_answer: &CatchmentAnswer,
    counts: &Field<i64>,
) -> Vec<u8> {
    let cols = flow_paths.window.size()[1];
    let rim = Rim(flow_paths.window.size());
    let is_stream = |k: usize| counts[k] as u64 >= map.min_stream_cells && map.is_dry(flow_paths.filled[k]);
    let streams = TileStreams::from_directions(&flow_paths.directions, &is_stream, &catchment_answer.streams);
    let tributaries = |k: usize| streams.tributaries[k];
    // A stream that leaves the tile to a cell above the sea continues there, because its drainage area does not
    // decrease.
    let leaves = |k: usize| {
        let place = rim.position_of_cell([k / cols, k % cols])?;
        let exit = flow_paths.exits[place]?;
        flow_paths.find_node(k).filter(|node| catchment_answer.onward[*node]).map(|_| exit)
    };
    let goes_on = |k: usize| streams.stream_receiver(k).is_some() || leaves(k).is_some();
    let end = |k: usize| if tributaries(k) > 1 { PieceEnd::Junction } else { PieceEnd::Outlet };
    let mut writer = Writer::new();
    // Write the doors: the rim cells that streams of other tiles enter. A stream continues through a door if it is the
    // only one there and flows on; otherwise it ends at this cell.
    let doors: Vec<(usize, usize)> = rim.cells().map(|Cell { row: i, col: j }| i * cols + j).enumerate().collect();
    let doors: Vec<_> =
        doors.into_iter().filter(|(place, k)| catchment_answer.streams[*place] != 0 && is_stream(*k)).collect();
    writer.write_number(doors.len() as u64);
    for (place, k) in &doors {
        let kind = if tributaries(*k) == 1 && goes_on(*k) { PieceEnd::Onward } else { end(*k) };
        writer.write_number(*place as u64);
        writer.write_byte(catchment_answer.streams[*place]);
        writer.write_byte(kind as u8);
        writer.write_difference(flow_paths.filled[*k].into());
        writer.write_number(counts[*k] as u64);
    }
    let comes_in = |k: usize| {
        rim.position_of_cell([k / cols, k % cols]).is_some_and(|place| catchment_answer.streams[place] != 0)
            && tributaries(k) == 1
    };
    // A piece begins at a source, at a junction, and where a stream enters the tile.
    let begins = |k: &usize| is_stream(*k) && goes_on(*k) && (tributaries(*k) != 1 || comes_in(*k));
    let starts: Vec<usize> = (0..flow_paths.filled.len()).filter(begins).collect();
    writer.write_number(starts.len() as u64);
    for start in starts {
        writer.write_number(start as u64);
        writer.write_difference(flow_paths.filled[start].into());
        // Follow the piece to the next junction, the end of the stream or the border of the tile.
        let (mut steps, mut at) = (Vec::new(), start);
        let (kind, before, last) = loop {
            let Some(next) = streams.stream_receiver(at) else {
                steps.extend(leaves(at).map(D8::code));
                break (PieceEnd::Onward, at, at);
            };
            steps.push(flow_paths.directions[at]);
            if tributaries(next) > 1 || !goes_on(next) {
                break (end(next), at, next);
            }
            at = next;
        };
        // In a tile without cycles there are fewer steps than cells.
        writer.write_number(steps.len() as u64);
        writer.write_bytes(&steps);
        writer.write_byte(kind as u8);
        writer.write_difference(flow_paths.filled[last].into());
        // The count of a junction includes the water of other tributaries, so that of the cell before it is the one of
        // this piece.
        let lowest = if kind == PieceEnd::Outlet { last } else { before };
        writer.write_number(counts[lowest] as u64);
    }
    writer.finish()
}

/// A cell where streams enter a tile over its rim.
struct RimInflow {
    place: u32,
    /// A bit for each neighbour that they come from.
    streams: u8,
    kind: PieceEnd,
    height: i32,
    count: u64,
}

/// The cells of a stream in one tile, and the cell of the next tile that it steps to.
struct StreamPiece {
    /// The tile index of its first cell.
    start: u32,
    kind: PieceEnd,
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
    doors: Vec<RimInflow>,
    pieces: Vec<StreamPiece>,
}

impl TilePieces {
    /// Decodes the summary of a tile.
    fn from_summary(map: &DrainageMap, tile: usize, summary: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(SUMMARY, tile, summary)?;
        let window = map.tiling.tile_window(tile);
        let rim = Rim(window.size()).len();
        let mut doors: Vec<RimInflow> = Vec::new();
        for _ in 0..reader.read_count()? {
            let (place, streams) = (reader.read_number_below(rim)? as u32, reader.read_byte()?);
            let kind = PieceEnd::from_code(reader.read_byte()?).ok_or_else(|| reader.damage_error())?;
            let (height, count) = (reader.read_difference_i32()?, reader.read_number()?);
            // Doors and pieces are searched by bisection, so they must ascend.
            if doors.last().is_some_and(|last| last.place >= place) {
                return Err(reader.damage_error());
            }
            doors.push(RimInflow { place, streams, kind, height, count });
        }
        doors.shrink_to_fit();
        let mut pieces: Vec<StreamPiece> = Vec::new();
        for _ in 0..reader.read_count()? {
            let (start, height) =
                (reader.read_number_below(window.size()[0] * window.size()[1])? as u32, reader.read_difference_i32()?);
            let count = reader.read_count()?;
            // A tile's message has a few bytes per cell, so positions fit 32 bits.
            let at = u32::try_from(summary.len() - reader.remaining_bytes()).map_err(|_| reader.damage_error())?;
            let mut last = tile_cell(window, start);
            let mut step = None;
            // Only the last cell and step are kept; the steps are read again when the reach is reported.
            for next in reader.read_bytes(count)? {
                let direction = D8::from_code(*next).ok_or_else(|| reader.damage_error())?;
                last = map.tiling.neighbour_cell(last, direction).ok_or_else(|| reader.damage_error())?;
                step = Some(direction);
            }
            let step = step.ok_or_else(|| reader.damage_error())?;
            let kind = PieceEnd::from_code(reader.read_byte()?).ok_or_else(|| reader.damage_error())?;
            let (end, cells) = (reader.read_difference_i32()?, reader.read_number()?);
            if pieces.last().is_some_and(|last| last.start >= start) {
                return Err(reader.damage_error());
            }
            let last = map.tiling.index(last);
            pieces.push(StreamPiece {
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
        reader.expect_end()?;
        Ok(Self { doors, pieces })
    }
}

/// Returns the map cell of a tile index.
fn tile_cell(window: CellRect, k: u32) -> Cell {
    Cell::new(window.start[0] + k as usize / window.size()[1], window.start[1] + k as usize % window.size()[1])
}

/// A stream that enters a tile.
struct StreamEntry {
    /// The index of the door.
    door: u32,
    /// The neighbour that it comes from.
    from: u8,
    stream: u32,
}

/// The streams of the whole map, without their cells.
struct MapStreams {
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
struct PieceNetwork<'a> {
    map: &'a DrainageMap,
    tiles: Vec<TilePieces>,
}

/// Where a stream leaves a piece and enters another tile.
struct RimOutflow<'a> {
    tile: usize,
    /// The index of the door.
    at: usize,
    door: &'a RimInflow,
    /// The piece in which it continues, if it does.
    piece: Option<usize>,
}

/// Returns the error for pieces that do not fit together.
fn broken_pieces_error() -> Error {
    Error::invalid_value("pieces of streams", "pieces that do not meet", "pieces from the tiles of one map")
}

impl PieceNetwork<'_> {
    fn find_door(&self, tile: usize, place: usize) -> Option<(usize, &RimInflow)> {
        let doors = &self.tiles[tile].doors;
        doors.binary_search_by_key(&place, |door| door.place as usize).ok().map(|at| (at, &doors[at]))
    }

    /// Returns true if a piece is the first of a stream. A piece that begins where a stream merely enters the tile is
    /// not.
    fn is_head(&self, tile: usize, piece: &StreamPiece) -> bool {
        let size = self.map.tiling.tile_window(tile).size();
        let place = Rim(size).position_of_cell([piece.start as usize / size[1], piece.start as usize % size[1]]);
        place.and_then(|place| self.find_door(tile, place)).is_none_or(|(_, door)| door.kind != PieceEnd::Onward)
    }

    /// Returns where a piece enters another tile; `None` if it ends in its own.
    fn find_onward(&self, piece: &StreamPiece) -> Result<Option<RimOutflow<'_>>> {
        if piece.kind != PieceEnd::Onward {
            return Ok(None);
        }
        let last = self.map.tiling.cell_from_index(piece.last);
        let (tile, place) = self.map.tiling.locate_cell(last);
        let (at, door) = place.and_then(|place| self.find_door(tile, place)).ok_or_else(broken_pieces_error)?;
        let piece = match door.kind {
            PieceEnd::Onward => {
                let window = self.map.tiling.tile_window(tile);
                let start = (last[0] - window.start[0]) * window.size()[1] + last[1] - window.start[1];
                let pieces = &self.tiles[tile].pieces;
                Some(
                    pieces
                        .binary_search_by_key(&start, |piece| piece.start as usize)
                        .map_err(|_| broken_pieces_error())?,
                )
            }
            _ => None,
        };
        Ok(Some(RimOutflow { tile, at, door, piece }))
    }

    /// Assembles the pieces of all tiles. Returns the streams, and for each tile the streams that enter it, in the
    /// order of its doors.
    fn assemble_streams(&self) -> Result<(MapStreams, Vec<Vec<StreamEntry>>)> {
        let tiling = &self.map.tiling;
        let mut heads: Vec<(u64, u32, u32)> = Vec::new();
        for (tile, pieces) in self.tiles.iter().enumerate() {
            let window = tiling.tile_window(tile);
            for (number, piece) in pieces.pieces.iter().enumerate().filter(|(_, piece)| self.is_head(tile, piece)) {
                // These fit 32 bits: there are fewer tiles than bytes of memory for their messages, and fewer pieces
                // than cells of a tile.
                heads.push((tiling.index(tile_cell(window, piece.start)), tile as u32, number as u32));
            }
        }
        if heads.len() >= NONE as usize || self.tiles.len() >= NONE as usize {
            return Err(Error::invalid_value(
                "streams",
                heads.len(),
                format!("fewer than {NONE}, because they are numbered with 32 bits; use a larger stream threshold"),
            ));
        }
        // Streams are numbered in the order of their first cells, which no two of them share.
        heads.par_sort_unstable();
        let mut arrivals: Vec<Vec<StreamEntry>> = self.tiles.iter().map(|_| Vec::new()).collect();
        let mut downstream = Vec::with_capacity(heads.len());
        // In total, streams cannot have more pieces than there are. This detects cycles in damaged summaries.
        let mut remaining_pieces: usize = self.tiles.iter().map(|tile| tile.pieces.len()).sum();
        for (id, (_, tile, number)) in heads.iter().enumerate() {
            let mut piece = &self.tiles[*tile as usize].pieces[*number as usize];
            loop {
                remaining_pieces = remaining_pieces.checked_sub(1).ok_or_else(broken_pieces_error)?;
                let Some(RimOutflow { tile, at, piece: next, .. }) = self.find_onward(piece)? else { break };
                arrivals[tile].push(StreamEntry {
                    door: at as u32,
                    from: piece.step.opposite().code(),
                    stream: id as u32,
                });
                let Some(next) = next else { break };
                piece = &self.tiles[tile].pieces[next];
            }
            // A stream whose last cell is the first cell of another one drains into it.
            let below = heads.binary_search_by_key(&piece.last, |head| head.0);
            downstream.push(below.map_or(NONE, |id| id as u32));
        }
        arrivals.iter_mut().for_each(|arrivals| arrivals.sort_unstable_by_key(|arrival| (arrival.door, arrival.from)));
        let (orders, magnitudes) = compute_orders(&downstream);
        Ok((MapStreams { heads, downstream, orders, magnitudes }, arrivals))
    }

    /// Returns a reach with its cells, which are read from the summaries.
    fn build_reach(&self, streams: &MapStreams, id: usize, summaries: &dyn Summaries) -> Result<ChannelReach> {
        let (head, tile, number) = streams.heads[id];
        let (mut tile, mut piece) = (tile as usize, &self.tiles[tile as usize].pieces[number as usize]);
        let (tiling, cell_size) = (&self.map.tiling, self.map.grid.cell);
        let mut end = tiling.cell_from_index(head);
        let mut cells = vec![end];
        let first = Height(piece.heights[0]);
        // Append the cells of all pieces of the reach.
        let (last, count) = loop {
            let [at, steps] = piece.steps.map(|n| n as usize);
            for step in summaries.read_range(tile, at..at + steps)?.iter() {
                let direction = D8::from_code(*step).ok_or_else(broken_pieces_error)?;
                end = tiling.neighbour_cell(end, direction).ok_or_else(broken_pieces_error)?;
                cells.push(end);
            }
            let Some(onward) = self.find_onward(piece)? else { break (piece.heights[1], piece.count) };
            // The count of an outlet includes its own cell; at a junction that of the cell before it is used.
            let count = if onward.door.kind == PieceEnd::Outlet { onward.door.count } else { piece.count };
            let Some(next) = onward.piece else { break (onward.door.height, count) };
            (tile, piece) = (onward.tile, &self.tiles[onward.tile].pieces[next]);
        };
        let (length, height_difference) = (cell_size * path_length(&cells), first.metres() - Height(last).metres());
        Ok(ChannelReach {
            id: id as ReachId,
            order: streams.orders[id].into(),
            magnitude: streams.magnitudes[id],
            cells,
            length,
            drop: height_difference,
            slope: height_difference / length,
            drainage_area: count as f64 * (cell_size * cell_size),
            downstream: Some(streams.downstream[id]).filter(|below| *below != NONE),
            hydraulics: None,
        })
    }
}

/// Computes the Strahler orders and Shreve magnitudes of streams, each after its tributaries.
fn compute_orders(downstream: &[u32]) -> (Vec<u8>, Vec<u32>) {
    // A stream is processed when all its tributaries are (Kahn 1962). Its order and magnitude depend on the set of
    // tributaries alone.
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
            tops[below].add_tributary(orders[id]);
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
    fn add_tributary(&mut self, order: u8) {
        // Two tributaries of the greatest order raise the order by one (Strahler). A new greatest order resets the
        // flag.
        self.twice = order == self.greatest || (self.twice && order < self.greatest);
        self.greatest = self.greatest.max(order);
    }

    /// Returns the Strahler order of the cell; 1 if it has no tributaries. No map has enough streams for an order
    /// above 255.
    fn order(self) -> u8 {
        self.greatest.saturating_add(u8::from(self.twice)).max(1)
    }
}

impl TilePass for StreamOrderPass {
    fn name(&self) -> &str {
        "orders"
    }

    fn input_layers(&self) -> Vec<LayerRead> {
        vec![TileLayer::Direction.with_halo(0), TileLayer::Filled.with_halo(0), TileLayer::Area.with_halo(0)]
    }

    fn output_layers(&self) -> Vec<String> {
        vec![TileLayer::Order.name().into()]
    }

    fn run_tile(&self, TileInput { tile, layers, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let map = &self.0;
        map.tiling.check_tile(tile)?;
        let window = map.tiling.tile_window(tile);
        let mut inputs = Inputs::new(layers);
        let codes = inputs.codes(TileLayer::Direction, window)?;
        let filled = inputs.heights(TileLayer::Filled, window)?;
        let areas = inputs.areas(TileLayer::Area, window)?;
        let (directions, _) = decode_tile_directions(map, window, codes)?;
        // Areas increase with counts, so the area of the least count is an exact threshold.
        let min_area = map.min_stream_cells as f64 * map.grid.cell_area();
        let is_stream = |k: usize| areas[k] >= min_area && map.is_dry(filled[k]);
        let streams = TileStreams::from_directions(&directions, &is_stream, &[]);
        // Begin with the orders of streams that enter from other tiles.
        let mut tops = vec![Top::default(); directions.len()];
        let mut reader = Reader::new(ANSWER, tile, answer)?;
        let rim = Rim(window.size());
        for _ in 0..reader.read_count()? {
            let Cell { row: i, col: j } = rim.cell_from_position(reader.read_number_below(rim.len())?);
            for _ in 0..reader.read_byte()?.count_ones() {
                tops[i * window.size()[1] + j].add_tributary(reader.read_byte()?);
            }
        }
        reader.expect_end()?;
        // Tributaries from other tiles are known already, so a cell only waits for those within the tile.
        let mut waits = streams.tributaries.clone();
        let mut orders = vec![0u8; directions.len()];
        for first in 0..directions.len() {
            let mut next = Some(first).filter(|k| is_stream(*k) && streams.tributaries[*k] == 0);
            // Each walk continues as long as it is the last to arrive at a cell.
            while let Some(k) = next {
                orders[k] = tops[k].order();
                next = streams.stream_receiver(k).filter(|n| {
                    tops[*n].add_tributary(orders[k]);
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
