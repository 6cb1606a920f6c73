//! A slope limit that no slope exceeds, isotropic in all directions.

use std::iter;
use std::ops::Range;

use multiversion::multiversion;
use rayon::prelude::*;

use crate::process::slopes::{Bounds, Pile, fits};
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Grid, Height, Result, Topology};
use thalweg_noise::fractal::{Fractal, FractalSettings};

/// Rock strata, some of which are stable at steeper slopes than others.
#[derive(Clone, Copy)]
pub struct Bedding<'a> {
    /// The pile of beds, whose weights divide the slope limit.
    pub pile: &'a Pile,
    /// The function that returns the height of the pile's bottom in a cell (row, column), in height units; it is at
    /// most one pile's height away from zero.
    pub bottom: &'a (dyn Fn(usize, usize) -> i64 + Sync),
}

/// Lowers the ground to the highest surface that is nowhere above it and whose gradient nowhere exceeds the limit,
/// |∇z| ≤ tan. Returns the removed volume in units (height × cells).
///
/// `tan` is each cell's limit as rise over run. Negative values and NaN count as 0; a limit that allows more than
/// 16 km from one cell to the next is no limit. `cell` is the width of a cell in metres. Only lower neighbours
/// constrain a cell. The result is the fixed point of z = min(z, u, v), where u solves the eikonal equation with
/// Godunov's scheme, Σ max(0, u − lower neighbour along the axis)² = (tan·cell)² (Zhao 2005,
/// doi:10.1090/S0025-5718-04-01678-3; we sweep along rows back and forth, from north to south and back, but only the
/// cells next to which something has changed). v does the same with the diagonals as axes and cells 1.44 times as
/// wide (two stencils, after Hassouna & Farag 2007, doi:10.1109/TPAMI.2007.1154). A limit between eight neighbours
/// would produce pyramids, and one of the two schemes alone cones with four flat sides: on the first diagonal next to
/// a single low cell u is a fifth too high. Both schemes together produce cones with eight faint sides.
///
/// With `beds`, a cell's limit is that of each bed between its lower neighbours' heights and its own, divided by the
/// bed's weight. Walls of hard beds therefore stand at the same places whatever the width of the cells, even if a
/// cell spans several beds.
///
/// Cells without data constrain nothing. Held cells keep their height and constrain others. In integers each update
/// is monotone in its neighbours, so there is exactly one greatest fixed point, and the order of sweeping has no
/// influence; a second call changes nothing.
///
/// # Errors
/// Returns an error if a field does not have the ground's size.
///
/// # Examples
/// A tableland of 100 m beside a low cell becomes a slope of 45°: with cells 10 m wide, each cell rises 10 m above the
/// one before.
///
/// ```
/// use thalweg_core::{Field, Height};
/// use thalweg_models::process::slopes::{Bounds, limit_slopes};
///
/// let mut ground = Field::from_vec([1, 4], [0.0, 100.0, 100.0, 100.0].map(Height::saturating).to_vec())?;
/// let tan = Field::new([1, 4], 1.0);
/// let removed = limit_slopes(&mut ground, &tan, None, 10.0, Bounds::default())?;
/// assert_eq!(ground.map(|height| height.metres()).as_slice(), [0.0, 10.0, 20.0, 30.0]);
/// assert_eq!(removed, (90 + 80 + 70) * 65_536);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn limit_slopes(
    ground: &mut Field<Height>,
    tan: &Field<f32>,
    beds: Option<Bedding<'_>>,
    cell: f64,
    bounds: Bounds<'_>,
) -> Result<i64> {
    let [rows, cols] = ground.size();
    bounds.check([rows, cols])?;
    fits("tan", Some(tan.size()), [rows, cols])?;
    if ground.is_empty() {
        return Ok(0);
    }
    let topology = Topology { size: [rows, cols], looped: bounds.looped };
    let mut removed = 0;
    // The rows next to which a row has changed since they were last relaxed.
    let mut waiting = vec![true; rows];
    // The borders of a round are in the middle of the next round's bands, so slopes that extend over several bands
    // converge in few rounds.
    let mut firsts = [BAND, BAND / 2].into_iter().cycle();
    while waiting.contains(&true) {
        let bands = bands(rows, firsts.next().unwrap_or(BAND), &waiting);
        // Copies of the rows adjacent to each band, as they are at the beginning of the round.
        let beyond: Vec<_> = bands
            .par_iter()
            .map(|band| {
                let copy = |i: usize| {
                    let mut row = vec![WALL; cols + 2];
                    read(ground.row(i), bounds.nodata.map(|mask| mask.row(i)), &mut row);
                    if bounds.looped[1] {
                        (row[0], row[cols + 1]) = (row[cols], row[1]);
                    }
                    row
                };
                let [north, south] = [band.start as isize - 1, band.end as isize].map(|at| topology.line(0, at));
                [north.map(copy), south.map(copy)]
            })
            .collect();
        let (mut rest, mut end, mut grounds) = (ground.as_mut_slice(), 0, Vec::new());
        for band in &bands {
            let (until, after) = rest.split_at_mut((band.end - end) * cols);
            grounds.push(&mut until[(band.start - end) * cols..]);
            (rest, end) = (after, band.end);
        }
        let changes: Vec<_> = grounds
            .into_par_iter()
            .zip(beyond)
            .zip(&bands)
            .with_max_len(1) // some bands have much to do, and so do their neighbours
            .map(|((ground, beyond), band)| {
                let own = Band::new(ground, band.start, beyond, tan, beds, cell, bounds);
                own.relax(ground, &waiting[band.clone()])
            })
            .collect();
        waiting.fill(false);
        for (band, change) in bands.iter().zip(&changes) {
            removed += change.removed;
            for (changed, to) in [(change.north, band.start as isize - 1), (change.south, band.end as isize)] {
                if let Some(to) = topology.line(0, to).filter(|_| changed) {
                    waiting[to] = true;
                }
            }
        }
    }
    Ok(removed)
}

