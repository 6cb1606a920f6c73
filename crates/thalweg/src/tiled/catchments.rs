//! What gathers over tiles: counts of cells, and which basin each is in.
//!
//! After Barnes (2017, doi:10.1016/j.cageo.2017.02.001): a tile says where the water of each cell of its rim goes on, and how much of its
//! own goes with it. The first dry cell of each basin goes down the same way, so that basins are numbered as in memory.

use rayon::prelude::*;

use crate::base::error::{Error, Result};
use crate::flow::basins::spread;
use crate::flow::{Directions, OUT, STEPS, VOID, accumulate};
use crate::io::Samples;
use crate::terrain::field::{Field, Window};
use crate::tiled::codec::{Reader, Writer};
use crate::tiled::layer::TileLayer;
use crate::tiled::part::{Inputs, Map, SharedMap};
use crate::tiled::tiling::{Rim, Tiling};
use crate::tiled::{Product, Solved, Step};

const SUMMARY: &str = "summary of catchments";
const ANSWER: &str = "answer of catchments";

/// What gathers within tiles, and where it goes on.
pub(super) struct Catchments(pub(super) SharedMap);

/// No end, no node.
const NONE: u32 = u32::MAX;

/// The ways of water within a tile.
pub(super) struct Ways {
    pub(super) window: Window,
    /// Directions within the tile: where water goes on into another one it ends.
    pub(super) directions: Directions,
    /// The tile's own heights, filled.
    pub(super) filled: Vec<i32>,
    /// For each cell of the rim the direction in which its water goes on into another tile, if it does.
    pub(super) exits: Vec<Option<u8>>,
    /// For each cell the cell where its way through the tile ends.
    pub(super) ends: Field<u32>,
    /// Cells where ways end that others must know of: those that lead into another tile, and those to which a dry cell leads or water of
    /// another tile may come. In rising order.
    pub(super) nodes: Vec<u32>,
    /// For each of these the first dry cell that leads to it.
    pub(super) firsts: Vec<Option<u32>>,
}

