//! Multiple-flow accumulation: water is divided among all lower neighbours.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::d8::uneven_metrics;
use crate::{D8, Directions, Land, VOID};
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::{Cell, Error, Field, Grid, Height, Result, Topology};

/// The result of multiple-flow accumulation.
#[derive(Debug, Clone)]
pub struct MultipleFlowSums {
    /// For each cell, the sum of its own weight and everything that reaches it, in the weights' unit; 0 where there
    /// is no data.
    pub sums: Field<i64>,
    /// Row-major indices of the cells with data, each before all its receivers (including its D8 receiver).
    pub order: Vec<u32>,
}

/// Number of cells that one task processes.
const PIECE: usize = 1 << 14;

/// Exponents that [`accumulate_multiple`] accepts. Above the greatest, the shares of all but the steepest neighbour
/// are negligible.
pub const EXPONENTS: std::ops::RangeInclusive<f64> = 0.5..=10.0;

/// Accumulates the weights of all cells down a surface. At every cell, flow is divided among the lower neighbours in
/// proportion to slopeᵖ, where p is the `exponent` (Freeman 1991, doi:10.1016/0098-3004(91)90048-I, with p = 1.1;
/// Quinn et al. 1991, doi:10.1002/hyp.3360050106, with 1). For example, with an exponent of 1, two lower neighbours at
/// slopes of 0.1 and 0.3 receive one quarter and three quarters. If cells are not squares, the distances are those of
/// the cell's row ([`CellMetrics`](thalweg_core::terrain::CellMetrics)).
///
/// `land` must have a filled surface, and `directions` must be its D8 directions: where they lead across a flat, all
/// flow follows them; where they end, it stays. The division is exact, because rounding remainders go to the steepest
/// neighbour. The sums at the ends of the directions therefore add up to the sum of the weights.
///
/// # Errors
/// Returns an error if directions or weights do not have the land's size, if a weight is negative, if the sum of all
/// weights exceeds an i64, or if the exponent is outside [`EXPONENTS`].
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Terrain};
/// use thalweg_flow::Land;
/// use thalweg_flow::d8::route_d8;
/// use thalweg_flow::multiple::accumulate_multiple;
///
/// // A ridge between two equally steep slopes: half of its flow runs down either side.
/// let terrain = Terrain::from_metres(Grid::new([1, 3], 10.0)?, &[1.0, 2.0, 1.0])?;
/// let land = Land::from_terrain(&terrain);
/// let gathered = accumulate_multiple(&land, &route_d8(&land), 1.1, Field::new([1, 3], 1000))?;
/// assert_eq!(gathered.sums.as_slice(), [1500, 1000, 1500]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn accumulate_multiple(
    land: &Land<'_>,
    directions: &Directions,
    exponent: f64,
    weights: Field<i64>,
) -> Result<MultipleFlowSums> {
    let [rows, cols] = land.ground.size();
    for (name, [r, c]) in [("directions", directions.size()), ("weights", weights.size())] {
        if [r, c] != [rows, cols] {
            return Err(Error::invalid_value(
                name,
                format!("{r} × {c} cells"),
                format!("{rows} × {cols} (the ground)"),
            ));
        }
    }
    let pieces =
        weights.as_slice().par_chunks(PIECE).zip(directions.as_slice().par_chunks(PIECE)).map(|(weights, codes)| {
            let there = || weights.iter().zip(codes).filter(|(_, code)| **code != VOID).map(|(weight, _)| *weight);
            (there().min().unwrap_or(0), there().map(i128::from).sum::<i128>())
        });
    let (smallest, sum) = pieces.reduce(|| (0, 0), |a, b| (a.0.min(b.0), a.1 + b.1));
    if smallest < 0 {
        return Err(Error::invalid_value("weight", smallest, "0 or more"));
    }
    // With this limit no partial sum overflows.
    if sum > i128::from(i64::MAX) {
        return Err(Error::invalid_value("sum of the weights", sum, format!("at most {}", i64::MAX)));
    }
    if !EXPONENTS.contains(&exponent) {
        let allowed = format!("{} to {}", EXPONENTS.start(), EXPONENTS.end());
        return Err(Error::invalid_value("multiple-flow exponent", exponent, allowed));
    }
    let surface = RoutedSurface {
        heights: land.ground.as_slice(),
        codes: directions.as_slice(),
        topology: land.grid.topology(),
        rows,
        cols,
        voids: directions.as_slice().contains(&VOID),
        exponent: exponent as f32,
        nearness: compute_nearness(land.grid),
    };
    let mut sums = weights;
    let mut givers = surface.count_donors();
    let mut order = Vec::with_capacity(surface.heights.len());
    accumulate_downstream(&surface, &mut givers, sums.as_mut_slice(), &mut order);
    Ok(MultipleFlowSums { sums, order })
}