/// Returns the bands that contain a waiting row; `first` is the height of the first of all bands in rows.
fn bands(rows: usize, first: usize, waiting: &[bool]) -> Vec<Range<usize>> {
    let starts = iter::once(0).chain((first..rows).step_by(BAND));
    let ends = (first..rows).step_by(BAND).chain([rows]);
    starts.zip(ends).map(|(start, end)| start..end).filter(|band| waiting[band.clone()].contains(&true)).collect()
}

/// The number of rows that one task relaxes before the adjacent rows are updated.
const BAND: usize = 128;

/// The height used beyond the edges and for cells without data: higher than any terrain.
const WALL: i32 = 1 << 30;

/// The rows of a band, surrounded by a wall or by copies of the adjacent rows.
struct Band<'a> {
    /// True if the last column is adjacent to the first.
    looped: bool,
    beds: Option<Bedding<'a>>,
    /// The map's row that is the band's first.
    first: usize,
    width: usize,
    heights: Vec<i32>,
    /// The height of a cell above its lowest neighbour up to which the limit certainly holds, so that no exact test
    /// is needed.
    sure: Vec<i32>,
    /// The limit in height units from cell to cell.
    drop: Vec<i32>,
    /// One bit for each cell that must be tested because a neighbour has changed, in `words` words per row.
    waiting: Vec<u64>,
    words: usize,
}

/// The result of relaxing a band.
#[derive(Default)]
struct Change {
    removed: i64,
    /// True if its first, or last, row changed.
    north: bool,
    south: bool,
}

/// Reads a row's heights after one cell of wall, with walls where there is no data.
fn read(ground: &[Height], void: Option<&[bool]>, row: &mut [i32]) {
    for (to, from) in row[1..].iter_mut().zip(ground) {
        *to = from.0;
    }
    if let Some(void) = void {
        for (to, void) in row[1..].iter_mut().zip(void) {
            *to = if *void { WALL } else { *to };
        }
    }
}

