//! The effect of the ground on the wind: shadows behind high ground, and acceleration over ground that rises above its
//! surroundings.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::models::dunes::hills::{average_squares, compute_wind_over_hills, interpolate_means};
use crate::models::dunes::{Dunes, MEMORY};
use thalweg_core::{Field, Terrain};

/// Name of the plane [`WindField::shade`].
pub(super) const SHADE: &str = "shade";
/// Name of the plane [`WindField::lift`].
pub(super) const LIFT: &str = "lift";
/// Name of the plane [`WindField::turn`].
pub(super) const TURN: &str = "turn";

/// The wind of a step, cell by cell.
pub(super) struct WindField {
    /// Elevation in metres up to which the cell is in the shadow of ground upwind.
    pub(super) shade: Field<f32>,
    /// Factor of a hop's length from here, relative to a plain.
    pub(super) lift: Field<f32>,
    /// Tangent of the angle by which the wind turns to its left, around high ground.
    pub(super) turn: Field<f32>,
}

/// Minimum and maximum factor by which the wind's speed changes a hop.
pub(super) const HOP_FACTOR_RANGE: [f32; 2] = [0.25, 3.0];

/// Maximum tangent of the angle by which hills turn the wind.
pub(super) const MAX_TURN_TANGENT: f32 = 0.75;

/// Weight of the flow over hills in a hop's length and direction, relative to `speed_up`.
const HILL_FLOW_WEIGHT: f32 = 0.42;

/// Shadow elevation where nothing is upwind.
const NO_SHADOW: f32 = -1e9;

impl WindField {
    /// Sweeps over the ground along the wind, which blows southward and eastward by `wind`, row by row across it. The
    /// values upwind of a cell are interpolated between the two nearest cells of the previous row. The world is
    /// extended at its sides by its outermost values.
    pub(super) fn new(terrain: &Terrain, wind: [f64; 2], model: &Dunes) -> Self {
        let grid = &terrain.grid;
        // If the wind blows mainly along rows, the terrain is transposed, and the sweep's rows are its columns.
        let turned = wind[1].abs() > wind[0].abs();
        let [ahead, aside] = if turned { [wind[1], wind[0]] } else { wind };
        let ground = ground_in_metres(terrain);
        let heights = if turned { ground.transposed() } else { ground.clone() };
        let [rows, cols] = heights.size();
        // This is the distance along the wind from one row of the sweep to the next, in metres.
        let step = grid.cell / ahead.abs();
        let memory = MEMORY * model.hop;
        let sweep = WindSweep {
            beside: if aside * ahead.signum() > 0.0 { 0 } else { 2 },
            // This is at most 1, since `ahead` is the larger component: two cells of the previous row enclose the point
            // upwind.
            part: (aside / ahead).abs() as f32,
            fall: (libm::tan(model.shadow.to_radians()) * step) as f32,
            keep: libm::exp(-step / memory) as f32,
            lift: (model.speed_up / memory) as f32,
        };
        let mut shade = Field::new([rows, cols], NO_SHADOW);
        let mut lift = Field::new([rows, cols], 1.0);
        // Shadow elevations and means of the previous row, with the values at its ends repeated as padding.
        // The NaN of the first mean is replaced by the ground of the first row, so a plain begins in balance.
        let (mut crest, mut mean) = (vec![NO_SHADOW; cols + 2], vec![f32::NAN; cols + 2]);
        for n in 0..rows {
            // Rows are visited downwind, since each one needs the finished row upwind of it.
            let r = if ahead > 0.0 { n } else { rows - 1 - n };
            sweep.sweep_row(heights.row(r), [&mut crest, &mut mean], shade.row_mut(r), lift.row_mut(r));
        }
        if turned {
            (shade, lift) = (shade.transposed(), lift.transposed());
        }
        let turn = Self::deflect_over_hills(terrain, ground, wind, model, &shade, &mut lift);
        Self { shade, lift, turn }
    }

