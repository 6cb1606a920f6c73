//! A forest of single plants on finished terrain: see [`Trees`].

use std::sync::Arc;

use crate::model::{About, Family, Growth, Local, MassBalance, Model, Stepper, Tick, YEAR};
use crate::process::forest::{FERTILITY, Forest, ForestRules, KINDS, PlantSite, TREES, generate_stand, stand_reach};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::{DISCHARGE, POOL, RAIN, TREE_DENSITY, Table, WATER};
use thalweg_core::{CellRect, Field, Grid, Height, Result, Terrain, params};
use thalweg_flow::accumulate::{SHARES, quantize_rain};
use thalweg_flow::{FlowGraph, Land};

params! {
    /// Grows a forest on the ground, which it does not change, plant by plant and year by year: each plant has a
    /// position, a kind, a size and an age, and roots that hold the soil in later stages.
    ///
    /// In each year every plant grows by size += grow·(1 − size), starting at 0.5, and with probability `seed` sheds a
    /// seed that flies up to `spread` along either axis; `spawn` further seeds per km² arrive from elsewhere. A seed
    /// takes root with probability s·(1 − density/cap), where the density is the mean below the roots that the plant
    /// would have. The suitability s is 1 where the ground suits the kind, and falls to 0 over the last tenth before
    /// the kind's limits of slope, elevation (as a share of `tree_line`) and wetness. Wetness is q/(T sin θ), at most
    /// 1: the discharge q through a metre of contour, relative to what soil of transmissivity T carries down the slope
    /// θ. A plant dies in the sea, in a pool, where the discharge is above `stream`, and otherwise with probability
    /// `death`. Its roots add their strength to the density on a square of about `patch` metres, and 0.6 and 0.4 of it
    /// on the adjacent and on the diagonal patches; when the plant dies, its share is removed. The kinds: conifer,
    /// broadleaf, willow (moist ground), dwarf pine (around the tree line), shrub (short-lived, the first to arrive),
    /// reed (at the water's edge).
    ///
    /// Source: McDonald (2020), *Procedural Hydrology: Improvements and Meandering Rivers in Particle-Based Hydraulic
    /// Erosion Simulations*, for the rules of the forest; wetness by Montgomery & Dietrich (1994),
    /// doi:10.1029/93WR02979. Deviations: seeds are counted per area and fly a distance in metres, so the forest does
    /// not depend on the cell width; there are several kinds; all new plants crowd each other, however they arrive, so
    /// the number of plants is bounded.
    ///
    /// It needs no layers. Where the layers `discharge` and `pool` are missing it computes them for steady `rain`: all
    /// rain runs off, and depressions deeper than `lake_depth` are full. It uses `water`, `rain` and `fertility` (the
    /// share of seeds that the soil supports), continues the table `trees` of an earlier stage, and writes that table
    /// and `tree_density`. Limits: it fails where plants are far smaller than cells, because a cell is then either all
    /// forest or all stream.
    pub struct Trees {
        /// Number of years that the forest grows: after a few years there are clumps around the first plants, after a
        /// few hundred the forest is closed.
        years: u32 = 300, within 1..=100_000, unit "a", scales Age, source "ours";
        /// Seeds from elsewhere on each km² in a year: more seeds close the forest sooner and mix its kinds.
        spawn: f64 = 20.0, within 0.0..=10_000.0, unit "1/(km²·a)", source "ours";
        /// Share of the missing size that a plant grows in a year.
        grow: f64 = 0.05, within 0.0..=1.0, unit "1/a", source "McDonald 2020";
        /// Probability that a plant sheds a seed in a year; it sets how fast clumps spread.
        seed: f64 = 0.02, within 0.0..=1.0, unit "1/a", source "McDonald 2020";
        /// Greatest distance that a seed flies along either axis: a greater distance spreads the forest faster, with
        /// softer edges.
        spread: f64 = 20.0, within 0.0..=10_000.0, unit "m", source "McDonald 2020, 4 cells";
        /// Probability that a plant dies in a year: more deaths leave more gaps and younger plants.
        death: f64 = 0.001, within 0.0..=1.0, unit "1/a", source "McDonald 2020";
        /// Root density at which no more plants take root; at 1, roots stabilise the ground completely. A lower value
        /// gives an open wood.
        cap: f64 = 1.0, within 0.01..=100.0, unit "1", source "McDonald 2020";
        /// Side of the square of ground that a plant's roots stabilise: with wider patches there are fewer plants.
        patch: f64 = 5.0, within 0.1..=1000.0, unit "m", source "ours, for the article's cell";
        /// Elevation above the sea at which conifers end; the elevation belts of the other kinds scale with it.
        tree_line: f64 = 1800.0, within 1.0..=16_000.0, unit "m", source "ours";
        /// Discharge above which no plant grows in a cell: a lower value keeps smaller streams free of plants.
        stream: f64 = 0.05, within 0.0..=1e6, unit "m³/s", source "McDonald 2020, 0.2 of the stream map";
        /// Greatest depth of water, in the layer `water`, in which plants can grow.
        wading: f64 = 0.05, within 0.0..=1000.0, unit "m", source "ours";
        /// Transmissivity of the soil: a lower value makes the ground moister, which suits willows.
        transmissivity: f64 = 2e-4, within 1e-8..=1.0, unit "m²/s", source "Montgomery & Dietrich 1994, 17 m²/day";
        /// Rain that runs off; used where no discharge is given.
        rain: f64 = 1.0, within 0.0..=100.0, unit "m/a", scales Rain, source "ours";
        /// Depth above which a depression counts as a lake, where no pools are given; no plants grow in lakes.
        lake_depth: f64 = 1.0, within 0.0..=32_000.0, unit "m", source "ours";
        /// Weight of conifers among the seeds from elsewhere; with 0 none take root.
        conifer: f64 = 1.0, within 0.0..=1000.0, unit "1", source "ours";
        /// Weight of broadleaved trees among the seeds from elsewhere; with 0 none take root.
        broadleaf: f64 = 1.0, within 0.0..=1000.0, unit "1", source "ours";
        /// Weight of willows among the seeds from elsewhere; with 0 none take root.
        willow: f64 = 1.0, within 0.0..=1000.0, unit "1", source "ours";
        /// Weight of dwarf pines among the seeds from elsewhere; with 0 none take root.
        dwarf_pine: f64 = 1.0, within 0.0..=1000.0, unit "1", source "ours";
        /// Weight of shrubs among the seeds from elsewhere; with 0 none take root.
        shrub: f64 = 0.5, within 0.0..=1000.0, unit "1", source "ours";
        /// Weight of reeds among the seeds from elsewhere; with 0 none take root.
        reed: f64 = 1.0, within 0.0..=1000.0, unit "1", source "ours";
    }
}

