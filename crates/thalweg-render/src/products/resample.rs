//! Resampling to other resolutions, and cropping.
//!
//! For [`resample_terrain`] a terrain is a set of samples: the first and last sample of each side keep their positions
//! (N − 1 intervals, as in game engines). [`reduce_terrain`] treats cells as areas instead and keeps the mean, which
//! makes it the right choice for comparing two resolutions. Tables (such as living particles) refer to the cells that
//! they were made on and are dropped.

use std::ops::Range;

use thalweg_core::terrain::filter::{AxisFilter, Kernel, resample_mask, resample_values};
use thalweg_core::terrain::{Cells, Layer};
use thalweg_core::{Cell, CellRect, Error, Field, Georeference, Grid, Height, Result, Size, Terrain};

/// Resamples the terrain to `size` samples (rows, columns) over the same extent between its corner samples. More
/// samples are interpolated (elevation bicubic, layers linear), fewer are low-pass filtered; planes remain exact
/// planes. Integer layers are rounded.
///
/// A new sample that would be computed from any cell without data copies the nearest cell instead, whether that has
/// data or not.
///
/// # Errors
/// Returns an error if a side is zero, or if the shape does not fit: cells are square, so both directions must shrink
/// or grow by the same factor, to within one interval. Also returns the errors of [`Grid::new`] for the new cells. For
/// example, 100 × 200 samples cannot become 100 × 300.
///
/// # Examples
/// Twice as many intervals. A plane remains a plane, to the rounding of heights.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::resample::resample_terrain;
///
/// let heights: Vec<f32> = (0..9).map(|k| k as f32).collect();
/// let fine = resample_terrain(&Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?, [5, 5])?;
/// assert_eq!((fine.grid.size, fine.grid.cell), ([5, 5], 5.0));
/// assert!((fine.ground[(1, 1)].metres() - 2.0).abs() < 1e-4);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn resample_terrain(terrain: &Terrain, size: Size) -> Result<Terrain> {
    let grid = resample_grid(&terrain.grid, size)?;
    Grid::new(size, grid.cell)?;
    filter_terrain(terrain, grid, Kernel::Smooth, Kernel::Convex)
}

/// Returns the grid of `size` samples over the extent between another grid's corner samples, for a map of any size.
///
/// # Errors
/// Returns the errors of [`resample_terrain`], except that cells may be as small or large as [`Grid::new_windowed`]
/// allows.
pub fn resample_grid(old: &Grid, size: Size) -> Result<Grid> {
    let long = usize::from(old.cols() >= old.rows());
    if size.contains(&0) {
        return Err(Error::invalid_value("size", format_size(size), "1 × 1 cells or more"));
    }
    let intervals = |size: Size, k: usize| (size[k] - 1) as f64;
    // The longer side sets the scale; the shorter one may be off by one interval, because its length may not be a whole
    // number of new cells.
    let fits = (intervals(old.size, 1 - long) * intervals(size, long) / intervals(old.size, long).max(1.0)).round();
    if (intervals(size, 1 - long) - fits).abs() > 1.0 {
        let mut fitting = size;
        fitting[1 - long] = fits as usize + 1;
        return Err(Error::invalid_value(
            "size",
            format_size(size),
            format!("{}, so that the cells stay square", format_size(fitting)),
        ));
    }
    // Old cells per new one, southward and eastward; along a direction without intervals, the ratio of the numbers of
    // cells.
    let step = [0, 1].map(|k| match (old.size[k], size[k]) {
        (n, m) if m > 1 && n > 1 => (n - 1) as f64 / (m - 1) as f64,
        (n, m) => n as f64 / m as f64,
    });
    let mut grid =
        Grid { edges: old.edges, sea_level: old.sea_level, ..Grid::new_windowed(size, old.cell * step[long])? };
    grid.georeference = centre_georeference(old, size, step[long]);
    Ok(grid)
}

/// [`resample_terrain`] for elevations, some rows at a time: for maps larger than memory.
#[derive(Debug, Clone)]
pub struct Resampling {
    grid: Grid,
    rows: AxisFilter,
    cols: AxisFilter,
}

