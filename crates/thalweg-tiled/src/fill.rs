//! Depression filling over tiles: the levels at which a tile's depressions spill to its rim, and the water levels there
//! in the whole map.
//!
//! The method follows Barnes (2016, doi:10.1016/j.cageo.2016.07.001). The paper labels watersheds by priority-flood;
//! here a tile's graph of pits and passes ([`Pits`]) is reduced to the basins that reach its rim, with the lowest
//! level that connects any two of them.

use rayon::prelude::*;

use crate::codec::{Reader, Writer};
use crate::layer::TileLayer;
use crate::part::{Inputs, MapPart, SharedMap, encode_fallback_outlet, estimate_list_bytes, read_fallback_outlet};
use crate::pass::{LayerRead, Product, Summaries, TileInput, TileOutput, TilePass};
use thalweg_core::terrain::{Rim, TileGrid};
use thalweg_core::{Cell, Error, Field, Result};
use thalweg_flow::fill::Pits;
use thalweg_flow::passes::{self, BasinPass, OUTSIDE_BASIN};
use thalweg_flow::{CellRole, D8, tie_break_hash};
use thalweg_io::Samples;
use thalweg_render::products::nested::find_root;

const SUMMARY: &str = "summary of spills";
const ANSWER: &str = "answer of spills";
const FILLED: &str = "summary of filling";

/// The pass that finds where the depressions of tiles spill.
pub(super) struct Spills(pub(super) SharedMap);

/// The pass that fills the depressions.
pub(super) struct Fill(pub(super) SharedMap);

/// A tile's pits, as both passes compute them.
struct TilePits {
    own: MapPart,
    roles: Field<CellRole>,
    pits: Pits,
    /// The basins that contain rim cells, in the order in which the rim meets them, followed by the basin of the
    /// tile's lowest cell.
    kept: Vec<u32>,
    /// For each cell of the rim, its number in `kept`, from 1; 0 for the outside.
    rim: Vec<u32>,
    /// The tile's lowest cell, if water leaves the land nowhere in the tile.
    lowest: Option<usize>,
}

impl TilePits {
    /// Computes a tile's pits from its elevation layer, the next of `inputs`, which must have a halo of one cell.
    fn from_layers(map: &SharedMap, tile: usize, inputs: Vec<Samples>) -> Result<Self> {
        map.tiling.check_tile(tile)?;
        let (around, window) = (map.tiling.window_with_halo(tile, 1), map.tiling.tile_window(tile));
        let wide = map.create_part(around, Inputs::new(inputs).heights(TileLayer::Height, around)?, None)?;
        wide.check_outlets()?;
        // The roles of the tile's cells depend on missing data next to the tile, so they are computed with the halo.
        let (roles, _) = wide.as_land().classify_cells();
        let inner = wide.locate_window(window);
        let roles = roles.copy_window(inner);
        let heights = wide.as_land().ground.copy_window(inner).into_vec().into_iter().map(|height| height.0).collect();
        drop(wide);
        // Edges of the tile that are not edges of the map are closed in `own`, so its pits are those of the tile alone.
        // Water that crosses the rim is added by the solution, through the basins in `kept`.
        let own = map.create_part(window, heights, None)?;
        let pits = Pits::from_land(&own.as_land(), &roles);
        // Number the basins in the order in which the rim meets them. Both passes repeat this computation, so the
        // numbers need not be stored between them.
        let mut numbers = vec![0u32; pits.basin_count()];
        let mut kept = Vec::new();
        let mut number = |k: usize| {
            let basin = pits.basin(k);
            let number = &mut numbers[basin as usize];
            if basin != OUTSIDE_BASIN && *number == 0 {
                kept.push(basin);
                *number = kept.len() as u32;
            }
            *number
        };
        let cols = window.size()[1];
        let rim = Rim(window.size()).cells().map(|Cell { row: i, col: j }| number(i * cols + j)).collect();
        // A tile in which water leaves the land nowhere offers its lowest cell: if this holds for all tiles, the lowest
        // of these cells becomes the only outlet of the map.
        let all_inside = roles.as_slice().iter().all(|part| *part == CellRole::Inside);
        let lowest = all_inside.then(|| own.as_land().find_lowest_cell()).flatten();
        lowest.into_iter().for_each(|k| _ = number(k));
        Ok(Self { own, roles, pits, kept, rim, lowest })
    }

