//! The stepper of [`Pipes`]: distributes bands of rows over threads and sums up the mass balance.

use rayon::prelude::*;

use crate::model::{MassBalance, Stepper, Tick};
use crate::models::pipes::active_blocks::Busy;
use crate::models::pipes::band::{PipeBand, REACH};
use crate::models::pipes::bed::BedRates;
use crate::models::pipes::plan::{Masks, StepInputs};
use crate::models::pipes::rain::StepRain;
use crate::models::pipes::row_state::{AdjacentRows, BandRows, RowState};
use crate::models::pipes::sediment_stage::deposit_suspended;
use crate::models::pipes::span::BandBuffers;
use crate::models::pipes::step_totals::StepTotals;
use crate::models::pipes::water::PipeLaw;
use crate::models::pipes::{FRACTION, FlowArea, GRAVITY, PIPE_X, PIPE_Y, Pipes, Transport, VELOCITY_X, VELOCITY_Y};
use crate::process::slopes::find_float_layer;
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_core::terrain::{Cells, HARDNESS, LayerSpec, PROTECT, RAIN, SUSPENDED, WATER};
use thalweg_core::{Cell, Field, Grid, Height, Result, Terrain};
use thalweg_noise::input_tables::springs::{SpringSource, spring_sources};

/// Returns the number of rows of a band: few enough rows for all cores to get bands, and enough for the cost of the
/// copied adjacent rows to be small.
fn choose_band_rows(grid: &Grid) -> usize {
    (grid.rows() / 8).clamp(128, 256)
}

/// The depth in metres below which a cell dries up when no rain falls.
const FILM_DEPTH_M: f32 = 1e-6;

/// Returns the bytes that a stepper needs in addition to the terrain: the copies of rows adjacent to bands, at 28
/// bytes per cell.
pub fn estimate_scratch_bytes(grid: &Grid) -> u64 {
    (28 * 2 * REACH * grid.cols() * grid.rows().div_ceil(choose_band_rows(grid))) as u64
}

/// The stepper of [`Pipes`]. It stores only values derived from the parameters; all state is in the terrain's layers.
pub struct PipeStepper {
    model: Pipes,
    dt: f64,
    last: u32,
    law: PipeLaw,
    rates: BedRates,
    skips: bool,
}

impl PipeStepper {
    /// Creates a stepper for a grid. With `skips`, dry land is skipped, which does not change a single bit of the
    /// result.
    pub fn new(model: &Pipes, grid: &Grid, skips: bool) -> Self {
        // With no seconds to simulate the step would be 0, and the greatest speed dx/dt infinite.
        let dt = model.time_step(grid).max(1e-9);
        let ratio = dt / grid.cell;
        let constant = model.area == FlowArea::Constant;
        let squared = |x: f64| (x * x) as f32;
        Self {
            law: PipeLaw {
                ratio: ratio as f32,
                pull: (GRAVITY * dt / model.effective_pipe_length(grid)) as f32,
                drag: (dt * GRAVITY * model.roughness * model.roughness) as f32,
                depth: if constant { model.pipe_area / grid.cell } else { model.deepest } as f32,
                constant,
            },
            rates: BedRates {
                capacity: model.capacity as f32 * UNITS_F32,
                least_slope: squared(model.min_slope),
                ramp: if model.ramp > 0.0 { (1.0 / model.ramp).min(1e30) as f32 } else { 1e30 },
                // A share above 1 would erode or deposit more than the difference, and the load would oscillate.
                erosion: (model.erosion * dt).min(1.0) as f32,
                rock: model.rock as f32,
                deposition: (model.deposition * dt).min(1.0) as f32,
                fastest: (1.0 / ratio) as f32,
                room: ((1.0 + 1e-6) / ratio) as f32,
            },
            last: crate::model::Model::steps(model, grid).saturating_sub(1),
            model: model.clone(),
            dt,
            skips,
        }
    }
}

/// The layers of the model's state, taken out of the terrain for the length of a step.
struct Layers {
    water: Field<f32>,
    pipes: [Field<f32>; 2],
    suspended: Field<Height>,
    fraction: Field<f32>,
    velocity: Option<[Field<f32>; 2]>,
}

