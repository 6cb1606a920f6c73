//! Terrain without unwanted depressions, where all land drains: see [`OpenOutlets`].

use crate::model::{About, Family, MassBalance, Model, Stepper, Tick};
use crate::process::forest::{Forest, TREES};
use crate::process::slopes::replace_ground;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, POOL, SEDIMENT, TREE_DENSITY};
use thalweg_core::{Field, Grid, Height, Result, Terrain, params};
use thalweg_flow::{Land, outlets};

params! {
    /// Gives every depression an outlet: small ones are cut through or filled, as rivers do, deep and wide ones become
    /// lakes.
    ///
    /// Terrain from other models drains except for a few pits, but a single pit in the bed of a great river cuts off
    /// the whole area upstream. As the last model of a recipe, this one removes such pits with little change to the
    /// ground.
    ///
    /// Standing water that is already there (`pool`) and is large enough to be a lake stays as it is. Its area must be
    /// at least `lake_area`, and it must be at least `lake` deep at its deepest place or have the volume of a cone of
    /// that depth and area (`lake`·`lake_area`/3). Smaller bodies of water are drained. A depression is where the
    /// ground would have to be filled to the spill level (z′ ≥ z) to drain. A depression of a lake's size is filled
    /// with water. Any other is breached from its pit, along the path that removes the least material, if that is no
    /// more than would fill the depression (Σ cut ≤ Σ z′ − z) and the cut is nowhere deeper than the depression;
    /// otherwise it is filled. No lake is tapped. Finally, ground that is level or rises along its flow path is raised
    /// so that it falls by half a millimetre per cell. Afterwards every dry cell away from edges has a lower neighbour.
    /// Files of rounded heights have no pits either: after rounding, what fell still falls or is level.
    ///
    /// Source: Lindsay & Creed (2005), *Removal of artifact depressions from digital elevation models: towards a
    /// minimum impact approach*, doi:10.1002/hyp.5835; least-cost breaching by Lindsay & Dhun (2015,
    /// doi:10.1080/13658816.2014.975715); filling by Barnes, Lehman & Mulla (2014, doi:10.1016/j.cageo.2013.04.024).
    /// Deviation: depressions of a lake's size are kept, with their water.
    ///
    /// It needs no layers, uses `pool`, and writes the ground, `sediment` and `pool`. Channels are cut into sediment
    /// first. What fills depressions is sediment: material that was cut, and if that is not enough, material that
    /// rivers have brought in. The rest of the cut material leaves the map, or is deposited on the lowest ground if no
    /// edge is open and no data is missing. Plants in a new lake are removed. Limits: channels are one cell wide, so on
    /// coarse cells they are wider than a river would cut.
    pub struct OpenOutlets {
        /// Least depth, at the deepest place, of a depression or of standing water that counts as a lake.
        lake: f64 = 2.0, within 0.0..=16_000.0, unit "m", scales Relief, source "ours";
        /// Least area of a lake.
        lake_area: f64 = 20_000.0, within 0.0..=1e12, unit "m²", scales Size^2,
            source "ours; 1 to 2 ha are the least of most inventories of lakes";
    }
}

impl Model for OpenOutlets {
    fn about(&self) -> About {
        About {
            name: "outlets",
            title: "Outlets",
            summary: "Opens an outlet for every depression: cuts through or fills small ones, keeps deep ones as lakes.",
            source: "Lindsay & Creed (2005), Removal of artifact depressions from digital elevation models",
            family: Family::Erosion,
            uses: &[POOL],
            writes: &[SEDIMENT, POOL, TREE_DENSITY],
            tables: &[TREES],
            ..About::default()
        }
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // The memory per cell is that of the surfaces, lakes, depressions, floors, indices and the cells reached while
        // searching for an outlet.
        48 * grid.len() as u64
    }

    fn start(&self, _grid: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(OutletStepper(self.clone())))
    }
}

struct OutletStepper(OpenOutlets);

