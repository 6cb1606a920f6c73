//! Code shared by the base models: how their values are combined with the ground, and how their work is divided into
//! steps.
//!
//! Most base models are functions of a cell's position in the world. Such a model implements `Base` and is stepped by
//! `Banded`: each step covers one band of world rows, so that all tiles agree on what a step is.

use std::ops::Range;

use rayon::prelude::*;

use crate::model::{Blend, MassBalance, Model, Stepper, Tick};
use thalweg_core::base::cast::clamp_share;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, LayerSpec};
use thalweg_core::{Grid, Height, Result, Terrain};

/// The share of a base model's change that a cell takes.
pub const AMOUNT: LayerSpec =
    LayerSpec::floats("amount", "1", "Share of a base model's change that the cell takes, 0 to 1.");

/// The number of cells of one step for a model that takes about 5 ns per cell: some hundredths of a second.
pub const STEP_CELLS: u64 = 1 << 22;

/// A base model whose values are a function of the cell's position in the world and of the stage's key.
pub trait Base: Model {
    /// Returns the values in metres that `multiply` maps to the factors 0 and 1.
    fn value_range(&self) -> [f64; 2];

    /// Returns the number of cells that one step may cover.
    fn step_cells(&self) -> u64 {
        STEP_CELLS
    }

    /// Returns a function that fills one of the window's rows (within `rows`) with values in metres.
    fn prepare_row_values(&self, grid: &Grid, key: RandomKey, rows: Range<usize>) -> impl Fn(usize, &mut [f32]) + Sync;
}

/// The stepper of every [`Base`] model.
pub(crate) struct Banded<M>(pub M);

impl<M: Base> Stepper for Banded<M> {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let rows = band_rows(&terrain.grid, self.0.step_cells(), tick.step);
        let grid = terrain.grid.clone();
        let values = self.0.prepare_row_values(&grid, tick.key, rows.clone());
        Ok(add_to_ground(terrain, rows, self.0.blend(), self.0.value_range(), values))
    }
}

/// Implements the methods of `Model` that are the same for every [`Base`] model.
macro_rules! laid_in_bands {
    () => {
        fn blend(&self) -> $crate::model::Blend {
            self.blend
        }

        fn steps(&self, grid: &thalweg_core::terrain::grid::Grid) -> u32 {
            $crate::process::base::band_count(grid, $crate::process::base::Base::step_cells(self))
        }

        fn reach(&self, _: &thalweg_core::terrain::grid::Grid) -> $crate::model::StepReach {
            $crate::model::StepReach::Cells(0)
        }

        fn start(
            &self,
            _: &thalweg_core::terrain::grid::Grid,
        ) -> thalweg_core::base::error::Result<Box<dyn $crate::model::Stepper>> {
            Ok(Box::new($crate::process::base::Banded(self.clone())))
        }
    };
}

pub(crate) use laid_in_bands;

/// Returns the number of steps of about `cells` cells that cover the world, each a band of whole world rows.
pub fn band_count(grid: &Grid, cells: u64) -> u32 {
    let steps = (grid.world[0] as u64).div_ceil(rows_per_band(grid, cells));
    u32::try_from(steps).unwrap_or(u32::MAX)
}

/// Returns the window's rows that belong to band `step`; empty if the band does not overlap the window.
///
/// # Examples
/// ```
/// use thalweg_core::Grid;
/// use thalweg_models::process::base::{band_count, band_rows};
///
/// // Ten rows of seven cells in bands of 21 cells: three bands of three rows, and one row.
/// let grid = Grid::new([10, 7], 30.0)?;
/// assert_eq!(band_count(&grid, 21), 4);
/// assert_eq!((band_rows(&grid, 21, 0), band_rows(&grid, 21, 3)), (0..3, 9..10));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn band_rows(grid: &Grid, cells: u64, step: u32) -> Range<usize> {
    let rows = rows_per_band(grid, cells) as i64;
    // Looped rows have no first one, so the bands of a window that contains them all are counted from the window's
    // own first row.
    let first = if grid.topology().looped[0] { 0 } else { grid.origin[0] - grid.first[0] };
    let start = i64::from(step) * rows - first;
    let inside = |row: i64| row.clamp(0, grid.rows() as i64) as usize;
    inside(start)..inside(start + rows)
}

fn rows_per_band(grid: &Grid, cells: u64) -> u64 {
    // A band has at least one row, also in a world wider than a step's cells.
    (cells / (grid.world[1] as u64).max(1)).max(1)
}

