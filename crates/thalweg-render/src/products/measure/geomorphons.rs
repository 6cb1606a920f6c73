//! Landforms (geomorphons) classified by line of sight.

use rayon::prelude::*;

use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::spec::{AxisScale, Curve, Group, MeasureOptions, Measures, Spec};
use thalweg_core::{Field, Height};
use thalweg_flow::D8;

const fn landform_spec(name: &'static str, title: &'static str, nature: &'static str) -> Spec {
    let source = "Jasiewicz & Stepinski 2013; real models, docs/measure.md";
    Spec { name, group: Group::Texture, title, unit: "%", usual: None, nature, source }
}

pub(super) const SPECS: [Spec; 10] = [
    landform_spec(
        "form_flat",
        "landforms: flat",
        "Plains, terraces and lakes are flat. Mountains have almost no flat land.",
    ),
    landform_spec(
        "form_peak",
        "landforms: peak",
        "Peaks cover 0.2 % to 4 % of the land. The terrain is lower on all sides of a peak.",
    ),
    landform_spec("form_ridge", "landforms: ridge", "Ridges cover 7 % to 15 % of the land, about as much as valleys."),
    landform_spec(
        "form_shoulder",
        "landforms: shoulder",
        "A shoulder has level land above it and a slope below it, as at the rim of a plateau.",
    ),
    landform_spec("form_spur", "landforms: spur", "Spurs, the convex parts of slopes, cover 15 % to 20 % of the land."),
    landform_spec(
        "form_slope",
        "landforms: slope",
        "Slopes cover 30 % to 60 % of the land, which is the largest share of all landforms.",
    ),
    landform_spec(
        "form_hollow",
        "landforms: hollow",
        "Hollows, the concave parts of slopes where water gathers, cover 8 % to 20 % of the land.",
    ),
    landform_spec(
        "form_footslope",
        "landforms: footslope",
        "A footslope has a slope above it and level land below it, as on fans and at the rims of valley floors.",
    ),
    landform_spec(
        "form_valley",
        "landforms: valley",
        "Valleys cover 7 % to 15 % of the land, about as much as ridges.",
    ),
    landform_spec(
        "form_pit",
        "landforms: pit",
        "Pits cover 0.7 % to 5 % of the land. They are depressions, and valley floors from which walls hide all \
         lower land.",
    ),
];

/// The landform, as an index into [`SPECS`], by the numbers of lower (row) and higher (column) directions: the table
/// of the paper's figure 4. Pairs with a sum over eight do not occur.
const TABLE: [&[u8]; 9] = [
    &[0, 0, 0, 7, 7, 8, 8, 8, 9],
    &[0, 0, 7, 7, 7, 8, 8, 8],
    &[0, 3, 5, 5, 6, 6, 8],
    &[3, 3, 5, 5, 5, 6],
    &[3, 3, 4, 5, 5],
    &[2, 2, 4, 4],
    &[2, 2, 2],
    &[2, 2],
    &[1],
];

/// The number of cells of each landform, counted in one pass.
#[derive(Default)]
pub(super) struct Forms([u64; 10]);

impl Forms {
    /// Counts the landforms. `ground` must include as many rows on either side of those that count as lines of sight
    /// extend.
    pub fn add_cells(&mut self, ground: &MeasuredLand<'_>, settings: &MeasureOptions) {
        self.0.iter_mut().zip(count_landforms(ground, settings)).for_each(|(all, count)| *all += count);
    }

    pub fn report_measures(&self, all: &mut Measures) {
        report_landforms(self.0, all);
    }
}

fn report_landforms(counts: [u64; 10], all: &mut Measures) {
    let sum: u64 = counts.iter().sum();
    let missing = "no land has eight neighbours with data";
    let share = |n: u64| if sum > 0 { Ok(100.0 * n as f64 / sum as f64) } else { Err(missing) };
    all.add_values(&SPECS, counts.map(share));
    if sum > 0 {
        let points = (0..10).map(|k| [k as f64, 100.0 * counts[k] as f64 / sum as f64]).collect();
        all.curves.push(Curve {
            name: "landforms",
            x: "flat, peak, ridge, shoulder, spur, slope, hollow, footslope, valley, pit",
            y: "share of land (%)",
            scale: AxisScale::Linear,
            points,
            law: None,
        });
    }
}