/// The years that one step of the stepper covers, so that reading and writing the table costs little in comparison.
const YEARS: u32 = 10;

impl Trees {
    /// Returns the parameters in the form that the forest takes.
    fn forest_rules(&self) -> ForestRules {
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
            title: "Forest",
            summary: "Grows a forest of single plants on suitable sites; their roots stabilise the soil.",
            source: "McDonald (2020), Procedural Hydrology",
            family: Family::Analysis,
            uses: &[POOL, DISCHARGE, WATER, RAIN, FERTILITY],
            writes: &[TREE_DENSITY],
            tables: &[TREES],
            ..About::default()
        }
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        self.forest_rules().check_with_names(["trees.patch", "trees.spawn"], grid)
    }

    fn steps(&self, _grid: &Grid) -> u32 {
        self.years.div_ceil(YEARS)
    }

    fn simulated_years(&self, _grid: &Grid, step: u32) -> Option<f64> {
        Some(step.saturating_mul(YEARS).min(self.years).into())
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // Each cell takes the peak memory of the drainage, the discharge and the pools, and the density twice. Each
        // plant takes its own memory and that of its row in the table.
        44 * grid.len() as u64 + (112.0 * self.forest_rules().estimate_capacity(grid)).min(1e15) as u64
    }

    fn define_refinement(&self, local: &mut Local) -> Option<&'static str> {
        local.growth = Some(Arc::new(Standing { rules: self.forest_rules(), years: self.years, key: local.key }));
        Some(
            "it grows on the finished ground of any level; in a tile that is made alone plants are drawn by what lies some metres around",
        )
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(ForestStepper { model: self.clone(), rules: self.forest_rules(), waters: None }))
    }
}

