//! A forest on ready ground: see [`Trees`].

use std::sync::Arc;

use crate::model::{About, Family, Growth, Local, MassBalance, Model, Stepper, Tick, YEAR};
use crate::process::forest::{FERTILITY, Forest, ForestRules, KINDS, PlantSite, TREES, stand, stand_reach};
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::{DISCHARGE, POOL, RAIN, TREE_DENSITY, Table, WATER};
use thalweg_core::{CellRect, Field, Grid, Height, Result, Terrain, params};
use thalweg_flow::accumulate::{SHARES, shares};
use thalweg_flow::{FlowGraph, Land};

params! {
    /// Leaves the ground as it is, and lets a forest grow on it, plant by plant, year after year: each has a place, a kind, a
    /// size and an age, and roots that hold the soil for later stages.
    ///
    /// In a year every plant grows by size += grow·(1 − size), from 0.5, and with the chance `seed` sheds a seed that flies
    /// up to `spread` along either axis; `spawn` seeds a km² come from elsewhere. A seed takes root with the chance
    /// s·(1 − density/cap), the density being the mean under the roots that it would have; s is 1 where the ground suits its
    /// kind, and falls to 0 over a tenth before the kind's limits of slope, of elevation (as a share of `tree_line`) and of
    /// wetness. Wetness is q/(T sin θ), at most 1: the discharge q
    /// through a metre of contour over what soil of transmissivity T carries down the slope θ. A plant dies in the sea, in
    /// a pool, where the discharge is above `stream`, and else with the chance `death`. Its roots add their
    /// strength to the density on a square of about `patch` metres, 0.6 and 0.4 of it on the patches beside and across, and take it
    /// back when it dies. The kinds: conifer, broadleaf, willow (moist ground), dwarf pine (about the tree line), shrub
    /// (short-lived, the first to come), reed (at the water's edge).
    ///
    /// Source: McDonald (2020), *Procedural Hydrology: Improvements and Meandering Rivers in Particle-Based Hydraulic Erosion
    /// Simulations*, whose trees these are; wetness by Montgomery & Dietrich (1994), doi:10.1029/93WR02979. We differ: seeds
    /// fall on areas and fly metres, so that cells do not change the forest; there are kinds; new plants crowd each other
    /// however they come, so that the forest is bounded.
    ///
    /// It needs nothing. Where the layers `discharge` and `pool` are missing it works out what steady `rain` would make of
    /// them: all of it runs off, and depressions deeper than `lake_depth` stand full. It heeds `water`, `rain` and
    /// `fertility`, the share of seeds that the soil bears, goes on with the table `trees` of an earlier stage, and leaves that
    /// table and `tree_density`. It breaks where plants are far smaller than cells: a cell is all forest or all stream.
    pub struct Trees {
        /// Years that the forest grows: few leave clumps about the first comers, a few hundred close it.
        years: u32 = 300, within 1..=100_000, unit "a", scales Age, source "ours";
        /// Seeds from elsewhere on each km² in a year: more make the forest close sooner and mix its kinds.
        spawn: f64 = 20.0, within 0.0..=10_000.0, unit "1/(km²·a)", source "ours";
        /// Share of what a plant lacks in size that it grows in a year.
        grow: f64 = 0.05, within 0.0..=1.0, unit "1/a", source "McDonald 2020";
        /// Chance that a plant seeds another in a year: how soon clumps spread.
        seed: f64 = 0.02, within 0.0..=1.0, unit "1/a", source "McDonald 2020";
        /// How far a seed flies at most along either axis: farther spreads sooner, with softer edges.
        spread: f64 = 20.0, within 0.0..=10_000.0, unit "m", source "McDonald 2020, 4 cells";
        /// Chance that a plant dies in a year: more deaths leave more gaps and younger plants.
        death: f64 = 0.001, within 0.0..=1.0, unit "1/a", source "McDonald 2020";
        /// Density at which no more plants take root, 1 where roots hold the ground wholly: less leaves an open wood.
        cap: f64 = 1.0, within 0.01..=100.0, unit "1", source "McDonald 2020";
        /// Side of the ground that a plant's roots hold: wider patches make fewer plants.
        patch: f64 = 5.0, within 0.1..=1000.0, unit "m", source "ours, for the article's cell";
        /// Elevation above the sea where conifers end; the other kinds' belts go with it.
        tree_line: f64 = 1800.0, within 1.0..=16_000.0, unit "m", source "ours";
        /// Discharge above which no plant stands in a cell: less keeps smaller streams free.
        stream: f64 = 0.05, within 0.0..=1e6, unit "m³/s", source "McDonald 2020, 0.2 of the stream map";
        /// Depth of water, of the layer `water`, that plants still stand in.
        wading: f64 = 0.05, within 0.0..=1000.0, unit "m", source "ours";
        /// Transmissivity of the soil: less makes the ground moister, for willows.
        transmissivity: f64 = 2e-4, within 1e-8..=1.0, unit "m²/s", source "Montgomery & Dietrich 1994, 17 m²/day";
        /// Rain that runs off, where no discharge is given.
        rain: f64 = 1.0, within 0.0..=100.0, unit "m/a", scales Rain, source "ours";
        /// Depth above which a depression is taken for a lake, where no pools are given: no plants grow there.
        lake_depth: f64 = 1.0, within 0.0..=32_000.0, unit "m", source "ours";
        /// Weight of conifers among the seeds from elsewhere; 0 does without.
        conifer: f64 = 1.0, within 0.0..=1000.0, unit "1", source "ours";
        /// Weight of broadleaved trees among the seeds from elsewhere; 0 does without.
        broadleaf: f64 = 1.0, within 0.0..=1000.0, unit "1", source "ours";
        /// Weight of willows among the seeds from elsewhere; 0 does without.
        willow: f64 = 1.0, within 0.0..=1000.0, unit "1", source "ours";
        /// Weight of dwarf pines among the seeds from elsewhere; 0 does without.
        dwarf_pine: f64 = 1.0, within 0.0..=1000.0, unit "1", source "ours";
        /// Weight of shrubs among the seeds from elsewhere; 0 does without.
        shrub: f64 = 0.5, within 0.0..=1000.0, unit "1", source "ours";
        /// Weight of reeds among the seeds from elsewhere; 0 does without.
        reed: f64 = 1.0, within 0.0..=1000.0, unit "1", source "ours";
    }
}

