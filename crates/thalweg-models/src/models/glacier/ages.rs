//! The stepper: alternates between the flow of ice and the erosion of its bed.

use std::sync::atomic::AtomicI64;

use crate::model::{MassBalance, Stepper, Tick};
use crate::models::glacier::cell::IceFluxFactors;
use crate::models::glacier::flow::{IceClimate, IceFlow, Spent};
use crate::models::glacier::land::IceBed;
use crate::models::glacier::lines::blur_by_diffusion;
use crate::models::glacier::{Glacier, ICE, SNOW, bed, till};
use crate::process::slopes::SLOPE_LIMIT;
use crate::process::slopes::{
    Bounds, Guards, book_erosion, export_eroded, find_float_layer, limit_slopes, vary_slope_limit,
};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, HARDNESS, PROTECT};
use thalweg_core::{Field, Grid, Height, Result, Terrain};

/// Weight of ice in bar/m: 917 kg/m³ · 9.81 m/s².
const WEIGHT: f64 = 0.089_957_7;

/// Steps the glaciers through growth and erosion.
pub struct Ages {
    model: Glacier,
    flow: IceFlow,
    /// Steepest stable slope in each cell, with the key of the stage that it was computed for.
    steepest: Option<(RandomKey, Field<f32>)>,
    /// Number of steps in which ice only grows, and number of all steps.
    counts: [u32; 2],
}

impl Ages {
    pub fn new(model: Glacier, grid: &Grid) -> Self {
        let [growth, wear] = model.step_counts();
        let counts = [growth as u32, (growth + wear) as u32];
        Self { model, flow: IceFlow::new(grid), steepest: None, counts }
    }

    /// Returns Γs in 1/(m·a).
    fn sliding_factor(&self) -> f64 {
        self.model.sliding * WEIGHT * WEIGHT * WEIGHT
    }

    /// Returns the years of erosion in a step.
    fn erosion_years_per_step(&self) -> f64 {
        self.model.years / f64::from(self.counts[1] - self.counts[0]).max(1.0)
    }

    /// Lets ice flow for a step.
    fn advance_ice_flow(&mut self, terrain: &Terrain, ice: &mut Field<Height>, step: u32, spent: &mut Spent) {
        let model = &self.model;
        // The growth phase counts as age 0, which is the coldest time of the cycle.
        let age = (f64::from(step) - f64::from(self.counts[0])).max(0.0) * self.erosion_years_per_step();
        let swing = model.swing * libm::cos(std::f64::consts::TAU * age / model.cycle);
        let shade = (model.shade > 0.0)
            .then(|| compute_snowline_shade(view_ice_bed(terrain), model.shade, model.shade_azimuth));
        let climate = IceClimate {
            snowline: model.snowline - swing,
            gradient: model.gradient,
            most: model.accumulation,
            snow: find_float_layer(&terrain.layers, &SNOW),
            shade: shade.as_ref(),
        };
        let rates =
            IceFluxFactors { creep: 0.4 * model.softness * WEIGHT * WEIGHT * WEIGHT, slide: self.sliding_factor() };
        // Each flow step is as long as stability allows, until the years have passed or the number of steps is used up.
        let mut remaining_years = model.ice_years;
        for _ in 0..model.ice_steps {
            remaining_years -=
                self.flow.advance_ice(view_ice_bed(terrain), ice, &rates, &climate, remaining_years, spent);
            if remaining_years <= 0.0 {
                break;
            }
        }
    }

