//! Flow routing across flat areas.

use rayon::prelude::*;

use crate::{D8, Directions, Land, PIT, VOID};
use thalweg_core::{Cell, Height, Topology};

/// Assigns directions to the cells of flat areas, such that they drain towards lower ground and away from higher
/// ground.
///
/// The method is that of Barnes, Lehman & Mulla (2014, doi:10.1016/j.cageo.2013.01.009). Let t be a cell's distance to
/// the flat's outlet and a its distance from higher ground, both in steps over the flat. Each cell drains to the
/// neighbour on the flat with the least 2·t − a. Ties are broken in favour of straight neighbours, then by
/// [`Land::break_tie`]. Flow therefore converges in the middle of a flat, whereas t alone would give parallel flow
/// paths. Unlike the paper, this implementation keeps neither labels nor heights: distances are stored modulo 3, which
/// suffices to tell which of two neighbours is farther, in one byte together with the direction.
///
/// `directions` must be those of steepest descent on the same land. A flat cell is one that has no direction
/// ([`PIT`]) and is adjacent to a cell of its height that drains, or to another flat cell of this kind. Flats without
/// an outlet stay [`PIT`].
pub fn route_flats(land: &Land<'_>, directions: &mut Directions) {
    let (rows, cols) = (land.grid.rows(), land.grid.cols());
    let threads = rayon::current_num_threads();
    // A flat that touches another band is deferred. The result is the same for any bands. Several bands per thread even
    // out the work. At least 32 rows per band keep the number of flats that cross a border small.
    let band_rows = if threads == 1 { rows } else { rows.div_ceil(8 * threads).max(32) };
    let band_len = (band_rows * cols).max(1);
    let bands = directions.as_mut_slice().par_chunks_mut(band_len).enumerate();
    let stuck = bands
        .map(|(band, codes)| BandFlats::new(land, codes, band * band_rows).route_flats_with_code(PIT))
        .reduce(|| false, |a, b| a | b);
    // The deferred flats are processed in one band that contains all rows, so none of them crosses a border.
    let waiting = band_len < directions.len();
    let stuck = stuck | (waiting && BandFlats::new(land, directions.as_mut_slice(), 0).route_flats_with_code(WAITING));
    // Flats without an outlet had a code of their own, so that no scan collected them twice. They become pits again.
    if stuck {
        directions.as_mut_slice().par_iter_mut().for_each(|code| *code = if *code == UNDRAINED { PIT } else { *code });
    }
}

/// Assigns directions to the `cells` of flats like [`route_flats`]. Their codes, and those of their neighbours on the
/// flat, must be those that [`encode_distances`] returns.
pub fn route_measured_flats(land: &Land<'_>, directions: &mut Directions, cells: Vec<u32>) {
    let mut flats = BandFlats::new(land, directions.as_mut_slice(), 0);
    flats.queue = CellQueue { len: cells.len(), cells };
    flats.assign_directions();
}

/// Returns the temporary code of a flat's cell that is `outlet` steps from the outlet and `higher` steps, from 1 on,
/// from higher ground; `None` if there is no higher ground.
pub fn encode_distances(outlet: u32, higher: Option<u32>) -> u8 {
    let higher = higher.map_or(0, |steps| 1 + (steps % 3) as u8);
    FLAT | higher << 2 | (outlet % 3) as u8
}

/// Code of cells on a flat that extends into another band.
const WAITING: u8 = 253;
/// Code of cells on a flat without an outlet.
const UNDRAINED: u8 = 252;

// While a flat is processed, the code of its cells has the bits 1 ddd aa tt: d is the direction; a is 0 if there is
// no higher ground, else 1 plus the distance from it modulo 3; t is the distance to the outlet modulo 3.
const FLAT: u8 = 0x80;
const FAR: u8 = 0x03;
const FROM_HIGHER: u8 = 0x0c;

/// Value of the t bits while the distance is unknown.
const UNKNOWN: u8 = 3;
/// Value of the a bits at one step from higher ground.
const NEXT_TO_HIGHER: u8 = 2 << 2;

