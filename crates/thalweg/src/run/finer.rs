//! From one level to the next: all that is there on finer cells, and what the base ground adds there.

use crate::base::error::Result;
use crate::model::{Budget, Tick};
use crate::process::upsample;
use crate::run::{Run, layers};
use crate::terrain::Terrain;
use crate::terrain::height::Height;

impl Run {
    /// Makes the terrain that of level `level`. The change of the base ground is that between what its stages lay on cells of
    /// this level and what they lay on the one before, made finer in the same way. The ledger counts cells of this level, a
    /// quarter as large as those before.
    ///
    /// # Errors
    /// When a layer that a base stage needs is missing or does not fit. The terrain is then as before.
    pub(super) fn make_finer(&mut self, level: usize) -> Result<Budget> {
        let widths: Vec<f64> = self.grids.iter().map(|grid| grid.cell).collect();
        let blocks = self.recipe.octaves(&widths, level)?;
        let mut fine = upsample::terrain(&self.terrain);
        // Whole numbers of cells, halved widths: the same grid, but for what comes of a file.
        fine.grid = self.grids.get(level).cloned().unwrap_or(fine.grid);
        let mut budget = Budget::default();
        for block in blocks {
            // Made finer as the ground was, so that the two cancel where nothing has changed it.
            let (nodata, topology) = (self.terrain.nodata.as_ref(), self.terrain.grid.topology());
            let coarse_ground = upsample::ground(&self.base(&block, &self.terrain)?.ground, nodata, topology);
            let fine_ground = self.base(&block, &fine)?.ground;
            let added = fine_ground
                .as_slice()
                .iter()
                .zip(coarse_ground.as_slice())
                .map(|(a, b)| i64::from(a.0) - i64::from(b.0));
            for (number, (height, by)) in fine.ground.as_mut_slice().iter_mut().zip(added).enumerate() {
                if fine.nodata.as_ref().is_some_and(|mask| mask.as_slice()[number]) {
                    continue;
                }
                let wanted = i64::from(height.0) + by;
                let held = wanted.clamp(Height::MIN.0.into(), Height::MAX.0.into());
                budget.limited += u64::from(held != wanted);
                budget.added += i128::from(held - i64::from(height.0));
                height.0 = held as i32;
            }
        }
        self.terrain = fine;
        Ok(budget)
    }

    /// The ground that base stages lay on flat ground, on the grid of a terrain and with its layers.
    fn base(&self, block: &[usize], terrain: &Terrain) -> Result<Terrain> {
        let mut base = Terrain::new(terrain.grid.clone());
        for stage in block.iter().filter_map(|number| self.recipe.stages.get(*number)) {
            let given = layers::fetched(stage, &self.recipe.folder, terrain, &self.grids)?;
            layers::put(stage, given, &mut base)?;
            let model = stage.model_at(0)?;
            let mut stepper = model.start(&base.grid)?;
            let key = stage.key(self.recipe.seed);
            for step in 0..model.steps(&base.grid) {
                stepper.step(&mut base, Tick { key, step })?;
            }
            layers::take(stage, &mut base);
        }
        Ok(base)
    }
}