impl Resampling {
    /// Prepares the resampling of a grid to `size` rows and columns.
    ///
    /// # Errors
    /// Returns the errors of [`resample_grid`].
    pub fn new(old: &Grid, size: Size) -> Result<Self> {
        let grid = resample_grid(old, size)?;
        let [rows, cols] = [0, 1].map(|k| AxisFilter::new(old.size[k], size[k], Kernel::Smooth));
        // Weights are kept per row and per column and not per cell, so that they are small on a map of any size.
        Ok(Self { grid, rows, cols })
    }

    /// Returns the grid of the new samples.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns the old rows that are needed to compute `rows` of the new grid; `0..0` for an empty range.
    ///
    /// # Panics
    /// Panics if the rows extend beyond the new grid.
    pub fn needed_rows(&self, rows: Range<usize>) -> Range<usize> {
        let weights = self.rows.weights[rows.clone()].iter().flatten().map(|weight| weight.0);
        let all = weights.chain(self.rows.nearest[rows].iter().copied());
        // The range also contains the nearest rows, which replace values next to cells without data.
        let ends = all.fold(None, |ends: Option<[usize; 2]>, row| {
            Some(ends.map_or([row; 2], |[first, last]| [first.min(row), last.max(row)]))
        });
        ends.map_or(0..0, |[first, last]| first..last + 1)
    }

    /// Computes new rows, with all columns, from the old ones that they [need](Self::needed_rows): `ground` contains
    /// those rows with all their columns, and `nodata` marks their cells without data. Returns the elevations, and the
    /// mask of cells without data.
    ///
    /// # Errors
    /// Returns an error if `ground` does not have the number of rows needed, or if the size of the mask differs from
    /// that of `ground`.
    ///
    /// # Panics
    /// Panics as [`Resampling::needed_rows`].
    pub fn resample_rows(
        &self,
        rows: Range<usize>,
        ground: &Field<Height>,
        nodata: Option<&Field<bool>>,
    ) -> Result<(Field<Height>, Option<Field<bool>>)> {
        let needs = self.needed_rows(rows.clone());
        let own = ground.size();
        if own[0] != needs.len() || nodata.is_some_and(|mask| mask.size() != own) {
            return Err(Error::invalid_value(
                "rows",
                format_size(own),
                format!("rows {} to {} of the map", needs.start, needs.end),
            ));
        }
        // The filter of these rows is the same as that of the whole map, with rows counted from the first one read.
        let part = AxisFilter {
            weights: self.rows.weights[rows.clone()]
                .iter()
                .map(|weights| weights.iter().map(|(row, weight)| (row - needs.start, *weight)).collect())
                .collect(),
            // The nearest row is always among those that were read, because `needed_rows` includes it.
            nearest: self.rows.nearest[rows].iter().map(|row| row - needs.start).collect(),
        };
        let nearest = |mask: &Field<bool>| {
            Field::from_fn([part.nearest.len(), self.cols.nearest.len()], |i, j| {
                mask[(part.nearest[i], self.cols.nearest[j])]
            })
        };
        let void = nodata.map(nearest);
        let metres = filter_values(own, nodata, &part, &self.cols, &|i, j| ground[(i, j)].metres());
        Ok((metres.map(|metres| Height::from_metres_clamped(*metres)), void))
    }
}

/// Reduces the terrain to `size` cells, each the mean of the area that it covers in the old ones; the mean of the
/// whole is kept. Cells without data are handled as in [`resample_terrain`].
///
/// # Errors
/// Returns an error if a side is zero or larger than before, or if the shape does not fit to within one cell, because
/// cells are square. Also returns the errors of [`Grid::new`] for the new cells.
///
/// # Examples
/// Each new cell is the mean of four old ones: of 0, 1, 4 and 5 in the north-west.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::resample::reduce_terrain;
///
/// let heights: Vec<f32> = (0..16).map(|k| k as f32).collect();
/// let coarse = reduce_terrain(&Terrain::from_metres(Grid::new([4, 4], 10.0)?, &heights)?, [2, 2])?;
/// assert_eq!(coarse.grid.cell, 20.0);
/// assert!((coarse.ground[(0, 0)].metres() - 2.5).abs() < 1e-4);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn reduce_terrain(terrain: &Terrain, size: Size) -> Result<Terrain> {
    let old = &terrain.grid;
    check_reduction(old.size, size)?;
    let step = [0, 1].map(|k| old.size[k] as f64 / size[k] as f64);
    let long = usize::from(old.cols() >= old.rows());
    let fits = (old.size[1 - long] as f64 / step[long]).round().max(1.0);
    if (size[1 - long] as f64 - fits).abs() > 1.0 {
        let mut fitting = size;
        fitting[1 - long] = fits as usize;
        return Err(Error::invalid_value(
            "size",
            format_size(size),
            format!("{}, so that the cells stay square", format_size(fitting)),
        ));
    }
    // The coarse cells begin at the corner of the first fine cell, so only the size of a pixel changes.
    let mut grid = Grid { edges: old.edges, sea_level: old.sea_level, ..Grid::new(size, old.cell * step[long])? };
    grid.georeference = shift_georeference(old, [0.0; 2], [step[long]; 2]);
    filter_terrain(terrain, grid, Kernel::Area, Kernel::Area)
}