    /// Lets the ice erode its bed and transport and deposit till, then lets slopes that are too steep fail.
    fn erode_bed(&mut self, terrain: &mut Terrain, ice: &Field<Height>, key: RandomKey) -> Result<MassBalance> {
        // Erosion is computed from the bed before the step into a copy, so it does not depend on the order of cells.
        let years = self.erosion_years_per_step();
        let (slide, coupling) = (self.sliding_factor(), self.model.coupling);
        let speed = bed::compute_sliding_speed(&mut self.flow, view_ice_bed(terrain), ice, slide, coupling);
        let before = terrain.ground.clone();
        let mut worn = before.clone();
        let limited =
            bed::erode_under_ice(&self.model, view_ice_bed(terrain), ice, &self.flow, &speed, years, &mut worn);
        let size = terrain.grid.size;
        let mut loose = terrain.loose.take().unwrap_or_else(|| Field::new(size, Height::ZERO));
        let [protect, hardness] = [PROTECT, HARDNESS].map(|spec| find_float_layer(&terrain.layers, &spec));
        let removed = book_erosion(&before, &mut worn, &mut loose, Guards { protect, hardness })?;

        // The share `till` of the eroded rock travels with the ice.
        let share = self.model.till;
        let cuts = before.as_slice().iter().zip(worn.as_slice());
        // Loads are rounded toward zero; `taken` sums the rounded loads, so the mass balance closes to the unit.
        let mut load: Vec<_> = cuts.map(|(a, b)| AtomicI64::new((f64::from(a.0 - b.0) * share) as i64)).collect();
        let taken: i64 = load.iter_mut().map(|load| *load.get_mut()).sum();
        let exported = till::transport_till(&mut self.flow, view_ice_bed(terrain), &mut load);
        let mut surplus = 0;
        let cells = worn.as_mut_slice().iter_mut().zip(loose.as_mut_slice());
        for ((height, loose), load) in cells.zip(load) {
            let load = load.into_inner();
            // Nothing is deposited above the highest elevation that can be stored.
            let deposited = load.min(i64::from(Height::MAX.0) - i64::from(height.0)).min(i64::from(i32::MAX - loose.0));
            height.0 += deposited as i32;
            loose.0 += deposited as i32;
            surplus += load - deposited;
        }
        terrain.ground = worn;
        terrain.loose = Some(loose);
        // `deposited` is the till that was deposited; the meltwater carries off the rest of the removed material.
        let deposited = taken - exported - surplus;
        let mut budget =
            MassBalance { eroded: deposited.into(), deposited: deposited.into(), limited, ..MassBalance::default() };
        budget += export_eroded(terrain, removed - deposited)?;
        budget += self.collapse_steep_slopes(terrain, key)?;
        Ok(budget)
    }

    /// Lets slopes that are too steep fail; meltwater carries the material off.
    fn collapse_steep_slopes(&mut self, terrain: &mut Terrain, key: RandomKey) -> Result<MassBalance> {
        let Glacier { slope_limit, slope_variation, slope_wavelength, .. } = self.model;
        if slope_limit >= 90.0 {
            return Ok(MassBalance::default());
        }
        // The limit depends on the stage's key and the layers alone, so it is computed once and used in all its steps.
        if self.steepest.as_ref().is_none_or(|(of, _)| *of != key) {
            let tan = libm::tan(slope_limit.to_radians());
            let mut steepest = vary_slope_limit(&terrain.grid, tan, slope_variation, slope_wavelength, key);
            if let Some(factors) = find_float_layer(&terrain.layers, &SLOPE_LIMIT) {
                for (tan, factor) in steepest.as_mut_slice().iter_mut().zip(factors.as_slice()) {
                    *tan *= factor;
                }
            }
            self.steepest = Some((key, steepest));
        }
        let Some((_, steepest)) = &self.steepest else { return Ok(MassBalance::default()) };
        let before = terrain.ground.clone();
        let Terrain { grid, ground, loose, nodata, layers, .. } = &mut *terrain;
        limit_slopes(ground, steepest, None, grid.cell, Bounds { nodata: nodata.as_ref(), ..Bounds::default() })?;
        let loose = loose.get_or_insert_with(|| Field::new(grid.size, Height::ZERO));
        let guards = Guards { protect: find_float_layer(layers, &PROTECT), hardness: None };
        let removed = book_erosion(&before, ground, loose, guards)?;
        export_eroded(terrain, removed)
    }
}