/// Counts the land cells of each landform. Cells next to the edge or to missing data are left out, and lines of sight
/// end at both. The sea counts as its surface.
fn count_landforms(ground: &MeasuredLand<'_>, settings: &MeasureOptions) -> [u64; 10] {
    let terrain = ground.terrain;
    let [rows, cols] = terrain.grid.size;
    let sea = terrain.grid.sea_level.unwrap_or(Height(i32::MIN));
    // Missing data is NaN, which is neither above nor below anything: comparisons with NaN are false.
    let seen = Field::from_fn(terrain.grid.size, |i, j| match terrain.is_nodata(i, j) {
        true => f32::NAN,
        false => terrain.ground[(i, j)].max(sea).metres_f32(),
    });
    // Slopes are compared as tangents, so that no angles are computed per cell.
    let limit = libm::tan(settings.flatness.to_radians()) as f32;
    let inner = ground.own.start.max(1)..ground.own.end.min(rows.saturating_sub(1));
    let by_rows: Vec<[u64; 10]> = inner
        .into_par_iter()
        .map_init(
            || LineOfSight::new(cols),
            |sight, i| {
                sight.scan_row(&seen, i, terrain.grid.cell, settings.search, limit);
                let mut counts = [0; 10];
                for j in 1..cols.saturating_sub(1) {
                    let whole = (i - 1..=i + 1).all(|r| (j - 1..=j + 1).all(|c| !seen[(r, c)].is_nan()));
                    if ground.land[(i, j)] && whole {
                        let form = TABLE[usize::from(sight.lower[j])][usize::from(sight.higher[j])];
                        counts[usize::from(form)] += 1;
                    }
                }
                counts
            },
        )
        .collect();
    let mut counts = [0; 10];
    // The counts are integers, so that their sum is the same for any number of threads.
    by_rows.iter().for_each(|row| (0..10).for_each(|k| counts[k] += row[k]));
    counts
}

/// Scratch buffers for the lines of sight from one row of cells.
struct LineOfSight {
    /// The greatest and least rise per metre in the current direction.
    most: Vec<f32>,
    least: Vec<f32>,
    /// The numbers of directions in which the terrain rises above the horizontal by more than it falls below it, and
    /// vice versa.
    higher: Vec<u8>,
    lower: Vec<u8>,
}

impl LineOfSight {
    fn new(cols: usize) -> Self {
        Self { most: vec![0.0; cols], least: vec![0.0; cols], higher: vec![0; cols], lower: vec![0; cols] }
    }