/// A forest in a tile that is computed on its own.
#[derive(Debug)]
struct Standing {
    rules: ForestRules,
    years: u32,
    key: RandomKey,
}

impl Growth for Standing {
    fn influence_radius(&self, width: f64) -> f64 {
        stand_reach(&self.rules, width)
    }

    fn grow_plants(&self, land: &Terrain, within: CellRect) -> Result<Option<(&'static str, Table)>> {
        let part = land.grid.window(within);
        // A tile may have cells too wide or too narrow for the rules; it then has no plants.
        if self.rules.check(&part).is_err() {
            return Ok(None);
        }
        let site = PlantSite {
            grid: &land.grid,
            ground: &land.ground,
            nodata: None,
            pool: land.height_layer(&POOL),
            water: None,
            discharge: land.float_layer(&DISCHARGE),
            fertility: None,
        };
        let trees = generate_stand(&site, &self.rules, self.years, self.key, within);
        Ok(Some((TREES, Forest::from_trees(trees, &part)?.to_table(&part))))
    }
}

/// The stepper of a forest. The ground does not change, so its water is computed once.
struct ForestStepper {
    model: Trees,
    rules: ForestRules,
    waters: Option<ComputedWater>,
}

/// The water that no layer provides.
struct ComputedWater {
    pool: Option<Field<Height>>,
    discharge: Option<Field<f32>>,
}

impl Stepper for ForestStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let mut forest = Forest::read(terrain)?;
        let waters = match &self.waters {
            Some(waters) => waters,
            None => self.waters.insert(ComputedWater::from_terrain(terrain, &self.model)?),
        };
        let site = PlantSite {
            grid: &terrain.grid,
            ground: &terrain.ground,
            nodata: terrain.nodata.as_ref(),
            pool: terrain.height_layer(&POOL).or(waters.pool.as_ref()),
            water: terrain.float_layer(&WATER),
            discharge: terrain.float_layer(&DISCHARGE).or(waters.discharge.as_ref()),
            fertility: terrain.float_layer(&FERTILITY),
        };
        // Years are numbered over the whole run, so the random numbers do not depend on how years are grouped into
        // steps.
        let first = u64::from(tick.step) * u64::from(YEARS);
        for year in first..(first + u64::from(YEARS)).min(self.model.years.into()) {
            forest.advance_step(&site, &self.rules, tick.key.derive_key(year));
        }
        forest.write(terrain)?;
        Ok(MassBalance::default())
    }
}

impl ComputedWater {
    /// Computes pools and discharge from steady rain, if the terrain has no layers for them.
    fn from_terrain(terrain: &Terrain, model: &Trees) -> Result<Self> {
        let (no_pool, no_discharge) =
            (terrain.height_layer(&POOL).is_none(), terrain.float_layer(&DISCHARGE).is_none());
        if !no_pool && !no_discharge {
            return Ok(Self { pool: None, discharge: None });
        }
        // Only the missing layers are computed; the routing serves both.
        let drainage = FlowGraph::new(&Land::from_terrain(terrain));
        // Shallower depressions do not count as lakes, so plants may grow in them.
        let lake = |depth: &Height| if depth.metres() > model.lake_depth { *depth } else { Height::ZERO };
        let pool = no_pool.then(|| drainage.fill_depths(&terrain.ground).map(lake));
        let rate = terrain.grid.cell_area() * model.rain / YEAR;
        let discharge = match terrain.float_layer(&RAIN).filter(|_| no_discharge) {
            Some(rain) => {
                let sums = drainage.accumulate_weights(&rain.map(|share| quantize_rain(*share)))?;
                Some(sums.map(|sum| (*sum as f64 / SHARES * rate) as f32))
            }
            None => no_discharge.then(|| drainage.accumulate_uniform_yield(rate)),
        };
        Ok(Self { pool, discharge })
    }
}

