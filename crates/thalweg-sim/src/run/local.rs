//! Local levels in a run: row after row of tiles, out of the level before and of nothing else.

use rayon::prelude::*;

use crate::run::Run;
use thalweg_core::terrain::{CATCHMENT, Cells, HOLLOW, LAKE, LakeRaster, POOL, RECEIVER};
use thalweg_core::{CellRect, Error, Field, Grid, Height, Result, Terrain};
use thalweg_flow::OUT;
use thalweg_models::model::MassBalance;
use thalweg_refine as local;
use thalweg_refine::{Frame, Ledger, LocalWindow, refine_with_ledger};

/// Rows of cells that a step makes.
const ROWS: usize = 512;

/// Columns of a piece of a row: so many at least, and so many at most.
const COLUMNS: [usize; 2] = [512, 1024];

/// A local level on its way. It is scratch: all of it follows from the terrain of the level before, which stands until this one is whole.
pub(super) struct Half {
    level: usize,
    frame: Frame,
    coarse: LocalWindow,
    fine: LocalWindow,
    /// Steps whose rows are made.
    made: u32,
}

/// Steps of a local level: rows of tiles.
pub(super) fn steps(grid: &Grid) -> u32 {
    grid.rows().div_ceil(ROWS) as u32
}

impl Run {
    /// Levels before the first local one.
    pub(super) fn globals(&self) -> usize {
        self.recipe.counts(self.grids.len())[0]
    }

    /// Makes a row of tiles of local level `level`; after the last row the terrain is that level's, with the layers of its tree and
    /// no others. Rows that were made before and are not at hand, as after a checkpoint, are made again. The ledger counts cells of
    /// this level.
    ///
    /// # Errors
    /// When the terrain has cells without data.
    pub(super) fn make_local(&mut self, level: usize) -> Result<MassBalance> {
        let mut half = match self.half.take().filter(|half| half.level == level) {
            Some(half) => half,
            None => self.begin_local(level)?,
        };
        let mut budget = MassBalance::default();
        if self.step == 0 {
            budget.added = half.raised(&self.terrain);
        }
        let local = self.recipe.local(half.frame.cell);
        let all = half.fine.rect;
        while half.made <= self.step {
            let start = [i64::from(half.made) * ROWS as i64, 0];
            let row = CellRect::new(start, [ROWS, all.size()[1]]).grown(0, all);
            let pieces = pieces(row);
            let key = local::refinement_key(self.recipe.seed);
            let make = |piece: CellRect<i64>| refine_with_ledger(&half.frame, &local.rules, key, &half.coarse, piece);
            let made: Vec<_> = pieces.into_par_iter().map(make).collect::<Result<_>>()?;
            for (part, ledger) in made {
                half.fine.paste(&part);
                // Rows that are made again are booked already.
                if half.made == self.step {
                    budget += booked(&ledger);
                }
            }
            half.made += 1;
        }
        if half.made < steps(&self.grids[level]) {
            self.half = Some(half);
        } else {
            // What no water comes to are hollows, not lakes; finer levels go on from lakes all the same.
            let is_dry = local.runoff <= 0.0 && level + 1 == self.grids.len();
            let terrain = half.whole(&self.grids[level], is_dry)?;
            let change = terrain.standing() - self.terrain.standing();
            (budget.poured, budget.drained) = (change.max(0.0), (-change).max(0.0));
            self.terrain = terrain;
        }
        Ok(budget)
    }

    fn begin_local(&self, level: usize) -> Result<Half> {
        let global = self.globals();
        let grid = self.grids.get(global - 1).ok_or_else(|| Error::Recipe("has no global level".into()))?;
        let frame = Frame::of(&self.recipe.map(grid))?;
        let coarse = if level == global {
            LocalWindow::bent(&self.terrain, &self.recipe.local(frame.cell).rules)?.1
        } else {
            window((level - global) as u32, &self.terrain)?
        };
        let fine = LocalWindow::blank(coarse.level + 1, frame.world(coarse.level + 1));
        Ok(Half { level, frame, coarse, fine, made: 0 })
    }
}