/// The flats of a band of rows.
///
/// A branch on whether a neighbour is new to a search is unpredictable, and mispredictions would dominate the cost.
/// The inner loops therefore have no branches: they always write, and advance the count only if the entry is valid.
struct BandFlats<'a> {
    land: &'a Land<'a>,
    codes: &'a mut [u8],
    shape: BandShape,
    first_row: usize,
    /// Cells of the current flat in the order in which they were found; later in order of distance from higher
    /// ground.
    cells: CellQueue,
    /// Cells of the current flat in order of distance from the outlet.
    queue: CellQueue,
}

impl<'a> BandFlats<'a> {
    /// Prepares the band of rows that begins with `first_row` and has these codes.
    fn new(land: &'a Land<'a>, codes: &'a mut [u8], first_row: usize) -> Self {
        let cols = land.grid.cols();
        let offsets = D8::OFFSETS.map(|[di, dj]| di * cols as isize + dj);
        let rows = codes.len() / cols.max(1);
        let mut looped = land.grid.topology().looped;
        // A band's rows are adjacent to other bands across the seam; flats that touch those are deferred.
        looped[0] &= rows == land.grid.rows();
        let shape = BandShape { rows, cols, offsets, looped };
        Self { land, codes, shape, first_row, cells: CellQueue::default(), queue: CellQueue::default() }
    }

    /// Returns the heights of the cells that `codes` describe, and of all cells after them.
    fn heights(&self) -> &'a [Height] {
        &self.land.ground.as_slice()[self.first_row * self.shape.cols..]
    }

    /// Processes each flat whose cells have code `from`. Returns true if one of them has no outlet.
    fn route_flats_with_code(&mut self, from: u8) -> bool {
        let mut stuck = false;
        for chunk in (0..self.codes.len()).step_by(CHUNK) {
            let end = (chunk + CHUNK).min(self.codes.len());
            if !self.codes[chunk..end].contains(&from) {
                continue;
            }
            for k in chunk..end {
                if self.codes[k] != from {
                    continue;
                }
                if self.collect_flat(k, from) {
                    self.mark_cells(WAITING);
                } else if self.queue.len == 0 {
                    self.mark_cells(UNDRAINED);
                    stuck = true;
                } else {
                    self.measure_distances();
                    self.assign_directions();
                }
            }
        }
        stuck
    }

    /// Assigns a code to all cells of the flat.
    fn mark_cells(&mut self, code: u8) {
        for k in self.cells.as_slice() {
            self.codes[*k as usize] = code;
        }
    }

    /// Collects the flat of cell `k` in `cells`, and those of its cells next to a cell of the same height that drains
    /// in `queue`. Returns true if the flat may continue beyond these rows.
    fn collect_flat(&mut self, k: usize, from: u8) -> bool {
        let (shape, heights, codes) = (self.shape, self.heights(), &mut *self.codes);
        let rows = self.land.grid.rows();
        let others = shape.rows < rows && self.land.grid.topology().looped[0];
        let above = self.first_row > 0 || others;
        let below = self.first_row + shape.rows < rows || others;
        let mut beyond = false;
        // Flood the flat from `k`. A cell next to a cell that drains at the same height is an outlet of the flat.
        self.queue.clear();
        self.cells.clear();
        self.cells.push(k);
        codes[k] = FLAT | UNKNOWN;
        let mut next = 0;
        while let Some(k) = self.cells.get(next) {
            next += 1;
            let i = k / shape.cols;
            beyond |= (i == 0 && above) || (i + 1 == shape.rows && below);
            let mut shore = false;
            self.cells.extend(|found| {
                shape.visit_neighbours(k, |_, n| {
                    let code = codes[n];
                    let new = code == from;
                    codes[n] = if new { FLAT | UNKNOWN } else { code };
                    found.push_if(n, new);
                    shore |= code < PIT;
                });
            });
            // Neighbours outside the flat drain. Heights are only looked up near the flat's border.
            if shore {
                let (mut higher, mut drains) = (false, false);
                shape.visit_neighbours(k, |_, n| {
                    higher |= (codes[n] < PIT) & (heights[n] > heights[k]);
                    drains |= (codes[n] < PIT) & (heights[n] == heights[k]);
                });
                codes[k] |= if higher { NEXT_TO_HIGHER } else { 0 };
                if drains {
                    self.queue.push(k);
                }
            }
        }
        beyond
    }

    /// Computes both distances of every cell of the flat.
    fn measure_distances(&mut self) {
        // Cells next to the outlet of the flat have distance 0.
        let codes = &mut *self.codes;
        for k in self.queue.as_slice() {
            codes[*k as usize] &= !FAR;
        }
        let distance = |code: u8| increment_modulo_three(code & FAR);
        spread_distances(self.shape, codes, &mut self.queue, FAR, UNKNOWN, distance);
        // Keep only the cells next to higher ground, in their order. The list of the flat's cells is no longer needed,
        // so the second search uses its memory as its queue.
        let found = std::mem::take(&mut self.cells.len);
        for x in 0..found {
            let k = self.cells.cells[x];
            self.cells.cells[self.cells.len] = k;
            self.cells.len += usize::from(codes[k as usize] & FROM_HIGHER != 0);
        }
        let distance = |code: u8| (1 + increment_modulo_three((code >> 2 & 3) - 1)) << 2;
        spread_distances(self.shape, codes, &mut self.cells, FROM_HIGHER, 0, distance);
    }

    /// Sets the directions of the flat's cells.
    fn assign_directions(&mut self) {
        let (shape, heights, codes) = (self.shape, self.heights(), &mut *self.codes);
        for k in self.queue.as_slice() {
            let k = *k as usize;
            let table = &RANKS[usize::from(codes[k] & 0x0f)];
            let mut ranks = [i8::MAX; 8];
            let mut shore = false;
            shape.visit_neighbours(k, |d, n| {
                let there = codes[n];
                // Doubling the rank frees its lowest bit, which prefers straight neighbours (0) to diagonal ones (1).
                let rank = 2 * table[usize::from(there & 0x0f)] + (d & 1) as i8;
                ranks[d] = if is_flat(there) { rank } else { i8::MAX };
                shore |= there < PIT;
            });
            if shore {
                // A neighbour where the flat drains takes precedence over all others.
                shape.visit_neighbours(k, |d, n| {
                    let end = (codes[n] < PIT) & (heights[n] == heights[k]);
                    // Ranks on the flat are −6 to 7, so −8 and −7 come before all of them.
                    ranks[d] = if end { (d & 1) as i8 - 8 } else { ranks[d] };
                });
            }
            let lowest_rank = ranks.iter().fold(i8::MAX, |lowest_rank, rank| lowest_rank.min(*rank));
            let best = (0..8).fold(0, |bits, d| bits | u8::from(ranks[d] == lowest_rank) << d);
            // The direction goes into bits of its own. The distances must remain until the last cell of the flat has
            // read them.
            codes[k] |= self.land.choose_neighbour(self.first_row + k / shape.cols, k % shape.cols, best) << 4;
        }
        for k in self.queue.as_slice() {
            let code = &mut codes[*k as usize];
            // All cells of the flat have a direction now, so it can replace the temporary code.
            *code = *code >> 4 & 7;
        }
    }
}

