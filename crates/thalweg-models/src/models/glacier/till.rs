//! Transport and deposition of till.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::models::glacier::flow::IceFlow;
use crate::models::glacier::land::IceBed;

/// Moves `load` (units by cell) with the ice of the last step and deposits it: `load` becomes the amount deposited in
/// each cell. Returns the amount that left the world with the ice.
///
/// Cells are visited in the order in which the ice passed. Of the load that arrives in a cell, the share is deposited
/// that melts of all ice that leaves the cell; the rest is passed on in proportion to the flow to lower cells.
/// Remainders of rounding stay.
pub fn transport_till(flow: &mut IceFlow, land: IceBed<'_>, load: &mut [AtomicI64]) -> i64 {
    let IceFlow { cascade, gave, gone, .. } = flow;
    let given = |k: usize, side: usize| i64::from(gave[k][side].load(Ordering::Relaxed));
    let loads = &*load;
    // Atomic integers are used because two cells may pass a load to the same neighbour at the same time. Integer sums
    // do not depend on the order, and a cell is only visited when all loads that it receives have arrived.
    let visit = |k: usize, exported: &mut i64| {
        let goes = [0, 1, 2, 3].map(|side| given(k, side));
        let all = i128::from(goes.iter().sum::<i64>() + gone[k].load(Ordering::Relaxed));
        let comes = i128::from(loads[k].load(Ordering::Relaxed));
        if all == 0 || comes == 0 {
            return;
        }
        for (units, to) in goes.into_iter().zip(land.side_neighbours(k)) {
            // The product may exceed 64 bits. The division rounds down, so a cell never passes on more than it has.
            let share = (comes * i128::from(units) / all) as i64;
            loads[k].fetch_sub(share, Ordering::Relaxed);
            match to {
                Some(to) => _ = loads[to].fetch_add(share, Ordering::Relaxed),
                None => *exported += share,
            }
        }
    };
    cascade.visit_in_order(land, |k| !land.is_void(k), |k, side, _| given(k, side) > 0, visit).iter().sum()
}