    /// Returns the lowest levels that connect the kept basins with each other and the outside, as a forest.
    ///
    /// This is Kruskal's algorithm (1956): passes are processed in ascending order of level. Each tree of basins has
    /// at most one kept basin that represents it. Where two trees that both have one meet, these are connected in the
    /// forest.
    fn compute_pass_forest(&self) -> Vec<BasinPass> {
        const NONE: u32 = u32::MAX;
        let mut passes: Vec<BasinPass> = self.pits.passes.iter().flatten().copied().collect();
        // The basins break ties between equal levels, so the order in which bands of rows found the passes does not
        // matter.
        passes.par_sort_unstable_by_key(|pass| (pass.level, pass.ends));
        let mut up: Vec<u32> = (0..self.pits.basin_count() as u32).collect();
        // `stands` has for each root the number that represents its tree: 0 for the outside, or that of a kept basin.
        let mut stands = vec![NONE; self.pits.basin_count()];
        stands[OUTSIDE_BASIN as usize] = 0;
        for (number, basin) in self.kept.iter().enumerate() {
            stands[*basin as usize] = number as u32 + 1;
        }
        let mut forest = Vec::new();
        for pass in passes {
            let [a, b] = pass.ends.map(|end| find_root(&mut up, end));
            if a == b {
                continue;
            }
            let [x, y] = [stands[a as usize], stands[b as usize]];
            // All lower passes have been processed, so no lower level connects these two.
            if x != NONE && y != NONE {
                forest.push(BasinPass { ends: [x, y], level: pass.level });
            }
            up[a as usize] = b;
            // `NONE` is greater than every number, so the tree keeps a representative if either part had one.
            stands[b as usize] = x.min(y);
        }
        forest
    }
}

impl TilePass for Spills {
    fn name(&self) -> &str {
        "spills"
    }

    fn input_layers(&self) -> Vec<LayerRead> {
        vec![TileLayer::Height.with_halo(1)]
    }

    fn run_tile(&self, TileInput { tile, layers, .. }: TileInput<'_>) -> Result<TileOutput> {
        let found = TilePits::from_layers(&self.0, tile, layers)?;
        let forest = found.compute_pass_forest();
        let land = found.own.as_land();
        let mut writer = Writer::new();
        writer.write_number(found.kept.len() as u64);
        writer.write_number(forest.len() as u64);
        for BasinPass { ends: [a, b], level } in forest {
            writer.write_number(a.into());
            writer.write_number(b.into());
            writer.write_difference(level.into());
        }
        // Write each rim cell with its basin and its height, from which the solution computes the passes to adjacent
        // tiles.
        let (start, size) = (found.own.window.start, found.own.window.size());
        for (Cell { row: i, col: j }, number) in Rim(size).cells().zip(&found.rim) {
            writer.write_number((*number).into());
            // Cells next to missing data belong to the outside already, so the height of a cell without data is never
            // needed.
            if found.roles[(i, j)] != CellRole::Void {
                writer.write_difference(land.ground[(i, j)].0.into());
            } else {
                writer.write_difference(0);
            }
        }
        writer.write_byte(u8::from(found.lowest.is_some()));
        if let Some(k) = found.lowest {
            let (i, j) = (k / size[1], k % size[1]);
            writer.write_difference(land.ground[k].0.into());
            // The hash decides between equally low cells of different tiles, as it does within one land.
            writer.write_number(tie_break_hash(land.grid, k));
            writer.write_number(self.0.tiling.index([start[0] + i, start[1] + j]));
            let basin = found.pits.basin(k);
            writer
                .write_number(found.kept.iter().position(|kept| *kept == basin).map_or(0, |number| number as u64 + 1));
        }
        Ok(TileOutput { summary: writer.finish(), ..TileOutput::default() })
    }