/// Combines values in metres with the ground of the given rows of the window. `row` fills row number i of the window
/// with one value per column. `span` contains the values in metres that [`Blend::Multiply`] maps to the factors 0 and
/// 1.
///
/// Cells without data and NaN values leave the ground as it is. The layer [`AMOUNT`], if present, scales the change
/// of each cell. Ground that would exceed the allowed elevations is clamped and counted as `limited`; `added` is the
/// exact change in units of [`Height`].
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_models::model::Blend;
/// use thalweg_models::process::base::add_to_ground;
///
/// let mut terrain = Terrain::new(Grid::new([2, 2], 30.0)?);
/// // 5 m are added to the two cells of the first row.
/// let balance = add_to_ground(&mut terrain, 0..1, Blend::Add, [0.0, 5.0], |_, row| row.fill(5.0));
/// assert_eq!(terrain.ground.map(|height| height.metres()).as_slice(), [5.0, 5.0, 0.0, 0.0]);
/// assert_eq!(balance.added, 2 * 5 * 65_536);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn add_to_ground(
    terrain: &mut Terrain,
    rows: Range<usize>,
    blend: Blend,
    span: [f64; 2],
    row: impl Fn(usize, &mut [f32]) + Sync,
) -> MassBalance {
    let [cols, size] = [terrain.grid.cols(), terrain.grid.len()];
    let nodata = terrain.nodata.as_ref().filter(|mask| mask.len() == size);
    let amount = match terrain.layers.get(AMOUNT.name).map(|layer| &layer.cells) {
        Some(Cells::Float(field)) if field.len() == size => Some(field),
        _ => None,
    };
    let [low, high] = span.map(|metres| metres * UNITS);
    let factor = |value: f64| if high == low { 1.0 } else { ((value - low) / (high - low)).clamp(0.0, 1.0) };
    terrain
        .ground
        .par_rows_mut()
        .skip(rows.start)
        .take(rows.len())
        .map_init(
            || vec![0.0; cols],
            |values, (i, ground)| {
                row(i, values);
                let skip = |j: usize| nodata.is_some_and(|mask| mask[(i, j)]);
                let share = |j: usize| amount.map_or(1.0, |field| f64::from(clamp_share(field[(i, j)])));
                match blend {
                    Blend::Add => blend_row(ground, values, skip, share, |ground, value| ground + value),
                    Blend::Replace => blend_row(ground, values, skip, share, |_, value| value),
                    Blend::Multiply => blend_row(ground, values, skip, share, |ground, value| ground * factor(value)),
                    Blend::Max => blend_row(ground, values, skip, share, f64::max),
                    Blend::Min => blend_row(ground, values, skip, share, f64::min),
                }
            },
        )
        // Balances consist of whole numbers here, so their sum does not depend on the order of rows.
        .reduce(MassBalance::default, |mut sum, part| {
            sum += part;
            sum
        })
}

/// Changes one row: each cell moves by `share` of the way from its ground to the `target` of ground and value, all in
/// height units.
fn blend_row(
    ground: &mut [Height],
    values: &[f32],
    skip: impl Fn(usize) -> bool,
    share: impl Fn(usize) -> f64,
    target: impl Fn(f64, f64) -> f64,
) -> MassBalance {
    let [lowest, highest] = [Height::MIN, Height::MAX].map(|h| f64::from(h.0));
    let (mut added, mut limited) = (0i64, 0);
    for (j, (height, value)) in ground.iter_mut().zip(values).enumerate() {
        let before = f64::from(height.0);
        // The target is computed in `f64`, which represents every height in units exactly.
        let wanted = target(before, f64::from(*value) * UNITS);
        let share = share(j);
        // A share of exactly 1 skips the sum, which would round.
        let wanted = if share == 1.0 { wanted } else { before + share * (wanted - before) };
        if value.is_nan() || wanted.is_nan() || skip(j) {
            continue;
        }
        let clamped = wanted.clamp(lowest, highest);
        limited += u64::from(clamped != wanted);
        // The value is rounded half away from zero, so that ground of opposite sign gets the opposite result.
        let after = (clamped + 0.5f64.copysign(clamped)) as i32;
        added += i64::from(after) - i64::from(height.0);
        *height = Height(after);
    }
    MassBalance { added: added.into(), limited, ..MassBalance::default() }
}

