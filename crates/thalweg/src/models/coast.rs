//! What waves do at the sea: see [`Coast`].

mod beach;
mod fetch;
mod reef;

use rayon::prelude::*;

use crate::error::Result;
use crate::field::Field;
use crate::grid::Grid;
use crate::height::{Height, UNITS};
use crate::model::{About, Budget, Family, Model, Reach, Stepper, Tick};
use crate::params;
use crate::rivers::distance;
use crate::slopes::{Bounds, Guards, book_cut, carry_off, factors, limit, share_of};
use crate::terrain::{HARDNESS, LOOSE, PROTECT, Terrain};

params! {
    /// Waves cut cliffs and platforms into open coasts, and lay the sand of it as beaches in bays; corals may build a reef.
    ///
    /// A place's exposure E is the mean over 16 directions of √(F/fetch), F the open water that way, `fetch` at most; beyond open
    /// edges the sea goes on. Over land and shoals F falls to a third in each `shelter` metres. In a time t a shore moves back by
    /// retreat·E·t·(1 − hardness): what lies within that distance of the water (a part of a cell by chance) is cut to a platform that falls seaward by
    /// `platform` degrees from the cliff's foot at the level of the sea; rock under water wears down too, by a twentieth of that
    /// pace, the less the deeper, to `wave_base`. Cliffs steeper than `cliff` fall in, up to 600 m from the water. A step lets the most
    /// exposed shore move by two cells, in 8 to 48 steps in all.
    ///
    /// Of the rock that is cut `sandy` is sand, loose ground all, which waves carry along the shore by `drift` metres and lay on a profile that falls
    /// by `beach` degrees from `runup` over the sea to `wave_base`, there where shores are sheltered and land lies around, within 300 m: each
    /// place takes its part of the sand made about it. The rest, and sand without a place, is lost to the deep.
    ///
    /// With `reef` corals grow on firm ground under up to d = 30 m of water, where waves bring food, up to half a metre under the sea:
    /// reef·t·min(1, 2E)²·tanh(15/d·e^(−d/15)), here more and there less (log-normal, over some 600 m), from half of `lagoon` off the
    /// land on, and fully from all of it. A reef shelters what lies behind it.
    ///
    /// Source: cliffs and platforms Trenhaile (2000, doi:10.1016/S0025-3227(00)00015-1); waves that grow with the root of fetch
    /// Bretschneider (1952); corals and light Bosscher & Schlager (1992, doi:10.1111/j.1365-3091.1992.tb02130.x). We differ:
    /// retreat is a rate given, and no energy is counted; waves bend round capes only as far as rays are blurred by the sweep.
    ///
    /// It needs a sea level, without which nothing happens; heeds `hardness`, `protect` and loose ground, which is cut first;
    /// leaves the ground and `loose`. What is lost is exported, or, in a world without a way out, laid on its lowest ground.
    /// It breaks where coasts are finer than some cells; there are no spits, bars nor tides.
    pub struct Coast {
        /// Years of waves.
        years: f64 = 3000.0, within 0.0..=1e6, unit "a", source "ours; the sea has stood for 6000";
        /// How fast the most exposed shore moves back, loose or soft as it may be.
        retreat: f64 = 0.05, within 0.0..=100.0, unit "m/a", source "Young & Carilli 2019: hard rock 0.03, soft 0.2 to 1";
        /// Open water over which waves grow to their full height.
        fetch: f64 = 10_000.0, within 1.0..=1e7, unit "m", source "ours";
        /// Distance over which land and shoals take two thirds of the waves.
        shelter: f64 = 100.0, within 1.0..=1e5, unit "m", source "ours";
        /// Depth to which waves stir the ground.
        wave_base: f64 = 8.0, within 0.0..=1000.0, unit "m", source "Trenhaile 2000, about 10";
        /// Slope of the platform at a cliff's foot.
        platform: f64 = 1.5, within 0.0..=45.0, unit "°", source "Trenhaile 2000, 0.5 to 3";
        /// Steepest slope that a cliff stands at.
        cliff: f64 = 55.0, within 0.0..=90.0, unit "°", source "ours";
        /// Share of what is cut that is sand; the rest is mud and is lost.
        sandy: f64 = 0.4, within 0.0..=1.0, unit "1", source "ours";
        /// How far waves carry sand along the shore.
        drift: f64 = 1500.0, within 0.0..=1e6, unit "m", source "ours";
        /// Slope of beaches.
        beach: f64 = 3.0, within 0.1..=45.0, unit "°", source "sand, 2 to 5";
        /// Height over the sea to which waves throw sand.
        runup: f64 = 1.5, within 0.0..=100.0, unit "m", source "ours";
        /// Greatest growth of corals; 0 for a sea without.
        reef: f64 = 0.0, within 0.0..=1.0, unit "m/a", source "Bosscher & Schlager 1992, 0.01 to 0.015";
        /// Width of the water that corals leave free before the land.
        lagoon: f64 = 250.0, within 0.0..=1e5, unit "m", source "ours";
    }
}

