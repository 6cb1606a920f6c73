//! A batch: drops set out, run for a round, and what they did is told to the maps and the lakes.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::field::Field;
use crate::flow::depressions::Hierarchy;
use crate::flow::{Land, accumulate, spill};
use crate::grid::Grid;
use crate::height::{Height, UNITS};
use crate::model::{Budget, Stepper, Tick};
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::descent::{DRY, Descent, WHOLE};
use crate::models::hydrology::drop::{Drop, TABLE};
use crate::models::hydrology::rules::Rules;
use crate::particles::{self, Planes};
use crate::power::exp2;
use crate::rng::Key;
use crate::terrain::{
    Cells, Column, DISCHARGE, HARDNESS, MOMENTUM_X, MOMENTUM_Y, POOL, PROTECT, RAIN, TREE_DENSITY, Table, Terrain,
};

/// The table of water that stands where no whole unit of depth shows it: `row`, `column`, `water` (units × cells).
pub const HELD: &str = "held";

/// Rounds after the last batch in which drops may come to their ends.
const LAST_ROUNDS: u32 = 400;

/// Batches of drops.
pub struct Batches {
    pub rules: Rules,
    pub model: Hydrology,
    pub last: u32,
}

impl Stepper for Batches {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<Budget> {
        let mut budget = Budget::default();
        let mut state = State::take(terrain, &self.rules)?;
        let mut drops = self.fallen(terrain, tick, &mut budget);
        drops.append(&mut state.drops);
        let mut rounds = 0;
        loop {
            drops = self.round(terrain, &mut state, drops, &mut budget);
            let resting: Vec<Drop> = drops.extract_if(.., |drop| drop.rests).collect();
            self.settle(terrain, &mut state, &resting, rounds == 0, &mut budget)?;
            rounds += 1;
            if tick.step != self.last || drops.is_empty() || rounds == LAST_ROUNDS {
                break;
            }
        }
        state.drops = drops;
        if tick.step == self.last {
            self.end(terrain, &mut state, &mut budget);
        }
        state.give(terrain)?;
        // Amounts so far are in units over a cell.
        let cubic = terrain.grid.cell_area() / UNITS;
        for amount in [&mut budget.rained, &mut budget.evaporated, &mut budget.drained] {
            *amount *= cubic;
        }
        Ok(budget)
    }
}

/// What a batch takes out of the terrain and gives back.
struct State {
    drops: Vec<Drop>,
    held: Vec<(u32, i64)>,
    depth: Field<Height>,
    discharge: Field<f32>,
    south: Field<f32>,
    east: Field<f32>,
}

impl State {
    fn take(terrain: &mut Terrain, rules: &Rules) -> Result<Self> {
        let grid = terrain.grid.clone();
        let drops = terrain.tables.remove(TABLE).map(|table| Drop::from_table(&table, &grid)).transpose()?;
        let held = terrain.tables.remove(HELD).map(|table| held_of(&table, &grid)).transpose()?;
        let primed = (!terrain.layers.contains_key(DISCHARGE.name)).then(|| primed(terrain, rules));
        let float = |cells| match cells {
            Cells::Float(field) => field,
            other => other.to_float(),
        };
        let depth = match terrain.take(&POOL) {
            Cells::Height(depth) => depth.map(|depth| Height(depth.0.max(0))),
            other => Field::new(other.size(), Height::ZERO),
        };
        let discharge = float(terrain.take(&DISCHARGE));
        Ok(Self {
            drops: drops.unwrap_or_default(),
            held: held.unwrap_or_default(),
            depth,
            discharge: primed.unwrap_or(discharge),
            south: float(terrain.take(&MOMENTUM_Y)),
            east: float(terrain.take(&MOMENTUM_X)),
        })
    }

    fn give(self, terrain: &mut Terrain) -> Result<()> {
        terrain.insert(&POOL, Cells::Height(self.depth))?;
        terrain.insert(&DISCHARGE, Cells::Float(self.discharge))?;
        terrain.insert(&MOMENTUM_X, Cells::Float(self.east))?;
        terrain.insert(&MOMENTUM_Y, Cells::Float(self.south))?;
        if !self.drops.is_empty() {
            terrain.tables.insert(TABLE.to_string(), Drop::to_table(&self.drops));
        }
        if !self.held.is_empty() {
            terrain.tables.insert(HELD.to_string(), held_table(&self.held, &terrain.grid));
        }
        Ok(())
    }
}

/// The discharge that the rain would come to if all of it ran off: streams need not find their ways from nothing.
fn primed(terrain: &Terrain, rules: &Rules) -> Field<f32> {
    let (_, directions) = crate::flow::drain(&Land::of(terrain));
    // A drop a cell would be the rate of a whole batch's rain.
    let rate = (rules.drop_rate * rules.batch) as f32;
    accumulate::cells(&directions).map(|cells| *cells as f32 * rate)
}

