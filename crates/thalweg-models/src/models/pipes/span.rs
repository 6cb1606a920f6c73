//! The stages of a step that move water through one row of pipes, working on the ring buffers of recent rows.

use crate::models::pipes::plan::StepInputs;
use crate::models::pipes::rows::{RowRing, allocate_row};
use crate::models::pipes::water::{self, Pipe, PipeEnds, PipeNeighbours};
use thalweg_core::terrain::height::UNITS_F32;

/// The ring buffers and temporary rows of a band's pass. The length of each ring follows from the stages that read it
/// (see [`PipeBand`](crate::models::pipes::band::PipeBand)).
pub struct BandBuffers {
    /// The elevation in height units.
    pub ground: RowRing<i32>,
    /// The depth in metres, with this step's rain.
    pub water: RowRing<f32>,
    /// Speeds and flows in the pipes: `pipes` and `flows` before the step, `speed` and `flow` after it.
    pub pipes: [RowRing<f32>; 2],
    pub flows: [RowRing<f32>; 2],
    pub speed: [RowRing<f32>; 2],
    pub flow: [RowRing<f32>; 2],
    /// The depth in metres that is moved through each pipe.
    pub moved: [RowRing<f32>; 2],
    /// The share of its outflow that each cell can supply.
    pub part: RowRing<f32>,
    /// The suspended sediment after erosion and deposition, in height units.
    pub suspended: RowRing<i32>,
    /// The suspended units that leave per flow of 1 m²/s.
    pub leaving: RowRing<f32>,
    /// The velocity eastward and southward in m/s.
    pub velocity: [RowRing<f32>; 2],
    /// The rain on the loaded row in metres.
    pub rain: Vec<f32>,
    /// One over the distance between each cell's western and eastern neighbours, in 1/units.
    pub across: Vec<f32>,
    /// Temporary rows of the bed and transport stages.
    pub floats: [Vec<f32>; 6],
    pub units: [Vec<i32>; 8],
}

impl BandBuffers {
    /// Allocates the buffers for rows of `cols` cells.
    pub fn new(cols: usize) -> Self {
        // Each ring reaches from the newest row that a stage writes to the oldest row that a later stage reads. For
        // example, row n of `ground` is loaded while the bed stage at row n − 3 still reads rows n − 4 to n − 2.
        let two = |count| [0; 2].map(|_| RowRing::new(count, cols, 0.0));
        Self {
            ground: RowRing::new(5, cols, 0),
            water: RowRing::new(4, cols, 0.0),
            pipes: two(3),
            flows: two(3),
            speed: two(2),
            flow: two(4),
            moved: two(2),
            part: RowRing::new(2, cols, 0.0),
            suspended: RowRing::new(3, cols, 0),
            leaving: RowRing::new(3, cols, 0.0),
            velocity: two(2),
            rain: allocate_row(cols, 0.0),
            across: allocate_row(cols, 0.0),
            floats: [0.0, 0.0, 1.0, 1.0, 0.0, 0.0].map(|value| allocate_row(cols, value)),
            units: [0; 8].map(|_| allocate_row(cols, 0)),
        }
    }
}

/// One pass over a range of columns.
pub struct ColumnSpan<'a> {
    pub plan: &'a StepInputs<'a>,
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

