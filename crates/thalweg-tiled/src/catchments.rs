//! Flow accumulation and basins over tiles.
//!
//! The method follows Barnes (2017, doi:10.1016/j.cageo.2017.02.001): a tile reports where the water of each cell of
//! its rim flows on, and how many of its own cells drain that way. The first dry cell of each basin is passed on in
//! the same way, so that basins are numbered as in memory.

use rayon::prelude::*;

use crate::codec::{Reader, Writer};
use crate::layer::TileLayer;
use crate::numbering::{Closed, Counter, ItemNumbering, ItemStart};
use crate::part::{DrainageMap, Inputs, SharedMap, estimate_list_bytes};
use crate::pass::{LayerRead, Product, Summaries, TileInput, TileOutput, TilePass};
use thalweg_core::terrain::{Rim, TileGrid};
use thalweg_core::{Cell, CellRect, Error, Field, Result};
use thalweg_flow::basins::propagate_outlet_labels;
use thalweg_flow::{D8, Directions, OUT, VOID, accumulate};

const SUMMARY: &str = "summary of catchments";
const ANSWER: &str = "answer of catchments";

/// The pass that accumulates flow within tiles and connects the tiles' flow paths.
pub(super) struct CatchmentsPass(pub(super) SharedMap);

/// Index that stands for no end or no node.
const NONE: u32 = u32::MAX;

/// The flow paths within a tile.
pub(super) struct TileFlowPaths {
    pub(super) window: CellRect,
    /// Directions within the tile. Cells whose water flows on into another tile are ends.
    pub(super) directions: Directions,
    /// The filled heights of the tile's own cells.
    pub(super) filled: Vec<i32>,
    /// For each cell of the rim, the direction in which its water flows into another tile; `None` if it does not.
    pub(super) exits: Vec<Option<D8>>,
    /// For each cell, the cell where its flow path within the tile ends.
    pub(super) ends: Field<u32>,
    /// End cells of flow paths, in ascending order: those that drain into another tile, those that a dry cell drains
    /// to, and those that water of another tile may reach.
    pub(super) nodes: Vec<u32>,
    /// For each node, the first dry cell that drains to it.
    pub(super) firsts: Vec<Option<u32>>,
    /// For each node, true if other tiles must know of it: it drains into another tile, or water of another tile may
    /// reach it.
    pub(super) shared: Vec<bool>,
}

impl TileFlowPaths {
    /// Computes the flow paths from the directions and the filled surface, which must be the next two layers of
    /// `inputs`.
    pub(super) fn from_layers(map: &DrainageMap, tile: usize, inputs: &mut Inputs) -> Result<Self> {
        map.tiling.check_tile(tile)?;
        let window = map.tiling.tile_window(tile);
        let (start, size) = (window.start, window.size());
        let codes = inputs.codes(TileLayer::Direction, window)?;
        let filled = inputs.heights(TileLayer::Filled, window)?;
        let (directions, exits) = decode_tile_directions(map, window, codes)?;
        // Each cell begins as the label of itself, and every cell then takes the label of the end of its path. Paths in
        // cycles have no end and get `NONE`.
        let mut ends = Field::new(size, NONE);
        ends.as_mut_slice().iter_mut().enumerate().for_each(|(k, end)| *end = k as u32);
        propagate_outlet_labels(&directions, &mut ends, NONE);
        debug_assert!(start[0] < map.grid.rows());
        // Find the nodes: the end of each dry cell's path, with the first dry cell in row-major order; and the ends
        // that other tiles must know of, which are those of paths from rim cells, and exits.
        let mut firsts = vec![NONE; ends.len()];
        let mut nodes = Vec::new();
        let mut known: Vec<u32> = Vec::new();
        for (k, (end, height)) in ends.as_slice().iter().zip(&filled).enumerate() {
            // The cells are visited row by row, so the first dry cell that finds its end without an entry is the first
            // of that path. An end of `NONE` has no entry in `firsts`.
            if map.is_dry(*height)
                && let Some(first) = firsts.get_mut(*end as usize)
                && *first == NONE
            {
                *first = k as u32;
                nodes.push(*end);
            }
        }
        for (Cell { row: i, col: j }, exit) in Rim(size).cells().zip(&exits) {
            let k = i * size[1] + j;
            if directions[k] != VOID && ends[k] != NONE {
                known.push(ends[k]);
            }
            if exit.is_some() {
                known.push(k as u32);
            }
        }
        nodes.extend_from_slice(&known);
        // Sorted lists can be searched by bisection, here and for the rim.
        for nodes in [&mut nodes, &mut known] {
            nodes.sort_unstable();
            nodes.dedup();
        }
        let shared = nodes.iter().map(|node| known.binary_search(node).is_ok()).collect();
        let firsts = nodes.iter().map(|end| Some(firsts[*end as usize]).filter(|first| *first != NONE)).collect();
        Ok(Self { window, directions, filled, exits, ends, nodes, firsts, shared })
    }