impl Layers {
    fn take_from(terrain: &mut Terrain, velocity: bool) -> Self {
        Self {
            water: take_float_layer(terrain, &WATER),
            pipes: [take_float_layer(terrain, &PIPE_X), take_float_layer(terrain, &PIPE_Y)],
            suspended: match terrain.take_layer(&SUSPENDED) {
                Cells::Height(field) => field,
                _ => Field::new(terrain.grid.size, Height::ZERO),
            },
            fraction: take_float_layer(terrain, &FRACTION),
            velocity: velocity
                .then(|| [take_float_layer(terrain, &VELOCITY_X), take_float_layer(terrain, &VELOCITY_Y)]),
        }
    }

    fn store_in(self, terrain: &mut Terrain, last: bool) -> Result<()> {
        terrain.insert_layer(&WATER, Cells::Float(self.water))?;
        if let Some([x, y]) = self.velocity {
            terrain.insert_layer(&VELOCITY_X, Cells::Float(x))?;
            terrain.insert_layer(&VELOCITY_Y, Cells::Float(y))?;
        }
        if last {
            return Ok(());
        }
        let [x, y] = self.pipes;
        terrain.insert_layer(&PIPE_X, Cells::Float(x))?;
        terrain.insert_layer(&PIPE_Y, Cells::Float(y))?;
        terrain.insert_layer(&SUSPENDED, Cells::Height(self.suspended))?;
        terrain.insert_layer(&FRACTION, Cells::Float(self.fraction))
    }
}

fn take_float_layer(terrain: &mut Terrain, spec: &LayerSpec) -> Field<f32> {
    match terrain.take_layer(spec) {
        Cells::Float(field) => field,
        _ => Field::new(terrain.grid.size, 0.0),
    }
}

