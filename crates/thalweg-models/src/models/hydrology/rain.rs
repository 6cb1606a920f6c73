//! Drops that start in a batch: those of rain and those of springs.

use std::ops::Range;

use rayon::prelude::*;

use crate::model::YEAR;
use crate::model::{MassBalance, Tick};
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::drop::{COUNT_BITS, Drop, MAX_WATER, SPRING, portions};
use crate::models::hydrology::rules::Rules;
use thalweg_core::base::cast::share_of;
use thalweg_core::terrain::RAIN;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Error, Field, Height, Result, Terrain};
use thalweg_noise::given::soils;
use thalweg_noise::given::springs;

/// Metres per second in a millimetre per hour.
const MM_PER_HOUR: f64 = 1e-3 / 3600.0;

/// The distribution of rain: the share that falls on each cell, and the share of that which runs off.
pub struct Share<'a> {
    terrain: &'a Terrain,
    rain: Option<&'a Field<f32>>,
    /// Lowest and highest ground, if rain depends on elevation.
    range: Option<[Height; 2]>,
    /// Share of the rain that the lowest ground does not receive.
    orographic: f64,
    soil: Option<&'a Field<u32>>,
    /// Share of the rain that runs off, by kind of soil.
    runoff: Vec<f64>,
}

impl<'a> Share<'a> {
    /// Reads the distribution from the terrain's layers and soils.
    pub fn of(terrain: &'a Terrain, model: &Hydrology) -> Result<Self> {
        Ok(Self {
            terrain,
            rain: terrain.float(&RAIN),
            range: terrain.range().filter(|[low, high]| model.orographic > 0.0 && low < high),
            orographic: model.orographic,
            soil: soils::soil(terrain)?,
            runoff: runoff(terrain, model.storm * MM_PER_HOUR)?,
        })
    }

    /// Returns the share of the rain that falls on a cell, and the share of that which runs off and does not
    /// infiltrate. Returns `None` for the sea and for cells without data.
    #[inline]
    pub fn at(&self, i: usize, j: usize) -> Option<[f64; 2]> {
        let ground = self.terrain.ground[(i, j)];
        if self.terrain.is_nodata(i, j) || self.terrain.grid.sea_level.is_some_and(|sea| ground <= sea) {
            return None;
        }
        let mut share = self.rain.map_or(1.0, |rain| f64::from(share_of(rain[(i, j)])));
        if let Some([low, high]) = self.range {
            let up = f64::from(ground.0 - low.0) / f64::from(high.0 - low.0);
            share *= 1.0 - self.orographic * (1.0 - up);
        }
        Some([share, self.soil.map_or(1.0, |soil| self.runoff[soil[(i, j)] as usize])])
    }
}

/// Returns the drops of a batch's rain that fall on land in this window and run off. Where less rain falls or runs
/// off, each drop is kept with that probability.
pub fn fallen(
    terrain: &Terrain,
    model: &Hydrology,
    rules: &Rules,
    tick: Tick,
    budget: &mut MassBalance,
) -> Result<Vec<Drop>> {
    let grid = &terrain.grid;
    let batch = model.batch(grid);
    let first = u64::from(tick.step) * batch;
    let numbers = first..(first + batch).min(model.drops(grid)).max(first);
    let share = Share::of(terrain, model)?;
    let fall = |number: u64| {
        let key = tick.key.and(number);
        let at = key.pair();
        let place = Cell::from_axes(|a| at[a] * grid.world[a] as f64 + grid.first[a] as f64);
        let cell = place.map(|at| at.floor() as i64);
        let Cell { row: i, col: j } = grid.local(cell)?;
        let [falls, runs] = share.at(i, j)?;
        let part = place.map(|at| ((at - at.floor()) as f32).min(0.999_999_9));
        let drop = Drop { part, ..Drop::new(number, cell, terrain.ground[(i, j)], rules.drop, rules.turns) };
        (key.and(1).unit() < falls && key.and(2).unit() < runs).then_some(drop)
    };
    let drops: Vec<Drop> = numbers.into_par_iter().filter_map(fall).collect();
    budget.particles += drops.len() as u64;
    Ok(drops)
}

/// Returns the share of the rain that runs off each kind of soil: the part that exceeds its infiltration capacity, for
/// rain intensities distributed exponentially about a mean in m/s (Horton 1933, doi:10.1029/TR014i001p00446).
fn runoff(terrain: &Terrain, intensity: f64) -> Result<Vec<f64>> {
    let permeability = soils::Ground::of(terrain)?.permeability;
    Ok(permeability.into_iter().map(|k| libm::exp(-f64::from(k) / intensity)).collect())
}

/// Returns the water that springs supply in the given batches, in units × cells, and their cells. The amounts are
/// whole drops whose sum over the batches is exact.
///
/// # Errors
/// A spring supplies more than the drops of a batch can carry.
pub fn pour(terrain: &Terrain, rules: &Rules, steps: &Range<u32>) -> Result<Vec<(i64, Cell)>> {
    let grid = &terrain.grid;
    let most = rules.most;
    let pours = |(k, source): (usize, springs::SpringSource)| {
        let each = source.rate * rules.years * YEAR / grid.cell_area() * UNITS / f64::from(rules.drop);
        let room = most as f64 * f64::from((MAX_WATER / rules.drop).max(1));
        if each > room {
            let allowed =
                format!("up to {} m³/s from one spring in batches of {most} drops", source.rate / each * room);
            return Err(Error::value(format!("{}.rate", springs::name(k)), format!("{} m³/s", source.rate), allowed));
        }
        let until = |step: u32| (each * f64::from(step)) as i64;
        Ok(((until(steps.end) - until(steps.start)) * i64::from(rules.drop), source.cell))
    };
    springs::spring_sources(terrain)?.into_iter().enumerate().map(pours).collect()
}

/// Returns the drops that springs start in a batch.
pub fn well_up(terrain: &Terrain, rules: &Rules, tick: Tick, budget: &mut MassBalance) -> Result<Vec<Drop>> {
    let mut number = SPRING | u64::from(tick.step) << COUNT_BITS;
    let mut drops = Vec::new();
    for (water, Cell { row: i, col: j }) in pour(terrain, rules, &(tick.step..tick.step + 1))? {
        for water in portions(water, rules.drop, rules.most) {
            let cell = terrain.grid.world_cell(i, j);
            drops.push(Drop::new(number, cell, terrain.ground[(i, j)], water, rules.turns));
            number += 1;
        }
    }
    budget.particles += drops.len() as u64;
    Ok(drops)
}