impl Stepper for OutletStepper {
    fn run_step(&mut self, terrain: &mut Terrain, _: Tick) -> Result<MassBalance> {
        let least = outlets::LakeLimits { depth: self.0.lake, area: self.0.lake_area };
        let stood = terrain.height_layer(&POOL).cloned();
        let outlets::Outlets { ground, mut pools } =
            outlets::open_outlets(&Land::from_terrain(terrain), stood.as_ref(), &least)?;
        // The water levels are recorded before the ground is replaced, since replacing it may move sediment.
        let levels = Field::from_fn(ground.size(), |i, j| Height(ground[(i, j)].0 + pools[(i, j)].0));
        let mut budget = replace_ground(terrain, ground)?;
        // Sediment that was moved to the lowest ground may end up under water; the water level does not change.
        let settled = terrain.ground.as_slice().iter().zip(levels.as_slice());
        for (pool, (ground, level)) in pools.as_mut_slice().iter_mut().zip(settled).filter(|(pool, _)| pool.0 > 0) {
            pool.0 = (level.0 - ground.0).max(0);
        }
        let volume = |pools: &Field<Height>| {
            let depths = pools.as_slice().iter().map(|depth| i128::from(depth.0));
            depths.sum::<i128>() as f64 / UNITS * terrain.grid.cell_area()
        };
        let change = volume(&pools) - stood.as_ref().map_or(0.0, volume);
        (budget.poured, budget.drained) = (change.max(0.0), (-change).max(0.0));
        remove_flooded_plants(terrain, stood.as_ref(), &pools)?;
        terrain.insert_layer(&POOL, Cells::Height(pools))?;
        Ok(budget)
    }
}

