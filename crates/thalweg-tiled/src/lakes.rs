//! Lakes over tiles, first pass: connected standing water.
//!
//! This pass only counts a lake that does not reach its tile's rim; the [next pass](super::lake_numbers) reports its
//! properties. Memory is therefore bounded by the lakes that tiles share.
//!
//! Where two adjacent cells are both below the filled surface, that surface is level over them, because otherwise the
//! higher water would flow into the lower. Lakes are therefore connected sets of wet cells, and a tile need not
//! compare levels across its border.

use rayon::prelude::*;

use crate::codec::{Reader, Writer};
use crate::layer::{NO_HEIGHT, TileLayer};
use crate::numbering::{Closed, ItemNumbering, ItemStart};
use crate::part::{DrainageMap, Inputs, SharedMap, estimate_list_bytes, read_cell_index};
use crate::pass::{LayerRead, Product, Summaries, TileInput, TileOutput, TilePass};
use crate::shore_walk::Wet;
use thalweg_core::terrain::Rim;
use thalweg_core::{Cell, CellRect, Error, Result};
use thalweg_flow::D8;
use thalweg_io::Samples;

const SUMMARY: &str = "summary of lakes";

/// The pass that finds the lakes of tiles.
pub(super) struct Shores(pub(super) SharedMap);

/// The properties of a lake, or of a tile's part of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct LakeTotals {
    /// The map index of its first cell, and the number of closed lakes before it in the same row of the tile.
    pub(super) begin: ItemStart,
    pub(super) level: i32,
    pub(super) cells: u64,
    /// Volume in units of height × cells, 1/65 536 m over one cell. Up to 2⁶² cells with depths below 2³² need more
    /// than 64 bits.
    pub(super) volume: u128,
    pub(super) deepest: u32,
    /// The height and map index of the lowest dry cell next to it.
    pub(super) shore: Option<(i32, u64)>,
}

impl LakeTotals {
    /// Combines two parts of one lake.
    fn combine_with(self, other: Self) -> Self {
        Self {
            begin: self.begin.min(other.begin),
            level: self.level,
            cells: self.cells.saturating_add(other.cells),
            volume: self.volume.saturating_add(other.volume),
            deepest: self.deepest.max(other.deepest),
            shore: match (self.shore, other.shore) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        }
    }
}

/// Returns the parts of lakes in a tile, in the order of their first cells, and for each cell the number of its part
/// from 1 on, or 0. `ground` and `filled` cover the window `wide`, which contains the tile.
fn find_lake_parts(
    map: &DrainageMap,
    wide: CellRect,
    own: CellRect,
    ground: &[i32],
    filled: &[i32],
) -> (Vec<LakeTotals>, Vec<u32>) {
    let cols = wide.size()[1];
    let top = [0, 1].map(|axis| own.start[axis] - wide.start[axis]);
    let at = |i: usize, j: usize| (i + top[0]) * cols + j + top[1];
    let is_wet = |k: usize| is_wet(ground, filled, k);
    // Scan the tile row by row. The first wet cell without a number begins a new part, which is then flooded
    // completely, so the parts are in the order of their first cells.
    let mut numbers = vec![0u32; own.size()[0] * own.size()[1]];
    let mut waters = Vec::new();
    let mut found: Vec<[usize; 2]> = Vec::new();
    for i in 0..own.size()[0] {
        for j in 0..own.size()[1] {
            if numbers[i * own.size()[1] + j] != 0 || !is_wet(at(i, j)) {
                continue;
            }
            let mut water = LakeTotals {
                begin: ItemStart { first: map.tiling.index([own.start[0] + i, own.start[1] + j]), before: 0 },
                level: filled[at(i, j)],
                cells: 0,
                volume: 0,
                deepest: 0,
                shore: None,
            };
            let number = waters.len() as u32 + 1;
            numbers[i * own.size()[1] + j] = number;
            found.push([i, j]);
            // Totals are sums, minima and maxima of integers, so they do not depend on the order of the flood.
            while let Some([i, j]) = found.pop() {
                let k = at(i, j);
                let depth = filled[k].abs_diff(ground[k]);
                water.cells += 1;
                water.volume += u128::from(depth);
                water.deepest = water.deepest.max(depth);
                for [di, dj] in D8::OFFSETS {
                    // The positions are relative to the tile and to the wide window. Rows and columns before the first
                    // wrap to great numbers, which the comparisons with the sizes exclude.
                    let [r, c] = [i.wrapping_add_signed(di), j.wrapping_add_signed(dj)];
                    let [wr, wc] = [r.wrapping_add(top[0]), c.wrapping_add(top[1])];
                    if wr >= wide.size()[0] || wc >= cols {
                        continue;
                    }
                    let n = wr * cols + wc;
                    if is_wet(n) {
                        // Only cells of the tile are counted; wet cells of other tiles belong to their parts.
                        if r < own.size()[0] && c < own.size()[1] && numbers[r * own.size()[1] + c] == 0 {
                            numbers[r * own.size()[1] + c] = number;
                            found.push([r, c]);
                        }
                    // A dry neighbour no higher than the water is where the lake overflows. Of several, the lowest
                    // counts, then the first in row-major order.
                    } else if ground[n] != NO_HEIGHT && ground[n] <= water.level {
                        let shore = (ground[n], map.tiling.index([wide.start[0] + wr, wide.start[1] + wc]));
                        water.shore = Some(water.shore.map_or(shore, |known| known.min(shore)));
                    }
                }
            }
            waters.push(water);
        }
    }
    (waters, numbers)
}