impl Stepper for PipeStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let springs = spring_sources(terrain)?;
        if tick.step == 0 {
            terrain.check_depths(&WATER)?;
        }
        let grid = terrain.grid.clone();
        let mut state = Layers::take_from(terrain, self.model.velocity);
        let mut sums = StepTotals::default();
        if tick.step == 0 {
            sums.drained += clear_voids(terrain, &mut state.water);
        }
        if tick.step == 0 && self.model.lake {
            sums.poured += self.fill_lake(terrain, &mut state.water);
        }
        for SpringSource { cell: Cell { row: i, col: j }, rate } in
            springs.into_iter().filter(|spring| !terrain.is_nodata(spring.cell[0], spring.cell[1]))
        {
            let water = &mut state.water[(i, j)];
            // The limit of 10 km a step keeps depths finite on tiny cells with large springs.
            let after = *water + (rate * self.dt / grid.cell_area()).min(1e4) as f32;
            sums.poured += f64::from(after) - f64::from(*water);
            *water = after;
        }

        let rain = StepRain::new(&self.model, &grid, self.dt, tick.key, tick.step);
        let [rows, cols] = grid.size;
        let band = choose_band_rows(&grid);
        let bands = rows.div_ceil(band);
        let layers = &terrain.layers;
        let mask = |spec: &LayerSpec| find_float_layer(layers, spec);
        let plan = StepInputs {
            law: self.law,
            rates: self.rates,
            stays: [
                (1.0 - self.model.evaporation * self.dt).max(0.0) as f32,
                // The rain of one short step may be thinner than the film; it must be able to accumulate.
                if rain.is_raining() { 0.0 } else { FILM_DEPTH_M },
            ],
            backward: self.model.transport == Transport::Backward,
            masks: Masks {
                rain: mask(&RAIN),
                hardness: mask(&HARDNESS),
                protect: mask(&PROTECT),
                void: terrain.nodata.as_ref(),
            },
            grid: &grid,
            rain,
        };
        let loose = terrain.loose.get_or_insert_with(|| Field::new(grid.size, Height::ZERO));
        // A band reads REACH rows beyond its own, and activity there can reach it within the step.
        let near = |first: usize, last: usize| [first.saturating_sub(REACH), (last + REACH).min(rows)];
        let spans: Vec<Vec<[usize; 2]>> = (0..bands)
            .into_par_iter()
            .map(|b| {
                let [from, to] = near(b * band, ((b + 1) * band).min(rows));
                self.find_active_columns(&plan, &terrain.ground, &state, from..to)
            })
            .collect();
        // Copies of the rows on either side of each border between bands.
        let copies: Vec<[AdjacentRows; 2]> = (0..=bands)
            .into_par_iter()
            .map(|b| {
                let at = (b * band).min(rows);
                let [from, to] = near(at, at);
                let copy = |from, to| copy_adjacent_rows(&terrain.ground, loose, &state, from, to);
                [copy(from, at), copy(at, to)]
            })
            .collect();
        let mut work = Vec::with_capacity(bands);
        // Split every layer into one mutable chunk per band.
        {
            let size = band * cols;
            let mut ground = terrain.ground.as_mut_slice().chunks_mut(size);
            let mut loose = loose.as_mut_slice().chunks_mut(size);
            let mut water = state.water.as_mut_slice().chunks_mut(size);
            let [x, y] = &mut state.pipes;
            let (mut x, mut y) = (x.as_mut_slice().chunks_mut(size), y.as_mut_slice().chunks_mut(size));
            let mut suspended = state.suspended.as_mut_slice().chunks_mut(size);
            let mut fraction = state.fraction.as_mut_slice().chunks_mut(size);
            let mut velocity =
                state.velocity.as_mut().map(|velocity| velocity.each_mut().map(|v| v.as_mut_slice().chunks_mut(size)));
            for (b, spans) in spans.into_iter().enumerate() {
                let state = RowState {
                    ground: ground.next().unwrap_or_default(),
                    loose: loose.next().unwrap_or_default(),
                    water: water.next().unwrap_or_default(),
                    pipes: [x.next().unwrap_or_default(), y.next().unwrap_or_default()],
                    suspended: suspended.next().unwrap_or_default(),
                    fraction: fraction.next().unwrap_or_default(),
                };
                let here = BandRows {
                    first: b * band,
                    state,
                    velocity: velocity.as_mut().map(|v| v.each_mut().map(|v| v.next().unwrap_or_default())),
                };
                work.push(PipeBand { here, adjacent_rows: [&copies[b][0], &copies[b + 1][1]], spans });
            }
        }
        // Sums are kept by row and added in the order of rows: sums of floats depend on their order, and threads have
        // none.
        let by_row: Vec<Vec<StepTotals>> = work
            .into_par_iter()
            .map_init(|| BandBuffers::new(cols), |scratch, part| part.run_step(&plan, scratch))
            .collect();
        by_row.iter().flatten().for_each(|row| sums.add(row));

        let last = tick.step >= self.last;
        if last {
            // At the end of the run what is still suspended is deposited where it is.
            let ground = terrain.ground.as_mut_slice().iter_mut().zip(loose.as_mut_slice());
            for ((ground, loose), suspended) in ground.zip(state.suspended.as_mut_slice()) {
                deposit_suspended(suspended.0, [ground, loose, suspended], &mut sums);
            }
        }
        state.store_in(terrain, last)?;
        Ok(sums.to_mass_balance(grid.cell_area()))
    }
}

/// Removes the water of cells without data, since everything that reaches them leaves the map. Returns the removed
/// depth in metres, summed over cells.
fn clear_voids(terrain: &Terrain, water: &mut Field<f32>) -> f64 {
    let Some(nodata) = &terrain.nodata else { return 0.0 };
    let cells = water.as_mut_slice().iter_mut().zip(nodata.as_slice()).filter(|(_, void)| **void);
    cells.map(|(depth, _)| f64::from(std::mem::take(depth))).sum()
}

