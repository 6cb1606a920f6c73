//! One time step of stream power: uplift, drainage, incision, hillslopes.

use rayon::prelude::*;

use crate::model::{MassBalance, Stepper, Tick};
use crate::models::stream_power::deposit::erode_and_deposit;
use crate::models::stream_power::level::{ResolutionLevel, has_outlet, mark_base_level};
use crate::models::stream_power::rock::{RockProperties, compute_slope_limits};
use crate::models::stream_power::solve::{IncisionInputs, incise_ground};
use crate::models::stream_power::{Area, StreamPower};
use crate::process::floors::{self, Valley};
use crate::process::slopes::{self, Bedding, Bounds, Guards};
use thalweg_core::base::cast::clamp_share;
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{ERODIBILITY, RAIN, UPLIFT};
use thalweg_core::{Field, Grid, Height, Result, Terrain};
use thalweg_flow::{D8, Directions, FlowGraph, Land, OUT, accumulate, multiple};
use thalweg_noise::gradient::mix_bits;

/// The stepper of one level, working on the cells of a terrain.
pub struct StreamPowerStepper {
    model: StreamPower,
    level: ResolutionLevel,
    /// The values that depend on the stage's key and the grid alone, kept between steps.
    place: Option<(RandomKey, Grid, RockAndLimit)>,
}

/// The rock and its steepest stable slope; the latter is computed when slopes are first limited.
struct RockAndLimit {
    rock: RockProperties,
    limit: Option<Field<f32>>,
}

/// The drainage of the terrain.
struct RoutedFlow {
    /// The depression-filled surface.
    levels: Field<Height>,
    /// The flow direction of each cell.
    codes: Directions,
    /// The accumulated flow through each cell, in units of 1/[`CELL_WEIGHT`] cells.
    sums: Vec<i64>,
    /// The cells, each before its receiver.
    order: Vec<u32>,
}

/// The outer share of a valley floor that forms its foot slope.
const FOOT_SHARE: f64 = 0.6;

/// The greatest lateral shift of a river in a step, in half widths of its floor: with more it would leave the floor.
const MAX_SHIFT_HALF_WIDTHS: f64 = 1.2;

/// The weight of one cell in flow accumulation, when flow is divided between receivers: 2³⁰ parts, which leaves room
/// for 2³² cells in an `i64`.
const CELL_WEIGHT: i64 = 1 << 30;

impl StreamPowerStepper {
    /// Creates the stepper of one level; the rock is computed in its first step.
    pub fn new(model: StreamPower, level: ResolutionLevel) -> Self {
        Self { model, level, place: None }
    }

    /// Returns the values that depend on the place, computing them at first use.
    fn take_rock(&mut self, grid: &Grid, key: RandomKey) -> RockAndLimit {
        match self.place.take() {
            Some((at, of, place)) if at == key && of == *grid => place,
            _ => RockAndLimit { rock: RockProperties::new(&self.model, grid, key), limit: None },
        }
    }
}

impl Stepper for StreamPowerStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let mut place = self.take_rock(&terrain.grid, tick.key);
        let ResolutionLevel { start, step, .. } = self.level;
        let times = [start + f64::from(tick.step) * step, start + f64::from(tick.step + 1) * step];
        let mut budget = MassBalance::default();

        // The order is uplift, rivers, hillslopes: rivers cut the land that has just risen, and slopes follow the new
        // valleys.
        let base_level = mark_base_level(terrain);
        budget += uplift_ground(terrain, &base_level, &place.rock, times);
        budget += self.incise_and_deposit(terrain, &base_level, &place.rock, tick, times[1])?;
        budget += self.diffuse_and_limit_slopes(terrain, &base_level, &mut place, tick.key, times[1])?;
        // Without an outlet nothing leaves the map: what rivers carried is deposited on its lowest ground.
        if !has_outlet(terrain) {
            let loose = terrain.loose.get_or_insert_with(|| Field::new(terrain.ground.size(), Height::ZERO));
            // The sediment that rivers carry in a step is far below 2⁶³ units.
            let amount = budget.exported.clamp(0, i64::MAX.into()) as i64;
            let deposited = slopes::deposit_on_lowest(&mut terrain.ground, loose, terrain.nodata.as_ref(), amount)?;
            budget.deposited += i128::from(deposited);
            budget.exported -= i128::from(deposited);
        }
        // The rock is not needed after the last step.
        self.place = (tick.step + 1 < self.level.steps).then(|| (tick.key, terrain.grid.clone(), place));
        Ok(budget)
    }
}

