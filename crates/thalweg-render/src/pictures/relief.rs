//! [`Relief`]: a terrain prepared for drawing: in metres, without holes, at the resolution of the picture.

use std::ops::Range;

use rayon::prelude::*;

use crate::pictures::light::horn_gradient;
use crate::pictures::sample::{interpolate_bilinear, quantile_of_sorted};
use crate::pictures::water::Water;
use thalweg_core::terrain::WATER;
use thalweg_core::terrain::filter::{AxisFilter, Kernel, resample_values};
use thalweg_core::{Error, Field, Height, Result, Size, Terrain};

/// The largest number of cells that are sampled for quantiles and mean slopes; enough for both to a fraction of a per
/// cent.
const SAMPLE: usize = 1 << 16;

/// The root mean square slope at which relief is most readable under a sun at 45°, judged by eye on real terrain.
const READABLE: f64 = 0.85;

/// Elevation, water and holes of a terrain.
#[derive(Debug, Clone)]
pub struct Relief {
    /// The elevation of the ground, or of the ice on it, in metres. Cells without data are filled smoothly from their
    /// surroundings, so that they can be lit.
    pub heights: Field<f32>,
    /// True where there is no data.
    pub nodata: Option<Field<bool>>,
    /// The depth of water over the ground in metres; NaN is dry.
    pub water: Option<Field<f32>>,
    /// The level of standing water in metres, in its cells and in higher cells adjacent to them; NaN elsewhere.
    pub pools: Option<Field<f32>>,
    /// The thickness of ice in metres: its base is this far below [`Relief::heights`].
    pub ice: Option<Field<f32>>,
    /// The side of a cell, south and east, in metres.
    pub cell: [f32; 2],
    /// The sea level in metres, below which terrain is submerged; `None` if there is no sea.
    pub sea: Option<f32>,
}

impl Relief {
    /// Creates the relief of a terrain, with `water` (depths in metres) over it.
    ///
    /// # Errors
    /// Returns an error if the size of `water` differs from the terrain's.
    pub fn new(terrain: &Terrain, water: Option<&Field<f32>>) -> Result<Self> {
        if let Some(water) = water.filter(|w| w.size() != terrain.ground.size()) {
            let [[rows, cols], [want_rows, want_cols]] = [water.size(), terrain.ground.size()];
            return Err(Error::invalid_layer(
                WATER.name,
                format!("is {rows} × {cols} cells; the terrain is {want_rows} × {want_cols}"),
            ));
        }
        // Holes are filled before lighting, because slopes at their edges would otherwise have no neighbours.
        let heights = match &terrain.nodata {
            Some(mask) => fill_holes(terrain.ground_metres(), &mask.map(|hole| !hole)),
            None => terrain.ground_metres(),
        };
        Ok(Self {
            heights,
            nodata: terrain.nodata.clone(),
            water: water.cloned(),
            pools: None,
            ice: None,
            cell: [terrain.grid.cell as f32; 2],
            sea: terrain.grid.sea_level.map(|level| level.metres_f32()),
        })
    }

    /// Creates the relief of a terrain with all its water and ice.
    ///
    /// # Errors
    /// Returns the errors of [`Water::check`].
    pub fn with_water(terrain: &Terrain, water: &Water<'_>) -> Result<Self> {
        water.check(terrain)?;
        let pools = water.drawn_pools().map(|lakes| compute_pool_levels(&terrain.ground, &lakes));
        let mut relief = Self { pools, ..Self::new(terrain, water.depth)? };
        // Ice without any thickness is treated as absent, so that the faster path without ice applies.
        if let Some(ice) = water.ice.filter(|ice| ice.as_slice().iter().any(|thickness| thickness.0 > 0)) {
            let ice = ice.map(|thickness| thickness.metres_f32().max(0.0));
            // Light falls on the surface of the ice, so that surface becomes the height.
            relief.heights.as_mut_slice().iter_mut().zip(ice.as_slice()).for_each(|(height, ice)| *height += ice);
            relief.ice = Some(ice);
        }
        Ok(relief)
    }