/// Years that one step of the stepper takes: reading and writing the table then costs little beside them.
const YEARS: u32 = 10;

impl Trees {
    /// As the forest takes them.
    fn rules(&self) -> ForestRules {
        let shares = [self.conifer, self.broadleaf, self.willow, self.dwarf_pine, self.shrub, self.reed];
        ForestRules {
            spawn: self.spawn,
            grow: self.grow as f32,
            seed: self.seed,
            spread: self.spread,
            death: self.death,
            stream: self.stream as f32,
            water: self.wading as f32,
            cap: self.cap as f32,
            patch: self.patch,
            tree_line: self.tree_line as f32,
            transmissivity: self.transmissivity as f32,
            shares: shares.map(|share| share as f32),
        }
    }
}

impl Model for Trees {
    fn about(&self) -> About {
        About {
            name: "trees",
            summary: "Grows a forest of single plants, each where its kind can live, with roots that hold the soil.",
            source: "McDonald (2020), Procedural Hydrology",
            family: Family::Analysis,
            uses: &[POOL, DISCHARGE, WATER, RAIN, FERTILITY],
            writes: &[TREE_DENSITY],
            tables: &[TREES],
            ..About::default()
        }
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        self.rules().check_for(["trees.patch", "trees.spawn"], grid)
    }

    fn steps(&self, _grid: &Grid) -> u32 {
        self.years.div_ceil(YEARS)
    }

    fn years(&self, _grid: &Grid, step: u32) -> Option<f64> {
        Some(step.saturating_mul(YEARS).min(self.years).into())
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // The drainage at its height, then discharge and pools; density twice; a plant and its row in the table.
        44 * grid.len() as u64 + (112.0 * self.rules().most(grid)).min(1e15) as u64
    }

    fn local(&self, local: &mut Local) -> Option<&'static str> {
        local.growth = Some(Arc::new(Standing { rules: self.rules(), years: self.years, key: local.key }));
        Some(
            "it grows on the finished ground of any level; in a tile that is made alone plants are drawn by what lies some metres around",
        )
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(Growing { model: self.clone(), rules: self.rules(), waters: None }))
    }
}

/// A forest as it stands in a tile that is made alone.
#[derive(Debug)]
struct Standing {
    rules: ForestRules,
    years: u32,
    key: Key,
}

impl Growth for Standing {
    fn reach(&self, width: f64) -> f64 {
        stand_reach(&self.rules, width)
    }