impl<'a> Band<'a> {
    fn new(
        ground: &[Height],
        first: usize,
        beyond: [Option<Vec<i32>>; 2],
        tan: &Field<f32>,
        beds: Option<Bedding<'a>>,
        cell: f64,
        bounds: Bounds<'_>,
    ) -> Self {
        let cols = tan.cols();
        let width = cols + 2;
        let rows = ground.len() / cols;
        let (words, cells) = (width.div_ceil(64), (rows + 2) * width);
        let mut band = Self {
            looped: bounds.looped[1],
            beds,
            first,
            width,
            heights: vec![WALL; cells],
            sure: vec![i32::MAX; cells],
            drop: vec![0; cells],
            waiting: vec![0; (rows + 2) * words],
            words,
        };
        let [north, south] = beyond;
        if let Some(north) = north {
            band.heights[..width].copy_from_slice(&north);
        }
        if let Some(south) = south {
            band.heights[(rows + 1) * width..].copy_from_slice(&south);
        }
        let scale = cell * UNITS;
        // A cell may always rise above its lowest neighbour by a little under 1/√2 (46 340/65 536) of the limit in
        // the softest bed.
        let softest = beds.map_or(1.0, |beds| beds.pile.heaviest().max(1.0));
        let least = (46_340.0 / softest) as i64;
        for (r, ground) in ground.chunks(cols).enumerate() {
            let i = first + r;
            let void = bounds.nodata.map(|mask| mask.row(i));
            let row = (r + 1) * width + 1..(r + 1) * width + 1 + cols;
            let heights = &mut band.heights[row.start - 1..row.end + 1];
            read(ground, void, heights);
            if band.looped {
                (heights[0], heights[cols + 1]) = (heights[cols], heights[1]);
            }
            for (drop, tan) in band.drop[row.clone()].iter_mut().zip(tan.row(i)) {
                // The cast converts NaN to 0.
                *drop = (f64::from(*tan) * scale).clamp(0.0, f64::from(WALL)) as i32;
            }
            for (j, sure) in band.sure[row.clone()].iter_mut().enumerate() {
                let drop = band.drop[row.start + j];
                let still = |mask: Option<&Field<bool>>| mask.is_some_and(|mask| mask[(i, j)]);
                if drop < WALL && !still(bounds.nodata) && !still(bounds.held) {
                    *sure = ((i64::from(drop) * least) >> 16) as i32;
                }
            }
        }
        band
    }

    /// Sweeps until nothing changes, starting from the waiting rows, and writes the heights back.
    fn relax(mut self, ground: &mut [Height], waiting: &[bool]) -> Change {
        let cols = self.width - 2;
        let rows = ground.len() / cols;
        (1..=rows).filter(|r| waiting[r - 1]).for_each(|r| self.look(r));
        while self.waiting.iter().any(|word| *word != 0) {
            (1..=rows).for_each(|r| self.sweep(r));
            (1..=rows).rev().for_each(|r| self.sweep(r));
            if self.looped {
                self.meet(rows);
            }
        }
        let mut change = Change::default();
        for (r, row) in ground.chunks_mut(cols).enumerate() {
            let start = (r + 1) * self.width + 1;
            let mut cut = 0;
            // Cells without data are walls here and keep their own height; no other height ever rises.
            for (height, low) in row.iter_mut().zip(&self.heights[start..start + cols]) {
                cut += i64::from((height.0 - low).max(0));
                height.0 = height.0.min(*low);
            }
            change.removed += cut;
            change.north |= r == 0 && cut > 0;
            change.south |= r + 1 == rows && cut > 0;
        }
        change
    }

    /// Updates the columns beyond the first and the last from the cells across the seam, and marks the cells next to
    /// them as waiting where something has changed.
    fn meet(&mut self, rows: usize) {
        let width = self.width;
        for r in 1..=rows {
            let row = &mut self.heights[r * width..(r + 1) * width];
            for (beyond, across, beside) in [(0, width - 2, 1), (width - 1, 1, width - 2)] {
                if row[beyond] == row[across] {
                    continue;
                }
                row[beyond] = row[across];
                for r in [r - 1, r, r + 1] {
                    let over = self.sure[r * width + beside] < i32::MAX;
                    self.waiting[r * self.words + beside / 64] |= u64::from(over) << (beside % 64);
                }
            }
        }
    }

    /// Finds the cells of row `r` that need an exact test.
    fn look(&mut self, r: usize) {
        let start = r * self.width;
        let row = |r: usize| &self.heights[r * self.width..(r + 1) * self.width];
        let waiting = &mut self.waiting[r * self.words..(r + 1) * self.words];
        find_over([row(r - 1), row(r), row(r + 1)], &self.sure[start..start + self.width], waiting);
    }