impl Ways {
    /// Of directions and the filled surface, which `inputs` begin with.
    pub(super) fn find(map: &Map, tile: usize, inputs: &mut Inputs) -> Result<Self> {
        map.tiling.check(tile)?;
        let window = map.tiling.window(tile);
        let Window { start, size } = window;
        let codes = inputs.codes(TileLayer::Direction, window)?;
        let filled = inputs.heights(TileLayer::Filled, window)?;
        let (directions, exits) = within(map, window, codes)?;
        let mut ends = Field::new(size, NONE);
        ends.as_mut_slice().iter_mut().enumerate().for_each(|(k, end)| *end = k as u32);
        spread(&directions, &mut ends, NONE);
        debug_assert!(start[0] < map.grid.rows());
        let mut firsts = vec![NONE; ends.len()];
        let mut nodes = Vec::new();
        for (k, (end, height)) in ends.as_slice().iter().zip(&filled).enumerate() {
            if map.is_dry(*height)
                && let Some(first) = firsts.get_mut(*end as usize)
                && *first == NONE
            {
                *first = k as u32;
                nodes.push(*end);
            }
        }
        for ([i, j], exit) in Rim(size).cells().zip(&exits) {
            let k = i * size[1] + j;
            let end = ends[k];
            // A dry cell's end is among them.
            if directions[k] != VOID && end != NONE && firsts[end as usize] == NONE {
                nodes.push(end);
            }
            if exit.is_some() && firsts[k] == NONE {
                nodes.push(k as u32);
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        let firsts = nodes.iter().map(|end| Some(firsts[*end as usize]).filter(|first| *first != NONE)).collect();
        Ok(Self { window, directions, filled, exits, ends, nodes, firsts })
    }

    /// The number among the nodes of the end of cell `k`.
    pub(super) fn node(&self, k: usize) -> Option<usize> {
        self.nodes.binary_search(&self.ends[k]).ok()
    }
}

/// Directions within a tile, of ESRI codes, and for each cell of its rim where its water goes on.
pub(super) fn within(map: &Map, window: Window, codes: Vec<u8>) -> Result<(Directions, Vec<Option<u8>>)> {
    let Window { start, size } = window;
    let codes = codes.into_iter().map(|code| match code {
        VOID => VOID,
        code if code.is_power_of_two() => code.trailing_zeros() as u8,
        _ => OUT,
    });
    let mut codes = Field::from_vec(size, codes.collect())?;
    let mut exits = Vec::with_capacity(Rim(size).len());
    for [i, j] in Rim(size).cells() {
        let code = &mut codes[(i, j)];
        let mut exit = None;
        if let Some([di, dj]) = STEPS.get(usize::from(*code)) {
            let inside = i.wrapping_add_signed(*di) < size[0] && j.wrapping_add_signed(*dj) < size[1];
            if !inside {
                // What would leave the map ends.
                exit = map.tiling.step([start[0] + i, start[1] + j], usize::from(*code)).map(|_| *code);
                *code = OUT;
            }
        }
        exits.push(exit);
    }
    Ok((Directions::from(codes), exits))
}

impl Step for Catchments {
    fn name(&self) -> &'static str {
        "catchments"
    }

    fn reads(&self) -> &[(TileLayer, usize)] {
        &[(TileLayer::Direction, 0), (TileLayer::Filled, 0)]
    }

    fn writes(&self) -> &[TileLayer] {
        &[]
    }

    fn tile(&self, tile: usize, inputs: Vec<Samples>, _: &[u8]) -> Result<(Vec<Samples>, Vec<u8>)> {
        let map = &self.0;
        let ways = Ways::find(map, tile, &mut Inputs::new(inputs))?;
        let counts = accumulate::cells(&ways.directions);
        let Window { start, size } = ways.window;
        let rim = Rim(size);
        let mut writer = Writer::new();
        writer.number(ways.nodes.len() as u64);
        for (end, first) in ways.nodes.iter().zip(&ways.firsts) {
            let at = [*end as usize / size[1], *end as usize % size[1]];
            let exit = rim.place(at).and_then(|place| Some((place, ways.exits[place]?)));
            // Where it goes on, or the one past all directions; the place on the rim tells which cell that is.
            writer.byte(exit.map_or(OUT, |(_, exit)| exit) << 1 | u8::from(first.is_some()));
            if let Some((place, _)) = exit {
                writer.number(place as u64);
                writer.number(counts[*end as usize].into());
            }
            if let Some(first) = first {
                let cell = [start[0] + *first as usize / size[1], start[1] + *first as usize % size[1]];
                writer.near(map.tiling.index(cell) as i64);
            }
        }
        for [i, j] in rim.cells() {
            let k = i * size[1] + j;
            let node = (ways.directions[k] != VOID).then(|| ways.node(k)).flatten();
            writer.number(node.map_or(0, |node| node as u64 + 1) << 1 | u64::from(map.is_dry(ways.filled[k])));
        }
        Ok((Vec::new(), writer.finish()))
    }

    fn solve(&self, summaries: Vec<Vec<u8>>) -> Result<Solved> {
        let map = &self.0;
        map.tiling.check_count(summaries.len())?;
        let tiles = summaries.par_iter().enumerate().map(|(tile, summary)| TileWays::read(&map.tiling, tile, summary));
        let mut tiles = tiles.collect::<Result<Vec<_>>>()?;
        drop(summaries);
        let mut count = 0u64;
        for tile in &mut tiles {
            tile.start = count as usize;
            count += tile.nodes.len() as u64;
        }
        if count >= u64::from(NONE) {
            return Err(Error::value("ends of ways within tiles", count, format!("fewer than {NONE}")));
        }
        let gathered = Gathered::of(map, &tiles)?;
        let tiles_in_order = 0..tiles.len();
        let answers = tiles_in_order.into_par_iter().map(|tile| gathered.answer(map, &tiles, tile));
        Ok(Solved { answers: answers.collect(), product: Some(Product::Basins(gathered.basins)) })
    }
}

/// Where ways through a tile end.
struct Node {
    /// Place on the rim, and direction in which water goes on.
    exit: Option<(usize, usize)>,
    /// Cells of the tile that drain through it.
    own: u64,
    /// Index in the map of the first dry cell that leads to it.
    first: Option<u64>,
}

/// A tile's summary, read.
struct TileWays {
    /// The number in the whole of its first node.
    start: usize,
    nodes: Vec<Node>,
    /// For each cell of the rim the node that its water comes to.
    rim: Vec<Option<usize>>,
    /// Whether it is above the sea.
    dry: Vec<bool>,
}

impl TileWays {
    fn read(tiling: &Tiling, tile: usize, summary: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(SUMMARY, tile, summary)?;
        let Window { start, size } = tiling.window(tile);
        let (rim, cells) = (Rim(size), tiling.index([tiling.size()[0], 0]));
        let mut nodes = Vec::new();
        for _ in 0..reader.count()? {
            let flags = reader.byte()?;
            let mut node = Node { exit: None, own: 0, first: None };
            let direction = usize::from(flags >> 1);
            if direction < STEPS.len() {
                let place = reader.below(rim.len())?;
                let [i, j] = rim.cell(place);
                if tiling.across_border([start[0] + i, start[1] + j], direction).is_none() {
                    return Err(reader.damaged());
                }
                node.exit = Some((place, direction));
                node.own = reader.below(size[0] * size[1] + 1)? as u64;
            }
            if flags & 1 != 0 {
                let first = reader.near()?;
                node.first =
                    Some(u64::try_from(first).ok().filter(|first| *first < cells).ok_or_else(|| reader.damaged())?);
            }
            nodes.push(node);
        }
        let (mut ends, mut dry) = (Vec::with_capacity(rim.len()), Vec::with_capacity(rim.len()));
        for _ in 0..rim.len() {
            let value = reader.below(2 * nodes.len() + 2)?;
            ends.push((value >> 1).checked_sub(1));
            dry.push(value & 1 != 0);
        }
        reader.end()?;
        Ok(Self { start: 0, nodes, rim: ends, dry })
    }
}

/// What comes of all tiles together.
struct Gathered {
    /// For each node all that drains through it.
    counts: Vec<u64>,
    /// For each node the number of its basin, 0 where it has none.
    numbers: Vec<u32>,
    /// For each tile and each cell of its rim what comes from other tiles.
    inflows: Vec<Vec<u64>>,
    /// For each tile and each cell of its rim the neighbours on other tiles from which a stream comes.
    streams: Vec<Vec<u8>>,
    basins: u64,
}

impl Gathered {
    fn of(map: &Map, tiles: &[TileWays]) -> Result<Self> {
        let all: usize = tiles.iter().map(|tile| tile.nodes.len()).sum();
        let mut counts = Vec::with_capacity(all);
        let mut firsts = Vec::with_capacity(all);
        // For each node the tile and the place on its rim where its water goes on, and the node that it comes to there.
        let mut onward: Vec<u32> = Vec::with_capacity(all);
        let mut arrivals = vec![0u32; all];
        for (number, tile) in tiles.iter().enumerate() {
            for node in &tile.nodes {
                counts.push(node.own);
                firsts.push(node.first.unwrap_or(u64::MAX));
                let (to, place) = target(map, number, node).unwrap_or_default();
                let next =
                    node.exit.and_then(|_| tiles[to].rim[place]).map_or(NONE, |end| (tiles[to].start + end) as u32);
                onward.push(next);
                if next != NONE {
                    arrivals[next as usize] += 1;
                }
            }
        }
        // Each node after those that drain to it (Kahn 1962).
        let mut order: Vec<u32> = (0..all as u32).filter(|node| arrivals[*node as usize] == 0).collect();
        let mut next = 0;
        while let Some(node) = order.get(next).map(|node| *node as usize) {
            next += 1;
            let to = onward[node] as usize;
            if to != NONE as usize {
                counts[to] = u64::saturating_add(counts[to], counts[node]);
                firsts[to] = firsts[to].min(firsts[node]);
                arrivals[to] -= 1;
                if arrivals[to] == 0 {
                    order.push(to as u32);
                }
            }
        }
        if order.len() < all {
            let value = format!("{} ways in circles or below them", all - order.len());
            return Err(Error::value("directions", value, "directions without circles"));
        }
        let mut ends: Vec<u32> =
            (0..all as u32).filter(|k| onward[*k as usize] == NONE && firsts[*k as usize] != u64::MAX).collect();
        if ends.len() >= NONE as usize {
            return Err(Error::value("basins", ends.len(), format!("fewer than {NONE}: numbers have 32 bits")));
        }
        ends.par_sort_unstable_by_key(|node| firsts[*node as usize]);
        let mut numbers = vec![0; all];
        for (place, node) in ends.iter().enumerate() {
            numbers[*node as usize] = place as u32 + 1;
        }
        for node in order.iter().rev().map(|node| *node as usize) {
            if onward[node] != NONE {
                numbers[node] = numbers[onward[node] as usize];
            }
        }
        let mut inflows: Vec<Vec<u64>> = tiles.iter().map(|tile| vec![0; tile.rim.len()]).collect();
        let mut streams: Vec<Vec<u8>> = tiles.iter().map(|tile| vec![0; tile.rim.len()]).collect();
        for (number, tile) in tiles.iter().enumerate() {
            for (count, node) in counts[tile.start..].iter().zip(&tile.nodes) {
                if let (Some((place, direction)), Some((to, there))) = (node.exit, target(map, number, node)) {
                    inflows[to][there] = inflows[to][there].saturating_add(*count);
                    let stream = *count >= map.least && tile.dry[place];
                    streams[to][there] |= u8::from(stream) << (direction ^ 4);
                }
            }
        }
        Ok(Self { counts, numbers, inflows, streams, basins: ends.len() as u64 })
    }

