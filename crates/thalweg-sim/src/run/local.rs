//! Local levels in a run: computed row of tiles by row of tiles, from the level before only.

use rayon::prelude::*;

use crate::run::Run;
use thalweg_core::terrain::d8::{from_esri_code, to_esri_code};
use thalweg_core::terrain::{Cells, DRAINAGE_AREA, FLOW_DIRECTION, HOLLOW, LAKE, LakeRaster, POOL};
use thalweg_core::{CellRect, Error, Field, Grid, Height, Result, Terrain};
use thalweg_flow::OUT;
use thalweg_models::model::MassBalance;
use thalweg_refine as local;
use thalweg_refine::{Frame, Ledger, LocalWindow, refine_with_ledger};

/// Number of rows of cells that a step computes.
const ROWS: usize = 512;

/// The least and the greatest number of columns of a piece of a row.
const COLUMNS: [usize; 2] = [512, 1024];

/// A local level in progress. It can always be computed again from the terrain of the level before, which is kept
/// until this level is complete.
pub(super) struct LocalLevel {
    level: usize,
    frame: Frame,
    coarse: LocalWindow,
    fine: LocalWindow,
    /// Number of steps whose rows are computed.
    made: u32,
}

/// Returns the number of steps of a local level: one for each row of tiles.
pub(super) fn count_local_steps(grid: &Grid) -> u32 {
    grid.rows().div_ceil(ROWS) as u32
}

impl Run {
    /// Returns the number of levels before the first local one.
    pub(super) fn count_global_levels(&self) -> usize {
        self.recipe.count_global_and_all(self.grids.len())[0]
    }

    /// Computes a row of tiles of local level `level`. After the last row the terrain becomes that of the level, with
    /// the layers of its tree and no others. Rows that were computed before but are not in memory, as after a
    /// checkpoint, are computed again. The mass balance counts cells of this level.
    ///
    /// # Errors
    /// Returns an error if the terrain has cells without data.
    pub(super) fn make_local(&mut self, level: usize) -> Result<MassBalance> {
        let mut half = match self.half.take().filter(|half| half.level == level) {
            Some(half) => half,
            None => self.begin_local(level)?,
        };
        let mut budget = MassBalance::default();
        // The window that is refined differs from the terrain in height; this is counted once per level.
        if self.step == 0 {
            budget.added = half.total_height_gain(&self.terrain);
        }
        let local = self.recipe.combine_local_forms(half.frame.cell);
        let all = half.fine.rect;
        while half.made <= self.step {
            let start = [i64::from(half.made) * ROWS as i64, 0];
            let row = CellRect::new(start, [ROWS, all.size()[1]]).grow_within(0, all);
            let pieces = split_into_pieces(row);
            let key = local::refinement_key(self.recipe.seed);
            let make = |piece: CellRect<i64>| refine_with_ledger(&half.frame, &local.rules, key, &half.coarse, piece);
            // Pieces are computed in parallel and pasted in order, so the mass balance is summed in a fixed order.
            let made: Vec<_> = pieces.into_par_iter().map(make).collect::<Result<_>>()?;
            for (part, ledger) in made {
                half.fine.paste(&part);
                // Rows that are computed again have been counted already.
                if half.made == self.step {
                    budget += convert_mass_balance(&ledger);
                }
            }
            half.made += 1;
        }
        if half.made < count_local_steps(&self.grids[level]) {
            self.half = Some(half);
        } else {
            // Where land has no runoff they are dry depressions instead of lakes; finer levels are still computed
            // from lakes.
            let is_dry = local.runoff <= 0.0 && level + 1 == self.grids.len();
            let terrain = half.into_terrain(&self.grids[level], is_dry)?;
            let change = terrain.sum_standing_water() - self.terrain.sum_standing_water();
            (budget.poured, budget.drained) = (change.max(0.0), (-change).max(0.0));
            self.terrain = terrain;
        }
        Ok(budget)
    }

    fn begin_local(&self, level: usize) -> Result<LocalLevel> {
        let global = self.count_global_levels();
        let grid = self.grids.get(global - 1).ok_or_else(|| Error::Recipe("the recipe has no global level".into()))?;
        let frame = Frame::from_grid(&self.recipe.map_grid(grid))?;
        let coarse = if level == global {
            LocalWindow::from_warped_terrain(&self.terrain, &self.recipe.combine_local_forms(frame.cell).rules)?.1
        } else {
            window_from_terrain((level - global) as u32, &self.terrain)?
        };
        let fine = LocalWindow::blank(coarse.level + 1, frame.world_rect(coarse.level + 1));
        Ok(LocalLevel { level, frame, coarse, fine, made: 0 })
    }
}

