//! The movement of suspended sediment between cells: with the outflowing water, or by a backward (semi-Lagrangian)
//! look-up.

use multiversion::multiversion;

use crate::models::pipes::rows::{BLOCK, Block, Bound, read_block, read_blocks, select_upstream, write_block};
use thalweg_core::base::cast;

/// The most sediment in height units (4 096 m) that stays suspended in a cell. The sum of a cell's load and of what
/// four such neighbours send it then fits into an `i32`.
pub const MAX_SUSPENDED_UNITS: i32 = 1 << 28;

/// Returns the units that a row of flows carries from the cells a to the cells b (negative: from b to a).
///
/// `from` and `to` are the units that leave the cells a and b per flow of 1 m²/s. Each amount is rounded down on its
/// own.
#[inline(always)]
fn compute_transfers(flow: &Block<f32>, from: &Block<f32>, to: &Block<f32>) -> Block<i32> {
    let mut units = [0; BLOCK];
    for x in 0..BLOCK {
        // The giving and the receiving cell both compute this number from the same inputs, so that no unit is lost.
        let amount = cast::floor_to_int(
            (flow[x].abs() * select_upstream(flow[x], from[x], to[x])).at_most(MAX_SUSPENDED_UNITS as f32),
        );
        units[x] = if flow[x] >= 0.0 { amount } else { -amount };
    }
    units
}

/// Computes a row's suspended sediment after its flows. Returns the greatest value.
///
/// `leaving` lists the rows here, west, east, north and south; `flows` those through the west, east, north and south
/// side.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn transport_sediment(
    suspended: &[i32],
    leaving: [&[f32]; 5],
    flows: [&[f32]; 4],
    after: &mut [i32],
    width: usize,
) -> i32 {
    let mut max_suspended = [0; BLOCK];
    for j in (0..width).step_by(BLOCK) {
        let s = read_block(suspended, j);
        let [here, west, east, north, south] = read_blocks(leaving, j);
        let [pw, pe, pn, ps] = read_blocks(flows, j);
        let [from_west, to_east] = [compute_transfers(&pw, &west, &here), compute_transfers(&pe, &here, &east)];
        let [from_north, to_south] = [compute_transfers(&pn, &north, &here), compute_transfers(&ps, &here, &south)];
        let mut remaining = [0i32; BLOCK];
        for x in 0..BLOCK {
            let across = from_west[x].wrapping_sub(to_east[x]);
            remaining[x] = s[x].wrapping_add(across).wrapping_add(from_north[x].wrapping_sub(to_south[x]));
            max_suspended[x] = remaining[x].max(max_suspended[x]);
        }
        write_block(after, j, &remaining);
    }
    max_suspended.iter().copied().fold(0, i32::max)
}

/// Returns the units that a single flow carries; the same number that [`transport_sediment`] computes for it.
pub fn compute_single_transfer(flow: f32, from: f32, to: f32) -> i32 {
    compute_transfers(&[flow; BLOCK], &[from; BLOCK], &[to; BLOCK])[0]
}

/// Computes a row's suspended sediment by interpolating bilinearly at the place where the water was one step ago.
///
/// `suspended` lists the rows to the north, here and to the south, each starting one cell to the west; `ratio` is
/// dt/dx.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn interpolate_backward(
    suspended: [&[i32]; 3],
    velocity: [&[f32]; 2],
    ratio: f32,
    after: &mut [i32],
    width: usize,
) {
    for j in (0..width).step_by(BLOCK) {
        let west = read_blocks(suspended, j);
        let here = read_blocks([&suspended[0][1..], &suspended[1][1..], &suspended[2][1..]], j);
        let east = read_blocks([&suspended[0][2..], &suspended[1][2..], &suspended[2][2..]], j);
        let [u, v] = read_blocks(velocity, j);
        let mut found = [0; BLOCK];
        for x in 0..BLOCK {
            // The four cells around the upstream point are this cell, the one upstream along each axis, and the one at
            // the corner.
            let side = select_upstream(u[x], west[1][x] as f32, east[1][x] as f32);
            let ahead = select_upstream(v[x], here[0][x] as f32, here[2][x] as f32);
            let north = select_upstream(u[x], west[0][x] as f32, east[0][x] as f32);
            let south = select_upstream(u[x], west[2][x] as f32, east[2][x] as f32);
            let corner = select_upstream(v[x], north, south);
            // The weights are shares of a cell; a point farther than one cell upstream is moved to that cell.
            let (a, b) = ((u[x].abs() * ratio).at_most(1.0), (v[x].abs() * ratio).at_most(1.0));
            let near = here[1][x] as f32 * ((1.0 - a) * (1.0 - b)) + corner * (a * b);
            let far = side * (a * (1.0 - b)) + ahead * (b * (1.0 - a));
            found[x] = cast::floor_to_int(near + far);
        }
        write_block(after, j, &found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flow_and_many_take_the_same() {
        // A cell that gives out all its sediment, to the west and to the south, next to cells without any.
        let (s, none) = ([1_000_003; BLOCK], [0.0; BLOCK]);
        let here = [100_000.0; BLOCK];
        let mut after = [0; BLOCK];
        transport_sediment(
            &s,
            [&here, &none, &none, &none, &none],
            [&[-2.5; BLOCK], &none, &none, &[7.5; BLOCK]],
            &mut after,
            BLOCK,
        );
        assert_eq!(after[0], 1_000_003 - 250_000 - 750_000);
        assert_eq!(compute_single_transfer(-2.5, 0.0, 100_000.0), -250_000);
        assert_eq!(compute_single_transfer(7.5, 100_000.0, 0.0), 750_000);
    }

    #[test]
    fn looked_up_is_what_was_upstream() {
        let row: Vec<i32> = (0..BLOCK as i32 + 2).map(|j| 1_000 * j).collect();
        let rows = [&row[..], &row[..], &row[..]];
        let mut after = [0; BLOCK];
        // The water moves half a cell eastward in a step, so the value is taken half a cell to the west. Cell j has
        // index j + 1.
        interpolate_backward(rows, [&[5.0; BLOCK], &[0.0; BLOCK]], 0.1, &mut after, BLOCK);
        assert_eq!(after[3], 3_500);
        interpolate_backward(rows, [&[-5.0; BLOCK], &[3.0; BLOCK]], 0.1, &mut after, BLOCK);
        assert_eq!(after[3], 4_500);
    }
}
