//! Drops that set out: those of rain, and those of springs.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::height::UNITS;
use crate::model::YEAR;
use crate::model::{Budget, Tick};
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::drop::{COUNT_BITS, Drop, MAX_WATER, SPRING, portions};
use crate::models::hydrology::rules::Rules;
use crate::soils;
use crate::springs;
use crate::terrain::{RAIN, Terrain};

/// Metres a second in a millimetre an hour.
const MM_PER_HOUR: f64 = 1e-3 / 3600.0;

/// The drops of rain of a batch that fall on land, into this window, and run off.
pub fn fallen(
    terrain: &Terrain,
    model: &Hydrology,
    rules: &Rules,
    tick: Tick,
    budget: &mut Budget,
) -> Result<Vec<Drop>> {
    let grid = &terrain.grid;
    let batch = model.batch(grid);
    let first = u64::from(tick.step) * batch;
    let numbers = first..(first + batch).min(model.drops(grid)).max(first);
    let rain = terrain.float(&RAIN);
    let range = terrain.range().filter(|_| model.orographic > 0.0);
    let soil = soils::soil(terrain)?;
    let runoff = runoff(terrain, model.storm * MM_PER_HOUR)?;
    // The drop, and whether it runs off: else it soaks in where it falls.
    let fall = |number: u64| {
        let key = tick.key.and(number);
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
            share *= 1.0 - model.orographic * (1.0 - up);
        }
        let part = [(y - y.floor()) as f32, (x - x.floor()) as f32].map(|part| part.min(0.999_999_9));
        let drop = Drop { part, ..Drop::new(number, cell, ground, rules.drop, rules.turns) };
        let runs = soil.is_none_or(|soil| key.and(2).unit() < runoff[soil[(i, j)] as usize]);
        (key.and(1).unit() < share).then_some((drop, runs))
    };
    let mut drops: Vec<(Drop, bool)> = numbers.into_par_iter().filter_map(fall).collect();
    let whole = f64::from(rules.drop);
    budget.rained += drops.len() as f64 * whole;
    budget.infiltrated += drops.iter().filter(|(_, runs)| !runs).count() as f64 * whole;
    drops.retain(|(_, runs)| *runs);
    budget.particles += drops.len() as u64;
    Ok(drops.into_iter().map(|(drop, _)| drop).collect())
}

/// Share of the rain that runs off each kind of soil: what it cannot take while it rains, intensities being spread
/// exponentially about a mean in m/s (Horton 1933, doi:10.1029/TR014i001p00446).
fn runoff(terrain: &Terrain, intensity: f64) -> Result<Vec<f64>> {
    let permeability = soils::Ground::of(terrain)?.permeability;
    Ok(permeability.into_iter().map(|k| libm::exp(-f64::from(k) / intensity)).collect())
}

/// The drops that springs put in: whole ones, which add up over the batches.
pub fn welled(
    terrain: &Terrain,
    model: &Hydrology,
    rules: &Rules,
    tick: Tick,
    budget: &mut Budget,
) -> Result<Vec<Drop>> {
    let grid = &terrain.grid;
    let most = model.batch(grid);
    let mut number = SPRING | u64::from(tick.step) << COUNT_BITS;
    let mut drops = Vec::new();
    for (k, source) in springs::sources(terrain)?.into_iter().enumerate() {
        let [i, j] = source.cell;
        let each = source.rate * rules.years * YEAR / grid.cell_area() * UNITS / f64::from(rules.drop);
        let room = most as f64 * f64::from((MAX_WATER / rules.drop).max(1));
        if each > room {
            let allowed = format!("up to {} m³/s of one spring in batches of {most} drops", source.rate / each * room);
            return Err(Error::value(format!("{}.rate", springs::name(k)), format!("{} m³/s", source.rate), allowed));
        }
        let until = |step: u32| (each * f64::from(step)) as i64;
        let water = (until(tick.step + 1) - until(tick.step)) * i64::from(rules.drop);
        for water in portions(water, rules.drop, most) {
            let cell = grid.world_cell(i, j);
            drops.push(Drop::new(number, cell, terrain.ground[(i, j)], water, rules.turns));
            number += 1;
        }
        budget.poured += water as f64;
    }
    budget.particles += drops.len() as u64;
    Ok(drops)
}