/// Runs a breadth-first search over a flat from the cells in `queue`. A neighbour whose `bits` are still `unknown`
/// receives those that `distance` computes from the code of the cell it is reached from, and is appended to the
/// queue.
#[inline(always)]
fn spread_distances(
    shape: BandShape,
    codes: &mut [u8],
    queue: &mut CellQueue,
    bits: u8,
    unknown: u8,
    distance: impl Fn(u8) -> u8,
) {
    // The queue grows while it is read, which is a breadth-first search: cells come in order of their distance.
    let mut next = 0;
    while let Some(k) = queue.get(next) {
        next += 1;
        let distance = distance(codes[k]);
        queue.extend(|found| {
            shape.visit_neighbours(k, |_, n| {
                let code = codes[n];
                let new = is_flat(code) & (code & bits == unknown);
                codes[n] = if new { code & !bits | distance } else { code };
                found.push_if(n, new);
            });
        });
    }
}

/// The shape of a band, and the differences between a cell's index and those of its neighbours.
#[derive(Clone, Copy)]
struct BandShape {
    rows: usize,
    cols: usize,
    offsets: [isize; 8],
    /// True if rows, and columns, are looped within this band.
    looped: [bool; 2],
}

impl BandShape {
    /// Calls `visit` with the direction and the index of each neighbour of cell `k`.
    #[inline(always)]
    fn visit_neighbours(&self, k: usize, mut visit: impl FnMut(usize, usize)) {
        let (i, j) = (k / self.cols, k % self.cols);
        let inside = i > 0 && i + 1 < self.rows && j > 0 && j + 1 < self.cols;
        // Only a cell at the border of a looped grid needs the topology. Everywhere else, differences of indices are
        // enough.
        if !inside && (self.looped[0] | self.looped[1]) {
            let topology = Topology { size: [self.rows, self.cols], looped: self.looped };
            for (d, step) in D8::OFFSETS.iter().enumerate() {
                if let Some(Cell { row: r, col: c }) = topology.offset_cell([i, j], *step) {
                    visit(d, r * self.cols + c);
                }
            }
            return;
        }
        for d in 0..8 {
            let [di, dj] = D8::OFFSETS[d];
            if inside || (i.wrapping_add_signed(di) < self.rows && j.wrapping_add_signed(dj) < self.cols) {
                visit(d, k.wrapping_add_signed(self.offsets[d]));
            }
        }
    }
}