/// The number of bands in which accumulated flow is converted to incision strength.
const BANDS: usize = 8;

/// The least number of cells per parallel task.
const MIN_CELLS_PER_TASK: usize = 1 << 14;

/// Applies `act` to the values of the cells at base level.
fn apply_at_base_level<T: Send>(values: &mut [T], base_level: &Field<bool>, act: impl Fn(&mut T) + Sync) {
    let cells = values.par_iter_mut().zip(base_level.as_slice()).with_min_len(MIN_CELLS_PER_TASK);
    cells.filter(|(_, base_level)| **base_level).for_each(|(value, _)| act(value));
}

/// Applies the uplift between two times in years.
fn uplift_ground(
    terrain: &mut Terrain,
    base_level: &Field<bool>,
    rock: &RockProperties,
    times: [f64; 2],
) -> MassBalance {
    let cols = terrain.grid.cols();
    let mut ground = std::mem::replace(&mut terrain.ground, Field::new([0, 0], Height::ZERO));
    let factor = terrain.float_layer(&UPLIFT);
    let (added, limited) = ground
        .par_rows_mut()
        .map(|(i, row)| {
            let (mut added, mut limited) = (0i64, 0u64);
            for (j, height) in row.iter_mut().enumerate().filter(|(j, _)| !base_level[(i, *j)]) {
                let rise = rock.uplift_between(i * cols + j, times, factor.map_or(1.0, |factor| factor[(i, j)]));
                // The sum is computed in 64 bits and then limited to the highest elevation that can be stored.
                let target = i64::from(height.0).saturating_add(rise);
                let risen = target.min(Height::MAX.0.into());
                added += risen - i64::from(height.0);
                limited += u64::from(risen != target);
                height.0 = risen as i32;
            }
            (added, limited)
        })
        .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    terrain.ground = ground;
    MassBalance { added: added.into(), limited, ..MassBalance::default() }
}

impl StreamPowerStepper {
    /// Applies fluvial incision, deposition (if enabled) and planation.
    fn incise_and_deposit(
        &self,
        terrain: &mut Terrain,
        base_level: &Field<bool>,
        rock: &RockProperties,
        tick: Tick,
        time: f64,
    ) -> Result<MassBalance> {
        let model = &self.model;
        let cols = terrain.grid.cols();
        // First the water is routed, then it cuts, and at last rivers widen their valleys.
        let RoutedFlow { mut levels, mut codes, sums, order } = self.route_flow(terrain)?;
        // Cells at base level do not change, even if they drain to a neighbour.
        apply_at_base_level(codes.as_mut_slice(), base_level, |code| *code = (*code).max(OUT));
        if let Some(sea) = terrain.grid.sea_level {
            apply_at_base_level(levels.as_mut_slice(), base_level, |level| *level = (*level).max(sea));
        }
        let strength = self.incision_strength(terrain, rock, &codes, sums, time);
        let salt = tick.key.derive_key(6).derive_key(tick.step.into()).random_bits() as u32;
        let water = IncisionInputs {
            codes: codes.as_slice(),
            order,
            strength,
            scale: libm::pow(UNITS, 1.0 - model.slope_exponent),
            n: model.slope_exponent,
            topology: terrain.grid.topology(),
            origin: terrain.grid.world_offset(),
            salt: mix_bits(salt),
        };
        let ground = terrain.ground.as_mut_slice();
        let surface = levels.as_mut_slice();
        let mut budget = MassBalance::default();
        if model.deposition > 0.0 {
            let size = [ground.len() / cols, cols];
            let loose = terrain.loose.get_or_insert_with(|| Field::new(size, Height::ZERO)).as_mut_slice();
            let moved = erode_and_deposit(ground, surface, loose, water, model.loose_ease, model.deposition);
            budget.eroded = moved.eroded.into();
            budget.deposited = moved.deposited.into();
        } else {
            let loose = terrain.loose.as_mut().map(Field::as_mut_slice);
            budget.eroded = incise_ground(ground, surface, loose, &water, model.loose_ease).into();
            drop(water);
        }
        if model.planation > 0.0 {
            let cells = accumulate::count_upstream_cells(&codes);
            let drained = floors::DrainedSurface { surface: &levels, directions: &codes, cells: &cells };
            budget.eroded += i128::from(self.widen_valleys(terrain, base_level, rock, drained, tick.key, time)?);
        }
        budget.exported = budget.eroded - budget.deposited;
        Ok(budget)
    }