    fn grow(&self, land: &Terrain, within: CellRect) -> Result<Option<(&'static str, Table)>> {
        let part = land.grid.window(within);
        if self.rules.check(&part).is_err() {
            return Ok(None);
        }
        let site = PlantSite {
            grid: &land.grid,
            ground: &land.ground,
            nodata: None,
            pool: land.heights(&POOL),
            water: None,
            discharge: land.float(&DISCHARGE),
            fertility: None,
        };
        let trees = stand(&site, &self.rules, self.years, self.key, within);
        Ok(Some((TREES, Forest::of(trees, &part)?.table(&part))))
    }
}

/// A forest in its stage. The ground does not change, so its water is worked out once.
struct Growing {
    model: Trees,
    rules: ForestRules,
    waters: Option<Waters>,
}

/// Water that no layer gives.
struct Waters {
    pool: Option<Field<Height>>,
    discharge: Option<Field<f32>>,
}

impl Stepper for Growing {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let mut forest = Forest::read(terrain)?;
        let waters = match &self.waters {
            Some(waters) => waters,
            None => self.waters.insert(Waters::of(terrain, &self.model)?),
        };
        let site = PlantSite {
            grid: &terrain.grid,
            ground: &terrain.ground,
            nodata: terrain.nodata.as_ref(),
            pool: terrain.heights(&POOL).or(waters.pool.as_ref()),
            water: terrain.float(&WATER),
            discharge: terrain.float(&DISCHARGE).or(waters.discharge.as_ref()),
            fertility: terrain.float(&FERTILITY),
        };
        let first = u64::from(tick.step) * u64::from(YEARS);
        for year in first..(first + u64::from(YEARS)).min(self.model.years.into()) {
            forest.step(&site, &self.rules, tick.key.and(year));
        }
        forest.write(terrain)?;
        Ok(MassBalance::default())
    }
}

impl Waters {
    /// What steady rain makes of the ground, as far as layers do not say it.
    fn of(terrain: &Terrain, model: &Trees) -> Result<Self> {
        let (no_pool, no_discharge) = (terrain.heights(&POOL).is_none(), terrain.float(&DISCHARGE).is_none());
        if !no_pool && !no_discharge {
            return Ok(Self { pool: None, discharge: None });
        }
        let drainage = FlowGraph::new(&Land::of(terrain));
        let lake = |depth: &Height| if depth.metres() > model.lake_depth { *depth } else { Height::ZERO };
        let pool = no_pool.then(|| drainage.depths(&terrain.ground).map(lake));
        let rate = terrain.grid.cell_area() * model.rain / YEAR;
        let discharge = match terrain.float(&RAIN).filter(|_| no_discharge) {
            Some(rain) => {
                let sums = drainage.accumulate_weights(&rain.map(|share| shares(*share)))?;
                Some(sums.map(|sum| (*sum as f64 / SHARES * rate) as f32))
            }
            None => no_discharge.then(|| drainage.yields(rate)),
        };
        Ok(Self { pool, discharge })
    }
}