    /// Returns the visible thickness of the ice in cell (i, j) in metres: 0 if there is water over it.
    pub fn visible_ice_thickness(&self, i: usize, j: usize) -> f32 {
        let thickness = self.ice.as_ref().map_or(0.0, |ice| ice[(i, j)]);
        if thickness > 0.0 && self.water_depth(i, j) <= 0.0 { thickness } else { 0.0 }
    }

    /// Returns the numbers of rows and columns.
    pub fn size(&self) -> Size {
        self.heights.size()
    }

    /// Returns true if cell (i, j) has no data.
    pub fn is_hole(&self, i: usize, j: usize) -> bool {
        self.nodata.as_ref().is_some_and(|mask| mask[(i, j)])
    }

    /// Returns the depth of water over cell (i, j) in metres: of the sea, a pool, or the water layer, whichever is
    /// greatest; 0 if it is dry.
    pub fn water_depth(&self, i: usize, j: usize) -> f32 {
        let sea = self.sea.map_or(0.0, |level| level - self.heights[(i, j)]);
        let layer = self.water.as_ref().map_or(0.0, |water| water[(i, j)]);
        // NaN counts as dry.
        self.pool_depth(i, j).max(sea).max(layer).max(0.0)
    }

    /// Returns the depth of standing water over cell (i, j) in metres, negative on a shore; NaN if there is none
    /// near.
    pub fn pool_depth(&self, i: usize, j: usize) -> f32 {
        self.pools.as_ref().map_or(f32::NAN, |level| level[(i, j)] - self.heights[(i, j)])
    }

    /// Returns the share of cell (i, j) that standing water covers, 0 to 1, assuming that the ground in the cell has
    /// the local slope.
    pub fn flooded_share(&self, i: usize, j: usize) -> f32 {
        let depth = self.pool_depth(i, j);
        if depth.is_nan() {
            return 0.0;
        }
        let [east, north] = horn_gradient(&self.heights, self.cell, i, j);
        // The cell is treated as a plane. At a depth of 0 in its centre half of it is flooded, and all of it once the
        // depth reaches half of the rise across the cell.
        let (across, down) = (east * self.cell[1], north * self.cell[0]);
        let rise = (across * across + down * down).sqrt().max(1e-6);
        (0.5 + depth / rise).clamp(0.0, 1.0)
    }

    /// Returns the share of cell (i, j) that sea or standing water covers, 0 to 1.
    pub fn open_water(&self, i: usize, j: usize) -> f32 {
        let sunk = self.sea.is_some_and(|level| self.heights[(i, j)] < level);
        if sunk { 1.0 } else { self.flooded_share(i, j) }
    }

    /// Returns the relief with other samples over the same extent, whose first and last samples coincide with the old
    /// ones.
    #[must_use]
    pub fn resized(&self, size: Size) -> Self {
        if size == self.size() {
            return self.clone();
        }
        // Heights are interpolated smoothly, water and ice convexly, because a smooth filter could make depths
        // negative.
        let axes = |kernel| [0, 1].map(|k| AxisFilter::new(self.size()[k], size[k], kernel));
        let smooth = axes(Kernel::Smooth);
        let resize = |field: &Field<f32>, [rows, cols]: &[AxisFilter; 2]| {
            resample_values(field.size(), |i, j| f64::from(field[(i, j)]), rows, cols).map(|x| *x as f32)
        };
        let nearest =
            |mask: &Field<bool>| Field::from_fn(size, |i, j| mask[(smooth[0].nearest[i], smooth[1].nearest[j])]);
        let scale = |k: usize| (self.size()[k] as f32 - 1.0) / (size[k] as f32 - 1.0).max(1.0);
        Self {
            heights: resize(&self.heights, &smooth),
            nodata: self.nodata.as_ref().map(nearest),
            water: self.water.as_ref().map(|water| resize(water, &axes(Kernel::Convex))),
            // Levels are horizontal; the shore is where they meet the finer terrain.
            pools: self
                .pools
                .as_ref()
                .map(|level| Field::from_fn(size, |i, j| level[(smooth[0].nearest[i], smooth[1].nearest[j])])),
            ice: self.ice.as_ref().map(|ice| resize(ice, &axes(Kernel::Convex))),
            // A direction with one sample has no intervals to rescale.
            cell: [0, 1].map(|k| if self.size()[k] > 1 { self.cell[k] * scale(k) } else { self.cell[k] }),
            sea: self.sea,
        }
    }

