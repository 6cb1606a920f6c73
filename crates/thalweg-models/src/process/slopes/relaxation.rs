//! Relaxation of a band of rows: its cells are lowered, in sweeps back and forth, until no slope in it exceeds the
//! limit.

use multiversion::multiversion;

use crate::process::slopes::Bounds;
use crate::process::slopes::limit::Bedding;
use crate::process::slopes::stencil::{diagonal_limit, max_rise};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Height};

/// The height used beyond the edges and for cells without data: higher than any terrain.
pub(super) const WALL: i32 = 1 << 30;

/// The rows of a band, surrounded by a wall or by copies of the adjacent rows.
pub(super) struct RelaxationBand<'a> {
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
    max_falls: Vec<i32>,
    /// One bit for each cell that must be tested because a neighbour has changed, in `words` words per row.
    waiting: Vec<u64>,
    words: usize,
}

/// The result of relaxing a band.
#[derive(Default)]
pub(super) struct BandChange {
    pub(super) removed: i64,
    /// True if its first, or last, row changed.
    pub(super) north: bool,
    pub(super) south: bool,
}

/// Reads a row's heights after one cell of wall, with walls where there is no data.
pub(super) fn read_heights(ground: &[Height], void: Option<&[bool]>, row: &mut [i32]) {
    for (to, from) in row[1..].iter_mut().zip(ground) {
        *to = from.0;
    }
    if let Some(void) = void {
        for (to, void) in row[1..].iter_mut().zip(void) {
            *to = if *void { WALL } else { *to };
        }
    }
}

impl<'a> RelaxationBand<'a> {
    pub(super) fn new(
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
            max_falls: vec![0; cells],
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
        let softest = beds.map_or(1.0, |beds| beds.pile.max_weight().max(1.0));
        let min_softness = (46_340.0 / softest) as i64;
        for (r, ground) in ground.chunks(cols).enumerate() {
            let i = first + r;
            let void = bounds.nodata.map(|mask| mask.row(i));
            let row = (r + 1) * width + 1..(r + 1) * width + 1 + cols;
            let heights = &mut band.heights[row.start - 1..row.end + 1];
            read_heights(ground, void, heights);
            if band.looped {
                (heights[0], heights[cols + 1]) = (heights[cols], heights[1]);
            }
            for (max_fall, tan) in band.max_falls[row.clone()].iter_mut().zip(tan.row(i)) {
                // The cast converts NaN to 0.
                *max_fall = (f64::from(*tan) * scale).clamp(0.0, f64::from(WALL)) as i32;
            }
            for (j, sure) in band.sure[row.clone()].iter_mut().enumerate() {
                let max_fall = band.max_falls[row.start + j];
                let still = |mask: Option<&Field<bool>>| mask.is_some_and(|mask| mask[(i, j)]);
                if max_fall < WALL && !still(bounds.nodata) && !still(bounds.held) {
                    // The shift divides by 65 536, the denominator of `min_softness`. The product fits, since
                    // `max_fall` is below 2³⁰.
                    *sure = ((i64::from(max_fall) * min_softness) >> 16) as i32;
                }
            }
        }
        band
    }