/// Helpers for the tests of base models.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use thalweg_core::{CellRect, Field};

    /// Returns a square map of `cells` cells per side that is `extent` metres wide.
    pub fn make_square_grid(cells: usize, extent: f64) -> Grid {
        Grid::new([cells, cells], extent / cells as f64).unwrap()
    }

    /// Returns the ground that `model` makes of flat ground.
    pub fn run_on_flat_ground(model: &dyn Model, grid: &Grid, seed: u64) -> Terrain {
        let mut terrain = Terrain::new(grid.clone());
        let mut budget = MassBalance::default();
        let mut stepper = model.start(grid).unwrap();
        for step in 0..model.steps(grid) {
            budget += stepper.run_step(&mut terrain, Tick { key: RandomKey::new(seed, "base"), step }).unwrap();
        }
        assert_eq!(budget.added, terrain.sum_solid());
        terrain
    }

    /// Returns the same in metres.
    pub fn run_to_metres(model: &dyn Model, grid: &Grid, seed: u64) -> Field<f64> {
        run_on_flat_ground(model, grid, seed).ground.map(|h| h.metres())
    }

    /// Asserts that a window computed alone has the same bits as that window of the whole map.
    pub fn assert_windows_agree(model: &dyn Model, grid: &Grid) {
        let whole = run_on_flat_ground(model, grid, 5).ground;
        let [rows, cols] = grid.size;
        let windows = [
            ([0, 0], [rows.div_ceil(2), cols.div_ceil(3)]),
            ([rows / 3, cols / 5], [rows.div_ceil(2), cols / 2 + 1]),
            ([rows - 1, 0], [1, cols]),
        ];
        for (start, size) in windows {
            let window = CellRect::new(start, size);
            let part = run_on_flat_ground(model, &grid.window(window), 5).ground;
            assert_eq!(part, whole.copy_window(window), "window at {start:?}");
        }
    }

    /// Returns the means of blocks of `k` × `k` cells: the same map at a coarser resolution.
    pub fn average_blocks(field: &Field<f64>, k: usize) -> Field<f64> {
        Field::from_fn([field.rows() / k, field.cols() / k], |i, j| {
            let block = (0..k).flat_map(|a| (0..k).map(move |b| (a, b)));
            block.map(|(a, b)| field[(i * k + a, j * k + b)]).sum::<f64>() / (k * k) as f64
        })
    }

    /// Returns the mean and the standard deviation.
    pub fn measure_moments(values: &[f64]) -> [f64; 2] {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        [mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt()]
    }

    /// Returns the root mean square difference, divided by the standard deviation of `a`.
    pub fn relative_difference(a: &Field<f64>, b: &Field<f64>) -> f64 {
        let square: f64 = a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| (x - y).powi(2)).sum();
        (square / a.len() as f64).sqrt() / measure_moments(a.as_slice())[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{CellRect, Field};

    fn terrain(heights: &[i32]) -> Terrain {
        let grid = Grid::new([1, heights.len()], 10.0).unwrap();
        let ground = heights.iter().map(|m| Height::from_metres(f64::from(*m)).unwrap()).collect();
        Terrain::from_ground(grid, Field::from_vec([1, heights.len()], ground).unwrap()).unwrap()
    }

    fn laid(terrain: &mut Terrain, blend: Blend, values: &[f32]) -> (Vec<f64>, MassBalance) {
        let before = terrain.sum_solid();
        let budget = add_to_ground(terrain, 0..1, blend, [-100.0, 100.0], |_, out| out.copy_from_slice(values));
        assert_eq!(terrain.sum_solid() - before, budget.added);
        (terrain.ground.as_slice().iter().map(|h| h.metres()).collect(), budget)
    }

    #[test]
    fn every_blend_does_what_it_says() {
        let cases: [(Blend, [f64; 2]); 5] = [
            (Blend::Add, [40.0, -110.0]),
            (Blend::Replace, [50.0, -100.0]),
            (Blend::Multiply, [-7.5, 0.0]), // 50 is three quarters of the way up −100..100, −100 at the lower end
            (Blend::Max, [50.0, -10.0]),
            (Blend::Min, [-10.0, -100.0]),
        ];
        for (blend, expected) in cases {
            let (heights, budget) = laid(&mut terrain(&[-10, -10]), blend, &[50.0, -100.0]);
            assert_eq!(heights, expected, "{blend:?}");
            assert_eq!(budget.limited, 0);
        }
    }

    #[test]
    fn amount_nodata_and_nan_hold_back() {
        let mut land = terrain(&[100, 100, 100, 100, 100]);
        land.nodata = Some(Field::from_vec([1, 5], vec![false, false, true, false, false]).unwrap());
        let amount = Field::from_vec([1, 5], vec![0.0, 0.25, 1.0, 1.0, 7.0]).unwrap();
        land.insert_layer(&AMOUNT, Cells::Float(amount)).unwrap();
        let (heights, _) = laid(&mut land, Blend::Replace, &[0.0, 0.0, 0.0, f32::NAN, 0.0]);
        assert_eq!(heights, [100.0, 75.0, 100.0, 100.0, 0.0]);
    }

    #[test]
    fn accepted_heights_hold_and_are_counted() {
        let (heights, budget) = laid(&mut terrain(&[15_000, -15_000, 0]), Blend::Add, &[2000.0, f32::MIN, 1.0]);
        assert_eq!(heights, [16_000.0, -16_000.0, 1.0]);
        assert_eq!(budget.limited, 2);
    }

    #[test]
    fn bands_cover_every_row_once_in_windows_too() {
        let grid = Grid::new([10, 7], 1.0).unwrap();
        let part = grid.window(CellRect::new([3, 2], [5, 2]));
        for grid in [grid, part] {
            let rows: Vec<usize> = (0..band_count(&grid, 21)).flat_map(|step| band_rows(&grid, 21, step)).collect();
            assert_eq!(band_count(&grid, 21), 4);
            assert_eq!(rows, (0..grid.rows()).collect::<Vec<_>>());
        }
    }
}