    /// Lets rivers erode valley floors laterally. Returns the eroded height units.
    fn widen_valleys(
        &self,
        terrain: &mut Terrain,
        base_level: &Field<bool>,
        rock: &RockProperties,
        drained: floors::DrainedSurface<'_>,
        key: RandomKey,
        time: f64,
    ) -> Result<i64> {
        let cell = terrain.grid.cell;
        let valley = Valley {
            threshold: self.model.planation_area * 1e6,
            width: self.model.planation,
            rise: self.model.planation_rise,
            widest: Valley::DEFAULT_MAX_HALF_WIDTH_M,
            edge: FOOT_SHARE,
            uneven: self.model.planation_unevenness,
            wavelength: Valley::WAVELENGTH,
            share: 1.0,
            foot: self.model.planation_foot,
            wander: (1e-3 * self.model.planation_wander * self.level.step).min(MAX_SHIFT_HALF_WIDTHS),
            bed: self.model.planation_bed,
            narrowest: cell,
            moved: self.model.planation_drift * time,
        };
        // Floors are wider in soft rock, by the root of its erodibility, between a quarter and four times the usual
        // width.
        let ease = |k: usize| f64::from(rock.erodibility(k)).sqrt().clamp(0.25, 4.0);
        let Terrain { grid, ground, loose, nodata, .. } = &mut *terrain;
        let before = ground.clone();
        floors::carve_floors(ground, nodata.as_ref(), grid, drained, &valley, key.derive_key(7), &ease);
        // Base level keeps its height, though the floors reach into it.
        ground.par_rows_mut().for_each(|(i, row)| {
            for (j, height) in row.iter_mut().enumerate().filter(|(j, _)| base_level[(i, *j)]) {
                *height = before[(i, j)];
            }
        });
        match loose {
            Some(loose) => slopes::book_erosion(&before, ground, loose, Guards::default()),
            None => {
                let cuts = before.as_slice().par_iter().zip(ground.as_slice());
                Ok(cuts.with_min_len(MIN_CELLS_PER_TASK).map(|(a, b)| i64::from(a.0 - b.0)).sum())
            }
        }
    }

    /// Computes the flow directions and the flow accumulation.
    fn route_flow(&self, terrain: &Terrain) -> Result<RoutedFlow> {
        let land = Land::from_terrain(terrain);
        let mut drainage = FlowGraph::new(&land);
        let rain = terrain.float_layer(&RAIN).filter(|_| self.model.rain > 0.0);
        // Weights are whole parts of a cell, so that sums do not depend on their order.
        let weights = || match rain {
            Some(rain) => rain.map(|share| (f64::from(clamp_share(*share)) * CELL_WEIGHT as f64) as i64),
            None => Field::new(land.grid.size, CELL_WEIGHT),
        };
        let (sums, order) = match self.model.area {
            Area::D8 if rain.is_some() => {
                (drainage.accumulate_weights(&weights())?.into_vec(), drainage.take_upstream_order())
            }
            Area::D8 => {
                let sums =
                    drainage.take_upstream_cells().as_slice().iter().map(|n| i64::from(*n) * CELL_WEIGHT).collect();
                (sums, drainage.take_upstream_order())
            }
            Area::Multiple => {
                // Flow is divided on the filled surface, on which lakes pass their water on.
                let (land, codes) = (drainage.with_filled_surface(&land), drainage.directions());
                let multiple::MultipleFlowSums { sums, order } =
                    multiple::accumulate_multiple(&land, codes, self.model.spread, weights())?;
                (sums.into_vec(), order)
            }
        };
        let (levels, codes) = drainage.into_parts();
        Ok(RoutedFlow { levels, codes, sums, order })
    }