/// How far the shore that moves back fastest moves in a step, in cells.
const CELLS_A_STEP: f64 = 2.0;

/// Least and most steps: beaches and reefs change what is sheltered too.
const STEPS: [f64; 2] = [8.0, 48.0];

/// How fast rock under water wears down, as a part of the pace at which a cliff moves back.
const WEAR: f64 = 0.05;

/// How far from the water cliffs fall in, in metres.
const INLAND: f32 = 600.0;

impl Model for Coast {
    fn about(&self) -> About {
        About {
            name: "coast",
            summary: "Waves cut cliffs and platforms, lay beaches in bays, and corals build reefs.",
            source: "Trenhaile (2000), Modeling the development of wave-cut shore platforms",
            family: Family::Erosion,
            needs: &[],
            uses: &[HARDNESS, PROTECT],
            writes: &[LOOSE],
            tables: &[],
            placed: true,
        }
    }

    fn steps(&self, grid: &Grid) -> u32 {
        (self.retreat * self.years / (CELLS_A_STEP * grid.cell)).ceil().clamp(STEPS[0], STEPS[1]) as u32
    }

    fn years(&self, grid: &Grid, step: u32) -> Option<f64> {
        let steps = self.steps(grid);
        Some(self.years * f64::from(step.min(steps)) / f64::from(steps))
    }

    fn reach(&self, _grid: &Grid) -> Reach {
        Reach::Whole
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // Exposure and the sweeps under way, two distances, the ground before, and fields of sand to share out.
        (4 + 4 * fetch::TOGETHER as u64 + 8 + 4 + 16) * grid.len() as u64
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(Waves { model: self.clone(), years: self.years / f64::from(self.steps(grid)) }))
    }
}

/// The same with rows for columns; by blocks, for a column's cells lie far apart.
fn turned<T: Copy + Default + Send + Sync>(field: &Field<T>) -> Field<T> {
    const BLOCK: usize = 32;
    let [rows, cols] = field.size();
    let mut out = Field::new([cols, rows], T::default());
    out.as_mut_slice().par_chunks_mut((BLOCK * rows).max(1)).enumerate().for_each(|(band, out)| {
        for first in (0..rows).step_by(BLOCK) {
            for (r, row) in out.chunks_mut(rows).enumerate() {
                for (i, cell) in row.iter_mut().enumerate().skip(first).take(BLOCK) {
                    *cell = field[(i, band * BLOCK + r)];
                }
            }
        }
    });
    out
}

struct Waves {
    model: Coast,
    /// Of one step.
    years: f64,
}

/// Where the sea is.
struct Shore {
    /// Elevation of the sea in units.
    level: i32,
    /// Whether a cell is sea.
    sea: Field<bool>,
    /// Metres from each cell to the sea.
    to_sea: Field<f32>,
    /// Metres from each cell to the land.
    to_land: Field<f32>,
}

impl Shore {
    fn new(terrain: &Terrain, level: i32) -> Self {
        let size = terrain.grid.size;
        let sea = Field::generate(size, |i, j| !terrain.is_nodata(i, j) && terrain.ground[(i, j)].0 < level);
        let land = Field::generate(size, |i, j| !terrain.is_nodata(i, j) && !sea[(i, j)]);
        let [to_sea, to_land] = [&sea, &land].map(|set| distance::to_set(set, terrain.grid.cell));
        Self { level, sea, to_sea, to_land }
    }
}

