//! Flow directions: steepest descent, and routing across flats that may extend over any number of tiles.
//!
//! A flat within a tile is processed there ([`flow::flats`](thalweg_flow::flats)). A flat that extends into another
//! tile is routed by its cells' distances from its outlets and from higher ground, measured over the whole flat. Its
//! cells are part of the summary. Distances are computed tile by tile, nearest first, and a tile is only searched
//! again if distances on its border have decreased.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use crate::codec::{Reader, Writer};
use crate::layer::TileLayer;
use crate::part::{DrainageMap, Inputs, MapPart, SharedMap, estimate_list_bytes, read_fallback_outlet};
use crate::pass::{LayerRead, Product, Summaries, TileInput, TileOutput, TilePass};
use crate::raster::{Classes, DRAINS, FLAT, HIGHER, OUTSIDE_FLAT, UNREACHED};
use thalweg_core::terrain::{Rim, TileGrid};
use thalweg_core::{Cell, CellRect, Error, Result};
use thalweg_flow::streams::to_esri_codes;
use thalweg_flow::{D8, Directions, PIT, d8, flats, infinity};
use thalweg_io::Samples;

const FILLED: &str = "answer of filling";
const SUMMARY: &str = "summary of flats";
const ANSWER: &str = "answer of flats";

/// The pass that finds the flats that extend over several tiles.
pub(super) struct FlatsPass(pub(super) SharedMap);

/// The pass that computes the receiver of every cell.
pub(super) struct DirectionPass(pub(super) SharedMap);

/// Halo needed to resolve a tile's flats: one cell for the neighbour, and one more to see whether that neighbour
/// drains.
const FLAT_HALO: usize = 2;

/// Code of cells that the routing of flats within the tile ignores: cells of flats that extend beyond it, and flat
/// cells of other tiles.
const IGNORED: u8 = 251;

/// A tile with its steepest descents, and its flats that extend beyond it.
struct TileFlats {
    wide: MapPart,
    directions: Directions,
    /// The window of the tile's own cells within `wide`.
    own: CellRect,
    classes: Classes,
}

impl TileFlats {
    /// Computes a tile's descents and its flats that extend beyond it, from the filled surface with a halo of
    /// [`FLAT_HALO`] cells.
    fn from_layers(map: &DrainageMap, tile: usize, inputs: Vec<Samples>, stand_in: Option<u64>) -> Result<Self> {
        map.tiling.check_tile(tile)?;
        let around = map.tiling.window_with_halo(tile, FLAT_HALO);
        let wide = map.create_part(around, Inputs::new(inputs).heights(TileLayer::Filled, around)?, stand_in)?;
        let land = wide.as_land();
        let (roles, _) = land.classify_cells();
        let mut directions = d8::route_steepest_descent(&land, &roles);
        // The roles take one byte per cell and are not needed any more.
        drop(roles);
        let own = wide.locate_window(map.tiling.tile_window(tile));
        let classes = classify_flats(&wide, &mut directions, own);
        Ok(Self { wide, directions, own, classes })
    }

    /// Returns the index in the wide window of a cell of the classes.
    fn wide_index(&self, k: u32) -> usize {
        let cols = self.own.size()[1] + 2;
        let (i, j) = (k as usize / cols, k as usize % cols);
        (i + self.own.start[0] - 1) * self.wide.window.size()[1] + j + self.own.start[1] - 1
    }
}

