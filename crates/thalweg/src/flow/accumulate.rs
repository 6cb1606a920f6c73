//! What gathers along directions.

use crate::error::{Error, Result};
use crate::field::Field;
use crate::flow::{Directions, PIT, VOID, downstream};

/// Number of cells that drain through each cell, itself among them; 0 where there is no data.
pub fn cells(directions: &Directions) -> Field<u32> {
    let mut counts = directions.map(|d| u32::from(*d != VOID));
    let order = order(directions);
    for &k in &order {
        let k = k as usize;
        if let Some(n) = downstream(k, directions.as_slice()[k], directions.cols()) {
            let here = counts.as_slice()[k];
            counts.as_mut_slice()[n] += here;
        }
    }
    counts
}

/// Sum of the weights of all cells that drain through each cell, itself among them.
///
/// # Errors
/// When the weights are not of the directions' size.
pub fn weighted(directions: &Directions, weights: &Field<i64>) -> Result<Field<i64>> {
    if weights.size() != directions.size() {
        return Err(Error::value("weights", format!("{:?} cells", weights.size()), format!("{:?}", directions.size())));
    }
    let mut sums = weights.clone();
    for (sum, direction) in sums.as_mut_slice().iter_mut().zip(directions.as_slice()) {
        *sum = if *direction == VOID { 0 } else { *sum };
    }
    for &k in &order(directions) {
        let k = k as usize;
        if let Some(n) = downstream(k, directions.as_slice()[k], directions.cols()) {
            let here = sums.as_slice()[k];
            let sum = &mut sums.as_mut_slice()[n];
            *sum = sum.saturating_add(here);
        }
    }
    Ok(sums)
}

/// The cells with data, each before the one that it drains to.
pub fn order(directions: &Directions) -> Vec<u32> {
    let cols = directions.cols();
    let codes = directions.as_slice();
    let mut donors = vec![0u8; codes.len()];
    for (k, code) in codes.iter().enumerate() {
        if let Some(n) = downstream(k, *code, cols) {
            donors[n] += 1;
        }
    }
    let mut order = Vec::with_capacity(codes.len());
    for k in 0..codes.len() {
        let mut next = (donors[k] == 0 && codes[k] <= PIT).then_some(k);
        while let Some(k) = next {
            order.push(k as u32);
            // A cell follows its last donor; 255 keeps heads from being taken twice.
            donors[k] = u8::MAX;
            next = downstream(k, codes[k], cols).filter(|n| {
                donors[*n] -= 1;
                donors[*n] == 0
            });
        }
    }
    order
}
