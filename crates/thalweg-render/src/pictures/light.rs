//! Illumination of terrain: Lambert's law, open sky and cast shadows.

use multiversion::multiversion;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::pictures::sample::finer_row;
use thalweg_core::{Error, Field, Result, Size};
use thalweg_flow::D8;

/// The position of the sun. For example, an azimuth of 90° and an altitude of 10° are a low sun in the east.
///
/// # Examples
/// ```
/// use thalweg_render::pictures::light::Sun;
///
/// let noon = Sun { azimuth: 180.0, altitude: 30.0 };
/// let [east, north, up] = noon.direction();
/// assert!(east.abs() < 1e-6 && north < 0.0 && (up - 0.5).abs() < 1e-6);
/// assert!(Sun { altitude: 0.0, ..noon }.check().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sun {
    /// The azimuth in degrees clockwise from north, −360 to 360.
    pub azimuth: f64,
    /// The altitude in degrees above the horizon, 1 to 90.
    pub altitude: f64,
}

impl Default for Sun {
    /// Returns a sun in the north-west at 45°, the convention of cartography.
    fn default() -> Self {
        Self { azimuth: 315.0, altitude: 45.0 }
    }
}

impl Sun {
    /// Checks that the position is one that can be drawn.
    ///
    /// # Errors
    /// Returns an error if the azimuth is not within ±360° or the altitude not within 1° to 90°.
    pub fn check(&self) -> Result<()> {
        if !(-360.0..=360.0).contains(&self.azimuth) {
            return Err(Error::invalid_value("sun azimuth", format!("{}°", self.azimuth), "-360 to 360°"));
        }
        if !(1.0..=90.0).contains(&self.altitude) {
            return Err(Error::invalid_value("sun altitude", format!("{}°", self.altitude), "1 to 90°"));
        }
        Ok(())
    }

    /// Returns the unit vector towards the sun: east, north, up.
    pub fn direction(&self) -> [f32; 3] {
        let (azimuth, altitude) = (self.azimuth.to_radians(), self.altitude.to_radians());
        let flat = libm::cos(altitude);
        [(libm::sin(azimuth) * flat) as f32, (libm::cos(azimuth) * flat) as f32, libm::sin(altitude) as f32]
    }
}

/// Returns the rise per metre eastward and northward at (i, j), after Horn (1981), for heights in metres on cells of
/// `cell` metres (southward, eastward); one-sided at the edges. The result is exact on planes.
pub fn horn_gradient(heights: &Field<f32>, cell: [f32; 2], i: usize, j: usize) -> [f32; 2] {
    let (north, south) = (i.saturating_sub(1), (i + 1).min(heights.rows() - 1));
    let (west, east) = (j.saturating_sub(1), (j + 1).min(heights.cols() - 1));
    let (top, here, bottom) = (heights.row(north), heights.row(i), heights.row(south));
    // Horn's weights 1, 2 and 1 sum to 4; the span of two cells makes the divisor 8 cells inside the map.
    let rise = |a: [f32; 3], b: [f32; 3]| (b[0] - a[0]) + 2.0 * (b[1] - a[1]) + (b[2] - a[2]);
    let eastward = rise([top[west], here[west], bottom[west]], [top[east], here[east], bottom[east]]);
    let northward = rise([bottom[west], bottom[j], bottom[east]], [top[west], top[j], top[east]]);
    // At an edge the cell itself replaces the neighbour that is missing, and the span is one cell. A map of one row or
    // column has a span of zero, and the rise is 0 as well.
    let span = |from: usize, to: usize, cell: f32| ((to - from).max(1) as f32) * 4.0 * cell;
    [eastward / span(west, east, cell[1]), northward / span(north, south, cell[0])]
}

/// Returns the unit normal (east, north, up) of a surface with the given rise per metre eastward and northward.
pub fn surface_normal([east, north]: [f32; 2]) -> [f32; 3] {
    let length = (east * east + north * north + 1.0).sqrt();
    [-east / length, -north / length, 1.0 / length]
}