/// A surface with its D8 directions.
struct RoutedSurface<'a> {
    heights: &'a [Height],
    codes: &'a [u8],
    topology: Topology,
    rows: usize,
    cols: usize,
    /// True if there are cells without data.
    voids: bool,
    exponent: f32,
    /// The nominal side of a cell divided by the distance to each neighbour, by rows; one entry if all rows are alike.
    nearness: Vec<[f32; 8]>,
}

/// Returns [`RoutedSurface::nearness`].
fn compute_nearness(grid: &Grid) -> Vec<[f32; 8]> {
    let Some(metrics) = uneven_metrics(grid) else {
        return vec![std::array::from_fn(|d| D8::INVERSE_DISTANCES_F32[d % 2])];
    };
    let count = if metrics.is_uniform() { 1 } else { grid.rows() };
    (0..count).map(|i| metrics.row(i).distances().map(|distance| (grid.cell / distance) as f32)).collect()
}

/// Number of rows that one task processes.
const BAND: usize = 32;

/// The height assigned to cells beyond edges and without data: above any ground, but small enough that differences do
/// not overflow.
// Heights are within ±16 000 m, which is less than 2³⁰ units, so a difference is less than 2³¹.
const WALL: i32 = 1 << 30;

impl RoutedSurface<'_> {
    /// Counts the donors of each cell.
    fn count_donors(&self) -> Vec<u8> {
        let mut givers = vec![0; self.heights.len()];
        givers.par_chunks_mut(BAND * self.cols).enumerate().for_each(|(band, givers)| {
            let mut rows = [0; 3].map(|_| SurfaceRow::new(self.cols));
            for (r, givers) in givers.chunks_mut(self.cols).enumerate() {
                let i = band * BAND + r;
                rows.rotate_left(1);
                let at = i as isize;
                if r == 0 {
                    rows[0].read(self, at - 1);
                    rows[1].read(self, at);
                }
                rows[2].read(self, at + 1);
                count_row_donors(&rows, givers);
            }
        });
        givers
    }
}

/// A row with one padding cell at either end, as its neighbours see it.
struct SurfaceRow {
    /// The height of cells that have receivers; `i32::MIN` for all others.
    giving: Vec<i32>,
    /// The height of cells that can receive flow; `i32::MAX` for all others.
    taking: Vec<i32>,
    code: Vec<i32>,
}

impl SurfaceRow {
    fn new(cols: usize) -> Self {
        Self { giving: vec![i32::MIN; cols + 2], taking: vec![i32::MAX; cols + 2], code: vec![VOID.into(); cols + 2] }
    }

    /// Reads row `at` of the surface; a row beyond the edges has no cells that give or receive.
    fn read(&mut self, surface: &RoutedSurface<'_>, at: isize) {
        let cols = surface.cols;
        let Some(i) = surface.topology.wrap_line(0, at) else {
            *self = Self::new(cols);
            return;
        };
        let heights = &surface.heights[i * cols..(i + 1) * cols];
        let codes = &surface.codes[i * cols..(i + 1) * cols];
        for j in 0..cols {
            self.code[j + 1] = codes[j].into();
            // The extreme values make every comparison with such a cell false, so the kernel needs no branch.
            self.giving[j + 1] = if codes[j] < 8 { heights[j].0 } else { i32::MIN };
            self.taking[j + 1] = if codes[j] == VOID { i32::MAX } else { heights[j].0 };
        }
        // The padding receives the cells across the seam.
        if surface.topology.looped[1] {
            for row in [&mut self.code, &mut self.giving, &mut self.taking] {
                (row[0], row[cols + 1]) = (row[cols], row[1]);
            }
        }
    }
}