    /// What a tile is told.
    fn answer(&self, map: &Map, tiles: &[TileWays], tile: usize) -> Vec<u8> {
        let ways = &tiles[tile];
        let mut writer = Writer::new();
        for (k, node) in ways.nodes.iter().enumerate() {
            writer.near(self.numbers[ways.start + k].into());
            if let Some((to, there)) = target(map, tile, node) {
                writer.byte(u8::from(tiles[to].dry[there]));
            }
        }
        for (inflow, streams) in self.inflows[tile].iter().zip(&self.streams[tile]) {
            writer.number(*inflow);
            if *inflow > 0 {
                writer.byte(*streams);
            }
        }
        debug_assert!(self.counts.len() >= ways.nodes.len());
        writer.finish()
    }
}

/// The tile and the place on its rim where a node's water goes on.
fn target(map: &Map, tile: usize, node: &Node) -> Option<(usize, usize)> {
    let (place, direction) = node.exit?;
    let Window { start, size } = map.tiling.window(tile);
    let [i, j] = Rim(size).cell(place);
    map.tiling.across_border([start[0] + i, start[1] + j], direction)
}

/// What a tile is told, read.
pub(super) struct Told {
    /// For each node of the tile the number of its basin.
    pub(super) numbers: Vec<u32>,
    /// For each node whether the cell on which its water comes to another tile is above the sea.
    pub(super) onward: Vec<bool>,
    /// For each cell of the rim what comes from other tiles.
    pub(super) inflows: Vec<u64>,
    /// For each cell of the rim the neighbours on other tiles from which a stream comes.
    pub(super) streams: Vec<u8>,
}

impl Told {
    pub(super) fn read(tile: usize, ways: &Ways, answer: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(ANSWER, tile, answer)?;
        let size = ways.window.size;
        let mut told = Self { numbers: Vec::new(), onward: Vec::new(), inflows: Vec::new(), streams: Vec::new() };
        for end in &ways.nodes {
            let number = reader.near()?;
            told.numbers.push(u32::try_from(number).map_err(|_| reader.damaged())?);
            let place = Rim(size).place([*end as usize / size[1], *end as usize % size[1]]);
            let exit = place.and_then(|place| ways.exits[place]);
            told.onward.push(exit.is_some() && reader.byte()? != 0);
        }
        for _ in 0..Rim(size).len() {
            let inflow = reader.number()?;
            told.inflows.push(inflow);
            told.streams.push(if inflow > 0 { reader.byte()? } else { 0 });
        }
        reader.end()?;
        Ok(told)
    }
}
