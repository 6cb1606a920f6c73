//! What gathers along directions.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::near::{NEIGHBOURS, Near, whole};
use crate::{D8, Directions, PIT, VOID};
use thalweg_core::base::cast::share_of;
use thalweg_core::{Error, Field, Result, Topology};

/// Number of cells that drain through each cell, itself among them; 0 where there is no data.
pub fn count_upstream_cells(directions: &Directions) -> Field<u32> {
    let mut counts = Field::new(directions.size(), 0);
    let codes = directions.as_slice().par_chunks(CHUNK);
    counts.as_mut_slice().par_chunks_mut(CHUNK).zip(codes).for_each(|(counts, codes)| {
        for (count, code) in counts.iter_mut().zip(codes) {
            *count = u32::from(*code != VOID);
        }
    });
    // One more than fits, if all of the 2³² cells that there may be drain through one.
    gather(directions, counts.as_mut_slice(), u32::saturating_add);
    counts
}

/// Parts that [`shares`] counts a cell in: 2¹⁶, so that 2³² cells of full rain still fit.
pub const SHARES: f64 = 65_536.0;

/// A cell's share of the rain, held within 0 to 1, in whole parts of [`SHARES`], for [`accumulate_weights`]; what is not a number is none.
pub fn shares(rain: f32) -> i64 {
    (f64::from(share_of(rain)) * SHARES).round() as i64
}

/// Sum of the weights of all cells that drain through each cell, itself among them; 0 where there is no data.
///
/// # Errors
/// When the weights are not of the directions' size, or their magnitudes sum to more than an i64 holds.
pub fn accumulate_weights(directions: &Directions, weights: &Field<i64>) -> Result<Field<i64>> {
    if weights.size() != directions.size() {
        return Err(Error::value("weights", format!("{:?} cells", weights.size()), format!("{:?}", directions.size())));
    }
    let mut sums = weights.clone();
    let bands = sums.as_mut_slice().par_chunks_mut(CHUNK).zip(directions.as_slice().par_chunks(CHUNK));
    let total: i128 = bands
        .map(|(sums, codes)| {
            let mut total = 0;
            for (sum, code) in sums.iter_mut().zip(codes) {
                *sum = if *code == VOID { 0 } else { *sum };
                total += i128::from(sum.unsigned_abs());
            }
            total
        })
        .sum();
    // So no partial sum overflows, in whatever order.
    if total > i128::from(i64::MAX) {
        return Err(Error::value("sum of the weights' magnitudes", total, format!("at most {}", i64::MAX)));
    }
    gather(directions, sums.as_mut_slice(), i64::wrapping_add);
    Ok(sums)
}

/// Real weights in whole parts, for [`accumulate_weights`] and its kin, and how much one part is in the weights' unit: a power of two, so
/// small that the sum of all just fits. What a weight is rounded by is less than 2⁻⁶¹ of that sum (2⁻¹⁰²² where that is more), and sums of
/// parts are exact in any order.
///
/// # Errors
/// A weight that is not finite, by its cell; magnitudes whose sum is not.
pub fn quantize_weights(weights: &Field<f64>) -> Result<(Field<i64>, f64)> {
    if let Some(k) = weights.as_slice().iter().position(|weight| !weight.is_finite()) {
        let name = format!("weight at row {}, column {}", k / weights.cols(), k % weights.cols());
        return Err(Error::value(name, weights[k], "a finite number"));
    }
    // Row by row, so that the bits are those of one thread.
    let total: f64 = weights.as_slice().iter().map(|weight| weight.abs()).sum();
    if !total.is_finite() {
        return Err(Error::value("sum of the weights' magnitudes", total, "a finite number"));
    }
    // One bit is kept for what the sum was rounded by, and one for the sign.
    let part = if total > 0.0 { libm::ldexp(1.0, (libm::ilogb(total) - 61).max(-1022)) } else { 1.0 };
    Ok((weights.map(|weight| (weight / part).round() as i64), part))
}

/// Row-major indices of the cells with data, each before the one that it drains to; cells on a circle are left out.
pub fn upstream_order(directions: &Directions) -> Vec<u32> {
    let cascade = Cascade::over(directions);
    let mut donors = cascade.donors(directions);
    let codes = directions.as_slice();
    let mut order = vec![0; codes.len()];
    // The bands show in the order: they must not depend on the number of threads.
    let len = (CHUNK / cascade.cols.max(1)).max(1) * cascade.cols.max(1);
    let bands = order.par_chunks_mut(len).zip(donors.par_chunks_mut(len)).zip(codes.par_chunks(len)).enumerate();
    let ends: Vec<(usize, Vec<u32>)> = bands
        .map(|(band, ((order, donors), codes))| {
            let start = band * len;
            let mut count = 0;
            let mut beyond = Vec::new();
            let mut push = |k: usize| {
                order[count] = (start + k) as u32;
                count += 1;
            };
            for k in 0..codes.len() {
                if donors[k] == 0 && codes[k] <= PIT {
                    push(k);
                    let end = cascade.follow((start, codes), donors, k, (), |_, ()| (), &mut push);
                    beyond.extend(end.map(|(n, ())| start.wrapping_add(n) as u32));
                }
            }
            (count, beyond)
        })
        .collect();
    let mut count = 0;
    for (band, (len_here, _)) in ends.iter().enumerate() {
        order.copy_within(band * len..band * len + len_here, count);
        count += len_here;
    }
    let mut push = |k: usize| {
        order[count] = k as u32;
        count += 1;
    };
    for n in ends.iter().flat_map(|(_, beyond)| beyond) {
        let n = *n as usize;
        if n < codes.len() && cascade.arrive(&mut donors, n) {
            push(n);
            cascade.follow((0, codes), &mut donors, n, (), |_, ()| (), &mut push);
        }
    }
    order.truncate(count);
    order
}