/// Finds the tile's flats that extend beyond it. Marks these, and all flat cells outside the tile, so that they are
/// not routed locally.
fn classify_flats(wide: &MapPart, directions: &mut Directions, own: CellRect) -> Classes {
    let land = wide.as_land();
    let heights = land.ground.as_slice();
    let size = wide.window.size();
    let (first, cols) = (own.start, size[1]);
    let mut classes = Classes::new(own.size());
    let local = |[i, j]: [usize; 2]| [i as isize - first[0] as isize, j as isize - first[1] as isize];
    let is_own =
        |[i, j]: [isize; 2]| (0..own.size()[0] as isize).contains(&i) && (0..own.size()[1] as isize).contains(&j);
    let near = |[i, j]: [usize; 2]| {
        let near = D8::OFFSETS.map(|[di, dj]| [i.wrapping_add_signed(di), j.wrapping_add_signed(dj)]);
        near.into_iter().filter(move |[i, j]| *i < size[0] && *j < size[1])
    };
    // Start from the cells around the tile and continue inward.
    let mut found: Vec<[usize; 2]> = Vec::new();
    for at in Classes::surrounding_cells(own.size()) {
        let [i, j] = [0, 1].map(|axis| (first[axis] as isize + at[axis]) as usize);
        // `PIT` marks a cell without a lower neighbour. The second cell of the halo makes this certain for the first
        // one.
        if i < size[0] && j < size[1] && directions[(i, j)] == PIT {
            let k = classes.cell_index(at[0], at[1]);
            classes.cells[k] = OUTSIDE_FLAT;
            found.push([i, j]);
        }
    }
    // Mark every cell of the tile that is connected with these over cells without descent. Such cells are adjacent to
    // one another without one lower than the other, so they have one height. The set does not depend on the order of
    // the search.
    let mut flat = Vec::new();
    while let Some(cell) = found.pop() {
        for [i, j] in near(cell) {
            let at = local([i, j]);
            if directions[(i, j)] == PIT && is_own(at) {
                directions[(i, j)] = IGNORED;
                flat.push([i, j]);
                found.push([i, j]);
            }
        }
    }
    // Classify the marked cells by their neighbours: codes below `PIT` belong to cells that drain.
    for [i, j] in flat {
        let height = heights[i * cols + j];
        let mut class = FLAT;
        for [r, c] in near([i, j]) {
            if directions[(r, c)] < PIT {
                let there = heights[r * cols + c];
                class |= if there == height { DRAINS } else { 0 } | if there > height { HIGHER } else { 0 };
            }
        }
        let [r, c] = local([i, j]);
        let k = classes.cell_index(r, c);
        classes.cells[k] = class;
    }
    // Exclude the flat cells of other tiles from local routing. Those tiles route them with their own halo.
    for i in 0..size[0] {
        let inside = (first[0]..first[0] + own.size()[0]).contains(&i);
        for (j, code) in directions.row_mut(i).iter_mut().enumerate() {
            let own = inside && (first[1]..first[1] + own.size()[1]).contains(&j);
            *code = if *code == PIT && !own { IGNORED } else { *code };
        }
    }
    classes
}

impl TilePass for FlatsPass {
    fn name(&self) -> &str {
        "flats"
    }

    fn input_layers(&self) -> Vec<LayerRead> {
        vec![TileLayer::Filled.with_halo(FLAT_HALO)]
    }

    fn run_tile(&self, TileInput { tile, layers, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let stand_in = Reader::new(FILLED, tile, answer)?.read_option()?;
        let found = TileFlats::from_layers(&self.0, tile, layers, stand_in)?;
        let mut writer = Writer::new();
        writer.write_option(stand_in);
        found.classes.write(&mut writer);
        Ok(TileOutput { summary: writer.finish(), ..TileOutput::default() })
    }

    fn solve(&self, summaries: &dyn Summaries, _: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let tiling = self.0.tiling;
        tiling.check_count(summaries.count())?;
        // The additional outlet is passed on, because the next pass computes the same descents again.
        let stand_in = read_fallback_outlet(SUMMARY, summaries)?;
        // Find the rim cells on shared flats. Tiles without any have an empty list and are never searched.
        let flats = SharedFlats { tiling, summaries };
        let tiles = (0..tiling.tile_count()).into_par_iter();
        let rims = tiles.map(|tile| {
            let classes = flats.read_classes(tile)?;
            Ok(if classes.is_empty() { Vec::new() } else { flats.wide_flat_rim(&classes) })
        });
        let rims = rims.collect::<Result<Vec<_>>>()?;
        // The distance of an outlet cell is 0; that of a cell next to higher ground is 1.
        let outlet = flats.compute_rim_distances(&rims, DRAINS, 0)?;
        let higher = flats.compute_rim_distances(&rims, HIGHER, 1)?;
        let tiles = (0..tiling.tile_count()).into_par_iter();
        // Each answer has the distances of adjacent cells of other tiles, from which the tile computes those of its own
        // cells.
        let answers = tiles.map(|tile| {
            let mut writer = Writer::new();
            writer.write_option(stand_in);
            if !rims[tile].is_empty() {
                let mut classes = flats.read_classes(tile)?;
                flats.mark_cells_beyond(tile, &mut classes, &rims);
                let near = classes.adjoining_cells();
                let values = |steps: &[Vec<u32>]| -> Vec<u32> { flats.steps_around_tile(tile, &classes, &near, steps) };
                for steps in values(&outlet).into_iter().chain(values(&higher)) {
                    // −1 stands for a cell that was not reached.
                    writer.write_difference(if steps == UNREACHED { -1 } else { steps.into() });
                }
            }
            Ok(writer.finish())
        });
        answers.collect()
    }

    fn solve_bytes(&self) -> u64 {
        // Bytes per rim cell: whether it is on a flat, its two distances, and these again as bytes; for each tile its
        // queue entry.
        3 * estimate_list_bytes(&self.0.tiling) + (1 + 2 * 4 + 2 * 5) * self.0.tiling.rim_cell_count()
    }
}

/// The flats that tiles share. A tile's classes are read again whenever it is searched, so that none are held in
/// memory meanwhile.
struct SharedFlats<'a> {
    tiling: TileGrid,
    summaries: &'a dyn Summaries,
}

