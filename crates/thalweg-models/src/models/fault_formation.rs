//! [`FaultFormation`]: ground displaced repeatedly along straight lines.

use std::ops::Range;

use crate::model::{About, Blend, Family, Model};
use crate::process::base::{AMOUNT, Base, STEP_CELLS, laid_in_bands};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Grid, Point, params};
use thalweg_noise::chunk::{CHUNK, Chunk, for_chunks};

params! {
    /// Breaks the ground along straight lines through the world, each side moving up or down by half a step.
    ///
    /// Fault k = 0 … count − 1 runs at a random angle through a random point of the extent and adds
    /// step·(1 − decay·k/(count − 1))·(s(½ + d/width) − ½), where d is the distance in metres from the line (negative
    /// on one side) and s(t) = t²(3 − 2t) with t clamped to 0..1; width 0 is a vertical step. The sum has a standard
    /// deviation of about ½√(Σ step²).
    ///
    /// Source: Krten (1994, "Generating realistic terrain", Dr. Dobb's Journal 19(7)); Shankel (2000, "Fractal terrain
    /// generation: fault formation", Game Programming Gems, ch. 4.17), where steps decrease with each iteration.
    /// Deviations: both sides move, so the mean stays the same; a smooth profile replaces their filter.
    ///
    /// Layers: it needs none, uses `amount`, and changes only the ground. The result is a function of world metres for
    /// one extent: windows and resolutions agree. Time grows with count × cells. The blend `multiply` maps values
    /// within ±√(Σ step²) to factors from 0 to 1.
    ///
    /// Limits: a small number of faults is visible as straight scarps; the roughness is the same everywhere; another
    /// extent gives another world.
    pub struct FaultFormation {
        /// Number of faults: few leave scarps, many make hills.
        count: u32 = 800, within 1..=20000, unit "1", source "ours";
        /// Height of the first fault's scarp.
        step: f64 = 50.0, within 0.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Share by which the last scarp is lower than the first: with 1, steps decrease to zero.
        decay: f64 = 0.95, within 0.0..=1.0, unit "1", source "Shankel 2000";
        /// Width of a scarp: 0 is vertical, large values give smooth hills.
        width: f64 = 700.0, within 0.0..=1e7, unit "m", scales Size, source "ours";
        /// Elevation added everywhere.
        offset: f64 = 0.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the values are combined with the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

impl Model for FaultFormation {
    fn about(&self) -> About {
        About {
            name: "fault_formation",
            title: "Fault lines",
            summary: "Breaks the terrain repeatedly along straight lines, each step lower than the one before.",
            source: "Shankel 2000, Fractal terrain generation: fault formation",
            family: Family::Base,
            uses: &[AMOUNT],
            ..About::default()
        }
    }

    laid_in_bands!();
}

impl Base for FaultFormation {
    fn value_range(&self) -> [f64; 2] {
        // Each fault adds plus or minus half its height, so this is two standard deviations of the sum; single cells
        // may exceed it.
        let most = (0..self.count).map(|k| self.scarp_height(k).powi(2)).sum::<f64>().sqrt();
        [self.offset - most, self.offset + most]
    }

    fn step_cells(&self) -> u64 {
        // Each cell visits every fault, so with more than 16 faults a step covers fewer cells.
        STEP_CELLS * 16 / u64::from(self.count.max(16))
    }

    fn prepare_row_values(&self, grid: &Grid, key: RandomKey, _: Range<usize>) -> impl Fn(usize, &mut [f32]) + Sync {
        let faults: Vec<FaultLine> =
            (0..self.count).map(|k| self.draw_fault(k, key.derive_key(k.into()), grid)).collect();
        let (width, offset) = (self.width, self.offset as f32);
        move |i, row| {
            for_chunks(grid, i, row, |anchor, chunk| {
                chunk.fill(offset);
                for fault in &faults {
                    fault.add_to_chunk(anchor, grid.cell, width, chunk);
                }
            });
        }
    }
}

impl FaultFormation {
    /// Returns the scarp height of fault `k` in metres.
    fn scarp_height(&self, k: u32) -> f64 {
        self.step * (1.0 - self.decay * f64::from(k) / f64::from((self.count - 1).max(1)))
    }

    /// Returns fault `k`, with a random direction through a random point.
    fn draw_fault(&self, k: u32, key: RandomKey, grid: &Grid) -> FaultLine {
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * key.uniform_unit());
        let [u, v] = key.derive_key(1).uniform_pair();
        let point = grid.point_at_shares(Point { x: u, y: v });
        FaultLine { normal: [cos, sin], through: cos * point.x + sin * point.y, height: self.scarp_height(k) }
    }
}

/// A line given by its unit normal (x, y) and its distance from the origin along it, with the height of the scarp; all
/// in metres.
struct FaultLine {
    normal: [f64; 2],
    through: f64,
    height: f64,
}

impl FaultLine {
    /// Adds this fault to a chunk of samples, the first of which is at `anchor`.
    fn add_to_chunk(&self, Point { x, y }: Point, cell: f64, width: f64, chunk: &mut Chunk) {
        // The distance from the line grows linearly along a row, so its two ends decide for the whole chunk.
        let start = self.normal[0] * x + (self.normal[1] * y - self.through);
        let slope = self.normal[0] * cell;
        let end = start + (CHUNK - 1) as f64 * slope;
        let half = (0.5 * self.height) as f32;
        // Fast path: most chunks are entirely on one side.
        let aside = |sign: f64| sign * start > 0.5 * width && sign * end > 0.5 * width;
        if aside(1.0) || aside(-1.0) {
            let level = if start > 0.0 { half } else { -half };
            chunk.iter_mut().for_each(|value| *value += level);
            return;
        }
        for (k, value) in chunk.iter_mut().enumerate() {
            let distance = start + k as f64 * slope;
            *value += 2.0 * half * (scarp_profile(distance, width) - 0.5) as f32;
        }
    }
}

/// Returns the profile of a scarp: 0 on the low side to 1 on the high side (smoothstep).
fn scarp_profile(distance: f64, width: f64) -> f64 {
    if width == 0.0 {
        return if distance > 0.0 { 1.0 } else { 0.0 };
    }
    let t = (0.5 + distance / width).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::base::testing::{
        assert_windows_agree, average_blocks, make_square_grid, measure_moments, relative_difference, run_to_metres,
    };

    #[test]
    fn one_sheer_fault_has_two_levels_a_step_apart() {
        let model = FaultFormation { count: 1, step: 80.0, width: 0.0, offset: 10.0, ..Default::default() };
        for seed in 0..5 {
            let ground = run_to_metres(&model, &make_square_grid(300, 3000.0), seed);
            let [low, high] = [-30.0, 50.0].map(|level| ground.as_slice().iter().filter(|z| **z == level).count());
            assert_eq!(low + high, ground.len());
            assert!(low > 0 && high > 0, "the line runs through the world");
        }
    }

    #[test]
    fn a_broad_fault_rises_by_its_profile() {
        assert_eq!([-60.0, -50.0, 0.0, 50.0, 60.0].map(|d| scarp_profile(d, 100.0)), [0.0, 0.0, 0.5, 1.0, 1.0]);
        assert_eq!(scarp_profile(-25.0, 100.0), 0.15625); // t = 1/4: 1/16 · 5/2
        assert_eq!([-1e-9, 1e-9].map(|d| scarp_profile(d, 0.0)), [0.0, 1.0]);
    }

    #[test]
    fn steps_fall_from_first_to_last() {
        let model = FaultFormation { count: 5, step: 100.0, decay: 0.8, ..Default::default() };
        let heights: Vec<f64> = (0..5).map(|k| model.scarp_height(k)).collect();
        assert!(heights.iter().zip([100.0, 80.0, 60.0, 40.0, 20.0]).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(FaultFormation { count: 1, ..model }.scarp_height(0), 100.0);
    }

    #[test]
    fn chunks_aside_hold_what_the_profile_says() {
        // Adds each fault sample by sample in the same order, which gives the same bits.
        let model = FaultFormation { count: 40, width: 130.0, ..Default::default() };
        let grid = make_square_grid(260, 5200.0);
        let key = RandomKey::new(2, "faults");
        let values = model.prepare_row_values(&grid, key, 0..260);
        let faults: Vec<FaultLine> = (0..40).map(|k| model.draw_fault(k, key.derive_key(k.into()), &grid)).collect();
        let mut row = vec![0.0; 260];
        for i in [0, 77, 259] {
            values(i, &mut row);
            for (j, found) in row.iter().enumerate() {
                let first = ((j - j % CHUNK) as f64 + 0.5) * grid.cell;
                let mut sum = 0.0f32;
                for FaultLine { normal, through, height } in &faults {
                    let start = normal[0] * first + (normal[1] * grid.row_center_y(i) - through);
                    let distance = start + (j % CHUNK) as f64 * (normal[0] * grid.cell);
                    sum += (height * 0.5) as f32 * 2.0 * (scarp_profile(distance, 130.0) - 0.5) as f32;
                }
                assert_eq!(*found, sum, "{i}, {j}");
            }
        }
    }

    #[test]
    fn windows_and_resolutions_agree() {
        let model = FaultFormation { count: 60, width: 1200.0, ..Default::default() };
        assert_windows_agree(&model, &Grid::new([40, 300], 50.0).unwrap());
        // Cells are samples of scarps 1200 m wide. A mean over 60 m differs by the curvature, (60/1200)²/4 of a step:
        // less than 0.1 % of it.
        let [coarse, fine] = [256, 512].map(|n| run_to_metres(&model, &make_square_grid(n, 15_360.0), 8));
        assert!(relative_difference(&coarse, &average_blocks(&fine, 2)) < 1e-3);
        assert!(measure_moments(coarse.as_slice())[1] > 10.0);
    }
}