    /// Looks from row `i` in all eight directions. The results of the row's first and last cell are meaningless.
    fn scan_row(&mut self, seen: &Field<f32>, i: usize, cell: f64, search: usize, limit: f32) {
        let [rows, cols] = seen.size();
        let here = seen.row(i);
        self.higher.fill(0);
        self.lower.fill(0);
        for direction in D8::ALL {
            let [di, dj] = direction.offset();
            self.most.fill(f32::NEG_INFINITY);
            self.least.fill(f32::INFINITY);
            let length = direction.distance() * cell;
            for step in 1..=search as isize {
                let Some(r) = i.checked_add_signed(di * step).filter(|r| *r < rows) else { break };
                let shift = dj * step;
                if shift.unsigned_abs() >= cols {
                    break;
                }
                let share = (1.0 / (length * step as f64)) as f32;
                // Only columns that have a partner in this direction are compared; the others keep their infinities.
                let (from, to) = ((-shift).max(0) as usize, cols - shift.max(0) as usize);
                let there = &seen.row(r)[from.wrapping_add_signed(shift)..to.wrapping_add_signed(shift)];
                let bounds = self.most[from..to].iter_mut().zip(&mut self.least[from..to]);
                for (((most, least), z), there) in bounds.zip(&here[from..to]).zip(there) {
                    let rise = (there - z) * share;
                    // Comparisons with NaN are false, so missing data changes neither bound.
                    *most = if rise > *most { rise } else { *most };
                    *least = if rise < *least { rise } else { *least };
                }
            }
            for j in 0..cols {
                // Without any sight in a direction, the sum of both infinities is NaN, and the direction counts as
                // level.
                let (up, down) = (self.most[j], self.least[j]);
                // Compare the sum of both angles with the limit: tan(α + β) = (a + b) / (1 − a·b) avoids the inverse
                // tangents.
                let (sum, rest) = (up + down, limit * (1.0 - up * down));
                self.higher[j] += u8::from(sum > 0.0 && sum > rest);
                self.lower[j] += u8::from(sum < 0.0 && -sum > rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::measure::testing::{rotate_quarter_turn, terrain_from_formula};

    fn forms(size: [usize; 2], z: impl Fn(f64, f64) -> f64 + Sync, search: usize) -> [u64; 10] {
        let terrain = terrain_from_formula(size, 10.0, z);
        count_landforms(&MeasuredLand::new(&terrain), &MeasureOptions { search, ..MeasureOptions::default() })
    }

    /// Returns the landform of the middle cell of three by three, with a search distance of one cell.
    fn middle(z: impl Fn(f64, f64) -> f64 + Sync) -> &'static str {
        let found = forms([3, 3], move |x, y| z(x - 10.0, y - 10.0), 1);
        assert_eq!(found.iter().sum::<u64>(), 1);
        SPECS[found.iter().position(|n| *n == 1).unwrap()].name
    }

    #[test]
    fn ten_forms_by_hand() {
        assert_eq!(middle(|_, _| 7.0), "form_flat");
        assert_eq!(middle(|x, y| -(x * x + y * y) / 10.0), "form_peak");
        assert_eq!(middle(|x, y| (x * x + y * y) / 10.0), "form_pit");
        assert_eq!(middle(|x, _| -x.abs()), "form_ridge"); // 6 lower, 2 level
        assert_eq!(middle(|x, _| x.abs()), "form_valley");
        assert_eq!(middle(|x, _| x), "form_slope"); // 3 lower, 3 higher, 2 level
        assert_eq!(middle(|x, _| x.max(0.0)), "form_footslope"); // 3 higher, 5 level
        assert_eq!(middle(|x, _| x.min(0.0)), "form_shoulder"); // 3 lower, 5 level
        // A slope curved about its fall line: 3 directions higher and 5 lower, and vice versa.
        assert_eq!(middle(|x, y| y - 0.9 * x.abs()), "form_spur");
        assert_eq!(middle(|x, y| y + 0.9 * x.abs()), "form_hollow");
    }

    #[test]
    fn every_pair_of_counts_has_a_form() {
        for (lower, row) in TABLE.iter().enumerate() {
            assert_eq!(row.len(), 9 - lower);
            assert!(row.iter().all(|form| usize::from(*form) < SPECS.len()));
        }
    }

    #[test]
    fn sight_reaches_as_far_as_it_is_told() {
        // A plain with a wall from column 25 on. Cells up to `search` columns before it see it in the east and on
        // both diagonals, so they are footslopes. Of those k columns away, k − 1 rows at either end miss one
        // diagonal.
        let wall = |x: f64, _: f64| if x >= 250.0 { 40.0 } else { 0.0 };
        assert_eq!(forms([41, 41], wall, 2)[7], 2 * 39 - 2);
        assert_eq!(forms([41, 41], wall, 10)[7], 10 * 39 - 90);
    }

    #[test]
    fn a_turn_changes_no_count() {
        let ground =
            terrain_from_formula([40, 60], 10.0, |x, y| 30.0 * (x / 70.0).sin() + 20.0 * (y / 45.0).cos() + 0.05 * x);
        let settings = MeasureOptions::default();
        let counted = |t: &thalweg_core::terrain::Terrain| count_landforms(&MeasuredLand::new(t), &settings);
        assert_eq!(counted(&ground), counted(&rotate_quarter_turn(&ground)));
    }
}