    /// Sweeps row `r` eastward and back, over the waiting cells.
    fn sweep(&mut self, r: usize) {
        let first = r * self.words;
        for w in first..first + self.words {
            let mut ahead = u64::MAX;
            while self.waiting[w] & ahead != 0 {
                let bit = (self.waiting[w] & ahead).trailing_zeros();
                ahead = (u64::MAX << bit) << 1;
                self.waiting[w] &= !(1 << bit);
                self.lower(r, (w - first) * 64 + bit as usize);
            }
        }
        for w in (first..first + self.words).rev() {
            let mut ahead = u64::MAX;
            while self.waiting[w] & ahead != 0 {
                let bit = 63 - (self.waiting[w] & ahead).leading_zeros();
                ahead = (1 << bit) - 1;
                self.waiting[w] &= !(1 << bit);
                self.lower(r, (w - first) * 64 + bit as usize);
            }
        }
    }

    /// Lowers cell `j` of row `r` to the height that its lower neighbours allow, and marks its higher neighbours as
    /// waiting, because it may now constrain them.
    #[inline(always)]
    fn lower(&mut self, r: usize, j: usize) {
        let (width, k) = (self.width, r * self.width + j);
        let z = &self.heights;
        let (a, b) = (z[k - 1].min(z[k + 1]), z[k - width].min(z[k + width]));
        let (c, d) = (z[k - width - 1].min(z[k + width + 1]), z[k - width + 1].min(z[k + width - 1]));
        // Below the certain bound no exact test is needed.
        let mut bears = z[k];
        if z[k] - a.min(b) > self.sure[k] {
            bears = bears.min(self.bears(k, [a, b], self.drop[k]));
        }
        if z[k] - c.min(d) > aslant(self.sure[k]) {
            bears = bears.min(self.bears(k, [c, d], aslant(self.drop[k])));
        }
        if z[k] == bears {
            return;
        }
        self.heights[k] = bears;
        for (row, r) in [(k - width, r - 1), (k, r), (k + width, r + 1)] {
            for (k, j) in [(row - 1, j - 1), (row, j), (row + 1, j + 1)] {
                let over = self.heights[k] > bears && self.sure[k] < i32::MAX;
                self.waiting[r * self.words + j / 64] |= u64::from(over) << (j % 64);
            }
        }
    }

    /// Returns the greatest height of cell `k` that the lower neighbours along two perpendicular axes allow; `drop`
    /// is the limit from one cell to the next.
    #[inline(always)]
    fn bears(&self, k: usize, [a, b]: [i32; 2], drop: i32) -> i32 {
        let Some(beds) = self.beds else { return a.min(b).saturating_add(rise(a.abs_diff(b), drop)) };
        let (r, j) = (k / self.width, k % self.width);
        let bottom = (beds.bottom)(self.first + r - 1, j - 1);
        let [low, high] = [a.min(b), a.max(b)].map(|z| i64::from(z) - bottom);
        let apart = beds.pile.counted(high) - beds.pile.counted(low);
        let by = rise(apart.clamp(0, WALL.into()) as u32, drop);
        // The result is at most the cell's own height, so it fits into an `i32`.
        (beds.pile.climbed(low, by.into(), i64::from(self.heights[k]) - bottom) + bottom) as i32
    }
}

/// The distance from one cell to the next along a diagonal, in widths of a cell. It is slightly greater than √2, so
/// that sides facing along axes and sides facing along diagonals have equal weight where funnels fill a plain.
const DIAGONAL: f64 = 1.44;

/// Returns the limit from a cell to the next along a diagonal.
#[inline(always)]
fn aslant(drop: i32) -> i32 {
    (f64::from(drop) * DIAGONAL) as i32
}

/// Sets a bit for each cell of the middle row that is higher above its lowest neighbours than certainly allowed.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn find_over([north, here, south]: [&[i32]; 3], sure: &[i32], waiting: &mut [u64]) {
    let count = here.len() - 2;
    let (west, middle, east) = (&here[..count], &here[1..=count], &here[2..]);
    let (north, south, sure) = (&north[..count + 2], &south[..count + 2], &sure[1..=count]);
    for j in 0..count {
        let low = west[j].min(east[j]).min(north[j + 1]).min(south[j + 1]);
        let aslant = north[j].min(north[j + 2]).min(south[j]).min(south[j + 2]);
        // Along a diagonal the certain bound is 1.44 times as great; testing with the smaller bound only finds some
        // cells too many.
        let over = middle[j] - low > sure[j] || middle[j] - aslant > sure[j];
        waiting[(j + 1) / 64] |= u64::from(over) << ((j + 1) % 64);
    }
}