impl PipeStepper {
    /// Fills the cells below the lake's level with water. Returns the added depth in metres, summed over cells.
    fn fill_lake(&self, terrain: &Terrain, water: &mut Field<f32>) -> f64 {
        let level = Height::from_metres_clamped(self.model.lake_level).0;
        let [rows, cols] = terrain.grid.size;
        let mut poured = 0.0;
        for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
            let depth = (level - terrain.ground[(i, j)].0) as f32 * (1.0 / UNITS_F32);
            let stands = &mut water[(i, j)];
            if depth > *stands && !terrain.is_nodata(i, j) {
                poured += f64::from(depth) - f64::from(*stands);
                *stands = depth;
            }
        }
        poured
    }

    /// Returns the column ranges that contain any activity in a band; `rows` are the band's rows and those adjacent
    /// to it.
    fn find_active_columns(
        &self,
        plan: &StepInputs<'_>,
        ground: &Field<Height>,
        state: &Layers,
        rows: std::ops::Range<usize>,
    ) -> Vec<[usize; 2]> {
        let cols = plan.grid.cols();
        // Rain makes every column active. Otherwise water, motion, suspended sediment and the sea do.
        if !self.skips || plan.rain.is_raining() {
            return vec![[0, cols]];
        }
        let mut busy = Busy::new(cols);
        for i in rows {
            for field in [&state.water, &state.pipes[0], &state.pipes[1]] {
                busy.mark_row(field.row(i));
            }
            let suspended = state.suspended.row(i);
            busy.mark_where(|j| suspended[j] != Height::ZERO);
            if let Some(sea) = plan.grid.sea_level {
                let ground = ground.row(i);
                busy.mark_where(|j| ground[j] < sea);
            }
        }
        busy.column_ranges()
    }
}

/// Copies rows `from` to `to` (exclusive).
fn copy_adjacent_rows(
    ground: &Field<Height>,
    loose: &Field<Height>,
    state: &Layers,
    from: usize,
    to: usize,
) -> AdjacentRows {
    fn copy_rows<T: Clone>(field: &Field<T>, from: usize, to: usize) -> Vec<T> {
        field.as_slice()[from * field.cols()..to * field.cols()].to_vec()
    }
    let state = RowState {
        ground: copy_rows(ground, from, to),
        loose: copy_rows(loose, from, to),
        water: copy_rows(&state.water, from, to),
        pipes: [0, 1].map(|k| copy_rows(&state.pipes[k], from, to)),
        suspended: copy_rows(&state.suspended, from, to),
        fraction: copy_rows(&state.fraction, from, to),
    };
    AdjacentRows { first: from, state }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Edge;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn passing_over_dry_land_changes_no_bit() {
        // A lake that drains down a hillside more than two bands high and a few blocks wide.
        let grid = Grid { edges: [Edge::Open; 4], ..Grid::new([280, 150], 10.0).unwrap() };
        let rough = |i: usize, j: usize| RandomKey::new(1, "rough").for_cell([i as i64, j as i64]).uniform_unit();
        let ground = |i: usize, j: usize| Height::from_metres_clamped(0.3 * i as f64 + 3.0 * rough(i, j));
        let mut start = Terrain::from_ground(grid.clone(), Field::from_fn(grid.size, ground)).unwrap();
        let lake = |i: usize, j: usize| if (150..160).contains(&i) && (70..76).contains(&j) { 8.0 } else { 0.0 };
        start.insert_layer(&WATER, Cells::Float(Field::from_fn(grid.size, lake))).unwrap();
        let model = Pipes { rain: 0.0, evaporation: 0.02, seconds: 200.0, ..Pipes::default() };
        let result = |skips: bool| {
            let mut terrain = start.clone();
            let mut stepper = PipeStepper::new(&model, &grid, skips);
            for step in 0..=stepper.last {
                stepper.run_step(&mut terrain, Tick { key: RandomKey::ZERO, step }).unwrap();
            }
            terrain
        };
        let (skipped, plain) = (result(true), result(false));
        assert_eq!(skipped.fingerprints(), plain.fingerprints());
        assert_ne!(skipped.ground, start.ground);
        let wet = skipped.float_layer(&WATER).unwrap().as_slice().iter().filter(|w| **w > 0.0).count();
        assert!(wet > 100 && wet < 20_000, "{wet} of 42000 cells: there is something to pass over");
    }
}