impl Batches {
    /// The drops of this batch, those that fall on land and into this window.
    fn fallen(&self, terrain: &Terrain, tick: Tick, budget: &mut Budget) -> Vec<Drop> {
        let grid = &terrain.grid;
        let batch = self.model.batch(grid);
        let first = u64::from(tick.step) * batch;
        let numbers = first..(first + batch).min(self.model.drops(grid)).max(first);
        let rain = terrain.float(&RAIN);
        let range = terrain.range().filter(|_| self.model.orographic > 0.0);
        let fall = |number: u64| {
            let key: Key = tick.key.and(number);
            let at = key.pair();
            let [y, x] = [at[0] * grid.world[0] as f64, at[1] * grid.world[1] as f64];
            let cell = [y as i64, x as i64];
            let local = [0, 1].map(|a| cell[a] - grid.origin[a]);
            if [0, 1].iter().any(|a| local[*a] < 0 || local[*a] >= grid.size[*a] as i64) {
                return None;
            }
            let [i, j] = local.map(|x| x as usize);
            let ground = terrain.ground[(i, j)];
            if terrain.is_nodata(i, j) || grid.sea_level.is_some_and(|sea| ground <= sea) {
                return None;
            }
            let mut share = rain.map_or(1.0, |rain| f64::from(rain[(i, j)]).clamp(0.0, 1.0));
            if let Some([low, high]) = range.filter(|[low, high]| low < high) {
                let up = f64::from(ground.0 - low.0) / f64::from(high.0 - low.0);
                share *= 1.0 - self.model.orographic * (1.0 - up);
            }
            (key.and(1).unit() < share).then_some(Drop {
                number,
                cell,
                part: [(y - y.floor()) as f32, (x - x.floor()) as f32].map(|part| part.min(0.999_999_9)),
                speed: [0.0; 2],
                water: self.rules.drop,
                carried: 0,
                remainder: 0.0,
                lowest: ground.0,
                since: 0,
                turns: self.rules.turns,
                sunk: 0,
                rests: false,
            })
        };
        let drops: Vec<Drop> = numbers.into_par_iter().filter_map(fall).collect();
        budget.particles += drops.len() as u64;
        budget.rained += drops.len() as f64 * f64::from(self.rules.drop);
        drops
    }

    /// One round of all drops over the ground, after which the maps have learnt what passed.
    fn round(&self, terrain: &mut Terrain, state: &mut State, drops: Vec<Drop>, budget: &mut Budget) -> Vec<Drop> {
        let rules = &self.rules;
        let size = terrain.grid.size;
        let hold = hold(terrain);
        let sea = rules.sea;
        let mut level = Field::new(size, Height(DRY));
        let (ground, depth) = (&terrain.ground, &state.depth);
        level.par_rows_mut().for_each(|(i, row)| {
            for ((level, ground), depth) in row.iter_mut().zip(ground.row(i)).zip(depth.row(i)) {
                if depth.0 > 0 {
                    level.0 = ground.0.saturating_add(depth.0);
                } else if sea.is_some_and(|sea| ground.0 < sea) {
                    level.0 = sea.unwrap_or(DRY);
                }
            }
        });
        let full = (-std::f64::consts::LOG2_E / rules.full) as f32;
        let unit = (1.0 / rules.unit) as f32;
        let stream = state.discharge.map(|q| 1.0 - exp2(q * full));
        let [south, east] = [&state.south, &state.east].map(|m| m.map(|m| m * unit));
        let mut sums = [0; 2].map(|_| Field::new(size, Height::ZERO));
        let mut passed = Field::new(size, 0u32);
        let loose = terrain.loose.get_or_insert_with(|| Field::new(size, Height::ZERO));
        let [sum_south, sum_east] = &mut sums;
        let mut planes = Planes {
            heights: vec![&mut terrain.ground, loose, &mut level, sum_south, sum_east],
            counts: vec![&mut passed],
            factors: [&stream, &south, &east].into_iter().chain(hold.as_ref()).collect(),
            outside: terrain.nodata.as_ref(),
        };
        let kernel = Descent { rules, outside: terrain.nodata.is_some(), hold: hold.is_some() };
        let (alive, done) = particles::round(&kernel, &terrain.grid, &mut planes, drops);
        *budget += done;
        let keep = rules.keep as f32;
        let learn = ((1.0 - rules.keep) * rules.drop_rate / f64::from(WHOLE)) as f32;
        let maps = [(&mut state.south, &sums[0]), (&mut state.east, &sums[1])];
        for (map, sums) in maps {
            map.par_rows_mut().for_each(|(i, row)| {
                row.iter_mut().zip(sums.row(i)).for_each(|(map, sum)| *map = keep * *map + learn * sum.0 as f32);
            });
        }
        state.discharge.par_rows_mut().for_each(|(i, row)| {
            row.iter_mut().zip(passed.row(i)).for_each(|(map, sum)| *map = keep * *map + learn * *sum as f32);
        });
        alive
    }