impl SharedFlats<'_> {
    /// Decodes the classes of a tile from its summary.
    fn read_classes(&self, tile: usize) -> Result<Classes> {
        let summary = self.summaries.read(tile)?;
        let mut reader = Reader::new(SUMMARY, tile, &summary)?;
        reader.read_option()?;
        let classes = Classes::read(self.tiling.tile_window(tile).size(), &mut reader)?;
        reader.expect_end()?;
        Ok(classes)
    }

    /// Returns true for each cell of the rim that belongs to a flat extending beyond the tile.
    fn wide_flat_rim(&self, classes: &Classes) -> Vec<bool> {
        let is_flat =
            |Cell { row: i, col: j }: Cell| classes.cells[classes.cell_index(i as isize, j as isize)] & FLAT != 0;
        Rim(classes.size).cells().map(is_flat).collect()
    }

    /// Returns the tile that contains a cell next to a tile, and the cell's place on that tile's rim; `None` if there
    /// is none.
    fn find_rim_place(&self, tile: usize, at: Cell<isize>) -> Option<(usize, usize)> {
        let start = self.tiling.tile_window(tile).start;
        // A row or column of −1 wraps to the greatest number, which is outside every map.
        let cell = Cell::from_axes(|axis| start[axis].wrapping_add_signed(at[axis]));
        let [rows, cols] = self.tiling.size();
        if cell[0] >= rows || cell[1] >= cols {
            return None;
        }
        let (tile, place) = self.tiling.locate_cell(cell);
        Some((tile, place?))
    }

    /// Marks the cells around a tile that belong to flats extending over several tiles.
    fn mark_cells_beyond(&self, tile: usize, classes: &mut Classes, rims: &[Vec<bool>]) {
        for at in Classes::surrounding_cells(classes.size) {
            let flat = self
                .find_rim_place(tile, at)
                .is_some_and(|(tile, place)| rims[tile].get(place).is_some_and(|flat| *flat));
            if flat {
                let k = classes.cell_index(at[0], at[1]);
                classes.cells[k] = OUTSIDE_FLAT;
            }
        }
    }

    /// Returns the distances of cells around a tile.
    fn steps_around_tile(&self, tile: usize, classes: &Classes, near: &[u32], steps: &[Vec<u32>]) -> Vec<u32> {
        let cols = classes.size[1] + 2;
        let of = |k: &u32| {
            let at = Cell::new(*k as usize / cols, *k as usize % cols).map(|at| at as isize - 1);
            self.find_rim_place(tile, at).and_then(|(tile, place)| steps[tile].get(place).copied()).unwrap_or(UNREACHED)
        };
        near.iter().map(of).collect()
    }

    /// Computes, for each rim cell on a flat, its distance in steps from the cells of a class.
    ///
    /// A tile is searched when a neighbour's distances can decrease its own; among the waiting tiles, the one with
    /// the least distance comes first. A wave therefore advances over each flat, and few tiles are searched twice.
    /// The result does not depend on the order.
    fn compute_rim_distances(&self, rims: &[Vec<bool>], class: u8, first: u32) -> Result<Vec<Vec<u32>>> {
        let mut steps: Vec<Vec<u32>> = rims.iter().map(|rim| vec![UNREACHED; rim.len()]).collect();
        // `waits` has for each tile the least distance that its next search can lower, or `FAR` if it does not wait.
        let mut waits: Vec<u32> = rims.iter().map(|rim| if rim.is_empty() { UNREACHED } else { first }).collect();
        let all = (0..rims.len()).filter(|tile| waits[*tile] != UNREACHED);
        let mut heap: BinaryHeap<_> = all.map(|tile| Reverse((first, tile))).collect();
        // A batch has as many tiles as there are threads. More threads only search more tiles before their neighbours
        // are known; the search ends when no distance can decrease, with the same distances.
        let threads = rayon::current_num_threads();
        loop {
            let mut batch = Vec::new();
            while batch.len() < threads
                && let Some(Reverse((nearest, tile))) = heap.pop()
            {
                // Skip outdated entries: a tile whose distance has decreased since was queued again.
                if waits[tile] == nearest && !batch.contains(&tile) {
                    batch.push(tile);
                }
            }
            if batch.is_empty() {
                break;
            }
            let searched =
                batch.par_iter().map(|tile| Ok((*tile, self.search_tile(*tile, rims, &steps, class, first)?)));
            let searched: Vec<(usize, Vec<u32>)> = searched.collect::<Result<_>>()?;
            // Reset the waiting distances before neighbours, which may be in the same batch, are queued again.
            batch.iter().for_each(|tile| waits[*tile] = UNREACHED);
            // Store the new distances of all tiles of the batch first, then compare them across borders.
            let mut lessened = Vec::new();
            for (tile, found) in searched {
                let places = found.iter().zip(&steps[tile]).enumerate().filter(|(_, (new, old))| new < old);
                lessened.extend(places.map(|(place, (new, _))| (tile, place, *new)));
                steps[tile] = found;
            }
            for (tile, place, new) in lessened {
                for (other, there) in self.adjacent_rim_places(tile, place) {
                    let flat = rims[other].get(there).is_some_and(|flat| *flat);
                    // Crossing the border is one step.
                    let new = new.saturating_add(1);
                    // A tile that already waits with a smaller distance needs no second entry.
                    if flat && new < steps[other][there] && new < waits[other] {
                        waits[other] = new;
                        heap.push(Reverse((new, other)));
                    }
                }
            }
        }
        Ok(steps)
    }

    /// Returns the adjacent places on the rims of other tiles.
    fn adjacent_rim_places(&self, tile: usize, place: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let window = self.tiling.tile_window(tile);
        let (start, size) = (window.start, window.size());
        let Cell { row: i, col: j } = Rim(size).cell_from_position(place);
        D8::ALL
            .into_iter()
            .filter_map(move |direction| self.tiling.across_border([start[0] + i, start[1] + j], direction))
    }

    /// Computes the distances of a tile's rim cells from the known distances of its neighbours.
    fn search_tile(
        &self,
        tile: usize,
        rims: &[Vec<bool>],
        known: &[Vec<u32>],
        class: u8,
        first: u32,
    ) -> Result<Vec<u32>> {
        let mut classes = self.read_classes(tile)?;
        self.mark_cells_beyond(tile, &mut classes, rims);
        let near = classes.adjoining_cells();
        let beyond: Vec<(u32, u32)> =
            near.iter().copied().zip(self.steps_around_tile(tile, &classes, &near, known)).collect();
        check_steps(&beyond, classes.cells.len())?;
        let steps = classes.compute_distances(class, first, &beyond);
        let rim =
            Rim(classes.size).cells().map(|Cell { row: i, col: j }| steps[classes.cell_index(i as isize, j as isize)]);
        Ok(rim.collect())
    }
}