    /// Returns the basins that are inside this tile only.
    fn closed_basins(&self) -> Closed {
        let firsts = self.firsts.iter().zip(&self.shared).filter(|(_, shared)| !**shared);
        let mut firsts: Vec<u32> = firsts.filter_map(|(first, _)| *first).collect();
        firsts.sort_unstable();
        Closed::new(self.window.size(), firsts)
    }

    /// Returns the node at the end of cell `k`'s flow path; `None` if that end is not a node.
    pub(super) fn find_node(&self, k: usize) -> Option<usize> {
        self.nodes.binary_search(&self.ends[k]).ok()
    }
}

/// Converts a tile's ESRI codes to directions within the tile. Also returns, for each cell of the rim, the direction
/// in which its water flows into another tile.
pub(super) fn decode_tile_directions(
    map: &DrainageMap,
    window: CellRect,
    codes: Vec<u8>,
) -> Result<(Directions, Vec<Option<D8>>)> {
    let (start, size) = (window.start, window.size());
    // Cells without a direction become ends, except cells without data.
    let codes = codes.into_iter().map(|code| match code {
        VOID => VOID,
        code => D8::from_esri(code).map_or(OUT, D8::code),
    });
    let mut codes = Field::from_vec(size, codes.collect())?;
    let mut exits = Vec::with_capacity(Rim(size).len());
    for Cell { row: i, col: j } in Rim(size).cells() {
        let code = &mut codes[(i, j)];
        let mut exit = None;
        if let Some(direction) = D8::from_code(*code) {
            let [di, dj] = direction.offset();
            let inside = i.wrapping_add_signed(di) < size[0] && j.wrapping_add_signed(dj) < size[1];
            if !inside {
                // A path that would leave the map ends here.
                exit = map.tiling.neighbour_cell([start[0] + i, start[1] + j], direction).map(|_| direction);
                *code = OUT;
            }
        }
        exits.push(exit);
    }
    Ok((Directions::from(codes), exits))
}

impl TilePass for CatchmentsPass {
    fn name(&self) -> &str {
        "catchments"
    }

    fn input_layers(&self) -> Vec<LayerRead> {
        vec![TileLayer::Direction.with_halo(0), TileLayer::Filled.with_halo(0)]
    }