    /// Hands the water of drops at rest to what stands on the ground; the first time in a batch, it evaporates.
    fn settle(
        &self,
        terrain: &Terrain,
        state: &mut State,
        resting: &[Drop],
        evaporates: bool,
        budget: &mut Budget,
    ) -> Result<()> {
        let grid = &terrain.grid;
        let cols = grid.cols();
        let thin = if evaporates { self.model.lake_evaporation * self.rules.years * UNITS } else { 0.0 };
        let thin = thin.round() as i32;
        let mut water = Field::new(grid.size, 0i64);
        for (water, depth) in water.as_mut_slice().iter_mut().zip(state.depth.as_slice()) {
            let gone = depth.0.min(thin);
            budget.evaporated += f64::from(gone);
            *water = i64::from(depth.0 - gone);
        }
        let cells = resting.iter().map(|drop| {
            let [i, j] = [0, 1].map(|a| (drop.cell[a] - grid.origin[a]) as usize);
            (i * cols + j, i64::from(drop.water))
        });
        for (cell, amount) in cells.chain(state.held.drain(..).map(|(cell, amount)| (cell as usize, amount))) {
            water.as_mut_slice()[cell] += amount;
        }
        let land = Land::of(terrain);
        let hierarchy = Hierarchy::of(&land);
        let standing = spill::fill_spill_merge(&land, &hierarchy, &water)?;
        budget.drained += standing.left as f64;
        state.depth = standing.depth;
        let remainder = |pool: &spill::Pool| (hierarchy.depressions[pool.depression as usize].pit, pool.remainder);
        state.held = standing.pools.iter().map(remainder).filter(|(_, amount)| *amount > 0).collect();
        Ok(())
    }

    /// The run is over: what is still on its way lays down its load, and leaves.
    fn end(&self, terrain: &mut Terrain, state: &mut State, budget: &mut Budget) {
        for drop in state.drops.drain(..) {
            let [i, j] = [0, 1].map(|a| (drop.cell[a] - terrain.grid.origin[a]) as usize);
            terrain.ground[(i, j)].0 += drop.carried;
            if let Some(loose) = &mut terrain.loose {
                loose[(i, j)].0 += drop.carried;
            }
            budget.deposited += i128::from(drop.carried);
            budget.drained += f64::from(drop.water);
        }
        for (_, amount) in state.held.drain(..) {
            budget.drained += amount as f64;
        }
    }
}

/// How firmly the ground is held against digging, 0 to 1: by hardness, protection and roots; none where nothing says so.
fn hold(terrain: &Terrain) -> Option<Field<f32>> {
    let layers: Vec<&Field<f32>> =
        [HARDNESS, PROTECT, TREE_DENSITY].iter().filter_map(|spec| terrain.float(spec)).collect();
    if layers.is_empty() {
        return None;
    }
    let free = |i: usize, j: usize| layers.iter().map(|layer| (1.0 - layer[(i, j)]).clamp(0.0, 1.0)).product::<f32>();
    Some(Field::generate(terrain.grid.size, |i, j| 1.0 - free(i, j)))
}

fn held_table(held: &[(u32, i64)], grid: &Grid) -> Table {
    let cols = grid.cols() as u32;
    let cell = |k: u32| grid.world_cell((k / cols) as usize, (k % cols) as usize);
    let ints = |f: &dyn Fn(&(u32, i64)) -> i64| Column::Int(held.iter().map(f).collect());
    let column = |name: &str, unit: &str, values| (name.to_string(), unit.to_string(), values);
    Table {
        columns: vec![
            column("row", "cell", ints(&|(k, _)| cell(*k)[0])),
            column("column", "cell", ints(&|(k, _)| cell(*k)[1])),
            column("water", "m/65536", ints(&|(_, amount)| *amount)),
        ],
    }
}

fn held_of(table: &Table, grid: &Grid) -> Result<Vec<(u32, i64)>> {
    let read = || {
        let (rows, cols, water) = (table.ints("row")?, table.ints("column")?, table.ints("water")?);
        let one = |r: usize| {
            let local = |value: i64, axis: usize| {
                let x = value.checked_sub(grid.origin[axis])?;
                (0..grid.size[axis] as i64).contains(&x).then_some(x as usize)
            };
            let (i, j) = (local(rows[r], 0)?, local(cols[r], 1)?);
            (water[r] >= 0 && water[r] < 1 << 60).then_some(((i * grid.cols() + j) as u32, water[r]))
        };
        (0..table.len()).map(one).collect()
    };
    let held = if table.is_even() { read() } else { None };
    held.ok_or_else(|| Error::layer(HELD, "is no table of water inside this terrain"))
}