    fn solve(&self, summaries: &dyn Summaries, _: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let tiling = &self.0.tiling;
        tiling.check_count(summaries.count())?;
        let tiles = (0..tiling.tile_count()).into_par_iter();
        let tiles = tiles.map(|tile| TileSpills::from_summary(tiling, tile, &summaries.read(tile)?));
        let mut tiles = tiles.collect::<Result<Vec<_>>>()?;
        // Give the basins of all tiles consecutive numbers, tile after tile. Number 0 stands for the outside.
        let mut count = 1u64;
        for tile in &mut tiles {
            tile.first = count;
            count += tile.count as u64;
        }
        if count > u64::from(u32::MAX) {
            return Err(Error::invalid_value(
                "basins at the edges of tiles",
                count,
                format!("at most {}; use larger tiles, which have fewer", u32::MAX),
            ));
        }
        // If no tile has an outlet, the lowest cell of the whole map is the only one, as in `Land::cell_roles`.
        let lowest = tiles.iter().map(|tile| tile.lowest).collect::<Option<Vec<_>>>();
        let lowest = lowest
            .and_then(|lowest| lowest.into_iter().enumerate().min_by_key(|(_, low)| (low.height, low.lot, low.index)));
        let spans: Vec<_> = tiles.iter().map(|tile| tile.first as usize..tile.first as usize + tile.count).collect();
        // Collect the passes within tiles and across their borders, and compute the level at which each basin spills.
        let mut all: Vec<Vec<BasinPass>> =
            (0..tiles.len()).into_par_iter().map(|tile| collect_passes(tiling, tile, &tiles)).collect();
        if let Some((tile, low)) = lowest {
            // The stand-in lets water out at its own height.
            all.push(vec![BasinPass {
                ends: [OUTSIDE_BASIN, tiles[tile].to_global_basin(low.basin)],
                level: low.height,
            }]);
        }
        // Free the rims before the rounds over basins allocate their lists.
        drop(tiles);
        let levels = passes::compute_spill_levels(count as usize, all);
        let answers = spans.into_iter().map(|span| {
            let mut writer = Writer::new();
            writer.write_option(lowest.map(|(_, low)| low.index));
            levels[span].iter().for_each(|level| writer.write_difference((*level).into()));
            writer.finish()
        });
        Ok(answers.collect())
    }

    fn solve_bytes(&self) -> u64 {
        // Bytes per rim cell: its basin and height; at most one own basin, with a pass of the forest; three passes
        // over the border for every second cell; then the rounds over basins, each with half as many as the one
        // before.
        const CELL: u64 = 8;
        const PASSES: u64 = 12 + 12 + 18;
        const ROUNDS: u64 = 8 + 2 * 8 + 2 * 4 + 5;
        estimate_list_bytes(&self.0.tiling) + (CELL + PASSES + ROUNDS) * self.0.tiling.rim_cell_count()
    }
}

/// A decoded summary of a tile.
struct TileSpills {
    /// The global number of the tile's first basin.
    first: u64,
    count: usize,
    forest: Vec<BasinPass>,
    /// For each cell of the rim, its basin, from 1, or 0 for the outside, and its height.
    rim: Vec<(u32, i32)>,
    lowest: Option<Lowest>,
}

/// The lowest cell of a tile from which water cannot leave the land.
#[derive(Clone, Copy)]
struct Lowest {
    height: i32,
    lot: u64,
    index: u64,
    basin: u32,
}

impl TileSpills {
    /// Decodes the summary of a tile.
    fn from_summary(tiling: &TileGrid, tile: usize, summary: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(SUMMARY, tile, summary)?;
        let rim = Rim(tiling.tile_window(tile).size()).len();
        // There is at most one basin per rim cell, plus that of the lowest cell.
        let count = reader.read_number_below(rim + 2)?;
        let basin = |reader: &mut Reader<'_>| Ok::<_, Error>(reader.read_number_below(count + 1)? as u32);
        let edges = reader.read_count()?;
        // The nodes are the basins and the outside, so a forest has at most `count` edges. A damaged number cannot
        // request more memory.
        let mut forest = Vec::with_capacity(edges.min(count));
        for _ in 0..edges {
            let ends = [basin(&mut reader)?, basin(&mut reader)?];
            forest.push(BasinPass { ends, level: reader.read_difference_i32()? });
        }
        let rim = (0..rim).map(|_| Ok((basin(&mut reader)?, reader.read_difference_i32()?))).collect::<Result<_>>()?;
        let mut lowest = None;
        if reader.read_byte()? != 0 {
            let (height, lot, index) = (reader.read_difference_i32()?, reader.read_number()?, reader.read_number()?);
            // The index of the first cell below the last row equals the number of cells of the map.
            if index >= tiling.index([tiling.size()[0], 0]) {
                return Err(reader.damage_error());
            }
            lowest = Some(Lowest { height, lot, index, basin: basin(&mut reader)? });
        }
        reader.expect_end()?;
        Ok(Self { first: 0, count, forest, rim, lowest })
    }

