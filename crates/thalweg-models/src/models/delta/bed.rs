//! Erosion and deposition along the channels: beds, point bars inside bends, levees and the mud of floods.

use rayon::prelude::*;

use crate::models::delta::Delta;
use crate::models::delta::arms::Segment;
use crate::models::delta::course::nearest_on_segment;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Grid, Height, Point, Terrain};
use thalweg_flow::hydraulic;

/// Marks a cell without a channel nearby.
const NONE: u32 = u32::MAX;

/// Number of rows searched together.
const BAND: usize = 16;

/// Minimum half width of a channel in cells. A narrower channel is drawn at this width and correspondingly shallower.
const MIN_HALF_WIDTH_CELLS: f64 = 1.1;

/// Maximum distance in cells between a channel's centre line and the centre of a cell that it is taken to pass.
const MIDDLE: f64 = 0.72;

/// Minimum half width in cells at which a channel is drawn with steep banks.
const FLAT: f64 = 5.0;

/// Extent of levees and mud, in multiples of the distance over which they fall to a third.
const REACHES: f64 = 2.5;

/// Maximum deposition by floods per year next to the channel: a constant in metres, and a share of the missing height,
/// since deep depressions trap the most.
const FLOOD: [f64; 2] = [0.01, 0.005];

/// Years in which the point bar inside a bend grows by two thirds of its missing height, its width in half channel
/// widths, and its height in levee heights.
const BAR: [f64; 3] = [12.0, 1.6, 0.3];

/// For each cell the nearest channel segment, and the distance in metres to its bank (negative in the channel).
pub struct NearestChannel {
    off: Vec<f32>,
    segment: Vec<u32>,
}

/// The requested change of a cell in units: of its bed (negative for erosion), by a bar, and by floods.
#[derive(Clone, Copy, Default)]
struct BedChange {
    bed: i32,
    bar: i32,
    flood: i32,
}

/// Units eroded and units deposited.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChannelExchange {
    pub dug: i64,
    pub deposited: i64,
}

/// Returns the half width at which a channel is drawn on cells of this size.
fn drawn_half_width(half: f64, cell: f64) -> f64 {
    half.max(MIN_HALF_WIDTH_CELLS * cell)
}

/// Returns the size of an arm's levees relative to those of the whole river: the square root of its relative width.
fn relative_levee_size(flow: f64, discharge: f64) -> f64 {
    (flow / discharge.max(1e-9)).clamp(0.0, 1.0).sqrt().sqrt()
}

impl NearestChannel {
    /// Finds the channel nearest to every cell, as far as levees with the length scale `reach` (m) extend.
    pub fn from_segments(grid: &Grid, segments: &[Segment], reach: f64, discharge: f64) -> Self {
        let [rows, cols] = grid.size;
        let mut near = Self { off: vec![f32::INFINITY; rows * cols], segment: vec![NONE; rows * cols] };
        let bands = near.off.par_chunks_mut(BAND * cols).zip(near.segment.par_chunks_mut(BAND * cols)).enumerate();
        // Each band of rows goes through all segments in order, so that ties have the same winner on any number of
        // threads.
        bands.for_each(|(band, (off, segment))| {
            let top = band * BAND;
            for (number, part) in segments.iter().enumerate() {
                let half = part.half.map(|half| drawn_half_width(half, grid.cell));
                let far = half[0].max(half[1])
                    + REACHES * reach * relative_levee_size(part.flow[0].max(part.flow[1]), discharge);
                let span = |axis: usize, count: usize| {
                    let [a, b] = part.ends.map(|end| end.axis_coordinate(axis));
                    // Half a cell is subtracted, since a cell's centre is at (index + 0.5) cells.
                    let low = ((a.min(b) - far) / grid.cell - 0.5).ceil().max(0.0) as usize;
                    low..(((a.max(b) + far) / grid.cell + 0.5).floor().max(0.0) as usize).min(count)
                };
                let (high, wide) = (span(0, rows), span(1, cols));
                if wide.is_empty() {
                    continue;
                }
                for i in high.start.max(top)..high.end.min(top + off.len() / cols) {
                    let slots = (i - top) * cols + wide.start..(i - top) * cols + wide.end;
                    let from = Point { x: (wide.start as f64 + 0.5) * grid.cell, y: (i as f64 + 0.5) * grid.cell };
                    assign_segment_in_row(
                        &mut off[slots.clone()],
                        &mut segment[slots],
                        number as u32,
                        part.ends,
                        half,
                        from,
                        grid.cell,
                    );
                }
            }
        });
        near
    }

