//! Flow accumulation along D8 directions.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::padded_rows::{NEIGHBOURS, Near, round_up_to_blocks};
use crate::{D8, Directions, PIT, VOID};
use thalweg_core::base::cast::clamp_share;
use thalweg_core::{Error, Field, Result, Topology};

/// Counts the cells that drain through each cell, including itself; 0 where there is no data. For example, a count of
/// 1000 cells of 30 m is a drainage area of 0.9 km².
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::accumulate::count_upstream_cells;
/// use thalweg_flow::{Directions, OUT};
///
/// // Five cells drain to the middle of the southern row.
/// let directions = Directions::from(Field::from_vec([2, 3], vec![1, 2, 3, 0, OUT, 4])?);
/// assert_eq!(count_upstream_cells(&directions).as_slice(), [1, 1, 1, 1, 6, 1]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn count_upstream_cells(directions: &Directions) -> Field<u32> {
    let mut counts = Field::new(directions.size(), 0);
    let codes = directions.as_slice().par_chunks(CHUNK);
    counts.as_mut_slice().par_chunks_mut(CHUNK).zip(codes).for_each(|(counts, codes)| {
        for (count, code) in counts.iter_mut().zip(codes) {
            *count = u32::from(*code != VOID);
        }
    });
    // Saturate, because the count would exceed the range by one if all of the possible 2³² cells drained through one.
    accumulate_downstream(directions, counts.as_mut_slice(), u32::saturating_add);
    counts
}

/// Number of parts into which [`quantize_rain`] divides a cell: 2¹⁶, so that the sum of 2³² cells of full rain fits
/// an i64.
pub const SHARES: f64 = 65_536.0;

/// Converts a cell's share of the rain, clamped to 0 to 1, to whole parts of [`SHARES`], for [`accumulate_weights`];
/// NaN counts as 0.
pub fn quantize_rain(rain: f32) -> i64 {
    (f64::from(clamp_share(rain)) * SHARES).round() as i64
}

/// Sums the weights of all cells that drain through each cell, including itself; 0 where there is no data.
///
/// # Errors
/// Returns an error if the weights do not have the directions' size, or if their magnitudes sum to more than an i64
/// holds.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::accumulate::accumulate_weights;
/// use thalweg_flow::{Directions, OUT};
///
/// // Rain falls on the first and the last of three cells that drain to the east.
/// let directions = Directions::from(Field::from_vec([1, 3], vec![0, 0, OUT])?);
/// let rain = Field::from_vec([1, 3], vec![5, 0, 2])?;
/// assert_eq!(accumulate_weights(&directions, &rain)?.as_slice(), [5, 5, 7]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn accumulate_weights(directions: &Directions, weights: &Field<i64>) -> Result<Field<i64>> {
    if weights.size() != directions.size() {
        return Err(Error::invalid_value(
            "weights",
            format!("{} × {} cells", weights.size()[0], weights.size()[1]),
            format!("{} × {} (the directions)", directions.size()[0], directions.size()[1]),
        ));
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
    // With this limit no partial sum overflows, in any order.
    if total > i128::from(i64::MAX) {
        return Err(Error::invalid_value("sum of the weights' magnitudes", total, format!("at most {}", i64::MAX)));
    }
    accumulate_downstream(directions, sums.as_mut_slice(), i64::wrapping_add);
    Ok(sums)
}

/// Converts real weights to whole parts, for [`accumulate_weights`] and related functions. Also returns the size of
/// one part in the weights' unit: a power of two, so small that the sum of all weights just fits. The rounding of a
/// weight is less than 2⁻⁶¹ of that sum (or 2⁻¹⁰²² if that is more), and sums of parts are exact in any order. For
/// example, the weights may be the runoff of each cell in m³/s; their sums are then the discharge.
///
/// # Errors
/// Returns an error that names the cell if a weight is not finite, and an error if the sum of the magnitudes is not
/// finite.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::accumulate::{accumulate_weights, quantize_weights};
/// use thalweg_flow::{Directions, OUT};
///
/// let directions = Directions::from(Field::from_vec([1, 3], vec![0, 0, OUT])?);
/// let (parts, size) = quantize_weights(&Field::from_vec([1, 3], vec![0.5, 0.25, 0.25])?)?;
/// let sums = accumulate_weights(&directions, &parts)?.map(|sum| *sum as f64 * size);
/// assert_eq!(sums.as_slice(), [0.5, 0.75, 1.0]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn quantize_weights(weights: &Field<f64>) -> Result<(Field<i64>, f64)> {
    if let Some(k) = weights.as_slice().iter().position(|weight| !weight.is_finite()) {
        let name = format!("weight at row {}, column {}", k / weights.cols(), k % weights.cols());
        return Err(Error::invalid_value(name, weights[k], "a finite number"));
    }
    // Sum sequentially in row-major order, so that the result does not depend on the number of threads.
    let total: f64 = weights.as_slice().iter().map(|weight| weight.abs()).sum();
    if !total.is_finite() {
        return Err(Error::invalid_value("sum of the weights' magnitudes", total, "a finite number"));
    }
    // One bit is reserved for the rounding of the sum, and one for the sign.
    let part = if total > 0.0 { libm::ldexp(1.0, (libm::ilogb(total) - 61).max(-1022)) } else { 1.0 };
    Ok((weights.map(|weight| (weight / part).round() as i64), part))
}