/// Returns the window of a local level, from the terrain that it became.
fn window_from_terrain(level: u32, terrain: &Terrain) -> Result<LocalWindow> {
    let layer = |name: &str| terrain.layers.get(name).map(|layer| &layer.cells);
    let (Some(Cells::Count(receivers)), Some(Cells::Float(area))) =
        (layer(FLOW_DIRECTION.name), layer(DRAINAGE_AREA.name))
    else {
        return Err(Error::missing_input(
            format!("layer `{}`", FLOW_DIRECTION.name),
            "a local level is computed from the previous level and its flow directions",
        ));
    };
    // The layer may come from a forged checkpoint; any other number becomes a valid code.
    let receivers = receivers.map(|code| u8::try_from(*code).map_or(OUT, from_esri_code).min(OUT));
    let rect = CellRect::new([0, 0], terrain.grid.size);
    let lakes = match (layer(LAKE.name), layer(POOL.name)) {
        (Some(Cells::Count(id)), Some(Cells::Height(depth))) => {
            let level = |i: usize, j: usize| {
                let level = terrain.ground[(i, j)].0.saturating_add(depth[(i, j)].0);
                if id[(i, j)] == 0 { Height::ZERO } else { Height(level) }
            };
            Some(LakeRaster { id: id.clone(), level: Field::from_fn(id.size(), level) })
        }
        _ => None,
    };
    let loose = terrain.loose.clone();
    Ok(LocalWindow { level, rect, ground: terrain.ground.clone(), receivers, area: area.clone(), lakes, loose })
}

/// Returns a row in adjacent pieces, one for each thread as far as none becomes too narrow. They are not tiles of a
/// fixed size: the result does not depend on where the row is cut.
fn split_into_pieces(row: CellRect<i64>) -> Vec<CellRect<i64>> {
    let cols = row.size()[1];
    let wide = cols.div_ceil(rayon::current_num_threads()).clamp(COLUMNS[0], COLUMNS[1]);
    let count = cols.div_ceil(wide).max(1);
    // The cuts are rounded from the whole, so pieces are adjacent and differ by at most one column.
    let cut = |k: usize| row.start[1] + (cols * k / count) as i64;
    (0..count).map(|k| CellRect::from_corners([row.start[0], cut(k)], [row.end[0], cut(k + 1)])).collect()
}

/// Converts the mass balance of a refinement into that of a run: material that was eroded and not deposited again
/// leaves over the edges.
fn convert_mass_balance(ledger: &Ledger) -> MassBalance {
    MassBalance {
        eroded: ledger.eroded(),
        deposited: ledger.deposited(),
        exported: ledger.exported(),
        added: ledger.added(),
        ..MassBalance::default()
    }
}

impl LocalLevel {
    /// Returns by how much the window that is refined is higher in total than the terrain, in cells of the finer
    /// level: filled depressions, less the material in transport.
    fn total_height_gain(&self, terrain: &Terrain) -> i128 {
        let sum = |field: &Field<Height>| field.as_slice().iter().map(|height| i128::from(height.0)).sum::<i128>();
        // Each coarse cell becomes four finer ones of the same height.
        4 * (sum(&self.coarse.ground) - terrain.sum_solid())
    }

    /// Returns the terrain when all its rows are computed; with dry depressions instead of lakes if `is_dry`.
    fn into_terrain(self, grid: &Grid, is_dry: bool) -> Result<Terrain> {
        let LocalWindow { ground, receivers, area, lakes, loose, .. } = self.fine;
        let mut terrain = Terrain::from_ground(grid.clone(), ground)?;
        terrain.loose = loose;
        if let Some(LakeRaster { id, level }) = lakes {
            let depth = |i: usize, j: usize| match id[(i, j)] {
                0 => Height::ZERO,
                _ => Height(level[(i, j)].0.saturating_sub(terrain.ground[(i, j)].0).max(0)),
            };
            let depths = Field::from_fn(grid.size, depth);
            if is_dry {
                terrain.insert_layer(&HOLLOW, Cells::Height(depths))?;
            } else {
                terrain.insert_layer(&POOL, Cells::Height(depths))?;
                terrain.insert_layer(&LAKE, Cells::Count(id))?;
            }
        }
        terrain.insert_layer(&FLOW_DIRECTION, Cells::Count(receivers.map(|code| u32::from(to_esri_code(*code)))))?;
        drop(receivers);
        terrain.insert_layer(&DRAINAGE_AREA, Cells::Float(area))?;
        Ok(terrain)
    }
}
