//! Lakes over tiles, second pass: their numbers, properties and outlines.
//!
//! A tile lists the lakes that begin in it, with the outlines of those that do not reach its rim. The outlines of all
//! others are assembled by [`ShoreLines`] when it is their turn, one piece after another, so that no complete outline
//! is held in memory.

use std::collections::BTreeMap;

use crate::codec::{Reader, Writer};
use crate::lakes::{LakeTotals, TileLakes, list_input_layers};
use crate::layer::TileLayer;
use crate::numbering::{Counter, ItemStart};
use crate::part::{DrainageMap, SharedMap, estimate_list_bytes, read_cell_index};
use crate::pass::{Finding, LayerRead, Product, Summaries, TileInput, TileOutput, TilePass};
use crate::records;
use crate::shore_lines::{self, ShoreLines, encode_side, report_closed_line};
use crate::shore_walk::{Loop, TileShores};
use thalweg_core::Result;
use thalweg_core::terrain::Lake;
use thalweg_core::terrain::height::UNITS;
use thalweg_io::Samples;

const ANSWER: &str = "answer of lakes";
const LISTED: &str = "list of lakes";

/// The pass that numbers lakes.
pub(super) struct LakeNumbersPass(pub(super) SharedMap);

impl TilePass for LakeNumbersPass {
    fn name(&self) -> &str {
        "lake_numbers"
    }

    fn input_layers(&self) -> Vec<LayerRead> {
        list_input_layers()
    }

    fn output_layers(&self) -> Vec<String> {
        vec![TileLayer::Lake.name().into()]
    }

    fn run_tile(&self, TileInput { tile, layers, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let map = &self.0;
        let mut lakes = TileLakes::from_layers(map, tile, layers)?;
        // The mask needs one byte per cell, while the layers need eight, so those are freed before the shores are
        // traced.
        let wet = lakes.take_wet();
        let shores = TileShores::from_wet_cells(&wet);
        drop(wet);
        let mut reader = Reader::new(ANSWER, tile, answer)?;
        let mut counter = Counter::from_reader(lakes.own.size(), &mut reader)?;
        if reader.read_count()? != lakes.shared.iter().filter(|shared| **shared).count() {
            return Err(reader.damage_error());
        }
        // Parts are in the order of their first cells, in which closed lakes are numbered and shared ones follow in the
        // answer.
        let mut known = Vec::with_capacity(lakes.waters.len());
        let mut list = Vec::new();
        let mut loops = Loops::from_shores(&lakes, &shores);
        for (part, water) in lakes.waters.iter().enumerate() {
            let shared = lakes.shared[part];
            let number = if shared { Some(reader.read_difference()?) } else { None };
            let begins = !shared || reader.read_byte()? != 0;
            // A lake that begins in another tile is counted there.
            let own = if begins { Some(counter.next_number(lakes.local_index(map, water))) } else { None };
            let number = match (number.map(u32::try_from), own) {
                (Some(Ok(number)), own) if own.is_none_or(|own| own == number) => number,
                (None, Some(own)) => own,
                _ => return Err(reader.damage_error()),
            };
            known.push(number);
            if begins {
                // The answer has the totals of all parts of a shared lake; those of a closed lake are known here.
                let whole = if shared { LakeTotals::read(map, water.begin, &mut reader)? } else { *water };
                let first = water.begin.first;
                let mut writer = Writer::new();
                // The reader knows the first cell from the key of the record and sets the same reference.
                writer.set_previous(first as i64);
                writer.write_byte(u8::from(shared));
                whole.write(&mut writer);
                if !shared {
                    loops.write_next_lines(map, &lakes, &shores, part, &mut writer);
                }
                records::append_record(&mut list, first, &writer.finish());
            }
        }
        reader.expect_end()?;
        let islands = loops.into_island_records(map, &lakes, &shores, &known);
        // Replace the numbers of parts by those of lakes.
        let cells = lakes.numbers.iter_mut().filter(|number| **number > 0);
        cells.for_each(|number| *number = known[*number as usize - 1]);
        let summary =
            shore_lines::encode_shores(map, tile, &shores, |cell| lakes.numbers[cell as usize], &islands, &list);
        Ok(TileOutput { layers: vec![Samples::U32(lakes.numbers)], summary })
    }

    /// Reports the lakes in ascending order of their numbers, one row of tiles after another.
    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let map = &self.0;
        map.tiling.check_count(summaries.count())?;
        let shores = ShoreLines::from_summaries(map, LISTED, summaries)?;
        let [down, across] = map.tiling.tiles_per_axis();
        // Numbers follow the first cells in row-major order of the map. Each row crosses all tiles of a band, so the
        // lists of a band are merged row by row; only one block of each list is in memory.
        let mut id = 0u32;
        for band in 0..down {
            let tiles = band * across..(band + 1) * across;
            let mut lists =
                tiles.map(|tile| Ok((tile, shores.open_list(LISTED, tile)?))).collect::<Result<Vec<_>>>()?;
            let rows = map.tiling.tile_window(band * across);
            for row in rows.start[0]..rows.start[0] + rows.size()[0] {
                let end = map.tiling.index([row + 1, 0]);
                for (tile, list) in &mut lists {
                    while let Some(first) = list.next_key().filter(|first| *first < end) {
                        id = id.saturating_add(1);
                        report_lake(map, *tile, id, first, &list.read_next()?, &shores, found)?;
                    }
                }
            }
            // A lake left in a list would begin outside its band of tiles.
            if let Some((tile, _)) = lists.iter().find(|(_, list)| list.next_key().is_some()) {
                return Err(Reader::without_version(LISTED, *tile, &[]).damage_error());
            }
        }
        Ok(Vec::new())
    }

