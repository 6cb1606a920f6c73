//! The stepper of [`Pipes`]: distributes bands of rows over threads and sums up the mass balance.

use rayon::prelude::*;

use crate::model::{MassBalance, Stepper, Tick};
use crate::models::pipes::band::{Band, Beside, REACH, Rows, State, Sums, settle};
use crate::models::pipes::bed::Rates;
use crate::models::pipes::plan::{Masks, Plan};
use crate::models::pipes::rain::Rain;
use crate::models::pipes::span::Scratch;
use crate::models::pipes::water::Law;
use crate::models::pipes::wet::Busy;
use crate::models::pipes::{FRACTION, FlowArea, GRAVITY, PIPE_X, PIPE_Y, Pipes, Transport, VELOCITY_X, VELOCITY_Y};
use crate::process::slopes::factors;
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_core::terrain::{Cells, HARDNESS, LayerSpec, PROTECT, RAIN, SUSPENDED, WATER};
use thalweg_core::{Cell, Field, Grid, Height, Result, Terrain};
use thalweg_noise::given::springs::{SpringSource, spring_sources};

/// Returns the number of rows of a band: few enough rows for all cores to get bands, and enough for the cost of the
/// copied adjacent rows to be small.
fn band(grid: &Grid) -> usize {
    (grid.rows() / 8).clamp(128, 256)
}

/// The depth in metres below which a cell dries up when no rain falls.
const FILM: f32 = 1e-6;

/// Returns the bytes that a stepper needs in addition to the terrain: the copies of rows adjacent to bands, at 28
/// bytes per cell.
pub fn scratch(grid: &Grid) -> u64 {
    (28 * 2 * REACH * grid.cols() * grid.rows().div_ceil(band(grid))) as u64
}

/// The stepper of [`Pipes`]. It stores only values derived from the parameters; all state is in the terrain's layers.
pub struct Flow {
    model: Pipes,
    dt: f64,
    last: u32,
    law: Law,
    rates: Rates,
    skips: bool,
}

