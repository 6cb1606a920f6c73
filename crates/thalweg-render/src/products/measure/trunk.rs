//! [`Trunk`]: the longest river, its sinuosity, and the width of its valley floor.

use crate::products::measure::drainage::step_length;
use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::network::Channels;
use crate::products::measure::spec::{Found, Measures, Spec, measures};
use thalweg_flow::FlowGraph;

pub(super) const SPECS: [Spec; 2] = measures! {
    /// Length over chord along the longest river is 1.1 to 1.3 in mountains and hills, and more where it meanders.
    trunk_sinuosity: "sinuosity of the trunk, windows of 2 km", Network, unit "1", usual 1.1 to 2.5,
        source "Leopold & Wolman 1957; real models, docs/measure.md";
    /// It is the variation of the valley floor's width at equal drainage area. Real floors widen and narrow with rock
    /// and side valleys.
    floor_spread: "spread of ln(floor width/√drainage area)", Network, unit "1", usual 0.5 to 1.5,
        source "real models, docs/measure.md";
};

/// The length in metres of the windows along the trunk for the sinuosity.
const WINDOW: f64 = 2000.0;

/// The distance in metres along the trunk between two measurements of the floor's width.
const MEASURING_INTERVAL_M: f64 = 500.0;

/// The height in metres above the bed at which the valley floor ends.
const BANK: f64 = 5.0;

/// The largest distance in metres, to either side, at which the edge of the floor is searched for.
const MAX_BANK_DISTANCE_M: f64 = 5000.0;

/// The least number of windows, and half the least number of widths, for a result.
const MIN_WINDOWS: usize = 5;

/// The number of cells before and after a cell between which the direction of the river is measured.
const DIRECTION_CELLS: usize = 5;

/// The longest flow path through channels, in downstream order.
struct Trunk {
    /// The row and column of each cell.
    cells: Vec<[f64; 2]>,
    /// The distance in metres along the path from the first cell.
    distances: Vec<f64>,
    /// The drainage areas in m².
    area: Vec<f64>,
}

pub(super) fn measure_trunk(ground: &MeasuredLand<'_>, drainage: &FlowGraph, channels: &Channels, all: &mut Measures) {
    let trunk = channels.require_channels().map(|()| Trunk::find_longest(ground, drainage, channels));
    all.add_values(
        &SPECS,
        [
            trunk.as_ref().map_err(|missing| *missing).and_then(|trunk| trunk.median_sinuosity(ground.cell_size())),
            trunk.as_ref().map_err(|missing| *missing).and_then(|trunk| trunk.width_spread(ground)),
        ],
    );
}

impl Trunk {
    fn find_longest(ground: &MeasuredLand<'_>, drainage: &FlowGraph, channels: &Channels) -> Self {
        let counts = drainage.upstream_cells().as_slice();
        let is_channel = |k: usize| ground.land[k] && counts[k] >= channels.threshold;
        // The length of the longest channel above each cell in metres, and the donor cell on it.
        let mut above = vec![0.0f32; counts.len()];
        let mut donor = vec![u32::MAX; counts.len()];
        let mut mouth = None;
        for k in drainage.upstream_order().iter().map(|k| *k as usize).filter(|k| is_channel(*k)) {
            match drainage.next(k).filter(|n| is_channel(*n)) {
                Some(n) => {
                    let path_length = above[k] + (step_length(drainage.directions()[k]) * ground.cell_size()) as f32;
                    // A strict comparison keeps the first of equally long tributaries in upstream order.
                    if path_length > above[n] {
                        (above[n], donor[n]) = (path_length, k as u32);
                    }
                }
                None => {
                    // Among equally long rivers, the first in upstream order is the trunk.
                    if mouth.is_none_or(|mouth: usize| above[k] > above[mouth]) {
                        mouth = Some(k);
                    }
                }
            }
        }
        // The path is followed upward from the mouth and then reversed.
        let up = std::iter::successors(mouth, |k| (donor[*k] != u32::MAX).then_some(donor[*k] as usize));
        let mut course: Vec<usize> = up.collect();
        course.reverse();
        let cols = ground.land.cols();
        Self {
            cells: course.iter().map(|k| [(k / cols) as f64, (k % cols) as f64]).collect(),
            distances: course.iter().map(|k| f64::from(above[*k])).collect(),
            area: course.iter().map(|k| f64::from(counts[*k]) * ground.terrain.grid.cell_area()).collect(),
        }
    }

    /// Returns the median over windows of path length over chord, after moving means over five cells to remove the
    /// zigzag of the eight directions.
    fn median_sinuosity(&self, cell: f64) -> Found {
        let mean = |w: &[[f64; 2]]| [0, 1].map(|c| w.iter().map(|p| p[c]).sum::<f64>() / w.len() as f64);
        let smooth: Vec<[f64; 2]> = self.cells.windows(5).map(mean).collect();
        let mut found = Vec::new();
        let (mut first, mut path_length) = (0, 0.0);
        for n in 1..smooth.len() {
            path_length += distance(smooth[n - 1], smooth[n]) * cell;
            if path_length >= WINDOW {
                // A path that returns to its starting point has no chord; use at least one cell.
                found.push(path_length / (distance(smooth[first], smooth[n]) * cell).max(cell));
                (first, path_length) = (n, 0.0);
            }
        }
        if found.len() < MIN_WINDOWS {
            return Err("the longest river has fewer than five windows of 2 km");
        }
        found.sort_by(f64::total_cmp);
        // The median of an even number of windows is the mean of the two in the middle.
        Ok(0.5 * (found[(found.len() - 1) / 2] + found[found.len() / 2]))
    }

