//! [`trace_droplet`]: the path of a single droplet.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::model::{MassBalance, Model};
use crate::models::droplets::lanes::{Lanes, apply_ground_changes};
use crate::models::droplets::map::{Corners, DropletMap};
use crate::models::droplets::pour::point_to_position;
use crate::models::droplets::{Droplet, DropletRules, Droplets};
use crate::process::brush::Tally;
use crate::process::coarse;
use crate::process::particles::{self, ParticleKernel, ParticlePatch, Planes};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{HARDNESS, PROTECT};
use thalweg_core::{CellRect, Error, Point, Result, Terrain};

/// The state of a droplet where it takes a step, or ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TracePoint {
    /// Its position in the world.
    pub place: Point,
    /// Elevation of the ground there, in metres. If the model's stride is wider than the grid's cells, this is the
    /// ground on cells of that stride.
    pub elevation: f64,
    /// Its velocity, dimensionless like the model's parameter `velocity`.
    pub speed: f64,
    /// Its water, dimensionless like the parameter `water`.
    pub water: f64,
    /// Its sediment load on arrival, in m³.
    pub carried: f64,
    /// Its transport capacity for the coming step, in m³.
    pub capacity: f64,
    /// Erosion here in m³; negative for deposition.
    pub moved: f64,
}

/// Computes the path of one droplet from `start` over the current ground, with at most `most` points. It takes the
/// model's own steps, as if it were the only droplet, on a copy that it erodes; the terrain itself is not changed. The
/// path is empty where no droplet can start: at sea, next to cells without data, and in a world one cell wide.
///
/// # Errors
/// Returns an error for a stride of more than 500 cells ([`Model::check`]), or for a start outside the world.
pub fn trace_droplet(
    model: &Droplets,
    terrain: &Terrain,
    start: impl Into<Point>,
    most: usize,
) -> Result<Vec<TracePoint>> {
    let start = start.into();
    model.check(&terrain.grid)?;
    if let Some(axis) = terrain.grid.find_axis_outside(start) {
        let (name, value) = [("y", start.y), ("x", start.x)][axis];
        return Err(Error::invalid_value(
            format!("start.{name}"),
            format!("{value} m"),
            terrain.grid.describe_span(axis),
        ));
    }
    // Only the part that the droplet can reach is copied, with the layers that resist erosion.
    let mut around = crop_reachable_terrain(model, terrain, start);
    around.layers.retain(|name, _| name == HARDNESS.name || name == PROTECT.name);
    around.tables.clear();
    let factor = model.coarsening_factor(&around.grid);
    let mut ground = if factor == 1 { around } else { coarse::coarsen_terrain(&around, factor) };
    // The layers of earlier work are not part of this droplet's record.
    let model = Droplets { visits: false, wear: false, deposit: false, ..model.clone() };
    let place = point_to_position(&ground.grid, start);
    let Some(droplet) = place.and_then(|place| model.create_droplet(&ground, 0, place)) else { return Ok(Vec::new()) };
    let rules = DropletRules::new(&model, &ground.grid);
    let watch = TracingKernel { rules: &rules, cell: ground.grid.cell, most, seen: Mutex::new(Vec::new()) };
    let grid = ground.grid.clone();
    let mut planes = Planes::from_terrain(&mut ground, &[HARDNESS, PROTECT]);
    let mut alive = if most == 0 { Vec::new() } else { vec![droplet] };
    // Each round runs the droplet until it leaves its tile; the path continues in the next one.
    while !alive.is_empty() {
        (alive, _) = particles::run_round(&watch, &grid, &mut planes, alive)?;
    }
    Ok(watch.seen.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Returns an endless iterator over the paths of droplets that start all over the world, as [`trace_droplet`] computes
/// them, each with at most `most` points. It is empty if the model does not suit the world. The starting places are the
/// same for every terrain of that extent, so that paths change only as the land does. The caller takes as many as it
/// has time for.
pub fn trace_droplets<'a>(
    model: &'a Droplets,
    terrain: &'a Terrain,
    most: usize,
) -> impl Iterator<Item = Vec<TracePoint>> + 'a {
    let key = RandomKey::new(0, "seen");
    (0u64..).map_while(move |number| {
        let [x, y] = key.derive_key(number).uniform_pair();
        trace_droplet(model, terrain, terrain.grid.point_at_shares(Point { x, y }), most).ok()
    })
}

/// Returns the part of the terrain that a droplet from `start` can reach, with a margin.
fn crop_reachable_terrain(model: &Droplets, terrain: &Terrain, start: Point) -> Terrain {
    let grid = &terrain.grid;
    let factor = model.coarsening_factor(grid);
    let own = coarse::coarsen_grid(grid, factor);
    // Two more blocks, since blocks are aligned to the world and read the blocks around them.
    let reach = (model.max_steps_per_droplet(&own) as usize + model.step_reach(&own) + 4).saturating_mul(factor) as i64;
    let span = |axis: usize, metres: f64| {
        let at = (metres / grid.cell).floor() as i64 - grid.origin[axis];
        let bound = |x: i64| x.clamp(0, grid.size[axis] as i64) as usize;
        bound(at - reach)..bound(at + reach + 1)
    };
    let [rows, cols] = [span(0, start.y), span(1, start.x)];
    if rows.is_empty() || cols.is_empty() {
        return terrain.clone();
    }
    terrain.copy_window(CellRect::new([rows.start, cols.start], [rows.len(), cols.len()]))
}