    /// Returns the discharge of the channel whose centre line passes cell `k`, and 0 elsewhere: of a channel wider
    /// than a cell only the middle carries the discharge.
    pub fn discharge_at_cell(&self, grid: &Grid, segments: &[Segment], k: usize) -> f64 {
        let Some(part) = segments.get(self.segment[k] as usize).filter(|_| self.off[k] < 0.0) else { return 0.0 };
        let [i, j] = [k / grid.size[1], k % grid.size[1]];
        let place = Point { x: (j as f64 + 0.5) * grid.cell, y: (i as f64 + 0.5) * grid.cell };
        let (t, square) = nearest_on_segment(place, part.ends[0], part.ends[1]);
        // Squares are compared, which saves the root.
        let line = (MIDDLE * grid.cell) * (MIDDLE * grid.cell);
        if square <= line { part.flow[0] + t * (part.flow[1] - part.flow[0]) } else { 0.0 }
    }
}

/// Assigns a segment to those cells of a row, starting at `from`, that are closer to its bank than to any bank so far.
fn assign_segment_in_row(
    off: &mut [f32],
    segment: &mut [u32],
    number: u32,
    [a, b]: [Point; 2],
    half: [f64; 2],
    from: Point,
    cell: f64,
) {
    let [y, x] = [from.y - a.y, from.x - a.x].map(|metres| metres as f32);
    let [segment_y, segment_x] = [b.y - a.y, b.x - a.x].map(|metres| metres as f32);
    let square = segment_y * segment_y + segment_x * segment_x;
    let inverse = if square > 0.0 { 1.0 / square } else { 0.0 };
    let (cell, width, wider) = (cell as f32, half[0] as f32, (half[1] - half[0]) as f32);
    for (n, (off, segment)) in off.iter_mut().zip(segment).enumerate() {
        // Branch-free so that the compiler can vectorize it.
        let x = x + n as i32 as f32 * cell;
        let t = ((y * segment_y + x * segment_x) * inverse).clamp(0.0, 1.0);
        let [off_y, off_x] = [y - t * segment_y, x - t * segment_x];
        let bank = (off_y * off_y + off_x * off_x).sqrt() - (width + t * wider);
        let nearer = bank < *off;
        *off = if nearer { bank } else { *off };
        *segment = if nearer { number } else { *segment };
    }
}

/// Erodes and fills beds, and builds bars and levees from a load in units. Eroded material is added to the load. Beds
/// come first, then bars; floods receive at most the share `overbank` of what is left.
pub fn build_channels_and_levees(
    terrain: &mut Terrain,
    model: &Delta,
    sea: Height,
    segments: &[Segment],
    near: &NearestChannel,
    load: i64,
) -> ChannelExchange {
    let years = model.step_years();
    let cols = terrain.grid.size[1];
    let changes: Vec<BedChange> = (0..terrain.grid.len())
        .into_par_iter()
        .map(|k| match segments.get(near.segment[k] as usize) {
            Some(part) => {
                let cell = Cell::new(k / cols, k % cols);
                compute_requested_change(terrain, model, sea, part, f64::from(near.off[k]), cell, years)
            }
            None => BedChange::default(),
        })
        .collect();
    // Beds are eroded before anything is deposited, since what they yield is part of the load.
    let mut moved = ChannelExchange::default();
    for (k, change) in changes.iter().enumerate().filter(|(_, change)| change.bed < 0) {
        moved.dug += lower_cell(terrain, k, -i64::from(change.bed));
    }
    let mut remaining = load.saturating_add(moved.dug);
    // Requests are whole units, so that their sums are exact and the load is never exceeded.
    let sums = changes.iter().fold([0i64; 3], |[bed, bar, flood], change| {
        [bed + i64::from(change.bed.max(0)), bar + i64::from(change.bar), flood + i64::from(change.flood)]
    });
    let shares = [1.0, 1.0, model.overbank];
    // Beds are filled first, then bars and then floods: each kind finds what the one before has left.
    for (kind, (sum, share)) in sums.into_iter().zip(shares).enumerate() {
        // If the requests exceed what is available, all are reduced by the same factor.
        let available = share * remaining.max(0) as f64;
        let part = if sum as f64 > available { available / sum as f64 } else { 1.0 };
        let mut deposited = 0;
        for (k, change) in changes.iter().enumerate() {
            let requested = [change.bed, change.bar, change.flood][kind];
            if requested > 0 {
                deposited += raise_cell(terrain, k, (f64::from(requested) * part) as i64);
            }
        }
        remaining -= deposited;
        moved.deposited += deposited;
    }
    moved
}