/// A local level's window, out of the terrain that it became.
fn window(level: u32, terrain: &Terrain) -> Result<LocalWindow> {
    let layer = |name: &str| terrain.layers.get(name).map(|layer| &layer.cells);
    let (Some(Cells::Count(receivers)), Some(Cells::Float(area))) = (layer(RECEIVER.name), layer(CATCHMENT.name))
    else {
        return Err(Error::missing(
            format!("layer `{}`", RECEIVER.name),
            "a local level is made from the level before, with its flow directions",
        ));
    };
    let receivers = receivers.map(|code| u8::try_from(*code).unwrap_or(OUT).min(OUT));
    let rect = CellRect::new([0, 0], terrain.grid.size);
    let lakes = match (layer(LAKE.name), layer(POOL.name)) {
        (Some(Cells::Count(id)), Some(Cells::Height(depth))) => {
            let level = |i: usize, j: usize| {
                let level = terrain.ground[(i, j)].0.saturating_add(depth[(i, j)].0);
                if id[(i, j)] == 0 { Height::ZERO } else { Height(level) }
            };
            Some(LakeRaster { id: id.clone(), level: Field::generate(id.size(), level) })
        }
        _ => None,
    };
    let loose = terrain.loose.clone();
    Ok(LocalWindow { level, rect, ground: terrain.ground.clone(), receivers, area: area.clone(), lakes, loose })
}

/// A row in pieces side by side, one for each thread as far as that leaves none too narrow.
/// They are not tiles of a fixed size: the result does not depend on where the row is cut.
fn pieces(row: CellRect<i64>) -> Vec<CellRect<i64>> {
    let cols = row.size()[1];
    let wide = cols.div_ceil(rayon::current_num_threads()).clamp(COLUMNS[0], COLUMNS[1]);
    let count = cols.div_ceil(wide).max(1);
    let cut = |k: usize| row.start[1] + (cols * k / count) as i64;
    (0..count).map(|k| CellRect::from_corners([row.start[0], cut(k)], [row.end[0], cut(k + 1)])).collect()
}

/// What a kernel's ledger is in a run's: what was eroded and not laid down again leaves over the edges.
fn booked(ledger: &Ledger) -> MassBalance {
    MassBalance {
        eroded: ledger.eroded(),
        deposited: ledger.deposited(),
        exported: ledger.carried_out(),
        added: ledger.added(),
        ..MassBalance::default()
    }
}

impl Half {
    /// By how much the window that is refined has more than the terrain, in cells of the finer level: hollows that were filled, less what
    /// was on its way.
    fn raised(&self, terrain: &Terrain) -> i128 {
        let sum = |field: &Field<Height>| field.as_slice().iter().map(|height| i128::from(height.0)).sum::<i128>();
        4 * (sum(&self.coarse.ground) - terrain.solid())
    }

    /// The terrain that it is when all its rows are made; with hollows for lakes if it is dry.
    fn whole(self, grid: &Grid, is_dry: bool) -> Result<Terrain> {
        let LocalWindow { ground, receivers, area, lakes, loose, .. } = self.fine;
        let mut terrain = Terrain::from_ground(grid.clone(), ground)?;
        terrain.loose = loose;
        if let Some(LakeRaster { id, level }) = lakes {
            let depth = |i: usize, j: usize| match id[(i, j)] {
                0 => Height::ZERO,
                _ => Height(level[(i, j)].0.saturating_sub(terrain.ground[(i, j)].0).max(0)),
            };
            let depths = Field::generate(grid.size, depth);
            if is_dry {
                terrain.insert(&HOLLOW, Cells::Height(depths))?;
            } else {
                terrain.insert(&POOL, Cells::Height(depths))?;
                terrain.insert(&LAKE, Cells::Count(id))?;
            }
        }
        terrain.insert(&RECEIVER, Cells::Count(receivers.map(|code| u32::from(*code))))?;
        drop(receivers);
        terrain.insert(&CATCHMENT, Cells::Float(area))?;
        Ok(terrain)
    }
}
