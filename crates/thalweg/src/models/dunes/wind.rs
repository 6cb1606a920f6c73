//! What the ground does to the wind: shadows behind what stands high, speed over what rises out of its surroundings.

use crate::field::Field;
use crate::models::dunes::{Dunes, MEMORY};
use crate::terrain::Terrain;

/// The wind of a step, cell by cell.
pub(super) struct Air {
    /// Elevation in metres up to which the place lies in shadow of what is upwind.
    pub(super) shade: Field<f32>,
    /// How many times as far as on a plain a slab hops from here.
    pub(super) lift: Field<f32>,
}

/// The least and the greatest factor by which the wind's speed changes a hop.
pub(super) const LIFTS: [f32; 2] = [0.25, 3.0];

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
        if !turned {
            return Self { shade, lift };
        }
        let back = |field: &Field<f32>| Field::generate(grid.size, |i, j| field[(j, i)]);
        Self { shade: back(&shade), lift: back(&lift) }
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
            lift[j] = if rise.is_nan() { 1.0 } else { (1.0 + self.lift * rise).clamp(LIFTS[0], LIFTS[1]) };
        }
        for row in [crest, mean] {
            row[0] = row[1];
            row[cols + 1] = row[cols];
        }
    }
}