/// The parts of lakes in a tile.
pub(super) struct TileLakes {
    /// The parts, in the order of their first cells.
    pub(super) waters: Vec<LakeTotals>,
    /// For each part, true if it reaches the rim.
    pub(super) shared: Vec<bool>,
    /// For each cell, the number of its part from 1 on; 0 on dry land.
    pub(super) numbers: Vec<u32>,
    pub(super) own: CellRect,
    wide: CellRect,
    /// The ground over the wide window.
    ground: Vec<i32>,
    /// The filled surface over the wide window.
    filled: Vec<i32>,
}

impl TileLakes {
    /// Finds the parts of lakes from a tile's input layers.
    pub(super) fn from_layers(map: &DrainageMap, tile: usize, inputs: Vec<Samples>) -> Result<Self> {
        map.tiling.check_tile(tile)?;
        let (wide, own) = (map.tiling.window_with_halo(tile, 1), map.tiling.tile_window(tile));
        let mut inputs = Inputs::new(inputs);
        let ground = inputs.heights(TileLayer::Height, wide)?;
        let filled = inputs.heights(TileLayer::Filled, wide)?;
        let (mut waters, numbers) = find_lake_parts(map, wide, own, &ground, &filled);
        let mut shared = vec![false; waters.len()];
        for Cell { row: i, col: j } in Rim(own.size()).cells() {
            if let Some(part) = numbers[i * own.size()[1] + j].checked_sub(1) {
                shared[part as usize] = true;
            }
        }
        // The beginning of each part includes the number of closed parts before it in its row (`ItemStart::before`),
        // which the numbering needs.
        let mut lakes = Self { waters: Vec::new(), shared, numbers, own, wide, ground, filled };
        let firsts = waters.iter().zip(&lakes.shared).filter(|(_, shared)| !**shared);
        let closed = Closed::new(own.size(), firsts.map(|(water, _)| lakes.local_index(map, water)).collect());
        waters
            .iter_mut()
            .for_each(|water| water.begin.before = closed.count_before_in_row(lakes.local_index(map, water)));
        lakes.waters = waters;
        Ok(lakes)
    }

    /// Returns the depth of the water in each cell of the tile.
    fn depths(&self) -> Vec<i32> {
        let cols = self.wide.size()[1];
        let top = [0, 1].map(|axis| self.own.start[axis] - self.wide.start[axis]);
        let depth = |k: usize| {
            let at = (k / self.own.size()[1] + top[0]) * cols + k % self.own.size()[1] + top[1];
            if self.ground[at] == NO_HEIGHT { 0 } else { self.filled[at].saturating_sub(self.ground[at]) }
        };
        (0..self.numbers.len()).map(depth).collect()
    }

    /// Returns which cells of the tile and around it are covered by lakes, and frees the layers, which are not needed
    /// any more.
    pub(super) fn take_wet(&mut self) -> Wet {
        let (ground, filled) = (std::mem::take(&mut self.ground), std::mem::take(&mut self.filled));
        let [rows, cols] = self.wide.size();
        let top = [0, 1].map(|axis| self.own.start[axis] - self.wide.start[axis]);
        Wet::new(self.own.size(), |cell| {
            let [i, j] = [0, 1].map(|axis| top[axis].wrapping_add_signed(cell[axis]));
            i < rows && j < cols && is_wet(&ground, &filled, i * cols + j)
        })
    }

    /// Returns the tile index of a part's first cell.
    pub(super) fn local_index(&self, map: &DrainageMap, water: &LakeTotals) -> u32 {
        let Cell { row: i, col: j } = map.tiling.cell_from_index(water.begin.first);
        ((i - self.own.start[0]) * self.own.size()[1] + j - self.own.start[1]) as u32
    }

    /// Returns the parts that do not reach the rim.
    fn closed_parts(&self, map: &DrainageMap) -> Closed {
        let closed = self.waters.iter().zip(&self.shared).filter(|(_, shared)| !**shared);
        Closed::new(self.own.size(), closed.map(|(water, _)| self.local_index(map, water)).collect())
    }
}