/// Returns the row-major indices of the cells with data, each before its receiver. Cells on a cycle are omitted.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::accumulate::upstream_order;
/// use thalweg_flow::{Directions, OUT};
///
/// // Three cells that drain to the west. In this order, one pass over the cells carries values downstream.
/// let directions = Directions::from(Field::from_vec([1, 3], vec![OUT, 4, 4])?);
/// assert_eq!(upstream_order(&directions), [2, 1, 0]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn upstream_order(directions: &Directions) -> Vec<u32> {
    let cascade = DownstreamTraversal::from_directions(directions);
    let mut donors = cascade.count_donors(directions);
    let codes = directions.as_slice();
    let mut order = vec![0; codes.len()];
    // The bands affect the order, so they must not depend on the number of threads.
    let len = (CHUNK / cascade.cols.max(1)).max(1) * cascade.cols.max(1);
    let bands = order.par_chunks_mut(len).zip(donors.par_chunks_mut(len)).zip(codes.par_chunks(len)).enumerate();
    // Process each band in parallel. Cells that receive flow from another band, and all cells downstream of them, are
    // left for later.
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
                    let end =
                        cascade.propagate_downstream(CodeBlock { start, codes }, donors, k, (), |_, ()| (), &mut push);
                    beyond.extend(end.map(|(n, ())| start.wrapping_add(n) as u32));
                }
            }
            (count, beyond)
        })
        .collect();
    let mut count = 0;
    for (band, (len_here, _)) in ends.iter().enumerate() {
        // Close the gap between the list of the previous band and this one.
        order.copy_within(band * len..band * len + len_here, count);
        count += len_here;
    }
    let mut push = |k: usize| {
        order[count] = k as u32;
        count += 1;
    };
    // Now follow the flow that crosses the bands' borders, sequentially.
    for n in ends.iter().flat_map(|(_, beyond)| beyond) {
        let n = *n as usize;
        if n < codes.len() && cascade.complete_donor(&mut donors, n) {
            push(n);
            cascade.propagate_downstream(CodeBlock { start: 0, codes }, &mut donors, n, (), |_, ()| (), &mut push);
        }
    }
    order.truncate(count);
    order
}

/// Number of cells that one task processes.
const CHUNK: usize = 1 << 20;

/// Adds each cell's sum to that of its receiver, from the heads downstream. `add` must be commutative and
/// associative.
fn accumulate_downstream<T: Copy + Send + Sync>(
    directions: &Directions,
    sums: &mut [T],
    add: impl Fn(T, T) -> T + Sync,
) {
    let cascade = DownstreamTraversal::from_directions(directions);
    let mut donors = cascade.count_donors(directions);
    let codes = directions.as_slice();
    // Flow from band to band, and everything downstream of it, is deferred. The sums are the same for any bands.
    let threads = rayon::current_num_threads();
    // Several bands per thread even out the work. A single thread needs no bands.
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
                    let end = cascade.propagate_downstream(
                        CodeBlock { start: band * len, codes },
                        donors,
                        k,
                        carry,
                        add,
                        |_| (),
                    );
                    beyond.extend(end.map(|(n, sum)| ((band * len).wrapping_add(n) as u32, sum)));
                }
            }
            beyond
        })
        .collect();
    for (n, sum) in beyond.into_iter().flatten() {
        let n = n as usize;
        // Directions from a caller may lead out of the field.
        let Some(here) = sums.get_mut(n) else { continue };
        let sum = add_to(here, sum, &add);
        if cascade.complete_donor(&mut donors, n) {
            cascade.propagate_downstream(
                CodeBlock { start: 0, codes },
                &mut donors,
                n,
                sum,
                |n, sum| add_to(&mut sums[n], sum, &add),
                |_| (),
            );
        }
    }
}

