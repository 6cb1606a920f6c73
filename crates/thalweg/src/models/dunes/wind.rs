//! What the ground does to the wind: shadows behind what stands high, speed over what rises out of its surroundings.

use rayon::prelude::*;

use crate::models::dunes::hills::{flow, means, spread};
use crate::models::dunes::{Dunes, MEMORY};
use crate::terrain::Terrain;
use crate::terrain::field::Field;

/// The names of [`Air`]'s planes.
pub(super) const SHADE: &str = "shade";
pub(super) const LIFT: &str = "lift";
pub(super) const TURN: &str = "turn";

/// The wind of a step, cell by cell.
pub(super) struct Air {
    /// Elevation in metres up to which the place lies in shadow of what is upwind.
    pub(super) shade: Field<f32>,
    /// How many times as far as on a plain a slab hops from here.
    pub(super) lift: Field<f32>,
    /// Tangent of how far the wind turns to its left, round what stands high.
    pub(super) turn: Field<f32>,
}

/// The least and the greatest factor by which the wind's speed changes a hop.
pub(super) const LIFTS: [f32; 2] = [0.25, 3.0];

/// The greatest tangent of the angle by which hills turn the wind.
pub(super) const MOST_TURN: f32 = 0.75;

/// What the flow over hills adds to a hop and to its turning, as a share of what `speed_up` says.
const OVER: f32 = 0.42;

/// Nothing upwind.
const CLEAR: f32 = -1e9;

impl Air {
    /// Sweeps the ground along the wind, which blows southward and eastward by `wind`, rows across it one after another.
    /// What lies upwind of a cell is taken between the two nearest cells of the row before; the world goes on at its sides
    /// as it ends there.
    pub(super) fn new(terrain: &Terrain, wind: [f64; 2], model: &Dunes) -> Self {
        let grid = &terrain.grid;
        // Rows of the sweep are columns of the terrain where the wind blows along rows.
        let turned = wind[1].abs() > wind[0].abs();
        let [ahead, aside] = if turned { [wind[1], wind[0]] } else { wind };
        let place = |r: usize, c: usize| if turned { (c, r) } else { (r, c) };
        let [rows, cols] = if turned { [grid.size[1], grid.size[0]] } else { grid.size };
        let heights = Field::generate([rows, cols], |r, c| {
            let (i, j) = place(r, c);
            if terrain.is_nodata(i, j) { f32::NAN } else { terrain.ground[(i, j)].metres_f32() }
        });
        let step = grid.cell / ahead.abs();
        let memory = MEMORY * model.hop;
        let sweep = Sweep {
            beside: if aside * ahead.signum() > 0.0 { 0 } else { 2 },
            part: (aside / ahead).abs() as f32,
            fall: (libm::tan(model.shadow.to_radians()) * step) as f32,
            keep: libm::exp(-step / memory) as f32,
            lift: (model.speed_up / memory) as f32,
        };
        let mut shade = Field::new([rows, cols], CLEAR);
        let mut lift = Field::new([rows, cols], 1.0);
        // Crest lines and means of the row before, with the row's ends said twice.
        let (mut crest, mut mean) = (vec![CLEAR; cols + 2], vec![f32::NAN; cols + 2]);
        for n in 0..rows {
            let r = if ahead > 0.0 { n } else { rows - 1 - n };
            sweep.row(heights.row(r), [&mut crest, &mut mean], shade.row_mut(r), lift.row_mut(r));
        }
        if turned {
            let back = |field: &Field<f32>| Field::generate(grid.size, |i, j| field[(j, i)]);
            (shade, lift) = (back(&shade), back(&lift));
        }
        let turn = Self::bend(terrain, wind, model, &shade, &mut lift);
        Self { shade, lift, turn }
    }

    /// Quickens the hops where air is pressed over what stands high, dead air in its lee with it, and says how far the wind
    /// turns. Cells of two hops do: nothing smaller stands long.
    fn bend(terrain: &Terrain, wind: [f64; 2], model: &Dunes, shade: &Field<f32>, lift: &mut Field<f32>) -> Field<f32> {
        let grid = &terrain.grid;
        let times = (2.0 * model.hop / grid.cell).ceil().clamp(1.0, 64.0) as usize;
        let is_there = |i: usize, j: usize| !terrain.is_nodata(i, j);
        let cells = || (0..grid.rows()).flat_map(|i| (0..grid.cols()).map(move |j| (i, j)));
        let (sum, count) = cells()
            .filter(|(i, j)| is_there(*i, *j))
            .fold((0.0, 0.0), |(sum, count), (i, j)| (sum + terrain.ground[(i, j)].metres(), count + 1.0));
        // Where nothing is known the ground is as high as the rest.
        let level = if count > 0.0 { (sum / count) as f32 } else { 0.0 };
        let tops = Field::generate(grid.size, |i, j| {
            if is_there(i, j) { terrain.ground[(i, j)].metres_f32().max(shade[(i, j)]) } else { level }
        });
        let width = (grid.cell * times as f64) as f32;
        let gain = OVER * model.speed_up as f32;
        let [quicker, aside] = flow(&means(&tops, times), width, wind.map(|part| part as f32));
        let quicker = spread(&quicker, times, grid.size);
        lift.par_rows_mut().for_each(|(i, row)| {
            for (lift, quicker) in row.iter_mut().zip(quicker.row(i)) {
                *lift = (*lift + gain * quicker).clamp(LIFTS[0], LIFTS[1]);
            }
        });
        let aside = aside.map(|aside| (gain * aside).clamp(-MOST_TURN, MOST_TURN));
        spread(&aside, times, grid.size)
    }
}

/// How a sweep goes from one row to the next.
struct Sweep {
    /// Where the neighbour in the padded row before lies that counts for `part`: 0 to the west, 2 to the east.
    beside: usize,
    part: f32,
    /// How far a shadow falls from row to row, in metres.
    fall: f32,
    /// What the mean keeps of itself from row to row.
    keep: f32,
    /// Gain of a hop per metre over the mean.
    lift: f32,
}

impl Sweep {
    fn row(&self, heights: &[f32], [crest, mean]: [&mut Vec<f32>; 2], shade: &mut [f32], lift: &mut [f32]) {
        let cols = heights.len();
        let between = |row: &[f32], j: usize| (1.0 - self.part) * row[j + 1] + self.part * row[j + self.beside];
        for j in 0..cols {
            shade[j] = between(crest, j) - self.fall;
            lift[j] = between(mean, j);
        }
        for j in 0..cols {
            let (z, before) = (heights[j], lift[j]);
            let before = if before.is_nan() { z } else { before };
            let now = if z.is_nan() { before } else { self.keep * before + (1.0 - self.keep) * z };
            mean[j + 1] = now;
            // The greater of the two, and the shadow where there is no data.
            crest[j + 1] = if z > shade[j] { z } else { shade[j] };
            let rise = if z.is_nan() { 0.0 } else { z - now };
            lift[j] = if rise.is_nan() { 1.0 } else { 1.0 + self.lift * rise };
        }
        for row in [crest, mean] {
            row[0] = row[1];
            row[cols + 1] = row[cols];
        }
    }
}
