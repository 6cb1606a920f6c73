//! The stages of a step that move water through one row of pipes, working on the ring buffers of recent rows.

use crate::models::pipes::plan::Plan;
use crate::models::pipes::rows::{Ring, padded};
use crate::models::pipes::water::{self, Around, Pipe, Sides};
use thalweg_core::terrain::height::UNITS_F32;

/// The ring buffers and temporary rows of a band's pass. The length of each ring follows from the stages that read it
/// (see [`Band`](crate::models::pipes::band::Band)).
pub struct Scratch {
    /// The elevation in height units.
    pub ground: Ring<i32>,
    /// The depth in metres, with this step's rain.
    pub water: Ring<f32>,
    /// Speeds and flows in the pipes: `pipes` and `flows` before the step, `speed` and `flow` after it.
    pub pipes: [Ring<f32>; 2],
    pub flows: [Ring<f32>; 2],
    pub speed: [Ring<f32>; 2],
    pub flow: [Ring<f32>; 2],
    /// The depth in metres that is moved through each pipe.
    pub moved: [Ring<f32>; 2],
    /// The share of its outflow that each cell can supply.
    pub part: Ring<f32>,
    /// The suspended sediment after erosion and deposition, in height units.
    pub suspended: Ring<i32>,
    /// The suspended units that leave per flow of 1 m²/s.
    pub leaving: Ring<f32>,
    /// The velocity eastward and southward in m/s.
    pub velocity: [Ring<f32>; 2],
    /// The rain on the loaded row in metres.
    pub rain: Vec<f32>,
    /// One over the distance between each cell's western and eastern neighbours, in 1/units.
    pub across: Vec<f32>,
    /// Temporary rows of the bed and transport stages.
    pub floats: [Vec<f32>; 6],
    pub units: [Vec<i32>; 8],
}

impl Scratch {
    /// Allocates the buffers for rows of `cols` cells.
    pub fn new(cols: usize) -> Self {
        // Each ring reaches from the newest row that a stage writes to the oldest row that a later stage reads. For
        // example, row n of `ground` is loaded while the bed stage at row n − 3 still reads rows n − 4 to n − 2.
        let two = |count| [0; 2].map(|_| Ring::new(count, cols, 0.0));
        Self {
            ground: Ring::new(5, cols, 0),
            water: Ring::new(4, cols, 0.0),
            pipes: two(3),
            flows: two(3),
            speed: two(2),
            flow: two(4),
            moved: two(2),
            part: Ring::new(2, cols, 0.0),
            suspended: Ring::new(3, cols, 0),
            leaving: Ring::new(3, cols, 0.0),
            velocity: two(2),
            rain: padded(cols, 0.0),
            across: padded(cols, 0.0),
            floats: [0.0, 0.0, 1.0, 1.0, 0.0, 0.0].map(|value| padded(cols, value)),
            units: [0; 8].map(|_| padded(cols, 0)),
        }
    }
}

/// One pass over a range of columns.
pub struct Span<'a> {
    pub plan: &'a Plan<'a>,
    /// The columns [from, to) of the map.
    pub columns: [usize; 2],
    pub len: usize,
    /// The number of columns that kernels process.
    pub width: usize,
    /// `ends` is true where water can leave over the western and the eastern end; `poles` over the northern and the
    /// southern edge.
    pub ends: [bool; 2],
    pub poles: [bool; 2],
}