    /// Returns the global number of a basin.
    fn to_global_basin(&self, basin: u32) -> u32 {
        if basin == 0 { OUTSIDE_BASIN } else { (self.first + u64::from(basin) - 1) as u32 }
    }
}

/// Returns the passes within a tile and those to the tiles east and south of it; for each pair of basins only the
/// lowest.
fn collect_passes(tiling: &TileGrid, tile: usize, tiles: &[TileSpills]) -> Vec<BasinPass> {
    let window = tiling.tile_window(tile);
    let (start, size) = (window.start, window.size());
    let own = &tiles[tile];
    let mut joins = Vec::new();
    for (Cell { row: i, col: j }, (basin, height)) in Rim(size).cells().zip(&own.rim) {
        let here = own.to_global_basin(*basin);
        // The other four neighbours add their passes to this cell.
        for direction in &D8::ALL[..4] {
            let neighbour = tiling.across_border([start[0] + i, start[1] + j], *direction);
            let Some((other, place)) = neighbour else { continue };
            let (basin, adjacent) = tiles[other].rim[place];
            let there = tiles[other].to_global_basin(basin);
            // Water passes between two adjacent cells at the height of the higher one.
            if here != there {
                joins.push(BasinPass { ends: [here, there], level: (*height).max(adjacent) });
            }
        }
    }
    // Sorted by level within each pair of basins, the lowest pass is the first and the only one that is kept.
    joins.sort_unstable_by_key(|pass| (pass.ends, pass.level));
    joins.dedup_by_key(|pass| pass.ends);
    // Exact capacities keep the lists within the bytes that `solve_bytes` counts.
    joins.reserve_exact(own.forest.len());
    joins.extend(
        own.forest
            .iter()
            .map(|pass| BasinPass { ends: pass.ends.map(|end| own.to_global_basin(end)), level: pass.level }),
    );
    joins.shrink_to_fit();
    joins
}

impl TilePass for Fill {
    fn name(&self) -> &str {
        "fill"
    }

    fn input_layers(&self) -> Vec<LayerRead> {
        vec![TileLayer::Height.with_halo(1)]
    }

    fn output_layers(&self) -> Vec<String> {
        vec![TileLayer::Filled.name().into()]
    }

    fn run_tile(&self, TileInput { tile, layers, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let TilePits { own, mut pits, kept, .. } = TilePits::from_layers(&self.0, tile, layers)?;
        let mut reader = Reader::new(ANSWER, tile, answer)?;
        let stand_in = reader.read_option()?;
        // The answer replaces everything outside the tile: each kept basin gets one pass to the outside, at the level
        // at which it spills in the whole map. Filling the tile then gives the same surface as filling the map.
        let to_outside = kept
            .iter()
            .map(|basin| Ok(BasinPass { ends: [OUTSIDE_BASIN, *basin], level: reader.read_difference_i32()? }));
        let to_outside = to_outside.collect::<Result<Vec<_>>>()?;
        reader.expect_end()?;
        pits.passes.push(to_outside);
        // Cells without data keep the value that stands for missing data.
        let filled = pits.fill(&own.as_land()).into_vec().into_iter().map(|height| height.0).collect();
        Ok(TileOutput { layers: vec![Samples::I32(filled)], summary: encode_fallback_outlet(stand_in) })
    }

    fn solve(&self, summaries: &dyn Summaries, _: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        self.0.tiling.check_count(summaries.count())?;
        let stand_in = read_fallback_outlet(FILLED, summaries)?;
        Ok(vec![encode_fallback_outlet(stand_in); summaries.count()])
    }

    fn solve_bytes(&self) -> u64 {
        estimate_list_bytes(&self.0.tiling)
    }
}