/// Returns how far a cell may rise above the lower of its neighbours along the two axes, which differ by `apart`,
/// where `drop` is the limit from cell to cell. It solves u² + (u − apart)² = drop², or u = drop where the other
/// neighbour is too high to matter.
#[inline(always)]
fn rise(apart: u32, drop: i32) -> i32 {
    let (apart, drop) = (i64::from(apart), i64::from(drop));
    if apart >= drop {
        return drop as i32;
    }
    let square = 2 * drop * drop - apart * apart;
    let root = (square as f64).sqrt() as i64;
    // The exact root is rounded down. The sum then never decreases when `apart` grows, which the uniqueness of the
    // fixed point relies on.
    ((apart + root - i64::from(root * root > square)) / 2) as i32
}

/// Returns a limit of about `tan` (rise over run) for each cell, whose logarithm has a standard deviation of
/// `deviation`: half of the variance is independent from cell to cell, half varies over distances of `wavelength`
/// metres and fractions of it. The limit is a function of world cells and metres.
pub fn jittered(grid: &Grid, tan: f64, deviation: f64, wavelength: f64, key: Key) -> Field<f32> {
    if deviation <= 0.0 {
        return Field::new(grid.size, tan as f32);
    }
    let noise = Fractal::new(&FractalSettings::fbm(OCTAVES, wavelength, 0.7), None, key.and(1), grid);
    let mut field = Field::new(grid.size, 0.0);
    let cells = key.and(2);
    field.par_rows_mut().for_each(|(i, row)| {
        noise.row(grid, i, row);
        for (j, value) in row.iter_mut().enumerate() {
            // The noise has a standard deviation of 1/3, a uniform number in ±1 one of 1/√3.
            let spread = 3.0 * f64::from(*value) + 3f64.sqrt() * cells.cell(grid.world_cell(i, j)).signed();
            *value = (tan * libm::exp(deviation * std::f64::consts::FRAC_1_SQRT_2 * spread)) as f32;
        }
    });
    field
}

