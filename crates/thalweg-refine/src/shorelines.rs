//! Shorelines: the children of a coarse cell that are under water.

use crate::node_builder::NodeBuilder;
use thalweg_core::Cell;

/// Amplitude by which a shore deviates from the smooth line, in multiples of a bluff's height over the water.
const SHORE_AMPLITUDE: f32 = 1.0;

impl NodeBuilder<'_> {
    /// Returns the children of a cell that are under water of this level, one bit each; `is_water` tells which cells
    /// it covers. The shoreline is that of a smooth surface through the coarse cells' heights above the water, so
    /// that it has no corners. Heights count up to that of a bluff.
    pub fn submerged_children(&self, cell: Cell<i64>, level: i32, is_water: impl Fn((usize, usize)) -> bool) -> u8 {
        let Cell { row: i, col: j } = cell;
        let bluff = self.unit as f32 * 0.05;
        let mut stands = [[0.0f32; 3]; 3];
        let mut covered = 0;
        for (di, row) in (-1..).zip(&mut stands) {
            for (dj, stands) in (-1..).zip(row) {
                // A cell beyond the world counts as this cell does.
                let there = Cell::new(i + di, j + dj);
                let at = self.window_position(there).or_else(|| self.window_position(cell)).unwrap_or_default();
                let water = is_water(at);
                let over = (self.window.ground[at].0.wrapping_sub(level) as f32 / bluff).abs().clamp(0.5, 1.0);
                *stands = if water { -over } else { over } + SHORE_AMPLITUDE * self.jitter(there)[0];
                covered += u32::from(water);
            }
        }
        // All nine cells are land, or all are water, so no shoreline crosses this cell.
        if covered % 9 == 0 {
            return if covered == 0 { 0 } else { 15 };
        }
        // Subdivision weights of a quartic B-spline for the two halves of a cell, in 16ths.
        const HALVES: [[f32; 3]; 2] = [[5.0, 10.0, 1.0], [1.0, 10.0, 5.0]];
        let over = |child: usize| {
            let along = |row: &[f32; 3]| -> f32 { row.iter().zip(HALVES[child & 1]).map(|(z, w)| z * w).sum() };
            stands.iter().zip(HALVES[child >> 1]).map(|(row, w)| along(row) * w).sum::<f32>()
        };
        // A child changes from land to water or back only next to a neighbour of the other type: this avoids pools
        // behind the shore and rocks before it.
        let here = is_water(self.window_position(cell).unwrap_or_default());
        let wet = |child: usize| {
            let [a, b] = [2 * i64::from(child >> 1 == 1) - 1, 2 * i64::from(child & 1 == 1) - 1];
            let adjacent_cells = [[i + a, j], [i, j + b], [i + a, j + b]]
                .into_iter()
                .filter_map(|cell| self.window_position(cell.into()));
            let turns = (over(child) < 0.0) != here && adjacent_cells.into_iter().any(|at| is_water(at) != here);
            turns != here
        };
        (0..4usize).filter(|child| wet(*child)).map(|child| 1 << child).sum()
    }
}