// The parameters name every kind.
const _: () = assert!(KINDS.len() == 6);

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::terrain::Cells;

    /// A valley that falls to the east, with a deep hollow, over 600 m by 900 m.
    fn valley(cells: usize) -> Terrain {
        let cell = 900.0 / (3 * cells) as f64;
        let size = [2 * cells, 3 * cells];
        let ground = Field::generate(size, |i, j| {
            let (y, x) = ((i as f64 + 0.5) * cell - 300.0, (j as f64 + 0.5) * cell);
            let hollow = 25.0 - ((y + 150.0) * (y + 150.0) + (x - 300.0) * (x - 300.0)).sqrt() * 0.5;
            Height::saturating(400.0 + 0.1 * y.abs() - 0.04 * x - hollow.max(0.0))
        });
        Terrain::from_ground(Grid::new(size, cell).unwrap(), ground).unwrap()
    }

    fn grown(model: &Trees, mut terrain: Terrain, restart: bool) -> Terrain {
        let mut stepper = model.start(&terrain.grid).unwrap();
        for step in 0..model.steps(&terrain.grid) {
            if restart {
                stepper = model.start(&terrain.grid).unwrap();
            }
            let tick = Tick { key: Key::new(1, "trees"), step };
            assert_eq!(stepper.step(&mut terrain, tick).unwrap(), MassBalance::default());
        }
        terrain
    }

    fn model() -> Trees {
        // 0.01 m³/s of 1 m a year are 0.3 km².
        Trees { spawn: 200.0, stream: 0.01, ..Trees::default() }
    }

    #[test]
    fn without_layers_the_ground_says_where_water_is() {
        let terrain = grown(&model(), valley(60), false);
        let forest = Forest::read(&terrain).unwrap();
        let waters = Waters::of(&terrain, &model()).unwrap();
        let (pool, discharge) = (waters.pool.unwrap(), waters.discharge.unwrap());
        let wet = (0..pool.len()).filter(|k| pool[*k].0 > 0 || discharge[*k] > 0.01).count();
        assert!(forest.trees().len() > 1000 && wet > 60, "{} {wet}", forest.trees().len());
        let mut kinds = [0; KINDS.len()];
        for tree in forest.trees() {
            let at = (tree.cell[0] as usize, tree.cell[1] as usize);
            assert!(pool[at].0 == 0 && discharge[at] <= 0.01, "{tree:?}");
            kinds[usize::from(tree.kind)] += 1;
        }
        assert!(kinds[1] > 300 && kinds[2] > 20, "{kinds:?}");
        assert_eq!(terrain.ground, valley(60).ground);
        // No rain and no lakes: it grows everywhere.
        let dry = Trees { rain: 0.0, lake_depth: 32_000.0, ..model() };
        let dry = Forest::read(&grown(&dry, valley(60), false)).unwrap();
        assert!(dry.trees().iter().any(|tree| pool[(tree.cell[0] as usize, tree.cell[1] as usize)].0 > 0));
        assert!(dry.trees().iter().all(|tree| tree.kind().name != "willow" && tree.kind().name != "reed"));
    }

    #[test]
    fn a_dropped_stepper_changes_nothing_and_a_second_stage_goes_on() {
        let model = Trees { years: 73, ..model() };
        let whole = grown(&model, valley(40), false);
        assert!(whole.tables[TREES].len() > 100);
        assert_eq!(whole.fingerprints(), grown(&model, valley(40), true).fingerprints());
        let on = grown(&model, whole.clone(), false);
        assert!(on.tables[TREES].len() > whole.tables[TREES].len());
        let oldest = on.tables[TREES].ints("age").unwrap().iter().max().copied();
        assert!(oldest > Some(100), "{oldest:?}");
    }

    #[test]
    fn the_forest_is_the_same_on_other_cells() {
        let cover = |cells: usize| {
            let terrain = grown(&model(), valley(cells), false);
            let density = terrain.float(&TREE_DENSITY).unwrap();
            let sum: f64 = density.as_slice().iter().map(|d| f64::from(d.min(1.0))).sum();
            (sum / density.len() as f64, terrain.tables[TREES].len() as f64)
        };
        let ((coarse, few), (fine, many)) = (cover(40), cover(80));
        // Rims of water are a cell wide, which at 7.5 m and 3.75 m is a few hundredths of this small valley.
        assert!((coarse / fine - 1.0).abs() < 0.1 && (few / many - 1.0).abs() < 0.1, "{coarse} {fine} {few} {many}");
    }

    #[test]
    fn what_grids_refuse_is_called_as_in_recipes() {
        let grid = Grid::new([40, 40], 0.1).unwrap();
        let refused = |model: &Trees, grid: &Grid| model.check(grid).unwrap_err().to_string();
        let message = refused(&Trees { patch: 1000.0, ..Trees::default() }, &grid);
        assert!(message.starts_with("trees.patch = 1000 m: allowed is above 0 to "), "{message}");
        let wide = Grid::new([4000, 4000], 1000.0).unwrap();
        let message = refused(&Trees { patch: 0.1, ..Trees::default() }, &wide);
        assert!(message.ends_with("a wider trees.patch makes fewer"), "{message}");
    }

    #[test]
    fn masks_keep_plants_out() {
        let mut terrain = valley(40);
        let half = Field::generate(terrain.grid.size, |_, j| if j < 60 { 0.0 } else { 1.0 });
        terrain.insert(&FERTILITY, Cells::Float(half)).unwrap();
        let mut deep = Field::new(terrain.grid.size, 0.0);
        (0..80).for_each(|i| deep[(i, 100)] = 0.5);
        terrain.insert(&WATER, Cells::Float(deep)).unwrap();
        let forest = Forest::read(&grown(&Trees { years: 100, ..model() }, terrain, false)).unwrap();
        assert!(forest.trees().len() > 100);
        assert!(forest.trees().iter().all(|tree| tree.cell[1] >= 60 && tree.cell[1] != 100));
    }
}
