//! Lakes over tiles: standing water that is connected.
//!
//! Where two cells that touch both lie under the filled surface, that is level over them: the higher would run into the lower. So lakes
//! are what touches, and a tile need not ask for levels across its border.

use rayon::prelude::*;

use crate::base::error::{Error, Result};
use crate::flow::STEPS;
use crate::io::Samples;
use crate::products::lakes::LakeOutline;
use crate::terrain::field::Window;
use crate::terrain::height::UNITS;
use crate::tiled::codec::{Reader, Writer};
use crate::tiled::layer::{NO_HEIGHT, TileLayer};
use crate::tiled::part::{Inputs, Map, SharedMap};
use crate::tiled::tiling::Rim;
use crate::tiled::{Product, Solved, Step};

const SUMMARY: &str = "summary of lakes";
const ANSWER: &str = "answer of lakes";

/// The lakes of tiles.
pub(super) struct Shores(pub(super) SharedMap);

/// Their numbers.
pub(super) struct Number(pub(super) SharedMap);

/// What is known of a lake, or of a tile's part of one.
#[derive(Debug, Clone, Copy)]
struct Water {
    /// Index in the map of its first cell.
    first: u64,
    level: i32,
    cells: u64,
    /// Units of height × cells.
    volume: u128,
    deepest: u32,
    /// Height and index in the map of the lowest dry cell beside it.
    shore: Option<(i32, u64)>,
}

