//! Applies strokes to the terrain and to layers, dab by dab.

use std::ops::Range;

use crate::recipe::strokes::smooth::average_elevations;
use crate::recipe::strokes::{Stroke, Tool};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, Layer, LayerSpec};
use thalweg_core::{Error, Field, Grid, Height, Point, Result, Terrain};
use thalweg_models::model::MassBalance;

/// The least number of samples of the fall-off along a radius: a hill's volume is then exact to a third of a percent.
const SAMPLES: f64 = 4.0;

/// The most samples along a cell; a radius below an eighth of a cell contains only some of them, or none.
const MAX_SAMPLES: f64 = 32.0;

/// One dab: a circle, the cells that it may reach, and the number of samples.
pub struct Dab {
    middle: Point,
    radius: f64,
    samples: usize,
    /// Rows and columns of the terrain's cells.
    pub rows: Range<usize>,
    pub cols: Range<usize>,
}

impl Dab {
    fn new(grid: &Grid, middle: Point, radius: f64) -> Self {
        let span = |axis: usize| {
            let at = middle.axis_coordinate(axis);
            let local = |metres: f64| (metres / grid.cell).floor() - grid.origin[axis] as f64;
            let bound = |cell: f64| cell.clamp(0.0, grid.size[axis] as f64) as usize;
            // The circle is clipped to the window; a place far outside gives an empty range.
            bound(local(at - radius))..bound(local(at + radius) + 1.0)
        };
        // Cells that are small compared with the radius need a single sample each; wide ones are sampled more densely.
        let samples = (SAMPLES * grid.cell / radius).ceil().clamp(1.0, MAX_SAMPLES) as usize;
        Self { middle, radius, samples, rows: span(0), cols: span(1) }
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty() || self.cols.is_empty()
    }

    /// Returns the fall-off's mean over a cell: 0 beyond the circle, 1 in the middle of a wide one.
    fn weight(&self, grid: &Grid, i: usize, j: usize) -> f64 {
        let n = self.samples;
        let offset = |k: usize| ((k as f64 + 0.5) / n as f64 - 0.5) * grid.cell;
        let (y, x) = (grid.row_center_y(i) - self.middle.y, grid.col_center_x(j) - self.middle.x);
        let squared = self.radius * self.radius;
        let mut sum = 0.0;
        for a in 0..n {
            for b in 0..n {
                let (y, x) = (y + offset(a), x + offset(b));
                // With a radius of 0 the quotient is infinite or NaN; the comparison below is then false.
                let inside = 1.0 - (y * y + x * x) / squared;
                sum += if inside > 0.0 { inside * inside } else { 0.0 };
            }
        }
        sum / (n * n) as f64
    }

    /// Computes a value for every cell that it may reach, from the cell and the fall-off there, with rows in
    /// parallel.
    fn compute_values<T: Send + Clone + Default>(
        &self,
        grid: &Grid,
        value: impl Fn(usize, usize, f64) -> T + Sync,
    ) -> Field<T> {
        Field::from_fn([self.rows.len(), self.cols.len()], |r, c| {
            let (i, j) = (self.rows.start + r, self.cols.start + c);
            value(i, j, self.weight(grid, i, j))
        })
    }

    /// Returns its cells that have data, with their place in a field of [`Dab::compute_values`].
    fn cells_with_data<'a>(
        &'a self,
        nodata: Option<&'a Field<bool>>,
    ) -> impl Iterator<Item = ((usize, usize), (usize, usize))> + 'a {
        let all = self
            .rows
            .clone()
            .enumerate()
            .flat_map(move |(r, i)| self.cols.clone().enumerate().map(move |(c, j)| ((i, j), (r, c))));
        all.filter(move |(at, _)| nodata.is_none_or(|mask| !mask[*at]))
    }
}

/// Raises, lowers, smooths or flattens the terrain.
pub fn reshape_terrain(stroke: &Stroke, terrain: &mut Terrain) -> MassBalance {
    let mut budget = MassBalance::default();
    let first = stroke.points.first().filter(|_| stroke.tool == Tool::Flatten);
    // The target elevation is read before the first dab changes the terrain.
    let level = first.and_then(|first| interpolate_elevation(terrain, *first));
    for point in &stroke.points {
        let dab = Dab::new(&terrain.grid, *point, stroke.radius);
        if dab.is_empty() {
            continue;
        }
        let (grid, ground) = (&terrain.grid, &terrain.ground);
        let metres = |sign: f64| {
            dab.compute_values(grid, |_, _, weight| round_to_units(sign * stroke.strength * weight * UNITS))
        };
        // All changes of a dab are computed from the terrain before it, in parallel, and applied afterwards.
        let changes = match stroke.tool {
            Tool::Raise => metres(1.0),
            Tool::Lower => metres(-1.0),
            Tool::Smooth => {
                let means = average_elevations(terrain, [&dab.rows, &dab.cols], stroke.radius);
                dab.compute_values(grid, |i, j, weight| {
                    let mean = means[(j - dab.cols.start, i - dab.rows.start)];
                    round_to_units((mean - f64::from(ground[(i, j)].0)) * stroke.strength * weight)
                })
            }
            _ => match level {
                Some(level) => dab.compute_values(grid, |i, j, weight| {
                    round_to_units((level - f64::from(ground[(i, j)].0)) * stroke.strength * weight)
                }),
                None => return budget,
            },
        };
        move_ground(terrain, &dab, &changes, &mut budget);
    }
    budget
}

fn round_to_units(change: f64) -> i32 {
    change.round() as i32
}