/// The octaves of the limit's noise.
const OCTAVES: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: f64 = 10.0;

    fn metres(size: [usize; 2], z: impl Fn(f64, f64) -> f64 + Sync) -> Field<Height> {
        Field::generate(size, |i, j| Height::from_metres(z(i as f64, j as f64)).unwrap())
    }

    fn even(size: [usize; 2], tan: f32) -> Field<f32> {
        Field::new(size, tan)
    }

    fn rough(size: [usize; 2], relief: f64) -> Field<Height> {
        let key = Key::new(11, "limit");
        Field::generate(size, |i, j| Height::saturating(relief * key.cell([i as i64, j as i64]).unit()))
    }

    #[test]
    fn a_root_is_exact_and_never_falls() {
        for drop in [1, 2, 3, 7, 1000, 65_537, 94_906_266, 1 << 29] {
            for apart in (0..300).chain((drop as u32).saturating_sub(300)..drop as u32 + 3) {
                let u = rise(apart, drop);
                assert!(rise(apart + 1, drop) >= u, "{drop} {apart}");
                if i64::from(apart) < i64::from(drop) {
                    // 2u ≤ apart + √(2·drop² − apart²) < 2u + 2, squared.
                    let square = 2 * i128::from(drop).pow(2) - i128::from(apart).pow(2);
                    let twice = 2 * i128::from(u) - i128::from(apart);
                    assert!(twice.max(0).pow(2) <= square && (twice + 2).pow(2) > square, "{drop} {apart}");
                }
            }
        }
    }

    #[test]
    fn a_tower_becomes_a_round_cone() {
        // A tower with a radius of 30 cells and a height of 2 000 m over a plain; at tan 0.8 it ends as a cone of 30
        // · 10 · 0.8 = 240 m. The scheme's error grows as h·log(r/h): at tan·cell = 8 m and 30 cells it is some 8 ·
        // ln 30 / 2 = 14 m at most.
        let size = [81, 81];
        let inside = |i: f64, j: f64| (i - 40.0).powi(2) + (j - 40.0).powi(2) < 900.0;
        let mut ground = metres(size, |i, j| if inside(i, j) { 2_000.0 } else { 0.0 });
        limit_slopes(&mut ground, &even(size, 0.8), None, CELL, Bounds::default()).unwrap();
        for i in 0..81usize {
            for j in 0..81usize {
                let r = ((i as f64 - 40.0).powi(2) + (j as f64 - 40.0).powi(2)).sqrt();
                let (is, want) = (ground[(i, j)].metres(), (8.0 * (30.0 - r)).max(0.0));
                assert!((is - want).abs() < 14.0, "{i}, {j}: {is} {want}");
            }
        }
        // The cone is round: on the diagonal, 14 cells away along each axis, it is as high as 19.8 cells away along
        // one axis.
        let axis = ground[(40, 20)].metres() + 0.2 * (ground[(40, 21)].metres() - ground[(40, 20)].metres());
        assert!((ground[(26, 26)].metres() - axis).abs() < 5.0, "{} {axis}", ground[(26, 26)].metres());
        // Along the axis it has the limit's slope.
        assert!((ground[(40, 30)].metres() - ground[(40, 20)].metres() - 80.0).abs() < 4.0);
    }

    #[test]
    fn hollows_leave_no_sides_that_face_as_the_grid_does() {
        // High ground around single low cells, which constrain it: measures the aspects of the funnels, which meet in
        // valleys between them.
        let size = [400, 400];
        let key = Key::new(8, "hollows");
        let mut ground = Field::generate(size, |i, j| {
            let low = key.cell([i as i64, j as i64]).unit() < 0.002;
            Height::saturating(if low { 0.0 } else { 1000.0 })
        });
        limit_slopes(&mut ground, &even(size, 0.8), None, CELL, Bounds::default()).unwrap();
        let (mut four, mut eight, mut count) = (0.0, 0.0, 0.0);
        for i in 1..399usize {
            for j in 1..399usize {
                let x = ground[(i, j + 1)].metres() - ground[(i, j - 1)].metres();
                let y = ground[(i + 1, j)].metres() - ground[(i - 1, j)].metres();
                let square = x * x + y * y;
                if square > 1.0 {
                    let c = (x * x - y * y) / square;
                    let c4 = 2.0 * c * c - 1.0;
                    (four, eight, count) = (four + c4, eight + 2.0 * c4 * c4 - 1.0, count + 1.0);
                }
            }
        }
        // Funnels have eight faint edges at these widths of some seven cells; with one stencil they have four strong
        // ones.
        let [four, eight] = [four, eight].map(|sum: f64| sum / count);
        assert!(four.abs() < 0.05 && eight.abs() < 0.25, "{four} four times round, {eight} eight times");
    }

    #[test]
    fn gentle_ground_is_untouched() {
        // |∇z| is 0.6: the plane of 4.8 m per row and 3.6 m per column is stable at a limit of 0.601, and not at
        // 0.55.
        let plane = metres([70, 40], |i, j| 4.8 * i - 3.6 * j);
        let mut ground = plane.clone();
        assert_eq!(limit_slopes(&mut ground, &even([70, 40], 0.601), None, CELL, Bounds::default()).unwrap(), 0);
        assert_eq!(ground, plane);
        assert!(limit_slopes(&mut ground, &even([70, 40], 0.55), None, CELL, Bounds::default()).unwrap() > 0);
        // Next to the edge down which it falls by less than the limit, and outside the fan around the lowest corner,
        // the slope equals the limit.
        let slope = ((ground[(40, 30)].metres() - ground[(39, 30)].metres()).powi(2)
            + (ground[(40, 30)].metres() - ground[(40, 31)].metres()).powi(2))
        .sqrt();
        assert!((slope / CELL - 0.55).abs() < 0.001, "{slope}");
    }

    /// Computes the fixed point by the plain rule, cell by cell until nothing changes, in a different order from
    /// ours.
    fn plain(ground: &Field<Height>, drop: i32, void: impl Fn(usize, usize) -> bool) -> Field<Height> {
        let mut z = ground.clone();
        let [rows, cols] = z.size();
        loop {
            let before = z.clone();
            for j in (0..cols).rev() {
                for i in 0..rows {
                    let at = |i: usize, j: usize| {
                        if i < rows && j < cols && !void(i, j) { z[(i, j)].0 } else { WALL }
                    };
                    let a = at(i, j.wrapping_sub(1)).min(at(i, j + 1));
                    let b = at(i.wrapping_sub(1), j).min(at(i + 1, j));
                    let c = at(i.wrapping_sub(1), j.wrapping_sub(1)).min(at(i + 1, j + 1));
                    let d = at(i.wrapping_sub(1), j + 1).min(at(i + 1, j.wrapping_sub(1)));
                    let bears = |a: i32, b: i32, drop| a.min(b).saturating_add(rise(a.abs_diff(b), drop));
                    if !void(i, j) {
                        let both = bears(a, b, drop).min(bears(c, d, aslant(drop)));
                        z[(i, j)] = Height(z[(i, j)].0.min(both));
                    }
                }
            }
            if z == before {
                return z;
            }
        }
    }

    #[test]
    fn the_fixed_point_is_that_of_the_plain_rule() {
        for (size, relief, tan) in [
            ([150, 33], 900.0, 0.7),
            ([67, 80], 40.0, 0.3),
            ([1, 50], 99.0, 0.5),
            ([90, 1], 99.0, 0.5),
            ([1, 1], 9.0, 0.1),
        ] {
            let start = rough(size, relief);
            let void = Field::generate(size, |i, j| (i * 5 + j * 3) % 13 == 0 && size[0] > 1);
            let bounds = Bounds { nodata: Some(&void), ..Bounds::default() };
            let mut ground = start.clone();
            let removed = limit_slopes(&mut ground, &even(size, tan), None, CELL, bounds).unwrap();
            let drop = (f64::from(tan) * CELL * UNITS) as i32;
            assert_eq!(ground, plain(&start, drop, |i, j| void[(i, j)]), "{size:?}");
            let sum = |field: &Field<Height>| field.as_slice().iter().map(|h| i64::from(h.0)).sum::<i64>();
            assert_eq!(removed, sum(&start) - sum(&ground));
            assert!(ground.as_slice().iter().zip(start.as_slice()).all(|(now, then)| now <= then));
            assert_eq!(
                limit_slopes(&mut ground, &even(size, tan), None, CELL, bounds).unwrap(),
                0,
                "a second time changes nothing"
            );
        }
    }

    #[test]
    fn slopes_over_several_bands_are_those_of_the_plain_rule_and_know_no_first_row() {
        // A few low cells with high ground between them: walls rise over some hundred rows, through two bands and
        // more.
        let size = [5 * BAND + 17, 9];
        let key = Key::new(4, "bands");
        let start = Field::generate(size, |i, j| {
            let cell = key.cell([i as i64, j as i64]);
            let low = (i == 200 || i == 470) && j % 4 == 0;
            Height::saturating(if low { 0.0 } else { 4000.0 } + 5.0 * cell.unit())
        });
        let tan = even(size, 1.0);
        let mut ground = start.clone();
        limit_slopes(&mut ground, &tan, None, CELL, Bounds::default()).unwrap();
        assert_eq!(ground, plain(&start, (CELL * UNITS) as i32, |_, _| false));
        let bounds = Bounds { looped: [true, true], ..Bounds::default() };
        let turned = |field: &Field<Height>, by: usize| {
            Field::generate(size, |i, j| field[((i + by) % size[0], (j + by) % size[1])])
        };
        let mut round = start.clone();
        limit_slopes(&mut round, &tan, None, CELL, bounds).unwrap();
        assert_ne!(round, ground);
        for by in [1, 100, 333] {
            let mut other = turned(&start, by);
            limit_slopes(&mut other, &tan, None, CELL, bounds).unwrap();
            assert_eq!(other, turned(&round, by), "{by}");
        }
    }

    #[test]
    fn beds_have_their_own_slopes_whatever_the_width_of_cells() {
        // Beds of 20 m with a limit of 0.8 and of 10 m with a limit of 0.2: from 0 m upward, a hard bed takes 25 m
        // and a soft one 50 m.
        let pile = Pile::new([(10, 0.5), (5, 2.0)]);
        let wall = |x: f64| {
            let (beds, along) = ((x / 75.0).floor(), x.rem_euclid(75.0));
            30.0 * beds + if along < 25.0 { 0.8 * along } else { 20.0 + 0.2 * (along - 25.0) }
        };
        for (cell, cells) in [(5.0, 120), (10.0, 60), (50.0, 12), (150.0, 4)] {
            let size = [3, cells];
            let mut ground = metres(size, |_, j| if j == 0.0 { 0.0 } else { 1000.0 });
            let bottom = |_: usize, _: usize| 0;
            let beds = Some(Bedding { pile: &pile, bottom: &bottom });
            limit_slopes(&mut ground, &even(size, 0.4), beds, cell, Bounds::default()).unwrap();
            for j in 0..cells {
                let (is, want) = (ground[(1, j)].metres(), wall(cell * j as f64));
                assert!((is - want).abs() < 0.01, "{j} cells of {cell} m: {is} {want}");
            }
            assert_eq!(limit_slopes(&mut ground, &even(size, 0.4), beds, cell, Bounds::default()).unwrap(), 0);
        }
        // Beds that are deeper from row to row are evaluated in each cell separately.
        let mut ground = metres([40, 40], |i, j| 3.0 * (i - 20.0).powi(2) + 7.0 * j);
        let bottom = |i: usize, j: usize| (i * 40_000 + j * 90_000) as i64;
        let beds = Some(Bedding { pile: &pile, bottom: &bottom });
        limit_slopes(&mut ground, &even([40, 40], 0.4), beds, CELL, Bounds::default()).unwrap();
        let again = ground.clone();
        assert_eq!(limit_slopes(&mut ground, &even([40, 40], 0.4), beds, CELL, Bounds::default()).unwrap(), 0);
        assert_eq!(ground, again);
        // A single bed of weight 1 is the same as none.
        let (mut one, mut none) = (rough([30, 30], 90.0), rough([30, 30], 90.0));
        let plain = Pile::new([]);
        let beds = Some(Bedding { pile: &plain, bottom: &bottom });
        limit_slopes(&mut one, &even([30, 30], 0.4), beds, CELL, Bounds::default()).unwrap();
        limit_slopes(&mut none, &even([30, 30], 0.4), None, CELL, Bounds::default()).unwrap();
        assert_eq!(one, none);
    }

    #[test]
    fn held_cells_stand_and_awkward_limits_do_no_harm() {
        let size = [20, 20];
        let held = Field::generate(size, |i, j| (i, j) == (10, 10));
        let bounds = Bounds { held: Some(&held), ..Bounds::default() };
        let start = metres(size, |i, j| if (i, j) == (10.0, 10.0) { 900.0 } else { 100.0 });
        let mut ground = start.clone();
        assert_eq!(limit_slopes(&mut ground, &even(size, 0.5), None, CELL, bounds).unwrap(), 0);
        for none in [f32::INFINITY, 1e30] {
            assert_eq!(limit_slopes(&mut ground, &even(size, none), None, CELL, Bounds::default()).unwrap(), 0);
        }
        for flat in [0.0, -1.0, f32::NAN] {
            let mut ground = start.clone();
            limit_slopes(&mut ground, &even(size, flat), None, CELL, Bounds::default()).unwrap();
            assert_eq!(ground, metres(size, |_, _| 100.0));
        }
        assert!(limit_slopes(&mut ground, &even([20, 21], 0.5), None, CELL, Bounds::default()).is_err());
    }

    #[test]
    fn jitter_has_its_deviation_and_follows_the_world() {
        // The octaves over 512 cells contain some 16² waves of the longest; the white noise is sampled far better.
        // Ten per cent of 0.08 is three standard errors of the noise's half.
        let grid = Grid::new([512, 512], 10.0).unwrap();
        let key = Key::new(1, "jitter");
        let field = jittered(&grid, 0.7, 0.08, 300.0, key);
        let logs: Vec<f64> = field.as_slice().iter().map(|t| libm::log(f64::from(*t) / 0.7)).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let deviation = (logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / logs.len() as f64).sqrt();
        assert!(mean.abs() < 0.02 && (deviation - 0.08).abs() < 0.008, "{mean} {deviation}");
        let part = thalweg_core::terrain::CellRect::new([100, 37], [20, 30]);
        assert_eq!(jittered(&grid.window(part), 0.7, 0.08, 300.0, key), field.window(part));
    }
}