/// A first-in, first-out queue of cell indices.
#[derive(Default)]
struct CellQueue {
    cells: Vec<u32>,
    len: usize,
}

impl CellQueue {
    fn clear(&mut self) {
        self.len = 0;
    }

    fn push(&mut self, k: usize) {
        self.extend(|found| found.push_if(k, true));
    }

    /// Appends the neighbours of a cell that `find` adds.
    #[inline(always)]
    fn extend(&mut self, find: impl FnOnce(&mut FoundNeighbours)) {
        let mut found = FoundNeighbours::default();
        find(&mut found);
        // Grow in small steps, because memory is committed only when it is written to.
        if self.cells.len() < self.len + 8 {
            self.cells.resize(self.len + 4096, 0);
        }
        self.cells[self.len..self.len + 8].copy_from_slice(&found.cells);
        self.len += found.count;
    }

    #[inline(always)]
    fn get(&self, x: usize) -> Option<usize> {
        (x < self.len).then(|| self.cells[x] as usize)
    }

    fn as_slice(&self) -> &[u32] {
        &self.cells[..self.len]
    }
}

/// The valid neighbours of a cell.
#[derive(Default)]
struct FoundNeighbours {
    cells: [u32; 8],
    count: usize,
}

impl FoundNeighbours {
    /// Appends one of at most eight neighbours if it is valid.
    #[inline(always)]
    fn push_if(&mut self, k: usize, counts: bool) {
        // The entry is always written, and the next one overwrites it unless it counts. The mask lets the compiler omit
        // the check of bounds.
        self.cells[self.count & 7] = k as u32;
        self.count += usize::from(counts);
    }
}

/// For the two distances (a and t, as stored in a code) of a cell and of a neighbour, the difference between the
/// neighbour's 2·t − a and the cell's.
const RANKS: [[i8; 16]; 16] = {
    let mut table = [[0; 16]; 16];
    let mut x = 0;
    while x < 256 {
        let (here, there) = (x / 16, x % 16);
        table[here][there] =
            2 * subtract_modulo_three(there & 3, here & 3) - subtract_modulo_three(there >> 2, here >> 2);
        x += 1;
    }
    table
};

/// Returns the difference of two distances that are known modulo 3 and differ by at most one.
const fn subtract_modulo_three(a: usize, b: usize) -> i8 {
    // Adding 3 keeps the difference of unsigned numbers from wrapping.
    match (a + 3 - b) % 3 {
        0 => 0,
        1 => 1,
        _ => -1,
    }
}

/// Returns true if the code of a neighbour of a flat cell belongs to the flat; all other neighbours drain or have no
/// data.
#[inline(always)]
fn is_flat(code: u8) -> bool {
    (code & FLAT != 0) & (code != VOID)
}

/// Returns the distance, modulo 3, one step farther.
#[inline(always)]
fn increment_modulo_three(distance: u8) -> u8 {
    if distance == 2 { 0 } else { distance + 1 }
}

/// Number of cells that are scanned at once for a flat cell.
const CHUNK: usize = 256;
