//! Lakes over tiles, second pass: their numbers, properties and outlines.
//!
//! A tile lists the lakes that begin in it, with the outlines of those that do not reach its rim. The outlines of all
//! others are assembled by [`ShoreLines`] when it is their turn, one piece after another, so that no complete outline
//! is held in memory.

use std::collections::BTreeMap;

use crate::codec::{Reader, Writer};
use crate::lakes::{TileLakes, Water, reads};
use crate::layer::TileLayer;
use crate::numbering::{Begin, Counter};
use crate::part::{Map, SharedMap, index, messages};
use crate::pass::{Finding, LayerRead, Product, Summaries, TileInput, TileOutput, TilePass};
use crate::records;
use crate::shore_lines::{self, ShoreLines, closed, key};
use crate::shore_walk::{Loop, TileShores};
use thalweg_core::Result;
use thalweg_core::terrain::Lake;
use thalweg_core::terrain::height::UNITS;
use thalweg_io::Samples;

const ANSWER: &str = "answer of lakes";
const LISTED: &str = "list of lakes";

/// The pass that numbers lakes.
pub(super) struct Number(pub(super) SharedMap);

impl TilePass for Number {
    fn name(&self) -> &str {
        "lake_numbers"
    }

    fn reads(&self) -> Vec<LayerRead> {
        reads()
    }

    fn writes(&self) -> Vec<String> {
        vec![TileLayer::Lake.name().into()]
    }

    fn run_tile(&self, TileInput { tile, layers, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let map = &self.0;
        let mut lakes = TileLakes::find(map, tile, layers)?;
        let wet = lakes.take_wet();
        let shores = TileShores::find(&wet);
        drop(wet);
        let mut reader = Reader::new(ANSWER, tile, answer)?;
        let mut counter = Counter::read(lakes.own.size(), &mut reader)?;
        if reader.count()? != lakes.shared.iter().filter(|shared| **shared).count() {
            return Err(reader.damaged());
        }
        let mut known = Vec::with_capacity(lakes.waters.len());
        let mut list = Vec::new();
        let mut loops = Loops::of(&lakes, &shores);
        for (part, water) in lakes.waters.iter().enumerate() {
            let shared = lakes.shared[part];
            let number = if shared { Some(reader.near()?) } else { None };
            let begins = !shared || reader.byte()? != 0;
            // A lake that begins in another tile is counted there.
            let own = if begins { Some(counter.take(lakes.local(map, water))) } else { None };
            let number = match (number.map(u32::try_from), own) {
                (Some(Ok(number)), own) if own.is_none_or(|own| own == number) => number,
                (None, Some(own)) => own,
                _ => return Err(reader.damaged()),
            };
            known.push(number);
            if begins {
                let whole = if shared { Water::read(map, water.begin, &mut reader)? } else { *water };
                let first = water.begin.first;
                let mut writer = Writer::new();
                writer.near_to(first as i64);
                writer.byte(u8::from(shared));
                whole.write(&mut writer);
                if !shared {
                    loops.write(map, &lakes, &shores, part, &mut writer);
                }
                records::put(&mut list, first, &writer.finish());
            }
        }
        reader.end()?;
        let islands = loops.islands(map, &lakes, &shores, &known);
        let cells = lakes.numbers.iter_mut().filter(|number| **number > 0);
        cells.for_each(|number| *number = known[*number as usize - 1]);
        let summary = shore_lines::write(map, tile, &shores, |cell| lakes.numbers[cell as usize], &islands, &list);
        Ok(TileOutput { layers: vec![Samples::U32(lakes.numbers)], summary })
    }

    /// Reports the lakes in ascending order of their numbers, one row of tiles after another.
    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let map = &self.0;
        map.tiling.check_count(summaries.count())?;
        let shores = ShoreLines::read(map, LISTED, summaries)?;
        let [down, across] = map.tiling.shape();
        let mut id = 0u32;
        for band in 0..down {
            let tiles = band * across..(band + 1) * across;
            let mut lists = tiles.map(|tile| Ok((tile, shores.list(LISTED, tile)?))).collect::<Result<Vec<_>>>()?;
            let rows = map.tiling.window(band * across);
            for row in rows.start[0]..rows.start[0] + rows.size()[0] {
                let end = map.tiling.index([row + 1, 0]);
                for (tile, list) in &mut lists {
                    while let Some(first) = list.key().filter(|first| *first < end) {
                        id = id.saturating_add(1);
                        tell(map, *tile, id, first, &list.take()?, &shores, found)?;
                    }
                }
            }
            if let Some((tile, _)) = lists.iter().find(|(_, list)| list.key().is_some()) {
                return Err(Reader::bare(LISTED, *tile, &[]).damaged());
            }
        }
        Ok(Vec::new())
    }