/// Returns the change that a channel with its bank `off` metres away requests for a cell.
fn compute_requested_change(
    terrain: &Terrain,
    model: &Delta,
    sea: Height,
    part: &Segment,
    off: f64,
    at: Cell,
    years: f64,
) -> BedChange {
    let cell = terrain.grid.cell;
    let place = Point { x: (at.col as f64 + 0.5) * cell, y: (at.row as f64 + 0.5) * cell };
    let (t, _) = nearest_on_segment(place, part.ends[0], part.ends[1]);
    let mix = |pair: [f64; 2]| pair[0] + t * (pair[1] - pair[0]);
    let (flow, half) = (mix(part.flow), mix(part.half));
    let depth = f64::from(hydraulic::channel_depth(flow as f32));
    let height = f64::from(terrain.ground[at].0 - sea.0) / UNITS;
    let level = mix(part.level);
    let units = |metres: f64| (metres * UNITS).clamp(f64::from(Height::MIN.0), f64::from(Height::MAX.0)) as i32;
    let wide = drawn_half_width(half, cell);
    if off < 0.0 {
        // The bed is flat across and steep at the banks. Where cells are too wide to show that, it is a parabola of
        // the same cross-sectional area.
        let across = ((off + wide) / wide).clamp(0.0, 1.0);
        let square = across * across;
        let shape = if half < FLAT * cell { 1.5 * (1.0 - square) } else { 1.25 * (1.0 - square * square) };
        let bed = level - depth * (half / wide) * shape;
        return BedChange { bed: units(bed - height), ..BedChange::default() };
    }
    // Levees decay exponentially from the bank; `last` is subtracted so that they reach zero at their outer limit.
    let stature = relative_levee_size(flow, model.discharge);
    let last = libm::exp(-REACHES);
    let fade = ((libm::exp(-off / (model.reach * stature).max(1e-9)) - last) / (1.0 - last)).max(0.0);
    let lag = |time: f64| 1.0 - libm::exp(-years / time);
    let bar = if off < BAR[1] * half {
        let missing = level + BAR[2] * model.levee * stature - height;
        (missing * lag(BAR[0])).max(0.0)
    } else {
        0.0
    };
    // Levees rise from the water's edge over a quarter of the width.
    let edge = (off / (0.5 * half).max(1e-9)).min(1.0);
    // The bar of this step counts as ground already, so that bar and flood together fill no more than is missing.
    let missing = level + model.levee * stature * fade * edge - height - bar;
    let flood = (missing * lag(0.36 * model.avulsion)).min((FLOOD[0] + FLOOD[1] * missing) * years) * fade;
    BedChange { bed: 0, bar: units(bar), flood: units(flood.max(0.0)) }
}

/// Raises a cell by sediment, up to the highest elevation that can be stored. Returns the change in units.
pub fn raise_cell(terrain: &mut Terrain, k: usize, by: i64) -> i64 {
    shift_elevation(terrain, k, by.max(0))
}

/// Lowers a cell, sediment first. Returns the change in units.
fn lower_cell(terrain: &mut Terrain, k: usize, by: i64) -> i64 {
    -shift_elevation(terrain, k, -by.max(0))
}

/// Changes the ground and the sediment of a cell within their ranges. Returns the change of the ground in units.
fn shift_elevation(terrain: &mut Terrain, k: usize, by: i64) -> i64 {
    if by == 0 || terrain.nodata.as_ref().is_some_and(|mask| mask[k]) {
        return 0;
    }
    let ground = &mut terrain.ground[k];
    let to = (i64::from(ground.0) + by).clamp(Height::MIN.0.into(), Height::MAX.0.into());
    // Callers book this change, which the range of heights allows, and not the one that they asked for.
    let by = to - i64::from(ground.0);
    ground.0 = to as i32;
    if let Some(loose) = &mut terrain.loose {
        let loose = &mut loose[k];
        loose.0 = (i64::from(loose.0) + by).clamp(0, i32::MAX.into()) as i32;
    }
    by
}