    fn run_tile(&self, TileInput { tile, layers, .. }: TileInput<'_>) -> Result<TileOutput> {
        let map = &self.0;
        let flow_paths = TileFlowPaths::from_layers(map, tile, &mut Inputs::new(layers))?;
        // Accumulate within the tile alone. Water from other tiles is added by the solution.
        let counts = accumulate::count_upstream_cells(&flow_paths.directions);
        let (start, size) = (flow_paths.window.start, flow_paths.window.size());
        let rim = Rim(size);
        let mut writer = Writer::new();
        let closed = flow_paths.closed_basins();
        closed.write(&mut writer);
        // Write the shared nodes: their exits, the cells that drain through them, and their first dry cells.
        let shared: Vec<usize> = (0..flow_paths.nodes.len()).filter(|node| flow_paths.shared[*node]).collect();
        writer.write_number(shared.len() as u64);
        for node in &shared {
            let (end, first) = (flow_paths.nodes[*node] as usize, flow_paths.firsts[*node]);
            let exit = rim
                .position_of_cell([end / size[1], end % size[1]])
                .and_then(|place| Some((place, flow_paths.exits[place]?)));
            // The direction of the exit, or OUT for none; the place on the rim identifies the exit's cell.
            writer.write_byte(exit.map_or(OUT, |(_, exit)| exit.code()) << 1 | u8::from(first.is_some()));
            if let Some((place, _)) = exit {
                writer.write_number(place as u64);
                // Only water that leaves the tile is counted by others, so a node without an exit needs no count.
                writer.write_number(counts[end].into());
            }
            if let Some(first) = first {
                let cell = [start[0] + first as usize / size[1], start[1] + first as usize % size[1]];
                writer.write_difference(map.tiling.index(cell) as i64);
                writer.write_number(closed.count_before_in_row(first).into());
            }
        }
        for Cell { row: i, col: j } in rim.cells() {
            let k = i * size[1] + j;
            let node = (flow_paths.directions[k] != VOID).then(|| flow_paths.find_node(k)).flatten();
            // The ends of paths from the rim are always shared nodes.
            let node = node.and_then(|node| shared.binary_search(&node).ok());
            // The lowest bit is set if the cell is dry; the others are the node from 1 on, or 0 for none.
            writer.write_number(
                node.map_or(0, |node| node as u64 + 1) << 1 | u64::from(map.is_dry(flow_paths.filled[k])),
            );
        }
        Ok(TileOutput { summary: writer.finish(), ..TileOutput::default() })
    }

    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let map = &self.0;
        map.tiling.check_count(summaries.count())?;
        let mut numbering = ItemNumbering::new(map.tiling);
        let mut tiles = Vec::with_capacity(map.tiling.tile_count());
        // Nodes of all tiles get consecutive indices, tile after tile.
        let mut count = 0u64;
        for tile in 0..map.tiling.tile_count() {
            let flow_paths = TileCatchments::from_summary(&map.tiling, tile, &summaries.read(tile)?, &mut numbering)?;
            count += flow_paths.nodes.len() as u64;
            tiles.push(TileCatchments { start: count as usize - flow_paths.nodes.len(), ..flow_paths });
        }
        if count >= u64::from(NONE) {
            let allowed = format!("fewer than {NONE}; use larger tiles");
            return Err(Error::invalid_value("ends of flow paths within tiles", count, allowed));
        }
        let (gathered, basins) = CatchmentSolution::from_tiles(map, &tiles, &mut numbering)?;
        let tiles_in_order = (0..tiles.len()).into_par_iter();
        let answers = tiles_in_order.map(|tile| gathered.encode_answer(map, &tiles, tile, &numbering)).collect();
        found(Product::Basins(basins))?;
        Ok(answers)
    }

    fn solve_bytes(&self) -> u64 {
        // Bytes per rim cell: the node at the end of its path (there are no more nodes than rim cells); the node that
        // its water flows to; arrivals; counts and first cells of the nodes, their order, numbers and basins; one
        // count per row; and the tile's answer.
        const END: u64 = size_of::<FlowPathEnd>() as u64;
        const WHOLE: u64 = 8 + 16 + 4 + 4 + 4 + 4 + 16 + 4 + 4;
        3 * estimate_list_bytes(&self.0.tiling)
            + (END + WHOLE + 4 + 1 + 8 + 1 + 2 + 6 + 6) * self.0.tiling.rim_cell_count()
    }
}

/// An end of flow paths within a tile.
#[derive(Clone, Copy)]
struct FlowPathEnd {
    /// The place on the rim and the direction in which water flows into another tile; `None` if it does not.
    exit: Option<(u32, D8)>,
    /// The number of the tile's cells that drain through the node.
    own: u32,
    /// The first dry cell of the tile that drains to the node; if there is none, it sorts after all others.
    begin: ItemStart,
}