    fn solve_bytes(&self) -> u64 {
        messages(&self.0.tiling) + shore_lines::bytes(&self.0.tiling)
    }

    fn finds(&self) -> Finding {
        Finding::Lakes
    }
}

/// Reports a lake that a tile lists.
fn tell(
    map: &Map,
    tile: usize,
    id: u32,
    first: u64,
    listed: &[u8],
    shores: &ShoreLines<'_>,
    found: &mut dyn FnMut(Product) -> Result<()>,
) -> Result<()> {
    let mut reader = Reader::new(LISTED, tile, listed)?;
    reader.near_to(first as i64);
    let shared = reader.byte()? != 0;
    let water = Water::read(map, Begin { first, before: 0 }, &mut reader)?;
    found(Product::Lake(outline(map, id, water)))?;
    if shared {
        shores.tell(id, found)?;
    } else {
        for line in 0..reader.count()? {
            // The first line goes round the lake, beginning at the northern side of its first cell.
            let start = match line {
                0 => key(first, 0),
                _ => key(index(map, &mut reader)?, reader.below(4)? as u8),
            };
            let length = reader.count()?;
            closed(map, tile, start, reader.bytes(length)?, found)?;
        }
    }
    reader.end()
}

/// Returns a lake's properties as [`outline_lakes`](thalweg_render::products::lakes::outline_lakes) computes them.
fn outline(map: &Map, id: u32, water: Water) -> Lake {
    let area = map.grid.cell_area();
    let metres = water.volume as f64 / UNITS;
    Lake {
        id,
        level: f64::from(water.level) / UNITS,
        cells: water.cells,
        area: water.cells as f64 * area,
        volume: metres * area,
        mean_depth: metres / water.cells as f64,
        max_depth: f64::from(water.deepest) / UNITS,
        outlet: water.shore.map(|(_, index)| map.tiling.cell(index)),
        runoff: None,
        outline: Vec::new(),
    }
}

/// The closed lines of a tile, grouped by parts of lakes.
struct Loops {
    /// Indices in [`TileShores::loops`]; those of one part are consecutive.
    order: Vec<u32>,
    /// The number of lines written so far.
    next: usize,
}

impl Loops {
    /// Groups the closed lines of a tile.
    fn of(lakes: &TileLakes, shores: &TileShores) -> Self {
        let mut order: Vec<u32> = (0..shores.loops.len() as u32).collect();
        // The sort is stable, so lines of a part keep their order. Lines of parts that tiles share come last.
        order.sort_by_key(|n| {
            let part = part_of(lakes, &shores.loops[*n as usize]);
            (lakes.shared[part], part)
        });
        Self { order, next: 0 }
    }

    /// Writes the lines of the next part that is not shared.
    fn write(&mut self, map: &Map, lakes: &TileLakes, shores: &TileShores, part: usize, writer: &mut Writer) {
        let rest = self.order[self.next..].iter().map(|n| &shores.loops[*n as usize]);
        let own: Vec<&Loop> = rest.take_while(|line| part_of(lakes, line) == part).collect();
        self.next += own.len();
        writer.number(own.len() as u64);
        for (n, line) in own.into_iter().enumerate() {
            if n > 0 {
                writer.near(cell_of(map, lakes, line) as i64);
                writer.byte(line.side);
            }
            writer.number(line.runs.len() as u64);
            writer.bytes(&shores.runs[line.runs.clone()]);
        }
    }

    /// Returns records of all other lines, grouped by the numbers of their lakes in `known`.
    fn islands(self, map: &Map, lakes: &TileLakes, shores: &TileShores, known: &[u32]) -> Vec<(u32, Vec<u8>)> {
        let mut rest = self.order[self.next..].to_vec();
        rest.sort_unstable();
        let mut islands: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        for line in rest.into_iter().map(|n| &shores.loops[n as usize]) {
            let of_lake = islands.entry(known[part_of(lakes, line)]).or_default();
            records::put(of_lake, key(cell_of(map, lakes, line), line.side), &shores.runs[line.runs.clone()]);
        }
        islands.into_iter().collect()
    }
}

/// Returns the part of a lake that a line encloses.
fn part_of(lakes: &TileLakes, line: &Loop) -> usize {
    lakes.numbers[line.cell as usize] as usize - 1
}

/// Returns the map index of the cell at which a line begins.
fn cell_of(map: &Map, lakes: &TileLakes, line: &Loop) -> u64 {
    let [i, j] = [line.cell as usize / lakes.own.size()[1], line.cell as usize % lakes.own.size()[1]];
    map.tiling.index([lakes.own.start[0] + i, lakes.own.start[1] + j])
}
