//! Drainage layers of the ground: see [`DrainageLayers`].

use crate::model::{About, Family, Local, MassBalance, Model, Stepper, Tick, YEAR};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, DISCHARGE, Hue, LayerOverlay, LayerSpec, POOL, RAIN};
use thalweg_core::{Field, Grid, Height, Result, Terrain, choice, params};
use thalweg_flow as flow;
use thalweg_flow::accumulate::{SHARES, quantize_rain};
use thalweg_flow::{Land, basins, infinity, multiple, streams};

choice! {
    /// How the water of a cell is divided among its neighbours.
    pub enum Routing {
        /// All to the neighbour of steepest descent.
        D8 = "d8",
        /// To the two neighbours on either side of the direction of steepest descent.
        Infinity = "d_infinity",
        /// To all lower neighbours, in proportion to slope^1.1.
        Multiple = "multiple",
    }
}

params! {
    /// Computes for each cell its drainage area, its outlet, the order of a stream that runs there, and the depth of a
    /// lake that could stand there; the ground is not changed.
    ///
    /// Depressions are filled to their spill level (z′ ≥ z, the lowest surface from which every cell has a path out
    /// that never rises); z′ − z is the depth of the lake. On that surface each cell drains to the neighbour of
    /// steepest descent, max (z′ − z′ₖ)/dₖ, or to several neighbours, depending on `routing`. The accumulation A of a
    /// cell is dx² times the number of cells that drain through it, including itself, each weighted by the layer `rain`
    /// where there is one. Streams are cells with A ≥ threshold; their order is Strahler's: 1 at a source, and one more
    /// where two streams of the highest order meet.
    ///
    /// Source: O'Callaghan & Mark (1984), *The extraction of drainage networks from digital elevation data*,
    /// doi:10.1016/S0734-189X(84)80011-0; D∞ by Tarboton (1997), doi:10.1029/96WR03137; multiple flow by Freeman
    /// (1991), doi:10.1016/0098-3004(91)90048-I; filling by Barnes, Lehman & Mulla (2014),
    /// doi:10.1016/j.cageo.2013.04.024; orders by Strahler (1957), doi:10.1029/TR038i006p00913. Deviations: height
    /// differences are compared exactly, as integers, and ties are broken by a hash of the world cell, so that no
    /// direction is preferred.
    ///
    /// With `runoff` above 0, A times runoff is written as `discharge`, and every depression is full of water, written
    /// as `pool`. Renderings then show rivers and lakes on land that no model of water has shaped, or none at that
    /// resolution. With `lakes` alone, depressions are full, and the `discharge` that an earlier model wrote is kept.
    ///
    /// Layers: it needs none, uses `rain`, and writes `accumulation`, `basin`, `stream_order` and `lake_depth`, which
    /// later stages may use as masks: `layers = { amount = { layer = "accumulation", scale = [0, 1000000] } }`. Water
    /// leaves at open edges, into the sea, and next to cells without data.
    ///
    /// Limits: eight directions are too few on smooth slopes, where water runs down in parallel lines; streams across a
    /// filled lake are arbitrary.
    pub struct DrainageLayers {
        /// Accumulation from which on a cell is a stream: lower values give more and finer streams.
        threshold: f64 = 500_000.0, within 0.0..=1e12, unit "m²", scales Size^2, source "ours";
        /// Annual depth of water that runs off the land: above 0, discharge is written and depressions are full of
        /// water.
        runoff: f64 = 0.0, within 0.0..=100.0, unit "m/a", scales Rain,
            source "ours; 0.3 is the mean of land (Fekete et al. 2002)";
        /// Fills depressions with water even without `runoff`.
        lakes: bool = false, within .., unit "1", source "ours";
        /// How the water of a cell is divided among its neighbours.
        routing: Routing = Routing::D8, within .., unit "1", source "O'Callaghan & Mark 1984; Tarboton 1997; Freeman 1991";
    }
}

