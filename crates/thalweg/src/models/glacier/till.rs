//! What ice carries, and where it lays it down.

use crate::models::glacier::flow::{Flow, Land};

/// Sends `load` (units by cell) along with the ice of the last step and lays it down: `load` becomes what is laid on each
/// cell; what left the world with the ice is returned.
///
/// Cells are visited as the ice was. Of what comes to a cell, the part is laid that melts there of all the ice that leaves it,
/// the rest goes on in shares of what passes to lower cells; rounding leaves it where it is.
pub fn carry(flow: &Flow, land: Land<'_>, load: &mut [i64]) -> i64 {
    let mut left = 0;
    for k in flow.order.iter().map(|key| (key & u64::from(u32::MAX)) as usize) {
        let goes = flow.gave[k].map(i64::from);
        let all = i128::from(goes.iter().sum::<i64>() + flow.gone[k]);
        if all == 0 || load[k] == 0 {
            continue;
        }
        let (comes, around) = (i128::from(load[k]), land.around(k));
        for (side, units) in goes.into_iter().enumerate() {
            let share = (comes * i128::from(units) / all) as i64;
            load[k] -= share;
            match around[side] {
                Some(to) => load[to] += share,
                None => left += share,
            }
        }
    }
    left
}
