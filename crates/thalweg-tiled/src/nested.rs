//! Depressions within lakes over tiles: each tile reports how water rises in its part of every lake, and the parts
//! are connected at rims.
//!
//! All ground under a lake is below everything next to the lake. The tree of a lake's depressions therefore involves
//! the lake's own cells only, and depressions that do not reach a tile's rim are completed there.

use crate::catchments::decode_tile_directions;
use crate::codec::Writer;
use crate::layer::TileLayer;
use crate::nested_parts::LakeFilling;
use crate::nested_sweep::{self, NestedSweep, PathCode, ToSill, encode_onward_path};
use crate::part::{DrainageMap, Inputs, SharedMap, estimate_list_bytes};
use crate::pass::{Finding, LayerRead, Product, Summaries, TileInput, TileOutput, TilePass};
use crate::records;
use thalweg_core::terrain::Rim;
use thalweg_core::{Cell, CellRect, Field, Result};
use thalweg_flow::basins::propagate_outlet_labels;
use thalweg_flow::{Directions, OUT};

/// The pass that computes the tree of depressions.
pub(super) struct Nested(pub(super) SharedMap);

impl TilePass for Nested {
    fn name(&self) -> &str {
        "nested"
    }

    fn input_layers(&self) -> Vec<LayerRead> {
        vec![
            TileLayer::Lake.with_halo(1),
            TileLayer::Filled.with_halo(1),
            TileLayer::Direction.with_halo(0),
            TileLayer::Height.with_halo(0),
        ]
    }

    fn run_tile(&self, TileInput { tile, layers, .. }: TileInput<'_>) -> Result<TileOutput> {
        let map = &self.0;
        map.tiling.check_tile(tile)?;
        let window = map.tiling.tile_window(tile);
        let mut inputs = Inputs::new(layers);
        let around = map.tiling.window_with_halo(tile, 1);
        let lakes = Field::from_vec(around.size(), inputs.numbers(TileLayer::Lake, around)?)?;
        let filled = Field::from_vec(around.size(), inputs.heights(TileLayer::Filled, around)?)?;
        let codes = inputs.codes(TileLayer::Direction, window)?;
        let outs = TileOutflows::from_directions(map, window, around, &lakes, &filled, codes)?;
        let inner = [0, 1].map(|axis| window.start[axis] - around.start[axis]);
        let inner = CellRect::new(inner, window.size());
        let (lakes, filled) = (lakes.copy_window(inner).into_vec(), filled.copy_window(inner).into_vec());
        let ground = inputs.heights(TileLayer::Height, window)?;

        // Sort the cells by lake, then in the order in which rising water reaches them.
        let mut order: Vec<u32> = (0..lakes.len() as u32).filter(|k| lakes[*k as usize] != 0).collect();
        order.sort_unstable_by_key(|k| (lakes[*k as usize], ground[*k as usize], *k));
        let mut list = Vec::new();
        let mut rise = LakeFilling::new(map, window, &ground);
        for cells in order.chunk_by(|a, b| lakes[*a as usize] == lakes[*b as usize]) {
            let first = cells[0] as usize;
            let lake = lakes[first];
            // Before its events, each lake has a record with its level and its paths to sills.
            let mut writer = Writer::without_version();
            writer.write_difference(filled[first].into());
            let paths = outs.paths_of_lake(lake);
            writer.write_number(paths.len() as u64);
            paths.iter().for_each(|(_, path)| path.write(&mut writer));
            records::append_record(&mut list, lake.into(), &writer.finish());
            rise.append_lake_events(lake, cells, &mut list);
        }
        let mut writer = Writer::new();
        for (to_sill, path) in &outs.rim {
            to_sill.write(&mut writer);
            writer.write_number(*path);
        }
        // The summary has the length of the encoded paths, these paths, and then the records. The records are read one
        // by one, so they must not be part of what is decoded at once.
        let head = writer.finish();
        let mut summary = (head.len() as u64).to_le_bytes().to_vec();
        summary.extend(head);
        summary.append(&mut list);
        Ok(TileOutput { summary, ..TileOutput::default() })
    }

    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        NestedSweep::from_summaries(&self.0, summaries)?
            .report_depressions(&mut |one| found(Product::Depression(one)))?;
        Ok(Vec::new())
    }

    fn solve_bytes(&self) -> u64 {
        estimate_list_bytes(&self.0.tiling) + nested_sweep::estimate_memory_bytes(&self.0.tiling)
    }

    fn reported_kind(&self) -> Finding {
        Finding::Depressions
    }
}

/// Where the water of lakes, and water that reaches the tile's rim, flows on.
struct TileOutflows {
    /// The flow paths of lakes to their sills, sorted by lake: one that ends in the tile, and all that lead out of
    /// it.
    lakes: Vec<(u32, ToSill)>,
    /// The flow paths from each cell of the rim, to a sill and to a lake.
    rim: Vec<(ToSill, PathCode)>,
}