/// The kernel of droplets, with a record of the states that it passes.
struct TracingKernel<'a> {
    rules: &'a DropletRules,
    cell: f64,
    most: usize,
    seen: Mutex<Vec<TracePoint>>,
}

impl ParticleKernel for TracingKernel<'_> {
    type Particle = Droplet;

    fn step_reach(&self) -> usize {
        self.rules.step_reach()
    }

    fn tile_margin(&self) -> usize {
        self.rules.tile_margin()
    }

    fn run(&self, patch: &mut ParticlePatch, queue: &mut Vec<Droplet>) -> Result<MassBalance> {
        let (origin, rules) = (patch.origin, self.rules);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut map = DropletMap::new(rules, patch)?;
        let mut lanes = Lanes::idle(map.tile.start);
        let mut tally = Tally::default();
        let Some(droplet) = queue.pop() else { return Ok(tally.to_mass_balance()) };
        // The single droplet uses lane 0; the other lanes stay idle.
        lanes.load_droplet(0, &droplet, origin);
        while seen.len() < self.most {
            let mut plan = lanes.plan_steps(rules, &map);
            let here = Corners::read(&map, &plan.at);
            let elevation =
                (f64::from(here.base[0]) + f64::from(here.height_above_base(0, lanes.v[0], lanes.u[0]))) / UNITS;
            // The difference of the sums before and after the step is the change of the ground in this step.
            let before = tally.eroded - tally.deposited;
            let alive = apply_ground_changes::<true, true>(1, &mut plan, &lanes, rules, &mut map, &mut tally);
            let volume = |units: f64| units / UNITS * self.cell * self.cell;
            let along = |axis: usize, cell: i32, part: f32| {
                (origin[axis] as f64 + f64::from(cell) + f64::from(part) + 0.5) * self.cell
            };
            seen.push(TracePoint {
                place: Point { x: along(1, lanes.j[0], lanes.u[0]), y: along(0, lanes.i[0], lanes.v[0]) },
                elevation,
                speed: lanes.velocity[0].into(),
                water: lanes.water[0].into(),
                carried: volume(lanes.carried[0].into()),
                capacity: volume(plan.capacity[0].into()),
                moved: volume((tally.eroded - tally.deposited - before) as f64),
            });
            lanes.apply_plan(&plan, alive, rules);
            if alive == 0 {
                break;
            }
            if plan.leaves & 1 != 0 {
                queue.push(lanes.droplet_in_lane(0, origin));
                break;
            }
        }
        Ok(tally.to_mass_balance())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::droplets::{Circle, VISITS, pour_droplets};
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::{Cells, SEDIMENT};
    use thalweg_core::{Field, Grid, Height};

    /// Returns rough hills, 150 × 170 cells of 10 m, with all layers that affect a droplet.
    fn hills() -> Terrain {
        let key = RandomKey::new(3, "trace");
        let height = |i: usize, j: usize| {
            let (y, x) = (i as f64 / 19.0, j as f64 / 23.0);
            let rough = 2.0 * key.for_cell([i as i64, j as i64]).uniform_signed();
            Height::from_metres_clamped(80.0 * (libm::sin(y) + libm::cos(x + y)) + 2.0 * j as f64 + rough)
        };
        let size = [150, 170];
        let unit = |name: &str| {
            let key = RandomKey::new(3, name);
            Cells::Float(Field::from_fn(size, |i, j| key.for_cell([i as i64, j as i64]).uniform_unit() as f32))
        };
        let mut terrain = Terrain::from_ground(Grid::new(size, 10.0).unwrap(), Field::from_fn(size, height)).unwrap();
        terrain.grid.sea_level = Some(Height::from_metres_clamped(-20.0));
        terrain.nodata = Some(Field::from_fn(size, |i, j| (i * 31 + j * 17) % 997 == 0));
        terrain.insert_layer(&HARDNESS, unit("hardness")).unwrap();
        terrain.insert_layer(&PROTECT, unit("protect")).unwrap();
        terrain.insert_layer(&SEDIMENT, Cells::Height(Field::new(size, Height::from_metres_clamped(0.05)))).unwrap();
        terrain
    }

    #[test]
    fn the_path_is_that_of_a_run_of_one_droplet() {
        let terrain = hills();
        let mut longest = 0;
        for (number, stride) in [0.0, 10.0, 23.0, 40.0].into_iter().cycle().take(80).enumerate() {
            let key = RandomKey::new(number as u64, "start");
            let start = [1700.0 * key.derive_key(0).uniform_unit(), 1500.0 * key.derive_key(1).uniform_unit()];
            let radius = [0.0, 2.0, 3.5][number % 3];
            let model = Droplets { stride, radius, count: 1, visits: true, evaporation: 0.01, ..Droplets::default() };
            let path = trace_droplet(&model, &terrain, start, usize::MAX).unwrap();
            let mut poured = terrain.clone();
            let circle = Circle { middle: start.into(), radius: 0.0 };
            let budget = pour_droplets(&model, &mut poured, key, Some(circle)).unwrap();
            longest = longest.max(path.len());
            // The end of a droplet that is spent is a point but no step.
            assert!((budget.particle_steps..=budget.particle_steps + 1).contains(&(path.len() as u64)), "{number}");
            let volume = |units: i128| units as f64 / UNITS * terrain.grid.cell_area();
            let sum = |sign: f64| path.iter().map(|point| (sign * point.moved).max(0.0)).sum::<f64>();
            for (own, of_run) in [(sum(1.0), budget.eroded), (sum(-1.0), budget.deposited)] {
                assert!((own - volume(of_run)).abs() <= 1e-9 * own, "{number}: {own} m³, {} m³", volume(of_run));
            }
            if stride <= 10.0 {
                let Cells::Count(visits) = poured.take_layer(&VISITS) else { panic!("counts") };
                let mut counted = Field::new(terrain.grid.size, 0);
                for Point { x, y } in path.iter().take(budget.particle_steps as usize).map(|point| point.place) {
                    // A place within a rounding error of a border may appear in the next cell.
                    counted[((y / 10.0 - 0.5 + 1e-9) as usize, (x / 10.0 - 0.5 + 1e-9) as usize)] += 1;
                }
                assert!(visits == counted, "{number}");
            }
            let few = trace_droplet(&model, &terrain, start, 5).unwrap();
            assert_eq!(few, path[..path.len().min(5)]);
        }
        assert!(longest > 60, "{longest}");
    }

    #[test]
    fn on_a_plane_it_runs_by_the_formulas() {
        let ground = Field::from_fn([60, 9], |i, _| Height::from_metres_clamped(500.0 - 3.0 * i as f64));
        let terrain = Terrain::from_ground(Grid::new([60, 9], 10.0).unwrap(), ground).unwrap();
        let model = Droplets { erosion: 0.0, gravity: 0.01, velocity: 2.0, ..Droplets::default() };
        let path = trace_droplet(&model, &terrain, [45.0, 15.0], 1000).unwrap();
        // From the centre of row 1 to that of row 59 there are the corners of 58 squares; the last step leads out of
        // the world.
        assert_eq!(path.len(), 58);
        for (k, point) in path.iter().enumerate() {
            let k = k as f64;
            let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-4 * b.abs(), "point {k}: {a} for {b}");
            near(point.place.x, 45.0);
            near(point.place.y, 15.0 + 10.0 * k);
            near(point.elevation, 497.0 - 3.0 * k);
            near(point.speed, (4.0 + 0.01 * 3.0 * k).sqrt());
            near(point.water, libm::pow(0.9, k));
            near(point.capacity, 3.0 * point.speed * point.water * 3.0 * 100.0);
            assert_eq!((point.carried, point.moved), (0.0, 0.0));
        }
    }

    #[test]
    fn where_none_can_start_there_is_no_path() {
        let model = Droplets::default();
        let mut terrain = hills();
        for place in [[-0.1, 5.0], [5.0, 1500.1], [f64::NAN, 5.0]] {
            let refused = trace_droplet(&model, &terrain, place, 9).unwrap_err().to_string();
            assert!(refused.starts_with("start."), "{refused}");
        }
        for corner in [[0.0, 0.0], [1700.0, 1500.0]] {
            let _ = trace_droplet(&model, &terrain, corner, 9).unwrap();
        }
        assert!(trace_droplet(&model, &terrain, [900.0, 700.0], 0).unwrap().is_empty());
        let mut void = terrain.clone();
        void.nodata = Some(Field::new([150, 170], true));
        assert!(trace_droplet(&model, &void, [900.0, 700.0], 9).unwrap().is_empty());
        terrain.grid.sea_level = Some(Height::from_metres_clamped(5000.0));
        assert!(trace_droplet(&model, &terrain, [900.0, 700.0], 9).unwrap().is_empty());
        for size in [[1, 1], [1, 30], [30, 1]] {
            let line = Terrain::new(Grid::new(size, 10.0).unwrap());
            assert!(trace_droplet(&model, &line, [5.0, 5.0], 9).unwrap().is_empty());
        }
        let flat = Terrain::new(Grid::new([2, 2], 10.0).unwrap());
        assert_eq!(trace_droplet(&model, &flat, [10.0, 10.0], 9).unwrap().len(), 1, "nothing moves it");
        let wide = Droplets { stride: 1e5, ..Droplets::default() };
        assert!(trace_droplet(&wide, &flat, [10.0, 10.0], 9).is_err());
    }
}