/// Returns an error if distances on a flat may exceed 32 bits, because such a cell would seem not to be reached.
fn check_steps(beyond: &[(u32, u32)], cells: usize) -> Result<()> {
    let max_steps = beyond.iter().map(|(_, steps)| *steps).filter(|steps| *steps != UNREACHED).max().unwrap_or(0);
    // The search of a tile adds at most one step per cell to the greatest distance around it.
    let steps = u64::from(max_steps) + cells as u64;
    if steps < u64::from(UNREACHED) {
        return Ok(());
    }
    Err(Error::invalid_value(
        "width of a flat",
        format!("up to {steps} cells"),
        format!("fewer than {UNREACHED} cells"),
    ))
}

impl TilePass for DirectionPass {
    fn name(&self) -> &str {
        "directions"
    }

    fn input_layers(&self) -> Vec<LayerRead> {
        vec![TileLayer::Filled.with_halo(FLAT_HALO)]
    }

    fn output_layers(&self) -> Vec<String> {
        vec![TileLayer::Direction.name().into(), TileLayer::Angle.name().into()]
    }

    fn run_tile(&self, TileInput { tile, layers, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let mut reader = Reader::new(ANSWER, tile, answer)?;
        let found = TileFlats::from_layers(&self.0, tile, layers, reader.read_option()?)?;
        let land = found.wide.as_land();
        let mut directions = found.directions.clone();
        // Route the flats inside the tile first. Those that extend beyond it have the code `KEPT`, which this ignores.
        flats::route_flats(&land, &mut directions);
        let near = if found.classes.is_empty() { Vec::new() } else { found.classes.adjoining_cells() };
        let mut read = || -> Result<Vec<(u32, u32)>> {
            let steps = near.iter().map(|k| Ok((*k, u32::try_from(reader.read_difference()?).unwrap_or(UNREACHED))));
            steps.collect()
        };
        // The answer has all distances from outlets, followed by all distances from higher ground.
        let (outlet, higher) = (read()?, read()?);
        reader.expect_end()?;
        if !near.is_empty() {
            route_shared_flats(&found, &mut directions, &outlet, &higher);
        }
        // Angles depend on neighbouring cells, so they are computed with the halo, which is then cut off.
        let angles = infinity::route_d_infinity(&land, &directions).copy_window(found.own).into_vec();
        let codes = to_esri_codes(&Directions::from(directions.copy_window(found.own))).into_vec();
        Ok(TileOutput { layers: vec![Samples::U8(codes), Samples::F32(angles)], summary: Writer::new().finish() })
    }

    fn solve(&self, summaries: &dyn Summaries, _: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        self.0.tiling.check_count(summaries.count()).map(|()| Vec::new())
    }
}

/// Routes the flats that extend beyond the tile, given the distances of the cells around it.
fn route_shared_flats(found: &TileFlats, directions: &mut Directions, outlet: &[(u32, u32)], higher: &[(u32, u32)]) {
    let classes = &found.classes;
    let outlets = classes.compute_distances(DRAINS, 0, outlet);
    let heights = classes.compute_distances(HIGHER, 1, higher);
    let code = |outlet: u32, higher: u32| flats::encode_distances(outlet, (higher != UNREACHED).then_some(higher));
    let mut cells = Vec::new();
    for (k, class) in classes.cells.iter().enumerate() {
        if class & FLAT != 0 {
            let at = found.wide_index(k as u32);
            // On a flat without an outlet, water stays.
            directions[at] = if outlets[k] == UNREACHED { PIT } else { code(outlets[k], heights[k]) };
            if outlets[k] != UNREACHED {
                cells.push(at as u32);
            }
        }
    }
    // The neighbours of the tile also get codes, because a cell drains to the neighbour with the best distances, which
    // may be in another tile.
    for ((k, outlet), (_, higher)) in outlet.iter().zip(higher) {
        directions[found.wide_index(*k)] = code(*outlet, *higher);
    }
    flats::route_measured_flats(&found.wide.as_land(), directions, cells);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_32_bits_do_not_count_are_refused() {
        assert!(check_steps(&[(1, 7), (2, UNREACHED)], 1 << 20).is_ok());
        assert!(check_steps(&[(1, UNREACHED - (1 << 20) - 1)], 1 << 20).is_ok());
        let error = check_steps(&[(1, UNREACHED - (1 << 20))], 1 << 20).unwrap_err().to_string();
        assert!(error.contains("width of a flat = up to 4294967295 cells"), "{error}");
    }
}