// The parameters name every kind of plant.
const _: () = assert!(KINDS.len() == 6);

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::terrain::Cells;

    /// Returns a valley that falls to the east, with a deep depression, 600 m by 900 m.
    fn valley(cells: usize) -> Terrain {
        let cell = 900.0 / (3 * cells) as f64;
        let size = [2 * cells, 3 * cells];
        let ground = Field::from_fn(size, |i, j| {
            let (y, x) = ((i as f64 + 0.5) * cell - 300.0, (j as f64 + 0.5) * cell);
            let hollow = 25.0 - ((y + 150.0) * (y + 150.0) + (x - 300.0) * (x - 300.0)).sqrt() * 0.5;
            Height::from_metres_clamped(400.0 + 0.1 * y.abs() - 0.04 * x - hollow.max(0.0))
        });
        Terrain::from_ground(Grid::new(size, cell).unwrap(), ground).unwrap()
    }

    fn grown(model: &Trees, mut terrain: Terrain, restart: bool) -> Terrain {
        let mut stepper = model.start(&terrain.grid).unwrap();
        for step in 0..model.steps(&terrain.grid) {
            if restart {
                stepper = model.start(&terrain.grid).unwrap();
            }
            let tick = Tick { key: RandomKey::new(1, "trees"), step };
            assert_eq!(stepper.run_step(&mut terrain, tick).unwrap(), MassBalance::default());
        }
        terrain
    }

    fn model() -> Trees {
        // At 1 m of rain per year, 0.01 m³/s corresponds to 0.3 km².
        Trees { spawn: 200.0, stream: 0.01, ..Trees::default() }
    }

    #[test]
    fn without_layers_the_ground_says_where_water_is() {
        let terrain = grown(&model(), valley(60), false);
        let forest = Forest::read(&terrain).unwrap();
        let waters = ComputedWater::from_terrain(&terrain, &model()).unwrap();
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
        // Without rain and lakes, plants grow everywhere.
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
        let oldest = on.tables[TREES].int_column("age").unwrap().iter().max().copied();
        assert!(oldest > Some(100), "{oldest:?}");
    }

    #[test]
    fn the_forest_is_the_same_on_other_cells() {
        let cover = |cells: usize| {
            let terrain = grown(&model(), valley(cells), false);
            let density = terrain.float_layer(&TREE_DENSITY).unwrap();
            let sum: f64 = density.as_slice().iter().map(|d| f64::from(d.min(1.0))).sum();
            (sum / density.len() as f64, terrain.tables[TREES].len() as f64)
        };
        let ((coarse, few), (fine, many)) = (cover(40), cover(80));
        // The shores of water are one cell wide, which at 7.5 m and 3.75 m is a few hundredths of this small valley.
        assert!((coarse / fine - 1.0).abs() < 0.1 && (few / many - 1.0).abs() < 0.1, "{coarse} {fine} {few} {many}");
    }

    #[test]
    fn what_grids_refuse_is_called_as_in_recipes() {
        let grid = Grid::new([40, 40], 0.1).unwrap();
        let refused = |model: &Trees, grid: &Grid| model.check(grid).unwrap_err().to_string();
        let message = refused(&Trees { patch: 1000.0, ..Trees::default() }, &grid);
        assert!(message.starts_with("trees.patch = 1000 m: must be more than 0, at most "), "{message}");
        let wide = Grid::new([4000, 4000], 1000.0).unwrap();
        let message = refused(&Trees { patch: 0.1, ..Trees::default() }, &wide);
        assert!(message.starts_with("not enough room for the forest (use a wider trees.patch): up to "), "{message}");
    }

    #[test]
    fn masks_keep_plants_out() {
        let mut terrain = valley(40);
        let half = Field::from_fn(terrain.grid.size, |_, j| if j < 60 { 0.0 } else { 1.0 });
        terrain.insert_layer(&FERTILITY, Cells::Float(half)).unwrap();
        let mut deep = Field::new(terrain.grid.size, 0.0);
        (0..80).for_each(|i| deep[(i, 100)] = 0.5);
        terrain.insert_layer(&WATER, Cells::Float(deep)).unwrap();
        let forest = Forest::read(&grown(&Trees { years: 100, ..model() }, terrain, false)).unwrap();
        assert!(forest.trees().len() > 100);
        assert!(forest.trees().iter().all(|tree| tree.cell[1] >= 60 && tree.cell[1] != 100));
    }
}