    /// Lengthens hops where air is compressed over high ground, including the dead air in its lee, and returns the
    /// turning of the wind. Cells two hops wide suffice, since nothing smaller lasts.
    fn deflect_over_hills(
        terrain: &Terrain,
        ground: Field<f32>,
        wind: [f64; 2],
        model: &Dunes,
        shade: &Field<f32>,
        lift: &mut Field<f32>,
    ) -> Field<f32> {
        let grid = &terrain.grid;
        let times = (2.0 * model.hop / grid.cell).ceil().clamp(1.0, 64.0) as usize;
        // Missing data counts as a plain at the mean elevation: at 0 m it would act as a pit or a hill.
        let level = terrain.nodata.as_ref().map_or(0.0, |_| mean_elevation(terrain));
        let mut tops = ground;
        tops.par_rows_mut().for_each(|(i, row)| {
            for (top, shade) in row.iter_mut().zip(shade.row(i)) {
                // The air in the shadow is dead, so the wind flows over the shadow's surface as over ground.
                *top = if top.is_nan() { level } else { top.max(*shade) };
            }
        });
        let width = (grid.cell * times as f64) as f32;
        let gain = HILL_FLOW_WEIGHT * model.speed_up as f32;
        let [quicker, aside] =
            compute_wind_over_hills(&average_squares(&tops, times), width, wind.map(|part| part as f32));
        let quicker = interpolate_means(&quicker, times, grid.size);
        lift.par_rows_mut().for_each(|(i, row)| {
            for (lift, quicker) in row.iter_mut().zip(quicker.row(i)) {
                *lift = (*lift + gain * quicker).clamp(HOP_FACTOR_RANGE[0], HOP_FACTOR_RANGE[1]);
            }
        });
        let aside = aside.map(|aside| (gain * aside).clamp(-MAX_TURN_TANGENT, MAX_TURN_TANGENT));
        interpolate_means(&aside, times, grid.size)
    }
}

/// Returns the ground in metres, NaN where there is no data.
fn ground_in_metres(terrain: &Terrain) -> Field<f32> {
    let mut metres = Field::new(terrain.grid.size, 0.0);
    metres.par_rows_mut().for_each(|(i, row)| {
        for (metres, height) in row.iter_mut().zip(terrain.ground.row(i)) {
            *metres = height.metres_f32();
        }
        if let Some(nodata) = &terrain.nodata {
            row.iter_mut().zip(nodata.row(i)).filter(|(_, void)| **void).for_each(|(metres, _)| *metres = f32::NAN);
        }
    });
    metres
}

/// Returns the mean elevation of the cells with data. It is used where data is missing.
fn mean_elevation(terrain: &Terrain) -> f32 {
    let [rows, cols] = terrain.grid.size;
    let (sum, count) = (0..rows)
        .flat_map(|i| (0..cols).map(move |j| (i, j)))
        .filter(|(i, j)| !terrain.is_nodata(*i, *j))
        // The sum is sequential in row-major order: a parallel sum of floats would depend on the threads.
        .fold((0.0, 0.0), |(sum, count), at| (sum + terrain.ground[at].metres(), count + 1.0));
    if count > 0.0 { (sum / count) as f32 } else { 0.0 }
}

/// The constants of a sweep from one row to the next.
struct WindSweep {
    /// Offset into the padded previous row of the neighbour that has the weight `part`: 0 for west, 2 for east.
    beside: usize,
    part: f32,
    /// Descent of a shadow from row to row, in metres.
    fall: f32,
    /// Weight that the mean keeps from row to row.
    keep: f32,
    /// Increase of the hop factor per metre above the mean.
    lift: f32,
}

impl WindSweep {
    fn sweep_row(&self, heights: &[f32], [crest, mean]: [&mut Vec<f32>; 2], shade: &mut [f32], lift: &mut [f32]) {
        sweep_row_values(self, heights, [crest, mean], shade, lift);
        let cols = heights.len();
        for row in [crest, mean] {
            row[0] = row[1];
            row[cols + 1] = row[cols];
        }
    }
}

/// Computes the shadow elevations and means of a row from those of the previous row, without the padding.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn sweep_row_values(sweep: &WindSweep, heights: &[f32], lines: [&mut [f32]; 2], shade: &mut [f32], lift: &mut [f32]) {
    let cols = heights.len();
    let [crest, mean] = lines;
    let (shade, lift) = (&mut shade[..cols], &mut lift[..cols]);
    for (row, between) in [(&*crest, &mut *shade), (&*mean, &mut *lift)] {
        // The values upwind are first stored in the output rows, where the next loop reads and replaces them.
        let (near, beside) = (&row[1..][..cols], &row[sweep.beside..][..cols]);
        for j in 0..cols {
            between[j] = (1.0 - sweep.part) * near[j] + sweep.part * beside[j];
        }
    }
    let (crest, mean) = (&mut crest[1..][..cols], &mut mean[1..][..cols]);
    // The loop selects between values instead of branching, so that it compiles to vector instructions.
    for j in 0..cols {
        let (z, before, shadow) = (heights[j], lift[j], shade[j] - sweep.fall);
        let before = if before.is_nan() { z } else { before };
        let now = if z.is_nan() { before } else { sweep.keep * before + (1.0 - sweep.keep) * z };
        mean[j] = now;
        shade[j] = shadow;
        // The greater of the two; the shadow where the ground is NaN.
        crest[j] = if z > shadow { z } else { shadow };
        let rise = if z.is_nan() { 0.0 } else { z - now };
        lift[j] = if rise.is_nan() { 1.0 } else { 1.0 + sweep.lift * rise };
    }
}
