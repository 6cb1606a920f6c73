//! Runs a model by tiles: with the same bits as over the whole terrain, but with only a tile and its halo in memory
//! at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::grid::SIDES;
use thalweg_core::terrain::{Cells, Table, TileGrid, select_rows_inside};
use thalweg_core::{CellRect, Error, Result, Terrain};
use thalweg_models::model::{Model, StepReach, Tick};

/// Runs all steps of `model` over `terrain` by tiles of at most `tile` cells a side.
///
/// Each step reads the terrain that the step before left, through windows that are wider than their tile by the
/// model's reach, and keeps the tile. Mass balances are not summed, since cells of a halo would count several times;
/// the change of [`Terrain::sum_solid`] shows what left or entered.
///
/// # Errors
/// Returns an error if the model reaches over the whole terrain, or the terrain is looped; also returns the errors of
/// its steps.
pub fn run_by_tiles(model: &dyn Model, terrain: &mut Terrain, key: RandomKey, tile: usize) -> Result<()> {
    let StepReach::Cells(halo) = model.reach(&terrain.grid) else {
        return Err(Error::unsupported(
            format!("`{}`", model.about().name),
            "cannot run by tiles, because it needs the whole terrain",
        ));
    };
    if let Some(axis) = (0..2).find(|axis| terrain.grid.is_looped(*axis)) {
        let sides = format!("edges with {} and {} looped", SIDES[axis], SIDES[axis + 2]);
        return Err(Error::unsupported(sides, "are not supported by tiles; use open or closed edges"));
    }
    let tiles = TileGrid::new(terrain.grid.size, tile.clamp(1, TileGrid::MAX_TILE_SIZE))?;
    for step in 0..model.steps(&terrain.grid) {
        // All tiles of a step read the terrain before the step, so the order of tiles does not matter.
        let mut next = terrain.clone();
        // Layers and tables that a step removes must not remain.
        next.layers.clear();
        next.tables.clear();
        let mut left = BTreeSet::new();
        for number in 0..tiles.tile_count() {
            let (core, around) = (tiles.tile_window(number), tiles.window_with_halo(number, halo));
            let mut part = terrain.copy_window(around);
            let grid = part.grid.clone();
            model.start(&grid)?.run_step(&mut part, Tick { key, step })?;
            merge_core(&mut next, &part, core, around)?;
            left.extend(part.layers.into_keys());
        }
        // A layer that the step removed is in no part.
        next.layers.retain(|name, _| left.contains(name));
        // Tiles append their rows in the order of tiles; sorting restores the order that a run over the whole has.
        next.tables.values_mut().for_each(sort_by_number);
        *terrain = next;
    }
    Ok(())
}

/// Takes some steps of `model`, numbered from 0, over a part of a terrain, whose grid is a window of the whole.
///
/// A step reaches a number of cells ([`Model::reach`]), and k steps reach k times as many: cells farther than that
/// from the part's own rim, or near a rim that is the world's, are as they would be in the whole. The others are not
/// valid. Things that have left the part are removed, and things are sorted by their numbers.
///
/// # Errors
/// Returns the errors of the model's steps.
pub fn run_steps(model: &dyn Model, part: &mut Terrain, key: RandomKey, steps: Range<u32>) -> Result<()> {
    let grid = part.grid.clone();
    let mut stepper = None;
    for step in steps {
        let working = match &mut stepper {
            Some(working) => working,
            none => none.insert(model.start(&grid)?),
        };
        working.run_step(part, Tick { key, step })?;
        for table in part.tables.values_mut() {
            let inside = select_rows_inside(table, &grid);
            if inside.len() != table.len() {
                *table = inside;
                // A stepper may have stored things that have been removed.
                stepper = None;
            }
            sort_by_number(table);
        }
    }
    Ok(())
}

/// Appends the rows of table `name` of one part to those of the parts before, which `all` contains by name. A table
/// without places, such as the kinds of soil, is complete in every part.
///
/// # Errors
/// Returns the errors of [`Table::append_rows`].
pub fn append_table_rows(all: &mut BTreeMap<String, Table>, name: &str, part: &Table) -> Result<()> {
    match all.get_mut(name) {
        None => drop(all.insert(name.to_string(), part.clone())),
        Some(all) if part.has_places() => all.append_rows(part)?,
        Some(_) => {}
    }
    Ok(())
}

/// Writes the `core` of `part`, which is the window `around`, into the next terrain.
fn merge_core(next: &mut Terrain, part: &Terrain, core: CellRect, around: CellRect) -> Result<()> {
    // Only the tile's own cells are kept: those of the halo lack a part of their surroundings.
    let from = CellRect::new([core.start[0] - around.start[0], core.start[1] - around.start[1]], core.size());
    next.ground.paste(&part.ground, from, core.start);
    if let Some(loose) = &part.loose {
        let size = next.grid.size;
        let all = next.loose.get_or_insert_with(|| {
            thalweg_core::terrain::field::Field::new(size, thalweg_core::terrain::height::Height::ZERO)
        });
        all.paste(loose, from, core.start);
    }
    for (name, layer) in &part.layers {
        let blank = || layer.with_cells(Cells::zeros(layer.cells.cell_type(), next.grid.size));
        next.layers.entry(name.clone()).or_insert_with(blank).cells.paste(&layer.cells, from, core.start);
    }
    let core_grid = next.grid.window(core);
    for (name, table) in &part.tables {
        append_table_rows(&mut next.tables, name, &select_rows_inside(table, &core_grid))?;
    }
    Ok(())
}

/// Sorts things, one a row, by the column `number`; leaves them as they are without that column.
pub fn sort_by_number(table: &mut Table) {
    let Some(numbers) = table.int_column("number").map(<[i64]>::to_vec) else { return };
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by_key(|row| numbers[*row]);
    *table = table.select_rows(&order);
}