/// The beginning that stands for no cell.
const NO_CELL: ItemStart = ItemStart { first: u64::MAX, before: u32::MAX };

/// A decoded summary of a tile.
struct TileCatchments {
    /// The global index of the tile's first node.
    start: usize,
    nodes: Vec<FlowPathEnd>,
    /// For each cell of the rim, the node that its water flows to, or [`NONE`].
    rim: Vec<u32>,
    /// For each cell of the rim, true if it is above the sea.
    dry: Vec<bool>,
}

impl TileCatchments {
    /// Decodes the summary of a tile, and adds the basins inside the tile to `numbering`.
    fn from_summary(tiling: &TileGrid, tile: usize, summary: &[u8], numbering: &mut ItemNumbering) -> Result<Self> {
        let mut reader = Reader::new(SUMMARY, tile, summary)?;
        let window = tiling.tile_window(tile);
        let (start, size) = (window.start, window.size());
        let (rim, cells) = (Rim(size), tiling.index([tiling.size()[0], 0]));
        numbering.add_counts(tile, &mut reader)?;
        // No two shared ends are on one flow path, and each corresponds to at least one cell of the rim.
        let count = reader.read_number_below(rim.len() + 1)?;
        let mut nodes = Vec::with_capacity(count);
        for _ in 0..count {
            let flags = reader.read_byte()?;
            let mut node = FlowPathEnd { exit: None, own: 0, begin: NO_CELL };
            if let Some(direction) = D8::from_code(flags >> 1) {
                let place = reader.read_number_below(rim.len())?;
                let Cell { row: i, col: j } = rim.cell_from_position(place);
                if tiling.across_border([start[0] + i, start[1] + j], direction).is_none() {
                    return Err(reader.damage_error());
                }
                // The number of cells in a tile fits 32 bits.
                node.exit = Some((place as u32, direction));
                node.own = reader.read_number_below(size[0] * size[1] + 1)? as u32;
            }
            if flags & 1 != 0 {
                let first = u64::try_from(reader.read_difference()?).ok().filter(|first| *first < cells);
                let first = first.ok_or_else(|| reader.damage_error())?;
                node.begin = ItemStart { first, before: reader.read_number_below(size[1])? as u32 };
            }
            nodes.push(node);
        }
        let (mut ends, mut dry) = (Vec::with_capacity(rim.len()), Vec::with_capacity(rim.len()));
        for _ in 0..rim.len() {
            let value = reader.read_number_below(2 * nodes.len() + 2)?;
            ends.push(((value >> 1) as u32).checked_sub(1).unwrap_or(NONE));
            dry.push(value & 1 != 0);
        }
        reader.expect_end()?;
        Ok(Self { start: 0, nodes, rim: ends, dry })
    }
}

/// The solution for all tiles together.
struct CatchmentSolution {
    /// For each node, the number of its basin; 0 if it has none.
    numbers: Vec<u32>,
    /// For each node, the first cell of its basin.
    begins: Vec<ItemStart>,
    /// For each tile and each cell of its rim, the number of cells that drain to it from other tiles.
    inflows: Vec<Vec<u64>>,
    /// For each tile and each cell of its rim, a bit for each neighbour on another tile from which a stream flows in.
    streams: Vec<Vec<u8>>,
}