/// Cells that one task works through.
const CHUNK: usize = 1 << 20;

/// Adds each cell's sum to that of the cell it drains to, from the heads down. `add` is the same in any order.
fn gather<T: Copy + Send + Sync>(directions: &Directions, sums: &mut [T], add: impl Fn(T, T) -> T + Sync) {
    let cascade = Cascade::over(directions);
    let mut donors = cascade.donors(directions);
    let codes = directions.as_slice();
    // What flows from band to band waits, with all below it. Sums are the same for any bands.
    let threads = rayon::current_num_threads();
    let rows = directions.rows().div_ceil(if threads == 1 { 1 } else { 4 * threads });
    let len = (rows * cascade.cols).max(1);
    let bands = sums.par_chunks_mut(len).zip(donors.par_chunks_mut(len)).zip(codes.par_chunks(len)).enumerate();
    let beyond: Vec<Vec<(u32, T)>> = bands
        .map(|(band, ((sums, donors), codes))| {
            let mut beyond = Vec::new();
            for k in 0..codes.len() {
                if donors[k] == 0 {
                    let carry = sums[k];
                    let add = |n: usize, sum| add_to(&mut sums[n], sum, &add);
                    let end = cascade.follow((band * len, codes), donors, k, carry, add, |_| ());
                    beyond.extend(end.map(|(n, sum)| ((band * len).wrapping_add(n) as u32, sum)));
                }
            }
            beyond
        })
        .collect();
    for (n, sum) in beyond.into_iter().flatten() {
        let n = n as usize;
        // Directions made by hand may lead out of the field.
        let Some(here) = sums.get_mut(n) else { continue };
        let sum = add_to(here, sum, &add);
        if cascade.arrive(&mut donors, n) {
            cascade.follow((0, codes), &mut donors, n, sum, |n, sum| add_to(&mut sums[n], sum, &add), |_| ());
        }
    }
}

/// Adds to a sum, and returns it.
#[inline(always)]
fn add_to<T: Copy>(sum: &mut T, more: T, add: impl Fn(T, T) -> T) -> T {
    *sum = add(*sum, more);
    *sum
}

/// A way through all cells, each after those that drain to it, without a list of them: from each head (a cell without
/// donors) down, as far as the last donor of a cell has come.
struct Cascade {
    topology: Topology,
    cols: usize,
    /// From a cell's index to its neighbours'.
    offsets: [isize; 8],
}

/// Of a cell that is complete, but no head.
const DONE: u8 = u8::MAX;

impl Cascade {
    fn over(directions: &Directions) -> Self {
        let cols = directions.cols();
        Self { topology: directions.topology(), cols, offsets: D8::OFFSETS.map(|[di, dj]| di * cols as isize + dj) }
    }

    /// Number of neighbours that drain to each cell.
    fn donors(&self, directions: &Directions) -> Vec<u8> {
        const ROWS: usize = 64;
        let mut donors = vec![0; directions.len()];
        donors.par_chunks_mut(ROWS * self.cols.max(1)).enumerate().for_each(|(band, donors)| {
            let mut near = Near::new(self.topology, VOID);
            let mut counts = vec![0; whole(self.cols)];
            for (r, donors) in donors.chunks_mut(self.cols).enumerate() {
                let read = |i: usize, row: &mut [u8]| row.copy_from_slice(directions.row(i));
                near.advance(band * ROWS + r, r == 0, read);
                count(&near.rows, &mut counts);
                donors.copy_from_slice(&counts[..self.cols]);
            }
        });
        donors
    }

    /// Takes note of a donor that has come to cell `n`: whether it was the last one.
    #[inline(always)]
    fn arrive(&self, donors: &mut [u8], n: usize) -> bool {
        let last = donors[n] == 1;
        donors[n] = if last { DONE } else { donors[n].wrapping_sub(1) };
        last
    }

    /// Follows water from cell `k` of `codes`, which begin with cell `start`, through all cells that this completes: `k` is complete and
    /// passes `carry` on. Where it leaves `codes`, the index from `start` on (perhaps wrapped) and what arrives there. `come` takes what comes to a cell and
    /// returns what that passes on; `complete` hears of each cell.
    #[inline(always)]
    fn follow<T: Copy>(
        &self,
        (start, codes): (usize, &[u8]),
        donors: &mut [u8],
        k: usize,
        carry: T,
        mut come: impl FnMut(usize, T) -> T,
        mut complete: impl FnMut(usize),
    ) -> Option<(usize, T)> {
        let (mut k, mut carry) = (k, carry);
        loop {
            let offset = *self.offsets.get(usize::from(codes[k]))?;
            let n = if self.topology.is_looped() {
                self.topology.beside(start + k, D8::OFFSETS[usize::from(codes[k])]).wrapping_sub(start)
            } else {
                k.wrapping_add_signed(offset)
            };
            if n >= codes.len() {
                return Some((n, carry));
            }
            carry = come(n, carry);
            if !self.arrive(donors, n) {
                return None;
            }
            complete(n);
            k = n;
        }
    }
}

/// Counts for each column the neighbours whose direction leads here.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn count(near: &[Vec<u8>; 3], counts: &mut [u8]) {
    let len = counts.len();
    let around = NEIGHBOURS.map(|[row, shift]| &near[row][shift..shift + len]);
    for x in 0..len {
        let mut count = 0;
        for k in 0..8 {
            count += u8::from(around[k][x] == k as u8 ^ 4);
        }
        counts[x] = count;
    }
}