/// Adds to a sum, and returns the new sum.
#[inline(always)]
fn add_to<T: Copy>(sum: &mut T, more: T, add: impl Fn(T, T) -> T) -> T {
    *sum = add(*sum, more);
    *sum
}

/// Flow directions of consecutive cells.
#[derive(Clone, Copy)]
struct CodeBlock<'a> {
    /// The index of the first cell.
    start: usize,
    codes: &'a [u8],
}

/// A topological traversal of all cells, each after its donors, without a list of cells. It starts at each head (a
/// cell without donors) and continues downstream as long as it is the last donor to arrive at a cell.
struct DownstreamTraversal {
    topology: Topology,
    cols: usize,
    /// Differences between a cell's index and those of its neighbours.
    offsets: [isize; 8],
}

/// The donor count of a cell that is complete but is not a head.
const DONE: u8 = u8::MAX;

impl DownstreamTraversal {
    fn from_directions(directions: &Directions) -> Self {
        let cols = directions.cols();
        Self { topology: directions.topology(), cols, offsets: D8::OFFSETS.map(|[di, dj]| di * cols as isize + dj) }
    }

    /// Counts the neighbours that drain to each cell.
    fn count_donors(&self, directions: &Directions) -> Vec<u8> {
        const ROWS: usize = 64;
        let mut donors = vec![0; directions.len()];
        donors.par_chunks_mut(ROWS * self.cols.max(1)).enumerate().for_each(|(band, donors)| {
            let mut near = Near::new(self.topology, VOID);
            let mut counts = vec![0; round_up_to_blocks(self.cols)];
            for (r, donors) in donors.chunks_mut(self.cols).enumerate() {
                let read = |i: usize, row: &mut [u8]| row.copy_from_slice(directions.row(i));
                near.advance_to_row(band * ROWS + r, r == 0, read);
                count_row_donors(&near.rows, &mut counts);
                donors.copy_from_slice(&counts[..self.cols]);
            }
        });
        donors
    }

    /// Records that a donor of cell `n` is complete. Returns true if it was the last one.
    #[inline(always)]
    fn complete_donor(&self, donors: &mut [u8], n: usize) -> bool {
        let last = donors[n] == 1;
        // A completed cell is marked, because a donor count of 0 would make the scan take it for a head.
        donors[n] = if last { DONE } else { donors[n].wrapping_sub(1) };
        last
    }

    /// Follows the flow from the complete cell `k` of `block` through all cells that it completes, passing on
    /// `carry`. `come` receives what arrives at a cell and returns what the cell
    /// passes on; `complete` is called for each completed cell.
    ///
    /// If the flow leaves the block, returns the index relative to its start (possibly wrapped) and what arrives there.
    #[inline(always)]
    fn propagate_downstream<T: Copy>(
        &self,
        block: CodeBlock<'_>,
        donors: &mut [u8],
        k: usize,
        carry: T,
        mut come: impl FnMut(usize, T) -> T,
        mut complete: impl FnMut(usize),
    ) -> Option<(usize, T)> {
        let CodeBlock { start, codes } = block;
        let (mut k, mut carry) = (k, carry);
        loop {
            let offset = *self.offsets.get(usize::from(codes[k]))?;
            // Only a looped grid needs the topology; otherwise adding a difference of indices is enough.
            let n = if self.topology.is_looped() {
                self.topology.offset_index(start + k, D8::OFFSETS[usize::from(codes[k])]).wrapping_sub(start)
            } else {
                k.wrapping_add_signed(offset)
            };
            if n >= codes.len() {
                return Some((n, carry));
            }
            carry = come(n, carry);
            if !self.complete_donor(donors, n) {
                return None;
            }
            complete(n);
            k = n;
        }
    }
}

/// Counts for each column the neighbours whose direction leads to it.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn count_row_donors(near: &[Vec<u8>; 3], counts: &mut [u8]) {
    let len = counts.len();
    let around = NEIGHBOURS.map(|[row, shift]| &near[row][shift..shift + len]);
    for x in 0..len {
        let mut count = 0;
        for k in 0..8 {
            // Neighbour k drains to this cell if its direction is the opposite one, k ^ 4.
            count += u8::from(around[k][x] == k as u8 ^ 4);
        }
        counts[x] = count;
    }
}