impl Stepper for Waves {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<Budget> {
        let size = terrain.grid.size;
        terrain.loose.get_or_insert_with(|| Field::new(size, Height::ZERO));
        let Some(level) = terrain.grid.sea_level else { return Ok(Budget::default()) };
        let shore = Shore::new(terrain, level.0);
        let exposure = fetch::exposure(&self.model, terrain, level.0);
        let Cut { depth, rock, sand } = self.cut(terrain, &shore, &exposure, tick)?;
        let all = rock + sand;
        let sand = sand + (rock as f64 * self.model.sandy) as i64;
        let mut budget = Budget::default();
        let shore = Shore::new(terrain, level.0);
        let laid = beach::lay(&self.model, terrain, &shore, &exposure, &depth, sand);
        budget.eroded = laid.into();
        budget.deposited = laid.into();
        budget += carry_off(terrain, all - laid)?;
        if self.model.reef > 0.0 {
            budget.added += reef::grow(&self.model, self.years, terrain, &shore, &exposure, tick.key);
        }
        Ok(budget)
    }
}

impl Waves {
    /// Cuts what waves reach, and lets what stands over it fall in.
    fn cut(&self, terrain: &mut Terrain, shore: &Shore, exposure: &Field<f32>, tick: Tick) -> Result<Cut> {
        let Terrain { grid, ground, loose, nodata, layers, .. } = terrain;
        let model = &self.model;
        let before = ground.clone();
        let hardness = factors(layers, &HARDNESS);
        let chance = tick.key.and(tick.step.into()).and(2);
        let (way, cell) = (model.retreat * self.years, grid.cell);
        let fall = libm::tan(model.platform.to_radians());
        ground.par_rows_mut().for_each(|(i, row)| {
            for (j, height) in row.iter_mut().enumerate() {
                if nodata.as_ref().is_some_and(|mask| mask[(i, j)]) {
                    continue;
                }
                let soft = 1.0 - hardness.map_or(0.0, |hardness| f64::from(share_of(hardness[(i, j)])));
                let way = way * f64::from(exposure[(i, j)]) * soft;
                let over = f64::from(height.0) - f64::from(shore.level);
                let cut = if shore.sea[(i, j)] {
                    let depth = -over / UNITS;
                    let stirred = (1.0 - depth / model.wave_base.max(1e-3)).max(0.0);
                    let platform = fall * f64::from(shore.to_land[(i, j)]).min(1e5);
                    // No deeper than the platform of the cliff before which it lies, and the base of waves.
                    (WEAR * way * stirred).min((platform.min(model.wave_base) - depth).max(0.0)) * UNITS
                } else {
                    // The part of the cell that waves have gone through is the chance that it is gone: a cell cut by parts
                    // would never quite be sea.
                    let through = (way - f64::from(shore.to_sea[(i, j)]) + cell) / cell;
                    let gone = through > chance.cell(grid.world_cell(i, j)).unit();
                    if gone { over + 0.5 * fall * cell * UNITS + 1.0 } else { 0.0 }
                };
                height.0 = height.0.saturating_sub(cut as i32).max(Height::MIN.0);
            }
        });
        let steep = libm::tan(model.cliff.to_radians()) as f32;
        let standing =
            Field::generate(grid.size, |i, j| if shore.to_sea[(i, j)] < INLAND { steep } else { f32::INFINITY });
        limit(ground, &standing, None, cell, Bounds { nodata: nodata.as_ref(), held: None })?;
        let loose = loose.get_or_insert_with(|| Field::new(grid.size, Height::ZERO));
        let thickness = |loose: &Field<Height>| loose.as_slice().iter().map(|h| i64::from(h.0)).sum::<i64>();
        let was = thickness(loose);
        let guards = Guards { protect: factors(layers, &PROTECT), hardness: None };
        let all = book_cut(&before, ground, loose, guards)?;
        let sand = was - thickness(loose);
        let depth = Field::generate(grid.size, |i, j| before[(i, j)].metres_f32() - ground[(i, j)].metres_f32());
        Ok(Cut { depth, rock: all - sand, sand })
    }
}

/// What waves have cut in a step.
struct Cut {
    /// Metres, cell by cell.
    depth: Field<f32>,
    /// Units of bedrock.
    rock: i64,
    /// Units of loose ground.
    sand: i64,
}

#[cfg(test)]
mod tests;
