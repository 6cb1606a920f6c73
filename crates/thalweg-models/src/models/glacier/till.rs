//! What ice carries, and where it lays it down.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::models::glacier::flow::Flow;
use crate::models::glacier::land::Land;

/// Sends `load` (units by cell) along with the ice of the last step and lays it down: `load` becomes what is laid on each
/// cell; what left the world with the ice is returned.
///
/// Cells are visited as the ice passed. Of what comes to a cell, the part is laid that melts there of all the ice that leaves
/// it, the rest goes on in shares of what passes to lower cells; rounding leaves it where it is.
pub fn carry(flow: &mut Flow, land: Land<'_>, load: &mut [AtomicI64]) -> i64 {
    let Flow { cascade, gave, gone, .. } = flow;
    let given = |k: usize, side: usize| i64::from(gave[k][side].load(Ordering::Relaxed));
    let loads = &*load;
    let visit = |k: usize, left: &mut i64| {
        let goes = [0, 1, 2, 3].map(|side| given(k, side));
        let all = i128::from(goes.iter().sum::<i64>() + gone[k].load(Ordering::Relaxed));
        let comes = i128::from(loads[k].load(Ordering::Relaxed));
        if all == 0 || comes == 0 {
            return;
        }
        for (units, to) in goes.into_iter().zip(land.around(k)) {
            let share = (comes * i128::from(units) / all) as i64;
            loads[k].fetch_sub(share, Ordering::Relaxed);
            match to {
                Some(to) => _ = loads[to].fetch_add(share, Ordering::Relaxed),
                None => *left += share,
            }
        }
    };
    cascade.run(land, |k| !land.is_void(k), |k, side, _| given(k, side) > 0, visit).iter().sum()
}