impl TileOutflows {
    /// Computes the paths. `wide` are the numbers of lakes in the window `around`, `filled` is the filled surface
    /// there, and `codes` are the directions in `window`.
    fn from_directions(
        map: &DrainageMap,
        window: CellRect,
        around: CellRect,
        wide: &Field<u32>,
        filled: &Field<i32>,
        codes: Vec<u8>,
    ) -> Result<Self> {
        let (start, size) = (window.start, window.size());
        let Cell { row: first_row, col: first_col } = around.start;
        let own = |k: usize| Cell::new(start[0] + k / size[1], start[1] + k % size[1]);
        let lake = |k: usize| wide[(own(k)[0] - first_row, own(k)[1] - first_col)];
        let level = |Cell { row: i, col: j }: Cell| filled[(i - first_row, j - first_col)];
        let (directions, exits) = decode_tile_directions(map, window, codes)?;
        // Within the tile an exit is an end, so the next cell of a path is found by the exit first.
        let exit = |k: usize| {
            let place = Rim(size).position_of_cell([k / size[1], k % size[1]])?;
            Some((place, exits[place]?))
        };
        let next = |k: usize| match exit(k) {
            Some((_, direction)) => map.tiling.neighbour_cell(own(k), direction),
            None => directions.next(k).map(own),
        };
        // Paths to lakes: follow the directions to the first lake cell.
        let mut to_lakes: Directions = directions.clone();
        (0..size[0] * size[1]).filter(|k| lake(*k) != 0).for_each(|k| to_lakes[k] = OUT);
        let ends = find_path_ends(&to_lakes);
        let code = |k: usize| match ends[k] {
            CIRCLE => 0,
            end => match (lake(end as usize), exit(end as usize)) {
                (0, None) => 0,
                (0, Some((place, direction))) => encode_onward_path(place, direction),
                (lake, _) => 2 * PathCode::from(lake),
            },
        };
        // Paths to sills: follow the directions as long as the filled surface is level. The last cell before it falls
        // is the sill.
        let mut to_sills = to_lakes;
        for k in 0..size[0] * size[1] {
            to_sills[k] = if next(k).is_some_and(|to| level(to) < level(own(k))) { OUT } else { directions[k] };
        }
        let spill_cells = self::find_path_ends(&to_sills);
        drop(to_sills);
        let to_sill = |k: usize| match spill_cells[k] {
            CIRCLE => ToSill::Nowhere,
            end => {
                let (end, over) = (end as usize, next(end as usize));
                // A path that leaves the land, or falls at its end, has reached the sill. Otherwise it continues at the
                // same level in another tile.
                let falls = over.is_none_or(|to| level(to) < level(own(end)));
                match exit(end) {
                    Some((place, direction)) if !falls => ToSill::Onward(encode_onward_path(place, direction)),
                    Some((place, direction)) => {
                        ToSill::Sill { cell: map.tiling.index(own(end)), code: encode_onward_path(place, direction) }
                    }
                    None => {
                        let code = directions.next(end).map_or(0, code);
                        ToSill::Sill { cell: map.tiling.index(own(end)), code }
                    }
                }
            }
        };
        let mut lakes: Vec<(u32, ToSill)> = Vec::new();
        // The last path added. Adjacent cells of a lake mostly share one path, so this avoids many duplicates.
        let mut last = (0, CIRCLE);
        for k in (0..size[0] * size[1]).filter(|k| lake(*k) != 0) {
            if last != (lake(k), spill_cells[k]) {
                last = (lake(k), spill_cells[k]);
                lakes.push((lake(k), to_sill(k)));
            }
            // The list is reduced only when it is full, so sorting takes little time per path.
            if lakes.len() >= 2 * MAX_BUFFERED_PATHS && lakes.len() == lakes.capacity() {
                reduce_paths(&mut lakes);
            }
        }
        reduce_paths(&mut lakes);
        let rim = Rim(size).cells().map(|Cell { row: i, col: j }| i * size[1] + j).map(|k| (to_sill(k), code(k)));
        Ok(Self { lakes, rim: rim.collect() })
    }

    /// Returns the paths of a lake.
    fn paths_of_lake(&self, lake: u32) -> &[(u32, ToSill)] {
        let start = self.lakes.partition_point(|out| out.0 < lake);
        let count = self.lakes[start..].partition_point(|out| out.0 == lake);
        &self.lakes[start..start + count]
    }
}

/// Number of paths that are collected before duplicates are removed. It bounds the memory for a lake with many sills;
/// the result does not depend on it.
const MAX_BUFFERED_PATHS: usize = 1 << 12;

/// Removes duplicate paths of each lake, and all its sills except the first.
fn reduce_paths(lakes: &mut Vec<(u32, ToSill)>) {
    // Sills sort before other paths and by their cell, so the first of a lake is the one that remains. The whole lake
    // spills over its first sill in row-major order.
    lakes.sort_unstable();
    lakes.dedup_by(|b, a| {
        a.0 == b.0 && (a.1 == b.1 || matches!([&a.1, &b.1], [ToSill::Sill { .. }, ToSill::Sill { .. }]))
    });
}

/// Returns for each cell the cell where its flow path ends.
fn find_path_ends(directions: &Directions) -> Field<u32> {
    let mut ends = Field::new(directions.size(), CIRCLE);
    ends.as_mut_slice().iter_mut().enumerate().for_each(|(k, end)| *end = k as u32);
    propagate_outlet_labels(directions, &mut ends, CIRCLE);
    ends
}

/// The end of paths that run into a cycle; no cell has this index.
const CIRCLE: u32 = u32::MAX;