/// Reduces a field to `size` cells, each the mean of the area that it covers in the old ones.
///
/// # Errors
/// Returns an error if a side is zero or larger than before.
pub fn reduce_field(field: &Field<f32>, size: Size) -> Result<Field<f32>> {
    check_reduction(field.size(), size)?;
    let [rows, cols] = [0, 1].map(|k| AxisFilter::new(field.size()[k], size[k], Kernel::Area));
    Ok(resample_values(field.size(), |i, j| f64::from(field[(i, j)]), &rows, &cols).map(|x| *x as f32))
}

/// Returns the cells of `window` as a world of their own: its first cell becomes the new world's first. Geographic
/// coordinates stay the same, and table rows with positions are kept if they are inside.
///
/// # Errors
/// Returns an error if the window is empty or extends beyond the terrain. For example, a window that ends at column 110
/// does not fit into a terrain of 100 columns.
///
/// # Examples
/// ```
/// use thalweg_core::{CellRect, Grid, Terrain};
/// use thalweg_render::products::resample::crop_terrain;
///
/// let heights: Vec<f32> = (0..9).map(|k| k as f32).collect();
/// let terrain = Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?;
/// let corner = crop_terrain(&terrain, CellRect::new([1, 1], [2, 2]))?;
/// assert_eq!(corner.ground_metres().as_slice(), [4.0, 5.0, 7.0, 8.0]);
/// assert!(crop_terrain(&terrain, CellRect::new([2, 2], [2, 2])).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn crop_terrain(terrain: &Terrain, window: CellRect) -> Result<Terrain> {
    let grid = cropped_grid(&terrain.grid, window)?;
    let mut part = terrain.copy_window(window);
    let origin = part.grid.origin;
    part.grid = grid;
    for table in part.tables.values_mut() {
        // The copy contains only the rows inside; their cells are now counted from the window's first cell.
        *table = table.map_cells_and_loads(|axis, at| at.wrapping_sub(origin[axis]), |carried| carried);
    }
    Ok(part)
}

/// Returns the grid of [`crop_terrain`], for a map of any size.
///
/// # Errors
/// Returns the errors of [`crop_terrain`].
pub fn cropped_grid(old: &Grid, window: CellRect) -> Result<Grid> {
    let inside = |k: usize| window.start[k].checked_add(window.size()[k]).is_some_and(|end| end <= old.size[k]);
    if window.size().contains(&0) || !inside(0) || !inside(1) {
        let value = format!("{} at row {}, column {}", format_size(window.size()), window.start[0], window.start[1]);
        let allowed = format!("1 × 1 cells or more inside {}", format_size(old.size));
        return Err(Error::invalid_value("window", value, allowed));
    }
    let georeference = shift_georeference(old, window.start.map(|k| k as f64).into(), [1.0; 2]);
    Ok(Grid { georeference, origin: Cell::new(0, 0), world: window.size(), ..old.window(window) })
}

/// Returns rows × columns as text for messages.
fn format_size(size: Size) -> String {
    format!("{} × {} cells (rows × columns)", size[0], size[1])
}

fn check_reduction(old: Size, size: Size) -> Result<()> {
    if size.contains(&0) || size[0] > old[0] || size[1] > old[1] {
        return Err(Error::invalid_value("size", format_size(size), format!("1 × 1 to {}", format_size(old))));
    }
    Ok(())
}