impl Water {
    /// Both as one.
    fn with(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
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

/// The parts of lakes in a tile, in the order of their first cells, and for each cell its part's place from 1 on. `ground` and `filled`
/// are of the window `wide`, which holds the tile.
fn parts(map: &Map, wide: Window, own: Window, ground: &[i32], filled: &[i32]) -> (Vec<Water>, Vec<u32>) {
    let cols = wide.size[1];
    let top = [0, 1].map(|axis| own.start[axis] - wide.start[axis]);
    let at = |i: usize, j: usize| (i + top[0]) * cols + j + top[1];
    let is_wet = |k: usize| filled[k] > ground[k] && ground[k] != NO_HEIGHT;
    let mut numbers = vec![0u32; own.size[0] * own.size[1]];
    let mut waters = Vec::new();
    let mut found: Vec<[usize; 2]> = Vec::new();
    for i in 0..own.size[0] {
        for j in 0..own.size[1] {
            if numbers[i * own.size[1] + j] != 0 || !is_wet(at(i, j)) {
                continue;
            }
            let mut water = Water {
                first: map.tiling.index([own.start[0] + i, own.start[1] + j]),
                level: filled[at(i, j)],
                cells: 0,
                volume: 0,
                deepest: 0,
                shore: None,
            };
            let number = waters.len() as u32 + 1;
            numbers[i * own.size[1] + j] = number;
            found.push([i, j]);
            while let Some([i, j]) = found.pop() {
                let k = at(i, j);
                let depth = filled[k].abs_diff(ground[k]);
                water.cells += 1;
                water.volume += u128::from(depth);
                water.deepest = water.deepest.max(depth);
                for [di, dj] in STEPS {
                    let [r, c] = [i.wrapping_add_signed(di), j.wrapping_add_signed(dj)];
                    let [wr, wc] = [r.wrapping_add(top[0]), c.wrapping_add(top[1])];
                    if wr >= wide.size[0] || wc >= cols {
                        continue;
                    }
                    let n = wr * cols + wc;
                    if is_wet(n) {
                        if r < own.size[0] && c < own.size[1] && numbers[r * own.size[1] + c] == 0 {
                            numbers[r * own.size[1] + c] = number;
                            found.push([r, c]);
                        }
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

/// The tile's parts of lakes, of its inputs; and its depths.
fn read(map: &Map, tile: usize, inputs: Vec<Samples>) -> Result<(Vec<Water>, Vec<u32>, Vec<i32>)> {
    map.tiling.check(tile)?;
    let (wide, own) = (map.tiling.around(tile, 1), map.tiling.window(tile));
    let mut inputs = Inputs::new(inputs);
    let ground = inputs.heights(TileLayer::Height, wide)?;
    let filled = inputs.heights(TileLayer::Filled, wide)?;
    let (waters, numbers) = parts(map, wide, own, &ground, &filled);
    let top = [0, 1].map(|axis| own.start[axis] - wide.start[axis]);
    let depth = |k: usize| {
        let at = (k / own.size[1] + top[0]) * wide.size[1] + k % own.size[1] + top[1];
        if ground[at] == NO_HEIGHT { 0 } else { filled[at].saturating_sub(ground[at]) }
    };
    let depths = (0..numbers.len()).map(depth).collect();
    Ok((waters, numbers, depths))
}

/// What both steps read. Cells beside the tile show where its lakes run out.
const READS: [(TileLayer, usize); 2] = [(TileLayer::Height, 1), (TileLayer::Filled, 1)];

impl Step for Shores {
    fn name(&self) -> &'static str {
        "lakes"
    }

    fn reads(&self) -> &[(TileLayer, usize)] {
        &READS
    }

    fn writes(&self) -> &[TileLayer] {
        &[TileLayer::Depth]
    }

    fn tile(&self, tile: usize, inputs: Vec<Samples>, _: &[u8]) -> Result<(Vec<Samples>, Vec<u8>)> {
        let (waters, numbers, depths) = read(&self.0, tile, inputs)?;
        let mut writer = Writer::new();
        writer.number(waters.len() as u64);
        for water in &waters {
            writer.near(water.first as i64);
            writer.number((water.level as u32).into());
            writer.number(water.cells);
            // A tile's cells times the greatest depth fit.
            writer.number(water.volume as u64);
            writer.number(water.deepest.into());
            writer.option(water.shore.map(|shore| (shore.0 as u32).into()));
            water.shore.into_iter().for_each(|shore| writer.near(shore.1 as i64));
        }
        let size = self.0.tiling.window(tile).size;
        Rim(size).cells().for_each(|[i, j]| writer.number(numbers[i * size[1] + j].into()));
        Ok((vec![Samples::I32(depths)], writer.finish()))
    }

    fn solve(&self, summaries: Vec<Vec<u8>>) -> Result<Solved> {
        let map = &self.0;
        map.tiling.check_count(summaries.len())?;
        let tiles = summaries.par_iter().enumerate().map(|(tile, summary)| TileWaters::read(map, tile, summary));
        let mut tiles = tiles.collect::<Result<Vec<_>>>()?;
        drop(summaries);
        let mut count = 0u64;
        for tile in &mut tiles {
            tile.start = count as usize;
            count += tile.waters.len() as u64;
        }
        if count >= u64::from(u32::MAX) {
            return Err(Error::value(
                "parts of lakes in tiles",
                count,
                format!("fewer than {}: numbers have 32 bits", u32::MAX),
            ));
        }
        let mut up: Vec<u32> = (0..count as u32).collect();
        for (tile, parts) in tiles.iter().enumerate() {
            let Window { start, size } = map.tiling.window(tile);
            for ([i, j], number) in Rim(size).cells().zip(&parts.rim) {
                let Some(here) = parts.id(*number) else { continue };
                for d in 0..4 {
                    let there = map.tiling.across_border([start[0] + i, start[1] + j], d);
                    if let Some(there) = there.and_then(|(other, place)| tiles[other].id(tiles[other].rim[place])) {
                        let [a, b] = [here, there].map(|id| top(&mut up, id));
                        up[a as usize] = b;
                    }
                }
            }
        }
        let parts = || tiles.iter().flat_map(|tile| &tile.waters);
        let mut whole: Vec<Option<Water>> = vec![None; count as usize];
        for (id, water) in parts().enumerate() {
            let at = &mut whole[top(&mut up, id as u32) as usize];
            *at = Some(at.map_or(*water, |known| known.with(*water)));
        }
        let mut roots: Vec<(u64, u32)> =
            whole.iter().enumerate().filter_map(|(root, water)| Some((water.as_ref()?.first, root as u32))).collect();
        roots.par_sort_unstable();
        let mut numbers = vec![0u32; count as usize];
        for (place, (_, root)) in roots.iter().enumerate() {
            numbers[*root as usize] = place as u32 + 1;
        }
        let lakes =
            roots.iter().filter_map(|(_, root)| Some(outline(map, numbers[*root as usize], whole[*root as usize]?)));
        let lakes = lakes.collect();
        let answers = tiles.iter().map(|tile| {
            let mut writer = Writer::new();
            writer.number(tile.waters.len() as u64);
            for id in tile.start..tile.start + tile.waters.len() {
                writer.near(numbers[top(&mut up, id as u32) as usize].into());
            }
            writer.finish()
        });
        let answers = answers.collect();
        Ok(Solved { answers, product: Some(Product::Lakes(lakes)) })
    }
}

/// The root of a tree; paths are halved on the way.
fn top(up: &mut [u32], from: u32) -> u32 {
    let mut at = from;
    while up[at as usize] != at {
        up[at as usize] = up[up[at as usize] as usize];
        at = up[at as usize];
    }
    at
}

/// A lake's figures as [`lakes`](crate::products::lakes::lakes) has them.
fn outline(map: &Map, id: u32, water: Water) -> LakeOutline {
    let area = map.grid.cell_area();
    let metres = water.volume as f64 / UNITS;
    LakeOutline {
        id,
        level: f64::from(water.level) / UNITS,
        cells: water.cells,
        area: water.cells as f64 * area,
        volume: metres * area,
        mean_depth: metres / water.cells as f64,
        max_depth: f64::from(water.deepest) / UNITS,
        outlet: water.shore.map(|(_, index)| map.tiling.cell(index)),
        outline: Vec::new(),
    }
}

/// A tile's summary, read.
struct TileWaters {
    /// The number in the whole of its first part.
    start: usize,
    waters: Vec<Water>,
    /// For each cell of the rim its part, from 1, or 0.
    rim: Vec<u32>,
}

impl TileWaters {
    fn read(map: &Map, tile: usize, summary: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(SUMMARY, tile, summary)?;
        let cells = map.tiling.index([map.grid.rows(), 0]);
        let mut waters = Vec::new();
        for _ in 0..reader.count()? {
            let index = |reader: &mut Reader<'_>| {
                let index = u64::try_from(reader.near()?).unwrap_or(u64::MAX);
                if index < cells { Ok(index) } else { Err(reader.damaged()) }
            };
            let first = index(&mut reader)?;
            let height = |reader: &Reader<'_>, bits: u64| {
                u32::try_from(bits).map(|bits| bits as i32).map_err(|_| reader.damaged())
            };
            let level = reader.number()?;
            let level = height(&reader, level)?;
            let (cells, volume, deepest) = (reader.number()?, reader.number()?.into(), reader.number()?);
            let deepest = u32::try_from(deepest).map_err(|_| reader.damaged())?;
            let shore = match reader.option()? {
                Some(bits) => Some((height(&reader, bits)?, index(&mut reader)?)),
                None => None,
            };
            waters.push(Water { first, level, cells, volume, deepest, shore });
        }
        let size = map.tiling.window(tile).size;
        let rim = (0..Rim(size).len()).map(|_| Ok(reader.below(waters.len() + 1)? as u32)).collect::<Result<_>>()?;
        reader.end()?;
        Ok(Self { start: 0, waters, rim })
    }

    /// The number in the whole of a part.
    fn id(&self, number: u32) -> Option<u32> {
        Some(self.start as u32 + number.checked_sub(1)?)
    }
}

impl Step for Number {
    fn name(&self) -> &'static str {
        "lake_numbers"
    }

    fn reads(&self) -> &[(TileLayer, usize)] {
        &READS
    }

    fn writes(&self) -> &[TileLayer] {
        &[TileLayer::Lake]
    }

    fn tile(&self, tile: usize, inputs: Vec<Samples>, answer: &[u8]) -> Result<(Vec<Samples>, Vec<u8>)> {
        let (waters, mut numbers, _) = read(&self.0, tile, inputs)?;
        let mut reader = Reader::new(ANSWER, tile, answer)?;
        if reader.count()? != waters.len() {
            return Err(reader.damaged());
        }
        let known = (0..waters.len()).map(|_| {
            let number = reader.near()?;
            u32::try_from(number).map_err(|_| reader.damaged())
        });
        let known = known.collect::<Result<Vec<u32>>>()?;
        reader.end()?;
        numbers.iter_mut().filter(|number| **number > 0).for_each(|number| *number = known[*number as usize - 1]);
        Ok((vec![Samples::U32(numbers)], Writer::new().finish()))
    }

    fn solve(&self, summaries: Vec<Vec<u8>>) -> Result<Solved> {
        self.0.tiling.check_count(summaries.len())?;
        Ok(Solved { answers: summaries, product: None })
    }
}