    /// Returns the values of `of` for cells with data (row, column), in ascending order; for a regular sample if
    /// there are many cells. Cells for which it returns `None` are left out.
    pub fn sorted_values(&self, of: impl Fn(usize, usize) -> Option<f32>) -> Vec<f32> {
        let [rows, cols] = self.size();
        let mut values: Vec<f32> = (0..rows * cols)
            // A regular sample, not a random one, gives the same values on any machine.
            .step_by(sampling_stride(rows * cols, cols))
            .map(|k| (k / cols, k % cols))
            .filter(|&(i, j)| !self.is_hole(i, j))
            .filter_map(|(i, j)| of(i, j))
            .collect();
        values.sort_by(f32::total_cmp);
        values
    }

    /// Returns the elevation range of dry land for the colour ramp, [low, high] in metres: the 0.5 % and 99.5 %
    /// quantiles, so that a spike does not use up the colours, extended by a fiftieth at both ends; low < high
    /// always.
    pub fn colour_range(&self) -> [f32; 2] {
        ReliefStatistics::from_relief(self).colour_range(self.sea)
    }

    /// Returns the lowest ground and the highest surface, water included, in metres, in this order; zeros if there is
    /// no data at all.
    pub fn height_extremes(&self) -> [f32; 2] {
        let [rows, cols] = self.size();
        let cells = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))).filter(|&(i, j)| !self.is_hole(i, j));
        let span = cells.fold([f32::MAX, f32::MIN], |[low, high], (i, j)| {
            let ground = self.heights[(i, j)];
            [low.min(ground), high.max(ground + self.water_depth(i, j))]
        });
        // Without any data the fold keeps its start values, which are in the wrong order.
        if span[0] <= span[1] { span } else { [0.0; 2] }
    }

    /// Returns the factor on heights at which lighting shows the relief well: the steepness (root mean square slope)
    /// becomes 0.85. It is between 0.02 and 40; 1 on flat terrain.
    pub fn choose_exaggeration(&self) -> f64 {
        ReliefStatistics::from_relief(self).choose_exaggeration()
    }
}

/// The statistics of a whole relief that are needed before it is drawn, from a regular sample if there are many
/// cells.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReliefStatistics {
    dry: Vec<f32>,
    depths: Vec<f32>,
    squares: f64,
    count: u32,
}

impl ReliefStatistics {
    /// Computes the statistics of a relief in memory.
    pub fn from_relief(relief: &Relief) -> Self {
        let mut sampled = Self::default();
        sampled.add_rows(relief, relief.size(), 0, 0..relief.heights.rows());
        sampled.sort_samples();
        sampled
    }

    /// Adds some rows of a map of `size`. `relief` contains the map's rows from `first` on: at least these rows, and
    /// the one below the last. Rows must be added in order.
    pub fn add_rows(&mut self, relief: &Relief, [rows, cols]: Size, first: usize, some: Range<usize>) {
        let step = sampling_stride(rows * cols, cols);
        // The first sampled cell at or after the start continues the map's interval, so that bands sample the same
        // cells.
        let from = (some.start * cols).next_multiple_of(step);
        for k in (from..some.end * cols).step_by(step) {
            let (i, j) = (k / cols - first, k % cols);
            if relief.is_hole(i, j) {
                continue;
            }
            let here = relief.heights[(i, j)];
            match relief.sea.filter(|sea| here < *sea) {
                Some(sea) => self.depths.push(sea - here),
                None => self.dry.push(here),
            }
            // Slopes are measured on dry land only, between a cell and its neighbours in the south and east.
            if first + i + 1 < rows && j + 1 < cols && relief.water_depth(i, j) <= 0.0 {
                let south = f64::from((relief.heights[(i + 1, j)] - here) / relief.cell[0]);
                let east = f64::from((relief.heights[(i, j + 1)] - here) / relief.cell[1]);
                // The squares are summed in the order of rows, so that bands give the same bits as the whole map.
                self.squares += south * south + east * east;
                self.count += 1;
            }
        }
    }