/// Returns the georeference of a grid whose first pixel's corner is `start` pixels (south, east) from that of `old`'s
/// window, with pixels `step` times as large as the old ones.
fn shift_georeference(old: &Grid, start: [f64; 2], step: [f64; 2]) -> Option<Georeference> {
    let mut reference = old.georeference.clone()?;
    // The transform refers to the world's corner, not to the window's.
    // The transform is linear: the corner moves by whole rows and columns, and steps are scaled.
    let [i, j] = [0, 1].map(|k| old.origin[k] as f64 + start[k]);
    reference.transform = reference.transform.map(|[x, x_j, x_i, y, y_j, y_i]| {
        [x + j * x_j + i * x_i, x_j * step[1], x_i * step[0], y + j * y_j + i * y_i, y_j * step[1], y_i * step[0]]
    });
    Some(reference)
}

/// Returns the georeference of `size` cells of `step` old ones, with the same centre. If the shorter side is not a
/// whole number of cells, its ends are off by less than half a cell, because no reader accepts cells that are not
/// square.
fn centre_georeference(old: &Grid, size: Size, step: f64) -> Option<Georeference> {
    shift_georeference(old, [0, 1].map(|k| 0.5 * (old.size[k] as f64 - size[k] as f64 * step)), [step; 2])
}

/// Filters values. A new value that would be computed from any cell without data copies the nearest old value
/// instead.
fn filter_values(
    size: Size,
    nodata: Option<&Field<bool>>,
    rows: &AxisFilter,
    cols: &AxisFilter,
    value: &(dyn Fn(usize, usize) -> f64 + Sync),
) -> Field<f64> {
    let out = resample_values(size, value, rows, cols);
    let Some(mask) = nodata else { return out };
    // A value that any cell without data would enter is not a mean; the nearest old value replaces it.
    let lame = resample_mask(mask, rows, cols);
    Field::from_fn(out.size(), |i, j| if lame[(i, j)] { value(rows.nearest[i], cols.nearest[j]) } else { out[(i, j)] })
}

