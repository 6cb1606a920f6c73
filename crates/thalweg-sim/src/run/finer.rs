//! Refines the terrain from one level to the next: upsamples everything, and adds the detail that base stages have on
//! finer cells.

use crate::run::{Run, layers};
use thalweg_core::{Field, Height, Result, Terrain};
use thalweg_models::model::{MassBalance, Tick};
use thalweg_models::process::upsample;

impl Run {
    /// Turns the terrain into that of level `level`. The change of base terrain is the difference between what its
    /// stages create on cells of this level, and what they created on those of the level before, upsampled in the
    /// same way; their layers are those of this level. The mass balance counts cells of this level, which are a
    /// quarter as large as those before.
    ///
    /// # Errors
    /// Returns an error if a layer that a base stage needs is missing or does not fit. The terrain is then as before.
    pub(super) fn make_finer(&mut self, level: usize) -> Result<MassBalance> {
        let widths: Vec<f64> = self.grids.iter().map(|grid| grid.cell).collect();
        let blocks = self.recipe.group_detail_stages(&widths, level)?;
        let mut fine = upsample::upsample_terrain(&self.terrain);
        // The same grid with halved widths and whole numbers of cells, except for the properties that come from a
        // file.
        fine.grid = self.grids.get(level).cloned().unwrap_or(fine.grid);
        let mut budget = MassBalance::default();
        for block in blocks {
            // It is upsampled like the terrain, so that the two cancel where nothing has changed the terrain.
            let coarse = self.create_base_terrain(&block, &self.terrain)?;
            let (nodata, topology) = (self.terrain.nodata.as_ref(), self.terrain.grid.topology());
            let coarse_ground = upsample::upsample_ground(&coarse.ground, nodata, topology);
            let Terrain { ground: fine_ground, layers: mut fine_layers, .. } =
                self.create_base_terrain(&block, &fine)?;
            // The same applies to layers, as long as nothing else has changed them.
            let stages = || block.iter().filter_map(|number| self.recipe.stages.get(*number));
            for spec in stages().flat_map(|stage| stage.model.about().writes) {
                let [there, expected] = [&self.terrain, &coarse].map(|terrain| terrain.layers.get(spec.name));
                if there.map(|layer| &layer.cells) == expected.map(|layer| &layer.cells)
                    && let Some(layer) = fine_layers.remove(spec.name)
                {
                    fine.layers.insert(spec.name.to_string(), layer);
                }
            }
            // Detail that base stages show only on the finer cells.
            let added = fine_ground
                .as_slice()
                .iter()
                .zip(coarse_ground.as_slice())
                .map(|(a, b)| i64::from(a.0) - i64::from(b.0));
            let kept = fine.grid.sea_level.filter(|_| stages().any(|stage| stage.model.keeps_land()));
            // Away from the coast, detail must not put land under the sea; near it, the coast may move.
            let inland = kept.map(|sea| (sea, find_inland_cells(&self.terrain.ground, sea)));
            let cols = fine.grid.cols();
            for (number, (height, by)) in fine.ground.as_mut_slice().iter_mut().zip(added).enumerate() {
                if fine.nodata.as_ref().is_some_and(|mask| mask.as_slice()[number]) {
                    continue;
                }
                // The sum is formed in 64 bits, because detail may exceed the accepted range before it is clamped.
                let target = i64::from(height.0) + by;
                let target = match &inland {
                    // Each fine cell stays above the sea, too: a river just above the sea between high banks stays
                    // there.
                    Some((sea, inland)) if inland[(number / cols / 2, number % cols / 2)] => {
                        target.max(i64::from(sea.0) + 1)
                    }
                    _ => target,
                };
                let clamped = target.clamp(Height::MIN.0.into(), Height::MAX.0.into());
                budget.limited += u64::from(clamped != target);
                budget.added += i128::from(clamped - i64::from(height.0));
                height.0 = clamped as i32;
            }
        }
        self.terrain = fine;
        Ok(budget)
    }

    /// Returns the terrain that base stages create from flat terrain, on the grid of a terrain and with its layers.
    fn create_base_terrain(&self, block: &[usize], terrain: &Terrain) -> Result<Terrain> {
        let mut base = Terrain::new(terrain.grid.clone());
        for stage in block.iter().filter_map(|number| self.recipe.stages.get(*number)) {
            let given = layers::fetch_all(stage, &self.recipe.folder, terrain, &self.grids)?;
            layers::insert_inputs(stage, given, &mut base)?;
            let model = stage.model_for_pass(0)?;
            let mut stepper = model.start(&base.grid)?;
            let key = stage.key(self.recipe.seed);
            for step in 0..model.steps(&base.grid) {
                stepper.run_step(&mut base, Tick { key, step })?;
            }
            layers::remove_inputs(stage, &mut base);
        }
        Ok(base)
    }
}

/// Number of cells of the coarser level on each side of a cell within which a coast may move when it is refined.
const COAST: usize = 2;

/// Returns which cells are above the sea with no sea nearby.
fn find_inland_cells(ground: &Field<Height>, sea: Height) -> Field<bool> {
    let [rows, cols] = ground.size();
    let near = |at: usize, count: usize| at.saturating_sub(COAST)..(at + COAST + 1).min(count);
    // A square neighbourhood is separable: first along rows, then along columns.
    let along = Field::from_fn([rows, cols], |i, j| ground.row(i)[near(j, cols)].iter().all(|height| *height > sea));
    Field::from_fn([rows, cols], |i, j| near(i, rows).all(|i| along[(i, j)]))
}