    fn solve_bytes(&self) -> u64 {
        estimate_list_bytes(&self.0.tiling) + shore_lines::estimate_memory_bytes(&self.0.tiling)
    }

    fn reported_kind(&self) -> Finding {
        Finding::Lakes
    }
}

/// Reports a lake that a tile lists.
fn report_lake(
    map: &DrainageMap,
    tile: usize,
    id: u32,
    first: u64,
    listed: &[u8],
    shores: &ShoreLines<'_>,
    found: &mut dyn FnMut(Product) -> Result<()>,
) -> Result<()> {
    let mut reader = Reader::new(LISTED, tile, listed)?;
    reader.set_previous(first as i64);
    let shared = reader.read_byte()? != 0;
    let water = LakeTotals::read(map, ItemStart { first, before: 0 }, &mut reader)?;
    found(Product::Lake(build_lake(map, id, water)))?;
    if shared {
        shores.report_outline(id, found)?;
    } else {
        for line in 0..reader.read_count()? {
            // The first line goes round the lake, beginning at the northern side of its first cell.
            let start = match line {
                0 => encode_side(first, 0),
                _ => encode_side(read_cell_index(map, &mut reader)?, reader.read_number_below(4)? as u8),
            };
            let length = reader.read_count()?;
            report_closed_line(map, tile, start, reader.read_bytes(length)?, found)?;
        }
    }
    reader.expect_end()
}

/// Returns a lake's properties as [`outline_lakes`](thalweg_render::products::lakes::outline_lakes) computes them.
fn build_lake(map: &DrainageMap, id: u32, water: LakeTotals) -> Lake {
    let area = map.grid.cell_area();
    // This is the volume in m × cells. The sum is an exact integer and `UNITS` a power of two, so only the conversion
    // rounds.
    let metres = water.volume as f64 / UNITS;
    Lake {
        id,
        level: f64::from(water.level) / UNITS,
        cells: water.cells,
        area: water.cells as f64 * area,
        volume: metres * area,
        mean_depth: metres / water.cells as f64,
        max_depth: f64::from(water.deepest) / UNITS,
        outlet: water.shore.map(|(_, index)| map.tiling.cell_from_index(index)),
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
    fn from_shores(lakes: &TileLakes, shores: &TileShores) -> Self {
        let mut order: Vec<u32> = (0..shores.loops.len() as u32).collect();
        // The sort is stable, so lines of a part keep their order. Lines of parts that tiles share come last.
        order.sort_by_key(|n| {
            let part = enclosed_part(lakes, &shores.loops[*n as usize]);
            (lakes.shared[part], part)
        });
        Self { order, next: 0 }
    }

    /// Writes the lines of the next part that is not shared.
    fn write_next_lines(
        &mut self,
        map: &DrainageMap,
        lakes: &TileLakes,
        shores: &TileShores,
        part: usize,
        writer: &mut Writer,
    ) {
        // Parts are written in ascending order, in which their lines are sorted, so each part's lines are the next
        // ones.
        let rest = self.order[self.next..].iter().map(|n| &shores.loops[*n as usize]);
        let own: Vec<&Loop> = rest.take_while(|line| enclosed_part(lakes, line) == part).collect();
        self.next += own.len();
        writer.write_number(own.len() as u64);
        for (n, line) in own.into_iter().enumerate() {
            if n > 0 {
                writer.write_difference(start_cell(map, lakes, line) as i64);
                writer.write_byte(line.side);
            }
            writer.write_number(line.runs.len() as u64);
            writer.write_bytes(&shores.runs[line.runs.clone()]);
        }
    }

    /// Returns records of all other lines, grouped by the numbers of their lakes in `known`.
    fn into_island_records(
        self,
        map: &DrainageMap,
        lakes: &TileLakes,
        shores: &TileShores,
        known: &[u32],
    ) -> Vec<(u32, Vec<u8>)> {
        let mut rest = self.order[self.next..].to_vec();
        // Indices of lines ascend with their first sides, so the records of each lake are in the order in which the
        // solution merges them.
        rest.sort_unstable();
        let mut islands: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        for line in rest.into_iter().map(|n| &shores.loops[n as usize]) {
            let of_lake = islands.entry(known[enclosed_part(lakes, line)]).or_default();
            records::append_record(
                of_lake,
                encode_side(start_cell(map, lakes, line), line.side),
                &shores.runs[line.runs.clone()],
            );
        }
        islands.into_iter().collect()
    }
}

/// Returns the part of a lake that a line encloses.
fn enclosed_part(lakes: &TileLakes, line: &Loop) -> usize {
    lakes.numbers[line.cell as usize] as usize - 1
}

/// Returns the map index of the cell at which a line begins.
fn start_cell(map: &DrainageMap, lakes: &TileLakes, line: &Loop) -> u64 {
    let [i, j] = [line.cell as usize / lakes.own.size()[1], line.cell as usize % lakes.own.size()[1]];
    map.tiling.index([lakes.own.start[0] + i, lakes.own.start[1] + j])
}