    /// Sweeps until nothing changes, starting from the waiting rows, and writes the heights back.
    pub(super) fn relax(mut self, ground: &mut [Height], waiting: &[bool]) -> BandChange {
        let cols = self.width - 2;
        let rows = ground.len() / cols;
        (1..=rows).filter(|r| waiting[r - 1]).for_each(|r| self.mark_waiting_cells(r));
        // Sweeps alternate in direction, so that a change can run through the whole band in one of them.
        while self.waiting.iter().any(|word| *word != 0) {
            (1..=rows).for_each(|r| self.sweep_row(r));
            (1..=rows).rev().for_each(|r| self.sweep_row(r));
            if self.looped {
                self.update_seam(rows);
            }
        }
        let mut change = BandChange::default();
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
    fn update_seam(&mut self, rows: usize) {
        let width = self.width;
        for r in 1..=rows {
            let row = &mut self.heights[r * width..(r + 1) * width];
            for (beyond, across, adjacent) in [(0, width - 2, 1), (width - 1, 1, width - 2)] {
                if row[beyond] == row[across] {
                    continue;
                }
                row[beyond] = row[across];
                for r in [r - 1, r, r + 1] {
                    let over = self.sure[r * width + adjacent] < i32::MAX;
                    self.waiting[r * self.words + adjacent / 64] |= u64::from(over) << (adjacent % 64);
                }
            }
        }
    }

    /// Finds the cells of row `r` that need an exact test.
    fn mark_waiting_cells(&mut self, r: usize) {
        let start = r * self.width;
        let row = |r: usize| &self.heights[r * self.width..(r + 1) * self.width];
        let waiting = &mut self.waiting[r * self.words..(r + 1) * self.words];
        mark_steep_cells([row(r - 1), row(r), row(r + 1)], &self.sure[start..start + self.width], waiting);
    }

    /// Sweeps row `r` eastward and back, over the waiting cells.
    fn sweep_row(&mut self, r: usize) {
        let first = r * self.words;
        for w in first..first + self.words {
            let mut ahead = u64::MAX;
            while self.waiting[w] & ahead != 0 {
                // Only bits ahead of the last one are taken, including bits that the cell before has just set.
                let bit = (self.waiting[w] & ahead).trailing_zeros();
                // Two shifts are used because a single one by 64 would overflow.
                ahead = (u64::MAX << bit) << 1;
                self.waiting[w] &= !(1 << bit);
                self.lower_cell(r, (w - first) * 64 + bit as usize);
            }
        }
        for w in (first..first + self.words).rev() {
            let mut ahead = u64::MAX;
            while self.waiting[w] & ahead != 0 {
                let bit = 63 - (self.waiting[w] & ahead).leading_zeros();
                ahead = (1 << bit) - 1;
                self.waiting[w] &= !(1 << bit);
                self.lower_cell(r, (w - first) * 64 + bit as usize);
            }
        }
    }

    /// Lowers cell `j` of row `r` to the height that its lower neighbours allow, and marks its higher neighbours as
    /// waiting, because it may now constrain them.
    #[inline(always)]
    fn lower_cell(&mut self, r: usize, j: usize) {
        let (width, k) = (self.width, r * self.width + j);
        let z = &self.heights;
        // Only the lower neighbour on each axis constrains the cell: along rows and columns, then along both diagonals.
        let (a, b) = (z[k - 1].min(z[k + 1]), z[k - width].min(z[k + width]));
        let (c, d) = (z[k - width - 1].min(z[k + width + 1]), z[k - width + 1].min(z[k + width - 1]));
        // Below the certain bound no exact test is needed.
        let mut bears = z[k];
        if z[k] - a.min(b) > self.sure[k] {
            bears = bears.min(self.max_stable_height(k, [a, b], self.max_falls[k]));
        }
        if z[k] - c.min(d) > diagonal_limit(self.sure[k]) {
            bears = bears.min(self.max_stable_height(k, [c, d], diagonal_limit(self.max_falls[k])));
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

    /// Returns the greatest height of cell `k` that the lower neighbours along two perpendicular axes allow; `max_fall`
    /// is the limit from one cell to the next.
    #[inline(always)]
    fn max_stable_height(&self, k: usize, [a, b]: [i32; 2], max_fall: i32) -> i32 {
        let Some(beds) = self.beds else { return a.min(b).saturating_add(max_rise(a.abs_diff(b), max_fall)) };
        let (r, j) = (k / self.width, k % self.width);
        let bottom = (beds.bottom)(self.first + r - 1, j - 1);
        let [low, high] = [a.min(b), a.max(b)].map(|z| i64::from(z) - bottom);
        let apart = beds.pile.weighted_height(high) - beds.pile.weighted_height(low);
        let by = max_rise(apart.clamp(0, WALL.into()) as u32, max_fall);
        // The result is at most the cell's own height, so it fits into an `i32`.
        (beds.pile.climb_weighted_height(low, by.into(), i64::from(self.heights[k]) - bottom) + bottom) as i32
    }
}

/// Sets a bit for each cell of the middle row that is higher above its lowest neighbours than certainly allowed.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn mark_steep_cells([north, here, south]: [&[i32]; 3], sure: &[i32], waiting: &mut [u64]) {
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