    /// Finishes the sampling by sorting the values.
    pub fn sort_samples(&mut self) {
        self.dry.sort_by(f32::total_cmp);
        self.depths.sort_by(f32::total_cmp);
    }

    /// See [`Relief::colour_range`].
    pub fn colour_range(&self, sea: Option<f32>) -> [f32; 2] {
        let none = [sea.unwrap_or(0.0)];
        let values = if self.dry.is_empty() { &none[..] } else { &self.dry };
        let (low, high) = (quantile_of_sorted(values, 0.005), quantile_of_sorted(values, 0.995));
        // Flat terrain gets the lower part of the ramp, a range of one metre.
        let more = (high - low) / 50.0;
        if high > low { [low - more, high + more] } else { [low - 0.25, low + 0.75] }
    }

    /// See [`Relief::choose_exaggeration`].
    pub fn choose_exaggeration(&self) -> f64 {
        let steepness = (self.squares / f64::from(self.count.max(1))).sqrt();
        if steepness > 0.0 { (READABLE / steepness).clamp(0.02, 40.0) } else { 1.0 }
    }

    /// Returns the depth in metres at which the sea is darkest.
    pub fn darkest_sea_depth(&self) -> f32 {
        quantile_of_sorted(&self.depths, 0.995).max(1.0)
    }
}

/// Returns the levels in metres of standing water with depths `pools`: in wet cells, and in adjacent dry ones whose
/// ground is at least as high, so that a shore can be drawn between the two; NaN elsewhere.
pub fn compute_pool_levels(ground: &Field<Height>, pools: &Field<Height>) -> Field<f32> {
    let [rows, cols] = ground.size();
    let level =
        // The sum of two heights of 32 bits can exceed 32 bits.
        |i: usize, j: usize| (pools[(i, j)].0 > 0).then(|| i64::from(ground[(i, j)].0) + i64::from(pools[(i, j)].0));
    Field::from_fn([rows, cols], |i, j| {
        let here = i64::from(ground[(i, j)].0);
        let adjacent_level = || {
            let near = (i.saturating_sub(1)..(i + 2).min(rows))
                .flat_map(|r| (j.saturating_sub(1)..(j + 2).min(cols)).map(move |c| (r, c)));
            // A dry cell takes a neighbouring level only if its ground is at least as high; the highest level is taken,
            // so that the result does not depend on the order of neighbours.
            near.filter_map(|(r, c)| level(r, c)).filter(|level| *level <= here).max()
        };
        let units = level(i, j).or_else(adjacent_level);
        units.map_or(f32::NAN, |units| (units as f64 / thalweg_core::terrain::height::UNITS) as f32)
    })
}

/// Returns the sampling interval in cells. It is not a divisor of the row length, because then only a few columns
/// would be sampled.
fn sampling_stride(cells: usize, cols: usize) -> usize {
    let step = (cells / SAMPLE).max(1);
    if step > 1 && cols.is_multiple_of(step) { step + 1 } else { step }
}

/// Fills cells that are not `known` from successively coarser means of those that are (pull-push, Gortler et al.
/// 1996); zero if none is known.
pub fn fill_holes(mut values: Field<f32>, known: &Field<bool>) -> Field<f32> {
    let [rows, cols] = values.size();
    // The recursion ends when all cells are known, at the latest at a mean of all cells.
    if known.as_slice().iter().all(|k| *k) {
        return values;
    }
    if !known.as_slice().iter().any(|k| *k) {
        return Field::new([rows, cols], 0.0);
    }
    let (mean, some) = known_means(&values, known);
    fill_between(&mut values, known, &fill_holes(mean, &some));
    values
}

