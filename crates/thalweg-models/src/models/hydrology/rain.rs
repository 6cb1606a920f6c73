//! Drops that start in a batch: those of rain and those of springs.

use std::ops::Range;

use rayon::prelude::*;

use crate::model::YEAR;
use crate::model::{MassBalance, Tick};
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::drop::{COUNT_BITS, Drop, MAX_WATER, SPRING, divide_water};
use crate::models::hydrology::rules::HydrologyRules;
use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::RAIN;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Error, Field, Height, Result, Terrain};
use thalweg_noise::input_tables::soils;
use thalweg_noise::input_tables::springs;

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
    ///
    /// # Errors
    /// Returns an error if the soils of the terrain are not valid.
    pub fn from_terrain(terrain: &'a Terrain, model: &Hydrology) -> Result<Self> {
        Ok(Self {
            terrain,
            rain: terrain.float_layer(&RAIN),
            range: terrain.elevation_range().filter(|[low, high]| model.orographic > 0.0 && low < high),
            orographic: model.orographic,
            soil: soils::read_soil_numbers(terrain)?,
            runoff: compute_runoff_shares(terrain, model.storm * MM_PER_HOUR)?,
        })
    }

    /// Returns the share of the rain that falls on a cell, and the share of that which runs off and does not
    /// infiltrate. Returns `None` for the sea and for cells without data.
    #[inline]
    pub fn rain_and_runoff_shares(&self, i: usize, j: usize) -> Option<[f64; 2]> {
        let ground = self.terrain.ground[(i, j)];
        if self.terrain.is_nodata(i, j) || self.terrain.grid.sea_level.is_some_and(|sea| ground <= sea) {
            return None;
        }
        let mut share = self.rain.map_or(1.0, |rain| f64::from(clamp_share(rain[(i, j)])));
        if let Some([low, high]) = self.range {
            let up = f64::from(ground.0 - low.0) / f64::from(high.0 - low.0);
            share *= 1.0 - self.orographic * (1.0 - up);
        }
        Some([share, self.soil.map_or(1.0, |soil| self.runoff[soil[(i, j)] as usize])])
    }
}

/// Returns the drops of a batch's rain that fall on land in this window and run off. Where less rain falls or runs
/// off, each drop is kept with that probability.
///
/// # Errors
/// Returns the errors of [`Share::from_terrain`].
pub fn generate_rain_drops(
    terrain: &Terrain,
    model: &Hydrology,
    rules: &HydrologyRules,
    tick: Tick,
    budget: &mut MassBalance,
) -> Result<Vec<Drop>> {
    let grid = &terrain.grid;
    let batch = model.drops_per_batch(grid);
    // Drops are numbered through all batches, and the last batch may be shorter. The place of a drop depends on its
    // number and on the size of the world alone, not on the window or on the threads.
    let first = u64::from(tick.step) * batch;
    let numbers = first..(first + batch).min(model.total_drops(grid)).max(first);
    let share = Share::from_terrain(terrain, model)?;
    let fall = |number: u64| {
        let key = tick.key.derive_key(number);
        let at = key.uniform_pair();
        let place = Cell::from_axes(|a| at[a] * grid.world[a] as f64 + grid.first[a] as f64);
        let cell = place.map(|at| at.floor() as i64);
        let Cell { row: i, col: j } = grid.local_cell(cell)?;
        let [falls, runs] = share.rain_and_runoff_shares(i, j)?;
        // A fraction just below 1 may round up to 1 as `f32`, which would be the next cell.
        let part = place.map(|at| ((at - at.floor()) as f32).min(0.999_999_9));
        let drop = Drop { part, ..Drop::new(number, cell, terrain.ground[(i, j)], rules.drop_water, rules.turns) };
        // Each decision draws from its own subkey, so that they are independent of the place and of each other.
        (key.derive_key(1).uniform_unit() < falls && key.derive_key(2).uniform_unit() < runs).then_some(drop)
    };
    let drops: Vec<Drop> = numbers.into_par_iter().filter_map(fall).collect();
    budget.particles += drops.len() as u64;
    Ok(drops)
}

/// Returns the share of the rain that runs off each kind of soil: the part that exceeds its infiltration capacity, for
/// rain intensities distributed exponentially about a mean in m/s (Horton 1933, doi:10.1029/TR014i001p00446).
fn compute_runoff_shares(terrain: &Terrain, intensity: f64) -> Result<Vec<f64>> {
    let permeability = soils::SoilProperties::from_terrain(terrain)?.permeability;
    Ok(permeability.into_iter().map(|k| libm::exp(-f64::from(k) / intensity)).collect())
}

/// Returns the water that springs supply in the given batches, in units × cells, and their cells. The amounts are
/// whole drops whose sum over the batches is exact.
///
/// # Errors
/// Returns an error if a spring supplies more than the drops of a batch can carry.
pub fn compute_spring_water(terrain: &Terrain, rules: &HydrologyRules, steps: &Range<u32>) -> Result<Vec<(i64, Cell)>> {
    let grid = &terrain.grid;
    let max_drops = rules.max_drops;
    let pours = |(k, source): (usize, springs::SpringSource)| {
        let each = source.rate * rules.years * YEAR / grid.cell_area() * UNITS / f64::from(rules.drop_water);
        let room = max_drops as f64 * f64::from((MAX_WATER / rules.drop_water).max(1));
        if each > room {
            let allowed =
                format!("up to {} m³/s from one spring in batches of {max_drops} drops", source.rate / each * room);
            return Err(Error::invalid_value(
                format!("{}.rate", springs::spring_name(k)),
                format!("{} m³/s", source.rate),
                allowed,
            ));
        }
        // The whole drops up to each step are subtracted, so that the batches together supply the spring's amount.
        let until = |step: u32| (each * f64::from(step)) as i64;
        Ok(((until(steps.end) - until(steps.start)) * i64::from(rules.drop_water), source.cell))
    };
    springs::spring_sources(terrain)?.into_iter().enumerate().map(pours).collect()
}

/// Returns the drops that springs start in a batch.
///
/// # Errors
/// Returns the errors of [`compute_spring_water`].
pub fn generate_spring_drops(
    terrain: &Terrain,
    rules: &HydrologyRules,
    tick: Tick,
    budget: &mut MassBalance,
) -> Result<Vec<Drop>> {
    // The step fills the bits above `COUNT_BITS`. A run has at most a million batches, less than 2²⁰, so that they stay
    // below the bits 61 and 62.
    let mut number = SPRING | u64::from(tick.step) << COUNT_BITS;
    let mut drops = Vec::new();
    for (water, Cell { row: i, col: j }) in compute_spring_water(terrain, rules, &(tick.step..tick.step + 1))? {
        for water in divide_water(water, rules.drop_water, rules.max_drops) {
            let cell = terrain.grid.world_cell(i, j);
            drops.push(Drop::new(number, cell, terrain.ground[(i, j)], water, rules.turns));
            number += 1;
        }
    }
    budget.particles += drops.len() as u64;
    Ok(drops)
}