/// Filters elevation, sediment, mask and layers to `grid`.
fn filter_terrain(terrain: &Terrain, grid: Grid, ground: Kernel, layers: Kernel) -> Result<Terrain> {
    let axes = |kernel| [0, 1].map(|k| AxisFilter::new(terrain.grid.size[k], grid.size[k], kernel));
    let (smooth, convex) = (axes(ground), axes(layers));
    let nodata = terrain.nodata.as_ref();
    let remade = |axes: &[AxisFilter; 2], value: &(dyn Fn(usize, usize) -> f64 + Sync)| {
        filter_values(terrain.grid.size, nodata, &axes[0], &axes[1], value)
    };
    // Heights are filtered in metres and rounded to units once, at the end.
    let heights = |axes: &[AxisFilter; 2], field: &Field<Height>| {
        remade(axes, &|i, j| field[(i, j)].metres()).map(|metres| Height::from_metres_clamped(*metres))
    };
    let layer = |layer: &Layer| {
        let cells = match &layer.cells {
            Cells::Height(field) => Cells::Height(heights(&convex, field)),
            Cells::Float(field) => Cells::Float(remade(&convex, &|i, j| f64::from(field[(i, j)])).map(|x| *x as f32)),
            // The cast saturates.
            Cells::Count(field) => {
                Cells::Count(remade(&convex, &|i, j| f64::from(field[(i, j)])).map(|x| (x + 0.5) as u32))
            }
        };
        layer.with_cells(cells)
    };
    let [rows, cols] = &smooth;
    // Elevations may overshoot under a smooth filter; sediment and layers may not, so they use a convex one.
    let mut out = Terrain::from_ground(grid, heights(&smooth, &terrain.ground))?;
    out.loose = terrain.loose.as_ref().map(|field| heights(&convex, field));
    out.nodata = nodata.map(|mask| Field::from_fn(out.grid.size, |i, j| mask[(rows.nearest[i], cols.nearest[j])]));
    out.layers = terrain.layers.iter().map(|(name, old)| (name.clone(), layer(old))).collect();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::terrain::grid::PixelIs;
    use thalweg_core::terrain::{Column, LayerSpec, Table};

    const CELL: f64 = 12.0;

    fn plane(rows: usize, cols: usize) -> Terrain {
        let mut terrain = Terrain::new(Grid::new([rows, cols], CELL).unwrap());
        let reference = Georeference {
            transform: Some([500_000.0, CELL, 0.0, 4_000_000.0, 0.0, -CELL]),
            pixel: PixelIs::Area,
            ..Georeference::default()
        };
        terrain.grid.georeference = Some(reference);
        for i in 0..rows {
            for j in 0..cols {
                terrain.ground[(i, j)] = Height::from_metres_clamped(100.0 + 3.0 * i as f64 - 1.25 * j as f64);
            }
        }
        terrain
    }

    /// Returns easting and northing of a cell's centre.
    fn place(terrain: &Terrain, i: usize, j: usize) -> [f64; 2] {
        let t = terrain.grid.georeference.as_ref().unwrap().transform.unwrap();
        let (y, x) = (i as f64 + 0.5, j as f64 + 0.5);
        [t[0] + x * t[1] + y * t[2], t[3] + x * t[4] + y * t[5]]
    }

    #[test]
    fn a_plane_is_exact_at_every_size_and_corners_stay() {
        let old = plane(17, 33);
        for size in [[17, 33], [33, 65], [9, 17], [5, 9], [25, 49], [13, 25], [2, 3], [101, 201], [1009, 2017]] {
            let new = resample_terrain(&old, size).unwrap();
            let step = [16.0 / (size[0] - 1) as f64, 32.0 / (size[1] - 1) as f64];
            for i in 0..size[0] {
                for j in 0..size[1] {
                    let want = 100.0 + 3.0 * i as f64 * step[0] - 1.25 * j as f64 * step[1];
                    // Rounded once from f64 to units of 1/65 536 m.
                    let error = (new.ground[(i, j)].metres() - want).abs();
                    assert!(error <= 0.51 / 65_536.0, "{size:?} at {i}, {j}: {error}");
                }
            }
            for corner in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let at = |t: &Terrain| place(t, corner.0 * (t.grid.rows() - 1), corner.1 * (t.grid.cols() - 1));
                let ([x, y], [u, v]) = (at(&old), at(&new));
                assert!((x - u).abs() < 1e-6 && (y - v).abs() < 1e-6, "{size:?}: {x} {y} became {u} {v}");
            }
            assert!((new.grid.cell - CELL * step[1]).abs() < 1e-9);
        }
    }

    #[test]
    fn low_pass_takes_what_the_new_grid_cannot_hold() {
        // Stripes one cell wide average out at a quarter of the resolution; picking samples would keep one of the two
        // values.
        let mut terrain = plane(65, 65);
        terrain.ground =
            Field::from_fn([65, 65], |_, j| Height::from_metres_clamped(if j % 2 == 0 { 0.0 } else { 100.0 }));
        let small = resample_terrain(&terrain, [17, 17]).unwrap();
        for j in 1..16 {
            assert!((small.ground[(8, j)].metres() - 50.0).abs() < 1.0, "{:?}", small.ground[(8, j)]);
        }
    }

    #[test]
    fn reducing_keeps_the_mean_and_the_corner() {
        let mut terrain = plane(30, 42);
        for k in 0..30 {
            terrain.ground[(k, (k * 11) % 42)] = Height::from_metres_clamped(700.0);
        }
        let mean =
            |field: &Field<f32>| field.as_slice().iter().map(|x| f64::from(*x)).sum::<f64>() / field.len() as f64;
        let field = terrain.ground_metres();
        for size in [[15, 21], [10, 14], [7, 10], [1, 1], [30, 42]] {
            let small = reduce_field(&field, size).unwrap();
            // Each cell is rounded to f32: 3e-5 m at 500 m.
            assert!((mean(&small) - mean(&field)).abs() < 1e-4, "{size:?}");
            let new = reduce_terrain(&terrain, size).unwrap();
            assert!((mean(&new.ground_metres()) - mean(&field)).abs() < 1e-4);
            let t = new.grid.georeference.unwrap().transform.unwrap();
            assert_eq!((t[0], t[3]), (500_000.0, 4_000_000.0));
            assert!((t[1] * size[1] as f64 - 42.0 * CELL).abs() < 1e-9);
        }
        assert!(reduce_field(&field, [31, 42]).is_err() && reduce_field(&field, [0, 1]).is_err());
        assert!(reduce_terrain(&terrain, [15, 10]).is_err());
    }

    #[test]
    fn holes_take_the_nearest_cell() {
        let mut terrain = plane(9, 9);
        terrain.nodata = Some(Field::from_fn([9, 9], |i, j| i == 4 && j == 4));
        terrain.ground[(4, 4)] = Height::from_metres_clamped(-9999.0);
        for size in [[17, 17], [5, 5], [3, 3]] {
            let new = resample_terrain(&terrain, size).unwrap();
            let step = 8.0 / (size[0] - 1) as f64;
            for i in 0..size[0] {
                for j in 0..size[1] {
                    let near = |k: usize| (k as f64 * step + 0.5) as usize;
                    assert_eq!(new.is_nodata(i, j), (near(i), near(j)) == (4, 4));
                    if !new.is_nodata(i, j) {
                        assert!(new.ground[(i, j)].metres() > 80.0, "the hole's value leaked");
                    }
                }
            }
        }
    }

    #[test]
    fn layers_stay_in_range() {
        const HARD: LayerSpec = LayerSpec::floats("hard", "1", "");
        const SEEN: LayerSpec = LayerSpec::counts("seen", "1", "");
        let mut terrain = plane(9, 9);
        let block = |i: usize, j: usize| (3..6).contains(&i) && (3..6).contains(&j);
        terrain.loose =
            Some(Field::from_fn([9, 9], |i, j| Height::from_metres_clamped(if block(i, j) { 5.0 } else { 0.0 })));
        terrain
            .insert_layer(&HARD, Cells::Float(Field::from_fn([9, 9], |i, j| if block(i, j) { 1.0 } else { 0.0 })))
            .unwrap();
        terrain.insert_layer(&SEEN, Cells::Count(Field::new([9, 9], 7))).unwrap();
        for size in [[33, 33], [5, 5]] {
            let new = resample_terrain(&terrain, size).unwrap();
            assert!(new.float_layer(&HARD).unwrap().as_slice().iter().all(|h| (0.0..=1.0).contains(h)));
            assert!(new.loose.as_ref().unwrap().as_slice().iter().all(|h| (0..=5 * 65_536).contains(&h.0)));
            assert_eq!(new.layers["seen"].cells, Cells::Count(Field::new(size, 7)));
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let terrain = plane(17, 33);
        for size in [[17, 17], [0, 5], [64, 65]] {
            assert!(resample_terrain(&terrain, size).is_err(), "{size:?}");
        }
        for (old, size) in [([1, 1], [1, 1]), ([1, 9], [1, 33]), ([9, 1], [5, 1]), ([2, 3], [3, 5]), ([17, 17], [1, 1])]
        {
            assert_eq!(resample_terrain(&plane(old[0], old[1]), size).unwrap().grid.size, size);
        }
    }

    #[test]
    fn a_cut_keeps_its_place_on_earth() {
        let mut terrain = plane(17, 33);
        let ints = |v: [i64; 2]| Column::Int(v.to_vec());
        let columns = vec![("row".into(), "1".into(), ints([6, 1])), ("column".into(), "1".into(), ints([11, 1]))];
        terrain.tables.insert("things".into(), Table { columns });
        let part = crop_terrain(&terrain, CellRect::new([5, 10], [4, 6])).unwrap();
        assert_eq!((part.grid.origin, part.grid.world, part.grid.size), (Cell::new(0, 0), [4, 6], [4, 6]));
        assert_eq!(part.ground[(1, 2)], terrain.ground[(6, 12)]);
        assert_eq!(place(&part, 1, 2), place(&terrain, 6, 12));
        assert_eq!(
            (part.tables["things"].int_column("row"), part.tables["things"].int_column("column")),
            (Some(&[1][..]), Some(&[1][..]))
        );
        for bad in [([0, 0], [0, 3]), ([16, 0], [2, 2]), ([0, usize::MAX], [1, 2])] {
            assert!(crop_terrain(&terrain, CellRect::new(bad.0, bad.1)).is_err());
        }
    }
}