impl Span<'_> {
    /// Returns true if any layer changes the erodibility factors, which are 1 otherwise.
    pub fn masked(&self) -> bool {
        let masks = &self.plan.masks;
        masks.hardness.is_some() || masks.protect.is_some() || masks.void.is_some()
    }

    /// Computes the flows in the pipes of a row that has just been loaded.
    pub fn flows(&self, scratch: &mut Scratch, n: usize) {
        if !self.plan.law.constant {
            let sides = sides(&scratch.ground, &scratch.water, n);
            for ((flows, pipes), sides) in scratch.flows.iter_mut().zip(&scratch.pipes).zip(&sides) {
                water::flows(sides, pipes.at(n), flows.at_mut(n), self.width);
            }
        }
    }

    /// Computes the new speeds of a row's pipes and the flows that they would give if there were enough water.
    /// `south` marks the row beyond the southern edge, of which only the northern sides exist. Returns the number of
    /// speeds that were clamped.
    pub fn pull(&self, scratch: &mut Scratch, n: usize, row: Option<usize>, south: bool) -> u64 {
        let Scratch { ground, water, pipes, flows, speed, flow, .. } = scratch;
        let (len, width) = (self.len, self.width);
        let law = &self.plan.law;
        let sides = sides(ground, water, n);
        let [x, y] = flow;
        let (x, y) = (x.at_mut(n), y.at_mut(n));
        let [east, down] = speed;
        let (east, down) = (east.at_mut(n), down.at_mut(n));
        let mut held = 0;
        if row.is_some() {
            let around = Around {
                flow: [flows[0].west(n), flows[0].at(n), flows[0].east(n)],
                speed: [pipes[0].west(n), pipes[0].at(n), pipes[0].east(n)],
                flow_across: [n, n + 1].map(|n| [flows[1].west(n), flows[1].at(n)]),
                speed_across: [n, n + 1].map(|n| [pipes[1].west(n), pipes[1].at(n)]),
                beside: [pipes[0].at(n - 1), pipes[0].at(n + 1)],
            };
            held += water::pull(&sides[0], &around, law, [east, x], width);
            let (water, pipes) = (water.at(n), pipes[0].at(n));
            x[0] = if self.ends[0] { -water::overfall(water[0], -pipes[0]) } else { 0.0 };
            x[len] = if self.ends[1] { water::overfall(water[len - 1], pipes[len]) } else { 0.0 };
            x[len + 1..].fill(0.0);
        } else {
            x.fill(0.0);
        }
        let over = |water: &[f32], pipes: &[f32], sign: f32, y: &mut [f32]| {
            for j in 0..len {
                y[j] = sign * water::overfall(water[j], sign * pipes[j]);
            }
        };
        match row {
            Some(0) if self.poles[0] => over(water.at(n), pipes[1].at(n), -1.0, y),
            None if south && self.poles[1] => over(water.at(n - 1), pipes[1].at(n), 1.0, y),
            Some(0) | None => y.fill(0.0),
            Some(_) => {
                let around = Around {
                    flow: [n - 1, n, n + 1].map(|n| flows[1].at(n)),
                    speed: [n - 1, n, n + 1].map(|n| pipes[1].at(n)),
                    flow_across: [[flows[0].at(n - 1), flows[0].at(n)], [flows[0].east(n - 1), flows[0].east(n)]],
                    speed_across: [[pipes[0].at(n - 1), pipes[0].at(n)], [pipes[0].east(n - 1), pipes[0].east(n)]],
                    beside: [pipes[1].west(n), pipes[1].east(n)],
                };
                held += water::pull(&sides[1], &around, law, [down, y], width);
            }
        }
        y[len..].fill(0.0);
        if let (Some(void), Some(i)) = (self.plan.masks.void, row) {
            let part = |i: usize| &void.row(i)[self.columns[0]..self.columns[1]];
            let here = part(i);
            for j in 1..len {
                falls([here[j - 1], here[j]], [water.at(n)[j - 1], water.at(n)[j]], &mut x[j]);
            }
            if i > 0 {
                let north = part(i - 1);
                for j in 0..len {
                    falls([north[j], here[j]], [water.at(n - 1)[j], water.at(n)[j]], &mut y[j]);
                }
            }
        }
        held
    }

    /// Limits a row's flows to the water that is available. Returns the number of cells that cannot supply all of
    /// their outflow.
    pub fn share(&self, scratch: &mut Scratch, n: usize) -> u64 {
        let Scratch { water, speed, flow, moved, part, .. } = scratch;
        let (law, width) = (&self.plan.law, self.width);
        let flows = [flow[0].at(n), flow[0].east(n), flow[1].at(n), flow[1].at(n + 1)];
        let held = water::limit(water.at(n), flows, law, part.at_mut(n), width);
        let across = [[part.west(n), part.at(n)], [part.at(n - 1), part.at(n)]];
        let depths = [[water.west(n), water.at(n)], [water.at(n - 1), water.at(n)]];
        let pipes = speed.iter_mut().zip(flow).zip(moved);
        for (((speed, flow), moved), (parts, water)) in pipes.zip(across.into_iter().zip(depths)) {
            let mut pipe = Pipe { speed: speed.at_mut(n), flow: flow.at_mut(n), moved: moved.at_mut(n) };
            water::share(&mut pipe, parts, water, law, width);
        }
        held
    }

    /// Returns the water in metres that leaves row `n` over the western, eastern and northern edge.
    pub fn drained(&self, scratch: &Scratch, n: usize, row: Option<usize>) -> f64 {
        let [x, y] = &scratch.moved;
        let ends = f64::from(x.at(n)[self.len] * f32::from(u8::from(self.ends[1])))
            - f64::from(x.at(n)[0] * f32::from(u8::from(self.ends[0])));
        let north: f64 =
            if row == Some(0) { y.at(n)[..self.len].iter().map(|moved| f64::from(*moved)).sum() } else { 0.0 };
        ends - north
    }

    /// Sets the water of cells below the sea to sea level. Returns the metres that were added and the metres that
    /// were removed.
    pub fn sea(&self, ground: &[i32], water: &mut [f32], void: Option<&[bool]>) -> [f64; 2] {
        let [mut poured, mut taken] = [0.0, 0.0];
        let Some(sea) = self.plan.grid.sea_level else { return [poured, taken] };
        for j in (0..self.len).filter(|j| ground[*j] < sea.0 && void.is_none_or(|void| !void[*j])) {
            let level = (sea.0 - ground[j]) as f32 * (1.0 / UNITS_F32);
            let change = f64::from(level) - f64::from(water[j]);
            poured += change.max(0.0);
            taken += (-change).max(0.0);
            water[j] = level;
        }
        [poured, taken]
    }
}

/// Returns the cells on either side of a row's western pipes and of its northern pipes.
fn sides<'a>(ground: &'a Ring<i32>, water: &'a Ring<f32>, n: usize) -> [Sides<'a>; 2] {
    [
        Sides { ground: [ground.west(n), ground.at(n)], water: [water.west(n), water.at(n)] },
        Sides { ground: [ground.at(n - 1), ground.at(n)], water: [water.at(n - 1), water.at(n)] },
    ]
}

/// Sets the flow between two cells to a free overfall if one of them has no data, and to zero if neither has.
fn falls(void: [bool; 2], water: [f32; 2], flow: &mut f32) {
    match void {
        [false, false] => {}
        [false, true] => *flow = water::overfall(water[0], 0.0),
        [true, false] => *flow = -water::overfall(water[1], 0.0),
        [true, true] => *flow = 0.0,
    }
}