/// Returns the reflection by Lambert's law: the cosine between normal and light, both unit vectors, or 0 where the
/// surface faces away.
pub fn lambert_reflectance(normal: [f32; 3], light: [f32; 3]) -> f32 {
    (normal[0] * light[0] + normal[1] * light[1] + normal[2] * light[2]).max(0.0)
}

/// Returns the plain hillshade: each cell's [`lambert_reflectance`] value in 0..1, for heights (metres) multiplied by
/// `exaggeration` over cells of `cell` metres (southward, eastward). For example, an exaggeration of 2 shades a slope
/// of 10 % like one of 20 %.
///
/// # Examples
/// A slope of 45° that faces west reflects all light of a sun at 45° in the west, and none of one in the east.
///
/// ```
/// use thalweg_core::Field;
/// use thalweg_render::pictures::light::{Sun, hillshade};
///
/// let slope = Field::from_fn([3, 3], |_, j| 10.0 * j as f32);
/// let lit = |azimuth| hillshade(&slope, [10.0; 2], Sun { azimuth, altitude: 45.0 }, 1.0)[(1, 1)];
/// let (west, east) = (lit(270.0), lit(90.0));
/// assert!((west - 1.0).abs() < 1e-6 && east < 1e-6);
/// ```
pub fn hillshade(heights: &Field<f32>, cell: [f32; 2], sun: Sun, exaggeration: f32) -> Field<f32> {
    let light = sun.direction();
    Field::from_fn(heights.size(), |i, j| {
        lambert_reflectance(surface_normal(horn_gradient(heights, cell, i, j).map(|g| g * exaggeration)), light)
    })
}

/// Returns the share of the sky, 0 to 1, that is visible from the surface over hills larger than two cells, at half
/// the resolution, with rows and columns rounded up. Successively coarser means of the heights each subtract the sky
/// below their horizons in eight directions (the cosine-weighted view factor 1 − sin² of the horizon, as in Zakšek et
/// al. 2011, but one scale after another instead of along whole rays). Heights and cells are as for [`hillshade`].
pub fn compute_sky_view(heights: &Field<f32>, cell: [f32; 2], exaggeration: f32) -> Field<f32> {
    let levels = build_mean_pyramid(heights, count_halvings(heights.size()));
    open_sky(&levels, 0, None, cell, exaggeration).unwrap_or_else(|| Field::new(heights.size(), 1.0))
}

/// Returns the number of coarser levels that [`compute_sky_view`] uses.
pub fn count_halvings(size: Size) -> usize {
    // A level is added while the one before has more than four cells on its shorter side; there are at most seven
    // levels, which are means of 2 to 128 cells.
    let sizes = std::iter::successors(Some(size.map(|n| n.div_ceil(2))), |size| Some(size.map(|n| n.div_ceil(2))));
    1 + sizes.take(6).take_while(|[rows, cols]| *rows.min(cols) > 4).count()
}

/// Returns successively coarser means of a field, each with cells twice as wide.
pub fn build_mean_pyramid(field: &Field<f32>, count: usize) -> Vec<Field<f32>> {
    let mut levels: Vec<Field<f32>> = Vec::with_capacity(count);
    for _ in 0..count {
        let next = halve_resolution(levels.last().unwrap_or(field));
        levels.push(next);
    }
    levels
}

/// Returns the visible share of the sky at the resolution of `levels[0]`. `levels` come after `finer` finer levels;
/// `above` is the share that is visible over hills larger than all of them.
pub(crate) fn open_sky(
    levels: &[Field<f32>],
    finer: usize,
    above: Option<Field<f32>>,
    cell: [f32; 2],
    exaggeration: f32,
) -> Option<Field<f32>> {
    let mut open = above;
    // The levels are processed from the coarsest to the finest; each begins with the sky that larger hills leave open.
    for (k, level) in levels.iter().enumerate().rev() {
        // The cells' width is divided by the exaggeration, which is the same as multiplying all heights by it.
        let reach = [0, 1].map(|axis| cell[axis] * (2u32 << (finer + k)) as f32 / exaggeration);
        let coarser = open.take();
        let mut seen = Field::new(level.size(), 1.0);
        seen.par_rows_mut().for_each_init(
            || SurroundingRows::new(level.cols()),
            |around, (i, row)| {
                if let Some(coarser) = &coarser {
                    finer_row(coarser, i, row);
                }
                around.read_rows(level, i);
                reduce_open_sky(around, reach, row);
            },
        );
        open = Some(seen);
    }
    open
}