/// Returns true if a lake covers a cell.
fn is_wet(ground: &[i32], filled: &[i32], k: usize) -> bool {
    filled[k] > ground[k] && ground[k] != NO_HEIGHT
}

impl LakeTotals {
    /// Writes everything except where the part begins.
    pub(super) fn write(&self, writer: &mut Writer) {
        // Heights are written as their 32 bits. They are not written as differences, because the reference of those is
        // a cell index.
        writer.write_number((self.level as u32).into());
        writer.write_number(self.cells);
        writer.write_number(self.volume as u64);
        writer.write_number((self.volume >> 64) as u64);
        writer.write_number(self.deepest.into());
        writer.write_option(self.shore.map(|shore| (shore.0 as u32).into()));
        self.shore.into_iter().for_each(|shore| writer.write_difference(shore.1 as i64));
    }

    /// Reads what [`write`](Self::write) wrote; `begin` is where the part begins.
    pub(super) fn read(map: &DrainageMap, begin: ItemStart, reader: &mut Reader<'_>) -> Result<Self> {
        let height = |reader: &Reader<'_>, bits: u64| {
            u32::try_from(bits).map(|bits| bits as i32).map_err(|_| reader.damage_error())
        };
        let level = reader.read_number()?;
        let level = height(reader, level)?;
        let (cells, low, high) = (reader.read_number()?, reader.read_number()?, reader.read_number()?);
        let deepest = u32::try_from(reader.read_number()?).map_err(|_| reader.damage_error())?;
        let shore = match reader.read_option()? {
            Some(bits) => Some((height(reader, bits)?, read_cell_index(map, reader)?)),
            None => None,
        };
        let volume = u128::from(high) << 64 | u128::from(low);
        Ok(Self { begin, level, cells, volume, deepest, shore })
    }
}

/// Returns the layers that both passes over lakes read. The halo shows where the tile's lakes overflow.
pub(super) fn list_input_layers() -> Vec<LayerRead> {
    vec![TileLayer::Height.with_halo(1), TileLayer::Filled.with_halo(1)]
}

impl TilePass for Shores {
    fn name(&self) -> &str {
        "lakes"
    }

    fn input_layers(&self) -> Vec<LayerRead> {
        list_input_layers()
    }

    fn output_layers(&self) -> Vec<String> {
        vec![TileLayer::Depth.name().into()]
    }

    fn run_tile(&self, TileInput { tile, layers, .. }: TileInput<'_>) -> Result<TileOutput> {
        let lakes = TileLakes::from_layers(&self.0, tile, layers)?;
        let mut writer = Writer::new();
        lakes.closed_parts(&self.0).write(&mut writer);
        // Numbers among the shared parts, from 1 on.
        let mut places = vec![0u32; lakes.waters.len()];
        // Parts that do not reach the rim are only counted. The others are written completely.
        let shared = || (0..places.len()).filter(|part| lakes.shared[*part]);
        writer.write_number(shared().count() as u64);
        for part in shared() {
            let water = &lakes.waters[part];
            writer.write_difference(water.begin.first as i64);
            writer.write_number(water.begin.before.into());
            water.write(&mut writer);
        }
        let shared: Vec<usize> = shared().collect();
        shared.iter().zip(1..).for_each(|(part, place)| places[*part] = place);
        let size = lakes.own.size();
        for Cell { row: i, col: j } in Rim(size).cells() {
            let part = lakes.numbers[i * size[1] + j].checked_sub(1);
            writer.write_number(part.map_or(0, |part| places[part as usize]).into());
        }
        Ok(TileOutput { layers: vec![Samples::I32(lakes.depths())], summary: writer.finish() })
    }