impl CatchmentSolution {
    /// Computes the solution, and the number of basins.
    fn from_tiles(map: &DrainageMap, tiles: &[TileCatchments], numbering: &mut ItemNumbering) -> Result<(Self, u64)> {
        let all: usize = tiles.iter().map(|tile| tile.nodes.len()).sum();
        let mut counts = Vec::with_capacity(all);
        let mut begins = Vec::with_capacity(all);
        // For each node, the node that its water reaches in another tile.
        let mut onward: Vec<u32> = Vec::with_capacity(all);
        // Connect the tiles: the water of a node with an exit enters another tile at a rim cell, and reaches the node
        // at the end of that cell's path.
        let mut arrivals = vec![0u32; all];
        for (number, tile) in tiles.iter().enumerate() {
            for node in &tile.nodes {
                counts.push(u64::from(node.own));
                begins.push(node.begin);
                let next = find_rim_target(map, number, node).map(|(to, place)| (to, tiles[to].rim[place]));
                let next = next.filter(|(_, end)| *end != NONE);
                let next = next.map_or(NONE, |(to, end)| tiles[to].start as u32 + end);
                onward.push(next);
                if next != NONE {
                    arrivals[next as usize] += 1;
                }
            }
        }
        // Process each node after those that drain to it (Kahn 1962).
        let mut order: Vec<u32> = Vec::with_capacity(all);
        order.extend((0..all as u32).filter(|node| arrivals[*node as usize] == 0));
        let mut next = 0;
        while let Some(node) = order.get(next).map(|node| *node as usize) {
            next += 1;
            let to = onward[node] as usize;
            if to != NONE as usize {
                // Counts saturate in damaged summaries only: a map has at most 2⁶² cells.
                counts[to] = u64::saturating_add(counts[to], counts[node]);
                begins[to] = begins[to].min(begins[node]);
                arrivals[to] -= 1;
                if arrivals[to] == 0 {
                    order.push(to as u32);
                }
            }
        }
        if order.len() < all {
            let value = format!("{} flow paths in cycles or downstream of them", all - order.len());
            return Err(Error::invalid_value("directions", value, "directions without cycles"));
        }
        drop(arrivals);
        // Each node without a receiver is the outlet of a basin, if any dry cell drains to it. Basins are numbered in
        // the order of their first dry cells.
        let is_end = |k: &u32| onward[*k as usize] == NONE && begins[*k as usize] != NO_CELL;
        let mut ends: Vec<u32> = (0..all as u32).filter(is_end).collect();
        ends.par_sort_unstable_by_key(|node| begins[*node as usize]);
        let first: Vec<ItemStart> = ends.iter().map(|node| begins[*node as usize]).collect();
        let (given, basins) = numbering.assign_numbers("basins", &first)?;
        let mut numbers = vec![0; all];
        for (number, node) in given.iter().zip(&ends) {
            numbers[*node as usize] = *number;
        }
        // In the opposite order every node comes after the one that it drains to, from which it takes the number and
        // the first cell of its basin.
        for node in order.iter().rev().map(|node| *node as usize) {
            if onward[node] != NONE {
                numbers[node] = numbers[onward[node] as usize];
                begins[node] = begins[onward[node] as usize];
            }
        }
        // Add what each exit delivers to the rim cell that it enters. Several exits may enter the same cell.
        let mut inflows: Vec<Vec<u64>> = tiles.iter().map(|tile| vec![0; tile.rim.len()]).collect();
        let mut streams: Vec<Vec<u8>> = tiles.iter().map(|tile| vec![0; tile.rim.len()]).collect();
        for (number, tile) in tiles.iter().enumerate() {
            for (count, node) in counts[tile.start..].iter().zip(&tile.nodes) {
                if let (Some((place, direction)), Some((to, there))) = (node.exit, find_rim_target(map, number, node)) {
                    inflows[to][there] = inflows[to][there].saturating_add(*count);
                    // The receiving tile needs the direction from its own side, which is the opposite one.
                    let stream = *count >= map.min_stream_cells && tile.dry[place as usize];
                    streams[to][there] |= u8::from(stream) << direction.opposite().code();
                }
            }
        }
        Ok((Self { numbers, begins, inflows, streams }, basins))
    }