/// Counts for each column the donors: higher neighbours, and equally high ones whose D8 direction leads here.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2+bmi1+bmi2", "aarch64+neon"))]
fn count_row_donors(rows: &[SurfaceRow; 3], givers: &mut [u8]) {
    let cols = givers.len();
    let here = &rows[1].taking[1..=cols];
    givers.fill(0);
    for (k, [di, dj]) in D8::OFFSETS.iter().enumerate() {
        let row = &rows[(1 + di) as usize];
        let from = (1 + dj) as usize;
        let (giving, code) = (&row.giving[from..from + cols], &row.code[from..from + cols]);
        // A neighbour drains here by D8 if its direction is the opposite one.
        let back = (k ^ 4) as i32;
        for j in 0..cols {
            let gives = (giving[j] > here[j]) | ((giving[j] == here[j]) & (code[j] == back));
            givers[j] += u8::from(gives);
        }
    }
}

/// Processes each cell as soon as all its donors are done, and passes on its sum. A cell that was just completed is
/// processed next, so that cells close to each other in the order are close on the ground as well.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2+bmi1+bmi2", "aarch64+neon"))]
fn accumulate_downstream(surface: &RoutedSurface<'_>, givers: &mut [u8], sums: &mut [i64], order: &mut Vec<u32>) {
    /// Replaces the number of donors of a cell that is processed or queued.
    const QUEUED: u8 = u8::MAX;
    let (cols, last) = (surface.cols, surface.nearness.len() - 1);
    let steps = D8::OFFSETS.map(|[di, dj]| di * cols as isize + dj);
    let mut free: Vec<u32> = Vec::new();
    for head in 0..givers.len() {
        if surface.codes[head] == VOID {
            sums[head] = 0;
            continue;
        }
        if givers[head] == 0 {
            givers[head] = QUEUED;
            free.push(head as u32);
        }
        while let Some(k) = free.pop() {
            order.push(k);
            let k = k as usize;
            let code = usize::from(surface.codes[k]);
            if code > 7 {
                continue;
            }
            let here = surface.heights[k].0;
            let (near, at) = read_neighbours(surface, k, &steps);
            let amount = sums[k];
            // Directions never lead beyond the land.
            let first = at[code];
            // The D8 receiver gets the part that the others leave, so that the parts sum to the amount.
            let mut rest = amount;
            if near[code] < here {
                // `read_neighbours` divides the same numbers of 32 bits, so the row costs nothing.
                let row = (k as u32 / cols as u32) as usize;
                let shares = split_flow(here, &near, code, surface.exponent, &surface.nearness[row.min(last)]);
                let scale = amount as f64;
                for d in 0..8 {
                    if near[d] < here && d != code {
                        let n = at[d];
                        // Parts are rounded down, and the steepest neighbour's own share is at least an eighth, so the
                        // rest is never negative.
                        let part = (shares[d] * scale) as i64;
                        rest -= part;
                        sums[n] += part;
                        givers[n] = givers[n].wrapping_sub(1);
                        if givers[n] == 0 {
                            givers[n] = QUEUED;
                            free.push(n as u32);
                        }
                    }
                }
            }
            sums[first] += rest;
            givers[first] = givers[first].wrapping_sub(1);
            if givers[first] == 0 {
                givers[first] = QUEUED;
                free.push(first as u32);
            }
        }
    }
}

/// Returns the heights and indices of the neighbours of cell `k`. The index of a neighbour whose height is [`WALL`]
/// is meaningless.
#[inline(always)]
fn read_neighbours(surface: &RoutedSurface<'_>, k: usize, steps: &[isize; 8]) -> ([i32; 8], [usize; 8]) {
    let cols = surface.cols as u32;
    let (i, j) = (k as u32 / cols, k as u32 % cols);
    let inside = i > 0 && j > 0 && i + 1 < surface.rows as u32 && j + 1 < cols;
    let mut near = [WALL; 8];
    let mut at = [0; 8];
    for d in 0..8 {
        at[d] = k.wrapping_add_signed(steps[d]);
    }
    if inside && !surface.voids {
        for d in 0..8 {
            near[d] = surface.heights[at[d]].0;
        }
        return (near, at);
    }
    for (d, step) in D8::OFFSETS.iter().enumerate() {
        let Some(Cell { row: r, col: c }) = surface.topology.offset_cell([i as usize, j as usize], *step) else {
            continue;
        };
        at[d] = r * surface.cols + c;
        if surface.codes[at[d]] != VOID {
            near[d] = surface.heights[at[d]].0;
        }
    }
    (near, at)
}