/// Layer of the drainage area of each cell, including the cell itself, in m².
pub const ACCUMULATION: LayerSpec = LayerSpec::floats(
    "accumulation",
    "m²",
    "Drainage area of the cell, including the cell itself, weighted by rain; 0 without data.",
)
.hue(Hue::Passing)
.following_water();
/// Layer of the basin of each cell: a number from 1 on that identifies the outlet; 0 in the sea and without data.
pub const BASIN: LayerSpec = LayerSpec::counts(
    "basin",
    "1",
    "Number of the basin, from 1: its cells drain to one outlet; 0 in the sea and without data.",
)
.overlay(LayerOverlay::Dedicated)
.following_water();
/// Layer of the streams, by Strahler order from 1 on; 0 where there is none.
pub const STREAM_ORDER: LayerSpec =
    LayerSpec::counts("stream_order", "1", "Strahler order of the stream in the cell; 0 without a stream.")
        .following_water();
/// Layer of the depth of lakes if all depressions were full, in units of [`Height`].
pub const LAKE_DEPTH: LayerSpec = LayerSpec::heights(
    "lake_depth",
    "m",
    "Depth of the water if every depression were full; 0 where the ground drains.",
)
.following_water();

/// Exponent of the slope in multiple flow routing (Freeman 1991).
const EXPONENT: f64 = 1.1;

impl Model for DrainageLayers {
    fn about(&self) -> About {
        About {
            name: "drainage",
            title: "Drainage",
            summary: "Computes drainage areas, basins, streams and lakes as layers.",
            source: "O'Callaghan & Mark (1984), The extraction of drainage networks from digital elevation data",
            family: Family::Analysis,
            uses: &[RAIN],
            writes: &[ACCUMULATION, BASIN, STREAM_ORDER, LAKE_DEPTH, DISCHARGE, POOL],
            ..About::default()
        }
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // The memory per cell is that of the filled ground, directions, streams, and the accumulated flow, with weights
        // for rain or along angles.
        let gathered = match self.routing {
            Routing::D8 => 17,
            Routing::Multiple => 14,
            Routing::Infinity => 22,
        };
        (6 + gathered) * grid.len() as u64
    }

    fn define_refinement(&self, local: &mut Local) -> Option<&'static str> {
        if self.runoff > 0.0 {
            local.runoff = self.runoff;
        }
        Some("it reads the finished ground of any level; runoff")
    }

    fn start(&self, _grid: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(DrainageStepper(self.clone())))
    }
}

impl DrainageLayers {
    /// Returns the drainage area of each cell in m², weighted by rain, and the cells that are streams.
    fn compute_drainage_area(
        &self,
        land: &Land<'_>,
        drainage: &flow::FlowGraph,
        rain: Option<&Field<f32>>,
    ) -> Result<(Field<f32>, Field<bool>)> {
        let (area, directions) = (land.grid.cell_area(), drainage.directions());
        // The stream threshold is in fixed-point parts of a cell, as the weights are.
        let least = (self.threshold / area * SHARES).ceil().max(1.0) as i64;
        let weights = || match rain {
            Some(rain) => rain.map(|share| quantize_rain(*share)),
            None => Field::new(land.grid.size, quantize_rain(1.0)),
        };
        let sums = match self.routing {
            Routing::D8 if rain.is_none() => {
                // Without rain whole cells are counted, which takes half the memory.
                let least =
                    // The threshold in parts is rounded up to whole cells.
                    u32::try_from(least.div_euclid(quantize_rain(1.0)) + i64::from(least % quantize_rain(1.0) > 0));
                let streams = streams::find_stream_cells(land, drainage.upstream_cells(), least.unwrap_or(u32::MAX))?;
                return Ok((drainage.accumulate_uniform_yield(area), streams));
            }
            // Integer weights make the sums exact, whatever the order in which cells are visited.
            Routing::D8 => drainage.accumulate_weights(&weights())?,
            Routing::Infinity => {
                infinity::accumulate_d_infinity(directions, &infinity::route_d_infinity(land, directions), &weights())?
            }
            Routing::Multiple => multiple::accumulate_multiple(land, directions, EXPONENT, weights())?.sums,
        };
        let streams = streams::find_stream_cells(land, &sums, least)?;
        Ok((sums.map(|sum| (*sum as f64 / SHARES * area) as f32), streams))
    }
}

struct DrainageStepper(DrainageLayers);