    /// Returns the standard deviation of ln(w/√A) for the floor's widths w and drainage areas A.
    fn width_spread(&self, ground: &MeasuredLand<'_>) -> Found {
        let mut found = Vec::new();
        let mut next = MEASURING_INTERVAL_M;
        for n in DIRECTION_CELLS..self.cells.len().saturating_sub(DIRECTION_CELLS) {
            if self.distances[n] < next {
                continue;
            }
            next = self.distances[n] + MEASURING_INTERVAL_M;
            if let Some(width) = self.floor_width(ground, n) {
                found.push(libm::log(width / self.area[n].sqrt()));
            }
        }
        if found.len() < 2 * MIN_WINDOWS {
            return Err("fewer than ten widths of the longest river's floor end inside");
        }
        let n = found.len() as f64;
        let mean = found.iter().sum::<f64>() / n;
        // The variance of a sample divides by n − 1.
        Ok((found.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0)).sqrt())
    }

    /// Returns the width in metres, perpendicular to the river, over which the terrain is less than [`BANK`] above
    /// the bed; `None` if the map or its data end within the floor.
    fn floor_width(&self, ground: &MeasuredLand<'_>, n: usize) -> Option<f64> {
        let (here, cell) = (self.cells[n], ground.cell_size());
        let (from, to) = (self.cells[n - DIRECTION_CELLS], self.cells[n + DIRECTION_CELLS]);
        let along = distance(from, to);
        if along == 0.0 {
            return None;
        }
        // This is the direction of the river rotated by 90°.
        let across = [(to[1] - from[1]) / along, -(to[0] - from[0]) / along];
        let bank = interpolate_height(ground, here)? + BANK;
        let side = |sign: f64| {
            let mut before = bank - BANK;
            // The terrain is sampled every half cell, so that a narrow bank is not missed.
            for half in 1.. {
                let out = 0.5 * f64::from(half);
                if out * cell > MAX_BANK_DISTANCE_M {
                    return None;
                }
                let now = interpolate_height(ground, [0, 1].map(|c| here[c] + sign * out * across[c]))?;
                if now >= bank {
                    // Interpolate to the point at which the terrain reaches the bank's height.
                    return Some((out - 0.5 * (now - bank) / (now - before)) * cell);
                }
                before = now;
            }
            None
        };
        Some(side(1.0)? + side(-1.0)?)
    }
}

/// Returns the elevation in metres, interpolated between four cell centres.
fn interpolate_height(ground: &MeasuredLand<'_>, [row, col]: [f64; 2]) -> Option<f64> {
    let (i, j) = (row.floor(), col.floor());
    let (v, u) = (row - i, col - j);
    let at = |i: f64, j: f64| {
        let [rows, cols] = ground.terrain.grid.size;
        let is_in = i >= 0.0 && j >= 0.0 && i < rows as f64 && j < cols as f64;
        let at = (i.max(0.0) as usize, j.max(0.0) as usize);
        (is_in && !ground.terrain.is_nodata(at.0, at.1)).then(|| ground.terrain.ground[at].metres())
    };
    // At the last row or column of centres no further cell is needed, and none exists.
    let line = |i: f64| Some((1.0 - u) * at(i, j)? + if u > 0.0 { u * at(i, j + 1.0)? } else { 0.0 });
    Some((1.0 - v) * line(i)? + if v > 0.0 { v * line(i + 1.0)? } else { 0.0 })
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt()
}

#[cfg(test)]
mod tests {
    use crate::products::measure::testing::terrain_from_formula;
    use crate::products::measure::{MeasureOptions, measure_terrain};
    use thalweg_core::Terrain;

    /// A valley that runs south along x = 3 km with meanders; its floor, `wide` metres across, is level.
    fn valley(wind: f64, wide: impl Fn(f64) -> f64 + Sync) -> Terrain {
        terrain_from_formula([600, 300], 20.0, |x, y| {
            let middle = 3000.0 + wind * (std::f64::consts::TAU * y / 1500.0).sin();
            0.05 * y + 0.5 * ((x - middle).abs() - 0.5 * wide(y)).max(0.0) + 0.001 * (x - middle).abs()
        })
    }

    #[test]
    fn a_straight_trunk_is_straight_and_a_winding_one_winds() {
        let of = |wind| {
            measure_terrain(&valley(wind, |_| 60.0), &MeasureOptions::default())
                .unwrap()
                .value("trunk_sinuosity")
                .unwrap()
        };
        assert!((of(0.0) - 1.0).abs() < 0.01, "{}", of(0.0));
        // A sine of 250 m by 1500 m has a path of 1.23 times the chord; the stream cuts its bends a little.
        assert!((1.1..1.3).contains(&of(250.0)), "{}", of(250.0));
    }

    #[test]
    fn floors_of_one_width_by_their_catchment_spread_less_than_others() {
        let of = |wide: fn(f64) -> f64| {
            measure_terrain(&valley(0.0, wide), &MeasureOptions::default()).unwrap().value("floor_spread").unwrap()
        };
        let even = of(|_| 300.0);
        // Alternately wide and narrow: ln w varies by ±0.35 and more.
        let uneven = of(|y| if (y / 600.0).floor() % 2.0 == 0.0 { 200.0 } else { 800.0 });
        assert!(uneven > even + 0.2, "{even} {uneven}");
    }
}