/// Returns the means of the known cells among each four, and where there is at least one.
pub(crate) fn known_means(values: &Field<f32>, known: &Field<bool>) -> (Field<f32>, Field<bool>) {
    let [rows, cols] = values.size();
    let half = [rows.div_ceil(2), cols.div_ceil(2)];
    let children = |i: usize, j: usize| {
        let cells = [(2 * i, 2 * j), (2 * i, 2 * j + 1), (2 * i + 1, 2 * j), (2 * i + 1, 2 * j + 1)];
        cells.into_iter().filter(|&(r, c)| r < rows && c < cols && known[(r, c)])
    };
    let mean = Field::from_fn(half, |i, j| {
        let (sum, n) = children(i, j).fold((0.0, 0.0), |(sum, n), cell| (sum + values[cell], n + 1.0));
        if n > 0.0 { sum / n } else { 0.0f32 }
    });
    (mean, Field::from_fn(half, |i, j| children(i, j).next().is_some()))
}

/// Fills cells that are not `known` by interpolation between those of `coarse`, which are twice as wide.
pub(crate) fn fill_between(values: &mut Field<f32>, known: &Field<bool>, coarse: &Field<f32>) {
    values.par_rows_mut().for_each(|(i, row)| {
        for (j, value) in row.iter_mut().enumerate().filter(|(j, _)| !known[(i, *j)]) {
            *value = interpolate_bilinear(coarse, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{Grid, Height};

    #[test]
    fn holes_are_filled_between_their_neighbours() {
        let land = Field::from_fn([20, 20], |i, j| (10 * i + j) as f32);
        let known = Field::from_fn([20, 20], |i, j| !(5..9).contains(&i) || !(5..15).contains(&j));
        let filled = fill_holes(land.clone(), &known);
        for i in 0..20 {
            for j in 0..20 {
                // A cell in a hole is a mean of known cells at most two levels coarser, within 16 cells.
                assert!((filled[(i, j)] - land[(i, j)]).abs() <= if known[(i, j)] { 0.0 } else { 60.0 });
            }
        }
        assert_eq!(fill_holes(land.clone(), &Field::new([20, 20], false)), Field::new([20, 20], 0.0));
    }

    #[test]
    fn range_ignores_spikes_and_is_never_empty() {
        let mut terrain = Terrain::new(Grid::new([60, 60], 10.0).unwrap());
        for i in 0..60 {
            terrain.ground.row_mut(i).fill(Height::from_metres_clamped(i as f64));
        }
        terrain.ground[(3, 3)] = Height::from_metres_clamped(9000.0);
        let [low, high] = Relief::new(&terrain, None).unwrap().colour_range();
        assert!((-1.5..=0.0).contains(&low) && (58.0..=60.5).contains(&high), "{low} {high}");
        let flat = Relief::new(&Terrain::new(Grid::new([1, 1], 10.0).unwrap()), None).unwrap();
        let [low, high] = flat.colour_range();
        assert!(low < high && flat.choose_exaggeration() == 1.0);
    }

    #[test]
    fn resizing_keeps_extent_and_plane() {
        let mut terrain = Terrain::new(Grid::new([11, 21], 10.0).unwrap());
        for i in 0..11 {
            for j in 0..21 {
                terrain.ground[(i, j)] = Height::from_metres_clamped(2.0 * i as f64 + j as f64);
            }
        }
        let relief = Relief::new(&terrain, None).unwrap();
        for size in [[6, 11], [21, 41], [2, 2]] {
            let small = relief.resized(size);
            let extent = |r: &Relief, k: usize| r.cell[k] * (r.size()[k] - 1) as f32;
            assert!((extent(&small, 0) - 100.0).abs() < 1e-3 && (extent(&small, 1) - 200.0).abs() < 1e-3);
            assert!((small.heights[(size[0] - 1, size[1] - 1)] - 40.0).abs() < 1e-4);
        }
    }
}