/// Changes the elevation of each cell by a number of units, within the accepted range; where it sinks, sediment is
/// removed first.
fn move_ground(terrain: &mut Terrain, dab: &Dab, changes: &Field<i32>, budget: &mut MassBalance) {
    for (at, own) in dab.cells_with_data(terrain.nodata.as_ref()) {
        let ground = &mut terrain.ground[at];
        let target = i64::from(ground.0) + i64::from(changes[own]);
        let kept = target.clamp(Height::MIN.0.into(), Height::MAX.0.into());
        let change = kept - i64::from(ground.0);
        budget.added += i128::from(change);
        budget.limited += u64::from(kept != target);
        if let Some(loose) = terrain.loose.as_mut().filter(|_| change < 0) {
            let loose = &mut loose[at];
            // Sediment takes the whole loss; what exceeds it is taken from bedrock, whose elevation is ground less
            // sediment.
            loose.0 = (i64::from(loose.0) + change).max(0) as i32;
        }
        *ground = Height(kept as i32);
    }
}

/// Returns the elevation at a place, in units: bilinear between the centres of the surrounding cells if they have
/// data, otherwise the cell's own. `None` in a cell without data. A place beyond the world has the elevation of the
/// nearest one inside.
fn interpolate_elevation(terrain: &Terrain, place: Point) -> Option<f64> {
    let grid = &terrain.grid;
    let along = |axis: usize| {
        let at = place.axis_coordinate(axis) / grid.cell - grid.origin[axis] as f64 - 0.5;
        at.clamp(0.0, grid.size[axis] as f64 - 1.0)
    };
    let at = [along(0), along(1)];
    let [v, u] = at.map(|at| at - at.floor());
    let [i, j] = at.map(|at| at as usize);
    let [south, east] = [(i + 1).min(grid.size[0] - 1), (j + 1).min(grid.size[1] - 1)];
    let corners = [(i, j), (i, east), (south, j), (south, east)];
    let height = |(i, j): (usize, usize)| f64::from(terrain.ground[(i, j)].0);
    // Near a void, interpolation would use an elevation that means nothing.
    if corners.iter().any(|(i, j)| terrain.is_nodata(*i, *j)) {
        let nearest = (if v < 0.5 { i } else { south }, if u < 0.5 { j } else { east });
        return (!terrain.is_nodata(nearest.0, nearest.1)).then(|| height(nearest));
    }
    let [nw, ne, sw, se] = corners.map(height);
    Some((nw * (1.0 - u) + ne * u) * (1.0 - v) + (sw * (1.0 - u) + se * u) * v)
}

/// Paints a layer of factors, which is created with the value `neutral` if it is missing.
///
/// # Errors
/// Returns an error if the layer with that name contains something else.
pub fn paint_layer(stroke: &Stroke, terrain: &mut Terrain, spec: &LayerSpec, neutral: f32) -> Result<MassBalance> {
    let (grid, nodata) = (&terrain.grid, terrain.nodata.as_ref());
    let blank = || Layer::new(spec, Cells::Float(Field::new(grid.size, neutral)));
    let Cells::Float(field) = &mut terrain.layers.entry(spec.name.to_string()).or_insert_with(blank).cells else {
        return Err(Error::invalid_layer(spec.name, "contains no real numbers and cannot be painted"));
    };
    for point in &stroke.points {
        let dab = Dab::new(grid, *point, stroke.radius);
        if dab.is_empty() {
            continue;
        }
        let painted = dab.compute_values(grid, |i, j, weight| {
            let old = f64::from(field[(i, j)]);
            (old + (stroke.value - old) * stroke.strength * weight) as f32
        });
        for (at, own) in dab.cells_with_data(nodata) {
            field[at] = painted[own];
        }
    }
    Ok(MassBalance::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fall_off_has_the_volume_of_its_formula() {
        // ∫(1 − t²)² over the circle is π·r²/3. With samples h apart, Poisson summation omits Σ F(k·r/h) over whole
        // vectors k ≠ 0, F(ξ) = 2/π²·ξ⁻³·J₃(2πξ), |J₃(x)| < √(2/πx): at r/h ≥ 4, 0.0035 of π/3.
        for (cell, radius) in [(1.0, 40.0), (10.0, 40.3), (10.0, 9.0), (30.0, 4.0), (100.0, 33.0)] {
            let side = ((2.0 * radius / cell) as usize).max(1) + 4;
            let grid = Grid::new([side, side], cell).unwrap();
            for shift in [0.0, 0.29, 0.5] {
                let middle = grid.extent().height / 2.0 + shift * cell;
                let dab = Dab::new(&grid, Point::new(middle, middle), radius);
                let weights = dab.compute_values(&grid, |_, _, weight| weight);
                let volume: f64 = weights.as_slice().iter().sum::<f64>() * grid.cell_area();
                let want = std::f64::consts::PI * radius * radius / 3.0;
                assert!((volume / want - 1.0).abs() < 0.0035, "{cell} m, {radius} m: {volume} for {want}");
            }
        }
    }

    #[test]
    fn a_dab_without_a_radius_or_beyond_the_world_is_empty_or_nothing() {
        let grid = Grid::new([5, 5], 10.0).unwrap();
        for (point, radius) in
            [([25.0, 25.0], 0.0), ([-500.0, 25.0], 100.0), ([1e9, -1e9], 1e8), ([25.0, 25.0], 1e-300)]
        {
            let weights = Dab::new(&grid, point.into(), radius).compute_values(&grid, |_, _, weight| weight);
            assert!(weights.as_slice().iter().all(|weight| *weight == 0.0), "{point:?} {radius}");
        }
        let all = Dab::new(&grid, Point::new(25.0, 25.0), 1e8).compute_values(&grid, |_, _, weight| weight);
        assert!(all.len() == 25 && all.as_slice().iter().all(|weight| *weight > 0.999));
    }
}