/// Removes the plants in cells that have been flooded.
fn remove_flooded_plants(terrain: &mut Terrain, before: Option<&Field<Height>>, after: &Field<Height>) -> Result<()> {
    if !terrain.tables.contains_key(TREES) {
        return Ok(());
    }
    // Only new floods remove plants: those in cells that were under water before stay.
    let stands = |at: (usize, usize)| after[at].0 == 0 || before.is_some_and(|before| before[at].0 > 0);
    let forest = Forest::read(terrain)?;
    let alive = forest.trees().iter().filter(|tree| stands((tree.cell[0] as usize, tree.cell[1] as usize)));
    Forest::from_trees(alive.cloned().collect(), &terrain.grid)?.write(terrain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::forest::Tree;
    use thalweg_core::Cell;
    use thalweg_core::base::rng::RandomKey;

    /// Returns 12 × 30 cells of 10 m that fall eastward by 1 m per cell, with a depression of 3 × 4 cells, 6 m deep,
    /// and a pit of one cell, 3 m deep, in a valley along row 9.
    fn slope() -> Terrain {
        let height = |i: usize, j: usize| {
            let hollow = (3..6).contains(&i) && (8..12).contains(&j);
            let pit = (i, j) == (9, 20);
            let valley = if i == 9 { 4.0 } else { 0.0 };
            let side = 0.1 * i.abs_diff(9) as f64;
            match (hollow, pit) {
                (true, _) => 80.0 - 6.0,
                (_, true) => 100.0 - 20.0 - 4.0 - 4.0,
                _ => 100.0 - j as f64 - valley + side,
            }
        };
        Terrain::from_ground(
            Grid::new([12, 30], 10.0).unwrap(),
            Field::from_fn([12, 30], |i, j| Height::from_metres_clamped(height(i, j))),
        )
        .unwrap()
    }

    fn run(terrain: &mut Terrain, model: &OpenOutlets) -> MassBalance {
        let tick = Tick { key: RandomKey::new(1, "outlets"), step: 0 };
        model.start(&terrain.grid).unwrap().run_step(terrain, tick).unwrap()
    }

    #[test]
    fn a_deep_hollow_is_a_lake_and_a_pit_is_none() {
        let start = slope();
        let mut terrain = start.clone();
        let budget = run(&mut terrain, &OpenOutlets { lake: 5.0, lake_area: 1200.0 });
        let pool = terrain.height_layer(&POOL).unwrap();
        let wet: Vec<_> = (0..12).flat_map(|i| (0..30).map(move |j| (i, j))).filter(|at| pool[*at].0 > 0).collect();
        let lowest = (2..7).flat_map(|i| (7..13).map(move |j| (i, j))).filter(|at| !wet.contains(at));
        let spill = lowest.map(|at| start.ground[at].0).min().unwrap();
        assert!(wet.iter().all(|at| (3..6).contains(&at.0) && (8..12).contains(&at.1)));
        assert!(
            wet.iter().all(|at| pool[*at].0 == spill - start.ground[*at].0 && terrain.ground[*at] == start.ground[*at])
        );
        // Filling the pit to the height of the next cell (3 m) moves less than cutting that cell and the following
        // two.
        assert_eq!(
            (terrain.ground[(9, 20)], budget.eroded),
            (Height(start.ground[(9, 21)].0 + outlets::MIN_FALL_UNITS), 0)
        );
        assert_eq!((budget.added, budget.deposited), (terrain.sum_solid() - start.sum_solid(), 0));
        let lakes = pool.map(|depth| depth.0 > 0);
        let drains = outlets::find_draining_cells(&Land::from_terrain(&terrain), &lakes);
        assert!(drains.as_slice().iter().all(|drains| *drains));
        assert!(
            !outlets::find_draining_cells(&Land::from_terrain(&start), &Field::new([12, 30], false))
                .as_slice()
                .iter()
                .all(|drains| *drains)
        );
        // A lake must also have the required area.
        let mut other = start;
        run(&mut other, &OpenOutlets { lake: 5.0, lake_area: 1201.0 });
        assert!(other.height_layer(&POOL).unwrap().as_slice().iter().all(|depth| depth.0 == 0));
    }

    #[test]
    fn new_lakes_are_poured_and_drown_plants_and_old_ones_stay() {
        let mut terrain = slope();
        let tree = |number: u64, cell: Cell<u32>| Tree {
            number,
            cell,
            part: Cell::new(32_768, 32_768),
            kind: 0,
            size: 1.0,
            age: 9,
            patch: 5.0,
        };
        let forest =
            Forest::from_trees(vec![tree(1, Cell::new(4, 9)), tree(2, Cell::new(1, 1))], &terrain.grid).unwrap();
        forest.write(&mut terrain).unwrap();
        let model = OpenOutlets { lake: 5.0, lake_area: 1200.0 };
        let budget = run(&mut terrain, &model);
        let pool = terrain.height_layer(&POOL).unwrap().clone();
        let volume = pool.as_slice().iter().map(|depth| i64::from(depth.0)).sum::<i64>() as f64 / UNITS * 100.0;
        assert!(volume > 0.0 && budget.water_change() == volume, "{volume}");
        let left = |terrain: &Terrain| {
            Forest::read(terrain).unwrap().trees().iter().map(|tree| tree.number).collect::<Vec<_>>()
        };
        assert_eq!(left(&terrain), [2]);
        // Half of the water remains, and plants that stand in it remain as well.
        terrain.insert_layer(&POOL, Cells::Height(pool.map(|depth| Height(depth.0 / 2)))).unwrap();
        let half = terrain.height_layer(&POOL).unwrap().clone();
        Forest::from_trees(vec![tree(1, Cell::new(4, 9))], &terrain.grid).unwrap().write(&mut terrain).unwrap();
        let budget = run(&mut terrain, &OpenOutlets { lake: 3.0, ..model });
        assert_eq!((terrain.height_layer(&POOL), budget.water_change()), (Some(&half), 0.0));
        assert_eq!(left(&terrain), [1]);
        // Water that does not count as a lake drains.
        let budget = run(&mut terrain, &OpenOutlets { lake: 1e4, ..model });
        assert!(
            budget.water_change() < 0.0
                && terrain.height_layer(&POOL).unwrap().as_slice().iter().all(|depth| depth.0 == 0)
        );
    }

    #[test]
    fn a_closed_world_keeps_what_is_cut() {
        let mut terrain = slope();
        terrain.grid.edges = [thalweg_core::terrain::grid::Edge::Closed; 4];
        let before = terrain.sum_solid();
        let budget = run(&mut terrain, &OpenOutlets { lake: 1e4, lake_area: 0.0 });
        assert_eq!((budget.exported, terrain.sum_solid() - before), (0, budget.solid_change()));
        assert!(budget.eroded + budget.added > 0);
        let drains = outlets::find_draining_cells(&Land::from_terrain(&terrain), &Field::new([12, 30], false));
        assert!(drains.as_slice().iter().all(|drains| *drains));
    }
}