/// A row of a map with two adjacent rows and two adjacent cells on each side. Cells beyond the map are at −∞ and hide
/// nothing.
struct SurroundingRows {
    rows: [Vec<f32>; 5],
    /// The hidden share of the sky, summed over directions.
    sum: Vec<f32>,
}

impl SurroundingRows {
    fn new(cols: usize) -> Self {
        Self { rows: std::array::from_fn(|_| vec![f32::NEG_INFINITY; cols + 4]), sum: vec![0.0; cols] }
    }

    /// Reads row `i` and its surroundings.
    fn read_rows(&mut self, level: &Field<f32>, i: usize) {
        for (k, row) in self.rows.iter_mut().enumerate() {
            let cells = 2..row.len() - 2;
            match (i + k).checked_sub(2).filter(|r| *r < level.rows()) {
                Some(r) => row[cells].copy_from_slice(level.row(r)),
                None => row.fill(f32::NEG_INFINITY),
            }
        }
    }
}

/// The neighbours clockwise from the north, not in the order of their codes: [`reduce_open_sky`] adds floating-point
/// numbers in this order, and another order gives different bits.
const FROM_NORTH: [D8; 8] =
    [D8::North, D8::NorthEast, D8::East, D8::SouthEast, D8::South, D8::SouthWest, D8::West, D8::NorthWest];

/// Multiplies `open` by the share of the sky that remains visible at this level: the hidden share is the mean over
/// eight directions of sin² of the horizon formed by the cells at distances one and two, weighted by 0.6.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2"))]
fn reduce_open_sky(SurroundingRows { rows, sum }: &mut SurroundingRows, cell: [f32; 2], open: &mut [f32]) {
    let cols = open.len();
    sum.fill(0.0);
    let here = &rows[2][2..2 + cols];
    for [di, dj] in FROM_NORTH.map(D8::offset) {
        let (down, across) = (di as f32 * cell[0], dj as f32 * cell[1]);
        let square = down * down + across * across;
        let from = |far: isize| (2 + di * far) as usize;
        let at = |far: isize| (2 + dj * far) as usize;
        let (near, far) = (&rows[from(1)][at(1)..at(1) + cols], &rows[from(2)][at(2)..at(2) + cols]);
        for j in 0..cols {
            // Cells at distance two are twice as far away, so their rise is halved before it is compared at distance
            // one.
            let (first, second) = ((near[j] - here[j]).max(0.0), (far[j] - here[j]).max(0.0) / 2.0);
            let horizon = (first * first / square).max(second * second / square); // tan², for rising terrain only
            sum[j] += horizon / (1.0 + horizon);
        }
    }
    // Levels overlap, so that a hill can hide sky at more than one; a weight above 0.6 would darken valleys further.
    for j in 0..cols {
        open[j] *= 1.0 - 0.6 * (sum[j] / 8.0);
    }
}

/// Returns means of 2 × 2 cells; an odd last row or column counts twice.
fn halve_resolution(field: &Field<f32>) -> Field<f32> {
    let [rows, cols] = field.size();
    Field::from_fn([rows.div_ceil(2), cols.div_ceil(2)], |i, j| {
        let (south, east) = ((2 * i + 1).min(rows - 1), (2 * j + 1).min(cols - 1));
        let (a, b) = (field.row(2 * i), field.row(south));
        (a[2 * j] + a[east] + b[2 * j] + b[east]) / 4.0
    })
}

