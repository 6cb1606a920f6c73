//! The movement of suspended sediment between cells: with the outflowing water, or by a backward (semi-Lagrangian)
//! look-up.

use multiversion::multiversion;

use crate::models::pipes::rows::{BLOCK, Block, Bound, block, blocks, upstream, write};
use thalweg_core::base::cast;

/// The most sediment in height units (4 096 m) that stays suspended in a cell. The sum of a cell's load and of what
/// four such neighbours send it then fits into an `i32`.
pub const MOST: i32 = 1 << 28;

/// Returns the units that a row of flows carries from the cells a to the cells b (negative: from b to a).
///
/// `from` and `to` are the units that leave the cells a and b per flow of 1 m²/s. Each amount is rounded down on its
/// own.
#[inline(always)]
fn taken(flow: &Block<f32>, from: &Block<f32>, to: &Block<f32>) -> Block<i32> {
    let mut units = [0; BLOCK];
    for x in 0..BLOCK {
        let amount = cast::floor((flow[x].abs() * upstream(flow[x], from[x], to[x])).at_most(MOST as f32));
        units[x] = if flow[x] >= 0.0 { amount } else { -amount };
    }
    units
}

/// Computes a row's suspended sediment after its flows. Returns the greatest value.
///
/// `leaving` lists the rows here, west, east, north and south; `flows` those through the west, east, north and south
/// side.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn carry(suspended: &[i32], leaving: [&[f32]; 5], flows: [&[f32]; 4], after: &mut [i32], width: usize) -> i32 {
    let mut most = [0; BLOCK];
    for j in (0..width).step_by(BLOCK) {
        let s = block(suspended, j);
        let [here, west, east, north, south] = blocks(leaving, j);
        let [pw, pe, pn, ps] = blocks(flows, j);
        let [from_west, to_east] = [taken(&pw, &west, &here), taken(&pe, &here, &east)];
        let [from_north, to_south] = [taken(&pn, &north, &here), taken(&ps, &here, &south)];
        let mut left = [0i32; BLOCK];
        for x in 0..BLOCK {
            let across = from_west[x].wrapping_sub(to_east[x]);
            left[x] = s[x].wrapping_add(across).wrapping_add(from_north[x].wrapping_sub(to_south[x]));
            most[x] = left[x].max(most[x]);
        }
        write(after, j, &left);
    }
    most.iter().copied().fold(0, i32::max)
}

/// Returns the units that a single flow carries; the same number that [`carry`] computes for it.
pub fn taken_by(flow: f32, from: f32, to: f32) -> i32 {
    taken(&[flow; BLOCK], &[from; BLOCK], &[to; BLOCK])[0]
}

/// Computes a row's suspended sediment by interpolating bilinearly at the place where the water was one step ago.
///
/// `suspended` lists the rows to the north, here and to the south, each starting one cell to the west; `ratio` is
/// dt/dx.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn look_up(suspended: [&[i32]; 3], velocity: [&[f32]; 2], ratio: f32, after: &mut [i32], width: usize) {
    for j in (0..width).step_by(BLOCK) {
        let west = blocks(suspended, j);
        let here = blocks([&suspended[0][1..], &suspended[1][1..], &suspended[2][1..]], j);
        let east = blocks([&suspended[0][2..], &suspended[1][2..], &suspended[2][2..]], j);
        let [u, v] = blocks(velocity, j);
        let mut found = [0; BLOCK];
        for x in 0..BLOCK {
            let side = upstream(u[x], west[1][x] as f32, east[1][x] as f32);
            let ahead = upstream(v[x], here[0][x] as f32, here[2][x] as f32);
            let north = upstream(u[x], west[0][x] as f32, east[0][x] as f32);
            let south = upstream(u[x], west[2][x] as f32, east[2][x] as f32);
            let corner = upstream(v[x], north, south);
            let (a, b) = ((u[x].abs() * ratio).at_most(1.0), (v[x].abs() * ratio).at_most(1.0));
            let near = here[1][x] as f32 * ((1.0 - a) * (1.0 - b)) + corner * (a * b);
            let far = side * (a * (1.0 - b)) + ahead * (b * (1.0 - a));
            found[x] = cast::floor(near + far);
        }
        write(after, j, &found);
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
        carry(
            &s,
            [&here, &none, &none, &none, &none],
            [&[-2.5; BLOCK], &none, &none, &[7.5; BLOCK]],
            &mut after,
            BLOCK,
        );
        assert_eq!(after[0], 1_000_003 - 250_000 - 750_000);
        assert_eq!(taken_by(-2.5, 0.0, 100_000.0), -250_000);
        assert_eq!(taken_by(7.5, 100_000.0, 0.0), 750_000);
    }

    #[test]
    fn looked_up_is_what_was_upstream() {
        let row: Vec<i32> = (0..BLOCK as i32 + 2).map(|j| 1_000 * j).collect();
        let rows = [&row[..], &row[..], &row[..]];
        let mut after = [0; BLOCK];
        // The water moves half a cell eastward in a step, so the value is taken half a cell to the west. Cell j has
        // index j + 1.
        look_up(rows, [&[5.0; BLOCK], &[0.0; BLOCK]], 0.1, &mut after, BLOCK);
        assert_eq!(after[3], 3_500);
        look_up(rows, [&[-5.0; BLOCK], &[3.0; BLOCK]], 0.1, &mut after, BLOCK);
        assert_eq!(after[3], 4_500);
    }
}
