//! Visibility of the map's frame: real land is cut off anywhere by its frame, while generated land may fall towards
//! it.

use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::spec::{Found, Measures, Spec, measures, need_land};
use crate::products::slope::central_gradient;
use thalweg_core::{Cell, Size};

pub(super) const SPECS: [Spec; 2] = measures! {
    /// It is about half, because a frame around real land crosses as many outward as inward slopes.
    rim_outward: "rim (outermost 2 %) that falls outward", Rim, unit "%", usual 35.0 to 65.0,
        source "real models, docs/measure.md";
    /// It is near 0. Real land does not rise from its frame, except if a mountain stands alone in it.
    rim_rise: "rise from the rim inward, over relief", Rim, unit "1", usual -0.04 to 0.04,
        source "real models, docs/measure.md";
};

/// The width of the rim as a share of the shorter side.
const RIM: f64 = 0.02;

/// The distance of the inner ring from the frame, as a share of the shorter side.
const INSIDE: f64 = 13.0 / 512.0;

/// The least number of cells of a side for it to have a rim and an inside.
const MIN_SIDE_CELLS: usize = 50;

/// Statistics of the rim and of the ring inside it, accumulated in one pass.
#[derive(Default)]
pub(super) struct RimStatistics {
    count: usize,
    /// The number of sloping land cells of the rim: those that fall outward, and all of them.
    outward: [u64; 2],
    /// The sums of the elevations of the outermost ring of cells and of the inner ring, and the numbers of their
    /// cells.
    sums: [f64; 2],
    counts: [u64; 2],
    range: Option<[f64; 2]>,
}

impl RimStatistics {
    pub fn add_cells(&mut self, ground: &MeasuredLand<'_>) {
        let [rows, cols] = ground.map;
        let width = (RIM * rows.min(cols) as f64).round() as usize;
        let inside = (INSIDE * rows.min(cols) as f64).round() as usize;
        self.count += ground.count;
        for cell in ground.land_cells() {
            let height = ground.terrain.ground[cell].metres();
            self.range = Some(self.range.map_or([height; 2], |[low, high]| [low.min(height), high.max(height)]));
            let (distance, [east, north]) =
                locate_nearest_sides(ground.map, Cell::new(cell.row + ground.first, cell.col));
            if distance < width {
                let [by_east, by_north] = central_gradient(ground.terrain, cell.row, cell.col);
                let rise = east * by_east + north * by_north;
                self.outward[0] += u64::from(rise < 0.0);
                // Level cells do not count, because they fall in neither direction.
                self.outward[1] += u64::from(rise != 0.0);
            }
            // The first ring consists of the outermost cells, the second of those at the inner distance.
            if let Some(ring) = [0, inside].iter().position(|at| *at == distance) {
                self.sums[ring] += height;
                self.counts[ring] += 1;
            }
        }
    }

    pub fn report_measures(&self, map: Size, all: &mut Measures) {
        let enough = need_land(self.count);
        let enough = enough.and(if map[0].min(map[1]) < MIN_SIDE_CELLS {
            Err("a side is shorter than 50 cells")
        } else {
            Ok(())
        });
        all.add_values(&SPECS, [enough.and_then(|()| self.outward_share()), enough.and_then(|()| self.inward_rise())]);
    }

    /// Returns the share of the rim's sloping land, in %, that falls outward.
    fn outward_share(&self) -> Found {
        let [out, count] = self.outward;
        if count == 0 { Err("the rim is level") } else { Ok(100.0 * out as f64 / count as f64) }
    }

    /// Returns the mean elevation of the inner ring less that of the outermost ring, divided by the relief.
    fn inward_rise(&self) -> Found {
        let [low, high] = self.range.filter(|[low, high]| high > low).ok_or("all land has one elevation")?;
        let (sums, counts) = (self.sums, self.counts);
        if counts.contains(&0) {
            return Err("there is no land at the rim, or none inside it");
        }
        Ok((sums[1] / counts[1] as f64 - sums[0] / counts[0] as f64) / (high - low))
    }
}

/// Returns a cell's distance from the map's frame in cells, and the sum of the outward steps (east, north) of the
/// sides to which it is nearest.
fn locate_nearest_sides([rows, cols]: Size, Cell { row: i, col: j }: Cell) -> (usize, [f64; 2]) {
    let sides = [(i, [0.0, 1.0]), (cols - 1 - j, [1.0, 0.0]), (rows - 1 - i, [0.0, -1.0]), (j, [-1.0, 0.0])];
    let distance = sides.iter().map(|(distance, _)| *distance).min().unwrap_or(0);
    // A cell in a corner, or at equal distances, belongs to several sides; their outward steps are added.
    let out =
        sides.iter().filter(|(d, _)| *d == distance).fold([0.0; 2], |sum, (_, out)| [sum[0] + out[0], sum[1] + out[1]]);
    (distance, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::measure::testing::terrain_from_formula;

    #[test]
    fn a_cone_falls_outward_a_bowl_inward_and_a_ramp_half_and_half() {
        let of = |sign: f64| {
            let land = terrain_from_formula([100, 100], 10.0, |x, y| {
                500.0 + sign * ((x - 495.0).powi(2) + (y - 495.0).powi(2)).sqrt()
            });
            let mut rim = RimStatistics::default();
            rim.add_cells(&MeasuredLand::new(&land));
            (rim.outward_share().unwrap(), rim.inward_rise().unwrap())
        };
        let (cone, bowl) = (of(-1.0), of(1.0));
        assert_eq!((cone.0, bowl.0), (100.0, 0.0));
        // Three cells inward, or 27 m or more up, with a relief of 700 m.
        assert!(cone.1 > 0.03 && (cone.1 + bowl.1).abs() < 1e-9, "{cone:?} {bowl:?}");
        let ramp = terrain_from_formula([100, 100], 10.0, |x, y| 0.1 * x + 0.03 * y);
        let mut rim = RimStatistics::default();
        rim.add_cells(&MeasuredLand::new(&ramp));
        assert!((rim.outward_share().unwrap() - 50.0).abs() < 2.0 && rim.inward_rise().unwrap().abs() < 1e-9);
    }
}