impl Stepper for Ages {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let (mut ice, mut spent) = take_ice_layer(terrain);
        self.advance_ice_flow(terrain, &mut ice, tick.step, &mut spent);
        let mut budget = MassBalance { limited: spent.limited, ..MassBalance::default() };
        // The ice grows before it erodes: in the first `counts[0]` steps the bed stays unchanged.
        if tick.step >= self.counts[0] {
            budget += self.erode_bed(terrain, &ice, tick.key)?;
        }
        let mut lost = i128::from(spent.lost);
        // After the last step all ice melts and is booked as lost, so that the ice balance closes.
        if self.model.melt && tick.step + 1 == self.counts[1] {
            lost += ice.as_slice().iter().map(|ice| i128::from(ice.0)).sum::<i128>();
        } else {
            terrain.insert_layer(&ICE, Cells::Height(ice))?;
        }
        let volume = terrain.grid.cell_area() / UNITS;
        budget.rained = spent.gained as f64 * volume;
        budget.drained = lost as f64 * volume;
        Ok(budget)
    }
}

/// Takes the ice layer from the terrain, and counts the ice that has no room because till or an earlier stage has
/// raised the ground under it. Negative thickness in a given layer counts as no ice.
fn take_ice_layer(terrain: &mut Terrain) -> (Field<Height>, Spent) {
    let mut spent = Spent::default();
    let Cells::Height(mut ice) = terrain.take_layer(&ICE) else {
        return (Field::new(terrain.grid.size, Height::ZERO), spent);
    };
    for (ice, ground) in ice.as_mut_slice().iter_mut().zip(terrain.ground.as_slice()) {
        let clamped = ice.0.clamp(0, Height::MAX.0.saturating_sub(ground.0).max(0));
        let over = i64::from(ice.0) - i64::from(clamped);
        spent.lost += over.max(0);
        spent.gained += (-over).max(0);
        spent.limited += u64::from(over != 0);
        ice.0 = clamped;
    }
    (ice, spent)
}

/// Returns the metres by which the snowline is lower in each cell, where the shade is towards `azimuth`: `most` times
/// the sine of the slope, smoothed over `WIDE`, times the cosine of the angle between its aspect and the shade.
fn compute_snowline_shade(land: IceBed<'_>, most: f64, azimuth: f64) -> Field<f32> {
    let mut smooth = land.ground.map(|height| height.metres() as f32);
    blur_by_diffusion(&mut smooth, ASPECT_SMOOTHING_M / land.grid.cell);
    let [east, north] = [libm::sin(azimuth.to_radians()), libm::cos(azimuth.to_radians())];
    Field::from_fn(smooth.size(), |i, j| {
        let [rows, cols] = smooth.size();
        // At the rim the difference is one-sided, over one cell; `max(1)` is for maps of a single row or column.
        let per = |a: usize, b: usize| 1.0 / (a.abs_diff(b).max(1) as f64 * land.grid.cell);
        let (west_of, east_of) = (j.saturating_sub(1), (j + 1).min(cols - 1));
        let (north_of, south_of) = (i.saturating_sub(1), (i + 1).min(rows - 1));
        // `x` is the fall towards the east, and `y` that towards the north.
        let x = f64::from(smooth[(i, west_of)] - smooth[(i, east_of)]) * per(west_of, east_of);
        let y = f64::from(smooth[(south_of, j)] - smooth[(north_of, j)]) * per(north_of, south_of);
        (most * (x * east + y * north) / (1.0 + x * x + y * y).sqrt()) as f32
    })
}

/// Smoothing distance in metres: over it a slope's aspect is that of the mountain, and not of a gully.
const ASPECT_SMOOTHING_M: f64 = 150.0;

fn view_ice_bed(terrain: &Terrain) -> IceBed<'_> {
    IceBed { grid: &terrain.grid, ground: &terrain.ground, nodata: terrain.nodata.as_ref() }
}