    fn solve(&self, summaries: &dyn Summaries, _: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let map = &self.0;
        map.tiling.check_count(summaries.count())?;
        let mut numbering = ItemNumbering::new(map.tiling);
        // Summaries are read one after another, because the parts of all tiles are numbered consecutively.
        let (mut tiles, mut waters) = (Vec::with_capacity(map.tiling.tile_count()), Vec::new());
        for tile in 0..map.tiling.tile_count() {
            tiles.push(TileRim::from_summary(map, tile, &summaries.read(tile)?, &mut numbering, &mut waters)?);
        }
        let count = waters.len();
        if count >= u32::MAX as usize {
            return Err(Error::invalid_value(
                "parts of lakes at the edges of tiles",
                count,
                format!("fewer than {}, because they are numbered with 32 bits; use larger tiles", u32::MAX),
            ));
        }
        // Connect the parts that touch across tile borders (union–find).
        let mut up: Vec<u32> = (0..count as u32).collect();
        for (tile, lake_parts) in tiles.iter().enumerate() {
            let window = map.tiling.tile_window(tile);
            let (start, size) = (window.start, window.size());
            for (Cell { row: i, col: j }, number) in Rim(size).cells().zip(&lake_parts.rim) {
                let Some(here) = lake_parts.to_global_part(*number) else { continue };
                // The other four neighbours are connected with this cell from their side.
                for direction in &D8::ALL[..4] {
                    let there = map.tiling.across_border([start[0] + i, start[1] + j], *direction);
                    if let Some(there) =
                        there.and_then(|(other, place)| tiles[other].to_global_part(tiles[other].rim[place]))
                    {
                        let [a, b] = [here, there].map(|id| find_root(&mut up, id));
                        // Which of the two roots remains does not matter: lakes are numbered by their first cells.
                        up[a as usize] = b;
                    }
                }
            }
        }
        // Remember where each part begins before the parts of a lake are combined in its root.
        let begins: Vec<ItemStart> = waters.iter().map(|water| water.begin).collect();
        for id in 0..count {
            let root = find_root(&mut up, id as u32) as usize;
            if root != id {
                waters[root] = waters[root].combine_with(waters[id]);
            }
        }
        // Number the lakes in the order of their first cells.
        let mut roots: Vec<(ItemStart, u32)> =
            (0..count).filter(|id| up[*id] as usize == *id).map(|root| (waters[root].begin, root as u32)).collect();
        roots.par_sort_unstable();
        let whole: Vec<ItemStart> = roots.iter().map(|(begin, _)| *begin).collect();
        let (given, _) = numbering.assign_numbers("lakes", &whole)?;
        let mut numbers = vec![0u32; count];
        for (number, (_, root)) in given.iter().zip(&roots) {
            numbers[*root as usize] = *number;
        }
        // Each tile receives the numbers of its shared parts, and the totals of the lakes that begin in it.
        let answers = tiles.iter().enumerate().map(|(tile, lake_parts)| {
            let mut writer = Writer::new();
            numbering.write_row_starts(tile, &mut writer);
            writer.write_number(lake_parts.count as u64);
            for id in lake_parts.start..lake_parts.start + lake_parts.count {
                let root = find_root(&mut up, id as u32) as usize;
                writer.write_difference(numbers[root].into());
                // The tile in which a lake begins reports it.
                let begins = begins[id] == waters[root].begin;
                writer.write_byte(u8::from(begins));
                if begins {
                    waters[root].write(&mut writer);
                }
            }
            writer.finish()
        });
        Ok(answers.collect())
    }

    fn solve_bytes(&self) -> u64 {
        // Lakes that touch are one, so there is at most one lake per two rim cells. Bytes per lake: its properties,
        // where its part begins, its parent, its root twice, its numbers, and its part of an answer.
        const LAKE: u64 = size_of::<LakeTotals>() as u64 + 16 + 4 + 24 + 16 + 4 + 4 + 60;
        let rims = self.0.tiling.rim_cell_count();
        3 * estimate_list_bytes(&self.0.tiling) + LAKE * rims.div_ceil(2) + (4 + 2 + 2) * rims
    }
}

/// Returns the root of a tree, halving the path on the way.
fn find_root(up: &mut [u32], from: u32) -> u32 {
    let mut at = from;
    while up[at as usize] != at {
        up[at as usize] = up[up[at as usize] as usize];
        at = up[at as usize];
    }
    at
}

/// A decoded summary of a tile.
struct TileRim {
    /// The global number of the first shared part, and the number of shared parts.
    start: usize,
    count: usize,
    /// For each cell of the rim, its part, from 1, or 0.
    rim: Vec<u32>,
}

impl TileRim {
    /// Reads a summary; its parts are appended to `waters`.
    fn from_summary(
        map: &DrainageMap,
        tile: usize,
        summary: &[u8],
        numbering: &mut ItemNumbering,
        waters: &mut Vec<LakeTotals>,
    ) -> Result<Self> {
        let mut reader = Reader::new(SUMMARY, tile, summary)?;
        let size = map.tiling.tile_window(tile).size();
        numbering.add_counts(tile, &mut reader)?;
        let (start, count) = (waters.len(), reader.read_number_below(Rim(size).len() + 1)?);
        for _ in 0..count {
            let begin = ItemStart {
                first: read_cell_index(map, &mut reader)?,
                before: reader.read_number_below(size[1])? as u32,
            };
            waters.push(LakeTotals::read(map, begin, &mut reader)?);
        }
        let rim =
            (0..Rim(size).len()).map(|_| Ok(reader.read_number_below(count + 1)? as u32)).collect::<Result<_>>()?;
        reader.expect_end()?;
        Ok(Self { start, count, rim })
    }

    /// Returns the global number of a part; `None` for 0.
    fn to_global_part(&self, number: u32) -> Option<u32> {
        Some(self.start as u32 + number.checked_sub(1)?)
    }
}