impl Flow {
    /// Creates a stepper for a grid. With `skips`, dry land is skipped, which does not change a single bit of the
    /// result.
    pub fn new(model: &Pipes, grid: &Grid, skips: bool) -> Self {
        let dt = model.time_step(grid).max(1e-9);
        let ratio = dt / grid.cell;
        let constant = model.area == FlowArea::Constant;
        let squared = |x: f64| (x * x) as f32;
        Self {
            law: Law {
                ratio: ratio as f32,
                pull: (GRAVITY * dt / model.length(grid)) as f32,
                drag: (dt * GRAVITY * model.roughness * model.roughness) as f32,
                depth: if constant { model.pipe_area / grid.cell } else { model.deepest } as f32,
                constant,
            },
            rates: Rates {
                capacity: model.capacity as f32 * UNITS_F32,
                least_slope: squared(model.min_slope),
                ramp: if model.ramp > 0.0 { (1.0 / model.ramp).min(1e30) as f32 } else { 1e30 },
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
    fn take(terrain: &mut Terrain, velocity: bool) -> Self {
        Self {
            water: float(terrain, &WATER),
            pipes: [float(terrain, &PIPE_X), float(terrain, &PIPE_Y)],
            suspended: match terrain.take(&SUSPENDED) {
                Cells::Height(field) => field,
                _ => Field::new(terrain.grid.size, Height::ZERO),
            },
            fraction: float(terrain, &FRACTION),
            velocity: velocity.then(|| [float(terrain, &VELOCITY_X), float(terrain, &VELOCITY_Y)]),
        }
    }

    fn put(self, terrain: &mut Terrain, last: bool) -> Result<()> {
        terrain.insert(&WATER, Cells::Float(self.water))?;
        if let Some([x, y]) = self.velocity {
            terrain.insert(&VELOCITY_X, Cells::Float(x))?;
            terrain.insert(&VELOCITY_Y, Cells::Float(y))?;
        }
        if last {
            return Ok(());
        }
        let [x, y] = self.pipes;
        terrain.insert(&PIPE_X, Cells::Float(x))?;
        terrain.insert(&PIPE_Y, Cells::Float(y))?;
        terrain.insert(&SUSPENDED, Cells::Height(self.suspended))?;
        terrain.insert(&FRACTION, Cells::Float(self.fraction))
    }
}

fn float(terrain: &mut Terrain, spec: &LayerSpec) -> Field<f32> {
    match terrain.take(spec) {
        Cells::Float(field) => field,
        _ => Field::new(terrain.grid.size, 0.0),
    }
}

impl Stepper for Flow {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let springs = spring_sources(terrain)?;
        if tick.step == 0 {
            terrain.check_depths(&WATER)?;
        }
        let grid = terrain.grid.clone();
        let mut state = Layers::take(terrain, self.model.velocity);
        let mut sums = Sums::default();
        if tick.step == 0 {
            sums.drained += clear_voids(terrain, &mut state.water);
        }
        if tick.step == 0 && self.model.lake {
            sums.poured += self.stand(terrain, &mut state.water);
        }
        for SpringSource { cell: Cell { row: i, col: j }, rate } in
            springs.into_iter().filter(|spring| !terrain.is_nodata(spring.cell[0], spring.cell[1]))
        {
            let water = &mut state.water[(i, j)];
            let after = *water + (rate * self.dt / grid.cell_area()).min(1e4) as f32;
            sums.poured += f64::from(after) - f64::from(*water);
            *water = after;
        }

        let rain = Rain::new(&self.model, &grid, self.dt, tick.key, tick.step);
        let [rows, cols] = grid.size;
        let band = band(&grid);
        let bands = rows.div_ceil(band);
        let layers = &terrain.layers;
        let mask = |spec: &LayerSpec| factors(layers, spec);
        let plan = Plan {
            law: self.law,
            rates: self.rates,
            stays: [(1.0 - self.model.evaporation * self.dt).max(0.0) as f32, if rain.falls() { 0.0 } else { FILM }],
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
        let near = |first: usize, last: usize| [first.saturating_sub(REACH), (last + REACH).min(rows)];
        let spans: Vec<Vec<[usize; 2]>> = (0..bands)
            .into_par_iter()
            .map(|b| {
                let [from, to] = near(b * band, ((b + 1) * band).min(rows));
                self.spans(&plan, &terrain.ground, &state, from..to)
            })
            .collect();
        // Copies of the rows on either side of each border between bands.
        let copies: Vec<[Beside; 2]> = (0..=bands)
            .into_par_iter()
            .map(|b| {
                let at = (b * band).min(rows);
                let [from, to] = near(at, at);
                let copy = |from, to| beside(&terrain.ground, loose, &state, from, to);
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
                let state = State {
                    ground: ground.next().unwrap_or_default(),
                    loose: loose.next().unwrap_or_default(),
                    water: water.next().unwrap_or_default(),
                    pipes: [x.next().unwrap_or_default(), y.next().unwrap_or_default()],
                    suspended: suspended.next().unwrap_or_default(),
                    fraction: fraction.next().unwrap_or_default(),
                };
                let here = Rows {
                    first: b * band,
                    state,
                    velocity: velocity.as_mut().map(|v| v.each_mut().map(|v| v.next().unwrap_or_default())),
                };
                work.push(Band { here, beside: [&copies[b][0], &copies[b + 1][1]], spans });
            }
        }
        let by_row: Vec<Vec<Sums>> =
            work.into_par_iter().map_init(|| Scratch::new(cols), |scratch, part| part.step(&plan, scratch)).collect();
        by_row.iter().flatten().for_each(|row| sums.add(row));

        let last = tick.step >= self.last;
        if last {
            let ground = terrain.ground.as_mut_slice().iter_mut().zip(loose.as_mut_slice());
            for ((ground, loose), suspended) in ground.zip(state.suspended.as_mut_slice()) {
                settle(suspended.0, [ground, loose, suspended], &mut sums);
            }
        }
        state.put(terrain, last)?;
        Ok(sums.budget(grid.cell_area()))
    }
}

/// Removes the water of cells without data, since everything that reaches them leaves the map. Returns the removed
/// depth in metres, summed over cells.
fn clear_voids(terrain: &Terrain, water: &mut Field<f32>) -> f64 {
    let Some(nodata) = &terrain.nodata else { return 0.0 };
    let cells = water.as_mut_slice().iter_mut().zip(nodata.as_slice()).filter(|(_, void)| **void);
    cells.map(|(depth, _)| f64::from(std::mem::take(depth))).sum()
}

impl Flow {
    /// Fills the cells below the lake's level with water. Returns the added depth in metres, summed over cells.
    fn stand(&self, terrain: &Terrain, water: &mut Field<f32>) -> f64 {
        let level = Height::saturating(self.model.lake_level).0;
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
    fn spans(
        &self,
        plan: &Plan<'_>,
        ground: &Field<Height>,
        state: &Layers,
        rows: std::ops::Range<usize>,
    ) -> Vec<[usize; 2]> {
        let cols = plan.grid.cols();
        if !self.skips || plan.rain.falls() {
            return vec![[0, cols]];
        }
        let mut busy = Busy::new(cols);
        for i in rows {
            for field in [&state.water, &state.pipes[0], &state.pipes[1]] {
                busy.mark(field.row(i));
            }
            let suspended = state.suspended.row(i);
            busy.mark_where(|j| suspended[j] != Height::ZERO);
            if let Some(sea) = plan.grid.sea_level {
                let ground = ground.row(i);
                busy.mark_where(|j| ground[j] < sea);
            }
        }
        busy.spans()
    }
}

/// Copies rows `from` to `to` (exclusive).
fn beside(ground: &Field<Height>, loose: &Field<Height>, state: &Layers, from: usize, to: usize) -> Beside {
    fn rows<T: Clone>(field: &Field<T>, from: usize, to: usize) -> Vec<T> {
        field.as_slice()[from * field.cols()..to * field.cols()].to_vec()
    }
    let state = State {
        ground: rows(ground, from, to),
        loose: rows(loose, from, to),
        water: rows(&state.water, from, to),
        pipes: [0, 1].map(|k| rows(&state.pipes[k], from, to)),
        suspended: rows(&state.suspended, from, to),
        fraction: rows(&state.fraction, from, to),
    };
    Beside { first: from, state }
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.rained += other.rained;
        self.poured += other.poured;
        self.evaporated += other.evaporated;
        self.drained += other.drained;
        self.dug += other.dug;
        self.laid += other.laid;
        self.exported += other.exported;
        self.rounded += other.rounded;
        self.limited += other.limited;
    }

    /// Converts the sums to a mass balance for cells of `area` m².
    fn budget(&self, area: f64) -> MassBalance {
        MassBalance {
            eroded: self.dug.into(),
            deposited: self.laid.into(),
            exported: self.exported.into(),
            rounded: self.rounded.into(),
            limited: self.limited,
            rained: self.rained * area,
            poured: self.poured * area,
            evaporated: self.evaporated * area,
            drained: self.drained * area,
            ..MassBalance::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Edge;
    use thalweg_core::base::rng::Key;

    #[test]
    fn passing_over_dry_land_changes_no_bit() {
        // A lake that drains down a hillside more than two bands high and a few blocks wide.
        let grid = Grid { edges: [Edge::Open; 4], ..Grid::new([280, 150], 10.0).unwrap() };
        let rough = |i: usize, j: usize| Key::new(1, "rough").cell([i as i64, j as i64]).unit();
        let ground = |i: usize, j: usize| Height::saturating(0.3 * i as f64 + 3.0 * rough(i, j));
        let mut start = Terrain::from_ground(grid.clone(), Field::generate(grid.size, ground)).unwrap();
        let lake = |i: usize, j: usize| if (150..160).contains(&i) && (70..76).contains(&j) { 8.0 } else { 0.0 };
        start.insert(&WATER, Cells::Float(Field::generate(grid.size, lake))).unwrap();
        let model = Pipes { rain: 0.0, evaporation: 0.02, seconds: 200.0, ..Pipes::default() };
        let result = |skips: bool| {
            let mut terrain = start.clone();
            let mut stepper = Flow::new(&model, &grid, skips);
            for step in 0..=stepper.last {
                stepper.step(&mut terrain, Tick { key: Key::ZERO, step }).unwrap();
            }
            terrain
        };
        let (skipped, plain) = (result(true), result(false));
        assert_eq!(skipped.fingerprints(), plain.fingerprints());
        assert_ne!(skipped.ground, start.ground);
        let wet = skipped.float(&WATER).unwrap().as_slice().iter().filter(|w| **w > 0.0).count();
        assert!(wet > 100 && wet < 20_000, "{wet} of 42000 cells: there is something to pass over");
    }
}