    /// Computes F of each cell (see [`IncisionInputs`]) from the flow through it.
    fn incision_strength(
        &self,
        terrain: &Terrain,
        rock: &RockProperties,
        codes: &Directions,
        mut sums: Vec<i64>,
        time: f64,
    ) -> Vec<f32> {
        let (model, grid) = (&self.model, &terrain.grid);
        // The factors for orthogonal and diagonal steps differ in Δx^(−n); even direction codes are orthogonal.
        let scale = model.erodibility * self.level.step;
        let scale = D8::DISTANCES.map(|d| scale * libm::pow(d * grid.cell, -model.slope_exponent));
        let yields = if model.rain > 0.0 { model.rain } else { 1.0 };
        let area = (grid.cell_area() * yields / CELL_WEIGHT as f64) as f32;
        let m = model.area_exponent as f32;
        let (factor, beds) = (terrain.float_layer(&ERODIBILITY), rock.strata_at_time(time));
        let cols = grid.cols();
        let mut strength = vec![0.0; sums.len()];
        let of_row = |sums: &[i64], i: usize, row: &mut [f32]| {
            for (j, strength) in row.iter_mut().enumerate() {
                let k = i * cols + j;
                let code = codes[k];
                if code >= OUT {
                    continue;
                }
                // F = K·Δt·Aᵐ·Δx^(−n), with K from the rock, the factor layer and the strata.
                let here = f64::from(rock.erodibility(k)) * f64::from(factor.map_or(1.0, |factor| factor[(i, j)]));
                let bed =
                    beds.as_ref().map_or(1.0, |beds| beds.softness(k, terrain.ground[k].0, grid.cell_center(i, j)));
                // The power uses the library's own `exp2` and `log2`, which give the same bits on every machine. A cell
                // has a flow of at least 1 part, so that the logarithm is finite.
                let power = f64::from(exp2(m * log2(sums[k].max(1) as f32 * area)));
                *strength = (scale[usize::from(code) % 2] * here * bed * power) as f32;
            }
        };
        // Processes bands from the last one on and frees their flow accumulation, which takes twice as much memory as
        // the strength.
        let band = cols * (sums.len() / cols).div_ceil(BANDS).max(1);
        while !sums.is_empty() {
            let first = (sums.len() - 1) / band * band;
            let rows = strength[first..sums.len()].par_chunks_mut(cols).enumerate();
            rows.for_each(|(i, row)| of_row(&sums, first / cols + i, row));
            sums.truncate(first);
            sums.shrink_to_fit();
        }
        strength
    }

    /// Applies hillslope diffusion, and limits slopes to the steepest that the rock can bear.
    fn diffuse_and_limit_slopes(
        &self,
        terrain: &mut Terrain,
        base_level: &Field<bool>,
        place: &mut RockAndLimit,
        key: RandomKey,
        time: f64,
    ) -> Result<MassBalance> {
        let grid = terrain.grid.clone();
        if self.model.slope_limit > 0.0 && place.limit.is_none() {
            place.limit = Some(compute_slope_limits(&self.model, &grid, key.derive_key(5)));
        }
        let spread = self.model.diffusion * self.level.step / grid.cell_area();
        // The mask is taken out of the terrain, so that it can be read while the ground is written; it is put back
        // below.
        let nodata = terrain.nodata.take();
        let bounds = Bounds { looped: grid.topology().looped, nodata: nodata.as_ref(), held: Some(base_level) };
        let mut budget = MassBalance::default();
        let done = slopes::diffuse_ground(&mut terrain.ground, terrain.loose.as_mut(), bounds, None, spread);
        let cut = done.and_then(|creep| {
            budget += creep;
            let Some(limit) = &place.limit else { return Ok(0) };
            let beds = place.rock.strata_at_time(time);
            let bottom = |i: usize, j: usize| {
                beds.as_ref().map_or(0, |beds| beds.pile_bottom(i * grid.cols() + j, grid.cell_center(i, j)))
            };
            let beds = beds.as_ref().map(|beds| Bedding { pile: beds.pile(), bottom: &bottom });
            // With sediment, the cut must be divided into sediment and rock, which needs the ground before it.
            let before = terrain.loose.as_ref().map(|_| terrain.ground.clone());
            let cut = slopes::limit_slopes(&mut terrain.ground, limit, beds, grid.cell, bounds)?;
            match (&before, &mut terrain.loose) {
                (Some(before), Some(loose)) => {
                    slopes::book_erosion(before, &mut terrain.ground, loose, Guards::default())
                }
                _ => Ok(cut),
            }
        });
        terrain.nodata = nodata;
        let cut = i128::from(cut?);
        budget += MassBalance { eroded: cut, exported: cut, ..MassBalance::default() };
        Ok(budget)
    }
}