    /// Returns the answer for a tile.
    fn encode_answer(
        &self,
        map: &DrainageMap,
        tiles: &[TileCatchments],
        tile: usize,
        numbering: &ItemNumbering,
    ) -> Vec<u8> {
        let flow_paths = &tiles[tile];
        let mut writer = Writer::new();
        numbering.write_row_starts(tile, &mut writer);
        for (k, node) in flow_paths.nodes.iter().enumerate() {
            writer.write_difference(self.numbers[flow_paths.start + k].into());
            // The tile with the first cell of a basin counts it in its row. Every other tile only receives its number.
            let begins = node.begin != NO_CELL && node.begin == self.begins[flow_paths.start + k];
            let onward = find_rim_target(map, tile, node).is_some_and(|(to, there)| tiles[to].dry[there]);
            writer.write_byte(u8::from(begins) << 1 | u8::from(onward));
        }
        for (inflow, streams) in self.inflows[tile].iter().zip(&self.streams[tile]) {
            writer.write_number(*inflow);
            // Without inflow no stream can enter, so the second byte is omitted; the reader expects none.
            if *inflow > 0 {
                writer.write_byte(*streams);
            }
        }
        writer.finish()
    }
}

/// Returns the tile, and the place on its rim, where a node's water flows on; `None` if it does not leave the tile.
fn find_rim_target(map: &DrainageMap, tile: usize, node: &FlowPathEnd) -> Option<(usize, usize)> {
    let (place, direction) = node.exit?;
    let window = map.tiling.tile_window(tile);
    let (start, size) = (window.start, window.size());
    let Cell { row: i, col: j } = Rim(size).cell_from_position(place as usize);
    map.tiling.across_border([start[0] + i, start[1] + j], direction)
}

/// A decoded answer for a tile.
pub(super) struct CatchmentAnswer {
    /// For each node of the tile, the number of its basin.
    pub(super) numbers: Vec<u32>,
    /// For each node, true if the cell of another tile to which its water flows is above the sea.
    pub(super) onward: Vec<bool>,
    /// For each cell of the rim, the number of cells that drain to it from other tiles.
    pub(super) inflows: Vec<u64>,
    /// For each cell of the rim, a bit for each neighbour on another tile from which a stream flows in.
    pub(super) streams: Vec<u8>,
}

impl CatchmentAnswer {
    /// Decodes the answer for a tile. Basins that begin in the tile are numbered here, in the order of their first
    /// cells.
    pub(super) fn from_bytes(tile: usize, flow_paths: &TileFlowPaths, answer: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(ANSWER, tile, answer)?;
        let (size, nodes) = (flow_paths.window.size(), flow_paths.nodes.len());
        let mut catchment_answer =
            Self { numbers: vec![0; nodes], onward: vec![false; nodes], inflows: Vec::new(), streams: Vec::new() };
        let mut counter = Counter::from_reader(size, &mut reader)?;
        // The basins that begin in the tile, keyed by their first cells.
        let mut begin: Vec<(u32, usize)> = Vec::new();
        for node in 0..nodes {
            let first = flow_paths.firsts[node];
            if !flow_paths.shared[node] {
                begin.extend(first.map(|first| (first, node)));
                continue;
            }
            let number = reader.read_difference()?;
            catchment_answer.numbers[node] = u32::try_from(number).map_err(|_| reader.damage_error())?;
            let flags = reader.read_byte()?;
            catchment_answer.onward[node] = flags & 1 != 0;
            if flags & 2 != 0 {
                begin.push((first.ok_or_else(|| reader.damage_error())?, node));
            }
        }
        // Numbers are given in the order of first cells, as `Counter::next_number` requires.
        begin.sort_unstable();
        for (first, node) in begin {
            let number = counter.next_number(first);
            // The number that the tile counts must equal that of the solution; only damaged bytes make them differ.
            if flow_paths.shared[node] && catchment_answer.numbers[node] != number {
                return Err(reader.damage_error());
            }
            catchment_answer.numbers[node] = number;
        }
        for _ in 0..Rim(size).len() {
            let inflow = reader.read_number()?;
            catchment_answer.inflows.push(inflow);
            catchment_answer.streams.push(if inflow > 0 { reader.read_byte()? } else { 0 });
        }
        reader.expect_end()?;
        Ok(catchment_answer)
    }
}