/// Returns the shares of the lower neighbours; neighbour `steepest` must be one of them.
#[inline(always)]
fn split_flow(here: i32, near: &[i32; 8], steepest: usize, exponent: f32, nearness: &[f32; 8]) -> [f64; 8] {
    let mut fall = [0.0f32; 8];
    for d in 0..8 {
        // Replacing a fall of 0 by 1 keeps the logarithms finite; the weight of such a neighbour is not used.
        fall[d] = (here - near[d]).max(1) as f32 * nearness[d];
    }
    // Slopes are relative to the steepest, so powers are at most 1 and cannot overflow for any exponent.
    let top = log2(fall[steepest]);
    let mut weight = [0.0f32; 8];
    for d in 0..8 {
        let power = exp2(exponent * (log2(fall[d]) - top));
        weight[d] = if near[d] < here { power } else { 0.0 };
    }
    // The order of the additions is fixed. Adding opposite neighbours first lets vector instructions compute the same
    // sum.
    let total =
        ((weight[0] + weight[4]) + (weight[1] + weight[5])) + ((weight[2] + weight[6]) + (weight[3] + weight[7]));
    let scale = 1.0 / f64::from(total);
    weight.map(|w| f64::from(w) * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OUT, d8, fill, find_receiver};
    use thalweg_core::Edge;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::CellShape;

    /// Returns a small land with ties, flats, missing data and closed edges.
    fn random(n: u64) -> (Grid, Field<Height>, Option<Field<bool>>) {
        let key = RandomKey::new(n, "multiple");
        let size =
            [1 + (key.derive_key(1).random_bits() % 12) as usize, 1 + (key.derive_key(2).random_bits() % 17) as usize];
        let mut grid = Grid::new(size, 10.0).unwrap();
        for (side, edge) in grid.edges.iter_mut().enumerate() {
            *edge =
                if key.derive_key(3).derive_key(side as u64).uniform_unit() < 0.5 { Edge::Open } else { Edge::Closed };
        }
        grid.sea_level = (key.derive_key(4).uniform_unit() < 0.3).then_some(Height(2 * 65_536));
        let levels = 2 + key.derive_key(5).random_bits() % 40;
        let at = |i: usize, j: usize, part: u64| key.derive_key(part).for_cell([i as i64, j as i64]).random_bits();
        let ground = Field::from_fn(size, |i, j| Height((at(i, j, 6) % levels) as i32 * 65_536));
        let nodata = (key.derive_key(7).uniform_unit() < 0.5)
            .then(|| Field::from_fn(size, |i, j| at(i, j, 8).is_multiple_of(7)));
        (grid, ground, nodata)
    }

    /// Returns the receivers and their shares, computed directly from the definition.
    fn shares(land: &Land<'_>, directions: &Directions, k: usize, p: f64) -> Vec<(usize, f64)> {
        let cols = land.grid.cols();
        let Some(first) = find_receiver(k, directions[k], cols) else { return Vec::new() };
        let heights = land.ground.as_slice();
        if heights[first] == heights[k] {
            return vec![(first, 1.0)];
        }
        let lower: Vec<(usize, f64)> = land
            .neighbours(k / cols, k % cols)
            .map(|(direction, Cell { row: r, col: c })| (direction, r * cols + c))
            .filter(|(_, n)| heights[*n] < heights[k] && directions[*n] != VOID)
            .map(|(direction, n)| {
                let fall = heights[k].metres() - heights[n].metres();
                (n, (fall / direction.distance()).powf(p))
            })
            .collect();
        let total: f64 = lower.iter().map(|(_, w)| w).sum();
        lower.into_iter().map(|(n, w)| (n, w / total)).collect()
    }

    #[test]
    fn it_is_the_plain_definition_and_loses_nothing() {
        for n in 0..2000 {
            let (grid, ground, nodata) = random(n);
            let land = Land { grid: &grid, ground: &ground, nodata: nodata.as_ref(), outlets: &[] };
            let filled = fill::fill_depressions(&land);
            let land = land.with_ground(&filled);
            let directions = d8::route_d8(&land);
            let exponent = [0.5, 1.0, 1.1, 4.0, 10.0][n as usize % 5];
            let one = 1i64 << 30;
            let MultipleFlowSums { sums, order } =
                accumulate_multiple(&land, &directions, exponent, Field::new(grid.size, one)).unwrap();
            // Iterate until nothing changes, which does not depend on any order.
            let count = grid.len();
            let valid: Vec<bool> = directions.as_slice().iter().map(|d| *d != VOID).collect();
            let all: Vec<_> = (0..count).map(|k| shares(&land, &directions, k, exponent)).collect();
            let mut expected: Vec<f64> = valid.iter().map(|v| f64::from(u8::from(*v))).collect();
            for _ in 0..count {
                let mut next: Vec<f64> = valid.iter().map(|v| f64::from(u8::from(*v))).collect();
                for k in 0..count {
                    all[k].iter().for_each(|(n, share)| next[*n] += share * expected[k]);
                }
                expected = next;
            }
            for (sum, expected) in sums.as_slice().iter().zip(&expected) {
                // Every split is accurate to about 10⁻⁶ of the amount, and a path has at most 204 of them.
                assert!((*sum as f64 / one as f64 - expected).abs() <= 2e-4 * expected, "land {n}");
            }
            let ends: i64 = (0..count).filter(|k| valid[*k] && directions[*k] >= OUT).map(|k| sums[k]).sum();
            let cells = valid.iter().filter(|v| **v).count();
            assert_eq!(ends, cells as i64 * one, "land {n}: nothing is lost");
            let mut place = vec![usize::MAX; count];
            order.iter().enumerate().for_each(|(at, k)| place[*k as usize] = at);
            assert_eq!(order.len(), cells);
            for k in 0..count {
                assert_eq!(place[k] == usize::MAX, !valid[k]);
                assert!(all[k].iter().all(|(n, _)| place[k] < place[*n]), "land {n}: givers come first");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let grid = Grid::new([3, 4], 1.0).unwrap();
        let ground = Field::new([3, 4], Height::ZERO);
        let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
        let directions = d8::route_d8(&land);
        assert!(accumulate_multiple(&land, &directions, 1.1, Field::new([4, 3], 1)).is_err());
        for exponent in [0.4, 10.1, f64::NAN] {
            assert!(accumulate_multiple(&land, &directions, exponent, Field::new([3, 4], 1)).is_err());
        }
        for (weight, named) in [(-1, "-1"), (i64::MAX / 12 + 1, "sum"), (i64::MAX, "sum")] {
            let refused = accumulate_multiple(&land, &directions, 1.1, Field::new([3, 4], weight)).unwrap_err();
            assert!(refused.to_string().contains(named), "{refused}");
        }
        assert!(accumulate_multiple(&land, &directions, 1.1, Field::new([3, 4], i64::MAX / 12)).is_ok());
    }

    #[test]
    fn rectangles_divide_flow_by_true_slopes() {
        // Falls of 1 m to the east, over 20 m, and of 1 m to the south, over 40 m.
        let metres = [9.0, 9.0, 9.0, 9.0, 5.0, 4.0, 9.0, 4.0, 9.0];
        let ground = Field::from_vec([3, 3], metres.map(Height::from_metres_clamped).to_vec()).unwrap();
        let squares = Grid::new([3, 3], 20.0).unwrap();
        let sums = |grid: &Grid| {
            let land = Land { grid, ground: &ground, nodata: None, outlets: &[] };
            let weights = Field::from_fn([3, 3], |i, j| if (i, j) == (1, 1) { 3_000_000 } else { 0 });
            accumulate_multiple(&land, &d8::route_d8(&land), 1.0, weights).unwrap().sums
        };
        let shaped = |width, height| squares.clone().with_shape(CellShape::Rectangular { width, height }).unwrap();
        let found = sums(&shaped(20.0, 40.0));
        assert!((found[(1, 2)] - 2_000_000).abs() < 100 && (found[(2, 1)] - 1_000_000).abs() < 100);
        assert_eq!(sums(&shaped(20.0, 20.0)), sums(&squares));
    }
}