impl ColumnSpan<'_> {
    /// Returns true if any layer changes the erodibility factors, which are 1 otherwise.
    pub fn has_erosion_masks(&self) -> bool {
        let masks = &self.plan.masks;
        masks.hardness.is_some() || masks.protect.is_some() || masks.void.is_some()
    }

    /// Computes the flows in the pipes of a row that has just been loaded.
    pub fn compute_flows(&self, scratch: &mut BandBuffers, n: usize) {
        if !self.plan.law.constant {
            let sides = collect_pipe_ends(&scratch.ground, &scratch.water, n);
            for ((flows, pipes), sides) in scratch.flows.iter_mut().zip(&scratch.pipes).zip(&sides) {
                water::compute_flows(sides, pipes.row(n), flows.row_mut(n), self.width);
            }
        }
    }

    /// Computes the new speeds of a row's pipes and the flows that they would give if there were enough water.
    /// `south` marks the row beyond the southern edge, of which only the northern sides exist. Returns the number of
    /// speeds that were clamped.
    pub fn update_speeds(&self, scratch: &mut BandBuffers, n: usize, row: Option<usize>, south: bool) -> u64 {
        let BandBuffers { ground, water, pipes, flows, speed, flow, .. } = scratch;
        let (len, width) = (self.len, self.width);
        let law = &self.plan.law;
        let sides = collect_pipe_ends(ground, water, n);
        let [x, y] = flow;
        let (x, y) = (x.row_mut(n), y.row_mut(n));
        let [east, down] = speed;
        let (east, down) = (east.row_mut(n), down.row_mut(n));
        // The western sides come first. The row beyond the southern edge has none.
        let mut limited = 0;
        if row.is_some() {
            let around = PipeNeighbours {
                flow: [flows[0].western_neighbours(n), flows[0].row(n), flows[0].eastern_neighbours(n)],
                speed: [pipes[0].western_neighbours(n), pipes[0].row(n), pipes[0].eastern_neighbours(n)],
                flow_across: [n, n + 1].map(|n| [flows[1].western_neighbours(n), flows[1].row(n)]),
                speed_across: [n, n + 1].map(|n| [pipes[1].western_neighbours(n), pipes[1].row(n)]),
                adjacent_rows: [pipes[0].row(n - 1), pipes[0].row(n + 1)],
            };
            limited += water::compute_speeds(&sides[0], &around, law, [east, x], width);
            let (water, pipes) = (water.row(n), pipes[0].row(n));
            // At the ends of the row the kernel has read padding: its results there are replaced by free overfalls or
            // walls.
            x[0] = if self.ends[0] { -water::compute_overfall(water[0], -pipes[0]) } else { 0.0 };
            x[len] = if self.ends[1] { water::compute_overfall(water[len - 1], pipes[len]) } else { 0.0 };
            x[len + 1..].fill(0.0);
        } else {
            x.fill(0.0);
        }
        // The northern sides follow. An open edge is a free overfall and a closed one a wall; the other rows have
        // pipes.
        let over = |water: &[f32], pipes: &[f32], sign: f32, y: &mut [f32]| {
            for j in 0..len {
                y[j] = sign * water::compute_overfall(water[j], sign * pipes[j]);
            }
        };
        match row {
            Some(0) if self.poles[0] => over(water.row(n), pipes[1].row(n), -1.0, y),
            None if south && self.poles[1] => over(water.row(n - 1), pipes[1].row(n), 1.0, y),
            Some(0) | None => y.fill(0.0),
            Some(_) => {
                let around = PipeNeighbours {
                    flow: [n - 1, n, n + 1].map(|n| flows[1].row(n)),
                    speed: [n - 1, n, n + 1].map(|n| pipes[1].row(n)),
                    flow_across: [
                        [flows[0].row(n - 1), flows[0].row(n)],
                        [flows[0].eastern_neighbours(n - 1), flows[0].eastern_neighbours(n)],
                    ],
                    speed_across: [
                        [pipes[0].row(n - 1), pipes[0].row(n)],
                        [pipes[0].eastern_neighbours(n - 1), pipes[0].eastern_neighbours(n)],
                    ],
                    adjacent_rows: [pipes[1].western_neighbours(n), pipes[1].eastern_neighbours(n)],
                };
                limited += water::compute_speeds(&sides[1], &around, law, [down, y], width);
            }
        }
        y[len..].fill(0.0);
        // Sides next to cells without data are corrected last, whatever the kernels have computed for them.
        if let (Some(void), Some(i)) = (self.plan.masks.void, row) {
            let part = |i: usize| &void.row(i)[self.columns[0]..self.columns[1]];
            let here = part(i);
            for j in 1..len {
                apply_overfall([here[j - 1], here[j]], [water.row(n)[j - 1], water.row(n)[j]], &mut x[j]);
            }
            if i > 0 {
                let north = part(i - 1);
                for j in 0..len {
                    apply_overfall([north[j], here[j]], [water.row(n - 1)[j], water.row(n)[j]], &mut y[j]);
                }
            }
        }
        limited
    }

    /// Limits a row's flows to the water that is available. Returns the number of cells that cannot supply all of
    /// their outflow.
    pub fn limit_flows(&self, scratch: &mut BandBuffers, n: usize) -> u64 {
        let BandBuffers { water, speed, flow, moved, part, .. } = scratch;
        let (law, width) = (&self.plan.law, self.width);
        let flows = [flow[0].row(n), flow[0].eastern_neighbours(n), flow[1].row(n), flow[1].row(n + 1)];
        // Shares come before the limits, since a pipe needs those of both cells; that of the row to the north is still
        // in its ring.
        let limited = water::compute_supply_shares(water.row(n), flows, law, part.row_mut(n), width);
        let across = [[part.western_neighbours(n), part.row(n)], [part.row(n - 1), part.row(n)]];
        let depths = [[water.western_neighbours(n), water.row(n)], [water.row(n - 1), water.row(n)]];
        let pipes = speed.iter_mut().zip(flow).zip(moved);
        for (((speed, flow), moved), (shares, water)) in pipes.zip(across.into_iter().zip(depths)) {
            let mut pipe = Pipe { speed: speed.row_mut(n), flow: flow.row_mut(n), moved: moved.row_mut(n) };
            water::limit_flows(&mut pipe, shares, water, law, width);
        }
        limited
    }

    /// Returns the water in metres that leaves row `n` over the western, eastern and northern edge.
    pub fn sum_edge_outflow(&self, scratch: &BandBuffers, n: usize, row: Option<usize>) -> f64 {
        let [x, y] = &scratch.moved;
        let ends = f64::from(x.row(n)[self.len] * f32::from(u8::from(self.ends[1])))
            - f64::from(x.row(n)[0] * f32::from(u8::from(self.ends[0])));
        let north: f64 =
            if row == Some(0) { y.row(n)[..self.len].iter().map(|moved| f64::from(*moved)).sum() } else { 0.0 };
        ends - north
    }

    /// Sets the water of cells below the sea to sea level. Returns the metres that were added and the metres that
    /// were removed.
    pub fn fill_to_sea_level(&self, ground: &[i32], water: &mut [f32], void: Option<&[bool]>) -> [f64; 2] {
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
fn collect_pipe_ends<'a>(ground: &'a RowRing<i32>, water: &'a RowRing<f32>, n: usize) -> [PipeEnds<'a>; 2] {
    [
        PipeEnds {
            ground: [ground.western_neighbours(n), ground.row(n)],
            water: [water.western_neighbours(n), water.row(n)],
        },
        PipeEnds { ground: [ground.row(n - 1), ground.row(n)], water: [water.row(n - 1), water.row(n)] },
    ]
}

/// Sets the flow between two cells to a free overfall if one of them has no data, and to zero if neither has.
fn apply_overfall(void: [bool; 2], water: [f32; 2], flow: &mut f32) {
    match void {
        [false, false] => {}
        [false, true] => *flow = water::compute_overfall(water[0], 0.0),
        [true, false] => *flow = -water::compute_overfall(water[1], 0.0),
        [true, true] => *flow = 0.0,
    }
}