/// Returns the height of the shadow above the surface in metres (before exaggeration), 0 in the sun. The surface that
/// the sun's rays graze is propagated away from the sun row by row (or column by column, whichever its azimuth
/// crosses faster). Heights and cells are as for [`hillshade`].
pub fn cast_shadows(heights: &Field<f32>, cell: [f32; 2], sun: Sun, exaggeration: f32) -> Field<f32> {
    compute_band_shadow(heights, cell, sun, exaggeration, 0, &[]).0
}

/// Returns true if rays come from row 0 and cast shadows on rows further south; otherwise they come from the last
/// row.
pub(crate) fn is_from_north(sun: Sun) -> bool {
    sun.direction()[1] > 0.0
}

/// Computes the same for rows of a map from its row `first` on. `rim` is the grazed surface in the adjacent row that
/// rays cross before these, empty if there is none. Also returns the grazed surface in the last of these rows along
/// the rays.
pub(crate) fn compute_band_shadow(
    heights: &Field<f32>,
    cell: [f32; 2],
    sun: Sun,
    exaggeration: f32,
    first: usize,
    rim: &[f32],
) -> (Field<f32>, Vec<f32>) {
    let [rows, cols] = heights.size();
    let [east, north, up] = sun.direction();
    // The cells that a ray crosses per metre towards the sun; the larger number becomes one cell per step.
    let (down, across) = (-north / cell[0], east / cell[1]);
    let by_rows = down.abs() >= across.abs();
    let (fast, slow) = if by_rows { (down, across) } else { (across, down) };
    let mut out = Field::new([rows, cols], 0.0);
    // A sun in the zenith casts no shadow.
    if fast.abs() < 1e-6 {
        return (out, Vec::new());
    }
    // The index of the adjacent row, for lines that run across it (columns).
    let adjacent_row = if is_from_north(sun) { first.checked_sub(1) } else { Some(first + rows) };
    let own = if is_from_north(sun) { rows - 1 } else { 0 };
    let mut last_row = Vec::new();
    // From line to line, a ray descends by `drop` metres and moves sideways by `drift` cells.
    let (drop, drift) = (up / fast.abs() / exaggeration, slow / fast.abs());
    let (lines, width) = if by_rows { (rows, cols) } else { (cols, rows) };
    let cell_of = |line: usize, k: usize| if by_rows { (line, k) } else { (k, line) };
    // If lines are rows, the first of them continues from the rim; columns receive the rim cell by cell.
    let mut before: Vec<f32> = if by_rows { rim.to_vec() } else { Vec::new() };
    // Columns are numbered along the whole map, so that the interpolation between rays has the same bits in every band.
    let from = if by_rows { 0 } else { first };
    let mut outside: Option<f32> = None;
    // The position of each ray one line before: the cell on its left, and the fraction beyond that.
    let places: Vec<(f32, f32)> = (0..width)
        .map(|k| {
            let at = (from + k) as f32 + drift;
            (at.floor(), at - at.floor())
        })
        .collect();
    for n in 0..lines {
        // From the side of the sun.
        let line = if fast < 0.0 { n } else { lines - 1 - n };
        let grazed = |k: usize| {
            let (left, part) = places[k];
            // Almost all rays begin between two cells of the line before; the general case follows below.
            if left >= from as f32
                && let Some([a, b]) = before.get(left as usize - from..).and_then(<[f32]>::first_chunk)
            {
                return a + (b - a) * part;
            }
            let value = |p: f32| match p >= 0.0 {
                true if !by_rows && Some(p as usize) == adjacent_row => outside,
                true => (p as usize).checked_sub(from).and_then(|k| before.get(k)).copied(),
                false => None,
            };
            // A ray that passes the map's border has one neighbour only. Without any, it comes from outside and grazes
            // nothing.
            match (value(left), value(left + 1.0)) {
                (Some(a), Some(b)) => a + (b - a) * part,
                (Some(a), None) | (None, Some(a)) => a,
                (None, None) => f32::MIN,
            }
        };
        let surface: Vec<f32> = (0..width)
            .into_par_iter()
            // A task has at least 1024 cells, so that short lines are not divided among threads.
            .with_min_len(1024)
            .map(|k| heights[cell_of(line, k)].max(grazed(k) - drop))
            .collect();
        for (k, top) in surface.iter().enumerate() {
            out[cell_of(line, k)] = top - heights[cell_of(line, k)];
        }
        // In columns, the surface in the row beyond this band is known from the rim, and that of the last row is passed
        // on.
        if !by_rows {
            outside = rim.get(line).copied();
            last_row.resize(cols, 0.0);
            last_row[line] = surface[own];
        }
        before = surface;
    }
    (out, if by_rows { before } else { last_row })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::sample::interpolate_bilinear;
    use thalweg_core::base::rng::RandomKey;

    /// A plane that rises by `east` and `north` per metre, with cells of 10 m by 20 m (south, east).
    fn plane(east: f32, north: f32) -> Field<f32> {
        Field::from_fn([9, 7], |i, j| 100.0 + east * 20.0 * j as f32 - north * 10.0 * i as f32)
    }

    /// Computes the result of [`open_sky`] for a cell of the finest level, cell by cell.
    fn plain_sky(levels: &[Field<f32>], cell: [f32; 2], [i, j]: [usize; 2], k: usize) -> f32 {
        let Some(level) = levels.get(k) else { return 1.0 };
        let coarser =
            levels.get(k + 1).map(|next| Field::from_fn(next.size(), |i, j| plain_sky(levels, cell, [i, j], k + 1)));
        let above = coarser.map_or(1.0, |f| interpolate_bilinear(&f, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0));
        let reach = cell.map(|width| width * (2u32 << k) as f32);
        let mut sum = 0.0;
        for [di, dj] in FROM_NORTH.map(D8::offset) {
            let (down, across) = (di as f32 * reach[0], dj as f32 * reach[1]);
            let mut horizon = 0f32;
            for far in 1..=2isize {
                let [r, c] = [i as isize + di * far, j as isize + dj * far];
                if (0..level.rows() as isize).contains(&r) && (0..level.cols() as isize).contains(&c) {
                    let rise = (level[(r as usize, c as usize)] - level[(i, j)]).max(0.0) / far as f32;
                    horizon = horizon.max(rise * rise / (down * down + across * across));
                }
            }
            sum += horizon / (1.0 + horizon);
        }
        above * (1.0 - 0.6 * (sum / 8.0))
    }

    #[test]
    fn the_sky_over_rows_is_that_over_their_cells() {
        for size in [[1, 1], [1, 7], [6, 1], [13, 18]] {
            let key = RandomKey::new(size[1] as u64, "sky");
            let heights = Field::from_fn(size, |i, j| 90.0 * key.for_cell([i as i64, j as i64]).uniform_unit() as f32);
            let levels: Vec<_> = std::iter::once(heights.clone()).chain(build_mean_pyramid(&heights, 2)).collect();
            let sky = open_sky(&levels, 0, None, [20.0, 15.0], 1.0).unwrap();
            for (i, j) in (0..size[0]).flat_map(|i| (0..size[1]).map(move |j| (i, j))) {
                assert_eq!(sky[(i, j)], plain_sky(&levels, [20.0, 15.0], [i, j], 0), "{size:?}: {i}, {j}");
            }
        }
    }

    #[test]
    fn a_plane_facing_the_sun_is_fully_lit() {
        for sun in [Sun::default(), Sun { azimuth: 70.0, altitude: 30.0 }, Sun { azimuth: 200.0, altitude: 80.0 }] {
            let [x, y, z] = sun.direction();
            // The plane's normal is the sun's direction: slope −x/z eastward, −y/z northward.
            let lit = hillshade(&plane(-x / z, -y / z), [10.0, 20.0], sun, 1.0);
            // Heights of about 1000 m in f32 have steps of 6e-5 m over 20 m; the cosine is flat at its maximum.
            assert!(lit.as_slice().iter().all(|l| (l - 1.0).abs() < 1e-4), "{sun:?} {lit:?}");
        }
    }

    #[test]
    fn lamberts_law_on_planes() {
        let sun = Sun { azimuth: 90.0, altitude: 30.0 };
        // Flat: sine of the altitude. Rising westward at 45°: cos 15°. Rising eastward at 45°: it faces away (105°).
        for (east, want) in [(0.0, 0.5), (-1.0, 0.965_926), (1.0, 0.0)] {
            let lit = hillshade(&plane(east, 0.0), [10.0, 20.0], sun, 1.0);
            assert!(lit.as_slice().iter().all(|l| (l - want).abs() < 1e-4), "{east}: {lit:?}");
        }
        // Half the slope with an exaggeration of two equals the slope.
        let lit = hillshade(&plane(-0.5, 0.0), [10.0, 20.0], sun, 2.0);
        assert!(lit.as_slice().iter().all(|l| (l - 0.965_926).abs() < 1e-4));
    }

    #[test]
    fn hillshade_mirrors_with_land_and_sun() {
        let land = Field::from_fn([16, 16], |i, j| ((i * 7 + j * 13) % 11) as f32 + i as f32);
        let turned = Field::from_fn([16, 16], |i, j| land[(i, 15 - j)]);
        let (west, east) = (Sun { azimuth: 300.0, altitude: 40.0 }, Sun { azimuth: 60.0, altitude: 40.0 });
        let (a, b) = (hillshade(&land, [9.0; 2], west, 1.0), hillshade(&turned, [9.0; 2], east, 1.0));
        for i in 0..16 {
            for j in 0..16 {
                // Sines of 300° and 60° differ only in their last bits.
                assert!((a[(i, j)] - b[(i, 15 - j)]).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn shadow_is_as_long_as_the_wall_is_high() {
        // A wall 100 m high in row 30 of 10 m cells: the sun in the south at 45° casts a shadow of 10 cells to the
        // north.
        let land = Field::from_fn([64, 8], |i, _| if i == 30 { 100.0 } else { 0.0 });
        let dark = cast_shadows(&land, [10.0; 2], Sun { azimuth: 180.0, altitude: 45.0 }, 1.0);
        for i in 0..64 {
            let want = if (20..30).contains(&i) { 100.0 - 10.0 * (30 - i) as f32 } else { 0.0 };
            assert!((dark[(i, 4)] - want).abs() < 1e-2, "{i}: {} for {want}", dark[(i, 4)]);
        }
        // The same from the west, by columns; no shadow from the zenith.
        let turned = Field::from_fn([8, 64], |_, j| if j == 30 { 100.0 } else { 0.0 });
        let dark = cast_shadows(&turned, [10.0; 2], Sun { azimuth: 270.0, altitude: 45.0 }, 1.0);
        assert!((dark[(4, 35)] - 50.0).abs() < 1e-2 && dark[(4, 29)] == 0.0 && dark[(4, 41)] == 0.0);
        let dark = cast_shadows(&turned, [10.0; 2], Sun { azimuth: 270.0, altitude: 90.0 }, 1.0);
        assert!(dark.as_slice().iter().all(|d| *d == 0.0));
    }

    #[test]
    fn plains_see_all_the_sky_and_pits_less() {
        let flat = compute_sky_view(&Field::new([40, 30], 7.0), [5.0; 2], 1.0);
        assert!(flat.as_slice().iter().all(|s| *s == 1.0));
        let pit = Field::from_fn([64, 64], |i, j| {
            let (y, x) = (i as f32 - 32.0, j as f32 - 32.0);
            (y * y + x * x).sqrt().min(20.0) * 5.0
        });
        let open = compute_sky_view(&pit, [5.0; 2], 1.0);
        assert!(open[(16, 16)] < 0.6 * open[(2, 2)], "{} {}", open[(16, 16)], open[(2, 2)]);
        assert!(open.as_slice().iter().all(|s| (0.0..=1.0).contains(s)));
        compute_sky_view(&Field::new([1, 1], 3.0), [1.0; 2], 1.0);
    }
}