impl Stepper for DrainageStepper {
    fn run_step(&mut self, terrain: &mut Terrain, _: Tick) -> Result<MassBalance> {
        let land = Land::from_terrain(terrain);
        let drainage = flow::FlowGraph::new(&land);
        let area = terrain.grid.cell_area();
        let (accumulation, streams) = self.0.compute_drainage_area(
            &drainage.with_filled_surface(&land),
            &drainage,
            terrain.float_layer(&RAIN),
        )?;
        // One field after another, so that few are in memory at once.
        let (mut filled, directions) = drainage.into_parts();
        let order = streams::compute_strahler_orders(&directions, &streams)?;
        drop(streams);
        let basins = basins::label_basins(&land, &directions)?;
        drop(directions);
        // The filled surface becomes the depth of lakes in place.
        for (level, ground) in filled.as_mut_slice().iter_mut().zip(terrain.ground.as_slice()) {
            level.0 -= ground.0;
        }
        let lakes = filled;
        let mut budget = MassBalance::default();
        if self.0.runoff > 0.0 {
            let flow = self.0.runoff / YEAR;
            terrain
                .insert_layer(&DISCHARGE, Cells::Float(accumulation.map(|area| (f64::from(*area) * flow) as f32)))?;
        }
        if self.0.runoff > 0.0 || self.0.lakes {
            let volume = |pool: &Field<Height>| {
                pool.as_slice().iter().map(|depth| i128::from(depth.0)).sum::<i128>() as f64 / UNITS * area
            };
            let before = terrain.height_layer(&POOL).map_or(0.0, volume);
            let change = volume(&lakes) - before;
            (budget.poured, budget.drained) = (change.max(0.0), (-change).max(0.0));
            terrain.insert_layer(&POOL, Cells::Height(lakes.clone()))?;
        }
        terrain.insert_layer(&ACCUMULATION, Cells::Float(accumulation))?;
        terrain.insert_layer(&BASIN, Cells::Count(basins))?;
        terrain.insert_layer(&STREAM_ORDER, Cells::Count(order))?;
        terrain.insert_layer(&LAKE_DEPTH, Cells::Height(lakes))?;
        Ok(budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Edge;
    use thalweg_core::base::rng::RandomKey;

    /// Returns a valley along row 2 that falls to the east, its only outlet, with a pit in its bed.
    fn valley() -> Terrain {
        let mut grid = Grid::new([5, 10], 100.0).unwrap();
        grid.edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
        let ground = Field::from_fn([5, 10], |i, j| {
            let pit = if (i, j) == (2, 4) { 30.0 } else { 0.0 };
            Height::from_metres_clamped(100.0 * i.abs_diff(2) as f64 + 10.0 * (9 - j) as f64 - pit)
        });
        Terrain::from_ground(grid, ground).unwrap()
    }

    fn surveyed(mut terrain: Terrain, threshold: f64) -> Terrain {
        let model = DrainageLayers { threshold, ..DrainageLayers::default() };
        let mut stepper = model.start(&terrain.grid).unwrap();
        let tick = Tick { key: RandomKey::new(1, "drainage"), step: 0 };
        assert_eq!(stepper.run_step(&mut terrain, tick).unwrap(), MassBalance::default());
        terrain
    }

    fn count<'a>(terrain: &'a Terrain, spec: &LayerSpec) -> &'a Field<u32> {
        match &terrain.layers[spec.name].cells {
            Cells::Count(field) => field,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_valley_gathers_its_sides() {
        let terrain = surveyed(valley(), 100_000.0);
        let accumulation = terrain.float_layer(&ACCUMULATION).unwrap();
        // The sides are ten times as steep as the bed, so each column of five cells drains straight into it.
        assert!((0..10).all(|j| accumulation[(2, j)] == 50_000.0 * (j + 1) as f32), "{accumulation:?}");
        let order = count(&terrain, &STREAM_ORDER);
        assert!((0..5).all(|i| (0..10).all(|j| (order[(i, j)] > 0) == (accumulation[(i, j)] >= 100_000.0))));
        assert!(order[(2, 8)] == 1 && order[(0, 0)] == 0);
        let Cells::Height(lakes) = &terrain.layers[LAKE_DEPTH.name].cells else { panic!("heights") };
        // The pit fills to its eastern neighbour, which is 10 m below the original bed at the pit: 20 m deep.
        assert_eq!(lakes[(2, 4)], Height::from_metres_clamped(20.0));
        assert_eq!(lakes.as_slice().iter().filter(|depth| depth.0 > 0).count(), 1);
        assert!(count(&terrain, &BASIN).as_slice().iter().all(|n| *n >= 1));
    }

    #[test]
    fn runoff_runs_and_fills_what_lies_low() {
        let mut terrain = valley();
        // One metre per year on the 0.5 km² of the valley; a pit of one cell, 20 m deep to its rim; and the previous
        // water.
        let model = DrainageLayers { runoff: 1.0, ..DrainageLayers::default() };
        terrain.insert_layer(&POOL, Cells::Height(Field::new([5, 10], Height::from_metres_clamped(0.5)))).unwrap();
        let tick = Tick { key: RandomKey::new(1, "drainage"), step: 0 };
        let budget = model.start(&terrain.grid).unwrap().run_step(&mut terrain, tick).unwrap();
        let mouth = terrain.float_layer(&DISCHARGE).unwrap()[(2, 9)];
        assert!((f64::from(mouth) - 500_000.0 / YEAR).abs() < 1e-6, "{mouth}");
        assert_eq!(terrain.height_layer(&POOL).unwrap()[(2, 4)], Height::from_metres_clamped(20.0));
        assert_eq!(budget.water_change(), 20.0 * 1e4 - 0.5 * 50.0 * 1e4);
    }

    #[test]
    fn lakes_alone_stand_and_rivers_stay_as_they_were() {
        let mut terrain = valley();
        let river = Field::from_fn([5, 10], |i, _| if i == 2 { 7.0 } else { 0.0 });
        terrain.insert_layer(&DISCHARGE, Cells::Float(river.clone())).unwrap();
        let tick = Tick { key: RandomKey::new(1, "drainage"), step: 0 };
        let model = DrainageLayers { lakes: true, ..DrainageLayers::default() };
        let budget = model.start(&terrain.grid).unwrap().run_step(&mut terrain, tick).unwrap();
        assert_eq!(terrain.float_layer(&DISCHARGE), Some(&river));
        assert_eq!(terrain.height_layer(&POOL).unwrap()[(2, 4)], Height::from_metres_clamped(20.0));
        assert_eq!(budget.water_change(), 20.0 * 1e4);
    }

    #[test]
    fn every_routing_carries_all_water_to_the_mouth() {
        // The eastern end is the lowest place, and the only outlet.
        for routing in [Routing::D8, Routing::Infinity, Routing::Multiple] {
            let mut terrain = valley();
            let model = DrainageLayers { routing, ..DrainageLayers::default() };
            let tick = Tick { key: RandomKey::new(1, "drainage"), step: 0 };
            model.start(&terrain.grid).unwrap().run_step(&mut terrain, tick).unwrap();
            let accumulation = terrain.float_layer(&ACCUMULATION).unwrap();
            assert_eq!(accumulation[(2, 9)], 500_000.0, "{routing:?}: {accumulation:?}");
        }
    }

    #[test]
    fn rain_weighs_the_cells() {
        let plain = surveyed(valley(), 100_000.0);
        let with = |share: f32| {
            let mut terrain = valley();
            terrain.insert_layer(&RAIN, Cells::Float(Field::new([5, 10], share))).unwrap();
            surveyed(terrain, 100_000.0)
        };
        let whole = with(1.0);
        assert_eq!(whole.float_layer(&ACCUMULATION), plain.float_layer(&ACCUMULATION));
        assert_eq!(count(&whole, &STREAM_ORDER), count(&plain, &STREAM_ORDER));
        let half = with(0.5);
        let halved = plain.float_layer(&ACCUMULATION).unwrap().map(|a| a / 2.0);
        assert_eq!(half.float_layer(&ACCUMULATION), Some(&halved));
        for nothing in [0.0, f32::NAN, -3.0] {
            assert!(count(&with(nothing), &STREAM_ORDER).as_slice().iter().all(|order| *order == 0));
        }
    }

    #[test]
    fn sea_and_missing_data_hold_no_streams() {
        let mut terrain = valley();
        terrain.grid.sea_level = Some(Height::from_metres_clamped(20.0));
        terrain.nodata = Some(Field::from_fn([5, 10], |i, _| i == 0));
        let terrain = surveyed(terrain, 0.0);
        let (order, basin) = (count(&terrain, &STREAM_ORDER), count(&terrain, &BASIN));
        for i in 0..5 {
            for j in 0..10 {
                let dry = i > 0 && terrain.ground[(i, j)] > Height::from_metres_clamped(20.0);
                assert_eq!((order[(i, j)] > 0, basin[(i, j)] > 0), (dry, dry), "{i}, {j}");
            }
        }
    }
}
